#include "symbols.hpp"

#include "os/descriptor.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace remanence::softpm {

namespace {

/// A file that is mapped read-only.
class file_bytes {
public:
    explicit file_bytes(const char* path) {
        const os::descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
        struct stat about = {};
        if (file.get() < 0 || ::fstat(file.get(), &about) != 0 || about.st_size <= 0)
            return;
        void* const got =
            ::mmap(nullptr, static_cast<std::size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file.get(), 0);
        if (got != MAP_FAILED)
            bytes_ = {static_cast<const char*>(got), static_cast<std::size_t>(about.st_size)};
    }
    file_bytes(const file_bytes&) = delete;
    file_bytes& operator=(const file_bytes&) = delete;
    ~file_bytes() {
        if (!bytes_.empty())
            ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
    }

    /// Returns these bytes of the file; nothing if the file is shorter.
    [[nodiscard]] std::string_view part(std::uint64_t offset, std::uint64_t bytes) const {
        return offset <= bytes_.size() && bytes <= bytes_.size() - offset ? bytes_.substr(offset, bytes)
                                                                          : std::string_view();
    }
    /// Returns `count` structs from the file; none if the file is shorter.
    template <class T>
    [[nodiscard]] std::vector<T> structs(std::uint64_t offset, std::uint64_t count) const {
        const std::string_view from =
            count <= bytes_.size() / sizeof(T) ? part(offset, count * sizeof(T)) : std::string_view();
        std::vector<T> into(from.size() / sizeof(T));
        std::memcpy(into.data(), from.data(), into.size() * sizeof(T));
        return into;
    }

private:
    std::string_view bytes_;
};

/// Returns the text at an offset of a table of texts; empty if the text's end lies outside of the table.
std::string_view text_at(std::string_view table, std::uint64_t offset) {
    if (offset >= table.size())
        return {};
    const std::string_view rest = table.substr(offset);
    const auto end = rest.find('\0');
    return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

std::uint64_t lowest_address(const std::vector<Elf64_Phdr>& segments) {
    std::uint64_t lowest = ~std::uint64_t{0};
    for (const Elf64_Phdr& each : segments)
        if (each.p_type == PT_LOAD)
            lowest = std::min(lowest, each.p_vaddr);
    return lowest;
}

bool is_function_or_variable(const Elf64_Sym& of) {
    const auto type = ELF64_ST_TYPE(of.st_info);
    return of.st_shndx != SHN_UNDEF && of.st_shndx < SHN_LORESERVE && of.st_size != 0 &&
           (type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC);
}

void put(std::string& into, std::uint64_t number) {
    into.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put(std::string& into, std::string_view text) {
    put(into, text.size());
    into.append(text);
}

std::string_view take(std::string_view& from, std::uint64_t bytes) {
    if (bytes > from.size())
        throw std::runtime_error("its names of functions and variables are damaged");
    const std::string_view taken = from.substr(0, bytes);
    from.remove_prefix(bytes);
    return taken;
}
std::uint64_t take_number(std::string_view& from) {
    std::uint64_t number = 0;
    std::memcpy(&number, take(from, sizeof number).data(), sizeof number);
    return number;
}
std::string take_text(std::string_view& from) { return std::string(take(from, take_number(from))); }

} // namespace

symbols symbols::of(const module_entry& loaded) {
    symbols made;
    made.build_id_ = loaded.build_id;
    made.name_ = loaded.name;
    const file_bytes file(file_of(loaded).c_str());
    const auto headers = file.structs<Elf64_Ehdr>(0, 1);
    if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0 ||
        headers[0].e_ident[EI_CLASS] != ELFCLASS64)
        return made;
    const std::uint64_t lowest = lowest_address(file.structs<Elf64_Phdr>(headers[0].e_phoff, headers[0].e_phnum));
    const auto sections = file.structs<Elf64_Shdr>(headers[0].e_shoff, headers[0].e_shnum);
    const auto names = headers[0].e_shstrndx < sections.size() ? file.part(sections[headers[0].e_shstrndx].sh_offset,
                                                                           sections[headers[0].e_shstrndx].sh_size)
                                                               : std::string_view();
    const auto has_all = std::ranges::any_of(sections, [](const auto& each) { return each.sh_type == SHT_SYMTAB; });
    for (const Elf64_Shdr& each : sections) {
        if (each.sh_type == (has_all ? SHT_SYMTAB : SHT_DYNSYM) && each.sh_link < sections.size()) {
            const auto table = file.part(sections[each.sh_link].sh_offset, sections[each.sh_link].sh_size);
            for (const Elf64_Sym& one : file.structs<Elf64_Sym>(each.sh_offset, each.sh_size / sizeof(Elf64_Sym)))
                if (const auto name = text_at(table, one.st_name); is_function_or_variable(one) && !name.empty())
                    made.by_offset_.emplace(one.st_value - lowest, symbol{one.st_size, std::string(name)});
        } else if (each.sh_type == SHT_PROGBITS && text_at(names, each.sh_name).starts_with(".rodata")) {
            made.constants_.push_back({each.sh_addr - lowest, std::string(file.part(each.sh_offset, each.sh_size))});
        }
    }
    made.look_up_names();
    return made;
}

void symbols::look_up_names() {
    for (const auto& [offset, each] : by_offset_) {
        const auto [known, is_new] = by_name_.try_emplace(each.name, named_place{offset, each.bytes, false});
        known->second.is_there_twice |= !is_new && known->second.offset != offset;
    }
}

void symbols::write(std::string& into) const {
    put(into, std::string_view(reinterpret_cast<const char*>(build_id_.data()), build_id_.size()));
    put(into, std::string_view(name_.data(), name_.size()));
    put(into, by_offset_.size());
    for (const auto& [offset, each] : by_offset_) {
        put(into, offset);
        put(into, each.bytes);
        put(into, each.name);
    }
    put(into, constants_.size());
    for (const constants& each : constants_) {
        put(into, each.offset);
        put(into, each.bytes);
    }
}

symbols symbols::read(std::string_view& from) {
    symbols made;
    const std::string build_id = take_text(from);
    const std::string name = take_text(from);
    std::copy_n(build_id.begin(), std::min(build_id.size(), made.build_id_.size()), made.build_id_.begin());
    std::copy_n(name.begin(), std::min(name.size(), made.name_.size()), made.name_.begin());
    for (std::uint64_t left = take_number(from); left != 0; --left) {
        const std::uint64_t offset = take_number(from);
        const std::uint64_t bytes = take_number(from);
        made.by_offset_.emplace(offset, symbol{bytes, take_text(from)});
    }
    for (std::uint64_t left = take_number(from); left != 0; --left) {
        const std::uint64_t offset = take_number(from);
        made.constants_.push_back({offset, take_text(from)});
    }
    made.look_up_names();
    return made;
}

bool symbols::find_in(const symbols& now, std::uint64_t offset, std::uint64_t& found, std::string& why) const {
    const auto behind = by_offset_.upper_bound(offset);
    const auto last = behind == by_offset_.begin() ? by_offset_.end() : std::prev(behind);
    if (last == by_offset_.end() || offset - last->first >= last->second.bytes) {
        why = "a constant without a name, which is not there now";
        return find_text_in(now, offset, found);
    }
    const auto [first, end] = by_offset_.equal_range(last->first); // all names of the same place
    for (auto each = first; each != end; ++each) {
        const std::string& name = each->second.name;
        const auto known = now.by_name_.find(name);
        if (known == now.by_name_.end())
            why = name + ", which is not there now";
        else if (known->second.is_there_twice || by_name_.at(name).is_there_twice)
            why = name + ", of which there are several";
        else if (offset - each->first >= known->second.bytes)
            why = name + ", which is smaller now";
        else {
            found = known->second.offset + (offset - each->first);
            return true;
        }
    }
    return false;
}

bool symbols::find_text_in(const symbols& now, std::uint64_t offset, std::uint64_t& found) const {
    for (const constants& each : constants_) {
        if (offset < each.offset || offset - each.offset >= each.bytes.size())
            continue;
        const std::string_view text = text_at(each.bytes, offset - each.offset);
        for (const constants& other : now.constants_) {
            const auto at = other.bytes.find(text.data(), 0, text.size() + 1); // with the zero behind it
            if (at == std::string::npos)
                continue;
            found = other.offset + at;
            return true;
        }
    }
    return false;
}

} // namespace remanence::softpm
