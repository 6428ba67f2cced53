/* Page faults and reads of ops: arguments of their slices, and counters of the rate. */
#include "export/perfetto/maker.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>

tt_status tt_perfetto_faults_load(tt_perfetto_maker *k, uint32_t run, tt_error *err)
{
    const tt_detail *list;
    size_t n;
    k->n_faults = 0;
    if (!k->p->has_faults) return TT_OK;
    tt_status status = tt_details_of_run(k->m->details, k->m->runs[run].id, &list, &n, err);
    if (status != TT_OK) return status;
    if (!tt_array_room(k->faults, k->faults_capacity, n))
        return tt_error_memory(err, "a run's counters");
    for (size_t i = 0; i < n; i++)
        if (tt_detail_kind_of(&list[i]) == TT_DETAIL_FAULTS) k->faults[k->n_faults++] = list[i];
    return TT_OK;
}

/* The first of them at or behind (node, lane). */
static size_t first_at(const tt_perfetto_maker *k, uint32_t node, uint32_t lane)
{
    size_t low;
    tt_lower_bound(
        low, k->n_faults,
        tt_detail_node(&k->faults[low]) < node ||
            (tt_detail_node(&k->faults[low]) == node && tt_detail_lane(&k->faults[low]) < lane));
    return low;
}

const tt_detail_faults *tt_perfetto_faults_of(const tt_perfetto_maker *k, uint32_t node,
                                              uint32_t lane)
{
    size_t at = first_at(k, node, lane);
    if (at == k->n_faults || tt_detail_node(&k->faults[at]) != node ||
        tt_detail_lane(&k->faults[at]) != lane)
        return NULL;
    return &k->faults[at].faults;
}

/* minor, major, bytes read; true when some lane's were observed, *reads when its bytes were. */
static bool sum(const tt_perfetto_maker *k, uint32_t node, double sums[3], bool *reads)
{
    size_t at = first_at(k, node, 0);
    bool any = false;
    *reads = false;
    sums[0] = sums[1] = sums[2] = 0;
    for (; at < k->n_faults && tt_detail_node(&k->faults[at]) == node; at++) {
        const tt_detail_faults *f = &k->faults[at].faults;
        sums[0] += f->minor;
        sums[1] += f->major;
        if (f->read_bytes != UINT64_MAX) {
            sums[2] += (double)f->read_bytes;
            *reads = true;
        }
        any = true;
    }
    return any;
}

tt_status tt_perfetto_faults_rates(tt_perfetto_maker *k, const tt_perfetto_span *span,
                                   tt_bytes *out, tt_error *err)
{
    double last[3] = {-1, -1, -1};
    uint64_t now = span->begin;
    const uint64_t track = TT_PERFETTO_FAULTS + 4ull * span->row;
    if (k->n_faults == 0) return TT_OK;
    tt_status status = tt_join_run(&k->join, k->m, span->item, err);
    for (uint32_t i = 0; status == TT_OK && i < k->join.n_touched; i++) {
        const tt_joined *op = &k->join.ops[k->join.touched[i]];
        double sums[3], ns = tt_model_span_ns(k->m, tt_joined_ticks(op));
        bool reads;
        if (op->open || !sum(k, k->join.touched[i], sums, &reads)) continue;
        if (op->start > now) now = op->start < span->end ? op->start : span->end;
        for (unsigned c = 0; c < 3; c++) {
            double rate = sums[c] * 1e9 / (ns > 1 ? ns : 1);
            if ((c == 2 && !reads) || rate == last[c]) continue;
            tt_perfetto_counter_real(out, tt_model_mono_ns(k->m, now), track + c, rate);
            last[c] = rate;
        }
    }
    uint64_t end = span->end != UINT64_MAX ? span->end : now;
    for (unsigned c = 0; status == TT_OK && c < 3; c++)
        if (last[c] > 0) tt_perfetto_counter_real(out, tt_model_mono_ns(k->m, end), track + c, 0);
    return status;
}
