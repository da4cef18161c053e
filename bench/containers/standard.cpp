// The standard library's.
#include "measured.hpp"

#include <functional>
#include <map>
#include <unordered_map>

namespace containers {

void add_standard(std::vector<system>& all) {
    all.push_back({"std::map", true, true,
                   measure_outside<std::map<number, number, std::less<>>, std::map<std::string, number, std::less<>>>});
    all.push_back({"std::unordered_map", false, true,
                   measure_outside<std::unordered_map<number, number>, std::unordered_map<std::string, number>>});
}

} // namespace containers
