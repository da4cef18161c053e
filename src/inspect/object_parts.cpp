// Lists an object's parts with their paths and values, to compare two objects or to name places in one.
#include "inspect/object_parts.hpp"

#include "inspect/heap_schema.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"
#include "inspect/shape_walk.hpp"
#include "inspect/version_diff.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_row;

namespace {

/// Makes the part of a path that names an element of a container: "[3]", or the key's text in brackets.
class element_names {
public:
    explicit element_names(const type_row& container)
        : has_several_(is_map(container) && has_several_of_a_key(container)),
          is_sorted_(container.shape == shape_kind::tree || container.shape == shape_kind::btree ||
                     container.shape == shape_kind::packed),
          is_keyed_(form_of(container) > form::sequence) {}

    /// Returns the string into which the caller writes the next element's key, if it has one.
    std::string& key() {
        key_.clear();
        return key_;
    }
    std::string next(std::uint64_t index) {
        if (!is_keyed_)
            return '[' + std::to_string(index) + ']';
        std::string name = '[' + key_ + ']';
        if (has_several_) {
            if (is_sorted_ && !of_keys_.contains(key_)) // since keys are sorted, an earlier key does not come again
                of_keys_.clear();
            name += '[' + std::to_string(of_keys_[key_]++) + ']';
        }
        return name;
    }

private:
    bool has_several_;
    bool is_sorted_;
    bool is_keyed_;
    std::string key_;
    std::map<std::string, std::uint64_t> of_keys_; // for each numbered key, how many elements were named
};

class object_parts {
public:
    object_parts(object_reader& reader, const visit_part& visit)
        : reader_(reader), visit_(visit), walk_(reader, pointers_) {}

    // NOLINTNEXTLINE(misc-no-recursion): bounded
    result<void> add(const std::string& path, object_place of, unsigned depth) {
        if (depth == k_depth_max)
            return reader_.too_deep(of);
        const form what = form_of(reader_.row(of.row));
        const bool is_text = is_character_array(reader_.schema(), of.row);
        const bool has_parts = !is_text && (what == form::members || what >= form::array);
        if (has_parts)
            REM_TRY(visit_(path, of, true));
        bool is_whole = !has_parts; // becomes false if the value is visited as a part
        element_names names(reader_.row(of.row));
        REM_TRY(is_text ? result<void>() : for_each_part(reader_, of, [&](const object_part& each) -> result<bool> {
            is_whole = false;
            std::string to = path;
            if (each.role == part_role::member)
                to += '.' + member_name(reader_.schema(), *each.member);
            if (each.role == part_role::key || (each.role == part_role::element && what == form::set))
                REM_TRY(walk_.put(names.key(), each.place));
            if (each.role == part_role::key)
                return true;
            if (each.role == part_role::element)
                to += names.next(each.index);
            REM_TRY(add(to, each.place, depth + 1));
            return true;
        }));
        return is_whole ? visit_(path, of, false) : result<void>();
    }

private:
    object_reader& reader_;
    const visit_part& visit_;
    pointers_as_offsets pointers_;
    object_walk walk_;
};

} // namespace

result<void> for_each_part(object_reader& reader, const std::string& path, object_place of, const visit_part& visit) {
    return object_parts(reader, visit).add(path, of, 0);
}

result<std::map<std::string, std::string>> parts_of_root(inspection& heap, const root_with_schema& root) {
    std::map<std::string, std::string> found;
    object_reader reader(heap, heap.path(), heap.super().base, heap.heap_bytes_end(), *root.schema);
    pointers_as_offsets pointers;
    object_walk walk(reader, pointers);
    REM_TRY(for_each_part(reader, root.name, {root.schema->root, root.object},
                          [&](const std::string& path, object_place of, bool has_parts) -> result<void> {
                              if (has_parts)
                                  return {};
                              std::string text;
                              REM_TRY(walk.put(text, of));
                              // Equal elements of a multiset have the same path, so a number is added.
                              std::string name = path;
                              for (std::uint64_t i = 1; found.contains(name); ++i)
                                  name = path + '[' + std::to_string(i) + ']';
                              found.emplace(std::move(name), std::move(text));
                              return {};
                          }));
    return found;
}

result<std::map<std::uint64_t, std::string>> names_of_places(inspection& heap, const std::set<std::uint64_t>& places) {
    auto read = to_read(heap);
    if (!read)
        return is_damage(read.why().code) ? result<std::map<std::uint64_t, std::string>>({}) : read.error();
    return names_of_places(*read, places);
}

result<std::map<std::uint64_t, std::string>> names_of_places(const heap_to_read& heap,
                                                             const std::set<std::uint64_t>& places) {
    std::map<std::uint64_t, std::string> names;
    if (places.empty())
        return names;
    auto roots = roots_with_schema(heap);
    if (!roots)
        return is_damage(roots.why().code) ? result<std::map<std::uint64_t, std::string>>(names) : roots.error();
    for (const root_with_schema& root : *roots) {
        if (!root.schema)
            continue;
        object_reader reader(heap.bytes, heap.path, heap.base, heap.end, *root.schema);
        const auto name = [&](const std::string& path, object_place of, bool) -> result<void> {
            const std::uint64_t end = of.at + reader.size_of(of.row);
            for (auto each = places.lower_bound(of.at); each != places.end() && *each < end; ++each)
                names[*each] = path; // owners come before their parts, so the path of the smallest part is the last one
            return {};
        };
        // Errors are ignored here: an address may be wrong, or objects nested too deeply. Places that were named before
        // the failure keep their names.
        if (auto done = for_each_part(reader, root.name, {root.schema->root, root.object}, name);
            !done && !is_damage(done.why().code) && done.why().code != errc::not_supported)
            return done.error();
    }
    return names;
}

} // namespace remanence::inspect
