// The classes with virtual functions of one open heap: keeps the stalls as the heap's table of classes says, and
// replaces vptrs by the addresses of stalls when a commit is made.
//
// The table is part of the heap's contents, so a rollback, an undo or another process's commit may change it. Each
// operation first compares it with what the stalls are filled for.
#pragma once

#include "base/result.hpp"
#include "txn/heap_memory.hpp"
#include "txn/vptr_settler.hpp"
#include "types/class_stalls.hpp"
#include "types/class_table.hpp"
#include "types/vtable_index.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace remanence::types {

/// Any thread may call it.
class class_settler final : public txn::vptr_settler {
public:
    /// Returns what the program tells of a class, by its mangled name; null if it tells nothing.
    using type_finder = const detail::type_fingerprint* (*)(std::string_view mangled);
    /// `memory` must outlive this object, and be mapped at the heap's base.
    class_settler(txn::heap_memory& memory, const missing_class& missing, type_finder type_of)
        : memory_(memory), missing_(missing), type_of_(type_of) {}

    /// Fills the stalls for the heap's table. To be called when the table may have changed, before objects are used.
    /// errc::base_taken, errc::corrupt, errc::not_supported; errc::type_mismatch if a class has changed.
    /// Throws std::bad_alloc. O(table) if nothing has changed.
    result<void> renew();
    /// After a commit has failed: if it was because of classes that are new in the heap, stores their schemas, makes room
    /// in the table, and returns true; the commit may then be repeated. The caller holds the write lock. errc::exhausted.
    result<bool> admit_classes();
    /// Returns the mangled name of the class whose stall has this address point; empty if there is none.
    [[nodiscard]] std::string name_of_stall(std::uint64_t point);

    result<change::commit_scope> gather(txn::committer& of, view::memory_view& view) override;
    result<bool> settle(heap_range where) override;

private:
    [[nodiscard]] std::span<const std::byte> table_bytes() const;
    result<void> renew_locked();
    result<void> fill(std::size_t number, class_stalls::filling& into);
    result<std::uint64_t> stall_for(const vtable& found);
    result<void> admit(std::size_t number, stored_class& wanted, const detail::type_fingerprint* type);
    result<void> check_unchanged(const stored_class& each) const;

    txn::heap_memory& memory_;
    const missing_class missing_;
    const type_finder type_of_;
    std::mutex guard_; // of all that follows
    std::optional<class_stalls> stalls_;
    std::shared_ptr<const vtable_index> index_;
    std::vector<std::byte> seen_;       // the entries that the stalls are filled for, as they are stored
    std::vector<stored_class> classes_; // the same, by their numbers
    std::unordered_map<std::uint64_t, std::uint64_t> stall_of_; // by address point in a module
    // What the last commit lacked, and what has been stored since the heap's table was read.
    std::uint64_t lacking_bytes_ = 0; // of the table
    std::vector<const detail::type_fingerprint*> lacking_schemas_;
    std::vector<const detail::type_fingerprint*> admitted_;
};

} // namespace remanence::types
