// Heaps whose own addresses are taken: mapped elsewhere if their roots hold no address, and what they take then.

#include "fixture.hpp"

#include "format/root_directory.hpp"

#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::test::elsewhere {

struct readings {
    std::atomic<std::uint64_t> count;
    std::chrono::seconds since;
};
struct tree {
    std::uint64_t number = 0;
    hash_map<int, tree> below;
};

namespace {

using squares = btree_map<std::uint64_t, std::uint64_t>;
using lists = hash_map<string_pi, vector_pi<std::uint64_t>>;
using texts = vector_pi<fragile<std::string>>;
using pointers = map<string, std::uint64_t>;

std::string list_name(std::uint64_t i) { return "the list of number " + std::to_string(i % 10); }
std::string text_of(std::uint64_t i) { return std::string(i % 100, 'x') + std::to_string(i); }

void add(heap& h, std::uint64_t i) {
    h.root<squares>("squares")[i] = i * i;
    h.root<lists>("lists")[string_pi(list_name(i))].push_back(i);
    h.root<packed_map>("packed").emplace(text_of(i), list_name(i));
    h.root<texts>("texts").emplace_back(text_of(i));
}

/// Adds what belongs to the numbers from `begin` on.
void fill(heap& h, std::uint64_t begin, std::uint64_t end) {
    h.write([&] {
        for (std::uint64_t i = begin; i < end; ++i)
            add(h, i);
        h.root<tree>("tree").below[1].below[2].number = end;
        h.root<readings>("readings").count = end;
    });
}

/// How the heap differs from one that was filled up to `end`; empty if it does not.
std::string difference(const heap& h, std::uint64_t end) {
    const auto* all = h.find_root<squares>("squares");
    const auto* by_name = h.find_root<lists>("lists");
    const auto* packed = h.find_root<packed_map>("packed");
    const auto* words = h.find_root<texts>("texts");
    const auto* top = h.find_root<tree>("tree");
    const auto* read = h.find_root<readings>("readings");
    if (all == nullptr || by_name == nullptr || packed == nullptr || words == nullptr || top == nullptr ||
        read == nullptr)
        return "a root is missing";
    if (all->size() != end || by_name->size() != 10 || packed->size() != end || words->size() != end)
        return "there are " + std::to_string(all->size()) + " elements";
    for (std::uint64_t i = 0; i < end; ++i) {
        const auto list = by_name->find(list_name(i));
        const auto entry = packed->find(text_of(i));
        if (all->at(i) != i * i || list == by_name->end() || list->second.at(i / 10) != i || entry == packed->end() ||
            entry->second != list_name(i) || std::string((*words)[i]) != text_of(i))
            return "number " + std::to_string(i) + " is wrong";
    }
    if (top->below.at(1).below.at(2).number != end || read->count != end)
        return "the tree or the readings are of another time";
    const verify_report report = h.verify();
    if (!report.clean())
        return report.problems.front().what;
    const pointer_report leading_out = h.check_pointers();
    return leading_out.clean() ? "" : leading_out.pointers.front().what;
}

/// Changes what the directory says of a root, as another program or damage could have had it.
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
    heap open_to_read() const {
        heap_options reading = small_heap();
        reading.read_only = true;
        return heap::open(file_, reading);
    }
    void expect_base_taken() const {
        const taken_addresses taken(file_);
        EXPECT_TRUE(is_error(error_of([&] { (void)open(); }), errc::base_taken, file_, "taken by"));
        EXPECT_TRUE(is_error(error_of([&] { (void)open_to_read(); }), errc::base_taken, file_, "taken by"));
    }

    temp_dir dir_;
    const fs::path file_ = dir_ / "heap.rem";
    void* own_base_ = nullptr;
};

// Each time all addresses are taken at which it was before, and it is left in another way.
TEST_F(mapped_elsewhere, is_the_same_heap_at_each_of_several_addresses) {
    std::vector<std::unique_ptr<taken_addresses>> taken;
    taken.push_back(std::make_unique<taken_addresses>(own_base_));
    std::set<void*> bases = {own_base_};
    std::uint64_t filled = 100;
    for (int round = 0; round < 3; ++round) {
        heap h = open();
        EXPECT_TRUE(bases.insert(h.base()).second) << "it was at " << h.base() << " before";
        void* const base = h.base();
        EXPECT_EQ(difference(h, filled), "");
        fill(h, filled, filled + 50);
        filled += 50;
        h.root<squares>("squares").clear();
        h.rollback();
        EXPECT_EQ(difference(h, filled), "");
        if (round == 0)
            h.checkpoint();
        if (round == 1)
            h.close();
        h = heap::create(dir_ / ("other" + std::to_string(round)), small_heap()); // closes it, if it is open
        taken.push_back(std::make_unique<taken_addresses>(base));
    }
    EXPECT_EQ(bases.size(), 4);
    taken.clear();
    const heap h = open();
    EXPECT_EQ(h.base(), own_base_);
    EXPECT_EQ(difference(h, filled), "");
}

