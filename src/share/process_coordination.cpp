#include "share/process_coordination.hpp"

#include "os/shared_word.hpp"
#include "os/this_process.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace remanence::share {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// The process that should wake a thread may die before it does. So no thread sleeps longer than this without a check.
constexpr nanoseconds k_sleep_max = 20ms;
// A thread that does nothing but watch for commits; the next commit wakes it, too.
constexpr nanoseconds k_sleep_of_watchers = 1s;
// A thread that waits to be called may sleep longer, since a checkpoint repeats its calls until the thread reacts.
constexpr nanoseconds k_sleep_until_called = 1h;
// How long the last writer lets others acquire the writer lock first. The limit is needed since they may be stopped or
// dead.
constexpr nanoseconds k_courtesy_max = 10ms;

nanoseconds time_left(deadline until, nanoseconds at_most) {
    if (!until)
        return at_most;
    return std::min<nanoseconds>(at_most, *until - std::chrono::steady_clock::now());
}

} // namespace

void process_coordination::come_in() {
    steps.emplace(file.memory().words, std::span(file.memory().slots), *locks, places.slot());
    auto& me = mine();
    me.process.store(static_cast<std::uint64_t>(os::process_number()), std::memory_order_relaxed);
    char name[2 * sizeof(std::uint64_t)] = {};
    const std::string program = os::program_name();
    program.copy(name, sizeof name);
    for (std::size_t i = 0; i < 2; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, name + i * sizeof word, sizeof word);
        me.program[i].store(word, std::memory_order_relaxed);
    }
}

result<bool> process_coordination::is_session_alive() {
    auto is_there = file.is_at_its_name();
    if (!is_there || !*is_there)
        return is_there;
    auto taken = locks->locked_by_others(lock_byte::k_first_slot, k_slots);
    if (!taken)
        return taken.error();
    return taken->has_value();
}

void process_coordination::notify_writer_lock_change() {
    waiting().turns.fetch_add(1, std::memory_order_seq_cst);
    if (waiting().writer_lock_is_wanted.load(std::memory_order_seq_cst) != 0)
        os::wake_all(waiting().turns);
}

void process_coordination::call(slot<shared_memory_policy>& one) {
    one.calls.fetch_add(1, std::memory_order_seq_cst);
    os::wake_all(one.calls);
}

void process_coordination::call_those_in_the_way() {
    const std::uint64_t target = steps->apply_target();
    for (std::size_t i = 0, count = steps->slots_used(); i < count; ++i) {
        auto& each = file.memory().slots[i];
        if (each.pin.load(std::memory_order_relaxed) < target)
            call(each);
    }
}

void process_coordination::let_others_write_first(deadline until) {
    auto& words = file.memory().words;
    if (waiting().writer_lock_is_wanted.load(std::memory_order_relaxed) == 0 ||
        words.writer_slot.load(std::memory_order_relaxed) != places.slot() + 1)
        return;
    const std::uint32_t turns = waiting().turns.load(std::memory_order_seq_cst);
    os::wait_on(waiting().turns, turns, time_left(until, k_courtesy_max));
    if (waiting().turns.load(std::memory_order_relaxed) == turns)
        waiting().writer_lock_is_wanted.store(0,
                                              std::memory_order_relaxed); // a live process that waits sets it again
}

void process_coordination::note_writer_lock() {
    auto& words = file.memory().words;
    words.writer_slot.store(places.slot() + 1, std::memory_order_relaxed);
    words.writer_thread.store(static_cast<std::uint64_t>(os::thread_number()), std::memory_order_relaxed);
    words.writer_since.store(os::coarse_time(), std::memory_order_relaxed);
    has_writer_lock.store(true, std::memory_order_relaxed);
    const bool others_wait = waiting().writer_lock_is_wanted.exchange(0, std::memory_order_seq_cst) != 0;
    waiting().turns.fetch_add(1, std::memory_order_seq_cst);
    if (others_wait) // processes that still wait set the word again
        os::wake_all(waiting().turns);
}

result<void> process_coordination::check_session() {
    if (!is_guest)
        return {};
    auto alive = is_session_alive();
    if (!alive)
        return alive.error();
    if (*alive)
        return {};
    return fail(errc::closed,
                path + " is not shared any more: the processes that wrote to it have closed it, or died. Open it "
                       "again.",
                path);
}

result<void> process_coordination::become_ready(const heap_identity& heap, const visible_commit& commit,
                                                const current_checkpoint& checkpoint) {
    file.memory().header.heap = heap;
    return places.become_ready([&] {
        come_in();
        steps->begin(commit, checkpoint);
        steps->enter();
    });
}

