// Writers, readers and a checkpointer of a tiny heap, which take the steps of sections.hpp. Each of them may die at any step and
// begin anew, and the power may fail in each state, with every choice of what had reached the medium. Everything but the protocol's
// own steps is an engine as the layers above are: what it does is stated beside each step.
#pragma once

#include "unit/share/exploration.hpp"
#include "unit/share/tiny_heap.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace remanence::share::tiny {

using exploration::run;
using exploration::violation;
using turn = coordination::turn;

class model;

struct explored_locks {
    result<bool> try_lock(std::uint64_t byte, os::lock_kind);
    void unlock(std::uint64_t first, std::uint64_t count = 1);
    result<std::optional<std::uint64_t>> locked_by_others(std::uint64_t first, std::uint64_t count);
    model& owner;
};

class model final : public exploration::world {
public:
    using state = tiny::state;

    explicit model(bounds given) : bounds_(std::move(given)) { world::acting = this; }

    // What explore() asks for.

    state first() {
        state s;
        s.deaths = static_cast<u8>(bounds_.deaths);
        for (unsigned i = 0; i < bounds_.readers; ++i)
            s.readers[i].restarts = static_cast<u8>(1 + bounds_.restarts);
        for (unsigned i = 0; i < bounds_.writers; ++i) {
            s.writers[i].phase = w_idle;
            s.writers[i].restarts = static_cast<u8>(bounds_.restarts);
        }
        s.checkpointer.phase = bounds_.has_checkpointer ? c_idle : c_dead;
        s.checkpointer.restarts = static_cast<u8>(bounds_.has_checkpointer ? bounds_.restarts : 0);
        return s;
    }

    // Writers, checkpointer, readers, delayed pins of readers; deaths of each.
    [[nodiscard]] unsigned actors() const { return first_death() + k_writers_max + 1 + k_readers_max; }
    [[nodiscard]] unsigned first_death() const { return k_writers_max + 1 + 2 * k_readers_max; }
    [[nodiscard]] std::string name(unsigned actor) const {
        const std::array<std::string, 5> names{"writer 0", "writer 1", "checkpointer", "reader 0", "reader 1"};
        if (actor >= first_death())
            return names[actor - first_death()] + " dies";
        return actor < names.size() ? names[actor] : names[actor - k_readers_max] + "'s pin";
    }
    std::string tell(state& s, unsigned actor, unsigned choice) {
        told_.clear();
        is_telling_ = true;
        (void)act(s, actor, choice);
        is_telling_ = false;
        return told_;
    }

    [[nodiscard]] bool can_act(const state& s, unsigned actor) const {
        if (actor >= first_death())
            return s.deaths > 0 && !is_dead(s, actor - first_death());
        if (actor > k_writers_max + k_readers_max)
            return s.readers[actor - k_writers_max - 1 - k_readers_max].delayed_pin != 0;
        if (is_dead(s, actor))
            return actor < k_writers_max    ? s.writers[actor].restarts > 0
                   : actor == k_writers_max ? s.checkpointer.restarts > 0
                                            : s.readers[actor - k_writers_max - 1].restarts > 0;
        return true;
    }

    unsigned act(state& s, unsigned actor, unsigned choice) {
        s_ = &s;
        if (actor >= first_death()) {
            die(s, actor - first_death());
            return 1;
        }
        if (actor < k_writers_max)
            return one_step(s.writers[actor], choice, [&](writer_state& w) { write(w, actor); });
        if (actor == k_writers_max)
            return one_step(s.checkpointer, choice, [&](checkpointer_state& c) { checkpoint(c); });
        const unsigned index = (actor - k_writers_max - 1) % k_readers_max;
        if (actor >= k_writers_max + 1 + k_readers_max) {
            auto& r = s.readers[index];
            s.slots[index].pin.value_ = static_cast<u8>(r.delayed_pin - 1);
            r.delayed_pin = 0;
            return 1;
        }
        reader_ = index;
        return one_step(s.readers[index], choice, [&](reader_state& r) { read(r, index); });
    }

    void canonical(state& s) const { // readers are alike; but one that is looked at in a scan is not
        if (bounds_.readers != 2 || s.checkpointer.given.count > 0 || s.shared.slots_used.value_ != 2)
            return;
        if (std::memcmp(&s.readers[0], &s.readers[1], sizeof(reader_state)) > 0) {
            std::swap(s.readers[0], s.readers[1]);
            std::swap(s.slots[0], s.slots[1]);
            std::swap(s.guest_pins[0], s.guest_pins[1]);
            std::swap(s.guest_holds[0], s.guest_holds[1]);
        }
    }

    void check(const state& s) {
        for (unsigned i = 0; i < bounds_.readers; ++i) {
            const reader_state& r = s.readers[i];
            if (r.phase != r_section)
                continue;
            const content seen = seen_by(s, r);
            const content wanted = content_as_of(s.records, r.version);
            if (seen.first != wanted.first || seen.second != wanted.second || seen.chunk != wanted.chunk)
                throw violation{"a reader in its section does not see its version"};
            if (r.version < r.acknowledged)
                throw violation{"a section begins at less than was acknowledged before"};
        }
        check_files(s);
    }

