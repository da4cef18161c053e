/* A program in C, as its author writes it: two runs of it, one after the other, are one heap. */
#include <remanence/remanence.h>

#include <stdio.h>

int main(void) {
    rem_heap* heap;
    remove("consumer.rem");
    for (int run = 1; run <= 2; ++run) {
        if (rem_open("consumer.rem", NULL, &heap) != REM_OK) {
            fprintf(stderr, "%s\n", rem_last_error()->message);
            return 1;
        }
        rem_write_begin(heap);
        int* runs = REM_ROOT_GET(heap, "runs", int);
        if (runs == NULL) {
            runs = rem_calloc(heap, 1, sizeof *runs);
            REM_ROOT_SET(heap, "runs", runs, int);
        }
        if (++*runs != run || rem_write_end(heap) != REM_OK || rem_close(heap) != REM_OK)
            return 1;
    }
    return 0;
}
