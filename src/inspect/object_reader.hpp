// Reads objects of a heap by its schema, without the program that has their types: what an object consists of, and where the
// elements of containers are. It knows the shapes of types/detail/shape.hpp.
//
// Objects are input here: each address is checked to lie in the heap before it is followed, and what leads in a circle comes to
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

/// What an optional or a variant holds.
struct held_place : object_place {
    std::uint32_t alternative = 0; // of a variant, from 0
};

/// One of a container.
struct element_place {
    object_place value; // in sets the key
    bool has_key = false;
    object_place key; // of a map
};

/// Of a visit that was the last one.
inline result<void> ended(result<bool> visited) { return visited ? result<void>() : visited.error(); }

/// Objects may lie so many levels deep in each other; a container and its elements are two levels.
inline constexpr unsigned k_depth_max = 1000;

class object_reader {
public:
    /// `base`: the heap's recorded address. `bytes`: of the heap. All must outlive it.
    object_reader(types::heap_bytes& heap, const std::string& path, std::uint64_t base, std::uint64_t bytes,
                  const types::type_description& schema)
        : heap_(heap), path_(path), base_(base), schema_(schema), budget_(16 * bytes), rests_(schema.rows.size()) {}

    [[nodiscard]] const types::type_row& row(std::uint32_t index) const { return schema_.rows[index]; }
    [[nodiscard]] const types::type_description& schema() const { return schema_; }
    [[nodiscard]] types::heap_bytes& heap() { return heap_; }
    /// Of an object of this row; 0 where it is not known.
    [[nodiscard]] std::uint64_t size_of(std::uint32_t row) const { return inspect::size_of(schema_, row); }
    /// inspect::rest_of(), worked out once.
    [[nodiscard]] const std::vector<byte_range>& rest_of(std::uint32_t row) const;
    /// True if it has such bytes, and they are told: of bit-fields, and of what a class leaves out.
    [[nodiscard]] bool has_rest(std::uint32_t row) const;
    /// These bytes of an object, one range behind the other; those from `room` on are told as 0. Valid until the next call.
    result<std::string_view> rest(object_place of, std::uint64_t room = k_all_room);

    /// Visits the elements in the container's order until `visit` returns false or fails. Precondition: is_container(). errc::corrupt.
    using visit_element = std::function<result<bool>(const element_place&)>;
    result<void> for_each_element(object_place container, const visit_element& visit);
    [[nodiscard]] bool is_container(std::uint32_t row) const { return inspect::is_container(schema_.rows[row]); }
    [[nodiscard]] bool is_map(std::uint32_t row) const { return inspect::is_map(schema_.rows[row]); }
    /// One of the row's members; nothing: a bit-field whose place is not known.
    [[nodiscard]] std::optional<object_place> member(object_place of, const types::type_part& part) const {
        const std::vector<types::type_part>& members = *members_of(schema_.rows[of.row]);
        return place_of_member(schema_.rows[of.row], members, static_cast<std::size_t>(&part - members.data()), of.at);
    }
    /// How many elements there are. Precondition and errors as for_each_element(). O(elements).
    result<std::uint64_t> count(object_place container);
    /// Elements that lie one behind the other.
    struct run {
        std::uint64_t first, count;
    };
    /// True if the elements of containers of this row are one run, and which. errc::corrupt.
    [[nodiscard]] bool has_run(std::uint32_t row) const;
    result<run> run_of(object_place container);
    /// From now on for_each_element() tells of memory that deques, B-trees and hash tables have for elements only: what is no element
    /// there has no value.
    using tell_memory = std::function<void(std::uint64_t begin, std::uint64_t bytes)>;
    void listen(tell_memory listener) { listener_ = std::move(listener); }
    /// Where the memory begins that a vector or a text has taken for its elements or characters; 0: it has none. errc::corrupt.
    result<std::uint64_t> memory_of(object_place of);

    /// Of what is_text(), or serialised. Valid as long as the heap's memory.
    result<std::string_view> text(object_place of);
    /// What an optional or a variant holds; nothing when it is empty.
    result<std::optional<held_place>> held(object_place of);
    /// Where a pointer leads; 0: null. The object of this row lies in the heap.
    result<std::uint64_t> target(object_place pointer);
    result<const std::byte*> bytes(std::uint64_t at, std::uint64_t count) {
        if (near_.have(at, count))
            return near_.bytes + (at - near_.begin);
        return bytes_from_heap(at, count);
    }

    /// Of an object that is not as its schema says.
    [[nodiscard]] unexpected damaged(object_place where, std::string_view what) const;
    /// errc::not_supported, of an object that has something which no text can have.
    [[nodiscard]] unexpected cannot_carry(object_place where, std::string_view what) const;
    /// errc::not_supported, of an object that lies more than k_depth_max levels deep in others.
    [[nodiscard]] unexpected too_deep(object_place where) const;

private:
    static constexpr std::uint64_t k_word = 8;
    /// Bits have no place of their own. An element of std::vector<bool> is told to lie behind all heaps, at 0 or 1 from here: its value.
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
    /// What follows a link: the offset, 0 for null.
    result<std::uint64_t> linked(std::uint64_t at);
    result<void> count_one(object_place of);
    void tell(std::uint64_t begin, std::uint64_t bytes) {
        if (listener_)
            listener_(begin, bytes);
    }
    result<bool> give(object_place container, std::uint64_t at, std::uint64_t mapped, const visit_element& visit);

    /// `mapped`: as give() has it.
    result<void> contiguous(object_place of, std::uint64_t first, std::uint64_t count, std::uint64_t bytes_each,
                            std::uint64_t mapped, const visit_element& visit);
    struct deque_numbers {
        std::uint64_t begin, end, in_block;
    };
    result<void> deque(object_place of, const deque_numbers& numbers, const visit_element& visit);
    /// A binary tree from its root's address on, whose links lead to nodes.
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
    /// Where a header lies that two numbers lead to, from this one on.
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
    mutable std::vector<std::optional<std::vector<byte_range>>> rests_; // by row, worked out once
    std::string gathered_;                                              // what rest() returns
    /// The pages of what was read last: most that comes next lies there, too, and need not be asked for.
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
