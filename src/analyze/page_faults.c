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

static int weights_by_place(const void *a, const void *b, void *context)
{
    const tt_model *m = context;
    const tt_weight *x = &m->weights[*(const uint32_t *)a], *y = &m->weights[*(const uint32_t *)b];
    int order = tt_order(x->file, y->file);
    return order ? order : tt_order(x->offset_bytes, y->offset_bytes);
}

tt_status tt_weight_locations_find(tt_weight_locations *p, const tt_model *m, tt_error *err)
{
    p->m = m;
    p->order = malloc(((size_t)m->n_weights + 1) * sizeof *p->order);
    if (!p->order) return tt_error_memory(err, "the places of weights");
    for (uint32_t i = 0; i < m->n_weights; i++)
        p->order[i] = i;
    if (m->n_weights)
        qsort_r(p->order, m->n_weights, sizeof *p->order, weights_by_place, (void *)m);
    return TT_OK;
}

void tt_weight_locations_free(tt_weight_locations *p)
{
    free(p->order);
    p->order = NULL;
}

static int32_t expert_at(const tt_weight *w, uint64_t offset)
{
    if (w->n_dims != 3 || w->ne[2] < 2 || w->ne[2] > INT32_MAX || !strstr(w->name, "_exps"))
        return TT_EXPERT_NONE;
    const uint64_t slice = w->size_bytes / w->ne[2];
    return slice && offset / slice < w->ne[2] ? (int32_t)(offset / slice) : TT_EXPERT_NONE;
}

tt_weight_location tt_weight_locations_at(const tt_weight_locations *p, uint32_t file,
                                          uint64_t file_offset_bytes)
{
    const tt_model *m = p->m;
    tt_weight_location found = {.weight = TT_NONE, .expert = TT_EXPERT_NONE};
    uint32_t at;
    /* The weight with the last start at or before that offset. */
    tt_lower_bound(at, m->n_weights,
                   m->weights[p->order[at]].file < file ||
                       (m->weights[p->order[at]].file == file &&
                        m->weights[p->order[at]].offset_bytes <= file_offset_bytes));
    if (at == 0) return found;
    const tt_weight *w = &m->weights[p->order[at - 1]];
    if (w->file != file || file_offset_bytes - w->offset_bytes >= w->size_bytes) return found;
    found.weight = p->order[at - 1];
    found.offset_bytes = file_offset_bytes - w->offset_bytes;
    found.expert = expert_at(w, found.offset_bytes);
    return found;
}

/* --- the op --- */

