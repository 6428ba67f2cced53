#include "analyze/stats.h"

#include "analyze/access.h"
#include "analyze/filter.h"
#include "analyze/ops.h"
#include "analyze/texts.h"
#include "base/array.h"
#include "base/checksum.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A node's share in a row. */
typedef struct stats_share {
    uint32_t row;
    uint64_t weight_bytes;
    bool at_most;
} stats_share;

/* What is the same for each execution of a node. */
typedef struct stats_node {
    uint32_t row;   /* of the only share, if there is only one */
    uint32_t first; /* of its shares, in tt_stats.shares */
    uint8_t n;
    uint8_t covers;
    bool known;
    bool passes;
    bool picks; /* rows or experts of a weight: bytes differ from run to run */
    bool at_most;
    uint8_t sources, file_sources, buffer_sources;
    uint64_t weight_bytes;
} stats_node;

struct tt_stats {
    bool off_cpu_known, wait_known, inside_known; /* of the current run */
    const tt_model *m;
    tt_stats_by by;
    tt_filter filter;
    tt_slice_filter slices; /* of it */
    tt_stats_row *rows;
    size_t n_rows, rows_capacity;
    tt_idmap row_of_key; /* by weight, number, or hash of the text */
    tt_stats_row total;
    stats_node **nodes; /* by graph; NULL until needed */
    tt_op_table *ops;   /* of nodes that select; made on demand */
    stats_share *shares;
    size_t n_shares, shares_capacity;
    tt_arena keys;
    tt_texts names;   /* of tensors */
    tt_idmap tensors; /* of rows and of the total, by row and number of the name */
    uint64_t orphan;
    tt_stats_axis axis; /* without buckets: no series */
    uint32_t *batches;  /* by bucket */
    uint32_t bucket;    /* of the current run, or TT_NONE */
    tt_over over;
    bool in_time; /* the filter has a time */
    bool failed;
};

/* The batches of a series, put into buckets. */

tt_stats_axis tt_stats_axis_of(const tt_model *m, const tt_filter *filter, uint32_t n_buckets)
{
    tt_stats_axis x = {0};
    uint32_t last = 0;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        if (!tt_filter_batch(filter, m, i)) continue;
        if (x.n_batches++ == 0) x.first = i;
        last = i;
    }
    if (x.n_batches == 0) return x;
    x.n_batches = last - x.first + 1;
    x.n_buckets = n_buckets < x.n_batches ? n_buckets : x.n_batches;
    if (x.n_buckets > TT_STATS_SERIES_BUCKETS_MAX) x.n_buckets = TT_STATS_SERIES_BUCKETS_MAX;
    return x;
}

uint32_t tt_stats_bucket(const tt_stats_axis *x, uint32_t batch)
{
    if (batch == TT_NONE || batch < x->first || batch - x->first >= x->n_batches) return TT_NONE;
    return (uint32_t)((uint64_t)(batch - x->first) * x->n_buckets / x->n_batches);
}

uint32_t tt_stats_bucket_begin(const tt_stats_axis *x, uint32_t bucket)
{
    if (x->n_buckets == 0) return x->first;
    uint64_t scaled = (uint64_t)bucket * x->n_batches + x->n_buckets - 1;
    return x->first + (uint32_t)(scaled / x->n_buckets);
}

#define NO_WEIGHT "(no weight)"

tt_stats *tt_stats_new(const tt_model *m, tt_stats_by by, const tt_filter *filter)
{
    tt_stats *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->m = m;
    s->by = by;
    if (filter) s->filter = *filter;
    s->slices = tt_slice_filter_of(m, &s->filter);
    s->in_time = s->filter.has_from || s->filter.has_to;
    tt_arena_init(&s->keys, TT_MODEL_MEMORY_MAX);
    s->nodes = calloc((size_t)m->n_graphs + 1, sizeof *s->nodes);
    if (s->nodes) return s;
    tt_stats_free(s);
    return NULL;
}

