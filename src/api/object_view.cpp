// Views of objects by the heap's schema: a public face of inspect::object_reader for heaps that are open. A separate
// file, so that programs that do not use views do not link that code.

#include <remanence/object_view.hpp>

#include "api/heap_impl.hpp"
#include "api/heap_reading.hpp"
#include "api/raise.hpp"
#include "inspect/element_cursor.hpp"
#include "inspect/object_classes.hpp"
#include "inspect/object_number.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"
#include "objects/wanted_key.hpp"
#include "types/root_reader.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::inspect {

using detail::heap_impl;
using detail::raise;
using detail::shape_kind;
using types::type_part;
using types::type_row;

/// What all views of a root have in common.
struct object_context {
    std::weak_ptr<heap_impl*> heap; // expired once the heap is closed
    std::string path;
    std::shared_ptr<const types::type_description> schema;
};

struct object_position : element_position {};

namespace {

template <class T>
T read_or_raise(result<T> from) {
    if (!from)
        raise(from.why());
    return std::move(*from);
}

heap_impl* heap_of(const object_context& of) {
    const std::shared_ptr<heap_impl*> open = of.heap.lock();
    if (!open)
        raise(errc::closed,
              of.path + " is closed, so a view of its objects shows nothing. Open it, and get views anew.", of.path);
    return *open;
}

heap_to_read readable(types::memory_bytes& bytes, heap_impl& impl) {
    heap_to_read heap = detail::to_read(bytes, impl.memory());
    heap.base = impl.engine().recorded_base(); // pointers lead there, wherever the heap is mapped
    return heap;
}

/// A call that reads objects: its section, and its reader.
class view_call {
public:
    explicit view_call(const object_context& of) : view_call(of, *heap_of(of)) {}

private:
    view_call(const object_context& of, heap_impl& impl)
        : impl_(impl),
          section_(&impl),
          whole_(impl.calls),
          bytes_(impl.memory()),
          reader(bytes_, of.path, impl.engine().recorded_base(), impl.memory().accessible_bytes(), *of.schema) {}

    heap_impl& impl_;
    detail::read_section section_;
    detail::whole_call whole_;
    types::memory_bytes bytes_;

public:
    object_reader reader;
    /// Returns the classes of objects with virtual functions. O(these classes).
    object_classes classes() { return read_or_raise(object_classes::of(readable(bytes_, impl_))); }
};

std::shared_ptr<const object_context> context_of(heap_impl& impl, types::type_description schema) {
    static std::mutex among_readers; // heap_impl::watch() changes the heap's object; writers exclude these readers
    const std::lock_guard alone(among_readers);
    return std::make_shared<object_context>(object_context{
        impl.watch(), impl.memory().path(), std::make_shared<types::type_description>(std::move(schema))});
}

} // namespace

struct object_access {
    static object_view view(const std::shared_ptr<const object_context>& context, const object_place& of) {
        object_view made;
        made.context_ = context;
        made.at_ = of.at;
        made.row_ = of.row;
        made.first_bit_ = of.first_bit;
        made.bits_ = of.bits;
        return made;
    }
    static object_view view(const object_view& beside, const object_place& of) { return view(beside.context_, of); }
    static object_element element(const object_view& container, const element_place& of) {
        object_element made{std::nullopt, view(container, of.value)};
        if (of.has_key)
            made.key = view(container, of.key);
        return made;
    }
    static object_cursor cursor(const object_view& container, object_position at) {
        return {container, std::make_unique<object_position>(std::move(at))};
    }
    static const object_context& context(const object_view& of) { return *of.context_; }
    static const types::type_description& schema(const object_view& of) { return *of.context_->schema; }
    /// Returns the place of an object, or of what a std::atomic and the like contain.
    static object_place place(const object_view& of) {
        object_place at{of.row_, of.at_, of.first_bit_, of.bits_};
        const auto& rows = schema(of).rows;
        while (form_of(rows[at.row]) == form::same) // ends, because no object contains itself
            at.row = rows[at.row].parts[rows[at.row].numbers[0]].type;
        return at;
    }
    static const type_row& row(const object_view& of) { return schema(of).rows[place(of).row]; }
    static std::string type(const object_view& of) { return schema(of).name_of(of.row_); }
    static objects::stated_key stated(const object_key& key) {
        objects::stated_key made;
        if (const auto* const text = std::get_if<std::string_view>(&key.value_))
            made.text = *text;
        else if (const auto* const real = std::get_if<long double>(&key.value_))
            made.number = {.is_real = true, .real = *real};
        else if (const auto* const whole = std::get_if<std::int64_t>(&key.value_))
            made.number = {.is_negative = *whole < 0, .bits = static_cast<std::uint64_t>(*whole)};
        else
            made.number = {.bits = std::get<std::uint64_t>(key.value_)};
        return made;
    }
    /// Refuses a call that has no meaning for objects of this kind.
    [[noreturn]] static void refuse(const object_view& of, std::string_view what) {
        raise(errc::invalid_argument,
              "a " + type(of) + " of " + context(of).path + " is no " + std::string(what) +
                  ". Ask object_view::kind() first.",
              context(of).path);
    }
};