static void note(tt_page_faults *f, uint32_t fault, uint32_t run, uint32_t node, uint32_t lane)
{
    if (f->places[fault].run == TT_NONE) f->places[fault] = (tt_fault_location){run, node, lane};
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

tt_status tt_page_faults_find(tt_page_faults *f, const tt_model *m, tt_error *err)
{
    tt_status status = TT_OK;
    memset(f, 0, sizeof *f);
    f->m = m;
    f->page_bytes = tt_model_page_bytes(m);
    f->places = malloc(((size_t)m->n_page_faults + 1) * sizeof *f->places);
    if (!f->places) return tt_error_memory(err, "the places of page faults");
    status = tt_weight_locations_find(&f->weights, m, err);
    for (uint32_t i = 0; i < m->n_page_faults; i++)
        f->places[i].run = TT_NONE;
    for (uint32_t i = 0; i < m->n_runs && m->n_page_faults && status == TT_OK; i++)
        status = note_run(f, i, err);
    return status;
}

void tt_page_faults_free(tt_page_faults *f)
{
    free(f->places);
    tt_weight_locations_free(&f->weights);
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
    const tt_weight_location w = tt_weight_locations_at(&f->weights, t.file, t.file_offset_bytes);
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
    if (!filter->has_layer && !filter->tensor && !filter->model) return true;
    const uint32_t weight = tt_page_faults_target(f, fault).weight;
    const tt_weight *w = weight == TT_NONE ? NULL : &m->weights[weight];
    return w && tt_filter_weight(filter, m, w);
}

typedef struct known_page {
    uint64_t address;
    uint32_t mapping;
    uint32_t at; /* in the list */
} known_page;

/* Equal pages are consecutive when sorted; the list is in the order of first faults. */
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

/* For each mapping the first one of that path: a file is mapped piece by piece. NULL if out of
 * memory. */
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

/* Groups the faults that pass by page and time. */
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
              .show = TT_SHOW_RIGHT | TT_SHOW_ROW | TT_SHOW_KEY, .kinds = BY(PAGE),
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

/* --- the segment --- */

static bool is_own_memory(const tt_memory_segment *s)
{
    return !s->is_file && s->mapped_file == TT_NONE;
}

/* Buffers with memory of their own, by start. */
typedef struct own_memory {
    uint64_t base;
    uint64_t reach; /* the last end of this and all earlier ones */
    uint32_t segment;
} own_memory;

TT_ORDER_BY(by_base, own_memory, base, segment)

/* Malloc'ed; NULL if out of memory. */
static own_memory *list_buffers(const tt_page_index *x, size_t *n)
{
    own_memory *list = malloc(((size_t)x->layout->n_segments + 1) * sizeof *list);
    *n = 0;
    for (uint32_t i = 0; list && i < x->layout->n_segments; i++) {
        const tt_memory_segment *s = &x->layout->segments[i];
        if (is_own_memory(s))
            list[(*n)++] = (own_memory){x->faults->m->buffers[s->index].base, 0, i};
    }
    if (list && *n) qsort(list, *n, sizeof *list, by_base);
    for (size_t i = 0; i < *n; i++) {
        uint64_t end;
        if (__builtin_add_overflow(list[i].base, x->layout->segments[list[i].segment].size_bytes,
                                   &end))
            end = UINT64_MAX;
        list[i].reach = i && list[i - 1].reach > end ? list[i - 1].reach : end;
    }
    return list;
}

/* The buffer at that time: the newest of several. */
static uint32_t buffer_at(const tt_page_index *x, const own_memory *list, size_t n,
                          const tt_page_fault *p)
{
    size_t i;
    uint32_t found = TT_NONE;
    uint64_t came = 0;
    tt_lower_bound(i, n, list[i].base <= p->address);
    for (; i > 0 && list[i - 1].reach > p->address; i--) {
        const tt_memory_segment *s = &x->layout->segments[list[i - 1].segment];
        const tt_buffer *b = &x->faults->m->buffers[s->index];
        if (p->address - b->base >= s->size_bytes || b->alloc_ticks > p->ticks ||
            (b->free_ticks && b->free_ticks < p->ticks) ||
            (found != TT_NONE && b->alloc_ticks < came))
            continue;
        found = list[i - 1].segment;
        came = b->alloc_ticks;
    }
    return found;
}

static bool place_of(const tt_page_index *x, const own_memory *list, size_t n, uint32_t fault,
                     tt_page_location *out)
{
    const tt_model *m = x->faults->m;
    const tt_page_fault *p = &m->page_faults[fault];
    const uint32_t file = tt_model_fault_file(m, p, &out->at);
    out->fault = fault;
    out->batch = tt_page_faults_batch(x->faults, fault);
    out->major = p->major;
    if (file != TT_NONE) {
        /* Files come first, each in the model's order. */
        out->segment = file & INT32_MAX;
        return file < x->layout->n_segments && x->layout->segments[file].is_file;
    }
    const uint32_t buffer = buffer_at(x, list, n, p);
    if (buffer == TT_NONE) return false;
    out->segment = buffer & INT32_MAX;
    const uint64_t base = m->buffers[x->layout->segments[out->segment].index].base;
    out->at = p->address - (base & ~(x->faults->page_bytes - 1));
    return true;
}

TT_ORDER_BY(by_location, tt_page_location, segment, at, fault)

tt_status tt_page_index_make(tt_page_index *x, const tt_page_faults *faults,
                             const tt_memory_layout *layout, tt_error *err)
{
    const uint32_t n = faults->m->n_page_faults;
    *x = (tt_page_index){.faults = faults, .layout = layout};
    x->places = malloc(((size_t)n + 1) * sizeof *x->places);
    size_t n_own;
    own_memory *own = list_buffers(x, &n_own);
    if (!x->places || !own) {
        free(own);
        return tt_error_memory(err, "the places of page faults");
    }
    for (uint32_t i = 0; i < n; i++)
        x->n += place_of(x, own, n_own, i, &x->places[x->n]);
    free(own);
    if (x->n) qsort(x->places, x->n, sizeof *x->places, by_location);
    return TT_OK;
}

void tt_page_index_free(tt_page_index *x)
{
    free(x->places);
    memset(x, 0, sizeof *x);
}

/* --- spans --- */

/* The segment in which bins are counted: a file's, or a buffer's. */
typedef struct counted {
    uint32_t segment; /* TT_NONE: none */
    uint64_t shift;   /* from an offset in the span's segment to one in this */
    uint64_t begin, end;
} counted;

static counted count_from(const tt_memory_layout *layout, const tt_model *m, uint64_t page_bytes,
                          const tt_page_span *span)
{
    const tt_memory_segment *s = &layout->segments[span->segment];
    counted c = {.segment = span->segment};
    if (!s->is_file && s->mapped_file != TT_NONE) {
        c.segment = s->mapped_file;
        c.shift = s->mapped_offset_bytes;
    } else if (!s->is_file) {
        c.shift = m->buffers[s->index].base & (page_bytes - 1);
    }
    const uint64_t end = span->end < s->size_bytes ? span->end : s->size_bytes;
    if (span->begin >= end || __builtin_add_overflow(span->begin, c.shift, &c.begin) ||
        __builtin_add_overflow(end, c.shift, &c.end) || c.end > INT64_MAX)
        c.segment = TT_NONE;
    return c;
}

static tt_status check_spans(const tt_memory_layout *layout, uint64_t page_bytes,
                             const tt_page_span *spans, size_t n, tt_error *err)
{
    uint64_t bins = 0;
    for (size_t i = 0; i < n; i++) {
        const tt_page_span *s = &spans[i];
        if (s->segment >= layout->n_segments)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "span %zu: there are only %u segments", i, layout->n_segments);
        if (s->begin >= s->end || s->bin_bytes == 0 || s->bin_bytes % page_bytes)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "span %zu is empty", i);
        const uint64_t size = layout->segments[s->segment].size_bytes,
                       end = s->end < size ? s->end : size;
        if (s->begin < end) bins += (end - s->begin) / s->bin_bytes + 2;
        if (bins > TT_PAGE_BINS_MAX)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "these are more than %u bins: ask for less, or for wider ones",
                                TT_PAGE_BINS_MAX);
    }
    return TT_OK;
}

