// Explicit checkpoints of a heap that two processes share.
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>

namespace remanence::txn {
namespace {

class shared_checkpoint : public testing::Test {
protected:
    static std::unique_ptr<engine> open(os::file_system& files) {
        engine_options options;
        options.reserve_bytes = 64 * MiB;
        options.chunk_bytes = 64 * KiB;
        options.is_shared = true;
        options.has.sharing = &k_sharing_part;
        options.when_taken = when_base_taken::elsewhere;
        auto opened = engine::open(files, "dir/heap", open_mode::open_or_create, options, "abi");
        EXPECT_TRUE(opened) << opened.why().message;
        return opened ? std::move(*opened) : nullptr;
    }
    static void take_writer_lock(engine& heap) {
        const auto has_writer_lock = heap.shared()->take_writer_lock({});
        ASSERT_TRUE(has_writer_lock && *has_writer_lock);
    }
    static void commit(engine& heap) {
        std::optional<unexpected> why;
        ASSERT_NE(heap.memory().allocate(8, 8, why), nullptr);
        ASSERT_TRUE(heap.commit());
    }
};

// Every other of 400 chunks: 200 runs in the chunk map, whose first place has room for 85. Only the process that moves them makes more.
class shared_map : public shared_checkpoint {
protected:
    static constexpr std::uint64_t k_chunk_bytes = 64 * KiB;
    static constexpr std::uint64_t k_chunks = 402;

    void SetUp() override {
        first_ = open(disk_);
        second_ = open(disk_);
        take_writer_lock(*first_);
        std::optional<unexpected> why;
        block_ = static_cast<std::byte*>(first_->memory().allocate(k_chunks * k_chunk_bytes, 8, why));
        ASSERT_NE(block_, nullptr);
        block_ += k_chunk_bytes - reinterpret_cast<std::uint64_t>(block_) % k_chunk_bytes;
        fill_chunks(1);
        ASSERT_TRUE(first_->commit());
        fill_chunks(2);
        ASSERT_TRUE(first_->commit());
        first_->shared()->release_writer_lock();
        take_writer_lock(*second_);
    }
    void fill_chunks(std::uint64_t step) {
        for (std::uint64_t chunk = 0; chunk < k_chunks - 2; chunk += step) {
            for (std::uint64_t at = 0; at != k_chunk_bytes; at += sizeof(std::uint64_t)) {
                const std::uint64_t word = random_();
                std::memcpy(block_ + chunk * k_chunk_bytes + at, &word, sizeof word);
            }
        }
    }

    simulation::simulated_disk disk_;
    std::unique_ptr<engine> first_;
    std::unique_ptr<engine> second_;
    std::byte* block_ = nullptr;
    std::mt19937_64 random_{1};
};

TEST_F(shared_map, that_another_process_made_longer_has_room_in_a_checkpoint) { EXPECT_TRUE(second_->checkpoint()); }

TEST_F(shared_map, that_another_process_made_longer_has_room_after_a_commit_of_pages) {
    commit(*second_);
    EXPECT_TRUE(second_->checkpoint());
}

TEST_F(shared_map, that_another_process_made_longer_has_room_when_the_last_one_closes) {
    second_->shared()->release_writer_lock();
    first_.reset(); // as by its death
    EXPECT_TRUE(second_->close());
    second_.reset();
    const auto again = open(disk_);
    ASSERT_NE(again, nullptr);
    const auto found = again->verify();
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->problems.empty());
}

// Of a sync that failed nobody knows what it has done, so the file's syncs fail from then on.
TEST_F(shared_checkpoint, that_failed_can_be_repeated_or_poisons) {
    bool has_poisoned = false;
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        simulation::simulated_disk disk;
        const auto first = open(disk);
        const auto second = open(disk);
        for (engine* const each : {second.get(), first.get()}) {
            take_writer_lock(*each);
            commit(*each);
            ASSERT_TRUE(each->checkpoint()); // of the first one: a superblock that the second one has not confirmed
            commit(*each);
            each->shared()->release_writer_lock();
        }
        take_writer_lock(*second);
        disk.fail_at(n, errc::io);
        const auto made = second->checkpoint();
        const bool was_last = disk.failure_is_ahead();
        disk.work_again();
        if (was_last) {
            EXPECT_TRUE(made);
            break;
        }
        has_poisoned = has_poisoned || second->is_poisoned();
        if (!made && !second->is_poisoned()) {
            const auto again = second->checkpoint();
            EXPECT_TRUE(again) << again.why().message;
        }
        if (HasFailure())
            return;
    }
    EXPECT_TRUE(has_poisoned);
}

} // namespace
} // namespace remanence::txn
