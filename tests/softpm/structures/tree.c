/* BSD's red-black tree and splay tree: tree STEPS. Does so many steps by chance, and prints what there is in the end. Compiled with -DKEPT it goes on where it was killed. */
#include <stdio.h>
#include <stdlib.h>
#include <bsd/sys/tree.h>
#ifdef KEPT
#include <softpm.h>
#endif

struct account {
    RB_ENTRY(account) by_number;
    SPLAY_ENTRY(account) by_balance;
    long number, balance;
};

static int order_of_numbers(const struct account* left, const struct account* right) {
    return left->number < right->number ? -1 : left->number > right->number;
}
static int order_of_balances(const struct account* left, const struct account* right) {
    if (left->balance != right->balance) return left->balance < right->balance ? -1 : 1;
    return order_of_numbers(left, right);
}
RB_HEAD(numbers, account);
SPLAY_HEAD(balances, account);
RB_GENERATE_STATIC(numbers, account, by_number, order_of_numbers)
SPLAY_PROTOTYPE(balances, account, by_balance, order_of_balances)
SPLAY_GENERATE(balances, account, by_balance, order_of_balances)

static struct {
    long steps;
    unsigned random;
    struct numbers numbers;
    struct balances balances;
    long count;
}* state;

static unsigned pick(unsigned below) {
    state->random = state->random * 1103515245u + 12345u;
    return (state->random >> 8) % below;
}

static struct account* find(long number) {
    struct account wanted = {.number = number};
    return RB_FIND(numbers, &state->numbers, &wanted);
}

static void open_account(long number) {
    struct account* const made = malloc(sizeof *made);
    made->number = number;
    made->balance = pick(1000);
    RB_INSERT(numbers, &state->numbers, made);
    SPLAY_INSERT(balances, &state->balances, made);
    ++state->count;
}

static void close_account(struct account* account) {
    RB_REMOVE(numbers, &state->numbers, account);
    SPLAY_REMOVE(balances, &state->balances, account);
    free(account);
    --state->count;
}

static void pay(struct account* account, long amount) {
    SPLAY_REMOVE(balances, &state->balances, account);
    account->balance += amount;
    SPLAY_INSERT(balances, &state->balances, account);
}

static void step(void) {
    const long number = pick(4000);
    struct account* const found = find(number);
    if (found == NULL)
        open_account(number);
    else if (pick(3) == 0)
        close_account(found);
    else
        pay(found, (long)pick(100) - 50);
}

static void print(void) {
    struct account* each;
    RB_FOREACH(each, numbers, &state->numbers) printf("%ld: %ld\n", each->number, each->balance);
    SPLAY_FOREACH(each, balances, &state->balances) printf("%ld ", each->number);
    printf("\n%ld accounts\n", state->count);
}

int main(int count, char** arguments) {
    const long steps = count > 1 ? atol(arguments[1]) : 1000;
#ifdef KEPT
    int id = pCRestoreAs(1, &state);
    if (id < 0 && (id = pCAlloc(1, sizeof *state, (void**)&state)) < 0) return puts(pStatus()), 1;
#else
    state = calloc(1, sizeof *state);
#endif
    while (state->steps < steps) {
        step();
        ++state->steps;
#ifdef KEPT
        if (state->steps % 100 == 0 && pPoint(id) != 0) return puts(pStatus()), 1;
#endif
    }
    print();
    return 0;
}
