// Lists all differences between a stored root and the type that the program asks for, for the message that refuses the
// root. Linked only into programs that migrate roots.
#include "objects/conversion.hpp"
#include "objects/migration.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <string>
#include <string_view>

namespace remanence::types {

namespace {

constexpr std::size_t k_changes_shown_max = 32;

std::string listed(const std::vector<objects::type_change>& changes, bool is_automatic) {
    std::string text;
    std::size_t count = 0;
    for (const objects::type_change& each : changes) {
        if (each.is_automatic == is_automatic && count++ < k_changes_shown_max)
            text += (text.empty() ? "" : "; ") + each.what;
    }
    if (count > k_changes_shown_max)
        text += "; and " + std::to_string(count - k_changes_shown_max) + " more";
    return text;
}

std::string changes_of(txn::heap_memory& memory, std::string_view name, const detail::type_fingerprint& type) {
    memory_bytes bytes(memory);
    const auto root = root_directory(memory).look_up(name);
    const auto schemas = read_schemas(bytes, memory.path(), memory.header().type_table);
    if (!root || !*root || !schemas)
        return {};
    const auto was = schema_of(*schemas, (*root)->fingerprint_hash, (*root)->fingerprint_algorithm, memory.path());
    const auto is = objects::schema_of_program(type);
    if (!was || !*was || !is)
        return {};
    objects::row_matching rows(**was, *is);
    const bool is_possible = rows.match((*was)->root, is->root);
    const std::string automatic = listed(rows.changes(), true);
    const std::string others = listed(rows.changes(), false);
    if (others.starts_with("it was ")) // the types are of different kinds altogether
        return {};
    const std::string how =
        "heap_options::migrate = rem::migrations().to<" + type.name + ">(\"" + std::string(name) + "\")";
    std::string text;
    if (!automatic.empty())
        text += " Automatic changes: " + automatic + '.';
    if (!others.empty())
        text += " Changes that a function has to make: " + others + '.';
    return text + " To convert the root, open the heap with " + how +
           (is_possible ? "." : ".migrate<Old, New>(function).");
}

[[maybe_unused]] const bool k_is_known = (changes_of_root = changes_of, true);

} // namespace

} // namespace remanence::types

namespace remanence::objects {

void link_root_changes() noexcept {}

} // namespace remanence::objects
