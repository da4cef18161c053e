// The history of a heap that several processes share: each undoes and redoes what any of them has committed.
//
// REMANENCE_SHARED_HISTORY_STEPS: how many it makes (default 150).

#include "api/heap_impl.hpp"
#include "process/other_process.hpp"
#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace remanence::test {
namespace {
namespace histories_of_processes {

heap_options shared_with_history(std::uint64_t steps_max = 100'000) {
    heap_options options = shared_heap();
    options.memory.chunk_bytes = 64 * KiB;
    options.history = {.steps_max = steps_max, .kept_over_sessions = true};
    return options;
}

class shared_histories : public testing::Test {
protected:
    static void add(heap& h, std::uint64_t number) {
        h.write([&] { h.root<numbers>("numbers").push_back(number); });
    }
    static std::vector<std::uint64_t> numbers_in(heap& h) {
        return h.read([&] {
            const auto* const list = h.find_root<numbers>("numbers");
            return list == nullptr ? std::vector<std::uint64_t>() : std::vector(list->begin(), list->end());
        });
    }
    template <class F>
    static std::optional<errc> reason(const F& f) {
        const auto got = error_of(f);
        return got ? std::optional(got->code) : std::nullopt;
    }
    static void expect(bool what, const char* why) {
        if (!what)
            throw std::runtime_error(why);
    }

    temp_dir dir_;
    fs::path path_ = dir_ / "h";
    signals told_;
};

TEST_F(shared_histories, are_one_for_all_processes) {
    heap h = heap::open(path_, shared_with_history());
    h.root<numbers>("numbers");
    add(h, 0);
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_with_history());
        expect(numbers_in(mine) == std::vector<std::uint64_t>{0}, "what was there");
        expect(mine.undo_depth() == 1, "the steps that were there");
        add(mine, 1);
        add(mine, 2);
        told_.set(0);
        told_.wait(1); // they are undone, and redone in part
        expect(numbers_in(mine) == std::vector<std::uint64_t>{0, 1}, "an undo of the other process");
        expect(mine.redo_depth() == 1, "where redo() leads");
        mine.redo();
        expect(mine.keep("two") == mine.history().back().version, "the version that is kept");
        add(mine, 3);
        told_.set(2);
        told_.wait(3);
        expect(mine.versions().empty(), "a drop of the other process");
        expect(numbers_in(mine) == std::vector<std::uint64_t>{0, 1, 2}, "a restored version");
        mine.forget_history();
        expect(mine.undo_depth() == 0, "nothing is left");
        mine.close();
    });
    told_.wait(0);
    EXPECT_EQ(h.undo_depth(), 3U);
    h.undo(3);
    EXPECT_TRUE(numbers_in(h).empty());
    h.redo(2);
    told_.set(1);
    told_.wait(2);
    EXPECT_EQ(numbers_in(h).size(), 4U);
    ASSERT_EQ(h.versions().size(), 1U);
    EXPECT_EQ(h.versions()[0].name, "two");
    h.restore("two");
    h.drop("two");
    told_.set(3);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_EQ(h.undo_depth(), 0U);
    EXPECT_TRUE(h.verify().clean());
    h.close();
    h = heap::open(path_, shared_with_history()); // as the first again
    EXPECT_EQ(h.why_history_is_new(), "");
    add(h, 5);
    h.undo();
    EXPECT_EQ(numbers_in(h).size(), 3U);
}

TEST_F(shared_histories, are_made_anew_by_the_last_one_when_the_file_is_removed) {
    heap h = heap::open(path_, shared_with_history());
    add(h, 0);
    fs::remove(path_.string() + "-history");
    add(h, 1);
    h.checkpoint();
    other_process other(h, [&] {
        EXPECT_TRUE(is_error(error_of([&] { heap::open(path_, shared_with_history()); }), errc::corrupt, path_,
                             "is not there"));
        expect(!testing::Test::HasFailure(), "the error");
    });
    EXPECT_EQ(other.wait(), 0);
    add(h, 2);
    h.close();
    h = heap::open(path_, shared_with_history());
    EXPECT_EQ(h.why_history_is_new(), "");
    h.undo(2);
    EXPECT_EQ(numbers_in(h), (std::vector<std::uint64_t>{0}));
}

