// The files of a heap, compressed as the golden files are kept. Throws std::runtime_error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace remanence::compat {

void write_compressed(const std::string& path, const std::vector<std::byte>& bytes);
std::vector<std::byte> read_compressed(const std::string& path);

inline constexpr std::size_t k_page_bytes = 4096;

/// Of a file with long holes: the pages that are not zeros, each behind its offset.
using file_pages = std::map<std::uint64_t, std::vector<std::byte>>;
void write_compressed(const std::string& path, const file_pages& pages);
file_pages read_compressed_pages(const std::string& path);

} // namespace remanence::compat
