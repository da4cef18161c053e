// What a stored type looked like: its name, and a hash over its structure as far as that can be seen. A root found with
// another fingerprint than the one asked for is refused, since its bytes would be read wrongly. Depends on the
// standard library only; names and hashes are made by src/types/fingerprint.cpp.
//
// Structure: size and alignment of every type that can be reached through members of aggregates, elements of arrays,
// arguments of class templates (so keys and values of containers) and plain pointers; each class once. A class with
// constructors of its own shows its name, size and alignment only. The same program gives the same hash with g++ and
// clang, with and without NDEBUG and _GLIBCXX_ASSERTIONS.
#pragma once

#include <remanence/detail/aggregate.hpp>
#include <remanence/detail/position_independent.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace remanence::detail {

/// The version of what is hashed, and how. Stored with every hash; a new algorithm gets a new number.
inline constexpr std::uint32_t k_fingerprint_algorithm = 1;

struct type_fingerprint {
    std::string name;            ///< readable, for example "rem::multimap<rem::string, address>"
    std::uint64_t hash = 0;      ///< over the structure
    std::uint64_t size = 0;      ///< in bytes
    std::uint64_t alignment = 0; ///< in bytes
    std::uint32_t algorithm = k_fingerprint_algorithm;
    /// False for types that other programs cannot name: local and unnamed ones, closures, those of anonymous
    /// namespaces, and templates over them.
    bool nameable = false;
    /// Not part of the hash.
    bool position_independent = false;
    /// The structure in readable form, for example "address 120/8 {rem::string 40/8, rem::string, rem::string}".
    std::string layout;
};

/// `mangled` as a programmer would write it, with Remanence's own aliases. Never fails: at worst it is `mangled`.
[[nodiscard]] std::string readable_name(const char* mangled);
/// See type_fingerprint::nameable.
[[nodiscard]] bool is_nameable(const char* mangled);

/// Writes a structure down, once for people and once for the hash. The latter has the mangled names, which the ABI
/// fixes, since demanglers change their spelling over time.
class structure_writer {
public:
    void name(const std::type_info& type);
    void text(std::string_view text);
    /// Name, size and alignment. False when this type was written before: then its name only.
    bool type(const std::type_info& type, std::size_t size, std::size_t alignment);
    [[nodiscard]] type_fingerprint finish(const std::type_info& type, std::size_t size, std::size_t alignment) &&;

private:
    std::string readable_;
    std::string hashed_;
    std::vector<std::string> seen_; // mangled names of the types written with size and alignment
};

template <class T>
concept complete = requires { sizeof(T); };

template <class T>
void write_structure(structure_writer& out);

/// Containers over an allocator repeat their value type there: left out.
template <class T>
inline constexpr bool is_allocator_v = false;
template <class T>
inline constexpr bool is_allocator_v<allocator<T>> = true;
template <class T>
inline constexpr bool is_allocator_v<std::allocator<T>> = true;

template <class... Ts>
void write_list(structure_writer& out, std::string_view open, std::string_view close) {
    std::string_view separator = open;
    const auto write = [&]<class T>(std::type_identity<T>) {
        if constexpr (!is_allocator_v<T>) {
            out.text(separator);
            write_structure<T>(out);
            separator = ", ";
        }
    };
    (write(std::type_identity<Ts>{}), ...);
    if (separator != open)
        out.text(close);
}

template <class... Ts>
void write_members(structure_writer& out, type_list<Ts...>) {
    write_list<Ts...>(out, " {", "}");
}

/// What follows a class's name, size and alignment.
template <class T>
struct class_contents {
    static void write(structure_writer& out) {
        if constexpr (requires { typename T::value_type; }) {
            // Some class template with arguments that are no types.
            if constexpr (!std::is_same_v<typename T::value_type, T>)
                write_list<typename T::value_type>(out, " <", ">");
        }
    }
};
template <template <class...> class Template, class... Args>
struct class_contents<Template<Args...>> {
    static void write(structure_writer& out) { write_list<Args...>(out, " <", ">"); }
};
template <class Element, std::size_t N>
struct class_contents<std::array<Element, N>> {
    static void write(structure_writer& out) { write_list<Element>(out, " <", ">"); }
};
template <class Char, class Traits, class Alloc> // its name says everything
struct class_contents<std::basic_string<Char, Traits, Alloc>> {
    static void write(structure_writer&) {}
};

