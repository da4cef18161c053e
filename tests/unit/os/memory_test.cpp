#include "os/memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace remanence::os {
namespace {

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

TEST(reservation, at_random_is_aligned_and_never_the_same_place) {
    auto a = reservation::at_random(64 * MiB);
    auto b = reservation::at_random(64 * MiB);
    ASSERT_TRUE(a && b);
    EXPECT_NE(a->base(), b->base());
    EXPECT_TRUE(is_aligned(address(a->base()), k_base_alignment));
    EXPECT_LT(address(a->base()), k_address_end);
}

TEST(reservation, larger_than_the_range_for_heaps_is_refused) {
    EXPECT_EQ(reservation::at_random(std::uint64_t{1} << 46).why().code, errc::invalid_argument);
}

TEST(reservation, elsewhere_is_never_where_a_random_base_may_be) {
    std::uint64_t last_base = 0;
    std::uint64_t first_elsewhere = k_address_end;
    for (int i = 0; i < 500; ++i) {
        auto a = reservation::at_random(64 * MiB);
        auto b = reservation::elsewhere(64 * MiB);
        ASSERT_TRUE(a && b);
        EXPECT_TRUE(is_aligned(address(b->base()), k_base_alignment));
        last_base = std::max(last_base, address(a->base()));
        first_elsewhere = std::min(first_elsewhere, address(b->base()));
    }
    EXPECT_LT(last_base, first_elsewhere);
}

TEST(reservation, elsewhere_goes_on_among_random_bases_when_its_own_places_are_taken) {
    std::vector<reservation> taken;
    auto whole = reservation::elsewhere(std::uint64_t{1} << 42); // larger than the range for what lies elsewhere
    ASSERT_TRUE(whole) << whole.why().message;
    auto first = reservation::elsewhere(MiB);
    ASSERT_TRUE(first);
    std::uint64_t least = address(first->base());
    for (int i = 0; i < 3000; ++i) { // more than there are places
        auto next = reservation::elsewhere(MiB);
        ASSERT_TRUE(next) << next.why().message;
        least = std::min(least, address(next->base()));
        taken.push_back(std::move(*next));
    }
    EXPECT_LT(least, address(first->base()) - (std::uint64_t{1} << 40));
}

TEST(reservation, of_a_taken_place_names_the_holder) {
    auto a = reservation::at_random(64 * MiB);
    ASSERT_TRUE(a);
    ASSERT_TRUE(map_anonymous(a->base() + MiB, MiB));
    for (std::uint64_t offset : {std::uint64_t{0}, MiB}) {
        auto taken = reservation::at(address(a->base()) + offset, MiB);
        ASSERT_FALSE(taken);
        EXPECT_EQ(taken.why().code, errc::base_taken);
        EXPECT_NE(taken.why().message.find(mapping_at(address(a->base()) + offset, 1)), std::string::npos)
            << taken.why().message;
    }
    // A range that only ends in it is taken as well, and nothing of it is left mapped.
    std::uint64_t before = address(a->base()) - MiB;
    EXPECT_EQ(reservation::at(before, 2 * MiB).why().code, errc::base_taken);
    EXPECT_EQ(mapping_at(before, MiB), "");
}

TEST(reservation, at_or_elsewhere_takes_the_place_if_it_is_free) {
    auto a = reservation::at_random(64 * MiB);
    ASSERT_TRUE(a);
    const std::uint64_t place = address(a->base());
    {
        auto b = reservation::at_or_elsewhere(place, 64 * MiB);
        ASSERT_TRUE(b);
        EXPECT_NE(b->base(), a->base());
        EXPECT_TRUE(is_aligned(address(b->base()), k_base_alignment));
        EXPECT_EQ(b->bytes(), 64 * MiB);
    }
    {
        const reservation gone = std::move(*a);
    }
    auto c = reservation::at_or_elsewhere(place, 64 * MiB);
    ASSERT_TRUE(c);
    EXPECT_EQ(address(c->base()), place);
}

TEST(reservation, ends_with_its_owner_and_moves) {
    std::uint64_t base = 0;
    {
        auto a = reservation::at_random(16 * MiB);
        ASSERT_TRUE(a);
        base = address(a->base());
        reservation moved = std::move(*a);
        EXPECT_EQ(a->base(), nullptr);
        EXPECT_NE(mapping_at(base, 1), "");
        auto other = reservation::at_random(16 * MiB);
        moved = std::move(*other);
    }
    EXPECT_EQ(mapping_at(base, 16 * MiB), "");
}

TEST(reservation, extends_while_the_addresses_behind_it_are_free) {
    auto a = reservation::at_random(16 * MiB);
    ASSERT_TRUE(a);
    ASSERT_TRUE(a->extend(64 * MiB));
    EXPECT_EQ(a->bytes(), 64 * MiB);
    ASSERT_TRUE(a->extend(16 * MiB)); // less than it has: nothing to do
    EXPECT_EQ(a->bytes(), 64 * MiB);
    auto blocker = reservation::at(address(a->base()) + 80 * MiB, MiB);
    ASSERT_TRUE(blocker);
    auto failed = a->extend(128 * MiB);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.why().code, errc::base_taken);
    EXPECT_EQ(a->bytes(), 64 * MiB);
    ASSERT_TRUE(a->extend(80 * MiB));
    ASSERT_TRUE(map_anonymous(a->base(), 80 * MiB));
    std::memset(a->base() + 79 * MiB, 1, MiB);
}

