// Old versions that are opened in place: what they show, after a crash, too, and what is refused.

#include "api/heap_impl.hpp"
#include "format/history_event.hpp"
#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/look_back.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace remanence::test {

namespace {

using seen_bytes = std::vector<std::byte>;

class opened_versions : public testing::Test {
protected:
    static heap_options writing() {
        heap_options made = small_heap();
        made.memory.chunk_bytes = 64 * KiB;
        made.history = {.steps_max = 1000, .kept_over_sessions = true};
        return made;
    }
    static heap_options reading(std::uint64_t version) {
        heap_options made = small_heap();
        made.read_only = true;
        made.version = version;
        return made;
    }
    static heap_options reading(const std::string& name) {
        heap_options made = small_heap();
        made.read_only = true;
        made.kept_version = name;
        return made;
    }
    [[nodiscard]] heap open() const { return heap::open(path_, writing()); }
    /// The memory of the heap, allocator included.
    static seen_bytes bytes_of(heap& h) {
        txn::heap_memory& memory = detail::impl_of(h).memory();
        memory.allocator().flush();
        return {memory.base(), memory.base() + memory.accessible_bytes()};
    }
    /// Whether the heap, opened read-only, is that, but for free pages: what was written there, and freed, was never committed.
    static bool is(heap& h, const seen_bytes& bytes) {
        txn::heap_memory& memory = detail::impl_of(h).memory();
        const std::vector<std::byte> zeros(k_page_bytes);
        for (std::size_t at = 0; at < std::max<std::size_t>(bytes.size(), memory.accessible_bytes());
             at += k_page_bytes) {
            const bool is_there = at < memory.accessible_bytes();
            if (!is_there || memory.allocator().is_free_page(at / k_page_bytes))
                continue;
            const std::byte* const before = at < bytes.size() ? &bytes[at] : zeros.data();
            if (!std::equal(before, before + k_page_bytes, memory.base() + at))
                return false;
        }
        return true;
    }
    /// As a killed process would leave them.
    static void copy_files(const fs::path& from, const fs::path& to) {
        for (const char* end : {"", "-log", "-history"}) {
            if (fs::exists(from.string() + end))
                fs::copy_file(from.string() + end, to.string() + end, fs::copy_options::overwrite_existing);
        }
    }
    static std::map<std::string, std::vector<char>> files_in(const fs::path& directory) {
        std::map<std::string, std::vector<char>> all;
        for (const auto& entry : fs::directory_iterator(directory))
            all[entry.path().filename().string()] = read_file(entry.path());
        return all;
    }
    /// A list of the number of elements that is the version, roughly.
    void make(std::uint64_t count) {
        heap h = open();
        auto& list = h.root<numbers>("numbers");
        h.forget_history();
        for (std::uint64_t i = 1; i <= count; ++i) {
            h.write([&] { list.push_back(i); });
            made_.push_back(h.version());
        }
        h.close();
    }
    static std::optional<caught> refused(const fs::path& path, const heap_options& options) {
        return error_of([&] { (void)heap::open(path, options); });
    }

