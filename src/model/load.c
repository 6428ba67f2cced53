#include "model/load.h"

#include "base/array.h"
#include "gguf/memory_map.h"
#include "model/faults.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Loads traces that begin in the middle of a run, such as a flight recorder's. */

/* A FRONT record. */
static bool load_front(tt_loader *l, tt_cursor *c)
{
    tt_front *f = &l->m->front;
    if (!tt_meta_get_front(c, &f->was)) return false;
    f->present = true;
    f->runs_cut = f->was.last_run < UINT32_MAX ? (uint32_t)f->was.last_run : UINT32_MAX;
    return true;
}

/* Records the batches of the chunk's runs that lost ops. False if all its runs are later. */
static bool look_at_runs(tt_loader *l, tt_span payload)
{
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    tt_span record;
    uint8_t type;
    bool any = false, later = false;
    while (tt_meta_next(&c, &type, &record)) {
        tt_meta_run r;
        tt_cursor rc = tt_cursor_of(record.data, record.size);
        if (type != TT_META_RUN || !tt_meta_get_run(&rc, &r)) continue;
        later |= r.id > l->m->front.was.last_run;
        if (r.id > l->m->front.was.last_run) continue;
        any = true;
        if (r.batch > l->last_cut_batch) l->last_cut_batch = r.batch;
    }
    return any || !later;
}

/* Finds the incomplete batches: those of runs that lost ops. */
static void find_cut(tt_loader *l)
{
    const tt_trace *t = &l->m->trace;
    tt_unpacker u;
    bool more = l->m->front.present;
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t->n_chunks && more; i++) {
        tt_chunk_header h;
        tt_span payload;
        if (t->chunks[i].type != TT_CHUNK_META || t->chunks[i].position < l->base) continue;
        /* A damaged chunk is reported when it is loaded. */
        more = tt_trace_chunk(t, i, SIZE_MAX, &u, &h, &payload, NULL) == TT_OK &&
               look_at_runs(l, payload);
    }
    tt_unpacker_free(&u);
}

/* Whether the batch began before the trace's start, or is incomplete. */
static bool is_cut_batch(const tt_loader *l, uint32_t id)
{
    const tt_model *m = l->m;
    return id && (id <= l->last_cut_batch || m->n_batches == 0 || id < m->batches[0].id);
}

static bool is_cut_run(const tt_loader *l, uint32_t id)
{
    const tt_model *m = l->m;
    bool is_early = id <= m->front.runs_cut || (m->n_runs && id < m->runs[0].id);
    return is_early && tt_idmap_get(&m->run_by_id, id) == TT_NONE;
}

static bool cut_run(tt_loader *l, tt_cursor c)
{
    tt_meta_run r;
    if (!tt_meta_get_run(&c, &r)) return false;
    if (r.id > l->m->front.was.last_run && !is_cut_batch(l, r.batch)) return false;
    if (r.id > l->m->front.runs_cut) l->m->front.runs_cut = r.id;
    return true;
}

/* Whether an end or row numbers are of a run that was left out or began before the trace's
 * start. */
static bool of_cut_run(tt_loader *l, uint32_t id)
{
    const tt_model *m = l->m;
    if (m->n_runs == 0 && id > m->front.runs_cut) l->m->front.runs_cut = id;
    return is_cut_run(l, id);
}

/* Whether the record is about a batch or run that was cut off at the start of the trace. */
static bool is_cut(tt_loader *l, uint8_t type, tt_cursor c)
{
    switch (type) {
    case TT_META_BATCH:
        return tt_cursor_varint(&c) <= l->last_cut_batch;
    case TT_META_BATCH_END:
    case TT_META_USAGE:
    case TT_META_THROTTLED:
        return is_cut_batch(l, tt_cursor_varint32(&c));
    case TT_META_RESIDENCY: {
        (void)tt_cursor_varint32(&c);
        uint32_t batch = tt_cursor_varint32(&c);
        /* Samples from the start of recording may be partly missing. */
        return batch ? is_cut_batch(l, batch) : tt_cursor_u8(&c) == TT_AT_BEGIN;
    }
    case TT_META_RUN:
        return cut_run(l, c);
    case TT_META_RUN_END:
    case TT_META_INDICES:
        return of_cut_run(l, tt_cursor_varint32(&c));
    default:
        return false;
    }
}

