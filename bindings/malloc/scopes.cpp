#include "scopes.hpp"

#include "os/anonymous_memory.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <span>
#include <string_view>

#define REM_EXPORT extern "C" [[gnu::visibility("default")]]

namespace remanence::scopes {

REM_QUICK_TLS constinit thread_local const detail::malloc_target* t_target = nullptr;
REM_QUICK_TLS constinit thread_local std::size_t t_wanted_again = 0;
constinit std::array<std::atomic<const detail::blocks_of_heaps*>, k_libraries_max> blocks_of_heaps{};

namespace {

struct code_range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    [[nodiscard]] bool has(std::uintptr_t address) const { return address >= begin && address < end; }
};

// Where the code of k_libraries lies; what these libraries allocate for themselves does not go to the heap. Written
// once, before the first scope begins.
constinit std::array<code_range, 4> libraries{};
constexpr std::array<std::string_view, 4> k_libraries = {"libstdc++.so", "libc.so", "libgcc_s.so", "ld-linux"};

/// True for members of std::string, whose code is in libstdc++. (The strings in exceptions are of another class.)
bool is_of_string(const void* code) {
    Dl_info found{};
    if (::dladdr(code, &found) == 0 || found.dli_sname == nullptr)
        return false;
    const std::string_view name = found.dli_sname;
    return name.starts_with("_ZNSt7__cxx1112basic_string") || name.starts_with("_ZNKSt7__cxx1112basic_string");
}

int note_library(dl_phdr_info* of, std::size_t /*bytes*/, void* /*context*/) {
    const std::string_view path = of->dlpi_name != nullptr ? of->dlpi_name : "";
    const std::string_view name = path.substr(path.rfind('/') + 1);
    for (std::size_t i = 0; i != k_libraries.size(); ++i) {
        if (!name.starts_with(k_libraries[i]))
            continue;
        code_range& found = libraries[i];
        found.begin = UINTPTR_MAX;
        for (const ElfW(Phdr) & each : std::span(of->dlpi_phdr, of->dlpi_phnum)) {
            if (each.p_type != PT_LOAD || (each.p_flags & PF_X) == 0)
                continue;
            found.begin = std::min(found.begin, of->dlpi_addr + each.p_vaddr);
            found.end = std::max(found.end, of->dlpi_addr + each.p_vaddr + each.p_memsz);
        }
    }
    return 0;
}

} // namespace

bool leads_from(const void* caller, std::size_t bytes) noexcept {
    // The return address follows the call. If the call is the last instruction of its function, the return address lies
    // in the next function.
    const void* const call = static_cast<const char*>(caller) - 1;
    const auto has_call = [at = reinterpret_cast<std::uintptr_t>(call)](const code_range& each) {
        return each.has(at);
    };
    if (std::ranges::none_of(libraries, has_call) || is_of_string(call))
        return true;
    if (bytes == t_wanted_again && bytes != 0)
        return true;
    // libstdc++ may now be allocating the exception of operator new, which then does not request its size again.
    if (has_call(libraries.front()))
        t_wanted_again = 0;
    return false;
}

void know(const detail::blocks_of_heaps& blocks) noexcept {
    for (auto& each : blocks_of_heaps) {
        const detail::blocks_of_heaps* known = nullptr;
        if (each.compare_exchange_strong(known, &blocks, std::memory_order_acq_rel) || known == &blocks)
            return;
    }
    os::abort_with("more than four copies of libremanence are in this process", nullptr);
}

} // namespace remanence::scopes

namespace rem = remanence;

// libremanence finds this function by dlsym(), under the name detail::k_lead_malloc.
REM_EXPORT const rem::detail::malloc_target*
remanence_lead_malloc_1(const rem::detail::malloc_target* into, const rem::detail::blocks_of_heaps* blocks) noexcept {
    static const int looked = ::dl_iterate_phdr(rem::scopes::note_library, nullptr);
    static_cast<void>(looked);
    rem::scopes::know(*blocks);
    rem::scopes::t_wanted_again = 0;
    return std::exchange(rem::scopes::t_target, into);
}
