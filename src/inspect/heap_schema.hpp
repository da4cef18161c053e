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

/// Where objects lie that are read: the memory of an open heap, or pages of a file.
struct heap_to_read {
    types::heap_bytes& bytes;
    const std::string& path;
    std::uint64_t base;
    std::uint64_t end; // of what may be read, from the base
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
    types::stored_schema stored = {};                      // where that comes from, without its bytes
    std::string description = {};                          // of the type, encoded, as the root has it
};

/// By name. errc::corrupt. O(roots and their types).
result<std::vector<root_with_schema>> roots_with_schema(const heap_to_read& heap);
result<std::vector<root_with_schema>> roots_with_schema(inspection& heap);

/// As text: what each type looks like.
std::string schema_text(const std::vector<root_with_schema>& roots);
/// As a header of C++, which declares the structs and enumerations.
std::string schema_header(const std::vector<root_with_schema>& roots, const std::string& path);

/// Hands the JSON of a part of a root to `sink`: "people[\"KNUTH\"][0].city". errc::not_found when there is no such part, errc::invalid_argument
/// for what is no path; errc::corrupt. O(elements of the containers on the path).
result<void> get_object(inspection& heap, std::string_view path, const std::function<void(std::string_view)>& sink);

/// What is done with what a dump cannot have: damaged objects, types of which the heap does not say what they consist of, pointers to what is not
/// known as one object, and bytes that a class leaves out and that may be an address.
struct dump_manner {
    /// Empty: it is refused, before the first byte is written. Else it is left out, and this function is told each time, in a sentence.
    std::function<void(std::string_view what, bool is_damage)> leave_out = {};
    /// True if all objects are gone through before the first byte is written, so that what cannot be read is found. Else a dump may end in the
    /// middle, which is for those who throw it away then.
    bool looks_first = true;
};

/// Hands the portable form of a root, or of all (`only` empty), to `sink` in pieces of lines, but for the last line: it says that
/// the heap was read as of one commit, which the caller knows later. Returns how many lines there are before it.
/// docs/reference/dump.md. errc::not_found: no such root; errc::not_supported, errc::corrupt. Time O(objects); memory O(pointers), and that of
/// an element.
result<std::uint64_t> dump_objects(const heap_to_read& heap, const std::string& only, const dump_manner& manner,
                                   const std::function<void(std::string_view)>& sink);

} // namespace remanence::inspect
