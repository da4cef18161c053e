#include "share/coordination.hpp"

#include "os/lock_holders.hpp"
#include "os/shared_word.hpp"
#include "os/this_process.hpp"
#include "share/attachment.hpp"
#include "share/coordination_file.hpp"
#include "share/sections.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

namespace remanence::share {

namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

// Who should wake may have died before he did; so nobody sleeps longer without looking.
constexpr nanoseconds k_sleep_max = 20ms;
// But who is called again until he has come.
constexpr nanoseconds k_sleep_until_called = 1h;
// How long who has just written lets those go first who wait; they may be stopped, or dead.
constexpr nanoseconds k_courtesy_max = 10ms;
// How far apart who finds others about to open or close looks again.
constexpr nanoseconds k_between_tries = 10ms;

nanoseconds time_left(deadline until, nanoseconds at_most) {
    if (!until)
        return at_most;
    return std::min<nanoseconds>(at_most, *until - std::chrono::steady_clock::now());
}

bool is_over(deadline until) { return until && std::chrono::steady_clock::now() >= *until; }

unexpected open_elsewhere(const std::string& path) {
    return fail(errc::in_use,
                path + " is open elsewhere, not to be shared: " + os::who_holds(path) + ". Close it there first.",
                path);
}

/// Whoever is at the door may be stopped, or has much to recover.
unexpected kept_out(const std::string& path) {
    return fail(
        errc::in_use,
        path + " is just being opened or closed by " +
            os::describe_holders(path, static_cast<std::int64_t>(lock_byte::k_door)) +
            "; it was waited for until the time was over (heap_options::sharing.open_timeout). Let that process go on, "
            "or end it, and open the heap again.",
        path);
}

unexpected open_under_another_name(const std::string& path) {
    return fail(errc::in_use,
                path + " is shared under another name, or its coordination file " + path +
                    "-shm was removed or damaged while it was open: " + os::who_holds(path) +
                    ". Open it under the name by which they have it open, or close it there first.",
                path);
}

result<void> check_place(const os::file_identity& heap, const std::string& path, coordination::on where) {
    if (heap.reached_by.empty() || where == coordination::on::any)
        return {};
    return fail(errc::not_supported,
                path + " is on a file system of the kind " + heap.reached_by +
                    ", where processes cannot rely on each other's locks and memory. Copy the heap to a disk of this "
                    "machine, or open it in one process only; or, if you know that they can, set "
                    "heap_options::sharing.share_on_network.",
                path);
}

// Locks end with the descriptor; in a forked child that is closed, and the memory is not there.
struct process_coordination final : coordination {
    process_coordination(std::unique_ptr<os::byte_locks> bytes, coordination_file shared, std::string heap_path)
        : path(std::move(heap_path)), locks(std::move(bytes)), file(std::move(shared)), places(*locks, file, k_slots) {}

