// Declared sections in which containers of our own are changed: nothing is touched by hand, builds with assertions find
// nothing undeclared. Typed tests, to be instantiated for each kind of containers.
#pragma once

#include "types/pointer_check.hpp"
#include "unit/api/fixture.hpp"

#include <cstdint>
#include <stdexcept>

namespace remanence::test {

/// `Subject` has the type of a root `containers`, and of a `model` with the same in std containers. In its namespace are
/// change_all(containers&, model&, seed), which makes the same changes to both, of any kind; has_all(containers, model), whether
/// both hold the same and all is well; and are_large(containers), whether there was enough to do.
template <class Subject>
class declared_containers : public testing::Test {};
TYPED_TEST_SUITE_P(declared_containers);

TYPED_TEST_P(declared_containers, declare_all_that_they_change) {
    const temp_dir dir;
    typename TypeParam::model expected;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<typename TypeParam::containers>("all");
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const std::uint64_t version = h.version();
        h.write(declared,
                [&] { change_all(all, expected, seed); }); // builds with assertions refuse what was not declared
        ASSERT_EQ(h.version(), version + 1);
        h.rollback(); // takes back what was not in the commit
        ASSERT_TRUE(has_all(all, expected)) << "section " << seed;
    }
    EXPECT_TRUE(are_large(all));
    EXPECT_TRUE(h.verify().clean());
}

TYPED_TEST_P(declared_containers, that_throw_are_as_before) {
    const temp_dir dir;
    typename TypeParam::model expected;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<typename TypeParam::containers>("all");
    for (std::uint64_t seed = 1; seed <= 50; ++seed)
        h.write([&] { change_all(all, expected, seed); });
    for (std::uint64_t seed = 51; seed <= 80; ++seed) {
        typename TypeParam::model lost = expected;
        EXPECT_THROW(h.write(declared,
                             [&] {
                                 change_all(all, lost, seed);
                                 throw std::runtime_error("stop");
                             }),
                     std::runtime_error);
        ASSERT_TRUE(has_all(all, expected));
    }
}

REGISTER_TYPED_TEST_SUITE_P(declared_containers, declare_all_that_they_change, that_throw_are_as_before);

/// `Map`: of std::uint64_t to std::uint64_t.
template <class Map>
class declared_maps : public testing::Test {};
TYPED_TEST_SUITE_P(declared_maps);

TYPED_TEST_P(declared_maps, leave_what_is_written_through_references_to_the_program) {
    const temp_dir dir;
    heap h = heap::create(dir / "h", small_heap());
    auto& all = h.root<TypeParam>("all");
    h.write([&] { all[1] = 1; });
    const auto undeclared = [&] { h.write(declared, [&] { all.find(1)->second = 2; }); };
    if (types::checks_pointers()) {
        EXPECT_TRUE(is_error(error_of(undeclared), errc::undeclared_change, dir / "h",
                             "Declare each such change before it is made, by touch()"));
    } else {
        undeclared();
        h.rollback();
    }
    EXPECT_EQ(all.at(1), 1U);
    h.write(declared, [&] {
        h.touch(&all.find(1)->second, sizeof(std::uint64_t));
        all.find(1)->second = 3;
    });
    h.rollback();
    EXPECT_EQ(all.at(1), 3U);
}

REGISTER_TYPED_TEST_SUITE_P(declared_maps, leave_what_is_written_through_references_to_the_program);

} // namespace remanence::test
