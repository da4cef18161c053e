// The names of a heap's files, and a new, empty heap under one of them.
#pragma once

#include "base/result.hpp"
#include "os/file.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace remanence::store {

/// Path of the file as a new heap is being built, of the redo log, and of the history.
std::string new_path(const std::string& heap_path);
std::string log_path(const std::string& heap_path);
std::string history_path(const std::string& heap_path);

/// errc::in_use, for whoever wants the lock of a heap that another one holds.
unexpected in_use(const std::string& path);

/// errc::unlinked when `path` is not a name of this file any more.
result<void> check_is_at(os::file& file, const std::string& path);

/// NAME-new, empty and locked: where a heap is built before it gets its name. What an interrupted creation or copy left
/// there goes: a file that nobody has locked, that begins as a heap or with zeros, and is no heap with anything in it, nor
/// has a log. errc::in_use when another process builds one; errc::exists, and nothing changed, for any other file.
result<std::unique_ptr<os::file>> begin_new(os::file_system& files, const std::string& path, unsigned mode);

struct creation {
    std::uint64_t chunk_bytes;
    std::uint64_t base;
    std::string_view abi;
    unsigned mode;
    std::string_view application = {}; // empty: nobody's in particular
    bool aligned_blocks = false;
    bool red_zones = false;
};

/// Builds an empty heap as NAME-new, locks it, syncs it and renames it: it appears complete or not at all. Durable once
/// this returns. Returns its UUID. errc::exists when there is a file already; errc::log_foreign when there is a log.
using heap_identity = std::array<std::uint8_t, 16>;
result<heap_identity> create_empty(os::file_system& files, const std::string& path, const creation& how);

} // namespace remanence::store
