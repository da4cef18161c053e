// Taiyen's matrix: a step that changes all of it, held by its bytes or as a call.
#pragma once

#include <cstdint>
#include <filesystem>

namespace bench {

/// Inverts a matrix of about 1 MB, and undoes that.
void measure_inversion(const std::filesystem::path& file, bool by_call);
/// Reflects the rows of a matrix of about 64 MB, which is its own inverse but for rounding, and undoes that.
void measure_reflection(const std::filesystem::path& file, bool by_call);

} // namespace bench
