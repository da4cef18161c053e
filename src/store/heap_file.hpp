// The heap file: opened, identified, and taken apart into what its callers hold. May use: base, os, format. Knows nothing of
// log records or of objects; the callers say when something is durable elsewhere.
//
// It owns the file and its parts, and has the functions that concern all of them. Who uses a heap file holds the part that he
// needs: the image (what is committed), the homes (which may change), room, whole chunks, the writer of checkpoints, unused
// space. All of it is under one lock, the lock of the store, which the engine has.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "format/log_record.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/chunk_homes.hpp"
#include "store/commit_room.hpp"
#include "store/heap_creation.hpp"
#include "store/image.hpp"
#include "store/image_writer.hpp"
#include "store/page_checksums.hpp"
#include "store/sized_file.hpp"
#include "store/superblock_pair.hpp"
#include "store/superblocks.hpp"
#include "store/unused_space.hpp"
#include "store/whole_chunks.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::store {

/// Of a heap that says of no application that it is its: whether one may have it.
enum class unstated { refused, taken };

class heap_file {
public:
    /// Makes an empty heap, as create_empty() does, and opens it.
    static result<std::unique_ptr<heap_file>> create(os::file_system& files, const std::string& path,
                                                     const creation& how);
    /// Locks and validates. errc::in_use when somebody else holds it; errc::unsupported_format when it is of an older format.
    static result<std::unique_ptr<heap_file>> open(os::file_system& files, const std::string& path, os::access mode);
    /// The same of any format that can be upgraded.
    static result<std::unique_ptr<heap_file>> open_to_upgrade(os::file_system& files, const std::string& path,
                                                              os::access mode);

    /// none_if_free: it is not locked, but errc::in_use while somebody else has it for writing, asked when the superblock
    /// has been read. Who opens it for writing later writes another superblock before all else that this one names, but for
    /// what the log restores.
    enum class locking { yes, none_if_free, no };
    /// As open() for reading and writing, but goes on where the heap can still be looked at, and tells of what is wrong: a
    /// file that ends too early, a damaged chunk map. For files that keep changes to themselves (os/overlay_files.hpp).
    /// Without the lock others may write meanwhile: what is read is checked, and may not fit together.
    static result<std::unique_ptr<heap_file>> open_damaged(os::file_system& files, const std::string& path,
                                                           const std::function<void(const failure&)>& damaged,
                                                           locking lock = locking::yes);

    heap_file(const heap_file&) = delete;
    heap_file& operator=(const heap_file&) = delete;
    ~heap_file() = default;

    // What it is.

    [[nodiscard]] const std::string& path() const { return sized_.path(); }
    [[nodiscard]] os::file& file() { return sized_.file(); }
    [[nodiscard]] const format::superblock& super() const { return supers_.ruling(); }
    [[nodiscard]] bool is_clean() const { return supers_.is_clean(); }
    [[nodiscard]] std::string_view abi() const;
    /// Whose heap it is; empty when nobody said.
    [[nodiscard]] std::string_view application() const;
    /// errc::wrong_application when a program that says it is `application` has no business here; one that says nothing may
    /// look at anything.
    [[nodiscard]] result<void> check_application(std::string_view application, unstated when) const;
    /// Of the last log.
    [[nodiscard]] session_identity session() const { return {super().epoch, super().session}; }
    /// Of the next one; another one each time.
    [[nodiscard]] result<session_identity> next_session() const;

    // Its parts.

    [[nodiscard]] superblock_pair& supers() { return supers_; }
    [[nodiscard]] const superblock_pair& supers() const { return supers_; }
    [[nodiscard]] const layout& where() const { return homes_.where(); }
    [[nodiscard]] chunk_homes& homes() { return homes_; }
    [[nodiscard]] const chunk_homes& homes() const { return homes_; }
    [[nodiscard]] page_checksums& checksums() { return checksums_; }
    [[nodiscard]] store::image& image() { return image_; }
    [[nodiscard]] const store::image& image() const { return image_; }
    [[nodiscard]] commit_room& room() { return room_; }
    [[nodiscard]] store::whole_chunks& whole_chunks() { return whole_chunks_; }
    [[nodiscard]] image_writer& writer() { return writer_; }
    [[nodiscard]] unused_space& unused() { return unused_; }

