#include "analyze/faults.h"

#include "analyze/filter.h"
#include "analyze/kernel.h"
#include "analyze/ops.h"
#include "analyze/page_faults.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/order.h"
#include "base/saturate.h"
#include "model/faults.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_WEIGHT "(no weight)"

/* What the faults of an op are divided among: a row with its part of the op's accesses. */
typedef struct unit {
    uint32_t row;
    bool is_read;        /* by the op; else it only has faults in it */
    uint64_t size_bytes; /* of its accesses */
    uint64_t minor, major;
} unit;

/* A weight that the op reads. */
typedef struct source {
    uint32_t weight;
    tt_origin origin;
    uint64_t slice_bytes; /* of an expert; 0: all of the weight is one row */
} source;

struct tt_faults {
    const tt_model *m;
    tt_faults_by by;
    tt_filter filter;
    tt_kernel *kernel;
    tt_faults_row *rows;
    size_t n_rows, rows_capacity;
    tt_idmap row_of_key;
    tt_arena keys;
    tt_faults_row total;
    tt_fault_counts batches;
    unit *units; /* of the current op */
    uint32_t n_units;
    size_t units_capacity;
    source sources[TT_SRC_MAX]; /* likewise */
    uint32_t n_sources;
    tt_weight_locations places;
    uint64_t *file_base; /* each file's offset in the sequence of all files */
    uint32_t last_run;
    tt_over over;
    uint64_t orphan;
    bool failed;
    bool one; /* only this op: */
    uint32_t run, node;
};

tt_faults *tt_faults_new(const tt_model *m, tt_faults_by by, const tt_filter *filter)
{
    tt_faults *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    *f = (tt_faults){.m = m, .by = by, .filter = *filter, .last_run = TT_NONE};
    f->total = (tt_faults_row){.key = "all", .number = -1, .weight = TT_NONE};
    tt_arena_init(&f->keys, TT_MODEL_MEMORY_MAX);
    f->kernel = tt_kernel_new(m);
    const tt_status placed = tt_weight_locations_find(&f->places, m, NULL);
    f->file_base = calloc((size_t)m->n_files + 1, sizeof *f->file_base);
    if (placed != TT_OK || !f->kernel || !f->file_base) {
        tt_faults_free(f);
        return NULL;
    }
    for (uint32_t i = 0; i < m->n_files; i++)
        if (__builtin_add_overflow(f->file_base[i], m->files[i].size_bytes, &f->file_base[i + 1]))
            f->file_base[i + 1] = UINT64_MAX;
    return f;
}

static void used_free(tt_used *u)
{
    tt_ranges_free(&u->placed);
    tt_ranges_free(&u->spans);
}

/* An access, from `begin` on in the sequence of all files. */
static void used_add(tt_used *u, const tt_access *a, uint64_t begin)
{
    const bool placed = tt_access_is_placed(a);
    tt_ranges_add(placed ? &u->placed : &u->spans, begin, begin + a->span_bytes);
    if (!placed) u->unplaced_bytes = tt_plus(u->unplaced_bytes, a->size_bytes);
}

/* Their number, or if some were unplaced the most that it can be; the ranges are freed. False if
 * out of memory. */
static bool used_total(tt_used *u, uint64_t *bytes)
{
    tt_ranges_merge(&u->placed);
    const uint64_t all = tt_plus(tt_ranges_total(&u->placed), u->unplaced_bytes);
    for (size_t i = 0; i < u->placed.n; i++)
        tt_ranges_add(&u->spans, u->placed.list[i].begin, u->placed.list[i].end);
    tt_ranges_merge(&u->spans);
    const uint64_t most = tt_ranges_total(&u->spans);
    const bool ok = !u->placed.failed && !u->spans.failed;
    *bytes = most < all ? most : all;
    used_free(u);
    return ok;
}

static void free_row(tt_faults_row *r)
{
    tt_ranges_free(&r->batches);
    used_free(&r->used);
    used_free(&r->mapped);
}

void tt_faults_free(tt_faults *f)
{
    if (!f) return;
    for (size_t i = 0; i < f->n_rows; i++)
        free_row(&f->rows[i]);
    free_row(&f->total);
    free(f->rows);
    free(f->units);
    free(f->file_base);
    tt_weight_locations_free(&f->places);
    tt_idmap_free(&f->row_of_key);
    tt_arena_free(&f->keys);
    tt_kernel_free(f->kernel);
    free(f);
}

typedef struct looked_for {
    const tt_faults *f;
    const char *text;
    int64_t number;
    uint32_t weight;
    tt_origin origin;
} looked_for;

