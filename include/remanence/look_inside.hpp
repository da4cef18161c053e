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
/// pointers, std::optional and std::variant: `people["KNUTH"][0].city`. Of a key that has several elements it gives a list of
/// them, and the next number one of it. errc::not_found, saying what there is; errc::invalid_argument for what is no path.
/// O(elements of the containers on the way).
[[nodiscard]] std::string get(const std::string& path, std::string_view object_path,
                              const progress_callback& on_progress = {});

/// Hands the portable form of the root of that name, or of all roots if it is empty, to `sink` in pieces of whole lines
/// (docs/reference/dump.md); it may throw. What went out cannot be taken back: it is whole only if it ends with the line that
/// says so. errc::not_found: no such root; errc::not_supported, before anything is written, for pointers that may lead to several
/// objects, and for what lies too deep. O(objects); memory also for each pointer, of which there may be many.
void dump(const std::string& path, const std::string& root, const std::function<void(std::string_view)>& sink,
          const progress_callback& on_progress = {});

} // namespace remanence::inspect
