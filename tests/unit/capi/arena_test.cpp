// Arenas by the C interface.
#include "fixture.hpp"

#include <cstring>

namespace remanence::test {

namespace {

class c_arenas : public c_heap {
protected:
    rem_arena* arena(const char* name) {
        rem_arena_options options{};
        options.size = sizeof options;
        options.room_bytes = std::size_t{4} << 20;
        rem_arena* found = nullptr;
        EXPECT_OK(rem_arena_open(heap, name, &options, &found));
        return found;
    }
};

TEST_F(c_arenas, are_found_again_and_end_with_blocks_and_roots) {
    open();
    rem_arena* const made = arena("a");
    EXPECT_EQ(rem_heap_of(made), heap);
    ASSERT_OK(rem_write_begin(heap));
    auto* const block = static_cast<char*>(rem_arena_alloc(made, 100));
    ASSERT_NE(block, nullptr);
    std::strcpy(block, "contents");
    ASSERT_OK(rem_root_set(heap, "block", block));
    ASSERT_OK(rem_write_end(heap));
    reopen();
    EXPECT_EQ(arena("a"), made);
    auto* const found = static_cast<char*>(rem_root_get(heap, "block"));
    EXPECT_STREQ(found, "contents");
    const auto distance = [&](const void* address) {
        return static_cast<std::size_t>(static_cast<const char*>(address) - reinterpret_cast<const char*>(made));
    };
    auto* const longer = static_cast<char*>(rem_realloc(heap, found, 100'000)); // it stays in the arena
    EXPECT_STREQ(longer, "contents");
    EXPECT_LT(distance(longer), std::size_t{4} << 20);
    EXPECT_OK(rem_root_set(heap, "block", longer));
    void* const other = rem_arena_alloc(made, 10);
    EXPECT_OK(rem_free(other));
    EXPECT_STATUS(rem_free(other), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_free(made), REM_INVALID_ARGUMENT);
    EXPECT_OK(rem_arena_advise(heap, "a", REM_PAGING_RANDOM));
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
    ASSERT_OK(rem_arena_destroy(heap, "a"));
    EXPECT_EQ(rem_root_get(heap, "block"), nullptr);
    EXPECT_EQ(rem_arena_alloc(made, 10), nullptr);
    EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

TEST_F(c_arenas, of_a_snapshot_heap_are_there_when_it_was_committed) {
    open(REM_SNAPSHOT);
    std::uint64_t before = 0;
    ASSERT_OK(rem_version(heap, &before));
    rem_arena* const made = arena("a");
    std::uint64_t after = 0;
    ASSERT_OK(rem_version(heap, &after));
    EXPECT_EQ(after, before);
    ASSERT_OK(rem_rollback(heap));
    EXPECT_STATUS(rem_arena_destroy(heap, "a"), REM_NOT_FOUND);
    EXPECT_EQ(rem_arena_alloc(made, 10), nullptr);
    EXPECT_NE(rem_arena_alloc(arena("a"), 10), nullptr);
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    ASSERT_OK(rem_rollback(heap));
    EXPECT_OK(rem_arena_destroy(heap, "a"));
}

TEST_F(c_arenas, mistakes_are_a_status) {
    open();
    rem_arena* made = nullptr;
    int local = 0;
    EXPECT_STATUS(rem_arena_open(heap, nullptr, nullptr, &made), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_arena_open(heap, "", nullptr, &made), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_arena_open(heap, "a", nullptr, nullptr), REM_INVALID_ARGUMENT);
    rem_arena_options options{};
    EXPECT_STATUS(rem_arena_open(heap, "a", &options, &made), REM_INVALID_ARGUMENT); // no size
    options.size = sizeof options;
    options.room_bytes = 12345;
    EXPECT_STATUS(rem_arena_open(heap, "a", &options, &made), REM_INVALID_ARGUMENT);
    EXPECT_EQ(made, nullptr);
    EXPECT_STATUS(rem_arena_advise(heap, "a", REM_PAGING_KEEP), REM_NOT_FOUND);
    made = arena("a");
    EXPECT_STATUS(rem_arena_advise(heap, "a", static_cast<rem_paging>(9)), REM_INVALID_ARGUMENT);
    for (void* const wrong : {static_cast<void*>(nullptr), static_cast<void*>(&local), rem_base(heap),
                              static_cast<void*>(reinterpret_cast<char*>(made) + 4096)}) {
        EXPECT_EQ(rem_arena_alloc(static_cast<rem_arena*>(wrong), 10), nullptr);
        EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
    }
    EXPECT_EQ(rem_arena_alloc(made, std::size_t{8} << 20), nullptr);
    EXPECT_EQ(last_status(), REM_EXHAUSTED);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

} // namespace

} // namespace remanence::test
