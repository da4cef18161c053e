// Where default-made allocators belong: to the construction, write section or scope that the thread entered last.

#include "fixture.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace remanence::test::default_heap {

constexpr const char* k_long = "a text too long for the buffer inside a string";

struct record {
    string name;
    vector<string> lines;
};

/// Hides its members, and makes them with no allocator.
class label {
public:
    label() = default;
    explicit label(const char* text) : text_(text) {}
    [[nodiscard]] const string& text() const { return text_; }

private:
    string text_ = string(k_long);
};

/// Takes an allocator, and hands it on to one of its parts only.
class forgetful {
public:
    using allocator_type = allocator<char>;
    forgetful() = default;
    explicit forgetful(const allocator_type& alloc) : first_(k_long, alloc), second_(k_long) {}
    forgetful(const forgetful& other, const allocator_type& alloc) : first_(other.first_, alloc), second_(k_long) {}
    [[nodiscard]] const string& first() const { return first_; }
    [[nodiscard]] const string& second() const { return second_; }

private:
    string first_;
    string second_;
};

struct with_initialisers {
    int number = 0;
    string text = string(k_long);
    label hidden;
};

} // namespace remanence::test::default_heap

template <>
inline constexpr bool remanence::enable_persistable<remanence::test::default_heap::label> = true;
template <>
inline constexpr bool remanence::enable_persistable<remanence::test::default_heap::forgetful> = true;

namespace remanence::test::default_heap {
namespace {

class default_heap : public testing::Test {
protected:
    static const void* now() { return detail::default_heap(); }
    [[nodiscard]] bool is_in(const heap& h, const string& text) const { return heap_of(text.data()) == &h; }

