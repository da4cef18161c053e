/*
 * A program that is killed again and again: kill DIRECTORY. A child process pays from one account to another, each time in a
 * section, and says so when the section has ended; its parent kills it and looks at the heap: what was acknowledged is there, and
 * nothing half done.
 */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { k_kills = 20, k_accounts = 100 };

struct receipt {
    uint64_t number;
    struct receipt* before;
};

struct bank {
    uint64_t payments;
    long balances[k_accounts];
    struct receipt* last;
    size_t receipts;
};

static rem_heap* open_bank(const char* path, struct bank** bank) {
    rem_options options = {.size = sizeof options, .durability = REM_LAZY}; /* a kill is no power failure */
    rem_heap* heap = NULL;
    CHECK_OK(rem_open(path, &options, &heap));
    *bank = REM_ROOT_GET(heap, "bank", struct bank);
    if (*bank == NULL) {
        CHECK(rem_last_error()->status == REM_NOT_FOUND);
        CHECK_OK(rem_write_begin(heap));
        *bank = rem_calloc(heap, 1, sizeof **bank);
        CHECK(*bank != NULL);
        CHECK_OK(REM_ROOT_SET(heap, "bank", *bank, struct bank));
        CHECK_OK(rem_write_end(heap));
    }
    return heap;
}

static void pay(rem_heap* heap, struct bank* bank) {
    const uint64_t number = bank->payments + 1;
    struct receipt* receipt;
    CHECK_OK(rem_write_begin(heap));
    bank->payments = number;
    bank->balances[number % k_accounts] -= 5;
    receipt = rem_alloc(heap, sizeof *receipt);
    CHECK(receipt != NULL);
    receipt->number = number;
    receipt->before = bank->last;
    bank->last = receipt;
    ++bank->receipts;
    if (number % 3 == 0) { /* the one before is thrown away */
        struct receipt* const old = receipt->before;
        receipt->before = old->before;
        CHECK_OK(rem_free(old));
        --bank->receipts;
    }
    bank->balances[number * 7 % k_accounts] += 5;
    if (number % 10 == 0) /* a change of mind */
        CHECK_OK(rem_write_abort(heap));
    if (number % 10 == 0) {
        CHECK(bank->payments == number - 1);
        CHECK_OK(rem_write_begin(heap));
        bank->payments = number;
    }
    CHECK_OK(rem_write_end(heap));
}

static void pay_until_killed(const char* path, int acknowledgements) {
    struct bank* bank;
    rem_heap* const heap = open_bank(path, &bank);
    for (;;) {
        pay(heap, bank);
        CHECK(write(acknowledgements, &bank->payments, sizeof bank->payments) == sizeof bank->payments);
    }
}

static uint64_t check_bank(const char* path) {
    struct bank* bank;
    rem_heap* const heap = open_bank(path, &bank);
    const struct receipt* each;
    uint64_t payments;
    size_t receipts = 0;
    long sum = 0;
    int i;
    for (i = 0; i < k_accounts; ++i)
        sum += bank->balances[i];
    CHECK(sum == 0);
    for (each = bank->last; each != NULL; each = each->before) {
        CHECK(rem_usable_size(each) >= sizeof *each);
        CHECK(each->before == NULL || each->before->number < each->number);
        ++receipts;
    }
    CHECK(receipts == bank->receipts);
    CHECK_OK(rem_verify(heap, NULL, NULL, NULL));
    payments = bank->payments;
    CHECK_OK(rem_close(heap));
    return payments;
}

int main(int argc, char** argv) {
    char path[4096];
    uint64_t acknowledged = 0;
    int kill_number;
    if (argc != 2)
        return 2;
    snprintf(path, sizeof path, "%s/kill.rem", argv[1]);
    for (kill_number = 0; kill_number < k_kills; ++kill_number) {
        int ends[2];
        int status = 0;
        pid_t child;
        uint64_t payments;
        ssize_t got;
        const uint64_t enough = acknowledged + 1 + (uint64_t)kill_number * 97 % 500;
        CHECK(pipe(ends) == 0);
        child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            close(ends[0]);
            pay_until_killed(path, ends[1]);
        }
        close(ends[1]);
        while (acknowledged < enough && (got = read(ends[0], &payments, sizeof payments)) == sizeof payments)
            acknowledged = payments;
        CHECK(acknowledged >= enough); /* else the child has ended by itself */
        CHECK(kill(child, SIGKILL) == 0);
        while (read(ends[0], &payments, sizeof payments) == sizeof payments)
            acknowledged = payments;
        close(ends[0]);
        CHECK(waitpid(child, &status, 0) == child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        payments = check_bank(path);
        CHECK(payments == acknowledged || payments == acknowledged + 1);
        acknowledged = payments;
    }
    printf("%d kills, %llu payments\n", k_kills, (unsigned long long)acknowledged);
    return 0;
}
