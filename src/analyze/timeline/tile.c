#include "analyze/filter.h"
#include "analyze/ops.h"
#include "analyze/timeline/parts.h"
#include "base/array.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Runs searched before or after one for a lane's next op. */
#define STEP_RUNS_MAX 256u
#define ASK_EVERY 512u /* runs: some 10 ms */

/* --- a selection --- */

typedef struct summing {
    const tt_timeline *t;
    const tt_model *m;
    int64_t from, to;
    tt_timeline_sum by_kind[TT_TIMELINE_KINDS_MAX + 1];
    int64_t first, last;
} summing;

static int64_t inside(const summing *s, int64_t from, int64_t to)
{
    if (from < s->from) from = s->from;
    if (to > s->to) to = s->to;
    return to > from ? to - from : 0;
}

static tt_status sum_piece(void *context, const tt_timeline_span *span, const tt_piece_ops *p,
                           const tt_timeline_node *nodes, uint32_t track, tt_error *err)
{
    summing *s = context;
    const tt_run *run = &s->m->runs[span->run];
    const uint32_t n_nodes = s->m->graphs[run->graph].n_nodes;
    const double lanes = run->threads > 1 ? run->threads : 1;
    (void)track;
    (void)err;
    for (size_t i = 0; i < p->n; i++) {
        tt_lap lap = tt_timeline_lap(s->t, p, i);
        bool begins = lap.start >= s->from && lap.start < s->to;
        if (p->node[i] >= n_nodes || lap.start >= s->to || (lap.release <= s->from && !begins))
            continue;
        const tt_timeline_node *node = &nodes[p->node[i]];
        tt_timeline_sum *sum = &s->by_kind[node->kind];
        sum->count++;
        sum->busy_ns += (double)inside(s, lap.start, lap.arrive);
        sum->wait_ns += (double)inside(s, lap.arrive, lap.release);
        sum->at_most |= begins && node->at_most;
        if (begins) sum->weight_bytes += (double)node->weight_bytes / lanes;
        if (lap.start < s->first) s->first = lap.start;
        if (lap.start > s->last) s->last = lap.start;
    }
    return TT_OK;
}

static int busiest(const void *a, const void *b)
{
    const tt_timeline_sum *x = a, *y = b;
    if (x->busy_ns != y->busy_ns) return x->busy_ns > y->busy_ns ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static tt_status end_sums(summing *s, tt_timeline_sums *sums, tt_error *err)
{
    sums->kinds = tt_timeline_kinds_copy(s->t, &sums->n_kinds);
    sums->list = calloc((size_t)sums->n_kinds + 1, sizeof *sums->list);
    if (!sums->kinds || !sums->list) return tt_error_memory(err, "summing up a selection");
    for (uint32_t i = 0; i < sums->n_kinds; i++) {
        tt_timeline_sum *k = &s->by_kind[i];
        if (k->count == 0) continue;
        k->kind = (uint8_t)i;
        k->busy_ns *= s->t->ns_per_tick;
        k->wait_ns *= s->t->waits_known ? s->t->ns_per_tick : NAN;
        sums->total.count += k->count;
        sums->total.busy_ns += k->busy_ns;
        sums->total.wait_ns += k->wait_ns;
        sums->total.weight_bytes += k->weight_bytes;
        sums->total.at_most |= k->at_most;
        sums->list[sums->n++] = *k;
    }
    if (sums->n) qsort(sums->list, sums->n, sizeof *sums->list, busiest);
    sums->first_ns = tt_timeline_ns(s->t, s->first);
    sums->last_ns = tt_timeline_ns(s->t, s->last);
    return TT_OK;
}

tt_status tt_timeline_aggregate(const tt_timeline *t, const tt_model *m, double from_ns,
                                double to_ns, const uint8_t *tracks, const tt_over *over,
                                tt_timeline_sums *sums, tt_error *err)
{
    memset(sums, 0, sizeof *sums);
    summing *s = calloc(1, sizeof *s);
    if (!s) return tt_error_memory(err, "summing up a selection");
    *s = (summing){.t = t, .m = m, .first = INT64_MAX, .last = INT64_MIN};
    s->from = tt_timeline_tick_of(t, from_ns);
    s->to = tt_timeline_tick_of(t, to_ns);
    size_t at, end;
    uint64_t orphan = 0;
    tt_status status = TT_OK;
    tt_timeline_spans(t, s->from, s->to, &at, &end);
    for (; at < end && status == TT_OK; at += ASK_EVERY) {
        size_t next = end - at < ASK_EVERY ? end : at + ASK_EVERY;
        status = tt_timeline_walk(t, m, at, next, s->from, tracks, sum_piece, s, &orphan, err);
        if (status == TT_OK) status = tt_over_check(over, err);
    }
    if (status == TT_OK) status = end_sums(s, sums, err);
    free(s);
    return status;
}

void tt_timeline_sums_free(tt_timeline_sums *sums)
{
    free(sums->list);
    free(sums->kinds);
    memset(sums, 0, sizeof *sums);
}

/* --- along a track --- */

typedef struct stepping {
    const tt_timeline *t;
    uint32_t lane;
    int64_t start; /* of the starting op */
    uint32_t run, node;
    bool forward;
    int64_t best;
    tt_timeline_step *out;
} stepping;

/* Finds the lane's nearest op after (or before) the start in one run. */
static tt_status step_in_run(stepping *s, const tt_model *m, uint32_t run, tt_error *err)
{
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, m->runs[run].id, &pieces, &n, err);
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        if (pieces[i].lane != s->lane) continue;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        for (size_t k = 0; k < p.n && status == TT_OK; k++) {
            tt_lap lap = tt_timeline_lap(s->t, &p, k);
            if (run == s->run && p.node[k] == s->node) continue;
            /* Ops of duration 0 begin together: nodes of a run ascend. */
            bool later = run == s->run ? p.node[k] > s->node : lap.start >= s->start;
            if (later != s->forward || (s->out->run != TT_NONE &&
                                        (s->forward ? lap.start >= s->best : lap.start < s->best)))
                continue;
            s->best = lap.start;
            *s->out = (tt_timeline_step){run, p.node[k], tt_timeline_ns(s->t, lap.start),
                                         p.open ? NAN : tt_timeline_ns(s->t, lap.release)};
        }
    }
    return status;
}

