// from_std_map: counts words over all runs; docs/from-std-map.md shows what it was before.
#include <remanence/remanence.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string_view>

namespace rem = remanence;

namespace words { // with a name: the file knows its types by theirs

struct entry {
    rem::string last_spelling; // was: std::string
    int count = 0;
};
using word_counts = rem::map<rem::string, entry>; // was: std::map<std::string, entry>

} // namespace words

namespace {

using words::entry;
using words::word_counts;

void take_in(word_counts& counts, std::string_view word) {
    if (word.empty())
        throw std::invalid_argument("an empty word");
    entry& of_word = counts[rem::string(word)];
    ++of_word.count;
    of_word.last_spelling = word;
}

void run(const char* file, int count, char* words[]) {
    rem::heap heap = rem::heap::open(file);
    auto& counts = heap.root<word_counts>("counts"); // was: word_counts counts;
    heap.write([&] {
        for (int i = 0; i != count; ++i)
            take_in(counts, words[i]);
    }); // all of them are durable here, or none is in the file
    for (const auto& [word, of_word] : counts)
        std::cout << word << ' ' << of_word.count << '\n';
    const bool is_sound = heap.verify().clean() && heap.check_pointers().clean();
    if (!is_sound)
        throw std::runtime_error("something in the heap leads out of it, or the file is damaged");
    heap.close();
}

} // namespace

int main(int count, char* words[]) {
    if (count < 2) {
        std::cerr << "usage: from_std_map FILE [WORD…]\n";
        return 2;
    }
    try {
        run(words[1], count - 2, words + 2);
        return 0;
    } catch (const std::exception& reason) {
        std::cerr << "from_std_map: " << reason.what() << '\n';
        return 1;
    }
}
