/// \file
/// Locks on a container that several processes or threads use: see file_backed::shared() and file_backed::exclusive().
/// Thin templates over compiled code; depends on the standard library only.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <chrono>
#include <compare>
#include <concepts>
#include <iterator>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>

namespace remanence {

class heap;

/// How a lock is held.
enum class lock_mode {
    shared,    ///< as a read section: beside other shared locks, and beside the writer of another process
    exclusive, ///< as a write section: alone; its end commits
};

namespace detail {

class container_file;
class heap_impl;

/// A lock of one thread. Its guard, and the iterators and fragile references taken from the guard, own it together;
/// lock() leaves it to unlock().
class held_lock : public std::enable_shared_from_this<held_lock> {
public:
    /// Locks as file_backed::lock() does. `form`, which may be null, writes the container's file after the commit.
    static std::shared_ptr<held_lock> acquire(const heap& of, lock_mode how, std::chrono::milliseconds longest,
                                              const container_file* form);
    static std::shared_ptr<held_lock> acquire(heap_impl& of, lock_mode how, std::chrono::milliseconds longest,
                                              const container_file* form);
    /// Locks until pop(), as file_backed::lock() does.
    static void push(heap_impl& of, lock_mode how, std::chrono::milliseconds longest, const container_file* form);
    /// Ends the calling thread's last lock by push() on this heap. Throws errc::section_conflict when there is none.
    static void pop(heap_impl& of);
    /// Returns the calling thread's innermost lock on the heap of `object`; null if there is none.
    [[nodiscard]] static std::shared_ptr<held_lock> over(const void* object) noexcept;
    held_lock(const held_lock&) = delete;
    held_lock& operator=(const held_lock&) = delete;
    ~held_lock() { end(); }
    /// Ends the lock. If another thread than the one that locked does so, the process ends with a message.
    void end() noexcept;
    /// Throws errc::section_conflict once the lock has ended, or errc::closed once its file is closed.
    void check() const {
        if (is_ended_ || *is_left_) [[unlikely]]
            raise_ended();
    }

private:
    held_lock(heap_impl& of, lock_mode how, const container_file* form);
    [[noreturn]] void raise_ended() const;

    static thread_local held_lock* t_innermost;
    heap_impl* of_;
    const bool* is_left_; // whether the heap was destroyed under the lock
    const container_file* form_;
    held_lock* outer_ = nullptr; // the lock that this thread acquired before
    std::thread::id thread_;
    lock_mode how_;
    bool is_ended_ = true;              // before it is acquired, too
    std::shared_ptr<held_lock> pushed_; // this object, from push() to pop()
};

/// Throws errc::section_conflict: the guard was moved from.
[[noreturn]] void raise_no_lock();

/// Implements file_backed::lock().
void lock_container(const heap& of, lock_mode how, std::chrono::milliseconds longest, const container_file* form);
/// Implements file_backed::unlock().
void unlock_container(const heap& of);

} // namespace detail

/// An iterator of a locked container. The lock lasts as long as the iterator. Has the operations of `Iterator`, and
/// throws errc::section_conflict when its guard has ended the lock by unlock().
template <class Iterator>
class locked_iterator {
public:
    using difference_type = std::iter_difference_t<Iterator>;                             ///< as that of Iterator
    using value_type = std::iter_value_t<Iterator>;                                       ///< as that of Iterator
    using reference = std::iter_reference_t<Iterator>;                                    ///< as that of Iterator
    using pointer = typename std::iterator_traits<Iterator>::pointer;                     ///< as that of Iterator
    using iterator_category = typename std::iterator_traits<Iterator>::iterator_category; ///< as that of Iterator

    locked_iterator() = default; ///< Makes an iterator of no container.
    /// Used by container_guard only.
    locked_iterator(Iterator at, std::shared_ptr<const detail::held_lock> lock)
        : at_(std::move(at)), lock_(std::move(lock)) {}

    /// Returns the iterator without its lock, for functions of the container such as erase().
    [[nodiscard]] const Iterator& base() const { return at_; }

