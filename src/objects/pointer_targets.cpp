#include "objects/pointer_targets.hpp"

#include <algorithm>
#include <cstddef>

namespace remanence::objects {

std::string refused_pointer(const types::type_description& schema, const named_pointee& to, const std::string& why) {
    const std::string owner = schema.name_of(to.owner);
    const std::string name = to.member.empty() ? "an element of " + owner : owner + '.' + std::string(to.member);
    return name + " leads to a " + schema.name_of(to.row) + ' ' + why +
           ", which a pointer does not follow. Keep such objects in a container, which a function can fill: "
           ".migrate<Old, New>(...), with another name for the member; or set the pointer to null before";
}

result<bool> lone_objects::is_alone(object_place of) {
    const auto block = memory_.block_of(memory_.base() + of.at);
    if (!block || block->start != memory_.base() + of.at)
        return false;
    const auto [known, is_new] = bytes_.try_emplace(of.row, 0);
    if (is_new) {
        auto one = builder_.allocate(std::max<std::uint64_t>(objects_.reader().size_of(of.row), 1),
                                     alignment_of(objects_.schema(), of.row));
        if (!one)
            return one.error();
        known->second = memory_.block_of(memory_.base() + *one)->bytes;
        REM_TRY(memory_.deallocate(memory_.base() + *one));
    }
    return block->bytes == known->second;
}

std::uint64_t lone_objects::room_behind(object_place of) const {
    const std::uint64_t bytes = objects_.reader().size_of(of.row);
    const std::uint64_t room = memory_.block_of(memory_.base() + of.at)->bytes - bytes;
    return room >= bytes ? room : 0;
}

bool lone_objects::has_something_behind(object_place of) const {
    const std::byte* const begin = memory_.base() + of.at + objects_.reader().size_of(of.row);
    return std::any_of(begin, begin + room_behind(of), [](std::byte each) { return each != std::byte{0}; });
}

void changed_places::watch(const std::vector<named_pointee>& all) {
    for (const named_pointee& each : all)
        places_.push_back(each.at);
    std::sort(places_.begin(), places_.end());
}

void changed_places::mark(std::uint64_t at, std::uint64_t bytes, bool is_changed) {
    for (auto each = std::lower_bound(places_.begin(), places_.end(), at); each != places_.end() && *each < at + bytes;
         ++each) {
        if (is_changed)
            changed_.insert(*each);
        else
            changed_.erase(*each);
    }
}

} // namespace remanence::objects
