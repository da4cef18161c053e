// The slots in which our own containers store elements, which are part of the file format. Depends on the standard
// library only.
//
// A slot holds the element itself if the element is_self_contained() and is not too large. Otherwise the slot is a link
// to a block with the element, and the element never moves. So moving an element from slot to slot never throws and
// writes nothing outside the slots. A slot that holds neither an element nor a link is raw.
#pragma once

#include <remanence/containers/detail/link.hpp>
#include <remanence/types/detail/self_contained.hpp>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

namespace remanence::detail {

/// Moves a value from one slot to another. `flatten` inlines all calls. When a string moves, its allocator determines
/// the heap in which it lies. Without `flatten` this takes three function calls, several times for each element that a
/// B-tree inserts.
template <class Value>
struct slot_value {
    static constexpr bool k_is_bytes = is_plain_bytes_v<Value>;
    static constexpr bool k_is_self_contained = is_self_contained<Value>();
    [[gnu::flatten]] static void move(Value* from, void* to) noexcept {
        ::new (to) Value(std::move(*from));
        std::destroy_at(from);
    }
};
/// The element of a map. Its key is const for users, but not when the element moves.
template <class Key, class Mapped>
struct slot_value<std::pair<const Key, Mapped>> {
    using value = std::pair<const Key, Mapped>;
    static constexpr bool k_is_bytes = is_plain_bytes_v<Key> && is_plain_bytes_v<Mapped>;
    static constexpr bool k_is_self_contained = is_self_contained<Key>() && is_self_contained<Mapped>();
    [[gnu::flatten]] static void move(value* from, void* to) noexcept {
        ::new (to)
            value(std::piecewise_construct, std::forward_as_tuple(std::move(const_cast<Key&>(from->first))), // NOLINT
                  std::forward_as_tuple(std::move(from->second)));
        std::destroy_at(from);
    }
};

/// `InlineBytes`: the size of the largest element that lies in the slot itself.
template <class Value, std::size_t InlineBytes>
struct element_slot {
    static constexpr bool k_is_inline = slot_value<Value>::k_is_self_contained && sizeof(Value) <= InlineBytes;
    using slot_type = std::conditional_t<k_is_inline, Value, link<Value>>; // determines size and alignment
    static constexpr std::size_t k_slot_bytes = sizeof(slot_type);

    [[nodiscard]] static Value* at(void* slot) noexcept {
        if constexpr (k_is_inline)
            return std::launder(static_cast<Value*>(slot));
        else
            return static_cast<link<Value>*>(slot)->get();
    }
    /// Constructs an element in a raw slot. If it throws, the slot is still raw and no memory is lost.
    template <class Alloc, class... Args>
    static void construct(Alloc& alloc, void* where, Args&&... args) {
        using traits = std::allocator_traits<Alloc>;
        if constexpr (k_is_inline) {
            traits::construct(alloc, static_cast<Value*>(where), std::forward<Args>(args)...);
        } else {
            Value* const block = traits::allocate(alloc, 1);
            try {
                traits::construct(alloc, block, std::forward<Args>(args)...);
            } catch (...) {
                traits::deallocate(alloc, block, 1);
                throw;
            }
            (::new (where) link<Value>)->set(block);
        }
    }
    template <class Alloc>
    static void destroy(Alloc& alloc, void* where) noexcept {
        using traits = std::allocator_traits<Alloc>;
        Value* const one = at(where);
        traits::destroy(alloc, one);
        if constexpr (!k_is_inline)
            traits::deallocate(alloc, one, 1);
    }
    /// True if destroying an element does anything. An allocator with a destroy() of its own is called for each
    /// element.
    template <class Alloc>
    static constexpr bool is_destroyed_v = !k_is_inline || !std::is_trivially_destructible_v<Value> ||
                                           requires(Alloc& alloc, Value* one) { alloc.destroy(one); };

    /// Moves an element to a raw slot; its old slot is raw afterwards.
    static void move(void* from, void* to) noexcept {
        if constexpr (!k_is_inline) {
            (::new (to) link<Value>)->set(static_cast<link<Value>*>(from)->get());
        } else if constexpr (slot_value<Value>::k_is_bytes) {
            std::memcpy(to, from, k_slot_bytes);
        } else {
            slot_value<Value>::move(at(from), to);
        }
    }
};

/// Returns the key of an element; in sets that is the element.
template <class Key, class Value>
[[nodiscard]] const Key& key_of_element(const Value& value) noexcept {
    if constexpr (std::is_same_v<Key, Value>)
        return value; // NOLINT(bugprone-return-const-ref-from-parameter): of a container
    else
        return value.first;
}

/// An element outside of any container. The destructor destroys an element that was not released.
template <class Key, class Value, class Alloc, class Slot>
class detached_element {
public:
    template <class... Args>
    explicit detached_element(const Alloc& alloc, Args&&... args) : alloc_(alloc) {
        Slot::construct(alloc_, slot_, std::forward<Args>(args)...);
        is_full_ = true;
    }
    detached_element(const detached_element&) = delete;
    detached_element& operator=(const detached_element&) = delete;
    ~detached_element() {
        if (is_full_)
            Slot::destroy(alloc_, slot_);
    }
    [[nodiscard]] const Key& key() noexcept { return key_of_element<Key>(*Slot::at(slot_)); }
    /// Returns the slot, from which the caller must move the element away.
    [[nodiscard]] void* release() noexcept {
        is_full_ = false;
        return slot_;
    }

private:
    // Zeros, so that padding does not copy old bytes of the stack into the heap.
    alignas(typename Slot::slot_type) std::byte slot_[Slot::k_slot_bytes] = {};
    Alloc alloc_;
    bool is_full_ = false;
};

} // namespace remanence::detail
