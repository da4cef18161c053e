// The portable form (docs/reference/dump.md): the schema, then the objects line by line.
//
//  OD1  Nothing is written before it is known that all can be: types are looked at first, then objects. Who salvages writes what can be read.
//
// A pointer is told by the way to what it points at. So where there are pointers, the heap is gone through three times: to
// learn what is pointed at, to learn which of it lies in roots, and to write; objects that lie in no root once more. What lies in no root
// is an object of its own; of two that lie in each other the larger one is. Its block must be that of one such object, or the dump would
// not have the others.
#include "inspect/dumped_row.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/hidden_parts.hpp"
#include "inspect/lone_objects.hpp"
#include "inspect/object_parts.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace remanence::inspect {

using types::type_description;
using types::type_kind;
using types::type_row;

namespace {

constexpr std::size_t k_piece_bytes = std::size_t{64} * 1024;

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
    std::uint64_t pointer; // where the first pointer is that leads to it
};

class dump_writer final : public object_walk::listener {
public:
    /// `others`: roots that are not to be written.
    dump_writer(const heap_to_read& heap, std::vector<root_with_schema> roots, std::vector<root_with_schema> others,
                const dump_manner& manner, const std::function<void(std::string_view)>& sink)
        : heap_(heap), roots_(std::move(roots)), others_(std::move(others)), manner_(manner), sink_(sink) {}

    result<std::uint64_t> run() {
        REM_TRY(look_at_types());
        REM_TRY(find_targets());
        REM_TRY(look_at_objects());
        purpose_ = purpose::writing;
        put_head();
        for (std::size_t i = 0; i != roots_.size(); ++i)
            REM_TRY(put_root(roots_[i]));
        REM_TRY(put_objects());
        sink_(out_);
        return lines_;
    }

private:
    enum class purpose { looking, collecting, locating, owning, writing };

    [[nodiscard]] bool salvages() const { return static_cast<bool>(manner_.leave_out); }
    /// Where parts are left out, what is there goes on.
    result<void> unless_salvaged(result<void> done, const std::string& where) {
        if (done || !salvages() || (!is_damage(done.why().code) && done.why().code != errc::not_supported))
            return done;
        has_failed_ = true;
        if (purpose_ == purpose::writing) // the passes before have met the same
            manner_.leave_out(where + " is left out: " + done.why().message, is_damage(done.why().code));
        return {};
    }
    [[nodiscard]] bool carries_all() const override { return !salvages(); }

    /// OD1
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
        if (salvages()) {
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
        return hidden.empty() ? result<void>() : cannot_dump(text);
    }
    /// OD1. Roots with pointers have been gone through.
    result<void> look_at_objects() {
        purpose_ = purpose::looking;
        for (const root_with_schema& root : roots_) {
            if (salvages() || !manner_.looks_first || has_pointers(*root.schema))
                continue;
            schema_ = root.schema.get();
            REM_TRY(look({root.schema->root, root.object}));
        }
        return {};
    }
    [[nodiscard]] unexpected cannot_dump(const std::string& why) const {
        return fail(errc::not_supported,
                    heap_.path + " cannot be dumped: " + why +
                        ". Nothing was written. \"rem dump --salvage\" writes the rest.",
                    heap_.path);
    }

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

    [[nodiscard]] bool follows() const override { return purpose_ == purpose::locating || purpose_ == purpose::owning; }
    void meet(object_place object, const std::vector<path_step>& path) override {
        const auto found = targets_.find(key_of(*schema_, object.row, object.at));
        if (found == targets_.end() || !found->second.empty())
            return;
        if (purpose_ == purpose::owning) {
            if (!path.empty())
                owned_.insert(found->first);
            return;
        }
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
                pending_.push_back({schema_, row, to, pointer.at});
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
        if (!reader.is_container(object.row)) {
            auto put = walk.put(text, object);
            if (!put && purpose_ == purpose::locating)
                forget_ways('[' + owner_);
            return unless_salvaged(std::move(put), {});
        }
        if (follows())
            meet(object, {});
        std::uint64_t index = 0;
        auto done = reader.for_each_element(object, [&](const element_place& each) -> result<bool> {
            text.clear();
            walk.path() = {{{}, index}};
            if (each.has_key)
                walk.path().push_back({{}, 0});
            auto put = each.has_key ? walk.put(text, each.key) : result<void>();
            if (put && each.has_key)
                walk.path().back().element = 1;
            if (put)
                put = walk.put(text, each.value);
            if (put) // else it is no element of the dump
                ++index;
            else if (purpose_ == purpose::locating)
                forget_ways('[' + owner_ + ',' + std::to_string(index));
            REM_TRY(unless_salvaged(std::move(put), {}));
            return true;
        });
        return unless_salvaged(std::move(done), {});
    }

