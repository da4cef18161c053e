/* The part of jemalloc's own interface that its tests use, by the functions of the standard: so that they test any malloc. Nothing here keeps memory
   or hides an error of the malloc below. Not here: arenas, thread caches and growing in place, which only jemalloc has. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { k_log_of_alignment = 63, k_zero = 64 }; /* as MALLOCX_LG_ALIGN and MALLOCX_ZERO write them */

static size_t alignment_of(int flags) { return (size_t)1 << (flags & k_log_of_alignment); }

size_t nallocx(size_t bytes, int flags) {
    size_t alignment = alignment_of(flags);
    if (bytes > PTRDIFF_MAX - alignment)
        return 0;
    void* block = memalign(alignment, bytes);
    size_t usable = malloc_usable_size(block);
    free(block);
    return usable;
}

void* mallocx(size_t bytes, int flags) {
    void* block = flags == k_zero                     ? calloc(1, bytes)
                  : (flags & k_log_of_alignment) == 0 ? malloc(bytes)
                                                      : memalign(alignment_of(flags), bytes);
    if (block != NULL && (flags & k_zero) != 0)
        memset(block, 0, bytes);
    return block;
}

void* rallocx(void* block, size_t bytes, int flags) {
    size_t before = malloc_usable_size(block);
    if ((flags & ~k_log_of_alignment) == 0 && alignment_of(flags) <= _Alignof(max_align_t))
        return realloc(block, bytes);
    void* made = mallocx(bytes, flags);
    if (made == NULL)
        return NULL;
    memcpy(made, block, before < bytes ? before : bytes);
    free(block);
    return made;
}

size_t sallocx(const void* block, int flags) {
    (void)flags;
    return malloc_usable_size((void*)block);
}

void dallocx(void* block, int flags) {
    (void)flags;
    free(block);
}

void sdallocx(void* block, size_t bytes, int flags) {
    if (bytes > malloc_usable_size(block))
        abort();
    dallocx(block, flags);
}

/* The largest size class, the number of these, and "give memory back": what tests of the standard's functions ask. */
int mallctl(const char* name, void* old, size_t* old_bytes, void* new, size_t new_bytes) {
    (void)new;
    (void)new_bytes;
    if (strcmp(name, "arena.0.purge") == 0)
        return malloc_trim(0), 0;
    if (strcmp(name, "arenas.nlextents") != 0 || *old_bytes != sizeof(unsigned))
        return ENOENT;
    *(unsigned*)old = 1;
    return 0;
}

int mallctlnametomib(const char* name, size_t* numbers, size_t* count) {
    (void)numbers;
    (void)count;
    return strcmp(name, "arenas.lextent.0.size") == 0 ? 0 : ENOENT;
}

int mallctlbymib(const size_t* numbers, size_t count, void* old, size_t* old_bytes, void* new, size_t new_bytes) {
    (void)numbers;
    (void)count;
    (void)new;
    (void)new_bytes;
    if (*old_bytes != sizeof(size_t))
        return EINVAL;
    *(size_t*)old = PTRDIFF_MAX;
    return 0;
}
