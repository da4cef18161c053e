// What the tests of the public API share: a heap with known contents, ways to damage its file, and expectations about
// errors. The files are edited with the structs of src/format, so that only what a test means is wrong with them.
#pragma once

#include "base/checksum.hpp"
#include "base/units.hpp"
#include "format/superblock.hpp"
#include "support/temp_dir.hpp"

#include <remanence/remanence.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

namespace remanence::test {

namespace fs = std::filesystem;
using numbers = vector<std::uint64_t>;
using names = map<string, std::uint64_t>;

/// Small, so that hundreds can be open one after the other. A random base, as users have it.
inline heap_options small_heap() { return {.memory = {.reserve_bytes = 64 * MiB}}; }

inline fs::path log_of(const fs::path& heap) { return heap.string() + "-log"; }
inline fs::path new_of(const fs::path& heap) { return heap.string() + "-new"; }

inline void put_contents(heap& h) {
    h.write([&] {
        auto& list = h.root<numbers>("numbers");
        for (std::uint64_t i = 0; i < 1000; ++i)
            list.push_back(i * i);
        auto& index = h.root<names>("names");
        index["a name that is too long for the small string buffer"] = 7;
    });
}

inline testing::AssertionResult has_contents(heap& h) {
    auto* list = h.find_root<numbers>("numbers");
    auto* index = h.find_root<names>("names");
    if (list == nullptr || index == nullptr)
        return testing::AssertionFailure() << "a root is missing";
    if (list->size() != 1000)
        return testing::AssertionFailure() << list->size() << " numbers";
    for (std::uint64_t i = 0; i < 1000; ++i) {
        if ((*list)[i] != i * i)
            return testing::AssertionFailure() << "number " << i << " is " << (*list)[i];
    }
    if (index->size() != 1 || index->begin()->second != 7)
        return testing::AssertionFailure() << "the names are wrong";
    auto report = h.verify();
    if (!report.clean())
        return testing::AssertionFailure() << "verify: " << report.problems.front().what;
    return testing::AssertionSuccess();
}

inline testing::AssertionResult file_has_contents(const fs::path& path) {
    heap h = heap::open_existing(path, small_heap());
    auto outcome = has_contents(h);
    h.close();
    return outcome;
}

/// A heap with contents, closed cleanly.
inline fs::path make_heap(const fs::path& path) {
    heap h = heap::create(path, small_heap());
    put_contents(h);
    h.close();
    return path;
}

/// A heap with contents as a killed process leaves it: not closed, its commits in the log. `more` commits follow.
inline fs::path make_crashed_heap(const fs::path& path, int more = 0) {
    fs::path running = path.string() + ".running";
    {
        heap h = heap::create(running, small_heap());
        put_contents(h);
        for (int i = 0; i < more; ++i) {
            h.write([&] { h.root<std::uint64_t>("more") = static_cast<std::uint64_t>(i) + 1; });
        }
        fs::copy_file(running, path);
        fs::copy_file(log_of(running), log_of(path));
    }
    fs::remove(running);
    return path;
}

inline std::vector<char> read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const fs::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

inline void flip_byte(const fs::path& path, std::uint64_t offset) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    auto byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
}

/// the current superblock, and its place.
inline format::superblock newest_superblock(const fs::path& path) {
    std::array<format::superblock, 2> both{};
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(both.data()), sizeof both);
    return both[0].sequence > both[1].sequence ? both[0] : both[1];
}

/// Changes the current superblock and gives it a fitting checksum.
inline void edit_superblock(const fs::path& path, const std::function<void(format::superblock&)>& change) {
    format::superblock s = newest_superblock(path);
    const std::uint64_t place = s.sequence % 2;
    change(s);
    s.checksum = checksum64(std::as_bytes(std::span(&s, 1)).first(offsetof(format::superblock, checksum)), place);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(place * format::k_superblock_bytes));
    file.write(reinterpret_cast<const char*>(&s), sizeof s);
}

/// What a caller sees of an error.
struct caught {
    errc code{};
    std::string what;
    std::string path;
    int os_error = 0;
    std::uint64_t offset = error::k_no_offset;
};

