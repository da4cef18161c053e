/* Versions, reports and a program's own allocator: versions DIRECTORY COMMAND. The state is a tree in the container, and a list in a mapping of the
   program's own, whose blocks it hands out itself.
     grow N      adds N to both, takes a point
     keep        takes a version; prints its number
     check       prints how many there are, and checks them
     back N      restores version N and checks it, without a point
     settle N    the same, with a point
     report FILE writes the report
     three       keeps three versions, of which two stay
     delete      removes all */
#define _GNU_SOURCE
#include <softpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: %s (%s)\n", __LINE__, #what, pStatus());                                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct leaf {
    struct leaf *left, *right;
    long key;
    char* text;
};
struct cell { /* of the mapping, or, after a restore, of malloc() */
    struct cell* next;
    struct leaf* leaf;
    long key;
};
static struct state {
    struct leaf* tree;
    struct cell* cells;
    long count;
    char* middle; /* into a text */
    FILE* file;
    char* forgotten; /* excluded */
} * state;
static int id;

enum { k_cells = 100000 };
static struct cell* pool;
static long used;

static int block_of_pool(const void* address, void** begin, size_t* bytes) {
    const size_t offset = (size_t)((const char*)address - (const char*)pool);
    if (pool == NULL || offset >= (size_t)used * sizeof *pool)
        return 0;
    *begin = &pool[offset / sizeof *pool];
    *bytes = sizeof *pool;
    return 1;
}

static void grow(long count) {
    for (long i = 0; i < count; ++i) {
        const long key = state->count * 7919 % 100003;
        struct leaf** place = &state->tree;
        while (*place != NULL)
            place = key < (*place)->key ? &(*place)->left : &(*place)->right;
        char text[24];
        snprintf(text, sizeof text, "leaf %ld", key);
        *place = calloc(1, sizeof **place);
        (*place)->key = key;
        (*place)->text = strdup(text);
        state->middle = (*place)->text + 5;
        CHECK(used < k_cells);
        struct cell* const cell = &pool[used++];
        *cell = (struct cell){state->cells, *place, key};
        state->cells = cell;
        ++state->count;
    }
}

static long check_tree(const struct leaf* of, long low, long high) {
    if (of == NULL)
        return 0;
    CHECK(of->key >= low && of->key < high && atol(of->text + 5) == of->key);
    return 1 + check_tree(of->left, low, of->key) + check_tree(of->right, of->key, high);
}

static void check(void) {
    CHECK(check_tree(state->tree, 0, 1L << 40) == state->count);
    long left = state->count;
    for (const struct cell* each = state->cells; each != NULL; each = each->next) {
        --left;
        CHECK(each->key == left * 7919 % 100003 && each->leaf->key == each->key);
    }
    CHECK(left == 0);
    CHECK(state->count == 0 || atol(state->middle) == state->cells->key);
    printf("%ld leaves\n", state->count);
}

int main(int count, char** arguments) {
    if (count < 3)
        return 1;
    const char* const command = arguments[2];
    const long number = count > 3 ? atol(arguments[3]) : 0;
    pool = mmap(NULL, k_cells * sizeof *pool, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pool != MAP_FAILED && pRegisterAllocator(block_of_pool) == 0 && pRegisterAllocator(NULL) == -1);
    const struct cattr how = {.directory = arguments[1], .versions_max = strcmp(command, "three") == 0 ? 2 : 0};
    CHECK(pCSetAttr(0, &how) == 0);
    const int is_back = strcmp(command, "back") == 0 || strcmp(command, "settle") == 0;
    id = is_back ? pCRestoreVersion(1, (int)number, (void**)&state) : pCRestoreAs(1, &state);
    if (id < 0 && is_back)
        return puts(pStatus()), 1;
    if (id < 0)
        id = pCAlloc(1, sizeof *state, (void**)&state);
    CHECK(id > 0);
    check();
    if (strcmp(command, "grow") == 0) {
        grow(number);
        CHECK(pPoint(id) == 0 && pSync(id) == 0);
    } else if (strcmp(command, "keep") == 0) {
        const int version = pVersion(id);
        CHECK(version > 0);
        printf("version %d\n", version);
        grow(1); /* after it, and lost with the process */
    } else if (strcmp(command, "settle") == 0) {
        CHECK(pPoint(id) == 0 && pSync(id) == 0);
    } else if (strcmp(command, "three") == 0) {
        for (int i = 0; i < 3; ++i) {
            grow(10);
            CHECK(pVersion(id) > 0);
        }
    } else if (strcmp(command, "report") == 0) {
        state->file = fopen("/dev/null", "r");
        state->forgotten = malloc(500);
        CHECK(pExclude(id, state->forgotten) == 0);
        grow(50);
        CHECK(pReport(id, arguments[3]) == 0 && pReport(id, "/no such folder/report") == -1 && pReport(id + 1, NULL) == -1);
    } else if (strcmp(command, "delete") == 0) {
        CHECK(pCDelete(id) == 0);
    }
    return 0;
}
