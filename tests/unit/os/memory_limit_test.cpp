#include "os/memory_limit.hpp"

#include "base/units.hpp"
#include "testing/simulated_disk.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

namespace remanence::os {
namespace {

class memory_limit_of_files : public testing::Test {
protected:
    void put(const std::string& path, const std::string& text) {
        auto file = disk_.open_or_create(path, 0644);
        ASSERT_TRUE(file);
        ASSERT_TRUE((*file)->write("test", 0, std::as_bytes(std::span(text))));
    }
    void put_machine() { put("/proc/meminfo", "MemTotal:       24683116 kB\nMemFree:         1234 kB\n"); }

    static constexpr std::uint64_t k_machine = std::uint64_t{24683116} * KiB;
    simulation::simulated_disk disk_;
};

TEST_F(memory_limit_of_files, is_unknown_where_nothing_tells) { EXPECT_EQ(memory_limit(disk_), 0U); }

TEST_F(memory_limit_of_files, is_the_machines_memory_without_groups) {
    put_machine();
    EXPECT_EQ(memory_limit(disk_), k_machine);
    put("/proc/self/cgroup", "0::/a/b\n");
    EXPECT_EQ(memory_limit(disk_), k_machine);
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    EXPECT_EQ(memory_limit(disk_), k_machine);
}

TEST_F(memory_limit_of_files, is_that_of_a_second_version_group_or_of_its_parents) {
    put_machine();
    put("/proc/self/cgroup", "0::/user.slice/of one/scope\n");
    put("/sys/fs/cgroup/user.slice/of one/scope/memory.max", "1073741824\n");
    EXPECT_EQ(memory_limit(disk_), GiB);
    put("/sys/fs/cgroup/user.slice/memory.max", "536870912\n");
    EXPECT_EQ(memory_limit(disk_), 512 * MiB);
    put("/sys/fs/cgroup/memory.max", "268435456\n"); // as a container sees its own group
    EXPECT_EQ(memory_limit(disk_), 256 * MiB);
}

TEST_F(memory_limit_of_files, is_that_of_a_first_version_group_or_of_its_parents) {
    put_machine();
    put("/proc/self/cgroup", "9:name=systemd:/else\n4:hugetlb,memory:/jobs/one\n3:cpuset:/\n0::/\n");
    put("/sys/fs/cgroup/memory/else/memory.limit_in_bytes", "4096\n"); // of a group that it is not in
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(memory_limit(disk_), k_machine);
    put("/sys/fs/cgroup/memory/jobs/one/memory.limit_in_bytes", "2147483648\n");
    EXPECT_EQ(memory_limit(disk_), 2 * GiB);
    put("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", "268435456\n");
    EXPECT_EQ(memory_limit(disk_), 256 * MiB);
}

TEST_F(memory_limit_of_files, is_found_behind_a_lot_of_other_groups) {
    put_machine();
    for (const std::size_t bytes : {4096U, 5000U, 16384U, 20000U}) {
        const std::string last = "4:memory:/jobs\n";
        std::string text;
        while (text.size() + last.size() < bytes)
            text += "9:name=systemd:/else\n";
        text.resize(bytes - last.size() - 1);
        put("/proc/self/cgroup", text + '\n' + last);
        put("/sys/fs/cgroup/memory/jobs/memory.limit_in_bytes", std::to_string(bytes * MiB) + '\n');
        EXPECT_EQ(memory_limit(disk_), std::min(bytes * MiB, k_machine)) << bytes;
    }
}

TEST_F(memory_limit_of_files, is_not_disturbed_by_what_no_kernel_says) {
    put_machine();
    put("/proc/self/cgroup", "\n:\n::\n4\n4:memory\n0::\n0::/x\n");
    put("/sys/fs/cgroup/x/memory.max", "");
    put("/sys/fs/cgroup/memory.max", "99999999999999999999999999\n");
    EXPECT_EQ(memory_limit(disk_), k_machine);
    put("/proc/meminfo", "MemTotal: much\n");
    EXPECT_EQ(memory_limit(disk_), 0U);
}

TEST(memory_limit_of_this_machine, is_some) { EXPECT_GT(memory_limit(posix_file_system()), MiB); }

} // namespace
} // namespace remanence::os
