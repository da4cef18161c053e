#include "recover/history_of_heap.hpp"

#include "history/name_of_history.hpp"
#include "store/heap_creation.hpp"

namespace remanence::recover {

namespace {

unexpected lacks(const store::heap_file& store, const std::string& what) {
    return fail(errc::not_supported,
                "cannot write to " + store.path() + ": " + what +
                    " Name it where the program opens the heap: heap_options{.history = {.kept_over_sessions = true}}, "
                    "in C rem_open_with_history(). Or open the heap read-only. Or end the history: rem history --end " +
                    store.path(),
                store.path());
}

} // namespace

result<void> check_history_part(store::heap_file& store, bool has_part) {
    if (has_part)
        return {};
    auto recorded = store.history();
    if (!recorded)
        return recorded.error();
    return *recorded ? lacks(store, "it has a history that is kept over sessions, and this program lacks that part.")
                     : result<void>();
}

result<std::optional<history::limits>> settle_history(os::file_system& files, store::heap_file& store,
                                                      const std::optional<history::limits>& given) {
    auto recorded = store.history();
    if (!recorded)
        return recorded.error();
    if (*recorded)
        return history::read_limits(**recorded);
    const std::string beside = store::history_path(store.path());
    if (given) {
        REM_TRY(store.record_history(history::written(*given)));
        return given;
    }
    auto unsaid = history::find_history(files, beside, store.super().uuid, os::access::read_only);
    if (!unsaid)
        return unsaid.error();
    if (*unsaid)
        return lacks(store, beside + " is a history of it that an earlier release kept; the heap does not "
                                     "record it.");
    return std::optional<history::limits>();
}

} // namespace remanence::recover
