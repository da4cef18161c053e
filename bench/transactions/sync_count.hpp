// How often a child process waits for the device, seen from outside, by strace.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// Whether strace is installed and may trace.
bool can_count_syncs();
/// Runs a child, as bench::run_child() does, and counts its syncs between its two marks: fsync, fdatasync, sync_file_range
/// and msync, and each write to a file that was opened with O_DSYNC or O_SYNC.
double count_syncs_of(const std::vector<std::string>& words, const std::filesystem::path& directory);

/// In the child.
void mark_beginning();
void mark_end();