    void come_in() {
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

    /// AT5
    result<bool> is_session_alive() {
        auto is_there = file.is_at_its_name();
        if (!is_there || !*is_there)
            return is_there;
        auto taken = locks->locked_by_others(lock_byte::k_first_slot, k_slots);
        if (!taken)
            return taken.error();
        return taken->has_value();
    }

    [[nodiscard]] slot<shared_memory_policy>& mine() const { return file.memory().slots[places.slot()]; }
    [[nodiscard]] coordination_waiting& waiting() const { return file.memory().waiting; }

    void announce_turn_change() {
        waiting().turns.fetch_add(1, std::memory_order_seq_cst);
        if (waiting().turn_is_wanted.load(std::memory_order_seq_cst) != 0)
            os::wake_all(waiting().turns);
    }

    void call_those_in_the_way() {
        const std::uint64_t target = steps->fold_target();
        for (std::size_t i = 0, count = steps->slots_used(); i < count; ++i) {
            auto& each = file.memory().slots[i];
            if (each.pin.load(std::memory_order_relaxed) < target)
                call(each);
        }
    }

    static void call(slot<shared_memory_policy>& one) {
        one.calls.fetch_add(1, std::memory_order_seq_cst);
        os::wake_all(one.calls);
    }

    void let_others_write_first(deadline until) {
        auto& words = file.memory().words;
        if (waiting().turn_is_wanted.load(std::memory_order_relaxed) == 0 ||
            words.writer_slot.load(std::memory_order_relaxed) != places.slot() + 1)
            return;
        const std::uint32_t turns = waiting().turns.load(std::memory_order_seq_cst);
        os::wait_on(waiting().turns, turns, time_left(until, k_courtesy_max));
        if (waiting().turns.load(std::memory_order_relaxed) == turns)
            waiting().turn_is_wanted.store(0, std::memory_order_relaxed); // whoever it was; one who lives says so again
    }

    void note_turn() {
        auto& words = file.memory().words;
        words.writer_slot.store(places.slot() + 1, std::memory_order_relaxed);
        words.writer_thread.store(static_cast<std::uint64_t>(os::thread_number()), std::memory_order_relaxed);
        words.writer_since.store(os::coarse_time(), std::memory_order_relaxed);
        has_turn.store(true, std::memory_order_relaxed);
        const bool others_wait = waiting().turn_is_wanted.exchange(0, std::memory_order_seq_cst) != 0;
        waiting().turns.fetch_add(1, std::memory_order_seq_cst);
        if (others_wait) // who goes on waiting says so again
            os::wake_all(waiting().turns);
    }

    result<void> check_session() override;
    result<void> become_ready(const heap_identity& heap, const visible_commit& commit,
                              const ruling_checkpoint& checkpoint) override;
    result<void> check_identity(const heap_identity& heap) const override;
    result<bool> detach(deadline until) override;
    [[nodiscard]] std::uint64_t visible() const noexcept override;
    [[nodiscard]] visible_commit commit() const noexcept override;
    [[nodiscard]] std::uint64_t checkpoint_sequence() const noexcept override;
    [[nodiscard]] ruling_checkpoint checkpoint() const noexcept override;
    [[nodiscard]] ruling_checkpoint released() const noexcept override;
    [[nodiscard]] bool is_poisoned() const noexcept override;
    void poison() noexcept override;
    bool wait_for_version(std::uint64_t version, deadline until) noexcept override;
    bool pin(std::uint64_t version) noexcept override;
    void unpin() noexcept override;
    ruling_checkpoint hold() noexcept override;
    void let_go() noexcept override;
    [[nodiscard]] std::uint64_t fold_target() const noexcept override;
    [[nodiscard]] std::optional<std::uint64_t> pinned() const noexcept override;
    void raise_pin(std::uint64_t version) noexcept override;
    [[nodiscard]] std::uint32_t calls() const noexcept override;
    void wait_for_call(std::uint32_t seen) noexcept override;
    void call_own() noexcept override;
    result<turn> take_writer(deadline until) override;
    void begin_writing() noexcept override;
    void publish(const visible_commit& commit) noexcept override;
    void end_writing() noexcept override;
    void release_writer() noexcept override;
    [[nodiscard]] std::optional<participant> writer() const override;
    [[nodiscard]] bool others_wait_to_write() const noexcept override;
    result<bool> try_take_checkpoint() override;
    void announce_fold(std::uint64_t version) noexcept override;
    [[nodiscard]] bool may_fold() noexcept override;
    void publish_checkpoint(const ruling_checkpoint& checkpoint) noexcept override;
    [[nodiscard]] bool may_release() noexcept override;
    void release() noexcept override;
    void release_checkpoint() noexcept override;
    [[nodiscard]] std::optional<participant> checkpointer() const override;
    [[nodiscard]] std::vector<reader> readers() const override;
    [[nodiscard]] std::size_t attached_processes() const override;

    std::string path;
    std::unique_ptr<os::byte_locks> locks;
    coordination_file file;
    attachment<shared_memory_policy> places;
    std::optional<sections<shared_memory_policy>> steps; // once in, or first
    std::atomic<bool> has_turn = false;
    bool is_guest = false;
};

// In nobody's sight yet.
result<std::unique_ptr<process_coordination>> make(os::file_system& files, os::file& heap, const std::string& path,
                                                   unsigned mode, coordination::on where) {
    auto identity = heap.identity();
    if (!identity)
        return identity.error();
    REM_TRY(check_place(*identity, path, where));
    auto boot = os::boot_number();
    if (!boot)
        return boot.error();
    auto locks = heap.open_locks();
    if (!locks)
        return locks.error();
    return std::make_unique<process_coordination>(
        std::move(*locks), coordination_file(files, path, mode, std::move(*identity), *boot), path);
}

} // namespace

result<coordination::attached> coordination::attach(os::file_system& files, os::file& heap, const std::string& path,
                                                    unsigned mode, deadline until, on where) {
    auto made = make(files, heap, path, mode, where);
    if (!made)
        return made.error();
    process_coordination& one = **made;
    for (;;) {
        auto arrived = one.places.attach(until);
        if (!arrived)
            return arrived.error();
        switch (*arrived) {
        case arrival::first:
            return attached{std::move(*made), role::first};
        case arrival::joined:
            one.come_in();
            one.steps->enter();
            return attached{std::move(*made), role::joined};
        case arrival::exclusive:
            return open_elsewhere(path);
        case arrival::other_name:
            return open_under_another_name(path);
        case arrival::kept_out:
            return kept_out(path);
        case arrival::not_yet:
            if (is_over(until))
                return open_elsewhere(path); // somebody looks at it, and locks it for that
            std::this_thread::sleep_for(k_between_tries);
        }
    }
}

result<std::unique_ptr<coordination>> coordination::attach_to_read(os::file_system& files, os::file& heap,
                                                                   const std::string& path, deadline until, on where) {
    auto made = make(files, heap, path, 0, where);
    if (!made)
        return made.error();
    process_coordination& one = **made;
    one.is_guest = true;
    for (;;) {
        auto at_door = one.locks->locked_by_others(lock_byte::k_door, 1); // first: he may come in meanwhile
        if (!at_door)
            return at_door.error();
        auto anybody = one.locks->locked_by_others(lock_byte::k_first_slot, k_slots);
        if (!anybody)
            return anybody.error();
        if (!*anybody && !*at_door)
            return std::unique_ptr<coordination>();
        if (!*anybody) {
            if (is_over(until))
                return kept_out(path);
            std::this_thread::sleep_for(k_between_tries);
            continue;
        }
        auto usable = one.file.open(os::access::read_only);
        if (!usable)
            return usable.error();
        if (*usable) {
            one.steps.emplace(one.file.memory().words, std::span(one.file.memory().slots), *one.locks, k_slots);
            return std::unique_ptr<coordination>(std::move(*made));
        }
        if (is_over(until)) // somebody is about to become ready, or to close as the last
            return *at_door ? kept_out(path) : open_under_another_name(path);
        std::this_thread::sleep_for(k_between_tries);
    }
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

result<void> coordination::remove_left_over(os::file_system& files, const std::string& path) {
    return coordination_file(files, path, 0, {}, {}).remove_old();
}

result<void> process_coordination::become_ready(const heap_identity& heap, const visible_commit& commit,
                                                const ruling_checkpoint& checkpoint) {
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
ruling_checkpoint process_coordination::checkpoint() const noexcept { return steps->checkpoint(); }
ruling_checkpoint process_coordination::released() const noexcept { return steps->released(); }
bool process_coordination::is_poisoned() const noexcept { return steps->is_poisoned(); }
void process_coordination::poison() noexcept {
    if (!is_guest)
        steps->poison();
}

bool process_coordination::wait_for_version(std::uint64_t version, deadline until) noexcept {
    coordination_waiting& waiting = this->waiting();
    for (;;) {
        const std::uint32_t seen = waiting.versions.load(std::memory_order_seq_cst);
        if (!is_guest) // who looks again by himself
            waiting.version_is_wanted.store(1, std::memory_order_seq_cst);
        if (visible() >= version)
            return true;
        const nanoseconds left = time_left(until, k_sleep_max);
        if (left <= nanoseconds::zero())
            return false;
        os::wait_on(waiting.versions, seen, left);
    }
}

bool process_coordination::pin(std::uint64_t version) noexcept {
    if (is_guest) {
        if (!steps->pin(version))
            return false;
        if (const auto alive = is_session_alive(); alive && *alive)
            return true;
        steps->unpin();
        return false;
    }
    auto& mine = this->mine();
    mine.thread.store(static_cast<std::uint64_t>(os::thread_number()), std::memory_order_relaxed);
    mine.since.store(os::coarse_time(), std::memory_order_relaxed);
    mine.version.store(version, std::memory_order_relaxed);
    return steps->pin(version);
}
void process_coordination::unpin() noexcept { steps->unpin(); }
ruling_checkpoint process_coordination::hold() noexcept { return steps->hold(); }
void process_coordination::let_go() noexcept { steps->let_go(); }
std::uint64_t process_coordination::fold_target() const noexcept { return steps->fold_target(); }
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
        if (*taken && is_poisoned()) { // by whoever had the turn
            release_writer();
            continue;
        }
        if (*taken) {
            note_turn();
            return **taken;
        }
        const nanoseconds left = time_left(until, k_sleep_max);
        if (left <= nanoseconds::zero())
            return turn::timeout;
        waiting.turn_is_wanted.store(1, std::memory_order_seq_cst);
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
    has_turn.store(false, std::memory_order_relaxed);
    steps->release_writer();
    announce_turn_change();
}

std::optional<participant> process_coordination::writer() const {
    auto locked = locks->locked_by_others(lock_byte::k_writer, 1);
    const bool by_another = locked && locked->has_value();
    const auto& words = file.memory().words;
    const std::uint64_t noted = words.writer_slot.load(std::memory_order_relaxed);
    if ((!by_another && !has_turn.load(std::memory_order_relaxed)) || noted == 0 || noted > k_slots)
        return {};
    return file.who(static_cast<std::size_t>(noted - 1), words.writer_thread.load(std::memory_order_relaxed),
                    words.writer_since.load(std::memory_order_relaxed));
}

bool process_coordination::others_wait_to_write() const noexcept {
    return waiting().turn_is_wanted.load(std::memory_order_relaxed) != 0;
}

result<bool> process_coordination::try_take_checkpoint() {
    auto taken = steps->try_take_checkpoint();
    if (taken && *taken)
        file.memory().words.checkpoint_slot.store(places.slot() + 1, std::memory_order_relaxed);
    return taken;
}
void process_coordination::announce_fold(std::uint64_t version) noexcept { steps->announce_fold(version); }
bool process_coordination::may_fold() noexcept {
    if (steps->may_fold())
        return true;
    call_those_in_the_way();
    return false;
}
void process_coordination::publish_checkpoint(const ruling_checkpoint& checkpoint) noexcept {
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
    const std::uint64_t target = fold_target();
    const std::uint64_t ruling = checkpoint_sequence();
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
             pin < target || hold < ruling});
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
