#include "alloc/block_allocator.hpp"

#include "alloc/arena.hpp"
#include "alloc/bits.hpp"
#include "alloc/checker.hpp"
#include "base/range.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace remanence::alloc {

using format::alloc_state;
using format::page_descriptor;
using format::page_kind;

namespace {

bool is_valid_alignment(std::size_t alignment) { return is_power_of_two(alignment) && alignment <= k_alignment_max; }

std::uint64_t pages_for(std::size_t bytes) { return bytes == 0 ? 1 : (bytes - 1) / k_page_bytes + 1; }

} // namespace

block_allocator::block_allocator(std::byte* base, alloc_state& state, extend_callback extend, std::uint64_t limit_bytes,
                                 std::uint64_t accessible_bytes)
    : pages_(base, state, std::move(extend), limit_bytes, accessible_bytes),
      runs_(pages_, kept_),
      slabs_(pages_, runs_, kept_) {}

void block_allocator::format(alloc_state& state) {
    state = {};
    state.version = format::k_alloc_state_version;
}

void* block_allocator::allocate(std::size_t bytes, std::size_t alignment) {
    if (!returned_.is_empty()) [[unlikely]]
        free_returned();
    const std::uint32_t granules = granules_of(bytes);
    if (bytes <= k_small_bytes_max && alignment <= k_granule_bytes && !fills_pages(granules)) [[likely]]
        return slabs_.allocate(granules);
    return allocate_other(bytes, alignment);
}

// A function of its own, so that the code of the usual request need not save registers.
void* block_allocator::allocate_other(std::size_t bytes, std::size_t alignment) {
    if (!is_valid_alignment(alignment)) {
        pages_.note_failure(errc::invalid_argument, "allocate: the alignment is no power of two, or more than 1 GiB");
        return nullptr;
    }
    return is_small(bytes, alignment) ? slabs_.allocate(granules_of(bytes), granules_of(alignment))
                                      : allocate_large(bytes, alignment);
}

std::vector<heap_range> block_allocator::unused_stretches(std::uint64_t bytes_min, std::uint64_t end) {
    std::vector<heap_range> found;
    for_each_free_stretch(bytes_min, end, planes::if_unused,
                          [&found](heap_range stretch) { found.push_back(stretch); });
    if (damaged())
        return {};
    std::ranges::sort(found, {}, &heap_range::offset);
    return found;
}

void block_allocator::for_each_free_stretch(std::uint64_t bytes_min, std::uint64_t end, planes also,
                                            const std::function<void(heap_range)>& visit) {
    const auto show = [&](std::uint64_t page, std::uint64_t end_page) {
        const std::uint64_t from = page * k_page_bytes;
        const std::uint64_t to = std::min(end_page * k_page_bytes, end);
        if (from < to && to - from >= bytes_min)
            visit({from, to - from});
    };
    runs_.tree().for_each(divide_up(bytes_min, k_page_bytes),
                          [&](std::uint32_t page, std::uint32_t count) { show(page, page + std::uint64_t{count}); });
    for (std::uint32_t index = 0; index < k_section_count; ++index) {
        const section& home = section_at(index);
        const bool is_whole = also == planes::if_unused && index != 0 && pages_.state().used_pages[index] == 0;
        show(is_whole ? home.first_page : std::max<std::uint64_t>(pages_.used_end(home), home.first_data_page),
             home.end_page());
    }
}

// Section 0's plane is in use with the first block.
bool block_allocator::may_become_zeros(std::uint64_t page) const {
    const section& of = section_of(static_cast<std::uint32_t>(page));
    if (of.index == 0 || page >= of.first_data_page)
        return is_free_page(page);
    return !damaged() && pages_.state().used_pages[of.index] == 0 && pages_.is_zero(page * k_page_bytes);
}

void block_allocator::free_returned() {
    returned_.for_each([this](void* address, std::uint32_t bytes) {
        if (!slabs_.deallocate(address, granules_of(bytes))) [[unlikely]]
            refuse(address, bytes, ", one of the last 16 small ones that were given back");
    });
    returned_.forget();
}

// In older heaps, blocks that fill pages lie in slabs.
bool block_allocator::is_in_slab(const void* address) const {
    const auto page = pages_.offset_of(address) / k_page_bytes;
    return pages_.is_data_page(page) && slabs_.is_in_slab(static_cast<std::uint32_t>(page));
}

