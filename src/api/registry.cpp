#include "api/registry.hpp"

#include "api/heap_impl.hpp"
#include "api/raise.hpp"
#include "api/stray_write.hpp"
#include "os/fault_handler.hpp"
#include "os/held_across_fork.hpp"
#include "os/write_traps.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <string_view>

namespace remanence::detail::registry {

constinit os::address_table<heap_impl> heaps;

namespace {

std::mutex changing;
const os::held_across_fork<changing> k_changing_held;

constexpr std::size_t k_closed_remembered = 64;
std::array<closed_range, k_closed_remembered> closed{}; // NOLINT: written with `changing` held
std::atomic<std::size_t> closed_count = 0;              // number of heaps closed since the process began

void remember_closed(const heap_impl& impl) noexcept {
    closed_range& place = closed[closed_count % closed.size()];
    place.end = 0;
    const auto base = reinterpret_cast<std::uint64_t>(impl.memory().base());
    place.begin = base;
    const std::string_view path = impl.origin.path.native();
    const std::string_view shown = path.substr(path.size() - std::min(path.size(), place.path.size() - 1));
    place.path[shown.copy(place.path.data(), shown.size())] = '\0';
    place.end = base + impl.registered_bytes;
    ++closed_count;
}

bool locate(const void* address, os::fault_place& place) {
    const heap_impl* impl = find(address);
    if (impl == nullptr)
        return false;
    place.path = impl->origin.path.c_str();
    place.offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - impl->memory().base());
    return true;
}

} // namespace

void watch_faults() {
    check(os::put_fault_handler_in_front(locate));
    os::explain_faults(report_fault);
    check(os::put_write_traps_in_front());
    if (!heaps.make())
        throw std::bad_alloc();
}

// Searches from the newest to the oldest, because several heaps may have been at the same addresses in turn.
const closed_range* closed_at(const void* address) noexcept {
    const auto at = reinterpret_cast<std::uint64_t>(address);
    const std::size_t count = closed_count;
    for (std::size_t i = 0; i < std::min(count, closed.size()); ++i) {
        const closed_range& each = closed[(count - 1 - i) % closed.size()];
        if (each.begin <= at && at < each.end)
            return &each;
    }
    return nullptr;
}

void add(heap_impl& impl) {
    std::lock_guard guard(changing);
    impl.registered_bytes = impl.memory().reserved_bytes();
    heaps.set(impl.memory().base(), impl.registered_bytes, &impl);
}

void extend(heap_impl& impl) {
    std::lock_guard guard(changing);
    impl.registered_bytes = impl.memory().reserved_bytes();
    heaps.set(impl.memory().base(), impl.registered_bytes, &impl);
}

void remove(heap_impl& impl) noexcept {
    std::lock_guard guard(changing);
    remember_closed(impl);
    heaps.set(impl.memory().base(), impl.registered_bytes, nullptr);
}

std::string path_at(const void* address) {
    if (find(address) == nullptr)
        return {};
    std::lock_guard guard(changing); // while this lock is held, remove() waits, and so no heap ends
    const heap_impl* impl = find(address);
    return impl != nullptr && impl->memory().contains(address) ? impl->origin.path.string() : std::string();
}

bool holds(const std::filesystem::path& path) {
    std::lock_guard guard(changing); // while this lock is held, no heap closes
    for (const auto& slot : heaps.all()) {
        heap_impl* const impl = slot.load(std::memory_order_acquire);
        if (impl == nullptr)
            continue;
        auto is_its_own = impl->engine().is_at(path.string());
        if (is_its_own && *is_its_own)
            return true;
    }
    return false;
}

} // namespace remanence::detail::registry
