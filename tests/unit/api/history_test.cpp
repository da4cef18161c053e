// Undo and redo.
//
// A run: 3,600 steps and 5,419 changes beside whole copies of memory.

#include "api/heap_impl.hpp"
#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/containers/btree_map.hpp>
#include <remanence/containers/hash_map.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace remanence::test {

using trees = btree_map<std::uint64_t, std::uint64_t>;
using tables = hash_map<std::uint64_t, std::uint64_t>;

namespace {

class histories : public testing::TestWithParam<tracking> {
protected:
    [[nodiscard]] static heap_options options(const history_options& how = {.steps_max = 10'000}) {
        heap_options made = small_heap();
        made.memory.chunk_bytes = 64 * KiB;
        made.tracker = GetParam();
        made.history = how;
        return made;
    }
    heap open(const history_options& how = {.steps_max = 10'000}) { return heap::open(dir_ / "h", options(how)); }

    temp_dir dir_;
};

/// The memory of the heap, allocator included, as it is committed.
std::vector<std::byte> all_memory(heap& h) {
    txn::heap_memory& memory = detail::impl_of(h).memory();
    memory.allocator().flush();
    return {memory.base(), memory.base() + memory.accessible_bytes()};
}

/// What the heap has grown by since holds nothing.
bool is_memory(heap& h, std::vector<std::byte> expected) {
    const std::vector<std::byte> found = all_memory(h);
    expected.resize(found.size());
    return found == expected;
}

std::optional<errc> error_code(const std::optional<caught>& got) {
    return got ? std::optional(got->code) : std::nullopt;
}

TEST_P(histories, lead_back_and_forth_through_commits) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    std::vector<std::vector<std::byte>> copies{all_memory(h)};
    for (std::uint64_t i = 0; i < 5; ++i) {
        h.write([&] { list.push_back(i); });
        copies.push_back(all_memory(h));
    }
    EXPECT_EQ(h.undo_depth(), 5U); // the root is none
    for (std::size_t i = 5; i-- > 0;) {
        h.undo();
        EXPECT_EQ(list.size(), i);
        EXPECT_TRUE(is_memory(h, copies[i])) << i;
        EXPECT_EQ(h.redo_depth(), 5 - i);
    }
    h.redo(3);
    EXPECT_EQ(list.size(), 3U);
    EXPECT_TRUE(is_memory(h, copies[3]));
    h.undo(3);
    EXPECT_EQ(h.find_root<numbers>("numbers"), &list);
    EXPECT_TRUE(is_memory(h, copies[0]));
    EXPECT_EQ(h.undo_depth(), 0U);
    h.redo(5);
    EXPECT_TRUE(is_memory(h, copies[5]));
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(histories, make_each_undo_a_durable_commit) {
    {
        heap h = open();
        auto& list = h.root<numbers>("numbers", 100, 1U);
        h.write([&] { list.assign(100, 2); });
        const std::uint64_t before = h.version();
        h.undo();
        EXPECT_EQ(h.version(), before + 1);
        fs::copy_file(dir_ / "h", dir_ / "copy");
        fs::copy_file(log_of(dir_ / "h"), log_of(dir_ / "copy"));
    }
    heap copy = heap::open(dir_ / "copy", small_heap());
    EXPECT_EQ(copy.find_root<numbers>("numbers")->back(), 1U);
    EXPECT_TRUE(copy.verify().clean());
}

TEST_P(histories, begin_with_each_open) {
    {
        heap h = open();
        put_contents(h);
        EXPECT_GT(h.undo_depth(), 0U);
        h.close();
    }
    heap h = open();
    EXPECT_EQ(h.undo_depth(), 0U);
    EXPECT_TRUE(has_contents(h));
    h.write([&] { h.find_root<numbers>("numbers")->clear(); });
    h.undo();
    EXPECT_TRUE(has_contents(h));
    h.close();
    EXPECT_TRUE(file_has_contents(dir_ / "h"));
}

TEST_P(histories, keep_what_was_undone_as_a_branch) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.push_back(1); });
    h.write("second", [&] { list.push_back(2); });
    const std::uint64_t left = h.version();
    h.undo();
    h.write("another", [&] { list.push_back(3); });
    const auto refused = error_of([&] { h.redo(); });
    EXPECT_TRUE(is_error(refused, errc::no_step, dir_ / "h", "go to version " + std::to_string(left)));
    h.go_to(left);
    EXPECT_EQ(list.back(), 2U);
    const auto steps = h.history();
    ASSERT_EQ(steps.size(), 4U);
    EXPECT_FALSE(steps[0].parent);
    EXPECT_EQ(steps[2].name, "second");
    EXPECT_TRUE(steps[2].is_present);
    EXPECT_EQ(steps[3].name, "another");
    EXPECT_EQ(steps[2].parent, steps[3].parent);
    EXPECT_GT(steps[3].bytes, 0U);
    h.go_to(steps[3].version);
    EXPECT_EQ(list.back(), 3U);
    EXPECT_EQ(list.size(), 2U);
}

TEST_P(histories, go_to_a_version_that_an_undo_made) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.push_back(1); });
    h.write([&] { list.push_back(2); });
    h.undo();
    const std::uint64_t here = h.version();
    h.write([&] { list.push_back(3); });
    h.go_to(here);
    EXPECT_EQ(list.size(), 1U);
}

