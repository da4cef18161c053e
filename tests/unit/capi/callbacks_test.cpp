// Functions of C programs that calls of the library run, and what they may do to the sections and the heap of that call.
#include "fixture.hpp"

#include <cstddef>
#include <functional>
#include <string>

namespace remanence::test {
namespace {

/// What the function of the moment does.
std::function<rem_status(rem_heap*)> doing; // NOLINT

rem_status run(rem_heap* heap, const void* /*parameters*/, std::size_t /*bytes*/, void* /*context*/) {
    return doing(heap);
}

class c_callbacks : public c_heap {
protected:
    void SetUp() override {
        rem_options options = options_of(REM_TRANSACTIONAL);
        rem_history_options history{};
        history.size = sizeof history;
        history.steps_max = 10;
        const rem_procedure all[] = {{"run", &run, nullptr, nullptr}, {"both", &run, &run, nullptr}};
        ASSERT_OK(rem_open_with_procedures(path.c_str(), &options, &history, all, 2, &heap));
    }
    rem_status call(const std::function<rem_status(rem_heap*)>& f) {
        doing = f;
        return rem_call(heap, "run", nullptr, 0);
    }
    /// What a reader, a writer and a visitor hear.
    void expect_everywhere(const std::function<rem_status()>& f, rem_status expected) {
        struct context {
            const std::function<rem_status()>& f;
            rem_status expected;
            bool has_run = false;
            void now() {
                has_run = true;
                EXPECT_STATUS(f(), expected);
            }
        };
        (void)add_account("an account", 1);
        EXPECT_STATUS(call([&](rem_heap*) {
                          EXPECT_STATUS(f(), expected);
                          return REM_OK;
                      }),
                      REM_OK);
        context of{f, expected};
        (void)rem_load(
            heap,
            [](void* c, char*, std::size_t) {
                static_cast<context*>(c)->now();
                return std::size_t{0};
            },
            &of);
        EXPECT_TRUE(std::exchange(of.has_run, false));
        const auto visit = [](void* c, const rem_root*) {
            static_cast<context*>(c)->now();
            return false;
        };
        EXPECT_OK(rem_roots(heap, visit, &of));
        EXPECT_TRUE(std::exchange(of.has_run, false));
    }
};

TEST_F(c_callbacks, do_not_end_sections_of_the_call) {
    expect_everywhere([&] { return rem_write_end(heap); }, REM_NO_SECTION);
    expect_everywhere([&] { return rem_write_abort(heap); }, REM_NO_SECTION);
    expect_everywhere([&] { return rem_write_end_async(heap, nullptr); }, REM_NO_SECTION);
    expect_everywhere([&] { return rem_write_end_as(heap, REM_DURABLE); }, REM_NO_SECTION);
    expect_everywhere([&] { return rem_read_end(heap); }, REM_NO_SECTION);
}

TEST_F(c_callbacks, do_not_close_the_heap) {
    expect_everywhere([&] { return rem_close(heap); }, REM_SECTION_OPEN);
    EXPECT_TRUE(rem_is_open(heap));
}

TEST_F(c_callbacks, end_sections_that_they_began) {
    expect_everywhere(
        [&] {
            const rem_status begun = rem_write_begin(heap);
            return begun == REM_OK ? rem_write_end(heap) : begun;
        },
        REM_OK);
}

TEST_F(c_callbacks, that_leave_a_section_open_are_rolled_back) {
    account* const made = add_account("a", 1);
    EXPECT_STATUS(call([&](rem_heap* h) {
                      made->balance = 2;
                      return rem_write_begin(h);
                  }),
                  REM_SECTION_OPEN);
    EXPECT_EQ(made->balance, 1);
    EXPECT_STATUS(call([&](rem_heap* h) {
                      made->balance = 3;
                      (void)rem_read_begin(h);
                      return rem_write_begin(h);
                  }),
                  REM_SECTION_OPEN);
    EXPECT_EQ(made->balance, 1);
    EXPECT_OK(call([&](rem_heap*) {
        made->balance = 4;
        return REM_OK;
    }));
    EXPECT_EQ(made->balance, 4);
    EXPECT_OK(rem_close(heap)); // no section is left
}

TEST_F(c_callbacks, of_an_undo_do_not_end_its_section) {
    account* const made = add_account("a", 1);
    doing = [&](rem_heap*) {
        ++made->balance;
        return REM_OK;
    };
    ASSERT_OK(rem_call(heap, "both", nullptr, 0));
    doing = [&](rem_heap* h) {
        EXPECT_STATUS(rem_write_end(h), REM_NO_SECTION);
        EXPECT_STATUS(rem_close(h), REM_SECTION_OPEN);
        --made->balance;
        return REM_OK;
    };
    EXPECT_OK(rem_undo(heap, 1));
    EXPECT_EQ(made->balance, 1);
}

TEST_F(c_callbacks, that_load_neither_commit_nor_roll_back_what_is_half_loaded) {
    for (const auto& each : std::initializer_list<std::function<rem_status()>>{
             [&] { return rem_commit(heap, REM_DURABLE); }, [&] { return rem_rollback(heap); },
             [&] { return rem_commit_async(heap, nullptr); }}) {
        struct context {
            const std::function<rem_status()>& f;
        } of{each};
        (void)rem_load(
            heap,
            [](void* c, char*, std::size_t) {
                EXPECT_STATUS(static_cast<context*>(c)->f(), REM_SECTION_OPEN);
                return std::size_t{0};
            },
            &of);
    }
    EXPECT_OK(rem_commit(heap, REM_DURABLE));
}

TEST_F(c_callbacks, that_read_may_fail_and_may_not_read_too_much) {
    EXPECT_STATUS(rem_load(heap, [](void*, char*, std::size_t) { return SIZE_MAX; }, nullptr), REM_IO);
    EXPECT_STATUS(
        rem_load(heap, [](void*, char*, std::size_t bytes) { return bytes + 1; }, nullptr), REM_INVALID_ARGUMENT);
    EXPECT_STATUS(
        rem_load(heap, [](void*, char*, std::size_t bytes) { return 1000 * bytes; }, nullptr), REM_INVALID_ARGUMENT);
}

} // namespace
} // namespace remanence::test
