// Files that rot: bits flipped, every sector zeroed, every sector and every page replaced by what it held earlier.
// REMANENCE_DAMAGE_BITS: how many bits to flip in each area of the files, or "all". REMANENCE_DAMAGE_SHARE=K/N: of all,
// the Kth of N parts, K from 0, so that processes share the work; the first eighth is a bit of every byte, the next ones
// another bit; only in that eighth a program goes on with a heap whose damage verify() has reported. Outcomes are counted
// and printed.
//
// All 16,809,984 bits of the sample heap, closed and with a log, flipped in 400 shares: no violation.
//   area                     bits        refused    verify     recovered  harmless   taken for torn
//   superblocks              131,072     65,536     0          65,529     7          0
//   chunk maps' places       131,072     768        0          382        129,922    0
//   checksum tables          131,072     32,768     32,768     32,765     32,771     0
//   pages with contents      1,605,632   167,407    1,435,089  3,090      46         0
//   holes                    6,389,760   0          4,653,056  556,808    1,179,896  0
//   log's header page        32,768      448        0          32,320     0          0
//   log records              131,072     39,296     0          90,816     0          960
//   rest of the log: zeros   8,257,536   0          0          8,257,536  0          0
// 694 sectors and pages replaced: no violation. `make test` flips 3,000 bits in each area.
#include "base/range.hpp"
#include "subject.hpp"

