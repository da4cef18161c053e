#include "inspect/dump_targets.hpp"

#include "inspect/hidden_parts.hpp"
#include "inspect/lone_objects.hpp"
#include "inspect/object_parts.hpp"

#include <algorithm>
#include <utility>

namespace remanence::inspect {

using types::type_description;
using types::type_kind;
using types::type_row;

namespace {

bool has_pointers(const type_description& schema) {
    return std::any_of(schema.rows.begin(), schema.rows.end(),
                       [](const type_row& row) { return row.kind == type_kind::pointer; });
}

} // namespace

result<void> dump_targets::unless_salvaged(result<void> done, const std::string& where) {
    if (done || !salvages() || (!is_damage(done.why().code) && done.why().code != errc::not_supported))
        return done;
    has_failed_ = true;
    if (purpose_ == purpose::writing) // only the last pass reports it; the earlier ones have met the same failure
        manner_.leave_out(where + " is left out: " + done.why().message, is_damage(done.why().code));
    return {};
}

result<void> dump_targets::look_at_objects() {
    purpose_ = purpose::looking;
    for (const root_with_schema& root : roots_) {
        if (salvages() || !manner_.looks_first || has_pointers(*root.schema))
            continue;
        schema_ = root.schema.get();
        REM_TRY(look({root.schema->root, root.object}));
    }
    return {};
}

unexpected dump_targets::cannot_dump(const std::string& why) const {
    return fail(errc::not_supported,
                heap_.path + " cannot be dumped: " + why +
                    ". Nothing was written. \"rem dump --salvage\" writes the rest.",
                heap_.path);
}

dump_targets::reading& dump_targets::reading_of(const type_description& schema) {
    auto [known, is_new] = readings_.try_emplace(&schema);
    if (is_new)
        known->second = std::make_unique<reading>(heap_, schema, *this);
    return *known->second;
}

dump_targets::target_key dump_targets::key_of(const type_description& schema, std::uint32_t row, std::uint64_t at) {
    auto& numbers = types_of_[&schema];
    if (numbers.empty())
        numbers.resize(schema.rows.size());
    if (numbers[row] == 0) {
        const std::string name = schema.name_of(row) + ' ' + std::to_string(schema.rows[row].size);
        numbers[row] = types_.try_emplace(name, static_cast<std::uint32_t>(types_.size() + 1)).first->second;
    }
    return {numbers[row], at};
}

void dump_targets::meet(object_place object, const std::vector<path_step>& path) {
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

void dump_targets::point(std::string& out, object_place pointer, std::uint64_t to) {
    const std::uint32_t row = schema_->rows[pointer.row].parts.front().type;
    const target_key key = key_of(*schema_, row, to);
    if (purpose_ == purpose::collecting) {
        if (targets_.try_emplace(key).second)
            add_target({schema_, row, to, pointer.at});
        return;
    }
    const auto found = targets_.find(key);
    if (found == targets_.end() || found->second.empty())
        out += "null";
    else
        out += "{\"$ref\":" + found->second + '}';
}

void dump_targets::add_target(const target& found) {
    pending_.push_back(found);
    if (!has_vptr(found.schema->rows[found.row]))
        return;
    const object_classes::whole_object whole =
        classes_->whole_of(reading_of(*found.schema).reader, {found.row, found.at});
    pending_.back().is_base = true;
    if (whole.of == nullptr || !says_members(*whole.of))
        return;
    const type_description& schema = *whole.of->schema;
    const target_key key = key_of(schema, whole.place.row, whole.place.at);
    if (key == key_of(*found.schema, found.row, found.at))
        pending_.back().is_base = false;
    else if (targets_.try_emplace(key).second)
        pending_.push_back({&schema, whole.place.row, whole.place.at, found.pointer});
}

bool dump_targets::says_members(const object_classes::entry& of) {
    if (!of.schema)
        return false;
    const auto [known, is_new] = says_members_.try_emplace(of.schema.get());
    if (is_new)
        known->second = hidden_parts(*of.schema, of.name).empty();
    return known->second;
}

result<void> dump_targets::look(object_place object) {
    auto& [reader, walk] = reading_of(*schema_);
    std::string text;
    walk.path().clear();
    if (!reader.is_container(object.row)) {
        auto put = walk.put(text, object);
        if (!put && purpose_ == purpose::locating)
            forget_paths('[' + owner_);
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
        if (put) // an element that cannot be written is not counted
            ++index;
        else if (purpose_ == purpose::locating)
            forget_paths('[' + owner_ + ',' + std::to_string(index));
        REM_TRY(unless_salvaged(std::move(put), {}));
        return true;
    });
    return unless_salvaged(std::move(done), {});
}

result<void> dump_targets::find() {
    auto classes = object_classes::of(heap_);
    if (!classes)
        return classes.error();
    classes_ = std::move(*classes);
    std::size_t looked_at = 0;
    do {
        REM_TRY(collect(looked_at));
        looked_at = pending_.size();
        REM_TRY(locate_in_roots());
        REM_TRY(look_into_other_roots());
    } while (looked_at != pending_.size()); // repeat while the objects just visited have led to more targets
    return number_objects();
}

result<void> dump_targets::collect(std::size_t from) {
    purpose_ = purpose::collecting;
    for (const root_with_schema& root : roots_) {
        if (from != 0 || !has_pointers(*root.schema))
            continue;
        schema_ = root.schema.get();
        REM_TRY(look({root.schema->root, root.object}));
    }
    for (std::size_t i = from; i != pending_.size(); ++i) { // pending_ grows in this loop
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

result<void> dump_targets::locate_in_roots() {
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

result<void> dump_targets::look_into_other_roots() {
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

result<void> dump_targets::number_objects() {
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

void dump_targets::leave_out_last_object() {
    const std::string name = objects_.back().schema->name_of(objects_.back().row);
    manner_.leave_out(
        "a " + name + " that pointers lead to is left out, since it cannot be read. They are written as null", true);
    objects_.pop_back();
}

void dump_targets::forget_paths(const std::string& begin) {
    for (auto& [key, way] : targets_) {
        if (way.starts_with(begin) && (way[begin.size()] == ',' || way[begin.size()] == ']'))
            way.clear();
    }
}

bool dump_targets::is_located(const target& which) {
    return !targets_[key_of(*which.schema, which.row, which.at)].empty();
}

result<bool> dump_targets::is_whole_object(const target& which) {
    object_reader& reader = reading_of(*which.schema).reader;
    if (which.is_base)
        return false;
    if (reader.size_of(which.row) == 0 || // the dump writes such an object as hidden
        parts_of_others_.contains(key_of(*which.schema, which.row, which.at)))
        return true;
    auto is_alone = lone_objects(reader).is_alone({which.row, which.at});
    return is_alone || !salvages() ? std::move(is_alone) : result<bool>(false);
}

result<std::string> dump_targets::behind(const target& which) {
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

result<bool> dump_targets::lies_in_other_root(const target& which) {
    if (!with_others_) {
        all_roots_ = roots_;
        all_roots_.insert(all_roots_.end(), others_.begin(), others_.end());
        std::erase_if(all_roots_, [](const root_with_schema& each) { return !each.schema; });
        with_others_ = std::make_unique<dump_targets>(heap_, all_roots_, no_roots_, manner_);
        with_others_->is_for_search_ = true;
        REM_TRY(with_others_->find());
    }
    const target_key key = with_others_->key_of(*which.schema, which.row, which.at);
    return std::none_of(with_others_->objects_.begin(), with_others_->objects_.end(), [&](const target& each) {
        return with_others_->key_of(*each.schema, each.row, each.at) == key;
    });
}

result<std::string> dump_targets::why_refused(const target& which) {
    auto name = name_of_pointer(which.pointer);
    if (!name && !salvages())
        return name.error();
    const std::string leads = (name ? *name : std::string("a pointer")) + " leads to a ";
    if (which.is_base) {
        const auto whole = classes_->whole_of(reading_of(*which.schema).reader, {which.row, which.at});
        if (whole.of != nullptr && !says_members(*whole.of))
            return leads + whole.of->name + ", of a class that does not say all its members (REM_REFLECT)";
    }
    return leads + which.schema->name_of(which.row) + ' ' + std::string(k_not_one_object) +
           ", so the dump might lack the others. Keep such objects in a container, or set the pointer to null";
}

result<std::string> dump_targets::name_of_pointer(std::uint64_t pointer) {
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
                                      // owners are visited before their parts, so the last path is that of the smallest
                                      // part
                                      name = path;
                                  return {};
                              }));
    }
    return name;
}

} // namespace remanence::inspect
