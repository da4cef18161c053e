// Old objects stay as they are until all new ones are made. Pointers are followed as a dump does it (inspect/object_dump.cpp): first to
// learn what is pointed at; then the root is made, and those objects that lie in no other, the largest first; then each pointer gets the
// new address of what it led to.
#include "objects/migration.hpp"

#include "base/assert.hpp"
#include "inspect/object_text.hpp"
#include "objects/object_blocks.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

namespace remanence::objects {

using types::type_description;
using types::type_kind;
using types::type_part;
using types::type_row;

namespace {

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
        if (!*root || is_of_type(**root))
            return outcome;
        outcome.is_needed = true;
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
        const bool stays = outcome.is_possible && rows.has_same_bytes();
        if (outcome.is_possible && !stays) {
            auto why = why_not_moved(builder, rows, *schemas);
            if (!why)
                return why.error();
            for (const std::string& each : *why)
                outcome.changes.push_back({each, false});
            outcome.is_possible = why->empty();
        }
        if (request_.only_says)
            return outcome;
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
            REM_TRY(become((*root)->object));
            return outcome;
        }
        makers_ = request_.makers();
        heap_source old_objects(bytes_, memory_.path(), base_, memory_.reserved_bytes(), from_);
        REM_TRY(convert(old_objects, builder, rows, memory_.offset_of((*root)->object)));
        return outcome;
    }

