/* tt_ggml_eval_callback: ops of llama.cpp in a program that has its own context and was not started
 * by `tensortrace run`. The scheduler's callbacks, node by node, are the only source. */
#include "adapter/ggml/batches.h"
#include "adapter/ggml/buffers.h"
#include "adapter/ggml/capture.h"
#include "adapter/ggml/engine.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/libraries.h"
#include "adapter/ggml/process.h"
#include "adapter/program/describe.h"
#include "adapter/program/engine.h"
#include "adapter/program/outputs.h"
#include "adapter/program/thread.h"
#include "base/clock.h"
#include "record/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHADOWS_MAX 4096u

typedef struct shadow {
    tt_program_buffer known;
    const void *of; /* the engine's buffer */
    bool is_host;
    struct shadow *next;
} shadow;

static shadow *shadows; /* newest first; outdated ones leave the list but are never freed */
static uint32_t n_shadows;

static bool is_host(void *buffer)
{
    return ((const shadow *)buffer)->is_host;
}

/* The engine with other buffer functions, which take what program_shadow_of returns. */
static const tt_engine *program_shadow_engine(const tt_engine *e)
{
    static tt_engine engine;
    static const tt_engine *_Atomic made;
    if (made != e) {
        /* A process has one engine, so all threads write the same. */
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
    tt_buffers_made(r, program_shadow_engine(e), s, TT_BUFFER_MET, "");
    return s;
}

/* The shadow of the tensor's existing buffer; NULL without one. tt_process_lock is held. */
static void *program_shadow_of(tt_recorder *r, const tt_engine *e, const struct ggml_tensor *t)
{
    void *buffer = t->buffer ? t->buffer : t->view_src ? t->view_src->buffer : NULL;
    if (!buffer) return NULL;
    for (shadow **at = &shadows; *at; at = &(*at)->next) {
        shadow *s = *at;
        if (s->of != buffer) continue;
        if (s->known.base == e->buffer_base(buffer) &&
            s->known.size_bytes == e->buffer_size(buffer))
            return s;
        /* A different buffer at the same address: the end of the first was not observed. */
        *at = s->next;
        tt_buffers_freed(r, s);
        break;
    }
    return make(r, e, buffer);
}

#define TOKENS_MAX (1 << 20)

/* State of this thread's scheduler. */
static __thread struct {
    const tt_engine *engine;
    tt_batch_inputs inputs;
    bool has_tokens; /* the batch's embeddings have been looked up */
    tt_phases phases;
    bool has_output; /* the batch computes logits or embeddings */
    bool user_wants; /* the program's own callback asked for the current node */
    tt_program_output output;
} current __attribute__((tls_model("initial-exec")));

/* Whether this engine's nodes have a flag for being computed; since 2026. */
static _Atomic bool goes_by_flag;

/* --- batches --- */

static bool begins_batch(tt_program_batch *b, const tt_engine *e, const struct ggml_tensor *t)
{
    uint32_t node;
    if (!b) return true;
    (void)tt_program_batch_find(b, (uint64_t)(uintptr_t)t, &node);
    return node || (current.has_tokens && tt_batches_is_tokens(e, t, 1));
}

static tt_program_batch *begin_batch(tt_recorder *r, tt_program_thread *self, const tt_engine *e)
{
    tt_program_thread_end_batch(r, self, 0, 0);
    tt_libraries_describe(r, e);
    tt_program_batch *b = tt_program_batch_begin(r, program_shadow_engine(e), 1, 0);
    self->batch = b;
    if (b) self->generation = atomic_load(&b->generation);
    memset(&current.inputs, 0, sizeof current.inputs);
    current.phases.had_output = current.has_output;
    current.has_output = current.has_tokens = false;
    return b;
}

/* Records the BATCH when tokens and positions have been found. Inputs have their values when the
 * first node that reads them is about to be computed. */
static void describe_batch(tt_recorder *r, tt_program_batch *b, const tt_engine *e,
                           const struct ggml_tensor *t)
{
    tt_batch_inputs *in = &current.inputs;
    if (tt_batches_is_tokens(e, t, 1)) current.has_tokens = true;
    if (strcmp(t->name, "result_output") == 0 || strcmp(t->name, "result_embd_pooled") == 0)
        current.has_output |= t->ne[1] > 0;
    if (b->described) return;
    tt_batches_look(e, t, true, in);
    if (!in->positions || !(in->tokens || in->embeddings)) return;
    int64_t n = in->tokens ? in->tokens->ne[0] : in->embeddings->ne[1];
    tt_meta_batch m = {.n_tokens = n > 0 && n <= TOKENS_MAX ? (uint32_t)n : 0};
    int32_t *tokens =
        tt_capture_options.text ? tt_batches_numbers(e, in->tokens, m.n_tokens) : NULL;
    int32_t *positions = tt_batches_numbers(e, in->positions, m.n_tokens);
    m.phase = tt_phases_guess(&current.phases, positions, m.n_tokens, 0);
    tt_program_batch_describe(r, b, &m, tokens, positions);
    free(tokens);
    free(positions);
}

/* --- nodes --- */

/* The tensor as a node of the batch if it is one, else as a leaf. */
static struct ggml_tensor *known_or_leaf(tt_recorder *r, tt_program_batch *b, const tt_engine *e,
                                         const struct ggml_tensor *t, unsigned depth)
{
    struct ggml_tensor *known = tt_program_batch_find(b, (uint64_t)(uintptr_t)t, NULL);
    struct ggml_tensor copy;
    if (known || depth > 4) return known;
    memcpy(&copy, t, sizeof copy);
    memset(copy.src, 0, sizeof copy.src);
    copy.extra = NULL;
    copy.buffer = program_shadow_of(r, e, t);
    copy.view_src = t->view_src ? known_or_leaf(r, b, e, t->view_src, depth + 1) : NULL;
    if (!copy.view_src) copy.view_offs = 0;
    return tt_program_batch_add_leaf(r, b, &copy, (uint64_t)(uintptr_t)t);
}

static uint32_t add_node(tt_recorder *r, tt_program_batch *b, const tt_engine *e,
                         const struct ggml_tensor *t)
{
    struct ggml_tensor copy;
    memcpy(&copy, t, sizeof copy);
    copy.extra = NULL;
    memset(copy.padding, 0, sizeof copy.padding);
    for (int i = 0; i < GGML_MIRROR_SRC; i++)
        copy.src[i] = t->src[i] ? known_or_leaf(r, b, e, t->src[i], 0) : NULL;
    copy.view_src = t->view_src ? known_or_leaf(r, b, e, t->view_src, 0) : NULL;
    copy.buffer = program_shadow_of(r, e, t);
    return tt_program_batch_add(r, b, &copy, (uint64_t)(uintptr_t)t);
}

/* Whether the node is recorded, so that the scheduler must offer it. */
static bool on_ask(tt_recorder *r, tt_program_thread *self, const tt_engine *e,
                   const struct ggml_tensor *t)
{
    tt_program_output *out = &current.output;
    if (t->flags & GGML_MIRROR_FLAG_COMPUTE) atomic_store(&goes_by_flag, true);
    bool executes = tt_graphs_executes(t, atomic_load(&goes_by_flag));
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_program_batch *b = tt_program_thread_batch(self);
    if (b && (b->is_loose || b->engine != program_shadow_engine(e))) b = NULL;
    if (begins_batch(b, e, t)) b = begin_batch(r, self, e);
    uint32_t node = b ? add_node(r, b, e, t) : 0;
    if (node && executes) {
        describe_batch(r, b, e, t);
        out->run = b->meta.id;
        out->node = node - 1;
        out->wanted = tt_program_output_is_wanted(b, t);
    }
    (void)pthread_mutex_unlock(&tt_process_lock);
    if (!node || !executes) return false;
    tt_program_thread_open(self, b, out->run, out->node, 0);
    return true;
}

/* The node has been computed; the scheduler waits. */
static void on_shown(tt_program_thread *self, const struct ggml_tensor *t, uint64_t ticks)
{
    tt_program_output *out = &current.output;
    if (!self->open) return;
    tt_program_thread_close(self, ticks);
    if (out->wanted)
        tt_program_output_take_of(current.engine, t, out->run, out->node,
                                  tt_capture_options.values.level);
    out->wanted = false;
}

bool(tt_ggml_eval_callback)(struct ggml_tensor *tensor, bool ask, void *user_data)
{
    const tt_ggml_chain *chain = user_data;
    const void *caller = TT_CALLER;
    uint64_t now = tt_ticks();
    tt_program_thread *self = NULL;
    tt_recorder *r = tt_program_records_engines() ? tt_program_recorder(&self) : NULL;
    const tt_engine *e = r &&ask ? current.engine = tt_engine_get(caller) : current.engine;
    bool wants = false;
    if (chain && chain->callback && (ask || current.user_wants)) {
        bool answer = chain->callback(tensor, ask, chain->user_data);
        if (!ask && r && e) on_shown(self, tensor, now);
        if (!ask) return answer;
        wants = answer;
    } else if (!ask) {
        if (r && e) on_shown(self, tensor, now);
        return true;
    }
    current.user_wants = wants;
    if (r && e && on_ask(r, self, e, tensor)) return true;
    return wants;
}
