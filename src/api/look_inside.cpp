// Reads objects by the functions of src/inspect. Returns them as values, and throws failures.

#include <remanence/look_inside.hpp>

#include "api/heap_origin.hpp"
#include "api/heap_visit.hpp"
#include "api/leak_sums.hpp"
#include "api/raise.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/last_commit.hpp"
#include "inspect/unreached_blocks.hpp"

#include <optional>

namespace remanence::inspect {

namespace {

constexpr std::uint64_t k_attempts_to_look = 100;

/// Visits the last commit. If a process has the heap open for writing, all of its pages are read first.
heap_visit at_last_commit(const std::string& path, const progress_callback& on_progress) {
    return [&path, &on_progress](const std::function<result<void>(inspection&, std::uint64_t)>& use) {
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
                                         // there are problems, too, if the writer has committed again; then the caller
                                         // starts over
                                         if (!now.problems().empty())
                                             return unexpected(now.problems().front());
                                         return use(now, now.version());
                                     });
        if (!heap)
            detail::raise(heap.why());
        if (!(*heap)->problems().empty())
            detail::raise((*heap)->problems().front());
    };
}

/// Visits a heap that may be damaged. No process may have it open for writing.
heap_visit at_what_is_left(const std::string& path, const progress_callback& on_progress) {
    return [&path, &on_progress](const std::function<result<void>(inspection&, std::uint64_t)>& use) {
        const auto progress = [&](std::uint64_t done, std::uint64_t total) {
            if (on_progress)
                on_progress(step::reading_log, done, total);
        };
        // the failure of `use`, stored here because with_last_commit() does not return a failure that damage causes
        std::optional<failure> why;
        auto heap =
            with_last_commit(os::posix_file_system(), detail::real_path(path).string(), 1, progress,
                             [&](inspection& now) -> result<void> {
                                 if (now.is_live())
                                     return fail(errc::in_use,
                                                 now.path() + " is open for writing, so what does not fit may be "
                                                              "the writer's doing. Close it first.",
                                                 now.path());
                                 auto done = use(now, now.version());
                                 if (!done)
                                     why = done.why();
                                 return done;
                             });
        if (!heap)
            detail::raise(heap.why());
        if (why)
            detail::raise(*why);
    };
}

} // namespace

std::string schema(const heap_visit& at, schema_form form) {
    std::string text;
    at([&](inspection& seen, std::uint64_t /*version*/) -> result<void> {
        auto roots = roots_with_schema(seen);
        if (!roots)
            return roots.error();
        text = form == schema_form::text ? schema_text(*roots) : schema_header(*roots, seen.path());
        return {};
    });
    return text;
}

std::string get(const heap_visit& at, std::string_view object_path) {
    std::string text;
    at([&](inspection& seen, std::uint64_t /*version*/) {
        return get_object(seen, object_path, [&](std::string_view found) { text = found; });
    });
    return text;
}

void dump(const heap_visit& at, const std::string& root, const std::function<void(std::string_view)>& sink,
          const dump_manner& manner) {
    bool has_begun = false;
    std::uint64_t lines = 0;
    at([&](inspection& seen, std::uint64_t version) -> result<void> {
        if (has_begun)
            return fail(errc::in_use,
                        seen.path() + " was opened for writing while it was dumped, so what was written is not whole. "
                                      "Dump it again while no program opens it.",
                        seen.path());
        auto place = to_read(seen);
        if (!place)
            return place.error();
        place->version = version;
        auto put = dump_objects(*place, root, manner, [&](std::string_view piece) {
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

std::string schema(const std::string& path, schema_form form, const progress_callback& on_progress) {
    return schema(at_last_commit(path, on_progress), form);
}

std::string get(const std::string& path, std::string_view object_path, const progress_callback& on_progress) {
    return get(at_last_commit(path, on_progress), object_path);
}

void dump(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
          const progress_callback& on_progress) {
    dump(at_last_commit(path, on_progress), root, sink);
}

leak_report leaks(const std::string& path, const progress_callback& on_progress) {
    leak_report found;
    at_last_commit(path, on_progress)([&](inspection& now, std::uint64_t version) -> result<void> {
        REM_TRY(now.check_structure());
        if (!now.problems().empty())
            return unexpected(now.problems().front());
        auto place = to_read(now);
        if (!place)
            return place.error();
        place->version = version;
        auto left = unreached_blocks(*place, sorted_blocks(now.blocks()));
        if (!left)
            return left.error();
        detail::leak_sums sums;
        for (const heap_range& each : left->blocks)
            sums.add_block(each.bytes);
        found = sums.report();
        return {};
    });
    return found;
}

void salvage(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
             const std::function<void(std::string_view what, bool is_damage)>& left_out,
             const progress_callback& on_progress) {
    dump(at_what_is_left(path, on_progress), root, sink, {.leave_out = left_out});
}

} // namespace remanence::inspect
