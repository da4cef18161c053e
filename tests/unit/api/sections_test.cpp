// Sections, commit and rollback through the public API: what nests, what is refused, and that a rollback restores
// memory byte by byte, allocator included.

#include "support/seed.hpp"
#include "unit/api/fixture.hpp"

#include <mutex>
#include <random>
#include <shared_mutex>
#include <stdexcept>

namespace remanence::test {
namespace {

/// Everything the heap's memory holds up to `bytes` from its base.
std::vector<std::byte> memory_of(const heap& h, std::uint64_t bytes) {
    const auto* base = static_cast<const std::byte*>(h.base());
    return {base, base + bytes};
}

// All that any heap of these tests ever makes accessible: 2 MiB at first, grown in steps of 2 MiB.
constexpr std::uint64_t k_first_bytes = 2 * MiB;

bool is_zero(const std::byte* from, std::uint64_t bytes) {
    return std::all_of(from, from + bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// Changes of every kind: blocks of all sizes allocated and freed, containers, roots.
void disturb(heap& h, std::uint64_t seed, std::uint64_t steps = 300) {
    std::mt19937_64 random(seed);
    auto where = h.get_allocator<>();
    std::vector<std::pair<std::byte*, std::size_t>> blocks;
    for (std::uint64_t i = 0; i < steps; ++i) {
        if (!blocks.empty() && random() % 3 == 0) {
            std::swap(blocks[random() % blocks.size()], blocks.back());
            where.deallocate(blocks.back().first, blocks.back().second);
            blocks.pop_back();
            continue;
        }
        std::size_t bytes = random() % 20 == 0 ? random() % (100 * KiB) + 1 : random() % 600 + 1;
        blocks.emplace_back(where.allocate(bytes), bytes);
        std::memset(blocks.back().first, static_cast<int>(i), bytes);
    }
}

TEST(rollback, restores_memory_byte_by_byte_allocator_included) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    const auto seed = test::random_seed();
    for (std::uint64_t round = 0; round < 12; ++round) {
        disturb(h, seed + round);
        h.commit();
        if (round % 3 == 1)
            h.checkpoint();
        const auto before = memory_of(h, k_first_bytes);
        h.find_root<numbers>("numbers")->at(round) = 99;
        disturb(h, seed + 100 + round);
        h.root<names>("names").clear();
        if (round % 4 == 2)
            h.checkpoint(); // uncommitted changes stay uncommitted
        h.rollback();
        ASSERT_EQ(memory_of(h, k_first_bytes), before) << "round " << round;
    }
    EXPECT_TRUE(has_contents(h));
    h.close();
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(rollback, of_a_heap_never_committed_and_twice) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    const auto before = memory_of(h, k_first_bytes);
    for (int i = 0; i < 3; ++i) {
        disturb(h, 5);
        h.rollback();
        ASSERT_EQ(memory_of(h, k_first_bytes), before);
        h.rollback();
        ASSERT_EQ(memory_of(h, k_first_bytes), before);
    }
    EXPECT_FALSE(fs::exists(log_of(dir / "h")));
    put_contents(h);
    h.close();
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(rollback, of_growth_leaves_zeros_and_the_heap_grows_again) {
    temp_dir dir;
    for (std::uint64_t chunk : {64 * KiB, 256 * KiB, 4 * MiB}) {
        fs::path path = dir / std::to_string(chunk);
        heap h = heap::create(path, {.memory = {.reserve_bytes = 256 * MiB, .chunk_bytes = chunk}});
        put_contents(h);
        const auto before = memory_of(h, k_first_bytes);
        for (std::uint64_t round = 1; round <= 4; ++round) { // across several regions of the file
            auto& big = *h.make<numbers>(round * MiB, round);
            EXPECT_EQ(big.back(), round);
            h.rollback();
            ASSERT_EQ(memory_of(h, k_first_bytes), before);
            ASSERT_TRUE(is_zero(static_cast<std::byte*>(h.base()) + k_first_bytes, round * 8 * MiB));
        }
        h.write([&] { h.root<numbers>("big").assign(3 * MiB, 8); });
        h.find_root<numbers>("big")->assign(3 * MiB, 9);
        h.rollback();
        auto& big = *h.find_root<numbers>("big");
        ASSERT_EQ(std::count(big.begin(), big.end(), 8U), static_cast<std::ptrdiff_t>(3 * MiB));
        h.close();
        EXPECT_TRUE(file_has_contents(path));
    }
}

TEST(rollback, follows_an_explicit_checkpoint_with_uncommitted_changes) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    h.close();
    h = heap::open(dir / "h", small_heap()); // now the memory is a mapping of the file
    auto& list = *h.find_root<numbers>("numbers");
    list[1] = 50;
    h.commit();
    list[1] = 60;
    list[900] = 61;
    h.checkpoint();
    EXPECT_EQ(list[1], 60U);
    h.rollback();
    EXPECT_EQ(list[1], 50U);
    EXPECT_EQ(list[900], 900U * 900U);
    list[1] = 1;
    h.checkpoint();
    h.commit(); // and what was uncommitted at the checkpoint can be committed
    h.close();
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(write_section, commits_at_its_end_and_returns_what_the_function_does) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    const auto version = h.version();
    auto& number = h.root<std::uint64_t>("number");
    std::uint64_t& same = h.write([&]() -> std::uint64_t& {
        number = 7;
        return number;
    });
    EXPECT_EQ(&same, &number);
    EXPECT_EQ(h.version(), version + 2);
    h.write([] {});
    EXPECT_EQ(h.version(), version + 2); // nothing changed, nothing written
    EXPECT_EQ(h.write([] { return std::make_unique<int>(5); }).operator*(), 5);
    h.rollback();
    EXPECT_EQ(number, 7U);
}

TEST(write_section, an_exception_rolls_back_exactly_and_passes_on) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    const auto before = memory_of(h, k_first_bytes);
    EXPECT_THROW(h.write([&] {
        disturb(h, 3);
        h.root<names>("another");
        h.remove_root<numbers>("numbers");
        throw std::out_of_range("the test");
    }),
                 std::out_of_range);
    EXPECT_EQ(memory_of(h, k_first_bytes), before);
    EXPECT_TRUE(has_contents(h));
    EXPECT_EQ(h.roots().size(), 2U);
}

TEST(write_section, a_nested_one_joins_the_outermost) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& number = h.root<std::uint64_t>("number");
    const auto version = h.version();
    h.write([&] {
        h.write([&] { number = 1; });
        EXPECT_EQ(h.version(), version);
        EXPECT_EQ(h.read([&] { return number; }), 1U);
        number = 2;
    });
    EXPECT_EQ(h.version(), version + 1);
    EXPECT_EQ(number, 2U);
}

TEST(rolled_back, a_failed_nested_section_dooms_the_outermost) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    const auto before = memory_of(h, k_first_bytes);
    const auto version = h.version();
    auto got = error_of([&] {
        h.write([&] {
            h.root<names>("names")["x"] = 1;
            const auto fail_inside = [&] {
                h.write([&] {
                    h.root<names>("names")["y"] = 1;
                    throw std::runtime_error("inside");
                });
            };
            EXPECT_THROW(fail_inside(), std::runtime_error);
            // Nor can an explicit commit in between save it.
            EXPECT_TRUE(is_error(error_of([&] { h.commit(); }), errc::rolled_back, dir / "h", "rolled back"));
            h.write([&] { h.root<names>("names")["z"] = 1; });
        });
    });
    EXPECT_TRUE(is_error(got, errc::rolled_back, dir / "h", "rolled back"));
    EXPECT_EQ(memory_of(h, k_first_bytes), before);
    EXPECT_EQ(h.version(), version);
    h.write([&] { h.root<std::uint64_t>("after") = 1; }); // the next section is not doomed
    EXPECT_EQ(h.version(), version + 1);
}

