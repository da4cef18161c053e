#include "restorer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include <pthread.h>

namespace remanence::softpm {

namespace {

constexpr std::size_t k_lost_max = 1000;
constexpr std::uint64_t k_pages_always_walked = 1024;

/// For each value of eight bits: the eight marks that they stand for.
constexpr std::array<std::uint64_t, 256> k_marks_of_bits = [] {
    std::array<std::uint64_t, 256> all{};
    for (unsigned bits = 0; bits < all.size(); ++bits)
        for (unsigned i = 0; i < 8; ++i)
            if ((bits >> i & 1U) != 0)
                all[bits] |= static_cast<std::uint64_t>(mark::pointer) << (i * 8);
    return all;
}();

std::string_view file_name(const module_entry& of) {
    const std::string_view path = of.name.data();
    return path.substr(path.rfind('/') + 1);
}

void open_mutex(pthread_mutex_t& lock) {
    const int kind = lock.__data.__kind;
    lock = PTHREAD_MUTEX_INITIALIZER;
    lock.__data.__kind = kind;
}

void open_condition(pthread_cond_t& condition) {
    constexpr unsigned k_flags = 7; // holds the clock, and whether processes share the lock
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

restorer::restorer(const content& of, const modules& loaded, bool by_names)
    : of_(of),
      loaded_(loaded),
      by_names_(by_names),
      old_modules_({of.listed.modules.begin(), of.listed.modules.end()}),
      guests_(of.listed.guests.begin(), of.listed.guests.end()),
      excluded_(of.listed.excluded.begin(), of.listed.excluded.end()),
      shift_(of.blocks.begin_address() - of.listed.words_base) {}

void restorer::run() {
    check_tables();
    if (may_skip_the_walk() && fix_flagged_pages()) { // only flagged pages need a change (R3)
        of_.blocks.revive_all();
        unpack_marks();
    } else {
        walk();
    }
    for (lost_pointer& each : lost_) {
        const block holder = of_.blocks.find(of_.address_at(each.offset));
        each.block_offset = of_.offset_of(address_of(holder.begin));
        each.block_bytes = holder.bytes;
    }
    open_locks();
    of_.listed.words_base = of_.blocks.begin_address();
}

bool restorer::may_skip_the_walk() const {
    const std::uint64_t used = of_.listed.pages_used;
    const std::uint64_t walked = of_.listed.pages_walked;
    return shift_ == 0 && excluded_.empty() && used >= k_pages_always_walked && walked <= used &&
           used - walked <= walked / 4;
}

bool restorer::fix_flagged_pages() {
    std::vector<change> changes;
    for (std::uint64_t page = 0; page < of_.listed.pages_used; ++page) {
        if (of_.flags[page] == 0 || !of_.blocks.is_in_use(page))
            continue;
        for (unsigned i = 0; i < content::k_mark_words; ++i)
            for (std::uint64_t bits = of_.marks[page * content::k_mark_words + i]; bits != 0; bits &= bits - 1) {
                const auto which = static_cast<unsigned>(__builtin_ctzll(bits));
                const std::uintptr_t word = of_.address_at(page * k_page_bytes + (i * 64 + which) * k_word_bytes);
                const std::uint64_t value = *pointer_to<std::uint64_t>(word);
                const std::uint64_t now = value_now(word, value);
                if (now != value)
                    changes.push_back({word, now});
            }
    }
    if (missing_count_ != 0) {
        missing_count_ = lost_count_ = 0;
        missing_modules_.clear();
        missing_names_.clear();
        lost_.clear();
        return false;
    }
    for (const change& each : changes)
        *pointer_to<std::uint64_t>(each.word) = each.value;
    return true;
}

void restorer::unpack_marks() const {
    for (std::uint64_t page = 0; page < of_.listed.pages_used; ++page) {
        if (!of_.blocks.is_in_use(page))
            continue;
        for (unsigned i = 0; i < content::k_mark_words; ++i) {
            std::uint64_t bits = of_.marks[page * content::k_mark_words + i];
            std::uint8_t* into = marks_at(of_.address_at(page * k_page_bytes + i * 64 * k_word_bytes));
            for (; bits != 0; bits >>= 8U, into += 8)
                std::memcpy(into, &k_marks_of_bits[bits & 0xffU], 8);
        }
    }
}

void restorer::walk() {
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
    of_.listed.pages_walked = of_.listed.pages_used;
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
    const std::uint64_t now = value_now(word, value);
    if (now != value)
        value = now;
    if (now == 0)
        return;
    set_mark(pointer_to(word), mark::pointer);
    if (of_.is_inside(now))
        reach(now);
}

std::uint64_t restorer::value_now(std::uintptr_t word, std::uint64_t value) {
    std::uint64_t now = value + shift_; // pointers into the arena (R1)
    if (!of_.is_inside(now))
        now = outside(value);
    else if (is_excluded(of_.offset_of(now)))
        now = 0;
    if (now == 0 && value != 0) {
        ++lost_count_;
        if (lost_.size() < k_lost_max)
            lost_.push_back({of_.offset_of(word), value, 0, 0});
    }
    return now;
}

std::uintptr_t restorer::outside(std::uint64_t value) {
    if (const module_entry* const then = old_modules_.find(value))
        return in_module(value, *then);
    const auto behind = std::ranges::upper_bound(guests_, value, {}, &guest_entry::address);
    if (behind == guests_.begin())
        return 0;
    const guest_entry& before = *std::prev(behind);
    return value - before.address <= before.bytes ? of_.address_at(before.copy) + (value - before.address) : 0;
}

std::uintptr_t restorer::in_module(std::uint64_t value, const module_entry& then) {
    if (const module_entry* const now = loaded_.same_as(then)) {
        note_use(*now);
        return value - then.begin + now->begin;
    }
    const std::uintptr_t found = by_names_ ? by_name(value - then.begin, then) : 0;
    if (found != 0)
        return found;
    missing_modules_.emplace(then.name.data());
    ++missing_count_;
    return 0;
}

std::uintptr_t restorer::by_name(std::uint64_t offset, const module_entry& then) {
    if (!old_names_) {
        old_names_.emplace();
        std::string_view stored(of_.listed.names.data(), of_.listed.names.size());
        while (!stored.empty())
            old_names_->push_back(symbols::read(stored));
    }
    const auto names = std::ranges::find_if(*old_names_, [&](const symbols& each) { return each.is_of(then); });
    if (names == old_names_->end()) {
        missing_names_.emplace("it stored none");
        return 0;
    }
    const auto& all = loaded_.list();
    auto now = std::ranges::find(all, file_name(then), file_name);
    if (now == all.end()) // the program's file has another name now
        now = std::ranges::find(all, "/proc/self/exe", file_of);
    auto known = std::ranges::find_if(new_names_, [&](const symbols& each) { return each.is_of(*now); });
    if (known == new_names_.end())
        known = new_names_.insert(known, symbols::of(*now));
    std::uint64_t found = 0;
    std::string why;
    if (!names->find_in(*known, offset, found, why)) {
        missing_names_.insert(why);
        return 0;
    }
    note_use(*now);
    return now->begin + found;
}

void restorer::note_use(const module_entry& which) {
    if (std::ranges::find(modules_used_, which.begin, &module_entry::begin) == modules_used_.end())
        modules_used_.push_back(which);
}

void restorer::refuse_missing_modules() const {
    if (missing_count_ == 0)
        return;
    constexpr std::size_t k_shown = 8;
    const auto joined = [](const std::set<std::string>& all, const char* between) {
        std::string text;
        std::size_t shown = 0;
        for (const std::string& each : all)
            if (++shown <= k_shown)
                text += (text.empty() ? "" : between) + each;
        return shown > k_shown ? text + between + "..." : text;
    };
    std::string text = std::to_string(missing_count_) + " pointers lead to functions, constants or variables of " +
                       joined(missing_modules_, ", ") + ", which is not loaded here, or was built anew since";
    if (by_names_)
        text += ", and which its names do not tell (" + joined(missing_names_, "; ") + ")";
    else if (!of_.listed.names.empty())
        text += ". It has their names: cattr.symbol_names lets them be found by these";
    throw std::runtime_error(text + ". Restore the container with the program that made it");
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
