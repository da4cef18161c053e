#include "inspect/pointer_places.hpp"

#include "base/units.hpp"
#include "format/class_table.hpp"
#include "inspect/lone_objects.hpp"
#include "inspect/object_classes.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/seen_targets.hpp"
#include "inspect/sorted_blocks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_row;

void word_places::add(std::uint64_t at) {
    if (contains(at))
        return;
    ++count_;
    if (at % k_address_bytes != 0) {
        unaligned_.insert(at);
        return;
    }
    if (bits_.empty())
        bits_.resize((heap_bytes_ + k_part_bytes - 1) / k_part_bytes);
    bits_[at / k_part_bytes] |= std::uint64_t{1} << at / k_address_bytes % 64;
}

bool word_places::contains(std::uint64_t at) const {
    if (at % k_address_bytes != 0)
        return unaligned_.contains(at);
    return at / k_part_bytes < bits_.size() && (bits_[at / k_part_bytes] >> at / k_address_bytes % 64 & 1U) != 0;
}

void word_places::move_part(std::byte* memory, std::uint64_t part, std::uint64_t distance) const {
    const auto move_one = [&](std::uint64_t at) {
        std::uint64_t word = 0;
        std::memcpy(&word, memory + at, sizeof word);
        word += distance;
        std::memcpy(memory + at, &word, sizeof word);
    };
    if (!bits_.empty()) {
        for (std::uint64_t bits = bits_[part / k_part_bytes]; bits != 0; bits &= bits - 1)
            move_one(part + static_cast<std::uint64_t>(std::countr_zero(bits)) * k_address_bytes);
    }
    if (!unaligned_.empty()) {
        const auto end = unaligned_.lower_bound(part + k_part_bytes);
        for (auto each = unaligned_.lower_bound(part); each != end; ++each)
            move_one(*each);
    }
}

void pointer_places::move(std::byte* memory, std::uint64_t old_base, std::uint64_t base,
                          const std::function<void(std::uint64_t)>& told) const {
    const std::uint64_t distance_of_vptrs = format::stalls_of(base) - format::stalls_of(old_base);
    for (std::uint64_t part = 0; part < bytes; part += word_places::k_part_bytes) {
        if (part % MiB == 0)
            told(part);
        pointers.move_part(memory, part, base - old_base);
        vptrs.move_part(memory, part, distance_of_vptrs);
    }
    told(bytes);
}

namespace {

/// True if a value is an address of the heap that something may use: one in a block, or that of the heap or of an arena,
/// which allocators store.
bool is_used_address(const heap_to_read& heap, const sorted_blocks& blocks, std::uint64_t value) {
    return value - heap.base < heap.end &&
           (value % GiB == 0 || blocks.index_of(value - heap.base) != sorted_blocks::k_none);
}

/// An object that a root leads to, for messages.
struct object_of_root {
    const root_with_schema* root;
    std::uint32_t row;

    [[nodiscard]] std::string text() const {
        return "the root \"" + root->name + "\" leads to a block with a " + root->schema->name_of(row);
    }
};

/// Bytes in which no address may lie that is not known as a pointer (MP3).
struct doubtful {
    heap_range bytes;
    object_of_root object;
};

/// The target of a pointer, which may be a part of an object that was found otherwise (MP2).
struct part_of_object {
    std::uint64_t at;
    std::string type; // name of what the pointer leads to; empty once it is known to be there
    object_of_root object;
};

class object_pointers;

/// What all roots of a heap share.
struct findings {
    findings(const heap_to_read& in, std::vector<heap_range> all, object_classes known)
        : heap(in),
          blocks(std::move(all)),
          seen(blocks),
          classes(std::move(known)),
          places(in.end),
          is_doubtful(blocks.size()) {}

    /// Returns the visit of the objects of a class. `like`: the root that led to the first of them.
    object_pointers& visit_of(const object_classes::entry& of_class, const root_with_schema& like);
    /// True if a value depends on the heap's base.
    [[nodiscard]] bool is_address(std::uint64_t value) const {
        return is_used_address(heap, blocks, value) || classes.find(value) != nullptr;
    }

