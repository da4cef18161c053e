// The public volatile heap: adds exceptions, red zones and reports to transient::heap.
#include <remanence/volatile_heap.hpp>

#include "alloc/red_zones.hpp"
#include "api/heap_origin.hpp"
#include "api/leak_sums.hpp"
#include "os/address_table.hpp"
#include "os/anonymous_memory.hpp"
#include "os/backtrace.hpp"
#include "os/memory_marks.hpp"
#include "volatile/heap.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace remanence {

namespace {

constinit os::address_table<volatile_heap> volatile_heaps;

constexpr std::size_t k_red_zone_bytes_max = 4096;

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

/// Stored at the end of a block with a red zone. The calls that led to the allocation are stored behind it.
struct block_record {
    std::uint64_t asked; // bytes that the program asked for
    const std::type_info* type;
};

/// A heap whose blocks may have red zones. Behind the requested bytes such a block has a pattern, then a block_record
/// in its last words.
class volatile_heap_impl {
public:
    explicit volatile_heap_impl(const volatile_heap_options& chosen)
        : record_bytes_(sizeof(block_record) + chosen.leak_frames * sizeof(void*)),
          red_zone_bytes_(chosen.leak_frames == 0 ? chosen.red_zone_bytes
                                                  : std::max<std::size_t>(chosen.red_zone_bytes, 8)),
          options(chosen) {
        const int code = blocks.open({.reserve_bytes = chosen.reserve_bytes,
                                      .how = transient::placing::on_lines,
                                      .numa_node = chosen.numa_node});
        if (code != 0)
            raise_open_failure(code, chosen);
    }

    [[nodiscard]] bool has_red_zone() const { return red_zone_bytes_ != 0; }
    /// Returns the size to request for a block with a red zone. If the sum overflows, returns a size too large to
    /// exist.
    [[nodiscard]] std::size_t with_red_zone(std::size_t bytes) const {
        const std::size_t more = has_red_zone() ? red_zone_bytes_ + record_bytes_ : 0;
        return bytes > std::numeric_limits<std::size_t>::max() - more ? bytes : bytes + more;
    }
    void put_red_zone(void* start, std::size_t asked, const std::type_info* type) const {
        const alloc::block of = block_at(start);
        alloc::put_red_zone(start, of.bytes, record_bytes_, asked);
        const block_record record{asked, type};
        std::memcpy(record_of(of), &record, sizeof record);
        if (options.leak_frames != 0)
            os::note_calls(calls_of(of), options.leak_frames);
        close_red_zone(of, record);
    }
    /// Makes the red zone inaccessible. open_red_zone() makes it accessible again.
    static void close_red_zone(const alloc::block& of, const block_record& record) {
        os::forbid_memory(static_cast<std::byte*>(of.start) + record.asked, of.bytes - record.asked);
    }
    /// Makes the red zone accessible and checks it. Returns nothing if it was overwritten.
    [[nodiscard]] std::optional<block_record> open_red_zone(const alloc::block& of) const {
        os::allow_memory(of.start, of.bytes);
        if (!alloc::red_zoned_bytes(of.start, of.bytes, record_bytes_))
            return {};
        block_record record;
        std::memcpy(&record, record_of(of), sizeof record);
        return record;
    }
    /// Checks the red zone, and makes it inaccessible again. Returns nothing if it was overwritten.
    [[nodiscard]] std::optional<block_record> record_at(const alloc::block& of) const {
        const auto record = open_red_zone(of);
        if (record)
            close_red_zone(of, *record);
        return record;
    }
    /// Ends the process if the red zone was overwritten.
    block_record open_red_zone_or_end(const void* address) const {
        const auto record = open_red_zone(block_at(address));
        if (!record)
            os::abort_with("the bytes behind this block were overwritten", address);
        return *record;
    }
    [[nodiscard]] std::size_t checked_size(const void* address) const {
        const block_record record = open_red_zone_or_end(address);
        close_red_zone(block_at(address), record);
        return record.asked;
    }
    [[nodiscard]] alloc::block block_at(const void* address) const {
        return {const_cast<void*>(address), blocks.usable_bytes(address)};
    }
    /// Returns an array of options.leak_frames calls.
    [[nodiscard]] void** calls_of(const alloc::block& of) const {
        return reinterpret_cast<void**>(record_of(of) + sizeof(block_record));
    }

    // Inline, so that functions of volatile_heap call what notes their callers, and do not jump to it (REM_ALLOCATES).
    [[nodiscard, gnu::always_inline]] void* allocate(std::size_t bytes, std::size_t alignment,
                                                     const std::type_info* type) {
        if (!has_red_zone()) [[likely]]
            return blocks.allocate(bytes, alignment);
        void* const got = blocks.allocate(with_red_zone(bytes), alignment);
        if (got != nullptr)
            put_red_zone(got, bytes, type);
        return got;
    }
    void free(void* address) {
        if (has_red_zone())
            (void)open_red_zone_or_end(address);
        blocks.free(address);
    }
    [[nodiscard, gnu::always_inline]] void* reallocate(void* address, std::size_t bytes) {
        if (!has_red_zone())
            return blocks.reallocate(address, bytes);
        const block_record before = open_red_zone_or_end(address);
        void* const got = blocks.reallocate(address, with_red_zone(bytes));
        if (got != nullptr)
            put_red_zone(got, bytes, before.type);
        else
            close_red_zone(block_at(address), before);
        return got;
    }

private:
    [[nodiscard]] std::byte* record_of(const alloc::block& of) const {
        return static_cast<std::byte*>(of.start) + of.bytes - record_bytes_;
    }

    std::size_t record_bytes_;
    std::size_t red_zone_bytes_;

public:
    const volatile_heap_options options;
    transient::heap blocks;
};

} // namespace detail

namespace {

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

volatile_heap::volatile_heap(const volatile_heap_options& options) {
    detail::refuse_in_new_scope("a volatile heap");
    constexpr std::uint64_t k_reserve_max = k_heap_bytes_max;
    if (options.reserve_bytes > k_reserve_max)
        throw error(errc::invalid_argument, "volatile_heap: reserve_bytes is more than 16 TiB");
    if (options.red_zone_bytes > k_red_zone_bytes_max)
        throw error(errc::invalid_argument, "volatile_heap: red_zone_bytes is more than 4,096");
    if (options.leak_frames > os::k_calls_noted_max)
        throw error(errc::invalid_argument, "volatile_heap: leak_frames is more than 32");
    if (!volatile_heaps.make())
        throw std::bad_alloc();
    impl_ = std::make_unique<detail::volatile_heap_impl>(options);
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
