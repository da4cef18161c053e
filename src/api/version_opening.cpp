// Opens old versions without making a new heap of them. A separate file, so that only programs that open one link it.

#include "api/version_opening.hpp"

#include "api/with_steps.hpp"
#include "base/units.hpp"
#include "os/memory_files.hpp"
#include "os/memory_limit.hpp"
#include "recover/steps_beside.hpp"
#include "store/heap_copy.hpp"
#include "txn/version_opening.hpp"

#include <remanence/heap.hpp>

#include <utility>
#include <variant>

namespace remanence::detail {

namespace {

/// Refuses a copy larger than memory: otherwise the system might kill this process, or the one that writes.
result<void> refuse_more_than_memory(os::file_system& files, store::image& image, const std::string& path) {
    std::uint64_t pages = 0;
    for (std::uint64_t page = 0; page < image.bytes() / k_page_bytes; ++page) {
        auto checksum = image.checksum_of(page);
        if (!checksum)
            return checksum.error();
        pages += *checksum != 0 ? 1U : 0U;
    }
    const std::uint64_t limit = os::memory_limit(files);
    if (limit == 0 || pages * k_page_bytes <= limit)
        return {};
    return fail(errc::no_space,
                "cannot open a version of " + path + " while others write to it: a copy takes " +
                    std::to_string(pages * k_page_bytes / MiB) + " MiB of memory, and the process may use " +
                    std::to_string(limit / MiB) +
                    ". Close the heap elsewhere first; or make a heap of the version by rem branch.",
                path);
}

struct found_version {
    std::uint64_t number;
    history::delta way; // leads from the last commit to the requested version
};

result<found_version> find(os::file_system& files, inspect::inspection& now, history::step_tree& steps,
                           const inspect::version_or_name& asked, const std::string& path) {
    auto state = inspect::state_of(steps, asked, path);
    if (!state)
        return state.error();
    auto way = steps.whole_path_to(*state, path);
    if (!way)
        return way.error();
    REM_TRY(refuse_more_than_memory(files, now.store().image(), path));
    return found_version{*state, std::move(*way)};
}

result<std::shared_ptr<const txn::detached_version>> detach(os::file_system& files, const std::string& path,
                                                            const inspect::version_or_name& asked) {
    auto in_memory = os::memory_files::create(path);
    if (!in_memory)
        return in_memory.error();
    auto file = (*in_memory)->open(path, os::access::read_write);
    if (!file)
        return file.error();
    store::file_copy copy(**file);
    auto found = std::make_shared<txn::detached_version>();
    found->files = std::move(*in_memory);
    const auto copy_version = [&](inspect::inspection& now, history::step_tree& steps) -> result<void> {
        auto version = find(files, now, steps, asked, path);
        if (!version)
            return version.error();
        REM_TRY(copy.update(now.store(), {}));
        found->version = version->number;
        found->way = std::move(version->way);
        return {};
    };
    REM_TRY(inspect::look_at_steps(files, path, {}, copy_version, {&asked, 1}));
    REM_TRY(copy.finish());
    return std::shared_ptr<const txn::detached_version>(std::move(found));
}

result<std::unique_ptr<txn::engine>> open_detached(os::file_system& files, const std::string& path,
                                                   txn::engine_options options, std::string_view abi) {
    const auto* const name = std::get_if<std::string>(&*options.version);
    auto detached = detach(files, path,
                           name != nullptr ? inspect::version_or_name(*name)
                                           : inspect::version_or_name(std::get<std::uint64_t>(*options.version)));
    if (!detached)
        return detached.error();
    options.version = *detached;
    return txn::engine::open(*(*detached)->files, path, txn::open_mode::open_existing, options, abi);
}

result<void> find_version(os::file_system& files, const std::string& path, const heap_options& options) {
    const auto asked = options.version ? inspect::version_or_name(*options.version)
                                       : inspect::version_or_name(std::string(options.kept_version));
    const auto find_it = [&](inspect::inspection& now, history::step_tree& steps) -> result<void> {
        auto found = find(files, now, steps, asked, path);
        return found ? result<void>() : found.error();
    };
    return inspect::look_at_steps(files, path, {}, find_it, {&asked, 1});
}

} // namespace

constinit const version_part k_version_part{txn::map_version, open_detached, find_version};

} // namespace remanence::detail
