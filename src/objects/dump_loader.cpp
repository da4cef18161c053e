#include "objects/dump_loader.hpp"

#include "alloc/slab_layout.hpp"
#include "objects/conversion.hpp"
#include "objects/current_line.hpp"
#include "objects/dump_lines.hpp"
#include "objects/dump_references.hpp"
#include "objects/element_line.hpp"
#include "objects/json_document.hpp"
#include "objects/json_source.hpp"
#include "objects/lost_values.hpp"
#include "objects/shared_objects.hpp"
#include "types/class_table.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <utility>

namespace remanence::objects {

using detail::shape_kind;
using types::type_description;
using types::type_row;

namespace {

/// A schema of the dump, and the fingerprint to store for it.
struct known_schema {
    type_description stored;
    detail::type_fingerprint type; // with the name and position independence that the root's entry gets
    std::string encoded;
};

/// A root or an object, as its line in the dump describes it.
struct told_object {
    std::optional<std::string> root; // the root's name; nothing for an object to which only pointers lead
    std::string owner;               // name in messages
    std::size_t schema = 0;
    std::uint32_t row = 0;
    /// The type of the program that has the name `type.name`; null if there is none, or if this is no root.
    const detail::type_to_load* own = nullptr;
    detail::type_fingerprint type; // the root's type
};

/// A vptr in objects of a class.
struct vptr_of_class {
    std::uint64_t position; // in the object
    std::uint64_t number;   // of the entry in the heap's table
};

class dump_loader final : conversion::listener {
public:
    dump_loader(txn::heap_memory& memory, const read_bytes& read, std::span<const detail::type_to_load> types,
                const std::vector<std::string>& dropped)
        : memory_(memory),
          line_(read, memory.path()),
          types_(types),
          dropped_(dropped),
          directory_(memory),
          references_(memory.path()) {}

    result<std::size_t> run() {
        auto whole = read_lines();
        if (!whole)
            return whole.error();
        REM_TRY(references_.resolve(roots_, objects_));
        for (const new_root& each : new_roots_)
            REM_TRY(references_.check_orders(each.name, roots_.at(each.name)));
        REM_TRY(add_roots());
        return new_roots_.size();
    }

private:
    /// Returns the error of a failure while an object was made, and adds the object's place to its message.
    [[nodiscard]] unexpected wrong_in(const std::string& owner, const conversion& by, unexpected why) const {
        if (why.why().code != errc::invalid_argument && why.why().code != errc::not_supported &&
            why.why().code != errc::type_mismatch)
            return why;
        std::string way = by.way();
        if (!way.empty() && way.front() != '[')
            way.insert(0, 1, '.');
        return line_.cannot_load(why.why().message + ", in " + owner + way, why.why().code);
    }

    result<void> read_lines() {
        auto more = line_.next();
        if (!more)
            return more.error();
        if (!*more || !line_.number("remanence_dump"))
            return line_.wrong("this is no dump of a heap: the first line is to be {\"remanence_dump\":1,...}");
        if (line_.number("remanence_dump") != 1)
            return line_.wrong("the dump is of a form that this release does not know", errc::unsupported_format);
        bool has_line = false;
        for (;;) {
            if (!has_line) {
                more = line_.next();
                if (!more)
                    return more.error();
                if (!*more)
                    return line_.wrong("the dump ends here, without its last line: it is not whole");
            }
            has_line = false;
            if (line_.is_true("end")) {
                if (line_.number("lines") != line_.number() - 1)
                    return line_.wrong("the dump is not whole, or has lines twice: there are " +
                                       std::to_string(line_.number() - 1) + " before this one");
                more = line_.next();
                if (!more)
                    return more.error();
                return *more ? line_.wrong("there is something behind the dump's last line") : result<void>();
            }
            if (line_.has_list("types")) {
                REM_TRY(take_schema());
                continue;
            }
            if (line_.has("class")) {
                REM_TRY(take_class());
                continue;
            }
            if (!line_.has("root") && !line_.has("object"))
                return line_.wrong("it is none of the lines that a dump has here");
            auto ahead = take_object();
            if (!ahead)
                return ahead.error();
            has_line = *ahead;
        }
    }

