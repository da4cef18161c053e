#include "objects/left_behind.hpp"

#include "objects/shared_objects.hpp"
#include "types/schema_table.hpp"

#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace remanence::objects {

namespace {

class search_of_roots {
public:
    search_of_roots(txn::heap_memory& memory, const migrated_classes& classes)
        : memory_(memory), classes_(classes), bytes_(memory) {
        for (std::size_t i = 0; i != classes.stored().size(); ++i) {
            if (classes.at(i).changes)
                vptrs_.insert(classes.vptr_of(i));
        }
    }

    result<std::string> find(const std::function<bool(const types::root_view&)>& is_migrated) {
        auto schemas = types::read_schemas(bytes_, memory_.path(), memory_.header().type_table);
        if (!schemas)
            return schemas.error();
        result<void> looked;
        REM_TRY(types::root_directory(memory_).for_each([&](const types::root_view& root) {
            if (looked && found_.empty())
                looked = look_at(root, *schemas, is_migrated(root));
        }));
        if (!looked)
            return looked.error();
        return std::move(found_);
    }

private:
    result<void> look_at(const types::root_view& root, const std::vector<types::stored_schema>& schemas,
                         bool is_migrated) {
        const std::uint64_t object = memory_.offset_of(root.object);
        auto stored = types::schema_of(schemas, root.fingerprint_hash, root.fingerprint_algorithm, memory_.path());
        if (!stored)
            return stored.error();
        if (!*stored) {
            search(root.name, {object});
            return {};
        }
        types::type_description& schema = **stored;
        std::optional<class_rows> rows;
        if (inspect::have_vptrs(schema))
            rows.emplace(classes_, schema);
        heap_source objects(bytes_, memory_.path(), reinterpret_cast<std::uintptr_t>(memory_.base()),
                            memory_.reserved_bytes(), schema);
        if (rows)
            objects.know_classes(*rows);
        if (rows && !is_migrated) {
            pointees_of_root reached;
            REM_TRY(collect_pointees(objects, {schema.root, object}, reached));
            for (const std::size_t each : reached.classes) {
                if (classes_.at(each).changes)
                    found_ = "the root \"" + std::string(root.name) + "\" leads to objects of the class " +
                             classes_.stored()[each].name + ", which has changed. Name the root in the same migration";
            }
        }
        auto hides = leads_to_hidden(objects, object);
        if (!hides)
            return hides.error();
        if (!*hides || !found_.empty())
            return {};
        auto blocks = blocks_of_all(memory_, objects, {schema.root, object});
        if (!blocks)
            return blocks.error();
        search(root.name, std::move(*blocks));
        return {};
    }

    void search(std::string_view root, std::vector<std::uint64_t> blocks) {
        const auto is_vptr = [&](std::uint64_t word) { return vptrs_.contains(word); };
        if (search_words(memory_, std::move(blocks), [](std::uint64_t) { return false; }, is_vptr))
            found_ =
                "the root \"" + std::string(root) +
                "\" may lead to objects of a class with virtual functions that has changed. It has a class that does "
                "not say its members (REM_REFLECT), or no schema";
    }

    txn::heap_memory& memory_;
    const migrated_classes& classes_;
    types::memory_bytes bytes_;
    std::set<std::uint64_t> vptrs_; // of the classes that change
    std::string found_;
};

} // namespace

result<std::string> root_left_behind(txn::heap_memory& memory, const migrated_classes& classes,
                                     const std::function<bool(const types::root_view&)>& is_migrated) {
    return search_of_roots(memory, classes).find(is_migrated);
}

} // namespace remanence::objects
