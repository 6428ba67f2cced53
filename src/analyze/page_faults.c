#include "analyze/page_faults.h"

#include "analyze/access.h"
#include "base/array.h"
#include "base/order.h"
#include "model/faults.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u /* of traces that do not say it */

/* --- which op --- */

static void note(tt_page_faults *f, uint32_t fault, uint32_t run, uint32_t node, uint32_t lane)
{
    if (f->places[fault].run == TT_NONE) f->places[fault] = (tt_fault_place){run, node, lane};
}

static void note_op(tt_page_faults *f, uint32_t run, const tt_piece_ops *p, size_t i,
                    bool by_thread, uint32_t thread)
{
    const tt_model *m = f->m;
    uint32_t at, end;
    if (by_thread) {
        tt_model_faults_between(m, thread, p->start[i], p->arrive[i], &at, &end);
        for (; at < end; at++)
            note(f, m->faults_by_thread[at].fault, run, p->node[i], p->lane);
        return;
    }
    tt_lower_bound(at, m->n_page_faults, m->page_faults[at].ticks < p->start[i]);
    for (; at < m->n_page_faults && m->page_faults[at].ticks <= p->arrive[i]; at++)
        note(f, at, run, p->node[i], p->lane);
}

static tt_status note_run(tt_page_faults *f, uint32_t run, tt_error *err)
{
    const tt_model *m = f->m;
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, m->runs[run].id, &pieces, &n, err);
    const bool by_thread = m->runs[run].observed != TT_OBSERVED_CALLBACK;
    for (size_t i = 0; status == TT_OK && i < n; i++) {
        tt_piece_ops p;
        uint32_t thread = 0;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status != TT_OK || p.open || p.n == 0) continue;
        if (by_thread && !tt_model_thread_of(m, p.stream, p.start[0], &thread)) continue;
        for (size_t r = 0; r < p.n; r++)
            note_op(f, run, &p, r, by_thread, thread);
    }
    return status;
}

uint64_t tt_page_faults_page_bytes(const tt_model *m)
{
    const char *text = tt_model_environment(m, "page_bytes");
    const uint64_t bytes = text ? strtoull(text, NULL, 10) : 0;
    return bytes == 0 || bytes & (bytes - 1) ? PAGE_BYTES : bytes;
}

tt_status tt_page_faults_find(tt_page_faults *f, const tt_model *m, tt_error *err)
{
    tt_status status = TT_OK;
    memset(f, 0, sizeof *f);
    f->m = m;
    f->page_bytes = tt_page_faults_page_bytes(m);
    f->places = malloc(((size_t)m->n_page_faults + 1) * sizeof *f->places);
    if (!f->places) return tt_error_memory(err, "the places of page faults");
    status = tt_weight_places_find(&f->weights, m, err);
    for (uint32_t i = 0; i < m->n_page_faults; i++)
        f->places[i].run = TT_NONE;
    for (uint32_t i = 0; i < m->n_runs && m->n_page_faults && status == TT_OK; i++)
        status = note_run(f, i, err);
    return status;
}

void tt_page_faults_free(tt_page_faults *f)
{
    free(f->places);
    tt_weight_places_free(&f->weights);
    memset(f, 0, sizeof *f);
}

tt_fault_target tt_page_faults_target(const tt_page_faults *f, uint32_t fault)
{
    const tt_model *m = f->m;
    const tt_page_fault *p = &m->page_faults[fault];
    tt_fault_target t = {
        .mapping = p->mapping, .file = TT_NONE, .weight = TT_NONE, .expert = TT_EXPERT_NONE};
    t.file = tt_model_fault_file(m, p, &t.file_offset_bytes);
    if (t.file == TT_NONE) return t;
    const tt_weight_place w = tt_weight_places_at(&f->weights, t.file, t.file_offset_bytes);
    t.weight = w.weight;
    t.weight_offset_bytes = w.offset_bytes;
    t.expert = w.expert;
    return t;
}

