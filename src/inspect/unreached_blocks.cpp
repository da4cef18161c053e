#include "inspect/unreached_blocks.hpp"

#include "base/units.hpp"
#include "inspect/lone_objects.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/shape_walk.hpp"
#include "types/root_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <utility>

namespace remanence::inspect {

namespace {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

constexpr std::uint64_t k_link_bytes = 8;

/// How a block is reached. A higher value replaces a lower one.
enum class reached : std::uint8_t {
    no,
    as_target,    // a pointer leads to it, and its object was visited by its type
    by_addresses, // as by_all_links, but only addresses count
    by_all_links, // each word in it counts as an address or a distance (UB2)
    as_owned,     // an object that was visited owns it, and all that is in it was visited by its type (UB4)
};

class marked_blocks {
public:
    marked_blocks(const heap_to_read& heap, std::vector<heap_range> blocks)
        : heap_(heap), blocks_(std::move(blocks)), states_(blocks_.size(), reached::no) {}

    static constexpr std::size_t k_none = ~std::size_t{0};
    /// Returns the index of the block that contains a heap offset.
    [[nodiscard]] std::size_t index_of(std::uint64_t offset) const {
        const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), offset,
                                            [](std::uint64_t at, const heap_range& each) { return at < each.offset; });
        if (after == blocks_.begin() || offset >= std::prev(after)->end())
            return k_none;
        return static_cast<std::size_t>(after - blocks_.begin()) - 1;
    }
    [[nodiscard]] reached state_of(std::size_t index) const { return states_[index]; }
    /// Marks the block around an offset, if there is one.
    void mark(std::uint64_t offset, reached how) {
        if (const std::size_t index = index_of(offset); index != k_none)
            mark_block(index, how);
    }
    void mark_block(std::size_t index, reached how) {
        if (states_[index] >= how)
            return;
        states_[index] = how;
        if (how != reached::as_owned)
            pending_.push_back(index);
    }
    /// Calls `visit` with the target of each word in the range that is an address in the heap.
    template <class Visit>
    result<void> for_each_address(heap_range range, const Visit& visit) {
        return for_each_word(range, [&](std::uint64_t /*at*/, std::uint64_t value) {
            if (value - heap_.base < heap_.end)
                visit(value - heap_.base);
        });
    }
    /// Takes the words in a part of a block for links (UB2).
    result<void> follow(heap_range range, std::uint64_t begin_of_block, reached how) {
        return for_each_word(range, [&](std::uint64_t at, std::uint64_t value) {
            if (value - heap_.base < heap_.end) {
                mark(value - heap_.base, how);
            } else if (how == reached::by_all_links && value != 0 && value % k_link_bytes == 0) {
                mark_beginning(at + value);
                mark_beginning(begin_of_block + value);
            }
        });
    }
    /// Follows the links in all blocks that are reached in this way.
    result<void> follow_pending() {
        while (!pending_.empty()) {
            const std::size_t index = pending_.back();
            pending_.pop_back();
            if (states_[index] == reached::by_addresses || states_[index] == reached::by_all_links)
                REM_TRY(follow(blocks_[index], blocks_[index].offset, states_[index]));
        }
        return {};
    }
    [[nodiscard]] std::vector<heap_range> not_reached() const {
        std::vector<heap_range> left;
        for (std::size_t i = 0; i != blocks_.size(); ++i) {
            if (states_[i] == reached::no)
                left.push_back(blocks_[i]);
        }
        return left;
    }
    [[nodiscard]] const heap_range& block(std::size_t index) const { return blocks_[index]; }

private:
    template <class Visit>
    result<void> for_each_word(heap_range range, const Visit& visit) {
        const std::uint64_t begin = align_up(range.offset, k_link_bytes);
        const std::uint64_t end = align_down(range.end(), k_link_bytes);
        if (begin >= end || !heap_.bytes.contains(begin, end - begin))
            return {};
        auto bytes = heap_.bytes.at(begin, end - begin);
        if (!bytes)
            return bytes.error();
        for (std::uint64_t at = begin; at != end; at += k_link_bytes) {
            std::uint64_t value = 0;
            std::memcpy(&value, *bytes + (at - begin), sizeof value);
            visit(at, value);
        }
        return {};
    }
    void mark_beginning(std::uint64_t offset) {
        const std::size_t index = index_of(offset);
        if (index != k_none && blocks_[index].offset == offset)
            mark_block(index, reached::by_all_links);
    }

