/* A bank in SQLite's in-memory database, which stays: bank DIRECTORY ROWS COMMAND. SQLite is compiled as it is.
     check      what every start does: the balances, PRAGMA integrity_check, and the prepared statement of the first process
     transfer N transfers, a point after each (0: until killed); prints the number of each when it is on the device
     churn N    inserts, updates and deletes at random, a point after each, not waited for */
#include <softpm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sqlite3.h"

struct bank {
    sqlite3* database;
    sqlite3_stmt *move, *sum; /* prepared by the first process */
    long transfers;
};

static struct bank* bank;
static long rows;
enum { k_magic = 7, k_balance = 100 };

static void fail(const char* what) {
    printf("FAILED: %s: %s %s\n", what, bank == NULL ? "" : sqlite3_errmsg(bank->database), pStatus());
    exit(1);
}

static void run(const char* statements) {
    if (sqlite3_exec(bank->database, statements, NULL, NULL, NULL) != SQLITE_OK)
        fail(statements);
}

static long number(const char* query) {
    sqlite3_stmt* statement;
    if (sqlite3_prepare_v2(bank->database, query, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        fail(query);
    const long found = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return found;
}

static void make_bank(void) {
    char fill[200];
    if (sqlite3_open(":memory:", &bank->database) != SQLITE_OK)
        fail("open");
    run("create table account(id integer primary key, balance int, owner text);"
        "create table journal(number integer primary key, amount int); create index by_balance on account(balance)");
    snprintf(fill, sizeof fill,
             "with recursive n(i) as (select 1 union all select i + 1 from n where i < %ld)"
             "insert into account select i, %d, 'owner ' || i from n",
             rows, k_balance);
    run(fill);
    if (sqlite3_prepare_v2(bank->database, "update account set balance = balance + ? where id = ?", -1, &bank->move,
                           NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(bank->database, "select sum(balance) from account where id <= ?", -1, &bank->sum, NULL) !=
            SQLITE_OK)
        fail("prepare");
}

static void check(void) {
    sqlite3_bind_int64(bank->sum, 1, rows);
    if (sqlite3_step(bank->sum) != SQLITE_ROW || sqlite3_column_int64(bank->sum, 0) != rows * k_balance)
        fail("the balances do not add up");
    sqlite3_reset(bank->sum);
    if (number("select count(*) from journal where number <= 1000000000") != bank->transfers)
        fail("transfers are missing");
    sqlite3_stmt* statement;
    sqlite3_prepare_v2(bank->database, "pragma integrity_check", -1, &statement, NULL);
    if (sqlite3_step(statement) != SQLITE_ROW || strcmp((const char*)sqlite3_column_text(statement, 0), "ok") != 0)
        fail("integrity_check");
    sqlite3_finalize(statement);
}

static void add(long id, long amount) {
    sqlite3_bind_int64(bank->move, 1, amount);
    sqlite3_bind_int64(bank->move, 2, id);
    if (sqlite3_step(bank->move) != SQLITE_DONE)
        fail("update");
    sqlite3_reset(bank->move);
}

static void transfer(void) {
    char text[100];
    const long amount = rand() % 50;
    run("begin");
    add(1 + rand() % rows, -amount);
    add(1 + rand() % rows, amount);
    snprintf(text, sizeof text, "insert into journal values(%ld, %ld); commit", bank->transfers + 1, amount);
    run(text);
    ++bank->transfers;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int count, char** arguments) {
    if (count < 4)
        return 2;
    const struct cattr how = {.directory = arguments[1]};
    rows = atol(arguments[2]);
    sqlite3_initialize(); /* the library's own variables */
    pCSetAttr(0, &how);
    int id = pCRestoreAs(k_magic, &bank);
    if (id > 0 && bank->database == NULL)
        fail("restore");
    if (id < 0 && strstr(pStatus(), "there is no container") == NULL && strstr(pStatus(), "was never finished") == NULL)
        fail("restore");
    if (id < 0 && (id = pCAlloc(k_magic, sizeof *bank, (void**)&bank)) > 0) {
        make_bank();
        pPoint(id);
    }
    if (id < 0)
        fail("open");
    check();
    const char* const seed = getenv("REMANENCE_SEED");
    srand((seed != NULL ? (unsigned)atol(seed) : (unsigned)getpid()) + (unsigned)bank->transfers);
    printf("root %p, %ld transfers: consistent\n", (void*)bank, bank->transfers);
    const long wanted = count > 4 ? atol(arguments[4]) : 0;
    const double begin = seconds();
    if (strcmp(arguments[3], "transfer") == 0)
        for (long i = 0; wanted == 0 || i < wanted; ++i) {
            transfer();
            if (pPoint(id) != 0 || pSync(id) != 0)
                fail("point");
            if (wanted == 0) {
                printf("%ld\n", bank->transfers);
                fflush(stdout);
            }
        }
    else if (strcmp(arguments[3], "churn") == 0)
        for (long i = 0; i < wanted; ++i) {
            transfer();
            if (pPoint(id) != 0)
                fail("point");
        }
    if (wanted != 0) {
        pSync(id);
        printf("%ld transfers in %.3f s\n", wanted, seconds() - begin);
    }
    return 0;
}
