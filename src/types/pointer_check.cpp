#include "types/pointer_check.hpp"

#include "base/units.hpp"
#include "os/memory.hpp"
#include "types/root_owner.hpp"
#include "types/schema_reader.hpp"

#include <remanence/types/detail/outside_block.hpp>
#include <remanence/types/detail/owner_note.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace remanence::types {

namespace {

using os::process_memory;
using word = std::uint64_t;

constexpr word k_lowest_address = 4 * GiB;

word value_at(const std::byte* where) {
    word value = 0;
    std::memcpy(&value, where, sizeof value);
    return value;
}

const void* pointer(word address) { return reinterpret_cast<const void*>(address); }

/// Distinguishes addresses outside of a heap from other numbers.
class outside {
public:
    outside(const txn::heap_memory& memory, const heap_finder& heap_at, bool with_files)
        : base_(reinterpret_cast<word>(memory.base())),
          reserved_bytes_(memory.reserved_bytes()),
          heap_at_(heap_at),
          with_files_(with_files) {}

    [[nodiscard]] bool is_address(word value) {
        if (value < k_lowest_address || value >= os::k_address_end || value - base_ < reserved_bytes_) // P2
            return false;
        if (!heap_at_(pointer(value)).empty())
            return true;
        const process_memory* const memory = memory_at(value); // P3
        return memory != nullptr &&
               (!is_aligned(value, k_page_bytes) || memory->what == process_memory::kind::stack_of_this_thread); // P4
    }

    /// True if a live block begins there whose allocator belonged to no heap.
    [[nodiscard]] bool is_marked_block(word address) {
        if (!is_aligned(address, __STDCPP_DEFAULT_NEW_ALIGNMENT__) || address < k_lowest_address ||
            address >= os::k_address_end || address - base_ < reserved_bytes_)
            return false;
        const process_memory* const memory = memory_at(address);
        if (memory == nullptr || address - memory->begin < detail::k_outside_mark_bytes)
            return false;
        return os::word_of_process(address - detail::k_outside_mark_bytes) == detail::outside_mark_of(address);
    }

    [[nodiscard]] std::string describe(word value) {
        std::string heap = heap_at_(pointer(value));
        if (!heap.empty())
            return "into another heap, " + heap;
        const process_memory* memory = memory_at(value);
        switch (memory != nullptr ? memory->what : process_memory::kind::other) {
        case process_memory::kind::stack_of_this_thread:
            return with_files_ ? "to the stack of this thread" : "to the stack of the committing thread";
        case process_memory::kind::stack:
            return "to the stack of a thread";
        case process_memory::kind::malloc:
            return "to malloc memory";
        case process_memory::kind::file:
            return "to code, a constant or a static object of the program";
        case process_memory::kind::other:
            break;
        }
        return "to memory of the process (malloc's, a thread's stack or static data)";
    }

private:
    const process_memory* memory_at(word address) {
        if (!memory_)
            memory_ = os::memory_of_process(with_files_);
        auto after = std::upper_bound(memory_->begin(), memory_->end(), address,
                                      [](word a, const process_memory& m) { return a < m.begin; });
        if (after == memory_->begin())
            return nullptr;
        const process_memory& candidate = *std::prev(after);
        return address < candidate.end ? &candidate : nullptr;
    }

    word base_;
    word reserved_bytes_;
    const heap_finder& heap_at_;
    bool with_files_;
    std::optional<std::vector<process_memory>> memory_; // read when the first word looks like an address
};

/// A word that leads out of the heap.
struct find {
    word at; // heap offset
    word value;
    alloc::block block;
};

/// "at byte 40 of the block of 48 bytes at heap offset 20528, below the root …"
std::string place_of(const find& found, word block_offset, const std::string& part, const std::optional<owner>& root,
                     bool complete) {
    const std::string where = root       ? "below the root \"" + root->name + "\" of type " + root->type
                              : complete ? std::string("which no root reaches")
                                         : std::string("in a heap too large to tell the root");
    return "at byte " + std::to_string(found.at - block_offset) + " of the block of " +
           std::to_string(found.block.bytes) + " bytes at heap offset " + std::to_string(block_offset) + part + ", " +
           where;
}

std::string advice_for(const std::string& target) {
    if (target.starts_with("into"))
        return "Copy the object into this heap, or keep both in one heap.";
    if (target.find("stack") != std::string::npos && target.find("malloc") == std::string::npos) {
        return "A container whose nodes lie in the heap must lie there itself: make it a root, a member of one, or "
               "allocate it by heap.make(), in C by rem_alloc(); and store no pointers to local variables.";
    }
    return "Use the containers and the string of namespace remanence inside the heap, not those of std with their "
           "own allocator, and make what is "
           "pointed to by heap.make(), in C by rem_alloc().";
}

/// Collects words that look like pointers, except those whose type can hold no pointer (P6). To recognise the latter,
/// it walks through the heap once for many words.
class finds {
public:
    /// `kept_max`: how many words are stored, in the order of their places. The others are only counted.
    finds(txn::heap_memory& memory, const schema_reader* reader, std::size_t kept_max)
        : memory_(memory), reader_(reader), kept_max_(kept_max) {}