TEST_F(mapped_elsewhere, recovers_there_and_at_home_what_was_committed_there) {
    const auto killed_elsewhere = [&](std::uint64_t begin, std::uint64_t end) {
        EXPECT_EQ(in_child([&]() -> std::string {
                      const taken_addresses taken(file_);
                      heap h = open();
                      if (h.base() == own_base_)
                          return "it is not elsewhere";
                      if (const std::string different = difference(h, begin); !different.empty())
                          return different;
                      fill(h, begin, end);
                      add(h, 1'000'000); // never committed
                      ::kill(::getpid(), SIGKILL);
                      return {};
                  }),
                  "killed by signal " + std::to_string(SIGKILL));
    };
    killed_elsewhere(100, 200);
    killed_elsewhere(200, 300);
    {
        const taken_addresses taken(file_);
        heap h = open();
        EXPECT_NE(h.base(), own_base_);
        EXPECT_GT(h.stats().recovered_commits, 0);
        EXPECT_EQ(difference(h, 300), "");
    }
    killed_elsewhere(300, 400);
    const heap h = open();
    EXPECT_EQ(h.base(), own_base_);
    EXPECT_GT(h.stats().recovered_commits, 0);
    EXPECT_EQ(difference(h, 400), "");
}

TEST_F(mapped_elsewhere, recovers_there_what_was_committed_at_home) {
    EXPECT_EQ(in_child([&]() -> std::string {
                  heap h = open();
                  fill(h, 100, 200);
                  ::kill(::getpid(), SIGKILL);
                  return {};
              }),
              "killed by signal " + std::to_string(SIGKILL));
    const taken_addresses taken(file_);
    const heap h = open();
    EXPECT_NE(h.base(), own_base_);
    EXPECT_GT(h.stats().recovered_commits, 0);
    EXPECT_EQ(difference(h, 200), "");
}

