// Old objects stay as they are until all new ones are made. Pointers are followed as a dump does it (inspect/object_dump.cpp): first to
// learn what is pointed at; then the root is made, and those objects that lie in no other, the largest first; then each pointer gets the
// new address of what it led to.
#include "objects/migration.hpp"

#include "base/assert.hpp"
#include "objects/object_blocks.hpp"
#include "objects/place_conversion.hpp"
#include "objects/place_plan.hpp"
#include "objects/pointer_targets.hpp"
#include "objects/shared_objects.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace remanence::objects {

using types::type_description;
using types::type_row;

namespace {

/// Whether an enumeration has other enumerators than one of this name in the other schema. The fingerprint does not tell.
bool has_other_enumerators(const type_description& stored, const type_description& program) {
    return std::any_of(stored.rows.begin(), stored.rows.end(), [&](const type_row& was) {
        const auto is_namesake = [&](const type_row& is) { return is.shape == was.shape && is.name == was.name; };
        const auto is_same = [&](const type_row& is) {
            return is_namesake(is) && is.labels == was.labels && is.numbers == was.numbers;
        };
        const auto& rows = program.rows;
        return was.shape == detail::shape_kind::enumeration && std::any_of(rows.begin(), rows.end(), is_namesake) &&
               std::none_of(rows.begin(), rows.end(), is_same);
    });
}

/// Whether the heap's schema of a root with this type's fingerprint says that its objects are of another release. Of a damaged schema nothing
/// is known.
bool has_other_schema(txn::heap_memory& memory, const detail::type_fingerprint& type, const types::root_view& root) {
    if (root.fingerprint_algorithm == type.algorithm && types::look_up_schema(memory, type).has_changed)
        return true;
    types::memory_bytes bytes(memory);
    const auto schemas = types::read_schemas(bytes, memory.path(), memory.header().type_table);
    if (!schemas)
        return false;
    const auto stored = types::schema_of(*schemas, root.fingerprint_hash, root.fingerprint_algorithm, memory.path());
    if (!stored || !*stored)
        return false;
    const auto program = schema_of_program(type);
    return program && has_other_enumerators(**stored, *program);
}

class root_migration final : conversion::listener {
public:
    root_migration(txn::heap_memory& memory, const migration_request& request)
        : memory_(memory),
          request_(request),
          bytes_(memory),
          base_(reinterpret_cast<std::uintptr_t>(memory.base())),
          directory_(memory) {}