static bool is_row(const void *context, uint32_t row)
{
    const looked_for *l = context;
    const tt_faults_row *r = &l->f->rows[row];
    return r->number == l->number && r->weight == l->weight && r->origin == l->origin &&
           strcmp(r->key, l->text) == 0;
}

/* TT_NONE: there is none yet, and *key would be its. */
static uint32_t find_row(const tt_faults *f, const char *text, int64_t number, uint32_t weight,
                         tt_origin origin, uint64_t *key)
{
    const looked_for l = {f, text, number, weight, origin};
    *key = tt_hash_mix(tt_checksum(text, strlen(text)) + weight + ((uint64_t)origin << 32),
                       (uint64_t)number);
    return tt_idmap_find(&f->row_of_key, key, is_row, &l);
}

/* The row of that text, made on demand; NULL if out of memory. The text is copied. Weights of the
 * same name have a row each (TT_NONE: no weight), and one per origin; experts likewise. */
static tt_faults_row *row_of(tt_faults *f, const char *text, int64_t number, uint32_t weight,
                             tt_origin origin)
{
    uint64_t key;
    uint32_t was = find_row(f, text, number, weight, origin, &key);
    if (was != TT_NONE) return &f->rows[was];
    if (!tt_array_one_more(f->rows, f->n_rows, f->rows_capacity) || f->n_rows >= TT_NONE ||
        !tt_idmap_add(&f->row_of_key, key, (uint32_t)f->n_rows, &was)) {
        f->failed = true;
        return NULL;
    }
    const char *copy = tt_arena_text(&f->keys, text, strlen(text));
    f->failed |= !copy;
    f->rows[f->n_rows] = (tt_faults_row){
        .key = copy ? copy : "", .number = number, .weight = weight, .origin = origin};
    return &f->rows[f->n_rows++];
}

static const char *text_of_number(char text[24], int64_t number)
{
    (void)snprintf(text, 24, number < 0 ? "-" : "%" PRId64, number);
    return text;
}

static tt_faults_row *numbered_row(tt_faults *f, int64_t number)
{
    char text[24];
    return row_of(f, text_of_number(text, number), number < 0 ? -1 : number, TT_NONE,
                  TT_ORIGIN_UNKNOWN);
}

static tt_faults_row *named_row(tt_faults *f, const char *name)
{
    return row_of(f, name, -1, TT_NONE, TT_ORIGIN_UNKNOWN);
}

/* --- the content of a row --- */

static void add_counts(tt_fault_counts *sum, const tt_fault_counts *c)
{
    sum->observed += c->observed;
    sum->minor += c->minor;
    sum->major += c->major;
    sum->cpu_ns += c->cpu_ns;
    sum->observed_cpu += c->observed_cpu;
    sum->read_bytes += c->read_bytes;
    sum->observed_reads += c->observed_reads;
}

uint64_t tt_faults_share(uint64_t total, uint64_t before, uint64_t size, uint64_t all)
{
    if (all == 0) return before == 0 ? total : 0;
    unsigned __int128 to = (unsigned __int128)total * (before + size) / all;
    return (uint64_t)(to - (unsigned __int128)total * before / all);
}

static tt_fault_counts share_counts(const tt_fault_counts *c, uint64_t before, uint64_t size,
                                    uint64_t all)
{
    return (tt_fault_counts){
        .observed = c->observed,
        .minor = tt_faults_share(c->minor, before, size, all),
        .major = tt_faults_share(c->major, before, size, all),
        .cpu_ns = tt_faults_share(c->cpu_ns, before, size, all),
        .observed_cpu = c->observed_cpu,
        .read_bytes = tt_faults_share(c->read_bytes, before, size, all),
        .observed_reads = c->observed_reads,
    };
}

/* An op, or its part for one weight or thread. */
typedef struct part {
    tt_fault_counts counts;
    uint64_t ticks;          /* of the op */
    uint64_t busy, busy_cpu; /* of the threads with both times and counters */
    bool read;
} part;

/* -1: none. */
static int64_t token_of(const tt_faults *f, uint32_t batch)
{
    return batch == TT_NONE ? -1 : (int64_t)tt_model_batch_number(f->m, batch);
}

/* Something of the row was read in the op. */
static void note_reading(const tt_faults *f, tt_faults_row *row, const tt_fault_op *op)
{
    const int64_t token = token_of(f, f->m->runs[op->run].batch);
    const uint64_t start = op->times->start;
    if (!row->first_known || start < row->first_ticks) row->first_ticks = start;
    if (!row->first_known || start > row->last_ticks) row->last_ticks = start;
    row->first_known = true;
    if (token >= 0) tt_ranges_add(&row->batches, (uint64_t)token, (uint64_t)token + 1);
}

