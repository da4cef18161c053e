// What programs may ask about heaps; the tests of rem, which prints it, go further.

#include "unit/api/fixture.hpp"

#include <remanence/inspect.hpp>
#include <remanence/remanence.hpp>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace remanence::test {

namespace {

class inspecting : public testing::Test {
protected:
    temp_dir dir;
    std::string make_heap() {
        heap h = heap::create(dir / "h.rem");
        h.root<map<string, int>>("ages")["Knuth"] = 88;
        h.commit();
        h.close();
        return (dir / "h.rem").string();
    }
};

TEST_F(inspecting, tells_of_a_heap_without_opening_it) {
    const std::string path = make_heap();
    const inspect::report found = inspect::look(path);
    EXPECT_TRUE(found.is_clean);
    EXPECT_FALSE(found.is_open_elsewhere);
    EXPECT_TRUE(found.problems.empty());
    ASSERT_EQ(found.roots.size(), 1U);
    EXPECT_EQ(found.roots[0].name, "ages");
    EXPECT_GT(found.allocated_bytes, 0U);
    const inspect::report memory = inspect::survey_memory(path);
    ASSERT_TRUE(memory.memory);
    EXPECT_EQ(memory.memory->allocated_bytes, found.allocated_bytes);
    const inspect::report checked = inspect::verify(path, true);
    EXPECT_TRUE(checked.problems.empty());
    EXPECT_EQ(checked.checked.blocks, memory.memory->blocks);
    ASSERT_TRUE(checked.pointers);
    EXPECT_EQ(checked.pointers->found, 0U);
}

TEST_F(inspecting, of_a_heap_that_is_open_tells_the_last_commit) {
    const std::string path = (dir / "open.rem").string();
    heap h = heap::create(path);
    int& n = h.root<int>("n");
    n = 1;
    h.commit();
    const std::uint64_t version = inspect::look(path).version;
    n = 2; // not committed
    const inspect::report found = inspect::look(path);
    EXPECT_TRUE(found.is_open_elsewhere);
    EXPECT_EQ(found.version, version);
    ASSERT_EQ(found.roots.size(), 1U);
    EXPECT_EQ(found.roots[0].name, "n");
    h.commit();
    EXPECT_EQ(inspect::look(path).version, version + 1);
}

TEST_F(inspecting, damage_is_reported_and_what_is_no_heap_is_an_error) {
    const std::string path = make_heap();
    {
        std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(0);
        file.write("xxxxxxxx", 8);
        file.seekp(4096);
        file.write("xxxxxxxx", 8);
    }
    EXPECT_FALSE(inspect::verify(path).problems.empty());
    EXPECT_THROW((void)inspect::look((dir / "none.rem").string()), error);
}

TEST_F(inspecting, copies_to_a_file_and_to_a_sink_are_alike_and_nothing_is_replaced_unasked) {
    const std::string path = make_heap();
    const std::string to = (dir / "copy.rem").string();
    std::string unfinished;
    inspect::copy(path, to, inspect::existing::refused, {}, [&](const std::string& name) { unfinished = name; });
    EXPECT_EQ(unfinished, to + "-new");
    std::string sent;
    inspect::copy(path, [&](std::span<const std::byte> bytes) {
        std::ranges::transform(bytes, std::back_inserter(sent), [](std::byte b) { return static_cast<char>(b); });
    });
    std::ifstream file(to, std::ios::binary);
    EXPECT_EQ(sent, std::string(std::istreambuf_iterator<char>(file), {}));
    try {
        inspect::copy(path, to);
        ADD_FAILURE() << "replaced";
    } catch (const error& e) {
        EXPECT_EQ(e.reason(), errc::exists);
    }
    inspect::copy(path, to, inspect::existing::replaced);
    heap copy = heap::open_existing(to);
    EXPECT_EQ((copy.root<map<string, int>>("ages").at("Knuth")), 88);
}

TEST_F(inspecting, what_a_sink_throws_comes_out) {
    const std::string path = make_heap();
    EXPECT_THROW(inspect::copy(path, [](std::span<const std::byte>) { throw std::runtime_error("no more"); }),
                 std::runtime_error);
    EXPECT_TRUE(inspect::verify(path).problems.empty());
}

} // namespace

} // namespace remanence::test