TEST_F(shared_histories, need_to_be_kept_over_sessions) {
    heap_options options = shared_with_history();
    options.history.kept_over_sessions = false;
    EXPECT_TRUE(
        is_error(error_of([&] { heap::open(path_, options); }), errc::invalid_argument, path_, "kept_over_sessions"));
    EXPECT_FALSE(fs::exists(path_));
}

TEST_F(shared_histories, are_of_all_that_write) {
    heap h = heap::open(path_, shared_with_history());
    add(h, 0);
    other_process unnamed(h, [&] {
        heap_options guest = shared_heap();
        guest.read_only = true;
        heap reads = heap::open(path_, guest);
        expect(numbers_in(reads) == std::vector<std::uint64_t>{0}, "what a guest sees");
        expect(reads.undo_depth() == 0, "a guest's steps");
        reads.close();
        heap writes = heap::open(path_, shared_heap());
        expect(writes.undo_depth() == 1, "steps of a process that names no history");
        add(writes, 1);
        writes.undo(2);
        add(writes, 2);
    });
    EXPECT_EQ(unnamed.wait(), 0);
    EXPECT_EQ(numbers_in(h), (std::vector<std::uint64_t>{2}));
    EXPECT_EQ(h.undo_depth(), 1U);
    h.close();
    h = heap::open(path_, shared_heap());
    EXPECT_EQ(h.undo_depth(), 1U);
}

TEST_F(shared_histories, do_not_begin_while_others_have_the_heap_open_without_one) {
    heap h = heap::open(path_, shared_heap());
    other_process with(h, [&] {
        EXPECT_TRUE(is_error(error_of([&] { heap::open(path_, shared_with_history()); }), errc::invalid_argument, path_,
                             "it has no history"));
        expect(!testing::Test::HasFailure(), "the error");
    });
    EXPECT_EQ(with.wait(), 0);
}

TEST_F(shared_histories, have_the_limits_of_the_first_process) {
    heap h = heap::open(path_, shared_with_history(3));
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_with_history(1000));
        for (std::uint64_t i = 0; i < 10; ++i)
            add(mine, i);
        expect(mine.undo_depth() == 3, "the other's limit");
        told_.set(0);
        told_.wait(1);
    });
    told_.wait(0);
    EXPECT_EQ(h.undo_depth(), 3U);
    h.undo(3);
    EXPECT_EQ(numbers_in(h).size(), 7U);
    told_.set(1);
    EXPECT_EQ(other.wait(), 0);
}

// A step must not take in commits between which another process has made one.
TEST_F(shared_histories, part_a_group_where_another_process_commits) {
    heap h = heap::open(path_, shared_with_history());
    h.root<numbers>("numbers");
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_with_history());
        told_.wait(0);
        add(mine, 100);
        mine.undo();
        told_.set(1);
        told_.wait(2);
        expect(numbers_in(mine) == std::vector<std::uint64_t>{0, 1, 2, 3}, "the whole group");
        mine.undo(2);
        expect(numbers_in(mine).empty(), "before the group");
    });
    {
        const auto g = h.group("several");
        add(h, 0);
        add(h, 1);
        told_.set(0);
        told_.wait(1);
        add(h, 2);
        add(h, 3);
    }
    told_.set(2);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(numbers_in(h).empty());
    std::vector<std::string> of_group;
    for (const history_step& each : h.history()) {
        if (!each.name.empty())
            of_group.push_back(each.name);
    }
    EXPECT_EQ(of_group, (std::vector<std::string>{"several", "several"}));
    h.redo(2);
    EXPECT_EQ(numbers_in(h).size(), 4U);
}

