// fragile<T>: an element whose type cannot be stored as it is, since its objects lead out of the heap (std::string, a
// class of another library). The heap stores its serialised bytes. Depends on the standard library only.
//
// Invariants
// 1. A fragile is a value: it consists of its bytes alone, and moves and swaps move bytes.
// 2. An element has at most one deserialised object that can be changed. All references to the element share it.
// 3. The bytes change only by assignment and write-back, as a whole or not at all.
#pragma once

#include <remanence/containers/string_pi.hpp>
#include <remanence/detail/declarer.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/detail/position_independent.hpp>
#include <remanence/types/detail/self_contained.hpp>
#include <remanence/types/detail/structure.hpp>
#include <remanence/types/exemplars.hpp>
#include <remanence/types/persistable.hpp>
#include <remanence/types/serialize_trait.hpp>

#include <atomic>
#include <compare>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace remanence {

template <class T, class Trait = serialize_trait<T>>
class fragile;
template <class T, class Trait>
class fragile_reference;

namespace detail {

/// A deserialised object that the references to an element share. A table of the process finds it by the element's
/// address.
class live_value {
public:
    live_value(const live_value&) = delete;
    live_value& operator=(const live_value&) = delete;
    [[nodiscard]] const void* element() const noexcept { return element_; }
    /// True if the element was rolled back, or its heap was closed.
    [[nodiscard]] bool is_forgotten() const noexcept { return is_forgotten_; }

protected:
    explicit live_value(const void* element) noexcept : element_(element) {}
    ~live_value() = default;

private:
    friend live_value* share_live_value(const void* element) noexcept;
    friend bool release_live_value(live_value& value) noexcept;
    friend void forget_live_values(const void* first, std::size_t bytes) noexcept;

    const void* element_;
    std::size_t references_ = 1; // guarded by the table's lock
    std::atomic<bool> is_forgotten_ = false;
};

/// Adds a reference to the element's object and returns the object; null if there is none. Any thread.
[[nodiscard]] live_value* share_live_value(const void* element) noexcept;
/// Adds `value`, with one reference, to the table. Throws std::bad_alloc.
void add_live_value(live_value& value);
/// Removes a reference. Returns true if it was the last one; then the value is no longer in the table.
[[nodiscard]] bool release_live_value(live_value& value) noexcept;
/// Removes the values of elements in this memory from the table, before a rollback or when the heap closes. O(values in
/// the table).
void forget_live_values(const void* first, std::size_t bytes) noexcept;
/// Throws errc::invalid_argument.
[[noreturn]] void refuse_forgotten_reference();
/// Returns the calling thread's innermost lock on the heap of `object` (container_lock.hpp); null if there is none.
[[nodiscard]] std::shared_ptr<void> lock_over(const void* object) noexcept;

template <class T>
inline constexpr bool is_fragile_v = false;
template <class T, class Trait>
inline constexpr bool is_fragile_v<fragile<T, Trait>> = true;

/// A value from which a fragile<T> can be made, or with which it can be compared, apart from another fragile.
template <class U, class T>
concept value_for =
    !is_fragile_v<std::remove_cvref_t<U>> && (std::is_same_v<std::remove_cvref_t<U>, T> || std::is_convertible_v<U, T>);

/// Returns the value that an operand of a comparison stands for.
template <class U>
[[nodiscard]] const U& compared(const U& value) noexcept {
    return value;
}
template <class T, class Trait>
[[nodiscard]] T compared(const fragile<T, Trait>& element) {
    return element.value();
}
template <class T, class Trait>
[[nodiscard]] const T& compared(const fragile_reference<T, Trait>& reference) noexcept {
    return *reference;
}
template <class U>
using compared_type = std::remove_cvref_t<decltype(detail::compared(std::declval<const U&>()))>;

template <class Operation, class A, class B>
concept compares_as_values = std::is_invocable_r_v<bool, Operation, const compared_type<A>&, const compared_type<B>&>;
template <class Operation, class A, class B>
[[nodiscard]] bool compare_as_values(const A& a, const B& b) {
    const auto& left = detail::compared(a);
    const auto& right = detail::compared(b);
    return Operation()(left, right);
}

/// What `->` returns for a const element: it contains the deserialised copy.
template <class T>
class value_behind_arrow {
public:
    explicit value_behind_arrow(T value) : value_(std::move(value)) {}
    [[nodiscard]] const T* operator->() const noexcept { return &value_; }

private:
    T value_;
};

} // namespace detail

