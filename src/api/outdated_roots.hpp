// Roots that the program has found with an older fingerprint of the type that it asked for: by another algorithm, or
// from before members were renamed. The next commit gives them the present one. And types of which the heap's schema does not
// say as much as the program knows: the next commit stores that.
#pragma once

#include "types/root_directory.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::detail {

class outdated_roots {
public:
    /// Any thread. `type` must live as long as the process. std::bad_alloc.
    void note(std::string_view name, const types::stored_fingerprint& stored, const type_fingerprint& type);
    /// types::store_schemas(): named by who notes a type, so that programs without typed roots have no need of it.
    using store_function = result<void> (*)(txn::heap_memory& memory, std::span<const type_fingerprint* const> types);
    /// Any thread. `type` must live as long as the process. std::bad_alloc.
    void note_schema(const type_fingerprint& type, store_function store);
    /// Before a commit, with the write lock held. What cannot be renewed (there is no memory for it in the heap) stays as it is,
    /// which is no reason for a commit to fail. std::bad_alloc when the process lacks memory to write a schema; nothing of that was done then.
    void renew(txn::heap_memory& memory);
    /// After a commit that took what renew() did.
    void forget() noexcept;

private:
    struct found {
        types::stored_fingerprint stored;
        const type_fingerprint* type;
    };
    std::mutex guards_all_;
    std::map<std::string, found, std::less<>> all_;
    std::vector<const type_fingerprint*> schemas_;
    store_function store_ = nullptr;
};

} // namespace remanence::detail
