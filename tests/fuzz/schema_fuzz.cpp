// Input: the length of a schema (2 bytes), the schema, and changes of the memory of a heap: where (3 bytes), and a byte. What decodes
// and is sound is used to read each of the objects there; that comes to an end, with JSON or with an error.
#include "api/heap_impl.hpp"
#include "api/registry.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"
#include "mutator.hpp"
#include "support/temp_dir.hpp"
#include "types/heap_bytes.hpp"
#include "types/schema_table.hpp"
#include "types/type_description.hpp"

#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

using namespace remanence;
using namespace remanence::fuzz;

namespace fuzzed_schema {

struct address {
    string street, city;
    int zip = 0;
};
enum class colour : unsigned char { red, blue };
struct all {
    btree_multimap<string, address> people;
    map<int, string> ordered;
    unordered_map<string, int> hashed;
    hash_map<int, string_pi> table;
    vector<address> sequence;
    vector_pi<int> linked;
    deque<int> deque_;
    list<string> list_;
    forward_list<int> chain;
    std::optional<string> maybe;
    std::variant<int, string> either;
    std::tuple<char, double> tuple{'a', 1.5};
    std::array<short, 3> array{};
    colour shade = colour::blue;
    char name[8] = "name";
    address* alone = nullptr;
    unsigned bits : 3 = 1;
};

} // namespace fuzzed_schema

namespace {

using fuzzed_schema::all;

constexpr std::size_t k_length_bytes = sizeof(std::uint16_t);
constexpr std::size_t k_change_bytes = 4;

/// The memory of a heap as it was committed, changed by each input and mended behind it.
class image final : public types::heap_bytes {
public:
    image() {
        const test::temp_dir directory;
        heap made = heap::create(directory / "h", {.memory = {.reserve_bytes = 64 << 20}});
        auto& object = made.root<all>("all");
        made.write([&] {
            for (int i = 0; i != 40; ++i) {
                const std::string text(static_cast<std::size_t>(i), 'x');
                object.people.emplace(text, fuzzed_schema::address{string(text), "city", i});
                object.ordered.emplace(i, text);
                object.hashed.emplace(text, i);
                object.table.emplace(i, text);
                object.linked.push_back(i);
                object.deque_.push_back(i);
                object.chain.push_front(i);
            }
            object.sequence.push_back({"street", "city", 1});
            object.list_.emplace_back("one");
            object.maybe.emplace("a text that is too long for the object itself");
            object.either.emplace<string>("text");
            object.alone = made.make<fuzzed_schema::address>();
        });
        base_ = reinterpret_cast<std::uintptr_t>(made.base());
        root_ = reinterpret_cast<std::uintptr_t>(&object) - base_;
        bytes_.resize(detail::registry::find(made.base())->memory().accessible_bytes());
        std::memcpy(bytes_.data(), made.base(), bytes_.size());
        made.close();
        detail::structure_writer out;
        detail::write_structure<all>(out);
        schema_ = std::move(out).schema();
    }

    [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t bytes) const override {
        return bytes <= bytes_.size() && offset <= bytes_.size() - bytes;
    }
    result<std::byte*> at(std::uint64_t offset, std::uint64_t) override { return bytes_.data() + offset; }
    result<std::optional<heap_range>> block_around(std::uint64_t) override { return std::optional<heap_range>(); }
    [[nodiscard]] std::uint64_t block_bytes_for(std::uint64_t, std::uint64_t) const override { return 0; }

    [[nodiscard]] std::uint64_t base() const { return base_; }
    [[nodiscard]] std::uint64_t root() const { return root_; }
    [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
    [[nodiscard]] const std::string& schema() const { return schema_; }
    [[nodiscard]] std::byte& byte(std::size_t at) { return bytes_[at % bytes_.size()]; }

private:
    std::vector<std::byte> bytes_;
    std::string schema_;
    std::uint64_t base_ = 0;
    std::uint64_t root_ = 0;
};

image& memory() {
    static image made;
    return made;
}

struct silent : inspect::object_walk::listener {};

void require(bool holds) {
    if (!holds)
        std::abort();
}

} // namespace

const std::size_t fuzz::k_input_bytes_max = 8 * KiB;

std::size_t fuzz::mutate(std::span<std::uint8_t> room, std::size_t size, generator& random) {
    const std::string& seed = memory().schema();
    if (size <= k_length_bytes) {
        fuzz::store(room, 0, static_cast<std::uint16_t>(seed.size()));
        std::memcpy(room.data() + k_length_bytes, seed.data(), seed.size());
        return k_length_bytes + seed.size();
    }
    const std::uint64_t choice = random.below(8);
    if (choice == 0)
        return mutate_blindly(room, size);
    if (choice < 3) {
        room[k_length_bytes + random.below(size - k_length_bytes)] = static_cast<std::uint8_t>(random.below(256));
        return size;
    }
    if (size + k_change_bytes > k_input_bytes_max) // back to no change
        return k_length_bytes + std::min<std::size_t>(load<std::uint16_t>(room, 0), size - k_length_bytes);
    const std::uint64_t near = memory().root() + random.below(choice < 6 ? sizeof(all) : 64 * KiB);
    for (std::size_t i = 0; i != 3; ++i)
        room[size + i] = static_cast<std::uint8_t>(near >> (8 * i));
    room[size + 3] = static_cast<std::uint8_t>(random.below(256));
    return size + k_change_bytes;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < k_length_bytes)
        return 0;
    const std::string_view whole(reinterpret_cast<const char*>(data) + k_length_bytes, size - k_length_bytes);
    const std::size_t length = std::min<std::size_t>(load<std::uint16_t>(std::span(data, size), 0), whole.size());
    const auto schema = types::type_description::decode(whole.substr(0, length), types::row_contents::schema);
    if (!schema)
        return 0;
    require(types::type_description::decode(schema->encode(types::row_contents::schema), types::row_contents::schema)
                ->rows == schema->rows);
    if (!types::is_sound_schema(*schema))
        return 0;
    image& heap = memory();
    std::vector<std::pair<std::size_t, std::byte>> were;
    std::string_view changes = whole.substr(length);
    for (; changes.size() >= k_change_bytes; changes.remove_prefix(k_change_bytes)) {
        const auto part = [&](std::size_t i) {
            return static_cast<std::size_t>(static_cast<unsigned char>(changes[i]));
        };
        const std::size_t at = (part(0) | part(1) << 8U | part(2) << 16U) % heap.size();
        were.emplace_back(at, heap.byte(at));
        heap.byte(at) = static_cast<std::byte>(changes[3]);
    }
    static const std::string path = "the heap";
    silent told;
    inspect::object_reader reader(heap, path, heap.base(), 64 * KiB / 16, *schema);
    inspect::object_walk walk(reader, told);
    std::string text;
    if (heap.contains(heap.root(), schema->rows[schema->root].size)) {
        const auto done = walk.put(text, {schema->root, heap.root()});
        require(!done || types::is_utf8(text));
    }
    for (; !were.empty(); were.pop_back())
        heap.byte(were.back().first) = were.back().second;
    return 0;
}
