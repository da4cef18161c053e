#include "inspect/unreached_blocks.hpp"

#include "base/units.hpp"
#include "inspect/lone_objects.hpp"
#include "inspect/object_classes.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/reference_walk.hpp"
#include "inspect/seen_targets.hpp"
#include "inspect/sorted_blocks.hpp"
#include "types/root_reader.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace remanence::inspect {

namespace {

using types::type_row;

constexpr std::uint64_t k_link_bytes = 8;

/// How a block is reached. A higher value replaces a lower one.
enum class reached : std::uint8_t {
    no,
    as_target,    // a pointer leads to it, and its object was visited by its type
    as_owned,     // an object of a root has allocated it, and all that is in it was visited by its type (UB4)
    by_addresses, // opaque, but only addresses count
    by_all_links, // opaque (UB2)
};

class marked_blocks {
public:
    /// Both arguments must outlive this object.
    marked_blocks(const heap_to_read& heap, const sorted_blocks& blocks)
        : heap_(heap), blocks_(blocks), states_(blocks_.size(), reached::no) {}

    [[nodiscard]] const sorted_blocks& blocks() const { return blocks_; }
    [[nodiscard]] reached state_of(std::size_t index) const { return states_[index]; }
    /// Marks the block around an offset, if there is one.
    void mark(std::uint64_t offset, reached how) {
        if (const std::size_t index = blocks_.index_of(offset); index != sorted_blocks::k_none)
            mark_block(index, how);
    }
    void mark_block(std::size_t index, reached how) {
        if (states_[index] >= how)
            return;
        states_[index] = how;
        if (how >= reached::by_addresses)
            pending_.push_back(index);
    }
    /// Follows what opaque bytes in a block may refer to (UB2).
    result<void> follow(heap_range opaque, std::uint64_t begin_of_block, reached how) {
        if (opaque.bytes < k_link_bytes || !heap_.bytes.contains(opaque.offset, opaque.bytes))
            return {};
        const std::uint64_t places = opaque.bytes - (k_link_bytes - 1); // where a link may begin
        for (std::uint64_t i = 0; i < places; i += k_places_at_once)
            REM_TRY(follow_links(opaque.offset + i, std::min(k_places_at_once, places - i), begin_of_block, how));
        return {};
    }
    /// Follows the links in all blocks that are reached in this way.
    result<void> follow_pending() {
        while (!pending_.empty()) {
            const std::size_t index = pending_.back();
            pending_.pop_back();
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

private:
    static constexpr std::uint64_t k_places_at_once = std::uint64_t{64} << 10U;

    /// Follows the links that begin at `count` places, the first of them at `first`.
    result<void> follow_links(std::uint64_t first, std::uint64_t count, std::uint64_t begin_of_block, reached how) {
        auto bytes = heap_.bytes.at(first, count + k_link_bytes - 1);
        if (!bytes)
            return bytes.error();
        for (std::uint64_t i = 0; i != count; ++i) {
            const std::uint64_t at = first + i;
            std::uint64_t value = 0;
            std::memcpy(&value, *bytes + i, sizeof value);
            if (value - heap_.base < heap_.end) {
                mark(value - heap_.base, how);
            } else if (how == reached::by_all_links && value != 0 && (value | at) % k_link_bytes == 0) {
                mark_beginning(at + value);
                mark_beginning(begin_of_block + value);
            }
        }
        return {};
    }
    void mark_beginning(std::uint64_t offset) {
        if (offset >= heap_.end)
            return;
        const std::size_t index = blocks_.index_of(offset);
        if (index != sorted_blocks::k_none && blocks_[index].offset == offset)
            mark_block(index, reached::by_all_links);
    }

    const heap_to_read& heap_;
    const sorted_blocks& blocks_;
    std::vector<reached> states_;
    std::vector<std::size_t> pending_; // blocks whose links are still to be followed
};

/// A pointer's target in a block that an object of a root has allocated (UB4).
struct owned_target {
    std::uint64_t at;
    std::string type; // name of what the pointer leads to
};

const std::uint64_t& moves_of(const heap_to_read& heap) {
    static constexpr std::uint64_t k_never = 0;
    return heap.moves != nullptr ? *heap.moves : k_never;
}

class object_reach;

/// What the visits of all roots and classes share.
struct everything {
    everything(const heap_to_read& in, const sorted_blocks& blocks, object_classes known)
        : heap(in), marked(in, blocks), seen(marked.blocks()), classes(std::move(known)) {}

    /// Returns the visit of the objects of a class, whose schema is known.
    object_reach& reach_of(const object_classes::entry& of_class);

    const heap_to_read& heap;
    marked_blocks marked;
    seen_targets seen;
    const object_classes classes;
    std::uint32_t types = 0; // that have a number in `seen`
    std::vector<std::unique_ptr<object_reach>> visits;
    std::map<const types::type_description*, object_reach*> of_classes;
    std::string uncertain; // unreached::uncertain
};

/// Visits the objects that a root leads to, by the root's schema; or those of a class with virtual functions.
class object_reach final : reference_listener {
public:
    /// `opaque`: by_addresses or by_all_links.
    object_reach(everything& all, std::shared_ptr<const types::type_description> schema, reached opaque)
        : all_(all),
          opaque_(opaque),
          schema_(std::move(schema)),
          reader_(all.heap.bytes, all.heap.path, all.heap.base, all.heap.end, *schema_, moves_of(all.heap)),
          walk_(reader_, *this),
          blocks_(all.marked),
          first_type_(all.types) {
        all.types += static_cast<std::uint32_t>(schema_->rows.size());
    }

    /// Visits the root's object, and all that it owns.
    result<void> own_root(std::uint64_t at) {
        root_ = {schema_->root, at};
        const std::size_t block = blocks_.blocks().index_of(at);
        if (block == sorted_blocks::k_none)
            return {};
        owned_ = reached::as_owned;
        auto is_described = visit(*root_, blocks_.blocks()[block]);
        if (!is_described)
            return is_described.error();
        blocks_.mark_block(block, *is_described ? reached::as_owned : opaque_);
        owned_ = reached::as_target; // a dangling pointer may lead to what only looks like an owner
        return {};
    }
    /// Visits the targets of the pointers that were found, and all that these lead to. Targets in blocks that objects of
    /// roots have allocated are added to `in_owned`.
    result<void> follow_pointers(std::vector<owned_target>& in_owned) {
        while (!targets_.empty()) {
            const object_place next = targets_.back();
            targets_.pop_back();
            const std::size_t block = blocks_.blocks().index_of(next.at);
            if (block == sorted_blocks::k_none)
                continue;
            if (blocks_.state_of(block) == reached::as_owned) {
                in_owned.push_back({next.at, schema_->name_of(next.row)});
                continue;
            }
            auto is_described = visit(next, blocks_.blocks()[block]);
            if (!is_described && !is_damage(is_described.why().code))
                return is_described.error();
            // A dangling pointer may lead to an object of another type, which looks damaged.
            blocks_.mark_block(block, is_described && *is_described ? reached::as_target : opaque_);
        }
        return {};
    }
    [[nodiscard]] bool has_pointers() const { return !targets_.empty(); }
    /// Adds the target of a pointer.
    void add(object_place target) {
        if (!has_vptr(reader_.row(target.row))) {
            add_whole(target);
            return;
        }
        if (blocks_.blocks().index_of(target.at) == sorted_blocks::k_none)
            return; // the pointer dangles
        const object_classes::whole_object whole = all_.classes.whole_of(reader_, target);
        if (whole.of != nullptr && whole.of->schema) {
            all_.reach_of(*whole.of).add_whole(whole.place);
            return;
        }
        blocks_.mark(target.at, opaque_); // UB2
        all_.uncertain = whole.of != nullptr
                             ? "there is an object of the class " + whole.of->name + ", whose members are not known"
                             : "there is an object of the class " + schema_->name_of(target.row) +
                                   ", or of one that is derived from it, which was made since the last commit, or a "
                                   "pointer to a " +
                                   schema_->name_of(target.row) + " dangles and should be null";
    }
    /// Adds an object that is no base of another one.
    void add_whole(object_place object) {
        if (all_.seen.insert(object.at, first_type_ + object.row))
            targets_.push_back(object);
    }

    /// Removes from `targets`, which are sorted by place, those that are parts of what the root owns.
    result<void> remove_known(std::vector<owned_target>& targets) {
        if (!root_)
            return {};
        unknown_ = &targets;
        auto done = walk_.own(*root_);
        unknown_ = nullptr;
        std::erase_if(targets, [](const owned_target& each) { return each.type.empty(); });
        return done;
    }

private:
    /// Visits an object in a block. Returns whether everything in the block was visited by its type (UB2).
    result<bool> visit(object_place object, const heap_range& block) {
        if (reader_.size_of(object.row) == 0)
            return false;
        auto is_alone = lone_objects(reader_).is_alone(object);
        if (!is_alone)
            return is_alone;
        REM_TRY(walk_.own(object));
        const std::uint64_t rest = object.at + end_of_members(*schema_, object.row);
        if (*is_alone)
            REM_TRY(opaque({rest, block.end() - rest}, object.row));
        return *is_alone;
    }

    void pointer(object_place pointer) override {
        const auto to = unknown_ != nullptr ? result<std::uint64_t>(0) : reader_.target(pointer);
        if (!to || *to == 0) // a pointer to elsewhere is none of this heap's
            return;
        add({reader_.row(pointer.row).parts.front().type, *to});
    }
    void owned(std::uint64_t at) override { blocks_.mark(at, owned_); }
    void objects(object_place first, std::uint64_t count) override {
        if (unknown_ == nullptr)
            return;
        const std::uint64_t bytes = std::max<std::uint64_t>(reader_.size_of(first.row), 1);
        auto each = std::lower_bound(unknown_->begin(), unknown_->end(), first.at,
                                     [](const owned_target& one, std::uint64_t at) { return one.at < at; });
        for (; each != unknown_->end() && (each->at - first.at) / bytes < count; ++each) {
            if (has_part_at(*schema_, first.row, (each->at - first.at) % bytes, each->type))
                each->type.clear();
        }
    }
    result<void> opaque(heap_range bytes, std::uint32_t /*row*/) override {
        const std::size_t block = blocks_.blocks().index_of(bytes.offset);
        return blocks_.follow(bytes, block == sorted_blocks::k_none ? bytes.offset : blocks_.blocks()[block].offset,
                              opaque_);
    }

    everything& all_;
    const reached opaque_;
    reached owned_ = reached::as_target; // how blocks are marked that a visited object has allocated
    std::shared_ptr<const types::type_description> schema_;
    std::optional<object_place> root_; // nothing if the schema is that of a class
    object_reader reader_;
    reference_walk walk_;
    marked_blocks& blocks_;
    std::vector<object_place> targets_; // of pointers, still to be visited
    const std::uint32_t first_type_;
    std::vector<owned_target>* unknown_ = nullptr; // set while known parts are removed from them
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

/// Returns in words what may refer to blocks in unknown ways in objects of a row; empty if nothing does.
std::string what_hides_references(const object_reader& reader, std::uint32_t index) {
    const type_row& row = reader.row(index);
    switch (form_of(row)) {
    case form::hidden:
        return reader.size_of(index) < k_link_bytes || is_told_by_bytes(row) ? "" : "whose members are not known";
    case form::pointer:
        return reader.size_of(row.parts.front().type) == 0 ? "a pointer that does not say what it leads to" : "";
    case form::members:
        return referring_rows(reader).leaves_out(index) ? "which may have more members than it states" : "";
    default:
        return {};
    }
}

/// Returns in words what objects of a type may lead to that refers to blocks in unknown ways; empty if nothing does.
std::string what_hides_references(const heap_to_read& heap, const types::type_description& schema) {
    const object_reader reader(heap.bytes, heap.path, heap.base, heap.end, schema);
    for (std::uint32_t i = 0; i != schema.rows.size(); ++i) {
        if (const std::string why = what_hides_references(reader, i); !why.empty())
            return " may lead to a " + schema.name_of(i) + ", " + why;
    }
    return {};
}

object_reach& everything::reach_of(const object_classes::entry& of_class) {
    object_reach*& known = of_classes[of_class.schema.get()];
    if (known == nullptr) {
        known =
            visits.emplace_back(std::make_unique<object_reach>(*this, of_class.schema, reached::by_all_links)).get();
        if (const std::string why = what_hides_references(heap, *of_class.schema); !why.empty())
            uncertain = "there is an object of the class " + of_class.name + ", which" + why;
    }
    return *known;
}

} // namespace

result<std::optional<std::string>> what_hides_references(const heap_to_read& heap) {
    if (heap.header == nullptr)
        return std::optional<std::string>();
    auto roots = roots_with_schema(heap);
    if (!roots)
        return roots.error();
    for (const root_with_schema& root : *roots) {
        const std::string name = "the root \"" + root.name + "\"";
        if (!root.schema)
            return std::optional(name + " is a " + root.type + ", whose members are not known");
        if (const std::string why = what_hides_references(heap, *root.schema); !why.empty())
            return std::optional(name + why);
    }
    return std::optional<std::string>();
}

result<unreached> unreached_blocks(const heap_to_read& heap, const sorted_blocks& blocks) {
    auto classes = object_classes::of(heap);
    if (!classes)
        return classes.error();
    everything all(heap, blocks, std::move(*classes));
    if (heap.header == nullptr)
        return unreached{all.marked.not_reached(), {}};
    REM_TRY(reach_directory(heap, all.marked));
    auto roots = roots_with_schema(heap);
    if (!roots)
        return roots.error();
    for (const root_with_schema& root : *roots) {
        if (root.schema) {
            all.visits.push_back(std::make_unique<object_reach>(all, root.schema, links_of(root)));
            REM_TRY(all.visits.back()->own_root(root.object));
        } else {
            all.marked.mark(root.object, links_of(root));
        }
    }
    std::vector<owned_target> in_owned;
    for (bool is_done = false; !is_done;) {
        is_done = true;
        for (std::size_t i = 0; i != all.visits.size(); ++i) { // a visit may add the visit of a class
            is_done = is_done && !all.visits[i]->has_pointers();
            REM_TRY(all.visits[i]->follow_pointers(in_owned));
        }
    }
    std::sort(in_owned.begin(), in_owned.end(),
              [](const owned_target& a, const owned_target& b) { return a.at < b.at; });
    for (std::size_t i = 0; i != all.visits.size() && !in_owned.empty(); ++i)
        REM_TRY(all.visits[i]->remove_known(in_owned));
    for (const owned_target& each : in_owned)
        all.marked.mark(each.at, reached::by_all_links);
    REM_TRY(all.marked.follow_pending());
    return unreached{all.marked.not_reached(), std::move(all.uncertain)};
}

} // namespace remanence::inspect
