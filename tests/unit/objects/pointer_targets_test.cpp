// Migration of pointers that lead to no whole object which follows: they are refused, and the heap is as before.
#include "support/migration_fixture.hpp"

#include <string>
#include <utility>

namespace pointing {
namespace rem = remanence;

struct old_counts { // data: to several
    int* data = nullptr;
    long count = 0;
};
struct new_counts {
    int* data = nullptr;
    long count = 0;
    long added = 1;
};
struct counts_in_vector {
    rem::vector<int> values;
    long count = 0;
};

struct base {
    int kind = 0;
};
struct derived {
    base head;
    long payload[2] = {};
};
struct old_holder {
    base* one = nullptr;
};
struct new_holder {
    base* one = nullptr;
    long added = 1;
};

struct old_ends {
    rem::vector<int> values;
    int* first = nullptr;
    int* end = nullptr;
};
struct new_ends {
    rem::vector<int> values;
    int* first = nullptr;
    int* end = nullptr;
    long added = 1;
};

struct old_item {
    int x = 0;
    int y = 0;
};
struct new_item { // in place
    int y = 0;
    int x = 0;
};
struct long_item {
    int y = 0;
    int x = 0;
    long added = 1;
};
template <class Item>
struct items {
    Item* some = nullptr;
    long padding = 0;
};

struct old_weight {
    long id = 0;
    float weight = 0;
    const float* shown = nullptr;
};
struct new_weight { // in place
    long id = 0;
    double weight = 0;
    const float* shown = nullptr;
};
struct weight_anew {
    long id = 0;
    double weight = 0;
    const float* shown = nullptr;
    long added = 1;
};

struct old_text {
    const char* shown = nullptr;
    rem::string text;
    long number = 0;
};
struct moved_text { // in place
    const char* shown = nullptr;
    long number = 0;
    rem::string text;
};
struct staying_text { // in place
    long number = 0;
    rem::string text;
    const char* shown = nullptr;
};
struct gone_text { // in place
    const char* shown = nullptr;
    double added[4] = {};
    long number = 0;
};
struct text_anew {
    const char* shown = nullptr;
    rem::string text;
    long number = 0;
    long added = 1;
};

struct old_letters {
    long number = 0;
    char letters[8] = "abc";
    const char* shown = nullptr;
};
struct new_letters { // in place
    char letters[8] = "";
    long number = 0;
    const char* shown = nullptr;
};

class hidden {
public:
    void set(const int* to) { to_ = to; }
    [[nodiscard]] const int* get() const { return to_; }

private:
    const int* to_ = nullptr;
};
} // namespace pointing
template <>
inline constexpr bool remanence::enable_persistable<pointing::hidden> = true;

