#include "capi/types.hpp"

#include "api/raise.hpp"
#include "base/checksum.hpp"
#include "base/undying.hpp"
#include "base/units.hpp"
#include "capi/guard.hpp"
#include "os/held_across_fork.hpp"
#include "types/schema_table.hpp"
#include "types/type_description.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace remanence;

namespace remanence::capi {

namespace {

using detail::shape_kind;
using types::type_kind;
using types::type_row;

constexpr std::size_t k_alignment_max = 4096;
constexpr std::size_t k_rows_max = 10'000; // limits the rows of a schema, since the code recurses from struct to struct

struct member {
    std::string name;
    rem_member_kind kind;
    std::size_t offset, size, count;
    std::string type;
    friend bool operator==(const member&, const member&) = default;
};

struct described_struct {
    std::size_t size = 0;
    std::size_t alignment = 0;
    std::vector<member> members{};
    const detail::type_fingerprint* type = nullptr; // null until it is requested, and again after each description
};

std::mutex guards_all;
const os::held_across_fork<guards_all> k_guard_held;

struct table {
    std::map<std::string, described_struct, std::less<>> structs;
    std::deque<detail::type_fingerprint> types; // a deque, so that its elements do not move
};
/// The table is never destroyed, because destructors of statics may use heaps.
table& all() {
    static undying<table> made;
    return made.value;
}

struct number_type {
    shape_kind shape;
    const char* name;
};
/// Returns the number type of this kind and size; nothing if there is no such number.
std::optional<number_type> number_of(rem_member_kind kind, std::size_t size) {
    const auto named = [&](shape_kind shape, const char* one, const char* two, const char* four,
                           const char* eight) -> std::optional<number_type> {
        const char* const name = size == 1 ? one : size == 2 ? two : size == 4 ? four : size == 8 ? eight : nullptr;
        return name == nullptr ? std::nullopt : std::optional(number_type{shape, name});
    };
    switch (static_cast<int>(kind)) {
    case REM_SIGNED:
        return named(shape_kind::signed_number, "signed char", "short", "int", "long");
    case REM_UNSIGNED:
        return named(shape_kind::unsigned_number, "unsigned char", "unsigned short", "unsigned int", "unsigned long");
    case REM_FLOATING:
        if (size == sizeof(long double))
            return number_type{shape_kind::floating, "long double"};
        return named(shape_kind::floating, nullptr, nullptr, "float", "double");
    case REM_BOOLEAN:
        return named(shape_kind::boolean, "bool", nullptr, nullptr, nullptr);
    case REM_CHARACTER:
        return named(shape_kind::character, "char", nullptr, nullptr, nullptr);
    default:
        return {};
    }
}

[[noreturn]] void refuse(const std::string& type, const std::string& why) {
    throw error(errc::invalid_argument, "rem_describe cannot take " + type + ": " + why + '.');
}

/// Makes the schema rows of a struct, and of all structs that its members lead to. The row of a pointer or array comes
/// after that of its target or element.
class schema_writer {
public:
    explicit schema_writer(const table& all) : all_(all) {}

    std::uint32_t row_of_struct(std::string_view name) { // NOLINT(misc-no-recursion): visits each struct once
        const auto known = all_.structs.find(name);
        const auto [row, is_new] =
            rows_.try_emplace(std::string(name), static_cast<std::uint32_t>(schema_.rows.size()));
        if (!is_new)
            return row->second;
        const std::uint32_t index = row->second;
        const described_struct& of = known->second;
        if (schema_.rows.size() > k_rows_max)
            refuse(std::string(name), "what it leads to has too many types");
        schema_.rows.push_back({.kind = type_kind::members,
                                .name = std::string(name_in_schema(name)),
                                .size = of.size,
                                .alignment = of.alignment});
        for (const member& each : of.members) {
            std::uint32_t type = row_of(each);
            if (each.count != 0)
                type = add_once("[" + std::to_string(type) + ' ' + std::to_string(each.count),
                                {.kind = type_kind::array, .extent = each.count, .parts = {{.type = type}}});
            schema_.rows[index].parts.push_back({.name = each.name, .offset = each.offset, .type = type});
        }
        // So a migration carries over or refuses bytes between the members, as for a C++ class that states its members.
        schema_.rows[index].shape = shape_kind::members;
        schema_.rows[index].fields = schema_.rows[index].parts;
        return index;
    }
    [[nodiscard]] const types::type_description& schema() const { return schema_; }

private:
    std::uint32_t row_of(const member& of) { // NOLINT(misc-no-recursion)
        if (of.kind == REM_STRUCT)
            return row_of_struct(of.type);
        if (of.kind == REM_POINTER) {
            const bool is_known = all_.structs.contains(of.type);
            const std::uint32_t to =
                is_known ? row_of_struct(of.type) : add_once("void", {.kind = type_kind::plain, .name = "void"});
            return add_once("*" + std::to_string(to), {.kind = type_kind::pointer, .parts = {{.type = to}}});
        }
        const number_type is = *number_of(of.kind, of.size); // known to exist, since the description was checked
        return add_once(
            is.name,
            {.kind = type_kind::object, .name = is.name, .size = of.size, .alignment = of.size, .shape = is.shape});
    }
    /// `name` must not be the name of a struct.
    std::uint32_t add_once(const std::string& name, type_row row) {
        const auto [known, is_new] = rows_.try_emplace('\n' + name, static_cast<std::uint32_t>(schema_.rows.size()));
        if (is_new)
            schema_.rows.push_back(std::move(row));
        return known->second;
    }