// The checkpoints of the other process pass this one, and the records are gone.
TEST_F(shared_histories, are_read_from_the_file_by_who_was_passed) {
    heap_options options = shared_with_history();
    options.log.log_limit_bytes = 64 * KiB;
    heap h = heap::open(path_, options);
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.resize(10'000); });
    h.forget_history();
    other_process other(h, [&] {
        heap mine = heap::open(path_, options);
        auto& same = mine.root<numbers>("numbers");
        told_.wait(0);
        for (std::uint64_t i = 1; i <= 200; ++i)
            mine.write(std::to_string(i), [&] { std::fill(same.begin(), same.begin() + 1000, i); });
        expect(mine.stats().checkpoints > 3, "checkpoints");
        told_.set(1);
        told_.wait(2);
    });
    told_.set(0);
    told_.wait(1);
    EXPECT_EQ(h.undo_depth(), 200U);
    EXPECT_EQ(h.history().back().name, "200");
    h.undo(150);
    h.read([&] { EXPECT_EQ(list[999], 50U); });
    told_.set(2);
    EXPECT_EQ(other.wait(), 0);
    h.redo(100);
    h.read([&] { EXPECT_EQ(list[0], 150U); });
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

// The version that a section sees, and the steps around it, are those with which it began.
// The file is made anew beside processes that write, that are passed by checkpoints, that join and that die.
TEST_F(shared_histories, have_a_file_that_does_not_grow_with_the_commits) {
    constexpr int k_rounds = 8;
    constexpr std::size_t k_numbers = 1000; // 8 KB that each commit changes
    heap_options options = shared_with_history(5);
    options.log.log_limit_bytes = 64 * KiB;
    const auto commit = [](heap& h, std::uint64_t first, std::uint64_t count) {
        auto& list = h.root<numbers>("numbers");
        for (std::uint64_t i = first; i != first + count; ++i)
            h.write([&] { list.assign(k_numbers, i); });
    };
    const auto expect_to_go = [&](heap& h, std::uint64_t newest) {
        expect(numbers_in(h) == std::vector<std::uint64_t>(k_numbers, newest), "the newest value");
        expect(h.undo_depth() == 6, "the steps that limits leave, and the one to the kept version");
        h.undo(5);
        expect(numbers_in(h) == std::vector<std::uint64_t>(k_numbers, newest - 5), "the oldest value");
        h.redo(5);
        expect(numbers_in(h) == std::vector<std::uint64_t>(k_numbers, newest), "the newest value again");
    };
    heap h = heap::open(path_, options);
    commit(h, 1, 10);
    h.keep("ten");
    std::optional<heap> here(std::move(h));
    const auto other = [&](const auto& f) {
        return std::make_unique<other_process>([&, f] {
            here.reset();
            heap mine = heap::open(path_, options);
            f(mine);
            mine.close();
        });
    };
    const auto writer = other([&](heap& mine) {
        for (int round = 0; round != k_rounds; ++round) {
            told_.wait(3 * round);
            const auto newest = static_cast<std::uint64_t>(1000 * (round + 1));
            expect_to_go(mine, newest);
            commit(mine, newest + 1, 200);
            told_.set(3 * round + 1);
        }
    });
    const auto passed = other([&](heap& mine) { // looks when all is over
        expect(mine.undo_depth() == 5, "the steps that were there");
        told_.set(3 * k_rounds);
        told_.wait(3 * k_rounds + 1);
        expect_to_go(mine, 1000 * k_rounds + 200);
        mine.restore("ten");
        expect(numbers_in(mine) == std::vector<std::uint64_t>(k_numbers, 10), "a kept version");
    });
    told_.wait(3 * k_rounds);
    std::uintmax_t longest = 0;
    for (int round = 0; round != k_rounds; ++round) {
        const auto newest = static_cast<std::uint64_t>(1000 * (round + 1));
        commit(*here, newest - 199, 200);
        told_.set(3 * round);
        told_.wait(3 * round + 1);
        longest = std::max(longest, fs::file_size(path_.string() + "-history"));
        ASSERT_NO_THROW(expect_to_go(*here, newest + 200));
        const auto joins = other([&, newest](heap& mine) {
            expect_to_go(mine, newest + 200);
            if (round % 2 != 0)
                ::_exit(0); // as if it had died
        });
        EXPECT_EQ(joins->wait(), 0);
    }
    EXPECT_LT(longest, 3 * MiB) << "of 26 MB that the commits have changed";
    told_.set(3 * k_rounds + 1);
    EXPECT_EQ(writer->wait(), 0);
    EXPECT_EQ(passed->wait(), 0);
    EXPECT_TRUE(here->verify().clean());
    here->close();
    EXPECT_FALSE(fs::exists(path_.string() + "-history-unfit"));
    EXPECT_FALSE(fs::exists(path_.string() + "-history-new"));
    heap again = heap::open(path_, options);
    EXPECT_EQ(again.why_history_is_new(), "");
    EXPECT_EQ(again.versions().size(), 1U);
    again.redo(again.redo_depth()); // from the restored version
    EXPECT_EQ(numbers_in(again).front(), 1000U * k_rounds + 200);
}

TEST_F(shared_histories, keep_a_version_for_a_reader_while_it_is_dropped) {
    heap_options options = shared_with_history(2);
    options.log.log_limit_bytes = 64 * KiB;
    heap h = heap::open(path_, options);
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.assign(20'000, 1); });
    h.keep("old");
    other_process other(h, [&] {
        heap mine = heap::open(path_, options);
        auto& same = mine.root<numbers>("numbers");
        told_.wait(0);
        mine.drop("old");
        for (std::uint64_t i = 2; i < 60; ++i) // limits let it go, and checkpoints pass it
            mine.write([&] { std::fill(same.begin(), same.end(), i); });
        expect(mine.versions().empty() && mine.history().size() == 3, "it is gone");
        told_.set(1);
        told_.wait(2);
    });
    h.restore("old");
    const std::uint64_t version = h.version();
    h.read([&] {
        told_.set(0);
        told_.wait(1);
        EXPECT_EQ(h.version(), version);
        ASSERT_EQ(h.versions().size(), 1U);
        EXPECT_TRUE(std::ranges::all_of(list, [](std::uint64_t each) { return each == 1; }));
    });
    h.read([&] {
        EXPECT_TRUE(h.versions().empty());
        EXPECT_EQ(list[0], 59U);
    });
    EXPECT_EQ(reason([&] { h.restore("old"); }), errc::no_step);
    h.undo(2);
    h.read([&] { EXPECT_EQ(list[0], 57U); });
    told_.set(2);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(shared_histories, are_compared_and_branched_off_beside_who_commits) {
    heap h = heap::open(path_, shared_with_history());
    h.root<numbers>("numbers");
    add(h, 0);
    const std::uint64_t before = h.keep("before");
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_with_history());
        for (std::uint64_t i = 1; i < 500 && !told_.is_set(1); ++i) {
            add(mine, i);
            told_.set(0);
        }
        mine.close();
    });
    told_.wait(0);
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(h.diff(before, h.history().back().version).ranges.empty());
        const fs::path branch = dir_ / ("branch" + std::to_string(i));
        h.branch(before, branch);
    }
    told_.set(1);
    EXPECT_EQ(other.wait(), 0);
    h.close();
    for (int i = 0; i < 3; ++i) {
        heap of = heap::open(dir_ / ("branch" + std::to_string(i)), small_heap());
        EXPECT_EQ(of.find_root<numbers>("numbers")->size(), 1U);
        EXPECT_TRUE(of.verify().clean());
    }
}

