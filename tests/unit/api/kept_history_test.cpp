// A history that is kept over sessions: what its file may be found to be.
//
// A run of the walk: 3,600 steps in 330 sessions. 904 failed allocations were each heard of.

#include "api/heap_impl.hpp"
#include "api/history_calls.hpp"
#include "format/history_event.hpp"
#include "inspect/last_commit.hpp"
#include "os/file.hpp"
#include "store/heap_file.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/file_backed.hpp>
#include <remanence/look_back.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace remanence::test {

namespace {

bool is_read(heap& h) { return detail::undo_of(detail::impl_of(h)).has_read_history(); }

fs::path history_of(const fs::path& heap) { return heap.string() + "-history"; }

class kept_histories : public testing::Test {
protected:
    static heap_options options() {
        heap_options made = small_heap();
        made.memory.chunk_bytes = 64 * KiB;
        made.history = {.steps_max = 100, .kept_over_sessions = true};
        return made;
    }
    [[nodiscard]] heap open() const { return heap::open(path_, options()); }
    /// A heap with the numbers 0, 1, ... of which each but the first is a step, named after it.
    void make(std::uint64_t count) const {
        heap h = open();
        h.root<numbers>("numbers", 1, 0U);
        h.forget_history();
        for (std::uint64_t i = 1; i < count; ++i)
            h.write(std::to_string(i), [&] { h.root<numbers>("numbers").push_back(i); });
        h.close();
    }
    static std::vector<std::uint64_t> numbers_in(heap& h) {
        const auto& list = *h.find_root<numbers>("numbers");
        return {list.begin(), list.end()};
    }
    static void add(heap& h, std::uint64_t number) {
        h.write([&] { h.find_root<numbers>("numbers")->push_back(number); });
    }
    /// The heap is as it was, takes commits, and undoes them.
    void expect_new_history(const std::string& why) const {
        heap h = open();
        EXPECT_NE(h.why_history_is_new().find(why), std::string::npos) << h.why_history_is_new();
        EXPECT_EQ(h.undo_depth(), 0U);
        const auto before = numbers_in(h);
        add(h, 99);
        h.undo();
        EXPECT_EQ(numbers_in(h), before);
        h.close();
        h = open();
        EXPECT_EQ(h.why_history_is_new(), "");
        EXPECT_EQ(h.redo_depth(), 1U);
        EXPECT_TRUE(h.verify().clean());
        h.close();
    }

