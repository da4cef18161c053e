#include "store/whole_chunks.hpp"

#include <utility>

namespace remanence::store {

namespace {

constexpr std::uint64_t k_direct_bytes_min = 64 * KiB;

} // namespace

// Long writes go straight to the device. Short ones go to the page cache, which gathers them, since waiting for the
// device after each would be slow.
result<void> whole_chunks::write_pages(os::call_site where, std::uint64_t offset, std::span<const std::byte> pages) {
    return pages.size() < k_direct_bytes_min ? file_.file().write(where, offset, pages)
                                             : file_.file().write_direct(where, offset, pages);
}

result<void> whole_chunks::write_fresh(std::uint64_t first_page, std::span<const std::byte> pages) {
    const std::uint64_t last = first_page * k_page_bytes + pages.size() - 1;
    REM_TRY(file_.extend_to(copies_.end_of_copy(last / copies_.where().chunk_bytes()))); // if room was not reserved
    return write_pages("store: fresh pages", copies_.copy_of(first_page * k_page_bytes), pages);
}

result<void> whole_chunks::write_relocated(std::uint64_t first_page, std::span<const std::byte> pages) {
    const std::uint64_t first_chunk = first_page / copies_.where().chunk_pages();
    const std::uint64_t in_chunk = first_page % copies_.where().chunk_pages() * k_page_bytes;
    const std::uint64_t copy = copies_.other_copy_of(first_chunk);
    REM_TRY(file_.extend_to(copy + align_up(in_chunk + pages.size(), copies_.where().chunk_bytes())));
    return write_pages("store: relocated extents", copy + in_chunk, pages);
}

void whole_chunks::accept_fresh(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version) {
    copies_.place_fresh(chunk, version);
    checksums_.add_fresh(chunk, std::move(checksums));
}

void whole_chunks::accept_relocated(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version,
                                    bool maps_former_copy) {
    copies_.move(chunk, version, maps_former_copy);
    checksums_.replace(chunk, std::move(checksums));
}

// The tables must forget the checksums of these chunks' pages, which read as zeros if the chunks are stored again.
void whole_chunks::accept_given_back(std::span<const chunk_range> chunks, std::uint64_t version) {
    copies_.give_back(chunks, version);
    const std::vector<std::uint32_t> zeros(static_cast<std::size_t>(copies_.where().chunk_pages()));
    for (const chunk_range& run : chunks) {
        for (std::uint64_t chunk = run.first; chunk < run.end(); ++chunk)
            checksums_.replace(chunk, zeros);
    }
}

} // namespace remanence::store
