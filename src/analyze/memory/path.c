#include "analyze/memory/path.h"

#include "analyze/faults.h"
#include "base/array.h"
#include "model/faults.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tt_path_free(tt_path *p)
{
    free(p->cells);
    free(p->steps);
    free(p->list);
    memset(p, 0, sizeof *p);
}

tt_status tt_path_extent(const tt_model *m, tt_path_window *out, tt_error *err)
{
    *out = (tt_path_window){0};
    tt_status status = tt_model_need_clock(m, err);
    uint64_t *layout = status == TT_OK ? tt_reads_layout(m, 1, NULL) : NULL;
    if (status != TT_OK) return status;
    if (!layout) return tt_error_memory(err, "the order of reads");
    out->to_bytes = layout[m->n_files];
    free(layout);
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        const double from = tt_model_ns(m, r->begin_ticks),
                     to = r->ended ? tt_model_ns(m, r->end_ticks) : from;
        if (i == 0 || from < out->from_ns) out->from_ns = from;
        if (i == 0 || to > out->to_ns) out->to_ns = to;
    }
    /* A trace without an observed end still has a width. */
    if (out->to_ns <= out->from_ns) out->to_ns = out->from_ns + 1e9;
    if (out->to_bytes == 0) out->to_bytes = 1;
    return TT_OK;
}

/* --- what each access gets of its op's faults --- */

uint64_t tt_reading_share(const tt_model *m, const tt_reading *r, size_t i, uint64_t total)
{
    const tt_graph *g = &m->graphs[r->op->run->graph];
    uint64_t before[2] = {0}, all[2] = {0};
    for (size_t k = 0; k < r->n; k++) {
        const tt_access *a = &r->list[k];
        if (!tt_reads_counts(m, a)) continue;
        const bool mapped = !tt_reads_is_copied(g, a);
        if (k < i) {
            before[0] += a->size_bytes;
            before[1] += mapped ? a->size_bytes : 0;
        }
        all[0] += a->size_bytes;
        all[1] += mapped ? a->size_bytes : 0;
    }
    if (all[1] > 0 && tt_reads_is_copied(g, &r->list[i])) return 0;
    const bool by = all[1] > 0;
    return tt_faults_share(total, before[by], r->list[i].size_bytes, all[by]);
}

/* --- the walk --- */

typedef struct walk {
    const tt_model *m;
    const tt_path_query *query;
    tt_path *path;
    uint64_t *layout; /* of the files */
    bool has_last;
    tt_heat_location last;
    bool listed, failed;
} walk;

/* The cells that [from, to) is in, of n that divide [begin, end): the first one, and their
 * number. */
static uint32_t cells_of(double from, double to, double begin, double end, uint32_t n,
                         uint32_t *count)
{
    const double each = (end - begin) / n;
    double first = floor((from - begin) / each), last = ceil((to - begin) / each);
    first = fmin(fmax(first, 0), n - 1);
    last = fmin(fmax(last, first + 1), n);
    *count = (uint32_t)(last - first);
    return (uint32_t)first;
}

static void add_to_cell(tt_path_cell *c, const tt_path_read *r, bool prompt, uint64_t before,
                        uint64_t bytes)
{
    c->reads++;
    c->prompt += prompt;
    c->copied += r->copied;
    c->read_bytes += bytes;
    tt_amount major = r->major_faults, minor = r->minor_faults;
    major.value = tt_faults_share(major.value, before, bytes, r->size_bytes);
    minor.value = tt_faults_share(minor.value, before, bytes, r->size_bytes);
    tt_amount_add(&c->major_faults, major);
    tt_amount_add(&c->minor_faults, minor);
}

/* Into the cells of its begin and of its offsets: how long it took is not to be seen at that
 * scale. */
static void add_to_grid(walk *q, const tt_path_read *r, bool prompt)
{
    tt_path *p = q->path;
    const tt_path_window *w = &p->window;
    const double begin = (double)w->from_bytes, end = (double)w->to_bytes,
                 each = (end - begin) / p->rows;
    uint32_t one, n;
    const uint32_t column =
        cells_of(r->start_ns, r->start_ns, w->from_ns, w->to_ns, p->columns, &one);
    const uint32_t row =
        cells_of((double)r->offset_bytes, (double)(r->offset_bytes + r->size_bytes), begin, end,
                 p->rows, &n);
    for (uint32_t i = row; i < row + n; i++) {
        uint64_t from = (uint64_t)ceil(begin + i * each),
                 to = (uint64_t)ceil(begin + (i + 1) * each);
        if (from < r->offset_bytes) from = r->offset_bytes;
        if (i == p->rows - 1 && to > w->to_bytes) to = w->to_bytes;
        if (to > r->offset_bytes + r->size_bytes) to = r->offset_bytes + r->size_bytes;
        if (from < to)
            add_to_cell(&p->cells[(size_t)i * p->columns + column], r, prompt,
                        from - r->offset_bytes, to - from);
    }
    p->steps[column].kinds[r->step]++;
}