    /// A process opens the heap, commits, and ends without closing it.
    void die_after_a_commit() const {
        const pid_t child = ::fork();
        if (child == 0) {
            heap h = open();
            add(h, 50);
            ::_exit(0);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_EQ(status, 0);
    }
    [[nodiscard]] fs::path unfit(const std::string& end = "") const {
        return history_of(path_).string() + "-unfit" + end;
    }

    /// What opening an old version says of the file.
    [[nodiscard]] std::string why_no_version() const {
        heap_options then = small_heap();
        then.read_only = true;
        then.version = 1'000'000;
        const auto got = error_of([&] { (void)heap::open(path_, then); });
        return got ? got->what : "";
    }

    temp_dir dir_;
    fs::path path_ = dir_ / "h";
};

TEST_F(kept_histories, have_a_limit_of_bytes_when_none_is_set) {
    heap_options with = options();
    with.history = {.kept_over_sessions = true};
    {
        heap h = heap::open(path_, with);
        int& number = h.root<int>("number");
        for (int i = 0; i < 1'000; ++i)
            h.write([&] { ++number; });
        EXPECT_EQ(h.undo_depth(), 1'000U);
        h.close();
    }
    EXPECT_TRUE(fs::exists(history_of(path_)));
    heap h = heap::open(path_, with);
    EXPECT_EQ(h.undo_depth(), 1'000U);
    auto& large = h.root<numbers>("large", 100'000, 1U);
    for (std::uint64_t i = 0; i < 100; ++i) // 800 kB each
        h.write([&] { std::ranges::fill(large, i); });
    EXPECT_LT(h.undo_depth(), 100U);
    EXPECT_GT(h.undo_depth(), 50U);
}

TEST_F(kept_histories, go_on_after_a_close) {
    make(5);
    EXPECT_FALSE(fs::exists(log_of(path_)));
    heap h = open();
    EXPECT_EQ(h.why_history_is_new(), "");
    ASSERT_EQ(h.undo_depth(), 4U);
    EXPECT_EQ(h.history().back().name, "4");
    h.undo(3);
    EXPECT_EQ(numbers_in(h), (std::vector<std::uint64_t>{0, 1}));
    h.close();
    h = open();
    EXPECT_EQ(h.undo_depth(), 1U);
    h.redo(2);
    EXPECT_EQ(numbers_in(h), (std::vector<std::uint64_t>{0, 1, 2, 3}));
    add(h, 7); // a branch
    h.close();
    h = open();
    EXPECT_EQ(h.history().size(), 6U);
    EXPECT_EQ(h.redo_depth(), 0U);
    h.go_to(h.history()[4].version);
    EXPECT_EQ(numbers_in(h), (std::vector<std::uint64_t>{0, 1, 2, 3, 4}));
}

TEST_F(kept_histories, go_on_after_a_crash) {
    heap h = open();
    h.root<numbers>("numbers");
    for (std::uint64_t i = 0; i < 10; ++i) {
        add(h, i);
        if (i % 3 == 2)
            h.rebuild();
        if (i % 4 == 3)
            h.checkpoint();
    }
    h.undo(4);
    h.rebuild();
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_EQ(h.redo_depth(), 4U);
    h.redo(4);
    EXPECT_EQ(numbers_in(h).size(), 10U);
    h.undo(10);
    EXPECT_TRUE(numbers_in(h).empty());
}

TEST_F(kept_histories, end_a_group_with_the_session_that_has_begun_it) {
    heap h = open();
    h.root<numbers>("numbers");
    {
        const auto g = h.group("several");
        add(h, 1);
        add(h, 2);
        h.rebuild();
    }
    EXPECT_EQ(h.history().back().name, "several");
    add(h, 3);
    EXPECT_EQ(h.undo_depth(), 2U);
    h.undo(2);
    EXPECT_TRUE(numbers_in(h).empty());
}

// A session that is shorter than all before it used to find the file short enough.
TEST_F(kept_histories, take_bounded_room_over_many_short_sessions) {
    heap_options few = options();
    few.history.steps_max = 2;
    std::uintmax_t most = 0;
    for (std::uint64_t session = 1; session <= 30; ++session) {
        heap h = heap::open(path_, few);
        auto& list = h.root<numbers>("numbers");
        for (std::uint64_t i = 0; i < 2; ++i)
            h.write([&] { list.assign(20'000, session * 10 + i); });
        h.close();
        most = std::max(most, fs::file_size(history_of(path_)));
    }
    EXPECT_LT(most, 4 * MiB); // of 30 times 2 steps of 160,000 bytes each
    heap h = heap::open(path_, few);
    EXPECT_EQ(h.why_history_is_new(), "");
    h.undo(2);
    EXPECT_EQ(numbers_in(h)[0], 291U);
}

TEST_F(kept_histories, forget_for_good) {
    make(5);
    heap h = open();
    h.forget_history();
    h.rebuild();
    EXPECT_EQ(h.undo_depth(), 0U);
    EXPECT_EQ(h.why_history_is_new(), "");
    h.go_to(h.version());
    add(h, 5);
    h.undo();
    EXPECT_EQ(numbers_in(h).size(), 5U);
}

TEST_F(kept_histories, know_where_memory_is_after_an_undo_that_changes_nothing) {
    make(2);
    heap h = open();
    auto& list = *h.find_root<numbers>("numbers");
    h.write([&] { list[0] = 5; });
    h.write([&] { list[0] = 0; });
    h.undo(2);
    h.close();
    h = open();
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_EQ(h.redo_depth(), 2U);
    h.redo();
    EXPECT_EQ(numbers_in(h).front(), 5U);
}

TEST_F(kept_histories, have_the_limits_that_the_heap_records) {
    make(20);
    heap_options fewer = options();
    fewer.history = {.steps_max = 3, .then = history_options::when_full::refuse, .kept_over_sessions = true};
    {
        heap h = heap::open(path_, fewer);
        add(h, 20);
        EXPECT_EQ(h.undo_depth(), 20U);
        EXPECT_TRUE(is_error(error_of([&] { inspect::set_history_limits(path_.string(), fewer.history); }),
                             errc::in_use, path_, ""));
        h.close();
    }
    EXPECT_EQ(inspect::look(path_.string()).recorded_history->steps_max, 100U);
    inspect::set_history_limits(path_.string(), {.bytes_max = 1'000'000, .steps_max = 3});
    const auto recorded = inspect::look(path_.string()).recorded_history;
    ASSERT_TRUE(recorded);
    EXPECT_EQ(recorded->steps_max, 3U);
    EXPECT_EQ(recorded->bytes_max, 1'000'000U);
    EXPECT_EQ(recorded->then, history_options::when_full::oldest_go);
    heap h = open();
    EXPECT_EQ(h.undo_depth(), 3U);
    add(h, 30);
    EXPECT_EQ(h.undo_depth(), 3U);
    h.undo(3);
    EXPECT_EQ(numbers_in(h).size(), 19U);
    EXPECT_TRUE(h.verify().clean());
}

// As earlier builds recorded it (format::k_when_full_ended).
TEST_F(kept_histories, that_were_to_end_at_their_limits_let_the_oldest_steps_go) {
    make(5);
    {
        auto of = store::heap_file::open(os::posix_file_system(), path_.string(), os::access::read_write);
        ASSERT_TRUE(of);
        ASSERT_TRUE((*of)->record_history(format::history_limits{0, 6, format::k_when_full_ended}));
    }
    EXPECT_EQ(inspect::look(path_.string()).recorded_history->then, history_options::when_full::oldest_go);
    heap h = open();
    EXPECT_EQ(h.undo_depth(), 4U);
    for (std::uint64_t i = 0; i != 5; ++i)
        add(h, 10 + i);
    EXPECT_EQ(h.undo_depth(), 6U);
    h.undo(6);
    EXPECT_EQ(numbers_in(h).size(), 4U);
    h.close();
    EXPECT_EQ(open().redo_depth(), 6U);
}

TEST_F(kept_histories, have_limits_that_are_refused_with_reasons) {
    const auto told = [&](const history_options& limits) {
        return error_of([&] { inspect::set_history_limits(path_.string(), limits); });
    };
    EXPECT_EQ(told({.steps_max = 1})->code, errc::not_found);
    {
        heap h = heap::open(path_, small_heap());
        h.root<numbers>("numbers");
    }
    EXPECT_TRUE(is_error(told({.steps_max = 1}), errc::no_step, path_, "has no history"));
    EXPECT_TRUE(
        is_error(error_of([&] { inspect::end_history(path_.string()); }), errc::no_step, path_, "has no history"));
    EXPECT_TRUE(is_error(told({}), errc::invalid_argument, path_, "needs a limit"));
}

TEST_F(kept_histories, go_on_in_programs_that_do_not_name_them) {
    make(5);
    heap_options without = small_heap();
    heap_options in_memory = small_heap();
    in_memory.history = {.steps_max = 2};
    std::uint64_t steps = 4;
    for (const heap_options& each : {without, in_memory}) {
        heap h = heap::open(path_, each);
        EXPECT_EQ(h.why_history_is_new(), "");
        EXPECT_EQ(h.undo_depth(), steps);
        h.keep(std::to_string(steps));
        add(h, 6);
        EXPECT_EQ(h.undo_depth(), ++steps);
        h.close();
    }
    heap h = open();
    EXPECT_EQ(h.undo_depth(), 6U);
    EXPECT_EQ(h.versions().size(), 2U);
    h.undo(6);
    EXPECT_EQ(numbers_in(h).size(), 1U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(kept_histories, end_by_a_call) {
    make(5);
    {
        heap h = open();
        h.keep("before");
        EXPECT_TRUE(is_error(error_of([&] { inspect::end_history(path_.string()); }), errc::in_use, path_, ""));
    }
    die_after_a_commit();
    inspect::end_history(path_.string()); // which recovers the heap first
    EXPECT_FALSE(fs::exists(history_of(path_)));
    EXPECT_FALSE(inspect::look(path_.string()).recorded_history);
    {
        heap h = heap::open(path_, small_heap());
        EXPECT_EQ(numbers_in(h).back(), 50U);
        EXPECT_EQ(error_of([&] { h.undo(); })->code, errc::invalid_argument);
        add(h, 51);
        EXPECT_TRUE(h.verify().clean());
        h.close();
    }
    EXPECT_FALSE(fs::exists(history_of(path_)));
    heap h = open();
    EXPECT_EQ(h.undo_depth(), 0U);
    EXPECT_TRUE(h.versions().empty());
    add(h, 52);
    EXPECT_EQ(h.undo_depth(), 1U);
}

// As older releases leave it.
TEST_F(kept_histories, that_the_heap_does_not_record_are_not_ended_by_who_names_none) {
    make(5);
    edit_superblock(path_, [](format::superblock& s) {
        s.features_ro_compat &= ~format::k_feature_history;
        s.history = {};
    });
    EXPECT_TRUE(
        is_error(error_of([&] { heap::open(path_, small_heap()); }), errc::not_supported, path_, "rem history --end"));
    heap_options looks = small_heap();
    looks.read_only = true;
    EXPECT_TRUE(heap::open(path_, looks).find_root<numbers>("numbers") != nullptr);
    const auto copy = dir_ / "ended";
    fs::copy_file(path_, copy);
    fs::copy_file(history_of(path_), history_of(copy));
    inspect::end_history(copy.string());
    heap::open(copy, small_heap()).close();
    {
        heap h = open();
        EXPECT_EQ(h.undo_depth(), 4U);
        h.close();
    }
    EXPECT_EQ(heap::open(path_, small_heap()).undo_depth(), 4U);
}

TEST_F(kept_histories, of_which_the_record_is_damaged_can_be_ended) {
    make(5);
    const std::uint64_t record = newest_superblock(path_).history.offset;
    flip_byte(path_, record + 1);
    EXPECT_TRUE(is_error(error_of([&] { (void)open(); }), errc::corrupt, path_, "limits of the history"));
    EXPECT_TRUE(is_error(error_of_opening(path_), errc::corrupt, path_, "limits of the history"));
    EXPECT_EQ(reason_of([&] { inspect::set_history_limits(path_.string(), {.steps_max = 3}); }), errc::corrupt);
    heap_options looks = small_heap();
    looks.read_only = true;
    EXPECT_EQ(heap::open(path_, looks).find_root<numbers>("numbers")->size(), 5U);
    const auto found = inspect::verify(path_.string());
    ASSERT_EQ(found.problems.size(), 1U);
    EXPECT_EQ(found.problems[0].offset, record);
    inspect::end_history(path_.string());
    EXPECT_TRUE(inspect::verify(path_.string()).problems.empty());
    heap h = heap::open(path_, small_heap());
    EXPECT_EQ(numbers_in(h).size(), 5U);
    EXPECT_EQ(h.undo_depth(), 0U);
}

TEST_F(kept_histories, are_copied_when_they_are_asked_for) {
    make(5);
    const fs::path live = dir_ / "live";
    {
        heap h = open();
        h.keep("five");
        add(h, 5);
        inspect::copy(path_.string(), live.string(), inspect::existing::refused, {}, {},
                      inspect::copied_history::taken);
    }
    EXPECT_EQ(heap::open(live, small_heap()).undo_depth(), 5U);
    const fs::path with = dir_ / "with";
    const fs::path without = dir_ / "without";
    inspect::copy(path_.string(), with.string(), inspect::existing::refused, {}, {}, inspect::copied_history::taken);
    inspect::copy(path_.string(), without.string());
    EXPECT_FALSE(fs::exists(history_of(without)));
    {
        heap h = heap::open(with, small_heap());
        EXPECT_EQ(h.why_history_is_new(), "");
        EXPECT_EQ(h.undo_depth(), 5U);
        ASSERT_EQ(h.versions().size(), 1U);
        h.restore("five");
        EXPECT_EQ(numbers_in(h).size(), 5U);
        EXPECT_TRUE(h.verify().clean());
    }
    path_ = without;
    expect_new_history("is not there");
    const fs::path none = dir_ / "none";
    inspect::end_history(with.string());
    EXPECT_TRUE(is_error(error_of([&] {
                             inspect::copy(with.string(), none.string(), inspect::existing::refused, {}, {},
                                           inspect::copied_history::taken);
                         }),
                         errc::no_step, with, "has no history"));
    EXPECT_FALSE(fs::exists(none));
}

TEST_F(kept_histories, are_no_part_of_a_branch) {
    make(5);
    {
        heap h = open();
        h.branch(h.version(), dir_ / "branch");
    }
    EXPECT_FALSE(inspect::look((dir_ / "branch").string()).recorded_history);
    EXPECT_FALSE(fs::exists(history_of(dir_ / "branch")));
    EXPECT_EQ(heap::open(dir_ / "branch", small_heap()).undo_depth(), 0U);
}

TEST_F(kept_histories, are_refused_by_containers_of_portable_files) {
    file_backed_options with{.form = file_form::portable};
    with.heap.history = {.kept_over_sessions = true};
    const auto got = error_of([&] { file_backed<numbers> list(dir_ / "list.jsonl", with); });
    EXPECT_TRUE(is_error(got, errc::not_supported, dir_ / "list.jsonl", "kept_over_sessions"));
    std::size_t files = 0;
    for (const auto& each : fs::directory_iterator(dir_.path())) {
        (void)each;
        ++files;
    }
    EXPECT_EQ(files, 0U);
}

TEST_F(kept_histories, begin_anew_when_the_file_is_gone) {
    make(5);
    fs::remove(history_of(path_));
    expect_new_history("is not there");
}

// The log of the process that died has steps, and no place to bring them to.
TEST_F(kept_histories, begin_anew_after_a_crash_when_no_file_has_the_name) {
    const auto expect_opens = [&](const std::string& kind, const std::function<void(const fs::path&)>& put) {
        SCOPED_TRACE(kind);
        path_ = dir_ / kind;
        make(5);
        die_after_a_commit();
        fs::remove(history_of(path_));
        put(history_of(path_));
        {
            heap_options looking = small_heap();
            looking.read_only = true;
            heap h = heap::open(path_, looking);
            EXPECT_EQ(numbers_in(h), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 50}));
        }
        EXPECT_FALSE(inspect::verify(path_).history->is_whole);
        expect_new_history("is not a regular file");
        EXPECT_TRUE(fs::exists(fs::symlink_status(unfit())));
        heap h = open();
        EXPECT_EQ(numbers_in(h).size(), 6U);
    };
    expect_opens("directory", [](const fs::path& at) { fs::create_directory(at); });
    expect_opens("fifo", [](const fs::path& at) { ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0); });
    expect_opens("link", [](const fs::path& at) { fs::create_symlink("nowhere", at); });
}

TEST_F(kept_histories, set_aside_under_another_name_what_cannot_take_the_first) {
    make(5);
    fs::create_directories(unfit() / "of somebody");
    fs::create_directories(history_of(path_).string() + "-new/of somebody"); // where the new one is made
    write_file(history_of(path_), "no history");
    expect_new_history("another heap");
    EXPECT_TRUE(fs::exists(unfit() / "of somebody"));
    EXPECT_EQ(read_file(unfit("-3")).size(), 10U); // -2: the directory where the new one is made
    write_file(history_of(path_), "nor this one");
    expect_new_history("another heap");
    EXPECT_EQ(read_file(unfit("-3")).size(), 12U);
    heap h = open();
    fs::remove(history_of(path_));
    fs::create_directories(history_of(path_) / "in the way");
    add(h, 6);
    h.checkpoint();
    add(h, 7);
    h.close();
    EXPECT_TRUE(fs::exists(unfit("-4") / "in the way"));
    h = open();
    EXPECT_EQ(h.why_history_is_new(), "");
}

// The name is so long that there is none for the file that is being made.
TEST_F(kept_histories, go_on_in_a_removed_file_when_no_other_can_be_made) {
    make(5);
    heap h = open();
    const fs::path longer = dir_ / std::string(255 - std::string("-history").size(), 'h');
    fs::rename(path_, longer);
    add(h, 5);
    h.checkpoint();
    ASSERT_TRUE(fs::remove(history_of(longer)));
    for (std::uint64_t i = 6; i < 10; ++i) {
        add(h, i);
        h.checkpoint();
    }
    EXPECT_EQ(h.undo_depth(), 9U);
    fs::rename(longer, path_);
    add(h, 10);
    h.close();
    h = open();
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_EQ(h.undo_depth(), 10U);
}

TEST_F(kept_histories, tell_who_looks_that_there_are_too_few_descriptors) {
    make(5);
    heap h = open();
    add(h, 5);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(next, 0);
    ::close(next);
    bool has_failed = false;
    bool has_read = false;
    for (int more = 0; more < 16; ++more) {
        SCOPED_TRACE(more);
        const rlimit few{static_cast<rlim_t>(next + more), before.rlim_max};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
        const auto in_history = error_of([&] { has_read = inspect::history(path_).steps.size() == 6; });
        bool has_history = false;
        const auto in_verify = error_of([&] { has_history = inspect::verify(path_).history.has_value(); });
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
        has_failed = has_failed || in_history;
        if (in_history) {
            EXPECT_EQ(in_history->code, errc::no_space) << in_history->what;
        }
        if (in_verify) {
            EXPECT_EQ(in_verify->code, errc::no_space) << in_verify->what;
        }
        EXPECT_TRUE(in_verify || has_history);
    }
    EXPECT_TRUE(has_failed);
    EXPECT_TRUE(has_read);
}

TEST_F(kept_histories, are_looked_at_so_many_times_in_all) {
    make(5);
    inspect::attempt_count attempts{3};
    const auto look = [&] {
        return inspect::with_last_commit(os::posix_file_system(), path_, attempts, {},
                                         [](inspect::inspection&) { return result<void>(); });
    };
    for (std::uint64_t i = 1; i <= 3; ++i) {
        EXPECT_TRUE(look());
        EXPECT_EQ(attempts.made, i);
    }
    const auto more = look();
    ASSERT_FALSE(more);
    EXPECT_EQ(more.why().code, errc::in_use);
}

// With the steps of earlier sessions, which nobody had read yet.
TEST_F(kept_histories, are_made_anew_when_the_file_is_removed_while_the_heap_is_open) {
    make(5);
    heap h = open();
    add(h, 5);
    fs::remove(history_of(path_));
    add(h, 6);
    EXPECT_EQ(h.why_history_is_new(), "");
    h.checkpoint();
    EXPECT_NE(h.why_history_is_new().find("was removed or replaced while the heap was open"), std::string::npos);
    EXPECT_EQ(h.undo_depth(), 6U);
    EXPECT_EQ(inspect::history(path_).steps.size(), 7U);
    add(h, 7);
    write_file(dir_ / "other", "of somebody else");
    fs::rename(dir_ / "other", history_of(path_));
    h.close();
    EXPECT_EQ(read_file(history_of(path_).string() + "-unfit").size(), 16U);
    h = open();
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_EQ(h.undo_depth(), 7U);
    h.undo(7);
    EXPECT_EQ(numbers_in(h).size(), 1U);
    h.close();
    h = open();
    fs::remove(history_of(path_));
    h.close(); // without a commit nothing is written
    h = open();
    EXPECT_NE(h.why_history_is_new(), "");
}

TEST_F(kept_histories, begin_anew_beside_another_heaps_file) {
    make(5);
    const heap_options with = options();
    {
        heap other = heap::open(dir_ / "other", with);
        other.root<numbers>("numbers", 1, 0U);
        other.close();
    }
    fs::copy_file(history_of(dir_ / "other"), history_of(path_), fs::copy_options::overwrite_existing);
    const auto foreign = read_file(history_of(path_));
    expect_new_history("another heap");
    EXPECT_EQ(read_file(history_of(path_).string() + "-unfit"), foreign); // it is somebody's, perhaps
}

TEST_F(kept_histories, begin_anew_beside_an_older_file_of_theirs) {
    make(5);
    fs::copy_file(history_of(path_), dir_ / "older");
    heap h = open();
    add(h, 6);
    h.close();
    fs::copy_file(dir_ / "older", history_of(path_), fs::copy_options::overwrite_existing);
    expect_new_history("does not lead to the heap's version");
}

TEST_F(kept_histories, go_on_from_an_older_copy_of_the_heap) {
    make(5);
    fs::copy_file(path_, dir_ / "older");
    heap h = open();
    add(h, 6);
    h.close();
    fs::copy_file(dir_ / "older", path_, fs::copy_options::overwrite_existing);
    h = open();
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_EQ(h.undo_depth(), 4U);
    add(h, 7); // in the place of what the file has
    h.rebuild();
    EXPECT_EQ(h.why_history_is_new(), "");
    h.undo();
    EXPECT_EQ(numbers_in(h).size(), 5U);
    h.undo(4);
    EXPECT_EQ(numbers_in(h).size(), 1U);
}

// Whichever byte changes, nothing is undone that never was.
TEST_F(kept_histories, are_whole_or_begin_anew_wherever_the_file_is_damaged) {
    make(5);
    const auto bytes = read_file(history_of(path_)).size();
    ASSERT_GT(bytes, 512U);
    std::size_t lost = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
        flip_byte(history_of(path_), i);
        const std::string without = inspect::history(path_).why_none;
        const std::string then = why_no_version();
        {
            heap h = open();
            EXPECT_EQ(numbers_in(h).size(), 5U) << i;
            (void)h.history(); // all is read
            const std::string why = h.why_history_is_new();
            if (why.empty()) {
                EXPECT_EQ(h.undo_depth(), 4U) << i;
                EXPECT_EQ(without, "") << i;
            } else {
                ++lost;
                EXPECT_TRUE(without.ends_with(" has no history: " + why)) << i << ": " << without << '\n' << why;
                EXPECT_TRUE(then.ends_with(" that leads there. " + why)) << i << ": " << then << '\n' << why;
            }
        }
        flip_byte(history_of(path_), i);
    }
    // The header's sector has zeros, an entry may end with some, and the summary is not needed.
    EXPECT_GT(lost, bytes - 512 - sizeof(format::history_summary));
    flip_byte(history_of(path_), bytes / 2);
    expect_new_history("damaged");
}

TEST_F(kept_histories, are_whole_or_begin_anew_wherever_the_file_is_cut_off) {
    make(5);
    const auto all = read_file(history_of(path_));
    const std::size_t end = all.size() - sizeof(format::history_summary);
    for (std::size_t i = end; i <= all.size(); ++i) {
        write_file(history_of(path_), std::string_view(all.data(), i));
        heap h = open();
        EXPECT_EQ(is_read(h), i < all.size()) << i;
        EXPECT_EQ(h.undo_depth(), 4U) << i;
        EXPECT_EQ(h.why_history_is_new(), "") << i;
    }
    for (std::size_t i = 0; i < end; ++i) {
        write_file(history_of(path_), std::string_view(all.data(), i));
        heap h = open();
        EXPECT_EQ(numbers_in(h).size(), 5U) << i;
        EXPECT_EQ(h.undo_depth(), 0U) << i;
        EXPECT_NE(h.why_history_is_new(), "") << i;
    }
    expect_new_history("damaged");
}

TEST_F(kept_histories, are_not_read_before_something_asks_for_steps) {
    make(5);
    heap h = open();
    EXPECT_EQ(h.undo_depth(), 4U);
    EXPECT_EQ(h.redo_depth(), 0U);
    add(h, 5);
    {
        const auto g = h.group("two at once");
        add(h, 6);
        add(h, 7);
        EXPECT_EQ(h.undo_depth(), 6U);
    }
    h.checkpoint();
    EXPECT_FALSE(is_read(h));
    EXPECT_EQ(h.history().back().name, "two at once");
    EXPECT_TRUE(is_read(h));
    EXPECT_EQ(h.history().size(), 7U);
    h.undo(2);
    EXPECT_EQ(numbers_in(h).size(), 5U);
    h.close();
    h = open();
    EXPECT_EQ(h.redo_depth(), 2U);
    EXPECT_FALSE(is_read(h));
    add(h, 8); // a branch
    EXPECT_EQ(h.redo_depth(), 0U);
    EXPECT_EQ(h.undo_depth(), 5U);
    h.close();
    h = open();
    EXPECT_EQ(h.undo_depth(), 5U);
    EXPECT_FALSE(is_read(h));
    h.undo(5);
    EXPECT_EQ(numbers_in(h).size(), 1U);
    h.redo(5);
    EXPECT_EQ(numbers_in(h), (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 8}));
    EXPECT_EQ(h.history().size(), 8U);
}

TEST_F(kept_histories, are_read_in_the_midst_of_a_group) {
    make(5);
    heap h = open();
    {
        const auto g = h.group("together");
        add(h, 5);
        EXPECT_FALSE(is_read(h));
        EXPECT_EQ(h.history().size(), 6U);
        EXPECT_TRUE(is_read(h));
        add(h, 6);
    }
    EXPECT_EQ(h.undo_depth(), 5U);
    h.undo();
    EXPECT_EQ(numbers_in(h).size(), 5U);
}

TEST_F(kept_histories, are_read_when_a_commit_comes_to_their_limits) {
    make(20);
    heap_options few = options();
    few.history.steps_max = 20;
    inspect::set_history_limits(path_.string(), few.history);
    heap h = open();
    add(h, 20);
    EXPECT_FALSE(is_read(h));
    add(h, 21);
    EXPECT_TRUE(is_read(h));
    EXPECT_EQ(h.undo_depth(), 20U);
    h.close();
    few.history.then = history_options::when_full::refuse;
    inspect::set_history_limits(path_.string(), few.history);
    h = open();
    EXPECT_FALSE(is_read(h));
    EXPECT_EQ(error_of([&] { add(h, 22); })->code, errc::history_full);
    EXPECT_TRUE(is_read(h));
    h.close();
    few.history.steps_max = 5;
    few.history.then = history_options::when_full::oldest_go;
    inspect::set_history_limits(path_.string(), few.history);
    h = open();
    EXPECT_EQ(h.undo_depth(), 5U);
}

// The heap opened, and commits were made, before anybody read the steps.
TEST_F(kept_histories, that_are_found_damaged_when_they_are_read_begin_anew) {
    for (const bool in_group : {false, true}) {
        SCOPED_TRACE(in_group);
        path_ = dir_ / (in_group ? "g" : "h");
        make(5);
        flip_byte(history_of(path_), read_file(history_of(path_)).size() / 2);
        heap h = open();
        EXPECT_EQ(h.undo_depth(), 4U);
        add(h, 5);
        {
            std::optional<group> together;
            if (in_group) {
                together.emplace(h.group("together"));
                add(h, 6);
            }
            EXPECT_NE(h.why_history_is_new().find("damaged"), std::string::npos);
            EXPECT_EQ(h.undo_depth(), 0U);
            EXPECT_EQ(h.history().size(), 1U);
            add(h, 7);
        }
        const auto before = numbers_in(h);
        EXPECT_TRUE(fs::exists(history_of(path_).string() + "-unfit"));
        add(h, 8);
        h.undo();
        EXPECT_EQ(numbers_in(h), before);
        EXPECT_EQ(error_of([&] { h.undo(9); })->code, errc::no_step);
        h.close();
        h = open();
        EXPECT_EQ(h.why_history_is_new(), "");
        EXPECT_EQ(h.redo_depth(), 1U);
        EXPECT_TRUE(h.verify().clean());
    }
}

TEST_F(kept_histories, that_were_not_read_when_the_heap_was_renamed_go_along) {
    make(5);
    heap h = open();
    fs::rename(path_, dir_ / "h2");
    fs::remove(history_of(path_)); // the one that is open
    add(h, 5);
    EXPECT_NE(h.why_history_is_new().find("could not follow it: it was removed"), std::string::npos);
    h.close();
    h = heap::open(dir_ / "h2", options());
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_EQ(h.undo_depth(), 5U);
    h.undo(5);
    EXPECT_EQ(numbers_in(h).size(), 1U);
}

TEST_F(kept_histories, follow_a_heap_that_is_renamed) {
    make(5);
    heap h = open();
    add(h, 5);
    fs::create_directory(dir_ / "elsewhere");
    fs::rename(path_, dir_ / "elsewhere" / "h2");
    add(h, 6);
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_FALSE(fs::exists(history_of(path_)));
    h.close();
    h = heap::open(dir_ / "elsewhere" / "h2", options());
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_EQ(h.undo_depth(), 6U);
}

TEST_F(kept_histories, are_made_anew_where_another_file_is_in_the_way_of_a_renamed_heap) {
    make(5);
    heap h = open();
    add(h, 5);
    write_file(history_of(dir_ / "h2"), "somebody's");
    fs::rename(path_, dir_ / "h2");
    add(h, 6);
    EXPECT_NE(h.why_history_is_new().find("h2-history is the name of another file"), std::string::npos);
    h.close();
    EXPECT_EQ(read_file(history_of(dir_ / "h2").string() + "-unfit").size(), 10U);
    h = heap::open(dir_ / "h2", options());
    EXPECT_EQ(h.why_history_is_new(), "");
    EXPECT_EQ(h.undo_depth(), 6U);
}

// What had its room in the steps that went takes room in the file no longer.
TEST_F(kept_histories, take_little_more_room_than_their_steps) {
    heap_options few = options();
    few.history.steps_max = 4;
    heap h = heap::open(path_, few);
    auto& list = h.root<numbers>("numbers", 10'000, 0U);
    std::uintmax_t most = 0;
    for (std::uint64_t i = 1; i < 200; ++i) {
        h.write([&] { std::fill(list.begin(), list.end(), i); });
        if (i % 10 == 0)
            h.checkpoint();
        most = std::max(most, fs::file_size(history_of(path_)));
    }
    EXPECT_LT(most, 4 * MiB); // of 16 that were written
    h.close();
    h = heap::open(path_, few);
    EXPECT_EQ(h.undo_depth(), 4U);
    h.undo(4);
    EXPECT_EQ(numbers_in(h).back(), 195U);
}

} // namespace
} // namespace remanence::test
