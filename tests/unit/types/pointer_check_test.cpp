#include "types/pointer_check.hpp"

#include "os/memory.hpp"
#include "support/temp_dir.hpp"
#include "types/schema_reader.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace rem = remanence;

namespace pointer_check_test {

using namespace std::string_view_literals;
using kind = rem::os::process_memory::kind;

constexpr const char* k_long_text = "a text too long for the buffer inside a string";

struct with_std_string { // its characters are malloc's
    std::uint64_t number = 1;
    std::string text;
};
struct with_pointer {
    std::uint64_t number = 2;
    const void* pointer = nullptr;
};
} // namespace pointer_check_test

template <> // a promise that is broken, so that there is something to find
inline constexpr bool remanence::enable_persistable<pointer_check_test::with_std_string> = true;

namespace pointer_check_test {

using nodes = rem::list<rem::string>;
using book = rem::multimap<rem::string, rem::vector<rem::string>>;

kind kind_of(const void* address) {
    const auto wanted = reinterpret_cast<std::uint64_t>(address);
    for (const rem::os::process_memory& memory : rem::os::memory_of_process()) {
        if (memory.begin <= wanted && wanted < memory.end)
            return memory.what;
    }
    ADD_FAILURE() << "the address is in no memory of the process";
    return kind::other;
}

TEST(memory_of_process, knows_the_stack_of_this_thread) {
    const int local = 0;
    EXPECT_EQ(kind_of(&local), kind::stack_of_this_thread);
}

TEST(memory_of_process, knows_other_stacks) {
    const int of_main = 0;
    std::thread([&] {
        const int of_thread = 0;
        EXPECT_EQ(kind_of(&of_thread), kind::stack_of_this_thread);
        EXPECT_EQ(kind_of(&of_main), kind::stack);
    }).join();
}

TEST(memory_of_process, has_malloc_memory_but_no_constants) {
    const auto small = std::make_unique<int>(1);
    const std::vector<int> large(1 << 20);
    (void)kind_of(small.get());
    (void)kind_of(large.data());
    const auto constant = reinterpret_cast<std::uint64_t>(k_long_text);
    const auto all = rem::os::memory_of_process();
    EXPECT_TRUE(
        std::none_of(all.begin(), all.end(), [&](const auto& m) { return m.begin <= constant && constant < m.end; }));
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; }));
}

// As AddressSanitizer's shadow memory becomes after a while: numbers that lead there are hardly ever pointers.
TEST(memory_of_process, leaves_the_pieces_of_a_vast_mapping_out) {
    constexpr std::size_t k_bytes = std::size_t{1} << 40;
    constexpr std::size_t k_piece = std::size_t{1} << 32;
    void* const got =
        ::mmap(nullptr, k_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(got, MAP_FAILED);
    const auto begin = reinterpret_cast<std::uint64_t>(got);
    for (const std::size_t piece : {std::size_t{0}, k_bytes / 2, k_bytes - k_piece})
        ASSERT_EQ(::madvise(static_cast<char*>(got) + piece, k_piece, MADV_DONTDUMP), 0);
    for (const rem::os::process_memory& memory : rem::os::memory_of_process())
        EXPECT_TRUE(memory.end <= begin || begin + k_bytes <= memory.begin) << memory.begin - begin;
    const int local = 0;
    EXPECT_EQ(kind_of(&local), kind::stack_of_this_thread);
    ASSERT_EQ(::munmap(got, k_bytes), 0);
}

class pointer_check : public testing::Test {
protected:
    void SetUp() override {
        if (!rem::types::checks_pointers())
            GTEST_SKIP() << "this library does not check: it was built with NDEBUG";
        heap_.emplace(rem::heap::create(dir_ / "checked.rem"));
    }

    /// The message with which a commit is refused; empty when it succeeds.
    std::string refusal() {
        const std::uint64_t version = heap_->version();
        try {
            heap_->commit();
        } catch (const rem::error& why) {
            EXPECT_EQ(why.reason(), rem::errc::foreign_pointer) << why.what();
            EXPECT_EQ(why.path(), heap_->path().string());
            EXPECT_EQ(heap_->version(), version);
            return why.what();
        }
        return {};
    }

    /// What the message must say of a word.
    [[nodiscard]] std::string place_of(const void* word, const void* block) const {
        auto number = [](const void* from, const void* to) {
            return std::to_string(static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from));
        };
        return "at byte " + number(block, word) + " of the block of ";
    }
    [[nodiscard]] std::string heap_offset_of(const void* block) const {
        return "at heap offset " +
               std::to_string(static_cast<const std::byte*>(block) - static_cast<const std::byte*>(heap_->base()));
    }

    void expect_contains(const std::string& text, std::string_view part) {
        EXPECT_NE(text.find(part), std::string::npos) << '"' << part << "\" is missing in: " << text;
    }

    remanence::test::temp_dir dir_;
    std::optional<rem::heap> heap_;
};

