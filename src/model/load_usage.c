/* Loading what the kernel counted, what became of the model files, and what was read of them. */
#include "model/load.h"

#include <inttypes.h>

bool tt_load_usage(tt_loader *l, tt_cursor *c)
{
    tt_meta_usage u;
    tt_model *m = l->m;
    if (!tt_meta_get_usage(c, &u)) return false;
    /* The batch is an id until tt_link_records. */
    if (TT_GROW(l, m->usages, m->n_usages, l->capacity.usages)) m->usages[m->n_usages++] = u;
    return true;
}

/* Whether the intervals add up to the pages, and their end is an offset in a file. */
static bool plausible(const tt_residency *r)
{
    uint64_t total = 0, end;
    for (uint32_t i = 0; i < r->n_intervals; i++)
        if (__builtin_add_overflow(total, r->intervals[i], &total)) return false;
    return total == r->n_pages && r->page_bytes > 0 &&
           !__builtin_add_overflow(r->first_page, r->n_pages, &end) &&
           !__builtin_mul_overflow(end, (uint64_t)r->page_bytes, &end);
}

bool tt_load_residency(tt_loader *l, tt_cursor *c)
{
    tt_meta_residency r;
    tt_model *m = l->m;
    if (!tt_meta_get_residency(c, &r)) return false;
    if (!TT_GROW(l, m->residencies, m->n_residencies, l->capacity.residencies)) return true;
    uint64_t *intervals = tt_arena_take(&m->arena, r.n_intervals, sizeof *intervals);
    if (!intervals) {
        l->no_memory = true;
        return true;
    }
    for (uint32_t i = 0; i < r.n_intervals; i++)
        intervals[i] = tt_cursor_varint(c);
    /* File and batch are ids until tt_link_records. */
    tt_residency to = {.file = r.model,
                       .batch = r.batch,
                       .moment = r.moment,
                       .begin_ticks = r.begin_ticks,
                       .end_ticks = r.end_ticks,
                       .page_bytes = r.page_bytes,
                       .first_page = r.first_page,
                       .n_pages = r.n_pages,
                       .n_intervals = r.n_intervals,
                       .intervals = intervals};
    if (c->failed) return false;
    if (plausible(&to))
        m->residencies[m->n_residencies++] = to;
    else
        tt_loader_problem(l,
                          "the intervals of pages in RAM of model file %" PRIu32
                          " do not add up to %" PRIu64 " pages of %" PRIu32 " bytes",
                          r.model, r.n_pages, r.page_bytes);
    return true;
}

bool tt_load_model_check(tt_loader *l, tt_cursor *c)
{
    tt_meta_model_check k;
    if (!tt_meta_get_model_check(c, &k)) return false;
    uint32_t at = tt_idmap_get(&l->m->file_by_id, k.model);
    if (at == TT_NONE) {
        tt_loader_problem(l, "model file %" PRIu32 " is looked at but was never described",
                          k.model);
        return true;
    }
    if (l->m->files[at].checked_at_end)
        tt_loader_problem(l, "model file %" PRIu32 " is looked at twice", k.model);
    l->m->files[at].checked_at_end = true;
    l->m->files[at].end_state = k.state;
    return true;
}

bool tt_load_load_step(tt_loader *l, tt_cursor *c)
{
    tt_load_step s;
    uint64_t end;
    tt_model *m = l->m;
    if (!tt_meta_get_load_step(c, &s)) return false;
    const uint32_t file = s.model ? tt_idmap_get(&m->file_by_id, s.model) : TT_NONE;
    const bool of_file = s.kind < TT_LOAD_FIRST_BATCH;
    if (of_file && file == TT_NONE)
        tt_loader_problem(l, "model file %" PRIu32 " is loaded but was never described", s.model);
    else if (s.end_ticks < s.begin_ticks ||
             __builtin_add_overflow(s.file_offset_bytes, s.size_bytes, &end))
        tt_loader_problem(l, "a step of loading ends before it begins");
    else if (TT_GROW(l, m->load_steps, m->n_load_steps, l->capacity.load_steps)) {
        s.model = file;
        m->load_steps[m->n_load_steps++] = s;
    }
    return true;
}

/* False: a moment or the end of the range passes what there is. */
static bool pool_read(const tt_meta_pool_read *r, uint64_t ticks, tt_pool_read *to)
{
    uint64_t end;
    *to = (tt_pool_read){.waiters = r->waiters,
                         .thread = r->thread,
                         .cause = r->cause,
                         .flags = r->flags,
                         .file_offset_bytes = r->file_offset_bytes,
                         .size_bytes = r->size_bytes,
                         .requested_ticks = ticks + (uint64_t)r->requested_ticks,
                         .waited_ticks = r->waited_ticks};
    if (r->requested_ticks < 0 ? to->requested_ticks > ticks : to->requested_ticks < ticks)
        return false;
    return r->cause < TT_READ_CAUSES &&
           !__builtin_add_overflow(to->requested_ticks, r->queued_ticks, &to->begin_ticks) &&
           !__builtin_add_overflow(to->begin_ticks, r->read_ticks, &to->end_ticks) &&
           r->waited_ticks <= to->end_ticks &&
           !__builtin_add_overflow(r->file_offset_bytes, r->size_bytes, &end);
}

bool tt_load_pool(tt_loader *l, tt_cursor *c)
{
    tt_pool_state s;
    tt_meta_pool_read r;
    tt_model *m = l->m;
    if (!tt_meta_get_pool(c, &s.at)) return false;
    const uint32_t n = s.at.n;
    s.first_read = m->n_pool_reads;
    for (uint32_t i = 0; i < n; i++) {
        tt_pool_read to;
        if (!tt_meta_get_pool_read(c, &r)) return false;
        const bool sound = pool_read(&r, s.at.ticks, &to);
        to.file = tt_idmap_get(&m->file_by_id, r.model);
        if (to.file == TT_NONE)
            tt_loader_problem(l, "model file %" PRIu32 " is read but was never described", r.model);
        else if (!sound)
            tt_loader_problem(l, "a read of model file %" PRIu32 " ends before it begins", r.model);
        else if (TT_GROW(l, m->pool_reads, m->n_pool_reads, l->capacity.pool_reads))
            m->pool_reads[m->n_pool_reads++] = to;
    }
    s.at.n = m->n_pool_reads - s.first_read;
    /* The run is an id until tt_link_records. */
    if (TT_GROW(l, m->pool_states, m->n_pool_states, l->capacity.pool_states))
        m->pool_states[m->n_pool_states++] = s;
    return true;
}
