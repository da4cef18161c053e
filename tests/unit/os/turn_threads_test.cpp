#include "os/turn.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace remanence::os {
namespace {

TEST(turn_threads, no_wake_up_is_lost) {
    constexpr std::uint32_t k_rounds = 20'000;
    turn ping;
    turn pong;
    const auto wait_for = [](turn& of, std::uint32_t number) {
        while (of.now() != number)
            of.wait(number - 1);
    };
    std::jthread other([&] {
        for (std::uint32_t i = 1; i <= k_rounds; ++i) {
            wait_for(ping, i);
            pong.pass();
            pong.wake_one();
        }
    });
    for (std::uint32_t i = 1; i <= k_rounds; ++i) {
        ping.pass();
        ping.wake_all();
        wait_for(pong, i);
    }
    EXPECT_EQ(ping.now(), k_rounds);
}

TEST(turn_threads, a_wait_ends_at_its_deadline_or_at_once_if_the_number_has_changed) {
    turn number;
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
    while (std::chrono::steady_clock::now() < until)
        number.wait(0, until);                               // for ever, without the deadline
    number.wait(0, std::chrono::steady_clock::time_point()); // in the past
    number.pass();
    number.wait(0);
    EXPECT_EQ(number.now(), 1U);
}

} // namespace
} // namespace remanence::os