    result<void> find_targets() {
        std::size_t looked_at = 0;
        do {
            REM_TRY(collect(looked_at));
            looked_at = pending_.size();
            REM_TRY(locate_in_roots());
            REM_TRY(look_into_other_roots());
        } while (looked_at != pending_.size()); // which led to more
        return number_objects();
    }

    /// What whole objects point at, from this one of pending_ on. Parts are looked at with their owners.
    result<void> collect(std::size_t from) {
        purpose_ = purpose::collecting;
        for (const root_with_schema& root : roots_) {
            if (from != 0 || !has_pointers(*root.schema))
                continue;
            schema_ = root.schema.get();
            REM_TRY(look({root.schema->root, root.object}));
        }
        for (std::size_t i = from; i != pending_.size(); ++i) { // grows
            const target each = pending_[i];
            auto is_whole = is_whole_object(each);
            if (!is_whole)
                return is_whole.error();
            schema_ = each.schema;
            if (*is_whole)
                REM_TRY(look({each.row, each.at}));
        }
        return {};
    }

    result<void> locate_in_roots() {
        purpose_ = purpose::locating;
        for (const root_with_schema& root : roots_) {
            if (targets_.empty())
                continue;
            schema_ = root.schema.get();
            owner_.clear();
            put_json_bytes(owner_, root.name);
            REM_TRY(look({root.schema->root, root.object}));
        }
        return {};
    }

    /// Parts of roots that are not written become objects of their own.
    result<void> look_into_other_roots() {
        purpose_ = purpose::collecting;
        const std::size_t end = others_.empty() ? 0 : pending_.size();
        for (std::size_t i = 0; i != end; ++i) {
            const target each = pending_[i];
            if (is_located(each))
                continue;
            auto is_whole = is_whole_object(each);
            if (!is_whole)
                return is_whole.error();
            auto is_part = *is_whole ? result<bool>(false) : lies_in_other_root(each);
            if (!is_part)
                return is_part.error();
            if (!*is_part)
                continue;
            parts_of_others_.insert(key_of(*each.schema, each.row, each.at));
            schema_ = each.schema;
            REM_TRY(look({each.row, each.at}));
        }
        return {};
    }

    /// Whole objects that lie in no root, nor in each other. That all else is known, so that nothing is lost which pointers lead to.
    result<void> number_objects() {
        std::sort(pending_.begin(), pending_.end(), [&](const target& a, const target& b) {
            const std::uint64_t size_of_a = reading_of(*a.schema).reader.size_of(a.row);
            const std::uint64_t size_of_b = reading_of(*b.schema).reader.size_of(b.row);
            return size_of_a != size_of_b ? size_of_a > size_of_b : a.at < b.at;
        });
        std::vector<target> whole;
        purpose_ = purpose::owning;
        for (const target& each : pending_) {
            auto is_whole = is_located(each) ? result<bool>(false) : is_whole_object(each);
            if (!is_whole)
                return is_whole.error();
            if (!*is_whole)
                continue;
            whole.push_back(each);
            schema_ = each.schema;
            REM_TRY(look({each.row, each.at}));
        }
        purpose_ = purpose::locating;
        for (const target& each : whole) {
            if (owned_.contains(key_of(*each.schema, each.row, each.at)))
                continue;
            owner_ = std::to_string(objects_.size());
            objects_.push_back(each);
            schema_ = each.schema;
            has_failed_ = false;
            REM_TRY(look({each.row, each.at}));
            if (has_failed_ && !reading_of(*each.schema).reader.is_container(each.row))
                leave_out_last_object();
        }
        for (const target& each : pending_) {
            if (is_located(each))
                continue;
            if (is_for_search_) {
                objects_.push_back(each);
                continue;
            }
            auto why = why_refused(each);
            if (!why)
                return why.error();
            if (!salvages())
                return cannot_dump(*why);
            manner_.leave_out(*why + ". The pointer is written as null", false);
        }
        return {};
    }

