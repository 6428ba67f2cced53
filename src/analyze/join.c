#include "analyze/join.h"

#include "base/array.h"
#include "base/order.h"
#include "base/saturate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_NS 10000 /* between two clocks: a smaller difference may be an error */

tt_status tt_off_cpu_load(tt_off_cpu *o, const tt_model *m, const tt_run *run, tt_error *err)
{
    const tt_detail *list;
    size_t n;
    o->n = 0;
    o->ns_per_tick = m->clock.ns_per_tick;
    o->known = m->off_cpu_known && m->clock.known && run->observed == TT_OBSERVED_HOOK;
    o->inside_known =
        o->known && (run->threads == 1 || (m->waits_inside_known && tt_model_waits_known(m, run)));
    if (!o->known) return TT_OK;
    tt_status status = tt_details_of_run(m->details, run->id, &list, &n, err);
    if (status != TT_OK) return status;
    if (!tt_array_room(o->list, o->capacity, n)) return tt_error_memory(err, "a run's details");
    for (size_t i = 0; i < n; i++)
        if (tt_detail_kind_of(&list[i]) == TT_DETAIL_OFF_CPU ||
            tt_detail_kind_of(&list[i]) == TT_DETAIL_FAULTS ||
            tt_detail_kind_of(&list[i]) == TT_DETAIL_WAIT_INSIDE || tt_detail_is_thread(&list[i]))
            o->list[o->n++] = list[i];
    return TT_OK;
}

static bool is_before(const tt_detail *d, uint32_t node, uint32_t lane)
{
    if (tt_detail_node(d) != node) return tt_detail_node(d) < node;
    return tt_detail_lane(d) < lane;
}

uint64_t tt_off_cpu_ticks(const tt_off_cpu *o, uint32_t node, uint32_t lane, uint64_t busy_ticks,
                          tt_waits_inside *inside)
{
    const double busy_ns = (double)busy_ticks * o->ns_per_tick;
    double off_ns = 0, inside_ns = 0, delay_ns = 0;
    uint64_t waited = 0;
    bool has_faults = false;
    size_t low;
    tt_lower_bound(low, o->n, is_before(&o->list[low], node, lane));
    for (; low < o->n; low++) {
        const tt_detail *d = &o->list[low];
        const enum tt_detail_kind kind = tt_detail_kind_of(d);
        if (tt_detail_node(d) != node || tt_detail_lane(d) != lane) break;
        double ns = 0;
        has_faults |= kind == TT_DETAIL_FAULTS;
        if (kind == TT_DETAIL_FAULTS) ns = busy_ns - (double)d->faults.cpu_ns;
        if (kind == TT_DETAIL_OFF_CPU) ns = (double)d->off_cpu.ns;
        if (ns >= LEAST_NS) off_ns += ns;
        if (kind == TT_DETAIL_THREAD && d->thread.delay_us != UINT32_MAX)
            delay_ns += 1e3 * (double)d->thread.delay_us;
        if (kind != TT_DETAIL_WAIT_INSIDE) continue;
        inside_ns += (double)d->off_cpu.ns;
        waited = tt_plus(waited, d->off_cpu.ticks);
    }
    /* The op's CPU time is that of its waits, too. */
    if (has_faults) off_ns = off_ns - inside_ns >= LEAST_NS ? off_ns - inside_ns : 0;
    const uint64_t off = off_ns >= busy_ns ? busy_ticks : (uint64_t)(off_ns / o->ns_per_tick);
    if (!inside) return off;
    const double delay = fmin(inside_ns, delay_ns) / o->ns_per_tick;
    inside->ticks = waited < busy_ticks - off ? waited : busy_ticks - off;
    inside->delay = delay < (double)inside->ticks ? (uint64_t)delay : inside->ticks;
    return off;
}

bool tt_off_cpu_delay(const tt_off_cpu *o, uint32_t node, uint32_t lane, uint64_t *ticks)
{
    double ns = 0;
    bool known = false;
    size_t low;
    tt_lower_bound(low, o->n, is_before(&o->list[low], node, lane));
    for (; low < o->n; low++) {
        const tt_detail *d = &o->list[low];
        if (tt_detail_node(d) != node || tt_detail_lane(d) != lane) break;
        if (tt_detail_kind_of(d) != TT_DETAIL_THREAD || d->thread.delay_us == UINT32_MAX) continue;
        known = true;
        ns += 1e3 * (double)d->thread.delay_us;
    }
    *ticks = (uint64_t)(ns / o->ns_per_tick);
    return known;
}

