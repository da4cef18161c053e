#include "alloc/block_allocator.hpp"

#include "alloc/checker.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace remanence::alloc {

using format::alloc_state;
using format::page_descriptor;
using format::page_kind;

namespace {

constexpr std::uint64_t k_word_full = ~std::uint64_t{0};

std::uint64_t bit_of(std::uint32_t slot) { return std::uint64_t{1} << (slot % 64); }

bool is_slab_of(const page_descriptor& page, std::uint32_t class_index) {
    return page.kind == page_kind::slab && page.size_class == class_index;
}

bool is_valid_alignment(std::size_t alignment) { return is_power_of_two(alignment) && alignment <= k_alignment_max; }

std::uint64_t pages_for(std::size_t bytes) { return bytes == 0 ? 1 : (bytes - 1) / k_page_bytes + 1; }

} // namespace

block_allocator::block_allocator(std::byte* base, alloc_state& state, extend_callback extend, std::uint64_t limit_bytes,
                                 std::uint64_t accessible_bytes)
    : pages_(base, state, std::move(extend), limit_bytes, accessible_bytes), runs_(pages_) {}

void block_allocator::format(alloc_state& state) {
    state = {};
    state.version = format::k_alloc_state_version;
    state.class_count = k_class_count;
}

// --- allocation
// ---------------------------------------------------------------------------------------------------------------

void* block_allocator::allocate(std::size_t bytes, std::size_t alignment) {
    if (bytes <= k_small_bytes_max && alignment <= k_slot_bytes) [[likely]]
        return allocate_small(size_class_of(bytes));
    return allocate_aligned(bytes, alignment);
}

void* block_allocator::allocate_aligned(std::size_t bytes, std::size_t alignment) {
    if (!is_valid_alignment(alignment)) {
        pages_.note_failure(
            fail(errc::invalid_argument, "allocate: the alignment is no power of two, or more than 2 MiB"));
        return nullptr;
    }
    return is_small(bytes, alignment) ? allocate_small(size_class_of(bytes, alignment))
                                      : allocate_large(bytes, alignment);
}

// A slab reached through a link, checked (B4); null and the damage noted when it is none.
[[gnu::always_inline]] inline page_descriptor* block_allocator::linked_slab(std::uint32_t page,
                                                                            std::uint32_t class_index) {
    const section& home = section_of(page);
    if (pages_.is_data_page(page)) [[likely]] {
        page_descriptor& d = pages_.descriptor(home, page);
        const std::uint64_t end = page + std::uint64_t{k_size_classes[class_index].page_count};
        if (is_slab_of(d, class_index) && end <= home.end_page() && end <= pages_.accessible_pages()) [[likely]]
            return &d;
    }
    pages_.note_damage_of_page(page, "a link in a class's list of slabs is wrong");
    return nullptr;
}

// The common case makes no calls: saving registers for them would cost as much as the rest.
inline void* block_allocator::allocate_small(std::uint32_t class_index) {
    const size_class& of = k_size_classes[class_index];
    const std::uint32_t slab = pages_.state().slab_head[class_index];
    if (!pages_.is_data_page(slab)) [[unlikely]]
        return allocate_without_current(class_index); // 0 is none
    const section& home = section_of(slab);
    const page_descriptor& d = pages_.descriptor(home, slab);
    const std::uint64_t* const words = pages_.bitmap(home, slab);
    std::uint32_t word = d.hint;
    for (;; ++word) {
        if (word >= of.word_count) [[unlikely]]
            return no_free_slot(slab);
        if (words[word] != k_word_full) [[likely]]
            break;
    }
    if (!is_slab_of(d, class_index)) [[unlikely]]
        return no_free_slot(slab);
    if (d.count <= 1) [[unlikely]]
        return allocate_last_slot(slab, word, class_index);
    return claim_slot(home, slab, word, of);
}

[[gnu::always_inline]] inline void* block_allocator::claim_slot(const section& home, std::uint32_t slab,
                                                                std::uint32_t word, const size_class& of) {
    page_descriptor& d = pages_.descriptor(home, slab);
    std::uint64_t& bits = pages_.bitmap(home, slab)[word];
    const std::uint32_t slot = word * 64 + static_cast<std::uint32_t>(std::countr_zero(~bits));
    if (slot >= of.slot_count) [[unlikely]]
        return no_free_slot(slab);
    bits |= bits + 1; // the lowest clear bit
    d.hint = static_cast<std::uint8_t>(word);
    --d.count;
    pages_.state().allocated_bytes += of.bytes;
    return pages_.address(slab) + std::uint64_t{slot} * of.bytes;
}