    temp_dir dir_;
    heap heap_ = heap::create(dir_ / "a.rem", small_heap());
    heap other_ = heap::create(dir_ / "b.rem", small_heap());
};

TEST_F(default_heap, is_none_outside_of_everything) {
    EXPECT_EQ(now(), nullptr);
    other_.close(); // with one heap open, too
    EXPECT_EQ(now(), nullptr);
    const string mine(k_long);
    EXPECT_EQ(heap_of(mine.data()), nullptr);
}

TEST_F(default_heap, is_none_in_a_read_section) {
    heap_.read([&] { EXPECT_EQ(now(), nullptr); });
    heap_.write([&] { heap_.read([&] { EXPECT_EQ(now(), heap_.base()); }); });
}

TEST_F(default_heap, is_that_of_the_write_section_entered_last) {
    heap_.write([&] {
        EXPECT_EQ(now(), heap_.base());
        other_.write([&] {
            EXPECT_EQ(now(), other_.base());
            heap_.write([&] { EXPECT_EQ(now(), heap_.base()); });
            EXPECT_EQ(now(), other_.base());
        });
        EXPECT_EQ(now(), heap_.base());
        std::thread([&] { EXPECT_EQ(now(), nullptr); }).join();
    });
    EXPECT_EQ(now(), nullptr);
}

TEST_F(default_heap, follows_locks_that_are_released_in_any_order) {
    std::unique_lock first(heap_);
    std::unique_lock second(other_);
    EXPECT_EQ(now(), other_.base());
    first.unlock();
    EXPECT_EQ(now(), other_.base());
    second.unlock();
    EXPECT_EQ(now(), nullptr);
}

TEST_F(default_heap, is_that_of_a_scope) {
    {
        const in here(heap_);
        EXPECT_EQ(now(), heap_.base());
        const string text(k_long);
        EXPECT_TRUE(is_in(heap_, text));
        {
            const in there(other_);
            EXPECT_EQ(now(), other_.base());
        }
        EXPECT_EQ(now(), heap_.base());
        std::thread([&] { EXPECT_EQ(now(), nullptr); }).join();
    }
    EXPECT_EQ(now(), nullptr);
}

TEST_F(default_heap, of_sections_and_scopes_is_that_of_the_one_entered_last) {
    heap_.write([&] {
        const in there(other_);
        EXPECT_EQ(now(), other_.base());
        heap_.write([&] { EXPECT_EQ(now(), heap_.base()); });
        EXPECT_EQ(now(), other_.base());
    });
    const in here(heap_);
    other_.write([&] { EXPECT_EQ(now(), other_.base()); });
    EXPECT_EQ(now(), heap_.base());
}

TEST_F(default_heap, of_scopes_that_end_in_any_order_is_that_of_the_innermost_left) {
    std::optional<in> first(std::in_place, heap_);
    const in second(other_);
    first.reset();
    EXPECT_EQ(now(), other_.base());
}

TEST_F(default_heap, cannot_be_that_of_a_heap_that_is_closed_or_read_only) {
    EXPECT_TRUE(is_error(error_of([&] {
                             heap_.close();
                             const in here(heap_);
                         }),
                         errc::closed, "", "Open it again"));
    other_.close();
    heap_options options = small_heap();
    options.read_only = true;
    const heap readable = heap::open_existing(dir_ / "b.rem", options);
    EXPECT_TRUE(is_error(error_of([&] { const in here(readable); }), errc::read_only, dir_ / "b.rem", "for writing"));
    EXPECT_EQ(now(), nullptr);
}

TEST_F(default_heap, of_what_root_and_make_construct_is_theirs) {
    const label& root = heap_.root<label>("root");
    EXPECT_TRUE(is_in(heap_, root.text()));
    label* const made = other_.make<label>(k_long);
    EXPECT_TRUE(is_in(other_, made->text()));
    forgetful* const half = other_.make<forgetful>();
    EXPECT_TRUE(is_in(other_, half->first()));
    EXPECT_TRUE(is_in(other_, half->second()));
    heap_.write([&] { EXPECT_TRUE(is_in(other_, other_.make<label>()->text())); });
    EXPECT_EQ(now(), nullptr);
}

// Builds for sanitizers check every commit, and take bytes of these elements that were copied without being set for pointers.
class default_heap_no_sanitizer : public default_heap {};
TEST_F(default_heap_no_sanitizer, of_elements_is_that_of_their_container) {
    auto& labels = heap_.root<vector<label>>("labels");
    labels.emplace_back();
    EXPECT_TRUE(is_in(heap_, labels.back().text()));
    other_.write([&] {
        labels.emplace_back(k_long);
        EXPECT_TRUE(is_in(heap_, labels.back().text()));
        labels.resize(10);
        EXPECT_TRUE(is_in(heap_, labels.back().text()));
        const label copied = labels.back();
        EXPECT_TRUE(is_in(other_, copied.text()));
        labels.push_back(copied);
        EXPECT_TRUE(is_in(heap_, labels.back().text()));
    });
    auto& deep =
        heap_.root<list<std::tuple<int, std::optional<label>, std::variant<label, int>, std::array<label, 2>>>>("deep");
    deep.emplace_back(1, label(k_long), 5, std::array<label, 2>());
    deep.emplace_back();
    EXPECT_TRUE(is_in(heap_, std::get<label>(std::get<2>(deep.back())).text()));
    EXPECT_TRUE(is_in(heap_, std::get<3>(deep.back())[1].text()));
    auto& aware = heap_.root<vector<forgetful>>("forgetful");
    aware.emplace_back();
    EXPECT_TRUE(is_in(heap_, aware.back().second()));
    auto& initialised = heap_.root<vector<with_initialisers>>("initialised");
    initialised.emplace_back(5);
    initialised.emplace_back();
    for (const with_initialisers& each : initialised) {
        EXPECT_TRUE(is_in(heap_, each.text));
        EXPECT_TRUE(is_in(heap_, each.hidden.text()));
    }
}

TEST_F(default_heap, of_elements_of_a_container_of_no_heap_is_none) {
    vector<label> mine;
    heap_.write([&] {
        mine.emplace_back();
        EXPECT_EQ(heap_of(mine.back().text().data()), nullptr);
    });
}

TEST_F(default_heap, is_what_it_was_when_a_constructor_throws) {
    struct failing {
        failing() { throw std::runtime_error("no"); }
        failing(const failing&) {}
        ~failing() {} // NOLINT(modernize-use-equals-default): not trivial
    };
    const auto bytes = heap_.stats().allocated_bytes;
    vector<failing> all(heap_.get_allocator());
    EXPECT_THROW(all.emplace_back(), std::runtime_error);
    EXPECT_EQ(now(), nullptr);
    all.shrink_to_fit();
    EXPECT_EQ(heap_.stats().allocated_bytes, bytes);
}

TEST_F(default_heap, copies_and_results_of_reads_are_the_programs_own) {
    auto& table = heap_.root<map<int, record>>("table");
    heap_.write([&] { table[1] = {k_long, {k_long, k_long}}; });
    const auto bytes = heap_.stats().allocated_bytes;
    {
        const record copy = table[1];
        const record result = heap_.read([&] { return table.at(1); });
        const auto name = table[1].name;
        const std::pair<int, record> pair = *table.begin();
        std::optional<record> maybe = table[1];
        vector<record> several;
        several.push_back(table[1]);
        EXPECT_EQ(heap_.stats().allocated_bytes, bytes);
        for (const record* each :
             std::initializer_list<const record*>{&copy, &result, &pair.second, &*maybe, &several.front()}) {
            EXPECT_EQ(each->name.get_allocator().heap(), nullptr);
            EXPECT_EQ(each->lines.get_allocator().heap(), nullptr);
            EXPECT_EQ(each->lines.front().get_allocator().heap(), nullptr);
            EXPECT_EQ(each->lines.back(), k_long);
        }
        EXPECT_EQ(name.get_allocator().heap(), nullptr);
    }
    EXPECT_EQ(heap_.stats().allocated_bytes, bytes);
}

TEST_F(default_heap, results_of_write_sections_belong_where_the_caller_is) {
    auto& table = heap_.root<map<int, record>>("table");
    const auto bytes = heap_.stats().allocated_bytes;
    heap_.write([&] { table[1] = {k_long, {k_long}}; });
    const record taken = heap_.write([&] {
        record found = std::move(table.at(1));
        table.erase(1);
        return found;
    });
    EXPECT_EQ(heap_.stats().allocated_bytes, bytes);
    EXPECT_EQ(heap_of(taken.name.data()), nullptr);
    EXPECT_EQ(heap_of(taken.lines.data()), nullptr);
    EXPECT_EQ(heap_of(taken.lines.front().data()), nullptr);
    EXPECT_EQ(taken.lines.front(), k_long);

    other_.write([&] {
        const std::pair<std::optional<string>, int> text =
            heap_.write([&] { return std::pair(std::optional<string>(k_long), 5); });
        EXPECT_TRUE(is_in(other_, *text.first));
        const string same = other_.write([&] { return string(k_long); });
        EXPECT_TRUE(is_in(other_, same));
    });
    // What cannot be made anew comes as it is.
    heap_.write([&] { table[2].name = k_long; });
    auto node = heap_.write([&] { return table.extract(2); });
    heap_.write([&] { table.insert(std::move(node)); });
    EXPECT_EQ(table.at(2).name, k_long);
    const auto owned = heap_.write([&] { return std::make_unique<int>(5); });
    EXPECT_EQ(*owned, 5);
    int& number = heap_.write([&]() -> int& { return *owned; });
    EXPECT_EQ(&number, owned.get());
    EXPECT_TRUE(heap_.verify().clean());
}

struct with_hidden {
    string text;
    label hidden;
};
struct branching {
    string text;
    std::vector<branching> children;
};

// Wherever it is hidden.
TEST_F(default_heap, results_of_write_sections_have_no_memory_of_the_heap) {
    const auto bytes = heap_.stats().allocated_bytes;
    const auto is_own = [](const string& text) { return heap_of(text.data()) == nullptr && text == k_long; };
    const auto texts = heap_.write([] { return std::vector<string>(3, k_long); });
    const auto table = heap_.write([] {
        std::map<string, std::vector<string>> made;
        made[k_long].emplace_back(k_long);
        return made;
    });
    const auto hidden = heap_.write([] { return label(); });
    const auto pair = heap_.write([] { return std::pair(label(), std::optional<std::vector<string>>({k_long})); });
    const auto both = heap_.write([] { return with_hidden{k_long, label()}; });
    const auto labels = heap_.write([] {
        vector<label> made(2);
        return made;
    });
    const auto tree = heap_.write([] {
        branching made{k_long, {}};
        made.children.push_back({k_long, {}});
        return made;
    });
    for (const string* each : {&texts.back(), &table.begin()->first, &table.begin()->second.front(), &hidden.text(),
                               &pair.first.text(), &pair.second->front(), &both.text, &both.hidden.text(),
                               &labels.back().text(), &tree.text, &tree.children.front().text})
        EXPECT_TRUE(is_own(*each));
    EXPECT_EQ(heap_.stats().allocated_bytes, bytes);
    // What cannot be copied comes as it is.
    const auto owners = heap_.write([] { return std::vector<std::unique_ptr<int>>(2); });
    const auto several = heap_.write([] { return std::optional(std::vector<std::unique_ptr<int>>(2)); });
    EXPECT_EQ(owners.size() + several->size(), 4);
    EXPECT_EQ(now(), nullptr);
}

// Objects of the program's that have memory of a heap: they free none that a rollback took away, and perhaps gave back.
TEST_F(default_heap, of_objects_that_outlive_a_rollback_frees_nothing) {
    using texts = map<int, string>;
    using own_texts = btree_map<int, string_pi>;
    auto& table = heap_.root<texts>("table");
    auto& own = heap_.root<own_texts>("own");
    heap_.write([&] {
        table[1] = k_long;
        table[2] = k_long;
        own[1] = string_pi(k_long);
    });
    const auto roll_back = [&] {
        EXPECT_THROW(heap_.write([&] {
            table[3] = k_long;
            throw std::runtime_error("no");
        }),
                     std::runtime_error);
    };
    const auto bytes = heap_.stats().allocated_bytes;
    {
        std::vector<string> filled_inside;
        heap_.write([&] { filled_inside.emplace_back(std::move(table[2])); });
        heap_.write([&] { table[2] = k_long; });
        const string moved_out = std::move(table[1]);
        const string_pi own_moved_out = std::move(own[1]);
        std::thread(roll_back).join();
    }
    EXPECT_GE(heap_.stats().allocated_bytes, bytes);
    heap_.write([&] {
        for (int i = 10; i < 50; ++i) {
            table[i] = "another text that is too long for the buffer!";
            own[i] = string_pi("another text that is too long for the buffer!");
        }
    });
    EXPECT_EQ(table.at(1), k_long);
    EXPECT_EQ(table.at(2), k_long);
    EXPECT_EQ(own.at(1), k_long);
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(default_heap, of_objects_from_before_a_rollback_hands_no_blocks_on) {
    auto& table = heap_.root<map<int, vector<int>>>("table");
    const vector<int> numbers(100, 7);
    heap_.write([&] { table[1] = numbers; });
    vector<int> mine = std::move(table[1]);
    EXPECT_EQ(mine.get_allocator(), table[1].get_allocator());
    heap_.rollback();
    EXPECT_NE(mine.get_allocator(), table[1].get_allocator());
    EXPECT_EQ(mine.get_allocator().heap(), table[1].get_allocator().heap());
    heap_.write([&] { table[2] = std::move(mine); }); // copies
    EXPECT_NE(static_cast<const void*>(table.at(1).data()), table.at(2).data());
    EXPECT_EQ(table.at(2), numbers);
    heap_.write([&] { table.erase(2); });
    EXPECT_EQ(table.at(1), numbers);
    mine = vector<int>();
    heap_.close();
    heap_ = heap::open_existing(dir_ / "a.rem", small_heap()); // at the same addresses
    EXPECT_TRUE(heap_.verify().clean());
}

// Only what lies in its own heap keeps nothing but the header's address.
TEST_F(default_heap, is_stored_as_the_address_of_its_header) {
    auto& texts = heap_.root<list<string>>("texts");
    const in here(heap_);
    string mine(k_long);
    texts.push_back(mine);
    texts.push_back(std::move(mine));
    texts.emplace_back(string("moved in"));
    texts.front() = string(k_long);
    std::swap(texts.front(), texts.back());
    for (const string& each : texts) {
        const void* stored = nullptr;
        std::memcpy(&stored, &each, sizeof stored); // the allocator is its first member
        EXPECT_EQ(stored, heap_.base());
    }
    // Our own containers keep the distance, and make elements at other places first.
    auto& own = heap_.root<hash_map<int, vector_pi<string_pi>>>("own");
    own[1].emplace_back(k_long);
    own.emplace(2, vector_pi<string_pi>(1, string_pi(k_long)));
    auto& tree = heap_.root<btree_map<int, vector_pi<string_pi>>>("tree");
    tree[1].emplace_back(k_long);
    tree.emplace(2, std::move(own[1]));
    const auto is_header = [&](const auto& object) {
        std::uintptr_t distance = 0;
        std::memcpy(&distance, &object, sizeof distance);
        return reinterpret_cast<std::uintptr_t>(&object) + distance == reinterpret_cast<std::uintptr_t>(heap_.base());
    };
    for (const vector_pi<string_pi>* each : {&own[1], &own[2], &tree[1], &tree[2]}) {
        EXPECT_TRUE(is_header(*each));
        for (const string_pi& text : *each)
            EXPECT_TRUE(is_header(text));
    }
}

TEST_F(default_heap, applies_to_our_own_containers_and_fragile_elements) {
    using numbers = btree_map<int, string_pi>;
    using texts = hash_map<string_pi, vector_pi<int>>;
    auto& tree = heap_.root<numbers>("tree");
    auto& table = heap_.root<texts>("table");
    auto& element = heap_.root<fragile<std::string>>("element");
    heap_.write([&] {
        tree[1] = string_pi(k_long);
        table[string_pi(k_long)].push_back(1);
        element = std::string(k_long);
    });
    const auto bytes = heap_.stats().allocated_bytes;
    const numbers my_tree = tree;
    const texts my_table = heap_.read([&] { return table; });
    const fragile<std::string> mine = element;
    const fragile<std::string> fresh = std::string(k_long);
    EXPECT_EQ(heap_.stats().allocated_bytes, bytes);
    EXPECT_EQ(my_tree.get_allocator().heap(), nullptr);
    EXPECT_EQ(my_table.get_allocator().heap(), nullptr);
    EXPECT_EQ(mine.get_allocator().heap(), nullptr);
    EXPECT_EQ(fresh.get_allocator().heap(), nullptr);
    heap_.write([&] {
        const numbers copied = my_tree;
        EXPECT_EQ(copied.get_allocator().heap(), heap_.get_allocator().heap());
    });
    const in here(heap_);
    EXPECT_EQ(string_pi(k_long).get_allocator().heap(), heap_.get_allocator().heap());
    EXPECT_EQ(my_tree.at(1), k_long);
}

TEST_F(default_heap, applies_to_file_backed_containers) {
    file_backed<map<int, string>> file(dir_ / "c.rem");
    file.write([&] { EXPECT_EQ(now(), file.get_heap().base()); });
    EXPECT_EQ(now(), nullptr);
    (*file)[1] = k_long; // through the container's allocator
    EXPECT_EQ(heap_of((*file)[1].data()), &file.get_heap());
    const in here(file.get_heap());
    EXPECT_EQ(now(), file.get_heap().base());
}

} // namespace
} // namespace remanence::test::default_heap
