// Makes objects of one type from those of another: from the same type as a dump describes it, or from an older release
// of the type. The differences are matched by names before any object is made.
//
//  CV1  Every object is made complete. A member that the older type lacks is copied from an object that the program has
//       default-constructed.
//  CV2  A number changes its type only if the newer type has all values of the older one. All other changes of values
//       are made by functions of the program (conversion_steps.hpp).
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

/// A step on the path from an object to one of its parts.
struct path_step {
    std::string_view member; // empty for an element
    std::uint64_t index = 0;
};
/// Returns the path as a program would write it: "[3].city".
[[nodiscard]] std::string text_of(const std::vector<path_step>& way);

/// Matches the rows of one schema with those of another.
class row_matching {
public:
    /// Both schemas must outlive this object.
    row_matching(const types::type_description& from, const types::type_description& to) : from_(from), to_(to) {}

    /// True if objects of `from` can become objects of `to`. changes() lists the differences that all calls of match()
    /// found.
    bool match(std::uint32_t from, std::uint32_t to);
    /// Does the same for a class of objects to which pointers to their bases lead.
    bool match_class(std::uint32_t from, std::uint32_t to);
    [[nodiscard]] const std::vector<type_change>& changes() const { return changes_; }

    /// Sets the program's conversion functions. The table must outlive this object.
    void use(const step_table& steps) { steps_ = &steps; }
    /// Makes match() skip members with pointers in objects that functions make. Such members are copied from the stored
    /// object.
    void leave_out_pointers() { leaves_out_pointers_ = true; }
    /// Returns the functions that make an object of `to` from one of `from`; null if there are none. Precondition: the
    /// rows match.
    [[nodiscard]] const step_chain* chain(std::uint32_t from, std::uint32_t to) const {
        const auto found = chains_.empty() ? chains_.end() : chains_.find({from, to});
        return found == chains_.end() ? nullptr : &found->second;
    }
    /// True if functions make at least one of the objects.
    [[nodiscard]] bool has_chains() const { return !chains_.empty(); }
    /// True if the bytes of all matched objects stay the same, because only names differ.
    [[nodiscard]] bool has_same_bytes() const { return has_same_bytes_; }
    /// Lists the parts that cannot be converted if objects move to other addresses.
    [[nodiscard]] const std::vector<std::string>& only_in_place() const { return only_in_place_; }

    /// Returns the older member from which a member is made; null if the member is new. `members` are those of the
    /// older row.
    [[nodiscard]] const types::type_part* origin_of(const types::type_part& member, std::uint32_t row,
                                                    const std::vector<types::type_part>& members) const;
    /// Returns origin_of() for all members of a row, in their order. Computed once for each pair of rows.
    [[nodiscard]] const std::vector<const types::type_part*>& origins(std::uint32_t from, std::uint32_t to) const;
    /// Says which bytes of an object are copied unchanged, and which members are made one by one.
    struct member_plan {
        struct bytes {
            std::uint64_t from, to, count;
        };
        std::vector<bytes> copies;
        std::vector<bytes> defaults; // of new members, copied from a default-constructed object
        std::vector<std::size_t> others;
    };
    /// Returns the plan, computed once for each pair of rows. If pointers may lead to a member, or to a part of it, it
    /// is made and not copied.
    [[nodiscard]] const member_plan& plan(std::uint32_t from, std::uint32_t to) const;
    /// Returns the plan for an object of any form if the plan's bytes are the whole object, so that no part of it needs
    /// a look; otherwise null. Computed once for each pair of rows.
    [[nodiscard]] const member_plan* whole_plan(std::uint32_t from, std::uint32_t to) const;
    /// Returns, for each alternative of a variant, the one that it becomes. This is the alternative of the same name,
    /// or of the new name of its class (rename_class()), or else the one that functions make from it. Computed once for
    /// each pair of rows.
    [[nodiscard]] const std::vector<std::optional<std::size_t>>& alternatives(std::uint32_t from,
                                                                              std::uint32_t to) const;
    /// Declares that a member of the class `type` was renamed.
    void rename(std::string type, std::string old_name, std::string new_name);
    /// Declares that a class was renamed. This matters where the alternatives of a variant are identified by the names
    /// of classes.
    void rename_class(std::string old_name, std::string new_name);

