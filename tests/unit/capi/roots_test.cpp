// Roots of C programs, and what the others make of them.
#include "fixture.hpp"

#include <remanence/remanence.hpp>

#include <string>
#include <vector>

namespace remanence::test {

namespace {

class c_roots : public c_heap {
protected:
    void SetUp() override { open(); }
};

struct listed {
    std::string name;
    std::string type;
    std::size_t bytes;
    friend bool operator==(const listed&, const listed&) = default;
};

bool keep(void* into, const rem_root* root) {
    static_cast<std::vector<listed>*>(into)->push_back({root->name, root->type, root->bytes});
    return true;
}

TEST_F(c_roots, are_found_at_the_next_open_at_the_same_address) {
    account* const first = add_account("first", 5);
    account* const second = add_account("second", 7);
    first->next = second;
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    reopen();
    EXPECT_EQ(account_at("first"), first);
    EXPECT_EQ(account_at("second"), second);
    EXPECT_EQ(first->next->balance, 7);
    EXPECT_EQ(account_at("third"), nullptr);
    EXPECT_EQ(last_status(), REM_NOT_FOUND);
}

TEST_F(c_roots, may_be_set_to_another_object_and_are_undone_with_their_section) {
    account* const first = add_account("a", 1);
    ASSERT_OK(rem_write_begin(heap));
    account* const second = add_account("a", 2);
    add_account("b", 3);
    EXPECT_EQ(account_at("a"), second);
    ASSERT_OK(rem_write_abort(heap));
    EXPECT_EQ(account_at("a"), first);
    EXPECT_EQ(account_at("b"), nullptr);
    account* const third = add_account("a", 3);
    reopen();
    EXPECT_EQ(account_at("a"), third);
    EXPECT_EQ(third->balance, 3);
}

TEST_F(c_roots, outside_of_sections_their_setting_commits) {
    uint64_t before = 0;
    uint64_t after = 0;
    ASSERT_OK(rem_version(heap, &before));
    add_account("first", 5);
    ASSERT_OK(rem_version(heap, &after));
    EXPECT_EQ(after, before + 1);
}

TEST_F(c_roots, are_of_the_type_that_was_stated) {
    account* const first = add_account("first", 5);
    EXPECT_EQ(rem_root_get(heap, "first"), first); // asks for none
    EXPECT_EQ(rem_root_get_as(heap, "first", "struct account", sizeof(account) + 8), nullptr);
    EXPECT_EQ(last_status(), REM_TYPE_MISMATCH);
    EXPECT_EQ(std::string(rem_last_error()->message),
              "the root \"first\" of " + path +
                  " is stored as C struct account (16 bytes), not as C struct account (24 bytes). Ask for the stored "
                  "type, or keep this one under another name.");
    EXPECT_EQ(rem_root_get_as(heap, "first", "struct customer", sizeof(account)), nullptr);
    EXPECT_EQ(last_status(), REM_TYPE_MISMATCH);
    ASSERT_OK(rem_root_set(heap, "first", first));
    EXPECT_EQ(account_at("first"), nullptr); // it is untyped now
    EXPECT_EQ(last_status(), REM_TYPE_MISMATCH);
}

/// The next release's: docs/guide/changed-struct.md.
struct account_with_cents {
    long cents;
    account_with_cents* next;
    int currency;
};

/// What a C program does when a struct has changed: both are in it, and all is converted in one section.
void convert_accounts(rem_heap* heap, int fail_at) {
    if (REM_ROOT_GET(heap, "accounts", struct account_with_cents) != nullptr)
        return;
    ASSERT_OK(rem_write_begin(heap));
    account_with_cents* first = nullptr;
    account_with_cents** link = &first;
    auto* old = REM_ROOT_GET(heap, "accounts", struct account);
    for (int count = 0; old != nullptr; ++count) {
        if (count == fail_at) {
            ASSERT_OK(rem_write_abort(heap));
            return;
        }
        auto* const made = static_cast<account_with_cents*>(rem_calloc(heap, 1, sizeof(account_with_cents)));
        ASSERT_NE(made, nullptr);
        made->cents = old->balance * 100;
        *link = made;
        link = &made->next;
        account* const next = old->next;
        ASSERT_OK(rem_free(old));
        old = next;
    }
    ASSERT_OK(REM_ROOT_SET(heap, "accounts", first, struct account_with_cents));
    ASSERT_OK(rem_write_end(heap));
}

TEST_F(c_roots, of_a_struct_that_has_changed_are_converted_in_one_section) {
    account* const first = add_account("accounts", 5);
    ASSERT_OK(rem_write_begin(heap));
    first->next = static_cast<account*>(rem_calloc(heap, 1, sizeof(account)));
    first->next->balance = 7;
    ASSERT_OK(rem_write_end(heap));
    reopen();
    convert_accounts(heap, 1);
    ASSERT_NE(account_at("accounts"), nullptr);
    EXPECT_EQ(account_at("accounts")->next->balance, 7);
    convert_accounts(heap, -1);
    reopen();
    convert_accounts(heap, -1); // has nothing to do
    auto* const now = REM_ROOT_GET(heap, "accounts", struct account_with_cents);
    ASSERT_NE(now, nullptr);
    EXPECT_EQ(now->cents, 500);
    EXPECT_EQ(now->next->cents, 700);
    EXPECT_EQ(account_at("accounts"), nullptr);
    EXPECT_EQ(last_status(), REM_TYPE_MISMATCH);
}

TEST_F(c_roots, lie_in_blocks_of_their_heap) {
    account outside{};
    EXPECT_STATUS(rem_root_set(heap, "a", &outside), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_root_set(heap, "a", nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(rem_root_set(heap, "a", rem_base(heap)), REM_INVALID_ARGUMENT);
    auto* const array = static_cast<account*>(rem_calloc(heap, 10, sizeof(account)));
    EXPECT_OK(REM_ROOT_SET(heap, "a", &array[9], struct account));
    EXPECT_STATUS(rem_root_set_as(heap, "a", &array[9], "struct account[2]", 2 * sizeof(account)),
                  REM_INVALID_ARGUMENT);
    ASSERT_OK(rem_free(array));
    EXPECT_STATUS(REM_ROOT_SET(heap, "b", &array[9], struct account), REM_INVALID_ARGUMENT);
}

TEST_F(c_roots, have_names) {
    account* const first = add_account("first", 5);
    const std::string longest(4096, 'n');
    const std::string too_long(4097, 'n');
    EXPECT_OK(rem_root_set(heap, longest.c_str(), first));
    EXPECT_EQ(rem_root_get(heap, longest.c_str()), first);
    for (const char* name : {static_cast<const char*>(nullptr), "", too_long.c_str()}) {
        EXPECT_STATUS(rem_root_set(heap, name, first), REM_INVALID_ARGUMENT);
        EXPECT_STATUS(rem_root_set_as(heap, "x", first, name, 8), REM_INVALID_ARGUMENT);
        EXPECT_EQ(rem_root_get(heap, name), nullptr);
        EXPECT_EQ(last_status(), REM_INVALID_ARGUMENT);
        EXPECT_STATUS(rem_root_remove(heap, name), REM_INVALID_ARGUMENT);
    }
}

TEST_F(c_roots, are_removed_without_their_object) {
    account* const first = add_account("first", 5);
    ASSERT_OK(rem_root_remove(heap, "first"));
    EXPECT_EQ(account_at("first"), nullptr);
    EXPECT_STATUS(rem_root_remove(heap, "first"), REM_NOT_FOUND);
    EXPECT_EQ(first->balance, 5);
    EXPECT_OK(rem_free(first));
}

/// The heap ends before the block once it is closed.
TEST_F(c_roots, whose_block_was_freed_keep_no_other_root_from_being_found) {
    account* const other = add_account("other", 5);
    void* const large = rem_alloc(heap, 1'000'000);
    ASSERT_OK(rem_root_set(heap, "freed", large));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    ASSERT_OK(rem_free(large));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    reopen();
    EXPECT_EQ(account_at("other"), other);
    EXPECT_EQ(rem_root_get(heap, "freed"), nullptr);
    EXPECT_EQ(last_status(), REM_CORRUPT);
    EXPECT_NE(std::string(rem_last_error()->message).find("the root \"freed\""), std::string::npos)
        << rem_last_error()->message;
    EXPECT_STATUS(rem_verify(heap, nullptr, nullptr, nullptr), REM_CORRUPT);
    ASSERT_OK(rem_root_set(heap, "freed", other));
    EXPECT_EQ(rem_root_get(heap, "freed"), other);
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
    ASSERT_OK(rem_root_set(heap, "freed", rem_alloc(heap, 1'000'000)));
    ASSERT_OK(rem_free(rem_root_get(heap, "freed")));
    ASSERT_OK(rem_commit(heap, REM_DURABLE));
    reopen();
    ASSERT_OK(rem_root_remove(heap, "freed"));
    EXPECT_OK(rem_verify(heap, nullptr, nullptr, nullptr));
}

TEST_F(c_roots, are_listed_by_name_with_their_types) {
    auto* const block = rem_alloc(heap, 24);
    ASSERT_OK(rem_root_set(heap, "z", block));
    add_account("a", 5);
    std::vector<listed> all;
    ASSERT_OK(rem_roots(heap, keep, &all));
    EXPECT_EQ(all, (std::vector<listed>{{"a", "C struct account", sizeof(account)},
                                        {"z", "C block", rem_usable_size(block)}}));
    int calls = 0;
    ASSERT_OK(rem_roots(heap, [](void* count, const rem_root*) { return ++*static_cast<int*>(count) == 0; }, &calls));
    EXPECT_EQ(calls, 1); // it asked for no more
}

TEST_F(c_roots, may_be_set_while_they_are_listed) {
    add_account("a", 1);
    add_account("b", 1);
    ASSERT_OK(rem_roots(
        heap,
        [](void* of, const rem_root* root) {
            auto* const listing = static_cast<rem_heap*>(of);
            return rem_root_remove(listing, root->name) == REM_OK;
        },
        heap));
    std::vector<listed> all;
    ASSERT_OK(rem_roots(heap, keep, &all));
    EXPECT_TRUE(all.empty());
}

TEST_F(c_roots, are_another_type_to_cpp_programs_and_the_reverse) {
    add_account("first", 5);
    ASSERT_OK(rem_close(heap));
    {
        class heap book = remanence::heap::open(path);
        try {
            (void)book.find_root<account>("first");
            ADD_FAILURE() << "it was found";
        } catch (const error& e) {
            EXPECT_EQ(e.reason(), errc::type_mismatch);
            EXPECT_NE(std::string(e.what()).find("is stored as C struct account (16 bytes)"), std::string::npos)
                << e.what();
        }
        book.root<int>("number") = 5;
        book.commit();
        EXPECT_TRUE(book.verify().clean());
        EXPECT_TRUE(book.check_pointers().clean());
        book.close();
    }
    open();
    EXPECT_EQ(rem_root_get(heap, "number"), nullptr);
    EXPECT_EQ(last_status(), REM_TYPE_MISMATCH);
    EXPECT_STATUS(rem_root_remove(heap, "number"), REM_TYPE_MISMATCH);
    auto* const block = rem_alloc(heap, 24);
    EXPECT_STATUS(rem_root_set(heap, "number", block), REM_TYPE_MISMATCH);
    EXPECT_NE(account_at("first"), nullptr);
}

TEST_F(c_roots, setting_one_again_allocates_nothing) {
    account* const first = add_account("first", 5);
    account* const second = add_account("second", 5);
    ASSERT_OK(rem_write_begin(heap));
    rem_stats stats{};
    stats.size = sizeof stats;
    ASSERT_OK(rem_get_stats(heap, &stats));
    const uint64_t before = stats.allocated_bytes;
    for (int i = 0; i < 100; ++i)
        ASSERT_OK(REM_ROOT_SET(heap, "first", i % 2 == 0 ? second : first, struct account));
    ASSERT_OK(rem_get_stats(heap, &stats));
    EXPECT_EQ(stats.allocated_bytes, before);
    ASSERT_OK(rem_write_end(heap));
}

TEST_F(c_roots, in_a_declared_section_are_part_of_its_commit) {
    add_account("first", 5);
    ASSERT_OK(rem_write_begin_declared(heap));
    account* const second = add_account("first", 6);
    add_account("second", 7);
    ASSERT_OK(rem_write_end(heap));
    reopen();
    EXPECT_EQ(account_at("first"), second);
    EXPECT_EQ(second->balance, 6);
    EXPECT_NE(account_at("second"), nullptr);
}

} // namespace

} // namespace remanence::test
