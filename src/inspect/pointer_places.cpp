#include "inspect/pointer_places.hpp"

#include "base/units.hpp"
#include "inspect/lone_objects.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/seen_targets.hpp"
#include "inspect/sorted_blocks.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_row;

void pointer_places::add(std::uint64_t at) {
    if (contains(at))
        return;
    ++count_;
    if (at % k_address_bytes != 0)
        unaligned_.insert(at);
    else
        bits_[at / k_bytes_each] |= std::uint64_t{1} << at / k_address_bytes % 64;
}

bool pointer_places::contains(std::uint64_t at) const {
    if (at % k_address_bytes != 0)
        return unaligned_.contains(at);
    return at / k_bytes_each < bits_.size() && (bits_[at / k_bytes_each] >> at / k_address_bytes % 64 & 1U) != 0;
}

void pointer_places::move(std::byte* memory, std::uint64_t distance,
                          const std::function<void(std::uint64_t)>& told) const {
    constexpr std::uint64_t k_told_each = MiB / k_bytes_each;
    const auto move_one = [&](std::uint64_t at) {
        std::uint64_t word = 0;
        std::memcpy(&word, memory + at, sizeof word);
        word += distance;
        std::memcpy(memory + at, &word, sizeof word);
    };
    for (std::uint64_t i = 0; i != bits_.size(); ++i) {
        if (i % k_told_each == 0)
            told(i * k_bytes_each);
        for (std::uint64_t bits = bits_[i]; bits != 0; bits &= bits - 1)
            move_one(i * k_bytes_each + static_cast<std::uint64_t>(std::countr_zero(bits)) * k_address_bytes);
    }
    for (const std::uint64_t at : unaligned_)
        move_one(at);
    told(bits_.size() * k_bytes_each);
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

/// What all roots of a heap share.
struct findings {
    findings(const heap_to_read& in, std::vector<heap_range> all)
        : heap(in), blocks(std::move(all)), seen(blocks), places(in.end), is_doubtful(blocks.size()) {}

    const heap_to_read& heap;
    const sorted_blocks blocks;
    seen_targets seen;
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

class root_pointers final : reference_listener {
public:
    /// `root` must outlive this object. `first_type`: the number of its first type in findings::seen.
    root_pointers(findings& all, const root_with_schema& root, std::uint32_t first_type)
        : all_(all),
          of_(root),
          schema_(*root.schema),
          root_{schema_.root, root.object},
          reader_(all.heap.bytes, all.heap.path, all.heap.base, all.heap.end, schema_),
          walk_(reader_, *this),
          first_type_(first_type) {}

    /// Finds the pointers in all objects that the root owns or leads to.
    result<void> run() {
        REM_TRY(refuse_addresses_as_keys());
        REM_TRY(visit(root_));
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
        all_.places.add(at);
        return value - all_.heap.base;
    }
    void pointer(object_place pointer) override {
        if (is_finding_parts_)
            return;
        const auto to = add(pointer.at);
        if (!to)
            return;
        const std::uint32_t row = reader_.row(pointer.row).parts.front().type;
        if (all_.seen.insert(*to, first_type_ + row))
            targets_.push_back({row, *to});
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
    const root_with_schema& of_;
    const types::type_description& schema_;
    const object_place root_;
    object_reader reader_;
    reference_walk walk_;
    std::vector<object_place> targets_; // of pointers, still to be visited
    std::vector<object_place> visited_; // whole objects
    const std::uint32_t first_type_;
    bool is_finding_parts_ = false;
};

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
            if (is_used_address(heap, all.blocks, value) && !all.places.contains(at))
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
    findings all(heap, std::move(blocks));
    if (heap.header == nullptr)
        return std::move(all.places);
    auto roots = roots_with_schema(heap);
    if (!roots)
        return roots.error();
    std::uint32_t types = 0;
    std::vector<std::unique_ptr<root_pointers>> walks;
    for (const root_with_schema& root : *roots) {
        if (root.position_independent)
            continue;
        if (!root.schema)
            return fail(errc::not_supported,
                        "the root \"" + root.name + "\" is a " + root.type + ", whose members are not known",
                        heap.path);
        walks.push_back(std::make_unique<root_pointers>(all, root, types));
        types += static_cast<std::uint32_t>(root.schema->rows.size());
        REM_TRY(walks.back()->run());
    }
    std::sort(all.parts.begin(), all.parts.end(),
              [](const part_of_object& a, const part_of_object& b) { return a.at < b.at; });
    for (auto each = walks.begin(); each != walks.end() && !all.parts.empty(); ++each)
        REM_TRY((*each)->find_parts());
    for (const part_of_object& each : all.parts) {
        if (!each.type.empty())
            all.doubt(all.blocks.index_of(each.at), each.object);
    }
    REM_TRY(refuse_doubts(all));
    return std::move(all.places);
}

result<pointer_places> words_like_pointers(const heap_to_read& heap, const std::vector<heap_range>& blocks) {
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
                places.add(at);
        }
    }
    return places;
}

} // namespace remanence::inspect