    result<migration_outcome> run() {
        migration_outcome outcome;
        auto root = directory_.look_up(request_.root);
        if (!root)
            return root.error();
        if (!*root)
            return outcome;
        const bool is_of_type = has_fingerprint(**root);
        if (is_of_type && !has_other_schema(memory_, request_.type, **root))
            return outcome;
        outcome.is_needed = true;
        outcome.is_readable = false;
        auto schemas = types::read_schemas(bytes_, memory_.path(), memory_.header().type_table);
        if (!schemas)
            return schemas.error();
        auto stored =
            types::schema_of(*schemas, (*root)->fingerprint_hash, (*root)->fingerprint_algorithm, memory_.path());
        if (!stored)
            return stored.error();
        if (!*stored)
            return refused(
                errc::not_supported,
                "the heap does not have the schema of the type " + std::string((*root)->type) +
                    ": the release that wrote it opens the root and commits, with this library, to store it");
        from_ = std::move(**stored);
        auto described = schema_of_program(request_.type);
        if (!described)
            return refused(errc::not_supported, "the type " + request_.type.name + " is too large for a schema");
        to_ = std::move(*described);
        step_table steps;
        if (auto prepared = steps.prepare(request_.steps); !prepared)
            return refused(prepared.why().code, prepared.why().message);

        row_matching rows(from_, to_);
        rows.use(steps);
        for (const member_renaming& each : request_.renamings)
            rows.rename(each.type, each.old_name, each.new_name);
        outcome.is_possible = rows.match(from_.root, to_.root);
        outcome.changes = rows.changes();
        object_builder builder(memory_, to_, true);
        heap_source old_objects(bytes_, memory_.path(), base_, memory_.reserved_bytes(), from_);
        const bool stays = outcome.is_possible && rows.has_same_bytes();
        outcome.is_in_place = stays;
        outcome.is_readable = is_of_type && stays;
        const std::uint64_t object = memory_.offset_of((*root)->object);
        std::optional<place_plan> plan;
        if (outcome.is_possible && !stays) {
            plan.emplace(rows, old_objects, builder);
            outcome.is_in_place = plan->is_possible();
            auto why = why_not_converted(builder, rows, *schemas, outcome.is_in_place, object);
            if (!why)
                return why.error();
            for (const std::string& each : *why)
                outcome.changes.push_back({each, false});
            outcome.is_possible = why->empty();
        }
        if (request_.only_says) {
            if (request_.estimates && outcome.is_possible && !outcome.is_in_place)
                REM_TRY(estimate(old_objects, object, plan->growth(), outcome.peak_bytes));
            return outcome;
        }
        if (!outcome.is_possible) {
            std::string text;
            for (const bool is_automatic : {false, true}) {
                for (const type_change& each : outcome.changes) {
                    if (each.is_automatic == is_automatic)
                        text += (text.empty() ? "" : "; ") + each.what + (is_automatic ? " (automatic)" : "");
                }
            }
            return refused(errc::type_mismatch, text);
        }
        if (stays) {
            REM_TRY(outcome.is_readable ? store_schema() : become((*root)->object));
            return outcome;
        }
        makers_ = request_.makers();
        old_objects_ = &old_objects;
        builder_ = &builder;
        rows_ = &rows;
        if (outcome.is_in_place)
            REM_TRY(change_in_place(old_objects, builder, *plan, object));
        else
            REM_TRY(convert(old_objects, builder, rows, object));
        return outcome;
    }

private:
    [[nodiscard]] unexpected refused(errc code, const std::string& why) const {
        return fail(code,
                    "the root \"" + std::string(request_.root) + "\" of " + memory_.path() + " cannot be migrated to " +
                        request_.type.name + ": " + why + ". Nothing was changed.",
                    memory_.path());
    }
    [[nodiscard]] bool has_fingerprint(const types::root_view& root) const {
        const detail::type_fingerprint& type = request_.type;
        return root.fingerprint_algorithm == 1
                   ? root.fingerprint_hash == type.hash_1
                   : root.fingerprint_hash == type.hash && root.fingerprint_algorithm == type.algorithm;
    }

    /// Why objects that match cannot be made anew, or changed in place; empty: they can.
    result<std::vector<std::string>> why_not_converted(const object_builder& builder, const row_matching& rows,
                                                       const std::vector<types::stored_schema>& schemas,
                                                       bool is_in_place, std::uint64_t object) {
        std::vector<std::string> why;
        if (!is_in_place) {
            why = rows.only_in_place();
            if (auto shape = conversion::why_not(builder, to_.root))
                why.push_back(std::move(*shape));
        }
        if (!why.empty() || (request_.only_says && !request_.estimates))
            return why; // who goes on will ask again
        auto shared = root_with_common_objects(memory_, schemas, request_.root, from_, object);
        if (!shared)
            return shared.error();
        if (!shared->empty())
            why.push_back(std::move(*shared));
        return why;
    }

    /// The root has this object, of the program's type.
    result<void> become(void* object) {
        REM_TRY(directory_.replace(request_.root, request_.type, object));
        return store_schema();
    }
    result<void> store_schema() {
        if (request_.leaves_schema)
            return {};
        const detail::type_fingerprint* const types[] = {&request_.type};
        return types::store_schemas(memory_, types);
    }

    // What is pointed at.

    result<void> collect(heap_source& old_objects, object_place root) {
        root_ = root;
        return collect_pointees(old_objects, root, pointed_);
    }

    static constexpr std::uint64_t k_not_made = 0;
    static constexpr std::uint64_t k_is_another = 1; // it became an object of another type than pointers lead to
    [[nodiscard]] bool is_made(const pointee& of) const { return moved_.at(of) > k_is_another; }

