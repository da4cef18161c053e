/* Each way in which a program can store a pointer, or store something else where one was: marks LEVEL. Prints what is wrong. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>

#define APART __attribute__((noinline))

static int cases, wrong;

static int mark_of(const void* word) { return *(const volatile unsigned char*)(((uintptr_t)word >> 3) + 0x7fff8000); }

static APART void expect(const char* what, const void* word, bool is_pointer) {
    ++cases;
    if ((mark_of(word) != 0) == is_pointer)
        return;
    ++wrong;
    printf("%s: the mark is %d, the word holds %s\n", what, mark_of(word), is_pointer ? "a pointer" : "none");
}
#define POINTER(what, word) expect(what, &(word), true)
#define DATA(what, word) expect(what, &(word), false)
/* Null, stored by code that cannot know it: marked or not, nobody follows it. */
#define NONE(what, word) (++cases, (word) == NULL || (++wrong, printf("%s: not null\n", what)))

struct node {
    struct node* next;
    long number;
    const char* name;
    void (*call)(void);
    union {
        void* pointer;
        long number;
        double real;
        char bytes[8];
        int halves[2];
    } either;
    uintptr_t address;
    char tail[24];
};

static void nothing(void) {}
static struct node initialised = {.name = "global", .call = nothing, .address = (uintptr_t)&initialised};
static const struct node template = {.name = "template", .call = nothing};
static void* table[3] = {&initialised, 0, &table[1]};

static APART struct node* make(void) { return calloc(1, sizeof(struct node)); }
static APART struct node returned(struct node* from) {
    struct node copy = *from;
    ++copy.number;
    return copy;
}
static APART void store_value(struct node* into, struct node value) { *into = value; }

union word {
    void* pointer;
    long number;
};
struct two {
    void* pointer;
    long number;
};
static APART union word word_of(void* pointer) { return (union word){.pointer = pointer}; }
static APART void store_word(union word* into, union word value) { *into = value; }
static APART struct two two_of(void* pointer, long number) { return (struct two){pointer, number}; }
static APART void store_two(struct two* into, struct two value) { *into = value; }
static APART uintptr_t same(uintptr_t address) { return address; }
static APART uintptr_t hash(uintptr_t address) { return address * 0x9E3779B97F4A7C15u; }
static APART uintptr_t either(bool first, uintptr_t one, uintptr_t other) { return first ? one : other; }

static APART void store_variadic(struct node* into, int count, ...) {
    va_list arguments;
    va_start(arguments, count);
    into->name = va_arg(arguments, char*);
    into->number = va_arg(arguments, long);
    into->address = va_arg(arguments, uintptr_t);
    va_end(arguments);
}
static APART void copy_bytes(char* to, const char* from, size_t bytes) {
    while (bytes-- != 0)
        *to++ = *from++;
}
static APART void copy_volatile(volatile char* to, volatile const char* from, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i)
        to[i] = from[i];
}
static APART void copy_longs(long* to, const long* from, size_t count) {
    while (count-- != 0)
        *to++ = *from++;
}
static APART void copy_ints(int* to, const int* from, size_t count) {
    while (count-- != 0)
        *to++ = *from++;
}
static APART void swap_bytes(char* one, char* other, size_t bytes) {
    while (bytes-- != 0) {
        char kept = *one;
        *one++ = *other;
        *other++ = kept;
    }
}
static APART void swap_longs(void* one, void* other) {
    long kept = *(long*)one;
    *(long*)one = *(long*)other;
    *(long*)other = kept;
}
static APART void fill(void** words, size_t count, void* value) {
    for (size_t i = 0; i < count; ++i)
        words[i] = value;
}
static APART void advance(char** words, size_t count, size_t by) {
    for (size_t i = 0; i < count; ++i)
        words[i] += by;
}
static APART void choose(void** to, void* const* from, const int* which, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (which[i] != 0)
            to[i] = from[i];
}
static APART void count_up(long* words, size_t count) {
    for (size_t i = 0; i < count; ++i)
        words[i] = (long)i;
}

