#include "mutator.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    using namespace remanence::fuzz;
    if (max_size < k_input_bytes_max)
        return size;
    generator random(seed);
    return mutate({data, k_input_bytes_max}, size, random);
}

std::size_t remanence::fuzz::mutate_blindly(std::span<std::uint8_t> room, std::size_t size) {
    return LLVMFuzzerMutate(room.data(), size, room.size());
}
