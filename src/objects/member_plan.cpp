// Finds the bytes of an object that can be copied unchanged: numbers that have not changed, however deeply they are
// nested.
#include "objects/conversion.hpp"
#include "types/number_shapes.hpp"

#include <algorithm>

namespace remanence::objects {

using detail::shape_kind;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

constexpr std::uint64_t k_number_bytes_max = 8; // longer numbers have padding

} // namespace

bool is_same_number(const type_row& was, const type_row& is) {
    return types::is_number(was.shape) && was.shape == is.shape && was.size == is.size &&
           was.size <= k_number_bytes_max && (was.shape != shape_kind::enumeration || has_all_enumerators(was, is));
}

/// True if bytes outside of all members must be copied (make_rest()).
bool row_matching::has_rest(std::uint32_t from, std::uint32_t to) const {
    const type_row& was = from_.rows[from];
    return inspect::has_bit_fields(was) || inspect::has_bit_fields(to_.rows[to]) ||
           (inspect::may_leave_out(was) && !rest(from, to).ranges.empty());
}

/// Returns false, and adds nothing, if an object of this row contains anything but unchanged numbers.
// NOLINTNEXTLINE(misc-no-recursion): sound schemas end
bool row_matching::add_copies(std::uint32_t from, std::uint32_t to, member_plan::bytes at,
                              std::vector<member_plan::bytes>& copies) const {
    const type_row& was = from_.rows[from];
    const type_row& is = to_.rows[to];
    // The listener must be told of the object, or write its vptrs.
    if (chain(from, to) != nullptr || pointees_.contains(from) || inspect::has_vptr(is))
        return false;
    const auto copy = [&](std::uint64_t count) {
        if (!copies.empty()) {
            member_plan::bytes& last = copies.back();
            if (last.from + last.count == at.from && last.to + last.count == at.to) {
                last.count += count;
                return true;
            }
        }
        copies.push_back({at.from, at.to, count});
        return true;
    };
    if (was.kind == type_kind::object && is.kind == type_kind::object && is_same_number(was, is))
        return copy(was.size);
    const bool is_array = was.kind == type_kind::array && is.kind == type_kind::array;
    if (is_array || (was.shape == shape_kind::array && is.shape == shape_kind::array)) {
        const type_row& old_element = from_.rows[was.parts[0].type];
        const type_row& new_element = to_.rows[is.parts[0].type];
        return extent_of(was) == extent_of(is) && !pointees_.contains(was.parts[0].type) &&
               old_element.kind == type_kind::object && new_element.kind == type_kind::object &&
               is_same_number(old_element, new_element) && copy(extent_of(was) * old_element.size);
    }
    if (members_of(was) == nullptr || members_of(is) == nullptr || has_rest(from, to))
        return false;
    const std::vector<member_plan::bytes> before = copies;
    const auto& from_members = origins(from, to);
    std::size_t index = 0;
    for (const type_part& each : *members_of(is)) {
        const type_part* const origin = from_members[index++];
        if (!each.offset)
            continue;
        if (origin == nullptr ||
            !add_copies(origin->type, each.type, {at.from + *origin->offset, at.to + *each.offset, 0}, copies)) {
            copies = before;
            return false;
        }
    }
    return true;
}

const row_matching::rest_plan& row_matching::rest(std::uint32_t from, std::uint32_t to) const {
    const auto [known, is_new] = rests_.try_emplace({from, to});
    if (!is_new)
        return known->second;
    const type_row& is = to_.rows[to];
    const bool is_told = inspect::has_bit_fields(is) || inspect::may_leave_out(is);
    const auto ranges = is_told ? inspect::rest_of(to_, to) : std::vector<inspect::byte_range>();
    for (const inspect::byte_range& each : inspect::rest_of(from_, from)) {
        known->second.ranges.push_back(
            {each.at, each.count, std::find(ranges.begin(), ranges.end(), each) != ranges.end()});
        known->second.bytes += each.count;
    }
    return known->second;
}

const row_matching::member_plan& row_matching::plan(std::uint32_t from, std::uint32_t to) const {
    if (last_plan_ != nullptr && last_plan_of_ == row_pair(from, to))
        return *last_plan_;
    const auto [known, is_new] = plans_.try_emplace({from, to});
    member_plan& made = known->second;
    if (is_new) {
        const auto& from_members = origins(from, to);
        const auto& members = *members_of(to_.rows[to]);
        const row_matching unchanged(to_, to_);
        for (std::size_t i = 0; i != members.size(); ++i) {
            const type_part* const origin = from_members[i];
            if (!members[i].offset)
                continue;
            const std::uint64_t at = *members[i].offset;
            const bool is_copied =
                origin != nullptr ? add_copies(origin->type, members[i].type, {*origin->offset, at, 0}, made.copies)
                                  : unchanged.add_copies(members[i].type, members[i].type, {at, at, 0}, made.defaults);
            if (!is_copied)
                made.others.push_back(i);
        }
    }
    last_plan_ = &made;
    last_plan_of_ = {from, to};
    return made;
}

const row_matching::member_plan* row_matching::whole_plan(std::uint32_t from, std::uint32_t to) const {
    auto [known, is_new] = whole_plans_.try_emplace({from, to});
    std::optional<member_plan>& made = known->second;
    if (is_new && chain(from, to) == nullptr && !pointees_.contains(from)) {
        const bool have_members = members_of(from_.rows[from]) != nullptr && members_of(to_.rows[to]) != nullptr;
        member_plan all;
        const bool is_planned = have_members && !has_rest(from, to) && !inspect::has_vptr(to_.rows[to]);
        if (is_planned)
            all = plan(from, to);
        const bool is_whole = have_members ? is_planned && all.others.empty() : add_copies(from, to, {}, all.copies);
        if (is_whole)
            made = std::move(all);
    }
    return made ? &*made : nullptr;
}

} // namespace remanence::objects
