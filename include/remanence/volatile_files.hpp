/// \file
/// Heap files of volatile heaps, and volatile heaps of heap files: all blocks, and the roots, at the same addresses. So
/// plain pointers among the blocks stay valid.
///
///     rem::volatile_heap scratch;
///     auto* first = new (scratch.allocate(sizeof(node))) node{};
///     rem::set_root(scratch, "nodes", first);
///     rem::save_as(scratch, "nodes.rem");               // rem::heap::open("nodes.rem").find_root<node>("nodes")
///     // in another process, or once `scratch` is destroyed:
///     auto again = rem::load_volatile("nodes.rem");
///     node* found = rem::find_root<node>(*again, "nodes");
#pragma once

#include <remanence/detail/compiler.hpp>

#include <remanence/detail/abi.hpp>
#include <remanence/heap_reports.hpp>
#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/detail/structure.hpp>
#include <remanence/types/persistable.hpp>
#include <remanence/volatile_heap.hpp>

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace remanence {

namespace detail {
void set_root(volatile_heap& in, std::string_view name, const type_fingerprint& type, const void* object);
[[nodiscard]] void* find_root(const volatile_heap& in, std::string_view name, const type_fingerprint& type);
void save_as(const volatile_heap& from, const std::filesystem::path& path, std::string_view abi);
[[nodiscard]] std::unique_ptr<volatile_heap> load_volatile(const std::filesystem::path& path,
                                                           const volatile_heap_options& options, std::string_view abi);
} // namespace detail

// Any thread may call the functions for roots. They lock a mutex of the process. O(log roots), roots() O(roots).

/// Names an object of a volatile heap, which must lie in a block of it. A root of this name is replaced; the former
/// object stays. A type that is not `persistable` does not compile. Errors: errc::invalid_argument when the object lies
/// in no block; errc::unnameable_type as heap::root().
template <class T>
void set_root(volatile_heap& in, std::string_view name, T* object) {
    detail::require_persistable<T>();
    detail::set_root(in, name, detail::fingerprint_of<T>(), object);
}
/// Returns the object of this name, or null. Errors: errc::type_mismatch when it is not the type that was stored.
template <class T>
[[nodiscard]] T* find_root(const volatile_heap& in, std::string_view name) {
    return static_cast<T*>(detail::find_root(in, name, detail::fingerprint_of<T>()));
}
/// Removes a name; the object stays. Returns false when there is no such root.
bool remove_root(volatile_heap& in, std::string_view name);
/// Returns all roots, by name.
[[nodiscard]] std::vector<root_info> roots(const volatile_heap& in);

/// Makes a heap file of all blocks and roots of a volatile heap, which stays as it is. The file's base is where the
/// volatile heap lies, so no process can open it at its addresses while it has the volatile heap. Red zones and recorded
/// calls do not become part of it. The file appears complete or not at all, and is durable once this returns. Until
/// then, and after a crash until the next call, a file NAME-save-unfinished lies beside it, perhaps with -new or -log
/// behind the name.
///
/// In the file, blocks that come from the volatile heap are as long as usable_size() said there, or as requested if they
/// had red zones. heap::destroy() and rem_free() free them.
///
/// No other thread may use the volatile heap meanwhile, as for verify(). Errors, after which there is no new file:
/// errc::in_use when blocks were allocated or freed meanwhile; errc::exists when there is a file, or a log of one;
/// errc::invalid_argument when a root leads to no block, naming it; errc::corrupt when a red zone was overwritten, or
/// the heap's own data; errc::not_supported when the heap lies where no other process could expect to have the same
/// addresses (if ulimit -v forbids to reserve them, or hundreds of volatile heaps exist); errc::no_space, errc::io.
/// O(blocks and their bytes).
inline void save_as(const volatile_heap& from, const std::filesystem::path& path) {
    detail::save_as(from, path, detail::k_abi);
}

/// Makes a volatile heap of a heap file, with its last commit's blocks and roots, at the file's base. The file is only
/// read, also while other processes write to it. free(), reallocate() and usable_size() accept the blocks. save_as()
/// makes a file again, with the file's application, permissions and chunk size; history, kept versions and the log's
/// directory stay with the file.
///
/// Strings and containers of namespace remanence can be read in the volatile heap. What would allocate throws
/// errc::closed, and what they free stays allocated.
///
/// Errors: errc::base_taken when the addresses are in use; errc::in_use when this process has the heap open;
/// errc::not_supported when the heap has arenas, red zones, or blocks of an early release, naming them;
/// errc::invalid_argument with red_zone_bytes or leak_frames, since the file does not tell what its blocks would need
/// for them; errc::no_memory when the blocks exceed memory; errc::abi_mismatch, errc::corrupt and others as
/// heap::open_existing(). O(file).
[[nodiscard]] inline std::unique_ptr<volatile_heap> load_volatile(const std::filesystem::path& path,
                                                                  const volatile_heap_options& options = {}) {
    return detail::load_volatile(path, options, detail::k_abi);
}

} // namespace remanence