/* After all records: sorts the runs. */
static void end_cut(tt_loader *l)
{
    tt_front *f = &l->m->front;
    /* The records of the other runs were discarded. */
    uint32_t before = l->m->n_runs ? l->m->runs[0].id - 1 : UINT32_MAX;
    if (before > f->runs_cut) f->runs_cut = before;
}

#define STRING_GAPS_MAX 65536u /* ids without a string, in total */
#define ENVIRONMENT_MAX 4096u

bool tt_loader_grow(tt_loader *l, void *array, size_t n, size_t *capacity, size_t size)
{
    if (n < *capacity) return true;
    /* The arrays count towards the same limit as the arena. */
    const size_t had = *capacity, left = l->m->arena.limit_bytes - l->m->arena.total_bytes;
    if (n >= TT_NONE ||
        !tt_array_more(array, size, capacity, sizeof *capacity, n + 1, had * size + left, true)) {
        l->no_memory = true;
        return false;
    }
    l->m->arena.total_bytes += (*capacity - had) * size;
    return true;
}

void tt_loader_problem(tt_loader *l, const char *fmt, ...)
{
    uint32_t at = l->m->n_problems;
    if (l->m->n_problems < UINT32_MAX) l->m->n_problems++;
    if (at >= TT_MODEL_PROBLEMS_MAX) return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(l->m->problems[at].text, sizeof l->m->problems[at].text, fmt, args);
    va_end(args);
    l->m->problems[at].offset_bytes = l->chunk_offset;
}

bool tt_loader_id(tt_loader *l, const char *what, uint64_t id)
{
    if (id == 0) tt_loader_problem(l, "a %s has no id", what);
    return id != 0;
}

const char *tt_loader_text(tt_loader *l, tt_span s)
{
    const char *text = s.size ? tt_arena_text(&l->m->arena, s.data, s.size) : "";
    if (!text) l->no_memory = true;
    return text ? text : "";
}

tt_text *tt_loader_string(tt_loader *l, uint32_t id)
{
    static tt_text empty = {.text = "", .placed = true, .place = {TT_LAYER_NONE, "other", ""}};
    if (id < l->n_strings && l->strings[id].text) return &l->strings[id];
    if (id != 0) tt_loader_problem(l, "string %" PRIu32 " is used but not defined", id);
    return &empty;
}

tt_place tt_loader_place(tt_loader *l, tt_text *t)
{
    if (!t->placed) {
        tt_component c = tt_layout_classify(t->text);
        t->place.layer_id = c.layer_id;
        t->place.category = c.category;
        t->place.component =
            tt_loader_text(l, (tt_span){(const uint8_t *)c.component, strlen(c.component)});
        t->placed = true;
    }
    return t->place;
}

static bool load_string(tt_loader *l, tt_cursor *c)
{
    tt_meta_string s;
    if (!tt_meta_get_string(c, &s)) return false;
    const uint32_t id = s.id;
    /* Ids count up from 1; a gap means that records are missing. */
    if (id == 0 || id < l->n_strings) {
        tt_loader_problem(l, "string %" PRIu32 " is defined twice", id);
        return true;
    }
    if (id > l->n_strings && !(id == 1 && l->n_strings == 0))
        tt_loader_problem(l, "string %" PRIu32 " follows string %" PRIu32, id,
                          l->n_strings ? l->n_strings - 1 : 0);
    if (id - l->n_strings > STRING_GAPS_MAX - l->string_gaps) return true;
    l->string_gaps += id - l->n_strings;
    while (l->n_strings <= id) {
        if (!TT_GROW(l, l->strings, l->n_strings, l->capacity.strings)) return true;
        l->strings[l->n_strings++] = (tt_text){0};
    }
    l->strings[id].text = tt_loader_text(l, s.text);
    return true;
}

