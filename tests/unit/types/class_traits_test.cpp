// What is derived from class_traits that a program writes for a class of its own.
#include "support/trusting_survey.hpp"

#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/detail/fetch_ahead.hpp>
#include <remanence/containers/string_pi.hpp>
#include <remanence/containers/vector_pi.hpp>
#include <remanence/types/class_traits.hpp>
#include <remanence/types/persistable.hpp>
#include <remanence/types/reflect.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

namespace class_traits_test {

/// Hides its members; nothing is said of it.
template <class T>
class unknown {
public:
    unknown() = default;
    unknown(unknown&&) noexcept {} // NOLINT(bugprone-exception-escape)
    [[nodiscard]] const T& get() const { return value_; }

private:
    T value_{};
};
/// The same class in two releases, and one with an allocator.
template <class T, int Release>
class box {
public:
    box() = default;
    box(box&& other) noexcept : is_damaged(other.is_damaged) {}
    bool is_damaged = false;

private:
    [[maybe_unused]] T value_{};
};
template <class T, class Alloc>
class own_list {
public:
    using allocator_type = Alloc;
    own_list() = default;
    own_list(own_list&&) noexcept {} // NOLINT(bugprone-exception-escape)

private:
    [[maybe_unused]] T* first_ = nullptr;
};
/// Says nothing but that it is known, so it is taken for what it otherwise is.
struct with_empty_traits {
    int a;
    remanence::string_pi b;
};
class said {
public:
    said() = default;

private:
    [[maybe_unused]] int number_ = 0;
    REM_REFLECT((), number_);
};
thread_local int fetched = 0;

} // namespace class_traits_test

template <class T, int Release>
struct remanence::class_traits<class_traits_test::box<T, Release>> {
    using parts = type_list<T>;
    static constexpr bool k_is_position_independent = true;
    static constexpr bool k_is_self_contained = true;
    static constexpr bool k_is_plain_key = true;
    static std::string layout() { return " box " + std::to_string(Release); }
    struct shape : detail::shape_with<detail::shape_kind::same_as_part, 0> {};
    static detail::structure_result check(const class_traits_test::box<T, Release>& object,
                                          detail::block_survey& /*survey*/) {
        if (object.is_damaged)
            return detail::structure_fault{&object, "a damaged box"};
        return {};
    }
    static void fetch(const class_traits_test::box<T, Release>& /*object*/) noexcept { ++class_traits_test::fetched; }
};
template <class T, class Alloc>
struct remanence::class_traits<class_traits_test::own_list<T, Alloc>> {
    using parts = type_list<T>;
};
template <>
struct remanence::class_traits<class_traits_test::with_empty_traits> {};
template <>
struct remanence::class_traits<class_traits_test::said> {
    using parts = type_list<int>;
};

namespace remanence::test {
namespace {

using namespace class_traits_test;

template <class T>
using box_1 = box<T, 1>;

TEST(class_traits, say_by_the_parts_whether_a_class_is_stored) {
    static_assert(!persistable<unknown<int>>);
    static_assert(persistable<box_1<int>> && !persistable<box_1<std::string>>);
    static_assert(persistable<box_1<box_1<string_pi>>> && !persistable<std::optional<box_1<std::string_view>>>);
    static_assert(std::is_same_v<decltype(detail::judge<box_1<std::string_view>>())::part, std::string_view>);
}

TEST(class_traits, leave_the_memory_of_a_class_to_be_judged_by_its_allocator) {
    static_assert(persistable<own_list<int, allocator<int>>> &&
                  !persistable<own_list<std::string, allocator<std::string>>>);
    static_assert(decltype(detail::judge<own_list<int, std::allocator<int>>>())::k_why == detail::unfit::other_memory);
}

TEST(class_traits, say_what_means_the_same_at_any_address_if_the_parts_do) {
    static_assert(!is_position_independent_v<unknown<int>>);
    static_assert(is_position_independent_v<box_1<string_pi>> && !is_position_independent_v<box_1<int*>>);
    static_assert(!is_position_independent_v<own_list<int, allocator<int>>>); // it does not say so
}

TEST(class_traits, say_what_lies_in_the_slots_of_containers) {
    static_assert(detail::is_self_contained<box_1<std::string>>() && !detail::is_self_contained<unknown<int>>());
    static_assert(detail::btree_nodes<std::pair<const int, box_1<int>>, 512>::k_is_inline);
    static_assert(!detail::btree_nodes<std::pair<const int, unknown<int>>, 512>::k_is_inline);
}

TEST(class_traits, put_layout_and_parts_into_the_fingerprint) {
    const auto first = detail::fingerprint_of<box<int, 1>>();
    const auto second = detail::fingerprint_of<box<int, 2>>();
    EXPECT_NE(first.description.find(" box 1"), std::string::npos);
    EXPECT_NE(second.description.find(" box 2"), std::string::npos);
    EXPECT_NE(first.hash, second.hash);
    // Which has a string_pi: so the part has been looked into.
    const auto of_struct = detail::fingerprint_of<box<with_empty_traits, 1>>();
    EXPECT_NE(of_struct.description.find("string_pi"), std::string::npos);
}

TEST(class_traits, have_a_check_that_verify_calls_wherever_the_object_lies) {
    static_assert(detail::has_structure<std::tuple<int, std::optional<box_1<int>>>>());
    static_assert(!detail::has_structure<unknown<box_1<int>>>());
    detail::trusting_survey survey;
    vector_pi<std::pair<int, std::variant<int, box_1<int>>>> all(3);
    EXPECT_FALSE(detail::check_structure(all, survey));
    all[1].second.emplace<1>().is_damaged = true;
    const detail::structure_result found = detail::check_structure(all, survey);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->what, "a damaged box");
    EXPECT_EQ(found->where, &std::get<1>(all[1].second));
}

TEST(class_traits, say_by_which_shape_others_read_a_class) {
    EXPECT_EQ(reflect<box_1<int>>.shape().kind, detail::shape_kind::same_as_part);
    EXPECT_EQ(reflect<unknown<int>>.shape().kind, detail::shape_kind::none);
    EXPECT_EQ(reflect<said>.members().at(0).name, "number_"); // by REM_REFLECT, as its traits have no shape
}

TEST(class_traits, fetch_what_elements_have_outside) {
    fetched = 0;
    detail::fetch_outside(std::pair<const int, box_1<int>>());
    detail::fetch_outside(unknown<int>());
    EXPECT_EQ(fetched, 1);
}

TEST(class_traits, that_say_nothing_change_nothing) {
    static_assert(persistable<with_empty_traits> && is_position_independent_v<with_empty_traits>);
    static_assert(detail::is_self_contained<with_empty_traits>() && detail::has_structure<with_empty_traits>());
    EXPECT_EQ(reflect<with_empty_traits>.member_count, 2U);
}

} // namespace
} // namespace remanence::test