// B1: the current slab becomes full and leaves the list.
void* block_allocator::allocate_last_slot(std::uint32_t slab, std::uint32_t word, std::uint32_t class_index) {
    const section& home = section_of(slab);
    page_descriptor& d = pages_.descriptor(home, slab);
    if (d.count == 0 || d.before != 0)
        return no_free_slot(slab);
    if (d.after != 0) {
        page_descriptor* const next = linked_slab(d.after, class_index);
        if (next == nullptr || next->before != slab)
            return no_free_slot(slab);
        next->before = 0;
    }
    pages_.state().slab_head[class_index] = std::exchange(d.after, 0U);
    return claim_slot(home, slab, word, k_size_classes[class_index]);
}

void* block_allocator::no_free_slot(std::uint32_t slab) {
    pages_.note_damage_of_page(slab, "the current slab of a class is no slab with a free slot");
    return nullptr;
}

void* block_allocator::allocate_without_current(std::uint32_t class_index) {
    const std::uint32_t head = pages_.state().slab_head[class_index];
    if (damaged())
        return nullptr;
    if (head != 0) {
        pages_.note_damage(pages_.state_offset() + offsetof(alloc_state, slab_head) + 4 * class_index,
                           "a class's list leads outside the heap");
        return nullptr;
    }
    return make_slab(class_index) ? allocate_small(class_index) : nullptr;
}

bool block_allocator::make_slab(std::uint32_t class_index) {
    const size_class& of = k_size_classes[class_index];
    const std::uint32_t slab = runs_.allocate(of.page_count, 1);
    if (slab == 0)
        return false;
    page_descriptor d{};
    d.kind = page_kind::slab_part;
    d.size_class = static_cast<std::uint8_t>(class_index);
    for (d.back = 1; d.back < of.page_count; ++d.back)
        pages_.descriptor(slab + d.back) = d;
    d.kind = page_kind::slab;
    d.back = 0;
    d.count = of.slot_count;
    pages_.descriptor(slab) = d; // its bitmap is zero (B2)
    pages_.state().slab_head[class_index] = slab;
    return true;
}

void* block_allocator::allocate_large(std::size_t bytes, std::size_t alignment) {
    if (damaged())
        return nullptr;
    const std::uint64_t page_count = pages_for(bytes);
    const std::uint32_t page = runs_.allocate(page_count, std::max<std::uint64_t>(alignment / k_page_bytes, 1));
    if (page == 0)
        return nullptr;
    mark_large(page, static_cast<std::uint32_t>(page_count));
    pages_.state().allocated_bytes += page_count * k_page_bytes;
    return pages_.address(page);
}

std::size_t block_allocator::block_bytes(std::size_t bytes, std::size_t alignment) {
    if (is_small(bytes, alignment))
        return k_size_classes[size_class_of(bytes, std::max<std::size_t>(alignment, 1))].bytes;
    return pages_for(bytes) * k_page_bytes;
}

// --- deallocation
// -------------------------------------------------------------------------------------------------------------

void block_allocator::deallocate(void* address, std::size_t bytes, std::size_t alignment) {
    if (bytes <= k_small_bytes_max && alignment <= k_slot_bytes) [[likely]]
        return deallocate_small(address, size_class_of(bytes));
    if (!is_valid_alignment(alignment))
        return refuse(address, bytes);
    if (is_small(bytes, alignment))
        return deallocate_small(address, size_class_of(bytes, alignment));
    deallocate_large(address, bytes);
}

inline void block_allocator::deallocate_small(void* address, std::uint32_t class_index) {
    const size_class& of = k_size_classes[class_index];
    const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(address) - pages_.base());
    if (!pages_.is_data_page(offset / k_page_bytes)) [[unlikely]]
        return refuse(address, of.bytes);
    const auto page = static_cast<std::uint32_t>(offset / k_page_bytes);
    const section& home = section_of(page);
    const std::uint32_t slab = page - pages_.descriptor(home, page).back;
    if (slab < home.first_data_page || slab > page) [[unlikely]]
        return refuse(address, of.bytes);
    page_descriptor& d = pages_.descriptor(home, slab);
    const std::uint64_t byte = offset - slab * k_page_bytes;
    const std::uint32_t slot = of.slot_at(byte);
    if (!is_slab_of(d, class_index) || slot >= of.slot_count || std::uint64_t{slot} * of.bytes != byte) [[unlikely]]
        return refuse(address, of.bytes);
    if ((pages_.bitmap(home, slab)[slot / 64] & bit_of(slot)) == 0) [[unlikely]]
        return refuse(address, of.bytes);
    const bool is_at_an_edge = d.count - 1 >= of.slot_count - 2U; // it is full (0 wraps), or about to be empty
    if (is_at_an_edge) [[unlikely]]
        return free_at_an_edge(slab, slot, class_index);
    free_slot(home, slab, slot, of);
}

