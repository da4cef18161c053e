// Functions of the caller that a call of this library runs (callbacks), and what they may do to sections. A callback
// cannot end a section that the call began. If a callback begins a section and leaves it open, that section is rolled
// back.
#pragma once

#include "api/heap_impl.hpp"

#include <cstddef>
#include <type_traits>

namespace remanence::capi {

/// While such an object lives, its thread runs a callback. These objects nest.
class callback {
public:
    explicit callback(detail::heap_impl& of);
    ~callback();
    callback(const callback&) = delete;
    callback& operator=(const callback&) = delete;

    /// Must be called when the callback has returned. If the call was in a section, and the callback left sections
    /// open, rolls back or ends these, and throws errc::section_open.
    void end() const;

    // Count the sections of this thread that the innermost callback on the heap began; if no callback runs, all
    // sections of this thread.

    [[nodiscard]] static std::size_t writes_within(const detail::heap_impl& of);
    [[nodiscard]] static std::size_t reads_within(const detail::heap_impl& of);
    /// Throws errc::section_open if this thread runs a callback on the heap.
    static void refuse_close(const detail::heap_impl& of);

private:
    [[nodiscard]] static const callback* innermost_of(const detail::heap_impl& of) noexcept;

    detail::heap_impl& of_;
    std::size_t writes_;
    std::size_t reads_;
    callback* outer_;
};

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
