#include "store/image.hpp"

#include "base/checksum.hpp"

#include <cstring>

namespace remanence::store {

result<void> image::read_pages(std::uint64_t first_page, std::span<std::byte> into) {
    const std::uint64_t count = into.size() / k_page_bytes;
    std::vector<std::uint32_t> checksums(static_cast<std::size_t>(count));
    for (std::uint64_t i = 0; i < count; ++i) {
        auto checksum = checksum_of(first_page + i);
        if (!checksum)
            return checksum.error();
        checksums[i] = *checksum;
    }
    for (std::uint64_t i = 0; i < count;) {
        std::uint64_t end = i + 1;
        if (checksums[i] == 0) {
            std::memset(into.data() + i * k_page_bytes, 0, k_page_bytes);
            i = end;
            continue;
        }
        std::uint64_t copy = copy_of((first_page + i) * k_page_bytes);
        while (end < count && checksums[end] != 0 &&
               copy_of((first_page + end) * k_page_bytes) == copy + (end - i) * k_page_bytes)
            ++end;
        auto run = into.subspan(i * k_page_bytes, (end - i) * k_page_bytes);
        REM_TRY(file_.read(copy, run));
        for (; i < end; ++i) {
            if (page_checksum(into.subspan(i * k_page_bytes, k_page_bytes)) == checksums[i])
                continue;
            std::uint64_t at = copy_of((first_page + i) * k_page_bytes);
            return fail(errc::corrupt,
                        "page " + std::to_string(first_page + i) + " of " + path() + " is damaged at byte " +
                            std::to_string(at) + " (its checksum is wrong). Restore the heap from a copy.",
                        path(), 0, at);
        }
    }
    return {};
}

} // namespace remanence::store
