// Roots whose fingerprint is the program's, while their enumerators, or the members that their classes say, are those of another release;
// and histories across a migration. One program cannot have two releases of an enumeration of one name, so the stored schema is changed to
// what another release would have stored.
#include "api/heap_impl.hpp"
#include "objects/conversion_steps.hpp"
#include "support/temp_dir.hpp"
#include "types/schema_table.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace enumerators_test {
namespace rem = remanence;

enum class kind : std::uint8_t { x, y, w, z };
struct entry {
    kind what = kind::x;
    rem::string text = "a text that is too long for the object itself";
};
using entries = rem::vector<entry>;
struct old_entry {
    rem::string name;
};
struct former {
    int a = 1;
    int b = 2;
};
struct present {
    int b = 0;
    int a = 0;
};

/// The number that another release gave an enumerator.
constexpr kind stored_as(unsigned number) { return static_cast<kind>(number); }

class other_enumerators : public testing::Test {
protected:
    void make(std::string_view name, std::vector<kind> kinds) {
        heap_.write([&] {
            auto& made = heap_.root<entries>(name);
            for (const kind each : kinds)
                made.push_back({each});
        });
    }
    /// What a release with these enumerators has stored.
    void store(std::vector<std::string> labels, std::vector<std::uint64_t> numbers) {
        store(std::move(labels), std::move(numbers), rem::detail::fingerprint_of<entries>().classes_hash);
    }
    /// The same, as the table's entry has it: with the hash of that release, or with none, as before there was one.
    void store(std::vector<std::string> labels, std::vector<std::uint64_t> numbers, std::uint32_t hash) {
        const rem::detail::type_fingerprint& type = rem::detail::fingerprint_of<entries>();
        auto schema = rem::objects::schema_of_program(type).value();
        for (auto& row : schema.rows) {
            if (row.name == "enumerators_test::kind") {
                ASSERT_EQ(row.labels, (std::vector<std::string>{"x", "y", "w", "z"}));
                row.labels = labels;
                row.numbers = numbers;
            }
        }
        const std::string text = schema.encode(rem::types::row_contents::schema);
        const rem::types::schema_to_store made[] = {
            {{type.hash, type.algorithm, type.shapes, hash, static_cast<std::uint32_t>(text.size())}, text}};
        heap_.write(
            [&] { ASSERT_TRUE(rem::types::store_encoded_schemas(rem::detail::impl_of(heap_).memory(), made)); });
    }
    [[nodiscard]] std::string refused() {
        try {
            (void)heap_.root<entries>("root");
        } catch (const rem::error& why) {
            EXPECT_EQ(why.reason(), rem::errc::type_mismatch);
            return why.what();
        }
        return {};
    }
    [[nodiscard]] std::vector<kind> kinds(std::string_view name) {
        std::vector<kind> all;
        for (const entry& each : heap_.root<entries>(name))
            all.push_back(each.what);
        return all;
    }
    void reopen(const rem::heap_options& how) {
        heap_.close();
        heap_ = rem::heap::open(directory_ / "h", how);
    }

    rem::test::temp_dir directory_ = rem::test::temp_dir::in_memory();
    rem::heap heap_ = rem::heap::create(directory_ / "h");
};

TEST_F(other_enumerators, that_are_new_at_the_end_change_the_schema_alone) {
    make("root", {kind::y, kind::x});
    store({"x", "y"}, {0, 1});
    const entry* const first = &heap_.root<entries>("root")[0];
    const auto report = rem::migrate<entries>(heap_, "root");
    EXPECT_TRUE(report.is_needed);
    EXPECT_TRUE(report.is_in_place);
    ASSERT_EQ(report.changes.size(), 1U);
    EXPECT_EQ(report.changes[0].what, "enumerators_test::kind has more enumerators");
    EXPECT_EQ(&heap_.root<entries>("root")[0], first);
    EXPECT_EQ(kinds("root"), (std::vector{kind::y, kind::x}));
    EXPECT_FALSE(rem::migrate<entries>(heap_, "root").is_needed); // the heap has the new ones
}

