/* As marks.c, for what compilers make of wider code: vectors, 128-bit words, gathers and scatters, aggregates by value, bit-fields, and code of another
   file that becomes one with this one when it is linked (-flto, with -DOTHER_FILE for the second one). Prints what is wrong. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#define APART __attribute__((noinline))
typedef unsigned long two_words __attribute__((vector_size(16)));
typedef unsigned long four_words __attribute__((vector_size(32)));
typedef struct link {
    struct link *left, *right;
    long number;
} link;

/* Of the other file. */
link* other_make(long number);
void other_join(link* left, link* right);
void other_copy(void* to, const void* from, size_t bytes);
void other_each(void** words, size_t count, void* (*what)(void*));
uintptr_t other_tag(void* of, unsigned tag);

#ifdef OTHER_FILE
link* other_make(long number) {
    link* made = calloc(1, sizeof *made);
    made->number = number;
    return made;
}
void other_join(link* left, link* right) {
    left->right = right;
    right->left = left;
}
void other_copy(void* to, const void* from, size_t bytes) { memcpy(to, from, bytes); }
void other_each(void** words, size_t count, void* (*what)(void*)) {
    for (size_t i = 0; i < count; ++i)
        words[i] = what(words[i]);
}
uintptr_t other_tag(void* of, unsigned tag) { return (uintptr_t)of | tag; }
#else

static int cases, wrong;

static APART void expect(const char* what, const void* word, bool is_pointer) {
    const int mark = *(const volatile unsigned char*)(((uintptr_t)word >> 3) + 0x7fff8000);
    ++cases;
    if ((mark != 0) == is_pointer)
        return;
    ++wrong;
    printf("%s: the mark is %d, the word holds %s\n", what, mark, is_pointer ? "a pointer" : "none");
}
#define POINTER(what, word) expect(what, &(word), true)
#define DATA(what, word) expect(what, &(word), false)

struct big {
    link* head[3];
    long numbers[3];
    struct {
        char byte;
        link* inner;
    } nested[2];
};
struct flags {
    unsigned is_set : 1, kind : 7;
    unsigned long rest : 48;
    link* to;
};
struct __attribute__((aligned(16))) both {
    link* pointer;
    uint64_t count;
};

static APART void gather(link** to, link* const* from, const unsigned* which, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] = from[which[i]];
}
static APART void scatter(link** to, link* const* from, const unsigned* which, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[which[i]] = from[i];
}
static APART void scatter_some(link** to, link* const* from, const unsigned* which, const long* is_wanted, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (is_wanted[i])
            to[which[i]] = from[i];
}
static APART void reverse(link** words, size_t count) {
    for (size_t i = 0; i < count / 2; ++i) {
        link* const kept = words[i];
        words[i] = words[count - 1 - i];
        words[count - 1 - i] = kept;
    }
}
static APART void interleave(void** to, link* const* pointers, const long* numbers, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        to[2 * i] = pointers[i];
        to[2 * i + 1] = (void*)numbers[i];
    }
}
static APART void members(struct both* of, link* value, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        of[i].pointer = value;
        of[i].count = i;
    }
}
static APART void tags(uintptr_t* to, link* const* from, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] = (uintptr_t)from[i] | (i & 1);
}
static APART void differences(long* to, link* const* from, size_t count) {
    for (size_t i = 1; i < count; ++i)
        to[i] = (char*)from[i] - (char*)from[i - 1];
}
static APART void smaller(link** to, link* const* one, link* const* other, size_t count) {
    for (size_t i = 0; i < count; ++i)
        to[i] = (uintptr_t)one[i] < (uintptr_t)other[i] ? one[i] : other[i];
}
static APART struct big turned(struct big of) {
    link* const first = of.head[0];
    of.head[0] = of.head[2];
    of.head[2] = first;
    ++of.numbers[1];
    return of;
}
static APART void store_arguments(struct big* to, int count, ...) {
    va_list list;
    va_start(list, count);
    for (int i = 0; i < count; ++i)
        *to = va_arg(list, struct big);
    va_end(list);
}
static APART void store_wide(unsigned __int128* to, unsigned __int128 value) { *to = value; }
static APART void store_vector(two_words* to, two_words value) { *to = value; }
static APART void store_words(four_words* to, four_words value) { *to = value; }

static void loops(link* const* all, size_t count) {
    link** to = calloc(count * 2, sizeof *to);
    unsigned* which = calloc(count, sizeof *which);
    long* numbers = calloc(count, sizeof *numbers);
    for (size_t i = 0; i < count; ++i) {
        which[i] = (unsigned)(i * 7 % count);
        numbers[i] = (long)(i & 1);
    }
    gather(to, all, which, count);
    POINTER("gathered", to[count / 2]);
    memset(to, 0, count * sizeof *to);
    DATA("cleared", to[count / 2]);
    scatter(to, all, which, count);
    POINTER("scattered", to[count / 2]);
    POINTER("scattered", to[count - 1]);
    memset(to, 0, count * sizeof *to);
    scatter_some(to, all, which, numbers, count);
    for (size_t i = 0; i < count; ++i)
        expect("some scattered", &to[which[i]], i & 1);
    memcpy(to, all, count * sizeof *to);
    reverse(to, count);
    for (size_t i = 0; i < count; i += 5)
        POINTER("reversed", to[i]);
    interleave((void**)to, all, numbers, count);
    for (size_t i = 0; i < count; ++i)
        POINTER("interleaved", to[2 * i]);
    struct both* pairs = aligned_alloc(16, count * sizeof *pairs);
    memset(pairs, 1, count * sizeof *pairs);
    members(pairs, all[0], count);
    for (size_t i = 0; i < count; i += 3) {
        POINTER("a member in a loop", pairs[i].pointer);
        DATA("a number beside it", pairs[i].count);
    }
    uintptr_t* tagged = calloc(count, sizeof *tagged);
    tags(tagged, all, count);
    POINTER("tagged in a loop", tagged[3]);
    POINTER("tagged in a loop", tagged[count - 2]);
    differences((long*)tagged, all, count);
    for (size_t i = 1; i < count; ++i)
        DATA("differences in a loop", tagged[i]);
    smaller(to, all, to, count);
    POINTER("the smaller one in a loop", to[count / 2]);
}

