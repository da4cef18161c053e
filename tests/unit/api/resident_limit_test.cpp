// Limits of resident memory: of a heap, and of an arena. What the file has is evicted, what it lacks stays, and nothing is lost.
#include "fixture.hpp"

#include "api/heap_impl.hpp"
#include "support/seed.hpp"

#include <remanence/arena.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace remanence::test::limits_of_memory {
namespace {

constexpr std::uint64_t k_limit = 4 * MiB;
constexpr std::size_t k_in_page = k_page_bytes / sizeof(std::uint64_t);
constexpr std::size_t k_count = 16 * MiB / sizeof(std::uint64_t); // four times the limit

heap_options limited(std::uint64_t bytes = k_limit) {
    heap_options options = small_heap();
    options.memory.resident_limit_bytes = bytes;
    return options;
}

void fill(heap& h, numbers& list, std::uint64_t with) {
    h.write([&] { list.assign(k_count, with); });
}

std::uint64_t sum_of(const numbers& list) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < list.size(); i += k_in_page)
        sum += list[i];
    return sum;
}

/// So that whatever is due now is done: the section after a checkpoint counts what is resident.
void end_a_section(heap& h) {
    h.write([&] { ++h.root<std::uint64_t>("sections"); });
}

TEST(resident_limits_of_heaps, evict_new_memory_once_it_is_committed) {
    const temp_dir dir;
    heap h = heap::open(dir / "h", limited());
    auto& list = h.root<numbers>("list");
    fill(h, list, 1);
    EXPECT_LE(h.stats().resident_bytes, k_limit);
    EXPECT_GE(h.stats().evicted_bytes, 12 * MiB);
    EXPECT_EQ(sum_of(list), k_count / k_in_page);
}

TEST(resident_limits_of_heaps, evict_rewritten_pages_once_a_checkpoint_has_written_them) {
    const temp_dir dir;
    heap h = heap::open(dir / "h", limited());
    auto& list = h.root<numbers>("list");
    fill(h, list, 1);
    h.checkpoint();
    const std::uint64_t before = h.stats().evicted_bytes;
    h.write([&] {
        for (std::size_t i = 0; i < list.size(); i += k_in_page)
            list[i] = 2;
        EXPECT_GE(h.stats().dirty_bytes, 15 * MiB);
    });
    h.checkpoint();
    end_a_section(h);
    const heap_stats now = h.stats();
    EXPECT_LE(now.resident_bytes, k_limit);
    EXPECT_LE(now.dirty_bytes, now.resident_bytes);
    EXPECT_GE(now.evicted_bytes, before + 12 * MiB);
    EXPECT_EQ(sum_of(list), 2 * k_count / k_in_page);
    EXPECT_TRUE(h.verify().clean());
}

TEST(resident_limits_of_heaps, make_checkpoints_due_for_what_the_file_lacks) {
    const temp_dir dir;
    heap h = heap::open(dir / "h", limited());
    auto& list = h.root<numbers>("list");
    fill(h, list, 1);
    h.checkpoint();
    const std::uint64_t before = h.stats().checkpoints;
    for (std::uint64_t round = 2; round < 20; ++round) {
        h.write([&] {
            for (std::size_t i = 0; i < list.size(); i += 2 * k_in_page)
                list[i] = round;
        });
    }
    EXPECT_GT(h.stats().checkpoints, before); // without the limit, the log would be far too short for one
}

TEST(resident_limits_of_heaps, hold_while_a_program_only_reads) {
    const temp_dir dir;
    {
        heap h = heap::open(dir / "h", small_heap());
        fill(h, h.root<numbers>("list"), 1);
        EXPECT_EQ(h.stats().resident_bytes, 0U); // nothing is limited
        EXPECT_EQ(h.stats().evicted_bytes, 0U);
        h.close();
    }
    for (const bool read_only : {false, true}) {
        heap_options options = limited();
        options.read_only = read_only;
        const heap h = heap::open(dir / "h", options);
        const auto& list = *h.find_root<numbers>("list");
        for (int round = 0; round < 3; ++round) {
            h.read([&] { EXPECT_EQ(sum_of(list), k_count / k_in_page); });
            EXPECT_LE(h.stats().resident_bytes, k_limit) << read_only;
        }
        EXPECT_GE(h.stats().evicted_bytes, 3 * 12 * MiB);
    }
}

// In a declared section a commit takes only what was declared. The rest is neither committed nor lost.
TEST(resident_limits_of_heaps, leave_uncommitted_changes_in_memory) {
    const temp_dir dir;
    heap h = heap::open(dir / "h", limited(MiB));
    auto& list = h.root<numbers>("list");
    fill(h, list, 1);
    h.checkpoint();
    for (std::uint64_t round = 2; round < 5; ++round) {
        h.write(declared, [&] {
            for (std::size_t i = 0; i < list.size(); i += k_in_page)
                list[i] = round; // without a word to anybody
        });
        end_a_section(h);
        EXPECT_EQ(sum_of(list), round * k_count / k_in_page);
        h.checkpoint();
        EXPECT_EQ(sum_of(list), round * k_count / k_in_page);
    }
    h.close();
    h = heap::open(dir / "h", limited(MiB));
    EXPECT_EQ(sum_of(*h.find_root<numbers>("list")), 4 * k_count / k_in_page);
}

