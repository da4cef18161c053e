// The roots of an inspected heap with their schemas, and the output that `rem` makes of them.
#pragma once

#include "base/result.hpp"
#include "inspect/inspection.hpp"
#include "types/schema_table.hpp"
#include "types/type_description.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::inspect {

/// The memory from which objects are read: that of an open heap, or pages of a file.
struct heap_to_read {
    types::heap_bytes& bytes;
    const std::string& path;
    std::uint64_t base;
    std::uint64_t end; // number of readable bytes, counted from the base
    std::uint64_t version;
    const format::heap_header* header;    // null if the heap has no commit
    const std::uint64_t* moves = nullptr; // null: addresses stay valid; see object_reader
};
/// Makes an inspection readable as memory. errc::corrupt.
result<heap_to_read> to_read(inspection& heap);

struct root_with_schema {
    std::string name;
    std::string type;
    std::uint64_t object = 0; // heap offset
    bool position_independent = false;
    std::shared_ptr<const types::type_description> schema; // null if the heap does not store it
    types::stored_schema stored = {};                      // its place in the schema table; `encoded` is empty
    std::string description = {};                          // the encoded type, from the root's entry
};

/// Returns the roots, sorted by name. errc::corrupt. O(roots and their types).
result<std::vector<root_with_schema>> roots_with_schema(const heap_to_read& heap);
result<std::vector<root_with_schema>> roots_with_schema(inspection& heap);

/// Returns the structure of each type as text.
std::string schema_text(const std::vector<root_with_schema>& roots);
/// Returns a C++ header that declares the structs and enumerations.
std::string schema_header(const std::vector<root_with_schema>& roots, const std::string& path);

/// Passes a part of a root, as JSON, to `sink`. A path is like "people[\"KNUTH\"][0].city". errc::not_found if there is
/// no such part, errc::invalid_argument if the path is malformed; errc::corrupt. O(elements of the containers on the
/// path).
result<void> get_object(inspection& heap, std::string_view path, const std::function<void(std::string_view)>& sink);

/// How a dump treats what it cannot write: damaged objects, types whose structure the heap does not store, pointers to
/// something that is not known to be one object, and bytes that a class leaves out and that may be an address.
struct dump_manner {
    /// If empty, the dump is refused before the first byte is written. Otherwise the dump omits what it cannot write,
    /// and calls this function with a sentence about each omission.
    std::function<void(std::string_view what, bool is_damage)> leave_out = {};
    /// If true, all objects are read before the first byte is written, so that unreadable ones are found in time. If
    /// false, the dump may fail halfway; this is for callers that then discard the output.
    bool looks_first = true;
};

/// Passes the portable form (docs/reference/dump.md) of one root, or of all roots if `only` is empty, to `sink` in
/// pieces of whole lines. Omits the last line, because it names the commit that was read, which the caller learns
/// later. Returns the number of lines. errc::not_found: no such root; errc::not_supported, errc::corrupt. Time
/// O(objects); memory O(pointers), and that of one element.
result<std::uint64_t> dump_objects(const heap_to_read& heap, const std::string& only, const dump_manner& manner,
                                   const std::function<void(std::string_view)>& sink);

} // namespace remanence::inspect
