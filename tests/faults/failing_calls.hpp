// Every reference of the library to these system calls leads here (the linker's --wrap), where one of them may fail instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

namespace remanence::faults {

inline constexpr int k_short = -1; // instead of an error: half is done

/// Memory that was closed to writers gets back what it had. The kernel may lack memory for that, but not for ever.
inline constexpr std::string_view k_opens = "mprotect to open again";

inline constexpr std::string_view k_maps = "mmap";

struct failing_calls {
    bool armed = false;
    bool from_then_on = false;
    int code = 0;
    std::uint64_t left = 0;                            // calls that succeed before one fails
    bool (*concerns)(std::string_view call) = nullptr; // the calls that count and fail; null: all
    std::string struck{};                              // the first call that failed
    bool has_written = false;                          // a pwrite has succeeded, since this was last set to false
    bool unreadable = false;        // a call failed by which files are read, the first one or a later one
    const void* unmapped = nullptr; // where an mmap failed
    std::thread::id unmapped_by{};
    bool mapped_at_once = false; // the thread's next mmap was there again, and did not fail
};
extern failing_calls plan;

} // namespace remanence::faults
