#include "support/temp_dir.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

namespace fs = std::filesystem;
using remanence::test::temp_dir;

TEST(temp_dir, is_an_empty_directory_below_the_temporary_path) {
    temp_dir dir;
    EXPECT_TRUE(fs::is_directory(dir.path()));
    EXPECT_TRUE(fs::is_empty(dir.path()));
    EXPECT_TRUE(fs::equivalent(dir.path().parent_path(), fs::temp_directory_path()));
}

TEST(temp_dir, takes_its_content_with_it) {
    fs::path path;
    {
        temp_dir dir;
        path = dir.path();
        fs::create_directory(dir / "inner");
        std::ofstream file(dir / "inner/file");
        file << "content";
        EXPECT_TRUE(fs::exists(path / "inner/file"));
    }
    EXPECT_FALSE(fs::exists(path));
}

TEST(temp_dir_threads, names_never_collide) {
    std::array<fs::path, 64> paths;
    std::array<std::thread, 4> threads;
    for (std::size_t t = 0; t < threads.size(); ++t) {
        threads[t] = std::thread([&paths, t] {
            for (std::size_t i = t; i < paths.size(); i += 4) {
                temp_dir dir;
                fs::create_directory(dir / "mine");
                EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()), 1);
                paths[i] = dir.path();
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(std::count(paths.begin(), paths.end(), fs::path()), 0);
}
