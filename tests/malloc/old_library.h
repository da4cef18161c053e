/* A library as there are many: it knows malloc(), and nothing of heaps. */
#ifndef OLD_LIBRARY_H
#define OLD_LIBRARY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct old_entry {
    char* word;
    struct old_entry* next;
};
struct old_words {
    struct old_entry* first;
    const char** by_number;
    size_t count;
    size_t room;
};

/* 0, or -1 when there is no memory. */
int old_words_add(struct old_words* words, const char* word);
/* -1: it is not there. */
int old_words_remove_first(struct old_words* words);

#ifdef __cplusplus
}
#endif
#endif
