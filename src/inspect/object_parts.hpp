// The parts of an object, each with the path that leads to it, as a person writes it: people["KNUTH"][0].city.
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

/// Structs and containers are visited before their parts.
using visit_part = std::function<result<void>(const std::string& path, object_place of, bool has_parts)>;
/// Visits all parts. Pointers are not followed. errc::corrupt; errc::not_supported if objects lie too deep; the errors
/// of `visit`. O(object).
result<void> for_each_part(object_reader& reader, const std::string& path, object_place of, const visit_part& visit);

/// Returns the path of the smallest part that contains each of these heap offsets. Leaves out places that lie in no
/// root, or whose root cannot be read. O(heap).
result<std::map<std::uint64_t, std::string>> names_of_places(const heap_to_read& heap,
                                                             const std::set<std::uint64_t>& places);
result<std::map<std::uint64_t, std::string>> names_of_places(inspection& heap, const std::set<std::uint64_t>& places);

} // namespace remanence::inspect
