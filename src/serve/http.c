#include "serve/http.h"

#include "base/bytes.h"
#include "serve/access.h"
#include "serve/api.h"
#include "serve/assets.h"
#include "serve/reply.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static void put(tt_bytes *out, const char *text)
{
    tt_bytes_put(out, text, strlen(text));
}

/* Messages quote the request. */
static void put_escaped(tt_bytes *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '<')
            put(out, "&lt;");
        else if (*p == '&')
            put(out, "&amp;");
        else
            tt_bytes_put(out, p, 1);
    }
}

static const char *name_of(unsigned status)
{
    switch (status) {
    case 400:
        return "Bad request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not found";
    case 405:
        return "Method not allowed";
    case 414:
        return "Address too long";
    case 503:
        return "Not yet";
    default:
        return "Error";
    }
}

static void head(tt_bytes *out, const char *more)
{
    put(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width\">\n"
             "<meta name=\"color-scheme\" content=\"light dark\">\n");
    put(out, more);
    put(out, "<title>tensortrace</title>\n</head>\n<body>\n");
}

/* An error page. */
static void page_error(tt_bytes *out, unsigned status, const char *message)
{
    char heading[64];
    (void)snprintf(heading, sizeof heading, "<h1>%u: %s</h1>\n<p>", status, name_of(status));
    head(out, "");
    put(out, heading);
    put_escaped(out, message);
    put(out, ".</p>\n</body>\n</html>\n");
}

/* A page that redirects the browser to "/". */
static void page_enter(tt_bytes *out)
{
    head(out, "<meta http-equiv=\"refresh\" content=\"0; url=/\">\n");
    put(out, "<p><a href=\"/\">Open the viewer</a></p>\n</body>\n</html>\n");
}

/* Scripts, styles and everything else only from this origin, nothing inline; images also from data
 * that the page made. */
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

/* All responses are sent here. `response` may be NULL: no memory. */
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
    if (response) tt_bytes_init(b, b->limit); /* owned by the response now */
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

/* Takes the reply's content. */
static enum MHD_Result http_send_reply(struct MHD_Connection *c, tt_reply *r)
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

/* For clients without gzip. NULL if out of memory, or if it is damaged. */
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

static enum MHD_Result http_send_asset(struct MHD_Connection *c, const tt_asset *a)
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

/* As JSON for the API, else as a page. */
static enum MHD_Result http_send_error(struct MHD_Connection *c, bool as_json, unsigned status,
                                       const char *message)
{
    tt_reply r;
    tt_reply_init(&r);
    if (as_json) {
        tt_reply_error(&r, status, message);
    } else {
        r.status = status;
        r.type = "text/html; charset=utf-8";
        page_error(&r.body, status, message);
    }
    enum MHD_Result done = http_send_reply(c, &r);
    tt_reply_free(&r);
    return done;
}

/* Sets the cookie and redirects to "/". */
static enum MHD_Result http_send_entry(struct MHD_Connection *c, const tt_access_key *key,
                                       tt_access_kind kind)
{
    char cookie[TT_ACCESS_COOKIE_TEXT];
    tt_bytes body;
    bool redirects = kind == TT_ACCESS_ENTERS;
    tt_bytes_init(&body, TT_REPLY_BYTES_MAX);
    page_enter(&body);
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

/* A browser opens six connections per host; a hostile page can open more. */
#define CONNECTIONS_MAX 128u
/* Beyond these, the connection that has been waiting longest without a complete request is closed:
 * all clients have one address, and a request that trickles in would otherwise keep its slot
 * forever. */
#define CONNECTIONS_KEPT 96u
#define IDLE_S 30u
/* Per connection: the first line and headers of the request and of the response must fit. */
#define CONNECTION_BYTES (32u << 10)

enum stage {
    NEW,
    BODY /* it is granted, and being sent */,
    WHOLE,
    HELD /* queued, or about to be */,
    ANSWERED
};

/* A connection; ordered by the last response, or the start. Only libmicrohttpd's thread accesses
 * them. */
struct tt_visitor {
    tt_visitor *before, *behind;
    int socket;
    bool is_served; /* a complete request is being answered */
    bool is_sent_away;
};

static void unlink_visitor(tt_server *s, tt_visitor *v)
{
    if (v->before)
        v->before->behind = v->behind;
    else
        s->oldest = v->behind;
    if (v->behind)
        v->behind->before = v->before;
    else
        s->newest = v->before;
}

static void append_visitor(tt_server *s, tt_visitor *v)
{
    v->before = s->newest;
    v->behind = NULL;
    if (s->newest)
        s->newest->behind = v;
    else
        s->oldest = v;
    s->newest = v;
}

/* Its connection then ends as if the client had left. */
static void send_oldest_away(tt_server *s)
{
    for (tt_visitor *v = s->oldest; v; v = v->behind) {
        if (v->is_served || v->is_sent_away) continue;
        v->is_sent_away = true;
        s->n_visitors--;
        (void)shutdown(v->socket, SHUT_RDWR);
        return;
    }
}

static void come_and_go(void *server, struct MHD_Connection *c, void **context,
                        enum MHD_ConnectionNotificationCode what)
{
    tt_server *s = server;
    tt_visitor *v = *context;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
        v = info ? calloc(1, sizeof *v) : NULL;
        if (!v) return; /* then it is not disconnected */
        v->socket = info->connect_fd;
        if (++s->n_visitors > CONNECTIONS_KEPT) send_oldest_away(s);
        append_visitor(s, v);
        *context = v;
    } else if (v) {
        if (!v->is_sent_away) s->n_visitors--;
        unlink_visitor(s, v);
        free(v);
        *context = NULL;
    }
}