TEST(resident_limits_of_heaps, let_a_section_write_more_than_they_allow) {
    const temp_dir dir;
    heap h = heap::open(dir / "h", limited(MiB));
    auto& list = h.root<numbers>("list");
    EXPECT_THROW(h.write([&] {
        list.assign(k_count, 7);
        throw std::runtime_error("changed its mind");
    }),
                 std::runtime_error);
    EXPECT_TRUE(list.empty());
    fill(h, list, 1);
    EXPECT_LE(h.stats().resident_bytes, MiB);
    EXPECT_EQ(sum_of(list), k_count / k_in_page);
}

TEST(resident_limits_of_heaps, are_refused_below_a_mebibyte) {
    const temp_dir dir;
    EXPECT_TRUE(is_error(error_of([&] { heap::open(dir / "h", limited(MiB - 1)); }), errc::invalid_argument, dir / "h",
                         "at least 1 MiB"));
    EXPECT_EQ(reason_of([&] { heap::open(dir / "h", limited(1)); }), errc::invalid_argument);
    EXPECT_FALSE(fs::exists(dir / "h"));
    heap::open(dir / "h", limited(MiB)).close();
    heap::open(dir / "h", limited(0)).close();
}

TEST(resident_limits_of_arenas, evict_what_was_written_in_them_and_nothing_else) {
    const temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    const arena with = arena::open(h, "limited", {.room_bytes = 64 * MiB, .resident_limit_bytes = k_limit});
    const arena without = arena::open(h, "free", {.room_bytes = 64 * MiB});
    auto& here = with.root<numbers>("here");
    auto& there = without.root<numbers>("there");
    fill(h, here, 1);
    fill(h, there, 1);
    h.checkpoint();
    h.write([&] {
        for (std::size_t i = 0; i < k_count; i += k_in_page)
            here[i] = there[i] = 2;
    });
    h.checkpoint();
    end_a_section(h);
    for (const arena_info& each : arena::all(h)) {
        if (each.name == "limited") {
            EXPECT_LE(each.resident_bytes, k_limit);
            EXPECT_LE(each.dirty_bytes, each.resident_bytes);
            EXPECT_GE(each.evicted_bytes, 2 * 12 * MiB);
        } else {
            EXPECT_GE(each.resident_bytes, 16 * MiB);
            EXPECT_EQ(each.evicted_bytes, 0U);
        }
    }
    EXPECT_EQ(sum_of(here) + sum_of(there), 4 * k_count / k_in_page);
    EXPECT_TRUE(h.verify().clean());
}

// Such chunks have no place in the file.
TEST(resident_limits_of_heaps, hold_for_pages_of_zeros) {
    const temp_dir dir;
    heap h = heap::open(dir / "h", limited());
    auto& list = h.root<numbers>("list");
    h.write([&] { list.resize(k_count); });
    end_a_section(h);
    EXPECT_LE(h.stats().resident_bytes, k_limit);
    EXPECT_EQ(sum_of(list), 0U);
    h.write([&] { list[k_count / 2] = 3; });
    end_a_section(h);
    EXPECT_EQ(std::ranges::count(list, 3U), 1);
    EXPECT_TRUE(h.verify().clean());
}

TEST(resident_limits_of_arenas, hold_again_after_reopening) {
    const temp_dir dir;
    {
        heap h = heap::open(dir / "h", small_heap());
        const arena with = arena::open(h, "limited", {.room_bytes = 64 * MiB, .resident_limit_bytes = k_limit});
        fill(h, with.root<numbers>("here"), 1);
        h.close();
    }
    const heap h = heap::open(dir / "h", small_heap());
    ASSERT_TRUE(arena::find(h, "limited"));
    h.read([&] { EXPECT_EQ(sum_of(*h.find_root<numbers>("here")), k_count / k_in_page); });
    EXPECT_LE(arena::all(h).front().resident_bytes, k_limit);
}

enum class place { disk, memory };
enum class kind { alone, shared, with_history };
struct variant {
    tracking tracker;
    place where;
    kind what;
};

