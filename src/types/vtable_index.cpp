#include "types/vtable_index.hpp"

#include "base/undying.hpp"
#include "base/units.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

namespace remanence::types {

namespace {

using word = std::uint64_t;
using os::word_of_module;

constexpr word k_word_bytes = sizeof(word);
constexpr std::int64_t k_position_max = std::int64_t{1} << 31; // a larger object is no object
constexpr word k_bases_max = 1024;
constexpr unsigned k_depth_max = 64;

// The parts of a type_info, by the ABI.
constexpr word k_name = k_word_bytes;
constexpr word k_single_base = 2 * k_word_bytes;
constexpr word k_base_count = 2 * k_word_bytes + 4; // 32 bits, behind 32 bits of flags
constexpr word k_bases = 3 * k_word_bytes; // each: the address of a type_info; flags, and an offset from bit 8 on
constexpr word k_base_bytes = 2 * k_word_bytes;
constexpr word k_virtual_flag = 1;
constexpr unsigned k_offset_shift = 8;

const char* text_at(word address) { return reinterpret_cast<const char*>(word_of_module(address)); }
word base_count(word type) { return word_of_module(type + k_base_count - 4) >> 32; }
std::int64_t as_signed(word value) { return static_cast<std::int64_t>(value); }

} // namespace

vtable_index::vtable_index() : generation_(os::modules_generation()), modules_(os::find_modules()) {
    for (const os::module_range& each : modules_.constants)
        search(each);
    std::ranges::sort(all_, {}, &vtable::point);
    const auto twice = std::ranges::unique(all_, {}, &vtable::point);
    all_.erase(twice.begin(), twice.end());
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i != all_.size(); ++i) {
        vtable& each = all_[i];
        if (each.position == 0 || each.type != all_[first].type)
            first = i;
        each.first = first;
        by_point_.emplace(each.point, i);
        by_name_.emplace(name_of(each), i);
        begin_ = std::min(begin_, each.point);
        end_ = std::max(end_, each.point + 1);
    }
    if (all_.empty())
        begin_ = 0;
}

std::shared_ptr<const vtable_index> vtable_index::present() {
    static constinit undying<std::mutex> guard;
    static constinit undying<std::shared_ptr<const vtable_index>> last;
    const std::scoped_lock lock(guard.value);
    if (!last.value || last.value->generation() != os::modules_generation())
        last.value = std::make_shared<const vtable_index>();
    return last.value;
}

bool vtable_index::is_readable(word address, word bytes) const {
    const os::module_range* const around = os::range_around(modules_.readable, address);
    return around != nullptr && bytes <= around->end - address;
}

vtable_index::kind vtable_index::kind_of_class(word vptr) {
    if (!is_aligned(vptr, k_word_bytes) ||
        os::range_around(modules_.code, vptr) != nullptr) // most words, which are functions
        return kind::none;
    if (const auto known = kinds_.find(vptr); known != kinds_.end())
        return known->second;
    kind found = kind::none;
    if (is_readable(vptr - k_word_bytes, 2 * k_word_bytes)) {
        const word type = word_of_module(vptr - k_word_bytes);
        if (is_aligned(type, k_word_bytes) && is_readable(type, 2 * k_word_bytes)) {
            const word name = word_of_module(type + k_name);
            const auto is = [&](const char* wanted) {
                return is_readable(name, std::strlen(wanted) + 1) && os::is_text_of_module(name, wanted);
            };
            found = is("N10__cxxabiv117__class_type_infoE")       ? kind::plain
                    : is("N10__cxxabiv120__si_class_type_infoE")  ? kind::single
                    : is("N10__cxxabiv121__vmi_class_type_infoE") ? kind::multiple
                                                                  : kind::none;
        }
    }
    kinds_.emplace(vptr, found);
    return found;
}

vtable_index::kind vtable_index::kind_of_type(word type) {
    if (!is_aligned(type, k_word_bytes) || !is_readable(type, k_bases))
        return kind::none;
    const kind found = kind_of_class(word_of_module(type));
    return found != kind::none && is_readable(word_of_module(type + k_name), 1) ? found : kind::none;
}

