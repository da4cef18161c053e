// Two copies of one heap, each written to by a program of its own: their logs are never taken for each other's, wherever in
// its session or its recovery the one whose file it is died.
#include "store/heap_creation.hpp"
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::txn::copies {
namespace {

constexpr const char* k_heap = "dir/heap";
const std::string k_log = store::log_path(k_heap);

std::vector<std::byte> bytes_of(os::file_system& files, const std::string& path) {
    auto file = std::move(*files.open(path, os::access::read_only));
    std::vector<std::byte> bytes(static_cast<std::size_t>(*file->size()));
    EXPECT_TRUE(file->read(0, bytes));
    return bytes;
}

void put(os::file_system& files, const std::string& path, const std::vector<std::byte>& bytes) {
    auto file = std::move(*files.open_or_create(path, 0600));
    ASSERT_TRUE(file->resize("test", 0));
    ASSERT_TRUE(file->write("test", 0, bytes));
}

result<std::unique_ptr<engine>> open(os::file_system& files) {
    engine_options options;
    options.reserve_bytes = 64 * MiB;
    options.chunk_bytes = 64 * KiB;
    return engine::open(files, k_heap, open_mode::open_or_create, options, "abi");
}

/// A session of a program, as far as it comes: chunks that are new, and changes of old ones, with a checkpoint between.
result<void> work(os::file_system& files, unsigned char value, bool closes) {
    auto opened = open(files);
    if (!opened)
        return opened.error();
    engine& heap = **opened;
    for (int i = 0; i < 3; ++i) {
        std::optional<unexpected> why;
        auto* const block = static_cast<std::byte*>(heap.memory().allocate(100 * KiB, 16, why));
        if (block == nullptr)
            return std::move(*why);
        std::fill_n(block, 100 * KiB, std::byte{value});
        REM_TRY(heap.commit());
        if (i == 0)
            REM_TRY(heap.checkpoint());
    }
    return closes ? heap.close() : result<void>();
}

/// The heap that both are copies of.
std::vector<std::byte> original() {
    simulation::simulated_disk disk;
    EXPECT_TRUE(work(disk, 1, true));
    return bytes_of(disk, k_heap);
}

std::vector<std::byte> log_of_other_copy(const std::vector<std::byte>& heap) {
    simulation::simulated_disk disk;
    put(disk, k_heap, heap);
    EXPECT_TRUE(work(disk, 2, false));
    return bytes_of(disk, k_log);
}

TEST(copies_of_a_heap, never_take_each_others_logs_wherever_they_died) {
    const auto heap = original();
    const auto foreign = log_of_other_copy(heap);
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE(n);
        simulation::simulated_disk disk;
        put(disk, k_heap, heap);
        disk.die_at(n);
        bool died = !work(disk, 3, false);
        if (!died)
            died = !work(disk, 4, true); // recovers first
        EXPECT_EQ(died, !disk.failure_is_ahead());
        disk.work_again();
        const auto own = bytes_of(disk, k_heap);
        put(disk, k_log, foreign);
        for (int attempt = 0; attempt < 2; ++attempt) {
            auto opened = open(disk);
            ASSERT_FALSE(opened);
            EXPECT_TRUE(is_damage(opened.why().code)) << opened.why().message;
            EXPECT_EQ(opened.why().path, k_log);
            EXPECT_NE(opened.why().message.find("copy"), std::string::npos) << opened.why().message;
        }
        EXPECT_TRUE(bytes_of(disk, k_heap) == own);
        EXPECT_TRUE(bytes_of(disk, k_log) == foreign);
        if (!died)
            break;
    }
}

// A copy of a heap and of its log is a heap like any other, and from its next session on a copy of its own.
TEST(copies_of_a_heap, with_their_logs_open_and_go_their_own_ways) {
    simulation::simulated_disk one;
    ASSERT_TRUE(work(one, 1, false));
    simulation::simulated_disk other;
    put(other, k_heap, bytes_of(one, k_heap));
    put(other, k_log, bytes_of(one, k_log));
    ASSERT_TRUE(work(one, 2, false));
    ASSERT_TRUE(work(other, 3, false));
    const auto log = bytes_of(one, k_log);
    put(one, k_log, bytes_of(other, k_log));
    put(other, k_log, log);
    EXPECT_EQ(open(one).why().code, errc::log_foreign);
    EXPECT_EQ(open(other).why().code, errc::log_foreign);
}

} // namespace
} // namespace remanence::txn::copies