static void aggregates(link* const* all) {
    struct big* of = calloc(4, sizeof *of);
    struct big local = {.head = {all[0], all[1], all[2]}, .numbers = {1, 2, 3}, .nested = {{'a', all[3]}, {'b', NULL}}};
    of[0] = local;
    POINTER("a local struct", of[0].head[1]);
    POINTER("nested", of[0].nested[0].inner);
    DATA("number of a local struct", of[0].numbers[1]);
    of[1] = turned(of[0]);
    POINTER("turned", of[1].head[2]);
    POINTER("turned, nested", of[1].nested[0].inner);
    DATA("turned, number", of[1].numbers[1]);
    store_arguments(&of[2], 2, of[0], of[1]);
    POINTER("a variadic struct", of[2].head[0]);
    DATA("a variadic struct, number", of[2].numbers[0]);
    struct big* volatile chosen = all[0]->number == 0 ? &of[1] : &of[0];
    of[3] = *chosen;
    POINTER("a chosen struct", of[3].head[1]);
    __builtin_memcpy_inline(&of[3].numbers[0], &of[3].head[0], 16);
    POINTER("an inline copy", of[3].numbers[1]);
    memmove(&of[3].head[1], &of[3].head[0], 32);
    POINTER("moved by a word", of[3].head[2]);
    struct flags* flags = calloc(1, sizeof *flags);
    flags->to = all[0];
    flags->is_set = 1;
    flags->rest = 12345;
    POINTER("beside bit-fields", flags->to);
    DATA("bit-fields", *flags);
}

static void wide(link* const* all) {
    unsigned __int128* word = aligned_alloc(16, 2 * sizeof *word);
    memset(word, 0, 2 * sizeof *word);
    void** const parts = (void**)word;
    store_wide(word, (unsigned __int128)(uintptr_t)all[0] << 64 | 5);
    POINTER("the upper half of 128 bits", parts[1]);
    DATA("the lower half of 128 bits", parts[0]);
    struct both* both = aligned_alloc(16, sizeof *both);
    struct both first = {all[0], 1}, second = {NULL, 7};
    __atomic_store(both, &first, __ATOMIC_SEQ_CST);
    POINTER("an atomic pair", both->pointer);
    *both = second;
    DATA("an atomic pair, its number", both->count);
    two_words* vector = aligned_alloc(16, 2 * sizeof *vector);
    store_vector(vector, (two_words){(uintptr_t)all[0], (uintptr_t)all[1]});
    POINTER("a vector of two", vector[0]);
    POINTER("a vector of two, the second", ((void**)vector)[1]);
    four_words* words = aligned_alloc(32, sizeof *words);
    store_words(words, (four_words){(uintptr_t)all[0], 7, (uintptr_t)all[1] | 1, 0});
    POINTER("a vector of words", ((void**)words)[0]);
    POINTER("a vector of words, tagged", ((void**)words)[2]);
    DATA("a vector of words, a number", ((void**)words)[1]);
    static void* labels[2];
    labels[0] = &&here;
here:
    POINTER("a label", labels[0]);
    static thread_local link* own;
    own = all[0];
    POINTER("of a thread", own);
    void* volatile from_assembly = NULL;
    __asm__("movq %1, %0" : "=m"(from_assembly) : "r"(all[0]));
    void** stored = malloc(sizeof *stored);
    *stored = from_assembly;
    POINTER("loaded from where assembly stored", *stored);
}

static void* next_of(void* of) { return ((link*)of)->right; }

static void another_file(link* const* all) {
    link* one = other_make(1);
    link* two = other_make(2);
    other_join(one, two);
    POINTER("joined elsewhere", one->right);
    POINTER("joined elsewhere", two->left);
    DATA("a number made elsewhere", one->number);
    link* copy = malloc(sizeof *copy);
    other_copy(copy, one, sizeof *copy);
    POINTER("copied elsewhere", copy->right);
    uintptr_t* tagged = malloc(sizeof *tagged);
    *tagged = other_tag(two, 1);
    POINTER("tagged elsewhere", *tagged);
    void** words = malloc(8 * sizeof *words);
    for (int i = 0; i < 8; ++i)
        words[i] = i % 2 ? one : all[0];
    all[0]->right = all[1];
    other_each(words, 8, next_of);
    POINTER("changed elsewhere, by a function of here", words[7]);
}

int main(void) {
    enum { k_count = 1027 };
    link** all = malloc(k_count * sizeof *all);
    for (int i = 0; i < k_count; ++i)
        all[i] = other_make(i);
    loops(all, k_count);
    loops(all, 16);
    aggregates(all);
    wide(all);
    another_file(all);
    printf("%d cases, %d wrong\n", cases, wrong);
    return wrong != 0;
}
#endif
