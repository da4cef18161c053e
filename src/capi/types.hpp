// Structs that C programs describe: a table of the process, by their names in the program ("struct account"). Programs
// that describe no struct do not link it.
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

/// The prefix of the names of types of C roots, so that no C++ program has such a type.
inline constexpr std::string_view k_prefix_of_types = "C ";
inline constexpr std::uint64_t k_seed_of_types = 0x43;
/// Returns the hash for a root of a type that is not described. `type` has the prefix.
[[nodiscard]] inline std::uint64_t hash_of_undescribed(std::string_view type) {
    return checksum64(std::as_bytes(std::span(type)), k_seed_of_types);
}

class described_types {
public:
    described_types() = default;
    described_types(const described_types&) = delete;
    described_types& operator=(const described_types&) = delete;

    /// Returns a described struct as the type of a root; null if it is not described. It lives as long as the process.
    /// Pointers to structs that are described later lead to these only in later results. Throws std::bad_alloc. O(log
    /// structs), or O(members) if a struct was described since the last call.
    [[nodiscard]] virtual const detail::type_fingerprint* find(std::string_view name) const = 0;
    /// Throws errc::invalid_argument if the object does not fill its block: no schema would describe the bytes behind
    /// it.
    virtual void check_alone(const txn::heap_memory& memory, const void* object,
                             const detail::type_fingerprint& type) const = 0;
    /// Records this type for the root. If the root was set before the type was described, the next commit stores that.
    /// Throws errc::type_mismatch. To be called in a section.
    virtual void know(detail::heap_impl& impl, const types::root_view& root,
                      const detail::type_fingerprint& type) const = 0;
    /// The caller holds the write lock.
    virtual void store(detail::heap_impl& impl, const detail::type_fingerprint& type) const = 0;
    /// True if the root exists, and has another type than this one. A root that was set before the type was described
    /// gets the type with the next commit. Throws errc::type_mismatch for the root of a C++ program, and for one that
    /// shares its block with another object. To be called in a section.
    [[nodiscard]] virtual bool is_to_migrate(detail::heap_impl& impl, std::string_view root,
                                             const detail::type_fingerprint& type) const = 0;

protected:
    ~described_types() = default;
};
/// Set when the first struct is described; null until then.
extern std::atomic<const described_types*> all_described; // NOLINT: process-wide

/// Returns the name in schemas: "account" for "struct account".
[[nodiscard]] constexpr std::string_view name_in_schema(std::string_view type) {
    constexpr std::string_view k_struct = "struct ";
    return type.starts_with(k_struct) ? type.substr(k_struct.size()) : type;
}

} // namespace remanence::capi
