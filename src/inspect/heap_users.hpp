// Who has a heap open.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"
#include "share/observation.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace remanence::inspect {

struct heap_users {
    enum class open_as { closed, exclusive, read_only, shared, opening, closing };
    open_as how = open_as::closed;
    std::uint64_t version = 0;                      // of a shared one: the newest
    std::vector<share::observed_process> processes; // those that /proc shows, if it is not shared; no versions
};

/// Takes no lock. errc::not_a_heap; and as share::observe().
result<heap_users> users_of(os::file_system& files, const std::string& path);

} // namespace remanence::inspect
