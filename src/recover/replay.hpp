// Applies the records of a log to the image: gives their chunks a place, and applies the changes page by page. May use:
// base, os, format, store.
//
// recover(), which stops at the first error, and salvage(), which passes over errors, share these steps. Replay is
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

/// A change of one page, as a reference into a scanned record. There may be millions, so they are small.
struct page_reference {
    std::uint64_t version;
    const std::byte* entry; // for page_entry_at()
};

/// All changes of one page, in the order of the commits.
struct replayed_page {
    std::uint64_t index;
    std::span<const page_reference> changes;
    std::optional<std::uint64_t> birth; // version of the record that placed its chunk, or gave it back

    /// Applies the changes that are younger than the chunk (R3). Returns the checksum that the page must then have:
    /// that of the last change, or `before` if there is none.
    std::uint32_t apply(std::span<std::byte> page, std::uint32_t before) const;
};

using chunk_births = std::unordered_map<std::uint64_t, std::uint64_t>;

class replay {
public:
    replay(store::chunk_copies& copies, store::whole_chunks& chunks, std::string log_path)
        : copies_(copies), chunks_(chunks), log_path_(std::move(log_path)) {}

    using contents_query = std::function<result<bool>(std::uint64_t chunk)>;
    /// Gives back the record's chunks, places others, and notes its page changes. If the record does not fit the heap,
    /// does nothing and returns errc::corrupt, with its offset in the log. The record must outlive this.
    result<void> add(const scanned_record& record, const contents_query& has_contents);

    /// Leaves out changes of pages that have no place. Call it after the last record, since any record may place a
    /// chunk or give it back (R3). errc::corrupt if there are such changes in a chunk that no later record gave back.
    result<void> leave_out_what_has_no_place();

    /// Applies the page's records to its bytes, which are zeros at first. Returns the checksum that the page must have.
    using page_maker = std::function<result<std::uint32_t>(const replayed_page&, std::span<std::byte> bytes)>;
    using page_sink = std::function<result<void>(std::span<const store::applied_page>)>;
    /// Passes all changed pages to `sink`, sorted, in batches: so memory stays bounded, and neighbouring pages are one
    /// write. Leaves out pages that were written whole with their chunk after their last change (R3).
    result<void> apply(const page_maker& make, const page_sink& sink, const progress_callback& progress);

    /// Returns the chunks that were placed or given back, and by which version.
    [[nodiscard]] const chunk_births& births() const { return births_; }

private:
    struct parts;
    /// Fails as add() does. Changes nothing but `all`.
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
        std::size_t page; // in pages_
    };
    std::vector<touched_page> pages_;                       // in the order of their first changes
    std::unordered_map<std::uint64_t, std::size_t> places_; // position in pages_, by index
    std::vector<noted_change> changes_;
};

} // namespace remanence::recover
