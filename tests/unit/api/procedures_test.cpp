// Steps of a history that are held as calls of procedures: undone by the inverse, redone by the procedure.
//
// A run of the walk: 600 steps, 29 of them refused since versions were kept.

#include "api/heap_impl.hpp"
#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/look_back.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace remanence::test {

using doubles = vector<double>;

struct masked {
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t mask;
};

namespace {

constexpr std::size_t k_doubles = 20'000;
using whole_memory = std::vector<std::byte>;

/// The heap's memory, allocator included, with zeros in the pages in which nothing lies: a rollback leaves them as they are.
whole_memory memory_of(heap& h) {
    txn::heap_memory& memory = detail::impl_of(h).memory();
    memory.allocator().flush();
    whole_memory all(memory.base(), memory.base() + memory.accessible_bytes());
    for (std::size_t at = 0; at < all.size(); at += k_page_bytes) {
        if (memory.allocator().is_free_page(at / k_page_bytes))
            std::fill_n(&all[at], k_page_bytes, std::byte{});
    }
    return all;
}

bool is_same(whole_memory one, whole_memory other) {
    one.resize(std::max(one.size(), other.size()));
    other.resize(one.size());
    return one == other;
}

doubles& doubles_of(heap& h) { return *h.find_root<doubles>("doubles"); }

void add_to_all(heap& h, double what) {
    for (double& each : doubles_of(h))
        each += what;
}

void flip(heap& h, const masked& how) {
    auto& all = *h.find_root<numbers>("numbers");
    for (std::uint64_t i = 0; i < how.count; ++i)
        all[(how.first + i) % all.size()] ^= how.mask;
}

const char* const k_why = "as the test wants it";

procedure_set some_procedures() {
    procedure_set all;
    all.add<double>("add", add_to_all, [](heap& h, double what) { add_to_all(h, -what); });
    all.add<double>(
        "multiply",
        [](heap& h, double by) {
            for (double& each : doubles_of(h))
                each *= by;
        },
        [](heap& h, double by) {
            for (double& each : doubles_of(h))
                each /= by;
        });
    all.add<masked>("flip", flip, flip);
    all.add<void>("add one for good", [](heap& h) { add_to_all(h, 1); });
    all.add(
        "append",
        [](heap& h, std::span<const std::byte> bytes) {
            for (const std::byte each : bytes)
                doubles_of(h).push_back(std::to_integer<int>(each));
        },
        [](heap& h, std::span<const std::byte>) { doubles_of(h).clear(); });
    all.add<void>("throw half done", [](heap& h) {
        doubles_of(h)[0] = 1e9;
        throw std::runtime_error(k_why);
    });
    const auto with_inverse = [&](std::string_view name, auto inverse) {
        all.add<void>(name, [](heap& h) { add_to_all(h, 1); }, inverse);
    };
    with_inverse("inverse throws", [](heap& h) {
        add_to_all(h, -1);
        throw std::runtime_error(k_why);
    });
    with_inverse("inverse lacks memory", [](heap& h) {
        add_to_all(h, -1);
        throw std::bad_alloc();
    });
    with_inverse("inverse allocates", [](heap& h) { h.root<numbers>("new").assign(1000, 1); });
    with_inverse("inverse commits", [](heap& h) {
        add_to_all(h, -1);
        h.commit();
    });
    with_inverse("inverse commits without waiting", [](heap& h) {
        add_to_all(h, -1);
        (void)h.commit_async();
    });
    with_inverse("inverse rolls back", [](heap& h) { h.rollback(); });
    return all;
}

class procedures : public testing::Test {
protected:
    heap open(const history_options& how = {.steps_max = 1000}, procedure_set known = some_procedures()) {
        heap_options options = small_heap();
        options.memory.chunk_bytes = 64 * KiB;
        options.history = how;
        options.procedures = std::move(known);
        heap h = heap::open(dir_ / "h", options);
        if (h.find_root<doubles>("doubles") == nullptr)
            h.write("fill", [&] {
                auto& all = h.root<doubles>("doubles");
                for (std::size_t i = 0; i < k_doubles; ++i)
                    all.push_back(static_cast<double>(i) * 0.1);
            });
        return h;
    }
    static std::uint64_t bytes_of_last(const heap& h) {
        for (const history_step& each : h.history()) {
            if (each.is_present)
                return each.bytes;
        }
        return 0;
    }
    static void poke(heap& h, std::size_t where, double what) {
        h.write([&] { doubles_of(h)[where] = what; });
    }
    /// The error of f, after which all is as it was.
    std::optional<caught> refused(heap& h, const std::function<void()>& f) {
        const whole_memory before = memory_of(h);
        const std::uint64_t depth = h.undo_depth();
        auto got = error_of(f);
        EXPECT_TRUE(is_same(memory_of(h), before));
        EXPECT_EQ(h.undo_depth(), depth);
        EXPECT_TRUE(h.verify().clean());
        return got;
    }

