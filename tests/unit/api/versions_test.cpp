// Kept versions: retained whatever the limits, restored, branched off, compared, dropped.
//
// A run of the walks: 1,800 steps in 6, of which 2 go over sessions, and 13 branches.

#include "api/heap_impl.hpp"
#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/containers/btree_map.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace remanence::test {

struct shown_place {
    int zip = 0;
    string city;
};
struct shown_person {
    string name;
    shown_place at;
    vector<std::uint64_t> scores;
};
using shown_people = btree_map<std::uint64_t, shown_person>;

namespace {

using whole_memory = std::vector<std::byte>;

/// The memory of the heap, allocator included, as it is committed.
whole_memory memory_now(heap& h) {
    txn::heap_memory& memory = detail::impl_of(h).memory();
    memory.allocator().flush();
    return {memory.base(), memory.base() + memory.accessible_bytes()};
}

/// What the longer one has more is zeros.
bool are_equal(whole_memory one, whole_memory other) {
    one.resize(std::max(one.size(), other.size()));
    other.resize(one.size());
    return one == other;
}

/// Zeros in free pages, and behind those that the heap has: closing a heap gives chunks back in which no block lies.
whole_memory blocks_only(heap& h, whole_memory copy) {
    txn::heap_memory& memory = detail::impl_of(h).memory();
    for (std::size_t at = 0; at < copy.size(); at += k_page_bytes) {
        if (at >= memory.accessible_bytes() || memory.allocator().is_free_page(at / k_page_bytes))
            std::fill_n(&copy[at], k_page_bytes, std::byte{});
    }
    return copy;
}

std::vector<version_difference::range> words_that_differ(whole_memory one, whole_memory other) {
    one.resize(std::max(one.size(), other.size()));
    other.resize(one.size());
    std::vector<version_difference::range> found;
    for (std::size_t at = 0; at < one.size(); at += 8) {
        if (std::equal(&one[at], &one[at] + 8, &other[at]))
            continue;
        if (!found.empty() && found.back().offset + found.back().bytes == at)
            found.back().bytes += 8;
        else
            found.push_back({at, 8});
    }
    return found;
}

heap_options with_steps(const history_options& how) {
    heap_options made = small_heap();
    made.memory.chunk_bytes = 64 * KiB;
    made.history = how;
    return made;
}

class kept_versions : public testing::Test {
protected:
    heap open(const history_options& how = {.steps_max = 100}) { return heap::open(dir_ / "h", with_steps(how)); }
    static std::vector<std::string> names_kept(const heap& h) {
        std::vector<std::string> found;
        for (const kept_version& each : h.versions())
            found.push_back(each.name);
        return found;
    }

