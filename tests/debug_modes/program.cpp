// Uses what crosses the border between a program and the library: fingerprints, functions, lists of roots. Prints how often
// it has been run.
#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/string_pi.hpp>
#include <remanence/heap.hpp>

#include <cstdint>
#include <iostream>

struct visit {
    std::uint64_t count = 0;
};

int main(int count, char** words) {
    if (count != 2)
        return 1;
    remanence::heap heap = remanence::heap::open(words[1], {.on_progress = [](const remanence::progress&) {}});
    auto& visits = heap.root<remanence::btree_map<remanence::string_pi, visit>>("visits");
    heap.write([&] { ++visits["here"].count; });
    heap.checkpoint();
    if (heap.roots().size() != 1 || !heap.verify().clean() || !heap.check_pointers().clean())
        return 2;
    std::cout << visits.at("here").count << '\n';
    heap.close();
    return 0;
}
