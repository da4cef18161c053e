// The roots of an inspected heap, each with its schema, and what `rem` prints of it.
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

/// The memory that objects are read from: that of an open heap, or pages of a file.
struct heap_to_read {
    types::heap_bytes& bytes;
    const std::string& path;
    std::uint64_t base;
    std::uint64_t end; // the readable bytes end here, counted from the base
    std::uint64_t version;
    const format::heap_header* header; // null: a heap without any commit
};
/// errc::corrupt.
result<heap_to_read> to_read(inspection& heap);

struct root_with_schema {
    std::string name;
    std::string type;
    std::uint64_t object = 0; // heap offset
    bool position_independent = false;
    std::shared_ptr<const types::type_description> schema; // null: the heap does not have it
    types::stored_schema stored = {};                      // its place in the schema table, without its bytes
    std::string description = {};                          // of the type, encoded, as in the root's entry
};

/// Returns the roots, sorted by name. errc::corrupt. O(roots and their types).
result<std::vector<root_with_schema>> roots_with_schema(const heap_to_read& heap);
result<std::vector<root_with_schema>> roots_with_schema(inspection& heap);

/// Returns the structure of each type as text.
std::string schema_text(const std::vector<root_with_schema>& roots);
/// Returns a C++ header that declares the structs and enumerations.
std::string schema_header(const std::vector<root_with_schema>& roots, const std::string& path);

/// Passes the JSON of a part of a root to `sink`. The path looks like "people[\"KNUTH\"][0].city". errc::not_found if
/// there is no such part, errc::invalid_argument if the path is malformed; errc::corrupt. O(elements of the containers
/// on the path).
result<void> get_object(inspection& heap, std::string_view path, const std::function<void(std::string_view)>& sink);

/// What a dump does with parts that it cannot write: damaged objects, types whose structure the heap does not know,
/// pointers to something that is not known to be one object, and bytes that a class leaves out and that may be an
/// address.
struct dump_manner {
    /// Empty: the dump is refused before the first byte is written. Otherwise such a part is left out, and this
    /// function gets a sentence about each.
    std::function<void(std::string_view what, bool is_damage)> leave_out = {};
    /// True: all objects are read before the first byte is written, so that unreadable ones are found in time. False: a
    /// dump may fail in the middle; this is for callers that then discard the output.
    bool looks_first = true;
};

/// Passes the portable form of a root, or of all roots (`only` empty), to `sink` in pieces of whole lines. It omits the
/// last line, which names the commit that was read: the caller knows that later. Returns the number of lines written.
/// docs/reference/dump.md. errc::not_found: no such root; errc::not_supported, errc::corrupt. Time O(objects); memory
/// O(pointers), and that of one element.
result<std::uint64_t> dump_objects(const heap_to_read& heap, const std::string& only, const dump_manner& manner,
                                   const std::function<void(std::string_view)>& sink);

} // namespace remanence::inspect
