#include "commands.hpp"
#include "report.hpp"
#include "text.hpp"
#include "version_of.hpp"

#include <remanence/look_inside.hpp>
#include <remanence/streams.hpp>

#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <string_view>

namespace remanence::tool {

int schema(const std::string& file, const std::string& version, bool as_cpp) {
    const auto form = as_cpp ? inspect::schema_form::cpp : inspect::schema_form::text;
    const std::string text = with_progress([&](const inspect::progress_callback& shown) {
        return version.empty() ? inspect::schema(file, form, shown)
                               : inspect::schema_of(file, version_of(file, version), form, shown);
    });
    put(as_cpp ? text : visible_lines(text));
    return exit_ok;
}

int get(const std::string& file, const std::string& version, const std::string& object) {
    put(with_progress([&](const inspect::progress_callback& shown) {
            return version.empty() ? inspect::get(file, object, shown)
                                   : inspect::get_of(file, version_of(file, version), object, shown);
        }) +
        "\n");
    return exit_ok;
}

namespace {

/// Dumps what can be dumped, and reports the rest on standard error.
int salvage(const std::string& file, const std::string& root, bool as_cbor) {
    constexpr std::size_t k_shown_max = 20;
    const std::function<void(std::string_view)> print = [](std::string_view piece) { put(piece); };
    std::size_t count = 0;
    bool is_any_damaged = false;
    inspect::salvage(file, root, as_cbor ? as_binary(print) : print, [&](std::string_view what, bool is_damaged) {
        is_any_damaged = is_any_damaged || is_damaged;
        if (++count <= k_shown_max)
            fmt::print(stderr, "rem: {}\n", visible(what));
    });
    if (count > k_shown_max)
        fmt::print(stderr, "rem: and {} more\n", count - k_shown_max);
    return count == 0 ? exit_ok : is_any_damaged ? exit_damage : exit_error;
}

} // namespace

int dump(const std::string& file, const std::string& version, const std::string& root, bool as_cbor, bool salvages) {
    if (salvages)
        return salvage(file, root, as_cbor);
    const std::function<void(std::string_view)> print = [](std::string_view piece) { put(piece); };
    with_progress([&](const inspect::progress_callback& shown) {
        const std::function<void(std::string_view)> sink = as_cbor ? as_binary(print) : print;
        if (version.empty())
            inspect::dump(file, root, sink, shown);
        else
            inspect::dump_of(file, version_of(file, version), root, sink, shown);
        return exit_ok;
    });
    return exit_ok;
}

namespace {

std::size_t read_input(char* to, std::size_t bytes) {
    const std::size_t count = std::fread(to, 1, bytes, stdin);
    if (count == 0 && std::ferror(stdin) != 0)
        throw error(errc::io, "cannot read standard input.");
    return count;
}

/// Opens a heap to change it, even if other processes share it. If it has a history, the change becomes a step.
heap opened_for_change(const std::string& file) {
    try {
        return heap::open_existing(file);
    } catch (const error& stop) {
        if (stop.reason() != errc::in_use)
            throw;
    }
    return heap::open_existing(file, {.access = sharing::processes});
}

} // namespace

int load(const std::string& file) {
    std::error_code unknown;
    const bool is_new = !std::filesystem::exists(std::filesystem::symlink_status(file, unknown));
    try {
        heap into = is_new ? heap::create(file) : opened_for_change(file);
        (void)remanence::load<>(into, &read_input);
        into.close();
    } catch (const error& stop) {
        if (is_new && stop.reason() != errc::exists) // otherwise another program has made the file
            std::filesystem::remove(file, unknown);
        throw;
    }
    return exit_ok;
}

} // namespace remanence::tool
