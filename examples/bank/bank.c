#include "bank.h"

#include <stdio.h>
#include <stdlib.h>

enum { k_first_buckets = 1024, k_first_balance = 1000 };

void must(rem_status status) {
    if (status != REM_OK) {
        fprintf(stderr, "bank: %s\n", rem_last_error()->message);
        exit(1);
    }
}

static size_t bucket_of(const struct bank* bank, uint64_t number) {
    return (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (bank->bucket_count - 1);
}

rem_heap* bank_open(const char* path, size_t accounts, struct bank** bank) {
    const rem_options options = {.size = sizeof options, .kind = REM_SNAPSHOT};
    rem_heap* heap;
    size_t i;
    must(rem_open(path, &options, &heap));
    *bank = REM_ROOT_GET(heap, "bank", struct bank);
    if (*bank != NULL)
        return heap;

    must(rem_write_begin(heap));
    *bank = rem_calloc(heap, 1, sizeof **bank);
    if (*bank == NULL)
        must(rem_last_error()->status);
    (*bank)->bucket_count = k_first_buckets;
    (*bank)->buckets = rem_calloc(heap, k_first_buckets, sizeof(struct account*));
    if ((*bank)->buckets == NULL)
        must(rem_last_error()->status);
    for (i = 0; i < accounts; ++i) {
        struct account* const account = bank_add(heap, *bank);
        if (account == NULL)
            must(rem_last_error()->status);
        account->balance = k_first_balance;
        (*bank)->money += k_first_balance;
    }
    must(REM_ROOT_SET(heap, "bank", *bank, struct bank));
    must(rem_write_end(heap));
    must(rem_commit(heap, REM_DURABLE)); /* all of it, or there is no bank */
    return heap;
}

struct account* bank_find(const struct bank* bank, uint64_t number) {
    struct account* each = bank->buckets[bucket_of(bank, number)];
    while (each != NULL && each->number != number)
        each = each->next;
    return each;
}

/* Twice as many buckets; when there is no memory for them, the chains get longer. */
static void grow(rem_heap* heap, struct bank* bank) {
    struct account** const former = bank->buckets;
    const size_t former_count = bank->bucket_count;
    size_t i;
    struct account** const buckets = rem_calloc(heap, 2 * former_count, sizeof *buckets);
    if (buckets == NULL)
        return;
    bank->buckets = buckets;
    bank->bucket_count = 2 * former_count;
    for (i = 0; i < former_count; ++i) {
        while (former[i] != NULL) {
            struct account* const moved = former[i];
            struct account** const bucket = &buckets[bucket_of(bank, moved->number)];
            former[i] = moved->next;
            moved->next = *bucket;
            *bucket = moved;
        }
    }
    must(rem_free(former));
}

struct account* bank_add(rem_heap* heap, struct bank* bank) {
    struct account** bucket;
    struct account* const account = rem_alloc(heap, sizeof *account);
    if (account == NULL)
        return NULL;
    if (bank->account_count == bank->bucket_count)
        grow(heap, bank);
    account->number = bank->next_number++;
    account->balance = 0;
    bucket = &bank->buckets[bucket_of(bank, account->number)];
    account->next = *bucket;
    *bucket = account;
    ++bank->account_count;
    return account;
}

void bank_remove(struct bank* bank, struct account* account) {
    struct account** link = &bank->buckets[bucket_of(bank, account->number)];
    while (*link != account)
        link = &(*link)->next;
    *link = account->next;
    --bank->account_count;
    must(rem_free(account));
}

const char* bank_fault(const struct bank* bank) {
    size_t i;
    size_t accounts = 0;
    int64_t money = 0;
    for (i = 0; i < bank->bucket_count; ++i) {
        const struct account* each;
        for (each = bank->buckets[i]; each != NULL; each = each->next) {
            if (bucket_of(bank, each->number) != i)
                return "an account is in another bucket than its own";
            if (each->number >= bank->next_number)
                return "an account has a number that was never given";
            if (++accounts > bank->account_count)
                return "there are more accounts than the bank has opened";
            money += each->balance;
        }
    }
    if (accounts != bank->account_count)
        return "there are fewer accounts than the bank has opened";
    if (money != bank->money)
        return "money was made or lost";
    return NULL;
}
