/* A client that says exactly what a test wants, over a real socket. */
#ifndef TT_TESTS_UNIT_SERVE_CLIENT_H
#define TT_TESTS_UNIT_SERVE_CLIENT_H

#include "tests.h"

#include "serve/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CLIENT_PATIENCE_MS 60000

typedef struct client_of {
    tt_server *server;
    uint16_t port;
    char secret[33];
    char once[33];
} client_of;

static inline void client_learn(client_of *c)
{
    unsigned port = 0;
    assert_int_equal(
        sscanf(tt_server_url(c->server), "http://127.0.0.1:%u/open/%32s", &port, c->secret), 2);
    assert_int_equal(
        sscanf(tt_server_once_url(c->server), "http://127.0.0.1:%u/open/%32s", &port, c->once), 2);
    c->port = (uint16_t)port;
}

static inline int client_connect(const client_of *c)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(c->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

/* False when the server has hung up. */
static inline bool client_send(int fd, const char *data, size_t n)
{
    while (n) {
        ssize_t done = send(fd, data, n, MSG_NOSIGNAL);
        if (done <= 0) return false;
        data += done;
        n -= (size_t)done;
    }
    return true;
}

/* Until the server hangs up, or says nothing for that long; *n gets how many bytes there were. The
 * caller frees. */
static inline char *client_until(int fd, int patience_ms, size_t *n)
{
    size_t room = 65536, used = 0;
    char *all = malloc(room + 1);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_non_null(all);
    while (poll(&p, 1, patience_ms) > 0) {
        ssize_t got = recv(fd, all + used, room - used, 0);
        if (got <= 0) break;
        used += (size_t)got;
        if (used < room) continue;
        room *= 2;
        all = realloc(all, room + 1);
        assert_non_null(all);
    }
    all[used] = '\0';
    if (n) *n = used;
    return all;
}

static inline char *client_rest(int fd, size_t *n)
{
    return client_until(fd, CLIENT_PATIENCE_MS, n);
}

/* Everything the server says to those bytes; the caller frees. */
static inline char *client_say(const client_of *c, const char *data, size_t size, size_t *n)
{
    int fd = client_connect(c);
    (void)client_send(fd, data, size);
    char *answer = client_rest(fd, n);
    (void)close(fd);
    return answer;
}

/* A request as a browser that was let in sends it, with `more` headers ("A: b\r\n"). */
static inline char *client_ask(const client_of *c, const char *method, const char *target,
                               const char *more, size_t *n)
{
    size_t room = strlen(target) + strlen(more) + 512;
    char *request = malloc(room);
    assert_non_null(request);
    int size = snprintf(request, room,
                        "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nCookie: tensortrace_%u=%s\r\n"
                        "Connection: close\r\n%s\r\n",
                        method, target, c->port, c->port, c->secret, more);
    char *answer = client_say(c, request, (size_t)size, n);
    free(request);
    return answer;
}

/* 0: no answer at all. */
static inline int client_status(const char *answer)
{
    int status = 0;
    return sscanf(answer, "HTTP/1.1 %d ", &status) == 1 ? status : 0;
}

static inline const char *client_body(const char *answer)
{
    const char *end = strstr(answer, "\r\n\r\n");
    return end ? end + 4 : "";
}

#endif