    [[nodiscard]] bool must_go_on(const state& s) const {
        bool anybody = s.checkpointer.phase > c_idle;
        for (const auto& each : s.readers)
            anybody |= each.phase > r_idle;
        if (anybody)
            return true;
        for (const auto& each : s.writers) // a writer may wait for a checkpoint that nobody is left to make
            anybody |= each.phase > w_idle;
        return anybody && s.checkpointer.phase != c_dead;
    }

    [[nodiscard]] static bool is_mid_phase(const state& s) {
        const auto is_amid = [](const auto& each) { return each.given.count > 0; };
        return is_amid(s.checkpointer) || std::ranges::any_of(s.readers, is_amid) ||
               std::ranges::any_of(s.writers, is_amid);
    }
    [[nodiscard]] bool waits(const state& s) const {
        const u8 phase = s.checkpointer.phase;
        return (phase == c_waiting || phase == c_waiting_for_holds) && !is_mid_phase(s);
    }

    [[nodiscard]] std::size_t states_of_files() const { return good_files_.size(); }

    // Words and locks.

    std::uint8_t load(const u8& word, std::memory_order order) override {
        const auto perform = [&] { return tell_of("load", word, loaded(word)); };
        // What its only writer looks at himself, or a guess that is checked; which slots there are, which commutes with the pin after.
        if (order == std::memory_order_relaxed || &word == &s_->shared.slots_used.value_)
            return run_->together(perform);
        return run_->step(perform);
    }
    void store(u8& word, u8 value, std::memory_order order) override {
        (void)run_->step([&] {
            const bool is_pin = is_reader_ && &word == &pin_of(reader_);
            // A processor that keeps the order of stores may still show one later than what its thread loads next.
            const bool is_late = is_pin && value != narrow(k_none) && order != std::memory_order_seq_cst;
            if (is_pin)
                s_->readers[reader_].delayed_pin = is_late ? static_cast<u8>(value + 1) : u8{0};
            if (!is_late)
                word = value;
            return tell_of("store", word, value);
        });
    }
    std::uint8_t exchange(u8& word, u8 value) override {
        return run_->step([&] {
            const u8 before = word;
            if (is_reader_ && &word == &pin_of(reader_) && is(fault::pin_without_fence))
                s_->readers[reader_].delayed_pin = static_cast<u8>(value + 1);
            else if (!(is(fault::no_hold) && &word == &s_->slots[reader_].hold.value_))
                word = value;
            tell_of("exchange", word, value);
            return before;
        });
    }
    std::uint8_t compare_exchange(u8& word, u8 expected, u8 value) override {
        return run_->step([&] {
            const u8 before = word;
            if (before == expected)
                word = value;
            tell_of("compare-exchange", word, word);
            return before;
        });
    }
    // Another exploration looks at records that are being changed.
    std::uint8_t load_field(const u8& field) override {
        return run_->together([&] { return field; });
    }
    void store_field(u8& field, u8 value) override {
        (void)run_->together([&] { return field = value; });
    }

    bool try_lock(std::uint64_t byte) {
        return run_->step([&]() -> u8 {
            if (byte == lock_byte::k_writer)
                return tell_of("lock", s_->writer_lock, take(s_->writer_lock) ? 1 : 0);
            if (byte == lock_byte::k_checkpoint)
                return tell_of("lock", s_->checkpoint_lock, take(s_->checkpoint_lock) ? 1 : 0);
            if (is_of_guests(byte)) {
                const bool is_hold = byte >= lock_byte::k_first_hold;
                if (!is_hold || !is(fault::no_hold))
                    guest_lock(byte) =
                        static_cast<u8>(byte - (is_hold ? lock_byte::k_first_hold : lock_byte::k_first_pin) + 1);
                return tell_of("lock of a guest", guest_lock(byte), 1);
            }
            const std::size_t index = byte - lock_byte::k_first_slot;
            const bool is_dead = s_->readers[index].phase == r_dead && !is(fault::pins_of_dead_count);
            s_->slot_locks[index] = is_dead ? 1 : 0;
            return tell_of("lock of a slot", s_->slots[index].pin.value_, s_->slot_locks[index]);
        }) != 0;
    }
    void unlock(std::uint64_t byte) {
        (void)run_->step([&]() -> u8 {
            if (is_of_guests(byte)) { // all that he has of a kind
                guest_lock(byte) = 0;
                return tell_of("unlock of a guest", guest_lock(byte), 0);
            }
            if (byte == lock_byte::k_writer)
                s_->writer_lock = 0;
            if (byte == lock_byte::k_checkpoint)
                s_->checkpoint_lock = 0;
            if (byte >= lock_byte::k_first_slot)
                s_->slot_locks[byte - lock_byte::k_first_slot] = 0;
            return tell_of("unlock", s_->writer_lock, 0);
        });
    }

