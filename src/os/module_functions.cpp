#include "os/module_functions.hpp"

#include "os/descriptor.hpp"
#include "os/system_failure.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

namespace remanence::os {

namespace {

using header = ElfW(Ehdr);
using program_header = ElfW(Phdr);
using section_header = ElfW(Shdr);
using symbol = ElfW(Sym);

constexpr const char* k_program = "/proc/self/exe"; // even if its file was removed
constexpr std::uint64_t k_note_bytes_max = 4096;
constexpr unsigned k_is_old_version = 0x8000; // in a table of versions

std::vector<std::byte> copy_of(const void* from, std::uint64_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    return {begin, begin + bytes};
}

std::string path_of_program() {
    std::array<char, 4096> path{};
    const auto bytes = ::readlink(k_program, path.data(), path.size());
    return bytes > 0 ? std::string(path.data(), static_cast<std::size_t>(bytes)) : std::string(k_program);
}

/// The loader's list cannot change meanwhile: the module is in memory.
module_file describe(const dl_phdr_info& module, bool is_program) {
    module_file made;
    made.path = is_program ? path_of_program() : std::string(module.dlpi_name);
    made.is_program = is_program;
    made.base = module.dlpi_addr;
    made.begin = ~std::uint64_t{0};
    const std::span parts(module.dlpi_phdr, module.dlpi_phnum);
    made.headers = copy_of(parts.data(), parts.size_bytes());
    for (const program_header& each : parts) {
        const std::uint64_t begin = module.dlpi_addr + each.p_vaddr;
        if (each.p_type == PT_LOAD) {
            made.begin = std::min(made.begin, begin);
            made.end = std::max(made.end, begin + each.p_memsz);
        } else if (each.p_type == PT_NOTE) {
            const auto* const note = reinterpret_cast<const void*>(begin);
            made.notes.push_back({each.p_offset, copy_of(note, std::min(each.p_filesz, k_note_bytes_max))});
        }
    }
    return made;
}

/// The file of a module. Its contents are input: they are checked.
class elf_file {
public:
    static result<elf_file> open(const module_file& of) {
        elf_file opened(of.path, open_file(of.is_program ? k_program : of.path.c_str(), O_RDONLY));
        if (!opened.file_.valid())
            return opened.failed();
        struct stat about{};
        if (::fstat(opened.file_.get(), &about) != 0)
            return opened.failed();
        opened.bytes_ = static_cast<std::uint64_t>(about.st_size);
        REM_TRY(opened.check_loaded(of));
        return opened;
    }

    [[nodiscard]] const header& head() const { return head_; }

    /// Reads `count` structs.
    template <class T>
    result<std::vector<T>> read(std::uint64_t offset, std::uint64_t count) const {
        if (offset > bytes_ || count > (bytes_ - offset) / sizeof(T))
            return damaged();
        std::vector<T> into(count);
        const std::span<std::byte> left = std::as_writable_bytes(std::span(into));
        for (std::size_t done = 0; done != left.size();) {
            const auto got =
                ::pread(file_.get(), left.data() + done, left.size() - done, static_cast<off_t>(offset + done));
            if (got < 0 && errno != EINTR)
                return failed();
            if (got == 0)
                return damaged();
            done += static_cast<std::size_t>(std::max<ssize_t>(got, 0));
        }
        return into;
    }

private:
    elf_file(const std::string& path, int file) : path_(path), file_(file) {}

    [[nodiscard]] unexpected failed() const { return system_failure(errno, "cannot read the symbols of", path_); }
    [[nodiscard]] unexpected damaged() const {
        return fail(errc::not_supported,
                    "cannot read the symbols of " + path_ +
                        ": the file was changed after it was loaded. Start the program again.",
                    path_);
    }
    result<void> check_loaded(const module_file& of) {
        auto heads = read<header>(0, 1);
        if (!heads)
            return heads.error();
        head_ = heads->front();
        auto headers = read<std::byte>(head_.e_phoff, of.headers.size());
        if (!headers)
            return headers.error();
        if (*headers != of.headers)
            return damaged();
        for (const module_file::part& each : of.notes) {
            auto note = read<std::byte>(each.offset, each.bytes.size());
            if (!note)
                return note.error();
            if (*note != each.bytes)
                return damaged();
        }
        return {};
    }

