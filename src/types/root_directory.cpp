#include "types/root_directory.hpp"

#include "base/assert.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace remanence::types {

namespace {

constexpr std::uint64_t k_first_capacity = 8;

std::uint64_t* table_of(std::byte* base, const format::root_directory& d) {
    return reinterpret_cast<std::uint64_t*>(base + d.table);
}

std::uint64_t entry_bytes(const format::root_entry& e) { return sizeof e + e.name_bytes + e.type_bytes; }

} // namespace

bool engine_bytes::contains(std::uint64_t offset, std::uint64_t bytes) const {
    const std::uint64_t end = engine_.accessible_bytes();
    return bytes <= end && offset <= end - bytes;
}

result<std::byte*> engine_bytes::at(std::uint64_t offset, std::uint64_t) { return engine_.base() + offset; }

result<format::root_directory*> root_directory::directory() const {
    return reader_.directory(engine_.header().root_word);
}

result<root_view> root_directory::entry(const format::root_directory& d, std::uint64_t index) const {
    auto e = reader_.entry(d, index);
    if (!e)
        return e.error();
    return root_view{e->name,
                     e->type,
                     engine_.base() + e->object,
                     e->bytes,
                     e->fingerprint_hash,
                     e->fingerprint_algorithm,
                     e->position_independent};
}

result<root_directory::position> root_directory::search(const format::root_directory& d, std::string_view name) const {
    std::uint64_t low = 0;
    std::uint64_t high = d.count;
    while (low < high) {
        std::uint64_t middle = low + (high - low) / 2;
        auto root = entry(d, middle);
        if (!root)
            return root.error();
        int order = root->name.compare(name);
        if (order == 0)
            return position{middle, true};
        (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
    }
    return position{low, false};
}

result<void*> root_directory::find(std::string_view name, const detail::type_fingerprint& type) const {
    auto d = directory();
    if (!d)
        return d.error();
    if (*d == nullptr)
        return nullptr;
    auto where = search(**d, name);
    if (!where)
        return where.error();
    if (!where->found)
        return nullptr;
    auto root = entry(**d, where->index);
    if (!root)
        return root.error();
    if (root->fingerprint_hash == type.hash && root->fingerprint_algorithm == type.algorithm &&
        root->bytes == type.size)
        return root->object;
    std::string advice = root->type == type.name ? " The names are alike, but members or their types are not." : "";
    return fail(errc::type_mismatch,
                "the root \"" + std::string(name) + "\" of " + engine_.path() + " is stored as " +
                    std::string(root->type) + " (" + std::to_string(root->bytes) + " bytes), not as " + type.name +
                    " (" + std::to_string(type.size) + " bytes)." + advice +
                    " Ask for the stored type, or keep this one under another name or in another file.",
                engine_.path());
}

result<void*> root_directory::allocate(std::uint64_t bytes) {
    std::optional<unexpected> why;
    void* block = engine_.allocate(bytes, alignof(std::uint64_t), why);
    if (block == nullptr)
        return std::move(*why);
    return block;
}

result<void> root_directory::add(std::string_view name, const detail::type_fingerprint& type, void* object) {
    if (!type.nameable) {
        return fail(errc::unnameable_type,
                    "the root \"" + std::string(name) + "\" of " + engine_.path() + " cannot be of type " + type.name +
                        ": it is local to a function or a file, so no other program could name it. Declare it in a "
                        "named namespace.",
                    engine_.path());
    }
    std::byte* base = engine_.base();
    auto offset_of = [&](const void* block) {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(block) - base);
    };
    auto d = directory();
    if (!d)
        return d.error();
    if (*d == nullptr) {
        auto block = allocate(sizeof(format::root_directory));
        if (!block)
            return block.error();
        auto table = allocate(k_first_capacity * sizeof(std::uint64_t));
        if (!table) {
            engine_.deallocate(*block, sizeof(format::root_directory), alignof(std::uint64_t));
            return table.error();
        }
        *d = static_cast<format::root_directory*>(*block);
        **d = {format::k_directory_magic, format::k_directory_version, 0, 0, k_first_capacity, offset_of(*table)};
        REM_TRY(engine_.announce(&engine_.header(), sizeof(format::heap_header)));
        engine_.header().root_word = offset_of(*block);
    }
    format::root_directory& dir = **d;
    auto where = search(dir, name);
    if (!where)
        return where.error();
    REM_CHECK(!where->found);

    format::root_entry e{};
    e.object = offset_of(object);
    e.object_bytes = type.size;
    e.object_alignment = type.alignment;
    e.fingerprint_hash = type.hash;
    e.fingerprint_algorithm = type.algorithm;
    e.name_bytes = static_cast<std::uint32_t>(name.size());
    e.type_bytes = static_cast<std::uint32_t>(type.name.size());
    e.flags = type.position_independent ? format::k_root_is_position_independent : 0;
    auto block = allocate(entry_bytes(e));
    if (!block)
        return block.error();
    REM_TRY(engine_.announce(&dir, sizeof dir));
    if (dir.count == dir.capacity) {
        auto grown = allocate(2 * dir.capacity * sizeof(std::uint64_t));
        if (!grown) {
            engine_.deallocate(*block, entry_bytes(e), alignof(std::uint64_t));
            return grown.error();
        }
        std::memcpy(*grown, table_of(base, dir), dir.count * sizeof(std::uint64_t));
        engine_.deallocate(table_of(base, dir), dir.capacity * sizeof(std::uint64_t), alignof(std::uint64_t));
        dir.capacity *= 2;
        dir.table = offset_of(*grown);
    }
    std::memcpy(*block, &e, sizeof e);
    auto* text = static_cast<char*>(*block) + sizeof e;
    std::copy(name.begin(), name.end(), text);
    std::copy(type.name.begin(), type.name.end(), text + name.size());
    std::uint64_t* table = table_of(base, dir);
    REM_TRY(engine_.announce(table, dir.capacity * sizeof *table));
    std::copy_backward(table + where->index, table + dir.count, table + dir.count + 1);
    table[where->index] = offset_of(*block);
    ++dir.count;
    return {};
}

result<void> root_directory::erase(std::string_view name) {
    auto d = directory();
    if (!d)
        return d.error();
    REM_CHECK(*d != nullptr);
    format::root_directory& dir = **d;
    auto where = search(dir, name);
    if (!where)
        return where.error();
    REM_CHECK(where->found);
    std::uint64_t* table = table_of(engine_.base(), dir);
    REM_TRY(engine_.announce(&dir, sizeof dir));
    REM_TRY(engine_.announce(table, dir.capacity * sizeof *table));
    auto* e = reinterpret_cast<format::root_entry*>(engine_.base() + table[where->index]);
    engine_.deallocate(e, entry_bytes(*e), alignof(std::uint64_t));
    std::copy(table + where->index + 1, table + dir.count, table + where->index);
    --dir.count;
    return {};
}

result<void> root_directory::for_each(const std::function<void(const root_view&)>& visit) const {
    auto d = directory();
    if (!d)
        return d.error();
    if (*d == nullptr)
        return {};
    for (std::uint64_t i = 0; i < (*d)->count; ++i) {
        auto root = entry(**d, i);
        if (!root)
            return root.error();
        visit(*root);
    }
    return {};
}

} // namespace remanence::types
