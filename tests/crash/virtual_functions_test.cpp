// Objects with virtual functions are made, commit by commit, of ever more classes, and the power fails, or an operation: the
// heap has the objects of the first commits, whole, and knows their classes.
#include "api/heap_impl.hpp"
#include "power_losses.hpp"

#include <remanence/remanence.hpp>
#include <remanence/types/reflect.hpp>

#include <gtest/gtest.h>

#include <concepts>
#include <cstdint>
#include <iostream>
#include <set>
#include <utility>

namespace remanence::crash {

class counted {
public:
    counted() = default;
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    virtual ~counted() = default;
    [[nodiscard]] virtual std::uint64_t number() const = 0;
    string text = "a text that is too long for the object";
    counted* before = nullptr;

private:
    REM_REFLECT((), text, before);
};
/// Each has entries of its own in the heap's table of classes, whose names are long, so that the table grows.
template <std::uint64_t Number, char... Name>
class counted_as : public counted {
public:
    [[nodiscard]] std::uint64_t number() const override { return Number; }
    vector<std::uint64_t> more{Number, Number};

private:
    REM_REFLECT((counted), more);
};

} // namespace remanence::crash

template <std::derived_from<remanence::crash::counted> Counted>
inline constexpr bool remanence::enable_persistable<Counted> = true;

namespace remanence::crash {
namespace {

constexpr const char* k_virtual_path = "/disk/virtual.rem";
constexpr std::uint64_t k_classes = 12;

template <std::uint64_t Number>
using long_named = counted_as<Number, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p'>;

heap open_classes(simulation::simulated_disk& disk) {
    return detail::open(disk, k_virtual_path, {.memory = {.reserve_bytes = 64 << 20, .chunk_bytes = 64 << 10}},
                        detail::opening::open_or_create);
}

template <std::uint64_t... Numbers>
void make_classes(heap& h, std::integer_sequence<std::uint64_t, Numbers...> /*all*/) {
    auto& last = h.root<counted*>("last");
    const auto make = [&]<class T>(std::type_identity<T>) {
        h.write([&] {
            counted* const made = h.make<T>();
            made->before = last;
            last = made;
        });
    };
    (make(std::type_identity<long_named<Numbers>>()), ...);
}

void make_all(simulation::simulated_disk& disk) {
    heap h = open_classes(disk);
    make_classes(h, std::make_integer_sequence<std::uint64_t, k_classes>());
    h.close();
}

/// Returns how many objects there are, all whole.
std::uint64_t count_whole(heap& h) {
    const counted* const* const last = h.find_root<counted*>("last");
    const counted* each = last == nullptr ? nullptr : *last;
    const std::uint64_t count = each == nullptr ? 0 : each->number() + 1;
    std::uint64_t left = count;
    for (; each != nullptr; each = each->before) {
        EXPECT_EQ(each->number(), --left);
        EXPECT_EQ(each->text, "a text that is too long for the object");
    }
    EXPECT_EQ(left, 0U);
    EXPECT_TRUE(h.verify().clean());
    EXPECT_TRUE(h.leaks().clean());
    return count;
}

TEST(virtual_functions, are_those_of_a_commit_after_a_power_loss) {
    simulation::simulated_disk disk;
    const auto start = disk.now();
    make_all(disk);
    std::set<std::uint64_t> found;
    for_each_power_loss(disk, start, [&](bool is_done) {
        heap h = open_classes(disk);
        found.insert(count_whole(h));
        EXPECT_TRUE(!is_done || found.contains(k_classes));
        h.write([&] { // the next object of a class that the heap may know or not
            auto& last = h.root<counted*>("last");
            counted* const made = h.make<long_named<k_classes>>();
            made->before = last;
            last = made;
        });
        EXPECT_EQ((*h.find_root<counted*>("last"))->number(), k_classes);
        EXPECT_TRUE(h.collect().clean()); // it knows all classes
        h.close();
    });
    std::cout << found.size() << " numbers of objects\n";
    EXPECT_GT(found.size(), k_classes / 2);
}

TEST(virtual_functions, are_those_of_a_commit_after_a_failing_operation) {
    for (const errc code : {errc::io, errc::no_space}) {
        for (std::uint64_t n = 0;; ++n) {
            SCOPED_TRACE(n);
            simulation::simulated_disk disk;
            disk.fail_at(n, code);
            try {
                make_all(disk);
            } catch (const error& e) {
                EXPECT_TRUE(e.reason() == code || e.reason() == errc::io || e.reason() == errc::poisoned) << e.what();
            }
            const bool failed = !disk.failure_is_ahead();
            disk.work_again();
            {
                heap h = open_classes(disk);
                (void)count_whole(h);
                h.close();
            }
            if (!failed || testing::Test::HasFailure())
                break;
        }
    }
}

} // namespace
} // namespace remanence::crash
