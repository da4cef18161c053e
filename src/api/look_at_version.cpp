// Objects of a heap as they were at a version of its history, for programs that do not have their types.

#include <remanence/look_back.hpp>

#include "api/heap_origin.hpp"
#include "api/raise.hpp"
#include "api/whole_file.hpp"
#include "api/with_steps.hpp"
#include "inspect/heap_schema.hpp"
#include "os/file.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace remanence::inspect {

namespace {

/// Calls `use` with the heap as it was at a version.
void with_version(const std::string& path, const version_or_name& version, const progress_callback& on_progress,
                  const std::function<result<void>(inspection&, std::uint64_t number)>& use) {
    with_steps(path, on_progress, [&](inspection& now, history::step_tree& steps) -> result<void> {
        auto state = state_of(steps, version, now.path());
        if (!state)
            return state.error();
        auto way = steps.whole_way_to(*state, now.path());
        if (!way)
            return way.error();
        REM_TRY(now.become(*way));
        if (now.is_live()) { // the writer may overwrite the pages while they are looked at
            if (auto all = now.at(0, now.heap_bytes_end()); !all)
                return all.error();
        }
        return use(now, *state);
    });
}

} // namespace

std::string schema_of(const std::string& path, const version_or_name& version, schema_form form,
                      const progress_callback& on_progress) {
    std::string text;
    with_version(path, version, on_progress, [&](inspection& then, std::uint64_t) -> result<void> {
        auto roots = roots_with_schema(then);
        if (!roots)
            return roots.error();
        text = form == schema_form::text ? schema_text(*roots) : schema_header(*roots, then.path());
        return {};
    });
    return text;
}

std::string get_of(const std::string& path, const version_or_name& version, std::string_view object_path,
                   const progress_callback& on_progress) {
    std::string text;
    with_version(path, version, on_progress, [&](inspection& then, std::uint64_t) {
        return get_object(then, object_path, [&](std::string_view found) { text = found; });
    });
    return text;
}

void dump_of(const std::string& path, const version_or_name& version, const std::string& root,
             const std::function<void(std::string_view)>& sink, const progress_callback& on_progress) {
    bool has_begun = false;
    std::uint64_t lines = 0;
    with_version(path, version, on_progress, [&](inspection& then, std::uint64_t number) -> result<void> {
        if (has_begun)
            return fail(errc::in_use,
                        then.path() + " was opened for writing while it was dumped, so what was written is not whole. "
                                      "Dump it again.",
                        then.path());
        auto place = to_read(then);
        if (!place)
            return place.error();
        place->version = number;
        auto put = dump_objects(*place, root, [&](std::string_view piece) {
            has_begun = true;
            sink(piece);
        });
        if (!put)
            return put.error();
        lines = *put;
        return {};
    });
    sink("{\"end\":true,\"lines\":" + std::to_string(lines) + "}\n");
}

void export_dump(const std::string& path, const version_or_name& version, const std::string& to,
                 const progress_callback& on_progress) {
    os::file_system& files = os::posix_file_system();
    const std::string name = detail::real_path(to).string();
    auto is_there = files.exists(name);
    if (!is_there)
        detail::raise(is_there.why());
    if (*is_there) // before the work is done
        detail::raise(errc::exists, name + " exists. Name another file, or remove it.", name);
    detail::whole_file file(files, name, name + "-unfinished");
    detail::check(file.begin());
    dump_of(path, version, {}, [&](std::string_view piece) { detail::check(file.put(piece)); }, on_progress);
    detail::check(file.finish(false));
}

} // namespace remanence::inspect
