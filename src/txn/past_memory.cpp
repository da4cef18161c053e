#include "txn/past_memory.hpp"

#include "alloc/block_allocator.hpp"
#include "alloc/sections.hpp"
#include "base/units.hpp"
#include "format/arena_header.hpp"
#include "os/anonymous_memory.hpp"
#include "txn/engine.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

namespace remanence::txn {

zeroed_memory::zeroed_memory(std::uint64_t bytes)
    : begin_(os::reserve_addresses(align_up(bytes, k_page_bytes), k_page_bytes)),
      bytes_(align_up(bytes, k_page_bytes)) {
    if (begin_ == nullptr)
        throw std::bad_alloc();
    if (os::make_writable(begin_, bytes_, os::addresses::held) != 0) {
        release();
        throw std::bad_alloc();
    }
}

void zeroed_memory::release() noexcept {
    if (begin_ != nullptr)
        os::release_addresses(std::exchange(begin_, nullptr), bytes_);
}

past_memory::past_memory(heap_locks& locks, store::image& image, view::memory_view& view, heap_memory& memory)
    : locks_(locks),
      image_(image),
      view_(view),
      bytes_(memory.accessible_bytes()),
      header_(memory.header()),
      copies_(bytes_),
      copied_(bytes_ / k_page_bytes),
      written_(bytes_ / k_page_bytes),
      freed_(bytes_ / alloc::k_granule_bytes / k_bits) {}

void past_memory::note_written(std::span<const heap_range> pages) {
    written_.assign(written_.size(), false);
    for (const heap_range& each : pages) {
        const std::uint64_t end = std::min(align_up(each.end(), k_page_bytes), bytes_) / k_page_bytes;
        for (std::uint64_t page = each.offset / k_page_bytes; page < end; ++page)
            written_[page] = true;
    }
}

result<std::byte*> past_memory::at(std::uint64_t offset, std::uint64_t bytes) {
    const std::uint64_t first = offset / k_page_bytes;
    const std::uint64_t end = bytes == 0 ? first : (offset + bytes - 1) / k_page_bytes + 1;
    for (std::uint64_t page = first; page != end; ++page) {
        if (copied_[page] || written_[page]) {
            REM_TRY(copy_pages({first, end - first}));
            return copies_.begin() + offset;
        }
    }
    return view_.base() + offset;
}

/// Copies those of the pages that are not copied yet, so that all lie side by side.
result<void> past_memory::copy_pages(page_range pages) {
    for (std::uint64_t page = pages.first; page != pages.end(); ++page) {
        if (copied_[page])
            continue;
        if (written_[page]) {
            const std::lock_guard alone(locks_.at_store);
            REM_TRY(copy_committed(page));
            continue;
        }
        std::memcpy(copies_.begin() + page * k_page_bytes, view_.base() + page * k_page_bytes, k_page_bytes);
        copied_[page] = true;
    }
    return {};
}

/// Copies the metadata planes of the first so many sections of the heap, or of the arena that begins at this page.
result<void> past_memory::copy_planes(std::uint64_t first_page, std::size_t sections,
                                      const std::function<void()>& go_on) {
    constexpr std::uint64_t k_pages_at_once = 16;
    for (const alloc::section& each : std::span(alloc::k_sections).first(sections)) {
        const std::uint64_t end = std::min<std::uint64_t>(first_page + each.first_data_page, copied_.size());
        for (std::uint64_t page = first_page + each.first_page; page < end; page += k_pages_at_once) {
            go_on();
            REM_TRY(copy_pages({page, std::min(k_pages_at_once, end - page)}));
        }
    }
    return {};
}

// An allocator over the copies reads nothing but the header pages and planes of the heap and its arenas.
result<void> past_memory::for_each_block(const std::function<void()>& go_on,
                                         const std::function<void(heap_range)>& visit) {
    constexpr unsigned k_blocks_at_once = 512;
    std::byte* const base = copies_.begin();
    auto& state = reinterpret_cast<format::heap_header*>(base)->allocator;
    REM_TRY(copy_pages({0, 1}));
    REM_TRY(copy_planes(0, alloc::k_sections.size(), go_on));
    std::uint64_t left = k_heap_bytes_max / GiB; // so many arenas at most
    for (std::uint64_t page = state.first_arena; page != 0 && page < copied_.size() && left != 0; --left) {
        REM_TRY(copy_pages({page, 1}));
        const auto& head = *reinterpret_cast<const format::arena_header*>(base + page * k_page_bytes);
        REM_TRY(copy_planes(page, std::min(head.sections_ready, alloc::k_section_count), go_on));
        page = head.next;
    }
    const auto refuse = [this](std::uint64_t) -> result<std::uint64_t> { return bytes_; };
    alloc::block_allocator blocks(base, state, refuse, k_heap_bytes_max, bytes_);
    REM_TRY(blocks.check_state());
    unsigned visited = 0;
    blocks.for_each_block([&](alloc::block each) {
        visit({static_cast<std::uint64_t>(static_cast<std::byte*>(each.start) - base), each.bytes});
        if (++visited % k_blocks_at_once == 0)
            go_on();
    });
    return {};
}

// Pages that were never committed have no block in them.
result<void> past_memory::copy_committed(std::uint64_t page) {
    if (page >= copied_.size() || copied_[page])
        return {};
    std::byte* const into = copies_.begin() + page * k_page_bytes;
    const std::byte* const in_memory = view_.committed().copy(page);
    if (in_memory != nullptr)
        std::memcpy(into, in_memory, k_page_bytes);
    else if ((page + 1) * k_page_bytes <= image_.bytes())
        REM_TRY(view_.committed().read_image(to_bytes(page_range{page, 1}), nullptr, into));
    copied_[page] = true;
    return {};
}

void past_memory::before_commit(const change::change_set& changes) noexcept {
    if (!keeps_pages_ || !is_valid_)
        return;
    const auto copy_chunk = [&](const change::whole_chunk& whole) -> result<void> {
        for (std::uint64_t i = 0; i != image_.chunk_pages(); ++i)
            REM_TRY(copy_committed(whole.chunk * image_.chunk_pages() + i));
        return {};
    };
    const auto copy_all = [&]() -> result<void> {
        for (const change::changed_page& each : changes.pages)
            REM_TRY(copy_committed(each.page));
        for (const change::whole_chunk& each : changes.fresh)
            REM_TRY(copy_chunk(each));
        for (const change::whole_chunk& each : changes.relocated)
            REM_TRY(copy_chunk(each));
        return {};
    };
    try {
        if (!copy_all())
            is_valid_ = false;
    } catch (const std::bad_alloc&) {
        is_valid_ = false;
    }
}

void past_memory::forget_pages() noexcept {
    keeps_pages_ = false;
    copies_.release();
    copied_.clear();
    written_.clear();
}

bool past_memory::was_freed(std::uint64_t offset) const {
    const std::uint64_t granule = offset / alloc::k_granule_bytes;
    return (std::to_integer<unsigned>(freed_.begin()[granule / k_bits]) >> granule % k_bits & 1U) != 0;
}

void past_memory::freed(const void* block, std::uint64_t bytes, std::uint64_t there) {
    note_freed(block, alloc::k_granule_bytes);
    if (others_ != nullptr)
        others_->freed(block, bytes, there);
}

void past_memory::freed_all(const void* first, std::uint64_t bytes) noexcept {
    note_freed(first, bytes);
    if (others_ != nullptr)
        others_->freed_all(first, bytes);
}

void past_memory::note_freed(const void* first, std::uint64_t bytes) noexcept {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(first) - view_.base());
    const std::uint64_t end = std::min(offset + bytes, bytes_) / alloc::k_granule_bytes;
    for (std::uint64_t granule = offset / alloc::k_granule_bytes; granule < end; ++granule)
        freed_.begin()[granule / k_bits] |= std::byte{1} << granule % k_bits;
}

