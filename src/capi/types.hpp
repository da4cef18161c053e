// Structs that C programs describe: a table of the process, by the name that is written in the program ("struct account").
#pragma once

#include <remanence/types/detail/fingerprint.hpp>

#include <string_view>

namespace remanence::capi {

/// What roots of C programs have in front of the names of their types, so that no C++ program has such a type.
inline constexpr std::string_view k_prefix_of_types = "C ";

/// Of a struct that is described, as a root's type; null: it is not. Lives as long as the process. Pointers to structs that are described
/// later lead there in what is asked for after that. Throws std::bad_alloc. O(log structs), or O(members) when something was described since.
[[nodiscard]] const detail::type_fingerprint* described_type(std::string_view name);

/// The name that schemas have: "account" of "struct account".
[[nodiscard]] constexpr std::string_view name_in_schema(std::string_view type) {
    constexpr std::string_view k_struct = "struct ";
    return type.starts_with(k_struct) ? type.substr(k_struct.size()) : type;
}

} // namespace remanence::capi
