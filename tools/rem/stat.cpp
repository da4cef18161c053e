#include "commands.hpp"
#include "json.hpp"
#include "report.hpp"
#include "text.hpp"

#include <fmt/format.h>

namespace remanence::tool {

namespace {

std::string share_text(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string per(std::uint64_t amount, std::uint64_t count) {
    return count == 0 ? "-" : fmt::format("{:.1f}", static_cast<double>(amount) / static_cast<double>(count));
}

void add_log(std::string& text, const inspect::log_contents& log) {
    const auto line = [&](std::string_view key, std::string_view value) {
        text += fmt::format("  {:<16} {}\n", key, value);
    };
    line("commits", fmt::format("{} that the image lacks", grouped(log.commits)));
    line("records", fmt::format("{} of {} used", size_text(log.record_bytes), size_text(log.file_bytes)));
    line("changed", fmt::format("{} on {}, {} written whole", counted(log.changed_bytes, "byte"),
                                counted(log.changed_pages, "page"), counted(log.whole_pages, "page")));
    line("per commit",
         fmt::format("{} bytes of records, {} bytes changed on {} pages", per(log.record_bytes, log.commits),
                     per(log.changed_bytes, log.commits), per(log.changed_pages, log.commits)));
}

void add_memory(std::string& text, const inspect::memory_use& memory) {
    const auto line = [&](std::string_view key, std::string_view value) {
        text += fmt::format("  {:<16} {}\n", key, value);
    };
    line("allocated", fmt::format("{} in {}, {} of the pages taken", size_text(memory.allocated_bytes),
                                  counted(memory.blocks, "block"),
                                  share_text(memory.allocated_bytes,
                                             memory.allocated_bytes + memory.slab_free_bytes + memory.free_run_bytes)));
    line("free in slabs", fmt::format("{} between the small blocks of {}", size_text(memory.slab_free_bytes),
                                      counted(memory.slabs, "slab")));
    line("free in runs", fmt::format("{} in {} of pages, the longest {}", size_text(memory.free_run_bytes),
                                     counted(memory.free_runs, "run"), size_text(memory.longest_free_run_bytes)));
    line("metadata", size_text(memory.metadata_bytes));
    line("availability", fmt::format("{:.1f} % of what one free piece could serve", 100 * memory.availability));
    line("page efficiency", fmt::format("{:.1f} % of the pages in use are blocks", 100 * memory.page_efficiency));
    if (memory.blocks == 0)
        return;
    const std::string head = fmt::format("{:>16}  {:>14}  {:>12}", "BLOCKS UP TO", "BLOCKS", "MEMORY");
    text += fmt::format("\n{}\n", coloured(colour::bold, head));
    for (const inspect::memory_use::size_class& each : memory.classes)
        text += fmt::format("{:>16}  {:>14}  {:>12}\n", size_text(each.bytes_max), grouped(each.blocks),
                            size_text(each.bytes));
}

std::string statistics_text(const inspect::report& heap) {
    std::string text =
        fmt::format("{}, commit {}\n", coloured(colour::bold, visible(heap.path)), grouped(heap.version));
    text += "\nRedo log\n";
    if (heap.log.present)
        add_log(text, heap.log);
    else
        text += "  none: all commits are in the image\n";
    text += "\nMemory\n";
    if (heap.memory)
        add_memory(text, *heap.memory);
    else
        text += "  not known: the allocator's structures are damaged\n";
    return text;
}

json_object log_object(const inspect::log_contents& log) {
    json_object all;
    all.add("present", log.present)
        .add("file_bytes", log.file_bytes)
        .add("commits", log.commits)
        .add("record_bytes", log.record_bytes)
        .add("changed_pages", log.changed_pages)
        .add("changed_bytes", log.changed_bytes)
        .add("whole_pages", log.whole_pages);
    return all;
}

json_object memory_object(const inspect::memory_use& memory) {
    std::vector<json_object> classes;
    for (const inspect::memory_use::size_class& each : memory.classes)
        classes.emplace_back()
            .add("bytes_max", each.bytes_max)
            .add("block_count", each.blocks)
            .add("bytes", each.bytes);
    json_object all;
    all.add("allocated_bytes", memory.allocated_bytes)
        .add("block_count", memory.blocks)
        .add("slab_count", memory.slabs)
        .add("slab_free_bytes", memory.slab_free_bytes)
        .add("free_run_count", memory.free_runs)
        .add("free_run_bytes", memory.free_run_bytes)
        .add("longest_free_run_bytes", memory.longest_free_run_bytes)
        .add("metadata_bytes", memory.metadata_bytes)
        .add("availability", memory.availability)
        .add("page_efficiency", memory.page_efficiency)
        .add("size_classes", classes);
    return all;
}

json_object statistics_object(const inspect::report& heap) {
    json_object all;
    all.add("path", heap.path)
        .add("version", heap.version)
        .add("checkpoint_version", heap.checkpoint_version)
        .add("log", log_object(heap.log));
    if (heap.memory)
        all.add("memory", memory_object(*heap.memory));
    else
        all.add_null("memory");
    all.add("problems", problems_as_json(heap.problems));
    return all;
}

} // namespace

int stat(const std::string& file, bool as_json) {
    const auto found =
        with_progress([&](const inspect::progress_callback& shown) { return inspect::survey_memory(file, shown); });
    put(as_json ? statistics_object(found).text() + "\n" : statistics_text(found));
    return exit_code_of(file, found);
}

} // namespace remanence::tool
