// rem::collector: collects in steps while the program goes on. What can be reached is never freed, and what no root
// reached at the first step is freed, whatever happens between the steps.
#include "fixture.hpp"

#include "support/seed.hpp"

#include <remanence/collector.hpp>
#include <remanence/types/reflect.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace rem = remanence;

namespace collector_test {

struct stone {
    std::uint64_t value = 0;
    stone* first = nullptr;
    rem::vector<stone*> others;
    rem::string name;
};
struct quarry {
    stone* begin = nullptr;
    rem::vector<stone*> more;
    rem::map<std::uint64_t, stone*> sorted;
    rem::btree_map<std::uint64_t, stone*> in_leaves;
    rem::hash_map<std::uint64_t, stone*> hashed;
    rem::deque<stone*> queue;
};
struct pebble {
    pebble* next = nullptr;
};
struct beach {
    pebble* first = nullptr;
};
struct leads_to_unknown {
    void* object = nullptr;
};

} // namespace collector_test

namespace remanence::test {
namespace {

using namespace collector_test;
using std::chrono::nanoseconds;

constexpr nanoseconds k_least{0}; // a step does as little as it can

class collecting_in_steps : public testing::Test {
protected:
    heap& with(const heap_options& options = small_heap()) {
        heap_.emplace(heap::create(dir_ / "collector.rem", options));
        return *heap_;
    }
    static std::uint64_t steps_until_done(collector& of) {
        std::uint64_t steps = 1;
        while (!of.step(k_least))
            ++steps;
        return steps;
    }
    static void do_steps(collector& of, int count) {
        for (int i = 0; i != count; ++i)
            ASSERT_FALSE(of.step(k_least));
    }
    static void make_pebbles(heap& h, std::uint64_t count) {
        h.write([&] {
            auto& root = h.root<beach>("beach");
            for (std::uint64_t i = 0; i != count; ++i)
                root.first = h.make<pebble>(root.first);
        });
    }
    static std::uint64_t pebbles_of(heap& h) {
        std::uint64_t count = 0;
        for (const pebble* each = h.root<beach>("beach").first; each != nullptr; each = each->next)
            ++count;
        return count;
    }

    temp_dir dir_;
    std::optional<heap> heap_;
};

/// What a program does with a heap. Beside the heap, the model has what can be reached, and what was lost.
class stone_cutter {
public:
    stone_cutter(heap& h, std::uint64_t seed) : heap_(h), root_(h.root<quarry>("quarry")), random_(seed) {}