// The random test. Processes are told one after the other what to do, and some die in the midst of it; the test itself has whole copies
// of all states.

enum class operation { look, take_writer_lock, commit, undo, redo, go_to, keep, drop, restore, squash };

struct request {
    operation what;
    std::uint64_t number; // of steps, or a version; for a commit the seed of its change
    char name[16];
};

constexpr std::size_t k_steps_max = 400;

struct seen_step {
    std::uint64_t version;
    std::uint64_t parent;
    std::uint64_t is_present;
    char name[16];
    char kept[16];
    bool operator==(const seen_step& other) const {
        return version == other.version && parent == other.parent && is_present == other.is_present &&
               std::strcmp(name, other.name) == 0 && std::strcmp(kept, other.kept) == 0;
    }
};

std::string in_words(std::span<const seen_step> steps) {
    std::string all;
    for (const seen_step& each : steps)
        all += std::to_string(each.version) + " after " + std::to_string(each.parent) + " \"" + each.name + "\" [" +
               each.kept + (each.is_present != 0 ? "] *\n" : "]\n");
    return all;
}

/// What a process has done and sees then.
struct answer {
    char error[256];
    std::uint64_t version;
    std::uint64_t undo_depth;
    std::uint64_t redo_depth;
    std::uint64_t numbers;
    std::uint64_t memory; // a hash, as is what comes before
    std::size_t steps;
    seen_step step[k_steps_max];
};

