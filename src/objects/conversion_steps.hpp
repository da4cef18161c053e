// The program's own conversions: functions that make an object of one class from one of another.
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

/// A conversion that the program has registered.
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
    /// The match of the two types, without members that have pointers.
    std::unique_ptr<row_matching> rows;
};
using step_chain = std::vector<const prepared_step*>;

/// Returns the schema that the program has for a type; nothing if the type is too large for a schema.
std::optional<types::type_description> schema_of_program(const detail::type_fingerprint& type);

/// What is required of two enumerations: the same enumerators, at least those of the older one, or nothing.
enum class enumerators { same, more, any };

/// Returns a sentence about the first difference between the memory layouts of two rows; nothing if there is none.
/// Names of classes and enumerations may differ, since a program that has both versions of a class must rename one.
/// O(rows).
std::optional<std::string> layout_difference(const types::type_description& was, std::uint32_t was_row,
                                             const types::type_description& is, std::uint32_t is_row,
                                             enumerators which = enumerators::same);

/// True if the newer enumeration has all enumerators of the older one, with the same values.
bool has_all_enumerators(const types::type_row& was, const types::type_row& is);

/// True if keys of both rows have the same class names and the same layout; newer enumerations may have more
/// enumerators. Then a comparator or hash of the program returns the same for both. O(rows).
bool is_same_key(const types::type_description& was, std::uint32_t was_row, const types::type_description& is,
                 std::uint32_t is_row);

/// True if an object of this row, or one in it, contains a pointer.
bool has_pointer(const types::type_description& schema, std::uint32_t row);

class step_table {
public:
    step_table() = default;
    step_table(const step_table&) = delete;
    step_table& operator=(const step_table&) = delete;
    ~step_table();
    /// Prepares the steps. They must outlive this object. errc::not_supported.
    result<void> prepare(std::span<const conversion_step> steps);
    [[nodiscard]] bool is_empty() const { return steps_.empty(); }

    struct found {
        step_chain chain = {};               // from first to last; empty if no steps lead from one row to the other
        std::optional<std::string> why = {}; // why there is no chain, although some steps lead to this row
    };
    /// Returns the shortest chain of steps from one row to the other.
    [[nodiscard]] found find(const types::type_description& from, std::uint32_t from_row,
                             const types::type_description& to, std::uint32_t to_row) const;

private:
    std::list<prepared_step> steps_; // a list, so that addresses stay valid
};

} // namespace remanence::objects
