#include "commands.hpp"
#include "json.hpp"
#include "report.hpp"
#include "text.hpp"
#include "inspect/root_survey.hpp"

#include <fmt/format.h>

namespace remanence::tool {

namespace {

std::string heap_id(const std::array<std::uint8_t, 16>& uuid) {
    std::string text;
    for (std::size_t i = 0; i < uuid.size(); ++i)
        text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    return text;
}

struct memory_use {
    std::uint64_t allocated = 0;
    std::uint64_t free = 0; // in pages that the allocator has taken: free runs, and holes between small blocks
};

memory_use use_of(const format::heap_header* header) {
    memory_use use;
    if (header == nullptr)
        return use;
    std::uint64_t taken = 0;
    for (const std::uint32_t pages : header->allocator.used_pages)
        taken += std::uint64_t{pages} * k_page_bytes;
    use.allocated = header->allocator.allocated_bytes;
    use.free = taken < use.allocated ? 0 : taken - use.allocated;
    return use;
}

std::string exact(std::uint64_t bytes) {
    const std::string text = size_text(bytes);
    return text.ends_with('s') ? text : fmt::format("{} ({} bytes)", text, grouped(bytes)); // "800 bytes" is exact
}

std::string as_text(inspect::inspection& heap, const memory_use& use, std::size_t roots) {
    std::string text = fmt::format("{}\n", coloured(colour::bold, visible(heap.path())));
    const auto line = [&](std::string_view key, std::string_view value) {
        text += fmt::format("  {:<14} {}\n", key, value);
    };
    const format::superblock& super = heap.super();
    const bool clean = (super.flags & format::k_flag_clean) != 0;
    const inspect::inspected_log& log = heap.log();
    line("heap id", heap_id(super.uuid));
    line("format", fmt::format("{}, chunks of {}", super.format_version, size_text(super.chunk_bytes)));
    line("application", super.application[0] != '\0' ? visible(super.application.data()) : "not recorded");
    line("written by", visible(super.abi.data()));
    line("base address", fmt::format("{:#x}", super.base));
    line("closed", heap.is_live() ? "no: another program has it open for writing"
                   : clean        ? "cleanly"
                                  : coloured(colour::yellow, "not cleanly: the next open for writing recovers it"));
    line("redo log", !log.present ? std::string("none")
                                  : fmt::format("{}, {} in {} that the image lacks", size_text(log.file_bytes),
                                                counted(log.commits, "commit"), size_text(log.record_bytes)));
    line("last commit", fmt::format("{} (image: {}, epoch {})", grouped(heap.version()),
                                    grouped(super.checkpoint_version), super.epoch));
    line("file", exact(heap.file_bytes()));
    line("heap", fmt::format("{} committed, {} have their place in the file", size_text(heap.store().image_bytes()),
                             size_text(heap.store().region_bytes())));
    line("allocated", exact(use.allocated));
    line("free", fmt::format("{} in pages taken before", size_text(use.free)));
    line("roots", grouped(roots));
    return text;
}

json_object as_object(inspect::inspection& heap, const memory_use& use, std::size_t roots) {
    const format::superblock& super = heap.super();
    const inspect::inspected_log& log = heap.log();
    json_object log_object;
    log_object.add("present", log.present)
        .add("file_bytes", log.file_bytes)
        .add("commits", log.commits)
        .add("record_bytes", log.record_bytes);
    json_object all;
    all.add("path", heap.path())
        .add("heap_id", heap_id(super.uuid))
        .add("format_version", std::uint64_t{super.format_version})
        .add("application", super.application.data())
        .add("abi", super.abi.data())
        .add("base", fmt::format("{:#x}", super.base))
        .add("chunk_bytes", super.chunk_bytes)
        .add("clean", (super.flags & format::k_flag_clean) != 0)
        .add("sequence", super.sequence)
        .add("epoch", super.epoch)
        .add("version", heap.version())
        .add("checkpoint_version", super.checkpoint_version)
        .add("log", log_object)
        .add("file_bytes", heap.file_bytes())
        .add("heap_bytes", heap.store().image_bytes())
        .add("region_bytes", heap.store().region_bytes())
        .add("allocated_bytes", use.allocated)
        .add("free_bytes", use.free)
        .add("root_count", std::uint64_t{roots})
        .add("problems", problems_as_json(heap.problems()));
    return all;
}

} // namespace

int info(const std::string& file, bool as_json) {
    memory_use use;
    std::size_t roots = 0;
    return print_findings(
        file,
        [&](inspect::inspection& heap) -> result<void> {
            roots = checked(inspect::list_roots(heap)).size(); // notes a damaged header, too
            auto header = heap.header();
            use = header ? use_of(*header) : memory_use{};
            return {};
        },
        [&](inspect::inspection& heap) {
            return as_json ? as_object(heap, use, roots).text() + "\n" : as_text(heap, use, roots);
        });
}

} // namespace remanence::tool
