// Objects with virtual functions in heaps: an optional part, linked into programs that store such objects.
#pragma once

#include "base/result.hpp"
#include "txn/transactions.hpp"
#include "types/program_class.hpp"

#include <remanence/types/detail/virtual_functions.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace remanence::detail {

class heap_impl;

/// The classes of one heap. Abstract, so that other programs do not link the code. Any thread may call it.
class virtual_classes {
public:
    virtual_classes() = default;
    virtual_classes(const virtual_classes&) = delete;
    virtual_classes& operator=(const virtual_classes&) = delete;
    virtual ~virtual_classes() = default;
    /// Must be called when memory may have become another state, before objects are used. Throws remanence::error.
    virtual void renew() = 0;
    /// Does what txn::engine::make_commit() does. Also makes room in the table of classes.
    [[nodiscard]] virtual result<std::uint64_t> make_commit(const txn::commit_order& order) = 0;
    /// True if the value is a vptr of an object that was made since the last commit.
    [[nodiscard]] virtual bool is_vtable(std::uint64_t value) = 0;
    /// Returns the mangled name of the class whose objects have this vptr; empty if there is none.
    [[nodiscard]] virtual std::string name_of_stall(std::uint64_t point) = 0;
};

struct virtual_part {
    /// Makes the heap ready for objects with virtual functions. Does nothing in a heap that is mapped elsewhere than at
    /// its base. Throws remanence::error: errc::not_supported because of what the compiler assumes about `type`;
    /// and as types::class_settler::renew().
    void (*serve)(heap_impl& heap, const std::string& type, assumption made);
    /// Returns the classes that the program has told of. Throws std::bad_alloc.
    std::vector<types::program_class> (*classes)();
};
extern const virtual_part k_virtual_part;

/// The part, if the program stores objects with virtual functions anywhere; else null. Null before the program's
/// statics are initialized.
inline constinit const virtual_part* known_virtual_part = nullptr;

} // namespace remanence::detail
