#include "objects/dump_loader.hpp"

#include "alloc/slab_layout.hpp"
#include "inspect/object_parts.hpp"
#include "objects/binary_form.hpp"
#include "objects/conversion.hpp"
#include "objects/json_document.hpp"
#include "objects/json_source.hpp"
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
#include <tuple>
#include <unordered_map>
#include <utility>

namespace remanence::objects {

using detail::shape_kind;
using types::type_description;
using types::type_part;
using types::type_row;

namespace {

/// Lines without their ends; the items of a dump in the binary form as lines.
class line_reader {
public:
    explicit line_reader(const read_bytes& read) : input_(read), binary_(input_) {}

    /// False at the end. errc::invalid_argument: it is too long, or none.
    result<bool> next(std::string& line) {
        if (number_ == 0)
            is_binary_ = input_.peek() == static_cast<unsigned char>(k_binary_mark.front());
        line.clear();
        if (input_.peek() < 0)
            return false;
        ++number_;
        if (is_binary_)
            return binary_.next(line);
        while (!input_.take_to(line, '\n')) {
            if (line.size() > k_line_bytes_max)
                return fail(errc::invalid_argument, "it is longer than 4 GiB");
        }
        return true;
    }
    /// Of the line that next() gave.
    [[nodiscard]] const std::uint64_t& number() const { return number_; }

private:
    buffered_input input_;
    binary_reader binary_;
    bool is_binary_ = false;
    std::uint64_t number_ = 0;
};

/// The lines of a root's elements, some in each string, so that most need no allocation; freed as they are used.
class kept_lines {
public:
    void add(std::string_view line) {
        if (pieces_.empty() || pieces_.back().size() + line.size() >= pieces_.back().capacity())
            pieces_.emplace_back().reserve(std::max(k_piece_bytes, line.size() + 1));
        pieces_.back().append(line) += '\n';
        ++count_;
    }
    [[nodiscard]] std::uint64_t count() const { return count_; }
    /// Precondition of both: there is one.
    [[nodiscard]] std::string_view first() const {
        const std::string& piece = pieces_.front();
        return std::string_view(piece).substr(at_, piece.find('\n', at_) - at_);
    }
    void remove_first() {
        at_ = pieces_.front().find('\n', at_) + 1;
        if (at_ == pieces_.front().size()) {
            pieces_.pop_front();
            at_ = 0;
        }
        --count_;
    }

private:
    static constexpr std::size_t k_piece_bytes = std::size_t{1} << 20;

    std::deque<std::string> pieces_;
    std::size_t at_ = 0; // in the first
    std::uint64_t count_ = 0;
};

struct reference_step {
    bool is_member = false;
    std::uint64_t index = 0;
    std::string member = {};
    friend auto operator<=>(const reference_step&, const reference_step&) = default;
};

/// A pointer that was made null, and where it is to lead.
struct reference {
    bool is_in_object = false;
    std::string root = {};
    std::uint64_t object = 0;
    std::vector<reference_step> steps = {};
    std::uint64_t at = 0;     // heap offset of the pointer
    std::string pointee = {}; // the name of the type
    std::uint64_t line = 0;
    [[nodiscard]] auto way() const { return std::tie(is_in_object, root, object, steps); }
};

/// A schema of the dump, or the program's own of the same type.
struct known_schema {
    type_description stored;
    detail::type_fingerprint type; // its name and place-independence are those of a root
    std::string encoded;
};

/// How the objects of a type are made.
struct way_of_making {
    const type_description* from;
    type_description to;
    std::unique_ptr<row_matching> rows;
    std::unique_ptr<object_builder> builder;
};

struct made_object {
    way_of_making* by = nullptr;
    object_place place;
};

class dump_loader final : conversion::listener {
public:
    dump_loader(txn::heap_memory& memory, const read_bytes& read, std::span<const detail::type_to_load> types)
        : memory_(memory), lines_(read), types_(types), directory_(memory) {}

