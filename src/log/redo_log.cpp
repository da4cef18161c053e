#include "log/redo_log.hpp"

#include "base/assert.hpp"
#include "base/checksum.hpp"
#include "os/lock_holders.hpp"
#include "store/heap_creation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace remanence::log {

namespace {

result<void> write_zeros(os::call_site where, os::file& file, std::uint64_t from, std::uint64_t to) {
    static std::array<std::byte, 64 * KiB> zeros{}; // not const: a constant would occupy space in the executable file
    while (from < to) {
        auto bytes = std::span<const std::byte>(zeros).first(
            static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), to - from)));
        REM_TRY(file.write(where, from, bytes));
        from += bytes.size();
    }
    return {};
}

[[gnu::cold]] unexpected log_in_use(const std::string& path) {
    return fail(
        errc::in_use,
        "the redo log " + path +
            " is in use: the heap that it belongs to was moved or replaced while it was open, and is open still (" +
            os::who_holds(path) + "). Close that one first, or move its log to it.",
        path);
}

/// Fails if the file has contents. Opening the heap found no log, so such a file was put there later.
[[gnu::cold]] result<void> check_is_empty(os::file& file) {
    auto size = file.size();
    if (!size)
        return size.error();
    if (*size == 0)
        return {};
    return fail(errc::log_foreign,
                file.path() +
                    " is in the way, where the redo log of the heap beside it is to be made. It came there after "
                    "that heap was opened, and may hold the last commits of another one. Move it back to its own "
                    "heap, or remove it if it is not wanted.",
                file.path());
}

/// As lock_log(), but with an open file description of its own, which a forked child closes.
[[gnu::cold]] result<std::unique_ptr<os::byte_locks>> lock_alone(os::file& log, os::lock_kind kind) {
    auto locks = log.open_locks();
    if (!locks)
        return locks;
    auto locked = (*locks)->try_lock(os::k_lock_offset, kind);
    if (!locked)
        return locked.error();
    return *locked ? std::move(locks) : log_in_use(log.path());
}

/// Opens and locks the file for a new log. Afterwards no other process uses it, since the user of a log holds its lock.
[[gnu::cold]] result<std::unique_ptr<os::file>> take_file(os::file_system& files, const std::string& path,
                                                          unsigned mode, log_lock whose,
                                                          std::unique_ptr<os::byte_locks>& lock) {
    auto file = files.open_or_create(path, mode);
    if (!file)
        return file.error();
    if (whose == log_lock::with_children) {
        REM_TRY(lock_log(**file));
    } else {
        auto locked = lock_alone(**file, os::lock_kind::exclusive);
        if (!locked)
            return locked.error();
        lock = std::move(*locked);
    }
    auto mine = (*file)->is_at(path); // false if the process that had the lock before removed the file
    if (!mine)
        return mine.error();
    if (!*mine)
        return log_in_use(path);
    REM_TRY(check_is_empty(**file));
    return file;
}

} // namespace

result<void> lock_log(os::file& log, os::lock_kind kind) {
    auto locked = log.try_lock(kind);
    if (!locked)
        return locked.error();
    return *locked ? result<void>() : log_in_use(log.path());
}

// Cold, like join(): called once for each session.
[[gnu::cold]] result<std::unique_ptr<redo_log>> redo_log::create(os::file_system& files, const std::string& path,
                                                                 const uuid& heap,
                                                                 const store::session_identity& session,
                                                                 std::uint64_t superblock_sequence, unsigned mode,
                                                                 std::uint64_t version, log_lock whose) {
    std::unique_ptr<os::byte_locks> lock;
    auto file = take_file(files, path, mode, whose, lock);
    if (!file)
        return file.error();
    const std::uint64_t size = format::k_log_header_bytes + format::log_segments_around(0);
    auto build = [&]() -> result<void> {
        format::log_header header{};
        header.magic = format::k_log_magic;
        header.format_version = format::k_log_version;
        header.uuid = heap;
        header.session = session.number;
        header.epoch = session.epoch;
        header.superblock_sequence = superblock_sequence;
        header.checksum =
            checksum64(std::as_bytes(std::span(&header, 1)).first(offsetof(format::log_header, checksum)));
        REM_TRY((*file)->write("log: header", 0, std::as_bytes(std::span(&header, 1))));
        REM_TRY(write_zeros("log: zeros of first segment", **file, format::k_log_header_bytes, size));
        REM_TRY((*file)->sync("log: sync new log"));
        REM_TRY(files.sync_directory("log: sync directory of new log", path));
        return store::check_is_at(**file, path); // if it is not, the wrong directory was synced
    };
    if (auto built = build(); !built) {
        (void)files.remove("log: remove failed log", path, **file); // best effort: the earlier error is returned
        return built.error();
    }
    return std::unique_ptr<redo_log>(new redo_log(std::move(*file), std::move(lock), size, version));
}

