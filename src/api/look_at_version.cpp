// Objects of a heap as they were at a version of its history, for programs that do not have their types.

#include <remanence/look_back.hpp>

#include "api/heap_origin.hpp"
#include "api/raise.hpp"
#include "api/with_steps.hpp"
#include "base/units.hpp"
#include "inspect/heap_schema.hpp"
#include "os/file.hpp"

#include <memory>
#include <span>
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

/// A new file of text, under another name until it is whole.
class text_file {
public:
    text_file(os::file_system& files, std::string path)
        : files_(files), path_(std::move(path)), building_(path_ + "-unfinished") {}
    text_file(const text_file&) = delete;
    text_file& operator=(const text_file&) = delete;
    ~text_file() {
        if (file_ && !is_done_)
            (void)files_.remove("export: remove failed file", building_,
                                *file_); // best effort: the error at hand counts
    }
    result<void> begin() {
        auto is_there = files_.exists(path_);
        if (!is_there)
            return is_there.error();
        if (*is_there)
            return fail(errc::exists, path_ + " exists. Name another file, or remove it.", path_);
        constexpr unsigned k_mode = 0666;
        auto file = files_.open_or_create(building_, k_mode);
        if (!file)
            return file.error();
        auto locked = (*file)->try_lock(os::lock_kind::exclusive);
        if (!locked)
            return locked.error();
        if (!*locked)
            return fail(errc::in_use, building_ + " is being written by another process. Name another file.", path_);
        file_ = std::move(*file);
        return file_->resize("export: empty what was left", 0);
    }
    result<void> write(std::string_view text) {
        pending_ += text;
        return pending_.size() < MiB ? result<void>() : write_pending();
    }
    result<void> finish() {
        REM_TRY(write_pending());
        REM_TRY(file_->sync("export: sync file"));
        REM_TRY(files_.rename_to_new("export: rename", building_, path_));
        is_done_ = true;
        return files_.sync_directory("export: sync directory", path_);
    }

private:
    result<void> write_pending() {
        REM_TRY(file_->write("export: write", end_, std::as_bytes(std::span(pending_))));
        end_ += pending_.size();
        pending_.clear();
        return {};
    }

    os::file_system& files_;
    const std::string path_;
    const std::string building_;
    std::unique_ptr<os::file> file_;
    std::string pending_;
    std::uint64_t end_ = 0;
    bool is_done_ = false;
};

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
    text_file file(os::posix_file_system(), detail::real_path(to).string());
    detail::check(file.begin());
    dump_of(path, version, {}, [&](std::string_view piece) { detail::check(file.write(piece)); }, on_progress);
    detail::check(file.finish());
}

} // namespace remanence::inspect
