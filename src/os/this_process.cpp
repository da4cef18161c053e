#include "os/this_process.hpp"

#include "os/descriptor.hpp"
#include "os/limits.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

namespace remanence::os {

int process_number() noexcept { return ::getpid(); }

int thread_number() noexcept {
    static thread_local int number = 0;
    if (number == 0)
        number = static_cast<int>(::syscall(SYS_gettid));
    return number;
}

std::string program_name() {
    std::string name;
    (void)text_lines("/proc/self/comm").next(name);
    return name;
}

result<std::array<std::uint8_t, 16>> boot_number() {
    constexpr const char* k_path = "/proc/sys/kernel/random/boot_id";
    std::string text;
    errno = 0;
    const bool is_read = text_lines(k_path).next(text);
    const int code = errno;
    if (const auto met = limit_met(code); !is_read && met)
        return fail(met->code,
                    std::string("cannot open ") + k_path + ": " + std::strerror(code) + ". " + std::string(met->advice),
                    k_path, code);
    if (!is_read && code == EACCES)
        return fail(errc::permission_denied,
                    std::string("cannot open ") + k_path + ": " + std::strerror(code) +
                        ". Give this process access to it, or open the heap exclusively.",
                    k_path, code);
    std::erase(text, '-');
    std::array<std::uint8_t, 16> number{};
    bool is_whole = text.size() == 2 * number.size();
    for (std::size_t i = 0; is_whole && i < number.size(); ++i) {
        const char* const digits = text.data() + 2 * i;
        const auto [end, wrong] = std::from_chars(digits, digits + 2, number[i], 16);
        is_whole = wrong == std::errc{} && end == digits + 2;
    }
    if (!is_whole)
        return fail(
            errc::not_supported,
            std::string("cannot read ") + k_path +
                ", which tells one start of the machine from another. Mount /proc, or open the heap exclusively.",
            k_path);
    return number;
}

std::uint64_t coarse_time() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

} // namespace remanence::os