    temp_dir dir_;
};

using texts = std::vector<std::string>;

TEST_F(kept_versions, are_restored_when_limits_have_let_their_steps_go) {
    heap h = open({.steps_max = 3});
    auto& list = h.root<numbers>("numbers", 1000, 1U);
    const std::uint64_t before = h.keep("before import");
    EXPECT_EQ(before, h.version());
    const whole_memory then = memory_now(h);
    for (std::uint64_t i = 0; i < 20; ++i)
        h.write([&] { list.assign(1000 + 50 * i, i); });
    const auto all = h.versions();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].version, before);
    EXPECT_EQ(all[0].name, "before import");
    EXPECT_FALSE(all[0].is_present);
    EXPECT_FALSE(all[0].parent);
    EXPECT_GT(all[0].bytes, 8000U);
    EXPECT_LT(all[0].bytes, 100'000U); // not what 20 commits of 8,000 bytes or more changed
    EXPECT_EQ(h.undo_depth(), 4U);
    EXPECT_EQ(h.history().front().kept, "before import");
    const std::uint64_t newest = h.version();
    h.restore("before import");
    EXPECT_EQ(h.version(), newest + 1);
    EXPECT_TRUE(are_equal(memory_now(h), then));
    EXPECT_TRUE(h.versions()[0].is_present);
    EXPECT_EQ(h.versions()[0].bytes, 0U);
    h.go_to(newest);
    EXPECT_EQ(list.back(), 19U);
    h.restore(before);
    h.write([&] { list.push_back(5); });
    h.undo();
    EXPECT_TRUE(are_equal(memory_now(h), then));
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(kept_versions, go_when_they_are_dropped) {
    heap h = open({.steps_max = 2});
    auto& list = h.root<numbers>("numbers", 1000, 1U);
    h.keep("one");
    h.write([&] { list.assign(1000, 2); });
    const std::uint64_t two = h.keep("two");
    for (std::uint64_t i = 3; i < 8; ++i)
        h.write([&] { list.assign(1000, i); });
    EXPECT_EQ(names_kept(h), (texts{"one", "two"}));
    EXPECT_EQ(h.versions()[1].parent, h.versions()[0].version);
    h.drop("one");
    EXPECT_EQ(names_kept(h), (texts{"two"}));
    EXPECT_EQ(h.history().front().version, two);
    h.drop(two);
    EXPECT_TRUE(h.versions().empty());
    EXPECT_EQ(h.undo_depth(), 2U);
    EXPECT_EQ(h.history().size(), 3U);
}

TEST_F(kept_versions, of_branches_that_were_left_stay) {
    heap h = open({.steps_max = 2});
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.push_back(1); });
    h.write([&] { list.push_back(2); });
    h.keep("left");
    const whole_memory left = memory_now(h);
    h.undo(2);
    for (std::uint64_t i = 0; i < 10; ++i)
        h.write([&] { list.push_back(10 + i); });
    const whole_memory here = memory_now(h);
    const std::uint64_t newest = h.version();
    h.restore("left");
    EXPECT_TRUE(are_equal(memory_now(h), left));
    h.go_to(newest);
    EXPECT_TRUE(are_equal(memory_now(h), here));
    h.drop("left");
    h.write([&] { list.push_back(1); });
    EXPECT_LE(h.history().size(), 4U);
}

TEST_F(kept_versions, stay_when_the_history_is_forgotten) {
    heap h = open({.steps_max = 2});
    auto& list = h.root<numbers>("numbers");
    h.keep("here");
    const whole_memory here = memory_now(h);
    h.forget_history();
    for (std::uint64_t i = 0; i < 5; ++i)
        h.write([&] { list.push_back(i); });
    h.forget_history();
    EXPECT_EQ(h.undo_depth(), 1U); // to the version that is kept
    h.restore("here");
    EXPECT_TRUE(are_equal(memory_now(h), here));
}

