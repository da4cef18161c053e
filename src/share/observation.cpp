#include "share/observation.hpp"

#include "os/this_process.hpp"
#include "share/coordination_file.hpp"
#include "share/layout.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace remanence::share {

namespace {

result<bool> is_taken(os::byte_locks& locks, std::uint64_t first, std::uint64_t count = 1) {
    auto taken = locks.locked_by_others(first, count);
    if (!taken)
        return taken.error();
    return taken->has_value();
}

observed_process process_of(const coordination_file& file, std::size_t index) {
    const auto& one = file.memory().slots[index];
    const std::uint64_t pin = one.pin.load(std::memory_order_acquire);
    observed_process found{
        file.who(index, one.thread.load(std::memory_order_relaxed), one.since.load(std::memory_order_relaxed))};
    if (pin != k_none)
        found.version = one.version.load(std::memory_order_relaxed); // the pin itself may be higher
    return found;
}

} // namespace

result<std::optional<observation>> observe(os::file_system& files, os::file& heap, const std::string& path) {
    auto locks = heap.open_locks();
    if (!locks)
        return locks.error();
    auto anybody = is_taken(**locks, lock_byte::k_first_slot, k_slots);
    if (!anybody)
        return anybody.error();
    if (!*anybody)
        return std::optional<observation>();
    auto identity = heap.identity();
    if (!identity)
        return identity.error();
    auto boot = os::boot_number();
    if (!boot)
        return boot.error();
    coordination_file file(files, path, 0, std::move(*identity), *boot);
    auto usable = file.open(os::access::read_only);
    if (!usable)
        return usable.error();
    if (!*usable)
        return fail(errc::in_use,
                    path +
                        " is shared by processes that have it open under another name, or are about to open or close "
                        "it. Try again, or give that name.",
                    path);
    const auto& words = file.memory().words;
    observation found{words.visible.number_in(words.visible.look()), {}};
    const auto used =
        static_cast<std::size_t>(std::min<std::uint64_t>(words.slots_used.load(std::memory_order_acquire), k_slots));
    const std::uint64_t writer = words.writer_slot.load(std::memory_order_relaxed);
    auto has_writer = is_taken(**locks, lock_byte::k_writer);
    if (!has_writer)
        return has_writer.error();
    for (std::size_t i = 0; i < used; ++i) {
        auto is_alive = is_taken(**locks, lock_byte::k_first_slot + i);
        if (!is_alive)
            return is_alive.error();
        if (!*is_alive)
            continue;
        observed_process& one = found.processes.emplace_back(process_of(file, i));
        if (*has_writer && writer == i + 1) {
            one.has_writer_lock = true;
            one.who = file.who(i, words.writer_thread.load(std::memory_order_relaxed),
                               words.writer_since.load(std::memory_order_relaxed));
        }
    }
    return std::optional(std::move(found));
}

} // namespace remanence::share
