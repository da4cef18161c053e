// What the rule for default-made allocators cannot see: an object in the heap that is filled outside write sections by
// one that belongs to no heap. A commit of such changes is refused, in every build.

#include "fixture.hpp"

#include "types/pointer_check.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace remanence::test::memory_of_no_heap {

constexpr const char* k_long = "a text too long for the buffer inside a string";

class label {
public:
    explicit label(const char* text) : text_(text) {}

private:
    string text_;
};
class page { // its own text, of a position-independent kind
public:
    explicit page(const char* text) : text_(text) {}

private:
    string_pi text_;
};

struct bytes {
    std::uint64_t words[8];
};
struct pointers {
    const void* stack;
    const void* of_malloc;
    const void* inside;
};

struct notes {
    std::uint64_t number = 7;
    std::optional<string> text;
    std::optional<vector<int>> numbers;
    std::optional<map<int, int>> table;
    std::optional<list<int>> sequence;
    std::optional<unordered_map<int, int>> hashed;
    std::variant<int, deque<int>> either;
    std::optional<string_pi> text_pi;
    std::optional<vector_pi<int>> numbers_pi;
    std::optional<btree_map<int, int>> tree;
    std::optional<hash_map<int, int>> own_hashed;
    std::optional<packed_map> packed;
    std::optional<fragile<std::string>> element;
};

} // namespace remanence::test::memory_of_no_heap

template <>
inline constexpr bool remanence::enable_persistable<remanence::test::memory_of_no_heap::label> = true;
template <>
inline constexpr bool remanence::enable_persistable<remanence::test::memory_of_no_heap::page> = true;

namespace remanence::test::memory_of_no_heap {
namespace {

// Not with sanitizers: those builds check every commit, by another rule; and memory of no heap that a discarded change leads to is
// freed by nobody.
class memory_of_no_heap_no_sanitizer : public testing::Test {
protected:
    /// The message with which a commit is refused; empty when it succeeds.
    std::string refusal(heap& h) {
        const auto version = h.version();
        const auto got = error_of([&] { h.commit(); });
        if (!got)
            return {};
        EXPECT_EQ(got->code, errc::foreign_pointer) << got->what;
        EXPECT_EQ(got->path, h.path().string());
        EXPECT_EQ(h.version(), version);
        return got->what;
    }
    std::string refusal() { return refusal(heap_); }

