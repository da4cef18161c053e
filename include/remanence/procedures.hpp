// Procedures: functions of the program with names and inverses. A history can store the call of a procedure in place of
// the bytes that the call changes (heap::call). Depends on the standard library only.
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace remanence {

class heap;

namespace detail {

class procedure_table; // src/api/procedure_table.hpp

/// Throws errc::invalid_argument: a call has parameters of the wrong size.
[[noreturn]] void refuse_parameters(std::size_t bytes, std::size_t expected);

/// A type whose bytes keep their meaning when the process ends. Pointers are refused, since most point outside of the
/// heap; a pointer to an object of the heap may be wrapped in a struct.
template <class T>
concept procedure_parameters =
    std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_convertible_v<T, std::string_view> &&
    !std::is_convertible_v<T, std::span<const std::byte>>;

} // namespace detail

/// The procedures that heap::call() knows, for heap_options::procedures. Each open of the heap may provide other
/// procedures; but undo and redo of a step that stores a call need the procedure with the call's name. Copies are
/// independent. Not thread-safe.
class procedure_set {
public:
    /// A procedure or its inverse. It gets the parameters of heap::call().
    using function = std::function<void(heap&, std::span<const std::byte> parameters)>;

    /// Makes an empty set.
    procedure_set() = default;

    /// Adds a procedure that takes bytes. Its inverse gets the same bytes, and restores what the procedure changed,
    /// exactly or nearly: the last bits of a floating-point result may differ. Without an inverse, the history stores
    /// the changed bytes, as for other steps. Errors: errc::invalid_argument when the name is empty or taken, or
    /// `procedure` is empty. O(procedures).
    void add(std::string_view name, function procedure, function inverse = {});

    /// Adds a procedure that takes one value, which is stored byte by byte; or, with `void`, no value.
    template <class Parameters, class Procedure, class Inverse = std::nullptr_t>
        requires(std::is_void_v<Parameters> || detail::procedure_parameters<Parameters>)
    void add(std::string_view name, Procedure procedure, Inverse inverse = nullptr) {
        add(name, taking<Parameters>(std::move(procedure)), taking<Parameters>(std::move(inverse)));
    }

    /// Returns true if the set has no procedures.
    [[nodiscard]] bool is_empty() const noexcept { return table_ == nullptr; }
    /// Used by the library only.
    [[nodiscard]] const std::shared_ptr<const detail::procedure_table>& table() const noexcept { return table_; }

private:
    template <class Parameters, class F>
    static function taking(F f) {
        if constexpr (std::is_null_pointer_v<F>) {
            return {};
        } else if constexpr (std::is_void_v<Parameters>) {
            return [f = std::move(f)](heap& of, std::span<const std::byte> bytes) {
                if (!bytes.empty())
                    detail::refuse_parameters(bytes.size(), 0);
                f(of);
            };
        } else {
            return [f = std::move(f)](heap& of, std::span<const std::byte> bytes) {
                if (bytes.size() != sizeof(Parameters))
                    detail::refuse_parameters(bytes.size(), sizeof(Parameters));
                alignas(Parameters) std::byte copy[sizeof(Parameters)];
                std::memcpy(copy, bytes.data(), sizeof copy);
                f(of, std::as_const(*reinterpret_cast<Parameters*>(copy)));
            };
        }
    }

    std::shared_ptr<const detail::procedure_table> table_;
};

} // namespace remanence
