#include "txn/opening_steps.hpp"

#include "recover/history_of_heap.hpp"
#include "recover/recovery.hpp"
#include "txn/name_file.hpp"
#include "txn/undo_manager.hpp"

#include <algorithm>
#include <utility>

namespace remanence::txn {

unexpected cannot_map(const std::string& path, const failure& why) { return name_file("cannot map ", path, why); }

result<os::reservation> place_of_new(const open_request& request) {
    const engine_options& options = request.options;
    auto taken = options.base != 0 ? os::reservation::at(options.base, options.reserve_bytes)
                                   : os::reservation::at_random(options.reserve_bytes);
    if (!taken)
        return cannot_map(request.path, taken.why());
    return taken;
}

store::creation creation_at(const os::reservation& place, const open_request& request) {
    const engine_options& options = request.options;
    return {options.chunk_bytes, reinterpret_cast<std::uint64_t>(place.base()),
            request.abi,         options.mode,
            options.application, options.aligned_blocks,
            options.red_zones};
}

result<void> check_is_ours(const store::heap_file& store, const open_request& request) {
    REM_TRY(store.check_application(request.options.application, store::unstated::refused));
    if (store.abi() == request.abi)
        return {};
    return fail(errc::abi_mismatch,
                store.path() + " was written with the ABI \"" + std::string(store.abi()) + "\", this program has \"" +
                    std::string(request.abi) + "\". Build it with the same standard library and debug modes.",
                store.path());
}

result<void> recover(os::file_system& files, opened_heap& heap, const open_request& request) {
    const engine_options& options = request.options;
    const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        if (options.on_progress)
            options.on_progress(engine_options::work::recovery, done, total);
    };
    auto recovered = recover::recover(files, *heap.store, progress,
                                      options.has.history != nullptr ? options.has.history->keep_records : nullptr);
    if (!recovered)
        return recovered.error();
    heap.recovered = std::move(*recovered);
    return {};
}

result<void> place_log(opened_heap& heap, const open_request& request) {
    os::file_system& files = request.files;
    store::heap_file& store = *heap.store;
    const std::optional<std::string>& wanted = request.options.log_directory;
    if (wanted && *wanted != store.where_log_lies().directory()) {
        // Without this sync, the log that was removed from the old directory might exist again after a power loss, and
        // no recovery would look there. If the directory no longer exists, there is nothing to sync.
        auto left = files.sync_directory("log: sync directory that it leaves", store.log_path());
        if (!left && left.why().code != errc::not_found)
            return left;
        REM_TRY(store.move_log(*wanted));
    }
    const std::string& directory = store.where_log_lies().directory();
    if (directory.empty())
        return {};
    auto is_there = files.has_directory(directory);
    if (!is_there || *is_there)
        return is_there ? result<void>() : is_there.error();
    return fail(errc::not_found,
                "the redo log of " + store.path() + " belongs in " + directory +
                    ", which does not exist. Mount its device; or, since the heap was closed and has all its commits, "
                    "open it with another log_directory (empty: the log lies beside the heap).",
                directory);
}

result<void> settle_history(opened_heap& heap, const open_request& request) {
    auto settled = recover::settle_history(request.files, *heap.store,
                                           request.options.history_kept ? request.options.history : std::nullopt);
    if (!settled)
        return settled.error();
    heap.history = *settled;
    return {};
}

result<void> reserve_place(opened_heap& heap, const open_request& request) {
    const engine_options& options = request.options;
    const std::uint64_t base = heap.store->super().base;
    const std::uint64_t image_bytes = heap.store->image().bytes();
    const std::uint64_t bytes = std::max(options.reserve_bytes, image_bytes);
    const auto take = [&](std::uint64_t wanted) {
        return options.when_taken == when_base_taken::elsewhere ? os::reservation::at_or_elsewhere(base, wanted)
                                                                : os::reservation::at(base, wanted);
    };
    auto taken = take(bytes);
    if (!taken)
        taken = take(image_bytes + heap.store->image().chunk_bytes()); // a smaller range will do
    if (!taken && taken.why().code == errc::base_taken && options.when_taken == when_base_taken::look_elsewhere) {
        if (auto other = os::reservation::elsewhere(bytes)) {
            heap.why_elsewhere = cannot_map(heap.store->path(), taken.why()).why();
            taken = std::move(other);
        }
    }
    if (!taken)
        return cannot_map(heap.store->path(), taken.why());
    heap.place = std::move(*taken);
    return {};
}

} // namespace remanence::txn
