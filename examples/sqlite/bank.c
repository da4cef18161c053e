/* A bank in SQLite's in-memory database: sqlite_bank [TRANSFERS], for ever if no number is given. An ordinary program, which forgets
   everything when it ends; keep.patch adds the lines that keep it. Prints how it found its bank, then the number of each transfer. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { k_accounts = 100000, k_balance = 100 };

static struct {
    sqlite3* database;
    sqlite3_stmt *move, *note; /* prepared once */
    long transfers;
    long opened_by; /* process */
} bank;

static void fail(const char* what) {
    printf("%s: %s\n", what, sqlite3_errmsg(bank.database));
    exit(1);
}

static void run(const char* statements) {
    if (sqlite3_exec(bank.database, statements, NULL, NULL, NULL) != SQLITE_OK)
        fail(statements);
}

static sqlite3_stmt* prepared(const char* text) {
    sqlite3_stmt* statement = NULL;
    if (sqlite3_prepare_v2(bank.database, text, -1, &statement, NULL) != SQLITE_OK)
        fail(text);
    return statement;
}

static void open_bank(void) {
    char fill[200];
    if (sqlite3_open(":memory:", &bank.database) != SQLITE_OK)
        fail("open");
    run("create table account(id integer primary key, balance int, owner text);"
        "create table journal(number integer primary key, amount int); create index by_balance on account(balance)");
    snprintf(fill, sizeof fill,
             "with recursive n(i) as (select 1 union all select i + 1 from n where i < %d)"
             "insert into account select i, %d, 'owner ' || i from n",
             k_accounts, k_balance);
    run(fill);
    bank.move = prepared("update account set balance = balance + ? where id = ?");
    bank.note = prepared("insert into journal values(?, ?)");
    bank.opened_by = getpid();
}

static void print(const char* name, const char* query) {
    sqlite3_stmt* const statement = prepared(query);
    if (sqlite3_step(statement) != SQLITE_ROW)
        fail(query);
    printf(" %s=%s", name, (const char*)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
}

static void report(void) {
    printf("open transfers=%ld opened_by=%ld runs=%d\n", bank.transfers, bank.opened_by,
           sqlite3_stmt_status(bank.move, SQLITE_STMTSTATUS_RUN, 0));
    fflush(stdout);
    printf("looked");
    print("accounts", "select count(*) from account");
    print("sum", "select sum(balance) from account");
    print("journal", "select count(*) from journal");
    print("integrity", "pragma integrity_check");
    puts("");
    fflush(stdout);
}

static void execute(sqlite3_stmt* statement, long first, long second) {
    sqlite3_bind_int64(statement, 1, first);
    sqlite3_bind_int64(statement, 2, second);
    if (sqlite3_step(statement) != SQLITE_DONE)
        fail("a transfer");
    sqlite3_reset(statement);
}

static void transfer(void) {
    const long amount = rand() % 50;
    run("begin");
    execute(bank.move, -amount, 1 + rand() % k_accounts);
    execute(bank.move, amount, 1 + rand() % k_accounts);
    execute(bank.note, bank.transfers + 1, amount);
    run("commit");
    ++bank.transfers;
}

int main(int count, char** arguments) {
    const long wanted = count > 1 ? atol(arguments[1]) : -1;
    srand((unsigned)getpid());
    open_bank();
    report();
    for (long i = 0; i != wanted; ++i) {
        transfer();
        printf("%ld\n", bank.transfers);
        fflush(stdout);
    }
    return 0;
}
