// place_program HEAP [renamed]: one of several versions of a program; PLACE_MEMBERS are those of its only stored type. Stores a
// place, or prints the one that is there, or why it does not open it; `renamed` accepts renamed members, and commits.
#include <remanence/remanence.hpp>

#include <cstdio>
#include <string_view>

namespace maps {

struct place {
    PLACE_MEMBERS;
};

} // namespace maps

int main(int argc, char** argv) {
    namespace rem = remanence;
    if (argc < 2)
        return 2;
    const bool renamed = argc > 2 && std::string_view(argv[2]) == "renamed";
    try {
        rem::heap_options how;
        how.checks.accept_renamed_members = renamed;
        auto heap = rem::heap::open(argv[1], how);
        const auto& home = heap.root<maps::place>("home", maps::place{47.5, 8.75});
        if (renamed)
            heap.commit();
        const auto [first, second] = home;
        std::printf("%g %g\n", first, second);
        return 0;
    } catch (const rem::error& why) {
        std::printf("%s\n", why.what());
        return 1;
    }
}
