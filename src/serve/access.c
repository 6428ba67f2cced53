#include "serve/access.h"

#include "base/hex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define SECRET_BYTES 16
#define SECRET_DIGITS (TT_ACCESS_SECRET_TEXT - 1)
/* Maximum of cookies checked: others on this machine may have left theirs. */
#define COOKIES_MAX 256

static tt_access_verdict refuse(unsigned status, const char *message)
{
    return (tt_access_verdict){TT_ACCESS_REFUSED, status, message, false};
}

bool tt_access_secret(char out[TT_ACCESS_SECRET_TEXT])
{
    unsigned char random[SECRET_BYTES];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) return false;
    tt_hex(out, random, sizeof random);
    return true;
}

/* Cookies are shared by all ports of a host, so the port is part of the name. */
static void cookie_name(const tt_access_key *key, char out[32])
{
    (void)snprintf(out, 32, "tensortrace_%u", key->port);
}

void tt_access_cookie(const tt_access_key *key, char out[TT_ACCESS_COOKIE_TEXT])
{
    char name[32];
    cookie_name(key, name);
    (void)snprintf(out, TT_ACCESS_COOKIE_TEXT, "%s=%s; Path=/; HttpOnly; SameSite=Strict", name,
                   key->secret);
}

bool tt_access_same(const char *a, const char *b, size_t n)
{
    unsigned char differs = 0;
    for (size_t i = 0; i < n; i++)
        differs = (unsigned char)(differs | (a[i] ^ b[i]));
    return differs == 0;
}

/* An empty secret never matches. */
static bool is_secret(const char *secret, const char *text, size_t n)
{
    return n == SECRET_DIGITS && *secret && tt_access_same(text, secret, SECRET_DIGITS);
}

static bool has_cookie(const tt_access_key *key, const char *cookies)
{
    char name[32];
    cookie_name(key, name);
    size_t length = strlen(name);
    for (int i = 0; cookies && *cookies && i < COOKIES_MAX; i++) {
        cookies += strspn(cookies, " ;");
        size_t n = strcspn(cookies, ";");
        if (n > length && strncmp(cookies, name, length) == 0 && cookies[length] == '=' &&
            is_secret(key->secret, cookies + length + 1, n - length - 1))
            return true;
        cookies += n;
    }
    return false;
}

/* "127.0.0.1:PORT" or "localhost:PORT"; browsers omit the port 80. */
static bool is_host(const tt_access_key *key, const char *host)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char with_port[32];
        (void)snprintf(with_port, sizeof with_port, "%s:%u", names[i], key->port);
        if (strcasecmp(host, with_port) == 0) return true;
        if (key->port == 80 && strcasecmp(host, names[i]) == 0) return true;
    }
    return false;
}

static bool is_origin(const tt_access_key *key, const char *origin)
{
    return strncmp(origin, "http://", 7) == 0 && is_host(key, origin + 7);
}

/* "none": typed, or opened by a program. */
static bool is_own_site(const char *fetch_site)
{
    return !fetch_site || strcmp(fetch_site, "same-origin") == 0 || strcmp(fetch_site, "none") == 0;
}

static tt_access_verdict enter(const tt_access_key *key, const tt_access_request *q,
                               const char *secret)
{
    size_t n = strlen(secret);
    bool once = is_secret(key->once, secret, n);
    if (!once && !is_secret(key->secret, secret, n))
        return refuse(403, "this address is not, or no longer, right; use the one that "
                           "`tensortrace serve` printed");
    return (tt_access_verdict){is_own_site(q->fetch_site) ? TT_ACCESS_ENTERS
                                                          : TT_ACCESS_ENTERS_FROM_ELSEWHERE,
                               0, NULL, once};
}

bool tt_access_length(const char *length, size_t *out)
{
    size_t n = length ? strspn(length, "0123456789") : 0;
    if (n == 0 || n > 5 || length[n]) return false;
    *out = (size_t)strtoul(length, NULL, 10);
    return *out > 0 && *out <= TT_ACCESS_BODY_MAX;
}

/* The Origin, if any, is ours. */
static tt_access_verdict check_change(const tt_access_request *q)
{
    size_t n;
    if (!q->origin) return refuse(403, "a change names its Origin");
    if (!q->type || strcasecmp(q->type, "application/json") != 0)
        return refuse(415, "a change is sent as application/json");
    if (q->is_chunked || !q->length) return refuse(411, "a change says its length");
    if (!tt_access_length(q->length, &n))
        return refuse(413, "a change has at most 16,384 bytes, and some");
    return (tt_access_verdict){TT_ACCESS_GRANTED, 0, NULL, false};
}

tt_access_verdict tt_access_check(const tt_access_key *key, const tt_access_request *q)
{
    if (q->ambiguous) return refuse(400, "a header that has to be there once was sent twice");
    if (!q->host || !is_host(key, q->host))
        return refuse(403, "this server answers to 127.0.0.1 and localhost with its own port only; "
                           "use the address that `tensortrace serve` printed");
    if (q->origin && !is_origin(key, q->origin))
        return refuse(403, "a page of another origin may not ask this server");
    const bool changes = q->is_changeable && strcmp(q->method, "POST") == 0;
    if (changes) {
        tt_access_verdict v = check_change(q);
        if (v.kind == TT_ACCESS_REFUSED) return v;
    } else {
        if (strcmp(q->method, "GET") != 0 && strcmp(q->method, "HEAD") != 0)
            return refuse(405, "this server only answers GET and HEAD here");
        if (q->has_body) return refuse(400, "a request of this kind has no body");
    }
    if (strncmp(q->path, TT_ACCESS_OPEN_PATH, strlen(TT_ACCESS_OPEN_PATH)) == 0)
        return enter(key, q, q->path + strlen(TT_ACCESS_OPEN_PATH));
    if (!is_own_site(q->fetch_site))
        return refuse(403, "a page of another site may not ask this server; open the address that "
                           "`tensortrace serve` printed");
    if (!has_cookie(key, q->cookie))
        return refuse(403, "this browser has not been let in yet; open the address that "
                           "`tensortrace serve` printed (it ends in /open/ and 32 characters)");
    return (tt_access_verdict){TT_ACCESS_GRANTED, 0, NULL, false};
}
