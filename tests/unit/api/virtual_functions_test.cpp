// Objects with virtual functions. tests/virtual lets different builds of a program share them.

#include "api/heap_impl.hpp"
#include "format/class_table.hpp"
#include "types/vtable_index.hpp"
#include "unit/api/fixture.hpp"

#include <remanence/arena.hpp>
#include <remanence/versions.hpp>

#include <concepts>
#include <cstring>
#include <memory>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace remanence::test {

class animal {
public:
    animal() = default;
    animal(const animal&) = default;
    animal& operator=(const animal&) = default;
    virtual ~animal() = default;
    [[nodiscard]] virtual int legs() const = 0;
    animal* friend_ = nullptr;
};
class cat : public animal {
public:
    [[nodiscard]] int legs() const override { return 4; }
    int lives = 9;
};
class bird : public animal {
public:
    [[nodiscard]] int legs() const override { return 2; }
};
template <int N>
class numbered : public animal {
public:
    [[nodiscard]] int legs() const override { return N; }
};

class tailed {
public:
    tailed() = default;
    tailed(const tailed&) = default;
    tailed& operator=(const tailed&) = default;
    virtual ~tailed() = default;
    int length = 7;
};
class fox : public tailed, public animal {
public:
    explicit fox(string name) : name_(std::move(name)) {}
    [[nodiscard]] int legs() const override { return 4; }

private:
    string name_;
};

using animals = vector<animal*>;

} // namespace remanence::test

template <std::derived_from<remanence::test::animal> Animal>
inline constexpr bool remanence::enable_persistable<Animal> = true;

namespace remanence::test {
namespace {

[[gnu::noinline]] int legs_of(const animal& of) { return of.legs(); }

/// Returns how many words of the heap lead to a vtable of the program.
std::size_t own_vptrs(heap& h) {
    const types::vtable_index vtables;
    const txn::heap_memory& memory = detail::impl_of(h).memory();
    std::size_t found = 0;
    for (std::uint64_t at = 0; at != memory.accessible_bytes(); at += sizeof at) {
        std::uint64_t value = 0;
        std::memcpy(&value, memory.base() + at, sizeof value);
        if (vtables.at(value) != nullptr)
            ++found;
    }
    return found;
}

std::uint64_t vptr_of(const animal* of) {
    std::uint64_t value = 0;
    std::memcpy(&value, static_cast<const void*>(of), sizeof value);
    return value;
}

std::uint32_t classes_in(heap& h) {
    const txn::heap_memory& memory = detail::impl_of(h).memory();
    const std::uint64_t table = memory.header().class_table;
    return table == 0 ? 0 : reinterpret_cast<const format::class_table*>(memory.base() + table)->count;
}

class virtual_functions : public testing::TestWithParam<tracking> {
protected:
    [[nodiscard]] heap_options options() const {
        heap_options how = small_heap();
        how.tracker = GetParam();
        return how;
    }
    heap open() { return heap::open(dir_ / "h", options()); }
    heap reopen(heap h) {
        h.close();
        return open();
    }

    temp_dir dir_;
};

TEST_P(virtual_functions, are_called_after_the_next_open) {
    heap h = open();
    h.write([&] {
        auto& all = h.root<animals>("animals");
        all.push_back(h.make<cat>());
        all.push_back(h.make<bird>());
        all[0]->friend_ = all[1];
        EXPECT_EQ(own_vptrs(h), 2U);
        EXPECT_EQ(h.check_pointers().pointers_found, 0U); // vptrs are settled when this is committed
    });
    EXPECT_EQ(own_vptrs(h), 0U);
    EXPECT_EQ(classes_in(h), 2U);
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[0]), 4);
    h = reopen(std::move(h));
    const auto& all = h.root<animals>("animals");
    EXPECT_EQ(legs_of(*all[0]), 4);
    EXPECT_EQ(legs_of(*all[0]->friend_), 2);
    EXPECT_NE(dynamic_cast<const cat*>(all[0]), nullptr);
    EXPECT_EQ(dynamic_cast<const cat*>(all[1]), nullptr);
    EXPECT_TRUE(h.verify().clean());
    EXPECT_EQ(h.check_pointers().pointers_found, 0U);
    EXPECT_EQ(h.leaks().blocks, 0U);
}

TEST_P(virtual_functions, of_elements_and_members_are_called_after_the_next_open) {
    heap h = open();
    h.write([&] {
        h.root<vector<cat>>("cats").resize(1000);
        h.root<map<int, bird>>("birds").try_emplace(7);
    });
    EXPECT_EQ(own_vptrs(h), 0U);
    h = reopen(std::move(h));
    for (const cat& each : h.root<vector<cat>>("cats"))
        EXPECT_EQ(legs_of(each), 4);
    EXPECT_EQ(legs_of(h.root<map<int, bird>>("birds").at(7)), 2);
}

