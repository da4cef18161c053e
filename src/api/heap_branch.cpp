// make_branch() builds the copy as NAME-branch-unfinished-new (store/heap_copy.hpp), renames it to
// NAME-branch-unfinished, brings it to the state of the branch by a commit, closes it, and renames it to NAME.
#include "api/heap_branch.hpp"

#include "api/whole_heap.hpp"
#include "inspect/last_commit.hpp"
#include "recover/history_of_heap.hpp"
#include "store/heap_copy.hpp"
#include "txn/engine.hpp"

#include <memory>
#include <new>
#include <utility>

namespace remanence::detail {

namespace {

constexpr std::uint64_t k_attempts_to_copy = 100;

struct made_copy {
    std::string abi;          // of the program that wrote the heap
    bool has_history = false; // whether the original has a history, which is not copied
    history::delta way;       // leads from the copy to the state of the branch
};

result<made_copy> copy(os::file_system& files, const shown_commit& show, const std::string& to) {
    std::unique_ptr<store::copy_in_progress> copy;
    made_copy made;
    auto way = show([&](inspect::inspection& now) -> result<void> {
        made.abi = now.store().abi();
        auto recorded = now.store().history();
        if (!recorded)
            return recorded.error();
        made.has_history = recorded->has_value();
        return store::update_copy(copy, now.store(), files, to);
    });
    if (!way)
        return way.error();
    made.way = std::move(*way);
    REM_TRY(copy->finish(store::existing::refused));
    return made;
}

result<void> let_become(os::file_system& files, const std::string& path, const std::string& abi,
                        const history::delta& way) {
    txn::engine_options options;
    options.reserve_bytes = 64 * MiB; // more if the heap needs it
    options.when_taken = txn::when_base_taken::elsewhere;
    auto engine = txn::engine::open(files, path, txn::open_mode::open_existing, options, abi);
    if (!engine)
        return engine.error();
    if (!way.is_empty())
        REM_TRY((*engine)->become(way));
    return (*engine)->close();
}

} // namespace

result<void> make_branch(os::file_system& files, const std::string& from, const history::delta& way,
                         const std::string& path) {
    return make_branch(
        files,
        [&](const copying& copy) -> result<history::delta> {
            auto heap = inspect::with_last_commit(files, from, k_attempts_to_copy, {}, copy);
            if (!heap)
                return heap.error();
            if (!(*heap)->problems().empty())
                return unexpected((*heap)->problems().front());
            return way;
        },
        path);
}

result<void> make_branch(os::file_system& files, const shown_commit& show, const std::string& path) {
    return make_whole_heap(files, path, "-branch-unfinished", [&](const std::string& building) -> result<void> {
        auto copied = copy(files, show, building);
        if (!copied)
            return copied.error();
        if (copied->has_history)
            REM_TRY(recover::change_history(files, building, {}));
        return let_become(files, building, copied->abi, copied->way);
    });
}

} // namespace remanence::detail
