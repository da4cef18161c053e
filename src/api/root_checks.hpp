// The checks that verify() makes of a root's object. The program supplies a check when it names the root's type; the
// heap file stores only names of types.
#pragma once

#include "txn/heap_memory.hpp"
#include "types/root_directory.hpp"

#include <remanence/types/detail/structure.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace remanence::detail {

/// Any thread may call it.
class root_checks {
public:
    /// Records the check of a root's type. O(log roots). std::bad_alloc.
    void know(std::string_view name, std::uint64_t fingerprint_hash, root_check check);
    /// Lets fault_in() check the root also while the heap stores this older fingerprint of its type. O(log roots).
    void know_outdated(std::string_view name, std::uint64_t fingerprint_hash);
    /// Returns a sentence about the first fault in a root's object; nothing if there is none, or if no check is known
    /// for the object's type. O(object), with the allocator's lock held.
    [[nodiscard]] std::optional<std::string> fault_in(const types::root_view& root,
                                                      const txn::heap_memory& memory) const;

private:
    struct known {
        std::uint64_t fingerprint_hash;
        std::uint64_t outdated_hash;
        root_check check;
    };
    mutable std::mutex guards_all_;
    std::map<std::string, known, std::less<>> all_;
};

} // namespace remanence::detail
