// What a dump says of objects that pointers lead to: all of each, or it is refused.
#include "support/temp_dir.hpp"

#include <remanence/look_inside.hpp>
#include <remanence/remanence.hpp>
#include <remanence/streams.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <sstream>
#include <string>

namespace dumped {
namespace rem = remanence;

struct number_block {
    rem::string title;
    int* data = nullptr;
    long count = 0;
};
struct large {
    long all[20] = {};
};
struct shelf {
    rem::vector<large> all;
    large* first = nullptr;
};
struct chain_link {
    number_block* to = nullptr;
    chain_link* next = nullptr;
    shelf* on = nullptr;
    large* first = nullptr;
};
struct kind {
    long of = 1;
};
struct larger {
    kind head;
    long payload[2] = {};
};
struct holder {
    kind* one = nullptr;
    const char* letters = nullptr;
    const int* end = nullptr;
    rem::string text;
    rem::vector<int> values;
};
struct small_pair {
    short a = 0;
    short b = 0;
};
struct small_holder {
    int* number = nullptr;
    small_pair* pair = nullptr;
    char* letters = nullptr;
    long* large = nullptr;
};
struct person {
    rem::string name;
    long year = 0;
};
} // namespace dumped

namespace remanence {
namespace {

using namespace dumped;

class dumped_pointers : public testing::TestWithParam<heap_options> {
protected:
    test::temp_dir directory_ = test::temp_dir::in_memory();
    heap heap_ = heap::create(directory_ / "h", GetParam());

