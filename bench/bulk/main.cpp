// Commits of gigabytes, beside the device's own bandwidth in the same run.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <vector>

/// In a named scope, as what a root is must be.
struct bulk_root {
    std::byte* memory;
    std::uint64_t bytes;
};

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose = R"(Measures one commit each that changes much of a heap of 4 GiB.

  fresh            all of it, for the first time
  rewritten        all of it, which is committed
  every other page all bytes of them
  1 % of pages     all bytes of them, drawn at random

  commit       until it is durable
  checkpoint   right after it, so that the image has everything and the log is empty again

The row "device" writes as many bytes as changed, in the same file system, from memory to space that was reserved: pieces of
4 MiB with O_DIRECT, one after the other, then fdatasync. Keys in the JSON: bytes_per_second, changed_bytes, and
written_bytes, to heap file and log, of the commit and of the checkpoint. REMANENCE_BULK_MIB=n makes it n MiB.
)";

constexpr std::uint64_t k_page_bytes = 4096;

std::uint64_t heap_bytes() {
    const char* const chosen = std::getenv("REMANENCE_BULK_MIB");
    return (chosen != nullptr ? std::strtoull(chosen, nullptr, 10) : 4096) << 20;
}

constexpr std::array<std::string_view, 4> k_workloads{"fresh", "rewritten", "every other page", "1 % of pages"};

/// The pages that a workload changes.
std::vector<std::uint64_t> pages_of(std::string_view workload) {
    const std::uint64_t all = heap_bytes() / k_page_bytes;
    std::vector<std::uint64_t> pages;
    const std::uint64_t step = workload == "every other page" ? 2 : workload == "1 % of pages" ? 100 : 1;
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < all / step; ++i)
        pages.push_back(step == 100 ? random() % all : i * step);
    std::ranges::sort(pages);
    pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
    return pages;
}

void fill(std::byte* page, std::uint64_t seed) {
    for (std::uint64_t at = 0; at < k_page_bytes; at += sizeof seed) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        std::memcpy(page + at, &seed, sizeof seed);
    }
}

void measure_heap(const fs::path& file, std::string_view workload) {
    const bool is_fresh = workload == "fresh";
    rem::heap heap = is_fresh ? rem::heap::create(file) : rem::heap::open_existing(file);
    auto& root = heap.root<bulk_root>("memory");
    if (is_fresh) {
        heap.write([&] {
            root.memory = rem::allocator<std::byte>().allocate(heap_bytes());
            root.bytes = heap_bytes();
        });
    }
    const std::vector<std::uint64_t> pages = pages_of(workload);
    for (const std::uint64_t page : pages)
        fill(root.memory + page * k_page_bytes, page * 4 + static_cast<std::uint64_t>(workload.size()));
    if (!is_fresh)
        heap.checkpoint(); // of the root, if it was made
    const rem::heap_stats before = heap.stats();
    const bench::stopwatch committing;
    heap.commit();
    const double commit_seconds = committing.seconds();
    const rem::heap_stats between = heap.stats();
    const bench::stopwatch applying;
    heap.checkpoint();
    const double checkpoint_seconds = applying.seconds();
    const rem::heap_stats after = heap.stats();
    const auto changed = static_cast<double>(pages.size() * k_page_bytes);
    bench::hand_over({"commit",
                      commit_seconds,
                      {{"changed_bytes", changed},
                       {"written_bytes", static_cast<double>(between.written_bytes - before.written_bytes)},
                       {"bytes_per_second", changed / commit_seconds}}});
    bench::hand_over({"checkpoint",
                      checkpoint_seconds,
                      {{"written_bytes", static_cast<double>(after.written_bytes - between.written_bytes)}}});
    heap.close();
}

void check(bool done) {
    if (!done)
        throw std::system_error(errno, std::generic_category(), "the device's file");
}

void measure_device(const fs::path& file, std::string_view workload) {
    constexpr std::size_t k_piece_bytes = std::size_t{4} << 20;
    const std::uint64_t bytes = pages_of(workload).size() * k_page_bytes / k_piece_bytes * k_piece_bytes;
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0666);
    check(descriptor >= 0);
    check(::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)) == 0);
    const std::unique_ptr<std::byte, decltype(&std::free)> piece(
        static_cast<std::byte*>(std::aligned_alloc(k_page_bytes, k_piece_bytes)), &std::free);
    for (std::size_t at = 0; at < k_piece_bytes; at += k_page_bytes)
        fill(piece.get() + at, at);
    const bench::stopwatch watch;
    for (std::uint64_t at = 0; at < bytes; at += k_piece_bytes)
        check(::pwrite(descriptor, piece.get(), k_piece_bytes, static_cast<off_t>(at)) ==
              static_cast<ssize_t>(k_piece_bytes));
    check(::fdatasync(descriptor) == 0);
    const double seconds = watch.seconds();
    ::close(descriptor);
    fs::remove(file);
    bench::hand_over(
        {"commit",
         seconds,
         {{"written_bytes", static_cast<double>(bytes)}, {"bytes_per_second", static_cast<double>(bytes) / seconds}}});
}

void run_child(const std::vector<std::string>& words) {
    if (words.at(0) == "device")
        measure_device(words.at(1), words.at(2));
    else
        measure_heap(words.at(1), words.at(2));
}

void run_parent(const bench::options& chosen) {
    bench::report report("bulk", chosen, "device");
    for (unsigned run = 0; run < chosen.runs; ++run) {
        const bench::scratch_directory scratch(chosen.dir);
        for (const std::string_view each : k_workloads) {
            const std::string workload(each);
            if (workload != "fresh" && !bench::is_wanted(workload, chosen.workloads))
                continue;
            for (const std::string system : {"device", "remanence"}) {
                bench::note(workload + ": " + system);
                for (const bench::measurement& result : bench::run_child(
                         {system, scratch.path() / (system == "device" ? "device" : "heap.rem"), workload}))
                    report.add(system, workload, pages_of(workload).size(), result);
            }
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "bulk", k_purpose, run_parent, run_child); }
