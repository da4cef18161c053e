// Apart from history_of_heap.cpp, so that programs without a history do not have that part for this.
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
    if (!recorded && (most || !is_damage(recorded.why().code))) // what cannot be read may be ended
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
    // The file goes first: without it the heap has a history that begins anew, but with it and no word of it in the heap it were refused.
    if (*file)
        REM_TRY(history::remove_history(files, beside, **file));
    return is_recorded ? (*store)->record_history({}) : result<void>();
}

} // namespace remanence::recover
