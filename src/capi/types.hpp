// Structs that C programs describe: a table of the process, by the name that is written in the program ("struct account"). It is a part: a
// program that describes none has none of its code.
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

/// What roots of C programs have in front of the names of their types, so that no C++ program has such a type.
inline constexpr std::string_view k_prefix_of_types = "C ";
inline constexpr std::uint64_t k_seed_of_types = 0x43;
/// Of a root of a type that nobody has described. `type` has the prefix.
[[nodiscard]] inline std::uint64_t hash_of_undescribed(std::string_view type) {
    return checksum64(std::as_bytes(std::span(type)), k_seed_of_types);
}

class described_types {
public:
    described_types() = default;
    described_types(const described_types&) = delete;
    described_types& operator=(const described_types&) = delete;

    /// Of a struct that is described, as a root's type; null: it is not. Lives as long as the process. Pointers to structs that are
    /// described later lead there in what is asked for after that. Throws std::bad_alloc. O(log structs), or O(members) when something was
    /// described since.
    [[nodiscard]] virtual const detail::type_fingerprint* find(std::string_view name) const = 0;
    /// Throws errc::invalid_argument when the object is not all that its block is for: what lies behind it would be known to nobody.
    virtual void check_alone(const txn::heap_memory& memory, const void* object,
                             const detail::type_fingerprint& type) const = 0;
    /// The root is to have this type; the next commit says so of one that was set before the type was described. Throws
    /// errc::type_mismatch. In a section.
    virtual void know(detail::heap_impl& impl, const types::root_view& root,
                      const detail::type_fingerprint& type) const = 0;
    /// With the write lock held.
    virtual void store(detail::heap_impl& impl, const detail::type_fingerprint& type) const = 0;
    /// True if the root is there, and of another type than this one. One that was set before the type was described gets it with the next
    /// commit. Throws errc::type_mismatch for the root of a C++ program, and for one that shares its block with something else. In a section.
    [[nodiscard]] virtual bool is_to_migrate(detail::heap_impl& impl, std::string_view root,
                                             const detail::type_fingerprint& type) const = 0;

protected:
    ~described_types() = default;
};
/// Set with the first struct that is described; null until then.
extern std::atomic<const described_types*> all_described; // NOLINT: process-wide

/// The name that schemas have: "account" of "struct account".
[[nodiscard]] constexpr std::string_view name_in_schema(std::string_view type) {
    constexpr std::string_view k_struct = "struct ";
    return type.starts_with(k_struct) ? type.substr(k_struct.size()) : type;
}

} // namespace remanence::capi
