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

/// Returns the ranges in which two states may differ, if these deltas lead to them from a third state. Sorted, in whole
/// words of 8 bytes, joined.
std::vector<heap_range> ranges_of(const history::delta& one, const history::delta& other);

/// Compares two states that differ in these ranges only. errc::corrupt. Throws std::bad_alloc. O(ranges, blocks, and
/// objects that roots lead to).
result<version_difference> compare_versions(inspection& before, inspection& after,
                                            const std::vector<heap_range>& ranges);

struct root_with_schema;

/// Returns the smallest parts of a root's object as JSON, by their paths. Pointers are not followed. Precondition: the
/// root has a schema. errc::corrupt. O(object).
result<std::map<std::string, std::string>> parts_of_root(inspection& heap, const root_with_schema& root);

} // namespace remanence::inspect