std::size_t block_allocator::block_bytes(std::size_t bytes, std::size_t alignment) {
    return is_small(bytes, alignment) ? granules_of(bytes) * k_granule_bytes : pages_for(bytes) * k_page_bytes;
}

static_assert(returned_blocks::k_capacity == 16, "said above");

std::uint64_t block_allocator::own_allocated_bytes() const {
    std::uint64_t bytes = pages_.state().allocated_bytes - kept_.bytes();
    returned_.for_each([&](void*, std::uint32_t each) { bytes -= block_bytes(each); });
    return bytes;
}

// The program frees a block that is not allocated, which is an error of the program. If the program continued, the same
// memory would be allocated twice.
void block_allocator::refuse(const void* address, std::size_t bytes, const char* when) const {
    if (damaged())
        return; // B6
    std::fprintf(
        stderr,
        "remanence: deallocate(%p, %zu bytes): not an allocated block of this size in this heap%s (freed twice, with "
        "another size, or from elsewhere). The heap file is as of its last commit.\n",
        address, bytes, when);
    std::abort();
}

// --- large blocks

void* block_allocator::allocate_large(std::size_t bytes, std::size_t alignment) {
    if (damaged())
        return nullptr;
    const std::uint64_t page_count = pages_for(bytes);
    const std::uint64_t page_alignment = std::max<std::uint64_t>(alignment / k_page_bytes, 1);
    std::uint32_t page = runs_.allocate(page_count, page_alignment);
    if (page == 0 && slabs_.flush()) // M3
        page = runs_.allocate(page_count, page_alignment);
    if (page == 0)
        return nullptr;
    mark_large(page, static_cast<std::uint32_t>(page_count));
    pages_.declare(page * k_page_bytes, page_count * k_page_bytes);
    pages_.changing_state().allocated_bytes += page_count * k_page_bytes;
    return pages_.address(page);
}

void block_allocator::deallocate_large(void* address, std::size_t bytes) {
    const bool is_of_slab = bytes <= k_small_bytes_max && is_in_slab(address);
    if (!(is_of_slab ? slabs_.deallocate(address, granules_of(bytes)) : free_pages(address, bytes)))
        refuse(address, bytes, "");
}

bool block_allocator::free_pages(const void* address, std::size_t bytes) {
    const auto offset = pages_.offset_of(address);
    const std::uint64_t index = offset / k_page_bytes;
    if (!is_aligned(offset, k_page_bytes) || !pages_.is_data_page(index))
        return false;
    const auto page = static_cast<std::uint32_t>(index);
    const page_descriptor& d = pages_.descriptor(page);
    if (d.kind != page_kind::large || d.count != pages_for(bytes))
        return false;
    const std::uint32_t page_count = d.count;
    if (index + page_count > pages_.used_end(section_of(page))) {
        pages_.note_damage_of_page(page, "a large block is longer than its section");
        return true;
    }
    unmark_large(page, page_count);
    pages_.changing_state().allocated_bytes -= page_count * k_page_bytes;
    runs_.release(page, page_count);
    return true;
}

bool block_allocator::resize(void* address, std::size_t bytes, std::size_t new_bytes) {
    if (block_allocator* const of = arena_around(address))
        return of->resize(address, bytes, new_bytes);
    const std::uint64_t index = pages_.offset_of(address) / k_page_bytes;
    const std::uint64_t page_count = pages_for(bytes);
    const std::uint64_t new_count = pages_for(new_bytes);
    if (is_small(bytes, k_granule_bytes) || is_small(new_bytes, k_granule_bytes) || new_count > k_heap_pages_max ||
        !pages_.is_data_page(index))
        return false;
    const auto page = static_cast<std::uint32_t>(index);
    const page_descriptor& d = pages_.descriptor(page);
    if (d.kind != page_kind::large || d.count != page_count || index + page_count > pages_.used_end(section_of(page)))
        return false;
    const auto count = static_cast<std::uint32_t>(page_count);
    const auto becomes = static_cast<std::uint32_t>(new_count);
    if (becomes > count && !runs_.extend(page, count, becomes - count))
        return false;
    unmark_large(page, count);
    mark_large(page, becomes);
    if (becomes < count)
        runs_.release(page + becomes, count - becomes);
    else
        pages_.declare((page + page_count) * k_page_bytes, (becomes - count) * k_page_bytes);
    format::alloc_state& state = pages_.changing_state();
    state.allocated_bytes = state.allocated_bytes - count * k_page_bytes + becomes * k_page_bytes;
    return true;
}

