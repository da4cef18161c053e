// Every allocation fails, one after the other, while a volatile heap becomes a file and while a file becomes a volatile
// heap: there is no file then, or no volatile heap, and what there was is as before.
#include "failing_new.hpp"
#include "program.hpp"
#include "volatile_files.hpp"

#include <gtest/gtest.h>

#include <iostream>

namespace remanence::faults {
namespace {

/// Returns false if memory was lacking.
template <class F>
bool has_memory_for(std::uint64_t allocation, const F& f) {
    allocations() = {.armed = true, .from_then_on = false, .left = allocation};
    try {
        f();
        allocations().armed = false;
        return true;
    } catch (const std::bad_alloc&) {
        allocations().armed = false;
        return false;
    }
}

TEST(failing_allocations_of_volatile_files, leave_no_file_and_the_volatile_heap_as_it_was) {
    const auto dir = test::temp_dir::in_memory();
    const std::filesystem::path path = dir.path() / "heap";
    auto list = make_kept_list();
    save_as(*list, path); // what is allocated once for all
    std::filesystem::remove(path);
    std::uint64_t lacked = 0;
    std::uint64_t n = 0;
    for (const std::uint64_t stride = stride_of_faults(3);; n += stride) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        const bool done = has_memory_for(n, [&] { save_as(*list, path); });
        lacked += done ? 0U : 1U;
        ASSERT_EQ(wrong_with(*list), "");
        ASSERT_EQ(std::filesystem::exists(path), done);
        if (!done) {
            ASSERT_TRUE(std::filesystem::is_empty(dir.path()))
                << std::filesystem::directory_iterator(dir.path())->path();
            continue;
        }
        ASSERT_TRUE(is_whole(path, list));
        if (allocations().failed == 0)
            break;
        std::filesystem::remove(path);
    }
    EXPECT_GT(lacked, 20U);

    list.reset();
    std::uint64_t not_loaded = 0;
    for (n = 0;; n += stride_of_faults(3)) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " of loading");
        std::unique_ptr<volatile_heap> loaded;
        const bool done = has_memory_for(n, [&] { loaded = load_volatile(path); });
        not_loaded += done ? 0U : 1U;
        ASSERT_EQ(loaded != nullptr, done);
        if (done) {
            ASSERT_EQ(wrong_with(*loaded), "");
        }
        if (done && allocations().failed == 0)
            break;
    }
    EXPECT_GT(not_loaded, 20U);
    std::cout << "saved " << lacked << ", loaded " << not_loaded << " times without memory\n";
}

} // namespace
} // namespace remanence::faults
