// The concepts, and which reason a type is refused for; that a sentence says it is tested in tests/persistable.

#include <remanence/types/persistable.hpp>

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <any>
#include <atomic>
#include <barrier>
#include <bitset>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <initializer_list>
#include <latch>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <optional>
#include <queue>
#include <regex>
#include <scoped_allocator>
#include <semaphore>
#include <shared_mutex>
#include <source_location>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <variant>
#include <vector>

#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

namespace rem = remanence;

// Unsafe containers under the names that they have.
namespace persistable_test {
template <class T>
struct unsafe {
    using value_type = T;
    using allocator_type = rem::allocator<T>;
    allocator_type alloc;
};
} // namespace persistable_test
#define UNSAFE_CONTAINER(place, name) /* NOLINT(cppcoreguidelines-macro-usage): by name */                             \
    namespace place {                                                                                                  \
    template <class T>                                                                                                 \
    struct name : persistable_test::unsafe<T> {};                                                                      \
    }
UNSAFE_CONTAINER(boost::unordered, unordered_flat_map)
UNSAFE_CONTAINER(boost::unordered, unordered_map) // this one is not
UNSAFE_CONTAINER(absl::lts_1, flat_hash_set)
UNSAFE_CONTAINER(absl::lts_1, node_hash_map)
UNSAFE_CONTAINER(absl::lts_1, btree_map)
UNSAFE_CONTAINER(phmap, btree_map)
UNSAFE_CONTAINER(tsl, robin_map)
UNSAFE_CONTAINER(folly, F14FastMap)

namespace persistable_test {

using rem::detail::unfit;

template <class T>
constexpr unfit why = decltype(rem::detail::judge<T>())::k_why;
template <class T, class Part>
constexpr bool is_to_blame = std::is_same_v<typename decltype(rem::detail::judge<T>())::part, Part>;

struct address {
    rem::string street;
    std::array<rem::vector<rem::string>, 2> more;
    double place[2][3];
};
struct directory { // of itself
    rem::map<rem::string, directory> below;
    rem::hash_map<int, directory> also_below;
    directory* above = nullptr;
};
struct tree { // likewise
    int number;
    rem::hash_map<int, tree> below;
};
struct forest { // of each other
    rem::btree_map<rem::string_pi, std::optional<tree>> trees;
    rem::vector_pi<std::pair<int, forest>> others;
};
struct named_tree {
    rem::string name;
    rem::hash_map<int, named_tree> below;
};
struct with_path {
    int number;
    std::pair<int, std::filesystem::path> path;
};
struct with_base : address {
    int number;
};
union number_or_text {
    int number;
    char text[8];
};
class hides_numbers {
public:
    [[nodiscard]] int sum() const { return a_ + b_; }

private:
    int a_ = 1;
    int b_ = 2;
};
class hides_string {
public:
    [[nodiscard]] std::string_view text() const { return text_; }

private:
    std::string text_;
};
class hides_reference {
public:
    explicit hides_reference(int& number) : number_(number) {}
    [[nodiscard]] int number() const { return number_; }

private:
    int& number_;
};
class hides_beside_elements : public rem::vector<int> { // has the names of a container
public:
    [[nodiscard]] std::string_view text() const { return text_; }

private:
    std::string text_;
};
template <class Container>
class hides_beside_container {
public:
    using container_type = Container;
    [[nodiscard]] std::string_view text() const { return text_; }

private:
    std::string text_;
};
class account { // whose author vouches for it
public:
    [[nodiscard]] std::string_view text() const { return text_; }

private:
    rem::string text_;
};
struct pooled : std::allocator<int> { // likewise
    template <class U>
    struct rebind {
        using other = pooled;
    };
};
struct point {
    int x;
    char name[40];
};
struct named_view {
    int number;
    std::string_view text;
};
/// What cannot be taken apart: a base with members, a union, or too many.
template <class... Ts>
struct beside_a_base : point, Ts... {};
template <class T>
struct behind_a_base : point {
    T part;
    int* next;
};
template <class T>
struct behind_a_union {
    union {
        int number;
        char text[4];
    };
    T part;
};
template <class T>
struct behind_a_bit_field : point {
    unsigned a : 3, b : 5;
    int : 2;
    T part;
};
template <class T>
struct among_many {
    short a[10], b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z;
    double more[5], and_more, even_more, still_more, almost, there;
    T part;
};
struct too_large_to_look_at : point {
    char text[1000];
    std::string_view view;
};
struct takes_anything {
    takes_anything() = default;
    template <class T>
    takes_anything(T&& /*value*/) {} // NOLINT: greedy
    int number = 0;
};
union callback_or_number {
    void (*callback)();
    int number;
};
struct with_reference {
    rem::string text;
    double place[3];
    int& number;
};
struct with_const {
    const int number;
};
class hides_view {
public:
    [[nodiscard]] std::size_t size() const { return text_.size(); }

private:
    std::string_view text_;
};
struct frees_in_heap {
    void operator()(address* object) const;
};
struct stateful_less {
    std::function<bool(int, int)> less;
    bool operator()(int a, int b) const { return less(a, b); }
};

} // namespace persistable_test

