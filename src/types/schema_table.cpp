#include "types/schema_table.hpp"

#include "base/units.hpp"
#include "format/schema_table.hpp"
#include "types/root_directory.hpp"
#include "types/type_difference.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace remanence::types {

namespace {

bool has_table(heap_bytes& heap, std::uint64_t offset) {
    return offset >= k_page_bytes && is_aligned(offset, alignof(std::uint64_t)) &&
           heap.contains(offset, sizeof(format::schema_table));
}

bool fits(heap_bytes& heap, std::uint64_t offset, const format::schema_table& head) {
    return head.bytes <= format::k_schemas_bytes_max && heap.contains(offset, head.bytes) &&
           sizeof head + std::uint64_t{head.count} * sizeof(format::schema_entry) <= head.bytes;
}

/// Nothing when it is damaged, or of a later layout.
std::optional<std::vector<stored_schema>> entries_of(const std::byte* table) {
    const auto& head = *reinterpret_cast<const format::schema_table*>(table);
    const auto* const entries = reinterpret_cast<const format::schema_entry*>(table + sizeof head);
    const char* at = reinterpret_cast<const char*>(entries + head.count);
    const char* const end = reinterpret_cast<const char*>(table) + head.bytes;
    std::vector<stored_schema> all;
    all.reserve(head.count);
    for (std::uint32_t i = 0; i != head.count; ++i) {
        const format::schema_entry& each = entries[i];
        if (each.schema_bytes > k_schema_bytes_max || each.schema_bytes > static_cast<std::uint64_t>(end - at))
            return {};
        all.push_back({each.fingerprint_hash, each.fingerprint_algorithm, each.shapes, each.classes_hash,
                       {at, each.schema_bytes}});
        at += each.schema_bytes;
    }
    return all;
}

/// Of an open heap; null: there is none that can be read.
const format::schema_table* table_of(txn::heap_memory& memory) {
    memory_bytes bytes(memory);
    const std::uint64_t offset = memory.header().type_table;
    if (offset == 0 || !has_table(bytes, offset))
        return nullptr;
    const auto* const head = reinterpret_cast<const format::schema_table*>(memory.base() + offset);
    const bool is_known = head->magic == format::k_schemas_magic && head->version == format::k_schemas_version;
    return is_known && fits(bytes, offset, *head) ? head : nullptr;
}

std::optional<std::string> change_of_classes(const format::schema_table& table, const detail::type_fingerprint& type) {
    const auto all = entries_of(reinterpret_cast<const std::byte*>(&table));
    if (!all)
        return {};
    auto stored = schema_of(*all, type.hash, type.algorithm, {});
    if (!stored || !*stored)
        return {};
    detail::structure_writer out;
    type.structure(out);
    auto is = type_description::decode(std::move(out).schema(), row_contents::schema);
    if (!is)
        return {};
    const auto difference = difference_between(with_own_members(std::move(**stored)), with_own_members(std::move(*is)));
    return difference ? std::optional(difference->what) : std::nullopt;
}

} // namespace

result<std::vector<stored_schema>> read_schemas(heap_bytes& heap, const std::string& path, std::uint64_t offset) {
    const auto damaged = [&] {
        return fail(errc::corrupt,
                    "the type table of " + path + " is damaged at heap offset " + std::to_string(offset) +
                        ". The roots can be used nevertheless; the next program that opens them for writing renews it.",
                    path);
    };
    if (offset == 0)
        return std::vector<stored_schema>();
    if (!has_table(heap, offset))
        return damaged();
    auto head = heap.at(offset, sizeof(format::schema_table));
    if (!head)
        return head.error();
    const format::schema_table read = *reinterpret_cast<const format::schema_table*>(*head);
    if (read.magic != format::k_schemas_magic)
        return damaged();
    if (read.version != format::k_schemas_version)
        return std::vector<stored_schema>();
    if (!fits(heap, offset, read))
        return damaged();
    auto whole = heap.at(offset, read.bytes);
    if (!whole)
        return whole.error();
    auto all = entries_of(*whole);
    if (!all)
        return damaged();
    return std::move(*all);
}

result<std::optional<type_description>> schema_of(const std::vector<stored_schema>& all, std::uint64_t hash,
                                                  std::uint32_t algorithm, const std::string& path) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const stored_schema& each) {
        return each.hash == hash && each.algorithm == algorithm;
    });
    if (found == all.end())
        return std::optional<type_description>();
    auto schema = type_description::decode(found->encoded, row_contents::schema);
    if (!schema || !is_sound_schema(*schema)) {
        return fail(errc::corrupt,
                    "a schema in the type table of " + path +
                        " is damaged. The roots can be used nevertheless; restore the heap from a copy to look inside.",
                    path);
    }
    return schema;
}

