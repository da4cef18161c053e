#include "objects/dump_loader.hpp"

#include "alloc/slab_layout.hpp"
#include "inspect/object_parts.hpp"
#include "objects/conversion.hpp"
#include "objects/dump_lines.hpp"
#include "objects/dump_references.hpp"
#include "objects/json_document.hpp"
#include "objects/json_source.hpp"
#include "objects/lost_values.hpp"
#include "objects/shared_objects.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

namespace remanence::objects {

using detail::shape_kind;
using types::type_description;
using types::type_row;

namespace {

/// A schema of the dump, or the program's own of the same type.
struct known_schema {
    type_description stored;
    detail::type_fingerprint type; // its name and place-independence are those of a root
    std::string encoded;
};

class dump_loader final : conversion::listener {
public:
    dump_loader(txn::heap_memory& memory, const read_bytes& read, std::span<const detail::type_to_load> types,
                const std::vector<std::string>& dropped)
        : memory_(memory),
          lines_(read),
          types_(types),
          dropped_(dropped),
          directory_(memory),
          references_(memory.path()) {}

    result<std::size_t> run() {
        auto whole = read_lines();
        if (!whole)
            return whole.error();
        REM_TRY(references_.resolve(roots_, objects_));
        REM_TRY(check_orders());
        REM_TRY(add_roots());
        return new_roots_.size();
    }

private:
    [[nodiscard]] unexpected wrong(const std::string& what, errc code = errc::invalid_argument) const {
        return fail(code,
                    "the dump for " + memory_.path() + " cannot be loaded: line " + std::to_string(lines_.number()) +
                        ": " + what + ". Nothing was loaded.",
                    memory_.path());
    }
    /// What failed in an object, with the place.
    [[nodiscard]] unexpected wrong_in(const std::string& owner, const conversion& by, unexpected why) const {
        if (why.why().code != errc::invalid_argument && why.why().code != errc::not_supported &&
            why.why().code != errc::type_mismatch)
            return why;
        std::string way = by.way();
        if (!way.empty() && way.front() != '[')
            way.insert(0, 1, '.');
        return fail(why.why().code,
                    "the dump for " + memory_.path() + " cannot be loaded: " + why.why().message + ", in " + owner +
                        way + ". Nothing was loaded.",
                    memory_.path());
    }

