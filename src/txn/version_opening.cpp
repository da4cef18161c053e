// A heap that is opened as of an old version. Apart from all else, so that its code is in programs that open one, and in no others.

#include "txn/version_opening.hpp"
#include "recover/steps_beside.hpp"
#include "txn/engine.hpp"

#include <string>
#include <utility>
#include <variant>

namespace remanence::txn {

void link_version_opening() noexcept {}

namespace {

unexpected cannot_open(const std::string& path, const std::string& why) {
    return fail(errc::no_step, "cannot open a version of " + path + ": it has no history that leads there. " + why,
                path);
}

} // namespace

// Nobody else looks at memory yet. What is committed stays as the file has it: no commit and no checkpoint follows.
result<void> engine::begin_version() {
    if (const auto* const detached = std::get_if<std::shared_ptr<const detached_version>>(&*options_.version))
        return become_version((*detached)->version, (*detached)->way);
    auto found = recover::read_history(*files_, *heap_.store);
    if (!found)
        return found.error();
    if (!found->steps)
        return cannot_open(path(), found->why);
    history::step_tree& steps = *found->steps;
    const auto* const name = std::get_if<std::string>(&*options_.version);
    auto state = name != nullptr ? recover::state_of(steps, *name, path())
                                 : recover::state_of(steps, std::get<std::uint64_t>(*options_.version), path());
    if (!state)
        return state.error();
    auto way = steps.whole_way_to(*state, path());
    return way ? become_version(*state, *way) : way.error();
}

result<void> engine::become_version(std::uint64_t version, const history::delta& way) {
    seen_version_ = version;
    if (way.is_empty())
        return {};
    view::mapped_memory& memory = heap_.view->memory();
    for (const heap_range& pages : way.pages())
        REM_TRY(memory.make_accessible(pages.end()));
    REM_TRY(memory.allow_writes_to_all(true));
    way.apply(memory.base());
    return memory.allow_writes_to_all(false);
}

} // namespace remanence::txn
