#include "track/paused_writes.hpp"

#include <ctime>

namespace remanence::track {

namespace {

// A write that traps only after the pause has ended succeeds when it is repeated. If it keeps trapping, something else
// protects the page, and this class does not handle the trap.
constexpr int k_repetitions_max = 1000;

// How often to try when the kernel lacks memory at the moment: for one second in total.
constexpr int k_tries_to_open = 1000;
constexpr timespec k_before_next_try{0, 1'000'000};

} // namespace

void paused_range::wait_while_it_contains(const std::byte* address) const noexcept {
    while (contains(address)) {
        constexpr timespec k_while{0, 20'000};
        ::nanosleep(&k_while, nullptr);
    }
}

paused_writes::~paused_writes() { os::set_write_trap(base_, trapped_bytes_, nullptr); }

result<void> paused_writes::begin(page_run where) {
    REM_TRY(os::put_write_traps_in_front());
    if (where.end() > trapped_bytes_) {
        trapped_bytes_ = align_up(where.end(), os::k_base_alignment);
        os::set_write_trap(base_, trapped_bytes_, this);
    }
    where_ = where;
    range_.begin(base_ + where.offset, where.bytes);
    auto closed = os::protect_read_only(base_ + where.offset, where.bytes);
    if (!closed) {
        (void)os::protect_nothing(base_ + where.offset, where.bytes); // a part of it may be protected already
        range_.end();
    }
    return closed;
}

result<void> paused_writes::replace(os::moving_mapping& by, std::uint64_t offset) { return by.move_to(base_ + offset); }

// If this fails, a part of the range stays protected, and a thread that writes there ends the process.
result<void> paused_writes::end() {
    auto opened = os::protect_nothing(base_ + where_.offset, where_.bytes);
    for (int tries = 1; !opened && tries < k_tries_to_open; ++tries) {
        ::nanosleep(&k_before_next_try, nullptr);
        opened = os::protect_nothing(base_ + where_.offset, where_.bytes);
    }
    range_.end();
    return opened;
}

bool paused_writes::on_write(std::byte* address) noexcept {
    if (!process_.same_process()) { // a forked child, whose copy of the memory stays protected
        const auto in_page = reinterpret_cast<std::uintptr_t>(address) % k_page_bytes;
        return static_cast<bool>(os::protect_nothing(address - in_page, k_page_bytes));
    }
    range_.wait_while_it_contains(address);
    if (last_address_.exchange(address, std::memory_order_relaxed) != address)
        times_in_turn_.store(0, std::memory_order_relaxed);
    return times_in_turn_.fetch_add(1, std::memory_order_relaxed) < k_repetitions_max;
}

} // namespace remanence::track
