#include "serve/reply.h"


#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/types.h>

void tt_reply_init(tt_reply *r)
{
    memset(r, 0, offsetof(tt_reply, json));
    r->status = 200;
    tt_bytes_init(&r->body, TT_REPLY_BYTES_MAX);
}

static void drop(tt_reply *r)
{
    if (r->stream) (void)fclose(r->stream);
    if (r->file) (void)fclose(r->file);
    tt_bytes_free(&r->body);
    r->stream = r->file = NULL;
}

void tt_reply_free(tt_reply *r)
{
    drop(r);
    tt_reply_init(r);
}

static ssize_t append(void *body, const char *data, size_t n)
{
    tt_bytes *b = body;
    tt_bytes_put(b, data, n);
    if (!b->failed) return (ssize_t)n;
    errno = ENOMEM;
    return 0;
}

FILE *tt_reply_stream(tt_bytes *out)
{
    FILE *stream = fopencookie(out, "w", (cookie_io_functions_t){.write = append});
    if (stream) (void)setvbuf(stream, NULL, _IONBF, 0);
    return stream;
}

tt_json *tt_reply_json(tt_reply *r)
{
    r->type = "application/json";
    r->stream = tt_reply_stream(&r->body);
    r->is_json = true;
    tt_json_begin(&r->json, r->stream, 0);
    return &r->json;
}

tt_status tt_reply_row(tt_reply *r, const tt_schema *schema, const void *context, const void *row)
{
    tt_row_json(tt_reply_json(r), NULL, schema, context, row);
    return TT_OK;
}

tt_bytes *tt_reply_binary(tt_reply *r)
{
    r->type = "application/octet-stream";
    return &r->body;
}

FILE *tt_reply_file(tt_reply *r, const char *name, const char *type)
{
    size_t n = strlen(name);
    if (n == 0 || n >= sizeof r->name || name[0] == '.' ||
        name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")]) {
        errno = EINVAL;
        return NULL;
    }
    r->file = tmpfile();
    if (!r->file) return NULL;
    memcpy(r->name, name, n + 1);
    r->type = type;
    return r->file;
}

tt_status tt_reply_finish(tt_reply *r, tt_error *err)
{
    bool written = true;
    if (r->is_json && !r->stream) return tt_error_memory(err, "the answer");
    if (r->is_json) {
        written = tt_json_end(&r->json);
        if (fclose(r->stream) != 0) written = false;
        r->stream = NULL;
        r->is_json = false;
    }
    if (r->file && (fflush(r->file) != 0 || ferror(r->file)))
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s could not be written: %s", r->name,
                            strerror(errno));
    if (r->body.failed || !written)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the answer has more than %zu MiB; ask for a smaller part",
                            TT_REPLY_BYTES_MAX >> 20);
    if (!r->type)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "the endpoint answered nothing");
    return TT_OK;
}

typedef struct error_row {
    unsigned status;
    const char *message;
} error_row;

static const tt_column message_columns[] = {
    TT_FIELD("status", "of HTTP", TT_MEMBER(error_row, status)),
    TT_FIELD("message", "what is wrong", TT_MEMBER(error_row, message)),
};
static const tt_schema message_schema =
    TT_SCHEMA("error", "why there is no answer", message_columns);
static const tt_column error_columns[] = {
    TT_FIELD("error", "instead of an answer", .type = TT_CELL_OBJECT, .inner = &message_schema),
};
static const tt_schema error_schema = TT_SCHEMA("failure", "no answer", error_columns);

void tt_reply_error(tt_reply *r, unsigned status, const char *message)
{
    uint64_t generation = r->generation;
    unsigned retry = r->retry_after_s;
    drop(r);
    tt_reply_init(r);
    r->status = status;
    r->generation = generation;
    r->retry_after_s = retry;
    const error_row row = {status, message};
    (void)tt_reply_row(r, &error_schema, NULL, &row);
    (void)tt_reply_finish(r, NULL); /* if out of memory, only the status is sent */
}
