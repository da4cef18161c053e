#include "history/history_file.hpp"

#include "base/checksum.hpp"
#include "base/units.hpp"
#include "format/history_event.hpp"
#include "history/missing.hpp"
#include "history/name_of_history.hpp"
#include "history/step_loader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace remanence::history {

using format::history_entry;
using format::history_header;
using format::history_summary;

namespace {

constexpr std::uint64_t k_pending_bytes_max = 1 * MiB;
// Space is reserved in pieces. Each piece is as long as the file so far, within these bounds.
constexpr std::uint64_t k_room_bytes_min = 64 * KiB;
constexpr std::uint64_t k_room_bytes_max = 1 * MiB;

std::uint64_t checksum_of(const history_summary& all, const heap_uuid& heap) {
    return checksum64(std::as_bytes(std::span(&all, 1)).first(offsetof(history_summary, checksum)),
                      header_of(heap).checksum);
}

} // namespace

result<std::optional<step_tree>> history_file::load(const commit_name& last, const std::optional<limits>& most,
                                                    std::uint64_t heap_bytes, std::string& why) {
    const auto none = [&](std::string reason) {
        why = std::move(reason);
        return std::optional<step_tree>();
    };
    auto at_name = find_file(files_, path_, os::access::read_write);
    if (!at_name)
        return at_name.error();
    is_in_the_way_ = at_name->is_taken;
    std::unique_ptr<os::file>& file = at_name->file;
    if (!file)
        return none(is_in_the_way_ ? no_file_at(path_) : no_history_at(path_));
    step_loader steps(heap_bytes);
    bool is_sound = true;
    std::optional<entry_end> end;
    std::optional<std::uint64_t> first;
    auto is_ours = for_each_entry(*file, heap_, [&](const entry_end& each, std::span<const std::byte> events) {
        is_sound = steps.add(each.commit.version, events);
        if (!first)
            first = each.commit.version;
        const bool begins_later = !most && *first > last.version;
        if (is_sound && (each.commit == last || begins_later) && steps.is_whole())
            end = each;
        return is_sound && !end && (each.commit.version <= last.version || begins_later) ? reading::goes_on
                                                                                         : reading::is_done;
    });
    if (!is_ours)
        return is_ours.error();
    if (!end) {
        auto reason = why_unfit(*file, heap_, path_, last, heap_bytes);
        return reason ? result<std::optional<step_tree>>(none(std::move(*reason))) : reason.error();
    }
    auto size = file->size();
    if (!size)
        return size.error();
    is_in_the_way_ = false;
    file_ = std::move(file);
    end_ = *end;
    before_pending_ = end_.commit;
    reserved_end_ = std::max(*size, end_.offset);
    has_limits_ = !most || steps.has_limits(*most);
    auto loaded = std::optional(most ? steps.take(*most) : steps.take());
    // Twice the size that the steps need, not twice the file's size: otherwise the file would grow with each short
    // session, without bound.
    rewritten_at_ = std::max(rewritten_from_, 2 * (format::k_history_header_bytes + loaded->appended_bytes()));
    return loaded;
}

// I7, H8: the entries before the summary are checked later, when load_rest() reads them.
result<std::optional<summary>> history_file::load_summary(const commit_name& last) {
    const std::optional<summary> none;
    auto at_name = find_file(files_, path_, os::access::read_write);
    if (!at_name)
        return at_name.error();
    std::unique_ptr<os::file>& file = at_name->file;
    if (!file)
        return none;
    auto size = file->size();
    if (!size)
        return size.error();
    history_header header{};
    history_summary found{};
    if (*size < format::k_history_header_bytes + sizeof found)
        return none;
    const std::uint64_t at = *size - sizeof found;
    REM_TRY(file->read(0, std::as_writable_bytes(std::span(&header, 1))));
    REM_TRY(file->read(at, std::as_writable_bytes(std::span(&found, 1))));
    const history_header expected = header_of(heap_);
    if (std::memcmp(&header, &expected, sizeof header) != 0 || found.magic != format::k_summary_magic ||
        found.checksum != checksum_of(found, heap_) || found.offset != at ||
        commit_name{found.version, found.chain} != last || found.present == 0 || found.present > found.version)
        return none;
    file_ = std::move(file);
    end_ = {last, at, found.entry_checksum};
    before_pending_ = last;
    reserved_end_ = *size;
    rewritten_at_ = std::max(rewritten_from_, found.rewritten_at);
    return std::optional(
        summary{found.present, found.undo_depth, found.redo_depth, found.steps, found.bytes, found.kept});
}

