// Reports uncommitted changes when they are dropped.
#pragma once

#include "api/heap_origin.hpp"
#include "txn/engine.hpp"

#include <remanence/heap.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace remanence::detail {

/// Must be called with the write lock held, unless a function says otherwise. All arguments of the constructor must
/// outlive this object.
class loss_teller {
public:
    loss_teller(const heap_origin& origin, const heap_options& options, txn::engine& engine)
        : origin_(origin), options_(options), engine_(engine) {}

    /// Reports changes that are about to be dropped with the heap.
    void tell(discarded_changes::by whom) noexcept;
    /// Does the same for a heap whose memory must not be read. Needs no lock.
    void tell_of_end_in_section() noexcept;
    /// Counts and reports the changes that unlock() is about to drop; passed to engine::rollback().
    void tell_of_unlock(txn::heap_memory& all, const change::change_set& lost, const alloc::block_allocator& blocks);

    /// Returns how many bytes unlock() has dropped so far. The caller holds the read lock or the write lock.
    [[nodiscard]] std::uint64_t discarded_bytes() const noexcept { return discarded_bytes_; }

private:
    /// `bytes`: the number of changed bytes; nothing if they could not be counted.
    void report(discarded_changes::by whom, std::optional<std::uint64_t> bytes,
                const std::function<std::string()>& where) noexcept;

    const heap_origin& origin_;
    const heap_options& options_;
    txn::engine& engine_;
    std::uint64_t discarded_bytes_ = 0;
    bool has_told_ = false; // whether the single message on standard error was written
};

} // namespace remanence::detail