static bool add_to_list(walk *q, const tt_path_read *r)
{
    tt_path *p = q->path;
    if (!q->listed) return true;
    if (p->n >= q->query->reads_max) {
        q->listed = false;
        return true;
    }
    tt_path_read *one = tt_array_add(p->list, p->n, p->capacity);
    if (one) *one = *r;
    return one != NULL;
}

static enum tt_heat_step_kind step_to(walk *q, const tt_access *a)
{
    const tt_heat_location next = {.file = q->m->weights[a->weight].file,
                                   .begin = a->offset_bytes,
                                   .end = a->offset_bytes + a->size_bytes};
    const enum tt_heat_step_kind kind =
        q->has_last ? tt_heat_step_kind_of(&q->last, &next) : TT_HEAT_STEP_FIRST;
    q->last = next;
    q->has_last = true;
    return kind;
}

/* False if out of memory. */
static bool add(walk *q, const tt_reading *reading, size_t i, const tt_path_read *times)
{
    const tt_access *a = &reading->list[i];
    const tt_path_window *w = &q->path->window;
    tt_path_read r = *times;
    tt_path *p = q->path;
    r.step = (uint8_t)step_to(q, a);
    r.weight = a->weight;
    r.expert = a->expert;
    r.copied = tt_reads_is_copied(&q->m->graphs[reading->op->run->graph], a);
    r.offset_bytes = q->layout[q->m->weights[a->weight].file] + a->offset_bytes;
    r.size_bytes = a->size_bytes;
    const uint64_t from = r.offset_bytes > w->from_bytes ? r.offset_bytes : w->from_bytes,
                   end = r.offset_bytes + r.size_bytes, to = end < w->to_bytes ? end : w->to_bytes;
    /* Those that ended before the window are only walked for the step to the next one. */
    if (r.end_ns < w->from_ns || from >= to) return true;
    r.major_faults =
        tt_amount_of(reading->faults_known, tt_reading_share(q->m, reading, i, reading->major));
    r.minor_faults =
        tt_amount_of(reading->faults_known, tt_reading_share(q->m, reading, i, reading->minor));
    const bool prompt = r.batch != TT_NONE && q->m->batches[r.batch].phase != TT_PHASE_GENERATE &&
                        q->m->batches[r.batch].phase != TT_PHASE_UNKNOWN;
    p->reads++;
    p->read_bytes += to - from;
    p->copied_bytes += r.copied ? to - from : 0;
    p->all_steps.kinds[r.step]++;
    add_to_grid(q, &r, prompt);
    return add_to_list(q, &r);
}

static bool visit(void *context, const tt_reading *reading)
{
    walk *q = context;
    const tt_log_op *op = reading->op;
    const uint64_t end =
        op->open || op->arrive_ticks < op->start_ticks ? op->start_ticks : op->arrive_ticks;
    const tt_path_read times = {.start_ns = tt_model_ns(q->m, op->start_ticks),
                                .end_ns = tt_model_ns(q->m, end),
                                .run = reading->run,
                                .node = op->op->node,
                                .batch = op->run->batch};
    for (size_t i = 0; i < reading->n && !q->failed; i++) {
        if (!tt_reads_counts(q->m, &reading->list[i]))
            q->path->impossible += reading->list[i].size_bytes > 0;
        else if (!tt_access_is_placed(&reading->list[i]))
            q->path->unplaced += times.end_ns >= q->path->window.from_ns;
        else
            q->failed = !add(q, reading, i, &times);
    }
    return !q->failed;
}

/* From the begin of the first run that overlaps the window: ops that began before it may end in
 * it. */
static double begin_before(const tt_model *m, double from_ns)
{
    double begin = from_ns;
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *r = &m->runs[i];
        const double from = tt_model_ns(m, r->begin_ticks);
        if (from < begin && (!r->ended || tt_model_ns(m, r->end_ticks) >= from_ns)) begin = from;
    }
    return begin;
}

