// Reads and changes the history that a heap keeps over sessions, for programs that do not have the heap's types.

#include <remanence/look_back.hpp>

#include "api/heap_branch.hpp"
#include "api/heap_origin.hpp"
#include "api/raise.hpp"
#include "api/with_steps.hpp"
#include "base/units.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/last_commit.hpp"
#include "inspect/root_walk.hpp"
#include "inspect/version_diff.hpp"
#include "os/lock_holders.hpp"
#include "share/presence.hpp"
#include "txn/engine.hpp"
#include "txn/heap_history.hpp"
#include "txn/undo_manager.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <utility>
#include <variant>

namespace remanence::inspect {

namespace {

constexpr std::uint64_t k_no_limit = std::numeric_limits<std::uint64_t>::max();

/// Returns the blocks that can be reached from each root.
result<std::vector<std::pair<std::string, std::unique_ptr<root_walk>>>> walked_roots(inspection& heap) {
    auto parts = heap.check_structure();
    if (!parts)
        return parts.error();
    auto roots = roots_with_schema(heap);
    if (!roots)
        return roots.error();
    std::vector<std::pair<std::string, std::unique_ptr<root_walk>>> all;
    for (const root_with_schema& each : *roots) {
        auto& [name, walk] =
            all.emplace_back(each.name, std::make_unique<root_walk>(heap, links::addresses_and_distances));
        auto damage = walk->run(each.object);
        if (!damage)
            return damage.error();
    }
    return all;
}

/// Returns the ranges that the step between two versions changed. Changes `steps`: afterwards the ranges in it are
/// right, but the bytes are not, so it must not be used for anything else.
std::vector<heap_range> ranges_of_step(history::step_tree& steps, std::uint64_t parent, std::uint64_t version) {
    steps.check_out(parent, parent);
    std::vector<heap_range> all;
    for (const auto& each : steps.path_to(version))
        each.bytes().for_each([&](heap_range range, const std::byte*) { all.push_back(range); });
    return all;
}

result<void> see_steps(inspection& now, history::step_tree& steps, std::vector<seen_step>& all) {
    auto roots = walked_roots(now);
    if (!roots)
        return roots.error();
    std::vector<history::step_info> known = steps.list();
    for (history::step_info& each : known) {
        seen_step& seen = all.emplace_back();
        seen.step = {each.version, each.parent,     std::move(each.name), each.time,
                     each.bytes,   each.is_present, std::move(each.kept)};
        if (!each.parent)
            continue;
        const std::vector<heap_range> changed = ranges_of_step(steps, *each.parent, each.version);
        for (const auto& [name, walk] : *roots) {
            const bool leads = std::ranges::any_of(changed, [&](const heap_range& range) {
                const auto block = now.block_of(range.offset);
                return block && walk->has_reached(block->offset);
            });
            if (leads)
                seen.roots.push_back(name);
        }
    }
    return {};
}

template <class T>
T value_or_raise(result<T> found) {
    if (!found)
        detail::raise(found.why());
    return std::move(*found);
}

// How long a process waits for another one that is opening the heap.
constexpr std::chrono::seconds k_longest_wait_to_write{10};

result<bool> is_shared(os::file_system& files, const std::string& path) {
    auto file = files.open(path, os::access::read_only);
    return file ? share::is_shared_now(**file) : file.error();
}

/// Holds the writer lock of a shared heap during its lifetime. The constructor throws.
class writer_lock {
public:
    explicit writer_lock(txn::engine& of) : of_(of) {
        if (!of.is_shared())
            return;
        if (!value_or_raise(of.shared()->take_writer_lock(std::chrono::steady_clock::now() + k_longest_wait_to_write)))
            detail::raise(errc::in_use, still_written(of), of.path());
        of.memory().allow_writes(true);
    }
    ~writer_lock() {
        if (!of_.is_shared())
            return;
        of_.memory().allow_writes(false);
        of_.shared()->release_writer_lock();
    }
    writer_lock(const writer_lock&) = delete;
    writer_lock& operator=(const writer_lock&) = delete;

private:
    static std::string still_written(txn::engine& of) {
        const auto writer = of.shared()->protocol().writer();
        const std::string who = writer
                                    ? "process " + std::to_string(writer->process) + " (" + writer->program +
                                          (os::is_stopped(os::state_of_process(writer->process)) ? ", stopped)" : ")")
                                    : std::string("another process");
        return of.path() + " is being written to by " + who + ", whose section has not ended for " +
               std::to_string(k_longest_wait_to_write.count()) +
               " s. Let it end that section, or end the process, and try again.";
    }

