/* Why a layer or an op: the ops of one layer or name, summed over batches, and their usual. */
#include "analyze/why/why.h"
#include "base/array.h"
#include "base/order.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCHES_MAX 256u /* that are read, evenly spread */
#define LAYERS_MAX 4096u
#define LAYER_OF_MODEL_TEXT 96
#define MOST 0.5
#define MORE_BYTES 1.1 /* more weights than other layers read */
#define NS(ns) tt_units_ns((char[TT_UNITS_TEXT]){0}, (ns))
#define BYTES(n) tt_units_bytes((char[TT_UNITS_TEXT]){0}, (n))

/* In one batch. */
typedef struct span_time {
    uint32_t ops;
    double ns;
    double longest_ns; /* of one op: */
    uint32_t run, node;
} span_time;

/* The ops of a layer, or of one name. */
typedef struct span_sum {
    double part_ns[TT_PARTS];
    double bytes;
    span_time *times;   /* by batch that was read; NULL: no op was seen */
    uint32_t n_batches; /* of these, with such an op */
    const char *op;     /* of the last one */
    int32_t layer;      /* of the first one; of another layer or model: */
    uint32_t model;
    bool mixed;
    int32_t other_layer;
    uint32_t other_model;
} span_sum;

typedef struct spans {
    const tt_model *m;
    tt_op_table *table;
    const tt_filter *filter; /* layer, model and context of the ops */
    bool *passes;            /* by graph */
    const char *name;        /* by name: the wanted one; else by layer */
    int32_t *layers;         /* ascending, the first is TT_LAYER_NONE; by name NULL */
    span_sum *list;          /* by layer of these; by name one */
    size_t n;
    uint32_t batch; /* that is being read, of n_batches */
    uint32_t n_batches;
    bool failed;
} spans;

/* The layer's index in s->layers; s->n: it is not among them. */
static size_t index_of(const spans *s, int32_t layer)
{
    size_t at;
    tt_lower_bound(at, s->n, s->layers[at] < layer);
    return at < s->n && s->layers[at] == layer ? at : s->n;
}

static span_sum *of_op(spans *s, uint32_t graph, const tt_op *op)
{
    if (!s->passes[graph]) return NULL;
    if (s->name && s->filter->has_layer && !tt_layer_passes(s->filter->layer, op->place.layer_id))
        return NULL;
    if (s->name) return strcmp(op->name, s->name) == 0 ? s->list : NULL;
    const size_t at = index_of(s, op->place.layer_id);
    return at < s->n ? &s->list[at] : NULL;
}

/* Whether the sum is of one layer of one model; a model that is not known is any. */
static void note_layer(span_sum *sum, int32_t layer, uint32_t model)
{
    if (!sum->n_batches) {
        sum->layer = layer;
        sum->model = model;
    }
    if (sum->mixed || (sum->layer == layer && (sum->model == model || model == TT_NONE))) return;
    if (sum->model == TT_NONE && sum->layer == layer) {
        sum->model = model;
        return;
    }
    sum->mixed = true;
    sum->other_layer = layer;
    sum->other_model = model;
}

static void add_op(void *context, const tt_parts_op *op)
{
    spans *s = context;
    const uint32_t graph = s->m->runs[op->run].graph;
    const tt_op *d = tt_op_table_get(s->table, graph, op->node, op->times->covers);
    span_sum *sum = d ? of_op(s, graph, d) : NULL;
    s->failed |= !d;
    if (!sum) return;
    if (!sum->times) sum->times = calloc(s->n_batches, sizeof *sum->times);
    s->failed |= !sum->times;
    if (!sum->times) return;
    note_layer(sum, d->place.layer_id, s->m->graphs[graph].model);
    const double ns = tt_model_span_ns(s->m, tt_parts_sum(&op->parts));
    span_time *t = &sum->times[s->batch];
    sum->n_batches += t->ops++ == 0;
    sum->bytes += (double)d->weight_bytes;
    sum->op = d->graph->tensors[op->node].op_name;
    t->ns += ns;
    for (unsigned i = 0; i < TT_PARTS; i++)
        sum->part_ns[i] += tt_model_span_ns(s->m, op->parts.ticks[i]);
    if (ns < t->longest_ns) return;
    *t = (span_time){t->ops, t->ns, ns, op->run, op->node};
}

