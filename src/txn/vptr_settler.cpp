// A separate file, so that only programs with virtual functions in heaps contain it.
#include "txn/vptr_settler.hpp"

#include "base/range_list.hpp"
#include "base/units.hpp"
#include "txn/committer.hpp"
#include "view/memory_view.hpp"

#include <algorithm>
#include <vector>

namespace remanence::txn {

// What was spilled is read again, since the spill stored the vptrs of that moment. The tracker need not be asked again:
// all that is written here is among the gathered pages, or is added to them.
result<change::commit_scope> gather_and_settle(vptr_settler& by, committer& of, view::memory_view& view) {
    auto scope = of.gather(change::commit_scope::everything);
    if (!scope)
        return scope;
    std::vector<heap_range> more;
    const auto add = [&](heap_range where) {
        const std::uint64_t first = align_down(where.offset, k_page_bytes);
        if (where.bytes != 0)
            more.push_back({first, align_up(where.end(), k_page_bytes) - first});
    };
    for (const heap_range& each : view.written().ranges()) {
        auto done = by.settle(each);
        if (!done)
            return done.error();
        add(done->elsewhere);
    }
    for (const std::uint64_t chunk : view.spiller().spilled().chunks()) {
        const heap_range all = view.memory().range_of(chunk);
        auto done = by.settle({all.offset, std::min(all.end(), view.memory().accessible_bytes()) - all.offset});
        if (!done)
            return done.error();
        add(done->elsewhere);
        if (done->words != 0)
            add(all);
    }
    if (!more.empty()) {
        sort_and_merge(more);
        view.written().gather_again(more);
    }
    return scope;
}

} // namespace remanence::txn