namespace remanence {
namespace {

using namespace pointing;

class pointer_targets : public test::migrated_heap {
protected:
    /// Of a migration that leaves the root as it is.
    template <class Old, class New>
    std::string refused(const migration_options& how = {}) {
        std::string why = migrated_heap::refused<New>("root", errc::type_mismatch, how);
        EXPECT_NE(heap_.find_root<Old>("root"), nullptr);
        EXPECT_NE(why.find(".migrate<Old, New>"), std::string::npos) << why;
        return why;
    }
    int* numbers(int count) {
        int* const made = heap_.get_allocator<int>().allocate(static_cast<std::size_t>(count));
        for (int i = 0; i != count; ++i)
            made[i] = i + 1;
        return made;
    }
};

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(pointer_targets, that_are_several_objects_are_refused_and_a_function_takes_them) {
    heap_.write([&] { heap_.root<old_counts>("root") = {numbers(100), 100}; });
    const std::string why = refused<old_counts, new_counts>();
    EXPECT_TRUE(says(why, "pointing::old_counts.data leads to a int that is not known as one object")) << why;
    EXPECT_EQ(heap_.root<old_counts>("root").data[99], 100);
    const auto take = [](const old_counts& was, counts_in_vector& now) {
        now.values.assign(was.data, was.data + was.count);
    };
    (void)migrate<counts_in_vector>(heap_, "root", {.steps = {migrate<old_counts, counts_in_vector>(take)}});
    EXPECT_EQ(heap_.root<counts_in_vector>("root").values.at(99), 100);
}

TEST_F(pointer_targets, that_are_numbers_in_a_block_for_one_are_taken_along) {
    heap_.write([&] { heap_.root<vector<old_counts>>("root") = {{numbers(2), 2}, {heap_.make<int>(7), 1}}; });
    (void)migrate<vector<new_counts>>(heap_, "root");
    const auto& all = heap_.root<vector<new_counts>>("root");
    EXPECT_EQ(all.at(0).data[0], 1);
    EXPECT_EQ(all.at(0).data[1], 2);
    EXPECT_EQ(*all.at(1).data, 7);
}

TEST_F(pointer_targets, within_several_objects_are_refused) {
    heap_.write([&] { heap_.root<old_counts>("root") = {numbers(4) + 1, 1}; });
    EXPECT_TRUE(says((refused<old_counts, new_counts>()), "old_counts.data leads to a int that is not known"));
}

TEST_F(pointer_targets, that_are_bases_of_larger_objects_are_refused) {
    heap_.write([&] { heap_.root<old_holder>("root").one = &heap_.make<derived>()->head; });
    EXPECT_TRUE(says((refused<old_holder, new_holder>()), "old_holder.one leads to a pointing::base that is not"));
}

TEST_F(pointer_targets, behind_the_last_element_are_refused) {
    heap_.write([&] {
        auto& root = heap_.root<old_ends>("root");
        root.values.reserve(8);
        root.values = {1, 2, 3};
        root.first = root.values.data();
    });
    const std::string unchanged = [&] {
        heap_.write([&] { heap_.root<old_ends>("root").end = heap_.root<old_ends>("root").first + 3; });
        return refused<old_ends, new_ends>();
    }();
    EXPECT_TRUE(says(unchanged, "old_ends.end leads to a int that is not known as one object")) << unchanged;
    heap_.write([&] { heap_.root<old_ends>("root").end = nullptr; });
    (void)migrate<new_ends>(heap_, "root");
    EXPECT_EQ(heap_.root<new_ends>("root").first, heap_.root<new_ends>("root").values.data());
}

TEST_F(pointer_targets, that_are_several_structs_are_refused_in_place_and_anew) {
    heap_.write([&] {
        old_item* const some = heap_.get_allocator<old_item>().allocate(5);
        for (int i = 0; i != 5; ++i)
            new (some + i) old_item{i, 10 * i};
        heap_.root<items<old_item>>("root").some = some;
    });
    EXPECT_TRUE((migrate<items<new_item>>(heap_, "root", {.dry_run = true}).is_in_place));
    EXPECT_TRUE(says((refused<items<old_item>, items<new_item>>()), ".some leads to a pointing::old_item that is not"));
    EXPECT_TRUE(
        says((refused<items<old_item>, items<long_item>>()), ".some leads to a pointing::old_item that is not"));
    EXPECT_EQ(heap_.root<items<old_item>>("root").some[4].y, 40);
}

TEST_F(pointer_targets, that_are_numbers_which_get_wider_are_refused) {
    heap_.write([&] {
        auto& all = heap_.root<vector<old_weight>>("root");
        all.resize(2);
        all[0].shown = &all[1].weight;
        all[1].weight = 2.5F;
    });
    EXPECT_TRUE((migrate<vector<new_weight>>(heap_, "root", {.dry_run = true}).is_in_place));
    const std::string why = refused<vector<old_weight>, vector<new_weight>>();
    EXPECT_TRUE(says(why, "pointing::old_weight.shown leads to a float")) << why;
    EXPECT_TRUE(says((refused<vector<old_weight>, vector<weight_anew>>()), "that becomes an object of another type"));
    EXPECT_EQ(*heap_.root<vector<old_weight>>("root").at(0).shown, 2.5F);
    heap_.write([&] { heap_.root<vector<old_weight>>("root").at(0).shown = heap_.make<float>(1.5F); });
    (void)migrate<vector<new_weight>>(heap_, "root");
    EXPECT_EQ(*heap_.root<vector<new_weight>>("root").at(0).shown, 1.5F);
    EXPECT_EQ(heap_.root<vector<new_weight>>("root").at(1).weight, 2.5);
}

TEST_F(pointer_targets, that_are_elements_which_get_wider_are_refused) {
    using pair = std::pair<vector<int>, const int*>;
    heap_.write([&] {
        auto& root = heap_.root<pair>("root");
        root.first = {1, 2}; // as many bytes as a block for one
        root.second = &root.first[0];
    });
    EXPECT_TRUE(says((refused<pair, std::pair<vector<long>, const int*>>()), "becomes an object of another type"));
}

TEST_F(pointer_targets, within_texts_are_refused_unless_these_stay) {
    for (const char* const text : {"short", "a text that is too long for the object itself"}) {
        heap_.write([&] {
            auto& all = heap_.root<vector<old_text>>("root");
            all.assign(2, {});
            for (old_text& each : all) {
                each.text = text;
                each.shown = each.text.c_str();
            }
        });
        EXPECT_TRUE(says((refused<vector<old_text>, vector<gone_text>>({.dropped = {"text"}})),
                         "old_text.shown leads to a char"));
        EXPECT_TRUE(
            says((refused<vector<old_text>, vector<text_anew>>()), "old_text.shown leads to a char that is not"));
        EXPECT_TRUE((migrate<vector<moved_text>>(heap_, "root", {.dry_run = true}).is_in_place));
        if (text[0] == 's') {
            EXPECT_TRUE(says((refused<vector<old_text>, vector<moved_text>>()), "in an object that changes"));
        }
        EXPECT_STREQ(heap_.root<vector<old_text>>("root").at(1).shown, text);
    }
    (void)migrate<vector<moved_text>>(heap_, "root"); // the block of a long text stays
    const auto& all = heap_.root<vector<moved_text>>("root");
    EXPECT_EQ(all.at(1).shown, all.at(1).text.data());
    heap_.remove_root<vector<moved_text>>("root");
    heap_.write([&] {
        auto& one = heap_.root<old_text>("root");
        one.text = "short";
        one.shown = one.text.c_str();
        one.number = 5;
    });
    (void)migrate<staying_text>(heap_, "root");
    const auto& one = heap_.root<staying_text>("root");
    EXPECT_EQ(one.shown, one.text.data());
    EXPECT_EQ(one.number, 5);
}

TEST_F(pointer_targets, within_letters_that_move_are_refused) {
    heap_.write([&] {
        auto& root = heap_.root<old_letters>("root");
        root.shown = &root.letters[1];
    });
    EXPECT_TRUE(says((refused<old_letters, new_letters>()), "old_letters.shown leads to a char in an object that"));
}

TEST_F(pointer_targets, of_classes_that_hide_them_are_refused) {
    heap_.write([&] {
        auto& root = heap_.root<vector<old_item>>("root");
        root.resize(2);
        heap_.root<vector<hidden>>("hidden").resize(3);
        heap_.root<vector<hidden>>("hidden")[2].set(&root[1].x);
    });
    const auto version = heap_.version();
    for (const bool dry : {true, false}) {
        std::string why;
        try {
            for (const auto& each : migrate<vector<new_item>>(heap_, "root", {.dry_run = dry}).changes)
                why += each.what;
        } catch (const error& stop) {
            why = stop.what();
        }
        EXPECT_TRUE(says(why, "\"root\" and \"hidden\" may have objects in common")) << why;
    }
    EXPECT_EQ(heap_.version(), version);
    heap_.write([&] { heap_.root<vector<hidden>>("hidden")[2].set(nullptr); });
    (void)migrate<vector<new_item>>(heap_, "root");
}

TEST_F(pointer_targets, of_other_roots_within_texts_are_refused) {
    heap_.write([&] {
        auto& root = heap_.root<vector<old_text>>("root");
        root.resize(1);
        heap_.root<const char*>("other") = root[0].text.c_str();
    });
    try {
        (void)migrate<vector<text_anew>>(heap_, "root");
        ADD_FAILURE() << "it was migrated";
    } catch (const error& stop) {
        EXPECT_TRUE(says(stop.what(), "\"root\" and \"other\" have objects in common")) << stop.what();
    }
}

} // namespace
} // namespace remanence
