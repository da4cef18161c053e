// The command line of news_spool. Depends on the arguments of the address book, and the standard library.
#pragma once

#include "expiry.hpp"
#include "session.hpp"

#include "arguments.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace news {

struct options {
    enum class task { serve, new_group, remove_group, expire };
    task what = task::serve;
    std::filesystem::path directory;
    std::string group; ///< to be made or removed
    std::string description;

    std::string address = "127.0.0.1";
    std::uint16_t port = 0; ///< 0: any that is free
    std::size_t clients_max = 1000;
    std::chrono::seconds idle_max{600};
    session_settings session;
    expiry_rule expiry; ///< for groups that expire.conf does not name
};

extern const std::string_view k_usage;

/// Errors: usage_error.
options options_in(arguments& line);

} // namespace news