static tt_visitor *visitor_of(struct MHD_Connection *c)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

/* A request and its answer. */
typedef struct exchange {
    tt_job job;
    tt_server *server;
    struct MHD_Connection *connection;
    int client;
    enum stage stage;
    char *raw; /* the target as sent */
    tt_target target;
    char *body; /* of a change; NULL: none */
    size_t body_size, body_expected;
    tt_reply reply;
} exchange;

/* Called with the target before unescaping. Returns the exchange. */
static void *begin(void *server, const char *target, struct MHD_Connection *c)
{
    exchange *x = calloc(1, sizeof *x);
    (void)c;
    if (!x) return NULL;
    x->server = server;
    tt_reply_init(&x->reply);
    x->raw = strdup(target);
    return x;
}

static void end(void *server, struct MHD_Connection *c, void **context,
                enum MHD_RequestTerminationCode why)
{
    exchange *x = *context;
    tt_visitor *v = visitor_of(c);
    (void)why;
    if (v && v->is_served) {
        v->is_served = false;
        unlink_visitor(server, v);
        append_visitor(server, v);
    }
    if (!x) return;
    tt_reply_free(&x->reply);
    free(x->raw);
    free(x->body);
    free(x);
    *context = NULL;
}

/* tt_target_parse undoes the escapes; a NUL does not end the text there. */
static size_t leave_escapes(void *server, struct MHD_Connection *c, char *text)
{
    (void)server;
    (void)c;
    return strlen(text);
}

static enum MHD_Result note_header(void *request, enum MHD_ValueKind kind, const char *name,
                                   const char *value)
{
    tt_access_request *q = request;
    const struct {
        const char *name;
        const char **to;
    } wanted[] = {{"Host", &q->host},
                  {"Origin", &q->origin},
                  {"Sec-Fetch-Site", &q->fetch_site},
                  {"Content-Type", &q->type},
                  {"Content-Length", &q->length}};
    (void)kind;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (strcasecmp(name, wanted[i].name) != 0) continue;
        if (*wanted[i].to) q->ambiguous = true;
        *wanted[i].to = value ? value : "";
    }
    if (strcasecmp(name, "Cookie") == 0) q->cookie = value;
    if (strcasecmp(name, "Transfer-Encoding") == 0) q->has_body = q->is_chunked = true;
    if (strcasecmp(name, "Content-Length") == 0 && value && strcmp(value, "0") != 0)
        q->has_body = true;
    return MHD_YES;
}

static void work(tt_job *job)
{
    exchange *x = (exchange *)job; /* its first member */
    const tt_api_asker asker = {.client = x->client,
                                .is_ending = &x->server->is_ending,
                                .keeps_notes = x->server->keeps_notes,
                                .body = x->body,
                                .body_size = x->body_size};
    tt_api_answer(x->server->traces, &x->target, &asker, &x->reply);
    x->stage = ANSWERED;
    MHD_resume_connection(x->connection);
}

static enum MHD_Result hold(exchange *x)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    x->client = info ? info->connect_fd : -1;
    x->stage = HELD;
    x->job.work = work;
    MHD_suspend_connection(x->connection);
    if (tt_pool_add(x->server->pool, &x->job)) return MHD_YES;
    x->reply.retry_after_s = 1;
    tt_reply_error(&x->reply, 503, "the server is ending, or has no thread for this; ask again");
    x->stage = ANSWERED;
    MHD_resume_connection(x->connection);
    return MHD_YES;
}

