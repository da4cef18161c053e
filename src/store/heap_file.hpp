// The heap file: opened, identified, and taken apart into what its callers hold. Knows nothing of log records or of
// objects; the callers say when something is durable elsewhere.
//
// It owns the file and its parts, and has the functions that concern all of them. Who uses a heap file holds the part that he
// needs: the image (what is committed), the copies (which may change), room, whole chunks, the writer of checkpoints, unused
// space. All of it is under one lock, the lock of the store, which the engine has.
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

    /// As open(), of a heap that other processes may have open too: nothing is locked. `current`: the
    /// sequence of the current superblock, while others may be writing the next one; else the newer one does.
    static result<std::unique_ptr<heap_file>> open_shared(os::file_system& files, const std::string& path,
                                                          std::optional<std::uint64_t> current,
                                                          os::access mode = os::access::read_write);

    heap_file(const heap_file&) = delete;
    heap_file& operator=(const heap_file&) = delete;
    ~heap_file() = default;

    // What it is.

    [[nodiscard]] const std::string& path() const { return sized_.path(); }
    [[nodiscard]] os::file& file() { return sized_.file(); }
    [[nodiscard]] const format::superblock& super() const { return supers_.current(); }
    [[nodiscard]] bool is_clean() const { return supers_.is_clean(); }
    [[nodiscard]] std::string_view abi() const;
    /// Whose heap it is; empty when nobody said.
    [[nodiscard]] std::string_view application() const;
    /// errc::wrong_application when a program that says it is `application` has no business here; one that says nothing may
    /// look at anything.
    [[nodiscard]] result<void> check_application(std::string_view application, unstated when) const;
    /// Where its log lies.
    [[nodiscard]] const log_place& where_log_lies() const { return log_place_; }
    [[nodiscard]] std::string log_path() const { return log_place_.path_for(path()); }
    /// Of the last log.
    [[nodiscard]] session_identity session() const { return {super().epoch, super().session}; }
    /// Of the next one; another one each time.
    [[nodiscard]] result<session_identity> next_session() const;

    // Its parts.

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

    // What concerns all of it.

    /// Publishes a superblock of this release's format, and of this application unless that is empty, which says the same
    /// else. Precondition: it is clean, and nobody has committed.
    result<void> upgrade(std::string_view application);
    /// From now on its log lies in this directory; empty: beside it. Durable once this returns. A failure after the first write
    /// leaves unknown which holds: errc::io. Precondition: it is clean, nobody has committed, and may_be_log_directory().
    result<void> move_log(const std::string& directory);
    /// The limits of the history that it has over sessions; nothing: it has none. Reads the file. errc::corrupt.
    [[nodiscard]] result<std::optional<format::history_limits>> history();
    /// From now on it has such a history, with these limits, or none. Durable, and fails, as move_log(). Precondition: that of move_log().
    result<void> record_history(const std::optional<format::history_limits>& most);
    /// errc::truncated when the file ends before what was written of the image, chunks accepted since included. Chunks behind
    /// that, which have their contents in the log, are made to belong to the file, to be mapped: they read as zeros.
    result<void> extend_to_image();
    /// Another process has written this superblock, which rules: all parts become as at an open with it. What was accepted and it
    /// does not cover is to be accepted again. Precondition: no publication is on its way here, and nothing is held early.
    result<void> follow(std::uint64_t sequence);
    /// Another process may have made the file longer.
    result<void> follow_length() { return sized_.follow(); }

private:
    heap_file(std::unique_ptr<os::file> file, std::uint64_t file_bytes, const current_superblock& current)
        : sized_(std::move(file), file_bytes), supers_(sized_.file(), sized_.syncs(), current) {}
    static result<std::unique_ptr<heap_file>> begin_open(os::file_system& files, const std::string& path,
                                                         os::access mode, locking lock,
                                                         std::optional<std::uint64_t> current = {});
    /// The rest of an open.
    static result<std::unique_ptr<heap_file>> read_structure(std::unique_ptr<heap_file> store, os::access mode);
    /// Writes a page behind all that the file has, which the next superblock may name; it is durable once this returns.
    result<format::area_reference> record(const recorded_page& page, os::call_site what);
    /// errc::truncated when the file ends before the superblock's image does.
    [[nodiscard]] result<void> check_length() const { return sized_.check_reaches(stored_end()); }
    /// Where the last chunk ends that is stored, and the last one of them that is not one whose contents the log has.
    [[nodiscard]] std::uint64_t stored_end() const;
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