TEST_F(pointer_check, accepts_containers_that_lie_in_the_heap) {
    auto& people = heap_->root<book>("people");
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 2000; ++i) {
            auto& lines = people.emplace(std::to_string(i) + k_long_text, rem::vector<rem::string>())->second;
            for (int line = 0; line < i % 5; ++line)
                lines.emplace_back(k_long_text);
        }
        EXPECT_EQ(refusal(), "");
        while (people.size() > 500)
            people.erase(people.begin());
        EXPECT_EQ(refusal(), "");
    }
}

TEST_F(pointer_check, names_root_type_and_place_of_a_string_of_malloc) {
    auto& holder = heap_->root<rem::vector<with_std_string*>>("holders");
    auto* object = heap_->make<with_std_string>();
    holder.push_back(object);
    EXPECT_EQ(refusal(), ""); // a short string lies in itself
    object->text = k_long_text;
    const std::string message = refusal();
    expect_contains(message, "the root \"holders\" of type ");
    expect_contains(message, "vector<");
    expect_contains(message, place_of(&object->text, object));
    expect_contains(message, heap_offset_of(object));
    expect_contains(message, "malloc");
    expect_contains(message, "heap.make()");
    heap_->destroy(object); // gives the string back to malloc
    holder.clear();
    EXPECT_EQ(refusal(), "");
}

TEST_F(pointer_check, finds_a_list_on_the_stack_with_nodes_in_the_heap) {
    auto& first_nodes = heap_->root<rem::vector<const rem::string*>>("first nodes");
    {
        nodes on_the_stack(heap_->get_allocator());
        on_the_stack.emplace_back(k_long_text);
        first_nodes.push_back(&on_the_stack.front());
        const std::string message = refusal();
        expect_contains(message, "to the stack of the committing thread");
        expect_contains(message, "the root \"first nodes\"");
        expect_contains(message, "There are 2 such pointers"); // next and previous
        expect_contains(message, "must lie there itself");
        EXPECT_EQ(on_the_stack.front(), k_long_text) << "memory keeps its changes";
        first_nodes.clear();
    }
    EXPECT_EQ(refusal(), "") << "the nodes are gone";
}

TEST_F(pointer_check, finds_the_stack_of_another_thread) {
    nodes on_this_stack(heap_->get_allocator());
    on_this_stack.emplace_back(k_long_text);
    std::string message;
    std::thread([&] { message = refusal(); }).join();
    expect_contains(message, "to the stack of a thread");
}

TEST_F(pointer_check, says_when_no_root_reaches_the_block) {
    auto* object = heap_->make<with_pointer>();
    const auto target = std::make_unique<int>(5);
    object->pointer = target.get();
    expect_contains(refusal(), "which no root reaches");
}

