// The volatile heaps of C programs.
#pragma once

#include "api/volatile_heap_impl.hpp"
#include "capi/handles.hpp"

#include <remanence/remanence.h>
#include <remanence/volatile_heap.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::capi {

/// Converts the caller's options, which may be null. Throws errc::invalid_argument.
[[nodiscard]] volatile_heap_options options_of(const rem_volatile_options* given);

class volatile_of_c final : public volatile_heap, public volatile_face {
public:
    explicit volatile_of_c(const volatile_heap_options& options) : volatile_heap(options) {}
    /// Takes over a heap that was loaded.
    volatile_of_c(const volatile_heap_options& options, std::unique_ptr<detail::volatile_heap_impl> loaded)
        : volatile_heap(options, std::move(loaded)) {}

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
    void set_root(std::string_view name, const void* object, const std::string& type, std::optional<std::size_t> size,
                  const detail::type_fingerprint* described) override;
    [[nodiscard]] void* get_root(std::string_view name, const std::string* type, std::size_t size,
                                 const detail::type_fingerprint* described) const override;
    [[nodiscard]] bool remove_root(std::string_view name) override;
    [[nodiscard]] std::vector<shown_root> roots() const override;
    void show(rem_stats& stats) const override;
    [[nodiscard]] verify_report verify() const override;
    [[nodiscard]] rem_heap* handle() const override { return handle_; }
    [[nodiscard]] volatile_heap& memory() override { return *this; }
    void be_known_as(rem_heap* handle) { handle_ = handle; }

private:
    rem_heap* handle_ = nullptr;
};

/// Puts the heap into the table of handles.
[[nodiscard]] rem_heap* add_volatile(std::unique_ptr<volatile_of_c> made);

} // namespace remanence::capi
