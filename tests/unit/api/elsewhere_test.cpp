// Heaps whose own addresses are taken: mapped elsewhere if their roots hold no address, and what they take then.

#include "fixture.hpp"

#include "format/root_directory.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace remanence::test {

struct readings {
    std::atomic<std::uint64_t> count;
    std::chrono::seconds since;
};
struct tree { // of itself, so nobody asks what it is
    int number = 0;
    hash_map<int, tree> below;
};

namespace {

using squares = btree_map<std::uint64_t, std::uint64_t>;
using lists = hash_map<string_pi, vector_pi<std::uint64_t>>;
using pointers = map<string, std::uint64_t>;

void fill(heap& h, std::uint64_t begin, std::uint64_t end) {
    h.write([&] {
        auto& all = h.root<squares>("squares");
        auto& by_name = h.root<lists>("lists");
        for (std::uint64_t i = begin; i < end; ++i) {
            all[i] = i * i;
            by_name[string_pi("the list of number " + std::to_string(i % 10))].push_back(i);
        }
        h.root<readings>("readings").count = end;
    });
}

void expect_filled(const heap& h, std::uint64_t end) {
    const auto* all = h.find_root<squares>("squares");
    const auto* by_name = h.find_root<lists>("lists");
    ASSERT_TRUE(all != nullptr && by_name != nullptr);
    ASSERT_EQ(all->size(), end);
    for (std::uint64_t i = 0; i < end; ++i) {
        EXPECT_EQ(all->at(i), i * i);
        EXPECT_EQ(by_name->at(string_pi("the list of number " + std::to_string(i % 10)))[i / 10], i);
    }
    EXPECT_EQ(h.find_root<readings>("readings")->count, end);
    EXPECT_TRUE(h.verify().clean());
    EXPECT_TRUE(h.check_pointers().clean());
}

/// Changes what the directory says of a root, as another program could have had it.
void set_flags(heap& h, std::string_view root, std::uint32_t flags) {
    h.write([&] {
        const std::string_view memory(static_cast<const char*>(h.base()), MiB);
        const std::size_t name = memory.find(root);
        ASSERT_NE(name, memory.npos);
        auto* entry = reinterpret_cast<format::root_entry*>(static_cast<std::byte*>(h.base()) + name) - 1;
        ASSERT_EQ(entry->name_bytes, root.size());
        entry->flags = flags;
    });
}

class mapped_elsewhere : public testing::Test {
protected:
    mapped_elsewhere() {
        heap h = heap::create(file_, small_heap());
        own_base_ = h.base();
        fill(h, 0, 100);
        h.close();
    }
    heap open() const { return heap::open(file_, small_heap()); }
    void expect_base_taken() const {
        const taken_addresses taken(file_);
        EXPECT_TRUE(is_error(error_of([&] { (void)open(); }), errc::base_taken, file_, "taken by"));
    }

