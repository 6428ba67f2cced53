/* Who may ask: decided from the request's first line and headers alone. Pure: no input or output.
 *
 * The server is reachable by every program of this machine, and through the browser by every page
 * of the web. What keeps them out, each on its own:
 *  - The Host has to be ours: a foreign name that was made to resolve to 127.0.0.1 (DNS rebinding)
 *    is in the way of that.
 *  - A page of another origin says so (Origin, Sec-Fetch-Site).
 *  - A secret of 128 bits, in the address that was printed, then in a cookie that scripts cannot
 *    read and that no other site's request carries. */
#ifndef TT_SERVE_ACCESS_H
#define TT_SERVE_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TT_ACCESS_SECRET_TEXT 33 /* 32 hex digits and a NUL */
#define TT_ACCESS_COOKIE_TEXT 128
#define TT_ACCESS_OPEN_PATH "/open/"

typedef struct tt_access_key {
    uint16_t port;
    char secret[TT_ACCESS_SECRET_TEXT];
    /* Opens, too, but only the first time: for the command line of a browser, that other users of
     * this machine can read. Then "". */
    char once[TT_ACCESS_SECRET_TEXT];
} tt_access_key;

/* NULL: it was not sent. */
typedef struct tt_access_request {
    const char *method;
    const char *path;
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *cookie;
    bool ambiguous; /* a header of the above was sent twice */
    bool has_body;
} tt_access_request;

typedef enum tt_access_kind {
    TT_ACCESS_REFUSED, /* status and message say why */
    TT_ACCESS_GRANTED,
    /* The secret was right: give the cookie, and send the browser to "/". */
    TT_ACCESS_ENTERS,
    /* The same, but the link was on a page of another site: a redirection would still count as that
     * site's request, without the cookie. A page of ours has to send the browser on. */
    TT_ACCESS_ENTERS_FROM_ELSEWHERE
} tt_access_kind;

typedef struct tt_access_verdict {
    tt_access_kind kind;
    unsigned status;     /* when refused: of HTTP */
    const char *message; /* when refused: for people; static storage */
    bool used_once;      /* it was the secret that holds once: it must not be taken again */
} tt_access_verdict;

tt_access_verdict tt_access_check(const tt_access_key *key, const tt_access_request *q);

/* 32 random hex digits. False when the kernel gives none. */
bool tt_access_secret(char out[TT_ACCESS_SECRET_TEXT]);
/* The value of Set-Cookie. */
void tt_access_cookie(const tt_access_key *key, char out[TT_ACCESS_COOKIE_TEXT]);
/* Whether they are the same n bytes, in a time that does not tell where they differ. */
bool tt_access_same(const char *a, const char *b, size_t n);

#endif
