// A spool: its catalogue, and the groups that this process has open. Depends on Remanence and the standard library.
#pragma once

#include "catalogue.hpp"
#include "group_file.hpp"

#include <cstdint>
#include <filesystem>
#include <list>
#include <string>
#include <string_view>

namespace news {

class spool {
public:
    /// How many groups a process has open at most. Each takes a thread, some descriptors and 1 GiB of addresses.
    static constexpr std::size_t k_open_groups_max = 8;

    /// Opens the spool in `directory`, and makes it when there is none. Errors: remanence::error.
    explicit spool(const std::filesystem::path& directory);

    [[nodiscard]] catalogue& index() { return catalogue_; }
    /// Opens a group, unless it is open. Returns null if there is no such group, or no longer. The group is valid until
    /// the next call. Errors: remanence::error.
    group_file* open(std::string_view group);
    /// Closes the groups that were removed, so that their files can be removed, too.
    void close_removed();
    void close_all() { open_.clear(); }

    [[nodiscard]] std::filesystem::path file_of(std::string_view group) const;
    [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

private:
    struct open_group {
        std::string name;
        std::uint64_t generation;
        group_file file;
    };

    std::filesystem::path directory_;
    catalogue catalogue_;
    std::list<open_group> open_; ///< the one that was used last comes first
};

/// Returns the seconds since 1970, by the calendar's clock: it may be set, forwards and back.
std::int64_t now();

} // namespace news