template <class F>
void history_file::for_each_pending(const F& f) const {
    for (std::span<const std::byte> rest(pending_); !rest.empty();) {
        history_entry entry{};
        std::memcpy(&entry, rest.data(), sizeof entry);
        f(commit_name{entry.version, entry.chain}, rest.subspan(sizeof entry, static_cast<std::size_t>(entry.bytes)));
        rest = rest.subspan(static_cast<std::size_t>(entry_bytes(entry.bytes)));
    }
}

bool history_file::is_before_or_in_pending(const commit_name& commit) const {
    bool found = commit == before_pending_;
    if (commit.version <= before_pending_.version)
        return found;
    for_each_pending([&](const commit_name& each, std::span<const std::byte>) { found = found || each == commit; });
    return found;
}

result<bool> history_file::read_all(step_loader& steps) {
    bool is_sound = true;
    std::uint64_t end = 0;
    const std::uint64_t written_end = end_.offset - pending_.size();
    auto is_ours = for_each_entry(*file_, heap_, [&](const entry_end& each, std::span<const std::byte> events) {
        is_sound = each.offset <= written_end && steps.add(each.commit.version, events);
        end = each.offset;
        return is_sound && end != written_end ? reading::goes_on : reading::is_done;
    });
    if (!is_ours)
        return is_ours.error();
    is_sound = is_sound && *is_ours && end == written_end;
    for_each_pending([&](const commit_name& commit, std::span<const std::byte> events) {
        is_sound = is_sound && steps.add(commit.version, events);
    });
    return is_sound && steps.is_whole();
}

result<std::optional<step_tree>> history_file::load_rest(const limits& most, std::uint64_t heap_bytes,
                                                         std::string& why) {
    step_loader steps(heap_bytes);
    auto is_sound = read_all(steps);
    if (!is_sound)
        return is_sound.error();
    if (*is_sound)
        return std::optional(steps.take(most));
    auto reason = why_unfit(*file_, heap_, path_, end_.commit, heap_bytes);
    if (!reason)
        return reason.error();
    why = std::move(*reason);
    file_.reset();
    pending_.clear();
    is_in_the_way_ = true;
    return std::optional<step_tree>();
}

result<void> history_file::begin(const step_tree& steps, const commit_name& last, unsigned mode) {
    auto made = make(steps, last, mode);
    return made ? go_on_in(std::move(*made)) : made.error();
}

result<history_file::made_file> history_file::make(const step_tree& steps, const commit_name& last,
                                                   unsigned mode) const {
    const std::string building = path_ + "-new";
    auto file = open_new(building, mode);
    if (!file)
        return file.error();
    auto size = (*file)->size();
    if (!size)
        return size.error();
    entry_end end{};
    auto filled = fill(**file, steps, last, end);
    if (filled)
        filled = rename_into_place(building);
    if (!filled) {
        // If this fails, too, the first error is still the one to return.
        (void)files_.remove("history: remove failed file", building, **file);
        return filled.error();
    }
    return made_file{std::move(*file), end, std::max(*size, end.offset)};
}

result<void> history_file::go_on_in(made_file made) {
    REM_TRY(sync_name());
    auto is_there = made.file->is_at(path_);
    if (!is_there)
        return is_there.error();
    if (!*is_there)
        return fail(errc::unlinked, path_ + " was removed or replaced while it was made. Commit again.", path_);
    is_in_the_way_ = false;
    has_limits_ = true;
    file_ = std::move(made.file);
    end_ = made.end;
    pending_.clear();
    before_pending_ = end_.commit;
    reserved_end_ = made.reserved_end;
    rewritten_at_ = std::max(rewritten_from_, 2 * made.end.offset);
    return {};
}

// If an earlier call was interrupted, opens the file that it left. Anything else that has the name `building` is set
// aside.
result<std::unique_ptr<os::file>> history_file::open_new(const std::string& building, unsigned mode) const {
    auto file = files_.open_or_create(building, mode);
    if (file || file.why().code == errc::no_space)
        return file;
    auto is_taken = is_name_taken(files_, building);
    if (!is_taken || !*is_taken)
        return file;
    REM_TRY(set_aside(files_, building, path_ + "-unfit"));
    return files_.open_or_create(building, mode);
}