namespace {

/// Returns the size of an object in bytes; 0 if it is not known, or if the object is a part of a record of a packed map.
std::uint64_t size_in_heap(const object_view& of) {
    const object_place at = object_access::place(of);
    const types::type_description& schema = object_access::schema(of);
    return schema.rows[at.row].shape == shape_kind::packed_text ? 0 : size_of(schema, at.row);
}

bool is_number(const object_view& of) { return form_of(object_access::row(of)) == form::number; }

whole_or_real number_in(const object_view& of) {
    if (!is_number(of))
        object_access::refuse(of, "number");
    view_call call(object_access::context(of));
    return read_or_raise(number_of(call.reader, object_access::place(of)));
}

whole_or_real whole_number_in(const object_view& of) {
    if (object_access::row(of).shape == shape_kind::floating)
        object_access::refuse(of, "whole number");
    return number_in(of);
}

[[noreturn]] void raise_loss(const object_view& of, std::string_view result) {
    const object_context& context = object_access::context(of);
    raise(errc::not_supported,
          "a " + object_access::type(of) + " of " + context.path + " has a value that no " + std::string(result) +
              " can hold exactly. Ask for another type of number.",
          context.path);
}

bool is_text_like(const object_view& of) {
    const form what = form_of(object_access::row(of));
    return what == form::text || what == form::serialised ||
           is_character_array(object_access::schema(of), object_access::place(of).row);
}

void need_container(const object_view& of) {
    if (!is_container(object_access::row(of)) || is_text_like(of))
        object_access::refuse(of, "container");
}

void need_keys(const object_view& of) {
    if (form_of(object_access::row(of)) < form::set)
        object_access::refuse(of, "set or map");
}

const std::vector<type_part>& members_in(const object_view& of) {
    const std::vector<type_part>* const members = members_of(object_access::row(of));
    if (members == nullptr)
        object_access::refuse(of, "class with members that are known");
    return *members;
}

/// Calls `use(part, place)` for each member that has a place, until it returns true.
template <class Use>
void for_each_member(const object_view& of, const Use& use) {
    const std::vector<type_part>& members = members_in(of);
    const object_place at = object_access::place(of);
    for (std::size_t i = 0; i != members.size(); ++i) {
        const auto place = place_of_member(object_access::row(of), members, i, at.at);
        if (place && use(members[i], *place))
            return;
    }
}

[[noreturn]] void raise_no_member(const object_view& of, const std::string& wanted) {
    const object_context& context = object_access::context(of);
    std::string known;
    for_each_member(of, [&](const type_part& part, const object_place&) {
        known += (known.empty() ? "" : ", ") + member_name(*context.schema, part);
        return false;
    });
    raise(errc::not_found,
          "a " + object_access::type(of) + " of " + context.path + " has no member " + wanted + "; its members are " +
              (known.empty() ? "none" : known) + ".",
          context.path);
}

constexpr std::uint64_t k_steps_least = 1;

} // namespace

