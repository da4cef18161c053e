// caesar: the first program of the persistent storage pool for Ada, again. A list of characters stays in a file; each
// run shifts every character by three and prints the list. So the runs' outputs are Ghfhpehu#43wk#4;48,
// Jkikshkx&76zn&7>7;, and so on, until the text is back after 95 runs.
#include <remanence/remanence.hpp>

#include <exception>
#include <iostream>
#include <string_view>

namespace {

namespace rem = remanence;

constexpr std::string_view k_text = "December 10th 1815"; // Ada Lovelace's day of birth

/// The third character after `c` among the printable ones, which follow each other in a circle.
char shifted(char c) {
    constexpr int k_first = ' ';
    constexpr int k_count = '~' - ' ' + 1;
    return static_cast<char>(k_first + (c - k_first + 3) % k_count);
}

void run(const char* file) {
    rem::heap heap = rem::heap::open(file);
    auto& text = heap.root<rem::list<char>>("text", k_text.begin(), k_text.end());
    heap.write([&] {
        for (char& c : text)
            c = shifted(c);
    });
    for (const char c : text)
        std::cout << c;
    std::cout << '\n';
    heap.close(); // discards what no section and no commit() took: here, nothing
}

} // namespace

int main(int count, char* words[]) {
    if (count > 2 || (count == 2 && words[1][0] == '-')) {
        const bool asked = std::string_view(words[1]) == "--help";
        (asked ? std::cout : std::cerr) << "usage: caesar [FILE]     FILE is caesar.rem unless given\n";
        return asked ? 0 : 2;
    }
    try {
        run(count == 2 ? words[1] : "caesar.rem");
        return 0;
    } catch (const std::exception& reason) {
        std::cerr << "caesar: " << reason.what() << '\n';
        return 1;
    }
}
