#include "inspect/object_classes.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <cstring>
#include <map>
#include <optional>
#include <utility>

namespace remanence::inspect {

/// False if a schema does not say that there is a vptr in objects of this class.
static bool is_schema_of(const types::type_description& schema, const std::string& name,
                         const types::stored_class& stored) {
    const types::type_row& row = schema.rows[schema.root];
    return row.name == name && (stored.object_bytes == 0 || stored.object_bytes == row.size) &&
           has_vptr_at(schema, schema.root, stored.position);
}

result<object_classes> object_classes::of(const heap_to_read& heap) {
    object_classes found(heap.base);
    if (heap.header == nullptr || heap.header->class_table == 0)
        return found;
    auto stored = types::read_classes(heap.bytes, heap.header->class_table);
    if (!stored)
        return fail(errc::corrupt,
                    "the table of classes in " + heap.path + " is damaged at heap offset " +
                        std::to_string(heap.header->class_table) + ". Restore the heap from a copy.",
                    heap.path);
    auto schemas = types::read_schemas(heap.bytes, heap.path, heap.header->type_table);
    if (!schemas)
        return schemas.error();
    std::map<std::uint64_t, std::shared_ptr<const types::type_description>> decoded; // by fingerprint
    for (types::stored_class& each : *stored) {
        auto [known, is_new] = decoded.try_emplace(each.fingerprint);
        if (is_new && each.fingerprint != 0) {
            auto schema = types::schema_of(*schemas, each.fingerprint, detail::k_fingerprint_algorithm, heap.path);
            if (!schema)
                return schema.error();
            if (*schema)
                known->second = std::make_shared<const types::type_description>(std::move(**schema));
        }
        entry& made = found.all_.emplace_back();
        made.name = detail::readable_name(each.name.c_str());
        if (known->second && is_schema_of(*known->second, made.name, each))
            made.schema = known->second;
        if (const auto* const told = types::find_schema(*schemas, each.fingerprint, detail::k_fingerprint_algorithm)) {
            made.told = *told;
            made.told.encoded = {}; // a view of bytes that may become invalid
        }
        made.stored = std::move(each);
    }
    return found;
}

const object_classes::entry* object_classes::find(std::uint64_t vptr) const {
    const std::uint64_t number = (vptr - format::stall_point(base_, 0)) / format::k_stall_bytes;
    return number < all_.size() && vptr == format::stall_point(base_, number) ? &all_[number] : nullptr;
}

object_classes::whole_object object_classes::whole_of(object_reader& reader, object_place base) const {
    auto bytes = reader.bytes(base.at, sizeof(std::uint64_t));
    std::uint64_t vptr = 0;
    if (bytes)
        std::memcpy(&vptr, *bytes, sizeof vptr);
    const entry* const of = find(vptr);
    if (of == nullptr || of->stored.position > base.at)
        return {};
    return {of, {of->schema ? of->schema->root : 0, base.at - of->stored.position}};
}

} // namespace remanence::inspect
