// What src/inspect reads of objects, as values, and what it fails with, as exceptions.

#include <remanence/look_inside.hpp>

#include "api/heap_origin.hpp"
#include "api/raise.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/last_commit.hpp"

namespace remanence::inspect {

namespace {

constexpr std::uint64_t k_attempts_to_look = 100;

/// Calls `use` with the last commit; all of its pages are read before, if somebody is writing to the heap.
void with_objects(const std::string& path, const progress_callback& on_progress,
                  const std::function<result<void>(inspection&)>& use) {
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        if (on_progress)
            on_progress(step::reading_log, done, total);
    };
    auto heap = with_last_commit(os::posix_file_system(), detail::real_path(path).string(), k_attempts_to_look,
                                 progress, [&](inspection& now) -> result<void> {
                                     if (now.is_live()) {
                                         if (auto all = now.at(0, now.heap_bytes_end()); !all)
                                             return all.error();
                                     }
                                     if (!now.problems().empty()) // or the writer moved on: the caller looks again
                                         return unexpected(now.problems().front());
                                     return use(now);
                                 });
    if (!heap)
        detail::raise(heap.why());
    if (!(*heap)->problems().empty())
        detail::raise((*heap)->problems().front());
}

} // namespace

std::string schema(const std::string& path, schema_form form, const progress_callback& on_progress) {
    std::string text;
    with_objects(path, on_progress, [&](inspection& now) -> result<void> {
        auto place = to_read(now);
        if (!place)
            return place.error();
        auto roots = roots_with_schema(*place);
        if (!roots)
            return roots.error();
        text = form == schema_form::text ? schema_text(*roots) : schema_header(*roots, now.path());
        return {};
    });
    return text;
}

std::string get(const std::string& path, std::string_view object_path, const progress_callback& on_progress) {
    std::string text;
    with_objects(path, on_progress, [&](inspection& now) {
        return get_object(now, object_path, [&](std::string_view found) { text = found; });
    });
    return text;
}

void dump(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
          const progress_callback& on_progress) {
    bool has_begun = false;
    std::uint64_t lines = 0;
    with_objects(path, on_progress, [&](inspection& now) -> result<void> {
        if (has_begun) {
            return fail(errc::in_use,
                        now.path() + " was opened for writing while it was dumped, so what was written is not whole. "
                                     "Dump it again, or a copy of it (rem copy).",
                        now.path());
        }
        auto place = to_read(now);
        if (!place)
            return place.error();
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

} // namespace remanence::inspect
