// Arenas: parts of a heap in which what belongs together lies together.
#include "fixture.hpp"

#include "api/heap_impl.hpp"
#include "support/seed.hpp"

#include <remanence/arena.hpp>
#include <remanence/inspect.hpp>

#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace remanence::test::arenas {

namespace {

using word_index = map<string, std::uint64_t>;

constexpr arena_options k_small{.room_bytes = 4 * MiB};

string word(int i) {
    return string("a word that is too long for the buffer inside a string, number " + std::to_string(i));
}

class heap_with_arenas : public testing::Test {
protected:
    heap open() { return heap::open(path_, small_heap()); }
    void put_words(word_index& into, int begin, int end) {
        for (int i = begin; i != end; ++i)
            into[word(i)] = static_cast<std::uint64_t>(i);
    }
    static testing::AssertionResult has_words(const word_index& all, int count) {
        if (all.size() != static_cast<std::size_t>(count))
            return testing::AssertionFailure() << all.size() << " words";
        for (int i = 0; i != count; ++i) {
            const auto found = all.find(word(i));
            if (found == all.end() || found->second != static_cast<std::uint64_t>(i))
                return testing::AssertionFailure() << "word " << i << " is wrong";
        }
        return testing::AssertionSuccess();
    }
    static std::uint64_t allocated_in(const heap& h, std::string_view name) {
        for (const arena_info& each : arena::all(h)) {
            if (each.name == name)
                return each.allocated_bytes;
        }
        return 0;
    }
    static testing::AssertionResult is_clean(const heap& h) {
        const verify_report found = h.verify();
        return found.clean() ? testing::AssertionSuccess() : testing::AssertionFailure() << found.problems.front().what;
    }

