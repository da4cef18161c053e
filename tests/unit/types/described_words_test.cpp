// heap::check_pointers() looks only at words that can hold a pointer by their type. Each word of an object is given a foreign address in
// its turn: it is found in the pointer, and nowhere else.

#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace rem = remanence;

namespace described_words_test {

constexpr std::uint64_t k_word = 8;

enum class colour : std::uint64_t { red };
struct small_place {
    double latitude, longitude;
};
/// Besides the pointer: all that holds none.
struct mixed {
    char name[20];
    std::optional<small_place> somewhere;
    const void* pointer;
    std::variant<int, std::array<std::uint64_t, 3>> either;
    long double wide;
    std::byte mark; // and 15 bytes of padding
    std::pair<long double, char> both;
    std::tuple<char, std::uint64_t> three;
    std::uint64_t bits : 60;
    colour painted;
    std::chrono::nanoseconds took;
};
struct base_with_room {
    long double wide = 0;
    char letter = 0;
};
/// Its pointer lies in the padding of its base.
class in_padding : public base_with_room {
public:
    in_padding() = default;
    const void* pointer = nullptr;

private:
    REM_REFLECT((base_with_room), pointer);
};
static_assert(sizeof(in_padding) == sizeof(base_with_room));

/// Says one of its members, and has room for others.
class reserved {
public:
    reserved() = default;
    [[nodiscard]] const void* hidden() const { return hidden_; }

private:
    std::uint64_t number_ = 0;
    const void* hidden_ = nullptr;
    int last_ = 0;
    REM_REFLECT((), number_, last_);
};
/// Says none.
class silent {
public:
    silent() = default;
    [[nodiscard]] std::uint64_t sum() const { return numbers_[0] + numbers_[1]; }

private:
    std::uint64_t numbers_[2] = {};
};
} // namespace described_words_test

template <>
inline constexpr bool remanence::enable_persistable<described_words_test::silent> = true;

namespace described_words_test {

/// A page of its own, so that the address has bytes that are 0: where they become the mark of an optional or the index of a variant, these
/// are what they were. Not the first word of a page, which is ignored.
alignas(4096) std::byte static_pages[2 * 4096];
const std::byte* foreign() { return static_pages + 0x100; }

class described_words : public testing::Test {
protected:
    std::uint64_t found() { return heap_.check_pointers().pointers_found; }

    /// Writes the address to each word of the object, one after the other. `expected`: offsets at which it is to be found.
    void sweep(void* object, std::size_t bytes, const std::set<std::size_t>& expected) {
        auto* const begin = static_cast<std::byte*>(object);
        std::set<std::size_t> seen;
        const auto address = reinterpret_cast<std::uintptr_t>(foreign());
        for (std::size_t at = 0; at + k_word <= bytes; at += k_word) {
            std::uint64_t before = 0;
            std::memcpy(&before, begin + at, sizeof before);
            std::memcpy(begin + at, &address, sizeof address);
            if (found() != 0)
                seen.insert(at);
            std::memcpy(begin + at, &before, sizeof before);
        }
        EXPECT_EQ(seen, expected);
    }
    /// Of what says how many foreign addresses there are.
    static void poison(void* begin, std::size_t bytes) {
        const auto address = reinterpret_cast<std::uintptr_t>(foreign());
        for (std::size_t at = 0; at + k_word <= bytes; at += k_word)
            std::memcpy(static_cast<std::byte*>(begin) + at, &address, sizeof address);
    }

    remanence::test::temp_dir dir_;
    rem::heap heap_ = rem::heap::create(dir_ / "described.rem");
};

template <class T, class Member>
std::size_t offset_of(Member T::* member) {
    static const T object{};
    return static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&(object.*member)) -
                                    reinterpret_cast<const std::byte*>(&object));
}
const std::set<std::size_t> k_of_mixed = {offset_of(&mixed::pointer)};

TEST_F(described_words, of_a_root_only_its_pointer_is_looked_at) {
    sweep(&heap_.root<mixed>("root"), sizeof(mixed), k_of_mixed);
}

// Three elements of each container.
template <class Container>
struct filled;
template <class T>
struct filled<rem::vector<T>> {
    static void fill(rem::vector<T>& all) { all.resize(3); }
};
template <class T>
struct filled<rem::vector_pi<T>> {
    static void fill(rem::vector_pi<T>& all) { all.resize(3); }
};
template <class T>
struct filled<rem::deque<T>> {
    static void fill(rem::deque<T>& all) { all.resize(3); }
};
template <class T>
struct filled<rem::list<T>> {
    static void fill(rem::list<T>& all) { all.resize(3); }
};
template <class T>
struct filled<rem::forward_list<T>> {
    static void fill(rem::forward_list<T>& all) { all.resize(3); }
};
template <class T, std::size_t N>
struct filled<std::array<T, N>> {
    static void fill(std::array<T, N>& /*all*/) {}
};
template <class Map>
    requires requires { typename Map::mapped_type; }
struct filled<Map> {
    static void fill(Map& all) {
        for (int i = 0; i < 3; ++i)
            all[i];
    }
};

template <class Container>
class described_words_in : public described_words {};
using containers =
    testing::Types<rem::vector<mixed>, rem::vector_pi<mixed>, rem::deque<mixed>, rem::list<mixed>,
                   rem::forward_list<mixed>, std::array<mixed, 3>, rem::map<int, mixed>, rem::unordered_map<int, mixed>,
                   rem::btree_map<int, mixed>, rem::hash_map<int, mixed>>;
