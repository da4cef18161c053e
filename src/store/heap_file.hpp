// The heap file: superblocks, where each chunk lies, checksums of its pages. May use: base, os, format.
// Knows nothing of log records or of objects; the callers say when something is durable elsewhere.
//
// Kept here: I1 (a checkpoint writes tables and map to the place that is not current; pages in place only once the
// caller's records are durable), I3 (publish() syncs everything a superblock names first), I7, I8.
#pragma once

#include "base/result.hpp"
#include "base/units.hpp"
#include "format/log_record.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/checksum_table.hpp"
#include "store/chunk_map.hpp"
#include "store/heap_creation.hpp"
#include "store/publication.hpp"
#include "store/sticky_sync.hpp"
#include "store/superblocks.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace remanence::store {

/// A piece of the heap's address range as it is to be mapped.
struct extent {
    byte_range heap;           // multiple of the chunk size
    bool stored;               // else zeros
    std::uint64_t file_offset; // of a stored one
};

/// A page on its way into the image.
struct folded_page {
    std::uint64_t page;
    const std::byte* bytes;
    std::uint32_t checksum;
};

/// Of the commits between one open and the close after it: what superblock and log have in common.
struct session_identity {
    std::uint64_t epoch;
    format::session_number number;
};

/// What a superblock is to say of the heap.
struct published_state {
    std::uint64_t version;
    std::uint64_t chain;
    session_identity session;
    bool clean;
    std::uint64_t log_begin; // where in the log the records behind `version` begin; k_log_header_bytes when it is clean
};

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

    [[nodiscard]] const format::superblock& super() const { return super_; }
    [[nodiscard]] bool is_clean() const { return (super_.flags & format::k_flag_clean) != 0; }
    /// Where in the file the superblock lies that was damaged when the heap was opened; the other one rules then.
    [[nodiscard]] std::optional<std::uint64_t> other_superblock_damage() const { return other_superblock_damage_; }
    [[nodiscard]] std::string_view abi() const;
    /// Whose heap it is; empty when nobody said.
    [[nodiscard]] std::string_view application() const;
    /// errc::wrong_application when a program that says it is `application` has no business here; one that says nothing may
    /// look at anything.
    [[nodiscard]] result<void> check_application(std::string_view application, unstated when) const;
    /// Of the last log.
    [[nodiscard]] session_identity session() const { return {super_.epoch, super_.session}; }
    /// Of the next one; another one each time.
    [[nodiscard]] result<session_identity> next_session() const;
    [[nodiscard]] const std::string& path() const { return file_->path(); }
    [[nodiscard]] os::file& file() { return *file_; }
    [[nodiscard]] std::uint64_t chunk_bytes() const { return super_.chunk_bytes; }
    [[nodiscard]] std::uint64_t chunk_pages() const { return super_.chunk_bytes / k_page_bytes; }

    // What is committed: the superblock, and the commits accepted since.

    /// End of the committed part of the heap; beyond it, and in zero chunks, everything reads as zeros.
    [[nodiscard]] std::uint64_t image_bytes() const { return image_bytes_; }
    /// Whether the chunk has a place in the file.
    [[nodiscard]] bool is_stored(std::uint64_t chunk) const;
    [[nodiscard]] std::vector<extent> extents() const;
    /// Where a heap offset of a region lies in the file: in the home where its chunk is, or was last, or will be first.
    /// Precondition: covered by a region.
    [[nodiscard]] std::uint64_t home_of(std::uint64_t heap_offset) const;
    /// The heap offset whose home, the one where its chunk is, lies at this place of the file.
    [[nodiscard]] std::optional<std::uint64_t> heap_offset_at(std::uint64_t file_offset) const;
    /// The regions' homes, both where there are two, in the order of the file.
    struct homes {
        byte_range file;
        std::uint64_t heap_offset;
        chunk_place place;
    };
    [[nodiscard]] std::vector<homes> all_homes() const;
    /// Number of bytes of the heap that have a home.
    [[nodiscard]] std::uint64_t region_bytes() const;
    /// Where the last part of the file ends, whether or not the file reaches as far.
    [[nodiscard]] std::uint64_t layout_end() const;

    /// Reads whole pages of the image, each verified against its checksum; pages never written come as zeros.
    /// errc::corrupt with the file offset when one fails.
    result<void> read_pages(std::uint64_t first_page, std::span<std::byte> into);
    /// Checksum of a page of the image; 0 when it is all zeros and occupies no space.
    result<std::uint32_t> checksum_of(std::uint64_t page);

    /// The checksum tables, one for each region, as of the last compose().
    [[nodiscard]] std::span<const checksum_table> tables() const { return tables_; }
    /// Page checksums of the chunks accepted since: the tables do not have them yet.
    using chunk_checksums = std::unordered_map<std::uint64_t, std::vector<std::uint32_t>>;
    [[nodiscard]] const chunk_checksums& unpublished() const { return fresh_; }

    // A commit, in order: make room, write whole chunks, accept them; and sync them before the record that names them is written.

    /// Gives every heap byte below `heap_bytes` a home. May write a superblock, for which reserve_places() made room, and which
    /// must not be while a publication is under way: needs_regions() tells.
    result<void> add_regions(std::uint64_t heap_bytes);
    [[nodiscard]] bool needs_regions(std::uint64_t heap_bytes) const { return heap_bytes > region_bytes(); }
    /// Room on the disk for these pages (contiguous in the heap and in the file) and their checksums; where reading holes
    /// takes room, for all of their chunks. errc::no_space.
    result<void> reserve_pages(std::uint64_t first_page, std::uint64_t count);
    /// Room for the next superblocks and chunk map: in a copy of a heap (cp --sparse) their places may be holes.
    result<void> reserve_places();
    /// Room for another checksum of a page that has its own place already. errc::no_space.
    result<void> reserve_checksums(std::uint64_t page);
    /// Room for the chunk map with up to so many more exceptions.
    result<void> reserve_map(std::uint64_t more);
    /// Writes pages of a chunk that is not stored to its home.
    result<void> write_fresh(std::uint64_t first_page, std::span<const std::byte> pages);
    /// Of a chunk of which nothing is written there: the file reaches to its home's end, to be mapped.
    result<void> extend_to_fresh(std::uint64_t chunk);
    /// Makes durable what was written so. From any thread.
    result<void> sync_fresh();
    /// Pages of this chunk are in the home that it takes with the next commit before that, its other one, if it is stored:
    /// discard_unstored() leaves them there until it is accepted, or until release_early(). False, for want of room in the chunk
    /// map: it cannot be.
    bool hold_early(std::uint64_t chunk);
    /// Whether hold_early() would.
    [[nodiscard]] bool may_hold_early(std::uint64_t chunk) const;
    void release_early(std::uint64_t chunk) noexcept;
    /// Where its pages go then, and lie until it is accepted.
    [[nodiscard]] std::uint64_t early_home_of(std::uint64_t chunk) const {
        return is_stored(chunk) ? other_home_of(chunk) : home_of(chunk * super_.chunk_bytes);
    }
    /// Whether a page of the chunk was ever written. A chunk that counts as stored for want of room in the chunk map was
    /// not, and may still become a fresh one.
    result<bool> has_contents(std::uint64_t chunk);
    /// The log has the record that names this chunk, which had no contents yet. `checksums`: one for each page, 0 for zeros
    /// that were not written, and for what the log has.
    void accept_fresh(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version);

    // A chunk that was rewritten is written whole to that of its two homes where it is not, and moves there with its record.
    // Nothing that a durable superblock names, or a record after it, is there (R3): a home that was left may be moved to
    // only after the checkpoint that ends its log window.

    /// Whether a commit may move it, once add_second_homes() was called for it.
    [[nodiscard]] bool may_move(std::uint64_t chunk) const;
    /// Whether it may, or might if a checkpoint was made before.
    [[nodiscard]] bool may_move_after_checkpoint(std::uint64_t chunk) const;
    /// Whether a record may say that it moves there.
    [[nodiscard]] bool can_move(std::uint64_t chunk, chunk_place to) const;
    /// For how many of these chunks, from the first one on, the chunk map has room when they move, with those held early.
    [[nodiscard]] std::size_t room_to_move(std::span<const std::uint64_t> chunks) const;
    /// Whether the chunk map can be written once all of these have moved: for records, in which they are in another order, and
    /// which may come from who allows himself more.
    [[nodiscard]] bool may_all_move(std::span<const std::uint64_t> chunks) const;
    /// Chunks of which each makes the chunk map, and the mappings, more than they need be: the shortest runs at second homes, about
    /// so many chunks, if the map has more than `exceptions`. O(exceptions).
    [[nodiscard]] std::vector<std::uint64_t> scattered(std::size_t exceptions, std::uint64_t chunks) const;
    /// For each of these chunks. May write a superblock, as add_regions(): needs_second_homes() tells.
    result<void> add_second_homes(std::span<const std::uint64_t> chunks);
    [[nodiscard]] bool needs_second_homes(std::span<const std::uint64_t> chunks) const;
    /// The home where it is not, and where that lies in the file. Precondition: its region has two.
    [[nodiscard]] chunk_place other_place_of(std::uint64_t chunk) const;
    [[nodiscard]] std::uint64_t other_home_of(std::uint64_t chunk) const;
    /// Room at the other homes, which must follow each other, and for the checksums. errc::no_space.
    result<void> reserve_move(std::uint64_t first_chunk, std::uint64_t count);
    /// Writes pages, which follow each other there too, to the other homes of their chunks. Durable after sync_fresh().
    result<void> write_moved(std::uint64_t first_page, std::span<const std::byte> pages);
    /// The log has the record that names this chunk; the map has room for all that it names, by room_to_move(), hold_early() or
    /// may_all_move(). `maps_former_home`: somebody maps the home that it leaves, so that its
    /// space is not to be given back before left_former_home().
    void accept_moved(std::uint64_t chunk, std::vector<std::uint32_t> checksums, std::uint64_t version,
                      bool maps_former_home);
    void left_former_home(std::uint64_t chunk);
    /// Bytes of homes that were left since the last checkpoint, which cannot be moved to before the next one.
    [[nodiscard]] std::uint64_t retired_bytes() const { return newly_retired_ * super_.chunk_bytes; }
    [[nodiscard]] bool has_second_homes() const {
        return (super_.features_incompat & format::k_feature_second_homes) != 0;
    }
    /// Nobody maps a home that was left.
    void left_all_former_homes();
    /// Gives back the space of homes that were left, as far as nothing durable names them and nobody maps them.
    result<void> discard_retired();

    // Space is given back by a checkpoint that comes after this, and discard_unstored() after that.

    /// In the chunks of this stretch lies nothing any more; those that were stored are returned, in runs. They are fewer, or
    /// none, without room in the chunk map, or on the disk for what says so. After a failure the heap is to be poisoned.
    result<std::vector<byte_range>> forget(byte_range stretch, std::uint64_t version);

    // A checkpoint: compose, carry out, adopt. Commits may go on between the first and the last: what they accept is part
    // of the next one. One at a time. confirm() comes before.

    /// Takes what is committed, and `pages` (sorted) as the image is to have them; writes nothing. The tables have their
    /// checksums from now on, so that nobody may read these pages before they are written. The records that restore
    /// them must be durable (I1). After a failure the heap is to be poisoned.
    result<std::unique_ptr<publication>> compose(std::span<const folded_page> pages, const published_state& state);
    /// Its superblock rules. Precondition: it is the one composed last, and is_done().
    void adopt(const publication& done);
    /// Since compose(), until adopt(): then the tables are those of the publication, or not even that, if compose() failed.
    [[nodiscard]] bool is_ahead_of_file() const { return is_ahead_of_file_; }
    /// All three, of no pages; confirm(), too.
    result<void> publish(std::uint64_t version, std::uint64_t chain, const session_identity& session, bool clean,
                         std::uint64_t log_begin);
    /// Overwrites pages in place; sorted by page. The records that restore them must be durable (I1). For who has too many
    /// to compose(), and lets no commits go on.
    result<void> fold(std::span<const folded_page> pages);
    /// Publishes a superblock of this release's format, and of this application unless that is empty, which says the same
    /// else. Precondition: it is clean, and nobody has committed.
    result<void> upgrade(std::string_view application);
    /// Makes sure that the superblock as it was read, and all that was written before it, is durable: to be called before
    /// anything is done that relies on it. Nothing after the first time.
    result<void> confirm();
    /// errc::truncated when the file ends before the superblock's image does.
    result<void> check_length() const;
    /// errc::truncated when it ends before what was written of the image, chunks accepted since included. Chunks behind that,
    /// which have their contents in the log, are made to belong to the file, to be mapped: they read as zeros.
    result<void> extend_to_image();
    /// Reads all nodes of the checksum tables, and makes the next publish write them and the chunk map, changed or not:
    /// then all that the new superblock names, but for pages, was written here. errc::corrupt. O(tables), in memory too.
    result<void> take_over_structure();
    /// Makes everything that is not stored read as zeros, whatever an interrupted commit, or anybody else, left there.
    result<void> discard_unstored();
    /// Whether that was done since the last call: then what fresh chunks rely on, zeros where nothing is written, is not durable
    /// before a sync_fresh().
    [[nodiscard]] bool take_new_holes() { return std::exchange(has_new_holes_, false); }

