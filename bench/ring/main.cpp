// The ring of the old object stores: millions of small nodes with plain pointers, made, kept, opened again and walked.
#include "ring.hpp"

#include <harness.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace {

namespace fs = std::filesystem;

constexpr std::string_view k_purpose =
    R"(Measures a doubly linked ring of 5 million nodes (two pointers and an int, 24 bytes), as DOL, PPF and POST++ did.

  create        all nodes, each appended to the ring
  close         until all of it is on the device; memory is given back
  open          in a fresh process; nothing of the file is in the page cache
  count         the first walk around the ring, which reads what opening has not
  count again   the second one, in memory

The rows "device" are the same number of bytes, 120 MB, written and read by O_DIRECT in pieces of 4 MiB, and synced. Each
system writes a file of its own kind: the keys file_bytes and disk_bytes (allocated) of the JSON, in the rows of close.
)";

constexpr std::uint64_t k_sum = k_nodes * (k_nodes - 1) / 2;
constexpr std::size_t k_piece_bytes = std::size_t{4} << 20;
constexpr std::string_view k_device = "device";

std::vector<system_kind> all_systems() {
    return {
        malloc_system(),
        remanence_system(),
#ifdef BENCH_INTERPROCESS
        interprocess_system(),
#endif
    };
}

void check(bool done) {
    if (!done)
        throw std::system_error(errno, std::generic_category(), "a file of the benchmark");
}

class descriptor {
public:
    descriptor(const fs::path& file, int flags) : number_(::open(file.c_str(), flags | O_CLOEXEC, 0666)) {
        check(number_ >= 0);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() { ::close(number_); }
    [[nodiscard]] int number() const { return number_; }

private:
    int number_;
};

double disk_bytes(const fs::path& file) {
    struct stat is{};
    check(::stat(file.c_str(), &is) == 0);
    return 512.0 * static_cast<double>(is.st_blocks);
}

/// All of its pieces through one function, which returns the bytes that it moved.
template <class F>
double seconds_of_pieces(F move) {
    const std::unique_ptr<void, void (*)(void*)> piece(std::aligned_alloc(4096, k_piece_bytes), std::free);
    std::fill_n(static_cast<char*>(piece.get()), k_piece_bytes, 'x');
    const bench::stopwatch watch;
    for (std::uint64_t at = 0; at < k_nodes * sizeof(link_node); at += k_piece_bytes)
        check(move(piece.get(), at) == static_cast<ssize_t>(k_piece_bytes));
    return watch.seconds();
}

void measure_device(const fs::path& file) {
    {
        const descriptor out(file, O_WRONLY | O_CREAT | O_DIRECT);
        const bench::stopwatch watch;
        seconds_of_pieces([&](const void* piece, std::uint64_t at) {
            return ::pwrite(out.number(), piece, k_piece_bytes, static_cast<off_t>(at));
        });
        check(::fsync(out.number()) == 0);
        bench::hand_over({"close", watch.seconds()});
    }
    const descriptor in(file, O_RDONLY | O_DIRECT);
    bench::hand_over({"count", seconds_of_pieces([&](void* piece, std::uint64_t at) {
                          return ::pread(in.number(), piece, k_piece_bytes, static_cast<off_t>(at));
                      })});
}

void check_sum(std::uint64_t sum) {
    if (sum != k_sum)
        throw std::runtime_error("the ring does not hold what was put into it");
}

void create(const system_kind& system, const fs::path& file) {
    const bench::stopwatch watch;
    const std::unique_ptr<ring> made = system.create(file);
    bench::hand_over({"create", watch.seconds()});
    const bench::stopwatch closing;
    made->close();
    const double seconds = closing.seconds();
    bench::hand_over({"close",
                      seconds,
                      {{"file_bytes", static_cast<double>(fs::file_size(file))}, {"disk_bytes", disk_bytes(file)}}});
}

void open(const system_kind& system, const fs::path& file) {
    bench::drop_from_page_cache(file);
    const bench::stopwatch watch;
    const std::unique_ptr<ring> opened = system.open(file);
    bench::hand_over({"open", watch.seconds()});
    for (const char* op : {"count", "count again"}) {
        const bench::stopwatch walk;
        const std::uint64_t sum = opened->sum();
        bench::hand_over({op, walk.seconds()});
        check_sum(sum);
    }
    opened->close();
}

void run_child(const std::vector<std::string>& words) {
    const fs::path file = words.at(2);
    if (words.at(1) == k_device)
        return measure_device(file);
    for (const system_kind& system : all_systems()) {
        if (system.name == words.at(1))
            return words.at(0) == "create" ? create(system, file) : open(system, file);
    }
}

void run_parent(const bench::options& chosen) {
    bench::report report("ring", chosen, "malloc and fwrite");
    const bench::scratch_directory scratch(chosen.dir);
    std::vector<std::string> names{std::string(k_device)};
    for (const system_kind& system : all_systems())
        names.push_back(system.name);
    for (unsigned run = 0; run < chosen.runs; ++run) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            const std::string& name = names[(i + run) % names.size()];
            if (!bench::is_wanted(name, chosen.only))
                continue;
            bench::note(name);
            const fs::path file = scratch.path() / "ring";
            for (const char* const step : {"create", "open"}) {
                if (name == k_device && step == std::string_view("open"))
                    continue;
                for (const bench::measurement& result : bench::run_child({step, name, file}))
                    report.add(name, "5 million nodes", k_nodes, result);
            }
            fs::remove(file);
        }
    }
    report.finish();
}

} // namespace

int main(int count, char* words[]) { return bench::run(count, words, "ring", k_purpose, run_parent, run_child); }
