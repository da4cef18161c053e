// Decides which pointers can be updated when objects are converted: those whose target is one whole object.
#pragma once

#include "objects/shared_objects.hpp"

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

namespace remanence::objects {

/// Returns the sentence "book.next leads to …" with the reason `why`, and advice.
std::string refused_pointer(const types::type_description& schema, const named_pointee& to, const std::string& why);

/// Targets of pointers that lie in objects which are changed in place.
class changed_places {
public:
    void watch(const std::vector<named_pointee>& all);
    void change(std::uint64_t at, std::uint64_t bytes) { mark(at, bytes, true); }
    void keep(std::uint64_t at, std::uint64_t bytes) { mark(at, bytes, false); }
    /// True if the place lies in a changed object, and not in a part of it that stayed as it was.
    [[nodiscard]] bool have(std::uint64_t at) const { return changed_.contains(at); }

private:
    void mark(std::uint64_t at, std::uint64_t bytes, bool is_changed);

    std::vector<std::uint64_t> places_; // sorted
    std::unordered_set<std::uint64_t> changed_;
};

} // namespace remanence::objects
