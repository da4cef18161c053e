#include "commands.hpp"
#include "report.hpp"
#include "text.hpp"

#include <remanence/look_inside.hpp>

#include <fmt/format.h>

namespace remanence::tool {

int schema(const std::string& file, bool as_cpp) {
    const std::string text = with_progress([&](const inspect::progress_callback& shown) {
        return inspect::schema(file, as_cpp ? inspect::schema_form::cpp : inspect::schema_form::text, shown);
    });
    put(as_cpp ? text : visible_lines(text));
    return exit_ok;
}

int get(const std::string& file, const std::string& object) {
    put(with_progress([&](const inspect::progress_callback& shown) { return inspect::get(file, object, shown); }) +
        "\n");
    return exit_ok;
}

int dump(const std::string& file, const std::string& root) {
    with_progress([&](const inspect::progress_callback& shown) {
        inspect::dump(file, root, [](std::string_view piece) { put(piece); }, shown);
        return exit_ok;
    });
    return exit_ok;
}

} // namespace remanence::tool
