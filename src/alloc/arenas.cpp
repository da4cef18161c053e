// An arena is a large block at a multiple of 1 GiB, with an allocator of its own; its first page is an arena_header.
// For blocks inside an arena, the heap's allocator calls the arena's allocator.
//
// An allocator needs zeroed metadata, but the block may have had other contents. So the metadata plane of each section
// (sections.hpp) is zeroed when the arena first grows into that section. The count of these sections is
// arena_header::sections_ready, in the heap's memory, so that a rollback restores it together with the planes.

#include "alloc/arena.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

namespace remanence::alloc {

using format::arena_header;
using format::page_kind;

static constexpr std::size_t k_arenas_max = k_heap_bytes_max / GiB;

block_allocator::~block_allocator() = default;

// --- looking up

block_allocator* block_allocator::arena_around(const void* address) const {
    for (const auto& each : arenas_) {
        if (static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - each->blocks.base()) < each->bytes)
            return &each->blocks;
    }
    return nullptr;
}

block_allocator* block_allocator::arena_at(const void* base) {
    block_allocator* const found = arena_around(base);
    return found != nullptr && found->base() == base ? found : nullptr;
}

std::byte* block_allocator::find_arena(std::string_view name) const {
    for (const auto& each : arenas_) {
        if (name == each->header->name.data())
            return each->blocks.base();
    }
    return nullptr;
}

void block_allocator::for_each_arena(
    const std::function<void(const arena_header&, const block_allocator&)>& visit) const {
    for (const auto& each : arenas_)
        visit(*each->header, each->blocks);
}

std::uint64_t block_allocator::used_bytes() const {
    std::uint64_t end = k_page_bytes;
    for (std::uint32_t i = 0; i < k_section_count; ++i) {
        if (pages_.state().used_pages[i] != 0)
            end = pages_.used_end(section_at(i)) * k_page_bytes;
    }
    return end;
}

std::uint64_t block_allocator::allocated_bytes() const {
    std::uint64_t bytes = own_allocated_bytes();
    for (const auto& each : arenas_)
        bytes = bytes - each->bytes + each->blocks.allocated_bytes();
    return bytes;
}

// --- making and ending

const char* block_allocator::why_no_arena(std::string_view name, std::uint64_t room_bytes) {
    if (name.empty() || name.size() >= format::k_arena_name_bytes || name.find('\0') != std::string_view::npos)
        return "an arena needs a name of 1 to 127 bytes, none of them zero";
    if (!std::has_single_bit(room_bytes) || room_bytes < format::k_arena_pages_min * k_page_bytes ||
        room_bytes > k_heap_bytes_max / 2)
        return "an arena needs room for a power of two of bytes, 1 MiB or more";
    return nullptr;
}

std::byte* block_allocator::make_arena(std::string_view name, std::uint64_t room_bytes,
                                       std::uint64_t resident_limit_bytes) {
    if (const char* const why = why_no_arena(name, room_bytes)) {
        pages_.note_failure(errc::invalid_argument, why);
        return nullptr;
    }
    if (find_arena(name) != nullptr) {
        pages_.note_failure(errc::exists, "there is an arena of this name");
        return nullptr;
    }
    auto* const base = static_cast<std::byte*>(allocate(room_bytes, GiB));
    if (base == nullptr)
        return nullptr;
    make_zero(pages_.offset_of(base), k_page_bytes);
    auto& head = *pages_.changing(reinterpret_cast<const arena_header*>(base));
    head.magic = format::k_arena_magic;
    head.next = pages_.state().first_arena;
    head.pages = static_cast<std::uint32_t>(room_bytes / k_page_bytes);
    head.resident_limit_bytes = resident_limit_bytes;
    std::ranges::copy(name, head.name.begin());
    format(head.allocator);
    const auto page = static_cast<std::uint32_t>(pages_.offset_of(base) / k_page_bytes);
    pages_.changing_state().first_arena = page;
    return open_arena(page) ? base : nullptr;
}

void block_allocator::destroy_arena(std::byte* base) {
    const auto at = std::ranges::find_if(arenas_, [&](const auto& each) { return each->blocks.base() == base; });
    if (at == arenas_.end())
        return;
    const auto page = static_cast<std::uint32_t>(pages_.offset_of(base) / k_page_bytes);
    const std::uint32_t* link = &pages_.state().first_arena;
    while (*link != page)
        link = &reinterpret_cast<const arena_header*>(pages_.address(*link))->next;
    *pages_.changing(link) = (*at)->header->next;
    const std::uint64_t bytes = (*at)->bytes;
    arenas_.erase(at);
    deallocate(base, bytes);
}

// --- opening

result<void> block_allocator::find_arenas() {
    for (std::uint32_t page = pages_.state().first_arena; page != 0;) {
        REM_TRY(check_arena(page));
        REM_TRY(open_arena(page));
        page = arenas_.back()->header->next;
    }
    return {};
}