template <class T>
inline constexpr bool is_std_array_v = false;
template <class Element, std::size_t N>
inline constexpr bool is_std_array_v<std::array<Element, N>> = true;

template <class T>
void write_class(structure_writer& out) {
    static_assert(!std::is_polymorphic_v<T>,
                  "Remanence cannot store objects with virtual functions yet: they point into the running program.");
    if (!out.type(typeid(T), sizeof(T), alignof(T)))
        return;
    if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> && !is_std_array_v<T>) {
        if constexpr (!std::is_empty_v<T>) {
            constexpr aggregate_obstacle obstacle = aggregate_shape_v<T>.obstacle;
            static_assert(obstacle != aggregate_obstacle::too_many,
                          "Remanence looks into aggregates up to 32 members (and 1024 elements of C arrays): group "
                          "some of this one's members into structs, use std::array, or give it a constructor.");
            if constexpr (obstacle == aggregate_obstacle::none)
                write_members(out, member_types<T>{});
        }
    } else if constexpr (!std::is_empty_v<T>) {
        class_contents<T>::write(out);
    }
}

template <class T>
void write_structure(structure_writer& out) {
    using type = std::remove_cv_t<T>;
    if constexpr (std::is_void_v<type> || std::is_function_v<type> || std::is_member_pointer_v<type>) {
        out.name(typeid(type));
    } else if constexpr (std::is_reference_v<type>) {
        out.text("&");
        out.name(typeid(type));
    } else if constexpr (std::is_bounded_array_v<type>) {
        out.text("[");
        out.text(std::to_string(std::extent_v<type>));
        out.text("] ");
        write_structure<std::remove_extent_t<type>>(out);
    } else if constexpr (std::is_unbounded_array_v<type>) {
        out.text("[] ");
        write_structure<std::remove_extent_t<type>>(out);
    } else if constexpr (std::is_pointer_v<type>) {
        using pointee = std::remove_pointer_t<type>;
        static_assert(complete<pointee> || !std::is_class_v<pointee>,
                      "Remanence must see the definition of what a stored pointer points at: include its header.");
        out.text("*");
        write_structure<pointee>(out);
    } else if constexpr (!complete<type>) { // a template argument that is a mere tag
        out.name(typeid(std::type_identity<type>));
    } else if constexpr (std::is_enum_v<type>) {
        if (out.type(typeid(type), sizeof(type), alignof(type))) {
            out.text(" : ");
            write_structure<std::underlying_type_t<type>>(out);
        }
    } else if constexpr (std::is_scalar_v<type>) {
        out.type(typeid(type), sizeof(type), alignof(type));
    } else {
        write_class<type>(out);
    }
}

template <class T>
type_fingerprint make_fingerprint() {
    structure_writer out;
    write_structure<T>(out);
    type_fingerprint made =
        std::move(out).finish(typeid(T), sizeof(T), alignof(T)); // NOLINT(bugprone-sizeof-expression)
    made.position_independent = is_position_independent_v<T>;
    return made;
}

/// The fingerprint of T; computed at the first call. Thread-safe.
template <class T>
const type_fingerprint& fingerprint_of() {
    static_assert(std::is_object_v<T> && std::is_same_v<T, std::remove_cv_t<T>>);
    // Two threads may make one at the same time; none waits for the other, which a forked child might not have.
    static std::atomic<const type_fingerprint*> known = nullptr;
    const type_fingerprint* found = known.load(std::memory_order_acquire);
    if (found == nullptr) {
        auto made = std::make_unique<const type_fingerprint>(make_fingerprint<T>());
        if (known.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel, std::memory_order_acquire))
            found = made.release(); // for as long as the process lives
    }
    return *found;
}

} // namespace remanence::detail
