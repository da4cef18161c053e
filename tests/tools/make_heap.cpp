// Makes a heap for the tests of the tools, and prints where its roots and their parts lie, as JSON.
// objects, change_objects, odd, kept_by_a_number: object_heap.hpp. history: one that is kept over sessions, of prices; history_busy, history_shared_busy: commits
// to that one without an end, alone or shared; history_shared_idle: shares it until standard input ends.
// usage: make_heap FILE closed|killed|hold|empty|names|large|freed|reopen|rewrite|busy|same|forged_header|forged_roots|forged_allocator|forged_object|forged_schema|forged_type_table|hidden|stray|distances|shared_...
// hold: keeps it open, with nothing uncommitted, until standard input ends. empty: without a commit. names: a root with
// an odd name. freed: held 8 MiB once, and its program died. large: 256 MiB of
// zeros and little else. reopen: opens the heap that is there, and closes it. rewrite: changes all its numbers, again and again. busy: writes until it is killed, all numbers
// the same in each commit, and prints the number once it is committed; "still" is a root that it never writes to. forged:
// the program overwrote what the library keeps in the heap, and committed it, so that all checksums fit. hidden: objects of classes that
// do not say their members. stray: pointers that leave the heap, one into where others lie. distances: our own containers, which have no addresses in them, and an element of each. same: opens such a heap, prints its number.
// shared_idle, shared_reader, shared_guest, shared_writer: shares the heap that is there (a guest: to read only), and stays in no
// section, a read section, a read section, a write section, until standard input ends; shared_busy: writes as busy does, to a heap that others share.
#include "object_heap.hpp"

#include <remanence/remanence.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <thread>

namespace rem = remanence;

