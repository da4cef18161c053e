#include "commands.hpp"
#include "json.hpp"
#include "text.hpp"

#include <remanence/heap.hpp>

#include <fmt/format.h>

namespace remanence::tool {

int gc(const std::string& file, bool dry_run, bool as_json) {
    struct only_tried {};
    heap opened = heap::open_existing(file);
    leak_report freed;
    try {
        opened.write([&] {
            freed = opened.collect();
            if (dry_run)
                throw only_tried();
        });
    } catch (const only_tried&) { // NOLINT(bugprone-empty-catch): the section was rolled back
    }
    opened.close();
    if (as_json)
        put(json_object()
                .add("path", file)
                .add("dry_run", dry_run)
                .add("blocks", freed.blocks)
                .add("bytes", freed.bytes)
                .text() +
            "\n");
    else if (freed.clean())
        put(fmt::format("{}: roots reach all blocks\n", visible(file)));
    else
        put(fmt::format("{}: {} {} of {} that no root {}\n", visible(file), dry_run ? "would free" : "freed",
                        counted(freed.blocks, "block"), counted(freed.bytes, "byte"), dry_run ? "reaches" : "reached"));
    return exit_ok;
}

} // namespace remanence::tool
