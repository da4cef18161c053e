// Arenas of heaps with files. A C program names an arena by the address at which it begins.

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/structs.hpp"

#include <remanence/arena.hpp>

#include <optional>

using namespace remanence;

namespace remanence::capi {

namespace {

std::string_view name_of_arena(const char* name) {
    if (name == nullptr)
        refuse_argument("an arena needs a name of 1 to 127 bytes.");
    return name;
}

/// Runs `f` in a write section. In a transactional heap, the end of the section commits.
template <class F>
void change_arenas(open_heap& opened, const F& f) {
    if (opened.is_transactional()) {
        f();
        return;
    }
    detail::heap_sections& sections = opened.writable().sections;
    sections.enter_write(detail::section_kind::ordinary);
    try {
        f();
    } catch (...) {
        sections.leave_write();
        throw;
    }
    sections.leave_write();
}

paging paging_of(rem_paging how) {
    switch (how) {
    case REM_PAGING_USUAL:
        return paging::usual;
    case REM_PAGING_SEQUENTIAL:
        return paging::sequential;
    case REM_PAGING_RANDOM:
        return paging::random;
    case REM_PAGING_PREFETCH:
        return paging::prefetch;
    case REM_PAGING_KEEP:
        return paging::keep;
    }
    refuse_argument("the advice is none of rem_paging.");
}

} // namespace

} // namespace remanence::capi

rem_status rem_arena_open(rem_heap* heap, const char* name, const rem_arena_options* options, rem_arena** arena) {
    if (arena != nullptr)
        *arena = nullptr;
    return capi::guard([&] {
        capi::open_heap& opened = capi::opened(heap);
        const std::string_view wanted = capi::name_of_arena(name);
        if (arena == nullptr)
            capi::refuse_argument("rem_arena_open needs a place for the arena.");
        const rem_arena_options given = capi::whole_struct(options, "rem_arena_options");
        arena_options of_cpp;
        if (given.room_bytes != 0)
            of_cpp.room_bytes = given.room_bytes;
        of_cpp.resident_limit_bytes = given.resident_limit_bytes;
        std::optional<remanence::arena> found = arena::find(opened.of, wanted);
        if (!found)
            capi::change_arenas(opened, [&] { found = arena::open(opened.of, wanted, of_cpp); });
        *arena = reinterpret_cast<rem_arena*>(found->get_allocator().heap());
        return REM_OK;
    });
}

rem_status rem_arena_destroy(rem_heap* heap, const char* name) {
    return capi::guard([&] {
        capi::open_heap& opened = capi::opened(heap);
        const std::string_view wanted = capi::name_of_arena(name);
        bool was_there = false;
        capi::change_arenas(opened, [&] { was_there = arena::destroy(opened.of, wanted); });
        return was_there
                   ? REM_OK
                   : capi::note(REM_NOT_FOUND, "rem_arena_destroy: there is no such arena.", opened.of.path().string());
    });
}

rem_status rem_arena_advise(rem_heap* heap, const char* name, rem_paging how) {
    return capi::guard([&] {
        const capi::open_heap& opened = capi::opened(heap);
        const paging wanted = capi::paging_of(how);
        const auto found = arena::find(opened.of, capi::name_of_arena(name));
        if (!found)
            return capi::note(REM_NOT_FOUND, "rem_arena_advise: there is no such arena.", opened.of.path().string());
        found->advise(wanted);
        return REM_OK;
    });
}
