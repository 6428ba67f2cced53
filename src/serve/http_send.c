#include "serve/http_send.h"

#include "serve/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Scripts, styles and everything else only from here, nothing inline; pictures also from what the
 * page made itself. */
#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "                \
    "worker-src 'self'; font-src 'self'; img-src 'self' data: blob:; base-uri 'none'; "            \
    "form-action 'none'; frame-ancestors 'none'"

static const char *const common[][2] = {
    {"Content-Security-Policy", POLICY},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"X-Frame-Options", "DENY"},
};

/* Everything is sent through here. `response` may be NULL: no memory. */
static enum MHD_Result send_out(struct MHD_Connection *c, unsigned status,
                                struct MHD_Response *response, const char *type, const char *cache)
{
    enum MHD_Result done = response ? MHD_YES : MHD_NO;
    for (size_t i = 0; done == MHD_YES && i < sizeof common / sizeof *common; i++)
        done = MHD_add_response_header(response, common[i][0], common[i][1]);
    if (done == MHD_YES && type)
        done = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    if (done == MHD_YES)
        done = MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, cache);
    if (done == MHD_YES && status == 405)
        done = MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (done == MHD_YES) done = MHD_queue_response(c, status, response);
    if (response) MHD_destroy_response(response);
    return done;
}

static struct MHD_Response *of_bytes(tt_bytes *b)
{
    if (b->size == 0) return MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(b->size, b->data, MHD_RESPMEM_MUST_FREE);
    if (response) tt_bytes_init(b, b->limit); /* it is the response's now */
    return response;
}

static struct MHD_Response *of_file(FILE *file)
{
    struct stat st;
    int fd = dup(fileno(file));
    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0) (void)close(fd);
        return NULL;
    }
    struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
    if (!response) (void)close(fd);
    return response;
}

static bool add_number(struct MHD_Response *response, const char *name, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return MHD_add_response_header(response, name, text) == MHD_YES;
}

enum MHD_Result tt_http_send_reply(struct MHD_Connection *c, tt_reply *r)
{
    struct MHD_Response *response = r->file ? of_file(r->file) : of_bytes(&r->body);
    bool done = response != NULL;
    if (done && *r->name) {
        char text[TT_REPLY_NAME_MAX + 32];
        (void)snprintf(text, sizeof text, "attachment; filename=\"%s\"", r->name);
        done = MHD_add_response_header(response, "Content-Disposition", text) == MHD_YES;
    }
    if (done && r->generation) done = add_number(response, "Tensortrace-Generation", r->generation);
    if (done && r->retry_after_s) done = add_number(response, "Retry-After", r->retry_after_s);
    if (!done && response) {
        MHD_destroy_response(response);
        response = NULL;
    }
    return send_out(c, r->status, response, r->type, "no-store");
}

/* For the client that cannot unpack it. NULL without memory, or when it is damaged. */
static struct MHD_Response *unpacked(const tt_asset *a)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)a->data, .avail_in = (uInt)a->size};
    tt_bytes out;
    int status = Z_OK;
    tt_bytes_init(&out, TT_REPLY_BYTES_MAX);
    if (inflateInit2(&z, 15 + 16) != Z_OK) return NULL;
    while (status == Z_OK && tt_bytes_reserve(&out, 65536)) {
        z.next_out = out.data + out.size;
        z.avail_out = 65536;
        status = inflate(&z, Z_NO_FLUSH);
        out.size += 65536 - z.avail_out;
    }
    (void)inflateEnd(&z);
    struct MHD_Response *response = status == Z_STREAM_END ? of_bytes(&out) : NULL;
    tt_bytes_free(&out);
    return response;
}

static bool takes_gzip(struct MHD_Connection *c)
{
    const char *accepts = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept-Encoding");
    const char *at = accepts ? strstr(accepts, "gzip") : NULL;
    return at && strncmp(at + 4, ";q=0", 4) != 0;
}

enum MHD_Result tt_http_send_asset(struct MHD_Connection *c, const tt_asset *a)
{
    const char *known = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "If-None-Match");
    bool is_known = known && strstr(known, a->etag) != NULL;
    bool packed = a->gzipped && takes_gzip(c);
    struct MHD_Response *response =
        is_known                ? MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT)
        : a->gzipped && !packed ? unpacked(a)
                                : MHD_create_response_from_buffer(
                                      a->size, (void *)(uintptr_t)a->data, MHD_RESPMEM_PERSISTENT);
    bool done = response && MHD_add_response_header(response, "ETag", a->etag) == MHD_YES;
    if (done && a->gzipped)
        done = MHD_add_response_header(response, "Vary", "Accept-Encoding") == MHD_YES;
    if (done && packed && !is_known)
        done = MHD_add_response_header(response, "Content-Encoding", "gzip") == MHD_YES;
    if (!done && response) {
        MHD_destroy_response(response);
        response = NULL;
    }
    return send_out(c, is_known ? 304 : 200, response, a->type, "no-cache");
}

enum MHD_Result tt_http_send_error(struct MHD_Connection *c, bool as_json, unsigned status,
                                   const char *message)
{
    tt_reply r;
    tt_reply_init(&r);
    if (as_json) {
        tt_reply_error(&r, status, message);
    } else {
        r.status = status;
        r.type = "text/html; charset=utf-8";
        tt_page_error(&r.body, status, message);
    }
    enum MHD_Result done = tt_http_send_reply(c, &r);
    tt_reply_free(&r);
    return done;
}

enum MHD_Result tt_http_send_entry(struct MHD_Connection *c, const tt_access_key *key,
                                   tt_access_kind kind)
{
    char cookie[TT_ACCESS_COOKIE_TEXT];
    tt_bytes body;
    bool redirects = kind == TT_ACCESS_ENTERS;
    tt_bytes_init(&body, TT_REPLY_BYTES_MAX);
    tt_page_enter(&body);
    tt_access_cookie(key, cookie);
    struct MHD_Response *response = of_bytes(&body);
    tt_bytes_free(&body);
    bool done = response && MHD_add_response_header(response, "Set-Cookie", cookie) == MHD_YES;
    if (done && redirects) done = MHD_add_response_header(response, "Location", "/") == MHD_YES;
    if (!done && response) {
        MHD_destroy_response(response);
        response = NULL;
    }
    return send_out(c, redirects ? 303 : 200, response, "text/html; charset=utf-8", "no-store");
}
