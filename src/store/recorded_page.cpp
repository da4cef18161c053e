#include "store/recorded_page.hpp"

#include "base/checksum.hpp"

namespace remanence::store {

unexpected damaged_page(const os::file& file, const format::area_reference& area, const std::string& what,
                        const std::string& why) {
    return fail(errc::corrupt,
                what + " of " + file.path() + ", at byte " + std::to_string(area.offset) + ", is damaged (" + why +
                    "). Restore the heap from a copy.",
                file.path(), 0, area.offset);
}

result<recorded_page> read_recorded_page(os::file& file, const format::area_reference& area, const std::string& what) {
    recorded_page page{};
    if (area.bytes != page.size() || area.version != 1)
        return damaged_page(file, area, what, "its size or version");
    auto size = file.size();
    if (!size)
        return size.error();
    if (*size < area.offset + area.bytes)
        return damaged_page(file, area, what, "the file ends before");
    REM_TRY(file.read(area.offset, page));
    if (checksum64(page) != area.checksum)
        return damaged_page(file, area, what, "its checksum");
    return page;
}

} // namespace remanence::store