    result<void> take_schema() {
        const auto index = line_.number("schema");
        if (index != schemas_.size())
            return line_.wrong("schemas are numbered from 0 on, in their order");
        const auto layout = line_.text("layout");
        if (!layout)
            return line_.wrong(
                "the dump does not say how this platform lays out its types: it is of an older release, or "
                "was not written by rem dump",
                errc::not_supported);
        const auto encoded = bytes_of_hex(*layout);
        auto decoded = encoded && encoded->size() <= types::k_schema_bytes_max
                           ? type_description::decode(*encoded, types::row_contents::schema)
                           : std::nullopt;
        if (!decoded || !types::is_sound_schema(*decoded))
            return line_.wrong("the layout of its types is damaged");
        known_schema& known = schemas_.emplace_back();
        known.stored = std::move(*decoded);
        known.encoded = *encoded;
        has_pointers_ = has_pointers_ || has_pointer(known.stored);
        const auto hash = line_.text("fingerprint");
        const auto bits = hash ? number_in(*hash, 16) : std::nullopt;
        const auto description = bytes_of_hex(line_.text("description").value_or(""));
        if (!bits || !line_.number("algorithm") || !description ||
            description->size() > types::k_description_bytes_max ||
            (!description->empty() && !type_description::decode(*description)))
            return line_.wrong("the fingerprint of its types is missing, or damaged");
        detail::type_fingerprint& type = known.type;
        const type_row& root = known.stored.rows[known.stored.root];
        type.hash = *bits;
        type.algorithm = static_cast<std::uint32_t>(*line_.number("algorithm"));
        type.shapes = static_cast<std::uint32_t>(line_.number("shapes").value_or(0));
        type.classes_hash = static_cast<std::uint32_t>(line_.number("classes").value_or(0));
        type.description = *description;
        type.nameable = true;
        type.size = root.size;
        type.alignment = root.alignment;
        return {};
    }

    /// Takes a class with virtual functions over into the heap.
    result<void> take_class() {
        const auto name = line_.text("class");
        const auto position = line_.number("position");
        const auto schema = line_.number("schema");
        constexpr std::uint64_t k_position_max = std::uint64_t{1} << 31;
        if (!name || name->empty() || name->find('\0') != std::string::npos || !position ||
            *position >= k_position_max || *position % k_word != 0 || !schema || *schema >= schemas_.size())
            return line_.wrong("the class needs a name, a position, and a schema that comes before it");
        const known_schema& known = schemas_[*schema];
        const type_row& row = known.stored.rows[known.stored.root];
        const std::string readable = detail::readable_name(name->c_str());
        if (!inspect::has_vptr_at(known.stored, known.stored.root, *position) || row.name != readable ||
            *position > row.size - std::min<std::uint64_t>(row.size, k_word))
            return line_.wrong("the schema of the class " + readable + " is of something else");
        auto number = types::admit_class(memory_, {.name = *name,
                                                   .position = static_cast<std::uint32_t>(*position),
                                                   .object_bytes = row.size,
                                                   .fingerprint = known.type.hash});
        if (!number)
            return line_.wrong(number.why().message, number.why().code);
        classes_[readable].push_back({*position, *number});
        schemas_of_classes_.insert(*schema);
        return {};
    }

    /// Returns how objects of a line's schema are made: as the program's type if there is one, or else by the dump's
    /// schema.
    result<way_of_making*> way_for(const told_object& told) {
        const detail::type_to_load* const own = told.own;
        auto& made = ways_[{told.schema, own}];
        if (!made) {
            made = std::make_unique<way_of_making>();
            if (own != nullptr) {
                made->from = &schemas_[told.schema].stored;
                auto described =
                    type_description::decode(types::schema_of_program(*own->type), types::row_contents::schema);
                if (!described)
                    return line_.wrong("the program's type " + own->type->name + " has no schema", errc::not_supported);
                made->to = std::move(*described);
                REM_TRY(refuse_new_vptrs(*made));
            } else {
                made->to = schemas_[told.schema].stored;
                made->from = &made->to; // the same schema, so that all rows match
            }
            made->rows = std::make_unique<row_matching>(*made->from, made->to);
            for (const std::string& each : dropped_)
                made->rows->drop(each);
            made->builder = std::make_unique<object_builder>(
                memory_, made->to,
                object_builder::program_functions{.known = own != nullptr ? own->functions
                                                                          : std::span<const detail::key_functions>()});
        }
        const std::uint32_t to_row = own != nullptr ? made->to.root : told.row;
        if (!made->rows->match(told.row, to_row)) {
            std::string changes;
            for (const type_change& each : made->rows->changes()) {
                if (!each.is_automatic)
                    changes += (changes.empty() ? "" : "; ") + each.what;
            }
            const std::string type = told.root ? told.type.name : schemas_[told.schema].stored.name_of(told.row);
            return line_.wrong("the type " + type + " is another one in this program: " + changes, errc::type_mismatch);
        }
        if (const auto why = conversion::why_not(*made->builder, to_row))
            return line_.wrong(*why, errc::not_supported);
        return made.get();
    }

