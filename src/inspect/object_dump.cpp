// The portable form (docs/reference/dump.md): the schema, then the objects line by line.
//
// A pointer is told by the way to what it points at. So where there are pointers, the heap is gone through three times: to
// learn what is pointed at, to learn which of it lies in roots, and to write. What lies in no root is an object of its own; of
// two that lie in each other the larger one is.
#include "inspect/heap_schema.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <unordered_map>
#include <utility>

namespace remanence::inspect {

using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

constexpr std::size_t k_piece_bytes = std::size_t{64} * 1024;

std::string_view word_of(type_kind kind) {
    switch (kind) {
    case type_kind::pointer:
        return "pointer";
    case type_kind::array:
        return "array";
    case type_kind::members:
        return "members";
    case type_kind::object:
        return "object";
    case type_kind::serialised:
        return "serialised";
    case type_kind::plain:
    case type_kind::reference:
        break;
    }
    return "plain";
}

std::string_view word_of(detail::shape_kind shape) {
    using detail::shape_kind;
    switch (shape) {
    case shape_kind::none:
        return "";
    case shape_kind::signed_number:
        return "signed";
    case shape_kind::unsigned_number:
        return "unsigned";
    case shape_kind::floating:
        return "floating";
    case shape_kind::boolean:
        return "boolean";
    case shape_kind::character:
        return "character";
    case shape_kind::enumeration:
        return "enumeration";
    case shape_kind::members:
        return "members";
    case shape_kind::same_as_part:
        return "same";
    case shape_kind::array:
        return "array";
    case shape_kind::optional:
        return "optional";
    case shape_kind::variant:
        return "variant";
    case shape_kind::text:
    case shape_kind::text_by_link:
        return "text";
    case shape_kind::contiguous:
    case shape_kind::linked_block:
    case shape_kind::deque:
    case shape_kind::ring:
    case shape_kind::chain:
        return "sequence";
    case shape_kind::tree:
    case shape_kind::btree:
    case shape_kind::hash_chain:
    case shape_kind::hash_table:
        return "keyed";
    case shape_kind::serialised:
        return "serialised";
    }
    return "";
}

void put_parts(std::string& out, std::string_view key, const std::vector<type_part>& parts, bool named) {
    if (parts.empty())
        return;
    out += ",\"";
    out += key;
    out += "\":[";
    for (std::size_t i = 0; i != parts.size(); ++i) {
        if (i != 0)
            out += ',';
        if (!named) {
            out += std::to_string(parts[i].type);
            continue;
        }
        out += "{\"name\":";
        put_json_bytes(out, parts[i].name);
        out += ",\"type\":" + std::to_string(parts[i].type);
        if (parts[i].offset)
            out += ",\"offset\":" + std::to_string(*parts[i].offset);
        out += '}';
    }
    out += ']';
}

void put_row(std::string& out, const type_description& schema, std::uint32_t index) {
    const type_row& row = schema.rows[index];
    out += "{\"kind\":\"";
    out += word_of(row.kind);
    out += "\",\"name\":";
    put_json_bytes(out, schema.name_of(index));
    if (row.size != 0)
        out += ",\"size\":" + std::to_string(row.size) + ",\"alignment\":" + std::to_string(row.alignment);
    if (row.number != 0)
        out += ",\"layout_number\":" + std::to_string(row.number);
    if (row.kind == type_kind::array)
        out += ",\"extent\":" + std::to_string(row.extent);
    if (const std::string_view shape = word_of(row.shape); !shape.empty()) {
        out += ",\"shape\":\"";
        out += shape;
        out += '"';
    }
    if (row.shape == detail::shape_kind::array)
        out += ",\"extent\":" + std::to_string(row.numbers[0]);
    if (row.shape == detail::shape_kind::same_as_part)
        out += ",\"part\":" + std::to_string(row.numbers[0]);
    if (!row.labels.empty()) {
        out += ",\"enumerators\":{";
        for (std::size_t i = 0; i != row.labels.size(); ++i) {
            if (i != 0)
                out += ',';
            put_json_text(out, row.labels[i]);
            out += ':' + std::to_string(static_cast<std::int64_t>(row.numbers[i]));
        }
        out += '}';
    }
    const bool is_struct = row.shape == detail::shape_kind::members;
    if (row.kind == type_kind::members && !is_struct)
        put_parts(out, "members", row.parts, true);
    else
        put_parts(out, "parts", row.parts, false);
    put_parts(out, "members", row.fields, true);
    out += '}';
}

/// Something that is pointed at. A type has one number in all schemas.
struct target_key {
    std::uint32_t type;
    std::uint64_t at;
    friend bool operator==(const target_key&, const target_key&) = default;
};
struct target_hash {
    std::size_t operator()(const target_key& key) const { return std::hash<std::uint64_t>()(key.at * 31 + key.type); }
};
/// The same by the schema of the root that led to it.
struct target {
    const type_description* schema;
    std::uint32_t row;
    std::uint64_t at;
};

class dump_writer final : public object_walk::listener {
public:
    dump_writer(const heap_to_read& heap, std::vector<root_with_schema> roots,
                const std::function<void(std::string_view)>& sink)
        : heap_(heap), roots_(std::move(roots)), sink_(sink) {}

