#include "modules.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <link.h>
#include <unistd.h>

namespace remanence::softpm {

namespace {

void read_build_id(const dl_phdr_info& info, const ElfW(Phdr) & header, module_entry& into) {
    const auto* at = reinterpret_cast<const char*>(info.dlpi_addr + header.p_vaddr);
    const char* const end = at + header.p_memsz;
    const auto padded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
    while (at + sizeof(ElfW(Nhdr)) <= end) {
        ElfW(Nhdr) note;
        std::memcpy(&note, at, sizeof note);
        const char* const text = at + sizeof note + padded(note.n_namesz);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4)
            std::memcpy(into.build_id.data(), text, std::min<std::size_t>(note.n_descsz, into.build_id.size()));
        at = text + padded(note.n_descsz);
    }
}

int add_module(dl_phdr_info* info, std::size_t /*bytes*/, void* list) {
    module_entry found{~std::uint64_t{0}, 0, {}, {}};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        if (header.p_type == PT_LOAD) {
            found.begin = std::min<std::uint64_t>(found.begin, info->dlpi_addr + header.p_vaddr);
            found.end = std::max<std::uint64_t>(found.end, info->dlpi_addr + header.p_vaddr + header.p_memsz);
        } else if (header.p_type == PT_NOTE) {
            read_build_id(*info, header, found);
        }
    }
    if (found.end == 0)
        return 0;
    std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    char program[512];
    if (name.empty() && static_cast<std::vector<module_entry>*>(list)->empty()) {
        const auto bytes = ::readlink("/proc/self/exe", program, sizeof program);
        name = {program, bytes > 0 ? static_cast<std::size_t>(bytes) : 0};
    }
    name.remove_prefix(name.size() - std::min(name.size(), found.name.size() - 1));
    std::copy(name.begin(), name.end(), found.name.begin());
    static_cast<std::vector<module_entry>*>(list)->push_back(found);
    return 0;
}

} // namespace

modules::modules(std::vector<module_entry> list) : list_(std::move(list)) {
    std::ranges::sort(list_, {}, &module_entry::begin);
}

modules modules::now() {
    std::vector<module_entry> list;
    ::dl_iterate_phdr(add_module, &list);
    return modules(std::move(list));
}

const module_entry* modules::find(std::uint64_t address) const noexcept {
    const auto behind = std::ranges::upper_bound(list_, address, {}, &module_entry::begin);
    if (behind == list_.begin())
        return nullptr;
    const module_entry& before = *std::prev(behind);
    return address < before.end ? &before : nullptr;
}

const module_entry* modules::same_as(const module_entry& other) const noexcept {
    const auto found = std::ranges::find_if(list_, [&](const module_entry& each) {
        return each.build_id == other.build_id && each.end - each.begin == other.end - other.begin;
    });
    return found == list_.end() || other.build_id == module_entry{}.build_id ? nullptr : &*found;
}

std::string file_of(const module_entry& loaded) {
    struct search {
        std::uint64_t address;
        std::string path;
        bool is_program = true; // the program is listed first
    } wanted{loaded.begin, {}};
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* given) {
            auto& looked_for = *static_cast<search*>(given);
            const bool is_program = std::exchange(looked_for.is_program, false);
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const ElfW(Phdr)& header = info->dlpi_phdr[i];
                if (header.p_type != PT_LOAD || info->dlpi_addr + header.p_vaddr != looked_for.address)
                    continue;
                looked_for.path = is_program ? "/proc/self/exe" : info->dlpi_name;
                return 1;
            }
            return 0;
        },
        &wanted);
    return wanted.path;
}

std::uint64_t loads_so_far() {
    std::uint64_t count = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
            *static_cast<std::uint64_t*>(into) = info->dlpi_adds + info->dlpi_subs;
            return 1;
        },
        &count);
    return count;
}

} // namespace remanence::softpm
