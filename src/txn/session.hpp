// The session of an open heap: its last commit and, from the first commit on, its redo log. May use: base, os, format,
// store, log.
//
// Rules kept here:
//  R2  Every session has its own log, epoch and random number, all durable before its first record.
//  R5  Log order is lock order: the one thread that commits calls append(); any thread calls await().
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

/// Callers hold the engine's at_store lock, except for functions marked for any thread.
class session {
public:
    /// All must outlive this object.
    session(os::file_system& files, store::heap_file& store, heap_names& names, health& state)
        : files_(files),
          store_(store),
          names_(names),
          health_(state),
          version_(store.super().checkpoint_version),
          chain_(store.super().chain),
          promised_(version_) {}

    /// True if there is a log. From any thread.
    [[nodiscard]] bool has_begun() const { return shared_log_ != nullptr; }
    /// Draws the session's random number, unless it is drawn already. Writes nothing. Precondition: !has_begun().
    result<void> prepare();
    /// Creates the log, and writes a superblock that names the session. Both are durable once this returns. A failure
    /// before the superblock is written changes nothing; any other failure poisons. Precondition: prepare() succeeded.
    result<void> begin(log::log_lock whose = log::log_lock::with_children);
    /// Precondition: has_begun().
    [[nodiscard]] log::redo_log& log() { return *log_; }
    [[nodiscard]] const log::redo_log& log() const { return *log_; }

    /// Joins the session of a shared heap, which another process has begun: opens its log. Precondition:
    /// !has_begun().
    result<void> join(os::access how);
    /// Lets other processes open the log, which was begun with log_lock::alone.
    result<void> share() { return log_->share(); }
    /// Makes another process's commit the last one, after which this process appends. Precondition: has_begun().
    result<void> follow(std::uint64_t log_begin, const log::log_tail& tail, std::uint64_t chain);

    /// Returns the heap's path.
    [[nodiscard]] const std::string& path() const { return store_.path(); }
    /// Returns the version of the last commit, durable or not.
    [[nodiscard]] std::uint64_t version() const { return version_; }
    [[nodiscard]] std::uint64_t chain() const { return chain_; }
    /// Assigns the next version to a commit whose record is made later. The records must be appended in the order of
    /// the promises, before those of other commits.
    void promise() { ++promised_; }
    /// Returns the version of the last commit, whether its record is in the log or only promised. From any thread.
    [[nodiscard]] std::uint64_t promised() const { return promised_; }
    /// Returns the state to be written to a superblock that covers all commits.
    [[nodiscard]] store::published_state state(bool is_clean, std::uint64_t log_begin) const {
        return {version_, chain_, store_.session(), is_clean, log_begin};
    }
    /// Finishes the record and passes it to the log, which makes it the last commit. Returns the record's size. For
    /// `image_bytes` see record_builder::finish(), for `first` redo_log::append(). Precondition: has_begun(), and the
    /// log has room for the record.
    std::uint64_t append(log::record_builder& record, std::uint64_t image_bytes, log::redo_log::prerequisite first);

    // For any thread.

    /// Waits until the commit and all before it are as durable as asked for (I2). A failure poisons.
    result<void> await(std::uint64_t version, log::durability how);
    /// These return the last version that was appended to the log, and the last durable one; 0 before the first.
    [[nodiscard]] std::uint64_t appended_through() const;
    [[nodiscard]] std::uint64_t durable_through() const;

private:
    os::file_system& files_;
    store::heap_file& store_;
    heap_names& names_;
    health& health_;
    std::optional<store::session_identity> identity_;
    std::unique_ptr<log::redo_log> log_;
    std::atomic<log::redo_log*> shared_log_ = nullptr; // log_.get(), for any thread
    std::uint64_t version_;
    std::uint64_t chain_;                 // checksum of the last record
    std::atomic<std::uint64_t> promised_; // equals version_, or is more
};

} // namespace remanence::txn
