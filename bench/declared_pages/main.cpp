// Durable declared sections of whole pages, beside the same bytes written raw.
#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

/// In a named scope, as what a root is must be.
struct pages_root {
    std::byte* memory;
};

namespace {

namespace fs = std::filesystem;
namespace rem = remanence;

constexpr std::string_view k_purpose =
    R"(Measures durable transactions that write 1 to 4,096 whole pages each, at random
places of 256 MiB, by 1, 2, 4 and 8 threads, each with an eighth of the pages as its own. The grid is the one of the paper on MemSnap.
Seconds are those of the whole divided by the number of transactions of all threads.

  remanence    a declared section each; checkpoints run beside them, and write the same pages a second time
  device       as many bytes by one pwrite each, with O_DIRECT and O_DSYNC, to space that was written before, an area for each thread
)";

constexpr std::uint64_t k_page_bytes = 4096;
constexpr std::uint64_t k_pages = (std::uint64_t{256} << 20) / k_page_bytes;
constexpr std::array<unsigned, 4> k_threads = {1, 2, 4, 8};
constexpr std::uint64_t k_pages_of_a_thread = k_pages / k_threads.back();
constexpr std::array<std::uint64_t, 7> k_counts = {1, 4, 16, 64, 256, 1024, 4096};
constexpr std::chrono::milliseconds k_measured{500}; // with each number of threads

void check(bool done, const char* what) {
    if (!done)
        throw std::system_error(errno, std::generic_category(), what);
}

void fill(std::byte* page, std::uint64_t seed) {
    for (std::uint64_t at = 0; at < k_page_bytes; at += sizeof seed) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        std::memcpy(page + at, &seed, sizeof seed);
    }
}

struct freed {
    void operator()(std::byte* memory) const { std::free(memory); }
};
using pages_in_memory = std::unique_ptr<std::byte, freed>;

/// Writes so many pages durably; each thread has its own.
class system {
public:
    system() = default;
    system(const system&) = delete;
    system& operator=(const system&) = delete;
    virtual ~system() = default;
    virtual void write(unsigned thread, std::uint64_t pages, std::mt19937_64& random) = 0;
    virtual void close() {}
};

class heap_system final : public system {
public:
    explicit heap_system(const fs::path& directory) : heap_(rem::heap::create(directory / "pages.rem")) {
        auto& root = heap_.root<pages_root>("pages");
        heap_.write([&] { root.memory = rem::allocator<std::byte>().allocate((k_pages + 1) * k_page_bytes); });
        const std::uint64_t over = reinterpret_cast<std::uintptr_t>(root.memory) % k_page_bytes;
        memory_ = root.memory + (over == 0 ? 0 : k_page_bytes - over);
        heap_.write([&] {
            for (std::uint64_t page = 0; page < k_pages; ++page)
                fill(memory_ + page * k_page_bytes, page);
        });
        heap_.checkpoint();
    }
    void write(unsigned thread, std::uint64_t pages, std::mt19937_64& random) override {
        heap_.write(rem::declared, [&] {
            const std::uint64_t step = k_pages_of_a_thread / pages; // so that none is drawn twice
            const std::uint64_t first = random();
            for (std::uint64_t i = 0; i < pages; ++i) {
                const std::uint64_t own = (first + i * step) % k_pages_of_a_thread;
                std::byte* const page = memory_ + (thread * k_pages_of_a_thread + own) * k_page_bytes;
                heap_.touch(page, k_page_bytes);
                fill(page, random());
            }
        });
    }
    void close() override { heap_.close(); }

private:
    rem::heap heap_;
    std::byte* memory_ = nullptr;
};