#include "format/superblock.hpp"
#include "support/seed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace remanence::damage {
namespace {

#if defined(NDEBUG)
constexpr std::uint64_t k_bits_default = 3000;
#else
constexpr std::uint64_t k_bits_default = 300; // sanitizers and debug builds are slow
#endif

/// Which bits of an area are flipped: random ones, or all of a share.
struct campaign {
    std::uint64_t bits = k_bits_default; // in each area
    bool all = false;
    std::uint64_t share = 0; // of `shares`
    std::uint64_t shares = 1;
};

campaign chosen_campaign() {
    campaign chosen;
    if (const char* bits = std::getenv("REMANENCE_DAMAGE_BITS"); bits != nullptr) {
        chosen.all = std::string_view(bits) == "all";
        chosen.bits = std::strtoull(bits, nullptr, 10);
    }
    if (const char* share = std::getenv("REMANENCE_DAMAGE_SHARE"); share != nullptr) {
        char* rest = nullptr;
        chosen.share = std::strtoull(share, &rest, 10);
        chosen.shares = *rest == '/' ? std::strtoull(rest + 1, nullptr, 10) : 0;
        if (!chosen.all || chosen.share >= chosen.shares)
            throw std::invalid_argument("REMANENCE_DAMAGE_SHARE is K/N, K < N, and needs REMANENCE_DAMAGE_BITS=all");
    }
    return chosen;
}

/// A part of a file whose bytes are of one kind.
struct area {
    const char* name;
    std::string path;
    std::vector<file_range> ranges;
    [[nodiscard]] std::uint64_t bytes() const {
        std::uint64_t sum = 0;
        for (const file_range& range : ranges)
            sum += range.bytes;
        return sum;
    }
    [[nodiscard]] std::uint64_t byte_at(std::uint64_t n) const {
        for (const file_range& range : ranges) {
            if (n < range.bytes)
                return range.offset + n;
            n -= range.bytes;
        }
        return ~std::uint64_t{0};
    }
};

bool is_zero(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

constexpr const char* k_heap_areas[] = {"superblocks", "chunk_map", "checksum_table", "pages", "holes"};
constexpr const char* k_log_areas[] = {"log_header", "log_records", "rest_of_the_log"};

std::vector<area> areas_of(const subject& tested) {
    const auto& heap = tested.heap_bytes();
    constexpr std::uint64_t k_table = format::k_first_table_offset;
    std::vector<area> areas{
        {k_heap_areas[0], sample::k_path, {{0, format::k_first_map_offset}}},
        {k_heap_areas[1], sample::k_path, {{format::k_first_map_offset, k_table - format::k_first_map_offset}}},
        {k_heap_areas[2], sample::k_path, {{k_table, format::k_node_stride}}},
        {k_heap_areas[3], sample::k_path, {}},
        {k_heap_areas[4], sample::k_path, {}},
    };
    for (std::uint64_t at = k_table + format::k_node_stride; at < heap.size(); at += k_page_bytes) {
        const bool is_hole = is_zero(std::span(heap).subspan(at, k_page_bytes));
        areas[is_hole ? 4 : 3].ranges.push_back({at, k_page_bytes});
    }
    if (const std::uint64_t log = tested.log_bytes().size(); log != 0) {
        constexpr std::uint64_t k_records = format::k_log_header_bytes;
        const std::uint64_t end = tested.log_written_end();
        areas.push_back({k_log_areas[0], sample::k_log_path, {{0, k_records}}});
        areas.push_back({k_log_areas[1], sample::k_log_path, {{k_records, end - k_records}}});
        areas.push_back({k_log_areas[2], sample::k_log_path, {{end, log - end}}});
    }
    return areas;
}

class tally {
public:
    void add(const verdict& each, const damage& done) {
        ++counts_[static_cast<std::size_t>(each.how)];
        names_the_place_ += each.names_the_place;
        if (each.violation.empty())
            return;
        ++violations_;
        if (violations_ <= 5) {
            ADD_FAILURE() << done.path << ", " << done.bytes.size() << " bytes from " << done.offset << " ("
                          << k_outcome_names[static_cast<std::size_t>(each.how)] << "): " << each.violation;
        }
    }
    [[nodiscard]] std::uint64_t tries() const {
        return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
    }
    void print(const std::string& what) const {
        std::cout << what << ':';
        for (std::size_t i = 0; i < counts_.size(); ++i)
            std::cout << ' ' << counts_[i] << ' ' << k_outcome_names[i] << ',';
        std::cout << ' ' << names_the_place_ << " by the exact place, " << violations_ << " violations\n";
    }
    [[nodiscard]] std::uint64_t count(outcome how) const { return counts_[static_cast<std::size_t>(how)]; }

private:
    std::array<std::uint64_t, k_outcome_names.size()> counts_{};
    std::uint64_t names_the_place_ = 0;
    std::uint64_t violations_ = 0;
};

std::vector<std::byte> bytes_at(const subject& tested, const std::string& path, std::uint64_t offset,
                                std::uint64_t count) {
    const auto& file = path == sample::k_path ? tested.heap_bytes() : tested.log_bytes();
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(offset);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

std::string name_of(sample::ending how) { return how == sample::ending::unapplied ? "unapplied" : "closed"; }

/// A heap, and one of its areas.
class damaged_area : public testing::TestWithParam<std::pair<sample::ending, std::string>> {};

TEST_P(damaged_area, with_a_bit_flipped_is_never_a_silent_wrong_answer) {
    const auto& [how, name] = GetParam();
    subject tested(how);
    const auto areas = areas_of(tested);
    const auto where = std::find_if(areas.begin(), areas.end(), [&](const area& each) { return each.name == name; });
    ASSERT_NE(where, areas.end());
    const campaign chosen = chosen_campaign();
    const std::uint64_t bits = 8 * where->bytes();
    tally found;
    const auto flip = [&](std::uint64_t n) {
        const std::uint64_t byte = n % where->bytes();
        const std::uint64_t offset = where->byte_at(byte);
        damage done{where->path, offset, bytes_at(tested, where->path, offset, 1)};
        done.bytes[0] ^= std::byte{1} << (byte + n / where->bytes()) % 8;
        found.add(tested.try_with(done, !chosen.all || n < where->bytes()), done);
    };
    if (chosen.all || chosen.bits >= bits) {
        for (std::uint64_t n = bits * chosen.share / chosen.shares; n < bits * (chosen.share + 1) / chosen.shares; ++n)
            flip(n);
    } else {
        std::mt19937_64 random(test::random_seed());
        std::uniform_int_distribution<std::uint64_t> any(0, bits - 1);
        for (std::uint64_t i = 0; i < chosen.bits; ++i)
            flip(any(random));
    }
    found.print("flipped " + std::to_string(found.tries()) + " of " + std::to_string(bits) + " bits of " +
                name_of(how) + ' ' + name);
}

std::vector<std::pair<sample::ending, std::string>> areas_of_all() {
    std::vector<std::pair<sample::ending, std::string>> all;
    for (const char* name : k_heap_areas) {
        all.emplace_back(sample::ending::unapplied, name);
        all.emplace_back(sample::ending::closed, name);
    }
    for (const char* name : k_log_areas)
        all.emplace_back(sample::ending::unapplied, name);
    return all;
}

INSTANTIATE_TEST_SUITE_P(samples, damaged_area, testing::ValuesIn(areas_of_all()), [](const auto& instance) {
    return name_of(instance.param.first) + '_' + instance.param.second;
});

class damaged_file : public testing::TestWithParam<sample::ending> {
protected:
    void try_all(const std::string& name, const std::vector<damage>& all) {
        tally found;
        for (const damage& each : all)
            found.add(subject_.try_with(each), each);
        found.print(std::to_string(found.tries()) + ' ' + name + " of the " + name_of(GetParam()) + " heap");
        EXPECT_GT(found.count(outcome::refused), 0U); // else nothing was tried
    }

    subject subject_{GetParam()};
};

TEST_P(damaged_file, with_a_sector_of_zeros_is_never_a_silent_wrong_answer) {
    std::vector<damage> all;
    for (const area& where : areas_of(subject_)) {
        for (const file_range& range : where.ranges) {
            for (std::uint64_t at = range.offset; at < range.end(); at += k_sector_bytes) {
                damage lost{where.path, at, bytes_at(subject_, where.path, at, k_sector_bytes)};
                if (is_zero(lost.bytes))
                    continue;
                std::fill(lost.bytes.begin(), lost.bytes.end(), std::byte{0});
                all.push_back(std::move(lost));
            }
        }
    }
    try_all("zeroed sectors", all);
}

TEST_P(damaged_file, with_an_older_sector_is_never_a_silent_wrong_answer) {
    try_all("older sectors", subject_.older_versions(k_sector_bytes));
}

TEST_P(damaged_file, with_an_older_page_is_never_a_silent_wrong_answer) {
    try_all("older pages", subject_.older_versions(k_page_bytes));
}

INSTANTIATE_TEST_SUITE_P(samples, damaged_file, testing::Values(sample::ending::unapplied, sample::ending::closed),
                         [](const auto& instance) { return name_of(instance.param); });

} // namespace
} // namespace remanence::damage
