// What is wrong with a heap's files, each thing once.
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

/// What one check found, another may find again, and say it in other words: of each place in a file the first counts.
class problem_list {
public:
    /// False, and nothing done, when the place, or without one the message, is there already.
    bool add(const failure& why, std::uint64_t bytes = 0);
    [[nodiscard]] const std::vector<problem>& all() const { return all_; }

private:
    using place = std::pair<std::string, std::uint64_t>; // path and offset

    std::vector<problem> all_;
    std::map<place, std::uint64_t> ends_; // of the stretches told of; none lies within another
    std::set<std::string> messages_;      // of those without a place
};

} // namespace remanence::inspect
