// ring_buffer: keeps the last five lines that it was given, over all runs.
#include "ring_buffer.hpp"

#include <exception>
#include <iostream>

namespace {

namespace rem = remanence;

constexpr std::size_t k_lines_max = 5;

void run(const char* file, int count, char* lines[]) {
    rem::heap heap = rem::heap::open(file);
    auto& last = heap.root<examples::ring_buffer<rem::string_pi>>("last");
    heap.write(rem::declared, [&] {
        for (int i = 0; i != count; ++i) {
            last.emplace_back(lines[i]);
            if (last.size() > k_lines_max)
                last.pop_front();
        }
    });
    for (const rem::string_pi& line : last)
        std::cout << line << '\n';
    heap.close();
}

} // namespace

int main(int count, char* words[]) {
    if (count < 2 || words[1][0] == '-') {
        std::cerr << "usage: ring_buffer FILE [LINE…]\n";
        return 2;
    }
    try {
        run(words[1], count - 2, words + 2);
        return 0;
    } catch (const std::exception& reason) {
        std::cerr << "ring_buffer: " << reason.what() << '\n';
        return 1;
    }
}
