// Reads objects of a heap by their schema, without the program that has their types: finds the parts of objects and the
// elements of containers. Only this class and element_cursor know how each shape of types/detail/shape.hpp is read.
//
// Objects are input here. Each address is checked to lie in the heap before it is followed. The number of elements
// visited is limited, since no heap has more elements than bytes; so circular links do not lead to an endless loop.
#pragma once

#include "base/result.hpp"
#include "inspect/row_forms.hpp"
#include "inspect/row_layout.hpp"
#include "types/heap_bytes.hpp"
#include "types/type_description.hpp"

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::inspect {

/// The place of the value of an optional or a variant.
struct held_place : object_place {
    std::uint32_t alternative = 0; // for a variant, counted from 0
};

/// The place of an element of a container.
struct element_place {
    object_place value; // for a set, its key
    bool has_key = false;
    object_place key; // for a map
};

/// Converts the result of the last call of a visitor.
inline result<void> ended(result<bool> visited) { return visited ? result<void>() : visited.error(); }

/// How deep objects may be nested; a container and its elements count as two levels.
inline constexpr unsigned k_depth_max = 1000;

class object_reader {
public:
    /// `base` is the heap's recorded address, `bytes` the heap's size. `moves` increases whenever heap_bytes::at() makes
    /// all addresses invalid that it returned before. All arguments must outlive the reader.
    object_reader(types::heap_bytes& heap, const std::string& path, std::uint64_t base, std::uint64_t bytes,
                  const types::type_description& schema, const std::uint64_t& moves = k_never_moves)
        : heap_(heap),
          path_(path),
          base_(base),
          bytes_max_(bytes),
          schema_(schema),
          moves_(moves),
          budget_(16 * bytes) {}

    [[nodiscard]] const types::type_row& row(std::uint32_t index) const { return schema_.rows[index]; }
    [[nodiscard]] const types::type_description& schema() const { return schema_; }
    [[nodiscard]] types::heap_bytes& heap() { return heap_; }
    /// Returns the size of an object of this row; 0 if it is not known.
    [[nodiscard]] std::uint64_t size_of(std::uint32_t row) const { return inspect::size_of(schema_, row); }
    /// Returns inspect::rest_of(), computed once for each row.
    [[nodiscard]] const std::vector<byte_range>& rest_of(std::uint32_t row) const;
    /// True if objects of this row have bytes outside of known members that a dump must write: those of bit-fields, and
    /// those that a class leaves out.
    [[nodiscard]] bool has_rest(std::uint32_t row) const;
    /// Returns the bytes of all ranges of rest_of(), joined. Bytes from offset `room` of the object on are returned as
    /// 0. Valid until the next call.
    result<std::string_view> rest(object_place of, std::uint64_t room = k_all_room);

    /// Visits the elements in the container's order, until `visit` returns false or fails. Precondition:
    /// is_container(). errc::corrupt.
    using visit_element = std::function<result<bool>(const element_place&)>;
    result<void> for_each_element(object_place container, const visit_element& visit);
    [[nodiscard]] bool is_container(std::uint32_t row) const { return inspect::is_container(schema_.rows[row]); }
    [[nodiscard]] bool is_map(std::uint32_t row) const { return inspect::is_map(schema_.rows[row]); }
    /// Returns one of the row's members; nothing if it is a bit-field whose place is not known.
    [[nodiscard]] std::optional<object_place> member(object_place of, const types::type_part& part) const {
        const std::vector<types::type_part>& members = *members_of(schema_.rows[of.row]);
        return place_of_member(schema_.rows[of.row], members, static_cast<std::size_t>(&part - members.data()), of.at);
    }
    /// From now on for_each_element() fails with errc::limit_reached after so many elements in all.
    void limit_steps(std::uint64_t steps) {
        budget_ = steps;
        is_limited_ = true;
    }
    /// Returns the number of elements that the container itself keeps. In a damaged heap, for_each_element() may visit
    /// another number. Precondition and errors are those of for_each_element(). O(1); O(elements) for containers that
    /// keep no count.
    result<std::uint64_t> count(object_place container);
    /// Elements that are contiguous in memory.
    struct run {
        std::uint64_t first, count;
    };
    /// True if containers of this row store their elements contiguously; run_of() returns their place. errc::corrupt.
    [[nodiscard]] bool has_run(std::uint32_t row) const;
    result<run> run_of(object_place container);
    /// From now on for_each_element() also passes to `listener` the memory that deques, B-trees and hash tables use for
    /// elements only. Bytes there that belong to no element have no value.
    using tell_memory = std::function<void(std::uint64_t begin, std::uint64_t bytes)>;
    void listen(tell_memory listener) { listener_ = std::move(listener); }
    /// Returns the beginning of the memory that a vector or a text has allocated for its elements or characters; 0 if
    /// it has none. errc::corrupt.
    result<std::uint64_t> memory_of(object_place of);

    /// Returns the text of an object that is_text(), or the bytes of a serialised one. Valid as long as the heap's
    /// memory.
    result<std::string_view> text(object_place of);
    /// Returns the value of an optional or a variant; nothing if it is empty.
    result<std::optional<held_place>> held(object_place of);
    /// Returns the heap offset to which the address at a place of an object leads; 0 for null. errc::corrupt.
    result<std::uint64_t> address_at(std::uint64_t at, object_place of);
    /// Returns the target of a pointer; 0 for null. Checks that the target lies in the heap.
    result<std::uint64_t> target(object_place pointer);
    result<const std::byte*> bytes(std::uint64_t at, std::uint64_t count) {
        if (near_.have(at, count) && near_.moves == moves_)
            return near_.bytes + (at - near_.begin);
        return bytes_from_heap(at, count);
    }

    /// Returns the error for an object that contradicts its schema.
    [[nodiscard]] unexpected damaged(object_place where, std::string_view what) const;
    /// Returns errc::not_supported, for an object with a part that no text can express.
    [[nodiscard]] unexpected cannot_carry(object_place where, std::string_view what) const;
    /// Returns errc::not_supported, for an object that is nested more than k_depth_max levels deep.
    [[nodiscard]] unexpected too_deep(object_place where) const;
    /// Returns errc::limit_reached, for a call that has used up its steps in this object.
    [[nodiscard]] unexpected out_of_steps(object_place where) const;

private:
    friend class element_cursor;
    static constexpr std::uint64_t k_never_moves = 0;
    static constexpr std::uint64_t k_word = 8;
    /// The elements of std::vector<bool> are bits, which have no address. A bit that is 0 gets this place; one that is
    /// 1 gets the next. Both lie behind every heap, and bytes() finds a 0 or a 1 there.
    static constexpr std::uint64_t k_place_of_bits = ~std::uint64_t{0} - 64;

    result<const std::byte*> bytes_from_heap(std::uint64_t at, std::uint64_t count);
    template <class T>
    result<T> word(std::uint64_t at) {
        auto found = bytes(at, sizeof(T));
        if (!found)
            return found.error();
        T value;
        std::memcpy(&value, *found, sizeof value);
        return value;
    }
    result<std::uint64_t> followed(std::uint64_t address, object_place from);
    /// Returns the offset to which a link leads; 0 for null.
    result<std::uint64_t> linked(std::uint64_t at);
    result<void> count_one(object_place of);
    void tell(std::uint64_t begin, std::uint64_t bytes) {
        if (listener_)
            listener_(begin, bytes);
    }
    /// Returns the count that a container keeps; nothing if it keeps none.
    result<std::optional<std::uint64_t>> stated_count(object_place container);
    result<bool> give(object_place container, std::uint64_t at, std::uint64_t mapped, const visit_element& visit);
    /// Returns the element of a container of this row at a heap offset. `mapped` is the offset of the mapped value in the
    /// element; 0 if there is none.
    [[nodiscard]] element_place element_at(std::uint32_t container, std::uint64_t at, std::uint64_t mapped) const;
    [[nodiscard]] std::uint64_t address_of(std::uint64_t at) const { return base_ + at; }
    [[nodiscard]] std::uint64_t bytes_max() const { return bytes_max_; }

    /// `mapped`: see give().
    result<void> contiguous(object_place of, std::uint64_t first, std::uint64_t count, std::uint64_t bytes_each,
                            std::uint64_t mapped, const visit_element& visit);
    struct deque_numbers {
        std::uint64_t begin, end, in_block;
    };
    result<void> deque(object_place of, const deque_numbers& numbers, const visit_element& visit);
    /// Offsets of the parts of a node of a binary tree.
    struct tree_numbers {
        std::uint64_t left, right, element, mapped;
    };
    result<void> binary_tree(object_place of, std::uint64_t root, const tree_numbers& numbers,
                             const visit_element& visit);
    struct bit_range {
        std::uint64_t at, first, count; // the first bit is counted from that byte
    };
    result<bit_range> range_of_bits(object_place of);
    /// Returns the place that stands for a bit. Precondition: index < range_of_bits().count.
    result<std::uint64_t> place_of_bit(const bit_range& range, std::uint64_t index);
    result<void> bits(object_place of, const visit_element& visit);
    result<void> packed(object_place of, const visit_element& visit);
    result<bool> packed_leaf(object_place of, object_place leaf, const visit_element& visit);
    result<void> foreign(object_place of, const visit_element& visit);
    /// Returns the distance between the elements of a foreign_way::run.
    [[nodiscard]] std::uint64_t bytes_of_foreign_element(std::uint32_t container) const;
    result<void> foreign_ring(object_place of, const visit_element& visit);
    result<void> foreign_pointers(object_place of, const visit_element& visit);
    result<void> foreign_buckets(object_place of, const visit_element& visit);
    /// Returns the place of a container's header, which the row's numbers from index `number` on describe.
    result<std::uint64_t> foreign_header(object_place of, std::size_t number);
    struct text_range {
        std::uint64_t first, bytes;
    };
    result<text_range> range_of_text(object_place of);
    result<text_range> range_of_link(object_place of);
    result<text_range> range_in_record(object_place of);
    result<text_range> range_of_foreign(object_place of);
    result<void> list(object_place of, const visit_element& visit);
    result<void> tree(object_place of, const visit_element& visit);
    result<void> btree(object_place of, const visit_element& visit);
    result<bool> btree_node(object_place of, std::uint64_t node, unsigned height, const visit_element& visit);
    result<void> hash_table(object_place of, const visit_element& visit);

    types::heap_bytes& heap_;
    const std::string& path_;
    std::uint64_t base_;
    std::uint64_t bytes_max_;
    const types::type_description& schema_;
    const std::uint64_t& moves_;
    std::uint64_t budget_;
    bool is_limited_ = false; // the budget is that of limit_steps()
    tell_memory listener_;
    mutable std::vector<std::optional<std::vector<byte_range>>> rests_; // for each row, computed when needed
    std::string gathered_;                                              // the result of rest()
    /// The pages that were read last. Most objects that are read next lie in them, and need no new check.
    struct {
        const std::byte* bytes = nullptr;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::uint64_t moves = 0; // moves_ at that time
        [[nodiscard]] bool have(std::uint64_t at, std::uint64_t count) const {
            return at >= begin && at <= end && count <= end - at;
        }
    } near_;
};

} // namespace remanence::inspect
