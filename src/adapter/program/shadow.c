#include "adapter/program/shadow.h"

#include "adapter/ggml/buffers.h"
#include "adapter/program/engine.h"

#include <stdio.h>
#include <stdlib.h>

#define SHADOWS_MAX 4096u

typedef struct shadow {
    tt_program_buffer known;
    const void *of; /* the engine's buffer */
    bool is_host;
    struct shadow *next;
} shadow;

static shadow *shadows; /* those that stand for a buffer, newest first; the others are not freed */
static uint32_t n_shadows;

static bool is_host(void *buffer)
{
    return ((const shadow *)buffer)->is_host;
}

const tt_engine *tt_program_shadow_engine(const tt_engine *e)
{
    static tt_engine engine;
    static const tt_engine *_Atomic made;
    if (made != e) {
        /* There is one engine in a process, and whoever comes here writes the same. */
        const tt_engine *ours = tt_program_engine();
        engine = *e;
        engine.buffer_name = ours->buffer_name;
        engine.buffer_base = ours->buffer_base;
        engine.buffer_size = ours->buffer_size;
        engine.buffer_usage = ours->buffer_usage;
        engine.buffer_is_host = is_host;
        made = e;
    }
    return &engine;
}

static shadow *make(tt_recorder *r, const tt_engine *e, void *buffer)
{
    shadow *s = n_shadows < SHADOWS_MAX ? calloc(1, sizeof *s) : NULL;
    if (!s) return NULL;
    (void)snprintf(s->known.name, sizeof s->known.name, "%s", e->buffer_name(buffer));
    s->known.base = e->buffer_base(buffer);
    s->known.size_bytes = e->buffer_size(buffer);
    s->known.use = e->buffer_usage ? e->buffer_usage(buffer) : 0;
    s->is_host = e->buffer_is_host(buffer);
    s->of = buffer;
    s->next = shadows;
    shadows = s;
    n_shadows++;
    tt_buffers_made(r, tt_program_shadow_engine(e), s, TT_BUFFER_MET, "");
    return s;
}

void *tt_program_shadow_of(tt_recorder *r, const tt_engine *e, const struct ggml_tensor *t)
{
    void *buffer = t->buffer ? t->buffer : t->view_src ? t->view_src->buffer : NULL;
    if (!buffer) return NULL;
    for (shadow **at = &shadows; *at; at = &(*at)->next) {
        shadow *s = *at;
        if (s->of != buffer) continue;
        if (s->known.base == e->buffer_base(buffer) &&
            s->known.size_bytes == e->buffer_size(buffer))
            return s;
        /* Another one at the same address: the end of the first was not seen. */
        *at = s->next;
        tt_buffers_freed(r, s);
        break;
    }
    return make(r, e, buffer);
}
