// Sections that are left half way, by exceptions, by exit(), or because the program ends beside them: a file has whole
// sections only, whoever commits at the end, and the process ends as it was going to. Each case is a process of its own.
//
// 543 processes: each way to end with 18 kinds of sections and 3 kinds of holders.

#include "ending_cases.hpp"

#include "support/temp_dir.hpp"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

extern char** environ; // NOLINT(readability-redundant-declaration): in a header with GNU's extensions only

namespace remanence::test {
namespace {

namespace fs = std::filesystem;

struct end_of_process {
    bool is_by_signal;
    int code;
    bool operator==(const end_of_process&) const = default;
    friend std::ostream& operator<<(std::ostream& out, const end_of_process& end) {
        return out << (end.is_by_signal ? "signal " : "status ") << end.code;
    }
};

end_of_process run(const fs::path& file, std::string_view holder, std::string_view way, std::string_view ending) {
    std::array<std::string, 5> words = {ENDING_PROGRAM, file.string(), std::string(holder), std::string(way),
                                        std::string(ending)};
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = -1;
    EXPECT_EQ(::posix_spawn(&child, ENDING_PROGRAM, nullptr, nullptr, arguments.data(), environ), 0);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? end_of_process{true, WTERMSIG(status)} : end_of_process{false, WEXITSTATUS(status)};
}

end_of_process expected_end(std::string_view ending) {
    static const std::map<std::string_view, end_of_process> k_ends = {
        {"exit", {false, k_exited}},
        {"exit_in_handler", {false, k_exited_in_handler}},
        {"exit_in_another_thread", {false, k_exited_in_another_thread}},
        {"quick_exit", {false, k_exited_quickly}},
        {"_exit", {false, k_exited_at_once}},
        {"abort", {true, SIGABRT}},
        {"killed", {true, SIGKILL}},
    };
    const auto found = k_ends.find(ending);
    return found == k_ends.end() ? end_of_process{false, 0} : found->second;
}

bool makes_sense(std::string_view holder, std::string_view way, std::string_view ending) {
    if (holder == "file_backed" && needs_heap(way))
        return false;
    if (way == "read" && ending == "exception_caught")
        return false; // the change outside is the program's to take back
    return ending != "destroyed_meanwhile" || !way.ends_with("lock"); // which need the handle
}

struct balances {
    long alice = 0;
    long bob = 0;
    std::size_t notes = 0;
};

testing::AssertionResult is_whole(const balances& found, std::string_view way, std::string_view ending) {
    if (found.alice + found.bob != k_deposit || found.notes != 0)
        return testing::AssertionFailure() << found.alice << " + " << found.bob << ", notes: " << found.notes;
    std::vector<long> possible = {k_deposit};
    if (way == "commit_inside")
        possible = {k_deposit - k_whole};
    if (way == "commit_async_inside")
        possible.push_back(k_deposit - k_whole); // it may not have come to be durable
    if (ending == "destroyed_meanwhile" && way != "read")
        possible.push_back(possible.back() - k_part); // the section ended
    for (const long each : possible) {
        if (found.alice == each)
            return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "alice has " << found.alice;
}

balances balances_in(const fs::path& file, std::string_view holder) {
    const auto balances_of = [](const ledger& found) -> balances {
        return {found.alice, found.bob, found.notes.size()};
    };
    if (holder == "file_backed") {
        const file_backed<ledger> opened(file);
        EXPECT_TRUE(opened.get_heap().verify().clean());
        return balances_of(*opened);
    }
    const heap opened = heap::open(file);
    EXPECT_TRUE(opened.verify().clean());
    return balances_of(*opened.find_root<ledger>(k_ledger_root));
}

class a_section_left_half_way : public testing::TestWithParam<std::string_view> {};

TEST_P(a_section_left_half_way, is_in_the_file_as_a_whole_or_not_at_all) {
    const std::string_view ending = GetParam();
    for (const std::string_view holder : k_holders) {
        for (const std::string_view way : k_ways) {
            if (!makes_sense(holder, way, ending))
                continue;
            SCOPED_TRACE(std::string(holder) + ' ' + std::string(way));
            const temp_dir dir;
            EXPECT_EQ(run(dir / "bank", holder, way, ending), expected_end(ending));
            EXPECT_TRUE(is_whole(balances_in(dir / "bank", holder), way, ending));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(by, a_section_left_half_way, testing::ValuesIn(k_endings),
                         [](const auto& tested) { return std::string(tested.param); });

} // namespace
} // namespace remanence::test