/* The layers of these graphs, at most LAYERS_MAX, for free(). */
static int32_t *list_layers(const tt_model *m, const bool *passes, size_t *n)
{
    int32_t *list = malloc((LAYERS_MAX + 1) * sizeof *list);
    *n = 1;
    if (!list) return NULL;
    list[0] = TT_LAYER_NONE;
    for (uint32_t g = 0; g < m->n_graphs; g++)
        for (uint32_t i = 0; passes[g] && i < m->graphs[g].n_nodes; i++) {
            const int32_t layer = m->graphs[g].tensors[i].place.layer_id;
            size_t at;
            tt_lower_bound(at, *n, list[at] < layer);
            if ((at < *n && list[at] == layer) || *n > LAYERS_MAX) continue;
            memmove(list + at + 1, list + at, (*n - at) * sizeof *list);
            list[at] = layer;
            ++*n;
        }
    return list;
}

/* "layer enc 3 of t5.gguf" */
static const char *layer_of_model(const tt_model *m, int32_t layer, uint32_t model,
                                  char out[LAYER_OF_MODEL_TEXT])
{
    char text[TT_LAYER_TEXT];
    const char *label = tt_model_label(m, model);
    (void)snprintf(out, LAYER_OF_MODEL_TEXT, "%s%s%s%.50s", layer < 0 ? "no layer" : "layer ",
                   layer < 0 ? "" : tt_layer_text(text, layer), *label ? " of " : "", label);
    return out;
}

/* What was asked for is of two layers or models. */
static tt_status not_one(const tt_model *m, const span_sum *sum, const char *what, tt_error *err)
{
    char one[LAYER_OF_MODEL_TEXT], other[LAYER_OF_MODEL_TEXT];
    const bool stacks = tt_layer_stack(sum->layer) != tt_layer_stack(sum->other_layer);
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%s: %s, and %s; name the %s", what,
                        layer_of_model(m, sum->layer, sum->model, one),
                        layer_of_model(m, sum->other_layer, sum->other_model, other),
                        sum->model != sum->other_model ? "model"
                        : stacks                       ? "layer with its stack"
                                                       : "layer");
}

/* The layer that was asked for. */
static tt_status find_layer(const spans *s, int32_t asked, size_t *found, tt_error *err)
{
    char one[TT_LAYER_TEXT], what[64];
    *found = s->n;
    for (size_t i = 0; i < s->n; i++) {
        if (!tt_layer_passes(asked, s->layers[i])) continue;
        if (*found < s->n) {
            const int32_t layer = s->layers[*found], other = s->layers[i];
            const span_sum both = {.layer = layer,
                                   .model = tt_layer_model(layer),
                                   .other_layer = other,
                                   .other_model = tt_layer_model(other)};
            (void)snprintf(what, sizeof what, "there are several layers %" PRId32,
                           tt_layer_number(asked));
            return not_one(s->m, &both, what, err);
        }
        *found = i;
    }
    if (*found < s->n) return TT_OK;
    if (asked < 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no op outside the layers");
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no op of layer %s",
                        tt_layer_text(one, asked));
}

/* The filter, and the batch (in m->batches; TT_NONE: any). */
static tt_filter filter_in(const tt_model *m, const tt_filter *f, uint32_t batch)
{
    tt_filter in = *f;
    if (batch == TT_NONE) return in;
    in.has_batch = true;
    in.batch_first = in.batch_last = tt_model_batch_number(m, batch);
    return in;
}

static bool open_spans(spans *s, const tt_model *m, const char *name, const tt_filter *f)
{
    *s = (spans){.m = m, .name = name, .filter = f, .table = tt_op_table_new(m)};
    s->n = 1;
    s->passes = tt_filter_graphs(f, m);
    if (!name && s->passes) s->layers = list_layers(m, s->passes, &s->n);
    s->list = calloc(s->n, sizeof *s->list);
    return s->table && s->passes && s->list && (name || s->layers);
}

static void close_spans(spans *s)
{
    for (size_t i = 0; s->list && i < s->n; i++)
        free(s->list[i].times);
    free(s->list);
    free(s->layers);
    free(s->passes);
    tt_op_table_free(s->table);
}

