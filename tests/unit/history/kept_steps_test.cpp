// What is kept of the steps over sessions: whatever happens to them, the events make the same steps again.
#include "base/units.hpp"
#include "history/recent_steps.hpp"
#include "history/step_loader.hpp"
#include "history/step_tree.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace remanence::history {

namespace {

constexpr std::uint64_t k_memory_bytes = 8 * k_page_bytes;

/// All of a tree, byte by byte.
event_bytes all_of(const step_tree& steps) {
    event_bytes all;
    (void)steps.append_all([&](event_bytes& part) {
        all.insert(all.end(), part.begin(), part.end());
        part.clear();
        return true;
    });
    return all;
}

/// All states, without the limits behind them.
event_bytes states_of(const step_tree& steps) {
    event_bytes all = all_of(steps);
    all.resize(all.size() - sizeof(format::history_event) - sizeof(format::present_event));
    return all;
}

/// Memory, its steps, and what is kept of them.
class kept_steps {
public:
    /// `shares`: there is another tree, as in another process, which follows the events, and is the one that changes now and then.
    explicit kept_steps(std::uint64_t seed, bool shares = false)
        : dice_(test::seed_or(seed)),
          memory_(k_memory_bytes),
          live_({.bytes_max = shares ? 6 * KiB : 0, .steps_max = 12}, 1),
          shares_(shares) {
        begin_file();
        if (!shares_)
            return;
        step_loader loader(k_memory_bytes);
        EXPECT_TRUE(loader.add(events_[0].first, events_[0].second));
        other_ = loader.take(); // with the same limits
    }

