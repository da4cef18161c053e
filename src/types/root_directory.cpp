#include "types/root_directory.hpp"

#include "base/assert.hpp"
#include "base/units.hpp"
#include "types/type_description.hpp"
#include "types/type_difference.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace remanence::types {

namespace {

constexpr std::uint64_t k_first_capacity = 8;

std::uint64_t* table_of(std::byte* base, const format::root_directory& d) {
    return reinterpret_cast<std::uint64_t*>(base + d.table);
}

/// Returns the entry's size, rounded up to whole words. So the rest of the last word belongs to the entry, which sets
/// it to zero: the word must not look like an address.
std::uint64_t entry_bytes(const format::root_entry& e) {
    return align_up(sizeof e + e.name_bytes + e.type_bytes + e.description_bytes, sizeof(std::uint64_t));
}

/// True if the hashes by algorithm 1 are equal. Algorithm 1 does not include layout numbers, which did not exist then.
bool matches_by_algorithm_1(const root_entry_view& root, const detail::type_fingerprint& type) {
    return root.fingerprint_algorithm == 1 && root.fingerprint_hash == type.hash_1 && root.bytes == type.size;
}

/// The advice that follows a sentence about a type other than the stored one.
constexpr const char* k_keep_both = " Ask for the stored type, or keep this one under another name or in another file.";

std::string of_other_type(const root_entry_view& root, const detail::type_fingerprint& type, const std::string& path) {
    const std::string likeness =
        root.type == type.name ? " The names are alike, but members or their types are not." : "";
    return "the root \"" + std::string(root.name) + "\" of " + path + " is stored as " + std::string(root.type) + " (" +
           std::to_string(root.bytes) + " bytes), not as " + type.name + " (" + std::to_string(type.size) + " bytes)." +
           likeness + k_keep_both;
}

std::string of_changed_type(const root_entry_view& root, const std::string& path, const std::string& what) {
    return "the type " + std::string(root.type) + " of the root \"" + std::string(root.name) + "\" of " + path +
           " has changed: " + what + '.';
}

} // namespace

bool memory_bytes::contains(std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t end = memory_.accessible_bytes();
    return bytes <= end && offset <= end - bytes;
}

result<std::byte*> memory_bytes::at(std::uint64_t offset, std::uint64_t) { return memory_.base() + offset; }

result<std::optional<heap_range>> memory_bytes::block_around(std::uint64_t offset) {
    const auto found = memory_.block_of(memory_.base() + offset);
    return found ? std::optional(heap_range{memory_.offset_of(found->start), found->bytes}) : std::nullopt;
}

std::uint64_t memory_bytes::block_bytes_for(std::uint64_t bytes, std::uint64_t alignment) const {
    return memory_.block_bytes_for(bytes, alignment);
}

result<format::root_directory*> root_directory::directory() const {
    return reader_.directory(memory_.header().root_word);
}

