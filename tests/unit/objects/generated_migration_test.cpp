// Each kind of change that is automatic, within each other one, with random values: migrated and compared.
#include "support/seed.hpp"
#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace paired {

namespace rem = remanence;

enum class shade : std::uint8_t { dark = 3, light = 7 };
enum class more_shades : std::uint16_t { none, light = 2, medium, dark = 9 };
template <class T>
struct one {
    char before = 'b';
    T value{};
    bool behind = true;
};
template <class T>
struct other_one {
    bool behind = false;
    int added = 9;
    T value{};
    char before = 'c';
};

// Leaves, and what becomes of them.
using old_leaves = std::tuple<int, float, rem::string, shade, bool, std::uint8_t, short>;
using new_leaves = std::tuple<long, double, rem::string_pi, more_shades, int, std::uint32_t, double>;

template <std::size_t Kind, class T>
struct kind;
// clang-format off
template <class T> struct kind<0, T> { using old_type = rem::vector<T>; using new_type = rem::list<T>; };
template <class T> struct kind<1, T> { using old_type = rem::vector_pi<T>; using new_type = rem::deque<T>; };
template <class T> struct kind<2, T> { using old_type = rem::list<T>; using new_type = rem::vector_pi<T>; };
template <class T> struct kind<3, T> { using old_type = one<T>; using new_type = std::optional<one<T>>; };
template <class T> struct kind<4, T> { using old_type = std::array<T, 3>; using new_type = rem::vector<T>; };
template <class T> struct kind<5, T> { using old_type = std::pair<rem::string, T>; using new_type = std::pair<rem::string_pi, T>; };
template <class T> struct kind<6, T> { using old_type = one<T>; using new_type = other_one<T>; };
template <class T> struct kind<7, T> { using old_type = rem::map<rem::string, T>; using new_type = rem::btree_map<rem::string_pi, T>; };
template <class T> struct kind<8, T> { using old_type = rem::btree_map<int, T>; using new_type = rem::hash_map<long, T>; };
template <class T> struct kind<9, T> { using old_type = rem::hash_map<rem::string, T>; using new_type = rem::unordered_map<rem::string, T>; };
// clang-format on
inline constexpr std::size_t k_kinds = 10;
// How much further the inner kind is: 60 pairs, of which `make test` compiles a third.
#if defined(REMANENCE_ALL_TESTS)
inline constexpr std::size_t k_inner_kinds[] = {0, 1, 3, 4, 6, 9};
#else
inline constexpr std::size_t k_inner_kinds[] = {1, 6};
#endif

template <std::size_t Outer, std::size_t Inner>
struct pair_of {
    static constexpr std::size_t k_leaf = (Outer * 5 + Inner) % std::tuple_size_v<old_leaves>;
    using old_type =
        typename kind<Outer, typename kind<Inner, std::tuple_element_t<k_leaf, old_leaves>>::old_type>::old_type;
    using new_type =
        typename kind<Outer, typename kind<Inner, std::tuple_element_t<k_leaf, new_leaves>>::new_type>::new_type;
};

using generator = std::mt19937_64;

template <class T>
void fill(T& object, generator& random) {
    const auto below = [&](std::uint64_t end) { return random() % end; };
    if constexpr (std::is_same_v<T, shade>) {
        object = below(2) == 0 ? shade::dark : shade::light;
    } else if constexpr (std::is_same_v<T, bool>) {
        object = below(2) == 1;
    } else if constexpr (std::is_arithmetic_v<T>) {
        object = static_cast<T>(below(256)) - static_cast<T>(std::is_signed_v<T> ? 100 : 0);
    } else if constexpr (std::is_same_v<T, rem::string>) {
        object = std::string(below(40), static_cast<char>('a' + below(26))) + std::to_string(below(1000));
    } else if constexpr (requires { object.behind; }) {
        fill(object.before, random);
        fill(object.value, random);
        fill(object.behind, random);
    } else if constexpr (requires { object.second; }) {
        fill(object.first, random);
        fill(object.second, random);
    } else if constexpr (requires { typename T::mapped_type; }) {
        for (std::uint64_t left = below(20); left != 0; --left) {
            typename T::key_type key{};
            fill(key, random);
            fill(object[key], random);
        }
    } else if constexpr (requires { object.emplace_back(); }) {
        for (std::uint64_t left = below(6); left != 0; --left)
            fill(object.emplace_back(), random);
    } else {
        for (auto& each : object)
            fill(each, random);
    }
}