private:
    [[nodiscard]] unexpected exhausted() const;
    heap_file(std::unique_ptr<os::file> file, std::uint64_t file_bytes, const ruling_superblock& ruling);
    static result<std::unique_ptr<heap_file>> begin_open(os::file_system& files, const std::string& path,
                                                         os::access mode, locking lock);
    result<void> read_map();
    [[nodiscard]] std::uint64_t home_in(chunk_place place, std::uint64_t heap_offset) const;
    [[nodiscard]] bool has_second_home(std::uint64_t chunk) const {
        return super_.second_homes[region_index(chunk * super_.chunk_bytes)] != 0;
    }
    void move(chunk_map& map, std::uint64_t chunk, std::uint64_t version) const;
    [[nodiscard]] const chunk_map& map_with_early() const;
    result<void> publish_layout(const format::superblock& next);
    result<void> extend_to(std::uint64_t end);
    result<void> write_pages(os::site where, std::uint64_t offset, std::span<const std::byte> pages);
    [[nodiscard]] result<void> check_reaches(std::uint64_t needed) const;
    /// Where the last chunk ends that is stored, and the last one of them that is not one whose contents the log has.
    [[nodiscard]] std::uint64_t stored_end() const;
    [[nodiscard]] std::uint64_t written_end() const;
    result<void> discard_first_homes(byte_range heap);
    result<void> discard_dead_homes();
    result<void> discard_homes(chunk_place place, byte_range heap);
    result<void> discard_homes_but_retired(chunk_place place, byte_range heap);
    result<void> punch_homes(std::uint64_t home, std::uint64_t bytes);
    /// With the next sequence number, and sealed; errc::corrupt when there is none.
    result<format::superblock> numbered(format::superblock next) const;
    result<void> take_fresh_checksums();
    [[nodiscard]] const format::region& region_of(std::uint64_t heap_offset) const;
    /// Where the last part of the file ends that is in use.
    [[nodiscard]] std::uint64_t needed_end() const;
    /// The parts of chunks that are not held early.
    [[nodiscard]] std::vector<byte_range> without_early(byte_range heap) const;
    [[nodiscard]] std::size_t region_index(std::uint64_t heap_offset) const;
    result<void> set_checksum(std::uint64_t page, std::uint32_t checksum);
    result<void> reserve_to_forget(std::uint64_t first, std::uint64_t end);
    result<void> clear_checksums(std::uint64_t chunk);

    std::unique_ptr<os::file> file_;
    sticky_sync syncs_; // all syncs of file_
    format::superblock super_;
    std::vector<checksum_table> tables_; // one for each region
    chunk_map map_;
    format::map_reference next_map_area_;
    std::uint64_t image_bytes_;
    std::uint64_t file_bytes_;
    bool confirmed_ = false; // the superblock is known to be durable
    bool places_reserved_ = false;
    bool has_new_holes_ = false;
    std::optional<std::uint64_t> other_superblock_damage_;
    chunk_checksums fresh_; // of chunks accepted since the last compose()
    struct retired {
        std::uint64_t version; // of the commit that moved the chunk
        bool is_mapped;
    };
    std::map<std::uint64_t, retired> retired_; // homes that chunks left, and that may still have bytes, by chunk
    std::uint64_t newly_retired_ = 0;          // of these, since the last checkpoint
    std::set<std::uint64_t> early_;
    mutable std::optional<chunk_map>
        map_with_early_;         // as if those of early_ that are stored had moved; once it was asked for
    bool is_publishing_ = false; // composed, and not adopted
    bool is_ahead_of_file_ = false;
};

} // namespace remanence::store
