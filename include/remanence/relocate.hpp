/// \file
/// Moves heaps to other addresses.
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/heap_options.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>

namespace remanence {

/// What relocate() did.
struct relocated {
    std::uintptr_t base_before = 0; ///< the address before
    std::uintptr_t base = 0;        ///< the address now
    std::uint64_t pointers = 0;     ///< how many pointers were rewritten
};

/// Moves a heap that no process has open to another address: rewrites each pointer that a type declares, and those by
/// which containers find their memory. `base` is the new address, a multiple of 1 GiB below 64 TiB; 0: a free one.
///
/// The pointers are rewritten in a copy (PATH-moving), which replaces the file when it is complete: a crash leaves the
/// heap before or after, and durable is what this returns for. Needs room for the copy. The log goes; permissions stay.
///
/// All pointers must be known. A heap is refused (errc::not_supported, with a sentence that names root and type) if a
/// root's type is not stored; if what may be the address of a block lies in a class that hides its members, behind the
/// members of an object, or in a block of which it is not certain what it holds; if the keys of a hash container hold
/// pointers; or if it records a history. What no root reaches keeps its bytes.
///
/// Errors: errc::in_use; errc::base_taken when `base` is in use in this process; errc::invalid_argument for a base out
/// of range; errc::no_space; those of opening. O(heap), in time; memory O(pages and pointers).
relocated relocate(const std::filesystem::path& path, std::uintptr_t base = 0,
                   const std::function<void(const progress&)>& on_progress = {});

} // namespace remanence
