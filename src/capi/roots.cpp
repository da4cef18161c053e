// Roots of C programs. They are entries of the root directory, as those of C++ programs are. But the name of their type
// begins with "C ", as no C++ type's name does. So to C++ programs, a root of a C program has another type, and vice
// versa.

#include "capi/callbacks.hpp"
#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/types.hpp"
#include "types/root_directory.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace remanence;

namespace remanence::capi {

namespace {

constexpr std::string_view k_prefix = k_prefix_of_types;
constexpr std::string_view k_untyped = "C block";
constexpr std::size_t k_name_bytes_max = 4096;

bool is_of_c(const types::root_view& root) { return root.type.starts_with(k_prefix); }
/// Returns the described types; null if the program describes none.
const described_types* descriptions() { return all_described.load(std::memory_order_acquire); }

std::string_view checked_name(const char* name, const char* what) {
    const std::string_view text = name == nullptr ? std::string_view() : std::string_view(name);
    if (text.empty() || text.size() > k_name_bytes_max)
        refuse_argument(what);
    return text;
}

std::string_view name_of_root(const char* name) {
    return checked_name(name, "a root needs a name of 1 to 4,096 bytes.");
}

std::string stated_type(const char* type) {
    return std::string(k_prefix).append(checked_name(type, "the type of a root needs a name of 1 to 4,096 bytes."));
}

[[noreturn]] void raise_mismatch(const detail::heap_impl& impl, const types::root_view& root,
                                 const std::string& instead) {
    throw error(errc::type_mismatch,
                "the root \"" + std::string(root.name) + "\" of " + impl.origin.path.string() + " is stored as " +
                    std::string(root.type) + " (" + std::to_string(root.bytes) + " bytes), not as " + instead +
                    ". Ask for the stored type, or keep this one under another name.",
                impl.origin.path.string());
}

std::optional<types::root_view> look_up(const types::root_directory& roots, std::string_view name,
                                        types::freed_objects freed) {
    auto found = roots.look_up(name, freed);
    detail::check(found ? result<void>() : result<void>(found.error()));
    return *found;
}

/// Runs `f` in a write section. In a transactional heap, the end of the section commits.
template <class F>
void change_roots(const open_heap& opened, const F& f) {
    detail::heap_impl& impl = opened.writable();
    if (opened.is_transactional()) {
        detail::write_section section(&impl, detail::section_kind::joining, {});
        f(impl);
        section.commit();
        return;
    }
    impl.sections.enter_write(detail::section_kind::joining);
    try {
        f(impl);
    } catch (...) {
        impl.sections.leave_write();
        throw;
    }
    impl.sections.leave_write();
}

/// Runs checks in a read section, before a write section begins, because a write section that fails would also undo
/// earlier uncommitted changes.
template <class F>
void look_before(const open_heap& opened, const F& f) {
    detail::heap_impl& impl = opened.writable();
    const detail::read_section section(&impl);
    f(impl);
}

/// Returns the described type; null if it is not described. `type` begins with k_prefix.
const detail::type_fingerprint* description_of(const std::string& type, std::optional<std::size_t> size) {
    const described_types* const all = descriptions();
    const detail::type_fingerprint* const found =
        all == nullptr ? nullptr : all->find(std::string_view(type).substr(k_prefix.size()));
    if (found != nullptr && size && *size != found->size)
        refuse_argument("a root has another size than its type was described with.");
    return found;
}

/// Sets a root. `size` is the size of the stated type; without a size, the object extends to the end of its block.
rem_status set_root(rem_heap* handle, const char* given_name, const void* object, const std::string& type,
                    std::optional<std::size_t> size) {
    volatile_face* const no_file = find_volatile(handle);
    if (no_file == nullptr)
        (void)opened(handle); // throws if the heap is closed
    const std::string_view name = name_of_root(given_name);
    const detail::type_fingerprint* const described = size ? description_of(type, size) : nullptr;
    if (no_file != nullptr) {
        no_file->set_root(name, object, type, size, described);
        return REM_OK;
    }
    const open_heap& heap = opened(handle);
    detail::type_fingerprint stored;
    if (described != nullptr)
        stored = *described;
    stored.name = type;
    stored.hash = described != nullptr ? described->hash : hash_of_undescribed(type);
    stored.alignment = described != nullptr ? described->alignment : 1;
    stored.nameable = true;
    look_before(heap, [&](detail::heap_impl& impl) {
        const txn::heap_memory& memory = impl.memory();
        const auto block = memory.contains(object) ? memory.block_of(object) : std::nullopt;
        const std::size_t left =
            block ? block->bytes - static_cast<std::size_t>(static_cast<const std::byte*>(object) -
                                                            static_cast<const std::byte*>(block->start))
                  : 0;
        if (!block || size.value_or(0) > left)
            refuse_argument("a root is to be an object in a block of its heap: allocate it there.");
        stored.size = size.value_or(left);
        if (described != nullptr)
            descriptions()->check_alone(memory, object, *described);
        const auto former = look_up(types::root_directory(impl.memory()), name, types::freed_objects::accepted);
        if (former && !is_of_c(*former))
            raise_mismatch(impl, *former, type);
    });
    change_roots(heap, [&](detail::heap_impl& impl) {
        types::root_directory roots(impl.memory());
        auto* const place =
            const_cast<void*>(object); // NOLINT(cppcoreguidelines-pro-type-const-cast): stored, not written to
        detail::check(look_up(roots, name, types::freed_objects::accepted) ? roots.replace(name, stored, place)
                                                                           : roots.add(name, stored, place));
        if (described != nullptr)
            descriptions()->store(impl, *described);
    });
    return REM_OK;
}

/// As get_root(), in a volatile heap.
void* get_volatile_root(const volatile_face& memory, const char* given_name, const std::string* type, std::size_t size,
                        const detail::type_fingerprint* described) {
    const std::string_view name = name_of_root(given_name);
    void* const found = memory.get_root(name, type, size, described);
    if (found == nullptr)
        note(REM_NOT_FOUND, ("there is no root \"" + std::string(name) + "\" in the volatile heap.").c_str());
    return found;
}

/// Returns null if there is no such root, and stores that error for rem_last_error().
template <class F>
void* get_root(rem_heap* handle, const char* given_name, const F& is_right) {
    detail::heap_impl& impl = opened(handle).impl();
    const std::string_view name = name_of_root(given_name);
    const detail::read_section section(&impl);
    const auto found = look_up(types::root_directory(impl.memory()), name, types::freed_objects::refused);
    if (!found) {
        note(REM_NOT_FOUND,
             ("there is no root \"" + std::string(name) + "\" in " + impl.origin.path.string() + '.').c_str(),
             impl.origin.path.string());
        return nullptr;
    }
    is_right(impl, *found);
    return found->object;
}

} // namespace

constinit std::atomic<const described_types*> all_described = nullptr; // NOLINT

} // namespace remanence::capi

