// shelf_writer HEAP STAGE: the program that creates the heap (stage 0), and comes back after shelf_reader (stage 2).
// Prints where its code and the heap are.
#include "shelf.hpp"

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    const int stage = std::atoi(argv[2]);
    try {
        auto heap = stage == 0 ? remanence::heap::create(argv[1]) : remanence::heap::open_existing(argv[1]);
        if (!shelves::check_and_advance_all(heap, stage))
            return 1;
        std::cout << reinterpret_cast<std::uintptr_t>(&shelves::check_and_advance_all) << ' '
                  << reinterpret_cast<std::uintptr_t>(heap.base()) << '\n';
        heap.close();
        return 0;
    } catch (const std::exception& why) {
        std::cerr << "shelf_writer: " << why.what() << '\n';
        return 1;
    }
}
