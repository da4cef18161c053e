// Renamings that fit, and such that would lose what they are to keep.
#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace renamings_test {
namespace rem = remanence;

struct stored {
    rem::string x = "x";
    rem::string z = "z";
};
struct has_fresh {
    rem::string x;
    rem::string fresh = "new";
};
struct grown {
    rem::string x;
    rem::string fresh = "new";
    int more = 0;
};
struct with_all {
    rem::string x;
    rem::string z;
    rem::string fresh = "new";
};
struct swapped {
    rem::string z;
    rem::string x;
    int more = 0;
};

class renamings : public testing::Test {
protected:
    template <class Stored>
    void make() {
        heap_ = rem::heap::create(directory_ / "h" += std::to_string(count_++));
        heap_.write([&] { heap_.root<Stored>("root"); });
    }
    /// The message; empty: the root was migrated.
    template <class T>
    std::string refused(std::vector<rem::renamed_member> renamed) {
        rem::migration_options how{.renamed = std::move(renamed)};
        const auto version = heap_.version();
        how.dry_run = true;
        const bool is_possible = rem::migrate<T>(heap_, "root", how).is_possible;
        how.dry_run = false;
        try {
            (void)rem::migrate<T>(heap_, "root", how);
        } catch (const rem::error& why) {
            EXPECT_EQ(why.reason(), rem::errc::type_mismatch);
            EXPECT_EQ(heap_.version(), version);
            EXPECT_FALSE(is_possible);
            return why.what();
        }
        EXPECT_TRUE(is_possible);
        EXPECT_TRUE(heap_.verify().clean());
        return {};
    }

    rem::test::temp_dir directory_ = rem::test::temp_dir::in_memory();
    int count_ = 0;
    rem::heap heap_ = rem::heap::create(directory_ / "h");
};

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST_F(renamings, are_refused_to_a_member_that_is_not_there) {
    make<stored>();
    const std::string why = refused<has_fresh>({rem::renamed<"z", "frsh">::of<has_fresh>()});
    EXPECT_TRUE(has(why, "renamings_test::has_fresh.z cannot be renamed to frsh: it has no member frsh. Its members "
                         "are x, fresh"))
        << why;
    EXPECT_EQ(refused<has_fresh>({rem::renamed<"z", "fresh">::of<has_fresh>()}), "");
    EXPECT_EQ(heap_.root<has_fresh>("root").fresh, "z");
}

TEST_F(renamings, are_refused_of_a_member_that_is_not_stored_if_another_one_is_lost) {
    make<stored>();
    const std::string why = refused<has_fresh>({rem::renamed<"zz", "fresh">::of<has_fresh>()});
    EXPECT_TRUE(has(why, "what is stored has no member zz. Its members are x, z")) << why;
}

TEST_F(renamings, are_refused_in_place_of_a_member_that_is_stored) {
    make<with_all>();
    const std::string why = refused<grown>({rem::renamed<"z", "fresh">::of<grown>()});
    EXPECT_TRUE(has(why, "what is stored has both, and its fresh would be lost. Its members are x, z, fresh")) << why;
}

TEST_F(renamings, are_refused_of_a_member_that_keeps_its_name) {
    make<stored>();
    const std::string why = refused<has_fresh>({rem::renamed<"x", "fresh">::of<has_fresh>()});
    EXPECT_TRUE(has(why, "it still has a member x")) << why;
}

TEST_F(renamings, are_refused_when_two_lead_to_one_member) {
    make<stored>();
    const std::string why =
        refused<has_fresh>({rem::renamed<"x", "fresh">::of<has_fresh>(), rem::renamed<"z", "fresh">::of<has_fresh>()});
    EXPECT_TRUE(has(why, "has_fresh.z cannot be renamed to fresh: another renaming leads to fresh, too")) << why;
}

TEST_F(renamings, of_earlier_releases_may_stay) {
    make<has_fresh>();
    const std::vector<rem::renamed_member> all{rem::renamed<"z", "fresh">::of<grown>(),
                                               rem::renamed<"y", "fresh">::of<grown>()};
    EXPECT_EQ(refused<grown>(all), "");
    EXPECT_EQ(heap_.root<grown>("root").fresh, "new");
    make<stored>();
    EXPECT_EQ(refused<grown>(all), "");
    EXPECT_EQ(heap_.root<grown>("root").fresh, "z");
}

TEST_F(renamings, of_later_releases_than_the_stored_one_lose_nothing) {
    make<stored>();
    EXPECT_EQ(refused<with_all>({rem::renamed<"new_in_between", "fresh">::of<with_all>()}), "");
    EXPECT_EQ(heap_.root<with_all>("root").fresh, "new");
    EXPECT_EQ(heap_.root<with_all>("root").z, "z");
}

TEST_F(renamings, may_swap_names) {
    make<stored>();
    EXPECT_EQ(refused<swapped>({rem::renamed<"x", "z">::of<swapped>(), rem::renamed<"z", "x">::of<swapped>()}), "");
    EXPECT_EQ(heap_.root<swapped>("root").x, "z");
    EXPECT_EQ(heap_.root<swapped>("root").z, "x");
}

} // namespace renamings_test
