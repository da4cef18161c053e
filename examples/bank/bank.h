/*
 * A bank in a heap: accounts in a hash table of this program's own, with ordinary pointers. Money is neither made nor lost: the
 * sum of all balances is what the first accounts were opened with.
 */
#ifndef BANK_H
#define BANK_H

#include <remanence/remanence.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct account {
    uint64_t number;
    int64_t balance;
    struct account* next; /* in its bucket */
};

struct bank {
    struct account** buckets;
    size_t bucket_count; /* a power of two */
    size_t account_count;
    uint64_t next_number;
    uint64_t transfers;
    int64_t money;
};

/* Opens the heap, and opens the bank with `accounts` accounts if there is none. NULL on failure, which is told on stderr. */
rem_heap* bank_open(const char* path, size_t accounts, struct bank** bank);

struct account* bank_find(const struct bank* bank, uint64_t number);
/* NULL when the heap has no memory. */
struct account* bank_add(rem_heap* heap, struct bank* bank);
/* Takes it out of the bank, and frees it. */
void bank_remove(struct bank* bank, struct account* account);

/* What is wrong with the bank; NULL: nothing. */
const char* bank_fault(const struct bank* bank);

/* Ends the program when a call has failed. */
void must(rem_status status);

#endif
