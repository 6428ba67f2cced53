#include "arrow/stream.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* --- the model --- */

struct tt_held_model {
    tt_model *m;
    atomic_size_t users;
};

tt_held_model *tt_held_model_new(tt_model *m)
{
    tt_held_model *h = malloc(sizeof *h);
    if (!h) return NULL;
    h->m = m;
    atomic_init(&h->users, 1);
    return h;
}

const tt_model *tt_held_model_get(const tt_held_model *h)
{
    return h->m;
}

tt_held_model *tt_held_model_take(tt_held_model *h)
{
    (void)atomic_fetch_add(&h->users, 1);
    return h;
}

void tt_held_model_give(tt_held_model *h)
{
    if (!h || atomic_fetch_sub(&h->users, 1) != 1) return;
    tt_model_close(h->m);
    free(h);
}

/* --- streams --- */

typedef struct stream {
    tt_arrow_shape shape;
    tt_arrow_source source;
    tt_error error; /* the last one */
    bool failed;    /* for good */
} stream;

static int errno_of(tt_status status)
{
    switch (status) {
    case TT_OK:
        return 0;
    case TT_E_MEMORY:
        return ENOMEM;
    case TT_E_IO:
        return EIO;
    case TT_E_FORMAT:
    case TT_E_TRUNCATED:
    case TT_E_CHECKSUM:
    case TT_E_LIMIT:
    case TT_E_UNSUPPORTED:
    case TT_E_USAGE:
    case TT_E_NOT_FOUND:
    case TT_E_EXISTS:
        break;
    }
    return EINVAL;
}

static int get_schema(struct ArrowArrayStream *a, struct ArrowSchema *out)
{
    stream *s = a->private_data;
    return errno_of(tt_arrow_schema(&s->shape, out, &s->error));
}

static int get_next(struct ArrowArrayStream *a, struct ArrowArray *out)
{
    stream *s = a->private_data;
    memset(out, 0, sizeof *out);
    if (s->failed) return errno_of(s->error.status);
    tt_status status = s->source.next(s->source.own, out, &s->error);
    s->failed = status != TT_OK;
    return errno_of(status);
}

static const char *get_last_error(struct ArrowArrayStream *a)
{
    const stream *s = a->private_data;
    return s->error.status == TT_OK ? NULL : s->error.message;
}

static void release(struct ArrowArrayStream *a)
{
    stream *s = a->private_data;
    s->source.close(s->source.own);
    free(s);
    a->private_data = NULL;
    a->release = NULL;
}

tt_status tt_arrow_stream_make(const tt_arrow_shape *shape, const tt_arrow_source *source,
                               struct ArrowArrayStream *out, tt_error *err)
{
    stream *s = calloc(1, sizeof *s);
    if (!s) {
        source->close(source->own);
        return tt_error_memory(err, "the stream");
    }
    s->shape = *shape;
    s->source = *source;
    *out = (struct ArrowArrayStream){get_schema, get_next, get_last_error, release, s};
    return TT_OK;
}
