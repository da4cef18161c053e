// Volatile heaps of C programs. A separate file, so that only programs that open one link it.

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "capi/shown_leaks.hpp"
#include "capi/structs.hpp"

#include <remanence/volatile_heap.hpp>

#include <memory>
#include <typeinfo>
#include <utility>

using namespace remanence;

namespace remanence::capi {

namespace {

volatile_heap_options options_of(const rem_volatile_options& given) {
    volatile_heap_options options;
    if (given.reserve_bytes != 0)
        options.reserve_bytes = given.reserve_bytes;
    options.red_zone_bytes = given.red_zone_bytes;
    if (given.has_numa_node)
        options.numa_node = given.numa_node;
    options.leak_frames = given.leak_frames;
    if (given.on_leaks != nullptr)
        options.on_leaks = [given](const leak_report& left) {
            show_leaks(left, [&](const rem_leaks* shown) { given.on_leaks(given.context, shown); });
        };
    return options;
}

class volatile_of_c final : public volatile_heap, public volatile_face {
public:
    using volatile_heap::volatile_heap;

    void* allocate(std::size_t alignment, std::size_t size) override { return try_allocate(size, alignment); }
    void* allocate_zeros(std::size_t size) override { return try_allocate_zeros(size); }
    void* allocate_dynamic(std::size_t size, std::size_t room) override {
        return volatile_heap::allocate_dynamic(size, room);
    }
    [[nodiscard]] bool begins_block(const void* address) const override { return detail::begins_block(*this, address); }
    void* reallocate(void* block, std::size_t size) override { return volatile_heap::reallocate(block, size); }
    [[nodiscard]] std::size_t usable_size(const void* block) const override {
        return volatile_heap::usable_size(block);
    }
    void free_block(void* block) override { free(block); }
    void show(rem_stats& stats) const override {
        const volatile_heap_stats known = volatile_heap::stats();
        stats.heap_bytes = known.resident_bytes;
        stats.allocated_bytes = known.usable_bytes;
        if (stats.surveys) {
            stats.availability = known.availability;
            stats.page_efficiency = known.page_efficiency;
        }
        const std::string_view none = "none";
        none.copy(stats.tracker, sizeof stats.tracker - 1);
    }
    [[nodiscard]] verify_report verify() const override {
        verify_report report;
        volatile_verify_report found = volatile_heap::verify();
        report.blocks_checked = found.blocks_checked;
        for (volatile_verify_report::problem& each : found.problems)
            report.problems.push_back({std::move(each.what), error::k_no_offset});
        return report;
    }
    [[nodiscard]] rem_heap* handle() const override { return handle_; }
    [[nodiscard]] volatile_heap& memory() override { return *this; }
    void be_known_as(rem_heap* handle) { handle_ = handle; }

private:
    rem_heap* handle_ = nullptr;
};

volatile_face* find_around(const void* address) noexcept {
    volatile_heap* const found = volatile_heap::of(address);
    const bool is_of_c = found != nullptr && typeid(*found) == typeid(volatile_of_c);
    return is_of_c ? static_cast<volatile_of_c*>(found) : nullptr;
}

} // namespace

} // namespace remanence::capi

rem_status rem_open_volatile(const rem_volatile_options* options, rem_heap** heap) {
    if (heap != nullptr)
        *heap = nullptr;
    return capi::guard([&] {
        if (heap == nullptr)
            capi::refuse_argument("rem_open_volatile needs a place for the handle.");
        auto made = std::make_unique<capi::volatile_of_c>(
            capi::options_of(capi::whole_struct(options, "rem_volatile_options")));
        capi::volatile_of_c* const opened = made.get();
        *heap = capi::add_handle(std::move(made));
        opened->be_known_as(*heap);
        capi::find_volatile_around.store(capi::find_around, std::memory_order_release);
        return REM_OK;
    });
}
