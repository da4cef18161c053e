// Reads objects of a heap by its schema, without the program that has their types: their parts, and the places of
// containers' elements. It knows the shapes of types/detail/shape.hpp.
//
// Objects are input here: each address is checked to lie in the heap before it is followed. A circle of links comes to
// an end, since no heap has more elements than bytes.
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

/// The value of an optional or a variant.
struct held_place : object_place {
    std::uint32_t alternative = 0; // of a variant, from 0
};

/// An element of a container.
struct element_place {
    object_place value; // of a set: the key
    bool has_key = false;
    object_place key; // of a map
};

/// Returns the result of a visit that was the last one.
inline result<void> ended(result<bool> visited) { return visited ? result<void>() : visited.error(); }

/// The most levels in which objects may be nested; a container and its elements are two levels.
inline constexpr unsigned k_depth_max = 1000;

class object_reader {
public:
    /// `base`: the heap's recorded address. `bytes`: the heap's size. All arguments must outlive the reader.
    object_reader(types::heap_bytes& heap, const std::string& path, std::uint64_t base, std::uint64_t bytes,
                  const types::type_description& schema)
        : heap_(heap), path_(path), base_(base), schema_(schema), budget_(16 * bytes), rests_(schema.rows.size()) {}

    [[nodiscard]] const types::type_row& row(std::uint32_t index) const { return schema_.rows[index]; }
    [[nodiscard]] const types::type_description& schema() const { return schema_; }
    [[nodiscard]] types::heap_bytes& heap() { return heap_; }
    /// Returns the size of an object of this row; 0 if it is not known.
    [[nodiscard]] std::uint64_t size_of(std::uint32_t row) const { return inspect::size_of(schema_, row); }
    /// Returns inspect::rest_of(), which is computed once.
    [[nodiscard]] const std::vector<byte_range>& rest_of(std::uint32_t row) const;
    /// True if an object of this row has such bytes and they are written: those of bit-fields, and those that a class
    /// leaves out.
    [[nodiscard]] bool has_rest(std::uint32_t row) const;
    /// Returns these bytes of an object, one range behind the other; those from `room` on read as 0. Valid until the
    /// next call.
    result<std::string_view> rest(object_place of, std::uint64_t room = k_all_room);

    /// Visits the elements in the container's order until `visit` returns false or fails. Precondition: is_container().
    /// errc::corrupt.
    using visit_element = std::function<result<bool>(const element_place&)>;
    result<void> for_each_element(object_place container, const visit_element& visit);
    [[nodiscard]] bool is_container(std::uint32_t row) const { return inspect::is_container(schema_.rows[row]); }
    [[nodiscard]] bool is_map(std::uint32_t row) const { return inspect::is_map(schema_.rows[row]); }
    /// Returns one of the row's members; nothing if it is a bit-field whose place is not known.
    [[nodiscard]] std::optional<object_place> member(object_place of, const types::type_part& part) const {
        const std::vector<types::type_part>& members = *members_of(schema_.rows[of.row]);
        return place_of_member(schema_.rows[of.row], members, static_cast<std::size_t>(&part - members.data()), of.at);
    }
    /// Returns the number of elements. Precondition and errors as for_each_element(). O(elements).
    result<std::uint64_t> count(object_place container);
    /// Elements that are contiguous in memory.
    struct run {
        std::uint64_t first, count;
    };
    /// True if the elements of containers of this row are contiguous; run_of() says which. errc::corrupt.
    [[nodiscard]] bool has_run(std::uint32_t row) const;
    result<run> run_of(object_place container);
    /// From now on for_each_element() also reports the memory that deques, B-trees and hash tables use for elements
    /// only: there, bytes that belong to no element have no value.
    using tell_memory = std::function<void(std::uint64_t begin, std::uint64_t bytes)>;
    void listen(tell_memory listener) { listener_ = std::move(listener); }
    /// Returns the beginning of the memory that a vector or a text has taken for its elements or characters; 0 if it
    /// has none. errc::corrupt.
    result<std::uint64_t> memory_of(object_place of);

    /// Returns the text of an object that is_text(), or of one that is serialised. Valid as long as the heap's memory.
    result<std::string_view> text(object_place of);
    /// Returns the value of an optional or a variant; nothing if it is empty.
    result<std::optional<held_place>> held(object_place of);
    /// Returns the target of a pointer; 0 for null. The target's object of this row lies in the heap.
    result<std::uint64_t> target(object_place pointer);
    result<const std::byte*> bytes(std::uint64_t at, std::uint64_t count) {
        if (near_.have(at, count))
            return near_.bytes + (at - near_.begin);
        return bytes_from_heap(at, count);
    }

    /// Returns the error for an object that contradicts its schema.
    [[nodiscard]] unexpected damaged(object_place where, std::string_view what) const;
    /// Returns errc::not_supported, for an object with a part that no text can express.
    [[nodiscard]] unexpected cannot_carry(object_place where, std::string_view what) const;
    /// Returns errc::not_supported, for an object that is nested more than k_depth_max levels deep.
    [[nodiscard]] unexpected too_deep(object_place where) const;

private:
    static constexpr std::uint64_t k_word = 8;
    /// Bits have no address. An element of std::vector<bool> gets a place behind all heaps, at 0 or 1 from here: that
    /// is its value.
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
    /// Returns the offset that a link leads to; 0 for null.
    result<std::uint64_t> linked(std::uint64_t at);
    result<void> count_one(object_place of);
    void tell(std::uint64_t begin, std::uint64_t bytes) {
        if (listener_)
            listener_(begin, bytes);
    }
    result<bool> give(object_place container, std::uint64_t at, std::uint64_t mapped, const visit_element& visit);

    /// `mapped`: as in give().
    result<void> contiguous(object_place of, std::uint64_t first, std::uint64_t count, std::uint64_t bytes_each,
                            std::uint64_t mapped, const visit_element& visit);
    struct deque_numbers {
        std::uint64_t begin, end, in_block;
    };
    result<void> deque(object_place of, const deque_numbers& numbers, const visit_element& visit);
    /// Describes a binary tree by its root's address; links lead to nodes.
    struct tree_numbers {
        std::uint64_t left, right, element, mapped;
    };
    result<void> binary_tree(object_place of, std::uint64_t root, const tree_numbers& numbers,
                             const visit_element& visit);
    result<void> bits(object_place of, const visit_element& visit);
    result<void> packed(object_place of, const visit_element& visit);
    result<bool> packed_leaf(object_place of, object_place leaf, const visit_element& visit);
    result<void> foreign(object_place of, const visit_element& visit);
    result<void> foreign_ring(object_place of, const visit_element& visit);
    result<void> foreign_pointers(object_place of, const visit_element& visit);
    result<void> foreign_buckets(object_place of, const visit_element& visit);
    /// Returns the place of a header that two numbers lead to; `number` is the first of them.
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
    const types::type_description& schema_;
    std::uint64_t budget_;
    tell_memory listener_;
    mutable std::vector<std::optional<std::vector<byte_range>>> rests_; // by row, computed once
    std::string gathered_;                                              // the result of rest()
    /// The pages that were read last. Most objects that come next lie there, too, and need no new check.
    struct {
        const std::byte* bytes = nullptr;
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        [[nodiscard]] bool have(std::uint64_t at, std::uint64_t count) const {
            return at >= begin && at <= end && count <= end - at;
        }
    } near_;
};

} // namespace remanence::inspect
