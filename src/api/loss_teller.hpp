// Changes that nobody committed, when they are dropped: who hears of them, and what is said.
#pragma once

#include "api/heap_origin.hpp"
#include "txn/engine.hpp"

#include <remanence/heap.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace remanence::detail {

/// With the write lock held, but for what is said otherwise. All arguments of the constructor must outlive it.
class loss_teller {
public:
    loss_teller(const heap_origin& origin, const heap_options& options, txn::engine& engine)
        : origin_(origin), options_(options), engine_(engine) {}

    /// Tells whoever wants to hear it of changes that are about to be dropped with the heap.
    void tell(discarded_changes::by whom) noexcept;
    /// The same, of a heap that nobody may look at. Without a lock.
    void tell_of_end_in_section() noexcept;
    /// Counts changes that unlock() is about to drop, and tells of them: for engine::rollback().
    void tell_of_unlock(txn::heap_memory& all, const change::change_set& lost, const alloc::block_allocator& blocks);

    /// What unlock() has dropped so far. With the read lock held, or the write lock.
    [[nodiscard]] std::uint64_t discarded_bytes() const noexcept { return discarded_bytes_; }

private:
    /// `bytes` of these changes, if anybody could count them; else there are none.
    void report(discarded_changes::by whom, std::optional<std::uint64_t> bytes,
                const std::function<std::string()>& where) noexcept;

    const heap_origin& origin_;
    const heap_options& options_;
    txn::engine& engine_;
    std::uint64_t discarded_bytes_ = 0;
    bool has_told_ = false; // on standard error, once
};

} // namespace remanence::detail
