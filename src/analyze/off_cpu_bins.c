#include "analyze/off_cpu_bins.h"

#include "analyze/off_cpu.h"
#include "analyze/timeline/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_AN_OP 16u

tt_status tt_off_cpu_bins_begin(tt_off_cpu_bins *b, double from_ns, double to_ns,
                                uint32_t n_buckets, uint32_t n_tracks, uint32_t cells_max,
                                tt_error *err)
{
    if ((uint64_t)n_tracks * n_buckets > cells_max) n_buckets = cells_max / n_tracks;
    const size_t n = (size_t)n_tracks * n_buckets;
    *b = (tt_off_cpu_bins){.from_ns = from_ns,
                           .to_ns = to_ns,
                           .n_buckets = n_buckets,
                           .n_tracks = n_tracks,
                           .off_ns = calloc(n + 1, sizeof *b->off_ns),
                           .steps_left = n};
    return b->off_ns ? TT_OK : tt_error_memory(err, "the time off CPU");
}

void tt_off_cpu_bins_free(tt_off_cpu_bins *b)
{
    free(b->off_ns);
    memset(b, 0, sizeof *b);
}

static double width_of(const tt_off_cpu_bins *b)
{
    return (b->to_ns - b->from_ns) / b->n_buckets;
}

/* Ops of a lane do not overlap, so they visit each bucket about once; in damaged traces the excess
 * is left out. */
void tt_off_cpu_bins_add(tt_off_cpu_bins *b, uint32_t track, double start_ns, double end_ns,
                         double off_ns)
{
    const double width = width_of(b);
    const double begin = fmax(start_ns, b->from_ns), end = fmin(end_ns, b->to_ns);
    if (track >= b->n_tracks || !b->n_buckets || !(begin < end)) return;
    const uint32_t last = b->n_buckets - 1;
    const uint32_t i = (uint32_t)fmin(last, (begin - b->from_ns) / width);
    const uint32_t k = (uint32_t)fmin(last, (end - b->from_ns) / width);
    const double share = off_ns / (end_ns - start_ns);
    b->steps_left += STEPS_AN_OP;
    for (uint32_t at = i; at <= k && b->steps_left; at++, b->steps_left--) {
        const double left = fmax(begin, b->from_ns + width * at);
        const double right = fmin(end, b->from_ns + width * (at + 1));
        b->off_ns[(size_t)track * b->n_buckets + at] += share * fmax(0, right - left);
    }
}

typedef struct merging {
    tt_off_cpu_bins *to;
    const tt_timeline *t;
} merging;

static bool merge_op(void *context, const tt_off_cpu_op *op)
{
    const merging *g = context;
    tt_off_cpu_bins_add(g->to, tt_timeline_track_of(g->t, op->run, op->lane), op->start_ns,
                        op->end_ns, op->off_ns);
    return true;
}

tt_status tt_off_cpu_bins_find(tt_off_cpu_bins *b, const tt_model *m, uint32_t cells_max,
                               tt_error *err)
{
    tt_timeline *t;
    double from_ns, to_ns;
    memset(b, 0, sizeof *b);
    tt_status status = tt_timeline_new(m, &t, err);
    if (status != TT_OK) return status;
    tt_timeline_extent(t, &from_ns, &to_ns);
    status = tt_off_cpu_bins_begin(b, from_ns, to_ns, cells_max, tt_timeline_tracks(t, NULL),
                                   cells_max, err);
    if (status == TT_OK)
        status = tt_off_cpu_walk(m, from_ns, to_ns, merge_op, &(merging){b, t}, err);
    tt_timeline_free(t);
    return status;
}

void tt_off_cpu_bins_cut(const tt_off_cpu_bins *from, tt_off_cpu_bins *to)
{
    const double width = width_of(from);
    const double first = fmax(0, floor((to->from_ns - from->from_ns) / width));
    const double end = fmin(from->n_buckets, ceil((to->to_ns - from->from_ns) / width));
    for (uint32_t track = 0; track < from->n_tracks; track++)
        for (double i = first; i < end; i++) {
            const double off_ns = from->off_ns[(size_t)track * from->n_buckets + (size_t)i];
            const double begin = from->from_ns + width * i;
            if (off_ns > 0) tt_off_cpu_bins_add(to, track, begin, begin + width, off_ns);
        }
}
