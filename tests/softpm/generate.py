"""Programs in C with pointers of all kinds, made by chance: generate.py SEED > program.c

A program is made of parts. Each part has a struct in the root with its members in any order, and functions: `make` and `change`, which
build and change what it keeps, and `dump`, which prints it without addresses. Compiled plainly it makes, dumps, changes and dumps. With -DKEPT
its first process makes, takes a point, spoils everything and kills itself; the next one dumps, changes and dumps, and must print the same.
"""

import random
import sys

HEAD = """
#include <ctype.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef KEPT
#include <softpm.h>
#endif

static unsigned state_of_random;
static unsigned pick(unsigned below) {
    state_of_random = state_of_random * 1103515245u + 12345u;
    return (state_of_random >> 8) % below;
}
"""

# The functions of a part are <name>_make, _change and _dump, with the part's struct. @ is the part's name, $a, $b, … are numbers by chance;
# {members} of a struct stand in any order.
PARTS = {
    # Both directions, and heads that are pointers to pointers.
    "list": """
struct @_node { {struct @_node* next; struct @_node** place; long value; char text[$a];} };
struct @ { {struct @_node* first; struct @_node** end; struct @_node* favourite; int count;} };
static void @_push(struct @* o, long value) {
    struct @_node* n = malloc(sizeof *n);
    memset(n, $b, sizeof *n);
    n->value = value;
    snprintf(n->text, sizeof n->text, "%ld", value);
    n->next = NULL;
    n->place = o->end;
    *o->end = n;
    o->end = &n->next;
    ++o->count;
}
static void @_drop(struct @* o, struct @_node* n) {
    *n->place = n->next;
    if (n->next != NULL) n->next->place = n->place; else o->end = n->place;
    if (o->favourite == n) o->favourite = n->next;
    --o->count;
    free(n);
}
static void @_make(struct @* o) {
    o->end = &o->first;
    for (int i = 0; i < 30 + $a; ++i) @_push(o, pick(900));
    o->favourite = o->first->next;
}
static void @_change(struct @* o) {
    for (struct @_node *n = o->first, *next; n != NULL; n = next) {
        next = n->next;
        if (n->value % 3 == 0) @_drop(o, n);
    }
    for (int i = 0; i < 20; ++i) @_push(o, 1000 + pick(100));
}
static void @_dump(const struct @* o) {
    for (struct @_node* n = o->first; n != NULL; n = n->next) printf("%ld/%s/%d ", n->value, n->text, (*n->place == n) + 2 * (n == o->favourite));
    printf("%d %d\\n", o->count, *o->end == NULL);
}
""",
    # Links into the middle of objects.
    "links": """
struct @_link { struct @_link *before, *after; };
struct @_thing { {int number; struct @_link link; char pad[$a]; struct @_link other;} };
struct @ { {struct @_link all; struct @_link odd; int unused[$b];} };
static void @_insert(struct @_link* head, struct @_link* link) {
    *link = (struct @_link){head->before, head};
    head->before->after = link;
    head->before = link;
}
static void @_make(struct @* o) {
    o->all = (struct @_link){&o->all, &o->all};
    o->odd.before = o->odd.after = &o->odd;
    for (int i = 0; i < 40; ++i) {
        struct @_thing* t = calloc(1, sizeof *t);
        t->number = (int)pick(1000);
        @_insert(&o->all, &t->link);
        if (t->number & 1) @_insert(&o->odd, &t->other);
    }
}
static void @_change(struct @* o) {
    for (struct @_link *l = o->odd.after, *next; l != &o->odd; l = next) {
        next = l->after;
        struct @_thing* t = (struct @_thing*)((char*)l - offsetof(struct @_thing, other));
        if (t->number % 5 != 0) continue;
        l->before->after = l->after; l->after->before = l->before;
        t->link.before->after = t->link.after; t->link.after->before = t->link.before;
        free(t);
    }
}
static void @_dump(const struct @* o) {
    for (struct @_link* l = o->all.after; l != &o->all; l = l->after) printf("%d ", ((struct @_thing*)((char*)l - offsetof(struct @_thing, link)))->number);
    for (struct @_link* l = o->odd.before; l != &o->odd; l = l->before) printf("<%d ", ((struct @_thing*)((char*)l - offsetof(struct @_thing, other)))->number);
    puts("");
}
""",
    "tree": """
struct @_node { {struct @_node* child[2]; struct @_node* parent; short key; double weight; char pad[$a];} };
struct @ { {struct @_node* root; struct @_node* last; long count;} };
static void @_add(struct @* o, int key) {
    struct @_node *parent = NULL, **place = &o->root;
    while (*place != NULL) {
        if ((*place)->key == key) return;
        parent = *place;
        place = &parent->child[key > parent->key];
    }
    *place = malloc(sizeof **place);
    **place = (struct @_node){.parent = parent, .key = (short)key, .weight = key / 2.0};
    o->last = *place;
    ++o->count;
}
static void @_rotate(struct @* o, struct @_node* n, int way) {
    struct @_node* up = n->child[!way];
    if (up == NULL) return;
    n->child[!way] = up->child[way];
    if (up->child[way] != NULL) up->child[way]->parent = n;
    up->parent = n->parent;
    *(n->parent == NULL ? &o->root : &n->parent->child[n == n->parent->child[1]]) = up;
    up->child[way] = n;
    n->parent = up;
}
static void @_make(struct @* o) { for (int i = 0; i < 60; ++i) @_add(o, (int)pick(5000)); }
static void @_change(struct @* o) {
    for (int i = 0; i < 30; ++i) {
        @_add(o, (int)pick(5000));
        @_rotate(o, o->last->parent == NULL ? o->root : o->last->parent, (int)pick(2));
    }
}
static void @_walk(const struct @_node* n, const struct @_node* parent) {
    if (n == NULL) return;
    @_walk(n->child[0], n);
    printf("%d/%.1f/%d ", n->key, n->weight, n->parent == parent);
    @_walk(n->child[1], n);
}
static void @_dump(const struct @* o) { @_walk(o->root, NULL); printf("%ld %d\\n", o->count, o->last->key); }
""",
    # qsort, realloc, memmove, memcpy and loops of pointers; into the middle of other blocks and to their ends.
    "sorted": """
struct @ { {char** word; size_t count; size_t room; char* text; char** middle; char** end; char pad[$a];} };
static int @_order(const void* a, const void* b) { return strcmp(*(char* const*)a, *(char* const*)b); }
static void @_add(struct @* o, char* word) {
    if (o->count == o->room) {
        const ptrdiff_t at = o->middle - o->word;
        o->room = o->room * 2 + 3;
        o->word = realloc(o->word, o->room * sizeof *o->word);
        o->middle = o->word + at;
    }
    o->word[o->count++] = word;
    o->end = o->word + o->count;
}
static void @_make(struct @* o) {
    o->text = malloc($b * 40);
    for (int i = 0; i < $b * 40 - 1; ++i) o->text[i] = i % 7 == 6 ? ' ' : (char)('a' + pick(26));
    o->text[$b * 40 - 1] = 0;
    char* rest = NULL;
    for (char* w = strtok_r(o->text, " ", &rest); w != NULL; w = strtok_r(NULL, " ", &rest)) @_add(o, w + pick(strlen(w) < 3 ? 1 : 3));
    o->middle = o->word + o->count / 2;
    qsort(o->word, o->count, sizeof *o->word, @_order);
}
static void @_change(struct @* o) {
    memmove(o->word, o->word + 3, (o->count - 3) * sizeof *o->word);
    o->count -= 3;
    for (int i = 0; i < 25; ++i) @_add(o, strdup(o->word[pick((unsigned)o->count)]));
    char** copy = malloc(o->room * sizeof *copy);
    for (size_t i = 0; i < o->count; ++i) copy[o->count - 1 - i] = o->word[i];
    memcpy(o->word, copy, o->count * sizeof *copy);
    free(copy);
    qsort(o->word + 5, o->count - 5, sizeof *o->word, @_order);
}
static void @_dump(const struct @* o) {
    for (char** w = o->word; w != o->end; ++w) printf("%s ", *w);
    printf("%zu %s\\n", o->count, *o->middle);
}
""",
    "unions": """
union @_value { {char* text; long number; double real; void (*call)(int); union @_value* more; char bytes[16];} };
struct @_cell { {int kind; union @_value value; short pad[$b];} };
struct @ { struct @_cell cells[20 + $a]; };
static void @_one(int n) { printf("one %d ", n); }
static void @_two(int n) { printf("two %d ", n * $a); }
static void @_set(struct @_cell* c, unsigned kind) {
    c->kind = (int)kind;
    switch (kind) {
    case 0: c->value.text = strdup(&"some text"[pick(5)]); break;
    case 1: c->value.number = (long)pick(100000); break;
    case 2: c->value.real = pick(1000) / 3.0; break;
    case 3: c->value.call = pick(2) ? @_one : @_two; break;
    case 4: c->value.more = malloc(2 * sizeof *c->value.more); c->value.more[0].number = 5; c->value.more[1].text = "constant"; break;
    default: memset(c->value.bytes, 'x', 15); c->value.bytes[15] = 0;
    }
}
static void @_make(struct @* o) { for (int i = 0; i < 20 + $a; ++i) @_set(&o->cells[i], pick(6)); }
static void @_change(struct @* o) {
    for (int i = 0; i < 40; ++i) {
        struct @_cell *a = &o->cells[pick(20 + $a)], *b = &o->cells[pick(20 + $a)];
        const struct @_cell swap = *a;
        *a = *b;
        *b = swap;
        if (i % 3 == 0) @_set(a, pick(6));
    }
}
static void @_dump(const struct @* o) {
    for (int i = 0; i < 20 + $a; ++i) {
        const struct @_cell* c = &o->cells[i];
        switch (c->kind) {
        case 0: printf("%s ", c->value.text); break;
        case 1: printf("%ld ", c->value.number); break;
        case 2: printf("%f ", c->value.real); break;
        case 3: c->value.call(i); break;
        case 4: printf("%ld+%s ", c->value.more[0].number, c->value.more[1].text); break;
        default: printf("%s ", c->value.bytes);
        }
    }
    puts("");
}
""",
    # uintptr_t, also with tags, in arrays that loops copy and compute.
    "integers": """
struct @_box { {int value; char pad[$a];} };
struct @ { {struct @_box* boxes[16]; uintptr_t tagged[16]; intptr_t plain[16]; uint64_t* numbers; uintptr_t last;} };
static void @_tag(struct @* o) {
    for (int i = 0; i < 16; ++i) o->tagged[i] = (uintptr_t)o->boxes[i] | (uintptr_t)(i & 3);
    for (int i = 0; i < 16; ++i) o->plain[i] = (intptr_t)o->boxes[15 - i];
    o->last = o->tagged[$b];
}
static void @_make(struct @* o) {
    for (int i = 0; i < 16; ++i) { o->boxes[i] = calloc(1, sizeof(struct @_box) + 8); o->boxes[i]->value = (int)pick(10000); }
    o->numbers = calloc(20, 8);
    for (int i = 0; i < 20; ++i) o->numbers[i] = (uint64_t)pick(1u << 20) * pick(1u << 20);
    @_tag(o);
}
static void @_change(struct @* o) {
    for (int i = 0; i < 12; ++i) {
        const unsigned a = pick(16), b = pick(16);
        struct @_box* const box = o->boxes[a];
        o->boxes[a] = o->boxes[b];
        o->boxes[b] = box;
    }
    if ($b & 1) @_tag(o);
    o->tagged[3] = o->tagged[4] & ~(uintptr_t)3;
    memcpy(&o->plain[2], &o->tagged[3], sizeof(uintptr_t));
}
static void @_dump(const struct @* o) {
    for (int i = 0; i < 16; ++i)
        printf("%d/%d/%d/%d ", o->boxes[i]->value, ((struct @_box*)(o->tagged[i] & ~(uintptr_t)3))->value, (int)(o->tagged[i] & 3), ((struct @_box*)o->plain[i])->value);
    for (int i = 0; i < 20; ++i) printf("%llu ", (unsigned long long)o->numbers[i]);
    printf("%d\\n", ((struct @_box*)(o->last & ~(uintptr_t)3))->value);
}
""",
    # Constants and variables of the program, tables of functions.
    "tables": """
struct @_class { {const char* name; int (*apply)(int); const struct @_class* base;} };
static int @_add(int n) { return n + $a; }
static int @_times(int n) { return n * $b; }
static const struct @_class @_root = {.name = "root", .apply = @_add};
static const struct @_class @_classes[3] = {{.name = "a", .apply = @_times, .base = &@_root}, {.name = "b", .apply = @_add, .base = &@_classes[0]}, {.name = "c", .apply = @_times, .base = &@_classes[1]}};
static const char* const @_names[] = {"zero", "one", "two", "three"};
struct @_object { {const struct @_class* class; int state; const char* const* name; int (*direct)(int);} };
struct @ { {struct @_object** objects; int count; int (*calls[4])(int);} };
static void @_make(struct @* o) {
    o->count = 15;
    o->objects = calloc(15, sizeof *o->objects);
    for (int i = 0; i < 15; ++i) {
        struct @_object* x = o->objects[i] = malloc(sizeof *x);
        *x = (struct @_object){.class = &@_classes[pick(3)], .state = i, .name = &@_names[pick(4)], .direct = pick(2) ? @_add : @_times};
    }
    for (int i = 0; i < 4; ++i) o->calls[i] = i % 2 ? @_add : @_times;
}
static void @_change(struct @* o) {
    for (int i = 0; i < 15; ++i) {
        struct @_object* x = o->objects[i];
        if (x->class->base != NULL) x->class = x->class->base;
        x->state = x->class->apply(o->calls[i % 4](x->state) % 1000);
        x->direct = o->calls[pick(4)];
    }
}
static void @_dump(const struct @* o) {
    for (int i = 0; i < o->count; ++i) printf("%s/%d/%s/%d ", o->objects[i]->class->name, o->objects[i]->state, *o->objects[i]->name, o->objects[i]->direct(i));
    puts("");
}
""",
    # Structs by value: passed, returned, assigned, nested; a block that points into itself and moves.
    "values": """
struct @_pair { {const char* key; int* number;} };
struct @_big { {struct @_pair pairs[3]; struct @_pair* chosen; long sum; char pad[$a];} };
struct @_flexible { {size_t count; struct @_pair* self;} struct @_pair tail[]; };
struct @ { {struct @_big one; struct @_big* array; struct @_flexible* flexible;} };
static struct @_pair @_new(int n) {
    struct @_pair p;
    p.number = malloc(sizeof(int));
    *p.number = n;
    char text[30];
    snprintf(text, sizeof text, "key %d", n);
    p.key = strdup(text);
    return p;
}
static struct @_big @_built(struct @_pair first, int n) {
    struct @_big b = {.sum = n};
    b.pairs[0] = first;
    for (int i = 1; i < 3; ++i) b.pairs[i] = @_new((int)pick(500));
    return b;
}
static struct @_big @_turned(struct @_big b) {
    const struct @_pair first = b.pairs[0];
    memmove(b.pairs, b.pairs + 1, 2 * sizeof first);
    b.pairs[2] = first;
    b.sum += *first.number;
    return b;
}
static void @_grow(struct @* o, size_t count) {
    const size_t old = o->flexible == NULL ? 0 : o->flexible->count;
    o->flexible = realloc(o->flexible, sizeof *o->flexible + count * sizeof(struct @_pair));
    o->flexible->count = count;
    for (size_t i = old; i < count; ++i) o->flexible->tail[i] = @_new((int)pick(90));
    o->flexible->self = &o->flexible->tail[count / 2];
}
static void @_make(struct @* o) {
    o->one = @_built(@_new(1), 3);
    o->one.chosen = &o->one.pairs[1];
    o->array = malloc(5 * sizeof *o->array);
    for (int i = 0; i < 5; ++i) { o->array[i] = @_built(o->one.pairs[i % 3], i); o->array[i].chosen = &o->array[(i + 2) % 5].pairs[i % 3]; }
    @_grow(o, $b + 3);
}
static void @_change(struct @* o) {
    for (int i = 0; i < 5; ++i) o->array[i] = @_turned(o->array[i]);
    struct @_big* chosen = &o->array[pick(5)];
    o->one = @_turned(*chosen);
    @_grow(o, $b + 40);
}
static void @_dump(const struct @* o) {
    for (int i = 0; i < 5; ++i) for (int j = 0; j < 3; ++j) printf("%s=%d (%s) ", o->array[i].pairs[j].key, *o->array[i].pairs[j].number, o->array[i].chosen->key);
    printf("%s %ld ", o->one.chosen->key, o->one.sum);
    for (size_t i = 0; i < o->flexible->count; ++i) printf("%s,", o->flexible->tail[i].key);
    printf("%s\\n", o->flexible->self->key);
}
""",
    "hashed": """
struct @_entry { {char* key; void* value; struct @_entry* next;} };
struct @ { {struct @_entry** buckets; unsigned size; unsigned count;} };
static unsigned @_hash(const char* key) { unsigned h = $a; while (*key) h = h * 31 + (unsigned char)*key++; return h; }
static void @_resize(struct @* o, unsigned size) {
    struct @_entry** fresh = calloc(size, sizeof *fresh);
    for (unsigned i = 0; i < o->size; ++i)
        for (struct @_entry *e = o->buckets[i], *next; e != NULL; e = next) {
            struct @_entry** place = &fresh[@_hash(e->key) % size];
            next = e->next;
            e->next = *place;
            *place = e;
        }
    free(o->buckets);
    o->buckets = fresh;
    o->size = size;
}
static void @_put(struct @* o, int n) {
    char key[20];
    snprintf(key, sizeof key, "k%d", n);
    struct @_entry** place = &o->buckets[@_hash(key) % o->size];
    while (*place != NULL && strcmp((*place)->key, key) != 0) place = &(*place)->next;
    if (*place == NULL) {
        *place = calloc(1, sizeof **place);
        (*place)->key = strdup(key);
        ++o->count;
    }
    (*place)->value = n % 2 ? (void*)(*place)->key : (void*)(intptr_t)(n * 8);
}
static void @_remove(struct @* o, unsigned bucket) {
    struct @_entry* e = o->buckets[bucket % o->size];
    if (e == NULL) return;
    o->buckets[bucket % o->size] = e->next;
    free(e->key);
    free(e);
    --o->count;
}
static void @_make(struct @* o) { @_resize(o, 7); for (int i = 0; i < 50; ++i) @_put(o, (int)pick(300)); }
static void @_change(struct @* o) {
    for (int i = 0; i < 20; ++i) @_remove(o, pick(1000));
    @_resize(o, 20 + $b);
    for (int i = 0; i < 30; ++i) @_put(o, (int)pick(300));
}
static void @_dump(const struct @* o) {
    for (unsigned i = 0; i < o->size; ++i)
        for (struct @_entry* e = o->buckets[i]; e != NULL; e = e->next) {
            if (e->value == (void*)e->key) printf("%s:itself ", e->key);
            else printf("%s:%ld ", e->key, (long)(intptr_t)e->value);
        }
    printf("%u\\n", o->count);
}
""",
    # Atomic operations, variable arguments, arrays on the stack, rows of pointers; a pointer among characters.
    "others": """
struct @_item { {struct @_item* next; int number; char pad[$a];} };
struct @ { {struct @_item* stack; int** rows; int* past_the_end; char buffer[32] __attribute__((aligned(8))); void* many[6];} };
static void @_push(struct @* o, int n) {
    struct @_item* i = malloc(sizeof *i);
    i->number = n;
    i->next = __atomic_load_n(&o->stack, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&o->stack, &i->next, i, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {}
}
static void @_gather(struct @* o, int count, ...) {
    va_list list;
    va_start(list, count);
    void* local[6];
    for (int i = 0; i < count; ++i) local[i] = va_arg(list, void*);
    va_end(list);
    memcpy(o->many, local, (size_t)count * sizeof *local);
}
static void @_make(struct @* o) {
    for (int i = 0; i < 12; ++i) @_push(o, (int)pick(70));
    o->rows = malloc(4 * sizeof *o->rows);
    o->rows[0] = malloc(4 * $b * sizeof(int));
    for (int i = 0; i < 4 * $b; ++i) o->rows[0][i] = (int)pick(10);
    for (int i = 1; i < 4; ++i) o->rows[i] = o->rows[i - 1] + $b;
    o->past_the_end = o->rows[0] + 4 * $b;
    int* inside = &o->rows[2][1];
    memcpy(o->buffer + 8, &inside, sizeof inside);
    @_gather(o, 6, o->rows, o->stack, (void*)inside, o->stack->next, (void*)o, (void*)"text");
}
static void @_change(struct @* o) {
    struct @_item* all = __atomic_exchange_n(&o->stack, NULL, __ATOMIC_ACQ_REL);
    for (struct @_item* next; all != NULL; all = next) { next = all->next; all->next = o->stack; o->stack = all; }
    int* const first = o->rows[0];
    o->rows[0] = o->rows[3];
    o->rows[3] = first;
    o->many[0] = o->rows[1] > o->rows[0] ? o->many[1] : o->many[3];
}
static void @_dump(const struct @* o) {
    int* inside;
    memcpy(&inside, o->buffer + 8, sizeof inside);
    for (struct @_item* i = o->stack; i != NULL; i = i->next) printf("%d ", i->number);
    for (int i = 0; i < 4; ++i) for (int j = 0; j < $b; ++j) printf("%d,", o->rows[i][j]);
    printf(" %d %d %d %d %s\\n", *inside, o->past_the_end[-1], ((struct @_item*)o->many[1])->number, o->many[4] == (void*)o, (char*)o->many[5]);
}
""",
}


