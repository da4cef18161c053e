// The heap file: opens and checks it, and owns its parts. This class knows nothing of log records or of objects. Its
// callers make other files durable, and say when they are.
//
// Functions that concern the whole file are members of this class. Other code uses the parts that it needs: the image
// (what is committed), the copies (which may change), room, whole chunks, the writer of checkpoints, unused space. One
// lock, which the engine owns, protects all of them: the lock of the store.
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

/// Whether a program that names an application may open a heap that names none.
enum class unstated { refused, taken };

class heap_file {
public:
    /// Creates an empty heap as create_empty() does, and opens it.
    static result<std::unique_ptr<heap_file>> create(os::file_system& files, const std::string& path,
                                                     const creation& how);
    /// Locks and validates the heap. errc::in_use if another process or handle has locked it; errc::unsupported_format
    /// if its format is older.
    static result<std::unique_ptr<heap_file>> open(os::file_system& files, const std::string& path, os::access mode);
    /// As open(), but accepts every format that can be upgraded.
    static result<std::unique_ptr<heap_file>> open_to_upgrade(os::file_system& files, const std::string& path,
                                                              os::access mode);

    /// none_if_free: does not lock, and fails with errc::in_use if another process has locked the heap for writing. The
    /// lock is tested after the superblock was read. If a process opens the heap for writing later, it writes another
    /// superblock before it changes anything that this one names, except for changes that the log can restore.
    enum class locking { yes, none_if_free, no };
    /// As open() for reading and writing, but continues as long as the heap can be read, and reports each damage: for
    /// instance a file that ends too early, or a damaged chunk map. For files that keep changes in memory
    /// (os/overlay_files.hpp). Without a lock other processes may write meanwhile: what is read is still checked, but
    /// may be inconsistent.
    static result<std::unique_ptr<heap_file>> open_damaged(os::file_system& files, const std::string& path,
                                                           const std::function<void(const failure&)>& damaged,
                                                           locking lock = locking::yes);

    /// As open(), but does not lock, since other processes may have the heap open. `current` is the sequence of the
    /// current superblock, for use while others may be writing the next one. Without it the newer superblock counts as
    /// current.
    static result<std::unique_ptr<heap_file>> open_shared(os::file_system& files, const std::string& path,
                                                          std::optional<std::uint64_t> current,
                                                          os::access mode = os::access::read_write);

    heap_file(const heap_file&) = delete;
    heap_file& operator=(const heap_file&) = delete;
    ~heap_file() = default;

    // Identity.

    [[nodiscard]] const std::string& path() const { return sized_.path(); }
    [[nodiscard]] os::file& file() { return sized_.file(); }
    /// Returns the file's length.
    [[nodiscard]] std::uint64_t file_bytes() const { return sized_.bytes(); }
    [[nodiscard]] const format::superblock& super() const { return supers_.current(); }
    [[nodiscard]] bool is_clean() const { return supers_.is_clean(); }
    [[nodiscard]] std::string_view abi() const;
    /// Returns the application that owns the heap; empty if none is recorded.
    [[nodiscard]] std::string_view application() const;
    /// Fails with errc::wrong_application if the program names an application and the heap belongs to another one. A
    /// program that names no application may open any heap.
    [[nodiscard]] result<void> check_application(std::string_view application, unstated when) const;
    /// Returns where the heap's log lies.
    [[nodiscard]] const log_place& where_log_lies() const { return log_place_; }
    [[nodiscard]] std::string log_path() const { return log_place_.path_for(path()); }
    /// Returns the session of the last log.
    [[nodiscard]] session_identity session() const { return {super().epoch, super().session}; }
    /// Returns a new session with a random number.
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

    /// Publishes a superblock of this release's format. Also sets the application unless `application` is empty.
    /// Precondition: the heap is clean, and there was no commit since it was opened.
    result<void> upgrade(std::string_view application);
    /// Records that the log lies in this directory, or beside the heap if `directory` is empty. Durable once this
    /// returns. If a write fails (errc::io), either place may be recorded. Precondition: the heap is clean, there was
    /// no commit since it was opened, and may_be_log_directory().
    result<void> move_log(const std::string& directory);
    /// Returns the limits of the history that the heap keeps over sessions; nothing if it keeps none. Reads the file.
    /// errc::corrupt.
    [[nodiscard]] result<std::optional<format::history_limits>> history();
    /// Records that the heap keeps such a history with these limits, or that it keeps none. Durability, errors and
    /// precondition: as move_log().
    result<void> record_history(const std::optional<format::history_limits>& most);
    /// Records another address for the heap's first byte, in both superblocks, so that no damage brings the old one back.
    /// Between the two writes either may be current. Precondition: as upgrade().
    result<void> move_base(std::uint64_t base);
    /// Fails with errc::truncated if the file ends before the written part of the image, accepted chunks included. Then
    /// extends the file over the stored chunks behind that part, so that they can be mapped. Their contents are in the
    /// log; until replay they read as zeros.
    result<void> extend_to_image();
    /// Adopts the superblock that another process has made current: afterwards all parts are as after an open. Records
    /// that this superblock does not cover must be accepted again. Precondition: this process has no publication under
    /// way, and holds no chunk early.
    result<void> follow(std::uint64_t sequence);
    /// Notes that another process may have extended the file.
    result<void> follow_length() { return sized_.follow(); }

private:
    heap_file(std::unique_ptr<os::file> file, std::uint64_t file_bytes, const current_superblock& current)
        : sized_(std::move(file), file_bytes), supers_(sized_.file(), sized_.syncs(), current) {}
    static result<std::unique_ptr<heap_file>> begin_open(os::file_system& files, const std::string& path,
                                                         os::access mode, locking lock,
                                                         std::optional<std::uint64_t> current = {});
    /// Does the remaining steps of an open.
    static result<std::unique_ptr<heap_file>> read_structure(std::unique_ptr<heap_file> store, os::access mode);
    /// Writes a page behind everything in the file, for the next superblock to name. Durable once this returns.
    result<format::area_reference> record(const recorded_page& page, os::call_site what);
    /// Fails with errc::truncated if the file ends before the image that the superblock describes.
    [[nodiscard]] result<void> check_length() const { return sized_.check_reaches(stored_end()); }
    /// Returns where the last stored chunk ends.
    [[nodiscard]] std::uint64_t stored_end() const;
    /// Returns where the last stored chunk ends whose contents the file holds; other chunks' contents are in the log.
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
