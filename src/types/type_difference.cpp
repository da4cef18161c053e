#include "types/type_difference.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace remanence::types {

namespace {

bool is_aggregate(type_kind kind) { return kind == type_kind::members || kind == type_kind::serialised; }

const type_part* find(const type_row& row, std::string_view name) {
    const auto found = std::find_if(row.parts.begin(), row.parts.end(),
                                    [&](const type_part& part) { return !name.empty() && part.name == name; });
    return found != row.parts.end() ? &*found : nullptr;
}

std::string bytes_and_alignment(const type_row& row) {
    return std::to_string(row.size) + " bytes (alignment " + std::to_string(row.alignment) + ")";
}

class comparison {
public:
    comparison(const type_description& was, const type_description& is)
        : was_(was), is_(is), partner_(was.rows.size(), k_none) {}

    std::optional<type_difference> run() {
        if (was_.name_of(was_.root) != is_.name_of(is_.root)) {
            return type_difference{"the type was " + was_.name_of(was_.root) + ", is " + is_.name_of(is_.root)};
        }
        meet(was_.root, is_.root, k_none, {});
        for (std::size_t i = 0; i < pairs_.size() && !found_; ++i)
            compare_parts(i);
        for (std::size_t i = pairs_.size(); i-- != 0 && !found_;) // inner pairs come after the pairs that contain them
            compare_places(i);
        return found_ ? std::move(found_) : std::move(renamed_);
    }

private:
    static constexpr std::size_t k_none = ~std::size_t{0};

    /// Two rows of the same name. `from` and `step` give the path to them: one step from another pair.
    struct pair {
        std::uint32_t was;
        std::uint32_t is;
        std::size_t from; // index in pairs_
        std::string step; // ".zip", "->", "[]"
    };

    void meet(std::uint32_t was, std::uint32_t is, std::size_t from, std::string step) {
        if (partner_[was] == k_none) {
            partner_[was] = is;
            pairs_.push_back({was, is, from, std::move(step)});
        } else if (partner_[was] != is) { // one type has become two, or a description is malformed
            found("what " + was_.name_of(was) + " consists of is not the same everywhere");
        }
    }

    void found(std::string what) {
        if (!found_)
            found_ = type_difference{std::move(what)};
    }

    /// Compares the kinds, names and numbers of a pair; adds its parts to pairs_.
    void compare_parts(std::size_t at) {
        const type_row& was = was_.rows[pairs_[at].was];
        const type_row& is = is_.rows[pairs_[at].is];
        const std::string name = was_.name_of(pairs_[at].was);
        if (was.number != is.number) {
            found("the layout number of " + name + " was " + std::to_string(was.number) + ", is " +
                  std::to_string(is.number));
        } else if (was.kind != is.kind) {
            found(is_aggregate(was.kind) ? name + " was an aggregate, is a class that hides its members"
                                         : name + " was a class that hides its members, is an aggregate");
        } else if (was.note != is.note) {
            found("the layout of " + name + " was \"" + was.note + "\", is \"" + is.note + '"');
        } else if (is_aggregate(was.kind)) {
            compare_members(at);
        } else if (was.parts.size() != is.parts.size()) {
            found(name + " consisted of " + std::to_string(was.parts.size()) + " types, consists of " +
                  std::to_string(is.parts.size()));
        } else {
            for (std::size_t i = 0; i != was.parts.size(); ++i) {
                const std::string old = was_.name_of(was.parts[i].type);
                const std::string now = is_.name_of(is.parts[i].type);
                if (old != now)
                    found(name + " consisted of " + old + ", consists of " + now);
                else
                    meet(was.parts[i].type, is.parts[i].type, at, was.kind == type_kind::pointer ? "->" : "[]");
            }
        }
    }