    temp_dir dir_;
    fs::path path_ = dir_ / "h";
    std::vector<std::uint64_t> made_;
};

TEST_F(opened_versions, show_what_was_committed) {
    make(5);
    const auto before = files_in(dir_.path());
    for (std::uint64_t i = 0; i < made_.size(); ++i) {
        heap h = heap::open(path_, reading(made_[i]));
        EXPECT_EQ(h.version(), made_[i]);
        EXPECT_EQ(h.find_root<numbers>("numbers")->size(), i + 1);
        EXPECT_TRUE(h.verify().clean());
        EXPECT_EQ(error_of([&] { h.write([] {}); })->code, errc::read_only);
        EXPECT_TRUE(is_error(error_of([&] { (void)h.diff(made_[0], made_[1]); }), errc::invalid_argument, path_,
                             "look_back.hpp"));
        EXPECT_TRUE(
            is_error(error_of([&] { h.branch(made_[0], dir_ / "b"); }), errc::invalid_argument, path_, "rem branch"));
        h.close();
    }
    EXPECT_EQ(files_in(dir_.path()), before);
}

// Through commits of all kinds, sessions and crashes; `seen` has each state's bytes when memory was there last.
TEST_F(opened_versions, are_what_memory_was_to_the_byte) {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        path_ = dir_ / ("r" + std::to_string(seed));
        const fs::path crashed = dir_ / ("c" + std::to_string(seed));
        std::mt19937 random(test::seed_or(seed));
        std::map<std::uint64_t, seen_bytes> seen;
        std::vector<std::uint64_t> states;
        std::string name;
        {
            heap h = open();
            (void)h.root<map<std::uint64_t, numbers>>("lists");
            h.forget_history(); // it is there in all versions
            for (std::uint64_t i = 1; i <= 60; ++i) {
                auto& all = *h.find_root<map<std::uint64_t, numbers>>("lists");
                const std::uint64_t key = random() % 5;
                switch (random() % 10) {
                case 0:
                    h.undo(std::min<std::uint64_t>(random() % 4, h.undo_depth()));
                    break;
                case 1:
                    h.redo(std::min<std::uint64_t>(random() % 3, h.redo_depth()));
                    break;
                case 2:
                    h.checkpoint();
                    break;
                case 3:
                    h.write([&] { all[key].assign(random() % 40'000, i); }); // grows the heap
                    break;
                case 4:
                    h.write([&] { all.erase(key); });
                    break;
                case 5:
                    if (i < 40) {
                        h.close();
                        h = open();
                    }
                    break;
                default:
                    h.write([&] { all[key].resize(random() % 50, i); });
                }
                for (const history_step& each : h.history()) {
                    if (each.is_present)
                        seen[each.version] = bytes_of(h);
                }
            }
            h.write([] {});
            for (const history_step& each : h.history())
                states.push_back(each.version);
            h.keep("last of all");
            copy_files(path_, crashed);
            h.close();
        }
        for (const fs::path& each : {crashed, path_}) {
            for (const std::uint64_t state : states) {
                heap h = heap::open(each, reading(state));
                if (seen.contains(state)) {
                    EXPECT_TRUE(is(h, seen[state])) << each << ", version " << state;
                }
                EXPECT_EQ(h.version(), state);
            }
            heap h = heap::open(each, reading("last of all"));
            EXPECT_TRUE(h.verify().clean());
        }
    }
}

TEST_F(opened_versions, are_found_by_the_name_they_are_kept_by) {
    heap_options few = writing();
    few.history.steps_max = 2;
    std::uint64_t kept = 0;
    {
        heap h = heap::open(path_, few);
        auto& list = h.root<numbers>("numbers", 3, 7U);
        kept = h.keep("before import");
        for (std::uint64_t i = 0; i < 50; ++i)
            h.write([&] { list.assign(2000, i); });
        h.close();
    }
    heap h = heap::open(path_, reading("before import"));
    EXPECT_EQ(h.version(), kept);
    EXPECT_EQ(h.find_root<numbers>("numbers")->size(), 3U);
}

TEST_F(opened_versions, have_the_roots_that_there_were) {
    {
        heap h = open();
        h.root<numbers>("numbers", 3, 7U);
        h.keep("one root");
        h.root<numbers>("others", 100'000, 7U);
        h.close();
    }
    heap h = heap::open(path_, reading("one root"));
    EXPECT_NE(h.find_root<numbers>("numbers"), nullptr);
    EXPECT_EQ(h.find_root<numbers>("others"), nullptr);
    EXPECT_EQ(h.roots().size(), 1U);
}

TEST_F(opened_versions, are_not_for_writing) {
    make(2);
    heap_options options = reading(made_[0]);
    options.read_only = false;
    EXPECT_TRUE(is_error(refused(path_, options), errc::invalid_argument, path_, "heap::restore()"));
    options = reading(made_[0]);
    options.kept_version = "x";
    EXPECT_TRUE(is_error(refused(path_, options), errc::invalid_argument, path_, "not both"));
    heap_options changed;
    changed.read_only = true;
    changed.version.emplace(made_[0]); // which does not name that part of the library
    EXPECT_TRUE(is_error(refused(path_, changed), errc::invalid_argument, path_, "must be assigned"));
}

TEST_F(opened_versions, that_are_unknown_are_errors_that_list_what_there_is) {
    make(3);
    {
        heap h = open();
        h.keep("the last");
        h.close();
    }
    const std::string there = "There are 4, from " + std::to_string(made_[0] - 2) // forget_history() is a commit, too
                              + " to " + std::to_string(made_[2]) + "; kept are \"the last\" (" +
                              std::to_string(made_[2]) + ")";
    EXPECT_TRUE(is_error(refused(path_, reading(1'000)), errc::no_step, path_, there));
    EXPECT_TRUE(is_error(refused(path_, reading(0)), errc::no_step, path_, there));
    EXPECT_TRUE(is_error(refused(path_, reading("another")), errc::no_step, path_, there));
    EXPECT_TRUE(is_error(refused(dir_ / "none", reading(1)), errc::not_found, dir_ / "none", "no such file"));
}

TEST_F(opened_versions, of_a_heap_without_a_history_are_errors) {
    make_heap(path_);
    EXPECT_TRUE(is_error(refused(path_, reading(1)), errc::no_step, path_, "no history is kept"));
    fs::create_directory(path_.string() + "-history");
    EXPECT_TRUE(is_error(refused(path_, reading(1)), errc::no_step, path_, "is not a regular file"));
}

TEST_F(opened_versions, are_not_opened_beside_the_heap_in_one_process) {
    make(2);
    {
        heap h = open();
        EXPECT_TRUE(is_error(refused(path_, reading(made_[0])), errc::in_use, path_, "in this process already"));
        h.close();
    }
    heap one = heap::open(path_, reading(made_[0]));
    EXPECT_TRUE(is_error(refused(path_, reading(made_[1])), errc::in_use, path_, "in this process already"));
}

// Whichever byte changes: what opens is the version, or an error says so.
TEST_F(opened_versions, are_themselves_or_errors_wherever_the_history_is_damaged) {
    make(3);
    const fs::path file = path_.string() + "-history";
    const auto bytes = read_file(file).size();
    std::size_t lost = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        flip_byte(file, i);
        try {
            heap h = heap::open(path_, reading(made_[0]));
            EXPECT_EQ(h.find_root<numbers>("numbers")->size(), 1U) << i;
        } catch (const error& e) {
            EXPECT_EQ(e.reason(), errc::no_step) << i << e.what();
            ++lost;
        }
        flip_byte(file, i);
    }
    EXPECT_GT(lost, bytes / 3); // by damage behind the version
}

/// A heap with as many steps, of 1 KB each; one is kept ten steps before the last.
class recent_versions : public opened_versions {
protected:
    void make_long(std::uint64_t count, const heap_options& options) {
        heap h = heap::open(path_, options);
        auto& list = h.root<numbers>("numbers", 1, 0U);
        for (std::uint64_t i = 1; i <= count; ++i) {
            h.write([&] { list.assign(128, i); });
            made_.push_back(h.version());
            if (i + 10 == count)
                h.keep("ten before the last");
        }
        h.close();
    }
    [[nodiscard]] std::uint64_t number_at(const heap_options& options) const {
        heap h = heap::open(path_, options);
        return h.find_root<numbers>("numbers")->front();
    }
    [[nodiscard]] std::string got(const inspect::version_or_name& version) const {
        return inspect::get_of(path_, version, "numbers[0]");
    }
};

TEST_F(recent_versions, need_only_the_end_of_the_history) {
    make_long(400, writing());
    const fs::path file = path_.string() + "-history";
    ASSERT_GT(read_file(file).size(), 300U * KiB);
    flip_byte(file, 600); // in the first entry
    EXPECT_EQ(number_at(reading(made_[390])), 391U);
    EXPECT_EQ(number_at(reading("ten before the last")), 390U);
    EXPECT_NE(got(made_[380]), got("ten before the last"));
    EXPECT_FALSE(inspect::diff(path_, made_[350], "ten before the last").is_empty());
    inspect::branch(path_, made_[350], (dir_ / "branch").string());
    EXPECT_EQ(heap::open(dir_ / "branch", small_heap()).find_root<numbers>("numbers")->front(), 351U);
    const std::string damaged = "has no entry that is whole";
    EXPECT_EQ(number_at(reading(made_[0])), 1U);
    EXPECT_TRUE(is_error(refused(path_, reading(1)), errc::no_step, path_, damaged));
    EXPECT_TRUE(is_error(refused(path_, reading("another")), errc::no_step, path_, damaged));
}

TEST_F(recent_versions, are_gone_when_limits_have_removed_them) {
    heap_options few = writing();
    few.history.steps_max = 60;
    make_long(150, few);
    ASSERT_GT(read_file(path_.string() + "-history").size(), 100U * KiB); // it has more steps
    const auto last = static_cast<std::uint64_t>(made_.size());
    for (std::uint64_t i = 1; i <= last; ++i) {
        if (i + 60 >= last)
            EXPECT_EQ(number_at(reading(made_[i - 1])), i);
        else
            EXPECT_TRUE(is_error(refused(path_, reading(made_[i - 1])), errc::no_step, path_, "There are 61"));
    }
}

TEST_F(opened_versions, of_many_changes_are_what_they_were) {
    constexpr std::size_t k_bytes = 24 * MiB;
    std::mt19937_64 random(test::seed_or(1));
    std::map<std::uint64_t, std::vector<std::uint64_t>> seen;
    heap_options large = writing();
    large.memory.reserve_bytes = 64 * MiB;
    {
        heap h = heap::open(path_, large);
        auto& list = h.root<numbers>("numbers");
        h.write([&] { list.resize(k_bytes / sizeof(std::uint64_t)); });
        for (int commit = 0; commit < 3; ++commit) {
            h.write([&] {
                for (int i = 0; i < 4'000; ++i)
                    list[random() % 30 == 0 ? random() % 5'000 : random() % list.size()] = random() % 3;
            });
            seen[h.version()].assign(list.begin(), list.end());
        }
        h.close();
    }
    for (const auto& [version, expected] : seen) {
        heap_options then = reading(version);
        then.memory.reserve_bytes = large.memory.reserve_bytes;
        heap h = heap::open(path_, then);
        EXPECT_TRUE(std::ranges::equal(*h.find_root<numbers>("numbers"), expected)) << version;
        EXPECT_TRUE(h.verify().clean());
    }
}

TEST_F(recent_versions, of_a_killed_program_include_the_commits_in_the_log) {
    heap h = open();
    auto& list = h.root<numbers>("numbers", 1, 0U);
    for (std::uint64_t i = 1; i <= 400; ++i) {
        h.write([&] { list.assign(128, i); });
        made_.push_back(h.version());
        if (i == 300)
            h.checkpoint();
        if (i == 350)
            h.undo(20);
        if (i == 360)
            h.keep("at 360");
    }
    const fs::path crashed = dir_ / "crashed";
    copy_files(path_, crashed);
    h.close();
    for (const fs::path& each : {crashed, path_}) {
        path_ = each;
        ASSERT_GT(read_file(path_.string() + "-history").size(), 200U * KiB);
        for (const std::uint64_t i : {399U, 370U, 340U, 329U, 301U, 300U, 299U, 250U, 3U})
            EXPECT_EQ(number_at(reading(made_[i - 1])), i) << each;
        EXPECT_EQ(number_at(reading("at 360")), 360U);
    }
}

} // namespace
} // namespace remanence::test
