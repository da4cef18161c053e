// How much memory an open heap may use before it spills, settles pages or makes a checkpoint.
#pragma once

#include "base/units.hpp"
#include "os/file.hpp"
#include "store/chunk_copies.hpp"
#include "txn/engine_options.hpp"
#include "view/memory_view.hpp"

#include <cstdint>
#include <optional>

namespace remanence::txn {

/// Callers hold the engine's at_store lock.
class memory_budget {
public:
    /// All must outlive this object.
    memory_budget(os::file_system& files, const store::chunk_copies& copies, view::memory_view& view,
                  const engine_options& options)
        : files_(files), copies_(copies), view_(view), options_(options) {}

    /// Returns the memory that the process may use. The first call reads several files, so call it only when needed.
    [[nodiscard]] std::uint64_t memory_limit() const;
    /// Returns how many bytes may be written and neither committed nor spilled.
    [[nodiscard]] std::uint64_t dirty_limit_bytes() const;
    /// Returns the log length at which a checkpoint is due: the number of bytes that the checkpoint would write, within
    /// bounds, unless the options set another.
    [[nodiscard]] std::uint64_t log_limit_bytes() const;
    /// Returns the bytes of before-images at which a checkpoint is due.
    [[nodiscard]] std::uint64_t before_image_limit_bytes() const;
    /// Returns the bytes of retired copies at which a checkpoint is due.
    [[nodiscard]] std::uint64_t retired_limit_bytes() const;
    /// Returns how many bytes of pages a commit may copy to make its record later.
    [[nodiscard]] std::uint64_t copies_limit_bytes() const;
    /// Returns how many bytes the copies of several commits may have together, if they have more than a few MiB: at most
    /// twice the heap's size, since more of them would only show that commits are made faster than their records.
    [[nodiscard]] std::uint64_t all_copies_limit_bytes() const;
    /// True if the limit of retired copies is less than its maximum, for lack of memory.
    [[nodiscard]] bool is_memory_short() const;
    [[nodiscard]] bool holds_too_many_unsettled() const;
    [[nodiscard]] bool holds_too_many_unmapped() const;
    /// Returns dirty_limit_bytes(), or 0 if the heap is too small ever to have so many dirty bytes.
    [[nodiscard]] std::uint64_t limit_to_watch() const;

private:
    os::file_system& files_;
    const store::chunk_copies& copies_;
    view::memory_view& view_;
    const engine_options& options_;
    mutable std::optional<std::uint64_t> memory_limit_; // set by the first memory_limit()
};

} // namespace remanence::txn
