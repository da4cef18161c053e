#define _POSIX_C_SOURCE 200809L
#include "service.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct worker {
    rem_heap* heap;
    struct bank* bank;
    uint64_t random;
    int acknowledgements;
};

static uint64_t next_random(uint64_t* state) { /* xorshift64* */
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

static struct account* any_account(struct worker* self) {
    struct account* found = NULL;
    while (found == NULL)
        found = bank_find(self->bank, next_random(&self->random) % self->bank->next_number);
    return found;
}

/* Pays from one account to another; now and then opens an account, or closes one. */
static void transfer(struct worker* self) {
    struct account* const from = any_account(self);
    struct account* to = any_account(self);
    const uint64_t kind = next_random(&self->random) % 20;
    if (kind == 0) {
        to = bank_add(self->heap, self->bank);
        if (to == NULL)
            return;
    }
    const int64_t amount = kind == 1 ? from->balance : (int64_t)(next_random(&self->random) % 100);
    from->balance -= amount;
    to->balance += amount;
    if (kind == 1 && from != to)
        bank_remove(self->bank, from);
    ++self->bank->transfers;
}

static void* write_transfers(void* argument) {
    struct worker* const self = argument;
    for (;;) {
        must(rem_write_begin(self->heap));
        transfer(self);
        must(rem_write_end(self->heap));
    }
    return NULL;
}

static void* read_balances(void* argument) {
    struct worker* const self = argument;
    for (;;) {
        must(rem_read_begin(self->heap));
        const char* const fault = bank_fault(self->bank);
        must(rem_read_end(self->heap));
        if (fault != NULL) {
            fprintf(stderr, "bank: a reader sees that %s\n", fault);
            exit(1);
        }
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return NULL;
}

static void* take_snapshots(void* argument) {
    struct worker* const self = argument;
    struct acknowledgement done = {0, 0};
    int looks = 0;
    for (;;) {
        size_t changed;
        must(rem_changed_pages(self->heap, &changed));
        if (changed < k_threshold_pages && (changed == 0 || ++looks < k_looks_max)) {
            nanosleep(&(struct timespec){0, 1000000}, NULL);
            continue;
        }
        looks = 0;
        must(rem_read_begin(self->heap));
        const uint64_t transfers = self->bank->transfers;
        must(rem_read_end(self->heap));
        must(rem_commit(self->heap, REM_DURABLE));
        ++done.snapshots;
        done.transfers = transfers;
        if (write(self->acknowledgements, &done, sizeof done) != (ssize_t)sizeof done)
            exit(1);
    }
    return NULL;
}

void serve(rem_heap* heap, struct bank* bank, int acknowledgements) {
    static struct worker workers[k_writers + k_readers + 1];
    pthread_t threads[k_writers + k_readers + 1];
    const size_t count = sizeof threads / sizeof *threads;
    for (size_t i = 0; i < count; ++i) {
        void* (*const work)(void*) = i < k_writers               ? write_transfers
                                     : i < k_writers + k_readers ? read_balances
                                                                 : take_snapshots;
        workers[i] = (struct worker){heap, bank, bank->transfers * 31 + i + 1, acknowledgements};
        if (pthread_create(&threads[i], NULL, work, &workers[i]) != 0)
            exit(1);
    }
    for (size_t i = 0; i < count; ++i)
        pthread_join(threads[i], NULL);
}
