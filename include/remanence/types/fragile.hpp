// Elements whose type cannot be stored as it is, since its objects lead out of the heap (std::string, a class of another
// library): the heap has their serialised bytes. Depends on the standard library only.
//
// Invariants: 1. A fragile is a value: its bytes are all there is to it, and what moves or is swapped are bytes. 2. An element
// has one deserialised object at most that can be changed, which all references to it share. 3. The bytes change by
// assignment and write-back only, as a whole or not at all.
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

/// A deserialised object that references to an element share; in a table of the process, by the element's address.
class live_value {
public:
    live_value(const live_value&) = delete;
    live_value& operator=(const live_value&) = delete;
    [[nodiscard]] const void* element() const noexcept { return element_; }
    /// The element was rolled back, or is not there any more, since its heap was closed.
    [[nodiscard]] bool is_forgotten() const noexcept { return is_forgotten_; }

protected:
    explicit live_value(const void* element) noexcept : element_(element) {}
    ~live_value() = default;

private:
    friend live_value* share_live_value(const void* element) noexcept;
    friend bool release_live_value(live_value& value) noexcept;
    friend void forget_live_values(const void* first, std::size_t bytes) noexcept;

    const void* element_;
    std::size_t references_ = 1; // under the table's lock
    std::atomic<bool> is_forgotten_ = false;
};

/// One reference more to the element's object; null when there is none. Any thread.
[[nodiscard]] live_value* share_live_value(const void* element) noexcept;
/// `value` has one reference. Throws std::bad_alloc.
void add_live_value(live_value& value);
/// One reference less. True: it was the last, and the table no longer has the value.
[[nodiscard]] bool release_live_value(live_value& value) noexcept;
/// Of elements in this memory, which is rolled back or goes: the table no longer has their values. O(values in the table).
void forget_live_values(const void* first, std::size_t bytes) noexcept;
/// Throws errc::invalid_argument.
[[noreturn]] void refuse_forgotten_reference();

template <class T>
inline constexpr bool is_fragile_v = false;
template <class T, class Trait>
inline constexpr bool is_fragile_v<fragile<T, Trait>> = true;

/// What a fragile<T> is made of or compared with, besides another one.
template <class U, class T>
concept value_for =
    !is_fragile_v<std::remove_cvref_t<U>> && (std::is_same_v<std::remove_cvref_t<U>, T> || std::is_convertible_v<U, T>);

/// What an operand of a comparison stands for.
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

/// Of an element that was only read: what `->` needs.
template <class T>
class value_behind_arrow {
public:
    explicit value_behind_arrow(T value) : value_(std::move(value)) {}
    [[nodiscard]] const T* operator->() const noexcept { return &value_; }

private:
    T value_;
};

} // namespace detail

/// A deserialised T that is written back to its element when the last reference to it goes, if it has changed: if it
/// serialises otherwise than what was read. All references to an element, in all threads, have one object; as with plain
/// references, threads that use them at once need a lock, and the element must stay where it is: moving it, or assigning to it,
/// while there is one is not seen by the reference.
///
/// A rollback of the element's heap (heap::rollback(), an exception that leaves a section, unlock(), which takes back what was
/// not committed) and its close() end a reference: the object stays as it is, but nothing of it is written back, neither what
/// changed before nor what changes later. Take another reference.
///
/// The destructor throws what the write-back throws (a trait, std::bad_alloc), the element being as before; but while
/// another exception is under way it does not, and the change is lost: write_back() ahead tells.
template <class T, class Trait>
class fragile_reference {
public:
    /// Throws errc::corrupt when the element's bytes are wrong, std::bad_alloc.
    explicit fragile_reference(fragile<T, Trait>& element)
        : live_(static_cast<live*>(detail::share_live_value(&element))) {
        if (live_ != nullptr)
            return;
        auto made = std::make_unique<live>(element);
        detail::add_live_value(*made);
        live_ = made.release();
    }
    fragile_reference(const fragile_reference&) = delete;
    // NOLINTNEXTLINE(bugprone-unhandled-self-assignment): the assignment of the value sees to it
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

    [[nodiscard]] T& operator*() const noexcept { return live_->value; }
    [[nodiscard]] T* operator->() const noexcept { return &live_->value; }
    operator T&() const noexcept { return live_->value; } // NOLINT(google-explicit-constructor)
    template <detail::value_for<T> U>
    fragile_reference& operator=(U&& value) {
        live_->value = std::forward<U>(value);
        return *this;
    }

