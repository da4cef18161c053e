// One heap, several processes, through the public interface: who writes when, what readers see, and what becomes of a heap when
// processes die, stop, fork, or use it in odd ways.

#include "api/heap_impl.hpp"
#include "format/log_record.hpp"
#include "process/other_process.hpp"
#include "support/failing_files.hpp"
#include "support/seed.hpp"
#include "types/pointer_check.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/arena.hpp>

#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <random>
#include <thread>

namespace remanence::test {
namespace {

using namespace std::chrono_literals;

class sharing_heaps : public testing::Test {
protected:
    temp_dir dir_;
    fs::path path_ = dir_ / "h";
    signals told_;
};

TEST_F(sharing_heaps, what_one_process_commits_the_other_sees) {
    heap h = heap::open(path_, shared_heap());
    auto& list = h.root<numbers>("numbers");
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<numbers>("numbers");
        for (std::uint64_t i = 0; i < 100; ++i)
            mine.write([&] { same.push_back(i); });
        told_.set(0);
        told_.wait(1);
        const std::size_t seen = mine.read([&] { return same.size(); });
        mine.close();
        if (seen != 200)
            throw std::runtime_error("saw " + std::to_string(seen));
    });
    told_.wait(0);
    h.read([&] { EXPECT_EQ(list.size(), 100U); });
    for (std::uint64_t i = 100; i < 200; ++i)
        h.write([&] { list.push_back(i); });
    told_.set(1);
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(h.verify().clean());
    h.close();
    EXPECT_FALSE(fs::exists(log_of(path_)));
    EXPECT_FALSE(fs::exists(shm_of(path_)));
    heap alone = heap::open(path_, small_heap());
    const auto* found = alone.find_root<numbers>("numbers");
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(found->size(), 200U);
    for (std::uint64_t i = 0; i < 200; ++i)
        EXPECT_EQ((*found)[i], i);
}

