// Limits of the process, the system and the disk, and rights that lack: each system call that can meet one does, one after the other,
// in the lives of programs with a heap of their own, with a shared one, and as a guest. What the program hears has the code and the
// advice that this limit has; the call succeeds when it is made again; and the heap is poisoned only by what may have written.
//
// Not under the sanitizers, which put functions of their own in the place of these.
#include "failing_calls.hpp"
#include "program.hpp"

#include "api/heap_impl.hpp"
#include "support/temp_dir.hpp"

#include <remanence/inspect.hpp>
#include <remanence/remanence.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace remanence::faults {

using limited_numbers = remanence::vector<std::uint64_t>;

namespace {

bool begins_with_any(std::string_view call, std::initializer_list<std::string_view> names) {
    return std::ranges::any_of(names, [&](std::string_view name) { return call.starts_with(name); });
}

bool writes_or_syncs(std::string_view call) {
    return begins_with_any(call, {"pwrite", "fdatasync", "fsync", "fallocate", "ftruncate"});
}

bool names_files(std::string_view call) { return begins_with_any(call, {"rename", "link", "unlink"}); }

/// Which calls can fail so, as their man pages have it, and which code and which words of advice that is.
struct limit_case {
    const char* name;
    int code;
    errc reason;
    std::string_view advice;
    bool (*concerns)(std::string_view call);
    // NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
    friend void PrintTo(const limit_case& each, std::ostream* out) { *out << each.name; }
};

bool opens(std::string_view call) { return begins_with_any(call, {"open", "memfd_create", "syscall"}); }

const limit_case k_limits[] = {
    {"EFBIG", EFBIG, errc::no_space, "ulimit -f",
     [](std::string_view call) {
         return begins_with_any(call, {"pwrite", "fallocate", "ftruncate"}) && call != "fallocate to punch" &&
                call != "ftruncate to cut off";
     }},
    {"EMFILE", EMFILE, errc::no_space, "ulimit -n", opens},
    {"ENFILE", ENFILE, errc::no_space, "ulimit -n", opens},
    {"ENOMEM", ENOMEM, errc::no_memory, "memory",
     [](std::string_view call) { return begins_with_any(call, {"mmap", "mremap", "mprotect", "memfd_create"}); }},
    {"EDQUOT", EDQUOT, errc::no_space, "quota",
     [](std::string_view call) {
         return (writes_or_syncs(call) && call != "ftruncate to cut off") || call == "rename" || call == "link" ||
                call == "open";
     }},
    {"EROFS", EROFS, errc::read_only_file_system, "writable",
     [](std::string_view call) { return writes_or_syncs(call) || names_files(call) || call == "open"; }},
    {"EACCES", EACCES, errc::permission_denied, "access",
     [](std::string_view call) { return names_files(call) || call == "open" || call == "stat"; }},
};

/// Another process that shares the heap, and sets all of its numbers to each byte that it is sent.
class other_sharer {
public:
    other_sharer(const std::filesystem::path& path, const heap_options& how) {
        EXPECT_EQ(::pipe(orders_), 0);
        EXPECT_EQ(::pipe(answers_), 0);
        id_ = ::fork();
        if (id_ != 0) {
            commit(0);
            return;
        }
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        heap h = heap::open(path, how);
        auto& all = h.root<limited_numbers>("numbers", 10'000U);
        char order = 0;
        while (::read(orders_[0], &order, 1) == 1) {
            h.write([&] { std::ranges::fill(all, order); });
            (void)!::write(answers_[1], &order, 1);
        }
        ::_exit(0);
    }
    ~other_sharer() {
        ::kill(id_, SIGKILL);
        ::waitpid(id_, nullptr, 0);
        for (const int each : {orders_[0], orders_[1], answers_[0], answers_[1]})
            ::close(each);
    }
    other_sharer(const other_sharer&) = delete;
    other_sharer& operator=(const other_sharer&) = delete;
    void commit(char value) const {
        EXPECT_EQ(::write(orders_[1], &value, 1), 1);
        EXPECT_EQ(::read(answers_[0], &value, 1), 1);
    }

private:
    int orders_[2]{};
    int answers_[2]{};
    pid_t id_ = 0;
};

/// A program that goes on after each error, and makes the call again.
class limited_program {
public:
    limited_program(const std::filesystem::path& where, const limit_case& given)
        : path_(where / "heap"), given_(given) {}

