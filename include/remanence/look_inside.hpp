/// \file
/// Reads the objects of a heap without the program that has their types, by the schema that heaps store. Changes
/// nothing and keeps no process from the heap. docs/guide/looking-inside.md shows it; `rem schema`, `rem get` and `rem
/// dump` print what these functions return.
///
/// Each call uses one thread, and memory for the pages that it reads. Errors of all: those of inspect::look();
/// errc::corrupt, with the place, when an object does not match the schema; errc::in_use when the heap was written to
/// faster than it could be read.
#pragma once

#include <remanence/inspect.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace remanence::inspect {

/// How schema() shows types.
enum class schema_form {
    text, ///< for people: each root, and the types that it consists of
    cpp,  ///< a C++ header that declares them
};

/// Returns the types that the roots consist of. A root whose type is not stored is listed without; a program of this
/// release stores it when it opens the root and commits to the heap. O(types).
[[nodiscard]] std::string schema(const std::string& path, schema_form form = schema_form::text,
                                 const progress_callback& on_progress = {});

/// Returns a part of a root as JSON. `object_path` begins with the root's name; `.member`, `[number]` and `["key"]`
/// lead on. They follow pointers, std::optional and std::variant: `people["KNUTH"][0].city`. Brackets hold a JSON
/// value, as a dump has it. The key of a multimap gives a list, even for one element; the next number selects from it.
/// Errors: errc::not_found, which says what there is; errc::invalid_argument when it is no path. O(elements of the
/// containers on the way).
[[nodiscard]] std::string get(const std::string& path, std::string_view object_path,
                              const progress_callback& on_progress = {});

/// Passes one root, or all roots if `root` is empty, to `sink` in the portable form (docs/reference/dump.md), in pieces
/// of whole lines. `sink` may throw. The output is complete only if it ends with the line that says so. Errors:
/// errc::not_found when there is no such root; before anything is passed, errc::not_supported, as save() has it, and
/// errc::corrupt, naming what could not be read back. O(objects), which are read twice; memory also for each pointer.
void dump(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
          const progress_callback& on_progress = {});

/// Passes what is left of a damaged heap, as dump() does, but leaves out what dump() would refuse: an element of a root
/// or an object at a time. `left_out` is told each time, in a sentence. Pointers to what is left out become null.
/// load() reads the output, except for classes that hide their members. Errors: errc::in_use when the heap is open for
/// writing; errc::corrupt when not even its roots can be read.
void salvage(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
             const std::function<void(std::string_view what, bool is_damage)>& left_out,
             const progress_callback& on_progress = {});

} // namespace remanence::inspect
