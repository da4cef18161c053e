/* Threads and locks of <threads.h>, threads that wait for signals, a main thread that ends early, and wide texts: standard DIRECTORY COMMAND.
   Each command checks what the process before it kept.
     threads    a thread of thrd_create() changes a struct while points are taken; kills itself
     wait       a thread waits for all signals, in four ways, while points are taken
     child      a child of a program with threads has a container and threads of its own
     leave      the main thread ends, and another one takes a point
     locks      holds locks while a point is taken; kills itself
     wide       texts of wchar_t, and pointers into them that the C library stores; kills itself */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <softpm.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: %s (%s)\n", __LINE__, #what, pStatus());                                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { k_pages = 64, k_page_longs = 512 };

static struct state {
    volatile long pages[k_pages][k_page_longs]; /* the same number on all of them, or one more on the first ones */
    mtx_t plain;
    pthread_mutex_t timed;
    pthread_rwlock_t read, written;
    cnd_t condition;
    wchar_t* text;
    wchar_t* end;
    wchar_t* rest;
    long starts;
}* state;
static int id;
static atomic_int is_there;
static atomic_long waiter; /* a thread's number */

/* How a thread of this process is, as proc(5) has it: S, it sleeps; Z, it has ended; 0, it is not known. */
static char state_of(long thread) {
    char path[100], line[200] = "";
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
    const int file = open(path, O_RDONLY);
    const ssize_t got = file < 0 ? -1 : read(file, line, sizeof line - 1);
    if (file >= 0)
        close(file);
    const char* const behind_name = got > 0 ? strrchr(line, ')') : NULL;
    return behind_name != NULL ? behind_name[2] : 0;
}

static void wait_for_a_change(void) {
    for (const long before = state->pages[0][0]; state->pages[0][0] == before;)
        usleep(500);
}

static void point(void) {
    CHECK(pPoint(id) == 0);
    CHECK(pSync(id) == 0);
}

static int change(void* argument) {
    (void)argument;
    for (is_there = 1;;)
        for (int i = 0; i < k_pages; ++i)
            ++state->pages[i][0];
}

static void check_pages(void) {
    for (int i = 1; i < k_pages; ++i)
        CHECK(state->pages[i - 1][0] - state->pages[i][0] == 0 || state->pages[i - 1][0] - state->pages[i][0] == 1);
    CHECK(state->pages[0][0] - state->pages[k_pages - 1][0] <= 1);
    for (int i = 1; i < k_pages; ++i)
        state->pages[i][0] = state->pages[0][0];
}

static void with_a_thread(void) {
    thrd_t thread;
    CHECK(thrd_create(&thread, change, NULL) == thrd_success);
    while (!is_there)
        usleep(100);
    for (int i = 0; i < 20; ++i) {
        wait_for_a_change();
        point();
    }
    raise(SIGKILL);
}

static void* wait_for_signals(void* way) {
    sigset_t all;
    sigfillset(&all);
    const struct timespec longest = {100, 0};
    int which = 0;
    waiter = gettid();
    for (is_there = 1;;) {
        switch (*(const char*)way) {
        case '0':
            which = sigsuspend(&all) == -1 ? SIGUSR1 : 0;
            break;
        case '1':
            sigwait(&all, &which);
            break;
        case '2':
            which = sigwaitinfo(&all, NULL);
            break;
        default:
            which = sigtimedwait(&all, NULL, &longest);
        }
        CHECK(which == SIGUSR1 || which == -1);
    }
}

static void with_waiting_threads(void) {
    for (const char* way = "0123"; *way != '\0'; ++way) {
        pthread_t thread;
        is_there = 0;
        CHECK(pthread_create(&thread, NULL, wait_for_signals, (void*)way) == 0);
        while (!is_there)
            usleep(100);
        while (state_of(waiter) != 'S')
            usleep(100);
        point();
    }
    exit(0);
}

static void* take_points(void* argument) {
    (void)argument;
    for (int i = 0; i < 20; ++i) {
        wait_for_a_change();
        point();
    }
    raise(SIGKILL);
    return NULL;
}

static void with_a_child(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_for_signals, "1") == 0);
    const pid_t child = fork();
    if (child == 0) {
        id = pCAlloc(2, sizeof *state, (void**)&state);
        CHECK(id > 0);
        CHECK(pthread_create(&thread, NULL, take_points, NULL) == 0);
        change(NULL);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    CHECK(pCRestore(2, (void**)&state) > 0);
    CHECK(state->pages[0][0] > 0);
    check_pages();
    exit(0);
}

static int double_it(void* number) { return 2 * *(int*)number; }

static void* take_a_point(void* argument) {
    (void)argument;
    while (state_of(getpid()) != 'Z') /* until the main thread has ended */
        usleep(100);
    point();
    puts("taken");
    exit(0);
}

static void leave(void) {
    thrd_t other;
    int number = 21;
    CHECK(thrd_create(&other, double_it, &number) == thrd_success);
    CHECK(thrd_join(other, &number) == thrd_success && number == 42);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, take_a_point, NULL) == 0);
    pthread_exit(NULL);
}

static void hold_locks(void) {
    const struct timespec long_ago = {1, 0};
    CHECK(mtx_trylock(&state->plain) == thrd_success);
    CHECK(pthread_mutex_timedlock(&state->timed, &long_ago) == 0);
    CHECK(pthread_rwlock_tryrdlock(&state->read) == 0);
    CHECK(pthread_rwlock_trywrlock(&state->written) == 0);
    CHECK(cnd_signal(&state->condition) == thrd_success);
    point();
    raise(SIGKILL);
}

static void keep_texts(void) {
    if (state->text != NULL) {
        CHECK(wcscmp(state->end, L" pages") == 0);
        CHECK(wcscmp(state->rest, L"c") == 0);
        CHECK(state->end == state->text + 2);
    }
    state->text = wcsdup(L"12 pages");
    CHECK(wcstol(state->text, &state->end, 10) == 12);
    wchar_t* const list = wcsdup(L"a,b,c");
    wcstok(list, L",", &state->rest);
    wcstok(NULL, L",", &state->rest);
    point();
    raise(SIGKILL);
}

int main(int count, char** arguments) {
    if (count < 3)
        return 1;
    const char* const command = arguments[2];
    const struct cattr how = {.directory = arguments[1]};
    pCSetAttr(0, &how);
    id = pCRestoreAs(1, &state);
    if (id < 0) {
        id = pCAlloc(1, sizeof *state, (void**)&state);
        CHECK(id > 0);
        CHECK(mtx_init(&state->plain, mtx_plain) == thrd_success);
        CHECK(cnd_init(&state->condition) == thrd_success);
    }
    CHECK(*pStatus() == '\0');
    printf("root %p, %ld starts\n", (void*)state, state->starts++);
    fflush(stdout);
    check_pages();
    if (strcmp(command, "threads") == 0)
        with_a_thread();
    else if (strcmp(command, "wait") == 0)
        with_waiting_threads();
    else if (strcmp(command, "child") == 0)
        with_a_child();
    else if (strcmp(command, "leave") == 0)
        leave();
    else if (strcmp(command, "locks") == 0)
        hold_locks();
    else
        keep_texts();
}
