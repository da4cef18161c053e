#include "inspect/described_words.hpp"

#include "base/units.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/shape_walk.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

constexpr std::uint64_t k_pointer_bytes = 8;

/// The words that hold_no_pointer() was asked about, and what has been decided about each.
class word_list {
public:
    explicit word_list(std::span<const types::word_in_block> words)
        : words_(words), known_(words.size(), verdict::unknown), unknown_(words.size()) {}

    [[nodiscard]] bool has_unknown() const { return unknown_ != 0; }
    /// True if a listed word has a byte in the range.
    [[nodiscard]] bool has_some_in(std::uint64_t begin, std::uint64_t end) const {
        const auto first = first_behind(begin);
        return first != words_.end() && first->at < end;
    }
    template <class Visit>
    void for_each_in(std::uint64_t begin, std::uint64_t end, const Visit& visit) const {
        for (auto each = first_behind(begin); each != words_.end() && each->at < end; ++each)
            visit(each->at);
    }

    // The functions from here to rest_holds_none() decide the listed words that have a byte in the range.

    /// Decides that each whole word in the range may hold a pointer. Words that lie there only in part hold none. A
    /// word may have been decided before, if the range overlaps the padding of a base class; then this decision
    /// replaces that one.
    void can_hold(std::uint64_t begin, std::uint64_t end) {
        decide(begin, end, [&](verdict known, std::uint64_t at) {
            if (known == verdict::unknown || (known == verdict::no_pointer && is_certain_))
                return is_whole(at, begin, end) ? verdict::pointer : verdict::no_pointer;
            return known;
        });
    }
    /// Does the same as can_hold(), but only for words that are still undecided.
    void rest_can_hold(std::uint64_t begin, std::uint64_t end) {
        decide(begin, end, [&](verdict known, std::uint64_t at) {
            if (known != verdict::unknown)
                return known;
            return is_whole(at, begin, end) ? verdict::pointer : verdict::no_pointer;
        });
    }
    /// Decides that the undecided words hold no pointer.
    void rest_holds_none(std::uint64_t begin, std::uint64_t end) {
        decide(begin, end, [](verdict known, std::uint64_t /*at*/) {
            return known == verdict::unknown ? verdict::no_pointer : known;
        });
    }
    /// Decides that the undecided words of the block that begins at `begin` hold no pointer.
    void rest_of_block_holds_none(std::uint64_t begin) {
        const auto first = first_behind(begin);
        if (first != words_.end() && first->block.offset == begin)
            rest_holds_none(begin, first->block.end());
    }

    /// From now on, a decided word is not decided anew (DW3).
    void keep_decided() { is_certain_ = false; }
    /// Until anywhere() is called, only words that lie in this range can be decided.
    void only_in(std::uint64_t begin, std::uint64_t end) { limit_ = {begin, end}; }
    void anywhere() { limit_ = k_no_limit; }

    [[nodiscard]] std::vector<bool> without_pointers() const {
        std::vector<bool> told(words_.size());
        for (std::size_t i = 0; i != told.size(); ++i)
            told[i] = known_[i] == verdict::no_pointer;
        return told;
    }

private:
    enum class verdict : char { unknown, no_pointer, pointer };
    using iterator = std::span<const types::word_in_block>::iterator;
    struct limit {
        std::uint64_t begin, end;
    };
    static constexpr limit k_no_limit{0, std::numeric_limits<std::uint64_t>::max()};

    static bool is_whole(std::uint64_t at, std::uint64_t begin, std::uint64_t end) {
        return at >= begin && end - at >= k_pointer_bytes;
    }
    [[nodiscard]] iterator first_behind(std::uint64_t begin) const {
        return std::partition_point(words_.begin(), words_.end(), [&](const types::word_in_block& each) {
            return each.at + k_pointer_bytes <= begin;
        });
    }
    template <class Decide>
    void decide(std::uint64_t begin, std::uint64_t end, const Decide& verdict_of) {
        if (begin >= end)
            return;
        for (auto each = first_behind(begin); each != words_.end() && each->at < end; ++each) {
            if (each->at < limit_.begin || each->at + k_pointer_bytes > limit_.end)
                continue;
            verdict& known = known_[static_cast<std::size_t>(each - words_.begin())];
            const verdict now = verdict_of(known, each->at);
            if (known == verdict::unknown && now != verdict::unknown)
                --unknown_;
            known = now;
        }
    }

    std::span<const types::word_in_block> words_;
    std::vector<verdict> known_;
    std::size_t unknown_;
    bool is_certain_ = true;
    limit limit_ = k_no_limit;
};

/// State of the walk: whether it follows pointers (DW3), and how many objects it may still visit. The number is
/// limited, because a dangling pointer may lead anywhere.
struct way {
    bool follows_pointers;
    std::uint64_t steps_left;
};

