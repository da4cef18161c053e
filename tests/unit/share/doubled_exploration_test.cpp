// doubled.hpp, run through all orders of its single words: a publisher who dies at any step, his heir, and two readers.
#include "share/doubled.hpp"
#include "unit/share/explored_words.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <string>

namespace remanence::share {
namespace {

using exploration::run;
using exploration::violation;
using u8 = std::uint8_t;

struct doubled_policy {
    using word = exploration::explored_word;
    using field = exploration::explored_field;
};
using pair_of_fields = doubled<doubled_policy, 2>;

enum class doubled_fault {
    none,
    copy_by_parity, // of the number
    no_second_look,
    declared_first // the word before what it points to
};

/// What is published under a number.
u8 first_of(u8 number) { return static_cast<u8>(10 + number); }
u8 second_of(u8 number) { return static_cast<u8>(20 + number); }

class doubled_model final : public exploration::world {
public:
    struct participant {
        u8 phase = 1;
        exploration::answers given{};
    };
    struct state {
        pair_of_fields published{};
        u8 is_held = 0; // the right to publish, by publisher - 1
        u8 deaths = 1;
        std::array<u8, 2> seen{};         // by each reader
        std::array<participant, 4> all{}; // publishers, readers
    };

    doubled_model(doubled_fault wrong, std::array<u8, 4> numbers) : wrong_(wrong), numbers_(numbers) {
        world::acting = this;
    }

    state first() {
        state s;
        s_ = &s;
        auto* const fields = reinterpret_cast<u8*>(&s.published);
        fields[1] = first_of(0);
        fields[2] = second_of(0);
        return s;
    }
    [[nodiscard]] static unsigned actors() { return 5; }
    [[nodiscard]] static unsigned first_death() { return 4; }
    [[nodiscard]] static std::string name(unsigned actor) {
        return std::array{"publisher 0", "publisher 1", "reader 0", "reader 1", "the one who publishes dies"}[actor];
    }
    std::string tell(state& s, unsigned actor, unsigned choice) {
        (void)act(s, actor, choice);
        return "";
    }
    [[nodiscard]] static bool can_act(const state& s, unsigned actor) {
        return actor < 4 ? s.all[actor].phase != 0 : s.deaths > 0 && s.is_held != 0;
    }
    unsigned act(state& s, unsigned actor, unsigned choice) {
        s_ = &s;
        if (actor == 4) {
            s.deaths--;
            s.all[s.is_held - 1U] = {.phase = 0};
            s.is_held = 0;
            return 1;
        }
        participant& one = s.all[actor];
        run step(one.given, choice);
        run_ = &step;
        try {
            if (actor < 2)
                publish(actor);
            else
                read(actor - 2);
            one.given = {};
            if (!step.has_stepped())
                throw exploration::disabled{};
        } catch (const exploration::paused&) {
        }
        return 1;
    }
    static void canonical(state&) {}
    static void check(const state&) {}
    [[nodiscard]] static bool must_go_on(const state& s) { return s.is_held != 0; }
    [[nodiscard]] static bool is_mid_phase(const state&) { return false; }
    [[nodiscard]] static bool waits(const state&) { return false; }

    u8 load(const u8& word, std::memory_order order) override {
        return run_->step([&]() -> u8 {
            if (is_publishing_ && wrong_ == doubled_fault::copy_by_parity)
                return static_cast<u8>(word ^ (((word ^ next_) & 1) ^ 1)); // so that the copy will be the next number's
            if (!is_publishing_ && order == std::memory_order_relaxed && wrong_ == doubled_fault::no_second_look)
                return looked_;
            return word;
        });
    }
    void store(u8& word, u8 value, std::memory_order) override {
        (void)run_->step([&] { return word = value; });
    }
    u8 exchange(u8&, u8) override { ::abort(); }
    u8 compare_exchange(u8&, u8, u8) override { ::abort(); }
    u8 load_field(const u8& field) override {
        return run_->step([&] { return field; });
    }
    void store_field(u8& field, u8 value) override {
        (void)run_->step([&]() -> u8 {
            if (wrong_ == doubled_fault::declared_first) {
                auto* const word = reinterpret_cast<u8*>(&s_->published);
                const auto copy = (&field - word - 1) / 2;
                *word = static_cast<u8>(next_ << 1 | copy);
            }
            return field = value;
        });
    }

private:
    void publish(unsigned who) {
        is_publishing_ = true;
        (void)run_->step_when([&] { return s_->is_held == 0 && number_after(*s_) != 0; },
                              [&] { return s_->is_held = static_cast<u8>(who + 1); });
        next_ = run_->together([&] { return number_after(*s_); });
        s_->published.publish(next_, {first_of(next_), second_of(next_)});
        (void)run_->step([&] { return s_->is_held = 0; });
    }
    /// 0: none.
    [[nodiscard]] u8 number_after(const state& s) const {
        const u8 now = static_cast<u8>(*reinterpret_cast<const u8*>(&s.published) >> 1);
        for (const u8 each : numbers_)
            if (each > now)
                return each;
        return 0;
    }
    void read(unsigned who) {
        is_publishing_ = false;
        looked_ = static_cast<u8>(s_->published.look());
        const auto found = s_->published.read(looked_);
        if (!found)
            return;
        const u8 number = static_cast<u8>(pair_of_fields::number_in(looked_));
        if ((*found)[0] != first_of(number) || (*found)[1] != second_of(number))
            throw violation{"what was read is not what was published"};
        (void)run_->together([&]() -> u8 {
            if (number < s_->seen[who])
                throw violation{"a reader goes back"};
            return s_->seen[who] = number;
        });
    }

    doubled_fault wrong_;
    std::array<u8, 4> numbers_;
    state* s_ = nullptr;
    run* run_ = nullptr;
    bool is_publishing_ = false;
    u8 next_ = 0;
    u8 looked_ = 0;
};

exploration::outcome explore_doubled(doubled_fault wrong, std::array<u8, 4> numbers) {
    doubled_model model(wrong, numbers);
    return exploration::explore(model);
}

TEST(doubled_exploration_no_sanitizer, readers_see_what_was_published_whole_whoever_dies) {
    const auto found = explore_doubled(doubled_fault::none, {2, 4, 5, 8});
    EXPECT_TRUE(found.is_complete);
    EXPECT_EQ(found.violation, "");
    std::cout << found.states << " states, " << found.steps << " steps\n";
}

TEST(doubled_exploration_no_sanitizer, whatever_is_left_out_is_noticed) {
    const std::string torn = "what was read is not what was published";
    EXPECT_EQ(explore_doubled(doubled_fault::no_second_look, {1, 2, 3, 4}).violation, torn);
    EXPECT_EQ(explore_doubled(doubled_fault::declared_first, {1, 2, 3, 4}).violation, torn);
    EXPECT_EQ(explore_doubled(doubled_fault::copy_by_parity, {1, 2, 3, 4}).violation, "") << "it does, without batches";
    EXPECT_EQ(explore_doubled(doubled_fault::copy_by_parity, {2, 4, 5, 8}).violation, torn);
}

} // namespace
} // namespace remanence::share
