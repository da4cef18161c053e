// Finds the processes that have a heap open.
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
    std::uint64_t version = 0; // the newest version of a shared heap
    // if the heap is not shared: the processes that /proc lists, without versions
    std::vector<share::observed_process> processes;
};

/// Returns the processes that have the heap open, without locking anything. errc::not_a_heap; and the errors of
/// share::observe().
result<heap_users> users_of(os::file_system& files, const std::string& path);

} // namespace remanence::inspect
