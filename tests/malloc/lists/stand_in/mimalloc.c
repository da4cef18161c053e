/* The part of mimalloc's own interface that its tests use, by the functions of the standard: so that they test any malloc. What has no
   counterpart returns nothing, and the tests of it do not count. */
#include <mimalloc.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

void mi_option_disable(mi_option_t option) { (void)option; }

void* mi_malloc(size_t bytes) { return malloc(bytes); }
void* mi_malloc_small(size_t bytes) { return malloc(bytes); }
void* mi_calloc(size_t count, size_t bytes) { return calloc(count, bytes); }
void* mi_zalloc(size_t bytes) { return calloc(1, bytes); }
void* mi_zalloc_small(size_t bytes) { return calloc(1, bytes); }
void* mi_realloc(void* block, size_t bytes) { return realloc(block, bytes); }
void* mi_reallocarray(void* block, size_t count, size_t bytes) { return reallocarray(block, count, bytes); }
void mi_free(void* block) { free(block); }
size_t mi_usable_size(const void* block) { return malloc_usable_size((void*)block); }
char* mi_realpath(const char* name, char* into) { return realpath(name, into); }

int mi_posix_memalign(void** into, size_t alignment, size_t bytes) { return posix_memalign(into, alignment, bytes); }
void* mi_memalign(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }
void* mi_malloc_aligned(size_t bytes, size_t alignment) { return memalign(alignment, bytes); }
void* mi_zalloc_aligned(size_t bytes, size_t alignment) {
    void* block = memalign(alignment, bytes);
    return block == NULL ? NULL : memset(block, 0, bytes);
}
void* mi_calloc_aligned(size_t count, size_t bytes, size_t alignment) {
    return mi_zalloc_aligned(count * bytes, alignment);
}

void* mi_malloc_aligned_at(size_t bytes, size_t alignment, size_t offset) {
    (void)bytes;
    (void)alignment;
    (void)offset;
    return NULL;
}

mi_heap_t* mi_heap_new(void) { return NULL; }
void mi_heap_destroy(mi_heap_t* heap) { (void)heap; }
void mi_heap_delete(mi_heap_t* heap) { (void)heap; }
bool mi_heap_contains_block(mi_heap_t* heap, const void* block) {
    (void)heap;
    (void)block;
    return false;
}
void* mi_heap_malloc(mi_heap_t* heap, size_t bytes) {
    (void)heap;
    return malloc(bytes);
}
void* mi_heap_malloc_aligned(mi_heap_t* heap, size_t bytes, size_t alignment) {
    (void)heap;
    return memalign(alignment, bytes);
}
