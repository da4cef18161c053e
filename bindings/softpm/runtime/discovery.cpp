#include "discovery.hpp"

#include "call_sites.hpp"
#include "memory.hpp"
#include "symbols.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <stdexcept>

#include <emmintrin.h>

namespace remanence::softpm {

namespace {

constexpr std::size_t k_lost_max = 1000; // how many lost pointers are listed

/// Packs the marks of 64 words into bits. A bit is 1 if its word has any mark.
std::uint64_t pack(const std::uint8_t* marks) {
    std::uint64_t bits = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(marks + i * 16));
        const int clear = _mm_movemask_epi8(_mm_cmpeq_epi8(sixteen, _mm_setzero_si128()));
        bits |= (~static_cast<std::uint64_t>(clear) & 0xffffU) << (i * 16);
    }
    return bits;
}

[[noreturn]] void refuse_mark(std::uintptr_t word) {
    char text[240];
    std::snprintf(text, sizeof text,
                  "persistence point: the mark of the word at %#llx is none: the program has written to %#llx, where "
                  "marks are, by a wild "
                  "pointer. Nothing was written.",
                  static_cast<unsigned long long>(word), static_cast<unsigned long long>(address_of(marks_at(word))));
    throw std::runtime_error(text);
}

template <class T>
void store_if_changed(vector_pi<T>& into, const std::vector<T>& now) {
    if (!std::ranges::equal(into, now))
        into.assign(now.begin(), now.end());
}

} // namespace

void discovery::adopt_locks() {
    for (const lock_entry& each : of_.listed.locks)
        if (*marks_at(of_.address_at(each.offset)) == each.kind)
            locks_[each.offset / k_page_bytes].push_back(each);
}

void discovery::adopt_modules(const std::vector<module_entry>& lead_to) {
    for (const module_entry& each : lead_to)
        note_module(each);
}

void discovery::note_module(const module_entry& leads_to) {
    if (&leads_to == last_module_)
        return;
    last_module_ = &leads_to;
    const auto is_same = [&](const module_entry& each) {
        return each.build_id == leads_to.build_id && each.name == leads_to.name;
    };
    const auto known = std::ranges::find_if(modules_used_, is_same);
    if (known == modules_used_.end())
        modules_used_.push_back(leads_to);
    else
        *known = leads_to; // the module may lie elsewhere now
}

void discovery::begin() {
    ++round_;
    lost_.clear();
    found_.clear(); // left over if the last point failed
}

block discovery::block_at(std::uint64_t value) const {
    if (is_no_address(value))
        return {};
    arena* const of = arena_of(value);
    return of != nullptr ? of->find(value) : block_of_program(value);
}

discovery::destination discovery::destination_of(std::uint64_t value, mark kind) const {
    if (of_.is_inside(value))
        return destination::inside;
    if (is_no_address(value))
        return destination::nowhere;
    if (arena* const other = arena_of(value))
        return other != &of_.blocks && other->find(value).begin != nullptr ? destination::guest
               : kind == mark::pointer                                     ? destination::lost
                                                                           : destination::nowhere;
    if (block_of_program(value).begin != nullptr)
        return destination::guest;
    if (loaded_->find(value) != nullptr)
        return destination::module;
    // If a value is not an address, the word is data, even if it was stored as a pointer.
    return kind == mark::pointer && is_mapped(value) ? destination::lost : destination::nowhere;
}

bool discovery::is_pointer(std::uintptr_t word, std::uint8_t& flags) {
    const auto kind = static_cast<mark>(*marks_at(word));
    if (kind > mark::read_write_lock)
        refuse_mark(word);
    if (kind >= mark::mutex) {
        locks_[of_.offset_of(word) / k_page_bytes].push_back({of_.offset_of(word), static_cast<std::uint64_t>(kind)});
        is_table_changed_ = true;
        return false;
    }
    const std::uint64_t value = *pointer_to<std::uint64_t>(word);
    switch (destination_of(value, kind)) {
    case destination::nowhere:
        return false;
    case destination::inside:
        return true;
    case destination::module:
        flags |= k_leads_to_modules;
        note_module(*loaded_->find(value));
        return true;
    case destination::guest:
        flags |= k_leads_outside;
        return true;
    case destination::lost:
        flags |= k_leads_outside;
        if (lost_.size() < k_lost_max)
            lost_.push_back({of_.offset_of(word), value, 0, 0});
        return true;
    }
    return false;
}

