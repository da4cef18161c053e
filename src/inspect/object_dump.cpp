// Writes the portable form (docs/reference/dump.md): the schema, then the objects line by line.
//
//  OD1  Nothing is written before it is certain that everything can be written: types are checked first, then objects.
//       But a dump that leaves out damage writes whatever can be read.
//
// A pointer is written as the path to its target. dump_targets finds these paths before anything is written.
#include "inspect/dump_targets.hpp"
#include "inspect/dumped_row.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/hidden_parts.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <utility>

namespace remanence::inspect {

using types::type_description;
using types::type_kind;

namespace {

constexpr std::size_t k_piece_bytes = std::size_t{64} * 1024;

class dump_writer {
public:
    /// `others` are roots that are not written.
    dump_writer(const heap_to_read& heap, std::vector<root_with_schema> roots, std::vector<root_with_schema> others,
                const dump_manner& manner, const std::function<void(std::string_view)>& sink)
        : heap_(heap), roots_(std::move(roots)), others_(std::move(others)), manner_(manner), sink_(sink) {}

    result<std::uint64_t> run() {
        REM_TRY(look_at_types());
        REM_TRY(targets_.find());
        REM_TRY(targets_.look_at_objects());
        targets_.begin_writing();
        put_head();
        for (const root_with_schema& root : roots_)
            REM_TRY(put_root(root));
        REM_TRY(put_objects());
        sink_(out_);
        return lines_;
    }

private:
    /// Refuses types that cannot be written (OD1).
    result<void> look_at_types() {
        std::vector<std::string> hidden;
        std::erase_if(roots_, [&](const root_with_schema& root) {
            if (!root.schema)
                hidden.push_back("the root \"" + on_one_line(root.name) + "\" is a " + root.type +
                                 ", of which the heap does not say what it consists of: a program that has this type "
                                 "opens the root and commits");
            return !root.schema;
        });
        for (const root_with_schema& root : roots_) {
            auto parts = hidden_parts(*root.schema, on_one_line(root.name));
            std::move(parts.begin(), parts.end(), std::back_inserter(hidden));
        }
        if (targets_.salvages()) {
            for (const std::string& each : hidden)
                manner_.leave_out(each, false);
            return {};
        }
        constexpr std::size_t k_shown_max = 10;
        std::string text;
        for (std::size_t i = 0; i != std::min(hidden.size(), k_shown_max); ++i)
            text += (i == 0 ? "" : "; ") + hidden[i];
        if (hidden.size() > k_shown_max)
            text += "; and " + std::to_string(hidden.size() - k_shown_max) + " more";
        return hidden.empty() ? result<void>() : targets_.cannot_dump(text);
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
        for (const root_with_schema& root : roots_)
            put_schema(root.schema.get(), root.stored, root.description);
        for (const object_classes::entry& each : targets_.classes().all()) {
            if (!each.schema)
                continue;
            put_schema(each.schema.get(), each.told, {});
            out_ += "{\"class\":";
            put_json_bytes(out_, each.stored.name);
            out_ += ",\"position\":" + std::to_string(each.stored.position) +
                    ",\"schema\":" + std::to_string(schemas_[each.schema.get()]) + '}';
            end_line();
        }
    }

    /// Gives the schema a number, and writes its line, unless it has one.
    void put_schema(const type_description* schema, const types::stored_schema& stored,
                    const std::string& description) {
        if (!schemas_.try_emplace(schema, schemas_.size()).second)
            return;
        out_ += "{\"schema\":" + std::to_string(schemas_[schema]) + ",\"types\":[";
        for (std::uint32_t i = 0; i != schema->rows.size(); ++i) {
            if (i != 0)
                out_ += ',';
            put_dumped_row(out_, *schema, i);
        }
        out_ += "],\"fingerprint\":\"";
        std::array<char, 16> hash{};
        out_.append(hash.data(), std::to_chars(hash.data(), hash.data() + hash.size(), stored.hash, 16).ptr);
        out_ += "\",\"algorithm\":" + std::to_string(stored.algorithm) + ",\"shapes\":" + std::to_string(stored.shapes);
        if (stored.classes_hash != 0)
            out_ += ",\"classes\":" + std::to_string(stored.classes_hash);
        out_ += ",\"description\":\"";
        put_hex(out_, description);
        out_ += "\",\"layout\":\"";
        put_hex(out_, schema->encode(types::row_contents::schema));
        out_ += "\"}";
        end_line();
    }