    temp_dir dir_;
    heap heap_ = heap::create(dir_ / "a.rem", small_heap());
};

TEST_F(memory_of_no_heap_no_sanitizer, in_an_optional_filled_outside_sections_is_refused_with_its_place) {
    auto& object = heap_.root<notes>("object");
    object.text = k_long;
    const std::string message = refusal();
    const auto at = reinterpret_cast<const std::byte*>(&object.text) + 8 - reinterpret_cast<const std::byte*>(&object);
    EXPECT_NE(message.find("to memory of no heap"), std::string::npos) << message;
    EXPECT_NE(message.find("at byte " + std::to_string(at) + " of the block of "), std::string::npos) << message;
    EXPECT_NE(message.find("below the root \"object\" of type rem::test::memory_of_no_heap::notes"), std::string::npos)
        << message;
    EXPECT_NE(message.find("rem::in"), std::string::npos) << message;
    EXPECT_EQ(*object.text, k_long); // memory keeps its changes
    EXPECT_NE(refusal(), "");
    object.text.reset();
    EXPECT_EQ(refusal(), "");
    {
        const in here(heap_);
        object.text = k_long;
    }
    EXPECT_EQ(refusal(), "");
    heap_.write([&] { object.text.reset(); });
    heap_.write([&] { object.text = k_long; });
    EXPECT_TRUE(heap_.check_pointers().clean());
}

TEST_F(memory_of_no_heap_no_sanitizer, is_refused_in_each_kind_of_container) {
    auto& object = heap_.root<notes>("object");
    const std::pair<const char*, std::function<void(notes&)>> fillings[] = {
        {"string", [](notes& n) { n.text.emplace(k_long); }},
        {"vector", [](notes& n) { n.numbers.emplace(100); }},
        {"map", [](notes& n) { n.table.emplace()[1] = 1; }},
        {"list", [](notes& n) { n.sequence.emplace().push_back(1); }},
        {"unordered_map", [](notes& n) { n.hashed.emplace()[1] = 1; }},
        {"deque", [](notes& n) { n.either.emplace<1>().push_back(1); }},
        {"string_pi", [](notes& n) { n.text_pi.emplace(k_long); }},
        {"vector_pi", [](notes& n) { n.numbers_pi.emplace().resize(100); }},
        {"btree_map", [](notes& n) { n.tree.emplace()[1] = 1; }},
        {"hash_map", [](notes& n) { n.own_hashed.emplace()[1] = 1; }},
        {"packed_map", [](notes& n) { n.packed.emplace().emplace("a", "b"); }},
        {"fragile", [](notes& n) { n.element.emplace(std::string(k_long)); }},
    };
    for (const auto& [name, fill] : fillings) {
        SCOPED_TRACE(name);
        fill(object);
        EXPECT_NE(refusal().find("to memory of no heap"), std::string::npos);
        object = notes();
        EXPECT_EQ(refusal(), "");
        {
            const in here(heap_);
            fill(object);
        }
        EXPECT_EQ(refusal(), "");
        EXPECT_TRUE(heap_.check_pointers().clean());
        heap_.write([&] { object = notes(); });
    }
}

TEST_F(memory_of_no_heap_no_sanitizer, of_a_class_that_hides_its_members_is_refused) {
    auto& labels = heap_.root<vector<label>>("labels");
    auto& pages = heap_.root<list<page>>("pages");
    labels.emplace_back(k_long); // made where it is
    EXPECT_EQ(refusal(), "");
    labels.push_back(label(k_long));
    EXPECT_NE(refusal(), "");
    labels.pop_back();
    EXPECT_EQ(refusal(), "");
    pages.push_back(page(k_long));
    EXPECT_NE(refusal(), "");
    heap_.rollback();
    EXPECT_TRUE(pages.empty());
}

TEST_F(memory_of_no_heap_no_sanitizer, is_refused_by_every_commit_of_changes_outside_sections) {
    auto& object = heap_.root<notes>("object");
    object.text = k_long;
    EXPECT_TRUE(is_error(error_of([&] { heap_.commit(); }), errc::foreign_pointer, dir_ / "a.rem", "heap.write()"));
    EXPECT_TRUE(is_error(error_of([&] { heap_.commit(durability::none); }), errc::foreign_pointer, dir_ / "a.rem", ""));
    EXPECT_TRUE(is_error(error_of([&] { (void)heap_.commit_async(); }), errc::foreign_pointer, dir_ / "a.rem", ""));
    heap_.close();

    heap_options options = small_heap();
    options.commit_at_close = true;
    heap closing = heap::open_existing(dir_ / "a.rem", options);
    auto& found = *closing.find_root<notes>("object");
    EXPECT_FALSE(found.text);
    found.text = k_long;
    EXPECT_TRUE(is_error(error_of([&] { closing.close(); }), errc::foreign_pointer, dir_ / "a.rem", ""));
    ASSERT_TRUE(closing.is_open());
    EXPECT_EQ(*found.text, k_long);
    found.text.reset();
    found.number = 8;
    closing.close();
    heap again = heap::open_existing(dir_ / "a.rem", small_heap());
    EXPECT_EQ(again.find_root<notes>("object")->number, 8U);
}

TEST_F(memory_of_no_heap_no_sanitizer, is_refused_by_the_destructor_which_says_what_it_discards) {
    heap_options options = small_heap();
    options.commit_at_close = true;
    {
        heap closing = heap::create(dir_ / "b.rem", options);
        closing.root<notes>("object").text = k_long;
        testing::internal::CaptureStderr();
    }
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("b.rem"), std::string::npos) << said;
    EXPECT_NE(said.find("to memory of no heap"), std::string::npos) << said;
    EXPECT_EQ(said.find("keeps its changes"), std::string::npos) << said;
    heap again = heap::open_existing(dir_ / "b.rem", small_heap());
    EXPECT_FALSE(again.find_root<notes>("object")->text);
}

TEST_F(memory_of_no_heap_no_sanitizer, is_refused_by_file_backed) {
    file_backed<notes> file(dir_ / "c.rem");
    file->text = k_long;
    EXPECT_TRUE(is_error(error_of([&] { file.commit(); }), errc::foreign_pointer, dir_ / "c.rem", ""));
    EXPECT_TRUE(is_error(error_of([&] { file.close(); }), errc::foreign_pointer, dir_ / "c.rem", ""));
    ASSERT_TRUE(file.is_open());
    file->text.reset();
    file.write([&] { file->text = k_long; });
    file->number = 9;
    file.close();
    const file_backed<notes> again(dir_ / "c.rem");
    EXPECT_EQ(again->number, 9U);
    EXPECT_EQ(again->text, k_long);
}

// Where the rule holds, nothing is looked at, but in builds that check every commit.
TEST_F(memory_of_no_heap_no_sanitizer, is_not_looked_for_at_the_end_of_write_sections) {
    auto& object = heap_.root<notes>("object");
    std::optional<std::string> refused;
    object.text = k_long;
    if (const auto got = error_of([&] { heap_.write([] {}); }))
        refused = got->what;
    EXPECT_EQ(refused.has_value(), types::checks_pointers() != nullptr);
    object.text.reset();
}

// As a program's stack may leave it in an array that it does not fill.
TEST_F(memory_of_no_heap_no_sanitizer, is_not_seen_in_bytes_that_no_object_owns) {
    auto& object = heap_.root<bytes>("object");
    const string mine(k_long);
    std::memcpy(&object, &mine, sizeof mine); // an image of it, whole
    const auto refused = error_of([&] { heap_.commit(); });
    EXPECT_EQ(refused.has_value(), types::checks_pointers() != nullptr); // builds that check every commit guess
    object = {};
    EXPECT_EQ(refusal(), "");
}

TEST_F(memory_of_no_heap_no_sanitizer, that_is_gone_is_no_reason_to_refuse) {
    auto& object = heap_.root<notes>("object");
    auto& several = heap_.root<vector<std::optional<string>>>("several");
    object.text = k_long;
    object.text.reset();
    object.numbers_pi.emplace(100);
    object.numbers_pi.emplace();
    several.resize(10);
    for (auto& each : several)
        each = k_long;
    several.clear();
    several.shrink_to_fit();
    EXPECT_EQ(refusal(), "");
    object.text = "short"; // has no memory yet
    EXPECT_EQ(refusal(), "");
    *object.text = k_long;
    EXPECT_NE(refusal(), "");
    heap_.rollback();
    EXPECT_EQ(object.text, "short");
    EXPECT_EQ(refusal(), "");
}

TEST_F(memory_of_no_heap_no_sanitizer, that_is_gone_is_no_reason_to_refuse_when_objects_of_the_program_have_its_block) {
    auto& object = heap_.root<notes>("object");
    object.text = k_long;
    const void* const block = object.text->data();
    object.text.reset();
    std::list<string> mine;
    while (mine.emplace_back(k_long).data() != block && mine.size() < 1000)
        ;
    EXPECT_LT(mine.size(), 1000);
    EXPECT_EQ(refusal(), "");
    object.numbers_pi.emplace(100);
    object.numbers_pi.reset();
    std::list<vector_pi<int>> own;
    for (int i = 0; i < 100; ++i)
        own.emplace_back(100);
    EXPECT_EQ(refusal(), "");
    file_backed<notes> file(dir_ / "c.rem");
    file->text = k_long;
    file->text.reset();
    mine.emplace_back(k_long);
    file->number = 9;
    file = file_backed<notes>(dir_ / "d.rem");
    EXPECT_EQ(file_backed<notes>(dir_ / "c.rem")->number, 9U);
}

TEST_F(memory_of_no_heap_no_sanitizer, and_memory_of_another_heap_are_refused_alike) {
    heap other = heap::create(dir_ / "b.rem", small_heap());
    auto& object = heap_.root<notes>("object");
    const std::function<void()> fillings[] = {
        [&] { object.text = k_long; },
        [&] { object.table.emplace()[1] = 1; },
        [&] { object.text_pi.emplace(k_long); },
        [&] { object.own_hashed.emplace()[1] = 1; },
        [&] { object.element.emplace(std::string(k_long)); },
    };
    for (const auto& fill : fillings) {
        other.write(fill);
        const std::string message = refusal();
        EXPECT_NE(message.find("into another heap, " + (dir_ / "b.rem").string()), std::string::npos) << message;
        EXPECT_NE(message.find("below the root \"object\""), std::string::npos) << message;
        object = notes();
        EXPECT_EQ(refusal(), "");
    }
    other.write([&] { object.text = "short"; }); // has no memory yet
    EXPECT_EQ(refusal(), "");
    *object.text = k_long;
    EXPECT_NE(refusal(), "");
    object.text.reset();
    EXPECT_EQ(refusal(other), "");
}

TEST_F(memory_of_no_heap_no_sanitizer, is_found_when_a_later_session_takes_it) {
    heap_.root<notes>("object").text = "short";
    heap_.commit();
    heap_.close();
    heap_ = heap::open_existing(dir_ / "a.rem", small_heap());
    *heap_.root<notes>("object").text = k_long;
    EXPECT_NE(refusal(), "");
}

// Numbers and plain pointers are the program's own affair, as far as the build does not check every commit.
TEST_F(memory_of_no_heap_no_sanitizer, is_no_memory_of_another_kind) {
    if (types::checks_pointers())
        GTEST_SKIP() << "this build checks every commit";
    auto& object = heap_.root<pointers>("object");
    const auto own = std::make_unique<int[]>(100);
    const vector<int> mine(100);
    object = {&object, own.get(), &mine[1]};
    object.stack = &own;
    EXPECT_EQ(refusal(), "");
}

} // namespace
} // namespace remanence::test::memory_of_no_heap