// An earlier call that was interrupted may have left a longer file. Its bytes after the new end are ignored (H5).
result<void> history_file::fill(os::file& file, const step_tree& steps, const commit_name& last, entry_end& end) const {
    const history_header header = header_of(heap_);
    REM_TRY(file.write("history: header", 0, std::as_bytes(std::span(&header, 1))));
    end = {{}, format::k_history_header_bytes, header.checksum};
    result<void> written;
    std::vector<std::byte> entry;
    steps.append_all([&](event_bytes& events) {
        const std::uint64_t at = end.offset;
        entry.clear();
        append_entry(entry, last, events, end);
        events.clear();
        written = file.write("history: steps of new file", at, entry);
        return static_cast<bool>(written);
    });
    REM_TRY(std::move(written));
    return file.sync("history: sync new file");
}

// If the file at `path_` could not be read as this history, it may belong to the user, so it is set aside.
result<void> history_file::rename_into_place(const std::string& building) const {
    if (is_in_the_way_) {
        auto is_taken = is_name_taken(files_, path_); // that file may have been moved away since
        if (!is_taken)
            return is_taken.error();
        if (*is_taken)
            REM_TRY(set_aside(files_, path_, path_ + "-unfit"));
    }
    return files_.rename_over("history: rename new file", building, path_);
}

result<void> history_file::reserve(std::size_t bytes_of_events) {
    const auto more = static_cast<std::size_t>(entry_bytes(bytes_of_events));
    if (pending_.size() + more > k_pending_bytes_max)
        REM_TRY(write_pending());
    if (pending_.size() + more > pending_.capacity())
        pending_.reserve(std::max(pending_.size() + more, 2 * pending_.capacity()));
    const std::uint64_t end = end_.offset + more;
    if (end <= reserved_end_)
        return {};
    const std::uint64_t grown =
        align_up(end, std::clamp(std::bit_ceil(reserved_end_), k_room_bytes_min, k_room_bytes_max));
    REM_TRY(file_->reserve("history: reserve entries", reserved_end_, grown - reserved_end_));
    reserved_end_ = grown;
    return {};
}

void history_file::add(const commit_name& commit, std::span<const std::byte> events) noexcept {
    append_entry(pending_, commit, events, end_); // allocates nothing: reserve() made room
}

void history_file::add_of_others(const commit_name& commit, std::span<const std::byte> events) {
    const auto more = static_cast<std::size_t>(entry_bytes(events.size()));
    if (pending_.size() + more > pending_.capacity())
        pending_.reserve(std::max(pending_.size() + more, 2 * pending_.capacity()));
    add(commit, events);
}

void history_file::forget_pending(std::uint64_t through) noexcept {
    std::size_t at = 0;
    while (at != pending_.size()) {
        history_entry entry{};
        std::memcpy(&entry, pending_.data() + at, sizeof entry);
        if (entry.version > through)
            break;
        before_pending_ = {entry.version, entry.chain};
        at += static_cast<std::size_t>(entry_bytes(entry.bytes));
    }
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(at));
}

result<bool> history_file::read_on(const commit_name& to, const events_visitor& f) {
    pending_.clear();
    result<void> used;
    REM_TRY(for_each_entry_behind(*file_, end_, [&](const entry_end& each, std::span<const std::byte> events) {
        if (each.commit.version > to.version)
            return reading::is_done;
        used = f(each.commit, events);
        end_ = each;
        before_pending_ = each.commit;
        return used && each.commit != to ? reading::goes_on : reading::is_done;
    }));
    REM_TRY(std::move(used));
    return end_.commit == to;
}