    std::optional<std::uint64_t> locked_by_others(std::uint64_t first, std::uint64_t count) {
        const auto perform = [&]() -> u8 {
            const bool is_hold = first >= lock_byte::k_first_hold;
            if (is(is_hold ? fault::release_below_holds : fault::apply_past_pins))
                return 0;
            const auto& locks = is_hold ? s_->guest_holds : s_->guest_pins;
            const bool is_found = std::ranges::any_of(locks, [&](u8 each) { return each != 0 && each - 1U < count; });
            return tell_of("asks for guests", locks[0], is_found ? 1 : 0);
        };
        const u8 is_found = bounds_.guests ? run_->step(perform) : run_->together(perform);
        return is_found != 0 ? std::optional(first) : std::nullopt;
    }

private:
    static bool is_of_guests(std::uint64_t byte) {
        return byte >= lock_byte::k_first_pin && byte < lock_byte::k_attach;
    }
    u8& guest_lock(std::uint64_t byte) {
        return byte >= lock_byte::k_first_hold ? s_->guest_holds[reader_] : s_->guest_pins[reader_];
    }

    enum reader_phase : u8 {
        r_dead,
        r_arriving,
        r_idle,
        r_holding,
        r_at_image,
        r_copying,
        r_first_half,
        r_applying,
        r_section
    };
    enum writer_phase : u8 {
        w_dead,
        w_idle,
        w_scanning,
        w_clearing,
        w_taking_over,
        w_beginning,
        w_half_copy,
        w_copy,
        w_syncing,
        w_waiting_for_room,
        w_record,
        w_record_whole,
        w_publishing,
        w_acknowledging,
        w_leaving
    };
    enum checkpointer_phase : u8 {
        c_dead,
        c_idle,
        c_confirming,
        c_publishing_found,
        c_marking,
        c_declaring,
        c_waiting,
        c_first_half,
        c_second_half,
        c_map,
        c_syncing,
        c_superblock,
        c_early_release,
        c_syncing_superblock,
        c_publishing,
        c_waiting_for_holds,
        c_releasing,
        c_leaving
    };

    [[nodiscard]] bool is(fault what) const { return bounds_.wrong == what; }
    [[nodiscard]] unsigned log_index(unsigned version) const { return version % bounds_.log_slots; }
    [[nodiscard]] u8& pin_of(std::size_t index) const { return s_->slots[index].pin.value_; }

    template <class P, class F>
    unsigned one_step(P& participant, unsigned choice, F&& phase) {
        run step(participant.given, choice);
        run_ = &step;
        is_reader_ = std::is_same_v<P, reader_state>;
        P after = participant;
        try {
            phase(after);
            after.given = {};
            if (!step.has_stepped() && after.phase == participant.phase)
                throw exploration::disabled{};
            if constexpr (std::is_same_v<P, reader_state>)
                after.delayed_pin = participant.delayed_pin; // is the world's
            participant = after;
        } catch (const exploration::paused&) { // the variables are as when the phase began
        }
        return step.choices();
    }

    u8 loaded(const u8& word) {
        const auto& shared = s_->shared;
        const bool is_target = &word == &shared.apply_target.value_;
        const bool is_current = &word == current_of(shared.current);
        if (is_reader_) {
            if (is_target && is(fault::no_recheck_after_pin))
                return 0;
            if (is_current && is(fault::no_reread_after_hold) && run_->has_stepped()) {
                // The second look: as if nothing had changed since the first.
                const u8 held =
                    bounds_.guests ? static_cast<u8>(s_->guest_holds[reader_] - 1) : s_->slots[reader_].hold.value_;
                if (held != narrow(k_none))
                    return look_at(held);
            }
            return word;
        }
        for (const auto& each : s_->slots) {
            if (&word == &each.pin.value_ && is(fault::apply_past_pins))
                return narrow(k_none);
            if (&word == &each.hold.value_ && is(fault::release_below_holds))
                return narrow(k_none);
        }
        if (&word == current_of(shared.released) && is(fault::next_checkpoint_below_holds) &&
            s_->checkpointer.phase == c_waiting)
            return static_cast<u8>(*current_of(shared.current));
        return word;
    }
    static u8 narrow(std::uint64_t value) { return exploration::narrow(value); }
    template <class D>
    static const u8* current_of(const D& doubled) {
        return reinterpret_cast<const u8*>(&doubled); // its first member
    }
    /// What a look at the current superblock gave while that one was current: its copies are taken in turn.
    [[nodiscard]] u8 look_at(u8 sequence) const { return static_cast<u8>(sequence << 1 | (sequence & 1)); }

    static bool take(u8& lock) {
        if (lock != 0)
            return false;
        lock = 1;
        return true;
    }

