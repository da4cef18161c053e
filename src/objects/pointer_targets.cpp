#include "objects/pointer_targets.hpp"

#include <algorithm>
#include <cstddef>

namespace remanence::objects {

std::string refused_pointer(const types::type_description& schema, const named_pointee& to, const std::string& why) {
    const std::string owner = schema.name_of(to.owner);
    const std::string name = to.member.empty() ? "an element of " + owner : owner + '.' + std::string(to.member);
    return name + " leads to a " + schema.name_of(to.row) + ' ' + why +
           ", which a pointer does not follow. Set the pointer to null before; or, in C++, keep such objects in a "
           "container, "
           "which a function can fill: .migrate<Old, New>(...), with another name for the member";
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
