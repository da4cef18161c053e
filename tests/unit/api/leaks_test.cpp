// heap::leaks() and check_options::leak_frames: blocks that no root reaches are listed, with the place that allocated them.
#include "fixture.hpp"

#include "support/calls.hpp"

#include <remanence/look_inside.hpp>
#include <remanence/types/reflect.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace rem = remanence;

namespace leaks_test {

struct node {
    std::uint64_t value = 0;
    node* next = nullptr;
};
using text = rem::string;
text long_text(int i) {
    return text("a text that is too long for the object itself, number ") + std::to_string(i).c_str();
}

struct first_of_label {
    std::uint64_t values[5]; // NOLINT(modernize-avoid-c-arrays)
};
struct label {
    first_of_label base;
    node* text;
};
struct four_nodes {
    node* a = nullptr;
    node* b = nullptr;
    node* c = nullptr;
    node* d = nullptr;
};
struct two_ways {
    four_nodes* four = nullptr;
    rem::vector<char>* stale = nullptr;
};

/// Leads to nodes in each way that a schema describes.
struct everything {
    node* chain = nullptr;
    node** table = nullptr; // 10 pointers
    node* row = nullptr;    // 10 nodes, one behind the other
    const void* anything = nullptr;
    text name;
    rem::vector<node*> pointers;
    rem::vector<rem::vector<text>> texts;
    rem::vector<bool> bits;
    rem::deque<text> queue;
    rem::list<node> list;
    rem::forward_list<text> chained;
    rem::map<int, text> sorted;
    rem::set<text> names;
    rem::multimap<text, node*> several;
    rem::unordered_map<int, text> hashed;
    rem::unordered_set<text> hashed_names;
    rem::btree_map<int, text> own_sorted;
    rem::hash_map<text, text> own_hashed;
    rem::packed_map packed;
    rem::vector_pi<rem::string_pi> far_texts;
    rem::string_pi far_text;
    std::optional<text> perhaps;
    std::variant<int, rem::list<text>> either;
    std::array<text, 3> three;
    std::pair<int, rem::vector<text>> both;
    std::tuple<text, int> triple;
};

/// Says one of its members only.
class reticent {
public:
    reticent() = default;
    text shown;
    void hide(node* first) { hidden_ = first; }
    rem::vector_pi<rem::string_pi>& texts() { return texts_; }

private:
    node* hidden_ = nullptr;
    rem::vector_pi<rem::string_pi> texts_; // by distances
    REM_REFLECT((), shown);
};
struct base {
    std::uint64_t number = 0;
};
/// A pointer to its first member leads to it.
struct derived {
    base first;
    node* more = nullptr;
    rem::btree_map<int, int> numbers;
};
struct holder {
    base* object = nullptr;
};

} // namespace leaks_test

template <>
inline constexpr bool remanence::enable_persistable<leaks_test::reticent> = true;

namespace remanence::test {

using namespace leaks_test;

class leaks : public testing::Test {
protected:
    static constexpr unsigned k_frames = 16;
    static heap_options with_places() {
        heap_options options = small_heap();
        options.checks.leak_frames = k_frames;
        return options;
    }
    heap& with(heap_options options) {
        heap_.emplace(heap::create(dir_ / "leaks.rem", options));
        return *heap_;
    }
    void fill(everything& all) {
        heap& h = *heap_;
        for (std::uint64_t i = 0; i != 10; ++i)
            all.chain = h.make<node>(i, all.chain);
        all.table = h.get_allocator<node*>().allocate(10);
        all.row = h.get_allocator<node>().allocate(10);
        for (std::size_t i = 0; i != 10; ++i) {
            all.table[i] = h.make<node>(i, nullptr);
            all.row[i] = {i, h.make<node>(i, nullptr)};
        }
        all.anything = h.make<node>(5U, h.make<node>(6U, nullptr));
        all.name = long_text(0);
        all.far_text = "a text that is too long for the object itself";
        all.perhaps = long_text(1);
        all.either.emplace<1>();
        all.texts.resize(20);
        for (int i = 0; i != 300; ++i) {
            const text each = long_text(i);
            all.pointers.push_back(h.make<node>(static_cast<std::uint64_t>(i), nullptr));
            all.texts[static_cast<std::size_t>(i % 20)].push_back(each);
            all.bits.push_back(i % 3 == 0);
            all.queue.push_back(each);
            all.list.push_back({static_cast<std::uint64_t>(i), h.make<node>()});
            all.chained.push_front(each);
            all.sorted[i] = each;
            all.names.insert(each);
            all.several.emplace(each, h.make<node>());
            all.hashed[i] = each;
            all.hashed_names.insert(each);
            all.own_sorted[i] = each;
            all.own_hashed[each] = each;
            all.packed.emplace(std::string_view(each), std::string_view(each));
            all.far_texts.emplace_back("another text that is too long for the object itself");
            std::get<1>(all.either).push_back(each);
            all.both.second.push_back(each);
        }
        all.three.fill(long_text(2));
        std::get<0>(all.triple) = long_text(3);
        for (int i = 0; i != 40; ++i) // so that chunks of it are freed again
            all.queue.pop_front();
    }

