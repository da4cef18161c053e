// Volatile heaps become heap files, and heap files volatile heaps: every block at its place, with its contents and roots.
#include "fixture.hpp"

#include "api/heap_impl.hpp"
#include "os/memory_marks.hpp"
#include "support/seed.hpp"
#include "types/schema_table.hpp"

#include <remanence/arena.hpp>
#include <remanence/remanence.h>
#include <remanence/volatile_files.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <utility>

namespace remanence::test {

/// An object of the tests: a list whose nodes have many sizes.
struct saved_node {
    saved_node* next;
    std::uint64_t bytes; // of the block that the program uses, this node included
    std::uint64_t seed;  // of what follows the node

    void fill() {
        auto* const words = reinterpret_cast<unsigned char*>(this + 1);
        for (std::uint64_t i = 0; i + sizeof *this < bytes; ++i)
            words[i] = static_cast<unsigned char>(seed + i * 7);
    }
    [[nodiscard]] bool is_filled() const {
        const auto* const words = reinterpret_cast<const unsigned char*>(this + 1);
        for (std::uint64_t i = 0; i + sizeof *this < bytes; ++i) {
            if (words[i] != static_cast<unsigned char>(seed + i * 7))
                return false;
        }
        return true;
    }
};

struct saved_list {
    saved_node* first;
};

struct saved_word {
    std::uint64_t value;
};

struct saved_odd_size {
    std::array<std::uint64_t, 67> words; // 536 bytes, between two size classes
    saved_word* word;
};

namespace {

std::optional<caught> error_of_loading(const fs::path& path, const volatile_heap_options& options = {}) {
    return error_of([&] { (void)load_volatile(path, options); });
}
errc reason_of_loading(const fs::path& path, const volatile_heap_options& options = {}) {
    const auto got = error_of_loading(path, options);
    return got ? got->code : errc{};
}

class volatile_files : public testing::Test {
protected:
    [[nodiscard]] fs::path file(const char* name = "heap") const { return dir.path() / name; }
    [[nodiscard]] bool is_only(const char* name) const {
        std::size_t count = 0;
        for (const auto& each : fs::directory_iterator(dir.path()))
            count += each.path().filename() == name ? 1U : 1000U;
        return count == 1;
    }

    temp_dir dir = temp_dir::in_memory();
};

TEST_F(volatile_files, one_block_and_its_root_are_in_the_file) {
    std::uint64_t* word = nullptr;
    {
        volatile_heap scratch;
        word = new (scratch.allocate(sizeof(saved_word))) std::uint64_t(77);
        set_root(scratch, "word", reinterpret_cast<saved_word*>(word));
        save_as(scratch, file());
        EXPECT_TRUE(is_only("heap"));
        EXPECT_EQ(*word, 77U);
        EXPECT_TRUE(scratch.verify().clean());
    }
    heap opened = heap::open_existing(file());
    auto* const found = opened.find_root<saved_word>("word");
    ASSERT_EQ(static_cast<void*>(found), static_cast<void*>(word));
    EXPECT_EQ(found->value, 77U);
    EXPECT_TRUE(opened.verify().clean());
    EXPECT_EQ(opened.leaks().blocks, 0U);
    EXPECT_TRUE(
        types::look_up_schema(detail::impl_of(opened).memory(), detail::fingerprint_of<saved_word>()).is_stored);
    opened.write([&] { found->value = 78; });
    opened.close();
    const auto again = load_volatile(file());
    auto* const loaded = find_root<saved_word>(*again, "word");
    ASSERT_EQ(static_cast<void*>(loaded), static_cast<void*>(word));
    EXPECT_EQ(loaded->value, 78U);
    EXPECT_TRUE(again->verify().clean());
    EXPECT_EQ(again->stats().blocks, 1U);
    again->free(loaded);
    EXPECT_EQ(again->stats().blocks, 0U);
}

/// The blocks that a list of saved_nodes should have.
class node_model {
public:
    explicit node_model(std::uint64_t seed) : random_(seed) {}