object_kind object_view::kind() const {
    const type_row& row = object_access::row(*this);
    switch (form_of(row)) {
    case form::pointer:
        return object_kind::pointer;
    case form::number:
        break;
    case form::text:
        return object_kind::text;
    case form::serialised:
        return object_kind::serialised;
    case form::same: // place() never returns it
    case form::hidden:
        return object_kind::opaque;
    case form::members:
        return row.name.starts_with("std::pair<") || row.name.starts_with("std::tuple<") ? object_kind::tuple
                                                                                         : object_kind::members;
    case form::optional:
        return object_kind::optional;
    case form::variant:
        return object_kind::variant;
    case form::array:
        return is_text_like(*this) ? object_kind::text : object_kind::sequence;
    case form::sequence:
        return object_kind::sequence;
    case form::set:
        return object_kind::set;
    case form::map:
    case form::packed:
        return object_kind::map;
    }
    switch (row.shape) {
    case shape_kind::boolean:
        return object_kind::boolean;
    case shape_kind::character:
        return object_kind::character;
    case shape_kind::enumeration:
        return object_kind::enumeration;
    case shape_kind::floating:
        return object_kind::real;
    case shape_kind::signed_number:
        return object_kind::signed_number;
    default:
        return object_kind::unsigned_number;
    }
}

std::string object_view::type() const { return object_access::type(*this); }

std::uint64_t object_view::bits() const { return bits_ != 0 ? bits_ : 8 * size_in_heap(*this); }

std::span<const std::byte> object_view::bytes() const {
    const std::uint64_t size = size_in_heap(*this);
    if (bits_ != 0 || size == 0)
        return {};
    view_call call(*context_);
    return {read_or_raise(call.reader.bytes(at_, size)), size};
}

