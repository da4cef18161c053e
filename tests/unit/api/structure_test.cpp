// verify() finds what a program has overwritten in the containers of roots that it has named, and never follows a link
// that leads nowhere.

#include "fixture.hpp"
#include "support/btree_inspector.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <variant>

namespace remanence::test {

// The types of roots need names.
namespace structures {

struct entry {
    string_pi name;
    vector_pi<std::uint64_t> numbers;
};
using ordered = btree_map<std::uint64_t, entry>;
using large = btree_map<std::uint64_t, std::array<std::uint64_t, 40>>; // elements in blocks of their own
using hashed = hash_map<std::uint64_t, string_pi>;
struct folder {
    std::uint64_t number = 0;
    btree_map<string_pi, folder> inside;
};
struct book {
    ordered entries;
    large blocks;
    hashed numbered;
    std::array<hash_set<string_pi>, 2> words;
    std::optional<vector_pi<entry>> some;
    std::variant<std::uint64_t, btree_set<std::uint64_t>> either;
    std::pair<std::uint64_t, vector_pi<string_pi>> last;
    folder folders;
    map<std::uint64_t, std::uint64_t> of_the_standard;
};

struct chest {
    vector_pi<chest> in;
    hash_set<string_pi> words;
};

struct serialised {
    vector_pi<fragile<std::string>> list;
    btree_map<std::uint64_t, fragile<std::string>> by_number;
};

inline std::string text(std::uint64_t i) { return std::to_string(i) + std::string(i % 60, 't'); }

inline entry make_entry(std::uint64_t i) {
    entry made{.name = string_pi(text(i)), .numbers = {}};
    made.numbers.assign(i % 7, i);
    return made;
}

inline void fill(book& all) {
    all.either.emplace<1>();
    all.some.emplace();
    for (std::uint64_t i = 0; i < 300; ++i) {
        all.entries.emplace(i * 2, make_entry(i));
        all.blocks.emplace(i, std::array<std::uint64_t, 40>{i});
        all.numbered.emplace(i, string_pi(text(i)));
        all.words[i % 2].emplace(text(i));
        std::get<1>(all.either).insert(i);
        all.folders.inside[string_pi(text(i % 10))].inside[string_pi(text(i))].number = i;
        all.of_the_standard.emplace(i, i);
    }
    for (std::uint64_t i = 0; i < 10; ++i) {
        all.some->push_back(make_entry(i));
        all.last.second.emplace_back(text(i));
    }
}

} // namespace structures

namespace {

using structures::book;

class structure : public testing::Test {
protected:
    structure() : heap_(heap::create(dir_ / "h", small_heap())), book_(&heap_.root<book>("book")) {
        heap_.write([&] { structures::fill(*book_); });
        EXPECT_TRUE(heap_.verify().clean());
    }

    /// What verify() says while a word is another one; empty when nothing.
    std::string found_with(void* where, std::uint64_t word) {
        std::uint64_t before = 0;
        std::memcpy(&before, where, sizeof before);
        std::memcpy(where, &word, sizeof word);
        const verify_report report = heap_.verify();
        std::memcpy(where, &before, sizeof before);
        return report.clean() ? "" : report.problems.front().what;
    }
    static std::uint64_t word_at(const void* where) {
        std::uint64_t word = 0;
        std::memcpy(&word, where, sizeof word);
        return word;
    }
    /// Words that are not there yet, and look like links, counts and nothing at all.
    std::vector<std::uint64_t> wrong_words(const void* where) {
        const std::uint64_t word = word_at(where);
        return {word + 8, word - 4096, word + 1, ~word, word ^ (std::uint64_t{1} << 40), random_()};
    }

    template <class T>
    static std::array<std::byte, sizeof(T)> bytes_of(const T& object) {
        std::array<std::byte, sizeof(T)> bytes;
        std::memcpy(bytes.data(), static_cast<const void*>(&object), sizeof object);
        return bytes;
    }
    /// The word of a vector_pi that leads to its elements.
    template <class T>
    static std::size_t link_of(const vector_pi<T>& all) {
        const auto* const first = reinterpret_cast<const std::byte*>(&all);
        std::size_t word = 0;
        while (reinterpret_cast<std::uint64_t>(first + 8 * word) + word_at(first + 8 * word) !=
               reinterpret_cast<std::uint64_t>(all.data()))
            ++word;
        return word;
    }

