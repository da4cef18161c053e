// Whose heap it is: recorded at creation, and checked before anything of the heap is read or recovered.
#include "recover/upgrade.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/file_backed.hpp>

namespace remanence::test {
namespace {

heap_options of(const std::string& application) {
    return {.memory = {.reserve_bytes = 64 * MiB}, .checks = {.application = application}};
}

void make_heap_of(const fs::path& path, const std::string& application) {
    heap h = heap::create(path, of(application));
    put_contents(h);
    h.close();
}

TEST(application, that_made_a_heap_and_tools_open_it_and_others_do_not) {
    temp_dir dir;
    make_heap_of(dir / "h", "org.x.book");
    EXPECT_EQ(heap::open_existing(dir / "h", of("org.x.book")).application(), "org.x.book");
    EXPECT_EQ(heap::open_existing(dir / "h", of("")).application(), "org.x.book");
    const auto before = read_file(dir / "h");
    for (const bool read_only : {false, true}) {
        auto options = of("org.x.boo");
        options.read_only = read_only;
        const auto got = error_of([&] { heap::open(dir / "h", options); });
        EXPECT_TRUE(is_error(got, errc::wrong_application, dir / "h", "\"org.x.book\""));
        EXPECT_TRUE(is_error(got, errc::wrong_application, dir / "h", "\"org.x.boo\""));
    }
    EXPECT_EQ(read_file(dir / "h"), before);
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(application, is_checked_before_the_heap_is_recovered) {
    temp_dir dir;
    {
        heap h = heap::create(dir / "running", of("mine"));
        put_contents(h);
        fs::copy_file(dir / "running", dir / "h");
        fs::copy_file(log_of(dir / "running"), log_of(dir / "h"));
    }
    const auto before = read_file(dir / "h");
    const auto log_before = read_file(log_of(dir / "h"));
    const auto got = error_of([&] { heap::open(dir / "h", of("another")); });
    EXPECT_TRUE(is_error(got, errc::wrong_application, dir / "h", "another"));
    EXPECT_EQ(read_file(dir / "h"), before);
    EXPECT_EQ(read_file(log_of(dir / "h")), log_before);
    fs::remove(dir / "running"); // it is where this one is mapped
    heap h = heap::open(dir / "h", of("mine"));
    EXPECT_TRUE(has_contents(h));
}

TEST(application, of_a_heap_that_names_none_is_nobody_until_it_is_recorded) {
    temp_dir dir;
    make_heap(dir / "h");
    EXPECT_EQ(heap::open_existing(dir / "h", small_heap()).application(), "");
    const auto got = error_of([&] { heap::open(dir / "h", of("mine")); });
    EXPECT_TRUE(
        is_error(got, errc::wrong_application, dir / "h", "rem upgrade --application mine " + (dir / "h").string()));
    const auto done = recover::upgrade(os::posix_file_system(), dir / "h", "mine");
    ASSERT_TRUE(done) << done.why().message;
    heap h = heap::open(dir / "h", of("mine"));
    EXPECT_EQ(h.application(), "mine");
    EXPECT_TRUE(has_contents(h));
    h.close();
    EXPECT_EQ(recover::upgrade(os::posix_file_system(), dir / "h", "yours").why().code, errc::wrong_application);
}

TEST(application, stays_over_commits_checkpoints_crashes_and_copies) {
    temp_dir dir;
    make_heap_of(dir / "h", "mine");
    {
        heap h = heap::open(dir / "h", of("mine"));
        h.write([&] { h.root<numbers>("numbers").push_back(1); });
        h.checkpoint();
        h.write([&] { h.root<numbers>("numbers").push_back(2); });
        fs::copy_file(dir / "h", dir / "copy");
        fs::copy_file(log_of(dir / "h"), log_of(dir / "copy"));
    }
    EXPECT_EQ(heap::open(dir / "copy", of("mine")).application(), "mine");
    EXPECT_EQ(heap::open(dir / "h", of("mine")).application(), "mine");
}

TEST(application, has_a_name_of_printable_characters_that_fits) {
    temp_dir dir;
    for (const std::string& name : {std::string("with space"), std::string("sixteen_letters_"), std::string("\x7f"),
                                    std::string("nul\0", 4), std::string("\n"), std::string("\xc3\xa9")}) {
        const auto got = error_of([&] { heap::create(dir / "h", of(name)); });
        EXPECT_TRUE(is_error(got, errc::invalid_argument, dir / "h", "options.checks.application"));
        EXPECT_FALSE(fs::exists(dir / "h"));
    }
    for (const std::string& name : {std::string("BOOK"), std::string("fifteen_letters"), std::string("~")}) {
        make_heap_of(dir / "h", name);
        EXPECT_EQ(heap::open(dir / "h", of(name)).application(), name);
        fs::remove(dir / "h");
    }
}

TEST(application, of_a_container_in_a_file_is_checked_too) {
    temp_dir dir;
    file_backed_options mine;
    mine.heap.checks.application = "mine";
    {
        file_backed<vector<int>> list(dir / "list", mine);
        list->push_back(1);
    }
    EXPECT_EQ((*file_backed<vector<int>>(dir / "list", mine))[0], 1);
    file_backed_options yours;
    yours.heap.checks.application = "yours";
    const auto got = error_of([&] { file_backed<vector<int>> list(dir / "list", yours); });
    EXPECT_TRUE(is_error(got, errc::wrong_application, dir / "list", "\"mine\""));
}

} // namespace
} // namespace remanence::test