void tt_stats_free(tt_stats *s)
{
    if (!s) return;
    for (uint32_t i = 0; s->nodes && i < s->m->n_graphs; i++)
        free(s->nodes[i]);
    for (size_t i = 0; i < s->n_rows; i++) {
        tt_quantiles_free(&s->rows[i].ticks);
        free(s->rows[i].series);
    }
    tt_quantiles_free(&s->total.ticks);
    free(s->total.series);
    free(s->batches);
    tt_op_table_free(s->ops);
    tt_slice_filter_free(&s->slices);
    free(s->nodes);
    free(s->rows);
    free(s->shares);
    tt_idmap_free(&s->row_of_key);
    tt_idmap_free(&s->tensors);
    tt_texts_free(&s->names);
    tt_arena_free(&s->keys);
    free(s);
}

typedef struct looked_for {
    const tt_stats *s;
    const char *text, *model_file;
} looked_for;

static bool is_of_text(const void *context, uint32_t row)
{
    const looked_for *l = context;
    return strcmp(l->s->rows[row].key, l->text) == 0 && l->s->rows[row].model_file == l->model_file;
}

/* The row of that key of that model (TT_NONE: rows of all models, or of none), made on demand. */
static uint32_t stats_row_of_model(tt_stats *s, const char *text, int64_t number, uint32_t model)
{
    const looked_for l = {s, text, tt_model_path(s->m, model)};
    uint64_t key = tt_checksum(text, strlen(text)) ^ (uint64_t)model << 32;
    uint32_t was = tt_idmap_find(&s->row_of_key, &key, is_of_text, &l);
    if (was != TT_NONE) return was;
    if (!tt_array_one_more(s->rows, s->n_rows, s->rows_capacity) || s->n_rows >= TT_NONE ||
        !tt_idmap_add(&s->row_of_key, key, (uint32_t)s->n_rows, &was)) {
        s->failed = true;
        return TT_NONE;
    }
    const char *copy = tt_arena_text(&s->keys, text, strlen(text));
    s->failed |= !copy;
    s->rows[s->n_rows] = (tt_stats_row){.key = copy ? copy : "",
                                        .number = number,
                                        .model_file = l.model_file,
                                        .model_label = tt_model_label(s->m, model)};
    if (s->axis.n_buckets && s->n_rows < TT_STATS_SERIES_ROWS_MAX) {
        s->rows[s->n_rows].series = calloc(s->axis.n_buckets, sizeof(tt_stats_cell));
        s->failed |= !s->rows[s->n_rows].series;
    }
    return (uint32_t)s->n_rows++;
}

static uint32_t stats_row_of(tt_stats *s, const char *text, int64_t number)
{
    return stats_row_of_model(s, text, number, TT_NONE);
}

static uint32_t stats_layer_row(tt_stats *s, int32_t layer, uint32_t model)
{
    char text[TT_LAYER_TEXT];
    /* What is outside the only model's layers may be of a graph without weights. */
    if (s->m->n_models == 1) model = 0;
    return stats_row_of_model(s, tt_layer_text(text, layer), layer, model);
}

static uint32_t stats_numbered_row(tt_stats *s, int64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, number);
    return stats_row_of(s, number < 0 ? "-" : text, number);
}

static void add_share(tt_stats *s, stats_node *info, uint32_t row, uint64_t bytes, bool at_most)
{
    if (!tt_array_one_more(s->shares, s->n_shares, s->shares_capacity) || s->n_shares >= TT_NONE) {
        s->failed = true;
        return;
    }
    if (info->n++ == 0) info->first = (uint32_t)s->n_shares;
    info->row = row;
    s->shares[s->n_shares++] = (stats_share){row, bytes, at_most};
}

static void add_weight_shares(tt_stats *s, stats_node *info, const tt_op *op)
{
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_op_source *from = &op->sources[i];
        if (from->weight != TT_NONE)
            add_share(s, info,
                      stats_row_of_model(s, s->m->weights[from->weight].name, -1,
                                         s->m->files[s->m->weights[from->weight].file].model),
                      from->read_bytes, from->at_most);
    }
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_op_source *from = &op->sources[i];
        const tt_tensor *t = &op->graph->tensors[from->tensor];
        const tt_tensor *root = &op->graph->tensors[t->root];
        if (from->weight != TT_NONE || !t->is_weight) continue;
        /* Names that ggml gave are other tensors' in other graphs. */
        char text[64];
        (void)snprintf(text, sizeof text, "(no name: buffer%" PRIu64 ":%" PRIu64 ")",
                       s->m->buffers[root->buffer].id, root->location);
        add_share(s, info, stats_row_of(s, text, -1), from->read_bytes, from->at_most);
    }
    if (info->n == 0) add_share(s, info, stats_row_of(s, NO_WEIGHT, -1), 0, false);
}