TEST(memory, dropped_pages_read_as_zeros_and_protected_ones_kill) {
    auto a = reservation::at_random(16 * MiB);
    ASSERT_TRUE(a);
    ASSERT_TRUE(map_anonymous(a->base(), MiB));
    std::memset(a->base(), 1, MiB);
    ASSERT_TRUE(drop_pages(a->base() + 4096, 8192));
    EXPECT_EQ(a->base()[4095], std::byte{1});
    EXPECT_EQ(a->base()[4096], std::byte{0});
    EXPECT_EQ(a->base()[3L * 4096], std::byte{1});
    ASSERT_TRUE(protect_read_only(a->base(), 4096));
    EXPECT_EQ(a->base()[0], std::byte{1});
    EXPECT_EXIT(
        {
            ::signal(SIGSEGV, SIG_DFL);
            *static_cast<volatile std::byte*>(a->base()) = std::byte{2};
        },
        testing::KilledBySignal(SIGSEGV), "");
    EXPECT_FALSE(drop_pages(a->base() + 1, 4096)); // a refused system call is a result
}

TEST(memory, that_a_program_has_locked_is_dropped_too) {
    auto a = reservation::at_random(64 * MiB);
    ASSERT_TRUE(a);
    ASSERT_TRUE(map_anonymous(a->base(), 64 * KiB));
    ASSERT_EQ(::mlock(a->base(), 64 * KiB), 0);
    std::memset(a->base(), 1, 64 * KiB);
    ASSERT_TRUE(drop_pages(a->base(), 64 * KiB));
    EXPECT_EQ(std::to_integer<int>(*a->base()), 0);
}

TEST(fork_guard, reads_false_in_a_child_and_true_in_the_parent) {
    auto guard = fork_guard::create();
    ASSERT_TRUE(guard);
    const fork_guard moved = *guard;
    EXPECT_TRUE(moved.same_process());
    const pid_t child = ::fork();
    if (child == 0) {
        const bool dead = !moved.same_process();
        const pid_t grandchild = ::fork();
        if (grandchild == 0)
            ::_exit(moved.same_process() ? 1 : 0);
        int status = -1;
        ::waitpid(grandchild, &status, 0);
        ::_exit(dead && status == 0 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(moved.same_process());
}

TEST(fork_guard, made_in_a_child_is_the_childs) {
    auto guard = fork_guard::create();
    ASSERT_TRUE(guard);
    const pid_t child = ::fork();
    if (child == 0) {
        auto own = fork_guard::create();
        auto again = fork_guard::create();
        ::_exit(own && again && own->same_process() && again->same_process() && !guard->same_process() ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(guard->same_process());
}

TEST(memory, random_bytes_differ) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    ASSERT_TRUE(random_bytes(&a, sizeof a));
    ASSERT_TRUE(random_bytes(&b, sizeof b));
    EXPECT_NE(a, b);
}

} // namespace
} // namespace remanence::os
