// A root that leads to objects with virtual functions is migrated when the heap is opened, and the power fails, or an
// operation: the heap has the old objects, of the old classes, or the new ones, of the new classes.
#include "api/heap_impl.hpp"
#include "power_losses.hpp"

#include <remanence/migrate.hpp>
#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

namespace remanence::crash {

class old_shape {
public:
    old_shape() = default;
    old_shape(const old_shape&) = default;
    old_shape& operator=(const old_shape&) = default;
    virtual ~old_shape() = default;
    [[nodiscard]] virtual std::uint64_t number() const = 0;
    string text = "a text that is too long for the object";
    const old_shape* before = nullptr;

private:
    REM_REFLECT((), text, before);
};
class old_mark {
public:
    old_mark() = default;
    old_mark(const old_mark&) = default;
    old_mark& operator=(const old_mark&) = default;
    virtual ~old_mark() = default;
    [[nodiscard]] virtual bool is_new() const { return false; }
    int mark = 3;

private:
    REM_REFLECT((), mark);
};
class old_circle : public old_shape {
public:
    [[nodiscard]] std::uint64_t number() const override { return count; }
    unsigned count = 0;

private:
    REM_REFLECT((old_shape), count);
};
class old_square : public old_mark, public old_shape {
public:
    [[nodiscard]] std::uint64_t number() const override { return sides.size(); }
    vector<int> sides;

private:
    REM_REFLECT((old_mark, old_shape), sides);
};

class new_shape {
public:
    new_shape() = default;
    new_shape(const new_shape&) = default;
    new_shape& operator=(const new_shape&) = default;
    virtual ~new_shape() = default;
    [[nodiscard]] virtual std::uint64_t number() const = 0;
    string added = "an added text that is too long for itself";
    string text;
    const new_shape* before = nullptr;

private:
    REM_REFLECT((), added, text, before);
};
class new_mark {
public:
    new_mark() = default;
    new_mark(const new_mark&) = default;
    new_mark& operator=(const new_mark&) = default;
    virtual ~new_mark() = default;
    [[nodiscard]] virtual bool is_new() const { return false; }
    long mark = 0;

private:
    REM_REFLECT((), mark);
};
class new_circle : public new_shape {
public:
    [[nodiscard]] std::uint64_t number() const override { return count; }
    std::uint64_t count = 0;

private:
    REM_REFLECT((new_shape), count);
};
class new_square : public new_mark, public new_shape {
public:
    [[nodiscard]] std::uint64_t number() const override { return sides.size(); }
    [[nodiscard]] bool is_new() const override { return true; }
    list<int> sides;

private:
    REM_REFLECT((new_mark, new_shape), sides);
};

} // namespace remanence::crash

template <class T>
    requires std::derived_from<T, remanence::crash::old_shape> || std::derived_from<T, remanence::crash::new_shape> ||
                 std::derived_from<T, remanence::crash::old_mark> || std::derived_from<T, remanence::crash::new_mark>
inline constexpr bool remanence::enable_persistable<T> = true;

