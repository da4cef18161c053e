#include "types/class_table.hpp"

#include "base/units.hpp"

#include <cstring>
#include <utility>

namespace remanence::types {

std::optional<std::vector<stored_class>> read_classes(std::span<const std::byte> heap, std::uint64_t offset,
                                                      std::size_t from) {
    format::class_table head{};
    if (offset < k_page_bytes || !is_aligned(offset, alignof(std::uint64_t)) || offset > heap.size() ||
        heap.size() - offset < sizeof head)
        return {};
    std::memcpy(&head, heap.data() + offset, sizeof head);
    if (head.magic != format::k_classes_magic || head.version != format::k_classes_version ||
        head.bytes > format::k_classes_bytes_max || head.bytes > heap.size() - offset || head.used_bytes > head.bytes ||
        head.used_bytes < sizeof head || head.count > format::k_stalls_max)
        return {};
    std::span<const std::byte> rest = heap.subspan(offset + sizeof head, head.used_bytes - sizeof head);
    std::vector<stored_class> found;
    for (std::uint32_t i = 0; i != head.count; ++i) {
        format::class_entry entry{};
        if (rest.size() < sizeof entry)
            return {};
        std::memcpy(&entry, rest.data(), sizeof entry);
        const std::uint64_t bases_bytes = std::uint64_t{entry.virtual_bases} * sizeof(format::class_virtual_base);
        if (entry.bytes > rest.size() || sizeof entry + bases_bytes + entry.name_bytes > entry.bytes)
            return {};
        if (i >= from) {
            stored_class next;
            next.position = entry.position;
            next.object_bytes = entry.object_bytes;
            const std::byte* at = rest.data() + sizeof entry;
            for (std::uint32_t n = 0; n != entry.virtual_bases; ++n) {
                format::class_virtual_base base{};
                std::memcpy(&base, at, sizeof base);
                next.virtual_bases.push_back({base.position, base.slot, base.offset});
                at += sizeof base;
            }
            next.name.assign(reinterpret_cast<const char*>(at), entry.name_bytes);
            found.push_back(std::move(next));
        }
        rest = rest.subspan(entry.bytes);
    }
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
                            static_cast<std::uint32_t>(added.name.size())});
    for (const virtual_base& each : added.virtual_bases)
        put(format::class_virtual_base{each.position, each.slot, each.offset});
    std::memcpy(at, added.name.data(), added.name.size());
    table.used_bytes += bytes;
    ++table.count;
    return true;
}

} // namespace remanence::types