    u8 tell_of(const char* what, const u8& word, u8 value) {
        if (is_telling_) {
            const auto at = &word - reinterpret_cast<const u8*>(&s_->shared);
            told_ += std::string(what) + " (" + std::to_string(at) + ") " + std::to_string(value) + "; ";
        }
        return value;
    }
    /// A step of the engine.
    template <class F>
    void io(const char* what, F&& perform) {
        (void)run_->step([&]() -> u8 {
            if (is_telling_)
                told_ += std::string(what) + "; ";
            perform();
            return 0;
        });
    }
    template <class C, class F>
    void io_when(const char* what, C&& may, F&& perform) {
        (void)run_->step_when(may, [&]() -> u8 {
            if (is_telling_)
                told_ += std::string(what) + "; ";
            perform();
            return 0;
        });
    }
    u8 look(u8 value) {
        return run_->together([&] { return value; });
    }

    sections<policy> steps(std::size_t mine) { return {s_->shared, std::span(s_->slots), locks_, mine}; }
    sections<policy> steps() { return steps(k_readers_max); } // of who never reads

    // The engine: writing.

    void write(writer_state& w, unsigned index) {
        state& s = *s_;
        auto protocol = steps();
        const unsigned writer = (index + w.restarts) % 2; // who begins anew writes other bytes
        const unsigned next = w.last + 1U;
        const unsigned kind = bounds_.kinds[(next - 1 + 2 * writer) % bounds_.kinds.size()];
        switch (w.phase) {
        case w_dead:
            io_when("starts", [&] { return w.restarts > 0; }, [] {});
            w.restarts--;
            w.phase = w_idle;
            return;
        case w_idle: {
            if (look(visible_of(s)) >= bounds_.versions)
                return; // no step: it is done
            const auto taken = *protocol.try_take_writer();
            if (!taken)
                return;
            w.last = look(visible_of(s));
            w.phase = *taken == turn::take_over ? w_scanning : w_beginning;
            return;
        }
        case w_scanning: // from the published tail on, confirmed
            io("reads the log, and makes it durable", [&] {
                unsigned last = visible_of(s);
                while (last < bounds_.versions && continues(s.cached.log, s.records, last)) {
                    ++last;
                    s.records[last] = s.cached.log[log_index(last)];
                }
                s.durable.log = s.cached.log;
                found_ = static_cast<u8>(last);
                if (last < s.acknowledged)
                    throw violation{"who takes over loses an acknowledged commit"};
                if (last < s.seen)
                    throw violation{"who takes over makes a version vanish that a reader saw"};
            });
            w.last = look(found_);
            w.phase = w_clearing;
            return;
        case w_clearing:
            io("clears what is torn behind the log's end", [&] {
                u8& there = s.cached.log[log_index(next)];
                if (next <= bounds_.versions && is_torn(there) && version_of(there) == next)
                    there = s.durable.log[log_index(next)] = 0;
            });
            w.phase = w_taking_over;
            return;
        case w_taking_over:
            protocol.publish(commit_as_of(w.last));
            if (w.last >= bounds_.versions)
                w.phase = w_acknowledging;
            else
                w.phase = w_beginning;
            return;
        case w_beginning: {
            protocol.begin_writing();
            const u8 current = look(current_version(s));
            const bool copy_is_free = last_of(s.records, w.last, {2}) <= current || is(fault::copy_reused_early);
            w.phase = kind == 2 && copy_is_free ? w_half_copy : w_waiting_for_room;
            return;
        }
        case w_half_copy:
            io("writes half of the other copy", [&] { other_copy(s, w.last) = k_garbage; });
            w.phase = w_copy;
            return;
        case w_copy:
            io("writes the other copy", [&] { other_copy(s, w.last) = static_cast<u8>(next | writer << 3); });
            w.phase = w_syncing;
            return;
        case w_syncing:
            io("syncs the heap", [&] { sync_heap(s); });
            w.moves = 1;
            w.phase = w_waiting_for_room;
            return;
        case w_waiting_for_room: {
            const std::uint64_t before =
                is(fault::room_by_current_checkpoint) ? protocol.checkpoint().version : protocol.released().version;
            if (next <= bounds_.log_slots + before)
                w.phase = w_record;
            return;
        }
        case w_record:
            io("has a record under way", [&] {
                const u8 made = record(next, writer, kind == 2 && w.moves == 0 ? 3 : kind, true,
                                       w.last == 0 ? 0 : writer_of(s.records[w.last]));
                s.cached.log[log_index(next)] = made;
                if (is(fault::published_before_written))
                    note_record(s, next, whole(made));
            });
            w.moves = 0;
            w.phase = is(fault::published_before_written) ? w_publishing : w_record_whole;
            if (is(fault::published_before_written))
                w.last = static_cast<u8>(next);
            return;
        case w_record_whole: {
            const unsigned written = is(fault::published_before_written) ? w.last : next;
            io("has written a record", [&] {
                u8& there = s.cached.log[log_index(written)];
                there = whole(there);
                if (!bounds_.lazy)
                    s.durable.log[log_index(written)] = there;
                note_record(s, written, there);
            });
            w.last = static_cast<u8>(written);
            w.phase = is(fault::published_before_written) ? w_acknowledging : w_publishing;
            return;
        }
        case w_publishing: {
            if (bounds_.batches && w.last < bounds_.versions && w.last == look(visible_of(s)) + 1 &&
                run_->choose(2) == 1) {
                w.phase = w_waiting_for_room; // one more before they are seen
                return;
            }
            protocol.publish(commit_as_of(w.last));
            w.phase = is(fault::published_before_written) ? w_record_whole : w_acknowledging;
            return;
        }
        case w_acknowledging:
            protocol.end_writing();
            (void)run_->together([&]() -> u8 {
                s.acknowledged = visible_of(s);
                return 0;
            });
            w.phase = w_leaving;
            return;
        case w_leaving:
            protocol.release_writer();
            w.phase = w_idle;
            w.last = 0;
            return;
        default:
            REM_CHECK(false);
        }
    }