    const heap_to_read& heap;
    const sorted_blocks blocks;
    seen_targets seen;
    const object_classes classes;
    std::uint32_t types = 0; // that have a number in `seen`
    std::vector<std::unique_ptr<object_pointers>> visits;
    std::map<const types::type_description*, object_pointers*> of_classes;
    pointer_places places;
    std::vector<doubtful> doubts;
    std::vector<bool> is_doubtful; // for each block
    std::vector<part_of_object> parts;

    void doubt(std::size_t block, object_of_root object) {
        if (is_doubtful[block])
            return;
        is_doubtful[block] = true;
        doubts.push_back({blocks[block], object});
    }
};

/// Finds the pointers in the objects that a root leads to, by the root's schema; or in those of a class with virtual
/// functions.
class object_pointers final : reference_listener {
public:
    object_pointers(findings& all, root_with_schema root)
        : all_(all),
          of_(std::move(root)),
          schema_(*of_.schema),
          root_{schema_.root, of_.object},
          reader_(all_.heap.bytes, all_.heap.path, all_.heap.base, all_.heap.end, schema_),
          walk_(reader_, *this),
          first_type_(all_.types) {
        all_.types += static_cast<std::uint32_t>(schema_.rows.size());
    }

    /// Errors: errc::not_supported for hash containers whose keys hold pointers.
    result<void> refuse_addresses_as_keys() {
        for (std::uint32_t i = 0; i != schema_.rows.size(); ++i) {
            const type_row& row = schema_.rows[i];
            const bool hashes = row.shape == shape_kind::hash_chain || row.shape == shape_kind::hash_table;
            if (hashes && holds_pointer(row.parts[0].type))
                return refused("may lead to a " + schema_.name_of(i) +
                               ", whose elements lie where the addresses in their keys put them");
        }
        return {};
    }
    /// Finds the pointers in the root's object, and in all that it owns.
    result<void> visit_root() { return visit(root_); }
    [[nodiscard]] bool has_targets() const { return !targets_.empty(); }
    /// Finds the pointers in the objects that pointers lead to.
    result<void> follow() {
        while (!targets_.empty()) {
            const object_place next = targets_.back();
            targets_.pop_back();
            auto done = visit(next);
            // A dangling pointer may lead to an object of another type, which looks damaged.
            if (!done && is_damage(done.why().code))
                doubt(next);
            else if (!done)
                return done;
        }
        return {};
    }
    /// Adds an object that is no base of another one.
    void add_whole(object_place object) {
        if (all_.seen.insert(object.at, first_type_ + object.row))
            targets_.push_back(object);
    }
    /// Finds out which of the parts, sorted by place, are parts of what this root leads to.
    result<void> find_parts() {
        is_finding_parts_ = true;
        for (const object_place& each : visited_) {
            auto done = walk_.own(each);
            if (!done && !is_damage(done.why().code))
                return done;
        }
        return {};
    }

private:
    /// True if objects of a row, or what they own, may hold a pointer.
    [[nodiscard]] bool holds_pointer(std::uint32_t index) const {
        std::vector<bool> is_listed(schema_.rows.size());
        std::vector<std::uint32_t> left{index};
        while (!left.empty()) {
            const std::uint32_t next = left.back();
            left.pop_back();
            if (is_listed[next])
                continue;
            is_listed[next] = true;
            if (form_of(schema_.rows[next]) == form::pointer)
                return true;
            for (const row_part& each : parts_of(schema_.rows[next]))
                left.push_back(each.row);
        }
        return false;
    }
    [[nodiscard]] unexpected refused(const std::string& why) const {
        return fail(errc::not_supported, "the root \"" + of_.name + "\" " + why, all_.heap.path);
    }

