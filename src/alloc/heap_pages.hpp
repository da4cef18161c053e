// The heap as the allocator sees it: pages with descriptors and bitmaps, made accessible on demand. Every access goes
// through here, so this is where bytes of the file are kept from leading outside the heap (I7). Depends on base and
// format.
//
//  A1  No address outside [base, base + accessible) is ever formed from what the heap contains: a page index is checked
//      by is_data_page() before its descriptor or bits are used. The plane of a section lies before its data pages, so
//      it is accessible when they are.
//  A2  Once damage was found, no link is followed any more, and no later operation changes anything.
//  A3  What is read is const; changing() is the only way to write, and tells the listener of the place before. So nobody
//      who listens misses a change.
#pragma once

#include "alloc/sections.hpp"
#include "base/result.hpp"
#include "format/alloc_state.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace remanence::alloc {

/// Makes [0, end) of the heap, or more, readable and writable, zero where it was never written; returns where that
/// range ends now. Before `end`: there is no memory, and to say more would take some (src/volatile).
using extend_callback = std::function<result<std::uint64_t>(std::uint64_t end)>;

/// Told of [offset, offset + bytes) before it is written: by the allocator, or by whom it hands a block to.
using write_listener = std::function<void(std::uint64_t offset, std::uint64_t bytes)>;

/// A place in the heap whose bytes cannot be what the allocator wrote.
struct damage {
    std::uint64_t offset; // from the heap's base
    const char* what;
};

class heap_pages {
public:
    heap_pages(std::byte* base, const format::alloc_state& state, extend_callback extend, std::uint64_t limit_bytes,
               std::uint64_t accessible_bytes);

    [[nodiscard]] std::byte* base() const { return base_; }
    [[nodiscard]] const format::alloc_state& state() const { return *state_; }
    [[nodiscard]] std::uint64_t state_offset() const { return offset_of(state_); }
    [[nodiscard]] std::uint64_t limit_pages() const { return limit_pages_; }
    [[nodiscard]] std::uint64_t accessible_pages() const { return accessible_pages_; }

    /// True if `page` is an accessible data page, so that it has a descriptor and bitmaps; false for all once damage
    /// was found (A2).
    [[nodiscard]] bool is_data_page(std::uint64_t page) const {
        const auto index = static_cast<std::uint32_t>(page);
        return page < trusted_pages_ && index >= section_of(index).first_data_page;
    }
    /// True if `count` pages from one of this section on are, of whatever section the last is.
    [[nodiscard]] bool are_data_pages(const section& of, std::uint32_t page, std::uint32_t count) const {
        return page + std::uint64_t{count} <= trusted_pages_ && page >= of.first_data_page;
    }
    // A1: of data pages only. Where several of one section are used, it is worked out once.
    [[nodiscard]] const format::page_descriptor& descriptor(const section& of, std::uint32_t page) const {
        return *reinterpret_cast<const format::page_descriptor*>(base_ + of.descriptor_offset(page));
    }
    /// One bit per granule: it belongs to a block.
    [[nodiscard]] const std::uint64_t* used_bits(const section& of, std::uint32_t page) const {
        return reinterpret_cast<const std::uint64_t*>(base_ + of.used_bits_offset(page));
    }
    /// Likewise: a block begins here.
    [[nodiscard]] const std::uint64_t* start_bits(const section& of, std::uint32_t page) const {
        return reinterpret_cast<const std::uint64_t*>(base_ + of.start_bits_offset(page));
    }
    [[nodiscard]] const format::page_descriptor& descriptor(std::uint32_t page) const {
        return descriptor(section_of(page), page);
    }
    [[nodiscard]] std::byte* address(std::uint32_t page) const { return base_ + page * k_page_bytes; }
    [[nodiscard]] std::uint64_t offset_of(const void* address) const {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_);
    }

    /// True if all bytes of an accessible page are.
    [[nodiscard]] bool is_zero(std::uint64_t offset) const;

    /// The same place, to be written (A3). `count` objects from there on.
    template <class T>
    [[nodiscard]] T* changing(const T* where, std::uint64_t count = 1) const {
        const std::uint64_t offset = offset_of(where);
        declare(offset, count * sizeof(T));
        return reinterpret_cast<T*>(base_ + offset);
    }
    void set_descriptor(std::uint32_t page, const format::page_descriptor& becomes) const {
        *changing(&descriptor(page)) = becomes;
    }
    [[nodiscard]] format::alloc_state& changing_state() const { return *changing(state_); }
    /// A block is handed out: it will be written.
    void declare(std::uint64_t offset, std::uint64_t bytes) const {
        if (listener_) [[unlikely]]
            listener_(offset, bytes);
    }
    [[nodiscard]] bool has_listener() const { return listener_ != nullptr; }
    /// Empty: nobody listens.
    void set_listener(write_listener listener) { listener_ = std::move(listener); }

    /// Where the wilderness of a section begins: a page index, never beyond what is accessible.
    [[nodiscard]] std::uint64_t used_end(const section& of) const;
    /// The data page's descriptor if it lies before the wilderness, else null.
    [[nodiscard]] const format::page_descriptor* used_descriptor(std::uint32_t page) const;

    /// Makes the pages before `end_page` accessible. False when that is not possible, and failure() tells why.
    [[nodiscard]] bool reach(std::uint64_t end_page);
    /// The owner made more accessible (or the range may grow further) by itself.
    void set_accessible(std::uint64_t bytes);

    [[gnu::cold]] void note_damage(std::uint64_t offset, const char* what);
    [[gnu::cold]] void note_damage_of_page(std::uint32_t page, const char* what);
    [[nodiscard]] const std::optional<damage>& found_damage() const { return damage_; }
    /// The memory was restored: what was found does not hold any more.
    void forget_damage();

    /// `what` is a literal: an allocator that serves malloc() has no memory for more.
    void note_failure(errc code, const char* what) {
        why_.reset();
        why_code_ = code;
        why_literal_ = what;
    }
    /// Why the last request was not met.
    [[nodiscard]] unexpected failure() const;

    static constexpr const char* k_used_up = "its address range is used up";

private:
    std::byte* base_;
    const format::alloc_state* state_;
    std::uint64_t trusted_pages_; // accessible_pages_, or 0 once damage was found
    std::uint64_t accessible_pages_;
    std::uint64_t limit_pages_;
    extend_callback extend_;
    write_listener listener_;
    std::optional<damage> damage_;
    std::optional<unexpected> why_; // the extend_callback's own words
    errc why_code_ = errc::exhausted;
    const char* why_literal_ = k_used_up;
};

} // namespace remanence::alloc
