/* Access control, decided from the request's first line and headers alone. Pure: no input or
 * output.
 *
 * The server is reachable by every program of this machine, and through the browser by every web
 * page. Independent checks:
 *   - The Host must be ours, against DNS rebinding (a foreign name that resolves to 127.0.0.1).
 *   - Origin and Sec-Fetch-Site must not name another origin.
 *   - A change (POST) must also name its origin, which browsers always do, and be JSON: a page of
 *     another origin cannot send that without asking first (OPTIONS), which is refused.
 *   - A secret of 128 bits is required: in the printed address, then in a cookie that scripts
 *     cannot read and that cross-site requests do not carry. */
#ifndef TT_SERVE_ACCESS_H
#define TT_SERVE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ACCESS_SECRET_TEXT 33 /* 32 hex digits and a NUL */
#define TT_ACCESS_COOKIE_TEXT 128
#define TT_ACCESS_OPEN_PATH "/open/"
/* Of a change, the only requests with a body. */
#define TT_ACCESS_BODY_MAX 16384u

typedef struct tt_access_key {
    uint16_t port;
    char secret[TT_ACCESS_SECRET_TEXT];
    /* A one-time secret that also opens: for a browser's command line, which other users of this
     * machine can read. "" after use. */
    char once[TT_ACCESS_SECRET_TEXT];
} tt_access_key;

/* NULL: not sent. */
typedef struct tt_access_request {
    const char *method;
    const char *path;
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *cookie;
    bool ambiguous; /* one of these headers was sent twice */
    bool has_body;
    /* Of a change: */
    bool is_changeable; /* POST is allowed at the path */
    const char *type;   /* Content-Type */
    const char *length; /* Content-Length */
    bool is_chunked;    /* Transfer-Encoding was sent */
} tt_access_request;

typedef enum tt_access_kind {
    TT_ACCESS_REFUSED, /* status and message are set */
    TT_ACCESS_GRANTED,
    /* The secret was right: set the cookie and redirect to "/". */
    TT_ACCESS_ENTERS,
    /* Likewise, but the link was on a page of another site: a redirection would still count as that
     * site's request, without the cookie. A page of ours has to redirect the browser. */
    TT_ACCESS_ENTERS_FROM_ELSEWHERE
} tt_access_kind;

typedef struct tt_access_verdict {
    tt_access_kind kind;
    unsigned status;     /* HTTP status, if refused */
    const char *message; /* if refused: a readable text; static storage */
    bool used_once;      /* the one-time secret was used: it must not be accepted again */
} tt_access_verdict;

tt_access_verdict tt_access_check(const tt_access_key *key, const tt_access_request *q);

/* The bytes of a change's body: a Content-Length of digits only, up to TT_ACCESS_BODY_MAX. False:
 * it is something else. */
bool tt_access_length(const char *length, size_t *out);

/* 32 random hex digits. False if the kernel has none. */
bool tt_access_secret(char out[TT_ACCESS_SECRET_TEXT]);
/* The value of Set-Cookie. */
void tt_access_cookie(const tt_access_key *key, char out[TT_ACCESS_COOKIE_TEXT]);
/* Compares n bytes in constant time. */
bool tt_access_same(const char *a, const char *b, size_t n);

#endif