    /// Refuses the program's type if a class in it has virtual functions that the class did not have when the dump was
    /// written, so that the dump does not say where the vptrs are.
    result<void> refuse_new_vptrs(const way_of_making& by) const {
        for (const type_row& is : by.to.rows) {
            const auto is_same = [&](const type_row& was) { return was.name == is.name && inspect::has_vptr(was); };
            if (inspect::has_vptr(is) && std::none_of(by.from->rows.begin(), by.from->rows.end(), is_same))
                return line_.wrong("the class " + is.name +
                                       " has virtual functions in this program, and had none in the "
                                       "dump",
                                   errc::type_mismatch);
        }
        return {};
    }

    /// Reads a root or an object with its elements. Returns true if it has already read the next line.
    result<bool> take_object() {
        told_object told;
        REM_TRY(read_object(told));
        auto made = make_place(told);
        if (!made)
            return made.error();
        by_ = made->by;
        if (line_.is_true("elements"))
            return take_elements(told, *made);
        REM_TRY(take_value(told, *made));
        return false;
    }

    result<void> read_object(told_object& told) {
        told.root = line_.text("root");
        const auto object = line_.number("object");
        const auto schema = line_.number("schema");
        const auto row = line_.number("type");
        if (!told.root && !object)
            return line_.wrong("the root or object has no name");
        told.owner = told.root ? *told.root : "object " + std::to_string(*object);
        if (line_.is_true("hidden"))
            return line_.wrong("the heap did not store the type of the root \"" + told.owner +
                                   "\", so the dump does not have its objects",
                               errc::not_supported);
        if (!schema || *schema >= schemas_.size() || !row || *row >= schemas_[*schema].stored.rows.size())
            return line_.wrong("its type is none of those before it");
        told.schema = *schema;
        told.row = static_cast<std::uint32_t>(*row);
        if (told.root)
            return read_root(told);
        if (*object != objects_.size())
            return line_.wrong("objects are numbered from 0 on, in their order");
        return {};
    }

    result<void> read_root(told_object& told) {
        const std::string& name = *told.root;
        if (told.row != schemas_[told.schema].stored.root)
            return line_.wrong("its type is not that of its schema");
        const auto type_name = line_.text("name");
        if (!type_name)
            return line_.wrong("the root has no type");
        told.type = schemas_[told.schema].type;
        told.type.name = *type_name;
        told.type.position_independent = line_.is_true("position_independent");
        if (roots_.contains(name))
            return line_.wrong("the root \"" + name + "\" is there twice");
        auto there = directory_.look_up(name);
        if (!there)
            return there.error();
        if (*there)
            return line_.wrong("the heap has a root \"" + name + "\" already: remove it, or load into another heap",
                               errc::exists);
        const auto found = std::find_if(types_.begin(), types_.end(),
                                        [&](const auto& each) { return each.type->name == told.type.name; });
        if (found != types_.end())
            told.own = &*found;
        return {};
    }

