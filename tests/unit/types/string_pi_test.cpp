// The position-independent string by itself; tests/conformance compares it with the standard's.

#include <remanence/containers/standard.hpp>
#include <remanence/containers/string_pi.hpp>

#include "moving_arena.hpp"
#include "tagged_allocator.hpp"
#include "types/type_description.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <iomanip>
#include <iterator>
#include <list>
#include <memory>
#include <new>
#include <random>
#include <ranges>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace rem = remanence;

namespace string_pi_test {

using namespace std::string_view_literals;
using text = rem::basic_string_pi<std::allocator<char>>;
using tagged_text = rem::basic_string_pi<tagged_test::tagged<char>>;
using tagged_test::arena;

const std::string k_long = "a text longer than any small buffer";

static_assert(sizeof(rem::string_pi) == 32);
static_assert(sizeof(text) == 24);
static_assert(std::is_nothrow_move_constructible_v<rem::string_pi>);
static_assert(std::is_nothrow_move_assignable_v<text>);
static_assert(!std::is_nothrow_move_assignable_v<rem::string_pi>);
static_assert(std::is_nothrow_default_constructible_v<rem::string_pi>);
static_assert(std::is_convertible_v<const char*, text> && std::is_convertible_v<text, std::string_view>);
static_assert(!std::is_convertible_v<std::string, text> && std::is_constructible_v<text, std::string>);
static_assert(std::is_constructible_v<std::string, text> && std::is_constructible_v<rem::string, rem::string_pi>);
static_assert(std::ranges::contiguous_range<rem::string_pi>);
static_assert(rem::detail::is_self_contained<rem::string_pi>());
static_assert(rem::is_position_independent_v<rem::string_pi> && !rem::is_position_independent_v<rem::string>);
static_assert(!rem::is_position_independent_v<tagged_text>);
static_assert(std::is_same_v<decltype(std::declval<text>() <=> std::declval<std::string>()), std::strong_ordering>);

TEST(string_pi, holds_23_characters_in_place) {
    arena memory;
    tagged_text some{tagged_test::tagged<char>(memory)};
    for (std::size_t i = 0; i < 23; ++i) {
        EXPECT_EQ(some.size(), i);
        some.push_back('x');
    }
    EXPECT_EQ(some, std::string(23, 'x'));
    EXPECT_EQ(some.c_str()[23], '\0');
    EXPECT_EQ(memory.allocations, 0U);
    some.push_back('y');
    EXPECT_EQ(memory.allocations, 1U);
    EXPECT_EQ(some, std::string(23, 'x') + 'y');
    some.pop_back();
    some.shrink_to_fit();
    EXPECT_EQ(memory.live, 0U);
    EXPECT_EQ(some, std::string(23, 'x'));
}

TEST(string_pi, compares_with_every_kind_of_string) {
    const text a(k_long);
    const rem::string_pi other(k_long, rem::allocator<char>(nullptr));
    EXPECT_EQ(a, k_long);
    EXPECT_EQ(k_long, a);
    EXPECT_EQ(a, std::string_view(k_long));
    EXPECT_EQ(std::string_view(k_long), a);
    EXPECT_EQ(a, k_long.c_str());
    EXPECT_EQ(a, other);
    EXPECT_EQ(rem::string(k_long, rem::allocator<char>(nullptr)), a);
    EXPECT_NE(a, "another");
    EXPECT_LT(a, "b");
    EXPECT_GT("b"sv, a);
    EXPECT_LT(a, text("b"));
    EXPECT_EQ(a <=> "a", std::strong_ordering::greater);
    EXPECT_NE(text("a\0b"sv), "a");
}

TEST(string_pi, takes_zeros_for_numbers_where_both_could_be_meant) {
    text some(3, 'a');
    some.insert(0, 1, 'b');
    some.replace(0, 0, 2, 'c');
    EXPECT_EQ(some, "ccbaaa");
    some.erase(0, 2);
    EXPECT_EQ(some, "baaa");
    some.erase(1);
    EXPECT_EQ(some, "b");
    some.assign(0, 'x');
    EXPECT_TRUE(some.empty());
}

TEST(string_pi, has_the_interface_of_std_string) {
    text some{'a', 'b'};
    some += 'c';
    some += "de"sv;
    some += {'f'};
    some.append(k_long).append("xyz", 1).append(2, 'g');
    EXPECT_EQ(some, "abcdef" + k_long + "xgg");
    EXPECT_EQ(some.substr(2, 3), "cde");
    EXPECT_LT(some.compare("abcdeg"), 0);
    EXPECT_LT(std::string("abcdef" + k_long).compare("abcdeg"), 0);
    EXPECT_EQ(some.find("text"), 6 + k_long.find("text"));
    EXPECT_EQ(some.find('z'), text::npos);
    EXPECT_EQ(some.rfind('g'), some.size() - 1);
    EXPECT_EQ(some.find_first_of(std::string("fe")), 4U);
    EXPECT_EQ(some.find_last_of("e"), std::string(some).find_last_of('e'));
    EXPECT_EQ(some.find_first_not_of("abc"), 3U);
    EXPECT_EQ(some.find_last_not_of('g'), some.size() - 3);
    EXPECT_TRUE(some.starts_with("abc") && some.starts_with('a') && some.ends_with("xgg") && some.contains("longer"));
    EXPECT_EQ(some.front(), 'a');
    EXPECT_EQ(some.back(), 'g');
    EXPECT_THROW((void)some.at(some.size()), std::out_of_range);
    EXPECT_THROW(some.insert(some.size() + 1, "x"), std::out_of_range);
    EXPECT_THROW(some.reserve(~std::size_t{0}), std::length_error);
    EXPECT_THROW(some.append(~std::size_t{0} / 2, 'x'), std::length_error);
    EXPECT_EQ(*some.insert(some.begin() + 1, 'A'), 'A');
    EXPECT_EQ(*some.erase(some.begin() + 1), 'b');
    const std::list<char> letters{'1', '2'};
    some.insert(some.cbegin(), letters.begin(), letters.end());
    EXPECT_TRUE(some.starts_with("12abc"));
    some.replace(some.begin(), some.begin() + 2, "one"sv);
    EXPECT_TRUE(some.starts_with("oneabc"));
    some = "short";
    EXPECT_EQ(std::string(some.rbegin(), some.rend()), "trohs");
    char copied[3];
    EXPECT_EQ(some.copy(copied, 3, 2), 3U);
    EXPECT_EQ(std::string_view(copied, 3), "ort");
    text other(k_long);
    swap(some, other);
    EXPECT_EQ(some, k_long);
    EXPECT_EQ(other, "short");
    EXPECT_EQ(erase(other, 'o'), 1U);
    EXPECT_EQ(erase_if(other, [](char c) { return c < 's'; }), 2U);
    EXPECT_EQ(other, "st");
    EXPECT_EQ(other + "x" + 'y' + other, "stxyst");
    EXPECT_EQ("x" + other, "xst");
    EXPECT_EQ('x' + other, "xst");
    EXPECT_EQ(std::string("x") + other, "xst");
    std::ostringstream out;
    out << some << '|';
    EXPECT_EQ(out.str(), k_long + '|');
    EXPECT_EQ(std::hash<text>()(some), std::hash<std::string_view>()(k_long));
    static_assert(requires { typename rem::unordered_map<rem::string_pi, int>::hasher::is_transparent; });
}

TEST(string_pi, may_be_given_parts_of_itself) {
    for (const std::size_t size : {5U, 20U, 24U, 100U}) {
        for (std::size_t at = 0; at <= size; ++at) {
            std::string model(size, ' ');
            std::ranges::generate(model, [c = 'a']() mutable { return c = c == 'z' ? 'a' : static_cast<char>(c + 1); });
            text some(model);
            some.reserve(at % 2 == 0 ? 400 : 0);
            const std::string_view part = std::string_view(some).substr(size / 3, size / 2);
            const std::string model_part(part);
            some.insert(at, part);
            model.insert(at, model_part);
            ASSERT_EQ(some, model) << size << ' ' << at;
            some.replace(at, 7, some);
            model.replace(at, 7, std::string(model));
            ASSERT_EQ(some, model);
            some = std::string_view(some).substr(at);
            ASSERT_EQ(some, model.substr(at));
            some.append(some);
            ASSERT_EQ(some, model.substr(at) + model.substr(at));
        }
    }
}

TEST(string_pi, has_no_effect_without_memory) {
    arena memory;
    {
        tagged_text some{"short", tagged_test::tagged<char>(memory)};
        for (int round = 0; round < 3; ++round) {
            const std::string before(some);
            memory.fail_after = 0;
            const std::string more(some.capacity() + 1, 'm');
            EXPECT_THROW(some.append(more), std::bad_alloc);
            EXPECT_THROW(some.insert(1, more), std::bad_alloc);
            EXPECT_THROW(some = more, std::bad_alloc);
            EXPECT_THROW(some.reserve(10'000), std::bad_alloc);
            EXPECT_THROW((void)tagged_text(more, some.get_allocator()), std::bad_alloc);
            EXPECT_EQ(some, before);
            memory.fail_after = ~std::size_t{0};
            some.append(more);
            EXPECT_EQ(some, before + more);
        }
    }
    EXPECT_EQ(memory.live, 0U);
}

TEST(string_pi, of_another_allocator_is_copied) {
    arena one;
    arena other;
    {
        tagged_text a{k_long, tagged_test::tagged<char>(one)};
        tagged_text b{"b", tagged_test::tagged<char>(other)};
        b = std::move(a);
        EXPECT_EQ(b, k_long);
        EXPECT_EQ(other.live, 1U);
        const tagged_text c(std::move(b), tagged_test::tagged<char>(one));
        EXPECT_EQ(c, k_long);
        const tagged_text d(std::move(b)); // NOLINT(bugprone-use-after-move): it was copied
        EXPECT_EQ(d, k_long);
        EXPECT_TRUE(b.empty()); // NOLINT(bugprone-use-after-move): that is what is tested
        EXPECT_EQ(other.live, 1U);
    }
    EXPECT_EQ(one.live + other.live, 0U);
}

// Each line is a call of std::string that must do the same.
template <class Text>
std::string all_calls_with_parts() {
    const Text source("0123456789");
    const std::string_view view = "abcdefghij";
    Text some(source, 3);
    some += Text(source, 3, 2);
    some += Text(view, 8, 5);
    some.assign(source, 5).append(source, 8).append(view, 1, 2).assign(some, 1, 6);
    some.insert(2, source, 7).insert(0, view, 2, 3);
    some.replace(1, 2, source, 8).replace(0, 1, view, 4, 2);
    some.replace(some.begin(), some.begin() + 1, "pointer", 3);
    some.replace(some.begin(), some.begin() + 1, {'l', 'i'});
    const std::list<char> letters{'L', 'S'};
    some.replace(some.cbegin(), some.cbegin() + 1, letters.begin(), letters.end());
    std::ostringstream out;
    out << some << ' ' << (some.compare(1, 3, source, 2) < 0) << (some.compare(0, 2, view, 1, 4) < 0)
        << some.compare(0, 2, "LSx", 2) << ' ';
    out << some.find("89xx", 0, 2) << ' ' << some.rfind("89xx", 30, 2) << ' ' << some.find_first_of("x8", 1, 2) << ' '
        << some.find_last_of("x8", 30, 2) << ' ' << some.find_first_not_of("LSoi", 0, 3) << ' '
        << some.find_last_not_of("9", 30, 1) << ' ';
    std::istringstream in("  two words\nand, more;rest");
    Text word;
    in >> word;
    out << word << '|';
    getline(in, word);
    out << word << '|';
    getline(in, word, ',');
    out << word << '|';
    getline(in, word);
    out << word << '|';
    getline(in, word);
    out << word << '|' << in.fail();
    word = "kept";
    in >> word;
    out << word << '|' << in.fail();
    in.clear();
    word = "lost";
    getline(in, word);
    out << word << '|' << in.fail();
    try {
        some.append(source, 11);
    } catch (const std::out_of_range&) {
        out << "out of range";
    }
    return out.str();
}
TEST(string_pi, takes_parts_of_strings_as_std_string_does) {
    EXPECT_EQ(all_calls_with_parts<rem::string_pi>(), all_calls_with_parts<std::string>());
}

/// So are these, of strings in braces, of parts of a const char*, and of streams.
template <class Text>
std::string all_calls_with_braces_and_pointers() {
    std::ostringstream out;
    Text some("hello", 1, 3);
    out << some << Text({"abc", 2}, 1, 1) << Text({"abc", 2}, 1) << ' ';
    some.append("world", 1, 2).append({"abc", 2}).append({"abc", 3}, 1).append({"abc", 3}, 1, 1);
    out << some << ' ';
    some += {"xyz", 2};
    some.insert(0, "world", 2, 2).insert(1, {"abc", 2}).insert(2, {"abc", 3}, 1).insert(2, {"abc", 3}, 1, 1);
    some.insert(0, {'i', 'l'});
    out << some << ' ';
    some.replace(0, 2, "world", 3, 1).replace(1, 1, {"abc", 2}).replace(1, 1, {"abc", 3}, 1);
    some.replace(1, 1, {"abc", 3}, 1, 1).replace(some.begin(), some.begin() + 1, {"()", 1});
    // Of what is less, how much less is memcmp's own business: it depends on where the texts lie.
    const auto sign = [](int difference) { return (difference > 0) - (difference < 0); };
    out << some << ' ' << sign(some.compare({"()", 1})) << sign(some.compare(0, 4, "help", 0, 4))
        << sign(some.compare(0, 1, {"()", 1})) << sign(some.compare(0, 1, {")()", 3}, 1))
        << sign(some.compare(0, 1, {")()", 3}, 1, 1)) << ' ';
    out << some.find({"co", 1}) << some.find({"co", 1}, 3) << some.rfind({"oc", 1}) << some.find_first_of({"co", 2})
        << some.find_last_of({"co", 2}) << some.find_first_not_of({"(b", 2}) << some.find_last_not_of({"xy", 2})
        << some.starts_with({"((", 1}) << some.ends_with({"xyz", 2}) << ' ';
    some.assign("world", 1, 2);
    out << some;
    some.assign({"abc", 2});
    out << some;
    some.assign({"abc", 3}, 1);
    out << some;
    some.assign({"abc", 3}, 1, 1);
    out << some;
    some = {"abc", 2};
    out << some;
    some = {};
    out << some.empty() << ' ';
    getline(std::istringstream("a line\nmore"), some);
    out << some << '|';
    getline(std::istringstream("a line\nmore"), some, ' ');
    out << some << '|';
    std::istringstream("word") >> some;
    out << some << '|' << std::setw(6) << some << std::setw(3) << some << '|';
    std::istringstream narrow("123456");
    narrow >> std::setw(4) >> some;
    out << some << '|';
    narrow.setf(std::ios::fmtflags(), std::ios::skipws);
    narrow.str(" x");
    narrow >> some; // no character of a word: it becomes empty
    out << some << narrow.fail() << '|';
    std::istringstream throwing("the last");
    throwing.exceptions(std::ios::eofbit);
    try {
        getline(throwing, some);
    } catch (const std::ios::failure&) {
        out << "thrown " << some << '|';
    }
    try {
        throwing.clear(std::ios::goodbit);
        throwing >> some;
    } catch (const std::ios::failure&) {
        out << "thrown " << some;
    }
    return out.str();
}
TEST(string_pi, takes_braces_pointers_and_streams_as_std_string_does) {
    EXPECT_EQ(all_calls_with_braces_and_pointers<rem::string_pi>(), all_calls_with_braces_and_pointers<std::string>());
}

TEST(string_pi, becomes_a_path_as_std_string_does) {
    const rem::string_pi name("folder");
    std::filesystem::path path(name);
    EXPECT_EQ(path, "folder");
    path /= name;
    EXPECT_EQ(path, "folder/folder");
    path = name;
    EXPECT_EQ(path / name, "folder/folder");
    const std::filesystem::path copied = name;
    EXPECT_EQ(copied, path);
    EXPECT_FALSE(std::filesystem::exists(rem::string_pi("no such file")));
}
static_assert(!std::is_convertible_v<text, std::string> && !std::is_convertible_v<text, const char*>);
static_assert(!std::is_constructible_v<text, std::nullptr_t> && !std::is_assignable_v<text&, std::nullptr_t>);

TEST(string_pi, has_what_cpp23_gives_strings) {
    for (const std::size_t before : {0U, 10U, 23U, 24U, 100U}) {
        for (const std::size_t room : {0U, 10U, 22U, 23U, 24U, 100U, 300U}) {
            for (const std::size_t after : {std::size_t{0}, room / 2, room}) {
                text some(before, 'b');
                some.resize_and_overwrite(room, [&](char* all, std::size_t count) {
                    EXPECT_EQ(count, room);
                    EXPECT_EQ(std::count(all, all + std::min(before, room), 'b'), std::min(before, room));
                    std::fill_n(all, room + 1, '\xff'); // what is behind the last may be written to
                    return after;
                });
                ASSERT_EQ(some, std::string(after, '\xff'));
                ASSERT_EQ(some.c_str()[after], '\0');
                some.append(room, 'm');
                ASSERT_EQ(some, std::string(after, '\xff') + std::string(room, 'm'));
            }
        }
    }
    text some(rem::from_range, std::list<char>{'b', 'c'});
    const text same(rem::from_range, "bc"sv, std::allocator<char>());
    EXPECT_EQ(some, same);
    some.append_range(std::views::iota('d', 'g'));
    EXPECT_EQ(*some.insert_range(some.begin(), "a"sv), 'a');
    EXPECT_EQ(some, "abcdef");
    some.replace_with_range(some.begin() + 1, some.begin() + 3, some); // of itself
    EXPECT_EQ(some, "aabcdefdef");
    std::istringstream in("x yz");
    some.append_range(std::ranges::subrange(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()));
    EXPECT_EQ(some, "aabcdefdefx yz");
    some.assign_range(some | std::views::reverse);
    EXPECT_EQ(some, "zy xfedfedcbaa");
    EXPECT_TRUE(some.contains("y x") && some.contains('c') && !some.contains("q"sv));
}

TEST(string_pi, assigned_a_temporary_takes_its_memory) {
    arena memory;
    const tagged_test::tagged<char> here(memory);
    tagged_text some(here);
    tagged_text other(k_long, here);
    const char* const characters = other.data();
    some.assign(std::move(other));
    EXPECT_EQ(some.data(), characters);
    EXPECT_EQ(some, k_long);
    EXPECT_EQ(memory.allocations, 1U);
}
static_assert(noexcept(text().assign(text())));

/// Allocators that are equal, if they may be exchanged, and still not the same.
template <class Propagates>
struct numbered : std::allocator<char> {
    using propagate_on_container_copy_assignment = Propagates;
    using propagate_on_container_move_assignment = Propagates;
    using propagate_on_container_swap = Propagates;
    using is_always_equal = std::false_type;
    template <class>
    struct rebind {
        using other = numbered;
    };
    explicit numbered(int value) : number(value) {}
    int number;
    friend bool operator==(const numbered&, const numbered&) { return true; }
};
template <class Propagates>
void expect_allocators_propagate() {
    using alloc = numbered<Propagates>;
    using string = rem::basic_string_pi<alloc>;
    const auto taken_or = [](int other, int own) { return Propagates::value ? other : own; };
    for (const std::string& content : {std::string("short"), k_long}) {
        const string source(content, alloc(1));
        string copied("x", alloc(2));
        copied = source;
        EXPECT_EQ(copied.get_allocator().number, taken_or(1, 2));
        string moved("x", alloc(3));
        moved = string(content, alloc(4));
        EXPECT_EQ(moved.get_allocator().number, taken_or(4, 3));
        swap(copied, moved);
        EXPECT_EQ(copied.get_allocator().number, taken_or(4, 2));
        EXPECT_EQ(moved.get_allocator().number, taken_or(1, 3));
        EXPECT_EQ(copied, content);
        EXPECT_EQ(moved, content);
        EXPECT_EQ(string(std::move(moved)).get_allocator().number, taken_or(1, 3));
    }
}
static_assert(!std::is_default_constructible_v<rem::basic_string_pi<numbered<std::true_type>>>);

TEST(string_pi, takes_allocators_that_propagate_and_no_others) {
    expect_allocators_propagate<std::true_type>();
    expect_allocators_propagate<std::false_type>();
}

TEST(string_pi, swaps_characters_and_not_memory_between_allocators) {
    tagged_test::arena here;
    tagged_test::arena there;
    {
        tagged_text a(k_long, tagged_test::tagged<char>(here));
        tagged_text b("short", tagged_test::tagged<char>(there));
        swap(a, b);
        EXPECT_EQ(a, "short");
        EXPECT_EQ(b, k_long);
        EXPECT_EQ(here.live, 0U);
        EXPECT_EQ(there.live, 1U);
        EXPECT_EQ(b.get_allocator().where, &there);
    }
    EXPECT_EQ(here.live + there.live, 0U);
}

TEST(string_pi, works_at_another_address) {
    using moved_text = rem::basic_string_pi<moving_test::moving<char>>;
    struct two {
        moved_text in_place;
        moved_text in_block;
    };
    moving_test::arena memory;
    ::new (memory.allocate(sizeof(two))) two;
    std::string model;
    for (std::size_t i = 0; i < 50; ++i) {
        memory.first<two>().in_place = std::to_string(i);
        memory.first<two>().in_block.append("more " + std::to_string(i));
        model += "more " + std::to_string(i);
        memory.move();
        ASSERT_EQ(memory.first<two>().in_place, std::to_string(i));
        ASSERT_EQ(memory.first<two>().in_block, model);
        swap(memory.first<two>().in_place, memory.first<two>().in_block);
        memory.move();
        ASSERT_EQ(memory.first<two>().in_place, model);
        swap(memory.first<two>().in_place, memory.first<two>().in_block);
    }
}

TEST(string_pi, has_a_fingerprint_with_the_number_of_its_layout) {
    using rem::detail::fingerprint_of;
    EXPECT_EQ(fingerprint_of<rem::string_pi>().name, "rem::string_pi");
    EXPECT_EQ(rem::types::type_description::decode(fingerprint_of<rem::string_pi>().description)->text(),
              "rem::string_pi 32/8 string 1");
    EXPECT_TRUE(fingerprint_of<rem::string_pi>().nameable);
}

} // namespace string_pi_test
