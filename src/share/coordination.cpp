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
    return fail(errc::in_use,
                path + " is just being opened or closed by " +
                    os::describe_holders(path, static_cast<std::int64_t>(lock_byte::k_door)) +
                    "; it was waited for until the time was over (heap_options::open_timeout). Let that process go on, "
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
                    "heap_options::share_on_network.",
                path);
}

} // namespace

struct coordination::implementation {
    implementation(std::unique_ptr<os::byte_locks> bytes, coordination_file coordination, std::string heap_path)
        : path(std::move(heap_path)),
          locks(std::move(bytes)),
          file(std::move(coordination)),
          places(*locks, file, k_slots) {}

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

    slot<shared_memory_policy>& mine() { return file.memory().slots[places.slot()]; }
    coordination_waiting& waiting() { return file.memory().waiting; }

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

    std::string path;
    std::unique_ptr<os::byte_locks> locks;
    coordination_file file;
    attachment<shared_memory_policy> places;
    std::optional<sections<shared_memory_policy>> steps; // once in, or first
    std::atomic<bool> has_turn = false;
    bool is_guest = false;
};

void link() noexcept {}

coordination::coordination() = default;
// Locks end with the descriptor; in a forked child that is closed, and the memory is not there.
coordination::~coordination() = default;

// In nobody's sight yet.
result<std::unique_ptr<coordination>> coordination::make(os::file_system& files, os::file& heap,
                                                         const std::string& path, unsigned mode, on where) {
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
    std::unique_ptr<coordination> made(new coordination);
    made->impl_ = std::make_unique<implementation>(
        std::move(*locks), coordination_file(files, path, mode, std::move(*identity), *boot), path);
    return made;
}

result<coordination::attached> coordination::attach(os::file_system& files, os::file& heap, const std::string& path,
                                                    unsigned mode, deadline until, on where) {
    auto made = make(files, heap, path, mode, where);
    if (!made)
        return made.error();
    implementation& one = *(*made)->impl_;
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
    implementation& one = *(*made)->impl_;
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
            return made;
        }
        if (is_over(until)) // somebody is about to become ready, or to close as the last
            return *at_door ? kept_out(path) : open_under_another_name(path);
        std::this_thread::sleep_for(k_between_tries);
    }
}

result<void> coordination::check_session() {
    if (!impl_->is_guest)
        return {};
    auto alive = impl_->is_session_alive();
    if (!alive)
        return alive.error();
    if (*alive)
        return {};
    return fail(errc::closed,
                impl_->path +
                    " is not shared any more: the processes that wrote to it have closed it, or died. Open it "
                    "again.",
                impl_->path);
}

result<void> coordination::remove_left_over(os::file_system& files, const std::string& path) {
    return coordination_file(files, path, 0, {}, {}).remove_old();
}

result<void> coordination::become_ready(const heap_identity& heap, const visible_commit& commit,
                                        const ruling_checkpoint& checkpoint) {
    impl_->file.memory().header.heap = heap;
    return impl_->places.become_ready([&] {
        impl_->come_in();
        impl_->steps->begin(commit, checkpoint);
        impl_->steps->enter();
    });
}

result<void> coordination::check_identity(const heap_identity& heap) const {
    const heap_identity& shared = impl_->file.memory().header.heap;
    if (shared.uuid == heap.uuid && shared.session == heap.session && shared.epoch == heap.epoch)
        return {};
    return fail(
        errc::in_use,
        impl_->path + " is not the heap that " + impl_->file.path() +
            " belongs to: it was replaced while others had it open. Close it in every process, and open it again.",
        impl_->path);
}

result<bool> coordination::detach(deadline until) {
    if (impl_->is_guest)
        return false;
    impl_->steps->leave();
    impl_->mine().process.store(0, std::memory_order_relaxed);
    return impl_->places.detach(until);
}

