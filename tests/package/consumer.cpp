// A user's first program: what is written in one heap::open is there in the next.
#include <remanence/remanence.hpp>

#include <cstdio>
#include <filesystem>

namespace rem = remanence;

struct address {
    rem::string street, city, phone;
};

using people_map = rem::multimap<rem::string, address>;

int main() {
    const std::filesystem::path path = "consumer.rem";
    std::filesystem::remove(path);
    {
        rem::heap book = rem::heap::open(path);
        auto& people = book.root<people_map>("people");
        book.write(
            [&] { people.emplace("KNUTH", address{"1 Art of Programming Street", "Stanford", "+1-650-555-0100"}); });
        book.close();
    }
    rem::heap book = rem::heap::open_existing(path);
    auto& people = book.root<people_map>("people");
    const auto knuth = people.find("KNUTH");
    if (people.size() != 1 || knuth == people.end() || knuth->second.city != "Stanford") {
        std::puts("the entry is gone");
        return 1;
    }
    std::puts("the entry stayed");
    book.close();
    std::filesystem::remove(path);
}