namespace remanence::crash {
namespace {

constexpr const char* k_shapes_path = "/disk/shapes.rem";
constexpr std::uint64_t k_shapes = 60;
using old_shapes = vector<old_shape*>;
using new_shapes = vector<new_shape*>;

heap open_shapes(simulation::simulated_disk& disk, const std::function<void(heap&)>& migrate = {}) {
    heap_options how;
    how.memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10};
    how.migrate = migrate;
    return detail::open(disk, k_shapes_path, how, detail::opening::open_or_create);
}

migrations to_new_shapes() {
    static_cast<void>(detail::class_to_be_made<new_circle>::k_part);
    static_cast<void>(detail::class_to_be_made<new_square>::k_part);
    return migrations()
        .to<new_shapes>("shapes")
        .rename(renamed_class<"rem::crash::old_shape">::of<new_shape>())
        .rename(renamed_class<"rem::crash::old_mark">::of<new_mark>())
        .rename(renamed_class<"rem::crash::old_circle">::of<new_circle>())
        .rename(renamed_class<"rem::crash::old_square">::of<new_square>());
}

/// A circle, a square with one side, a circle with the number 2, ...
template <class Shape, class Square, class Mark>
void expect_shapes(heap& of, long mark, bool is_new) {
    const auto* const all = of.find_root<vector<Shape*>>("shapes");
    ASSERT_NE(all, nullptr);
    ASSERT_EQ(all->size(), k_shapes);
    const Shape* before = nullptr;
    for (std::uint64_t i = 0; i != k_shapes; ++i) {
        const Shape* const each = (*all)[i];
        ASSERT_EQ(each->number(), i);
        ASSERT_EQ(each->text, "a text that is too long for the object");
        ASSERT_EQ(each->before, before);
        const auto* const square = dynamic_cast<const Square*>(each);
        ASSERT_EQ(square != nullptr, i % 2 == 1);
        if (square != nullptr) {
            const Mark& base = *square;
            ASSERT_EQ(base.mark, mark);
            ASSERT_EQ(base.is_new(), is_new);
        }
        before = each;
    }
    EXPECT_TRUE(of.verify().clean());
    EXPECT_EQ(of.leaks().blocks, 0U);
}

class virtual_migration_cut_short : public testing::Test {
protected:
    void SetUp() override {
        heap made = open_shapes(disk_);
        made.write([&] {
            auto& all = made.root<old_shapes>("shapes");
            for (unsigned i = 0; i != k_shapes; ++i) {
                old_shape* next = nullptr;
                if (i % 2 == 0) {
                    auto* const circle = made.make<old_circle>();
                    circle->count = i;
                    next = circle;
                } else {
                    auto* const square = made.make<old_square>();
                    square->sides.resize(i);
                    next = square;
                }
                next->before = i == 0 ? nullptr : all.back();
                all.push_back(next);
            }
        });
        made.close();
        (void)disk_.take_trace();
    }
    /// What it threw; none: nothing.
    std::optional<errc> run() {
        try {
            open_shapes(disk_, to_new_shapes()).close();
        } catch (const error& stop) {
            return stop.reason();
        }
        return {};
    }
    /// True if the heap has the new ones.
    bool has_new_ones() {
        heap opened = open_shapes(disk_);
        migrations how = to_new_shapes();
        const bool is_older = how.dry_run(opened).is_needed;
        if (is_older) {
            expect_shapes<old_shape, old_square, old_mark>(opened, 3, false);
            EXPECT_TRUE(how(opened).is_needed);
        }
        expect_shapes<new_shape, new_square, new_mark>(opened, 3, true);
        opened.close();
        heap again = open_shapes(disk_);
        expect_shapes<new_shape, new_square, new_mark>(again, 3, true);
        again.close();
        return !is_older;
    }
    simulation::simulated_disk disk_;
};

TEST_F(virtual_migration_cut_short, by_a_power_loss_leaves_all_old_objects_or_all_new_ones) {
    const auto start = disk_.now();
    ASSERT_FALSE(run());
    std::uint64_t older = 0;
    std::uint64_t newer = 0;
    for_each_power_loss(disk_, start, [&](bool is_done) {
        const bool is_new = has_new_ones();
        ++(is_new ? newer : older);
        EXPECT_TRUE(!is_done || is_new) << "it was durable";
    });
    std::cout << older << " heaps with the old objects, " << newer << " with the new ones\n";
    EXPECT_GT(older, 0U);
    EXPECT_GT(newer, 0U);
}

TEST_F(virtual_migration_cut_short, by_a_failing_operation_leaves_all_old_objects_or_all_new_ones) {
    for (const errc code : {errc::io, errc::no_space}) {
        std::uint64_t n = 0;
        for (;; ++n) {
            SCOPED_TRACE(n);
            const auto start = disk_.now();
            disk_.fail_at(n, code);
            const auto thrown = run();
            const bool failed = !disk_.failure_is_ahead();
            disk_.work_again();
            EXPECT_TRUE(failed || !thrown);
            EXPECT_TRUE(has_new_ones() || thrown) << "it was said to be done";
            disk_.rewind(start);
            if (!failed || HasFailure())
                break;
        }
        EXPECT_GT(n, 3U);
    }
}

} // namespace
} // namespace remanence::crash