std::int64_t object_view::to_int64() const {
    const whole_or_real number = whole_number_in(*this);
    if (!number.is_negative && number.bits > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        raise_loss(*this, "std::int64_t");
    return static_cast<std::int64_t>(number.bits);
}

std::uint64_t object_view::to_uint64() const {
    const whole_or_real number = whole_number_in(*this);
    if (number.is_negative)
        raise_loss(*this, "std::uint64_t");
    return number.bits;
}

double object_view::to_double() const {
    const whole_or_real number = number_in(*this);
    const long double exact = number.is_real       ? number.real
                              : number.is_negative ? static_cast<long double>(static_cast<std::int64_t>(number.bits))
                                                   : static_cast<long double>(number.bits);
    const auto shown = static_cast<double>(exact);
    if (!std::isnan(exact) && static_cast<long double>(shown) != exact)
        raise_loss(*this, "double");
    return shown;
}

std::string object_view::enumerator() const {
    const type_row& row = object_access::row(*this);
    if (row.shape != shape_kind::enumeration)
        object_access::refuse(*this, "enumeration");
    return std::string(label_of(row, number_in(*this).bits));
}

std::string_view object_view::text() const {
    const object_place at = object_access::place(*this);
    if (!is_text_like(*this))
        object_access::refuse(*this, "text");
    view_call call(*context_);
    const type_row& row = context_->schema->rows[at.row];
    if (!is_container(row))
        return read_or_raise(call.reader.text(at));
    const std::byte* const first = read_or_raise(call.reader.bytes(at.at, extent_of(row)));
    const std::string_view all(reinterpret_cast<const char*>(first), extent_of(row));
    return all.substr(0, all.find_last_not_of('\0') + 1); // if all are 0, npos + 1 is 0
}

std::size_t object_view::member_count() const {
    std::size_t count = 0;
    for_each_member(*this, [&](const type_part&, const object_place&) {
        ++count;
        return false;
    });
    return count;
}

std::string object_view::member_name(std::size_t index) const {
    std::optional<std::string> name;
    for_each_member(*this, [&](const type_part& part, const object_place&) {
        if (index-- == 0)
            name = inspect::member_name(*context_->schema, part);
        return name.has_value();
    });
    if (!name)
        raise_no_member(*this, "of that number");
    return *name;
}

object_view object_view::member(std::size_t index) const {
    std::optional<object_place> found;
    for_each_member(*this, [&](const type_part&, const object_place& place) {
        if (index-- == 0)
            found = place;
        return found.has_value();
    });
    if (!found)
        raise_no_member(*this, "of that number");
    return object_access::view(*this, *found);
}

object_view object_view::member(std::string_view name) const {
    std::optional<object_place> found;
    for_each_member(*this, [&](const type_part& part, const object_place& place) {
        if (name == (part.name.empty() ? context_->schema->name_of(part.type) : part.name))
            found = place;
        return found.has_value();
    });
    if (!found)
        raise_no_member(*this, std::string(name));
    return object_access::view(*this, *found);
}

std::optional<object_view> object_view::target() const {
    const type_row& row = object_access::row(*this);
    if (form_of(row) != form::pointer)
        object_access::refuse(*this, "pointer");
    view_call call(*context_);
    const std::uint64_t to = read_or_raise(call.reader.target(object_access::place(*this)));
    if (to == 0)
        return {};
    const object_place target{row.parts.front().type, to};
    if (has_vptr(context_->schema->rows[target.row])) {
        const object_classes classes = call.classes();
        const object_classes::whole_object whole = classes.whole_of(call.reader, target);
        if (whole.of != nullptr && whole.of->schema)
            return object_access::view(
                std::make_shared<object_context>(object_context{context_->heap, context_->path, whole.of->schema}),
                whole.place);
    }
    return object_access::view(*this, target);
}

std::optional<object_view> object_view::value() const {
    if (!is_held(form_of(object_access::row(*this))))
        object_access::refuse(*this, "optional or variant");
    view_call call(*context_);
    const auto held = read_or_raise(call.reader.held(object_access::place(*this)));
    return held ? std::optional(object_access::view(*this, *held)) : std::nullopt;
}

std::optional<std::size_t> object_view::alternative() const {
    if (form_of(object_access::row(*this)) != form::variant)
        object_access::refuse(*this, "variant");
    view_call call(*context_);
    const auto held = read_or_raise(call.reader.held(object_access::place(*this)));
    return held ? std::optional<std::size_t>(held->alternative) : std::nullopt;
}

std::uint64_t object_view::size(object_limits limits) const {
    need_container(*this);
    view_call call(*context_);
    element_position unused;
    std::uint64_t steps = std::max(limits.steps, k_steps_least);
    return read_or_raise(element_cursor(call.reader, object_access::place(*this), unused, steps).count());
}

object_element object_view::element(std::uint64_t index, object_limits limits) const {
    need_container(*this);
    view_call call(*context_);
    element_position at;
    std::uint64_t steps = std::max(limits.steps, k_steps_least);
    element_cursor all(call.reader, object_access::place(*this), at, steps);
    const std::uint64_t passed = read_or_raise(all.skip(index));
    const auto found = read_or_raise(all.next()); // fails if skip() has used up the steps
    if (!found)
        raise(errc::not_found,
              "a " + type() + " of " + context_->path + " has no element " + std::to_string(index) + "; it has " +
                  std::to_string(passed) + ", and the first is 0.",
              context_->path);
    return object_access::element(*this, *found);
}

object_cursor object_view::elements() const {
    need_container(*this);
    return object_access::cursor(*this, {});
}

std::optional<object_element> object_view::find(const object_key& key, object_limits limits) const {
    need_keys(*this);
    view_call call(*context_);
    const object_place at = object_access::place(*this);
    const auto wanted = read_or_raise(objects::key_of_container::make(call.reader, at.row, object_access::stated(key)));
    element_position position;
    std::uint64_t steps = std::max(limits.steps, k_steps_least);
    element_cursor all(call.reader, at, position, steps);
    if (all.is_hash_table() && wanted.has_known_hash()) {
        const auto found = read_or_raise(all.find_hashed(wanted));
        return found ? std::optional(object_access::element(*this, *found)) : std::nullopt;
    }
    const bool is_ordered = all.is_tree() && wanted.has_known_order();
    if (is_ordered)
        detail::check(all.seek(wanted));
    for (;;) {
        const auto found = read_or_raise(all.next());
        if (!found)
            return {};
        if (read_or_raise(wanted.is_equal(found->has_key ? found->key : found->value)))
            return object_access::element(*this, *found);
        if (is_ordered)
            return {};
    }
}

std::optional<object_element> object_view::find_json(std::string_view key, object_limits limits) const {
    need_keys(*this);
    view_call call(*context_);
    call.reader.limit_steps(limits.steps); // of elements in keys
    const std::string wanted = normal_json(key);
    element_position position;
    std::uint64_t steps = std::max(limits.steps, k_steps_least);
    element_cursor all(call.reader, object_access::place(*this), position, steps);
    pointers_as_offsets pointers;
    object_walk walk(call.reader, pointers);
    walk.limit_bytes(limits.bytes);
    std::string text;
    while (const auto found = read_or_raise(all.next())) {
        text.clear();
        detail::check(walk.put(text, found->has_key ? found->key : found->value));
        if (text == wanted)
            return object_access::element(*this, *found);
    }
    return {};
}

object_cursor object_view::lower_bound(const object_key& key, object_limits limits) const {
    need_keys(*this);
    view_call call(*context_);
    const object_place at = object_access::place(*this);
    const auto wanted = read_or_raise(objects::key_of_container::make(call.reader, at.row, object_access::stated(key)));
    object_position position;
    std::uint64_t steps = std::max(limits.steps, k_steps_least);
    element_cursor all(call.reader, at, position, steps);
    if (!all.is_tree() || !wanted.has_known_order())
        raise(errc::not_supported,
              "the elements of a " + type() + " of " + context_->path +
                  " are in no order that this library knows. Use find(), or a cursor from elements().",
              context_->path);
    detail::check(all.seek(wanted));
    return object_access::cursor(*this, std::move(position));
}

std::string object_view::json(object_limits limits) const {
    view_call call(*context_);
    call.reader.limit_steps(limits.steps);
    pointers_as_offsets pointers;
    object_walk walk(call.reader, pointers);
    walk.limit_bytes(limits.bytes);
    std::string text;
    detail::check(walk.put(text, object_access::place(*this)));
    return text;
}

object_cursor::object_cursor(object_view container, std::unique_ptr<object_position> at) noexcept
    : container_(std::move(container)), at_(std::move(at)) {}
object_cursor::object_cursor(object_cursor&& other) noexcept = default;
object_cursor& object_cursor::operator=(object_cursor&& other) noexcept = default;
object_cursor::~object_cursor() = default;

std::optional<object_element> object_cursor::next(object_limits limits) {
    view_call call(object_access::context(container_));
    std::uint64_t steps = std::max(limits.steps, k_steps_least);
    const auto found = read_or_raise(element_cursor(call.reader, object_access::place(container_), *at_, steps).next());
    return found ? std::optional(object_access::element(container_, *found)) : std::nullopt;
}

std::vector<object_element> object_cursor::next_page(std::uint64_t count, object_limits limits) {
    view_call call(object_access::context(container_));
    std::uint64_t steps = std::max(limits.steps, k_steps_least);
    element_cursor all(call.reader, object_access::place(container_), *at_, steps);
    std::vector<object_element> page;
    while (page.size() < count) {
        auto found = all.next();
        if (!found && found.why().code == errc::limit_reached && !page.empty())
            break;
        const auto element = read_or_raise(std::move(found));
        if (!element)
            break;
        page.push_back(object_access::element(container_, *element));
    }
    return page;
}

std::uint64_t object_cursor::skip(std::uint64_t count, object_limits limits) {
    view_call call(object_access::context(container_));
    std::uint64_t steps = std::max(limits.steps, k_steps_least);
    return read_or_raise(element_cursor(call.reader, object_access::place(container_), *at_, steps).skip(count));
}

object_view view_root(const heap& of, std::string_view root) {
    heap_impl& impl = detail::impl_of(of);
    const detail::read_section section(&impl);
    const detail::whole_call reading(impl.calls);
    types::memory_bytes bytes(impl.memory());
    const heap_to_read place = readable(bytes, impl);
    const types::root_reader roots(bytes, place.path);
    const auto* const directory = read_or_raise(roots.directory(place.header->root_word));
    for (std::uint64_t i = 0; directory != nullptr && i < directory->count; ++i) {
        const types::root_entry_view entry = read_or_raise(roots.entry(*directory, i));
        if (entry.name != root)
            continue;
        const auto stored = read_or_raise(types::read_schemas(bytes, place.path, place.header->type_table));
        auto schema =
            read_or_raise(types::schema_of(stored, entry.fingerprint_hash, entry.fingerprint_algorithm, place.path));
        if (!schema)
            raise(errc::not_supported,
                  place.path + " does not say what the root \"" + std::string(root) + "\" of type " +
                      std::string(entry.type) +
                      " consists of. A program that knows this type stores it: let it find the root and commit.",
                  place.path);
        if (types::bytes_of_root(*schema) > entry.bytes)
            raise(types::smaller_than_schema(root, place.path));
        const auto context = context_of(impl, std::move(*schema));
        return object_access::view(context, {context->schema->root, entry.object});
    }
    raise(errc::not_found,
          place.path + " has no root \"" + std::string(root) + "\". heap::roots() lists those that it has.",
          place.path);
}

} // namespace remanence::inspect
