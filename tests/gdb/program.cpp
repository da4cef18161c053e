// What gdb_test.py looks at: containers of each kind in a heap. It makes the heap in its first run, and finds it in the others.
#include <remanence/remanence.hpp>

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace rem = remanence;

struct address {
    rem::string street;
    int zip = 0;
    std::optional<int> door;
};

namespace {

void look(rem::heap& book) {
    auto& people = book.root<rem::multimap<rem::string, address>>("people");
    auto& streets = book.root<rem::btree_map<rem::string, address>>("streets");
    auto& lists = book.root<rem::btree_multimap<int, rem::list<int>>>("lists"); // in blocks of their own
    auto& numbers = book.root<rem::btree_set<int>>("numbers");                  // several levels of nodes
    auto& ages = book.root<rem::hash_map<rem::string_pi, int>>("ages");
    auto& squares = book.root<rem::hash_set<long>>("squares"); // several groups
    auto& words = book.root<rem::vector_pi<rem::string_pi>>("words");
    auto& packed = book.root<rem::packed_map>("packed");
    auto& kept = book.root<rem::fragile<std::string>>("kept");
    auto& plain = book.root<int>("plain");
    auto& nothing = book.root<rem::btree_map<int, int>>("nothing");
    if (people.empty()) {
        book.write([&] {
            people.emplace("KNUTH", address{"1 Art of Programming Street", 94305, 7});
            streets.emplace("1 Art of Programming Street", address{"Stanford", 94305, {}});
            lists.emplace(1, rem::list<int>{2, 3});
            for (int i = 0; i != 1000; ++i)
                numbers.insert(i);
            ages.emplace("Donald", 87);
            ages.emplace("somebody with a name of more than 23 characters", 1);
            for (long i = 0; i != 100; ++i)
                squares.insert(i * i);
            words.assign({"", "short", "a word of more than twenty-three characters"});
            packed.emplace("key", "value");
            packed.emplace("another", "");
            kept = std::string("kept as it is");
            plain = 42;
        });
        book.checkpoint();
    }
    if (plain == 42)
        std::abort(); // where the test looks
    (void)nothing;
}

} // namespace

int main(int, char** arguments) {
    const bool in_core = arguments[2] == std::string("in_core");
    // gdb writes all addresses of a heap to its cores, used or not.
    rem::heap book =
        rem::heap::open(arguments[1], {.memory = {.reserve_bytes = std::uint64_t{64} << 20, .core_dump = in_core}});
    look(book);
}