    void step() {
        if (shares_ && below(3) == 0)
            change_places();
        const std::uint64_t what = below(27);
        if (what < 9)
            commit();
        else if (what > 23)
            call();
        else if (what < 16)
            go();
        else if (what == 16)
            group();
        else if (what == 17)
            keep();
        else if (what == 18)
            drop();
        else if (what == 19)
            squash();
        else if (what == 20 && !shares_)
            begin_session();
        else if (what == 21 && below(10) == 0)
            forget();
        else if (what == 22 && below(20) == 0)
            begin_file();
        else if (what == 23)
            begin_or_end_group();
    }
    /// Whether the other process has the same steps.
    [[nodiscard]] bool are_those_of_others() {
        follow();
        return states_of(live_) == states_of(*other_) && live_.present() == other_->present();
    }
    /// Whether the events make the same steps.
    [[nodiscard]] bool are_kept() const {
        const auto made = load();
        return made && made->present() == live_.present() && states_of(*made) == states_of(live_);
    }
    /// As a file that has become too long is.
    void begin_anew() {
        end_groups();
        begin_file();
    }
    [[nodiscard]] const std::vector<std::pair<std::uint64_t, event_bytes>>& events() const { return events_; }
    [[nodiscard]] const limits& most() const { return live_.most(); }
    /// What memory would be at the state.
    [[nodiscard]] std::vector<std::byte> memory_at(const step_tree& steps, std::uint64_t state) const {
        std::vector<std::byte> there = memory_;
        for (const auto& part : steps.path_to(state)) {
            part.bytes().apply(there.data());
            if (part.call() != nullptr)
                make(there, *part.call());
        }
        return there;
    }
    [[nodiscard]] std::optional<step_tree> load() const {
        step_loader loader(k_memory_bytes);
        for (const auto& [version, events] : events_) {
            if (!loader.add(version, events))
                return std::nullopt;
        }
        return loader.is_whole() ? std::optional(loader.take({})) : std::nullopt; // no limit lets one go
    }

private:
    std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(dice_); }
    event_bytes& next_events() {
        events_.push_back({++version_, {}});
        return events_.back().second;
    }
    void begin_file() {
        if (live_.is_in_group())
            return;
        follow();
        events_.clear();
        events_.push_back({version_, all_of(live_)});
        followed_ = 1;
    }
    void follow() {
        for (; other_ && followed_ != events_.size(); ++followed_) {
            step_loader loader(k_memory_bytes, std::move(*other_));
            EXPECT_TRUE(loader.add(events_[followed_].first, events_[followed_].second));
            other_ = loader.take();
        }
    }
    void change_places() {
        follow();
        std::swap(live_, *other_);
    }
    void commit() {
        delta before;
        for (std::uint64_t page = 0; page < k_memory_bytes; page += k_page_bytes) {
            if (below(3) != 0)
                continue;
            const heap_range range{page + 8 * below(256), 8 * (1 + below(60))};
            before.add(range, memory_.data() + range.offset);
            const bool is_zeros = below(4) == 0;
            for (std::uint64_t i = 0; i < range.bytes; ++i)
                memory_[range.offset + i] = is_zeros ? std::byte{0} : static_cast<std::byte>(below(256));
        }
        if (before.is_empty())
            before.add({0, 8}, memory_.data());
        if (below(40) == 0 && !live_.has_kept())
            live_.stage_nothing();
        else
            live_.stage(std::move(before), some_kind());
        live_.append_staged(next_events());
        live_.accept(version_);
        remember();
    }
    step_kind some_kind() {
        const std::uint64_t what = below(15);
        if (what < 4 && !live_.is_in_group())
            hidden_.insert(version_ + 1);
        return what == 14 ? step_kind::migration : what < 4 ? step_kind::hidden : step_kind::ordinary;
    }
    /// Its own inverse.
    static void make(std::vector<std::byte>& memory, const procedure_call& call) {
        for (std::size_t i = 0; i < memory.size(); ++i)
            memory[i] ^= call.parameters[i % call.parameters.size()];
    }
    void call() {
        procedure_call made{below(2) == 0 ? "flip" : "flip all", std::vector<std::byte>(1 + below(5))};
        for (std::byte& each : made.parameters)
            each = static_cast<std::byte>(below(256));
        make(memory_, made);
        live_.stage(delta(std::move(made)));
        live_.append_staged(next_events());
        live_.accept(version_);
        remember();
    }
    void go() {
        if (live_.is_in_group())
            return;
        const auto all = live_.list();
        std::uint64_t to = all[below(all.size())].version;
        if (const std::uint64_t back = live_.undo_depth(); back != 0 && below(3) == 0)
            to = live_.before_present(1 + below(back));
        else if (const std::uint64_t forth = live_.redo_depth(); forth != 0 && below(2) == 0)
            to = live_.after_present(1 + below(forth));
        const auto way = live_.path_to(to);
        std::vector<delta> back;
        if (below(4) == 0) // as an undo that fails, of which nobody else hears
            return;
        for (const auto& each : way) {
            back.push_back(each.bytes().other_side(memory_.data()));
            each.bytes().apply(memory_.data());
            if (each.call() != nullptr)
                make(memory_, *each.call());
        }
        step_tree::append_checkout(next_events(), to, back);
        live_.go_over(way, back);
        live_.check_out(to, version_);
        EXPECT_EQ(memory_, states_.at(to)) << "state " << to;
    }
    void remember() {
        states_[version_] = memory_;
        const auto all = live_.list();
        std::erase_if(states_, [&](const auto& state) {
            return !hidden_.contains(state.first) &&
                   std::ranges::none_of(all, [&](const step_info& each) { return each.version == state.first; });
        });
    }
    void group() {
        if (live_.is_in_group())
            return;
        live_.begin_group("group " + std::to_string(version_));
        for (std::uint64_t count = below(4); count != 0; --count)
            commit();
        live_.end_group();
    }
    void begin_or_end_group() {
        if (live_.is_in_group())
            live_.end_group();
        else
            live_.begin_group("long one");
    }
    void end_groups() {
        while (live_.is_in_group())
            live_.end_group();
    }
    void stay() { live_.check_out(live_.present(), version_); }
    void keep() {
        if (live_.is_in_group() || !live_.name_of_kept(live_.present()).empty())
            return;
        const std::string name = "kept " + std::to_string(version_);
        step_tree::append_keeping(next_events(), name);
        live_.keep(name);
        stay();
    }
    void drop() {
        const auto kept = live_.list_kept();
        if (kept.empty() || live_.is_in_group())
            return;
        const std::uint64_t which = kept[below(kept.size())].version;
        step_tree::append_dropping(next_events(), which);
        live_.drop(which);
        stay();
    }
    void squash() {
        const std::uint64_t steps = std::min<std::uint64_t>(1 + below(4), live_.undo_depth());
        if (steps == 0 || live_.is_in_group() || live_.in_the_way_of_squash(steps))
            return;
        step_tree::append_squashing(next_events(), steps);
        live_.squash(steps, live_.squashed(steps));
        stay();
    }
    void forget() {
        if (live_.is_in_group())
            return;
        step_tree::append_forgetting(next_events());
        live_.forget();
        stay();
    }
    /// With other limits.
    void begin_session() {
        end_groups();
        limits most{.bytes_max = below(2) * (1 + below(8)) * KiB, .steps_max = 1 + below(12)};
        if (below(6) == 0)
            most.then = when_full::refuse;
        step_loader loader(k_memory_bytes);
        for (const auto& [version, events] : events_)
            ASSERT_TRUE(loader.add(version, events));
        live_ = loader.take(most);
        events_.push_back({version_, {}});
        live_.append_session(events_.back().second);
    }

