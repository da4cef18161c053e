// Implements `rem get`: follows a path from a root to a part of the root's object.
#include "base/put_utf8.hpp"
#include "inspect/heap_schema.hpp"
#include "inspect/object_classes.hpp"
#include "inspect/object_reader.hpp"
#include "inspect/object_text.hpp"

#include <charconv>
#include <map>
#include <memory>
#include <utility>

namespace remanence::inspect {

using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

/// One step of a path: a member's name, or the JSON text in brackets.
struct wanted_step {
    std::string member;
    std::string index;
    bool is_member = false;
    std::string shown; // the path up to this step, for messages
};

/// Returns the end of a member's name. The name of a base may contain template arguments in brackets; then the end lies
/// behind these.
std::size_t end_of_name(std::string_view path, std::size_t at) {
    for (int depth = 0; at < path.size(); ++at) {
        const char c = path[at];
        if (depth == 0 && (c == '.' || c == '['))
            break;
        depth += c == '<' || c == '(' ? 1 : c == '>' || c == ')' ? -1 : 0;
    }
    return at;
}

/// Returns the place of the bracket that closes the one around a JSON value.
std::size_t end_of_value(std::string_view path, std::size_t at) {
    for (int depth = 0; at < path.size(); ++at) {
        const char c = path[at];
        if (c == '"') {
            for (++at; at < path.size() && path[at] != '"'; ++at)
                at += path[at] == '\\' ? std::size_t{1} : std::size_t{0};
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if (c == ']' || c == '}') {
            if (depth == 0)
                return c == ']' ? at : path.size();
            --depth;
        }
    }
    return path.size();
}

result<std::vector<wanted_step>> steps_of(std::string_view path, std::size_t from) {
    const auto wrong = [&](std::size_t at) {
        return fail(errc::invalid_argument,
                    "\"" + std::string(path) + "\" is no path: at its character " + std::to_string(at + 1) +
                        R"( there should be .member, [number] or ["key"], as in people["KNUTH"][0].city)");
    };
    std::vector<wanted_step> steps;
    std::size_t at = from;
    while (at < path.size()) {
        wanted_step next;
        if (path[at] == '.') {
            const std::size_t end = end_of_name(path, at + 1);
            if (end == at + 1)
                return wrong(end);
            next.member = path.substr(at + 1, end - at - 1);
            next.is_member = true;
            at = end;
        } else if (path[at] == '[') {
            const std::size_t end = end_of_value(path, at + 1);
            if (end >= path.size() || end == at + 1)
                return wrong(std::min(end, path.size()));
            next.index = normal_json(path.substr(at + 1, end - at - 1));
            at = end + 1;
        } else {
            return wrong(at);
        }
        next.shown = path.substr(0, at);
        steps.push_back(std::move(next));
    }
    return steps;
}

/// An object, and the reader that has its schema.
struct found_object {
    object_reader* reader;
    object_place place;

    [[nodiscard]] const type_row& row() const { return reader->row(place.row); }
};

class path_follower {
public:
    path_follower(const heap_to_read& heap, const root_with_schema& root, object_classes classes)
        : heap_(heap), classes_(std::move(classes)), shown_(root.name) {
        at_ = {{reader_of(*root.schema), {root.schema->root, root.object}}};
    }

    result<void> follow(const wanted_step& next) {
        if (are_of_a_key_) {
            const auto index = number(next);
            if (next.is_member)
                return fail(errc::not_found, "there is no " + next.shown +
                                                 ": a key may have several elements here, and has " +
                                                 std::to_string(at_.size()) + ". [0] is the first of them.");
            if (!index || *index >= at_.size())
                return none(next);
            at_ = {at_[*index]};
            are_of_a_key_ = false;
            shown_ = next.shown;
            return {};
        }
        auto inner = look_through(at_.front(), next);
        if (!inner)
            return inner.error();
        shown_ = next.shown;
        return next.is_member ? member(*inner, next) : element(*inner, next);
    }
    /// If the path ends at a pointer, goes on to the pointer's target. A null pointer stays null.
    result<void> end() {
        for (found_object& each : at_) {
            if (each.row().kind != type_kind::pointer)
                continue;
            auto to = each.reader->target(each.place);
            if (!to)
                return to.error();
            if (*to != 0)
                each = target(each, *to);
        }
        return {};
    }
    [[nodiscard]] const std::vector<found_object>& found() const { return at_; }
    /// True if the path ends at a key of a multimap. Its value is a list of elements, even if there is only one.
    [[nodiscard]] bool are_of_a_key() const { return are_of_a_key_; }

private:
    static unexpected none(const wanted_step& wanted) {
        return fail(errc::not_found, "there is no " + wanted.shown + ".");
    }
    static std::optional<std::uint64_t> number(const wanted_step& of) {
        std::uint64_t value = 0;
        const char* const end = of.index.data() + of.index.size();
        const auto read = std::from_chars(of.index.data(), end, value);
        return of.is_member || read.ec != std::errc() || read.ptr != end ? std::nullopt : std::optional(value);
    }
    object_reader* reader_of(const types::type_description& schema) {
        auto& known = readers_[&schema];
        if (!known)
            known = std::make_unique<object_reader>(heap_.bytes, heap_.path, heap_.base, heap_.end, schema);
        return known.get();
    }
    /// Returns the target of a pointer. An object with virtual functions is one of its own class.
    found_object target(const found_object& pointer, std::uint64_t to) {
        const object_place place{pointer.row().parts.front().type, to};
        if (has_vptr(pointer.reader->row(place.row))) {
            const object_classes::whole_object whole = classes_.whole_of(*pointer.reader, place);
            if (whole.of != nullptr && whole.of->schema)
                return {reader_of(*whole.of->schema), whole.place};
        }
        return {pointer.reader, place};
    }
    /// Follows pointers, optionals and variants, for which a path has no steps.
    result<found_object> look_through(found_object at, const wanted_step& wanted) {
        constexpr int k_times = 64;
        for (int i = 0; i != k_times; ++i) {
            const type_row& row = at.row();
            if (row.kind == type_kind::pointer) {
                auto to = at.reader->target(at.place);
                if (!to)
                    return to.error();
                if (*to == 0)
                    return fail(errc::not_found,
                                "there is no " + wanted.shown + ": the pointer " + shown_ + " is null.");
                at = target(at, *to);
            } else if (row.shape == detail::shape_kind::optional || row.shape == detail::shape_kind::variant) {
                auto held = at.reader->held(at.place);
                if (!held)
                    return held.error();
                if (!*held)
                    return fail(errc::not_found, "there is no " + wanted.shown + ": " + shown_ + " is empty.");
                at.place = **held;
            } else if (row.shape == detail::shape_kind::same_as_part) {
                at.place.row = row.parts[row.numbers[0]].type;
            } else {
                return at;
            }
        }
        return at;
    }
    result<void> member(const found_object& of, const wanted_step& wanted) {
        const type_row& row = of.row();
        const std::vector<type_part>* const parts = members_of(row);
        if (parts == nullptr)
            return fail(errc::not_found, "there is no " + wanted.shown + ": " +
                                             of.reader->schema().name_of(of.place.row) +
                                             " has no members that are known.");
        std::string known;
        for (const type_part& part : *parts) {
            const auto place = of.reader->member(of.place, part);
            if (!place)
                continue;
            const std::string name = member_name(of.reader->schema(), part);
            if (name == wanted.member) {
                at_ = {{of.reader, *place}};
                return {};
            }
            known += (known.empty() ? "" : ", ") + name;
        }
        return fail(errc::not_found, "there is no " + wanted.shown + ": the members of " +
                                         of.reader->schema().name_of(of.place.row) + " are " + known + ".");
    }
    result<void> element(const found_object& of, const wanted_step& wanted) {
        if (!of.reader->is_container(of.place.row)) {
            return fail(errc::not_found, "there is no " + wanted.shown + ": " +
                                             of.reader->schema().name_of(of.place.row) +
                                             " has no elements that are known.");
        }
        std::vector<found_object> all;
        if (of.reader->is_map(of.place.row)) {
            pointers_as_offsets pointers;
            object_walk walk(*of.reader, pointers);
            std::string key;
            REM_TRY(of.reader->for_each_element(of.place, [&](const element_place& each) -> result<bool> {
                key.clear();
                REM_TRY(walk.put(key, each.key));
                if (key == wanted.index)
                    all.push_back({of.reader, each.value});
                return true;
            }));
        } else {
            const auto index = number(wanted);
            if (!index)
                return none(wanted);
            std::uint64_t left = *index;
            REM_TRY(of.reader->for_each_element(of.place, [&](const element_place& each) -> result<bool> {
                if (left-- != 0)
                    return true;
                all.push_back({of.reader, each.value});
                return false;
            }));
        }
        if (all.empty())
            return none(wanted);
        at_ = std::move(all);
        are_of_a_key_ = of.reader->is_map(of.place.row) && has_several_of_a_key(of.row());
        return {};
    }

    const heap_to_read& heap_;
    const object_classes classes_;
    std::map<const types::type_description*, std::unique_ptr<object_reader>> readers_;
    std::vector<found_object> at_;
    bool are_of_a_key_ = false; // at_ lists the elements of one key of a multimap
    std::string shown_;         // the path up to at_, for messages
};

} // namespace

std::string normal_json(std::string_view value) {
    std::string normal;
    std::string text;
    bool is_in_text = false;
    for (std::size_t i = 0; i != value.size(); ++i) {
        const char c = value[i];
        if (!is_in_text) {
            is_in_text = c == '"';
            if (!is_in_text && c != ' ' && c != '\t' && c != '\n' && c != '\r')
                normal += c;
            continue;
        }
        if (c == '"') {
            put_json_text(normal, text);
            text.clear();
            is_in_text = false;
            continue;
        }
        if (c != '\\' || i + 1 == value.size()) {
            text += c;
            continue;
        }
        const char escaped = value[++i];
        constexpr std::string_view k_letters = "bfnrt";
        constexpr std::string_view k_meant = "\b\f\n\r\t";
        std::uint32_t code = 0;
        const char* const digits = value.data() + i + 1;
        if (const std::size_t at = k_letters.find(escaped); at != std::string_view::npos) {
            text += k_meant[at];
        } else if (escaped == 'u' && value.size() - i > 4 &&
                   std::from_chars(digits, digits + 4, code, 16).ptr == digits + 4) {
            i += 4;
            const char* const low_digits = digits + 6;
            std::uint32_t low = 0;
            if (code >= 0xd800 && code < 0xdc00 && value.size() - i > 6 && value.substr(i + 1, 2) == "\\u" &&
                std::from_chars(low_digits, low_digits + 4, low, 16).ptr == low_digits + 4) { // a pair of surrogates
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                i += 6;
            }
            put_utf8(text, code);
        } else {
            text += escaped;
        }
    }
    return normal;
}

result<void> get_object(inspection& heap, std::string_view path, const std::function<void(std::string_view)>& sink) {
    auto place = to_read(heap);
    if (!place)
        return place.error();
    auto roots = roots_with_schema(*place);
    if (!roots)
        return roots.error();
    const root_with_schema* root = nullptr;
    std::string names;
    for (const root_with_schema& each : *roots) { // searches for the longest name with which the path begins
        names += (names.empty() ? "" : ", ") + each.name;
        const bool begins =
            path.starts_with(each.name) &&
            (path.size() == each.name.size() || path[each.name.size()] == '.' || path[each.name.size()] == '[');
        if (begins && (root == nullptr || each.name.size() > root->name.size()))
            root = &each;
    }
    if (root == nullptr) {
        return fail(errc::not_found,
                    heap.path() + " has no root that \"" + std::string(path) +
                        "\" begins with. It has: " + (names.empty() ? "none" : names) + ".",
                    heap.path());
    }
    auto steps = steps_of(path, root->name.size());
    if (!steps)
        return steps.error();
    if (!root->schema) {
        return fail(errc::not_found,
                    heap.path() + " does not say what the root \"" + root->name + "\" of type " + root->type +
                        " consists of: no program of a release that stores it has committed since.",
                    heap.path());
    }
    auto classes = object_classes::of(*place);
    if (!classes)
        return classes.error();
    path_follower follower(*place, *root, std::move(*classes));
    for (const wanted_step& each : *steps)
        REM_TRY(follower.follow(each));
    REM_TRY(follower.end());
    pointers_as_offsets pointers;
    std::string text;
    const bool is_list = follower.are_of_a_key();
    for (std::size_t i = 0; i != follower.found().size(); ++i) {
        if (is_list)
            text += i == 0 ? '[' : ',';
        const found_object& each = follower.found()[i];
        REM_TRY(object_walk(*each.reader, pointers).put(text, each.place));
    }
    if (is_list)
        text += ']';
    sink(text);
    return {};
}

} // namespace remanence::inspect