    [[nodiscard]] visible_commit commit_as_of(unsigned version) const {
        return {.version = version,
                .chain = version,
                .log_end = version,
                .image_bytes = version,
                .durable_through = bounds_.lazy ? 0U : version};
    }
    static void note_record(state& s, unsigned version, u8 made) {
        s.records[version] = made;
        for (std::size_t later = version + 1; later < s.records.size(); ++later)
            s.records[later] = 0;
    }
    [[nodiscard]] bool continues(const std::array<u8, k_log_slots_max>& log, const history& records,
                                 unsigned last) const {
        const u8 found = log[log_index(last + 1)];
        return version_of(found) == last + 1 && !is_torn(found) &&
               (last == 0 || writer_before(found) == writer_of(records[last]));
    }
    static u8& other_copy(state& s, unsigned version) {
        return s.cached.copies[1U - content_as_of(s.records, version).copy];
    }
    static void sync_heap(state& s) {
        const auto log = s.durable.log;
        s.durable = s.cached;
        s.durable.log = log;
    }
    static u8 visible_of(const state& s) { return static_cast<u8>(*current_of(s.shared.visible) >> 1); }
    static u8 current_sequence(const state& s) { return static_cast<u8>(*current_of(s.shared.current) >> 1); }
    static u8 current_version(const state& s) { return fields_of(s.shared.current)[0]; }
    static u8 released_version(const state& s) { return fields_of(s.shared.released)[0]; }
    static const u8* fields_of(const control<policy>::checkpoint& published) {
        const u8* const word = current_of(published);
        return word + 1 + 2 * (*word & 1);
    }

    // The engine: checkpoints.

