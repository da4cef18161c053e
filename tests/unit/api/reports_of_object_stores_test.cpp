// What users of object stores reported to these (ZODB, Realm, Loro, EclipseStore, libmdbx), tried here. Each test names its source;
// bench/results/reports.md has the list with the results.
#include "unit/api/fixture.hpp"

#include <remanence/inspect.hpp>
#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <csignal>
#include <optional>
#include <sstream>
#include <string>

namespace remanence::test {

namespace release_1 {
enum class colour { red, green, blue };
struct customers {
    map<string, std::uint64_t> by_name;
    std::optional<std::uint64_t> limit;
};
} // namespace release_1
namespace release_2 {
enum class colour { red, green };
struct all_data { // was customers
    map<string, std::uint64_t> by_name;
    std::optional<std::uint64_t> limit;
};
struct with_limit { // was optional
    map<string, std::uint64_t> by_name;
    std::uint64_t limit = 0;
};
} // namespace release_2

namespace {

heap_options with_history() {
    heap_options options = small_heap();
    options.history = {.bytes_max = 16 * MiB};
    return options;
}

// zopefoundation/ZODB#16: after a tree was made and changed within a savepoint that was rolled back, the next commit failed, and objects
// were missing.
TEST(reports_of_object_stores, a_tree_made_and_changed_before_a_rollback_to_a_savepoint_leaves_nothing) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    h.write([&] {
        savepoint here = h.savepoint();
        auto& tree = h.root<btree_map<string, numbers>>("tree");
        for (std::uint64_t i = 0; i < 1000; ++i)
            tree[string(std::to_string(i))].resize(i % 10);
        savepoint within = h.savepoint();
        tree.clear();
        within.rollback();
        here.rollback();
        EXPECT_EQ((h.find_root<btree_map<string, numbers>>("tree")), nullptr);
        h.root<btree_map<string, numbers>>("tree")["kept"].resize(3);
    });
    EXPECT_TRUE(has_contents(h));
    h.close();
    h = heap::open_existing(dir / "h", small_heap());
    auto* tree = h.find_root<btree_map<string, numbers>>("tree");
    ASSERT_NE(tree, nullptr);
    EXPECT_EQ(tree->size(), 1U);
    EXPECT_EQ(tree->begin()->second.size(), 3U);
    EXPECT_TRUE(has_contents(h));
}

// eclipse-store/store#229: once there were data, the class of the root could not have another name.
TEST(reports_of_object_stores, the_class_of_a_root_may_have_another_name) {
    temp_dir dir;
    {
        heap h = heap::create(dir / "h", small_heap());
        h.write([&] { h.root<release_1::customers>("all").by_name["KNUTH"] = 7; });
    }
    {
        heap h = heap::open_existing(dir / "h", small_heap());
        EXPECT_THROW((void)h.find_root<release_2::all_data>("all"), error);
        EXPECT_EQ(h.find_root<release_1::customers>("all")->by_name.at("KNUTH"), 7U);
    }
    heap_options options = small_heap();
    options.migrate = migrations().to<release_2::all_data>("all");
    heap h = heap::open_existing(dir / "h", options);
    EXPECT_EQ(h.find_root<release_2::all_data>("all")->by_name.at("KNUTH"), 7U);
}

// eclipse-store/store#531: what of one store was stored in a second one was not there when it was asked for.
TEST(reports_of_object_stores, what_is_assigned_to_another_heap_is_there_without_the_first) {
    temp_dir dir;
    {
        heap first = heap::create(dir / "first", small_heap());
        put_contents(first);
        heap second = heap::create(dir / "second", small_heap());
        second.write([&] {
            second.root<numbers>("numbers") = *first.find_root<numbers>("numbers");
            second.root<names>("names") = *first.find_root<names>("names");
        });
    }
    fs::remove(dir / "first");
    EXPECT_TRUE(file_has_contents(dir / "second"));
}

// eclipse-store/store#552: fewer constants of an enumeration than a stored value needs ended in an ArrayIndexOutOfBoundsException.
TEST(reports_of_object_stores, a_stored_enumerator_that_is_gone_is_refused_and_stays) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    h.write([&] { h.root<vector<release_1::colour>>("colours") = {release_1::colour::red, release_1::colour::blue}; });
    EXPECT_THROW(migrate<vector<release_2::colour>>(h, "colours"), error);
    auto* const colours = h.find_root<vector<release_1::colour>>("colours");
    ASSERT_NE(colours, nullptr);
    EXPECT_EQ(colours->back(), release_1::colour::blue);
}

