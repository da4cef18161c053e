// The pointers of a dump. A dump describes a pointer by the path to the pointer's target (docs/reference/dump.md, "What
// pointers lead to"). The target may come later in the dump. So all pointers are resolved at the end, in one pass, in
// the order of their paths.
#pragma once

#include "base/result.hpp"
#include "objects/conversion.hpp"
#include "objects/json_document.hpp"
#include "objects/object_builder.hpp"
#include "objects/object_source.hpp"
#include "types/type_description.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace remanence::objects {

/// How objects of a type are made.
struct way_of_making {
    const types::type_description* from;
    types::type_description to;
    std::unique_ptr<row_matching> rows;
    std::unique_ptr<object_builder> builder;
};

struct made_object {
    way_of_making* by = nullptr;
    object_place place;
};

struct dumped_step {
    bool is_member = false;
    std::uint64_t index = 0;
    std::string member = {};
    friend auto operator<=>(const dumped_step&, const dumped_step&) = default;
};

/// A pointer that is still null, and the path to its target.
struct dumped_reference {
    bool is_in_object = false;
    std::string root = {};
    std::uint64_t object = 0;
    std::vector<dumped_step> steps = {};
    std::uint64_t at = 0;     // heap offset of the pointer
    std::string pointee = {}; // the name of the target's type
    std::uint64_t line = 0;
    [[nodiscard]] auto way() const { return std::tie(is_in_object, root, object, steps); }
};

/// Parses the path in the list of a {"$ref":[...]}; returns nothing if the list is malformed.
std::optional<dumped_reference> reference_of(const json_document& document, std::uint32_t list);

class dump_references {
public:
    /// `path` is the heap's path, for messages; it must outlive this object.
    explicit dump_references(const std::string& path) : path_(path) {}

    void add(dumped_reference made) { all_.push_back(std::move(made)); }
    /// Records the place of an element. References count elements in the order of the dump, but hash containers and
    /// sorted containers put them into another order.
    void put_element(object_place container, std::uint64_t number, const element_place& here);
    /// Writes the addresses of all pointers. errc::invalid_argument, with the line, if a reference leads nowhere.
    result<void> resolve(const std::map<std::string, made_object>& roots, const std::vector<made_object>& objects);
    /// Checks one root's keys that have pointers: calls the program's comparators to verify the keys' order.
    /// Precondition: resolve() was called, so the pointers are valid. errc::invalid_argument if an element is out of
    /// order or a duplicate.
    result<void> check_orders(const std::string& root, const made_object& made) const;

private:
    using references_span = std::span<const dumped_reference>;

    [[nodiscard]] unexpected leads_nowhere(const dumped_reference& which, const std::string& why) const;
    /// Resolves references whose paths lead through this place; their first `depth` steps lead to it.
    result<void> resolve_in(way_of_making& by, object_place place, references_span which, std::size_t depth);
    result<void> resolve_here(way_of_making& by, object_place place, const dumped_reference& which);
    result<void> resolve_in_members(way_of_making& by, object_place place, references_span which, std::size_t depth);
    result<void> resolve_in_elements(way_of_making& by, object_place place, references_span which, std::size_t depth);
    result<void> resolve_in_element(way_of_making& by, const element_place& element, references_span which,
                                    std::size_t depth);

    result<void> check_order(object_builder& builder, const std::string& path, object_place container) const;

    const std::string& path_;
    std::vector<dumped_reference> all_;
    std::unordered_map<std::uint64_t, std::vector<element_place>> elements_; // by container, in the order of the dump
};

} // namespace remanence::objects
