// A user's first program: what is written in one heap::open is there in the next. The argument says whether the library that it is
// linked with must check commits ("checked"), or must not ("unchecked").
#include <remanence/remanence.hpp>

#include <cstdio>
#include <filesystem>
#include <string_view>

namespace rem = remanence;

struct address {
    rem::string street, city, phone;
};

using people_map = rem::multimap<rem::string, address>;

bool commits_are_checked(rem::heap& book) {
    auto& place = book.root<const int*>("place");
    const int on_the_stack = 1;
    try {
        book.write([&] { place = &on_the_stack; });
    } catch (const rem::error& refused) {
        return refused.code() == rem::errc::foreign_pointer;
    }
    return false;
}

int main(int argc, char** argv) {
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
    const bool checked = commits_are_checked(book);
    std::puts(checked ? "commits are checked" : "commits are not checked");
    if (argc != 2 || checked != (argv[1] == std::string_view("checked")))
        return 1;
    book.close();
    std::filesystem::remove(path);
}
