// The public volatile heap: transient::heap, with exceptions, guard bytes and reports.
#include <remanence/volatile_heap.hpp>

#include "os/address_table.hpp"
#include "os/anonymous_memory.hpp"
#include "volatile/heap.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>

namespace remanence {

namespace {

constinit os::address_table<volatile_heap> volatile_heaps;

constexpr std::size_t k_guard_bytes_max = 4096;
constexpr std::byte k_guard{0xa5};

[[noreturn]] void raise_open_failure(int code, const volatile_heap_options& options) {
    const std::string node = options.numa_node ? std::to_string(*options.numa_node) : "";
    if (code == EINVAL && options.numa_node) {
        throw error(errc::invalid_argument,
                    "volatile_heap: there is no NUMA node " + node +
                        " that this process may use. `numactl --hardware` lists them; leave numa_node out for any.",
                    {}, code);
    }
    if (options.numa_node && code != ENOMEM) {
        throw error(errc::not_supported,
                    "volatile_heap: the system does not bind memory to NUMA node " + node + ": " + std::strerror(code) +
                        ". Leave numa_node out.",
                    {}, code);
    }
    throw error(
        errc::exhausted,
        "volatile_heap: there are no addresses for it. Reserve less (reserve_bytes), or check the limits on address "
        "space and memory (ulimit -v, ulimit -d).",
        {}, code);
}

} // namespace

namespace detail {

/// A heap whose blocks may have guards: behind what was asked for a pattern up to the block's last word, which has that size.
class volatile_heap_impl {
public:
    explicit volatile_heap_impl(const volatile_heap_options& chosen) : options(chosen) {
        const int code = blocks.open({.reserve_bytes = chosen.reserve_bytes,
                                      .how = transient::placing::on_lines,
                                      .numa_node = chosen.numa_node});
        if (code != 0)
            raise_open_failure(code, chosen);
    }

    [[nodiscard]] bool is_guarded() const { return options.guard_bytes != 0; }
    /// What has to be asked for, to have a guard; more than there is when it overflows.
    [[nodiscard]] std::size_t with_guard(std::size_t bytes) const {
        const std::size_t more = is_guarded() ? options.guard_bytes + sizeof(std::uint64_t) : 0;
        return bytes > std::numeric_limits<std::size_t>::max() - more ? bytes : bytes + more;
    }
    void put_guard(void* start, std::size_t asked) const {
        const std::size_t whole = blocks.usable_bytes(start);
        auto* const bytes = static_cast<std::byte*>(start);
        std::fill(bytes + asked, bytes + whole - sizeof(std::uint64_t), k_guard);
        const std::uint64_t kept = asked;
        std::memcpy(bytes + whole - sizeof kept, &kept, sizeof kept);
    }
    /// What was asked for; none when the guard was written over.
    [[nodiscard]] static std::optional<std::size_t> asked_of(const alloc::block& of) {
        const auto* const bytes = static_cast<const std::byte*>(of.start);
        std::uint64_t asked = 0;
        const std::size_t room = of.bytes - sizeof asked;
        std::memcpy(&asked, bytes + room, sizeof asked);
        if (asked >= room || std::any_of(bytes + asked, bytes + room, [](std::byte each) { return each != k_guard; }))
            return {};
        return asked;
    }
    /// Ends the process when the guard was written over.
    [[nodiscard]] std::size_t checked_size(const void* address) const {
        const alloc::block of{const_cast<void*>(address), blocks.usable_bytes(address)};
        const auto asked = asked_of(of);
        if (!asked)
            os::abort_with("the bytes behind this block were written over", address);
        return *asked;
    }

    [[nodiscard]] void* allocate(std::size_t bytes, std::size_t alignment) {
        if (!is_guarded()) [[likely]]
            return blocks.allocate(bytes, alignment);
        void* const got = blocks.allocate(with_guard(bytes), alignment);
        if (got != nullptr)
            put_guard(got, bytes);
        return got;
    }
    void free(void* address) {
        if (is_guarded())
            (void)checked_size(address);
        blocks.free(address);
    }
    [[nodiscard]] void* reallocate(void* address, std::size_t bytes) {
        if (!is_guarded())
            return blocks.reallocate(address, bytes);
        (void)checked_size(address);
        void* const got = blocks.reallocate(address, with_guard(bytes));
        if (got != nullptr)
            put_guard(got, bytes);
        return got;
    }

