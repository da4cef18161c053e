#include "alloc/availability.hpp"

namespace remanence::alloc {

void availability_sum::add(std::uint64_t piece_bytes, std::uint64_t count) {
    for (std::uint32_t i = k_least; i != k_most && piece_bytes >> i != 0; ++i)
        served_[i] += (piece_bytes >> i << i) * count;
    bytes_ += piece_bytes * count;
}

double availability_sum::value() const {
    double sum = 0;
    int count = 0;
    for (std::uint32_t i = k_least; i != k_most && bytes_ >> i != 0; ++i, ++count)
        sum += static_cast<double>(served_[i]) / static_cast<double>(bytes_ >> i << i);
    return count == 0 ? 1 : sum / count;
}

} // namespace remanence::alloc
