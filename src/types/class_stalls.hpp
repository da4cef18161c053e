// The stalls of an open heap: copies of vtables at addresses that follow from the heap's base (format/class_table.hpp).
// An object's vptr leads to a stall, so it means the same in every process. A stall has room before the address point,
// for offsets, and behind it, for functions, so neither order nor number of functions matters to what is stored.
//
// Stalls are private memory, read-only except while they are filled.
#pragma once

#include "base/result.hpp"
#include "format/class_table.hpp"
#include "os/memory.hpp"
#include "types/class_table.hpp"
#include "types/vtable_index.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace remanence::types {

/// What stands for the vtable of a class that the process does not have.
struct missing_class {
    std::uint64_t function; // address of the function that each virtual call calls
    std::uint64_t type;     // address of a type_info
};

class class_stalls {
public:
    /// Maps them. errc::base_taken if something else is at their addresses.
    static result<class_stalls> make(std::uint64_t base, const std::string& path);

    /// While it exists, stalls may be filled.
    class filling {
    public:
        explicit filling(class_stalls& of) : of_(of) {}
        filling(const filling&) = delete;
        filling& operator=(const filling&) = delete;
        ~filling();
        /// Copies a vtable. errc::not_supported if it does not fit; errc::unnameable_type if the name of its class is
        /// ambiguous.
        result<void> fill(std::uint64_t number, const vtable_index& index, const vtable& with);
        /// Makes every call fail. Virtual bases are found nevertheless.
        result<void> fill_missing(std::uint64_t number, const stored_class& lacking, const missing_class& with);

    private:
        result<void> begin();

        class_stalls& of_;
        bool has_begun_ = false;
    };

    /// Returns what the vptrs of objects contain.
    [[nodiscard]] std::uint64_t point(std::uint64_t number) const { return format::stall_point(base_, number); }

private:
    class_stalls(std::uint64_t base, os::reservation place) : base_(base), place_(std::move(place)) {}
    [[nodiscard]] std::byte* point_at(std::uint64_t number) const {
        return place_.base() + number * format::k_stall_bytes + format::k_stall_point;
    }

    std::uint64_t base_;
    os::reservation place_;
};

} // namespace remanence::types
