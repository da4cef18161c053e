/* Two containers, and places in the program that allocate for one of them: sites DIRECTORY. The container that was made last is where the program allocates;
   a place whose blocks became guests of the other one allocates there from then on. Every start checks both lists. */
#include <softpm.h>
#include <stdint.h>
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
    struct node* next;
    long number;
    char* text;
};
static struct list {
    struct node* first;
    long count;
} *one, *two;

static int lies_with(const void* block, const struct list* list) { /* an arena has 16 GiB, at a multiple of them */
    return (uintptr_t)block >> 34 == (uintptr_t)list >> 34;
}

static struct node* link_in(struct list* list, struct node* made) {
    made->next = list->first;
    made->number = list->count++;
    made->text = NULL;
    return list->first = made;
}

__attribute__((noinline)) static struct node* add_to_one(void) { return link_in(one, malloc(sizeof(struct node))); }
__attribute__((noinline)) static struct node* add_to_two(void) { return link_in(two, calloc(1, sizeof(struct node))); }
__attribute__((noinline)) static char* text_of_one(long number) {
    char text[40];
    snprintf(text, sizeof text, "node %ld", number);
    return strdup(text);
}

static void check(const struct list* list) {
    long left = list->count;
    for (const struct node* each = list->first; each != NULL; each = each->next) {
        --left;
        CHECK(each->number == left);
        char text[40];
        snprintf(text, sizeof text, "node %ld", left);
        CHECK(each->text == NULL || strcmp(each->text, text) == 0);
    }
    CHECK(left == 0);
}

static int open_list(int magic, struct list** list) {
    int id = pCRestore(magic, (void**)list);
    if (id < 0)
        id = pCAlloc(magic, sizeof **list, (void**)list);
    CHECK(id > 0);
    check(*list);
    return id;
}

int main(int count, char** arguments) {
    CHECK(count == 2);
    const struct cattr how = {.directory = arguments[1]};
    CHECK(pCSetAttr(0, &how) == 0);
    const int first = open_list(1, &one), second = open_list(2, &two);
    const int had = one->first != NULL;
    printf("%ld and %ld nodes\n", one->count, two->count);

    for (int i = 0; i < 100; ++i) {
        CHECK(lies_with(add_to_one(), two) && lies_with(add_to_two(), two)); /* nothing is known yet */
        one->first->text = text_of_one(one->first->number);
        CHECK(lies_with(one->first->text, two));
    }
    CHECK(pPoint(first) == 0 && pPoint(second) == 0);
    for (int i = 0; i < 1000; ++i) {
        CHECK(lies_with(add_to_one(), one) && lies_with(add_to_two(), two));
        one->first->text = text_of_one(one->first->number);
        CHECK(lies_with(one->first->text, one));
    }
    char** grown = malloc(8); /* another place */
    CHECK(lies_with(grown, two));
    one->first->text = realloc(one->first->text, 100000); /* a block of a container stays there */
    CHECK(lies_with(one->first->text, one));
    free(grown);
    CHECK(pPoint(first) == 0 && pSync(first) == 0 && pPoint(second) == 0 && pSync(second) == 0);
    check(one);
    check(two);
    CHECK(pReport(first, "report") == 0);

    CHECK(pCFree(first) == 0); /* whose places are forgotten, and the container may be restored */
    free(add_to_two());
    struct node* const after = malloc(sizeof *after);
    CHECK(lies_with(after, two));
    CHECK(pCRestore(1, (void**)&one) > 0);
    check(one);
    printf("%s\n", had ? "again" : "new");
    return 0;
}