    result<void> visit(object_place object) {
        const std::size_t index = all_.blocks.index_of(object.at);
        const std::uint64_t bytes = reader_.size_of(object.row);
        if (index == sorted_blocks::k_none)
            return {}; // dangling (MP5)
        const heap_range& block = all_.blocks[index];
        if (bytes == 0) {
            doubt(object);
            return {};
        }
        auto is_alone = lone_objects(reader_).is_alone(object);
        if (!is_alone)
            return is_alone.error();
        if (!*is_alone && object.at != root_.at)
            return visit_others(object, bytes, index);
        visited_.push_back(object);
        REM_TRY(walk_.own(object));
        const std::uint64_t rest = object.at + end_of_members(schema_, object.row);
        if (*is_alone)
            return opaque({rest, block.end() - rest}, object.row);
        doubt(object);
        return {};
    }
    /// Visits an element of an array, or what is a part of another object.
    result<void> visit_others(object_place object, std::uint64_t bytes, std::size_t index) {
        const heap_range& block = all_.blocks[index];
        const bool is_array = object.at == block.offset && 2 * bytes <= block.bytes && owns_nothing(object.row);
        if (!is_array) {
            all_.parts.push_back({object.at, schema_.name_of(object.row), {&of_, object.row}});
            return {};
        }
        // What lies behind the last element, or is another type, must not look like an address.
        doubt(object);
        for (std::uint64_t at = block.offset; at + bytes <= block.end(); at += bytes)
            REM_TRY(walk_.own({object.row, at}));
        return {};
    }
    /// True if objects of a row have no memory besides their own.
    [[nodiscard]] bool owns_nothing(std::uint32_t index) const { // NOLINT(misc-no-recursion): not by value
        const form what = form_of(schema_.rows[index]);
        if (what == form::pointer || what == form::number)
            return true;
        if (what != form::members && what != form::array && what != form::same && !is_held(what))
            return false;
        const auto parts = parts_of(schema_.rows[index]);
        // NOLINTNEXTLINE(misc-no-recursion)
        return std::all_of(parts.begin(), parts.end(), [&](const row_part& each) { return owns_nothing(each.row); });
    }
    void doubt(object_place object) { all_.doubt(all_.blocks.index_of(object.at), {&of_, object.row}); }

    /// Adds the place if the word there is an address in the heap, which it then returns as an offset.
    std::optional<std::uint64_t> add(std::uint64_t at) {
        auto found = reader_.bytes(at, k_address_bytes);
        if (!found)
            return {};
        std::uint64_t value = 0;
        std::memcpy(&value, *found, sizeof value);
        if (value - all_.heap.base >= all_.heap.end)
            return {};
        all_.places.pointers.add(at);
        return value - all_.heap.base;
    }
    void pointer(object_place pointer) override {
        if (is_finding_parts_)
            return;
        const auto to = add(pointer.at);
        if (!to)
            return;
        add({reader_.row(pointer.row).parts.front().type, *to});
    }
    /// Adds the target of a pointer.
    void add(object_place target) {
        if (!has_vptr(reader_.row(target.row))) {
            add_whole(target);
            return;
        }
        const object_classes::whole_object whole = all_.classes.whole_of(reader_, target);
        if (whole.of != nullptr && whole.of->schema)
            all_.visit_of(*whole.of, of_).add_whole(whole.place);
        else if (const std::size_t block = all_.blocks.index_of(target.at); block != sorted_blocks::k_none)
            all_.doubt(block, {&of_, target.row});
    }
    void vptr(std::uint64_t at) override {
        auto found = reader_.bytes(at, k_address_bytes);
        std::uint64_t value = 0;
        if (found)
            std::memcpy(&value, *found, sizeof value);
        if (!is_finding_parts_ && all_.classes.find(value) != nullptr)
            all_.places.vptrs.add(at);
    }
    void link(std::uint64_t at) override {
        if (!is_finding_parts_)
            add(at);
    }
    void objects(object_place first, std::uint64_t count) override {
        if (!is_finding_parts_)
            return;
        const std::uint64_t bytes = std::max<std::uint64_t>(reader_.size_of(first.row), 1);
        auto each = std::lower_bound(all_.parts.begin(), all_.parts.end(), first.at,
                                     [](const part_of_object& one, std::uint64_t at) { return one.at < at; });
        for (; each != all_.parts.end() && (each->at - first.at) / bytes < count; ++each) {
            if (has_part_at(schema_, first.row, (each->at - first.at) % bytes, each->type))
                each->type.clear();
        }
    }
    result<void> opaque(heap_range bytes, std::uint32_t row) override {
        if (!is_finding_parts_ && bytes.bytes >= k_address_bytes)
            all_.doubts.push_back({bytes, {&of_, row}});
        return {};
    }

