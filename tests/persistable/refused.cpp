// What must not compile: each line stores something, and ends with the beginning of the sentence that the compiler is to
// say of it, behind the part that is to blame.
#include <remanence/remanence.hpp>

#include <condition_variable>
#include <fstream>
#include <future>
#include <memory_resource>
#include <mutex>
#include <semaphore>
#include <thread>

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

struct with_text {
    int number;
    std::string text;
};
struct with_reference {
    int& number;
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

void store(rem::heap& heap, int& x);
void store(rem::heap& heap, int& x) {
    heap.root<with_text>("root");                            // basic_string<char|a container that takes its memory from
    heap.root<rem::map<int, with_text>>("root");             // basic_string<char|a container that takes its memory from
    heap.root<rem::vector<std::vector<int>>>("root");        // std::vector|a container that takes its memory from
    heap.root<std::pmr::vector<int>>("root");                // std::vector|std::pmr containers
    heap.root<absl::lts::flat_hash_map<int, int>>("root");   // flat_hash_map|this container: an empty one points
    (void)heap.make<std::tuple<int, int&>>(1, x);            // int|references
    (void)heap.make<with_reference>(x);                      // with_reference|see what this class is made of
    heap.root<std::reference_wrapper<int>>("root", x);       // std::reference_wrapper|references
    heap.root<with_callback>("root");                        // void|pointers to functions
    heap.root<with_function>("root");                        // std::function|std::function, std::any
    heap.root<std::any>("root");                             // std::any|std::function, std::any
    (void)heap.make<std::pair<int, std::shared_ptr<int>>>(); // std::shared_ptr|std::shared_ptr or std::weak_ptr
    (void)heap.make<std::unique_ptr<int>>();                 // std::default_delete|a std::unique_ptr with
    (void)heap.make<std::optional<std::string_view>>();      // std::basic_string_view|std::string_view or std::span
    (void)heap.make<std::error_code>();                      // std::error_code|std::error_code
    (void)heap.make<virtual_class>();                        // virtual_class|objects with virtual functions
    (void)heap.make<std::mutex>();                           // std::mutex|locks, condition variables
    (void)heap.make<std::array<std::condition_variable, 2>>(); // std::condition_variable|locks, condition variables
    (void)heap.make<std::binary_semaphore>();                  // std::counting_semaphore|locks, condition variables
    (void)heap.make<std::thread>();                            // std::thread|threads
    (void)heap.make<std::future<int>>();                       // std::future|futures
    (void)heap.make<std::ofstream>();                          // std::basic_ofstream|streams
    (void)heap.make<hidden>();                                 // hidden|see what this class is made of
}

} // namespace refused
