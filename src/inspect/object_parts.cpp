// An object as a list of paths and values, to be compared with another one, or to name a place in it.
#include "inspect/object_parts.hpp"

#include "inspect/heap_schema.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"
#include "inspect/version_diff.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>

namespace remanence::inspect {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

struct pointers_as_offsets : object_walk::listener {
    void point(std::string& out, object_place, std::uint64_t to) override {
        out += "{\"$offset\":" + std::to_string(to) + '}';
    }
};

class object_parts {
public:
    object_parts(object_reader& reader, const visit_part& visit)
        : reader_(reader), visit_(visit), walk_(reader, pointers_) {}

    // NOLINTNEXTLINE(misc-no-recursion): bounded
    result<void> add(const std::string& path, object_place of, unsigned depth) {
        if (depth == k_depth_max)
            return reader_.too_deep(of);
        const type_row& row = reader_.row(of.row);
        const bool has_parts =
            row.shape == shape_kind::members || row.kind == type_kind::members || has_elements(row, of.row);
        if (has_parts)
            REM_TRY(visit_(path, of, true));
        if (row.shape == shape_kind::members)
            return add_members(path, of, row.fields, depth);
        if (row.kind == type_kind::members)
            return add_members(path, of, row.parts, depth);
        if (row.shape == shape_kind::same_as_part)
            return add(path, {row.parts[row.numbers[0]].type, of.at}, depth + 1);
        if (row.shape == shape_kind::optional || row.shape == shape_kind::variant) {
            auto held = reader_.held(of);
            if (!held)
                return held.error();
            return *held ? add(path, **held, depth + 1) : visit_(path, of, false);
        }
        if (has_elements(row, of.row))
            return add_elements(path, of, depth);
        return visit_(path, of, false);
    }

private:
    [[nodiscard]] bool has_elements(const type_row& row, std::uint32_t index) const {
        const bool is_array = row.kind == type_kind::array || row.shape == shape_kind::array;
        if (!is_array)
            return reader_.is_container(index);
        const type_row& element = reader_.row(row.parts[0].type);
        const bool is_text = element.shape == shape_kind::character && element.kind == type_kind::object;
        return !is_text && (row.kind != type_kind::array || row.extent != 0);
    }
    // NOLINTNEXTLINE(misc-no-recursion): bounded
    result<void> add_members(const std::string& path, object_place of, const std::vector<type_part>& parts,
                             unsigned depth) {
        for (std::size_t i = 0; i != parts.size(); ++i) {
            const type_part& part = parts[i];
            const auto place = place_of_member(reader_.row(of.row), parts, i, of.at);
            if (!place)
                continue;
            const std::string name = part.name.empty() ? reader_.schema().name_of(part.type) : part.name;
            REM_TRY(add(path + '.' + name, *place, depth + 1));
        }
        return {};
    }
    // NOLINTNEXTLINE(misc-no-recursion): bounded
    result<void> add_elements(const std::string& path, object_place of, unsigned depth) {
        std::uint64_t index = 0;
        const bool is_keyed = is_set(of.row);
        const type_row& row = reader_.row(of.row);
        const bool has_several = has_several_of_a_key(row);
        const bool is_sorted =
            row.shape == shape_kind::tree || row.shape == shape_kind::btree || row.shape == shape_kind::packed;
        std::map<std::string, std::uint64_t>
            of_keys; // elements that came, of those that have a number within their key
        return reader_.for_each_element(of, [&](const element_place& each) -> result<bool> {
            std::string at = std::to_string(index++);
            if (each.has_key || is_keyed) {
                at.clear();
                REM_TRY(walk_.put(at, each.has_key ? each.key : each.value));
            }
            std::string way = path + '[' + at + ']';
            if (each.has_key && has_several) {
                if (is_sorted && !of_keys.contains(at)) // the key before does not come again
                    of_keys.clear();
                way += '[' + std::to_string(of_keys[at]++) + ']';
            }
            REM_TRY(add(way, each.value, depth + 1));
            return true;
        });
    }
    [[nodiscard]] bool is_set(std::uint32_t index) const {
        switch (reader_.row(index).shape) {
        case shape_kind::tree:
        case shape_kind::hash_chain:
        case shape_kind::btree:
        case shape_kind::hash_table:
            return !reader_.is_map(index);
        case shape_kind::foreign: {
            const auto way = static_cast<detail::foreign_way>(reader_.row(index).numbers[0]);
            return !reader_.is_map(index) && (way == detail::foreign_way::tree || way == detail::foreign_way::buckets);
        }
        default:
            return false;
        }
    }

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
                              // A second one by the same path is numbered: of a set that has several of a key.
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
                names[*each] = path; // parts come after what has them
            return {};
        };
        // What a wrong address leads to cannot be read, nor what lies too deep: what was named before stays.
        if (auto done = for_each_part(reader, root.name, {root.schema->root, root.object}, name);
            !done && !is_damage(done.why().code) && done.why().code != errc::not_supported)
            return done.error();
    }
    return names;
}

} // namespace remanence::inspect
