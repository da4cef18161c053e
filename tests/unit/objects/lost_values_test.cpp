// What a conversion would lose is refused until it is named; and a number does not become a duration.
#include "support/temp_dir.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace losing {

namespace rem = remanence;

namespace newer {
struct book {
    rem::string title;
    int pages = 0;
    int year = 0;
    rem::string review;
    std::optional<int> rating;
    rem::vector<int> loans;
    friend bool operator==(const book&, const book&) = default;
};
struct shelf {
    rem::map<int, book> by_number;
    book* best = nullptr;
};
} // namespace newer
namespace older {
struct book {
    rem::string title;
    int pages = 0;
};
struct shelf {
    rem::map<int, book> by_number;
    book* best = nullptr;
};
} // namespace older
namespace other_names {
struct book {
    rem::string title;
    int page_count = 0;
    int year = 0;
    rem::string remarks;
    std::optional<int> rating;
    rem::vector<int> loans;
};
} // namespace other_names
namespace in_place {
struct was {
    int kept = 0;
    int gone = 0;
};
struct is {
    int kept = 0;
    int added = 7;
};
} // namespace in_place
struct ticks {
    long when = 0;
};
struct time_of_day {
    std::chrono::system_clock::time_point when{};
};
struct length_in_ms {
    std::chrono::milliseconds when{};
};
struct perhaps_length {
    std::optional<std::chrono::milliseconds> when;
};
struct length_at_once {
    std::atomic<std::chrono::milliseconds> when{};
};

} // namespace losing

namespace remanence {
namespace {

using namespace losing;

class losses : public testing::Test {
protected:
    template <class T, class Fill>
    void make(const Fill& fill) {
        heap made = heap::create(path_);
        made.write([&] { fill(made.root<T>("root"), made); });
        made.close();
    }
    template <class T>
    std::string refused(migrations how = {}) {
        try {
            heap opened = heap::open(path_, {.migrate = how.to<T>("root")});
            opened.root<T>("root");
        } catch (const error& why) {
            EXPECT_EQ(why.reason(), errc::type_mismatch) << why.what();
            return why.what();
        }
        return "it was converted";
    }
    static bool says(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }
    template <class Was, class Is>
    std::string refused_of() {
        const std::string at = "h" + std::to_string(++heaps_);
        {
            heap made = heap::create(directory_ / at);
            made.write([&] { made.root<list<Was>>("root").emplace_back(); });
            made.close();
        }
        try {
            heap opened = heap::open(directory_ / at, {.migrate = migrations().to<list<Is>>("root")});
        } catch (const error& why) {
            EXPECT_EQ(why.reason(), errc::type_mismatch) << why.what();
            return why.what();
        }
        return {};
    }

