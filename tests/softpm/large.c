/* A container of some MiB, whose restores at its own addresses look at few of its pages: large DIRECTORY COMMAND. Every start checks all of it.
     grow N     adds N nodes, frees every seventh of what was there before, leaks one, takes a point; prints where the leaked block lies, and is killed
     churn N    fills and frees blocks of 50,000 bytes, then takes a point, N times
     find N A   allocates N blocks: says whether one of them lies at A */
#include <signal.h>
#include <softpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: %s (%s)\n", __LINE__, #what, pStatus());                                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct node {
    struct node *next, *before;
    long number;
    long (*of)(const struct node*); /* in one of a hundred */
    const char* name;               /* likewise */
    long* stack;                    /* likewise: NULL after a restart */
    long padding[2];
};
static struct state {
    struct node* first;
    long count, next_number, on_stack;
    char* guest; /* allocated before there was a container */
}* state;
static struct {
    struct node* first;
} global;

static long number_of(const struct node* node) { return node->number; }

static struct node* make(long number, long* stack) {
    struct node* const made = calloc(1, sizeof *made);
    made->number = number;
    if (number % 100 == 7) {
        made->of = number_of;
        made->name = "one of a hundred";
        made->stack = stack;
        state->on_stack += stack != NULL;
    }
    made->next = state->first;
    if (made->next != NULL)
        made->next->before = made;
    state->first = global.first = made;
    ++state->count;
    return made;
}

static void drop(struct node* node) {
    *(node->before != NULL ? &node->before->next : &state->first) = node->next;
    if (node->next != NULL)
        node->next->before = node->before;
    state->on_stack -= node->stack != NULL;
    free(node);
    --state->count;
}

static void check(int is_restored) {
    long count = 0;
    const struct node* before = NULL;
    for (const struct node* each = state->first; each != NULL; before = each, each = each->next) {
        ++count;
        CHECK(each->before == before && each->number < state->next_number);
        if (each->number % 100 == 7)
            CHECK(each->of(each) == each->number && strcmp(each->name, "one of a hundred") == 0 && (!is_restored || each->stack == NULL));
    }
    CHECK(count == state->count && global.first == state->first);
    CHECK(state->guest == NULL || strcmp(state->guest, "before the container") == 0);
}

int main(int count, char** arguments) {
    CHECK(count >= 4);
    char* const guest = strdup("before the container");
    const struct cattr how = {.directory = arguments[1]};
    CHECK(pCSetAttr(0, &how) == 0);
    const int kept = pCRestoreAs(1, &state);
    char status[400];
    snprintf(status, sizeof status, "%s", pStatus());
    const int id = kept > 0 ? kept : pCAlloc(1, sizeof *state, (void**)&state);
    CHECK(id > 0 && pGlobal(id, &global, sizeof global) == 0);
    if (kept > 0) {
        CHECK(atol(status) == state->on_stack); /* as many as there are, and none of those in blocks that were freed */
        state->on_stack = 0;
    }
    check(kept > 0);
    printf("root %p\n%ld nodes\n", (void*)state, state->count);
    const long number = atol(arguments[3]);
    if (strcmp(arguments[2], "grow") == 0) {
        long on_stack = 5;
        int turn = 0;
        for (struct node *each = state->first, *next; each != NULL; each = next) {
            next = each->next;
            if (++turn % 7 == 0)
                drop(each);
        }
        for (long i = 0; i < number; ++i)
            make(state->next_number++, &on_stack);
        if (state->guest == NULL)
            state->guest = guest;
        void* volatile const leaked = make(state->next_number++, &on_stack);
        state->first = state->first->next;
        --state->count;
        if (((struct node*)leaked)->stack != NULL)
            --state->on_stack;
        state->first->before = NULL;
        global.first = state->first;
        CHECK(pPoint(id) == 0 && pPoint(id) == 0 && pSync(id) == 0);
        check(0);
        printf("leaked %p\n", leaked);
        fflush(stdout);
        raise(SIGKILL);
    }
    if (strcmp(arguments[2], "churn") == 0) {
        for (long i = 0; i < number; ++i) {
            state->next_number += 1000;
            unsigned char* const block = malloc(50000);
            for (int k = 0; k < 50000; ++k)
                block[k] = (unsigned char)(k * 7 + k / 256 + i + 1);
            free(block);
            CHECK(pPoint(id) == 0 && pSync(id) == 0);
        }
        fflush(stdout);
        raise(SIGKILL);
    }
    const void* const wanted = (void*)strtoul(arguments[4], NULL, 16);
    int found = 0;
    for (long i = 0; i < number; ++i)
        found |= calloc(1, sizeof(struct node)) == wanted;
    puts(found ? "found" : "not found");
    check(1);
    return 0;
}