/* --- faults --- */

/* The faults on the pages of [begin, end): *first .. *last - 1. */
static void find_places(const tt_page_index *x, const counted *c, size_t *first, size_t *last)
{
    const uint64_t page = x->faults->page_bytes, begin = c->begin & ~(page - 1),
                   end = (c->end + page - 1) & ~(page - 1);
    const tt_page_location *p = x->places;
    tt_lower_bound(*first, x->n,
                   p[*first].segment < c->segment ||
                       (p[*first].segment == c->segment && p[*first].at < begin));
    tt_lower_bound(*last, x->n,
                   p[*last].segment < c->segment ||
                       (p[*last].segment == c->segment && p[*last].at < end));
}

/* The filter, prepared for many faults. */
typedef struct sieve {
    const tt_page_index *x;
    const tt_filter *filter;
    uint32_t first, end; /* faults at its time, which are consecutive */
} sieve;

static sieve make_sieve(const tt_page_index *x, const tt_filter *filter)
{
    const tt_model *m = x->faults->m;
    const tt_filter from = {.has_from = filter->has_from, .from_ns = filter->from_ns},
                    to = {.has_to = filter->has_to, .to_ns = filter->to_ns};
    sieve s = {.x = x, .filter = filter};
    tt_lower_bound(s.first, m->n_page_faults,
                   !tt_filter_time(&from, tt_model_ns(m, m->page_faults[s.first].ticks)));
    tt_lower_bound(s.end, m->n_page_faults,
                   tt_filter_time(&to, tt_model_ns(m, m->page_faults[s.end].ticks)));
    return s;
}

static bool passes(const sieve *s, const tt_page_location *p)
{
    if (p->fault < s->first || p->fault >= s->end ||
        !tt_filter_batch(s->filter, s->x->faults->m, p->batch))
        return false;
    return (!s->filter->has_layer && !s->filter->tensor && !s->filter->model) ||
           tt_page_faults_passes(s->x->faults, s->filter, p->fault);
}

