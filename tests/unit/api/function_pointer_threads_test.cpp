// Threads that make and call function pointers while the tables of known functions grow.
#include "fixture.hpp"

#include <remanence/function_pointer.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

namespace function_pointer_threads_test {

template <std::size_t N>
std::size_t plus(std::size_t n) {
    return n + N;
}

} // namespace function_pointer_threads_test

namespace remanence::test {

namespace {

constexpr std::size_t k_functions = 300;

using sum = function_pointer<std::size_t(std::size_t)>;

template <std::size_t... N>
constexpr std::array<std::size_t (*)(std::size_t), sizeof...(N)> functions(std::index_sequence<N...> /*all*/) {
    return {function_pointer_threads_test::plus<N>...};
}

} // namespace

TEST(function_pointer_threads, make_and_call_the_same_functions) {
    constexpr auto all = functions(std::make_index_sequence<k_functions>());
    std::atomic<std::size_t> wrong = 0;
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t != 4; ++t) {
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i != 3 * k_functions; ++i) {
                const std::size_t n = (i * (2 * t + 1) + t) % k_functions; // each thread in another order
                const sum one = all[n];
                if (one(i) != i + n || one != all[n] || one == all[(n + 1) % k_functions])
                    ++wrong;
            }
        });
    }
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(wrong, 0U);
}

} // namespace remanence::test
