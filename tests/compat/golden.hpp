// The files of a heap, compressed as the golden files are kept. Throws std::runtime_error.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace remanence::compat {

void write_compressed(const std::string& path, const std::vector<std::byte>& bytes);
std::vector<std::byte> read_compressed(const std::string& path);

} // namespace remanence::compat
