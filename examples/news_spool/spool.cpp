#include "spool.hpp"

#include <algorithm>
#include <chrono>

namespace news {

namespace {

std::filesystem::path made(const std::filesystem::path& directory) {
    std::filesystem::create_directories(directory / "groups");
    return directory;
}

} // namespace

spool::spool(const std::filesystem::path& directory) : directory_(made(directory)), catalogue_(directory) {}

std::filesystem::path spool::file_of(std::string_view group) const {
    return directory_ / "groups" / (std::string(group) + ".rem");
}

group_file* spool::open(std::string_view group) {
    const auto is_it = [&](const open_group& each) { return each.name == group; };
    const std::optional<group_info> info = catalogue_.find(group);
    const auto found = std::ranges::find_if(open_, is_it);
    if (found != open_.end() && info && found->generation == info->generation) {
        open_.splice(open_.begin(), open_, found);
        return &open_.front().file;
    }
    open_.remove_if(is_it); // it was removed; perhaps there is a new one of this name
    if (!info)
        return nullptr;
    try {
        open_.push_front({info->name, info->generation, group_file(file_of(group))});
    } catch (const rem::error& reason) {
        if (reason.reason() == rem::errc::not_found)
            return nullptr; // removed since we looked
        throw;
    }
    if (open_.size() > k_open_groups_max)
        open_.pop_back();
    return &open_.front().file;
}

void spool::close_removed() {
    open_.remove_if([&](const open_group& each) {
        const std::optional<group_info> info = catalogue_.find(each.name);
        return !info || info->generation != each.generation;
    });
}

std::int64_t now() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since_1970).count();
}

} // namespace news
