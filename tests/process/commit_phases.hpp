// What a process that imports into a heap is doing, on a page it shares with the process that will kill it.
#pragma once

#include "observed_files.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace remanence::test {

enum class phase : std::uint32_t {
    opening, ///< a heap that needs no recovery, or checking what is in it
    recovery,
    working,   ///< the program changes objects, or tells of a commit
    computing, ///< in a commit, between operations: what has changed? and what goes into the record?
    reserving, ///< space
    log_setup, ///< a new log, and the superblock of its epoch
    fresh_write,
    fresh_sync,
    record,   ///< written and made durable
    applying, ///< pages, checksums, chunk map
    checkpoint_sync,
    superblock, ///< of a checkpoint
    closing,
};
inline constexpr std::array<std::string_view, 13> k_phase_names = {
    "opening",     "recovery",   "working", "computing", "reserving space", "setting up the log",
    "fresh write", "fresh sync", "record",  "applying",  "checkpoint sync", "superblock",
    "closing"};

struct progress_page {
    std::atomic<phase> now{phase::opening};
    std::atomic<phase> beside{phase::working}; ///< of a checkpoint that the heap's thread carries out; working: none
    std::atomic<bool> importing{false};        ///< between the first and the last commit of this process
    /// Where the process waits to be killed: in this phase, once it has come to it so many times more. Negative: nowhere.
    std::atomic<phase> stops_in{phase::opening};
    std::atomic<int> stops_after{-1};
    std::atomic<bool> has_stopped{false};
};
static_assert(std::atomic<phase>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
              std::atomic<int>::is_always_lock_free);

/// Keeps a progress_page up to date, for the thread that makes it, and for the heap's own that carries out checkpoints.
class phase_recorder final : public operation_observer {
public:
    explicit phase_recorder(progress_page& page) : page_(page) {}

    /// From now on, outside of operations, the process is in this phase; in `computing`, operations have their own.
    void enter(phase p) noexcept {
        between_ = p;
        record_is_durable_ = false;
        come_to(page_.now, p);
    }
    void begins(os::call_site where) noexcept override {
        if (std::this_thread::get_id() != program_)
            come_to(page_.beside, phase_of_checkpoint(where));
        else if (between_ == phase::recovery)
            come_to(page_.now, phase::recovery);
        else if (between_ == phase::computing)
            come_to(page_.now, phase_of(where));
    }
    void ends(os::call_site where) noexcept override {
        if (std::this_thread::get_id() != program_) {
            page_.beside.store(phase::working);
            return;
        }
        if (where == std::string_view("log: record") || where == std::string_view("log: sync buffered records"))
            record_is_durable_ = true;
        come_to(page_.now, between_);
    }

private:
    void come_to(std::atomic<phase>& which, phase p) noexcept {
        which.store(p);
        if (page_.stops_in.load() != p || page_.stops_after.load() < 0 || page_.stops_after.fetch_sub(1) != 0)
            return;
        page_.has_stopped.store(true);
        for (;;)
            ::pause();
    }
    // A commit may find a log to be set up before its record, and a checkpoint due after it; both write superblocks.
    [[nodiscard]] phase phase_of(std::string_view where) const noexcept {
        if (where == "log: record" || where == "log: buffered records" || where == "log: sync buffered records")
            return phase::record;
        if (where == "store: fresh pages" || where == "store: extend")
            return phase::fresh_write;
        if (where == "store: sync fresh pages")
            return phase::fresh_sync;
        if (where == "log: reserve segments" || where.starts_with("store: reserve "))
            return phase::reserving;
        if (!record_is_durable_)
            return phase::log_setup;
        return phase_of_checkpoint(where);
    }
    [[nodiscard]] static phase phase_of_checkpoint(std::string_view where) noexcept {
        if (where == "store: sync image")
            return phase::checkpoint_sync;
        if (where == "store: superblock" || where == "store: sync superblock")
            return phase::superblock;
        return phase::applying;
    }
    progress_page& page_;
    const std::thread::id program_ = std::this_thread::get_id();
    phase between_ = phase::opening;
    bool record_is_durable_ = false;
};

} // namespace remanence::test
