// A volatile heap that becomes a file, for tests in which something fails meanwhile.
#pragma once

#include "support/temp_dir.hpp"

#include <remanence/heap.hpp>
#include <remanence/volatile_files.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace remanence::faults {

struct kept_node {
    kept_node* next;
    std::uint64_t value;
};

/// A list of so many nodes, and blocks of many sizes beside them.
inline constexpr std::uint64_t k_kept_nodes = 80;

inline std::unique_ptr<volatile_heap> make_kept_list() {
    auto made = std::make_unique<volatile_heap>(volatile_heap_options{.reserve_bytes = std::uint64_t{1} << 30U});
    kept_node* first = nullptr;
    for (std::uint64_t i = 0; i != k_kept_nodes; ++i) {
        first = new (made->allocate(sizeof(kept_node) + i * 250)) kept_node{first, i};
    }
    set_root(*made, "first", first);
    return made;
}

/// Returns what is wrong with the list; empty: nothing.
inline std::string wrong_with(const kept_node* first) {
    std::uint64_t left = k_kept_nodes;
    for (; first != nullptr; first = first->next) {
        if (left == 0 || first->value != --left)
            return "a node holds " + std::to_string(first->value);
    }
    return left == 0 ? "" : "nodes are missing";
}

inline std::string wrong_with(const volatile_heap& of) {
    const volatile_verify_report report = of.verify();
    return report.clean() ? wrong_with(find_root<kept_node>(of, "first")) : report.problems.front().what;
}

/// Opens the file in a child, which gives up the addresses of the volatile heap. True if it holds the list.
inline bool is_whole(const std::filesystem::path& path, std::unique_ptr<volatile_heap>& holder) {
    const pid_t child = ::fork();
    if (child == 0) {
        holder.reset();
        int status = 1;
        try {
            heap opened = heap::open_existing(path);
            status = opened.verify().clean() && wrong_with(opened.find_root<kept_node>("first")).empty() ? 0 : 1;
        } catch (const error&) {
            status = 2;
        }
        ::_exit(status);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0;
}

} // namespace remanence::faults