static tt_status step(stepping *s, const tt_model *m, size_t at, tt_error *err)
{
    const tt_timeline *t = s->t;
    const uint32_t row = t->row_of_run[s->run] - 1;
    uint32_t looked = 0;
    tt_status status = TT_OK;
    *s->out = (tt_timeline_step){TT_NONE, TT_NONE, NAN, NAN};
    for (size_t i = at; status == TT_OK && s->out->run == TT_NONE && looked < STEP_RUNS_MAX;) {
        if (t->spans[i].row == row) {
            status = step_in_run(s, m, t->spans[i].run, err);
            looked++;
        }
        if (s->forward ? i + 1 >= t->n_spans : i == 0) break;
        i = s->forward ? i + 1 : i - 1;
    }
    return status;
}

tt_status tt_timeline_neighbours(const tt_timeline *t, const tt_model *m, uint32_t run,
                                 uint32_t node, uint32_t lane, tt_timeline_step *before,
                                 tt_timeline_step *behind, tt_error *err)
{
    *before = *behind = (tt_timeline_step){TT_NONE, TT_NONE, NAN, NAN};
    if (run >= t->n_runs || t->row_of_run[run] == 0) return TT_OK;
    size_t at, end;
    int64_t begin = tt_timeline_tick(t, m->runs[run].begin_ticks);
    tt_timeline_spans(t, begin, begin, &at, &end);
    for (at = end; at < t->n_spans && t->spans[at].run != run; at++) {
        /* runs that begin at the same tick */
    }
    if (at == t->n_spans) return TT_OK;
    stepping s = {.t = t, .lane = lane, .start = begin, .run = run, .node = node};
    const bool ways[2] = {false, true};
    tt_status status = TT_OK;
    for (int i = 0; i < 2 && status == TT_OK; i++) {
        s.forward = ways[i];
        s.out = ways[i] ? behind : before;
        status = step(&s, m, at, err);
    }
    return status;
}

/* Windows of fewer records than this always use the records, those of more never. */
#define RECORDS_FEW 100000u
#define RECORDS_MANY 20000000u
/* Buckets x tracks of a drawing from records. */
#define CELLS_MAX (1u << 19)

/* Additional state of a bucket, for records. */
typedef struct cell_more {
    uint32_t first; /* slice of its only op, + 1; 0: none */
    uint32_t marked;
    bool shared; /* contains part of an op that is also in other buckets */
} cell_more;

