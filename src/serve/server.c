#include "serve/server.h"

#include "serve/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BACKLOG 64
/* A trace that takes longer to open is opened while pages already say so. */
#define AWAIT_MS 400u
#define WORKERS 8u

static tt_status refuse(int fd, uint16_t port, tt_error *err)
{
    int why = errno;
    if (fd >= 0) (void)close(fd);
    if (why == EADDRINUSE)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                            "port %u is used by another program; name another with --port, or "
                            "leave it out for one that is free",
                            port);
    if (why == EACCES)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                            "port %u is not for everybody; name one from 1024 on with --port",
                            port);
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "127.0.0.1:%u cannot be used: %s", port,
                        strerror(why));
}

/* Only this machine can reach it. *port gets the one that was found. */
static tt_status listen_on(uint16_t *port, int *out, tt_error *err)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, (struct sockaddr *)&a, sizeof a) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&a, &n) != 0)
        return refuse(fd, *port, err);
    *port = ntohs(a.sin_port);
    *out = fd;
    return TT_OK;
}

static tt_status begin(tt_server *s, const tt_serve_options *o, tt_error *err)
{
    int listening = -1;
    s->key.port = o->port;
    tt_status status = listen_on(&s->key.port, &listening, err);
    if (status != TT_OK) return status;
    status = tt_traces_open(o->paths, o->n_paths, o->live, &s->traces, err);
    if (status == TT_OK) status = tt_traces_await(s->traces, AWAIT_MS, err);
    if (status == TT_OK && (!tt_access_secret(s->key.secret) || !tt_access_secret(s->key.once)))
        status = tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no random numbers for the secret: %s",
                              strerror(errno));
    if (status == TT_OK) {
        s->pool = tt_pool_new(o->workers ? o->workers : WORKERS);
        if (!s->pool) status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    }
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u" TT_ACCESS_OPEN_PATH "%s",
                   s->key.port, s->key.secret);
    (void)snprintf(s->once_url, sizeof s->once_url, "http://127.0.0.1:%u" TT_ACCESS_OPEN_PATH "%s",
                   s->key.port, s->key.once);
    if (status == TT_OK) status = tt_http_start(s, listening, err);
    if (!s->daemon) (void)close(listening);
    return status;
}

tt_status tt_server_start(const tt_serve_options *o, tt_server **out, tt_error *err)
{
    *out = NULL;
    if (o->n_paths > TT_SERVE_TRACES_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "more than %u traces",
                            TT_SERVE_TRACES_MAX);
    tt_server *s = calloc(1, sizeof *s);
    if (!s) return tt_error_memory(err, "the server");
    atomic_init(&s->is_ending, false);
    tt_status status = begin(s, o, err);
    if (status == TT_OK)
        *out = s;
    else
        tt_server_stop(s);
    return status;
}

const char *tt_server_url(const tt_server *s)
{
    return s->url;
}

const char *tt_server_once_url(const tt_server *s)
{
    return s->once_url;
}

void tt_server_stop(tt_server *s)
{
    if (!s) return;
    atomic_store(&s->is_ending, true);
    if (s->pool) tt_pool_end(s->pool);
    tt_http_stop(s);
    tt_pool_free(s->pool);
    tt_traces_free(s->traces);
    free(s);
}
