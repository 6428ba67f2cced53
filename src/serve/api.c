#include "serve/api.h"

#include "serve/endpoints.h"
#include "serve/generation.h"
#include "serve/traces.h"

#include <stdio.h>
#include <string.h>

#define TRACES "traces/"

bool tt_api_owns(const char *path)
{
    return strncmp(path, "/api", 4) == 0 && (path[4] == '/' || path[4] == '\0');
}

/* 5xx is for errors of the server, not for a trace without the requested data. */
static unsigned status_of(const tt_error *err)
{
    switch (err->status) {
    case TT_E_USAGE:
        return 400;
    case TT_E_NOT_FOUND:
        return 404;
    case TT_E_FORMAT:
    case TT_E_TRUNCATED:
    case TT_E_CHECKSUM:
    case TT_E_UNSUPPORTED:
    case TT_E_LIMIT:
        return 422;
    default:
        return 500;
    }
}

/* Parses the number of a trace: TT_NONE if it is not served. */
static uint32_t parse_id(const tt_traces *t, const char *text, size_t n)
{
    if (n != 1 || *text < '0' || *text > '9') return TT_NONE;
    uint32_t id = (uint32_t)(*text - '0');
    return id < tt_traces_count(t) ? id : TT_NONE;
}

static const tt_endpoint *find(const char *name, bool of_trace)
{
    for (const tt_endpoint *e = tt_endpoints; e->name; e++)
        if (e->of_trace == of_trace && strcmp(e->name, name) == 0) return e;
    return NULL;
}

/* The endpoint of a path after /api/v1; the trace's id goes into q. */
static tt_status route(tt_request *q, const char *path, const tt_endpoint **out, tt_error *err)
{
    const char *rest = *path == '/' ? path + 1 : path;
    *out = NULL;
    if (strncmp(rest, TRACES, strlen(TRACES)) != 0) {
        *out = find(rest, false);
    } else {
        const char *id = rest + strlen(TRACES), *name = strchr(id, '/');
        q->trace_id = parse_id(q->traces, id, name ? (size_t)(name - id) : strlen(id));
        if (q->trace_id == TT_NONE)
            return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                                "no such trace; there are %u, counted from 0",
                                tt_traces_count(q->traces));
        *out = find(name ? name + 1 : "", true);
    }
    if (*out) return TT_OK;
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                        "no endpoint \"%.100s\"; " TT_API_PATH " lists them", rest);
}

static bool knows(const char *params, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = params; n && p && *p;) {
        size_t length = strcspn(p, " ");
        if (length == n && strncmp(p, name, n) == 0) return true;
        p += length;
        p += strspn(p, " ");
    }
    return false;
}

static tt_status check_params(tt_request *q, const tt_endpoint *e, tt_error *err)
{
    const char *params = e->params ? e->params : "";
    for (uint32_t i = 0; i < q->n_params; i++)
        if (!knows(params, q->params[i].name))
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "no parameter \"%.60s\"; %s%s",
                                q->params[i].name, *params ? "there are: " : "there are none",
                                params);
    const char *other = knows(params, "other") ? tt_request_text(q, "other") : NULL;
    if (!other) return TT_OK;
    q->other_id = parse_id(q->traces, other, strlen(other));
    if (q->other_id != TT_NONE) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                        "other=%.40s: no such trace; there are %u, counted from 0", other,
                        tt_traces_count(q->traces));
}

/* Gets the newest generation of a trace and a share of it. False: the reply has the error. */
static bool take(tt_traces *t, uint32_t id, tt_generation **g, tt_model **m, tt_reply *r)
{
    tt_error err;
    *g = tt_traces_newest(t, id);
    if (!*g) {
        tt_trace_news news;
        char message[sizeof news.why.message + 64];
        tt_traces_news(t, id, &news);
        bool failed = news.state == TT_TRACE_FAILED;
        if (!failed) r->retry_after_s = 1;
        (void)snprintf(message, sizeof message, "%s",
                       news.why.status != TT_OK ? news.why.message
                                                : "the trace is still being read; ask again");
        tt_reply_error(r, failed ? 500 : 503, message);
        return false;
    }
    if (tt_generation_take(*g, m, &err) == TT_OK) return true;
    tt_reply_error(r, 500, err.message);
    return false;
}

static void give(tt_generation *g, tt_model *m)
{
    if (!g) return;
    tt_generation_give(g, m);
    tt_generation_unref(g);
}

static void answer(tt_request *q, const tt_endpoint *e, tt_reply *r)
{
    tt_error err = {.status = TT_E_MEMORY, .offset = TT_NO_OFFSET, .message = "no memory"};
    tt_status status = e->answer(q, r, &err);
    if (status == TT_OK) status = tt_reply_finish(r, &err);
    if (status == TT_OK) return;
    err.status = status;
    tt_reply_error(r, status_of(&err), err.message);
}

bool tt_api_changes(const char *path)
{
    const size_t n = strlen(TT_API_PATH "/" TRACES);
    if (strncmp(path, TT_API_PATH "/" TRACES, n) != 0) return false;
    const char *name = strchr(path + n, '/');
    const tt_endpoint *e = name ? find(name + 1, true) : NULL;
    return e && e->answer == tt_answer_notes; /* the only one */
}

void tt_api_answer(tt_traces *traces, const tt_target *target, const tt_api_asker *asker,
                   tt_reply *r)
{
    tt_error err;
    const tt_endpoint *e = NULL;
    tt_request q = {.traces = traces,
                    .trace_id = TT_NONE,
                    .other_id = TT_NONE,
                    .client = asker->client,
                    .is_ending = asker->is_ending,
                    .keeps_notes = asker->keeps_notes,
                    .body = asker->body,
                    .body_size = asker->body_size,
                    .n_params = target->n_params};
    memcpy(q.params, target->params, target->n_params * sizeof *q.params);
    size_t n = strlen(TT_API_PATH);
    bool is_known = strncmp(target->path, TT_API_PATH, n) == 0 &&
                    (target->path[n] == '/' || target->path[n] == '\0');
    tt_status status = is_known ? route(&q, target->path + n, &e, &err)
                                : tt_error_set(&err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                                               "this program has version 1 of the API, "
                                               "at " TT_API_PATH);
    if (status == TT_OK) status = check_params(&q, e, &err);
    if (status != TT_OK) {
        tt_reply_error(r, status_of(&err), err.message);
        return;
    }
    bool ready = true;
    if (q.trace_id != TT_NONE && !e->early) ready = take(traces, q.trace_id, &q.source, &q.m, r);
    if (ready && q.other_id != TT_NONE)
        ready = take(traces, q.other_id, &q.other_source, &q.other, r);
    if (ready) {
        if (q.source) r->generation = tt_generation_number(q.source);
        answer(&q, e, r);
    }
    give(q.source, q.m);
    give(q.other_source, q.other);
}