[[gnu::cold]] result<std::unique_ptr<redo_log>> redo_log::join(os::file_system& files, const std::string& heap_path,
                                                               const std::string& path, os::access how) {
    auto file = files.open(path, how);
    if (!file && file.why().code == errc::not_found) {
        return fail(
            errc::log_missing,
            "the redo log " + path + " of the heap " + heap_path +
                ", which other processes have open, is not there. Put it back; if heap and log were renamed, open "
                "the heap by the name that both have now.",
            path);
    }
    if (!file)
        return file.error();
    std::unique_ptr<os::byte_locks> lock;
    if (how == os::access::read_write) { // readers take no lock, so they prevent no process from taking it
        auto locked = lock_alone(**file, os::lock_kind::shared);
        if (!locked)
            return locked.error();
        lock = std::move(*locked);
    }
    return std::unique_ptr<redo_log>(new redo_log(std::move(*file), std::move(lock), 0, 0));
}

result<void> redo_log::share() {
    auto shared = lock_->try_lock(os::k_lock_offset, os::lock_kind::shared);
    if (!shared)
        return shared.error();
    return *shared ? result<void>() : log_in_use(file_->path());
}

// If the window is in two parts, its far part ends somewhere before the end of the file, and used_bytes() is then an
// estimate.
result<void> redo_log::follow(std::uint64_t begin, const log_tail& end) {
    auto size = file_->size();
    if (!size)
        return size.error();
    const std::lock_guard guard(mutex_);
    REM_CHECK(pending_.empty());
    size_ = *size;
    if (end.offset < begin && end.version != appended_)
        far_end_ = size_;
    begin_ = begin;
    end_ = end.offset;
    needs_sync_ = needs_sync_ || end.durable_through < end.version;
    appended_ = written_ = taken_ = end.version;
    durable_ = std::max<std::uint64_t>(durable_, end.durable_through);
    return {};
}

// At least one sector stays free. Otherwise a full window in two parts would look like an empty window.
bool redo_log::has_room(std::uint64_t record_bytes) const {
    const std::lock_guard guard(mutex_);
    return !is_in_two_parts() || end_ + record_bytes < begin_;
}

result<void> redo_log::reserve(std::uint64_t record_bytes) {
    REM_CHECK(has_room(record_bytes)); // I1
    const std::uint64_t end = end_ + record_bytes;
    if (end <= size_)
        return {};
    {
        const std::lock_guard guard(mutex_);
        if (auto before = fail_again(); !before) {
            auto why = before.error();
            why.why().code = errc::io; // even if a full disk was the cause: this record does not lack space
            return why;
        }
    }
    // Segments are written before use, so that later commits change no metadata. The next record writes its own part of
    // them, and its sync covers all. The zeros lie behind everything that other threads write meanwhile.
    const std::uint64_t grown =
        format::k_log_header_bytes + format::log_segments_around(end - format::k_log_header_bytes);
    REM_TRY(file_->reserve("log: reserve segments", size_, grown - size_));
    REM_TRY(write_zeros("log: zeros of segments", *file_, end, grown));
    size_ = grown;
    const std::lock_guard guard(mutex_);
    needs_sync_ = true;
    return {};
}

// Writes no zeros, so a file system may refuse them later although this call succeeds. If the window is in two parts,
// the next record lies in space that is reserved already.
result<void> redo_log::reserve_early(std::uint64_t bytes) {
    const std::uint64_t end = end_ + bytes;
    if (end <= size_)
        return {};
    const std::uint64_t grown =
        format::k_log_header_bytes + format::log_segments_around(end - format::k_log_header_bytes);
    return file_->reserve("log: reserve segments early", size_, grown - size_);
}

page_aligned_bytes redo_log::take_memory() {
    const std::lock_guard guard(mutex_);
    return std::exchange(unused_, {});
}

void redo_log::append(page_aligned_bytes record, prerequisite first) {
    const std::lock_guard guard(mutex_);
    const std::uint64_t bytes = record.size();
    if (pending_.empty()) {
        pending_ = std::move(record);
    } else {
        pending_.append(record);
    }
    if (first)
        pending_first_ = std::move(first);
    end_ += bytes;
    ++appended_;
}

result<std::uint64_t> redo_log::mark() {
    REM_TRY(await(appended_through(), durability::durable));
    const std::lock_guard guard(mutex_);
    const std::uint64_t free_bytes = begin_ - format::k_log_header_bytes;
    // No record is pending, so no write has to continue at the log's beginning.
    if (!is_in_two_parts() && free_bytes != 0 && free_bytes >= end_ - begin_)
        far_end_ = std::exchange(end_, format::k_log_header_bytes);
    return end_;
}

void redo_log::release(std::uint64_t mark) {
    const std::lock_guard guard(mutex_);
    begin_ = mark;
}

void redo_log::restart() {
    const std::lock_guard guard(mutex_);
    begin_ = end_ = format::k_log_header_bytes;
}

std::uint64_t redo_log::used_bytes() const {
    const std::lock_guard guard(mutex_);
    return is_in_two_parts() ? far_end_ - begin_ + end_ - format::k_log_header_bytes : end_ - begin_;
}

