// Objects of one type made from those of another: from the same type as a dump has it, or from an older release of it. What differs is
// matched by names, before anything is made.
//
//  CV1  An object is made whole: what its row has and the older one lacks comes from an object that the program made by default.
//  CV2  Nothing but numbers is changed, and these only where each value of the older type is one of the newer; what else is changed, the
//       program's functions do (conversion_steps.hpp).
#pragma once

#include "base/result.hpp"
#include "objects/conversion_steps.hpp"
#include "objects/object_builder.hpp"
#include "objects/object_source.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace remanence::objects {

/// One thing in which two versions of a type differ.
struct type_change {
    std::string what; // "book.pages was int, is long"
    bool is_automatic = true;
    friend bool operator==(const type_change&, const type_change&) = default;
};

/// On the way from an object to what it has.
struct path_step {
    std::string_view member; // empty: an element
    std::uint64_t index = 0;
};
/// As a program would write it: "[3].city".
[[nodiscard]] std::string text_of(const std::vector<path_step>& way);

/// How the rows of one schema become those of another.
class row_matching {
public:
    /// Both must outlive it.
    row_matching(const types::type_description& from, const types::type_description& to) : from_(from), to_(to) {}

    /// True if objects of `from` become objects of `to`; changes() has what differs, of all pairs that were asked for.
    bool match(std::uint32_t from, std::uint32_t to);
    [[nodiscard]] const std::vector<type_change>& changes() const { return changes_; }

    /// Functions of the program, which must outlive it.
    void use(const step_table& steps) { steps_ = &steps; }
    /// Members with pointers are not matched where functions make an object: these follow from the one that is stored.
    void leave_out_pointers() { leaves_out_pointers_ = true; }
    /// Precondition: it matches. By what functions one becomes the other; null: by none.
    [[nodiscard]] const step_chain* chain(std::uint32_t from, std::uint32_t to) const {
        const auto found = chains_.empty() ? chains_.end() : chains_.find({from, to});
        return found == chains_.end() ? nullptr : &found->second;
    }
    /// True if functions make anything of it.
    [[nodiscard]] bool has_chains() const { return !chains_.empty(); }
    /// True if all that was matched has the same bytes as before: only names differ.
    [[nodiscard]] bool has_same_bytes() const { return has_same_bytes_; }
    /// What cannot be converted if objects get other addresses.
    [[nodiscard]] const std::vector<std::string>& only_in_place() const { return only_in_place_; }

    /// What a member is made from; null: it is new. `members` are those of the older row.
    [[nodiscard]] const types::type_part* origin_of(const types::type_part& member, std::uint32_t row,
                                                    const std::vector<types::type_part>& members) const;
    /// The same of all members of a row, in their order; worked out once for each pair of rows.
    [[nodiscard]] const std::vector<const types::type_part*>& origins(std::uint32_t from, std::uint32_t to) const;
    /// What of an object is copied as it is, and which members are to be made one by one.
    struct member_plan {
        struct bytes {
            std::uint64_t from, to, count;
        };
        std::vector<bytes> copies;
        std::vector<std::size_t> others;
    };
    /// Of members, worked out once for each pair of rows. Where pointers may lead to members, none is copied.
    [[nodiscard]] const member_plan& plan(std::uint32_t from, std::uint32_t to) const;
    /// Which alternative each one of a variant becomes: that of its name, by the name that its class has now (rename_class()), or the one that
    /// functions make of it. Worked out once for each pair of rows.
    [[nodiscard]] const std::vector<std::optional<std::size_t>>& alternatives(std::uint32_t from,
                                                                              std::uint32_t to) const;
    /// Members that were renamed: of the class with this name, from the first name to the second.
    void rename(std::string type, std::string old_name, std::string new_name);
    /// A class that was renamed, wherever alternatives of variants are named by it.
    void rename_class(std::string old_name, std::string new_name);

    /// What of the rest of an object (inspect::rest_of) stays where it is: what it leaves out, if it has that in both rows.
    struct rest_plan {
        struct range {
            std::uint64_t at, count;
            bool is_carried;
        };
        std::vector<range> ranges; // of the older row
        std::uint64_t bytes = 0;   // of these
    };
    /// Worked out once for each pair of rows with members.
    [[nodiscard]] const rest_plan& rest(std::uint32_t from, std::uint32_t to) const;
    /// A member that may go with its values, as "year" of any class, or as "book.year"; or an enumerator: "kind::novel".
    void drop(std::string name) { dropped_.insert(std::move(name)); }
    [[nodiscard]] bool is_dropped(std::uint32_t from, std::uint32_t to, const std::string& member) const;
    /// Which enumerator a stored one becomes, by its name or a renaming; nothing: it is gone.
    [[nodiscard]] std::optional<std::size_t> enumerator(std::uint32_t from, const std::string& label,
                                                        std::uint32_t to) const;
    [[nodiscard]] bool is_dropped_enumerator(std::uint32_t from, const std::string& label, std::uint32_t to) const;
    /// Members of the older row that the newer one does not have, and whose values may not go. Worked out once for each pair of rows.
    [[nodiscard]] const std::vector<const types::type_part*>& lost(std::uint32_t from, std::uint32_t to) const;
    /// True if anything that was matched has such.
    [[nodiscard]] bool may_lose() const { return may_lose_; }