    const heap_to_read& heap_;
    std::vector<heap_range> blocks_;
    std::vector<reached> states_;
    std::vector<std::size_t> pending_; // blocks whose links are still to be followed
};

/// For each row, whether its objects may refer to blocks, or are opaque.
class rows_that_refer {
public:
    explicit rows_that_refer(const object_reader& reader)
        : reader_(reader), known_(reader.schema().rows.size(), answer::unknown) {}

    bool ask(std::uint32_t index) { // NOLINT(misc-no-recursion): no type contains itself by value
        if (known_[index] == answer::unknown)
            known_[index] = find(index) ? answer::yes : answer::no;
        return known_[index] == answer::yes;
    }

private:
    enum class answer : char { unknown, no, yes };

    bool find(std::uint32_t index) { // NOLINT(misc-no-recursion)
        const type_row& row = reader_.row(index);
        switch (form_of(row)) {
        case form::number:
            return false;
        case form::hidden:
            return reader_.size_of(index) != 0 && !is_told_by_bytes(row);
        case form::members:
            return has_opaque_bytes(index) ||
                   std::any_of(members(row).begin(), members(row).end(), [&](const type_part& each) {
                       return each.offset && ask(each.type); // NOLINT(misc-no-recursion)
                   });
        case form::array:
            return ask(row.parts[0].type);
        case form::same:
        case form::optional:
        case form::variant: {
            const auto parts = parts_of(row);
            // NOLINTNEXTLINE(misc-no-recursion)
            return std::any_of(parts.begin(), parts.end(), [&](const row_part& each) { return ask(each.row); });
        }
        default:
            return true;
        }
    }

public:
    /// For a class that states its members, returns all of them, if they are known.
    static const std::vector<type_part>& members(const type_row& row) {
        return row.kind == type_kind::members ? row.parts : row.fields;
    }
    /// True if a class may have members that are not known.
    [[nodiscard]] bool has_opaque_bytes(std::uint32_t index) const {
        const type_row& row = reader_.row(index);
        if (row.kind != type_kind::members)
            return may_leave_out(row);
        return std::any_of(row.parts.begin(), row.parts.end(), [&](const type_part& each) {
            return each.offset ? reader_.size_of(each.type) == 0
                               : form_of(reader_.row(each.type)) != form::number; // references
        });
    }

private:
    const object_reader& reader_;
    std::vector<answer> known_;
};

/// Visits the objects that one root leads to.
class root_reach {
public:
    /// `opaque`: by_addresses or by_all_links, for what the schema does not describe.
    root_reach(const heap_to_read& heap, std::shared_ptr<const types::type_description> schema, marked_blocks& blocks,
               reached opaque)
        : opaque_(opaque),
          schema_(std::move(schema)),
          reader_(heap.bytes, heap.path, heap.base, heap.end, *schema_),
          refer_(reader_),
          blocks_(blocks) {
        reader_.listen([this](std::uint64_t begin, std::uint64_t /*bytes*/) { blocks_.mark(begin, owned_); });
    }