    /// Says which bytes outside of members (inspect::rest_of) are copied: those that the class leaves out, if both rows
    /// leave out the same bytes.
    struct rest_plan {
        struct range {
            std::uint64_t at, count;
            bool is_carried;
        };
        std::vector<range> ranges; // in the older row
        std::uint64_t bytes = 0;   // of all ranges
    };
    /// Returns the plan, computed once for each pair of rows with members.
    [[nodiscard]] const rest_plan& rest(std::uint32_t from, std::uint32_t to) const;
    /// Allows that a member is lost with its values: "year" of any class, or "book.year". Also allows that an
    /// enumerator is lost: "kind::novel".
    void drop(std::string name) { dropped_.insert(std::move(name)); }
    [[nodiscard]] bool is_dropped(std::uint32_t from, std::uint32_t to, const std::string& member) const;
    /// Returns the enumerator that a stored one becomes, according to its name or a renaming; nothing if there is none.
    [[nodiscard]] std::optional<std::size_t> enumerator(std::uint32_t from, const std::string& label,
                                                        std::uint32_t to) const;
    [[nodiscard]] bool is_dropped_enumerator(std::uint32_t from, const std::string& label, std::uint32_t to) const;
    /// Returns those members of the older row that the newer row lacks, and whose values must not be lost. Computed
    /// once for each pair of rows.
    [[nodiscard]] const std::vector<const types::type_part*>& lost(std::uint32_t from, std::uint32_t to) const;
    /// True if lost() is not empty for some pair that was matched.
    [[nodiscard]] bool may_lose() const { return may_lose_; }

    /// Returns the row that targets of pointers get; nothing if no matched pointer leads to objects of this row.
    [[nodiscard]] std::optional<std::uint32_t> pointee(std::uint32_t from) const {
        const auto found = pointees_.find(from);
        return found == pointees_.end() ? std::nullopt : std::optional(found->second);
    }

    /// Returns all rows of targets, and the rows that they get.
    [[nodiscard]] const std::map<std::uint32_t, std::uint32_t>& pointees() const { return pointees_; }

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
    /// Checks the renamings of members of these classes (RN1).
    bool check_renamings(std::uint32_t from, std::uint32_t to);
    /// refuse() and accept() record a difference, and return the result of the match: false or true.
    bool refuse(std::uint32_t from, std::uint32_t to, const std::string& why = {});
    bool accept(std::uint32_t from, std::uint32_t to, bool is_changed);
    void note(std::string what, bool is_automatic);
    [[nodiscard]] std::string place() const;
    [[nodiscard]] std::string was_and_is(std::uint32_t from, std::uint32_t to) const;
    bool add_copies(std::uint32_t from, std::uint32_t to, member_plan::bytes at,
                    std::vector<member_plan::bytes>& copies) const;
    [[nodiscard]] bool has_rest(std::uint32_t from, std::uint32_t to) const;