/* Whether the batch is one of the model's (TT_NONE: of any), and has ended. */
static bool is_batch_of(const tt_model *m, const tt_batch *b, uint32_t model)
{
    if (!b->ended || model == TT_NONE || b->last_run == TT_NONE) return b->ended;
    const uint32_t graph = m->runs[b->last_run].graph;
    return graph == TT_NONE || m->graphs[graph].model == TT_NONE || m->graphs[graph].model == model;
}

/* Of the model's batches that pass and generate, after the first one; of all, if there are none. */
static uint32_t choose(const tt_model *m, const tt_filter *f, uint32_t model,
                       uint32_t out[BATCHES_MAX])
{
    for (unsigned any = 0; any < 2; any++) {
        uint64_t n = 0;
        uint32_t at = 0, taken = 0;
        for (uint32_t i = 0; i < m->n_batches; i++)
            n += is_batch_of(m, &m->batches[i], model) && tt_filter_batch(f, m, i) &&
                 (any || m->batches[i].phase == TT_PHASE_GENERATE);
        for (uint32_t i = 0; i < m->n_batches && n && taken < BATCHES_MAX; i++) {
            if (!is_batch_of(m, &m->batches[i], model) || !tt_filter_batch(f, m, i) ||
                (!any && m->batches[i].phase != TT_PHASE_GENERATE))
                continue;
            if ((uint64_t)at++ * BATCHES_MAX >= (uint64_t)taken * n) out[taken++] = i;
        }
        if (taken) return taken;
    }
    return 0;
}

/* Reads the batches, each of which becomes one of the times. */
static tt_status read_batches(spans *s, tt_parts_walker *w, const uint32_t *batches, uint32_t n,
                              const tt_over *over, tt_error *err)
{
    tt_status status = TT_OK;
    s->n_batches = n;
    for (s->batch = 0; s->batch < n && status == TT_OK; s->batch++) {
        tt_parts_state state;
        status = tt_over_check(over, err);
        if (status == TT_OK) status = tt_parts_batch(w, batches[s->batch], &state, add_op, s, err);
    }
    return status == TT_OK && s->failed ? tt_error_memory(err, "the answer") : status;
}

/* For each batch with such an op, from sums. */
static void average(const span_sum *sum, double part_ns[TT_PARTS])
{
    for (unsigned i = 0; i < TT_PARTS; i++)
        part_ns[i] = sum->n_batches ? sum->part_ns[i] / sum->n_batches : 0;
}

static double total(const double part_ns[TT_PARTS])
{
    double ns = 0;
    for (unsigned i = 0; i < TT_PARTS; i++)
        ns += part_ns[i];
    return ns;
}

/* --- what is usual for a layer: the other layers --- */

static void usual_of_layers(const spans *s, int32_t layer, tt_usual_value *u,
                            double part_ns[TT_PARTS], double *bytes)
{
    double *values = calloc(s->n, sizeof *values);
    *u = (tt_usual_value){0};
    for (unsigned what = 0; values && what < TT_PARTS + 2; what++) {
        size_t n = 0;
        for (size_t i = 1; i < s->n; i++) {
            double parts[TT_PARTS];
            if (!s->list[i].times || s->layers[i] == layer ||
                (layer >= 0 && !tt_layer_beside(s->layers[i], layer)))
                continue;
            average(&s->list[i], parts);
            values[n++] = what < TT_PARTS    ? parts[what]
                          : what == TT_PARTS ? total(parts)
                                             : s->list[i].bytes / s->list[i].n_batches;
        }
        const tt_usual_value v = tt_usual_of(values, n);
        if (what < TT_PARTS)
            part_ns[what] = v.median_ns;
        else if (what == TT_PARTS)
            *u = v;
        else
            *bytes = v.median_ns;
    }
    free(values);
}

static tt_part_kind most_of(const double *ns, const double *usual)
{
    unsigned most = 0;
    for (unsigned i = 1; i < TT_PARTS; i++)
        if (ns[i] - (usual ? usual[i] : 0) > ns[most] - (usual ? usual[most] : 0)) most = i;
    return (tt_part_kind)most;
}

static tt_cause cause_of(tt_part_kind part)
{
    return part == TT_PART_DISK        ? TT_CAUSE_DISK
           : part == TT_PART_OFF_CPU   ? TT_CAUSE_OFF_CPU
           : part == TT_PART_PROCESSOR ? TT_CAUSE_PROCESSOR
           : part == TT_PART_STOPPED   ? TT_CAUSE_STOPPED
           : part == TT_PART_WAIT      ? TT_CAUSE_WAITS
                                       : TT_CAUSE_UNKNOWN;
}

