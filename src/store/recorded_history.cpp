#include "store/recorded_history.hpp"

#include <algorithm>
#include <cstring>

namespace remanence::store {

recorded_page to_page(const format::history_limits& most) {
    recorded_page page{};
    std::memcpy(page.data(), &most, sizeof most);
    return page;
}

result<std::optional<format::history_limits>> read_recorded_history(os::file& file, const format::superblock& super) {
    constexpr const char* k_what = "the page with the limits of the history";
    if (super.history.bytes == 0)
        return std::optional<format::history_limits>();
    auto page = read_recorded_page(file, super.history, k_what);
    if (!page)
        return page.error();
    format::history_limits most{};
    std::memcpy(&most, page->data(), sizeof most);
    if (most.when_full > format::k_when_full_last ||
        !std::all_of(page->begin() + sizeof most, page->end(), [](std::byte b) { return b == std::byte{0}; }))
        return damaged_page(file, super.history, k_what, "it has something else");
    return std::optional(most);
}

} // namespace remanence::store