typedef struct drawing {
    const tt_timeline *t;
    const tt_model *m;
    const tt_tile_query *q;
    tt_tile *tile;
    int64_t *edges;
    int64_t bucket_ticks; /* ops of at least this duration are single slices */
    tt_strip *strips;     /* by track; without cells: not wanted */
    cell_more **more;
    uint32_t *wide;   /* by track: slices that are in no bucket */
    tt_idmap name_of; /* key: graph and node; in tile->names */
    tt_slice_filter slices;
} drawing;

void tt_tile_free(tt_tile *tile)
{
    free(tile->slices);
    free(tile->merged);
    free(tile->layers);
    free(tile->kinds);
    free(tile->names);
    memset(tile, 0, sizeof *tile);
}

static bool wants(const tt_tile_query *q, uint32_t track)
{
    return !q->tracks || q->tracks[track];
}

bool tt_tile_add_merged(tt_tile *tile, tt_tile_merged merged)
{
    if (!tt_array_one_more(tile->merged, tile->n_merged, tile->merged_capacity)) return false;
    tile->merged[tile->n_merged++] = merged;
    return true;
}

/* --- from records --- */

static uint32_t name_of(drawing *d, const tt_graph *g, uint32_t node)
{
    tt_tile *tile = d->tile;
    uint64_t key = (uint64_t)(g - d->m->graphs) << 32 | node;
    uint32_t was;
    if (!tt_array_one_more(tile->names, tile->n_names, tile->names_capacity) ||
        !tt_idmap_add(&d->name_of, key, tile->n_names, &was))
        return TT_NONE;
    if (was != TT_NONE) return was;
    tile->names[tile->n_names] = g->tensors[node].name;
    return tile->n_names++;
}

/* Whether that is the requested tensor, or the one of the requested expert. */
static bool name_is(const drawing *d, const char *name)
{
    const char *want = d->q->tensor;
    size_t length;
    int32_t expert;
    if (strcmp(name, want) == 0) return true;
    return tt_slice_name(want, &length, &expert) && strlen(name) == length &&
           strncmp(name, want, length) == 0;
}

/* Whether the op matches the query. */
static bool is_marked(const drawing *d, const tt_graph *g, uint32_t node,
                      const tt_timeline_node *info)
{
    if (d->q->has_layer && tt_layer_passes(d->q->layer, info->layer_id)) return true;
    if (!d->q->tensor) return false;
    uint32_t nodes[TT_OP_NODES_MAX] = {node};
    uint32_t n = 1 + tt_op_covered(g, node, info->covers, nodes + 1);
    for (uint32_t i = 0; i < n; i++) {
        const tt_tensor *t = &g->tensors[nodes[i]];
        if (name_is(d, t->name)) return true;
        for (uint32_t s = 0; s < t->n_src; s++) {
            if (t->src[s] == TT_NONE) continue;
            const tt_tensor *source = &g->tensors[t->src[s]];
            const char *name = source->weight == TT_NONE ? g->tensors[source->root].name
                                                         : d->m->weights[source->weight].name;
            if (name_is(d, name)) return true;
        }
    }
    return false;
}

static bool add_slice(drawing *d, const tt_timeline_span *span, const tt_graph *g, uint32_t node,
                      const tt_timeline_node *info, const tt_lap *lap, uint32_t track,
                      uint8_t flags)
{
    tt_tile *tile = d->tile;
    uint32_t name = name_of(d, g, info->last);
    if (name == TT_NONE || !tt_array_one_more(tile->slices, tile->n_slices, tile->slices_capacity))
        return false;
    tile->slices[tile->n_slices++] =
        (tt_tile_slice){.start_ns = tt_timeline_ns(d->t, lap->start),
                        .busy_ns = tt_timeline_ns(d->t, lap->arrive - lap->start),
                        .wait_ns = tt_model_waits_known(d->m, &d->m->runs[span->run])
                                       ? tt_timeline_ns(d->t, lap->release - lap->arrive)
                                       : NAN,
                        .run = span->run,
                        .node = node,
                        .name = name,
                        .weight = info->weight,
                        .layer_id = info->layer_id,
                        .track = (uint16_t)track,
                        .kind = info->kind,
                        .flags = flags | (info->covers ? TT_SLICE_FUSED : 0)};
    return true;
}