[[gnu::always_inline]] inline void block_allocator::free_slot(const section& home, std::uint32_t slab,
                                                              std::uint32_t slot, const size_class& of) {
    page_descriptor& d = pages_.descriptor(home, slab);
    const std::uint32_t word = slot / 64;
    pages_.bitmap(home, slab)[word] &= ~bit_of(slot);
    if (word < d.hint)
        d.hint = static_cast<std::uint8_t>(word);
    ++d.count;
    pages_.state().allocated_bytes -= of.bytes;
}

// B1: the slab gets its first free slot.
inline bool block_allocator::link_slab(std::uint32_t slab, std::uint32_t class_index) {
    std::uint32_t& head = pages_.state().slab_head[class_index];
    if (head != 0) {
        page_descriptor* const next = linked_slab(head, class_index);
        if (next == nullptr)
            return false;
        next->before = slab;
    }
    pages_.descriptor(slab).after = head;
    head = slab;
    return true;
}

void block_allocator::free_at_an_edge(std::uint32_t slab, std::uint32_t slot, std::uint32_t class_index) {
    const section& home = section_of(slab);
    const size_class& of = k_size_classes[class_index];
    const page_descriptor& d = pages_.descriptor(home, slab);
    if (d.count == 0 && !link_slab(slab, class_index))
        return; // B1
    free_slot(home, slab, slot, of);
    if (d.count == of.slot_count)
        keep_or_release_slab(slab, class_index);
}

// B1: the slab has just become empty. Keeping one spares a program that goes to and fro over the edge of a slab from
// making it each time.
void block_allocator::keep_or_release_slab(std::uint32_t slab, std::uint32_t class_index) {
    std::uint32_t& kept = pages_.state().slab_kept[class_index];
    if (kept == slab)
        return;
    const page_descriptor* const d = kept == 0 ? nullptr : linked_slab(kept, class_index);
    if (damaged())
        return;
    if (d != nullptr && d->count == k_size_classes[class_index].slot_count)
        return release_slab(slab, class_index);
    kept = slab;
}

// The slab is empty.
void block_allocator::release_slab(std::uint32_t slab, std::uint32_t class_index) {
    const std::uint32_t page_count = k_size_classes[class_index].page_count;
    if (slab + std::uint64_t{page_count} > pages_.used_end(section_of(slab))) {
        pages_.note_damage_of_page(slab, "a slab is longer than its section");
        return;
    }
    if (!unlink_slab(slab, class_index))
        return;
    for (std::uint32_t i = 0; i < page_count; ++i)
        pages_.descriptor(slab + i) = {};
    runs_.release(slab, page_count);
}

void block_allocator::release_empty_slabs() {
    for (std::uint32_t i = 0; i < k_class_count && !damaged(); ++i) {
        const std::uint32_t slab = std::exchange(pages_.state().slab_kept[i], 0U);
        const page_descriptor* const d = slab == 0 ? nullptr : linked_slab(slab, i);
        if (d != nullptr && d->count == k_size_classes[i].slot_count)
            release_slab(slab, i);
    }
}

void block_allocator::deallocate_large(void* address, std::size_t bytes) {
    const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(address) - pages_.base());
    const std::uint64_t index = offset / k_page_bytes;
    if (!is_aligned(offset, k_page_bytes) || !pages_.is_data_page(index))
        return refuse(address, bytes);
    const auto page = static_cast<std::uint32_t>(index);
    const page_descriptor& d = pages_.descriptor(page);
    if (d.kind != page_kind::large || d.count != pages_for(bytes))
        return refuse(address, bytes);
    const std::uint32_t page_count = d.count;
    if (index + page_count > pages_.used_end(section_of(page))) {
        pages_.note_damage_of_page(page, "a large block is longer than its section");
        return;
    }
    unmark_large(page, page_count);
    pages_.state().allocated_bytes -= page_count * k_page_bytes;
    runs_.release(page, page_count);
}

