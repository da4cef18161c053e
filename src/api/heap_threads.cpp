#include "api/heap_threads.hpp"

#include "os/cancellation.hpp"

#include <cstdint>
#include <system_error>

namespace remanence::detail {

bool heap_threads::start_syncer(commit_progress& progress) {
    if (syncer_)
        return true;
    try {
        syncer_ = std::make_unique<background_sync>(engine_, progress, lazy_interval_);
    } catch (const std::system_error&) {
        return false;
    }
    return true;
}

bool heap_threads::carry_out_checkpoint() {
    try {
        if (!checkpointer_)
            checkpointer_ = std::make_unique<background_checkpoint>(engine_);
    } catch (const std::system_error&) {
        return false;
    }
    checkpointer_->carry_out();
    return true;
}

// Without this thread, memory is spilled only when the program allocates, frees or declares.
void heap_threads::watch_memory() {
    const os::no_cancellation whole; // containers allocate in places where cancellation must not end the thread
    const std::scoped_lock alone(watching_);
    if (spiller_)
        return;
    try {
        if (const std::uint64_t budget = engine_.budget_to_watch(); budget != 0)
            spiller_ = std::make_unique<background_spill>(engine_, budget);
    } catch (const std::system_error&) { // NOLINT(bugprone-empty-catch): the heap works without this thread
    }
}

void heap_threads::watch_checkpoints() {
    try {
        way_giver_ = std::make_unique<background_way>(engine_);
    } catch (const std::system_error&) { // NOLINT(bugprone-empty-catch): the heap works without this thread
    }
}

void heap_threads::end() {
    news_.reset();
    way_giver_.reset();
    spiller_.reset();
    checkpointer_.reset();
    syncer_.reset();
}

void heap_threads::abandon() noexcept {
    (void)checkpointer_.release(); // NOLINT(bugprone-unused-return-value)
    (void)syncer_.release();       // NOLINT(bugprone-unused-return-value)
    (void)spiller_.release();      // NOLINT(bugprone-unused-return-value)
    (void)way_giver_.release();    // NOLINT(bugprone-unused-return-value)
    (void)news_.release();         // NOLINT(bugprone-unused-return-value)
}

} // namespace remanence::detail
