// Input: a byte that chooses the heap (odd: with a log), the map's checksum as the superblock has it, and the map.
#include "base/checksum.hpp"
#include "heap_files.hpp"

#include <algorithm>
#include <array>

using namespace remanence;
using namespace remanence::fuzz;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using format::chunk_exception;
constexpr std::size_t k_entries = 1 + sizeof(std::uint64_t);
constexpr std::size_t k_count_max = format::k_first_map_slot_bytes / sizeof(chunk_exception);
constexpr std::size_t k_size_max = k_entries + k_count_max * sizeof(chunk_exception);
constexpr std::uint64_t k_map_seed = 0x6d6170; // docs/format.md

heap_files& files(std::size_t which) {
    static std::array<heap_files, 2> both{heap_files(heap_files::kind::closed), heap_files(heap_files::kind::unfolded)};
    return both[which];
}

std::size_t count_of(std::size_t size) {
    return size < k_entries ? 0 : std::min((size - k_entries) / sizeof(chunk_exception), k_count_max);
}

} // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    generator random(seed);
    if (max_size < k_size_max)
        return size;
    if (size < k_entries) { // a seed
        data[0] = static_cast<std::uint8_t>(random.below(2));
        const auto& map = files(data[0]).super().map;
        const std::size_t bytes = map.count * sizeof(chunk_exception);
        std::memcpy(data + 1, &map.checksum, sizeof map.checksum);
        std::memcpy(data + k_entries, files(data[0]).heap().data() + map.area_offset + map.slot * map.slot_bytes,
                    bytes);
        return k_entries + bytes;
    }
    std::size_t count = count_of(size);
    const std::span<std::uint8_t> input(data, k_size_max);
    auto place_of = [](std::size_t i) { return k_entries + i * sizeof(chunk_exception); };
    switch (random.below(4)) {
    case 0:
        count = (LLVMFuzzerMutate(data + k_entries, count * sizeof(chunk_exception), k_size_max - k_entries)) /
                sizeof(chunk_exception);
        break;
    case 1: // one more
        if (count < k_count_max) {
            fuzz::store(input, place_of(count),
                        chunk_exception{random.below(20), 1 + random.below(4), 0, random.below(20),
                                        format::chunk_encoding::zero, 0, 0});
            ++count;
        }
        break;
    case 2: // one less
        count -= count > 0 ? 1 : 0;
        break;
    default: // another place or length
        if (count > 0) {
            const std::size_t at = place_of(random.below(count));
            auto entry = load<chunk_exception>(input, at);
            (random.below(2) == 0 ? entry.chunk : entry.run_length) += random.below(5) - 2;
            fuzz::store(input, at, entry);
        }
    }
    if (random.below(8) != 0) {
        fuzz::store(input, 1,
                    checksum64(std::as_bytes(input.subspan(k_entries, count * sizeof(chunk_exception))), k_map_seed));
    }
    return place_of(count);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < k_entries)
        return 0;
    const std::span input(data, size);
    heap_files& heap = files(data[0] % 2);
    heap.reset();
    format::superblock super = heap.super();
    super.map.count = count_of(size);
    super.map.checksum = load<std::uint64_t>(input, 1);
    const std::uint64_t place = super.sequence % 2;
    super.checksum =
        checksum64(std::as_bytes(std::span(&super, 1)).first(offsetof(format::superblock, checksum)), place);
    std::array<std::uint8_t, sizeof super> bytes{};
    std::memcpy(bytes.data(), &super, sizeof super);
    heap.write_heap(place * format::k_superblock_bytes, bytes);
    heap.write_heap(super.map.area_offset + super.map.slot * super.map.slot_bytes,
                    input.subspan(k_entries, super.map.count * sizeof(chunk_exception)));
    heap.open_and_use();
    return 0;
}
