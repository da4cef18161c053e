// A separate file, so that only programs with virtual functions in heaps contain it.
#include "txn/vptr_settler.hpp"

#include "txn/committer.hpp"
#include "view/memory_view.hpp"

#include <algorithm>
#include <vector>

namespace remanence::txn {

// What was spilled is read again, since the spill stored the vptrs of that moment. The tracker is asked again for what is
// written here: otherwise these pages would count as written after the commit.
result<change::commit_scope> gather_and_settle(vptr_settler& by, committer& of, view::memory_view& view) {
    auto scope = of.gather(change::commit_scope::everything);
    if (!scope)
        return scope;
    std::vector<heap_range> all = view.written().ranges();
    for (const std::uint64_t chunk : view.spiller().spilled().chunks()) {
        const heap_range spilled = view.memory().range_of(chunk);
        all.push_back({spilled.offset, std::min(spilled.end(), view.memory().accessible_bytes()) - spilled.offset});
    }
    bool has_written = false;
    for (const heap_range& each : all) {
        auto written = by.settle(each);
        if (!written)
            return written.error();
        has_written = has_written || *written;
    }
    if (has_written)
        REM_TRY(view.collector().gather());
    return scope;
}

} // namespace remanence::txn
