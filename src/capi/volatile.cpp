// Volatile heaps of C programs. A separate file, so that only programs that open one link it.

#include "api/volatile_roots.hpp"
#include "capi/guard.hpp"
#include "capi/shown_leaks.hpp"
#include "capi/structs.hpp"
#include "capi/types.hpp"
#include "capi/volatile_of_c.hpp"

#include <memory>
#include <typeinfo>
#include <utility>

using namespace remanence;

namespace remanence::capi {

volatile_heap_options options_of(const rem_volatile_options* stated) {
    const rem_volatile_options given = whole_struct(stated, "rem_volatile_options");
    volatile_heap_options options;
    if (given.reserve_bytes != 0)
        options.reserve_bytes = given.reserve_bytes;
    options.red_zone_bytes = given.red_zone_bytes;
    if (given.has_numa_node)
        options.numa_node = given.numa_node;
    options.leak_frames = given.leak_frames;
    if (given.on_leaks != nullptr)
        options.on_leaks = [given](const leak_report& left) {
            show_leaks(left, [&](const rem_leaks* shown) { given.on_leaks(given.context, shown); });
        };
    return options;
}

void volatile_of_c::show(rem_stats& stats) const {
    const volatile_heap_stats known = volatile_heap::stats();
    stats.heap_bytes = known.resident_bytes;
    stats.allocated_bytes = known.usable_bytes;
    if (stats.surveys) {
        stats.availability = known.availability;
        stats.page_efficiency = known.page_efficiency;
    }
    const std::string_view none = "none";
    none.copy(stats.tracker, sizeof stats.tracker - 1);
}

verify_report volatile_of_c::verify() const {
    verify_report report;
    volatile_verify_report found = volatile_heap::verify();
    report.blocks_checked = found.blocks_checked;
    for (volatile_verify_report::problem& each : found.problems)
        report.problems.push_back({std::move(each.what), error::k_no_offset});
    return report;
}

namespace {

bool is_of_c(const detail::volatile_root& root) { return root.type.name.starts_with(k_prefix_of_types); }

[[noreturn]] void raise_mismatch(std::string_view name, const detail::volatile_root& root, const std::string& instead) {
    throw error(errc::type_mismatch, "the root \"" + std::string(name) + "\" of the volatile heap is stored as " +
                                         root.type.name + " (" + std::to_string(root.type.size) + " bytes), not as " +
                                         instead + ". Ask for the stored type, or keep this one under another name.");
}

volatile_face* find_around(const void* address) noexcept {
    volatile_heap* const found = volatile_heap::of(address);
    const bool is_of_c = found != nullptr && typeid(*found) == typeid(volatile_of_c);
    return is_of_c ? static_cast<volatile_of_c*>(found) : nullptr;
}

} // namespace

void volatile_of_c::set_root(std::string_view name, const void* object, const std::string& type,
                             std::optional<std::size_t> size, const detail::type_fingerprint* described) {
    detail::volatile_heap_impl& impl = detail::impl_of(*this);
    const auto block = impl.block_around(object);
    const std::size_t before = block ? static_cast<std::size_t>(static_cast<const std::byte*>(object) -
                                                                static_cast<const std::byte*>(block->start))
                                     : 0;
    if (!block || before > block->bytes || size.value_or(0) > block->bytes - before)
        refuse_argument("a root is to be an object in a block of its heap: allocate it there.");
    if (described != nullptr && !detail::is_alone(*block, object, *size))
        refuse_argument(
            "a root of a described type must be one object in a block of its own. For an array, or a struct with more "
            "behind it, let the root point at it.");
    if (const auto former = detail::look_up(impl, name); former && !is_of_c(*former))
        raise_mismatch(name, *former, type);
    detail::volatile_root root{described != nullptr ? *described : detail::type_fingerprint{},
                               const_cast<void*>(object)}; // NOLINT(cppcoreguidelines-pro-type-const-cast): stored
    if (described == nullptr) {
        root.type.hash = hash_of_undescribed(type);
        root.type.alignment = 1;
    }
    root.type.name = type;
    root.type.size = size.value_or(block->bytes - before);
    root.type.nameable = true;
    detail::put_root(impl, name, std::move(root));
}

void* volatile_of_c::get_root(std::string_view name, const std::string* type, std::size_t size,
                              const detail::type_fingerprint* described) const {
    const auto found = detail::look_up(detail::impl_of(*this), name);
    if (!found)
        return nullptr;
    const bool is_right = type == nullptr || (found->type.name == *type && found->type.size == size &&
                                              (described == nullptr || found->type.hash == described->hash ||
                                               found->type.hash == hash_of_undescribed(*type)));
    if (!is_of_c(*found) || !is_right)
        raise_mismatch(name, *found,
                       type == nullptr ? "a C block" : *type + " (" + std::to_string(size) + " bytes) as described");
    return found->object;
}

bool volatile_of_c::remove_root(std::string_view name) {
    detail::volatile_heap_impl& impl = detail::impl_of(*this);
    const auto found = detail::look_up(impl, name);
    if (found && !is_of_c(*found))
        raise_mismatch(name, *found, "a C block");
    return detail::erase_root(impl, name);
}

std::vector<volatile_face::shown_root> volatile_of_c::roots() const {
    std::vector<shown_root> shown;
    for (const detail::named_volatile_root& each : detail::all_roots(detail::impl_of(*this)))
        shown.push_back({each.name, each.root.type.name, each.root.object, each.root.type.size});
    return shown;
}

rem_heap* add_volatile(std::unique_ptr<volatile_of_c> made) {
    volatile_of_c* const opened = made.get();
    rem_heap* const handle = add_handle(std::move(made));
    opened->be_known_as(handle);
    find_volatile_around.store(find_around, std::memory_order_release);
    return handle;
}

} // namespace remanence::capi

rem_status rem_open_volatile(const rem_volatile_options* options, rem_heap** heap) {
    if (heap != nullptr)
        *heap = nullptr;
    return capi::guard([&] {
        if (heap == nullptr)
            capi::refuse_argument("rem_open_volatile needs a place for the handle.");
        *heap = capi::add_volatile(std::make_unique<capi::volatile_of_c>(capi::options_of(options)));
        return REM_OK;
    });
}
