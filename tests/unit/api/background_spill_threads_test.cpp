// Programs that change more of a heap than memory may hold, and never call the library while they do. Run under the thread
// sanitizer, too.

#include "support/waiting.hpp"
#include "unit/api/fixture.hpp"

#include <thread>

namespace remanence::test {
namespace {

class background_spill_threads : public testing::Test {
protected:
    static constexpr std::size_t k_words = 24 * MiB / sizeof(std::uint64_t);
    static constexpr std::size_t k_words_of_page = k_page_bytes / sizeof(std::uint64_t);
    static constexpr std::uint64_t k_dirty_limit = 2 * MiB; // the least there is

    void SetUp() override {
        open();
        heap_->root<numbers>("words", k_words, std::uint64_t{1});
        heap_->commit();
        reopen();
    }
    void open() {
        heap_options options = small_heap();
        options.memory.dirty_limit_bytes = k_dirty_limit;
        heap_.emplace(heap::open(directory_.path() / "h", options));
    }
    /// So that memory is mapped from the file.
    void reopen() {
        heap_->close();
        open();
    }
    numbers& words() { return *heap_->find_root<numbers>("words"); }
    /// Until the heap's thread has come to it.
    [[nodiscard]] bool are_spilled(std::uint64_t bytes) const {
        return comes_true([&] { return heap_->stats().spilled_bytes >= bytes; });
    }
    static void write_each(numbers& into, std::size_t first, std::size_t end, std::size_t step, std::uint64_t value) {
        for (std::size_t i = first; i < end; i += step)
            into[i] = value + i;
    }
    void expect(std::size_t step, std::uint64_t value) {
        const numbers& found = words();
        for (std::size_t i = 0; i < k_words; ++i)
            ASSERT_EQ(found[i], i % step == 0 ? value + i : 1) << i;
        EXPECT_TRUE(heap_->verify().clean());
    }

    temp_dir directory_;
    std::optional<heap> heap_;
};

TEST_F(background_spill_threads, all_of_it_in_one_commit) {
    heap_->write([&] {
        write_each(words(), 0, k_words, 1, 5);
        EXPECT_TRUE(are_spilled(k_words * sizeof(std::uint64_t) / 2));
        expect(1, 5);
    });
    expect(1, 5);
    reopen();
    expect(1, 5);
}

TEST_F(background_spill_threads, one_word_of_each_page_and_again) {
    heap_->write([&] {
        write_each(words(), 0, k_words, k_words_of_page, 5);
        EXPECT_TRUE(are_spilled(MiB));
        write_each(words(), 0, k_words, k_words_of_page, 6);
    });
    expect(k_words_of_page, 6);
    reopen();
    expect(k_words_of_page, 6);
}

TEST_F(background_spill_threads, a_rollback_undoes_it) {
    try {
        heap_->write([&] {
            write_each(words(), 0, k_words, 1, 5);
            EXPECT_TRUE(are_spilled(MiB));
            throw std::runtime_error("no");
        });
    } catch (const std::runtime_error&) { // NOLINT(bugprone-empty-catch)
    }
    for (const std::uint64_t word : words())
        ASSERT_EQ(word, 1U);
    EXPECT_TRUE(heap_->verify().clean());
}

TEST_F(background_spill_threads, while_threads_write) {
    heap_->write([&] {
        numbers& all = words();
        constexpr std::size_t k_half = k_words / 2;
        for (std::uint64_t round = 0; round < 3; ++round) {
            std::thread other([&] { write_each(all, 0, k_half, 1, round); });
            write_each(all, k_half, k_words, 1, round);
            other.join();
        }
        EXPECT_TRUE(are_spilled(MiB));
    });
    expect(1, 2);
    reopen();
    expect(1, 2);
}

TEST_F(background_spill_threads, of_changes_outside_any_section) {
    write_each(words(), 0, k_words, 1, 5);
    EXPECT_TRUE(are_spilled(MiB));
    heap_->commit();
    reopen();
    expect(1, 5);
}

TEST_F(background_spill_threads, of_a_section_that_was_only_tried_for) {
    numbers& all = words();
    ASSERT_TRUE(heap_->try_lock());
    write_each(all, 0, k_words, 1, 5);
    EXPECT_TRUE(are_spilled(MiB));
    heap_->commit();
    heap_->unlock();
    expect(1, 5);
}

// When its first section begins, there is nothing to be watched.
TEST_F(background_spill_threads, of_a_heap_that_was_small) {
    heap_options options = small_heap();
    options.memory.dirty_limit_bytes = k_dirty_limit;
    heap small = heap::create(directory_.path() / "small", options);
    small.write([&] {
        std::uint64_t* const block = small.get_allocator<std::uint64_t>().allocate(k_words);
        for (std::size_t i = 0; i < k_words; ++i)
            block[i] = i + 1;
        EXPECT_TRUE(comes_true([&] { return small.stats().spilled_bytes >= MiB; }));
    });
    small.close();
}

TEST_F(background_spill_threads, a_heap_that_is_closed_meanwhile_is_as_it_was) {
    write_each(words(), 0, k_words, 1, 5);
    heap_->write([] {});
    write_each(words(), 0, k_words, 1, 6);
    reopen();
    expect(1, 5);
}

} // namespace
} // namespace remanence::test