    /// Allocates the object in zeroed memory. Writes the bytes that follow a small object in its block.
    result<made_object> make_place(const told_object& told) {
        auto by = way_for(told);
        if (!by)
            return by.error();
        object_builder& builder = *(*by)->builder;
        made_object made{*by, {told.own != nullptr ? (*by)->to.root : told.row, 0}};
        std::optional<std::string> behind = std::string();
        if (line_.has("behind"))
            behind = bytes_of_hex(line_.text("behind").value_or("none"));
        const std::uint64_t bytes = builder.size_of(made.place.row);
        if (!behind || (!behind->empty() && (told.root || bytes + behind->size() > alloc::k_granule_bytes)))
            return line_.wrong(
                "\"behind\" are hexadecimal digits: what lies behind a small object in its block of 8 bytes");
        if (!behind->empty())
            behind->resize(alloc::k_granule_bytes - bytes);
        auto place = builder.allocate_object(made.place.row, behind->size());
        if (!place)
            return place.error();
        made.place.at = *place;
        builder.put_bytes(*place + bytes, reinterpret_cast<const std::byte*>(behind->data()), behind->size());
        if (told.root) {
            roots_[*told.root] = made;
            new_roots_.push_back({*told.root, told.own, told.schema, told.type});
        } else {
            objects_.push_back(made);
        }
        return made;
    }

    result<void> take_value(const told_object& told, const made_object& made) {
        const std::uint32_t value = line_.document().member(0, "value");
        if (value == 0)
            return line_.wrong("it has no value");
        source_.emplace(line_.document(), *made.by->from, line_.number());
        conversion converted(*source_, *made.by->builder, *made.by->rows, *this);
        line_of_objects_ = line_.number();
        const object_place from{told.row, value};
        if (made.by->rows->may_lose())
            REM_TRY(refuse_losses(*source_, *made.by, told.owner, {{from, made.place.row}}));
        if (auto done = converted.make(from, made.place); !done)
            return wrong_in(told.owner, converted, done.error());
        return {};
    }

    /// Reads the lines of elements, and then makes the elements, because their number must be known before the first is
    /// made (OB2). Returns true if it has read the next line, which becomes the current one.
    result<bool> take_elements(const told_object& told, const made_object& made) {
        if (!inspect::is_container(made.by->from->rows[told.row]))
            return line_.wrong("a " + made.by->from->name_of(told.row) + " has no elements");
        const std::uint64_t first_line = line_.number() + 1;
        auto quick = made.by->rows->may_lose() ? std::nullopt
                                               : element_line::of(*made.by->rows, *made.by->builder, told.row,
                                                                  made.place.row, line_.is_binary());
        kept_lines kept;
        std::string_view behind;
        auto has_line = line_.keep_elements(kept, behind, quick.has_value());
        if (!has_line)
            return has_line.error();
        const bool is_array = !inspect::is_container(made.by->to.rows[made.place.row]) || is_fixed(made);
        if (is_array)
            return line_.wrong("the elements of a " + made.by->to.name_of(made.place.row) + " are to be its value");
        auto filler = made.by->builder->begin(made.place, kept.count());
        if (!filler)
            return filler.error();
        REM_TRY(make_elements(told, made, quick ? &*quick : nullptr, kept, first_line, **filler));
        REM_TRY((*filler)->finish());
        if (*has_line)
            REM_TRY(line_.take(behind));
        return *has_line;
    }

    /// `quick` reads lines as a dump writes them; null if it cannot read these elements.
    result<void> make_elements(const told_object& told, const made_object& made, element_line* quick, kept_lines& kept,
                               std::uint64_t first_line, container_filler& filler) {
        json_document document;
        item_decoder decoder;
        std::uint64_t number = first_line;
        json_source source(document, *made.by->from, number);
        source_pointer_ = &source;
        conversion converted(source, *made.by->builder, *made.by->rows, *this);
        for (; kept.count() != 0; ++number) {
            std::string_view line = kept.take_first();
            const std::uint64_t index = number - first_line;
            line_of_objects_ = number;
            if (quick != nullptr && quick->parse(line)) {
                if (auto done = converted.put_element(filler, made.place, *quick, index); !done)
                    return wrong_in(element_name(told, index), converted, done.error());
                continue;
            }
            if (line_.is_binary() && is_element_item(line)) {
                auto decoded = decoder.decode(line);
                if (!decoded)
                    return line_.wrong_at(number, decoded.why().message, decoded.why().code);
                line = *decoded;
            }
            if (auto parsed = document.parse(line); !parsed)
                return line_.wrong_at(number, parsed.why().message, parsed.why().code);
            REM_TRY(make_element(told, made, source, converted, index, filler));
        }
        source_pointer_ = nullptr;
        return {};
    }
    static std::string element_name(const told_object& told, std::uint64_t index) {
        return told.owner + '[' + std::to_string(index) + ']';
    }