    /// Adds and removes nodes, by these functions.
    void change(int times, const std::function<void*(std::size_t)>& allocate, const std::function<void(void*)>& free) {
        for (int i = 0; i != times; ++i) {
            if (nodes_.size() > 400 || (!nodes_.empty() && random_() % 5 < 2)) {
                auto at = nodes_.begin();
                std::advance(at, static_cast<std::ptrdiff_t>(random_() % nodes_.size()));
                free(at->first);
                nodes_.erase(at);
                continue;
            }
            const std::size_t bytes = some_size();
            auto* const made = static_cast<saved_node*>(allocate(bytes));
            ASSERT_NE(made, nullptr);
            *made = {nullptr, bytes, random_()};
            made->fill();
            ASSERT_TRUE(nodes_.emplace(made, std::pair(bytes, made->seed)).second);
        }
        link();
    }
    void begin_with(saved_list* list) { list_ = list; }
    [[nodiscard]] saved_list* list() const { return list_; }
    [[nodiscard]] std::size_t size() const { return nodes_.size(); }
    template <class F>
    void for_each(const F& f) const {
        for (const auto& [node, what] : nodes_)
            f(node, what.first);
    }

    void check() const {
        const saved_node* from = list_->first;
        for (const auto& [node, what] : nodes_) {
            ASSERT_EQ(from, node);
            ASSERT_EQ(from->bytes, what.first);
            ASSERT_EQ(from->seed, what.second);
            ASSERT_TRUE(from->is_filled()) << "a block of " << from->bytes << " bytes at " << from;
            from = from->next;
        }
        ASSERT_EQ(from, nullptr);
    }

private:
    std::size_t some_size() {
        switch (random_() % 16) {
        case 0:
            return sizeof(saved_node) + random_() % 2'000'000;
        case 1:
        case 2:
            return sizeof(saved_node) + random_() % (70 * KiB);
        case 3:
        case 4:
        case 5:
            return sizeof(saved_node) + random_() % (9 * KiB);
        default:
            return sizeof(saved_node) + random_() % 700;
        }
    }
    void link() {
        saved_node* before = nullptr;
        for (const auto& [node, what] : nodes_) {
            node->next = nullptr;
            (before != nullptr ? before->next : list_->first) = node;
            before = node;
        }
    }