static void plain_stores(struct node* a, struct node* b) {
    a->next = b;
    POINTER("store", a->next);
    DATA("never written", a->number);
    a->call = nothing;
    POINTER("function", a->call);
    a->name = "constant";
    POINTER("string constant", a->name);
    a->next = NULL;
    DATA("null", a->next);
    a->next = b;
    a->number = 5;
    DATA("number", a->number);
}

static void initialisers(void) {
    POINTER("initialiser", initialised.name);
    POINTER("initialiser, function", initialised.call);
    POINTER("initialiser, integer of a pointer", initialised.address);
    DATA("initialiser, number", initialised.number);
    POINTER("initialiser, array", table[0]);
    DATA("initialiser, null in an array", table[1]);
    POINTER("initialiser, address of a part", table[2]);
}

static void copies(struct node* a, struct node* b) {
    struct node* c = make();
    *c = *a;
    POINTER("struct assignment", c->next);
    DATA("struct assignment, number", c->number);
    *c = template;
    POINTER("assignment of a constant", c->name);
    DATA("assignment of a constant, null", c->next);
    *c = initialised;
    POINTER("assignment of a global", c->name);
    memcpy(c, a, sizeof *c);
    POINTER("memcpy", c->next);
    memset(c, 0, sizeof *c);
    DATA("memset", c->next);
    memcpy(&c->next, &a->next, sizeof c->next);
    POINTER("memcpy of a word", c->next);
    memmove(&c->next, &c->number, 16);
    DATA("memmove", c->next);
    *c = returned(a);
    POINTER("returned by value", c->next);
    store_value(c, *b);
    NONE("by value, null", c->next);
    b->next = a;
    store_value(c, *b);
    POINTER("by value", c->next);
    struct node* d = make();
    copy_bytes((char*)d, (char*)a, sizeof *d);
    POINTER("byte by byte", d->next);
    DATA("byte by byte, number", d->number);
    d = make();
    copy_volatile((char*)d, (char*)a, sizeof *d);
    POINTER("volatile bytes", d->next);
    d = make();
    copy_longs((long*)d, (long*)a, sizeof *d / sizeof(long));
    POINTER("longs", d->next);
    DATA("longs, number", d->number);
    d = make();
    copy_ints((int*)d, (int*)a, sizeof *d / sizeof(int));
    POINTER("ints", d->next);
    struct node* e = make();
    d->next = a;
    e->next = NULL;
    e->number = 5;
    swap_bytes((char*)d, (char*)e, 16);
    POINTER("swapped bytes", e->next);
    DATA("swapped bytes, back", d->next);
    swap_longs(&d->next, &e->next);
    POINTER("swapped longs", d->next);
    DATA("swapped longs, back", e->next);
}

static void unions(struct node* a, struct node* b) {
    struct node* c = make();
    c->either.pointer = a;
    POINTER("union", c->either);
    c->either.number = 5;
    DATA("union, number", c->either);
    c->either.pointer = a;
    c->either.real = 1.5;
    DATA("union, real", c->either);
    c->either.pointer = a;
    c->either.bytes[0] = 'x';
    DATA("union, byte", c->either);
    c->either.pointer = a;
    c->either.halves[1] = 7;
    DATA("union, half", c->either);
    union word* word = malloc(sizeof *word);
    *word = word_of(a);
    POINTER("union returned", *word);
    store_word(word, word_of(b));
    POINTER("union passed", *word);
    struct two* two = malloc(sizeof *two);
    *two = two_of(a, 7);
    POINTER("pair returned", two->pointer);
    DATA("pair returned, number", two->number);
    store_two(two, two_of(b, 9));
    POINTER("pair passed", two->pointer);
    DATA("pair passed, number", two->number);
}

