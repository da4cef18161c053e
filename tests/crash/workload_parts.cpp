#include "workload_parts.hpp"

#include <algorithm>
#include <utility>

namespace remanence::crash {

namespace {

txn::engine_options with_log_limit(std::uint64_t log_limit_bytes) {
    auto options = small_heap_options();
    options.log_limit_bytes = log_limit_bytes;
    return options;
}

} // namespace

open_function engine_with(std::uint64_t log_limit_bytes, sections kind) {
    return engine(with_log_limit(log_limit_bytes), kind);
}

open_function engine_elsewhere_with(std::uint64_t log_limit_bytes, sections kind, checkpointing how) {
    return engine_elsewhere(with_log_limit(log_limit_bytes), kind, how);
}

open_function background_engine(std::uint64_t log_limit_bytes, sections kind) {
    return engine(with_log_limit(log_limit_bytes), kind, checkpointing::in_background);
}

open_function engine_with_history(std::uint64_t log_limit_bytes, sections kind, checkpointing how,
                                  std::uint64_t steps_max) {
    auto options = with_log_limit(log_limit_bytes);
    options.history = {.steps_max = steps_max};
    return engine(std::move(options), kind, how);
}

open_function engine_with_kept_history(std::uint64_t log_limit_bytes, checkpointing how, std::uint64_t steps_max) {
    auto options = with_log_limit(log_limit_bytes);
    options.history = {.steps_max = steps_max};
    options.history_kept = true;
    options.history_rewritten_from = 16 * KiB;
    return engine(std::move(options), sections::ordinary, how);
}

open_function engine_that_reads_history_late(std::uint64_t log_limit_bytes) {
    auto options = with_log_limit(log_limit_bytes);
    options.history = {.steps_max = 1000};
    options.history_kept = true;
    options.history_rewritten_from = 16 * KiB;
    return engine_that_reads_late(std::move(options));
}

void begin(session& program) {
    program.open();
    if (!program.current().has_root())
        program.add_root();
    program.commit();
}

std::size_t largest(session& program) {
    const auto& all = program.current().blocks();
    const auto found =
        std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    return static_cast<std::size_t>(found - all.begin());
}

workload killed(std::string name, open_function open, cut_phase phase, std::uint64_t cost) {
    return {.name = std::move(name),
            .open = std::move(open),
            .phases = {[phase](session& program) { phase(program, session::cut::death); }},
            .cuts_short = true,
            .cost = cost};
}

workload failing(std::string name, open_function open, cut_phase phase, simulation::failed_sync after_failed_sync,
                 std::uint64_t cost) {
    return {.name = std::move(name),
            .open = std::move(open),
            .phases = {[phase](session& program) { phase(program, session::cut::failure); }},
            .after_failed_sync = after_failed_sync,
            .cuts_short = true,
            .cost = cost};
}

} // namespace remanence::crash
