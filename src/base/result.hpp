// result<T>: a value, or the reason why there is none. Every function that can fail because of the environment returns
// one; only src/api converts it to an exception. Depends only on the public error codes.
#pragma once

#include <remanence/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace remanence {

/// Why an operation failed, in words for the user.
struct failure {
    errc code;
    std::string message;                       // names the operation and what the user should do
    std::string path{};                        // the file concerned
    int os_error = 0;                          // errno, if a system call failed
    std::uint64_t offset = error::k_no_offset; // byte offset in that file
};

/// True if the system refused a call before it did anything, because of a limit or a missing right. The caller may try
/// again after the cause is removed. This tells nothing about earlier writes.
[[nodiscard]] constexpr bool is_refusal(errc code) noexcept {
    return code == errc::no_space || code == errc::no_memory || code == errc::permission_denied ||
           code == errc::read_only_file_system;
}

/// An error to be returned to the caller. One pointer wide, so that a result<T> stays small.
class [[nodiscard]] unexpected {
public:
    explicit unexpected(failure why) : why_(std::make_unique<failure>(std::move(why))) {}
    [[nodiscard]] const failure& why() const { return *why_; }
    [[nodiscard]] failure& why() { return *why_; }

private:
    std::unique_ptr<failure> why_;
};

[[gnu::cold]] unexpected fail(errc code, std::string message, std::string path = {}, int os_error = 0,
                              std::uint64_t offset = error::k_no_offset);

template <class T>
class [[nodiscard]] result {
public:
    result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
    result(unexpected why) : state_(std::in_place_index<1>, std::move(why)) {} // NOLINT(google-explicit-constructor)

    explicit operator bool() const { return state_.index() == 0; }
    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }

    /// Moves the error out, for returning it to the caller.
    unexpected error() { return std::move(std::get<1>(state_)); }
    [[nodiscard]] const failure& why() const { return std::get<1>(state_).why(); }

private:
    std::variant<T, unexpected> state_;
};

template <>
class [[nodiscard]] result<void> {
public:
    result() = default;
    result(unexpected why) : why_(std::move(why)) {} // NOLINT(google-explicit-constructor)

    explicit operator bool() const { return !why_; }
    unexpected error() { return std::move(*why_); }
    [[nodiscard]] const failure& why() const { return why_->why(); }

private:
    std::optional<unexpected> why_;
};

/// Returns from the enclosing function if `expression` failed, with its error. The variable's name contains the line
/// number, since the expression may be a lambda that uses this macro itself.
#define REM_TRY(expression) REM_TRY_NAMED(expression, REM_TRY_JOIN(rem_try_, __LINE__))
#define REM_TRY_JOIN(a, b) REM_TRY_JOIN_EXPANDED(a, b)
#define REM_TRY_JOIN_EXPANDED(a, b) a##b
// NOLINTBEGIN(bugprone-macro-parentheses): `name` is declared
#define REM_TRY_NAMED(expression, name)                                                                                \
    do {                                                                                                               \
        if (auto name = (expression); !name)                                                                           \
            return name.error();                                                                                       \
    } while (false)
// NOLINTEND(bugprone-macro-parentheses)

} // namespace remanence
