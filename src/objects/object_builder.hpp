// Makes objects in the memory of an open heap by their schema, without the program that has their types: numbers,
// texts, and containers of each shape (types/detail/shape.hpp), with the layout of this library and of libstdc++.
//
//  OB1  It writes only into blocks that it has allocated: no sound schema can lead it elsewhere.
//  OB2  Elements are made where they stay, and never move. So the number of a container's elements must be known first.
//  OB3  A shape is made only if its size, and the place of its allocator, are the ones known here; else
//       errc::not_supported.
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

/// The properties of a key that decide its place. For a number: its value in the destination's type.
struct key_to_place {
    std::uint64_t hash = 0; // with the container's seed; the same as the container's own function returns
};

/// Fills one container, which is empty before. Elements are added in their order.
class container_filler {
public:
    container_filler() = default;
    container_filler(const container_filler&) = delete;
    container_filler& operator=(const container_filler&) = delete;
    virtual ~container_filler() = default;
    /// True if add() needs the hash of the next key; it must be computed with seed().
    [[nodiscard]] virtual bool wants_hash() const { return false; }
    [[nodiscard]] virtual std::uint64_t seed() const { return 0; }
    /// Returns the place where the next element must be made. Call it as often as begin() was told.
    virtual result<element_place> add(std::uint64_t hash) = 0;
    /// Call it when the element from add() is complete. errc::invalid_argument if its key exists already, or is out of
    /// order.
    virtual result<void> made() { return {}; }
    virtual result<void> finish() { return {}; }
};

/// The functions that decide the places of keys.
enum class key_function { less, greater, seeded, standard_hash, own };
/// Returns the function of a container with keys. `own`: a function of the program, or an operator of a class of the
/// program.
[[nodiscard]] key_function function_of_keys(const types::type_description& schema, std::uint32_t row);
/// Returns the names of the comparator, or of the hash and the equality. Templates of the standard library and of this
/// one are named without their arguments, which follow from the key. Empty if the container has no keys.
[[nodiscard]] std::string names_of_key_functions(const types::type_description& schema, std::uint32_t row);
[[nodiscard]] bool is_ordered(const types::type_row& container);
using inspect::has_several_of_a_key;
/// Checks a key that follows another one against the program's order. Returns "a key that …"; empty if the order is
/// right.
[[nodiscard]] std::string_view fault_of_order(const detail::key_functions& by, bool has_several, const void* before,
                                              const void* next);

class object_builder {
public:
    /// The functions for containers whose comparator or hash is the program's own; a container that is missing here is
    /// errc::not_supported.
    struct program_functions {
        bool trusts_order = false; // the order is not checked; row_matching has proven it
        std::span<const detail::key_functions> known = {};
    };
    object_builder(txn::heap_memory& memory, const types::type_description& schema, program_functions functions);

    [[nodiscard]] const types::type_description& schema() const { return schema_; }
    [[nodiscard]] const types::type_row& row(std::uint32_t index) const { return schema_.rows[index]; }
    [[nodiscard]] txn::heap_memory& memory() { return memory_; }
    /// Returns the objects made so far.
    [[nodiscard]] heap_source& built() { return built_; }

    /// Allocates a block of zeros; returns its offset. errc::exhausted.
    result<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment);
    /// Allocates a block for an object of this row, and so many bytes behind it.
    result<std::uint64_t> allocate_object(std::uint32_t row, std::uint64_t behind = 0);

    /// Returns nothing if the value is out of the row's range.
    [[nodiscard]] std::optional<std::uint64_t> bits_for(std::uint32_t row, const scalar& value) const;
    /// Returns false if the value is out of range.
    [[nodiscard]] bool put_number(object_place to, const scalar& value);
    result<void> put_text(object_place to, std::string_view text);
    /// Returns false if the text is too long.
    [[nodiscard]] bool put_characters(object_place to, std::string_view text);
    /// Returns the size of the block that a text of this row takes; 0 if it lies in the object.
    [[nodiscard]] static std::uint64_t block_of_text(const types::type_row& is, std::uint64_t bytes);
    /// Writes the mark of an optional, or the alternative that a variant holds; 255: none.
    void put_mark(object_place to, unsigned char mark) { at(to.at + row(to.row).numbers[0])[0] = std::byte{mark}; }
    void put_bytes(std::uint64_t to, const std::byte* from, std::uint64_t count) { std::memcpy(at(to), from, count); }
    void put_address(std::uint64_t at, std::uint64_t to) { put_word(at, to == 0 ? 0 : base_ + to); }

    /// Returns why a container of this row cannot be made here; nothing if it can.
    [[nodiscard]] std::optional<std::string> why_not(std::uint32_t row) const;
    /// Makes the container empty, and ready for `count` elements. Precondition: why_not() returns nothing.
    result<std::unique_ptr<container_filler>> begin(object_place container, std::uint64_t count);

    [[nodiscard]] key_function function_of(std::uint32_t row) const; // computed once
    /// Returns the program's functions for a container that needs them; null if they are not known.
    [[nodiscard]] const detail::key_functions* functions_of(std::uint32_t row) const;
    /// True if keys contain pointers, so that their order can only be checked when all pointers are valid.
    [[nodiscard]] bool has_pointers_in_keys(std::uint32_t row) const;

    // For fillers.

    /// Returns the texts that put_text() got last for the key and the value of a packed map's record, which has no
    /// place until it is complete.
    [[nodiscard]] const std::array<std::string, 2>& texts_of_record() const { return texts_of_record_; }

    [[nodiscard]] std::byte* at(std::uint64_t offset) const { return memory_.base() + offset; }
    void put_word(std::uint64_t at, std::uint64_t value);
    [[nodiscard]] std::uint64_t word(std::uint64_t at) const;
    /// Writes a distance; 0 is null.
    void put_link(std::uint64_t at, std::uint64_t to) { put_word(at, to == 0 ? 0 : to - at); }
    [[nodiscard]] std::uint64_t size_of(std::uint32_t row) { return built_.reader().size_of(row); }
    /// The layout of an element as one object; in maps a pair. `mapped`: 0 in sets.
    struct layout {
        std::uint64_t bytes, alignment;
    };
    [[nodiscard]] layout element_of(const types::type_row& container, std::uint64_t mapped);
    [[nodiscard]] element_place element_at(const types::type_row& container, std::uint64_t at,
                                           std::uint64_t mapped) const;
    /// Returns the heap's address.
    [[nodiscard]] std::uint64_t base() const { return base_; }

private:
    txn::heap_memory& memory_;
    const types::type_description& schema_;
    types::memory_bytes bytes_;
    std::uint64_t base_;
    bool trusts_order_;
    std::map<std::string, const detail::key_functions*> known_; // by the container's name
    heap_source built_;
    std::array<std::string, 2> texts_of_record_;
    mutable std::map<std::uint32_t, key_function> functions_;
};

} // namespace remanence::objects
