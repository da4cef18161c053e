#include "commands.hpp"
#include "json.hpp"
#include "text.hpp"

#include <remanence/relocate.hpp>

#include <fmt/format.h>

namespace remanence::tool {

int relocate(const std::string& file, std::uint64_t base, bool as_json) {
    relocated done;
    {
        progress_line line("moving");
        done = remanence::relocate(file, base, [&](const progress& now) {
            if (now.what == progress::phase::relocation)
                line(now.bytes_done, now.bytes_total);
        });
    }
    const std::string before = fmt::format("{:#x}", done.base_before);
    const std::string now = fmt::format("{:#x}", done.base);
    if (as_json)
        put(json_object()
                .add("path", file)
                .add("base_before", before)
                .add("base", now)
                .add("pointers", done.pointers)
                .text() +
            "\n");
    else
        put(fmt::format("{}: moved from {} to {}, {}\n", visible(file), before, now,
                        counted(done.pointers, "pointer")));
    return exit_ok;
}

} // namespace remanence::tool
