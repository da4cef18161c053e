#include "measured.hpp"

#include <boost/container/map.hpp>

namespace containers {

void add_boost_map(std::vector<system>& all) {
    all.push_back({"boost::container::map", true, true,
                   measure_outside<boost::container::map<number, number>, boost::container::map<std::string, number>>});
}

} // namespace containers