static bool load_environment(tt_loader *l, tt_cursor *c)
{
    uint32_t n;
    tt_model *m = l->m;
    if (!tt_meta_get_count(c, &n, 2)) return false;
    if (n > ENVIRONMENT_MAX - m->n_environment) {
        tt_loader_problem(l, "more than %u environment values", ENVIRONMENT_MAX);
        return true;
    }
    for (uint32_t i = 0; i < n; i++) {
        tt_meta_pair p;
        if (!tt_meta_get_pair(c, &p)) return false;
        if (!TT_GROW(l, m->environment, m->n_environment, l->capacity.environment)) return true;
        m->environment[m->n_environment++] =
            (tt_pair){tt_loader_text(l, p.key), tt_loader_text(l, p.value)};
    }
    return true;
}

static bool load_counts(tt_loader *l, tt_cursor *c)
{
    uint32_t n;
    if (!tt_meta_get_count(c, &n, 2)) return false;
    /* The last record wins. A list of the same length is overwritten in place. */
    tt_count *list =
        n <= l->m->n_counts ? l->m->counts : tt_arena_take(&l->m->arena, n, sizeof *list);
    if (!list && n) {
        l->no_memory = true;
        return true;
    }
    uint32_t had = n <= l->m->n_counts ? l->m->n_counts : 0;
    for (uint32_t i = 0; i < n; i++) {
        tt_meta_total t;
        if (!tt_meta_get_total(c, &t)) return false;
        bool same = i < had && strlen(list[i].name) == t.name.size &&
                    memcmp(list[i].name, t.name.data, t.name.size) == 0;
        list[i] = (tt_count){same ? list[i].name : tt_loader_text(l, t.name), t.value};
    }
    l->m->counts = list;
    l->m->n_counts = n;
    return true;
}

/* A later record of the same buffer knows more: name and usage are set after the allocation. The
 * first record's data on the allocation is kept, because the thread may have opened another model
 * since. */
static void update_buffer(tt_buffer *to, const tt_buffer *from)
{
    uint64_t ticks = to->alloc_ticks;
    uint8_t seen = to->flags & TT_BUFFER_ALLOC_SEEN;
    uint32_t last_file = to->last_file;
    const char *allocator = to->allocator;
    *to = *from;
    if (last_file) to->last_file = last_file;
    if (*allocator) to->allocator = allocator;
    if (ticks < to->alloc_ticks) to->alloc_ticks = ticks;
    to->flags |= seen;
}

static bool load_buffer(tt_loader *l, tt_cursor *c)
{
    tt_meta_buffer b;
    tt_model *m = l->m;
    uint32_t was;
    if (!tt_meta_get_buffer(c, &b)) return false;
    if (!tt_loader_id(l, "buffer", b.id)) return true;
    if (!TT_GROW(l, m->buffers, m->n_buffers, l->capacity.buffers)) return true;
    if (!tt_idmap_add(&m->buffer_by_id, b.id, m->n_buffers, &was)) l->no_memory = true;
    tt_buffer buffer = {.id = b.id,
                        .name = tt_loader_string(l, b.name)->text,
                        .alloc_ticks = b.ticks,
                        .record_ticks = b.ticks,
                        .base = b.base,
                        .size_bytes = b.size_bytes,
                        .path = b.flags & TT_BUFFER_FILE ? tt_loader_string(l, b.path)->text : "",
                        .file_offset_bytes = b.file_offset_bytes,
                        .usage = b.usage,
                        .flags = b.flags,
                        .last_file = b.model, /* an id until tt_link_files */
                        .allocator = tt_loader_string(l, b.allocator)->text};
    if (was == TT_NONE)
        m->buffers[m->n_buffers++] = buffer;
    else if (m->buffers[was].free_ticks)
        tt_loader_problem(l, "buffer %" PRIu64 " comes back after it was freed", b.id);
    else if (m->buffers[was].record_ticks == b.ticks)
        tt_loader_problem(l, "buffer %" PRIu64 " has two records of tick %" PRIu64, b.id, b.ticks);
    else
        update_buffer(&m->buffers[was], &buffer);
    return true;
}

