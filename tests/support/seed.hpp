// Where tests get their random numbers from: REMANENCE_SEED, or a seed that the program draws when it starts. When a test
// fails, test_program.cpp prints the command that repeats it, seed included; so a test need not print its seed.
#pragma once

#include <cstdint>

namespace remanence::test {

/// Returns the seed of this run: what REMANENCE_SEED says, else a number that was drawn when the program started. Every
/// call returns the same, in forked children as well, until --gtest_repeat begins again. Any thread may call it.
[[nodiscard]] unsigned random_seed();

/// Returns `usual`, so that a test does the same each time; when REMANENCE_SEED is set, a seed made of both. A test calls
/// either this or random_seed(), else no command can repeat it.
[[nodiscard]] std::uint64_t seed_or(std::uint64_t usual);

/// Draws another seed for this run, unless REMANENCE_SEED is set.
void draw_another_seed();
/// Called before each test. What was drawn before the first test holds for all.
void begin_test_with_seeds();
/// Returns whether a run with REMANENCE_SEED=random_seed() does what this test did. It does not when the test had only
/// usual seeds.
[[nodiscard]] bool is_repeated_by_seed();

} // namespace remanence::test