    temp_dir dir_;
    heap heap_;
    book* book_;
    std::mt19937_64 random_{1};
};

TEST_F(structure, of_btree_nodes_is_checked_word_by_word) {
    const auto check = [&](const auto& container) {
        for (const auto& node : detail::btree_inspector::nodes_of(container)) {
            const std::size_t children = (word_at(node.first + 8) & 0xffff) + 1; // the number of elements stands there
            const std::size_t end = std::min(node.bytes, node.links_offset + 8 * children);
            for (std::size_t offset = 0; offset < end; offset += offset == 8 ? node.links_offset - 8 : 8) {
                for (const std::uint64_t word : wrong_words(node.first + offset))
                    EXPECT_NE(found_with(node.first + offset, word), "") << offset << " of " << node.bytes;
            }
        }
    };
    check(book_->entries);
    check(book_->blocks);
    check(std::get<1>(book_->either));
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(structure, of_the_containers_themselves_is_checked) {
    // Root, first leaf, last leaf and size; or block, slots, size and free slots.
    const auto check = [&](auto& container) {
        auto* const first = reinterpret_cast<std::byte*>(&container);
        for (std::size_t offset = 0; offset < 32; offset += 8) {
            for (const std::uint64_t word : wrong_words(first + offset)) {
                const std::string found = found_with(first + offset, word);
                EXPECT_NE(found.find("the root \"book\" ("), std::string::npos) << offset << ": " << found;
                EXPECT_NE(found.find("A program has overwritten it"), std::string::npos) << found;
            }
        }
    };
    check(book_->entries);
    check(book_->blocks);
    check(book_->numbered);
    check(book_->words[1]);
    check(book_->folders.inside);
    check(book_->folders.inside.at(string_pi(structures::text(3))).inside);
}

TEST_F(structure, that_is_overwritten_anywhere_is_found_or_harmless) {
    // Reads outside of all memory would end the program.
    std::size_t found = 0;
    const auto used = static_cast<std::size_t>(heap_.stats().allocated_bytes);
    for (int i = 0; i < 3'000; ++i) {
        const auto& nodes = detail::btree_inspector::nodes_of(book_->entries);
        const auto& node = nodes[random_() % nodes.size()];
        std::byte* const where = node.first + random_() % (node.bytes / 8) * 8;
        const std::uint64_t word = i % 3 == 0   ? random_()
                                   : i % 3 == 1 ? word_at(where) + (random_() % used & ~std::uint64_t{7})
                                                : word_at(nodes[random_() % nodes.size()].first + random_() % 64 * 8);
        found += found_with(where, word).empty() ? 0U : 1U;
    }
    EXPECT_GT(found, 1'000U);
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(structure, of_strings_vectors_and_control_bytes_is_checked) {
    const auto expect_found = [&](const void* where, std::uint64_t word, const char* what) {
        EXPECT_NE(found_with(const_cast<void*>(where), word).find(what), std::string::npos) << what;
    };
    structures::entry& entry = book_->entries.at(2 * 118); // 6 numbers
    heap_.write([&] { entry.name.assign(300, 'n'); }); // a link to another block of its size would pass: there is none
    const auto* const name = reinterpret_cast<const std::byte*>(&entry.name);
    for (const std::uint64_t word : wrong_words(name + 8))
        expect_found(name + 8, word, "string_pi");
    const auto* const numbers = reinterpret_cast<const std::byte*>(&entry.numbers);
    expect_found(numbers + 8, word_at(numbers + 8) + 64, "a vector_pi whose link leads to no block");
    expect_found(numbers + 16, 1000, "a vector_pi with more elements than memory");
    expect_found(numbers + 24, 1000, "a vector_pi whose link leads to no block");
    auto& last = book_->last.second.back();
    expect_found(reinterpret_cast<const std::byte*>(&last) + 24, std::numeric_limits<std::uint64_t>::max() / 2,
                 "string_pi");
}

// A long string that finds its characters in itself, many of them: nobody may look at them.
TEST_F(structure, of_long_strings_that_lead_into_themselves_is_checked) {
    auto& words = book_->words[0];
    auto* const word = reinterpret_cast<std::uint64_t*>(const_cast<string_pi*>(&*words.begin())) + 1;
    const std::array<std::uint64_t, 3> before{word[0], word[1], word[2]};
    const std::array<std::uint64_t, 3> wrong{0, std::uint64_t{1} << 40, ~std::uint64_t{0}};
    std::ranges::copy(wrong, word);
    const verify_report report = heap_.verify();
    std::ranges::copy(before, word);
    ASSERT_FALSE(report.clean());
    EXPECT_NE(report.problems.front().what.find("a string_pi whose link leads to no block"), std::string::npos);
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(structure, of_fragile_elements_is_checked) {
    auto& all = heap_.root<structures::serialised>("serialised");
    heap_.write([&] {
        for (std::uint64_t i = 0; i < 3; ++i)
            all.list.emplace_back(structures::text(50 + i));
        all.by_number.emplace(1, structures::text(57));
        fragile<std::string> moved(std::move(all.list.front())); // what is left is no damage
        all.list.push_back(std::move(moved));
    });
    EXPECT_TRUE(heap_.verify().clean());
    for (auto* const each : {&all.list[1], &all.list[3], &all.by_number.at(1)}) {
        auto* const link = reinterpret_cast<std::byte*>(each) + 8;
        std::vector<std::uint64_t> words = wrong_words(link);
        words[1] = word_at(link) - 4092; // just 4096 bytes before it may lie another text of that length
        words.push_back(word_at(link) + 16);
        words.push_back(0x123456789);
        for (const std::uint64_t word : words)
            EXPECT_NE(found_with(link, word).find("a fragile element, stored as a string_pi"), std::string::npos);
    }
    auto* const empty = reinterpret_cast<std::byte*>(&all.list.front());
    EXPECT_NE(found_with(empty + 24, std::numeric_limits<std::uint64_t>::max() / 2), "");
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(structure, of_keys_out_of_their_order_is_found) {
    auto& numbers = std::get<1>(book_->either);
    const std::uint64_t* const key = &*numbers.find(17);
    EXPECT_NE(found_with(const_cast<std::uint64_t*>(key), 16).find("keys are not in their order"), std::string::npos);
    EXPECT_NE(found_with(const_cast<std::uint64_t*>(key), 1000).find("keys are not in their order"), std::string::npos);
    const std::uint64_t* const hashed = &book_->numbered.find(17)->first;
    std::size_t found = 0; // one in 128 other keys has the same control byte
    for (std::uint64_t other = 1000; other < 1020; ++other) {
        const std::string said = found_with(const_cast<std::uint64_t*>(hashed), other);
        found += said.find("control byte that is not its element's") != std::string::npos ? 1U : 0U;
    }
    EXPECT_GE(found, 15U);
}

TEST_F(structure, is_checked_for_roots_that_the_program_has_named_as_what_they_are) {
    std::byte* const size = reinterpret_cast<std::byte*>(&book_->entries) + 24;
    heap_.write([&] { *size = static_cast<std::byte>(static_cast<int>(*size) + 1); });
    heap_.close();
    heap again = heap::open_existing(dir_ / "h", small_heap());
    EXPECT_TRUE(again.verify().clean()); // not named yet
    ASSERT_NE(again.find_root<book>("book"), nullptr);
    EXPECT_FALSE(again.verify().clean());
    // Another root of that name, of another type, and back again.
    try {
        again.write([&] {
            book* const old = again.find_root<book>("book");
            std::byte* const wrong = reinterpret_cast<std::byte*>(&old->entries) + 24;
            *wrong = static_cast<std::byte>(static_cast<int>(*wrong) - 1); // or it could not be destroyed
            again.remove_root<book>("book");
            again.root<structures::hashed>("book");
            EXPECT_TRUE(again.verify().clean());
            throw std::runtime_error("back");
        });
    } catch (const std::runtime_error&) {
    }
    EXPECT_TRUE(again.verify().clean()); // what is known of that name is another type
    ASSERT_NE(again.find_root<book>("book"), nullptr);
    EXPECT_FALSE(again.verify().clean());
}

TEST_F(structure, that_leads_in_a_circle_is_found) {
    // A folder's tree that has the tree around it for its own.
    auto& outer = book_->folders.inside;
    auto& inner = outer.begin()->second.inside;
    const std::uint64_t distance = word_at(&outer) + static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(&outer) -
                                                                                reinterpret_cast<std::byte*>(&inner));
    EXPECT_NE(found_with(&inner, distance).find("in a circle"), std::string::npos);
}

TEST_F(structure, of_containers_that_lie_thousands_deep_in_each_other_is_checked) {
    constexpr std::size_t k_levels = 5'000;
    structures::chest& outermost = heap_.root<structures::chest>("chest");
    structures::chest* innermost = &outermost;
    heap_.write([&] {
        for (std::size_t i = 0; i < k_levels; ++i) {
            innermost->in.resize(2);
            innermost = &innermost->in[i % 2];
        }
        innermost->words.insert(string_pi("found"));
    });
    EXPECT_TRUE(heap_.verify().clean());
    auto* const size = reinterpret_cast<std::byte*>(&innermost->words) + 16;
    EXPECT_NE(found_with(size, word_at(size) + 1), "");
    // In a circle from there to the outermost one, and to the middle.
    const structures::chest* middle = &outermost;
    for (std::size_t i = 0; i < k_levels / 2; ++i)
        middle = &middle->in[i % 2];
    for (const structures::chest* to : {static_cast<const structures::chest*>(&outermost), middle}) {
        const auto words = bytes_of(to->in);
        auto* const place = reinterpret_cast<std::byte*>(&innermost->in);
        const std::size_t link = link_of(to->in);
        const auto before = bytes_of(innermost->in);
        std::memcpy(place, words.data(), sizeof words);
        const auto block = reinterpret_cast<std::uint64_t>(to->in.data());
        const std::string found =
            found_with(place + 8 * link, block - reinterpret_cast<std::uint64_t>(place + 8 * link));
        EXPECT_NE(found.find("in a circle"), std::string::npos) << found;
        std::memcpy(place, before.data(), before.size());
    }
    EXPECT_TRUE(heap_.verify().clean());
}

} // namespace
} // namespace remanence::test
