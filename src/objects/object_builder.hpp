// Makes objects in the memory of an open heap by their schema, without the program that has their types: numbers, texts, and containers
// of each shape (types/detail/shape.hpp) as the library and libstdc++ lay them out.
//
//  OB1  What it writes lies in blocks that it has allocated: a schema that is sound cannot lead it elsewhere.
//  OB2  Elements are made where they stay: nothing moves once it is made. So a container's number of elements is known before.
//  OB3  A shape is made only if its size, and where it keeps its allocator, are those that are known here; else errc::not_supported.
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

/// What is to be known of a key to find its place. Of a number its value as the destination has it.
struct key_to_place {
    std::uint64_t hash = 0; // with the container's seed, as its own function would give it
};

/// Fills one container, which is empty before. Elements come in their order.
class container_filler {
public:
    container_filler() = default;
    container_filler(const container_filler&) = delete;
    container_filler& operator=(const container_filler&) = delete;
    virtual ~container_filler() = default;
    /// True if add() needs the hash of the next key; then its seed is to be asked for.
    [[nodiscard]] virtual bool wants_hash() const { return false; }
    [[nodiscard]] virtual std::uint64_t seed() const { return 0; }
    /// Where the next element is to be made. Called as often as begin() was told.
    virtual result<element_place> add(std::uint64_t hash) = 0;
    /// The last element that add() gave is made. errc::invalid_argument: its key is there already, or out of order.
    virtual result<void> made() { return {}; }
    virtual result<void> finish() { return {}; }
};

/// How keys find their places.
enum class key_function { less, greater, seeded, standard_hash, own };
/// Of a container with keys. `own`: by a function of the program's, or by an operator of a class of the program's.
[[nodiscard]] key_function function_of_keys(const types::type_description& schema, std::uint32_t row);
/// The names of its comparator, or of its hash and equality. Templates of the standard's and the library's are without their arguments,
/// which follow from the key. Empty: it has no keys.
[[nodiscard]] std::string names_of_key_functions(const types::type_description& schema, std::uint32_t row);
[[nodiscard]] bool is_ordered(const types::type_row& container);
using inspect::has_several_of_a_key;
/// What is wrong with a key behind another one, in the order of the program: "a key that …". Empty: nothing.
[[nodiscard]] std::string_view fault_of_order(const detail::key_functions& by, bool has_several, const void* before,
                                              const void* next);

class object_builder {
public:
    /// How containers are made whose comparator or hash is the program's own; those that it does not say are errc::not_supported.
    struct program_functions {
        bool trusts_order = false; // it is taken as it comes, which row_matching has seen to
        std::span<const detail::key_functions> known = {};
    };
    object_builder(txn::heap_memory& memory, const types::type_description& schema, program_functions functions);

    [[nodiscard]] const types::type_description& schema() const { return schema_; }
    [[nodiscard]] const types::type_row& row(std::uint32_t index) const { return schema_.rows[index]; }
    [[nodiscard]] txn::heap_memory& memory() { return memory_; }
    /// What has been made.
    [[nodiscard]] heap_source& built() { return built_; }

    /// A block of zeros; its offset. errc::exhausted.
    result<std::uint64_t> allocate(std::uint64_t bytes, std::uint64_t alignment);
    /// For an object of this row, and so many bytes behind it.
    result<std::uint64_t> allocate_object(std::uint32_t row, std::uint64_t behind = 0);

    /// Nothing: the value is out of the row's range.
    [[nodiscard]] std::optional<std::uint64_t> bits_for(std::uint32_t row, const scalar& value) const;
    /// False: out of range.
    [[nodiscard]] bool put_number(object_place to, const scalar& value);
    result<void> put_text(object_place to, std::string_view text);
    /// False: it is too long.
    [[nodiscard]] bool put_characters(object_place to, std::string_view text);
    /// Bytes of the block that a text of this row takes; 0: it lies in the object.
    [[nodiscard]] static std::uint64_t block_of_text(const types::type_row& is, std::uint64_t bytes);
    /// Of an optional, or the alternative that a variant holds; 255: none.
    void put_mark(object_place to, unsigned char mark) { at(to.at + row(to.row).numbers[0])[0] = std::byte{mark}; }
    void put_bytes(std::uint64_t to, const std::byte* from, std::uint64_t count) { std::memcpy(at(to), from, count); }
    void put_address(std::uint64_t at, std::uint64_t to) { put_word(at, to == 0 ? 0 : base_ + to); }

    /// Why a container of this row cannot be made here; nothing: it can.
    [[nodiscard]] std::optional<std::string> why_not(std::uint32_t row) const;
    /// Precondition: why_not() is nothing. Makes it empty, and ready for `count` elements.
    result<std::unique_ptr<container_filler>> begin(object_place container, std::uint64_t count);

    [[nodiscard]] key_function function_of(std::uint32_t row) const; // worked out once
    /// Those of the program, of a container that needs them; null: they are not known.
    [[nodiscard]] const detail::key_functions* functions_of(std::uint32_t row) const;
    /// True if an order can be checked only when all pointers lead somewhere: keys have some.
    [[nodiscard]] bool has_pointers_in_keys(std::uint32_t row) const;

    // For fillers.

    /// What put_text() was given last for the key and the value of a packed map's record, which has no place before it is whole.
    [[nodiscard]] const std::array<std::string, 2>& texts_of_record() const { return texts_of_record_; }

    [[nodiscard]] std::byte* at(std::uint64_t offset) const { return memory_.base() + offset; }
    void put_word(std::uint64_t at, std::uint64_t value);
    [[nodiscard]] std::uint64_t word(std::uint64_t at) const;
    /// A distance; 0 is null.
    void put_link(std::uint64_t at, std::uint64_t to) { put_word(at, to == 0 ? 0 : to - at); }
    [[nodiscard]] std::uint64_t size_of(std::uint32_t row) { return built_.reader().size_of(row); }
    /// Of an element as one object, a pair in maps. `mapped`: 0 in sets.
    struct layout {
        std::uint64_t bytes, alignment;
    };
    [[nodiscard]] layout element_of(const types::type_row& container, std::uint64_t mapped);
    [[nodiscard]] element_place element_at(const types::type_row& container, std::uint64_t at,
                                           std::uint64_t mapped) const;
    /// The heap's address.
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