    /// It cannot be read. Pointers into it are null.
    void leave_out_last_object() {
        const std::string name = objects_.back().schema->name_of(objects_.back().row);
        manner_.leave_out("a " + name + " that pointers lead to is left out, since it cannot be read. They are written as null",
                          true);
        objects_.pop_back();
    }
    /// To what is left out, and lies at this way or behind it.
    void forget_ways(const std::string& begin) {
        for (auto& [key, way] : targets_) {
            if (way.starts_with(begin) && (way[begin.size()] == ',' || way[begin.size()] == ']'))
                way.clear();
        }
    }
    [[nodiscard]] bool is_located(const target& which) {
        return !targets_[key_of(*which.schema, which.row, which.at)].empty();
    }
    /// Whether it is known as one object by itself. A part of another object that is gone through may be none.
    result<bool> is_whole_object(const target& which) {
        object_reader& reader = reading_of(*which.schema).reader;
        if (reader.size_of(which.row) == 0 || // told as hidden
            parts_of_others_.contains(key_of(*which.schema, which.row, which.at)))
            return true;
        auto is_alone = lone_objects(reader).is_alone({which.row, which.at});
        return is_alone || !salvages() ? std::move(is_alone) : result<bool>(false);
    }
    /// What lies behind a lone object in its block, up to the last byte that is not 0.
    result<std::string> behind(const target& which) {
        object_reader& reader = reading_of(*which.schema).reader;
        lone_objects lone(reader);
        const object_place place{which.row, which.at};
        auto is_alone = reader.size_of(which.row) == 0 ? result<bool>(false) : lone.is_alone(place);
        if (!is_alone)
            return is_alone.error();
        if (!*is_alone)
            return std::string();
        auto bytes = lone.room_behind(place);
        if (!bytes)
            return salvages() ? result<std::string>(std::string()) : bytes.error();
        std::string text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
        text.resize(text.find_last_not_of('\0') + 1); // npos + 1 is 0
        return text;
    }
    /// Whether it is a part of a root that is not written, or of an object that this leads to.
    result<bool> lies_in_other_root(const target& which) {
        if (!with_others_) {
            auto all = roots_;
            all.insert(all.end(), others_.begin(), others_.end());
            std::erase_if(all, [](const root_with_schema& each) { return !each.schema; });
            with_others_ =
                std::make_unique<dump_writer>(heap_, std::move(all), std::vector<root_with_schema>(), manner_, sink_);
            with_others_->is_for_search_ = true;
            REM_TRY(with_others_->find_targets());
        }
        const target_key key = with_others_->key_of(*which.schema, which.row, which.at);
        return std::none_of(with_others_->objects_.begin(), with_others_->objects_.end(), [&](const target& each) {
            return with_others_->key_of(*each.schema, each.row, each.at) == key;
        });
    }
    result<std::string> why_refused(const target& which) {
        auto name = name_of_pointer(which.pointer);
        if (!name && !salvages())
            return name.error();
        return (name ? *name : std::string("a pointer")) + " leads to a " + which.schema->name_of(which.row) + ' ' +
               std::string(k_not_one_object) +
               ", so the dump might lack the others. Keep such objects in a container, or set the pointer to null";
    }
    /// By its way from a root, or from the type of the object that has it.
    result<std::string> name_of_pointer(std::uint64_t pointer) {
        auto names = names_of_places(heap_, {pointer});
        if (!names)
            return names.error();
        if (const auto found = names->find(pointer); found != names->end())
            return found->second;
        std::string name = "a pointer";
        for (const target& each : pending_) {
            object_reader& reader = reading_of(*each.schema).reader;
            REM_TRY(for_each_part(reader, each.schema->name_of(each.row), {each.row, each.at},
                                  [&](const std::string& path, object_place of, bool) -> result<void> {
                                      if (of.at <= pointer && pointer < of.at + reader.size_of(of.row))
                                          name = path; // parts come after what has them
                                      return {};
                                  }));
        }
        return name;
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
            if (!schemas_.try_emplace(root.schema.get(), schemas_.size()).second)
                continue;
            out_ += "{\"schema\":" + std::to_string(schemas_[root.schema.get()]) + ",\"types\":[";
            for (std::uint32_t i = 0; i != root.schema->rows.size(); ++i) {
                if (i != 0)
                    out_ += ',';
                put_dumped_row(out_, *root.schema, i);
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
        const std::size_t begin = out_.size();
        out_ += "{\"root\":";
        put_json_bytes(out_, root.name);
        out_ += ",\"name\":";
        put_json_bytes(out_, root.type);
        schema_ = root.schema.get();
        out_ += ",\"schema\":" + std::to_string(schemas_[schema_]) + ",\"type\":" + std::to_string(schema_->root);
        if (root.position_independent)
            out_ += ",\"position_independent\":true";
        return put_object({schema_->root, root.object}, on_one_line(root.name), begin);
    }

    /// Ends the line that begins with what the object is, from this place on.
    result<void> put_object(object_place object, const std::string& name, std::size_t begin) {
        auto& [reader, walk] = reading_of(*schema_);
        const bool is_characters = reader.row(object.row).kind == type_kind::array ||
                                   reader.row(object.row).shape == detail::shape_kind::array;
        if (!reader.is_container(object.row) || is_characters) {
            out_ += ",\"value\":";
            if (auto put = walk.put(out_, object); !put) {
                out_.resize(begin);
                return unless_salvaged(std::move(put), name);
            }
            out_ += '}';
            end_line();
            return {};
        }
        out_ += ",\"elements\":true}";
        end_line();
        std::uint64_t index = 0; // in the heap
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
                REM_TRY(unless_salvaged(std::move(put), name + '[' + std::to_string(index) + ']'));
            }
            ++index;
            return true;
        });
        return unless_salvaged(std::move(done),
                               "what lies behind the first " + std::to_string(index) + " elements of " + name);
    }

    result<void> put_objects() {
        for (std::size_t i = 0; i != objects_.size(); ++i) {
            const target& each = objects_[i];
            const std::size_t begin = out_.size();
            schema_ = each.schema;
            out_ += "{\"object\":" + std::to_string(i) + ",\"schema\":" + std::to_string(schemas_[schema_]) +
                    ",\"type\":" + std::to_string(each.row);
            auto bytes = behind(each);
            if (!bytes)
                return bytes.error();
            if (!bytes->empty()) {
                out_ += ",\"behind\":\"";
                put_hex(out_, *bytes);
                out_ += '"';
            }
            REM_TRY(put_object({each.row, each.at}, "object " + std::to_string(i), begin));
        }
        return {};
    }

    const heap_to_read& heap_;
    std::vector<root_with_schema> roots_;
    std::vector<root_with_schema> others_;
    const dump_manner& manner_;
    std::unique_ptr<dump_writer> with_others_; // of all roots, to find what lies in them
    bool is_for_search_ = false;               // this is such a one: it writes nothing, and refuses nothing
    const std::function<void(std::string_view)>& sink_;
    std::map<const type_description*, std::unique_ptr<reading>> readings_;
    std::map<const type_description*, std::size_t> schemas_; // numbers
    const type_description* schema_ = nullptr;               // of the object that is gone through
    purpose purpose_ = purpose::writing;
    bool has_failed_ = false; // something that was left out
    std::string owner_; // JSON: the name of a root, or the number of an object
    std::unordered_map<target_key, std::string, target_hash> targets_; // the way to each; empty: not known yet
    std::unordered_set<target_key, target_hash> owned_;                // parts of objects that lie in no root
    std::unordered_set<target_key, target_hash> parts_of_others_;
    std::vector<target> pending_;
    std::vector<target> objects_;                                            // that lie in no root
    std::map<std::string, std::uint32_t> types_;                             // numbers, from 1
    std::map<const type_description*, std::vector<std::uint32_t>> types_of_; // of rows; 0: not known yet
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