/// A reference to the deserialised T of an element. When the last reference to the element is destroyed, the T is
/// written back if it has changed, that is, if it serialises to other bytes than were read.
///
/// All references to an element, in all threads, share one object; as with plain references, threads that use them at
/// the same time need a lock. The element must stay where it is: the reference does not notice that it is moved or
/// assigned to.
///
/// A rollback of the element's heap, and its close(), end a reference: the object stays, but nothing of it is written
/// back, neither earlier nor later changes. Make another reference then. (A rollback is heap::rollback(), or the end of a
/// section by an exception or with a commit that fails.)
///
/// While it exists, so does the lock of the innermost guard (container_guard) that its thread had on the heap when the
/// reference was made.
///
/// The destructor throws what the write-back throws (the trait's exceptions, std::bad_alloc); the element is unchanged
/// then. While another exception is being handled it does not throw, and the change is lost. Call write_back() first to
/// learn of errors.
template <class T, class Trait>
class fragile_reference {
public:
    /// References an element. Throws errc::corrupt if the element's bytes are wrong, and std::bad_alloc.
    explicit fragile_reference(fragile<T, Trait>& element)
        : lock_(detail::lock_over(&element)), live_(static_cast<live*>(detail::share_live_value(&element))) {
        if (live_ != nullptr)
            return;
        auto made = std::make_unique<live>(element);
        detail::add_live_value(*made);
        live_ = made.release();
    }
    fragile_reference(const fragile_reference&) = delete;
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): the assignment of the value handles it
    fragile_reference& operator=(const fragile_reference& other) { return *this = *other; }
    ~fragile_reference() noexcept(false) {
        if (!detail::release_live_value(*live_))
            return;
        const std::unique_ptr<live> last(live_);
        if (last->is_forgotten())
            return;
        if (std::uncaught_exceptions() == exceptions_) {
            last->write_back();
            return;
        }
        try {
            last->write_back();
        } catch (...) { // NOLINT(bugprone-empty-catch): one exception at a time
        }
    }

    /// Returns the shared object.
    [[nodiscard]] T& operator*() const noexcept { return live_->value; }
    /// Returns the address of the shared object.
    [[nodiscard]] T* operator->() const noexcept { return &live_->value; }
    /// Returns the shared object.
    operator T&() const noexcept { return live_->value; } // NOLINT(google-explicit-constructor)
    /// Assigns to the shared object.
    template <detail::value_for<T> U>
    fragile_reference& operator=(U&& value) {
        live_->value = std::forward<U>(value);
        return *this;
    }

    /// Writes the object back now, if it has changed since it was read or written back. Durable with the next commit.
    /// Throws what the trait throws, and std::bad_alloc; the element is unchanged then. Throws errc::invalid_argument
    /// if the heap was rolled back or closed in the meantime.
    void write_back() const { live_->write_back(); }

private:
    struct live : detail::live_value {
        explicit live(fragile<T, Trait>& from)
            : live_value(&from), element(from), bytes(from.stored()), value(detail::value_of<Trait>(bytes)) {}
        void write_back() {
            if (is_forgotten())
                detail::refuse_forgotten_reference();
            std::string now = detail::bytes_of<Trait>(value);
            if (now == bytes)
                return;
            element.store(now);
            bytes.swap(now);
        }

        fragile<T, Trait>& element;
        std::string bytes; // what was read
        T value;
    };

    std::shared_ptr<void> lock_; // the lock of a guard, which ends after the object was written back
    live* live_ = nullptr;
    int exceptions_ = std::uncaught_exceptions();
};

/// A T that the heap stores as serialised bytes, for types that are not `persistable`. It behaves as a value:
///
/// - It converts to a T, deserialised each time. `*` of a const element does so, too, and `->` of a const element leads
///   to such a copy.
/// - `*` and `->` of an element that is not const return a fragile_reference, which writes changes back: after
///   `element->push_back('x')` it does so at the end of the full-expression.
/// - Assigning a T stores its bytes. Copies, moves and swaps transfer bytes and deserialise nothing.
/// - It compares with other elements and with values by T's operators, on deserialised copies.
///
/// So the algorithms of the standard library work on containers of such elements. An element that was moved from may
/// only be assigned to or destroyed; reading it throws errc::corrupt, as do bytes that do not parse. A read costs
/// O(bytes), plus the cost of the trait. An element has 32 bytes, and a block if it stores more than 23 bytes. It
/// declares its changes in declared sections.
///
/// Trait may have a function in_place(std::span<char>). Then `*` of an element that is not const declares the stored
/// bytes and returns what in_place() returns for them, instead of a fragile_reference. Changes through it must leave
/// bytes that deserialize() can read.
template <class T, class Trait>
class fragile {
    static_assert(std::is_object_v<T> && !std::is_const_v<T>);
    static_assert(serializes<Trait, T>,
                  "Remanence cannot serialise this type: specialise remanence::serialize_trait for "
                  "it, or name a trait of your own.");
    static constexpr bool k_is_in_place = requires(std::span<char> bytes) { Trait::in_place(bytes); };

public:
    /// Allocates memory for the bytes.
    using allocator_type = allocator<char>;
    /// Turns a T into bytes and back.
    using trait_type = Trait;

