// What differs between two states of a heap: bytes, blocks, roots, and parts of objects.
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

/// Where two states may differ, to which these lead from a third one: sorted, in whole words of 8 bytes, joined.
std::vector<heap_range> ranges_of(const history::delta& one, const history::delta& other);

/// Compares the two, which differ in these ranges alone. errc::corrupt. Throws std::bad_alloc. O(ranges, blocks, and what roots lead to).
result<version_difference> compare_versions(inspection& before, inspection& after,
                                            const std::vector<heap_range>& ranges);

struct root_with_schema;

/// The parts of a root's object that have no parts of their own, as JSON, by the path that leads to each. Pointers are not followed. The
/// root has a schema. errc::corrupt. O(object).
result<std::map<std::string, std::string>> parts_of_root(inspection& heap, const root_with_schema& root);

} // namespace remanence::inspect
