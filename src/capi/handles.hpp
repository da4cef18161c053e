// What a rem_heap* stands for. A handle is a number, of a place in a table and of how many there were before: it is not
// dereferenced, so it may be anything, and once its heap is closed it is never valid again.
#pragma once

#include "api/heap_impl.hpp"
#include "api/raise.hpp"

#include <remanence/heap.hpp>
#include <remanence/remanence.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace remanence::capi {

struct open_heap {
    open_heap(heap&& opened, rem_kind of_kind) : of(std::move(opened)), kind(of_kind) {}

    heap of;
    const rem_kind kind;
    std::atomic<std::uint64_t> last_point = 0; // the greatest that a caller was given

    /// Throws errc::closed in a forked child.
    [[nodiscard]] detail::heap_impl& impl() const { return detail::impl_of(of); }
    /// The same, of a heap that may be changed: throws errc::read_only.
    [[nodiscard]] detail::heap_impl& writable() const {
        detail::heap_impl& found = impl();
        (void)detail::writable_header_of(&found);
        return found;
    }
    [[nodiscard]] bool is_transactional() const { return kind == REM_TRANSACTIONAL; }
};

/// Any thread. The heap moves into the table and stays at its place.
[[nodiscard]] rem_heap* add_handle(heap&& opened, rem_kind kind);
/// Throws errc::closed, of null errc::invalid_argument. O(1).
[[nodiscard]] open_heap& opened(const rem_heap* handle);
/// Null when it is closed, or was none. O(1).
[[nodiscard]] open_heap* find_opened(const rem_heap* handle) noexcept;
/// Of a heap that lies in the table; null, when it is a C++ program's own.
[[nodiscard]] rem_heap* handle_of(const heap* opened) noexcept;
/// Ends the handle, and destroys what it stands for. Nobody may be in a call with it.
void remove_handle(rem_heap* handle);

} // namespace remanence::capi