std::uint64_t coordination::visible() const noexcept { return impl_->steps->visible(); }
visible_commit coordination::commit() const noexcept { return impl_->steps->commit(); }
std::uint64_t coordination::checkpoint_sequence() const noexcept { return impl_->steps->checkpoint_sequence(); }
ruling_checkpoint coordination::checkpoint() const noexcept { return impl_->steps->checkpoint(); }
ruling_checkpoint coordination::released() const noexcept { return impl_->steps->released(); }
bool coordination::is_poisoned() const noexcept { return impl_->steps->is_poisoned(); }
void coordination::poison() noexcept {
    if (!impl_->is_guest)
        impl_->steps->poison();
}

bool coordination::wait_for_version(std::uint64_t version, deadline until) noexcept {
    coordination_waiting& waiting = impl_->waiting();
    for (;;) {
        const std::uint32_t seen = waiting.versions.load(std::memory_order_seq_cst);
        if (!impl_->is_guest) // who looks again by himself
            waiting.version_is_wanted.store(1, std::memory_order_seq_cst);
        if (visible() >= version)
            return true;
        const nanoseconds left = time_left(until, k_sleep_max);
        if (left <= nanoseconds::zero())
            return false;
        os::wait_on(waiting.versions, seen, left);
    }
}

bool coordination::pin(std::uint64_t version) noexcept {
    if (impl_->is_guest) {
        if (!impl_->steps->pin(version))
            return false;
        if (const auto alive = impl_->is_session_alive(); alive && *alive)
            return true;
        impl_->steps->unpin();
        return false;
    }
    auto& mine = impl_->mine();
    mine.thread.store(static_cast<std::uint64_t>(os::thread_number()), std::memory_order_relaxed);
    mine.since.store(os::coarse_time(), std::memory_order_relaxed);
    mine.version.store(version, std::memory_order_relaxed);
    return impl_->steps->pin(version);
}
void coordination::unpin() noexcept { impl_->steps->unpin(); }
ruling_checkpoint coordination::hold() noexcept { return impl_->steps->hold(); }
void coordination::let_go() noexcept { impl_->steps->let_go(); }
std::uint64_t coordination::fold_target() const noexcept { return impl_->steps->fold_target(); }
std::optional<std::uint64_t> coordination::pinned() const noexcept {
    const std::uint64_t pin = impl_->mine().pin.load(std::memory_order_relaxed);
    return pin != k_none ? std::optional(pin) : std::nullopt;
}
void coordination::raise_pin(std::uint64_t version) noexcept { impl_->steps->raise_pin(version); }

std::uint32_t coordination::calls() const noexcept { return impl_->mine().calls.load(std::memory_order_seq_cst); }
void coordination::wait_for_call(std::uint32_t seen) noexcept {
    os::wait_on(impl_->mine().calls, seen, k_sleep_until_called);
}
void coordination::call_own() noexcept { impl_->call(impl_->mine()); }

result<coordination::turn> coordination::take_writer(deadline until) {
    impl_->let_others_write_first(until);
    for (;;) {
        coordination_waiting& waiting = impl_->waiting();
        const std::uint32_t seen = waiting.turns.load(std::memory_order_seq_cst);
        if (is_poisoned())
            return fail(errc::poisoned,
                        impl_->path + " takes no more commits, since a process that has it open could not write to it. "
                                      "Close it in every process and open it again: it will be as of its last durable "
                                      "commit.",
                        impl_->path);
        auto taken = impl_->steps->try_take_writer();
        if (!taken)
            return taken.error();
        if (*taken && is_poisoned()) { // by whoever had the turn
            release_writer();
            continue;
        }
        if (*taken) {
            impl_->note_turn();
            return **taken;
        }
        const nanoseconds left = time_left(until, k_sleep_max);
        if (left <= nanoseconds::zero())
            return turn::timeout;
        waiting.turn_is_wanted.store(1, std::memory_order_seq_cst);
        os::wait_on(waiting.turns, seen, left);
    }
}

void coordination::begin_writing() noexcept { impl_->steps->begin_writing(); }

