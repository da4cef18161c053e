// The program's own conversions: functions from one class to the next, selected by the stored type.
#pragma once

#include "base/result.hpp"
#include "types/type_description.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace remanence::objects {

class row_matching;

/// A conversion as the program registers it.
struct conversion_step {
    const detail::type_fingerprint& was;
    const detail::type_fingerprint& is;
    const std::function<void(const void*, void*)>& fill; // may throw
    std::function<void(void*)> destroy;                  // destroys an object of the type `is`
};

struct prepared_step {
    const conversion_step* given;
    types::type_description was;
    types::type_description is;
    /// Matches the two types, without members that have pointers.
    std::unique_ptr<row_matching> rows;
};
using step_chain = std::vector<const prepared_step*>;

/// Returns the schema of a type as the program has it; nothing if it is too large for one.
std::optional<types::type_description> schema_of_program(const detail::type_fingerprint& type);

/// The condition for two enumerations: they have the same enumerators, the newer one may have more, or any.
enum class enumerators { same, more, any };

/// Describes a difference between the memory layouts of objects of two rows; nothing if there is none. Names of classes
/// and enumerations do not count, since a program that has both versions of a class uses another name for one of them.
/// O(rows).
std::optional<std::string> layout_difference(const types::type_description& was, std::uint32_t was_row,
                                             const types::type_description& is, std::uint32_t is_row,
                                             enumerators which = enumerators::same);

/// True if an enumeration has all enumerators of the older one, with the same values.
bool has_all_enumerators(const types::type_row& was, const types::type_row& is);

/// True if keys of both rows are the same: classes of the same name and the same layout; the newer enumerations may
/// have more enumerators. Then a function of the program returns the same for both. O(rows).
bool is_same_key(const types::type_description& was, std::uint32_t was_row, const types::type_description& is,
                 std::uint32_t is_row);

/// True if an object of this row contains a pointer, itself or in what it holds.
bool has_pointer(const types::type_description& schema, std::uint32_t row);

class step_table {
public:
    step_table() = default;
    step_table(const step_table&) = delete;
    step_table& operator=(const step_table&) = delete;
    ~step_table();
    /// Prepares the steps, which must outlive this object. errc::not_supported.
    result<void> prepare(std::span<const conversion_step> steps);
    [[nodiscard]] bool is_empty() const { return steps_.empty(); }

    struct found {
        step_chain chain = {};               // from first to last; empty: no steps lead from one row to the other
        std::optional<std::string> why = {}; // why no chain is found, although steps lead to this row
    };
    /// Returns the shortest chain.
    [[nodiscard]] found find(const types::type_description& from, std::uint32_t from_row,
                             const types::type_description& to, std::uint32_t to_row) const;

private:
    std::list<prepared_step> steps_; // a list, so that addresses stay valid
};

} // namespace remanence::objects
