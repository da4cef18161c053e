#include "log/record.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"

#include <cstring>

namespace remanence::log {

using format::change_range;
using format::record_header;

namespace {

// Computes the checksum as if the header's own checksum field were 0.
std::uint64_t record_checksum(record_header header, std::span<const std::byte> payload) {
    header.checksum = 0;
    return checksum64(payload, checksum64(std::as_bytes(std::span(&header, 1))));
}

/// Reads structs one after the other from a byte string. failed() is true after one did not fit.
class reader {
public:
    explicit reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    std::span<const std::byte> take(std::uint64_t count) {
        if (count > bytes_.size()) {
            failed_ = true;
            return {};
        }
        auto taken = bytes_.first(static_cast<std::size_t>(count));
        bytes_ = bytes_.subspan(static_cast<std::size_t>(count));
        return taken;
    }
    template <class T>
    T take() {
        T value{};
        auto from = take(sizeof value);
        if (!failed_)
            std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
    [[nodiscard]] const std::byte* next() const { return bytes_.data(); }
    [[nodiscard]] bool failed() const { return failed_; }
    [[nodiscard]] bool at_end() const { return bytes_.empty(); }

private:
    std::span<const std::byte> bytes_;
    bool failed_ = false;
};

change_range range_at(std::span<const std::byte> ranges, std::size_t i) {
    change_range range{};
    std::memcpy(&range, ranges.data() + i * sizeof range, sizeof range);
    return range;
}

/// Reads the first part, which only records with k_feature_given_back have. Returns false if it is out of bounds.
bool read_given_back(reader& rest, const std::function<void(chunk_range)>& given_back) {
    const auto count = rest.take<std::uint64_t>();
    std::uint64_t next = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto entry = rest.take<format::given_back_chunks>();
        if (rest.failed() || entry.count == 0 || entry.first < next ||
            entry.first >= format::whole_chunk::k_in_copy_b ||
            entry.count >= format::whole_chunk::k_in_copy_b - entry.first)
            return false;
        next = entry.first + entry.count + 1; // runs have gaps between them
        if (given_back)
            given_back({entry.first, entry.count});
    }
    return count != 0;
}

} // namespace

void record_builder::clear() {
    bytes_.clear();
    bytes_.resize(sizeof(record_header));
    chunk_count_ = 0;
    page_count_ = 0;
    features_ = 0;
}

std::uint64_t record_builder::reserve(std::size_t chunks, std::size_t chunk_pages, std::size_t pages,
                                      std::span<const change_range> ranges, std::size_t event_bytes) {
    std::size_t bytes = sizeof(record_header) + event_bytes + pages * sizeof(format::page_change) +
                        ranges.size_bytes() +
                        chunks * (sizeof(format::whole_chunk) + chunk_pages * sizeof(std::uint32_t));
    for (const change_range& range : ranges)
        bytes += range.bytes;
    bytes = align_up(bytes, format::k_record_alignment);
    bytes_.reserve(bytes);
    return bytes;
}

std::uint64_t record_builder::bytes_to_give_back(std::size_t runs) {
    return align_up(sizeof(record_header) + sizeof(std::uint64_t) + runs * sizeof(format::given_back_chunks),
                    format::k_record_alignment);
}

void record_builder::give_back(std::span<const chunk_range> chunks) {
    REM_CHECK(bytes_.size() == sizeof(record_header) && !chunks.empty());
    const std::uint64_t count = chunks.size();
    append(&count, sizeof count);
    for (const chunk_range& run : chunks) {
        const format::given_back_chunks entry{run.first, run.count};
        append(&entry, sizeof entry);
    }
    features_ |= format::k_feature_given_back;
}

void record_builder::add_events(std::span<const std::byte> events) {
    REM_CHECK(bytes_.size() == sizeof(record_header));
    const std::uint64_t bytes = events.size();
    append(&bytes, sizeof bytes);
    append(events.data(), events.size());
    features_ |= format::k_feature_events;
}

void record_builder::append(const void* from, std::size_t bytes) {
    bytes_.append({static_cast<const std::byte*>(from), bytes});
}

void record_builder::add_chunk(std::uint64_t chunk, bool in_copy_b, std::span<const std::uint32_t> checksums) {
    REM_CHECK(page_count_ == 0); // chunks come before pages
    format::whole_chunk entry{chunk | (in_copy_b ? format::whole_chunk::k_in_copy_b : 0)};
    append(&entry, sizeof entry);
    append(checksums.data(), checksums.size_bytes());
    ++chunk_count_;
    if (!in_copy_b && format::is_without_contents(checksums))
        features_ |= format::k_feature_contents_in_log;
}

void record_builder::add_page(std::uint64_t index, std::uint32_t checksum, std::span<const change_range> ranges,
                              const std::byte* page) {
    format::page_change entry{static_cast<std::uint32_t>(index), static_cast<std::uint16_t>(index >> 32),
                              static_cast<std::uint16_t>(ranges.size()), checksum};
    append(&entry, sizeof entry);
    append(ranges.data(), ranges.size_bytes());
    for (const change_range& range : ranges)
        append(page + range.offset, range.bytes);
    ++page_count_;
}

std::span<const std::byte> record_builder::finish(const record_identity& identity, std::uint64_t image_bytes) {
    record_header header{};
    header.magic = format::k_record_magic;
    header.session = identity.session;
    header.epoch = identity.epoch;
    header.version = identity.version;
    header.predecessor = identity.predecessor;
    header.durable_through = identity.durable_through;
    header.payload_bytes = bytes_.size() - sizeof header;
    header.image_bytes = image_bytes;
    header.chunk_count = chunk_count_;
    header.page_count = page_count_;
    header.features = features_;
    checksum_ = record_checksum(header, std::span(bytes_).subspan(sizeof header));
    header.checksum = checksum_;
    std::memcpy(bytes_.data(), &header, sizeof header);
    bytes_.resize(static_cast<std::size_t>(record_bytes()));
    return bytes_;
}

bool placed_chunk::has_contents() const { return !format::is_without_contents(checksums); }

bool looks_like_record(std::span<const std::byte> bytes, record_header& header) {
    if (bytes.size() < sizeof header)
        return false;
    if (std::memcmp(bytes.data(), &format::k_record_magic, sizeof format::k_record_magic) != 0)
        return false; // tested before the copy, since this is called for each sector of a log
    std::memcpy(&header, bytes.data(), sizeof header);
    return true;
}

bool record_is_intact(std::span<const std::byte> record) {
    record_header header{};
    if (!looks_like_record(record, header))
        return false;
    if (header.payload_bytes != record.size() - sizeof header)
        return false;
    return header.checksum == record_checksum(header, record.subspan(sizeof header));
}

page_entry page_entry_at(const std::byte* at) {
    format::page_change change{};
    std::memcpy(&change, at, sizeof change);
    const std::span ranges(at + sizeof change, change.range_count * sizeof(change_range));
    std::size_t data_bytes = 0;
    for (std::size_t i = 0; i < change.range_count; ++i)
        data_bytes += range_at(ranges, i).bytes;
    return {at, change.page(), change.checksum, ranges, {ranges.data() + ranges.size(), data_bytes}};
}

void apply_ranges(const page_entry& entry, std::byte* page) {
    const std::byte* from = entry.data.data();
    for (std::size_t i = 0; i < entry.ranges.size() / sizeof(change_range); ++i) {
        change_range range = range_at(entry.ranges, i);
        std::memcpy(page + range.offset, from, range.bytes);
        from += range.bytes;
    }
}

std::optional<std::span<const std::byte>> events_in(std::span<const std::byte> record) {
    record_header header{};
    if (!looks_like_record(record, header) || (header.features & format::k_feature_events) == 0)
        return std::nullopt;
    reader rest(record.subspan(sizeof header));
    if ((header.features & format::k_feature_given_back) != 0 && !read_given_back(rest, {}))
        return std::nullopt;
    const auto events = rest.take(rest.take<std::uint64_t>());
    return rest.failed() ? std::nullopt : std::optional(events);
}

bool for_each_part(std::span<const std::byte> record, std::uint64_t chunk_pages,
                   const std::function<void(placed_chunk)>& chunk, const std::function<void(const page_entry&)>& page,
                   const std::function<void(chunk_range)>& given_back) {
    record_header header{};
    if (!looks_like_record(record, header) || (header.features & ~format::k_known_record_features) != 0)
        return false;
    const std::uint64_t image_pages = header.image_bytes / k_page_bytes;
    reader rest(record.subspan(sizeof header));
    if ((header.features & format::k_feature_given_back) != 0 && !read_given_back(rest, given_back))
        return false;
    if ((header.features & format::k_feature_events) != 0)
        rest.take(rest.take<std::uint64_t>());
    for (std::uint32_t i = 0; i < header.chunk_count; ++i) {
        auto entry = rest.take<format::whole_chunk>();
        auto sums = rest.take(chunk_pages * sizeof(std::uint32_t));
        if (rest.failed() || entry.chunk() >= image_pages / chunk_pages)
            return false;
        std::vector<std::uint32_t> checksums(static_cast<std::size_t>(chunk_pages));
        std::memcpy(checksums.data(), sums.data(), sums.size());
        chunk({entry.chunk(), entry.is_in_copy_b(), std::move(checksums)});
    }
    for (std::uint32_t i = 0; i < header.page_count; ++i) {
        const std::byte* const at = rest.next();
        auto change = rest.take<format::page_change>();
        const auto ranges = rest.take(change.range_count * sizeof(change_range));
        if (rest.failed() || change.page() >= image_pages)
            return false;
        std::uint64_t data_bytes = 0;
        for (std::size_t r = 0; r < change.range_count; ++r) {
            change_range range = range_at(ranges, r);
            if (range.offset > k_page_bytes || range.bytes > k_page_bytes - range.offset)
                return false;
            data_bytes += range.bytes;
        }
        const page_entry entry{at, change.page(), change.checksum, ranges, rest.take(data_bytes)};
        if (rest.failed())
            return false;
        page(entry);
    }
    return rest.at_end();
}

void record_totals::add(std::span<const std::byte> record, std::uint64_t chunk_pages) {
    static_cast<void>(for_each_part(
        record, chunk_pages,
        [&](const placed_chunk& placed) {
            for (const std::uint32_t checksum : placed.checksums)
                whole_pages += checksum != 0 ? 1U : 0U;
        },
        [&](const page_entry& page) {
            ++changed_pages;
            changed_bytes += page.data.size();
        }));
}

} // namespace remanence::log
