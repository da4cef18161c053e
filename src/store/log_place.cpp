#include "store/log_place.hpp"

#include "base/checksum.hpp"
#include "base/units.hpp"
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
    const std::size_t slash = heap_path.rfind('/'); // none: npos + 1 is 0
    return log_path(directory_ + "/" + heap_path.substr(slash + 1) + "-" + tag_);
}

bool may_be_log_directory(const std::string& directory) {
    return directory.starts_with('/') && directory.size() < sizeof(log_directory_page) &&
           directory.find('\0') == std::string::npos;
}

log_directory_page to_page(const std::string& directory) {
    log_directory_page page{};
    std::memcpy(page.data(), directory.data(), directory.size());
    return page;
}

result<log_place> read_log_place(os::file& file, const format::superblock& super) {
    const format::area_reference& area = super.log_directory;
    if (area.bytes == 0)
        return log_place();
    const auto damaged = [&](const char* what) {
        return fail(errc::corrupt,
                    "the place of the redo log of " + file.path() + ", at byte " + std::to_string(area.offset) +
                        ", is damaged (" + what + "). Restore the heap from a copy.",
                    file.path(), 0, area.offset);
    };
    log_directory_page page{};
    if (area.bytes != page.size() || area.version != 1)
        return damaged("its size or version");
    auto size = file.size();
    if (!size)
        return size.error();
    if (*size < area.offset + area.bytes)
        return damaged("the file ends before");
    REM_TRY(file.read(area.offset, page));
    if (checksum64(page) != area.checksum)
        return damaged("its checksum");
    const auto end = std::ranges::find(page, std::byte{0});
    std::string directory(reinterpret_cast<const char*>(page.data()), static_cast<std::size_t>(end - page.begin()));
    if (!may_be_log_directory(directory) ||
        !std::all_of(end, page.end(), [](std::byte b) { return b == std::byte{0}; }))
        return damaged("it is no path");
    return log_place(std::move(directory), super);
}

} // namespace remanence::store
