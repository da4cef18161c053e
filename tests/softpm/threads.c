/* Threads change lists under a lock, and come and go, while another one takes points: threads DIRECTORY POINTS. Each start checks all
   lists first: the sums of both halves of each change are the same. It says when it has taken eight points. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <softpm.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { k_magic = 5, k_threads = 4, k_items = 200 };

struct item {
    struct item* next;
    long value;
    char* text;
};
static struct state {
    struct item* lists[k_threads];
    long sums[k_threads];
    pthread_mutex_t all; /* held by who changes, and by points */
    long points;
}* state;

static atomic_bool is_over;
static long first_point; /* each start draws other numbers */
static void* volatile scratch;

static void change(long which, unsigned* random) {
    struct item** at = &state->lists[which];
    if (rand_r(random) % 3 == 0 && *at != NULL) {
        struct item* gone = *at;
        *at = gone->next;
        state->sums[which] -= gone->value;
        free(gone->text);
        free(gone);
        return;
    }
    struct item* made = malloc(sizeof *made);
    char text[40];
    made->value = rand_r(random) % 1000;
    snprintf(text, sizeof text, "%ld", made->value);
    made->text = strdup(text);
    made->next = *at;
    *at = made;
    state->sums[which] += made->value;
    long count = 0;
    for (struct item* each = *at; each != NULL; each = each->next)
        if (++count == k_items)
            for (struct item *rest = each->next, *next; (each->next = NULL, rest != NULL); rest = next) {
                next = rest->next;
                state->sums[which] -= rest->value;
                free(rest->text);
                free(rest);
            }
}

static void* work(void* argument) {
    const long which = (long)argument;
    const char* const seed = getenv("REMANENCE_SEED");
    unsigned random = (seed != NULL ? (unsigned)atol(seed) : (unsigned)getpid()) + (unsigned)(which + first_point);
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL); /* as threads of servers do */
    while (!is_over) {
        pthread_mutex_lock(&state->all);
        change(which, &random);
        pthread_mutex_unlock(&state->all);
        for (int i = 0; i < 20; ++i) { /* outside of all locks: threads stop anywhere */
            void* block = malloc((size_t)(rand_r(&random) % 5000));
            scratch = block;
            free(block);
        }
    }
    return NULL;
}

static void* come_and_go(void* argument) {
    free(malloc(100));
    return argument;
}

static void* start_others(void* argument) {
    while (!is_over) {
        pthread_t other;
        if (pthread_create(&other, NULL, come_and_go, NULL) == 0)
            pthread_join(other, NULL);
    }
    return argument;
}

static void check(void) {
    for (int i = 0; i < k_threads; ++i) {
        long sum = 0;
        for (const struct item* each = state->lists[i]; each != NULL; each = each->next) {
            if (atol(each->text) != each->value)
                printf("list %d: %s is not %ld\n", i, each->text, each->value), exit(1);
            sum += each->value;
        }
        if (sum != state->sums[i])
            printf("list %d: the sum is %ld, not %ld\n", i, sum, state->sums[i]), exit(1);
    }
}

int main(int count, char** arguments) {
    const struct cattr how = {.directory = arguments[1]};
    pCSetAttr(0, &how);
    int id = pCRestoreAs(k_magic, &state);
    if (id < 0)
        id = pCAlloc(k_magic, sizeof *state, (void**)&state);
    if (id < 0 || count < 3)
        return puts(pStatus()), 1;
    check();
    first_point = state->points;
    printf("consistent after %ld points\n", state->points);
    fflush(stdout);
    pthread_t threads[k_threads + 1];
    for (long i = 0; i < k_threads; ++i)
        pthread_create(&threads[i], NULL, work, (void*)i);
    pthread_create(&threads[k_threads], NULL, start_others, NULL);
    const long wanted = atol(arguments[2]);
    for (long i = 1; i <= wanted; ++i) {
        pthread_mutex_lock(&state->all);
        ++state->points;
        if (pPoint(id) != 0)
            return puts(pStatus()), 1;
        pthread_mutex_unlock(&state->all);
        if (i == 8)
            puts("eight points"), fflush(stdout);
        usleep(500);
    }
    is_over = true;
    for (int i = 0; i <= k_threads; ++i)
        pthread_join(threads[i], NULL);
    printf("%ld points\n", state->points);
    return 0;
}
