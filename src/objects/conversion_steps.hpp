// What the program itself makes of objects of older types: functions from one class to the next, found by what is stored.
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

/// As the program gives it.
struct conversion_step {
    const detail::type_fingerprint& was;
    const detail::type_fingerprint& is;
    const std::function<void(const void*, void*)>& fill; // may throw
    std::function<void(void*)> destroy;                  // what `is` describes
};

struct prepared_step {
    const conversion_step* given;
    types::type_description was;
    types::type_description is;
    /// Of one to the other, without members that have pointers.
    std::unique_ptr<row_matching> rows;
};
using step_chain = std::vector<const prepared_step*>;

/// The schema of a type as the program has it; nothing: it is too large for one.
std::optional<types::type_description> schema_of_program(const detail::type_fingerprint& type);

/// Of two enumerations: must they have the same enumerators, may the newer one have more, or does it not matter?
enum class enumerators { same, more, any };

/// In what an object of one row lies otherwise in memory than one of the other; nothing: in nothing. Names of classes and enumerations do
/// not count, since a program that has both versions of a class has another name for one of them. O(rows).
std::optional<std::string> layout_difference(const types::type_description& was, std::uint32_t was_row,
                                             const types::type_description& is, std::uint32_t is_row,
                                             enumerators which = enumerators::same);

/// True if an enumeration has all enumerators of the older one, with the same values.
bool has_all_enumerators(const types::type_row& was, const types::type_row& is);

/// True if keys of one row are those of the other: classes of the same name that have the same layout; enumerations may have more
/// enumerators. Then a function of the program's says the same of both. O(rows).
bool is_same_key(const types::type_description& was, std::uint32_t was_row, const types::type_description& is,
                 std::uint32_t is_row);

/// True if a pointer lies in an object of this row, or in what that holds.
bool has_pointer(const types::type_description& schema, std::uint32_t row);

class step_table {
public:
    step_table() = default;
    step_table(const step_table&) = delete;
    step_table& operator=(const step_table&) = delete;
    ~step_table();
    /// errc::not_supported. `steps` must outlive it.
    result<void> prepare(std::span<const conversion_step> steps);
    [[nodiscard]] bool is_empty() const { return steps_.empty(); }

    struct found {
        step_chain chain = {};               // from first to last; empty: none leads from one row to the other
        std::optional<std::string> why = {}; // nothing is found, though steps lead to this row
    };
    /// The shortest one.
    [[nodiscard]] found find(const types::type_description& from, std::uint32_t from_row,
                             const types::type_description& to, std::uint32_t to_row) const;

private:
    std::list<prepared_step> steps_; // addresses stay
};

} // namespace remanence::objects
