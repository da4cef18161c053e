// Objects of one type made from those of another: from the same type as a dump has it, or from an older release of it. What differs is
// matched by names, before anything is made.
//
//  CV1  An object is made whole: what its row has and the older one lacks comes from an object that the program made by default.
//  CV2  Nothing but numbers is changed, and these only where each value of the older type is one of the newer.
#pragma once

#include "base/result.hpp"
#include "objects/object_builder.hpp"
#include "objects/object_source.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace remanence::objects {

/// One thing in which two versions of a type differ.
struct type_change {
    std::string what; // "book.pages was int, is long"
    bool is_automatic = true;
    friend bool operator==(const type_change&, const type_change&) = default;
};

/// How the rows of one schema become those of another.
class row_matching {
public:
    /// Both must outlive it.
    row_matching(const types::type_description& from, const types::type_description& to) : from_(from), to_(to) {}

    /// Whether objects of `from` become objects of `to`; changes() has what differs, of all pairs that were asked for.
    bool match(std::uint32_t from, std::uint32_t to);
    [[nodiscard]] const std::vector<type_change>& changes() const { return changes_; }

    /// What a member is made from; null: it is new. `members` are those of the older row.
    [[nodiscard]] const types::type_part* origin_of(const types::type_part& member, std::uint32_t row,
                                                    const std::vector<types::type_part>& members) const;
    /// The same of all members of a row, in their order; worked out once for each pair of rows.
    [[nodiscard]] const std::vector<const types::type_part*>& origins(std::uint32_t from, std::uint32_t to) const;
    /// Which alternative of a variant one becomes.
    [[nodiscard]] std::optional<std::size_t> alternative(const types::type_row& from, std::size_t index,
                                                         const types::type_row& to) const;
    /// Members that were renamed: of the class with this name, from the first name to the second.
    void rename(std::string type, std::string old_name, std::string new_name);

    /// What objects become that pointers lead to; nothing: no pointer that was matched leads to such.
    [[nodiscard]] std::optional<std::uint32_t> pointee(std::uint32_t from) const {
        const auto found = pointees_.find(from);
        return found == pointees_.end() ? std::nullopt : std::optional(found->second);
    }

    [[nodiscard]] const types::type_description& from() const { return from_; }
    [[nodiscard]] const types::type_description& to() const { return to_; }

private:
    bool compute(std::uint32_t from, std::uint32_t to);
    bool match_members(std::uint32_t from, std::uint32_t to);
    bool match_numbers(std::uint32_t from, std::uint32_t to);
    bool refuse(std::uint32_t from, std::uint32_t to, const std::string& why);
    void note(std::string what, bool is_automatic);

    struct renaming {
        std::string type, old_name, new_name;
    };
    const types::type_description& from_;
    const types::type_description& to_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, bool> known_; // true also while it is being worked out
    std::map<std::uint32_t, std::uint32_t> pointees_;
    std::vector<type_change> changes_;
    std::vector<renaming> renamings_;
    mutable std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const types::type_part*>> origins_;
    std::string place_; // of the member that is being matched
};

/// Makes objects from those of a source.
class conversion {
public:
    static constexpr unsigned k_depth_max = 1000;

    struct listener {
        virtual ~listener() = default;
        /// Each object, before its parts are made.
        virtual void placed(object_place /*from*/, object_place /*to*/) {}
        /// A pointer that is not null: who listens writes where it leads, later.
        virtual result<void> point(object_place from, object_place to) = 0;
        /// Where an object is that the program made by default, as `to` is; its row is of the newer schema.
        virtual result<object_place> default_of(std::uint32_t to_row) = 0;
    };

    /// All must outlive it. What is converted must match.
    conversion(object_source& source, object_builder& builder, const row_matching& rows, listener& told)
        : source_(source), builder_(builder), rows_(rows), told_(told) {}

    /// Makes an object in memory that is zero. When it fails, what was made is not freed.
    result<void> make(object_place from, object_place to) { return make(from, to, 0); }
    /// The same of a container, whose elements come from elsewhere.
    result<void> make_element(container_filler& filler, object_place container, const element_place& from);
    /// Why objects of this row, or of one that it holds, cannot be made here; nothing: they can.
    static std::optional<std::string> why_not(const object_builder& builder, std::uint32_t row);
    /// The way to what failed, as a program would write it: "[3].city".
    [[nodiscard]] std::string way() const;

private:
    result<void> make(object_place from, object_place to, unsigned depth);
    result<void> make_members(object_place from, object_place to, unsigned depth);
    result<void> make_array(object_place from, object_place to, unsigned depth);
    result<void> make_container(object_place from, object_place to, unsigned depth);
    result<void> make_number(object_place from, object_place to);
    result<void> make_element(container_filler& filler, object_place container, const element_place& from,
                              unsigned depth);
    result<std::uint64_t> hash(object_place from, std::uint32_t to, key_function function, std::uint64_t seed);
    result<scalar> number(object_place from, std::uint32_t to);

    struct step {
        std::string_view member; // empty: an element
        std::uint64_t index = 0;
    };

    object_source& source_;
    object_builder& builder_;
    const row_matching& rows_;
    listener& told_;
    std::vector<step> way_;
};

} // namespace remanence::objects
