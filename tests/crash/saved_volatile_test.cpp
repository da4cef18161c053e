// A volatile heap becomes a file, and the power fails: the medium is left with no heap of that name or with the whole
// one, and what else was left is no obstacle to the next attempt.
#include "api/heap_impl.hpp"
#include "api/save_volatile.hpp"
#include "power_losses.hpp"

#include <remanence/volatile_files.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <new>
#include <string>

namespace remanence::crash {

struct saved_item {
    saved_item* next;
    std::uint64_t value;
};

namespace {

constexpr const char* k_saved_path = "/disk/saved.rem";
constexpr std::uint64_t k_saved_items = 30;

void save_items(simulation::simulated_disk& disk) {
    volatile_heap from({.reserve_bytes = GiB});
    saved_item* first = nullptr;
    for (std::uint64_t i = 0; i != k_saved_items; ++i)
        first = new (from.allocate(sizeof(saved_item) + i * 500)) saved_item{first, i};
    set_root(from, "first", first);
    detail::save_as(disk, from, k_saved_path, detail::k_abi);
}

void expect_items(simulation::simulated_disk& disk) {
    heap opened = detail::open(disk, k_saved_path, {}, detail::opening::open_existing);
    std::uint64_t left = k_saved_items;
    for (const saved_item* each = opened.find_root<saved_item>("first"); each != nullptr; each = each->next)
        ASSERT_EQ(each->value, --left);
    EXPECT_EQ(left, 0U);
    EXPECT_TRUE(opened.verify().clean());
    opened.close();
}

TEST(saved_volatile_heap, is_absent_or_whole_after_a_power_loss) {
    simulation::simulated_disk disk;
    const auto start = disk.now();
    save_items(disk);
    std::uint64_t absent = 0;
    std::uint64_t whole = 0;
    for_each_power_loss(disk, start, [&](bool is_done) {
        auto is_there = disk.exists(k_saved_path);
        ASSERT_TRUE(is_there);
        ++(*is_there ? whole : absent);
        EXPECT_TRUE(!is_done || *is_there) << "it was durable";
        if (!*is_there) {
            save_items(disk);
        }
        ASSERT_NO_FATAL_FAILURE(expect_items(disk));
    });
    std::cout << absent << " absent, " << whole << " whole\n";
    EXPECT_GT(absent, 0U);
}

TEST(saved_volatile_heap, is_absent_or_whole_after_a_failing_operation) {
    for (const errc code : {errc::io, errc::no_space}) {
        for (std::uint64_t n = 0;; ++n) {
            SCOPED_TRACE(n);
            simulation::simulated_disk disk;
            disk.fail_at(n, code);
            bool is_saved = true;
            try {
                save_items(disk);
            } catch (const error& e) {
                is_saved = false;
                // a device that is full where it had granted the space has failed
                EXPECT_TRUE(e.reason() == code || e.reason() == errc::io) << e.what();
            }
            const bool failed = !disk.failure_is_ahead();
            disk.work_again();
            const auto is_there = disk.exists(k_saved_path);
            ASSERT_TRUE(is_there);
            EXPECT_EQ(*is_there, is_saved);
            if (!is_saved)
                save_items(disk);
            ASSERT_NO_FATAL_FAILURE(expect_items(disk));
            if (!failed)
                break;
        }
    }
}

} // namespace
} // namespace remanence::crash