TEST(section_conflict, a_write_section_inside_a_read_section) {
    temp_dir dir;
    make_heap(dir / "h");
    heap h = heap::open(dir / "h", small_heap());
    h.read([&] {
        EXPECT_TRUE(is_error(error_of([&] { h.write([] {}); }), errc::section_conflict, dir / "h",
                             "End the read section first"));
        EXPECT_TRUE(
            is_error(error_of([&] { h.lock(); }), errc::section_conflict, dir / "h", "End the read section first"));
        EXPECT_TRUE(
            is_error(error_of([&] { h.commit(); }), errc::section_conflict, dir / "h", "End the read section first"));
        EXPECT_FALSE(h.try_lock());
        EXPECT_TRUE(h.try_lock_shared());
        h.unlock_shared();
        EXPECT_TRUE(has_contents(h)); // reading nests
    });
    h.write([&] { h.root<std::uint64_t>("after") = 1; });
}

TEST(section_open, close_is_refused_and_the_heap_stays_open) {
    temp_dir dir;
    make_heap(dir / "h");
    heap h = heap::open(dir / "h", small_heap());
    for (auto&& section : std::initializer_list<std::function<void(std::function<void()>)>>{
             [&](const std::function<void()>& f) { h.write(f); }, [&](const std::function<void()>& f) { h.read(f); }}) {
        section([&] {
            EXPECT_TRUE(
                is_error(error_of([&] { h.close(); }), errc::section_open, dir / "h", "End every section first"));
            EXPECT_TRUE(h.is_open());
        });
    }
    EXPECT_TRUE(has_contents(h));
    h.close();
    EXPECT_FALSE(h.is_open());
}