double tt_off_cpu_kernel_share(const tt_off_cpu *o)
{
    uint64_t system_us = 0, all_us = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (tt_detail_kind_of(&o->list[i]) != TT_DETAIL_THREAD) continue;
        system_us += o->list[i].thread.system_us;
        all_us += (uint64_t)o->list[i].thread.system_us + o->list[i].thread.user_us;
    }
    return all_us ? (double)system_us / (double)all_us : 0;
}

void tt_off_cpu_free(tt_off_cpu *o)
{
    free(o->list);
    memset(o, 0, sizeof *o);
}

/* More pieces than this are joined one by one. */
#define UNIFORM_LANES_MAX TT_OPS_LANE_MAX

static void add_piece(tt_join *j, const tt_run *run, const tt_piece_ops *p)
{
    const uint32_t n_nodes = j->graph->n_nodes;
    const tt_run_ticks ticks = tt_run_ticks_of(run, p->tick_shift);
    for (size_t i = 0; i < p->n; i++) {
        if (p->node[i] >= n_nodes) {
            j->orphan++;
            continue;
        }
        tt_joined *op = &j->ops[p->node[i]];
        uint64_t start = p->start[i], arrive = p->arrive[i], release = p->release[i];
        if (op->stamp != j->stamp) {
            *op = (tt_joined){.start = start, .stamp = j->stamp};
            j->touched[j->n_touched++] = p->node[i];
        }
        if (start < op->start) op->start = start;
        if (op->lanes == 0 || arrive > op->arrive) {
            op->arrive = arrive;
            op->last_start = start;
            op->last_lane = p->lane;
        }
        if (release > op->release) op->release = release;
        op->busy += arrive - start;
        op->wait += release - arrive;
        op->lanes++;
        op->covers = p->covers[i];
        op->open |= p->open;
        op->bent |= !p->open && tt_times_are_bent(ticks, start, arrive, release);
    }
}

static bool make_room(tt_join *j, size_t need)
{
    size_t had = j->capacity;
    return tt_array_room_zeroed(j->ops, had, need) && tt_array_room(j->touched, j->capacity, need);
}

/* Whether each lane executed the same nodes in one piece, as lanes normally do, except in runs that
 * the end of a chunk cuts in two. Nodes ascend within a piece. */
static bool is_uniform(const tt_join *j, size_t n)
{
    const tt_piece_ops *a = &j->lanes[0];
    if (a->open || a->n == 0 || a->node[a->n - 1] >= j->graph->n_nodes) return false;
    for (size_t i = 1; i < n; i++) {
        const tt_piece_ops *b = &j->lanes[i];
        if (b->lane == b[-1].lane || b->n != a->n || b->open || b->tick_shift != a->tick_shift ||
            memcmp(a->node, b->node, a->n * sizeof *a->node) != 0 ||
            memcmp(a->covers, b->covers, a->n) != 0)
            return false;
    }
    return true;
}

/* The same as add_piece for each lane, without the checks. */
static void add_uniform(tt_join *j, const tt_run *run, size_t n_lanes)
{
    const tt_piece_ops *lanes = j->lanes;
    const size_t n = lanes[0].n;
    const tt_run_ticks ticks = tt_run_ticks_of(run, lanes[0].tick_shift);
    for (size_t i = 0; i < n; i++) {
        uint64_t start = lanes[0].start[i], arrive = lanes[0].arrive[i];
        uint64_t release = lanes[0].release[i], busy = arrive - start, wait = release - arrive;
        bool bent = tt_times_are_bent(ticks, start, arrive, release);
        size_t last = 0;
        for (size_t l = 1; l < n_lanes; l++) {
            uint64_t s = lanes[l].start[i], a = lanes[l].arrive[i], r = lanes[l].release[i];
            busy += a - s;
            wait += r - a;
            bent |= tt_times_are_bent(ticks, s, a, r);
            start = s < start ? s : start;
            last = a > arrive ? l : last;
            arrive = a > arrive ? a : arrive;
            release = r > release ? r : release;
        }
        j->ops[lanes[0].node[i]] = (tt_joined){.start = start,
                                               .arrive = arrive,
                                               .release = release,
                                               .busy = busy,
                                               .wait = wait,
                                               .last_start = lanes[last].start[i],
                                               .last_lane = lanes[last].lane,
                                               .stamp = j->stamp,
                                               .lanes = (uint32_t)n_lanes,
                                               .covers = lanes[0].covers[i],
                                               .bent = bent};
    }
    memcpy(j->touched, lanes[0].node, n * sizeof *j->touched);
    j->n_touched = (uint32_t)n;
}