static void write_most(tt_why *w, const double *part_ns)
{
    const tt_part_kind most = most_of(part_ns, NULL);
    if (w->time_ns > 0)
        tt_why_write(w, &w->text, "Most of it was %s: %s, %.0f %%.", tt_part_title(most),
                     NS(part_ns[most]), 100 * part_ns[most] / w->time_ns);
}

/* Compares with what is usual, in `what` ("layer", "execution"). */
static void compare(tt_why *w, const char *what, const double *part_ns, const double *usual_ns,
                    double bytes, double usual_bytes)
{
    const tt_usual_value *u = &w->usual;
    const bool layer = w->kind == TT_WHY_LAYER;
    const char *name = tt_why_keep(w, "%c%s", layer ? w->name[0] - 'a' + 'A' : w->name[0],
                                   w->name[0] ? w->name + 1 : "");
    if (!tt_usual_known(u)) {
        tt_why_write(w, &w->text,
                     "%s took %s; what is usual is not known: there %s to compare with.", name,
                     NS(w->time_ns),
                     u->n == 0   ? "is nothing"
                     : u->n == 1 ? "is only one"
                                 : tt_why_keep(w, "are only %u", u->n));
        tt_why_write(w, &w->not_known, "What is usual: there are too few to compare with.");
    } else if (w->time_ns <= u->slow_ns) {
        tt_why_write(w, &w->text, "%s took %s, %s usual: 8 of 10 take %s to %s.", name,
                     NS(w->time_ns), w->time_ns < u->low_ns ? "less than" : "as", NS(u->low_ns),
                     NS(u->high_ns));
    } else {
        const double excess = w->time_ns - u->median_ns;
        const tt_part_kind most = most_of(part_ns, usual_ns);
        const double more = part_ns[most] - usual_ns[most];
        w->slow = true;
        tt_why_write(w, &w->text, "%s took %s, %s a usual %s (%s).", name, NS(w->time_ns),
                     tt_why_times(w, w->time_ns / u->median_ns), what, NS(u->median_ns));
        if (most == TT_PART_WORK && usual_bytes > 0 && bytes > MORE_BYTES * usual_bytes) {
            w->cause = TT_CAUSE_MORE_BYTES;
            tt_why_write(w, &w->text, "It reads %s of weights, a usual one %s.",
                         BYTES((uint64_t)bytes), BYTES((uint64_t)usual_bytes));
        } else if (more >= MOST * excess) {
            w->cause = cause_of(most);
            tt_why_write(w, &w->text, "Of the %s more, %s are %s.", NS(excess), NS(more),
                         tt_part_title(most));
        }
        if (w->cause == TT_CAUSE_UNKNOWN) tt_why_write(w, &w->text, "The cause is not known.");
    }
    if (!w->slow) write_most(w, part_ns);
}

static void exclude(tt_why *w, const tt_parts_walker *walker, const double *part_ns)
{
    const double none = 0.05 * w->time_ns;
    if (tt_parts_disk_known(walker) && part_ns[TT_PART_DISK] < none)
        tt_why_write(w, &w->excluded, "Disk: threads %s for it.",
                     tt_why_only(w, part_ns[TT_PART_DISK], "never waited", "waited only %s"));
    const double off =
        part_ns[TT_PART_OFF_CPU] + part_ns[TT_PART_PROCESSOR] + part_ns[TT_PART_STOPPED];
    if (tt_parts_off_cpu_known(walker) && off < none)
        tt_why_write(w, &w->excluded, "Off CPU: %s.", tt_why_only(w, off, "never", "only for %s"));
    if (w->m->waits_known && part_ns[TT_PART_WAIT] < none)
        tt_why_write(w, &w->excluded, "Uneven threads: they %s.",
                     tt_why_only(w, part_ns[TT_PART_WAIT], "never waited for each other",
                                 "waited for each other for only %s"));
}

/* --- a layer --- */

