// An explicit checkpoint of a heap that two processes share, with each of its operations failing in turn.
#include "testing/simulated_disk.hpp"
#include "txn/engine.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
    static void take_turn(engine& heap) {
        const auto has_turn = heap.shared()->take_turn({});
        ASSERT_TRUE(has_turn && *has_turn);
    }
    static void commit(engine& heap) {
        std::optional<unexpected> why;
        ASSERT_NE(heap.memory().allocate(8, 8, why), nullptr);
        ASSERT_TRUE(heap.commit());
    }
};

// Of a sync that failed nobody knows what it has done, so the file's syncs fail from then on.
TEST_F(shared_checkpoint, that_failed_can_be_repeated_or_poisons) {
    bool has_poisoned = false;
    for (std::uint64_t n = 0;; ++n) {
        SCOPED_TRACE("operation " + std::to_string(n));
        simulation::simulated_disk disk;
        const auto first = open(disk);
        const auto second = open(disk);
        for (engine* const each : {second.get(), first.get()}) {
            take_turn(*each);
            commit(*each);
            ASSERT_TRUE(each->checkpoint()); // of the first one: a superblock that the second one has not confirmed
            commit(*each);
            each->shared()->end_turn();
        }
        take_turn(*second);
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
