// What ending_program can be told to do, and ending_test tells it: a heap, a section of it that is left half way, and what
// leaves it.
#pragma once

#include <remanence/remanence.hpp>

#include <array>
#include <string_view>

namespace remanence::test {

struct ledger {
    long alice = 0;
    long bob = 0;
    btree_map<string, long> notes; // memory comes and goes with them
};
inline constexpr const char* k_ledger_root = "ledger"; // of a heap
inline constexpr long k_deposit = 1000;                // alice's; bob has nothing
inline constexpr long k_whole = 100;                   // goes to bob in ways that commit in between
inline constexpr long k_part = 400;                    // is to go to him, but for the end

/// What holds the accounts.
inline constexpr std::array<std::string_view, 3> k_holders = {"file_backed", "commit_at_close", "heap"};

/// How the section is entered, and what happens in it before it is half done.
inline constexpr std::array<std::string_view, 18> k_ways = {
    "write",
    "write_lazy",
    "write_declared",
    "write_declared_lazy",
    "write_async",
    "write_async_declared",
    "write_in_write",
    "declared_in_write",
    "write_in_declared",
    "read_in_write",
    "commit_inside",
    "commit_async_inside",
    "rollback_inside",
    "lock",
    "try_lock",
    "constructor_of_root",
    "destructor_of_removed_root",
    "read", // with the change outside, and not committed
};

/// What comes half way.
inline constexpr std::array<std::string_view, 11> k_endings = {
    "exception_caught",       // the heap stays, and is closed
    "exception_passes",       // and takes the heap away
    "exit",                   // called in the section
    "exit_in_handler",        // of a signal
    "exit_in_another_thread", // while the section goes on writing
    "main_returns",           // while another thread's section goes on writing
    "destroyed_meanwhile",    // the heap, by another thread; then the section ends
    "quick_exit",
    "_exit",
    "abort",
    "killed",
};
/// Exit statuses.
inline constexpr int k_exited = 2;
inline constexpr int k_exited_in_handler = 3;
inline constexpr int k_exited_in_another_thread = 4;
inline constexpr int k_exited_quickly = 5;
inline constexpr int k_exited_at_once = 6;

/// Only a heap of roots has these.
constexpr bool needs_heap(std::string_view way) {
    return way == "lock" || way == "try_lock" || way == "constructor_of_root" || way == "destructor_of_removed_root";
}

} // namespace remanence::test
