/* Filling a tt_model: traces that begin in the middle of the run, as a flight recorder's do. */
#include "model/load.h"

bool tt_load_front(tt_loader *l, tt_cursor *c)
{
    tt_front *f = &l->m->front;
    if (!tt_meta_get_front(c, &f->was)) return false;
    f->present = true;
    f->runs_cut = f->was.last_run < UINT32_MAX ? (uint32_t)f->was.last_run : UINT32_MAX;
    return true;
}

/* The batches of those runs in one chunk that lost ops. False when all its runs are later. */
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

void tt_find_cut(tt_loader *l)
{
    const tt_trace *t = &l->m->trace;
    tt_unpacker u;
    bool more = l->m->front.present;
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t->n_chunks && more; i++) {
        tt_chunk_header h;
        tt_span payload;
        if (t->chunks[i].type != TT_CHUNK_META || t->chunks[i].position < l->base) continue;
        /* One that is damaged is told of when it is loaded. */
        more = tt_trace_chunk(t, i, SIZE_MAX, &u, &h, &payload, NULL) == TT_OK &&
               look_at_runs(l, payload);
    }
    tt_unpacker_free(&u);
}

/* A batch whose begin was thrown away, or that is not whole. */
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

/* Ends, row numbers: of a run that was left out, or that began before the trace does. */
static bool of_cut_run(tt_loader *l, uint32_t id)
{
    const tt_model *m = l->m;
    if (m->n_runs == 0 && id > m->front.runs_cut) l->m->front.runs_cut = id;
    return is_cut_run(l, id);
}

bool tt_is_cut(tt_loader *l, uint8_t type, tt_cursor c)
{
    switch (type) {
    case TT_META_BATCH:
        return tt_cursor_varint(&c) <= l->last_cut_batch;
    case TT_META_BATCH_END:
    case TT_META_USAGE:
        return is_cut_batch(l, tt_cursor_varint32(&c));
    case TT_META_RESIDENCY: {
        (void)tt_cursor_varint32(&c);
        uint32_t batch = tt_cursor_varint32(&c);
        /* What was looked at when recording began may be there in part. */
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

void tt_end_cut(tt_loader *l)
{
    tt_front *f = &l->m->front;
    /* The records of the other runs are among what was thrown away. */
    uint32_t before = l->m->n_runs ? l->m->runs[0].id - 1 : UINT32_MAX;
    if (before > f->runs_cut) f->runs_cut = before;
}
