// Compares two states of a heap: bytes, blocks, roots, and parts of objects.
#pragma once

#include "base/range.hpp"
#include "base/result.hpp"
#include "history/delta.hpp"
#include "inspect/inspection.hpp"

#include <remanence/versions.hpp>

#include <map>
#include <string>
#include <vector>

namespace remanence::inspect {

/// Returns the ranges in which two states may differ. `one` and `other` lead to these states from a third one. The
/// ranges are sorted and joined, and consist of whole words of 8 bytes.
std::vector<heap_range> ranges_of(const history::delta& one, const history::delta& other);

/// Compares two states that differ only in these ranges. errc::corrupt. Throws std::bad_alloc. O(ranges, blocks, and
/// objects to which roots lead).
result<version_difference> compare_versions(inspection& before, inspection& after,
                                            const std::vector<heap_range>& ranges);

struct root_with_schema;

/// Returns the smallest parts of a root's object: JSON by path. Does not follow pointers. Precondition: the root has a
/// schema. errc::corrupt. O(object).
result<std::map<std::string, std::string>> parts_of_root(inspection& heap, const root_with_schema& root);

} // namespace remanence::inspect