static bool load_buffer_free(tt_loader *l, tt_cursor *c)
{
    tt_meta_buffer_free f;
    if (!tt_meta_get_buffer_free(c, &f)) return false;
    uint32_t at = tt_idmap_get(&l->m->buffer_by_id, f.id);
    if (at == TT_NONE)
        tt_loader_problem(l, "buffer %" PRIu64 " is freed but was never seen", f.id);
    else if (l->m->buffers[at].free_ticks)
        tt_loader_problem(l, "buffer %" PRIu64 " is freed twice", f.id);
    else
        l->m->buffers[at].free_ticks = f.ticks;
    return true;
}

static bool load_run(tt_loader *l, tt_cursor *c)
{
    tt_meta_run r;
    tt_model *m = l->m;
    uint32_t was;
    if (!tt_meta_get_run(c, &r)) return false;
    if (!tt_loader_id(l, "run", r.id)) return true;
    if (!TT_GROW(l, m->runs, m->n_runs, l->capacity.runs)) return true;
    if (!tt_idmap_add(&m->run_by_id, r.id, m->n_runs, &was)) l->no_memory = true;
    uint32_t graph = tt_idmap_get(&m->graph_by_id, r.graph);
    /* A program that records itself reports its ops one by one: the graph is known at the end. */
    bool by_program = r.observed == TT_OBSERVED_PROGRAM;
    if (was != TT_NONE && by_program && m->runs[was].observed == r.observed) {
        m->runs[was].graph = graph;
        return true;
    }
    if (was != TT_NONE) {
        tt_loader_problem(l, "run %" PRIu32 " is defined twice", r.id);
        return true;
    }
    uint32_t batch = r.batch ? tt_idmap_get(&m->batch_by_id, r.batch) : TT_NONE;
    if (r.batch && batch == TT_NONE)
        tt_loader_problem(l, "run %" PRIu32 " belongs to batch %" PRIu32 ", which is not there",
                          r.id, r.batch);
    if (graph == TT_NONE && !(by_program && r.graph == 0))
        tt_loader_problem(l, "run %" PRIu32 " computes graph %" PRIu32 ", which is not there", r.id,
                          r.graph);
    m->runs[m->n_runs++] = (tt_run){.id = r.id,
                                    .batch = batch,
                                    .graph = graph,
                                    .threads = r.threads,
                                    .thread = r.thread,
                                    .observed = r.observed,
                                    .begin_ticks = r.ticks};
    return true;
}

static bool load_end(tt_loader *l, tt_cursor *c, bool of_batch)
{
    tt_meta_end e;
    tt_model *m = l->m;
    if (!tt_meta_get_end(c, &e)) return false;
    uint32_t at = tt_idmap_get(of_batch ? &m->batch_by_id : &m->run_by_id, e.id);
    if (at == TT_NONE) {
        tt_loader_problem(l, "%s %" PRIu32 " ends but never began", of_batch ? "batch" : "run",
                          e.id);
    } else if (of_batch ? m->batches[at].ended : m->runs[at].ended) {
        tt_loader_problem(l, "%s %" PRIu32 " ends twice", of_batch ? "batch" : "run", e.id);
    } else if (of_batch) {
        m->batches[at].ended = true;
        m->batches[at].end_ticks = e.ticks;
        m->batches[at].status = e.status;
    } else {
        m->runs[at].ended = true;
        m->runs[at].end_ticks = e.ticks;
        m->runs[at].status = e.status;
    }
    return true;
}

