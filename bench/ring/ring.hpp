// The ring of the old object stores, and what is asked of every system that keeps it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

constexpr std::uint64_t k_nodes = 5'000'000;

struct link_node {
    link_node* next;
    link_node* previous;
    int value;
};
static_assert(sizeof(link_node) == 24);

/// Appends a node, which the caller has made, before `first`, hence at the end.
template <class Node>
void link_before(Node* first, Node* node) {
    node->previous = first->previous;
    node->next = first;
    first->previous->next = node;
    first->previous = node;
}

/// Once around. The sum of all values, which must be that of 0 to k_nodes-1.
template <class Pointer>
std::uint64_t sum_of_ring(Pointer first) {
    std::uint64_t sum = 0;
    Pointer node = first;
    do {
        sum += static_cast<std::uint64_t>(node->value);
        node = &*node->next; // or an offset pointer
    } while (node != first);
    return sum;
}

class ring {
public:
    ring() = default;
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;
    virtual ~ring() = default;

    virtual void create() = 0;
    /// Of what is there.
    virtual std::uint64_t sum() = 0;
    /// Returns once all is on the device, if it changed, and memory given back.
    virtual void close() = 0;
};

struct system_kind {
    std::string name;
    std::unique_ptr<ring> (*create)(const std::filesystem::path& file);
    std::unique_ptr<ring> (*open)(const std::filesystem::path& file);
};

// One per source file.
system_kind malloc_system();
system_kind remanence_system();
system_kind interprocess_system();
