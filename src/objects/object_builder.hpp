// Makes objects in the memory of an open heap by their schema, without the program that has their types: numbers,
// texts, and containers of each shape (types/detail/shape.hpp), with the layout of this library and of libstdc++.
//
//  OB1  The builder writes only into blocks that it has allocated, whatever a sound schema says.
//  OB2  Elements are made at their final place, and never move. So the number of a container's elements must be known
//       first.
//  OB3  A shape is made only if its size, and the place of its allocator, are the ones known here. Otherwise the result
//       is errc::not_supported.
#pragma once

#include "base/result.hpp"
#include "objects/object_source.hpp"
#include "txn/heap_memory.hpp"
#include "types/root_directory.hpp"

#include <remanence/types/detail/key_functions.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace remanence::objects {

/// What decides the place of a key in a container. For a number, computed from its value in the destination's type.
struct key_to_place {
    std::uint64_t hash = 0; // computed with the container's seed; equals what the container's own hash function returns
};

/// Fills one container, which must be empty. Elements are added in their final order.
class container_filler {
public:
    container_filler() = default;
    container_filler(const container_filler&) = delete;
    container_filler& operator=(const container_filler&) = delete;
    virtual ~container_filler() = default;
    /// True if add() needs the hash of the next key; the caller must compute it with seed().
    [[nodiscard]] virtual bool wants_hash() const { return false; }
    [[nodiscard]] virtual std::uint64_t seed() const { return 0; }
    /// Called if all keys come unchanged from a container with the same order. Then made() need not compare them.
    virtual void trust_order() {}
    /// Returns the place where the next element must be made. Must be called once for each of the elements that were
    /// counted for begin().
    virtual result<element_place> add(std::uint64_t hash) = 0;
    /// Must be called when the element from add() is complete. errc::invalid_argument if its key is a duplicate or out
    /// of order.
    virtual result<void> made() { return {}; }
    virtual result<void> finish() { return {}; }
};

/// The functions that decide the places of keys.
enum class key_function { less, greater, seeded, standard_hash, own };
/// Returns the function that decides the places of keys in a container. `own` means a function of the program, or an
/// operator of a class of the program.
[[nodiscard]] key_function function_of_keys(const types::type_description& schema, std::uint32_t row);
/// Returns the name of the comparator, or the names of hash and equality. For templates of the standard library and of
/// this one, it leaves out the arguments, which follow from the key. Returns an empty text if the container has no
/// keys.
[[nodiscard]] std::string names_of_key_functions(const types::type_description& schema, std::uint32_t row);
/// Return the hash of a text, or of a number that is not real. Precondition: `function` hashes, and is not `own`.
[[nodiscard]] std::uint64_t hash_of_text(key_function function, std::string_view text, std::uint64_t seed);
[[nodiscard]] std::uint64_t hash_of_number(key_function function, std::uint64_t bits, std::uint64_t seed);
[[nodiscard]] bool is_ordered(const types::type_row& container);
using inspect::has_several_of_a_key;
/// Compares two adjacent keys by the program's order. Returns "a key that …" if they are out of order, and otherwise an
/// empty text.
[[nodiscard]] std::string_view fault_of_order(const detail::key_functions& by, bool has_several, const void* before,
                                              const void* next);

class object_builder {
public:
    /// The functions for containers whose comparator or hash is the program's own. A container without an entry here is
    /// errc::not_supported.
    struct program_functions {
        bool trusts_order = false; // the order is not checked, because row_matching has proven it
        std::span<const detail::key_functions> known = {};
    };
    object_builder(txn::heap_memory& memory, const types::type_description& schema, program_functions functions);

    [[nodiscard]] const types::type_description& schema() const { return schema_; }
    [[nodiscard]] const types::type_row& row(std::uint32_t index) const { return schema_.rows[index]; }
    [[nodiscard]] txn::heap_memory& memory() { return memory_; }
    /// Returns a source for the objects made so far.
    [[nodiscard]] heap_source& built() { return built_; }