    /// Makes the element of the line that `source` reads.
    result<void> make_element(const told_object& told, const made_object& made, json_source& source,
                              conversion& converted, std::uint64_t index, container_filler& filler) {
        const type_row& was = made.by->from->rows[told.row];
        const auto from = element_in(source.document(), was);
        if (!from)
            return line_.wrong_at(line_of_objects_, inspect::is_map(was)
                                                        ? "an element of a map is {\"k\":...,\"v\":...}"
                                                        : "an element is {\"v\":...}");
        if (made.by->rows->may_lose()) {
            const inspect::element_rows becomes = inspect::rows_of_elements(made.by->to.rows[made.place.row]);
            std::vector<std::pair<object_place, std::uint32_t>> parts;
            if (from->has_key)
                parts.emplace_back(from->key, becomes.key);
            parts.emplace_back(from->value, becomes.value);
            REM_TRY(refuse_losses(source, *made.by, element_name(told, index), parts));
        }
        if (auto done = converted.make_element(filler, made.place, *from, index); !done)
            return wrong_in(element_name(told, index), converted, done.error());
        return {};
    }

    /// Called before objects are made. Refuses the first one that has a value for which the program's class has no
    /// member.
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

    // A base gets the vptrs that it would have as an object of its own, and then those of the whole object.
    result<void> vptr(object_builder& by, object_place to, bool is_base) override {
        const std::string& name = by.row(to.row).name;
        const auto found = classes_.find(name);
        if (found != classes_.end()) {
            for (const vptr_of_class& each : found->second)
                by.put_word(to.at + each.position, format::stall_point(by.base(), each.number));
        }
        if (is_base || have_all_vptrs_.contains(&by.row(to.row)))
            return {};
        if (found != classes_.end() && has_all_vptrs(by.schema(), to.row, found->second)) {
            have_all_vptrs_.insert(&by.row(to.row));
            return {};
        }
        return line_.wrong_at(line_of_objects_, "the dump does not say where objects of the class " + name +
                                                    " have their vptrs: a line \"class\" is missing before it");
    }
    /// True if the positions are those of all vptrs in objects of this row.
    static bool has_all_vptrs(const type_description& schema, std::uint32_t row,
                              const std::vector<vptr_of_class>& known) {
        for (std::uint64_t at = 0; at < schema.rows[row].size; at += k_word) {
            const auto is_there = [&](const vptr_of_class& each) { return each.position == at; };
            if (inspect::has_vptr_at(schema, row, at) && std::none_of(known.begin(), known.end(), is_there))
                return false;
        }
        return true;
    }

    void element(object_place container, std::uint64_t number, const element_place& to) override {
        if (!has_pointers_)
            return;
        const type_row& row = by_->to.rows[container.row];
        const bool is_hashed = row.shape == shape_kind::hash_chain || row.shape == shape_kind::hash_table;
        const bool may_be_sorted = is_ordered(row) && by_->from != &by_->to;
        if (is_hashed || may_be_sorted)
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
        for (const std::size_t each : schemas_of_classes_) {
            const detail::type_fingerprint& type = schemas_[each].type;
            stored.push_back({{type.hash, type.algorithm, type.shapes, type.classes_hash,
                               static_cast<std::uint32_t>(schemas_[each].encoded.size())},
                              schemas_[each].encoded});
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
    current_line line_;
    std::span<const detail::type_to_load> types_;
    const std::vector<std::string>& dropped_;
    types::root_directory directory_;
    std::deque<known_schema> schemas_;
    std::map<std::string, std::vector<vptr_of_class>> classes_; // with virtual functions, by name
    std::set<std::size_t> schemas_of_classes_;
    std::set<const type_row*> have_all_vptrs_; // rows of classes whose vptrs are all known
    std::map<std::pair<std::size_t, const detail::type_to_load*>, std::unique_ptr<way_of_making>> ways_;
    std::map<std::string, made_object> roots_;
    std::vector<new_root> new_roots_;
    std::vector<made_object> objects_;
    dump_references references_;
    bool has_pointers_ = false; // whether a schema of the dump has pointers

    // The object that is being made:
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
