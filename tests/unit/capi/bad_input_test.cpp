// What callers get wrong is a status: NULL, handles that are closed, options out of range, heaps that are read-only or not there.
#include "fixture.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <remanence/error.hpp>

namespace remanence::test {

namespace {

class c_bad_input : public c_heap {};

bool visit_none(void*, const rem_root*) { return true; }

bool visit_nobody(void*, const rem_participant*) { return true; }

/// Every function that takes a heap, with arguments that are right but for it.
std::vector<std::pair<const char*, std::function<rem_status(rem_heap*)>>> all_calls() {
    static char object[8];
    static std::uint64_t number = 0;
    static std::size_t size = 0;
    static rem_arena* arena = nullptr;
    static rem_stats stats;
    stats.size = sizeof stats;
    const auto status_of = [](const void* made) { return made != nullptr ? REM_OK : last_status(); };
    return {
        {"rem_close", rem_close},
        {"rem_path", [=](rem_heap* h) { return status_of(rem_path(h)); }},
        {"rem_base", [=](rem_heap* h) { return status_of(rem_base(h)); }},
        {"rem_version", [](rem_heap* h) { return rem_version(h, &number); }},
        {"rem_alloc", [=](rem_heap* h) { return status_of(rem_alloc(h, 8)); }},
        {"rem_alloc_aligned", [=](rem_heap* h) { return status_of(rem_alloc_aligned(h, 64, 8)); }},
        {"rem_alloc_dynamic", [=](rem_heap* h) { return status_of(rem_alloc_dynamic(h, 8, 100'000)); }},
        {"rem_calloc", [=](rem_heap* h) { return status_of(rem_calloc(h, 2, 8)); }},
        {"rem_realloc", [=](rem_heap* h) { return status_of(rem_realloc(h, nullptr, 8)); }},
        {"rem_realloc of a block", [=](rem_heap* h) { return status_of(rem_realloc(h, object, 8)); }},
        {"rem_touch", [](rem_heap* h) { return rem_touch(h, object, sizeof object); }},
        {"rem_arena_open", [](rem_heap* h) { return rem_arena_open(h, "a", nullptr, &arena); }},
        {"rem_arena_destroy", [](rem_heap* h) { return rem_arena_destroy(h, "a"); }},
        {"rem_arena_advise", [](rem_heap* h) { return rem_arena_advise(h, "a", REM_PAGING_KEEP); }},
        {"rem_root_set", [](rem_heap* h) { return rem_root_set(h, "a", object); }},
        {"rem_root_set_as", [](rem_heap* h) { return rem_root_set_as(h, "a", object, "char[8]", 8); }},
        {"rem_root_get", [=](rem_heap* h) { return status_of(rem_root_get(h, "a")); }},
        {"rem_root_get_as", [=](rem_heap* h) { return status_of(rem_root_get_as(h, "a", "char[8]", 8)); }},
        {"rem_root_remove", [](rem_heap* h) { return rem_root_remove(h, "a"); }},
        {"rem_save_as", [](rem_heap* h) { return rem_save_as(h, "none"); }},
        {"rem_roots", [](rem_heap* h) { return rem_roots(h, visit_none, nullptr); }},
        {"rem_write_begin", rem_write_begin},
        {"rem_write_try_begin", rem_write_try_begin},
        {"rem_write_begin_declared", rem_write_begin_declared},
        {"rem_write_begin_within", [](rem_heap* h) { return rem_write_begin_within(h, 0); }},
        {"rem_write_end", rem_write_end},
        {"rem_write_end_as", [](rem_heap* h) { return rem_write_end_as(h, REM_LAZY); }},
        {"rem_write_end_async", [](rem_heap* h) { return rem_write_end_async(h, &number); }},
        {"rem_write_abort", rem_write_abort},
        {"rem_read_begin", rem_read_begin},
        {"rem_read_try_begin", rem_read_try_begin},
        {"rem_read_end", rem_read_end},
        {"rem_commit", [](rem_heap* h) { return rem_commit(h, REM_DURABLE); }},
        {"rem_commit_async", [](rem_heap* h) { return rem_commit_async(h, &number); }},
        {"rem_point_wait", [](rem_heap* h) { return rem_point_wait(h, 0); }},
        {"rem_point_ready", [](rem_heap* h) { return rem_point_ready(h, 0); }},
        {"rem_sync", rem_sync},
        {"rem_rollback", rem_rollback},
        {"rem_rebuild", rem_rebuild},
        {"rem_savepoint", [](rem_heap* h) { return rem_savepoint(h, &number); }},
        {"rem_rollback_to", [](rem_heap* h) { return rem_rollback_to(h, 1); }},
        {"rem_savepoint_end", [](rem_heap* h) { return rem_savepoint_end(h, 1); }},
        {"rem_checkpoint", rem_checkpoint},
        {"rem_collect", [](rem_heap* h) { return rem_collect(h, nullptr, nullptr); }},
        {"rem_shrink", [](rem_heap* h) { return rem_shrink(h, &number); }},
        {"rem_limit_memory", [](rem_heap* h) { return rem_limit_memory(h, 0); }},
        {"rem_undo", [](rem_heap* h) { return rem_undo(h, 1); }},
        {"rem_redo", [](rem_heap* h) { return rem_redo(h, 1); }},
        {"rem_go_to", [](rem_heap* h) { return rem_go_to(h, 1); }},
        {"rem_undo_depth", [](rem_heap* h) { return rem_undo_depth(h, &number); }},
        {"rem_redo_depth", [](rem_heap* h) { return rem_redo_depth(h, &number); }},
        {"rem_group_begin", [](rem_heap* h) { return rem_group_begin(h, "g"); }},
        {"rem_group_end", rem_group_end},
        {"rem_history",
         [](rem_heap* h) { return rem_history(h, [](void*, const rem_step*) { return true; }, nullptr); }},
        {"rem_history_forget", rem_history_forget},
        {"rem_call", [](rem_heap* h) { return rem_call(h, "p", nullptr, 0); }},
        {"rem_changed_pages", [](rem_heap* h) { return rem_changed_pages(h, &size); }},
        {"rem_changed_ranges", [](rem_heap* h) { return rem_changed_ranges(h, nullptr, 0, &size); }},
        {"rem_lock", [](rem_heap* h) { return rem_lock(h, REM_LOCK_SHARED, 0); }},
        {"rem_unlock", rem_unlock},
        {"rem_poll_descriptor",
         [](rem_heap* h) {
             int descriptor = 0;
             return rem_poll_descriptor(h, &descriptor);
         }},
        {"rem_wait_for_version", [](rem_heap* h) { return rem_wait_for_version(h, 1, 0); }},
        {"rem_readers", [](rem_heap* h) { return rem_readers(h, visit_nobody, nullptr); }},
        {"rem_writer", [](rem_heap* h) { return rem_writer(h, visit_nobody, nullptr); }},
        {"rem_get_stats", [](rem_heap* h) { return rem_get_stats(h, &stats); }},
        {"rem_verify", [](rem_heap* h) { return rem_verify(h, nullptr, nullptr, nullptr); }},
    };
}

TEST_F(c_bad_input, no_heap_is_an_argument_that_is_wrong) {
    for (const auto& [name, call] : all_calls())
        EXPECT_STATUS(call(nullptr), REM_INVALID_ARGUMENT) << name;
    EXPECT_FALSE(rem_is_open(nullptr));
}

TEST_F(c_bad_input, a_handle_that_is_closed_stays_closed) {
    open();
    rem_heap* const closed = heap;
    ASSERT_OK(rem_close(heap));
    open(); // at the same place, perhaps
    EXPECT_NE(heap, closed);
    EXPECT_FALSE(rem_is_open(closed));
    for (const auto& [name, call] : all_calls())
        EXPECT_STATUS(call(closed), REM_CLOSED) << name;
    EXPECT_TRUE(rem_is_open(heap));
}

TEST_F(c_bad_input, what_is_no_handle_is_closed_too) {
    open();
    int local = 0;
    for (const std::uintptr_t value :
         {std::uintptr_t{1}, std::uintptr_t{0xfffff}, ~std::uintptr_t{0}, reinterpret_cast<std::uintptr_t>(&local),
          reinterpret_cast<std::uintptr_t>(rem_base(heap)), reinterpret_cast<std::uintptr_t>(heap) + 1,
          reinterpret_cast<std::uintptr_t>(heap) + (1U << 20)}) {
        for (const auto& [name, call] : all_calls())
            EXPECT_STATUS(call(reinterpret_cast<rem_heap*>(value)), REM_CLOSED) << name << ' ' << value;
    }
}

TEST_F(c_bad_input, the_child_of_a_fork_has_closed_handles) {
    open();
    account* const a = add_account("a", 1);
    const pid_t child = ::fork();
    if (child == 0) {
        EXPECT_FALSE(rem_is_open(heap));
        EXPECT_STATUS(rem_free(a), REM_CLOSED);
        for (const auto& [name, call] : all_calls())
            EXPECT_STATUS(call(heap), REM_CLOSED) << name;
        ::_exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(rem_is_open(heap));
    EXPECT_EQ(account_at("a"), a);
}

TEST_F(c_bad_input, places_for_results_that_are_missing_are_told_of) {
    EXPECT_STATUS(rem_open(nullptr, nullptr, &heap), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_open(path.c_str(), nullptr, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_open("", nullptr, &heap), REM_INVALID_ARGUMENT);
    open();
    EXPECT_STATUS(rem_version(heap, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_changed_pages(heap, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_changed_ranges(heap, nullptr, 0, nullptr), REM_INVALID_ARGUMENT);
    std::size_t count = 0;
    EXPECT_STATUS(rem_changed_ranges(heap, nullptr, 1, &count), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_roots(heap, nullptr, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_get_stats(heap, nullptr), REM_INVALID_ARGUMENT);
    rem_stats no_size{};
    EXPECT_STATUS(rem_get_stats(heap, &no_size), REM_INVALID_ARGUMENT);
    rem_report report{};
    EXPECT_STATUS(rem_verify(heap, &report, nullptr, nullptr), REM_INVALID_ARGUMENT);
}

TEST_F(c_bad_input, options_out_of_range_open_nothing) {
    using change = void (*)(rem_options&);
    const std::vector<std::pair<rem_status, change>> wrong = {
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.size = 0; }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.size = offsetof(rem_options, log_directory) - 1; }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.kind = static_cast<rem_kind>(99); }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.kind = static_cast<rem_kind>(-1); }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.durability = static_cast<rem_durability>(4); }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.tracking = static_cast<rem_tracking>(4); }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.chunk_bytes = 100'000; }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.base = 4096; }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.reserve_bytes = ~std::size_t{0}; }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.lazy_interval_ms = 3'600'001; }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.catch_stray_writes = true; }},
        {REM_INVALID_ARGUMENT, [](rem_options& o) { o.application = "two words"; }},
        {REM_NOT_FOUND, [](rem_options& o) { o.read_only = true; }},
    };
    for (std::size_t i = 0; i < wrong.size(); ++i) {
        rem_options options = options_of(REM_TRANSACTIONAL);
        wrong[i].second(options);
        heap = reinterpret_cast<rem_heap*>(1);
        EXPECT_STATUS(rem_open(path.c_str(), &options, &heap), wrong[i].first) << i;
        EXPECT_EQ(heap, nullptr) << i;
        EXPECT_NE(::access(path.c_str(), F_OK), 0) << i;
    }
}

TEST_F(c_bad_input, options_of_a_newer_program_are_taken_if_they_ask_for_nothing_new) {
    struct newer {
        rem_options known;
        std::array<std::uint64_t, 3> unknown;
    } options{options_of(REM_TRANSACTIONAL), {}};
    options.known.size = sizeof options;
    ASSERT_OK(rem_open(path.c_str(), &options.known, &heap));
    ASSERT_OK(rem_close(heap));
    options.unknown[2] = 1;
    EXPECT_STATUS(rem_open(path.c_str(), &options.known, &heap), REM_NOT_SUPPORTED);
}

TEST_F(c_bad_input, structs_to_be_filled_keep_their_size) {
    open();
    add_account("a", 1);
    struct newer {
        rem_stats known;
        std::array<std::uint64_t, 3> unknown;
    } stats{{}, {7, 7, 7}};
    stats.known.size = sizeof stats;
    ASSERT_OK(rem_get_stats(heap, &stats.known));
    EXPECT_EQ(stats.known.size, sizeof stats);
    EXPECT_EQ(stats.known.commits, 1U);
    EXPECT_EQ(stats.unknown, (std::array<std::uint64_t, 3>{})); // not known
    rem_stats older{};
    older.size = offsetof(rem_stats, checkpoints);
    older.checkpoints = 7;
    ASSERT_OK(rem_get_stats(heap, &older));
    EXPECT_EQ(older.commits, 1U);
    EXPECT_EQ(older.checkpoints, 7U); // behind its end
}

TEST_F(c_bad_input, structs_that_are_longer_than_any_are_refused) {
    rem_options options = rem_options();
    for (const std::size_t size : {std::size_t{1} << 20U, ~std::size_t{0}}) {
        options.size = size;
        EXPECT_EQ(rem_open(path.c_str(), &options, &heap), REM_INVALID_ARGUMENT);
    }
    open();
    rem_stats stats = rem_stats();
    stats.size = ~std::size_t{0};
    EXPECT_EQ(rem_get_stats(heap, &stats), REM_INVALID_ARGUMENT);
    rem_report report = rem_report();
    report.size = ~std::size_t{0};
    EXPECT_EQ(rem_verify(heap, &report, nullptr, nullptr), REM_INVALID_ARGUMENT);
}

TEST_F(c_bad_input, calls_that_are_refused_undo_nothing) {
    open();
    account* const kept = add_account("kept", 1);
    const auto refuse_all = [&] {
        rem_arena* arena = nullptr;
        rem_arena_options options = rem_arena_options();
        options.size = sizeof options;
        options.room_bytes = 12'345;
        int outside = 0;
        EXPECT_EQ(rem_root_set(heap, "a", &outside), REM_INVALID_ARGUMENT);
        EXPECT_EQ(rem_root_set_as(heap, "a", kept, "account", 1 << 20), REM_INVALID_ARGUMENT);
        EXPECT_EQ(rem_root_remove(heap, "none"), REM_NOT_FOUND);
        EXPECT_EQ(rem_arena_open(heap, "a", &options, &arena), REM_INVALID_ARGUMENT);
        EXPECT_EQ(rem_arena_destroy(heap, "none"), REM_NOT_FOUND);
    };
    kept->balance = 2; // outside of any section, for the next commit
    refuse_all();
    EXPECT_EQ(kept->balance, 2);
    ASSERT_OK(rem_write_begin(heap));
    kept->balance = 3;
    refuse_all();
    ASSERT_OK(rem_write_end(heap));
    reopen();
    EXPECT_EQ(account_at("kept")->balance, 3);
}

TEST_F(c_bad_input, a_heap_that_is_read_only_is_not_changed) {
    open();
    account* const a = add_account("a", 1);
    ASSERT_OK(rem_close(heap));
    rem_options options = options_of(REM_TRANSACTIONAL);
    options.read_only = true;
    ASSERT_OK(rem_open(path.c_str(), &options, &heap));
    EXPECT_EQ(rem_alloc(heap, 8), nullptr);
    EXPECT_EQ(last_status(), REM_READ_ONLY);
    EXPECT_EQ(rem_realloc(heap, a, 8), nullptr);
    EXPECT_EQ(last_status(), REM_READ_ONLY);
    EXPECT_STATUS(rem_free(a), REM_READ_ONLY);
    EXPECT_STATUS(rem_touch(heap, a, 8), REM_READ_ONLY);
    EXPECT_STATUS(rem_root_set(heap, "b", a), REM_READ_ONLY);
    EXPECT_STATUS(rem_root_remove(heap, "a"), REM_READ_ONLY);
    EXPECT_STATUS(rem_write_begin(heap), REM_READ_ONLY);
    EXPECT_STATUS(rem_write_try_begin(heap), REM_READ_ONLY);
    EXPECT_STATUS(rem_commit_async(heap, nullptr), REM_READ_ONLY);
    EXPECT_OK(rem_read_begin(heap));
    EXPECT_EQ(account_at("a"), a);
    EXPECT_EQ(a->balance, 1);
    EXPECT_OK(rem_read_end(heap));
    std::size_t pages = 1;
    EXPECT_OK(rem_changed_pages(heap, &pages));
    EXPECT_EQ(pages, 0U);
}

TEST_F(c_bad_input, opening_says_what_is_wrong_with_the_file) {
    EXPECT_STATUS(rem_open_existing(path.c_str(), nullptr, &heap), REM_NOT_FOUND);
    EXPECT_EQ(rem_last_error()->path, path);
    EXPECT_EQ(rem_last_error()->os_error, ENOENT);
    open();
    rem_heap* second = nullptr;
    EXPECT_STATUS(rem_open(path.c_str(), nullptr, &second), REM_IN_USE);
    EXPECT_EQ(second, nullptr);
    add_account("a", 1);
    ASSERT_OK(rem_close(heap));
    EXPECT_STATUS(rem_create(path.c_str(), nullptr, &heap), REM_EXISTS);
    std::ofstream(dir / "text") << "no heap";
    EXPECT_STATUS(rem_open((dir / "text").c_str(), nullptr, &heap), REM_NOT_A_HEAP);
}

TEST_F(c_bad_input, damage_that_verify_finds_is_corrupt_with_its_place) {
    open();
    auto* const block = static_cast<char*>(rem_calloc(heap, 100, 4096));
    std::memset(block, 'x', std::size_t{100} * 4096);
    ASSERT_OK(rem_root_set(heap, "block", block));
    rem_report report{};
    report.size = sizeof report;
    ASSERT_OK(rem_verify(heap, &report, nullptr, nullptr));
    EXPECT_EQ(report.problems, 0U);
    EXPECT_GT(report.blocks_checked, 0U);
    ASSERT_OK(rem_close(heap));
    std::string bytes;
    {
        std::ifstream file(path, std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
    const std::size_t at = bytes.find(std::string(4096, 'x'));
    ASSERT_NE(at, std::string::npos);
    std::fstream(path, std::ios::binary | std::ios::in | std::ios::out).seekp(static_cast<std::streamoff>(at)) << 'y';
    open();
    std::uint64_t told = 0;
    EXPECT_STATUS(
        rem_verify(
            heap, &report, [](void* count, const char*, uint64_t) { ++*static_cast<std::uint64_t*>(count); }, &told),
        REM_CORRUPT);
    EXPECT_EQ(report.problems, 1U);
    EXPECT_EQ(told, 1U);
    EXPECT_EQ(rem_last_error()->offset / 4096, at / 4096);
    EXPECT_EQ(rem_last_error()->path, path);
}

TEST(c_errors, numbers_and_sentences_are_those_of_errc) {
    for (int number = 1;; ++number) {
        const std::string sentence = make_error_code(static_cast<errc>(number)).message();
        if (sentence == "unknown error") {
            EXPECT_GT(number, REM_WRONG_APPLICATION);
            break;
        }
        EXPECT_EQ(rem_status_text(static_cast<rem_status>(number)), sentence) << number;
    }
    for (const rem_status own : {REM_OK, REM_NO_MEMORY, REM_WOULD_WAIT, REM_NO_SECTION, REM_UNEXPECTED})
        EXPECT_STRNE(rem_status_text(own), "unknown error");
    EXPECT_STREQ(rem_status_text(static_cast<rem_status>(-5)), "unknown error");
#define EXPECT_SAME(name, code) EXPECT_EQ(static_cast<int>(name), static_cast<int>(errc::code))
    EXPECT_SAME(REM_NOT_A_HEAP, not_a_heap);
    EXPECT_SAME(REM_TRUNCATED, truncated);
    EXPECT_SAME(REM_UNSUPPORTED_FORMAT, unsupported_format);
    EXPECT_SAME(REM_ABI_MISMATCH, abi_mismatch);
    EXPECT_SAME(REM_TYPE_MISMATCH, type_mismatch);
    EXPECT_SAME(REM_CORRUPT, corrupt);
    EXPECT_SAME(REM_LOG_MISSING, log_missing);
    EXPECT_SAME(REM_LOG_FOREIGN, log_foreign);
    EXPECT_SAME(REM_BASE_TAKEN, base_taken);
    EXPECT_SAME(REM_PERMISSION_DENIED, permission_denied);
    EXPECT_SAME(REM_READ_ONLY_FILE_SYSTEM, read_only_file_system);
    EXPECT_SAME(REM_NOT_FOUND, not_found);
    EXPECT_SAME(REM_NO_SPACE, no_space);
    EXPECT_SAME(REM_IN_USE, in_use);
    EXPECT_SAME(REM_NO_MEMORY, no_memory);
    EXPECT_SAME(REM_CLOSED, closed);
    EXPECT_SAME(REM_EXHAUSTED, exhausted);
    EXPECT_SAME(REM_POISONED, poisoned);
    EXPECT_SAME(REM_EXISTS, exists);
    EXPECT_SAME(REM_SECTION_OPEN, section_open);
    EXPECT_SAME(REM_SECTION_CONFLICT, section_conflict);
    EXPECT_SAME(REM_READ_ONLY, read_only);
    EXPECT_SAME(REM_NOT_SUPPORTED, not_supported);
    EXPECT_SAME(REM_INVALID_ARGUMENT, invalid_argument);
    EXPECT_SAME(REM_IO, io);
    EXPECT_SAME(REM_UNNAMEABLE_TYPE, unnameable_type);
    EXPECT_SAME(REM_FOREIGN_POINTER, foreign_pointer);
    EXPECT_SAME(REM_RECOVERY_NEEDED, recovery_needed);
    EXPECT_SAME(REM_ROLLED_BACK, rolled_back);
    EXPECT_SAME(REM_UNDECLARED_CHANGE, undeclared_change);
    EXPECT_SAME(REM_UNLINKED, unlinked);
    EXPECT_SAME(REM_WRONG_APPLICATION, wrong_application);
    EXPECT_SAME(REM_READERS_BEHIND, readers_behind);
    EXPECT_SAME(REM_OUTSIDE_SECTION, outside_section);
#undef EXPECT_SAME
}

TEST(c_errors, the_last_one_stays_until_the_next_in_each_thread) {
    rem_heap* none = nullptr;
    EXPECT_EQ(rem_open("/nowhere/a.rem", nullptr, &none), REM_NOT_FOUND);
    const std::string message = rem_last_error()->message;
    EXPECT_NE(message.find("/nowhere/a.rem"), std::string::npos);
    EXPECT_EQ(rem_free(nullptr), REM_OK);
    EXPECT_EQ(rem_last_error()->message, message);
    EXPECT_EQ(rem_close(nullptr), REM_INVALID_ARGUMENT);
    EXPECT_EQ(rem_last_error()->status, REM_INVALID_ARGUMENT);
    EXPECT_STREQ(rem_last_error()->path, "");
}

TEST(c_handles, hundreds_are_open_at_once) {
    const temp_dir dir = temp_dir::in_memory();
    std::vector<rem_heap*> heaps(200);
    const rem_options options = options_of(REM_TRANSACTIONAL);
    for (std::size_t i = 0; i < heaps.size(); ++i)
        ASSERT_OK(rem_open((dir / std::to_string(i)).c_str(), &options, &heaps[i]));
    for (rem_heap* each : heaps)
        EXPECT_EQ(rem_heap_of(rem_base(each)), each);
    for (std::size_t i = 0; i < heaps.size(); i += 2)
        ASSERT_OK(rem_close(heaps[i]));
    for (std::size_t i = 0; i < heaps.size(); ++i)
        EXPECT_EQ(rem_is_open(heaps[i]), i % 2 == 1);
    for (std::size_t i = 1; i < heaps.size(); i += 2)
        ASSERT_OK(rem_close(heaps[i]));
}

} // namespace

} // namespace remanence::test