    result<std::size_t> run() {
        auto whole = read_lines();
        if (!whole)
            return whole.error();
        REM_TRY(resolve_references());
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
        if (why.why().code != errc::invalid_argument && why.why().code != errc::not_supported)
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
    static bool read_number(std::string_view text, int radix, std::uint64_t& value) {
        const auto read = std::from_chars(text.data(), text.data() + text.size(), value, radix);
        return read.ec == std::errc() && read.ptr == text.data() + text.size();
    }
    static std::optional<std::uint64_t> number_in(std::string_view text, int radix) {
        std::uint64_t value = 0;
        return read_number(text, radix, value) ? std::optional(value) : std::nullopt;
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
                detail::structure_writer out;
                own->type->structure(out);
                auto described = type_description::decode(std::move(out).schema(), types::row_contents::schema);
                if (!described)
                    return wrong("the program's type " + own->type->name + " has no schema", errc::not_supported);
                made->to = std::move(*described);
            } else {
                made->to = schemas_[schema].stored;
                made->from = &made->to; // so that nothing has to be matched
            }
            made->rows = std::make_unique<row_matching>(*made->from, made->to);
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
            from.value = {was.parts[is_map ? 1 : 0].type, value};
            if (is_map) {
                from.has_key = true;
                from.key = {was.parts[0].type, key};
            }
            line_of_objects_ = number;
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
    [[nodiscard]] static bool is_fixed(const made_object& made) {
        const type_row& row = made.by->to.rows[made.place.row];
        return row.kind == types::type_kind::array || row.shape == shape_kind::array;
    }

    result<object_place> default_of(object_builder& /*by*/, std::uint32_t row) override {
        return fail(errc::not_supported, "a " + by_->to.name_of(row) + " has members that the dump does not have");
    }

    /// References count elements as the dump does. Those of hash containers come to lie in another order, and so do those that are sorted.
    void element(object_place container, std::uint64_t number, const element_place& to) override {
        const type_row& row = by_->to.rows[container.row];
        const bool is_hashed = row.shape == shape_kind::hash_chain || row.shape == shape_kind::hash_table;
        const bool may_be_sorted = is_ordered(row) && by_->from != &by_->to;
        if (!has_pointers_ || !(is_hashed || may_be_sorted))
            return;
        auto& all = elements_[container.at];
        all.resize(std::max<std::size_t>(all.size(), number + 1));
        all[number] = to;
    }

    result<void> point(object_place from, object_place to) override {
        json_source& source = source_pointer_ != nullptr ? *source_pointer_ : *source_;
        auto list = source.reference(from);
        if (!list)
            return list.error();
        reference made;
        made.at = to.at;
        made.pointee = by_->to.name_of(by_->to.rows[to.row].parts[0].type);
        made.line = line_of_objects_;
        const json_document& document = source.document();
        const json_part& all = document.at(*list);
        const auto no_way = [&] {
            return source.damaged(from, "a reference is a list of an owner, and then names and numbers");
        };
        bool is_first = true;
        for (std::uint32_t i = *list + 1; i != all.next; i = document.at(i).next) {
            const json_part& part = document.at(i);
            std::uint64_t index = 0;
            const bool is_index = part.kind == json_kind::number && read_number(part.text, 10, index);
            // A name that is no UTF-8.
            const std::uint32_t hex =
                part.kind == json_kind::object && part.children == 1 ? document.member(i, "$bytes") : 0;
            std::optional<std::string> name;
            if (part.kind == json_kind::text)
                name = std::string(part.text);
            else if (hex != 0 && document.at(hex).kind == json_kind::text)
                name = bytes_of_hex(document.at(hex).text);
            if (!is_index && !name)
                return no_way();
            if (is_first) {
                made.is_in_object = is_index;
                made.object = index;
                made.root = name.value_or("");
            } else {
                made.steps.push_back({name.has_value(), index, name.value_or("")});
            }
            is_first = false;
        }
        references_.push_back(std::move(made));
        return {};
    }

    // References: all of them in one walk, in the order of their ways.

    using references_span = std::span<const reference>;
    [[nodiscard]] unexpected leads_nowhere(const reference& which, const std::string& why) const {
        return fail(errc::invalid_argument,
                    "the dump for " + memory_.path() + " cannot be loaded: line " + std::to_string(which.line) +
                        ": a reference leads to " + why + ". Nothing was loaded.",
                    memory_.path());
    }

    result<void> resolve_references() {
        std::sort(references_.begin(), references_.end(),
                  [](const reference& a, const reference& b) { return a.way() < b.way(); });
        for (std::size_t i = 0; i != references_.size();) {
            std::size_t end = i;
            const reference& first = references_[i];
            while (end != references_.size() && references_[end].is_in_object == first.is_in_object &&
                   references_[end].root == first.root && references_[end].object == first.object)
                ++end;
            const made_object* owner = nullptr;
            if (first.is_in_object)
                owner = first.object < objects_.size() ? &objects_[first.object] : nullptr;
            else if (const auto found = roots_.find(first.root); found != roots_.end())
                owner = &found->second;
            if (owner == nullptr)
                return leads_nowhere(first, first.is_in_object
                                                ? "object " + std::to_string(first.object) + ", which is not there"
                                                : "a root \"" + first.root + "\", which is not there");
            REM_TRY(resolve(*owner->by, owner->place, references_span(references_).subspan(i, end - i), 0));
            i = end;
        }
        return {};
    }

    /// What holds an object in its own place, and is no step on the way to it.
    static result<std::optional<object_place>> inner(way_of_making& by, object_place place) {
        const type_row& row = by.to.rows[place.row];
        if (row.shape == shape_kind::same_as_part)
            return std::optional(object_place{row.parts[row.numbers[0]].type, place.at});
        if (row.shape == shape_kind::optional || row.shape == shape_kind::variant) {
            auto held = by.builder->built().held(place);
            if (!held)
                return held.error();
            return *held ? std::optional<object_place>(**held) : std::nullopt;
        }
        return std::optional<object_place>();
    }

    // NOLINTNEXTLINE(misc-no-recursion): as deep as objects are
    result<void> resolve(way_of_making& by, object_place place, references_span which, std::size_t depth) {
        while (!which.empty() && which.front().steps.size() == depth) {
            object_place found = place;
            while (by.to.name_of(found.row) != which.front().pointee) {
                auto held = inner(by, found);
                if (!held)
                    return held.error();
                if (!*held)
                    return leads_nowhere(which.front(),
                                         "a " + by.to.name_of(place.row) + ", not to a " + which.front().pointee);
                found = **held;
            }
            by.builder->put_address(which.front().at, found.at);
            which = which.subspan(1);
        }
        if (which.empty())
            return {};
        for (;;) {
            auto held = inner(by, place);
            if (!held)
                return held.error();
            if (!*held)
                break;
            place = **held;
        }
        const type_row& row = by.to.rows[place.row];
        const auto group = [&](const reference_step& step) {
            std::size_t count = 0;
            while (count != which.size() && which[count].steps[depth] == step)
                ++count;
            const references_span all = which.first(count);
            which = which.subspan(count);
            return all;
        };
        if (const auto* const members = members_of(row)) {
            while (!which.empty()) {
                const reference_step& step = which.front().steps[depth];
                const auto found = std::find_if(members->begin(), members->end(), [&](const type_part& each) {
                    return each.offset && step.is_member &&
                           (each.name.empty() ? by.to.rows[each.type].name : each.name) == step.member;
                });
                if (found == members->end())
                    return leads_nowhere(which.front(),
                                         "a member that a " + by.to.name_of(place.row) + " does not have");
                REM_TRY(resolve(by, {found->type, place.at + *found->offset}, group(step), depth + 1));
            }
            return {};
        }
        if (!inspect::is_container(row))
            return leads_nowhere(which.front(), "a part of a " + by.to.name_of(place.row) + ", which has none");
        std::uint64_t index = 0;
        const auto visit = [&](const element_place& each) -> result<bool> {
            const reference_step here{false, index++, {}};
            if (which.front().steps[depth] != here)
                return true;
            references_span in_element = group(here);
            if (!each.has_key) {
                REM_TRY(resolve(by, each.value, in_element, depth + 1));
                return !which.empty();
            }
            for (std::uint64_t side = 0; side != 2; ++side) {
                std::size_t count = 0;
                while (count != in_element.size() && in_element[count].steps.size() > depth + 1 &&
                       in_element[count].steps[depth + 1] == reference_step{false, side, {}})
                    ++count;
                REM_TRY(resolve(by, side == 0 ? each.key : each.value, in_element.first(count), depth + 2));
                in_element = in_element.subspan(count);
            }
            if (!in_element.empty())
                return leads_nowhere(in_element.front(),
                                     "an element of a map, and neither its key (0) nor its value (1)");
            return !which.empty();
        };
        if (const auto as_dumped = elements_.find(place.at); as_dumped != elements_.end()) {
            for (auto each = as_dumped->second.begin(); each != as_dumped->second.end() && !which.empty(); ++each) {
                if (auto more = visit(*each); !more)
                    return more.error();
            }
        } else {
            REM_TRY(by.builder->built().for_each_element(place, visit));
        }
        if (!which.empty())
            return leads_nowhere(which.front(), "an element that a " + by.to.name_of(place.row) + " does not have");
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
    types::root_directory directory_;
    std::string line_;
    json_document document_;
    std::deque<known_schema> schemas_;
    std::map<std::pair<std::size_t, const detail::type_to_load*>, std::unique_ptr<way_of_making>> ways_;
    std::map<std::string, made_object> roots_;
    std::vector<new_root> new_roots_;
    std::vector<made_object> objects_;
    std::vector<reference> references_;
    bool has_pointers_ = false;                                              // some schema has
    std::unordered_map<std::uint64_t, std::vector<element_place>> elements_; // of containers, as the dump has them

    // What is being made.
    way_of_making* by_ = nullptr;
    std::optional<json_source> source_;
    json_source* source_pointer_ = nullptr;
    std::uint64_t line_of_objects_ = 0;
};

} // namespace

result<std::size_t> load_dump(txn::heap_memory& memory, const read_bytes& read,
                              std::span<const detail::type_to_load> types) {
    return dump_loader(memory, read, types).run();
}

} // namespace remanence::objects
