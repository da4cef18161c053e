// Input: patches of the allocator's state and metadata planes: each where (3 bytes), how many bytes (1), and the bytes.
// Then a program allocates and frees. Whatever the patches say, nothing outside the heap is touched; and what
// check_invariants() finds sound works as it should.
#include "alloc/block_allocator.hpp"
#include "base/range.hpp"
#include "unit/alloc/test_heap.hpp"

#include "heap_files.hpp"

#include <algorithm>
#include <cstring>
#include <map>

using namespace remanence;
using namespace remanence::alloc;
using remanence::fuzz::generator;
using remanence::fuzz::require;

namespace {

std::size_t any_size(generator& random) { return random.below((std::size_t{1} << (1 + random.below(17))) + 1); }

/// With something of everything: slabs, large blocks, free runs, three sections.
class populated_heap {
public:
    populated_heap() {
        generator random(1);
        std::vector<std::pair<void*, std::size_t>> blocks;
        for (int step = 0; step < 300; ++step) {
            const std::size_t bytes = any_size(random);
            blocks.emplace_back(heap_->allocate(bytes), bytes);
        }
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            if (random.below(3) != 0)
                heap_->deallocate(blocks[i].first, blocks[i].second);
        }
        contents_ = heap_.snapshot();
        metadata_.push_back({test_heap::k_state_offset, sizeof(format::alloc_state)});
        for (std::uint32_t i = 0; i < k_section_count; ++i) {
            const section& at = section_at(i);
            const std::uint64_t pages = heap_.state().used_pages[i];
            if (pages == 0)
                continue;
            const std::uint64_t all = at.first_data_page - at.first_page + pages;
            metadata_.push_back({at.descriptor_offset(at.first_page), all * sizeof(format::page_descriptor)});
            metadata_.push_back({at.used_bits_offset(at.first_page), all * k_bitmap_bytes});
            metadata_.push_back({at.start_bits_offset(at.first_page), all * k_bitmap_bytes});
        }
    }

    test_heap& opened() { return heap_; }
    void reset() {
        heap_.restore(contents_);
        heap_.open();
    }
    void patch(std::uint64_t where, std::span<const std::uint8_t> bytes) {
        // The state is as likely to be hit as a plane.
        const heap_range in = metadata_[where % metadata_.size()];
        const std::uint64_t offset = where / metadata_.size() % in.bytes;
        std::memcpy(heap_.base() + in.offset + offset, bytes.data(), std::min(bytes.size(), in.bytes - offset));
    }

private:
    test_heap heap_{{.limit_bytes = 16 * MiB, .step_bytes = k_page_bytes}};
    std::vector<std::byte> contents_;
    std::vector<heap_range> metadata_;
};

populated_heap& populated() {
    static populated_heap heap;
    return heap;
}

void use(test_heap& heap, std::uint64_t seed, bool sound) {
    generator random(seed);
    std::map<std::uint64_t, std::uint64_t> taken; // of the blocks there were, and the new ones: begin and end
    heap->for_each_block(
        [&](block each) { taken[heap.offset_of(each.start)] = heap.offset_of(each.start) + each.bytes; });
    for (int step = 0; step < 20; ++step) {
        const std::size_t bytes = any_size(random);
        const std::size_t alignment = random.below(8) == 0 ? 8 * KiB : k_granule_bytes;
        void* const got = heap->allocate(bytes, alignment);
        if (got == nullptr)
            continue;
        const std::uint64_t at = heap.offset_of(got);
        require(at <= heap.accessible_bytes() - bytes, "a block outside the heap");
        if (sound) {
            const auto after = taken.lower_bound(at + 1);
            require(after == taken.begin() || std::prev(after)->second <= at, "a block over another one");
            require(after == taken.end() || at + bytes <= after->first, "a block over another one");
            taken[at] = at + block_allocator::block_bytes(bytes, alignment);
        }
    }
    std::vector<block> found;
    heap->for_each_block([&](block each) {
        if (random.below(4) == 0)
            found.push_back(each);
    });
    for (const block& each : found) {
        const bool is_ambiguous = each.bytes <= k_small_bytes_max && is_aligned(each.bytes, k_page_bytes);
        if (is_ambiguous || heap->block_of(each.start) != each)
            continue;
        heap->deallocate(each.start, each.bytes);
        heap->free_returned(); // before the next one is asked about
    }
    heap->release_empty_slab();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    populated().reset();
    test_heap& heap = populated().opened();
    std::uint64_t seed = size;
    for (std::span input(data, size); input.size() > 4;) {
        const std::uint64_t where = input[0] | std::uint64_t{input[1]} << 8 | std::uint64_t{input[2]} << 16;
        const std::size_t bytes = std::min<std::size_t>(1 + input[3] % 16, input.size() - 4);
        populated().patch(where, input.subspan(4, bytes));
        seed = seed * 31 + where;
        input = input.subspan(4 + bytes);
    }
    const auto state = heap->check_state();
    require(state || state.why().code == errc::corrupt || state.why().code == errc::exhausted, "another error");
    const bool sound = heap->check_invariants([](std::uint64_t, std::string_view) {}) == 0;
    require(!sound || state, "what check_invariants() finds sound, check_state() refuses");
    use(heap, seed, sound);
    const bool still_sound = heap->check_invariants([](std::uint64_t, std::string_view) {}) == 0;
    require(!sound || (still_sound && !heap->damaged()), "a sound heap is not sound after use");
    return 0;
}