def shuffled(choose, text):
    """Puts the members between { and ;} into any order."""
    while (begin := text.find("{ {")) >= 0 or (begin := text.find("{{;")) >= 0:
        end = text.index(";}", begin)
        members = [each.strip() for each in text[begin + 3 : end].split(";")]
        choose.shuffle(members)
        text = text[:begin] + "{ " + " ".join(each + ";" for each in members) + text[end + 2 :]
    return text


def program(seed):
    choose = random.Random(seed)
    chosen = choose.choices(sorted(PARTS), k=6)
    names, text = [], HEAD
    for index, kind in enumerate(chosen):
        name = f"{kind}{index}"
        names.append(name)
        part = shuffled(choose, PARTS[kind]).replace("@", name)
        for variable in ("$a", "$b"):
            part = part.replace(variable, str(choose.randint(4, 13)))
        text += part
    text += "\nstruct root { " + " ".join(f"struct {name}* {name}_;" if choose.random() < 0.5 else f"struct {name} {name}_[1];" for name in names)
    text += " unsigned random; };\nstatic struct root* root;\n"
    for action, more in (("make", "make"), ("change", "change"), ("dump", "dump")):
        calls = "".join(f"    {name}_{more}(root->{name}_);\n" for name in names)
        text += f"static void {action}(void) {{\n    state_of_random = root->random;\n{calls}    root->random = state_of_random;\n}}\n"
    allocations = "".join(f"    root->{name}_ = calloc(1, sizeof *root->{name}_);\n" for name in names if f"struct {name}* {name}_;" in text)
    lazily = choose.choice(("P_LAZY", "P_DURABLE"))
    return (
        text
        + f"""
static void begin(void) {{
{allocations}    root->random = {seed};
    make();
}}

int main(void) {{
#ifdef KEPT
    const struct cattr how = {{.durability = {lazily}}}; /* how a point outlives the process: the operating system has it, or pSync() waited */
    pCSetAttr(0, &how);
    int id = pCRestoreAs(1, &root);
    if (id < 0) {{
        if ((id = pCAlloc(1, sizeof *root, (void**)&root)) < 0) return puts(pStatus()), 1;
        begin();
        if (pPoint(id) != 0 || (how.durability == P_DURABLE && pSync(id) != 0)) return puts(pStatus()), 1;
        printf("%p\\n", (void*)root);
        fflush(stdout);
        change(); /* after the point: must not be there */
        raise(SIGKILL);
    }}
    fputs(pStatus(), stderr);
#else
    root = calloc(1, sizeof *root);
    begin();
#endif
    dump();
    change();
    dump();
    return 0;
}}
"""
    )


if __name__ == "__main__":
    sys.stdout.write(program(int(sys.argv[1])))
