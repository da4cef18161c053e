#include "api/held_roots.hpp"

#include "api/heap_impl.hpp"
#include "os/lock_holders.hpp"
#include "share/layout.hpp"
#include "types/root_directory.hpp"
#include "types/schema_table.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace remanence::detail {

held_roots::~held_roots() = default;

void held_roots::know(std::string_view name, const type_fingerprint& type, root_maker maker) {
    const std::scoped_lock lock(guards_known_);
    if (const auto found = known_.find(name); found != known_.end())
        found->second = {&type, maker};
    else
        known_.emplace(name, known{&type, maker});
}

// Other processes may have asked for roots for which this process has not asked, so each root may be in use. If the
// type of an entry of known_ differs from the root's present type, the program has made the root anew since.
result<void> held_roots::note() {
    noted_.clear();
    missing_.clear();
    const txn::sharing* const shared = of_.engine().shared();
    const bool is_shared = shared != nullptr && shared->protocol().attached_processes() > 1;
    const std::scoped_lock lock(guards_known_);
    return types::root_directory(of_.memory()).for_each([&](const types::root_view& each) {
        const auto found = known_.find(each.name);
        const bool is_ours = found != known_.end() && found->second.type->name == each.type;
        if (is_ours || is_shared)
            noted_.push_back({std::string(each.name), std::string(each.type), each.object, each.fingerprint_hash,
                              is_ours ? found->second : known{}});
    });
}

// A root's stored fingerprint may be an older one of the same type.
result<bool> held_roots::is_missing() {
    const types::root_directory roots(of_.memory());
    for (const root& each : noted_) {
        auto there = roots.look_up(each.name);
        if (!there)
            return there.error();
        if (!*there) {
            if (each.by_us.make == nullptr)
                return refuse(each, "is not in that version, and this program cannot make one there");
            missing_.push_back(&each);
            continue;
        }
        const bool is_of_type =
            (*there)->fingerprint_hash == each.fingerprint_hash ||
            (each.by_us.type != nullptr &&
             static_cast<bool>(roots.find(each.name, *each.by_us.type, types::renamed_members::accepted)));
        if (!is_of_type)
            return refuse(each, "is a " + std::string((*there)->type) +
                                    " in that version, with other members than the " + each.type + " that it is now");
        if ((*there)->object != each.object)
            return refuse(each, "is another object in that version");
    }
    return !missing_.empty();
}

result<void> held_roots::make() {
    txn::heap_memory& memory = of_.memory();
    types::root_directory roots(memory);
    for (const root* const each : missing_) {
        const type_fingerprint& type = *each->by_us.type;
        if (!memory.allocate_at(each->object, type.size, type.alignment))
            return refuse(*each, "is not in that version, where something else lies in its place");
        each->by_us.make(reinterpret_cast<heap_header*>(memory.owner_of(each->object)), each->object);
        REM_TRY(roots.add(each->name, type, each->object));
        const type_fingerprint* const its_type[] = {&type};
        if (type.structure != nullptr)
            REM_TRY(types::store_schemas(memory, its_type));
    }
    return {};
}

unexpected held_roots::refuse(const root& which, const std::string& why) const {
    const std::string path = of_.memory().path();
    return fail(errc::in_use,
                "the root \"" + which.name + "\" of " + path + " " + why + ". " +
                    (which.by_us.type != nullptr
                         ? "This program has asked for it, and may have a reference to it. Open the heap anew, and go "
                           "there before you ask for the root."
                         : "Others have the heap open, and may have a reference to it: " +
                               os::describe_holders(path, static_cast<std::int64_t>(share::lock_byte::k_attach)) +
                               ". Close the heap there first.") +
                    " Nothing was done.",
                path);
}

} // namespace remanence::detail