/* Adds it to its bucket, and as a slice while it is the only one there. */
static bool add_small(drawing *d, const tt_timeline_span *span, const tt_graph *g, uint32_t node,
                      const tt_timeline_node *info, const tt_lap *lap, uint32_t track,
                      uint8_t flags)
{
    tt_strip *s = &d->strips[track];
    cell_more *more = d->more[track];
    bool begins = lap->start >= s->edges[0];
    uint32_t first = tt_strip_bucket(s, lap->start);
    if (!tt_strip_add(s, info->kind, lap)) d->tile->orphan++;
    if (begins && flags & TT_SLICE_MARKED) more[first].marked++;
    bool inside = begins && lap->release <= s->edges[first + 1];
    for (uint32_t b = first; !inside && b < s->n && s->edges[b] < lap->release; b++) {
        if (more[b].shared && b > first + 1) break; /* long ones get here only in damaged traces */
        more[b].shared = true;
    }
    if (!inside || more[first].shared || s->cells[first].count > 1) return true;
    if (!add_slice(d, span, g, node, info, lap, track, flags)) return false;
    more[first].first = d->tile->n_slices;
    return true;
}

/* Adds an interval of ops of one layer, merged with the previous one while that is narrower than a
 * bucket. */
static bool put_layer(drawing *d, tt_tile_layer next)
{
    tt_tile *tile = d->tile;
    const double width = (tile->to_ns - tile->from_ns) / tile->n_buckets;
    tt_tile_layer *last = tile->n_layers ? &tile->layers[tile->n_layers - 1] : NULL;
    if (next.end_ns <= tile->from_ns || next.start_ns >= tile->to_ns) return true;
    bool same = last && last->run == next.run && last->row == next.row;
    /* More than possible without overlap: merge everything into the last one. */
    bool many = tile->n_layers > 4 * tile->n_buckets + 64;
    if (last && ((same && (last->end_ns - last->start_ns < width ||
                           (last->count == 1 && last->last == next.first))) ||
                 many)) {
        last->count += last->last != next.first;
        last->last = next.last;
        if (next.end_ns > last->end_ns) last->end_ns = next.end_ns;
        return true;
    }
    if (!tt_array_one_more(tile->layers, tile->n_layers, tile->layers_capacity)) return false;
    tile->layers[tile->n_layers++] = next;
    return true;
}

static bool add_layers(drawing *d, const tt_timeline_span *span, const tt_piece_ops *p,
                       const tt_timeline_node *nodes, uint32_t track)
{
    const uint32_t n_nodes = d->m->graphs[d->m->runs[span->run].graph].n_nodes;
    tt_tile_layer at = {.count = 0};
    for (size_t i = 0; i < p->n; i++) {
        if (p->node[i] >= n_nodes) continue;
        tt_lap lap = tt_timeline_lap(d->t, p, i);
        int32_t layer = nodes[p->node[i]].layer_id;
        if (at.count && layer != at.last && !put_layer(d, at)) return false;
        if (!at.count || layer != at.last)
            at = (tt_tile_layer){.start_ns = tt_timeline_ns(d->t, lap.start),
                                 .run = span->run,
                                 .first = layer,
                                 .last = layer,
                                 .count = 1,
                                 .row = (uint16_t)(track / d->t->n_lanes)};
        at.end_ns = tt_timeline_ns(d->t, lap.release);
    }
    return at.count == 0 || put_layer(d, at);
}

static tt_status draw_piece(void *context, const tt_timeline_span *span, const tt_piece_ops *p,
                            const tt_timeline_node *nodes, uint32_t track, tt_error *err)
{
    drawing *d = context;
    const tt_graph *g = &d->m->graphs[d->m->runs[span->run].graph];
    const int64_t from = d->edges[0], to = d->edges[d->tile->n_buckets];
    const bool marks = d->q->has_layer || d->q->tensor;
    if (d->q->layers && track % d->t->n_lanes == 0 && !add_layers(d, span, p, nodes, track))
        return tt_error_memory(err, "a picture of the timeline");
    if (!wants(d->q, track)) return TT_OK;
    for (size_t i = 0; i < p->n; i++) {
        tt_lap lap = tt_timeline_lap(d->t, p, i);
        if (lap.start >= to || lap.release < from || (lap.release == from && lap.start < from))
            continue;
        const uint32_t node = p->node[i];
        if (node >= g->n_nodes) {
            d->tile->orphan++;
            continue;
        }
        const tt_timeline_node *info = &nodes[node];
        uint8_t flags = p->open ? TT_SLICE_OPEN : 0;
        bool marked = marks && is_marked(d, g, node, info);
        if (marked && !d->q->has_layer) {
            tt_status status =
                tt_slice_filter_passes(&d->slices, span->run, node, info->covers, &marked, err);
            if (status != TT_OK) return status;
        }
        if (marked) flags |= TT_SLICE_MARKED;
        bool wide = lap.release - lap.start >= d->bucket_ticks &&
                    d->wide[track] < 2 * d->tile->n_buckets + 2;
        d->wide[track] += wide;
        if (!(wide ? add_slice(d, span, g, node, info, &lap, track, flags)
                   : add_small(d, span, g, node, info, &lap, track, flags)))
            return tt_error_memory(err, "a picture of the timeline");
    }
    return TT_OK;
}