// Pending entries that the new file lacks are to be appended to it; the log still has their commits' records. The new
// file's name may not be durable yet, since the process that renamed the file may have died.
result<void> history_file::go_on_in_new() {
    auto is_there = file_->is_at(path_);
    if (!is_there)
        return is_there.error();
    if (*is_there)
        return {};
    auto at_name = find_file(files_, path_, os::access::read_write);
    if (!at_name)
        return at_name.error();
    if (!at_name->file)
        return {};
    std::optional<entry_end> begun;
    std::optional<entry_end> known;
    auto is_ours = for_each_entry(*at_name->file, heap_, [&](const entry_end& each, std::span<const std::byte>) {
        if (each.commit.version > end_.commit.version)
            return reading::is_done;
        known = is_before_or_in_pending(each.commit) ? std::optional(each) : std::nullopt;
        if (!begun || begun->commit == each.commit)
            begun = each;
        return reading::goes_on;
    });
    if (!is_ours)
        return is_ours.error();
    if (!known)
        return {};
    auto size = at_name->file->size();
    if (!size)
        return size.error();
    REM_TRY(sync_name());
    entry_end end = *known;
    std::vector<std::byte> pending;
    for_each_pending([&](const commit_name& commit, std::span<const std::byte> events) {
        if (commit.version > known->commit.version)
            append_entry(pending, commit, events, end);
    });
    file_ = std::move(at_name->file);
    end_ = end;
    pending_ = std::move(pending);
    before_pending_ = known->commit;
    reserved_end_ = *size;
    rewritten_at_ = std::max(rewritten_from_, 2 * begun->offset);
    return {};
}

result<void> history_file::write_appended() {
    auto written = write_pending();
    synced_ = file_;
    return written;
}

result<void> history_file::write_pending() {
    if (pending_.empty())
        return {};
    REM_TRY(file_->write("history: entries", end_.offset - pending_.size(), pending_));
    pending_.clear();
    before_pending_ = end_.commit;
    return {};
}

result<void> history_file::write_all(const step_tree& steps, unsigned mode, bool is_lost) {
    auto written = write_or_begin(steps, mode, is_lost);
    synced_ = file_;
    return written;
}

// Called once for each checkpoint. If the check fails, the file counts as not lost.
bool history_file::is_lost() const {
    const auto is_there = has_begun() ? file_->is_at(path_) : result<bool>(true);
    return is_there && !*is_there;
}

// If no new file can be written, entries go to the old file. Even if that was removed, it exists as long as this object
// has it open.
result<void> history_file::write_or_begin(const step_tree& steps, unsigned mode, bool is_lost) {
    if (!has_begun())
        return begin(steps, end_.commit, mode);
    is_in_the_way_ = is_lost; // the file that has the name now may belong to the user
    if (has_grown() && !is_lost)
        rewritten_at_ = std::max(rewritten_from_, 2 * (format::k_history_header_bytes + steps.appended_bytes()));
    if (!is_lost && !has_grown())
        return write_pending();
    auto made = make(steps, end_.commit, mode);
    if (!made)
        return write_pending();
    REM_TRY(go_on_in(std::move(*made)));
    if (is_lost)
        what_happened_ =
            path_ + " was removed or replaced while the heap was open. It has been made anew, with all steps.";
    return {};
}

// If the file cannot be renamed, the next commit begins a new file with the new name.
void history_file::follow(const std::string& path) {
    if (path == path_)
        return;
    if (has_begun()) {
        auto is_there = file_->is_at(path); // the file may have been renamed together with the heap
        bool follows = is_there && *is_there;
        if (!follows && files_.rename_to_new("history: rename after heap", path_, path))
            follows = static_cast<bool>(files_.sync_directory("history: sync directory of renamed history", path));
        if (!follows) {
            what_happened_ = "The heap was renamed while it was open, and " + path_ +
                             " could not follow it: it was removed, or " + path +
                             " is the name of another file. All steps go on in a new file of that name.";
            file_.reset();
        }
    }
    is_in_the_way_ = !has_begun();
    path_ = path;
}

result<void> history_file::end_with(const summary& all) {
    auto size = file_->size(); // other processes may have reserved more
    if (!size)
        return size.error();
    if (end_.offset < *size)
        REM_TRY(file_->resize("history: cut to size", end_.offset));
    reserved_end_ = end_.offset;
    history_summary ending{format::k_summary_magic,
                           end_.offset,
                           end_.checksum,
                           end_.commit.version,
                           end_.commit.chain,
                           all.present,
                           all.undo_depth,
                           all.redo_depth,
                           all.steps,
                           all.bytes,
                           all.kept,
                           rewritten_at_,
                           0};
    ending.checksum = checksum_of(ending, heap_);
    return file_->write("history: summary", end_.offset, std::as_bytes(std::span(&ending, 1)));
}

} // namespace remanence::history