void discovery::on_written_page(std::uint64_t page) {
    const std::uintptr_t begin = of_.address_at(page * k_page_bytes);
    if (locks_.erase(page) != 0)
        is_table_changed_ = true;
    std::uint8_t flags = 0;
    for (unsigned i = 0; i < content::k_mark_words; ++i) {
        const std::uintptr_t words = begin + i * 64 * k_word_bytes;
        std::uint64_t bits = pack(marks_at(words));
        for (std::uint64_t left = bits; left != 0; left &= left - 1) {
            const auto which = static_cast<unsigned>(__builtin_ctzll(left));
            if (!is_pointer(words + which * k_word_bytes, flags))
                bits &= ~(std::uint64_t{1} << which);
        }
        std::uint64_t& stored = of_.marks[page * content::k_mark_words + i];
        if (stored != bits)
            stored = bits;
    }
    if (of_.flags[page] != flags)
        of_.flags[page] = flags;
}

// Freeing a block clears its marks, but writes no page, so the point does not see that page as written.
void discovery::forget_freed_words(std::uint64_t page) {
    for (unsigned i = 0; i < content::k_mark_words; ++i) {
        std::uint64_t& stored = of_.marks[page * content::k_mark_words + i];
        const std::uint64_t left = stored & pack(marks_at(of_.address_at(page * k_page_bytes) + i * 64 * k_word_bytes));
        if (stored != left)
            stored = left;
    }
}

bool discovery::is_in_copy(std::uint64_t offset) const {
    auto behind = copies_.upper_bound(offset);
    if (behind == copies_.begin())
        return false;
    --behind;
    return offset - behind->first < behind->second;
}

void discovery::follow(std::uintptr_t word) {
    if (static_cast<mark>(*marks_at(word)) >= mark::mutex)
        return;
    const std::uint64_t value = *pointer_to<std::uint64_t>(word);
    if (of_.is_inside(value))
        return;
    const block found = block_at(value);
    if (found.begin == nullptr || of_.blocks.contains(address_of(found.begin)))
        return;
    guest& known = guests_[address_of(found.begin)];
    if (known.round == round_)
        return;
    if (known.bytes != found.bytes) { // the guest is new, or another block lies there now
        if (known.bytes != 0) {
            copies_.erase(known.copy);
            of_.blocks.free(pointer_to(of_.address_at(known.copy)));
        }
        known = {0, 0, 0}; // no size until there is a copy
        known.copy = allocate_copy(found.bytes);
        known.bytes = found.bytes;
        copies_[known.copy] = known.bytes;
        is_table_changed_ = true;
        learn_call_site_of(found.begin, of_.blocks);
    }
    known.round = round_;
    found_.push_back(address_of(found.begin));
}

void discovery::follow_all(std::uintptr_t begin, std::uint64_t bytes) {
    for_each_marked(begin, bytes, [this](std::uintptr_t word) { follow(word); });
}

std::uint64_t discovery::allocate_copy(std::uint64_t bytes) {
    void* const got = of_.blocks.allocate(bytes);
    if (got == nullptr)
        throw std::bad_alloc();
    return of_.offset_of(address_of(got));
}