    /// Everything that the program can reach, as it sees it.
    [[nodiscard]] std::map<const stone*, std::pair<std::uint64_t, std::string>> reached() const {
        std::map<const stone*, std::pair<std::uint64_t, std::string>> found;
        std::vector<const stone*> left(root_.more.begin(), root_.more.end());
        left.insert(left.end(), root_.queue.begin(), root_.queue.end());
        left.push_back(root_.begin);
        for (const auto& [key, each] : root_.sorted)
            left.push_back(each);
        for (const auto& [key, each] : root_.in_leaves)
            left.push_back(each);
        for (const auto& [key, each] : root_.hashed)
            left.push_back(each);
        while (!left.empty()) {
            const stone* const each = left.back();
            left.pop_back();
            if (each == nullptr || !found.emplace(each, std::pair(each->value, std::string(each->name))).second)
                continue;
            left.push_back(each->first);
            left.insert(left.end(), each->others.begin(), each->others.end());
        }
        return found;
    }
    /// Makes the first stones, while no collection is under way: even lost ones may be used again.
    void begin() {
        update();
        for (int i = 0; i != 4000; ++i)
            change();
        update();
    }
    /// Makes stones and loses others. Frees some of those that were lost, and makes others in their places.
    void work(std::uint64_t changes) {
        update();
        for (std::uint64_t i = 0; i != changes; ++i) {
            change();
            const auto now = reached(); // what is not must not be used any longer
            std::erase_if(reached_, [&](const stone* each) { return !now.contains(each); });
        }
        update();
        for (const stone* each : lost_) {
            if (each->others.capacity() == 0 && each->name.empty() && random_() % 4 == 0)
                bare_.push_back(const_cast<stone*>(each)); // NOLINT(cppcoreguidelines-pro-type-const-cast)
        }
        for (stone* const each : bare_) {
            lost_.erase(each);
            if (old_.erase(each) != 0)
                ++old_freed_;
            known_.erase(each);
            heap_.destroy(each);
            hang(make()); // probably there
        }
        bare_.clear();
    }
    /// From now on counts those of the stones lost by now that work() frees.
    void begin_to_count() {
        update();
        old_ = lost_;
        old_freed_ = 0;
    }
    [[nodiscard]] std::uint64_t old_freed() const { return old_freed_; }
    /// The collection has freed what was lost when it began.
    void forget_old() {
        for (const stone* each : old_) {
            lost_.erase(each);
            known_.erase(each);
        }
        old_.clear();
    }
    /// Memory became an earlier state, in which no stone is known but those that can be reached.
    void forget_all() {
        known_.clear();
        lost_.clear();
        old_.clear();
    }

private:
    /// Lost is what was reached, or made, and no longer is.
    void update() {
        const auto now = reached();
        for (const stone* each : known_) {
            if (!now.contains(each))
                lost_.insert(each);
        }
        for (const auto& [each, what] : now)
            known_.insert(each);
        reached_.clear();
        for (const auto& [each, what] : now)
            reached_.push_back(const_cast<stone*>(each)); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    }
    stone* make() {
        // Few values, so that another stone in the place of a former one often has the same bytes.
        auto* const made = heap_.make<stone>(random_() % 2);
        if (random_() % 3 == 0)
            made->name = std::string(random_() % 60, 'n').c_str();
        known_.insert(made);
        return made;
    }
    stone* any() { return reached_.empty() || random_() % 4 == 0 ? nullptr : reached_[random_() % reached_.size()]; }
    void hang(stone* which) {
        switch (random_() % 8) {
        case 0:
            root_.more.push_back(which);
            break;
        case 1:
            root_.sorted[random_() % 2000] = which;
            break;
        case 2:
            root_.in_leaves[random_() % 2000] = which;
            break;
        case 3:
            root_.hashed[random_() % 2000] = which;
            break;
        case 4:
            root_.queue.push_back(which);
            break;
        case 5:
            root_.begin = which;
            break;
        default:
            if (stone* const at = any(); at != nullptr)
                (random_() % 2 == 0 ? at->first : at->others.emplace_back()) = which;
        }
        if (which != nullptr)
            reached_.push_back(which); // at least until the next change
    }
    void change() {
        switch (random_() % 9) {
        case 0:
        case 1:
            hang(make());
            break;
        case 2: { // the only pointer to an object moves to where the collection may have been already
            std::swap(root_.begin, root_.sorted[random_() % 2000]);
            break;
        }
        case 3:
            root_.sorted.erase(random_() % 2000);
            root_.in_leaves.erase(random_() % 2000);
            root_.hashed.erase(random_() % 2000);
            break;
        case 4:
            if (!root_.more.empty()) { // as before
                stone* const last = root_.more.back();
                root_.more.pop_back();
                root_.queue.push_front(last);
            }
            break;
        case 5:
            if (!root_.queue.empty()) {
                stone* const last = root_.queue.back();
                root_.queue.pop_back();
                if (random_() % 2 == 0)
                    root_.in_leaves[random_() % 2000] = last;
            }
            break;
        case 6:
            if (root_.more.size() > 300)
                root_.more.resize(290);
            break;
        case 7:
            if (root_.begin != nullptr)
                std::swap(root_.begin, root_.begin->first);
            break;
        default:
            if (stone* const at = any(); at != nullptr)
                std::swap(at->first, root_.hashed[random_() % 2000]);
        }
    }