TEST_F(pointer_check, finds_a_pointer_into_another_heap) {
    auto other = rem::heap::create(dir_ / "other.rem");
    auto& committed = other.root<with_pointer>("committed");
    auto& object = heap_->root<with_pointer>("object");
    object.pointer = &committed;
    const std::string message = refusal();
    expect_contains(message, "into another heap, " + (dir_ / "other.rem").string());
    expect_contains(message, "the root \"object\" of type pointer_check_test::with_pointer");
    expect_contains(message, place_of(&object.pointer, &object));
    object.pointer = other.make<with_pointer>(); // in memory that is in no file yet
    expect_contains(refusal(), "into another heap, ");
    object.pointer = &object;
    EXPECT_EQ(refusal(), "");
}

TEST_F(pointer_check, checks_fresh_memory_as_well_as_changes) {
    auto& roots = heap_->root<rem::vector<with_pointer>>("many", std::size_t{100000}); // fresh chunks
    const auto target = std::make_unique<int>(5);
    roots[77777].pointer = target.get();
    expect_contains(refusal(), place_of(&roots[77777].pointer, roots.data()));
    roots[77777].pointer = nullptr;
    EXPECT_EQ(refusal(), "");
    roots[5].pointer = target.get();
    expect_contains(refusal(), place_of(&roots[5].pointer, roots.data()));
    auto* fresh = heap_->make<rem::vector<with_pointer>>(std::size_t{100000});
    roots[5].pointer = &fresh->back();
    fresh->back().pointer = target.get();
    expect_contains(refusal(), place_of(&fresh->back().pointer, fresh->data()));
}

TEST_F(pointer_check, ignores_what_lay_in_freed_memory) {
    const auto target = std::make_unique<int>(5);
    heap_->write([&] {
        for (int i = 0; i < 100; ++i) {
            nodes temporary(heap_->get_allocator());
            for (int j = 0; j < 50; ++j)
                temporary.emplace_back(k_long_text);
            auto* object = heap_->make<with_pointer>();
            object->pointer = target.get();
            heap_->destroy(object);
        }
        // Reuses that memory, without writing to most of it.
        auto& kept = heap_->root<rem::vector<rem::vector<with_pointer*>>>("kept");
        kept.resize(100);
        for (auto& element : kept)
            element.reserve(2);
    });
}

TEST_F(pointer_check, ignores_numbers_that_are_no_addresses) {
    auto& numbers = heap_->root<rem::vector<std::uint64_t>>("numbers");
    for (std::uint64_t bits = 0; bits < 64; ++bits)
        numbers.push_back((std::uint64_t{1} << bits) - 1);
    numbers.push_back(reinterpret_cast<std::uint64_t>(heap_->base())); // our own
    auto& texts = heap_->root<rem::vector<rem::string>>("texts");
    for (std::size_t length = 0; length < 64; ++length)
        texts.emplace_back(std::string(length, 'U'));
    EXPECT_EQ(refusal(), "");
}

// As a float and the padding behind it may look: in a hash container's load factor it was found to.
TEST_F(pointer_check, ignores_the_start_of_a_page_but_nothing_behind_it) {
    const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const page = ::mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page, MAP_FAILED);
    auto& object = heap_->root<with_pointer>("object");
    object.pointer = page;
    EXPECT_EQ(refusal(), "");
    object.pointer = static_cast<const std::byte*>(page) + 16;
    expect_contains(refusal(), "would lead nowhere");
    ::munmap(page, page_bytes);
}

TEST_F(pointer_check, a_refused_section_is_rolled_back_and_the_heap_stays_usable) {
    auto& object = heap_->root<with_pointer>("object");
    const auto target = std::make_unique<int>(5);
    try {
        heap_->write([&] { object.pointer = target.get(); });
        FAIL() << "the pointer was committed";
    } catch (const rem::error& why) {
        EXPECT_EQ(why.reason(), rem::errc::foreign_pointer);
    }
    EXPECT_EQ(object.pointer, nullptr);
    heap_->write([&] { object.number = 3; });
    heap_->close();
    auto again = rem::heap::open_existing(dir_ / "checked.rem");
    EXPECT_EQ(again.find_root<with_pointer>("object")->number, 3U);
    EXPECT_TRUE(again.verify().clean());
}