TEST_P(virtual_functions, work_in_a_heap_that_had_none_before) {
    heap h = open();
    put_contents(h);
    EXPECT_EQ(classes_in(h), 0U);
    h.write([&] { h.root<animals>("animals").push_back(h.make<cat>()); });
    h = reopen(std::move(h));
    EXPECT_TRUE(has_contents(h));
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[0]), 4);
}

TEST_P(virtual_functions, are_settled_by_each_kind_of_commit) {
    heap h = open();
    auto& all = h.root<animals>("animals");
    h.commit();
    all.push_back(h.make<cat>());
    h.commit();
    EXPECT_EQ(own_vptrs(h), 0U);
    all.push_back(h.make<bird>());
    h.commit_async().wait();
    EXPECT_EQ(own_vptrs(h), 0U);
    h.write(declared, [&] { all.push_back(h.make<numbered<3>>()); });
    EXPECT_EQ(own_vptrs(h), 0U);
    detail::impl_of(h).engine().copy_points_from(1);
    all.push_back(h.make<numbered<5>>());
    h.commit(durability::none);
    all.push_back(h.make<numbered<6>>());
    (void)h.commit_async();
    EXPECT_EQ(own_vptrs(h), 0U);
    h = reopen(std::move(h));
    const std::vector<int> expected{4, 2, 3, 5, 6};
    const auto& now = h.root<animals>("animals");
    ASSERT_EQ(now.size(), expected.size());
    for (std::size_t i = 0; i != expected.size(); ++i)
        EXPECT_EQ(legs_of(*now[i]), expected[i]);
}

template <int... N>
void make_numbered(heap& h, animals& all, std::integer_sequence<int, N...> /*numbers*/) {
    (all.push_back(h.make<numbered<N>>()), ...);
}

TEST_P(virtual_functions, of_many_classes_enlarge_the_table) {
    heap h = open();
    h.write([&] { h.root<animals>("animals").push_back(h.make<numbered<0>>()); });
    const std::uint64_t vptr = vptr_of(h.root<animals>("animals")[0]);
    h.write([&] { make_numbered(h, h.root<animals>("animals"), std::make_integer_sequence<int, 150>()); });
    EXPECT_EQ(classes_in(h), 150U);
    EXPECT_EQ(vptr_of(h.root<animals>("animals")[0]), vptr);
    h = reopen(std::move(h));
    const auto& all = h.root<animals>("animals");
    for (int i = 0; i != 150; ++i)
        EXPECT_EQ(legs_of(*all[static_cast<std::size_t>(i) + 1]), i);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(virtual_functions, are_as_before_after_a_rollback) {
    heap h = open();
    h.write([&] { h.root<animals>("animals").push_back(h.make<cat>()); });
    EXPECT_THROW(h.write([&] {
        h.root<animals>("animals").push_back(h.make<bird>());
        throw std::runtime_error("no");
    }),
                 std::runtime_error);
    EXPECT_EQ(classes_in(h), 1U);
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[0]), 4);
    h.write([&] {
        auto& all = h.root<animals>("animals");
        savepoint here = h.savepoint();
        all.push_back(h.make<bird>());
        here.rollback();
        all.push_back(h.make<numbered<8>>());
    });
    EXPECT_EQ(classes_in(h), 2U);
    h = reopen(std::move(h));
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[1]), 8);
}

TEST_P(virtual_functions, destroy_the_whole_object_by_a_pointer_to_a_base) {
    heap h = open();
    const std::string name(100, 'x');
    h.write([&] {
        h.root<animals>("animals").push_back(h.make<fox>(string(name.begin(), name.end())));
        h.destroy(
            h.make<fox>(string())); // a destroyed object keeps the vptrs of its bases, so the heap gets to know them
    });
    h = reopen(std::move(h));
    const std::uint64_t before = h.stats().allocated_bytes;
    h.write([&] {
        auto& all = h.root<animals>("animals");
        h.destroy(all[0]); // not the first base
        all.clear();
    });
    EXPECT_LE(h.stats().allocated_bytes + sizeof(fox) + name.size(), before);
    EXPECT_EQ(h.leaks().blocks, 0U);
    EXPECT_TRUE(h.verify().clean());
}

TEST_P(virtual_functions, may_be_read_in_a_heap_that_is_opened_read_only) {
    {
        heap h = open();
        h.write([&] { h.root<animals>("animals").push_back(h.make<cat>()); });
        h.close();
    }
    heap_options how = options();
    how.read_only = true;
    heap h = heap::open_existing(dir_ / "h", how);
    EXPECT_EQ(legs_of(*h.find_root<animals>("animals")->front()), 4);
}