    findings& all_;
    const root_with_schema of_; // of a class: the root that led to it, with the schema of the class
    const types::type_description& schema_;
    const object_place root_;
    object_reader reader_;
    reference_walk walk_;
    std::vector<object_place> targets_; // of pointers, still to be visited
    std::vector<object_place> visited_; // whole objects
    const std::uint32_t first_type_;
    bool is_finding_parts_ = false;
};

object_pointers& findings::visit_of(const object_classes::entry& of_class, const root_with_schema& like) {
    object_pointers*& known = of_classes[of_class.schema.get()];
    if (known == nullptr) {
        root_with_schema named = like;
        named.object = 0;
        named.schema = of_class.schema;
        known = visits.emplace_back(std::make_unique<object_pointers>(*this, std::move(named))).get();
    }
    return *known;
}

result<void> refuse_doubts(const findings& all) {
    const heap_to_read& heap = all.heap;
    for (const doubtful& each : all.doubts) {
        auto bytes = heap.bytes.at(each.bytes.offset, each.bytes.bytes);
        if (!bytes)
            return bytes.error();
        for (std::uint64_t i = 0; i + k_address_bytes <= each.bytes.bytes; ++i) {
            std::uint64_t value = 0;
            std::memcpy(&value, *bytes + i, sizeof value);
            const std::uint64_t at = each.bytes.offset + i;
            if (all.is_address(value) && !all.places.pointers.contains(at) && !all.places.vptrs.contains(at))
                return fail(errc::not_supported,
                            each.object.text() + "; at heap offset " + std::to_string(at) +
                                " it holds what may be a pointer, but nothing says so",
                            heap.path);
        }
    }
    return {};
}

} // namespace

result<pointer_places> pointers_of(const heap_to_read& heap, std::vector<heap_range> blocks) {
    auto classes = object_classes::of(heap);
    if (!classes)
        return classes.error();
    findings all(heap, std::move(blocks), std::move(*classes));
    if (heap.header == nullptr)
        return std::move(all.places);
    auto roots = roots_with_schema(heap);
    if (!roots)
        return roots.error();
    for (const root_with_schema& root : *roots) {
        if (root.position_independent)
            continue;
        if (!root.schema)
            return fail(errc::not_supported,
                        "the root \"" + root.name + "\" is a " + root.type + ", whose members are not known",
                        heap.path);
        object_pointers& visit = *all.visits.emplace_back(std::make_unique<object_pointers>(all, root));
        REM_TRY(visit.refuse_addresses_as_keys());
        REM_TRY(visit.visit_root());
    }
    const auto has_targets = [](const auto& each) { return each->has_targets(); };
    while (std::any_of(all.visits.begin(), all.visits.end(), has_targets)) {
        for (std::size_t i = 0; i != all.visits.size(); ++i) // a visit may add the visit of a class
            REM_TRY(all.visits[i]->follow());
    }
    for (const auto& [schema, visit] : all.of_classes)
        REM_TRY(visit->refuse_addresses_as_keys());
    std::sort(all.parts.begin(), all.parts.end(),
              [](const part_of_object& a, const part_of_object& b) { return a.at < b.at; });
    for (std::size_t i = 0; i != all.visits.size() && !all.parts.empty(); ++i)
        REM_TRY(all.visits[i]->find_parts());
    for (const part_of_object& each : all.parts) {
        if (!each.type.empty())
            all.doubt(all.blocks.index_of(each.at), each.object);
    }
    REM_TRY(refuse_doubts(all));
    return std::move(all.places);
}

result<pointer_places> words_like_pointers(const heap_to_read& heap, const std::vector<heap_range>& blocks) {
    auto classes = object_classes::of(heap);
    if (!classes)
        return classes.error();
    const sorted_blocks sorted(blocks);
    pointer_places places(heap.end);
    for (const heap_range& each : blocks) {
        const std::uint64_t begin = align_up(each.offset, k_address_bytes);
        const std::uint64_t end = align_down(each.end(), k_address_bytes);
        if (begin >= end)
            continue;
        auto bytes = heap.bytes.at(begin, end - begin);
        if (!bytes)
            return bytes.error();
        for (std::uint64_t at = begin; at != end; at += k_address_bytes) {
            std::uint64_t value = 0;
            std::memcpy(&value, *bytes + (at - begin), sizeof value);
            if (is_used_address(heap, sorted, value))
                places.pointers.add(at);
            else if (classes->find(value) != nullptr)
                places.vptrs.add(at);
        }
    }
    return places;
}

} // namespace remanence::inspect
