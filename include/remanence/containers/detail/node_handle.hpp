// The node handles that extract() of our own containers returns. Depends on the standard library only.
#pragma once

#include <remanence/containers/detail/element_slot.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace remanence::detail {

template <class Traits>
class btree_container;
template <class Traits>
class hash_container;

template <class Value>
struct mapped_of_element {
    using type = void;
};
template <class Key, class Mapped>
struct mapped_of_element<std::pair<const Key, Mapped>> {
    using type = Mapped;
};

/// One element outside of all containers, with the interface of the standard's node handles. The element has moved into
/// the handle (or, if slots are links, the handle owns its block), so references to the element are invalid.
template <class Key, class Value, class Alloc, class Slot>
class node_handle {
    static constexpr bool k_is_set = std::is_same_v<Key, Value>;

public:
    using allocator_type = Alloc;
    using key_type = Key;
    using value_type = Value;                                    // used for sets only
    using mapped_type = typename mapped_of_element<Value>::type; // void for sets

    node_handle() = default;
    node_handle(node_handle&& other) noexcept { take(other); }
    /// Destroys the element that this handle holds.
    node_handle& operator=(node_handle&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~node_handle() { reset(); }

    [[nodiscard]] bool empty() const noexcept { return !alloc_; }
    explicit operator bool() const noexcept { return !empty(); }
    [[nodiscard]] allocator_type get_allocator() const { return *alloc_; }

    [[nodiscard]] value_type& value() const noexcept
        requires k_is_set
    {
        return element();
    }
    [[nodiscard]] key_type& key() const noexcept
        requires(!k_is_set)
    {
        return const_cast<Key&>(element().first); // NOLINT(cppcoreguidelines-pro-type-const-cast): in no container
    }
    [[nodiscard]] auto& mapped() const noexcept
        requires(!k_is_set)
    {
        return element().second;
    }

    void swap(node_handle& other) noexcept {
        node_handle kept(std::move(other));
        other = std::move(*this);
        *this = std::move(kept);
    }
    friend void swap(node_handle& a, node_handle& b) noexcept { a.swap(b); }

private:
    template <class Traits>
    friend class btree_container;
    template <class Traits>
    friend class hash_container;

    [[nodiscard]] Value& element() const noexcept { return *Slot::at(slot_); }
    /// Returns a raw slot, which the caller must fill at once.
    [[nodiscard]] void* fill(const Alloc& alloc) noexcept {
        alloc_.emplace(alloc);
        return slot_;
    }
    /// Returns the slot, from which the caller must move the element away.
    [[nodiscard]] void* release() noexcept {
        alloc_.reset();
        return slot_;
    }
    void take(node_handle& other) noexcept {
        if (other.alloc_) {
            void* const raw = fill(*other.alloc_);
            Slot::move(other.release(), raw);
        }
    }
    void reset() noexcept {
        if (alloc_) {
            Slot::destroy(*alloc_, slot_);
            alloc_.reset();
        }
    }

    alignas(typename Slot::slot_type) mutable std::byte slot_[Slot::k_slot_bytes] = {};
    std::optional<Alloc> alloc_; // has a value while the handle holds an element
};

/// The result of inserting a node handle where keys are unique.
template <class Iterator, class Handle>
struct insert_return {
    Iterator position;
    bool inserted;
    Handle node; ///< not empty if there was such a key already
};

} // namespace remanence::detail
