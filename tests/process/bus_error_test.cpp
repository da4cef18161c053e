// Pages that the file does not have any more, because another program truncated it or the device fails, end the process
// with SIGBUS. The message on stderr is all that its user hears of it.

#include "unit/api/fixture.hpp"

#include <sys/resource.h>

#include <csetjmp>
#include <csignal>

namespace remanence::test {
namespace {

// The sanitizers have a handler of their own for SIGBUS, which ends the process in another way.
class bus_error_no_sanitizer : public testing::Test {
protected:
    /// in_child(), with its standard error in said() and no core file.
    [[nodiscard]] std::string in_child_that_may_die(const std::function<std::string()>& f) const {
        return in_child([&] {
            const rlimit none{};
            ::setrlimit(RLIMIT_CORE, &none);
            const int messages = ::open(stderr_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
            if (messages < 0 || ::dup2(messages, STDERR_FILENO) < 0)
                return std::string("no file for messages");
            return f();
        });
    }
    [[nodiscard]] std::string said() const {
        const auto bytes = read_file(stderr_);
        return {bytes.begin(), bytes.end()};
    }

    const std::string killed_ = "killed by signal " + std::to_string(SIGBUS);
    temp_dir dir_;
    fs::path stderr_ = dir_ / "stderr";
    fs::path heap_ = make_heap(dir_ / "h");
};

template <class T>
std::string offset_of(const heap& h, const T& object) {
    return std::to_string(reinterpret_cast<const std::byte*>(&object) - static_cast<const std::byte*>(h.base()));
}

TEST_F(bus_error_no_sanitizer, names_the_heap_and_the_offset_of_the_page_that_a_truncation_took) {
    fs::copy_file(heap_, dir_ / "copy");
    for (const bool read_only : {false, true}) {
        std::string expected;
        {
            heap h = heap::open(heap_, small_heap()); // the addresses stay, so the child meets the same ones
            const auto& list = *h.find_root<numbers>("numbers");
            expected = "remanence: cannot read the heap " + heap_.string() + " at heap offset " +
                       offset_of(h, list[777]) + ": ";
            h.close();
        }
        EXPECT_EQ(in_child_that_may_die([&] {
                      heap_options options = small_heap();
                      options.read_only = read_only;
                      heap h = heap::open(heap_, options);
                      const auto& list = *h.find_root<numbers>("numbers");
                      const volatile std::uint64_t& number = list[777];
                      fs::resize_file(heap_, 8192);
                      return "read " + std::to_string(number);
                  }),
                  killed_);
        EXPECT_TRUE(said().starts_with(expected)) << said() << "instead of " << expected;
        EXPECT_NE(said().find("another program truncated the file"), std::string::npos) << said();
        EXPECT_TRUE(said().ends_with(".\n")) << said();
        fs::copy_file(dir_ / "copy", heap_, fs::copy_options::overwrite_existing);
        EXPECT_TRUE(file_has_contents(heap_));
    }
}

TEST_F(bus_error_no_sanitizer, names_the_right_one_of_several_heaps) {
    const fs::path other = make_heap(dir_ / "other");
    EXPECT_EQ(in_child_that_may_die([&] {
                  heap first = heap::open(heap_, small_heap());
                  heap second = heap::open(other, small_heap());
                  fs::resize_file(other, 8192);
                  first.find_root<numbers>("numbers")->at(5) = 5; // has all its pages
                  second.find_root<numbers>("numbers")->at(5) = 5;
                  return std::string("written");
              }),
              killed_);
    EXPECT_NE(said().find("the heap " + other.string() + " at"), std::string::npos) << said();
}

TEST_F(bus_error_no_sanitizer, says_nothing_of_memory_that_is_in_no_heap) {
    write_file(dir_ / "file", std::string(4096, 'x'));
    EXPECT_EQ(in_child_that_may_die([&] {
                  heap h = heap::open(heap_, small_heap());
                  const int fd = ::open((dir_ / "file").c_str(), O_RDONLY | O_CLOEXEC);
                  const auto* bytes =
                      static_cast<const volatile char*>(::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0));
                  fs::resize_file(dir_ / "file", 0);
                  return std::string(1, bytes[7]);
              }),
              killed_);
    EXPECT_EQ(said(), "");
}

// A program's own handler, which jumps out of the faults that it gets.
volatile std::sig_atomic_t handled = 0;
volatile std::sig_atomic_t blocked_in_handler = 0;
sigjmp_buf way_out;
struct sigaction next_handler{};

void jump_out(int, siginfo_t*, void*) {
    handled = handled + 1;
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    blocked_in_handler = (sigismember(&now, SIGBUS) == 1 ? 1 : 0) + (sigismember(&now, SIGUSR1) == 1 ? 2 : 0);
    siglongjmp(way_out, 1);
}
void jump_out_plainly(int) { jump_out(0, nullptr, nullptr); }
void ask_the_next(int signal, siginfo_t* info, void* context) {
    handled = handled + 1;
    if ((next_handler.sa_flags & SA_SIGINFO) != 0) {
        next_handler.sa_sigaction(signal, info, context);
    } else {
        ::_exit(98);
    }
}

void install(void (*handler)(int, siginfo_t*, void*), int flags = 0) {
    struct sigaction action{};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    ::sigaddset(&action.sa_mask, SIGUSR1);
    ::sigaction(SIGBUS, &action, &next_handler);
}

/// Reads a page that the file has lost, `times`. How often the program's handler was called.
int read_lost(const volatile std::uint64_t& number, int times) {
    static volatile int left = 0; // survives the jump
    handled = 0;
    left = times;
    while (left != 0) {
        left = left - 1;
        if (sigsetjmp(way_out, 1) == 0) [[maybe_unused]]
            const std::uint64_t value = number;
    }
    return handled;
}

struct program_with_handler {
    fs::path path;
    std::string run(const std::function<void()>& before, const std::function<void()>& after) const {
        before();
        heap h = heap::open(path, small_heap());
        after();
        const volatile std::uint64_t& number = (*h.find_root<numbers>("numbers"))[777];
        fs::resize_file(path, 8192);
        const int faults = read_lost(number, 3);
        handled = 0;
        if (sigsetjmp(way_out, 1) == 0)
            ::raise(SIGBUS);
        return std::to_string(faults) + " faults, " + std::to_string(handled) + " sent, blocked " +
               std::to_string(blocked_in_handler);
    }
};

int count_messages(const std::string& said) {
    int count = 0;
    for (std::size_t at = 0; (at = said.find("remanence: cannot read the heap", at)) != std::string::npos; ++at)
        ++count;
    return count;
}

TEST_F(bus_error_no_sanitizer, the_programs_handler_gets_each_one_after_ours_has_named_the_heap) {
    const program_with_handler program{heap_};
    EXPECT_EQ(in_child_that_may_die([&] { return program.run([] { install(jump_out); }, [] {}); }),
              "3 faults, 1 sent, blocked 3");
    EXPECT_EQ(count_messages(said()), 3) << said();
}

TEST_F(bus_error_no_sanitizer, the_programs_handler_is_called_as_it_asked_to_be) {
    const program_with_handler program{heap_};
    EXPECT_EQ(in_child_that_may_die([&] { return program.run([] { install(jump_out, SA_NODEFER); }, [] {}); }),
              "3 faults, 1 sent, blocked 2");
    fs::remove(heap_);
    make_heap(heap_);
    EXPECT_EQ(in_child_that_may_die([&] { return program.run([] { std::signal(SIGBUS, jump_out_plainly); }, [] {}); }),
              "3 faults, 1 sent, blocked 1");
    fs::remove(heap_);
    make_heap(heap_);
    EXPECT_EQ(in_child_that_may_die(
                  [&] { return program.run([] { install(jump_out, static_cast<int>(SA_RESETHAND)); }, [] {}); }),
              killed_)
        << "once, and then the process dies";
    EXPECT_EQ(count_messages(said()), 2) << said();
}

TEST_F(bus_error_no_sanitizer, a_handler_that_comes_later_goes_first_until_another_heap_is_opened) {
    const program_with_handler program{heap_};
    EXPECT_EQ(in_child_that_may_die([&] { return program.run([] {}, [] { install(jump_out); }); }),
              "3 faults, 1 sent, blocked 3");
    EXPECT_EQ(count_messages(said()), 0) << said();
    fs::remove(heap_);
    make_heap(heap_);
    const fs::path other = make_heap(dir_ / "other");
    EXPECT_EQ(in_child_that_may_die([&] {
                  std::optional<heap> second;
                  return program.run([] {},
                                     [&] {
                                         install(jump_out);
                                         second.emplace(heap::open(other, small_heap()));
                                     });
              }),
              "3 faults, 1 sent, blocked 3");
    EXPECT_EQ(count_messages(said()), 3) << said();
}

TEST_F(bus_error_no_sanitizer, handlers_that_call_each_other_come_to_an_end) {
    const program_with_handler program{heap_};
    EXPECT_EQ(in_child_that_may_die([&] { return program.run([] {}, [] { install(ask_the_next); }); }), killed_);
    EXPECT_EQ(count_messages(said()), 1) << said();
    fs::remove(heap_);
    make_heap(heap_);
    const fs::path other = make_heap(dir_ / "other");
    EXPECT_EQ(in_child_that_may_die([&] {
                  std::optional<heap> second;
                  return program.run([] {}, [&] { // ours, theirs, ours
                      install(ask_the_next);
                      second.emplace(heap::open(other, small_heap()));
                  });
              }),
              killed_);
    EXPECT_EQ(count_messages(said()), 1) << said();
}

} // namespace
} // namespace remanence::test
