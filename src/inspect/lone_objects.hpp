// Finds out which targets of pointers are whole objects. A raw pointer tells neither how many objects it leads to, nor
// whether its target is a base of a larger object; the size of the block does.
#pragma once

#include "base/result.hpp"
#include "inspect/object_reader.hpp"

#include <span>
#include <string_view>

namespace remanence::inspect {

/// The end of a message about a pointer to something that is not one object; it follows "leads to an int ".
inline constexpr std::string_view k_not_one_object =
    "that is not known as one object (it may be one of several, the base of a larger one, a part of a text, or behind "
    "the last element of a container)";

class lone_objects {
public:
    /// `objects` must outlive this object.
    explicit lone_objects(object_reader& objects) : objects_(objects) {}

    /// True if a block begins at the object, and has the size of a block for one such object. errc::corrupt. O(log of
    /// the block's size).
    result<bool> is_alone(object_place of);
    /// Returns the bytes of the block behind the object, if a second object would fit there; otherwise none.
    /// Precondition: is_alone(). errc::corrupt.
    result<std::span<const std::byte>> room_behind(object_place of);

private:
    object_reader& objects_;
};

} // namespace remanence::inspect