    temp_dir dir_;
    const fs::path file_ = dir_ / "heap.rem";
    void* own_base_ = nullptr;
};

TEST_F(mapped_elsewhere, is_a_heap_whose_roots_hold_no_address) {
    const fs::path crashed = dir_ / "crashed.rem";
    {
        const taken_addresses taken(file_);
        heap h = open();
        EXPECT_NE(h.base(), own_base_);
        expect_filled(h, 100);
        fill(h, 100, 200);
        h.root<squares>("squares").clear();
        h.rollback();
        expect_filled(h, 200);
        fs::copy_file(file_, crashed);
        fs::copy_file(log_of(file_), log_of(crashed));
    }
    for (const fs::path& each : {file_, crashed}) {
        const heap h = heap::open_existing(each, small_heap());
        EXPECT_EQ(h.base(), own_base_);
        expect_filled(h, 200);
    }
}

TEST_F(mapped_elsewhere, is_a_copy_beside_the_heap) {
    const fs::path copy = dir_ / "copy.rem";
    fs::copy_file(file_, copy);
    heap h = open();
    heap other = heap::open(copy);
    EXPECT_EQ(h.base(), own_base_);
    EXPECT_NE(other.base(), own_base_);
    fill(other, 100, 150);
    expect_filled(h, 100);
    expect_filled(other, 150);
    other.close();
    heap_options reading = small_heap();
    reading.read_only = true;
    const heap again = heap::open(copy, reading);
    EXPECT_NE(again.base(), own_base_);
    expect_filled(again, 150);
}

TEST_F(mapped_elsewhere, is_none_with_an_address_in_any_root_until_that_is_removed) {
    heap h = open();
    h.root<pointers>("pointers");
    h.close();
    expect_base_taken();
    h = open();
    expect_filled(h, 100);
    h.remove_root<pointers>("pointers");
    h.close();
    const taken_addresses taken(file_);
    expect_filled(open(), 100);
}

TEST_F(mapped_elsewhere, is_none_when_the_creation_of_a_root_with_an_address_is_in_the_log) {
    heap h = open();
    h.root<pointers>("pointers");
    fs::copy_file(file_, dir_ / "crashed.rem");
    fs::copy_file(log_of(file_), log_of(dir_ / "crashed.rem"));
    EXPECT_TRUE(is_error(error_of([&] { (void)heap::open(dir_ / "crashed.rem", small_heap()); }), errc::base_taken,
                         dir_ / "crashed.rem", "taken by"));
}

TEST_F(mapped_elsewhere, is_a_heap_in_which_such_a_root_was_undone) {
    heap h = open();
    EXPECT_THROW(h.write([&] {
        h.root<pointers>("pointers");
        throw std::runtime_error("changed its mind");
    }),
                 std::runtime_error);
    h.close();
    const taken_addresses taken(file_);
    expect_filled(open(), 100);
}

TEST_F(mapped_elsewhere, takes_nothing_that_may_hold_an_address) {
    {
        const taken_addresses taken(file_);
        heap h = open();
        const auto before = h.stats().allocated_bytes;
        constexpr std::string_view k_why = "not position-independent";
        EXPECT_TRUE(is_error(error_of([&] { h.root<pointers>("pointers"); }), errc::base_taken, file_, k_why));
        EXPECT_TRUE(is_error(error_of([&] { h.root<int*>("pointer"); }), errc::base_taken, file_, k_why));
        EXPECT_TRUE(is_error(error_of([&] { h.root<tree>("tree"); }), errc::base_taken, file_, k_why));
        EXPECT_TRUE(is_error(error_of([&] { (void)h.make<string>("text"); }), errc::base_taken, file_, k_why));
        EXPECT_TRUE(is_error(error_of([&] { (void)h.make<squares*>(); }), errc::base_taken, file_, k_why));
        EXPECT_EQ(h.find_root<pointers>("pointers"), nullptr);
        EXPECT_EQ(h.stats().allocated_bytes, before);
        EXPECT_EQ(h.roots().size(), 3);
        h.destroy(h.make<squares>());
        h.root<squares>("more").emplace(1, 2);
        h.commit();
    }
    heap h = open();
    EXPECT_EQ(h.base(), own_base_);
    EXPECT_EQ(h.root<squares>("more").at(1), 2);
    h.root<pointers>("pointers").emplace("here it may be", 1);
    h.root<tree>("tree").below[1].below[2].number = 3;
    expect_filled(h, 100);
}

// Types are vouched for by programs, which may change their minds.
TEST_F(mapped_elsewhere, gives_no_root_that_this_program_takes_for_one_with_addresses) {
    heap h = open();
    h.root<pointers>("pointers");
    set_flags(h, "pointers", format::k_root_is_position_independent);
    h.close();
    const taken_addresses taken(file_);
    h = open();
    EXPECT_TRUE(is_error(error_of([&] { h.root<pointers>("pointers"); }), errc::base_taken, file_, "\"pointers\""));
    EXPECT_TRUE(
        is_error(error_of([&] { (void)h.find_root<pointers>("pointers"); }), errc::base_taken, file_, "\"pointers\""));
    EXPECT_TRUE(
        is_error(error_of([&] { h.remove_root<pointers>("pointers"); }), errc::base_taken, file_, "\"pointers\""));
    expect_filled(h, 100);
}

TEST_F(mapped_elsewhere, is_none_that_does_not_say_of_every_root_that_it_may_be) {
    heap h = open();
    set_flags(h, "lists", 0);
    h.close();
    expect_base_taken();
}

TEST_F(mapped_elsewhere, is_none_that_is_open_already) {
    heap_options reading = small_heap();
    reading.read_only = true;
    const heap h = heap::open(file_, reading);
    EXPECT_TRUE(is_error(error_of([&] { (void)heap::open(file_, reading); }), errc::in_use, file_, "in this process"));
}

TEST_F(mapped_elsewhere, is_an_empty_heap) {
    const fs::path empty = dir_ / "empty.rem";
    const void* const base = heap::create(empty, small_heap()).base();
    {
        const taken_addresses taken(empty);
        heap h = heap::open(empty, small_heap());
        EXPECT_NE(h.base(), base);
        fill(h, 0, 10);
    }
    const heap h = heap::open(empty, small_heap());
    EXPECT_EQ(h.base(), base);
    expect_filled(h, 10);
}

} // namespace
} // namespace remanence::test
