/// \file
/// Reads the objects of a heap without the program that has their types, by the schema that the heap stores. Changes
/// nothing, and prevents no process from using the heap. docs/guide/looking-inside.md shows it; `rem schema`, `rem get`
/// and `rem dump` print what these functions return.
///
/// Each call uses one thread, and memory for the pages that it reads. Errors of all: those of inspect::look();
/// errc::corrupt, with the place, when an object does not match the schema; errc::in_use when the heap was written to
/// faster than it could be read.
#pragma once

#include <remanence/heap_reports.hpp>
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

/// Returns the types that the roots consist of. A root whose type is not stored is listed without its type; a program
/// of this release stores the type when it finds the root and commits. O(types).
[[nodiscard]] std::string schema(const std::string& path, schema_form form = schema_form::text,
                                 const progress_callback& on_progress = {});

/// Returns a part of a root as JSON. `object_path` begins with the root's name; `.member`, `[number]` and `["key"]`
/// follow: `people["KNUTH"][0].city`. Each of these parts of the path also follows pointers, and enters std::optional
/// and std::variant. Brackets hold a JSON value, as in a dump. The key of a multimap gives a list, even for one
/// element; the next number selects from the list. Errors: errc::not_found, with a message that says what exists;
/// errc::invalid_argument when `object_path` is no path. O(elements of the containers on the way).
[[nodiscard]] std::string get(const std::string& path, std::string_view object_path,
                              const progress_callback& on_progress = {});

/// Passes one root, or all roots if `root` is empty, to `sink` in the portable form (docs/reference/dump.md), in pieces
/// of whole lines. `sink` may throw. The output is complete only if it ends with the line that says so. Errors:
/// errc::not_found when there is no such root; before anything is passed, errc::not_supported, as save() throws it, and
/// errc::corrupt, naming what could not be read back. O(objects), each of which is read twice; also uses memory for
/// each pointer.
void dump(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
          const progress_callback& on_progress = {});

/// Passes the intact objects of a damaged heap to `sink`, as dump() does, and omits what dump() would refuse: single
/// elements of a root, or single objects. `left_out` is called with a sentence about each omission. Pointers to omitted
/// objects become null. load() reads the output, except for classes that hide their members. Errors: errc::in_use when
/// the heap is open for writing; errc::corrupt when not even its roots can be read.
void salvage(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
             const std::function<void(std::string_view what, bool is_damage)>& left_out,
             const progress_callback& on_progress = {});

/// Returns the blocks of the last commit that no root reaches, by size, as heap::leaks() finds them. Errors:
/// errc::corrupt when the heap is damaged. O(heap).
[[nodiscard]] leak_report leaks(const std::string& path, const progress_callback& on_progress = {});

} // namespace remanence::inspect
