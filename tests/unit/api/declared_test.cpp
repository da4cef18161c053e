// Declared sections, with each tracker: what is declared is committed, and nothing else is lost.

#include "support/seed.hpp"
#include "types/pointer_check.hpp"
#include "unit/api/fixture.hpp"

#include <cstdlib>
#include <random>

namespace remanence::test {
namespace {

constexpr std::size_t k_number_count = 100'000; // numbers; 196 pages

/// Whether undeclared changes are refused.
bool is_checked() { return types::checks_pointers() != nullptr; }

class declared_sections : public testing::TestWithParam<tracking> {
protected:
    void SetUp() override {
        if (const char* forced = std::getenv("REMANENCE_TRACKING"); forced != nullptr && *forced != '\0')
            GTEST_SKIP() << "REMANENCE_TRACKING forces a tracker; these tests choose their own";
        if (GetParam() == tracking::scan) {
            heap h = heap::create(dir_ / "probe", small_heap());
            if (h.stats().tracker != "scan")
                GTEST_SKIP() << "the machine has no scan tracker";
        }
    }
    heap_options options() const {
        heap_options options = small_heap();
        options.tracker = GetParam();
        return options;
    }
    /// With a root "list" of many numbers, all of them 0.
    heap make() {
        heap h = heap::create(dir_ / "h", options());
        h.root<numbers>("list", k_number_count);
        return h;
    }
    static numbers& list_of(heap& h) { return *h.find_root<numbers>("list"); }
    static void put(heap& h, std::size_t index, std::uint64_t value) {
        h.touch(&list_of(h)[index], sizeof value);
        list_of(h)[index] = value;
    }
    /// What a crash leaves of what `use` does in a child with the heap.
    heap after_crash(const std::function<void(heap&)>& use) {
        EXPECT_EQ(in_child([&] {
                      auto* h = new heap(heap::open_existing(dir_ / "h", options())); // never closed
                      use(*h);
                      return std::string("used");
                  }),
                  "used");
        return heap::open_existing(dir_ / "h", options());
    }

