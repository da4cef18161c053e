// Runs code through all orders of its steps: the code as it is, not a model of it. What is shared (words, locks, files) calls step() for
// each access; the code of one participant is carried out again from the beginning of its phase, with the answers that it was given, up to
// its next step. So a participant needs no stack between its steps, and a state is a value: what is shared, and for each participant its
// phase, its variables at the beginning of the phase, and the answers since.
//
// All states are visited once, breadth first; they are told apart by 64 bits of hash.
#pragma once

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace remanence::exploration {

/// Thrown by step(), for who runs the phase.
struct paused {};   // at the step after the one that was made
struct disabled {}; // the next step cannot be made in this state
/// Thrown by anybody: what must not be.
struct violation {
    std::string why;
};

/// The answers that a participant was given in this phase.
struct answers {
    std::uint8_t count = 0;
    std::array<std::uint8_t, 31> each{};
};

/// One run of a phase: makes one step.
class run {
public:
    run(answers& given, unsigned choice) : given_(given), choice_(choice) {}

    /// What `perform` answers; other participants may come in before it.
    template <class F>
    std::uint8_t step(F&& perform) {
        return step_when([] { return true; }, std::forward<F>(perform));
    }
    /// As step(), as soon as `may` is true.
    template <class C, class F>
    std::uint8_t step_when(C&& may, F&& perform) {
        if (at_ < given_.count)
            return given_.each[at_++];
        if (has_stepped_)
            throw paused{};
        if (!may())
            throw disabled{};
        has_stepped_ = true;
        return note(perform());
    }
    /// As step(), and nobody comes in between it and the step before.
    template <class F>
    std::uint8_t together(F&& perform) {
        if (at_ < given_.count)
            return given_.each[at_++];
        return note(perform());
    }
    /// A step of which each answer below `count` is tried.
    std::uint8_t choose(unsigned count) {
        return step([&] {
            choices_ = count;
            return static_cast<std::uint8_t>(choice_ < count ? choice_ : 0);
        });
    }

    [[nodiscard]] bool has_stepped() const { return has_stepped_; }
    [[nodiscard]] unsigned choices() const { return choices_; }

private:
    std::uint8_t note(std::uint8_t answer) {
        REM_CHECK(given_.count < given_.each.size());
        given_.each[given_.count++] = answer;
        ++at_;
        return answer;
    }

    answers& given_;
    unsigned choice_;
    unsigned choices_ = 1;
    std::size_t at_ = 0;
    bool has_stepped_ = false;
};

struct outcome {
    std::size_t states = 0;
    std::size_t steps = 0;
    std::string violation{};        // empty: none
    std::vector<std::string> way{}; // to it
    bool is_complete = false;
};

/// A set of hashes.
class visited {
public:
    /// Whether it is new.
    bool add(std::uint64_t hash) {
        if (2 * (count_ + 1) > table_.size())
            grow();
        const bool is_new = put(hash | 1);
        count_ += is_new ? std::size_t{1} : std::size_t{0};
        return is_new;
    }
    [[nodiscard]] std::size_t count() const { return count_; }

private:
    bool put(std::uint64_t key) {
        for (std::size_t at = key >> 20;; ++at) {
            std::uint64_t& there = table_[at & (table_.size() - 1)];
            if (there == key)
                return false;
            if (there == 0) {
                there = key;
                return true;
            }
        }
    }
    void grow() {
        std::vector<std::uint64_t> before(table_.size() * 2);
        before.swap(table_);
        for (const std::uint64_t key : before)
            if (key != 0)
                put(key);
    }
    std::vector<std::uint64_t> table_ = std::vector<std::uint64_t>(1 << 12);
    std::size_t count_ = 0;
};

/// `Model` has: `state`, whose bytes are all that counts; first(); actors(), a number; can_act(state, actor): false for some that cannot; act(state&, actor, choice), which makes a step and
/// returns how many choices there are, or throws disabled; name(actor); check(state), which throws violation; canonical(state&), which
/// makes equal what is alike; must_go_on(state): whether it is a deadlock when no step leads anywhere but those from
/// first_death() on; is_mid_phase(state): whether anybody was given answers; waits(state): nobody was, and somebody looks
/// again and again for something, so that steps are made although nothing goes on.
template <class Model>
outcome explore(Model& model, std::size_t limit = ~std::size_t{0}) {
    using state = typename Model::state;
    static_assert(std::has_unique_object_representations_v<state>);
    struct origin {
        std::uint32_t before;
        std::uint16_t actor;
        std::uint16_t choice;
    };
    visited known;
    std::vector<origin> origins;
    std::vector<std::pair<state, std::uint32_t>> now;
    std::vector<std::pair<state, std::uint32_t>> next;
    outcome found;

    const auto hash = [](const state& s) { return checksum64(std::as_bytes(std::span(&s, 1))); };
    const auto fail_at = [&](std::uint32_t at, std::optional<origin> last, const std::string& why) {
        std::vector<origin> way;
        if (last)
            way.push_back(*last);
        for (; at != 0; at = origins[at].before)
            way.push_back(origins[at]);
        state s = model.first();
        for (auto each = way.rbegin(); each != way.rend(); ++each) {
            std::string what;
            try {
                what = model.tell(s, each->actor, each->choice);
            } catch (const violation&) {
                what = "…";
            }
            found.way.push_back(model.name(each->actor) + ": " + what);
            model.canonical(s);
        }
        found.violation = why;
    };

    // Whether anybody, alone, gets any further than to where he was.
    const auto goes_on = [&](const state& s) {
        for (unsigned actor = 0; actor < model.first_death(); ++actor) {
            if (!model.can_act(s, actor))
                continue;
            state t = s;
            try {
                do
                    (void)model.act(t, actor, 0);
                while (model.is_mid_phase(t));
            } catch (const disabled&) {
                continue;
            } catch (const violation&) {
                return true; // which is told elsewhere
            }
            if (hash(t) != hash(s))
                return true;
        }
        return false;
    };

    state first = model.first();
    known.add(hash(first));
    origins.push_back({});
    now.emplace_back(first, 0);
    while (!now.empty()) {
        for (const auto& [s, index] : now) {
            bool leads_on = false;
            if (model.waits(s) && !goes_on(s)) {
                found.states = known.count();
                fail_at(index, {}, "somebody waits for what will never be");
                return found;
            }
            for (unsigned actor = 0; actor < model.actors(); ++actor) {
                if (!model.can_act(s, actor)) // an exception would say so, too, but takes long
                    continue;
                for (unsigned choice = 0, choices = 1; choice < choices; ++choice) {
                    state t = s;
                    const origin here{index, static_cast<std::uint16_t>(actor), static_cast<std::uint16_t>(choice)};
                    try {
                        choices = model.act(t, actor, choice);
                        ++found.steps;
                        model.canonical(t);
                        const std::uint64_t key = hash(t);
                        leads_on |= actor < model.first_death() && key != hash(s);
                        if (!known.add(key))
                            continue;
                        origins.push_back(here);
                        model.check(t);
                        next.emplace_back(t, static_cast<std::uint32_t>(origins.size() - 1));
                    } catch (const disabled&) {
                        break;
                    } catch (const violation& bad) {
                        found.states = known.count();
                        const bool is_new = origins.back().before == index && origins.back().actor == actor &&
                                            origins.back().choice == choice;
                        if (is_new)
                            fail_at(static_cast<std::uint32_t>(origins.size() - 1), {}, bad.why);
                        else
                            fail_at(index, here, bad.why);
                        return found;
                    }
                }
            }
            if (!leads_on && model.must_go_on(s)) {
                found.states = known.count();
                fail_at(index, {}, "deadlock");
                return found;
            }
        }
        found.states = known.count();
        if (found.states > limit)
            return found;
        now.swap(next);
        next.clear();
    }
    found.is_complete = true;
    return found;
}

} // namespace remanence::exploration
