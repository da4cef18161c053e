// The parts of an object, each with its path in the form that users write: people["KNUTH"][0].city.
#pragma once

#include "base/result.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/inspection.hpp"
#include "inspect/object_reader.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace remanence::inspect {

/// A struct or container is visited before its parts.
using visit_part = std::function<result<void>(const std::string& path, object_place of, bool has_parts)>;
/// Visits all parts of an object. Does not follow pointers. errc::corrupt; errc::not_supported if objects are nested
/// too deeply; the errors of `visit`. O(object).
result<void> for_each_part(object_reader& reader, const std::string& path, object_place of, const visit_part& visit);

/// Returns, for each of these heap offsets, the path of the smallest part that contains it. Omits places that lie in no
/// root, or whose root cannot be read. O(heap).
result<std::map<std::uint64_t, std::string>> names_of_places(const heap_to_read& heap,
                                                             const std::set<std::uint64_t>& places);
result<std::map<std::uint64_t, std::string>> names_of_places(inspection& heap, const std::set<std::uint64_t>& places);

} // namespace remanence::inspect