/// Two ends of a line to another process, which says a word when it has come to a point.
class line {
public:
    line() { EXPECT_EQ(::pipe(ends_), 0); }
    line(const line&) = delete;
    line& operator=(const line&) = delete;
    ~line() {
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    void say() const { EXPECT_EQ(::write(ends_[1], "!", 1), 1); }
    void wait() const {
        char word = 0;
        EXPECT_EQ(::read(ends_[0], &word, 1), 1);
    }

private:
    int ends_[2];
};

TEST_F(mapped_elsewhere, is_read_by_two_processes_at_two_addresses_at_once) {
    const line is_open;
    const line was_read;
    const pid_t child = ::fork(); // before the parent opens it
    if (child == 0) {
        const taken_addresses taken(file_);
        const heap h = open_to_read();
        const bool is_elsewhere = h.base() != own_base_;
        is_open.say();
        was_read.wait();
        ::_exit(is_elsewhere && difference(h, 100).empty() ? 0 : 1);
    }
    is_open.wait();
    const heap h = open_to_read();
    EXPECT_EQ(h.base(), own_base_);
    EXPECT_EQ(difference(h, 100), "");
    EXPECT_TRUE(is_error(error_of([&] { (void)open(); }), errc::in_use, file_, ""));
    was_read.say();
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST_F(mapped_elsewhere, is_in_use_for_who_would_have_it_at_home) {
    const line is_open;
    const pid_t child = ::fork();
    if (child == 0) {
        const taken_addresses taken(file_);
        heap h = open();
        fill(h, 100, 200);
        is_open.say();
        for (;;)
            ::pause();
    }
    is_open.wait();
    EXPECT_TRUE(is_error(error_of([&] { (void)open(); }), errc::in_use, file_, ""));
    EXPECT_TRUE(is_error(error_of([&] { (void)open_to_read(); }), errc::in_use, file_, ""));
    ::kill(child, SIGKILL);
    EXPECT_EQ(::waitpid(child, nullptr, 0), child);
    const heap h = open();
    EXPECT_EQ(h.base(), own_base_);
    EXPECT_EQ(difference(h, 200), "");
}

TEST_F(mapped_elsewhere, is_a_copy_beside_the_heap) {
    const fs::path copy = dir_ / "copy.rem";
    fs::copy_file(file_, copy);
    heap h = open();
    heap other = heap::open(copy, small_heap());
    EXPECT_EQ(h.base(), own_base_);
    EXPECT_NE(other.base(), own_base_);
    fill(other, 100, 150);
    fill(h, 100, 120);
    EXPECT_EQ(difference(h, 120), "");
    EXPECT_EQ(difference(other, 150), "");
    EXPECT_EQ(heap_of(h.find_root<squares>("squares")), &h);
    EXPECT_EQ(heap_of(other.find_root<squares>("squares")), &other);
    other.close();
    heap_options reading = small_heap();
    reading.read_only = true;
    const heap again = heap::open(copy, reading);
    EXPECT_NE(again.base(), own_base_);
    EXPECT_EQ(difference(again, 150), "");
}

// Commits of each kind, beside a thread that spills and one that makes checkpoints.
TEST_F(mapped_elsewhere, takes_all_that_a_heap_takes_at_home) {
    constexpr std::uint64_t k_many = 1'000'000;
    heap_options tight = small_heap();
    tight.log.log_limit_bytes = 64 * KiB;
    tight.memory.dirty_limit_bytes = MiB;
    const auto expect_all = [&](const heap& h) {
        EXPECT_EQ(difference(h, 110), "");
        const auto& numbers = *h.find_root<vector_pi<std::uint64_t>>("numbers");
        ASSERT_EQ(numbers.size(), k_many);
        for (std::uint64_t i = 0; i < k_many; ++i)
            ASSERT_EQ(numbers[i], i + 1);
    };
    {
        const taken_addresses taken(file_);
        heap h = heap::open(file_, tight);
        EXPECT_NE(h.base(), own_base_);
        for (std::uint64_t i = 100; i < 110; ++i) {
            h.write(declared, [&] {
                add(h, i);
                for (std::uint64_t* const changed :
                     {&h.root<tree>("tree").below.at(1).below.at(2).number,
                      reinterpret_cast<std::uint64_t*>(&h.root<readings>("readings").count)}) {
                    h.touch(changed, sizeof *changed);
                    *changed = i + 1;
                }
            });
        }
        auto& numbers = h.root<vector_pi<std::uint64_t>>("numbers");
        for (std::uint64_t i = 0; i < k_many; ++i) {
            numbers.push_back(i);
            if (i % 100'000 == 0)
                h.commit_async().wait();
        }
        h.commit();
        for (std::uint64_t& each : numbers)
            ++each;
        h.commit();
        EXPECT_GT(h.stats().spilled_bytes, 0);
        EXPECT_GT(h.stats().checkpoints, 0);
        numbers.clear();
        numbers.shrink_to_fit();
        h.rollback();
        expect_all(h);
        h.close();
    }
    const heap h = heap::open(file_, tight);
    EXPECT_EQ(h.base(), own_base_);
    expect_all(h);
}

TEST_F(mapped_elsewhere, is_none_with_an_address_in_any_root_until_that_is_removed) {
    heap h = open();
    h.root<pointers>("pointers");
    h.close();
    expect_base_taken();
    h = open();
    EXPECT_EQ(difference(h, 100), "");
    h.remove_root<pointers>("pointers");
    h.close();
    const taken_addresses taken(file_);
    EXPECT_EQ(difference(open(), 100), "");
}

TEST_F(mapped_elsewhere, is_none_when_the_creation_of_a_root_with_an_address_is_in_the_log) {
    const fs::path crashed = dir_ / "crashed.rem";
    heap h = open();
    h.root<pointers>("pointers");
    fs::copy_file(file_, crashed);
    fs::copy_file(log_of(file_), log_of(crashed));
    EXPECT_TRUE(
        is_error(error_of([&] { (void)heap::open(crashed, small_heap()); }), errc::base_taken, crashed, "taken by"));
    h.close();
    h = heap::open(crashed, small_heap()); // nothing was lost
    EXPECT_NE(h.find_root<pointers>("pointers"), nullptr);
    EXPECT_EQ(difference(h, 100), "");
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
    EXPECT_EQ(difference(open(), 100), "");
}

// Nothing leads to it when the heap is opened the next time.
TEST_F(mapped_elsewhere, is_a_heap_with_a_block_of_addresses_that_no_root_leads_to) {
    heap h = open();
    (void)h.make<pointers>();
    h.get_allocator<void*>().allocate(1)[0] = h.base();
    h.commit();
    h.close();
    const taken_addresses taken(file_);
    h = open();
    EXPECT_NE(h.base(), own_base_);
    EXPECT_NE(h.find_root<squares>("squares"), nullptr);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(mapped_elsewhere, takes_nothing_that_may_hold_an_address) {
    {
        const taken_addresses taken(file_);
        heap h = open();
        const auto before = h.stats().allocated_bytes;
        const auto roots = h.roots().size();
        constexpr std::string_view k_why = "not position-independent";
        EXPECT_TRUE(is_error(error_of([&] { h.root<pointers>("pointers"); }), errc::base_taken, file_, k_why));
        EXPECT_TRUE(is_error(error_of([&] { h.root<int*>("pointer"); }), errc::base_taken, file_, k_why));
        EXPECT_TRUE(is_error(error_of([&] { (void)h.make<string>("text"); }), errc::base_taken, file_, k_why));
        EXPECT_TRUE(is_error(error_of([&] { (void)h.make<squares*>(); }), errc::base_taken, file_, "taken by"));
        EXPECT_EQ(h.find_root<pointers>("pointers"), nullptr);
        EXPECT_EQ(h.stats().allocated_bytes, before);
        EXPECT_EQ(h.roots().size(), roots);
        h.destroy(h.make<squares>());
        h.root<squares>("more").emplace(1, 2);
        h.commit();
    }
    heap h = open();
    EXPECT_EQ(h.base(), own_base_);
    EXPECT_EQ(h.root<squares>("more").at(1), 2);
    h.root<pointers>("pointers").emplace("here it may be", 1);
    EXPECT_EQ(difference(h, 100), "");
}

// Types are vouched for by programs, which may change their minds; and bits flip.
TEST_F(mapped_elsewhere, gives_no_root_that_this_program_takes_for_one_with_addresses) {
    heap h = open();
    h.root<pointers>("pointers");
    set_flags(h, "pointers", format::k_root_is_position_independent);
    h.close();
    const taken_addresses taken(file_);
    h = open();
    EXPECT_NE(h.base(), own_base_);
    EXPECT_TRUE(is_error(error_of([&] { h.root<pointers>("pointers"); }), errc::base_taken, file_, "\"pointers\""));
    EXPECT_TRUE(
        is_error(error_of([&] { (void)h.find_root<pointers>("pointers"); }), errc::base_taken, file_, "\"pointers\""));
    EXPECT_TRUE(
        is_error(error_of([&] { h.remove_root<pointers>("pointers"); }), errc::base_taken, file_, "\"pointers\""));
    EXPECT_EQ(difference(h, 100), "");
}

// As roots that were made before there was a flag.
TEST_F(mapped_elsewhere, is_none_that_does_not_say_of_every_root_that_it_may_be) {
    heap h = open();
    set_flags(h, "lists", 0);
    h.close();
    expect_base_taken();
    h = open();
    EXPECT_EQ(h.base(), own_base_);
    EXPECT_EQ(difference(h, 100), "");
}

TEST_F(mapped_elsewhere, is_none_with_flags_that_are_not_known) {
    heap h = open();
    set_flags(h, "lists", 3);
    EXPECT_TRUE(is_error(error_of([&] { (void)h.find_root<lists>("lists"); }), errc::corrupt, file_, "root directory"));
    h.close();
    const taken_addresses taken(file_);
    EXPECT_TRUE(is_error(error_of([&] { (void)open(); }), errc::corrupt, file_, "root directory"));
}

TEST_F(mapped_elsewhere, is_none_that_is_open_already) {
    const heap h = open_to_read();
    EXPECT_TRUE(is_error(error_of([&] { (void)open_to_read(); }), errc::in_use, file_, "in this process"));
    EXPECT_TRUE(is_error(error_of([&] { (void)open(); }), errc::in_use, file_, ""));
}

TEST_F(mapped_elsewhere, is_an_empty_heap) {
    const fs::path empty = dir_ / "empty.rem";
    const void* const base = heap::create(empty, small_heap()).base();
    {
        const taken_addresses taken(empty);
        heap h = heap::open(empty, small_heap());
        EXPECT_NE(h.base(), base);
        fill(h, 0, 20);
    }
    const heap h = heap::open(empty, small_heap());
    EXPECT_EQ(h.base(), base);
    EXPECT_EQ(difference(h, 20), "");
}

TEST_F(mapped_elsewhere, is_the_file_of_a_container_that_is_opened_as_a_heap) {
    const fs::path one = dir_ / "one.rem";
    file_backed<squares>(one)->emplace(3, 9);
    const taken_addresses taken(one);
    {
        heap h = heap::open(one, small_heap());
        h.root<squares>("container").emplace(4, 16);
        h.commit();
    }
    const file_backed<squares> container(one);
    EXPECT_EQ(container->at(3), 9);
    EXPECT_EQ(container->at(4), 16);
}

} // namespace
} // namespace remanence::test::elsewhere