static void add_part(tt_faults *f, tt_faults_row *row, const tt_fault_op *op, const part *p)
{
    row->count++;
    add_counts(&row->counts, &p->counts);
    row->busy_ticks += p->busy;
    row->busy_cpu_ns += p->busy_cpu;
    if (p->counts.observed) row->time_ticks += p->ticks;
    if (!p->read) return;
    row->reading_count++;
    row->reading_ticks += p->ticks;
    note_reading(f, row, op);
}

bool tt_fault_op_maps(const tt_fault_op *op, const tt_access *a)
{
    return op->op->graph->tensors[a->tensor].origin != TT_ORIGIN_BUFFER;
}

static void add_access(tt_faults *f, tt_faults_row *row, const tt_fault_op *op, const tt_access *a)
{
    const tt_weight *w = &f->m->weights[a->weight];
    uint64_t begin, end;
    row->accessed_bytes += a->size_bytes;
    row->at_most |= a->at_most;
    row->unplaced |= !tt_access_is_placed(a);
    if (w->file >= f->m->n_files ||
        __builtin_add_overflow(f->file_base[w->file], a->offset_bytes, &begin) ||
        __builtin_add_overflow(begin, a->span_bytes, &end))
        return;
    used_add(&row->used, a, begin);
    if (tt_fault_op_maps(op, a)) used_add(&row->mapped, a, begin);
}

static part whole_op(const tt_fault_op *op)
{
    part p = {.counts = op->counts,
              .ticks = op->times->open ? 0 : tt_joined_ticks(op->times),
              .read = tt_fault_op_read(op)};
    for (size_t i = 0; i < op->n_details; i++) {
        if (op->busy[i] == TT_FAULTS_NO_TIME || op->details[i].faults.cpu_ns == TT_FAULTS_NO_CPU)
            continue;
        p.busy += op->busy[i];
        p.busy_cpu += op->details[i].faults.cpu_ns;
    }
    return p;
}

static void add_op(tt_faults *f, tt_faults_row *row, const tt_fault_op *op, const part *p)
{
    if (!row) return;
    add_part(f, row, op, p);
    for (size_t i = 0; i < op->n_accesses; i++)
        add_access(f, row, op, &op->accesses[i]);
}

/* --- by tensor, by expert --- */

/* Whether both are of one row. */
static bool same_unit(const tt_faults *f, const tt_access *a, const tt_access *b)
{
    return a->weight == b->weight && a->tensor == b->tensor &&
           (f->by != TT_FAULTS_BY_EXPERT || a->expert == b->expert);
}

/* How the counts of an op are divided among what it accessed. */
typedef struct sharing {
    bool by_mapped;       /* by bytes in mappings, or by all bytes if there are none */
    uint64_t all, before; /* of these */
    bool by_address;      /* of each fault it is known where it was ... */
    uint64_t major;       /* ... of all these, which share the bytes read */
    uint64_t major_before;
    tt_fault_counts rest; /* nobody's yet */
} sharing;

static bool has_addresses(const tt_faults *f, const tt_fault_op *op)
{
    if (f->m->n_fault_spans == 0 || op->n_details == 0) return false;
    for (size_t i = 0; i < op->n_details; i++) {
        const tt_fault_lane *l = &op->lanes[i];
        if (!l->known || !tt_model_faults_known(f->m, l->first, l->last)) return false;
    }
    return true;
}

static sharing sharing_of(const tt_faults *f, const tt_fault_op *op)
{
    sharing s = {.by_address = has_addresses(f, op), .rest = op->counts};
    for (size_t i = 0; i < op->n_accesses; i++)
        if (tt_fault_op_maps(op, &op->accesses[i])) s.all += op->accesses[i].size_bytes;
    s.by_mapped = s.all > 0;
    if (!s.by_mapped) s.all = op->accessed_bytes;
    return s;
}

static void take(uint64_t *of, uint64_t n)
{
    *of = *of > n ? *of - n : 0;
}

/* The unit of the current op that is of this row. */
static unit *find_unit(const tt_faults *f, uint32_t row)
{
    const uint32_t at = f->rows[row].unit;
    return at < f->n_units && f->units[at].row == row ? &f->units[at] : NULL;
}