static void integers(struct node* a, struct node* b) {
    struct node* c = make();
    c->address = (uintptr_t)a;
    POINTER("integer of a pointer", c->address);
    c->address = (uintptr_t)a | 1;
    POINTER("tagged", c->address);
    c->address &= ~(uintptr_t)1;
    POINTER("tag taken off", c->address);
    c->address = same((uintptr_t)a);
    POINTER("through a call", c->address);
    c->address = same(12345);
    DATA("number through a call", c->address);
    c->address = hash((uintptr_t)a);
    DATA("hash", c->address);
    c->address = (uintptr_t)b - (uintptr_t)a;
    DATA("difference", c->address);
    c->address = (uintptr_t)a;
    c->address += 16;
    POINTER("sum", c->address);
    c->address = either(cases > 0, (uintptr_t)a, 5);
    POINTER("chosen", c->address);
    c->number = 3;
    c->number += 5;
    DATA("number plus number", c->number);
    store_variadic(c, 3, "text", 7L, (uintptr_t)a);
    POINTER("variadic, pointer", c->name);
    DATA("variadic, number", c->number);
    POINTER("variadic, integer of a pointer", c->address);
}

static void atomics(struct node* a, struct node* b) {
    struct {
        _Atomic(struct node*) pointer;
        atomic_uintptr_t address;
    }* c = calloc(1, sizeof *c);
    atomic_store(&c->pointer, a);
    POINTER("atomic store", c->pointer);
    struct node* expected = a;
    atomic_compare_exchange_strong(&c->pointer, &expected, b);
    POINTER("compare and exchange", c->pointer);
    atomic_exchange(&c->pointer, NULL);
    DATA("exchange for null", c->pointer);
    atomic_exchange(&c->pointer, b);
    POINTER("exchange", c->pointer);
    atomic_store(&c->address, (uintptr_t)a);
    POINTER("atomic integer", c->address);
    atomic_fetch_add(&c->address, 8);
    POINTER("atomic sum", c->address);
    uintptr_t nothing_yet = 0;
    atomic_store(&c->address, 0);
    atomic_compare_exchange_strong(&c->address, &nothing_yet, (uintptr_t)b);
    POINTER("compare and exchange of an integer", c->address);
}

static int by_number(const void* one, const void* other) {
    const struct node* a = *(struct node* const*)one;
    const struct node* b = *(struct node* const*)other;
    return (a->number > b->number) - (a->number < b->number);
}

static void loops(struct node* a) {
    enum { k_count = 4096, k_some = 64 };
    struct node** words = malloc(k_some * sizeof *words);
    for (int i = 0; i < k_some; ++i) {
        words[i] = make();
        words[i]->number = i * 37 % k_some;
    }
    qsort(words, k_some, sizeof *words, by_number);
    for (int i = 0; i < k_some; ++i) {
        POINTER("sorted", words[i]);
        if (words[i]->number != i)
            ++wrong, printf("sorted wrongly\n");
    }
    words = realloc(words, k_count * sizeof *words);
    POINTER("realloc", words[k_some - 1]);
    fill((void**)words, k_count, a);
    POINTER("filled in a loop", words[4000]);
    advance((char**)words, k_count, 8);
    POINTER("advanced in a loop", words[4000]);
    long* copied = calloc(k_count, sizeof *copied);
    copy_longs(copied, (long*)words, k_count);
    POINTER("copied in a loop", copied[4000]);
    int* which = calloc(k_count, sizeof *which);
    for (int i = 0; i < k_count; i += 2)
        which[i] = 1;
    void** chosen = calloc(k_count, sizeof *chosen);
    choose(chosen, (void**)words, which, k_count);
    POINTER("chosen in a loop", chosen[4000]);
    DATA("not chosen in a loop", chosen[4001]);
    fill((void**)words, k_count, NULL);
    NONE("nulls in a loop", words[4000]);
    fill((void**)words, k_count, a);
    count_up((long*)words, k_count);
    DATA("numbers in a loop", words[4000]);
}

