// History and migration: no step leads from objects of one type to objects of another, and versions that were kept stay what they were.

#include "unit/api/fixture.hpp"

#include <remanence/containers/btree_map.hpp>
#include <remanence/look_inside.hpp>
#include <remanence/migrate.hpp>

#include <sstream>
#include <stdexcept>
#include <string>

namespace remanence::test {

struct old_book {
    string title;
    int pages = 0;
};
struct new_book {
    string title;
    long pages = 0;
    int stock = 7;
};

namespace {
namespace histories_of_schemas {

using old_shelf = btree_map<int, old_book>;
using new_shelf = btree_map<int, new_book>;

/// Of a history in memory, and of one that is kept over sessions.
class history_and_schema : public testing::TestWithParam<bool> {
protected:
    [[nodiscard]] heap_options options() const {
        heap_options with = small_heap();
        with.history = {.steps_max = 50, .kept_over_sessions = GetParam()};
        return with;
    }
    heap open() { return heap::open(path_, options()); }
    /// Two books, the first of which is there in the version that is kept.
    static void fill(heap& h) {
        auto& shelf = h.root<old_shelf>("shelf");
        h.write([&] { shelf[1] = {"Emil und die Detektive", 176}; });
        h.keep("old");
        h.write([&] { shelf[2] = {"Das doppelte Lottchen", 160}; });
    }
    static void migrate_shelf(heap& h) { (void)migrate<new_shelf>(h, "shelf"); }

    temp_dir dir_;
    const fs::path path_ = dir_ / "h";
};

TEST_P(history_and_schema, have_no_step_that_leads_across_a_migration) {
    heap h = open();
    fill(h);
    const std::uint64_t before = h.version();
    const std::uint64_t kept = h.versions().front().version;
    migrate_shelf(h);
    EXPECT_EQ(h.undo_depth(), 0U);
    for (const auto& call : std::vector<std::function<void()>>{[&] { h.undo(); }, [&] { h.redo(); },
                                                               [&] { h.go_to(before); }, [&] { h.go_to(kept); }})
        EXPECT_EQ(reason_of(call), errc::no_step);
    auto& shelf = *h.find_root<new_shelf>("shelf");
    h.write([&] { shelf[3] = {"Pünktchen und Anton", 155}; });
    EXPECT_EQ(h.undo_depth(), 1U);
    h.undo();
    EXPECT_EQ(shelf.size(), 2U);
    EXPECT_EQ(reason_of([&] { h.undo(); }), errc::no_step);
    h.redo();
    EXPECT_EQ(shelf.size(), 3U);
    EXPECT_EQ(shelf[1].stock, 7);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(history_and_schema, keep_versions_from_before_a_migration_as_they_were) {
    heap h = open();
    fill(h);
    migrate_shelf(h);
    ASSERT_EQ(h.versions().size(), 1U);
    const std::uint64_t old = h.versions().front().version;
    h.branch(old, dir_ / "branch");
    h.close();
    heap branched = heap::open_existing(dir_ / "branch", small_heap());
    EXPECT_EQ(branched.find_root<old_shelf>("shelf")->at(1).pages, 176);
    branched.close();
    if (!GetParam())
        return;
    heap_options then = small_heap();
    then.read_only = true;
    then.kept_version = "old";
    heap seen = heap::open(path_, then);
    EXPECT_EQ(seen.find_root<old_shelf>("shelf")->size(), 1U);
    EXPECT_EQ(reason_of([&] { (void)seen.find_root<new_shelf>("shelf"); }), errc::type_mismatch);
}

TEST_P(history_and_schema, lead_nowhere_from_a_version_that_was_restored_across_a_migration) {
    {
        heap h = open();
        fill(h);
        migrate_shelf(h);
        h.write([&] { h.find_root<new_shelf>("shelf")->at(1).stock = 8; });
        h.keep("new");
        h.write([&] { h.find_root<new_shelf>("shelf")->at(1).stock = 9; });
        if (GetParam()) {
            h.close();
            h = open();
        }
        EXPECT_EQ(h.undo_depth(), 2U);
        if (!GetParam()) { // it has asked for the root, and cannot begin anew
            EXPECT_EQ(reason_of([&] { h.restore("old"); }), errc::in_use);
            return;
        }
        h.restore("old");
        EXPECT_EQ(h.undo_depth(), 0U);
        EXPECT_EQ(h.redo_depth(), 0U);
        EXPECT_EQ(reason_of([&] { h.redo(); }), errc::no_step);
        h.write([&] { (*h.find_root<old_shelf>("shelf"))[4] = {"Der 35. Mai", 133}; });
        EXPECT_EQ(h.undo_depth(), 1U);
        h.undo();
        EXPECT_EQ(reason_of([&] { h.restore("new"); }), errc::in_use);
        h.close();
        h = open(); // which has not asked for the root
        h.restore("new");
        EXPECT_EQ(h.find_root<new_shelf>("shelf")->at(1).stock, 8);
        EXPECT_EQ(h.undo_depth(), 1U);
        EXPECT_EQ(h.redo_depth(), 1U);
        h.close();
    }
    if (!GetParam())
        return;
    heap h = open();
    EXPECT_EQ(h.undo_depth(), 1U);
    EXPECT_EQ(h.redo_depth(), 1U);
    EXPECT_EQ(h.versions().size(), 2U);
    h.redo();
    EXPECT_EQ(h.find_root<new_shelf>("shelf")->at(1).stock, 9);
}

TEST_P(history_and_schema, keep_all_steps_when_a_migration_goes_back_to_a_savepoint) {
    heap h = open();
    fill(h);
    const std::uint64_t before = h.undo_depth();
    h.write([&] {
        savepoint here = h.savepoint();
        migrate_shelf(h);
        here.rollback();
        (*h.find_root<old_shelf>("shelf"))[9] = {"Das fliegende Klassenzimmer", 170};
    });
    EXPECT_EQ(h.undo_depth(), before + 1);
    h.write([&] { // a section in it fails
        const savepoint here = h.savepoint();
        EXPECT_THROW(h.write([&] {
            migrate_shelf(h);
            throw std::runtime_error("not yet");
        }),
                     std::runtime_error);
        (*h.find_root<old_shelf>("shelf"))[9].pages = 171;
    });
    EXPECT_EQ(h.undo_depth(), before + 2);
    h.undo(2);
    EXPECT_EQ(h.find_root<old_shelf>("shelf")->size(), 2U);
}

TEST_P(history_and_schema, have_no_step_left_when_only_what_came_after_a_migration_goes_back) {
    heap h = open();
    fill(h);
    h.write([&] {
        migrate_shelf(h);
        savepoint here = h.savepoint();
        h.find_root<new_shelf>("shelf")->clear();
        here.rollback();
    });
    EXPECT_EQ(h.undo_depth(), 0U);
    EXPECT_EQ(h.find_root<new_shelf>("shelf")->size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(of_either_kind, history_and_schema, testing::Bool(),
                         [](const auto& kept) { return kept.param ? "kept" : "in_memory"; });

} // namespace histories_of_schemas
} // namespace
} // namespace remanence::test