// Not the heap's fault and not ours: the program frees what it does not have. Going on would hand out memory twice.
void block_allocator::refuse(const void* address, std::size_t bytes) const {
    if (damaged())
        return; // B4
    std::fprintf(stderr,
                 "remanence: deallocate(%p, %zu bytes): not an allocated block of this size in this heap (freed twice, "
                 "with another size, "
                 "or from elsewhere). The heap file is as of its last commit.\n",
                 address, bytes);
    std::abort();
}

// --- lists of slabs
// -----------------------------------------------------------------------------------------------------------

bool block_allocator::unlink_slab(std::uint32_t slab, std::uint32_t class_index) {
    page_descriptor& d = pages_.descriptor(slab);
    std::uint32_t* link = &pages_.state().slab_head[class_index];
    if (d.before != 0) {
        page_descriptor* const previous = linked_slab(d.before, class_index);
        if (previous == nullptr)
            return false;
        link = &previous->after;
    }
    page_descriptor* const next = d.after == 0 ? nullptr : linked_slab(d.after, class_index);
    if (*link != slab || (d.after != 0 && (next == nullptr || next->before != slab))) {
        pages_.note_damage_of_page(slab, "the links of a class's list of slabs disagree");
        return false;
    }
    *link = d.after;
    if (next != nullptr)
        next->before = d.before;
    d.before = 0;
    d.after = 0;
    return true;
}

// --- large blocks
// -------------------------------------------------------------------------------------------------------------

// B3: the marks are at the first multiple of 2, 4, 8… behind the first page. At most 32.
void block_allocator::mark_large(std::uint32_t page, std::uint32_t page_count) {
    page_descriptor d{};
    d.kind = page_kind::large_mark;
    for (std::uint64_t power = 2; power < 2 * std::uint64_t{page_count}; power *= 2) {
        const std::uint64_t at = align_up(page, power);
        if (at >= std::uint64_t{page} + page_count)
            break;
        d.count = static_cast<std::uint32_t>(at - page);
        pages_.descriptor(static_cast<std::uint32_t>(at)) = d;
    }
    d.kind = page_kind::large;
    d.count = page_count;
    pages_.descriptor(page) = d;
}

void block_allocator::unmark_large(std::uint32_t page, std::uint32_t page_count) {
    for (std::uint64_t power = 2; power < 2 * std::uint64_t{page_count}; power *= 2) {
        const std::uint64_t at = align_up(page, power);
        if (at >= std::uint64_t{page} + page_count)
            break;
        pages_.descriptor(static_cast<std::uint32_t>(at)) = {};
    }
    pages_.descriptor(page) = {};
}

// First page of the slab or large block that `page` may belong to; 0 when there is none.
std::uint32_t block_allocator::first_page_of_block(std::uint32_t page) const {
    const std::uint32_t first_data_page = section_of(page).first_data_page;
    for (std::uint32_t at = page; at >= first_data_page; at &= at - 1) {
        const page_descriptor& d = pages_.descriptor(at);
        if (d.kind == page_kind::unused)
            continue;
        if (d.kind == page_kind::large)
            return at;
        if (d.kind == page_kind::large_mark)
            return at - d.count;
        const bool in_slab = d.kind == page_kind::slab || d.kind == page_kind::slab_part;
        return at == page && in_slab ? page - d.back : 0;
    }
    return 0;
}

// --- looking up
// ---------------------------------------------------------------------------------------------------------------

std::optional<block> block_allocator::block_of(const void* address) const {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - pages_.base());
    const std::uint64_t page = offset / k_page_bytes;
    if (!pages_.is_data_page(page))
        return {};
    const std::uint32_t first = first_page_of_block(static_cast<std::uint32_t>(page));
    const page_descriptor* const d = pages_.used_descriptor(first);
    if (d == nullptr)
        return {};
    if (d->kind == page_kind::slab)
        return slot_of(first, offset);
    if (d->kind != page_kind::large || page - first >= d->count)
        return {};
    return block{pages_.address(first), d->count * k_page_bytes};
}

std::optional<block> block_allocator::slot_of(std::uint32_t slab, std::uint64_t offset) const {
    const std::uint32_t class_index = pages_.descriptor(slab).size_class;
    if (class_index >= k_class_count)
        return {};
    const size_class& of = k_size_classes[class_index];
    const std::uint32_t slot = of.slot_at(offset - slab * k_page_bytes);
    if (slot >= of.slot_count || (pages_.bitmap(slab)[slot / 64] & bit_of(slot)) == 0)
        return {};
    return block{pages_.address(slab) + std::uint64_t{slot} * of.bytes, of.bytes};
}

