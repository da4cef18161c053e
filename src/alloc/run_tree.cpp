#include "alloc/run_tree.hpp"

#include <array>

namespace remanence::alloc {

using format::page_descriptor;
using format::page_kind;

namespace {

std::uint64_t key_of(const page_descriptor& run, std::uint32_t page) { return std::uint64_t{run.count} << 32 | page; }

} // namespace

// Returns the run to which a link leads, and lowers `bound` to its priority. If the link is wrong, notes the damage and
// returns null.
const page_descriptor* run_tree::visit(std::uint32_t page, std::uint64_t& bound) {
    ++step_count_;
    const page_descriptor* const run = pages_.used_descriptor(page);
    if (run == nullptr || run->kind != page_kind::free_run || run->count == 0 || run_priority(page) >= bound ||
        page + std::uint64_t{run->count} > pages_.used_end(section_of(page))) {
        pages_.note_damage_of_page(page, "a link in the tree of free runs is wrong");
        return nullptr;
    }
    bound = run_priority(page);
    return run;
}

std::uint32_t run_tree::best_fit(std::uint64_t page_count) {
    std::uint32_t best = 0;
    std::uint32_t page = pages_.state().free_run_root;
    for (std::uint64_t bound = k_no_bound; page != 0;) {
        const page_descriptor* const run = visit(page, bound);
        if (run == nullptr)
            return 0;
        if (run->count >= page_count)
            best = page;
        page = run->count >= page_count ? run->before : run->after;
    }
    return best;
}

void run_tree::for_each(std::uint64_t page_count, const std::function<void(std::uint32_t, std::uint32_t)>& visit_run) {
    struct link {
        std::uint32_t page;
        std::uint64_t bound;
    };
    // Not a vector, because an allocator that serves malloc() must not call malloc(). Trees are some 100 levels deep at
    // most, unless they are damaged.
    std::array<link, 1024> left;
    std::size_t count = 0;
    left[count++] = {pages_.state().free_run_root, k_no_bound};
    while (count != 0 && count + 2 <= left.size()) {
        link at = left[--count];
        if (at.page == 0)
            continue;
        const page_descriptor* const run = visit(at.page, at.bound);
        if (run == nullptr)
            return;
        left[count++] = {run->after, at.bound};
        if (run->count >= page_count) {
            visit_run(at.page, run->count);
            left[count++] = {run->before, at.bound};
        }
    }
}

void run_tree::insert(std::uint32_t page) {
    const page_descriptor& run = pages_.descriptor(page);
    const std::uint64_t key = key_of(run, page);
    position at{&pages_.state().free_run_root, k_no_bound};
    while (*at.link != 0 && run_priority(*at.link) > run_priority(page)) {
        const std::uint32_t above = *at.link;
        const page_descriptor* const node = visit(above, at.bound);
        if (node == nullptr)
            return;
        at.link = key < key_of(*node, above) ? &node->before : &node->after;
    }
    split(*at.link, at.bound, key, run);
    set(at.link, page);
    format::alloc_state& state = pages_.changing_state();
    ++state.free_run_count;
    state.free_pages += run.count;
}

// Splits the subtree `from` into two: the nodes before `key`, and those after it.
void run_tree::split(std::uint32_t from, std::uint64_t bound, std::uint64_t key, const page_descriptor& into) {
    const std::uint32_t* before = &into.before;
    const std::uint32_t* after = &into.after;
    while (from != 0) {
        const page_descriptor* const node = visit(from, bound);
        if (node == nullptr)
            break; // the tree loses only the nodes below the damage
        if (key_of(*node, from) < key) {
            set(before, from);
            before = &node->after;
            from = node->after;
        } else {
            set(after, from);
            after = &node->before;
            from = node->before;
        }
    }
    set(before, 0);
    set(after, 0);
}

bool run_tree::remove(std::uint32_t page) {
    const page_descriptor& run = pages_.descriptor(page);
    const std::uint64_t key = key_of(run, page);
    position at{&pages_.state().free_run_root, k_no_bound};
    while (*at.link != page) {
        const std::uint32_t above = *at.link;
        const page_descriptor* const node = above == 0 ? nullptr : visit(above, at.bound);
        if (node == nullptr) {
            pages_.note_damage_of_page(page, "a free run is missing from the tree of free runs");
            return false;
        }
        at.link = key < key_of(*node, above) ? &node->before : &node->after;
    }
    if (visit(page, at.bound) == nullptr)
        return false;
    join(at, run);
    format::alloc_state& state = pages_.changing_state();
    --state.free_run_count;
    state.free_pages -= run.count;
    return true;
}

// Joins the two subtrees of a node, in place of the node.
void run_tree::join(position at, const page_descriptor& of) {
    std::uint32_t before = of.before;
    std::uint32_t after = of.after;
    while (before != 0 && after != 0) {
        const bool take_before = run_priority(before) > run_priority(after);
        std::uint32_t& top = take_before ? before : after;
        const page_descriptor* const node = visit(top, at.bound);
        if (node == nullptr)
            return; // the link still leads to the removed node; after damage no link is followed
        set(at.link, top);
        at.link = take_before ? &node->after : &node->before;
        top = *at.link;
    }
    set(at.link, before != 0 ? before : after);
}

} // namespace remanence::alloc