/* Made on demand; NULL if out of memory. Valid until the next one. */
static unit *unit_of(tt_faults *f, uint32_t weight, int64_t number, tt_origin origin)
{
    tt_faults_row *row = row_of(f, f->m->weights[weight].name, number, weight, origin);
    if (!row) return NULL;
    const uint32_t at = (uint32_t)(row - f->rows);
    unit *known = find_unit(f, at);
    if (known) return known;
    if (!tt_array_one_more(f->units, f->n_units, f->units_capacity)) {
        f->failed = true;
        return NULL;
    }
    row->unit = f->n_units;
    f->units[f->n_units] = (unit){.row = at};
    return &f->units[f->n_units++];
}

/* What the op reads, by row. */
static void add_accesses(tt_faults *f, const tt_fault_op *op, const sharing *s)
{
    unit *u = NULL;
    f->n_units = f->n_sources = 0;
    for (size_t i = 0; i < op->n_accesses; i++) {
        const tt_access *a = &op->accesses[i];
        /* Reads from a mapped file and from a copy of it are separate: only the former can fault.
         */
        const tt_origin origin = op->op->graph->tensors[a->tensor].origin;
        if (i == 0 || a->tensor != op->accesses[i - 1].tensor) {
            source from = {a->weight, origin, 0};
            if (f->by == TT_FAULTS_BY_EXPERT && a->expert != TT_EXPERT_NONE)
                from.slice_bytes = a->span_bytes;
            if (f->n_sources < TT_SRC_MAX) f->sources[f->n_sources++] = from;
        }
        if (i == 0 || !same_unit(f, a, &op->accesses[i - 1]))
            u = unit_of(f, a->weight, f->by == TT_FAULTS_BY_EXPERT ? a->expert : -1, origin);
        if (!u) return;
        u->is_read = true;
        if (!s->by_mapped || tt_fault_op_maps(op, a)) u->size_bytes += a->size_bytes;
        add_access(f, &f->rows[u->row], op, a);
    }
}

/* What has the fault at a byte of a file: the weight or expert that the op reads, or whatever is
 * there. NULL: no weight. */
static unit *unit_at(tt_faults *f, uint32_t file, uint64_t offset)
{
    tt_weight_location at = {.weight = TT_NONE};
    uint64_t key;
    for (uint32_t i = 0; i < f->n_sources && at.weight == TT_NONE; i++) {
        const source *from = &f->sources[i];
        const tt_weight *w = &f->m->weights[from->weight];
        if (w->file != file || offset < w->offset_bytes ||
            offset - w->offset_bytes >= w->size_bytes)
            continue;
        at = (tt_weight_location){from->weight, offset - w->offset_bytes, TT_EXPERT_NONE};
        /* If no experts are known, all of the weight is read. */
        if (from->slice_bytes) at.expert = (int32_t)(at.offset_bytes / from->slice_bytes);
        const uint32_t row = find_row(f, w->name, at.expert, from->weight, from->origin, &key);
        unit *u = row == TT_NONE ? NULL : find_unit(f, row);
        if (u) return u;
    }
    if (at.weight == TT_NONE) {
        at = tt_weight_locations_at(&f->places, file, offset);
        if (f->by != TT_FAULTS_BY_EXPERT) at.expert = TT_EXPERT_NONE;
    }
    return at.weight == TT_NONE ? NULL : unit_of(f, at.weight, at.expert, TT_ORIGIN_FILE);
}

/* Gives each of the op's faults to its unit. */
static void place_faults(tt_faults *f, const tt_fault_op *op, sharing *s)
{
    const tt_model *m = f->m;
    for (size_t i = 0; i < op->n_details && !f->failed; i++) {
        const tt_fault_lane *l = &op->lanes[i];
        uint32_t at, last;
        tt_model_faults_between(m, l->thread, l->first, l->last, &at, &last);
        for (; at < last && !f->failed; at++) {
            const tt_page_fault *fault = &m->page_faults[m->faults_by_thread[at].fault];
            uint64_t offset;
            const uint32_t file = tt_model_fault_file(m, fault, &offset);
            unit *u = file == TT_NONE ? NULL : unit_at(f, file, offset);
            s->major += fault->major;
            if (u) *(fault->major ? &u->major : &u->minor) += 1;
        }
    }
}

/* The unit's part of the counts: faults by address, and the bytes read by where major faults were;
 * if there are no addresses (or no such faults), as of its size. */
