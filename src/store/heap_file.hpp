// The heap file: opens and checks it, and owns its parts. Knows nothing of log records or of objects; the callers say
// when something is durable elsewhere.
//
// This class has the functions that concern the whole file. Other code holds the parts that it needs: the image (what
// is committed), the copies (which may change), room, whole chunks, the writer of checkpoints, unused space. One lock
// protects all of it: the lock of the store, which the engine has.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "format/history_event.hpp"
#include "format/log_record.hpp"
#include "format/superblock.hpp"
#include "os/file.hpp"
#include "store/chunk_copies.hpp"
#include "store/commit_room.hpp"
#include "store/heap_creation.hpp"
#include "store/image.hpp"
#include "store/image_writer.hpp"
#include "store/log_place.hpp"
#include "store/page_checksums.hpp"
#include "store/recorded_history.hpp"
#include "store/recorded_page.hpp"
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

/// Whether a heap that names no application may be opened by a program that does.
enum class unstated { refused, taken };

class heap_file {
public:
    /// Makes an empty heap, as create_empty() does, and opens it.
    static result<std::unique_ptr<heap_file>> create(os::file_system& files, const std::string& path,
                                                     const creation& how);
    /// Locks and validates. errc::in_use if another process or handle has it locked; errc::unsupported_format if its
    /// format is older.
    static result<std::unique_ptr<heap_file>> open(os::file_system& files, const std::string& path, os::access mode);
    /// As open(), but accepts every format that can be upgraded.
    static result<std::unique_ptr<heap_file>> open_to_upgrade(os::file_system& files, const std::string& path,
                                                              os::access mode);

    /// none_if_free: does not lock. Fails with errc::in_use while another process has the heap locked for writing;
    /// tests this after the superblock was read. A process that opens the heap for writing later writes another
    /// superblock before it changes anything that this one names, except what the log restores.
    enum class locking { yes, none_if_free, no };
    /// As open() for reading and writing, but continues as long as the heap can still be read, and reports what is
    /// wrong: a file that ends too early, a damaged chunk map. For files that keep changes in memory
    /// (os/overlay_files.hpp). Without the lock other processes may write meanwhile: what is read is checked, but may
    /// be inconsistent.
    static result<std::unique_ptr<heap_file>> open_damaged(os::file_system& files, const std::string& path,
                                                           const std::function<void(const failure&)>& damaged,
                                                           locking lock = locking::yes);

    /// As open(), for a heap that other processes may have open, too: locks nothing. `current`: the sequence of the
    /// current superblock, while others may be writing the next one. Without it, the newer superblock is current.
    static result<std::unique_ptr<heap_file>> open_shared(os::file_system& files, const std::string& path,
                                                          std::optional<std::uint64_t> current,
                                                          os::access mode = os::access::read_write);

    heap_file(const heap_file&) = delete;
    heap_file& operator=(const heap_file&) = delete;
    ~heap_file() = default;

    // Identity.

    [[nodiscard]] const std::string& path() const { return sized_.path(); }
    [[nodiscard]] os::file& file() { return sized_.file(); }
    [[nodiscard]] const format::superblock& super() const { return supers_.current(); }
    [[nodiscard]] bool is_clean() const { return supers_.is_clean(); }
    [[nodiscard]] std::string_view abi() const;
    /// Returns the application that owns the heap; empty if none is recorded.
    [[nodiscard]] std::string_view application() const;
    /// Fails with errc::wrong_application if the program calls itself `application` and the heap is another
    /// application's. A program that names no application may open any heap.
    [[nodiscard]] result<void> check_application(std::string_view application, unstated when) const;
    /// Returns where its log lies.
    [[nodiscard]] const log_place& where_log_lies() const { return log_place_; }
    [[nodiscard]] std::string log_path() const { return log_place_.path_for(path()); }
    /// Returns the session of the last log.
    [[nodiscard]] session_identity session() const { return {super().epoch, super().session}; }
    /// Returns a new session, different each time.
    [[nodiscard]] result<session_identity> next_session() const;

    // Parts.