result<void> redo_log::await(std::uint64_t version, durability how) {
    unique_lock lock(mutex_);
    REM_CHECK(version <= appended_);
    if (how == durability::none) {
        if (pending_.size() <= k_pending_bytes_max)
            return durable_ >= version ? result<void>() : fail_again();
        how = durability::lazy;
    }
    while ((how == durability::durable ? durable_.load() : written_) < version) {
        REM_TRY(fail_again());
        if (!busy_)
            return write_pending(lock, how);
        if (is_durable_after_turn(lock, version))
            return {};
    }
    return durable_ >= version ? result<void>() : fail_again();
}

// Writes everything appended so far. Records appended meanwhile are written next, by one of the threads that wait for
// them. May release the lock.
result<void> redo_log::write_pending(unique_lock& lock, durability how) {
    page_aligned_bytes records = std::exchange(pending_, {});
    const prerequisite first = std::exchange(pending_first_, {});
    const std::uint64_t through = taken_ = appended_;
    ++writes_;
    const std::uint64_t at = end_ - records.size();
    const bool syncs_all = std::exchange(needs_sync_, how != durability::durable);
    auto written = at_file(lock, [&] {
        auto done = first ? first() : result<void>();
        if (done)
            done = write(at, records, how, syncs_all);
        if (records.capacity() > k_unused_bytes_max)
            records = {}; // freed here, while no thread waits for this one
        return done;
    });
    if (!written) {
        failed_ = std::move(written.error().why());
        wake(lock);
        lock.lock();
        return fail_again();
    }
    if (records.capacity() > unused_.capacity())
        unused_.swap(records);
    written_ = through;
    if (how == durability::durable)
        durable_ = through;
    wake(lock);
    return {};
}

/// `syncs_all`: the sync must also make earlier writes to the file durable.
result<void> redo_log::write(std::uint64_t at, std::span<const std::byte> records, durability how, bool syncs_all) {
    if (how == durability::durable && !syncs_all)
        return file_->write_durable("log: record", "log: sync record", at, records);
    if (!records.empty())
        REM_TRY(file_->write("log: buffered records", at, records));
    return how == durability::lazy ? result<void>() : file_->sync("log: sync buffered records");
}

/// Calls use() with the lock released, while no other thread uses the file. Precondition: no thread uses it now.
template <class F>
result<void> redo_log::at_file(unique_lock& lock, F&& use) {
    busy_ = true;
    lock.unlock();
    result<void> done;
    try {
        done = use();
    } catch (const std::bad_alloc&) {
        leave_file(lock);
        lacked_memory_ = true;
        wake(lock);
        throw;
    } catch (...) { // pthread_exit(), or the program's exception: other threads must not wait for this thread
        leave_file(lock);
        was_abandoned_ = true;
        wake(lock);
        throw;
    }
    leave_file(lock);
    return done;
}

void redo_log::leave_file(unique_lock& lock) {
    lock.lock();
    busy_ = false;
}

// Releases the lock, since the threads that wake up need it at once. First wakes the thread that writes next: while the
// device waits for it, the others would only compete with it for a processor.
void redo_log::wake(unique_lock& lock) {
    os::turn& written = turns_[writes_ % 2];
    os::turn& next = turns_[(writes_ + 1) % 2];
    written.pass();
    next.pass();
    const bool is_over = failed_ || lacked_memory_ || was_abandoned_;
    lock.unlock();
    if (is_over)
        next.wake_all();
    else
        next.wake_one();
    written.wake_all();
}

/// Waits until the thread that uses the file is done. If that thread does not write this version, waits until it is the
/// turn of the calling thread to write. Returns true, without the lock, if the version is durable now: the threads that
/// shared a write need not queue for the lock. Precondition: a thread uses the file.
bool redo_log::is_durable_after_turn(unique_lock& lock, std::uint64_t version) {
    os::turn& turn = turns_[(version <= taken_ ? writes_ : writes_ + 1) % 2];
    const std::uint32_t seen = turn.now();
    lock.unlock();
    while (turn.now() == seen)
        turn.wait(seen);
    if (durable_ >= version)
        return true;
    lock.lock();
    return false;
}

result<void> redo_log::fail_again() const {
    if (lacked_memory_)
        throw std::bad_alloc();
    if (failed_)
        return unexpected(*failed_);
    if (was_abandoned_)
        return fail(
            errc::io,
            "cannot write " + file_->path() +
                ": the thread that wrote it has ended meanwhile. Close the heap and open it again, then it is as of "
                "its last durable commit.",
            file_->path());
    return {};
}

std::uint64_t redo_log::appended_through() const {
    const std::lock_guard guard(mutex_);
    return appended_;
}

std::uint64_t redo_log::written_through() const {
    const std::lock_guard guard(mutex_);
    return written_;
}

std::uint64_t redo_log::durable_through() const {
    const std::lock_guard guard(mutex_);
    return durable_;
}

} // namespace remanence::log
