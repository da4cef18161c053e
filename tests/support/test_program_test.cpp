// What test_program.cpp does is seen from outside: these tests run their own program, whose test `told` then ends as it
// is told.
#include "support/seed.hpp"

#include <rapidcheck.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

namespace remanence::test {

namespace {

TEST(told_by_environment, ends_as_told) {
    const char* const variable = std::getenv("REMANENCE_TOLD");
    const std::string_view told = variable != nullptr ? variable : "";
    if (told == "fails")
        FAIL() << "drew " << random_seed() << '.';
    if (told == "fails with its usual seed")
        FAIL() << "drew " << seed_or(7) << '.';
    if (told == "has a false property") {
        bool is_first = true; // the others are shrunken ones
        const auto property = [&] {
            const auto number = *rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>());
            if (std::exchange(is_first, false))
                std::cout << "drew " << number << ".\n";
            RC_FAIL();
        };
        EXPECT_TRUE(rc::check("there are no numbers", property));
    }
    if (told == "aborts" || told == "writes to no memory") {
        std::cout << "drew " << random_seed() << '.' << std::endl;
        if (told == "aborts")
            std::abort();
        volatile std::uintptr_t nowhere = 64; // the compiler must not see where
        *reinterpret_cast<volatile int*>(nowhere) = 1;
    }
    if (told == "forks") {
        std::cout << "said by cout, ";
        std::printf("said by printf\n");
        const pid_t child = ::fork();
        if (child == 0)
            std::exit(0);
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    }
}

/// Runs a command as a user would whose shell has none of the variables that this run may have.
std::string output_of(const std::string& command) {
    FILE* const pipe = ::popen(
        ("unset REMANENCE_SEED RC_PARAMS GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX; (" + command + ") 2>&1").c_str(), "r");
    if (pipe == nullptr)
        return "no pipe";
    std::string all;
    std::array<char, 4096> some{};
    for (std::size_t bytes = 0; (bytes = std::fread(some.data(), 1, some.size(), pipe)) > 0;)
        all.append(some.data(), bytes);
    ::pclose(pipe);
    return all;
}

std::string output_when(std::string_view told, const std::string& environment = {}) {
    return output_of(environment + " REMANENCE_TOLD='" + std::string(told) + "' '" +
                     std::filesystem::read_symlink("/proc/self/exe").string() +
                     "' --gtest_filter=told_by_environment.ends_as_told");
}

/// Returns what stands between `begin` and `end`; nothing unless `begin` is there exactly once.
std::string between(std::string_view begin, char end, const std::string& text) {
    const std::size_t at = text.find(begin);
    if (at == std::string::npos || text.find(begin, at + 1) != std::string::npos)
        return {};
    const std::size_t from = at + begin.size();
    return text.substr(from, text.find(end, from) - from);
}

std::string command_in(const std::string& text) { return between("To repeat it: ", '\n', text); }
std::string drawn_in(const std::string& text) { return between("drew ", '.', text); }

class a_test_program : public testing::TestWithParam<const char*> {};

TEST_P(a_test_program, prints_once_the_command_that_repeats_a_failure) {
    const std::string first = output_when(GetParam());
    const std::string command = command_in(first);
    ASSERT_FALSE(command.empty()) << first;
    EXPECT_TRUE(command.ends_with("--gtest_filter='told_by_environment.ends_as_told'")) << command;
    ASSERT_FALSE(drawn_in(first).empty()) << first;

    const std::string again = output_of(command);
    EXPECT_EQ(drawn_in(again), drawn_in(first));
    EXPECT_EQ(command_in(again), command);
}

INSTANTIATE_TEST_SUITE_P(that, a_test_program,
                         testing::Values("fails", "fails with its usual seed", "has a false property", "aborts",
                                         "writes to no memory"));

TEST(test_program, draws_other_numbers_in_each_run_and_those_of_a_given_seed) {
    EXPECT_NE(drawn_in(output_when("fails")), drawn_in(output_when("fails")));
    EXPECT_NE(drawn_in(output_when("has a false property")), drawn_in(output_when("has a false property")));
    EXPECT_EQ(drawn_in(output_when("fails", "REMANENCE_SEED=5")), "5");
    EXPECT_EQ(drawn_in(output_when("has a false property", "REMANENCE_SEED=5")),
              drawn_in(output_when("has a false property", "REMANENCE_SEED=5")));
    EXPECT_TRUE(command_in(output_when("fails", "REMANENCE_SEED=5")).starts_with("REMANENCE_SEED=5 "));
}

TEST(test_program, takes_usual_seeds_unless_one_is_given) {
    constexpr const char* k_usual = "fails with its usual seed";
    EXPECT_EQ(drawn_in(output_when(k_usual)), "7");
    EXPECT_EQ(command_in(output_when(k_usual)).find("REMANENCE_SEED"), std::string::npos);
    const std::string given = drawn_in(output_when(k_usual, "REMANENCE_SEED=5"));
    EXPECT_NE(given, "7");
    EXPECT_NE(given, drawn_in(output_when(k_usual, "REMANENCE_SEED=6")));
    EXPECT_EQ(given, drawn_in(output_of(command_in(output_when(k_usual, "REMANENCE_SEED=5")))));
}

TEST(test_program, refuses_a_seed_that_is_no_number) {
    EXPECT_NE(
        output_when("fails", "REMANENCE_SEED=0x5").find("REMANENCE_SEED must be a decimal number, and is \"0x5\""),
        std::string::npos);
}

TEST(test_program, prints_no_command_for_a_test_that_passes) {
    EXPECT_EQ(output_when("passes").find("To repeat it"), std::string::npos);
}

TEST(test_program, keeps_other_arguments_and_the_environment_of_tests) {
    const std::string command = command_in(output_when("fails", "REMANENCE_NOTHING=\"it's\" RC_PARAMS=max_success=3"));
    EXPECT_NE(command.find(" REMANENCE_NOTHING='it'\\''s' "), std::string::npos) << command;
    EXPECT_NE(command.find(" RC_PARAMS=max_success=3 "), std::string::npos) << command;
}

TEST(test_program, does_not_let_its_children_repeat_what_it_said) {
    const std::string text = output_when("forks");
    EXPECT_NE(text.find("said by cout, said by printf\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("said by printf"), text.rfind("said by printf")) << text;
}

} // namespace

} // namespace remanence::test
