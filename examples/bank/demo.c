/*
 * The bank, killed at random moments: bank_demo [FILE] [--kills N] [--accounts N] [--seed N]. After each kill the heap is opened
 * again: every transfer of the last acknowledged snapshot is there, and the books balance.
 */
#define _POSIX_C_SOURCE 200809L
#include "service.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct settings {
    char directory[256]; /* made for the heap, if it is not the caller's; else empty */
    char path[512];
    unsigned long kills;
    unsigned long accounts;
    unsigned long seed;
};

static void fail(const char* what) {
    fprintf(stderr, "bank_demo: %s\n", what);
    exit(1);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static struct settings settings_of(int argc, char** argv) {
    struct settings chosen = {"", "", 10, 100000, 1};
    for (int i = 1; i < argc; ++i) {
        unsigned long* const number = strcmp(argv[i], "--kills") == 0      ? &chosen.kills
                                      : strcmp(argv[i], "--accounts") == 0 ? &chosen.accounts
                                      : strcmp(argv[i], "--seed") == 0     ? &chosen.seed
                                                                           : NULL;
        if (number == NULL && argv[i][0] != '-' && chosen.path[0] == '\0' && strlen(argv[i]) < sizeof chosen.path) {
            strcpy(chosen.path, argv[i]);
            continue;
        }
        char* end = "?";
        if (number != NULL && i + 1 < argc)
            *number = strtoul(argv[++i], &end, 10);
        if (*end != '\0' || chosen.accounts < 2) {
            fprintf(stderr, "usage: bank_demo [FILE] [--kills N] [--accounts N] [--seed N]\n");
            exit(2);
        }
    }
    if (chosen.path[0] == '\0') {
        const char* const parent = getenv("TMPDIR");
        snprintf(chosen.directory, sizeof chosen.directory, "%s/bank-XXXXXX", parent != NULL ? parent : "/tmp");
        if (mkdtemp(chosen.directory) == NULL)
            fail("cannot make a directory for the heap");
        snprintf(chosen.path, sizeof chosen.path, "%s/bank.rem", chosen.directory);
    }
    return chosen;
}

/* Lets the bank work in a process of its own, kills that after a while, and returns what it acknowledged last. */
static struct acknowledgement work_and_kill(const struct settings* chosen, double enough) {
    struct acknowledgement last = {0, 0};
    struct acknowledgement next;
    int ends[2];
    int status;
    fflush(stdout);
    if (pipe(ends) != 0)
        fail("no pipe");
    const pid_t child = fork();
    if (child < 0)
        fail("no process");
    if (child == 0) {
        struct bank* bank;
        close(ends[0]);
        rem_heap* const heap = bank_open(chosen->path, chosen->accounts, &bank);
        serve(heap, bank, ends[1]);
    }
    close(ends[1]);
    double end = 0; /* from the first snapshot on */
    while ((end == 0 || seconds() < end) && read(ends[0], &next, sizeof next) == (ssize_t)sizeof next) {
        last = next;
        if (end == 0)
            end = seconds() + enough;
    }
    kill(child, SIGKILL);
    while (read(ends[0], &next, sizeof next) == (ssize_t)sizeof next)
        last = next;
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail("the bank ended by itself");
    return last;
}

int main(int argc, char** argv) {
    const struct settings chosen = settings_of(argc, argv);
    uint64_t wrong = 0;
    srand((unsigned)chosen.seed);
    printf("A bank of %lu accounts in %s:\n%d writers, %d readers, a snapshot when %d pages have changed.\n\n",
           chosen.accounts, chosen.path, k_writers, k_readers, k_threshold_pages);
    printf("  kill   snapshots   acknowledged     recovered   opened in\n");
    for (unsigned long i = 1; i <= chosen.kills; ++i) {
        const struct acknowledgement last = work_and_kill(&chosen, 0.3 * rand() / RAND_MAX);
        struct bank* bank;
        const double started = seconds();
        rem_heap* const heap = bank_open(chosen.path, chosen.accounts, &bank);
        const double opened = seconds() - started;
        printf("  %4lu %11llu %14llu %13llu %8.1f ms\n", i, (unsigned long long)last.snapshots,
               (unsigned long long)last.transfers, (unsigned long long)bank->transfers, 1e3 * opened);
        const char* const fault = bank_fault(bank);
        if (fault != NULL) {
            printf("WRONG: %s\n", fault);
            ++wrong;
        }
        if (bank->transfers < last.transfers) {
            printf("WRONG: transfers of a snapshot are missing\n");
            ++wrong;
        }
        if (rem_verify(heap, NULL, NULL, NULL) != REM_OK) {
            printf("WRONG: %s\n", rem_last_error()->message);
            ++wrong;
        }
        must(rem_close(heap));
    }
    if (chosen.directory[0] != '\0') {
        unlink(chosen.path);
        rmdir(chosen.directory);
    }
    printf("\n%s\n",
           wrong != 0 ? "The bank was damaged." : "Nothing acknowledged was lost, nothing half done was kept.");
    return wrong != 0;
}
