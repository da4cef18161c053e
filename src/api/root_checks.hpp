// The checks of verify() for objects of roots whose types the program has named since the heap was opened. The file has
// only names of types.
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
    /// Notes the check of a root's type. O(log roots). std::bad_alloc.
    void know(std::string_view name, std::uint64_t fingerprint_hash, root_check check);
    /// The root may have this fingerprint until the heap has a newer one of the same type. O(log roots).
    void know_outdated(std::string_view name, std::uint64_t fingerprint_hash);
    /// Returns a sentence about the first fault in an object; nothing if there is none, or if no check is known for its
    /// type. O(object), with the allocator's lock held.
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