    void checkpoint(checkpointer_state& c) {
        state& s = *s_;
        auto protocol = steps();
        switch (c.phase) {
        case c_dead:
            io_when("starts", [&] { return c.restarts > 0; }, [] {});
            c.restarts--;
            c.phase = c_idle;
            return;
        case c_idle: {
            const bool has_work = look(visible_of(s) > current_version(s) || released_version(s) < current_version(s) ||
                                               (bounds_.superblocks_of_regions && current_sequence(s) < 3)
                                           ? 1
                                           : 0) != 0;
            if (!has_work)
                return;
            if (*protocol.try_take_checkpoint())
                c.phase = c_confirming;
            return;
        }
        case c_confirming: // a dead one may have written it
            io("reads which superblock rules, and makes it durable", [&] {
                found_ = current_sequence(s);
                if (!is(fault::checkpointer_trusts_memory))
                    for (const u8 each : s.cached.superblocks)
                        if (each != k_damaged && each >> 4 > found_)
                            found_ = each >> 4;
                if (!is(fault::checkpointer_does_not_confirm))
                    sync_heap(s);
            });
            c.sequence = look(found_);
            c.phase = c.sequence > look(current_sequence(s)) ? c_publishing_found : c_marking;
            return;
        case c_publishing_found:
            protocol.publish_checkpoint(
                {.sequence = c.sequence, .version = look(s.cached.superblocks[c.sequence % 2] & 15), .log_begin = 0});
            c.phase = c_marking;
            return;
        case c_marking:
            io("marks, and makes the log durable", [&] {
                c_mark_ = visible_of(s);
                if (c_mark_ > current_version(s) && !is(fault::apply_before_durable))
                    s.durable.log = s.cached.log;
            });
            c.mark = look(c_mark_);
            if (c.mark > look(current_version(s)))
                c.phase = c_declaring;
            else if (look(released_version(s) < current_version(s) ? 1 : 0) != 0)
                c.phase = c_waiting_for_holds;
            else if (bounds_.superblocks_of_regions && c.sequence < 3)
                c.phase = c_waiting; // applies nothing
            else
                c.phase = c_leaving;
            return;
        case c_declaring:
            protocol.declare_apply(c.mark);
            c.phase = c_waiting;
            return;
        case c_waiting:
            if (protocol.may_apply())
                c.phase = c_first_half;
            return;
        case c_first_half:
            io("applies half of the page", [&] {
                if (last_of(s.records, c.mark, {0, 1}) > current_version(s))
                    s.cached.cells[0] = content_as_of(s.records, c.mark).first;
            });
            c.phase = c_second_half;
            return;
        case c_second_half:
            io("applies the other half", [&] {
                if (last_of(s.records, c.mark, {0, 1}) > current_version(s))
                    s.cached.cells[1] = content_as_of(s.records, c.mark).second;
            });
            c.phase = c_map;
            return;
        case c_map:
            io("applies the chunk, writes the map", [&] {
                const content marked = content_as_of(s.records, c.mark);
                const unsigned last = last_of(s.records, c.mark, {2, 3});
                if (last > current_version(s) && kind_of(s.records[last]) == 3)
                    s.cached.copies[marked.copy] = marked.chunk;
                s.cached.maps[(c.sequence + 1U) % 2] = map_of(c.sequence + 1U, marked.copy);
            });
            c.phase = is(fault::superblock_before_pages) ? c_superblock : c_syncing;
            return;
        case c_syncing:
            io("syncs the heap", [&] { sync_heap(s); });
            c.phase = is(fault::superblock_before_pages) ? c_publishing : c_superblock;
            return;
        case c_superblock:
            io("writes a superblock",
               [&] { s.cached.superblocks[(c.sequence + 1U) % 2] = superblock_of(c.sequence + 1U, c.mark); });
            if (is(fault::release_before_superblock))
                c.phase = c_early_release;
            else
                c.phase = is(fault::superblock_before_pages) ? c_syncing : c_syncing_superblock;
            return;
        case c_early_release:
            s.shared.released.publish(c.sequence + 1U, {c.mark, 0});
            c.phase = c_syncing_superblock;
            return;
        case c_syncing_superblock:
            io("syncs the superblock", [&] { sync_heap(s); });
            c.phase = c_publishing;
            return;
        case c_publishing:
            protocol.publish_checkpoint({.sequence = c.sequence + 1U, .version = c.mark, .log_begin = 0});
            c.phase = c_waiting_for_holds;
            return;
        case c_waiting_for_holds:
            if (protocol.may_release())
                c.phase = c_releasing;
            return;
        case c_releasing:
            protocol.release();
            c.phase = c_leaving;
            return;
        case c_leaving:
            protocol.release_checkpoint();
            c = {.phase = c_idle, .restarts = c.restarts};
            return;
        default:
            REM_CHECK(false);
        }
    }

    // The engine: reading.

