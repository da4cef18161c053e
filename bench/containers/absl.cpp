#include "measured.hpp"

#include <absl/container/btree_map.h>
#include <absl/container/flat_hash_map.h>

namespace containers {

void add_absl(std::vector<system>& all) {
    all.push_back({"absl::btree_map", true, true,
                   measure_outside<absl::btree_map<number, number>, absl::btree_map<std::string, number>>});
    all.push_back({"absl::flat_hash_map", false, true,
                   measure_outside<absl::flat_hash_map<number, number>, absl::flat_hash_map<std::string, number>>});
}

} // namespace containers