static void library_calls(void) {
    char** end = malloc(sizeof *end);
    strtol("12x", end, 10);
    POINTER("strtol", *end);
    *end = NULL;
    strtod("1.5x", end);
    POINTER("strtod", *end);
    *end = NULL;
    char* text = strdup("a,b");
    strtok_r(text, ",", end);
    POINTER("strtok_r", *end);
    char** line = calloc(1, sizeof *line);
    size_t* room = calloc(1, sizeof *room);
    FILE* file = fopen("/proc/self/status", "r");
    while (getline(line, room, file) > 0)
        ;
    fclose(file);
    POINTER("getline", *line);
    if (asprintf(line, "%d", 5) < 0)
        ++wrong;
    POINTER("asprintf", *line);
    void** aligned = calloc(1, sizeof *aligned);
    if (posix_memalign(aligned, 64, 100) != 0 || (uintptr_t)*aligned % 64 != 0)
        ++wrong, printf("posix_memalign\n");
    POINTER("posix_memalign", *aligned);
    void* (*copy)(void*, const void*, size_t) = memcpy; /* by its address */
    void** to = calloc(1, sizeof *to);
    copy(to, aligned, sizeof *to);
    POINTER("memcpy by its address", *to);
}

struct item {
    TAILQ_ENTRY(item) queue;
    RB_ENTRY(item) tree;
    SPLAY_ENTRY(item) splay;
    LIST_ENTRY(item) list;
    int key;
};
static int compare(struct item* a, struct item* b) { return (a->key > b->key) - (a->key < b->key); }
TAILQ_HEAD(queue, item);
LIST_HEAD(list, item);
RB_HEAD(tree, item);
SPLAY_HEAD(splay, item);
RB_PROTOTYPE(tree, item, tree, compare)
RB_GENERATE(tree, item, tree, compare)
SPLAY_PROTOTYPE(splay, item, splay, compare)
SPLAY_GENERATE(splay, item, splay, compare)

static void structures(void) {
    struct {
        struct queue queue;
        struct list list;
        struct tree tree;
        struct splay splay;
    }* heads = calloc(1, sizeof *heads);
    enum { k_items = 200 };
    struct item* items[k_items];
    TAILQ_INIT(&heads->queue);
    LIST_INIT(&heads->list);
    RB_INIT(&heads->tree);
    SPLAY_INIT(&heads->splay);
    for (int i = 0; i < k_items; ++i) {
        items[i] = calloc(1, sizeof *items[i]);
        items[i]->key = i * 61 % k_items;
        TAILQ_INSERT_TAIL(&heads->queue, items[i], queue);
        LIST_INSERT_HEAD(&heads->list, items[i], list);
        RB_INSERT(tree, &heads->tree, items[i]);
        SPLAY_INSERT(splay, &heads->splay, items[i]);
    }
    for (int i = 0; i < k_items / 2; i += 3) {
        TAILQ_REMOVE(&heads->queue, items[i], queue);
        LIST_REMOVE(items[i], list);
        RB_REMOVE(tree, &heads->tree, items[i]);
        SPLAY_REMOVE(splay, &heads->splay, items[i]);
        free(items[i]);
        items[i] = NULL;
    }
    for (int i = 0; i < k_items; ++i)
        for (size_t at = 0; items[i] != NULL && at < offsetof(struct item, key); at += sizeof(void*)) {
            void** word = (void**)((char*)items[i] + at);
            if ((uintptr_t)*word > 65536)
                POINTER("queue.h and tree.h", *word);
        }
}

static sigjmp_buf back;
static void jumps(struct node* a, struct node* b) {
    if (setjmp(back) == 0) {
        a->next = b;
        longjmp(back, 1);
    }
    POINTER("before a longjmp", a->next);
}

int main(void) {
    struct node* a = make();
    struct node* b = make();
    plain_stores(a, b);
    initialisers();
    copies(a, b);
    unions(a, b);
    integers(a, b);
    atomics(a, b);
    loops(a);
    library_calls();
    structures();
    jumps(a, b);
    printf("%d cases, %d wrong\n", cases, wrong);
    return wrong != 0;
}
