// check_options::red_zones: who writes behind a block is found out by the commit, by verify(), and by the one who frees it.
#include "fixture.hpp"

#include <remanence/remanence.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace remanence {
namespace guarded {

struct buffer {
    char* bytes = nullptr;
    std::size_t count = 0;
};

namespace {

class red_zones : public ::testing::Test {
protected:
    red_zones()
        : heap_(heap::create(dir_ / "heap", {.checks = {.red_zones = true}})), kept_(&heap_.root<buffer>("buffer")) {}

    static constexpr std::size_t k_bytes = 100;
    char* make_buffer() {
        heap_.write([&] {
            kept_->bytes = heap_.get_allocator<char>().allocate(k_bytes);
            kept_->count = k_bytes;
            std::memset(kept_->bytes, 1, k_bytes);
        });
        return kept_->bytes;
    }

    test::temp_dir dir_;
    heap heap_;
    buffer* kept_;
};

TEST_F(red_zones, a_commit_refuses_what_was_written_behind_a_block_and_can_be_repeated) {
    char* const bytes = make_buffer();
    const std::uint64_t before = heap_.version();
    bytes[k_bytes] = 5;
    try {
        heap_.commit();
        FAIL() << "it was committed";
    } catch (const error& why) {
        EXPECT_EQ(why.reason(), errc::corrupt);
        const auto offset = static_cast<std::uint64_t>(bytes - reinterpret_cast<char*>(heap_.base()));
        EXPECT_NE(std::string(why.what()).find("block at offset " + std::to_string(offset)), std::string::npos)
            << why.what();
    }
    EXPECT_EQ(heap_.version(), before);
    EXPECT_EQ(heap_.verify().problems.size(), 1U);
    heap_.rollback();
    EXPECT_EQ(kept_->bytes[0], 1);
    EXPECT_TRUE(heap_.verify().clean());
    kept_->bytes[0] = 2;
    heap_.commit();
}

TEST_F(red_zones, a_section_that_writes_behind_a_block_is_undone) {
    char* const bytes = make_buffer();
    EXPECT_THROW(heap_.write([&] { std::memset(bytes, 7, k_bytes + 1); }), error);
    EXPECT_EQ(kept_->bytes[0], 1);
    EXPECT_THROW(heap_.write(declared,
                             [&] {
                                 heap_.touch(bytes, k_bytes + 8);
                                 std::memset(bytes, 7, k_bytes + 1);
                             }),
                 error);
    EXPECT_EQ(kept_->bytes[0], 1);
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(red_zones, also_in_blocks_and_chunks_that_no_commit_has_seen) {
    EXPECT_THROW(heap_.write([&] { std::memset(heap_.get_allocator<char>().allocate(3'000'000), 7, 3'000'001); }),
                 error);
    EXPECT_THROW(heap_.write([&] { std::memset(heap_.get_allocator<char>().allocate(5), 7, 6); }), error);
    heap_.write([&] { std::memset(heap_.get_allocator<char>().allocate(3'000'000), 7, 3'000'000); });
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(red_zones, who_frees_such_a_block_or_one_twice_ends_at_once) {
    const auto free_with = [&](const char* name, std::size_t written, int times) {
        heap child = heap::create(dir_ / name, {.checks = {.red_zones = true}});
        char* const bytes = child.get_allocator<char>().allocate(k_bytes);
        std::memset(bytes, 5, written);
        for (int i = 0; i != times; ++i)
            child.get_allocator<char>().deallocate(bytes, k_bytes);
        std::_Exit(0);
    };
    EXPECT_EXIT(free_with("whole", k_bytes, 1), ::testing::ExitedWithCode(0), "");
    EXPECT_DEATH(free_with("behind", k_bytes + 1, 1), "0x[0-9a-f]+: the bytes behind this block were overwritten");
    EXPECT_DEATH(free_with("twice", k_bytes, 2), "not an allocated block of this size");
}

TEST_F(red_zones, containers_work_over_reopening_without_the_option) {
    using book = map<int, string>;
    heap_.write([&] {
        auto& all = heap_.root<book>("book");
        for (int i = 0; i != 2000; ++i)
            all[i] = std::string(static_cast<std::size_t>(i % 300), 'x').c_str();
        for (int i = 0; i < 2000; i += 3)
            all.erase(i);
    });
    heap_.close();
    heap_ = heap::open(dir_ / "heap");
    heap_.write([&] {
        auto& all = heap_.root<book>("book");
        EXPECT_EQ(all.at(1001).size(), 1001U % 300);
        all.clear();
    });
    EXPECT_TRUE(heap_.verify().clean());
    kept_ = &heap_.root<buffer>("buffer");
    make_buffer()[k_bytes + 7] = 0;
    EXPECT_THROW(heap_.commit(), error) << "the file says that it has red zones";
    heap_.rollback();
}

TEST_F(red_zones, blocks_of_c_say_what_was_asked_for_and_are_resized_with_their_red_zones) {
    heap_.close();
    rem_options options{};
    options.size = sizeof options;
    options.kind = REM_SNAPSHOT;
    options.red_zones = true;
    rem_heap* of_c = nullptr;
    ASSERT_EQ(rem_create((dir_ / "c").c_str(), &options, &of_c), REM_OK);
    auto* block = static_cast<char*>(rem_alloc(of_c, 21));
    EXPECT_EQ(rem_usable_size(block), 21U);
    for (const std::size_t bytes :
         {std::size_t{22}, std::size_t{9000}, std::size_t{50'000}, std::size_t{40'000}, std::size_t{10}}) {
        block = static_cast<char*>(rem_realloc(of_c, block, bytes));
        ASSERT_NE(block, nullptr);
        EXPECT_GE(rem_usable_size(block), bytes);
        std::memset(block, 3, rem_usable_size(block));
        EXPECT_EQ(rem_commit(of_c, REM_DURABLE), REM_OK) << rem_last_error()->message;
    }
    for (const std::size_t bytes : {~std::size_t{0}, ~std::size_t{0} - 10, std::size_t{1} << 60U}) {
        EXPECT_EQ(rem_alloc(of_c, bytes), nullptr);
        EXPECT_EQ(rem_realloc(of_c, block, bytes), nullptr);
    }
    void* const aligned = rem_alloc_aligned(of_c, 64 * 1024, 100);
    EXPECT_EQ(rem_usable_size(aligned), 100U);
    EXPECT_EQ(rem_free(aligned), REM_OK);
    EXPECT_EQ(rem_free(aligned), REM_INVALID_ARGUMENT);
    block[rem_usable_size(block)] = 1;
    EXPECT_EQ(rem_commit(of_c, REM_DURABLE), REM_CORRUPT);
    EXPECT_EQ(rem_verify(of_c, nullptr, nullptr, nullptr), REM_CORRUPT);
    EXPECT_EQ(rem_rollback(of_c), REM_OK);
    EXPECT_EQ(rem_close(of_c), REM_OK);
}

} // namespace
} // namespace guarded
} // namespace remanence
