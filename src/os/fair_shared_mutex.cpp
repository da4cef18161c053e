#include "os/fair_shared_mutex.hpp"

namespace remanence::os {

/// Lets all waiting readers in.
constexpr std::uint64_t fair_shared_mutex::with_readers_admitted(std::uint64_t state) {
    const std::uint64_t count = waiting_readers(state);
    return count == 0 ? state : state + count * k_reader - count * k_waiting_reader + k_admission;
}

template <class F>
std::uint64_t fair_shared_mutex::replace(const F& change) noexcept {
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    while (!state_.compare_exchange_weak(state, change(state), std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    return state;
}

bool fair_shared_mutex::try_lock() noexcept {
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    while (is_free(state)) {
        if (state_.compare_exchange_weak(state, state | k_writer, std::memory_order_acquire, std::memory_order_relaxed))
            return true;
    }
    return false;
}

bool fair_shared_mutex::lock_before(const turn::moment& until) noexcept {
    const auto entered = [](std::uint64_t state) {
        return is_free(state) ? state | k_writer : state + k_waiting_writer;
    };
    if (is_free(replace(entered)))
        return true;
    for (;;) {
        const std::uint32_t seen = writers_turn_.now();
        const auto enter_if_free = [](std::uint64_t state) {
            return is_free(state) ? (state | k_writer) - k_waiting_writer : state;
        };
        if (is_free(replace(enter_if_free)))
            return true;
        if (until && std::chrono::steady_clock::now() >= *until) {
            stop_waiting();
            return false;
        }
        writers_turn_.wait(seen, until);
    }
}

// A wake-up that was meant for this writer must not be lost: if the lock is free, another writer is woken. If none
// waits, the readers that queued behind this one are let in.
void fair_shared_mutex::stop_waiting() noexcept {
    const auto left = [](std::uint64_t state) {
        state -= k_waiting_writer;
        return waiting_writers(state) == 0 && (state & k_writer) == 0 ? with_readers_admitted(state) : state;
    };
    const std::uint64_t before = replace(left);
    if (admissions(left(before)) != admissions(before)) {
        readers_turn_.pass();
        readers_turn_.wake_all();
    } else if (is_free(before)) {
        wake_writer();
    }
}

void fair_shared_mutex::unlock() noexcept {
    const std::uint64_t before = replace([](std::uint64_t state) { return with_readers_admitted(state - k_writer); });
    if (waiting_readers(before) != 0) {
        readers_turn_.pass();
        readers_turn_.wake_all();
    } else if (waiting_writers(before) != 0) {
        wake_writer();
    }
}

// While it waits, a reader is counted in state_. The thread that admits it counts it as a reader in a section.
bool fair_shared_mutex::lock_shared_before(const turn::moment& until) noexcept {
    if (try_lock_shared()) [[likely]]
        return true;
    const std::uint64_t before = replace(
        [](std::uint64_t state) { return admits_readers(state) ? state + k_reader : state + k_waiting_reader; });
    if (admits_readers(before))
        return true;
    const auto is_admitted = [&](std::uint64_t state) { return admissions(state) != admissions(before); };
    for (;;) {
        const std::uint32_t seen = readers_turn_.now();
        if (is_admitted(state_.load(std::memory_order_acquire)))
            return true;
        if (until && std::chrono::steady_clock::now() >= *until) // an admission may still come first
            return is_admitted(
                replace([&](std::uint64_t state) { return is_admitted(state) ? state : state - k_waiting_reader; }));
        readers_turn_.wait(seen, until);
    }
}

bool fair_shared_mutex::try_upgrade() noexcept {
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    while (readers(state) == 1) {
        if (state_.compare_exchange_weak(state, state - k_reader + k_writer, std::memory_order_acquire,
                                         std::memory_order_relaxed))
            return true;
    }
    return false;
}

void fair_shared_mutex::downgrade() noexcept {
    const auto shared = [](std::uint64_t state) {
        state = state - k_writer + k_reader;
        return waiting_writers(state) == 0 ? with_readers_admitted(state) : state;
    };
    const std::uint64_t before = replace(shared);
    if (admissions(shared(before)) != admissions(before)) {
        readers_turn_.pass();
        readers_turn_.wake_all();
    }
}

bool fair_shared_mutex::try_lock_shared() noexcept {
    std::uint64_t state = state_.load(std::memory_order_relaxed);
    while (admits_readers(state)) {
        if (state_.compare_exchange_weak(state, state + k_reader, std::memory_order_acquire, std::memory_order_relaxed))
            return true;
    }
    return false;
}

void fair_shared_mutex::unlock_shared() noexcept {
    const std::uint64_t before = state_.fetch_sub(k_reader, std::memory_order_acq_rel);
    if (readers(before) == 1 && waiting_writers(before) != 0)
        wake_writer();
}

void fair_shared_mutex::wake_writer() noexcept {
    writers_turn_.pass();
    writers_turn_.wake_one();
}

std::uint64_t fair_shared_mutex::waiting() const noexcept {
    const std::uint64_t state = state_.load(std::memory_order_relaxed);
    return waiting_readers(state) + waiting_writers(state);
}

} // namespace remanence::os
