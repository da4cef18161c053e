// What must not compile: each line stores something, and ends with the beginning of the sentence that the compiler is to
// say of it, behind the part that is to blame.
#include <remanence/remanence.hpp>

#include <condition_variable>
#include <coroutine>
#include <fstream>
#include <future>
#include <initializer_list>
#include <memory_resource>
#include <mutex>
#include <semaphore>
#include <source_location>
#include <thread>
#include <typeindex>

#include <pthread.h>
#include <semaphore.h>

namespace absl::lts { // as its headers would have it
template <class Key, class Value, class Alloc = remanence::allocator<std::pair<const Key, Value>>>
struct flat_hash_map {
    using value_type = std::pair<const Key, Value>;
    using allocator_type = Alloc;
    Alloc alloc;
};
} // namespace absl::lts

namespace refused {

namespace rem = remanence;

struct with_number {
    int number;
};
struct with_text {
    int number;
    std::string text;
};
struct with_reference {
    int& number;
};
struct with_reference_and_more {
    int number;
    int& also;
};
struct with_lock {
    int hits;
    pthread_mutex_t lock;
};
struct based_on_view : std::string_view {
    int number;
};
struct based_on_number : with_number {
    int also;
};
struct view_and_union {
    union {
        int number;
        float real;
    };
    std::string_view text;
};
struct array_and_union {
    union {
        int number;
        float real;
    };
    char text[8];
};
union callback_or_number {
    void (*callback)();
    int number;
};
template <class T>
struct over_32_members {
    std::array<int, 2> a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9;
    T c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9;
};
struct with_callback {
    void (*callback)(int);
};
struct with_function {
    std::function<void()> act;
};
struct virtual_class {
    virtual ~virtual_class() = default;
};
class hidden {
public:
    hidden() = default;
    hidden(const hidden&);
    [[nodiscard]] int number() const { return number_; }

private:
    int number_ = 0;
};

/// What its traits have is all that is known of it.
template <class T, class Alloc = rem::allocator<T>>
class box {
public:
    using allocator_type = Alloc;
    box() = default;
    box(const box&);

private:
    T* value_ = nullptr;
};

} // namespace refused

template <class T, class Alloc>
struct remanence::class_traits<refused::box<T, Alloc>> {
    using parts = type_list<T>;
};

namespace refused {

void store(rem::heap& heap, int& x);
void store(rem::heap& heap, int& x) {
    heap.root<with_text>("root");                            // basic_string<char|a container that takes its memory from
    heap.root<rem::map<int, with_text>>("root");             // basic_string<char|a container that takes its memory from
    heap.root<rem::vector<std::vector<int>>>("root");        // std::vector|a container that takes its memory from
    heap.root<std::pmr::vector<int>>("root");                // std::vector|std::pmr containers
    heap.root<absl::lts::flat_hash_map<int, int>>("root");   // flat_hash_map|this container: an empty one points
    (void)heap.make<std::tuple<int, int&>>(1, x);            // int|references
    (void)heap.make<with_reference>(x);                      // with_reference|references
    heap.root<std::reference_wrapper<int>>("root", x);       // std::reference_wrapper|references
    heap.root<with_callback>("root");                        // void|pointers to functions
    heap.root<with_function>("root");                        // std::function|std::function, std::any
    heap.root<std::any>("root");                             // std::any|std::function, std::any, coroutines
    (void)heap.make<std::pair<int, std::shared_ptr<int>>>(); // std::shared_ptr|std::shared_ptr or std::weak_ptr
    (void)heap.make<std::unique_ptr<int>>();                 // std::default_delete|a std::unique_ptr with
    (void)heap.make<std::optional<std::string_view>>();      // std::basic_string_view|std::string_view, std::span
    (void)heap.make<std::error_code>();                      // std::error_code|std::error_code
    (void)heap.make<virtual_class>();                        // virtual_class|see what this class is made of
    (void)heap.make<std::mutex>();                           // std::mutex|locks, condition variables
    (void)heap.make<std::array<std::condition_variable, 2>>(); // std::condition_variable|locks, condition variables
    (void)heap.make<std::binary_semaphore>();                  // std::counting_semaphore|locks, condition variables
    (void)heap.make<std::thread>();                            // std::thread|threads
    (void)heap.make<std::future<int>>();                       // std::future|futures
    (void)heap.make<std::ofstream>();                          // std::basic_ofstream|streams
    (void)heap.make<hidden>();                                 // hidden|see what this class is made of
    (void)heap.make<pthread_mutex_t>();                        // pthread_mutex_t|locks, condition variables
    (void)heap.make<pthread_cond_t>();                         // pthread_cond_t|locks, condition variables
    (void)heap.make<sem_t>();                                  // sem_t|locks, condition variables
    (void)heap.make<with_lock>();                              // with_lock|locks, condition variables
    (void)heap.make<std::initializer_list<int>>();             // std::initializer_list|std::string_view, std::span
    (void)heap.make<std::type_index>(typeid(int));             // std::type_index|std::error_code, std::error_condition
    (void)heap.make<std::source_location>();                   // std::source_location|std::error_code
    (void)heap.make<std::coroutine_handle<>>();                // coroutine_handle|std::function, std::any
    (void)heap.make<with_reference_and_more>(1, x);            // with_reference_and_more|references
    (void)heap.make<based_on_view>();                          // based_on_view|std::string_view, std::span
    (void)heap.make<view_and_union>();                         // view_and_union|std::string_view, std::span
    (void)heap.make<callback_or_number>();                     // callback_or_number|pointers to functions
    (void)heap.make<over_32_members<std::string_view>>();      // over_32_members|std::string_view, std::span
    (void)heap.make<box<with_callback>>();                     // void|pointers to functions
    (void)heap.make<box<int, std::allocator<int>>>();          // box|a container that takes its memory from
}

// Counterparts that may be stored, though they cannot be taken apart, either.
static_assert(rem::persistable<based_on_number> && rem::persistable<box<with_number>>);
static_assert(rem::persistable<array_and_union>);
static_assert(rem::persistable<over_32_members<int>>);

} // namespace refused
