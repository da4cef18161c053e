#include "alloc/heap_pages.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <utility>

namespace remanence::alloc {

namespace {

std::uint64_t whole_pages(std::uint64_t bytes) { return std::min(bytes / k_page_bytes, k_heap_pages_max); }

} // namespace

heap_pages::heap_pages(std::byte* base, const format::alloc_state& state, extend_callback extend,
                       std::uint64_t limit_bytes, std::uint64_t accessible_bytes)
    : base_(base),
      state_(&state),
      trusted_pages_(whole_pages(std::min(accessible_bytes, limit_bytes))),
      accessible_pages_(trusted_pages_),
      limit_pages_(whole_pages(limit_bytes)),
      extend_(std::move(extend)) {
    REM_CHECK(is_aligned(reinterpret_cast<std::uintptr_t>(base), k_page_bytes));
}

std::uint64_t heap_pages::used_end(const section& of) const {
    const std::uint64_t end = std::uint64_t{of.first_data_page} + state_->used_pages[of.index];
    return std::min({end, of.end_page(), accessible_pages_});
}

const format::page_descriptor* heap_pages::used_descriptor(std::uint32_t page) const {
    if (!is_data_page(page) || page >= used_end(section_of(page)))
        return nullptr;
    return &descriptor(page);
}

bool heap_pages::is_zero(std::uint64_t offset) const {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(base_ + offset);
    return std::all_of(words, words + k_page_bytes / sizeof *words, [](std::uint64_t each) { return each == 0; });
}

bool heap_pages::reach(std::uint64_t end_page) {
    if (end_page <= accessible_pages_)
        return true;
    if (end_page > limit_pages_) {
        note_failure(errc::exhausted, k_used_up);
        return false;
    }
    auto end = extend_(end_page * k_page_bytes);
    if (!end) {
        why_ = end.error();
        return false;
    }
    set_accessible(*end);
    if (*end >= end_page * k_page_bytes)
        return true;
    note_failure(errc::exhausted, "the system has no more memory for it");
    return false;
}

void heap_pages::set_accessible(std::uint64_t bytes) {
    accessible_pages_ = std::max(accessible_pages_, std::min(whole_pages(bytes), limit_pages_));
    if (!damage_)
        trusted_pages_ = accessible_pages_;
}

void heap_pages::note_damage(std::uint64_t offset, const char* what) {
    if (!damage_)
        damage_ = damage{offset, what};
    trusted_pages_ = 0;
}

void heap_pages::note_damage_of_page(std::uint32_t page, const char* what) {
    note_damage(section_of(page).descriptor_offset(page), what);
}

void heap_pages::forget_damage() {
    damage_.reset();
    trusted_pages_ = accessible_pages_;
}

unexpected heap_pages::failure() const {
    if (damage_) {
        return fail(errc::corrupt,
                    std::string("allocator: ") + damage_->what + "; roll back, or close the heap and verify it", {}, 0,
                    damage_->offset);
    }
    if (why_)
        return unexpected(why_->why());
    return fail(why_code_, why_literal_);
}

} // namespace remanence::alloc