    /// Visits the root's object, and all that it contains.
    result<void> own_root(std::uint64_t object) {
        const object_place root{reader_.schema().root, object};
        auto is_alone = lone_objects(reader_).is_alone(root);
        if (!is_alone)
            return is_alone.error();
        blocks_.mark(object, *is_alone ? reached::as_owned : opaque_);
        return own(root);
    }
    /// Visits the targets of the pointers that were found, and all that these lead to.
    result<void> follow_pointers() {
        owned_ = reached::as_target; // a dangling pointer may lead to what only looks like an owner
        while (!targets_.empty()) {
            const object_place next = targets_.back();
            targets_.pop_back();
            const std::size_t block = blocks_.index_of(next.at);
            if (block == marked_blocks::k_none || blocks_.state_of(block) == reached::as_owned) // UB4
                continue;
            auto is_described = visit_target(next, blocks_.block(block));
            if (!is_described && !is_damage(is_described.why().code))
                return is_described.error();
            containers_.clear();
            // A dangling pointer may lead to an object of another type, which looks damaged.
            blocks_.mark_block(block, is_described && *is_described ? reached::as_target : opaque_);
        }
        return {};
    }
    [[nodiscard]] bool has_pointers() const { return !targets_.empty(); }

private:
    /// Returns whether everything in the target's block was visited by its type.
    result<bool> visit_target(object_place target, const heap_range& block) {
        const std::uint64_t bytes = reader_.size_of(target.row);
        if (bytes == 0)
            return false;
        if (form_of(reader_.row(target.row)) == form::pointer && target.at == block.offset) { // an array of pointers
            for (std::uint64_t at = block.offset; at + bytes <= block.end(); at += bytes)
                REM_TRY(look({target.row, at}));
            return true;
        }
        auto is_alone = lone_objects(reader_).is_alone(target);
        if (!is_alone || !*is_alone)
            return is_alone;
        REM_TRY(own(target));
        // The object may be the base of a larger one, whose block has the same size.
        const std::uint64_t rest = align_down(target.at + bytes, k_link_bytes);
        REM_TRY(take_for_links({rest, block.end() - rest}));
        return true;
    }
    result<void> own(object_place object) {
        REM_TRY(look(object));
        while (!containers_.empty()) {
            const object_place next = containers_.back();
            containers_.pop_back();
            REM_TRY(look_into(next));
        }
        return {};
    }
    result<void> look(object_place of) { // NOLINT(misc-no-recursion): no type contains itself by value
        if (!refer_.ask(of.row))
            return {};
        const type_row& row = reader_.row(of.row);
        switch (form_of(row)) {
        case form::number:
            return {};
        case form::hidden:
            return take_for_links({of.at, reader_.size_of(of.row)});
        case form::pointer:
            note_target(of);
            return {};
        case form::members:
            return look_at_members(of);
        case form::array:
        case form::same:
        case form::optional:
        case form::variant:
            // NOLINTNEXTLINE(misc-no-recursion)
            return for_each_part(reader_, of, [&](const object_part& each) -> result<bool> {
                REM_TRY(look(each.place));
                return true;
            });
        case form::packed:
            return look({row.parts[0].type, of.at});
        case form::text:
        case form::serialised:
            return own_memory(of);
        case form::sequence:
        case form::set:
        case form::map:
            containers_.push_back(of);
            return {};
        }
        return {};
    }
    result<void> look_at_members(object_place of) { // NOLINT(misc-no-recursion)
        for (const type_part& each : rows_that_refer::members(reader_.row(of.row))) {
            if (each.offset)
                REM_TRY(look({each.type, of.at + *each.offset}));
        }
        if (!refer_.has_opaque_bytes(of.row))
            return {};
        for (const byte_range& each : reader_.rest_of(of.row))
            REM_TRY(take_for_links({of.at + each.at, each.count}));
        return {};
    }
    result<void> look_into(object_place container) {
        const type_row& row = reader_.row(container.row);
        REM_TRY(own_memory(container));
        if (row.shape == shape_kind::bits || (reader_.has_run(container.row) && !refer_.ask(row.parts[0].type)))
            return {};
        return reader_.for_each_element(container, [&](const element_place& each) -> result<bool> {
            blocks_.mark(each.value.at, owned_); // its node
            REM_TRY(look(each.value));
            if (each.has_key) {
                blocks_.mark(each.key.at, owned_);
                REM_TRY(look(each.key));
            }
            return true;
        });
    }
    /// Marks the blocks that a container or text has besides those of its elements.
    result<void> own_memory(object_place of) {
        const type_row& row = reader_.row(of.row);
        switch (row.shape) {
        case shape_kind::packed_text:
            return {};
        case shape_kind::ring:
        case shape_kind::chain:
        case shape_kind::tree:
        case shape_kind::hash_chain: // has an array of buckets besides its nodes
        case shape_kind::btree:      // the listener is told of its nodes, and of a hash table
        case shape_kind::hash_table:
        case shape_kind::foreign:
            // They may have function objects, and those of other libraries more blocks than their shape tells.
            return blocks_.follow({of.at, reader_.size_of(of.row)}, of.at, reached::by_addresses);
        case shape_kind::deque:
            for (const std::uint64_t iterator : {row.numbers[0], row.numbers[1]}) {
                // An iterator has the addresses of the element, of its block's beginning and end, and of a place in the
                // array of blocks. The end may be the beginning of another block.
                for (const unsigned word : {1U, 3U})
                    REM_TRY(blocks_.for_each_address({of.at + iterator + word * k_link_bytes, k_link_bytes},
                                                     [&](std::uint64_t at) { blocks_.mark(at, owned_); }));
            }
            return {};
        default:
            break;
        }
        auto memory = reader_.memory_of(of);
        if (!memory)
            return memory.error();
        if (*memory != 0)
            blocks_.mark(*memory, owned_);
        return {};
    }
    result<void> take_for_links(heap_range opaque) {
        const std::size_t block = blocks_.index_of(opaque.offset);
        const std::uint64_t begin = block == marked_blocks::k_none ? opaque.offset : blocks_.block(block).offset;
        return blocks_.follow(opaque, begin, opaque_);
    }
    void note_target(object_place pointer) {
        const auto to = reader_.target(pointer);
        if (!to || *to == 0) // a pointer to elsewhere is none of this heap's
            return;
        const std::uint32_t row = reader_.row(pointer.row).parts.front().type;
        if (seen_.emplace(*to, row).second)
            targets_.push_back({row, *to});
    }

