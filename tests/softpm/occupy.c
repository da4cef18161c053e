/* Loaded before a program: takes 1 GiB of addresses at OCCUPY, so that a heap that lies there is mapped elsewhere. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>

__attribute__((constructor)) static void occupy(void) {
    void* const wanted = (void*)strtoul(getenv("OCCUPY"), NULL, 16);
    if (mmap(wanted, 1 << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != wanted)
        abort();
}
