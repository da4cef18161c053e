/* Rows of SQLite, as the paper's Figure 7 has them: rows HOW ROWS SECONDS. A table of ROWS rows is filled, then rows at random are inserted, selected, updated and
   deleted, each by a transaction of its own, for so many seconds each. Prints for each kind: name, operations, seconds, seconds in SQLite itself, in pPoint(), in
   pSync(), and bytes written meanwhile. HOW: container, container-async or container-lazy (compiled with remcc: -DKEPT; each point is waited for, or not, or given to the
   operating system), or journal, wal, wal-normal: SQLite's own files; memory: nothing is kept. */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef KEPT
#include <softpm.h>
#endif

static sqlite3* database;
static sqlite3_stmt *insert, *find, *update, *erase;
static int container, waits;
static double in_sqlite, in_point, in_sync;
static unsigned long long state = 88172645463325252ULL;

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static long pick(long below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (long)(state % (unsigned long long)below);
}

static void fail(const char* what) {
    fprintf(stderr, "rows: %s: %s\n", what, sqlite3_errmsg(database));
    exit(1);
}

static void run(const char* text) {
    if (sqlite3_exec(database, text, NULL, NULL, NULL) != SQLITE_OK)
        fail(text);
}

static sqlite3_stmt* prepare(const char* text) {
    sqlite3_stmt* made = NULL;
    if (sqlite3_prepare_v2(database, text, -1, &made, NULL) != SQLITE_OK)
        fail(text);
    return made;
}

static void execute(sqlite3_stmt* statement, long key) {
    char value[101];
    memset(value, 'a' + (int)pick(26), sizeof value - 1);
    value[sizeof value - 1] = '\0';
    sqlite3_bind_int64(statement, 1, key);
    if (sqlite3_bind_parameter_count(statement) == 2)
        sqlite3_bind_text(statement, 2, value, sizeof value - 1, SQLITE_TRANSIENT);
    const int result = sqlite3_step(statement);
    if (result != SQLITE_DONE && result != SQLITE_ROW)
        fail("step");
    sqlite3_reset(statement);
}

static void keep(void) {
#ifdef KEPT
    if (container == 0)
        return;
    const double begin = now();
    if (pPoint(container) != 0)
        fail(pStatus());
    const double middle = now();
    if (waits && pSync(container) != 0)
        fail(pStatus());
    in_point += middle - begin;
    in_sync += now() - middle;
#endif
}

static unsigned long long bytes_written(void) { /* handed to the operating system */
    unsigned long long bytes = 0;
    char line[100];
    FILE* const file = fopen("/proc/self/io", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "wchar: %llu", &bytes);
    if (file != NULL)
        fclose(file);
    return bytes;
}

static void measure(const char* name, sqlite3_stmt* statement, long rows, double seconds, int is_change) {
    long count = 0;
    in_sqlite = in_point = in_sync = 0;
    const unsigned long long before = bytes_written();
    const double begin = now();
    double at = begin;
    while (at - begin < seconds && count < rows) {
        const double start = now();
        execute(statement, 1 + (statement == insert ? rows + count : pick(rows)));
        in_sqlite += now() - start;
        if (is_change)
            keep();
        ++count;
        at = now();
    }
    printf("%s %ld %.6f %.6f %.6f %.6f %llu\n", name, count, at - begin, in_sqlite, in_point, in_sync, bytes_written() - before);
}

int main(int count, char** arguments) {
    if (count != 4)
        return 1;
    const char* const how = arguments[1];
    const long rows = atol(arguments[2]);
    const double seconds = atof(arguments[3]);
    sqlite3_initialize();
    const char* file = ":memory:";
#ifdef KEPT
    void* root;
    const struct cattr attributes = {.durability = strcmp(how, "container-lazy") == 0 ? P_LAZY : P_DURABLE};
    pCSetAttr(0, &attributes);
    if ((container = pCAlloc(1, sizeof root, &root)) < 0 || pGlobal(container, &database, sizeof database) != 0)
        fail(pStatus());
    waits = strcmp(how, "container") == 0;
#endif
    if (strcmp(how, "journal") == 0 || strncmp(how, "wal", 3) == 0)
        file = "rows.db";
    if (sqlite3_open(file, &database) != SQLITE_OK)
        fail("open");
    if (strcmp(how, "journal") == 0)
        run("pragma journal_mode = delete; pragma synchronous = full");
    if (strncmp(how, "wal", 3) == 0)
        run("pragma journal_mode = wal");
    if (strcmp(how, "wal") == 0)
        run("pragma synchronous = full");
    if (strcmp(how, "wal-normal") == 0)
        run("pragma synchronous = normal");
    run("create table rows (key integer primary key, value text)");
    insert = prepare("insert into rows values (?, ?)");
    find = prepare("select value from rows where key = ?");
    update = prepare("update rows set value = ?2 where key = ?1");
    erase = prepare("delete from rows where key = ?");
    run("begin");
    for (long i = 1; i <= rows; ++i)
        execute(insert, i);
    run("commit");
    keep();
    measure("insert", insert, rows, seconds, 1);
    measure("select", find, rows, seconds, 0);
    measure("update", update, rows, seconds, 1);
    measure("delete", erase, rows, seconds, 1);
    return 0;
}
