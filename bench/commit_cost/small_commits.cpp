#include "small_commits.hpp"

#include <harness.hpp>

#include <remanence/remanence.hpp>

#include <random>
#include <stdexcept>

namespace {

namespace rem = remanence;
using bytes = rem::vector<char>;

constexpr std::size_t k_page_bytes = 4096;
constexpr std::size_t k_bytes = k_small_pages * k_page_bytes;
constexpr std::size_t k_changed_bytes = 100;
constexpr std::size_t k_pages_of_one_read = 100; // in the heap that was opened anew
constexpr int k_warm_up = 1000;
constexpr int k_commits = 1000;

class changes {
public:
    changes(rem::heap& heap, bool is_declared)
        : heap_(heap), all_(*heap.find_root<bytes>("bytes")), is_declared_(is_declared) {}

    /// `name` begins the names of the operations.
    void measure(const std::string& name, int warm_up) {
        for (int i = 0; i < warm_up; ++i)
            commit();
        const std::uint64_t before = heap_.version();
        const bench::stopwatch watch;
        for (int i = 0; i < k_commits; ++i)
            commit();
        const double cpu = watch.cpu_seconds() / k_commits;
        const double wall = watch.seconds() / k_commits;
        if (heap_.version() != before + k_commits)
            throw std::runtime_error("not every commit was one");
        bench::hand_over({name + "commit", wall});
        bench::hand_over({name + "CPU", cpu});
    }

private:
    void commit() {
        const auto change = [&] {
            char* const at = all_.data() + random_() % (k_bytes - k_changed_bytes);
            if (is_declared_)
                heap_.touch(at, k_changed_bytes);
            for (std::size_t i = 0; i < k_changed_bytes; ++i)
                at[i] = static_cast<char>(random_());
        };
        if (is_declared_)
            heap_.write(rem::declared, change);
        else
            heap_.write(change);
    }

    rem::heap& heap_;
    bytes& all_;
    bool is_declared_;
    std::mt19937_64 random_{std::random_device{}()};
};

/// One in `one_of` pages.
void read_pages(const bytes& all, std::size_t one_of) {
    std::mt19937_64 random(2);
    long sum = 0;
    for (std::size_t at = 0; at < all.size(); at += k_page_bytes)
        sum += random() % one_of == 0 ? all[at] : 0;
    if (sum == 0)
        throw std::runtime_error("the heap holds nothing");
}

} // namespace

void measure_small_commits(const std::filesystem::path& directory, bool is_declared) {
    const std::filesystem::path file = directory / "bytes.rem";
    const rem::heap_options options{.commits = rem::durability::lazy}; // so that no device is measured
    {
        rem::heap heap = rem::heap::create(file, options);
        heap.write([&] { heap.root<bytes>("bytes").resize(k_bytes, 1); });
        heap.checkpoint();
        changes(heap, is_declared).measure("", k_warm_up);
        heap.close();
    }
    rem::heap heap = rem::heap::open_existing(file, options);
    read_pages(*heap.find_root<bytes>("bytes"), k_pages_of_one_read);
    changes(heap, is_declared).measure("reopened, ", k_warm_up / 5);
    heap.close();
}