/* The layer's own ops, against the ops of the same part of other layers. */
static tt_status add_layer_ops(tt_why *w, tt_parts_walker *walker, uint32_t batch,
                               const tt_over *over, tt_error *err)
{
    tt_why of_batch;
    tt_status status = tt_why_batch_with(walker, w->m, batch, over, &of_batch, err);
    for (size_t i = 0; status == TT_OK && i < of_batch.n_ops; i++) {
        tt_why_op row = of_batch.ops[i];
        if (row.layer_id != w->layer_id) continue;
        row.name = tt_why_keep(w, "%s", row.name);
        row.op = tt_why_keep(w, "%s", row.op);
        tt_why_add_op(w, &row);
    }
    tt_why_free(&of_batch);
    return status;
}

static tt_status explain_layer(tt_why *w, spans *s, tt_parts_walker *walker, const tt_over *over,
                               tt_error *err)
{
    double part_ns[TT_PARTS], usual_ns[TT_PARTS], bytes, usual_bytes = 0;
    const span_sum *sum = &s->list[index_of(s, w->layer_id)];
    if (!sum->times)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no op of %s was recorded%s",
                            w->name, w->batch == TT_NONE ? " in a generated token" : " there");
    if (sum->mixed) return not_one(s->m, sum, w->name, err);
    average(sum, part_ns);
    bytes = sum->bytes / sum->n_batches;
    w->time_ns = total(part_ns);
    usual_of_layers(s, w->layer_id, &w->usual, usual_ns, &usual_bytes);
    tt_why_set_parts(w, walker, part_ns, tt_usual_known(&w->usual) ? usual_ns : NULL);
    compare(w, "layer", part_ns, usual_ns, bytes, usual_bytes);
    if (w->batch == TT_NONE)
        tt_why_write(w, &w->text, "These are means of %u batches.", sum->n_batches);
    exclude(w, walker, part_ns);
    tt_why_note_unknown(w, walker);
    tt_filter only = *s->filter;
    only.layer = w->layer_id;
    tt_status status = TT_OK;
    if (w->batch != TT_NONE) {
        status = add_layer_ops(w, walker, w->batch, over, err);
        if (status == TT_OK) status = tt_why_add_faults(w, w->batch, &only, over, err);
    } else {
        only.phase = TT_PHASE_GENERATE;
        status = tt_why_add_faults(w, TT_NONE, &only, over, err);
    }
    return status;
}

tt_status tt_why_layer(const tt_model *m, const tt_filter *f, uint32_t batch, const tt_over *over,
                       tt_why *w, tt_error *err)
{
    const tt_filter in = filter_in(m, f, batch);
    uint32_t batches[BATCHES_MAX], n = 1;
    char text[LAYER_OF_MODEL_TEXT];
    size_t at;
    spans s;
    tt_why_begin(w, m, TT_WHY_LAYER);
    w->batch = batch;
    w->has_layer = true;
    tt_status status = open_spans(&s, m, NULL, &in) ? TT_OK : tt_error_memory(err, "the answer");
    if (status == TT_OK) status = find_layer(&s, f->layer, &at, err);
    if (status != TT_OK) {
        close_spans(&s);
        return status;
    }
    w->layer_id = s.layers[at];
    w->name = tt_why_keep(
        w, "%s",
        layer_of_model(m, w->layer_id, f->layer < 0 ? TT_NONE : tt_layer_model(w->layer_id), text));
    if (batch != TT_NONE)
        w->name = tt_why_keep(w, "%s in batch %" PRIu32, w->name, tt_model_batch_number(m, batch));
    if (tt_why_untimed(w)) {
        close_spans(&s);
        return TT_OK;
    }
    batches[0] = batch;
    if (batch == TT_NONE)
        n = choose(m, f, w->layer_id < 0 ? TT_NONE : tt_layer_model(w->layer_id), batches);
    tt_parts_walker *walker = tt_parts_open(m);
    if (!walker) status = tt_error_memory(err, "the answer");
    if (status == TT_OK) status = read_batches(&s, walker, batches, n, over, err);
    if (status == TT_OK) status = explain_layer(w, &s, walker, over, err);
    close_spans(&s);
    tt_parts_close(walker);
    if (status == TT_OK && w->failed) status = tt_error_memory(err, "the answer");
    return status;
}

/* --- an op --- */

