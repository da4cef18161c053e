#include "copied_store.hpp"

#include "engine_store.hpp"
#include "store/heap_copy.hpp"
#include "txn/inspection.hpp"

#include <algorithm>

namespace remanence::crash {

namespace {

constexpr std::uint64_t k_block_bytes = 150 * KiB;

result<void> make_source(os::file_system& files, const std::string& path, const open_function& open) {
    auto source = open(files, path);
    if (!source)
        return source.error();
    if ((*source)->version() == 0) {
        std::fill_n(static_cast<std::byte*>((*source)->allocate(k_block_bytes)), k_block_bytes, std::byte{0x5a});
        REM_TRY((*source)->commit(log::durability::durable));
    }
    return (*source)->close();
}

} // namespace

result<std::unique_ptr<os::file>> copy_heap_to_new(os::file_system& files, const std::string& from,
                                                   const std::string& to) {
    auto heap = txn::inspection::open(files, from, {});
    if (!heap)
        return heap.error();
    auto file = remanence::store::copy_to_new((*heap)->store(), files, to, {});
    if (!file && file.why().message.find("when it was complete") != std::string::npos) { // it says to remove it
        REM_TRY(files.remove("test: remove complete copy", remanence::store::new_path(to)));
        file = remanence::store::copy_to_new((*heap)->store(), files, to, {});
    }
    return file;
}

result<void> copy_heap(os::file_system& files, const std::string& from, const std::string& to) {
    auto file = copy_heap_to_new(files, from, to);
    if (!file)
        return file.error();
    REM_TRY(files.rename_to_new("rem: rename copy", remanence::store::new_path(to), to));
    return files.sync_directory("rem: sync directory of copy", to);
}

open_function copied_engine(const txn::engine_options& options) {
    return [open = engine(options)](os::file_system& files, const std::string& path) -> result<std::unique_ptr<store>> {
        if (!*files.exists(path)) {
            REM_TRY(make_source(files, path + "-source", open));
            REM_TRY(copy_heap(files, path + "-source", path));
        }
        auto opened = open(files, path);
        if (opened && (*opened)->version() == 0)
            return fail(errc::corrupt, "the copy lacks the commit of its source", path);
        return opened;
    };
}

} // namespace remanence::crash
