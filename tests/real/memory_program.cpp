// Builds, or changes, more of a heap than memory may hold, in ways that call the library seldom or not at all meanwhile.
// usage: memory_program build|build_async|build_zeros|in_section|in_lock|in_tried_lock|outside|async|in_parts|in_thin_parts|at_random|check PATH MEBIBYTES

#include <remanence/remanence.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using numbers = remanence::vector<std::uint64_t>;

void change(numbers& all, std::uint64_t by) {
    for (std::size_t i = 0; i < all.size(); ++i)
        all[i] = i + by;
}

/// One commit for each 32 MiB, in which one word of so many is changed.
void change_in_parts(remanence::heap& heap, numbers& all, std::size_t step, std::uint64_t by) {
    constexpr std::size_t k_part = std::size_t{32} * 1024 * 1024 / sizeof(std::uint64_t);
    for (std::size_t from = 0; from < all.size(); from += k_part) {
        for (std::size_t i = from; i < std::min(from + k_part, all.size()); i += step)
            all[i] = i + by;
        heap.commit();
    }
}

/// In one section, a word of every eighth page, in no order; and back again.
void change_at_random(remanence::heap& heap, numbers& all) {
    constexpr std::size_t k_stride = std::size_t{8} * 4096 / sizeof(std::uint64_t);
    const std::size_t count = all.size() / k_stride; // a power of two, so that an odd factor leads to each once
    for (const std::uint64_t change : {std::uint64_t{1}, ~std::uint64_t{0}}) {
        heap.write([&] {
            for (std::size_t i = 0; i < count; ++i)
                all[i * 40'503 % count * k_stride] += change;
        });
    }
}

void check(const numbers& all) {
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i] != all[0] + i)
            throw std::runtime_error("what was committed is lost");
    }
}

void run(std::string_view what, remanence::heap& heap, std::size_t words) {
    if (what == "build") {
        heap.root<numbers>("numbers", words, std::uint64_t{1});
        heap.commit();
    } else if (what == "build_async") {
        auto& all = heap.root<numbers>("numbers", words, std::uint64_t{1});
        auto ticket = heap.commit_async();
        change(all, 0);
        ticket.wait();
    } else if (what == "build_zeros") {
        heap.write([&] {
            auto& all = heap.root<numbers>("numbers");
            all.resize(words);
            change(all, 0);
        });
    }
    auto* const found = heap.find_root<numbers>("numbers");
    if (found == nullptr)
        throw std::runtime_error("nothing was built");
    numbers& all = *found;
    if (!what.starts_with("build"))
        check(all);
    if (what == "in_section") {
        for (std::uint64_t by = 1; by < 3; ++by)
            heap.write([&] { change(all, by); });
    } else if (what == "in_lock" || what == "in_tried_lock") {
        if (what == "in_lock")
            heap.lock();
        else if (!heap.try_lock())
            throw std::runtime_error("somebody else has the lock");
        change(all, 3);
        heap.commit();
        heap.unlock();
    } else if (what == "outside") {
        change(all, 4);
    } else if (what == "async") {
        change(all, 5);
        auto ticket = heap.commit_async();
        change(all, 6);
        ticket.wait();
    } else if (what == "in_parts") {
        for (std::uint64_t by = 7; by < 9; ++by)
            change_in_parts(heap, all, 1, by);
    } else if (what == "in_thin_parts") { // and back again
        constexpr std::size_t k_page = 4096 / sizeof(std::uint64_t);
        const std::uint64_t before = all[0];
        for (const std::uint64_t by : {before + 1, before})
            change_in_parts(heap, all, k_page, by);
    } else if (what == "at_random") {
        change_at_random(heap, all);
    } else if (what != "check" && !what.starts_with("build")) {
        throw std::runtime_error("there is no such thing to do");
    }
    heap.commit();
}

} // namespace

int main(int count, char** words) try {
    if (count != 4)
        return 2;
    // Where the kernel reads 8 MiB ahead, the scattered writes took minutes.
    remanence::heap heap =
        remanence::heap::open(words[2], {.memory = {.read_ahead = words[1] != std::string_view("at_random")}});
    run(words[1], heap, std::strtoull(words[3], nullptr, 10) * (std::uint64_t{1024} * 1024 / sizeof(std::uint64_t)));
    std::printf("spilled %llu MiB\n", static_cast<unsigned long long>(heap.stats().spilled_bytes >> 20));
    heap.close();
    return 0;
} catch (const std::exception& what) {
    std::fprintf(stderr, "%s\n", what.what());
    return 1;
}
