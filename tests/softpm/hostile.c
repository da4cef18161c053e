/* What a program may do to its own memory, or to a point: hostile DIRECTORY COMMAND. Each command begins with the list that the last point of the
   process before it kept, which it checks, and adds nodes of its own.
     fill N     adds N nodes
     deaf       a thread blocks all signals, so that a point cannot stop it; later it does not
     scribble   a wild pointer writes where marks are; the process kills itself after the point that fails
     starve     a point for which there is no memory, and one for which there is
     jump       leaves the C library's callbacks by longjmp, between points
     handler    a signal handler allocates, links nodes and takes points, while the program takes points
     inside     the same, while the program allocates, too: C does not allow that */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <softpm.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: %s (%s)\n", __LINE__, #what, pStatus());                                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct node {
    struct node* next;
    struct node* self;
    long number;
};
static struct state {
    struct node* first;
    long count;
    sigjmp_buf place;
#ifdef LARGER
    long more;
#endif
}* state;
static int id;

static struct node* make(struct node* next, long number) {
    struct node* const made = malloc(sizeof *made);
    *made = (struct node){next, made, number};
    return made;
}

static void add(void) {
    state->first = make(state->first, state->count);
    ++state->count;
}

static void check(void) {
    long left = state->count;
    for (const struct node* each = state->first; each != NULL; each = each->next) {
        --left;
        CHECK(each->self == each && each->number == left);
    }
    CHECK(left == 0);
}

static void point(void) {
    CHECK(pPoint(id) == 0);
    CHECK(pSync(id) == 0);
}

static atomic_int is_deaf, may_hear, has_heard;

static void* deaf(void* argument) {
    unsigned long all = ~0UL, none = 0;
    prctl(PR_SET_NAME, "hard of hearing");
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof all); /* the C library's call would leave one out */
    is_deaf = 1;
    while (!may_hear)
        usleep(1000);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
    has_heard = 1;
    for (; has_heard == 1;)
        usleep(1000);
    return argument;
}

static void with_a_deaf_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, deaf, NULL);
    while (!is_deaf)
        usleep(1000);
    add();
    CHECK(pPoint(id) == -1 && strstr(pStatus(), "(hard of hearing)") != NULL);
    may_hear = 1; /* the signal of the point that failed must not hold it */
    while (!has_heard)
        usleep(1000);
    point();
    has_heard = 2;
    pthread_join(thread, NULL);
}

static void scribble(void) {
    char* const mark = (char*)(((unsigned long)state->first >> 3) + 0x7fff8000);
    add();
    point();
    state->first->number += 0;
    add();
    mark[0] = 77;
    state->first->next->number = state->first->next->number; /* so that its page is looked at */
    CHECK(pPoint(id) == -1 && strstr(pStatus(), "where marks are") != NULL);
    raise(SIGKILL);
}

static struct node* many(long count) { /* blocks of no container, each of which a point has to remember */
    struct node* last = NULL;
    for (long i = 0; i < count; ++i)
        last = make(last, i);
    return last;
}

static void limit_addresses(long more) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    long pages = 0;
    FILE* const file = fopen("/proc/self/statm", "r");
    CHECK(fscanf(file, "%ld", &pages) == 1);
    fclose(file);
    limit.rlim_cur = more < 0 ? limit.rlim_max : (rlim_t)(pages * 4096 + more);
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
}

static void starve(struct node* guests) {
    struct node* last = guests;
    while (last->next != NULL)
        last = last->next;
    long number = state->count + 300000;
    for (struct node* each = guests; each != NULL; each = each->next)
        each->number = --number;
    last->next = state->first;
    state->first = guests;
    state->count += 300000;
    int failed = 0;
    for (long room = 0; room < 1 << 30;
         room = room * 2 + 4096) { /* each allocation of a point is the one that fails, as it were */
        limit_addresses(room);
        const int result = pPoint(id);
        limit_addresses(-1);
        if (result == 0)
            break;
        CHECK(strstr(pStatus(), "no memory left") != NULL);
        ++failed;
    }
    CHECK(failed > 2);
    printf("%d points failed\n", failed);
    point();
}

static int leave(const void* left, const void* right) {
    if (left != right && rand() % 4 == 0)
        siglongjmp(state->place, 1);
    return left < right ? -1 : 1;
}

static void jump(void) {
    for (int i = 0; i < 200; ++i) {
        struct node* volatile several[16];
        for (int k = 0; k < 16; ++k)
            several[k] = state->first;
        if (sigsetjmp(state->place, 1) == 0)
            qsort((void*)several, 16, sizeof several[0], leave);
        add();
        if (i % 10 == 0)
            point();
    }
    point();
}

static volatile sig_atomic_t handled, refused;

static void on_alarm(int signal) {
    (void)signal;
    struct node* const made = malloc(sizeof *made);
    *made = (struct node){NULL, made, 0};
    free(made);
    add();
    if (pPoint(id) != 0) {
        CHECK(strstr(pStatus(), "A signal handler called softpm within a call of softpm") != NULL);
        ++refused;
    }
    ++handled;
}

static void with_a_handler(int allocates) {
    const struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval each = {{0, 500}, {0, 500}};
    setitimer(ITIMER_REAL, &each, NULL);
    while (handled < 2000)
        if (allocates)
            free(malloc(48));
        else
            CHECK(pPoint(id) == 0);
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%d signals\n", (int)handled);
    point();
}

int main(int count, char** arguments) {
    if (count < 3)
        return 1;
    const char* const command = arguments[2];
    struct node* const guests = strcmp(command, "starve") == 0 ? many(300000) : NULL;
    const struct cattr how = {.directory = arguments[1]};
    pCSetAttr(0, &how);
    id = pCRestoreAs(1, &state);
    if (id < 0 && (strstr(pStatus(), "no container with magic") != NULL || strstr(pStatus(), "never finished") != NULL))
        id = pCAlloc(1, sizeof *state, (void**)&state);
    CHECK(id > 0);
    check();
    printf("%ld nodes\n", state->count);
    fflush(stdout);
    if (strcmp(command, "fill") == 0) {
        for (long i = atol(arguments[3]); i-- > 0;)
            add();
        point();
    } else if (strcmp(command, "deaf") == 0) {
        with_a_deaf_thread();
    } else if (strcmp(command, "scribble") == 0) {
        scribble();
    } else if (strcmp(command, "starve") == 0) {
        starve(guests);
    } else if (strcmp(command, "jump") == 0) {
        jump();
    } else {
        with_a_handler(strcmp(command, "inside") == 0);
    }
    check();
    return 0;
}
