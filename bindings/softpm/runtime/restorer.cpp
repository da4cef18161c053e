#include "restorer.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <stdexcept>

#include <pthread.h>

namespace remanence::softpm {

namespace {

constexpr std::size_t k_lost_max = 1000;

void open_mutex(pthread_mutex_t& lock) {
    const int kind = lock.__data.__kind;
    lock = PTHREAD_MUTEX_INITIALIZER;
    lock.__data.__kind = kind;
}

void open_condition(pthread_cond_t& condition) {
    constexpr unsigned k_flags = 7; // which clock, and whether processes share it
    const unsigned flags = condition.__data.__wrefs & k_flags;
    condition = PTHREAD_COND_INITIALIZER;
    condition.__data.__wrefs = flags;
}

void open_read_write_lock(pthread_rwlock_t& lock) {
    const auto flags = lock.__data.__flags;
    lock = PTHREAD_RWLOCK_INITIALIZER;
    lock.__data.__flags = flags;
}

} // namespace

restorer::restorer(const content& of, const modules& loaded)
    : of_(of),
      loaded_(loaded),
      old_modules_({of.listed.modules.begin(), of.listed.modules.end()}),
      guests_(of.listed.guests.begin(), of.listed.guests.end()),
      excluded_(of.listed.excluded.begin(), of.listed.excluded.end()),
      shift_(of.blocks.begin_address() - of.listed.words_base) {}

void restorer::run() {
    check_tables();
    reach(of_.address_at(of_.listed.structure));
    for (const global_entry& each : of_.listed.globals)
        reach(of_.address_at(each.copy));
    while (!found_.empty()) {
        const block next = found_.back();
        found_.pop_back();
        fix_block(next);
    }
    refuse_missing_modules();
    of_.blocks.finish_restore();
    open_locks();
    of_.listed.words_base = of_.blocks.begin_address();
}

void restorer::check_tables() const {
    const std::uint64_t bytes = of_.blocks.used_bytes();
    const auto is_place = [&](std::uint64_t offset, std::uint64_t size) {
        return offset < bytes && size <= bytes - offset;
    };
    bool is_sound = of_.listed.pages_used <= of_.listed.pages_max && of_.blocks.is_sound() &&
                    is_place(of_.listed.structure, of_.listed.structure_bytes) &&
                    std::ranges::is_sorted(guests_, {}, &guest_entry::address);
    for (const guest_entry& each : guests_)
        is_sound &= is_place(each.copy, each.bytes);
    for (const global_entry& each : of_.listed.globals)
        is_sound &= each.copy == 0 || is_place(each.copy, each.bytes);
    if (!is_sound)
        throw std::runtime_error("the tables of the container are damaged; `rem verify` says more of its file");
}

void restorer::reach(std::uintptr_t address) {
    bool is_new = false;
    const block found = of_.blocks.revive(address, is_new);
    if (is_new)
        found_.push_back(found);
}

bool restorer::is_excluded(std::uint64_t offset) const {
    const auto behind = std::ranges::upper_bound(excluded_, offset, {}, &excluded_entry::offset);
    return behind != excluded_.begin() && offset - std::prev(behind)->offset < std::prev(behind)->bytes;
}

void restorer::fix_block(const block& which) {
    const std::uint64_t first = of_.offset_of(address_of(which.begin)) / k_word_bytes;
    const std::uint64_t end = first + which.bytes / k_word_bytes;
    for (std::uint64_t word = first; word < end;) {
        std::uint64_t bits = of_.marks[word / 64] >> (word % 64);
        const std::uint64_t count = std::min<std::uint64_t>(64 - word % 64, end - word);
        if (count < 64)
            bits &= (std::uint64_t{1} << count) - 1;
        for (; bits != 0; bits &= bits - 1)
            fix(of_.address_at((word + static_cast<unsigned>(__builtin_ctzll(bits))) * k_word_bytes));
        word += count;
    }
}

void restorer::fix(std::uintptr_t word) {
    std::uint64_t& value = *pointer_to<std::uint64_t>(word);
    std::uint64_t now = value + shift_; // R1
    if (!of_.is_inside(now))
        now = outside(value);
    else if (is_excluded(of_.offset_of(now)))
        now = 0;
    if (now == 0 && value != 0) {
        ++lost_count_;
        if (lost_.size() < k_lost_max)
            lost_.push_back({of_.offset_of(word), value});
    }
    if (now != value)
        value = now;
    if (now == 0)
        return;
    ++pointers_;
    set_mark(pointer_to(word), mark::pointer);
    if (of_.is_inside(now))
        reach(now);
}

std::uintptr_t restorer::outside(std::uint64_t value) {
    if (const module_entry* const then = old_modules_.find(value)) {
        const module_entry* const now = loaded_.same_as(*then);
        if (now != nullptr)
            return value - then->begin + now->begin;
        missing_.emplace_back(then->name.data());
        return 0;
    }
    const auto behind = std::ranges::upper_bound(guests_, value, {}, &guest_entry::address);
    if (behind == guests_.begin())
        return 0;
    const guest_entry& before = *std::prev(behind);
    return value - before.address <= before.bytes ? of_.address_at(before.copy) + (value - before.address) : 0;
}

void restorer::refuse_missing_modules() const {
    if (missing_.empty())
        return;
    std::set<std::string> names(missing_.begin(), missing_.end());
    std::string text;
    for (const std::string& each : names)
        text += (text.empty() ? "" : ", ") + each;
    throw std::runtime_error(
        std::to_string(missing_.size()) + " pointers lead to functions, constants or variables of " + text +
        ", which is not loaded here, or was built anew since. Restore the container with the program "
        "that made it");
}

void restorer::open_locks() const {
    for (const lock_entry& each : of_.listed.locks) {
        const std::uintptr_t address = of_.address_at(each.offset);
        const block holder = of_.blocks.find(address);
        const std::uint64_t room = address_of(holder.begin) + holder.bytes - address;
        if (holder.begin == nullptr)
            continue;
        if (each.kind == static_cast<std::uint64_t>(mark::mutex) && room >= sizeof(pthread_mutex_t))
            open_mutex(*pointer_to<pthread_mutex_t>(address));
        else if (each.kind == static_cast<std::uint64_t>(mark::condition) && room >= sizeof(pthread_cond_t))
            open_condition(*pointer_to<pthread_cond_t>(address));
        else if (each.kind == static_cast<std::uint64_t>(mark::read_write_lock) && room >= sizeof(pthread_rwlock_t))
            open_read_write_lock(*pointer_to<pthread_rwlock_t>(address));
        else
            continue;
        set_mark(pointer_to(address), static_cast<mark>(each.kind));
    }
}

} // namespace remanence::softpm
