// The problems of a heap's files, each listed once.
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
    std::uint64_t bytes = 0; // of the file, from the offset on; 0: not known
};

/// Two checks may find the same problem and describe it differently: for each place in a file, only the first
/// description counts.
class problem_list {
public:
    /// Adds a problem. Returns false, and does nothing, if its place is listed already; for a problem without a place,
    /// its message.
    bool add(const failure& why, std::uint64_t bytes = 0);
    [[nodiscard]] const std::vector<problem>& all() const { return all_; }

private:
    using place = std::pair<std::string, std::uint64_t>; // path and offset

    std::vector<problem> all_;
    std::map<place, std::uint64_t> ends_; // ends of the listed stretches; none lies within another
    std::set<std::string> messages_;      // of the problems without a place
};

} // namespace remanence::inspect
