#include "commands.hpp"
#include "json.hpp"
#include "report.hpp"
#include "text.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace remanence::tool {

namespace {

std::string roots_text(const std::vector<inspect::surveyed_root>& roots) {
    std::string text;
    std::size_t name_width = 4;
    std::size_t size_width = 5;
    for (const inspect::surveyed_root& root : roots) {
        name_width = std::max(name_width, visible(root.name).size());
        size_width = std::max(size_width, grouped(root.bytes).size());
    }
    if (!roots.empty())
        text +=
            coloured(colour::bold, fmt::format("{:<{}}  {:>{}}  TYPE", "NAME", name_width, "BYTES", size_width)) + "\n";
    for (const inspect::surveyed_root& root : roots)
        text += fmt::format("{:<{}}  {:>{}}  {}\n", visible(root.name), name_width, grouped(root.bytes), size_width,
                            visible(root.type));
    return text;
}

json_object roots_object(const inspect::report& heap) {
    std::vector<json_object> list;
    for (const inspect::surveyed_root& root : heap.roots) {
        list.emplace_back()
            .add("name", root.name)
            .add("type", root.type)
            .add("bytes", root.bytes)
            .add("heap_offset", root.object)
            .add("fingerprint", fmt::format("{}:{:016x}", root.fingerprint_algorithm, root.fingerprint_hash))
            .add("structure", root.structure);
    }
    json_object all;
    all.add("path", heap.path)
        .add("version", heap.version)
        .add("roots", list)
        .add("problems", problems_as_json(heap.problems));
    return all;
}

} // namespace

int ls(const std::string& file, bool as_json) {
    const auto found =
        with_progress([&](const inspect::progress_callback& shown) { return inspect::look(file, shown); });
    put(as_json ? roots_object(found).text() + "\n" : roots_text(found.roots));
    return exit_code_of(file, found);
}

} // namespace remanence::tool