static tt_status add_one_by_one(tt_join *j, const tt_model *m, const tt_run *run,
                                const tt_piece *pieces, size_t n, tt_error *err)
{
    for (size_t i = 0; i < n; i++) {
        tt_piece_ops p;
        tt_status status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) return status;
        if (j->graph)
            add_piece(j, run, &p);
        else
            j->orphan += p.n;
    }
    return TT_OK;
}

static tt_status add_off_cpu(tt_join *j, const tt_model *m, const tt_run *run,
                             const tt_piece *pieces, size_t n, tt_error *err)
{
    tt_status status = tt_off_cpu_load(&j->off_cpu, m, run, err);
    for (size_t i = 0; status == TT_OK && j->off_cpu.n && i < n; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        for (size_t k = 0; status == TT_OK && k < p.n; k++) {
            if (p.node[k] >= j->graph->n_nodes || p.arrive[k] < p.start[k]) continue;
            tt_joined *op = &j->ops[p.node[k]];
            tt_waits_inside inside;
            const uint64_t ticks =
                tt_off_cpu_ticks(&j->off_cpu, p.node[k], p.lane, p.arrive[k] - p.start[k], &inside);
            const uint64_t off = ticks + inside.delay + (p.start[k] - op->start);
            op->off_cpu += ticks;
            op->inside += inside.ticks;
            if (p.lane == op->last_lane && p.start[k] == op->last_start) {
                op->last_off_cpu = ticks;
                op->last_inside = inside;
                continue;
            }
            if (off > op->other_off) {
                op->other_off = off;
                op->other_lane = p.lane;
            }
            if (op->inner_inside && op->inner_inside <= inside.ticks) continue;
            op->inner_inside = inside.ticks + 1;
            op->inner_lane = p.lane;
        }
    }
    return status;
}

static tt_status join_pieces(tt_join *j, const tt_model *m, const tt_run *r, const tt_piece *pieces,
                             size_t n, tt_error *err)
{
    if (j->graph && n <= UNIFORM_LANES_MAX && tt_array_room(j->lanes, j->lanes_capacity, n)) {
        bool together;
        tt_status status = tt_pieces_get_together(m->pieces, pieces, n, j->lanes, &together, err);
        if (status != TT_OK) return status;
        if (together && is_uniform(j, n)) {
            add_uniform(j, r, n);
            return TT_OK;
        }
    }
    return add_one_by_one(j, m, r, pieces, n, err);
}

/* The work depends on records only: a large graph of which little ran is cheap. */
tt_status tt_join_run(tt_join *j, const tt_model *m, uint32_t run, tt_error *err)
{
    const tt_run *r = &m->runs[run];
    const tt_piece *pieces;
    size_t n;
    tt_status status = tt_pieces_of_run(m->pieces, r->id, &pieces, &n, err);
    if (status != TT_OK) return status;
    j->graph = r->graph == TT_NONE ? NULL : &m->graphs[r->graph];
    j->n_touched = 0;
    if (n > 0 && j->graph && !make_room(j, j->graph->n_nodes))
        return tt_error_memory(err, "a run's ops");
    if (++j->stamp == 0) {
        /* After 2^32 runs, old stamps must not match new ones. */
        if (j->capacity) memset(j->ops, 0, j->capacity * sizeof *j->ops);
        j->stamp = 1;
    }
    if (n == 0) return TT_OK;
    status = join_pieces(j, m, r, pieces, n, err);
    if (status == TT_OK && j->graph) status = add_off_cpu(j, m, r, pieces, n, err);
    return status;
}

void tt_join_free(tt_join *j)
{
    free(j->ops);
    free(j->touched);
    free(j->lanes);
    tt_off_cpu_free(&j->off_cpu);
    memset(j, 0, sizeof *j);
}
