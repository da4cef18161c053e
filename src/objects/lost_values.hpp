// Values that a conversion would lose: those of members that the newer class does not have. Objects are gone through before they are
// converted, as the conversion will go.
#pragma once

#include "objects/conversion.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace remanence::objects {

/// True if an object is something else than zero, null and empty. Of hidden bytes and what is serialised each bit counts. O(object), but of
/// containers only the first element is asked for.
result<bool> has_value(object_source& source, object_place of);

class lost_values {
public:
    /// Both must outlive it. What is looked at must match.
    lost_values(object_source& source, const row_matching& rows) : source_(source), rows_(rows) {}

    /// Pointers are not followed. O(object).
    result<void> look_at(object_place from, std::uint32_t to) { return visit(from, to, 0); }
    /// Of each member with values that would be lost its name, the first object that has one, and how it is dropped ("say .drop(NAME)", without
    /// the name), as a sentence.
    [[nodiscard]] std::vector<std::string> found(const std::string& how) const;

private:
    result<void> visit(object_place from, std::uint32_t to, unsigned depth);

    object_source& source_;
    const row_matching& rows_;
    std::vector<path_step> path_;
    std::map<std::string, std::string> found_; // "book.year", and the path to the first that has one
};

} // namespace remanence::objects
