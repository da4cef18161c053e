#include "copied_store.hpp"

#include "engine_store.hpp"
#include "inspect/inspection.hpp"
#include "store/heap_copy.hpp"

#include <algorithm>

namespace remanence::crash {

namespace {

constexpr std::uint64_t k_block_bytes = 150 * KiB;

/// As of its first commit, or of its second.
result<void> make_source(os::file_system& files, const std::string& path, const open_function& open,
                         std::uint64_t version) {
    auto source = open(files, path);
    if (!source)
        return source.error();
    while ((*source)->version() < version) {
        auto* block = static_cast<std::byte*>((*source)->allocate(k_block_bytes));
        std::fill_n(block, k_block_bytes, std::byte{0x5a});
        REM_TRY((*source)->commit(log::durability::durable));
    }
    return (*source)->close();
}

} // namespace

result<void> copy_heap(os::file_system& files, const std::string& from, const std::string& to,
                       remanence::store::existing there) {
    auto heap = inspect::inspection::open(files, from, {});
    if (!heap)
        return heap.error();
    auto begin = [&] { return remanence::store::copy_in_progress::begin(files, to, 0600); };
    auto copy = begin();
    if (!copy && copy.why().message.find("when it was complete") != std::string::npos) { // it says to remove it
        const std::string name = remanence::store::new_path(to);
        auto complete = files.open(name, os::access::read_only);
        if (!complete)
            return complete.error();
        REM_TRY(files.remove("test: remove complete copy", name, **complete));
        copy = begin();
    }
    if (!copy)
        return copy.error();
    REM_TRY((*copy)->update((*heap)->store(), {}));
    return (*copy)->finish(there);
}

open_function copied_engine(const txn::engine_options& options) {
    return [open = engine(options)](os::file_system& files, const std::string& path) -> result<std::unique_ptr<store>> {
        if (!*files.exists(path)) {
            REM_TRY(make_source(files, path + "-source", open, 1));
            REM_TRY(copy_heap(files, path + "-source", path));
        }
        auto opened = open(files, path);
        if (opened && (*opened)->version() == 0)
            return fail(errc::corrupt, "the copy lacks the commit of its source", path);
        if (opened)
            (*opened)->expect_other_blocks();
        return opened;
    };
}

open_function replaced_engine(const txn::engine_options& options) {
    return [first = copied_engine(options),
            open = engine(options)](os::file_system& files, const std::string& path) -> result<std::unique_ptr<store>> {
        auto opened = first(files, path);
        if (!opened || (*opened)->version() > 1)
            return opened;
        REM_TRY((*opened)->close());
        opened->reset();
        REM_TRY(make_source(files, path + "-source", open, 2));
        REM_TRY(copy_heap(files, path + "-source", path, remanence::store::existing::replaced));
        opened = open(files, path);
        if (opened && (*opened)->version() == 1)
            return fail(errc::corrupt, "the copy over another lacks a commit of its source", path);
        if (opened)
            (*opened)->expect_other_blocks();
        return opened;
    };
}

} // namespace remanence::crash
