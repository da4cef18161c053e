// Roots that the program has found with an older fingerprint of the requested type: one of another algorithm, or from
// before members were renamed. The next commit gives them the present fingerprint. Also types that the program knows
// better than the heap's schema does: the next commit stores their schemas.
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
    /// Notes a root. Any thread may call it. `type` must live as long as the process. std::bad_alloc.
    void note(std::string_view name, const types::stored_fingerprint& stored, const type_fingerprint& type);
    /// The type of types::store_schemas(). The caller that notes a type passes that function, so that programs without
    /// typed roots do not link it.
    using store_function = result<void> (*)(txn::heap_memory& memory, std::span<const type_fingerprint* const> types);
    /// Notes a type. Any thread may call it. `type` must live as long as the process. std::bad_alloc.
    void note_schema(const type_fingerprint& type, store_function store);
    /// To be called before a commit, with the write lock held. A root that cannot be renewed, because the heap has no
    /// memory for it, keeps its old fingerprint; the commit does not fail. std::bad_alloc if the process lacks memory
    /// to write a schema; then no schema is written.
    void renew(txn::heap_memory& memory);
    /// To be called after a commit that includes the changes of renew().
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
