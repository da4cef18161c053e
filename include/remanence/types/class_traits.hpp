// What the library cannot see of a class: class_traits<T>. It is the only thing that a container specialises. What a heap, a
// container or `rem` asks of a type is derived from it, and from what the compiler shows. Depends on the standard library only.
#pragma once

#include <cstddef>

namespace remanence {

/// Types in an order.
template <class... Ts>
struct type_list {
    static constexpr std::size_t k_size = sizeof...(Ts);
};

/// Specialise it for a class that hides its members, before the first use of the class. Each of these may be left out:
///
/// `using parts = type_list<…>;` All that an object consists of, in its own bytes or in memory that it owns. It may be stored if its
/// parts may be, and if its memory comes from the heap (`allocator_type`).
///
/// `static constexpr bool k_is_position_independent = true;` Besides its parts it holds no address. Its parts are asked in turn.
///
/// `static constexpr bool k_is_self_contained = true;` Its move constructor does not throw, and writes to the two objects only. Our
/// containers keep such elements in their slots, others in blocks of their own: so another answer is another layout of these.
///
/// `static std::string layout();` (or a `std::string_view`) The name and the number of its layout, with a space in front:
/// " ring_buffer 1". A root with another one is refused. With it, a fingerprint names the parts; without it, the arguments of the template.
///
/// `static void write(detail::structure_writer&);` Instead of both: what a fingerprint has of it besides name, size and alignment.
///
/// `static detail::structure_result check(const T&, detail::block_survey&);` The first fault that heap::verify() is to report, in
/// elements, too. It must not follow a link before the survey has been asked of it.
///
/// `struct shape { static constexpr detail::type_shape k_shape; };` How it keeps its elements, so that `rem` reads them without the
/// program. Not part of a fingerprint.
///
/// `static void fetch(const T&) noexcept;` Prefetches memory that the object owns. To be inlined always.
///
/// `static constexpr bool k_is_plain_key = true;` A key that check() finds sound can be compared and hashed: that reads the key and what
/// it owns.
///
/// Traits of the standard library's classes, which are in types/detail/known_classes.hpp, also say why a class is never stored (`k_why`),
/// and that its parts lie in its own bytes (`k_composition`).
template <class T>
struct class_traits {};

} // namespace remanence
