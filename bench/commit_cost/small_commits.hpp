// Commits of 100 bytes in a heap of 256 MiB.
#pragma once

#include <cstdint>
#include <filesystem>

constexpr const char* k_small_workload = "256 MiB, 100 bytes";
constexpr std::uint64_t k_small_pages = (std::uint64_t{256} << 20) / 4096;

/// In a child: makes a heap in `directory` and measures commits in it, then opens it anew and measures them there.
void measure_small_commits(const std::filesystem::path& directory, bool is_declared);