/* The buckets as merged items; buckets with a single op already have it as a slice. */
static bool end_track(drawing *d, uint32_t track, uint8_t *alone)
{
    tt_strip *s = &d->strips[track];
    tt_strip_end(s);
    for (uint32_t b = 0; b < s->n; b++) {
        const tt_strip_cell *c = &s->cells[b];
        const cell_more *more = &d->more[track][b];
        if (c->count == 0 && c->busy == 0 && c->wait == 0) continue;
        if (more->first && c->count == 1 && !more->shared) {
            alone[more->first - 1] = 1;
            continue;
        }
        const double ns = d->t->ns_per_tick;
        tt_tile_merged merged = {.bucket = b,
                                 .count = c->count,
                                 .marked = more->marked,
                                 .track = (uint16_t)track,
                                 .kind = c->kind,
                                 .busy_ns = (double)c->busy * ns,
                                 .wait_ns = d->t->waits_known ? (double)c->wait * ns : NAN};
        for (uint32_t k = 0; k < TT_TIMELINE_CATEGORIES; k++)
            merged.category_ns[k] = c->category[k] * (float)ns;
        if (!tt_tile_add_merged(d->tile, merged)) return false;
    }
    return true;
}

TT_ORDER_BY(by_track, tt_tile_slice, track, start_ns, node)

/* Removes slices whose bucket got other ops since: they are in its merged item. */
static tt_status end_drawing(drawing *d, tt_error *err)
{
    tt_tile *tile = d->tile;
    uint8_t *keep = malloc((size_t)tile->n_slices + 1);
    if (!keep) return tt_error_memory(err, "a picture of the timeline");
    memset(keep, 1, tile->n_slices);
    const uint32_t n_tracks = tt_timeline_tracks(d->t, NULL);
    for (uint32_t i = 0; i < n_tracks; i++)
        for (uint32_t b = 0; d->more[i] && b < tile->n_buckets; b++)
            if (d->more[i][b].first) keep[d->more[i][b].first - 1] = 0;
    bool ok = true;
    for (uint32_t i = 0; i < n_tracks && ok; i++)
        if (d->more[i]) ok = end_track(d, i, keep);
    uint32_t n = 0;
    for (uint32_t i = 0; i < tile->n_slices; i++)
        if (keep[i]) tile->slices[n++] = tile->slices[i];
    tile->n_slices = n;
    free(keep);
    if (n) qsort(tile->slices, n, sizeof *tile->slices, by_track);
    return ok ? TT_OK : tt_error_memory(err, "a picture of the timeline");
}

static tt_status make_strips(drawing *d, tt_error *err)
{
    const uint32_t n_tracks = tt_timeline_tracks(d->t, NULL), n = d->tile->n_buckets;
    d->strips = calloc(n_tracks, sizeof *d->strips);
    d->more = calloc(n_tracks, sizeof *d->more);
    d->wide = calloc(n_tracks, sizeof *d->wide);
    d->edges = tt_strip_edges(d->t, d->q->from_ns, (d->q->to_ns - d->q->from_ns) / n, n);
    if (!d->strips || !d->more || !d->wide || !d->edges)
        return tt_error_memory(err, "a picture of the timeline");
    d->bucket_ticks = (d->edges[n] - d->edges[0]) / n;
    if (d->bucket_ticks < 1) d->bucket_ticks = 1;
    for (uint32_t i = 0; i < n_tracks; i++) {
        if (!wants(d->q, i)) continue;
        tt_strip *s = &d->strips[i];
        *s = (tt_strip){.cells = calloc(n, sizeof *s->cells),
                        .edges = d->edges,
                        .n = n,
                        .kinds = d->t->kinds->list,
                        .steps_left = TT_STRIP_STEPS(n)};
        d->more[i] = calloc(n, sizeof **d->more);
        if (!s->cells || !d->more[i]) return tt_error_memory(err, "a picture of the timeline");
        for (uint32_t b = 0; b < n; b++)
            s->cells[b].kind = TT_STRIP_NO_KIND;
    }
    return TT_OK;
}