TEST(locks, unlocking_commits) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    auto& list = *h.find_root<numbers>("numbers");
    {
        const std::unique_lock lock(h);
        list[0] = 5;
    }
    h.rollback();
    EXPECT_EQ(list[0], 5U);
    {
        const std::unique_lock outer(h);
        const std::uint64_t before = h.version();
        {
            const std::unique_lock inner(h);
            list[0] = 0;
        }
        EXPECT_EQ(h.version(), before) << "the outermost unlock commits";
    }
    h.rollback();
    const std::shared_lock lock(h);
    EXPECT_EQ(list[0], 0U);
    EXPECT_TRUE(has_contents(h));
}

TEST(locks, an_exception_rolls_the_section_back) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    auto& list = *h.find_root<numbers>("numbers");
    const auto before = memory_of(h, k_first_bytes);
    const auto fail = [&] {
        const std::unique_lock lock(h);
        list[0] = 5;
        disturb(h, 1);
        throw std::runtime_error("half way");
    };
    EXPECT_THROW(fail(), std::runtime_error);
    EXPECT_EQ(memory_of(h, k_first_bytes), before);
    struct at_end {
        heap& of;
        numbers& list;
        ~at_end() { // while an exception unwinds, a section of this destructor is whole all the same
            const std::unique_lock lock(of);
            list[0] = 7;
        }
    };
    const auto fail_outside = [&] {
        const at_end change{h, list};
        throw std::runtime_error("outside");
    };
    EXPECT_THROW(fail_outside(), std::runtime_error);
    h.rollback();
    EXPECT_EQ(list[0], 7U);
}

TEST(locks, a_commit_that_fails_is_told_by_the_next_call_of_its_thread) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    auto& list = *h.find_root<numbers>("numbers");
    testing::internal::CaptureStderr();
    {
        const std::unique_lock lock(h);
        list[0] = 5;
        EXPECT_THROW(h.write([] { throw std::runtime_error("inner"); }), std::runtime_error);
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "remanence: unlock(), or the end of a lock, of " + (dir / "h").string() +
                  " could not commit, and rolled the section back: a nested write section of " + (dir / "h").string() +
                  " failed, so the outermost one cannot be committed; its changes are rolled back.\n");
    std::thread([&] { EXPECT_TRUE(has_contents(h)); }).join();
    EXPECT_TRUE(is_error(error_of([&] { h.lock(); }), errc::rolled_back, dir / "h", "rolled the section back"));
    h.lock(); // it was told once
    list[0] = 0;
    h.unlock();
    EXPECT_TRUE(has_contents(h));
}

