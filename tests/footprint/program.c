/* A C program with a transactional heap: what most have, and no more. */
#include <remanence/remanence.h>

#include <stdio.h>

struct account {
    long balance;
};

int main(void) {
    rem_heap* heap;
    const rem_options options = {.size = sizeof options, .kind = REM_TRANSACTIONAL};
    if (rem_open("accounts.rem", &options, &heap) != REM_OK) {
        fprintf(stderr, "%s\n", rem_last_error()->message);
        return 1;
    }
    rem_write_begin(heap);
    struct account* first = REM_ROOT_GET(heap, "first", struct account);
    if (first == NULL) {
        first = rem_calloc(heap, 1, sizeof *first);
        REM_ROOT_SET(heap, "first", first, struct account);
    }
    first->balance += 5;
    rem_write_end(heap);
    printf("%ld\n", first->balance);
    return rem_close(heap) != REM_OK;
}
