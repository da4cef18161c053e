// Makes objects of one type from those of another: from the same type as a dump describes it, or from an older release
// of the type. The differences are matched by names before anything is made.
//
//  CV1  Objects are made complete: a member that is new in the row is copied from an object that the program has made
//       by default.
//  CV2  Only numbers are changed, and only if each value of the older type is also a value of the newer one. All other
//       changes are made by functions of the program (conversion_steps.hpp).
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

/// A difference between two versions of a type.
struct type_change {
    std::string what; // "book.pages was int, is long"
    bool is_automatic = true;
    friend bool operator==(const type_change&, const type_change&) = default;
};

/// A step from an object to one of its parts.
struct path_step {
    std::string_view member; // empty: an element
    std::uint64_t index = 0;
};
/// Returns the path as a program would write it: "[3].city".
[[nodiscard]] std::string text_of(const std::vector<path_step>& way);

/// Matches the rows of one schema with those of another.
class row_matching {
public:
    /// Both must outlive it.
    row_matching(const types::type_description& from, const types::type_description& to) : from_(from), to_(to) {}

    /// True if objects of `from` can become objects of `to`. changes() lists the differences of all pairs that were
    /// asked for.
    bool match(std::uint32_t from, std::uint32_t to);
    [[nodiscard]] const std::vector<type_change>& changes() const { return changes_; }

    /// Sets functions of the program, which must outlive this object.
    void use(const step_table& steps) { steps_ = &steps; }
    /// Excludes members with pointers from the match where functions make an object: these members come from the stored
    /// object.
    void leave_out_pointers() { leaves_out_pointers_ = true; }
    /// Returns the functions that make one from the other; null if there are none. Precondition: the rows match.
    [[nodiscard]] const step_chain* chain(std::uint32_t from, std::uint32_t to) const {
        const auto found = chains_.empty() ? chains_.end() : chains_.find({from, to});
        return found == chains_.end() ? nullptr : &found->second;
    }
    /// True if functions make any of the objects.
    [[nodiscard]] bool has_chains() const { return !chains_.empty(); }
    /// True if everything that was matched has the same bytes as before: only names differ.
    [[nodiscard]] bool has_same_bytes() const { return has_same_bytes_; }
    /// Lists the parts that cannot be converted if objects get other addresses.
    [[nodiscard]] const std::vector<std::string>& only_in_place() const { return only_in_place_; }

    /// Returns the member that a member is made from; null if it is new. `members` are those of the older row.
    [[nodiscard]] const types::type_part* origin_of(const types::type_part& member, std::uint32_t row,
                                                    const std::vector<types::type_part>& members) const;
    /// Returns the same for all members of a row, in their order; computed once for each pair of rows.
    [[nodiscard]] const std::vector<const types::type_part*>& origins(std::uint32_t from, std::uint32_t to) const;
    /// Which bytes of an object are copied unchanged, and which members are made one by one.
    struct member_plan {
        struct bytes {
            std::uint64_t from, to, count;
        };
        std::vector<bytes> copies;
        std::vector<std::size_t> others;
    };
    /// Returns the plan, computed once for each pair of rows. If pointers may lead to members, no member is copied.
    [[nodiscard]] const member_plan& plan(std::uint32_t from, std::uint32_t to) const;
    /// Returns for each alternative of a variant the one that it becomes: the alternative of the same name, with the
    /// name that its class has now (rename_class()), or the one that functions make from it. Computed once for each
    /// pair of rows.
    [[nodiscard]] const std::vector<std::optional<std::size_t>>& alternatives(std::uint32_t from,
                                                                              std::uint32_t to) const;
    /// Declares that a member of the class `type` was renamed.
    void rename(std::string type, std::string old_name, std::string new_name);
    /// Declares that a class was renamed. It counts wherever a variant's alternatives are identified by the class's
    /// name.
    void rename_class(std::string old_name, std::string new_name);

    /// Which ranges outside of members (inspect::rest_of) are carried over: the bytes that the class leaves out, if
    /// both rows leave out the same.
    struct rest_plan {
        struct range {
            std::uint64_t at, count;
            bool is_carried;
        };
        std::vector<range> ranges; // of the older row
        std::uint64_t bytes = 0;   // sum of the ranges
    };
    /// Returns the plan, computed once for each pair of rows with members.
    [[nodiscard]] const rest_plan& rest(std::uint32_t from, std::uint32_t to) const;
    /// Allows that a member is lost with its values: "year" of any class, or "book.year"; or an enumerator:
    /// "kind::novel".
    void drop(std::string name) { dropped_.insert(std::move(name)); }
    [[nodiscard]] bool is_dropped(std::uint32_t from, std::uint32_t to, const std::string& member) const;
    /// Returns the enumerator that a stored one becomes, by its name or a renaming; nothing if it is gone.
    [[nodiscard]] std::optional<std::size_t> enumerator(std::uint32_t from, const std::string& label,
                                                        std::uint32_t to) const;
    [[nodiscard]] bool is_dropped_enumerator(std::uint32_t from, const std::string& label, std::uint32_t to) const;
    /// Returns members of the older row that the newer one does not have, and whose values may not be lost. Computed
    /// once for each pair of rows.
    [[nodiscard]] const std::vector<const types::type_part*>& lost(std::uint32_t from, std::uint32_t to) const;
    /// True if lost() has a member in any pair that was matched.
    [[nodiscard]] bool may_lose() const { return may_lose_; }