/// Between the test and one of its processes.
struct channel {
    std::atomic<std::uint64_t> asked;
    std::atomic<std::uint64_t> answered;
    request to_do;
    answer done;
};

std::uint64_t hash_of(const std::byte* bytes, std::size_t count) {
    while (count != 0 && bytes[count - 1] == std::byte()) // what the heap has grown by since
        --count;
    return checksum64({bytes, count});
}

std::uint64_t hash_of(const std::vector<std::uint64_t>& list) {
    const auto bytes = std::as_bytes(std::span(list));
    return checksum64(bytes, list.size());
}

void change(std::vector<std::uint64_t>& list, std::uint64_t seed) {
    std::mt19937_64 dice(seed);
    switch (dice() % 4) {
    case 0:
        list.resize(dice() % 20'000, seed);
        break;
    case 1:
        std::fill(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2), seed);
        break;
    default:
        for (std::uint64_t i = 0; i != 10 && !list.empty(); ++i)
            list[dice() % list.size()] = dice();
    }
    list.push_back(seed); // else nothing may have changed
}

void carry_out(heap& h, const request& what) {
    const std::string name = what.name;
    switch (what.what) {
    case operation::look:
        return;
    case operation::take_writer_lock:
        return h.write([] {});
    case operation::commit:
        return h.write(name, [&] {
            auto& list = h.root<numbers>("numbers");
            std::vector<std::uint64_t> copy(list.begin(), list.end());
            change(copy, what.number);
            list.assign(copy.begin(), copy.end());
        });
    case operation::undo:
        return h.undo(what.number);
    case operation::redo:
        return h.redo(what.number);
    case operation::go_to:
        return h.go_to(what.number);
    case operation::keep:
        (void)h.keep(name);
        return;
    case operation::drop:
        return h.drop(name);
    case operation::restore:
        return h.restore(name);
    case operation::squash:
        return h.squash(what.number);
    }
}

void look(heap& h, answer& into) {
    h.read([&] {
        into.version = h.version();
        into.undo_depth = h.undo_depth();
        into.redo_depth = h.redo_depth();
        const auto* const list = h.find_root<numbers>("numbers");
        into.numbers = list == nullptr ? 0 : hash_of(std::vector(list->begin(), list->end()));
        const auto& memory = detail::impl_of(h).memory();
        into.memory = hash_of(memory.base(), memory.accessible_bytes());
        const auto all = h.history();
        into.steps = std::min(all.size(), k_steps_max);
        for (std::size_t i = 0; i != into.steps; ++i) {
            seen_step& step = into.step[i];
            step = {all[i].version, all[i].parent.value_or(0), all[i].is_present ? 1U : 0U, {}, {}};
            all[i].name.copy(step.name, sizeof step.name - 1);
            all[i].kept.copy(step.kept, sizeof step.kept - 1);
        }
    });
}