rem_status rem_root_set(rem_heap* heap, const char* name, const void* object) {
    return capi::guard([&] { return capi::set_root(heap, name, object, std::string(capi::k_untyped), {}); });
}

rem_status rem_root_set_as(rem_heap* heap, const char* name, const void* object, const char* type, size_t size) {
    return capi::guard([&] { return capi::set_root(heap, name, object, capi::stated_type(type), size); });
}

void* rem_root_get(rem_heap* heap, const char* name) {
    return capi::guard_or<void*>(nullptr, [&] {
        if (const capi::volatile_face* const memory = capi::find_volatile(heap))
            return capi::get_volatile_root(*memory, name, nullptr, 0, nullptr);
        return capi::get_root(heap, name, [](detail::heap_impl& impl, const types::root_view& root) {
            if (!capi::is_of_c(root))
                capi::raise_mismatch(impl, root, "a C block");
        });
    });
}

void* rem_root_get_as(rem_heap* heap, const char* name, const char* type, size_t size) {
    return capi::guard_or<void*>(nullptr, [&] {
        const std::string wanted = capi::stated_type(type);
        const detail::type_fingerprint* const described = capi::description_of(wanted, size);
        if (const capi::volatile_face* const memory = capi::find_volatile(heap))
            return capi::get_volatile_root(*memory, name, &wanted, size, described);
        return capi::get_root(heap, name, [&](detail::heap_impl& impl, const types::root_view& root) {
            if (!capi::is_of_c(root) || root.type != wanted || (described == nullptr && root.bytes != size))
                capi::raise_mismatch(impl, root, wanted + " (" + std::to_string(size) + " bytes)");
            if (described != nullptr)
                capi::descriptions()->know(impl, root, *described);
        });
    });
}

rem_status rem_root_remove(rem_heap* heap, const char* name) {
    return capi::guard([&] {
        constexpr const char* k_none = "rem_root_remove: there is no such root.";
        if (capi::volatile_face* const memory = capi::find_volatile(heap))
            return memory->remove_root(capi::name_of_root(name)) ? REM_OK : capi::note(REM_NOT_FOUND, k_none);
        const capi::open_heap& opened = capi::opened(heap);
        const std::string_view wanted = capi::name_of_root(name);
        bool is_there = false;
        capi::look_before(opened, [&](detail::heap_impl& impl) {
            const auto found =
                capi::look_up(types::root_directory(impl.memory()), wanted, types::freed_objects::accepted);
            if (found && !capi::is_of_c(*found))
                capi::raise_mismatch(impl, *found, "a C block");
            is_there = found.has_value();
        });
        if (is_there)
            capi::change_roots(opened, [&](detail::heap_impl& impl) {
                types::root_directory roots(impl.memory());
                // Read again, since another thread may have removed it.
                const auto found = capi::look_up(roots, wanted, types::freed_objects::accepted);
                is_there = found && capi::is_of_c(*found);
                if (is_there)
                    detail::check(roots.erase(wanted));
            });
        return is_there ? REM_OK : capi::note(REM_NOT_FOUND, k_none, opened.of.path().string());
    });
}

rem_status rem_roots(rem_heap* heap, bool (*visit)(void* context, const rem_root* root), void* context) {
    return capi::guard([&] {
        if (visit == nullptr)
            capi::refuse_argument("rem_roots needs a function to call.");
        using kept_root = capi::volatile_face::shown_root;
        const auto shown = [](const kept_root& each) {
            return rem_root{each.name.c_str(), each.type.c_str(), each.object, each.bytes};
        };
        if (const capi::volatile_face* const memory = capi::find_volatile(heap)) {
            for (const kept_root& each : memory->roots()) {
                const rem_root root = shown(each);
                if (!visit(context, &root))
                    break;
            }
            return REM_OK;
        }
        std::vector<kept_root> all; // copied, so that the callback runs outside of the section
        detail::heap_impl& impl = capi::opened(heap).impl();
        {
            const detail::read_section section(&impl);
            detail::check(types::root_directory(impl.memory()).for_each([&](const types::root_view& root) {
                all.push_back({std::string(root.name), std::string(root.type), root.object, root.bytes});
            }));
        }
        for (const kept_root& each : all) {
            const rem_root root = shown(each);
            if (!capi::call_back(impl, [&] { return visit(context, &root); }))
                break;
        }
        return REM_OK;
    });
}