static tt_fault_counts counts_of(const tt_fault_op *op, const unit *u, sharing *s)
{
    tt_fault_counts c = share_counts(&op->counts, s->before, u->size_bytes, s->all);
    if (!s->by_address) return c;
    c.minor = u->minor;
    c.major = u->major;
    if (s->major)
        c.read_bytes = tt_faults_share(op->counts.read_bytes, s->major_before, c.major, s->major);
    else if (!u->is_read)
        c.read_bytes = 0;
    s->major_before += c.major;
    take(&s->rest.minor, c.minor);
    take(&s->rest.major, c.major);
    take(&s->rest.read_bytes, c.read_bytes);
    return c;
}

static void add_unit(tt_faults *f, const tt_fault_op *op, const part *whole, const unit *u,
                     sharing *s)
{
    tt_faults_row *row = &f->rows[u->row];
    part p = *whole;
    p.counts = counts_of(op, u, s);
    if (!u->is_read) {
        /* Faults on weights and experts that the op does not read belong to them all the same. */
        p.counts.cpu_ns = p.counts.observed_cpu = 0;
        add_counts(&row->counts, &p.counts);
        if (u->major) note_reading(f, row, op);
        return;
    }
    p.busy = tt_faults_share(whole->busy, s->before, u->size_bytes, s->all);
    p.busy_cpu = tt_faults_share(whole->busy_cpu, s->before, u->size_bytes, s->all);
    p.read = p.counts.major > 0 || p.counts.read_bytes > 0;
    /* Faults by their addresses are nobody else's. */
    row->shared |= whole->counts.observed && u->size_bytes < s->all &&
                   (!s->by_address || whole->counts.observed_reads || whole->counts.observed_cpu);
    add_part(f, row, op, &p);
    s->before += u->size_bytes;
}

static void add_weights(tt_faults *f, const tt_fault_op *op, const part *whole)
{
    /* Sums that overflow are not of a real file. */
    if (op->accessed_bytes == UINT64_MAX) return;
    sharing s = sharing_of(f, op);
    add_accesses(f, op, &s);
    if (s.by_address) place_faults(f, op, &s);
    for (uint32_t i = 0; i < f->n_units && !f->failed; i++)
        add_unit(f, op, whole, &f->units[i], &s);
    /* The rest is in other memory: buffers, the stack, the program's own files. */
    if (op->n_accesses && (!s.by_address || s.rest.minor + s.rest.major == 0)) return;
    part rest = *whole;
    if (op->n_accesses) {
        s.rest.cpu_ns = s.rest.observed_cpu = 0;
        rest.busy = rest.busy_cpu = 0;
    }
    rest.counts = s.rest;
    rest.read = rest.counts.major > 0 || rest.counts.read_bytes > 0;
    tt_faults_row *row = row_of(f, NO_WEIGHT, -1, TT_NONE, TT_ORIGIN_UNKNOWN);
    if (row) add_part(f, row, op, &rest);
}

/* --- by thread --- */

static void add_threads(tt_faults *f, const tt_fault_op *op)
{
    for (size_t i = 0; i < op->n_details; i++) {
        const tt_detail_faults *d = &op->details[i].faults;
        const bool timed = op->busy[i] != TT_FAULTS_NO_TIME;
        const bool reads = d->read_bytes != UINT64_MAX, cpu = d->cpu_ns != TT_FAULTS_NO_CPU;
        part p = {.counts = {.observed = 1,
                             .minor = d->minor,
                             .major = d->major,
                             .cpu_ns = cpu ? d->cpu_ns : 0,
                             .observed_cpu = cpu,
                             .read_bytes = reads ? d->read_bytes : 0,
                             .observed_reads = reads},
                  .ticks = timed ? op->busy[i] : 0,
                  .busy = timed && cpu ? op->busy[i] : 0,
                  .busy_cpu = timed && cpu ? d->cpu_ns : 0,
                  .read = d->major > 0 || (reads && d->read_bytes > 0)};
        tt_faults_row *row = numbered_row(f, tt_detail_lane(&op->details[i]));
        if (row) add_part(f, row, op, &p);
    }
}

/* --- the walk --- */

static void finish_row(tt_faults *f, tt_faults_row *r)
{
    if (r->done) return;
    r->done = true;
    tt_ranges_merge(&r->batches);
    f->failed |= r->batches.failed;
    f->failed |= !used_total(&r->used, &r->used_bytes);
    f->failed |= !used_total(&r->mapped, &r->mapped_bytes);
    r->time_ns = tt_model_span_ns(f->m, r->time_ticks);
    r->reading_ns = tt_model_span_ns(f->m, r->reading_ticks);
    r->busy_ns = tt_model_span_ns(f->m, r->busy_ticks);
    r->first_ns = r->first_known ? tt_model_ns(f->m, r->first_ticks) : 0;
    r->last_ns = r->first_known ? tt_model_ns(f->m, r->last_ticks) : 0;
}