    /// Writes back now, if it has changed since it was read or written back. Throws what the trait throws and std::bad_alloc;
    /// then the element is as before; errc::invalid_argument when its heap was rolled back or closed meanwhile. Durable with the
    /// next commit.
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

    live* live_ = nullptr;
    int exceptions_ = std::uncaught_exceptions();
};

/// A T in a heap as its serialised bytes, for types that are not `persistable`. It behaves as a value:
///
/// - It converts to a T, deserialised anew; so does `*` of a const one, and `->` of a const one leads to such a copy.
/// - `*` and `->` of one that is not const give a fragile_reference, which writes back; `element->push_back('x')` does so at the
///   end of the full-expression.
/// - Assigning a T stores its bytes. Copies, moves and swaps take the bytes, and deserialise nothing.
/// - It compares with other elements and with values by the operators that T has, on deserialised copies.
///
/// So the algorithms of the standard library work on containers of them. One that was moved from may only be assigned to or
/// destroyed; reading it is errc::corrupt, as are bytes that do not parse. Reading costs O(bytes), and what the trait costs.
/// 32 bytes and a block beyond 23 bytes; it declares its changes in declared sections.
///
/// If Trait has a function in_place(std::span<char>), `*` of one that is not const declares the stored bytes and gives what
/// that returns for them, instead of a fragile_reference; it must not change what deserialize() cannot read.
template <class T, class Trait>
class fragile {
    static_assert(std::is_object_v<T> && !std::is_const_v<T>);
    static_assert(serializes<Trait, T>,
                  "Remanence cannot serialise this type: specialise remanence::serialize_trait for "
                  "it, or name a trait of your own.");
    static constexpr bool k_is_in_place = requires(std::span<char> bytes) { Trait::in_place(bytes); };

public:
    using allocator_type = allocator<char>;
    using trait_type = Trait;

    /// Each constructor takes its memory where new objects belong, or by `alloc`; throws what the trait throws, and
    /// std::bad_alloc.
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

    /// Assignments have no effect when they throw.
    fragile& operator=(const fragile& other) = default;
    /// Copies from another heap.
    fragile& operator=(fragile&& other) = default; // NOLINT(performance-noexcept-move-constructor)
    template <detail::value_for<T> U>
    fragile& operator=(U&& value) {
        store(serialised(std::forward<U>(value)));
        return *this;
    }

    [[nodiscard]] T value() const { return detail::value_of<Trait>(stored()); }
    operator T() const { return value(); } // NOLINT(google-explicit-constructor)
    [[nodiscard]] T operator*() const { return value(); }
    [[nodiscard]] auto operator->() const { return detail::value_behind_arrow<T>(value()); }

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
    [[nodiscard]] auto operator->()
        requires(!k_is_in_place)
    {
        return fragile_reference<T, Trait>(*this);
    }

    [[nodiscard]] allocator_type get_allocator() const noexcept { return bytes_.get_allocator(); }

    /// Between heaps, too.
    friend void swap(fragile& a, fragile& b) { // NOLINT(performance-noexcept-swap): it may allocate
        if (a.get_allocator() == b.get_allocator()) {
            a.bytes_.swap(b.bytes_);
        } else {
            const std::string kept(a.stored());
            a.store(std::string(b.stored()));
            b.store(kept);
        }
    }

    // With a T, besides those below, as no templates: some types have templates that compare them with whatever their
    // values compare with (std::optional), which would fit as well.
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

/// The members of a value, and of theirs, as long as these are serialised one after the other.
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

    /// The number of its format, and what is serialised where the library's trait does it.
    static void write(detail::structure_writer& out) {
        out.text(" fragile 1");
        if constexpr (std::is_same_v<Trait, serialize_trait<T>>) {
            static constexpr detail::write_type k_type = &detail::write_serialised_structure<T>;
            out.list(" ", &k_type, 1, "");
        }
    }
    /// Its link, not whether the bytes parse: traits are the program's, and may ask the heap for memory, which a check must not.
    static detail::structure_result check(const fragile<T, Trait>& element, detail::block_survey& survey) {
        detail::structure_result found = detail::check_structure(element.bytes_, survey);
        if (found)
            found->what = "a fragile element, stored as " + found->what;
        return found;
    }
};

} // namespace remanence