/// Visits the objects that one root leads to.
class root_objects {
public:
    root_objects(const heap_to_read& heap, const types::type_description& schema, word_list& words, way& how)
        : reader_(heap.bytes, heap.path, heap.base, heap.end, schema),
          heap_bytes_(heap.end),
          words_(words),
          path_(how),
          leads_on_(rows_that_lead_on(schema, how.follows_pointers)) {
        reader_.listen([this](std::uint64_t begin, std::uint64_t bytes) {
            if (words_.has_some_in(begin, begin + bytes))
                for_elements_only_.push_back({begin, bytes});
        });
    }

    void run(std::uint64_t object) {
        look({reader_.schema().root, object});
        while (goes_on()) {
            if (!containers_.empty()) {
                const object_place next = containers_.back();
                containers_.pop_back();
                look_into(next);
            } else if (!targets_.empty()) {
                const object_place next = targets_.back();
                targets_.pop_back();
                words_.only_in(next.at, next.at + reader_.size_of(next.row));
                look(next);
                words_.anywhere();
            } else {
                return;
            }
        }
    }

private:
    [[nodiscard]] bool goes_on() const { return words_.has_unknown() && path_.steps_left != 0; }

    /// Decides the words of one object. Precondition: the object lies in the heap.
    void look(object_place of) { // NOLINT(misc-no-recursion): no type contains itself by value
        const type_row& row = reader_.row(of.row);
        const std::uint64_t end = of.at + reader_.size_of(of.row);
        if (path_.steps_left != 0)
            --path_.steps_left;
        if (end == of.at || (!words_.has_some_in(of.at, end) && !leads_on(of.row)))
            return;
        switch (form_of(row)) {
        case form::pointer:
            words_.can_hold(of.at, end);
            return point_from(of);
        case form::number:
            return words_.rest_holds_none(of.at, end);
        case form::hidden:
            return is_told_by_bytes(row) ? words_.rest_holds_none(of.at, end) : words_.can_hold(of.at, end);
        case form::members:
            return look_at_members(of, hides_members(row));
        case form::array:
            look_at_run(row.parts[0].type, {of.at, extent_of(row)});
            // if the walk has stopped early, some elements were not visited
            return goes_on() ? words_.rest_holds_none(of.at, end) : void();
        case form::same:
        case form::optional:
        case form::variant: {
            const auto done = for_each_part(reader_, of, [&](const object_part& held) -> result<bool> {
                look(held.place);
                return true;
            });
            return done ? words_.rest_holds_none(of.at, end) : words_.can_hold(of.at, end);
        }
        case form::packed: // the leaves of a packed map contain only bytes
            look({row.parts[0].type, of.at});
            return words_.rest_holds_none(of.at, end);
        case form::text:
        case form::serialised:
            look_at_words(of, row, end);
            return own_memory(of);
        case form::sequence:
        case form::set:
        case form::map:
            look_at_words(of, row, end);
            return row.shape == shape_kind::bits ? own_memory(of) : containers_.push_back(of);
        }
    }
    /// Decides the words of a text or container itself, not those of its elements. Numbers among them hold no pointer.
    void look_at_words(object_place of, const type_row& row, std::uint64_t end) {
        const auto& n = row.numbers;
        switch (row.shape) {
        case shape_kind::packed_text:
            return;
        case shape_kind::text: // an allocator, an address, the length, and the characters of a short text
            words_.can_hold(of.at, of.at + n[0] + k_pointer_bytes);
            return words_.rest_holds_none(of.at, end);
        case shape_kind::text_by_link:
        case shape_kind::serialised:
            words_.rest_holds_none(of.at + n[0], of.at + n[0] + 3 * k_pointer_bytes);
            break;
        case shape_kind::tree: // a colour and padding hold no pointer
            words_.rest_holds_none(of.at + n[0], of.at + n[0] + k_pointer_bytes);
            break;
        case shape_kind::hash_chain: // a number of elements, a load factor with padding, another number
            if (n[0] + 5 * k_pointer_bytes <= row.size)
                words_.rest_holds_none(of.at + n[0] + k_pointer_bytes, of.at + n[0] + 4 * k_pointer_bytes);
            break;
        default:
            break;
        }
        words_.rest_can_hold(of.at, end);
    }
    // NOLINTNEXTLINE(misc-no-recursion): no type contains itself by value
    void look_at_members(object_place of, bool hides_some) {
        const type_row& row = reader_.row(of.row);
        for (const type_part& part : row.kind == type_kind::members ? row.parts : row.fields) {
            if (part.offset && !is_empty_class(reader_.row(part.type)))
                look({part.type, of.at + *part.offset});
        }
        const std::uint64_t end = of.at + reader_.size_of(of.row);
        if (hides_some)
            words_.rest_can_hold(of.at, end);
        else
            words_.rest_holds_none(of.at, end);
    }
    /// Visits only the elements that lead on or contain a listed word.
    void look_at_run(std::uint32_t row, object_reader::run elements) { // NOLINT(misc-no-recursion)
        const std::uint64_t size = reader_.size_of(row);
        const std::uint64_t first = elements.first;
        const auto element = [&](std::uint64_t index) { return object_place{row, first + index * size}; };
        if (leads_on(row)) {
            for (std::uint64_t i = 0; i != elements.count && goes_on(); ++i)
                look(element(i));
        } else if (size != 0) {
            words_.for_each_in(first, first + elements.count * size,
                               [&](std::uint64_t at) { // NOLINT(misc-no-recursion)
                                   const std::uint64_t behind =
                                       std::min((at + k_pointer_bytes - 1 - first) / size + 1, elements.count);
                                   for (std::uint64_t i = (std::max(at, first) - first) / size; i < behind; ++i)
                                       look(element(i));
                               });
        }
    }
    void look_into(object_place container) {
        if (reader_.has_run(container.row)) {
            const auto elements = reader_.run_of(container);
            const std::uint32_t element = reader_.row(container.row).parts[0].type;
            if (!elements || !lie_in_heap(*elements, reader_.size_of(element)))
                return;
            look_at_run(element, *elements);
            return own_memory(container);
        }
        for_elements_only_.clear();
        const auto done = reader_.for_each_element(container, [&](const element_place& each) -> result<bool> {
            look_at_element(each);
            return goes_on();
        });
        if (!done || !goes_on())
            return;
        for (const heap_range& each : for_elements_only_)
            words_.rest_holds_none(each.offset, each.end());
    }
    void look_at_element(const element_place& element) {
        look(element.value);
        if (!element.has_key)
            return;
        look(element.key);
        const std::uint64_t alignment = std::max(alignment_of(reader_.schema(), element.key.row),
                                                 alignment_of(reader_.schema(), element.value.row));
        const std::uint64_t bytes = element.value.at + reader_.size_of(element.value.row) - element.key.at;
        words_.rest_holds_none(element.key.at, element.key.at + align_up(bytes, alignment));
    }
    [[nodiscard]] bool lie_in_heap(object_reader::run elements, std::uint64_t size) const {
        return size != 0 && elements.count <= heap_bytes_ / size &&
               elements.first <= heap_bytes_ - elements.count * size;
    }
    /// Decides that the memory behind the last element or character holds no pointer.
    void own_memory(object_place of) {
        if (const auto begin = reader_.memory_of(of); begin && *begin != 0)
            words_.rest_of_block_holds_none(*begin);
    }
    void point_from(object_place pointer) {
        if (!path_.follows_pointers)
            return;
        const std::uint32_t to_row = reader_.row(pointer.row).parts.front().type;
        const auto to = reader_.target(pointer);
        if (to && *to != 0 && reader_.size_of(to_row) != 0 && seen_.emplace(*to, to_row).second)
            targets_.push_back({to_row, *to});
    }