    void read(reader_state& r, unsigned index) {
        state& s = *s_;
        auto protocol = steps(bounds_.guests ? k_readers_max : index);
        switch (r.phase) {
        case r_dead:
            io_when("starts", [&] { return r.restarts > 0 && s.slot_locks[index] == 0; }, [] {});
            r = {.phase = r_arriving, .restarts = static_cast<u8>(r.restarts - 1)};
            return;
        case r_arriving:
            if (bounds_.guests)
                io("arrives as a guest", [] {});
            else
                protocol.enter();
            r.phase = r_idle;
            return;
        case r_idle: {
            if (r.view == bounds_.versions && look(visible_of(s)) == bounds_.versions)
                return; // no step: nothing new will come
            const u8 acknowledged = look(s.acknowledged);
            const std::uint64_t version = protocol.visible();
            if (!protocol.pin(version))
                return;
            r.version = narrow(version);
            r.acknowledged = acknowledged;
            if (r.view == r.version)
                enter_section(r);
            else
                r.phase = r_holding;
            return;
        }
        case r_holding: {
            const current_checkpoint held = protocol.hold();
            r.sequence = narrow(held.sequence);
            r.checkpoint = narrow(held.version);
            r.phase = r_at_image;
            return;
        }
        case r_at_image: {
            const bool returns = r.view == k_absent || (r.checkpoint > r.view && !is(fault::no_return_to_the_image));
            io("takes the image, if applies have passed what it has", [&] {
                if (!returns)
                    return;
                found_ = s.cached.maps[r.sequence % 2];
                if (found_ == k_damaged || found_ >> 1 != r.sequence)
                    throw violation{"a reader finds another map than its superblock names"};
                if (r.checkpoint > r.version)
                    throw violation{"the image has passed the version that a reader pinned"};
            });
            if (returns) {
                r.copy = look(found_) & 1;
                r.first = r.second = r.chunk = k_absent;
                r.view = r.checkpoint;
            }
            r.copied = r.view;
            r.phase = r_copying;
            return;
        }
        case r_copying:
            if (r.copied == r.version) {
                protocol.let_go();
                r.phase = r_first_half;
                return;
            }
            io("copies a record", [&] {
                const u8 found = s.cached.log[log_index(r.copied + 1U)];
                if (version_of(found) != r.copied + 1U || is_torn(found) || found != s.records[r.copied + 1U])
                    if (!is(fault::published_before_written)) // that one has it from memory
                        throw violation{"a record that a reader needs is not there"};
            });
            r.copied++;
            return;
        case r_first_half:
            io("copies half of the page", [&] { found_ = s.cached.cells[0]; });
            if (has_kind(r, {0, 1}) && r.first == k_absent)
                r.first = look(found_);
            r.phase = r_applying;
            return;
        case r_applying: {
            // Its own copies may go, of what no record after the held superblock changed.
            const u8 limit = is(fault::copies_dropped_by_target) ? look(s.shared.apply_target.value_) : r.checkpoint;
            const u8 drops = run_->choose(3);
            const u8 second = look(s.cached.cells[1]);
            if (has_kind(r, {0, 1}) && r.second == k_absent)
                r.second = second;
            for (unsigned v = r.view + 1U; v <= r.version; ++v)
                apply(r, look(s.records[v]));
            if (drops == 1 && look(static_cast<u8>(last_of(s.records, r.version, {0, 1}))) <= limit)
                r.first = r.second = k_absent;
            if (drops == 2 && look(static_cast<u8>(last_of(s.records, r.version, {2, 3}))) <= limit)
                r.chunk = k_absent;
            r.view = r.version;
            r.copied = r.sequence = r.checkpoint = 0;
            enter_section(r);
            return;
        }
        case r_section:
            if (bounds_.copies_for_checkpoints && look(s.shared.apply_target.value_) > look(pin_of(index)) &&
                run_->choose(2) == 1) {
                const u8 target = look(s.shared.apply_target.value_);
                const content seen = seen_by(s, r);
                if (!is(fault::pin_raised_without_copies)) {
                    if (look(changes(s, r.version, target, {0, 1}) ? 1 : 0) != 0) {
                        r.first = look(seen.first);
                        r.second = look(seen.second);
                    }
                    if (look(changes(s, r.version, target, {2, 3}) ? 1 : 0) != 0)
                        r.chunk = look(seen.chunk);
                }
                protocol.raise_pin(target);
                return;
            }
            protocol.unpin();
            r.phase = r_idle;
            r.version = r.acknowledged = 0;
            return;
        default:
            REM_CHECK(false);
        }
    }

    void enter_section(reader_state& r) {
        r.phase = r_section;
        (void)run_->together([&]() -> u8 {
            s_->seen = std::max(s_->seen, r.version);
            return 0;
        });
    }
    bool has_kind(const reader_state& r, std::initializer_list<unsigned> kinds) {
        return look(changes(*s_, r.view, r.version, kinds) ? 1 : 0) != 0;
    }
    static bool changes(const state& s, unsigned after, unsigned up_to, std::initializer_list<unsigned> kinds) {
        return last_of(s.records, up_to, kinds) > after;
    }
    static void apply(reader_state& r, u8 made) {
        switch (kind_of(made)) {
        case 0:
            r.first = change_of(made);
            break;
        case 1:
            r.second = change_of(made);
            break;
        case 2:
            r.copy ^= 1;
            r.chunk = k_absent;
            break;
        default:
            r.chunk = change_of(made);
        }
    }
    static content seen_by(const state& s, const reader_state& r) {
        return {.first = r.first == k_absent ? s.cached.cells[0] : r.first,
                .second = r.second == k_absent ? s.cached.cells[1] : r.second,
                .chunk = r.chunk == k_absent ? s.cached.copies[r.copy] : r.chunk,
                .copy = r.copy};
    }

    // Deaths.

    static bool is_dead(const state& s, unsigned who) {
        if (who < k_writers_max)
            return s.writers[who].phase == w_dead;
        if (who == k_writers_max)
            return s.checkpointer.phase == c_dead;
        return s.readers[who - k_writers_max - 1].phase == r_dead;
    }
    static void die(state& s, unsigned who) {
        s.deaths--;
        if (who < k_writers_max) {
            auto& w = s.writers[who];
            if (holds_writer(w))
                s.writer_lock = 0;
            w = {.phase = w_dead, .restarts = w.restarts};
        } else if (who == k_writers_max) {
            auto& c = s.checkpointer;
            if (c.phase > c_idle)
                s.checkpoint_lock = 0;
            s.slot_locks = {};
            c = {.phase = c_dead, .restarts = c.restarts};
        } else {
            auto& r = s.readers[who - k_writers_max - 1];
            s.guest_pins[who - k_writers_max - 1] = s.guest_holds[who - k_writers_max - 1] = 0;
            r = {.phase = r_dead, .restarts = r.restarts};
        }
    }
    static bool holds_writer(const writer_state& w) {
        return w.phase > w_idle || (w.phase == w_idle && w.given.count > 1 && w.given.each[1] == 1);
    }

