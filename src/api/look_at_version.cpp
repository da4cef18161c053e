// Reads objects of a heap as of a version of its history, for programs that do not have the objects' types.

#include <remanence/look_back.hpp>

#include "api/heap_origin.hpp"
#include "api/heap_visit.hpp"
#include "api/raise.hpp"
#include "api/whole_file.hpp"
#include "api/with_steps.hpp"
#include "os/file.hpp"

#include <memory>
#include <string_view>
#include <utility>

namespace remanence::inspect {

namespace {

heap_visit at_version(const std::string& path, const version_or_name& version, const progress_callback& on_progress) {
    return [&](const std::function<result<void>(inspection&, std::uint64_t)>& use) {
        const auto go_there = [&](inspection& now, history::step_tree& steps) -> result<void> {
            auto state = state_of(steps, version, now.path());
            if (!state)
                return state.error();
            auto way = steps.whole_path_to(*state, now.path());
            if (!way)
                return way.error();
            REM_TRY(now.become(*way));
            if (now.is_live()) { // the writer may overwrite the pages while they are read
                if (auto all = now.at(0, now.heap_bytes_end()); !all)
                    return all.error();
            }
            return use(now, *state);
        };
        with_steps(path, on_progress, go_there, {&version, 1});
    };
}

} // namespace

std::string schema_of(const std::string& path, const version_or_name& version, schema_form form,
                      const progress_callback& on_progress) {
    return schema(at_version(path, version, on_progress), form);
}

std::string get_of(const std::string& path, const version_or_name& version, std::string_view object_path,
                   const progress_callback& on_progress) {
    return get(at_version(path, version, on_progress), object_path);
}

void dump_of(const std::string& path, const version_or_name& version, const std::string& root,
             const std::function<void(std::string_view)>& sink, const progress_callback& on_progress) {
    dump(at_version(path, version, on_progress), root, sink);
}

void export_dump(const std::string& path, const version_or_name& version, const std::string& to,
                 const progress_callback& on_progress) {
    os::file_system& files = os::posix_file_system();
    const std::string name = detail::real_path(to).string();
    auto is_there = files.exists(name);
    if (!is_there)
        detail::raise(is_there.why());
    if (*is_there) // checked before the long work of dumping
        detail::raise(errc::exists, name + " exists. Name another file, or remove it.", name);
    detail::whole_file file(files, name, name + "-unfinished");
    detail::check(file.begin());
    dump_of(path, version, {}, [&](std::string_view piece) { detail::check(file.put(piece)); }, on_progress);
    detail::check(file.finish(false));
}

} // namespace remanence::inspect
