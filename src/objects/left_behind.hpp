// Finds roots that a migration would leave with objects of classes that have changed.
#pragma once

#include "base/result.hpp"
#include "objects/migrated_classes.hpp"
#include "txn/heap_memory.hpp"
#include "types/root_directory.hpp"

#include <functional>
#include <string>

namespace remanence::objects {

/// Returns a sentence about the first root that leads to objects of a class that changes, and is not migrated; empty if
/// there is none. Where a class hides its members, or a root has no schema, each word that may be a vptr of such a class
/// counts as an object, also in roots that are migrated. errc::corrupt. O(objects of roots that may lead to objects with
/// virtual functions).
result<std::string> root_left_behind(txn::heap_memory& memory, const migrated_classes& classes,
                                     const std::function<bool(const types::root_view&)>& is_migrated);

} // namespace remanence::objects