    result<void> put_root(const root_with_schema& root) {
        const std::size_t begin = out_.size();
        out_ += "{\"root\":";
        put_json_bytes(out_, root.name);
        out_ += ",\"name\":";
        put_json_bytes(out_, root.type);
        const type_description& schema = *root.schema;
        out_ += ",\"schema\":" + std::to_string(schemas_[&schema]) + ",\"type\":" + std::to_string(schema.root);
        if (root.position_independent)
            out_ += ",\"position_independent\":true";
        return put_object(schema, {schema.root, root.object}, on_one_line(root.name), begin);
    }

    /// Appends the object's value, which ends the line. If the object is left out, removes the whole line, which begins
    /// at `begin`.
    result<void> put_object(const type_description& schema, object_place object, const std::string& name,
                            std::size_t begin) {
        auto& [reader, walk] = targets_.begin(schema);
        const bool is_characters = reader.row(object.row).kind == type_kind::array ||
                                   reader.row(object.row).shape == detail::shape_kind::array;
        if (!reader.is_container(object.row) || is_characters) {
            out_ += ",\"value\":";
            if (auto put = walk.put(out_, object); !put) {
                out_.resize(begin);
                return targets_.unless_salvaged(std::move(put), name);
            }
            out_ += '}';
            end_line();
            return {};
        }
        out_ += ",\"elements\":true}";
        end_line();
        std::uint64_t index = 0; // counts also the elements that are left out
        auto done = reader.for_each_element(object, [&](const element_place& each) -> result<bool> {
            const std::size_t line = out_.size();
            out_ += each.has_key ? "{\"k\":" : "{\"v\":";
            auto put = walk.put(out_, each.has_key ? each.key : each.value);
            if (put && each.has_key) {
                out_ += ",\"v\":";
                put = walk.put(out_, each.value);
            }
            if (put) {
                out_ += '}';
                end_line();
            } else {
                out_.resize(line);
                REM_TRY(targets_.unless_salvaged(std::move(put), name + '[' + std::to_string(index) + ']'));
            }
            ++index;
            return true;
        });
        return targets_.unless_salvaged(std::move(done),
                                        "what lies behind the first " + std::to_string(index) + " elements of " + name);
    }

    result<void> put_objects() {
        for (std::size_t i = 0; i != targets_.objects().size(); ++i) {
            const dump_targets::target& each = targets_.objects()[i];
            const std::size_t begin = out_.size();
            out_ += "{\"object\":" + std::to_string(i) + ",\"schema\":" + std::to_string(schemas_[each.schema]) +
                    ",\"type\":" + std::to_string(each.row);
            auto bytes = targets_.behind(each);
            if (!bytes)
                return bytes.error();
            if (!bytes->empty()) {
                out_ += ",\"behind\":\"";
                put_hex(out_, *bytes);
                out_ += '"';
            }
            REM_TRY(put_object(*each.schema, {each.row, each.at}, "object " + std::to_string(i), begin));
        }
        return {};
    }

    const heap_to_read& heap_;
    std::vector<root_with_schema> roots_;
    std::vector<root_with_schema> others_;
    const dump_manner& manner_;
    dump_targets targets_{heap_, roots_, others_, manner_};
    const std::function<void(std::string_view)>& sink_;
    std::map<const type_description*, std::size_t> schemas_; // the number of each schema
    std::string out_;
    std::uint64_t lines_ = 0;
};

} // namespace

result<std::uint64_t> dump_objects(const heap_to_read& heap, const std::string& only, const dump_manner& manner,
                                   const std::function<void(std::string_view)>& sink) {
    auto roots = roots_with_schema(heap);
    if (!roots)
        return roots.error();
    std::vector<root_with_schema> others;
    if (!only.empty()) {
        const auto is_other = [&](const root_with_schema& each) { return each.name != only; };
        std::copy_if(roots->begin(), roots->end(), std::back_inserter(others), is_other);
        std::erase_if(*roots, is_other);
        if (roots->empty())
            return fail(errc::not_found, heap.path + " has no root \"" + only + "\"; \"rem ls\" lists them.",
                        heap.path);
    }
    return dump_writer(heap, std::move(*roots), std::move(others), manner, sink).run();
}

} // namespace remanence::inspect
