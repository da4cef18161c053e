// Undo and redo in C.
#include "fixture.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace remanence::test {

namespace {

class c_history : public c_heap {
protected:
    void open_with(rem_history_options history) {
        const rem_options options = options_of(REM_TRANSACTIONAL);
        history.size = sizeof history;
        ASSERT_OK(rem_open_with_history(path.c_str(), &options, &history, &heap));
    }
    void open_with_steps(std::size_t steps_max) {
        rem_history_options history{};
        history.steps_max = steps_max;
        open_with(history);
    }
    void set(account* of, long balance) {
        ASSERT_OK(rem_write_begin(heap));
        of->balance = balance;
        ASSERT_OK(rem_write_end(heap));
    }
    std::uint64_t depth(rem_status (*ask)(const rem_heap*, uint64_t*)) {
        uint64_t steps = 0;
        EXPECT_OK(ask(heap, &steps));
        return steps;
    }
    std::uint64_t version() {
        uint64_t found = 0;
        EXPECT_OK(rem_version(heap, &found));
        return found;
    }
};

struct shown_step {
    std::uint64_t version;
    std::string name;
    bool is_present;
    bool has_parent;
};

TEST_F(c_history, is_gone_back_and_forth_in) {
    open_with_steps(100);
    account* const a = add_account("a", 1);
    set(a, 2);
    set(a, 3);
    const std::uint64_t undone = depth(rem_undo_depth);
    ASSERT_OK(rem_undo(heap, 1));
    EXPECT_EQ(a->balance, 2);
    EXPECT_EQ(depth(rem_undo_depth), undone - 1);
    EXPECT_EQ(depth(rem_redo_depth), 1U);
    ASSERT_OK(rem_redo(heap, 1));
    EXPECT_EQ(a->balance, 3);
    ASSERT_OK(rem_undo(heap, 2));
    EXPECT_EQ(a->balance, 1);
    ASSERT_OK(rem_undo(heap, depth(rem_undo_depth)));
    EXPECT_EQ(account_at("a"), nullptr);
    EXPECT_STATUS(rem_undo(heap, 1), REM_NO_STEP);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

TEST_F(c_history, has_groups_names_and_branches) {
    open_with_steps(100);
    account* const a = add_account("a", 1);
    ASSERT_OK(rem_group_begin(heap, "pay"));
    set(a, 2);
    set(a, 3);
    EXPECT_STATUS(rem_undo(heap, 1), REM_SECTION_OPEN);
    ASSERT_OK(rem_group_end(heap));
    EXPECT_STATUS(rem_group_end(heap), REM_NO_SECTION);
    const std::uint64_t paid = version();
    ASSERT_OK(rem_undo(heap, 1));
    EXPECT_EQ(a->balance, 1);
    set(a, 4);
    EXPECT_STATUS(rem_redo(heap, 1), REM_NO_STEP);
    EXPECT_NE(std::string(rem_last_error()->message).find("go to version " + std::to_string(paid)), std::string::npos);
    ASSERT_OK(rem_go_to(heap, paid));
    EXPECT_EQ(a->balance, 3);
    std::vector<shown_step> all;
    ASSERT_OK(rem_history(
        heap,
        [](void* into, const rem_step* each) {
            static_cast<std::vector<shown_step>*>(into)->push_back(
                {each->version, each->name, each->is_present, each->has_parent});
            return true;
        },
        &all));
    ASSERT_GE(all.size(), 3U);
    EXPECT_FALSE(all.front().has_parent);
    EXPECT_EQ(all[all.size() - 2].name, "pay");
    EXPECT_TRUE(all[all.size() - 2].is_present);
    ASSERT_OK(rem_history_forget(heap));
    EXPECT_EQ(depth(rem_undo_depth), 0U);
}

TEST_F(c_history, goes_on_in_the_next_session) {
    rem_history_options history{};
    history.steps_max = 10;
    history.kept_over_sessions = true;
    open_with(history);
    EXPECT_STREQ(rem_why_history_is_new(heap),
                 (path + "-history is not there, so no history is kept, or the file was removed.").c_str());
    account* a = add_account("a", 1);
    set(a, 2);
    const std::uint64_t steps = depth(rem_undo_depth);
    ASSERT_OK(rem_close(heap));
    open_with(history);
    EXPECT_STREQ(rem_why_history_is_new(heap), "");
    EXPECT_EQ(depth(rem_undo_depth), steps);
    ASSERT_OK(rem_undo(heap, 1));
    EXPECT_EQ(account_at("a")->balance, 1);
}

TEST_F(c_history, belongs_to_the_heap) {
    rem_history_options history{};
    history.size = sizeof history;
    history.steps_max = 10;
    history.kept_over_sessions = true;
    EXPECT_STATUS(rem_history_end(path.c_str()), REM_NOT_FOUND);
    EXPECT_STATUS(rem_history_end(nullptr), REM_INVALID_ARGUMENT);
    open_with(history);
    account* a = add_account("a", 1);
    for (int i = 2; i < 7; ++i)
        set(a, i);
    EXPECT_STATUS(rem_history_set_limits(path.c_str(), &history), REM_IN_USE);
    ASSERT_OK(rem_close(heap));
    history.steps_max = 3;
    ASSERT_OK(rem_history_set_limits(path.c_str(), &history));
    ASSERT_OK(rem_open(path.c_str(), nullptr, &heap)); // which names none
    EXPECT_EQ(depth(rem_undo_depth), 3U);
    ASSERT_OK(rem_undo(heap, 3));
    EXPECT_EQ(account_at("a")->balance, 3);
    ASSERT_OK(rem_close(heap));
    ASSERT_OK(rem_history_end(path.c_str()));
    EXPECT_STATUS(rem_history_end(path.c_str()), REM_NO_STEP);
    EXPECT_STATUS(rem_history_set_limits(path.c_str(), &history), REM_NO_STEP);
    ASSERT_OK(rem_open(path.c_str(), nullptr, &heap));
    EXPECT_EQ(depth(rem_undo_depth), 0U);
    EXPECT_EQ(account_at("a")->balance, 3);
    EXPECT_STATUS(rem_undo(heap, 1), REM_INVALID_ARGUMENT);
}

TEST_F(c_history, has_limits) {
    rem_history_options history{};
    history.steps_max = 3;
    history.when_full = REM_REFUSE;
    open_with(history);
    account* const a = add_account("a", 1);
    while (depth(rem_undo_depth) < 3)
        set(a, a->balance + 1);
    ASSERT_OK(rem_write_begin(heap));
    a->balance = 100;
    EXPECT_STATUS(rem_write_end(heap), REM_HISTORY_FULL);
    EXPECT_NE(a->balance, 100);
}

TEST_F(c_history, has_a_limit_of_bytes_when_none_is_set) {
    const rem_options options = options_of(REM_TRANSACTIONAL);
    ASSERT_OK(rem_open_with_history(path.c_str(), &options, nullptr, &heap));
    account* const a = add_account("a", 1);
    const std::uint64_t before = depth(rem_undo_depth);
    for (int i = 0; i != 100; ++i)
        set(a, a->balance + 1);
    EXPECT_EQ(depth(rem_undo_depth), before + 100);
}

TEST_F(c_history, refuses_what_is_wrong) {
    const rem_options options = options_of(REM_TRANSACTIONAL);
    rem_history_options history{};
    EXPECT_STATUS(rem_open_with_history(path.c_str(), &options, &history, &heap), REM_INVALID_ARGUMENT);
    history.size = sizeof history;
    history.steps_max = 3;
    for (const int none : {2, 7}) { // 2: earlier builds ended the history
        history.when_full = static_cast<rem_when_full>(none);
        EXPECT_STATUS(rem_open_with_history(path.c_str(), &options, &history, &heap), REM_INVALID_ARGUMENT);
    }
    EXPECT_EQ(heap, nullptr);
    open();
    EXPECT_STATUS(rem_undo(heap, 1), REM_INVALID_ARGUMENT);
    EXPECT_EQ(depth(rem_undo_depth), 0U);
    EXPECT_OK(rem_group_begin(heap, nullptr));
    EXPECT_STATUS(rem_undo_depth(heap, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_history(heap, nullptr, nullptr), REM_INVALID_ARGUMENT);
    ASSERT_OK(rem_write_begin(heap));
    EXPECT_STATUS(rem_group_begin(heap, "g"), REM_SECTION_OPEN);
    ASSERT_OK(rem_write_end(heap));
    ASSERT_OK(rem_close(heap));
    open_with_steps(3);
    account* const a = add_account("a", 1);
    a->balance = 2;
    EXPECT_STATUS(rem_undo(heap, 1), REM_UNCOMMITTED);
    EXPECT_EQ(a->balance, 2);
}

TEST_F(c_history, has_versions_that_are_kept) {
    open_with_steps(2);
    account* const a = add_account("a", 1);
    std::uint64_t kept = 0;
    ASSERT_OK(rem_keep(heap, "one", &kept));
    EXPECT_EQ(kept, version());
    EXPECT_STATUS(rem_keep(heap, "two", nullptr), REM_EXISTS);
    EXPECT_STATUS(rem_keep(heap, nullptr, nullptr), REM_INVALID_ARGUMENT);
    for (long i = 2; i < 9; ++i)
        set(a, i);
    ASSERT_OK(rem_keep(heap, "two", nullptr));
    std::vector<shown_step> all;
    ASSERT_OK(rem_versions(
        heap,
        [](void* into, const rem_kept_version* each) {
            static_cast<std::vector<shown_step>*>(into)->push_back(
                {each->version, each->name, each->is_present, each->has_parent});
            return true;
        },
        &all));
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].version, kept);
    EXPECT_EQ(all[0].name, "one");
    EXPECT_FALSE(all[0].has_parent);
    EXPECT_TRUE(all[1].is_present);
    EXPECT_TRUE(all[1].has_parent);
    std::uint64_t found = 0;
    ASSERT_OK(rem_find_version(heap, "one", &found));
    EXPECT_EQ(found, kept);
    EXPECT_STATUS(rem_find_version(heap, "three", &found), REM_NO_STEP);
    std::uint64_t differing = 0;
    ASSERT_OK(rem_diff(
        heap, kept, version(),
        [](void* into, const rem_difference* each) {
            if (each->kind == REM_RANGE_DIFFERS)
                *static_cast<std::uint64_t*>(into) += each->bytes;
            return true;
        },
        &differing));
    EXPECT_EQ(differing, sizeof(long));
    EXPECT_STATUS(rem_diff(heap, kept, kept, nullptr, nullptr), REM_INVALID_ARGUMENT);
    const std::string branch = path + "-one";
    ASSERT_OK(rem_branch(heap, kept, branch.c_str()));
    EXPECT_STATUS(rem_branch(heap, kept, branch.c_str()), REM_EXISTS);
    EXPECT_STATUS(rem_branch(heap, kept, ""), REM_INVALID_ARGUMENT);
    ASSERT_OK(rem_restore(heap, kept));
    EXPECT_EQ(a->balance, 1);
    EXPECT_STATUS(rem_restore(heap, 12345), REM_NO_STEP);
    ASSERT_OK(rem_drop(heap, kept));
    EXPECT_STATUS(rem_drop(heap, kept), REM_NO_STEP);
    set(a, 2);
    set(a, 3);
    const std::uint64_t steps = depth(rem_undo_depth);
    ASSERT_OK(rem_squash(heap, 2));
    EXPECT_EQ(depth(rem_undo_depth), steps - 1);
    ASSERT_OK(rem_undo(heap, 1));
    EXPECT_EQ(a->balance, 1);
    EXPECT_STATUS(rem_squash(heap, 100), REM_NO_STEP);
}

rem_status add_to_balance(rem_heap* heap, const void* parameters, size_t bytes, void* context) {
    auto* const of = static_cast<long*>(rem_root_get(heap, "balances"));
    long what = 0;
    if (of == nullptr || bytes != sizeof what)
        return REM_INVALID_ARGUMENT;
    std::memcpy(&what, parameters, sizeof what);
    for (int i = 0; i < 1000; ++i)
        of[i] += what * *static_cast<const int*>(context);
    return what == 13 ? REM_WOULD_WAIT : REM_OK;
}

TEST_F(c_history, holds_calls_of_procedures) {
    int forth = 1;
    const rem_procedure known[] = {{"add", add_to_balance,
                                    [](rem_heap* of, const void* parameters, size_t bytes, void*) {
                                        int back = -1;
                                        return add_to_balance(of, parameters, bytes, &back);
                                    },
                                    &forth},
                                   {"add for good", add_to_balance, nullptr, &forth}};
    const rem_options options = options_of(REM_TRANSACTIONAL);
    rem_history_options history{};
    history.size = sizeof history;
    history.steps_max = 100;
    const auto open = [&](const rem_procedure* procedures, std::size_t count) {
        return rem_open_with_procedures(path.c_str(), &options, &history, procedures, count, &heap);
    };
    EXPECT_STATUS(open(nullptr, 1), REM_INVALID_ARGUMENT);
    const rem_procedure unnamed{nullptr, add_to_balance, nullptr, nullptr};
    EXPECT_STATUS(open(&unnamed, 1), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(open(known, 0), REM_OK);
    long two = 2;
    EXPECT_STATUS(rem_call(heap, "add", &two, sizeof two), REM_NO_PROCEDURE);
    ASSERT_OK(rem_close(heap));
    ASSERT_OK(open(known, 2));
    ASSERT_OK(rem_write_begin(heap));
    auto* const all = static_cast<long*>(rem_alloc(heap, 1000 * sizeof(long)));
    ASSERT_NE(all, nullptr);
    std::fill_n(all, 1000, 1);
    ASSERT_OK(rem_root_set(heap, "balances", all));
    EXPECT_STATUS(rem_call(heap, "add", &two, sizeof two), REM_SECTION_OPEN);
    ASSERT_OK(rem_write_end(heap));
    ASSERT_OK(rem_call(heap, "add", &two, sizeof two));
    EXPECT_EQ(all[999], 3);
    std::vector<std::uint64_t> bytes;
    ASSERT_OK(rem_history(
        heap,
        [](void* context, const rem_step* step) {
            static_cast<std::vector<std::uint64_t>*>(context)->push_back(step->bytes);
            return true;
        },
        &bytes));
    EXPECT_LT(bytes.back(), 100U);
    ASSERT_OK(rem_undo(heap, 1));
    EXPECT_EQ(all[999], 1);
    ASSERT_OK(rem_redo(heap, 1));
    EXPECT_EQ(all[0], 3);
    long unlucky = 13;
    EXPECT_STATUS(rem_call(heap, "add", &unlucky, sizeof unlucky), REM_WOULD_WAIT);
    EXPECT_STATUS(rem_call(heap, "add", &two, 1), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_call(heap, nullptr, &two, sizeof two), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_call(heap, "add", nullptr, sizeof two), REM_INVALID_ARGUMENT);
    EXPECT_EQ(all[0], 3);
    ASSERT_OK(rem_call(heap, "add for good", &two, sizeof two));
    ASSERT_OK(rem_undo(heap, 1));
    EXPECT_EQ(all[0], 3);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

TEST_F(c_history, has_versions_that_are_opened_in_place) {
    rem_history_options history{};
    history.steps_max = 100;
    history.kept_over_sessions = true;
    open_with(history);
    account* const a = add_account("a", 1);
    set(a, 2);
    const std::uint64_t two = version();
    ASSERT_OK(rem_keep(heap, "two", nullptr));
    set(a, 3);
    const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(a) - reinterpret_cast<std::uintptr_t>(rem_base(heap));
    ASSERT_OK(rem_close(heap));
    const auto balance = [&] {
        return reinterpret_cast<const account*>(static_cast<const char*>(rem_base(heap)) + place)->balance;
    };
    ASSERT_OK(rem_open_version(path.c_str(), nullptr, two, nullptr, &heap));
    EXPECT_EQ(balance(), 2);
    EXPECT_EQ(version(), two);
    EXPECT_STATUS(rem_commit(heap, REM_DURABLE), REM_READ_ONLY);
    ASSERT_OK(rem_close(heap));
    ASSERT_OK(rem_open_version(path.c_str(), nullptr, 0, "two", &heap));
    EXPECT_EQ(balance(), 2);
    ASSERT_OK(rem_close(heap));
    EXPECT_STATUS(rem_open_version(path.c_str(), nullptr, 12345, nullptr, &heap), REM_NO_STEP);
    EXPECT_STATUS(rem_open_version(path.c_str(), nullptr, two, "none", &heap), REM_NO_STEP);
    EXPECT_STATUS(rem_open_version(path.c_str(), nullptr, two, "", &heap), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_open_version((path + "-none").c_str(), nullptr, two, nullptr, &heap), REM_NOT_FOUND);
    EXPECT_EQ(heap, nullptr);
}

} // namespace

} // namespace remanence::test