    // Recovery: what whoever opens next finds, after the death of all processes and after power losses.

    void check_files(const state& s) {
        struct key {
            medium cached;
            medium durable;
            history records;
            u8 acknowledged;
            u8 seen;
            u8 is_under_way;
        };
        static_assert(std::has_unique_object_representations_v<key>);
        key files{s.cached, s.durable, s.records, s.acknowledged, s.seen, 0};
        for (const auto& each : s.writers)
            files.is_under_way |= each.phase == w_record_whole ? u8{1} : u8{0};
        const std::uint64_t hash = checksum64(std::as_bytes(std::span(&files, 1)));
        if (good_files_.contains(hash))
            return;
        check_recovery(s, s.cached, false);
        // Each byte may be as written last or as made durable last; a superblock may be torn, a record under way whole.
        std::vector<std::pair<std::size_t, std::vector<u8>>> choices;
        const auto* const cached = reinterpret_cast<const u8*>(&s.cached);
        const auto* const durable = reinterpret_cast<const u8*>(&s.durable);
        for (std::size_t i = 0; i < sizeof(medium); ++i) {
            std::vector<u8> values{cached[i]};
            if (durable[i] != cached[i])
                values.push_back(durable[i]);
            const bool is_superblock =
                i >= offsetof(medium, superblocks) && i < offsetof(medium, superblocks) + sizeof s.cached.superblocks;
            if (is_superblock && values.size() > 1)
                values.push_back(k_damaged);
            if (i >= offsetof(medium, log) && files.is_under_way != 0 && is_torn(cached[i]))
                values.push_back(whole(cached[i]));
            if (values.size() > 1)
                choices.emplace_back(i, values);
        }
        std::size_t total = 1;
        for (const auto& [at, values] : choices)
            total *= values.size();
        for (std::size_t n = 1; n < total; ++n) {
            medium left = s.cached;
            std::size_t rest = n;
            for (const auto& [at, values] : choices) {
                reinterpret_cast<u8*>(&left)[at] = values[rest % values.size()];
                rest /= values.size();
            }
            check_recovery(s, left, true);
        }
        good_files_.insert(hash);
    }

    void check_recovery(const state& s, const medium& files, bool power_failed) {
        int best = -1;
        for (int i = 0; i < 2; ++i) {
            const u8 each = files.superblocks[static_cast<std::size_t>(i)];
            if (each != k_damaged && (each >> 4) % 2 == i &&
                (best < 0 || each >> 4 > files.superblocks[static_cast<std::size_t>(best)] >> 4))
                best = i;
        }
        if (best < 0)
            throw violation{"recovery: no superblock is valid"};
        const u8 current = files.superblocks[static_cast<std::size_t>(best)];
        const unsigned sequence = current >> 4;
        const u8 map = files.maps[sequence % 2];
        if (map == k_damaged || map >> 1 != sequence)
            throw violation{"recovery: the map is not the superblock's"};
        reader_state view; // applies records as a reader does
        view.copy = map & 1;
        view.first = files.cells[0];
        view.second = files.cells[1];
        history records = s.records;
        unsigned last = current & 15U;
        while (last < bounds_.versions && continues(files.log, records, last)) {
            ++last;
            records[last] = files.log[log_index(last)];
            apply(view, records[last]);
        }
        const bool may_lose = bounds_.lazy && power_failed;
        for (unsigned v = 1; v <= std::max(s.acknowledged, s.seen) && !may_lose; ++v)
            if (v > last || records[v] != s.records[v])
                throw violation{v <= s.acknowledged ? "recovery: an acknowledged commit is lost"
                                                    : "recovery: a version that a reader saw vanishes"};
        const content wanted = content_as_of(records, last);
        const u8 chunk = view.chunk == k_absent ? files.copies[view.copy] : view.chunk;
        if (view.first != wanted.first || view.second != wanted.second || view.copy != wanted.copy ||
            chunk != wanted.chunk)
            throw violation{"recovery: yields no committed version"};
    }

    bounds bounds_;
    state* s_ = nullptr;
    run* run_ = nullptr;
    explored_locks locks_{*this};
    bool is_reader_ = false;
    std::size_t reader_ = 0;
    // Answers of the step just made, on their way into what the participant was given.
    u8 found_ = 0;
    u8 c_mark_ = 0;
    bool is_telling_ = false;
    std::string told_;
    std::unordered_set<std::uint64_t> good_files_;
};

inline result<bool> explored_locks::try_lock(std::uint64_t byte, os::lock_kind) { return owner.try_lock(byte); }
inline void explored_locks::unlock(std::uint64_t first, std::uint64_t) { owner.unlock(first); }
inline result<std::optional<std::uint64_t>> explored_locks::locked_by_others(std::uint64_t first, std::uint64_t count) {
    return owner.locked_by_others(first, count);
}

} // namespace remanence::share::tiny