/* A token's row is complete after its last run: its set of bytes is not needed any more. */
static void finish_token(tt_faults *f, uint32_t next_run)
{
    const uint32_t run = f->last_run;
    f->last_run = next_run;
    if (f->by != TT_FAULTS_BY_BATCH || run == TT_NONE || run == next_run) return;
    const uint32_t batch = f->m->runs[run].batch;
    if (batch == TT_NONE || f->m->batches[batch].last_run != run) return;
    char text[24];
    uint64_t key;
    const int64_t number = token_of(f, batch);
    const uint32_t row =
        find_row(f, text_of_number(text, number), number, TT_NONE, TT_ORIGIN_UNKNOWN, &key);
    if (row != TT_NONE) finish_row(f, &f->rows[row]);
}

static bool add_visited(void *context, const tt_fault_op *op)
{
    tt_faults *f = context;
    const uint32_t batch = f->m->runs[op->run].batch;
    const part whole = whole_op(op);
    const char *path;
    finish_token(f, op->run);
    if (batch != TT_NONE && op->counts.observed) {
        tt_kernel_sum window;
        tt_kernel_batch(f->kernel, batch, &window);
        if (window.windows) add_counts(&f->batches, &op->counts);
    }
    if (!op->passes || (f->one && op->op->node != f->node)) return true;
    add_op(f, &f->total, op, &whole);
    switch (f->by) {
    case TT_FAULTS_BY_TENSOR:
    case TT_FAULTS_BY_EXPERT:
        add_weights(f, op, &whole);
        break;
    case TT_FAULTS_BY_BATCH:
        add_op(f, numbered_row(f, token_of(f, batch)), op, &whole);
        break;
    case TT_FAULTS_BY_LAYER:
        add_op(f, numbered_row(f, op->op->place.layer_id), op, &whole);
        break;
    case TT_FAULTS_BY_OP:
        add_op(f, named_row(f, op->op->op), op, &whole);
        break;
    case TT_FAULTS_BY_THREAD:
        add_threads(f, op);
        break;
    case TT_FAULTS_BY_MODEL:
        path = tt_model_path(f->m, op->op->graph->model);
        add_op(f, named_row(f, path ? path : "-"), op, &whole);
        break;
    case TT_FAULTS_BY_CONTEXT:
        add_op(f, numbered_row(f, batch == TT_NONE ? -1 : (int64_t)f->m->batches[batch].context),
               op, &whole);
        break;
    }
    return !f->failed;
}

void tt_faults_only(tt_faults *f, uint32_t run, uint32_t node)
{
    f->one = true;
    f->run = run;
    f->node = node;
}

void tt_faults_until(tt_faults *f, tt_over over)
{
    f->over = over;
}

static int by_key(const void *a, const void *b, void *context)
{
    const tt_faults_row *x = a, *y = b;
    const tt_model *m = context;
    if (x->weight != y->weight && x->weight != TT_NONE && y->weight != TT_NONE) {
        const tt_weight *w = &m->weights[x->weight], *z = &m->weights[y->weight];
        if (w->file != z->file) return w->file < z->file ? -1 : 1;
        if (w->offset_bytes != z->offset_bytes) return w->offset_bytes < z->offset_bytes ? -1 : 1;
    }
    if (x->weight != y->weight) return x->weight < y->weight ? -1 : 1;
    if (x->number != y->number) return x->number < y->number ? -1 : 1;
    return strcmp(x->key, y->key);
}

tt_status tt_faults_sum(tt_faults *f, tt_faults_progress *progress, void *context, tt_error *err)
{
    tt_faults_walker w = {.filter = &f->filter,
                          .visit = add_visited,
                          .progress = progress,
                          .context = f,
                          .progress_context = context,
                          .over = f->over,
                          .has_run = f->one,
                          .run = f->run};
    tt_status status = tt_faults_walk(f->m, &w, err);
    if (status != TT_OK) return status;
    f->orphan = w.orphan;
    finish_row(f, &f->total);
    for (size_t i = 0; i < f->n_rows; i++)
        finish_row(f, &f->rows[i]);
    if (f->n_rows) qsort_r(f->rows, f->n_rows, sizeof *f->rows, by_key, (void *)f->m);
    return f->failed ? tt_error_memory(err, "the sums of faults") : TT_OK;
}

