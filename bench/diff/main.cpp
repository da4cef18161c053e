// What the comparison of two pages costs, with each kernel, beside memcmp.
#include <harness.hpp>

#include "base/units.hpp"
#include "view/diff.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <stdexcept>

namespace remanence {
namespace {

constexpr std::string_view k_purpose =
    R"(Compares pairs of 4 KiB pages, processor seconds per pair: equal ones, ones that differ in
one word, at another place in each pair, and ones that differ in all words; with each kernel that the machine supports, and
with memcmp (equal ones only, since it stops at the first difference). The pairs lie in the first-level cache, in the
second, or in memory, where they are taken in random order. A kernel's ranges are collected and counted.
)";

struct workload {
    std::string name;
    std::size_t pairs;
    std::size_t rounds; // over all pairs, in one timing
};

const std::vector<workload>& all_workloads() {
    static const std::vector<workload> all = {
        {"warm, first level", 2, 10'000}, {"warm, second level", 24, 500}, {"cold", 32 * KiB, 1}};
    return all;
}

constexpr int k_timings = 15; // of each system, in turn; the median of them is handed over
constexpr const char* k_memcmp = "memcmp";

constexpr const char* k_unchanged = "unchanged";
constexpr const char* k_one_word = "one word";
constexpr const char* k_all_words = "all words";

/// Pairs of pages, in small pages as the views of stored chunks are; both of a pair with the same contents.
class page_pairs {
public:
    explicit page_pairs(std::size_t count) : before_(map(count)), after_(map(count)), order_(count) {
        for (std::size_t at = 0; at < count * k_page_bytes; at += sizeof(std::uint64_t)) {
            const std::uint64_t word = random_();
            std::memcpy(before_ + at, &word, sizeof word);
        }
        std::memcpy(after_, before_, count * k_page_bytes);
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        std::shuffle(order_.begin(), order_.end(), random_);
    }
    page_pairs(const page_pairs&) = delete;
    page_pairs& operator=(const page_pairs&) = delete;
    ~page_pairs() {
        ::munmap(before_, order_.size() * k_page_bytes);
        ::munmap(after_, order_.size() * k_page_bytes);
    }

    void change_one_word() {
        for (std::size_t i = 0; i < order_.size(); ++i)
            flip(i * k_page_bytes + random_() % k_page_bytes);
    }
    void change_all_words() {
        for (std::size_t at = 0; at < order_.size() * k_page_bytes; at += sizeof(std::uint64_t))
            flip(at);
    }

    /// Calls with the two pages of each pair, always in the same random order.
    template <class F>
    void for_each(const F& function) const {
        for (const std::size_t i : order_)
            function(before_ + i * k_page_bytes, after_ + i * k_page_bytes);
    }

private:
    static std::byte* map(std::size_t pages) {
        void* const got =
            ::mmap(nullptr, pages * k_page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (got == MAP_FAILED)
            throw std::runtime_error("no memory");
        ::madvise(got, pages * k_page_bytes, MADV_NOHUGEPAGE);
        return static_cast<std::byte*>(got);
    }
    void flip(std::size_t at) { after_[at] ^= std::byte{1}; }

    std::mt19937_64 random_{1};
    std::byte* before_;
    std::byte* after_;
    std::vector<std::size_t> order_;
};

/// Compares all pairs once; throws when the result is wrong.
using comparison = std::function<void()>;

comparison with_kernel(const view::diff_kernel& kernel, const page_pairs& pairs, const std::string& change) {
    const std::size_t ranges = change == k_unchanged ? 0 : 1;
    const std::size_t bytes = change == k_all_words ? k_page_bytes : view::k_diff_unit_bytes;
    return [&kernel, &pairs, ranges, bytes, found = std::vector<format::change_range>()]() mutable {
        std::size_t wrong = 0;
        pairs.for_each([&](const std::byte* before, const std::byte* after) {
            found.clear();
            view::diff_pages(kernel, before, after, found);
            wrong += std::size_t{found.size() != ranges || (ranges == 1 && found[0].bytes != bytes)};
        });
        if (wrong != 0)
            throw std::runtime_error(std::string(kernel.name) + " finds wrong differences");
    };
}

comparison with_memcmp(const page_pairs& pairs) {
    return [&pairs] {
        // Through a pointer, as a kernel is called, and so that no compiler knows what it does.
        int (*volatile const compare)(const void*, const void*, std::size_t) = std::memcmp;
        std::size_t wrong = 0;
        pairs.for_each([&](const std::byte* before, const std::byte* after) {
            wrong += std::size_t{compare(before, after, k_page_bytes) != 0};
        });
        if (wrong != 0)
            throw std::runtime_error("memcmp finds differences");
    };
}

double seconds_per_pair(const workload& work, const comparison& compare_all) {
    const bench::stopwatch watch;
    for (std::size_t round = 0; round < work.rounds; ++round)
        compare_all();
    return watch.cpu_seconds() / static_cast<double>(work.rounds * work.pairs);
}

/// All systems take turns over the same pages, since a shared processor's speed changes from one moment to the next.
/// Hands over a measurement for each, named after it.
void run_child(const workload& work, const std::string& change, const std::vector<std::string>& wanted) {
    page_pairs pairs(work.pairs);
    if (change == k_one_word)
        pairs.change_one_word();
    if (change == k_all_words)
        pairs.change_all_words();

    std::vector<std::pair<std::string, comparison>> systems;
    if (change == k_unchanged && bench::is_wanted(k_memcmp, wanted))
        systems.emplace_back(k_memcmp, with_memcmp(pairs));
    for (const view::diff_kernel& kernel : view::diff_kernels()) {
        if (kernel.is_supported() && bench::is_wanted(kernel.name, wanted))
            systems.emplace_back(kernel.name, with_kernel(kernel, pairs, change));
    }
    std::vector<std::vector<double>> seconds(systems.size());
    for (const auto& [name, compare_all] : systems)
        compare_all(); // unmeasured: warms what can be warm
    for (int i = 0; i < k_timings; ++i) {
        for (std::size_t s = 0; s < systems.size(); ++s)
            seconds[s].push_back(seconds_per_pair(work, systems[s].second));
    }
    for (std::size_t s = 0; s < systems.size(); ++s)
        bench::hand_over({systems[s].first, bench::median(seconds[s])});
}

void run_parent(const bench::options& chosen) {
    std::printf("%s", bench::machine_facts(chosen.dir).c_str());
    for (const view::diff_kernel& kernel : view::diff_kernels()) {
        if (!kernel.is_supported())
            std::printf("%s is left out: this machine does not support it\n", kernel.name);
    }
    std::fflush(stdout);
    bench::report report("diff", chosen, k_memcmp);
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const workload& work : all_workloads()) {
            if (!bench::is_wanted(work.name, chosen.workloads))
                continue;
            for (const char* const change : {k_unchanged, k_one_word, k_all_words}) {
                std::vector<std::string> words{work.name, change};
                words.insert(words.end(), chosen.only.begin(), chosen.only.end());
                for (const bench::measurement& result : bench::run_child(words))
                    report.add(result.op, work.name, work.pairs, {change, result.seconds});
            }
        }
    }
    report.finish();
}

void run_children(const std::vector<std::string>& words) {
    for (const workload& work : all_workloads()) {
        if (work.name == words.at(0))
            run_child(work, words.at(1), {words.begin() + 2, words.end()});
    }
}

} // namespace
} // namespace remanence

int main(int count, char* words[]) {
    return bench::run(count, words, "diff", remanence::k_purpose, remanence::run_parent, remanence::run_children);
}