    struct renaming {
        std::string type, old_name, new_name;
    };
    [[nodiscard]] std::optional<std::string> why_not(const renaming& each, std::uint32_t from, std::uint32_t to) const;
    /// Replaces the names of renamed classes in a type's name.
    [[nodiscard]] std::string present_name(std::string type) const;
    const types::type_description& from_;
    const types::type_description& to_;
    using row_pair = std::pair<std::uint32_t, std::uint32_t>;
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, bool>
        known_; // key: both rows, and whether they are in a key; value: the result, or true while it is being computed
    std::map<std::uint32_t, std::uint32_t> pointees_;
    std::vector<type_change> changes_;
    [[nodiscard]] std::optional<std::size_t> alternative(std::uint32_t from, std::size_t index, std::uint32_t to) const;
    std::vector<renaming> renamings_;
    std::vector<std::pair<std::string, std::string>> renamed_classes_; // old name, new name
    mutable std::map<row_pair, std::vector<const types::type_part*>> origins_;
    mutable std::map<row_pair, std::vector<std::optional<std::size_t>>> alternatives_;
    mutable std::map<row_pair, member_plan> plans_;
    mutable std::map<row_pair, std::optional<member_plan>> whole_plans_;
    mutable std::map<row_pair, rest_plan> rests_;
    mutable std::map<row_pair, std::vector<const types::type_part*>> lost_;
    std::set<std::string> dropped_;
    bool may_lose_ = false;
    // the plan that was requested last, since the next request is usually for the same rows
    mutable const member_plan* last_plan_ = nullptr;
    mutable row_pair last_plan_of_;
    const step_table* steps_ = nullptr;
    std::map<row_pair, step_chain> chains_;
    bool leaves_out_pointers_ = false;
    bool has_same_bytes_ = true;
    bool is_in_key_ = false;
    std::vector<std::string> only_in_place_;
    std::string place_; // name of the member that is being matched
};

/// True if each value has the same bytes in numbers of both rows. False for numbers of more than 8 bytes, because they
/// have padding.
[[nodiscard]] bool is_same_number(const types::type_row& was, const types::type_row& is);

class element_line;

/// Makes objects from those of a source.
class conversion {
public:
    struct listener {
        virtual ~listener() = default;
        /// Called for each object before its parts are made.
        virtual void placed(object_place /*from*/, object_place /*to*/) {}
        /// Called for a part of an object that is changed in place, if neither the place nor the bytes of that part
        /// change.
        virtual void stays(object_place /*part*/) {}
        /// Called for a pointer that is not null. The listener must write the new address later.
        virtual result<void> point(object_place from, object_place to) = 0;
        /// Called for an object with virtual functions, or its base of that kind, once its parts are made: must write
        /// the vptrs. An object comes behind its bases.
        virtual result<void> vptr(object_builder& by, object_place to, bool is_base);
        /// Called before the elements of a container are made. If the result is not null, and each element lies in a
        /// block of its own, the beginnings of these blocks are appended there.
        virtual std::vector<std::uint64_t>* blocks_of_elements(object_place /*container*/) { return nullptr; }
        /// Called before an element is made at `to`. `number` is the element's index in the source.
        virtual void element(object_place /*container*/, std::uint64_t /*number*/, const element_place& /*to*/) {}
        /// Returns the place of a default-constructed object of this row of the builder's schema.
        virtual result<object_place> default_of(object_builder& by, std::uint32_t row) = 0;
        // Called only if the program has conversion functions:

        /// Default-constructs an object in zeroed memory, if it is of a class.
        virtual result<void> construct(object_builder& /*by*/, object_place /*to*/) { return {}; }
        /// Called when the old and the new object exist at their final places. The listener must call the program's
        /// function for them, now or later, but in the order of the calls of fill().
        virtual void fill(const prepared_step& /*by*/, std::uint64_t /*was*/, std::uint64_t /*is*/) {}
        /// Called for an intermediate object between two functions. The listener must destroy it at the end.
        virtual void made_between(const prepared_step& /*by*/, std::uint64_t /*at*/) {}
    };

    /// All arguments must outlive this object. The rows to convert must match.
    conversion(object_source& source, object_builder& builder, const row_matching& rows, listener& told)
        : source_(source), builder_(builder), rows_(rows), told_(told) {}