    /// What objects become that pointers lead to; nothing: no pointer that was matched leads to such.
    [[nodiscard]] std::optional<std::uint32_t> pointee(std::uint32_t from) const {
        const auto found = pointees_.find(from);
        return found == pointees_.end() ? std::nullopt : std::optional(found->second);
    }

    [[nodiscard]] const types::type_description& from() const { return from_; }
    [[nodiscard]] const types::type_description& to() const { return to_; }

private:
    bool compute(std::uint32_t from, std::uint32_t to);
    bool match_by_steps(std::uint32_t from, std::uint32_t to, step_chain chain);
    void compare_bytes(std::uint32_t from, std::uint32_t to);
    bool match_in_optional(std::uint32_t from, std::uint32_t to);
    bool match_wrapped(std::uint32_t from, std::uint32_t to);
    bool match_foreign(std::uint32_t from, std::uint32_t to);
    bool match_hidden(std::uint32_t from, std::uint32_t to);
    bool match_pointers(std::uint32_t from, std::uint32_t to);
    bool match_arrays(std::uint32_t from, std::uint32_t to);
    bool match_variants(std::uint32_t from, std::uint32_t to);
    bool match_packed(std::uint32_t from, std::uint32_t to);
    bool match_elements(std::uint32_t from, std::uint32_t to);
    bool match_maps(std::uint32_t from, std::uint32_t to);
    bool match_key(std::uint32_t from, std::uint32_t to);
    bool match_order(std::uint32_t from, std::uint32_t to);
    bool match_members(std::uint32_t from, std::uint32_t to);
    bool match_numbers(std::uint32_t from, std::uint32_t to);
    /// RN1
    bool check_renamings(std::uint32_t from, std::uint32_t to);
    /// Both note what differs, and return whether it matches.
    bool refuse(std::uint32_t from, std::uint32_t to, const std::string& why = {});
    bool accept(std::uint32_t from, std::uint32_t to, bool is_changed);
    void note(std::string what, bool is_automatic);
    [[nodiscard]] std::string place() const;
    [[nodiscard]] std::string was_and_is(std::uint32_t from, std::uint32_t to) const;
    bool add_copies(std::uint32_t from, std::uint32_t to, member_plan::bytes at, member_plan& plan) const;

    struct renaming {
        std::string type, old_name, new_name;
    };
    [[nodiscard]] std::optional<std::string> why_not(const renaming& each, std::uint32_t from, std::uint32_t to) const;
    /// A type's name with the names that classes have now.
    [[nodiscard]] std::string present_name(std::string type) const;
    const types::type_description& from_;
    const types::type_description& to_;
    using row_pair = std::pair<std::uint32_t, std::uint32_t>;
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, bool>
        known_; // and whether in a key; true also while it is being worked out
    std::map<std::uint32_t, std::uint32_t> pointees_;
    std::vector<type_change> changes_;
    [[nodiscard]] std::optional<std::size_t> alternative(std::uint32_t from, std::size_t index, std::uint32_t to) const;
    std::vector<renaming> renamings_;
    std::vector<std::pair<std::string, std::string>> renamed_classes_; // old name, new name
    mutable std::map<row_pair, std::vector<const types::type_part*>> origins_;
    mutable std::map<row_pair, std::vector<std::optional<std::size_t>>> alternatives_;
    mutable std::map<row_pair, member_plan> plans_;
    mutable std::map<row_pair, rest_plan> rests_;
    mutable std::map<row_pair, std::vector<const types::type_part*>> lost_;
    std::set<std::string> dropped_;
    bool may_lose_ = false;
    mutable const member_plan* last_plan_ = nullptr; // the one asked for before: most often the same
    mutable row_pair last_plan_of_;
    const step_table* steps_ = nullptr;
    std::map<row_pair, step_chain> chains_;
    bool leaves_out_pointers_ = false;
    bool has_same_bytes_ = true;
    bool is_in_key_ = false;
    std::vector<std::string> only_in_place_;
    std::string place_; // of the member that is being matched
};

