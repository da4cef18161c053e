// Fragile elements, except their templates: errors, and a table by which references to an element share one object.

#include "api/raise.hpp"
#include "os/held_across_fork.hpp"

#include <remanence/types/detail/fingerprint.hpp>
#include <remanence/types/fragile.hpp>

#include <mutex>
#include <unordered_map>

namespace remanence::detail {

namespace {

using live_values = std::unordered_map<const void*, live_value*>;
std::mutex using_live; // trivial to destroy
const os::held_across_fork<using_live> k_using_live_held;
std::mutex exemplars;
const os::held_across_fork<exemplars> k_exemplars_held;

/// Must be called with using_live locked. The table is never destroyed, so that references may live as long as the
/// process.
live_values& all_live() {
    static auto* const all = new live_values;
    return *all;
}

} // namespace

std::mutex& using_exemplars() noexcept { return exemplars; }

live_value* share_live_value(const void* element) noexcept {
    const std::scoped_lock lock(using_live);
    live_values& all = all_live();
    const auto found = all.find(element);
    if (found == all.end())
        return nullptr;
    ++found->second->references_;
    return found->second;
}

void add_live_value(live_value& value) {
    const std::scoped_lock lock(using_live);
    live_values& all = all_live();
    all.emplace(value.element(), &value);
}

bool release_live_value(live_value& value) noexcept {
    const std::scoped_lock lock(using_live);
    live_values& all = all_live();
    if (--value.references_ != 0)
        return false;
    if (!value.is_forgotten()) // otherwise the table may already hold a new object for the element
        all.erase(value.element());
    return true;
}

void forget_live_values(const void* first, std::size_t bytes) noexcept {
    const std::scoped_lock lock(using_live);
    live_values& all = all_live();
    std::erase_if(all, [&](const auto& each) {
        const auto offset = reinterpret_cast<std::uintptr_t>(each.first) - reinterpret_cast<std::uintptr_t>(first);
        if (offset >= bytes)
            return false;
        each.second->is_forgotten_ = true;
        return true;
    });
}

void refuse_forgotten_reference() {
    raise(failure{errc::invalid_argument,
                  "the heap of a fragile element was rolled back or closed since this reference to "
                  "the element was taken, so nothing is written back. Take another reference."});
}

void refuse_stored_bytes(const std::string& why) {
    raise(failure{errc::corrupt, "the stored bytes of a fragile element are not those of a value of its type: " + why +
                                     ". Was its type or its serialize_trait changed, or was the element moved from?"});
}

void refuse_to_serialize(const std::string& why) {
    raise(failure{errc::invalid_argument, "a value cannot be stored as a fragile element: " + why + "."});
}

void refuse_unknown_class(std::string_view name, const std::type_info& base) {
    raise(failure{errc::type_mismatch, "a fragile element has an object of the class \"" + std::string(name) +
                                           "\", which this program did not register. Call register_exemplar<" +
                                           readable_name(base.name()) + ", …>(\"" + std::string(name) +
                                           "\") before reading it."});
}

void refuse_unregistered_class(const std::type_info& type, const std::type_info& base) {
    raise(failure{errc::invalid_argument, "objects of class " + readable_name(type.name()) +
                                              " cannot be stored yet as fragile elements. Call register_exemplar<" +
                                              readable_name(base.name()) + ", " + readable_name(type.name()) +
                                              ">() with a name first."});
}

void refuse_second_name(std::string_view name, const std::type_info& base) {
    raise(failure{errc::invalid_argument, "register_exemplar<" + readable_name(base.name()) + ", …>(\"" +
                                              std::string(name) +
                                              "\"): another class has this name, or the class has another name."});
}

} // namespace remanence::detail
