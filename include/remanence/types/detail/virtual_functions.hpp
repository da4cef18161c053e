// Classes with virtual functions: what a program that stores their objects tells the library. Depends on the standard
// library only.
//
// The compiler may assume that a class has one vtable, and compare addresses of vtables: clang does so for a dynamic_cast
// to a final class. Objects in heaps have vptrs that lead to copies, so such code goes wrong. Each instantiation of
// compiler_obstacle() finds out how its translation unit was compiled.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <type_traits>
#include <typeinfo>

namespace remanence::detail {

struct virtual_part;     // src/api/virtual_part.hpp
struct type_fingerprint; // fingerprint.hpp

/// Ends the note of each class with virtual functions in descriptions of types: objects begin with a vptr.
inline constexpr std::string_view k_virtual_note = " virtual functions";

template <class T>
const type_fingerprint& fingerprint_of();

/// What the compiler assumes that is not true in a heap.
enum class assumption : std::uint8_t {
    none,
    unique_vtables, // of dynamic_cast to a final class
    whole_program,  // of virtual calls
};

struct probed_base {
    probed_base() = default;
    probed_base(const probed_base&) = delete;
    probed_base& operator=(const probed_base&) = delete;
    virtual ~probed_base() = default;
    [[nodiscard]] virtual int number() const { return 3; }
};
struct probed_final final : probed_base {
    [[nodiscard]] int number() const override { return 5; }
};
struct probed_other : probed_base {
    [[nodiscard]] int number() const override { return 7; }
};

template <class Probed>
[[gnu::noinline]] bool casts(const probed_base* object) {
    return dynamic_cast<const Probed*>(object) != nullptr;
}
template <class Probed>
[[gnu::noinline]] int calls(const probed_base* object) {
    return object->number();
}

/// Asks an object whose vptr leads to a copy of its vtable.
template <class Probed = probed_final>
assumption compiler_obstacle() {
    constexpr std::size_t k_before = 2;
    constexpr std::size_t k_words = k_before + 3; // offset to top, type_info; two destructors, one function
    const probed_other other;
    Probed object;
    const probed_base* const asked = &object;
    void* vtable = nullptr;
    std::memcpy(&vtable, static_cast<const void*>(asked), sizeof vtable);
    void* copy[k_words];
    for (std::size_t i = 0; i != k_words; ++i)
        copy[i] = static_cast<void* volatile*>(vtable)[static_cast<std::ptrdiff_t>(i) - std::ptrdiff_t{k_before}];
    void* const stall = copy + k_before;
    const auto put = [&](void* value) {
        std::memcpy(static_cast<void*>(&object), &value, sizeof value);
        asm volatile("" : : "r"(&object), "r"(copy), "r"(&other) : "memory");
    };
    put(stall);
    const bool is_found = casts<Probed>(asked);
    const bool is_called = calls<Probed>(asked) == 5 && calls<Probed>(&other) == 7;
    put(vtable);
    return !is_called ? assumption::whole_program : !is_found ? assumption::unique_vtables : assumption::none;
}

/// Makes a class known, and links the library's part for virtual functions into the program. `make` default-constructs
/// an object in raw memory; it may be null. Thread-safe.
const virtual_part* know_class(const std::type_info& type, const type_fingerprint& (*fingerprint)(),
                               void (*make)(void* at) = nullptr) noexcept;

[[nodiscard]] bool has_virtual_bases(const std::type_info& type) noexcept;

/// Makes the heap around an address ready for objects with virtual functions, if there is one. errc::not_supported if
/// the compiler makes an assumption.
void note_virtual_functions(const void* address, const std::type_info& type, assumption made);

/// Frees the block of a destroyed object whose size is not known. Does nothing after the heap has ended.
void free_object(void* whole) noexcept;

/// A class whose objects the program may make. Its size is known before main() begins, so that a heap in which these
/// objects have another size is refused.
template <class T>
struct class_to_be_made {
    static consteval auto maker() -> void (*)(void*) {
        if constexpr (std::is_default_constructible_v<T>)
            return [](void* at) { ::new (at) T(); };
        else
            return nullptr;
    }
    static inline const virtual_part* const k_part = know_class(typeid(T), &fingerprint_of<T>, maker());
};

/// To be called before an object is made in the heap around an address.
template <class T>
void note_objects_of(const void* address) {
    static std::atomic<bool> is_known = false;
    assumption made = assumption::none;
    if (!is_known.load(std::memory_order_relaxed)) [[unlikely]] {
        static_cast<void>(&class_to_be_made<T>::k_part); // so that it is initialized
        made = compiler_obstacle();
        is_known.store(made == assumption::none, std::memory_order_relaxed);
    }
    note_virtual_functions(address, typeid(T), made);
}

} // namespace remanence::detail