// What each evicts, the other's commits and checkpoints change meanwhile. Numbers that mirror each other add up to 0 in each version.
TEST_F(sharing_heaps, evict_what_exceeds_their_limits_and_lose_nothing) {
    constexpr std::size_t k_count = 8 * MiB / sizeof(std::uint64_t);
    const auto open = [&] {
        heap_options options = shared_heap();
        options.memory.resident_limit_bytes = MiB;
        options.log.log_limit_bytes = MiB;
        heap h = heap::open(path_, options);
        detail::impl_of(h).engine().limiter()->count_each_time();
        return h;
    };
    const auto move_numbers = [&](heap& h, numbers& list, std::uint64_t seed) {
        std::mt19937_64 random(seed);
        for (int section = 0; section < 60; ++section) {
            h.write(durability::lazy, [&] {
                for (int i = 0; i < 200; ++i) {
                    const std::size_t at = random() % k_count;
                    const std::uint64_t moved = random();
                    list[at] += moved;
                    list[k_count - 1 - at] -= moved;
                }
            });
            h.read([&] {
                for (int i = 0; i < 1000; ++i) {
                    const std::size_t at = random() % k_count;
                    if (list[at] + list[k_count - 1 - at] != 0)
                        throw std::runtime_error("number " + std::to_string(at) + " is of another version");
                }
            });
            if (section % 20 == 19)
                h.checkpoint();
        }
        if (h.stats().evicted_bytes == 0)
            throw std::runtime_error("nothing was evicted");
    };
    heap h = open();
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.resize(k_count); });
    other_process other(h, [&] {
        heap mine = open();
        auto& same = *mine.read([&] { return mine.find_root<numbers>("numbers"); });
        told_.set(0);
        move_numbers(mine, same, random_seed() + 1);
        mine.close();
    });
    told_.wait(0);
    EXPECT_NO_THROW(move_numbers(h, list, random_seed()));
    EXPECT_EQ(other.wait(), 0);
    h.read([&] {
        for (std::size_t i = 0; i < k_count; ++i)
            ASSERT_EQ(list[i] + list[k_count - 1 - i], 0U) << i;
    });
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(sharing_heaps, an_arena_that_one_process_makes_the_other_uses_and_ends) {
    heap h = heap::open(path_, shared_heap());
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_heap());
        told_.set(0);
        told_.wait(1);
        auto& same = *mine.read([&] { return mine.find_root<numbers>("numbers"); });
        mine.write([&] {
            while (same.size() != 20'000) // the vector moves
                same.push_back(same.size());
        });
        const auto all = mine.read([&] { return arena::all(mine); });
        if (all.size() != 1 || all[0].allocated_bytes < 20'000 * sizeof(std::uint64_t) || !mine.verify().clean())
            throw std::runtime_error("the arena is not as it was made");
        told_.set(2);
        told_.wait(3);
        mine.write([&] { (void)arena::destroy(mine, "a"); });
        mine.close();
    });
    told_.wait(0);
    auto& list = arena::open(h, "a", {.room_bytes = MiB}).root<numbers>("numbers");
    h.write([&] {
        while (list.size() != 100)
            list.push_back(list.size());
    });
    told_.set(1);
    told_.wait(2);
    h.read([&] {
        ASSERT_EQ(list.size(), 20'000U);
        for (std::uint64_t i = 0; i != list.size(); ++i)
            ASSERT_EQ(list[i], i);
        EXPECT_GE(arena::all(h).at(0).allocated_bytes, list.size() * sizeof(std::uint64_t));
    });
    told_.set(3);
    EXPECT_EQ(other.wait(), 0);
    h.read([&] {
        EXPECT_TRUE(arena::all(h).empty());
        EXPECT_EQ(h.find_root<numbers>("numbers"), nullptr);
    });
    auto another = arena::open(h, "a", {.room_bytes = MiB}); // where that one was
    h.write([&] { EXPECT_NE(another.make<std::uint64_t>(1U), nullptr); });
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(sharing_heaps, a_section_sees_one_version_while_another_process_commits) {
    heap h = heap::open(path_, shared_heap());
    auto& count = h.root<std::uint64_t>("count");
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<std::uint64_t>("count");
        told_.wait(0);
        for (int i = 0; i < 50; ++i)
            mine.write([&] { ++same; });
        told_.set(1);
        mine.close();
    });
    h.read([&] {
        const std::uint64_t before = count;
        const std::uint64_t version = h.version();
        told_.set(0);
        told_.wait(1); // it waits for nobody
        EXPECT_EQ(count, before);
        EXPECT_EQ(h.version(), version);
        const auto readers = h.readers();
        ASSERT_EQ(readers.size(), 1U);
        EXPECT_EQ(readers[0].process, ::getpid());
        EXPECT_EQ(readers[0].version, version);
    });
    EXPECT_TRUE(h.readers().empty());
    h.read([&] { EXPECT_EQ(count, 50U); });
    EXPECT_EQ(other.wait(), 0);
    h.close();
}

TEST_F(sharing_heaps, one_process_writes_at_a_time_and_others_can_see_who) {
    heap h = heap::open(path_, shared_heap());
    auto& count = h.root<std::uint64_t>("count");
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<std::uint64_t>("count");
        mine.write([&] {
            same = 7;
            told_.set(0);
            told_.wait(1);
        });
        mine.close();
    });
    told_.wait(0);
    EXPECT_FALSE(h.try_lock());
    EXPECT_FALSE(h.try_lock_for(20ms));
    const auto writer = h.writer();
    ASSERT_TRUE(writer);
    EXPECT_EQ(writer->process, other.id());
    h.read([&] { EXPECT_EQ(count, 0U); }); // nor does it wait for him
    told_.set(1);
    h.write([&] {
        EXPECT_EQ(count, 7U);
        h.write([&] { ++count; }); // again, by its own thread
    });
    h.read([&] { EXPECT_EQ(count, 8U); });
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(h.try_lock_for(5s));
    h.unlock();
    h.close();
}

