// Leaked blocks of heaps with a file, told to C programs.
#include "fixture.hpp"

#include "support/calls.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace remanence::test {

namespace {

/// What rem_find_leaks() told.
struct found_leaks {
    std::size_t blocks = 0;
    std::size_t bytes = 0;
    std::size_t place_blocks = 0;
    std::size_t requested_bytes = 0;
    std::vector<std::string> calls; // of the first place

    static void note(void* into, const rem_leaks* leaks) {
        auto& told = *static_cast<found_leaks*>(into);
        told = {leaks->blocks, leaks->bytes, 0, 0, {}};
        for (std::size_t i = 0; i != leaks->place_count; ++i) {
            told.place_blocks += leaks->places[i].blocks;
            told.requested_bytes += leaks->places[i].requested_bytes;
        }
        if (leaks->place_count != 0)
            told.calls.assign(leaks->places[0].calls, leaks->places[0].calls + leaks->places[0].call_count);
    }
};

class c_leaks : public c_heap {
protected:
    void open_noting(unsigned frames) {
        rem_options options = options_of(REM_SNAPSHOT);
        options.leak_frames = frames;
        ASSERT_OK(rem_open(path.c_str(), &options, &heap));
    }
    account* add(account* next) {
        auto* const made = static_cast<account*>(rem_calloc(heap, 1, sizeof(account)));
        *made = {48, next}; // a number that could be a distance
        return made;
    }
    found_leaks found() {
        found_leaks told;
        EXPECT_OK(rem_find_leaks(heap, found_leaks::note, &told));
        return told;
    }
};

TEST_F(c_leaks, a_thousand_structs_that_nothing_reaches_are_told_with_their_places) {
    open_noting(8);
    account* reached = nullptr;
    account* lost = nullptr;
    for (int i = 0; i != 1000; ++i) {
        reached = add(reached);
        lost = add(lost);
    }
    ASSERT_OK(rem_root_set(heap, "accounts", reached));
    const found_leaks told = found();
    EXPECT_EQ(told.blocks, 1000U);
    EXPECT_EQ(told.bytes, 1000 * sizeof(account));
    EXPECT_EQ(told.place_blocks, 1000U);
    EXPECT_FALSE(told.calls.empty());
    EXPECT_OK(rem_free(lost));
    EXPECT_EQ(found().blocks, 999U);
    EXPECT_STATUS(rem_free(lost), REM_INVALID_ARGUMENT);
    EXPECT_NE(std::string(rem_last_error()->message).find("was allocated by these calls"), std::string::npos)
        << rem_last_error()->message;
}

TEST_F(c_leaks, are_freed_by_a_commit_where_the_structs_are_described) {
    open_noting(0);
    account* first = nullptr;
    for (int i = 0; i != 100; ++i)
        first = add(first);
    ASSERT_OK(rem_root_set(heap, "undescribed", first));
    EXPECT_STATUS(rem_collect(heap, nullptr, nullptr), REM_NOT_SUPPORTED);
    EXPECT_NE(std::string(rem_last_error()->message).find("the root \"undescribed\""), std::string::npos)
        << rem_last_error()->message;
    ASSERT_OK(rem_root_remove(heap, "undescribed"));
    const rem_member members[] = {REM_NUMBER(account, balance), REM_POINTER_TO(account, next, account)};
    ASSERT_OK(REM_DESCRIBE(account, members));
    ASSERT_OK(REM_ROOT_SET(heap, "accounts", first, account));
    first->next->next = nullptr;
    found_leaks told;
    ASSERT_OK(rem_collect(heap, found_leaks::note, &told));
    EXPECT_EQ(told.blocks, 98U);
    EXPECT_EQ(found().blocks, 0U);
    ASSERT_OK(rem_close(heap));
    open_noting(0);
    account* const kept = REM_ROOT_GET(heap, "accounts", account);
    ASSERT_NE(kept, nullptr);
    EXPECT_EQ(kept->next->next, nullptr);
    EXPECT_EQ(found().blocks, 0U);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

TEST_F(c_leaks, places_begin_with_the_call_of_the_program) {
    open_noting(4);
    rem_arena* arena = nullptr;
    ASSERT_OK(rem_arena_open(heap, "arena", nullptr, &arena));
    struct ways {
        static void* alloc(rem_heap* h) { return after_call(rem_alloc(h, 100)); }
        static void* alloc_aligned(rem_heap* h) { return after_call(rem_alloc_aligned(h, 64, 100)); }
        static void* alloc_dynamic(rem_heap* h) { return after_call(rem_alloc_dynamic(h, 10, 100)); }
        static void* calloc(rem_heap* h) { return after_call(rem_calloc(h, 1, 100)); }
        static void* realloc_nothing(rem_heap* h) { return after_call(rem_realloc(h, nullptr, 100)); }
        static void* realloc_far(rem_heap* h) { return after_call(rem_realloc(h, rem_alloc(h, 100), 10'000)); }
        static void* realloc_less(rem_heap* h) { return after_call(rem_realloc(h, rem_alloc(h, 100), 90)); }
        static void* realloc_more(rem_heap* h) { return after_call(rem_realloc(h, rem_alloc(h, 100'000), 200'000)); }
        static void* alloc_in(rem_arena* in) { return after_call(rem_arena_alloc(in, 100)); }
    };
    using function = void* (*)(rem_heap*);
    for (const function each : {function(ways::alloc), function(ways::alloc_aligned), function(ways::alloc_dynamic),
                                function(ways::calloc), function(ways::realloc_nothing), function(ways::realloc_far),
                                function(ways::realloc_less), function(ways::realloc_more)}) {
        void* const block = each(heap);
        const found_leaks told = found();
        ASSERT_FALSE(told.calls.empty());
        EXPECT_EQ(function_of(told.calls[0]), reinterpret_cast<void*>(each)) << told.calls[0];
        ASSERT_OK(rem_free(block));
    }
    void* (*volatile in_arena)(rem_arena*) = ways::alloc_in;
    ASSERT_NE(in_arena(arena), nullptr);
    EXPECT_EQ(function_of(found().calls.at(0)), reinterpret_cast<void*>(in_arena));
}

TEST_F(c_leaks, realloc_in_place_notes_what_is_requested_now) {
    for (const bool has_red_zones : {false, true}) {
        rem_options options = options_of(REM_SNAPSHOT);
        options.leak_frames = 4;
        options.red_zones = has_red_zones;
        ASSERT_OK(rem_open((path + (has_red_zones ? "-guarded" : "")).c_str(), &options, &heap));
        void* const block = rem_alloc(heap, 100);
        for (const std::size_t bytes : {70U, 90U, 60U}) {
            ASSERT_EQ(rem_realloc(heap, block, bytes), block);
            EXPECT_EQ(found().requested_bytes, bytes);
        }
        ASSERT_OK(rem_free(block));
        void* const large = rem_alloc(heap, 100'000);
        for (const std::size_t bytes : {300'000U, 299'000U, 290'000U, 50'000U}) {
            ASSERT_EQ(rem_realloc(heap, large, bytes), large);
            EXPECT_EQ(found().requested_bytes, bytes);
        }
        ASSERT_OK(rem_close(heap));
    }
}

TEST_F(c_leaks, red_zones_begin_where_the_bytes_of_realloc_end) {
    rem_options options = options_of(REM_SNAPSHOT);
    options.red_zones = true;
    ASSERT_OK(rem_open(path.c_str(), &options, &heap));
    auto* const block = static_cast<char*>(rem_alloc(heap, 100));
    ASSERT_EQ(rem_realloc(heap, block, 80), block);
    EXPECT_EQ(rem_usable_size(block), 80U);
    block[79] = 'x';
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    block[80] = 'x';
    EXPECT_STATUS(rem_commit(heap, REM_DURABLE), REM_CORRUPT);
    ASSERT_OK(rem_rollback(heap));
    reopen(REM_TRANSACTIONAL);
    ASSERT_OK(rem_write_begin_declared(heap));
    ASSERT_EQ(rem_realloc(heap, block, 90), block);
    ASSERT_OK(rem_write_end(heap));
    reopen(REM_SNAPSHOT);
    EXPECT_EQ(rem_usable_size(block), 90U);
    block[89] = 'x';
    EXPECT_OK(rem_commit(heap, REM_DURABLE));
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
    EXPECT_NE(rem_realloc(heap, block, 5), block);
}

TEST_F(c_leaks, described_structs_are_followed_by_their_types) {
    const rem_member members[] = {REM_NUMBER(account, balance), REM_POINTER_TO(account, next, account)};
    ASSERT_OK(REM_DESCRIBE(account, members));
    open_noting(0);
    account* first = nullptr;
    for (int i = 0; i != 100; ++i)
        first = add(first);
    ASSERT_OK(REM_ROOT_SET(heap, "accounts", first, account));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    EXPECT_EQ(found().blocks, 0U);
    first->next->next = nullptr;
    const found_leaks told = found();
    EXPECT_EQ(told.blocks, 98U);
    EXPECT_EQ(told.place_blocks, 0U) << "they are not noted";
}

TEST_F(c_leaks, a_heap_of_described_structs_moves_to_another_address) {
    open_noting(0);
    const rem_member members[] = {REM_NUMBER(account, balance), REM_POINTER_TO(account, next, account)};
    ASSERT_OK(REM_DESCRIBE(account, members));
    account* first = nullptr;
    for (int i = 0; i != 100; ++i)
        first = add(first);
    ASSERT_OK(REM_ROOT_SET(heap, "accounts", first, account));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    EXPECT_STATUS(rem_relocate(path.c_str(), nullptr, nullptr), REM_IN_USE);
    ASSERT_OK(rem_close(heap));
    void* now = nullptr;
    EXPECT_STATUS(rem_relocate(nullptr, nullptr, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_relocate(path.c_str(), &now, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_relocate((path + "-none").c_str(), nullptr, nullptr), REM_NOT_FOUND);
    ASSERT_OK(rem_relocate(path.c_str(), nullptr, &now));
    open_noting(0);
    const account* moved = REM_ROOT_GET(heap, "accounts", account);
    ASSERT_NE(moved, nullptr);
    EXPECT_NE(moved, first);
    EXPECT_GE(moved, now);
    std::size_t count = 0;
    for (; moved != nullptr; moved = moved->next)
        count += moved->balance == 48 ? 1U : 0U;
    EXPECT_EQ(count, 100U);
    EXPECT_EQ(found().blocks, 0U);
    ASSERT_OK(rem_root_set(heap, "undescribed", rem_alloc(heap, 100)));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    ASSERT_OK(rem_close(heap));
    EXPECT_STATUS(rem_relocate(path.c_str(), nullptr, nullptr), REM_NOT_SUPPORTED);
    EXPECT_NE(std::string(rem_last_error()->message).find("\"undescribed\""), std::string::npos);
}

TEST_F(c_leaks, what_is_wrong_is_refused) {
    rem_options options = options_of(REM_SNAPSHOT);
    options.leak_frames = 33;
    EXPECT_STATUS(rem_open(path.c_str(), &options, &heap), REM_INVALID_ARGUMENT);
    open();
    EXPECT_STATUS(rem_find_leaks(heap, nullptr, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_find_leaks(nullptr, found_leaks::note, nullptr), REM_INVALID_ARGUMENT);
    rem_heap* scratch = nullptr;
    ASSERT_OK(rem_open_volatile(nullptr, &scratch));
    EXPECT_STATUS(rem_find_leaks(scratch, found_leaks::note, nullptr), REM_NOT_SUPPORTED);
    EXPECT_OK(rem_close(scratch));
}

} // namespace

} // namespace remanence::test