tt_status tt_page_bins_sum(const tt_page_index *x, const tt_filter *filter,
                           const tt_page_span *spans, size_t n_spans, tt_page_bin **bins, size_t *n,
                           tt_error *err)
{
    const tt_model *m = x->faults->m;
    const uint64_t page_bytes = x->faults->page_bytes;
    size_t capacity = 0;
    *bins = NULL;
    *n = 0;
    tt_status status = tt_model_need_clock(m, err);
    if (status == TT_OK) status = check_spans(x->layout, page_bytes, spans, n_spans, err);
    const sieve some = status == TT_OK ? make_sieve(x, filter) : (sieve){0};
    for (uint32_t i = 0; i < n_spans && status == TT_OK; i++) {
        const counted c = count_from(x->layout, m, page_bytes, &spans[i]);
        size_t at, last;
        uint64_t bin = UINT64_MAX, page = UINT64_MAX;
        find_places(x, &c, &at, &last);
        for (; at < last; at++) {
            const tt_page_location *p = &x->places[at];
            if (!passes(&some, p)) continue;
            if (p->at / spans[i].bin_bytes != bin) {
                tt_page_bin *made = tt_array_add(*bins, *n, capacity);
                if (!made) return tt_error_memory(err, "bins of pages");
                bin = p->at / spans[i].bin_bytes;
                *made = (tt_page_bin){.span = i,
                                      .offset_bytes =
                                          (int64_t)(bin * spans[i].bin_bytes) - (int64_t)c.shift};
            }
            tt_page_bin *b = &(*bins)[*n - 1];
            b->pages += p->at / page_bytes != page;
            page = p->at / page_bytes;
            b->major += p->major;
            b->minor += !p->major;
        }
    }
    return status;
}

static int by_number(const void *a, const void *b)
{
    return tt_order(*(const uint32_t *)a, *(const uint32_t *)b);
}

tt_status tt_page_index_list(const tt_page_index *x, const tt_filter *filter,
                             const tt_page_span *span, uint32_t **faults, size_t *n, tt_error *err)
{
    size_t at, last;
    *faults = NULL;
    *n = 0;
    tt_status status = tt_model_need_clock(x->faults->m, err);
    if (status == TT_OK) status = check_spans(x->layout, x->faults->page_bytes, span, 1, err);
    if (status != TT_OK) return status;
    const counted c = count_from(x->layout, x->faults->m, x->faults->page_bytes, span);
    find_places(x, &c, &at, &last);
    *faults = malloc((last > at ? last - at : 1) * sizeof **faults);
    if (!*faults) return tt_error_memory(err, "page faults");
    const sieve some = make_sieve(x, filter);
    for (; at < last; at++)
        if (passes(&some, &x->places[at])) (*faults)[(*n)++] = x->places[at].fault;
    /* They are numbered by time. */
    if (*n) qsort(*faults, *n, sizeof **faults, by_number);
    return TT_OK;
}

/* --- loading --- */

static bool fill_bin(const tt_loading_pages *p, uint64_t begin, uint64_t end, uint64_t *bytes)
{
    const tt_ranges *const kinds[TT_LOADING_KINDS] = {
        &p->came[0], &p->came[1], &p->came[2], &p->used, &p->unused, &p->evicted, &p->again};
    uint64_t any = 0;
    for (int k = 0; k < TT_LOADING_KINDS; k++)
        any |= bytes[k] = tt_ranges_within(kinds[k], begin, end);
    return any > 0;
}

tt_status tt_loading_bins_sum(const tt_loading *l, const tt_memory_layout *layout,
                              const tt_page_span *spans, size_t n_spans, tt_loading_bin **bins,
                              size_t *n, tt_error *err)
{
    const uint64_t page_bytes = tt_model_page_bytes(l->m);
    size_t capacity = 0;
    *bins = NULL;
    *n = 0;
    tt_status status = check_spans(layout, page_bytes, spans, n_spans, err);
    for (uint32_t i = 0; i < n_spans && status == TT_OK; i++) {
        const counted c = count_from(layout, l->m, page_bytes, &spans[i]);
        const uint64_t width = spans[i].bin_bytes;
        if (c.segment >= l->m->n_files || is_own_memory(&layout->segments[spans[i].segment]))
            continue;
        for (uint64_t at = c.begin - c.begin % width; at < c.end; at += width) {
            tt_loading_bin b = {.span = i, .offset_bytes = (int64_t)at - (int64_t)c.shift};
            const uint64_t begin = at < c.begin ? c.begin : at,
                           end = c.end - at < width ? c.end : at + width;
            if (!fill_bin(&l->pages[c.segment], begin, end, b.bytes)) continue;
            tt_loading_bin *made = tt_array_add(*bins, *n, capacity);
            if (!made) return tt_error_memory(err, "bins of pages");
            *made = b;
        }
    }
    return status;
}
