// The usual workloads for allocators, each written from its published description: allocator_workload NAME [THREADS].
// Each does a fixed amount of work, so its time and its peak of memory can be compared.
#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

/// xorshift: the same numbers everywhere, and cheap beside an allocation.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15U + 1) {}
    std::uint64_t next() {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        return state_;
    }
    std::size_t below(std::size_t end) { return (next() >> 32U) * end >> 32U; }

private:
    std::uint64_t state_;
};

template <class F>
void run_threads(int count, const F& f) {
    std::vector<std::thread> threads;
    for (int i = 0; i != count; ++i)
        threads.emplace_back(f, i);
    for (std::thread& each : threads)
        each.join();
}

char* filled(std::size_t bytes) {
    auto* const got = static_cast<char*>(std::malloc(bytes));
    if (got == nullptr)
        std::abort();
    got[0] = 1;
    got[bytes / 2] = 2;
    got[bytes - 1] = 3;
    return got;
}

// --- one thread

/// Factoring by continued fractions: short-lived numbers of few digits, most of which die young, in the order of a stack.
void cfrac(int) {
    random_numbers random(1);
    std::array<char*, 64> live{};
    std::size_t depth = 0;
    for (int i = 0; i != 40'000'000; ++i) {
        if (depth != 0 && (depth == live.size() || random.next() % 2 == 0)) {
            std::free(live[--depth]);
        } else {
            live[depth] = static_cast<char*>(std::malloc(8 + random.next() % 40));
            live[depth++][0] = 1;
        }
    }
    while (depth != 0)
        std::free(live[--depth]);
}

/// As MicroQuill's sh6bench: batches of blocks of a size, freed in the order of allocation, in the reverse one, or every other.
void sh6(int) {
    constexpr std::size_t k_batch = 1000;
    std::vector<char*> blocks(k_batch);
    std::vector<char*> kept;
    random_numbers random(6);
    for (int round = 0; round != 20'000; ++round) {
        const std::size_t bytes = 8 + random.below(round % 16 == 0 ? 1000 : 120);
        for (char*& each : blocks)
            each = filled(bytes);
        if (round % 3 == 0) {
            for (char* const each : blocks)
                std::free(each);
        } else if (round % 3 == 1) {
            for (std::size_t i = k_batch; i-- != 0;)
                std::free(blocks[i]);
        } else {
            for (std::size_t i = 0; i != k_batch; i += 2)
                std::free(blocks[i]);
            for (std::size_t i = 1; i < k_batch; i += 2)
                kept.push_back(blocks[i]);
        }
        if (kept.size() > 50'000) {
            for (char* const each : kept)
                std::free(each);
            kept.clear();
        }
    }
    for (char* const each : kept)
        std::free(each);
}

/// As glibc's bench-malloc-simple: many blocks of one size, then all of them freed; all sizes in turn.
void simple(int) {
    std::vector<char*> blocks(1600);
    for (int round = 0; round != 1200; ++round) {
        for (std::size_t bytes = 8; bytes <= 4096; bytes *= 2) {
            const std::size_t count = blocks.size() >> (round % 3 * 3);
            for (std::size_t i = 0; i != count; ++i)
                blocks[i] = filled(bytes);
            for (std::size_t i = 0; i != count; ++i)
                std::free(blocks[i]);
        }
    }
}