    template <class T>
    T* several(std::size_t count) {
        T* const made = heap_.get_allocator<T>().allocate(count);
        for (std::size_t i = 0; i != count; ++i)
            made[i] = T(static_cast<char>(i + 1));
        return made;
    }
    std::string saved(const heap& from, const std::string& root = {}) {
        std::ostringstream out;
        save(from, out, root);
        return out.str();
    }
    std::string saved() { return saved(heap_); }
    /// What is said of a heap that cannot be dumped, from within and from outside.
    std::string refused(const std::string& root = {}) {
        std::string whys[2];
        std::string written;
        const auto sink = [&](std::string_view piece) { written += piece; };
        const auto try_to = [&](std::string& why, const auto& dump) {
            try {
                dump();
            } catch (const error& stop) {
                EXPECT_EQ(stop.reason(), errc::not_supported) << stop.what();
                why = stop.what();
            }
        };
        heap_.commit();
        try_to(whys[0], [&] { save(heap_, sink, root); });
        try_to(whys[1], [&] { inspect::dump(directory_ / "h", root, sink); });
        EXPECT_EQ(written, "");
        EXPECT_EQ(whys[0], whys[1]);
        return whys[0];
    }
};

bool tells(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_P(dumped_pointers, that_lead_to_several_objects_are_refused_with_their_way) {
    heap_.write([&] {
        auto& all = heap_.root<map<string, number_block>>("all");
        all["none"] = {};
        all["some"] = {"some", several<int>(100), 100};
    });
    EXPECT_TRUE(tells(refused(), R"(all["some"].data leads to a int that is not known as one object)")) << refused();
    heap_.write([&] {
        auto& root = heap_.root<chain_link>("link");
        root.next = heap_.make<chain_link>();
        root.next->to = heap_.make<number_block>("far", several<int>(3), 3);
        heap_.root<map<string, number_block>>("all").clear();
    });
    EXPECT_TRUE(tells(refused(), "dumped::number_block.data leads to a int")) << refused();
    EXPECT_TRUE(tells(refused("link"), "dumped::number_block.data leads to a int"));
    EXPECT_TRUE(tells(saved(heap_, "all"), R"("end":true)"));
}

TEST_P(dumped_pointers, that_lead_to_a_part_which_no_schema_knows_are_refused) {
    holder* root = nullptr;
    const auto set = [&](const auto& how) {
        heap_.write([&] {
            root = &heap_.root<holder>("root");
            *root = {};
            how();
        });
        return refused();
    };
    EXPECT_TRUE(tells(set([&] { root->one = &heap_.make<larger>()->head; }), "root.one leads to a dumped::kind"));
    EXPECT_TRUE(tells(set([&] {
                          root->text = "a text that is too long for its object";
                          root->letters = root->text.data();
                      }),
                      "root.letters leads to a char"));
    EXPECT_TRUE(tells(set([&] {
                          root->values.assign(100, 1);
                          root->values.pop_back();
                          root->end = root->values.data() + root->values.size();
                      }),
                      "root.end leads to a int"));
    heap_.write([&] {
        *root = {};
        root->values.assign(100, 1);
        root->end = root->values.data() + 99;
        root->one = heap_.make<kind>(5);
    });
    EXPECT_TRUE(tells(saved(), R"("end":{"$ref":["root","values",99]})")) << saved();
}

TEST_P(dumped_pointers, that_lead_to_small_objects_take_along_what_lies_behind_these) {
    heap_.write([&] {
        heap_.root<small_holder>("root") = {several<int>(2), heap_.make<small_pair>(short{1}, short{2}),
                                            several<char>(5), heap_.make<long>(7)};
        static_cast<small_holder*>(heap_.find_root<small_holder>("root"))->pair[0] = {3, 4};
    });
    if (GetParam().checks.red_zones) { // which know how many bytes were asked for
        EXPECT_TRUE(tells(refused(), "root.number leads to a int"));
        return;
    }
    const std::string text = saved();
    EXPECT_TRUE(tells(text, R"("behind":"02")")) << text;
    EXPECT_TRUE(tells(text, R"("behind":"02030405")")) << text;
    heap into = heap::create(directory_ / "into");
    std::istringstream in(text);
    load<small_holder>(into, in);
    const auto& made = into.root<small_holder>("root");
    EXPECT_EQ(made.number[0], 1);
    EXPECT_EQ(made.number[1], 2);
    EXPECT_EQ(made.letters[4], 5);
    EXPECT_EQ(made.pair->b, 4);
    EXPECT_EQ(*made.large, 7);
    into.commit();
    const std::size_t at = text.find(R"("02")");
    std::istringstream too_long(text.substr(0, at) + R"("0200000003")" + text.substr(at + 4));
    heap other = heap::create(directory_ / "other");
    EXPECT_THROW((void)load<small_holder>(other, too_long), error);
    EXPECT_EQ(saved(into).substr(saved(into).find('\n')), text.substr(text.find('\n')));
    EXPECT_TRUE(into.verify().clean());
}

TEST_P(dumped_pointers, of_one_root_may_lead_into_others) {
    heap_.write([&] {
        auto& people = heap_.root<vector<person>>("people");
        people.push_back({"KNUTH", 1938});
        people.push_back({"HOARE", 1934});
        heap_.root<vector<person*>>("index") = {&people[1]};
        heap_.root<const long*>("year") = &people[0].year;
    });
    EXPECT_TRUE(tells(saved(heap_, "index"), R"("value":{"name":"HOARE","year":1934})")) << saved(heap_, "index");
    EXPECT_TRUE(tells(saved(heap_, "year"), R"("value":1938)"));
    heap_.write([&] { heap_.root<vector<person*>>("index")[0] = heap_.get_allocator<person>().allocate(2); });
    EXPECT_TRUE(tells(refused("index"), "index[0] leads to a dumped::person"));
}

TEST_P(dumped_pointers, lead_into_objects_that_own_what_is_larger) {
    heap_.write([&] {
        auto& root = heap_.root<chain_link>("root");
        auto* const owner = heap_.make<shelf>();
        owner->all.resize(1);
        owner->first = &owner->all[0];
        root.on = owner;
        root.first = owner->first;
    });
    const std::string text = saved();
    EXPECT_TRUE(tells(text, R"("first":{"$ref":[0,"all",0]})")) << text;
    EXPECT_FALSE(tells(text, R"({"object":1)")) << text;
    heap into = heap::create(directory_ / "into");
    std::istringstream in(text);
    load<chain_link>(into, in);
    const auto& made = into.root<chain_link>("root");
    EXPECT_EQ(made.first, &made.on->all[0]);
    EXPECT_EQ(made.on->first, made.first);
}

heap_options with_red_zones() {
    heap_options how;
    how.checks.red_zones = true;
    return how;
}
heap_options on_lines() {
    heap_options how;
    how.memory.aligned_blocks = true;
    return how;
}
INSTANTIATE_TEST_SUITE_P(heaps, dumped_pointers, testing::Values(heap_options(), with_red_zones(), on_lines()),
                         [](const auto& which) {
                             return which.param.checks.red_zones        ? "guarded"
                                    : which.param.memory.aligned_blocks ? "aligned"
                                                                        : "plain";
                         });

} // namespace
} // namespace remanence
