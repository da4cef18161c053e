// class_traits<T>: what the library cannot see of a class. The author of a container specialises nothing else. All that
// a heap, a container or `rem` must know of a type is derived from class_traits and from what the compiler shows.
// Depends on the standard library only.
#pragma once

#include <cstddef>

namespace remanence {

/// A list of types, in their order.
template <class... Ts>
struct type_list {
    /// How many types there are.
    static constexpr std::size_t k_size = sizeof...(Ts);
};

/// Describes a class that hides its members. Specialise it before the first use of the class, with any of these:
///
/// `using parts = type_list<…>;` Everything that an object consists of, in its own bytes or in memory that it owns. The
/// class may be stored if its parts may be, and if its memory comes from the heap (`allocator_type`).
///
/// `static constexpr bool k_is_position_independent = true;` The class holds no address, except in its parts, which are
/// examined in turn.
///
/// `static constexpr bool k_is_self_contained = true;` Its move constructor does not throw, and writes to the two
/// objects only. Our containers store such elements in their slots, and others in blocks of their own. So a change of
/// this value changes the layout of containers with such elements.
///
/// `static std::string layout();` (or a `std::string_view`) The name and the number of its layout, with a leading
/// space: " ring_buffer 1". A root that was stored with another layout is refused. With layout(), a fingerprint
/// contains the parts; without it, the arguments of the template.
///
/// `static void write(detail::structure_writer&);` Instead of parts and layout: writes what a fingerprint contains of
/// the class besides name, size and alignment.
///
/// `static detail::structure_result check(const T&, detail::block_survey&);` Returns the first fault in the object or
/// its elements; heap::verify() reports it. It must ask the survey about each link before it follows the link.
///
/// `struct shape { static constexpr detail::type_shape k_shape; };` How the class stores its elements, so that `rem`
/// reads them without the program. Not part of a fingerprint.
///
/// `static void fetch(const T&) noexcept;` Prefetches memory that the object owns. It must always be inlined.
///
/// `static constexpr bool k_is_plain_key = true;` A key in which check() finds no fault may be compared and hashed:
/// this reads only the key and what it owns.
///
/// The traits of the standard library's classes are in types/detail/known_classes.hpp. They also say why a class is
/// never stored (`k_why`), and that its parts lie in its own bytes (`k_composition`).
template <class T>
struct class_traits {};

} // namespace remanence
