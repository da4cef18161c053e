// The public volatile heap: adds exceptions, red zones and reports to transient::heap.
#include <remanence/volatile_heap.hpp>

#include "api/heap_origin.hpp"
#include "api/leak_sums.hpp"
#include "api/volatile_heap_impl.hpp"
#include "os/address_table.hpp"
#include "os/backtrace.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace remanence {

namespace {

constinit os::address_table<volatile_heap> volatile_heaps;

constexpr std::size_t k_red_zone_bytes_max = 4096;

std::vector<size_class> count_by_size(const transient::heap& blocks) {
    detail::blocks_by_size counts;
    blocks.for_each_block([&](const alloc::block& each) { counts.add(each.bytes); });
    return counts.classes();
}

leak_report leaks_of(const detail::volatile_heap_impl& of) {
    detail::leak_sums left;
    of.blocks.for_each_block([&](const alloc::block& each) {
        left.add_block(each.bytes);
        const auto record = of.has_red_zone() ? of.open_red_zone(each) : std::nullopt;
        if (!record)
            return;
        left.add_type(record->type, record->asked);
        if (of.options.leak_frames != 0)
            left.add_place(std::vector(of.calls_of(each), of.calls_of(each) + of.options.leak_frames), record->asked);
    });
    return left.report();
}

} // namespace

int detail::volatile_heap_impl::open(std::byte* base) noexcept {
    return blocks.open({.reserve_bytes = options.reserve_bytes,
                        .is_far = true,
                        .base = base,
                        .how = transient::placing::on_lines,
                        .numa_node = options.numa_node});
}

void detail::raise_open_failure(int code, const volatile_heap_options& options) {
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

void detail::check_options(const volatile_heap_options& options) {
    constexpr std::uint64_t k_reserve_max = k_heap_bytes_max;
    if (options.reserve_bytes > k_reserve_max)
        throw error(errc::invalid_argument, "volatile_heap: reserve_bytes is more than 16 TiB");
    if (options.red_zone_bytes > k_red_zone_bytes_max)
        throw error(errc::invalid_argument, "volatile_heap: red_zone_bytes is more than 4,096");
    if (options.leak_frames > os::k_calls_noted_max)
        throw error(errc::invalid_argument, "volatile_heap: leak_frames is more than 32");
}

volatile_heap::volatile_heap(const volatile_heap_options& options) : volatile_heap(options, {}) {}

volatile_heap::volatile_heap(const volatile_heap_options& options, std::unique_ptr<detail::volatile_heap_impl> loaded) {
    detail::refuse_in_new_scope("a volatile heap");
    detail::check_options(options);
    if (!volatile_heaps.make())
        throw std::bad_alloc();
    os::is_in_volatile_heap.store([](const void* address) noexcept { return volatile_heaps.find(address) != nullptr; },
                                  std::memory_order_relaxed);
    impl_ = std::move(loaded);
    if (!impl_) {
        impl_ = std::make_unique<detail::volatile_heap_impl>(options);
        if (const int code = impl_->open(nullptr); code != 0)
            detail::raise_open_failure(code, options);
    }
    volatile_heaps.set(impl_->blocks.base(), impl_->blocks.reserved_bytes(), this);
}

volatile_heap::~volatile_heap() {
    detail::end_new_scopes();
    if (impl_->options.on_leaks) {
        const leak_report left = leaks_of(*impl_);
        if (left.blocks != 0)
            impl_->options.on_leaks(left);
    }
    volatile_heaps.set(impl_->blocks.base(), impl_->blocks.reserved_bytes(), nullptr);
}

REM_ALLOCATES void* volatile_heap::try_allocate(std::size_t bytes, std::size_t alignment,
                                                const std::type_info* type) noexcept {
    return impl_->allocate(bytes, alignment, type);
}

REM_ALLOCATES void* volatile_heap::try_allocate_zeros(std::size_t bytes) noexcept {
    if (!impl_->has_red_zone())
        return impl_->blocks.allocate_zeros(bytes);
    void* const got = impl_->allocate(bytes, alignof(std::max_align_t), nullptr);
    if (got != nullptr)
        std::memset(got, 0, bytes);
    return got;
}

void volatile_heap::free(void* address) noexcept {
    if (address != nullptr)
        impl_->free(address);
}

REM_ALLOCATES void* volatile_heap::reallocate(void* address, std::size_t bytes) noexcept {
    return address == nullptr ? impl_->allocate(bytes, alignof(std::max_align_t), nullptr)
                              : impl_->reallocate(address, bytes);
}

REM_ALLOCATES void* volatile_heap::allocate_dynamic(std::size_t bytes, std::size_t room_bytes) noexcept {
    void* const got = impl_->blocks.allocate_with_room(impl_->with_red_zone(bytes),
                                                       impl_->with_red_zone(std::max(bytes, room_bytes)));
    if (got != nullptr && impl_->has_red_zone())
        impl_->put_red_zone(got, std::max(bytes, room_bytes), nullptr);
    return got;
}

std::size_t volatile_heap::usable_size(const void* address) const noexcept {
    return impl_->has_red_zone() ? impl_->checked_size(address) : impl_->blocks.usable_bytes(address);
}

volatile_heap* volatile_heap::of(const void* pointer) noexcept { return volatile_heaps.find(pointer); }

volatile_heap& volatile_heap::process_default() {
    static volatile_heap* const made =
        new volatile_heap(); // never destroyed, because destructors of other objects may free its blocks
    return *made;
}

volatile_heap_stats volatile_heap::stats() const {
    detail::refuse_in_new_scope("a volatile heap");
    const transient::heap_usage usage = impl_->blocks.usage();
    volatile_heap_stats found;
    found.usable_bytes = usage.usable_bytes;
    found.resident_bytes = usage.resident_bytes;
    found.reserved_bytes = usage.reserved_bytes;
    found.peak_bytes = usage.peak_bytes;
    found.classes = count_by_size(impl_->blocks);
    for (const size_class& each : found.classes)
        found.blocks += each.blocks;
    found.availability = usage.availability;
    if (usage.resident_bytes != 0)
        found.page_efficiency = static_cast<double>(usage.usable_bytes) / static_cast<double>(usage.resident_bytes);
    if (impl_->has_red_zone()) {
        std::uint64_t requested = 0;
        impl_->blocks.for_each_block([&](const alloc::block& each) {
            const auto record = impl_->record_at(each);
            requested += record ? record->asked : 0;
        });
        found.requested_bytes = requested;
    }
    return found;
}

volatile_verify_report volatile_heap::verify() const {
    detail::refuse_in_new_scope("a volatile heap");
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
        if (impl_->has_red_zone() && !impl_->record_at(each))
            add(each.start, "the bytes behind a block were overwritten");
    });
    return report;
}

detail::volatile_heap_impl& detail::impl_of(const volatile_heap& of) noexcept { return *of.impl_; }

bool detail::begins_block(const volatile_heap& of, const void* address) noexcept {
    const auto found = of.impl_->blocks.block_of(address);
    return found && found->start == address;
}

void volatile_heap::trim() noexcept { impl_->blocks.trim(); }

REM_ALLOCATES void* volatile_heap::do_allocate(std::size_t bytes, std::size_t alignment) {
    void* const got = impl_->allocate(bytes, alignment, nullptr);
    if (got == nullptr)
        throw std::bad_alloc();
    return got;
}

void volatile_heap::do_deallocate(void* address, std::size_t /*bytes*/, std::size_t /*alignment*/) {
    impl_->free(address);
}

} // namespace remanence
