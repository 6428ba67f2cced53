#include "analyze/off_cpu.h"

#include "base/array.h"
#include "base/order.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_NS 10000 /* between two clocks: less is as much an error as a time */

tt_status tt_off_cpu_load(tt_off_cpu *o, const tt_model *m, const tt_run *run, tt_error *err)
{
    const tt_detail *list;
    size_t n;
    o->n = 0;
    o->ns_per_tick = m->clock.ns_per_tick;
    o->known = m->off_cpu_known && m->clock.known && run->observed == TT_OBSERVED_HOOK;
    if (!o->known) return TT_OK;
    tt_status status = tt_details_of_run(m->details, run->id, &list, &n, err);
    if (status != TT_OK) return status;
    if (!tt_array_room(o->list, o->capacity, n)) return tt_error_memory(err, "a run's details");
    for (size_t i = 0; i < n; i++)
        if (tt_detail_kind_of(&list[i]) == TT_DETAIL_OFF_CPU ||
            tt_detail_kind_of(&list[i]) == TT_DETAIL_FAULTS)
            o->list[o->n++] = list[i];
    return TT_OK;
}

static bool is_before(const tt_detail *d, uint32_t node, uint32_t lane)
{
    if (tt_detail_node(d) != node) return tt_detail_node(d) < node;
    return tt_detail_lane(d) < lane;
}

uint64_t tt_off_cpu_ticks(const tt_off_cpu *o, uint32_t node, uint32_t lane, uint64_t busy_ticks)
{
    const double busy_ns = (double)busy_ticks * o->ns_per_tick;
    double off_ns = 0;
    size_t low;
    tt_lower_bound(low, o->n, is_before(&o->list[low], node, lane));
    for (; low < o->n; low++) {
        const tt_detail *d = &o->list[low];
        if (tt_detail_node(d) != node || tt_detail_lane(d) != lane) break;
        double ns = tt_detail_kind_of(d) == TT_DETAIL_OFF_CPU ? (double)d->off_cpu.ns
                                                              : busy_ns - (double)d->faults.cpu_ns;
        if (ns >= LEAST_NS) off_ns += ns;
    }
    if (off_ns >= busy_ns) return busy_ticks;
    return (uint64_t)(off_ns / o->ns_per_tick);
}

void tt_off_cpu_free(tt_off_cpu *o)
{
    free(o->list);
    memset(o, 0, sizeof *o);
}
