// Elements that are stored by their bytes: values, references that write back, algorithms, objects of derived classes.

#include "declared_containers.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <compare>
#include <concepts>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace remanence::test {

// The types of roots need names.
namespace fragile_elements {

struct record {
    std::string name;
    std::map<std::string, int> counts;
    bool operator==(const record&) const = default;
};
using text = fragile<std::string>;
using texts = vector<text>;

/// Ordered by a member function, and no otherwise.
struct member_ordered {
    std::string name;
    bool operator<(const member_ordered& other) const { return name < other.name; }
};
/// Equal by a function beside it, and not ordered.
struct equal_only {
    std::string name;
    friend bool operator==(const equal_only& a, const equal_only& b) { return a.name == b.name; }
};

/// Throws when it is told to, and counts.
struct watched {
    int number = 0;
};
inline bool refuse_writing = false;
inline int reads = 0;

class shape {
public:
    virtual ~shape() = default;
    [[nodiscard]] virtual std::string tell() const = 0;
    virtual void grow() = 0;
};
class circle final : public shape {
public:
    explicit circle(int radius) : radius_(radius) {}
    [[nodiscard]] std::string tell() const override { return "circle " + std::to_string(radius_); }
    void grow() override { ++radius_; }
    [[nodiscard]] int radius() const { return radius_; }

private:
    int radius_;
};
class label final : public shape {
public:
    explicit label(std::string words) : words_(std::move(words)) {}
    [[nodiscard]] std::string tell() const override { return "label " + words_; }
    void grow() override { words_ += '!'; }
    [[nodiscard]] const std::string& words() const { return words_; }

private:
    std::string words_;
};
class unregistered final : public shape {
public:
    [[nodiscard]] std::string tell() const override { return "unregistered"; }
    void grow() override {}
};
using any_shape = fragile<std::unique_ptr<shape>>;

/// Numbers that are changed where they lie.
struct in_place_trait : serialize_trait<std::uint64_t> {
    class reference {
    public:
        explicit reference(std::span<char> bytes) : bytes_(bytes) {}
        reference& operator=(std::uint64_t value) {
            std::memcpy(bytes_.data(), &value, sizeof value);
            return *this;
        }

    private:
        std::span<char> bytes_;
    };
    static reference in_place(std::span<char> bytes) { return reference(bytes); }
};

} // namespace fragile_elements
} // namespace remanence::test

template <>
struct remanence::serialize_trait<remanence::test::fragile_elements::watched> {
    using watched = test::fragile_elements::watched;
    static std::size_t size(const watched&) { return sizeof(int); }
    static void serialize(const watched& value, byte_writer& out) {
        if (test::fragile_elements::refuse_writing)
            throw std::runtime_error("refused");
        out.put(&value.number, sizeof value.number);
    }
    static watched deserialize(byte_reader& in) {
        ++test::fragile_elements::reads;
        watched value;
        in.take(&value.number, sizeof value.number);
        return value;
    }
};
template <>
struct remanence::serialize_trait<remanence::test::fragile_elements::circle> {
    using circle = test::fragile_elements::circle;
    static std::size_t size(const circle&) { return sizeof(int); }
    static void serialize(const circle& value, byte_writer& out) {
        serialize_trait<int>::serialize(value.radius(), out);
    }
    static circle deserialize(byte_reader& in) { return circle(serialize_trait<int>::deserialize(in)); }
};
template <>
struct remanence::serialize_trait<remanence::test::fragile_elements::label> {
    using label = test::fragile_elements::label;
    static std::size_t size(const label& value) { return serialize_trait<std::string>::size(value.words()); }
    static void serialize(const label& value, byte_writer& out) {
        serialize_trait<std::string>::serialize(value.words(), out);
    }
    static label deserialize(byte_reader& in) { return label(serialize_trait<std::string>::deserialize(in)); }
};

