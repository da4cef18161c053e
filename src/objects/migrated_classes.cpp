#include "objects/migrated_classes.hpp"

#include "inspect/hidden_parts.hpp"
#include "objects/conversion_steps.hpp"
#include "objects/joined_schema.hpp"
#include "types/class_table.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <cstring>

namespace remanence::objects {

using inspect::object_classes;
using types::program_class;

result<migrated_classes> migrated_classes::of(txn::heap_memory& memory, std::vector<program_class> own,
                                              const std::vector<class_renaming>& renamings) {
    types::memory_bytes bytes(memory);
    auto stored = object_classes::of({.bytes = bytes,
                                      .path = memory.path(),
                                      .base = reinterpret_cast<std::uintptr_t>(memory.base()),
                                      .end = memory.accessible_bytes(),
                                      .version = 0,
                                      .header = &memory.header()});
    if (!stored)
        return stored.error();
    migrated_classes made(memory, std::move(*stored), std::move(own));
    for (const object_classes::entry& each : made.stored_.all()) {
        const program_class* const now = made.own_of(each, renamings);
        // A class of which no program has told anything has no schema, so its objects are refused when one is found.
        const bool changes = now != nullptr && each.stored.fingerprint != 0 &&
                             (now->mangled != each.stored.name || now->type->hash != each.stored.fingerprint ||
                              types::look_up_schema(memory, *now->type).has_changed);
        made.entries_.push_back({now, changes});
        made.change_ = made.change_ || changes;
    }
    return made;
}

const program_class* migrated_classes::own_of(const object_classes::entry& stored,
                                              const std::vector<class_renaming>& renamings) const {
    std::string name = stored.name;
    for (const class_renaming& each : renamings) {
        if (each.old_name != name)
            continue;
        name = each.new_name; // renamings of several releases come one after the other
        if (const program_class* const found = own(name))
            return found;
    }
    const auto same = std::find_if(own_.begin(), own_.end(),
                                   [&](const program_class& each) { return each.mangled == stored.stored.name; });
    return same == own_.end() ? nullptr : &*same;
}

const program_class* migrated_classes::own(std::string_view name) const {
    const auto found =
        std::find_if(own_.begin(), own_.end(), [&](const program_class& each) { return each.name == name; });
    return found == own_.end() ? nullptr : &*found;
}

const migrated_classes::vptrs* migrated_classes::vptrs_for(const types::type_description& schema, std::uint32_t row) {
    const std::string& name = schema.rows[row].name;
    if (const auto known = vptrs_.find(name); known != vptrs_.end())
        return &known->second;
    const program_class* const of = own(name);
    if (of == nullptr)
        return nullptr;
    vptrs found;
    for (std::uint32_t at = 0; at < schema.rows[row].size; at += k_word) {
        if (!inspect::has_vptr_at(schema, row, at))
            continue;
        const std::uint64_t vptr = of->vptr(*of, at);
        if (vptr == 0)
            return nullptr;
        found.emplace_back(at, vptr);
        made_[vptr] = {.stored = {}, .own = of, .position = at};
    }
    return &vptrs_.emplace(name, std::move(found)).first->second;
}

migrated_classes::class_of_object migrated_classes::find(std::uint64_t vptr) const {
    if (const object_classes::entry* const found = stored_.find(vptr))
        return {.stored = static_cast<std::size_t>(found - stored_.all().data()),
                .own = nullptr,
                .position = found->stored.position};
    const auto found = made_.find(vptr);
    return found == made_.end() ? class_of_object() : found->second;
}

result<void> migrated_classes::finish() {
    if (!change_)
        return {};
    auto* const table = reinterpret_cast<format::class_table*>(memory_.base() + memory_.header().class_table);
    REM_TRY(memory_.declare(table, table->used_bytes));
    std::vector<const detail::type_fingerprint*> types;
    for (std::size_t i = 0; i != entries_.size(); ++i) {
        const auto [now, changes] = entries_[i];
        if (!changes)
            continue;
        // What no object has any more is nothing that is known of a class: another name, or a base that lay elsewhere.
        const types::stored_class& was = stored_.all()[i].stored;
        const bool stays = now->mangled == was.name && now->vptr(*now, was.position) != 0;
        types::stored_class known = was;
        known.object_bytes = stays ? now->type->size : 0;
        known.fingerprint = stays ? now->type->hash : 0;
        types::complete_class(*table, i, known);
        if (stays && std::find(types.begin(), types.end(), now->type) == types.end())
            types.push_back(now->type);
    }
    return types.empty() ? result<void>() : types::store_schemas(memory_, types);
}

class_rows::class_rows(const migrated_classes& classes, types::type_description& schema)
    : classes_(classes), schema_(schema) {
    std::map<const types::type_description*, std::vector<std::uint32_t>> joined; // a class may have several entries
    for (const object_classes::entry& each : classes.stored()) {
        rows_.emplace_back();
        if (!each.schema || !inspect::hidden_parts(*each.schema, each.name).empty())
            continue;
        auto [known, is_new] = joined.try_emplace(each.schema.get());
        if (is_new)
            known->second = join_schema(schema, *each.schema);
        rows_.back() = known->second[each.schema->root];
    }
    if (!classes.has_made_objects())
        return;
    for (const program_class& each : classes.all_own()) {
        const auto own = schema_of_program(*each.type);
        if (own)
            own_rows_[&each] = join_schema(schema, *own)[own->root];
    }
}

result<class_rows::whole_object> class_rows::whole_of(inspect::object_reader& reader, object_place base) const {
    auto bytes = reader.bytes(base.at, k_word);
    if (!bytes)
        return bytes.error();
    std::uint64_t vptr = 0;
    std::memcpy(&vptr, *bytes, sizeof vptr);
    const migrated_classes::class_of_object found = classes_.find(vptr);
    whole_object whole{.place = base, .number = found.stored, .is_known = false};
    std::optional<std::uint32_t> row;
    if (found.stored)
        row = rows_[*found.stored];
    else if (const auto own = own_rows_.find(found.own); own != own_rows_.end())
        row = own->second;
    if (!row || found.position > base.at)
        return whole;
    whole.is_known = true;
    // Schemas of a root and of a class that differ in enumerators have two rows for one class.
    const bool is_itself = found.position == 0 && schema_.rows[*row].name == schema_.rows[base.row].name;
    if (!is_itself)
        whole.place = {*row, base.at - found.position};
    return whole;
}

} // namespace remanence::objects