    temp_dir dir_;
    std::optional<heap> heap_;
};

[[gnu::noinline]] node* make_leaked(heap& h, node* next) { return h.make<node>(7U, next); }

TEST_F(leaks, a_thousand_nodes_that_nothing_reaches_are_listed_by_size_type_and_place) {
    heap& h = with(with_places());
    auto& all = h.root<everything>("all");
    h.write([&] { fill(all); });
    EXPECT_TRUE(h.leaks().clean());
    h.write([&] {
        node* first = nullptr;
        for (int i = 0; i != 1000; ++i) {
            first = make_leaked(h, first); // they lead to each other, and to what is reached
            all.pointers.push_back(h.make<node>(1U, nullptr));
        }
    });
    const leak_report found = h.leaks();
    EXPECT_EQ(found.blocks, 1000U);
    EXPECT_EQ(found.bytes, 1000 * sizeof(node));
    ASSERT_EQ(found.classes.size(), 1U);
    EXPECT_EQ(found.classes[0].block_bytes, sizeof(node));
    EXPECT_EQ(found.classes[0].blocks, 1000U);
    ASSERT_EQ(found.types.size(), 1U);
    EXPECT_NE(found.types[0].name.find("node"), std::string::npos) << found.types[0].name;
    EXPECT_EQ(found.types[0].requested_bytes, 1000 * sizeof(node));
    ASSERT_FALSE(found.places.empty());
    std::uint64_t blocks = 0;
    for (const leak_report::place& each : found.places) {
        blocks += each.blocks;
        EXPECT_GE(each.calls.size(), 3U);
        EXPECT_LE(each.calls.size(), k_frames);
    }
    EXPECT_EQ(blocks, 1000U);
    h.close();
    EXPECT_EQ(inspect::leaks(dir_ / "leaks.rem").blocks, 1000U) << "the file says the same";
}

[[gnu::noinline]] void* allocate_hundred_in(heap& h) {
    return after_call(detail::allocate(h.get_allocator<char>().heap(), 100, 8));
}

TEST_F(leaks, a_place_begins_with_the_call_of_the_program) {
    void* (*volatile allocate)(heap&) = allocate_hundred_in;
    heap& h = with(with_places());
    h.write([&] { (void)allocate(h); });
    const leak_report found = h.leaks();
    ASSERT_EQ(found.places.size(), 1U);
    ASSERT_FALSE(found.places[0].calls.empty());
    EXPECT_EQ(function_of(found.places[0].calls[0]), reinterpret_cast<void*>(allocate)) << found.places[0].calls[0];
}

TEST_F(leaks, nothing_that_a_schema_describes_is_reported) {
    heap& h = with(small_heap());
    h.write([&] { fill(h.root<everything>("all")); });
    EXPECT_TRUE(h.leaks().clean());
    h.write([&] { fill(h.root<everything>("all, without a commit")); });
    h.lock();
    fill(h.root<everything>("not committed"));
    EXPECT_TRUE(h.leaks().clean());
    h.unlock();
    const std::uint64_t blocks_before = h.leaks().blocks;
    h.write([&] { h.root<everything>("all").list.clear(); }); // whose nodes led to others
    EXPECT_EQ(h.leaks().blocks - blocks_before, 300U);
    EXPECT_TRUE(h.leaks().places.empty()) << "they are not noted";
    h.close();
    heap again = heap::open(dir_ / "leaks.rem", {.read_only = true});
    EXPECT_EQ(again.leaks().blocks, blocks_before + 300U);
}

TEST_F(leaks, blocks_with_red_zones_and_on_cache_lines_are_reached_as_others) {
    for (const bool has_red_zones : {true, false}) {
        heap_options options = small_heap();
        options.checks.red_zones = has_red_zones;
        options.memory.aligned_blocks = !has_red_zones;
        heap_.emplace(heap::create(dir_ / (has_red_zones ? "guarded.rem" : "lines.rem"), options));
        heap_->write([&] { fill(heap_->root<everything>("all")); });
        EXPECT_TRUE(heap_->leaks().clean());
        heap_->write([&] { (void)make_leaked(*heap_, nullptr); });
        EXPECT_EQ(heap_->leaks().blocks, 1U);
    }
}

TEST_F(leaks, places_are_those_of_this_process_in_a_heap_that_was_closed) {
    heap& h = with(with_places());
    h.write([&] { (void)make_leaked(h, nullptr); });
    h.close();
    heap_.emplace(heap::open(dir_ / "leaks.rem", with_places()));
    EXPECT_TRUE(heap_->leaks().places.at(0).calls.empty());
    heap_->write([&] { (void)make_leaked(*heap_, nullptr); });
    EXPECT_EQ(heap_->leaks().places.size(), 2U);
}

TEST_F(leaks, in_a_shared_heap_are_those_of_its_newest_version) {
    heap_options options = with_places();
    options.access = sharing::processes;
    heap& h = with(options);
    h.write([&] {
        fill(h.root<everything>("all"));
        (void)make_leaked(h, nullptr);
    });
    const leak_report found = h.leaks();
    EXPECT_EQ(found.blocks, 1U);
    ASSERT_EQ(found.places.size(), 1U);
    EXPECT_FALSE(found.places[0].calls.empty());
}

TEST_F(leaks, what_a_schema_does_not_describe_is_taken_for_pointers) {
    heap& h = with(small_heap());
    h.write([&] {
        auto& quiet = h.root<reticent>("quiet");
        quiet.shown = long_text(1);
        quiet.hide(h.make<node>(1U, h.make<node>()));
        for (int i = 0; i != 100; ++i)
            quiet.texts().emplace_back("a text that is too long for the object itself");
        auto* const object = h.make<derived>();
        object->more = h.make<node>();
        for (int i = 0; i != 1000; ++i)
            object->numbers[i] = i;
        h.root<holder>("holder").object = &object->first;
    });
    EXPECT_TRUE(h.leaks().clean());
    h.write([&] { h.root<holder>("holder").object = nullptr; });
    EXPECT_GT(h.leaks().blocks, 3U);
}

// A base and the whole object, or two unlike objects, may have blocks of the same size.
TEST_F(leaks, what_a_pointer_of_another_type_leads_to_is_not_listed) {
    heap_options how = small_heap();
    how.memory.aligned_blocks = true;
    heap& h = with(how);
    auto& first = h.root<first_of_label*>("a base");
    auto* const whole = h.make<label>();
    whole->text = h.make<node>();
    first = &whole->base;
    h.commit();
    EXPECT_EQ(h.leaks().blocks, 0U);
    // What was a vector when it was destroyed is four pointers now.
    auto& both = h.root<two_ways>("two ways");
    both.stale = h.make<rem::vector<char>>();
    void* const place = both.stale;
    h.destroy(both.stale);
    both.four = h.make<four_nodes>();
    EXPECT_EQ(static_cast<void*>(both.four), place);
    auto* const shared = h.make<node>();
    both.four->b = both.four->c = both.four->d = shared;
    shared->next = h.make<node>();
    h.commit();
    EXPECT_EQ(h.leaks().blocks, 0U);
}

TEST_F(leaks, blocks_in_arenas_count_and_arenas_themselves_do_not) {
    heap& h = with(with_places());
    h.write([&] {
        arena where = arena::open(h, "nodes", {.room_bytes = 4 * MiB});
        h.root<node>("first").next = where.make<node>();
        (void)where.make<node>();
        (void)where.get_allocator<char>().allocate(10'000);
    });
    const leak_report found = h.leaks();
    EXPECT_EQ(found.blocks, 2U);
    EXPECT_EQ(found.types.size(), 2U);
}

TEST_F(leaks, places_follow_blocks_over_rollback_savepoints_and_reuse) {
    heap& h = with(with_places());
    node& first = h.root<node>("first");
    h.write([&] { first.next = make_leaked(h, nullptr); });
    node* const kept = first.next;
    EXPECT_THROW(h.write([&] {
        h.destroy(first.next);
        for (int i = 0; i != 100; ++i)
            (void)h.get_allocator<char>().allocate(sizeof(node)); // one of them lies where the node lay
        throw std::runtime_error("rolled back");
    }),
                 std::runtime_error);
    EXPECT_EQ(first.next, kept);
    EXPECT_TRUE(h.leaks().clean());
    h.write([&] { first.next = nullptr; });
    const leak_report found = h.leaks();
    ASSERT_EQ(found.blocks, 1U);
    EXPECT_NE(found.types[0].name.find("node"), std::string::npos) << found.types[0].name;
    EXPECT_FALSE(found.places[0].calls.empty());
    h.write([&] {
        node* const committed = make_leaked(h, nullptr);
        savepoint before = h.savepoint();
        (void)h.get_allocator<char>().allocate(100);
        before.rollback();
        (void)committed;
    });
    EXPECT_EQ(h.leaks().blocks, 2U);
    h.write([&] { h.destroy(kept); });
    EXPECT_EQ(h.leaks().blocks, 1U);
}

TEST_F(leaks, what_is_noted_of_blocks_is_that_of_the_savepoint_that_memory_went_back_to) {
    heap_options options = with_places();
    options.memory.aligned_blocks = true; // so that many sizes have the same blocks
    heap& h = with(options);
    std::vector<char*> blocks;
    const auto allocate_in_each = [&](std::size_t bytes) {
        for (char*& each : blocks)
            each = h.get_allocator<char>().allocate(bytes);
    };
    const auto free_each = [&](std::size_t bytes) {
        for (char* const each : blocks)
            h.get_allocator<char>().deallocate(each, bytes);
    };
    const auto requested = [&] { return h.leaks().types.at(0).requested_bytes; };
    blocks.resize(100);
    h.write([&] { allocate_in_each(60); });
    h.write(declared, [&] {
        free_each(60);
        allocate_in_each(50);
    });
    EXPECT_THROW(h.write([&] {
        free_each(50);
        allocate_in_each(49);
        savepoint first = h.savepoint();
        const std::vector<char*> at_first = blocks;
        free_each(49);
        allocate_in_each(48);
        savepoint second = h.savepoint();
        const std::vector<char*> at_second = blocks;
        for (const std::size_t bytes : {48U, 47U, 46U}) {
            free_each(bytes);
            allocate_in_each(bytes - 1);
        }
        second.rollback();
        EXPECT_EQ(requested(), 4800U);
        blocks = at_second;
        free_each(48);
        second.rollback();
        EXPECT_EQ(requested(), 4800U);
        first.rollback();
        EXPECT_EQ(requested(), 4900U);
        blocks = at_first;
        free_each(49);
        allocate_in_each(45);
        throw std::runtime_error("rolled back");
    }),
                 std::runtime_error);
    EXPECT_EQ(requested(), 5000U);
    EXPECT_EQ(h.leaks().types.at(0).blocks, 100U);
}

TEST_F(leaks, after_an_undo_places_are_not_known) {
    heap_options options = with_places();
    options.history = {.steps_max = 10};
    heap& h = with(options);
    h.write([&] { (void)make_leaked(h, nullptr); });
    h.write([&] { (void)h.get_allocator<char>().allocate(100); });
    h.undo();
    const leak_report found = h.leaks();
    EXPECT_EQ(found.blocks, 1U);
    ASSERT_EQ(found.places.size(), 1U);
    EXPECT_TRUE(found.places[0].calls.empty());
    EXPECT_EQ(found.places[0].requested_bytes, sizeof(node));
}

TEST_F(leaks, large_blocks_and_those_that_grow_in_place_are_noted) {
    heap_options options = with_places();
    options.checks.red_zones = true;
    heap& h = with(options);
    h.write([&] {
        for (const std::size_t bytes : {std::size_t{100}, std::size_t{10'000}, std::size_t{1'000'000}})
            (void)h.get_allocator<char>().allocate(bytes);
    });
    const leak_report found = h.leaks();
    EXPECT_EQ(found.blocks, 3U);
    EXPECT_EQ(found.classes.size(), 3U);
    std::uint64_t requested = 0;
    for (const leak_report::place& each : found.places)
        requested += each.requested_bytes;
    EXPECT_EQ(requested, 1'010'100U);
}

TEST_F(leaks, a_message_about_a_block_names_the_place_that_allocated_it) {
    heap_options options = with_places();
    options.checks.red_zones = true;
    const auto free_with = [&](const char* name, std::size_t written, int times) {
        heap child = heap::create(dir_ / name, options);
        char* const bytes = child.get_allocator<char>().allocate(100);
        std::memset(bytes, 5, written);
        for (int i = 0; i != times; ++i)
            child.get_allocator<char>().deallocate(bytes, 100);
        std::_Exit(0);
    };
    EXPECT_EXIT(free_with("whole", 100, 1), testing::ExitedWithCode(0), "");
    EXPECT_DEATH(free_with("behind", 101, 1), "was allocated by these calls[^\n]*unit_api[^\n]*\n.*were overwritten");
    EXPECT_DEATH(free_with("twice", 100, 2),
                 "was allocated by these calls[^\n]*unit_api[^\n]*\n.*not an allocated block");
    heap& h = with(options);
    const auto got = error_of([&] { h.write([&] { h.get_allocator<char>().allocate(100)[100] = 1; }); });
    ASSERT_TRUE(got);
    EXPECT_EQ(got->code, errc::corrupt);
    EXPECT_NE(got->what.find("was allocated by these calls, the innermost first: "), std::string::npos) << got->what;
    h.get_allocator<char>().allocate(100)[100] = 1;
    const verify_report report = h.verify();
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_NE(report.problems[0].what.find("overwritten. The block was allocated by these calls"), std::string::npos)
        << report.problems[0].what;
    h.rollback();
}

TEST_F(leaks, a_number_of_calls_out_of_range_opens_nothing) {
    EXPECT_EQ(reason_of([&] { heap::open(dir_ / "a", {.checks = {.leak_frames = 33}}); }), errc::invalid_argument);
    heap::open(dir_ / "a", {.checks = {.leak_frames = 32}}).close();
    heap::open(dir_ / "a", {.checks = {.leak_frames = 0}}).close();
}

TEST_F(leaks, a_damaged_object_is_refused_and_a_pointer_to_nothing_is_none) {
    heap& h = with(small_heap());
    auto& list = h.root<rem::list<int>>("list");
    auto& first = h.root<holder>("dangling");
    h.write([&] {
        list.push_back(1);
        auto* const object = h.make<derived>();
        first.object = &object->first;
        h.destroy(object); // and leaves first dangling
        (void)h.make<std::array<std::uint64_t, sizeof(derived) / 8>>();
    });
    (void)h.leaks();
    auto** const link = reinterpret_cast<std::uint64_t**>(&list);
    h.write([&] {
        for (std::size_t i = 0; i != sizeof list / 8; ++i) {
            if (reinterpret_cast<std::uintptr_t>(link[i]) > 1000)
                link[i] = reinterpret_cast<std::uint64_t*>(std::uintptr_t{8} << 40U);
        }
    });
    EXPECT_EQ(reason_of([&] { (void)h.leaks(); }), errc::corrupt);
    std::memset(static_cast<void*>(&list), 0, sizeof list); // what its destructor must not see
    h.rollback();
}

} // namespace remanence::test
