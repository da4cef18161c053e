/* BSD's list and tail queue: list STEPS. Does so many steps by chance, and prints what there is in the end. Compiled with -DKEPT it goes on where it was killed. */
#include <stdio.h>
#include <stdlib.h>
#include <bsd/sys/queue.h>
#ifdef KEPT
#include <softpm.h>
#endif

struct job {
    TAILQ_ENTRY(job) all;
    LIST_ENTRY(job) same;
    long number;
    unsigned kind;
};

enum { k_kinds = 7 };

static struct {
    long steps;
    unsigned random;
    TAILQ_HEAD(jobs, job) jobs;
    LIST_HEAD(, job) kinds[k_kinds];
    long count;
    struct job* next;
}* state;

static unsigned pick(unsigned below) {
    state->random = state->random * 1103515245u + 12345u;
    return (state->random >> 8) % below;
}

static void add(long number) {
    struct job* const made = malloc(sizeof *made);
    made->number = number;
    made->kind = pick(k_kinds);
    if (made->kind == 0)
        TAILQ_INSERT_HEAD(&state->jobs, made, all);
    else
        TAILQ_INSERT_TAIL(&state->jobs, made, all);
    LIST_INSERT_HEAD(&state->kinds[made->kind], made, same);
    ++state->count;
    if (state->next == NULL) state->next = made;
}

static void finish(struct job* job) {
    if (state->next == job) state->next = TAILQ_NEXT(job, all);
    TAILQ_REMOVE(&state->jobs, job, all);
    LIST_REMOVE(job, same);
    free(job);
    --state->count;
}

static void put_off(struct job* job) {
    if (state->next == job) state->next = TAILQ_NEXT(job, all);
    TAILQ_REMOVE(&state->jobs, job, all);
    TAILQ_INSERT_TAIL(&state->jobs, job, all);
}

static void step(void) {
    const int is_shrinking = state->steps / 3000 % 2;
    struct job* const first = LIST_FIRST(&state->kinds[pick(k_kinds)]);
    if (state->count == 0 || first == NULL || pick(10) < (is_shrinking ? 3u : 5u))
        add(state->steps);
    else if (pick(2) == 0)
        put_off(first);
    else
        finish(first);
    if (state->next != NULL && pick(3) == 0) state->next = TAILQ_NEXT(state->next, all);
}

static void print(void) {
    const struct job* each;
    TAILQ_FOREACH(each, &state->jobs, all) printf("%ld/%u ", each->number, each->kind);
    puts("");
    for (int i = 0; i < k_kinds; ++i)
        LIST_FOREACH(each, &state->kinds[i], same) printf("%d: %ld\n", i, each->number);
    printf("%ld jobs, next %ld\n", state->count, state->next == NULL ? -1 : state->next->number);
}

int main(int count, char** arguments) {
    const long steps = count > 1 ? atol(arguments[1]) : 1000;
#ifdef KEPT
    int id = pCRestoreAs(1, &state);
    if (id < 0 && (id = pCAlloc(1, sizeof *state, (void**)&state)) < 0) return puts(pStatus()), 1;
#else
    state = calloc(1, sizeof *state);
#endif
    if (state->steps == 0) TAILQ_INIT(&state->jobs);
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
