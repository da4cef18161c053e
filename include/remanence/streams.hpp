// A heap as a stream of text, the portable form (docs/reference/dump.md), and back. It carries objects between machines, standard
// libraries and releases of a program; `rem dump` and `rem load` do the same without the program. Depends on the standard library only.
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

/// How a dump becomes objects of the program's types.
struct load_options {
    /// Members that the program's classes do not have any more, and whose values may go: "year" of any class, or "book.year".
    /// Any other one that has a value, somewhere in the dump, is errc::type_mismatch.
    std::vector<std::string> dropped = {};
};

namespace detail {

std::size_t load_roots(heap& into, const std::function<std::size_t(char*, std::size_t)>& read,
                       const std::vector<type_to_load>& types, const load_options& how = {});
std::function<std::size_t(char*, std::size_t)> reader_of(std::istream& from);

} // namespace detail

/// Writes the objects of a heap, of all roots or of one, as the portable form. It has what memory holds, in a read section: what is
/// not committed, too. Throws errc::not_found: no such root; and before anything is written errc::not_supported, naming what cannot be
/// written so that it can be read again: a root whose type was never committed; a union, or a class that hides its members, if it has
/// room for an address; a container of Boost; a pointer that may lead to several objects, or to a part of one that no schema knows; bytes that REM_REFLECT leaves out, and that may be an
/// address; objects that lie more than 1,000 levels deep in each other; errc::corrupt for an object that is not as its schema says;
/// errc::io when the stream does not take it: what went out is not whole then. O(objects), and memory for each pointer.
void save(const heap& from, std::ostream& to, const std::string& root = {});
/// The same by a function that takes pieces of whole lines, and may throw.
void save(const heap& from, const std::function<void(std::string_view)>& to, const std::string& root = {});

/// A function for save() and inspect::dump() that hands on the same in the binary form: CBOR, which takes fewer bytes and which
/// programs of many languages read. load() takes either form.
[[nodiscard]] std::function<void(std::string_view)> as_binary(std::function<void(std::string_view)> to);

/// Makes the roots of a dump in a heap, in one atomic commit (within a write section in that), as if a program had made them.
/// Returns how many there were. A root whose type has the name of one of `Types` is made as the program has that type, whatever platform
/// or release the dump is of: members are matched by their names, in any order; numbers may be wider; a value may become std::optional, or
/// go to another kind of container of like elements. A member may not be new, nor a number
/// become a duration or a point in time. All others are made as the dump
/// says they were, on a platform like this one.
///
/// Throws, and the heap is as before: errc::exists when it has such a root already; errc::invalid_argument, with the line and the way to
/// the object, for what is no dump, or not whole: texts that are not UTF-8, unknown members, numbers out of range, keys
/// twice, keys of sets and maps that are not in order, references that lead nowhere; errc::type_mismatch when a type has changed by more
/// than that, or would lose values that `how` does not name; errc::not_supported for containers whose comparator or hash is the program's own, unless the root's type is one of `Types`:
/// then these functions are called. For these they must have no state and a default constructor, and keys of hash containers no pointers;
/// sets and maps must be in the program's order already, with unchanged keys and a comparator of the same name, else errc::type_mismatch.
/// errc::not_supported also for classes that do not say their members, and for what lies too deep; errc::base_taken when the heap is mapped
/// elsewhere; what write() throws. What the stream, and the program's functions throw, it throws, too. A dump is trusted as a heap is:
/// programs rely on what it says of its types. O(objects); memory for the lines of a root, and for each element of a hash container if
/// types have pointers.
template <class... Types>
std::size_t load(heap& into, const std::function<std::size_t(char* to, std::size_t bytes)>& read,
                 const load_options& how = {}) {
    return detail::load_roots(into, read, {detail::type_to_load_of<Types>()...}, how);
}
template <class... Types>
std::size_t load(heap& into, std::istream& from, const load_options& how = {}) {
    return load<Types...>(into, detail::reader_of(from), how);
}

} // namespace remanence