/* Counts names that are new in the row (TT_NONE: the total). */
static void count_tensors(tt_stats *s, const tt_op *op, uint32_t row)
{
    tt_stats_row *to = row == TT_NONE ? &s->total : &s->rows[row];
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const char *name = op->graph->tensors[op->sources[i].tensor].name;
        const uint32_t number = tt_texts_number(&s->names, name);
        uint32_t was;
        s->failed |=
            number == TT_NONE || !tt_idmap_add(&s->tensors, (uint64_t)row << 32 | number, 0, &was);
        if (s->failed) return;
        to->tensors += was == TT_NONE;
    }
}

static void count_sources(tt_stats *s, const tt_op *op, stats_node *info)
{
    unsigned file = 0, buffer = 0; /* at most TT_OP_SOURCES_MAX */
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_origin origin = op->graph->tensors[op->sources[i].tensor].origin;
        file += origin == TT_ORIGIN_FILE;
        buffer += origin == TT_ORIGIN_BUFFER;
    }
    info->sources = (uint8_t)op->n_sources;
    info->file_sources = (uint8_t)file;
    info->buffer_sources = (uint8_t)buffer;
    count_tensors(s, op, TT_NONE);
    if (info->n == 1) count_tensors(s, op, info->row);
    for (uint32_t k = 0; info->n > 1 && k < info->n; k++)
        count_tensors(s, op, s->shares[info->first + k].row);
}

/* Determines what an op is, and its rows: once per node. */
static void stats_learn_node(tt_stats *s, const tt_graph *g, uint32_t node, uint8_t covers,
                             stats_node *info)
{
    tt_op op;
    tt_op_describe(s->m, g, node, covers, &op);
    *info = (stats_node){.known = true,
                         .covers = covers,
                         .passes = tt_filter_op(&s->filter, &op),
                         .picks = op.picks,
                         .at_most = op.at_most,
                         .weight_bytes = op.weight_bytes};
    if (!info->passes) return;
    switch (s->by) {
    case TT_BY_OP:
        add_share(s, info, stats_row_of(s, op.op, -1), op.weight_bytes, op.at_most);
        break;
    case TT_BY_LAYER:
        add_share(s, info, stats_layer_row(s, op.place.layer_id, g->model), op.weight_bytes,
                  op.at_most);
        break;
    case TT_BY_COMPONENT:
        add_share(s, info, stats_row_of(s, op.place.component, -1), op.weight_bytes, op.at_most);
        break;
    case TT_BY_CATEGORY:
        add_share(s, info, stats_row_of(s, op.place.category, -1), op.weight_bytes, op.at_most);
        break;
    case TT_BY_TENSOR:
        add_weight_shares(s, info, &op);
        break;
    case TT_BY_THREAD:
    case TT_BY_BATCH:
    case TT_BY_PHASE:
    case TT_BY_MODEL:
    case TT_BY_CONTEXT:
        break; /* the row is the lane's or the run's */
    }
    if (!s->failed) count_sources(s, &op, info);
}

/* NULL if the graph is unknown or out of memory. */
static stats_node *stats_nodes_of(tt_stats *s, uint32_t graph)
{
    if (graph == TT_NONE) return NULL;
    if (!s->nodes[graph]) {
        s->nodes[graph] = calloc((size_t)s->m->graphs[graph].n_nodes + 1, sizeof **s->nodes);
        s->failed |= !s->nodes[graph];
    }
    return s->nodes[graph];
}

double tt_stats_rate(const tt_stats_row *r)
{
    return r->total_ns > 0 ? (double)r->timed_weight_bytes / r->total_ns * 1e9 : 0;
}

const tt_stats_row *tt_stats_rows(const tt_stats *s, size_t *n)
{
    *n = s->n_rows;
    return s->rows;
}

const tt_stats_row *tt_stats_total(const tt_stats *s)
{
    return &s->total;
}

