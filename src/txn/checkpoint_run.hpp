// A checkpoint that commits go on beside: begun by one of them, carried out from elsewhere, adopted by a later one.
#pragma once

#include "base/result.hpp"
#include "store/publication.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace remanence::txn {

class checkpoint_run {
public:
    /// `log_begin`: of the log, as the superblock will say.
    checkpoint_run(std::unique_ptr<store::publication> what, std::uint64_t log_begin)
        : what_(std::move(what)), log_begin_(log_begin) {}

    // From any thread.

    /// Carries out about `bytes_max` of what is left, or a sync; nothing when it is done. A failure is final, and heard by
    /// everybody who asks for another step (I5).
    result<void> step(std::uint64_t bytes_max);
    [[nodiscard]] bool is_done() const { return what_->is_done(); }
    [[nodiscard]] std::uint64_t done_bytes() const { return what_->written_bytes(); }
    [[nodiscard]] std::uint64_t total_bytes() const { return what_->page_bytes(); }

    /// What is done.
    [[nodiscard]] const store::publication& what() const { return *what_; }
    [[nodiscard]] std::uint64_t log_begin() const { return log_begin_; }

private:
    const std::unique_ptr<store::publication> what_;
    const std::uint64_t log_begin_;
    std::mutex mutex_;              // of who is at the next step
    std::optional<failure> failed_; // guarded by mutex_
};

} // namespace remanence::txn