    const reached opaque_;
    reached owned_ = reached::as_owned; // how blocks are marked that a visited object owns
    std::shared_ptr<const types::type_description> schema_;
    object_reader reader_;
    rows_that_refer refer_;
    marked_blocks& blocks_;
    std::vector<object_place> containers_;                   // whose elements are still to be visited
    std::vector<object_place> targets_;                      // of pointers, still to be visited
    std::set<std::pair<std::uint64_t, std::uint32_t>> seen_; // targets already listed: place and row
};

/// Marks the blocks of the root directory and of the types.
result<void> reach_directory(const heap_to_read& heap, marked_blocks& blocks) {
    const format::heap_header& header = *heap.header;
    for (const std::uint64_t block : {header.root_word, header.type_table, header.schema_offset, header.class_table}) {
        if (block != 0)
            blocks.mark(block, reached::as_owned);
    }
    auto directory = types::root_reader(heap.bytes, heap.path).directory(heap.header->root_word);
    if (!directory || *directory == nullptr)
        return directory ? result<void>() : directory.error();
    blocks.mark((*directory)->table, reached::as_owned);
    auto slots = heap.bytes.at((*directory)->table, (*directory)->count * k_link_bytes);
    if (!slots)
        return slots.error();
    for (std::uint64_t i = 0; i != (*directory)->count; ++i) {
        std::uint64_t entry = 0;
        std::memcpy(&entry, *slots + i * k_link_bytes, sizeof entry);
        blocks.mark(entry, reached::as_owned);
    }
    return {};
}

/// Programs in C have no containers that store distances.
reached links_of(const root_with_schema& root) {
    return root.type.starts_with("C ") ? reached::by_addresses : reached::by_all_links;
}

} // namespace

result<std::vector<heap_range>> unreached_blocks(const heap_to_read& heap, std::vector<heap_range> blocks) {
    marked_blocks marked(heap, std::move(blocks));
    if (heap.header == nullptr)
        return marked.not_reached();
    REM_TRY(reach_directory(heap, marked));
    auto roots = roots_with_schema(heap);
    if (!roots)
        return roots.error();
    std::vector<std::unique_ptr<root_reach>> walks;
    for (const root_with_schema& root : *roots) {
        if (root.schema) {
            walks.push_back(std::make_unique<root_reach>(heap, root.schema, marked, links_of(root)));
            REM_TRY(walks.back()->own_root(root.object));
        }
    }
    for (const root_with_schema& root : *roots) {
        if (!root.schema)
            marked.mark(root.object, links_of(root));
    }
    for (bool is_done = false; !is_done;) {
        is_done = true;
        for (const auto& each : walks) {
            is_done = is_done && !each->has_pointers();
            REM_TRY(each->follow_pointers());
        }
    }
    REM_TRY(marked.follow_pending());
    return marked.not_reached();
}

} // namespace remanence::inspect