double tt_stats_share(const tt_stats_row *r, const tt_stats_row *all)
{
    return all->work_ns > 0 ? r->work_ns / all->work_ns : 0;
}

bool tt_stats_flaws(const tt_stats_row *total, char *text)
{
    const uint64_t open = total->count - total->timed, bent = total->bent;
    int n = 0;
    if (open)
        n = snprintf(text, TT_STATS_FLAWS_TEXT,
                     "%" PRIu64 " of %" PRIu64 " ops have no end: they are counted, but no time "
                     "above holds them",
                     open, total->count);
    if (bent && n >= 0)
        (void)snprintf(text + n, TT_STATS_FLAWS_TEXT - (size_t)n,
                       "%s%" PRIu64 " of %" PRIu64 " ops have times outside of their graph "
                       "computation: the times above are wrong by theirs (see `verify`)",
                       open ? "; " : "", bent, total->count);
    return open || bent;
}

uint64_t tt_stats_orphan(const tt_stats *s)
{
    return s->orphan;
}

bool tt_stats_keep_series(tt_stats *s, uint32_t n_buckets)
{
    s->axis = tt_stats_axis_of(s->m, &s->filter, n_buckets);
    if (s->axis.n_buckets == 0) return true;
    s->total.series = calloc(s->axis.n_buckets, sizeof *s->total.series);
    s->batches = calloc(s->axis.n_buckets, sizeof *s->batches);
    if (!s->total.series || !s->batches) return false;
    for (uint32_t i = 0; i < s->axis.n_batches; i++)
        if (tt_filter_batch(&s->filter, s->m, s->axis.first + i))
            s->batches[tt_stats_bucket(&s->axis, s->axis.first + i)]++;
    return true;
}

const uint32_t *tt_stats_series_batches(const tt_stats *s)
{
    return s->batches;
}

const tt_stats_axis *tt_stats_series_axis(const tt_stats *s)
{
    return &s->axis;
}

void tt_stats_until(tt_stats *s, tt_over over)
{
    s->over = over;
}

/* The walk over all ops that fills the rows of statistics. */

#define PROGRESS_EVERY 64u

/* Whether each op ends up in exactly one row: then the total is the sum of the rows. */
static bool rows_are_parts(const tt_stats *s)
{
    return s->by != TT_BY_TENSOR && s->by != TT_BY_BATCH;
}

/* Rows without a series count in that of the total all the same. */
static void add_to_series(const tt_stats *s, const tt_stats_row *row, uint64_t ticks,
                          uint64_t bytes)
{
    tt_stats_cell *series = row->series || !rows_are_parts(s) ? row->series : s->total.series;
    if (!series || s->bucket == TT_NONE) return;
    series[s->bucket].ticks += ticks;
    series[s->bucket].weight_bytes += bytes;
}

static inline void add(const tt_stats *s, tt_stats_row *row, const stats_node *info,
                       const tt_joined *op, uint64_t ticks, uint64_t bytes, bool at_most)
{
    row->count++;
    row->sources += info->sources;
    row->file_sources += info->file_sources;
    row->buffer_sources += info->buffer_sources;
    if (!op->open) {
        tt_quantiles_add(&row->ticks, ticks);
        row->bent += op->bent;
        row->timed_weight_bytes += bytes;
        if (s->axis.n_buckets) add_to_series(s, row, ticks, bytes);
    }
    row->busy_ticks += op->busy;
    row->off_cpu_ticks += op->off_cpu;
    row->off_cpu_unknown |= !s->off_cpu_known;
    row->inside_ticks += op->inside;
    row->inside_unknown |= !s->inside_known;
    row->wait_ticks += op->wait;
    row->wait_unknown |= !s->wait_known;
    row->weight_bytes += bytes;
    row->at_most |= at_most;
}

