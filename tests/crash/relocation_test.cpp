// A heap moves to other addresses, and the power fails: the medium is left with the heap as it was or with all of its
// pointers moved, and what else was left is no obstacle to the next attempt.
#include "api/heap_impl.hpp"
#include "api/relocation_part.hpp"
#include "power_losses.hpp"

#include <remanence/relocate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>

namespace remanence::crash {

struct moved_item {
    moved_item* next = nullptr;
    std::uint64_t value = 0;
    string name;
};
struct moved_items {
    moved_item* first = nullptr;
    map<string, moved_item*> by_name;
};

namespace {

constexpr const char* k_moved_path = "/disk/moved.rem";
constexpr std::uint64_t k_moved_items = 200;
constexpr std::uintptr_t k_moved_base = std::uintptr_t{0x2b00} << 32U;

std::string name_of(std::uint64_t value) { return "the item with the number " + std::to_string(value); }

heap_options in_small_room() { return {.memory = {.reserve_bytes = 64 * MiB}}; }

class moved_heap : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        {
            heap made = detail::open(disk_, k_moved_path, in_small_room(), detail::opening::create);
            old_base_ = made.base();
            for (std::uint64_t i = 0; i != k_moved_items; ++i) {
                made.write([&] {
                    auto& all = made.root<moved_items>("items");
                    all.first = made.make<moved_item>(all.first, i, string(name_of(i)));
                    all.by_name[string(name_of(i))] = all.first;
                });
            }
            if (GetParam() == std::string("closed"))
                made.close();
            else
                disk_.die_at(0); // the log stays
        }
        disk_.work_again();
        (void)disk_.take_trace();
    }
    void move() { detail::relocate(disk_, k_moved_path, k_moved_base, {}); }
    /// Returns whether the heap has moved.
    void expect_items(bool& has_moved) {
        heap opened = detail::open(disk_, k_moved_path, in_small_room(), detail::opening::open_existing);
        has_moved = opened.base() != old_base_;
        EXPECT_TRUE(!has_moved || opened.base() == reinterpret_cast<void*>(k_moved_base));
        const auto& all = *opened.find_root<moved_items>("items");
        std::uint64_t left = k_moved_items;
        for (const moved_item* each = all.first; each != nullptr; each = each->next) {
            ASSERT_EQ(each->value, --left);
            ASSERT_EQ(each->name, name_of(left).c_str());
            ASSERT_EQ(all.by_name.at(each->name), each);
        }
        EXPECT_EQ(left, 0U);
        EXPECT_TRUE(opened.verify().clean());
        EXPECT_TRUE(opened.leaks().clean());
        opened.close();
    }
    simulation::simulated_disk disk_;
    void* old_base_ = nullptr;
};

TEST_P(moved_heap, is_as_it_was_or_moved_after_a_power_loss) {
    const auto start = disk_.now();
    move();
    std::uint64_t old = 0;
    std::uint64_t moved = 0;
    for_each_power_loss(disk_, start, [&](bool is_done) {
        bool has_moved = false;
        ASSERT_NO_FATAL_FAILURE(expect_items(has_moved));
        ++(has_moved ? moved : old);
        EXPECT_TRUE(!is_done || has_moved) << "it was durable";
        if (!has_moved) {
            move();
            ASSERT_NO_FATAL_FAILURE(expect_items(has_moved));
            EXPECT_TRUE(has_moved);
        }
    });
    std::cout << old << " as they were, " << moved << " moved\n";
    EXPECT_GT(old, 0U);
    EXPECT_GT(moved, 0U);
}

TEST_P(moved_heap, is_as_it_was_or_moved_after_a_failing_operation) {
    for (const errc code : {errc::io, errc::no_space}) {
        for (std::uint64_t n = 0;; ++n) {
            SCOPED_TRACE(n);
            const auto start = disk_.now();
            disk_.fail_at(n, code);
            bool was_moved = true;
            try {
                move();
            } catch (const error& e) {
                was_moved = false;
                EXPECT_TRUE(e.reason() == code || e.reason() == errc::io || e.reason() == errc::poisoned) << e.what();
            }
            const bool failed = !disk_.failure_is_ahead();
            disk_.work_again();
            bool has_moved = false;
            ASSERT_NO_FATAL_FAILURE(expect_items(has_moved));
            EXPECT_TRUE(!was_moved || has_moved);
            disk_.rewind(start);
            if (!failed)
                break;
        }
    }
}

TEST_P(moved_heap, is_as_it_was_or_moved_after_its_process_died) {
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE(n);
        const auto start = disk_.now();
        disk_.die_at(n);
        try {
            move();
        } catch (const error&) { // NOLINT(bugprone-empty-catch): the process is dead
        }
        const bool died = !disk_.failure_is_ahead();
        disk_.work_again();
        bool has_moved = false;
        ASSERT_NO_FATAL_FAILURE(expect_items(has_moved));
        EXPECT_TRUE(died || has_moved);
        disk_.rewind(start);
        if (!died)
            break;
    }
}

INSTANTIATE_TEST_SUITE_P(of, moved_heap, testing::Values("closed", "unapplied"),
                         [](const auto& instance) { return std::string(instance.param); });

} // namespace
} // namespace remanence::crash
