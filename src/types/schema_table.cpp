// The operations that an open heap needs on its schema: look up a type, and store it. Kept small, because every program
// links it.
#include "types/schema_table.hpp"

#include "base/units.hpp"
#include "types/root_directory.hpp"
#include "types/schema_entries.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace remanence::types {

namespace {

/// Returns the table of an open heap; null if there is none, or none that can be read.
const format::schema_table* table_of(txn::heap_memory& memory) {
    memory_bytes bytes(memory);
    const std::uint64_t offset = memory.header().type_table;
    if (offset == 0 || !may_be_table(bytes, offset))
        return nullptr;
    const auto* const head = reinterpret_cast<const format::schema_table*>(memory.base() + offset);
    const bool is_known = head->magic == format::k_schemas_magic && head->version == format::k_schemas_version;
    return is_known && fits(bytes, offset, *head) ? head : nullptr;
}

bool is_of(const format::schema_entry& entry, const detail::type_fingerprint& type) {
    return entry.fingerprint_hash == type.hash && entry.fingerprint_algorithm == type.algorithm;
}

/// Makes the heap's header refer to another table, or to none (0). Frees `old`.
result<void> lead_to(txn::heap_memory& memory, std::uint64_t offset, const format::schema_table* old) {
    format::heap_header& header = memory.header();
    REM_TRY(memory.declare(&header.type_table, sizeof header.type_table));
    header.type_table = offset;
    if (old != nullptr) {
        memory.deallocate(const_cast<format::schema_table*>(old), // NOLINT(cppcoreguidelines-pro-type-const-cast): ours
                          align_up(old->bytes, sizeof(std::uint64_t)), alignof(std::uint64_t));
    }
    return {};
}

} // namespace

known_schema look_up_schema(txn::heap_memory& memory, const detail::type_fingerprint& type) {
    known_schema known;
    const format::schema_table* const table = table_of(memory);
    if (table == nullptr)
        return known;
    const format::schema_entry* const end = entries_of(*table) + table->count;
    const format::schema_entry* const found =
        std::find_if(entries_of(*table), end, [&](const format::schema_entry& each) { return is_of(each, type); });
    if (found == end)
        return known;
    known.is_stored =
        found->shapes > type.shapes || (found->shapes == type.shapes && found->classes_hash == type.classes_hash);
    // Entries of older releases have no hash of enumerators.
    const class_comparer compare = change_of_classes.load(std::memory_order_relaxed);
    if (type.classes_hash != 0 && found->classes_hash != type.classes_hash && compare != nullptr) {
        class_change change = compare(*table, type);
        known.has_changed = std::move(change.what);
        known.only_names = change.only_names;
        known.is_stored = known.is_stored || change.knows_more_stored;
    }
    return known;
}

std::string schema_of_program(const detail::type_fingerprint& type) {
    if (type.structure == nullptr)
        return type.schema;
    detail::structure_writer out;
    type.structure(out);
    return std::move(out).schema();
}

result<void> store_schemas(txn::heap_memory& memory, std::span<const detail::type_fingerprint* const> types) {
    std::vector<schema_to_store> made;
    std::vector<std::string> texts;
    texts.reserve(types.size()); // so that views of the texts stay valid
    for (const detail::type_fingerprint* const type : types) {
        texts.push_back(schema_of_program(*type));
        made.push_back({{type->hash, type->algorithm, type->shapes, type->classes_hash,
                         static_cast<std::uint32_t>(texts.back().size())},
                        texts.back()});
    }
    return store_encoded_schemas(memory, made);
}

result<void> store_encoded_schemas(txn::heap_memory& memory, std::span<const schema_to_store> made) {
    const bool has_classes = memory.header().class_table != 0; // whose schemas are kept, besides those of roots
    std::vector<std::uint64_t> used;                           // hashes of the fingerprints of roots
    auto listed =
        root_directory(memory).for_each([&](const root_view& root) { used.push_back(root.fingerprint_hash); });
    REM_TRY(std::move(listed));
    const auto is_used = [&](std::uint64_t hash) {
        return has_classes || std::find(used.begin(), used.end(), hash) != used.end();
    };

    std::vector<schema_to_store> kept;
    for (const schema_to_store& each : made) {
        if (!each.encoded.empty() && is_used(each.entry.fingerprint_hash))
            kept.push_back(each);
    }
    const format::schema_table* const old = table_of(memory);
    if (old != nullptr) {
        schema_texts texts(*old);
        for (const format::schema_entry* each = entries_of(*old); each != entries_of(*old) + old->count; ++each) {
            const auto encoded = texts.next(*each);
            const bool is_renewed = std::any_of(made.begin(), made.end(), [&](const schema_to_store& other) {
                return each->fingerprint_hash == other.entry.fingerprint_hash &&
                       each->fingerprint_algorithm == other.entry.fingerprint_algorithm;
            });
            if (encoded && !is_renewed && is_used(each->fingerprint_hash))
                kept.push_back({*each, *encoded});
        }
    }

    if (kept.empty())
        return old == nullptr ? result<void>() : lead_to(memory, 0, old);
    if (made.empty() && old != nullptr && kept.size() == old->count)
        return {};
    format::schema_table head{format::k_schemas_magic, format::k_schemas_version,
                              static_cast<std::uint32_t>(kept.size()), sizeof head};
    for (const schema_to_store& each : kept)
        head.bytes += sizeof each.entry + each.encoded.size();
    if (head.bytes > format::k_schemas_bytes_max)
        return {};
    const std::uint64_t whole = align_up(head.bytes, sizeof(std::uint64_t));
    std::optional<unexpected> why;
    auto* const block = static_cast<std::byte*>(memory.allocate(whole, alignof(std::uint64_t), why));
    if (block == nullptr)
        return std::move(*why);
    std::memcpy(block, &head, sizeof head);
    auto* entry = reinterpret_cast<format::schema_entry*>(block + sizeof head);
    auto* text = reinterpret_cast<char*>(entry + kept.size());
    for (const schema_to_store& each : kept) {
        *entry++ = each.entry;
        text = std::copy(each.encoded.begin(), each.encoded.end(), text);
    }
    std::fill(text, reinterpret_cast<char*>(block + whole), '\xff');
    return lead_to(memory, memory.offset_of(block), old);
}

} // namespace remanence::types