    /// Returns the element.
    reference operator*() const { return *checked(); }
    /// Returns the address of the element.
    auto operator->() const {
        if constexpr (std::is_pointer_v<Iterator>)
            return checked();
        else
            return checked().operator->();
    }
    /// Goes to the next element.
    locked_iterator& operator++() {
        ++checked();
        return *this;
    }
    locked_iterator operator++(int) { return {checked()++, lock_}; } ///< Goes to the next element.
    /// Goes to the previous element.
    locked_iterator& operator--()
        requires std::bidirectional_iterator<Iterator>
    {
        --checked();
        return *this;
    }
    /// Goes to the previous element.
    locked_iterator operator--(int)
        requires std::bidirectional_iterator<Iterator>
    {
        return {checked()--, lock_};
    }
    /// Goes `steps` elements further.
    locked_iterator& operator+=(difference_type steps)
        requires std::random_access_iterator<Iterator>
    {
        checked() += steps;
        return *this;
    }
    /// Goes `steps` elements back.
    locked_iterator& operator-=(difference_type steps)
        requires std::random_access_iterator<Iterator>
    {
        return *this += -steps;
    }
    /// Returns the element `steps` further.
    reference operator[](difference_type steps) const
        requires std::random_access_iterator<Iterator>
    {
        return checked()[steps];
    }
    /// Returns the iterator `steps` further.
    friend locked_iterator operator+(locked_iterator from, difference_type steps)
        requires std::random_access_iterator<Iterator>
    {
        return from += steps;
    }
    /// Returns the iterator `steps` further.
    friend locked_iterator operator+(difference_type steps, locked_iterator from)
        requires std::random_access_iterator<Iterator>
    {
        return from += steps;
    }
    /// Returns the iterator `steps` back.
    friend locked_iterator operator-(locked_iterator from, difference_type steps)
        requires std::random_access_iterator<Iterator>
    {
        return from -= steps;
    }
    /// Returns how many steps lead from `b` to `a`.
    friend difference_type operator-(const locked_iterator& a, const locked_iterator& b)
        requires std::random_access_iterator<Iterator>
    {
        return a.at_ - b.at_;
    }
    /// Compares the positions.
    friend bool operator==(const locked_iterator& a, const locked_iterator& b) { return a.at_ == b.at_; }
    /// Compares the positions.
    friend auto operator<=>(const locked_iterator& a, const locked_iterator& b)
        requires std::random_access_iterator<Iterator> && std::three_way_comparable<Iterator>
    {
        return a.at_ <=> b.at_;
    }

private:
    const Iterator& checked() const {
        lock_->check();
        return at_;
    }
    Iterator& checked() {
        lock_->check();
        return at_;
    }

    Iterator at_{};
    std::shared_ptr<const detail::held_lock> lock_;
};

/// A lock on a container, and the container as a range: `for (auto& [name, group] : groups.exclusive())`. The container
/// stays locked until the guard, the iterators taken from it, and the references to fragile elements (fragile_reference)
/// that the thread has made meanwhile are destroyed. Plain references and pointers to elements do not hold the lock.
///
/// The end of an exclusive lock commits, unless it is within another write section of the thread; if an exception ends
/// it, it rolls back. A failure of that commit is reported as heap::unlock() reports it. Guard and iterators must be
/// destroyed by the thread that locked; otherwise the process ends with a message.
///
/// `Container` is const in a guard of a shared lock. Move-only.
template <class Container>
class [[nodiscard]] container_guard {
public:
    /// Used by file_backed only.
    container_guard(Container& locked, std::shared_ptr<detail::held_lock> lock)
        : container_(&locked), lock_(std::move(lock)) {}
    container_guard(container_guard&& other) noexcept = default; ///< Takes over the lock.
    container_guard&
    operator=(container_guard&& other) noexcept = default; ///< Ends its own lock; takes over the other.
    container_guard(const container_guard&) = delete;
    container_guard& operator=(const container_guard&) = delete;
    ~container_guard() = default;

    /// Returns an iterator to the first element. It holds the lock, too.
    [[nodiscard]] auto begin() const { return locked_iterator(checked().begin(), lock_); }
    /// Returns the iterator behind the last element. It holds the lock, too.
    [[nodiscard]] auto end() const { return locked_iterator(checked().end(), lock_); }
    /// Returns the container. Errors: errc::section_conflict after unlock().
    [[nodiscard]] Container& operator*() const { return checked(); }
    [[nodiscard]] Container* operator->() const { return &checked(); } ///< Returns the container.

    /// Ends the lock now, also for iterators and references that were taken from the guard. From then on, guard and
    /// iterators throw errc::section_conflict. Does nothing if the lock has ended.
    void unlock() noexcept {
        if (lock_)
            lock_->end();
    }

private:
    Container& checked() const {
        if (lock_ == nullptr)
            detail::raise_no_lock();
        lock_->check();
        return *container_;
    }

    Container* container_;
    std::shared_ptr<detail::held_lock> lock_; // null: moved from
};

} // namespace remanence
