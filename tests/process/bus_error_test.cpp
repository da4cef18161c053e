// Pages that the file does not have any more, because another program truncated it or the device fails, end the process
// with SIGBUS. The message on stderr is all that its user hears of it.

#include "unit/api/fixture.hpp"

#include <sys/resource.h>

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

} // namespace
} // namespace remanence::test
