// Inspects a heap: counters, checks, written pages.

#include "base/units.hpp"
#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/structs.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

using namespace remanence;

namespace remanence::capi {

namespace {

template <class Struct>
void check_size(const Struct* into, const char* what) {
    if (into == nullptr || into->size < sizeof(std::size_t) || into->size > k_struct_bytes_max)
        refuse_argument(what);
}

/// True if the caller's struct is new enough to have `surveys`, and the caller has set it.
bool surveys(const rem_stats& asked) {
    return asked.size >= offsetof(rem_stats, surveys) + sizeof asked.surveys && asked.surveys;
}

std::uint64_t ns(std::chrono::nanoseconds time) { return static_cast<std::uint64_t>(time.count()); }

} // namespace

} // namespace remanence::capi

rem_status rem_changed_pages(rem_heap* heap, size_t* pages) {
    return capi::guard([&] {
        if (pages == nullptr)
            capi::refuse_argument("rem_changed_pages needs a place for the number.");
        std::uint64_t bytes = 0;
        for (const std::span<const std::byte> each : capi::opened(heap).of.changed_ranges())
            bytes += each.size();
        *pages = bytes / k_page_bytes;
        return REM_OK;
    });
}

rem_status rem_changed_ranges(rem_heap* heap, rem_range* ranges, size_t capacity, size_t* count) {
    return capi::guard([&] {
        if (count == nullptr || (ranges == nullptr && capacity != 0))
            capi::refuse_argument("rem_changed_ranges needs a place for the number, and one for the ranges.");
        const auto found = capi::opened(heap).of.changed_ranges();
        for (std::size_t i = 0; i < std::min(capacity, found.size()); ++i)
            ranges[i] = {const_cast<std::byte*>(found[i].data()), found[i].size()};
        *count = found.size();
        return REM_OK;
    });
}

rem_status rem_get_stats(const rem_heap* heap, rem_stats* stats) {
    return capi::guard([&] {
        capi::check_size(stats, "rem_get_stats needs a struct whose size is set: sizeof(rem_stats).");
        rem_stats shown{};
        shown.surveys = capi::surveys(*stats);
        if (const capi::volatile_face* const memory = capi::find_volatile(heap)) {
            memory->show(shown);
            capi::fill_struct(stats, shown);
            return REM_OK;
        }
        if (shown.surveys) {
            const detail::memory_share used = capi::opened(heap).impl().survey();
            shown.availability = used.availability;
            shown.page_efficiency = used.page_efficiency;
        }
        const heap_stats known = capi::opened(heap).of.stats();
        shown.commits = known.commits;
        shown.checkpoints = known.checkpoints;
        shown.changed_bytes = known.changed_bytes;
        shown.logged_bytes = known.logged_bytes;
        shown.image_bytes = known.image_bytes;
        shown.spilled_bytes = known.spilled_bytes;
        shown.written_bytes = known.written_bytes;
        shown.syncs = known.syncs;
        shown.commit_ns_median = capi::ns(known.commit_times.quantile(0.5));
        shown.commit_ns_99 = capi::ns(known.commit_times.quantile(0.99));
        shown.commit_ns_max = capi::ns(known.commit_times.max());
        shown.log_used_bytes = known.log_used_bytes;
        shown.log_limit_bytes = known.log_limit_bytes;
        shown.before_image_bytes = known.before_image_bytes;
        shown.heap_bytes = known.heap_bytes;
        shown.allocated_bytes = known.allocated_bytes;
        shown.recovered_commits = known.recovered_commits;
        shown.recovered_bytes = known.recovered_bytes;
        shown.open_ns = capi::ns(known.open_time);
        shown.point_wait_ns = capi::ns(known.point_wait);
        shown.resident_bytes = known.resident_bytes;
        shown.dirty_bytes = known.dirty_bytes;
        shown.evicted_bytes = known.evicted_bytes;
        known.tracker.copy(shown.tracker, sizeof shown.tracker - 1);
        capi::fill_struct(stats, shown);
        return REM_OK;
    });
}

rem_status rem_verify(const rem_heap* heap, rem_report* report,
                      void (*problem)(void* context, const char* what, uint64_t offset), void* context) {
    return capi::guard([&] {
        if (report != nullptr)
            capi::check_size(report, "rem_verify needs a struct whose size is set: sizeof(rem_report); or NULL.");
        const capi::volatile_face* const memory = capi::find_volatile(heap);
        const verify_report found = memory != nullptr ? memory->verify() : capi::opened(heap).of.verify();
        if (report != nullptr)
            capi::fill_struct(report, {0, found.pages_checked, found.log_records_checked, found.blocks_checked,
                                       found.problems.size()});
        for (const verify_report::problem& each : found.problems) {
            if (problem == nullptr)
                break;
            const auto tell = [&] { problem(context, each.what.c_str(), each.offset); };
            if (memory != nullptr)
                tell();
            else
                capi::call_back(capi::opened(heap).impl(), tell);
        }
        return found.clean() ? REM_OK
                             : capi::note(REM_CORRUPT, found.problems.front().what.c_str(),
                                          memory != nullptr ? std::string() : capi::opened(heap).of.path().string(), 0,
                                          found.problems.front().offset);
    });
}
