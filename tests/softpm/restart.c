/* A program whose memory is kept, started again and again: restart DIRECTORY COMMAND. The memory is a tree, a list through it, and
   pointers of all kinds into both; every start checks all of them.
     rounds N   takes N points, changing things between them; prints the count after each
     check      looks only
     taken      takes the addresses of the heap first (given as ADDRESS), so that it is mapped elsewhere, then a point
     misuse     calls that must fail */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <softpm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { k_magic = 36, k_keys = 5000, k_names = 16 };

struct item {
    struct item *left, *right, *next;
    long key;
    char* name;
    const char* kind;                   /* a constant of the program */
    long (*weight)(const struct item*); /* code of it */
    uintptr_t tagged;                   /* of next, with a bit */
    char* name_end;
};

struct state {
    struct item *root, *first;
    long count, points;
    struct item** all; /* by a block that grows */
    size_t room;
    char* inside;         /* into the middle of a block */
    struct item* early;   /* allocated before there was a container */
    long* stack;          /* leads to the stack: null after a restart */
    FILE* file;           /* an object of the C library: null */
    pthread_mutex_t lock; /* held at each point */
    int* excluded;
};

static struct state* state;
static struct {
    long calls;
    struct item* last;
} global;
static struct item* before_main;

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: %s\n", __LINE__, #what);                                                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static long light(const struct item* of) { return of->key; }
static long heavy(const struct item* of) { return of->key * 2; }

static struct item* make(long key) {
    struct item* made = calloc(1, sizeof *made);
    char text[k_names * 2];
    int bytes = snprintf(text, sizeof text, "item %ld", key);
    made->key = key;
    made->name = strdup(text);
    made->name_end = made->name + bytes;
    made->kind = key % 2 == 0 ? "even" : "odd";
    made->weight = key % 3 == 0 ? heavy : light;
    return made;
}

static void insert(long key) {
    struct item** at = &state->root;
    while (*at != NULL && (*at)->key != key)
        at = key < (*at)->key ? &(*at)->left : &(*at)->right;
    if (*at != NULL)
        return;
    struct item* made = *at = make(key);
    made->next = state->first;
    made->tagged = (uintptr_t)made->next | 1;
    state->first = made;
    if ((size_t)state->count == state->room) {
        state->room = state->room == 0 ? 4 : state->room * 2;
        state->all = realloc(state->all, state->room * sizeof *state->all);
    }
    state->all[state->count++] = made;
    state->inside = made->name + 2;
    global.last = made;
}

static long check_tree(const struct item* of, long low, long high) {
    if (of == NULL)
        return 0;
    char text[k_names * 2];
    snprintf(text, sizeof text, "item %ld", of->key);
    CHECK(of->key >= low && of->key < high);
    CHECK(strcmp(of->name, text) == 0 && of->name_end == of->name + strlen(text));
    CHECK(strcmp(of->kind, of->key % 2 == 0 ? "even" : "odd") == 0);
    CHECK(of->weight(of) == (of->key % 3 == 0 ? of->key * 2 : of->key));
    CHECK((of->tagged & ~(uintptr_t)1) == (uintptr_t)of->next);
    return 1 + check_tree(of->left, low, of->key) + check_tree(of->right, of->key + 1, high);
}

static void check(void) {
    CHECK(check_tree(state->root, 0, k_keys) == state->count);
    long listed = 0;
    for (const struct item* each = state->first; each != NULL; each = each->next)
        ++listed;
    CHECK(listed == state->count);
    for (long i = 0; i < state->count; ++i)
        CHECK(state->all[i]->key >= 0 && state->all[i]->key < k_keys);
    CHECK(state->count == 0 || strncmp(state->inside - 2, "item ", 5) == 0);
    CHECK(global.calls == state->points && (state->count == 0 || global.last == state->first));
    CHECK(state->early->key == -1 && strcmp(state->early->name, "item -1") == 0);
    CHECK(state->early->left->key == -2 && state->early->left->right == state->early);
}

