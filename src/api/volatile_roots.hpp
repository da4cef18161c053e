// The roots of volatile heaps, for the C interface and for what makes files of volatile heaps.
#pragma once

#include "api/volatile_heap_impl.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remanence::detail {

struct named_volatile_root {
    std::string name;
    volatile_root root;
};

// Any thread may call these.

/// Adds a root or replaces it. `type.size` is the object's size; the caller has checked that it lies in a block.
void put_root(volatile_heap_impl& in, std::string_view name, volatile_root root);
/// True if the object may be all that was asked for when the block was allocated.
[[nodiscard]] bool is_alone(const alloc::block& in, const void* object, std::size_t size);
/// Returns a copy of the root; nothing if there is none.
[[nodiscard]] std::optional<volatile_root> look_up(const volatile_heap_impl& in, std::string_view name);
bool erase_root(volatile_heap_impl& in, std::string_view name);
/// Returns copies of all roots, by name.
[[nodiscard]] std::vector<named_volatile_root> all_roots(const volatile_heap_impl& in);

} // namespace remanence::detail
