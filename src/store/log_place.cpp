#include "store/log_place.hpp"

#include "store/heap_creation.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace remanence::store {

namespace {

constexpr std::size_t k_bytes_in_tag = 4; // of the UUID

std::string hexadecimal(std::span<const std::uint8_t> bytes) {
    static constexpr char k_digits[] = "0123456789abcdef";
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += k_digits[byte >> 4];
        text += k_digits[byte & 15];
    }
    return text;
}

} // namespace

log_place::log_place(std::string directory, const format::superblock& super)
    : directory_(std::move(directory)), tag_(hexadecimal(std::span(super.uuid).first(k_bytes_in_tag))) {}

std::string log_place::path_for(const std::string& heap_path) const {
    if (directory_.empty())
        return log_path(heap_path);
    const std::size_t slash = heap_path.rfind('/'); // without a slash, npos + 1 is 0
    return log_path(directory_ + "/" + heap_path.substr(slash + 1) + "-" + tag_);
}

bool may_be_log_directory(const std::string& directory) {
    return directory.starts_with('/') && directory.size() < sizeof(recorded_page) &&
           directory.find('\0') == std::string::npos;
}

recorded_page to_page(const std::string& directory) {
    recorded_page page{};
    std::memcpy(page.data(), directory.data(), directory.size());
    return page;
}

result<log_place> read_log_place(os::file& file, const format::superblock& super) {
    const format::area_reference& area = super.log_directory;
    if (area.bytes == 0)
        return log_place();
    constexpr const char* k_what = "the place of the redo log";
    auto page = read_recorded_page(file, area, k_what);
    if (!page)
        return page.error();
    const auto end = std::ranges::find(*page, std::byte{0});
    std::string directory(reinterpret_cast<const char*>(page->data()), static_cast<std::size_t>(end - page->begin()));
    if (!may_be_log_directory(directory) ||
        !std::all_of(end, page->end(), [](std::byte b) { return b == std::byte{0}; }))
        return damaged_page(file, area, k_what, "it is no path");
    return log_place(std::move(directory), super);
}

} // namespace remanence::store
