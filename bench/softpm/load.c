/* Loads a cache on a loopback port: load PORT PROTOCOL CONNECTIONS KEYS SECONDS. PROTOCOL: memcached or redis. Each connection has one request under way: sets
   of 512 bytes under keys at random for so many seconds, then gets of those. Prints for both: name, requests, seconds; then gets that found nothing. */
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

enum { k_connections_max = 64, k_buffer = 4096, k_value = 512 };

static struct pollfd polled[k_connections_max];
static char in[k_connections_max][k_buffer];
static size_t in_bytes[k_connections_max];
static int is_redis;
static long keys, misses;

static void fail(const char* what) {
    fprintf(stderr, "load: %s\n", what);
    exit(1);
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static unsigned long long state = 88172645463325252ULL;
static long pick(long below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (long)(state % (unsigned long long)below);
}

static void request(int to, int is_set) {
    char text[k_buffer], value[k_value + 1], key[20];
    snprintf(key, sizeof key, "key-%012ld", pick(keys));
    memset(value, 'a' + (int)pick(26), k_value);
    value[k_value] = '\0';
    int bytes = 0;
    if (is_redis && is_set)
        bytes = snprintf(text, sizeof text, "*3\r\n$3\r\nSET\r\n$16\r\n%s\r\n$512\r\n%s\r\n", key, value);
    else if (is_redis)
        bytes = snprintf(text, sizeof text, "*2\r\n$3\r\nGET\r\n$16\r\n%s\r\n", key);
    else if (is_set)
        bytes = snprintf(text, sizeof text, "set %s 0 0 512\r\n%s\r\n", key, value);
    else
        bytes = snprintf(text, sizeof text, "get %s\r\n", key);
    if (send(polled[to].fd, text, (size_t)bytes, MSG_NOSIGNAL) != bytes)
        fail("send");
    in_bytes[to] = 0;
}

static int has(int from, const char* text) {
    const size_t bytes = strlen(text);
    return in_bytes[from] >= bytes && memcmp(in[from] + in_bytes[from] - bytes, text, bytes) == 0;
}

static int is_answered(int from, int is_set) {
    if (is_set)
        return has(from, is_redis ? "+OK\r\n" : "STORED\r\n");
    const int is_miss = is_redis ? has(from, "$-1\r\n") : in_bytes[from] == 5 && has(from, "END\r\n");
    if (is_miss) {
        ++misses;
        return 1;
    }
    return is_redis ? in_bytes[from] == k_value + 8 : in_bytes[from] > k_value && has(from, "END\r\n");
}

static void measure(const char* name, int connections, int is_set, double seconds) {
    long count = 0;
    int open = connections;
    const double begin = now();
    for (int i = 0; i < connections; ++i)
        request(i, is_set);
    while (open > 0) {
        poll(polled, (nfds_t)connections, 10000);
        for (int i = 0; i < connections; ++i) {
            if (polled[i].revents == 0)
                continue;
            const ssize_t got = recv(polled[i].fd, in[i] + in_bytes[i], k_buffer - in_bytes[i], 0);
            if (got <= 0)
                fail("the server has ended");
            in_bytes[i] += (size_t)got;
            if (!is_answered(i, is_set))
                continue;
            ++count;
            if (now() - begin < seconds)
                request(i, is_set);
            else
                --open;
        }
    }
    printf("%s %ld %.6f\n", name, count, now() - begin);
}

int main(int count, char** arguments) {
    if (count != 6)
        return 1;
    is_redis = strcmp(arguments[2], "redis") == 0;
    const int connections = atoi(arguments[3]);
    keys = atol(arguments[4]);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((unsigned short)atoi(arguments[1]))};
    for (int i = 0; i < connections; ++i) {
        const int on = 1;
        polled[i] = (struct pollfd){socket(AF_INET, SOCK_STREAM, 0), POLLIN, 0};
        if (connect(polled[i].fd, (struct sockaddr*)&address, sizeof address) != 0)
            fail("connect");
        setsockopt(polled[i].fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    measure("set", connections, 1, atof(arguments[5]));
    measure("get", connections, 0, atof(arguments[5]));
    printf("misses %ld\n", misses);
    return 0;
}
