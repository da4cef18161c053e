// What malloc_test.py runs with another malloc: malloc_program PART. Exits with 0 when all is as it should be, else with the line.
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <malloc.h>
#include <pthread.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define EXPECT(holds)                                                                                                  \
    do {                                                                                                               \
        if (!(holds))                                                                                                  \
            ::_exit(__LINE__ % 256);                                                                                   \
    } while (false)

extern "C" void* pvalloc(std::size_t bytes);

namespace {

// Volatile: the compiler would warn.
const volatile std::size_t k_too_much = std::numeric_limits<std::size_t>::max();

bool is_multiple(const void* address, std::size_t of) { return reinterpret_cast<std::uintptr_t>(address) % of == 0; }

/// The whole family, with what is refused.
void family() {
    for (std::size_t bytes = 0; bytes < 300'000; bytes += 1 + bytes / 3) {
        auto* const block = static_cast<unsigned char*>(std::malloc(bytes));
        EXPECT(block != nullptr && is_multiple(block, 16));
        EXPECT(malloc_usable_size(block) >= bytes);
        std::memset(block, 0x77, malloc_usable_size(block));
        auto* const grown = static_cast<unsigned char*>(std::realloc(block, 2 * bytes + 1));
        EXPECT(grown != nullptr);
        for (std::size_t i = 0; i < bytes; ++i)
            EXPECT(grown[i] == 0x77);
        std::free(grown);
        auto* const zeros = static_cast<unsigned char*>(std::calloc(bytes + 1, 3));
        EXPECT(zeros != nullptr);
        for (std::size_t i = 0; i < 3 * (bytes + 1); ++i)
            EXPECT(zeros[i] == 0);
        std::free(zeros);
    }
    for (std::size_t alignment = 1; alignment <= std::size_t{1} << 30U; alignment *= 2) {
        for (const std::size_t bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{100'000}}) {
            void* const first = aligned_alloc(alignment, bytes);
            void* const second = memalign(alignment, bytes);
            void* third = nullptr;
            EXPECT(first != nullptr && is_multiple(first, alignment));
            EXPECT(second != nullptr && is_multiple(second, alignment));
            const bool is_valid = alignment >= sizeof(void*);
            EXPECT(posix_memalign(&third, alignment, bytes) == (is_valid ? 0 : EINVAL));
            EXPECT(is_valid ? third != nullptr && is_multiple(third, alignment) : third == nullptr);
            std::free(first);
            std::free(second);
            std::free(third);
        }
    }
    void* const page = valloc(10);
    void* const pages = pvalloc(10);
    EXPECT(is_multiple(page, 4096) && is_multiple(pages, 4096) && malloc_usable_size(pages) >= 4096);
    std::free(page);
    std::free(pages);

    errno = 0;
    EXPECT(std::malloc(k_too_much) == nullptr && errno == ENOMEM);
    errno = 0;
    EXPECT(std::calloc(k_too_much / 2, 3) == nullptr && errno == ENOMEM);
    void* const block = std::malloc(10);
    errno = 0;
    EXPECT(reallocarray(block, k_too_much / 2, 3) == nullptr && errno == ENOMEM);
    errno = 0;
    EXPECT(std::realloc(block, k_too_much / 2) == nullptr && errno == ENOMEM);
    errno = 0;
    EXPECT(aligned_alloc(24, 100) == nullptr && errno == EINVAL);
    errno = 0;
    EXPECT(pvalloc(k_too_much) == nullptr && errno == ENOMEM);
    EXPECT(reallocarray(block, 10, 10) != nullptr); // leaks on purpose: nobody minds
    std::free(nullptr);
    EXPECT(malloc_usable_size(nullptr) == 0);
    EXPECT(std::realloc(std::malloc(5), 0) == nullptr);
    errno = 5;
    std::free(std::malloc(1'000'000));
    EXPECT(errno == 5);
}

/// Threads that come and go by the thousand, and free what others allocated.
void threads() {
    std::array<std::atomic<char*>, 64> shared{};
    for (int round = 0; round != 1000; ++round) {
        std::array<std::thread, 3> some;
        for (std::size_t i = 0; i != some.size(); ++i) {
            some[i] = std::thread([&, i] {
                thread_local std::vector<char> at_exit(100); // freed behind the others
                for (std::size_t j = 0; j != 100; ++j) {
                    const std::size_t bytes = 1 + (j * 37 + i * 101) % 2000;
                    auto* const block = static_cast<char*>(std::malloc(bytes));
                    std::memset(block, static_cast<int>(bytes % 100), bytes);
                    std::free(shared[(j * 13 + i) % shared.size()].exchange(block));
                }
                at_exit[0] = 1;
            });
        }
        for (std::thread& each : some)
            each.join();
    }
    for (std::atomic<char*>& each : shared)
        std::free(each.exchange(nullptr));
}

/// Children that are forked while other threads allocate can allocate and free.
void forks() {
    std::atomic<bool> is_done = false;
    std::vector<std::thread> busy;
    for (int i = 0; i != 2; ++i) {
        busy.emplace_back([&] {
            for (std::size_t j = 0; !is_done; ++j)
                std::free(std::malloc(1 + j * 7919 % 200'000));
        });
    }
    void* const before = std::malloc(100);
    for (int round = 0; round != 200; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::free(before);
            std::thread([] { std::free(std::malloc(50)); }).join();
            for (std::size_t j = 0; j != 200; ++j)
                std::free(std::malloc(1 + j * 7919 % 200'000));
            ::_exit(0);
        }
        int status = -1;
        EXPECT(::waitpid(child, &status, 0) == child && status == 0);
    }
    is_done = true;
    for (std::thread& each : busy)
        each.join();
}

// The compiler must not see what is freed.
void* volatile hidden;
int not_from_malloc = 0;
void free_hidden() { std::free(hidden); }

void free_twice(std::size_t bytes) {
    hidden = std::malloc(bytes);
    free_hidden();
    free_hidden();
}

/// As glibc has it, for alignments that are none.
void odd_alignments() {
    for (const std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{24}, std::size_t{4097}}) {
        void* const block = memalign(alignment, 100);
        EXPECT(block != nullptr && is_multiple(block, alignment <= 16 ? 16 : std::bit_ceil(alignment)));
        std::free(block);
    }
    errno = 0;
    EXPECT(memalign(k_too_much, 100) == nullptr && errno == EINVAL);
}

/// What there is to be asked.
void numbers() {
    const auto before = mallinfo2();
    void* const small = std::malloc(1000);
    void* const large = std::malloc(10'000'000);
    const auto after = mallinfo2();
    EXPECT(after.uordblks >= before.uordblks + 1000);
    EXPECT(after.hblks == before.hblks + 1 && after.hblkhd >= before.hblkhd + 10'000'000);
    std::array<char, 100'000> text{};
    std::FILE* const into = fmemopen(text.data(), text.size(), "w");
    EXPECT(malloc_info(1, into) == EINVAL && malloc_info(0, into) == 0 && std::fclose(into) == 0);
    EXPECT(std::string_view(text.data()).starts_with("<malloc version=\"1\">") &&
           std::string_view(text.data()).ends_with("</malloc>\n"));
    malloc_stats();
    std::free(small);
    std::free(large);
}

std::size_t address_space_bytes() {
    std::size_t pages = 0;
    std::FILE* const from = std::fopen("/proc/self/statm", "r");
    EXPECT(std::fscanf(from, "%zu", &pages) == 1);
    std::fclose(from);
    return pages * 4096;
}

/// mlockall() counts the whole address space: what nobody has used yet must not be in there. Few may lock memory here: so by the size.
void locked() {
    std::free(std::malloc(1000));
    EXPECT(address_space_bytes() < 100'000'000);
    rlimit limit{};
    EXPECT(::getrlimit(RLIMIT_MEMLOCK, &limit) == 0);
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur < address_space_bytes() + 1'000'000)
        return;
    EXPECT(::getuid() != 0 || ::setresuid(65534, 65534, 65534) == 0); // root has no limit
    EXPECT(::mlockall(MCL_CURRENT | MCL_FUTURE) == 0);
    std::vector<void*> blocks;
    for (void* got = nullptr; (got = std::malloc(100'000)) != nullptr;)
        blocks.push_back(got);
    EXPECT(blocks.size() > 5 && blocks.size() * 100'000 < limit.rlim_cur);
    for (void* const each : blocks)
        std::free(each);
    void* const again = std::malloc(300'000);
    EXPECT(again != nullptr);
    std::free(again);
}

pthread_key_t last_key;
thread_local int rounds = 0;

/// The destructors of a thread's keys run in four rounds; what is allocated in the last one must not be lost with the thread.
void last_destructors() {
    pthread_key_create(&last_key, [](void* block) {
        std::free(block);
        for (std::size_t i = 1; i < 20; ++i) {
            void* const volatile other = std::malloc(i * 37);
            std::free(other);
        }
        if (++rounds < 4)
            pthread_setspecific(last_key, std::malloc(50));
    });
    const auto resident = [] {
        long all = 0;
        long pages = 0;
        std::FILE* const from = std::fopen("/proc/self/statm", "r");
        EXPECT(std::fscanf(from, "%ld %ld", &all, &pages) == 2);
        std::fclose(from);
        return pages;
    };
    long first = 0;
    for (int i = 0; i != 5000; ++i) {
        pthread_t thread{};
        const auto run = [](void*) -> void* {
            pthread_setspecific(last_key, std::malloc(100));
            return nullptr;
        };
        EXPECT(pthread_create(&thread, nullptr, run, nullptr) == 0);
        pthread_join(thread, nullptr);
        if (i == 200)
            first = resident();
    }
    EXPECT(resident() < first + 2000);
}

/// fork() and fflush(nullptr) lock all streams, and who has a stream allocates.
void streams() {
    std::atomic<bool> stops = false;
    char name[] = "/tmp/streams_XXXXXX";
    const int file = mkstemp(name);
    const std::string line(50'000, 'x');
    EXPECT(::write(file, (line + '\n').c_str(), line.size() + 1) > 0);
    std::thread flusher([&] {
        while (!stops)
            std::fflush(nullptr);
    });
    std::vector<std::thread> readers;
    for (int i = 0; i != 2; ++i)
        readers.emplace_back([&] {
            std::FILE* const from = std::fopen(name, "r");
            while (!stops) {
                std::rewind(from);
                char* text = nullptr;
                std::size_t room = 0;
                EXPECT(getline(&text, &room, from) > 0);
                std::free(text);
            }
            std::fclose(from);
        });
    for (int i = 0; i != 500; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::free(std::malloc(100));
            std::fflush(nullptr);
            ::_exit(0);
        }
        int status = 1;
        EXPECT(::waitpid(child, &status, 0) == child && status == 0);
    }
    stops = true;
    flusher.join();
    for (std::thread& each : readers)
        each.join();
    ::unlink(name);
}

volatile std::sig_atomic_t forks_of_handler = 0;

/// A handler that forks may interrupt fork().
void forking_handler() {
    std::signal(SIGPROF, [](int) {
        if (forks_of_handler >= 100)
            return;
        forks_of_handler = forks_of_handler + 1;
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(0);
        while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
    });
    void* const volatile first = std::malloc(4);
    const itimerval often{{0, 300}, {0, 300}};
    ::setitimer(ITIMER_PROF, &often, nullptr);
    while (forks_of_handler < 100) {
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(0);
        while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    forks_of_handler = 0; // and now in the midst of malloc() and free()
    for (std::size_t i = 0; forks_of_handler < 100; ++i) {
        void* const volatile block = std::malloc(100'000 + i % 1000);
        std::free(block);
    }
    const itimerval never{};
    ::setitimer(ITIMER_PROF, &never, nullptr);
    std::free(first);
}

} // namespace

int main(int argc, char** argv) {
    const std::string_view part = argc > 1 ? argv[1] : "";
    if (part == "family")
        family();
    else if (part == "threads")
        threads();
    else if (part == "forks")
        forks();
    else if (part == "odd-alignments")
        odd_alignments();
    else if (part == "numbers")
        numbers();
    else if (part == "locked")
        locked();
    else if (part == "last-destructors")
        last_destructors();
    else if (part == "streams")
        streams();
    else if (part == "forking-handler")
        forking_handler();
    else if (part == "twice-small")
        free_twice(40);
    else if (part == "twice-large")
        free_twice(500'000);
    else if (part == "inside")
        hidden = static_cast<char*>(std::malloc(100)) + 8, free_hidden();
    else if (part == "foreign")
        hidden = &not_from_malloc, free_hidden();
    else
        return 255;
    return 0;
}
