/* A server that keeps 512-byte values under 16-byte keys, after memcached's protocol (set, get), on a loopback port of its own, which it prints: cache HOW. It looks at
   all connections that have a request, answers these, and looks again. HOW, compiled with remcc and -DKEPT: container, container-async, container-100ms: a hash table in
   a container; a point before the answers of a round are sent, waited for, or not; or one, not waited for, every 100 ms. Compiled with -DBERKELEY, after memcachedb's design: btree, hash, btree-async, hash-async: Berkeley
   DB with a transaction for each set, whose log is synced, or stays in memory until its buffer is full (DB_TXN_NOSYNC, memcachedb's -N). Ends when its standard input does. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#ifdef KEPT
#include <softpm.h>
#else
#include <db.h>
#endif

enum { k_connections_max = 64, k_buffer = 4096, k_value = 512, k_key_max = 32, k_buckets = 1 << 17 };

static void fail(const char* what) {
    fprintf(stderr, "cache: %s\n", what);
    exit(1);
}

#ifdef KEPT
struct item {
    struct item* next;
    char key[k_key_max];
    char* value;
};
static struct table {
    struct item* buckets[k_buckets];
}* table;
static int container, waits, is_periodic;

static struct item** place_of(const char* key) {
    unsigned hash = 2166136261U;
    for (const char* each = key; *each != '\0'; ++each)
        hash = (hash ^ (unsigned char)*each) * 16777619U;
    struct item** at = &table->buckets[hash % k_buckets];
    while (*at != NULL && strcmp((*at)->key, key) != 0)
        at = &(*at)->next;
    return at;
}

static void begin(const char* how) {
    waits = strcmp(how, "container") == 0;
    is_periodic = strcmp(how, "container-100ms") == 0;
    if ((container = pCAlloc(1, sizeof *table, (void**)&table)) < 0)
        fail(pStatus());
}

static void put(const char* key, const char* value) {
    struct item** const at = place_of(key);
    if (*at == NULL) {
        *at = calloc(1, sizeof **at);
        strcpy((*at)->key, key);
    }
    free((*at)->value);
    (*at)->value = malloc(k_value);
    memcpy((*at)->value, value, k_value);
}

static const char* get(const char* key) {
    const struct item* const found = *place_of(key);
    return found == NULL ? NULL : found->value;
}

static void keep(void) {
    static double last;
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &at);
    const double now = (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
    if (is_periodic && now - last < 0.1)
        return;
    last = now;
    if (pPoint(container) != 0 || (waits && pSync(container) != 0))
        fail(pStatus());
}
#else
static DB_ENV* environment;
static DB* database;
static int is_async;

static void check(int result) {
    if (result != 0)
        fail(db_strerror(result));
}

static void begin(const char* how) {
    is_async = strstr(how, "async") != NULL;
    check(db_env_create(&environment, 0));
    check(environment->set_cachesize(environment, 0, 256 << 20, 1));
    check(environment->set_lg_bsize(environment, 2 << 20));
    check(environment->open(environment, ".", DB_CREATE | DB_INIT_LOCK | DB_INIT_LOG | DB_INIT_MPOOL | DB_INIT_TXN, 0644));
    if (is_async)
        check(environment->set_flags(environment, DB_TXN_NOSYNC, 1));
    check(db_create(&database, environment, 0));
    check(database->open(database, NULL, "cache.db", NULL, how[0] == 'b' ? DB_BTREE : DB_HASH, DB_CREATE | DB_AUTO_COMMIT, 0644));
}

static DBT of(const void* data, size_t bytes) {
    DBT made;
    memset(&made, 0, sizeof made);
    made.data = (void*)data;
    made.size = (u_int32_t)bytes;
    return made;
}

static void put(const char* key, const char* value) {
    DB_TXN* change = NULL;
    DBT name = of(key, strlen(key)), bytes = of(value, k_value);
    check(environment->txn_begin(environment, NULL, &change, 0));
    check(database->put(database, change, &name, &bytes, 0));
    check(change->commit(change, 0));
}

static const char* get(const char* key) {
    static char value[k_value];
    DBT name = of(key, strlen(key)), bytes = of(value, 0);
    bytes.ulen = k_value;
    bytes.flags = DB_DBT_USERMEM;
    return database->get(database, NULL, &name, &bytes, 0) == 0 ? value : NULL;
}

static void keep(void) {}
#endif

struct connection {
    char in[k_buffer];
    size_t bytes;
    char out[k_buffer];
    size_t answer;
};
static struct pollfd polled[k_connections_max + 2]; /* the listener, standard input, and connections */
static struct connection connections[k_connections_max];

static void answer(struct connection* to, const char* text, size_t bytes) {
    memcpy(to->out + to->answer, text, bytes);
    to->answer += bytes;
}

/* Returns how many bytes one whole request has; 0: more have to come. */
static size_t serve(struct connection* from, int* changes) {
    const char* const line_end = memmem(from->in, from->bytes, "\r\n", 2);
    if (line_end == NULL)
        return 0;
    const size_t line = (size_t)(line_end + 2 - from->in);
    char key[k_key_max];
    if (sscanf(from->in, "get %31s", key) == 1) {
        const char* const value = get(key);
        char head[80];
        if (value != NULL) {
            answer(from, head, (size_t)snprintf(head, sizeof head, "VALUE %s 0 %d\r\n", key, k_value));
            answer(from, value, k_value);
            answer(from, "\r\n", 2);
        }
        answer(from, "END\r\n", 5);
        return line;
    }
    if (sscanf(from->in, "set %31s", key) != 1)
        fail("a request is neither get nor set");
    if (from->bytes < line + k_value + 2)
        return 0;
    put(key, from->in + line);
    *changes = 1;
    answer(from, "STORED\r\n", 8);
    return line + k_value + 2;
}

static int receive(int index, int* changes) {
    struct connection* const from = &connections[index];
    const ssize_t got = recv(polled[index + 2].fd, from->in + from->bytes, k_buffer - from->bytes, 0);
    if (got <= 0)
        return -1;
    from->bytes += (size_t)got;
    for (size_t used; from->bytes != 0 && (used = serve(from, changes)) != 0;) {
        from->bytes -= used;
        memmove(from->in, from->in + used, from->bytes);
    }
    return 0;
}

int main(int count, char** arguments) {
    if (count != 2)
        return 1;
    begin(arguments[1]);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    if (bind(listener, (struct sockaddr*)&address, bytes) != 0 || listen(listener, k_connections_max) != 0 ||
        getsockname(listener, (struct sockaddr*)&address, &bytes) != 0)
        fail("no port");
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    polled[0] = (struct pollfd){listener, POLLIN, 0};
    polled[1] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
    for (int used = 0;;) {
        poll(polled, (nfds_t)used + 2, -1);
        if (polled[1].revents != 0)
            return 0;
        int changes = 0;
        for (int i = 0; i < used; ++i)
            if (polled[i + 2].revents != 0 && receive(i, &changes) != 0) {
                close(polled[i + 2].fd);
                polled[i + 2].fd = -1; /* which poll() leaves out */
            }
        if (changes)
            keep();
        for (int i = 0; i < used; ++i)
            if (connections[i].answer != 0) {
                if (send(polled[i + 2].fd, connections[i].out, connections[i].answer, MSG_NOSIGNAL) < 0)
                    fail("send");
                connections[i].answer = 0;
            }
        if (polled[0].revents != 0 && used < k_connections_max) {
            const int on = 1;
            polled[used + 2] = (struct pollfd){accept(listener, NULL, NULL), POLLIN, 0};
            setsockopt(polled[used + 2].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            ++used;
        }
    }
}