static bool load_clock(tt_loader *l, tt_cursor *c)
{
    tt_meta_clock k;
    if (!tt_meta_get_clock(c, &k)) return false;
    if (l->m->n_clocks && (k.ticks < l->last_clock.ticks || k.mono_ns < l->last_clock.mono_ns))
        l->m->n_clocks_back++;
    if (l->m->n_clocks++ == 0) l->first_clock = k;
    l->last_clock = k;
    return true;
}

static bool load_ring(tt_loader *l, tt_cursor *c)
{
    tt_meta_ring r;
    if (!tt_meta_get_ring(c, &r)) return false;
    if (TT_GROW(l, l->m->rings, l->m->n_rings, l->capacity.rings)) l->m->rings[l->m->n_rings++] = r;
    return true;
}

static bool load_decode(tt_loader *l, tt_cursor *c)
{
    tt_meta_decode d;
    if (!tt_meta_get_decode(c, &d)) return false;
    if (TT_GROW(l, l->m->decodes, l->m->n_decodes, l->capacity.decodes))
        l->m->decodes[l->m->n_decodes++] = d;
    return true;
}

static bool load_loss(tt_loader *l, tt_cursor *c)
{
    tt_meta_loss s;
    tt_model *m = l->m;
    if (!tt_meta_get_loss(c, &s)) return false;
    if (TT_GROW(l, m->losses, m->n_losses, l->capacity.losses)) {
        m->losses[m->n_losses++] = s;
        m->losses_total += s.dropped;
    }
    return true;
}

static bool load_detail_loss(tt_loader *l, tt_cursor *c)
{
    tt_meta_loss s;
    tt_model *m = l->m;
    if (!tt_meta_get_loss(c, &s)) return false;
    if (TT_GROW(l, m->detail_losses, m->n_detail_losses, l->capacity.detail_losses)) {
        m->detail_losses[m->n_detail_losses++] = s;
        m->detail_losses_total += s.dropped;
    }
    return true;
}

static bool load_record(tt_loader *l, uint8_t type, tt_cursor *c)
{
    if (l->m->front.present && is_cut(l, type, *c)) return true;
    switch (type) {
    case TT_META_FRONT:
        return load_front(l, c);
    case TT_META_GRAPHS_END:
        return true;
    case TT_META_ENVIRONMENT:
        return load_environment(l, c);
    case TT_META_STRING:
        return load_string(l, c);
    case TT_META_MODEL:
        return tt_load_model_file(l, c);
    case TT_META_BUFFER:
        return load_buffer(l, c);
    case TT_META_BUFFER_FREE:
        return load_buffer_free(l, c);
    case TT_META_GRAPH:
        return tt_load_graph(l, c);
    case TT_META_BATCH:
        return tt_load_batch(l, c);
    case TT_META_BATCH_END:
    case TT_META_RUN_END:
        return load_end(l, c, type == TT_META_BATCH_END);
    case TT_META_RUN:
        return load_run(l, c);
    case TT_META_CLOCK:
        return load_clock(l, c);
    case TT_META_RING:
        return load_ring(l, c);
    case TT_META_COUNTS:
        return load_counts(l, c);
    case TT_META_DECODE:
        return load_decode(l, c);
    case TT_META_LOSS:
        return load_loss(l, c);
    case TT_META_TOKEN_TEXT:
        return tt_load_token_text(l, c);
    case TT_META_INDICES:
        return tt_load_indices(l, c);
    case TT_META_USAGE:
        return tt_load_usage(l, c);
    case TT_META_THROTTLED:
        return tt_load_throttled(l, c);
    case TT_META_PAUSE:
        return tt_load_pause(l, c);
    case TT_META_RESIDENCY:
        return tt_load_residency(l, c);
    case TT_META_MODEL_CHECK:
        return tt_load_model_check(l, c);
    case TT_META_DETAIL_LOSS:
        return load_detail_loss(l, c);
    case TT_META_MAPPING:
        return tt_load_mapping(l, c);
    case TT_META_PAGE_FAULTS:
        return tt_load_page_faults(l, c);
    case TT_META_PAGE_FAULT_LOSS:
        return tt_load_page_fault_loss(l, c);
    case TT_META_EXTENTS:
        return tt_load_extents(l, c);
    case TT_META_LOAD_STEP:
        return tt_load_load_step(l, c);
    case TT_META_POOL:
        return tt_load_pool(l, c);
    case TT_META_FATE:
        return tt_load_fate(l, c);
    case TT_META_SEQUENCES:
        return tt_load_sequences(l, c);
    default:
        l->m->unknown_records++;
        return true;
    }
}