    temp_dir dir_;
};

TEST_F(procedures, are_held_instead_of_the_bytes_that_they_change) {
    heap h = open();
    const std::uint64_t depth = h.undo_depth();
    h.call("add", 2.5);
    EXPECT_EQ(h.undo_depth(), depth + 1);
    EXPECT_LT(bytes_of_last(h), 100);
    EXPECT_EQ(h.history().back().name, "add");
    EXPECT_EQ(doubles_of(h)[1], 0.1 + 2.5);
    h.undo();
    EXPECT_NEAR(doubles_of(h)[1], 0.1, 1e-12);
    EXPECT_EQ(h.redo_depth(), 1);
    h.redo();
    EXPECT_NEAR(doubles_of(h)[1], 2.6, 1e-12);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(procedures, that_were_run_before_have_no_part_in_a_failure) {
    heap h = open();
    h.call("add", 1.0);
    h.undo();
    doubles_of(h)[0] = 42;
    EXPECT_EQ(error_of([&] { h.redo(); })->code, errc::uncommitted);
    EXPECT_EQ(doubles_of(h)[0], 42);
}

TEST_F(procedures, are_calls_in_a_heap_without_a_history_too) {
    heap h = open({});
    h.call("add", 1.0);
    EXPECT_EQ(doubles_of(h)[0], 1);
    h.call("add one for good");
    EXPECT_EQ(doubles_of(h)[0], 2);
}

// A floating-point inverse need not be exact: what older steps hold is right again, and the rest is as the inverse left it.
TEST_F(procedures, leave_older_steps_their_bytes) {
    heap h = open();
    std::vector<double> first(doubles_of(h).begin(), doubles_of(h).end());
    poke(h, 7, 0.3);
    poke(h, 9, 1e300); // which multiplication makes infinite
    h.call("multiply", 1e100);
    poke(h, 7, 4);
    h.undo(3);
    EXPECT_NEAR(doubles_of(h)[7], 0.3, 1e-12);
    EXPECT_EQ(doubles_of(h)[9], first[9]) << "the older step holds it";
    EXPECT_NEAR(doubles_of(h)[8], first[8], 1e-9);
    h.undo();
    EXPECT_EQ(doubles_of(h)[7], first[7]);
    h.redo(4);
    EXPECT_EQ(doubles_of(h)[7], 4);
    EXPECT_TRUE(std::isinf(doubles_of(h)[9]));
}

TEST_F(procedures, hold_bytes_where_a_call_is_not_enough) {
    heap h = open();
    const auto exact = [&](const std::function<void()>& commit) {
        const whole_memory before = memory_of(h);
        commit();
        EXPECT_GT(bytes_of_last(h), 200);
        const whole_memory after = memory_of(h);
        h.undo();
        EXPECT_TRUE(is_same(memory_of(h), before));
        h.redo();
        EXPECT_TRUE(is_same(memory_of(h), after));
    };
    exact([&] { h.call("add one for good"); });
    exact([&] { // it allocates, and what is undone by its inverse would have other blocks
        const std::vector<std::byte> many(50'000, std::byte{3});
        h.call("append", many);
    });
    exact([&] {
        std::fill_n(doubles_of(h).begin() + 3, 100, 77); // uncommitted, by nobody's inverse undone
        h.call("add", 1.0);
    });
    poke(h, 1, 5);
    h.write([&] { h.root<numbers>("numbers").assign(1000, 0); });
    h.call("flip", masked{10, 1, 1}); // eight bytes are less than the call
    EXPECT_EQ(bytes_of_last(h), 16);
}

TEST_F(procedures, that_throw_change_nothing) {
    heap h = open();
    const whole_memory before = memory_of(h);
    const std::uint64_t version = h.version();
    EXPECT_THROW(h.call("throw half done"), std::runtime_error);
    EXPECT_EQ(h.version(), version);
    EXPECT_TRUE(is_same(memory_of(h), before));
    h.call("add", 1.0); // the heap works on
    h.undo();
    for (const char* name : {"inverse throws", "inverse lacks memory"}) {
        h.call(name);
        EXPECT_LT(bytes_of_last(h), 100);
        const whole_memory called = memory_of(h);
        const std::uint64_t depth = h.undo_depth();
        if (std::string_view(name) == "inverse throws")
            EXPECT_THROW(h.undo(2), std::runtime_error);
        else
            EXPECT_THROW(h.undo(2), std::bad_alloc);
        EXPECT_TRUE(is_same(memory_of(h), called));
        EXPECT_EQ(h.undo_depth(), depth);
        poke(h, 3, 3);
        h.undo();
        EXPECT_TRUE(is_same(memory_of(h), called));
    }
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(procedures, whose_inverse_does_more_than_it_may_are_refused) {
    heap h = open();
    for (const char* name : {"inverse allocates", "inverse rolls back"}) {
        h.call(name);
        poke(h, 5, 1);
        const auto got = refused(h, [&] { h.undo(2); });
        EXPECT_TRUE(is_error(got, errc::no_procedure, dir_ / "h", name));
        h.undo();
        h.redo();
    }
    for (const char* name : {"inverse commits", "inverse commits without waiting"}) {
        h.call(name);
        poke(h, 5, 1);
        const auto got = refused(h, [&] { h.undo(2); });
        EXPECT_TRUE(is_error(got, errc::section_open, dir_ / "h", "has committed"));
        h.undo();
        h.redo();
    }
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(procedures, in_a_group_are_passed_once_no_version_is_kept) {
    heap h = open();
    {
        const auto two = h.group("two");
        h.call("add", 1.0);
        h.call("add", 2.0);
    }
    const double after = doubles_of(h)[0];
    h.keep("here");
    EXPECT_TRUE(is_error(refused(h, [&] { h.undo(); }), errc::no_step, dir_ / "h", "drop the kept versions"));
    h.call("add", 4.0); // bytes
    EXPECT_TRUE(is_error(refused(h, [&] { h.undo(2); }), errc::no_step, dir_ / "h", "one step at a time"));
    h.undo();
    h.drop("here");
    h.undo();
    EXPECT_EQ(doubles_of(h)[0], after - 3);
}

TEST_F(procedures, are_named_when_they_are_not_there) {
    {
        heap h = open({.steps_max = 10, .kept_over_sessions = true});
        EXPECT_TRUE(is_error(refused(h, [&] { h.call("subtract", 1.0); }), errc::no_procedure, dir_ / "h", "subtract"));
        EXPECT_TRUE(is_error(refused(h, [&] { h.call("add"); }), errc::invalid_argument, {}, "8 bytes"));
        EXPECT_TRUE(
            is_error(refused(h, [&] { h.call("add one for good", 1.0); }), errc::invalid_argument, {}, "0 bytes"));
        h.call("add", 1.0);
        h.close();
    }
    {
        heap h = open({.steps_max = 10, .kept_over_sessions = true}, {});
        EXPECT_EQ(h.why_history_is_new(), "");
        EXPECT_TRUE(is_error(refused(h, [&] { h.undo(); }), errc::no_procedure, dir_ / "h", "\"add\""));
        EXPECT_TRUE(is_error(refused(h, [&] { h.call("add", 1.0); }), errc::no_procedure, dir_ / "h", "\"add\""));
    }
    {
        procedure_set others;
        others.add<double>("add", add_to_all);
        others.add<double>("multiply", add_to_all);
        heap h = open({.steps_max = 10, .kept_over_sessions = true}, others);
        EXPECT_TRUE(is_error(refused(h, [&] { h.undo(); }), errc::no_procedure, dir_ / "h", "inverse"));
    }
    heap h = open({.steps_max = 10, .kept_over_sessions = true});
    h.undo();
    EXPECT_EQ(doubles_of(h)[0], 0);
}

TEST_F(procedures, go_on_over_sessions) {
    const history_options kept{.steps_max = 100, .kept_over_sessions = true};
    for (const bool crashes : {false, true}) {
        {
            heap h = open(kept);
            h.call("add", 8.0);
            h.checkpoint();
            poke(h, 2, 1);
            h.call("add", 16.0);
            h.undo();
            if (crashes)
                h.rebuild(); // as a program does that opens the heap after a crash
            else
                h.close();
        }
        heap h = open(kept);
        EXPECT_EQ(h.why_history_is_new(), "");
        h.redo();
        EXPECT_EQ(doubles_of(h)[0], 24);
        h.undo(3);
        EXPECT_EQ(doubles_of(h)[0], 0);
        EXPECT_NEAR(doubles_of(h)[2], 0.2, 1e-9);
        const auto seen = inspect::history(dir_ / "h");
        EXPECT_EQ(seen.steps.back().step.name, "add") << seen.why_none;
    }
}

TEST_F(procedures, stay_out_of_the_way_of_kept_versions) {
    heap h = open();
    h.call("add", 0.7);
    const std::uint64_t called = h.version();
    poke(h, 11, 4);
    h.keep("here");
    const whole_memory here = memory_of(h);
    h.call("multiply", 3.0); // bytes, since a version is kept
    EXPECT_GT(bytes_of_last(h), 8 * k_doubles);
    h.restore("here");
    EXPECT_TRUE(is_same(memory_of(h), here));
    EXPECT_TRUE(is_error(refused(h, [&] { h.undo(2); }), errc::no_step, dir_ / "h", "\"add\""));
    h.undo();
    const whole_memory before_undo = memory_of(h);
    h.undo(); // one step: it has the bytes from now on
    EXPECT_NEAR(doubles_of(h)[1], 0.1, 1e-9);
    h.redo();
    EXPECT_TRUE(is_same(memory_of(h), before_undo));
    EXPECT_GT(bytes_of_last(h), 8 * k_doubles);
    h.undo();
    h.restore("here");
    EXPECT_TRUE(is_same(memory_of(h), here));
    h.go_to(called);
    h.drop("here");
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(procedures, are_told_of_where_only_bytes_would_do) {
    heap h = open();
    const std::uint64_t before = h.version();
    h.call("add", 0.7);
    EXPECT_TRUE(is_error(refused(h, [&] { (void)h.diff(before, h.version()); }), errc::no_step, dir_ / "h", "\"add\""));
    EXPECT_TRUE(is_error(refused(h, [&] { h.branch(before, dir_ / "b"); }), errc::no_step, dir_ / "h", "\"add\""));
    EXPECT_FALSE(fs::exists(dir_ / "b"));
    const std::uint64_t called = h.version();
    poke(h, 1, 1);
    EXPECT_EQ(h.diff(called, h.version()).ranges.size(), 1);
    h.branch(called, dir_ / "b");
    h.close(); // the branch has its addresses
    heap b = heap::open(dir_ / "b", {.read_only = true, .memory = {.reserve_bytes = 64 * MiB}});
    EXPECT_NEAR(doubles_of(b)[1], 0.8, 1e-9);
}

TEST_F(procedures, are_parts_of_groups_and_of_squashed_steps) {
    heap h = open();
    const double first = doubles_of(h)[4];
    {
        const auto together = h.group("together");
        poke(h, 4, 1);
        h.call("add", 2.0);
        poke(h, 5, 1);
        h.call("multiply", 2.0);
        poke(h, 5, 9);
        poke(h, 5, 10);
    }
    EXPECT_EQ(doubles_of(h)[4], 6);
    h.undo();
    EXPECT_EQ(doubles_of(h)[4], first);
    EXPECT_NEAR(doubles_of(h)[5], 0.5, 1e-12);
    h.redo();
    EXPECT_EQ(doubles_of(h)[4], 6);
    EXPECT_EQ(doubles_of(h)[5], 10);
    h.call("add", 1.0);
    poke(h, 6, 7);
    h.squash(3);
    EXPECT_LT(bytes_of_last(h), 400);
    h.undo();
    EXPECT_EQ(doubles_of(h)[4], first);
    h.redo();
    EXPECT_EQ(doubles_of(h)[4], 7);
    EXPECT_EQ(doubles_of(h)[6], 7);
}

TEST_F(procedures, fit_where_their_bytes_would_not) {
    heap h = open({.bytes_max = 1000});
    h.call("add", 1.0);
    h.call("add", 2.0);
    EXPECT_EQ(h.undo_depth(), 2);
    h.undo(2);
    EXPECT_EQ(doubles_of(h)[0], 0);
}

TEST_F(procedures, are_refused_in_sections_and_with_wrong_names) {
    heap h = open();
    h.write([&] { EXPECT_EQ(error_of([&] { h.call("add", 1.0); })->code, errc::section_open); });
    procedure_set all;
    all.add<double>("add", add_to_all);
    for (const char* name : {"", "add"})
        EXPECT_EQ(error_of([&] { all.add<double>(name, add_to_all); })->code, errc::invalid_argument) << name;
    EXPECT_EQ(error_of([&] { all.add("nothing", procedure_set::function()); })->code, errc::invalid_argument);
    procedure_set copy = all;
    copy.add<double>("subtract", add_to_all);
    all.add<double>("subtract", add_to_all); // a copy of its own
}

// Against whole copies. The inverse is exact, so that memory must be what it was, byte by byte, whatever the way.
class random_calls {
public:
    random_calls(heap& h, std::uint64_t seed) : h_(h), dice_(test::seed_or(seed)) {
        h_.write([&] {
            h_.root<numbers>("numbers").assign(k_numbers, 0);
            h_.root<names>("names");
        });
        h_.forget_history(); // so that they are always there
        note();
    }
    void step() {
        const std::uint64_t what = below(20);
        if (what < 5) {
            h_.call("flip", masked{below(k_numbers), 1 + below(k_numbers), dice_()});
        } else if (what < 8) {
            h_.write([&] {
                (*h_.find_root<names>("names"))[string("key " + std::to_string(below(30)))] = below(100);
                (*h_.find_root<numbers>("numbers"))[below(k_numbers)] = dice_();
            });
        } else if (what < 9) {
            const auto together = h_.group("both");
            h_.write([&] { (*h_.find_root<numbers>("numbers"))[below(k_numbers)] = dice_(); });
            h_.call("flip", masked{below(k_numbers), 1 + below(k_numbers), dice_()});
        } else if (what < 17) {
            return go();
        } else if (what == 17) {
            if (h_.versions().size() < 3 && !is_kept_here())
                h_.keep("kept " + std::to_string(h_.version()));
        } else if (what == 18) {
            if (const auto kept = h_.versions(); !kept.empty())
                h_.drop(kept[below(kept.size())].version);
        } else if (what == 19 && h_.undo_depth() > 1) {
            try {
                h_.squash(2);
            } catch (const error& why) {
                ASSERT_EQ(why.reason(), errc::invalid_argument);
            }
        }
        note();
    }
    [[nodiscard]] std::uint64_t refused() const { return refused_; }
    [[nodiscard]] std::uint64_t calls() const {
        const auto all = h_.history();
        return static_cast<std::uint64_t>(std::ranges::count(all, "flip", &history_step::name));
    }

private:
    static constexpr std::uint64_t k_numbers = 3000;
    std::uint64_t below(std::uint64_t end) { return dice_() % end; }
    [[nodiscard]] bool is_kept_here() const {
        const auto all = h_.history();
        return std::ranges::any_of(all, [](const history_step& each) { return each.is_present && !each.kept.empty(); });
    }
    [[nodiscard]] std::uint64_t present() const {
        for (const history_step& each : h_.history()) {
            if (each.is_present)
                return each.version;
        }
        return 0;
    }
    void note() {
        states_[present()] = memory_of(h_);
        const auto all = h_.history();
        std::erase_if(states_, [&](const auto& state) {
            return std::ranges::none_of(all, [&](const history_step& each) { return each.version == state.first; });
        });
    }
    void go() {
        const auto all = h_.history();
        const std::uint64_t to = all[below(all.size())].version;
        const std::uint64_t from = present();
        try {
            h_.go_to(to);
            ASSERT_TRUE(is_same(memory_of(h_), states_.at(to))) << "from " << from << " to " << to;
        } catch (const error& why) {
            ASSERT_EQ(why.reason(), errc::no_step) << why.what();
            ASSERT_TRUE(is_same(memory_of(h_), states_.at(from)));
            ++refused_;
        }
    }

    heap& h_;
    std::mt19937_64 dice_;
    std::map<std::uint64_t, whole_memory> states_;
    std::uint64_t refused_ = 0;
};

TEST_F(procedures, lead_where_whole_copies_say) {
    const char* const asked = std::getenv("REMANENCE_HISTORY_STEPS");
    const std::uint64_t steps = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 150;
    std::uint64_t refused = 0;
    std::uint64_t calls = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const fs::path path = dir_ / ("h" + std::to_string(seed));
        heap_options options = small_heap();
        options.memory.chunk_bytes = 64 * KiB;
        options.history = {.steps_max = 20 + seed};
        options.procedures = some_procedures();
        heap h = heap::create(path, options);
        random_calls all(h, seed);
        for (std::uint64_t i = 0; i < steps; ++i) {
            ASSERT_NO_FATAL_FAILURE(all.step()) << "seed " << seed << ", step " << i;
        }
        EXPECT_TRUE(h.verify().clean());
        refused += all.refused();
        calls += all.calls();
    }
    EXPECT_GT(calls, 0);
    std::cout << 4 * steps << " steps, " << refused << " refused, " << calls << " calls left\n";
}

} // namespace

} // namespace remanence::test