result<root_directory::position> root_directory::search(const format::root_directory& d, std::string_view name) const {
    std::uint64_t low = 0;
    std::uint64_t high = d.count;
    while (low < high) {
        std::uint64_t middle = low + (high - low) / 2;
        auto root = reader_.any_entry(d, middle);
        if (!root)
            return root.error();
        int order = root->name.compare(name);
        if (order == 0)
            return position{middle, true};
        (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
    }
    return position{low, false};
}

result<found_root> root_directory::find(std::string_view name, const detail::type_fingerprint& type,
                                        renamed_members renamed) const {
    auto d = directory();
    if (!d)
        return d.error();
    if (*d == nullptr)
        return found_root{};
    auto where = search(**d, name);
    if (!where)
        return where.error();
    if (!where->found)
        return found_root{};
    auto root = reader_.entry(**d, where->index);
    if (!root)
        return root.error();
    found_root found{memory_.base() + root->object, {}};
    const stored_fingerprint stored{root->fingerprint_hash, root->fingerprint_algorithm};
    if (stored == stored_fingerprint{type.hash, type.algorithm} && root->bytes == type.size)
        return found;
    const auto mismatch = [&](std::string message) {
        return fail(errc::type_mismatch, std::move(message), memory_.path());
    };
    if (matches_by_algorithm_1(*root, type)) {
        if (!type.numbered.empty()) {
            return mismatch(of_changed_type(*root, memory_.path(),
                                            "the layout number of " + type.numbered + " was 0, is " +
                                                std::to_string(type.layout_number)) +
                            k_keep_both);
        }
        found.outdated = stored;
        return found;
    }
    auto was = reader_.description(*root);
    if (!was)
        return was.error();
    const auto is = type_description::decode(type.description);
    if (root->type != type.name || !*was || !is)
        return mismatch(of_other_type(*root, type, memory_.path()));
    const auto difference = difference_between(**was, *is);
    if (!difference)
        return mismatch(of_other_type(*root, type, memory_.path()));
    if (!difference->only_names)
        return mismatch(of_changed_type(*root, memory_.path(), difference->what) + k_keep_both);
    if (renamed == renamed_members::refused) {
        return mismatch(
            of_changed_type(*root, memory_.path(), difference->what) +
            " If it was only renamed, open the heap with heap_options::checks.accept_renamed_members. Else ask for "
            "the stored type, or keep this one under another name or in another file.");
    }
    found.outdated = stored;
    return found;
}

result<void*> root_directory::allocate(std::uint64_t bytes) {
    std::optional<unexpected> why;
    void* block = memory_.allocate(bytes, alignof(std::uint64_t), why);
    if (block == nullptr)
        return std::move(*why);
    return block;
}

result<void*> root_directory::make_entry(std::string_view name, const detail::type_fingerprint& type,
                                         std::uint64_t object, std::uint32_t flags) {
    format::root_entry e{};
    e.object = object;
    e.object_bytes = type.size;
    e.object_alignment = static_cast<std::uint32_t>(type.alignment);
    e.description_bytes = static_cast<std::uint32_t>(type.description.size());
    e.fingerprint_hash = type.hash;
    e.fingerprint_algorithm = type.algorithm;
    e.name_bytes = static_cast<std::uint32_t>(name.size());
    e.type_bytes = static_cast<std::uint32_t>(type.name.size());
    e.flags = flags;
    auto block = allocate(entry_bytes(e));
    if (!block)
        return block.error();
    std::memcpy(*block, &e, sizeof e);
    char* text = static_cast<char*>(*block) + sizeof e;
    for (const std::string_view each : {name, std::string_view(type.name), std::string_view(type.description)})
        text = std::copy(each.begin(), each.end(), text);
    std::fill(text, static_cast<char*>(*block) + entry_bytes(e), '\xff');
    return block;
}

result<void> root_directory::renew(std::string_view name, const stored_fingerprint& outdated,
                                   const detail::type_fingerprint& type) {
    auto d = directory();
    if (!d)
        return d.error();
    if (*d == nullptr)
        return {};
    format::root_directory& dir = **d;
    auto where = search(dir, name);
    if (!where)
        return where.error();
    if (!where->found)
        return {};
    auto root = reader_.entry(dir, where->index);
    if (!root)
        return root.error();
    if (stored_fingerprint{root->fingerprint_hash, root->fingerprint_algorithm} != outdated || root->bytes != type.size)
        return {};
    std::uint64_t* table = table_of(memory_.base(), dir);
    auto* old = reinterpret_cast<format::root_entry*>(memory_.base() + table[where->index]);
    // The flags stay: they describe the programs that wrote the object.
    auto block = make_entry(name, type, old->object, old->flags);
    if (!block)
        return block.error();
    REM_TRY(memory_.declare(table, dir.capacity * sizeof *table));
    table[where->index] = static_cast<std::uint64_t>(static_cast<std::byte*>(*block) - memory_.base());
    memory_.deallocate(old, entry_bytes(*old), alignof(std::uint64_t));
    return {};
}

static unexpected unnameable(std::string_view root, const std::string& type, const std::string& path) {
    const bool is_lambda = type.find("lambda") != std::string::npos;
    return fail(errc::unnameable_type,
                "the root \"" + std::string(root) + "\" of " + path + " cannot be of type " + type + ": " +
                    (is_lambda ? "no other program could name a lambda. Declare a struct with operator() in a named "
                                 "namespace instead."
                               : "it is local to a function or a file, so no other program could name it. Declare it "
                                 "in a named namespace."),
                path);
}

result<format::root_directory*> root_directory::directory_or_new() {
    auto there = directory();
    if (!there || *there != nullptr)
        return there;
    auto block = allocate(sizeof(format::root_directory));
    if (!block)
        return block.error();
    auto table = allocate(k_first_capacity * sizeof(std::uint64_t));
    if (!table) {
        memory_.deallocate(*block, sizeof(format::root_directory), alignof(std::uint64_t));
        return table.error();
    }
    auto* const made = static_cast<format::root_directory*>(*block);
    *made = {format::k_directory_magic, format::k_directory_version, 0, 0, k_first_capacity, memory_.offset_of(*table)};
    REM_TRY(memory_.declare(&memory_.header(), sizeof(format::heap_header)));
    memory_.header().root_word = memory_.offset_of(*block);
    return made;
}

/// Precondition: `of` is declared.
result<void> root_directory::grow(format::root_directory& of) {
    auto grown = allocate(2 * of.capacity * sizeof(std::uint64_t));
    if (!grown)
        return grown.error();
    std::uint64_t* const table = table_of(memory_.base(), of);
    std::memcpy(*grown, table, of.count * sizeof(std::uint64_t));
    memory_.deallocate(table, of.capacity * sizeof(std::uint64_t), alignof(std::uint64_t));
    of.capacity *= 2;
    of.table = memory_.offset_of(*grown);
    return {};
}

result<void> root_directory::add(std::string_view name, const detail::type_fingerprint& type, void* object) {
    if (!type.nameable)
        return unnameable(name, type.name, memory_.path());
    auto directory = directory_or_new();
    if (!directory)
        return directory.error();
    format::root_directory& dir = **directory;
    auto where = search(dir, name);
    if (!where)
        return where.error();
    REM_CHECK(!where->found);
    auto block = make_entry(name, type, memory_.offset_of(object),
                            type.position_independent ? format::k_root_is_position_independent : 0);
    if (!block)
        return block.error();
    REM_TRY(memory_.declare(&dir, sizeof dir));
    if (dir.count == dir.capacity) {
        if (auto grown = grow(dir); !grown) {
            const auto* e = static_cast<const format::root_entry*>(*block);
            memory_.deallocate(*block, entry_bytes(*e), alignof(std::uint64_t));
            return grown;
        }
    }
    std::uint64_t* table = table_of(memory_.base(), dir);
    REM_TRY(memory_.declare(table, dir.capacity * sizeof *table));
    std::copy_backward(table + where->index, table + dir.count, table + dir.count + 1);
    table[where->index] = memory_.offset_of(*block);
    ++dir.count;
    return {};
}

result<std::optional<root_view>> root_directory::look_up(std::string_view name, freed_objects freed) const {
    auto d = directory();
    if (!d)
        return d.error();
    if (*d == nullptr)
        return std::optional<root_view>();
    auto where = search(**d, name);
    if (!where)
        return where.error();
    if (!where->found)
        return std::optional<root_view>();
    auto root = reader_.any_entry(**d, where->index);
    if (!root)
        return root.error();
    if (freed == freed_objects::refused)
        REM_TRY(reader_.check_object(*root));
    return std::optional(view_of(*root));
}

result<root_directory::entry_place> root_directory::place_of(std::string_view name) const {
    auto d = directory();
    if (!d)
        return d.error();
    REM_CHECK(*d != nullptr);
    auto where = search(**d, name);
    if (!where)
        return where.error();
    REM_CHECK(where->found);
    return entry_place{*d, where->index};
}

result<void> root_directory::replace(std::string_view name, const detail::type_fingerprint& type, void* object) {
    auto there = place_of(name);
    if (!there)
        return there.error();
    format::root_directory& dir = *there->in;
    auto root = reader_.any_entry(dir, there->index);
    if (!root)
        return root.error();
    std::uint64_t* table = table_of(memory_.base(), dir);
    auto* const old = reinterpret_cast<format::root_entry*>(memory_.base() + table[there->index]);
    const std::uint64_t place = memory_.offset_of(object);
    if (stored_fingerprint{root->fingerprint_hash, root->fingerprint_algorithm} ==
            stored_fingerprint{type.hash, type.algorithm} &&
        root->bytes == type.size) { // the most frequent case: a program writes the same word again and again
        REM_TRY(memory_.declare(old, sizeof *old));
        old->object = place;
        return {};
    }
    auto block = make_entry(name, type, place, type.position_independent ? format::k_root_is_position_independent : 0);
    if (!block)
        return block.error();
    REM_TRY(memory_.declare(table, dir.capacity * sizeof *table));
    table[there->index] = memory_.offset_of(*block);
    memory_.deallocate(old, entry_bytes(*old), alignof(std::uint64_t));
    return {};
}

result<void> root_directory::erase(std::string_view name) {
    auto there = place_of(name);
    if (!there)
        return there.error();
    format::root_directory& dir = *there->in;
    std::uint64_t* table = table_of(memory_.base(), dir);
    REM_TRY(memory_.declare(&dir, sizeof dir));
    REM_TRY(memory_.declare(table, dir.capacity * sizeof *table));
    auto* e = reinterpret_cast<format::root_entry*>(memory_.base() + table[there->index]);
    memory_.deallocate(e, entry_bytes(*e), alignof(std::uint64_t));
    std::copy(table + there->index + 1, table + dir.count, table + there->index);
    --dir.count;
    return {};
}

root_view root_directory::view_of(const root_entry_view& entry) const {
    return {entry.name,
            entry.type,
            memory_.base() + entry.object,
            entry.bytes,
            entry.fingerprint_hash,
            entry.fingerprint_algorithm,
            entry.position_independent};
}

result<void> root_directory::for_each(const std::function<void(const root_view&)>& visit) const {
    auto d = directory();
    if (!d)
        return d.error();
    if (*d == nullptr)
        return {};
    for (std::uint64_t i = 0; i < (*d)->count; ++i) {
        auto root = reader_.entry(**d, i);
        if (!root)
            return root.error();
        visit(view_of(*root));
    }
    return {};
}

result<void> root_directory::check_descriptions() const {
    auto d = directory();
    if (!d)
        return d.error();
    for (std::uint64_t i = 0; *d != nullptr && i < (*d)->count; ++i) {
        auto root = reader_.entry(**d, i);
        if (!root)
            return root.error();
        if (auto described = reader_.description(*root); !described)
            return described.error();
    }
    return {};
}

} // namespace remanence::types
