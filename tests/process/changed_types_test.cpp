// Versions of one program, each compiled by itself, that have one heap: what the later ones say of a type that they changed.
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace remanence::test {
namespace {

struct pipe_closer {
    void operator()(std::FILE* pipe) const { ::pclose(pipe); }
};

/// What a program prints.
std::string output_of(const std::string& program, const std::string& arguments) {
    const std::unique_ptr<std::FILE, pipe_closer> pipe(
        ::popen((program + " " + arguments).c_str(), "r")); // NOLINT(cert-env33-c)
    std::string all;
    std::array<char, 4096> part{};
    for (std::size_t got = 1; pipe && got != 0;) {
        got = std::fread(part.data(), 1, part.size(), pipe.get());
        all.append(part.data(), got);
    }
    return all;
}

class versions_of_a_program : public testing::Test {
protected:
    versions_of_a_program() { EXPECT_EQ(output_of(PLACE_LAT_LON, heap_), "47.5 8.75\n"); }
    temp_dir dir_;
    const std::string heap_ = (dir_ / "places.rem").string();
};

TEST_F(versions_of_a_program, do_not_read_each_others_members_in_another_order) {
    for (const std::string option : {"", " renamed"}) {
        const std::string begins =
            "the type maps::place of the root \"home\" of " + heap_ +
            " has changed: member 1 of maps::place was \"double lat\", is \"double lon\": members "
            "changed places. Ask for the stored type, or keep this one under another name or in "
            "another file. ";
        const std::string brief =
            "To convert the root, open the heap with heap_options::migrate (remanence/migrate.hpp).\n";
        const std::string whole =
            "Automatic changes: maps::place.lon moved; maps::place.lat moved. To convert the root, "
            "open the heap with heap_options::migrate = rem::migrations().to<maps::place>(\"home\").\n";
        const std::string said = output_of(PLACE_LON_LAT, heap_ + option);
        // A linker that leaves out no functions, as that of sanitizers' builds, brings in migration, which knows all changes.
        EXPECT_TRUE(said == begins + brief || said == begins + whole) << said;
    }
    EXPECT_EQ(output_of(PLACE_LAT_LON, heap_), "47.5 8.75\n");
}

TEST_F(versions_of_a_program, take_renamed_members_when_they_are_told_to) {
    const std::string refusal = output_of(PLACE_LATITUDE_LON, heap_);
    EXPECT_NE(
        refusal.find("member 1 of maps::place was \"double lat\", is \"double latitude\". If it was only renamed, open "
                     "the heap with heap_options::checks.accept_renamed_members"),
        std::string::npos)
        << refusal;
    EXPECT_EQ(output_of(PLACE_LATITUDE_LON, heap_ + " renamed"), "47.5 8.75\n");
    EXPECT_EQ(output_of(PLACE_LATITUDE_LON, heap_), "47.5 8.75\n") << "the commit has recorded the name";
    EXPECT_NE(output_of(PLACE_LAT_LON, heap_).find("was \"double latitude\", is \"double lat\""), std::string::npos);
}

} // namespace
} // namespace remanence::test