bool block_allocator::has_hole_before(const void* address, std::size_t bytes) {
    if (damaged() || pages_.state().free_run_root == 0)
        return false;
    const std::uint32_t best = runs_.tree().best_fit(pages_for(bytes));
    return best != 0 && !damaged() && best < pages_.offset_of(address) / k_page_bytes;
}

void block_allocator::set_mark(const void* address, block_mark mark) {
    const std::uint64_t page = pages_.offset_of(address) / k_page_bytes;
    if (pages_.is_data_page(page) && pages_.descriptor(static_cast<std::uint32_t>(page)).kind == page_kind::large)
        pages_.changing(&pages_.descriptor(static_cast<std::uint32_t>(page)))->bin = static_cast<std::uint8_t>(mark);
}

block_mark block_allocator::mark_of(const void* address) const {
    const std::uint64_t page = pages_.offset_of(address) / k_page_bytes;
    if (!pages_.is_data_page(page))
        return block_mark::none;
    const page_descriptor& d = pages_.descriptor(static_cast<std::uint32_t>(page));
    return d.kind == page_kind::large ? block_mark(d.bin) : block_mark::none;
}

// B5: the marks are at the first multiples of 2, 4, 8… behind the first page. There are at most 32.
void block_allocator::mark_large(std::uint32_t page, std::uint32_t page_count) {
    page_descriptor d{};
    d.kind = page_kind::large_mark;
    for (std::uint64_t power = 2; power < 2 * std::uint64_t{page_count}; power *= 2) {
        const std::uint64_t at = align_up(page, power);
        if (at >= std::uint64_t{page} + page_count)
            break;
        d.count = static_cast<std::uint32_t>(at - page);
        pages_.set_descriptor(static_cast<std::uint32_t>(at), d);
    }
    d.kind = page_kind::large;
    d.count = page_count;
    pages_.set_descriptor(page, d);
}

void block_allocator::unmark_large(std::uint32_t page, std::uint32_t page_count) {
    for (std::uint64_t power = 2; power < 2 * std::uint64_t{page_count}; power *= 2) {
        const std::uint64_t at = align_up(page, power);
        if (at >= std::uint64_t{page} + page_count)
            break;
        pages_.set_descriptor(static_cast<std::uint32_t>(at), {});
    }
    pages_.set_descriptor(page, {});
}

// Returns the first page of the large block that `page` may belong to; 0 if there is none.
std::uint32_t block_allocator::first_page_of_large(std::uint32_t page) const {
    const std::uint32_t first_data_page = section_of(page).first_data_page;
    for (std::uint32_t at = page; at >= first_data_page; at &= at - 1) {
        const page_descriptor& d = pages_.descriptor(at);
        if (d.kind == page_kind::unused)
            continue;
        if (d.kind == page_kind::large)
            return at;
        return d.kind == page_kind::large_mark ? at - d.count : 0;
    }
    return 0;
}

// --- looking up

std::optional<block> block_allocator::block_of(const void* address) const {
    const auto offset = pages_.offset_of(address);
    if (const block_allocator* const of = arena_around(address))
        return of->block_of(address);
    if (!pages_.is_data_page(offset / k_page_bytes))
        return {};
    const auto page = static_cast<std::uint32_t>(offset / k_page_bytes);
    if (slabs_.is_in_slab(page)) {
        const auto found = slabs_.block_at(offset);
        return found && !was_given_back(block_of(*found)) ? std::optional(block_of(*found)) : std::nullopt; // M1
    }
    return large_block_of(page);
}

std::optional<block> block_allocator::large_block_of(std::uint32_t page) const {
    const std::uint32_t first = first_page_of_large(page);
    const page_descriptor* const d = pages_.used_descriptor(first);
    if (d == nullptr || d->kind != page_kind::large || page - first >= d->count)
        return {};
    return block{pages_.address(first), d->count * k_page_bytes};
}

bool block_allocator::was_given_back(const block& of) const {
    return of.bytes <= k_small_bytes_max && (returned_.holds(of.start) || kept_.holds(of.start, granules_of(of.bytes)));
}