    const table& all_;
    types::type_description schema_;
    std::map<std::string, std::uint32_t> rows_;
};

detail::type_fingerprint fingerprint_of(std::string_view name, const described_struct& of, const table& all) {
    schema_writer out(all);
    (void)out.row_of_struct(name);
    detail::type_fingerprint made;
    made.name = std::string(k_prefix_of_types).append(name);
    made.description = out.schema().encode();
    made.hash = checksum64(std::as_bytes(std::span(made.description)), k_seed_of_types);
    made.hash_1 = made.hash;
    made.size = of.size;
    made.alignment = of.alignment;
    made.nameable = true;
    made.shapes =
        static_cast<std::uint32_t>(std::count_if(out.schema().rows.begin(), out.schema().rows.end(),
                                                 [](const type_row& row) { return row.shape != shape_kind::none; }));
    made.schema = out.schema().encode(types::row_contents::schema);
    if (made.description.size() > types::k_description_bytes_max)
        made.description.clear();
    if (made.schema.size() > types::k_schema_bytes_max)
        made.schema.clear();
    return made;
}

member checked_member(const std::string& type, std::size_t size, const rem_member& given, const table& all) {
    if (given.name == nullptr || *given.name == '\0')
        refuse(type, "a member has no name");
    member made{given.name, given.kind,  given.offset,
                given.size, given.count, given.type == nullptr ? std::string() : std::string(given.type)};
    const std::string which = "its member " + made.name;
    const std::size_t most = std::max<std::size_t>(given.count, 1);
    if (given.size == 0 || given.size > size || most > size / given.size || given.offset > size - most * given.size)
        refuse(type, which + " does not lie in it");
    if (given.kind == REM_STRUCT) {
        const auto known = all.structs.find(made.type);
        if (known == all.structs.end())
            refuse(type, which + " is a struct that was not described before");
        if (known->second.size != given.size)
            refuse(type, which + " has another size than " + made.type + " was described with");
    } else if (given.kind == REM_POINTER) {
        if (given.size != sizeof(void*) || given.offset % sizeof(void*) != 0)
            refuse(type, which + " is no pointer: it has another size, or lies where none may");
    } else if (!number_of(given.kind, given.size)) {
        refuse(type, which + " has a kind that is none of rem_member_kind, or one that has no such size");
    }
    return made;
}

void describe(const char* given_type, std::size_t size, std::size_t alignment, const rem_member* members,
              std::size_t count) {
    const std::string type = given_type == nullptr ? std::string() : std::string(given_type);
    if (type.empty() || type.find('\n') != std::string::npos)
        refuse_argument("rem_describe needs the name of the struct.");
    if (members == nullptr || count == 0)
        refuse(type, "it has no members");
    if (!is_power_of_two(alignment) || alignment > k_alignment_max || size == 0 || size % alignment != 0)
        refuse(type, "its size is no multiple of its alignment, or that is no power of two up to 4096");
    const std::scoped_lock lock(guards_all);
    table& known = all();
    for (const auto& [name, each] : known.structs) {
        if (name != type && name_in_schema(name) == name_in_schema(type))
            throw error(errc::exists,
                        "rem_describe cannot take " + type + ": " + name + " has the same name in a schema.");
    }
    described_struct made{size, alignment};
    for (const rem_member& each : std::span(members, count))
        made.members.push_back(checked_member(type, size, each, known));
    for (std::size_t i = 0; i != count; ++i) {
        const member& a = made.members[i];
        for (std::size_t j = 0; j != i; ++j) {
            const member& b = made.members[j];
            if (a.name == b.name)
                refuse(type, "it has two members " + a.name);
            if (a.offset < b.offset + b.size * std::max<std::size_t>(b.count, 1) &&
                b.offset < a.offset + a.size * std::max<std::size_t>(a.count, 1))
                refuse(type, "its members " + b.name + " and " + a.name + " lie in each other");
        }
    }
    const auto [place, is_new] = known.structs.try_emplace(type, made);
    if (!is_new) {
        const described_struct& was = place->second;
        if (was.size != size || was.alignment != alignment || was.members != made.members)
            throw error(errc::exists, "rem_describe cannot take " + type + ": it was described as another one.");
        return;
    }
    try {
        const detail::type_fingerprint type_of = fingerprint_of(type, place->second, known);
        const auto schema = types::type_description::decode(type_of.schema, types::row_contents::schema);
        if (!schema || !types::is_sound_schema(*schema))
            refuse(type, "its members do not fit each other, or it is too large for a schema");
    } catch (...) {
        known.structs.erase(place);
        throw;
    }
    // these types are made anew when next requested, because their pointers to this struct can now name it
    for (auto& [name, each] : known.structs)
        each.type = nullptr;
}

constexpr const char* k_not_alone =
    "a root of a described type must be one object in a block of its own. For an array, or a struct with more behind "
    "it, let the root point at it.";

bool is_alone(const txn::heap_memory& memory, const void* object, std::size_t size) {
    const auto block = memory.block_of(object);
    if (!block || block->start != object)
        return false;
    const std::size_t most = memory.bytes_of_block(size, alignof(std::max_align_t));
    return block->bytes <= most || (memory.has_longer_blocks() && block->bytes < 2 * most);
}

class table_of_types final : public described_types {
public:
    [[nodiscard]] const detail::type_fingerprint* find(std::string_view name) const override {
        const std::scoped_lock lock(guards_all);
        table& known = all();
        const auto found = known.structs.find(name);
        if (found == known.structs.end())
            return nullptr;
        if (found->second.type == nullptr) {
            detail::type_fingerprint made = fingerprint_of(name, found->second, known);
            const auto same =
                std::find_if(known.types.begin(), known.types.end(), [&](const detail::type_fingerprint& each) {
                    return each.name == made.name && each.schema == made.schema;
                });
            found->second.type = same != known.types.end() ? &*same : &known.types.emplace_back(std::move(made));
        }
        return found->second.type;
    }
    void check_alone(const txn::heap_memory& memory, const void* object,
                     const detail::type_fingerprint& type) const override {
        if (!is_alone(memory, object, type.size))
            refuse_argument(k_not_alone);
    }
    void know(detail::heap_impl& impl, const types::root_view& root,
              const detail::type_fingerprint& type) const override {
        const bool is_older = is_undescribed(root) && root.bytes == type.size;
        if (root.fingerprint_hash != type.hash && !is_older) {
            auto found = types::root_directory(impl.memory()).find(root.name, type, types::renamed_members::refused);
            raise_mismatch(impl, (found ? std::string() : found.why().message) +
                                     " rem_migrate() makes it one of the type that is described.");
        }
        if (is_older && !is_alone(impl.memory(), root.object, type.size))
            raise_mismatch(impl, "the root \"" + std::string(root.name) + "\" of " + impl.origin.path.string() +
                                     " was set before its type was described, and " + k_not_alone);
        if (impl.options.read_only)
            return;
        if (is_older)
            impl.outdated.note(root.name, {root.fingerprint_hash, root.fingerprint_algorithm}, type);
        if (is_older || !types::look_up_schema(impl.memory(), type).is_stored)
            impl.outdated.note_schema(type, &types::store_schemas);
    }
    void store(detail::heap_impl& impl, const detail::type_fingerprint& type) const override {
        const detail::type_fingerprint* const one[] = {&type};
        detail::check(types::store_schemas(impl.memory(), one));
    }
    [[nodiscard]] bool is_to_migrate(detail::heap_impl& impl, std::string_view root,
                                     const detail::type_fingerprint& type) const override {
        auto found = types::root_directory(impl.memory()).look_up(root);
        detail::check(found ? result<void>() : result<void>(found.error()));
        if (!*found || (*found)->fingerprint_hash == type.hash)
            return false;
        const std::string which = "the root \"" + std::string(root) + "\" of " + impl.origin.path.string();
        if (!(*found)->type.starts_with(k_prefix_of_types))
            raise_mismatch(impl, which + " is one of a C++ program, a " + std::string((*found)->type) +
                                     ", and cannot become a " + type.name + '.');
        if (!is_alone(impl.memory(), (*found)->object, (*found)->bytes))
            raise_mismatch(impl, which + " cannot be migrated: " + k_not_alone);
        if (!is_undescribed(**found) || (*found)->bytes != type.size || (*found)->type != type.name)
            return true;
        know(impl, **found, type);
        return false;
    }

private:
    static bool is_undescribed(const types::root_view& root) {
        return root.fingerprint_hash == hash_of_undescribed(root.type);
    }
    [[noreturn]] static void raise_mismatch(const detail::heap_impl& impl, const std::string& why) {
        throw error(errc::type_mismatch, why, impl.origin.path.string());
    }
};
const table_of_types k_table_of_types;

} // namespace

} // namespace remanence::capi

rem_status rem_describe(const char* type, size_t size, size_t alignment, const rem_member* members, size_t count) {
    return capi::guard([&] {
        capi::describe(type, size, alignment, members, count);
        capi::all_described.store(&capi::k_table_of_types, std::memory_order_release);
        return REM_OK;
    });
}
