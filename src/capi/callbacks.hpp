// Functions of the caller's that a call runs: what they may not do to the sections that this call is in. A section that the call began is
// not theirs to end, and one that they began and left open is rolled back.
#pragma once

#include "api/heap_impl.hpp"

#include <cstddef>
#include <type_traits>

namespace remanence::capi {

/// While it lives, the thread runs a function of the caller's. They nest.
class callback {
public:
    explicit callback(detail::heap_impl& of);
    ~callback();
    callback(const callback&) = delete;
    callback& operator=(const callback&) = delete;

    /// The function has returned. Where this call is in a section, those that the function has left open are rolled back, or ended: throws
    /// errc::section_open then.
    void end() const;

    // Sections of this thread that its innermost function on the heap began, or all, if none runs.

    [[nodiscard]] static std::size_t writes_within(const detail::heap_impl& of);
    [[nodiscard]] static std::size_t reads_within(const detail::heap_impl& of);
    /// Throws errc::section_open when this thread is in such a function of the heap.
    static void refuse_close(const detail::heap_impl& of);

private:
    [[nodiscard]] static const callback* innermost_of(const detail::heap_impl& of) noexcept;

    detail::heap_impl& of_;
    std::size_t writes_;
    std::size_t reads_;
    callback* outer_;
};

/// Calls a function of the caller's.
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
