#include "types/root_reader.hpp"

#include "base/units.hpp"

namespace remanence::types {

unexpected root_reader::damaged(std::uint64_t offset) const {
    return fail(errc::corrupt,
                "the root directory of " + path_ + " is damaged at heap offset " + std::to_string(offset) +
                    ". Restore the heap from a copy.",
                path_);
}

result<std::byte*> root_reader::at(std::uint64_t offset, std::uint64_t bytes) const {
    if (offset < k_page_bytes || !is_aligned(offset, alignof(std::uint64_t)) || !heap_.contains(offset, bytes))
        return damaged(offset);
    return heap_.at(offset, bytes);
}

result<format::root_directory*> root_reader::directory(std::uint64_t root_word) const {
    if (root_word == 0)
        return nullptr;
    auto bytes = at(root_word, sizeof(format::root_directory));
    if (!bytes)
        return bytes.error();
    auto* d = reinterpret_cast<format::root_directory*>(*bytes);
    if (d->magic != format::k_directory_magic || d->version != format::k_directory_version || d->count > d->capacity ||
        d->capacity > ~std::uint64_t{0} / sizeof(std::uint64_t) || d->table < k_page_bytes ||
        !is_aligned(d->table, alignof(std::uint64_t)) ||
        !heap_.contains(d->table, d->capacity * sizeof(std::uint64_t))) {
        return damaged(root_word);
    }
    return d;
}

result<root_entry_view> root_reader::entry(const format::root_directory& d, std::uint64_t index) const {
    auto found = any_entry(d, index);
    if (found)
        REM_TRY(check_object(*found));
    return found;
}

result<void> root_reader::check_object(const root_entry_view& entry) const {
    if (heap_.contains(entry.object, entry.bytes))
        return {};
    return fail(errc::corrupt,
                "the root \"" + std::string(entry.name) + "\" of " + path_ +
                    " leads to memory that was freed and given back. Remove the root, or set it to another object.",
                path_);
}

result<root_entry_view> root_reader::any_entry(const format::root_directory& d, std::uint64_t index) const {
    auto slot = at(d.table + index * sizeof(std::uint64_t), sizeof(std::uint64_t));
    if (!slot)
        return slot.error();
    const std::uint64_t offset = *reinterpret_cast<const std::uint64_t*>(*slot);
    auto head = at(offset, sizeof(format::root_entry));
    if (!head)
        return head.error();
    const format::root_entry e = *reinterpret_cast<const format::root_entry*>(*head);
    auto whole = at(offset, sizeof e + e.name_bytes + e.type_bytes + e.description_bytes);
    if (!whole)
        return whole.error();
    if (e.description_bytes > k_description_bytes_max || e.object < k_page_bytes ||
        (e.flags & ~format::k_root_is_position_independent) != 0)
        return damaged(offset);
    const auto* text = reinterpret_cast<const char*>(*whole + sizeof e);
    return root_entry_view{{text, e.name_bytes},
                           {text + e.name_bytes, e.type_bytes},
                           e.object,
                           e.object_bytes,
                           e.fingerprint_hash,
                           e.fingerprint_algorithm,
                           (e.flags & format::k_root_is_position_independent) != 0,
                           {text + e.name_bytes + e.type_bytes, e.description_bytes},
                           e.object_alignment};
}

result<std::optional<type_description>> root_reader::description(const root_entry_view& entry) const {
    if (entry.description.empty())
        return std::optional<type_description>();
    auto described = type_description::decode(entry.description);
    if (!described) {
        return fail(errc::corrupt,
                    "the description of the type of the root \"" + std::string(entry.name) + "\" of " + path_ +
                        " is damaged. Restore the heap from a copy.",
                    path_);
    }
    return described;
}

} // namespace remanence::types