TEST_P(virtual_functions, survive_a_crash) {
    temp_dir copies;
    heap h = open();
    h.write([&] { h.root<animals>("animals").push_back(h.make<cat>()); });
    fs::copy_file(dir_ / "h", copies / "h");
    fs::copy_file(log_of(dir_ / "h"), log_of(copies / "h"));
    h.close();
    heap recovered = heap::open_existing(copies / "h", options());
    EXPECT_EQ(legs_of(*recovered.root<animals>("animals")[0]), 4);
}

TEST_P(virtual_functions, of_objects_in_an_arena_are_settled) {
    heap h = open();
    const arena zoo = arena::open(h, "zoo");
    h.write([&] { h.root<animals>("animals").push_back(zoo.make<cat>()); });
    h = reopen(std::move(h));
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[0]), 4);
}

INSTANTIATE_TEST_SUITE_P(with_each_tracker, virtual_functions,
                         testing::Values(tracking::automatic, tracking::trap, tracking::fallback), [](const auto& of) {
                             return of.param == tracking::trap       ? "trap"
                                    : of.param == tracking::fallback ? "fallback"
                                                                     : "automatic";
                         });

class virtual_functions_with_history : public testing::Test {
protected:
    heap open() {
        heap_options how = small_heap();
        how.history = {.steps_max = 100, .kept_over_sessions = true};
        return heap::open(dir_ / "h", how);
    }
    temp_dir dir_;
};

TEST_F(virtual_functions_with_history, are_as_they_were_after_undo_and_redo) {
    heap h = open();
    h.write([&] { h.root<animals>("animals").push_back(h.make<cat>()); });
    h.write([&] { h.root<animals>("animals").push_back(h.make<bird>()); });
    const std::uint64_t with_bird = h.version();
    h.undo();
    EXPECT_EQ(h.root<animals>("animals").size(), 1U);
    EXPECT_EQ(classes_in(h), 1U);
    h.redo();
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[1]), 2);
    h.undo();
    h.write([&] { h.root<animals>("animals").push_back(h.make<numbered<8>>()); }); // a branch
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[1]), 8);
    EXPECT_EQ(classes_in(h), 2U);
    h.go_to(with_bird);
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[1]), 2);
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[0]), 4);
    h.close();
    h = open();
    h.undo();
    h.redo();
    EXPECT_EQ(legs_of(*h.root<animals>("animals")[1]), 2);
}

TEST_F(virtual_functions_with_history, may_be_read_in_an_old_version) {
    std::uint64_t version = 0;
    {
        heap h = open();
        h.write([&] { h.root<animals>("animals").push_back(h.make<cat>()); });
        version = h.version();
        h.write([&] { h.root<animals>("animals").push_back(h.make<bird>()); });
        h.close();
    }
    heap_options how = small_heap();
    how.read_only = true;
    how.version = version;
    heap old = heap::open_existing(dir_ / "h", how);
    const animals& then = *old.find_root<animals>("animals");
    ASSERT_EQ(then.size(), 1U);
    EXPECT_EQ(legs_of(*then[0]), 4);
}

TEST(virtual_functions_of_spilled_objects, are_settled) {
    temp_dir dir;
    heap_options how = small_heap();
    how.memory.dirty_limit_bytes = 4 * MiB;
    how.memory.reserve_bytes = GiB;
    heap h = heap::open(dir / "h", how);
    constexpr std::size_t k_many = 2'000'000;
    h.write([&] {
        auto& cats = h.root<vector<cat>>("cats");
        cats.reserve(k_many);
        for (std::size_t i = 0; i != k_many; ++i)
            cats.emplace_back();
        h.root<vector<std::uint64_t>>("numbers").resize(k_many);
    });
    EXPECT_EQ(own_vptrs(h), 0U);
    h.close();
    h = heap::open(dir / "h", how);
    std::size_t legs = 0;
    for (const cat& each : h.root<vector<cat>>("cats"))
        legs += static_cast<std::size_t>(legs_of(each));
    EXPECT_EQ(legs, 4 * k_many);
}

TEST(virtual_functions_of_a_heap_with_a_damaged_table, are_refused) {
    temp_dir dir;
    heap h = heap::open(dir / "h", small_heap());
    h.write([&] { h.root<animals>("animals").push_back(h.make<cat>()); });
    h.write([&] {
        const txn::heap_memory& memory = detail::impl_of(h).memory();
        reinterpret_cast<format::class_table*>(memory.base() + memory.header().class_table)->magic = 0;
    });
    h.close();
    try {
        heap again = heap::open(dir / "h", small_heap());
        FAIL();
    } catch (const error& why) {
        EXPECT_EQ(why.reason(), errc::corrupt) << why.what();
    }
}

} // namespace
} // namespace remanence::test