TEST_F(kept_versions, hold_a_commit_that_is_larger_than_the_history_may_be) {
    heap h = open({.bytes_max = 64 * KiB});
    auto& list = h.root<numbers>("numbers");
    h.keep("small");
    const whole_memory small = memory_now(h);
    h.write([&] { list.resize(100'000, 2); });
    h.write([&] { list.back() = 3; });
    h.restore("small");
    EXPECT_TRUE(are_equal(memory_now(h), small));
}

TEST_F(kept_versions, are_refused_with_reasons) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    const std::uint64_t first = h.keep("first");
    EXPECT_TRUE(is_error(error_of([&] { h.keep("other"); }), errc::exists, dir_ / "h", "first"));
    h.write([&] { list.push_back(1); });
    const std::uint64_t step = h.version();
    EXPECT_TRUE(is_error(error_of([&] { h.keep("first"); }), errc::exists, dir_ / "h", std::to_string(first)));
    EXPECT_TRUE(is_error(error_of([&] { h.keep(""); }), errc::invalid_argument, dir_ / "h", "needs a name"));
    EXPECT_TRUE(is_error(error_of([&] { h.restore("second"); }), errc::no_step, dir_ / "h", "kept are \"first\""));
    EXPECT_TRUE(is_error(error_of([&] { h.restore(12345); }), errc::no_step, dir_ / "h", "kept are \"first\""));
    EXPECT_TRUE(is_error(error_of([&] { h.restore(step); }), errc::no_step, dir_ / "h", "not a kept version"));
    EXPECT_TRUE(is_error(error_of([&] { h.drop(step); }), errc::no_step, dir_ / "h", "not a kept version"));
    EXPECT_TRUE(is_error(error_of([&] { (void)h.diff(first, 12345); }), errc::no_step, dir_ / "h", "no version 12345"));
    EXPECT_TRUE(
        is_error(error_of([&] { h.branch(12345, dir_ / "b"); }), errc::no_step, dir_ / "h", "no version 12345"));
    EXPECT_EQ(reason_of([&] { h.write([&] { h.keep("x"); }); }), errc::section_open);
    list.push_back(2);
    EXPECT_EQ(reason_of([&] { h.restore(first); }), errc::uncommitted);
    h.rollback();
    {
        const auto g = h.group("g");
        EXPECT_EQ(reason_of([&] { h.keep("x"); }), errc::section_open);
        EXPECT_EQ(reason_of([&] { h.drop(first); }), errc::section_open);
        EXPECT_EQ(reason_of([&] { h.restore(first); }), errc::section_open);
        EXPECT_EQ(reason_of([&] { h.squash(2); }), errc::section_open);
    }
    h.drop(first);
    EXPECT_EQ(reason_of([&] { h.drop(first); }), errc::no_step);
    EXPECT_FALSE(fs::exists(dir_ / "b"));
}

TEST_F(kept_versions, need_a_history) {
    heap h = heap::open(dir_ / "h", small_heap());
    put_contents(h);
    EXPECT_TRUE(h.versions().empty());
    EXPECT_TRUE(is_error(error_of([&] { h.keep("x"); }), errc::invalid_argument, dir_ / "h", "heap_options::history"));
    EXPECT_EQ(reason_of([&] { h.squash(1); }), errc::invalid_argument);
    EXPECT_EQ(reason_of([&] { (void)h.diff(1, 1); }), errc::invalid_argument);
}

TEST_F(kept_versions, are_there_in_later_sessions) {
    const history_options how{.steps_max = 3, .kept_over_sessions = true};
    whole_memory then;
    std::uint64_t kept = 0;
    {
        heap h = open(how);
        auto& list = h.root<numbers>("numbers", 1000, 1U);
        const std::uint64_t before = h.version();
        kept = h.keep("one");
        EXPECT_EQ(kept, before);
        EXPECT_EQ(h.version(), before + 1); // a commit of its own
        then = memory_now(h);
        for (std::uint64_t i = 0; i < 10; ++i)
            h.write([&] { list.assign(1000 + i, i); });
        h.keep("two");
        h.write([&] { list.push_back(1); });
        h.write([&] { list.push_back(2); });
        h.squash(2);
        for (const char* part : {"", "-log", "-history"}) // as a kill leaves them
            fs::copy_file((dir_ / "h").string() + part, (dir_ / "killed").string() + part);
        h.close();
    }
    for (const char* name : {"h", "killed"}) {
        heap h = heap::open_existing(dir_ / name, with_steps(how));
        EXPECT_EQ(h.why_history_is_new(), "");
        EXPECT_EQ(names_kept(h), (texts{"one", "two"}));
        h.undo(); // what was squashed
        EXPECT_EQ(h.find_root<numbers>("numbers")->size(), 1009U);
        h.restore("one");
        EXPECT_TRUE(are_equal(memory_now(h), then));
        h.drop("two");
        h.close();
        heap again = heap::open_existing(dir_ / name, with_steps(how));
        EXPECT_EQ(names_kept(again), (texts{"one"}));
        EXPECT_TRUE(again.versions()[0].is_present);
        EXPECT_EQ(again.versions()[0].version, kept);
    }
}

TEST_F(kept_versions, become_heaps_of_their_own) {
    whole_memory then;
    whole_memory now;
    {
        heap h = open();
        put_contents(h);
        h.keep("full");
        then = memory_now(h);
        h.write([&] {
            h.find_root<numbers>("numbers")->assign(40'000, 7);
            h.find_root<names>("names")->clear();
        });
        now = memory_now(h);
        h.find_root<numbers>("numbers")->clear(); // not committed, so in no branch
        h.branch(h.versions()[0].version, dir_ / "old");
        h.branch(h.version(), dir_ / "new");
        h.rollback();
        EXPECT_TRUE(
            is_error(error_of([&] { h.branch(h.version(), dir_ / "old"); }), errc::exists, dir_ / "old", "exists"));
        write_file(dir_ / "x-log", "log");
        EXPECT_EQ(reason_of([&] { h.branch(h.version(), dir_ / "x"); }), errc::exists);
        EXPECT_EQ(reason_of([&] { h.branch(h.version(), dir_ / "no" / "where"); }), errc::not_found);
        EXPECT_TRUE(are_equal(memory_now(h), now)); // and goes on
        h.write([&] { h.find_root<numbers>("numbers")->clear(); });
    }
    std::size_t files = 0;
    for (const auto& each : fs::directory_iterator(dir_.path())) {
        (void)each;
        ++files;
    }
    EXPECT_EQ(files, 4U); // h, old, new, x-log
    {
        heap old = heap::open_existing(dir_ / "old", small_heap());
        EXPECT_TRUE(are_equal(memory_now(old), then));
        EXPECT_TRUE(has_contents(old));
    }
    heap other = heap::open_existing(dir_ / "new", small_heap());
    EXPECT_TRUE(are_equal(memory_now(other), now));
    EXPECT_TRUE(other.verify().clean());
}

TEST_F(kept_versions, are_branched_off_over_what_a_crash_left) {
    heap h = open();
    put_contents(h);
    fs::copy_file(dir_ / "h", dir_ / "b-branch-unfinished");
    fs::copy_file(log_of(dir_ / "h"), dir_ / "b-branch-unfinished-log");
    h.branch(h.version(), dir_ / "b");
    EXPECT_FALSE(fs::exists(dir_ / "b-branch-unfinished"));
    EXPECT_FALSE(fs::exists(dir_ / "b-branch-unfinished-log"));
    h.close();
    EXPECT_TRUE(file_has_contents(dir_ / "b"));
}

TEST_F(kept_versions, differ_in_bytes_blocks_roots_and_members) {
    heap h = open();
    auto& people = h.root<shown_people>("people");
    h.root<numbers>("numbers", 10, 1U);
    h.write([&] {
        people[7].name = "Ada";
        people[7].at.zip = 1000;
        people[7].scores.assign(3, 5);
        people[8].name = "Bob";
    });
    const std::uint64_t first = h.keep("first");
    const whole_memory then = memory_now(h);
    h.write([&] {
        people[7].at.zip = 2000;
        people[7].scores.push_back(6);
        people.erase(8);
        people[9].name = "a name that is too long for the small string buffer";
        h.root<int>("count") = 3;
    });
    const std::uint64_t second = h.version();
    const whole_memory now = memory_now(h);
    const version_difference found = h.diff(first, second);
    EXPECT_EQ(found.ranges, words_that_differ(then, now));
    ASSERT_EQ(found.roots.size(), 2U); // not "numbers"
    EXPECT_EQ(found.roots[0].name, "count");
    EXPECT_EQ(found.roots[0].how, version_difference::change::added);
    EXPECT_EQ(found.roots[1].name, "people");
    EXPECT_EQ(found.roots[1].how, version_difference::change::changed);
    std::map<std::string, std::string> members;
    for (const auto& each : found.members)
        members[each.path] = each.before + " -> " + each.after;
    EXPECT_EQ(members.at("people[7].at.zip"), "1000 -> 2000");
    EXPECT_EQ(members.at("people[7].scores[3]"), " -> 6");
    EXPECT_EQ(members.at("people[8].name"), "\"Bob\" -> ");
    EXPECT_EQ(members.at("people[9].name"), " -> \"a name that is too long for the small string buffer\"");
    EXPECT_EQ(members.at("count"), " -> 3");
    EXPECT_FALSE(members.contains("people[7].name"));
    bool has_block_of_count = false;
    for (const auto& each : found.blocks) {
        has_block_of_count =
            has_block_of_count || (each.root == "count" && each.how == version_difference::change::added);
        EXPECT_NE(each.root, "numbers");
    }
    EXPECT_TRUE(has_block_of_count);
    const version_difference back = h.diff(second, first);
    EXPECT_EQ(back.ranges, found.ranges);
    EXPECT_EQ(back.members.size(), found.members.size());
    EXPECT_TRUE(h.diff(second, second).is_empty());
    people[7].at.zip = 3; // not committed: in no version, and the comparison leaves it alone
    EXPECT_EQ(h.diff(first, second).ranges, found.ranges);
    EXPECT_EQ(people[7].at.zip, 3);
}

TEST_F(kept_versions, are_joined_by_squash) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    const whole_memory before = memory_now(h);
    h.write("first", [&] { list.assign(1000, 1); });
    h.write("second", [&] { list.assign(2000, 2); });
    h.write([&] { list.push_back(3); });
    const whole_memory after = memory_now(h);
    const std::uint64_t depth = h.undo_depth();
    EXPECT_EQ(reason_of([&] { h.squash(depth + 1); }), errc::no_step);
    h.squash(3);
    EXPECT_EQ(h.undo_depth(), depth - 2);
    EXPECT_EQ(h.history().back().name, "second");
    h.undo();
    EXPECT_TRUE(are_equal(memory_now(h), before));
    h.redo();
    EXPECT_TRUE(are_equal(memory_now(h), after));
    h.keep("kept");
    h.write([&] { list.push_back(4); });
    EXPECT_TRUE(is_error(error_of([&] { h.squash(2); }), errc::invalid_argument, dir_ / "h", "kept"));
    h.undo();
    h.write([&] { list.push_back(5); });
    h.drop("kept");
    EXPECT_TRUE(is_error(error_of([&] { h.squash(2); }), errc::invalid_argument, dir_ / "h", "another branch"));
}

/// Walks at random through versions that are kept, restored, dropped, joined, compared and branched off, beside whole copies.
class versions_walk {
public:
    versions_walk(heap& h, heap_options with, fs::path dir, std::uint64_t seed)
        : h_(h), with_(std::move(with)), dir_(std::move(dir)), dice_(test::seed_or(seed)) {
        h_.root<numbers>("numbers");
        h_.root<names>("names");
        h_.forget_history(); // none of the states has fewer roots
        remember();
    }
    /// Returns what is wrong; empty: nothing.
    std::string step() {
        ++count_;
        const std::uint64_t what = below(24);
        if (what < 9) {
            h_.write([&] { change(); });
            remember();
        } else if (what < 11 && h_.undo_depth() != 0) {
            h_.undo(1 + below(h_.undo_depth()));
        } else if (what < 13 && h_.redo_depth() != 0) {
            h_.redo(1 + below(h_.redo_depth()));
        } else if (what < 16) {
            keep();
        } else if (what < 18 && !kept_.empty()) {
            h_.restore(any_kept()->first);
        } else if (what == 18 && !kept_.empty()) {
            const auto which = any_kept();
            h_.drop(which->first);
            kept_.erase(which);
        } else if (what == 19) {
            squash();
        } else if (what == 20) {
            h_.checkpoint();
        } else if (what == 21 && below(4) == 0) {
            return compare();
        } else if (what == 22 && below(5) == 0) {
            branch();
        } else if (what == 23 && below(20) == 0) {
            h_.forget_history();
        } else if (what == 23 && with_.history.kept_over_sessions) {
            reopen();
        }
        return check();
    }
    /// After the heap was closed.
    [[nodiscard]] std::string check_branches() const {
        for (const auto& [path, copy] : branches_) {
            heap branch = heap::open_existing(path, small_heap());
            if (!are_equal(blocks_only(branch, memory_now(branch)), blocks_only(branch, copy)))
                return path.string() + " is not what its version was";
            if (!branch.verify().clean())
                return path.string() + " is damaged";
        }
        return {};
    }
    [[nodiscard]] std::size_t branches() const { return branches_.size(); }

private:
    std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(dice_); }
    std::map<std::uint64_t, std::string>::iterator any_kept() {
        return std::next(kept_.begin(), static_cast<std::ptrdiff_t>(below(kept_.size())));
    }
    void reopen() {
        const fs::path path = h_.path();
        h_.close();
        h_ = heap::open_existing(path, with_);
        EXPECT_EQ(h_.why_history_is_new(), "");
    }
    void change() {
        auto& list = *h_.find_root<numbers>("numbers");
        auto& index = *h_.find_root<names>("names");
        switch (below(5)) {
        case 0:
            list.resize(below(30'000), count_);
            break;
        case 1:
            std::fill(list.begin(), list.end(), count_);
            break;
        case 2:
            numbers().swap(list);
            break;
        case 3:
            if (!index.empty())
                index.erase(index.begin());
            break;
        default:
            index.insert_or_assign(string(1 + below(60), 'x'), count_);
        }
    }
    void keep() {
        const std::uint64_t present = here();
        if (kept_.contains(present) || kept_.size() == 6)
            return;
        kept_[present] = std::to_string(count_);
        EXPECT_EQ(h_.keep(kept_.at(present)), present);
    }
    void squash() {
        const std::uint64_t steps = 2 + below(3);
        try {
            h_.squash(steps);
        } catch (const error& why) {
            EXPECT_TRUE(why.reason() == errc::no_step || why.reason() == errc::invalid_argument) << why.what();
        }
    }
    std::string compare() {
        const auto steps = h_.history();
        const std::uint64_t one = steps[below(steps.size())].version;
        const std::uint64_t other = steps[below(steps.size())].version;
        const auto found = h_.diff(one, other).ranges;
        return found == words_that_differ(copies_.at(one), copies_.at(other)) ? "" : "the difference is another one";
    }
    void branch() {
        const auto steps = h_.history();
        const std::uint64_t version = steps[below(steps.size())].version;
        const fs::path path = dir_ / ("branch" + std::to_string(count_));
        h_.branch(version, path);
        branches_[path] = copies_.at(version);
    }
    [[nodiscard]] std::uint64_t here() const {
        for (const history_step& each : h_.history()) {
            if (each.is_present)
                return each.version;
        }
        return 0;
    }
    void remember() {
        std::map<std::uint64_t, whole_memory> left;
        for (const history_step& each : h_.history()) {
            if (const auto found = copies_.find(each.version); found != copies_.end())
                left.insert(copies_.extract(found));
        }
        copies_ = std::move(left);
        copies_[here()] = memory_now(h_);
    }
    std::string check() {
        if (!are_equal(memory_now(h_), copies_.at(here())))
            return "step " + std::to_string(count_) + ": memory is not what it was";
        const auto all = h_.versions();
        const bool is_all = std::ranges::equal(all, kept_, [](const kept_version& each, const auto& known) {
            return each.version == known.first && each.name == known.second;
        });
        return is_all ? "" : "step " + std::to_string(count_) + ": other versions are kept";
    }

    heap& h_;
    heap_options with_;
    fs::path dir_;
    std::mt19937_64 dice_;
    std::uint64_t count_ = 0;
    std::map<std::uint64_t, whole_memory> copies_;
    std::map<std::uint64_t, std::string> kept_;
    std::map<fs::path, whole_memory> branches_;
};

TEST_F(kept_versions, are_whole_whatever_came_between) {
    const char* const asked = std::getenv("REMANENCE_HISTORY_STEPS");
    const std::uint64_t steps = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 300;
    std::size_t branches = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        history_options how{.steps_max = seed == 3 ? 3U : 12U};
        if (seed == 2)
            how = {.bytes_max = 512 * KiB};
        how.kept_over_sessions = seed > 4;
        heap_options with = with_steps(how);
        with.log.log_limit_bytes = seed % 2 == 0 ? 64 * KiB : 0;
        heap h = heap::open(dir_ / std::to_string(seed), with);
        fs::create_directory(dir_ / ("of" + std::to_string(seed)));
        versions_walk random(h, with, dir_ / ("of" + std::to_string(seed)), seed);
        for (std::uint64_t i = 0; i < steps; ++i)
            ASSERT_EQ(random.step(), "");
        h.close();
        EXPECT_EQ(random.check_branches(), "");
        branches += random.branches();
    }
    std::cout << 6 * steps << " steps, " << branches << " branches\n";
}

} // namespace
} // namespace remanence::test
