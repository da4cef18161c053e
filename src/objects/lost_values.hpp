// Finds values that a conversion would lose: those of members that the newer class does not have. Walks through the
// objects before they are converted, as the conversion will.
#pragma once

#include "objects/conversion.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace remanence::objects {

/// True if an object is not zero, null or empty. In hidden bytes and serialised objects every bit counts. O(object),
/// but visits only the first element of a container.
result<bool> has_value(object_source& source, object_place of);

class lost_values {
public:
    /// Both must outlive this object. The rows to visit must match.
    lost_values(object_source& source, const row_matching& rows) : source_(source), rows_(rows) {}

    /// Pointers are not followed. O(object).
    result<void> look_at(object_place from, std::uint32_t to) { return visit(from, to, 0); }
    /// Returns a sentence for each member whose values would be lost: its name, the first object that has a value, and
    /// how to drop it. `how`: such as "say .drop(NAME)", without the name.
    [[nodiscard]] std::vector<std::string> found(const std::string& how) const;

private:
    result<void> visit(object_place from, std::uint32_t to, unsigned depth);

    object_source& source_;
    const row_matching& rows_;
    std::vector<path_step> path_;
    std::map<std::string, std::string> found_; // "book.year", and the path to the first object that has a value
};

} // namespace remanence::objects