static void add_row(const tt_stats *s, tt_stats_row *total, const tt_stats_row *row)
{
    for (uint32_t i = 0; row->series && i < s->axis.n_buckets; i++) {
        total->series[i].ticks += row->series[i].ticks;
        total->series[i].weight_bytes += row->series[i].weight_bytes;
    }
    total->count += row->count;
    total->sources += row->sources;
    total->file_sources += row->file_sources;
    total->buffer_sources += row->buffer_sources;
    total->bent += row->bent;
    tt_quantiles_merge(&total->ticks, &row->ticks);
    total->timed_weight_bytes += row->timed_weight_bytes;
    total->busy_ticks += row->busy_ticks;
    total->off_cpu_ticks += row->off_cpu_ticks;
    total->off_cpu_unknown |= row->off_cpu_unknown;
    total->inside_ticks += row->inside_ticks;
    total->inside_unknown |= row->inside_unknown;
    total->wait_unknown |= row->wait_unknown;
    total->wait_ticks += row->wait_ticks;
    total->weight_bytes += row->weight_bytes;
    total->at_most |= row->at_most;
}

static uint32_t row_of_run(tt_stats *s, const tt_run *run)
{
    if (s->by == TT_BY_BATCH)
        return stats_numbered_row(
            s, run->batch == TT_NONE ? -1 : (int64_t)tt_model_batch_number(s->m, run->batch));
    if (s->by == TT_BY_PHASE)
        return stats_row_of(s,
                            tt_phase_name(run->batch == TT_NONE ? TT_PHASE_UNKNOWN
                                                                : s->m->batches[run->batch].phase),
                            -1);
    if (s->by == TT_BY_MODEL) {
        const uint32_t model = s->m->graphs[run->graph].model;
        const char *path = tt_model_path(s->m, model);
        return stats_row_of_model(s, path ? path : "-", -1, model);
    }
    if (s->by == TT_BY_CONTEXT)
        return stats_numbered_row(
            s, run->batch == TT_NONE ? -1 : (int64_t)s->m->batches[run->batch].context);
    return TT_NONE;
}

static void finish_row(const tt_model *m, tt_stats_row *row)
{
    if (row->done) return;
    row->done = true;
    row->timed = row->ticks.n;
    row->total_ns = tt_model_span_ns(m, row->ticks.sum);
    row->mean_ns = row->timed ? row->total_ns / (double)row->timed : 0;
    row->p50_ns = tt_quantiles_at(&row->ticks, 0.50) * m->clock.ns_per_tick;
    row->p95_ns = tt_quantiles_at(&row->ticks, 0.95) * m->clock.ns_per_tick;
    row->max_ns = tt_model_span_ns(m, row->ticks.max);
    row->busy_ns = tt_model_span_ns(m, row->busy_ticks);
    row->work_ns = tt_model_span_ns(m, row->busy_ticks - row->off_cpu_ticks - row->inside_ticks);
    row->off_cpu_ns = row->off_cpu_unknown ? NAN : tt_model_span_ns(m, row->off_cpu_ticks);
    row->wait_inside_ns = row->inside_unknown ? NAN : tt_model_span_ns(m, row->inside_ticks);
    row->wait_ns = row->wait_unknown ? NAN : tt_model_span_ns(m, row->wait_ticks);
    tt_quantiles_free(&row->ticks);
}

/* What the run's op read, if that differs from run to run. The shares of the node stay those of its
 * first run; here they get this run's bytes: by tensor one per weight, else one in all. */
static tt_status measure_picks(tt_stats *s, uint32_t graph, uint32_t node, tt_accesses *accesses,
                               stats_node *info, tt_error *err)
{
    const tt_access *list;
    size_t n;
    if (!s->ops) s->ops = tt_op_table_new(s->m);
    const tt_op *described = s->ops ? tt_op_table_get(s->ops, graph, node, info->covers) : NULL;
    if (!described) return tt_error_memory(err, "the statistics");
    tt_status status = tt_accesses_of(accesses, described, &list, &n, err);
    if (status != TT_OK) return status;
    tt_op op = *described;
    tt_access_apply(&op, list, n);
    info->weight_bytes = op.weight_bytes;
    info->at_most = op.at_most;
    if (info->n == 0) return TT_OK;
    stats_share *part = &s->shares[info->first];
    if (s->by != TT_BY_TENSOR) {
        *part = (stats_share){part->row, op.weight_bytes, op.at_most};
        return TT_OK;
    }
    for (uint32_t i = 0, k = 0; i < op.n_sources && k < info->n; i++) {
        if (op.sources[i].weight == TT_NONE) continue;
        part[k].weight_bytes = op.sources[i].read_bytes;
        part[k++].at_most = op.sources[i].at_most;
    }
    return TT_OK;
}