static enum MHD_Result serve(exchange *x)
{
    const char *path = x->target.path;
    if (tt_api_owns(path)) return hold(x);
    for (const tt_asset *a = tt_assets; a->path; a++)
        if (strcmp(a->path, path) == 0) return http_send_asset(x->connection, a);
    return http_send_error(x->connection, false, 404, "there is no such page; the viewer is at /");
}

/* The access rules have checked its length. */
static enum MHD_Result await_body(exchange *x, const tt_access_request *q)
{
    (void)tt_access_length(q->length, &x->body_expected);
    x->body = malloc(x->body_expected);
    x->stage = BODY;
    return x->body ? MHD_YES : MHD_NO;
}

/* Called with parts of the body, then with none. */
static enum MHD_Result take_body(exchange *x, const char *upload, size_t *size)
{
    if (*size == 0) return x->body_size == x->body_expected ? serve(x) : MHD_NO;
    if (*size > x->body_expected - x->body_size) return MHD_NO;
    memcpy(x->body + x->body_size, upload, *size);
    x->body_size += *size;
    *size = 0;
    return MHD_YES;
}

static enum MHD_Result evaluate(exchange *x, const char *method)
{
    struct MHD_Connection *c = x->connection;
    tt_error err;
    tt_status parsed = tt_target_parse(&x->target, x->raw, strlen(x->raw), &err);
    bool as_json = strncmp(x->raw, "/api", 4) == 0;
    tt_access_request q = {.method = method,
                           .path = x->target.path,
                           .is_changeable = x->server->keeps_notes && parsed == TT_OK &&
                                            tt_api_changes(x->target.path)};
    (void)MHD_get_connection_values(c, MHD_HEADER_KIND, note_header, &q);
    tt_access_verdict v = tt_access_check(&x->server->key, &q);
    if (v.kind == TT_ACCESS_REFUSED) return http_send_error(c, as_json, v.status, v.message);
    if (parsed != TT_OK)
        return http_send_error(c, as_json, parsed == TT_E_LIMIT ? 414 : 400, err.message);
    /* Only this thread uses it. A HEAD may not be from the browser. */
    if (v.used_once && strcmp(method, "GET") == 0) x->server->key.once[0] = '\0';
    if (v.kind != TT_ACCESS_GRANTED) return http_send_entry(c, &x->server->key, v.kind);
    return strcmp(method, "POST") == 0 ? await_body(x, &q) : serve(x);
}

/* An answer before the request's end closes the connection: used for invalid requests. */
static bool waits_for_body(struct MHD_Connection *c, const char *method)
{
    tt_access_request q = {.method = method};
    (void)MHD_get_connection_values(c, MHD_HEADER_KIND, note_header, &q);
    return q.has_body || (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0);
}

/* Called with the headers, at the request's end, and when a suspended connection resumes. */
static enum MHD_Result handle(void *server, struct MHD_Connection *c, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **context)
{
    exchange *x = *context;
    (void)server;
    (void)url;
    (void)version;
    if (!x || !x->raw) return MHD_NO;
    if (x->stage == ANSWERED) return http_send_reply(c, &x->reply);
    if (x->stage == HELD) return MHD_YES;
    if (x->stage == BODY) return take_body(x, upload, upload_size);
    if (x->stage == NEW && !waits_for_body(c, method)) {
        x->stage = WHOLE;
        return MHD_YES;
    }
    tt_visitor *v = visitor_of(c);
    if (v) v->is_served = true;
    x->connection = c;
    return evaluate(x, method);
}

tt_status tt_http_start(tt_server *s, int listening, tt_error *err)
{
    /* Not with epoll: there, libmicrohttpd 0.9.75 does not notice that a client has left if its
     * last bytes came together with its end, and keeps the connection until the idle timeout. */
    s->daemon = MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, s,
        MHD_OPTION_LISTEN_SOCKET, listening, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK,
        begin, s, MHD_OPTION_NOTIFY_COMPLETED, end, s, MHD_OPTION_NOTIFY_CONNECTION, come_and_go, s,
        MHD_OPTION_UNESCAPE_CALLBACK, leave_escapes, s, MHD_OPTION_END);
    if (s->daemon) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "the web server could not be started");
}

void tt_http_stop(tt_server *s)
{
    if (s->daemon) MHD_stop_daemon(s->daemon);
    s->daemon = NULL;
}
