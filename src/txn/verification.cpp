#include "txn/verification.hpp"

#include "alloc/red_zones.hpp"
#include "recover/scan.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace remanence::txn {

namespace {

void verify_log(store::heap_file& store, session& commits, verification& report) {
    const std::uint64_t written = commits.log().written_through(); // later records may not be in the file yet
    auto records = recover::scan(commits.log().file(), store.supers());
    if (!records) {
        report.problems.push_back({records.why().message, records.why().offset});
        return;
    }
    report.log_records_checked = records->size();
    if (store.super().checkpoint_version + records->size() < written)
        report.problems.push_back({"the redo log lacks commits", error::k_no_offset});
}

} // namespace

result<verification> verify(store::heap_file& store, session& commits, const heap_memory& memory,
                            const engine_options& options) {
    verification report;
    auto pages = store::verify(
        store, [&](store::damage d) { report.problems.push_back(std::move(d)); },
        [&](std::uint64_t done, std::uint64_t total) {
            if (options.on_progress)
                options.on_progress(engine_options::work::verify, done, total);
        });
    if (!pages)
        return pages.error();
    report.pages_checked = *pages;
    if (commits.has_begun())
        verify_log(store, commits, report);
    // The allocator's state tells how far its structures reach. If that state is damaged, a walk might cover the whole
    // address range, so it is skipped.
    const auto is_of_state = [&](const store::damage& d) { return d.offset == store.image().copy_of(0); };
    if (store.image().bytes() != 0 && std::ranges::any_of(report.problems, is_of_state))
        return report;
    memory.with_allocator([&](const alloc::block_allocator& blocks) {
        blocks.check_invariants([&](std::uint64_t offset, std::string_view what) {
            report.problems.push_back(
                {"allocator, at heap offset " + std::to_string(offset) + ": " + std::string(what), error::k_no_offset});
        });
        blocks.for_each_block([&](alloc::block each) {
            ++report.blocks_checked;
            if (!memory.has_red_zones() ||
                alloc::red_zoned_bytes(each.start, each.bytes, alloc::k_red_zone_record_bytes))
                return;
            std::string what = "the bytes behind the block at heap offset " +
                               std::to_string(memory.offset_of(each.start)) + " were overwritten";
            std::string origin;
            memory.add_origin(origin, each.start);
            if (!origin.empty())
                what += "." + origin;
            report.problems.push_back({std::move(what), error::k_no_offset});
        });
    });
    return report;
}

} // namespace remanence::txn
