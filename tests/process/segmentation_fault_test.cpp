// A write to a heap that is open read-only, and a use of one that was closed, end the process with SIGSEGV. The message on
// stderr says what happened, and a handler of the program's gets the signal as it would without us.

#include "unit/api/fixture.hpp"

#include <sys/resource.h>

#include <csignal>

namespace remanence::test {
namespace {

extern "C" void leave_by_signal(int /*signal*/) { ::_exit(7); }

std::uint64_t value_of(const volatile std::uint64_t& number) { return number; }

// The sanitizers have a handler of their own for SIGSEGV, which ends the process in another way.
class segmentation_fault_no_sanitizer : public testing::Test {
protected:
    /// How a child ends that runs `f`, with its standard error in said() and no core file.
    [[nodiscard]] std::string end_of(const std::function<void()>& f) const {
        return in_child([&] {
            const rlimit none{};
            ::setrlimit(RLIMIT_CORE, &none);
            const int messages = ::open(stderr_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
            if (messages < 0 || ::dup2(messages, STDERR_FILENO) < 0)
                return std::string("no file for messages");
            f();
            return std::string("nothing happened");
        });
    }
    [[nodiscard]] std::string said() const {
        const auto bytes = read_file(stderr_);
        return {bytes.begin(), bytes.end()};
    }
    [[nodiscard]] testing::AssertionResult is_said(std::string_view first, std::string_view then) const {
        const std::string text = said();
        const bool is_first = text.starts_with(first);
        const bool names_heap = text.find(" heap " + heap_.string() + then.data()) != std::string::npos;
        if (!is_first || !names_heap)
            return testing::AssertionFailure() << text;
        return testing::AssertionSuccess();
    }

    const std::string killed_ = "killed by signal " + std::to_string(SIGSEGV);
    temp_dir dir_;
    fs::path stderr_ = dir_ / "stderr";
    fs::path heap_ = make_heap(dir_ / "h");
};

TEST_F(segmentation_fault_no_sanitizer, of_a_write_to_a_heap_that_is_read_only_says_so) {
    heap_options options = small_heap();
    options.read_only = true;
    EXPECT_EQ(end_of([&] {
                  const heap h = heap::open(heap_, options);
                  h.find_root<numbers>("numbers")->at(5) = 1;
              }),
              killed_);
    EXPECT_TRUE(is_said("remanence: a write to 0x", ", which is open read-only. Open it without read_only"));
    EXPECT_TRUE(file_has_contents(heap_));
}

TEST_F(segmentation_fault_no_sanitizer, of_a_use_of_a_closed_heap_names_it) {
    for (const bool writes : {false, true}) {
        EXPECT_EQ(end_of([&] {
                      heap h = heap::open(heap_, small_heap());
                      volatile std::uint64_t& number = h.find_root<numbers>("numbers")->at(5);
                      h.close();
                      if (writes)
                          number = 1;
                      else
                          static_cast<void>(value_of(number));
                  }),
                  killed_);
        EXPECT_TRUE(
            is_said("remanence: an access to 0x", " was until it was closed. What was committed is in the file."));
    }
}

TEST_F(segmentation_fault_no_sanitizer, of_a_closed_heap_names_the_last_one_at_these_addresses) {
    EXPECT_EQ(end_of([&] {
                  for (int i = 0; i < 100; ++i)
                      heap::open(heap_, small_heap()).close();
                  const fs::path copy = dir_ / "copy";
                  fs::copy_file(heap_, copy);
                  heap::open(copy, small_heap()).close();
                  heap h = heap::open(heap_, small_heap());
                  const volatile std::uint64_t& number = h.find_root<numbers>("numbers")->at(5);
                  h.close();
                  heap::create(dir_ / "other", small_heap()).close();
                  static_cast<void>(value_of(number));
              }),
              killed_);
    EXPECT_TRUE(is_said("remanence: an access to 0x", " was until it was closed."));
}

TEST_F(segmentation_fault_no_sanitizer, goes_to_the_handler_of_the_program_after_the_message) {
    EXPECT_EQ(end_of([&] {
                  std::signal(SIGSEGV, leave_by_signal);
                  heap h = heap::open(heap_, small_heap());
                  const volatile std::uint64_t& number = h.find_root<numbers>("numbers")->at(5);
                  h.close();
                  static_cast<void>(value_of(number));
              }),
              "");
    EXPECT_TRUE(is_said("remanence: an access to 0x", " was until it was closed."));
}

TEST_F(segmentation_fault_no_sanitizer, elsewhere_is_not_ours) {
    EXPECT_EQ(end_of([&] {
                  heap::open(heap_, small_heap()).close();
                  void* const page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                  *static_cast<volatile char*>(page) = 1;
              }),
              killed_);
    EXPECT_EQ(said(), "");
    EXPECT_EQ(end_of([&] {
                  const heap h = heap::open(heap_, small_heap());
                  std::raise(SIGSEGV);
              }),
              killed_);
    EXPECT_EQ(said(), "");
}

} // namespace
} // namespace remanence::test