void coordination::publish(const visible_commit& commit) noexcept {
    impl_->steps->publish(commit);
    coordination_waiting& waiting = impl_->waiting();
    waiting.versions.fetch_add(1, std::memory_order_seq_cst);
    if (waiting.version_is_wanted.load(std::memory_order_seq_cst) != 0 &&
        waiting.version_is_wanted.exchange(0, std::memory_order_seq_cst) != 0)
        os::wake_all(waiting.versions);
}

void coordination::end_writing() noexcept { impl_->steps->end_writing(); }

void coordination::release_writer() noexcept {
    impl_->has_turn.store(false, std::memory_order_relaxed);
    impl_->steps->release_writer();
    impl_->announce_turn_change();
}

std::optional<participant> coordination::writer() const {
    auto locked = impl_->locks->locked_by_others(lock_byte::k_writer, 1);
    const bool by_another = locked && locked->has_value();
    const auto& words = impl_->file.memory().words;
    const std::uint64_t noted = words.writer_slot.load(std::memory_order_relaxed);
    if ((!by_another && !impl_->has_turn.load(std::memory_order_relaxed)) || noted == 0 || noted > k_slots)
        return {};
    return impl_->file.who(static_cast<std::size_t>(noted - 1), words.writer_thread.load(std::memory_order_relaxed),
                           words.writer_since.load(std::memory_order_relaxed));
}

bool coordination::others_wait_to_write() const noexcept {
    return impl_->waiting().turn_is_wanted.load(std::memory_order_relaxed) != 0;
}

result<bool> coordination::try_take_checkpoint() {
    auto taken = impl_->steps->try_take_checkpoint();
    if (taken && *taken)
        impl_->file.memory().words.checkpoint_slot.store(impl_->places.slot() + 1, std::memory_order_relaxed);
    return taken;
}
void coordination::announce_fold(std::uint64_t version) noexcept { impl_->steps->announce_fold(version); }
bool coordination::may_fold() noexcept {
    if (impl_->steps->may_fold())
        return true;
    impl_->call_those_in_the_way();
    return false;
}
void coordination::publish_checkpoint(const ruling_checkpoint& checkpoint) noexcept {
    impl_->steps->publish_checkpoint(checkpoint);
}
bool coordination::may_release() noexcept { return impl_->steps->may_release(); }
void coordination::release() noexcept { impl_->steps->release(); }
void coordination::release_checkpoint() noexcept { impl_->steps->release_checkpoint(); }

std::optional<participant> coordination::checkpointer() const {
    auto locked = impl_->locks->locked_by_others(lock_byte::k_checkpoint, 1);
    const std::uint64_t noted = impl_->file.memory().words.checkpoint_slot.load(std::memory_order_relaxed);
    if (!locked || !locked->has_value() || noted == 0 || noted > k_slots)
        return {};
    return impl_->file.who(static_cast<std::size_t>(noted - 1), 0, 0);
}

std::vector<reader> coordination::readers() const {
    std::vector<reader> found;
    const std::uint64_t target = fold_target();
    const std::uint64_t ruling = checkpoint_sequence();
    const coordination_memory& memory = impl_->file.memory();
    for (std::size_t i = 0, count = impl_->steps->slots_used(); i < count; ++i) {
        const auto& each = memory.slots[i];
        const std::uint64_t pin = each.pin.load(std::memory_order_acquire);
        const std::uint64_t hold = each.hold.load(std::memory_order_acquire);
        if ((pin == k_none && hold == k_none) || !impl_->steps->is_alive(i))
            continue;
        found.push_back({impl_->file.who(i, each.thread.load(std::memory_order_relaxed),
                                         each.since.load(std::memory_order_relaxed)),
                         pin != k_none ? each.version.load(std::memory_order_relaxed) : checkpoint().version,
                         pin < target || hold < ruling});
    }
    std::ranges::sort(found, {}, &reader::version);
    return found;
}

std::size_t coordination::attached_processes() const {
    std::size_t alive = 0;
    for (std::size_t i = 0, count = impl_->steps->slots_used(); i < count; ++i)
        alive += impl_->steps->is_alive(i) ? std::size_t{1} : 0;
    return alive;
}

} // namespace remanence::share
