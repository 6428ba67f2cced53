/* Batches and ops of tensortrace/record.h. */
#include "adapter/ggml/capture.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/process.h"
#include "adapter/program/again.h"
#include "adapter/program/bitnet.h"
#include "adapter/program/describe.h"
#include "adapter/program/engine.h"
#include "adapter/program/outputs.h"
#include "adapter/program/sink.h"
#include "adapter/program/thread.h"
#include "base/clock.h"

#include <string.h>

#define VOCABULARY 1u /* of tokens' texts; a program has one */
#define TOKENS_MAX (1u << 20)

static void end_op(tt_program_thread *self, uint64_t ticks)
{
    bool was_open = self->open != NULL;
    tt_program_thread_close(self, ticks);
    if (was_open && self->output.wanted) tt_program_output_take(&self->output);
    self->output.wanted = false;
}

/* Reading the clock is what costs most of an op. */
static void end_if_open(tt_program_thread *self)
{
    if (self->open || self->output.wanted) end_op(self, tt_ticks());
}

void(tt_batch_begin)(const tt_record_batch *batch)
{
    tt_program_thread *self;
    uint64_t now = tt_ticks();
    tt_recorder *r = tt_program_recorder(&self);
    tt_meta_batch m = {.phase = TT_PHASE_UNKNOWN};
    const int32_t *tokens = NULL, *positions = NULL;
    tt_program_sink_batch(batch);
    if (!r) return;
    if (batch) {
        m.n_tokens = batch->n_tokens <= TOKENS_MAX ? batch->n_tokens : 0;
        if (batch->phase == TT_PHASE_PROMPT || batch->phase == TT_PHASE_GENERATE ||
            batch->phase == TT_PHASE_WARMUP)
            m.phase = (uint8_t)batch->phase;
        tokens = m.n_tokens && tt_capture_options.text ? batch->tokens : NULL;
        positions = m.n_tokens ? batch->positions : NULL;
    }
    if (tokens) m.vocabulary = VOCABULARY;
    end_op(self, now);
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_program_thread_end_batch(r, self, now, 0);
    tt_program_batch *b =
        tt_program_batch_begin(r, tt_program_engine(), batch && batch->context ? batch->context : 1,
                               batch ? batch->n_threads : 0);
    if (b) tt_program_batch_describe(r, b, &m, tokens, positions);
    self->left_out = !b;
    self->batch = b;
    if (b) self->generation = atomic_load(&b->generation);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

void(tt_batch_end)(int status)
{
    tt_program_thread *self;
    uint64_t now = tt_ticks();
    tt_recorder *r = tt_program_recorder(&self);
    tt_program_sink_batch(NULL);
    if (!r) return;
    end_op(self, now);
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_program_thread_end_batch(r, self, now, status);
    self->left_out = false;
    (void)pthread_mutex_unlock(&tt_process_lock);
}

void(tt_token_name)(int32_t token, const char *text, size_t n)
{
    tt_program_thread *self;
    tt_recorder *r = tt_program_recorder(&self);
    tt_bytes payload;
    if (!r || !text || n > UINT16_MAX || !tt_capture_options.text) return;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_token_text(
        &payload, &(tt_meta_token_text){VOCABULARY, token, (tt_span){(const uint8_t *)text, n}});
    (void)pthread_mutex_lock(&tt_process_lock);
    (void)tt_process_put(r, TT_META_TOKEN_TEXT, &payload);
    (void)pthread_mutex_unlock(&tt_process_lock);
}

/* Whether there are bytes to capture: type and shape are valid and give their number. */
static bool has_data(const struct ggml_tensor *t)
{
    return t->data && tt_program_engine()->nbytes(t) > 0;
}

/* Adds the node; 0 if it is not recorded. *out: what to capture of it; at_its_end: the op's end
 * captures it. */
static tt_node add(tt_recorder *r, tt_program_thread *self, const tt_record_tensor *output,
                   bool at_its_end, tt_program_output *out, tt_program_batch **batch)
{
    uint64_t key = tt_program_key(output->name, output->data);
    tt_node node = 0;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_program_batch *b = tt_program_thread_batch_for(r, self, key, TT_NO_POSITION);
    const uint32_t n_before = b ? b->n_tensors : 0;
    uint32_t number = b ? tt_program_add(r, b, output, &out->tensor) : 0;
    if (number) {
        out->run = b->meta.id;
        out->node = number - 1;
        const bool may = tt_program_output_may_be_wanted(b, &out->tensor);
        out->wanted = may && has_data(&out->tensor) && tt_program_output_is_wanted(b, &out->tensor);
        tt_program_keep(b, output, n_before, may);
        /* tt_op_end captures it; the output of a shared op is captured by tt_op_taken. */
        if (out->wanted && at_its_end) b->taken[out->node] = 1;
        node = tt_program_node(b, number);
    } else if (b) {
        atomic_fetch_add(&tt_recorder_area(r)->area->counts.ops_unresolved, 1);
    }
    (void)pthread_mutex_unlock(&tt_process_lock);
    *batch = b;
    return node;
}

tt_node(tt_op_begin)(const tt_record_tensor *output)
{
    tt_program_thread *self;
    tt_program_batch *b;
    tt_recorder *r = tt_program_recorder(&self);
    if (r) end_if_open(self);
    tt_program_sink_begin(output);
    if (!r || !output) return 0;
    const uint32_t again = tt_program_again(self->batch, self->generation, output);
    if (again) {
        b = self->batch;
        if (b->reported[again - 1].executes)
            tt_program_thread_open(self, b, b->meta.id, again - 1, 0);
        return tt_program_node(b, again);
    }
    tt_node node = add(r, self, output, true, &self->output, &b);
    /* Outputs without elements are not computed. */
    if (node && tt_graphs_executes(&self->output.tensor, false))
        tt_program_thread_open(self, b, self->output.run, self->output.node, 0);
    return node;
}

void(tt_op_end)(void)
{
    tt_program_thread *self;
    uint64_t now = tt_ticks();
    if (tt_program_recorder(&self)) end_op(self, now);
    tt_program_sink_end();
}

tt_node(tt_op_add)(const tt_record_tensor *output)
{
    tt_program_thread *self;
    tt_program_batch *b;
    tt_program_output out;
    tt_recorder *r = tt_program_recorder(&self);
    const uint32_t again =
        r && output ? tt_program_again(self->batch, self->generation, output) : 0;
    if (again) return tt_program_node(self->batch, again);
    return r && output ? add(r, self, output, false, &out, &b) : 0;
}

void(tt_op_begin_lane)(tt_node node, unsigned lane)
{
    tt_program_thread *self;
    uint32_t run, number;
    uint64_t now = tt_ticks();
    if (!tt_program_recorder(&self)) return;
    end_op(self, now);
    tt_program_batch *b = tt_program_batch_of(node, &run, &number);
    if (b && lane < TT_OPS_LANE_MAX) tt_program_thread_open(self, b, run, number, lane);
}

void(tt_op_taken)(tt_node node, const tt_record_tensor *output)
{
    tt_program_thread *self;
    tt_program_output out = {.wanted = false};
    tt_recorder *r = tt_program_recorder(&self);
    if (output && tt_program_sinks_open()) tt_program_bitnet_output(output);
    if (!r || !output || !output->data) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_program_batch *b = tt_program_batch_of(node, &out.run, &out.node);
    if (b) {
        tt_program_tensor(output, &out.tensor);
        out.tensor.op = b->nodes[out.node]->op;
        memcpy(out.tensor.op_params, b->nodes[out.node]->op_params, sizeof out.tensor.op_params);
        out.wanted = !b->taken[out.node] && has_data(&out.tensor) &&
                     tt_program_output_is_wanted(b, &out.tensor);
        b->taken[out.node] |= out.wanted;
    }
    (void)pthread_mutex_unlock(&tt_process_lock);
    if (out.wanted) tt_program_output_take(&out);
}