TEST_F(other_enumerators, keep_their_names_when_they_get_other_values) {
    make("root", {kind::x, stored_as(2), stored_as(1)});
    store({"x", "y", "z"}, {0, 1, 2}); // w is new before z
    reopen({.migrate = rem::migrations().to<entries>("root")});
    EXPECT_EQ(kinds("root"), (std::vector{kind::x, kind::z, kind::y}));
    EXPECT_FALSE(rem::migrate<entries>(heap_, "root").is_needed);
    reopen({.migrate = rem::migrations().to<entries>("root")});
    EXPECT_EQ(kinds("root"), (std::vector{kind::x, kind::z, kind::y}));
}

TEST_F(other_enumerators, are_converted_in_all_roots_of_the_type) {
    make("root", {stored_as(2)});
    make("another", {stored_as(2), kind::x});
    make("third", {stored_as(2), stored_as(2)});
    store({"x", "y", "z"}, {0, 1, 2});
    reopen({.migrate = rem::migrations().to<entries>("root").to<entries>("third").to<entries>("not there")});
    EXPECT_EQ(kinds("root"), (std::vector{kind::z}));
    EXPECT_EQ(kinds("another"), (std::vector{kind::z, kind::x}));
    EXPECT_EQ(kinds("third"), (std::vector{kind::z, kind::z}));
    EXPECT_FALSE(rem::migrate<entries>(heap_, "another").is_needed);
}

TEST_F(other_enumerators, are_converted_before_there_is_a_root_with_the_present_ones) {
    make("another", {stored_as(2)});
    store({"x", "y", "z"}, {0, 1, 2});
    reopen({.migrate = rem::migrations().to<entries>("root")});
    make("root", {kind::z});
    EXPECT_EQ(kinds("another"), (std::vector{kind::z}));
    EXPECT_EQ(kinds("root"), (std::vector{kind::z}));
    EXPECT_FALSE(rem::migrate<entries>(heap_, "another").is_needed);
}

TEST_F(other_enumerators, that_are_gone_are_refused) {
    make("root", {stored_as(4)});
    store({"x", "y", "gone"}, {0, 1, 4});
    try {
        (void)rem::migrate<entries>(heap_, "root");
        FAIL();
    } catch (const rem::error& why) {
        EXPECT_EQ(why.reason(), rem::errc::type_mismatch);
        EXPECT_NE(std::string(why.what()).find("which has no gone"), std::string::npos) << why.what();
    }
}

// Functions of releases long past make nothing of these objects, which differ in enumerators alone.
TEST_F(other_enumerators, that_have_other_values_are_refused_without_a_migration) {
    for (const std::uint32_t hash : {0U, 4711U}) {
        make("root", {kind::x});
        store({"x", "y", "z"}, {0, 1, 2}, hash); // w is new before z
        EXPECT_NE(refused().find("enumerators_test::kind::z had the value 2, and has 3"), std::string::npos)
            << refused();
        store({"x", "y", "w", "z"}, {0, 1, 2, 3});
        EXPECT_EQ(refused(), "");
        heap_.remove_root<entries>("root");
    }
}

TEST_F(other_enumerators, whose_values_have_other_names_are_refused_unless_they_were_renamed) {
    make("root", {stored_as(2)});
    store({"x", "y", "former", "z"}, {0, 1, 2, 3}, 4711);
    EXPECT_NE(refused().find("the value 2 of enumerators_test::kind was named former, and is named w"),
              std::string::npos)
        << refused();
    EXPECT_THROW((void)rem::migrate<entries>(heap_, "root"), rem::error);
    reopen({.checks = {.accept_renamed_members = true}});
    EXPECT_EQ(kinds("root"), (std::vector{kind::w}));
    heap_.commit(); // which stores the new name
    reopen({});
    EXPECT_EQ(kinds("root"), (std::vector{kind::w}));
}

TEST_F(other_enumerators, that_are_new_or_gone_are_taken_and_the_schema_never_loses_a_name) {
    make("root", {kind::y});
    store({"x", "y"}, {0, 1}, 4711);
    EXPECT_EQ(kinds("root"), (std::vector{kind::y}));
    heap_.commit();
    EXPECT_FALSE(rem::migrate<entries>(heap_, "root", {.dry_run = true}).is_needed); // it has the new names
    store({"x", "y", "w", "z", "later"}, {0, 1, 2, 3, 9}, 4711);
    EXPECT_EQ(kinds("root"), (std::vector{kind::y}));
    heap_.commit();
    EXPECT_THROW((void)rem::migrate<entries>(heap_, "root"), rem::error); // which has no later
}