uint32_t tt_page_faults_batch(const tt_page_faults *f, uint32_t fault)
{
    const tt_model *m = f->m;
    if (f->places[fault].run != TT_NONE) return m->runs[f->places[fault].run].batch;
    return tt_model_batch_at(m, m->page_faults[fault].ticks);
}

const char *tt_page_faults_path(const tt_page_faults *f, uint32_t mapping)
{
    return mapping == TT_MAPPING_NONE ? NULL : f->m->mappings[mapping].path;
}

/* --- sums --- */

bool tt_page_faults_passes(const tt_page_faults *f, const tt_filter *filter, uint32_t fault)
{
    const tt_model *m = f->m;
    if (!tt_filter_time(filter, tt_model_ns(m, m->page_faults[fault].ticks)) ||
        !tt_filter_batch(filter, m, tt_page_faults_batch(f, fault)))
        return false;
    if (!filter->has_layer && !filter->tensor) return true;
    const uint32_t weight = tt_page_faults_target(f, fault).weight;
    const tt_weight *w = weight == TT_NONE ? NULL : &m->weights[weight];
    return w && (!filter->has_layer || w->place.layer_id == filter->layer) &&
           (!filter->tensor || fnmatch(filter->tensor, w->name, 0) == 0);
}

typedef struct known_page {
    uint64_t address;
    uint32_t mapping;
    uint32_t at; /* in the list */
} known_page;

/* Pages that are the same come together when sorted; the list is in the order of first faults. */
TT_ORDER_BY(by_page, known_page, mapping, address, at)

static void add(tt_page_faults const *f, tt_fault_page *p, uint32_t fault)
{
    const tt_page_fault *now = &f->m->page_faults[fault];
    p->last_ns = tt_model_ns(f->m, now->ticks);
    if (p->total == 0) p->first_ns = p->last_ns;
    p->total++;
    p->major += now->major;
    p->minor += !now->major;
    p->in_ops += f->places[fault].run != TT_NONE;
}

static tt_fault_page page_of(const tt_page_faults *f, tt_fault_pages_by by, uint32_t fault,
                             const tt_fault_target *t)
{
    const tt_model *m = f->m;
    tt_fault_page p = {.first = *t,
                       .address = m->page_faults[fault].address & ~(f->page_bytes - 1),
                       .first_batch = tt_page_faults_batch(f, fault),
                       .path = tt_page_faults_path(f, t->mapping),
                       .tensor = t->weight == TT_NONE ? NULL : m->weights[t->weight].name};
    if (by == TT_FAULT_PAGES_BY_PAGE) return p;
    p.address = 0;
    p.tensor = NULL;
    p.first.weight = TT_NONE;
    p.first.expert = TT_EXPERT_NONE;
    p.first.file_offset_bytes = 0;
    return p;
}

static int by_path(const void *a, const void *b, void *context)
{
    const tt_model *m = context;
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    int order = strcmp(m->mappings[x].path, m->mappings[y].path);
    return order ? order : tt_order(x, y);
}

/* For each mapping the first of that path: a file is mapped piece by piece. NULL without memory. */
static uint32_t *first_mappings(const tt_model *m)
{
    const size_t n = (size_t)m->n_mappings + 1;
    uint32_t *order = malloc(n * sizeof *order), *first = malloc(n * sizeof *first);
    for (uint32_t i = 0; order && i < m->n_mappings; i++)
        order[i] = i;
    if (order && m->n_mappings) qsort_r(order, m->n_mappings, sizeof *order, by_path, (void *)m);
    for (uint32_t i = 0; order && first && i < m->n_mappings; i++) {
        const bool same =
            i > 0 && strcmp(m->mappings[order[i]].path, m->mappings[order[i - 1]].path) == 0;
        first[order[i]] = same ? first[order[i - 1]] : order[i];
    }
    if (!order) {
        free(first);
        return NULL;
    }
    free(order);
    return first;
}