/// Whether `now` is what `was` becomes.
template <class Old, class New>
bool is_same(const Old& was, const New& now) {
    if constexpr (std::is_same_v<Old, shade>)
        return now == (was == shade::dark ? more_shades::dark : more_shades::light);
    else if constexpr (std::is_arithmetic_v<Old>)
        return static_cast<New>(was) == now;
    else if constexpr (std::is_same_v<Old, rem::string>)
        return std::string_view(was) == std::string_view(now);
    else if constexpr (requires { now.has_value(); })
        return now.has_value() && is_same(was, *now);
    else if constexpr (requires { now.added; })
        return now.added == 9 && was.before == now.before && was.behind == now.behind && is_same(was.value, now.value);
    else if constexpr (requires { now.behind; })
        return was.before == now.before && was.behind == now.behind && is_same(was.value, now.value);
    else if constexpr (requires { now.second; })
        return is_same(was.first, now.first) && is_same(was.second, now.second);
    else if constexpr (requires { typename New::mapped_type; }) {
        bool same = was.size() == now.size();
        for (const auto& [key, value] : was) {
            const auto found = now.find(typename New::key_type(key));
            same = same && found != now.end() && is_same(value, found->second);
        }
        return same;
    } else {
        bool same = std::distance(was.begin(), was.end()) == std::distance(now.begin(), now.end());
        auto each = now.begin();
        for (const auto& old : was)
            same = same && is_same(old, *each++);
        return same;
    }
}

} // namespace paired

namespace remanence {
namespace {

template <std::size_t Outer, std::size_t... Further>
void migrate_pairs_in(heap& of, paired::generator& random, std::index_sequence<Further...> /*which*/) {
    const auto one = [&]<std::size_t Inner>(std::integral_constant<std::size_t, Inner>) {
        using types = paired::pair_of<Outer, Inner>;
        using old_type = typename types::old_type;
        using new_type = typename types::new_type;
        of.write([&] { paired::fill(of.root<old_type>("root"), random); });
        const old_type expected = of.root<old_type>("root");
        const auto report = migrate<new_type>(of, "root");
        EXPECT_TRUE(report.is_needed);
        EXPECT_TRUE(paired::is_same(expected, of.root<new_type>("root"))) << detail::fingerprint_of<new_type>().name;
        of.remove_root<new_type>("root");
    };
    (one(std::integral_constant<std::size_t, (Outer + paired::k_inner_kinds[Further]) % paired::k_kinds>()), ...);
}

template <std::size_t... Outer>
void migrate_all_pairs(std::index_sequence<Outer...> /*kinds*/) {
    paired::generator random(test::random_seed());
    const auto directory = test::temp_dir::in_memory();
    heap all = heap::create(directory / "h");
    (void)all.root<int>("first", 1);
    const auto allocated = all.stats().allocated_bytes;
    (migrate_pairs_in<Outer>(all, random, std::make_index_sequence<std::size(paired::k_inner_kinds)>()), ...);
    const verify_report report = all.verify();
    EXPECT_TRUE(report.clean()) << report.problems.front().what;
    EXPECT_LT(all.stats().allocated_bytes, allocated + 4096) << "old objects stay";
}

TEST(generated_migrations, make_each_automatic_change_within_each_other) {
    migrate_all_pairs(std::make_index_sequence<paired::k_kinds>());
}

} // namespace
} // namespace remanence