template <>
inline constexpr bool remanence::enable_persistable<persistable_test::account> = true;
template <>
inline constexpr bool remanence::enable_persistable<persistable_test::pooled> = true;
template <>
inline constexpr bool remanence::enable_position_independent<persistable_test::account> = true;

namespace persistable_test {

TEST(persistable, are_values_and_what_is_made_of_them) {
    EXPECT_TRUE(rem::persistable<int>);
    EXPECT_TRUE(rem::persistable<const double>);
    EXPECT_TRUE(rem::persistable<std::nullptr_t>);
    EXPECT_TRUE(rem::persistable<std::memory_order>);
    EXPECT_TRUE(rem::persistable<number_or_text>);
    EXPECT_TRUE(rem::persistable<int[3][4]>);
    EXPECT_TRUE(rem::persistable<address>);
    EXPECT_TRUE(rem::persistable<directory>);
    EXPECT_TRUE((rem::persistable<std::variant<int, std::optional<std::tuple<rem::string, address>>>>));
    EXPECT_TRUE(rem::persistable<std::atomic<std::uint64_t>>);
    EXPECT_TRUE(rem::persistable<std::atomic_flag>);
    EXPECT_TRUE(rem::persistable<std::complex<double>>);
    EXPECT_TRUE(rem::persistable<std::bitset<100>>);
    EXPECT_TRUE(rem::persistable<std::chrono::system_clock::time_point>);
    EXPECT_TRUE(rem::persistable<hides_numbers>);
}

TEST(persistable, are_plain_pointers) {
    EXPECT_TRUE(rem::persistable<address*>);
    EXPECT_TRUE(rem::persistable<const char*>);
    EXPECT_TRUE(rem::persistable<int address::*>);
    EXPECT_TRUE((rem::persistable<std::unique_ptr<address, frees_in_heap>>));
    EXPECT_EQ(why<std::unique_ptr<address>>, unfit::deleted_by_malloc);
    EXPECT_EQ((why<std::unique_ptr<int, void (*)(int*)>>), unfit::code);
}

TEST(persistable, are_containers_that_lie_in_the_heap) {
    EXPECT_TRUE((rem::persistable<rem::multimap<rem::string, address>>));
    EXPECT_TRUE((rem::persistable<rem::unordered_map<rem::string, rem::list<int>>>));
    EXPECT_TRUE((rem::persistable<rem::hash_map<rem::string_pi, rem::vector_pi<int>>>));
    EXPECT_TRUE((rem::persistable<rem::btree_map<int, rem::deque<int>>>));
    EXPECT_TRUE((rem::persistable<std::stack<int, rem::deque<int>>>));
    EXPECT_TRUE((rem::persistable<std::priority_queue<int, rem::vector<int>>>));
    using nested = std::scoped_allocator_adaptor<rem::allocator<rem::string>>;
    EXPECT_TRUE((rem::persistable<std::vector<rem::string, nested>>));
    EXPECT_TRUE((rem::persistable<boost::unordered::unordered_map<int>>));
    EXPECT_TRUE((rem::persistable<std::vector<int, pooled>>));
}

TEST(persistable, are_no_containers_that_lie_elsewhere) {
    EXPECT_EQ(why<std::string>, unfit::other_memory);
    EXPECT_EQ(why<std::vector<int>>, unfit::other_memory);
    EXPECT_EQ((why<std::unordered_map<int, int>>), unfit::other_memory);
    EXPECT_EQ((why<rem::btree_map<int, int, std::less<>, std::allocator<std::pair<const int, int>>>>),
              unfit::other_memory);
    EXPECT_EQ(why<std::stack<int>>, unfit::other_memory);
    EXPECT_EQ(why<std::pmr::string>, unfit::memory_resource);
    EXPECT_EQ((why<rem::map<int, std::optional<std::string>>>), unfit::other_memory);
    EXPECT_TRUE((is_to_blame<rem::map<int, std::optional<std::string>>, std::string>));
    EXPECT_EQ((why<rem::set<int, stateful_less>>), unfit::type_erased);
}

TEST(persistable, are_no_containers_that_point_at_a_static_when_empty) {
    EXPECT_EQ(why<boost::unordered::unordered_flat_map<int>>, unfit::empty_is_static);
    EXPECT_EQ(why<absl::lts_1::flat_hash_set<int>>, unfit::empty_is_static);
    EXPECT_EQ(why<absl::lts_1::node_hash_map<int>>, unfit::empty_is_static);
    EXPECT_EQ(why<absl::lts_1::btree_map<int>>, unfit::empty_is_static);
    EXPECT_EQ(why<phmap::btree_map<int>>, unfit::empty_is_static);
    EXPECT_EQ(why<tsl::robin_map<int>>, unfit::empty_is_static);
    EXPECT_EQ(why<folly::F14FastMap<int>>, unfit::empty_is_static);
}

TEST(persistable, are_no_locks_and_threads) {
    EXPECT_EQ(why<std::mutex>, unfit::lock);
    EXPECT_EQ(why<std::recursive_timed_mutex>, unfit::lock);
    EXPECT_EQ(why<std::shared_mutex>, unfit::lock);
    EXPECT_EQ(why<std::unique_lock<std::mutex>>, unfit::lock);
    EXPECT_EQ(why<std::condition_variable>, unfit::lock);
    EXPECT_EQ(why<std::counting_semaphore<3>>, unfit::lock);
    EXPECT_EQ(why<std::latch>, unfit::lock);
    EXPECT_EQ(why<std::barrier<>>, unfit::lock);
    EXPECT_EQ(why<rem::heap>, unfit::lock);
    EXPECT_EQ(why<pthread_mutex_t>, unfit::lock);
    EXPECT_EQ(why<pthread_cond_t[2]>, unfit::lock);
    EXPECT_EQ(why<pthread_rwlock_t>, unfit::lock);
    EXPECT_EQ(why<pthread_barrier_t>, unfit::lock);
    EXPECT_EQ(why<sem_t>, unfit::lock);
    EXPECT_EQ(why<mtx_t>, unfit::lock);
    EXPECT_EQ(why<cnd_t>, unfit::lock);
    EXPECT_EQ(why<std::thread>, unfit::thread);
    EXPECT_EQ(why<std::jthread>, unfit::thread);
    EXPECT_EQ(why<std::future<int>>, unfit::result_of_thread);
    EXPECT_EQ(why<std::promise<int>>, unfit::result_of_thread);
    EXPECT_EQ(why<std::packaged_task<int()>>, unfit::result_of_thread);
}

TEST(persistable, is_nothing_that_leads_out_of_the_heap) {
    EXPECT_EQ(why<int&>, unfit::reference);
    EXPECT_EQ(why<std::reference_wrapper<int>>, unfit::reference);
    EXPECT_EQ((why<std::tuple<int, int&>>), unfit::reference);
    EXPECT_EQ(why<with_reference>, unfit::reference);
    EXPECT_TRUE((is_to_blame<rem::vector<with_reference>, with_reference>));
    EXPECT_TRUE(rem::persistable<with_const>);
    EXPECT_EQ(why<void (*)()>, unfit::code);
    EXPECT_EQ(why<int (address::*)()>, unfit::code);
    EXPECT_EQ(why<std::fstream>, unfit::stream);
    EXPECT_EQ(why<std::FILE*>, unfit::stream);
    EXPECT_EQ(why<std::filebuf>, unfit::hidden);
    EXPECT_EQ(why<std::function<void()>>, unfit::type_erased);
    EXPECT_EQ(why<std::any>, unfit::type_erased);
    EXPECT_EQ(why<std::shared_ptr<int>>, unfit::shared_ownership);
    EXPECT_EQ(why<std::weak_ptr<int>>, unfit::shared_ownership);
    EXPECT_EQ(why<std::string_view>, unfit::view);
    EXPECT_EQ(why<std::span<int>>, unfit::view);
    EXPECT_EQ(why<std::initializer_list<int>>, unfit::view);
    EXPECT_EQ(why<std::coroutine_handle<>>, unfit::type_erased);
    EXPECT_EQ(why<std::type_index>, unfit::static_object);
    EXPECT_EQ(why<std::source_location>, unfit::static_object);
    EXPECT_EQ(why<std::error_code>, unfit::static_object);
}

TEST(persistable, are_classes_that_hide_more_than_bytes_only_when_vouched_for) {
    EXPECT_EQ(why<hides_string>, unfit::hidden);
    EXPECT_EQ(why<hides_beside_elements>, unfit::hidden);
    EXPECT_EQ(why<hides_beside_container<rem::vector<int>>>, unfit::hidden);
    EXPECT_EQ(why<hides_beside_container<std::vector<int>>>, unfit::other_memory);
    EXPECT_EQ((why<std::stack<int, rem::deque<int>>>), unfit::nothing);
    EXPECT_EQ(why<rem::file_backed<rem::vector<int>>>, unfit::lock);
    EXPECT_EQ(why<hides_reference>, unfit::hidden);
    EXPECT_EQ(why<with_base>, unfit::hidden);
    EXPECT_EQ(why<std::once_flag>, unfit::hidden);
    EXPECT_EQ(why<std::regex>, unfit::hidden);
    EXPECT_EQ(why<std::locale>, unfit::hidden);
    EXPECT_EQ(why<std::exception_ptr>, unfit::hidden);
    EXPECT_EQ(why<with_path>, unfit::hidden);
    EXPECT_TRUE((is_to_blame<with_path, std::filesystem::path>));
    EXPECT_TRUE(rem::persistable<account>);
    EXPECT_TRUE((rem::persistable<rem::map<int, std::pair<account, account>>>));
}

template <template <class> class Around>
void expect_part_is_judged() {
    EXPECT_TRUE(rem::persistable<Around<int>>);
    EXPECT_TRUE(rem::persistable<Around<point[2]>>);
    EXPECT_TRUE(rem::persistable<Around<number_or_text>>);
    EXPECT_TRUE(rem::persistable<Around<hides_numbers>>);
    EXPECT_TRUE(rem::persistable<Around<takes_anything>>);
    EXPECT_TRUE(rem::persistable<Around<Around<int>>>);
    EXPECT_EQ(why<Around<std::string_view>>, unfit::view);
    EXPECT_EQ(why<Around<named_view[2]>>, unfit::view);
    EXPECT_EQ(why<Around<std::optional<std::span<int>>>>, unfit::view);
    EXPECT_EQ(why<Around<void (*)()>>, unfit::code);
    EXPECT_EQ(why<Around<callback_or_number>>, unfit::code);
    EXPECT_EQ(why<Around<pthread_mutex_t>>, unfit::lock);
    EXPECT_EQ(why<Around<behind_a_base<std::string_view>>>, unfit::view);
    EXPECT_TRUE((is_to_blame<rem::vector<Around<std::string_view>>, Around<std::string_view>>));
}
TEST(persistable, looks_into_aggregates_that_cannot_be_taken_apart) {
    expect_part_is_judged<behind_a_base>();
    expect_part_is_judged<behind_a_union>();
    expect_part_is_judged<behind_a_bit_field>();
    expect_part_is_judged<among_many>();
    EXPECT_EQ(why<behind_a_base<behind_a_base<std::type_index>>>, unfit::static_object);
    EXPECT_EQ(why<behind_a_union<std::type_index>>, unfit::static_object);
    EXPECT_EQ(why<behind_a_bit_field<std::type_index>>, unfit::static_object);
    EXPECT_TRUE(rem::persistable<beside_a_base<>>);
    EXPECT_TRUE((rem::persistable<beside_a_base<hides_numbers>>));
    EXPECT_EQ(why<beside_a_base<named_view>>, unfit::view);
    EXPECT_EQ(why<beside_a_base<std::string_view>>, unfit::view);
}

// What is not looked into.
TEST(persistable, are_classes_of_bytes_that_hide_what_leads_out) {
    EXPECT_TRUE(rem::persistable<hides_view>);
    EXPECT_TRUE(rem::persistable<too_large_to_look_at>);
}

TEST(position_independent, are_numbers_distances_and_what_is_vouched_for) {
    EXPECT_TRUE((rem::position_independent<rem::hash_map<rem::string_pi, std::optional<rem::vector_pi<int>>>>));
    EXPECT_TRUE((rem::position_independent<std::tuple<int, account>>));
    EXPECT_FALSE(rem::position_independent<rem::string>);
    EXPECT_FALSE((rem::position_independent<std::pair<int, int*>>));
    EXPECT_FALSE(rem::position_independent<hides_numbers>);
}

TEST(position_independent, are_atomics_and_times_if_their_parts_are) {
    EXPECT_TRUE(rem::position_independent<std::atomic<int>>);
    EXPECT_TRUE(rem::position_independent<std::chrono::seconds>);
    EXPECT_TRUE(rem::position_independent<std::chrono::system_clock::time_point>);
    EXPECT_TRUE((rem::position_independent<rem::hash_map<int, std::atomic<std::chrono::seconds>>>));
    EXPECT_FALSE(rem::position_independent<std::atomic<int*>>);
    EXPECT_FALSE(rem::position_independent<std::atomic<hides_numbers>>);
    EXPECT_FALSE(rem::position_independent<rem::vector_pi<std::atomic<void*>>>);
}

TEST(position_independent, are_types_that_contain_themselves_if_all_else_is) {
    EXPECT_TRUE(rem::position_independent<tree>);
    EXPECT_TRUE(rem::position_independent<forest>);
    EXPECT_TRUE((rem::position_independent<rem::btree_map<int, std::pair<int, tree>>>));
    EXPECT_FALSE(rem::position_independent<directory>); // has pointers
    EXPECT_FALSE(rem::position_independent<named_tree>);
    EXPECT_FALSE((rem::position_independent<rem::vector_pi<named_tree>>));
}

} // namespace persistable_test
