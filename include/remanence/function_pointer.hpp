// function_pointer<R(Args...)>: a pointer to a function that may be stored in a heap. Depends on the standard library
// only.
//
//     struct button {
//         rem::function_pointer<void(int)> on_click;
//     };
//     heap.root<button>("ok").on_click = &save_document; // void save_document(int)
//     heap.root<button>("ok").on_click(1);               // in this run, or in a later one
//
// A plain pointer to a function is the address of code, which lies elsewhere in the next run. A function_pointer is a
// number of 64 bits instead: a hash of the function's mangled name. Another build of the program, by another compiler,
// finds the function by that number, also if the function has moved to a shared library or from there.
//
// - Functions and static member functions have names, also those that are static or in an unnamed namespace. Refused are
//   lambdas and whatever else gets its name from the compiler; functions of which several have the same name, such as
//   static functions of two files or hidden functions of two modules; and functions whose names were stripped from the
//   program's file.
// - A name in C++ includes the types of the parameters. If they change, the function is another one, which is not found.
//   If only the result's type changes, or a function is extern "C", the new function is called nevertheless.
// - A linker may leave out functions that nothing refers to. Such a function is not found.
// - If the linker has folded identical functions (--icf=all), one of their names is stored, and a build that does not
//   fold them may call the other one.
#pragma once

#include <remanence/types/class_traits.hpp>
#include <remanence/types/detail/shape.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace remanence {

namespace detail {

// Null pointers are 0, as numbers and as addresses.

/// Throws if the function has no number.
[[nodiscard]] std::uint64_t number_of_function(std::uintptr_t address);
/// Throws if the program lacks the function.
[[nodiscard]] std::uintptr_t function_of_number(std::uint64_t number);
/// True if it is the function's number. A function without a number has none.
[[nodiscard]] bool has_number(std::uintptr_t address, std::uint64_t number);
[[nodiscard]] std::string name_of_function(std::uint64_t number);
[[noreturn]] void refuse_null_function();

} // namespace detail

/// A pointer to a function, for objects in heaps and elsewhere; null if default-constructed. `Signature` is R(Args...), as
/// that of std::function. A value of 8 bytes, the same in every run. Any thread may use it, as any other value.
template <class Signature>
class function_pointer;

/// The functions of a function_pointer.
template <class R, class... Args>
class function_pointer<R(Args...)> {
public:
    /// Makes a null pointer.
    constexpr function_pointer() noexcept = default;
    constexpr function_pointer(std::nullptr_t) noexcept {} // NOLINT(google-explicit-constructor)
    /// Points to a function. Throws errc::not_supported if the function has no name by which a later run would find it.
    /// The first call in a process reads the symbol tables of the program and its libraries, O(symbols); the first call
    /// for a function O(libraries · log symbols); then a few nanoseconds.
    function_pointer(R (*function)(Args...)) // NOLINT(google-explicit-constructor)
        : number_(detail::number_of_function(reinterpret_cast<std::uintptr_t>(function))) {}

    /// Calls the function. Throws errc::not_supported if this program has no such function, and errc::invalid_argument if
    /// the pointer is null. Complexity of finding the function: as that of the constructor.
    R operator()(Args... arguments) const {
        if (number_ == 0)
            detail::refuse_null_function();
        return get()(std::forward<Args>(arguments)...);
    }
    /// Returns the function's address in this process, which is valid until the function's library is unloaded; null if
    /// the pointer is null. Throws errc::not_supported if this program has no such function.
    [[nodiscard]] auto get() const -> R (*)(Args...) {
        return reinterpret_cast<R (*)(Args...)>(detail::function_of_number(number_));
    }
    /// True if the pointer is not null.
    [[nodiscard]] explicit constexpr operator bool() const noexcept { return number_ != 0; }

    /// Returns the number that is stored: what dumps show, and messages about a function that this program lacks.
    [[nodiscard]] constexpr std::uint64_t number() const noexcept { return number_; }
    /// Returns the readable name of the function; empty if the pointer is null. Throws as get() does. Reads a file.
    [[nodiscard]] std::string name() const { return detail::name_of_function(number_); }

    /// Compares names, not addresses: works in a program that lacks the function, too.
    friend constexpr bool operator==(const function_pointer&, const function_pointer&) noexcept = default;
    /// False if the function has no name by which it could be stored.
    friend bool operator==(const function_pointer& one, R (*function)(Args...)) {
        return detail::has_number(reinterpret_cast<std::uintptr_t>(function), one.number_);
    }

private:
    std::uint64_t number_ = 0;
};

/// Makes `rem::function_pointer p = f` possible.
template <class R, class... Args>
function_pointer(R (*)(Args...)) -> function_pointer<R(Args...)>;

template <class Signature>
struct class_traits<function_pointer<Signature>> {
    using parts = type_list<std::uint64_t>;
    static constexpr bool k_is_position_independent = true;
    static constexpr bool k_is_self_contained = true;

    struct members {
        static constexpr std::array<detail::write_type, 1> k_types{&detail::write_structure<std::uint64_t>};
        static constexpr detail::packed_names<1, 6> k_names{"number", {6}};
        static constexpr std::size_t k_count = 1;
        static constexpr bool k_is_own = false;
        static void locate(std::uintptr_t place, const volatile void** into) {
            into[0] = reinterpret_cast<const volatile void*>(place);
        }
    };
    struct shape : detail::shape_of_members<members> {};
};

} // namespace remanence

/// Hashes the number, so that unordered containers and hash_map may have such keys.
template <class Signature>
struct std::hash<remanence::function_pointer<Signature>> {
    /// Returns the hash.
    std::size_t operator()(const remanence::function_pointer<Signature>& of) const noexcept { return of.number(); }
};
