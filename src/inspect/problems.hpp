// The problems found in a heap's files, each listed once.
#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace remanence::inspect {

struct problem : failure {
    std::uint64_t bytes = 0; // length in the file, from the offset on; 0 if not known
};

/// A list of problems. Two checks may find the same problem and describe it differently, so only the first description
/// for each place in a file is listed.
class problem_list {
public:
    /// Adds a problem. Returns false, and does nothing, if its place is already listed; or, for a problem without a
    /// place, its message.
    bool add(const failure& why, std::uint64_t bytes = 0);
    [[nodiscard]] const std::vector<problem>& all() const { return all_; }

private:
    using place = std::pair<std::string, std::uint64_t>; // path and offset

    std::vector<problem> all_;
    std::map<place, std::uint64_t> ends_; // the end of each listed range; no range lies in another
    std::set<std::string> messages_;      // messages of the problems without a place
};

} // namespace remanence::inspect