    result<std::uint64_t> run() {
        REM_TRY(find_targets());
        put_head();
        for (std::size_t i = 0; i != roots_.size(); ++i)
            REM_TRY(put_root(roots_[i]));
        REM_TRY(put_objects());
        sink_(out_);
        return lines_;
    }

private:
    enum class purpose { collecting, locating, writing };

    static bool has_pointers(const type_description& schema) {
        return std::any_of(schema.rows.begin(), schema.rows.end(),
                           [](const type_row& row) { return row.kind == type_kind::pointer; });
    }

    /// How the objects of a schema are read.
    struct reading {
        reading(const heap_to_read& heap, const type_description& schema, object_walk::listener& told)
            : reader(heap.bytes, heap.path, heap.base, heap.end, schema), walk(reader, told) {}
        object_reader reader;
        object_walk walk;
    };
    reading& reading_of(const type_description& schema) {
        auto [known, is_new] = readings_.try_emplace(&schema);
        if (is_new)
            known->second = std::make_unique<reading>(heap_, schema, *this);
        return *known->second;
    }

    target_key key_of(const type_description& schema, std::uint32_t row, std::uint64_t at) {
        auto& numbers = types_of_[&schema];
        if (numbers.empty())
            numbers.resize(schema.rows.size());
        if (numbers[row] == 0) {
            const std::string name = schema.name_of(row) + ' ' + std::to_string(schema.rows[row].size);
            numbers[row] = types_.try_emplace(name, static_cast<std::uint32_t>(types_.size() + 1)).first->second;
        }
        return {numbers[row], at};
    }

    [[nodiscard]] bool follows() const override { return purpose_ == purpose::locating; }
    void meet(object_place object, const std::vector<path_step>& path) override {
        const auto found = targets_.find(key_of(*schema_, object.row, object.at));
        if (found == targets_.end() || !found->second.empty())
            return;
        std::string way = "[" + owner_;
        for (const path_step& step : path) {
            way += ',';
            if (step.member.empty())
                way += std::to_string(step.element);
            else
                put_json_bytes(way, step.member);
        }
        found->second = way + ']';
    }
    void point(std::string& out, object_place pointer, std::uint64_t to) override {
        const std::uint32_t row = schema_->rows[pointer.row].parts.front().type;
        const target_key key = key_of(*schema_, row, to);
        if (purpose_ == purpose::collecting) {
            if (targets_.try_emplace(key).second)
                pending_.push_back({schema_, row, to});
            return;
        }
        const auto found = targets_.find(key);
        if (found == targets_.end() || found->second.empty())
            out += "null";
        else
            out += "{\"$ref\":" + found->second + '}';
    }

    /// Goes through an object without keeping its text.
    result<void> look(object_place object) {
        auto& [reader, walk] = reading_of(*schema_);
        std::string text;
        walk.path().clear();
        if (!reader.is_container(object.row))
            return walk.put(text, object);
        if (follows())
            meet(object, {});
        std::uint64_t index = 0;
        return reader.for_each_element(object, [&](const element_place& each) -> result<bool> {
            text.clear();
            walk.path() = {{{}, index++}};
            if (each.has_key) {
                walk.path().push_back({{}, 0});
                REM_TRY(walk.put(text, each.key));
                walk.path().back().element = 1;
            }
            REM_TRY(walk.put(text, each.value));
            return true;
        });
    }

    result<void> find_targets() {
        purpose_ = purpose::collecting;
        for (const root_with_schema& root : roots_) {
            if (!root.schema || !has_pointers(*root.schema))
                continue;
            schema_ = root.schema.get();
            REM_TRY(look({root.schema->root, root.object}));
        }
        for (std::size_t i = 0; i != pending_.size(); ++i) { // grows
            schema_ = pending_[i].schema;
            REM_TRY(look({pending_[i].row, pending_[i].at}));
        }
        purpose_ = purpose::locating;
        for (const root_with_schema& root : roots_) {
            if (!root.schema || targets_.empty())
                continue;
            schema_ = root.schema.get();
            owner_.clear();
            put_json_bytes(owner_, root.name);
            REM_TRY(look({root.schema->root, root.object}));
        }
        std::sort(pending_.begin(), pending_.end(), [&](const target& a, const target& b) {
            const std::uint64_t size_of_a = reading_of(*a.schema).reader.size_of(a.row);
            const std::uint64_t size_of_b = reading_of(*b.schema).reader.size_of(b.row);
            return size_of_a != size_of_b ? size_of_a > size_of_b : a.at < b.at;
        });
        for (const target& each : pending_) {
            if (!targets_[key_of(*each.schema, each.row, each.at)].empty())
                continue;
            owner_ = std::to_string(objects_.size());
            objects_.push_back(each);
            schema_ = each.schema;
            REM_TRY(look({each.row, each.at}));
        }
        purpose_ = purpose::writing;
        return {};
    }

