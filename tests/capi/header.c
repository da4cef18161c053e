/* The header alone, as the first and only one of a file: compiled by several compilers, as C99 and as C++. */
#include <remanence/remanence.h>

struct account {
    long balance;
};

struct account* first_of(rem_heap* heap);
struct account* first_of(rem_heap* heap) { return REM_ROOT_GET(heap, "first", struct account); }

rem_status keep(rem_heap* heap, const struct account* first);
rem_status keep(rem_heap* heap, const struct account* first) {
    return REM_ROOT_SET(heap, "first", first, struct account);
}

rem_status open_by_default(rem_heap** heap);
rem_status open_by_default(rem_heap** heap) {
    rem_options options = {sizeof(rem_options), REM_SNAPSHOT, REM_LAZY};
    return rem_open("a.rem", &options, heap);
}