static tt_status from_records(drawing *d, size_t first, size_t end, tt_error *err)
{
    uint32_t n_tracks = tt_timeline_tracks(d->t, NULL), n_wanted = 0;
    for (uint32_t i = 0; i < n_tracks; i++)
        n_wanted += wants(d->q, i);
    if ((uint64_t)n_wanted * d->tile->n_buckets > CELLS_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "%u tracks of %u buckets are more than one picture may have (%u in "
                            "all); ask for fewer tracks at once",
                            n_wanted, d->tile->n_buckets, CELLS_MAX);
    tt_status status = make_strips(d, err);
    uint8_t *visited = d->q->tracks ? malloc(n_tracks) : NULL;
    if (d->q->tracks && !visited) status = tt_error_memory(err, "a picture of the timeline");
    for (uint32_t i = 0; visited && i < n_tracks; i++)
        visited[i] = d->q->tracks[i] || (d->q->layers && i % d->t->n_lanes == 0);
    if (status == TT_OK)
        status = tt_timeline_walk(d->t, d->m, first, end, d->edges[0], visited, draw_piece, d,
                                  &d->tile->orphan, err);
    free(visited);
    if (status == TT_OK) status = end_drawing(d, err);
    for (uint32_t i = 0; i < n_tracks; i++) {
        if (d->strips) free(d->strips[i].cells);
        if (d->more) free(d->more[i]);
    }
    free(d->strips);
    free(d->more);
    free(d->wide);
    free(d->edges);
    tt_idmap_free(&d->name_of);
    tt_slice_filter_free(&d->slices);
    return status;
}

/* The spans of the query's window. */
static void spans_of(const tt_timeline *t, const tt_tile_query *q, size_t *first, size_t *end)
{
    tt_timeline_spans(t, tt_timeline_tick_of(t, q->from_ns), tt_timeline_tick_of(t, q->to_ns),
                      first, end);
}

bool tt_tile_from_overview(const tt_timeline *t, const tt_model *m, const tt_tile_query *q)
{
    size_t first, end;
    spans_of(t, q, &first, &end);
    const double records =
        (double)tt_pieces_records(m->pieces) * (double)(end - first) / (double)(t->n_spans + 1);
    const double width = (q->to_ns - q->from_ns) / q->n_buckets;
    return records > RECORDS_MANY || (records > RECORDS_FEW && width >= t->overview->bucket_ns);
}

tt_status tt_tile_make(const tt_timeline *t, const tt_model *m, const tt_tile_query *q,
                       tt_tile *tile, tt_error *err)
{
    drawing d = {.t = t,
                 .m = m,
                 .q = q,
                 .tile = tile,
                 .slices = {.m = m, .pattern = q->has_layer ? NULL : q->tensor}};
    *tile = (tt_tile){
        .from_ns = q->from_ns, .to_ns = q->to_ns, .n_buckets = q->n_buckets, .until_ns = INFINITY};
    if (!(q->from_ns < q->to_ns) || q->n_buckets < 1 || q->n_buckets > TT_TILE_BUCKETS_MAX ||
        !isfinite(q->to_ns - q->from_ns))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "a picture needs from_ns < to_ns and 1 to %u buckets",
                            TT_TILE_BUCKETS_MAX);
    size_t first, end;
    tt_status status;
    if (tt_tile_from_overview(t, m, q)) {
        status = tt_tile_of_overview(t, q, tile, err);
    } else {
        spans_of(t, q, &first, &end);
        tile->marks_known = true;
        status = from_records(&d, first, end, err);
    }
    if (status != TT_OK) return status;
    tile->kinds = tt_timeline_kinds_copy(t, &tile->n_kinds);
    return tile->kinds ? TT_OK : tt_error_memory(err, "a picture of the timeline");
}