    std::mt19937_64 random_;
    saved_list* list_ = nullptr;
    std::map<saved_node*, std::pair<std::size_t, std::uint64_t>> nodes_;
};

void change_in(volatile_heap& in, node_model& model, int times) {
    model.change(
        times, [&](std::size_t bytes) { return in.try_allocate(bytes); }, [&](void* block) { in.free(block); });
}

void change_in(heap& in, node_model& model, int times) {
    in.write([&] {
        model.change(
            times, [&](std::size_t bytes) { return in.get_allocator<std::byte>().allocate(bytes); },
            [&](void* block) { ASSERT_EQ(rem_free(block), REM_OK) << rem_last_error()->message; });
    });
}

TEST_F(volatile_files, blocks_of_all_sizes_go_there_and_back_again_and_again) {
    for (const auto& [red_zone_bytes, leak_frames] :
         {std::pair(0U, 0U), std::pair(8U, 0U), std::pair(4096U, 0U), std::pair(100U, 32U)}) {
        SCOPED_TRACE("red zones of " + std::to_string(red_zone_bytes) + " bytes");
        node_model model(random_seed() + red_zone_bytes);
        const std::string name = file("of").string() + std::to_string(red_zone_bytes) + "-";
        {
            volatile_heap scratch({.red_zone_bytes = red_zone_bytes, .leak_frames = leak_frames});
            model.begin_with(new (scratch.allocate(sizeof(saved_list))) saved_list{});
            set_root(scratch, "list", model.list());
            change_in(scratch, model, 1000);
            save_as(scratch, name + "0");
            model.check();
            ASSERT_TRUE(scratch.verify().clean());
        }
        for (int round = 0; round != 4; ++round) {
            SCOPED_TRACE("round " + std::to_string(round));
            const fs::path path = name + std::to_string(round);
            {
                heap opened = heap::open_existing(path);
                ASSERT_EQ(opened.find_root<saved_list>("list"), model.list());
                model.check();
                ASSERT_TRUE(opened.verify().clean());
                ASSERT_EQ(opened.leaks().blocks, 0U);
                change_in(opened, model, 300);
                ASSERT_TRUE(opened.verify().clean());
                opened.close();
            }
            const auto again = load_volatile(path);
            ASSERT_EQ(find_root<saved_list>(*again, "list"), model.list());
            model.check();
            ASSERT_TRUE(again->verify().clean());
            ASSERT_EQ(again->stats().blocks, model.size() + 1);
            model.for_each([&](saved_node* node, std::size_t bytes) { ASSERT_GE(again->usable_size(node), bytes); });
            change_in(*again, model, 300);
            ASSERT_TRUE(again->verify().clean());
            save_as(*again, name + std::to_string(round + 1));
        }
    }
}

TEST_F(volatile_files, blocks_that_lie_anywhere_in_slabs_come_from_a_file_and_go_back) {
    node_model model(random_seed());
    {
        heap made = heap::create(file("0"), small_heap());
        model.begin_with(&made.root<saved_list>("list"));
        change_in(made, model, 1000);
        made.close();
    }
    for (int round = 0; round != 3; ++round) {
        const std::string next = std::to_string(round + 1);
        {
            const auto loaded = load_volatile(file(std::to_string(round).c_str()));
            model.check();
            change_in(*loaded, model, 400);
            ASSERT_TRUE(loaded->verify().clean());
            save_as(*loaded, file(next.c_str()));
        }
        heap opened = heap::open_existing(file(next.c_str()), small_heap());
        ASSERT_EQ(opened.find_root<saved_list>("list"), model.list());
        model.check();
        ASSERT_TRUE(opened.verify().clean());
        ASSERT_EQ(opened.leaks().blocks, 0U);
        change_in(opened, model, 400);
        opened.close();
    }
    heap opened = heap::open_existing(file("3"), small_heap());
    opened.write([&] { // sized: the list came from the file
        opened.root<saved_list>("list").first = nullptr;
        EXPECT_TRUE(opened.remove_root<saved_list>("list"));
    });
    EXPECT_TRUE(opened.verify().clean());
}

TEST_F(volatile_files, every_size_is_a_block_of_the_same_size_in_the_file) {
    std::map<void*, std::size_t> blocks;
    {
        volatile_heap scratch;
        for (std::size_t bytes = 1; bytes < 140 * KiB; bytes += bytes < 5000 ? 13 : 997) {
            for (const std::size_t alignment : {16U, 64U, 256U, 1024U, 4096U, 65536U}) {
                void* const block = scratch.allocate(bytes, alignment);
                std::memset(block, static_cast<int>(bytes), bytes);
                blocks[block] = scratch.usable_size(block);
            }
        }
        void* const dynamic = scratch.allocate_dynamic(10, 3 * MiB);
        blocks[dynamic] = scratch.usable_size(dynamic);
        set_root(scratch, "first", static_cast<saved_word*>(blocks.begin()->first));
        save_as(scratch, file());
    }
    heap opened = heap::open_existing(file());
    ASSERT_TRUE(opened.verify().clean());
    txn::heap_memory& memory = detail::impl_of(opened).memory();
    for (const auto& [block, bytes] : blocks) {
        const auto found = memory.block_of(block);
        ASSERT_TRUE(found);
        EXPECT_EQ(found->start, block);
        EXPECT_EQ(found->bytes, bytes);
    }
    opened.write([&] {
        for (const auto& [block, bytes] : blocks)
            ASSERT_EQ(rem_free(block), REM_OK);
    });
    EXPECT_TRUE(opened.verify().clean());
}

TEST_F(volatile_files, typed_roots_schemas_and_containers_survive_a_turn_through_a_volatile_heap) {
    heap_options how = small_heap();
    how.checks.application = "tests";
    how.memory.chunk_bytes = 64 * KiB;
    {
        heap made = heap::create(file(), how);
        put_contents(made);
        made.close();
    }
    for (const bool aligned : {false, true}) {
        const fs::path from = aligned ? file("aligned") : file();
        if (aligned) {
            how.memory.aligned_blocks = true;
            heap made = heap::create(from, how);
            put_contents(made);
            made.close();
        }
        fs::permissions(from, fs::perms::owner_read | fs::perms::owner_write);
        const fs::path to = from.string() + "-turned";
        {
            const auto loaded = load_volatile(from);
            const auto all = roots(*loaded);
            ASSERT_EQ(all.size(), 2U);
            EXPECT_EQ(all[0].name, "names");
            EXPECT_EQ(find_root<numbers>(*loaded, "numbers")->at(999), 999U * 999U);
            EXPECT_EQ(find_root<names>(*loaded, "names")->begin()->second, 7U);
            EXPECT_EQ(reason_of([&] { (void)find_root<numbers>(*loaded, "names"); }), errc::type_mismatch);
            EXPECT_EQ(find_root<numbers>(*loaded, "none"), nullptr);
            numbers copied = *find_root<numbers>(*loaded, "numbers");
            EXPECT_EQ(copied.size(), 1000U);
            EXPECT_EQ(reason_of([&] { find_root<numbers>(*loaded, "numbers")->resize(5000); }), errc::closed);
            save_as(*loaded, to);
        }
        heap opened = heap::open_existing(to, how);
        EXPECT_EQ(opened.application(), "tests");
        EXPECT_EQ(fs::status(to).permissions(), fs::perms::owner_read | fs::perms::owner_write);
        EXPECT_TRUE(has_contents(opened));
        EXPECT_EQ(opened.leaks().blocks, 0U);
        opened.write([&] { // sized deallocation of what came from the file
            opened.root<numbers>("numbers").clear();
            opened.root<numbers>("numbers").shrink_to_fit();
            opened.root<names>("names").clear();
            EXPECT_TRUE(opened.remove_root<numbers>("numbers"));
        });
        EXPECT_TRUE(opened.verify().clean());
    }
}

TEST_F(volatile_files, objects_of_any_size_are_destroyed_in_the_file) {
    {
        volatile_heap scratch;
        auto* const odd = new (scratch.allocate(sizeof(saved_odd_size))) saved_odd_size{};
        odd->word = new (scratch.allocate(sizeof(saved_word))) saved_word{5};
        ASSERT_GT(scratch.usable_size(odd), 576U) << "else this tests nothing";
        set_root(scratch, "odd", odd);
        save_as(scratch, file());
    }
    heap opened = heap::open_existing(file());
    opened.write([&] {
        opened.destroy(opened.find_root<saved_odd_size>("odd")->word);
        EXPECT_TRUE(opened.remove_root<saved_odd_size>("odd"));
        EXPECT_NE(opened.make<saved_odd_size>(), nullptr);
    });
    EXPECT_TRUE(opened.verify().clean());
    EXPECT_EQ(opened.leaks().blocks, 1U);
}

TEST_F(volatile_files, a_large_heap_takes_several_commits_and_stays_sparse) {
    std::array<saved_node*, 20> nodes{};
    constexpr std::uint64_t k_sparse_bytes = 512 * MiB;
    {
        volatile_heap scratch;
        for (saved_node*& each : nodes) {
            each = static_cast<saved_node*>(scratch.allocate(5 * MiB));
            *each = {nullptr, 5 * MiB, reinterpret_cast<std::uint64_t>(each)};
            each->fill();
        }
        auto* const sparse = static_cast<saved_node*>(scratch.try_allocate_zeros(k_sparse_bytes));
        sparse->bytes = 1;
        set_root(scratch, "sparse", sparse);
        save_as(scratch, file());
    }
    heap opened = heap::open_existing(file());
    for (const saved_node* each : nodes)
        EXPECT_TRUE(each->is_filled());
    EXPECT_EQ(opened.find_root<saved_node>("sparse")->bytes, 1U);
    struct stat found{};
    ASSERT_EQ(::stat(file().c_str(), &found), 0);
    EXPECT_LT(static_cast<std::uint64_t>(found.st_blocks) * 512, 150 * MiB);
    opened.close();
    const auto again = load_volatile(file());
    for (const saved_node* each : nodes)
        EXPECT_TRUE(each->is_filled());
    EXPECT_LT(again->stats().resident_bytes, 150 * MiB);
}

TEST_F(volatile_files, blocks_that_threads_have_freed_are_not_in_the_file) {
    std::vector<void*> kept;
    {
        volatile_heap scratch;
        std::vector<void*> given;
        for (int i = 0; i != 3000; ++i)
            given.push_back(scratch.allocate(48));
        std::thread([&] {
            for (int i = 0; i != 3000; ++i) { // freed to another thread's slabs, and kept in this one's
                if (i % 3 == 0)
                    kept.push_back(given[static_cast<std::size_t>(i)]);
                else
                    scratch.free(given[static_cast<std::size_t>(i)]);
            }
            for (int i = 0; i != 1000; ++i)
                scratch.free(scratch.allocate(200));
            kept.push_back(scratch.allocate(200));
        }).join();
        save_as(scratch, file());
    }
    heap opened = heap::open_existing(file());
    std::size_t found = 0;
    detail::impl_of(opened).memory().with_allocator([&](const alloc::block_allocator& blocks) {
        blocks.for_each_block([&](const alloc::block& each) {
            ++found;
            EXPECT_TRUE(std::ranges::find(kept, each.start) != kept.end());
        });
    });
    EXPECT_EQ(found, kept.size());
}

TEST_F(volatile_files, threads_free_and_change_blocks_that_came_from_a_file) {
    constexpr std::size_t k_threads = 4;
    std::array<std::vector<saved_node*>, k_threads> nodes;
    {
        volatile_heap scratch;
        for (std::size_t i = 0; i != 8000; ++i) {
            const std::size_t bytes = sizeof(saved_node) + i * 31 % 5000;
            auto* const made = new (scratch.allocate(bytes)) saved_node{nullptr, bytes, i};
            made->fill();
            nodes[i % k_threads].push_back(made);
        }
        save_as(scratch, file());
    }
    const auto loaded = load_volatile(file());
    std::vector<std::thread> threads;
    std::atomic<int> wrong = 0;
    for (std::vector<saved_node*>& mine : nodes) {
        threads.emplace_back([&] {
            std::vector<saved_node*> left;
            for (std::size_t i = 0; i != mine.size(); ++i) {
                saved_node* node = mine[i];
                wrong += node->is_filled() ? 0 : 1;
                if (i % 2 == 0) {
                    loaded->free(node);
                    continue;
                }
                if (i % 3 == 0) {
                    const std::size_t bytes = node->bytes * 3;
                    node = static_cast<saved_node*>(loaded->reallocate(node, bytes));
                    wrong += node->is_filled() ? 0 : 1;
                    node->bytes = bytes;
                    node->fill();
                }
                left.push_back(node);
            }
            mine = left;
        });
    }
    for (std::thread& each : threads)
        each.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(loaded->verify().clean());
    EXPECT_EQ(loaded->stats().blocks, 4000U);
    save_as(*loaded, file("again"));
    for (const std::vector<saved_node*>& mine : nodes) {
        for (saved_node* const each : mine) {
            EXPECT_TRUE(each->is_filled());
            loaded->free(each);
        }
    }
    EXPECT_EQ(loaded->stats().blocks, 0U);
    EXPECT_TRUE(loaded->verify().clean());
}

TEST_F(volatile_files, nothing_is_saved_that_could_not_be_opened_as_it_is) {
    volatile_heap scratch;
    auto* const word = new (scratch.allocate(sizeof(saved_word))) saved_word{1};
    set_root(scratch, "gone", word);
    save_as(scratch, file("there"));
    EXPECT_TRUE(is_error(error_of([&] { save_as(scratch, ""); }), errc::invalid_argument, "", "empty"));
    EXPECT_TRUE(is_error(error_of([&] { save_as(scratch, file("there")); }), errc::exists, file("there"), "Name"));
    write_file(file("log-log"), "a log");
    EXPECT_TRUE(is_error(error_of([&] { save_as(scratch, file("log")); }), errc::exists, file("log-log"), "redo log"));
    EXPECT_EQ(reason_of([&] { save_as(scratch, dir.path() / "none" / "heap"); }), errc::not_found);
    EXPECT_EQ(reason_of_loading(file("there")), errc::base_taken);
    scratch.free(word);
    const auto dangling = error_of([&] { save_as(scratch, file()); });
    ASSERT_TRUE(dangling);
    EXPECT_EQ(dangling->code, errc::invalid_argument);
    EXPECT_NE(dangling->what.find("\"gone\""), std::string::npos) << dangling->what;
    EXPECT_TRUE(remove_root(scratch, "gone"));
    EXPECT_FALSE(remove_root(scratch, "gone"));
    saved_word outside{};
    EXPECT_EQ(reason_of([&] { set_root(scratch, "outside", &outside); }), errc::invalid_argument);
    auto* const small = static_cast<saved_odd_size*>(scratch.allocate(16));
    EXPECT_EQ(reason_of([&] { set_root(scratch, "too small", small); }), errc::invalid_argument);
    for (const auto& each : fs::directory_iterator(dir.path()))
        EXPECT_TRUE(each.path() == file("there") || each.path() == file("log-log")) << each.path();
    save_as(scratch, file());
    EXPECT_TRUE(scratch.verify().clean());
}

TEST_F(volatile_files, overwritten_red_zones_are_not_saved) {
    if (os::k_marks_memory)
        GTEST_SKIP() << "the write would be reported";
    volatile_heap scratch({.red_zone_bytes = 8});
    auto* const block = static_cast<char*>(scratch.allocate(20));
    const char was = std::exchange(block[20], 'x');
    const auto got = error_of([&] { save_as(scratch, file()); });
    ASSERT_TRUE(got);
    EXPECT_EQ(got->code, errc::corrupt);
    EXPECT_TRUE(fs::is_empty(dir.path()));
    block[20] = was;
    save_as(scratch, file());
    EXPECT_TRUE(is_only("heap"));
}

TEST_F(volatile_files, a_saved_heap_says_that_the_volatile_heap_has_its_addresses) {
    volatile_heap scratch;
    set_root(scratch, "list", new (scratch.allocate(sizeof(saved_list))) saved_list{});
    save_as(scratch, file());
    const auto opening = error_of([&] { heap::open_existing(file()); });
    EXPECT_TRUE(is_error(opening, errc::base_taken, file(), "are taken by: a volatile heap of this process"));
    const auto loading = error_of_loading(file());
    EXPECT_TRUE(is_error(loading, errc::base_taken, file(), "a volatile heap of this process"));
}

TEST_F(volatile_files, what_a_volatile_heap_cannot_have_is_not_loaded) {
    EXPECT_EQ(reason_of_loading(file("none")), errc::not_found);
    write_file(file("text"), std::string(10'000, 'x'));
    EXPECT_EQ(reason_of_loading(file("text")), errc::not_a_heap);
    {
        heap made = heap::create(file("red"), {.memory = {.reserve_bytes = 64 * MiB}, .checks = {.red_zones = true}});
        put_contents(made);
        made.close();
    }
    EXPECT_TRUE(is_error(error_of_loading(file("red")), errc::not_supported, file("red"), "red zones"));
    {
        heap made = heap::create(file("arenas"), small_heap());
        made.write([&] { (void)arena::open(made, "a", {.room_bytes = 2 * MiB}); });
        made.close();
    }
    EXPECT_TRUE(is_error(error_of_loading(file("arenas")), errc::not_supported, file("arenas"), "arenas"));
    make_heap(file());
    EXPECT_TRUE(
        is_error(error_of_loading(file(), {.red_zone_bytes = 8}), errc::invalid_argument, file(), "red_zone_bytes"));
    EXPECT_EQ(reason_of_loading(file(), {.leak_frames = 1}), errc::invalid_argument);
    EXPECT_EQ(reason_of_loading(file(), {.red_zone_bytes = 5000}), errc::invalid_argument);
    {
        const heap opened = heap::open_existing(file(), small_heap());
        EXPECT_TRUE(is_error(error_of_loading(file()), errc::in_use, file(), "in this process"));
    }
    {
        const taken_addresses taken(file());
        EXPECT_TRUE(is_error(error_of_loading(file()), errc::base_taken, file(), "are taken by"));
    }
    const errc with_node = reason_of_loading(file(), {.numa_node = 0}); // if the system has nodes
    EXPECT_TRUE(with_node == errc{} || with_node == errc::not_supported) << make_error_code(with_node).message();
    flip_byte(file(), newest_superblock(file()).regions[0].copy_a_offset + 10 * k_page_bytes + 17);
    EXPECT_EQ(reason_of_loading(file()), errc::corrupt);
    EXPECT_FALSE(fs::exists(log_of(file())));
}

TEST_F(volatile_files, an_empty_heap_goes_there_and_back) {
    {
        heap made = heap::create(file("new"), small_heap());
    }
    {
        const auto loaded = load_volatile(file("new"));
        EXPECT_EQ(loaded->stats().blocks, 0U);
        EXPECT_TRUE(roots(*loaded).empty());
        EXPECT_TRUE(loaded->verify().clean());
        save_as(*loaded, file());
    }
    heap opened = heap::open_existing(file());
    EXPECT_TRUE(opened.verify().clean());
    put_contents(opened);
    EXPECT_TRUE(has_contents(opened));
}

TEST_F(volatile_files, a_heap_that_was_not_closed_is_loaded_as_of_its_last_commit_and_stays_unchanged) {
    make_crashed_heap(file(), 3);
    const auto before = read_file(file());
    const auto log_before = read_file(log_of(file()));
    {
        const auto loaded = load_volatile(file());
        EXPECT_EQ(*find_root<std::uint64_t>(*loaded, "more"), 3U);
        EXPECT_EQ(find_root<numbers>(*loaded, "numbers")->size(), 1000U);
        EXPECT_TRUE(loaded->verify().clean());
    }
    EXPECT_EQ(read_file(file()), before);
    EXPECT_EQ(read_file(log_of(file())), log_before);
}

TEST_F(volatile_files, a_heap_is_loaded_beside_a_process_that_writes_to_it) {
    using cells = vector<std::uint64_t>;
    constexpr std::size_t k_cells = 50'000;
    int stops[2];
    int begun[2];
    ASSERT_EQ(::pipe(stops), 0);
    ASSERT_EQ(::pipe(begun), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(stops[1]);
        heap_options how = small_heap();
        how.log.log_limit_bytes = 256 * KiB; // so that checkpoints overwrite pages all the time
        heap made = heap::create(file(), how);
        made.write([&] { made.root<cells>("cells").resize(k_cells); });
        (void)!::write(begun[1], "", 1);
        ::fcntl(stops[0], F_SETFL, O_NONBLOCK);
        char byte = 0;
        for (std::uint64_t i = 1; ::read(stops[0], &byte, 1) != 0; ++i) {
            made.write(durability::lazy, [&] {
                for (std::size_t at = i % 64; at < k_cells; at += 64)
                    made.root<cells>("cells")[at] += 1;
                made.root<cells>("cells")[0] = i;
            });
        }
        ::_exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(begun[0], &byte, 1), 1);
    for (int i = 0; i != 10; ++i) {
        std::unique_ptr<volatile_heap> loaded;
        const auto failed = error_of([&] { loaded = load_volatile(file()); });
        ASSERT_FALSE(failed) << failed->what;
        EXPECT_TRUE(loaded->verify().clean());
        const cells& all = *find_root<cells>(*loaded, "cells");
        ASSERT_EQ(all.size(), k_cells);
        // each commit adds one to one cell of 64 in turn, so the sums of cells 64 apart are equal in every commit
        for (std::size_t at = 1; at < 64; ++at) {
            for (std::size_t other = at; other < k_cells; other += 64)
                ASSERT_EQ(all[other], all[at]) << "two commits are mixed";
        }
    }
    ::close(stops[1]);
    ::close(stops[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST_F(volatile_files, other_threads_that_allocate_meanwhile_are_noticed) {
    volatile_heap scratch;
    for (int i = 0; i != 20'000; ++i)
        (void)scratch.allocate(2000);
    std::atomic<bool> ends = false;
    std::thread other([&] {
        std::vector<void*> mine;
        while (!ends) { // within its own slab, which needs no lock
            mine.push_back(scratch.allocate(64));
            if (mine.size() > 100'000) {
                for (void* const each : mine)
                    scratch.free(each);
                mine.clear();
            }
        }
    });
    std::optional<caught> got;
    for (int i = 0; i != 200 && !got; ++i) { // the other thread may have waited for a slab all the time
        got = error_of([&] { save_as(scratch, file()); });
        EXPECT_NE(fs::exists(file()), got.has_value());
        fs::remove(file());
    }
    ends = true;
    other.join();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->code, errc::in_use) << got->what;
    EXPECT_TRUE(fs::is_empty(dir.path()));
    save_as(scratch, file());
    EXPECT_TRUE(scratch.verify().clean());
}

TEST_F(volatile_files, a_forked_child_saves_its_copy) {
    volatile_heap scratch;
    auto* const word = new (scratch.allocate(sizeof(saved_word))) saved_word{1};
    set_root(scratch, "word", word);
    EXPECT_EQ(in_child([&]() -> std::string {
                  word->value = 2;
                  save_as(scratch, file());
                  return scratch.verify().clean() ? "saved" : "damaged";
              }),
              "saved");
    EXPECT_EQ(word->value, 1U);
    EXPECT_EQ(in_child([&]() -> std::string {
                  scratch.~volatile_heap();
                  heap opened = heap::open_existing(file());
                  return std::to_string(opened.find_root<saved_word>("word")->value);
              }),
              "2");
}

TEST_F(volatile_files, a_process_that_is_killed_leaves_no_file_or_the_whole) {
    volatile_heap scratch;
    node_model model(random_seed());
    model.begin_with(new (scratch.allocate(sizeof(saved_list))) saved_list{});
    set_root(scratch, "list", model.list());
    change_in(scratch, model, 1000);
    std::mt19937_64 random(random_seed() + 1);
    int absent = 0;
    int whole = 0;
    const temp_dir on_disk;
    const auto begun = std::chrono::steady_clock::now();
    save_as(scratch, on_disk.path() / "first");
    const auto longest = 3 * (std::chrono::steady_clock::now() - begun) / 2;
    for (int i = 0; i != 24; ++i) {
        const fs::path path = on_disk.path() / ("heap" + std::to_string(i % 3));
        const pid_t child = ::fork();
        if (child == 0) {
            save_as(scratch, path);
            ::_exit(0);
        }
        std::this_thread::sleep_for(longest * static_cast<int>(random() % 1000) / 1000);
        ::kill(child, SIGKILL);
        int status = 0;
        ::waitpid(child, &status, 0);
        if (!fs::exists(path)) {
            ++absent;
            continue;
        }
        ++whole;
        EXPECT_EQ(in_child([&]() -> std::string {
                      scratch.~volatile_heap();
                      heap opened = heap::open_existing(path);
                      model.check();
                      const bool is_whole = !testing::Test::HasFailure() && opened.verify().clean() &&
                                            opened.find_root<saved_list>("list") == model.list();
                      return is_whole ? "whole" : "not whole";
                  }),
                  "whole");
        fs::remove(path);
    }
    std::cout << absent << " absent, " << whole << " whole\n";
    EXPECT_GT(absent, 0);
    EXPECT_GT(whole, 0);
    save_as(scratch, on_disk.path() / "heap0"); // whatever was left is no obstacle
    EXPECT_FALSE(fs::exists(on_disk.path() / "heap0-save-unfinished"));
    EXPECT_FALSE(fs::exists(on_disk.path() / "heap0-save-unfinished-new"));
    EXPECT_FALSE(fs::exists(on_disk.path() / "heap0-save-unfinished-log"));
}

} // namespace
} // namespace remanence::test