    txn::engine& of_;
};

/// Calls `change` with the heap and its history, opened for writing. The standard library that the heap's programs use
/// does not matter. If other processes share the heap, this process joins them.
template <class F>
std::uint64_t changed(const std::string& path, const F& change) {
    os::file_system& files = os::posix_file_system();
    const std::string real = detail::real_path(path).string();
    std::string abi;
    with_steps(path, {}, [&](inspection& now, history::step_tree&) -> result<void> {
        abi = now.store().abi();
        return {};
    });
    txn::engine_options options;
    options.reserve_bytes = 64 * MiB; // more if the heap needs it
    options.when_taken = txn::when_base_taken::elsewhere;
    options.history = history::limits{.steps_max = k_no_limit};
    options.history_kept = true;
    options.has.history = &txn::k_history_part;
    auto engine = txn::engine::open(files, real, txn::open_mode::open_existing, options, abi);
    if (!engine && engine.why().code == errc::in_use && value_or_raise(is_shared(files, real))) {
        options.has.sharing = &txn::k_sharing_part;
        options.is_shared = true;
        engine = txn::engine::open(files, real, txn::open_mode::open_existing, options, abi);
    }
    if (!engine)
        detail::raise(engine.why());
    const std::uint64_t result = [&] {
        const writer_lock meanwhile(**engine);
        return change(**engine, txn::undo_manager::of(*(*engine)->history()));
    }();
    if (auto closed = (*engine)->close(); !closed)
        detail::raise(closed.why());
    return result;
}

/// Waits until the commit of an undo or redo is durable, and returns its version.
std::uint64_t gone(txn::engine& of, result<std::uint64_t> version) {
    const std::uint64_t made = value_or_raise(std::move(version));
    detail::check(of.is_shared() ? of.publish(log::durability::durable) : of.await(made, log::durability::durable));
    return made;
}

} // namespace

seen_history history(const std::string& path, const progress_callback& on_progress) {
    seen_history all;
    const auto see = [&](inspection& now, recover::history_beside& found) -> result<void> {
        all = {};
        if (found.steps)
            return see_steps(now, *found.steps, all.steps);
        all.why_none = now.path() + " has no history: " + found.why;
        all.is_damaged = found.is_there;
        return {};
    };
    detail::check(
        look_at_history(os::posix_file_system(), detail::real_path(path).string(), progress_of_log(on_progress), see));
    return all;
}

version_difference diff(const std::string& path, const version_or_name& before, const version_or_name& after,
                        const progress_callback& on_progress) {
    version_difference found;
    const auto compare = [&](inspection& one, history::step_tree& steps) -> result<void> {
        auto first = state_of(steps, before, one.path());
        if (!first)
            return first.error();
        auto second = state_of(steps, after, one.path());
        if (!second)
            return second.error();
        auto to_first = steps.whole_path_to(*first, one.path());
        if (!to_first)
            return to_first.error();
        auto to_second = steps.whole_path_to(*second, one.path());
        if (!to_second)
            return to_second.error();
        auto other = one.look_again(); // a process may have written to the heap meanwhile
        if (!other)
            return other.error();
        REM_TRY(one.become(*to_first));
        REM_TRY((*other)->become(*to_second));
        auto compared = compare_versions(one, **other, ranges_of(*to_first, *to_second));
        if (!compared)
            return compared.error();
        found = std::move(*compared);
        return {};
    };
    with_steps(path, on_progress, compare, std::array{before, after});
    return found;
}

void branch(const std::string& path, const version_or_name& version, const std::string& to,
            const progress_callback& on_progress) {
    os::file_system& files = os::posix_file_system();
    const std::string real = detail::real_path(path).string();
    const auto show = [&](const detail::copying& copy) -> result<history::delta> {
        history::delta way;
        const auto copy_version = [&](inspection& now, history::step_tree& steps) -> result<void> {
            auto state = state_of(steps, version, now.path());
            if (!state)
                return state.error();
            auto found = steps.whole_path_to(*state, now.path());
            if (!found)
                return found.error();
            way = std::move(*found);
            return copy(now);
        };
        REM_TRY(look_at_steps(files, real, progress_of_log(on_progress), copy_version, {&version, 1}));
        return way;
    };
    detail::check(detail::make_branch(files, show, detail::real_path(to).string()));
}

std::uint64_t undo(const std::string& path, std::uint64_t steps) {
    return changed(path, [&](txn::engine& of, txn::undo_manager& past) {
        return gone(of, past.undo(steps, log::durability::durable));
    });
}

std::uint64_t restore(const std::string& path, const version_or_name& version) {
    return changed(path, [&](txn::engine& of, txn::undo_manager& past) {
        const auto find = [&](const txn::heap_history& all) { return state_of(all.steps(), version, of.path()); };
        return gone(of, past.restore(find, log::durability::durable));
    });
}

std::uint64_t keep(const std::string& path, std::string_view name) {
    return changed(path, [&](txn::engine&, txn::undo_manager& past) { return value_or_raise(past.keep(name)); });
}

void drop(const std::string& path, const version_or_name& version) {
    (void)changed(path, [&](txn::engine& of, txn::undo_manager& past) {
        const auto find = [&](const txn::heap_history& all) -> result<std::uint64_t> {
            auto state = state_of(all.steps(), version, of.path());
            return state ? all.leads().kept_state(*state) : state.error();
        };
        detail::check(past.drop_kept(find));
        return of.version();
    });
}

} // namespace remanence::inspect