    /// A heap of its own, with a history.
    void live_alone() {
        options_.history = {.steps_max = 20, .kept_over_sessions = true};
        does([&] { (void)numbers(); });
        for (const std::size_t size : {100U, 40'000U, 40'000U, 100'000U})
            writes(size);
        sets([&](std::uint64_t to) { opened().write(durability::none, [&] { std::ranges::fill(numbers(), to); }); });
        does([&] { opened().sync(); });
        does([&] { opened().checkpoint(); });
        writes(299);
        writes(300);
        const std::uint64_t newest = value_;
        goes_to(newest - 1, [&] { opened().undo(); });
        goes_to(newest, [&] { opened().redo(); });
        does([&] {
            if (opened().versions().empty())
                opened().keep("kept");
        });
        writes(50'000);
        closes();
        looks();
        writes(10);
        does([&] {
            if (!opened().versions().empty())
                opened().drop("kept");
        });
        does([&] { opened().remove_root<limited_numbers>("numbers"); });
        closes();
        is_left_empty_ = true;
    }

    /// The first process that shares a heap, and the last.
    void live_as_first() {
        options_.access = sharing::processes;
        options_.history = {.steps_max = 20, .kept_over_sessions = true};
        does([&] { (void)numbers(); });
        for (const std::size_t size : {100U, 40'000U, 40'000U})
            writes(size);
        does([&] { opened().checkpoint(); });
        writes(4);
        writes(5);
        goes_to(value_ - 1, [&] { opened().undo(); });
        closes();
        writes(6);
        closes();
    }

    /// One of several.
    void live_beside(const other_sharer& other, const heap_options& how) {
        options_ = how;
        for (char value = 1; value != 6; ++value) {
            quietly([&] { other.commit(value); });
            does([&] { opened().read([&] { expect(numbers().front() == static_cast<std::uint64_t>(value)); }); });
            quietly([&] { other.commit(value); });
            if (!how.read_only)
                writes(10'000);
            if (value == 3)
                closes();
            if (is_poisoned_)
                return; // the others, too
        }
        if (!how.read_only)
            does([&] { opened().checkpoint(); });
        closes();
        plan.armed = false;
    }

    [[nodiscard]] std::uint64_t heard() const { return heard_; }
    [[nodiscard]] bool is_poisoned() const { return is_poisoned_; }

    /// What is left can be used, and holds what was acknowledged.
    void check_what_is_left() {
        h_.reset();
        plan.armed = false;
        heap h = heap::open(path_, options_);
        EXPECT_TRUE(h.verify().clean());
        const limited_numbers* const all = h.find_root<limited_numbers>("numbers");
        if (!is_poisoned_) { // else it may have been removed or not
            EXPECT_EQ(all == nullptr, is_left_empty_);
        }
        if (all != nullptr && !all->empty() && options_.access == sharing::exclusive) {
            EXPECT_EQ(all->back(), value_);
        }
    }

private:
    heap& opened() {
        if (!h_)
            h_.emplace(heap::open(path_, options_));
        return *h_;
    }
    limited_numbers& numbers() {
        return options_.read_only ? *opened().find_root<limited_numbers>("numbers")
                                  : opened().root<limited_numbers>("numbers");
    }
    static void expect(bool truth) { EXPECT_TRUE(truth) << plan.struck; }

    template <class F>
    static void quietly(const F& f) {
        const bool was_armed = std::exchange(plan.armed, false);
        f();
        plan.armed = was_armed;
    }

    /// What fails once succeeds when it is done again.
    template <class F>
    void does(const F& f) {
        if (is_poisoned_ && options_.access == sharing::processes)
            return; // in all processes
        for (int attempt = 0; attempt != 3; ++attempt) {
            if (plan.struck.empty()) // a call that was struck may return, and the next one say what became of the heap
                plan.has_written = false;
            try {
                f();
                return;
            } catch (const error& e) {
                hear(e);
            } catch (const std::bad_alloc&) {
                ++heard_;
                EXPECT_EQ(given_.code, ENOMEM) << plan.struck;
            }
            EXPECT_NE(plan.struck, "");
            if (is_poisoned_ && options_.access == sharing::processes)
                return;
        }
        ADD_FAILURE() << plan.struck << " failed once, and the program three times";
    }

    void hear(const error& e) {
        ++heard_;
        const std::string_view text = e.what();
        const bool poisons = e.reason() == errc::poisoned ||
                             text.find("is not whole") != text.npos || // or it is closed
                             (h_ && h_->is_open() && is_engine_poisoned());
        if (!poisons) {
            EXPECT_EQ(e.os_error(), given_.code) << plan.struck << ": " << e.what();
            // Of these nobody knows what they have done.
            const bool is_open_what = begins_with_any(plan.struck, {"fdatasync", "fsync", "pwrite"});
            EXPECT_TRUE(e.reason() == given_.reason || is_open_what) << plan.struck << ": " << e.what();
            EXPECT_TRUE(is_open_what || std::string_view(e.what()).find(given_.advice) != std::string_view::npos)
                << plan.struck << ": " << e.what();
            return;
        }
        is_poisoned_ = true;
        EXPECT_TRUE(begins_with_any(plan.struck, {"pwrite", "fdatasync", "fsync"}) || plan.has_written)
            << plan.struck << " poisons, and nothing was written: " << e.what();
        EXPECT_TRUE(e.reason() == errc::poisoned || e.reason() == errc::io) << e.what();
        const bool blames_device = std::string_view(e.what()).find("granted the space") != std::string_view::npos;
        EXPECT_TRUE(given_.code == EDQUOT || !blames_device) << e.what();
        h_.reset();
    }
    bool is_engine_poisoned() { return detail::impl_of(*h_).engine().is_poisoned(); }

    /// `set` changes all numbers to what it is given.
    template <class F>
    void sets(const F& set) {
        const std::uint64_t to = ++next_;
        does([&] { set(to); });
        value_ = to;
    }
    void writes(std::size_t size) {
        sets([&](std::uint64_t to) {
            limited_numbers& all = numbers();
            opened().write([&] { all.assign(size, to); });
        });
    }
    /// Unless the first attempt has done it all the same.
    template <class F>
    void goes_to(std::uint64_t value, const F& f) {
        does([&] {
            if (numbers().back() != value)
                f();
        });
        value_ = value;
    }
    void closes() {
        does([&] {
            if (h_ && h_->is_open())
                h_->close();
        });
        h_.reset();
    }
    /// As rem does, and as one who opens an old version.
    void looks() {
        does([&] { (void)inspect::who_uses(path_); });
        does([&] {
            heap_options old{.memory = {.reserve_bytes = 64 << 20}};
            old.read_only = true;
            old.kept_version = "kept";
            const heap h = heap::open(path_, old);
            expect(h.find_root<limited_numbers>("numbers") != nullptr);
        });
    }

    std::filesystem::path path_;
    const limit_case& given_;
    heap_options options_{.log = {.log_limit_bytes = 3 << 10},
                          .memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}};
    std::optional<heap> h_;
    std::uint64_t next_ = 0;
    std::uint64_t value_ = 0;
    std::uint64_t heard_ = 0;
    bool is_poisoned_ = false;
    bool is_left_empty_ = false;
};

class limits_met : public testing::TestWithParam<limit_case> {
protected:
    /// Runs `live` until no call is left to fail.
    void sweep(const char* what, const std::function<void(limited_program&, const std::filesystem::path&)>& live) {
        const limit_case given = GetParam();
        std::map<std::string, std::uint64_t> poisoned;
        std::uint64_t heard = 0;
        std::uint64_t n = 0;
        for (const std::uint64_t stride = stride_of_faults(given.code == ENFILE   ? 7
                                                           : given.code == ENOMEM ? 3
                                                                                  : 1);
             ; n += stride) {
            SCOPED_TRACE(std::string(given.name) + ", " + what + ", call " + std::to_string(n));
            const auto dir = test::temp_dir::in_memory();
            limited_program program(dir.path(), given);
            plan = {.code = given.code, .left = n, .concerns = given.concerns};
            live(program, dir.path());
            plan.armed = false;
            program.check_what_is_left();
            heard += program.heard();
            if (program.is_poisoned())
                poisoned[plan.struck]++;
            if (plan.struck.empty()) {
                EXPECT_EQ(program.heard(), 0U);
                break;
            }
            if (HasFailure())
                return;
        }
        EXPECT_GT(n, 0U);
        std::cout << given.name << ", " << what << ": " << n << " calls, " << heard << " errors; poisoned by";
        for (const auto& [call, times] : poisoned)
            std::cout << ' ' << call << " ×" << times;
        std::cout << '\n';
    }
};

TEST_P(limits_met, alone_have_their_code_and_advice) {
    sweep("alone", [](limited_program& program, const std::filesystem::path&) {
        plan.armed = true;
        program.live_alone();
    });
}

TEST_P(limits_met, by_the_first_of_a_shared_heap_have_their_code_and_advice) {
    sweep("first", [](limited_program& program, const std::filesystem::path&) {
        plan.armed = true;
        program.live_as_first();
    });
}

TEST_P(limits_met, beside_others_have_their_code_and_advice) {
    if (GetParam().code == EFBIG)
        GTEST_SKIP() << "the file is long enough already";
    heap_options how{.access = sharing::processes, .memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}};
    how.log.log_limit_bytes = 100 << 10;
    sweep("beside others", [&](limited_program& program, const std::filesystem::path& where) {
        const other_sharer other(where / "heap", how);
        plan.armed = true;
        program.live_beside(other, how);
    });
}

TEST_P(limits_met, by_a_guest_have_their_code_and_advice) {
    heap_options how{.access = sharing::processes, .memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}};
    heap_options guest = how;
    guest.read_only = true;
    if (GetParam().code == EFBIG)
        GTEST_SKIP() << "a guest writes nothing";
    sweep("guest", [&](limited_program& program, const std::filesystem::path& where) {
        const other_sharer other(where / "heap", how);
        plan.armed = true;
        program.live_beside(other, guest);
    });
}

INSTANTIATE_TEST_SUITE_P(each, limits_met, testing::ValuesIn(k_limits),
                         [](const auto& instance) { return std::string(instance.param.name); });

} // namespace
} // namespace remanence::faults