void discovery::refresh(std::uint64_t copy, const std::byte* original, std::uint64_t bytes) {
    std::byte* const to = pointer_to(of_.address_at(copy));
    const std::uint64_t first = copy / k_page_bytes;
    const std::uint64_t last = (copy + bytes - 1) / k_page_bytes;
    for (std::uint64_t page = first; page <= last; ++page) {
        const std::uint64_t begin = std::max(copy, page * k_page_bytes) - copy;
        const std::uint64_t end = std::min(copy + bytes, (page + 1) * k_page_bytes) - copy;
        if (std::memcmp(to + begin, original + begin, end - begin) != 0)
            std::memcpy(to + begin, original + begin, end - begin);
        copy_marks(to + begin, original + begin, end - begin);
        on_written_page(page);
    }
}

void discovery::copy_guests() {
    while (!found_.empty()) {
        const std::uint64_t address = found_.back();
        found_.pop_back();
        const guest& which = guests_.at(address);
        refresh(which.copy, pointer_to(address), which.bytes);
        follow_all(address, which.bytes);
    }
}

void discovery::drop_guests() {
    for (auto each = guests_.begin(); each != guests_.end();) {
        if (each->second.round == round_) {
            ++each;
            continue;
        }
        if (each->second.bytes != 0) {
            copies_.erase(each->second.copy);
            of_.blocks.free(pointer_to(of_.address_at(each->second.copy)));
        }
        each = guests_.erase(each);
        is_table_changed_ = true;
    }
}

void discovery::finish() {
    const std::uint64_t pages = of_.listed.pages_used;
    for (std::uint64_t page = 0; page < pages; ++page) // search these pages again (D1)
        if ((of_.flags[page] & k_leads_outside) != 0) {
            forget_freed_words(page);
            for_each_marked(of_.address_at(page * k_page_bytes), k_page_bytes, [&](std::uintptr_t word) {
                if (!is_in_copy(of_.offset_of(word)))
                    follow(word);
            });
        }
    for (global& each : globals) {
        if (each.variable == nullptr)
            continue;
        if (each.copy == 0)
            each.copy = allocate_copy(each.bytes);
        refresh(each.copy, each.variable, each.bytes);
        follow_all(address_of(each.variable), each.bytes);
    }
    copy_guests();
    drop_guests();
    store_tables();
}

void discovery::store_tables() {
    store_if_changed(of_.listed.modules, loaded_->list());
    std::vector<global_entry> variables;
    for (const global& each : globals)
        variables.push_back({each.bytes, each.copy});
    store_if_changed(of_.listed.globals, variables);
    std::vector<excluded_entry> excluded;
    for (const auto& [begin, bytes] : of_.blocks.excluded())
        excluded.push_back({of_.offset_of(address_of(begin)), bytes});
    store_if_changed(of_.listed.excluded, excluded);
    if (stores_names)
        store_names();
    if (!is_table_changed_)
        return;
    is_table_changed_ = false;
    std::vector<guest_entry> table;
    for (const auto& [address, each] : guests_)
        table.push_back({address, each.bytes, each.copy});
    std::ranges::sort(table, {}, &guest_entry::address);
    store_if_changed(of_.listed.guests, table);
    std::vector<lock_entry> locks;
    for (const auto& [page, all] : locks_)
        locks.insert(locks.end(), all.begin(), all.end());
    store_if_changed(of_.listed.locks, locks);
}

// The stored names of modules that were unloaded are not removed, because pointers to them may remain.
void discovery::store_names() {
    if (names_stored_ == modules_used_.size())
        return;
    names_stored_ = modules_used_.size();
    std::vector<symbols> before;
    std::string_view stored(of_.listed.names.data(), of_.listed.names.size());
    while (!stored.empty())
        before.push_back(symbols::read(stored));
    std::string now;
    for (const module_entry& used : modules_used_) {
        const auto known = std::ranges::find_if(before, [&](const symbols& each) { return each.is_of(used); });
        (known != before.end() ? *known : symbols::of(used)).write(now);
    }
    if (!std::ranges::equal(of_.listed.names, now))
        of_.listed.names.assign(now.begin(), now.end());
}

} // namespace remanence::softpm
