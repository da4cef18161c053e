// Heaps with each tracker: chosen, forced, missing, and what the trap tracker asks of a program.

#include "unit/api/fixture.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/swap.h>
#include <sys/syscall.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

namespace remanence::test {
namespace {

heap_options with(tracking tracker) {
    heap_options options = small_heap();
    options.tracker = tracker;
    return options;
}

const std::map<std::string, tracking>& all_trackers() {
    static const std::map<std::string, tracking> all = {
        {"scan", tracking::scan}, {"trap", tracking::trap}, {"fallback", tracking::fallback}};
    return all;
}

/// Changes, commits, rolls back, closes and reopens; the tracker's name, or what was wrong.
std::string use(const fs::path& path, tracking tracker) {
    fs::remove(path);
    std::string name;
    {
        heap h = heap::create(path, with(tracker));
        name = h.stats().tracker;
        put_contents(h);
        h.checkpoint();
        auto& list = *h.find_root<numbers>("numbers");
        for (const std::uint64_t value : {5U, 0U}) {
            list[0] = value;
            list[999] = std::uint64_t{999} * 999 + value;
            h.commit();
        }
        list[7] = 8;
        list.resize(100'000, 6);
        h.rollback();
        if (!has_contents(h))
            return "wrong after a rollback";
        h.close();
    }
    heap h = heap::open_existing(path, with(tracker));
    if (!has_contents(h))
        return "wrong after reopening";
    h.find_root<numbers>("numbers")->at(3) = 1;
    h.rollback();
    return has_contents(h) ? name : "wrong after another rollback";
}

/// Environment, for as long as it lives.
class forced_tracking {
public:
    explicit forced_tracking(const char* name) { ::setenv("REMANENCE_TRACKING", name, 1); }
    forced_tracking(const forced_tracking&) = delete;
    forced_tracking& operator=(const forced_tracking&) = delete;
    ~forced_tracking() { ::unsetenv("REMANENCE_TRACKING"); }
};

class trackers : public testing::Test {
protected:
    void SetUp() override {
        if (std::getenv("REMANENCE_TRACKING") != nullptr)
            GTEST_SKIP() << "REMANENCE_TRACKING forces a tracker; these tests choose their own";
        heap h = heap::create(dir_ / "probe", small_heap());
        has_scan_ = h.stats().tracker == "scan";
    }
    temp_dir dir_;
    bool has_scan_ = false;
};

TEST_F(trackers, each_can_be_chosen_and_stats_names_it) {
    for (const auto& [name, tracker] : all_trackers()) {
        if (name != "scan" || has_scan_) {
            EXPECT_EQ(use(dir_ / "h", tracker), name);
        }
    }
    EXPECT_EQ(use(dir_ / "h", tracking::automatic), has_scan_ ? "scan" : "fallback");
}

TEST_F(trackers, the_environment_forces_one) {
    for (const auto& [name, tracker] : all_trackers()) {
        if (name == "scan" && !has_scan_)
            continue;
        const forced_tracking forced(name.c_str());
        EXPECT_EQ(use(dir_ / "h", tracking::fallback), name);
    }
    const forced_tracking wrong("traps");
    EXPECT_TRUE(is_error(error_of_opening(dir_ / "h"), errc::invalid_argument, dir_ / "h",
                         "Set it to automatic, scan, trap or fallback"));
}

/// No userfaultfd from now on, as in many containers.
bool refuse_userfaultfd() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    sock_fprog filter{std::size(program), program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST_F(trackers, without_userfaultfd_the_fallback_serves_and_the_scan_is_an_error) {
    EXPECT_EQ(in_child([&] {
                  if (!refuse_userfaultfd())
                      return std::string("no filter");
                  return use(dir_ / "h", tracking::automatic) + ", " + use(dir_ / "h", tracking::trap) + ", " +
                         told([&] { heap::open(dir_ / "h", with(tracking::scan)); });
              }),
              "fallback, trap, " + std::to_string(static_cast<int>(errc::not_supported)) + ": cannot open " +
                  (dir_ / "h").string() +
                  ": the scan tracker does not work here: it needs Linux 6.7, and userfaultfd, which a seccomp profile "
                  "may refuse. Use tracking::automatic, or unset REMANENCE_TRACKING.");
}

TEST_F(trackers, work_for_users_without_privileges) {
    fs::permissions(dir_.path(), fs::perms::all);
    for (const auto& [name, tracker] : all_trackers()) {
        if (name != "scan" || has_scan_) {
            EXPECT_EQ(as_nobody([&] { return use(dir_ / ("of-nobody-" + name), tracker); }), name);
        }
    }
}

TEST_F(trackers, system_calls_write_into_what_was_touched) {
    for (const auto& [name, tracker] : all_trackers()) {
        if (name == "scan" && !has_scan_)
            continue;
        fs::remove(dir_ / "h");
        heap h = heap::create(dir_ / "h", with(tracker));
        auto& text = h.root<string>("text", std::size_t{100'000}, 'a');
        const auto read_into = [&](std::size_t at) {
            int ends[2];
            EXPECT_EQ(::pipe(ends), 0);
            EXPECT_EQ(::write(ends[1], "bytes", 5), 5);
            const ssize_t got = ::read(ends[0], text.data() + at, 5);
            ::close(ends[0]);
            ::close(ends[1]);
            return got;
        };
        if (tracker == tracking::trap) {
            EXPECT_EQ(read_into(50'000), -1);
        }
        h.touch(text.data() + 50'000, 5);
        EXPECT_EQ(read_into(50'000), 5);
        h.commit();
        h.touch(text.data() + 70'000, 5);
        EXPECT_EQ(read_into(70'000), 5);
        h.rollback();
        h.touch(text.data() + 20, 0);
        EXPECT_TRUE(is_error(error_of([&] { h.touch(&h, 1); }), errc::invalid_argument, dir_ / "h", "does not lie in"));
        h.close();
        h = heap::open_existing(dir_ / "h", with(tracker));
        const auto& found = *h.find_root<string>("text");
        EXPECT_EQ(found.substr(49'999, 7), "abytesa") << name;
        EXPECT_EQ(found.substr(69'999, 7), "aaaaaaa") << name;
    }
}

TEST_F(trackers, commits_that_changed_nothing_need_no_record_and_leave_later_changes_seen) {
    for (const auto& [name, tracker] : all_trackers()) {
        if (name == "scan" && !has_scan_)
            continue;
        fs::remove(dir_ / "h");
        heap h = heap::create(dir_ / "h", with(tracker));
        put_contents(h);
        auto& list = *h.find_root<numbers>("numbers");
        const std::uint64_t version = h.version();
        for (int i = 0; i < 3; ++i) {
            list[10] = 11;
            list[10] = 100;
            h.commit();
            EXPECT_EQ(h.version(), version);
        }
        list[10] = 12;
        h.rollback();
        EXPECT_TRUE(has_contents(h)) << name;
    }
}

TEST_F(trackers, stray_writes_are_caught_by_traps_only) {
    make_heap(dir_ / "h");
    EXPECT_TRUE(is_error(error_of_opening(dir_ / "h", [](heap_options& o) { o.checks.catch_stray_writes = true; }),
                         errc::invalid_argument, dir_ / "h", "needs tracking::trap"));
}

// The sanitizers' handlers say more than ours, and exit otherwise.
class stray_writes_no_sanitizer : public testing::Test {
protected:
    heap_options catching() {
        heap_options options = with(tracking::trap);
        options.checks.catch_stray_writes = true;
        return options;
    }
    /// in_child(), with its standard error in said() and no core file.
    std::string in_child_that_may_die(const std::function<std::string()>& f) {
        return in_child([&] {
            const rlimit none{};
            ::setrlimit(RLIMIT_CORE, &none);
            const int messages = ::open(stderr_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
            if (messages < 0 || ::dup2(messages, STDERR_FILENO) < 0)
                return std::string("no file for messages");
            return f();
        });
    }
    std::string said() {
        const auto bytes = read_file(stderr_);
        return {bytes.begin(), bytes.end()};
    }
    void SetUp() override {
        if (std::getenv("REMANENCE_TRACKING") != nullptr)
            GTEST_SKIP() << "REMANENCE_TRACKING forces a tracker; these tests choose their own";
    }

    const std::string killed_ = "killed by signal " + std::to_string(SIGSEGV);
    temp_dir dir_;
    fs::path stderr_ = dir_ / "stderr";
    fs::path heap_ = make_heap(dir_ / "h");
};

TEST_F(stray_writes_no_sanitizer, end_the_process_with_address_root_and_backtrace) {
    EXPECT_EQ(in_child_that_may_die([&] {
                  heap h = heap::open(heap_, catching());
                  auto& list = *h.find_root<numbers>("numbers");
                  h.write([&] { list[1] = 1; });
                  const auto at = reinterpret_cast<std::uint64_t>(&list[500]);
                  write_file(dir_ / "address", std::to_string(at));
                  list[500] = 1;
                  return std::string("written");
              }),
              killed_);
    const std::string text = said();
    std::uint64_t at = 0;
    std::ifstream(dir_ / "address") >> at;
    std::ostringstream address;
    address << "remanence: a write to 0x" << std::hex << at << ", offset 0x";
    EXPECT_TRUE(text.starts_with(address.str())) << text;
    EXPECT_NE(text.find("of the heap " + heap_.string() + ", outside any write section"), std::string::npos) << text;
    EXPECT_NE(text.find("below the root \"numbers\" of type "), std::string::npos) << text;
    EXPECT_NE(text.find("unit_api("), std::string::npos) << "no backtrace: " << text;
    EXPECT_TRUE(file_has_contents(heap_));
}

TEST_F(stray_writes_no_sanitizer, are_caught_after_sections_of_every_kind) {
    const std::map<std::string, std::function<void(heap&, numbers&)>> sections = {
        {"none yet", [](heap&, numbers&) {}},
        {"a commit", [](heap& h, numbers& list) { h.write([&] { list[500] = 3; }); }},
        {"one that changed nothing", [](heap& h, numbers& list) { h.write([&] { list[500] = list[500] + 0; }); }},
        {"one that threw",
         [](heap& h, numbers& list) {
             (void)error_of([&] {
                 h.write([&] {
                     list[500] = 3;
                     throw error(errc::io, "ours");
                 });
             });
         }},
        {"a lock", [](heap& h, numbers& list) {
             const std::unique_lock guard(h);
             list[500] = 4;
         }}};
    for (const auto& [name, section] : sections) {
        EXPECT_EQ(in_child_that_may_die([&] {
                      heap h = heap::open(heap_, catching());
                      auto& list = *h.find_root<numbers>("numbers");
                      section(h, list);
                      list[500] = 1;
                      return std::string("written");
                  }),
                  killed_)
            << name;
        EXPECT_NE(said().find("outside any write section"), std::string::npos) << name;
        fs::remove(log_of(heap_));
        make_heap(heap_.string() + ".again");
        fs::rename(heap_.string() + ".again", heap_);
    }
}

TEST_F(stray_writes_no_sanitizer, allocations_are_named_as_such) {
    EXPECT_EQ(in_child_that_may_die([&] {
                  heap h = heap::open(heap_, catching());
                  (void)h.make<int>(5);
                  return std::string("made");
              }),
              killed_);
    EXPECT_NE(said().find("It belongs to the allocator: memory was asked for, or freed."), std::string::npos) << said();
}

TEST_F(stray_writes_no_sanitizer, so_is_memory_that_is_freed_whatever_becomes_of_it) {
    EXPECT_EQ(in_child_that_may_die([&] {
                  heap h = heap::open(heap_, catching());
                  int* made = nullptr;
                  h.write([&] { made = h.make<int>(5); });
                  h.destroy(made);
                  return std::string("freed");
              }),
              killed_);
    EXPECT_NE(said().find("It belongs to the allocator: memory was asked for, or freed."), std::string::npos) << said();
}

TEST_F(stray_writes_no_sanitizer, writes_in_sections_of_any_thread_are_none) {
    heap h = heap::open(heap_, catching());
    auto& list = *h.find_root<numbers>("numbers");
    h.write([&] {
        list[0] = 1;
        std::thread([&] { list[600] = 1; }).join();
    });
    const std::unique_lock guard(h);
    list[0] = 0;
    list[600] = std::uint64_t{600} * 600;
    h.touch(list.data(), 100);
    h.commit();
    EXPECT_TRUE(has_contents(h));
}

TEST_F(stray_writes_no_sanitizer, touching_outside_a_section_is_an_error) {
    heap h = heap::open(heap_, catching());
    auto& list = *h.find_root<numbers>("numbers");
    EXPECT_TRUE(
        is_error(error_of([&] { h.touch(list.data(), 8); }), errc::section_conflict, heap_, "Call it within one"));
}

/// A swap file of its own, for as long as it lives; not on() where the machine does not let us.
class swap_file {
public:
    explicit swap_file(const fs::path& path) : path_(path.string()) {
        const std::string make = "dd if=/dev/zero of='" + path_ + "' bs=1M count=64 status=none && chmod 600 '" +
                                 path_ + "' && mkswap '" + path_ + "' > /dev/null 2>&1";
        on_ = std::system(make.c_str()) == 0 && ::swapon(path_.c_str(), 0) == 0; // NOLINT: no other way to make one
    }
    swap_file(const swap_file&) = delete;
    swap_file& operator=(const swap_file&) = delete;
    ~swap_file() {
        if (on_)
            ::swapoff(path_.c_str());
    }
    [[nodiscard]] bool on() const { return on_; }

private:
    std::string path_;
    bool on_ = false;
};

std::uint64_t swapped_kib() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        std::uint64_t kib = 0;
        if (word == "VmSwap:" && status >> kib)
            return kib;
    }
    return 0;
}

// Sanitizers leave much other memory to swap.
class swapping_no_sanitizer : public trackers {};

TEST_F(swapping_no_sanitizer, loses_no_change_and_no_rollback) {
    const swap_file swap(dir_ / "swap");
    if (!swap.on())
        GTEST_SKIP() << "no swap file can be used here (are you root, and not in a container?)";
    for (const auto& [name, tracker] : all_trackers()) {
        if (name == "scan" && !has_scan_)
            continue;
        fs::remove(dir_ / "h");
        heap h = heap::create(dir_ / "h", with(tracker));
        constexpr std::uint64_t k_numbers = 1 << 20; // 8 MiB
        auto& list = h.root<numbers>("numbers", k_numbers);
        const auto page_out = [&] {
            const auto begin = reinterpret_cast<std::uint64_t>(list.data()) / 4096 * 4096 + 4096;
            EXPECT_EQ(::madvise(reinterpret_cast<void*>(begin), k_numbers * 8 - 8192, MADV_PAGEOUT), 0);
        };
        // The kernel passes over pages that it still writes to the swap file from the last time: they are asked again.
        const auto swap_out = [&] {
            const std::uint64_t before = swapped_kib();
            for (int tries = 0; tries < 10'000 && swapped_kib() <= before + 1024; ++tries) {
                page_out();
                std::this_thread::sleep_for(std::chrono::milliseconds(tries == 0 ? 0 : 10));
            }
            return swapped_kib() > before + 1024;
        };
        std::vector<std::uint64_t> model(k_numbers);
        for (std::uint64_t round = 1; round < 6; ++round) {
            for (std::uint64_t i = round; i < k_numbers; i += 512 * round) // pages in a pattern
                list[i] = model[i] = i * round;
            if (round > 1) {
                EXPECT_TRUE(swap_out()) << name << ": nothing was swapped";
            }
            h.commit();
            page_out();
            for (std::uint64_t i = 0; i < k_numbers; i += 700)
                list[i] = 1;
            EXPECT_TRUE(swap_out()) << name << ": nothing was swapped";
            h.rollback();
            ASSERT_TRUE(std::equal(list.begin(), list.end(), model.begin())) << name << ", round " << round;
        }
        h.close();
        h = heap::open_existing(dir_ / "h", with(tracker));
        const auto& found = *h.find_root<numbers>("numbers");
        EXPECT_TRUE(std::equal(found.begin(), found.end(), model.begin(), model.end())) << name;
    }
}

} // namespace
} // namespace remanence::test
