#include "os/loaded_modules.hpp"

#include <link.h>

#include <algorithm>
#include <cstddef>

namespace remanence::os {

namespace {

module_range range_of(const dl_phdr_info& module, const ElfW(Phdr) & part) {
    const std::uint64_t begin = module.dlpi_addr + part.p_vaddr;
    return {begin, begin + part.p_memsz};
}

/// Constants with addresses are relocated, and read-only afterwards (RELRO). A program that is linked to fixed
/// addresses has some among its other constants; a module without RELRO has all of them in its data.
void add(const dl_phdr_info& module, loaded_modules& into) {
    bool has_relro = false;
    for (int i = 0; i != module.dlpi_phnum; ++i)
        has_relro = has_relro || module.dlpi_phdr[i].p_type == PT_GNU_RELRO;
    const bool has_fixed_addresses = module.dlpi_addr == 0;
    for (int i = 0; i != module.dlpi_phnum; ++i) {
        const ElfW(Phdr)& part = module.dlpi_phdr[i];
        if (part.p_type == PT_GNU_RELRO)
            into.constants.push_back(range_of(module, part));
        if (part.p_type != PT_LOAD || (part.p_flags & PF_R) == 0)
            continue;
        into.readable.push_back(range_of(module, part));
        const bool is_writable = (part.p_flags & PF_W) != 0;
        if ((part.p_flags & PF_X) != 0)
            into.code.push_back(range_of(module, part));
        else if (is_writable ? !has_relro : has_fixed_addresses)
            into.constants.push_back(range_of(module, part));
    }
}

} // namespace

std::uint64_t modules_generation() {
    std::uint64_t generation = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* module, std::size_t bytes, void* out) {
            if (bytes >= offsetof(dl_phdr_info, dlpi_subs) + sizeof module->dlpi_subs)
                *static_cast<std::uint64_t*>(out) = module->dlpi_adds + module->dlpi_subs;
            return 1; // every call tells the same
        },
        &generation);
    return generation;
}

loaded_modules find_modules() {
    loaded_modules all;
    ::dl_iterate_phdr(
        [](dl_phdr_info* module, std::size_t /*bytes*/, void* out) {
            add(*module, *static_cast<loaded_modules*>(out));
            return 0;
        },
        &all);
    for (auto* const ranges : {&all.readable, &all.code, &all.constants})
        std::ranges::sort(*ranges, {}, &module_range::begin);
    return all;
}

const module_range* range_around(const std::vector<module_range>& sorted, std::uint64_t address) {
    const auto after = std::ranges::upper_bound(sorted, address, {}, &module_range::begin);
    return after != sorted.begin() && std::prev(after)->contains(address) ? &*std::prev(after) : nullptr;
}

[[gnu::no_sanitize_address, gnu::noinline]] std::uint64_t word_of_module(std::uint64_t address) {
    return *reinterpret_cast<const volatile std::uint64_t*>(address);
}

[[gnu::no_sanitize_address, gnu::noinline]] bool is_text_of_module(std::uint64_t address, const char* text) {
    const volatile char* at = reinterpret_cast<const volatile char*>(address);
    for (; *at == *text; ++at, ++text) {
        if (*text == '\0')
            return true;
    }
    return false;
}

} // namespace remanence::os