    /// Makes an object in zeroed memory. After a failure, the parts made so far are not freed.
    result<void> make(object_place from, object_place to) { return make(from, to, 0); }
    /// Copies a default-constructed object into zeroed memory.
    result<void> make_default(object_place model, object_place to) { return make_default(model, to, 0); }
    /// Makes one element of a container whose elements do not come from another container.
    result<void> make_element(container_filler& filler, object_place container, const element_place& from,
                              std::uint64_t number);
    /// Does the same with an element of a line that was parsed.
    result<void> put_element(container_filler& filler, object_place container, const element_line& line,
                             std::uint64_t number);
    /// Writes the values of new members that a plan copies from a default-constructed object.
    result<void> put_defaults(const row_matching::member_plan& plan, object_place to) {
        return put_defaults(plan, to, {});
    }
    /// Returns why objects of this row, or of a row in it, cannot be made here; nothing if they can.
    static std::optional<std::string> why_not(const object_builder& builder, std::uint32_t row);
    /// The number of bytes that belong to an object alone, in the source and in the target. Other members may lie
    /// behind them, in the object's padding.
    struct rooms {
        std::uint64_t from = inspect::k_all_room;
        std::uint64_t to = inspect::k_all_room;
    };
    result<void> make_rest(object_place from, object_place to, rooms room, bool may_lose);
    /// Returns the rooms of a member, and of the older member from which it is made.
    [[nodiscard]] rooms rooms_of(std::uint32_t from, const types::type_part& origin, std::uint32_t to,
                                 const types::type_part& member) const;
    /// Returns the path to the part whose conversion failed, as a program would write it: "[3].city".
    [[nodiscard]] std::string way() const { return text_of(path_); }

private:
    result<void> make(object_place from, object_place to, unsigned depth);
    /// The object with virtual functions to which a base belongs. What its constructor gives to the base is what a new
    /// member of the base holds, since the base itself may be abstract.
    struct whole_object {
        std::uint32_t row;
        std::uint64_t offset; // of the base
    };
    using base_of = std::optional<whole_object>;
    result<void> make_members(object_place from, object_place to, rooms room, bool by_function, unsigned depth,
                              const base_of& whole = {});
    result<void> make_member(object_place from, object_place to, std::size_t index, unsigned depth,
                             const base_of& whole);
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
    /// For an element's key and value, the plan by which they are copied; null if they are made part by part.
    struct element_plans {
        const row_matching::member_plan* key = nullptr;
        const row_matching::member_plan* value = nullptr;
    };
    [[nodiscard]] element_plans plans_of_elements(object_place from, object_place to) const;
    result<void> make_container(object_place from, object_place to, unsigned depth);
    using take_element = std::function<result<bool>(const element_place&, std::uint64_t number)>;
    result<void> take_sorted(object_place from, bool is_descending, const take_element& take);
    result<void> copy(const row_matching::member_plan& plan, object_place from, object_place to,
                      const base_of& whole = {});
    result<void> put_defaults(const row_matching::member_plan& plan, object_place to, const base_of& whole);
    result<object_place> model_of(std::uint32_t row, const base_of& whole);
    result<void> make_number(object_place from, object_place to);
    result<void> make_element(container_filler& filler, object_place container, const element_place& from,
                              std::uint64_t number, const element_plans& plans, unsigned depth);
    template <class Make>
    result<void> add_element(container_filler& filler, object_place container, std::uint64_t number, std::uint64_t hash,
                             const Make& make);
    result<std::uint64_t> hash(object_place from, std::uint32_t to, key_function function, std::uint64_t seed);
    result<std::uint64_t> hash_by(const detail::key_functions& by, object_place from, std::uint32_t container,
                                  std::uint64_t seed, unsigned depth);
    result<scalar> number(object_place from, std::uint32_t to);

    object_source& source_;
    object_builder& builder_;
    const row_matching& rows_;
    listener& told_;
    std::vector<path_step> path_;
    rooms next_rooms_;                  // rooms of the object that is made next
    bool next_is_base_ = false;         // whether the object that is made next is a base
    base_of next_whole_;                // the object whose base is made next
    std::optional<object_place> model_; // the default-constructed object that was used last
};

} // namespace remanence::objects