    /// Serialises a value, by default T(). All constructors allocate memory by `alloc`, or in the heap to which new
    /// objects belong. They throw what the trait throws, and std::bad_alloc.
    fragile()
        requires std::default_initializable<T>
        : fragile(allocator_type()) {}
    explicit fragile(const allocator_type& alloc)
        requires std::default_initializable<T>
        : bytes_(detail::bytes_of<Trait>(T()), alloc) {}
    template <class U>
        requires detail::value_for<const U&, T>
    fragile(const U& value, const allocator_type& alloc = {}) // NOLINT(google-explicit-constructor)
        : bytes_(serialised(value), alloc) {}
    template <detail::value_for<T> U>
    fragile(U&& value, const allocator_type& alloc = {}) // NOLINT(google-explicit-constructor)
        requires(!std::is_lvalue_reference_v<U>)
        : bytes_(serialised(std::forward<U>(value)), alloc) {}
    fragile(const fragile& other) = default;
    fragile(const fragile& other, const allocator_type& alloc) : bytes_(other.bytes_, alloc) {}
    fragile(fragile&& other) noexcept = default;
    fragile(fragile&& other, const allocator_type& alloc) : bytes_(std::move(other.bytes_), alloc) {}
    ~fragile() = default;

    /// Assigns. No assignment has an effect if it throws.
    fragile& operator=(const fragile& other) = default;
    /// Copies the bytes if the other element is in another heap.
    fragile& operator=(fragile&& other) = default; // NOLINT(performance-noexcept-move-constructor)
    template <detail::value_for<T> U>
    fragile& operator=(U&& value) {
        store(serialised(std::forward<U>(value)));
        return *this;
    }

    /// Returns a deserialised T. Throws errc::corrupt, and what the trait throws.
    [[nodiscard]] T value() const { return detail::value_of<Trait>(stored()); }
    /// Returns value().
    operator T() const { return value(); } // NOLINT(google-explicit-constructor)
    /// Returns value().
    [[nodiscard]] T operator*() const { return value(); }
    /// Returns value() as an object that lives until the expression ends.
    [[nodiscard]] auto operator->() const { return detail::value_behind_arrow<T>(value()); }

    /// Returns a fragile_reference, or what Trait::in_place() returns.
    [[nodiscard]] decltype(auto) operator*() {
        if constexpr (k_is_in_place) {
            char* const first = bytes_.data();
            const detail::declarer<allocator_type> declare(get_allocator());
            declare(first, bytes_.size());
            return Trait::in_place(std::span<char>(first, bytes_.size()));
        } else {
            return fragile_reference<T, Trait>(*this);
        }
    }
    /// Returns a fragile_reference.
    [[nodiscard]] auto operator->()
        requires(!k_is_in_place)
    {
        return fragile_reference<T, Trait>(*this);
    }

    /// Returns the allocator of the bytes.
    [[nodiscard]] allocator_type get_allocator() const noexcept { return bytes_.get_allocator(); }

    /// Swaps two elements, which may be in different heaps.
    friend void swap(fragile& a, fragile& b) { // NOLINT(performance-noexcept-swap): it may allocate
        if (a.get_allocator() == b.get_allocator()) {
            a.bytes_.swap(b.bytes_);
        } else {
            const std::string kept(a.stored());
            a.store(std::string(b.stored()));
            b.store(kept);
        }
    }

    // Comparison with a T, in addition to the templates below. These two are not templates: some types (std::optional)
    // have templates of their own for everything with which their values can be compared, and the two would be
    // ambiguous.
    [[nodiscard]] friend bool operator==(const fragile& a, const T& b)
        requires detail::compares_as_values<std::equal_to<>, T, T>
    {
        return detail::compare_as_values<std::equal_to<>>(a, b);
    }
    [[nodiscard]] friend auto operator<=>(const fragile& a, const T& b)
        requires requires(const T& t) { t <=> t; }
    {
        const T left = a.value();
        return left <=> b;
    }

private:
    friend class fragile_reference<T, Trait>;
    friend struct class_traits<fragile>;

    [[nodiscard]] static std::string serialised(const T& value) { return detail::bytes_of<Trait>(value); }
    [[nodiscard]] std::string_view stored() const noexcept { return bytes_; }
    void store(const std::string& bytes) { bytes_ = bytes; }

    string_pi bytes_;
};

/// Compares the deserialised values.
template <class T, class Trait, class U>
    requires detail::compares_as_values<std::equal_to<>, fragile<T, Trait>, U>
