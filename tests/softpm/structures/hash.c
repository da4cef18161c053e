/* A hash table that grows, of BSD's singly linked lists: hash STEPS. Does so many steps by chance, and prints what there is in the end. Compiled with -DKEPT it goes on where it was killed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bsd/sys/queue.h>
#ifdef KEPT
#include <softpm.h>
#endif

struct word {
    SLIST_ENTRY(word) next;
    char* text;
    long count;
    struct word* before; /* that was counted */
};
SLIST_HEAD(bucket, word);

static struct {
    long steps;
    unsigned random;
    struct bucket* buckets;
    unsigned size, used;
    struct word* latest;
}* state;

static unsigned pick(unsigned below) {
    state->random = state->random * 1103515245u + 12345u;
    return (state->random >> 8) % below;
}

static unsigned hash(const char* text) {
    unsigned value = 2166136261u;
    while (*text != 0) value = (value ^ (unsigned char)*text++) * 16777619u;
    return value;
}

static struct bucket* bucket_of(const char* text) { return &state->buckets[hash(text) % state->size]; }

static void resize(unsigned size) {
    struct bucket* const old = state->buckets;
    const unsigned old_size = state->size;
    state->buckets = calloc(size, sizeof *old);
    state->size = size;
    for (unsigned i = 0; i < old_size; ++i)
        while (!SLIST_EMPTY(&old[i])) {
            struct word* const each = SLIST_FIRST(&old[i]);
            SLIST_REMOVE_HEAD(&old[i], next);
            SLIST_INSERT_HEAD(bucket_of(each->text), each, next);
        }
    free(old);
}

static void count_word(const char* text) {
    struct word* each;
    SLIST_FOREACH(each, bucket_of(text), next)
        if (strcmp(each->text, text) == 0) break;
    if (each == NULL) {
        each = calloc(1, sizeof *each);
        each->text = strdup(text);
        if (++state->used > state->size) resize(state->size * 2);
        SLIST_INSERT_HEAD(bucket_of(text), each, next);
    }
    ++each->count;
    if (each != state->latest) each->before = state->latest;
    state->latest = each;
}

static void step(void) {
    char text[24];
    snprintf(text, sizeof text, "%s%u", pick(2) ? "word" : "another ", pick(2000) * pick(3));
    count_word(text);
}

static void print(void) {
    for (unsigned i = 0; i < state->size; ++i) {
        const struct word* each;
        SLIST_FOREACH(each, &state->buckets[i], next)
            printf("%s %ld after %s\n", each->text, each->count, each->before == NULL ? "none" : each->before->text);
    }
    printf("%u words, the latest is %s\n", state->used, state->latest->text);
}

int main(int count, char** arguments) {
    const long steps = count > 1 ? atol(arguments[1]) : 1000;
#ifdef KEPT
    int id = pCRestoreAs(1, &state);
    if (id < 0 && (id = pCAlloc(1, sizeof *state, (void**)&state)) < 0) return puts(pStatus()), 1;
#else
    state = calloc(1, sizeof *state);
#endif
    if (state->size == 0) resize(8);
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
