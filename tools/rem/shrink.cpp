#include "commands.hpp"
#include "json.hpp"
#include "text.hpp"

#include <remanence/heap.hpp>

#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace remanence::tool {

int shrink(const std::string& file, bool as_json) {
    heap opened = heap::open_existing(file);
    const std::uint64_t before = std::filesystem::file_size(file);
    (void)opened.shrink();
    opened.close();
    const std::uint64_t after = std::filesystem::file_size(file);
    if (as_json)
        put(json_object().add("path", file).add("file_bytes_before", before).add("file_bytes", after).text() + "\n");
    else if (after < before)
        put(fmt::format("{}: {}, was {}\n", visible(file), size_text(after), size_text(before)));
    else
        put(fmt::format("{}: {}, no shorter than before\n", visible(file), size_text(after)));
    return exit_ok;
}

} // namespace remanence::tool
