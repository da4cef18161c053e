// The public interface of inspection. Returns the results of src/inspect as values, and throws its failures.

#include <remanence/inspect.hpp>

#include "api/heap_origin.hpp"
#include "api/history_limits.hpp"
#include "api/raise.hpp"
#include "api/with_steps.hpp"
#include "history/history_file.hpp"
#include "inspect/heap_users.hpp"
#include "inspect/inspected_pointers.hpp"
#include "inspect/last_commit.hpp"
#include "inspect/root_survey.hpp"
#include "os/lock_holders.hpp"
#include "recover/upgrade.hpp"
#include "share/presence.hpp"
#include "store/heap_copy.hpp"
#include "store/heap_creation.hpp"
#include "store/superblocks.hpp"

#include <memory>
#include <utility>

namespace remanence::inspect {

namespace {

constexpr std::uint64_t k_attempts = 100;      // for functions that read little, or that reread only what changed
constexpr std::uint64_t k_attempts_at_all = 5; // for functions that read the whole heap in each attempt

template <class T>
T checked(result<T> done) {
    if (!done)
        detail::raise(done.why());
    if constexpr (!std::is_void_v<T>)
        return std::move(*done);
}

std::string real_path_of(const std::string& path) { return detail::real_path(path).string(); }

inspection_progress of_step(const progress_callback& on_progress, step what) {
    return [&on_progress, what](std::uint64_t done, std::uint64_t total) {
        if (on_progress)
            on_progress(what, done, total);
    };
}

result<std::unique_ptr<inspection>> last_commit_of(const std::string& path, std::uint64_t attempts,
                                                   const progress_callback& on_progress,
                                                   const std::function<result<void>(inspection&)>& use) {
    return with_last_commit(os::posix_file_system(), real_path_of(path), attempts,
                            of_step(on_progress, step::reading_log), use);
}

damage as_damage(const failure& why, std::uint64_t bytes = 0) {
    return {why.code, why.message, why.path, why.offset, bytes};
}

log_contents as_contents(const inspected_log& log) {
    return {log.present,           log.file_bytes,           log.commits,
            log.record_bytes,      log.totals.changed_pages, log.totals.changed_bytes,
            log.totals.whole_pages};
}

memory_use as_use(const alloc::occupancy& found) {
    memory_use use;
    for (std::size_t i = 0; i < found.classes.size(); ++i) {
        if (found.classes[i].blocks != 0)
            use.classes.push_back({alloc::occupancy::bytes_max(i), found.classes[i].blocks, found.classes[i].bytes});
    }
    use.blocks = found.blocks;
    use.allocated_bytes = found.allocated_bytes;
    use.slabs = found.slabs;
    use.slab_free_bytes = found.slab_free_bytes;
    use.free_runs = found.free_runs;
    use.free_run_bytes = found.free_run_bytes;
    use.longest_free_run_bytes = found.longest_free_run_bytes;
    use.metadata_bytes = found.metadata_bytes;
    use.availability = found.availability;
    use.page_efficiency = found.page_efficiency();
    return use;
}

suspicious_words as_words(types::pointer_survey&& found) {
    suspicious_words words;
    words.found = found.found;
    for (types::foreign_pointer& each : found.first)
        words.first.push_back({std::move(each.root), std::move(each.type), each.offset, std::move(each.what)});
    return words;
}

void add_use(report& found, const format::heap_header* header) {
    found.allocated_bytes = found.free_bytes = 0;
    if (header == nullptr)
        return;
    std::uint64_t taken = 0;
    for (const std::uint32_t pages : header->allocator.used_pages)
        taken += std::uint64_t{pages} * k_page_bytes;
    found.allocated_bytes = header->allocator.allocated_bytes;
    found.free_bytes = taken < found.allocated_bytes ? 0 : taken - found.allocated_bytes;
}

/// Returns nothing if the limits cannot be read; verify() reports that.
std::optional<history_options> history_recorded_in(inspection& heap) {
    auto recorded = heap.store().history();
    if (!recorded || !*recorded)
        return {};
    const auto most = history::read_limits(**recorded).value_or(history::limits{});
    return history_options{most.bytes_max, most.steps_max, detail::as_public(most.then), true, nullptr};
}

void add_heap(report& found, inspection& heap) {
    const format::superblock& super = heap.super();
    found.path = heap.path();
    found.version = heap.version();
    for (const problem& each : heap.problems())
        found.problems.push_back(as_damage(each, each.bytes));
    found.is_all_checked = heap.is_all_checked();
    found.heap_id = super.uuid;
    found.format_version = super.format_version;
    found.application = super.application.data();
    found.recorded_history = history_recorded_in(heap);
    found.abi = super.abi.data();
    found.base_address = super.base;
    found.chunk_bytes = super.chunk_bytes;
    found.sequence = super.sequence;
    found.epoch = super.epoch;
    found.checkpoint_version = super.checkpoint_version;
    found.is_clean = (super.flags & format::k_flag_clean) != 0;
    found.is_open_elsewhere = heap.is_live();
    found.torn_superblock = heap.torn_superblock();
    found.log = as_contents(heap.log());
    found.file_bytes = heap.file_bytes();
    found.heap_bytes = heap.store().image().bytes();
    found.region_bytes = heap.store().where().region_bytes();
}

users::open_as as_public(heap_users::open_as how) {
    switch (how) {
    case heap_users::open_as::closed:
        return users::open_as::closed;
    case heap_users::open_as::exclusive:
        return users::open_as::exclusive;
    case heap_users::open_as::read_only:
        return users::open_as::read_only;
    case heap_users::open_as::opening:
        return users::open_as::opening;
    case heap_users::open_as::closing:
        return users::open_as::closing;
    case heap_users::open_as::shared:
        break;
    }
    return users::open_as::shared;
}

/// Returns nothing if there is no history, or if a process wrote to the heap during the check.
result<std::optional<checked_history>> check_history(inspection& heap) {
    auto at_leisure = history_of(os::posix_file_system(), heap);
    if (!at_leisure)
        return at_leisure.error();
    std::optional<recover::history_beside>& read = *at_leisure;
    if (!read || !read->is_there)
        return std::optional<checked_history>();
    checked_history found;
    found.path = store::history_path(heap.path());
    found.is_whole = read->steps.has_value();
    found.problem = read->why;
    found.entries = read->entries;
    found.through_version = read->sound_end.commit.version;
    found.sound_bytes = read->sound_end.offset;
    if (read->steps) {
        for (const history::step_info& each : read->steps->list()) {
            ++found.versions;
            found.kept += each.kept.empty() ? 0U : 1U;
        }
    }
    return std::optional(std::move(found));
}

/// Collects the steps that led to a commit, for the history of a copy.
class history_of_commit {
public:
    result<void> take(inspection& now, recover::history_beside& found) {
        if (!found.steps)
            return fail(errc::no_step, now.path() + " has no history to be copied: " + found.why, now.path());
        auto mode = now.store().file().permissions();
        if (!mode)
            return mode.error();
        const format::superblock& super = now.store().super();
        steps_ = std::move(found.steps);
        last_ = {super.checkpoint_version, super.chain};
        heap_ = super.uuid;
        mode_ = *mode;
        return {};
    }
    result<void> write(os::file_system& files, const std::string& heap_path) const {
        return history::history_file(files, store::history_path(heap_path), heap_, 0).begin(*steps_, last_, mode_);
    }

private:
    std::optional<history::step_tree> steps_;
    history::commit_name last_{};
    history::heap_uuid heap_{};
    unsigned mode_ = 0;
};

/// Refuses a damaged heap, because the copy would give damaged data valid checksums. Pages are checked when copied.
result<void> refuse_damaged(inspection& heap) {
    if (heap.problems().empty()) {
        REM_TRY(heap.check_structure());
        auto roots = list_roots(heap);
        if (!roots)
            return roots.error();
        check_roots(heap, *roots);
    }
    if (heap.problems().empty())
        return {};
    return unexpected(heap.problems().front());
}

/// Returns the file that will be replaced, or null if there is none. Locks it, so that no process can open it for
/// writing until then.
result<std::unique_ptr<os::file>> lock_old(inspection& heap, const std::string& to, existing there) {
    os::file_system& files = os::posix_file_system();
    const auto is_there = files.exists(to);
    if (!is_there)
        return unexpected(is_there.why());
    constexpr std::string_view k_log = "-log";
    if (to.ends_with(k_log)) {
        const std::string heap_of_log = to.substr(0, to.size() - k_log.size());
        auto has_heap = files.exists(heap_of_log);
        if (!has_heap)
            return has_heap.error();
        if (*has_heap)
            return fail(errc::exists, to + " is where the redo log of " + heap_of_log + " belongs. Name another file.",
                        to);
    }
    std::unique_ptr<os::file> old;
    if (*is_there) {
        auto is_same = heap.store().file().is_at(to);
        if (!is_same)
            return is_same.error();
        if (*is_same)
            return fail(errc::exists, heap.path() + " and " + to + " are the same file.", to);
        if (there == existing::refused)
            return fail(errc::exists,
                        to + " exists. Name another file, or allow that it is replaced (rem copy --force).", to);
        auto opened = files.open(to, os::access::read_only);
        if (!opened)
            return opened.error();
        old = std::move(*opened);
        auto locked = old->try_lock(os::lock_kind::shared);
        if (!locked)
            return locked.error();
        if (!*locked)
            return store::in_use(to);
        auto is_shared = share::is_shared_now(*old);
        if (!is_shared)
            return is_shared.error();
        if (*is_shared)
            return store::in_use(to);
    }
    const std::string log = store::log_path(to);
    auto has_log = files.exists(log);
    if (!has_log)
        return has_log.error();
    if (*has_log)
        return fail(
            errc::exists,
            "the redo log " + log +
                " is in the way: the copy would be taken for its heap. Bring it back to its heap, or remove it.",
            log);
    return old;
}

} // namespace

users who_uses(const std::string& path) {
    const std::string real = real_path_of(path);
    const heap_users found = checked(users_of(os::posix_file_system(), real));
    users all;
    all.path = real;
    all.how = as_public(found.how);
    all.version = found.version;
    for (const share::observed_process& each : found.processes) {
        const bool is_in_section = each.has_writer_lock || each.version;
        const bool is_noted = each.who.since != std::chrono::system_clock::time_point();
        all.processes.push_back({.process = each.who.process,
                                 .thread = each.who.thread,
                                 .program = each.who.program,
                                 .writes = each.has_writer_lock,
                                 .reads_version = each.has_writer_lock ? std::nullopt : each.version,
                                 .since = is_in_section && is_noted ? std::optional(each.who.since) : std::nullopt,
                                 .is_stopped = os::is_stopped(os::state_of_process(each.who.process))});
    }
    return all;
}

report look(const std::string& path, const progress_callback& on_progress) {
    report found;
    const auto heap = checked(last_commit_of(path, k_attempts, on_progress, [&](inspection& now) -> result<void> {
        auto roots = list_roots(now); // list_roots() also reports a damaged header
        if (!roots)
            return roots.error();
        found.roots = std::move(*roots);
        auto header = now.header();
        add_use(found, header ? *header : nullptr);
        return {};
    }));
    add_heap(found, *heap);
    return found;
}

report survey_memory(const std::string& path, const progress_callback& on_progress) {
    report found;
    const auto heap = checked(last_commit_of(path, k_attempts, on_progress, [&](inspection& now) -> result<void> {
        auto memory = now.survey_allocator();
        if (!memory)
            return memory.error();
        found.memory.reset();
        if (*memory)
            found.memory = as_use(**memory);
        return {};
    }));
    add_heap(found, *heap);
    return found;
}

report verify(const std::string& path, bool with_pointers, const progress_callback& on_progress) {
    report found;
    const auto check = [&](inspection& now) -> result<void> {
        const inspection_progress checking = of_step(on_progress, step::checking);
        auto parts = now.check_all(checking);
        if (!parts)
            return parts.error();
        found.checked = {parts->pages, parts->blocks, parts->allocator};
        auto roots = list_roots(now);
        if (!roots)
            return roots.error();
        found.roots = std::move(*roots);
        // checked before the search for roots, which is made only if there is damage
        REM_TRY(check_schemas(now, found.roots));
        REM_TRY(check_classes(now));
        REM_TRY(survey_roots(now, found.roots));
        found.pointers.reset();
        if (with_pointers && now.knows_blocks()) {
            auto pointers = survey_pointers(now, found.roots, checking);
            if (!pointers)
                return pointers.error();
            found.pointers = as_words(std::move(*pointers));
        }
        found.history.reset();
        if (now.problems().empty()) {
            auto history = check_history(now);
            if (!history)
                return history.error();
            found.history = std::move(*history);
        }
        return {};
    };
    auto heap = last_commit_of(path, k_attempts_at_all, on_progress, check);
    if (!heap) {
        if (!is_damage(heap.why().code))
            detail::raise(heap.why());
        found = {}; // nothing can be said of a heap without a superblock
        found.path = real_path_of(path);
        found.problems.push_back(as_damage(heap.why()));
        found.is_all_checked = false;
        return found;
    }
    add_heap(found, **heap);
    return found;
}

void copy(const std::string& path, const std::string& to, existing there, const progress_callback& on_progress,
          const std::function<void(const std::string&)>& begun, copied_history history) {
    if (to.ends_with('/'))
        detail::raise({errc::not_a_heap, to + " names a directory. Name a file.", to});
    os::file_system& files = os::posix_file_system();
    const std::string target = real_path_of(to);
    std::unique_ptr<os::file> old;
    std::unique_ptr<store::copy_in_progress> copy;
    // Called again whenever the heap has changed meanwhile; then it copies only the changes.
    const auto update = [&](inspection& now) -> result<void> {
        REM_TRY(refuse_damaged(now));
        if (!copy) {
            auto locked = lock_old(now, target, there);
            if (!locked)
                return locked.error();
            old = std::move(*locked);
            auto mode = now.store().file().permissions();
            if (!mode)
                return mode.error();
            auto made = store::copy_in_progress::begin(files, target, *mode);
            if (!made)
                return made.error();
            copy = std::move(*made);
            if (begun)
                begun(store::new_path(target));
        }
        return copy->update(now.store(), of_step(on_progress, step::copying));
    };
    const auto finish = [&] {
        checked(copy->finish(there == existing::replaced ? store::existing::replaced : store::existing::refused));
    };
    if (history == copied_history::taken) {
        history_of_commit copied;
        checked(look_at_history(files, real_path_of(path), progress_of_log(on_progress),
                                [&](inspection& now, recover::history_beside& found) -> result<void> {
                                    REM_TRY(update(now));
                                    return copied.take(now, found);
                                }));
        finish();
        checked(copied.write(files, target));
        return;
    }
    const auto heap = checked(last_commit_of(path, k_attempts, on_progress, update));
    if (!heap->problems().empty())
        detail::raise(heap->problems().front());
    finish();
}

void copy(const std::string& path, const std::function<void(std::span<const std::byte>)>& sink,
          const progress_callback& on_progress) {
    bool has_begun = false;
    const auto send = [&](inspection& now) -> result<void> {
        REM_TRY(refuse_damaged(now));
        // A second run sends nothing. It only finds out why the first run ended.
        const bool is_another = has_begun;
        REM_TRY(store::copy_bytes(
            now.store(),
            [&](std::span<const std::byte> bytes) -> result<void> {
                has_begun = true;
                if (!is_another)
                    sink(bytes);
                return {};
            },
            of_step(on_progress, step::copying)));
        if (is_another)
            return fail(errc::in_use,
                        now.path() + " was written to while it was copied: the output is not a whole copy. Copy to a "
                                     "file instead.",
                        now.path());
        return {};
    };
    const auto heap = checked(last_commit_of(path, k_attempts, on_progress, send));
    if (!heap->problems().empty())
        detail::raise(heap->problems().front());
}

upgraded upgrade(const std::string& path, std::string_view application) {
    const auto done = checked(recover::upgrade(os::posix_file_system(), real_path_of(path), std::string(application)));
    return {done.format_before, format::k_format_version, done.recovered_commits, done.changed};
}

bool may_be_application(std::string_view name) noexcept { return store::may_be_application(name); }

} // namespace remanence::inspect