    test::temp_dir directory_ = test::temp_dir::in_memory();
    const std::filesystem::path path_ = directory_ / "h";
    int heaps_ = 0;
};

TEST_F(losses, of_an_older_release_are_refused_with_the_first_object_that_has_such_a_value) {
    make<newer::shelf>([](newer::shelf& all, heap& in) {
        all.by_number[1] = {"Emma", 474, 0, {}, {}, {}};
        all.by_number[2] = {"Knuth", 650, 1968, "a review", {}, {}};
        all.best = in.make<newer::book>(newer::book{"Alone", 1, 0, {}, 5, {}});
    });
    const std::string why = refused<older::shelf>();
    EXPECT_TRUE(says(why, "losing::newer::book.year is gone, and by_number[1] has a value of it")) << why;
    EXPECT_TRUE(says(why, "losing::newer::book.review is gone")) << why;
    EXPECT_TRUE(says(why, "losing::newer::book.rating is gone")) << why; // of an object that a pointer leads to
    EXPECT_FALSE(says(why, "loans is gone, and")) << why;
    const heap same = heap::open(path_);
    EXPECT_EQ(same.find_root<newer::shelf>("root")->by_number.at(2).review, "a review");
}

TEST_F(losses, are_none_where_all_values_are_empty) {
    make<newer::shelf>([](newer::shelf& all, heap&) { all.by_number[1] = {"Emma", 474, 0, {}, {}, {}}; });
    heap opened = heap::open(path_, {.migrate = migrations().to<older::shelf>("root")});
    EXPECT_EQ(opened.root<older::shelf>("root").by_number.at(1).pages, 474);
}

TEST_F(losses, that_are_named_are_taken) {
    make<newer::shelf>([](newer::shelf& all, heap&) { all.by_number[1] = {"Emma", 474, 1815, "a review", 3, {1}}; });
    const std::string why = refused<older::shelf>(migrations().drop("year").drop("losing::newer::book.review"));
    EXPECT_FALSE(says(why, "year is gone, and") || says(why, "review is gone, and")) << why;
    EXPECT_TRUE(says(why, "loans is gone, and")) << why;
    const auto all = migrations().to<older::shelf>("root").drop("year").drop("review").drop("rating").drop("loans");
    heap opened = heap::open(path_, {.migrate = all});
    EXPECT_EQ(opened.root<older::shelf>("root").by_number.at(1).title, "Emma");
}

TEST_F(losses, by_a_renaming_that_nobody_declared_are_refused) {
    make<vector<newer::book>>([](auto& all, heap&) { all.push_back({"Emma", 474, 1815, "a note", {}, {}}); });
    const std::string why = refused<vector<other_names::book>>();
    EXPECT_TRUE(says(why, "book.pages is gone, and [0]")) << why;
    EXPECT_TRUE(says(why, "book.review is gone, and [0]")) << why;
    heap opened =
        heap::open(path_, {.migrate = migrations()
                                          .to<vector<other_names::book>>("root")
                                          .rename(rem::renamed<"pages", "page_count">::of<other_names::book>())
                                          .rename(rem::renamed<"review", "remarks">::of<other_names::book>())});
    EXPECT_EQ(opened.root<vector<other_names::book>>("root")[0].remarks, "a note");
    EXPECT_EQ(opened.root<vector<other_names::book>>("root")[0].page_count, 474);
}

TEST_F(losses, are_refused_where_objects_would_be_changed_in_place) {
    make<vector<in_place::was>>([](auto& all, heap&) {
        all.resize(3);
        all[2].gone = 1;
    });
    EXPECT_TRUE(says(refused<vector<in_place::is>>(), "was.gone is gone, and [2] has a value of it"));
    {
        heap opened = heap::open(path_);
        const auto report = migrations().to<vector<in_place::is>>("root").dry_run(opened);
        EXPECT_FALSE(report.is_possible);
        EXPECT_TRUE(migrations().to<vector<in_place::is>>("root").drop("gone").dry_run(opened).is_possible);
    }
    heap opened = heap::open(path_, {.migrate = migrations().to<vector<in_place::is>>("root").drop("gone")});
    EXPECT_EQ(opened.root<vector<in_place::is>>("root")[2].added, 7);
}

TEST_F(losses, are_refused_by_a_load) {
    heap from = heap::create(directory_ / "from");
    from.write([&] { from.root<vector<newer::book>>("root").push_back({"Emma", 474, 1815, "a note", {}, {}}); });
    std::ostringstream out;
    save(from, out);
    std::string text = out.str();
    for (std::size_t at = 0; (at = text.find("losing::newer::", at)) != std::string::npos;)
        text.replace(at, 15, "losing::older::");
    heap into = heap::create(directory_ / "into");
    std::istringstream once(text);
    try {
        (void)load<vector<older::book>>(into, once);
        ADD_FAILURE() << "it was loaded";
    } catch (const error& why) {
        EXPECT_EQ(why.reason(), errc::type_mismatch);
        EXPECT_TRUE(says(why.what(), "book.review is gone")) << why.what();
        EXPECT_TRUE(says(why.what(), "line 4: ")) << why.what();
    }
    std::istringstream again(text);
    EXPECT_EQ(load<vector<older::book>>(into, again, {.dropped = {"year", "review"}}), 1U);
    EXPECT_EQ(into.root<vector<older::book>>("root")[0].pages, 474);
}

TEST_F(losses, of_what_a_number_is_a_number_are_refused) {
    EXPECT_TRUE(says((refused_of<ticks, time_of_day>()), "a number does not say of what it is a number"));
    EXPECT_TRUE(says((refused_of<ticks, length_in_ms>()), "a number does not say of what it is a number"));
    EXPECT_TRUE(says((refused_of<ticks, perhaps_length>()), "a number does not say of what it is a number"));
    EXPECT_TRUE(says((refused_of<ticks, length_at_once>()), "a number does not say of what it is a number"));
    EXPECT_TRUE(says((refused_of<length_in_ms, ticks>()), "a number does not say of what it is a number"));
    EXPECT_TRUE(says((refused_of<time_of_day, length_in_ms>()), "another unit"));
    EXPECT_EQ((refused_of<length_in_ms, perhaps_length>()), "");
    EXPECT_EQ((refused_of<length_in_ms, length_at_once>()), "");
    EXPECT_EQ((refused_of<length_at_once, perhaps_length>()), "");
}

} // namespace
} // namespace remanence
