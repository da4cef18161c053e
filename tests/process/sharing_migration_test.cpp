// Roots are not migrated under the eyes of other processes.

#include "process/other_process.hpp"

#include <remanence/migrate.hpp>

#include <string>

namespace remanence::test {
namespace {

TEST(sharing_migration, is_refused_while_other_processes_have_the_heap_open) {
    const temp_dir dir;
    const fs::path path = dir / "h";
    {
        heap made = heap::open(path, shared_heap());
        made.write([&] { made.root<vector<int>>("numbers") = {1, 2, 3}; });
        made.close();
    }
    heap_options options = shared_heap();
    options.migrate = migrations().to<list<long>>("numbers");
    enum : int { opened, may_end };
    signals told;
    other_process other([&] {
        heap beside = heap::open(path, shared_heap());
        told.set(opened);
        told.wait(may_end);
        const bool is_whole = beside.read([&] { return beside.root<vector<int>>("numbers").size() == 3; });
        beside.close();
        if (!is_whole)
            throw std::runtime_error("the root is not as it was");
    });
    told.wait(opened);
    EXPECT_TRUE(
        is_error(error_of([&] { (void)heap::open(path, options); }), errc::in_use, path, "Close it there first"));
    told.set(may_end);
    EXPECT_EQ(other.wait(), 0);
    heap converted = heap::open(path, options);
    EXPECT_EQ(converted.read([&] { return converted.root<list<long>>("numbers").back(); }), 3);
    EXPECT_TRUE(converted.verify().clean());
    converted.close();
}

} // namespace
} // namespace remanence::test