double tt_faults_amplification(const tt_faults_row *r)
{
    if (r->counts.observed_reads == 0 || r->mapped_bytes == 0) return NAN;
    return (double)r->counts.read_bytes / (double)r->mapped_bytes;
}

double tt_faults_rate(const tt_faults_row *r)
{
    if (r->counts.observed_reads == 0 || r->counts.read_bytes == 0 || !(r->reading_ns > 0))
        return NAN;
    return (double)r->counts.read_bytes / r->reading_ns * 1e9;
}

double tt_faults_off_cpu_ns(const tt_faults_row *r)
{
    double cpu = (double)r->busy_cpu_ns;
    return r->busy_ns > cpu ? r->busy_ns - cpu : 0;
}

const tt_faults_row *tt_faults_rows(const tt_faults *f, size_t *n)
{
    *n = f->n_rows;
    return f->rows;
}

const tt_faults_row *tt_faults_total(const tt_faults *f)
{
    return &f->total;
}

const tt_fault_counts *tt_faults_batches(const tt_faults *f)
{
    return &f->batches;
}

uint64_t tt_faults_orphan(const tt_faults *f)
{
    return f->orphan;
}

#define PROGRESS_EVERY 64u

/* The FAULTS details of one run, by node and lane. */
typedef struct counted {
    tt_detail *details;
    uint64_t *busy;       /* for each: ticks, or TT_FAULTS_NO_TIME */
    tt_fault_lane *lanes; /* likewise */
    size_t n, capacity;
} counted;

typedef struct walk {
    const tt_model *m;
    tt_faults_walker *w;
    tt_join join;
    tt_accesses *accesses;
    tt_op_table *ops;
    tt_filter_ops passing;
    tt_slice_filter slices;
    uint8_t *verdicts; /* for the run's graph */
    counted counted;
    bool stopped;
} walk;

static int compare_place(const void *a, const void *b)
{
    const tt_detail *x = a, *y = b;
    if (tt_detail_node(x) != tt_detail_node(y))
        return tt_detail_node(x) < tt_detail_node(y) ? -1 : 1;
    return tt_detail_lane(x) < tt_detail_lane(y) ? -1 : tt_detail_lane(x) > tt_detail_lane(y);
}

static bool make_room(counted *c, size_t n)
{
    size_t had = c->capacity, also = c->capacity;
    return tt_array_room(c->details, had, n) && tt_array_room(c->lanes, also, n) &&
           tt_array_room(c->busy, c->capacity, n);
}

static tt_status load_details(walk *k, uint32_t run, tt_error *err)
{
    const tt_detail *list;
    size_t n;
    counted *c = &k->counted;
    tt_status status = tt_model_faults_of_run(k->m, run, &list, &n, err);
    c->n = 0;
    if (status != TT_OK) return status;
    if (!make_room(c, n)) return tt_error_memory(err, "a run's counters");
    for (size_t i = 0; i < n; i++) {
        c->busy[c->n] = TT_FAULTS_NO_TIME;
        c->lanes[c->n] = (tt_fault_lane){.thread = 0};
        c->details[c->n++] = list[i];
    }
    return TT_OK;
}