result<void> process_coordination::check_identity(const heap_identity& heap) const {
    const heap_identity& shared = file.memory().header.heap;
    if (shared.uuid == heap.uuid && shared.session == heap.session && shared.epoch == heap.epoch)
        return {};
    return fail(
        errc::in_use,
        path + " is not the heap that " + file.path() +
            " belongs to: it was replaced while others had it open. Close it in every process, and open it again.",
        path);
}

result<bool> process_coordination::detach(deadline until) {
    if (is_guest)
        return false;
    steps->leave();
    mine().process.store(0, std::memory_order_relaxed);
    return places.detach(until);
}

std::uint64_t process_coordination::visible() const noexcept { return steps->visible(); }
visible_commit process_coordination::commit() const noexcept { return steps->commit(); }
std::uint64_t process_coordination::checkpoint_sequence() const noexcept { return steps->checkpoint_sequence(); }
current_checkpoint process_coordination::checkpoint() const noexcept { return steps->checkpoint(); }
current_checkpoint process_coordination::released() const noexcept { return steps->released(); }
bool process_coordination::is_poisoned() const noexcept { return steps->is_poisoned(); }
void process_coordination::poison() noexcept {
    if (!is_guest)
        steps->poison();
}

bool process_coordination::wait_for_version(std::uint64_t version, deadline until) noexcept {
    coordination_waiting& waiting = this->waiting();
    for (;;) {
        const std::uint32_t seen = waiting.versions.load(std::memory_order_seq_cst);
        if (!is_guest) // a guest cannot write shared memory, so it polls
            waiting.version_is_wanted.store(1, std::memory_order_seq_cst);
        if (visible() >= version)
            return true;
        const nanoseconds left = time_left(until, k_sleep_max);
        if (left <= nanoseconds::zero())
            return false;
        os::wait_on(waiting.versions, seen, left);
    }
}

void process_coordination::wait_for_commit_after(std::uint64_t version, const std::atomic<bool>& ends) noexcept {
    coordination_waiting& waiting = this->waiting();
    const std::uint32_t seen = waiting.versions.load(std::memory_order_seq_cst);
    if (!is_guest)
        waiting.version_is_wanted.store(1, std::memory_order_seq_cst);
    if (visible() <= version && !ends)
        os::wait_on(waiting.versions, seen, is_guest ? k_sleep_max : k_sleep_of_watchers);
}

void process_coordination::wake_waiting_for_commits() noexcept {
    if (is_guest)
        return;
    waiting().versions.fetch_add(1, std::memory_order_seq_cst);
    os::wake_all(waiting().versions);
}

[[gnu::cold]] bool process_coordination::pin_as_guest(std::uint64_t version) noexcept {
    if (!steps->pin(version))
        return false;
    if (const auto alive = is_session_alive(); alive && *alive)
        return true;
    steps->unpin();
    return false;
}

bool process_coordination::pin(std::uint64_t version) noexcept {
    if (is_guest) [[unlikely]]
        return pin_as_guest(version);
    auto& mine = this->mine();
    mine.thread.store(static_cast<std::uint64_t>(os::thread_number()), std::memory_order_relaxed);
    mine.since.store(os::coarse_time(), std::memory_order_relaxed);
    mine.version.store(version, std::memory_order_relaxed);
    return steps->pin(version);
}
void process_coordination::unpin() noexcept { steps->unpin(); }
current_checkpoint process_coordination::hold() noexcept { return steps->hold(); }
void process_coordination::let_go() noexcept { steps->let_go(); }
std::uint64_t process_coordination::apply_target() const noexcept { return steps->apply_target(); }
std::optional<std::uint64_t> process_coordination::pinned() const noexcept {
    const std::uint64_t pin = mine().pin.load(std::memory_order_relaxed);
    return pin != k_none ? std::optional(pin) : std::nullopt;
}
void process_coordination::raise_pin(std::uint64_t version) noexcept { steps->raise_pin(version); }

std::uint32_t process_coordination::calls() const noexcept { return mine().calls.load(std::memory_order_seq_cst); }
void process_coordination::wait_for_call(std::uint32_t seen) noexcept {
    os::wait_on(mine().calls, seen, k_sleep_until_called);
}
void process_coordination::call_own() noexcept { call(mine()); }

