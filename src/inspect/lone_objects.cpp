#include "inspect/lone_objects.hpp"

#include <algorithm>

namespace remanence::inspect {

result<bool> lone_objects::is_alone(object_place of) {
    auto block = objects_.heap().block_around(of.at);
    if (!block)
        return block.error();
    const std::uint64_t bytes = std::max<std::uint64_t>(objects_.size_of(of.row), 1);
    return *block && (*block)->offset == of.at &&
           (*block)->bytes == objects_.heap().block_bytes_for(bytes, alignment_of(objects_.schema(), of.row));
}

result<std::span<const std::byte>> lone_objects::room_behind(object_place of) {
    auto block = objects_.heap().block_around(of.at);
    if (!block)
        return block.error();
    const std::uint64_t bytes = objects_.size_of(of.row);
    const std::uint64_t room = (*block)->bytes - bytes;
    if (room < bytes)
        return std::span<const std::byte>();
    auto behind = objects_.bytes(of.at + bytes, room);
    if (!behind)
        return behind.error();
    return std::span(*behind, room);
}

} // namespace remanence::inspect
