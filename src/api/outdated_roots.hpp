// Roots that the program has found with an older fingerprint of the type that it asked for: by another algorithm, or
// from before members were renamed. The next commit gives them the present one.
#pragma once

#include "types/root_directory.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace remanence::detail {

class outdated_roots {
public:
    /// Any thread. `type` must live as long as the process. std::bad_alloc.
    void note(std::string_view name, const types::stored_fingerprint& stored, const type_fingerprint& type);
    /// Before a commit, with the write lock held. What cannot be renewed (there is no memory for it in the heap) stays as it is,
    /// which is no reason for a commit to fail.
    void renew(txn::heap_memory& memory) noexcept;
    /// After a commit that took what renew() did.
    void forget() noexcept;

private:
    struct found {
        types::stored_fingerprint stored;
        const type_fingerprint* type;
    };
    std::mutex guards_all_;
    std::map<std::string, found, std::less<>> all_;
};

} // namespace remanence::detail