TEST(locks, a_commit_that_failed_does_not_keep_the_heap_open) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    testing::internal::CaptureStderr();
    h.unlock();
    EXPECT_NE(testing::internal::GetCapturedStderr(), "");
    EXPECT_TRUE(is_error(error_of([&] { h.close(); }), errc::section_conflict, dir / "h", "holds no such lock"));
    EXPECT_FALSE(h.is_open());
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(locks, an_error_of_a_thread_that_has_ended_is_told_to_no_other) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    testing::internal::CaptureStderr();
    for (int i = 0; i < 3; ++i)
        std::thread([&] {
            EXPECT_NO_THROW((void)h.version());
            h.unlock();
        }).join();
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("the calling thread holds no such lock"), std::string::npos) << said;
    h.lock();
    std::thread([&] {
        testing::internal::CaptureStderr();
        h.unlock();
        (void)testing::internal::GetCapturedStderr();
        EXPECT_TRUE(
            is_error(error_of([&] { (void)h.version(); }), errc::section_conflict, dir / "h", "holds no such lock"));
    }).join();
    EXPECT_FALSE(h.root<numbers>("a").size());
    h.unlock();
}

TEST(commit_at_close, commits_by_close_and_by_the_destructor) {
    temp_dir dir;
    heap_options options = small_heap();
    options.commit_at_close = true;
    {
        heap h = heap::create(dir / "h", options);
        put_contents(h);
        h.find_root<numbers>("numbers")->push_back(1);
        h.close();
    }
    {
        heap h = heap::open(dir / "h", options);
        EXPECT_EQ(h.find_root<numbers>("numbers")->size(), 1001U);
        h.find_root<numbers>("numbers")->pop_back();
    }
    EXPECT_TRUE(file_has_contents(dir / "h"));
    EXPECT_FALSE(fs::exists(log_of(dir / "h")));
}

TEST(commit_at_close, is_off_by_default) {
    temp_dir dir;
    make_heap(dir / "h");
    {
        heap h = heap::open(dir / "h", small_heap());
        h.find_root<numbers>("numbers")->clear();
        h.close();
    }
    {
        heap h = heap::open(dir / "h", small_heap());
        h.find_root<numbers>("numbers")->clear();
    }
    EXPECT_TRUE(file_has_contents(dir / "h"));
}

TEST(heap_of, finds_the_heap_of_a_pointer_and_follows_the_handle) {
    temp_dir dir;
    heap a = heap::create(dir / "a", small_heap());
    heap b = heap::create(dir / "b", small_heap());
    auto& in_a = a.root<std::uint64_t>("x");
    auto& in_b = b.root<std::uint64_t>("x");
    EXPECT_EQ(heap_of(&in_a), &a);
    EXPECT_EQ(heap_of(&in_b), &b);
    EXPECT_EQ(heap_of(static_cast<std::byte*>(a.base()) + 64 * MiB), nullptr);
    EXPECT_EQ(heap_of(static_cast<std::byte*>(a.base()) - 1), nullptr);
    EXPECT_EQ(heap_of(&a), nullptr);
    EXPECT_EQ(heap_of(nullptr), nullptr);
    EXPECT_EQ(heap_of(reinterpret_cast<void*>(~std::uintptr_t{0})), nullptr);
    heap moved = std::move(a);
    EXPECT_EQ(heap_of(&in_a), &moved);
    const void* address = &in_a;
    moved.close();
    EXPECT_EQ(heap_of(address), nullptr);
}