    /// Whether what lies here is an object that functions make, or a part of one.
    [[nodiscard]] bool is_by_function(std::uint64_t at) const {
        const auto behind = by_functions_.upper_bound(at);
        return behind != by_functions_.begin() && at < std::prev(behind)->second;
    }
    void placed(object_place from, object_place to) override {
        if (moved_.empty())
            return;
        if (rows_->chain(from.row, to.row) != nullptr && !is_by_function(from.at))
            by_functions_[from.at] = from.at + from_.rows[from.row].size;
        if (is_in_place_ && members_of(from_.rows[from.row]) != nullptr)
            changed_.change(from.at, from_.rows[from.row].size);
        const auto becomes = rows_->pointee(from.row);
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
    void stays(object_place part) override { changed_.keep(part.at, old_objects_->reader().size_of(part.row)); }
    result<void> point(object_place from, object_place to) override {
        auto target = old_objects_->reader().target(from);
        if (!target)
            return target.error();
        pointers_.push_back({{from_.rows[from.row].parts[0].type, *target}, to.at});
        return {};
    }

    [[nodiscard]] const std::function<void(void*)>* maker_of(const object_builder& by, std::uint32_t row) const {
        const auto found = makers_.find(by.row(row).name);
        return found == makers_.end() || !found->second ? nullptr : &found->second;
    }
    result<object_place> default_of(object_builder& by, std::uint32_t row) override {
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
    result<void> construct(object_builder& by, object_place to) override {
        if (const auto* const maker = maker_of(by, to.row))
            (*maker)(memory_.base() + to.at);
        return {};
    }
    void fill(const prepared_step& by, std::uint64_t was, std::uint64_t is) override {
        to_fill_.push_back({&by, was, is});
    }
    void made_between(const prepared_step& by, std::uint64_t at) override { between_.push_back({&by, at}); }

    /// So that what lies in another object comes after that.
    void sort_pointees(heap_source& old_objects) {
        std::sort(pointees_.begin(), pointees_.end(), [&](const pointee& a, const pointee& b) {
            const std::uint64_t size_of_a = old_objects.reader().size_of(a.row);
            const std::uint64_t size_of_b = old_objects.reader().size_of(b.row);
            return size_of_a != size_of_b ? size_of_a > size_of_b : a.at < b.at;
        });
    }

    [[nodiscard]] unexpected refused(const named_pointee& to, const std::string& why) const {
        return refused(errc::type_mismatch, refused_pointer(from_, to, why));
    }
    /// What a pointer leads to lies in no object that was found. `may_be_part`: it may lie in one that has become another.
    result<void> check_alone(lone_objects& lone, const named_pointee& of, bool may_be_part) {
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
            return refused(of, "that is not known as one object (it may be one of several, the base of a larger one, a "
                               "part of a text, or behind the last element of a container)");
        return {};
    }
    /// Only while old objects are as they were.
    result<bool> is_part_of_object(const pointee& of) {
        if (!parts_) {
            auto found = pointees_in_objects(*old_objects_, root_, pointed_);
            if (!found)
                return found.error();
            parts_ = std::move(*found);
        }
        return parts_->contains(of);
    }
    /// The bytes behind a number in its block may be numbers, too; of other objects there must be none.
    result<void> take_what_is_behind(lone_objects& lone, const named_pointee& from, object_place to) {
        const object_place of{from.row, from.at};
        auto is_alone = lone.is_alone(of);
        if (!is_alone)
            return is_alone.error();
        if (!*is_alone || lone.room_behind(of) == 0)
            return {};
        const std::uint64_t bytes = old_objects_->reader().size_of(of.row);
        if (is_same_number(from_.rows[of.row], to_.rows[to.row]))
            builder_->put_bytes(to.at + bytes, memory_.base() + of.at + bytes, lone.room_behind(of));
        else if (lone.has_something_behind(of))
            return refused(from, "with room for a second one behind it that is not zero");
        return {};
    }
    /// Objects that were made anew have not lain in blocks of others, such as texts, unless they were parts of these. `blocks`: of all old
    /// objects, sorted.
    result<void> check_blocks(const std::vector<named_pointee>& alone, const std::vector<std::uint64_t>& blocks) {
        std::unordered_set<std::uint64_t> places{root_.at};
        for (const named_pointee& each : alone) {
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

    /// Of objects that are to be made anew.
    result<void> estimate(heap_source& old_objects, std::uint64_t root, double growth, std::uint64_t& bytes) {
        auto blocks = blocks_of_all(memory_, old_objects, {from_.root, root});
        if (!blocks)
            return blocks.error();
        std::uint64_t old_bytes = 0;
        for (const std::uint64_t each : *blocks) {
            const auto block = memory_.block_of(memory_.base() + each);
            if (block && block->start == memory_.base() + each)
                old_bytes += block->bytes;
        }
        bytes = static_cast<std::uint64_t>(static_cast<double>(old_bytes) * growth);
        return {};
    }

    result<void> change_in_place(heap_source& old_objects, object_builder& builder, const place_plan& plan,
                                 std::uint64_t root) {
        if (plan.has_pointers())
            REM_TRY(collect(old_objects, {from_.root, root}));
        is_in_place_ = true;
        changed_.watch(pointees_);
        auto copy = builder.allocate(std::max<std::uint64_t>(plan.largest(), 1), k_word);
        if (!copy)
            return copy.error();
        garbage_.push_back(*copy);
        place_conversion changing(old_objects, builder, *rows_, plan, *this, *copy, garbage_);
        REM_TRY(changing.change({from_.root, root}, to_.root));
        sort_pointees(old_objects);
        lone_objects lone(memory_, old_objects, builder);
        for (const named_pointee& each : pointees_) {
            const auto becomes = rows_->pointee(each.row);
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
        REM_TRY(check_garbage());
        for (const pointer& each : pointers_) {
            if (is_made(each.to))
                builder.put_address(each.at, moved_.at(each.to));
        }
        REM_TRY(become(memory_.base() + root));
        return free_garbage();
    }
    /// No pointer that stays may lead into what is freed.
    result<void> check_garbage() {
        std::sort(garbage_.begin(), garbage_.end());
        for (const named_pointee& each : pointees_) {
            if (!rows_->pointee(each.row) || is_made(each) || garbage_.empty())
                continue;
            const auto block = memory_.block_of(memory_.base() + each.at);
            if (block && std::binary_search(garbage_.begin(), garbage_.end(), memory_.offset_of(block->start)))
                return refused(each, "in a member that is gone");
        }
        return {};
    }

    result<void> convert(heap_source& old_objects, object_builder& builder, const row_matching& rows,
                         std::uint64_t root) {
        std::vector<object_place> old{{from_.root, root}};
        if (has_pointer(from_))
            REM_TRY(collect(old_objects, old.front()));
        auto made = builder.allocate_object(to_.root);
        if (!made)
            return made.error();
        const auto make = [&](object_place from, object_place to) -> result<void> {
            conversion converted(old_objects, builder, rows, *this);
            auto done = converted.make(from, to);
            if (!done && done.why().code == errc::invalid_argument) // keys that are equal now
                return refused(errc::type_mismatch, done.why().message);
            return done;
        };
        REM_TRY(make(old.front(), {to_.root, *made}));

        sort_pointees(old_objects);
        lone_objects lone(memory_, old_objects, builder);
        std::vector<named_pointee> alone;
        for (const named_pointee& each : pointees_) {
            const auto becomes = rows.pointee(each.row);
            if (!becomes || is_made(each)) // only members that are gone lead to it, or it lies in another object
                continue;
            if (is_by_function(each.at))
                return refused(errc::type_mismatch, "a pointer leads to a " + from_.name_of(each.row) +
                                                        " in an object that functions make, which does not follow by "
                                                        "itself");
            REM_TRY(check_alone(lone, each, true));
            const std::uint32_t row = *becomes;
            auto place = builder.allocate_object(row);
            if (!place)
                return place.error();
            REM_TRY(make({each.row, each.at}, {row, *place}));
            REM_TRY(take_what_is_behind(lone, each, {row, *place}));
            alone.push_back(each);
            old.push_back({each.row, each.at});
        }
        std::vector<std::uint64_t> old_blocks;
        for (const object_place& each : old)
            REM_TRY(add_blocks_of(old_objects, base_, each, old_blocks));
        std::sort(old_blocks.begin(), old_blocks.end());
        REM_TRY(check_blocks(alone, old_blocks));
        for (const pointer& each : pointers_) {
            if (!is_made(each.to))
                return refused(errc::type_mismatch,
                               "a pointer leads to an object that becomes one of another type than others do");
            builder.put_address(each.at, moved_.at(each.to));
        }

        for (const filling& each : to_fill_) // inner objects before those they lie in
            each.by->given->fill(memory_.base() + each.was, memory_.base() + each.is);
        for (const auto& [by, at] : between_) {
            by->given->destroy(memory_.base() + at);
            garbage_.push_back(at);
        }
        REM_TRY(become(memory_.base() + *made));
        garbage_.insert(garbage_.end(), old_blocks.begin(), old_blocks.end());
        for (const object_place& each : old)
            garbage_.push_back(each.at);
        return free_garbage();
    }

    result<void> free_garbage() {
        std::vector<std::uint64_t>& blocks = garbage_;
        std::sort(blocks.begin(), blocks.end());
        blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
        for (const std::uint64_t each : blocks) {
            if (auto freed = memory_.deallocate(memory_.base() + each);
                !freed && freed.why().code != errc::invalid_argument)
                return freed; // what is no block, such as an object of an arena's owner, stays
        }
        return {};
    }

    struct pointer {
        pointee to;
        std::uint64_t at; // of the pointer
    };

    txn::heap_memory& memory_;
    const migration_request& request_;
    types::memory_bytes bytes_;
    std::uint64_t base_;
    types::root_directory directory_;
    type_description from_;
    type_description to_;
    heap_source* old_objects_ = nullptr;
    object_builder* builder_ = nullptr;
    const row_matching* rows_ = nullptr;
    object_place root_ = {};
    pointees_of_root pointed_;
    std::vector<named_pointee>& pointees_ = pointed_.all;
    std::unordered_map<pointee, std::uint64_t, pointee_hash>& moved_ = pointed_.places; // where it is now
    std::optional<std::unordered_set<pointee, pointee_hash>> parts_;                    // is_part_of_object()
    bool is_in_place_ = false;
    changed_places changed_;                              // in place
    std::map<std::uint64_t, std::uint64_t> by_functions_; // where objects that functions make begin and end
    std::vector<pointer> pointers_;
    std::map<std::string, std::function<void(void*)>> makers_;
    std::map<std::string, std::uint64_t> defaults_; // by the name of their class
    struct filling {
        const prepared_step* by;
        std::uint64_t was, is;
    };
    std::vector<filling> to_fill_;
    std::vector<std::pair<const prepared_step*, std::uint64_t>> between_;
    std::vector<std::uint64_t> garbage_; // blocks of what nobody needs at the end
};

} // namespace

result<migration_outcome> migrate_root(txn::heap_memory& memory, const migration_request& request) {
    // A fingerprint has one schema: when it is renewed, nothing says any more what the other roots of this fingerprint are.
    std::vector<std::string> others;
    std::optional<bool> is_other;
    REM_TRY(types::root_directory(memory).for_each([&](const types::root_view& each) {
        const bool is_alike = each.fingerprint_hash == request.type.hash &&
                              each.fingerprint_algorithm == request.type.algorithm && each.name != request.root;
        if (is_alike && !is_other)
            is_other = has_other_schema(memory, request.type, each);
        if (is_alike && *is_other)
            others.emplace_back(each.name);
    }));
    migration_outcome all;
    const auto add = [&](migration_outcome&& done) {
        if (!done.is_needed)
            return;
        all.is_in_place = done.is_in_place && (!all.is_needed || all.is_in_place);
        all.is_needed = true;
        all.is_possible = all.is_possible && done.is_possible;
        all.is_readable = all.is_readable && done.is_readable;
        all.peak_bytes += done.peak_bytes;
        std::move(done.changes.begin(), done.changes.end(), std::back_inserter(all.changes));
    };
    for (const std::string& each : others) {
        migration_request other = request;
        other.root = each;
        other.leaves_schema = true;
        auto done = root_migration(memory, other).run();
        if (!done)
            return done.error();
        add(std::move(*done));
    }
    auto done = root_migration(memory, request).run();
    if (!done)
        return done.error();
    if (!others.empty() && !done->is_needed && !request.only_says) { // there is no root of this name
        const detail::type_fingerprint* const types[] = {&request.type};
        REM_TRY(types::store_schemas(memory, types));
    }
    add(std::move(*done));
    return all;
}

} // namespace remanence::objects