template <class F>
std::optional<caught> error_of(F&& f) {
    try {
        std::forward<F>(f)();
    } catch (const error& e) {
        return caught{e.reason(), e.what(), e.path(), e.os_error(), e.offset()};
    } catch (const heap_exhausted& e) {
        return caught{errc::exhausted, e.what(), {}, 0, error::k_no_offset};
    }
    return std::nullopt;
}

/// Its code; none: nothing was thrown.
template <class F>
errc reason_of(F&& f) {
    const auto got = error_of(std::forward<F>(f));
    return got ? got->code : errc{};
}

/// An error with this code, whose text names the file and says what to do.
inline testing::AssertionResult is_error(const std::optional<caught>& got, errc code, const fs::path& file,
                                         std::string_view advice) {
    if (!got)
        return testing::AssertionFailure() << "nothing was thrown";
    if (got->code != code)
        return testing::AssertionFailure() << make_error_code(got->code).message() << ": " << got->what;
    if (got->what.find(file.string()) == std::string::npos)
        return testing::AssertionFailure() << "the file is not named: " << got->what;
    if (got->what.find(advice) == std::string::npos)
        return testing::AssertionFailure() << "no advice \"" << advice << "\": " << got->what;
    return testing::AssertionSuccess() << got->what;
}

template <class F>
std::optional<caught> error_of_opening(const fs::path& path, F&& change) {
    heap_options options = small_heap();
    change(options);
    return error_of([&] { heap::open_existing(path, options); });
}
inline std::optional<caught> error_of_opening(const fs::path& path) {
    return error_of_opening(path, [](heap_options&) {});
}

/// Runs `f` in a forked child, and returns what it returned; "killed by signal n" when it did not come to that.
inline std::string in_child(const std::function<std::string()>& f) {
    int ends[2];
    if (::pipe(ends) != 0)
        return "no pipe";
    const pid_t child = ::fork();
    if (child == 0) {
        std::string text;
        try {
            text = f();
        } catch (const std::exception& e) {
            text = std::string("exception: ") + e.what();
        }
        if (::write(ends[1], text.data(), text.size()) < 0)
            ::_exit(1);
        ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
        return "killed by signal " + std::to_string(WTERMSIG(status));
    return text;
}

/// As in_child(), and as a user whom permissions bind (root is not).
inline std::string as_nobody(const std::function<std::string()>& f) {
    return in_child([&]() -> std::string {
        constexpr uid_t k_nobody = 65534;
        if (::geteuid() == 0 && (::setgid(k_nobody) != 0 || ::setuid(k_nobody) != 0))
            return "cannot become another user";
        ::prctl(PR_SET_DUMPABLE, 1); // a process that changed its user may not look at /proc/self/pagemap otherwise
        return f();
    });
}

/// From now on no thread can be started. For as_nobody(): root has no such limit.
inline void refuse_threads() {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0)
        throw std::runtime_error("no limit of threads");
    try {
        std::thread([] {}).join();
    } catch (const std::system_error&) {
        return;
    }
    throw std::runtime_error("threads can be started");
}

/// "reason number: text", or "nothing thrown": what a child tells of an attempt.
template <class F>
std::string told(F&& f) {
    auto got = error_of(std::forward<F>(f));
    return got ? std::to_string(static_cast<int>(got->code)) + ": " + got->what : "nothing thrown";
}

/// Keeps heaps from these addresses, or from the file's own.
class taken_addresses {
public:
    explicit taken_addresses(void* base)
        : got_(::mmap(base, MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0)) {
        EXPECT_NE(got_, MAP_FAILED);
    }
    explicit taken_addresses(const fs::path& file)
        : taken_addresses(reinterpret_cast<void*>(newest_superblock(file).base)) {}
    taken_addresses(const taken_addresses&) = delete;
    taken_addresses& operator=(const taken_addresses&) = delete;
    ~taken_addresses() { ::munmap(got_, MiB); }

private:
    void* got_;
};

} // namespace remanence::test
