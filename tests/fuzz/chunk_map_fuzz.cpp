// Input: a byte that chooses the heap (odd: with a log), the map's checksum as the superblock has it, and the map.
#include "base/checksum.hpp"
#include "mutator.hpp"

#include <algorithm>
#include <array>

using namespace remanence;
using namespace remanence::fuzz;

namespace {

using format::chunk_exception;
constexpr std::size_t k_entries = 1 + sizeof(std::uint64_t);
constexpr std::size_t k_count_max = format::k_first_map_slot_bytes / sizeof(chunk_exception);
constexpr std::uint64_t k_map_seed = 0x6d6170; // docs/format.md

heap_files& files(std::size_t which) {
    static std::array<heap_files, 2> both{heap_files(heap_files::kind::closed),
                                          heap_files(heap_files::kind::unapplied)};
    return both[which];
}

std::size_t count_of(std::size_t size) {
    return size < k_entries ? 0 : std::min((size - k_entries) / sizeof(chunk_exception), k_count_max);
}

} // namespace

const std::size_t fuzz::k_input_bytes_max = k_entries + k_count_max * sizeof(chunk_exception);

std::size_t fuzz::mutate(std::span<std::uint8_t> room, std::size_t size, generator& random) {
    if (size < k_entries) { // a seed
        room[0] = static_cast<std::uint8_t>(random.below(2));
        const auto& map = files(room[0]).super().map;
        const std::size_t bytes = map.count * sizeof(chunk_exception);
        fuzz::store(room, 1, map.checksum);
        std::memcpy(room.data() + k_entries, files(room[0]).heap().data() + map.area_offset + map.slot * map.slot_bytes,
                    bytes);
        return k_entries + bytes;
    }
    std::size_t count = count_of(size);
    auto place_of = [](std::size_t i) { return k_entries + i * sizeof(chunk_exception); };
    switch (random.below(5)) {
    case 0:
        count = mutate_blindly(room.subspan(k_entries), count * sizeof(chunk_exception)) / sizeof(chunk_exception);
        break;
    case 1: // one more
        if (count < k_count_max) {
            fuzz::store(room, place_of(count),
                        chunk_exception{random.below(20), 1 + random.below(4), 0, random.below(20),
                                        format::chunk_encoding::zero, 0, 0});
            ++count;
        }
        break;
    case 2: // one less
        count -= count > 0 ? 1 : 0;
        break;
    case 3: // another encoding or version, which most heaps do not have
        if (count > 0) {
            const std::size_t at = place_of(random.below(count));
            auto entry = load<chunk_exception>(room, at);
            if (random.below(2) == 0)
                entry.encoding = format::chunk_encoding{static_cast<std::uint32_t>(random.below(4))};
            else
                entry.birth_version += random.below(5) - 2;
            fuzz::store(room, at, entry);
        }
        break;
    default: // another place or length
        if (count > 0) {
            const std::size_t at = place_of(random.below(count));
            auto entry = load<chunk_exception>(room, at);
            (random.below(2) == 0 ? entry.chunk : entry.run_length) += random.below(5) - 2;
            fuzz::store(room, at, entry);
        }
    }
    if (random.below(8) != 0) {
        fuzz::store(room, 1,
                    checksum64(std::as_bytes(room.subspan(k_entries, count * sizeof(chunk_exception))), k_map_seed));
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
