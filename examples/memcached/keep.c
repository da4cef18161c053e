/* Keeps memcached's items, hash table, slabs and LRU lists. It is linked with memcached, whose sources are compiled as they are: the linker
   leads calls of the functions below to __wrap_..., and __real_... are memcached's own. The container lies where memcached was started.
     REM_EVERY   milliseconds between points (100) */
#define _GNU_SOURCE
#include "memcached.h"

#include <softpm.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void __real_assoc_init(const int power);
void __real_slabs_init(const size_t limit, const double factor, const bool preallocate, const uint32_t* sizes,
                       void* base, bool reuse);
void __real_memcached_thread_init(int count, void* argument);
void* __real_item_lru_bump_buf_create(void);
int __real_start_assoc_maintenance_thread(void);
int __real_event_base_loop(struct event_base* base, int flags);
void __real_pause_threads(enum pause_thread_types what);

extern char __start_kept_bss[], __stop_kept_bss[], __start_kept_data[], __stop_kept_data[];

static struct {
    time_t begun;
}* root;
static int id;
static bool is_restored;
static atomic_int workers, pauses = 1;
static atomic_int seen[1024]; /* the number of pauses when a worker last asked for events */
static _Thread_local int place = -1;

static void fail(void) {
    fprintf(stderr, "keep: %s\n", pStatus());
    exit(1);
}

static void keep(void* variable, size_t bytes) {
    if (pGlobal(id, variable, bytes) != 0)
        fail();
}

/* The first of memcached's calls that allocates what is kept. */
void __wrap_assoc_init(const int power) {
    id = pCRestoreAs(1, &root);
    is_restored = id > 0;
    if (!is_restored && (id = pCAlloc(1, sizeof *root, (void**)&root)) < 0)
        fail();
    const struct stats_state fresh = stats_state;
    keep(__start_kept_bss, (size_t)(__stop_kept_bss - __start_kept_bss));
    keep(__start_kept_data, (size_t)(__stop_kept_data - __start_kept_data));
    keep(&stats, sizeof stats);
    keep(&stats_state, sizeof stats_state);
    keep(&process_started, sizeof process_started);
    if (!is_restored) {
        root->begun = time(NULL);
        __real_assoc_init(power);
        return;
    }
    stats_state.curr_conns = fresh.curr_conns; /* these are the process's */
    stats_state.conn_structs = fresh.conn_structs;
    stats_state.reserved_fds = fresh.reserved_fds;
    stats_state.log_watchers = fresh.log_watchers;
    stats_state.accepting_conns = fresh.accepting_conns;
}

void __wrap_slabs_init(const size_t limit, const double factor, const bool preallocate, const uint32_t* sizes,
                       void* base, bool reuse) {
    if (!is_restored)
        __real_slabs_init(limit, factor, preallocate, sizes, base, reuse);
}

/* A worker's own. It is in a list, but ends with the process. */
void* __wrap_item_lru_bump_buf_create(void) {
    void* const made = __real_item_lru_bump_buf_create();
    if (made != NULL && pExclude(id, made) != 0)
        fail();
    return made;
}

/* memcached tells the age of items by the time since its start: let that be the first one. */
int kept_clock_gettime(clockid_t which, struct timespec* now) {
    static time_t age = -1;
    const int result = clock_gettime(which, now);
    if (age < 0) {
        age = time(NULL) - root->begun;
        now->tv_sec -= age;
    }
    return result;
}

/* All threads of memcached come to a place where they have no work in their hands. */
static int take_point(void) {
    pause_threads(PAUSE_ALL_THREADS);
    const bool is_expanding =
        stats_state.hash_is_expanding; /* by a thread that does not pause, but locks what it moves */
    for (uint32_t i = 0; is_expanding && i < 1U << item_lock_hashpower; ++i)
        item_lock(i);
    const int result = pPoint(id);
    for (uint32_t i = 0; is_expanding && i < 1U << item_lock_hashpower; ++i)
        item_unlock(i);
    pause_threads(RESUME_ALL_THREADS);
    return result;
}

/* memcached pauses its threads seldom. Here they pause often, so that a pause may come before all workers have left the last one, or have begun
   their loops; memcached's own would then wait for ever. So the end of a pause waits until each worker asks for events again. */
int __wrap_event_base_loop(struct event_base* base, int flags) {
    if (gettid() != getpid() && place < 0)
        place = workers++;
    return __real_event_base_loop(base, flags);
}

int epoll_wait(int file, struct epoll_event* events, int most, int milliseconds) { /* libevent calls this one */
    if (place >= 0)
        seen[place] = pauses;
    return (int)syscall(SYS_epoll_pwait, file, events, most, milliseconds, NULL, 0);
}

static void wait_for_workers(void) {
    for (int i = 0; i < settings.num_threads; ++i)
        while (workers <= i || seen[i] != pauses)
            usleep(100);
}

void __wrap_pause_threads(enum pause_thread_types what) {
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    if (what == PAUSE_ALL_THREADS || what == PAUSE_WORKER_THREADS) {
        pthread_mutex_lock(&one_at_a_time);
        __real_pause_threads(what);
        return;
    }
    ++pauses;
    __real_pause_threads(what);
    wait_for_workers();
    pthread_mutex_unlock(&one_at_a_time);
}

static void* take_points(void* argument) {
    const char* const every = getenv("REM_EVERY");
    const useconds_t pause = (useconds_t)(every == NULL ? 100 : atoi(every)) * 1000;
    wait_for_workers();
    for (;; usleep(pause))
        if (take_point() != 0)
            fail();
    return argument;
}

/* Connections that used items are gone. */
static void release_items(void) {
    __real_start_assoc_maintenance_thread(); /* goes on with an expansion of the hash table, for whose end the iterator waits */
    while (stats_state.hash_is_expanding)
        usleep(1000);
    void* const all = assoc_get_iterator();
    for (item* each = NULL; assoc_iterate(all, &each);)
        if (each != NULL)
            each->refcount = 1;
    assoc_iterate_final(all);
}

int __wrap_start_assoc_maintenance_thread(void) { return is_restored ? 0 : __real_start_assoc_maintenance_thread(); }

void __wrap_memcached_thread_init(int count, void* argument) {
    pthread_t thread;
    __real_memcached_thread_init(count, argument);
    if (is_restored)
        release_items();
    if (pthread_create(&thread, NULL, take_points, NULL) != 0)
        fail();
}
