/* Adds to the accounts of program.c, and keeps a history of that. */
#include <remanence/remanence.h>

#include <inttypes.h>
#include <stdio.h>

struct account {
    long balance;
};

int main(void) {
    rem_heap* heap;
    uint64_t steps;
    const rem_history_options history = {.size = sizeof history, .steps_max = 10, .kept_over_sessions = true};
    if (rem_open_with_history("accounts.rem", NULL, &history, &heap) != REM_OK) {
        fprintf(stderr, "%s\n", rem_last_error()->message);
        return 1;
    }
    rem_write_begin(heap);
    struct account* first = REM_ROOT_GET(heap, "first", struct account);
    first->balance += 5;
    rem_write_end(heap);
    rem_undo_depth(heap, &steps);
    printf("%" PRIu64 " steps\n", steps);
    return rem_close(heap) != REM_OK;
}