class resident_limits : public testing::TestWithParam<variant> {
protected:
    void SetUp() override {
        if (reason_of([&] { open().close(); }) == errc::not_supported)
            GTEST_SKIP() << "this machine has no such tracker";
    }
    heap open() {
        heap_options options = limited();
        options.memory.chunk_bytes = 64 * KiB;
        options.log.log_limit_bytes = 2 * MiB;
        options.tracker = GetParam().tracker;
        if (GetParam().what == kind::shared)
            options.access = sharing::processes;
        if (GetParam().what == kind::with_history)
            options.history = {.bytes_max = 64 * MiB, .kept_over_sessions = true};
        heap h = heap::open(dir_ / "h", options);
        detail::impl_of(h).engine().limiter()->count_each_time();
        detail::impl_of(h).engine().copy_points_from(1); // so that asynchronous commits are in flight for a while
        return h;
    }

    temp_dir dir_ = GetParam().where == place::disk ? temp_dir() : temp_dir::in_memory();
};

// Everything that changes what is committed, or where it is, at random, with a model beside.
TEST_P(resident_limits, lose_nothing) {
    std::mt19937_64 random(random_seed());
    const auto below = [&](std::uint64_t n) { return random() % n; };
    heap h = open();
    std::vector<std::uint64_t> model(k_count, 1);
    std::vector<std::vector<std::uint64_t>> earlier; // of the steps that may be undone
    auto* list = &h.root<numbers>("list");
    fill(h, *list, 1);
    const auto change = [&](bool is_declared) {
        const std::uint64_t runs = 1 + below(40);
        for (std::uint64_t n = 0; n < runs; ++n) {
            const std::size_t length = below(8) == 0 ? 1 + below(30 * k_in_page) : 1 + below(20);
            const std::size_t first = below(k_count - length);
            const std::uint64_t value = random();
            if (is_declared)
                h.touch(list->data() + first, length * sizeof value);
            std::fill_n(list->begin() + static_cast<std::ptrdiff_t>(first), length, value);
            std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(first), length, value);
        }
    };
    std::uint64_t within = 0;
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
        const std::vector<std::uint64_t> before = model;
        switch (below(16)) {
        case 0:
            h.checkpoint();
            break;
        case 1:
            try {
                h.write([&] {
                    change(false);
                    throw std::runtime_error("rolled back");
                });
            } catch (const std::runtime_error&) {
                model = before;
            }
            break;
        case 2:
            h.write([&] {
                change(false);
                const std::vector<std::uint64_t> here = model;
                savepoint point = h.savepoint();
                change(false);
                point.rollback();
                model = here;
            });
            break;
        case 3:
        case 4:
            h.write(declared, [&] { change(true); });
            break;
        case 5:
            if (GetParam().what != kind::shared) {
                (void)h.write_async([&] { change(false); });
                break;
            }
            [[fallthrough]];
        case 6:
            h.read([&] { EXPECT_EQ((*list)[k_count / 2], model[k_count / 2]); });
            break;
        case 7:
            if (GetParam().what == kind::with_history && h.undo_depth() > 1) {
                h.write([&] { change(false); });
                h.undo();
                model = before;
            }
            break;
        case 8:
            if (below(4) == 0) {
                h.close();
                h = open();
                list = h.find_root<numbers>("list");
            }
            break;
        default:
            h.write([&] { change(false); });
            break;
        }
        within += h.stats().resident_bytes <= k_limit ? 1U : 0U;
        const std::size_t from = below(k_count - 10'000);
        ASSERT_TRUE(std::equal(list->begin() + static_cast<std::ptrdiff_t>(from),
                               list->begin() + static_cast<std::ptrdiff_t>(from + 10'000),
                               model.begin() + static_cast<std::ptrdiff_t>(from)))
            << step;
        if (step % 50 == 0) {
            ASSERT_TRUE(std::equal(list->begin(), list->end(), model.begin(), model.end())) << step;
        }
    }
    EXPECT_GT(within, 0U);
    EXPECT_TRUE(std::equal(list->begin(), list->end(), model.begin(), model.end()));
    EXPECT_TRUE(h.verify().clean());
    h.close();
    h = open();
    list = h.find_root<numbers>("list");
    EXPECT_TRUE(std::equal(list->begin(), list->end(), model.begin(), model.end()));
}

std::string name_of(const testing::TestParamInfo<variant>& info) {
    const std::string tracker = info.param.tracker == tracking::scan   ? "scan"
                                : info.param.tracker == tracking::trap ? "trap"
                                                                       : "fallback";
    const std::string what = info.param.what == kind::alone    ? ""
                             : info.param.what == kind::shared ? "_shared"
                                                               : "_history";
    return tracker + (info.param.where == place::disk ? "_on_disk" : "_in_memory") + what;
}

INSTANTIATE_TEST_SUITE_P(each, resident_limits,
                         testing::Values(variant{tracking::scan, place::disk, kind::alone},
                                         variant{tracking::trap, place::memory, kind::alone},
                                         variant{tracking::fallback, place::memory, kind::alone},
                                         variant{tracking::automatic, place::disk, kind::shared},
                                         variant{tracking::automatic, place::memory, kind::with_history}),
                         name_of);

} // namespace
} // namespace remanence::test::limits_of_memory
