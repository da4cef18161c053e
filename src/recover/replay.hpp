// Applies the records of a log to the image: places their chunks, and applies their changes page by page. May use:
// base, os, format, store.
//
// Two functions use these steps: recover(), which stops at the first error, and salvage(), which continues. Replay is
// idempotent: ranges are applied in order to pages that may hold any mixture of old and new sectors (R6). So an
// interrupted recovery is simply repeated.
#pragma once

#include "base/result.hpp"
#include "log/record.hpp"
#include "recover/scan.hpp"
#include "store/chunk_copies.hpp"
#include "store/image_writer.hpp"
#include "store/whole_chunks.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace remanence::recover {

using progress_callback = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// A change of one page, as a reference into a scanned record. Kept small, since there may be millions.
struct page_reference {
    std::uint64_t version;
    const std::byte* entry; // for page_entry_at()
};

/// All changes of one page, in the order of the commits.
struct replayed_page {
    std::uint64_t index;
    std::span<const page_reference> changes;
    std::optional<std::uint64_t> birth; // version of the record that placed the page's chunk or gave it back

    /// Applies the changes that are younger than the chunk (R3). Returns the checksum that the page must then have: the
    /// one in the last change, or `before` if there is no change.
    std::uint32_t apply(std::span<std::byte> page, std::uint32_t before) const;
};

using chunk_births = std::unordered_map<std::uint64_t, std::uint64_t>;

class replay {
public:
    replay(store::chunk_copies& copies, store::whole_chunks& chunks, std::string log_path)
        : copies_(copies), chunks_(chunks), log_path_(std::move(log_path)) {}

    using contents_query = std::function<result<bool>(std::uint64_t chunk)>;
    /// Gives back the record's chunks, places others, and notes its page changes. If the record does not fit the heap,
    /// does nothing and returns errc::corrupt, with the record's offset in the log. The record must outlive this
    /// object.
    result<void> add(const scanned_record& record, const contents_query& has_contents);

    /// Discards changes of pages whose chunk is not stored. Must be called after the last record was added, since any
    /// record may place a chunk or give it back (R3). errc::corrupt if a later record did not give back the chunk of
    /// such a change.
    result<void> leave_out_what_has_no_place();

    /// Applies a page's records to `bytes`, which are zeros at first. Returns the checksum that the page must have.
    using page_maker = std::function<result<std::uint32_t>(const replayed_page&, std::span<std::byte> bytes)>;
    using page_sink = std::function<result<void>(std::span<const store::applied_page>)>;
    /// Makes all changed pages, and passes them to `sink`, sorted, in batches: so memory stays bounded, and contiguous
    /// pages make one write. Skips pages whose chunk was written whole after their last change (R3).
    result<void> apply(const page_maker& make, const page_sink& sink, const progress_callback& progress);

    /// Returns the chunks that were placed or given back, each with the version that did so.
    [[nodiscard]] const chunk_births& births() const { return births_; }

private:
    struct parts;
    /// Finds the parts of the record, without changing anything but `all`. Fails as add() does.
    result<void> sort(const scanned_record& record, const contents_query& has_contents, parts& all) const;
    void take(std::uint64_t version, parts& all);

    store::chunk_copies& copies_;
    store::whole_chunks& chunks_;
    std::string log_path_;
    chunk_births births_;
    struct touched_page {
        std::uint64_t index;
        std::size_t changes; // number of changes
        std::uint64_t last_version;
        bool has_place = true;
    };
    struct noted_change {
        page_reference change;
        std::size_t page; // index in pages_
    };
    std::vector<touched_page> pages_;                       // ordered by their first changes
    std::unordered_map<std::uint64_t, std::size_t> places_; // page index to position in pages_
    std::vector<noted_change> changes_;
};

} // namespace remanence::recover
