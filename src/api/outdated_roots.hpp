// Roots that the program found although their stored fingerprint is an older one of the requested type: made by another
// algorithm, or before members were renamed. The next commit stores the present fingerprint. Also types about which the
// program knows more than the heap's schema says: the next commit stores their schemas.
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
    /// Records a root. Any thread may call it. `type` must live as long as the process. std::bad_alloc.
    void note(std::string_view name, const types::stored_fingerprint& stored, const type_fingerprint& type);
    /// The type of types::store_schemas(). It is passed as a pointer, so that programs without typed roots do not link
    /// that function.
    using store_function = result<void> (*)(txn::heap_memory& memory, std::span<const type_fingerprint* const> types);
    /// Records a type. Any thread may call it. `type` must live as long as the process. std::bad_alloc.
    void note_schema(const type_fingerprint& type, store_function store);
    /// Must be called before a commit, with the write lock held. If the heap has no memory for a root's new
    /// fingerprint, the root keeps the old one, and the commit goes on. std::bad_alloc if the process lacks memory to
    /// write the schemas; then no schema is written.
    void renew(txn::heap_memory& memory);
    /// Must be called after the commit that includes the changes of renew().
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