// I7
result<void> block_allocator::check_arena(std::uint32_t page) const {
    const std::uint64_t offset = page * k_page_bytes;
    const auto* const d = pages_.used_descriptor(page);
    if (arenas_.size() == k_arenas_max || page % format::k_arena_alignment_pages != 0 || d == nullptr ||
        d->kind != page_kind::large || arena_around(pages_.address(page)) != nullptr)
        return corrupt(pages_.state_offset() + offsetof(format::alloc_state, first_arena), "an arena is no block");
    const auto& head = *reinterpret_cast<const arena_header*>(pages_.address(page));
    const bool is_sound = head.magic == format::k_arena_magic && head.pages == d->count &&
                          std::has_single_bit(head.pages) && head.pages >= format::k_arena_pages_min &&
                          head.sections_ready <= k_section_count && head.zero == 0 && head.name[0] != '\0' &&
                          head.name.back() == '\0' && head.allocator.first_arena == 0;
    return is_sound ? result<void>() : corrupt(offset, "the header of an arena is damaged");
}

result<void> block_allocator::open_arena(std::uint32_t page) {
    std::byte* const base = pages_.address(page);
    auto made = std::make_unique<arena>(*this, base, *reinterpret_cast<const arena_header*>(base));
    if (auto sound = made->blocks.check_state(); !sound) {
        unexpected why = sound.error();
        if (why.why().offset != error::k_no_offset)
            why.why().offset += pages_.offset_of(base);
        return why;
    }
    arenas_.push_back(std::move(made));
    listen_in_arenas();
    return {};
}

// Zeroes the planes of further sections until the sections whose planes were zeroed reach the offset `end` in the
// arena. Returns the offset at which they end.
std::uint64_t block_allocator::make_planes_zero(const arena_header& of, std::uint64_t end) const {
    std::uint32_t ready = of.sections_ready;
    while (ready == 0 || section_at(ready - 1).end_page() * k_page_bytes < end) {
        const section& next = section_at(ready);
        const std::uint32_t begin = next.first_page + (ready == 0 ? 1 : 0);
        make_zero(pages_.offset_of(&of) + begin * k_page_bytes, (next.first_data_page - begin) * k_page_bytes);
        ++ready;
    }
    if (ready != of.sections_ready)
        pages_.changing(&of)->sections_ready = ready;
    return section_at(ready - 1).end_page() * k_page_bytes;
}

// Pages that are zero already, as most are, stay untouched.
void block_allocator::make_zero(std::uint64_t offset, std::uint64_t bytes) const {
    for (std::uint64_t at = offset; at < offset + bytes; at += k_page_bytes) {
        if (!pages_.is_zero(at))
            std::memset(pages_.changing(pages_.base() + at, k_page_bytes), 0, k_page_bytes);
    }
}

// --- operations on all arenas

void block_allocator::flush_arenas() {
    for (const auto& each : arenas_)
        each->blocks.flush();
}

void block_allocator::release_empty_slabs_of_arenas() {
    for (const auto& each : arenas_)
        each->blocks.release_empty_slab();
}

bool block_allocator::deallocate_in_arena(void* address, std::size_t bytes, std::size_t alignment) {
    block_allocator* const of = arena_around(address);
    if (of != nullptr)
        of->deallocate(address, bytes, alignment);
    return of != nullptr;
}

std::size_t block_allocator::check_arenas(const problem_callback& report) const {
    std::size_t problems = 0;
    std::size_t found = 0;
    std::uint32_t page = pages_.state().first_arena;
    const auto is_known = [this](std::uint32_t at) {
        return std::ranges::any_of(arenas_,
                                   [&](const auto& each) { return each->blocks.base() == pages_.address(at); });
    };
    for (; page != 0 && found != arenas_.size() && is_known(page); ++found)
        page = reinterpret_cast<const arena_header*>(pages_.address(page))->next;
    if (page != 0 || found != arenas_.size()) {
        if (report)
            report(pages_.state_offset() + offsetof(format::alloc_state, first_arena), "the list of arenas is wrong");
        ++problems;
    }
    for (const auto& each : arenas_) {
        const std::uint64_t at = pages_.offset_of(each->blocks.base());
        problems += each->blocks.check_invariants([&](std::uint64_t offset, std::string_view what) {
            if (report)
                report(at + offset, what);
        });
    }
    return problems;
}

void block_allocator::listen_in_arenas() {
    for (const auto& each : arenas_) {
        if (!pages_.has_listener()) {
            each->blocks.set_listener({});
            continue;
        }
        each->blocks.set_listener(
            [this, at = pages_.offset_of(each->blocks.base())](std::uint64_t offset, std::uint64_t bytes) {
                pages_.declare(at + offset, bytes);
            });
    }
}

} // namespace remanence::alloc
