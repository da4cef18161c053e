// Input: a dump (docs/reference/dump.md), or what once was one. It is loaded into a heap, or refused, and the heap is then as before; what
// was loaded is whole, and can be dumped.
#include "api/heap_impl.hpp"
#include "mutator.hpp"
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

using namespace remanence;
using namespace remanence::fuzz;

namespace fuzzed_dump {

struct address {
    string street;
    int zip = 0;
};
enum class colour : unsigned char { red, blue };
struct all {
    btree_multimap<string, address> people;
    map<int, string> ordered;
    unordered_map<string, int> hashed;
    hash_map<int, string_pi> table;
    vector<address> sequence;
    vector_pi<double> linked;
    deque<int> deque_;
    list<string> list_;
    forward_list<int> chain;
    std::optional<string> maybe;
    std::variant<int, string> either;
    colour shade = colour::blue;
    char name[8] = "name";
    const address* there = nullptr;
};

} // namespace fuzzed_dump

namespace {

void require(bool holds) {
    if (!holds)
        std::abort();
}

struct place {
    place()
        : made(heap::create(directory / "h", {.commits = durability::none, .memory = {.reserve_bytes = 1 << 30}})) {}
    test::temp_dir directory = test::temp_dir::in_memory();
    heap made;
};
heap& memory() {
    static place* const of = new place; // it is never closed
    return of->made;
}

const std::string& seed() {
    static const std::string text = [] {
        const test::temp_dir directory;
        heap made = heap::create(directory / "seed");
        made.write([&] {
            auto& object = made.root<fuzzed_dump::all>("all");
            for (int i = 0; i != 5; ++i) {
                const std::string name(static_cast<std::size_t>(i) * 6, 'x');
                object.people.emplace(name, fuzzed_dump::address{string(name), i});
                object.ordered.emplace(i, name);
                object.hashed.emplace(name, i);
                object.table.emplace(i, name);
                object.linked.push_back(i / 3.0);
                object.deque_.push_back(i);
                object.chain.push_front(i);
            }
            object.maybe.emplace("a text");
            object.there = &object.people.begin()->second;
            made.root<btree_map<int, string>>("tree").emplace(1, "one");
            made.root<vector<const fuzzed_dump::address*>>("ways").push_back(made.make<fuzzed_dump::address>());
        });
        std::ostringstream out;
        save(made, out);
        return out.str();
    }();
    return text;
}

} // namespace

const std::size_t fuzz::k_input_bytes_max = 24 * KiB;

std::size_t fuzz::mutate(std::span<std::uint8_t> room, std::size_t size, generator& random) {
    const std::string& from = seed();
    if (size < 20 || random.below(8) == 0) {
        std::memcpy(room.data(), from.data(), from.size());
        return from.size();
    }
    if (random.below(4) == 0)
        return mutate_blindly(room, size);
    constexpr std::string_view k_pieces[] = {"[",
                                             "]",
                                             "{",
                                             "}",
                                             ",",
                                             ":",
                                             "\"",
                                             "null",
                                             "0",
                                             "-1",
                                             "18446744073709551616",
                                             "1e999",
                                             "{\"$ref\":[\"all\"]}",
                                             "{\"$bytes\":\"ff\"}",
                                             "\n",
                                             "[]",
                                             "true",
                                             "\"x\"",
                                             "\\u0000"};
    const std::string_view piece = k_pieces[random.below(std::size(k_pieces))];
    const std::size_t at = random.below(size);
    const std::size_t removed = std::min<std::size_t>(random.below(8), size - at);
    if (size - removed + piece.size() > room.size())
        return size;
    std::memmove(room.data() + at + piece.size(), room.data() + at + removed, size - at - removed);
    std::memcpy(room.data() + at, piece.data(), piece.size());
    return size - removed + piece.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    const auto read = [&](char* into, std::size_t bytes) {
        const std::size_t count = std::min(bytes, rest.size());
        std::memcpy(into, rest.data(), count);
        rest.remove_prefix(count);
        return count;
    };
    heap& into = memory();
    const auto allocated = into.stats().allocated_bytes;
    into.lock();
    try {
        (void)load<>(into, read);
        std::string again;
        try {
            save(into, [&](std::string_view piece) { again += piece; });
            require(again.find("{\"end\":true") != std::string::npos);
        } catch (const error& stop) { // members of a forged layout lie in each other, perhaps
            require(stop.reason() == errc::corrupt);
        }
    } catch (const error&) {          // NOLINT(bugprone-empty-catch)
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch)
    }
    try {
        into.rollback();
    } catch (const error&) {
        std::abort();
    }
    into.unlock();
    require(into.stats().allocated_bytes == allocated);
    return 0;
}
