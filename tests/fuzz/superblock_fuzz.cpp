// Input: a byte that chooses the heap (odd: with a log), then what lies in the places of the two superblocks.
#include "base/checksum.hpp"
#include "mutator.hpp"

#include <algorithm>
#include <array>

using namespace remanence;
using namespace remanence::fuzz;

namespace {

constexpr std::size_t k_super = sizeof(format::superblock);
constexpr std::size_t k_whole = 1 + 2 * k_super;

heap_files& files(std::size_t which) {
    static std::array<heap_files, 2> both{heap_files(heap_files::kind::closed),
                                          heap_files(heap_files::kind::unapplied)};
    return both[which];
}

void reseal(std::span<std::uint8_t> input, std::uint64_t place) {
    auto s = load<format::superblock>(input, 1 + place * k_super);
    s.checksum = checksum64(std::as_bytes(std::span(&s, 1)).first(offsetof(format::superblock, checksum)), place);
    fuzz::store(input, 1 + place * k_super, s);
}

/// A field of one of them becomes another plausible number: bytes alone rarely hit what matters.
void change_a_field(std::span<std::uint8_t> input, generator& random) {
    constexpr std::size_t k_first = offsetof(format::superblock, sequence);
    constexpr std::size_t k_last = offsetof(format::superblock, regions) + 3 * sizeof(format::region);
    constexpr std::size_t k_history = offsetof(format::superblock, history); // and what follows it
    const std::size_t field = random.below(8) == 0
                                  ? k_history + 8 * random.below((offsetof(format::superblock, zero) - k_history) / 8)
                                  : k_first + 8 * random.below((k_last - k_first) / 8);
    const std::size_t at = 1 + random.below(2) * k_super + field;
    auto value = load<std::uint64_t>(input, at);
    switch (random.below(6)) {
    case 0:
        value += 1;
        break;
    case 1:
        value -= 1;
        break;
    case 2:
        value = std::uint64_t{1} << random.below(64);
        break;
    case 3:
        value += k_page_bytes << random.below(20);
        break;
    case 4:
        value -= k_page_bytes << random.below(20);
        break;
    default:
        value = load<std::uint64_t>(input, 1 + random.below(2) * k_super + 8 * random.below(60));
        break;
    }
    fuzz::store(input, at, value);
}

} // namespace

const std::size_t fuzz::k_input_bytes_max = k_whole;

std::size_t fuzz::mutate(std::span<std::uint8_t> room, std::size_t size, generator& random) {
    if (size != k_whole) { // a seed
        room[0] = static_cast<std::uint8_t>(random.below(2));
        std::memcpy(room.data() + 1, files(room[0]).heap().data(), 2 * k_super);
        return k_whole;
    }
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
        if (random.below(4) == 0)
            static_cast<void>(mutate_blindly(room.subspan(1 + random.below(2) * k_super, k_super), k_super));
        else
            change_a_field(room, random);
    }
    for (std::uint64_t place = 0; place < 2; ++place) {
        if (random.below(8) != 0)
            reseal(room, place);
    }
    return k_whole;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2)
        return 0;
    heap_files& heap = files(data[0] % 2);
    heap.reset();
    heap.write_heap(0, std::span(data, std::min(size, k_whole)).subspan(1));
    heap.open_and_use();
    return 0;
}