TEST_F(sharing_heaps, a_write_section_inside_a_read_section_is_refused) {
    heap h = heap::open(path_, shared_heap());
    h.read([&] {
        try {
            h.write([] {});
            FAIL();
        } catch (const error& e) {
            EXPECT_EQ(e.reason(), errc::section_conflict);
        }
    });
    h.write([&] { h.read([] {}); });
    h.write([] {});
    h.close();
}

TEST_F(sharing_heaps, changes_outside_write_sections_are_refused_and_undone) {
    heap h = heap::open(path_, shared_heap());
    auto& count = h.root<std::uint64_t>("count");
    count = 5;
    try {
        h.write([&] { ADD_FAILURE() << "a section began"; });
        FAIL();
    } catch (const error& e) {
        EXPECT_EQ(e.reason(), errc::outside_section);
        EXPECT_EQ(e.path(), path_);
    }
    h.read([&] { EXPECT_EQ(count, 0U); });
    h.write([&] { count = 6; });
    h.read([&] { EXPECT_EQ(count, 6U); });
    h.close();
}

TEST_F(sharing_heaps, a_declared_section_commits_what_it_declares_and_the_next_one_undoes_the_rest) {
    if (types::checks_pointers() != nullptr)
        GTEST_SKIP() << "the checking library refuses to commit in such a section";
    heap h = heap::open(path_, shared_heap());
    auto& list = h.root<numbers>("numbers");
    h.write([&] { list.resize(10'000, 1); });
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<numbers>("numbers");
        told_.set(0);
        told_.wait(1);
        mine.read([&] {
            if (same[5] != 7 || same[5000] != 1)
                throw std::runtime_error("not what was declared is committed");
        });
        mine.write(declared, [&] {
            mine.touch(&same[6], sizeof same[6]);
            same[6] = 8;
        });
        mine.close();
    });
    told_.wait(0);
    h.write(declared, [&] {
        h.touch(&list[5], sizeof list[5]);
        list[5] = 7;
        list[5000] = 7; // which is on another page
    });
    told_.set(1);
    EXPECT_EQ(other.wait(), 0);
    try {
        h.write([] { ADD_FAILURE() << "a section began"; });
        ADD_FAILURE() << "nobody told of it";
    } catch (const error& e) {
        EXPECT_EQ(e.reason(), errc::outside_section);
    }
    h.read([&] {
        EXPECT_EQ(list[5], 7U);
        EXPECT_EQ(list[6], 8U);
        EXPECT_EQ(list[5000], 1U);
    });
    EXPECT_TRUE(h.verify().clean());
    h.close();
}

TEST_F(sharing_heaps, a_killed_writer_leaves_nothing_but_what_it_committed) {
    heap h = heap::open(path_, shared_heap());
    auto& list = h.root<numbers>("numbers");
    for (int round = 0; round < 10; ++round) {
        other_process other(h, [&] {
            heap mine = heap::open(path_, shared_heap());
            auto& same = mine.root<numbers>("numbers");
            mine.write([&] { same.push_back(1); });
            mine.lock();
            same.push_back(2);
            told_.set(round);
            std::this_thread::sleep_for(1h);
        });
        told_.wait(round);
        other.kill();
        h.write([&] { EXPECT_EQ(list.size(), static_cast<std::size_t>(round) + 1); });
    }
    EXPECT_TRUE(h.verify().clean());
    h.close();
    EXPECT_FALSE(fs::exists(shm_of(path_)));
}

TEST_F(sharing_heaps, the_next_open_recovers_when_all_have_been_killed) {
    other_process other([&] {
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<numbers>("numbers");
        for (std::uint64_t i = 0; i < 10; ++i)
            mine.write([&] { same.push_back(i); });
        told_.set(0);
        std::this_thread::sleep_for(1h);
    });
    told_.wait(0);
    other.kill();
    EXPECT_TRUE(fs::exists(shm_of(path_)));
    const fs::path copy = dir_ / "copy";
    fs::copy_file(path_, copy);
    fs::copy_file(log_of(path_), log_of(copy));
    fs::copy_file(shm_of(path_), shm_of(copy));
    for (const bool shared : {true, false}) {
        const fs::path path = shared ? path_ : copy;
        heap h = heap::open(path, shared ? shared_heap() : small_heap());
        EXPECT_EQ(h.find_root<numbers>("numbers")->size(), 10U);
        h.close();
        EXPECT_FALSE(fs::exists(shm_of(path)));
        EXPECT_FALSE(fs::exists(log_of(path)));
    }
}

TEST_F(sharing_heaps, exclusive_and_shared_keep_each_other_out) {
    const auto refusal = [&](const heap_options& options) {
        try {
            heap second = heap::open(path_, options);
            return errc{};
        } catch (const error& e) {
            return e.reason();
        }
    };
    {
        heap h = heap::open(path_, shared_heap());
        EXPECT_EQ(refusal(small_heap()), errc::in_use);
        h.close();
    }
    heap h = heap::open(path_, small_heap());
    EXPECT_EQ(refusal(shared_heap()), errc::in_use);
    h.close();
}

TEST_F(sharing_heaps, the_child_of_a_fork_has_a_dead_handle_and_may_open_its_own) {
    heap h = heap::open(path_, shared_heap());
    auto& count = h.root<std::uint64_t>("count");
    other_process child([&] {
        try {
            h.write([] {});
            throw std::runtime_error("the child wrote");
        } catch (const error& e) {
            if (e.reason() != errc::closed)
                throw;
        }
        told_.set(0);
    });
    EXPECT_EQ(child.wait(), 0);
    h.write([&] { count = 3; });
    other_process next(h, [&] {
        {
            const heap inherited = std::move(h);
        } // else the addresses are taken
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<std::uint64_t>("count");
        mine.write([&] { ++same; });
        mine.close();
    });
    EXPECT_EQ(next.wait(), 0);
    h.write([&] { ++count; });
    h.read([&] { EXPECT_EQ(count, 5U); });
    h.close();
}

// Chunks that become stored, are rewritten as a whole, and move; several checkpoints; more memory than the first region has.
TEST_F(sharing_heaps, bulk_data_is_followed_too) {
    heap_options options = shared_heap();
    options.log.log_limit_bytes = 1 * MiB;
    options.memory.chunk_bytes = 64 * KiB;
    heap h = heap::open(path_, options);
    auto& list = h.root<numbers>("numbers");
    constexpr std::uint64_t k_count = 1'000'000; // 8 MB
    const auto expect = [](const numbers& seen, std::uint64_t size, std::uint64_t factor) {
        if (seen.size() != size)
            throw std::runtime_error("size " + std::to_string(seen.size()));
        for (std::uint64_t i = 0; i < size; ++i) {
            if (seen[i] != i * factor)
                throw std::runtime_error("number " + std::to_string(i) + " is " + std::to_string(seen[i]));
        }
    };
    other_process other(h, [&] {
        heap mine = heap::open(path_, options);
        auto& same = mine.root<numbers>("numbers");
        for (std::uint64_t factor = 1; factor <= 5; ++factor) {
            told_.wait(static_cast<int>(2 * factor));
            mine.read([&] { expect(same, k_count, factor); });
            mine.write([&] {
                for (std::uint64_t i = 0; i < k_count; ++i)
                    same[i] = i * (factor + 10);
            });
            told_.set(static_cast<int>(2 * factor + 1));
        }
        mine.close();
    });
    for (std::uint64_t factor = 1; factor <= 5; ++factor) {
        h.write([&] {
            list.resize(k_count);
            for (std::uint64_t i = 0; i < k_count; ++i)
                list[i] = i * factor;
        });
        told_.set(static_cast<int>(2 * factor));
        told_.wait(static_cast<int>(2 * factor + 1));
        h.read([&] { expect(list, k_count, factor + 10); });
    }
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(h.verify().clean());
    h.close();
    heap alone = heap::open(path_, small_heap());
    expect(*alone.find_root<numbers>("numbers"), k_count, 15);
}

TEST_F(sharing_heaps, the_trap_tracker_lets_others_commits_in_while_it_catches_stray_writes) {
    if (std::getenv("REMANENCE_TRACKING") != nullptr)
        GTEST_SKIP() << "another tracker is asked for";
    heap_options options = shared_heap();
    options.tracker = tracking::trap;
    options.checks.catch_stray_writes = true;
    heap h = heap::open(path_, options);
    auto& list = h.root<numbers>("numbers");
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<numbers>("numbers");
        for (std::uint64_t i = 0; i < 5'000; ++i)
            mine.write(durability::lazy, [&] { same.push_back(i); });
        mine.close();
    });
    EXPECT_EQ(other.wait(), 0);
    h.read([&] { EXPECT_EQ(list.size(), 5'000U); });
    h.write([&] { list.push_back(1); });
    h.read([&] { EXPECT_EQ(list.size(), 5'001U); });
    h.close();
}

TEST_F(sharing_heaps, options_that_have_no_meaning_are_refused) {
    heap_options options = shared_heap();
    options.commit_at_close = true;
    EXPECT_EQ(error_of([&] { heap::open(path_, options); })->code, errc::invalid_argument);
    heap alone = heap::open(path_, small_heap());
    try {
        (void)alone.readers();
        FAIL();
    } catch (const error& e) {
        EXPECT_EQ(e.reason(), errc::invalid_argument);
    }
}

TEST_F(sharing_heaps, two_handles_of_one_process_are_refused) {
    heap h = heap::open(path_, shared_heap());
    try {
        heap second = heap::open(path_, shared_heap());
        FAIL();
    } catch (const error& e) {
        EXPECT_EQ(e.reason(), errc::in_use);
    }
    h.write([&] { h.root<std::uint64_t>("count") = 1; });
    h.close();
}

TEST_F(sharing_heaps, a_hard_link_is_refused_while_the_heap_is_open_by_its_other_name) {
    heap h = heap::open(path_, shared_heap());
    h.root<std::uint64_t>("count");
    fs::create_hard_link(path_, dir_ / "link");
    other_process other(h, [&] {
        try {
            heap mine = heap::open(dir_ / "link", shared_heap());
        } catch (const error& e) {
            if (e.reason() == errc::in_use)
                return;
            throw;
        }
        throw std::runtime_error("it was opened");
    });
    EXPECT_EQ(other.wait(), 0);
    h.close();
}

TEST_F(sharing_heaps, a_write_that_fails_poisons_the_heap_in_all_processes) {
    heap h = heap::open(path_, shared_heap());
    auto& count = h.root<std::uint64_t>("count");
    h.write([&] { count = 1; });
    other_process other(h, [&] {
        failing_files files(os::posix_file_system());
        heap mine = detail::open(files, path_, shared_heap());
        auto& same = mine.root<std::uint64_t>("count");
        files.before_each([&](std::string_view call) {
            if (call.find("write_durable") != call.npos || call.find("sync") != call.npos)
                files.fail_at(0, errc::io);
        });
        std::optional<errc> refused;
        try {
            mine.write([&] { same = 2; });
        } catch (const error& e) {
            refused = e.reason();
        }
        told_.set(0);
        told_.wait(1);
        if (refused != errc::io && refused != errc::poisoned)
            throw std::runtime_error("the write did not fail");
    });
    told_.wait(0);
    for (int i = 0; i < 2; ++i) {
        try {
            h.write([&] { count = 3; });
            FAIL();
        } catch (const error& e) {
            EXPECT_EQ(e.reason(), errc::poisoned) << e.what();
        }
        h.read([&] { EXPECT_EQ(count, 1U); });
    }
    told_.set(1);
    EXPECT_EQ(other.wait(), 0);
    try {
        h.close();
    } catch (const error& e) {
        EXPECT_EQ(e.reason(), errc::poisoned);
    }
    heap again = heap::open(path_, shared_heap());
    const auto* found = again.find_root<std::uint64_t>("count");
    EXPECT_LT(*found, 3U);
    again.close();
}

TEST_F(sharing_heaps, who_cannot_follow_is_told_so_each_time_and_keeps_nobody_from_writing) {
    heap h = heap::open(path_, shared_heap());
    auto& count = h.root<std::uint64_t>("count");
    h.write([&] { count = 1; });
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<std::uint64_t>("count");
        told_.set(0);
        told_.wait(1);
        mine.write([&] { same = 2; });
        told_.set(2);
        told_.wait(3);
        mine.write([&] { same = 4; });
        told_.set(4);
        std::this_thread::sleep_for(1h);
    });
    told_.wait(0);
    h.read([] {});
    const std::uint64_t end = format::k_log_header_bytes + h.stats().log_used_bytes;
    told_.set(1);
    told_.wait(2);
    flip_byte(log_of(path_), end + 100); // of the record that is to be followed
    for (int i = 0; i < 2; ++i) {
        for (const bool writes : {false, true}) {
            try {
                writes ? h.write([] {}) : h.read([] {});
                FAIL();
            } catch (const error& e) {
                EXPECT_EQ(e.reason(), i == 0 && !writes ? errc::corrupt : errc::poisoned) << e.what();
            }
        }
    }
    told_.set(3);
    told_.wait(4);
}

TEST_F(sharing_heaps, a_commit_of_another_process_can_be_waited_for) {
    heap h = heap::open(path_, shared_heap());
    auto& count = h.root<std::uint64_t>("count");
    const std::uint64_t before = h.version();
    EXPECT_FALSE(h.wait_for_version(before + 1, 10ms));
    EXPECT_TRUE(h.wait_for_version(before, std::chrono::milliseconds::max()));
    const pid_t waits = ::getpid();
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<std::uint64_t>("count");
        if (!comes_true([&] { return is_asleep(waits, waits); }))
            throw std::runtime_error("nobody waits");
        mine.write([&] { same = 9; });
        mine.close();
    });
    EXPECT_TRUE(h.wait_for_version(before + 1, std::chrono::milliseconds::max())); // for ever: too long for a clock
    h.read([&] { EXPECT_EQ(count, 9U); });
    EXPECT_EQ(other.wait(), 0);
    h.close();
}

TEST_F(sharing_heaps, threads_of_one_process_share_its_view) {
    heap h = heap::open(path_, shared_heap());
    auto& count = h.root<std::uint64_t>("count");
    std::atomic<bool> ends = false;
    std::vector<std::thread> readers;
    std::atomic<std::uint64_t> sections = 0;
    for (int i = 0; i < 3; ++i) {
        readers.emplace_back([&] {
            std::uint64_t last = 0;
            while (!ends) {
                h.read([&] {
                    EXPECT_GE(count, last);
                    last = count;
                });
                ++sections;
            }
        });
    }
    other_process other(h, [&] {
        heap mine = heap::open(path_, shared_heap());
        auto& same = mine.root<std::uint64_t>("count");
        for (int i = 0; i < 200; ++i)
            mine.write([&] { ++same; });
        mine.close();
    });
    for (int i = 0; i < 200; ++i)
        h.write([&] { ++count; });
    EXPECT_EQ(other.wait(), 0);
    ends = true;
    for (std::thread& each : readers)
        each.join();
    EXPECT_GT(sections, 0U);
    h.read([&] { EXPECT_EQ(count, 400U); });
    h.close();
}

} // namespace
} // namespace remanence::test
