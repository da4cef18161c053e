// Locks of containers: what ends the process, and what a forked child may do.

#include "unit/api/fixture.hpp"

#include <optional>
#include <string>
#include <thread>

namespace remanence::test {
namespace {

using numbers_file = file_backed<vector<std::uint64_t>>;

class container_locks_and_processes : public testing::Test {
protected:
    temp_dir dir_;
    const fs::path file_ = dir_ / "numbers.rem";
};

TEST_F(container_locks_and_processes, a_guard_that_another_thread_destroys_ends_the_process_with_a_sentence) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            auto file = numbers_file(file_);
            std::optional all(file.exclusive());
            std::thread([&] { all.reset(); }).join();
        },
        "ended by another thread");
}

TEST_F(container_locks_and_processes, a_forked_child_has_no_lock) {
    auto file = numbers_file(file_);
    auto all = file.exclusive();
    all->push_back(1);
    EXPECT_EQ(in_child([&]() -> std::string {
                  all.unlock();
                  const auto refused = error_of([&] { file.unlock(); });
                  return refused && refused->code == errc::closed ? "closed" : "unlocked";
              }),
              "closed");
    all->push_back(2);
    all.unlock();
    file.rollback();
    EXPECT_EQ(file->size(), 2U);
}

} // namespace
} // namespace remanence::test
