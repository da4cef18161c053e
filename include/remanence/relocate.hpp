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
/// The pointers are rewritten in a copy (PATH-moving), which replaces the file when it is complete. So a crash leaves the
/// heap as it was or moved. Durable once this returns. Needs room for the copy, which has the permissions of the file,
/// but belongs to the user of this process; other hard links keep the old file.
///
/// All pointers must be known. A heap is refused (errc::not_supported, with a sentence that names root and type) if a
/// root's type is not stored; if what may be the address of a block lies in a class that hides its members, behind the
/// members of an object, or in a block of which it is not certain what it holds; if the keys of a hash container hold
/// pointers; or if it records a history. What no root reaches keeps its bytes.
///
/// Errors: errc::in_use; errc::invalid_argument for a base out of range; errc::no_space; those of opening. `base` may be
/// in use in this process. O(heap), in time; memory O(blocks), and a bit for each word.
relocated relocate(const std::filesystem::path& path, std::uintptr_t base = 0,
                   const std::function<void(const progress&)>& on_progress = {});

} // namespace remanence