/* Loads one META chunk. Damage ends the reading of META, because later records may refer to missing
 * ones. */
static tt_status load_chunk(tt_loader *l, size_t i, tt_unpacker *u, tt_error *damage)
{
    tt_chunk_header h;
    tt_span payload, record;
    uint8_t type;
    uint32_t n = 0;
    tt_status status = tt_trace_chunk(&l->m->trace, i, SIZE_MAX, u, &h, &payload, damage);
    if (status != TT_OK) return status;
    l->chunk_offset = l->m->trace.chunks[i].offset;
    bool is_base = h.type == TT_CHUNK_BASE;
    if (!is_base && !l->skipped && h.position != l->next_position)
        return tt_error_set(damage, TT_E_FORMAT, l->chunk_offset,
                            "META is missing before this chunk: it is at %" PRIu64
                            " of its stream, %" PRIu64 " were read",
                            h.position, l->next_position);
    l->next_position = h.position + (is_base ? 0 : payload.size);
    l->skipped = false;
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    while (tt_meta_next(&c, &type, &record)) {
        tt_cursor rc = tt_cursor_of(record.data, record.size);
        if (!load_record(l, type, &rc))
            return tt_error_set(damage, TT_E_FORMAT, l->chunk_offset,
                                "META record %" PRIu32 " of a chunk (type %u) is malformed", n,
                                type);
        if (l->no_memory && !l->m->arena.is_full)
            return tt_error_memory(damage, "the trace's descriptions");
        if (l->no_memory)
            return tt_error_set(damage, TT_E_LIMIT, l->chunk_offset,
                                "the trace's descriptions need more than %zu MiB of memory",
                                l->m->arena.limit_bytes >> 20);
        n++;
    }
    if (c.failed)
        return tt_error_set(damage, TT_E_FORMAT, l->chunk_offset,
                            "META record %" PRIu32 " of a chunk passes the chunk's end", n);
    if (n != h.count)
        tt_loader_problem(l, "a META chunk holds %" PRIu32 " records, its header says %" PRIu32, n,
                          h.count);
    return TT_OK;
}

/* The last BASE chunk, which replaces earlier ones; n_chunks if there is none. */
static size_t last_base(const tt_trace *t)
{
    size_t base = t->n_chunks;
    for (size_t i = 0; i < t->n_chunks; i++)
        if (t->chunks[i].type == TT_CHUNK_BASE) base = i;
    return base;
}

/* Checks that each map's indices are in its array: code that looks up an id relies on it. */
static tt_status check_maps(const tt_model *m, tt_error *err)
{
    const struct {
        const tt_idmap *map;
        uint32_t n;
        const char *what;
    } maps[] = {
        {&m->run_by_id, m->n_runs, "run"},
        {&m->batch_by_id, m->n_batches, "batch"},
        {&m->graph_by_id, m->n_graphs, "graph"},
        {&m->buffer_by_id, m->n_buffers, "buffer"},
        {&m->file_by_id, m->n_files, "model file"},
        {&m->weight_by_name, m->n_weights, "weight"},
        {&m->text_by_token, m->n_token_texts, "token's text"},
        {&m->mapping_by_id, m->n_mappings, "mapping"},
    };
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        if (tt_idmap_is_below(maps[i].map, maps[i].n)) continue;
#ifdef TT_ABORT_ON_DEFECT
        abort();
#endif
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "the id of a %s leads to none: a defect of tensortrace that this "
                            "trace shows; please report it",
                            maps[i].what);
    }
    return TT_OK;
}