class device_system final : public system {
public:
    explicit device_system(const fs::path& directory) {
        descriptor_ = ::open((directory / "device").c_str(), O_RDWR | O_CREAT | O_DIRECT | O_DSYNC | O_CLOEXEC, 0666);
        check(descriptor_ >= 0, "open");
        for (pages_in_memory& each : contents_) {
            each.reset(static_cast<std::byte*>(std::aligned_alloc(k_page_bytes, k_counts.back() * k_page_bytes)));
            for (std::uint64_t page = 0; page < k_counts.back(); ++page)
                fill(each.get() + page * k_page_bytes, page);
        }
        for (std::uint64_t page = 0; page < k_pages; page += k_counts.back())
            write_at(0, page, k_counts.back());
    }
    ~device_system() override { ::close(descriptor_); }
    void write(unsigned thread, std::uint64_t pages, std::mt19937_64& random) override {
        std::uint64_t& at = next_[thread].page; // one transaction behind the other, as a log is written
        if (at + pages > k_pages_of_a_thread)
            at = 0;
        for (std::uint64_t i = 0; i < pages; ++i) // it costs the other system time, too
            fill(contents_[thread].get() + i * k_page_bytes, random());
        write_at(thread, thread * k_pages_of_a_thread + at, pages);
        at += pages;
    }

private:
    struct alignas(64) position {
        std::uint64_t page = 0;
    };
    void write_at(unsigned thread, std::uint64_t page, std::uint64_t pages) {
        const std::size_t bytes = pages * k_page_bytes;
        const auto written =
            ::pwrite(descriptor_, contents_[thread].get(), bytes, static_cast<off_t>(page * k_page_bytes));
        check(written == static_cast<ssize_t>(bytes), "pwrite");
    }
    int descriptor_ = -1;
    std::array<pages_in_memory, k_threads.back()> contents_;
    std::array<position, k_threads.back()> next_{};
};

std::unique_ptr<system> make(const std::string& name, const fs::path& directory) {
    if (name == "device")
        return std::make_unique<device_system>(directory);
    return std::make_unique<heap_system>(directory);
}

void measure(system& of, std::uint64_t pages, unsigned threads) {
    const bench::work_done done = bench::repeat_in_threads(threads, k_measured, [&](unsigned thread) {
        return [&, thread, random = std::mt19937_64(thread)]() mutable { of.write(thread, pages, random); };
    });
    const auto number = static_cast<double>(done.times);
    bench::hand_over({std::to_string(threads) + (threads == 1 ? " thread" : " threads"),
                      done.seconds / number,
                      {{"bytes_per_second", number * static_cast<double>(pages * k_page_bytes) / done.seconds}}});
}

std::string name_of(std::uint64_t pages) { return std::to_string(pages) + (pages == 1 ? " page" : " pages"); }

/// The words are the system, its directory, and the numbers of pages. What is handed over says which number it is of.
void run_child(const std::vector<std::string>& words) {
    const std::unique_ptr<system> measured = make(words.at(0), words.at(1));
    // Warm: each page has been written, and the files have the sizes that they keep.
    constexpr std::uint64_t k_passes = 3;
    constexpr std::uint64_t k_at_once = 256;
    std::mt19937_64 random(0);
    for (std::uint64_t i = 0; i < k_passes * k_pages / k_at_once; ++i)
        measured->write(static_cast<unsigned>(i % k_threads.back()), k_at_once, random);
    for (std::size_t i = 2; i < words.size(); ++i) {
        for (const unsigned threads : k_threads)
            measure(*measured, std::stoull(words[i]), threads);
    }
    measured->close();
}

void run_parent(const bench::options& chosen) {
    bench::report report("declared_pages", chosen, "device");
    std::vector<std::string> counts;
    for (const std::uint64_t pages : k_counts) {
        if (bench::is_wanted(name_of(pages), chosen.workloads))
            counts.push_back(std::to_string(pages));
    }
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (const std::string system : {"device", "remanence"}) {
            if (!bench::is_wanted(system, chosen.only))
                continue;
            const bench::scratch_directory scratch(chosen.dir);
            bench::note(system + ", run " + std::to_string(run + 1));
            std::vector<std::string> words{system, scratch.path()};
            words.insert(words.end(), counts.begin(), counts.end());
            const std::vector<bench::measurement> results = bench::run_child(words);
            for (std::size_t i = 0; i < results.size(); ++i) {
                const std::uint64_t pages = std::stoull(counts.at(i / k_threads.size()));
                report.add(system, name_of(pages), pages, results[i]);
            }
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) {
    return bench::run(count, words, "declared_pages", k_purpose, run_parent, run_child);
}
