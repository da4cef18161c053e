#include "txn/section_lock.hpp"

#include "base/assert.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace remanence::txn {

namespace {

/// One lock that a thread holds. The list is in the order in which the outermost sections were entered.
struct held {
    const section_lock* lock;
    std::size_t write_depth;
    std::size_t read_depth;
    bool is_exclusive;
};

/// A write section, outermost or nested.
struct write_entry {
    const section_lock* lock;
    std::uint64_t moment;
};

// exit() destroys thread_local objects before the statics, among which are heaps and objects that use heaps. So these
// lists are not thread_local objects: a list that is not empty is never freed if exit() was called in a section, and a
// list that was freed is made again when needed.
thread_local std::vector<held>* my_sections = nullptr;
thread_local std::vector<write_entry>* my_writes = nullptr; // in the order in which they were entered
thread_local bool has_ended = false;                        // the thread_local objects of this thread are destroyed

struct end_of_thread {
    end_of_thread() noexcept {} // not trivial, so that it is constructed and destroyed only in threads that use it
    ~end_of_thread() {
        has_ended = true;
        if (my_sections != nullptr && my_sections->empty())
            delete std::exchange(my_sections, nullptr);
        if (my_writes != nullptr && my_writes->empty())
            delete std::exchange(my_writes, nullptr);
    }
};

[[gnu::cold]] void make_room_for_section() {
    section_lock::watch_end_of_thread();
    if (my_sections == nullptr)
        my_sections = new std::vector<held>;
    my_sections->reserve(my_sections->size() + 1);
}

/// Returns the list, with room for one section more: nothing may fail once a lock is held.
std::vector<held>& sections_to_change() {
    if (my_sections == nullptr || my_sections->size() == my_sections->capacity()) [[unlikely]]
        make_room_for_section();
    return *my_sections;
}

std::span<held> sections() { return my_sections != nullptr ? std::span<held>(*my_sections) : std::span<held>(); }

/// Makes room for one more entry, so that nothing fails once the lock is held.
[[gnu::cold]] void make_room_for_write() {
    if (my_writes == nullptr)
        my_writes = new std::vector<write_entry>;
    my_writes->reserve(my_writes->size() + 1);
}

[[gnu::cold]] void note_write(const section_lock* lock) { my_writes->push_back({lock, section_lock::next_moment()}); }

/// Forgets the write section of this lock that was entered last.
[[gnu::cold]] void forget_write(const section_lock* lock) {
    const auto last =
        std::find_if(my_writes->rbegin(), my_writes->rend(), [&](const write_entry& e) { return e.lock == lock; });
    if (last != my_writes->rend())
        my_writes->erase(std::next(last).base());
}

held* find(const section_lock* lock) {
    for (held& h : sections()) {
        if (h.lock == lock)
            return &h;
    }
    return nullptr;
}

void forget(const section_lock* lock) {
    if (held* const mine = find(lock)) // a lock has one entry at most
        my_sections->erase(my_sections->begin() + (mine - my_sections->data()));
}

} // namespace

[[gnu::cold]] section_lock::~section_lock() {
    if (is_taken_over_)
        mutex_.unlock();
    forget_all();
}

[[gnu::cold]] void section_lock::forget_all() noexcept {
    forget(this);
    if (my_writes != nullptr)
        std::erase_if(*my_writes, [&](const write_entry& e) { return e.lock == this; });
}

section_lock::outcome section_lock::enter_write(bool wait) {
    return enter_write_by([&] {
        if (!wait)
            return mutex_.try_lock();
        mutex_.lock();
        return true;
    });
}

section_lock::outcome section_lock::enter_write_until(std::chrono::steady_clock::time_point deadline) {
    return enter_write_by([&] { return mutex_.try_lock_until(deadline); });
}

/// `lock()` must lock mutex_, or return false.
template <class Lock>
section_lock::outcome section_lock::enter_write_by(const Lock& lock) {
    std::vector<held>& all = sections_to_change();
    make_room_for_write();
    if (held* mine = find(this)) {
        if (mine->write_depth == 0)
            return outcome::conflict;
        ++mine->write_depth;
        note_write(this);
        return outcome::nested;
    }
    if (!lock())
        return outcome::busy;
    if (is_ended_) {
        mutex_.unlock();
        return outcome::ended;
    }
    all.push_back({this, 1, 0, true});
    note_write(this);
    return outcome::outermost;
}

