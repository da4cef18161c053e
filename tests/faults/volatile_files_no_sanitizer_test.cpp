// Every system call fails, one after the other, while a volatile heap becomes a file and while a file becomes a volatile
// heap. A call that fails leaves no file behind and the volatile heap as it was; one that succeeds has made all of it.
#include "failing_calls.hpp"
#include "program.hpp"
#include "volatile_files.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <iostream>

namespace remanence::faults {
namespace {

/// Returns false if `f` has told of the failure.
template <class F>
bool succeeds(int code, bool from_then_on, std::uint64_t call, const F& f) {
    plan = {.armed = true, .from_then_on = from_then_on, .code = code, .left = call};
    try {
        f();
        plan.armed = false;
        return true;
    } catch (const error& e) {
        plan.armed = false;
        // a part of the heap that cannot be read counts as damaged, as for verify()
        EXPECT_TRUE(e.os_error() == code || (plan.unreadable && e.reason() == errc::corrupt))
            << plan.struck << ": " << e.what();
    } catch (const std::bad_alloc&) {
        plan.armed = false;
        EXPECT_TRUE(plan.struck.starts_with("mmap") || plan.struck.starts_with("mprotect")) << plan.struck;
    }
    return false;
}

TEST(failing_system_calls_of_volatile_files, leave_no_file_and_the_volatile_heap_as_it_was) {
    const auto dir = test::temp_dir::in_memory();
    const std::filesystem::path path = dir.path() / "heap";
    auto list = make_kept_list();
    for (const auto& [code, from_then_on] : {std::pair(EIO, false), std::pair(EIO, true), std::pair(ENOSPC, false),
                                             std::pair(EINTR, false), std::pair(k_short, false)}) {
        std::uint64_t heard = 0;
        std::uint64_t n = 0;
        for (const std::uint64_t stride = stride_of_faults(from_then_on ? 17 : 5);; n += stride) {
            SCOPED_TRACE("code " + std::to_string(code) + ", call " + std::to_string(n));
            const bool done = succeeds(code, from_then_on, n, [&] { save_as(*list, path); });
            const std::string struck = plan.struck;
            heard += done ? 0U : 1U;
            ASSERT_EQ(wrong_with(*list), "");
            if (!done) {
                ASSERT_FALSE(std::filesystem::exists(path) && !from_then_on) << struck;
                std::filesystem::remove(path); // its name may be there if nothing can be removed any more
                ASSERT_TRUE(from_then_on || std::filesystem::is_empty(dir.path())) << struck;
                save_as(*list, path); // what is left is no obstacle
            }
            ASSERT_TRUE(is_whole(path, list)) << struck;
            std::filesystem::remove(path);
            ASSERT_TRUE(std::filesystem::is_empty(dir.path())) << struck;
            if (struck.empty())
                break;
        }
        EXPECT_GT(n, 50U);
        if (code != EINTR) { // some calls are not made again
            EXPECT_EQ(heard != 0, code != k_short);
        }
        std::cout << "code " << code << ": " << n << " calls, " << heard << " failures were heard\n";
    }
}

TEST(failing_system_calls_of_volatile_files, load_all_or_nothing) {
    const auto dir = test::temp_dir::in_memory();
    const std::filesystem::path path = dir.path() / "heap";
    save_as(*make_kept_list(), path);
    for (const int code : {EIO, EINTR, k_short}) {
        std::uint64_t heard = 0;
        std::uint64_t n = 0;
        for (;; ++n) {
            SCOPED_TRACE("code " + std::to_string(code) + ", call " + std::to_string(n));
            std::unique_ptr<volatile_heap> loaded;
            const bool done = succeeds(code, false, n, [&] { loaded = load_volatile(path); });
            heard += done ? 0U : 1U;
            if (done) {
                ASSERT_EQ(wrong_with(*loaded), "") << plan.struck;
            }
            if (plan.struck.empty())
                break;
        }
        EXPECT_GT(n, 5U);
        if (code != EINTR) {
            EXPECT_EQ(heard != 0, code != k_short);
        }
        std::cout << "code " << code << ": " << n << " calls, " << heard << " failures were heard\n";
    }
}

} // namespace
} // namespace remanence::faults
