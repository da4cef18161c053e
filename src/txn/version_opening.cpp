// Opens a heap at an old version. Only programs that can open old versions link this file.

#include "txn/version_opening.hpp"

#include "base/range.hpp"
#include "base/units.hpp"
#include "recover/steps_beside.hpp"
#include "txn/engine_options.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace remanence::txn {

namespace {

unexpected cannot_open(const std::string& path, const std::string& why) {
    return fail(errc::no_step, "cannot open a version of " + path + ": it has no history that leads there. " + why,
                path);
}

using ordered_deltas = std::span<const history::delta* const>;

// No other code uses memory yet. Committed content is not changed to match, since the heap is read-only: no commit and
// no checkpoint follows.
result<void> apply(ordered_deltas way, view::mapped_memory& memory) {
    std::uint64_t end = 0;
    for (const history::delta* each : way) {
        each->for_each([&](heap_range range, const std::byte*) { end = std::max(end, range.end()); });
    }
    if (end == 0)
        return {};
    REM_TRY(memory.make_accessible(align_up(end, k_page_bytes)));
    REM_TRY(memory.allow_writes_to_all(true));
    for (const history::delta* each : way) {
        each->for_each([&](heap_range range, const std::byte* content) {
            std::byte* const where = memory.base() + range.offset;
            if (content == nullptr)
                std::memset(where, 0, static_cast<std::size_t>(range.bytes));
            else
                std::memcpy(where, content, static_cast<std::size_t>(range.bytes));
        });
    }
    return memory.allow_writes_to_all(false);
}

} // namespace

result<std::uint64_t> map_version(os::file_system& files, store::heap_file& store, view::memory_view& view,
                                  const engine_options& options) {
    if (const auto* const detached = std::get_if<std::shared_ptr<const detached_version>>(&*options.version)) {
        const history::delta* const way = &(*detached)->way;
        REM_TRY(apply({&way, 1}, view.memory()));
        return (*detached)->version;
    }
    const std::string& path = store.path();
    const auto* const name = std::get_if<std::string>(&*options.version);
    const auto wanted = name != nullptr ? history::version_or_name(*name)
                                        : history::version_or_name(std::get<std::uint64_t>(*options.version));
    auto found = recover::read_history(files, store, {&wanted, 1});
    if (!found)
        return found.error();
    if (!found->steps)
        return cannot_open(path, found->why);
    history::step_tree& steps = *found->steps;
    auto state = recover::state_of(steps, wanted, path);
    if (!state)
        return state.error();
    auto way = steps.deltas_to(*state, path);
    if (!way)
        return way.error();
    REM_TRY(apply(ordered_deltas(*way), view.memory()));
    return *state;
}

} // namespace remanence::txn
