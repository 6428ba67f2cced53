/* Bytes as a request to the viewer's server: its target, parameters and headers. The first line is
 * the target, then one line each of Host, Origin, Sec-Fetch-Site, Cookie, Content-Type and
 * Content-Length; as GET, and as POST where that is allowed. */
#include "serve/access.h"
#include "serve/target.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINES 7
#define TEXT_MAX (16u << 10)
#define SECRET "00112233445566778899aabbccddeeff"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whoever is let in has the secret, and is at our address. */
static void try_access(const tt_access_request *q)
{
    static const tt_access_key key = {4321, SECRET, ""};
    tt_access_verdict v = tt_access_check(&key, q);
    if (v.kind == TT_ACCESS_REFUSED) {
        if (!v.message || v.status < 400) abort();
        return;
    }
    if (!q->host || (strcmp(q->host, "127.0.0.1:4321") != 0 && strlen(q->host) != 14)) abort();
    if (v.kind == TT_ACCESS_GRANTED && !(q->cookie && strstr(q->cookie, SECRET))) abort();
    if (v.kind != TT_ACCESS_GRANTED && strcmp(q->path, "/open/" SECRET) != 0) abort();
    if (!q->is_changeable) return;
    /* Whoever changes something is a page of ours, and says what comes. */
    size_t length = 0;
    if (!q->origin ||
        (strcasecmp(q->origin, "http://127.0.0.1:4321") != 0 && strlen(q->origin) != 21))
        abort();
    if (!q->type || strcasecmp(q->type, "application/json") != 0) abort();
    if (!tt_access_length(q->length, &length) || length == 0 || length > TT_ACCESS_BODY_MAX)
        abort();
}

static void try_params(const tt_target *t)
{
    static const char *const names[] = {"bytes", "time", NULL};
    tt_request q = {.client = -1, .n_params = t->n_params};
    tt_error err;
    memcpy(q.params, t->params, t->n_params * sizeof *q.params);
    for (uint32_t i = 0; i < q.n_params; i++) {
        uint64_t n;
        double d;
        size_t at;
        const char *name = q.params[i].name;
        if (tt_request_text(&q, name) != q.params[i].value) abort();
        if (tt_request_u64(&q, name, 2, 1000, 7, &n, &err) && (n < 2 || n > 1000)) abort();
        if (tt_request_double(&q, name, -1, 1, 0, &d, &err) && !(d >= -1 && d <= 1)) abort();
        if (tt_request_choice(&q, name, names, 0, &at, &err) && at > 1) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tt_target t;
    static char text[TEXT_MAX + 1];
    char *lines[LINES] = {NULL};
    tt_error err;
    if (size > TEXT_MAX) return 0;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    char *rest = text;
    for (size_t i = 0; i < LINES && rest; i++)
        lines[i] = strsep(&rest, "\n");
    /* Also with what a C string cannot hold. */
    if (tt_target_parse(&t, (const char *)data, size, &err) == TT_OK) try_params(&t);
    tt_status status = tt_target_parse(&t, lines[0], strlen(lines[0]), &err);
    if (status == TT_OK) try_params(&t);
    if (strlen(t.path) > TT_TARGET_BYTES_MAX) abort();
    tt_access_request q = {.method = "GET",
                           .path = t.path,
                           .host = lines[1],
                           .origin = lines[2] && *lines[2] ? lines[2] : NULL,
                           .fetch_site = lines[3] && *lines[3] ? lines[3] : NULL,
                           .cookie = lines[4],
                           .type = lines[5],
                           .length = lines[6]};
    try_access(&q);
    q.method = "POST";
    q.is_changeable = true;
    try_access(&q);
    return 0;
}