static int open_state(void) {
    before_main = make(-1);
    before_main->left = make(-2);
    before_main->left->right = before_main;
    int id = pCRestoreAs(k_magic, &state);
    if (id < 0) {
        if (strstr(pStatus(), "no container with magic 36") == NULL) {
            puts(pStatus());
            exit(1);
        }
        id = pCAlloc(k_magic, sizeof *state, (void**)&state);
        if (id < 0)
            puts(pStatus());
        CHECK(id > 0);
        pthread_mutex_init(&state->lock, NULL);
    } else {
        CHECK(state->stack == NULL && state->file == NULL && state->excluded == NULL);
        CHECK(pthread_mutex_trylock(&state->lock) == 0);
        pthread_mutex_unlock(&state->lock);
    }
    CHECK(pGlobal(id, &global, sizeof global) == 0);
    if (state->early == NULL) /* killed between pCAlloc() and the first point, or new */
        state->early = before_main;
    check();
    return id;
}

static void take_points(int id, long count) {
    long on_stack = 5;
    for (long i = 0; i < count; ++i) {
        pthread_mutex_lock(&state->lock);
        for (int k = 0; k < 20; ++k)
            insert(rand() % k_keys);
        state->stack = &on_stack;
        state->file = stdout == NULL ? NULL : fopen("/dev/null", "r");
        state->excluded = malloc(sizeof *state->excluded);
        CHECK(pExclude(id, state->excluded) == 0);
        ++state->points;
        ++global.calls;
        if (pPoint(id) != 0 || pSync(id) != 0) {
            puts(pStatus());
            exit(1);
        }
        pthread_mutex_unlock(&state->lock);
        fclose(state->file);
        free(state->excluded);
        printf("%ld\n", state->points);
        fflush(stdout);
    }
}

static void misuse(int id) {
    int on_stack = 0;
    CHECK(pExclude(id, &on_stack) == -1 && strstr(pStatus(), "pExclude") != NULL);
    CHECK(pPoint(id + 1) == -1 && strstr(pStatus(), "no container 2") != NULL);
    void* other = NULL;
    CHECK(pCAlloc(k_magic, 8, &other) == -1 && strstr(pStatus(), "in memory already") != NULL);
    CHECK(pCRestore(k_magic + 1, &other) == -1 && strstr(pStatus(), "no container with magic 37") != NULL);
    CHECK(pCAlloc(k_magic + 1, 0, &other) == -1);
    CHECK(pGlobal(id, NULL, 8) == -1);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0)
        _exit(pPoint(id) == -1 && strstr(pStatus(), "child of fork()") != NULL ? 0 : 1);
    int result = 0;
    CHECK(waitpid(child, &result, 0) == child && result == 0);
    /* Two containers: what the one reaches of the other is kept by both. */
    struct item** held = NULL;
    const int second = pCAlloc(k_magic + 1, sizeof *held, (void**)&held);
    CHECK(second > 0);
    *held = state->first;
    CHECK(pPoint(second) == 0 && pCFree(second) == 0);
    CHECK(pCRestore(k_magic + 1, (void**)&held) == second + 1);
    CHECK((state->first == NULL) == (*held == NULL));
    if (*held != NULL) {
        CHECK(*held != state->first && (*held)->key == state->first->key);
        CHECK(strcmp((*held)->name, state->first->name) == 0);
    }
    CHECK(pCDelete(second + 1) == 0);
    CHECK(pCRestore(k_magic + 1, &other) == -1);
}

int main(int count, char** arguments) {
    CHECK(count >= 3);
    struct cattr how = {.directory = arguments[1], .symbol_names = getenv("SYMBOL_NAMES") != NULL};
    CHECK(pCSetAttr(0, &how) == 0);
    const char* const command = arguments[2];
    if (strcmp(command, "taken") == 0) {
        void* const wanted = (void*)strtoul(arguments[3], NULL, 16);
        CHECK(mmap(wanted, 1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == wanted);
    }
    const int id = open_state();
    const char* const seed = getenv("REMANENCE_SEED");
    srand((seed != NULL ? (unsigned)atol(seed) : (unsigned)getpid()) + (unsigned)state->points);
    printf("root %p, %ld items, %ld points\n", (void*)state, state->count, state->points);
    if (strcmp(command, "rounds") == 0 || strcmp(command, "taken") == 0)
        take_points(id, atol(arguments[count - 1]));
    else if (strcmp(command, "misuse") == 0)
        misuse(id);
    else
        CHECK(strcmp(command, "check") == 0);
    return 0;
}