TEST_P(histories, make_one_step_of_a_group) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    const auto before = all_memory(h);
    {
        auto g = h.group("draw line");
        for (std::uint64_t i = 0; i < 10; ++i)
            h.write([&] { list.resize(100 * i, i); });
        EXPECT_EQ(error_code(error_of([&] { h.undo(); })), errc::section_open);
    }
    const auto after = all_memory(h);
    EXPECT_EQ(h.undo_depth(), 1U);
    EXPECT_EQ(h.history().back().name, "draw line");
    h.undo();
    EXPECT_TRUE(is_memory(h, before));
    h.redo();
    EXPECT_TRUE(is_memory(h, after));
}

TEST_P(histories, refuse_to_lead_where_they_do_not) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    EXPECT_TRUE(is_error(error_of([&] { h.undo(2); }), errc::no_step, dir_ / "h", "leads back 0"));
    EXPECT_TRUE(is_error(error_of([&] { h.redo(); }), errc::no_step, dir_ / "h", "0 were undone"));
    EXPECT_TRUE(is_error(error_of([&] { h.go_to(12345); }), errc::no_step, dir_ / "h", "There is version"));
    EXPECT_TRUE(is_error(error_of([&] { h.write([&] { h.undo(); }); }), errc::section_open, dir_ / "h", "End"));
    EXPECT_TRUE(is_error(error_of([&] { h.read([&] { h.undo(); }); }), errc::section_open, dir_ / "h", "End"));
    EXPECT_TRUE(
        is_error(error_of([&] { h.write([&] { (void)h.group("g"); }); }), errc::section_open, dir_ / "h", "End"));
    h.write([&] { list.push_back(1); });
    list.push_back(2);
    EXPECT_TRUE(is_error(error_of([&] { h.undo(); }), errc::uncommitted, dir_ / "h", "Commit, or roll back, first"));
    EXPECT_EQ(list.size(), 2U);
    h.rollback();
    h.undo();
    EXPECT_TRUE(list.empty());
}

TEST_P(histories, are_off_unless_they_are_asked_for) {
    heap h = heap::open(dir_ / "h", small_heap());
    put_contents(h);
    EXPECT_EQ(h.undo_depth(), 0U);
    EXPECT_EQ(h.redo_depth(), 0U);
    EXPECT_TRUE(h.history().empty());
    const auto g = h.group("nothing");
    EXPECT_TRUE(is_error(error_of([&] { h.undo(); }), errc::invalid_argument, dir_ / "h", "heap_options::history"));
}

TEST_P(histories, are_refused_where_there_can_be_none) {
    make_heap(dir_ / "h");
    heap_options shared = options();
    shared.access = sharing::processes;
    EXPECT_TRUE(is_error(error_of([&] { (void)heap::open(dir_ / "h", shared); }), errc::invalid_argument, dir_ / "h",
                         "Set kept_over_sessions"));
    heap_options read_only = options();
    read_only.read_only = true;
    EXPECT_EQ(error_code(error_of([&] { (void)heap::open(dir_ / "h", read_only); })), errc::invalid_argument);
}

TEST_P(histories, let_the_oldest_steps_go) {
    heap h = open({.steps_max = 3});
    auto& list = h.root<numbers>("numbers");
    for (std::uint64_t i = 0; i < 10; ++i)
        h.write([&] { list.push_back(i); });
    EXPECT_EQ(h.undo_depth(), 3U);
    h.undo(3);
    EXPECT_EQ(list.size(), 7U);
    h.redo(3);
    EXPECT_EQ(list.size(), 10U);
}