    std::mt19937_64 dice_;
    std::vector<std::byte> memory_;
    step_tree live_;
    bool shares_;
    std::optional<step_tree> other_;
    std::size_t followed_ = 0;                                             // of events_, by it
    std::map<std::uint64_t, std::vector<std::byte>> states_{{1, memory_}}; // by version
    std::set<std::uint64_t> hidden_;                                       // versions
    std::uint64_t version_ = 1;
    std::vector<std::pair<std::uint64_t, event_bytes>> events_;
};

TEST(kept_steps_of_a_history, are_the_same_again_whatever_happens_to_them) {
    const char* const asked = std::getenv("REMANENCE_HISTORY_STEPS");
    const std::uint64_t steps = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 2'000;
    std::uint64_t events = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        kept_steps all(seed);
        for (std::uint64_t i = 0; i < steps; ++i) {
            all.step();
            if (i % 7 == 0) {
                ASSERT_TRUE(all.are_kept()) << "seed " << seed << ", step " << i;
            }
            if (all.events().size() > 60) {
                events += all.events().size();
                all.begin_anew();
            }
        }
    }
    std::cout << 5 * steps << " steps, " << events << " events\n";
}

TEST(kept_steps_of_a_history, are_the_same_in_each_process_that_follows) {
    std::uint64_t events = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        kept_steps all(seed, true);
        for (std::uint64_t i = 0; i < 2'000; ++i) {
            all.step();
            ASSERT_TRUE(all.are_those_of_others()) << "seed " << seed << ", step " << i;
            if (all.events().size() > 60) {
                events += all.events().size();
                all.begin_anew();
            }
        }
    }
    std::cout << events << " events followed\n";
}

std::vector<last_entries::entry> entries_of(const std::vector<std::pair<std::uint64_t, event_bytes>>& events) {
    std::vector<last_entries::entry> all;
    for (const auto& [version, bytes] : events)
        all.push_back({{version, 0}, bytes});
    return all;
}

// From whichever entry the steps are read: states that are found are reached by the same bytes as in the whole tree.
TEST(kept_steps_of_a_history, of_which_only_the_last_are_read_lead_to_the_same_states) {
    std::uint64_t found = 0;
    std::uint64_t refused = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        kept_steps all(seed);
        for (std::uint64_t i = 0; i < 500; ++i) {
            all.step();
            if (all.events().size() > 60)
                all.begin_anew();
            if (i % 7 != 0)
                continue;
            const auto whole = all.load();
            ASSERT_TRUE(whole);
            const auto entries = entries_of(all.events());
            const recent_steps recent(entries, all.most(), k_memory_bytes);
            for (const step_info& each : whole->list()) {
                const version_or_name wanted = each.version;
                const auto nearest = recent.nearest({&wanted, 1});
                for (std::size_t from = recent.first().value_or(entries.size()); nearest && from <= *nearest; ++from) {
                    const last_entries::entry behind = entries[from];
                    if (behind.events.empty() || !recent_steps({&behind, 1}, {}, k_memory_bytes).first())
                        continue; // it does not say where memory was
                    auto loader = recent.steps_from(from);
                    refused += loader ? 0U : 1U;
                    if (!loader)
                        continue;
                    const step_tree steps = loader->take();
                    const auto state = steps.find(each.version);
                    ASSERT_EQ(steps.present(), whole->present()) << "seed " << seed << ", step " << i;
                    if (!state)
                        continue;
                    ASSERT_EQ(all.memory_at(steps, *state), all.memory_at(*whole, each.version))
                        << "seed " << seed << ", step " << i << ", from entry " << from << " to " << each.version;
                    ++found;
                }
            }
        }
    }
    std::cout << found << " found, " << refused << " refused\n";
    EXPECT_GT(found, 1'000U);
    EXPECT_GT(refused, 0U);
}

