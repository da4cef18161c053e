// What the records of a log make of the image: their chunks get a place, and page by page the changes are applied. May
// use: base, os, format, store.
//
// These are the steps that recover(), which ends at the first thing that is wrong, and salvage(), which passes over it,
// have in common. Replay is idempotent: ranges are applied in order onto pages that hold any mixture of old and new
// sectors (R6), so that a recovery cut short is simply repeated.
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

/// A change of one page, by reference into a scanned record. There may be millions, and so they are small.
struct page_reference {
    std::uint64_t version;
    const std::byte* entry; // for page_entry_at()
};

/// All that the records change in one page, in the order of the commits.
struct replayed_page {
    std::uint64_t index;
    std::span<const page_reference> changes;
    std::optional<std::uint64_t> birth; // version of the record that placed its chunk, or gave it back

    /// Applies what is younger than the chunk (R3). Returns the checksum that the page must have then: that of the last
    /// change, or `before` when there is none.
    std::uint32_t apply(std::span<std::byte> page, std::uint32_t before) const;
};

using chunk_births = std::unordered_map<std::uint64_t, std::uint64_t>;

class replay {
public:
    replay(store::chunk_copies& copies, store::whole_chunks& chunks, std::string log_path)
        : copies_(copies), chunks_(chunks), log_path_(std::move(log_path)) {}

    using contents_query = std::function<result<bool>(std::uint64_t chunk)>;
    /// Gives back the record's chunks, gives others their place, and takes up its page changes. When it does not fit the heap,
    /// nothing of it: errc::corrupt at its offset in the log. It must stay as long as this.
    result<void> add(const scanned_record& record, const contents_query& has_contents);

    /// After the last record, since any may place a chunk, or give it back (R3): leaves out the changes of pages that have no
    /// place; errc::corrupt when there are such that a later record did not give back.
    result<void> leave_out_what_has_no_place();

    /// Makes the bytes of a page, given as zeros, what its records say, and returns the checksum it is to have.
    using page_maker = std::function<result<std::uint32_t>(const replayed_page&, std::span<std::byte> bytes)>;
    using page_sink = std::function<result<void>(std::span<const store::applied_page>)>;
    /// Hands all changed pages over, sorted, in batches: memory stays bounded and neighbouring pages go out in one write. Not
    /// those that were written whole with their chunk after their last change (R3).
    result<void> apply(const page_maker& make, const page_sink& sink, const progress_callback& progress);

    /// Which chunks were placed or given back, and by which version.
    [[nodiscard]] const chunk_births& births() const { return births_; }

private:
    struct parts;
    /// Fails as add() does, and changes nothing but `all`.
    result<void> sort(const scanned_record& record, const contents_query& has_contents, parts& all) const;
    void take(std::uint64_t version, parts& all);

    store::chunk_copies& copies_;
    store::whole_chunks& chunks_;
    std::string log_path_;
    chunk_births births_;
    struct touched_page {
        std::uint64_t index;
        std::size_t changes; // how many
        std::uint64_t last_version;
        bool has_place = true;
    };
    struct noted_change {
        page_reference change;
        std::size_t page; // in pages_
    };
    std::vector<touched_page> pages_;                       // in the order of their first changes
    std::unordered_map<std::uint64_t, std::size_t> places_; // where in pages_, by index
    std::vector<noted_change> changes_;
};

} // namespace remanence::recover