    /// Allocates a block of zeros and returns its offset. errc::exhausted.
    result<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment);
    /// Allocates a block with room for an object of this row and `behind` more bytes.
    result<std::uint64_t> allocate_object(std::uint32_t row, std::uint64_t behind = 0);

    /// Returns the bits of a number in this row; nothing if its value is out of range.
    [[nodiscard]] std::optional<std::uint64_t> bits_for(std::uint32_t row, const scalar& value) const;
    /// Writes a number. Returns false if its value is out of range.
    [[nodiscard]] bool put_number(object_place to, const scalar& value);
    result<void> put_text(object_place to, std::string_view text);
    /// Writes an array of characters. Returns false if the text is too long.
    [[nodiscard]] bool put_characters(object_place to, std::string_view text);
    /// Returns the size of the block that a text of this row needs; 0 if the text lies in the object.
    [[nodiscard]] static std::uint64_t block_of_text(const types::type_row& is, std::uint64_t bytes);
    /// Writes whether an optional has a value, or the alternative that a variant holds; 255 means none.
    void put_mark(object_place to, unsigned char mark) { at(to.at + row(to.row).numbers[0])[0] = std::byte{mark}; }
    void put_bytes(std::uint64_t to, const std::byte* from, std::uint64_t count) { std::memcpy(at(to), from, count); }
    void put_address(std::uint64_t at, std::uint64_t to) { put_word(at, to == 0 ? 0 : base_ + to); }

    /// Returns why a container of this row cannot be made; nothing if it can.
    [[nodiscard]] std::optional<std::string> why_not(std::uint32_t row) const;
    /// Makes an empty container that can be filled with `count` elements. Precondition: why_not() returns nothing.
    result<std::unique_ptr<container_filler>> begin(object_place container, std::uint64_t count);

    [[nodiscard]] key_function function_of(std::uint32_t row) const; // computed once
    /// Returns the program's functions for a container that needs them; null if the program gave none.
    [[nodiscard]] const detail::key_functions* functions_of(std::uint32_t row) const;
    /// True if keys contain pointers. Their order can be checked only when all pointers are valid.
    [[nodiscard]] bool has_pointers_in_keys(std::uint32_t row) const;

    // For fillers.

    /// Returns the key and the value of a packed map's record, as put_text() last got them. Such a record has no place
    /// until it is complete.
    [[nodiscard]] const std::array<std::string, 2>& texts_of_record() const { return texts_of_record_; }

    [[nodiscard]] std::byte* at(std::uint64_t offset) const { return memory_.base() + offset; }
    void put_word(std::uint64_t at, std::uint64_t value);
    [[nodiscard]] std::uint64_t word(std::uint64_t at) const;
    /// Writes a distance; 0 means null.
    void put_link(std::uint64_t at, std::uint64_t to) { put_word(at, to == 0 ? 0 : to - at); }
    [[nodiscard]] std::uint64_t size_of(std::uint32_t row) { return built_.reader().size_of(row); }
    /// The layout of an element as one object, which is a pair in maps. `mapped` is 0 in sets.
    struct layout {
        std::uint64_t bytes, alignment;
    };
    [[nodiscard]] layout element_of(const types::type_row& container, std::uint64_t mapped);
    [[nodiscard]] element_place element_at(const types::type_row& container, std::uint64_t at,
                                           std::uint64_t mapped) const;
    /// Returns the address at which the heap is mapped.
    [[nodiscard]] std::uint64_t base() const { return base_; }

private:
    txn::heap_memory& memory_;
    const types::type_description& schema_;
    types::memory_bytes bytes_;
    std::uint64_t base_;
    bool trusts_order_;
    std::map<std::string, const detail::key_functions*> known_; // by the name of the container's type
    heap_source built_;
    std::array<std::string, 2> texts_of_record_;
    mutable std::map<std::uint32_t, key_function> functions_;
};

} // namespace remanence::objects
