// Finds values that a conversion would lose: those of members that the newer class lacks. Visits the objects before
// they are converted, in the same way as the conversion.
#pragma once

#include "objects/conversion.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace remanence::objects {

/// True if an object is not zero, null or empty. In hidden bytes and serialised objects, every bit counts. O(object),
/// but visits only the first element of a container.
result<bool> has_value(object_source& source, object_place of);

class lost_values {
public:
    /// Both arguments must outlive this object. The rows to visit must match.
    lost_values(object_source& source, const row_matching& rows) : source_(source), rows_(rows) {}

    /// Searches an object. Does not follow pointers. O(object).
    result<void> look_at(object_place from, std::uint32_t to) { return visit(from, to, 0); }
    /// Returns a sentence for each member whose values would be lost: the member's name, the first object that has a
    /// value there, and how to allow the loss. `how` is such as "say .drop(NAME)", without the name.
    [[nodiscard]] std::vector<std::string> found(const std::string& how) const;

private:
    result<void> visit(object_place from, std::uint32_t to, unsigned depth);

    object_source& source_;
    const row_matching& rows_;
    std::vector<path_step> path_;
    std::map<std::string, std::string> found_; // key: "book.year"; value: path to the first object with a value there
};

} // namespace remanence::objects
