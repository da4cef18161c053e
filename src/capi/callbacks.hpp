// Functions of the caller that a call runs, and what they may do to the sections of this call. They cannot end a
// section that the call began. A section that they began and left open is rolled back.
#pragma once

#include "api/heap_impl.hpp"

#include <cstddef>
#include <type_traits>

namespace remanence::capi {

/// While it lives, the thread runs a function of the caller. These objects nest.
class callback {
public:
    explicit callback(detail::heap_impl& of);
    ~callback();
    callback(const callback&) = delete;
    callback& operator=(const callback&) = delete;

    /// To be called when the function has returned. If this call is in a section, the sections that the function left
    /// open are rolled back, or ended; then throws errc::section_open.
    void end() const;

    // Count the sections of this thread that its innermost function on the heap began; or all sections, if no function
    // runs.

    [[nodiscard]] static std::size_t writes_within(const detail::heap_impl& of);
    [[nodiscard]] static std::size_t reads_within(const detail::heap_impl& of);
    /// Throws errc::section_open if this thread is in such a function of the heap.
    static void refuse_close(const detail::heap_impl& of);

private:
    [[nodiscard]] static const callback* innermost_of(const detail::heap_impl& of) noexcept;

    detail::heap_impl& of_;
    std::size_t writes_;
    std::size_t reads_;
    callback* outer_;
};

/// Calls a function of the caller.
template <class F>
auto call_back(detail::heap_impl& of, const F& f) {
    const callback here(of);
    if constexpr (std::is_void_v<decltype(f())>) {
        f();
        here.end();
    } else {
        const auto answer = f();
        here.end();
        return answer;
    }
}

} // namespace remanence::capi
