// Roots that a program has references to: no step of the history takes one away, or makes another object of it.

#include "api/heap_impl.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/arena.hpp>
#include <remanence/containers/btree_map.hpp>

#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace remanence::test {

struct made_of_a_number {
    explicit made_of_a_number(int from) : number(from) {}
    int number;
};

namespace {
namespace roots_that_are_held {

using notes = vector<string>;

/// Of a history in memory, and of one that is kept over sessions.
class held_roots : public testing::TestWithParam<bool> {
protected:
    [[nodiscard]] heap_options options() const {
        heap_options with = small_heap();
        with.history = {.steps_max = 100, .kept_over_sessions = GetParam()};
        return with;
    }
    heap open() { return heap::open(path_, options()); }
    static void undo_all(heap& h) {
        while (h.undo_depth() != 0)
            h.undo();
    }

    temp_dir dir_;
    const fs::path path_ = dir_ / "h";
};

TEST_P(held_roots, are_no_steps_when_they_are_made_empty_outside_of_sections) {
    heap h = open();
    auto& all = h.root<notes>("notes");
    EXPECT_EQ(h.undo_depth(), 0U);
    EXPECT_EQ(h.history().size(), 1U);
    h.write("buy milk", [&] { all.emplace_back("milk, and a text that needs a block of its own"); });
    EXPECT_EQ(h.undo_depth(), 1U);
    undo_all(h);
    EXPECT_EQ(h.find_root<notes>("notes"), &all);
    EXPECT_TRUE(all.empty());
    h.write("again", [&] { all.emplace_back("again, with a text that needs a block of its own"); });
    EXPECT_EQ(h.find_root<notes>("notes")->size(), 1U);
    h.undo();
    h.redo();
    EXPECT_EQ(all.size(), 1U);
    EXPECT_TRUE(h.verify().clean());
    h.close();
    h = heap::open(path_, options());
    EXPECT_EQ(h.find_root<notes>("notes")->size(), 1U);
}

TEST_P(held_roots, that_were_made_after_steps_stay_where_these_are_undone) {
    heap h = open();
    auto& numbers_ = h.root<numbers>("numbers");
    h.write([&] { numbers_.assign(5'000, 1); });
    h.write([&] { numbers_.back() = 2; }); // nothing is freed, so the root lies where nothing was
    auto& all = h.root<notes>("notes");    // after the steps
    h.write([&] { all.emplace_back("a text that needs a block of its own, and is long"); });
    EXPECT_EQ(h.undo_depth(), 3U);
    h.undo(2);
    EXPECT_EQ(h.find_root<notes>("notes"), &all);
    EXPECT_TRUE(all.empty());
    EXPECT_EQ(numbers_.back(), 1U);
    EXPECT_EQ(h.undo_depth(), 1U);
    EXPECT_EQ(h.redo_depth(), 2U);
    EXPECT_TRUE(h.verify().clean());
    h.undo();
    EXPECT_TRUE(all.empty());
    EXPECT_TRUE(numbers_.empty());
    EXPECT_EQ(h.redo_depth(), 3U);
    h.redo(3);
    EXPECT_EQ(all.size(), 1U);
    EXPECT_EQ(numbers_.back(), 2U);
    EXPECT_EQ(h.undo_depth(), 3U);
    h.undo(3);
    h.write([&] { all.emplace_back("another way"); });
    EXPECT_EQ(h.undo_depth(), 1U);
    EXPECT_EQ(h.redo_depth(), 0U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(held_roots, that_a_step_has_made_with_contents_stay_empty_when_it_is_undone) {
    heap h = open();
    h.write([&] { h.root<notes>("notes").emplace_back("made and filled in one section, by a long text"); });
    notes& all = *h.find_root<notes>("notes");
    int& number = h.root<int>("number", 42);
    EXPECT_EQ(h.undo_depth(), 2U); // neither was made empty by itself
    undo_all(h);
    EXPECT_EQ(h.find_root<notes>("notes"), &all);
    EXPECT_EQ(h.find_root<int>("number"), &number);
    EXPECT_TRUE(all.empty());
    EXPECT_EQ(number, 0);
    EXPECT_EQ(h.redo_depth(), 2U);
    h.redo(2);
    EXPECT_EQ(all.size(), 1U);
    EXPECT_EQ(number, 42);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(held_roots, are_gone_in_versions_where_nobody_has_asked_for_them) {
    if (!GetParam())
        return;
    {
        heap h = open();
        h.write([&] { (void)h.root<int>("first"); });
        h.write([&] { (void)h.root<notes>("notes"); });
        h.close();
    }
    heap h = open();
    EXPECT_EQ(h.undo_depth(), 2U);
    undo_all(h); // it has no reference
    EXPECT_EQ(h.find_root<notes>("notes"), nullptr);
    EXPECT_TRUE(h.roots().empty());
}

TEST_P(held_roots, of_types_that_cannot_be_made_of_nothing_stop_an_undo) {
    heap h = open();
    int& before = h.root<int>("before");
    h.write([&] { before = 1; });
    auto& made = h.root<made_of_a_number>("made", 5);
    h.write([&] { made.number = 6; });
    h.undo();
    EXPECT_EQ(made.number, 5);
    const auto version = h.version();
    try {
        h.undo();
        FAIL() << "it was undone";
    } catch (const error& e) {
        EXPECT_EQ(e.reason(), errc::in_use);
        EXPECT_NE(std::string(e.what()).find("\"made\""), std::string::npos);
        EXPECT_NE(std::string(e.what()).find("This program"), std::string::npos);
    }
    EXPECT_EQ(h.version(), version);
    EXPECT_EQ(made.number, 5);
    EXPECT_EQ(before, 1);
    EXPECT_EQ(h.undo_depth(), 2U);
    h.redo();
    EXPECT_EQ(made.number, 6);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(held_roots, are_not_made_another_object_or_of_another_type) {
    heap h = open();
    h.write([&] { h.root<int>("number") = 1; });
    h.keep("as a number");
    h.write([&] { h.remove_root<int>("number"); });
    h.write([&] { h.root<notes>("number").emplace_back("no number, but a text that is long"); });
    for (const auto& call : std::vector<std::function<void()>>{[&] { h.undo(2); }, [&] { h.restore("as a number"); }}) {
        EXPECT_EQ(reason_of(call), errc::in_use);
        EXPECT_EQ(h.find_root<notes>("number")->size(), 1U);
    }
    h.undo(); // the block of the former root is free there, or not
    EXPECT_EQ(h.find_root<notes>("number")->size(), 0U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(held_roots, whose_place_something_else_has_stop_an_undo) {
    heap h = open();
    auto& holder = h.root<std::uint64_t*>("holder");
    h.write([&] { holder = h.make<std::uint64_t>(7U); });
    const void* const place = holder;
    h.write([&] {
        h.destroy(holder);
        holder = nullptr;
    });
    const void* made = nullptr;
    for (int i = 0; i < 100 && made != place; ++i)
        made = &h.root<std::uint64_t>("there " + std::to_string(i));
    ASSERT_EQ(made, place) << "the allocator has not used the place again";
    EXPECT_EQ(reason_of([&] { h.undo(); }), errc::in_use);
    EXPECT_EQ(holder, nullptr);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(held_roots, in_arenas_and_with_blocks_of_their_own_are_kept) {
    heap h = open();
    int& before = h.root<int>("before");
    h.write([&] { before = 1; });
    const arena room = arena::open(h, "room");
    auto& inside = room.root<notes>("inside");
    auto& blocks = h.root<std::deque<int, allocator<int>>>("blocks"); // allocates when it is made
    h.write([&] {
        inside.emplace_back("a text that needs a block of its own, and is long");
        blocks.assign(2'000, 5);
    });
    undo_all(h);
    EXPECT_TRUE(h.verify().clean());
    EXPECT_EQ(before, 0);
    EXPECT_TRUE(blocks.empty());
    EXPECT_EQ((h.find_root<std::deque<int, allocator<int>>>("blocks")), &blocks);
    h.redo(h.redo_depth());
    EXPECT_EQ(blocks.size(), 2'000U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(held_roots, are_a_step_when_memory_has_other_changes) {
    heap h = open();
    int& number = h.root<int>("number");
    number = 5; // outside of sections, and not committed
    (void)h.root<notes>("notes");
    EXPECT_EQ(h.undo_depth(), 1U);
    h.undo();
    EXPECT_EQ(number, 0);
    h.write([&] { (void)h.root<int>("in a section"); });
    EXPECT_EQ(h.undo_depth(), 1U);
    {
        const auto together = h.group("together");
        (void)h.root<int>("in a group");
        h.write([&] { number = 9; });
    }
    EXPECT_EQ(h.undo_depth(), 2U);
    undo_all(h);
    EXPECT_NE(h.find_root<int>("in a group"), nullptr);
    EXPECT_NE(h.find_root<int>("in a section"), nullptr);
    EXPECT_TRUE(h.verify().clean());
}

// Undo, redo, and roots that come at any time: each reference leads to its root, and a version holds what it held.
TEST_P(held_roots, hold_what_they_held_whatever_is_undone) {
    using words = std::vector<std::string>;
    int gone = 0;
    int refused = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        std::mt19937_64 dice(seed);
        const auto below = [&](std::uint64_t end) {
            return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(dice);
        };
        const fs::path path = dir_ / ("random " + std::to_string(seed));
        heap h = heap::open(path, options());
        std::map<std::uint64_t, std::map<std::string, words>> known; // by version: roots with contents
        std::map<std::string, notes*> mine;
        const auto contents = [&] {
            std::map<std::string, words> found;
            for (const root_info& each : h.roots()) {
                const notes& all = *mine.at(each.name);
                found[each.name] = {all.begin(), all.end()};
            }
            return found;
        };
        // Something else may have the place of a root in that version: then nothing happens.
        const auto goes = [&](const std::function<void()>& call) {
            const auto before = contents();
            const std::uint64_t depth = h.undo_depth();
            const auto reason = reason_of(call);
            ++(reason == errc{} ? gone : refused);
            if (reason == errc{})
                return true;
            EXPECT_EQ(reason, errc::in_use);
            EXPECT_EQ(contents(), before);
            EXPECT_EQ(h.undo_depth(), depth);
            return false;
        };
        for (int i = 0; i < 150; ++i) {
            const std::uint64_t what = below(12);
            const std::string name = "root " + std::to_string(below(6));
            if (what < 2) {
                mine[name] = &h.root<notes>(name);
            } else if (what < 3) {
                h.write([&] {
                    mine[name] = &h.root<notes>(name);
                    mine[name]->emplace_back("made in a section, with a text that is long: " + std::to_string(i));
                });
            } else if (what < 7 && !mine.empty()) {
                notes& all = *std::next(mine.begin(), static_cast<std::ptrdiff_t>(below(mine.size())))->second;
                h.write([&] {
                    for (std::uint64_t n = below(40); n != 0; --n)
                        all.emplace_back("a text that is long enough to need a block " + std::to_string(i));
                });
            } else if (what < 9 && h.undo_depth() != 0) {
                const std::uint64_t steps = 1 + below(h.undo_depth());
                goes([&] { h.undo(steps); });
            } else if (what < 11 && h.redo_depth() != 0) {
                const std::uint64_t before = h.undo_depth();
                if (goes([&] { h.redo(); })) {
                    ASSERT_EQ(h.undo_depth(), before + 1);
                }
            }
            ASSERT_TRUE(h.verify().clean()) << "seed " << seed << ", step " << i;
            for (const auto& [each, object] : mine)
                ASSERT_EQ(h.find_root<notes>(each), object) << "seed " << seed << ", step " << i;
            const auto now = contents();
            const auto [found, is_new] = known.try_emplace(h.version(), now);
            ASSERT_TRUE(is_new || found->second == now);
        }
        const auto last = contents();
        std::uint64_t steps = 0;
        while (h.undo_depth() != 0 && goes([&] { h.undo(); }))
            ++steps;
        h.redo(steps);
        ASSERT_EQ(contents(), last) << "seed " << seed;
        h.close();
    }
    EXPECT_GT(gone, 5 * refused);
}

INSTANTIATE_TEST_SUITE_P(of_either_kind, held_roots, testing::Bool(),
                         [](const auto& kept) { return kept.param ? "kept" : "in_memory"; });

} // namespace roots_that_are_held
} // namespace
} // namespace remanence::test