TEST_P(histories, keep_nothing_of_a_commit_that_is_larger_than_all_they_may_keep) {
    heap h = open({.bytes_max = 64 * KiB});
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.push_back(1); });
    h.write([&] { list.resize(100'000, 2); });
    EXPECT_EQ(h.undo_depth(), 0U);
    h.write([&] { list.back() = 3; });
    h.undo();
    EXPECT_EQ(list.back(), 2U);
}

TEST_P(histories, refuse_commits_that_they_have_no_room_for) {
    heap h = open({.steps_max = 2, .then = history_options::when_full::refuse});
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.push_back(1); });
    h.write([&] { list.push_back(2); });
    EXPECT_TRUE(is_error(error_of([&] { h.write([&] { list.push_back(3); }); }), errc::history_full, dir_ / "h",
                         "Forget the history"));
    EXPECT_EQ(list.size(), 2U);   // rolled back
    (void)h.root<names>("names"); // which is no step
    h.undo(2);
    EXPECT_TRUE(list.empty());
    h.redo(2);
    h.forget_history();
    h.write([&] { list.push_back(3); });
    EXPECT_EQ(h.undo_depth(), 1U);
}

TEST_P(histories, bring_back_chunks_that_were_given_up) {
    heap h = open();
    auto& list = h.root<numbers>("numbers", 50'000, 7U);
    const auto full = all_memory(h);
    h.write([&] { numbers().swap(list); });
    h.checkpoint();
    const auto empty = all_memory(h);
    h.undo();
    EXPECT_TRUE(is_memory(h, full));
    h.checkpoint();
    h.redo();
    EXPECT_TRUE(is_memory(h, empty));
    h.undo();
    EXPECT_EQ(list.size(), 50'000U);
    EXPECT_EQ(list.back(), 7U);
    EXPECT_TRUE(h.verify().clean());
    h.close();
    heap again = heap::open(dir_ / "h", small_heap());
    EXPECT_EQ(again.find_root<numbers>("numbers")->back(), 7U);
}

TEST_P(histories, stay_where_they_are_when_the_commit_fails) {
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.assign(1000, 1); });
    h.write([&] { list.assign(1000, 2); });
    const auto before = all_memory(h);
    fs::rename(dir_ / "h", dir_ / "elsewhere"); // and another file takes its name
    write_file(dir_ / "h", "another");
    fs::remove(dir_ / "elsewhere");
    EXPECT_EQ(error_code(error_of([&] { h.undo(); })), errc::unlinked);
    EXPECT_TRUE(is_memory(h, before));
    EXPECT_EQ(list.back(), 2U);
    EXPECT_EQ(h.redo_depth(), 0U);
    fs::remove(dir_ / "h");
}