void past_memory::add(const void* block, std::uint64_t asked) noexcept {
    if (others_ != nullptr)
        others_->add(block, asked);
}

void past_memory::add_type(const void* block, const std::type_info& type) noexcept {
    if (others_ != nullptr)
        others_->add_type(block, type);
}

std::optional<block_notes::note> past_memory::find(const void* block) const {
    return others_ != nullptr ? others_->find(block) : std::nullopt;
}

void past_memory::add_to(std::string& message, const void* block) const {
    if (others_ != nullptr)
        others_->add_to(message, block);
}

void past_memory::all_is_committed() noexcept {
    if (others_ != nullptr)
        others_->all_is_committed();
}

block_notes::moment past_memory::now() noexcept { return others_ != nullptr ? others_->now() : k_last_commit; }

void past_memory::go_back_to(moment earlier) noexcept {
    if (others_ != nullptr)
        others_->go_back_to(earlier);
}

void past_memory::forget_all() noexcept {
    is_valid_ = false; // PM3
    if (others_ != nullptr)
        others_->forget_all();
}

result<past_memory*> engine::keep_past() {
    const std::lock_guard alone(locks_.at_store);
    REM_TRY(health_.usable());
    if (dynamic_cast<past_memory*>(memory_.notes()) != nullptr)
        return fail(errc::in_use,
                    "another collector of " + path() + " is not done yet. Let it finish, or destroy it, first.",
                    path());
    REM_TRY(point_.finish()); // its pages would be copied as they were before it
    REM_TRY(tell_of_failed_point());
    const std::lock_guard allocation(locks_.allocation);
    auto made = std::make_unique<past_memory>(locks_, heap_.store->image(), *heap_.view, memory_);
    past_memory* const past = made.get();
    memory_.keep_unused(true); // PM2
    past->note_also_to(memory_.exchange_notes(nullptr));
    (void)memory_.exchange_notes(std::move(made));
    return past;
}

void engine::forget_past_pages(past_memory& past) noexcept {
    const std::lock_guard alone(locks_.at_store);
    const std::lock_guard allocation(locks_.allocation);
    past.forget_pages();
    memory_.keep_unused(false);
}

void engine::end_past(past_memory& past) noexcept {
    const std::lock_guard alone(locks_.at_store);
    const std::lock_guard allocation(locks_.allocation);
    memory_.keep_unused(false);
    (void)memory_.exchange_notes(past.take_others()); // destroys it
}

} // namespace remanence::txn