    [[nodiscard]] superblock_pair& supers() { return supers_; }
    [[nodiscard]] const superblock_pair& supers() const { return supers_; }
    [[nodiscard]] const layout& where() const { return copies_.where(); }
    [[nodiscard]] chunk_copies& copies() { return copies_; }
    [[nodiscard]] const chunk_copies& copies() const { return copies_; }
    [[nodiscard]] page_checksums& checksums() { return checksums_; }
    [[nodiscard]] store::image& image() { return image_; }
    [[nodiscard]] const store::image& image() const { return image_; }
    [[nodiscard]] commit_room& room() { return room_; }
    [[nodiscard]] store::whole_chunks& whole_chunks() { return whole_chunks_; }
    [[nodiscard]] image_writer& writer() { return writer_; }
    [[nodiscard]] unused_space& unused() { return unused_; }

    // Functions that concern all parts.

    /// Publishes a superblock of this release's format. Sets the application unless `application` is empty.
    /// Precondition: the heap is clean, and nobody has committed.
    result<void> upgrade(std::string_view application);
    /// Moves the place of the log to this directory; empty: beside the heap. Durable once this returns. After a failure
    /// of a write (errc::io) either place may be the recorded one. Precondition: the heap is clean, nobody has
    /// committed, and may_be_log_directory().
    result<void> move_log(const std::string& directory);
    /// Returns the limits of the history that is kept over sessions; nothing if none is kept. Reads the file.
    /// errc::corrupt.
    [[nodiscard]] result<std::optional<format::history_limits>> history();
    /// Records that the heap has such a history, with these limits, or none. Durability, errors and precondition: as
    /// move_log().
    result<void> record_history(const std::optional<format::history_limits>& most);
    /// Fails with errc::truncated if the file ends before the written part of the image, accepted chunks included.
    /// Extends the file over chunks behind that part, whose contents are in the log, so that they can be mapped. They
    /// read as zeros.
    result<void> extend_to_image();
    /// Follows another process that made this superblock current: all parts become as after an open. What was accepted
    /// and the superblock does not cover must be accepted again. Precondition: no publication is under way here, and
    /// nothing is held early.
    result<void> follow(std::uint64_t sequence);
    /// Notes that another process may have extended the file.
    result<void> follow_length() { return sized_.follow(); }

private:
    heap_file(std::unique_ptr<os::file> file, std::uint64_t file_bytes, const current_superblock& current)
        : sized_(std::move(file), file_bytes), supers_(sized_.file(), sized_.syncs(), current) {}
    static result<std::unique_ptr<heap_file>> begin_open(os::file_system& files, const std::string& path,
                                                         os::access mode, locking lock,
                                                         std::optional<std::uint64_t> current = {});
    /// Does the rest of an open.
    static result<std::unique_ptr<heap_file>> read_structure(std::unique_ptr<heap_file> store, os::access mode);
    /// Writes a page behind everything in the file; the next superblock may name it. Durable once this returns.
    result<format::area_reference> record(const recorded_page& page, os::call_site what);
    /// Fails with errc::truncated if the file ends before the superblock's image.
    [[nodiscard]] result<void> check_length() const { return sized_.check_reaches(stored_end()); }
    /// Returns where the last stored chunk ends.
    [[nodiscard]] std::uint64_t stored_end() const;
    /// Returns where the last stored chunk ends whose contents are not in the log.
    [[nodiscard]] std::uint64_t written_end() const;

    sized_file sized_;
    superblock_pair supers_;
    log_place log_place_;
    chunk_copies copies_{supers_.current()};
    page_checksums checksums_{sized_.file(), supers_.current(), copies_};
    store::image image_{sized_.file(), supers_.current(), copies_, checksums_};
    commit_room room_{sized_, supers_, copies_, checksums_};
    store::whole_chunks whole_chunks_{sized_, copies_, checksums_};
    image_writer writer_{sized_, supers_, copies_, checksums_};
    unused_space unused_{sized_, supers_.current(), copies_, room_};
};

} // namespace remanence::store