namespace remanence::test {
namespace fragile_elements {
namespace {

static_assert(persistable<fragile<std::string>> && !persistable<std::string>);
static_assert(persistable<map<string, fragile<record>>> && persistable<any_shape>);
static_assert(position_independent<fragile<std::string>>);
static_assert(sizeof(fragile<record>) == 32);
static_assert(std::is_nothrow_move_constructible_v<text>);
static_assert(std::totally_ordered<text> && std::regular<text> && std::three_way_comparable<text>);
// The operators that T has, and no others.
static_assert(std::equality_comparable<fragile<equal_only>> &&
              !std::is_invocable_v<std::less<>, fragile<equal_only>&, fragile<equal_only>&>);
static_assert(std::is_invocable_v<std::less<>, fragile<member_ordered>&, fragile<member_ordered>&>);
static_assert(!std::is_invocable_v<std::greater<>, fragile<member_ordered>&, fragile<member_ordered>&>);
static_assert(!std::is_invocable_v<std::equal_to<>, fragile<member_ordered>&, fragile<member_ordered>&>);
static_assert(!std::is_invocable_v<std::less<>, fragile<record>&, fragile<record>&>);
static_assert(!std::is_invocable_v<std::equal_to<>, text&, int>);

class fragile_test : public testing::Test {
protected:
    static bool is_refused(const fragile_reference<std::string, text::trait_type>& reference) {
        const auto got = error_of([&] { reference.write_back(); });
        return got && got->code == errc::invalid_argument;
    }