    void end_line() {
        out_ += '\n';
        ++lines_;
        if (out_.size() < k_piece_bytes)
            return;
        sink_(out_);
        out_.clear();
    }

    void put_head() {
        out_ += "{\"remanence_dump\":1,\"commit\":" + std::to_string(heap_.version) + '}';
        end_line();
        for (const root_with_schema& root : roots_) {
            if (!root.schema || !schemas_.try_emplace(root.schema.get(), schemas_.size()).second)
                continue;
            out_ += "{\"schema\":" + std::to_string(schemas_[root.schema.get()]) + ",\"types\":[";
            for (std::uint32_t i = 0; i != root.schema->rows.size(); ++i) {
                if (i != 0)
                    out_ += ',';
                put_row(out_, *root.schema, i);
            }
            out_ += "],\"fingerprint\":\"";
            std::array<char, 16> hash{};
            out_.append(hash.data(), std::to_chars(hash.data(), hash.data() + hash.size(), root.stored.hash, 16).ptr);
            out_ += "\",\"algorithm\":" + std::to_string(root.stored.algorithm) +
                    ",\"shapes\":" + std::to_string(root.stored.shapes);
            if (root.stored.classes_hash != 0)
                out_ += ",\"classes\":" + std::to_string(root.stored.classes_hash);
            out_ += ",\"description\":\"";
            put_hex(out_, root.description);
            out_ += "\",\"layout\":\"";
            put_hex(out_, root.schema->encode(types::row_contents::schema));
            out_ += "\"}";
            end_line();
        }
    }

    result<void> put_root(const root_with_schema& root) {
        out_ += "{\"root\":";
        put_json_bytes(out_, root.name);
        out_ += ",\"name\":";
        put_json_bytes(out_, root.type);
        if (!root.schema) {
            out_ += ",\"hidden\":true}";
            end_line();
            return {};
        }
        schema_ = root.schema.get();
        out_ += ",\"schema\":" + std::to_string(schemas_[schema_]) + ",\"type\":" + std::to_string(schema_->root);
        if (root.position_independent)
            out_ += ",\"position_independent\":true";
        return put_object({schema_->root, root.object});
    }

    /// Ends the line that begins with what the object is.
    result<void> put_object(object_place object) {
        auto& [reader, walk] = reading_of(*schema_);
        const bool is_characters = reader.row(object.row).kind == type_kind::array ||
                                   reader.row(object.row).shape == detail::shape_kind::array;
        if (!reader.is_container(object.row) || is_characters) {
            out_ += ",\"value\":";
            REM_TRY(walk.put(out_, object));
            out_ += '}';
            end_line();
            return {};
        }
        out_ += ",\"elements\":true}";
        end_line();
        return reader.for_each_element(object, [&](const element_place& each) -> result<bool> {
            if (each.has_key) {
                out_ += "{\"k\":";
                REM_TRY(walk.put(out_, each.key));
                out_ += ",\"v\":";
            } else {
                out_ += "{\"v\":";
            }
            REM_TRY(walk.put(out_, each.value));
            out_ += '}';
            end_line();
            return true;
        });
    }

    result<void> put_objects() {
        for (std::size_t i = 0; i != objects_.size(); ++i) {
            const target& each = objects_[i];
            schema_ = each.schema;
            out_ += "{\"object\":" + std::to_string(i) + ",\"schema\":" + std::to_string(schemas_[schema_]) +
                    ",\"type\":" + std::to_string(each.row);
            REM_TRY(put_object({each.row, each.at}));
        }
        return {};
    }

    const heap_to_read& heap_;
    std::vector<root_with_schema> roots_;
    const std::function<void(std::string_view)>& sink_;
    std::map<const type_description*, std::unique_ptr<reading>> readings_;
    std::map<const type_description*, std::size_t> schemas_; // numbers
    const type_description* schema_ = nullptr;               // of the object that is gone through
    purpose purpose_ = purpose::writing;
    std::string owner_; // JSON: the name of a root, or the number of an object
    std::unordered_map<target_key, std::string, target_hash> targets_; // the way to each; empty: not known yet
    std::vector<target> pending_;
    std::vector<target> objects_;                                            // that lie in no root
    std::map<std::string, std::uint32_t> types_;                             // numbers, from 1
    std::map<const type_description*, std::vector<std::uint32_t>> types_of_; // of rows; 0: not known yet
    std::string out_;
    std::uint64_t lines_ = 0;
};

} // namespace

result<std::uint64_t> dump_objects(const heap_to_read& heap, const std::string& only,
                                   const std::function<void(std::string_view)>& sink) {
    auto roots = roots_with_schema(heap);
    if (!roots)
        return roots.error();
    if (!only.empty()) {
        std::erase_if(*roots, [&](const root_with_schema& each) { return each.name != only; });
        if (roots->empty())
            return fail(errc::not_found, heap.path + " has no root \"" + only + "\"; \"rem ls\" lists them.",
                        heap.path);
    }
    return dump_writer(heap, std::move(*roots), sink).run();
}

} // namespace remanence::inspect