/* An op that is in no row of its own, or in several. */
static void add_to_shares(tt_stats *s, const stats_node *info, const tt_joined *op, uint64_t ticks)
{
    for (uint32_t k = 0; k < info->n; k++) {
        const stats_share *part = &s->shares[info->first + k];
        add(s, &s->rows[part->row], info, op, ticks, part->weight_bytes, part->at_most);
    }
}

static bool in_time(const tt_stats *s, uint64_t start_ticks, uint64_t release_ticks)
{
    return tt_filter_span(&s->filter, tt_model_ns(s->m, start_ticks),
                          tt_model_ns(s->m, release_ticks));
}

static tt_status add_run(tt_stats *s, uint32_t at, const tt_join *j, tt_accesses *accesses,
                         tt_error *err)
{
    const tt_run *run = &s->m->runs[at];
    stats_node *nodes = j->n_touched ? stats_nodes_of(s, run->graph) : NULL;
    if (!nodes || s->failed) return TT_OK;
    const bool parts = rows_are_parts(s);
    s->off_cpu_known = j->off_cpu.known;
    s->inside_known = j->off_cpu.inside_known;
    s->wait_known = tt_model_waits_known(s->m, run);
    uint32_t run_row = row_of_run(s, run);
    for (uint32_t i = 0; i < j->n_touched; i++) {
        uint32_t node = j->touched[i];
        const tt_joined *op = &j->ops[node];
        stats_node *info = &nodes[node];
        if (!info->known || info->covers != op->covers)
            stats_learn_node(s, j->graph, node, op->covers, info);
        if (s->failed) return TT_OK;
        if (!info->passes || (s->in_time && !in_time(s, op->start, op->release))) continue;
        bool passes;
        tt_status status = tt_slice_filter_passes(&s->slices, at, node, op->covers, &passes, err);
        if (status == TT_OK && !passes) continue;
        if (status == TT_OK && info->picks)
            status = measure_picks(s, run->graph, node, accesses, info, err);
        if (status != TT_OK) return status;
        uint64_t ticks = tt_joined_ticks(op);
        if (!parts) add(s, &s->total, info, op, ticks, info->weight_bytes, info->at_most);
        if (run_row != TT_NONE || info->n == 1)
            add(s, &s->rows[run_row != TT_NONE ? run_row : info->row], info, op, ticks,
                info->weight_bytes, info->at_most);
        else
            add_to_shares(s, info, op, ticks);
    }
    /* A token's row is complete after its last run: its values are not needed any more. */
    if (s->by == TT_BY_BATCH && run->batch != TT_NONE && s->m->batches[run->batch].last_run == at)
        finish_row(s->m, &s->rows[run_row]);
    return TT_OK;
}

