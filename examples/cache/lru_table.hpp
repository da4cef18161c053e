// What a cache keeps in its heap: entries, found by their keys, in the order of their last use. Depends on Remanence
// only; locks, clocks and asynchronous commits are the business of who uses it (cache.hpp).
//
// Invariants:
// L1. The items from newest_ by `older` are those of by_key_, each once, and from oldest_ by `newer` they are the same backwards.
// L2. Each write to memory that was there before is declared, so that a table may be changed in declared sections, too.
#pragma once

#include <remanence/containers/hash_set.hpp>
#include <remanence/containers/string_pi.hpp>
#include <remanence/remanence.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace examples {

namespace rem = remanence;

/// An entry. The pointers are plain ones: the heap is where it was, in the next process, too.
struct cache_item {
    rem::string_pi key;
    rem::string_pi value;
    std::int64_t expires; ///< seconds since 1970, since other clocks begin anew with the machine
    cache_item* newer = nullptr;
    cache_item* older = nullptr;
};

struct cache_item_hash {
    using is_transparent = void;
    [[nodiscard]] std::uint64_t operator()(std::string_view key, std::uint64_t seed) const noexcept {
        return rem::seeded_string_hash()(key, seed);
    }
    [[nodiscard]] std::uint64_t operator()(const cache_item* item, std::uint64_t seed) const noexcept {
        return (*this)(item->key, seed);
    }
};

struct cache_item_equal {
    using is_transparent = void;
    [[nodiscard]] bool operator()(const cache_item* a, const cache_item* b) const noexcept { return a->key == b->key; }
    [[nodiscard]] bool operator()(std::string_view key, const cache_item* item) const noexcept {
        return key == std::string_view(item->key);
    }
    [[nodiscard]] bool operator()(const cache_item* item, std::string_view key) const noexcept {
        return (*this)(key, item);
    }
};

/// The entries used last, up to a number that each insertion says. Not thread-safe: even get() changes the order.
///
/// Exceptions. What throws for lack of memory leaves the table whole; set() may have lost the entry of that key, or the oldest one.
class lru_table {
    using items = rem::hash_set<cache_item*, cache_item_hash, cache_item_equal>;
    using item_allocator = rem::allocator<cache_item>;
    using item_traits = std::allocator_traits<item_allocator>;
    using declare_to = rem::detail::declarer<item_allocator>;

public:
    using allocator_type = rem::allocator<cache_item*>;

    lru_table() = default;
    explicit lru_table(const allocator_type& alloc) : by_key_(alloc) {}
    lru_table(const lru_table&) = delete;
    lru_table& operator=(const lru_table&) = delete;
    ~lru_table() {
        while (oldest_ != nullptr)
            remove(*oldest_);
    }

    /// Returns the value, or null when there is none or it has expired, and makes the entry the newest. Valid until the next change.
    const rem::string_pi* get(std::string_view key, std::int64_t now) {
        const auto found = by_key_.find(key);
        if (found == by_key_.end())
            return nullptr;
        cache_item& item = **found;
        if (item.expires <= now) {
            remove(item);
            return nullptr;
        }
        make_newest(item);
        return &item.value;
    }

    /// Puts the entry in, as the newest one of at most `entries_max`, which is at least 1.
    void set(std::string_view key, std::string_view value, std::int64_t expires, std::size_t entries_max) {
        const declare_to declare(alloc());
        if (const auto found = by_key_.find(key); found != by_key_.end()) {
            cache_item& item = **found;
            item.value = value;
            put(declare, item.expires, expires);
            make_newest(item);
            keep_newest(entries_max);
        } else {
            keep_newest(entries_max - 1);
            insert(key, value, expires);
        }
        put(declare, sets_, sets_ + 1);
    }

    /// Returns whether it was there.
    bool erase(std::string_view key) {
        const auto found = by_key_.find(key);
        if (found == by_key_.end())
            return false;
        remove(**found);
        return true;
    }

    [[nodiscard]] std::size_t size() const noexcept { return by_key_.size(); }
    /// How often set() was called since the table was made.
    [[nodiscard]] std::uint64_t sets() const noexcept { return sets_; }
    /// From the newest to the oldest; null in an empty table.
    [[nodiscard]] const cache_item* newest() const noexcept { return newest_; }

    /// Whether L1 holds. O(size()).
    [[nodiscard]] bool is_sound() const {
        std::size_t count = 0;
        const cache_item* before = nullptr;
        for (const cache_item* each = newest_; each != nullptr; before = each, each = each->older) {
            const auto found = by_key_.find(std::string_view(each->key));
            if (++count > size() || each->newer != before || found == by_key_.end() || *found != each)
                return false;
        }
        return count == size() && oldest_ == before;
    }

private:
    [[nodiscard]] item_allocator alloc() const noexcept { return item_allocator(by_key_.get_allocator()); }

    template <class T>
    static void put(const declare_to& declare, T& where, T what) {
        declare(&where, sizeof where);
        where = what;
    }

    void insert(std::string_view key, std::string_view value, std::int64_t expires) {
        item_allocator from = alloc();
        cache_item* const item = from.allocate(1);
        try {
            item_traits::construct(from, item, key, value, expires);
            try {
                by_key_.insert(item);
            } catch (...) {
                item_traits::destroy(from, item);
                throw;
            }
        } catch (...) {
            from.deallocate(item, 1);
            throw;
        }
        link(*item);
    }

    void remove(cache_item& item) noexcept {
        by_key_.erase(by_key_.find(&item));
        unlink(item);
        item_allocator from = alloc();
        item_traits::destroy(from, &item);
        from.deallocate(&item, 1);
    }

    void keep_newest(std::size_t entries) noexcept {
        while (size() > entries)
            remove(*oldest_);
    }

    void make_newest(cache_item& item) noexcept {
        if (&item == newest_)
            return;
        unlink(item);
        link(item);
    }

    void unlink(cache_item& item) noexcept {
        const declare_to declare(alloc());
        put(declare, item.newer != nullptr ? item.newer->older : newest_, item.older);
        put(declare, item.older != nullptr ? item.older->newer : oldest_, item.newer);
    }

    void link(cache_item& item) noexcept {
        const declare_to declare(alloc());
        put<cache_item*>(declare, item.newer, nullptr);
        put(declare, item.older, newest_);
        put(declare, newest_ != nullptr ? newest_->newer : oldest_, &item);
        put(declare, newest_, &item);
    }

    items by_key_;
    cache_item* newest_ = nullptr;
    cache_item* oldest_ = nullptr;
    std::uint64_t sets_ = 0;
};

} // namespace examples

// It hides its members; nothing in it leads out of the heap.
template <>
inline constexpr bool remanence::enable_persistable<examples::lru_table> = true;