/* The executions of that name that took longest. */
static void add_executions(tt_why *w, const spans *s, const uint32_t *batches)
{
    const span_sum *sum = &s->list[0];
    for (uint32_t i = 0; i < s->n_batches; i++) {
        const span_time *t = &sum->times[i];
        if (t->longest_ns <= 0) continue;
        tt_why_add_op(w, &(tt_why_op){.run = t->run,
                                      .node = t->node,
                                      .batch = batches[i],
                                      .name = tt_why_keep(w, "%s", s->name),
                                      .op = sum->op,
                                      .layer_id = TT_LAYER_NONE,
                                      .time_ns = t->ns,
                                      .usual_ns = w->usual.median_ns,
                                      .excess_ns = t->ns - w->usual.median_ns});
    }
}

static tt_status usual_of_times(const spans *s, tt_usual_value *u, tt_error *err)
{
    size_t n = 0;
    double *values = malloc((s->n_batches + 1) * sizeof *values);
    if (!values) return tt_error_memory(err, "the answer");
    for (uint32_t i = 0; s->list[0].times && i < s->n_batches; i++)
        if (s->list[0].times[i].longest_ns > 0) values[n++] = s->list[0].times[i].ns;
    *u = tt_usual_of(values, n);
    free(values);
    return TT_OK;
}

static tt_status explain_name(tt_why *w, spans *s, tt_parts_walker *walker, const uint32_t *batches,
                              tt_error *err)
{
    double part_ns[TT_PARTS];
    span_sum *sum = &s->list[0];
    if (!sum->times)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "no op of the name \"%s\" was recorded %s", s->name,
                            w->batch == TT_NONE ? "in a generated token" : "there");
    if (sum->mixed) return not_one(s->m, sum, s->name, err);
    average(sum, part_ns);
    w->time_ns = total(part_ns);
    tt_status status = usual_of_times(s, &w->usual, err);
    if (status != TT_OK) return status;
    tt_why_set_parts(w, walker, part_ns, NULL);
    add_executions(w, s, batches);
    tt_why_write(w, &w->text,
                 "%s took %s a batch, the mean of %u; its median is %s, and 8 of 10 take %s to %s.",
                 w->name, NS(w->time_ns), sum->n_batches, NS(w->usual.median_ns),
                 NS(w->usual.low_ns), NS(w->usual.high_ns));
    write_most(w, part_ns);
    exclude(w, walker, part_ns);
    tt_why_note_unknown(w, walker);
    return TT_OK;
}

/* --- one executed op --- */

typedef struct one {
    uint32_t run, node;
    const tt_model *m;
    double part_ns[TT_PARTS];
    uint32_t last_lane;
    uint8_t covers;
    bool seen;
} one;

static void find_op(void *context, const tt_parts_op *op)
{
    one *o = context;
    if (op->run != o->run || op->node != o->node) return;
    o->seen = true;
    o->covers = op->times->covers;
    o->last_lane = op->times->last_lane;
    for (unsigned i = 0; i < TT_PARTS; i++)
        o->part_ns[i] = tt_model_span_ns(o->m, op->parts.ticks[i]);
}

static tt_status find_one(one *o, tt_parts_walker *walker, tt_error *err)
{
    tt_parts_state state;
    tt_parts_begin(&state, o->m->runs[o->run].begin_ticks);
    tt_status status = tt_parts_run(walker, o->run, &state, find_op, o, err);
    if (status != TT_OK || o->seen) return status;
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                        "no op with a known time was recorded at node %" PRIu32 " of run %" PRIu32,
                        o->node, o->run);
}

/* The same op in typical batches. */
static tt_status find_usual(tt_why *w, tt_parts_walker *walker, const tt_op *op,
                            double usual_ns[TT_PARTS], double *usual_bytes, const tt_over *over,
                            tt_error *err)
{
    uint32_t batches[TT_USUAL_SAMPLES];
    const tt_filter same = {.has_layer = true, .layer = op->place.layer_id};
    tt_usual usual;
    spans s = {0};
    tt_status status = tt_usual_find(w->m, w->batch, &usual, err);
    const uint32_t n = status == TT_OK ? tt_usual_typical(&usual, batches, TT_USUAL_SAMPLES) : 0;
    tt_usual_free(&usual);
    if (status == TT_OK && !open_spans(&s, w->m, op->name, &same))
        status = tt_error_memory(err, "the answer");
    if (status == TT_OK) status = read_batches(&s, walker, batches, n, over, err);
    if (status == TT_OK) status = usual_of_times(&s, &w->usual, err);
    if (status == TT_OK) {
        average(&s.list[0], usual_ns);
        *usual_bytes = s.list[0].n_batches ? s.list[0].bytes / s.list[0].n_batches : 0;
    }
    close_spans(&s);
    return status;
}

