// Input: the log's header, and what lies from its first record on. Where in that the log's beginning is, so that the
// window is in two parts, a field of the header says that nobody else reads.
#include "log/record.hpp"
#include "log_input.hpp"
#include "mutator.hpp"

#include <algorithm>
#include <memory>
#include <vector>

using namespace remanence;
using namespace remanence::fuzz;

namespace {

using format::record_header;

heap_files& files() {
    static heap_files unapplied(heap_files::kind::unapplied);
    return unapplied;
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

/// How many bytes of records come to lie before those at the log's beginning.
std::size_t far_bytes_of(std::span<const std::uint8_t> input, const std::vector<std::size_t>& records) {
    const auto count = load<format::log_header>(input, 0).zero;
    if (count == 0 || records.empty())
        return 0;
    return (count < records.size() ? records[count] : input.size()) - k_records;
}

} // namespace

const std::size_t fuzz::k_input_bytes_max = 20'000;

std::size_t fuzz::mutate(std::span<std::uint8_t> room, std::size_t size, generator& random) {
    if (size < k_records + sizeof(record_header)) { // a seed
        const auto log = log_input(files().log(), room.size());
        std::copy(log.begin(), log.end(), room.begin());
        return room.size();
    }
    const auto records = record_places(room.first(size));
    if (records.empty() || random.below(4) == 0) {
        size = mutate_blindly(room, size);
    } else {
        for (std::uint64_t n = 1 + random.below(2); n > 0; --n)
            change_a_number(room.first(size), records[random.below(records.size())], random);
    }
    if (size >= k_records && random.below(3) == 0) {
        auto header = load<format::log_header>(room, 0);
        header.zero = static_cast<std::uint32_t>(random.below(records.size() + 2));
        fuzz::store(room, 0, header);
    }
    if (size >= k_records && random.below(8) != 0)
        repair_log(room.first(size), files().super(), random.below(4) == 0);
    return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < k_records)
        return 0;
    const std::span input(data, size);
    const auto records = record_places(input);
    for (const std::size_t at : records) { // parts, each in memory of exactly their size
        const std::vector<std::uint8_t> record(input.begin() + static_cast<std::ptrdiff_t>(at), input.end());
        const auto page = std::make_unique<std::byte[]>(k_page_bytes);
        static_cast<void>(log::for_each_part(
            std::as_bytes(std::span(record)), 16, [](const log::placed_chunk&) {},
            [&](const log::page_entry& entry) { log::apply_ranges(entry, page.get()); }));
    }
    files().reset();
    files().write_log_input(input, far_bytes_of(input, records));
    files().open_and_use();
    return 0;
}
