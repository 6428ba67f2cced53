#include "analyze/stats.h"

#include "analyze/stats_parts.h"
#include "base/array.h"
#include "base/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    tt_arena_free(&s->keys);
    free(s);
}

typedef struct looked_for {
    const tt_stats *s;
    const char *text;
} looked_for;

static bool is_of_text(const void *context, uint32_t row)
{
    const looked_for *l = context;
    return strcmp(l->s->rows[row].key, l->text) == 0;
}

/* The row of that key, made at the first need. */
uint32_t tt_stats_row_of(tt_stats *s, const char *text, int64_t number)
{
    const looked_for l = {s, text};
    uint64_t key = tt_checksum(text, strlen(text));
    uint32_t was = tt_idmap_find(&s->row_of_key, &key, is_of_text, &l);
    if (was != TT_NONE) return was;
    if (!tt_array_one_more(s->rows, s->n_rows, s->rows_capacity) || s->n_rows >= TT_NONE ||
        !tt_idmap_add(&s->row_of_key, key, (uint32_t)s->n_rows, &was)) {
        s->failed = true;
        return TT_NONE;
    }
    const char *copy = tt_arena_text(&s->keys, text, strlen(text));
    s->failed |= !copy;
    s->rows[s->n_rows] = (tt_stats_row){.key = copy ? copy : "", .number = number};
    if (s->axis.n_buckets && s->n_rows < TT_STATS_SERIES_ROWS_MAX) {
        s->rows[s->n_rows].series = calloc(s->axis.n_buckets, sizeof(tt_stats_cell));
        s->failed |= !s->rows[s->n_rows].series;
    }
    return (uint32_t)s->n_rows++;
}

uint32_t tt_stats_numbered_row(tt_stats *s, int64_t number)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRId64, number);
    return tt_stats_row_of(s, number < 0 ? "-" : text, number);
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
            add_share(s, info, tt_stats_row_of(s, s->m->weights[from->weight].name, -1),
                      from->read_bytes, from->at_most);
    }
    if (info->n == 0) add_share(s, info, tt_stats_row_of(s, NO_WEIGHT, -1), 0, false);
}

/* Counts names that are new in the row (TT_NONE: the total). */
static void count_tensors(tt_stats *s, const tt_op *op, uint32_t row)
{
    tt_stats_row *to = row == TT_NONE ? &s->total : &s->rows[row];
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const char *name = op->graph->tensors[op->sources[i].tensor].name;
        uint32_t was;
        const uint64_t key = tt_checksum(name, strlen(name)) ^ row * UINT64_C(0x9e3779b97f4a7c15);
        s->failed |= !tt_idmap_add(&s->tensors, key, 0, &was);
        to->tensors += was == TT_NONE;
    }
}

static void count_sources(tt_stats *s, const tt_op *op, stats_node *info)
{
    unsigned disk = 0, buffer = 0; /* at most TT_OP_SOURCES_MAX */
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_origin origin = op->graph->tensors[op->sources[i].tensor].origin;
        disk += origin == TT_ORIGIN_DISK;
        buffer += origin == TT_ORIGIN_BUFFER;
    }
    info->sources = (uint8_t)op->n_sources;
    info->disk_sources = (uint8_t)disk;
    info->buffer_sources = (uint8_t)buffer;
    count_tensors(s, op, TT_NONE);
    if (info->n == 1) count_tensors(s, op, info->row);
    for (uint32_t k = 0; info->n > 1 && k < info->n; k++)
        count_tensors(s, op, s->shares[info->first + k].row);
}

void tt_stats_learn_node(tt_stats *s, const tt_graph *g, uint32_t node, uint8_t covers,
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
        add_share(s, info, tt_stats_row_of(s, op.op, -1), op.weight_bytes, op.at_most);
        break;
    case TT_BY_LAYER:
        add_share(s, info, tt_stats_numbered_row(s, op.place.layer_id), op.weight_bytes,
                  op.at_most);
        break;
    case TT_BY_COMPONENT:
        add_share(s, info, tt_stats_row_of(s, op.place.component, -1), op.weight_bytes, op.at_most);
        break;
    case TT_BY_CATEGORY:
        add_share(s, info, tt_stats_row_of(s, op.place.category, -1), op.weight_bytes, op.at_most);
        break;
    case TT_BY_TENSOR:
        add_weight_shares(s, info, &op);
        break;
    case TT_BY_THREAD:
    case TT_BY_BATCH:
    case TT_BY_PHASE:
        break; /* the row is the lane's or the run's */
    }
    if (!s->failed) count_sources(s, &op, info);
}

/* NULL when the graph is not known or there is no memory. */
stats_node *tt_stats_nodes_of(tt_stats *s, uint32_t graph)
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
