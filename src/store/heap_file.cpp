#include "store/heap_file.hpp"

#include "base/checksum.hpp"
#include "format/log_record.hpp"
#include "os/memory.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace remanence::store {

namespace {

/// True if the file beside the heap begins like a redo log. Errors count as "no log".
bool has_redo_log(os::file_system& files, const std::string& path) {
    auto log = files.open(log_path(path), os::access::read_only);
    auto magic = format::log_header{}.magic;
    return log && (*log)->read(0, std::as_writable_bytes(std::span(&magic, 1))) && magic == format::k_log_magic;
}

/// Fails with errc::unsupported_format if the heap must be upgraded first.
result<std::unique_ptr<heap_file>> of_this_format(result<std::unique_ptr<heap_file>> store, const std::string& path) {
    if (!store)
        return store.error();
    if (const std::uint32_t version = (*store)->super().format_version; version != format::k_format_version) {
        return fail(errc::unsupported_format,
                    path + " has the older format " + std::to_string(version) + ", this release works on format " +
                        std::to_string(format::k_format_version) + ". Convert it: rem upgrade " + path,
                    path, 0,
                    (*store)->super().sequence % 2 * format::k_superblock_bytes +
                        offsetof(format::superblock, format_version));
    }
    return store;
}

} // namespace

result<std::unique_ptr<heap_file>> heap_file::create(os::file_system& files, const std::string& path,
                                                     const creation& how) {
    auto made = create_empty(files, path, how);
    if (!made)
        return made.error();
    auto store = open(files, path, os::access::read_write);
    if (store && (*store)->super().uuid != *made)
        return fail(errc::unlinked, "the new heap " + path + " was replaced at once, by another one. Open that one.",
                    path);
    if (store)
        (*store)->supers_.note_confirmed();
    return store;
}

/// Does the steps of an open that open_damaged() needs, too.
result<std::unique_ptr<heap_file>> heap_file::begin_open(os::file_system& files, const std::string& path,
                                                         os::access mode, locking lock,
                                                         std::optional<std::uint64_t> current_sequence) {
    auto file = files.open(path, mode);
    if (!file)
        return file.error();
    if (lock == locking::yes) {
        auto locked =
            (*file)->try_lock(mode == os::access::read_only ? os::lock_kind::shared : os::lock_kind::exclusive);
        if (!locked)
            return locked.error();
        if (!*locked)
            return in_use(path);
        auto name = (*file)->find_name(); // the file may have been unlinked before this process locked it
        if (!name)
            return name.error();
        if (!name->exists)
            return fail(errc::unlinked, path + " was removed or replaced while it was being opened. Open it again.",
                        path);
    }
    auto size = (*file)->size();
    if (!size)
        return size.error();
    auto current = current_sequence ? read_superblock(**file, *current_sequence) : read_superblocks(**file, *size);
    if (lock == locking::none_if_free) {
        auto locked = (*file)->is_locked_exclusively();
        if (!locked)
            return locked.error();
        if (*locked)
            return in_use(path);
        size = (*file)->size(); // again: the file may have grown before that superblock was written
        if (!size)
            return size.error();
    }
    if (!current && current.why().code == errc::not_a_heap && has_redo_log(files, path)) {
        return fail(errc::truncated,
                    path + (*size == 0 ? " is empty" : " does not begin as a heap") + ", although a redo log, " +
                        store::log_path(path) + ", lies beside it. Keep that log, and restore the heap from a copy.",
                    path, 0, 0);
    }
    if (!current)
        return current.error();
    return std::unique_ptr<heap_file>(new heap_file(std::move(*file), *size, *current));
}

result<std::unique_ptr<heap_file>> heap_file::open(os::file_system& files, const std::string& path, os::access mode) {
    return of_this_format(open_to_upgrade(files, path, mode), path);
}

result<std::unique_ptr<heap_file>> heap_file::open_shared(os::file_system& files, const std::string& path,
                                                          std::optional<std::uint64_t> current, os::access mode) {
    auto store = begin_open(files, path, mode, locking::no, current);
    if (!store)
        return store.error();
    return of_this_format(read_structure(std::move(*store), mode), path);
}

result<std::unique_ptr<heap_file>> heap_file::read_structure(std::unique_ptr<heap_file> store, os::access mode) {
    if (mode == os::access::read_write)
        REM_TRY(check_may_be_written(store->super(), store->path()));
    REM_TRY(store->check_length());
    REM_TRY(store->copies_.read_map(store->file()));
    auto place = read_log_place(store->file(), store->super());
    if (!place)
        return place.error();
    store->log_place_ = std::move(*place);
    return store;
}

result<std::unique_ptr<heap_file>> heap_file::open_to_upgrade(os::file_system& files, const std::string& path,
                                                              os::access mode) {
    auto store = begin_open(files, path, mode, locking::yes);
    if (!store)
        return store.error();
    return read_structure(std::move(*store), mode);
}

result<std::unique_ptr<heap_file>> heap_file::open_damaged(os::file_system& files, const std::string& path,
                                                           const std::function<void(const failure&)>& damaged,
                                                           locking lock) {
    auto store = begin_open(files, path, os::access::read_write, lock);
    if (!store)
        return store.error();
    if (auto long_enough = (*store)->check_length(); !long_enough)
        damaged(long_enough.why());
    if (auto read = (*store)->copies_.read_map((*store)->file()); !read) {
        if (!is_damage(read.why().code))
            return read.error();
        damaged(read.why()); // without the map all chunks count as stored; those that hold nothing read as zeros
    }
    auto place = read_log_place((*store)->file(), (*store)->super());
    if (place)
        (*store)->log_place_ = std::move(*place);
    else if (is_damage(place.why().code))
        damaged(place.why()); // then the log is looked for beside the heap
    else
        return place.error();
    if (auto limits = (*store)->history(); !limits) {
        if (!is_damage(limits.why().code))
            return limits.error();
        damaged(limits.why());
    }
    return store;
}

