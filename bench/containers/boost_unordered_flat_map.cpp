#include "measured.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

namespace containers {

void add_boost_unordered_flat_map(std::vector<system>& all) {
    all.push_back(
        {"boost::unordered_flat_map", false, true,
         measure_outside<boost::unordered_flat_map<number, number>, boost::unordered_flat_map<std::string, number>>});
}

} // namespace containers
