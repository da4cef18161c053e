// Tells which shapes are numbers.
#pragma once

#include <remanence/types/detail/shape.hpp>

namespace remanence::types {

/// True if numbers of this shape may be negative.
constexpr bool is_signed(detail::shape_kind shape) {
    return shape == detail::shape_kind::signed_number || shape == detail::shape_kind::character;
}

/// True if the shape is a number without parts. An enumeration is one.
constexpr bool is_number(detail::shape_kind shape) {
    switch (shape) {
    case detail::shape_kind::signed_number:
    case detail::shape_kind::unsigned_number:
    case detail::shape_kind::floating:
    case detail::shape_kind::boolean:
    case detail::shape_kind::character:
    case detail::shape_kind::enumeration:
        return true;
    default:
        return false;
    }
}

} // namespace remanence::types