/// As an earlier build wrote it, whose history could end at its limits.
event_bytes with_ending_limits(event_bytes all, bool has_ended) {
    format::present_event present{};
    std::byte* const at = all.data() + all.size() - sizeof present;
    std::memcpy(&present, at, sizeof present);
    present.limits.when_full = format::k_when_full_ended;
    present.has_ended = has_ended ? 1 : 0;
    std::memcpy(at, &present, sizeof present);
    return all;
}

/// Of versions 1 to 3.
step_tree three_states() {
    const std::vector<std::byte> memory(k_memory_bytes);
    step_tree steps({.steps_max = 2}, 1);
    for (const std::uint64_t version : {std::uint64_t{2}, std::uint64_t{3}}) {
        delta before;
        before.add({8 * version, 8}, memory.data());
        steps.stage(std::move(before));
        steps.accept(version);
    }
    return steps;
}

TEST(kept_steps_of_a_history, that_was_to_end_at_its_limits_go_on) {
    const step_tree steps = three_states();
    for (const bool has_ended : {false, true}) {
        step_loader loader(k_memory_bytes);
        ASSERT_TRUE(loader.add(3, with_ending_limits(all_of(steps), has_ended)));
        ASSERT_TRUE(loader.is_whole());
        EXPECT_TRUE(loader.has_limits({.steps_max = 2}));
        EXPECT_EQ(all_of(loader.take()), all_of(steps));
    }
}

TEST(kept_steps_of_a_history, are_gone_behind_a_commit_that_kept_none) {
    step_loader loader(k_memory_bytes);
    ASSERT_TRUE(loader.add(3, with_ending_limits(all_of(three_states()), false)));
    ASSERT_FALSE(loader.add(3, {}));
    ASSERT_TRUE(loader.add(4, {}));
    ASSERT_TRUE(loader.add(5, {}));
    const step_tree steps = loader.take();
    EXPECT_EQ(steps.present(), 5U);
    EXPECT_EQ(steps.list().size(), 1U);
    EXPECT_EQ(steps.undo_depth(), 0U);
}

TEST(kept_steps_of_a_history, are_unsound_if_a_commit_kept_none_beside_a_kept_state) {
    step_tree steps = three_states();
    steps.keep("here");
    step_loader loader(k_memory_bytes);
    ASSERT_TRUE(loader.add(3, all_of(steps)));
    EXPECT_FALSE(loader.add(4, {}));
}

void go_everywhere(const std::optional<step_tree>& steps) {
    if (!steps)
        return;
    std::vector<std::byte> memory(k_memory_bytes);
    for (const step_info& each : steps->list()) {
        for (const auto& one : steps->path_to(each.version))
            one.bytes().apply(memory.data());
    }
    (void)steps->left_branch();
    (void)steps->redo_depth();
}

// Damage has a checksum; an enemy's bytes may have a fitting one.
TEST(kept_steps_of_a_history, are_refused_or_sound_whatever_bytes_they_are) {
    kept_steps all(7);
    while (all.events().size() < 40)
        all.step();
    std::mt19937_64 dice(test::seed_or(1));
    std::uint64_t refused = 0;
    constexpr std::uint64_t k_attempts = 20'000;
    for (std::uint64_t i = 0; i < k_attempts; ++i) {
        auto events = all.events();
        event_bytes& which = events[dice() % events.size()].second;
        if (which.empty())
            continue;
        if (dice() % 8 == 0)
            which.resize(dice() % which.size());
        else
            which[dice() % which.size()] ^= static_cast<std::byte>(1U << dice() % 8);
        step_loader loader(k_memory_bytes);
        bool is_sound = true;
        for (const auto& [version, bytes] : events)
            is_sound = is_sound && loader.add(version, bytes);
        const auto entries = entries_of(events);
        const recent_steps recent(entries, {.steps_max = 3}, k_memory_bytes);
        if (const auto first = recent.first()) {
            auto some = recent.steps_from(*first);
            go_everywhere(some ? std::optional(some->take()) : std::nullopt);
        }
        if (!is_sound || !loader.is_whole()) {
            ++refused;
            continue;
        }
        go_everywhere(loader.take({.steps_max = 3}));
    }
    EXPECT_GT(refused, k_attempts / 10);
}

} // namespace
} // namespace remanence::history
