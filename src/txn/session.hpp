// What a heap commits between an open and the close after it: the last commit, and from the first one on the redo log. May
// use: base, os, format, store, log.
//
// Kept here:
//  R2  Every session has a log, an epoch and a random number of its own, all durable before its first record.
//  R5  Log order is lock order: append() is called by the one thread that commits, await() by any.
#pragma once

#include "base/result.hpp"
#include "log/record.hpp"
#include "log/redo_log.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"
#include "txn/health.hpp"
#include "txn/heap_names.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace remanence::txn {

/// Callers hold the engine's at_store lock, but for what is said to be for any thread.
class session {
public:
    /// All must outlive it.
    session(os::file_system& files, store::heap_file& store, heap_names& names, health& state)
        : files_(files),
          store_(store),
          names_(names),
          health_(state),
          version_(store.super().checkpoint_version),
          chain_(store.super().chain),
          promised_(version_) {}

    /// Whether there is a log. From any thread.
    [[nodiscard]] bool has_begun() const { return shared_log_ != nullptr; }
    /// Draws what tells this session from others, unless it has. Writes nothing. Precondition: !has_begun().
    result<void> prepare();
    /// Makes the log, and a superblock that says so; both are durable once this returns. A failure poisons, but for one
    /// before the superblock is written: then nothing has changed. Precondition: prepare() succeeded.
    result<void> begin(log::log_lock whose = log::log_lock::with_children);
    /// Precondition: has_begun().
    [[nodiscard]] log::redo_log& log() { return *log_; }
    [[nodiscard]] const log::redo_log& log() const { return *log_; }

    /// The session of a shared heap, which another process has begun: opens its log. Precondition: !has_begun().
    result<void> join(os::access how);
    /// Its log, begun with log_lock::alone, is not this process's alone any more.
    result<void> share() { return log_->share(); }
    /// Other processes have committed: this is the last commit now, and the log goes on from there. Precondition: has_begun().
    result<void> follow(std::uint64_t log_begin, const log::log_tail& tail, std::uint64_t chain);

    /// Of the heap.
    [[nodiscard]] const std::string& path() const { return store_.path(); }
    /// Of the last commit, durable or not.
    [[nodiscard]] std::uint64_t version() const { return version_; }
    [[nodiscard]] std::uint64_t chain() const { return chain_; }
    /// The next record's version is given away before the record is made: once this was called, append() has to come before
    /// another promise().
    void promise() { promised_ = version_ + 1; }
    /// Of the last commit, with its record in the log or promised. From any thread.
    [[nodiscard]] std::uint64_t promised() const { return promised_; }
    /// What a superblock is to say that covers all commits.
    [[nodiscard]] store::published_state state(bool is_clean, std::uint64_t log_begin) const {
        return {version_, chain_, store_.session(), is_clean, log_begin};
    }
    /// Seals the record and hands it to the log: it is the last commit now. Returns its size. `image_bytes`, `first`: as for
    /// record_builder::finish() and redo_log::append(). Precondition: has_begun(), and the log has room for it.
    std::uint64_t append(log::record_builder& record, std::uint64_t image_bytes, log::redo_log::prerequisite first);

    // From any thread.

    /// Returns when the commit is as durable as asked for, with all before it (I2). A failure poisons.
    result<void> await(std::uint64_t version, log::durability how);
    /// Of the last commit that the log was given, and of the last durable one; 0 before the first.
    [[nodiscard]] std::uint64_t appended_through() const;
    [[nodiscard]] std::uint64_t durable_through() const;

private:
    os::file_system& files_;
    store::heap_file& store_;
    heap_names& names_;
    health& health_;
    std::optional<store::session_identity> identity_;
    std::unique_ptr<log::redo_log> log_;
    std::atomic<log::redo_log*> shared_log_ = nullptr; // the same, for any thread
    std::uint64_t version_;
    std::uint64_t chain_;                 // checksum of the last record
    std::atomic<std::uint64_t> promised_; // version_, or the next
};

} // namespace remanence::txn
