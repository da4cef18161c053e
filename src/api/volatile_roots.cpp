// Roots of volatile heaps. A separate file, so that only programs that use them link it.
#include "api/volatile_roots.hpp"

#include "alloc/slab_layout.hpp"
#include "api/heap_origin.hpp"
#include "os/held_across_fork.hpp"

#include <remanence/volatile_files.hpp>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <utility>

namespace remanence {

namespace detail {

namespace {

std::mutex guards_roots; // one for all heaps, since roots are set rarely
const os::held_across_fork<guards_roots> k_guard_held;

} // namespace

void put_root(volatile_heap_impl& in, std::string_view name, volatile_root root) {
    const std::scoped_lock lock(guards_roots);
    if (!in.of_file)
        in.of_file = std::make_unique<volatile_file_side>();
    in.of_file->roots.insert_or_assign(std::string(name), std::move(root));
}

bool is_alone(const alloc::block& in, const void* object, std::size_t size) {
    constexpr std::size_t k_least = 16; // of a block
    return in.start == object && in.bytes < 2 * alloc::bytes_on_lines(std::max(size, k_least));
}

std::optional<volatile_root> look_up(const volatile_heap_impl& in, std::string_view name) {
    const std::scoped_lock lock(guards_roots);
    if (!in.of_file)
        return {};
    const auto found = in.of_file->roots.find(name);
    return found == in.of_file->roots.end() ? std::nullopt : std::optional(found->second);
}

bool erase_root(volatile_heap_impl& in, std::string_view name) {
    const std::scoped_lock lock(guards_roots);
    if (!in.of_file)
        return false;
    const auto found = in.of_file->roots.find(name);
    if (found == in.of_file->roots.end())
        return false;
    in.of_file->roots.erase(found);
    return true;
}

std::vector<named_volatile_root> all_roots(const volatile_heap_impl& in) {
    const std::scoped_lock lock(guards_roots);
    std::vector<named_volatile_root> all;
    if (in.of_file) {
        for (const auto& [name, root] : in.of_file->roots)
            all.push_back({name, root});
    }
    return all;
}

void set_root(volatile_heap& in, std::string_view name, const type_fingerprint& type, const void* object) {
    refuse_in_new_scope("a volatile heap");
    const auto block = impl_of(in).block_around(object);
    const auto before = block ? static_cast<std::size_t>(static_cast<const std::byte*>(object) -
                                                         static_cast<const std::byte*>(block->start))
                              : 0;
    if (!block || before > block->bytes || block->bytes - before < type.size) {
        throw error(errc::invalid_argument, "the root \"" + std::string(name) +
                                                "\" is to be an object in a block of its volatile heap: allocate it "
                                                "there.");
    }
    if (type.virtual_functions != nullptr) {
        throw error(errc::not_supported, "the root \"" + std::string(name) + "\" cannot be of type " + type.name +
                                             ": files of volatile heaps cannot have objects with virtual functions. "
                                             "Use a heap.");
    }
    if (!type.nameable) {
        throw error(errc::unnameable_type, "the root \"" + std::string(name) + "\" cannot be of type " + type.name +
                                               ": no other program could name it. Declare it in a named namespace.");
    }
    put_root(impl_of(in), name,
             {type, const_cast<void*>(object)}); // NOLINT(cppcoreguidelines-pro-type-const-cast): stored
}

void* find_root(const volatile_heap& in, std::string_view name, const type_fingerprint& type) {
    refuse_in_new_scope("a volatile heap");
    const auto found = look_up(impl_of(in), name);
    if (!found)
        return nullptr;
    const type_fingerprint& stored = found->type;
    if (stored.hash != type.hash || stored.algorithm != type.algorithm || stored.size != type.size) {
        throw error(errc::type_mismatch,
                    "the root \"" + std::string(name) + "\" of the volatile heap is stored as " + stored.name + " (" +
                        std::to_string(stored.size) + " bytes), not as " + type.name + " (" +
                        std::to_string(type.size) +
                        " bytes), or their members differ. Ask for the stored type, or keep this one under another "
                        "name.");
    }
    return found->object;
}

} // namespace detail

bool remove_root(volatile_heap& in, std::string_view name) {
    detail::refuse_in_new_scope("a volatile heap");
    return detail::erase_root(detail::impl_of(in), name);
}

std::vector<root_info> roots(const volatile_heap& in) {
    detail::refuse_in_new_scope("a volatile heap");
    std::vector<root_info> shown;
    for (detail::named_volatile_root& each : detail::all_roots(detail::impl_of(in)))
        shown.push_back({std::move(each.name), std::move(each.root.type.name), each.root.type.size});
    return shown;
}

} // namespace remanence
