// A heap of an older format is upgraded, and the power fails: the medium is left with a heap of the older format or of this
// one, with all its commits, which can be upgraded and opened.
//
// A run: 515 heaps of the older format and 11 upgraded ones after power losses, all whole.
#include "api/heap_impl.hpp"
#include "api/registry.hpp"
#include "compat/golden.hpp"
#include "power_losses.hpp"
#include "recover/upgrade.hpp"
#include "support/sample_heap.hpp"
#include "types/root_directory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>

namespace remanence::crash {
namespace {

void put(simulation::simulated_disk& disk, const std::string& path, const std::string& golden) {
    const auto bytes =
        compat::read_compressed((std::filesystem::path(GOLDEN_FILES) / "format-2" / (golden + ".gz")).string());
    auto file = std::move(*disk.open_or_create(path, 0600));
    ASSERT_TRUE(file->write("test", 0, bytes));
    ASSERT_TRUE(file->sync("test"));
    ASSERT_TRUE(disk.sync_directory("test", path));
}

struct upgrade_counts {
    std::uint64_t older = 0;
    std::uint64_t upgraded = 0;
};

/// The heap is one of the two formats, and holds what the program put there.
void expect_whole(simulation::simulated_disk& disk, upgrade_counts& count) {
    const auto upgraded = recover::upgrade(disk, sample::k_path, {});
    ASSERT_TRUE(upgraded) << upgraded.why().message;
    ++(upgraded->changed ? count.older : count.upgraded);
    heap opened = detail::open(disk, sample::k_path, {}, detail::opening::open_existing);
    const auto different = sample::difference(opened);
    EXPECT_FALSE(different) << *different;
    const auto report = opened.verify();
    EXPECT_TRUE(report.clean()) << report.problems.front().what;
    opened.write([&] { opened.root<sample::numbers>("numbers").push_back(1); });
    opened.close();
}

class upgrade_cut_short : public testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
        const std::string golden = GetParam();
        ASSERT_NO_FATAL_FAILURE(put(disk_, sample::k_path, golden + ".rem"));
        if (golden == "unapplied") {
            ASSERT_NO_FATAL_FAILURE(put(disk_, sample::k_log_path, golden + ".rem-log"));
        }
        (void)disk_.take_trace();
    }
    simulation::simulated_disk disk_;
};

TEST_P(upgrade_cut_short, by_a_power_loss_leaves_a_whole_heap_of_one_format) {
    const auto start = disk_.now();
    ASSERT_TRUE(recover::upgrade(disk_, sample::k_path, {}));
    upgrade_counts count;
    for_each_power_loss(disk_, start, [&](bool is_done) {
        const std::uint64_t older = count.older;
        ASSERT_NO_FATAL_FAILURE(expect_whole(disk_, count));
        EXPECT_TRUE(!is_done || count.older == older) << "it was durable";
    });
    std::cout << count.older << " heaps of the older format, " << count.upgraded << " upgraded ones\n";
    EXPECT_GT(count.older, 0U);
    EXPECT_GT(count.upgraded, 0U);
}

TEST_P(upgrade_cut_short, by_the_death_of_the_process_leaves_a_whole_heap_of_one_format) {
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE(n);
        const auto start = disk_.now();
        disk_.die_at(n);
        const auto done = recover::upgrade(disk_, sample::k_path, {});
        const bool died = !disk_.failure_is_ahead();
        disk_.work_again();
        EXPECT_EQ(static_cast<bool>(done), !died);
        upgrade_counts count;
        ASSERT_NO_FATAL_FAILURE(expect_whole(disk_, count));
        disk_.rewind(start);
        if (!died)
            break;
    }
}