TYPED_TEST_SUITE(described_words_in, containers);

template <class Element>
mixed& value_of(Element& element) {
    if constexpr (std::is_same_v<Element, mixed>)
        return element;
    else
        return element.second;
}

TYPED_TEST(described_words_in, a_container_only_pointers_of_elements_are_looked_at) {
    auto& all = this->heap_.template root<TypeParam>("all");
    this->heap_.write([&] { filled<TypeParam>::fill(all); });
    EXPECT_EQ(this->found(), 0U);
    for (auto& element : all)
        this->sweep(&value_of(element), sizeof(mixed), k_of_mixed);
}

TYPED_TEST(described_words_in, containers_within_containers_only_pointers_are_looked_at) {
    auto& all = this->heap_.template root<rem::map<rem::string, rem::vector<TypeParam>>>("all");
    this->heap_.write([&] {
        all["here"].resize(1);
        filled<TypeParam>::fill(all["here"][0]);
    });
    for (auto& element : all["here"][0])
        this->sweep(&value_of(element), sizeof(mixed), k_of_mixed);
}

struct node {
    mixed has;
    node* next;
};

TEST_F(described_words, objects_that_pointers_lead_to_are_described_as_well) {
    auto& first = heap_.root<node>("first");
    first.next = heap_.make<node>();
    first.next->next = heap_.make<node>();
    first.next->next->next = &first; // a circle
    EXPECT_EQ(found(), 0U);
    sweep(&first, sizeof(node), {offset_of(&mixed::pointer), offset_of(&node::next)});
    sweep(first.next->next, sizeof(node), {offset_of(&mixed::pointer), offset_of(&node::next)});
    auto* const alone = heap_.make<small_place>(); // nothing leads there: it is looked at whole
    sweep(alone, sizeof(small_place), {0, 8});
}

TEST_F(described_words, a_pointer_in_the_padding_of_a_base_is_found) {
    auto& all = heap_.root<rem::vector<in_padding>>("all");
    heap_.write([&] { all.resize(2); });
    sweep(&all[1], sizeof(in_padding), {24});
}

TEST_F(described_words, what_a_class_may_hide_is_looked_at) {
    sweep(&heap_.root<reserved>("reserved"), sizeof(reserved), {8});
    sweep(&heap_.root<silent>("silent"), sizeof(silent), {0, 8});
}

TEST_F(described_words, memory_of_a_container_behind_its_elements_has_no_value) {
    using entry = std::array<const void*, 4>;
    auto& v = heap_.root<rem::vector<entry>>("v");
    auto& p = heap_.root<rem::vector_pi<entry>>("p");
    auto& d = heap_.root<rem::deque<entry>>("d");
    auto& b = heap_.root<rem::btree_map<int, entry>>("b");
    auto& h = heap_.root<rem::hash_map<int, entry>>("h");
    heap_.write([&] {
        v.resize(10);
        p.resize(10);
        d.resize(10);
        for (int i = 0; i < 10; ++i)
            b[i], h[i];
    });
    for (std::size_t i = 5; i < 10; ++i) {
        for (entry* each : {&v[i], &p[i], &d[i], &b[static_cast<int>(i)], &h[static_cast<int>(i)]})
            poison(each, sizeof(entry));
    }
    EXPECT_EQ(found(), 5U * 5 * 4);
    v.resize(5);
    p.resize(5);
    d.resize(5);
    b.erase(b.find(5), b.end());
    for (int i = 5; i < 10; ++i)
        h.erase(i);
    EXPECT_EQ(found(), 0U);
    v.clear();
    p.clear();
    d.clear();
    EXPECT_EQ(found(), 0U);
}

TEST_F(described_words, characters_and_what_lies_behind_them_are_no_pointers) {
    auto& texts = heap_.root<rem::vector<rem::string>>("texts");
    auto& own = heap_.root<rem::vector<rem::string_pi>>("own");
    heap_.write([&] {
        texts.resize(2, rem::string(100, 'x', texts.get_allocator()));
        own.resize(2);
        own[0] = own[1] = std::string(100, 'x');
    });
    poison(texts[0].data() + 48, 48);
    poison(own[0].data() + 48, 48);
    EXPECT_EQ(found(), 0U);
    texts[0].resize(40);
    own[0].resize(40);
    EXPECT_EQ(found(), 0U);
    // The string itself: an allocator, an address, a length, and characters if it is short.
    texts[1] = "short";
    texts[1].shrink_to_fit();
    sweep(&texts[1], sizeof(rem::string), {0, 8});
}

TEST_F(described_words, a_load_factor_with_padding_is_no_pointer) {
    auto& all = heap_.root<rem::unordered_map<int, int>>("all");
    heap_.write([&] { all[1] = 2; });
    // Allocator, buckets, their number, the first node, elements, load factor, when to grow, one bucket.
    static_assert(sizeof(all) == 8 * k_word);
    sweep(&all, sizeof(all), {0, 8, 16, 24, 56});
}

TEST_F(described_words, a_damaged_container_hides_nothing) {
    auto& all = heap_.root<rem::vector<rem::list<mixed>>>("all");
    heap_.write([&] {
        all.resize(2);
        all[0].resize(3);
        all[1].resize(3);
    });
    mixed& last = all[0].back();
    auto* const link = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(&all[0]) + 8); // to the first node
    const std::uint64_t before = *link;
    *link = 12345;
    last.pointer = foreign();
    EXPECT_EQ(found(), 1U);
    *link = before;
    EXPECT_EQ(found(), 1U);
}

} // namespace described_words_test
