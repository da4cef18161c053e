#include "types/class_stalls.hpp"

#include <remanence/types/detail/fingerprint.hpp>

#include <algorithm>
#include <cstring>

namespace remanence::types {

namespace {

constexpr std::uint64_t k_slot_bytes = sizeof(std::uint64_t);
constexpr std::uint64_t k_words_before = format::k_stall_point / k_slot_bytes;
constexpr std::uint64_t k_words_behind = (format::k_stall_bytes - format::k_stall_point) / k_slot_bytes;
constexpr std::uint64_t k_offset_to_top = 2; // words before the address point
constexpr std::uint64_t k_type = 1;

void put(std::byte* at, std::uint64_t value) { std::memcpy(at, &value, sizeof value); }

} // namespace

result<class_stalls> class_stalls::make(std::uint64_t base, const std::string& path) {
    auto place = os::reservation::at(format::stalls_of(base), format::k_stalls_bytes);
    if (!place) {
        failure why = place.why();
        why.message = "cannot use objects with virtual functions in " + path +
                      ": the addresses of their vtables are in use. " + why.message;
        why.path = path;
        return unexpected(why);
    }
    REM_TRY(os::map_anonymous(place->base(), place->bytes()));
    REM_TRY(os::protect_read_only(place->base(), place->bytes()));
    return class_stalls(base, std::move(*place));
}

result<void> class_stalls::filling::begin() {
    if (!has_begun_)
        REM_TRY(os::protect_nothing(of_.place_.base(), of_.place_.bytes()));
    has_begun_ = true;
    return {};
}

class_stalls::filling::~filling() {
    if (has_begun_) // if it fails, the stalls work, but are not protected from stray writes
        (void)os::protect_read_only(of_.place_.base(), of_.place_.bytes());
}

result<void> class_stalls::filling::fill(std::uint64_t number, const vtable_index& index, const vtable& with) {
    if (const std::string name(index.name_of(with)); !detail::is_nameable(name.c_str()))
        return fail(errc::unnameable_type,
                    "objects of " + detail::readable_name(name.c_str()) +
                        " cannot be in a heap: no other program could name the class. Declare it "
                        "in a named namespace.");
    if (index.is_ambiguous(with))
        return fail(errc::unnameable_type, "the program has several classes with the mangled name " +
                                               std::string(index.name_of(with)) +
                                               ", one of them in a heap. Give it another name, or a named namespace.");
    const auto bases = index.virtual_bases_of(with);
    const bool reaches_too_far = std::ranges::any_of(
        bases, [](const virtual_base& each) { return each.slot < -static_cast<std::int64_t>(format::k_stall_point); });
    if (index.functions_of(with) > k_words_behind || reaches_too_far)
        return fail(errc::not_supported, "the class " + std::string(index.name_of(with)) + " has more than " +
                                             std::to_string(k_words_behind) +
                                             " virtual functions, too many for objects in a heap. Split it.");
    REM_TRY(begin());
    const os::module_range& around = index.words_around(with);
    const std::uint64_t before = std::min(k_words_before, (with.point - around.begin) / k_slot_bytes);
    const std::uint64_t behind = std::min(k_words_behind, (around.end - with.point) / k_slot_bytes);
    std::byte* to = of_.point_at(number) - before * k_slot_bytes;
    for (std::uint64_t at = with.point - before * k_slot_bytes; at != with.point + behind * k_slot_bytes;
         at += k_slot_bytes, to += k_slot_bytes)
        put(to, os::word_of_module(at));
    return {};
}

result<void> class_stalls::filling::fill_missing(std::uint64_t number, const stored_class& lacking,
                                                 const missing_class& with) {
    REM_TRY(begin());
    std::byte* const point = of_.point_at(number);
    for (std::uint64_t i = 0; i != k_words_behind; ++i)
        put(point + i * k_slot_bytes, with.function);
    for (const virtual_base& each : lacking.virtual_bases) {
        if (each.position == lacking.position && each.slot % 8 == 0 && each.slot < 0 &&
            each.slot >= -static_cast<std::int64_t>(format::k_stall_point))
            put(point + each.slot, static_cast<std::uint64_t>(each.offset));
    }
    put(point - k_offset_to_top * k_slot_bytes, std::uint64_t{0} - lacking.position);
    put(point - k_type * k_slot_bytes, with.type);
    return {};
}

} // namespace remanence::types