TEST_F(pointer_check, what_was_refused_is_refused_again_until_it_is_mended) {
    auto& object = heap_->root<with_pointer>("object");
    const auto target = std::make_unique<int>(5);
    object.pointer = target.get();
    EXPECT_NE(refusal(), "");
    EXPECT_NE(refusal(), "");
    EXPECT_EQ(object.pointer, target.get());
    object.pointer = nullptr;
    object.number = 4;
    EXPECT_EQ(refusal(), "");
    heap_->rollback();
    EXPECT_EQ(object.number, 4U);
}

// On demand, in any build. Nothing is committed, since builds that check commits would refuse it.
class check_pointers : public testing::Test {
protected:
    /// What is said of the one pointer that leaves the heap.
    rem::pointer_report::pointer only() {
        const rem::pointer_report found = heap_.check_pointers();
        EXPECT_EQ(found.pointers_found, 1U);
        EXPECT_EQ(found.pointers.size(), 1U);
        return found.pointers.empty() ? rem::pointer_report::pointer{} : found.pointers.front();
    }
    /// Where it is said to lead when it is this one.
    std::string target_of(const void* address) {
        object_.pointer = address;
        const rem::pointer_report::pointer found = only();
        EXPECT_EQ(found.root, "object");
        EXPECT_EQ(found.type, "pointer_check_test::with_pointer");
        EXPECT_EQ(found.offset, offset_of(&object_.pointer));
        EXPECT_NE(found.what.find("below the root \"object\" of type pointer_check_test::with_pointer. "),
                  std::string::npos)
            << found.what;
        return found.what.substr(0, found.what.find(" lies at byte 8 of the block of 16 bytes"));
    }
    [[nodiscard]] std::uint64_t offset_of(const void* place) const {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(place) -
                                          static_cast<const std::byte*>(heap_.base()));
    }

    remanence::test::temp_dir dir_;
    rem::heap heap_ = rem::heap::create(dir_ / "checked.rem");
    with_pointer& object_ = heap_.root<with_pointer>("object");
};

TEST_F(check_pointers, tell_the_member_and_the_key) {
    auto& people = heap_.root<rem::map<rem::string, with_pointer>>("people");
    auto& lists = heap_.root<rem::vector<rem::list<with_pointer>>>("lists");
    heap_.write([&] {
        people["KNUTH"];
        lists.resize(3);
        lists[2].resize(2);
    });
    const int local = 0;
    people["KNUTH"].pointer = &local;
    EXPECT_NE(only().what.find(", in people[\"KNUTH\"].pointer, below the root \"people\" of type "), std::string::npos)
        << only().what;
    people["KNUTH"].pointer = nullptr;
    lists[2].back().pointer = &local;
    EXPECT_NE(only().what.find(", in lists[2][1].pointer, below the root \"lists\" of type "), std::string::npos)
        << only().what;
    lists[2].back().pointer = nullptr;
}

alignas(8) int static_objects[] = {7, 7};
int& static_object = static_objects[1]; // never at the start of a page, which is ignored

TEST_F(check_pointers, finds_nothing_where_all_lead_to_the_heap) {
    auto& people = heap_.root<book>("people");
    auto& numbers = heap_.root<rem::unordered_map<int, rem::list<rem::string>>>("numbers");
    auto& own = heap_.root<rem::hash_map<rem::string_pi, rem::btree_set<int>>>("own");
    heap_.write([&] {
        for (int i = 0; i < 1000; ++i) {
            people.emplace(std::to_string(i), rem::vector<rem::string>())->second.emplace_back(k_long_text);
            numbers[i].emplace_back(k_long_text);
            own[rem::string_pi(std::to_string(i))].insert(i);
        }
        object_.pointer = &people;
    });
    const rem::pointer_report found = heap_.check_pointers();
    EXPECT_TRUE(found.clean()) << found.pointers.front().what;
    EXPECT_TRUE(found.pointers.empty());
    EXPECT_GT(found.blocks_checked, 5000U);
}