    volatile_heap_options options;
    transient::heap blocks;
};

} // namespace detail

namespace {

/// Blocks by size, those of more than 64 KiB by powers of two.
std::vector<volatile_size_class> count_by_size(const transient::heap& blocks) {
    std::map<std::uint64_t, std::uint64_t> counts;
    blocks.for_each_block([&](const alloc::block& each) {
        ++counts[each.bytes <= transient::k_class_bytes_max ? each.bytes : std::bit_ceil(each.bytes)];
    });
    std::vector<volatile_size_class> classes;
    for (const auto& [bytes, count] : counts)
        classes.push_back({bytes, count});
    return classes;
}

} // namespace

volatile_heap::volatile_heap(const volatile_heap_options& options) {
    constexpr std::uint64_t k_reserve_max = k_heap_bytes_max;
    if (options.reserve_bytes > k_reserve_max)
        throw error(errc::invalid_argument, "volatile_heap: reserve_bytes is more than 16 TiB");
    if (options.guard_bytes > k_guard_bytes_max)
        throw error(errc::invalid_argument, "volatile_heap: guard_bytes is more than 4,096");
    if (!volatile_heaps.make())
        throw std::bad_alloc();
    impl_ = std::make_unique<detail::volatile_heap_impl>(options);
    volatile_heaps.set(impl_->blocks.base(), impl_->blocks.reserved_bytes(), this);
}

volatile_heap::~volatile_heap() {
    if (impl_->options.on_leaks) {
        volatile_leak_report left;
        impl_->blocks.for_each_block([&](const alloc::block& each) {
            ++left.blocks;
            left.bytes += each.bytes;
        });
        if (left.blocks != 0) {
            left.classes = count_by_size(impl_->blocks);
            impl_->options.on_leaks(left);
        }
    }
    volatile_heaps.set(impl_->blocks.base(), impl_->blocks.reserved_bytes(), nullptr);
}

void* volatile_heap::try_allocate(std::size_t bytes, std::size_t alignment) noexcept {
    return impl_->allocate(bytes, alignment);
}

void volatile_heap::free(void* address) noexcept {
    if (address != nullptr)
        impl_->free(address);
}

void* volatile_heap::reallocate(void* address, std::size_t bytes) noexcept {
    return address == nullptr ? impl_->allocate(bytes, alignof(std::max_align_t)) : impl_->reallocate(address, bytes);
}

void* volatile_heap::allocate_dynamic(std::size_t bytes, std::size_t room_bytes) noexcept {
    void* const got =
        impl_->blocks.allocate_with_room(impl_->with_guard(bytes), impl_->with_guard(std::max(bytes, room_bytes)));
    if (got != nullptr && impl_->is_guarded())
        impl_->put_guard(got, std::max(bytes, room_bytes));
    return got;
}

std::size_t volatile_heap::usable_size(const void* address) const noexcept {
    return impl_->is_guarded() ? impl_->checked_size(address) : impl_->blocks.usable_bytes(address);
}

volatile_heap* volatile_heap::of(const void* pointer) noexcept { return volatile_heaps.find(pointer); }

volatile_heap& volatile_heap::process_default() {
    static volatile_heap* const made =
        new volatile_heap(); // never destroyed: others' destructors may free what is in it
    return *made;
}

volatile_heap_stats volatile_heap::stats() const {
    const transient::heap_usage usage = impl_->blocks.usage();
    volatile_heap_stats found;
    found.usable_bytes = usage.usable_bytes;
    found.resident_bytes = usage.resident_bytes;
    found.reserved_bytes = usage.reserved_bytes;
    found.peak_bytes = usage.peak_bytes;
    found.classes = count_by_size(impl_->blocks);
    for (const volatile_size_class& each : found.classes)
        found.blocks += each.blocks;
    found.availability = usage.availability;
    if (usage.resident_bytes != 0)
        found.page_efficiency = static_cast<double>(usage.usable_bytes) / static_cast<double>(usage.resident_bytes);
    if (impl_->is_guarded()) {
        std::uint64_t requested = 0;
        impl_->blocks.for_each_block(
            [&](const alloc::block& each) { requested += detail::volatile_heap_impl::asked_of(each).value_or(0); });
        found.requested_bytes = requested;
    }
    return found;
}

volatile_verify_report volatile_heap::verify() const {
    volatile_verify_report report;
    const auto add = [&report](const void* address, std::string_view what) {
        volatile_verify_report::problem& added = report.problems.emplace_back();
        added.what = what;
        added.address = address;
    };
    impl_->blocks.check_invariants(
        [&](std::uint64_t offset, std::string_view what) { add(impl_->blocks.base() + offset, what); });
    impl_->blocks.for_each_block([&](const alloc::block& each) {
        ++report.blocks_checked;
        if (impl_->is_guarded() && !detail::volatile_heap_impl::asked_of(each))
            add(each.start, "the bytes behind a block were written over");
    });
    return report;
}

bool detail::begins_block(const volatile_heap& of, const void* address) noexcept {
    const auto found = of.impl_->blocks.block_of(address);
    return found && found->start == address;
}

void volatile_heap::trim() noexcept { impl_->blocks.trim(); }

void* volatile_heap::do_allocate(std::size_t bytes, std::size_t alignment) {
    void* const got = impl_->allocate(bytes, alignment);
    if (got == nullptr)
        throw std::bad_alloc();
    return got;
}

void volatile_heap::do_deallocate(void* address, std::size_t /*bytes*/, std::size_t /*alignment*/) {
    impl_->free(address);
}

} // namespace remanence
