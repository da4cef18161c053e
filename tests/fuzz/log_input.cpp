#include "log_input.hpp"

#include "base/checksum.hpp"
#include "heap_files.hpp"

#include <algorithm>

namespace remanence::fuzz {

using format::log_header;
using format::record_header;

std::vector<std::uint8_t> log_input(const std::vector<std::byte>& log, std::size_t bytes_max) {
    std::vector<std::uint8_t> input(std::min(bytes_max, k_records + log.size() - format::k_log_header_bytes));
    std::memcpy(input.data(), log.data(), k_records);
    std::memcpy(input.data() + k_records, log.data() + format::k_log_header_bytes, input.size() - k_records);
    return input;
}

std::vector<std::size_t> record_places(std::span<const std::uint8_t> input) {
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

void repair_log(std::span<std::uint8_t> input, const format::superblock& super, bool loose) {
    auto head = load<log_header>(input, 0);
    head.checksum = checksum64(std::as_bytes(std::span(&head, 1)).first(offsetof(log_header, checksum)));
    store(input, 0, head);
    std::uint64_t version = super.checkpoint_version;
    std::uint64_t predecessor = super.chain;
    for (const std::size_t at : record_places(input)) {
        auto header = load<record_header>(input, at);
        header.payload_bytes = std::min<std::uint64_t>(header.payload_bytes, input.size() - at - sizeof header);
        if (!loose) {
            header.session = super.session;
            header.epoch = super.epoch;
            header.version = ++version;
            header.predecessor = predecessor;
        }
        header.checksum = 0;
        header.checksum = checksum64(std::as_bytes(input.subspan(at + sizeof header, header.payload_bytes)),
                                     checksum64(std::as_bytes(std::span(&header, 1))));
        predecessor = header.checksum;
        store(input, at, header);
    }
}

} // namespace remanence::fuzz
