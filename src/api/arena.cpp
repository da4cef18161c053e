#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/registry.hpp"
#include "os/resident_pages.hpp"
#include "txn/memory_limiter.hpp"
#include "types/root_directory.hpp"

#include <remanence/arena.hpp>

#include <algorithm>
#include <memory>

namespace remanence {

namespace {

detail::heap_header* as_owner(std::byte* base) { return reinterpret_cast<detail::heap_header*>(base); }

/// Runs `f` in an ordinary write section, whose commit searches memory for changes.
template <class F>
void change_arenas(detail::heap_impl& impl, const F& f) {
    (void)detail::writable_header_of(&impl);
    detail::write_section section(&impl, detail::section_kind::ordinary, {});
    f();
    section.commit();
}

/// If an arena has a limit of resident memory, makes the heap keep it.
void keep_limits(detail::heap_impl& impl) {
    txn::engine& engine = impl.engine();
    if (engine.limiter() == nullptr && impl.memory().has_limited_arenas())
        engine.limit_memory_by(txn::k_memory_limiter_part);
}

void remove_roots_in(detail::heap_impl& impl, const std::byte* base) {
    types::root_directory roots(impl.memory());
    std::vector<std::string> names;
    detail::check(roots.for_each([&](const types::root_view& each) {
        if (impl.memory().owner_of(each.object) == base)
            names.emplace_back(each.name);
    }));
    for (const std::string& each : names)
        detail::check(roots.erase(each));
}

} // namespace

arena arena::open(heap& in, std::string_view name, const arena_options& options) {
    detail::heap_impl& impl = detail::impl_of(in);
    keep_limits(impl);
    std::byte* base = impl.memory().find_arena(name);
    if (base != nullptr)
        return arena(as_owner(base));
    if (const char* const why = alloc::block_allocator::why_no_arena(name, options.room_bytes))
        // thrown outside of any section, so that nothing is rolled back
        detail::raise(errc::invalid_argument, std::string(why) + ".");
    change_arenas(impl, [&] {
        base = impl.memory().find_arena(name);
        if (base != nullptr)
            return; // another thread has made this arena meanwhile
        auto made = impl.memory().make_arena(name, {options.room_bytes, options.resident_limit_bytes});
        if (!made)
            detail::raise(made.why());
        base = *made;
        if (impl.memory().reserved_bytes() != impl.registered_bytes)
            detail::registry::extend(impl);
        if (impl.memory().has_grown())
            impl.threads.watch_memory();
        keep_limits(impl);
    });
    return arena(as_owner(base));
}

std::optional<arena> arena::find(const heap& in, std::string_view name) {
    detail::heap_impl& impl = detail::impl_of(in);
    const detail::read_section section(&impl);
    keep_limits(impl);
    std::byte* const base = impl.memory().find_arena(name);
    return base != nullptr ? std::optional(arena(as_owner(base))) : std::nullopt;
}

bool arena::destroy(heap& in, std::string_view name) {
    detail::heap_impl& impl = detail::impl_of(in);
    bool is_there = false;
    change_arenas(impl, [&] {
        std::byte* const base = impl.memory().find_arena(name);
        is_there = base != nullptr;
        if (!is_there)
            return;
        remove_roots_in(impl, base);
        impl.memory().destroy_arena(base);
    });
    return is_there;
}

std::vector<arena_info> arena::all(const heap& in) {
    detail::heap_impl& impl = detail::impl_of(in);
    const detail::read_section section(&impl);
    keep_limits(impl);
    const txn::memory_limiter* const limits = impl.engine().limiter();
    std::vector<arena_info> found;
    for (txn::heap_memory::arena_usage& each : impl.memory().arenas()) {
        const os::resident_count resident = os::count_resident(each.base, each.used_bytes);
        found.push_back({std::move(each.name), each.room_bytes, each.allocated_bytes, resident.bytes(),
                         each.resident_limit_bytes, resident.private_bytes,
                         limits != nullptr ? limits->evicted_bytes(each.base) : 0});
    }
    return found;
}

void arena::advise(paging how) const {
    detail::heap_impl* const of = impl();
    const detail::read_section section(of);
    for (const txn::heap_memory::arena_usage& each : of->memory().arenas()) {
        if (as_owner(each.base) != home_)
            continue;
        switch (how) {
        case paging::usual:
            os::read_as_usual(each.base, each.used_bytes);
            break;
        case paging::sequential:
            os::read_ahead_a_lot(each.base, each.used_bytes);
            break;
        case paging::random:
            os::read_no_more_than_asked(each.base, each.used_bytes);
            break;
        case paging::prefetch:
            os::will_read(each.base, each.used_bytes);
            break;
        case paging::keep:
            os::keep_what_is_read(each.base, each.used_bytes);
            break;
        }
    }
}

detail::heap_impl* arena::impl() const {
    detail::heap_impl* const found = detail::registry::find(home_);
    if (found == nullptr)
        detail::raise(errc::closed, "the heap that an arena is of is closed. Open it, and find the arena again.");
    found->origin.check_process();
    return found;
}

detail::heap_header* arena::checked_home() const {
    (void)detail::writable_header_of(impl());
    return home_;
}

} // namespace remanence