/* Puts faults of one page together: those that pass, by page and time. */
static tt_status collect(const tt_page_faults *f, tt_fault_pages_by by, const tt_filter *filter,
                         known_page **keys, uint32_t *n, tt_error *err)
{
    const tt_model *m = f->m;
    uint32_t *first = first_mappings(m);
    *n = 0;
    *keys = malloc(((size_t)m->n_page_faults + 1) * sizeof **keys);
    if (!*keys || !first) {
        free(*keys);
        free(first);
        return tt_error_memory(err, "page faults");
    }
    for (uint32_t i = 0; i < m->n_page_faults; i++) {
        if (!tt_page_faults_passes(f, filter, i)) continue;
        const tt_fault_target t = tt_page_faults_target(f, i);
        const tt_fault_page p = page_of(f, by, i, &t);
        const bool whole = by == TT_FAULT_PAGES_BY_MAPPING && t.mapping != TT_MAPPING_NONE;
        (*keys)[(*n)++] = (known_page){p.address, whole ? first[t.mapping] : t.mapping, i};
    }
    free(first);
    if (*n) qsort(*keys, *n, sizeof **keys, by_page);
    return TT_OK;
}

static int by_first(const void *a, const void *b)
{
    const tt_fault_page *x = a, *y = b;
    return tt_order(x->key, y->key);
}

tt_status tt_fault_pages_sum(const tt_page_faults *f, tt_fault_pages_by by, const tt_filter *filter,
                             tt_fault_page **pages, size_t *n, tt_error *err)
{
    known_page *keys;
    uint32_t n_keys;
    size_t capacity = 0;
    *pages = NULL;
    *n = 0;
    tt_status status = tt_model_need_clock(f->m, err);
    if (status == TT_OK) status = collect(f, by, filter, &keys, &n_keys, err);
    if (status != TT_OK) return status;
    for (uint32_t i = 0; i < n_keys && status == TT_OK; i++) {
        const bool same = i > 0 && keys[i].mapping == keys[i - 1].mapping &&
                          keys[i].address == keys[i - 1].address;
        if (!same) {
            const tt_fault_target t = tt_page_faults_target(f, keys[i].at);
            tt_fault_page *p = tt_array_add(*pages, *n, capacity);
            if (p) *p = page_of(f, by, keys[i].at, &t);
            if (p) p->key = keys[i].at;
            if (!p) status = tt_error_memory(err, "pages");
        }
        if (status == TT_OK) add(f, &(*pages)[*n - 1], keys[i].at);
    }
    free(keys);
    if (*n) qsort(*pages, *n, sizeof **pages, by_first);
    return status;
}

/* --- columns --- */

#define BY(what) (uint8_t)(1u << TT_FAULT_PAGES_BY_##what)
#define COUNT(a) (sizeof(a) / sizeof *(a))

TT_COLUMN_KNOWN(has_path, tt_fault_page, r, r->path != NULL)
TT_COLUMN_KNOWN(has_tensor, tt_fault_page, r, r->tensor != NULL)
TT_COLUMN_SHOW(show_path, tt_fault_page, r, tt_cell_text_copy(out, room, r->path ? r->path : "-");)
TT_COLUMN_SHOW(show_tensor, tt_fault_page, r,
               if (r->tensor) tt_cell_text_copy(out, room, r->tensor);)
TT_COLUMN_SHOW(show_first, tt_fault_page, r, (void)snprintf(out, room, "%.3f", r->first_ns / 1e6);)
TT_COLUMN_SHOW(show_address, tt_fault_page, r, (void)snprintf(out, room, "0x%" PRIx64, r->address);)

static bool in_file(const void *context, const void *row)
{
    const tt_page_faults *f = context;
    const tt_fault_page *p = row;
    return p->first.mapping != TT_MAPPING_NONE && f->m->mappings[p->first.mapping].inode != 0;
}