    void add(const find& found) {
        if (undecided_.size() == k_undecided_max)
            decide();
        undecided_.push_back(found);
    }
    void decide() {
        std::sort(undecided_.begin(), undecided_.end(), [](const find& a, const find& b) { return a.at < b.at; });
        std::vector<word_in_block> words;
        for (const find& each : undecided_)
            words.push_back({each.at, {memory_.offset_of(each.block.start), each.block.bytes}});
        const std::vector<bool> leave_out = reader_ != nullptr && !words.empty()
                                                ? reader_->hold_no_pointer(memory_, words)
                                                : std::vector<bool>(words.size());
        for (std::size_t i = 0; i != words.size(); ++i) {
            if (leave_out[i])
                continue;
            ++count_;
            if (kept_.size() < kept_max_)
                kept_.push_back(undecided_[i]);
        }
        undecided_.clear();
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    [[nodiscard]] const std::vector<find>& kept() const { return kept_; }

private:
    static constexpr std::size_t k_undecided_max = std::size_t{1} << 20;

    txn::heap_memory& memory_;
    const schema_reader* reader_; // null if schemas cannot be read
    std::size_t kept_max_;
    std::vector<find> undecided_;
    std::vector<find> kept_;
    std::uint64_t count_ = 0;
};

class checker {
public:
    checker(txn::heap_memory& memory, const alloc::block_allocator& blocks, const heap_finder& heap_at)
        : memory_(memory), blocks_(blocks), outside_(memory, heap_at, false), found_(memory, checks_pointers(), 1) {}

    result<void> run(const change::change_set& changes) {
        const std::uint64_t chunk_pages = memory_.chunk_bytes() / k_page_bytes;
        for (const auto* chunks : {&changes.fresh, &changes.relocated}) {
            for (const change::whole_chunk& whole : *chunks) {
                for (std::uint64_t i = 0; i < chunk_pages; ++i) {
                    if (whole.checksums[i] != 0)
                        scan((whole.chunk * chunk_pages + i) * k_page_bytes, k_page_bytes);
                }
            }
        }
        for (const change::changed_page& page : changes.pages) {
            for (const format::change_range& range : changes.ranges_of(page))
                scan(page.page * k_page_bytes + range.offset, range.bytes);
        }
        found_.decide();
        if (found_.count() == 0)
            return {};
        return refuse(found_.kept().front(), found_.count());
    }

private:
    // Both arguments are multiples of 8, because changes are found word by word.
    void scan(word offset, word bytes) {
        for (word end = offset + bytes; offset < end; offset += sizeof(word)) {
            const std::byte* where = memory_.base() + offset;
            const word value = value_at(where);
            if (!outside_.is_address(value))
                continue;
            auto block = blocks_.block_of(where); // P1
            if (!block)
                continue;
            found_.add({offset, value, *block});
        }
    }

    unexpected refuse(const find& first, std::uint64_t count) {
        bool complete = true;
        auto root = find_owner(memory_, blocks_, first.block.start, complete);
        const std::string target = outside_.describe(first.value);
        std::string others =
            count == 1 ? ""
                       : " There are " + std::to_string(count) + " such pointers in this commit; this is the first.";
        return fail(errc::foreign_pointer,
                    "cannot commit " + memory_.path() + ": a pointer " + target + " lies " +
                        place_of(first, memory_.offset_of(first.block.start), part_in_words(memory_, first.at), root,
                                 complete) +
                        ". It would lead nowhere once this process has ended." + others + " Nothing was written. " +
                        advice_for(target),
                    memory_.path());
    }

