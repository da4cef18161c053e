// Writes a heap as text, the portable form (docs/reference/dump.md), and reads it back. A dump carries objects between
// machines, standard libraries and releases of a program. `rem dump` and `rem load` do the same without the program.
// Depends on the standard library only.
#pragma once

#include <remanence/heap.hpp>
#include <remanence/types/detail/key_functions.hpp>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace remanence {

/// How load() converts a dump to the program's types.
struct load_options {
    /// Members whose values may be dropped because the program's classes no longer have them: "year" for any class, or
    /// "book.year". If another such member has a value somewhere in the dump, load() throws errc::type_mismatch.
    /// Default: none.
    std::vector<std::string> dropped = {};
};

namespace detail {

std::size_t load_roots(heap& into, const std::function<std::size_t(char*, std::size_t)>& read,
                       const std::vector<type_to_load>& types, const load_options& how = {});
std::function<std::size_t(char*, std::size_t)> reader_of(std::istream& from);

} // namespace detail

/// Writes the objects of one root, or of all roots if `root` is empty, in the portable form. Runs in a read section,
/// and writes what memory holds, uncommitted changes included.
///
/// Errors: errc::not_found when there is no such root. errc::not_supported, naming the place, before anything is
/// written, for what could not be read back: a root whose type was never committed; a union, or a class that hides its
/// members, with room for an address; a container of Boost; a pointer that may lead to several objects, or to a part of
/// one that no schema knows; bytes that REM_REFLECT leaves out and that may be an address; objects nested more than
/// 1,000 levels deep. errc::corrupt for an object that does not match its schema. errc::io when the stream fails; the
/// output is then incomplete. O(objects), and memory for each pointer.
void save(const heap& from, std::ostream& to, const std::string& root = {});
/// Passes the text to the function `to`, in pieces of whole lines, instead of a stream. The function may throw.
void save(const heap& from, const std::function<void(std::string_view)>& to, const std::string& root = {});

/// Returns a function for save() and inspect::dump() that converts the text to the binary form and passes that to `to`.
/// The binary form is CBOR, which takes fewer bytes and which programs in many languages read. load() reads either
/// form.
[[nodiscard]] std::function<void(std::string_view)> as_binary(std::function<void(std::string_view)> to);

/// Makes the roots of a dump in a heap, in one atomic commit (or as a part of the surrounding write section), and
/// returns their number.
///
/// A root whose type has the name of one of `Types` is made as the program defines that type, whatever platform or
/// release wrote the dump. Members are matched by name, in any order; numbers may become wider; a value may become a
/// std::optional, or another kind of container of like elements. There may be no new members, and a number may not
/// become a duration or a point in time. Roots of other types are made as the dump describes them, on a platform like
/// this one.
///
/// Containers whose comparator or hash is the program's own need their root's type among `Types`, so that load() can
/// call these functions. The functions must be stateless with a default constructor, and keys of hash containers must
/// hold no pointers. Sets and maps must be in the program's order already, with unchanged keys and a comparator of the
/// same name.
///
/// Load only dumps from sources that you trust, as with heaps: load() makes roots with the types that the dump states.
///
/// Errors, with the heap as before: errc::exists when it has a root with the name of one in the dump.
/// errc::invalid_argument, with line and path, for input that is no dump, or an incomplete or wrong one: texts that are
/// not UTF-8, unknown members, numbers out of range, duplicate keys, keys of sets and maps out of order, references
/// that lead nowhere. errc::type_mismatch when a type has changed in another way than is allowed above, or when values
/// would be lost that `how` does not name. errc::not_supported for roots that have a container with the program's own
/// comparator or hash and whose type is not among `Types`, for classes that do not state their members, and for objects
/// nested too deeply. errc::base_taken when the heap is mapped elsewhere. What write(), the stream and the program's
/// functions throw. O(objects); memory for the lines of a root, and for each element of a hash container if types have
/// pointers.
template <class... Types>
std::size_t load(heap& into, const std::function<std::size_t(char* to, std::size_t bytes)>& read,
                 const load_options& how = {}) {
    return detail::load_roots(into, read, {detail::type_to_load_of<Types>()...}, how);
}
/// Makes the roots of a dump that a stream holds.
template <class... Types>
std::size_t load(heap& into, std::istream& from, const load_options& how = {}) {
    return load<Types...>(into, detail::reader_of(from), how);
}

} // namespace remanence
