/* What calls of softpm.h take: costs COMMAND. Compiled with remcc.
     points PAGES     microseconds of the processor of a point after PAGES pages were written, and of a plain heap's commit after the same; neither waits
                      for anything (medians)
     stop THREADS [1] microseconds of a point that has nothing to keep, beside so many running threads, and without them (medians); 1: threads that wait most
                      of the time, as those of servers do
     fill MIB         makes a tree of so many MiB, and takes a point
     open [1]         milliseconds of its restore, and of the processor's; looks whether all of it is there; takes a point */
#include <pthread.h>
#include <remanence/remanence.h>
#include <softpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { k_rounds = 400, k_stops = 100, k_page = 4096, k_pages = 20000, k_threads_max = 16 };

static void fail(const char* what) {
    fprintf(stderr, "costs: %s: %s\n", what, pStatus());
    exit(1);
}

static double seconds(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}
static double now(void) { return seconds(CLOCK_MONOTONIC); }
/* Of the processor, by this thread: other programs on the machine disturb it less. */
static double used(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }

static int compare(const void* left, const void* right) {
    const double a = *(const double*)left, b = *(const double*)right;
    return (a > b) - (a < b);
}

static double median(double* values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare);
    return values[count / 2];
}

static struct state {
    char** pages;
    struct node* root;
    long nodes;
}* state;

/* Eight words of each page, pointers all. */
static void write_pages(char** pages, int count, int round) {
    for (int i = 0; i < count; ++i) {
        const unsigned at = ((unsigned)round * 7919U + (unsigned)i * 104729U) % k_pages;
        for (int word = 0; word < 8; ++word)
            ((char**)(void*)pages[at])[word * 60] = pages[(at + (unsigned)round) % k_pages];
    }
}

static int open_container(void) {
    const struct cattr how = {.durability = P_NONE};
    pCSetAttr(0, &how);
    const int id = pCAlloc(1, sizeof *state, (void**)&state);
    if (id < 0)
        fail("pCAlloc");
    return id;
}

static void points(int dirty) {
    static double ours[k_rounds], plain[k_rounds];
    rem_heap* heap;
    const rem_options how = {.size = sizeof how, .kind = REM_SNAPSHOT};
    if (rem_open("plain.rem", &how, &heap) != REM_OK)
        fail("rem_open");
    char** const pages = malloc(k_pages * sizeof *pages);
    char* const block = rem_alloc(heap, (size_t)k_pages * k_page + k_page);
    for (long i = 0; i < k_pages; ++i)
        pages[i] = block + i * k_page;
    const int id = open_container();
    state->pages = malloc(k_pages * sizeof *state->pages);
    char* const memory = calloc(k_pages, k_page);
    for (long i = 0; i < k_pages; ++i)
        state->pages[i] = memory + i * k_page;
    write_pages(pages, k_pages, 0);
    write_pages(state->pages, k_pages, 0);
    if (pPoint(id) != 0 || pSync(id) != 0 || rem_commit(heap, REM_DURABLE) != REM_OK)
        fail("first");
    for (int i = 0; i < k_rounds; ++i) {
        write_pages(state->pages, dirty, i + 1);
        double begin = used();
        if (pPoint(id) != 0)
            fail("pPoint");
        ours[i] = (used() - begin) * 1e6;
        write_pages(pages, dirty, i + 1);
        begin = used();
        if (rem_commit(heap, REM_NONE) != REM_OK)
            fail("rem_commit");
        plain[i] = (used() - begin) * 1e6;
    }
    printf("%.1f %.1f\n", median(ours, k_rounds), median(plain, k_rounds));
    rem_close(heap);
}

static volatile int is_over, rests;
static void* turn(void* argument) {
    static volatile unsigned long sums[k_threads_max * 8];
    const struct timespec rest = {0, 200000};
    while (!is_over)
        if (++sums[(unsigned long)argument * 8] != 0 && rests)
            nanosleep(&rest, NULL);
    return NULL;
}

static void stop(int threads) {
    static double alone[k_stops], beside[k_stops];
    const int id = open_container();
    for (int i = 0; i < k_stops; ++i) {
        const double begin = now();
        pPoint(id);
        alone[i] = (now() - begin) * 1e6;
    }
    pthread_t all[k_threads_max];
    for (long i = 0; i < threads; ++i)
        pthread_create(&all[i], NULL, turn, (void*)i);
    for (int i = 0; i < k_stops; ++i) {
        const struct timespec rest = {0, 2000000};
        nanosleep(&rest, NULL);
        const double begin = now();
        if (pPoint(id) != 0)
            fail("pPoint");
        beside[i] = (now() - begin) * 1e6;
    }
    is_over = 1;
    for (int i = 0; i < threads; ++i)
        pthread_join(all[i], NULL);
    printf("%.1f %.1f\n", median(beside, k_stops), median(alone, k_stops));
}

struct node {
    struct node *left, *right;
    long number;
    const char* name; /* in one of a hundred, which lie together: a constant of the program */
    char padding[32];
};

static struct node* build(long low, long high) {
    if (low >= high)
        return NULL;
    struct node* const made = calloc(1, sizeof *made);
    made->number = low + (high - low) / 2;
    made->name = made->number % 10000 < 100 ? "a constant" : NULL;
    made->left = build(low, made->number);
    made->right = build(made->number + 1, high);
    ++state->nodes;
    return made;
}

static long count_of(const struct node* of, long low, long high) {
    if (of == NULL)
        return 0;
    if (of->number < low || of->number >= high || (of->number % 10000 < 100) != (of->name != NULL) ||
        (of->name != NULL && strcmp(of->name, "a constant") != 0))
        fail("the tree is not what it was");
    return 1 + count_of(of->left, low, of->number) + count_of(of->right, of->number + 1, high);
}

int main(int count, char** arguments) {
    if (count < 2)
        return 1;
    const long number = count > 2 ? atol(arguments[2]) : 0;
    if (strcmp(arguments[1], "points") == 0) {
        points((int)number);
    } else if (strcmp(arguments[1], "stop") == 0) {
        rests = count > 3;
        stop((int)number);
    } else if (strcmp(arguments[1], "fill") == 0) {
        const int id = open_container();
        state->root = build(0, number * (1 << 20) / (long)sizeof(struct node));
        if (pPoint(id) != 0 || pCFree(id) != 0) /* so that the next process need not replay a log */
            fail("pPoint");
    } else {
        const double begin = now(), used_before = used();
        const int id = pCRestoreAs(1, &state);
        const double took = now() - begin, used_by_it = used() - used_before;
        if (id < 0)
            fail("pCRestore");
        const long found = count_of(state->root, 0, state->nodes);
        printf("%.3f %.3f %p\n", took * 1e3, used_by_it * 1e3, (void*)state);
        if (found != state->nodes)
            fail("nodes are missing");
        if (number != 0 && (pPoint(id) != 0 || pCFree(id) != 0)) /* keeps what the restore found out */
            fail("pPoint");
    }
    return 0;
}
