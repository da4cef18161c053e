#include "types/class_table.hpp"

#include "base/units.hpp"
#include "types/root_directory.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace remanence::types {

namespace {

constexpr std::uint64_t k_room_bytes = 1024; // for further classes, in a table that is made

} // namespace

std::optional<std::vector<stored_class>> read_classes(heap_bytes& heap, std::uint64_t offset) {
    format::class_table head{};
    if (offset < k_page_bytes || !is_aligned(offset, alignof(std::uint64_t)) || !heap.contains(offset, sizeof head))
        return {};
    auto bytes = heap.at(offset, sizeof head);
    if (!bytes)
        return {};
    std::memcpy(&head, *bytes, sizeof head);
    if (head.magic != format::k_classes_magic || head.version != format::k_classes_version ||
        head.bytes > format::k_classes_bytes_max || !heap.contains(offset, head.bytes) ||
        head.used_bytes > head.bytes || head.used_bytes < sizeof head || head.count > format::k_stalls_max)
        return {};
    bytes = heap.at(offset, head.used_bytes);
    if (!bytes)
        return {};
    std::span<const std::byte> rest(*bytes + sizeof head, head.used_bytes - sizeof head);
    std::vector<stored_class> found;
    for (std::uint32_t i = 0; i != head.count; ++i) {
        format::class_entry entry{};
        if (rest.size() < sizeof entry)
            return {};
        std::memcpy(&entry, rest.data(), sizeof entry);
        const std::uint64_t bases_bytes = std::uint64_t{entry.virtual_bases} * sizeof(format::class_virtual_base);
        if (entry.bytes > rest.size() || entry.name_bytes == 0 || entry.name_bytes > entry.bytes ||
            entry.bytes != align_up(sizeof entry + bases_bytes + entry.name_bytes, sizeof(std::uint64_t)))
            return {};
        if (entry.position % sizeof(std::uint64_t) != 0 ||
            (entry.object_bytes != 0 && entry.object_bytes < std::uint64_t{entry.position} + sizeof(std::uint64_t)))
            return {};
        stored_class next{.position = entry.position, .object_bytes = entry.object_bytes};
        next.fingerprint = entry.fingerprint;
        const std::byte* at = rest.data() + sizeof entry;
        for (std::uint32_t n = 0; n != entry.virtual_bases; ++n) {
            format::class_virtual_base base{};
            std::memcpy(&base, at, sizeof base);
            next.virtual_bases.push_back({base.position, base.slot, base.offset});
            at += sizeof base;
        }
        next.name.assign(reinterpret_cast<const char*>(at), entry.name_bytes);
        const bool is_twice = std::any_of(found.begin(), found.end(), [&](const stored_class& each) {
            return each.position == next.position && each.name == next.name && each.virtual_bases == next.virtual_bases;
        });
        if (is_twice || next.name.find('\0') != std::string::npos)
            return {};
        found.push_back(std::move(next));
        rest = rest.subspan(entry.bytes);
    }
    if (!rest.empty())
        return {};
    return found;
}

std::uint64_t bytes_of_entry(const stored_class& of) {
    return align_up(sizeof(format::class_entry) + of.virtual_bases.size() * sizeof(format::class_virtual_base) +
                        of.name.size(),
                    sizeof(std::uint64_t));
}

bool append_class(format::class_table& table, const stored_class& added) {
    const std::uint64_t bytes = bytes_of_entry(added);
    if (table.bytes - table.used_bytes < bytes)
        return false;
    std::byte* at = reinterpret_cast<std::byte*>(&table) + table.used_bytes;
    std::memset(at, 0, bytes);
    const auto put = [&](const auto& what) {
        std::memcpy(at, &what, sizeof what);
        at += sizeof what;
    };
    put(format::class_entry{static_cast<std::uint32_t>(bytes), added.position, added.object_bytes,
                            static_cast<std::uint32_t>(added.virtual_bases.size()),
                            static_cast<std::uint32_t>(added.name.size()), added.fingerprint});
    for (const virtual_base& each : added.virtual_bases)
        put(format::class_virtual_base{each.position, each.slot, each.offset});
    std::memcpy(at, added.name.data(), added.name.size());
    table.used_bytes += bytes;
    ++table.count;
    return true;
}

void complete_class(format::class_table& table, std::size_t number, const stored_class& by) {
    auto* at = reinterpret_cast<std::byte*>(&table + 1);
    for (; number != 0; --number)
        at += reinterpret_cast<const format::class_entry*>(at)->bytes;
    auto& entry = *reinterpret_cast<format::class_entry*>(at);
    entry.object_bytes = by.object_bytes;
    entry.fingerprint = by.fingerprint;
}

result<void> make_room_for_classes(txn::heap_memory& memory, std::uint64_t more) {
    format::heap_header& header = memory.header();
    const std::uint64_t old = header.class_table;
    format::class_table head{format::k_classes_magic, format::k_classes_version, 0, 0, sizeof head};
    if (old != 0)
        std::memcpy(&head, memory.base() + old, sizeof head);
    const std::uint64_t old_bytes = head.bytes;
    head.bytes = align_up(head.used_bytes + head.used_bytes / 2 + more + k_room_bytes, sizeof(std::uint64_t));
    std::optional<unexpected> why;
    auto* const block = static_cast<std::byte*>(memory.allocate(head.bytes, alignof(std::uint64_t), why));
    if (block == nullptr)
        return std::move(*why);
    std::memset(block, 0, head.bytes);
    if (old != 0)
        std::memcpy(block, memory.base() + old, head.used_bytes);
    std::memcpy(block, &head, sizeof head);
    REM_TRY(memory.declare(&header, sizeof header));
    header.class_table = memory.offset_of(block);
    header.version = format::k_header_version_with_classes; // older releases refuse the heap
    if (old != 0)
        memory.deallocate(memory.base() + old, old_bytes, alignof(std::uint64_t));
    return {};
}

result<std::uint64_t> admit_class(txn::heap_memory& memory, const stored_class& wanted) {
    std::vector<stored_class> all;
    if (memory.header().class_table != 0) {
        memory_bytes bytes(memory);
        auto read = read_classes(bytes, memory.header().class_table);
        if (!read)
            return fail(errc::corrupt,
                        "the table of classes in " + memory.path() + " is damaged. Restore the heap from a copy.",
                        memory.path());
        all = std::move(*read);
    }
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (all[i].name != wanted.name || all[i].position != wanted.position ||
            all[i].virtual_bases != wanted.virtual_bases)
            continue;
        if (all[i].object_bytes != wanted.object_bytes || all[i].fingerprint != wanted.fingerprint)
            return fail(errc::type_mismatch,
                        memory.path() + " has objects of another class with the name " +
                            detail::readable_name(wanted.name.c_str()),
                        memory.path());
        return i;
    }
    if (all.size() == format::k_stalls_max)
        return fail(errc::exhausted,
                    memory.path() + " has objects of too many classes, at most " +
                        std::to_string(format::k_stalls_max) + " vtables.",
                    memory.path());
    const auto table = [&] {
        return reinterpret_cast<format::class_table*>(memory.base() + memory.header().class_table);
    };
    if (memory.header().class_table == 0 || table()->bytes - table()->used_bytes < bytes_of_entry(wanted))
        REM_TRY(make_room_for_classes(memory, bytes_of_entry(wanted)));
    REM_TRY(memory.declare(table(), table()->used_bytes + bytes_of_entry(wanted)));
    (void)append_class(*table(), wanted); // there is room
    return all.size();
}

} // namespace remanence::types
