// A separate file, so that programs without a history do not link what this function needs from history_of_heap.cpp.
#include "history/name_of_history.hpp"
#include "recover/history_of_heap.hpp"
#include "recover/recovery.hpp"
#include "store/heap_creation.hpp"

namespace remanence::recover {

result<void> change_history(os::file_system& files, const std::string& path,
                            const std::optional<history::limits>& most) {
    auto store = store::heap_file::open(files, path, os::access::read_write);
    if (!store)
        return store.error();
    const std::string beside = store::history_path(path);
    auto recorded = (*store)->history();
    if (!recorded && (most || !is_damage(recorded.why().code))) // a history that cannot be read may still be ended
        return recorded.error();
    const bool is_recorded = !recorded || recorded->has_value();
    auto file = history::find_history(files, beside, (*store)->super().uuid, os::access::read_write);
    if (!file)
        return file.error();
    if (!is_recorded && !*file)
        return fail(errc::no_step,
                    path + " has no history that is kept over sessions. A program begins one by "
                           "heap_options{.history = {.kept_over_sessions = true}}.",
                    path);
    auto recovered = recover::recover(files, **store, {}, keep_history);
    if (!recovered)
        return recovered.error();
    if (most)
        return (*store)->record_history(history::written(*most));
    // The file is removed first: if this is interrupted, the heap still records a history and begins a new file. A file
    // without a record in the heap would be refused instead.
    if (*file)
        REM_TRY(history::remove_history(files, beside, **file));
    return is_recorded ? (*store)->record_history({}) : result<void>();
}

} // namespace remanence::recover