    temp_dir dir_;
};

TEST_P(declared_sections, commit_what_is_touched) {
    make().close();
    heap h = after_crash([](heap& used) {
        for (std::uint64_t i = 1; i <= 20; ++i)
            used.write(declared, [&] { put(used, i * 4321, i); });
    });
    for (std::uint64_t i = 1; i <= 20; ++i)
        EXPECT_EQ(list_of(h)[i * 4321], i);
    EXPECT_EQ(h.stats().recovered_commits, 20U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(declared_sections, commit_what_is_touched_asynchronously) {
    make().close();
    heap h = after_crash([](heap& used) {
        std::optional<commit_ticket> last;
        for (std::uint64_t i = 1; i <= 20; ++i)
            last = used.write_async(declared, [&] { put(used, i * 4321, i); });
        for (std::uint64_t i = 1; i <= 20; ++i)
            list_of(used)[i * 4321] = 99; // after the point
        last->wait();
    });
    for (std::uint64_t i = 1; i <= 20; ++i)
        EXPECT_EQ(list_of(h)[i * 4321], i);
    EXPECT_EQ(h.stats().recovered_commits, 20U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(declared_sections, that_end_asynchronously_leave_an_undeclared_change_to_the_next_ordinary_commit) {
    heap h = make();
    const auto change = [&] {
        put(h, 0, 1);
        list_of(h)[50'000] = 2;
    };
    if (is_checked()) {
        EXPECT_EQ(error_of([&] { (void)h.write_async(declared, change); })->code, errc::undeclared_change);
        EXPECT_EQ(list_of(h)[0] + list_of(h)[50'000], 0U);
        return;
    }
    (void)h.write_async(declared, change);
    h.rollback();
    EXPECT_EQ(list_of(h)[0], 1U);
    EXPECT_EQ(list_of(h)[50'000], 0U) << "it was not committed";
    h.write_async(declared, change).wait();
    (void)h.write_async([&] {}); // looks everywhere
    h.rollback();
    EXPECT_EQ(list_of(h)[50'000], 2U);
}

TEST_P(declared_sections, commit_what_is_allocated_and_roots) {
    make().close();
    heap h = after_crash([](heap& used) {
        put(used, 0, 1); // so that this session's memory is not as committed, either
        used.commit();
        used.write(declared, [&] {
            auto& more = used.root<numbers>("more", std::size_t{30'000}, std::uint64_t{7});
            used.root<names>("names")["a name that is too long for the small string buffer"] = more.size();
        });
        used.write(declared, [&] { used.remove_root<numbers>("more"); });
        used.write(declared, [&] {
            for (int i = 0; i < 20; ++i)
                used.root<string>("text " + std::to_string(i), std::size_t{5000}, 'x');
        });
    });
    EXPECT_EQ(h.find_root<numbers>("more"), nullptr);
    EXPECT_EQ(h.find_root<names>("names")->begin()->second, 30'000U);
    EXPECT_EQ(h.roots().size(), 22U);
    EXPECT_EQ(*h.find_root<string>("text 19"), std::string_view(string(5000, 'x')));
    EXPECT_TRUE(h.verify().clean());
    EXPECT_EQ(h.stats().recovered_commits, 4U);
}

TEST_P(declared_sections, leave_an_undeclared_change_to_the_next_ordinary_commit) {
    heap h = make();
    const auto change = [&] {
        put(h, 0, 1);
        list_of(h)[50'000] = 2;
    };
    if (is_checked()) {
        EXPECT_TRUE(is_error(error_of([&] { h.write(declared, change); }), errc::undeclared_change, dir_ / "h",
                             "Declare each such change before it is made, by touch()"));
        EXPECT_EQ(list_of(h)[0] + list_of(h)[50'000], 0U);
        return;
    }
    h.write(declared, change);
    EXPECT_EQ(list_of(h)[50'000], 2U);
    h.write(declared, [&] { put(h, 1, 3); });
    h.checkpoint();
    EXPECT_EQ(list_of(h)[50'000], 2U);
    h.rollback();
    EXPECT_EQ(list_of(h)[50'000], 0U) << "it was not committed";
    EXPECT_EQ(list_of(h)[0], 1U);
    EXPECT_EQ(list_of(h)[1], 3U);
    h.write(declared, change);
    const std::uint64_t version = h.version();
    h.commit();
    EXPECT_EQ(h.version(), version + 1);
    h.rollback();
    EXPECT_EQ(list_of(h)[50'000], 2U);
}

TEST_P(declared_sections, leave_a_change_made_outside_to_the_next_ordinary_commit) {
    heap h = make();
    list_of(h)[50'000] = 2;
    if (is_checked()) {
        EXPECT_TRUE(is_error(error_of([&] { h.write(declared, [&] { put(h, 0, 1); }); }), errc::undeclared_change,
                             dir_ / "h", "commit what was changed outside sections"));
        return;
    }
    h.write(declared, [&] { put(h, 0, 1); });
    EXPECT_EQ(list_of(h)[50'000], 2U);
    h.commit();
    h.rollback();
    EXPECT_EQ(list_of(h)[0], 1U);
    EXPECT_EQ(list_of(h)[50'000], 2U);
}

TEST_P(declared_sections, that_throw_are_rolled_back_as_a_whole) {
    heap h = make();
    h.write(declared, [&] { put(h, 7, 7); });
    list_of(h)[99'999] = 4; // as ordinary sections do: everything since the last commit
    const std::uint64_t version = h.version();
    EXPECT_THROW(h.write(declared,
                         [&] {
                             put(h, 0, 1);
                             list_of(h)[50'000] = 2;
                             h.root<numbers>("other", std::size_t{10'000});
                             throw std::runtime_error("stop");
                         }),
                 std::runtime_error);
    EXPECT_EQ(list_of(h)[0] + list_of(h)[50'000] + list_of(h)[99'999], 0U);
    EXPECT_EQ(list_of(h)[7], 7U);
    EXPECT_EQ(h.find_root<numbers>("other"), nullptr);
    EXPECT_EQ(h.version(), version);
    h.write(declared, [&] { put(h, 0, 1); });
    EXPECT_EQ(h.version(), version + 1);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(declared_sections, join_and_are_joined) {
    heap h = make();
    std::uint64_t next = 0;
    const auto is_ordinary = [&](const std::function<void()>& use) { // an undeclared change is in its commit
        list_of(h)[60'000] = ++next;
        use();
        h.rollback();
        return list_of(h)[60'000] == next;
    };
    EXPECT_TRUE(is_ordinary([&] { h.write([&] { h.write(declared, [&] { put(h, 1, next); }); }); }));
    EXPECT_TRUE(is_ordinary([&] { h.write(declared, [&] { h.write([&] { put(h, 1, next); }); }); }));
    EXPECT_TRUE(is_ordinary([&] {
        h.write(declared, [&] {
            put(h, 1, next);
            const std::unique_lock lock(h);
        });
    }));
    EXPECT_TRUE(is_ordinary([&] {
        h.write(declared, [&] {
            put(h, 1, next);
            ASSERT_TRUE(h.try_lock());
            h.unlock();
        });
    }));
    const auto nested = [&] {
        h.write(declared, [&] {
            h.write(declared, [&] { put(h, 1, next); });
            h.root<std::uint64_t>("another " + std::to_string(next));
            (void)h.find_root<numbers>("list")->size();
            EXPECT_EQ(h.read([&] { return list_of(h)[1]; }), next);
        });
    };
    if (is_checked()) {
        list_of(h)[60'000] = ++next;
        EXPECT_TRUE(is_error(error_of(nested), errc::undeclared_change, dir_ / "h", "was not declared"));
    } else {
        EXPECT_FALSE(is_ordinary(nested));
        EXPECT_EQ(list_of(h)[1], next);
    }
}

TEST_P(declared_sections, take_everything_when_memory_was_allocated_before) {
    heap h = make();
    for (const bool frees : {false, true}) {
        const std::uint64_t value = frees ? 2 : 1;
        auto* block = h.make<std::uint64_t>(5U);
        if (frees) {
            h.commit();
            h.destroy(block);
        }
        list_of(h)[60'000] = value;
        h.write(declared, [&] { put(h, 1, value); });
        h.rollback();
        EXPECT_EQ(list_of(h)[60'000], value);
        EXPECT_EQ(list_of(h)[1], value);
        EXPECT_TRUE(h.verify().clean());
    }
}

TEST_P(declared_sections, take_everything_in_the_first_commit_of_a_heap) {
    {
        heap h = heap::create(dir_ / "new", options());
        h.write(declared, [&] { h.root<numbers>("list", std::size_t{10}, std::uint64_t{3}); });
        h.close();
    }
    heap h = heap::open_existing(dir_ / "new", options());
    EXPECT_EQ(h.find_root<numbers>("list")->at(9), 3U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(declared_sections, take_everything_by_an_explicit_commit) {
    heap h = make();
    h.write(declared, [&] {
        list_of(h)[60'000] = 1;
        h.commit();
        h.touch(&list_of(h)[0], 8);
        h.rollback();
        EXPECT_EQ(list_of(h)[60'000], 1U);
        put(h, 5, 5);
    });
    h.rollback();
    EXPECT_EQ(list_of(h)[5], 5U);
    EXPECT_EQ(list_of(h)[60'000], 1U);
}

TEST_P(declared_sections, lose_nothing_in_checkpoints) {
    heap h = make();
    h.close();
    heap_options small = options();
    small.log.log_limit_bytes = 2000; // a checkpoint after every few commits
    h = heap::open_existing(dir_ / "h", small);
    if (!is_checked())
        list_of(h)[60'001] = 9; // never declared
    h.write(declared, [&] { h.root<numbers>("fresh", k_number_count); });
    auto& fresh = *h.find_root<numbers>("fresh");
    for (std::uint64_t i = 1; i <= 30; ++i) {
        if (!is_checked())
            fresh[i * 2000] = i; // in chunks that this session made
        h.write(declared, [&] { put(h, i * 512, i); });
        h.write(declared, [&] { put(h, 12'345, i); });
    }
    EXPECT_GT(h.stats().checkpoints, 5U);
    for (std::uint64_t i = 1; i <= 30; ++i) {
        EXPECT_EQ(list_of(h)[i * 512], i);
        EXPECT_EQ(fresh[i * 2000], is_checked() ? 0 : i);
    }
    h.commit();
    h.rollback();
    h.close();
    h = heap::open_existing(dir_ / "h", small);
    EXPECT_EQ(list_of(h)[12'345], 30U);
    EXPECT_EQ(list_of(h)[60'001], is_checked() ? 0U : 9U);
    for (std::uint64_t i = 1; i <= 30; ++i)
        EXPECT_EQ(h.find_root<numbers>("fresh")->at(i * 2000), is_checked() ? 0 : i);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(declared_sections, agree_with_ordinary_ones_over_random_allocations) {
    std::mt19937_64 random(test::random_seed());
    heap h = heap::create(dir_ / "h", options());
    auto& blocks = h.root<vector<numbers*>>("blocks", std::size_t{200});
    std::vector<std::vector<std::uint64_t>> model(200);
    for (int round = 0; round < 150; ++round) {
        const auto before = model;
        const auto change = [&] {
            for (std::size_t i = random() % 10; i > 0; --i) {
                const std::size_t at = random() % blocks.size();
                h.touch(&blocks[at], sizeof(void*));
                h.destroy(std::exchange(blocks[at], nullptr));
                model[at].clear();
                if (random() % 3 != 0) {
                    model[at].assign(1 + random() % (random() % 10 == 0 ? 20'000 : 60), random());
                    blocks[at] = h.make<numbers>(model[at].begin(), model[at].end());
                }
            }
            if (random() % 5 == 0)
                throw std::runtime_error("rolled back");
        };
        try {
            if (random() % 4 == 0)
                h.write(change);
            else
                h.write(declared, change);
        } catch (const std::runtime_error& stop) {
            ASSERT_STREQ(stop.what(), "rolled back");
            model = before;
        }
        if (random() % 10 == 0)
            h.checkpoint();
        if (random() % 10 == 0)
            h.rollback();
        if (random() % 20 == 0) {
            h.close();
            h = heap::open_existing(dir_ / "h", options());
        }
    }
    ASSERT_EQ(&blocks, h.find_root<vector<numbers*>>("blocks"));
    for (std::size_t i = 0; i < model.size(); ++i) {
        ASSERT_EQ(blocks[i] == nullptr, model[i].empty());
        if (blocks[i] != nullptr) {
            ASSERT_TRUE(std::equal(blocks[i]->begin(), blocks[i]->end(), model[i].begin(), model[i].end()));
        }
    }
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(declared_sections, that_lied_are_told_by_root_type_and_place) {
    if (!is_checked())
        GTEST_SKIP() << "this library does not check: it was built with NDEBUG";
    heap h = make();
    auto got = error_of([&] {
        h.write(declared, [&] {
            list_of(h)[50'001] = 1;
            list_of(h)[70'000] = 1;
        });
    });
    ASSERT_TRUE(is_error(got, errc::undeclared_change, dir_ / "h", "below the root \"list\" of type "));
    EXPECT_NE(got->what.find("at byte " + std::to_string(50'001 * 8) + " of the block of "), std::string::npos)
        << got->what;
    EXPECT_NE(got->what.find(", in list[50001], below the root"), std::string::npos) << got->what;
    EXPECT_NE(got->what.find("There are 2 such words"), std::string::npos) << got->what;
    EXPECT_EQ(list_of(h)[70'000], 0U);
    auto* unreachable = h.make<numbers>(std::size_t{4});
    h.commit();
    got = error_of([&] { h.write(declared, [&] { unreachable->pop_back(); }); });
    EXPECT_TRUE(is_error(got, errc::undeclared_change, dir_ / "h", "which no root reaches"));
    EXPECT_FALSE(error_of([&] { h.write(declared, [&] { h.destroy(unreachable); }); }))
        << "what is freed may be written";
}

INSTANTIATE_TEST_SUITE_P(trackers, declared_sections,
                         testing::Values(tracking::scan, tracking::trap, tracking::fallback), [](const auto& tier) {
                             return tier.param == tracking::scan   ? "scan"
                                    : tier.param == tracking::trap ? "trap"
                                                                   : "fallback";
                         });

class declared_sections_with_traps : public testing::Test {
protected:
    void SetUp() override {
        if (const char* forced = std::getenv("REMANENCE_TRACKING"); forced != nullptr && *forced != '\0')
            GTEST_SKIP() << "REMANENCE_TRACKING forces a tracker";
        options_.tracker = tracking::trap;
        options_.checks.catch_stray_writes = true;
    }

    temp_dir dir_;
    heap_options options_ = small_heap();
};

TEST_F(declared_sections_with_traps, catch_stray_writes_all_the_same) {
    heap h = heap::create(dir_ / "h", options_);
    auto& list = h.root<numbers>("list", k_number_count);
    for (std::uint64_t i = 0; i < 20; ++i) {
        h.write(declared, [&] {
            h.touch(&list[i % 3 * 10'000], 8);
            list[i % 3 * 10'000] = i;
        });
    }
    EXPECT_TRUE(
        is_error(error_of([&] { h.touch(&list[0], 8); }), errc::section_conflict, dir_ / "h", "Call it within one"));
    h.close();
    h = heap::open_existing(dir_ / "h", options_);
    EXPECT_EQ(h.find_root<numbers>("list")->at(10'000), 19U);
}

// What is left of it in memory, of builds that do not look for it, is taken back by the library.
TEST_F(declared_sections_with_traps, are_closed_after_a_change_that_nobody_declared) {
    for (const bool by_destructor : {false, true}) {
        const fs::path file = dir_ / (by_destructor ? "destroyed" : "closed");
        {
            heap h = heap::create(file, options_);
            auto& list = h.root<numbers>("list", k_number_count);
            auto* freed = h.write([&] { return h.make<std::array<std::uint64_t, 100'000>>(); });
            h.write(declared, [&] { h.destroy(freed); }); // chunks that no block uses: to be given back
            (void)error_of([&] {
                h.write(declared, [&] {
                    h.touch(&list[0], 8);
                    list[0] = 1;
                    list[20'000] = 2; // not declared
                });
            });
            if (!by_destructor)
                h.close();
        }
        heap again = heap::open_existing(file, options_);
        EXPECT_LE(again.find_root<numbers>("list")->at(0), 1U);
        EXPECT_EQ(again.find_root<numbers>("list")->at(20'000), 0U);
        EXPECT_EQ(again.stats().recovered_commits, 0U);
    }
}

} // namespace
} // namespace remanence::test