TEST_P(histories, go_with_asynchronous_commits_and_declared_sections) {
    heap h = open();
    detail::impl_of(h).engine().copy_points_from(1);
    auto& tree = h.root<trees>("tree");
    for (std::uint64_t i = 0; i < 100; ++i) {
        if (i % 2 == 0)
            (void)h.write_async([&] { tree[i] = i; });
        else
            h.write(declared, [&] { tree[i] = i; });
    }
    EXPECT_EQ(h.undo_depth(), 100U);
    h.undo(70);
    EXPECT_EQ(tree.size(), 30U);
    h.redo(35);
    EXPECT_EQ(tree.size(), 65U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(histories, let_no_reader_see_half_of_an_undo) {
    heap h = open();
    auto& list = h.root<numbers>("numbers", 10'000, 0U);
    for (std::uint64_t i = 1; i < 5; ++i)
        h.write([&] { std::fill(list.begin(), list.end(), i); });
    std::atomic<bool> is_done = false;
    std::atomic<std::uint64_t> mixed = 0;
    std::thread reader([&] {
        while (!is_done)
            h.read([&] { mixed += list.front() != list.back() ? 1U : 0U; });
    });
    for (int i = 0; i < 30; ++i) {
        h.undo(4);
        h.redo(4);
    }
    is_done = true;
    reader.join();
    EXPECT_EQ(mixed, 0U);
    EXPECT_EQ(list.back(), 4U);
}

bool are_same(const std::vector<history_step>& some, const std::vector<history_step>& others) {
    const auto is_same = [](const history_step& a, const history_step& b) {
        return a.version == b.version && a.parent == b.parent && a.name == b.name && a.time == b.time &&
               a.bytes == b.bytes && a.is_present == b.is_present;
    };
    return std::ranges::equal(some, others, is_same);
}

/// Walks through a heap's history at random, beside whole copies of its memory.
class walk {
public:
    /// `open_again`: how the heap is opened, if its history is kept over sessions.
    walk(heap& h, std::uint64_t seed, bool is_large = false, std::function<heap()> open_again = {})
        : h_(h), dice_(test::seed_or(seed)), is_large_(is_large), open_again_(std::move(open_again)) {
        h_.root<numbers>("numbers");
        h_.root<names>("names");
        h_.root<trees>("tree");
        h_.root<tables>("table");
        h_.forget_history(); // none of the states has fewer roots
        remember();
    }

    /// Returns what is wrong; empty: nothing.
    std::string step() {
        const std::uint64_t what = below(open_again_ ? 22 : 20);
        if (what >= 20)
            open_again();
        else if (what < 5)
            commit();
        else if (what < 7)
            commit_declared();
        else if (what == 7)
            commit_async();
        else if (what == 8)
            commit_group();
        else if (what == 9)
            h_.checkpoint();
        else if (what == 10)
            commit_around_savepoint();
        else if (what == 11)
            roll_back();
        else if (what < 15 && h_.undo_depth() != 0)
            h_.undo(1 + below(h_.undo_depth()));
        else if (what < 18 && h_.redo_depth() != 0)
            h_.redo(1 + below(h_.redo_depth()));
        else
            go_anywhere();
        ++steps_;
        return check();
    }
    [[nodiscard]] std::uint64_t changes() const { return changes_; }
    [[nodiscard]] std::uint64_t sessions() const { return sessions_; }

private:
    std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(dice_); }

    void change() {
        for (std::uint64_t count = 1 + below(4); count != 0; --count, ++changes_) {
            auto& list = *h_.find_root<numbers>("numbers");
            switch (below(9)) {
            case 0:
                list.resize(below(is_large_ ? 200'000 : 30'000), changes_);
                break;
            case 1:
                std::fill(list.begin(), list.end(), changes_); // chunks that move
                break;
            case 2:
                if (!list.empty())
                    list[below(list.size())] = changes_;
                break;
            case 3:
                h_.find_root<names>("names")->insert_or_assign(string(1 + below(60), 'x'), changes_);
                break;
            case 4:
                if (auto& index = *h_.find_root<names>("names"); !index.empty())
                    index.erase(index.begin());
                break;
            case 5:
                numbers().swap(list);
                break;
            default:
                change_own(6 + below(3));
            }
        }
    }
    void change_own(std::uint64_t how) {
        auto& tree = *h_.find_root<trees>("tree");
        auto& table = *h_.find_root<tables>("table");
        for (std::uint64_t i = below(200); i != 0; --i) {
            const std::uint64_t key = below(2000);
            if (how == 6)
                tree[key] = changes_;
            else if (how == 7)
                (void)tree.erase(key);
            else
                table[key] = changes_;
        }
        if (below(20) == 0)
            table.clear();
    }
    void commit() {
        h_.write([&] { change(); });
        remember();
    }
    /// Of containers that declare what they change.
    void commit_declared() {
        h_.write(declared, [&] {
            for (std::uint64_t count = 1 + below(4); count != 0; --count, ++changes_)
                change_own(6 + below(3));
        });
        remember();
    }
    void commit_async() {
        (void)h_.write_async([&] { change(); });
        remember();
    }
    void commit_group() {
        {
            const auto g = h_.group("several");
            for (std::uint64_t count = below(4); count != 0; --count)
                h_.write([&] { change(); });
        }
        remember();
    }
    void commit_around_savepoint() {
        h_.write([&] {
            change();
            if (is_large_) // some of it may be spilled, and then there can be no savepoint
                return;
            auto here = h_.savepoint();
            change();
            if (below(2) == 0)
                here.rollback();
        });
        remember();
    }
    void roll_back() {
        const in here(h_);
        change();
        h_.rollback();
    }
    /// After a close, or as after a crash.
    void open_again() {
        const auto steps = h_.history();
        const std::uint64_t back = h_.undo_depth();
        const std::uint64_t forth = h_.redo_depth();
        if (below(2) == 0) {
            h_.close();
            h_ = open_again_();
        } else {
            h_.rebuild();
        }
        ++sessions_;
        if (below(2) == 0) {
            commit_before_steps_are_read(steps, back, forth);
            return;
        }
        EXPECT_EQ(h_.why_history_is_new(), "");
        EXPECT_TRUE(are_same(steps, h_.history()));
        EXPECT_EQ(h_.undo_depth(), back);
        EXPECT_EQ(h_.redo_depth(), forth);
    }
    /// All steps are there still, unless limits let them go.
    void commit_before_steps_are_read(const std::vector<history_step>& steps, std::uint64_t back, std::uint64_t forth) {
        EXPECT_EQ(h_.undo_depth(), back);
        EXPECT_EQ(h_.redo_depth(), forth);
        {
            const auto g = h_.group("unread");
            for (std::uint64_t count = 1 + below(3); count != 0; --count)
                h_.write([&] { change(); });
        }
        EXPECT_EQ(h_.why_history_is_new(), "");
        const auto now = h_.history();
        for (const history_step& each : now) {
            const bool was_there = std::ranges::any_of(
                steps, [&](const history_step& one) { return one.version == each.version && one.name == each.name; });
            EXPECT_TRUE(was_there || (each.is_present && each.name == "unread")) << each.version;
        }
        EXPECT_LE(now.size(), steps.size() + 1);
        remember();
    }
    void go_anywhere() {
        const auto steps = h_.history();
        h_.go_to(steps[below(steps.size())].version);
    }
    [[nodiscard]] std::uint64_t here() const {
        for (const history_step& each : h_.history()) {
            if (each.is_present)
                return each.version;
        }
        return 0;
    }
    /// Only the states that the history still leads to, so that this does not take more and more memory.
    void remember() {
        std::map<std::uint64_t, std::vector<std::byte>> kept;
        for (const history_step& each : h_.history()) {
            if (const auto found = copies_.find(each.version); found != copies_.end())
                kept.insert(copies_.extract(found));
        }
        copies_ = std::move(kept);
        copies_[here()] = all_memory(h_);
    }
    std::string check() {
        if (!is_memory(h_, copies_.at(here())))
            return "step " + std::to_string(steps_) + ": memory is not what it was at version " +
                   std::to_string(here());
        if (steps_ % 50 != 0)
            return {};
        const auto report = h_.verify();
        return report.clean() ? "" : report.problems.front().what;
    }

    heap& h_;
    std::mt19937_64 dice_;
    const bool is_large_; // larger than what memory may hold
    std::uint64_t steps_ = 0;
    std::uint64_t changes_ = 0;
    std::uint64_t sessions_ = 1;
    const std::function<heap()> open_again_;
    std::map<std::uint64_t, std::vector<std::byte>> copies_;
};

TEST_P(histories, give_back_each_byte_whatever_came_between) {
    const char* const asked = std::getenv("REMANENCE_HISTORY_STEPS");
    const std::uint64_t steps = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 400;
    std::uint64_t changes = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        history_options how{.steps_max = 30};
        if (seed == 2)
            how = {.bytes_max = 2 * MiB};
        heap_options with = options(how);
        with.log.log_limit_bytes = seed >= 3 ? 64 * KiB : 0; // checkpoints between and beside commits
        if (seed == 4)
            with.memory.dirty_limit_bytes = 512 * KiB; // chunks are spilled, with changes in them and without
        heap h = heap::open(dir_ / std::to_string(seed), with);
        walk random(h, seed, seed == 4);
        for (std::uint64_t i = 0; i < steps; ++i)
            ASSERT_EQ(random.step(), "");
        changes += random.changes();
        if (seed == 4) {
            EXPECT_GT(h.stats().spilled_bytes, 0U);
        }
        h.close();
    }
    std::cout << changes << " changes, " << 4 * steps << " steps\n";
}

TEST_P(histories, give_back_each_byte_whatever_session_it_is_of) {
    const char* const asked = std::getenv("REMANENCE_HISTORY_STEPS");
    const std::uint64_t steps = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 400;
    std::uint64_t changes = 0;
    std::uint64_t sessions = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        history_options how{.steps_max = 30};
        if (seed == 2)
            how = {.bytes_max = 2 * MiB};
        how.kept_over_sessions = true;
        heap_options with = options(how);
        with.log.log_limit_bytes = seed == 3 ? 64 * KiB : 0;
        const auto open = [&] { return heap::open(dir_ / std::to_string(seed), with); };
        heap h = open();
        walk random(h, seed, false, open);
        for (std::uint64_t i = 0; i < steps && !HasFailure(); ++i)
            ASSERT_EQ(random.step(), "");
        changes += random.changes();
        sessions += random.sessions();
        h.close();
    }
    std::cout << changes << " changes, " << 3 * steps << " steps, " << sessions << " sessions\n";
}

INSTANTIATE_TEST_SUITE_P(each, histories, testing::Values(tracking::automatic, tracking::trap, tracking::fallback),
                         [](const auto& instance) {
                             return instance.param == tracking::automatic ? "automatic"
                                    : instance.param == tracking::trap    ? "trap"
                                                                          : "fallback";
                         });

} // namespace
} // namespace remanence::test