std::uint64_t heap_file::stored_end() const {
    std::uint64_t end = 0;
    for (const extent& e : copies_.extents()) {
        if (e.stored)
            end = std::max(end, e.file_offset + e.heap.bytes);
    }
    return end;
}

std::uint64_t heap_file::written_end() const {
    const auto is_in_log = [&](std::uint64_t chunk) {
        const auto placed = checksums_.unpublished().find(chunk);
        return placed != checksums_.unpublished().end() && format::is_without_contents(placed->second);
    };
    std::uint64_t end = 0;
    for (const extent& e : copies_.extents()) {
        std::uint64_t bytes = e.stored ? e.heap.bytes : 0;
        while (bytes != 0 && is_in_log((e.heap.offset + bytes) / where().chunk_bytes() - 1))
            bytes -= where().chunk_bytes();
        if (bytes != 0)
            end = std::max(end, e.file_offset + bytes);
    }
    return end;
}

// I5: resizes even if the file seems long enough, since its length may be in the page cache only. Never shortens the
// file, since checksums or the chunk map may lie behind the last stored chunk.
result<void> heap_file::extend_to_image() {
    REM_TRY(sized_.check_reaches(written_end()));
    if (written_end() == stored_end())
        return {};
    return sized_.resize("store: extend for what the log has", std::max(sized_.bytes(), stored_end()));
}

// The parts refer to each other by address, so they are destroyed and constructed again in place.
result<void> heap_file::follow(std::uint64_t sequence) {
    auto current = read_superblock(file(), sequence);
    if (!current)
        return current.error();
    REM_TRY(sized_.follow());
    supers_.follow(*current);
    room_.note_other_superblock();
    std::destroy_at(&checksums_);
    std::destroy_at(&copies_);
    std::construct_at(&copies_, supers_.current());
    std::construct_at(&checksums_, sized_.file(), supers_.current(), copies_);
    REM_TRY(check_length());
    return copies_.read_map(file());
}

std::string_view heap_file::abi() const { return super().abi.data(); }

std::string_view heap_file::application() const { return super().application.data(); }

result<void> heap_file::check_application(std::string_view application, unstated when) const {
    const std::string_view own = this->application();
    if (application.empty() || application == own || (own.empty() && when == unstated::taken))
        return {};
    const std::string wanted(application);
    if (own.empty()) {
        return fail(errc::wrong_application,
                    path() + " does not say which application's heap it is, this program is of \"" + wanted +
                        "\". If it is its heap, record that: rem upgrade --application " + wanted + " " + path(),
                    path());
    }
    return fail(errc::wrong_application,
                path() + " is a heap of the application \"" + std::string(own) + "\", this program is of \"" + wanted +
                    "\". Name another file.",
                path());
}

result<session_identity> heap_file::next_session() const {
    session_identity next{super().epoch + 1, {}};
    REM_TRY(os::random_bytes(next.number.data(), next.number.size()));
    return next;
}

// I3: the new superblock names nothing that the old one does not.
result<void> heap_file::upgrade(std::string_view application) {
    format::superblock next = super();
    next.format_version = format::k_format_version;
    if (!application.empty())
        set_application(next, application);
    return supers_.write(next);
}

// I8: the area that the current superblock names stays as it is.
result<format::area_reference> heap_file::record(const recorded_page& page, os::call_site what) {
    const format::area_reference area{copies_.file_end(), page.size(), checksum64(page), 1, 0};
    if (area.offset > k_layout_bytes_max)
        return room_.exhausted();
    REM_TRY(sized_.extend_to(area.offset + page.size()));
    REM_TRY(file().write(what, area.offset, page));
    REM_TRY(sized_.syncs().sync("store: sync recorded page"));
    return area;
}

// I3: the page is durable before the superblock that names it.
result<void> heap_file::move_log(const std::string& directory) {
    format::superblock next = super();
    next.log_directory = {};
    next.features_incompat &= ~format::k_feature_log_directory;
    if (!directory.empty()) {
        auto area = record(to_page(directory), "store: log directory");
        if (!area)
            return area.error();
        next.features_incompat |= format::k_feature_log_directory;
        next.log_directory = *area;
    }
    REM_TRY(supers_.write(next));
    log_place_ = log_place(directory, next);
    return {};
}

result<std::optional<format::history_limits>> heap_file::history() { return read_recorded_history(file(), super()); }

// I3, as in move_log().
result<void> heap_file::record_history(const std::optional<format::history_limits>& most) {
    format::superblock next = super();
    next.history = {};
    next.features_ro_compat &= ~format::k_feature_history;
    if (most) {
        auto area = record(to_page(*most), "store: limits of the history");
        if (!area)
            return area.error();
        next.features_ro_compat |= format::k_feature_history;
        next.history = *area;
    }
    return supers_.write(next);
}

result<void> heap_file::move_base(std::uint64_t base) {
    for (int superblocks = 0; superblocks != 2; ++superblocks) {
        format::superblock next = super();
        next.base = base;
        REM_TRY(supers_.write(next));
    }
    return {};
}

} // namespace remanence::store