void serve(channel& with, const fs::path& path, const heap_options& options) {
    heap h = heap::open(path, options);
    for (std::uint64_t served = with.answered;;) {
        while (with.asked == served)
            std::this_thread::sleep_for(std::chrono::microseconds(20));
        with.done.error[0] = 0;
        try {
            carry_out(h, with.to_do);
        } catch (const std::exception& e) {
            std::snprintf(with.done.error, sizeof with.done.error, "%s", e.what());
        }
        look(h, with.done);
        with.answered = ++served;
    }
}

/// The states that there are to be.
class model {
public:
    struct state {
        std::uint64_t parent;
        std::uint64_t next = 0;
        std::string name;
        std::string kept{};
        std::vector<std::uint64_t> list{};
        std::optional<std::uint64_t> memory{}; // once somebody has seen it
    };
    explicit model(std::uint64_t version) : present_(version) { states_[version] = {.parent = 0, .name = {}}; }

    [[nodiscard]] std::uint64_t present() const { return present_; }
    [[nodiscard]] std::map<std::uint64_t, state>& states() { return states_; }
    [[nodiscard]] std::uint64_t undo_depth() const {
        std::uint64_t count = 0;
        for (std::uint64_t here = present_; states_.at(here).parent != 0; here = states_.at(here).parent)
            ++count;
        return count;
    }
    [[nodiscard]] std::uint64_t redo_depth() const {
        std::uint64_t count = 0;
        for (std::uint64_t next = states_.at(present_).next; next != 0; next = states_.at(next).next)
            ++count;
        return count;
    }
    [[nodiscard]] std::uint64_t kept_as(const std::string& name) const {
        for (const auto& [version, each] : states_) {
            if (each.kept == name)
                return version;
        }
        return 0;
    }
    /// Whether the last steps may become one.
    [[nodiscard]] bool may_squash(std::uint64_t steps) const {
        if (steps > undo_depth())
            return false;
        std::uint64_t here = present_;
        for (; steps > 1; --steps) {
            here = states_.at(here).parent;
            const auto children =
                std::ranges::count_if(states_, [&](const auto& each) { return each.second.parent == here; });
            if (!states_.at(here).kept.empty() || children > 1)
                return false;
        }
        return true;
    }
    /// It was done, by a commit of this version.
    void apply(const request& what, std::uint64_t version) {
        switch (what.what) {
        case operation::look:
        case operation::take_writer_lock:
            return;
        case operation::commit: {
            state made{.parent = present_, .name = what.name};
            made.list = states_[present_].list;
            change(made.list, what.number);
            states_[present_].next = version;
            states_[version] = std::move(made);
            present_ = version;
            return;
        }
        case operation::undo:
            return go(ancestor(what.number));
        case operation::redo: {
            std::uint64_t to = present_;
            for (std::uint64_t i = 0; i != what.number; ++i)
                to = states_[to].next;
            return go(to);
        }
        case operation::go_to:
            return go(what.number);
        case operation::restore:
            return go(kept_as(what.name));
        case operation::keep:
            states_[present_].kept = what.name;
            return;
        case operation::drop:
            states_[kept_as(what.name)].kept.clear();
            return;
        case operation::squash:
            return squash(what.number);
        }
    }
    /// Returns what differs; empty: nothing.
    std::string compare(const answer& seen) {
        std::vector<seen_step> expected;
        for (const auto& [version, each] : states_) {
            seen_step step{version, each.parent, version == present_ ? 1U : 0U, {}, {}};
            each.name.copy(step.name, sizeof step.name - 1);
            each.kept.copy(step.kept, sizeof step.kept - 1);
            expected.push_back(step);
        }
        if (!std::ranges::equal(expected, std::span(seen.step, seen.steps)))
            return "the steps are\n" + in_words(std::span(seen.step, seen.steps)) + "and not\n" + in_words(expected);
        if (seen.undo_depth != undo_depth() || seen.redo_depth != redo_depth())
            return "undo or redo leads elsewhere";
        state& here = states_[present_];
        if (seen.numbers != hash_of(here.list))
            return "the numbers are others";
        if (here.memory && *here.memory != seen.memory)
            return "memory is not byte for byte what it was";
        here.memory = seen.memory;
        return {};
    }

private:
    [[nodiscard]] std::uint64_t ancestor(std::uint64_t steps) const {
        std::uint64_t here = present_;
        for (; steps != 0; --steps)
            here = states_.at(here).parent;
        return here;
    }
    void go(std::uint64_t to) {
        std::set<std::uint64_t> on_path;
        for (std::uint64_t here = present_; here != 0; here = states_[here].parent)
            on_path.insert(here);
        std::uint64_t meeting = to;
        while (!on_path.contains(meeting))
            meeting = states_[meeting].parent;
        for (std::uint64_t from : {present_, to}) {
            for (std::uint64_t here = from; here != meeting; here = states_[here].parent)
                states_[states_[here].parent].next = here;
        }
        present_ = to;
    }
    void squash(std::uint64_t steps) {
        state& whole = states_[present_];
        for (; steps > 1; --steps) {
            const auto before = states_.find(whole.parent);
            if (whole.name.empty())
                whole.name = before->second.name;
            whole.parent = before->second.parent;
            states_.erase(before);
        }
        states_[whole.parent].next = present_;
    }