// realm/realm-swift#3413: a property that was optional and became required lost its values in the migration.
TEST(reports_of_object_stores, a_member_that_is_optional_no_more_keeps_its_value_or_is_refused) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    h.write([&] { h.root<release_1::customers>("all").limit = 100; });
    try {
        migrate<release_2::with_limit>(h, "all");
    } catch (const error& refused) {
        EXPECT_EQ(refused.reason(), errc::type_mismatch);
        EXPECT_EQ(h.find_root<release_1::customers>("all")->limit, 100U);
        const auto with_default = [](const release_1::customers& old, release_2::with_limit& made) {
            made.by_name = old.by_name;
            made.limit = old.limit.value_or(0);
        };
        const auto step = migration_step::of<release_1::customers, release_2::with_limit>(with_default);
        migrate<release_2::with_limit>(h, "all", {.steps = {step}});
    }
    EXPECT_EQ(h.find_root<release_2::with_limit>("all")->limit, 100U);
}

/// A heap with a history, and a dump of another heap loaded into it.
struct loaded {
    temp_dir dir;
    heap h = heap::create(dir / "h", with_history());
    loaded() {
        heap from = heap::create(dir / "from", small_heap());
        from.write([&] { from.root<names>("elsewhere")["there"] = 1; });
        std::stringstream dump;
        save(from, dump);
        h.write([&] { h.root<map<string, string>>("nodes")["node"] = "hello"; });
        load<names>(h, dump);
    }
};

// loro-dev/loro#1012: after an import, the first commit was no step of its own that could be undone.
TEST(reports_of_object_stores, the_first_commit_after_a_load_is_undone_by_itself) {
    loaded all;
    const std::uint64_t depth = all.h.undo_depth();
    all.h.write([&] { all.h.root<names>("elsewhere")["here"] = 2; });
    EXPECT_EQ(all.h.undo_depth(), depth + 1);
    all.h.undo();
    EXPECT_EQ(all.h.find_root<names>("elsewhere")->size(), 1U);
    all.h.redo();
    EXPECT_EQ(all.h.find_root<names>("elsewhere")->size(), 2U);
}

// loro-dev/loro#1055: to undo a change that was made after an import deleted the node that was changed, which was older than both.
TEST(reports_of_object_stores, to_undo_a_change_after_a_load_keeps_what_was_there_before_the_load) {
    loaded all;
    auto& nodes = all.h.root<map<string, string>>("nodes");
    all.h.write([&] { nodes["node"] += " world"; });
    all.h.undo();
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_EQ(nodes["node"], "hello");
    EXPECT_EQ(all.h.find_root<names>("elsewhere")->size(), 1U);
}

// realm/realm-swift#2631: a file that was compacted doubled its size with the first small write.
TEST(reports_of_object_stores, the_first_write_to_a_copy_does_not_make_it_much_longer) {
    temp_dir dir;
    {
        heap h = heap::create(dir / "h", small_heap());
        h.write([&] { h.root<numbers>("large").resize(3 * MiB, 7); });
        put_contents(h);
    }
    inspect::copy((dir / "h").string(), (dir / "copy").string());
    const auto before = fs::file_size(dir / "copy");
    heap h = heap::open_existing(dir / "copy", small_heap());
    h.write([&] { h.root<std::uint64_t>("one") = 1; });
    h.close();
    EXPECT_LE(fs::file_size(dir / "copy"), before + 512 * KiB);
    EXPECT_TRUE(file_has_contents(dir / "copy"));
}

// igor53627/mdbx-rs#244 (libmdbx in Rust): when the limit of its size was met, and the process ended, no state was left that could be read.
TEST(reports_of_object_stores, a_heap_that_met_its_limit_and_was_killed_has_what_was_committed) {
    temp_dir dir;
    const std::string outcome = in_child([&]() -> std::string {
        heap h = heap::create(dir / "h", small_heap());
        put_contents(h);
        taken_addresses behind(static_cast<std::byte*>(h.base()) + 64 * MiB);
        auto& grown = h.root<numbers>("grown");
        try {
            for (;;)
                h.write([&] { grown.resize(grown.size() + MiB / 8, 7); });
        } catch (const std::bad_alloc&) {
            ::raise(SIGKILL);
        }
        return "alive";
    });
    EXPECT_EQ(outcome, "killed by signal 9");
    heap h = heap::open_existing(dir / "h", small_heap());
    EXPECT_TRUE(has_contents(h));
    EXPECT_GE(h.find_root<numbers>("grown")->size(), std::size_t{16} * MiB / 8);
}

// Mithril-mine/libmdbx#257: after commits that had not been synced, and the end of the process, the next open ended by an assertion.
TEST(reports_of_object_stores, lazy_commits_of_a_process_that_ended_without_closing_are_there) {
    temp_dir dir;
    const std::string outcome = in_child([&]() -> std::string {
        heap h = heap::create(dir / "h", small_heap());
        put_contents(h);
        auto& count = h.root<std::uint64_t>("count");
        for (int i = 0; i < 3'000; ++i)
            h.write(durability::lazy, [&] { ++count; });
        ::raise(SIGKILL);
        return "alive";
    });
    EXPECT_EQ(outcome, "killed by signal 9");
    heap h = heap::open_existing(dir / "h", small_heap());
    EXPECT_TRUE(has_contents(h));
    EXPECT_EQ(*h.find_root<std::uint64_t>("count"), 3'000U);
}

} // namespace
} // namespace remanence::test