/* The time that each counted lane spent in its ops. */
static tt_status load_times(walk *k, uint32_t run_id, tt_error *err)
{
    counted *c = &k->counted;
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(k->m->pieces, run_id, &pieces, &n, err);
    for (size_t i = 0; status == TT_OK && c->n > 0 && i < n; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(k->m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        uint32_t thread = 0;
        if (p.open || p.n == 0) continue;
        bool known = tt_model_thread_of(k->m, p.stream, p.start[0], &thread);
        for (size_t r = 0; r < p.n; r++) {
            if (p.node[r] > TT_OPS_NODE_MAX || p.lane > TT_OPS_LANE_MAX) continue;
            const tt_detail key = {.place = tt_detail_place(p.node[r], p.lane, TT_DETAIL_FAULTS)};
            tt_detail *d = bsearch(&key, c->details, c->n, sizeof key, compare_place);
            if (!d || p.arrive[r] < p.start[r]) continue;
            c->busy[d - c->details] = p.arrive[r] - p.start[r];
            c->lanes[d - c->details] = (tt_fault_lane){known, thread, p.start[r], p.arrive[r]};
        }
    }
    return status;
}

/* The first detail of that node, or its insertion index. */
static size_t details_at(const counted *c, uint32_t node)
{
    size_t low;
    tt_lower_bound(low, c->n, tt_detail_node(&c->details[low]) < node);
    return low;
}

static void count(tt_fault_counts *sum, const tt_detail *d)
{
    const tt_detail_faults *f = &d->faults;
    sum->observed++;
    sum->minor += f->minor;
    sum->major += f->major;
    if (f->cpu_ns != TT_FAULTS_NO_CPU) {
        sum->observed_cpu++;
        sum->cpu_ns += f->cpu_ns;
    }
    if (f->read_bytes == UINT64_MAX) return;
    sum->observed_reads++;
    sum->read_bytes += f->read_bytes;
}

static tt_status visit_op(walk *k, uint32_t run, uint32_t node, size_t *matched, tt_error *err)
{
    const counted *c = &k->counted;
    const size_t at = details_at(c, node);
    tt_fault_op op = {.run = run,
                      .times = &k->join.ops[node],
                      .details = c->n ? c->details + at : NULL,
                      .busy = c->n ? c->busy + at : NULL,
                      .lanes = c->n ? c->lanes + at : NULL};
    while (at + op.n_details < c->n && tt_detail_node(&op.details[op.n_details]) == node)
        count(&op.counts, &op.details[op.n_details++]);
    *matched += op.n_details;
    op.op = tt_op_table_get(k->ops, k->m->runs[run].graph, node, op.times->covers);
    if (!op.op) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    op.passes =
        tt_filter_ops_pass(&k->passing, k->verdicts, k->m->runs[run].graph, node, op.times->covers);
    const tt_filter *f = k->w->filter;
    if (f->has_from || f->has_to)
        op.passes &= tt_filter_span(f, tt_model_ns(k->m, op.times->start),
                                    tt_model_ns(k->m, op.times->release));
    tt_status status = TT_OK;
    if (op.passes)
        status = tt_slice_filter_passes(&k->slices, run, node, op.times->covers, &op.passes, err);
    if (status == TT_OK)
        status = tt_accesses_of(k->accesses, op.op, &op.accesses, &op.n_accesses, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < op.n_accesses; i++)
        op.accessed_bytes = tt_plus(op.accessed_bytes, op.accesses[i].size_bytes);
    k->stopped = !k->w->visit(k->w->context, &op);
    return TT_OK;
}

static tt_status walk_run(walk *k, uint32_t run, tt_error *err)
{
    const uint32_t id = k->m->runs[run].id;
    size_t matched = 0;
    tt_status status = tt_join_run(&k->join, k->m, run, err);
    if (status == TT_OK) status = tt_accesses_run(k->accesses, run, err);
    if (status == TT_OK) status = load_details(k, run, err);
    if (k->join.n_touched) k->verdicts = tt_filter_ops_of(&k->passing, k->m->runs[run].graph);
    if (status == TT_OK && k->passing.failed)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    /* In callback mode the counters are the whole process's, so they have no thread's time. */
    if (status == TT_OK && k->m->runs[run].observed == TT_OBSERVED_HOOK)
        status = load_times(k, id, err);
    for (uint32_t i = 0; i < k->join.n_touched && status == TT_OK && !k->stopped; i++)
        status = visit_op(k, run, k->join.touched[i], &matched, err);
    if (!k->stopped) k->w->orphan += k->counted.n - matched;
    return status;
}

tt_status tt_faults_walk(const tt_model *m, tt_faults_walker *w, tt_error *err)
{
    walk k = {.m = m, .w = w, .accesses = tt_accesses_new(m), .ops = tt_op_table_new(m)};
    tt_status status = k.accesses && k.ops
                           ? tt_model_need_clock(m, err)
                           : tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    w->orphan = 0;
    k.passing = (tt_filter_ops){.m = m, .filter = w->filter};
    k.slices = tt_slice_filter_of(m, w->filter);
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK && !k.stopped; i++) {
        if ((!w->has_run || i == w->run) && tt_filter_run(w->filter, m, &m->runs[i]))
            status = walk_run(&k, i, err);
        if (w->progress && i % PROGRESS_EVERY == 0) w->progress(w->progress_context, i, m->n_runs);
        if (status == TT_OK && i % PROGRESS_EVERY == 0) status = tt_over_check(&w->over, err);
    }
    tt_join_free(&k.join);
    tt_accesses_free(k.accesses);
    tt_op_table_free(k.ops);
    tt_filter_ops_free(&k.passing);
    tt_slice_filter_free(&k.slices);
    free(k.counted.details);
    free(k.counted.busy);
    free(k.counted.lanes);
    return status;
}

bool tt_fault_op_read(const tt_fault_op *op)
{
    return op->counts.major > 0 || op->counts.read_bytes > 0;
}