result<coordination::turn> process_coordination::take_writer(deadline until) {
    let_others_write_first(until);
    for (;;) {
        coordination_waiting& waiting = this->waiting();
        const std::uint32_t seen = waiting.turns.load(std::memory_order_seq_cst);
        if (is_poisoned())
            return fail(errc::poisoned,
                        path + " takes no more commits, since a process that has it open could not write to it. "
                               "Close it in every process and open it again: it will be as of its last durable "
                               "commit.",
                        path);
        auto taken = steps->try_take_writer();
        if (!taken)
            return taken.error();
        if (*taken && is_poisoned()) { // meanwhile, by the previous holder of the writer lock
            release_writer();
            continue;
        }
        if (*taken) {
            note_writer_lock();
            return **taken;
        }
        const nanoseconds left = time_left(until, k_sleep_max);
        if (left <= nanoseconds::zero())
            return turn::timeout;
        waiting.writer_lock_is_wanted.store(1, std::memory_order_seq_cst);
        os::wait_on(waiting.turns, seen, left);
    }
}

void process_coordination::begin_writing() noexcept { steps->begin_writing(); }

void process_coordination::publish(const visible_commit& commit) noexcept {
    steps->publish(commit);
    coordination_waiting& waiting = this->waiting();
    waiting.versions.fetch_add(1, std::memory_order_seq_cst);
    if (waiting.version_is_wanted.load(std::memory_order_seq_cst) != 0 &&
        waiting.version_is_wanted.exchange(0, std::memory_order_seq_cst) != 0)
        os::wake_all(waiting.versions);
}

void process_coordination::end_writing() noexcept { steps->end_writing(); }

void process_coordination::release_writer() noexcept {
    has_writer_lock.store(false, std::memory_order_relaxed);
    steps->release_writer();
    notify_writer_lock_change();
}

std::optional<participant> process_coordination::writer() const {
    auto locked = locks->locked_by_others(lock_byte::k_writer, 1);
    const bool by_another = locked && locked->has_value();
    const auto& words = file.memory().words;
    const std::uint64_t noted = words.writer_slot.load(std::memory_order_relaxed);
    if ((!by_another && !has_writer_lock.load(std::memory_order_relaxed)) || noted == 0 || noted > k_slots)
        return {};
    return file.who(static_cast<std::size_t>(noted - 1), words.writer_thread.load(std::memory_order_relaxed),
                    words.writer_since.load(std::memory_order_relaxed));
}

bool process_coordination::others_wait_to_write() const noexcept {
    return waiting().writer_lock_is_wanted.load(std::memory_order_relaxed) != 0;
}

result<bool> process_coordination::try_take_checkpoint() {
    auto taken = steps->try_take_checkpoint();
    if (taken && *taken)
        file.memory().words.checkpoint_slot.store(places.slot() + 1, std::memory_order_relaxed);
    return taken;
}
void process_coordination::declare_apply(std::uint64_t version) noexcept { steps->declare_apply(version); }
bool process_coordination::may_apply() noexcept {
    if (steps->may_apply())
        return true;
    call_those_in_the_way();
    return false;
}
void process_coordination::publish_checkpoint(const current_checkpoint& checkpoint) noexcept {
    steps->publish_checkpoint(checkpoint);
}
bool process_coordination::may_release() noexcept { return steps->may_release(); }
void process_coordination::release() noexcept { steps->release(); }
void process_coordination::release_checkpoint() noexcept { steps->release_checkpoint(); }

std::optional<participant> process_coordination::checkpointer() const {
    auto locked = locks->locked_by_others(lock_byte::k_checkpoint, 1);
    const std::uint64_t noted = file.memory().words.checkpoint_slot.load(std::memory_order_relaxed);
    if (!locked || !locked->has_value() || noted == 0 || noted > k_slots)
        return {};
    return file.who(static_cast<std::size_t>(noted - 1), 0, 0);
}

std::vector<reader> process_coordination::readers() const {
    std::vector<reader> found;
    const std::uint64_t target = apply_target();
    const std::uint64_t current = checkpoint_sequence();
    const coordination_memory& memory = file.memory();
    for (std::size_t i = 0, count = steps->slots_used(); i < count; ++i) {
        const auto& each = memory.slots[i];
        const std::uint64_t pin = each.pin.load(std::memory_order_acquire);
        const std::uint64_t hold = each.hold.load(std::memory_order_acquire);
        if ((pin == k_none && hold == k_none) || !steps->is_alive(i))
            continue;
        found.push_back(
            {file.who(i, each.thread.load(std::memory_order_relaxed), each.since.load(std::memory_order_relaxed)),
             pin != k_none ? each.version.load(std::memory_order_relaxed) : checkpoint().version,
             pin < target || hold < current});
    }
    std::ranges::sort(found, {}, &reader::version);
    return found;
}

std::size_t process_coordination::attached_processes() const {
    std::size_t alive = 0;
    for (std::size_t i = 0, count = steps->slots_used(); i < count; ++i)
        alive += steps->is_alive(i) ? std::size_t{1} : 0;
    return alive;
}

} // namespace remanence::share