static void get_offset(const void *context, const void *row, tt_cell *cell)
{
    const tt_fault_page *p = row;
    const tt_page_faults *f = context;
    cell->known = in_file(context, row);
    if (cell->known) cell->u64 = p->first.file_offset_bytes & ~(f->page_bytes - 1);
}

TT_COLUMN_GET(get_expert, tt_fault_page, r, cell->known = r->first.expert != TT_EXPERT_NONE;
              if (cell->known) cell->i64 = r->first.expert;)

static void get_batch(const void *context, const void *row, tt_cell *cell)
{
    const tt_page_faults *f = context;
    const tt_fault_page *p = row;
    cell->known = p->first_batch != TT_NONE;
    if (cell->known) cell->u64 = tt_model_batch_number(f->m, p->first_batch);
}

static const tt_column columns[] = {
    TT_COLUMN("mapping", "MEMORY", NONE, "the mapped file, or the kind of memory; null: unknown",
              .nullable = true, .show = TT_SHOW_CUT | TT_SHOW_KEY, .known = has_path,
              TT_MEMBER(tt_fault_page, path), .text = show_path),
    TT_COLUMN("address", "ADDRESS", ID, "address of the page",
              .show = TT_SHOW_RIGHT | TT_SHOW_ROW | TT_SHOW_WIDE, .kinds = BY(PAGE),
              TT_MEMBER(tt_fault_page, address), .text = show_address),
    TT_COLUMN("file_offset_bytes", "OFFSET", ID, "offset of the page in the mapped file",
              .type = TT_CELL_U64, .nullable = true, .show = TT_SHOW_ROW, .kinds = BY(PAGE),
              .get = get_offset),
    TT_COLUMN("tensor", "TENSOR", NONE, "weight at the address of the page's first fault",
              .nullable = true, .show = TT_SHOW_CUT | TT_SHOW_ROW, .kinds = BY(PAGE),
              .known = has_tensor, TT_MEMBER(tt_fault_page, tensor), .text = show_tensor),
    TT_COLUMN("expert_id", "EXPERT", ID, "expert, if the weight is a tensor of experts",
              .type = TT_CELL_I32, .nullable = true, .show = TT_SHOW_KNOWN | TT_SHOW_ROW,
              .kinds = BY(PAGE), .get = get_expert),
    TT_COLUMN("faults", "FAULTS", COUNT, "number of faults, minor and major",
              TT_MEMBER(tt_fault_page, total)),
    TT_COLUMN("minor_faults", "MINOR", COUNT, "faults that did not wait for a device",
              .show = TT_SHOW_WIDEST, TT_MEMBER(tt_fault_page, minor)),
    TT_COLUMN("major_faults", "MAJOR", COUNT, "faults that waited for a device",
              TT_MEMBER(tt_fault_page, major)),
    TT_COLUMN("in_ops", "IN OPS", COUNT, "faults of threads computing an op",
              TT_MEMBER(tt_fault_page, in_ops)),
    TT_COLUMN("first_batch_id", "BATCH", ID, "batch of the first fault; null: outside any",
              .type = TT_CELL_U32, .nullable = true, .show = TT_SHOW_DASH | TT_SHOW_ROW,
              .get = get_batch),
    TT_COLUMN("first_relative_ns", "FIRST ms", MOMENT,
              "time of the first fault, since the begin of the first batch", .show = TT_SHOW_ROW,
              TT_MEMBER(tt_fault_page, first_ns), .text = show_first),
    TT_COLUMN("last_relative_ns", NULL, MOMENT, "time of the last fault", .show = TT_SHOW_ROW,
              TT_MEMBER(tt_fault_page, last_ns)),
};

const tt_schema tt_fault_pages_schema = {"pages", "pages that faulted", columns, COUNT(columns)};

tt_rowset tt_fault_pages_rowset(const tt_page_faults *f, tt_fault_pages_by by,
                                const tt_fault_page *pages, size_t n)
{
    return TT_ROWSET(&tt_fault_pages_schema, 1u << by, f, pages, n);
}
