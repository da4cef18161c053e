// The vtables of this process. Their classes and positions are found without symbols, in the constants of all loaded
// modules, as the Itanium C++ ABI lays them out: an *address point*, the value of a vptr, has a type_info before it,
// and before that the distance from the subobject to its object ("offset to top").
//
// C1  The vtables of one class lie one behind the other: the primary one, with offset 0, and those of its other
//     subobjects. Such a *group* may also belong to a class as a virtual base sees it while an object of a derived class
//     is constructed. Groups of one class differ in the offsets of virtual bases.
// C2  A type_info is recognised by the name of its own class, since each module may have that class's vtable.
#pragma once

#include "os/loaded_modules.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace remanence::types {

/// Where a vtable stores how far a virtual base is from the subobject.
struct virtual_base {
    std::uint32_t position; // of the subobject in the object
    std::int32_t slot;      // bytes from the address point, negative
    std::int64_t offset;    // of the base, from the subobject
    bool operator==(const virtual_base&) const = default;
};

struct vtable {
    std::uint64_t point;    // address point
    std::uint64_t type;     // address of the type_info
    std::uint32_t position; // of the subobject in the object
    std::uint32_t first;    // number of its group's primary vtable (C1)
};

class vtable_index {
public:
    /// Searches all modules. O(bytes of constants with addresses): about 0.1 ms per MiB.
    vtable_index();

    /// Returns the index of this moment: makes one if modules were loaded or unloaded since the last call. Throws
    /// std::bad_alloc.
    static std::shared_ptr<const vtable_index> present();

    /// Returns the vtable with this address point; null if there is none. O(1).
    [[nodiscard]] const vtable* at(std::uint64_t point) const {
        if (point - begin_ >= end_ - begin_)
            return nullptr;
        const auto found = by_point_.find(point);
        return found == by_point_.end() ? nullptr : &all_[found->second];
    }
    /// The address points lie in [begin(), end()).
    [[nodiscard]] std::uint64_t begin() const { return begin_; }
    [[nodiscard]] std::uint64_t end() const { return end_; }
    [[nodiscard]] std::uint64_t generation() const { return generation_; }

    /// True if another class of the same module has the same name, for instance in an unnamed namespace of another source
    /// file.
    [[nodiscard]] bool is_ambiguous(const vtable& of) const;
    /// Returns the mangled name of the class.
    [[nodiscard]] std::string_view name_of(const vtable& of) const;
    /// Returns the offsets of all virtual bases of the class, from all vtables of the group. Throws std::bad_alloc.
    [[nodiscard]] std::vector<virtual_base> virtual_bases_of(const vtable& of) const;
    /// Returns the vtable of a class with these virtual bases at a position; null if there is none. If several modules
    /// have it, returns one of them.
    [[nodiscard]] const vtable* find(std::string_view name, std::uint32_t position,
                                     const std::vector<virtual_base>& bases) const;

    /// The words of a vtable that may be read: [begin, end) around the address point.
    [[nodiscard]] const os::module_range& words_around(const vtable& of) const;
    /// Returns how many words behind the address point are functions; perhaps too many, if another table follows.
    [[nodiscard]] std::size_t functions_of(const vtable& of) const;

private:
    enum class kind { none, plain, single, multiple };
    kind kind_of_type(std::uint64_t type);
    kind kind_of_class(std::uint64_t vptr);
    [[nodiscard]] bool is_readable(std::uint64_t address, std::uint64_t bytes) const;
    void search(const os::module_range& constants);
    void collect(const vtable& first, std::uint64_t type, std::int64_t position, unsigned depth,
                 std::vector<virtual_base>& into) const;
    /// False if it is other data with the address of a type_info: a vtable has functions or virtual bases.
    [[nodiscard]] bool is_vtable(const vtable& of, const std::vector<virtual_base>& bases) const {
        return !bases.empty() || functions_of(of) != 0;
    }
    [[nodiscard]] const vtable* in_group(std::uint32_t first, std::int64_t position) const;

    std::uint64_t generation_;
    os::loaded_modules modules_;
    std::vector<vtable> all_; // by address
    std::uint64_t begin_ = ~std::uint64_t{0};
    std::uint64_t end_ = 0;
    std::unordered_map<std::uint64_t, std::uint32_t> by_point_;
    std::unordered_multimap<std::string_view, std::uint32_t> by_name_;
    std::unordered_map<std::uint64_t, kind> kinds_; // of vptrs of type_infos
};

} // namespace remanence::types