private:
    [[nodiscard]] unexpected refused(errc code, const std::string& why) const {
        return fail(code,
                    "the root \"" + std::string(request_.root) + "\" of " + memory_.path() + " cannot be migrated to " +
                        request_.type.name + ": " + why + ". Nothing was changed.",
                    memory_.path());
    }
    [[nodiscard]] bool is_of_type(const types::root_view& root) {
        const detail::type_fingerprint& type = request_.type;
        if (root.fingerprint_algorithm == 1 && root.fingerprint_hash == type.hash_1)
            return true;
        return root.fingerprint_hash == type.hash && root.fingerprint_algorithm == type.algorithm &&
               !types::look_up_schema(memory_, type).has_changed;
    }

    /// Why objects cannot be made at other addresses; empty: they can.
    result<std::vector<std::string>> why_not_moved(const object_builder& builder, const row_matching& rows,
                                                   const std::vector<types::stored_schema>& schemas) {
        std::vector<std::string> why = rows.only_in_place();
        if (auto shape = conversion::why_not(builder, to_.root))
            why.push_back(std::move(*shape));
        auto owner = other_owner(schemas);
        if (!owner)
            return owner.error();
        if (!owner->empty())
            why.push_back(std::move(*owner));
        return why;
    }

    /// The root has this object, of the program's type.
    result<void> become(void* object) {
        REM_TRY(directory_.replace(request_.root, request_.type, object));
        const detail::type_fingerprint* const types[] = {&request_.type};
        return types::store_schemas(memory_, types);
    }

    /// Objects of a class that pointers lead to may lie in another root, whose type the program has not said: why that root stands in the way,
    /// or nothing.
    result<std::string> other_owner(const std::vector<types::stored_schema>& schemas) {
        const auto classes_of = [](const type_description& schema, bool only_pointees) {
            std::set<std::string> names;
            for (const type_row& row : schema.rows) {
                if (row.kind == type_kind::pointer && only_pointees)
                    names.insert(schema.name_of(row.parts[0].type));
                if (!only_pointees && members_of(row) != nullptr)
                    names.insert(row.name);
            }
            return names;
        };
        const std::set<std::string> own = classes_of(from_, false);
        const std::set<std::string> own_pointees = classes_of(from_, true);
        std::string found;
        std::optional<unexpected> why;
        REM_TRY(directory_.for_each([&](const types::root_view& root) {
            if (root.name == request_.root || !found.empty() || why)
                return;
            auto schema = types::schema_of(schemas, root.fingerprint_hash, root.fingerprint_algorithm, memory_.path());
            if (!schema) {
                why = schema.error();
                return;
            }
            if (!*schema)
                return;
            const auto say = [&](const std::set<std::string>& pointees, const std::set<std::string>& classes) {
                for (const std::string& each : pointees) {
                    if (classes.contains(each) && found.empty())
                        found = "the root \"" + std::string(root.name) + "\" has objects of " + each +
                                " too, or pointers to such: pointers between roots are not followed";
                }
            };
            say(own_pointees, classes_of(**schema, false));
            say(classes_of(**schema, true), own);
        }));
        if (why)
            return std::move(*why);
        return found;
    }

    // What is pointed at.

    struct pointee {
        std::uint32_t row;
        std::uint64_t at;
        friend bool operator==(const pointee&, const pointee&) = default;
    };
    struct pointee_hash {
        std::size_t operator()(const pointee& key) const { return std::hash<std::uint64_t>()(key.at * 31 + key.row); }
    };

    struct collector final : inspect::object_walk::listener {
        explicit collector(root_migration& to) : of(to) {}
        void point(std::string& /*out*/, object_place pointer, std::uint64_t to) override {
            const pointee key{of.from_.rows[pointer.row].parts[0].type, to};
            if (of.moved_.try_emplace(key, 0).second)
                of.pointees_.push_back(key);
        }
        root_migration& of;
    };

    result<void> collect(heap_source& old_objects, object_place root) {
        collector told(*this);
        inspect::object_walk walk(old_objects.reader(), told);
        const auto look = [&](object_place of) -> result<void> {
            if (!inspect::is_container(from_.rows[of.row])) {
                std::string text;
                return walk.put(text, of);
            }
            return old_objects.for_each_element(of, [&](const element_place& each) -> result<bool> {
                std::string text;
                if (each.has_key)
                    REM_TRY(walk.put(text, each.key));
                REM_TRY(walk.put(text, each.value));
                return true;
            });
        };
        REM_TRY(look(root));
        for (std::size_t i = 0; i != pointees_.size(); ++i) // grows
            REM_TRY(look({pointees_[i].row, pointees_[i].at}));
        return {};
    }

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
        if (rows_->pointee(from.row) != to.row)
            return;
        if (const auto found = moved_.find({from.row, from.at}); found != moved_.end())
            found->second = to.at;
    }
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

    result<void> convert(heap_source& old_objects, object_builder& builder, const row_matching& rows,
                         std::uint64_t root) {
        old_objects_ = &old_objects;
        builder_ = &builder;
        rows_ = &rows;
        const bool has_pointers = std::any_of(from_.rows.begin(), from_.rows.end(),
                                              [](const type_row& row) { return row.kind == type_kind::pointer; });
        std::vector<object_place> old{{from_.root, root}};
        if (has_pointers)
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

        std::sort(pointees_.begin(), pointees_.end(), [&](const pointee& a, const pointee& b) {
            const std::uint64_t size_of_a = old_objects.reader().size_of(a.row);
            const std::uint64_t size_of_b = old_objects.reader().size_of(b.row);
            return size_of_a != size_of_b ? size_of_a > size_of_b : a.at < b.at;
        });
        for (const pointee& each : pointees_) {
            if (moved_.at(each) != 0)
                continue;
            if (is_by_function(each.at))
                return refused(errc::type_mismatch, "a pointer leads to a " + from_.name_of(each.row) +
                                                        " in an object that functions make, which does not follow by "
                                                        "itself");
            const auto becomes = rows.pointee(each.row);
            REM_CHECK(becomes);
            const std::uint32_t row = *becomes;
            auto place = builder.allocate_object(row);
            if (!place)
                return place.error();
            REM_TRY(make({each.row, each.at}, {row, *place}));
            old.push_back({each.row, each.at});
        }
        for (const pointer& each : pointers_) {
            const std::uint64_t to = moved_.at(each.to);
            if (to == 0)
                return refused(errc::type_mismatch,
                               "a pointer leads to an object that becomes one of another type than others do");
            builder.put_address(each.at, to);
        }

        for (const filling& each : to_fill_) // inner objects before those they lie in
            each.by->given->fill(memory_.base() + each.was, memory_.base() + each.is);
        for (const auto& [by, at] : between_) {
            by->given->destroy(memory_.base() + at);
            garbage_.push_back(at);
        }
        REM_TRY(become(memory_.base() + *made));
        for (const object_place& each : old) {
            REM_TRY(add_blocks_of(old_objects, base_, each, garbage_));
            garbage_.push_back(each.at);
        }
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
    std::unordered_map<pointee, std::uint64_t, pointee_hash> moved_; // where it is now; 0: not made yet
    std::vector<pointee> pointees_;
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
    return root_migration(memory, request).run();
}

} // namespace remanence::objects
