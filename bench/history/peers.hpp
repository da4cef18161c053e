// SQLite's session extension, and copies of whole files.
#pragma once

#include <cstdint>
#include <filesystem>

namespace bench {

void copy_durably(const std::filesystem::path& from, const std::filesystem::path& to);

[[nodiscard]] bool has_sqlite_session();
/// So many transactions change rows of `changed` bytes at random, of `bytes` in all; each stores its changeset, and the last ones are undone.
void measure_sqlite_session(const std::filesystem::path& file, std::uint64_t bytes, std::uint64_t changed,
                            std::uint64_t commits, std::uint64_t undos);

} // namespace bench