    temp_dir dir_;
    heap heap_ = heap::create(dir_ / "h", small_heap());
};

TEST_F(fragile_test, elements_are_there_when_the_heap_is_opened_again) {
    const record expected{std::string(100, 'n'), {{"one", 1}, {"two", 2}}};
    heap_.write([&] { heap_.root<map<string, fragile<record>>>("all")["key"] = expected; });
    heap_.close();
    heap_ = heap::open_existing(dir_ / "h", small_heap());
    const auto& all = *heap_.find_root<map<string, fragile<record>>>("all");
    EXPECT_EQ(all.at("key"), expected);
    EXPECT_EQ(all.at("key")->counts.at("two"), 2);
    EXPECT_TRUE(heap_.check_pointers().clean());
}

TEST_F(fragile_test, their_bytes_lie_in_the_heap_that_they_lie_in) {
    auto& all = heap_.root<texts>("all");
    all.emplace_back(std::string(100, 'x'));
    all.push_back(text(std::string(100, 'y'), text::allocator_type(nullptr)));
    all.front()->append("z");
    EXPECT_EQ(all[0].get_allocator(), heap_.get_allocator());
    EXPECT_EQ(all[1].get_allocator(), heap_.get_allocator());
}

TEST_F(fragile_test, references_write_back_when_they_end_and_only_what_changed) {
    auto& all = heap_.root<vector<fragile<watched>>>("all");
    heap_.write([&] { all.resize(3); });
    heap_.write([&] { EXPECT_EQ((*all[0])->number, 0); });
    {
        const auto one = *all[0];
        one->number = 7;
        EXPECT_EQ(all[0].value().number, 0); // not yet
        one.write_back();
        EXPECT_EQ(all[0].value().number, 7);
        one->number = 8;
    }
    EXPECT_EQ(all[0].value().number, 8);
    {
        const auto untouched = *all[0];
        all[0] = watched{9}; // what the reference would overwrite, had it changed
    }
    EXPECT_EQ(all[0].value().number, 9);
}

TEST_F(fragile_test, references_to_one_element_share_an_object) {
    auto& all = heap_.root<vector<fragile<watched>>>("all");
    all.resize(2);
    {
        const auto first = *all[0];
        reads = 0;
        const auto second = *all[0];
        EXPECT_EQ(reads, 0);
        EXPECT_EQ(&*first, &*second);
        EXPECT_NE(&*first, &**all[1]);
        second->number = 5;
        EXPECT_EQ(first->number, 5);
    }
    EXPECT_EQ(all[0].value().number, 5);
}

TEST_F(fragile_test, reading_writes_nothing) {
    auto& all = heap_.root<texts>("all");
    heap_.write([&] { all.assign(1'000, text(std::string(100, 'x'))); });
    const auto& same = all;
    const std::uint64_t version = heap_.version();
    heap_.write([&] {
        for (const text& each : same)
            EXPECT_EQ(each->size(), 100U);
        for (text& each : all)
            EXPECT_EQ(each->size(), 100U);
    });
    EXPECT_EQ(heap_.version(), version); // nothing was there to commit
}

TEST_F(fragile_test, a_write_back_that_throws_leaves_the_element) {
    auto& all = heap_.root<vector<fragile<watched>>>("all");
    all.resize(1);
    const auto change_and_fail = [&](bool also_throw) {
        const auto one = *all[0];
        one->number = 1;
        refuse_writing = true;
        if (also_throw)
            throw std::logic_error("first");
    };
    EXPECT_THROW(change_and_fail(false), std::runtime_error);
    EXPECT_THROW(change_and_fail(true), std::logic_error);
    refuse_writing = false;
    EXPECT_EQ(all[0].value().number, 0);
    all[0]->number = 2; // the table has forgotten the lost object
    EXPECT_EQ(all[0].value().number, 2);
    heap_.write([&] { all[0]->number = 3; });
    EXPECT_THROW(heap_.write([&] {
        all[0]->number = 4;
        throw std::logic_error("stop");
    }),
                 std::logic_error);
    EXPECT_EQ(all[0].value().number, 3);
}

TEST_F(fragile_test, references_that_outlive_a_rollback_write_nothing_back) {
    auto& all = heap_.root<texts>("all");
    heap other = heap::create(dir_ / "other", small_heap());
    auto& elsewhere = other.root<text>("text", "there");
    heap_.write([&] { all.assign(4, text(std::string(100, 'x'))); });
    other.commit();
    {
        const auto undone = *all[0];
        undone->assign("undone");
        const auto kept = *elsewhere;
        kept->assign("kept");
        const auto created = [&] { // since the last commit: its memory is not there after the rollback
            all.emplace_back("created");
            return *all.back();
        }();
        created->assign(std::string(100, 'c'));
        heap_.rollback();
        EXPECT_TRUE(is_refused(undone));
        const auto later = *all[0]; // what the element is now
        EXPECT_EQ(*later, std::string(100, 'x'));
        later->assign("later");
        const auto same = *all[0];
        EXPECT_EQ(&*same, &*later);
    }
    EXPECT_EQ(all[0], "later");
    EXPECT_EQ(elsewhere, "kept");
    ASSERT_EQ(all.size(), 4U);
    {
        const auto before = *all[1];
        EXPECT_THROW(heap_.write([&] {
            before->assign("undone");
            throw std::logic_error("stop");
        }),
                     std::logic_error);
    }
    EXPECT_EQ(all[1], std::string(100, 'x'));
    {
        const auto before = *all[2];
        EXPECT_THROW(
            {
                const std::scoped_lock lock(heap_);
                before->assign("undone");
                throw std::logic_error("stop");
            },
            std::logic_error);
    }
    EXPECT_EQ(all[2], std::string(100, 'x'));
    EXPECT_TRUE(heap_.verify().clean());
}

TEST_F(fragile_test, references_may_end_after_their_heap) {
    auto& all = heap_.root<texts>("all");
    heap_.write([&] { all.assign(2, text(std::string(100, 'x'))); });
    {
        const auto one = *all[0];
        const auto two = *all[0];
        one->assign("changed");
        heap_.close();
        EXPECT_EQ(*two, "changed");
        EXPECT_TRUE(is_refused(two));
    }
    heap_ = heap::open_existing(dir_ / "h", small_heap());
    EXPECT_EQ(heap_.find_root<texts>("all")->front(), std::string(100, 'x'));
    {
        const auto last = *heap_.find_root<texts>("all")->back();
        last->assign("changed");
        const heap ends = std::move(heap_);
    }
}

TEST_F(fragile_test, algorithms_work_on_them) {
    auto& all = heap_.root<texts>("all");
    heap other = heap::create(dir_ / "other", small_heap());
    auto& copied = other.root<texts>("all");
    std::vector<std::string> expected;
    std::mt19937_64 random(test::seed_or(1));
    heap_.write([&] {
        for (int i = 0; i < 500; ++i) {
            expected.push_back(std::to_string(random()) + std::string(random() % 30, 'x'));
            all.push_back(expected.back());
        }
        std::sort(all.begin(), all.end());
        std::sort(expected.begin(), expected.end());
        EXPECT_TRUE(std::equal(all.begin(), all.end(), expected.begin(), expected.end()));
        std::transform(all.begin(), all.end(), all.begin(), [](const std::string& each) { return each + "+"; });
        for (std::string& each : expected)
            each += "+";
        std::ranges::reverse(all);
        std::ranges::reverse(expected);
    });
    EXPECT_EQ(std::find(all.begin(), all.end(), expected[7]) - all.begin(), 7);
    EXPECT_EQ(std::find_if(all.begin(), all.end(), [&](const std::string& each) { return each == expected[9]; }) -
                  all.begin(),
              9);
    other.write([&] {
        copied.resize(all.size());
        std::copy(all.begin(), all.end(), copied.begin());
        std::iter_swap(copied.begin(), copied.end() - 1);
    });
    heap_.write([&] { all.clear(); });
    heap_.close();
    std::swap(expected.front(), expected.back());
    EXPECT_TRUE(std::equal(copied.begin(), copied.end(), expected.begin(), expected.end()));
    EXPECT_TRUE(other.verify().clean());
    EXPECT_TRUE(other.check_pointers().clean());
}

TEST_F(fragile_test, they_compare_by_the_operators_of_their_type) {
    auto& all = heap_.root<vector<fragile<member_ordered>>>("all");
    heap_.write([&] {
        for (const char* const name : {"d", "b", "a", "c", "b"})
            all.emplace_back(member_ordered{name});
        std::sort(all.begin(), all.end());
    });
    std::string names;
    for (const auto& each : all)
        names += each.value().name;
    EXPECT_EQ(names, "abbcd");
    const member_ordered b{"b"};
    EXPECT_EQ(std::lower_bound(all.begin(), all.end(), b) - all.begin(), 1);
    EXPECT_EQ(std::upper_bound(all.begin(), all.end(), b) - all.begin(), 3);
    EXPECT_TRUE(std::binary_search(all.begin(), all.end(), all[3]));
    EXPECT_TRUE(*all[0] < all[1]); // a reference
    EXPECT_FALSE(all[1] < *all[0]);

    const text one("one");
    EXPECT_TRUE(one < "two" && one <= std::string("one") && "two" > one && std::string("one") >= one);
    EXPECT_TRUE(one != "two" && "one" == one && std::string_view("one") == one && (one <=> text("two")) < 0);
    const fragile<equal_only> same(equal_only{"same"});
    EXPECT_TRUE(same == equal_only{"same"} && equal_only{"other"} != same && same == fragile<equal_only>(same));

    // An optional has templates of its own that compare it with anything.
    const fragile<std::optional<int>> none(std::nullopt);
    const fragile<std::optional<int>> five(5);
    EXPECT_TRUE(none == std::optional<int>() && std::optional<int>() == none && !(std::optional<int>() > none));
    EXPECT_TRUE(five == 5 && 5 == five && none < five && none == std::nullopt && five > std::optional<int>(4));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const fragile<double> unordered(nan);
    EXPECT_FALSE(unordered == unordered || unordered < nan || nan >= unordered);
}

TEST_F(fragile_test, elements_of_two_heaps_are_swapped) {
    heap other = heap::create(dir_ / "other", small_heap());
    auto& here = heap_.root<text>("text", "here");
    auto& there = other.root<text>("text", std::string(100, 't'));
    swap(here, there);
    EXPECT_EQ(here, std::string(100, 't'));
    EXPECT_EQ(there, "here");
    EXPECT_EQ(here.get_allocator(), heap_.get_allocator());
    EXPECT_EQ(there.get_allocator(), other.get_allocator());
}

TEST_F(fragile_test, one_that_was_moved_from_cannot_be_read) {
    text one("value");
    const text other(std::move(one));
    const auto got = error_of([&] { (void)one.value(); }); // NOLINT(bugprone-use-after-move)
    ASSERT_TRUE(got);
    EXPECT_EQ(got->code, errc::corrupt);
    one = "new";
    EXPECT_EQ(one, "new");
}

TEST_F(fragile_test, objects_of_derived_classes_come_back_as_what_they_were) {
    register_exemplar<shape, circle>("circle");
    register_exemplar<shape, circle>("circle");
    register_exemplar<shape, label>("label");
    EXPECT_EQ(error_of([] { register_exemplar<shape, label>("circle"); })->code, errc::invalid_argument);
    EXPECT_EQ(error_of([] { register_exemplar<shape, circle>("round"); })->code, errc::invalid_argument);
    heap_.write([&] {
        auto& all = heap_.root<vector<any_shape>>("all");
        all.emplace_back(std::make_unique<circle>(3));
        all.emplace_back(std::make_unique<label>("words"));
        all.emplace_back();
        (**all[0])->grow();
        (**all[1])->grow();
    });
    heap_.close();
    heap_ = heap::open_existing(dir_ / "h", small_heap());
    const auto& all = *heap_.find_root<vector<any_shape>>("all");
    EXPECT_EQ(all[0].value()->tell(), "circle 4");
    EXPECT_EQ(all[1].value()->tell(), "label words!");
    EXPECT_EQ(all[2].value(), nullptr);
}

TEST_F(fragile_test, classes_that_are_not_registered_are_named) {
    auto& one = heap_.root<any_shape>("one");
    const auto writing = error_of([&] { one = std::make_unique<unregistered>(); });
    ASSERT_TRUE(writing);
    EXPECT_EQ(writing->code, errc::invalid_argument);
    EXPECT_NE(writing->what.find("fragile_elements::unregistered"), std::string::npos) << writing->what;
    // As a program wrote it that knows one class more.
    byte_reader in("\7polygon");
    const auto reading = error_of([&] { (void)serialize_trait<std::unique_ptr<shape>>::deserialize(in); });
    ASSERT_TRUE(reading);
    EXPECT_EQ(reading->code, errc::type_mismatch);
    EXPECT_NE(reading->what.find("\"polygon\""), std::string::npos) << reading->what;
    EXPECT_EQ(one.value(), nullptr);
}

TEST_F(fragile_test, a_trait_may_work_in_place) {
    using number = fragile<std::uint64_t, in_place_trait>;
    auto& all = heap_.root<vector_pi<number>>("all");
    heap_.write([&] { all.resize(1'000); });
    heap_.write(declared, [&] { *all[500] = 7; });
    heap_.rollback();
    EXPECT_EQ(all[500], std::uint64_t{7});
}

TEST_F(fragile_test, roots_of_other_members_are_refused) {
    heap_.root<fragile<std::pair<std::string, int>>>("root");
    EXPECT_EQ(error_of([&] { (void)heap_.find_root<fragile<std::pair<std::string, long>>>("root"); })->code,
              errc::type_mismatch);
}

} // namespace
} // namespace fragile_elements

// Random changes beside a model, in declared sections, with kills.

namespace fragile_elements {

struct all {
    vector_pi<text> list;
    btree_map<std::uint64_t, fragile<record>> tree;
    hash_map<string_pi, text> table;
};
struct model {
    std::vector<std::string> list;
    std::map<std::uint64_t, record> tree;
    std::map<std::string, std::string> table;
};

inline void change_all(all& here, model& expected, std::uint64_t seed) {
    std::mt19937_64 random(test::seed_or(seed));
    for (int i = 0; i < 10; ++i) {
        const std::uint64_t number = random() % 200;
        const std::string words = std::to_string(random()) + std::string(random() % 40, 'w');
        const std::size_t at = expected.list.empty() ? 0 : random() % expected.list.size();
        switch (random() % 8) {
        case 0:
        case 1:
            here.list.push_back(words);
            expected.list.push_back(words);
            break;
        case 2:
            here.tree[number]->counts[words] = 1;
            expected.tree[number].counts[words] = 1;
            break;
        case 3:
            here.tree[number] = record{words, {}};
            expected.tree[number] = record{words, {}};
            break;
        case 4:
            EXPECT_EQ(here.tree.erase(number), expected.tree.erase(number));
            break;
        case 5:
            here.table[string_pi(std::to_string(number))]->append(words);
            expected.table[std::to_string(number)].append(words);
            break;
        case 6:
            if (!expected.list.empty()) {
                *here.list[at] = words;
                expected.list[at] = words;
                swap(here.list[at], here.list.front());
                std::swap(expected.list[at], expected.list.front());
            }
            break;
        default:
            if (!expected.list.empty()) {
                here.list[at]->clear();
                expected.list[at].clear();
            }
            break;
        }
    }
}

inline testing::AssertionResult has_all(const all& here, const model& expected) {
    if (!std::equal(here.list.begin(), here.list.end(), expected.list.begin(), expected.list.end()))
        return testing::AssertionFailure() << "the lists differ";
    if (!std::equal(here.tree.begin(), here.tree.end(), expected.tree.begin(), expected.tree.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }))
        return testing::AssertionFailure() << "the trees differ";
    if (here.table.size() != expected.table.size())
        return testing::AssertionFailure() << "the tables differ in size";
    for (const auto& [key, value] : expected.table) {
        const auto found = here.table.find(key);
        if (found == here.table.end() || !(found->second == value))
            return testing::AssertionFailure() << "the tables differ at " << key;
    }
    return testing::AssertionSuccess();
}

inline bool are_large(const all& here) { return here.list.size() > 300 && here.tree.size() > 50; }

struct subject {
    using containers = all;
    using model = fragile_elements::model;
};

} // namespace fragile_elements

namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(fragile, declared_containers, fragile_elements::subject);

TEST(fragile_model, what_was_committed_survives_kills) {
    const temp_dir dir;
    fragile_elements::model expected;
    std::uint64_t seed = 0;
    for (int round = 0; round < 20; ++round) {
        const fs::path file = dir / "h";
        const std::uint64_t from = seed;
        const std::string end = in_child([&]() -> std::string {
            fragile_elements::model here = expected;
            heap h = heap::open(file, small_heap());
            auto& all = h.root<fragile_elements::all>("all");
            for (std::uint64_t s = from + 1; s <= from + 25; ++s)
                h.write([&] { change_all(all, here, s); });
            change_all(all, here, from + 1'000'000); // not committed
            ::raise(SIGKILL);
            return "still alive";
        });
        ASSERT_EQ(end, "killed by signal 9");
        while (seed < from + 25) {
            // The same changes to the model, by way of containers in memory.
            fragile_elements::all scratch;
            fragile_elements::model before = expected;
            scratch.list.assign(before.list.begin(), before.list.end());
            for (const auto& [key, value] : before.tree)
                scratch.tree.emplace(key, value);
            for (const auto& [key, value] : before.table)
                scratch.table.emplace(key, value);
            change_all(scratch, expected, ++seed);
            ASSERT_TRUE(has_all(scratch, expected));
        }
        heap h = heap::open_existing(file, small_heap());
        ASSERT_TRUE(has_all(*h.find_root<fragile_elements::all>("all"), expected)) << "round " << round;
        EXPECT_TRUE(h.verify().clean());
    }
}

} // namespace
} // namespace remanence::test
