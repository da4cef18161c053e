/*
 * The threads that work in the bank: writers, readers, and the one that takes snapshots: when so many pages have changed, or
 * fewer after so many looks.
 */
#ifndef BANK_SERVICE_H
#define BANK_SERVICE_H

#include "bank.h"

enum { k_writers = 4, k_readers = 2, k_threshold_pages = 64, k_looks_max = 100 };

/* What the snapshot thread says when a snapshot is durable. */
struct acknowledgement {
    uint64_t snapshots;
    uint64_t transfers; /* that it holds, at least */
};

/* Works until the process ends. Acknowledgements are written to this descriptor. */
void serve(rem_heap* heap, struct bank* bank, int acknowledgements);

#endif
