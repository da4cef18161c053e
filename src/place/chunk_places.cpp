#include "place/chunk_places.hpp"

#include "base/assert.hpp"
#include "base/range.hpp"

#include <algorithm>
#include <iterator>

namespace remanence::place {

using enum chunk_state;

chunk_state chunk_places::of(std::uint64_t chunk) const noexcept {
    const auto number = static_cast<std::size_t>(chunk / k_block_chunks);
    if (number < blocks_.size() && blocks_[number] != nullptr)
        return (*blocks_[number])[chunk % k_block_chunks];
    return as_begun(chunk);
}

bool chunk_places::is_anonymous(std::uint64_t chunk) const noexcept {
    const chunk_state now = of(chunk);
    return now == fresh || now == unmapped;
}

bool chunk_places::is_mapped_from_copy(std::uint64_t chunk) const noexcept {
    const chunk_state now = of(chunk);
    return now == mapped || now == spilled;
}

void chunk_places::spill(std::uint64_t chunk) {
    chunk_state& now = at(chunk);
    REM_ASSERT(now == fresh || now == spilled || now == mapped || now == moving);
    step(now, now == fresh || now == spilled ? spilled : moving);
}

void chunk_places::give_up(std::uint64_t chunk) {
    chunk_state& now = at(chunk);
    REM_ASSERT(now == spilled);
    step(now, fresh);
}

void chunk_places::commit_fresh(std::uint64_t chunk) {
    chunk_state& now = at(chunk);
    REM_ASSERT(now == fresh || now == spilled);
    step(now, now == fresh ? unmapped : mapped);
}

// A moved chunk moves back to the copy that its memory is still mapped from, and the memory of a moving chunk is mapped
// from its next copy already. So both become mapped.
void chunk_places::commit_relocated(std::uint64_t chunk) {
    chunk_state& now = at(chunk);
    REM_ASSERT(now != spilled);
    if (now == fresh || now == unmapped)
        step(now, unmapped);
    else
        step(now, now == mapped ? moved : mapped);
}

chunk_state chunk_places::map(std::uint64_t chunk) {
    chunk_state& now = at(chunk);
    REM_ASSERT(now != spilled);
    const chunk_state before = now;
    step(now, mapped);
    return before;
}

void chunk_places::forget(std::uint64_t chunk) {
    chunk_state& now = at(chunk);
    REM_ASSERT(now != spilled && now != moving);
    step(now, fresh);
}

chunk_state chunk_places::as_begun(std::uint64_t chunk) const noexcept {
    const auto behind = std::ranges::upper_bound(mapped_, chunk, {}, &chunk_range::first);
    return behind != mapped_.begin() && chunk < std::prev(behind)->end() ? mapped : fresh;
}

chunk_state& chunk_places::at(std::uint64_t chunk) {
    const auto number = static_cast<std::size_t>(chunk / k_block_chunks);
    if (blocks_.size() <= number)
        blocks_.resize(number + 1);
    if (blocks_[number] == nullptr) {
        auto made = std::make_unique<block>();
        for (std::uint64_t i = 0; i < k_block_chunks; ++i)
            (*made)[i] = as_begun(number * k_block_chunks + i);
        blocks_[number] = std::move(made);
    }
    return (*blocks_[number])[chunk % k_block_chunks];
}

void chunk_places::step(chunk_state& from, chunk_state to) {
    unmapped_ += to == unmapped ? 1U : 0U;
    unmapped_ -= from == unmapped ? 1U : 0U;
    from = to;
}

} // namespace remanence::place