section_lock::outcome section_lock::enter_write_within_read() {
    held* const mine = find(this);
    REM_CHECK(mine != nullptr && mine->write_depth == 0);
    make_room_for_write();
    if (!mutex_.try_upgrade())
        return outcome::busy;
    mine->write_depth = 1;
    mine->is_exclusive = true;
    note_write(this);
    return outcome::nested;
}

section_lock::outcome section_lock::enter_read(bool wait) {
    return enter_read_by([&] {
        if (!wait)
            return mutex_.try_lock_shared();
        mutex_.lock_shared();
        return true;
    });
}

section_lock::outcome section_lock::enter_read_until(std::chrono::steady_clock::time_point deadline) {
    return enter_read_by([&] { return mutex_.try_lock_shared_until(deadline); });
}

/// `lock()` must lock mutex_ shared, or return false.
template <class Lock>
section_lock::outcome section_lock::enter_read_by(const Lock& lock) {
    if (held* mine = find(this)) {
        ++mine->read_depth;
        return outcome::nested;
    }
    std::vector<held>& all = sections_to_change();
    if (!lock())
        return outcome::busy;
    if (is_ended_) {
        mutex_.unlock_shared();
        return outcome::ended;
    }
    all.push_back({this, 0, 1, false});
    return outcome::outermost;
}

bool section_lock::leave_write() {
    held* mine = find(this);
    REM_CHECK(mine != nullptr && mine->write_depth > 0);
    --mine->write_depth;
    forget_write(this);
    if (mine->write_depth == 0 && mine->read_depth != 0) {
        mine->is_exclusive = false;
        mutex_.downgrade();
    }
    return release(mine->write_depth + mine->read_depth, mine->is_exclusive);
}

bool section_lock::leave_read() {
    held* mine = find(this);
    REM_CHECK(mine != nullptr && mine->read_depth > 0);
    --mine->read_depth;
    return release(mine->write_depth + mine->read_depth, mine->is_exclusive);
}

bool section_lock::release(std::size_t depth, bool is_exclusive) {
    if (depth > 0)
        return false;
    forget(this);
    if (is_exclusive) {
        mutex_.unlock();
    } else {
        mutex_.unlock_shared();
    }
    return true;
}

std::size_t section_lock::write_depth() const {
    const held* mine = find(this);
    return mine != nullptr ? mine->write_depth : 0;
}

std::size_t section_lock::read_depth() const {
    const held* mine = find(this);
    return mine != nullptr ? mine->read_depth : 0;
}

bool section_lock::is_in_one_read_only() const {
    const held* mine = find(this);
    return mine != nullptr && mine->read_depth == 1 && mine->write_depth == 0;
}

[[gnu::cold]] bool section_lock::try_to_take_over() noexcept {
    const held* own = find(this);
    if (own != nullptr && has_ended)
        return false;
    if (own != nullptr && own->is_exclusive)
        return mutex_.waiting() == 0;
    if (own != nullptr) {
        forget(this);
        mutex_.unlock_shared();
    }
    // This is not noted as a section, since noting allocates memory: without memory the heap could not be closed.
    is_taken_over_ = mutex_.waiting() == 0 && mutex_.try_lock();
    return is_taken_over_;
}

[[gnu::cold]] void section_lock::end() noexcept {
    const held* const own = find(this);
    const bool is_locked = is_taken_over_ || (own != nullptr && own->is_exclusive);
    forget_all();
    is_taken_over_ = false;
    if (!is_locked)
        return; // in a child of fork()
    is_ended_ = true;
    mutex_.unlock();
}

bool section_lock::is_thread_ending() noexcept { return has_ended; }

[[gnu::cold]] void section_lock::watch_end_of_thread() noexcept { thread_local const end_of_thread at_end; }

section_lock::entered section_lock::innermost_write() noexcept {
    return my_writes == nullptr || my_writes->empty()
               ? entered{}
               : entered{my_writes->back().lock->owner_, my_writes->back().moment};
}

std::vector<void*> section_lock::owners() {
    std::vector<void*> found;
    for (const held& each : sections())
        found.push_back(each.lock->owner_);
    return found;
}

std::uint64_t section_lock::next_moment() noexcept {
    thread_local std::uint64_t last = 0;
    return ++last;
}

} // namespace remanence::txn