/* By thread: lane by lane, without joining. */
static tt_status add_lanes(tt_stats *s, uint32_t at, tt_off_cpu *off, tt_error *err)
{
    const tt_run *run = &s->m->runs[at];
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(s->m->pieces, run->id, &pieces, &n, err);
    stats_node *nodes = n ? stats_nodes_of(s, run->graph) : NULL;
    if (status == TT_OK && nodes) status = tt_off_cpu_load(off, s->m, run, err);
    if (status != TT_OK) return status;
    s->off_cpu_known = off->known;
    s->inside_known = off->inside_known;
    s->wait_known = tt_model_waits_known(s->m, run);
    for (size_t i = 0; nodes && i < n && !s->failed; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(s->m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        if (s->filter.has_lane && p.lane != s->filter.lane) continue;
        uint32_t row = stats_numbered_row(s, p.lane);
        const tt_run_ticks ticks = tt_run_ticks_of(run, p.tick_shift);
        const tt_graph *g = &s->m->graphs[run->graph];
        for (size_t k = 0; k < p.n && !s->failed; k++) {
            if (p.node[k] >= g->n_nodes) continue;
            stats_node *info = &nodes[p.node[k]];
            if (!info->known || info->covers != p.covers[k])
                stats_learn_node(s, g, p.node[k], p.covers[k], info);
            if (!info->passes || (s->in_time && !in_time(s, p.start[k], p.release[k]))) continue;
            bool passes;
            status = tt_slice_filter_passes(&s->slices, at, p.node[k], p.covers[k], &passes, err);
            if (status != TT_OK) return status;
            if (!passes) continue;
            uint64_t busy = p.arrive[k] - p.start[k];
            tt_waits_inside inside = {0};
            const uint64_t off_ticks =
                off->n ? tt_off_cpu_ticks(off, p.node[k], p.lane, busy, &inside) : 0;
            const tt_joined own = {
                .busy = busy,
                .off_cpu = off_ticks,
                .inside = inside.ticks,
                .wait = p.release[k] - p.arrive[k],
                .open = p.open,
                .bent = !p.open && tt_times_are_bent(ticks, p.start[k], p.arrive[k], p.release[k])};
            add(s, &s->rows[row], info, &own, own.busy, 0, false);
        }
    }
    return status;
}

static tt_status walk_run(tt_stats *const *list, size_t n, const tt_model *m, uint32_t run,
                          tt_join *j, tt_accesses *accesses, tt_error *err)
{
    bool joined = false;
    for (size_t i = 0; i < n; i++) {
        tt_status status = TT_OK;
        if (!tt_filter_run(&list[i]->filter, m, &m->runs[run])) continue;
        if (list[i]->axis.n_buckets)
            list[i]->bucket = tt_stats_bucket(&list[i]->axis, m->runs[run].batch);
        if (list[i]->by == TT_BY_THREAD) {
            status = add_lanes(list[i], run, &j->off_cpu, err);
        } else {
            if (!joined) status = tt_join_run(j, m, run, err);
            if (!joined && status == TT_OK) status = tt_accesses_run(accesses, run, err);
            joined = true;
            if (status == TT_OK) status = add_run(list[i], run, j, accesses, err);
        }
        if (status == TT_OK && list[i]->failed) status = tt_error_memory(err, "the statistics");
        if (status != TT_OK) return status;
    }
    return TT_OK;
}

/* Records of runs that the trace does not describe. */
static tt_status count_unknown_runs(const tt_model *m, uint64_t *records, tt_error *err)
{
    uint32_t *ids = malloc(((size_t)m->n_runs + 1) * sizeof *ids);
    if (!ids) return tt_error_memory(err, "the statistics");
    for (uint32_t i = 0; i < m->n_runs; i++)
        ids[i] = m->runs[i].id;
    tt_status status = tt_pieces_count_others(m->pieces, ids, m->n_runs, records, err);
    free(ids);
    return status;
}

static int by_key(const void *a, const void *b)
{
    const tt_stats_row *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    const int order = strcmp(x->key, y->key);
    return order || !x->model_file || !y->model_file ? order : strcmp(x->model_file, y->model_file);
}

tt_status tt_stats_walk(tt_stats *const *list, size_t n, const tt_model *m,
                        tt_stats_progress *progress, void *context, tt_error *err)
{
    tt_join j = {0};
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    tt_accesses *accesses = tt_accesses_new(m);
    if (!accesses) return tt_error_memory(err, "the statistics");
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++) {
        status = walk_run(list, n, m, i, &j, accesses, err);
        if (progress && i % PROGRESS_EVERY == 0) progress(context, i, m->n_runs);
        if (n == 1 && i % PROGRESS_EVERY == 0 && status == TT_OK)
            status = tt_over_check(&list[0]->over, err);
    }
    uint64_t orphan = 0;
    if (status == TT_OK) status = count_unknown_runs(m, &orphan, err);
    orphan += j.orphan;
    tt_join_free(&j);
    tt_accesses_free(accesses);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        for (size_t k = 0; k < list[i]->n_rows && rows_are_parts(list[i]); k++)
            add_row(list[i], &list[i]->total, &list[i]->rows[k]);
        finish_row(m, &list[i]->total);
        for (size_t k = 0; k < list[i]->n_rows; k++)
            finish_row(m, &list[i]->rows[k]);
        if (list[i]->n_rows) qsort(list[i]->rows, list[i]->n_rows, sizeof *list[i]->rows, by_key);
        list[i]->orphan = orphan;
    }
    return status;
}