    void compare_members(std::size_t at) {
        const type_row& was = was_.rows[pairs_[at].was];
        const type_row& is = is_.rows[pairs_[at].is];
        const std::size_t both = std::min(was.parts.size(), is.parts.size());
        for (std::size_t i = 0; i != both; ++i) {
            const type_part& old = was.parts[i];
            const type_part& now = is.parts[i];
            const bool is_same_type = was_.name_of(old.type) == is_.name_of(now.type);
            if (old.name == now.name && is_same_type) {
                meet(old.type, now.type, at, '.' + old.name);
                continue;
            }
            if (was.parts.size() < is.parts.size() && find(was, now.name) == nullptr)
                return found(member(at, i) + ", " + quoted(is_, now) + ", was added");
            if (was.parts.size() > is.parts.size() && find(is, old.name) == nullptr)
                return found(member(at, i) + ", " + quoted(was_, old) + ", was removed");
            const std::string change = member(at, i) + " was " + quoted(was_, old) + ", is " + quoted(is_, now);
            const bool changed_places = find(was, now.name) != nullptr || find(is, old.name) != nullptr;
            if (old.name != now.name && changed_places)
                return found(change + ": members changed places");
            if (!is_same_type || was.parts.size() != is.parts.size())
                return found(change);
            if (!renamed_)
                renamed_ = type_difference{change, true};
            meet(old.type, now.type, at, '.' + now.name);
        }
        if (both < is.parts.size())
            found(member(at, both) + ", " + quoted(is_, is.parts[both]) + ", was added");
        if (both < was.parts.size())
            found(member(at, both) + ", " + quoted(was_, was.parts[both]) + ", was removed");
    }

    void compare_places(std::size_t at) {
        const type_row& was = was_.rows[pairs_[at].was];
        const type_row& is = is_.rows[pairs_[at].is];
        const auto place = [](const type_part& part) {
            return part.offset ? "at offset " + std::to_string(*part.offset) : std::string("at no known offset");
        };
        for (std::size_t i = 0; is_aggregate(was.kind) && i != was.parts.size(); ++i) {
            if (was.parts[i].offset != is.parts[i].offset) {
                found(member(at, i) + ", " + quoted(was_, was.parts[i]) + ", was " + place(was.parts[i]) + ", is " +
                      place(is.parts[i]));
            }
        }
        if (was.size != is.size || was.alignment != is.alignment) {
            found(was_.name_of(pairs_[at].was) + in_parentheses(path_to(at)) + " had " + bytes_and_alignment(was) +
                  ", has " + bytes_and_alignment(is));
        }
    }

    /// Returns "member 3 of address (home.zip)". The part in parentheses is the path from the root; it is omitted if it
    /// adds nothing.
    std::string member(std::size_t at, std::size_t index) const {
        const type_row& row =
            (index < was_.rows[pairs_[at].was].parts.size() ? was_.rows[pairs_[at].was] : is_.rows[pairs_[at].is]);
        const std::string way = path_to(at);
        return "member " + std::to_string(index + 1) + " of " + was_.name_of(pairs_[at].was) +
               in_parentheses(way.empty() ? "" : joined(way + '.' + row.parts[index].name));
    }

    /// Returns the path from the root to a pair: "home", "[].next->friends[]"; empty if the path has no member.
    std::string path_to(std::size_t at) const {
        std::string way;
        bool has_member = false;
        std::size_t steps = 0;
        for (; pairs_[at].from != k_none; at = pairs_[at].from) {
            if (++steps > k_steps_max) {
                way.insert(0, "...");
                break;
            }
            has_member = has_member || pairs_[at].step.starts_with('.');
            way.insert(0, pairs_[at].step);
        }
        return has_member ? joined(std::move(way)) : std::string();
    }

    /// Joins the steps as a programmer writes them: "->.zip" becomes "->zip", and the first step loses its dot.
    static std::string joined(std::string way) {
        for (std::size_t arrow = way.find("->."); arrow != std::string::npos; arrow = way.find("->."))
            way.erase(arrow + 2, 1);
        if (way.starts_with('.') && !way.starts_with("..."))
            way.erase(0, 1);
        return way;
    }

    static std::string in_parentheses(const std::string& text) { return text.empty() ? "" : " (" + text + ')'; }

    static std::string quoted(const type_description& of, const type_part& part) {
        return '"' + of.name_of(part.type) + (part.name.empty() ? "" : ' ' + part.name) + '"';
    }

    static constexpr std::size_t k_steps_max = 16; // the most steps of a path that are shown

    const type_description& was_;
    const type_description& is_;
    std::vector<std::size_t> partner_; // for each row of was_: the row of is_ that it was paired with
    std::vector<pair> pairs_;
    std::optional<type_difference> found_;
    std::optional<type_difference> renamed_;
};

} // namespace

std::optional<type_difference> difference_between(const type_description& was, const type_description& is) {
    return comparison(was, is).run();
}

} // namespace remanence::types