    // What concerns all of it.

    /// Publishes a superblock of this release's format, and of this application unless that is empty, which says the same
    /// else. Precondition: it is clean, and nobody has committed.
    result<void> upgrade(std::string_view application);
    /// errc::truncated when the file ends before what was written of the image, chunks accepted since included. Chunks behind
    /// that, which have their contents in the log, are made to belong to the file, to be mapped: they read as zeros.
    result<void> extend_to_image();

    // The names that callers use until they hold the parts.

    [[nodiscard]] std::optional<std::uint64_t> other_superblock_damage() const { return supers_.other_damage(); }
    [[nodiscard]] std::uint64_t chunk_bytes() const { return where().chunk_bytes(); }
    [[nodiscard]] std::uint64_t chunk_pages() const { return where().chunk_pages(); }
    [[nodiscard]] std::uint64_t image_bytes() const { return homes_.image_bytes(); }
    [[nodiscard]] bool is_stored(std::uint64_t chunk) const { return homes_.is_stored(chunk); }
    [[nodiscard]] std::vector<extent> extents() const { return homes_.extents(); }
    [[nodiscard]] std::uint64_t home_of(std::uint64_t heap_offset) const { return homes_.home_of(heap_offset); }
    [[nodiscard]] std::optional<std::uint64_t> heap_offset_at(std::uint64_t file_offset) const {
        return homes_.heap_offset_at(file_offset);
    }
    [[nodiscard]] std::vector<layout::homes> all_homes() const { return where().all_homes(); }
    [[nodiscard]] std::uint64_t region_bytes() const { return where().region_bytes(); }
    [[nodiscard]] std::uint64_t layout_end() const { return homes_.file_end(); }
    result<void> read_pages(std::uint64_t first_page, std::span<std::byte> into) {
        return image_.read_pages(first_page, into);
    }
    result<std::uint32_t> checksum_of(std::uint64_t page) { return checksums_.of(page); }
    [[nodiscard]] std::span<const checksum_table> tables() const { return checksums_.tables(); }
    [[nodiscard]] const page_checksums::of_chunks& unpublished() const { return checksums_.unpublished(); }
    result<void> add_regions(std::uint64_t heap_bytes) { return room_.add_regions(heap_bytes); }
    [[nodiscard]] bool needs_regions(std::uint64_t heap_bytes) const { return room_.needs_regions(heap_bytes); }
    result<void> reserve_pages(std::uint64_t first_page, std::uint64_t count) {
        return room_.reserve_pages(first_page, count);
    }
    result<void> reserve_places() { return room_.reserve_places(); }
    result<void> reserve_checksums(std::uint64_t page) { return checksums_.reserve(page); }
    result<void> reserve_map(std::uint64_t more) { return room_.reserve_map(more); }
    result<void> write_fresh(std::uint64_t first_page, std::span<const std::byte> pages) {
        return whole_chunks_.write_fresh(first_page, pages);
    }
    result<void> extend_to_fresh(std::uint64_t chunk) { return whole_chunks_.extend_to_fresh(chunk); }
    result<void> sync_fresh() { return whole_chunks_.sync(); }
    bool hold_early(std::uint64_t chunk) { return homes_.hold_early(chunk); }
    [[nodiscard]] bool may_hold_early(std::uint64_t chunk) const { return homes_.may_hold_early(chunk); }
    void release_early(std::uint64_t chunk) noexcept { homes_.release_early(chunk); }
    [[nodiscard]] std::uint64_t early_home_of(std::uint64_t chunk) const { return homes_.early_home_of(chunk); }
    result<bool> has_contents(std::uint64_t chunk) { return checksums_.has_contents(chunk); }
    void accept_fresh(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version) {
        whole_chunks_.accept_fresh(chunk, std::move(checksums), version);
    }
    [[nodiscard]] bool may_move(std::uint64_t chunk) const { return homes_.may_move(chunk); }
    [[nodiscard]] bool may_move_after_checkpoint(std::uint64_t chunk) const {
        return homes_.may_move_after_checkpoint(chunk);
    }
    [[nodiscard]] bool can_move(std::uint64_t chunk, chunk_place to) const { return homes_.can_move(chunk, to); }
    [[nodiscard]] std::size_t room_to_move(std::span<const std::uint64_t> chunks) const {
        return homes_.room_to_move(chunks);
    }
    [[nodiscard]] bool may_all_move(std::span<const std::uint64_t> chunks) const { return homes_.may_all_move(chunks); }
    [[nodiscard]] std::vector<std::uint64_t> scattered(std::size_t exceptions, std::uint64_t chunks) const {
        return homes_.scattered(exceptions, chunks);
    }
    result<void> add_second_homes(std::span<const std::uint64_t> chunks) { return room_.add_second_homes(chunks); }
    [[nodiscard]] bool needs_second_homes(std::span<const std::uint64_t> chunks) const {
        return room_.needs_second_homes(chunks);
    }
    [[nodiscard]] chunk_place other_place_of(std::uint64_t chunk) const { return homes_.other_place_of(chunk); }
    [[nodiscard]] std::uint64_t other_home_of(std::uint64_t chunk) const { return homes_.other_home_of(chunk); }
    result<void> reserve_move(std::uint64_t first_chunk, std::uint64_t count) {
        return room_.reserve_move(first_chunk, count);
    }
    result<void> write_moved(std::uint64_t first_page, std::span<const std::byte> pages) {
        return whole_chunks_.write_moved(first_page, pages);
    }
    void accept_moved(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version, bool maps) {
        whole_chunks_.accept_moved(chunk, std::move(checksums), version, maps);
    }
    void left_former_home(std::uint64_t chunk) { homes_.retired().note_unmapped(chunk); }
    [[nodiscard]] std::uint64_t retired_bytes() const { return homes_.retired_bytes(); }
    [[nodiscard]] bool has_second_homes() const { return where().has_second_homes(); }
    void left_all_former_homes() { homes_.retired().note_all_unmapped(); }
    result<void> discard_retired() { return unused_.discard_retired(); }
    result<std::vector<heap_range>> forget(heap_range chunks, std::uint64_t version) {
        return unused_.forget(chunks, version);
    }
    result<std::unique_ptr<publication>> compose(std::span<const folded_page> pages, const published_state& state) {
        return writer_.compose(pages, state);
    }
    void adopt(const publication& done) { writer_.adopt(done); }
    [[nodiscard]] bool is_ahead_of_file() const { return writer_.is_ahead_of_file(); }
    result<void> publish(std::uint64_t version, std::uint64_t chain, const session_identity& session, bool clean,
                         std::uint64_t log_begin) {
        return writer_.publish({version, chain, session, clean, log_begin});
    }
    result<void> fold(std::span<const folded_page> pages) { return writer_.fold(pages); }
    result<void> confirm() { return supers_.confirm(); }
    result<void> take_over_structure() { return writer_.take_over_structure(); }
    result<void> discard_unstored() { return unused_.discard_unstored(); }
    bool take_new_holes() { return unused_.take_new_holes(); }

private:
    heap_file(std::unique_ptr<os::file> file, std::uint64_t file_bytes, const ruling_superblock& ruling)
        : sized_(std::move(file), file_bytes), supers_(sized_.file(), sized_.syncs(), ruling) {}
    static result<std::unique_ptr<heap_file>> begin_open(os::file_system& files, const std::string& path,
                                                         os::access mode, locking lock);
    /// errc::truncated when the file ends before the superblock's image does.
    [[nodiscard]] result<void> check_length() const { return sized_.check_reaches(stored_end()); }
    /// Where the last chunk ends that is stored, and the last one of them that is not one whose contents the log has.
    [[nodiscard]] std::uint64_t stored_end() const;
    [[nodiscard]] std::uint64_t written_end() const;

    sized_file sized_;
    superblock_pair supers_;
    chunk_homes homes_{supers_.ruling()};
    page_checksums checksums_{sized_.file(), supers_.ruling(), homes_};
    store::image image_{sized_.file(), supers_.ruling(), homes_, checksums_};
    commit_room room_{sized_, supers_, homes_, checksums_};
    store::whole_chunks whole_chunks_{sized_, homes_, checksums_};
    image_writer writer_{sized_, supers_, homes_, checksums_};
    unused_space unused_{sized_, supers_.ruling(), homes_, checksums_, room_};
};

} // namespace remanence::store