    std::string path_;
    descriptor file_;
    std::uint64_t bytes_ = 0;
    header head_{};
};

/// A table of symbols, the texts that it refers to, and, of a table for the loader, the versions.
struct symbol_table {
    std::vector<symbol> symbols;
    std::vector<char> texts;
    std::uint64_t texts_offset = 0;
    std::vector<std::uint16_t> versions;
};

const section_header* find_section(const std::vector<section_header>& sections, std::uint32_t type) {
    const auto found = std::ranges::find(sections, type, &section_header::sh_type);
    return found == sections.end() ? nullptr : &*found;
}

result<std::vector<section_header>> read_sections(const elf_file& file) {
    const header& head = file.head();
    if (head.e_shoff == 0)
        return std::vector<section_header>();
    std::uint64_t count = head.e_shnum;
    if (count == 0) { // it does not fit, and is in the first section
        auto first = file.read<section_header>(head.e_shoff, 1);
        if (!first)
            return first.error();
        count = first->front().sh_size;
    }
    return file.read<section_header>(head.e_shoff, count);
}

result<symbol_table> read_table(const elf_file& file) {
    symbol_table made;
    auto sections = read_sections(file);
    if (!sections)
        return sections.error();
    const section_header* table = find_section(*sections, SHT_SYMTAB);
    const bool is_stripped = table == nullptr;
    if (is_stripped)
        table = find_section(*sections, SHT_DYNSYM);
    if (table == nullptr || table->sh_link >= sections->size())
        return made;
    auto symbols = file.read<symbol>(table->sh_offset, table->sh_size / sizeof(symbol));
    if (!symbols)
        return symbols.error();
    made.symbols = std::move(*symbols);
    const section_header& texts = (*sections)[table->sh_link];
    auto text = file.read<char>(texts.sh_offset, texts.sh_size);
    if (!text)
        return text.error();
    made.texts = std::move(*text);
    made.texts_offset = texts.sh_offset;
    if (const section_header* const versions = find_section(*sections, SHT_GNU_versym); is_stripped && versions) {
        auto all = file.read<std::uint16_t>(versions->sh_offset, versions->sh_size / sizeof(std::uint16_t));
        if (!all)
            return all.error();
        made.versions = std::move(*all);
    }
    return made;
}

/// Returns the text at an offset of a table of texts; empty if there is none.
std::string_view text_at(const std::vector<char>& table, std::uint64_t offset) {
    if (offset >= table.size())
        return {};
    const std::string_view rest(table.data() + offset, table.size() - offset);
    return rest.substr(0, rest.find('\0'));
}

/// Returns the name of the function in its source file: without what a linker or link-time optimization has added to
/// it. Empty if it is an old version of a function.
std::string_view name_in_source(std::string_view name, bool is_import) {
    if (const std::size_t version = name.find('@'); version != name.npos) {
        if (!is_import && !name.substr(version).starts_with("@@"))
            return {};
        name = name.substr(0, version);
    }
    for (const std::string_view added : {".lto_priv.", ".llvm.", ".__uniq."}) {
        if (const std::size_t at = name.find(added); at != name.npos)
            name = name.substr(0, at);
    }
    return name;
}

} // namespace

std::vector<module_file> find_module_files() {
    std::vector<module_file> all;
    ::dl_iterate_phdr(
        [](dl_phdr_info* module, std::size_t /*bytes*/, void* out) {
            auto& into = *static_cast<std::vector<module_file>*>(out);
            // The first one is the program. One without a folder is no file, but the kernel's own.
            const bool is_program = into.empty();
            if (is_program || std::strchr(module->dlpi_name, '/') != nullptr)
                into.push_back(describe(*module, is_program));
            return 0;
        },
        &all);
    return all;
}

result<void> read_functions(const module_file& of, const std::function<void(const module_function&)>& take) {
    auto file = elf_file::open(of);
    if (!file)
        return file.error();
    auto table = read_table(*file);
    if (!table)
        return table.error();
    for (std::size_t i = 0; i != table->symbols.size(); ++i) {
        const symbol& each = table->symbols[i];
        const bool is_import = of.is_program && each.st_shndx == SHN_UNDEF && each.st_value != 0;
        const bool is_old = i < table->versions.size() && (table->versions[i] & k_is_old_version) != 0;
        if (ELF64_ST_TYPE(each.st_info) != STT_FUNC ||
            (!is_import && (is_old || each.st_shndx == SHN_UNDEF || each.st_shndx == SHN_ABS)))
            continue;
        const std::string_view name = name_in_source(text_at(table->texts, each.st_name), is_import);
        if (!name.empty())
            take({of.base + each.st_value, name, table->texts_offset + each.st_name, name.size(),
                  ELF64_ST_BIND(each.st_info) == STB_WEAK, is_import});
    }
    return {};
}

result<module_links> read_links(const module_file& of) {
    auto file = elf_file::open(of);
    if (!file)
        return file.error();
    auto sections = read_sections(*file);
    if (!sections)
        return sections.error();
    module_links made;
    const section_header* const entries = find_section(*sections, SHT_DYNAMIC);
    if (entries == nullptr || entries->sh_link >= sections->size())
        return made;
    const section_header& texts = (*sections)[entries->sh_link];
    auto all = file->read<ElfW(Dyn)>(entries->sh_offset, entries->sh_size / sizeof(ElfW(Dyn)));
    if (!all)
        return all.error();
    auto text = file->read<char>(texts.sh_offset, texts.sh_size);
    if (!text)
        return text.error();
    for (const auto& each : *all) {
        if (each.d_tag == DT_SONAME)
            made.name = text_at(*text, each.d_un.d_val);
        else if (each.d_tag == DT_NEEDED)
            made.needed.emplace_back(text_at(*text, each.d_un.d_val));
    }
    return made;
}

result<std::string> read_name(const module_file& of, std::uint64_t offset, std::uint64_t bytes) {
    auto file = elf_file::open(of);
    if (!file)
        return file.error();
    auto text = file->read<char>(offset, bytes);
    if (!text)
        return text.error();
    return std::string(text->data(), text->size());
}

} // namespace remanence::os