    static bool is_empty_class(const type_row& row) {
        return row.kind == type_kind::object && row.shape == shape_kind::members && row.fields.empty() &&
               row.size < sizeof(std::uint64_t);
    }
    /// True if the class may have members other than those listed (DW2).
    [[nodiscard]] bool hides_members(const type_row& row) const {
        if (row.kind != type_kind::members)
            return !row.name.starts_with("std::pair<") && !row.name.starts_with("std::tuple<");
        return std::any_of(row.parts.begin(), row.parts.end(), [&](const type_part& part) {
            return part.offset ? reader_.size_of(part.type) == 0
                               : form_of(reader_.row(part.type)) != form::number; // references
        });
    }
    /// True if an object of this row refers to objects elsewhere.
    [[nodiscard]] bool leads_on(std::uint32_t index) const { return leads_on_[index] != 0; }

    object_reader reader_;
    std::uint64_t heap_bytes_;
    word_list& words_;
    way& path_;
    std::vector<char> leads_on_;                             // for each row: the result of leads_on()
    std::vector<object_place> containers_;                   // containers whose elements are still to be visited
    std::vector<object_place> targets_;                      // targets of pointers, still to be visited
    std::set<std::pair<std::uint64_t, std::uint32_t>> seen_; // targets already listed: place and row
    std::vector<heap_range> for_elements_only_;              // memory with nothing but the container's elements
};

} // namespace

std::vector<bool> hold_no_pointer(const heap_to_read& heap, std::span<const types::word_in_block> words) {
    word_list known(words);
    const auto roots = roots_with_schema(heap);
    way holding{false, std::numeric_limits<std::uint64_t>::max()};
    way pointing{true, heap.end / k_pointer_bytes};
    for (way* each : {&holding, &pointing}) {
        if (each->follows_pointers)
            known.keep_decided();
        for (std::size_t i = 0; roots && i != roots->size() && known.has_unknown(); ++i) {
            const root_with_schema& root = (*roots)[i];
            if (root.schema)
                root_objects(heap, *root.schema, known, *each).run(root.object);
        }
    }
    return known.without_pointers();
}

} // namespace remanence::inspect
