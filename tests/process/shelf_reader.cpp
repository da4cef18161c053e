// shelf_reader HEAP STAGE: another program than shelf_writer, with code of its own before what they share. Opens the
// heap that shelf_writer made, checks all that is in it, changes it, and ends without closing when the stage is 3.
// Prints where its code and the heap are.
#include "shelf.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>

namespace {

/// Something that only the reader does: its code is not the writer's.
std::size_t bytes_in_roots(const remanence::heap& heap) {
    const auto roots = heap.roots();
    return std::accumulate(roots.begin(), roots.end(), std::size_t{0},
                           [](std::size_t sum, const remanence::root_info& root) {
                               return sum + static_cast<std::size_t>(root.bytes) + root.name.size();
                           });
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3)
        return 2;
    const int stage = std::atoi(argv[2]);
    try {
        auto heap = remanence::heap::open_existing(argv[1]);
        if (bytes_in_roots(heap) == 0 || !shelves::check_and_advance_all(heap, stage))
            return 1;
        const auto report = heap.verify();
        for (const auto& problem : report.problems)
            std::cerr << "verify: " << problem.what << '\n';
        if (!report.clean())
            return 1;
        std::printf("%ju %ju\n", reinterpret_cast<std::uintmax_t>(&shelves::check_and_advance_all),
                    reinterpret_cast<std::uintmax_t>(heap.base()));
        std::fflush(stdout);
        if (stage == 3)
            std::_Exit(0); // as a crash would
        return 0;
    } catch (const std::exception& why) {
        std::fprintf(stderr, "shelf_reader: %s\n", why.what());
        return 1;
    }
}
