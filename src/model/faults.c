#include "model/faults.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>

#define RUN_FAULTS_MAX ((size_t)16 << 20)

bool tt_model_faults_are_events(const tt_model *m)
{
    return m->n_fault_spans > 0 && !tt_details_has(m->details, TT_DETAIL_FAULTS);
}

bool tt_model_has_faults(const tt_model *m)
{
    return m->n_fault_spans > 0 || tt_details_has(m->details, TT_DETAIL_FAULTS);
}

bool tt_model_thread_of(const tt_model *m, uint32_t stream, uint64_t ticks, uint32_t *thread)
{
    const tt_meta_ring *r = m->rings;
    uint32_t at;
    if (stream == 0) return false;
    /* The last that began at or before `ticks`. */
    tt_lower_bound(at, m->n_rings,
                   r[at].ring < stream - 1 || (r[at].ring == stream - 1 && r[at].ticks <= ticks));
    if (at == 0 || r[at - 1].ring != stream - 1) return false;
    *thread = r[at - 1].thread;
    return true;
}

void tt_model_faults_between(const tt_model *m, uint32_t thread, uint64_t first, uint64_t last,
                             uint32_t *begin, uint32_t *end)
{
    uint32_t at;
    const tt_fault_ref *refs = m->faults_by_thread;
    tt_lower_bound(at, m->n_page_faults,
                   refs[at].thread < thread ||
                       (refs[at].thread == thread && refs[at].ticks < first));
    *begin = at;
    tt_lower_bound(at, m->n_page_faults,
                   refs[at].thread < thread ||
                       (refs[at].thread == thread && refs[at].ticks <= last));
    *end = at < *begin ? *begin : at;
}

uint32_t tt_model_fault_file(const tt_model *m, const tt_page_fault *f, uint64_t *offset_bytes)
{
    if (f->mapping == TT_MAPPING_NONE) return TT_NONE;
    const tt_mapping *p = &m->mappings[f->mapping];
    *offset_bytes = p->file_offset_bytes + (f->address - p->address);
    return p->file;
}

bool tt_model_faults_known(const tt_model *m, uint64_t first, uint64_t last)
{
    uint32_t at;
    /* The last that begins at or before `first`. */
    tt_lower_bound(at, m->n_fault_spans, m->fault_spans[at].begin_ticks <= first);
    if (at == 0 || m->fault_spans[at - 1].end_ticks < last) return false;
    tt_lower_bound(at, m->n_fault_losses, m->fault_losses[at].begin_ticks <= last);
    return at == 0 || m->fault_losses[at - 1].end_ticks < first;
}

/* Of all threads: if ops are observed by the scheduler's callback, their threads are unknown. */
static void count_all(const tt_model *m, uint64_t first, uint64_t last, tt_detail_faults *sum)
{
    uint32_t at;
    tt_lower_bound(at, m->n_page_faults, m->page_faults[at].ticks < first);
    for (; at < m->n_page_faults && m->page_faults[at].ticks <= last; at++) {
        sum->major += m->page_faults[at].major;
        sum->minor += !m->page_faults[at].major;
    }
}

static void count_thread(const tt_model *m, uint32_t thread, uint64_t first, uint64_t last,
                         tt_detail_faults *sum)
{
    uint32_t at, end;
    tt_model_faults_between(m, thread, first, last, &at, &end);
    for (; at < end; at++) {
        const tt_page_fault *f = &m->page_faults[m->faults_by_thread[at].fault];
        sum->major += f->major;
        sum->minor += !f->major;
    }
}

static tt_status add_piece(const tt_model *m, const tt_run *run, const tt_piece *piece,
                           tt_error *err)
{
    struct tt_run_faults *to = m->run_faults;
    tt_piece_ops p;
    uint32_t thread = 0;
    tt_status status = tt_pieces_get(m->pieces, piece, &p, err);
    if (status != TT_OK || p.open || p.n == 0 || p.lane > TT_OPS_LANE_MAX) return status;
    const bool by_thread = run->observed != TT_OBSERVED_CALLBACK;
    if (by_thread && !tt_model_thread_of(m, p.stream, p.start[0], &thread)) return TT_OK;
    if (p.n > RUN_FAULTS_MAX - to->n)
        return tt_error_set(err, TT_E_LIMIT, p.chunk_offset_bytes, "run %u has more than %zu ops",
                            run->id, RUN_FAULTS_MAX);
    if (!tt_array_room(to->list, to->capacity, to->n + p.n))
        return tt_error_memory(err, "a run's page faults");
    for (size_t i = 0; i < p.n; i++) {
        if (p.node[i] > TT_OPS_NODE_MAX || !tt_model_faults_known(m, p.start[i], p.arrive[i]))
            continue;
        tt_detail d = {.run = run->id,
                       .place = tt_detail_place(p.node[i], p.lane, TT_DETAIL_FAULTS),
                       .faults = {.cpu_ns = TT_FAULTS_NO_CPU, .read_bytes = UINT64_MAX}};
        if (by_thread)
            count_thread(m, thread, p.start[i], p.arrive[i], &d.faults);
        else
            count_all(m, p.start[i], p.arrive[i], &d.faults);
        to->list[to->n++] = d;
    }
    return TT_OK;
}

static int by_node_and_lane(const void *a, const void *b)
{
    const tt_detail *x = a, *y = b;
    int order = tt_order(tt_detail_node(x), tt_detail_node(y));
    return order ? order : tt_order(tt_detail_lane(x), tt_detail_lane(y));
}

static tt_status from_events(const tt_model *m, const tt_run *run, tt_error *err)
{
    struct tt_run_faults *to = m->run_faults;
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, run->id, &pieces, &n, err);
    for (size_t i = 0; status == TT_OK && i < n; i++)
        status = add_piece(m, run, &pieces[i], err);
    if (status == TT_OK && to->n) qsort(to->list, to->n, sizeof *to->list, by_node_and_lane);
    return status;
}

static tt_status from_details(const tt_model *m, const tt_run *run, tt_error *err)
{
    struct tt_run_faults *to = m->run_faults;
    const tt_detail *list;
    size_t n;
    tt_status status = tt_details_of_run(m->details, run->id, &list, &n, err);
    if (status != TT_OK) return status;
    if (!tt_array_room(to->list, to->capacity, n))
        return tt_error_memory(err, "a run's page faults");
    for (size_t i = 0; i < n; i++)
        if (tt_detail_kind_of(&list[i]) == TT_DETAIL_FAULTS) to->list[to->n++] = list[i];
    return TT_OK;
}

tt_status tt_model_faults_of_run(const tt_model *m, uint32_t run, const tt_detail **list, size_t *n,
                                 tt_error *err)
{
    m->run_faults->n = 0;
    tt_status status = tt_model_faults_are_events(m) ? from_events(m, &m->runs[run], err)
                                                     : from_details(m, &m->runs[run], err);
    if (status != TT_OK) m->run_faults->n = 0;
    *list = m->run_faults->list;
    *n = m->run_faults->n;
    return status;
}