TEST_F(other_enumerators, are_renamed_and_dropped_by_name) {
    make("root", {stored_as(7), stored_as(9), kind::y});
    store({"x", "y", "former", "gone"}, {0, 1, 7, 9});
    const auto how = rem::migrations()
                         .to<entries>("root")
                         .rename(rem::renamed<"former", "z">::of<kind>())
                         .drop("enumerators_test::kind::gone");
    reopen({.migrate = how});
    EXPECT_EQ(kinds("root"), (std::vector{kind::z, kind::x, kind::y}));
}

TEST_F(other_enumerators, are_no_matter_of_functions_from_other_classes) {
    make("root", {stored_as(2)});
    store({"x", "y", "z"}, {0, 1, 2});
    reopen({.migrate = rem::migrations().to<entries>("root").migrate<old_entry, entry>(
                [](const old_entry&, entry&) { FAIL(); })});
    EXPECT_EQ(kinds("root"), (std::vector{kind::z}));
}

TEST_F(other_enumerators, can_be_read_by_those_who_do_not_write_if_no_value_has_changed) {
    make("root", {kind::y});
    store({"x", "y"}, {0, 1});
    reopen({.read_only = true, .migrate = rem::migrations().to<entries>("root")});
    EXPECT_EQ(std::as_const(*heap_.find_root<entries>("root"))[0].what, kind::y);
    reopen({});
    store({"x", "z"}, {0, 1});
    EXPECT_THROW(reopen({.read_only = true, .migrate = rem::migrations().to<entries>("root")}), rem::error);
}

TEST_F(other_enumerators, of_roots_that_are_asked_for_as_two_types_are_refused) {
    try {
        (void)rem::migrations().to<former>("root").to<present>("root").dry_run(heap_);
        FAIL();
    } catch (const rem::error& why) {
        EXPECT_EQ(why.reason(), rem::errc::invalid_argument);
    }
    EXPECT_FALSE(rem::migrations().to<former>("root").to<former>("root").dry_run(heap_).is_needed);
}

class history_across_a_migration : public testing::TestWithParam<bool> {
protected:
    [[nodiscard]] rem::heap open() const {
        return rem::heap::open(directory_ / "h", {.history = {.bytes_max = 1 << 20, .kept_over_sessions = GetParam()}});
    }
    rem::test::temp_dir directory_ = rem::test::temp_dir::in_memory();
};

TEST_P(history_across_a_migration, begins_anew) {
    rem::heap heap = open();
    heap.write([&] { heap.root<former>("root").a = 3; });
    heap.write([&] { heap.root<former>("root").a = 4; });
    if (GetParam()) { // the steps lie in the file
        heap.close();
        heap = open();
    }
    heap.write([&] {
        (void)rem::migrate<present>(heap, "root");
        heap.root<present>("root").b = 9;
    });
    EXPECT_EQ(heap.undo_depth(), 0U);
    EXPECT_THROW(heap.undo(), rem::error);
    if (GetParam()) {
        heap.close();
        heap = open();
        EXPECT_EQ(heap.why_history_is_new(), "");
    }
    EXPECT_EQ(heap.undo_depth(), 0U);
    EXPECT_THROW(heap.undo(), rem::error);
    auto& root = heap.root<present>("root");
    EXPECT_EQ(root.a, 4);
    heap.write([&] { root.a = 5; });
    heap.undo();
    EXPECT_EQ(root.a, 4);
    EXPECT_EQ(root.b, 9);
    EXPECT_THROW(heap.undo(), rem::error);
    heap.redo();
    EXPECT_EQ(root.a, 5);
}

TEST_P(history_across_a_migration, goes_on_if_the_section_was_rolled_back) {
    rem::heap heap = open();
    heap.write([&] { heap.root<former>("root").a = 3; });
    const auto steps = heap.undo_depth();
    EXPECT_THROW(heap.write([&] {
        (void)rem::migrate<present>(heap, "root");
        throw 1;
    }),
                 int);
    EXPECT_EQ(heap.undo_depth(), steps);
    heap.write([&] { heap.root<former>("root").a = 4; });
    EXPECT_EQ(heap.undo_depth(), steps + 1);
}

INSTANTIATE_TEST_SUITE_P(kept, history_across_a_migration, testing::Bool());

} // namespace enumerators_test