TEST(roots, thousands_survive_removal_and_reopening) {
    temp_dir dir;
    constexpr std::uint64_t k_count = 5000;
    auto name = [](std::uint64_t i) { return "root " + std::to_string(i * 7919 % k_count); };
    {
        heap h = heap::create(dir / "h", small_heap());
        h.write([&] {
            for (std::uint64_t i = 0; i < k_count; ++i)
                h.root<std::uint64_t>(name(i)) = i;
        });
        h.write([&] {
            for (std::uint64_t i = 0; i < k_count; i += 2)
                EXPECT_TRUE(h.remove_root<std::uint64_t>(name(i)));
        });
        EXPECT_FALSE(h.remove_root<std::uint64_t>(name(0)));
        h.close();
    }
    heap h = heap::open(dir / "h", small_heap());
    EXPECT_EQ(h.roots().size(), k_count / 2);
    for (std::uint64_t i = 0; i < k_count; ++i) {
        auto* found = h.find_root<std::uint64_t>(name(i));
        ASSERT_EQ(found != nullptr, i % 2 == 1) << i;
        if (found != nullptr) {
            EXPECT_EQ(*found, i);
        }
    }
    EXPECT_TRUE(h.verify().clean());
    h.write([&] {
        for (const root_info& root : h.roots())
            h.remove_root<std::uint64_t>(root.name);
    });
    EXPECT_TRUE(h.roots().empty());
    EXPECT_TRUE(h.verify().clean());
}

TEST(roots, removed_and_made_anew_as_another_type) {
    temp_dir dir;
    {
        heap h = heap::create(dir / "h", small_heap());
        put_contents(h);
        EXPECT_TRUE(h.remove_root<numbers>("numbers"));
        h.root<names>("numbers")["x"] = 4;
        h.commit();
        h.close();
    }
    heap h = heap::open(dir / "h", small_heap());
    EXPECT_EQ(h.find_root<names>("numbers")->at("x"), 4U);
    EXPECT_EQ(error_of([&] { (void)h.find_root<numbers>("numbers"); })->code, errc::type_mismatch);
    EXPECT_TRUE(h.verify().clean());
}

TEST(roots, a_constructor_that_throws_leaves_nothing) {
    temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    put_contents(h);
    const auto before = memory_of(h, k_first_bytes);
    EXPECT_THROW(h.root<numbers>("new", numbers::size_type{1} << 62), std::length_error);
    EXPECT_EQ(h.find_root<numbers>("new"), nullptr);
    EXPECT_EQ(memory_of(h, k_first_bytes), before);
}

// A log limit of one byte: every commit begins a checkpoint, or waits for that of the one before. Records are much larger
// than that, too.
TEST(tiny_log, every_commit_begins_a_checkpoint_and_rollback_is_still_exact) {
    temp_dir dir;
    for (std::uint64_t chunk : {64 * KiB, 4 * MiB}) {
        const fs::path path = dir / std::to_string(chunk);
        heap_options options{.log = {.log_limit_bytes = 1},
                             .memory = {.reserve_bytes = 64 * MiB, .chunk_bytes = chunk}};
        std::mt19937_64 random(test::random_seed());
        std::vector<std::uint64_t> model(300'000);
        heap h = heap::create(path, options);
        h.write([&] { h.root<numbers>("model").assign(model.size(), 0); });
        for (int round = 0; round < 40; ++round) {
            auto& stored = *h.find_root<numbers>("model");
            auto next = model;
            const std::size_t changes = round % 5 == 0 ? next.size() : random() % 50;
            for (std::size_t i = 0; i < changes; ++i) {
                const std::size_t at = changes == next.size() ? i : random() % next.size();
                next[at] = stored[at] = random() % 100000;
            }
            switch (random() % 4) {
            case 0:
                h.rollback();
                break;
            case 1:
                h.commit();
                model = next;
                h.close();
                h = heap::open(path, options);
                break;
            default:
                h.commit();
                model = next;
            }
            auto& now = *h.find_root<numbers>("model");
            ASSERT_TRUE(std::equal(model.begin(), model.end(), now.begin(), now.end())) << "round " << round;
        }
        const auto checkpoints = h.stats().checkpoints;
        for (int i = 0; i < 2; ++i) {
            h.find_root<numbers>("model")->front() += 1;
            h.commit();
        }
        EXPECT_GT(h.stats().checkpoints, checkpoints);
        EXPECT_TRUE(h.verify().clean());
        h.checkpoint();
        EXPECT_EQ(h.stats().log_used_bytes, 0U);
        EXPECT_EQ(h.stats().before_image_bytes, 0U);
        EXPECT_EQ(h.stats().checkpoint_total_bytes, 0U);
        EXPECT_TRUE(h.verify().clean());
    }
}

} // namespace
} // namespace remanence::test