/// True if a number of one row has the same bytes as one of the other; false for those of more than 8 bytes, which have padding.
[[nodiscard]] bool is_same_number(const types::type_row& was, const types::type_row& is);

/// Makes objects from those of a source.
class conversion {
public:
    struct listener {
        virtual ~listener() = default;
        /// Each object, before its parts are made.
        virtual void placed(object_place /*from*/, object_place /*to*/) {}
        /// A part of an object that is changed where it is: this part keeps its place and its bytes.
        virtual void stays(object_place /*part*/) {}
        /// A pointer that is not null: who listens writes where it leads, later.
        virtual result<void> point(object_place from, object_place to) = 0;
        /// An element is to be made there that is the one of this number in the source, from 0.
        virtual void element(object_place /*container*/, std::uint64_t /*number*/, const element_place& /*to*/) {}
        /// Where an object is that the program made by default; its row is of the builder's schema.
        virtual result<object_place> default_of(object_builder& by, std::uint32_t row) = 0;
        // With functions of the program only.

        /// Makes an object by default in memory that is zero, if it is of a class.
        virtual result<void> construct(object_builder& /*by*/, object_place /*to*/) { return {}; }
        /// Both objects are there, and stay: the function is to be called, now or later, but in this order.
        virtual void fill(const prepared_step& /*by*/, std::uint64_t /*was*/, std::uint64_t /*is*/) {}
        /// An object between two functions, to be destroyed at the end.
        virtual void made_between(const prepared_step& /*by*/, std::uint64_t /*at*/) {}
    };

    /// All must outlive it. What is converted must match.
    conversion(object_source& source, object_builder& builder, const row_matching& rows, listener& told)
        : source_(source), builder_(builder), rows_(rows), told_(told) {}

    /// Makes an object in memory that is zero. When it fails, what was made is not freed.
    result<void> make(object_place from, object_place to) { return make(from, to, 0); }
    /// A copy of an object that was made by default, in memory that is zero.
    result<void> make_default(object_place model, object_place to) { return make_default(model, to, 0); }
    /// The same of a container, whose elements come from elsewhere.
    result<void> make_element(container_filler& filler, object_place container, const element_place& from,
                              std::uint64_t number);
    /// Why objects of this row, or of one that it holds, cannot be made here; nothing: they can.
    static std::optional<std::string> why_not(const object_builder& builder, std::uint32_t row);
    /// The bytes of an object in which no member lies: into memory of which nobody else has those.
    struct rooms {
        std::uint64_t from = inspect::k_all_room;
        std::uint64_t to = inspect::k_all_room;
    };
    result<void> make_rest(object_place from, object_place to, rooms room, bool may_lose);
    /// Of a member, which is made from the other one.
    [[nodiscard]] rooms rooms_of(std::uint32_t from, const types::type_part& origin, std::uint32_t to,
                                 const types::type_part& member) const;
    /// The way to what failed, as a program would write it: "[3].city".
    [[nodiscard]] std::string way() const { return text_of(path_); }

private:
    result<void> make(object_place from, object_place to, unsigned depth);
    result<void> make_members(object_place from, object_place to, rooms room, bool by_function, unsigned depth);
    result<void> make_member(object_place from, object_place to, std::size_t index, std::optional<object_place>& model,
                             unsigned depth);
    result<void> make_default(object_place model, object_place to, unsigned depth);
    result<void> make_by_steps(const step_chain& chain, object_place from, object_place to, unsigned depth);
    result<void> make_filled(object_place from, object_place to, unsigned depth);
    result<void> make_last(const prepared_step& step, object_place stored, object_place between, object_place to,
                           unsigned depth);
    result<void> make_pointer(object_place from, object_place to);
    result<void> make_text(object_place from, object_place to);
    result<void> make_held(object_place from, object_place to, unsigned depth);
    result<void> make_hidden(object_place from, object_place to);
    result<void> make_characters(object_place from, object_place to);
    result<void> make_array(object_place from, object_place to, unsigned depth);
    result<void> make_container(object_place from, object_place to, unsigned depth);
    result<void> make_number(object_place from, object_place to);
    result<void> make_element(container_filler& filler, object_place container, const element_place& from,
                              std::uint64_t number, unsigned depth);
    result<std::uint64_t> hash(object_place from, std::uint32_t to, key_function function, std::uint64_t seed);
    result<std::uint64_t> hash_by(const detail::key_functions& by, object_place from, std::uint32_t container,
                                  std::uint64_t seed, unsigned depth);
    result<scalar> number(object_place from, std::uint32_t to);

    object_source& source_;
    object_builder& builder_;
    const row_matching& rows_;
    listener& told_;
    std::vector<path_step> path_;
    rooms next_rooms_; // of the object that is made next
};

} // namespace remanence::objects
