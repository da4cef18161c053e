// The heap as the allocator sees it: pages with descriptors and bitmaps, made accessible on demand. These lie in
// metadata planes, one at the beginning of each section of the heap (sections.hpp). Every access goes through this
// class, so that wrong bytes in the file cannot cause accesses outside the heap (I7). Depends on base and format.
//
//  A1  The contents of the heap never yield an address outside of [base, base + accessible): is_data_page() checks a
//      page index before its descriptor or bits are used. The metadata plane of a section lies before the section's
//      data pages, so it is accessible when these are.
//  A2  After damage was found, no link is followed, and no operation changes anything.
//  A3  Everything read is const. changing() is the only way to write, and calls the listener first. So the listener is
//      called for each change.
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

/// Makes at least [0, end) of the heap readable and writable, and zero where it was never written. Returns the end of
/// the accessible range. If that is less than `end`, there is no memory. (src/volatile cannot return an error instead,
/// since an error object needs memory.)
using extend_callback = std::function<result<std::uint64_t>(std::uint64_t end)>;

/// Called before [offset, offset + bytes) is written by the allocator, or by the program that gets a block from it.
using write_listener = std::function<void(std::uint64_t offset, std::uint64_t bytes)>;

/// A place in the heap whose bytes the allocator cannot have written.
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

    /// True if `page` is an accessible data page, so that it has a descriptor and bitmaps. False for all pages after
    /// damage was found (A2).
    [[nodiscard]] bool is_data_page(std::uint64_t page) const {
        const auto index = static_cast<std::uint32_t>(page);
        return page < trusted_pages_ && index >= section_of(index).first_data_page;
    }
    /// True if the `count` pages from `page`, a page of section `of`, on are accessible data pages. The last of them
    /// may lie in other sections.
    [[nodiscard]] bool are_data_pages(const section& of, std::uint32_t page, std::uint32_t count) const {
        return page + std::uint64_t{count} <= trusted_pages_ && page >= of.first_data_page;
    }
    // A1: only for data pages. Code that uses several pages of a section computes the section once.
    [[nodiscard]] const format::page_descriptor& descriptor(const section& of, std::uint32_t page) const {
        return *reinterpret_cast<const format::page_descriptor*>(base_ + of.descriptor_offset(page));
    }
    /// Returns one bit per granule: set if it belongs to a block.
    [[nodiscard]] const std::uint64_t* used_bits(const section& of, std::uint32_t page) const {
        return reinterpret_cast<const std::uint64_t*>(base_ + of.used_bits_offset(page));
    }
    /// Returns one bit per granule: set if a block begins there.
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

    /// True if all bytes of an accessible page are zero.
    [[nodiscard]] bool is_zero(std::uint64_t offset) const;

    /// Returns the same place for writing (A3): `count` objects from there on.
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
    /// Declares a newly allocated block: the program will write to it.
    void declare(std::uint64_t offset, std::uint64_t bytes) const {
        if (listener_) [[unlikely]]
            listener_(offset, bytes);
    }
    [[nodiscard]] bool has_listener() const { return listener_ != nullptr; }
    /// An empty function removes the listener.
    void set_listener(write_listener listener) { listener_ = std::move(listener); }

    /// Returns the page index where the wilderness of a section begins (the pages at its end that are unused); never
    /// beyond the accessible memory.
    [[nodiscard]] std::uint64_t used_end(const section& of) const;
    /// Returns the data page's descriptor if it lies before the wilderness, else null.
    [[nodiscard]] const format::page_descriptor* used_descriptor(std::uint32_t page) const;

    /// Makes the pages before `end_page` accessible. Returns false if that is not possible; failure() tells why.
    [[nodiscard]] bool reach(std::uint64_t end_page);
    /// Must be called when the owner itself has made more memory accessible, or when the range may grow further.
    void set_accessible(std::uint64_t bytes);

    [[gnu::cold]] void note_damage(std::uint64_t offset, const char* what);
    [[gnu::cold]] void note_damage_of_page(std::uint32_t page, const char* what);
    [[nodiscard]] const std::optional<damage>& found_damage() const { return damage_; }
    /// Must be called when the memory was restored. Then the damage found before is gone.
    void forget_damage();

    /// `what` must be a literal: an allocator that serves malloc() has no memory for a longer message.
    void note_failure(errc code, const char* what) {
        why_.reset();
        why_code_ = code;
        why_literal_ = what;
    }
    /// Returns why the last request failed.
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
    std::optional<unexpected> why_; // the error of the extend_callback
    errc why_code_ = errc::exhausted;
    const char* why_literal_ = k_used_up;
};

} // namespace remanence::alloc