type_description with_own_members(type_description schema) {
    for (type_row& row : schema.rows) {
        if (row.shape != detail::shape_kind::members || row.fields.empty())
            continue;
        row.kind = type_kind::members;
        row.parts = std::move(row.fields);
    }
    return schema;
}

known_schema look_up_schema(txn::heap_memory& memory, const detail::type_fingerprint& type) {
    const format::schema_table* const table = table_of(memory);
    if (table == nullptr)
        return {};
    const auto* const entries = reinterpret_cast<const format::schema_entry*>(table + 1);
    const auto* const found =
        std::lower_bound(entries, entries + table->count, type, [](const format::schema_entry& e, const auto& wanted) {
            return std::tie(e.fingerprint_hash, e.fingerprint_algorithm) < std::tie(wanted.hash, wanted.algorithm);
        });
    if (found == entries + table->count || found->fingerprint_hash != type.hash ||
        found->fingerprint_algorithm != type.algorithm)
        return {};
    if (found->classes_hash != 0 && type.classes_hash != 0 && found->classes_hash != type.classes_hash)
        return {.has_changed = change_of_classes(*table, type)};
    return {.is_stored = found->shapes > type.shapes ||
                         (found->shapes == type.shapes && found->classes_hash == type.classes_hash)};
}

result<void> store_schemas(txn::heap_memory& memory, std::span<const detail::type_fingerprint* const> types) {
    using key = std::pair<std::uint64_t, std::uint32_t>;
    std::vector<key> used;
    auto listed = root_directory(memory).for_each(
        [&](const root_view& root) { used.emplace_back(root.fingerprint_hash, root.fingerprint_algorithm); });
    REM_TRY(std::move(listed));
    std::sort(used.begin(), used.end());

    std::vector<stored_schema> kept;
    std::vector<std::string> made;
    made.reserve(types.size()); // views of them stay valid
    for (const detail::type_fingerprint* const type : types) {
        detail::structure_writer out;
        type->structure(out);
        made.push_back(std::move(out).schema());
        if (made.back().empty() || !std::binary_search(used.begin(), used.end(), key(type->hash, type->algorithm)))
            continue;
        kept.push_back({type->hash, type->algorithm, type->shapes, type->classes_hash, made.back()});
    }
    if (kept.empty())
        return {};
    const format::schema_table* const old = table_of(memory);
    if (old != nullptr) {
        const auto before = entries_of(reinterpret_cast<const std::byte*>(old));
        const std::size_t added = kept.size();
        for (const stored_schema& each : before ? *before : std::vector<stored_schema>()) {
            const bool is_new = std::any_of(kept.data(), kept.data() + added, [&](const stored_schema& other) {
                return other.hash == each.hash && other.algorithm == each.algorithm;
            });
            if (!is_new && std::binary_search(used.begin(), used.end(), key(each.hash, each.algorithm)))
                kept.push_back(each);
        }
    }
    std::sort(kept.begin(), kept.end(), [](const stored_schema& a, const stored_schema& b) {
        return std::tie(a.hash, a.algorithm) < std::tie(b.hash, b.algorithm);
    });

    format::schema_table head{format::k_schemas_magic, format::k_schemas_version,
                              static_cast<std::uint32_t>(kept.size()), sizeof head};
    for (const stored_schema& each : kept)
        head.bytes += sizeof(format::schema_entry) + each.encoded.size();
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
    for (const stored_schema& each : kept) {
        *entry++ = {each.hash, each.algorithm, each.shapes, each.classes_hash,
                    static_cast<std::uint32_t>(each.encoded.size())};
        text = std::copy(each.encoded.begin(), each.encoded.end(), text);
    }
    std::fill(text, reinterpret_cast<char*>(block + whole), '\xff');
    format::heap_header& header = memory.header();
    REM_TRY(memory.announce(&header.type_table, sizeof header.type_table));
    header.type_table = memory.offset_of(block);
    if (old != nullptr) {
        memory.deallocate(const_cast<format::schema_table*>(old), // NOLINT(cppcoreguidelines-pro-type-const-cast): ours
                          align_up(old->bytes, sizeof(std::uint64_t)), alignof(std::uint64_t));
    }
    return {};
}

} // namespace remanence::types
