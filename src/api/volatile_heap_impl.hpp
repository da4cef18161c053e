// What lies behind a volatile_heap: blocks that may have red zones, and what the heap has for a file.
#pragma once

#include "alloc/red_zones.hpp"
#include "base/units.hpp"
#include "os/anonymous_memory.hpp"
#include "os/backtrace.hpp"
#include "os/memory_marks.hpp"
#include "volatile/heap.hpp"

#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/volatile_heap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>

namespace remanence::detail {

/// A root of a volatile heap: an address, and the type that a file will record. If the root comes from a file, `type`
/// has the encoded schema in place of a function that writes it.
struct volatile_root {
    type_fingerprint type;
    void* object;
};

/// What a volatile heap has for a file: its roots, and how the file is made. Guarded by the mutex in volatile_roots.cpp.
struct volatile_file_side {
    std::map<std::string, volatile_root, std::less<>> roots{};
    std::uint64_t chunk_bytes = 256 * KiB;
    std::string application{};
    unsigned mode = 0666;
    bool aligned_blocks = true;
    bool has_base_of_file = false; // the heap was loaded
};

/// Stored at the end of a block with a red zone. The calls that led to the allocation are stored behind it.
struct block_record {
    std::uint64_t asked; // bytes that the program asked for
    const std::type_info* type;
};

/// A heap whose blocks may have red zones. Behind the requested bytes such a block has a pattern, then a block_record
/// in its last words.
class volatile_heap_impl {
public:
    explicit volatile_heap_impl(const volatile_heap_options& chosen)
        : record_bytes_(sizeof(block_record) + chosen.leak_frames * sizeof(void*)),
          red_zone_bytes_(chosen.leak_frames == 0 ? chosen.red_zone_bytes
                                                  : std::max<std::size_t>(chosen.red_zone_bytes, 8)),
          options(chosen) {}
    /// Must be called once, before anything else. Opens the heap at `base`, or anywhere if that is null. Returns 0 or
    /// errno; EEXIST if something else lies there.
    [[nodiscard]] int open(std::byte* base) noexcept;

    [[nodiscard]] bool has_red_zone() const { return red_zone_bytes_ != 0; }
    /// Returns the size to request for a block with a red zone. If the sum overflows, returns a size too large to
    /// exist.
    [[nodiscard]] std::size_t with_red_zone(std::size_t bytes) const {
        const std::size_t more = has_red_zone() ? red_zone_bytes_ + record_bytes_ : 0;
        return bytes > std::numeric_limits<std::size_t>::max() - more ? bytes : bytes + more;
    }
    void put_red_zone(void* start, std::size_t asked, const std::type_info* type) const {
        const alloc::block of = block_at(start);
        alloc::put_red_zone(start, of.bytes, record_bytes_, asked);
        const block_record record{asked, type};
        std::memcpy(record_of(of), &record, sizeof record);
        if (options.leak_frames != 0)
            os::note_calls(calls_of(of), options.leak_frames);
        close_red_zone(of, record);
    }
    /// Makes the red zone inaccessible. open_red_zone() makes it accessible again.
    static void close_red_zone(const alloc::block& of, const block_record& record) {
        os::forbid_memory(static_cast<std::byte*>(of.start) + record.asked, of.bytes - record.asked);
    }
    /// Makes the red zone accessible and checks it. Returns nothing if it was overwritten.
    [[nodiscard]] std::optional<block_record> open_red_zone(const alloc::block& of) const {
        os::allow_memory(of.start, of.bytes);
        if (!alloc::red_zoned_bytes(of.start, of.bytes, record_bytes_))
            return {};
        block_record record;
        std::memcpy(&record, record_of(of), sizeof record);
        return record;
    }
    /// Checks the red zone, and makes it inaccessible again. Returns nothing if it was overwritten.
    [[nodiscard]] std::optional<block_record> record_at(const alloc::block& of) const {
        const auto record = open_red_zone(of);
        if (record)
            close_red_zone(of, *record);
        return record;
    }
    /// Ends the process if the red zone was overwritten.
    block_record open_red_zone_or_end(const void* address) const {
        const auto record = open_red_zone(block_at(address));
        if (!record)
            os::abort_with("the bytes behind this block were overwritten", address);
        return *record;
    }
    [[nodiscard]] std::size_t checked_size(const void* address) const {
        const block_record record = open_red_zone_or_end(address);
        close_red_zone(block_at(address), record);
        return record.asked;
    }
    [[nodiscard]] alloc::block block_at(const void* address) const {
        return {const_cast<void*>(address), blocks.usable_bytes(address)};
    }
    /// Returns an array of options.leak_frames calls.
    [[nodiscard]] void** calls_of(const alloc::block& of) const {
        return reinterpret_cast<void**>(record_of(of) + sizeof(block_record));
    }

    // Inline, so that functions of volatile_heap call what notes their callers, and do not jump to it (REM_ALLOCATES).
    [[nodiscard, gnu::always_inline]] void* allocate(std::size_t bytes, std::size_t alignment,
                                                     const std::type_info* type) {
        if (!has_red_zone()) [[likely]]
            return blocks.allocate(bytes, alignment);
        void* const got = blocks.allocate(with_red_zone(bytes), alignment);
        if (got != nullptr)
            put_red_zone(got, bytes, type);
        return got;
    }
    void free(void* address) {
        if (has_red_zone())
            (void)open_red_zone_or_end(address);
        blocks.free(address);
    }
    [[nodiscard, gnu::always_inline]] void* reallocate(void* address, std::size_t bytes) {
        if (!has_red_zone())
            return blocks.reallocate(address, bytes);
        const block_record before = open_red_zone_or_end(address);
        void* const got = blocks.reallocate(address, with_red_zone(bytes));
        if (got != nullptr)
            put_red_zone(got, bytes, before.type);
        else
            close_red_zone(block_at(address), before);
        return got;
    }

    /// Returns the block around an address, without its red zone; nothing if there is none, or the red zone was
    /// overwritten.
    [[nodiscard]] std::optional<alloc::block> block_around(const void* address) const {
        auto found = blocks.block_of(address);
        if (!found || !has_red_zone())
            return found;
        const auto record = record_at(*found);
        return record ? std::optional(alloc::block{found->start, record->asked}) : std::nullopt;
    }

private:
    [[nodiscard]] std::byte* record_of(const alloc::block& of) const {
        return static_cast<std::byte*>(of.start) + of.bytes - record_bytes_;
    }

    std::size_t record_bytes_;
    std::size_t red_zone_bytes_;

public:
    const volatile_heap_options options;
    transient::heap blocks;
    std::unique_ptr<volatile_file_side> of_file; // null for a heap that was not loaded and has had no root
};

/// Returns the heap's implementation.
[[nodiscard]] volatile_heap_impl& impl_of(const volatile_heap& of) noexcept;
/// Throws the error for what open() returned.
[[noreturn]] void raise_open_failure(int code, const volatile_heap_options& options);
/// Throws errc::invalid_argument for options out of range.
void check_options(const volatile_heap_options& options);

} // namespace remanence::detail