    txn::heap_memory& memory_;
    const alloc::block_allocator& blocks_;
    outside outside_;
    finds found_;
};

/// The largest distance from the allocator of a string or container to its first link to memory that it owns.
constexpr word k_container_bytes_max = 96;

/// P5. Returns the first word near the allocator at `place` that leads to a target, as `is_target` tells. The word at
/// `place` itself does not count.
template <class Predicate>
std::optional<find> link_near(const std::byte* place, const alloc::block& block, const txn::heap_memory& memory,
                              const Predicate& is_target) {
    const auto begin = reinterpret_cast<word>(block.start);
    const auto at = reinterpret_cast<word>(place);
    const word first = at - std::min(at - begin, k_container_bytes_max);
    const word end = std::min(begin + block.bytes, at + k_container_bytes_max);
    for (word each = first; each + sizeof(word) <= end; each += sizeof(word)) {
        const auto* const where = static_cast<const std::byte*>(pointer(each));
        const word value = value_at(where);
        if (each == at || value == 0)
            continue;
        for (const word target : {value, each + value}) {
            if (is_target(target))
                return find{memory.offset_of(where), target, block};
        }
    }
    return std::nullopt;
}

/// Returns the owner that an allocator of another heap stores, as an address or, in our own containers, as a distance;
/// else 0.
word other_owner_at(const std::byte* place, const txn::heap_memory& memory, const heap_finder& heap_at) {
    const word value = value_at(place);
    for (const word owner : {value, reinterpret_cast<word>(place) + value}) {
        if ((owner & detail::k_owner_note_bits) == detail::k_lies_in_other_heap && !memory.contains(pointer(owner)) &&
            !heap_at(pointer(owner)).empty())
            return owner;
    }
    return 0;
}

} // namespace

result<void> refuse_foreign_memory(txn::heap_memory& memory, const std::vector<const void*>& places,
                                   const alloc::block_allocator& blocks, const heap_finder& heap_at) {
    outside others(memory, heap_at, false);
    std::optional<find> first;
    std::string first_target;
    std::uint64_t count = 0;
    for (const void* each : places) {
        const auto* const place = static_cast<const std::byte*>(each);
        const auto block = blocks.block_of(place); // P1
        if (!block)
            continue; // the object is gone
        std::optional<find> found;
        std::string target;
        if (value_at(place) == 0) {
            found = link_near(place, *block, memory, [&](word to) { return others.is_marked_block(to); });
            target = "to memory of no heap";
        } else if (const word owner = other_owner_at(place, memory, heap_at); owner != 0) {
            const std::string path = heap_at(pointer(owner));
            found =
                link_near(place, *block, memory, [&](word to) { return to != owner && heap_at(pointer(to)) == path; });
            target = "into another heap, " + path + ",";
        }
        if (!found)
            continue; // the allocator owns no memory
        ++count;
        if (!first || found->at < first->at) {
            first = found;
            first_target = std::move(target);
        }
    }
    if (!first)
        return {};
    bool complete = true;
    const auto root = find_owner(memory, blocks, first->block.start, complete);
    const std::string others_there =
        count == 1 ? "" : " There are " + std::to_string(count) + " such objects; this is the first.";
    return fail(
        errc::foreign_pointer,
        "cannot commit " + memory.path() + ": a pointer " + first_target + " lies " +
            place_of(*first, memory.offset_of(first->block.start), part_in_words(memory, first->at), root, complete) +
            ". It would lead nowhere once this process has ended." + others_there +
            " A string or container that is made by default belongs to the heap of the thread's innermost write "
            "section, outside of write sections to none: fill this object in heap.write() of its own heap, or while "
            "a rem::in of that heap lives.",
        memory.path());
}

result<void> check_pointers(txn::heap_memory& memory, const change::change_set& changes,
                            const alloc::block_allocator& blocks, const heap_finder& heap_at) {
    return checker(memory, blocks, heap_at).run(changes);
}

pointer_survey survey_pointers(txn::heap_memory& memory, const alloc::block_allocator& blocks,
                               const heap_finder& heap_at, const schema_reader& reader,
                               const vtable_predicate& is_vtable) {
    pointer_survey all;
    outside others(memory, heap_at, true);
    finds found(memory, &reader, k_pointers_listed_max);
    blocks.for_each_block([&](alloc::block block) {
        ++all.blocks;
        const auto* bytes = static_cast<const std::byte*>(block.start);
        for (std::size_t i = 0; i + sizeof(word) <= block.bytes; i += sizeof(word)) {
            const word value = value_at(bytes + i);
            if (others.is_address(value) && !is_vtable(value))
                found.add({memory.offset_of(bytes + i), value, block});
        }
    });
    found.decide();
    all.found = found.count();
    if (all.found == 0)
        return all;
    owner_walk owners(memory, blocks);
    std::set<word> places;
    for (const find& each : found.kept())
        places.insert(each.at);
    const names_by_place parts = reader.names_of_parts(memory, places);
    for (const find& each : found.kept()) {
        const std::optional<owner> root = owners.owner_of(each.block.start);
        const std::string target = others.describe(each.value);
        all.first.push_back({root ? root->name : "", root ? root->type : "", each.at,
                             "A pointer " + target + " lies " +
                                 place_of(each, memory.offset_of(each.block.start), part_in_words(parts, each.at), root,
                                          owners.is_complete()) +
                                 ". " + advice_for(target)});
    }
    return all;
}

} // namespace remanence::types
