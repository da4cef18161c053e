// Input: the log's header, and what lies from its first record on.
#include "base/checksum.hpp"
#include "format/log_record.hpp"
#include "log/record.hpp"
#include "mutator.hpp"

#include <algorithm>
#include <memory>
#include <vector>

using namespace remanence;
using namespace remanence::fuzz;

namespace {

using format::log_header;
using format::record_header;
constexpr std::size_t k_records = sizeof(log_header);

heap_files& files() {
    static heap_files unfolded(heap_files::kind::unfolded);
    return unfolded;
}

/// Where each record of the input seems to begin, as far as one leads to the next.
std::vector<std::size_t> places(std::span<const std::uint8_t> input) {
    std::vector<std::size_t> found;
    for (std::size_t at = k_records; at + sizeof(record_header) <= input.size();) {
        const auto header = load<record_header>(input, at);
        if (header.magic != format::k_record_magic)
            break;
        found.push_back(at);
        const std::size_t rest = input.size() - at - sizeof header;
        at += align_up(sizeof header + std::min<std::uint64_t>(header.payload_bytes, rest), format::k_record_alignment);
    }
    return found;
}

/// Checksums fit again and, unless `loose`, each record follows the one before.
void repair(std::span<std::uint8_t> input, bool loose) {
    auto head = load<log_header>(input, 0);
    head.checksum = checksum64(std::as_bytes(std::span(&head, 1)).first(offsetof(log_header, checksum)));
    fuzz::store(input, 0, head);
    const format::superblock& super = files().super();
    std::uint64_t version = super.checkpoint_version;
    std::uint64_t predecessor = super.chain;
    for (const std::size_t at : places(input)) {
        auto header = load<record_header>(input, at);
        header.payload_bytes = std::min<std::uint64_t>(header.payload_bytes, input.size() - at - sizeof header);
        if (!loose) {
            header.uuid = super.uuid;
            header.epoch = super.epoch;
            header.version = ++version;
            header.predecessor = predecessor;
        }
        header.checksum = 0;
        header.checksum = checksum64(std::as_bytes(input.subspan(at + sizeof header, header.payload_bytes)),
                                     checksum64(std::as_bytes(std::span(&header, 1))));
        predecessor = header.checksum;
        fuzz::store(input, at, header);
    }
}

/// A number in a header, or in the first entries of the payload, becomes another one that is not far-fetched.
void change_a_number(std::span<std::uint8_t> input, std::size_t record, generator& random) {
    const std::size_t at = record + (random.below(2) == 0 ? 8 * random.below(sizeof(record_header) / 8)
                                                          : sizeof(record_header) + 2 * random.below(60));
    if (at + 8 > input.size())
        return;
    const int shift = static_cast<int>(16 * random.below(2));
    auto value = load<std::uint64_t>(input, at);
    switch (random.below(4)) {
    case 0:
        value += std::uint64_t{1} << shift;
        break;
    case 1:
        value -= std::uint64_t{1} << shift;
        break;
    case 2:
        value ^= std::uint64_t{1} << random.below(64);
        break;
    default:
        value = (value >> 16 << 16) | random.below(std::uint64_t{1} << 16);
        break;
    }
    fuzz::store(input, at, value);
}

} // namespace

const std::size_t fuzz::k_input_bytes_max = 20'000;

std::size_t fuzz::mutate(std::span<std::uint8_t> room, std::size_t size, generator& random) {
    if (size < k_records + sizeof(record_header)) { // a seed
        const auto& log = files().log();
        std::memcpy(room.data(), log.data(), k_records);
        std::memcpy(room.data() + k_records, log.data() + format::k_log_header_bytes, room.size() - k_records);
        return room.size();
    }
    const auto records = places(room.first(size));
    if (records.empty() || random.below(4) == 0) {
        size = mutate_blindly(room, size);
    } else {
        for (std::uint64_t n = 1 + random.below(2); n > 0; --n)
            change_a_number(room.first(size), records[random.below(records.size())], random);
    }
    if (size >= k_records && random.below(8) != 0)
        repair(room.first(size), random.below(4) == 0);
    return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < k_records)
        return 0;
    const std::span input(data, size);
    for (const std::size_t at : places(input)) { // parts, each in memory of exactly their size
        const std::vector<std::uint8_t> record(input.begin() + static_cast<std::ptrdiff_t>(at), input.end());
        const auto page = std::make_unique<std::byte[]>(k_page_bytes);
        static_cast<void>(log::for_each_part(
            std::as_bytes(std::span(record)), 16, [](std::uint64_t, const std::vector<std::uint32_t>&) {},
            [&](const log::page_entry& entry) { log::apply_ranges(entry, page.get()); }));
    }
    files().reset();
    files().write_log(0, input.first(k_records));
    files().write_log(format::k_log_header_bytes, input.subspan(k_records));
    files().open_and_use();
    return 0;
}
