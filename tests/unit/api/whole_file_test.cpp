// A file that is written under another name first. What power losses leave is tried by the crash tests (`texts`, `killed_text`).
#include "api/whole_file.hpp"
#include "fixture.hpp"
#include "os/file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace remanence::test {
namespace {

class whole_files : public testing::Test {
protected:
    [[nodiscard]] std::string text() const {
        std::ifstream from(path);
        std::ostringstream all;
        all << from.rdbuf();
        return all.str();
    }
    void write(const std::string& to, const std::string& what) const { std::ofstream(to) << what; }

    const temp_dir dir;
    const std::string path = dir / "text";
    const std::string unfinished = path + "-unfinished";
};

TEST_F(whole_files, that_a_power_loss_gave_the_unfinished_name_too_stay_whole_until_they_are_replaced) {
    write(path, "before");
    std::filesystem::create_hard_link(path, unfinished);
    {
        detail::whole_file begun(os::posix_file_system(), path, unfinished);
        ASSERT_TRUE(begun.begin());
        ASSERT_TRUE(begun.put("new"));
        EXPECT_EQ(text(), "before");
    }
    EXPECT_EQ(text(), "before");
    EXPECT_FALSE(std::filesystem::exists(unfinished));
    std::filesystem::create_hard_link(path, unfinished);
    detail::whole_file whole(os::posix_file_system(), path, unfinished);
    ASSERT_TRUE(whole.begin());
    ASSERT_TRUE(whole.put("after"));
    ASSERT_TRUE(whole.finish(true));
    EXPECT_EQ(text(), "after");
    EXPECT_FALSE(std::filesystem::exists(unfinished));
}

TEST_F(whole_files, replace_what_an_interrupted_call_left) {
    write(unfinished, "a longer text that was not finished");
    detail::whole_file whole(os::posix_file_system(), path, unfinished);
    ASSERT_TRUE(whole.begin());
    ASSERT_TRUE(whole.put("short"));
    ASSERT_TRUE(whole.finish(false));
    EXPECT_EQ(text(), "short");
}

TEST_F(whole_files, that_another_writes_are_in_use) {
    detail::whole_file first(os::posix_file_system(), path, unfinished);
    ASSERT_TRUE(first.begin());
    detail::whole_file second(os::posix_file_system(), path, unfinished);
    const auto refused = second.begin();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.why().code, errc::in_use);
    ASSERT_TRUE(first.put("first"));
    ASSERT_TRUE(first.finish(false));
    EXPECT_EQ(text(), "first");
}

} // namespace
} // namespace remanence::test