// A type_info names its bases by their type_infos, which might be taken for those of vtables: it is passed over.
void vtable_index::search(const os::module_range& constants) {
    word at = align_up(constants.begin, k_word_bytes);
    word before = 1; // no offset
    while (at + 2 * k_word_bytes <= constants.end) {
        const word value = word_of_module(at);
        const std::int64_t position = -as_signed(before);
        const bool may_have_type = position >= 0 && position < k_position_max && is_aligned(before, k_word_bytes);
        before = value;
        if (may_have_type && kind_of_type(value) != kind::none) {
            all_.push_back({at + k_word_bytes, value, static_cast<std::uint32_t>(position), 0});
        } else if (const kind own = kind_of_type(at); own != kind::none) {
            const word bases = own == kind::multiple ? std::min(base_count(at), k_bases_max) : 0;
            at += own == kind::plain    ? k_single_base
                  : own == kind::single ? k_single_base + k_word_bytes
                                        : k_bases + bases * k_base_bytes;
            before = 1;
            continue;
        }
        at += k_word_bytes;
    }
}

// Compilers may mark the names of classes that no other source file can name.
std::string_view vtable_index::name_of(const vtable& of) const {
    const char* const name = text_at(of.type + k_name);
    return name + (*name == '*' ? 1 : 0);
}

bool vtable_index::is_ambiguous(const vtable& of) const {
    const auto [begin, end] = by_name_.equal_range(name_of(of));
    return std::any_of(begin, end, [&](const auto& each) {
        const vtable& other = all_[each.second];
        return other.type != of.type && &words_around(other) == &words_around(of) &&
               is_vtable(other, virtual_bases_of(other));
    });
}

const vtable* vtable_index::in_group(std::uint32_t first, std::int64_t position) const {
    for (std::uint32_t i = first; i != all_.size() && all_[i].first == first; ++i) {
        if (all_[i].position == position)
            return &all_[i];
    }
    return nullptr;
}

std::vector<virtual_base> vtable_index::virtual_bases_of(const vtable& of) const {
    std::vector<virtual_base> found;
    collect(all_[of.first], of.type, 0, 0, found);
    return found;
}

// A class without a vtable at its position has no virtual bases.
void vtable_index::collect(const vtable& first, word type, std::int64_t position, unsigned depth,
                           std::vector<virtual_base>& into) const {
    const auto kind_of = [&](word of) {
        const auto known = kinds_.find(word_of_module(of));
        return known == kinds_.end() ? kind::none : known->second;
    };
    const vtable* const own = in_group(first.first, position);
    if (own == nullptr || depth == k_depth_max)
        return;
    const kind what = kind_of(type);
    if (what == kind::single) {
        collect(first, word_of_module(type + k_single_base), position, depth + 1, into);
        return;
    }
    const word bases = what == kind::multiple ? std::min(base_count(type), k_bases_max) : 0;
    for (word at = type + k_bases; at != type + k_bases + bases * k_base_bytes; at += k_base_bytes) {
        const word base = word_of_module(at);
        const word flags = word_of_module(at + k_word_bytes);
        const std::int64_t offset = as_signed(flags) >> k_offset_shift;
        if ((flags & k_virtual_flag) == 0) {
            collect(first, base, position + offset, depth + 1, into);
            continue;
        }
        const word slot = own->point + static_cast<word>(offset);
        if (!words_around(*own).contains(slot))
            continue;
        const virtual_base next{own->position, static_cast<std::int32_t>(offset), as_signed(word_of_module(slot))};
        if (std::ranges::find(into, next) != into.end())
            continue;
        into.push_back(next);
        collect(first, base, position + next.offset, depth + 1, into);
    }
}

const vtable* vtable_index::find(std::string_view name, std::uint32_t position,
                                 const std::vector<virtual_base>& bases) const {
    const auto [begin, end] = by_name_.equal_range(name);
    const vtable* found = nullptr;
    for (auto each = begin; each != end; ++each) {
        const vtable& candidate = all_[each->second];
        if (candidate.position == position && (found == nullptr || candidate.point < found->point) &&
            virtual_bases_of(candidate) == bases && is_vtable(candidate, bases))
            found = &candidate;
    }
    return found;
}

const os::module_range& vtable_index::words_around(const vtable& of) const {
    return *os::range_around(modules_.readable, of.point - k_word_bytes);
}

std::size_t vtable_index::functions_of(const vtable& of) const {
    const word end = words_around(of).end;
    std::size_t count = 0;
    for (std::size_t i = 0; of.point + (i + 1) * k_word_bytes <= end; ++i) {
        const word value = word_of_module(of.point + i * k_word_bytes);
        if (os::range_around(modules_.code, value) != nullptr)
            count = i + 1;
        else if (value != 0) // the destructors of an abstract class
            break;
    }
    return count;
}

} // namespace remanence::types
