// Types nested in each other, each kind in each kind, with random values: dumped, loaded, compared.
#include "support/seed.hpp"
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace generated {

namespace rem = remanence;

/// Two bytes behind an int and before zeros are an address to the check of pointers, if they begin as those of heaps do: none of ours does.
inline constexpr std::uint64_t k_no_address = 0x1000;

enum class shade : short { dark = -7, light = 100 };

template <class T>
struct one {
    char before = 'b';
    T value{};
    bool behind = true;
    friend bool operator==(const one&, const one&) = default;
};
template <class T>
struct two {
    T first{};
    rem::string_pi between;
    T second[2] = {};
    friend bool operator==(const two&, const two&) = default;
};

/// Hides its members, and has no room for an address.
class hidden {
public:
    void set_to(std::uint64_t number) { number_ = static_cast<unsigned char>(number); }
    friend bool operator==(const hidden&, const hidden&) = default;

private:
    unsigned char number_ = 1;
    short other_ = 2;
};
struct nothing {
    friend bool operator==(const nothing&, const nothing&) = default;
};
struct bits {
    bool before = true;
    unsigned some : 3 = 0;
    unsigned others : 9 = 0;
    nothing empty;
    unsigned char behind = 0;
    friend bool operator==(const bits&, const bits&) = default;
};

template <std::size_t Kind, class T>
struct kind;
// clang-format off
template <class T> struct kind<0, T> { using type = rem::vector<T>; };
template <class T> struct kind<1, T> { using type = rem::vector_pi<T>; };
template <class T> struct kind<2, T> { using type = rem::deque<T>; };
template <class T> struct kind<3, T> { using type = rem::list<T>; };
template <class T> struct kind<4, T> { using type = rem::forward_list<T>; };
template <class T> struct kind<5, T> { using type = std::optional<T>; };
template <class T> struct kind<6, T> { using type = std::array<T, 3>; };
template <class T> struct kind<7, T> { using type = std::pair<rem::string, T>; };
template <class T> struct kind<8, T> { using type = one<T>; };
template <class T> struct kind<9, T> { using type = two<T>; };
template <class T> struct kind<10, T> { using type = rem::map<rem::string, T>; };
template <class T> struct kind<11, T> { using type = rem::btree_map<int, T>; };
template <class T> struct kind<12, T> { using type = rem::hash_map<rem::string_pi, T>; };
template <class T> struct kind<13, T> { using type = rem::unordered_map<int, T>; };
template <class T> struct kind<14, T> { using type = std::variant<shade, T>; };
// clang-format on
inline constexpr std::size_t k_kinds = 15;

template <std::size_t Kind>
using leaf = std::tuple_element_t<Kind % 11, std::tuple<int, double, rem::string, rem::string_pi, shade, std::uint64_t,
                                                        short, hidden, nothing, bits, unsigned char>>;
/// The number of a type: an outer kind, an inner one, and what lies in it.
template <std::size_t Number>
using nested = typename kind<Number / k_kinds % k_kinds, typename kind<Number % k_kinds, leaf<Number>>::type>::type;

using generator = std::mt19937_64;

template <class T>
void fill(T& object, generator& random) {
    const auto below = [&](std::uint64_t end) { return random() % end; };
    const auto text = [&] {
        std::string made(below(40), ' ');
        for (char& c : made)
            c = static_cast<char>(below(256));
        if (made.size() % 8 ==
            6) // six bytes and zeros are an address to the check of pointers, of another heap now and then
            made += 'x';
        return made;
    };
    if constexpr (std::is_same_v<T, shade>) {
        object = below(2) == 0 ? shade::light : static_cast<shade>(below(k_no_address));
    } else if constexpr (std::is_same_v<T, hidden>) {
        object.set_to(below(256));
    } else if constexpr (std::is_same_v<T, bits>) {
        object.some = static_cast<unsigned>(random()) & 7U;
        object.others = static_cast<unsigned>(random()) & 511U;
        object.behind = static_cast<unsigned char>(below(256));
    } else if constexpr (std::is_empty_v<T>) {
    } else if constexpr (std::is_same_v<T, bool>) {
        object = below(2) == 1;
    } else if constexpr (std::is_same_v<T, double>) {
        object = static_cast<double>(random()) / static_cast<double>(random() | 1);
    } else if constexpr (std::is_integral_v<T> && sizeof(T) == 2) {
        object = static_cast<T>(below(2 * k_no_address) - k_no_address);
    } else if constexpr (std::is_integral_v<T>) {
        object = static_cast<T>(random());
    } else if constexpr (std::is_same_v<T, rem::string> || std::is_same_v<T, rem::string_pi>) {
        object = text();
    } else if constexpr (requires { object.valueless_by_exception(); }) {
        fill(object.template emplace<1>(), random);
        if (below(3) == 0)
            fill(object.template emplace<0>(), random);
    } else if constexpr (requires { object.has_value(); }) {
        // An empty one has what lay on the stack, an address now and then.
        if constexpr (std::is_trivially_copyable_v<T>)
            std::memset(static_cast<void*>(&object), 0, sizeof object);
        if (below(3) != 0)
            fill(object.emplace(), random);
    } else if constexpr (requires { object.between; }) {
        fill(object.first, random);
        fill(object.between, random);
        for (auto& each : object.second)
            fill(each, random);
    } else if constexpr (requires { object.behind; }) {
        fill(object.before, random);
        fill(object.value, random);
    } else if constexpr (requires { object.second; }) {
        fill(object.first, random);
        fill(object.second, random);
    } else if constexpr (requires { typename T::mapped_type; }) {
        for (std::uint64_t left = below(30); left != 0; --left) {
            typename T::key_type key{};
            fill(key, random);
            fill(object[key], random);
        }
    } else if constexpr (requires { object.emplace_back(); }) {
        for (std::uint64_t left = below(6); left != 0; --left)
            fill(object.emplace_back(), random);
    } else if constexpr (requires { object.emplace_front(); }) {
        for (std::uint64_t left = below(6); left != 0; --left)
            fill(object.emplace_front(), random);
    } else {
        for (auto& each : object)
            fill(each, random);
    }
}

} // namespace generated

