// Names a heap's files, and creates a new, empty heap.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace remanence::store {

/// These return the paths of a heap that is being built, of the redo log, and of the history.
std::string new_path(const std::string& heap_path);
std::string log_path(const std::string& heap_path);
std::string history_path(const std::string& heap_path);

/// Returns an errc::in_use failure for a heap that another process or handle has locked.
unexpected in_use(const std::string& path);

/// Fails with errc::unlinked if `path` no longer names this file.
result<void> check_is_at(os::file& file, const std::string& path);

/// Makes the file NAME-new, empty and locked. A heap is built there before it gets its name. Replaces the remains of an
/// interrupted creation or copy: a file that nobody has locked, that begins like a heap or with zeros, that is not a
/// heap with contents, and that has no log. errc::in_use if another process is building a heap there. For any other
/// file errc::exists; that file stays unchanged.
result<std::unique_ptr<os::file>> begin_new(os::file_system& files, const std::string& path, unsigned mode);

struct creation {
    std::uint64_t chunk_bytes;
    std::uint64_t base;
    std::string_view abi;
    unsigned mode;
    std::string_view application = {}; // empty: the heap belongs to no particular application
    bool aligned_blocks = false;
    bool red_zones = false;
    bool longer_blocks = false;
};

/// Builds an empty heap as NAME-new, locks it, syncs it and renames it, so the heap appears complete or not at all.
/// Durable once this returns. Returns the heap's UUID. errc::exists if a file has that name; errc::log_foreign if a log
/// with the heap's name exists.
using heap_identity = std::array<std::uint8_t, 16>;
result<heap_identity> create_empty(os::file_system& files, const std::string& path, const creation& how);

} // namespace remanence::store
