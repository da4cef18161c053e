// Making and removing groups while the spool is served. Depends on spool.hpp and POSIX.
//
// The catalogue says which groups exist. A group's file is made before its row, and removed after it. So a file without
// a row is left over, and goes away at the next occasion.
#pragma once

#include "spool.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace news {

/// Holds the lock of a directory for the time of its life: one administrator at a time. Errors: std::system_error.
class administrator_lock {
public:
    explicit administrator_lock(const std::filesystem::path& directory);
    administrator_lock(const administrator_lock&) = delete;
    administrator_lock& operator=(const administrator_lock&) = delete;
    ~administrator_lock();

private:
    int descriptor_;
};

/// The lock of the process that serves a spool. Its children inherit one half of it, so that the next server waits for
/// them; the other half is the server's alone, and tells its process number.
class server_lock {
public:
    /// Waits for the children of a server that has ended. Errors: std::runtime_error when another server runs.
    explicit server_lock(const std::filesystem::path& directory);
    server_lock(const server_lock&) = delete;
    server_lock& operator=(const server_lock&) = delete;
    ~server_lock();

    /// Returns the process that serves the spool, or 0. Not to be called by that process: it would lose the lock.
    static int holder(const std::filesystem::path& directory);

private:
    int descriptor_;
};

/// Makes a group. Durable once this returns. Errors: std::runtime_error when there is one of this name, or one that was
/// removed is still open somewhere.
void make_group(spool& in, std::string_view name, std::string_view description);

/// Removes a group. Clients who have selected it are told so at their next command. Returns false if its files are
/// still open after some seconds; the next start of the server removes them. Errors: std::runtime_error when there is
/// no such group.
bool remove_group(spool& in, std::string_view name);

/// Removes the files of groups that do not exist.
void sweep(spool& in);

} // namespace news