namespace {

std::uint64_t offset(const rem::heap& heap, const void* at) {
    return static_cast<std::uint64_t>(static_cast<const char*>(at) - static_cast<const char*>(heap.base()));
}

constexpr std::size_t k_numbers = 30'000;
constexpr std::uint64_t k_still = 0x6c6c697473; // "still"

// Offsets in the heap's header, of docs/format.md.
constexpr std::size_t k_root_word = 16;
constexpr std::size_t k_allocated_bytes = 64 + 8;

int somewhere_else[2] = {1, 2};

/// Keeps two of its steps, and a version from before them.
void make_history(const char* path) {
    using prices = rem::btree_map<int, int>;
    rem::heap heap = rem::heap::create(
        path, {.history = {.steps_max = 2, .kept_over_sessions = true}, .memory = {.chunk_bytes = 65536}});
    auto& all = heap.root<prices>("prices");
    heap.root<rem::vector<std::uint64_t>>("untouched", 10U, 1U);
    heap.write([&] {
        for (int i = 0; i < 5; ++i)
            all[i] = 100 + i;
    });
    heap.keep("before import");
    for (int i = 0; i < 6; ++i)
        heap.write("import", [&] { all[i % 3] = i; });
    heap.write("sell out", [&] { all.erase(4); });
    std::_Exit(0); // killed: the last steps are in the log
}

/// Commits some hundred times a second to the heap of make_history(), which checkpoints all the time, until it is killed.
[[noreturn]] void write_on(const char* path, rem::sharing how, std::string_view what) {
    using prices = rem::btree_map<int, int>;
    rem::heap heap = rem::heap::open_existing(path, {.access = how,
                                                     .history = {.steps_max = 20, .kept_over_sessions = true},
                                                     .log = {.log_limit_bytes = 64 << 10}});
    auto& all = heap.root<prices>("prices");
    if (what.ends_with("idle")) {
        std::puts("{}");
        std::fflush(stdout);
        while (std::getchar() != EOF) {
        }
        heap.close();
        std::_Exit(0);
    }
    for (int n = 0;; ++n) {
        heap.write("tick", [&] { all[1000 + n % 500] = n; });
        if (n == 50) {
            std::puts("{}");
            std::fflush(stdout);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
    }
}

void forge(rem::heap& heap, std::string_view what) {
    auto* word = static_cast<char*>(heap.base()) + (what == "forged_header"  ? 0
                                                    : what == "forged_roots" ? k_root_word
                                                                             : k_allocated_bytes);
    heap.write([&] { *word = static_cast<char>(*word ^ 8); });
}

// Checkpoints all the time, grows now and then, and is closed and opened again.
void write_as_fast_as_possible(const char* path) {
    for (std::uint64_t n = 1;;) {
        rem::heap heap =
            rem::heap::open(path, {.memory = {.chunk_bytes = 65536}}); // rem, which reads it, keeps nobody from it
        auto& numbers = heap.root<rem::vector<std::uint64_t>>("numbers", k_numbers);
        auto& grown = heap.root<rem::list<rem::string>>("grown");
        heap.root<rem::vector<std::uint64_t>>("still", 65536U, k_still); // in chunks of its own, which never move
        for (int session = 0; session < 40; ++session, ++n) {
            heap.write([&] {
                for (std::uint64_t& number : numbers)
                    number = n;
                if (n % 7 == 0 && n < 5000)
                    grown.emplace_back(std::size_t{20'000}, 'x');
            });
            std::printf("%ju\n", std::uintmax_t{n});
            std::fflush(stdout);
            if (n % 3 != 0)
                heap.checkpoint();
        }
        heap.close();
    }
}

/// 0: they are not all the same.
std::uint64_t only_number(const char* path) {
    const rem::heap heap = rem::heap::open_existing(path);
    const auto* numbers = heap.find_root<rem::vector<std::uint64_t>>("numbers");
    if (numbers == nullptr || numbers->size() != k_numbers)
        return 0;
    const std::uint64_t first = numbers->front();
    return std::all_of(numbers->begin(), numbers->end(), [&](std::uint64_t each) { return each == first; }) ? first : 0;
}

void wait_for_end_of_input() {
    std::puts("{}");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
}

void share(const char* path, std::string_view what) {
    if (what == "shared_busy") {
        rem::heap heap = rem::heap::open(
            path,
            {.access = rem::sharing::processes, .log = {.log_limit_bytes = 4 << 20}, .memory = {.chunk_bytes = 65536}});
        auto& numbers = heap.root<rem::vector<std::uint64_t>>("numbers", k_numbers);
        heap.root<rem::vector<std::uint64_t>>("still", 65536U, k_still);
        for (std::uint64_t n = 1;; ++n) {
            heap.write([&] { std::fill(numbers.begin(), numbers.end(), n); });
            std::printf("%ju\n", std::uintmax_t{n});
            std::fflush(stdout);
        }
    }
    const bool is_guest = what == "shared_guest";
    rem::heap heap = rem::heap::open_existing(path, {.access = rem::sharing::processes, .read_only = is_guest});
    if (what == "shared_reader" || is_guest)
        heap.read(wait_for_end_of_input);
    else if (what == "shared_writer")
        heap.write(wait_for_end_of_input);
    else
        wait_for_end_of_input();
    heap.close();
}

int run(int argc, char** argv) {
    if (argc != 3)
        return 2;
    const std::string_view end = argv[2];
    if (end == "reopen") {
        rem::heap::open_existing(argv[1]).close();
        return 0;
    }
    if (end == "rewrite") {
        rem::heap heap = rem::heap::open_existing(argv[1]);
        auto* numbers = heap.find_root<rem::vector<std::uint64_t>>("numbers");
        for (std::uint64_t n = 1; n <= 3; ++n) { // each number is in both copies of its page then
            heap.write([&] { std::fill(numbers->begin(), numbers->end(), n); });
            heap.checkpoint();
        }
        heap.close();
        return 0;
    }
    if (end == "objects") {
        make_objects(argv[1]);
        std::puts("{}");
        return 0;
    }
    if (end == "bit_fields") {
        add_bit_fields(argv[1]);
        std::puts("{}");
        return 0;
    }
    if (end == "hidden") {
        make_hidden(argv[1]);
        std::puts("{}");
        return 0;
    }
    if (end == "pointer_to_several") {
        add_pointer_to_several(argv[1]);
        std::puts("{}");
        return 0;
    }
    if (end == "odd") {
        make_odd(argv[1]);
        std::puts("{}");
        return 0;
    }
    if (end == "kept_by_a_number") {
        std::printf("{\"version\": %ju}\n", std::uintmax_t{keep_by_a_number(argv[1])});
        return 0;
    }
    if (end == "forged_object") {
        std::puts("{}");
        std::fflush(stdout);
        make_forged_object(argv[1]);
    }
    if (end == "forged_schema" || end == "forged_type_table") {
        std::printf("{\"place\": %ju}\n", std::uintmax_t{make_forged_schema(argv[1], end == "forged_type_table")});
        std::fflush(stdout);
        std::_Exit(0);
    }
    if (end == "history")
        make_history(argv[1]);
    if (end == "history_busy")
        write_on(argv[1], rem::sharing::exclusive, end);
    if (end.starts_with("history_shared"))
        write_on(argv[1], rem::sharing::processes, end);
    if (end == "change_objects")
        change_objects(argv[1]);
    if (end == "busy")
        write_as_fast_as_possible(argv[1]);
    if (end.starts_with("shared_")) {
        share(argv[1], end);
        return 0;
    }
    if (end == "same") {
        std::printf("%ju\n", std::uintmax_t{only_number(argv[1])});
        return 0;
    }
    rem::heap heap = rem::heap::create(argv[1], {.memory = {.chunk_bytes = 65536}});
    if (end == "empty") {
        heap.close();
        return 0;
    }
    if (end == "names") { // U+009B, an umlaut, and a byte that is no UTF-8
        heap.root<std::uint64_t>("late \xc2\x9b"
                                 "31m \xc3\xa4 \x9b");
        heap.close();
        return 0;
    }
    if (end == "stray") { // pointers to what is static, which no build refuses to commit
        heap.root<std::array<const int*, 3>>("inside")[1] = heap.make<int>(7);
        auto& stray = heap.root<rem::vector<const int*>>("stray", std::size_t{3});
        stray[1] = &somewhere_else[1];
        *heap.make<const int*>() = &somewhere_else[1];
        // As of a heap that is closed, where its first root lies, at the beginning of a page.
        stray[2] = reinterpret_cast<const int*>(static_cast<char*>(heap.base()) + (std::ptrdiff_t{1} << 40));
        heap.commit();
        std::printf("{\"word\": %ju}\n", std::uintmax_t{offset(heap, &stray[1])});
        heap.close();
        return 0;
    }
    if (end == "distances") {
        auto& hash = heap.root<rem::hash_map<std::uint64_t, rem::string_pi>>("hash");
        auto& tree = heap.root<rem::btree_map<std::uint64_t, rem::vector_pi<std::uint64_t>>>("tree");
        auto& packed = heap.root<rem::packed_map>("packed");
        auto& beside = heap.root<rem::vector<std::uint64_t>>("beside", 10'000U, ~std::uint64_t{0} / 3);
        auto& numbers =
            heap.root<rem::hash_map<std::uint64_t, std::uint64_t>>("numbers"); // of one distance: few to be misread
        heap.write([&] {
            for (std::uint64_t i = 1; i < 10'000; i += 2) { // odd: even numbers may look like distances
                hash.emplace(i, std::string(201, 'h'));
                numbers.emplace(i, i);
                tree[i].resize(21, i);
                packed.emplace(std::to_string(i), std::string(201, 'p'));
            }
        });
        std::printf(
            "{\"hash\": %ju, \"tree\": %ju, \"packed\": %ju, \"beside\": %ju}\n",
            std::uintmax_t{offset(heap, hash.at(5001).data())}, std::uintmax_t{offset(heap, tree.at(5001).data())},
            std::uintmax_t{offset(heap, packed.at("5001").data())}, std::uintmax_t{offset(heap, &beside[5000])});
        heap.close();
        return 0;
    }
    if (end == "large") {
        heap.root<rem::vector<std::uint64_t>>("zeros", std::size_t{32} << 20);
        heap.root<std::uint64_t>("behind");
        heap.close();
        return 0;
    }
    if (end == "freed") {
        heap.root<std::uint64_t>("left") = 5;
        auto& numbers = heap.root<rem::vector<std::uint64_t>>("numbers", std::size_t{1} << 20, std::uint64_t{7});
        heap.commit();
        heap.checkpoint();
        numbers.clear();
        numbers.shrink_to_fit();
        heap.commit();
        std::printf("{}\n");
        std::fflush(stdout);
        std::_Exit(0);
    }
    auto& names = heap.root<rem::map<rem::string, rem::string>>("names"); // commit 1
    auto& numbers = heap.root<rem::vector<std::uint64_t>>("numbers");     // 2
    heap.root<rem::vector<std::uint64_t>>("zeros", 200'000U);             // 3: chunks that stay unwritten
    auto& counter = heap.root<std::uint64_t>("counter \"\x1b[31m\"");     // 4: a name to be careful with
    heap.write([&] {                                                      // 5: behind the zeros
        for (std::uint64_t i = 1; i <= 40'000; ++i)
            numbers.push_back(i);
        for (int i = 0; i < 100; ++i)
            names.emplace(rem::string("a name that does not fit into a string ").append(std::to_string(i)), "value");
    });
    heap.write([&] { counter = 6; });
    heap.write([&] { counter = 7; });
    auto& table = heap.root<std::array<std::uint64_t, 2000>>("table"); // 8: on pages of its own
    heap.root<std::uint64_t>("late");                                  // 9
    heap.write([&] { table.back() = 10; });
    std::printf(
        "{\"names\": %ju, \"numbers\": %ju, \"elements\": %ju, \"table\": %ju, \"counter\": %ju, \"version\": %ju}\n",
        std::uintmax_t{offset(heap, &names)}, std::uintmax_t{offset(heap, &numbers)},
        std::uintmax_t{offset(heap, numbers.data())}, std::uintmax_t{offset(heap, &table)},
        std::uintmax_t{offset(heap, &counter)}, std::uintmax_t{heap.version()});
    std::fflush(stdout);
    if (end.starts_with("forged"))
        forge(heap, end);
    if (end == "killed" || end.starts_with("forged"))
        std::_Exit(0);
    while (end == "hold" && std::getchar() != EOF) {
    }
    heap.close();
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& stop) {
        std::fprintf(stderr, "make_heap: %s\n", stop.what());
        return 1;
    }
}