    heap& heap_;
    quarry& root_;
    std::mt19937_64 random_;
    std::vector<stone*> reached_;
    std::set<const stone*> known_;
    std::set<const stone*> lost_;
    std::set<const stone*> old_;
    std::vector<stone*> bare_;
    std::uint64_t old_freed_ = 0;
};

TEST_F(collecting_in_steps, frees_what_leaks_finds_and_nothing_else) {
    heap& h = with();
    stone_cutter cutter(h, random_seed());
    h.write([&] { cutter.begin(); });
    const auto expected = cutter.reached();
    const leak_report found = h.leaks();
    collector collection(h);
    EXPECT_GT(steps_until_done(collection), 10U);
    EXPECT_TRUE(collection.step(k_least));
    EXPECT_EQ(collection.freed().blocks, found.blocks);
    EXPECT_EQ(collection.freed().bytes, found.bytes);
    EXPECT_EQ(cutter.reached(), expected);
    EXPECT_TRUE(h.leaks().clean());
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(collecting_in_steps,
       what_was_lost_before_is_freed_and_what_is_reached_stays_whatever_happens_between_the_steps) {
    const std::uint64_t seed = random_seed();
    std::mt19937_64 random(seed);
    heap& h = with();
    stone_cutter cutter(h, seed);
    h.write([&] { cutter.begin(); });
    for (int round = 0; round != 5; ++round) {
        h.commit();
        cutter.begin_to_count();
        const std::uint64_t lost = h.leaks().blocks;
        collector collection(h);
        std::map<const stone*, std::pair<std::uint64_t, std::string>> expected;
        bool is_first = true;
        for (bool is_done = false; !is_done; is_first = false) {
            expected = cutter.reached();
            is_done = collection.step(k_least);
            ASSERT_EQ(cutter.reached(), expected);
            if (is_done)
                break;
            if (collection.freed().blocks != 0)
                cutter.forget_old();
            switch (is_first ? 0 : random() % 12) {
            case 0:
            case 1:
                h.write([&] { cutter.work(random() % 8); });
                break;
            case 2: // outside of sections, not committed yet
                cutter.work(random() % 4);
                break;
            case 3:
                cutter.work(1);
                (void)h.commit_async();
                break;
            case 4:
                h.checkpoint();
                break;
            case 5:
                h.write([&] {
                    auto at = h.savepoint();
                    h.root<quarry>("quarry").more.push_back(h.make<stone>(5U));
                    at.rollback();
                });
                break;
            case 6: {
                h.commit();
                EXPECT_THROW(h.write([&] {
                    h.root<quarry>("quarry").sorted.clear();
                    throw std::runtime_error("no");
                }),
                             std::runtime_error);
                break;
            }
            default:
                break;
            }
        }
        EXPECT_EQ(collection.freed().blocks, lost - cutter.old_freed());
        cutter.forget_old();
        ASSERT_TRUE(h.verify().clean());
        h.commit();
    }
    const auto expected = cutter.reached();
    h.collect();
    EXPECT_EQ(cutter.reached(), expected);
}

TEST_F(collecting_in_steps, undo_redo_and_go_to_between_the_steps_make_it_begin_again) {
    const std::uint64_t seed = random_seed();
    std::mt19937_64 random(seed);
    heap_options options = small_heap();
    options.history = {.steps_max = 100};
    heap& h = with(options);
    stone_cutter cutter(h, seed);
    h.write([&] { cutter.begin(); });
    for (int round = 0; round != 4; ++round) {
        for (int i = 0; i != 5; ++i)
            h.write([&] { cutter.work(20); });
        collector collection(h);
        std::uint64_t undone = 0;
        std::uint64_t depth = 0;
        for (bool is_done = false; !is_done;) {
            const auto expected = cutter.reached();
            depth = h.undo_depth();
            is_done = collection.step(k_least);
            ASSERT_EQ(cutter.reached(), expected);
            if (is_done || undone == 5 || random() % 10 != 0 || (depth <= 3 && h.redo_depth() == 0))
                continue;
            ++undone;
            if (depth <= 3 || (random() % 3 == 0 && h.redo_depth() != 0))
                h.redo(1);
            else
                h.undo(1 + random() % 2);
            cutter.forget_all();
            if (random() % 2 == 0)
                h.write([&] { cutter.work(4); });
        }
        EXPECT_TRUE(h.leaks().clean());
        EXPECT_LE(h.undo_depth(), depth + 1);
        ASSERT_TRUE(h.verify().clean());
        cutter.forget_all();
    }
}

TEST_F(collecting_in_steps, is_one_step_of_the_history) {
    heap_options options = small_heap();
    options.history = {.steps_max = 10};
    heap& h = with(options);
    make_pebbles(h, 5000);
    h.write([&] { h.root<beach>("beach").first = nullptr; });
    const std::uint64_t depth = h.undo_depth();
    collector collection(h);
    steps_until_done(collection);
    EXPECT_EQ(collection.freed().blocks, 5000U);
    EXPECT_EQ(h.undo_depth(), depth + 1);
    EXPECT_TRUE(h.leaks().clean());
    h.undo(2);
    EXPECT_EQ(pebbles_of(h), 5000U);
}

TEST_F(collecting_in_steps, no_step_does_more_than_a_small_part_in_a_heap_of_a_million_blocks) {
    heap& h = with({.memory = {.reserve_bytes = 1 * GiB}});
    constexpr std::uint64_t k_blocks = 1'000'000;
    make_pebbles(h, k_blocks);
    h.write([&] {
        pebble* middle = h.root<beach>("beach").first;
        for (std::uint64_t i = 1; i != k_blocks / 2; ++i)
            middle = middle->next;
        middle->next = nullptr;
    });
    collector collection(h);
    std::uint64_t steps = 0;
    std::uint64_t frees = 0;
    for (bool is_done = false; !is_done; ++steps) {
        const std::uint64_t before = collection.freed().blocks;
        is_done = collection.step(k_least);
        const std::uint64_t freed = collection.freed().blocks - before;
        ASSERT_LE(freed, 512U);
        frees += freed != 0 ? 1U : 0U;
    }
    EXPECT_GT(steps - frees, k_blocks / 2 / 512); // each has looked at few of the half million objects that are reached
    EXPECT_EQ(collection.freed().blocks, k_blocks / 2);
    EXPECT_EQ(pebbles_of(h), k_blocks / 2);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(collecting_in_steps, pauses_within_large_containers_which_change_meanwhile) {
    heap& h = with({.memory = {.reserve_bytes = 1 * GiB}});
    auto& root = h.root<quarry>("quarry");
    std::vector<char> bytes(8U << 20U);
    constexpr std::uint64_t k_each = 20'000;
    h.write([&] {
        for (std::uint64_t i = 0; i != k_each; ++i) {
            root.sorted[i] = h.make<stone>(i);
            root.in_leaves[i] = h.make<stone>(i);
            root.hashed[i] = h.make<stone>(i);
            root.queue.push_back(h.make<stone>(i));
            root.more.push_back(h.make<stone>(i));
        }
        for (std::uint64_t i = 0; i != 100; ++i)
            (void)h.make<stone>(i);
    });
    collector collection(h);
    std::uint64_t steps = 1;
    for (; !collection.step(k_least); ++steps) {
        if (steps > k_each / 4 || steps % 8 != 0)
            continue;
        h.write([&] { // elements move from one container to the next, backwards
            const auto last = std::prev(root.sorted.end());
            stone* const moved = last->second;
            root.sorted.erase(last);
            root.in_leaves[k_each + steps] = moved;
            const auto first = root.in_leaves.begin();
            root.hashed[k_each + steps] = first->second;
            root.in_leaves.erase(first);
            root.more.push_back(root.queue.back());
            root.queue.pop_back();
            root.queue.push_front(root.more.front());
            root.more.erase(root.more.begin());
        });
    }
    EXPECT_GT(steps, 1000U);
    EXPECT_EQ(collection.freed().blocks, 100U);
    std::uint64_t sum = 0;
    for (const auto& [key, each] : root.sorted)
        sum += each->value;
    for (const auto& [key, each] : root.in_leaves)
        sum += each->value;
    for (const auto& [key, each] : root.hashed)
        sum += each->value;
    for (const stone* each : root.queue)
        sum += each->value;
    for (const stone* each : root.more)
        sum += each->value;
    EXPECT_EQ(sum, 5 * k_each * (k_each - 1) / 2);
    EXPECT_TRUE(h.leaks().clean());
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(collecting_in_steps, keeps_what_is_reached_while_whole_chunks_are_rewritten_freed_and_given_back) {
    heap& h = with({.memory = {.reserve_bytes = 1 * GiB}});
    constexpr std::uint64_t k_pebbles = 200'000;
    make_pebbles(h, k_pebbles);
    (void)h.make<pebble>();
    h.commit();
    h.checkpoint();
    collector collection(h);
    do_steps(collection, 400);
    h.write([&] { // all move to other places, and those are freed
        auto& first = h.root<beach>("beach").first;
        pebble* moved = nullptr;
        for (const pebble* each = first; each != nullptr; each = each->next)
            moved = h.make<pebble>(moved);
        while (first != nullptr) {
            pebble* const next = first->next;
            h.destroy(first);
            first = next;
        }
        first = moved;
    });
    h.checkpoint();
    do_steps(collection, 20);
    (void)h.commit_async();
    h.write([&] { make_pebbles(h, k_pebbles); }); // where the first ones were
    h.checkpoint();
    steps_until_done(collection);
    EXPECT_EQ(collection.freed().blocks, 1U);
    EXPECT_EQ(pebbles_of(h), 2 * k_pebbles);
    EXPECT_TRUE(h.leaks().clean());
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(collecting_in_steps, keeps_what_only_freed_objects_in_chunks_without_blocks_led_to) {
    heap& h = with({.memory = {.reserve_bytes = 1 * GiB}});
    auto& root = h.root<beach>("beach");
    h.write([&] {
        arena kept = arena::open(h, "kept", {.room_bytes = 4 * MiB});
        for (int i = 0; i != 1000; ++i)
            root.first = kept.make<pebble>(root.first);
    });
    pebble* const kept = root.first;
    make_pebbles(h, 200'000);
    h.checkpoint();
    collector collection(h);
    do_steps(collection, 400);
    h.write([&] {
        while (root.first != kept) {
            pebble* const next = root.first->next;
            h.destroy(root.first);
            root.first = next;
        }
    });
    h.checkpoint();
    do_steps(collection, 20);
    steps_until_done(collection);
    EXPECT_EQ(collection.freed().blocks, 0U);
    EXPECT_EQ(pebbles_of(h), 1000U);
    EXPECT_TRUE(h.verify().clean());
    const std::uint64_t before = h.version();
    h.checkpoint(); // gives the chunks back now
    EXPECT_GT(h.version(), before);
    EXPECT_EQ(pebbles_of(h), 1000U);
}

TEST_F(collecting_in_steps, leaves_alone_what_was_freed_since_also_with_an_arena) {
    heap& h = with();
    make_pebbles(h, 5000);
    arena where = arena::open(h, "lost", {.room_bytes = 4 * MiB});
    h.write([&] {
        for (int i = 0; i != 1000; ++i)
            (void)where.make<pebble>();
        (void)h.make<pebble>();
    });
    collector collection(h);
    ASSERT_FALSE(collection.step(k_least));
    auto& root = h.root<beach>("beach");
    h.write([&] {
        ASSERT_TRUE(arena::destroy(h, "lost"));
        where = arena::open(h, "lost", {.room_bytes = 4 * MiB});
        for (int i = 0; i != 1000; ++i)
            root.first = where.make<pebble>(root.first);
    });
    steps_until_done(collection);
    EXPECT_EQ(collection.freed().blocks, 1U);
    EXPECT_EQ(pebbles_of(h), 6000U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(collecting_in_steps, works_with_red_zones_aligned_blocks_and_places) {
    heap_options options = small_heap();
    options.checks.red_zones = true;
    options.checks.leak_frames = 8;
    options.memory.aligned_blocks = true;
    heap& h = with(options);
    stone_cutter cutter(h, random_seed());
    h.write([&] { cutter.begin(); });
    const leak_report found = h.leaks();
    cutter.begin_to_count();
    collector collection(h);
    while (!collection.step(k_least))
        h.write([&] { cutter.work(2); });
    EXPECT_EQ(collection.freed().blocks, found.blocks - cutter.old_freed());
    EXPECT_EQ(collection.freed().places.empty(), found.blocks == cutter.old_freed());
    EXPECT_TRUE(h.verify().clean());
    (void)h.make<stone>(1U);
    EXPECT_FALSE(h.leaks().places.empty()); // places are still noted
}

TEST_F(collecting_in_steps, other_threads_go_on_meanwhile) {
    heap& h = with();
    make_pebbles(h, 20'000);
    h.write([&] {
        for (int i = 0; i != 100; ++i)
            (void)h.make<pebble>();
    });
    std::atomic<bool> is_done = false;
    std::thread other([&] {
        while (!is_done) {
            h.write(durability::lazy, [&] {
                auto& root = h.root<beach>("beach");
                pebble* const first = root.first;
                root.first = first->next;
                h.destroy(first);
                pebble* last = root.first;
                for (int i = 0; i != 100; ++i)
                    last = last->next;
                last->next = h.make<pebble>(last->next);
            });
        }
    });
    collector collection(h);
    steps_until_done(collection);
    is_done = true;
    other.join();
    EXPECT_EQ(collection.freed().blocks, 100U);
    EXPECT_EQ(pebbles_of(h), 20'000U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_F(collecting_in_steps, refuses_what_collect_refuses) {
    heap& h = with();
    h.write([&] {
        (void)h.make<pebble>();
        h.root<leads_to_unknown>("unknown");
    });
    collector collection(h);
    const auto why = error_of([&] { collection.step(k_least); });
    const auto expected = error_of([&] { h.collect(); });
    ASSERT_TRUE(why && expected);
    EXPECT_EQ(why->code, errc::not_supported);
    EXPECT_EQ(why->what, expected->what);
    h.write([&] { h.remove_root<leads_to_unknown>("unknown"); });
    steps_until_done(collection);
    EXPECT_EQ(collection.freed().blocks, 1U);
}

TEST_F(collecting_in_steps, is_refused_in_sections_and_beside_another) {
    heap& h = with();
    make_pebbles(h, 5000);
    collector collection(h);
    EXPECT_EQ(reason_of([&] { h.read([&] { collection.step(k_least); }); }), errc::section_open);
    EXPECT_EQ(reason_of([&] { h.write([&] { collection.step(k_least); }); }), errc::section_open);
    ASSERT_FALSE(collection.step(k_least));
    {
        collector second(h);
        EXPECT_EQ(reason_of([&] { second.step(k_least); }), errc::in_use);
    }
    EXPECT_EQ(reason_of([&] { h.shrink(); }), errc::in_use);
    steps_until_done(collection);
    collector third(h);
    ASSERT_FALSE(third.step(k_least));
    h.close();
    EXPECT_EQ(reason_of([&] { third.step(k_least); }), errc::closed);
}

TEST_F(collecting_in_steps, of_a_collection_that_was_given_up_nothing_is_left) {
    heap& h = with();
    make_pebbles(h, 5000);
    h.write([&] { (void)h.make<pebble>(); });
    {
        collector given_up(h);
        ASSERT_FALSE(given_up.step(k_least));
    }
    EXPECT_EQ(h.collect().blocks, 1U);
    h.shrink();
    EXPECT_EQ(pebbles_of(h), 5000U);
}

TEST_F(collecting_in_steps, a_child_that_was_forked_meanwhile_can_end) {
    heap& h = with();
    make_pebbles(h, 5000);
    auto collection = std::make_unique<collector>(h);
    ASSERT_FALSE(collection->step(k_least));
    const ::pid_t child = ::fork();
    if (child == 0) {
        const auto why = reason_of([&] { collection->step(k_least); });
        collection.reset();
        ::_exit(why == errc::closed ? 0 : 1);
    }
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    steps_until_done(*collection);
    EXPECT_EQ(pebbles_of(h), 5000U);
}

TEST_F(collecting_in_steps, a_read_only_heap_and_a_shared_one_are_refused) {
    with().close();
    {
        heap h = heap::open(dir_ / "collector.rem", {.read_only = true});
        collector collection(h);
        EXPECT_EQ(reason_of([&] { collection.step(k_least); }), errc::read_only);
    }
    heap h = heap::open(dir_ / "collector.rem", {.access = sharing::processes});
    collector collection(h);
    EXPECT_EQ(reason_of([&] { collection.step(k_least); }), errc::not_supported);
}

} // namespace
} // namespace remanence::test
