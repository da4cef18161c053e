// Roots: named, typed objects from which everything else in a heap is reached. May use: base, format, txn.
//
// The directory lies in the heap, so it is committed and rolled back with everything else.
#pragma once

#include "base/result.hpp"
#include "format/root_directory.hpp"
#include "txn/engine.hpp"
#include "types/root_reader.hpp"

#include <remanence/detail/fingerprint.hpp>

#include <cstdint>
#include <functional>
#include <string_view>

namespace remanence::types {

struct root_view {
    std::string_view name;
    std::string_view type;
    void* object;
    std::uint64_t bytes;
    std::uint64_t fingerprint_hash;
    std::uint32_t fingerprint_algorithm;
    bool position_independent; // says the program that made it
};

/// The memory of an open heap.
class engine_bytes final : public txn::heap_bytes {
public:
    explicit engine_bytes(txn::engine& engine) : engine_(engine) {}
    [[nodiscard]] bool contains(std::uint64_t offset, std::uint64_t bytes) const override;
    result<std::byte*> at(std::uint64_t offset, std::uint64_t bytes) override;

private:
    txn::engine& engine_;
};

class root_directory {
public:
    explicit root_directory(txn::engine& engine) : engine_(engine), bytes_(engine), reader_(bytes_, engine.path()) {}
    root_directory(const root_directory&) = delete;
    root_directory& operator=(const root_directory&) = delete;

    /// The root's object, or null. errc::type_mismatch, naming both types, when it is of another one; errc::corrupt.
    /// O(log roots).
    result<void*> find(std::string_view name, const detail::type_fingerprint& type) const;
    /// Precondition: there is no such root. errc::exhausted, errc::unnameable_type.
    result<void> add(std::string_view name, const detail::type_fingerprint& type, void* object);
    /// Precondition: there is one. The object stays.
    result<void> erase(std::string_view name);
    /// All of them, by name. errc::corrupt.
    result<void> for_each(const std::function<void(const root_view&)>& visit) const;

private:
    struct position {
        std::uint64_t index;
        bool found;
    };
    result<format::root_directory*> directory() const; // null: none yet
    result<root_view> entry(const format::root_directory& d, std::uint64_t index) const;
    result<position> search(const format::root_directory& d, std::string_view name) const;
    result<void*> allocate(std::uint64_t bytes);

    txn::engine& engine_;
    engine_bytes bytes_;
    root_reader reader_;
};

} // namespace remanence::types