    result<bool> next_line() {
        auto more = lines_.next(line_);
        if (!more)
            return wrong(more.why().message, more.why().code);
        if (*more)
            REM_TRY(parse_line());
        return *more;
    }
    result<void> parse_line() {
        if (auto parsed = document_.parse(line_); !parsed)
            return wrong(parsed.why().message, parsed.why().code);
        if (document_.root().kind != json_kind::object)
            return wrong("it is no object of JSON");
        if (const auto name = document_.name_twice(0))
            return wrong("it has \"" + std::string(*name) + "\" twice");
        return {};
    }
    [[nodiscard]] const json_part* find(std::string_view name, json_kind kind) const {
        const std::uint32_t index = document_.member(0, name);
        return index != 0 && document_.at(index).kind == kind ? &document_.at(index) : nullptr;
    }
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view name) const {
        const json_part* const part = find(name, json_kind::number);
        return part == nullptr ? std::nullopt : number_in(part->text, 10);
    }
    static std::optional<std::uint64_t> number_in(std::string_view text, int radix) {
        std::uint64_t value = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), value, radix);
        return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
    }
    [[nodiscard]] bool is_true(std::string_view name) const {
        const json_part* const part = find(name, json_kind::truth);
        return part != nullptr && part->is_true;
    }
    /// A name, which may be no UTF-8.
    [[nodiscard]] std::optional<std::string> text(std::string_view name) const {
        if (const json_part* const part = find(name, json_kind::text))
            return std::string(part->text);
        if (find(name, json_kind::object) == nullptr)
            return {};
        const std::uint32_t bytes = document_.member(0, name);
        const std::uint32_t hex = document_.at(bytes).children == 1 ? document_.member(bytes, "$bytes") : 0;
        return hex != 0 && document_.at(hex).kind == json_kind::text ? bytes_of_hex(document_.at(hex).text)
                                                                     : std::nullopt;
    }

    result<void> read_lines() {
        auto more = next_line();
        if (!more)
            return more.error();
        if (!*more || !number("remanence_dump"))
            return wrong("this is no dump of a heap: the first line is to be {\"remanence_dump\":1,...}");
        if (number("remanence_dump") != 1)
            return wrong("the dump is of a form that this release does not know", errc::unsupported_format);
        bool has_line = false;
        for (;;) {
            if (!has_line) {
                more = next_line();
                if (!more)
                    return more.error();
                if (!*more)
                    return wrong("the dump ends here, without its last line: it is not whole");
            }
            has_line = false;
            if (is_true("end")) {
                if (number("lines") != lines_.number() - 1)
                    return wrong("the dump is not whole, or has lines twice: there are " +
                                 std::to_string(lines_.number() - 1) + " before this one");
                more = next_line();
                if (!more)
                    return more.error();
                return *more ? wrong("there is something behind the dump's last line") : result<void>();
            }
            if (find("types", json_kind::list) != nullptr) {
                REM_TRY(take_schema());
                continue;
            }
            if (document_.member(0, "root") == 0 && document_.member(0, "object") == 0)
                return wrong("it is none of the lines that a dump has here");
            auto ahead = take_object();
            if (!ahead)
                return ahead.error();
            has_line = *ahead;
        }
    }

    result<void> take_schema() {
        const auto index = number("schema");
        if (index != schemas_.size())
            return wrong("schemas are numbered from 0 on, in their order");
        const auto layout = text("layout");
        if (!layout)
            return wrong("the dump does not say how this platform lays out its types: it is of an older release, or "
                         "was not written by rem dump",
                         errc::not_supported);
        const auto encoded = bytes_of_hex(*layout);
        auto decoded = encoded && encoded->size() <= types::k_schema_bytes_max
                           ? type_description::decode(*encoded, types::row_contents::schema)
                           : std::nullopt;
        if (!decoded || !types::is_sound_schema(*decoded))
            return wrong("the layout of its types is damaged");
        known_schema& known = schemas_.emplace_back();
        known.stored = std::move(*decoded);
        known.encoded = *encoded;
        has_pointers_ = has_pointers_ || has_pointer(known.stored);
        const auto hash = text("fingerprint");
        const auto bits = hash ? number_in(*hash, 16) : std::nullopt;
        const auto description = bytes_of_hex(text("description").value_or(""));
        if (!bits || !number("algorithm") || !description || description->size() > types::k_description_bytes_max ||
            (!description->empty() && !type_description::decode(*description)))
            return wrong("the fingerprint of its types is missing, or damaged");
        detail::type_fingerprint& type = known.type;
        const type_row& root = known.stored.rows[known.stored.root];
        type.hash = *bits;
        type.algorithm = static_cast<std::uint32_t>(*number("algorithm"));
        type.shapes = static_cast<std::uint32_t>(number("shapes").value_or(0));
        type.classes_hash = static_cast<std::uint32_t>(number("classes").value_or(0));
        type.description = *description;
        type.nameable = true;
        type.size = root.size;
        type.alignment = root.alignment;
        return {};
    }

    /// How objects of this schema become those of the program, or of the same schema.
    result<way_of_making*> way_for(std::size_t schema, const std::string& type, std::uint32_t row,
                                   const detail::type_to_load* own) {
        auto& made = ways_[{schema, own}];
        if (!made) {
            made = std::make_unique<way_of_making>();
            if (own != nullptr) {
                made->from = &schemas_[schema].stored;
                auto described =
                    type_description::decode(types::schema_of_program(*own->type), types::row_contents::schema);
                if (!described)
                    return wrong("the program's type " + own->type->name + " has no schema", errc::not_supported);
                made->to = std::move(*described);
            } else {
                made->to = schemas_[schema].stored;
                made->from = &made->to; // so that nothing has to be matched
            }
            made->rows = std::make_unique<row_matching>(*made->from, made->to);
            for (const std::string& each : dropped_)
                made->rows->drop(each);
            made->builder = std::make_unique<object_builder>(
                memory_, made->to,
                object_builder::program_functions{.known = own != nullptr ? own->functions
                                                                          : std::span<const detail::key_functions>()});
        }
        const std::uint32_t to_row = own != nullptr ? made->to.root : row;
        if (!made->rows->match(row, to_row)) {
            std::string changes;
            for (const type_change& each : made->rows->changes()) {
                if (!each.is_automatic)
                    changes += (changes.empty() ? "" : "; ") + each.what;
            }
            return wrong("the type " + type + " is another one in this program: " + changes, errc::type_mismatch);
        }
        if (const auto why = conversion::why_not(*made->builder, to_row))
            return wrong(*why, errc::not_supported);
        return made.get();
    }

    /// A root or an object, with its elements. Returns whether the next line has been read.
    result<bool> take_object() {
        const auto name = text("root");
        const auto object = number("object");
        const auto schema = number("schema");
        const auto row = number("type");
        if (!name && !object)
            return wrong("the root or object has no name");
        const std::string owner = name ? *name : "object " + std::to_string(*object);
        if (is_true("hidden"))
            return wrong("the heap did not store the type of the root \"" + owner +
                             "\", so the dump does not have its objects",
                         errc::not_supported);
        if (!schema || *schema >= schemas_.size() || !row || *row >= schemas_[*schema].stored.rows.size())
            return wrong("its type is none of those before it");
        const detail::type_to_load* own = nullptr;
        detail::type_fingerprint type = schemas_[*schema].type;
        if (name) {
            if (*row != schemas_[*schema].stored.root)
                return wrong("its type is not that of its schema");
            const auto type_name = text("name");
            if (!type_name)
                return wrong("the root has no type");
            type.name = *type_name;
            type.position_independent = is_true("position_independent");
            if (roots_.contains(*name))
                return wrong("the root \"" + *name + "\" is there twice");
            auto there = directory_.look_up(*name);
            if (!there)
                return there.error();
            if (*there)
                return wrong("the heap has a root \"" + *name + "\" already: remove it, or load into another heap",
                             errc::exists);
            const auto found = std::find_if(types_.begin(), types_.end(),
                                            [&](const auto& each) { return each.type->name == type.name; });
            if (found != types_.end())
                own = &*found;
        } else if (*object != objects_.size()) {
            return wrong("objects are numbered from 0 on, in their order");
        }
        auto by =
            way_for(*schema, name ? type.name : schemas_[*schema].stored.name_of(static_cast<std::uint32_t>(*row)),
                    static_cast<std::uint32_t>(*row), own);
        if (!by)
            return by.error();
        made_object made{*by, {own != nullptr ? (*by)->to.root : static_cast<std::uint32_t>(*row), 0}};
        std::optional<std::string> behind = std::string();
        if (document_.member(0, "behind") != 0)
            behind = bytes_of_hex(text("behind").value_or("none"));
        const std::uint64_t bytes = (*by)->builder->size_of(made.place.row);
        if (!behind || (!behind->empty() && (name || bytes + behind->size() > alloc::k_granule_bytes)))
            return wrong("\"behind\" are hexadecimal digits: what lies behind a small object in its block of 8 bytes");
        if (!behind->empty())
            behind->resize(alloc::k_granule_bytes - bytes);
        auto place = (*by)->builder->allocate_object(made.place.row, behind->size());
        if (!place)
            return place.error();
        made.place.at = *place;
        (*by)->builder->put_bytes(*place + bytes, reinterpret_cast<const std::byte*>(behind->data()), behind->size());
        if (name) {
            roots_[*name] = made;
            new_roots_.push_back({*name, own, *schema, type});
        } else {
            objects_.push_back(made);
        }
        by_ = *by;
        if (!is_true("elements")) {
            const std::uint32_t value = document_.member(0, "value");
            if (value == 0)
                return wrong("it has no value");
            source_.emplace(document_, *(*by)->from, lines_.number());
            conversion converted(*source_, *(*by)->builder, *(*by)->rows, *this);
            line_of_objects_ = lines_.number();
            if ((*by)->rows->may_lose())
                REM_TRY(refuse_losses(*source_, **by, owner,
                                      {{{static_cast<std::uint32_t>(*row), value}, made.place.row}}));
            if (auto done = converted.make({static_cast<std::uint32_t>(*row), value}, made.place); !done)
                return wrong_in(owner, converted, done.error());
            return false;
        }
        return take_elements(owner, static_cast<std::uint32_t>(*row), made);
    }

    /// The lines up to one of another kind, which stays the current one. Their number is to be known before the first is made (OB2).
    result<bool> take_elements(const std::string& owner, std::uint32_t row, const made_object& made) {
        const type_row& was = made.by->from->rows[row];
        if (!inspect::is_container(was))
            return wrong("a " + made.by->from->name_of(row) + " has no elements");
        const std::uint64_t first_line = lines_.number() + 1;
        kept_lines kept;
        bool has_line = false;
        std::string line;
        for (;;) {
            auto more = lines_.next(line);
            if (!more)
                return wrong(more.why().message, more.why().code);
            if (!*more)
                break;
            if (!line.starts_with("{\"v\":") && !line.starts_with("{\"k\":")) {
                has_line = true;
                break;
            }
            kept.add(line);
        }
        const bool is_map = inspect::is_map(was);
        const bool is_array = !inspect::is_container(made.by->to.rows[made.place.row]) || is_fixed(made);
        if (is_array)
            return wrong("the elements of a " + made.by->to.name_of(made.place.row) + " are to be its value");
        auto filler = made.by->builder->begin(made.place, kept.count());
        if (!filler)
            return filler.error();
        json_document element;
        std::uint64_t number = first_line;
        json_source source(element, *made.by->from, number);
        source_pointer_ = &source;
        conversion converted(source, *made.by->builder, *made.by->rows, *this);
        for (; kept.count() != 0; kept.remove_first(), ++number) {
            const auto no_element = [&](const std::string& why, errc code = errc::invalid_argument) {
                return fail(code,
                            "the dump for " + memory_.path() + " cannot be loaded: line " + std::to_string(number) +
                                ": " + why + ". Nothing was loaded.",
                            memory_.path());
            };
            if (auto parsed = element.parse(kept.first()); !parsed)
                return no_element(parsed.why().message, parsed.why().code);
            const std::uint32_t key = element.member(0, "k");
            const std::uint32_t value = element.member(0, "v");
            if (value == 0 || (key != 0) != is_map || element.root().children != (is_map ? 2U : 1U))
                return no_element(is_map ? "an element of a map is {\"k\":...,\"v\":...}"
                                         : "an element is {\"v\":...}");
            element_place from;
            const inspect::element_rows rows = inspect::rows_of_elements(was);
            from.value = {rows.value, value};
            if (is_map) {
                from.has_key = true;
                from.key = {rows.key, key};
            }
            line_of_objects_ = number;
            if (made.by->rows->may_lose()) {
                const inspect::element_rows becomes = inspect::rows_of_elements(made.by->to.rows[made.place.row]);
                std::vector<std::pair<object_place, std::uint32_t>> parts;
                if (is_map)
                    parts.emplace_back(from.key, becomes.key);
                parts.emplace_back(from.value, becomes.value);
                REM_TRY(
                    refuse_losses(source, *made.by, owner + '[' + std::to_string(number - first_line) + ']', parts));
            }
            if (auto done = converted.make_element(**filler, made.place, from, number - first_line); !done)
                return wrong_in(owner + '[' + std::to_string(number - first_line) + ']', converted, done.error());
        }
        source_pointer_ = nullptr;
        REM_TRY((*filler)->finish());
        if (has_line) {
            line_ = std::move(line);
            REM_TRY(parse_line());
        }
        return has_line;
    }
    /// Before they are made: the first object of which the program's class would not have a value.
    result<void> refuse_losses(object_source& source, const way_of_making& by, const std::string& owner,
                               const std::vector<std::pair<object_place, std::uint32_t>>& parts) const {
        lost_values lost(source, *by.rows);
        for (const auto& [from, to] : parts)
            REM_TRY(lost.look_at(from, to));
        const std::vector<std::string> found = lost.found("name it in load_options::dropped");
        if (found.empty())
            return {};
        return fail(errc::type_mismatch,
                    "the dump for " + memory_.path() + " cannot be loaded: " + source.line() + found.front() + ", in " +
                        owner +
                        ". Nothing was loaded. A file_backed of another form than memory names such members in "
                        "heap.migrate, by .drop().",
                    memory_.path());
    }
    [[nodiscard]] static bool is_fixed(const made_object& made) {
        const type_row& row = made.by->to.rows[made.place.row];
        return row.kind == types::type_kind::array || row.shape == shape_kind::array;
    }

    result<object_place> default_of(object_builder& /*by*/, std::uint32_t row) override {
        return fail(errc::not_supported, "a " + by_->to.name_of(row) + " has members that the dump does not have");
    }

    void element(object_place container, std::uint64_t number, const element_place& to) override {
        const type_row& row = by_->to.rows[container.row];
        const bool is_hashed = row.shape == shape_kind::hash_chain || row.shape == shape_kind::hash_table;
        const bool may_be_sorted = is_ordered(row) && by_->from != &by_->to;
        if (!has_pointers_ || !(is_hashed || may_be_sorted))
            return;
        references_.put_element(container, number, to);
    }

    result<void> point(object_place from, object_place to) override {
        json_source& source = source_pointer_ != nullptr ? *source_pointer_ : *source_;
        auto list = source.reference(from);
        if (!list)
            return list.error();
        auto made = reference_of(source.document(), *list);
        if (!made)
            return source.damaged(from, "a reference is a list of an owner, and then names and numbers");
        made->at = to.at;
        made->pointee = by_->to.name_of(by_->to.rows[to.row].parts[0].type);
        made->line = line_of_objects_;
        references_.add(std::move(*made));
        return {};
    }

    /// Orders of the program's by keys that have pointers: these lead somewhere now.
    result<void> check_orders() {
        for (const new_root& each : new_roots_) {
            const made_object& made = roots_.at(each.name);
            object_builder& builder = *made.by->builder;
            std::vector<bool> is_to_check(made.by->to.rows.size(), false);
            for (std::uint32_t i = 0; i != is_to_check.size(); ++i) {
                is_to_check[i] =
                    is_ordered(builder.row(i)) && builder.functions_of(i) != nullptr && builder.has_pointers_in_keys(i);
            }
            if (std::find(is_to_check.begin(), is_to_check.end(), true) == is_to_check.end())
                continue;
            REM_TRY(inspect::for_each_part(builder.built().reader(), each.name, made.place,
                                           [&](const std::string& path, object_place of, bool) -> result<void> {
                                               return is_to_check[of.row] ? check_order(builder, path, of)
                                                                          : result<void>();
                                           }));
        }
        return {};
    }
    result<void> check_order(object_builder& builder, const std::string& path, object_place container) const {
        const std::byte* before = nullptr;
        return builder.built().for_each_element(container, [&](const element_place& each) -> result<bool> {
            const std::byte* const next = builder.at(each.has_key ? each.key.at : each.value.at);
            const std::string_view fault =
                before == nullptr ? std::string_view()
                                  : fault_of_order(*builder.functions_of(container.row),
                                                   has_several_of_a_key(builder.row(container.row)), before, next);
            before = next;
            if (fault.empty())
                return true;
            return fail(errc::invalid_argument,
                        "the dump for " + memory_.path() + " cannot be loaded: a " +
                            builder.schema().name_of(container.row) + " gets " + std::string(fault) + ", in " + path +
                            ". Nothing was loaded.",
                        memory_.path());
        });
    }

    result<void> add_roots() {
        std::vector<const detail::type_fingerprint*> own;
        std::vector<types::schema_to_store> stored;
        for (const new_root& each : new_roots_) {
            const made_object& made = roots_.at(each.name);
            const detail::type_fingerprint& type = each.own != nullptr ? *each.own->type : each.type;
            REM_TRY(directory_.add(each.name, type, memory_.base() + made.place.at));
            if (each.own == nullptr)
                stored.push_back({{type.hash, type.algorithm, type.shapes, type.classes_hash,
                                   static_cast<std::uint32_t>(schemas_[each.schema].encoded.size())},
                                  schemas_[each.schema].encoded});
            else
                own.push_back(each.own->type);
        }
        if (!own.empty())
            REM_TRY(types::store_schemas(memory_, own));
        return types::store_encoded_schemas(memory_, std::move(stored));
    }

    struct new_root {
        std::string name;
        const detail::type_to_load* own;
        std::size_t schema;
        detail::type_fingerprint type;
    };

    txn::heap_memory& memory_;
    line_reader lines_;
    std::span<const detail::type_to_load> types_;
    const std::vector<std::string>& dropped_;
    types::root_directory directory_;
    std::string line_;
    json_document document_;
    std::deque<known_schema> schemas_;
    std::map<std::pair<std::size_t, const detail::type_to_load*>, std::unique_ptr<way_of_making>> ways_;
    std::map<std::string, made_object> roots_;
    std::vector<new_root> new_roots_;
    std::vector<made_object> objects_;
    dump_references references_;
    bool has_pointers_ = false; // some schema has

    // What is being made.
    way_of_making* by_ = nullptr;
    std::optional<json_source> source_;
    json_source* source_pointer_ = nullptr;
    std::uint64_t line_of_objects_ = 0;
};

} // namespace

result<std::size_t> load_dump(txn::heap_memory& memory, const read_bytes& read,
                              std::span<const detail::type_to_load> types, const std::vector<std::string>& dropped) {
    return dump_loader(memory, read, types, dropped).run();
}

} // namespace remanence::objects
