#include "commands.hpp"
#include "json.hpp"
#include "report.hpp"
#include "text.hpp"

#include <fmt/format.h>

namespace remanence::tool {

namespace {

std::string heap_id(const std::array<std::uint8_t, 16>& uuid) {
    std::string text;
    for (std::size_t i = 0; i < uuid.size(); ++i)
        text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    return text;
}

std::string exact(std::uint64_t bytes) {
    const std::string text = size_text(bytes);
    // a size in bytes, such as "800 bytes", is exact already
    return text.ends_with('s') ? text : fmt::format("{} ({} bytes)", text, grouped(bytes));
}

std::string info_text(const inspect::report& heap) {
    std::string text = fmt::format("{}\n", coloured(colour::bold, visible(heap.path)));
    const auto line = [&](std::string_view key, std::string_view value) {
        text += fmt::format("  {:<14} {}\n", key, value);
    };
    const inspect::log_contents& log = heap.log;
    line("heap id", heap_id(heap.heap_id));
    line("format", fmt::format("{}, chunks of {}", heap.format_version, size_text(heap.chunk_bytes)));
    line("application", heap.application.empty() ? "not recorded" : visible(heap.application));
    line("history", heap.recorded_history ? "kept over sessions (rem history, rem log)" : "none is kept over sessions");
    line("written by", visible(heap.abi));
    line("base address", fmt::format("{:#x}", heap.base_address));
    line("closed", heap.is_open_elsewhere ? "no: another program has it open for writing"
                   : heap.is_clean        ? "cleanly"
                                   : coloured(colour::yellow, "not cleanly: the next open for writing recovers it"));
    line("redo log", !log.present ? std::string("none")
                                  : fmt::format("{}, {} in {} that the image lacks", size_text(log.file_bytes),
                                                counted(log.commits, "commit"), size_text(log.record_bytes)));
    line("last commit",
         fmt::format("{} (image: {}, epoch {})", grouped(heap.version), grouped(heap.checkpoint_version), heap.epoch));
    line("file", exact(heap.file_bytes));
    line("heap", fmt::format("{} committed, {} have their place in the file", size_text(heap.heap_bytes),
                             size_text(heap.region_bytes)));
    line("allocated", exact(heap.allocated_bytes));
    line("free", fmt::format("{} in pages taken before", size_text(heap.free_bytes)));
    line("roots", grouped(heap.roots.size()));
    return text;
}

json_object info_object(const inspect::report& heap) {
    const inspect::log_contents& log = heap.log;
    json_object log_object;
    log_object.add("present", log.present)
        .add("file_bytes", log.file_bytes)
        .add("commits", log.commits)
        .add("record_bytes", log.record_bytes);
    json_object all;
    all.add("path", heap.path)
        .add("heap_id", heap_id(heap.heap_id))
        .add("format_version", std::uint64_t{heap.format_version})
        .add("application", heap.application)
        .add("history_kept_over_sessions", heap.recorded_history.has_value())
        .add("abi", heap.abi)
        .add("base", fmt::format("{:#x}", heap.base_address))
        .add("chunk_bytes", heap.chunk_bytes)
        .add("clean", heap.is_clean)
        .add("sequence", heap.sequence)
        .add("epoch", heap.epoch)
        .add("version", heap.version)
        .add("checkpoint_version", heap.checkpoint_version)
        .add("log", log_object)
        .add("file_bytes", heap.file_bytes)
        .add("heap_bytes", heap.heap_bytes)
        .add("region_bytes", heap.region_bytes)
        .add("allocated_bytes", heap.allocated_bytes)
        .add("free_bytes", heap.free_bytes)
        .add("root_count", std::uint64_t{heap.roots.size()})
        .add("problems", problems_as_json(heap.problems));
    return all;
}

} // namespace

int info(const std::string& file, bool as_json) {
    const auto found =
        with_progress([&](const inspect::progress_callback& shown) { return inspect::look(file, shown); });
    put(as_json ? info_object(found).text() + "\n" : info_text(found));
    return exit_code_of(file, found);
}

} // namespace remanence::tool