void block_allocator::for_each_block(const std::function<void(block)>& visit) const {
    for (std::uint32_t index = 0; index < k_section_count; ++index) {
        const section& home = section_at(index);
        const std::uint64_t end = pages_.used_end(home);
        for (std::uint64_t at = home.first_data_page; at < end;) {
            const auto page = static_cast<std::uint32_t>(at);
            const page_descriptor& d = pages_.descriptor(page);
            if (d.kind == page_kind::slab)
                for_each_slot(page, visit);
            if (d.kind == page_kind::large)
                visit({pages_.address(page), d.count * k_page_bytes});
            const bool is_run = d.kind == page_kind::large || d.kind == page_kind::free_run;
            at += is_run ? std::max<std::uint64_t>(d.count, 1) : 1;
        }
    }
}

void block_allocator::for_each_slot(std::uint32_t slab, const std::function<void(block)>& visit) const {
    const std::uint32_t class_index = pages_.descriptor(slab).size_class;
    if (class_index >= k_class_count)
        return;
    const size_class& of = k_size_classes[class_index];
    for (std::uint32_t slot = 0; slot < of.slot_count; ++slot) {
        if ((pages_.bitmap(slab)[slot / 64] & bit_of(slot)) == 0)
            continue;
        visit({pages_.address(slab) + std::uint64_t{slot} * of.bytes, of.bytes});
    }
}

// --- checking
// -----------------------------------------------------------------------------------------------------------------

result<void> block_allocator::check_state() {
    pages_.forget_damage();
    const alloc_state& state = pages_.state();
    if (state.version != format::k_alloc_state_version)
        return corrupt(pages_.state_offset(), "unknown version of its state");
    if (state.class_count != k_class_count) {
        return corrupt(pages_.state_offset() + offsetof(alloc_state, class_count), "made with other size classes");
    }
    REM_TRY(check_sections());
    return check_heads();
}

result<void> block_allocator::check_sections() {
    const alloc_state& state = pages_.state();
    const std::uint64_t offset = pages_.state_offset() + offsetof(alloc_state, used_pages);
    std::uint64_t end = 0;
    std::uint64_t used = 0;
    for (std::uint32_t i = 0; i < format::k_alloc_section_slots; ++i) {
        if (state.used_pages[i] == 0)
            continue;
        if (i >= k_section_count)
            return corrupt(offset + 4 * i, "a section is in use that no heap has");
        end = std::uint64_t{section_at(i).first_data_page} + state.used_pages[i];
        used += state.used_pages[i];
        if (end > std::min(section_at(i).end_page(), pages_.limit_pages()))
            return corrupt(offset + 4 * i, "a section is more than full");
    }
    if (state.free_pages > used || state.allocated_bytes / k_page_bytes > used - state.free_pages) {
        return corrupt(pages_.state_offset() + offsetof(alloc_state, allocated_bytes),
                       "more is allocated than there is");
    }
    if (!pages_.reach(end))
        return pages_.failure();
    return {};
}

result<void> block_allocator::check_heads() const {
    const alloc_state& state = pages_.state();
    if (!checker::is_free_run(pages_, state.free_run_root) && (state.free_run_root != 0 || state.free_run_count != 0)) {
        return corrupt(pages_.state_offset() + offsetof(alloc_state, free_run_root),
                       "the tree of free runs has no root");
    }
    for (std::uint32_t i = 0; i < format::k_alloc_class_slots; ++i) {
        const std::uint32_t kept = state.slab_kept[i];
        if (kept != 0 && (i >= k_class_count || !checker::is_slab(pages_, kept, i))) {
            return corrupt(pages_.state_offset() + offsetof(alloc_state, slab_kept) + 4 * i,
                           "the kept slab of a class is none");
        }
        const std::uint32_t head = state.slab_head[i];
        if (head == 0)
            continue;
        if (i >= k_class_count || !checker::is_listed_slab(pages_, head, i) || pages_.descriptor(head).before != 0) {
            return corrupt(pages_.state_offset() + offsetof(alloc_state, slab_head) + 4 * i,
                           "a class has no current slab");
        }
    }
    return {};
}

unexpected block_allocator::corrupt(std::uint64_t offset, const char* what) const {
    return fail(errc::corrupt, std::string("allocator: ") + what + "; let heap::verify() look at it", {}, 0, offset);
}

std::size_t block_allocator::check_invariants(const problem_callback& report) const {
    const heap_pages whole(pages_.base(), pages_.state(), {}, pages_.limit_pages() * k_page_bytes,
                           pages_.accessible_pages() * k_page_bytes); // one that has not found damage yet
    return checker(whole, report).run();
}

} // namespace remanence::alloc