TEST_F(check_pointers, tells_where_each_pointer_leads) {
    const int local = 0;
    EXPECT_EQ(target_of(&local), "A pointer to the stack of this thread");
    alignas(rem::k_page_bytes) const int at_a_page = 0; // P4
    EXPECT_EQ(target_of(&at_a_page), "A pointer to the stack of this thread");
    const auto of_malloc = std::make_unique<int[]>(100);
    const std::string malloc_target = target_of(of_malloc.get() + 1);
    EXPECT_TRUE(malloc_target == "A pointer to malloc memory" ||
                malloc_target == "A pointer to memory of the process (malloc's, a thread's stack or static data)")
        << malloc_target;
    EXPECT_EQ(target_of(&static_object), "A pointer to code, a constant or a static object of the program");
    EXPECT_EQ(target_of(k_long_text), "A pointer to code, a constant or a static object of the program");
    rem::heap other = rem::heap::create(dir_ / "other.rem");
    EXPECT_EQ(target_of(&other.root<with_pointer>("there")),
              "A pointer into another heap, " + (dir_ / "other.rem").string());
    std::thread([&] { EXPECT_EQ(target_of(&local), "A pointer to the stack of a thread"); }).join();
}

TEST_F(check_pointers, tells_of_objects_that_no_root_leads_to) {
    auto* object = heap_.make<with_pointer>();
    object->pointer = &static_object;
    const rem::pointer_report::pointer found = only();
    EXPECT_EQ(found.root, "");
    EXPECT_EQ(found.offset, offset_of(&object->pointer));
    EXPECT_NE(found.what.find("which no root reaches"), std::string::npos) << found.what;
    heap_.destroy(object);
    EXPECT_TRUE(heap_.check_pointers().clean());
}

TEST_F(check_pointers, names_the_root_that_leads_there_by_distances) {
    auto& numbers = heap_.root<rem::hash_map<std::uint64_t, rem::btree_map<int, const int*>>>("numbers");
    heap_.write([&] {
        for (int i = 0; i < 2000; ++i)
            numbers[static_cast<std::uint64_t>(i % 20)][i] = nullptr;
    });
    for (const int at : {0, 7, 1999}) {
        const int*& pointer = numbers.at(static_cast<std::uint64_t>(at % 20)).at(at);
        pointer = &static_object;
        const rem::pointer_report::pointer found = only();
        EXPECT_EQ(found.root, "numbers");
        EXPECT_EQ(found.offset, offset_of(&pointer));
        pointer = nullptr;
    }
}

TEST_F(check_pointers, finds_a_broken_promise) {
    auto& text = heap_.root<with_std_string>("text").text;
    EXPECT_TRUE(heap_.check_pointers().clean()); // a short string lies in itself
    text = k_long_text;
    const rem::pointer_report::pointer found = only();
    EXPECT_EQ(found.root, "text");
    EXPECT_EQ(found.type, "pointer_check_test::with_std_string");
    EXPECT_EQ(found.offset, offset_of(&text));
    text.clear();
    text.shrink_to_fit(); // gives the memory back to malloc
    EXPECT_TRUE(heap_.check_pointers().clean());
}

TEST_F(check_pointers, counts_all_and_lists_the_first_thousand) {
    auto& many = heap_.root<rem::vector<const void*>>("many", std::size_t{1500}, static_cast<const void*>(&object_));
    EXPECT_TRUE(heap_.check_pointers().clean());
    for (const void*& each : many)
        each = &static_object;
    const rem::pointer_report found = heap_.check_pointers();
    EXPECT_EQ(found.pointers_found, 1500U);
    ASSERT_EQ(found.pointers.size(), 1000U);
    EXPECT_EQ(found.pointers.back().root, "many");
    EXPECT_EQ(found.pointers.back().offset, offset_of(&many[999]));
    heap_.rollback();
    EXPECT_TRUE(heap_.check_pointers().clean());
}

TEST_F(check_pointers, is_closed_with_the_heap) {
    heap_.close();
    EXPECT_THROW((void)heap_.check_pointers(), rem::error);
}

} // namespace pointer_check_test
