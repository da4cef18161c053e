// Limits that the kernel keeps: of descriptors, of the size of files, of addresses. Whoever meets one hears which, and goes on once it is
// raised. tests/faults has each system call meet each limit.

#include "process/other_process.hpp"

#include <csignal>
#include <sys/resource.h>

#include <functional>
#include <new>
#include <string>
#include <string_view>

namespace remanence::test {
namespace {

/// While it lives.
class limited {
public:
    limited(__rlimit_resource of, rlim_t to) : of_(of) {
        ::getrlimit(of, &before_);
        const rlimit low{to, before_.rlim_max};
        ::setrlimit(of, &low);
    }
    ~limited() { ::setrlimit(of_, &before_); }
    limited(const limited&) = delete;
    limited& operator=(const limited&) = delete;

private:
    __rlimit_resource of_;
    rlimit before_{};
};

/// Runs `f` under higher and higher limits until nothing is wrong. What is thrown until then must have the code and the advice. Returns
/// what does not; empty: nothing, and there was at least one refusal.
std::string raised_until_it_works(__rlimit_resource of, rlim_t from, rlim_t step, errc code, std::string_view advice,
                                  const std::function<void()>& f) {
    int refusals = 0;
    for (rlim_t limit = from; limit < from + 2000 * step; limit += step) {
        std::optional<caught> got;
        bool lacked_memory = false;
        {
            const limited low(of, limit);
            try {
                got = error_of(f);
            } catch (const std::bad_alloc&) {
                lacked_memory = true;
            }
        }
        if (!got && !lacked_memory)
            return refusals > 0 ? "" : "the first limit was high enough";
        ++refusals;
        // An allocation for which the heap cannot grow throws heap_exhausted, a std::bad_alloc that has an advice.
        const bool has_code = got && (got->code == code || (got->code == errc::exhausted && code == errc::no_memory));
        if (lacked_memory ? code != errc::no_memory : !has_code || got->what.find(advice) == std::string::npos)
            return "limit " + std::to_string(limit) + ": " + (got ? got->what : "bad_alloc");
    }
    return "no limit is high enough";
}

void use(heap h) {
    auto& all = h.root<numbers>("numbers");
    h.write([&] { all.assign(50'000, 1); });
    h.checkpoint();
    h.write([&] { all.front() = 2; });
    h.close();
}

TEST(limits, of_descriptors_are_told_and_leave_all_as_it_was) {
    const temp_dir dir;
    for (const bool is_shared : {false, true}) {
        const fs::path path = dir / (is_shared ? "shared" : "alone");
        heap_options options = is_shared ? shared_heap() : small_heap();
        options.history = {.steps_max = 5, .kept_over_sessions = true};
        EXPECT_EQ(in_child([&] { // which has tried no tracker yet
                      return raised_until_it_works(RLIMIT_NOFILE, 3, 1, errc::no_space, "ulimit -n",
                                                   [&] { use(heap::open(path, options)); });
                  }),
                  "");
        EXPECT_TRUE(heap::open(path, small_heap()).verify().clean());
    }
}

// shared/cases/fsize.c: it was met by the extension of the file, poisoned the heap and blamed the device.
TEST(limits, of_the_size_of_files_are_met_before_anything_is_written) {
    const temp_dir dir;
    for (rlim_t limit = 300 * KiB; limit < 1500 * KiB; limit += 90 * KiB) {
        const fs::path path = dir / std::to_string(limit);
        EXPECT_EQ(in_child([&]() -> std::string {
                      ::signal(SIGXFSZ, SIG_IGN);
                      std::optional<heap> h;
                      int made = 0;
                      const auto add = [&] {
                          auto& all = h->root<map<int, string>>("all");
                          h->write([&] { all[made] = string(3000, 'x'); });
                          ++made;
                      };
                      std::optional<caught> got;
                      {
                          const limited low(RLIMIT_FSIZE, limit);
                          got = error_of([&] { h.emplace(heap::open(path, small_heap())); });
                          while (!got && made < 10'000)
                              got = error_of(add);
                      }
                      if (!got || got->code != errc::no_space || got->what.find("ulimit -f") == std::string::npos)
                          return got ? got->what : "nothing thrown";
                      if (!h)
                          return "";
                      add();
                      const std::size_t size = h->root<map<int, string>>("all").size();
                      const bool is_right = h->verify().clean() && size == static_cast<std::size_t>(made);
                      h->close();
                      return is_right ? "" : "what is left is wrong";
                  }),
                  "")
            << limit;
    }
}

TEST(limits_no_sanitizer, of_addresses_are_told_as_a_lack_of_memory) { // sanitizers take them all
    const temp_dir dir;
    make_heap(dir / "h");
    EXPECT_EQ(in_child([&] {
                  return raised_until_it_works(RLIMIT_AS, 1 * MiB, 4 * MiB, errc::no_memory, "ulimit -v",
                                               [&] { use(heap::open_existing(dir / "h", small_heap())); });
              }),
              "");
}

TEST(limits_no_sanitizer, of_addresses_are_a_lack_of_memory_to_who_allocates) {
    const temp_dir dir;
    EXPECT_EQ(in_child([&]() -> std::string {
                  heap h = heap::open(dir / "h", small_heap());
                  auto& all = h.root<numbers>("numbers", 10, 1U);
                  std::string what;
                  {
                      const limited low(RLIMIT_AS, 1 * GiB);
                      try {
                          h.write([&] { all.resize(GiB / sizeof(std::uint64_t)); });
                      } catch (const heap_exhausted& e) {
                          what = e.what();
                      }
                  }
                  if (what.find("ulimit -v") == std::string::npos)
                      return "the advice is: " + what;
                  h.write([&] { all.push_back(2); });
                  return all.size() == 11 && h.verify().clean() ? "" : "the heap is not as it was";
              }),
              "");
}

// A child has nothing of a shared heap: the death of who had it open is seen while the child lives.
TEST(sleeping_child, of_a_process_that_died_with_a_shared_heap_keeps_nobody_from_it) {
    const temp_dir dir;
    signals told;
    for (const bool has_joined : {false, true}) {
        const fs::path path = dir / (has_joined ? "joined" : "first");
        std::optional<heap> other;
        if (has_joined)
            other.emplace(heap::open(path, shared_heap()));
        const int base = has_joined ? 2 : 0;
        const auto dies = [&] {
            heap h = heap::open(path, shared_heap());
            auto& all = h.root<numbers>("numbers");
            h.write([&] { all.assign(10, 7); });
            if (::fork() == 0) {
                ::prctl(PR_SET_PDEATHSIG, 0);
                told.set(base);
                told.wait(base + 1);
                ::_exit(0);
            }
            told.wait(base);
            ::_exit(0);
        };
        if (has_joined) {
            other_process parent(*other, dies);
            EXPECT_EQ(parent.wait(), 0);
            other.reset();
        } else {
            other_process parent(dies);
            EXPECT_EQ(parent.wait(), 0);
        }
        for (const heap_options& options : {shared_heap(), small_heap()}) {
            heap h = heap::open(path, options);
            EXPECT_EQ(*h.find_root<numbers>("numbers"), numbers(10, 7U));
            h.close();
        }
        told.set(base + 1);
    }
}

} // namespace
} // namespace remanence::test
