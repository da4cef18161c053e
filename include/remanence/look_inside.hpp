// The objects of a heap without the program that has their types: by the schema that heaps store. Nobody is kept from the heap
// meanwhile, and nothing is changed. docs/guide/looking-inside.md shows it; `rem schema`, `rem get` and `rem dump` print what these
// functions return.
//
// Each function throws `error`: as inspect::look(), and errc::corrupt when an object is not as the schema says, with the
// place; errc::in_use when the heap was written to faster than it could be read. One thread; memory for the pages that are read.
#pragma once

#include <remanence/inspect.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace remanence::inspect {

enum class schema_form {
    text, ///< for people: each root, and the types that it consists of
    cpp,  ///< a header that declares them
};

/// What the roots' types consist of. A root whose type is not stored is listed without: a program of this release that
/// opens the root, and commits to the heap, stores it. O(types).
[[nodiscard]] std::string schema(const std::string& path, schema_form form = schema_form::text,
                                 const progress_callback& on_progress = {});

/// A part of a root as JSON. `object_path` begins with the root's name; `.member`, `[number]` and `["key"]` lead on, and follow
/// pointers, std::optional and std::variant: `people["KNUTH"][0].city`. What stands in brackets is a value of JSON, as a dump has it. Of a key of
/// a multimap it gives a list, be it of one element, and the next number one of it. errc::not_found, saying what there is; errc::invalid_argument for what is no path.
/// O(elements of the containers on the way).
[[nodiscard]] std::string get(const std::string& path, std::string_view object_path,
                              const progress_callback& on_progress = {});

/// Hands the portable form of the root of that name, or of all roots if it is empty, to `sink` in pieces of whole lines
/// (docs/reference/dump.md); it may throw. What went out cannot be taken back: it is whole only if it ends with the line that
/// says so. errc::not_found: no such root. What cannot be written so that it can be read again is refused before anything is written, and named:
/// errc::not_supported, as save() has it, and errc::corrupt. O(objects), which are gone through twice; memory also for each pointer, of which
/// there may be many.
void dump(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
          const progress_callback& on_progress = {});

/// The same of what is left: whatever dump() would refuse is left out, an element of a root or an object at a time, and `left_out` is told each
/// time, in a sentence. Pointers to what is left out are null. What is written can be loaded, but for classes that hide their members. errc::in_use:
/// the heap is open for writing; errc::corrupt: not even its roots can be read.
void salvage(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
             const std::function<void(std::string_view what, bool is_damage)>& left_out,
             const progress_callback& on_progress = {});

} // namespace remanence::inspect