tt_status tt_path_find(const tt_model *m, const tt_path_query *query, const tt_over *over,
                       tt_path *out, tt_error *err)
{
    memset(out, 0, sizeof *out);
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    *out = (tt_path){.window = query->window,
                     .columns = query->columns,
                     .rows = query->rows,
                     .faults = tt_model_has_faults(m)};
    walk q = {.m = m, .query = query, .path = out, .listed = query->reads_max > 0};
    const tt_filter filter = {.has_from = true,
                              .from_ns = begin_before(m, query->window.from_ns),
                              .has_to = true,
                              .to_ns = query->window.to_ns};
    const tt_reads_walker w = {.filter = &filter,
                               .faults = out->faults,
                               .visit = visit,
                               .context = &q,
                               .over = over ? *over : (tt_over){0}};
    out->cells = calloc((size_t)query->columns * query->rows, sizeof *out->cells);
    out->steps = calloc(query->columns, sizeof *out->steps);
    q.layout = tt_reads_layout(m, 1, NULL);
    if (!out->cells || !out->steps || !q.layout)
        status = tt_error_memory(err, "the order of reads");
    if (status == TT_OK) status = tt_reads_walk(m, &w, err);
    if (status == TT_OK && q.failed) status = tt_error_memory(err, "the order of reads");
    free(q.layout);
    if (q.listed && out->list) {
        free(out->cells);
        out->cells = NULL;
    } else {
        free(out->list);
        out->list = NULL;
        out->n = 0;
    }
    return status;
}

/* --- a part of a grid --- */

/* Cells first .. first + count - 1 of n, in groups of `each`, that hold [from, to). */
typedef struct part {
    uint32_t first, count, each;
} part;

static part part_of(double from, double to, double begin, double end, uint32_t n, uint32_t most)
{
    uint32_t count;
    const uint32_t first = cells_of(from, to, begin, end, n, &count), last = first + count;
    part p = {.each = (count + most - 1) / most};
    /* Groups begin at multiples, so that they do not change while the picture is panned; then one
     * more may be needed. */
    for (;; p.each++) {
        p.first = first - first % p.each;
        p.count = (last - p.first + p.each - 1) / p.each;
        if (p.count <= most) return p;
    }
}

static void add_cell(tt_path_cell *to, const tt_path_cell *from)
{
    to->reads += from->reads;
    to->read_bytes += from->read_bytes;
    to->prompt += from->prompt;
    to->copied += from->copied;
    tt_amount_add(&to->major_faults, from->major_faults);
    tt_amount_add(&to->minor_faults, from->minor_faults);
}

static void cut_row(const tt_path *whole, part x, uint32_t row, tt_path_cell *out)
{
    for (uint32_t i = 0; i < x.count * x.each && x.first + i < whole->columns; i++)
        add_cell(&out[i / x.each], &whole->cells[(size_t)row * whole->columns + x.first + i]);
}

bool tt_path_cut(const tt_path *whole, const tt_path_window *window, uint32_t columns,
                 uint32_t rows, tt_path *out)
{
    const tt_path_window *w = &whole->window;
    const part x =
        part_of(window->from_ns, window->to_ns, w->from_ns, w->to_ns, whole->columns, columns);
    const part y = part_of((double)window->from_bytes, (double)window->to_bytes,
                           (double)w->from_bytes, (double)w->to_bytes, whole->rows, rows);
    const double ns = (w->to_ns - w->from_ns) / whole->columns,
                 bytes = (double)(w->to_bytes - w->from_bytes) / whole->rows;
    *out = (tt_path){
        .columns = x.count, .rows = y.count, .unplaced = whole->unplaced, .faults = whole->faults};
    out->window =
        (tt_path_window){w->from_ns + x.first * ns, w->from_ns + (x.first + x.count * x.each) * ns,
                         w->from_bytes + (uint64_t)ceil(y.first * bytes),
                         w->from_bytes + (uint64_t)ceil((y.first + y.count * y.each) * bytes)};
    out->cells = calloc((size_t)x.count * y.count, sizeof *out->cells);
    if (!out->cells) return false;
    for (uint32_t i = 0; i < y.count * y.each && y.first + i < whole->rows; i++)
        cut_row(whole, x, y.first + i, &out->cells[(size_t)(i / y.each) * x.count]);
    for (uint32_t i = x.first; i < x.first + x.count * x.each && i < whole->columns; i++)
        for (size_t k = 0; k < TT_HEAT_STEPS; k++) {
            out->all_steps.kinds[k] += whole->steps[i].kinds[k];
            out->reads += whole->steps[i].kinds[k];
        }
    for (size_t i = 0; i < (size_t)x.count * y.count; i++)
        out->read_bytes += out->cells[i].read_bytes;
    return true;
}
