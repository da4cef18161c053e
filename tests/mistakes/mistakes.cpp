// A program that makes the mistake which its first argument names, with the heap that the second one names. Compiled with
// NEXT_RELEASE it is the program whose struct has changed.
#include <remanence/remanence.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <variant>

namespace rem = remanence;

namespace shop {
struct node {
    node* next = nullptr;
};
// Bytes of it that hold no value are as the stack has left them: padding, the rest of an array, an empty optional, the larger alternative.
struct measured {
    char letter;
    long double wide;
    char name[64];
    std::optional<std::array<long, 3>> somewhere;
    std::variant<int, std::array<long, 3>> either;
    std::pair<long double, std::byte> both;
};
#ifndef NEXT_RELEASE
struct address {
    rem::string street, city;
    int zip = 0;
};
#else
struct address {
    rem::string street, city, zip;
};
#endif
} // namespace shop

namespace {

using numbers = rem::vector<int>;

void add(rem::heap& book, int number) {
    numbers& all = book.root<numbers>("numbers");
    book.write([&] { all.push_back(number); });
}

void make_heap(const char* path) {
    rem::heap book = rem::heap::open(path);
    add(book, 1);
}

void keep_open(const char* path) {
    rem::heap book = rem::heap::open(path);
    add(book, 1);
    std::cout << "open" << std::endl;
    std::string line;
    std::getline(std::cin, line); // until the caller says so
    add(book, 2);
}

[[noreturn]] void be_killed(const char* path) {
    rem::heap book = rem::heap::open(path);
    add(book, 1);
    ::_exit(0);
}

void fill(const char* path) {
    rem::heap book = rem::heap::open(path);
    numbers& all = book.root<numbers>("numbers");
    for (;;)
        book.write([&] { all.insert(all.end(), 100'000, 1); });
}

template <rem::file_form Form>
void fill_container(const char* path) {
    rem::file_backed<numbers> all(path, {.form = Form});
    for (;;)
        all.write([&] { all->insert(all->end(), 10'000, 123'456'789); });
}
template <rem::file_form Form>
void open_container(const char* path) {
    const rem::file_backed<numbers> all(path, {.form = Form});
    std::cout << all->size() << "\n";
}

void keep_a_pointer_to_the_stack(const char* path) {
    rem::heap book = rem::heap::open(path);
    auto& first = book.root<shop::node>("first");
    shop::node local;
    book.write([&] { first.next = &local; });
}

void keep_bytes_without_a_value(const char* path) {
    rem::heap book = rem::heap::open(path);
    auto& all = book.root<rem::vector<shop::measured>>("all");
    int local = 0;
    void* words[sizeof(shop::measured) / sizeof(void*)];
    for (void*& each : words)
        each = &local;
    book.write([&] {
        all.resize(2);
        for (shop::measured& each : all) {
            std::memcpy(static_cast<void*>(&each), words, sizeof each);
            each.letter = 'a';
            each.wide = 1;
            std::strcpy(each.name, "x");
            new (&each.somewhere) std::optional<std::array<long, 3>>();
            new (&each.either) std::variant<int, std::array<long, 3>>(1);
            each.both.first = 2;
            each.both.second = std::byte(3);
        }
    });
}

struct titled {
    rem::string title;
};
void destroy_twice(const char* path) {
    rem::heap book = rem::heap::open(path);
    book.write([&] {
        titled* const made = book.make<titled>();
        made->title = "a title that does not fit into the string itself";
        book.destroy(made);
        book.destroy(made);
    });
}

void splice_between_files(const char* path) {
    rem::heap book = rem::heap::open(path);
    rem::heap other = rem::heap::create(std::string(path) + "-other");
    auto& here = book.root<rem::list<int>>("all");
    auto& there = other.root<rem::list<int>>("all");
    other.write([&] { there.push_back(1); });
    book.write([&] { here.splice(here.end(), there); });
}

void forget_to_commit(const char* path) {
    rem::heap book = rem::heap::open(path);
    book.root<numbers>("numbers").push_back(1);
}

void store_a_lambda(const char* path) {
    rem::heap book = rem::heap::open(path);
    auto descending = [](int a, int b) { return a > b; };
    book.root<rem::set<int, decltype(descending)>>("numbers");
}

void store_an_address(const char* path) {
    rem::heap book = rem::heap::open(path);
    auto& all = book.root<rem::vector<shop::address>>("addresses");
    book.write([&] { all.emplace_back(); });
}

void take_its_addresses(const char* path) {
    make_heap(path);
    void* base = nullptr;
    {
        rem::heap book = rem::heap::open(path);
        base = book.base();
    }
    ::mmap(base, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    rem::heap book = rem::heap::open(path);
    std::cout << book.find_root<numbers>("numbers")->size() << "\n";
}

void write_to_a_read_only_heap(const char* path) {
    rem::heap book = rem::heap::open(path, {.read_only = true});
    book.find_root<numbers>("numbers")->front() = 2;
}

} // namespace

int main(int count, char** arguments) {
    const std::map<std::string, std::function<void(const char*)>> all = {
        {"make-heap", make_heap},
        {"keep-open", keep_open},
        {"be-killed", be_killed},
        {"fill", fill},
        {"stack-pointer", keep_a_pointer_to_the_stack},
        {"bytes-without-a-value", keep_bytes_without_a_value},
        {"destroy-twice", destroy_twice},
        {"splice", splice_between_files},
        {"forgotten-commit", forget_to_commit},
        {"lambda", store_a_lambda},
        {"address", store_an_address},
        {"base-taken", take_its_addresses},
        {"read-only", write_to_a_read_only_heap},
        {"fill-memory", fill_container<rem::file_form::memory>},
        {"fill-portable", fill_container<rem::file_form::portable>},
        {"fill-binary", fill_container<rem::file_form::binary>},
        {"open-memory", open_container<rem::file_form::memory>},
        {"open-portable", open_container<rem::file_form::portable>},
        {"open-binary", open_container<rem::file_form::binary>},
    };
    if (count != 3 || !all.contains(arguments[1]))
        return 2;
    all.at(arguments[1])(arguments[2]); // what it throws nobody catches, as in a first program
}
