#include "adapter/program/outputs.h"

#include "adapter/ggml/capture.h"
#include "adapter/ggml/fingerprints.h"
#include "adapter/ggml/graphs.h"
#include "adapter/ggml/lane.h"
#include "adapter/ggml/names.h"
#include "adapter/ggml/process.h"
#include "adapter/program/bitnet.h"
#include "adapter/program/describe.h"
#include "adapter/program/engine.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

static bool values_given;

void tt_program_outputs_begin(bool given)
{
    values_given = given;
}

/* --- memory for capturing outputs: as much as threads use at one time --- */

typedef struct scratch {
    tt_fingerprints prints;
    struct scratch *next;
} scratch;

static scratch *scratchs;
static pthread_mutex_t scratchs_lock = PTHREAD_MUTEX_INITIALIZER;

void tt_program_outputs_reset(void)
{
    const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    scratchs_lock = fresh;
    scratchs = NULL;
}

static scratch *scratch_get(void)
{
    (void)pthread_mutex_lock(&scratchs_lock);
    scratch *k = scratchs;
    if (k) scratchs = k->next;
    (void)pthread_mutex_unlock(&scratchs_lock);
    return k ? k : calloc(1, sizeof *k);
}

static void scratch_put(scratch *k)
{
    (void)pthread_mutex_lock(&scratchs_lock);
    k->next = scratchs;
    scratchs = k;
    (void)pthread_mutex_unlock(&scratchs_lock);
}

/* --- capturing --- */

bool tt_program_output_may_be_wanted(const tt_program_batch *b, const struct ggml_tensor *t)
{
    uint32_t stage;
    int32_t layer;
    if (!b->engine->stage || !b->engine->stage(t, &stage, &layer) || layer < 0)
        layer = tt_fingerprints_layer(t);
    return tt_select_node(&tt_capture_options.values, t->name, b->engine->op_name(t->op), layer);
}

bool tt_program_output_is_wanted(const tt_program_batch *b, const struct ggml_tensor *t)
{
    return tt_select_token(&tt_capture_options.values, b->id - 1u) &&
           tt_program_output_may_be_wanted(b, t);
}

void tt_program_output_take_of(const tt_engine *e, const struct ggml_tensor *t, uint32_t run,
                               uint32_t node, tt_value_level level)
{
    tt_lane *l = &tt_lane_self;
    if (!tt_lane_claim(l) || !tt_lane_claim_details(l)) return;
    scratch *k = scratch_get();
    if (!k) return;
    if (tt_fingerprints_begin(&k->prints, e, level))
        tt_fingerprints_take_alone(&k->prints, t, run, node, &l->details);
    scratch_put(k);
}

void tt_program_output_take(const tt_program_output *o)
{
    tt_program_output_take_of(tt_program_engine(), &o->tensor, o->run, o->node,
                              tt_capture_options.values.level);
}

/* --- values --- */

/* The node that computed this value, of the same name, type and shape; 0: none. If its output
 * was taken, it may have been overwritten since, unless it is the last node. */
static uint32_t node_of(tt_program_batch *b, uint64_t key, const struct ggml_tensor *t)
{
    uint32_t node;
    const struct ggml_tensor *known = tt_program_batch_find(b, key, &node);
    if (!known || !node || (b->taken[node - 1] && node < b->n_nodes)) return 0;
    return known->type == t->type && memcmp(known->ne, t->ne, sizeof t->ne) == 0 ? node : 0;
}

static bool is_wanted(const tt_program_batch *b, const struct ggml_tensor *t, int32_t layer)
{
    const tt_select *s = &tt_capture_options.values;
    if (!values_given) return true;
    return tt_select_token(s, b->id - 1u) &&
           tt_select_node(s, t->name, "VALUE", layer >= 0 ? layer : tt_fingerprints_layer(t));
}

/* Finds the value's node, or adds one (*by_itself). 0 if there are too many. *taken: the value has
 * been captured already. */
static uint32_t add_value(tt_recorder *r, tt_program_batch *b, const struct ggml_tensor *t,
                          uint64_t key, const char *stage, int32_t layer, bool *by_itself,
                          bool *taken)
{
    uint32_t name =
        stage && stage[0] ? tt_names_id_n(r, stage, strnlen(stage, TT_RECORD_NAME_MAX)) : 0;
    uint32_t node = node_of(b, key, t);
    *by_itself = !node;
    *taken = node && b->taken[node - 1];
    if (node) {
        if (name) tt_program_batch_stage(r, b, b->nodes[node - 1], name, layer);
    } else {
        struct ggml_tensor own = *t;
        own.data = NULL;
        own.op = tt_program_op("VALUE");
        own.src[0] = tt_program_batch_find(b, key, NULL);
        if (name) tt_program_set_stage(&own, name, layer);
        node = tt_program_batch_add(r, b, &own, key);
    }
    if (node) b->taken[node - 1] = 1;
    return node;
}

static void record(tt_recorder *r, tt_program_thread *self, const struct ggml_tensor *t,
                   int32_t layer, const char *stage, int64_t position)
{
    tt_value_level level = values_given ? tt_capture_options.values.level : TT_VALUES_HASH;
    uint64_t key = tt_program_key(t->name, t->data);
    uint32_t node = 0;
    bool by_itself = false, taken = false;
    if (level == TT_VALUES_OFF) return;
    (void)pthread_mutex_lock(&tt_process_lock);
    tt_program_batch *b = tt_program_thread_batch_for(r, self, key, position);
    if (b && is_wanted(b, t, layer)) {
        node = add_value(r, b, t, key, stage, layer, &by_itself, &taken);
        if (!node) atomic_fetch_add(&tt_recorder_area(r)->area->counts.ops_unresolved, 1);
    }
    uint32_t run = b ? b->meta.id : 0;
    (void)pthread_mutex_unlock(&tt_process_lock);
    if (!node || taken) return;
    /* The thread's last op record must be complete before the next one begins. */
    bool is_timed = by_itself && !self->open;
    if (is_timed) tt_program_thread_open(self, b, run, node - 1, 0);
    tt_program_output_take_of(tt_program_engine(), t, run, node - 1, level);
    if (is_timed) tt_program_thread_close(self, tt_ticks());
}

void(tt_value)(const char *name, const void *data, tt_type type, unsigned n_dims,
               const uint64_t *ne, int32_t layer, const char *stage, int64_t position)
{
    tt_record_tensor from = {.name = name, .type = type, .n_dims = n_dims, .data = data};
    tt_program_thread *self;
    struct ggml_tensor t;
    if (!name || !name[0] || !data || !ne || n_dims < 1 || n_dims > TT_RECORD_DIMS) return;
    memcpy(from.ne, ne, n_dims * sizeof *ne);
    tt_program_tensor(&from, &t);
    bool is_empty = tt_graphs_is_empty(&t);
    tt_recorder *r = tt_program_recorder(&self);
    if (r && !is_empty) record(r, self, &t, layer, stage, position);
    tt_program_bitnet_put(&from, &t, layer, stage, position);
}
