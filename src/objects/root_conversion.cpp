#include "objects/root_conversion.hpp"

#include "objects/object_blocks.hpp"

#include <algorithm>
#include <iterator>

namespace remanence::objects {

namespace {

/// Sorts blocks, and removes those that are there twice.
void sort_blocks(std::vector<std::uint64_t>& blocks) {
    if (!std::is_sorted(blocks.begin(), blocks.end())) // they are if a container was filled in order
        std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
}

} // namespace

unexpected migrated_root::refused(errc code, const std::string& why) const {
    return fail(code,
                "the root \"" + name + "\" of " + path + " cannot be migrated to " + type + ": " + why +
                    ". Nothing was changed.",
                path);
}

unexpected root_conversion::refused(const named_pointee& to, const std::string& why) const {
    return refused(errc::type_mismatch, refused_pointer(from_, to, why));
}

result<std::uint64_t> root_conversion::convert(std::uint64_t root) {
    root_ = {from_.root, root};
    if (has_pointer(from_))
        REM_TRY(collect_pointees(old_objects_, root_, pointed_));
    auto made = builder_.allocate_object(to_.root);
    if (!made)
        return made.error();
    REM_TRY(make(root_, {to_.root, *made}));
    REM_TRY(make_pointees());
    REM_TRY(add_old_blocks());
    REM_TRY(write_pointers());
    call_functions();
    return *made;
}

result<void> root_conversion::make(object_place from, object_place to) {
    conversion converted(old_objects_, builder_, rows_, *this);
    auto done = converted.make(from, to);
    if (!done && done.why().code == errc::invalid_argument) // two keys became equal
        return refused(errc::type_mismatch, done.why().message);
    if (!done && done.why().code == errc::type_mismatch) { // bytes would be lost
        const std::string way = converted.way();
        return refused(errc::type_mismatch, done.why().message + (way.empty() ? "" : ", at " + way));
    }
    return done;
}

result<void> root_conversion::make_pointees() {
    sort_pointees();
    inspect::lone_objects lone(old_objects_.reader());
    for (const named_pointee& each : pointees_) {
        const auto becomes = rows_.pointee(each.row);
        if (!becomes || is_made(each)) // only removed members point at it, or it is made already
            continue;
        if (each.is_base)
            return refused(each, "in an object whose class has no such base now");
        if (is_by_function(each.at))
            return refused(errc::type_mismatch,
                           "a pointer leads to a " + from_.name_of(each.row) +
                               " in an object that functions make, which does not follow by itself");
        REM_TRY(check_alone(lone, each, true));
        auto place = builder_.allocate_object(*becomes);
        if (!place)
            return place.error();
        REM_TRY(make({each.row, each.at}, {*becomes, *place}));
        REM_TRY(take_what_is_behind(lone, each, {*becomes, *place}));
        alone_.push_back(each);
    }
    return {};
}

result<void> root_conversion::add_old_blocks() {
    std::vector<object_place> old{root_};
    for (const named_pointee& each : alone_)
        old.push_back({each.row, each.at});
    for (const object_place& each : old)
        REM_TRY(add_blocks_of(old_objects_, base_, each, old_blocks_, &known_));
    sort_blocks(old_blocks_);
    REM_TRY(check_blocks(old_blocks_));
    for (const object_place& each : old)
        garbage_.push_back(each.at);
    return {};
}

result<void> root_conversion::write_pointers() {
    for (const pointer& each : pointers_) {
        if (!is_made(each.to))
            return refused(errc::type_mismatch,
                           "a pointer leads to an object that becomes one of another type than others do");
        builder_.put_address(each.at, moved_.at(each.to));
    }
    return {};
}

void root_conversion::call_functions() {
    for (const filling& each : to_fill_) // inner objects come first
        each.by->given->fill(memory_.base() + each.was, memory_.base() + each.is);
    for (const auto& [by, at] : between_) {
        by->given->destroy(memory_.base() + at);
        garbage_.push_back(at);
    }
}

result<void> root_conversion::change_in_place(const place_plan& plan, std::uint64_t root) {
    root_ = {from_.root, root};
    if (plan.has_pointers())
        REM_TRY(collect_pointees(old_objects_, root_, pointed_));
    is_in_place_ = true;
    changed_.watch(pointees_);
    auto copy = builder_.allocate(std::max<std::uint64_t>(plan.largest(), 1), k_word);
    if (!copy)
        return copy.error();
    garbage_.push_back(*copy);
    place_conversion changing(old_objects_, builder_, rows_, plan, *this, *copy, garbage_);
    REM_TRY(changing.change(root_, to_.root));
    REM_TRY(change_pointees(plan, changing));
    REM_TRY(check_garbage());
    for (const pointer& each : pointers_) {
        if (is_made(each.to))
            builder_.put_address(each.at, moved_.at(each.to));
    }
    return {};
}

result<void> root_conversion::change_pointees(const place_plan& plan, place_conversion& changing) {
    sort_pointees();
    inspect::lone_objects lone(old_objects_.reader());
    for (const named_pointee& each : pointees_) {
        const auto becomes = rows_.pointee(each.row);
        if (!becomes || is_made(each))
            continue;
        if (changed_.have(each.at))
            return refused(each, "in an object that changes, where it is no member that stays");
        if (!plan.changes(each.row, *becomes))
            continue;
        REM_TRY(check_alone(lone, each, false));
        REM_TRY(take_what_is_behind(lone, each, {*becomes, each.at}));
        REM_TRY(changing.change({each.row, each.at}, *becomes));
    }
    return {};
}

// Checks that no pointer that remains leads into a block that will be freed.
result<void> root_conversion::check_garbage() {
    std::sort(garbage_.begin(), garbage_.end());
    for (const named_pointee& each : pointees_) {
        if (!rows_.pointee(each.row) || is_made(each) || garbage_.empty())
            continue;
        const auto block = memory_.block_of(memory_.base() + each.at);
        if (block && std::binary_search(garbage_.begin(), garbage_.end(), memory_.offset_of(block->start)))
            return refused(each, "in a member that is gone");
    }
    return {};
}

result<void> root_conversion::free_garbage() {
    sort_blocks(garbage_);
    std::vector<std::uint64_t> all;
    all.reserve(garbage_.size() + old_blocks_.size());
    std::set_union(garbage_.begin(), garbage_.end(), old_blocks_.begin(), old_blocks_.end(), std::back_inserter(all));
    for (const std::uint64_t each : all) {
        if (auto freed = memory_.deallocate(memory_.base() + each);
            !freed && freed.why().code != errc::invalid_argument)
            return freed; // a place that is not a block is not freed, for example an object in an arena's block
    }
    return {};
}

void root_conversion::placed(object_place from, object_place to) {
    if (moved_.empty())
        return;
    if (rows_.chain(from.row, to.row) != nullptr && !is_by_function(from.at))
        by_functions_[from.at] = from.at + from_.rows[from.row].size;
    if (is_in_place_ && members_of(from_.rows[from.row]) != nullptr)
        changed_.change(from.at, from_.rows[from.row].size);
    const auto becomes = rows_.pointee(from.row);
    if (!becomes)
        return;
    const auto found = moved_.find({from.row, from.at});
    if (found == moved_.end())
        return;
    if (*becomes == to.row)
        found->second = to.at;
    else if (found->second == k_not_made)
        found->second = k_is_another;
}

std::vector<std::uint64_t>* root_conversion::blocks_of_elements(object_place container) {
    return !is_in_place_ && known_.add(container) ? &old_blocks_ : nullptr;
}

void root_conversion::stays(object_place part) { changed_.keep(part.at, old_objects_.reader().size_of(part.row)); }

result<void> root_conversion::point(object_place from, object_place to) {
    auto target = old_objects_.reader().target(from);
    if (!target)
        return target.error();
    pointers_.push_back({{from_.rows[from.row].parts[0].type, *target}, to.at});
    return {};
}

result<void> root_conversion::vptr(object_builder& by, object_place to, bool is_base) {
    if (is_base) // the whole object gets all vptrs
        return {};
    const auto* const vptrs = classes_ == nullptr ? nullptr : classes_->vptrs_for(by.schema(), to.row);
    if (vptrs == nullptr)
        return refused(errc::type_mismatch, "the program does not have the class " + by.row(to.row).name +
                                                ", or its schema is not that of its objects");
    for (const auto& [at, value] : *vptrs)
        builder_.put_word(to.at + at, value);
    return {};
}

result<object_place> root_conversion::default_of(object_builder& by, std::uint32_t row) {
    const std::string& name = by.row(row).name;
    if (const auto known = defaults_.find(name); known != defaults_.end())
        return object_place{row, known->second};
    const auto* const maker = maker_of(by, row);
    if (maker == nullptr)
        return refused(errc::not_supported,
                       "a " + name +
                           " has a new member, and cannot be made by default, which would say what that holds");
    auto block = by.allocate_object(row);
    if (!block)
        return block.error();
    (*maker)(memory_.base() + *block);
    defaults_[name] = *block;
    REM_TRY(add_blocks_of(by.built(), base_, {row, *block}, garbage_));
    garbage_.push_back(*block);
    return object_place{row, *block};
}

result<void> root_conversion::construct(object_builder& by, object_place to) {
    if (const auto* const maker = maker_of(by, to.row))
        (*maker)(memory_.base() + to.at);
    return {};
}

void root_conversion::fill(const prepared_step& by, std::uint64_t was, std::uint64_t is) {
    to_fill_.push_back({&by, was, is});
}

void root_conversion::made_between(const prepared_step& by, std::uint64_t at) { between_.push_back({&by, at}); }

const std::function<void(void*)>* root_conversion::maker_of(const object_builder& by, std::uint32_t row) const {
    const auto found = makers_.find(by.row(row).name);
    return found == makers_.end() || !found->second ? nullptr : &found->second;
}

// Sorts the targets so that an object comes after those in which it lies.
void root_conversion::sort_pointees() {
    std::sort(pointees_.begin(), pointees_.end(), [&](const pointee& a, const pointee& b) {
        const std::uint64_t size_of_a = old_objects_.reader().size_of(a.row);
        const std::uint64_t size_of_b = old_objects_.reader().size_of(b.row);
        return size_of_a != size_of_b ? size_of_a > size_of_b : a.at < b.at;
    });
    std::stable_partition(pointees_.begin(), pointees_.end(), [](const named_pointee& each) { return !each.is_base; });
}

bool root_conversion::is_by_function(std::uint64_t at) const {
    const auto behind = by_functions_.upper_bound(at);
    return behind != by_functions_.begin() && at < std::prev(behind)->second;
}

result<void> root_conversion::check_alone(inspect::lone_objects& lone, const named_pointee& of, bool may_be_part) {
    if (moved_.at(of) == k_is_another)
        return refused(of, "that becomes an object of another type");
    auto is_alone = lone.is_alone({of.row, of.at});
    if (!is_alone)
        return is_alone.error();
    if (*is_alone)
        return {};
    auto is_part = may_be_part ? is_part_of_object(of) : result<bool>(false);
    if (!is_part)
        return is_part.error();
    if (!*is_part)
        return refused(of, std::string(inspect::k_not_one_object));
    return {};
}

result<bool> root_conversion::is_part_of_object(const pointee& of) {
    if (!parts_) {
        auto found = pointees_in_objects(old_objects_, root_, pointed_);
        if (!found)
            return found.error();
        parts_ = std::move(*found);
    }
    return parts_->contains(of);
}

result<void> root_conversion::take_what_is_behind(inspect::lone_objects& lone, const named_pointee& from,
                                                  object_place to) {
    const object_place of{from.row, from.at};
    auto is_alone = lone.is_alone(of);
    if (!is_alone)
        return is_alone.error();
    if (!*is_alone)
        return {};
    auto behind = lone.room_behind(of);
    if (!behind)
        return behind.error();
    if (behind->empty())
        return {};
    if (is_same_number(from_.rows[of.row], to_.rows[to.row]))
        builder_.put_bytes(to.at + old_objects_.reader().size_of(of.row), behind->data(), behind->size());
    else if (std::any_of(behind->begin(), behind->end(), [](std::byte each) { return each != std::byte{0}; }))
        return refused(from, "with room for a second one behind it that is not zero");
    return {};
}

result<void> root_conversion::check_blocks(const std::vector<std::uint64_t>& blocks) {
    std::unordered_set<std::uint64_t> places{root_.at};
    for (const named_pointee& each : alone_) {
        if (!std::binary_search(blocks.begin(), blocks.end(), each.at) && places.insert(each.at).second)
            continue;
        auto is_part = is_part_of_object(each);
        if (!is_part)
            return is_part.error();
        if (!*is_part)
            return refused(each, "that lies in a block of another object");
    }
    return {};
}

} // namespace remanence::objects
