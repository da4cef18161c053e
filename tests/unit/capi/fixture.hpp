// What the tests of the C interface share.
#pragma once

#include "support/temp_dir.hpp"

#include <remanence/remanence.h>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace remanence::test {

/// The status, and what the library says of it.
inline testing::AssertionResult is(rem_status status, rem_status expected) {
    if (status == expected)
        return testing::AssertionSuccess() << "it is " << rem_status_text(status);
    return testing::AssertionFailure() << rem_status_text(status) << " instead of " << rem_status_text(expected) << ": "
                                       << rem_last_error()->message;
}
#define EXPECT_STATUS(call, expected) EXPECT_TRUE(::remanence::test::is((call), (expected)))
#define ASSERT_STATUS(call, expected) ASSERT_TRUE(::remanence::test::is((call), (expected)))
#define ASSERT_OK(call) ASSERT_STATUS(call, REM_OK)
#define EXPECT_OK(call) EXPECT_STATUS(call, REM_OK)

/// Of the thread's last call that failed.
inline rem_status last_status() { return rem_last_error()->status; }

/// Small, so that hundreds can be open one after the other.
inline rem_options options_of(rem_kind kind) {
    rem_options options{};
    options.size = sizeof options;
    options.kind = kind;
    options.reserve_bytes = std::size_t{64} << 20;
    return options;
}

struct account {
    long balance;
    account* next;
};

/// A heap in a directory of its own, where syncs cost nothing.
class c_heap : public testing::Test {
protected:
    void open(rem_kind kind = REM_TRANSACTIONAL) {
        const rem_options options = options_of(kind);
        ASSERT_OK(rem_open(path.c_str(), &options, &heap));
    }
    void reopen(rem_kind kind = REM_TRANSACTIONAL) {
        ASSERT_OK(rem_close(heap));
        open(kind);
    }
    void TearDown() override {
        if (rem_is_open(heap)) {
            EXPECT_OK(rem_close(heap));
        }
    }
    /// An account with a balance, reached by a root.
    account* add_account(const char* name, long balance) {
        auto* const made = static_cast<account*>(rem_calloc(heap, 1, sizeof(account)));
        if (made != nullptr)
            made->balance = balance;
        EXPECT_OK(REM_ROOT_SET(heap, name, made, struct account));
        return made;
    }
    account* account_at(const char* name) { return REM_ROOT_GET(heap, name, struct account); }

    temp_dir dir = temp_dir::in_memory();
    std::string path = (dir / "c.rem").string();
    rem_heap* heap = nullptr;
};

} // namespace remanence::test
