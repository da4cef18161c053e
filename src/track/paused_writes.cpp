#include "track/paused_writes.hpp"

#include <ctime>

namespace remanence::track {

namespace {

// A write that traps after the pause has ended was late, and works when it is repeated. If it keeps trapping, the cause
// is not ours.
constexpr int k_repetitions_max = 1000;

// For memory that the kernel lacks at the moment: one second in all.
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
        (void)os::protect_nothing(base_ + where.offset, where.bytes); // a part of it may be protected
        range_.end();
    }
    return closed;
}

result<void> paused_writes::replace(os::moving_mapping& by, std::uint64_t offset) { return by.move_to(base_ + offset); }

// A thread that writes while it stays protected dies.
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
    if (!process_.same_process()) { // a forked child, which has its own copy of the memory
        const auto in_page = reinterpret_cast<std::uintptr_t>(address) % k_page_bytes;
        return static_cast<bool>(os::protect_nothing(address - in_page, k_page_bytes));
    }
    range_.wait_while_it_contains(address);
    if (last_address_.exchange(address, std::memory_order_relaxed) != address)
        times_in_turn_.store(0, std::memory_order_relaxed);
    return times_in_turn_.fetch_add(1, std::memory_order_relaxed) < k_repetitions_max;
}

} // namespace remanence::track
