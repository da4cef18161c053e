#include "commands.hpp"
#include "json.hpp"
#include "report.hpp"
#include "text.hpp"
#include "inspect/root_survey.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace remanence::tool {

namespace {

std::string as_text(const std::vector<inspect::surveyed_root>& roots) {
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

json_object as_object(const inspect::inspection& heap, const std::vector<inspect::surveyed_root>& roots) {
    std::vector<json_object> list;
    for (const inspect::surveyed_root& root : roots) {
        list.emplace_back()
            .add("name", root.name)
            .add("type", root.type)
            .add("bytes", root.bytes)
            .add("heap_offset", root.object)
            .add("fingerprint", fmt::format("{}:{:016x}", root.fingerprint_algorithm, root.fingerprint_hash))
            .add("structure", root.structure);
    }
    json_object all;
    all.add("path", heap.path())
        .add("version", heap.version())
        .add("roots", list)
        .add("problems", problems_as_json(heap.problems()));
    return all;
}

} // namespace

int ls(const std::string& file, bool as_json) {
    std::vector<inspect::surveyed_root> roots;
    return print_findings(
        file,
        [&](inspect::inspection& heap) -> result<void> {
            roots = checked(inspect::list_roots(heap));
            return {};
        },
        [&](inspect::inspection& heap) { return as_json ? as_object(heap, roots).text() + "\n" : as_text(roots); });
}

} // namespace remanence::tool