TEST_P(upgrade_cut_short, by_a_failing_operation_leaves_a_whole_heap_of_one_format) {
    for (const errc code : {errc::io, errc::no_space}) {
        for (std::uint64_t n = 0;; ++n) {
            SCOPED_TRACE(n);
            const auto start = disk_.now();
            disk_.fail_at(n, code);
            const auto done = recover::upgrade(disk_, sample::k_path, {});
            const bool failed = !disk_.failure_is_ahead();
            disk_.work_again();
            EXPECT_EQ(static_cast<bool>(done), !failed);
            upgrade_counts count;
            ASSERT_NO_FATAL_FAILURE(expect_whole(disk_, count));
            disk_.rewind(start);
            if (!failed)
                break;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(of, upgrade_cut_short, testing::Values("closed", "unapplied"),
                         [](const auto& instance) { return std::string(instance.param); });

// A root with a fingerprint of an earlier build is used: the commit that renews the fingerprint is on the medium with it, or not at all.

constexpr const char* k_renewed_path = "/disk/renewed.rem";
using serials = vector<std::uint64_t>;

heap_options of_little_memory() {
    heap_options how;
    how.memory.reserve_bytes = 64 * MiB;
    how.memory.chunk_bytes = 64 * KiB;
    return how;
}

/// What builds recorded before names of members were.
detail::type_fingerprint serials_by_algorithm_1() {
    detail::type_fingerprint made = detail::fingerprint_of<serials>();
    made.algorithm = 1;
    made.hash = made.hash_1;
    made.description.clear();
    return made;
}

std::uint32_t algorithm_of_root(const heap& opened) {
    std::uint32_t found = 0;
    detail::heap_impl* const impl = detail::registry::find(opened.base());
    EXPECT_TRUE(types::root_directory(impl->memory()).for_each([&](const types::root_view& root) {
        found = root.fingerprint_algorithm;
    }));
    return found;
}

class renewal_cut_short : public testing::Test {
protected:
    void SetUp() override {
        heap made = detail::open(disk_, k_renewed_path, of_little_memory(), detail::opening::create);
        detail::heap_impl* const impl = detail::registry::find(made.base());
        static const detail::type_fingerprint older = serials_by_algorithm_1(); // the heap notes its address
        made.write([&] { detail::add_root(impl, "serials", older, made.make<serials>(), {}, false); });
        made.close();
        (void)disk_.take_trace();
    }
    /// Once the commit is in, the heap has the new fingerprint, else the old one, with which the root is found, too.
    void expect_both_or_neither() {
        heap opened = detail::open(disk_, k_renewed_path, of_little_memory(), detail::opening::open_existing);
        const std::uint32_t algorithm = algorithm_of_root(opened);
        auto* const found = opened.find_root<serials>("serials");
        ASSERT_NE(found, nullptr);
        EXPECT_EQ(algorithm, found->empty() ? 1U : 2U);
        ++(found->empty() ? older_ : renewed_);
        opened.write([&] { found->push_back(2); });
        EXPECT_EQ(algorithm_of_root(opened), 2U);
        const auto report = opened.verify();
        EXPECT_TRUE(report.clean()) << report.problems.front().what;
        opened.close();
    }
    simulation::simulated_disk disk_;
    std::uint64_t older_ = 0;
    std::uint64_t renewed_ = 0;
};

TEST_F(renewal_cut_short, by_a_power_loss_leaves_the_old_fingerprint_or_the_commit_that_renewed_it) {
    const auto start = disk_.now();
    {
        heap opened = detail::open(disk_, k_renewed_path, of_little_memory(), detail::opening::open_existing);
        auto& numbers = opened.root<serials>("serials");
        opened.write([&] { numbers.push_back(1); });
        opened.close();
    }
    for_each_power_loss(disk_, start, [&](bool) { ASSERT_NO_FATAL_FAILURE(expect_both_or_neither()); });
    std::cout << older_ << " heaps with the old fingerprint, " << renewed_ << " with the new one\n";
    EXPECT_GT(older_, 0U);
    EXPECT_GT(renewed_, 0U);
}

} // namespace
} // namespace remanence::crash