    /// Returns the row that targets of pointers become; nothing if no matched pointer leads to objects of this row.
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
    /// Both note the difference, and return the result of the match.
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
    /// Returns a type's name with the present names of classes.
    [[nodiscard]] std::string present_name(std::string type) const;
    const types::type_description& from_;
    const types::type_description& to_;
    using row_pair = std::pair<std::uint32_t, std::uint32_t>;
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, bool>
        known_; // by rows, and if the pair is in a key; true also while it is being computed
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
    // the one that was requested last: usually the next request is for the same
    mutable const member_plan* last_plan_ = nullptr;
    mutable row_pair last_plan_of_;
    const step_table* steps_ = nullptr;
    std::map<row_pair, step_chain> chains_;
    bool leaves_out_pointers_ = false;
    bool has_same_bytes_ = true;
    bool is_in_key_ = false;
    std::vector<std::string> only_in_place_;
    std::string place_; // of the member that is being matched
};

/// True if numbers of both rows have the same bytes for the same value. False for numbers of more than 8 bytes, which
/// have padding.
[[nodiscard]] bool is_same_number(const types::type_row& was, const types::type_row& is);

/// Makes objects from those of a source.
class conversion {
public:
    struct listener {
        virtual ~listener() = default;
        /// Called for each object before its parts are made.
        virtual void placed(object_place /*from*/, object_place /*to*/) {}
        /// Called for a part of an object that is changed in place, if the part keeps its place and its bytes.
        virtual void stays(object_place /*part*/) {}
        /// Called for a pointer that is not null. The listener writes the address later.
        virtual result<void> point(object_place from, object_place to) = 0;
        /// Called before an element is made there. `number`: its number in the source, from 0.
        virtual void element(object_place /*container*/, std::uint64_t /*number*/, const element_place& /*to*/) {}
        /// Returns the place of an object that the program made by default; its row is of the builder's schema.
        virtual result<object_place> default_of(object_builder& by, std::uint32_t row) = 0;
        // Only called if the program has functions:

        /// Makes an object by default in zeroed memory, if it is of a class.
        virtual result<void> construct(object_builder& /*by*/, object_place /*to*/) { return {}; }
        /// Both objects exist, and stay. The listener calls the function, now or later, but in this order.
        virtual void fill(const prepared_step& /*by*/, std::uint64_t /*was*/, std::uint64_t /*is*/) {}
        /// Called for an intermediate object between two functions. It must be destroyed at the end.
        virtual void made_between(const prepared_step& /*by*/, std::uint64_t /*at*/) {}
    };

    /// All arguments must outlive this object. The rows to convert must match.
    conversion(object_source& source, object_builder& builder, const row_matching& rows, listener& told)
        : source_(source), builder_(builder), rows_(rows), told_(told) {}

    /// Makes an object in zeroed memory. If it fails, it does not free what it has made.
    result<void> make(object_place from, object_place to) { return make(from, to, 0); }
    /// Copies an object that was made by default, into zeroed memory.
    result<void> make_default(object_place model, object_place to) { return make_default(model, to, 0); }
    /// Makes one element of a container whose elements come from another place.
    result<void> make_element(container_filler& filler, object_place container, const element_place& from,
                              std::uint64_t number);
    /// Returns why objects of this row, or of a row that it contains, cannot be made here; nothing if they can.
    static std::optional<std::string> why_not(const object_builder& builder, std::uint32_t row);
    /// How many bytes at the beginning of an object belong to it alone, in the source and in the target. Other members
    /// may lie in the padding behind.
    struct rooms {
        std::uint64_t from = inspect::k_all_room;
        std::uint64_t to = inspect::k_all_room;
    };
    result<void> make_rest(object_place from, object_place to, rooms room, bool may_lose);
    /// Returns the rooms of a member and of the member it is made from.
    [[nodiscard]] rooms rooms_of(std::uint32_t from, const types::type_part& origin, std::uint32_t to,
                                 const types::type_part& member) const;
    /// Returns the path to the part that failed, as a program would write it: "[3].city".
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
