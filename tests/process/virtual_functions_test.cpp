// Objects with virtual functions in a heap that processes share: each has the vtables of its own program.

#include "process/other_process.hpp"

#include <concepts>

namespace remanence::test {

class vehicle {
public:
    vehicle() = default;
    vehicle(const vehicle&) = default;
    vehicle& operator=(const vehicle&) = default;
    virtual ~vehicle() = default;
    [[nodiscard]] virtual int wheels() const = 0;
};
class car : public vehicle {
public:
    [[nodiscard]] int wheels() const override { return 4; }
};
template <int N>
class numbered_vehicle : public vehicle {
public:
    [[nodiscard]] int wheels() const override { return N; }
};

using vehicles = vector<vehicle*>;

} // namespace remanence::test

template <std::derived_from<remanence::test::vehicle> Vehicle>
inline constexpr bool remanence::enable_persistable<Vehicle> = true;

namespace remanence::test {
namespace {

[[gnu::noinline]] int wheels_of(const vehicle& of) { return of.wheels(); }

template <int N>
void add_numbered(heap& h, vehicles& to) {
    h.write([&] { to.push_back(h.make<numbered_vehicle<N>>()); });
}

int wheels_of_all(heap& h, const vehicles& all) {
    return h.read([&] {
        int sum = 0;
        for (const vehicle* const each : all)
            sum += wheels_of(*each);
        return sum;
    });
}

TEST(shared_virtual_functions, are_called_in_each_process_from_the_commit_on) {
    temp_dir dir;
    signals told;
    heap h = heap::open(dir / "h", shared_heap());
    auto& all = h.root<vehicles>("all");
    h.write([&] { all.push_back(h.make<car>()); });
    other_process other(h, [&] {
        heap mine = heap::open_existing(dir / "h", shared_heap());
        vehicles& seen = mine.root<vehicles>("all");
        if (wheels_of_all(mine, seen) != 4)
            throw std::runtime_error("not 4 wheels");
        told.set(0);
        told.wait(1);
        if (wheels_of_all(mine, seen) != 4 + 100)
            throw std::runtime_error("not 104 wheels");
        add_numbered<1000>(mine, seen);
        told.set(2);
        told.wait(3);
        mine.close();
    });
    told.wait(0);
    add_numbered<100>(h, all);
    told.set(1);
    told.wait(2);
    EXPECT_EQ(wheels_of_all(h, all), 4 + 100 + 1000);
    add_numbered<100>(h, all); // a class that the table has
    add_numbered<5>(h, all);
    EXPECT_EQ(wheels_of_all(h, all), 4 + 100 + 1000 + 100 + 5);
    told.set(3);
    EXPECT_EQ(other.wait(), 0);
    h.close();
}

TEST(shared_virtual_functions, of_a_guest_who_only_reads_are_called) {
    temp_dir dir;
    signals told;
    heap h = heap::open(dir / "h", shared_heap());
    auto& all = h.root<vehicles>("all");
    h.write([&] { all.push_back(h.make<car>()); });
    other_process guest(h, [&] {
        heap_options how = shared_heap();
        how.read_only = true;
        heap mine = heap::open_existing(dir / "h", how);
        const vehicles& seen = *mine.find_root<vehicles>("all");
        if (wheels_of_all(mine, seen) != 4)
            throw std::runtime_error("not 4 wheels");
        told.set(0);
        told.wait(1);
        if (wheels_of_all(mine, seen) != 4 + 6)
            throw std::runtime_error("not 10 wheels");
    });
    told.wait(0);
    add_numbered<6>(h, all);
    told.set(1);
    EXPECT_EQ(guest.wait(), 0);
    h.close();
}

} // namespace
} // namespace remanence::test
