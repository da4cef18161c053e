// What a rem_heap* stands for. A handle is a number, of a place in a table and of how many there were before: it is not
// dereferenced, so it may be anything, and once its heap is closed it is never valid again.
#pragma once

#include "api/heap_impl.hpp"
#include "api/raise.hpp"

#include <remanence/heap.hpp>
#include <remanence/remanence.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace remanence {
class volatile_heap;
}

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

/// A heap without a file. Abstract, so that a program which opens none does not take its code.
class volatile_face {
public:
    volatile_face() = default;
    volatile_face(const volatile_face&) = delete;
    volatile_face& operator=(const volatile_face&) = delete;
    virtual ~volatile_face() = default;

    /// Null when there is no memory.
    [[nodiscard]] virtual void* allocate(std::size_t alignment, std::size_t size) = 0;
    [[nodiscard]] virtual void* allocate_zeros(std::size_t size) = 0;
    [[nodiscard]] virtual bool begins_block(const void* address) const = 0;
    [[nodiscard]] virtual void* allocate_dynamic(std::size_t size, std::size_t room) = 0;
    // Of what begins a block.
    [[nodiscard]] virtual void* reallocate(void* block, std::size_t size) = 0;
    [[nodiscard]] virtual std::size_t usable_size(const void* block) const = 0;
    virtual void free_block(void* block) = 0;

    virtual void show(rem_stats& stats) const = 0;
    [[nodiscard]] virtual verify_report verify() const = 0;
    [[nodiscard]] virtual rem_heap* handle() const = 0;
    [[nodiscard]] virtual volatile_heap& memory() = 0;
};
/// The one that an address lies in; null: none that a C program opened. Set with the first that is opened; null until then.
using volatile_finder = volatile_face* (*)(const void* address) noexcept;
extern std::atomic<volatile_finder> find_volatile_around; // NOLINT: process-wide

/// What the caller does not say in rem_options.
struct opening_details {
    history_options history = no_history;
    procedure_set procedures{};
    decltype(heap_options::version) version{};           // read-only then
    decltype(heap_options::kept_version) kept_version{}; // likewise
};
/// Opens a file's heap for a caller in C.
[[nodiscard]] rem_status open_by(detail::opening mode, sharing access, const char* path, const rem_options* options,
                                 rem_heap** into, const opening_details& details = {});
/// Throws errc::invalid_argument.
[[nodiscard]] history_options history_of(const rem_history_options* given);

/// Any thread. The heap moves into the table and stays at its place.
[[nodiscard]] rem_heap* add_handle(heap&& opened, rem_kind kind);
[[nodiscard]] rem_heap* add_handle(std::unique_ptr<volatile_face> opened);
/// Throws errc::closed, of null errc::invalid_argument, of a volatile heap errc::not_supported. O(1).
[[nodiscard]] open_heap& opened(const rem_heap* handle);
/// Both null when it is closed, or was none. O(1).
[[nodiscard]] open_heap* find_opened(const rem_heap* handle) noexcept;
[[nodiscard]] volatile_face* find_volatile(const rem_heap* handle) noexcept;
/// Of a heap that lies in the table; null, when it is a C++ program's own.
[[nodiscard]] rem_heap* handle_of(const heap* opened) noexcept;
/// Ends the handle, and destroys what it stands for. Nobody may be in a call with it.
void remove_handle(rem_heap* handle);

} // namespace remanence::capi
