// Roots: named, typed objects. Everything else in a heap is reached from them.
//
// The directory lies in the heap, so it is committed and rolled back with everything else.
#pragma once

#include "base/result.hpp"
#include "format/root_directory.hpp"
#include "txn/heap_memory.hpp"
#include "types/root_reader.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace remanence::types {

struct root_view {
    std::string_view name;
    std::string_view type;
    void* object;
    std::uint64_t bytes;
    std::uint64_t fingerprint_hash;
    std::uint32_t fingerprint_algorithm;
    bool position_independent; // as stated by the program that made the root
};

/// Says whether find() accepts a root whose type differs from the requested one only in the names of members.
enum class renamed_members { refused, accepted };

/// Says whether look_up() returns a root whose object was freed, and lies behind the end of the heap now.
enum class freed_objects { refused, accepted };

/// The fingerprint in an entry.
struct stored_fingerprint {
    std::uint64_t hash;
    std::uint32_t algorithm;
    friend bool operator==(const stored_fingerprint&, const stored_fingerprint&) = default;
};

struct found_root {
    void* object; // null if there is no such root
    /// Set if the root has the requested type, but its fingerprint uses an older algorithm or members are renamed. Call
    /// renew() then.
    std::optional<stored_fingerprint> outdated;
};

/// The memory of an open heap.
class memory_bytes final : public types::heap_bytes {
public:
    explicit memory_bytes(txn::heap_memory& memory) : memory_(memory) {}
    [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t bytes) const override;
    result<std::byte*> at(std::uint64_t offset, std::uint64_t bytes) override;
    result<std::optional<heap_range>> block_around(std::uint64_t offset) override;
    [[nodiscard]] std::uint64_t block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const override;

private:
    txn::heap_memory& memory_;
};

class root_directory {
public:
    explicit root_directory(txn::heap_memory& memory)
        : memory_(memory), bytes_(memory), reader_(bytes_, memory.path()) {}
    root_directory(const root_directory&) = delete;
    root_directory& operator=(const root_directory&) = delete;

    /// Finds a root. O(log roots). Errors: errc::type_mismatch: the root has another type; the message names both
    /// types, or the member that differs. errc::corrupt.
    result<found_root> find(std::string_view name, const detail::type_fingerprint& type, renamed_members renamed) const;
    /// Adds a root. Precondition: there is no such root. Errors: errc::exhausted, errc::unnameable_type.
    result<void> add(std::string_view name, const detail::type_fingerprint& type, void* object);
    /// Replaces a root's fingerprint by the present one of its type. Does nothing if the root's fingerprint is no
    /// longer `outdated`, or the root is gone. Error: errc::exhausted.
    result<void> renew(std::string_view name, const stored_fingerprint& outdated, const detail::type_fingerprint& type);
    /// Returns the root of this name, whatever its type; nothing if there is none. O(log roots). Error: errc::corrupt.
    result<std::optional<root_view>> look_up(std::string_view name, freed_objects freed = freed_objects::refused) const;
    /// Gives a root another object, and perhaps another type. The former object stays allocated. Precondition: the root
    /// exists. Error: errc::exhausted.
    result<void> replace(std::string_view name, const detail::type_fingerprint& type, void* object);
    /// Removes a root. Its object stays allocated. Precondition: the root exists.
    result<void> erase(std::string_view name);
    /// Visits all roots, sorted by name. Error: errc::corrupt.
    result<void> for_each(const std::function<void(const root_view&)>& visit) const;
    /// Fails with errc::corrupt if the description of a root's type is damaged. O(roots).
    result<void> check_descriptions() const;

private:
    struct position {
        std::uint64_t index;
        bool found;
    };
    result<format::root_directory*> directory() const; // null if there is none yet
    result<format::root_directory*> directory_or_new();
    result<void> grow(format::root_directory& of);
    result<position> search(const format::root_directory& d, std::string_view name) const;
    struct entry_place {
        format::root_directory* in;
        std::uint64_t index;
    };
    /// Precondition: the root exists.
    result<entry_place> place_of(std::string_view name) const;
    [[nodiscard]] root_view view_of(const root_entry_view& entry) const;
    result<void*> allocate(std::uint64_t bytes);
    /// Allocates an entry for the object at this offset, with this type.
    result<void*> make_entry(std::string_view name, const detail::type_fingerprint& type, std::uint64_t object,
                             std::uint32_t flags);

    txn::heap_memory& memory_;
    memory_bytes bytes_;
    root_reader reader_;
};

} // namespace remanence::types