bool block_allocator::is_free_page(std::uint64_t page) const {
    if (!pages_.is_data_page(page))
        return false;
    if (const block_allocator* const of = arena_around(pages_.address(static_cast<std::uint32_t>(page))))
        return of->is_free_page(page - pages_.offset_of(of->base()) / k_page_bytes);
    const auto index = static_cast<std::uint32_t>(page);
    return slabs_.is_in_slab(index) ? slabs_.is_free_page(index) : !large_block_of(index);
}

void block_allocator::for_each_block(const std::function<void(block)>& visit) const {
    for (std::uint32_t index = 0; index < k_section_count; ++index) {
        const section& home = section_at(index);
        const std::uint64_t end = pages_.used_end(home);
        for (std::uint64_t at = home.first_data_page; at < end;) {
            const auto page = static_cast<std::uint32_t>(at);
            const page_descriptor& d = pages_.descriptor(page);
            if (slabs::is_slab(pages_, page))
                slabs_.for_each_block(page, [&](slabs::extent found) {
                    if (!was_given_back(block_of(found))) // M1
                        visit(block_of(found));
                });
            if (d.kind == page_kind::large) {
                if (const block_allocator* const of = arena_around(pages_.address(page)))
                    of->for_each_block(visit);
                else
                    visit({pages_.address(page), d.count * k_page_bytes});
            }
            const bool is_run = d.kind == page_kind::large || d.kind == page_kind::free_run;
            at += is_run ? std::max<std::uint64_t>(d.count, 1) : 1;
        }
    }
}

// --- checking

result<void> block_allocator::check_state() {
    returned_.forget();
    kept_.forget(); // M2
    arenas_.clear();
    pages_.forget_damage();
    if (pages_.state().version != format::k_alloc_state_version)
        return corrupt(pages_.state_offset(), "unknown version of its state");
    REM_TRY(check_sections());
    REM_TRY(check_links());
    return find_arenas();
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
            return corrupt(offset + sizeof(std::uint32_t) * i, "a section is in use that no heap has");
        end = std::uint64_t{section_at(i).first_data_page} + state.used_pages[i];
        used += state.used_pages[i];
        if (end > std::min(section_at(i).end_page(), pages_.limit_pages()))
            return corrupt(offset + sizeof(std::uint32_t) * i, "a section is more than full");
    }
    if (state.free_pages > used || state.allocated_bytes / k_page_bytes > used - state.free_pages) {
        return corrupt(pages_.state_offset() + offsetof(alloc_state, allocated_bytes),
                       "more is allocated than there is");
    }
    if (!pages_.reach(end))
        return pages_.failure();
    return {};
}

result<void> block_allocator::check_links() const {
    const alloc_state& state = pages_.state();
    const std::uint64_t offset = pages_.state_offset();
    if (!checker::is_free_run(pages_, state.free_run_root) && (state.free_run_root != 0 || state.free_run_count != 0))
        return corrupt(offset + offsetof(alloc_state, free_run_root), "the tree of free runs has no root");
    if (!checker::is_current_slab(pages_))
        return corrupt(offset + offsetof(alloc_state, current_slab), "the current slab is none, or its hole not free");
    for (std::uint32_t i = 0; i < format::k_alloc_bin_slots; ++i) {
        const std::uint32_t head = state.slab_head[i];
        if ((head != 0) != is_set(&state.used_bins, i))
            return corrupt(offset + offsetof(alloc_state, used_bins), "the lists of slabs are not those in use");
        const bool is_head =
            i < k_bin_count && checker::is_listed_slab(pages_, head, i) && pages_.descriptor(head).before == 0;
        if (head != 0 && !is_head)
            return corrupt(offset + offsetof(alloc_state, slab_head) + sizeof(std::uint32_t) * i,
                           "a list of slabs begins with none");
    }
    return {};
}

unexpected block_allocator::corrupt(std::uint64_t offset, const char* what) const {
    return fail(errc::corrupt, std::string("allocator: ") + what, {}, 0, offset);
}

std::size_t block_allocator::check_invariants(const problem_callback& report) const {
    // A new object, in which no damage was found yet (A2).
    const heap_pages whole(pages_.base(), pages_.state(), {}, pages_.limit_pages() * k_page_bytes,
                           pages_.accessible_pages() * k_page_bytes);
    return checker(whole, report).run() + check_arenas(report);
}

} // namespace remanence::alloc
