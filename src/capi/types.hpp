// Structs that C programs describe. They are in a table of the process, under their names in the program ("struct
// account"). Programs that describe no struct do not link this code.
#pragma once

#include "api/heap_impl.hpp"
#include "base/checksum.hpp"
#include "types/root_directory.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

namespace remanence::capi {

/// The prefix in the names of C roots' types; the name of a C++ type never begins with it.
inline constexpr std::string_view k_prefix_of_types = "C ";
inline constexpr std::uint64_t k_seed_of_types = 0x43;
/// Returns the hash for a root whose type is not described. `type` begins with the prefix.
[[nodiscard]] inline std::uint64_t hash_of_undescribed(std::string_view type) {
    return checksum64(std::as_bytes(std::span(type)), k_seed_of_types);
}

class described_types {
public:
    described_types() = default;
    described_types(const described_types&) = delete;
    described_types& operator=(const described_types&) = delete;

    /// Returns a described struct as the type of a root; null if the struct is not described. The result lives as long
    /// as the process. If a struct to which its pointers point is described later, only later results name that struct.
    /// Throws std::bad_alloc. O(log structs), or O(members) if a struct was described since the last call.
    [[nodiscard]] virtual const detail::type_fingerprint* find(std::string_view name) const = 0;
    /// Throws errc::invalid_argument if the object does not fill its block, because no schema would describe the bytes
    /// behind the object.
    virtual void check_alone(const txn::heap_memory& memory, const void* object,
                             const detail::type_fingerprint& type) const = 0;
    /// Records this type for the root. If the root was set before its type was described, the next commit stores the
    /// type. Throws errc::type_mismatch. Must be called in a section.
    virtual void know(detail::heap_impl& impl, const types::root_view& root,
                      const detail::type_fingerprint& type) const = 0;
    /// Stores the schema of a type in the heap. The caller holds the write lock.
    virtual void store(detail::heap_impl& impl, const detail::type_fingerprint& type) const = 0;
    /// True if the root exists, and has another type than this one. If the root was set before its type was described,
    /// the next commit stores the type. Throws errc::type_mismatch for the root of a C++ program, and for a root that
    /// shares its block with another object. Must be called in a section.
    [[nodiscard]] virtual bool is_to_migrate(detail::heap_impl& impl, std::string_view root,
                                             const detail::type_fingerprint& type) const = 0;

protected:
    ~described_types() = default;
};
/// Null until the first struct is described.
extern std::atomic<const described_types*> all_described; // NOLINT: process-wide

/// Returns the name that schemas use: "account" for "struct account".
[[nodiscard]] constexpr std::string_view name_in_schema(std::string_view type) {
    constexpr std::string_view k_struct = "struct ";
    return type.starts_with(k_struct) ? type.substr(k_struct.size()) : type;
}

} // namespace remanence::capi
