#include "store/heap_creation.hpp"

#include "base/assert.hpp"
#include "format/log_record.hpp"
#include "format/superblock.hpp"
#include "os/lock_holders.hpp"
#include "os/memory.hpp"
#include "store/superblocks.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace remanence::store {

std::string new_path(const std::string& heap_path) { return heap_path + "-new"; }
std::string log_path(const std::string& heap_path) { return heap_path + "-log"; }
std::string history_path(const std::string& heap_path) { return heap_path + "-history"; }

result<void> check_is_at(os::file& file, const std::string& path) {
    auto mine = file.is_at(path);
    if (!mine)
        return mine.error();
    return *mine ? result<void>()
                 : fail(errc::unlinked, path + " was moved or removed while it was being made. Try again.", path);
}

unexpected in_use(const std::string& path) {
    return fail(errc::in_use, path + " is open elsewhere: " + os::who_holds(path) + ". Close it there first.", path);
}

namespace {

/// Refuses a file unless it is the remains of an interrupted creation or copy. A creation writes only superblocks, so a
/// heap without contents counts as such remains; losing one does no harm. A copy begins with a mark, which is durable
/// before anything else is written, and its superblocks are written last.
result<void> check_is_debris(os::file_system& files, os::file& file) {
    const auto refuse = [&](const std::string& what) {
        return fail(errc::exists,
                    file.path() + " has the name under which the new heap is built, and is " + what +
                        ". Give it another name, or remove it if it is not wanted.",
                    file.path());
    };
    auto size = file.size();
    if (!size)
        return size.error();
    superblock_places places{};
    const auto present = static_cast<std::size_t>(std::min<std::uint64_t>(*size, sizeof places));
    REM_TRY(file.read(0, std::as_writable_bytes(std::span(places)).first(present)));
    if (places[0].magic == format::k_copy_magic)
        return {};
    const auto is_of_heap = [](const format::superblock& s) { return s.magic == format::k_heap_magic; };
    if (*size > sizeof places && std::none_of(places.begin(), places.end(), is_of_heap))
        return refuse("no heap in the making");
    for (std::uint64_t i = 0; i < places.size(); ++i) {
        const format::superblock& s = places[i];
        if (s.magic != format::k_heap_magic && s.magic != decltype(s.magic){})
            return refuse("no heap in the making");
        // The epoch is 0 until the first session, which begins only after the heap has its durable name. Regions are
        // not tested, since a failed commit may have left one.
        const bool has_contents = s.epoch != 0 || s.checkpoint_version != 0;
        if (is_valid(s, i) && has_contents)
            return refuse("a heap of its own, or a copy that was interrupted when it was complete");
    }
    auto has_log = files.exists(log_path(file.path()));
    if (!has_log)
        return has_log.error();
    if (*has_log)
        return refuse("a heap with a redo log");
    return {};
}

} // namespace

result<std::unique_ptr<os::file>> begin_new(os::file_system& files, const std::string& path, unsigned mode) {
    const std::string building = new_path(path);
    // Tests the longest name that will be used. If it is too long, this fails before a file is made.
    if (auto has_log = files.exists(log_path(building)); !has_log)
        return has_log.error();
    auto file = files.open_or_create(building, mode);
    if (!file) {
        unexpected why = file.error();
        why.why().path = path; // the name that the caller passed
        return why;
    }
    auto locked = (*file)->try_lock(os::lock_kind::exclusive);
    if (!locked)
        return locked.error();
    auto mine = (*file)->is_at(building); // false if another process renamed the file before we locked it
    if (!mine)
        return mine.error();
    if (!*locked || !*mine) {
        return fail(errc::in_use,
                    path + " is just being created, as " + building + ": " + os::who_holds(building) +
                        ". Wait until that is done.",
                    path);
    }
    REM_TRY(check_is_debris(files, **file));
    if (auto emptied = (*file)->resize("store: empty new file", 0); !emptied) { // it may hold the remains of a creation
        (void)files.remove("store: remove file not emptied", building, **file); // best effort: the other error counts
        return emptied.error();
    }
    return file;
}

namespace {

/// Fails if there is a heap of this name, or the log of an earlier one.
result<void> check_names_are_free(os::file_system& files, const std::string& path) {
    auto heap = files.exists(path);
    if (!heap)
        return heap.error();
    if (*heap)
        return fail(errc::exists, path + " exists. Open it, or choose another name.", path);
    const std::string log = log_path(path);
    auto stray = files.exists(log);
    if (!stray)
        return stray.error();
    if (*stray) {
        return fail(errc::log_foreign,
                    "cannot create " + path + ": the redo log " + log +
                        " of an earlier heap is in the way, and may hold its last commits. Bring that heap back, or "
                        "remove the log.",
                    log);
    }
    return {};
}

result<format::superblock> first_superblock(const creation& how) {
    format::superblock s{};
    s.magic = format::k_heap_magic;
    s.format_version = format::k_format_version;
    s.endianness = format::k_endianness;
    REM_TRY(os::random_bytes(s.uuid.data(), s.uuid.size()));
    s.checksum_algorithm = format::k_checksum_xxh3;
    s.flags = format::k_flag_clean;
    s.features_ro_compat = (how.aligned_blocks ? format::k_feature_aligned_blocks : 0) |
                           (how.red_zones ? format::k_feature_red_zones : 0) |
                           (how.longer_blocks ? format::k_feature_longer_blocks : 0);
    s.chunk_bytes = how.chunk_bytes;
    s.base = how.base;
    s.map.area_offset = format::k_first_map_offset;
    s.map.slot_bytes = format::k_first_map_slot_bytes;
    s.log_begin = format::k_log_header_bytes;
    REM_CHECK(how.abi.size() < s.abi.size());
    std::copy(how.abi.begin(), how.abi.end(), s.abi.begin());
    if (!how.application.empty())
        set_application(s, how.application);
    return s;
}

} // namespace

result<heap_identity> create_empty(os::file_system& files, const std::string& path, const creation& how) {
    REM_TRY(check_names_are_free(files, path));
    auto file = begin_new(files, path, how.mode);
    if (!file)
        return file.error();
    auto first = first_superblock(how);
    if (!first)
        return first.error();
    format::superblock& s = *first;
    const std::string building = new_path(path);
    auto build = [&]() -> result<void> {
        for (s.sequence = 0; s.sequence < format::k_superblock_count; ++s.sequence) {
            s.checksum = superblock_checksum(s, s.sequence);
            REM_TRY((*file)->write("store: first superblocks", s.sequence * format::k_superblock_bytes,
                                   std::as_bytes(std::span(&s, 1))));
        }
        REM_TRY((*file)->sync("store: sync new heap"));
        REM_TRY(check_is_at(**file, building));
        REM_TRY(files.rename_to_new("store: rename new heap", building, path));
        return files.sync_directory("store: sync directory of new heap", path);
    };
    if (auto built = build(); !built) {
        // Best effort: the earlier error is returned.
        (void)files.remove("store: remove failed heap", building, **file);
        return built.error();
    }
    return s.uuid;
}

} // namespace remanence::store