    temp_dir dir_ = temp_dir::in_memory();
    fs::path path_ = dir_ / "h";
};

TEST_F(heap_with_arenas, have_all_of_a_container_in_them_also_after_reopening) {
    {
        heap h = open();
        auto& words = arena::open(h, "words", k_small).root<word_index>("words");
        h.write([&] { put_words(words, 0, 500); });
        h.close();
    }
    heap h = open();
    EXPECT_EQ(arena::all(h).size(), 1U);
    auto* const words = h.find_root<word_index>("words");
    ASSERT_NE(words, nullptr);
    const std::uint64_t in_arena = allocated_in(h, "words");
    const std::uint64_t beside = h.stats().allocated_bytes - in_arena;
    EXPECT_GT(in_arena, 500 * 50U);
    h.write([&] { put_words(*words, 500, 1000); });
    EXPECT_TRUE(has_words(*words, 1000));
    EXPECT_GT(allocated_in(h, "words"), in_arena + 500 * 50U);
    EXPECT_EQ(h.stats().allocated_bytes - allocated_in(h, "words"), beside);
    const txn::heap_memory& memory = detail::impl_of(h).memory();
    const std::byte* const home = memory.owner_of(words);
    EXPECT_NE(home, h.base());
    for (const auto& [text, number] : *words)
        EXPECT_EQ(memory.owner_of(text.data()), home);
    EXPECT_TRUE(is_clean(h));
    h.close();
    const inspect::report looked = inspect::verify(path_.string());
    EXPECT_TRUE(looked.problems.empty());
    EXPECT_GT(looked.checked.blocks, 1000U);
}

TEST_F(heap_with_arenas, end_at_once_with_their_roots) {
    heap h = open();
    auto& beside = h.root<word_index>("beside");
    h.write([&] { put_words(beside, 0, 100); });
    const std::uint64_t before = h.stats().allocated_bytes;
    for (int round = 0; round != 3; ++round) { // where the one before has left its bytes
        auto& words = arena::open(h, "words", k_small).root<word_index>("words");
        h.write([&] { put_words(words, 0, 5000); });
        EXPECT_TRUE(has_words(words, 5000));
        EXPECT_TRUE(is_clean(h));
        EXPECT_TRUE(arena::destroy(h, "words"));
        EXPECT_FALSE(arena::destroy(h, "words"));
        EXPECT_EQ(h.find_root<word_index>("words"), nullptr);
        EXPECT_EQ(h.stats().allocated_bytes, before);
        EXPECT_TRUE(is_clean(h));
    }
    EXPECT_TRUE(has_words(beside, 100));
}

TEST_F(heap_with_arenas, come_and_go_with_the_section) {
    heap h = open();
    auto& words = arena::open(h, "words", k_small).root<word_index>("words");
    h.write([&] { put_words(words, 0, 10); });
    const auto fail = [&](const auto& f) {
        EXPECT_THROW(h.write([&] {
            f();
            throw std::runtime_error("no");
        }),
                     std::runtime_error);
        EXPECT_TRUE(has_words(words, 10));
        EXPECT_TRUE(is_clean(h));
    };
    fail([&] { arena::destroy(h, "words"); });
    fail([&] { put_words(words, 10, 5000); }); // sections of the arena that were not reached before
    fail([&] {
        auto& others = arena::open(h, "others", k_small).root<word_index>("others");
        put_words(others, 0, 5000);
    });
    EXPECT_FALSE(arena::find(h, "others"));
    EXPECT_TRUE(arena::find(h, "words"));
    auto& others = arena::open(h, "others", k_small).root<word_index>("others"); // where that one has been
    h.write([&] {
        put_words(others, 0, 5000);
        put_words(words, 10, 5000);
    });
    EXPECT_TRUE(has_words(others, 5000));
    EXPECT_TRUE(has_words(words, 5000));
    EXPECT_TRUE(is_clean(h));
}

TEST_F(heap_with_arenas, are_as_of_the_last_commit_when_the_process_dies) {
    const pid_t child = ::fork();
    if (child == 0) {
        heap h = open();
        auto& words = arena::open(h, "words", k_small).root<word_index>("words");
        h.write([&] { put_words(words, 0, 2000); });
        h.write([&] { put_words(words, 2000, 3000); });
        put_words(words, 3000, 5000);
        (void)arena::open(h, "others", k_small).make<word_index>(); // commits that, too
        put_words(words, 5000, 6000);
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
    heap h = open();
    EXPECT_TRUE(has_words(*h.find_root<word_index>("words"), 5000));
    EXPECT_TRUE(is_clean(h));
    EXPECT_EQ(arena::all(h).size(), 2U);
}

TEST_F(heap_with_arenas, exchange_elements_by_copies) {
    heap h = open();
    const arena first = arena::open(h, "first", k_small);
    const arena second = arena::open(h, "second", k_small);
    EXPECT_EQ(first.get_allocator(), arena::find(h, "first")->get_allocator());
    EXPECT_NE(first.get_allocator(), second.get_allocator());
    EXPECT_NE(first.get_allocator(), h.get_allocator());
    auto& in_first = first.root<word_index>("in first");
    auto& in_second = second.root<word_index>("in second");
    auto& in_heap = h.root<word_index>("in heap");
    h.write([&] {
        put_words(in_first, 0, 300);
        in_second = in_first;
        in_heap = std::move(in_second);
    });
    EXPECT_TRUE(has_words(in_first, 300));
    EXPECT_TRUE(has_words(in_heap, 300));
    EXPECT_TRUE(arena::destroy(h, "first"));
    EXPECT_TRUE(arena::destroy(h, "second"));
    EXPECT_TRUE(has_words(in_heap, 300));
    EXPECT_TRUE(is_clean(h));
}

TEST_F(heap_with_arenas, are_full_when_their_room_is) {
    heap h = open();
    const arena small = arena::open(h, "small", {.room_bytes = MiB});
    auto& list = small.root<std::vector<std::uint64_t, allocator<std::uint64_t>>>("list");
    EXPECT_THROW(h.write([&] { list.resize(MiB); }), std::bad_alloc);
    h.write([&] { list.resize(MiB / 16); });
    EXPECT_TRUE(is_clean(h));
    h.write([&] { h.root<word_index>("beside")[word(1)] = 1; });
    for (const char* const name : {"", "x"}) {
        for (const std::uint64_t room : {std::uint64_t{0}, 3 * MiB, MiB / 2, std::uint64_t{1} << 60}) {
            EXPECT_THROW((void)arena::open(h, name, {.room_bytes = room}), std::exception) << room;
        }
    }
    EXPECT_THROW((void)arena::open(h, std::string(128, 'x'), k_small), error);
    EXPECT_EQ(arena::open(h, "small", {.room_bytes = 3}).get_allocator(), small.get_allocator()); // it is there
    h.close();
    EXPECT_THROW((void)small.make<int>(1), error);
    EXPECT_THROW(small.advise(paging::keep), error);
}

TEST_F(heap_with_arenas, take_any_advice) {
    heap h = open();
    const arena words = arena::open(h, "words", k_small);
    auto& index = words.root<word_index>("words");
    for (const paging how : {paging::sequential, paging::random, paging::prefetch, paging::keep, paging::usual}) {
        words.advise(how);
        h.write([&] { put_words(index, 0, 2000); });
        EXPECT_TRUE(has_words(index, 2000));
        h.checkpoint();
    }
    EXPECT_TRUE(is_clean(h));
}

TEST(arenas_on_a_disk, have_no_more_in_memory_than_they_may) {
    const temp_dir dir;
    constexpr std::uint64_t k_limit = MiB / 2;
    heap h = heap::open(dir / "h", small_heap());
    const arena limited = arena::open(h, "limited", {.room_bytes = 64 * MiB, .resident_limit_bytes = k_limit});
    auto& bytes = limited.root<std::vector<char, allocator<char>>>("bytes");
    h.write([&] { bytes.assign(4 * MiB, 'x'); });
    h.checkpoint();
    h.close();
    h = heap::open(dir / "h", small_heap());
    const auto& again = *h.find_root<std::vector<char, allocator<char>>>("bytes");
    EXPECT_EQ(std::count(again.begin(), again.end(), 'x'), static_cast<std::ptrdiff_t>(4 * MiB));
    EXPECT_GT(arena::all(h).front().resident_bytes, 2 * MiB);
    h.write([&] { (void)h.root<std::uint64_t>("beside"); });
    EXPECT_LE(arena::all(h).front().resident_bytes, k_limit);
    EXPECT_EQ(std::count(again.begin(), again.end(), 'x'), static_cast<std::ptrdiff_t>(4 * MiB));
}

/// Random requests in two arenas and the heap around them, against a model of what the program believes to have.
TEST_F(heap_with_arenas, keep_blocks_apart_and_intact) {
    std::mt19937_64 random(test::random_seed());
    struct content {
        std::size_t bytes;
        unsigned char fill;
    };
    using blocks = std::map<char*, content>; // by address
    blocks now;
    blocks committed;
    heap h = open();
    const auto expect_intact = [&](const blocks::value_type& of) {
        EXPECT_EQ(std::count(of.first, of.first + of.second.bytes, static_cast<char>(of.second.fill)),
                  static_cast<std::ptrdiff_t>(of.second.bytes));
    };
    for (int step = 0; step != 400 && !HasFailure(); ++step) {
        switch (random() % 64) {
        case 0:
            h.commit();
            committed = now;
            break;
        case 1:
            h.rollback();
            now = committed;
            break;
        case 2:
            h.close();
            h = open();
            now = committed;
            for (const auto& each : now)
                expect_intact(each);
            EXPECT_TRUE(is_clean(h));
            break;
        case 3:
            std::erase_if(now, [&](const auto& each) { // what lies in an arena is gone, all else is committed with that
                return detail::impl_of(h).memory().owner_of(each.first) != h.base();
            });
            if (arena::all(h).empty())
                break;
            arena::destroy(h, "a");
            arena::destroy(h, "b");
            committed = now;
            break;
        default: {
            const std::size_t bytes = random() % 8 == 0 ? random() % 100'000 + 1 : random() % 300 + 1;
            if (random() % 3 != 0) {
                const std::uint64_t where = random() % 3;
                const bool is_new = where != 0 && !arena::find(h, where == 1 ? "a" : "b");
                auto from =
                    where == 0 ? h.get_allocator<char>()
                               : arena::open(h, where == 1 ? "a" : "b", {.room_bytes = 64 * MiB}).get_allocator<char>();
                if (is_new)
                    committed = now; // made by a commit
                char* const got = from.allocate(bytes);
                const auto next = now.lower_bound(got);
                ASSERT_TRUE(next == now.end() || got + bytes <= next->first);
                ASSERT_TRUE(next == now.begin() || std::prev(next)->first + std::prev(next)->second.bytes <= got);
                const auto fill = static_cast<unsigned char>(step);
                std::memset(got, fill, bytes);
                now[got] = {bytes, fill};
            } else if (!now.empty()) {
                const auto at = std::next(now.begin(), static_cast<std::ptrdiff_t>(random() % now.size()));
                expect_intact(*at);
                h.get_allocator<char>().deallocate(at->first, at->second.bytes); // whatever it lies in
                now.erase(at);
            }
        }
        }
    }
    EXPECT_TRUE(is_clean(h));
    EXPECT_GE(h.verify().blocks_checked, now.size());
}

} // namespace

} // namespace remanence::test::arenas
