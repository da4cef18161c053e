#include "view/spilled_chunks.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <span>

namespace remanence::view {

bool spilled_chunks::has_page(std::uint64_t page) const {
    const checksums* const spilled = find(page / copies_.where().chunk_pages());
    return spilled != nullptr && (*spilled)[static_cast<std::size_t>(page % copies_.where().chunk_pages())] != 0;
}

std::vector<std::uint64_t> spilled_chunks::chunks() const {
    std::vector<std::uint64_t> found;
    for (const auto& [chunk, sums] : all_)
        found.push_back(chunk);
    return found;
}

change::whole_chunk spilled_chunks::as_in_copy(std::uint64_t chunk) const {
    const checksums* const spilled = find(chunk);
    if (spilled == nullptr)
        return {chunk, checksums(static_cast<std::size_t>(copies_.where().chunk_pages())), {}};
    return {chunk, *spilled, std::vector<bool>(spilled->size(), true)};
}

void spilled_chunks::add_to(change::change_set& changes) const {
    const std::size_t fresh = changes.fresh.size();
    const std::size_t moved = changes.relocated.size();
    for (const auto& [chunk, sums] : all_) {
        const bool is_stored = copies_.is_stored(chunk);
        std::vector<change::whole_chunk>& whole = is_stored ? changes.relocated : changes.fresh;
        const auto reported = std::span(whole).first(is_stored ? moved : fresh);
        if (!std::ranges::binary_search(reported, chunk, {}, &change::whole_chunk::chunk))
            whole.push_back(as_in_copy(chunk));
    }
    std::ranges::sort(changes.fresh, {}, &change::whole_chunk::chunk);
    std::ranges::sort(changes.relocated, {}, &change::whole_chunk::chunk);
}

bool spilled_chunks::hold(std::uint64_t chunk, const checksums& sums) {
    if (!copies_.hold_early(chunk))
        return false;
    if (contains(chunk))
        return true;
    try {
        all_.emplace(chunk, sums);
    } catch (...) {
        copies_.release_early(chunk);
        throw;
    }
    return true;
}

void spilled_chunks::release(std::uint64_t chunk) noexcept {
    all_.erase(chunk);
    copies_.release_early(chunk);
}

void spilled_chunks::forget_committed() noexcept {
    std::erase_if(all_, [&](const auto& each) { return copies_.is_stored(each.first); });
    REM_ASSERT(all_.empty());
}

} // namespace remanence::view
