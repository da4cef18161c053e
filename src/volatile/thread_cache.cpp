#include "volatile/thread_cache.hpp"

namespace remanence::transient {

namespace {

constinit slab::word no_blocks{};

void select_word(bin& which, slab& current, std::uint32_t index) {
    which.word = &current.words[index];
    which.word_index = index;
    which.first = current.block(index * slab::k_word_bits);
}

std::uint32_t lowest_bit(std::uint64_t bits) { return static_cast<std::uint32_t>(std::countr_zero(bits)); }

} // namespace

void thread_cache::format(heap* of, std::uint64_t number, const class_table& table) {
    home = of;
    heap_number = number;
    classes = &table;
    for (std::uint32_t i = 0; i != k_class_count; ++i) {
        bins[i] = {&no_blocks, nullptr, static_cast<std::uint32_t>(class_bytes(i)), 0, nullptr};
        listed[i] = nullptr;
    }
}

// Afterwards the slab is in no list.
void thread_cache::leave_current(bin& which) {
    slab& left = *which.current;
    const std::uint64_t bit = std::uint64_t{1} << which.word_index;
    const std::uint64_t free = left.words[which.word_index].free.load(std::memory_order_relaxed);
    left.filled = free != 0 ? left.filled | bit : left.filled & ~bit;
    left.idle = free == left.whole_word(which.word_index) ? left.idle | bit : left.idle & ~bit;
    left.is_current = false;
    which.current = nullptr;
    which.word = &no_blocks;
    which.word_index = 0;
}

void thread_cache::put_in_list(slab& which) {
    slab*& head = listed[which.size_class];
    which.next = head;
    which.before = nullptr;
    if (head != nullptr)
        head->before = &which;
    head = &which;
    which.is_listed = true;
}

void thread_cache::take_out_of_list(slab& which) {
    (which.before != nullptr ? which.before->next : listed[which.size_class]) = which.next;
    if (which.next != nullptr)
        which.next->before = which.before;
    which.is_listed = false;
}

bool thread_cache::next_word(bin& which) {
    slab& current = *which.current;
    const std::uint64_t used_up = std::uint64_t{1} << which.word_index;
    current.filled &= ~used_up;
    current.idle &= ~used_up;
    if (current.filled == 0)
        current.collect();
    if (current.filled == 0)
        return false;
    const std::uint32_t index = lowest_bit(current.filled);
    current.idle &= ~(std::uint64_t{1} << index);
    select_word(which, current, index);
    return true;
}

bool thread_cache::adopt_listed(std::uint32_t index) {
    slab* const found = listed[index];
    if (found == nullptr)
        return false;
    take_out_of_list(*found);
    found->is_current = true;
    bin& into = bins[index];
    into.current = found;
    const std::uint32_t word = lowest_bit(found->filled);
    found->idle &= ~(std::uint64_t{1} << word);
    select_word(into, *found, word);
    return true;
}

void tell_owner(slab& of) {
    if (of.told.load(std::memory_order_seq_cst) || of.told.exchange(true, std::memory_order_seq_cst))
        return;
    thread_cache* const owner = of.owner.load(std::memory_order_acquire);
    if (owner == nullptr) { // the slab has no owner: everything it had to collect was collected
        of.told.store(false, std::memory_order_seq_cst);
        return;
    }
    slab* first = owner->told.load(std::memory_order_relaxed);
    do {
        of.next_told.store(first, std::memory_order_relaxed);
    } while (!owner->told.compare_exchange_weak(first, &of, std::memory_order_release, std::memory_order_relaxed));
}

} // namespace remanence::transient