static tt_status explain_one(tt_why *w, const one *o, tt_parts_walker *walker, const tt_over *over,
                             tt_error *err)
{
    double usual_ns[TT_PARTS] = {0}, usual_bytes = 0;
    tt_op op;
    tt_op_describe(w->m, &w->m->graphs[w->m->runs[o->run].graph], o->node, o->covers, &op);
    tt_status status = TT_OK;
    if (w->batch != TT_NONE) status = find_usual(w, walker, &op, usual_ns, &usual_bytes, over, err);
    if (status != TT_OK) return status;
    w->has_layer = op.place.layer_id >= 0;
    w->layer_id = op.place.layer_id;
    w->name = w->batch == TT_NONE ? tt_why_keep(w, "%s", op.name)
                                  : tt_why_keep(w, "%s in batch %" PRIu32, op.name,
                                                tt_model_batch_number(w->m, w->batch));
    w->time_ns = total(o->part_ns);
    tt_why_set_parts(w, walker, o->part_ns, tt_usual_known(&w->usual) ? usual_ns : NULL);
    compare(w, "execution", o->part_ns, usual_ns, (double)op.weight_bytes, usual_bytes);
    if (w->cause == TT_CAUSE_WAITS)
        tt_why_write(w, &w->text, "Thread %" PRIu32 " arrived last.", o->last_lane);
    exclude(w, walker, o->part_ns);
    tt_why_note_unknown(w, walker);
    return tt_why_add_faults(w, w->batch, &(tt_filter){0}, over, err);
}

tt_status tt_why_op_at(const tt_model *m, uint32_t run, uint32_t node, const tt_over *over,
                       tt_why *w, tt_error *err)
{
    one o = {.run = run, .node = node, .m = m};
    tt_why_begin(w, m, TT_WHY_OP);
    w->batch = m->runs[run].batch;
    w->run = run;
    w->node = node;
    w->name = tt_why_keep(w, "node %" PRIu32 " of run %" PRIu32, node, run);
    if (tt_why_untimed(w)) return TT_OK;
    tt_parts_walker *walker = tt_parts_open(m);
    tt_status status = walker ? find_one(&o, walker, err) : tt_error_memory(err, "the answer");
    if (status == TT_OK) status = explain_one(w, &o, walker, over, err);
    tt_parts_close(walker);
    return status == TT_OK && w->failed ? tt_error_memory(err, "the answer") : status;
}

/* --- ops by name --- */

static tt_status explain_named(tt_why *w, spans *s, tt_parts_walker *walker,
                               const uint32_t *batches, uint32_t n, uint32_t batch,
                               const tt_over *over, tt_error *err)
{
    tt_status status = read_batches(s, walker, batches, n, over, err);
    if (status != TT_OK || batch == TT_NONE || !s->list[0].times)
        return status == TT_OK ? explain_name(w, s, walker, batches, err) : status;
    if (s->list[0].mixed) return not_one(s->m, &s->list[0], s->name, err);
    const span_time *t = &s->list[0].times[0];
    tt_why_free(w);
    return tt_why_op_at(s->m, t->run, t->node, over, w, err);
}

tt_status tt_why_op_named(const tt_model *m, const char *name, const tt_filter *f, uint32_t batch,
                          const tt_over *over, tt_why *w, tt_error *err)
{
    const tt_filter in = filter_in(m, f, batch);
    uint32_t batches[BATCHES_MAX] = {batch};
    spans s;
    tt_why_begin(w, m, TT_WHY_OP);
    w->name = tt_why_keep(w, "%s", name);
    if (tt_why_untimed(w)) return TT_OK;
    const uint32_t n = batch == TT_NONE ? choose(m, f, TT_NONE, batches) : 1;
    tt_parts_walker *walker = tt_parts_open(m);
    tt_status status =
        open_spans(&s, m, name, &in) && walker ? TT_OK : tt_error_memory(err, "the answer");
    if (status == TT_OK) status = explain_named(w, &s, walker, batches, n, batch, over, err);
    close_spans(&s);
    tt_parts_close(walker);
    return status == TT_OK && w->failed ? tt_error_memory(err, "the answer") : status;
}