static tt_status load_all(tt_loader *l, tt_error *err)
{
    tt_unpacker u;
    tt_model *m = l->m;
    bool *skip = NULL;
    tt_status status = l->part ? tt_part_choose(l, &skip, err) : TT_OK;
    if (status != TT_OK) return status;
    tt_unpacker_init(&u);
    size_t base = last_base(&m->trace);
    if (base != m->trace.n_chunks) {
        l->base = m->trace.chunks[base].position;
        status = load_chunk(l, base, &u, &m->meta_damage);
        if (status == TT_OK) find_cut(l);
    }
    for (size_t i = 0; i < m->trace.n_chunks && status == TT_OK; i++) {
        const tt_index_entry *e = &m->trace.chunks[i];
        if (e->type != TT_CHUNK_META || e->position < l->base) continue;
        if (skip && skip[i])
            l->skipped = true;
        else
            status = load_chunk(l, i, &u, &m->meta_damage);
    }
    tt_unpacker_free(&u);
    free(skip);
    if (status == TT_E_MEMORY || status == TT_E_IO || status == TT_E_LIMIT)
        return tt_error_set(err, status, m->meta_damage.offset, "%s", m->meta_damage.message);
    status = check_maps(m, err);
    if (status != TT_OK) return status;
    tt_model_link(l);
    tt_link_page_faults(l);
    tt_link_fates(l);
    m->run_faults = calloc(1, sizeof *m->run_faults);
    l->no_memory |= !m->run_faults;
    if (m->front.present) end_cut(l);
    if (l->no_memory)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to index the trace");
    status = tt_details_open(&m->trace, &m->details, err);
    if (status == TT_OK) status = tt_data_open(&m->trace, &m->data, err);
    return status == TT_OK ? tt_pieces_open(&m->trace, &m->pieces, err) : status;
}

/* The memory limit of loading, in proportion to the file: see TT_MODEL_MEMORY_FACTOR. */
static size_t memory_limit(uint64_t file_bytes)
{
    uint64_t most = (TT_MODEL_MEMORY_MAX - TT_MODEL_MEMORY_FREE) / TT_MODEL_MEMORY_FACTOR;
    if (file_bytes > most) return TT_MODEL_MEMORY_MAX;
    return TT_MODEL_MEMORY_FREE + (size_t)file_bytes * TT_MODEL_MEMORY_FACTOR;
}

static tt_status open_model(tt_model *m, const tt_part *part, tt_model **out, tt_status status,
                            tt_error *err)
{
    tt_loader l = {.m = m, .part = part};
    if (status == TT_OK) {
        tt_arena_init(&m->arena, memory_limit(m->trace.source.size));
        m->meta_damage.status = TT_OK;
        status = load_all(&l, err);
        free(l.strings);
        free(l.faults);
    }
    if (status == TT_OK)
        *out = m;
    else
        tt_model_close(m);
    return status;
}

tt_status tt_model_open(const char *path, tt_model **out, tt_error *err)
{
    *out = NULL;
    tt_model *m = calloc(1, sizeof *m);
    if (!m) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    return open_model(m, NULL, out, tt_trace_open(&m->trace, path, err), err);
}

tt_status tt_model_open_memory(const void *data, size_t size, tt_model **out, tt_error *err)
{
    *out = NULL;
    tt_model *m = calloc(1, sizeof *m);
    if (!m) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    return open_model(m, NULL, out, tt_trace_open_memory(&m->trace, data, size, err), err);
}

tt_status tt_model_open_part(const char *path, const tt_part *part, tt_model **out, tt_error *err)
{
    *out = NULL;
    tt_model *m = calloc(1, sizeof *m);
    if (!m) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    return open_model(m, part, out, tt_trace_open(&m->trace, path, err), err);
}
