/* An array of pointers that grows and shrinks: array STEPS. Does so many steps by chance, and prints what there is in the end. Compiled with -DKEPT it goes on where it was killed. */
#include <stdio.h>
#include <stdlib.h>
#ifdef KEPT
#include <softpm.h>
#endif

struct reading {
    long number;
    double value;
};

static struct {
    long steps;
    unsigned random;
    struct reading** all;
    size_t used, room;
    struct reading* latest;
}* state;

static unsigned pick(unsigned below) {
    state->random = state->random * 1103515245u + 12345u;
    return (state->random >> 8) % below;
}

static void append(long number) {
    if (state->used == state->room) {
        state->room = state->room == 0 ? 16 : state->room * 2;
        state->all = realloc(state->all, state->room * sizeof *state->all);
    }
    struct reading* const made = malloc(sizeof *made);
    *made = (struct reading){number, number / 4.0};
    state->all[state->used++] = made;
    state->latest = made;
}

static void remove_at(size_t place) {
    struct reading* const gone = state->all[place];
    state->all[place] = state->all[--state->used];
    if (state->latest == gone) state->latest = state->used == 0 ? NULL : state->all[state->used - 1];
    free(gone);
    if (state->used * 4 < state->room && state->room > 16) {
        state->room /= 2;
        state->all = realloc(state->all, state->room * sizeof *state->all);
    }
}

static void swap(size_t left, size_t right) {
    struct reading* const kept = state->all[left];
    state->all[left] = state->all[right];
    state->all[right] = kept;
}

static void step(void) {
    const int is_shrinking = state->steps / 3000 % 2;
    if (state->used == 0 || pick(10) < (is_shrinking ? 4u : 6u))
        append(state->steps);
    else
        remove_at(pick((unsigned)state->used));
    if (state->used > 1) swap(pick((unsigned)state->used), pick((unsigned)state->used));
}

static void print(void) {
    for (size_t i = 0; i < state->used; ++i) printf("%ld %.2f\n", state->all[i]->number, state->all[i]->value);
    if (state->latest != NULL) printf("latest %ld\n", state->latest->number);
}

int main(int count, char** arguments) {
    const long steps = count > 1 ? atol(arguments[1]) : 1000;
#ifdef KEPT
    int id = pCRestoreAs(1, &state);
    if (id < 0 && (id = pCAlloc(1, sizeof *state, (void**)&state)) < 0) return puts(pStatus()), 1;
#else
    state = calloc(1, sizeof *state);
#endif
    while (state->steps < steps) {
        step();
        ++state->steps;
#ifdef KEPT
        if (state->steps % 100 == 0 && pPoint(id) != 0) return puts(pStatus()), 1;
#endif
    }
    print();
    return 0;
}