[[nodiscard]] bool operator==(const fragile<T, Trait>& a, const U& b) {
    return detail::compare_as_values<std::equal_to<>>(a, b);
}
template <class T, class Trait, class U>
    requires requires(const T& t, const detail::compared_type<U>& u) { t <=> u; }
[[nodiscard]] auto operator<=>(const fragile<T, Trait>& a, const U& b) {
    const auto& left = detail::compared(a);
    const auto& right = detail::compared(b);
    return left <=> right;
}
template <class T, class Trait, class U>
    requires detail::compares_as_values<std::less<>, fragile<T, Trait>, U>
[[nodiscard]] bool operator<(const fragile<T, Trait>& a, const U& b) {
    return detail::compare_as_values<std::less<>>(a, b);
}
template <class U, class T, class Trait>
    requires(!detail::is_fragile_v<U> && detail::compares_as_values<std::less<>, U, fragile<T, Trait>>)
[[nodiscard]] bool operator<(const U& a, const fragile<T, Trait>& b) {
    return detail::compare_as_values<std::less<>>(a, b);
}
template <class T, class Trait, class U>
    requires detail::compares_as_values<std::greater<>, fragile<T, Trait>, U>
[[nodiscard]] bool operator>(const fragile<T, Trait>& a, const U& b) {
    return detail::compare_as_values<std::greater<>>(a, b);
}
template <class U, class T, class Trait>
    requires(!detail::is_fragile_v<U> && detail::compares_as_values<std::greater<>, U, fragile<T, Trait>>)
[[nodiscard]] bool operator>(const U& a, const fragile<T, Trait>& b) {
    return detail::compare_as_values<std::greater<>>(a, b);
}
template <class T, class Trait, class U>
    requires detail::compares_as_values<std::less_equal<>, fragile<T, Trait>, U>
[[nodiscard]] bool operator<=(const fragile<T, Trait>& a, const U& b) {
    return detail::compare_as_values<std::less_equal<>>(a, b);
}
template <class U, class T, class Trait>
    requires(!detail::is_fragile_v<U> && detail::compares_as_values<std::less_equal<>, U, fragile<T, Trait>>)
[[nodiscard]] bool operator<=(const U& a, const fragile<T, Trait>& b) {
    return detail::compare_as_values<std::less_equal<>>(a, b);
}
template <class T, class Trait, class U>
    requires detail::compares_as_values<std::greater_equal<>, fragile<T, Trait>, U>
[[nodiscard]] bool operator>=(const fragile<T, Trait>& a, const U& b) {
    return detail::compare_as_values<std::greater_equal<>>(a, b);
}
template <class U, class T, class Trait>
    requires(!detail::is_fragile_v<U> && detail::compares_as_values<std::greater_equal<>, U, fragile<T, Trait>>)
[[nodiscard]] bool operator>=(const U& a, const fragile<T, Trait>& b) {
    return detail::compare_as_values<std::greater_equal<>>(a, b);
}

namespace detail {

/// Writes the members of a type that is serialised member by member, and recursively the members of these.
template <class T>
void write_serialised_structure(structure_writer& out);
template <class M>
struct serialised_structure_of_member {
    static constexpr write_type k_write = &write_serialised_structure<std::remove_cv_t<M>>;
};
template <class T>
void write_serialised_structure(structure_writer& out) {
    if constexpr (is_serialised_by_members<T>())
        out.serialised(typeid(T), members_of<T, serialised_structure_of_member>::k_table);
    else
        out.plain(typeid(T));
}

} // namespace detail

template <class T, class Trait>
struct class_traits<fragile<T, Trait>> {
    using parts = type_list<>;
    static constexpr bool k_is_position_independent = true;
    static constexpr bool k_is_self_contained = true;
    struct shape : detail::shape_with<detail::shape_kind::serialised,
                                      detail::allocator_bytes_v<detail::kept_allocator<allocator<char>>>> {};

    /// Writes the number of the format and, for the library's own trait, what is serialised.
    static void write(detail::structure_writer& out) {
        out.text(" fragile 1");
        if constexpr (std::is_same_v<Trait, serialize_trait<T>>) {
            static constexpr detail::write_type k_type = &detail::write_serialised_structure<T>;
            out.list(" ", &k_type, 1, "");
        }
    }
    /// Checks the link to the bytes, not whether they parse: a trait belongs to the program, and may allocate from the
    /// heap, which a check must not.
    static detail::structure_result check(const fragile<T, Trait>& element, detail::block_survey& survey) {
        detail::structure_result found = detail::check_structure(element.bytes_, survey);
        if (found)
            found->what = "a fragile element, stored as " + found->what;
        return found;
    }
};

} // namespace remanence
