#define _GNU_SOURCE
#include "old_library.h"

#include <stdlib.h>
#include <string.h>

int old_words_add(struct old_words* words, const char* word) {
    struct old_entry* entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return -1;
    entry->word = strdup(word);
    if (words->count == words->room) {
        words->room = words->room == 0 ? 4 : words->room * 2;
        words->by_number = realloc(words->by_number, words->room * sizeof *words->by_number);
    }
    if (entry->word == NULL || words->by_number == NULL)
        return -1;
    words->by_number[words->count++] = entry->word;
    entry->next = words->first;
    words->first = entry;
    return 0;
}

int old_words_remove_first(struct old_words* words) {
    struct old_entry* first = words->first;
    if (first == NULL)
        return -1;
    words->first = first->next;
    --words->count;
    free(first->word);
    free(first);
    return 0;
}
