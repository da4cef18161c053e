// The heaps behind rem_heap* handles. A handle is a number, which combines the index of a slot and a count of handles
// made. It is never dereferenced, so a wrong value does no harm. Once its heap is closed, a handle never becomes valid
// again.
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
#include <string_view>
#include <utility>
#include <vector>

namespace remanence {
class volatile_heap;
}

namespace remanence::capi {

struct open_heap {
    open_heap(heap&& opened, rem_kind of_kind) : of(std::move(opened)), kind(of_kind) {}

    heap of;
    const rem_kind kind;
    std::atomic<std::uint64_t> last_point = 0; // the highest version of an asynchronous commit that a caller got

    /// Returns the heap's object. Throws errc::closed in a forked child.
    [[nodiscard]] detail::heap_impl& impl() const { return detail::impl_of(of); }
    /// Does the same, but throws errc::read_only if the heap may not be changed.
    [[nodiscard]] detail::heap_impl& writable() const {
        detail::heap_impl& found = impl();
        (void)detail::writable_header_of(&found);
        return found;
    }
    [[nodiscard]] bool is_transactional() const { return kind == REM_TRANSACTIONAL; }
};

/// A heap without a file. The class is abstract, so that a program that opens no such heap does not link its code.
class volatile_face {
public:
    volatile_face() = default;
    volatile_face(const volatile_face&) = delete;
    volatile_face& operator=(const volatile_face&) = delete;
    virtual ~volatile_face() = default;

    /// Returns null if memory is lacking.
    [[nodiscard]] virtual void* allocate(std::size_t alignment, std::size_t size) = 0;
    [[nodiscard]] virtual void* allocate_zeros(std::size_t size) = 0;
    [[nodiscard]] virtual bool begins_block(const void* address) const = 0;
    [[nodiscard]] virtual void* allocate_dynamic(std::size_t size, std::size_t room) = 0;
    // Precondition: a block begins at the address.
    [[nodiscard]] virtual void* reallocate(void* block, std::size_t size) = 0;
    [[nodiscard]] virtual std::size_t usable_size(const void* block) const = 0;
    virtual void free_block(void* block) = 0;

    // Roots (capi/roots.cpp). `type` begins with the prefix of C types.
    struct shown_root {
        std::string name;
        std::string type;
        void* object;
        std::size_t bytes;
    };
    /// Without a size, the object extends to the end of its block. `described` is null if the type is not described.
    virtual void set_root(std::string_view name, const void* object, const std::string& type,
                          std::optional<std::size_t> size, const detail::type_fingerprint* described) = 0;
    /// Returns null if there is no such root. Without a type, the root may be of any type of a C program.
    [[nodiscard]] virtual void* get_root(std::string_view name, const std::string* type, std::size_t size,
                                         const detail::type_fingerprint* described) const = 0;
    /// Returns false if there is no such root.
    [[nodiscard]] virtual bool remove_root(std::string_view name) = 0;
    [[nodiscard]] virtual std::vector<shown_root> roots() const = 0;

    virtual void show(rem_stats& stats) const = 0;
    [[nodiscard]] virtual verify_report verify() const = 0;
    [[nodiscard]] virtual rem_heap* handle() const = 0;
    [[nodiscard]] virtual volatile_heap& memory() = 0;
};
/// Finds the volatile heap that contains an address; null if none does. The pointer is null until a C program opens the
/// first volatile heap.
using volatile_finder = volatile_face* (*)(const void* address) noexcept;
extern std::atomic<volatile_finder> find_volatile_around; // NOLINT: process-wide

/// The options of an opening that rem_options does not contain.
struct opening_details {
    history_options history = no_history;
    procedure_set procedures{};
    decltype(heap_options::version) version{};           // if set, the heap is read-only
    decltype(heap_options::kept_version) kept_version{}; // if set, the heap is read-only
};
/// Opens a heap with a file for a caller in C.
[[nodiscard]] rem_status open_by(detail::opening mode, sharing access, const char* path, const rem_options* options,
                                 rem_heap** into, const opening_details& details = {});
/// Converts history options. Throws errc::invalid_argument.
[[nodiscard]] history_options history_of(const rem_history_options* given);

/// Moves a heap into the table, where it stays at one address. Any thread may call it.
[[nodiscard]] rem_heap* add_handle(heap&& opened, rem_kind kind);
[[nodiscard]] rem_heap* add_handle(std::unique_ptr<volatile_face> opened);
/// Returns an open heap. Throws errc::closed. For null, throws errc::invalid_argument; for a volatile heap,
/// errc::not_supported. O(1).
[[nodiscard]] open_heap& opened(const rem_heap* handle);
/// Both return null if the heap is closed, of the other kind, or the handle was never valid. O(1).
[[nodiscard]] open_heap* find_opened(const rem_heap* handle) noexcept;
[[nodiscard]] volatile_face* find_volatile(const rem_heap* handle) noexcept;
/// Returns the handle of a heap in the table; null if a C++ program opened the heap.
[[nodiscard]] rem_heap* handle_of(const heap* opened) noexcept;
/// Ends the handle, and destroys its heap. No other thread may be in a call with this handle.
void remove_handle(rem_heap* handle);

} // namespace remanence::capi