template <>
inline constexpr bool remanence::enable_persistable<generated::hidden> = true;

namespace remanence {
namespace {

using namespace generated;

template <std::size_t Number>
std::string name_of() {
    return "root " + std::to_string(Number);
}

template <std::size_t... Numbers>
void carry(std::index_sequence<Numbers...> /*types*/) {
    generator random(test::random_seed());
    const auto directory = test::temp_dir::in_memory();
    heap from = heap::create(directory / "from");
    heap into = heap::create(directory / "into");
    from.write([&] { (fill(from.root<nested<Numbers>>(name_of<Numbers>()), random), ...); });
    std::ostringstream out;
    save(from, out);
    std::istringstream in(out.str());
    ASSERT_EQ(load<>(into, in), sizeof...(Numbers));
    (..., [&] {
        using type = nested<Numbers>;
        EXPECT_TRUE(from.root<type>(name_of<Numbers>()) == into.root<type>(name_of<Numbers>()))
            << detail::fingerprint_of<type>().name;
    }());
    EXPECT_TRUE(into.verify().clean());
    (..., [&] {
        using type = nested<Numbers>;
        EXPECT_TRUE(into.remove_root<type>(name_of<Numbers>()));
    }());
    EXPECT_TRUE(into.verify().clean());
}

/// `make test` compiles and carries every fourth kind in each, of which each kind meets some; NAME=all, each in each.
#if defined(REMANENCE_ALL_TESTS)
inline constexpr std::size_t k_step = 1;
#else
inline constexpr std::size_t k_step = 4;
#endif

template <std::size_t Outer, std::size_t... I>
void carry_kinds_in(std::index_sequence<I...> /*which*/) {
    constexpr std::size_t first = Outer % k_step;
    carry(std::index_sequence<(Outer * k_kinds + first + I * k_step)...>());
}

template <std::size_t First, std::size_t... I>
void carry_outer_kinds(std::index_sequence<I...> /*all*/) {
    (carry_kinds_in<First + I>(std::make_index_sequence<(k_kinds - 1 - (First + I) % k_step) / k_step + 1>()), ...);
}

inline constexpr std::size_t k_half = k_kinds / 2;
TEST(generated_types, of_each_kind_in_each_are_the_same_after_dump_and_load) {
    carry_outer_kinds<0>(std::make_index_sequence<k_half>());
}
TEST(generated_types, of_the_other_kinds_in_each_likewise) {
    carry_outer_kinds<k_half>(std::make_index_sequence<k_kinds - k_half>());
}

} // namespace
} // namespace remanence
