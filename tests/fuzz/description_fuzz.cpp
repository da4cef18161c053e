// Input: the length of the first description (2 bytes), and two descriptions of types. What decodes has a text, and differs from
// itself in nothing.
#include "mutator.hpp"
#include "types/type_description.hpp"
#include "types/type_difference.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace remanence;
using namespace remanence::fuzz;

namespace fuzzed {

struct address {
    string street, city;
    int zip;
};
struct person {
    string_pi name;
    address home;
    vector_pi<address> others;
    person* friends[2];
    btree_map<string, double> marks;
    hash_set<int> numbers;
    unsigned flags : 3;
};

} // namespace fuzzed

namespace {

constexpr std::size_t k_length_bytes = sizeof(std::uint16_t);

void require(bool holds) {
    if (!holds)
        std::abort();
}

} // namespace

const std::size_t fuzz::k_input_bytes_max = 8 * KiB;

std::size_t fuzz::mutate(std::span<std::uint8_t> room, std::size_t size, generator& random) {
    if (size <= k_length_bytes) { // a seed: a description and the same one
        const std::string& seed = detail::fingerprint_of<fuzzed::person>().description;
        fuzz::store(room, 0, static_cast<std::uint16_t>(seed.size()));
        std::memcpy(room.data() + k_length_bytes, seed.data(), seed.size());
        std::memcpy(room.data() + k_length_bytes + seed.size(), seed.data(), seed.size());
        return k_length_bytes + 2 * seed.size();
    }
    if (random.below(4) == 0)
        return mutate_blindly(room, size);
    room[k_length_bytes + random.below(size - k_length_bytes)] = static_cast<std::uint8_t>(random.below(256));
    return size;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < k_length_bytes)
        return 0;
    const std::string_view both(reinterpret_cast<const char*>(data) + k_length_bytes, size - k_length_bytes);
    const std::size_t length = std::min<std::size_t>(load<std::uint16_t>(std::span(data, size), 0), both.size());
    const auto first = types::type_description::decode(both.substr(0, length));
    const auto second = types::type_description::decode(both.substr(length));
    for (const auto& each : {first, second}) {
        if (!each)
            continue;
        (void)each->text();
        require(types::type_description::decode(each->encode())->rows == each->rows);
        require(!types::difference_between(*each, *each));
    }
    if (first && second) {
        const auto found = types::difference_between(*first, *second);
        require(!found || !found->what.empty());
    }
    return 0;
}
