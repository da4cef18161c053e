// Which pointers can follow when objects are converted: those that lead to one whole object.
#pragma once

#include "base/result.hpp"
#include "objects/object_builder.hpp"
#include "objects/object_source.hpp"
#include "objects/shared_objects.hpp"
#include "txn/heap_memory.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace remanence::objects {

/// "book.next leads to …" with `why`, and what to do.
std::string refused_pointer(const types::type_description& schema, const named_pointee& to, const std::string& why);

/// Objects that lie in no other one.
class lone_objects {
public:
    /// All must outlive it.
    lone_objects(txn::heap_memory& memory, heap_source& objects, object_builder& builder)
        : memory_(memory), objects_(objects), builder_(builder) {}

    /// Whether a block begins there that has the bytes of a block for one object. Allocates, to learn how many that are. errc::exhausted.
    /// O(log of the block's size).
    result<bool> is_alone(object_place of);
    /// Bytes of its block behind the object, if it has room for a second one; else 0. Precondition: is_alone().
    [[nodiscard]] std::uint64_t room_behind(object_place of) const;
    /// Whether one of those bytes is not 0, so that the second one may be there.
    [[nodiscard]] bool has_something_behind(object_place of) const;

private:
    txn::heap_memory& memory_;
    heap_source& objects_;
    object_builder& builder_;
    std::map<std::uint32_t, std::uint64_t> bytes_; // of blocks, by row
};

/// Places that pointers lead to within objects that are changed where they are.
class changed_places {
public:
    void watch(const std::vector<named_pointee>& all);
    void change(std::uint64_t at, std::uint64_t bytes) { mark(at, bytes, true); }
    void keep(std::uint64_t at, std::uint64_t bytes) { mark(at, bytes, false); }
    /// Whether it lies in an object that was changed, and in no part of that which was kept.
    [[nodiscard]] bool have(std::uint64_t at) const { return changed_.contains(at); }

private:
    void mark(std::uint64_t at, std::uint64_t bytes, bool is_changed);

    std::vector<std::uint64_t> places_; // sorted
    std::unordered_set<std::uint64_t> changed_;
};

} // namespace remanence::objects
