// Adds up leaked blocks by size, type and place, for reports of heaps with and without a file.
#pragma once

#include "os/backtrace.hpp"

#include <remanence/heap_reports.hpp>
#include <remanence/types/detail/fingerprint.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace remanence::detail {

/// Counts blocks by size; blocks of more than 64 KiB are counted by powers of two.
class blocks_by_size {
public:
    void add(std::uint64_t bytes) {
        constexpr std::uint64_t k_each_size_max = std::uint64_t{64} << 10U;
        ++counts_[bytes <= k_each_size_max ? bytes : std::bit_ceil(bytes)];
    }
    [[nodiscard]] std::vector<size_class> classes() const {
        std::vector<size_class> all;
        for (const auto& [bytes, count] : counts_)
            all.push_back({bytes, count});
        return all;
    }

private:
    std::map<std::uint64_t, std::uint64_t> counts_;
};

class leak_sums {
    struct sum {
        std::uint64_t blocks = 0;
        std::uint64_t requested_bytes = 0;
        void add(std::uint64_t requested) {
            ++blocks;
            requested_bytes += requested;
        }
    };

    /// Calls `make` for each key. Returns the sums, the largest first.
    template <class Key, class Make>
    static auto sorted_by_bytes(const std::map<Key, sum>& sums, const Make& make) {
        std::vector<decltype(make(sums.begin()->first))> all;
        for (const auto& [key, each] : sums) {
            all.push_back(make(key));
            all.back().blocks = each.blocks;
            all.back().requested_bytes = each.requested_bytes;
        }
        std::ranges::sort(all, std::ranges::greater{}, [](const auto& each) { return each.requested_bytes; });
        return all;
    }

public:
    void add_block(std::uint64_t bytes) {
        ++blocks_;
        bytes_ += bytes;
        sizes_.add(bytes);
    }
    /// `type` may be null.
    void add_type(const std::type_info* type, std::uint64_t requested_bytes) {
        types_[type == nullptr ? std::string() : readable_name(type->name())].add(requested_bytes);
    }
    /// The first null ends `calls`.
    void add_place(std::vector<void*> calls, std::uint64_t requested_bytes) {
        places_[std::move(calls)].add(requested_bytes);
    }
    [[nodiscard]] leak_report report() const {
        leak_report all;
        all.blocks = blocks_;
        all.bytes = bytes_;
        all.classes = sizes_.classes();
        all.types = sorted_by_bytes(types_, [](const std::string& name) { return leak_report::type{name}; });
        all.places = sorted_by_bytes(places_, [](const std::vector<void*>& calls) {
            return leak_report::place{os::texts_of_calls(calls.data(), calls.size())};
        });
        return all;
    }

private:
    std::uint64_t blocks_ = 0;
    std::uint64_t bytes_ = 0;
    blocks_by_size sizes_;
    std::map<std::string, sum> types_;
    std::map<std::vector<void*>, sum> places_;
};

} // namespace remanence::detail