/// Trees, strings and vectors that grow, as programs have them.
void containers(int) {
    random_numbers random(9);
    std::map<std::uint64_t, std::string> names;
    for (int i = 0; i != 1'500'000; ++i) {
        const std::uint64_t key = random.below(200'000);
        if (random.next() % 3 == 0)
            names.erase(key);
        else
            names[key] = std::string(random.below(60), 'x');
    }
}

/// Buffers of many pages that grow by realloc().
void growth(int) {
    random_numbers random(5);
    std::array<char*, 16> buffers{};
    std::array<std::size_t, 16> sizes{};
    for (int i = 0; i != 4000; ++i) {
        const std::size_t which = random.below(buffers.size());
        const std::size_t more = 1 + random.below(512 * 1024);
        if (sizes[which] > 24U << 20U) {
            std::free(buffers[which]);
            buffers[which] = nullptr;
            sizes[which] = 0;
        }
        buffers[which] = static_cast<char*>(std::realloc(buffers[which], sizes[which] + more));
        std::memset(buffers[which] + sizes[which], i, more);
        sizes[which] += more;
    }
    for (char* const each : buffers)
        std::free(each);
}

// --- several threads

/// Larson and Krishnan: a server whose threads replace random blocks, end, and leave their blocks to the next thread.
void larson(int threads) {
    constexpr std::size_t k_slots = 5000;
    constexpr int k_generations = 30;
    run_threads(threads, [](int number) {
        std::vector<char*> slots(k_slots);
        random_numbers sizes(static_cast<std::uint64_t>(number) + 1);
        for (char*& each : slots)
            each = filled(8 + sizes.below(500));
        for (int generation = 0; generation != k_generations; ++generation) {
            std::thread([&, generation] {
                random_numbers random(static_cast<std::uint64_t>(number * 1000 + generation));
                for (int i = 0; i != 200'000; ++i) {
                    char*& slot = slots[random.below(k_slots)];
                    std::free(slot);
                    slot = filled(8 + random.below(500));
                }
            }).join();
        }
        for (char* const each : slots)
            std::free(each);
    });
}

/// Lever and Boreham: half of the threads allocate, the others free what they are given, in batches.
void xmalloc(int threads) {
    constexpr std::size_t k_batch = 4096;
    constexpr int k_batches = 900;
    using batch = std::array<char*, k_batch>;
    std::mutex lock;
    std::condition_variable changed;
    std::deque<batch*> queue;
    std::atomic<int> left = k_batches;
    std::atomic<int> taken = 0;
    run_threads(std::max(threads, 2), [&](int number) {
        if (number % 2 == 0) {
            random_numbers random(static_cast<std::uint64_t>(number) + 3);
            while (left.fetch_sub(1) > 0) {
                auto* const made = static_cast<batch*>(std::malloc(sizeof(batch)));
                for (char*& each : *made)
                    each = filled(16 + random.below(300));
                std::unique_lock held(lock);
                changed.wait(held, [&] { return queue.size() < 8; });
                queue.push_back(made);
                changed.notify_all();
            }
            return;
        }
        while (taken.fetch_add(1) < k_batches) {
            batch* got = nullptr;
            {
                std::unique_lock held(lock);
                changed.wait(held, [&] { return !queue.empty(); });
                got = queue.front();
                queue.pop_front();
                changed.notify_all();
            }
            for (char* const each : *got)
                std::free(each);
            std::free(got);
        }
    });
}

/// Berger: threads write to small blocks of their own. `scratch`: the first ones lay beside each other.
void write_to_small_blocks(int threads, bool is_scratch) {
    std::vector<char*> first;
    for (int i = 0; i != threads; ++i)
        first.push_back(static_cast<char*>(std::malloc(8)));
    run_threads(threads, [&](int number) {
        if (is_scratch)
            std::free(first[static_cast<std::size_t>(number)]);
        for (int i = 0; i != 40'000; ++i) {
            auto* const block = static_cast<volatile char*>(std::malloc(8));
            for (int write = 0; write != 1000; ++write) {
                for (int byte = 0; byte != 8; ++byte)
                    block[byte] = static_cast<char>(block[byte] + 1);
            }
            std::free(const_cast<char*>(block));
        }
    });
    if (!is_scratch) {
        for (char* const each : first)
            std::free(each);
    }
}
void cache_scratch(int threads) { write_to_small_blocks(threads, true); }
void cache_thrash(int threads) { write_to_small_blocks(threads, false); }

/// Berger's threadtest: each thread allocates many blocks of one size and frees them, again and again.
void threadtest(int threads) {
    run_threads(threads, [&](int) {
        std::vector<char*> blocks(100'000 / static_cast<std::size_t>(threads));
        for (int round = 0; round != 200; ++round) {
            for (char*& each : blocks)
                each = filled(64);
            for (char* const each : blocks)
                std::free(each);
        }
    });
}

/// Leijen's mstress: objects of sizes by a power law; some are kept, and some handed to whoever wants them.
void mstress(int threads) {
    constexpr std::size_t k_transfers = 1000;
    std::vector<std::atomic<char*>> transfers(k_transfers);
    for (int round = 0; round != 30; ++round) {
        run_threads(threads, [&](int number) {
            random_numbers random(static_cast<std::uint64_t>(round * 100 + number) + 1);
            std::vector<char*> kept;
            for (int i = 0; i != 60'000; ++i) {
                const std::uint64_t luck = random.next() % 1000;
                std::size_t bytes = 8 * (1 + random.below(8));
                bytes *= luck < 5 ? 1000 : luck < 50 ? 100 : luck < 250 ? 10 : 1;
                char* const made = filled(bytes);
                if (random.next() % 4 == 0)
                    kept.push_back(made);
                else
                    std::free(transfers[random.below(k_transfers)].exchange(made));
            }
            for (char* const each : kept)
                std::free(each);
        });
        for (std::size_t i = 0; round % 4 == 0 && i != k_transfers; ++i)
            std::free(transfers[i].exchange(nullptr));
    }
    for (std::atomic<char*>& each : transfers)
        std::free(each.exchange(nullptr));
}

/// As rpmalloc's benchmark: sizes up to 16 KiB, spread linearly, blocks replaced in cycles, some freed by the neighbour.
void rptest(int threads) {
    std::vector<std::vector<char*>> given(static_cast<std::size_t>(threads));
    std::mutex lock;
    run_threads(threads, [&](int number) {
        random_numbers random(static_cast<std::uint64_t>(number) + 11);
        std::vector<char*> blocks(2000);
        for (int round = 0; round != 400; ++round) {
            for (std::size_t i = 0; i < blocks.size(); i += 1 + random.below(3)) {
                std::free(blocks[i]);
                blocks[i] = filled(16 + random.below(16'000));
            }
            if (round % 8 != 0)
                continue;
            std::vector<char*> foreign;
            const std::scoped_lock held(lock);
            foreign.swap(given[static_cast<std::size_t>(number)]);
            for (char* const each : foreign)
                std::free(each);
            auto& neighbour = given[static_cast<std::size_t>((number + 1) % threads)];
            for (std::size_t i = 0; i < blocks.size(); i += 20)
                neighbour.push_back(std::exchange(blocks[i], nullptr));
        }
        for (char* const each : blocks)
            std::free(each);
    });
    for (const std::vector<char*>& left : given) {
        for (char* const each : left)
            std::free(each);
    }
}

/// As sh8bench: sh6 in threads, and what one allocates another frees.
void sh8(int threads) {
    std::vector<std::vector<char*>> shelves(static_cast<std::size_t>(threads));
    std::mutex lock;
    run_threads(threads, [&](int number) {
        random_numbers random(static_cast<std::uint64_t>(number) + 8);
        for (int round = 0; round != 6000; ++round) {
            std::vector<char*> batch(500);
            for (char*& each : batch)
                each = filled(8 + random.below(200));
            {
                const std::scoped_lock held(lock);
                batch.swap(shelves[random.below(shelves.size())]);
            }
            for (char* const each : batch)
                std::free(each);
        }
    });
    for (const std::vector<char*>& left : shelves) {
        for (char* const each : left)
            std::free(each);
    }
}

/// Threads that live for a few allocations.
void churn_of_threads(int) {
    for (int round = 0; round != 8000; ++round) {
        std::thread([] {
            std::array<char*, 50> blocks{};
            for (std::size_t i = 0; i != blocks.size(); ++i)
                blocks[i] = filled(16 + i * 20);
            for (char* const each : blocks)
                std::free(each);
        }).join();
    }
}

const std::vector<std::pair<std::string, void (*)(int)>> k_workloads = {
    {"cfrac", cfrac},
    {"sh6", sh6},
    {"simple", simple},
    {"containers", containers},
    {"growth", growth},
    {"larson", larson},
    {"xmalloc", xmalloc},
    {"cache-scratch", cache_scratch},
    {"cache-thrash", cache_thrash},
    {"threadtest", threadtest},
    {"mstress", mstress},
    {"rptest", rptest},
    {"sh8", sh8},
    {"thread-churn", churn_of_threads},
};

} // namespace

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "";
    for (const auto& [each, run] : k_workloads) {
        if (name == "list")
            std::puts(each.c_str());
        else if (name == each)
            return run(argc > 2 ? std::atoi(argv[2]) : 2), 0;
    }
    return name == "list" ? 0 : 2;
}
