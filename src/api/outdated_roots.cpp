#include "api/outdated_roots.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace remanence::detail {

void outdated_roots::note(std::string_view name, const types::stored_fingerprint& stored,
                          const type_fingerprint& type) {
    const std::scoped_lock lock(guards_all_);
    all_.insert_or_assign(std::string(name), found{stored, &type});
}

void outdated_roots::note_schema(const type_fingerprint& type, store_function store) {
    const std::scoped_lock lock(guards_all_);
    store_ = store;
    if (std::find(schemas_.begin(), schemas_.end(), &type) == schemas_.end())
        schemas_.push_back(&type);
}

void outdated_roots::renew(txn::heap_memory& memory) {
    const std::scoped_lock lock(guards_all_);
    if (all_.empty() && schemas_.empty())
        return;
    try {
        types::root_directory roots(memory);
        for (const auto& [name, root] : all_)
            (void)roots.renew(name, root.stored, *root.type);
    } catch (const std::bad_alloc&) { // NOLINT(bugprone-empty-catch): the next commit tries again
    }
    if (!schemas_.empty())
        (void)store_(memory, schemas_); // after a failure the next commit tries again
}

void outdated_roots::forget() noexcept {
    const std::scoped_lock lock(guards_all_);
    all_.clear();
    schemas_.clear();
}

} // namespace remanence::detail
