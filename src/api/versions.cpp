// Keeps versions, and compares two of them. Separate from history.cpp, so that only programs that keep versions link
// it.

#include "api/heap_branch.hpp"
#include "api/history_calls.hpp"
#include "inspect/last_commit.hpp"
#include "inspect/version_diff.hpp"
#include "txn/heap_history.hpp"

#include <optional>
#include <string>
#include <utility>

namespace remanence {

using detail::check;
using detail::checked;
using detail::heap_impl;
using namespace detail::history_calls; // NOLINT(google-build-using-namespace)

namespace {

// No process commits during the attempts, but checkpoints of other processes may run.
constexpr std::uint64_t k_attempts = 100;

template <class T>
T value_of(result<T> found) {
    if (!found)
        detail::raise(found.why());
    return std::move(*found);
}

txn::undo_manager::find_state kept_as(std::uint64_t version) {
    return [=](const txn::heap_history& of) { return of.leads().kept_state(version); };
}

txn::undo_manager::find_state kept_as(std::string_view name) {
    return [=](const txn::heap_history& of) { return of.leads().kept_state(name); };
}

template <class By>
void restore(heap_impl* impl, By version) {
    go(impl, [=](txn::undo_manager& of, log::durability how) { return of.restore(kept_as(version), how); });
}

template <class By>
void drop(heap_impl* impl, By version) {
    alone(with_history(impl), [&] { check(undo_of(*impl).drop_kept(kept_as(version))); });
}

} // namespace

void heap::squash(std::uint64_t steps) {
    heap_impl* const impl = with_history(checked(impl_));
    alone(impl, [&] { check(undo_of(*impl).squash(steps)); });
}

std::uint64_t heap::keep(std::string_view name) {
    heap_impl* const impl = with_history(checked(impl_));
    std::uint64_t version = 0;
    alone(impl, [&] { version = value_of(undo_of(*impl).keep(name)); });
    return version;
}

std::vector<kept_version> heap::versions() const {
    return looked_at<std::vector<kept_version>>(checked(impl_), [](const history::step_tree& steps) {
        std::vector<kept_version> all;
        for (history::kept_info& each : steps.list_kept())
            all.push_back({each.version, each.parent, std::move(each.name), each.time, each.bytes,
                           each.version == steps.present()});
        return all;
    });
}

void heap::restore(std::uint64_t version) { remanence::restore(checked(impl_), version); }

void heap::restore(std::string_view name) { remanence::restore(checked(impl_), name); }

void heap::drop(std::uint64_t version) { remanence::drop(checked(impl_), version); }

void heap::drop(std::string_view name) { remanence::drop(checked(impl_), name); }

void heap::branch(std::uint64_t version, const std::filesystem::path& path) {
    heap_impl* const impl = with_history(checked(impl_), use_of_history::looks);
    {
        const os::no_cancellation whole;
        alone(impl, [&] {
            const history::delta way = value_of(undo_of(*impl).path_to(version));
            check(impl->engine().sync());
            check(
                detail::make_branch(*impl->origin.files, impl->engine().path(), way, detail::real_path(path).string()));
        });
    }
    os::end_if_cancelled();
}

// Reads both states from the file, and does not touch memory, which may hold uncommitted changes.
version_difference heap::diff(std::uint64_t before, std::uint64_t after) const {
    heap_impl* const impl = with_history(checked(impl_), use_of_history::looks);
    version_difference found;
    alone(impl, [&] {
        const history::delta to_before = value_of(undo_of(*impl).path_to(before));
        const history::delta to_after = value_of(undo_of(*impl).path_to(after));
        check(impl->engine().sync());
        os::file_system& files = *impl->origin.files;
        const std::string& path = impl->engine().path();
        const auto opened = [&](const auto& use) {
            auto state = inspect::with_last_commit(files, path, k_attempts, {}, use);
            if (state && !(*state)->problems().empty())
                detail::raise((*state)->problems().front());
            check(state ? result<void>() : state.error());
        };
        opened([&](inspect::inspection& one) -> result<void> {
            REM_TRY(one.become(to_before));
            opened([&](inspect::inspection& other) -> result<void> {
                REM_TRY(other.become(to_after));
                auto compared = inspect::compare_versions(one, other, inspect::ranges_of(to_before, to_after));
                if (!compared)
                    return compared.error();
                found = std::move(*compared);
                return {};
            });
            return {};
        });
    });
    return found;
}

} // namespace remanence