    std::map<std::uint64_t, state> states_;
    std::uint64_t present_;
};

class told_processes {
public:
    told_processes(fs::path path, heap_options options, std::uint64_t seed)
        : path_(std::move(path)), options_(std::move(options)), dice_(seed), channels_(make_channels()) {
        for (std::size_t i = 0; i != k_processes; ++i)
            start(i);
        const answer& first = ask(0, {operation::look, 0, {}});
        EXPECT_EQ(first.steps, 1U);
        model_.emplace(first.step[0].version);
    }
    ~told_processes() { ::munmap(channels_, k_processes * sizeof(channel)); }
    told_processes(const told_processes&) = delete;
    told_processes& operator=(const told_processes&) = delete;

    void step() {
        const request what = draw();
        const std::size_t who = below(k_processes);
        if (below(12) == 0)
            return die_at(who, what);
        const answer& seen = ask(who, what);
        ASSERT_STREQ(seen.error, "");
        model_->apply(what, seen.version);
        ASSERT_EQ(model_->compare(seen), "") << "operation " << static_cast<int>(what.what);
        const std::size_t other = below(k_processes);
        ASSERT_EQ(model_->compare(ask(other, {operation::look, 0, {}})), "") << "seen by another process";
    }
    void end_all() {
        for (auto& each : processes_)
            each.reset();
    }
    [[nodiscard]] model& expected() { return *model_; }
    [[nodiscard]] std::uint64_t deaths() const { return deaths_; }
    [[nodiscard]] std::uint64_t done_by_dead() const { return done_by_dead_; }

private:
    static constexpr std::size_t k_processes = 4;
    static channel* make_channels() {
        void* const shared =
            ::mmap(nullptr, k_processes * sizeof(channel), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return new (shared) channel[k_processes]{};
    }
    std::uint64_t below(std::uint64_t end) { return dice_() % end; }
    void start(std::size_t i) {
        channels_[i].asked = channels_[i].answered.load();
        processes_[i] = std::make_unique<other_process>([&, i] { serve(channels_[i], path_, options_); });
    }
    void send(std::size_t i, const request& what) {
        channels_[i].to_do = what;
        ++channels_[i].asked;
    }
    const answer& ask(std::size_t i, const request& what) {
        send(i, what);
        const auto has_answered = [&] { return channels_[i].answered == channels_[i].asked; };
        if (!comes_true(has_answered, std::chrono::microseconds(20)))
            throw std::runtime_error("a process does not answer");
        return channels_[i].done;
    }
    // Whether it was done says who has the writer lock next: what is in the log, and was not declared, he finds.
    void die_at(std::size_t who, const request& what) {
        send(who, what);
        std::this_thread::sleep_for(std::chrono::microseconds(below(1500)));
        processes_[who]->kill();
        ++deaths_;
        if (below(4) == 0) {
            for (auto& each : processes_)
                each->kill();
            for (std::size_t i = 0; i != k_processes; ++i)
                start(i);
        }
        const answer& seen = ask((who + 1) % k_processes, {operation::take_writer_lock, 0, {}});
        const model before = *model_;
        if (const std::string other = model_->compare(seen); !other.empty()) {
            model_ = before;
            model_->apply(what, seen.version);
            ASSERT_EQ(model_->compare(seen), "") << "neither before operation " << static_cast<int>(what.what)
                                                 << " of a process that died, where " << other << ", nor after it";
            ++done_by_dead_;
        }
        if (processes_[who]->id() <= 0)
            start(who);
    }
    request draw() {
        request what{operation::look, 0, {}};
        const auto name = [&] { std::snprintf(what.name, sizeof what.name, "%d", static_cast<int>(below(5))); };
        model& now = *model_;
        switch (below(12)) {
        case 0:
            if (const std::uint64_t depth = now.undo_depth(); depth != 0)
                what = {operation::undo, 1 + below(std::min<std::uint64_t>(depth, 8)), {}};
            return what;
        case 1:
        case 2:
            if (const std::uint64_t depth = now.redo_depth(); depth != 0)
                what = {operation::redo, 1 + below(depth), {}};
            return what;
        case 3:
            what = {operation::go_to,
                    std::next(now.states().begin(), static_cast<std::ptrdiff_t>(below(now.states().size())))->first,
                    {}};
            return what;
        case 4:
            name();
            if (now.kept_as(what.name) != 0)
                what.what = operation::drop;
            else if (now.states()[now.present()].kept.empty())
                what.what = operation::keep;
            return what;
        case 5:
            name();
            if (now.kept_as(what.name) != 0)
                what.what = operation::restore;
            return what;
        case 6:
            if (const std::uint64_t steps = 2 + below(3); now.may_squash(steps))
                what = {operation::squash, steps, {}};
            return what;
        default:
            if (now.states().size() + 1 >= k_steps_max)
                return what;
            what = {operation::commit, dice_(), {}};
            if (below(2) == 0)
                name();
            return what;
        }
    }

    const fs::path path_;
    const heap_options options_;
    std::mt19937_64 dice_;
    channel* const channels_;
    std::array<std::unique_ptr<other_process>, k_processes> processes_;
    std::optional<model> model_;
    std::uint64_t deaths_ = 0;
    std::uint64_t done_by_dead_ = 0;
};

TEST_F(shared_histories, are_what_a_model_says_though_processes_die) {
    const char* const asked = std::getenv("REMANENCE_SHARED_HISTORY_STEPS");
    const std::uint64_t steps = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 150;
    heap_options options = shared_with_history();
    options.log.log_limit_bytes = 64 * KiB; // checkpoints, made by this one and that
    {
        heap h = heap::open(path_, options);
        h.root<numbers>("numbers");
        h.forget_history();
        h.close();
    }
    told_processes all(path_, options, random_seed());
    for (std::uint64_t i = 0; i != steps && !HasFatalFailure(); ++i)
        all.step();
    if (HasFatalFailure())
        return;
    all.end_all();
    std::cout << steps << " operations, " << all.deaths() << " deaths, " << all.done_by_dead()
              << " operations found by others\n";
    heap h = heap::open(path_, [&] {
        heap_options alone = options;
        alone.access = sharing::exclusive;
        return alone;
    }());
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_TRUE(h.verify().clean());
    const auto seen = std::make_unique<answer>();
    look(h, *seen);
    EXPECT_EQ(all.expected().compare(*seen), "");
    for (const auto& [version, each] : std::map(all.expected().states())) {
        h.go_to(version);
        EXPECT_EQ(hash_of(numbers_in(h)), hash_of(each.list)) << version;
    }
    h.close();
}

} // namespace histories_of_processes
} // namespace
} // namespace remanence::test
