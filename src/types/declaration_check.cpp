#include "types/declaration_check.hpp"

#include "alloc/sections.hpp"
#include "base/range.hpp"
#include "base/units.hpp"
#include "types/root_owner.hpp"
#include "types/schema_reader.hpp"

#include <optional>
#include <string>

namespace remanence::types {

namespace {

bool is_data_page(std::uint64_t page) {
    return page >= alloc::section_of(static_cast<std::uint32_t>(page)).first_data_page;
}

struct undeclared_word {
    std::uint64_t offset; // heap offset
    std::optional<alloc::block> block;
};

class search {
public:
    search(const txn::heap_memory& memory, const alloc::block_allocator& blocks) : memory_(memory), blocks_(blocks) {}

    void look_at(heap_range changed) {
        for (std::uint64_t at = changed.offset; at < changed.end(); at += change::k_word_bytes) {
            const auto block = blocks_.block_of(memory_.base() + at);
            if (!block && is_data_page(at / k_page_bytes))
                continue; // D1
            if (!first_ || at < first_->offset)
                first_ = {at, block};
            ++count_;
        }
    }
    void look_at_nonzero(std::uint64_t page_offset) {
        for (std::uint64_t at = page_offset; at < page_offset + k_page_bytes; at += change::k_word_bytes) {
            if (*reinterpret_cast<const std::uint64_t*>(memory_.base() + at) != 0)
                look_at({at, change::k_word_bytes});
        }
    }
    [[nodiscard]] const std::optional<undeclared_word>& first() const { return first_; }
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    const txn::heap_memory& memory_;
    const alloc::block_allocator& blocks_;
    std::optional<undeclared_word> first_;
    std::uint64_t count_ = 0;
};

std::string place_of(txn::heap_memory& memory, const alloc::block_allocator& blocks, const undeclared_word& word) {
    if (!word.block) // D2
        return "lies at heap offset " + std::to_string(word.offset) + ", in the allocator's own structures";
    const std::uint64_t block = memory.offset_of(word.block->start);
    bool complete = true;
    auto root = find_owner(memory, blocks, word.block->start, complete);
    return "lies at byte " + std::to_string(word.offset - block) + " of the block of " +
           std::to_string(word.block->bytes) + " bytes at heap offset " + std::to_string(block) +
           part_in_words(memory, word.offset) +
           (root       ? ", below the root \"" + root->name + "\" of type " + root->type
            : complete ? std::string(", which no root reaches")
                       : std::string(", in a heap too large to tell the root"));
}

} // namespace

result<void> refuse_undeclared(txn::heap_memory& memory, const change::change_set& missed,
                               const alloc::block_allocator& blocks) {
    search found(memory, blocks);
    const std::uint64_t chunk_pages = memory.chunk_bytes() / k_page_bytes;
    for (const change::whole_chunk& fresh : missed.fresh) {
        for (std::uint64_t i = 0; i < chunk_pages; ++i) {
            // The page was never committed, so all of it is new; but only words other than zero were written.
            if (fresh.checksums[i] != 0)
                found.look_at_nonzero((fresh.chunk * chunk_pages + i) * k_page_bytes);
        }
    }
    for (const change::changed_page& page : missed.pages) {
        for (const format::change_range& range : missed.ranges_of(page))
            found.look_at({page.page * k_page_bytes + range.offset, range.bytes});
    }
    if (!found.first())
        return {};
    const std::string others = found.count() == 1 ? ""
                                                  : " There are " + std::to_string(found.count()) +
                                                        " such words of 8 bytes; this is the first.";
    return fail(errc::undeclared_change,
                "cannot commit " + memory.path() + ": a change that was not declared " +
                    place_of(memory, blocks, *found.first()) +
                    ". It was made in the declared section that ends here, or before it and never committed." + others +
                    " Nothing was written. Declare each such change before it is made, by touch(), or write without "
                    "declaring; and commit what was changed outside sections before a declared one begins.",
                memory.path());
}

} // namespace remanence::types
