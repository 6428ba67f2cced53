/* Whether memory or computing bounds the ops. */
#include "report/sections.h"

#include <math.h>

#define POINTS_SHOWN 16u
/* A higher multiple of the memory limit means that the limit is wrong. */
#define REACHED_MAX 1.5

/* Bytes of weights that a batch reads; 0: unknown. */
static double batch_bytes(const tt_analysis *a)
{
    const tt_heat_phase *h = a->heat.of_phase[TT_PHASE_GENERATE].batches
                                 ? &a->heat.of_phase[TT_PHASE_GENERATE]
                                 : &a->heat.of_phase[TT_PHASE_PROMPT];
    return a->has_heat && h->batches ? (double)h->distinct_bytes / (double)h->batches : 0;
}

/* Whether they fit into a cache, so that memory does not bound them. */
static bool fits_cache(const tt_analysis *a)
{
    return a->options.edges.bandwidth_from == TT_EDGES_MEASURED && batch_bytes(a) > 0 &&
           batch_bytes(a) < (double)a->options.edges.machine.cache_bytes;
}

bool tt_bound_sentence(const tt_analysis *a, char *out, size_t room)
{
    const tt_edges *e = &a->options.edges;
    const bool generated = a->generate.all_ns > 0;
    const tt_bounds *b = generated ? &a->generate : &a->bounds;
    const double memory = b->wall_ns[TT_BOUND_MEMORY], compute = b->wall_ns[TT_BOUND_COMPUTE];
    const double reached = memory > 0 ? b->bytes / memory * 1e9 / e->bytes_per_s : 0;
    const char *what = generated ? "Generating" : "The run";
    if (!a->timed || e->bytes_per_s <= 0 || e->flops_per_s <= 0 || b->all_ns <= 0) return false;
    if (b->lost_ns > TT_WHATIF_LOST_MOST * (b->lost_ns + b->all_ns)) {
        (void)snprintf(
            out, room,
            "Memory- or compute-bound could not be decided: for %.0f %% of the ops' time "
            "threads were off CPU or in the kernel, and what is left tells nothing of an "
            "undisturbed run.",
            100 * b->lost_ns / (b->lost_ns + b->all_ns));
        return true;
    }
    if (fits_cache(a)) {
        (void)snprintf(
            out, room,
            "Memory- or compute-bound could not be decided: a batch's weights (%.1f MiB) fit in "
            "this machine's last cache (%.1f MiB), whose speed was not measured.",
            batch_bytes(a) / 1048576, (double)e->machine.cache_bytes / 1048576);
        return true;
    }
    if (reached > REACHED_MAX) {
        (void)snprintf(out, room,
                       "Memory- or compute-bound could not be decided: it moved %.1f GB/s, %.1f "
                       "times the %.1f "
                       "GB/s %s. Measure again when the machine is idle, or give --bandwidth.",
                       b->bytes / memory, reached, e->bytes_per_s / 1e9,
                       e->bandwidth_from == TT_EDGES_GIVEN ? "given" : "measured now");
        return true;
    }
    if (memory >= compute && memory >= b->all_ns / 2)
        (void)snprintf(
            out, room,
            "%s is memory-bound: %.1f %% of the ops' time is in ops that move data for longer than "
            "they compute, at %.1f GB/s, %.2f of the %.1f GB/s %s%s.",
            what, 100 * memory / b->all_ns, b->bytes / memory, reached, e->bytes_per_s / 1e9,
            e->bandwidth_from == TT_EDGES_GIVEN ? "given for the machine"
                                                : "measured on this machine",
            reached > 1.05 ? " (more than all of it: caches helped, or the machine is busier now)"
                           : "");
    else if (compute > memory && compute >= b->all_ns / 2)
        (void)snprintf(out, room,
                       "%s is compute-bound: %.1f %% of the ops' time is in ops that take longer "
                       "to compute than to move their data, at the machine's best.",
                       what, 100 * compute / b->all_ns);
    else
        (void)snprintf(
            out, room,
            "%s is limited by no single thing: of the ops' time, %.1f %% is memory-bound, "
            "%.1f %% compute-bound, and %.1f %% in ops that come near neither limit.",
            what, 100 * memory / b->all_ns, 100 * compute / b->all_ns,
            100 * b->wall_ns[TT_BOUND_NEITHER] / b->all_ns);
    return true;
}

/* From the left end to the ridge, then along the peak. */
static void draw_roof(tt_series *s, double bytes_per_s, double peak, double from, double to)
{
    const double ridge = peak / bytes_per_s;
    if (bytes_per_s <= 0 || peak <= 0) return;
    tt_series_add(s, from, from * bytes_per_s / 1e9, 0, 0);
    if (ridge > from && ridge < to) tt_series_add(s, ridge, peak / 1e9, 0, 0);
    tt_series_add(s, to, fmin(to * bytes_per_s, peak) / 1e9, 0, 0);
}

static bool is_point(const tt_rollup *r)
{
    return r->flops > 0 && r->moved_bytes > 0 && r->quiet_ns > 0;
}

static void plot_roofline(tt_page *p, const tt_analysis *a)
{
    const tt_edges *e = &a->options.edges;
    double from = INFINITY, to = 0;
    for (size_t i = 0; i < a->points.n; i++) {
        const tt_rollup *r = &a->points.list[i];
        if (!is_point(r)) continue;
        from = fmin(from, r->flops / r->moved_bytes);
        to = fmax(to, r->flops / r->moved_bytes);
    }
    if (!(to > 0)) return;
    if (e->bytes_per_s > 0) to = fmax(to, fmax(e->flops_per_s, e->int8_ops_per_s) / e->bytes_per_s);
    from = pow(10, floor(log10(from)));
    to = pow(10, ceil(log10(to * 1.5)));
    tt_plot *plot = tt_page_plot(p, "Roofline (numbers: the rows of the table)",
                                 "FLOP per byte moved", "GFLOP/s");
    tt_series *ints = tt_plot_series(
        plot, e->int8_ops_per_s > 0 ? "limit, 8-bit integers" : "limit", TT_SERIES_LINE, 1, 4);
    tt_series *floats = tt_plot_series(plot, "limit, float32", TT_SERIES_LINE, 3, 4);
    tt_series *of[3];
    of[1] = tt_plot_series(plot, "ops, prompt", TT_SERIES_POINTS, 2, POINTS_SHOWN * 4);
    of[2] = tt_plot_series(plot, "ops, generate", TT_SERIES_POINTS, 4, POINTS_SHOWN * 4);
    of[0] = tt_plot_series(plot, "ops, other phases", TT_SERIES_POINTS, 5, POINTS_SHOWN * 4);
    if (!plot) return;
    plot->log_x = plot->log_y = plot->has_x = true;
    plot->x_min = from;
    plot->x_max = to;
    plot->height = 420;
    if (e->int8_ops_per_s > 0) {
        draw_roof(ints, e->bytes_per_s, e->int8_ops_per_s, from, to);
        draw_roof(floats, e->bytes_per_s, e->flops_per_s, from, to);
    } else {
        draw_roof(ints, e->bytes_per_s, e->flops_per_s, from, to);
    }
    for (size_t i = 0; i < a->points.n; i++) {
        const tt_rollup *r = &a->points.list[i];
        tt_series *s = of[r->phase <= TT_PHASE_GENERATE ? r->phase : 0];
        if (!is_point(r)) continue;
        tt_series_add(s, r->flops / r->moved_bytes, r->flops / r->quiet_ns, 0, 0);
        /* Points get their numbers in the table, because names would overlap. */
        tt_series_label(plot, s, i < POINTS_SHOWN ? tt_page_format(p, "%zu", i + 1) : "");
    }
    tt_plot_describe(plot, "A point for each kind of op, part of the network and phase: FLOP per "
                           "byte across, FLOP a second upwards, both logarithmic; and the limits "
                           "that memory and processor set. The table of ops has the same figures.");
}

static const char *point_flops(tt_page *p, const tt_rollup *r)
{
    if (!r->flops_known) return "not known";
    if (r->quiet_ns <= 0) return "";
    if (r->flops <= 0) return "nothing";
    return tt_page_format(p, "%s%s", r->flops_at_most ? "<= " : "",
                          tt_format_flops(p, r->flops / r->quiet_ns * 1e9));
}

static const char *point_bytes(tt_page *p, const tt_rollup *r)
{
    if (r->quiet_ns <= 0) return "";
    return tt_page_format(p, "%s%s", r->bytes_at_most ? "<= " : "",
                          tt_format_rate(p, r->moved_bytes / r->quiet_ns * 1e9));
}

static void table_of_points(tt_page *p, const tt_analysis *a)
{
    const tt_peaks peaks = tt_edges_peaks(&a->options.edges);
    const char *titles[] = {"Op",        "Part",   "Phase",    "Time>", "FLOP/byte>",
                            "Computes>", "Moves>", "Bound by", "Edge>"};
    tt_page_table *t = tt_page_table_begin(
        p, "What ops compute and move, and how much of the nearer limit that is", 9, titles);
    for (size_t i = 0; i < a->points.n && i < POINTS_SHOWN; i++) {
        const tt_rollup *r = &a->points.list[i];
        double share;
        tt_bound bound = tt_bound_of(&peaks, r, &share);
        bool intensity = r->flops_known && r->moved_bytes > 0;
        const char *cells[] = {tt_page_format(p, "%zu %s", i + 1, r->key),
                               r->part,
                               tt_phase_name(r->phase),
                               tt_percent(p, r->quiet_ns, a->bounds.all_ns),
                               intensity ? tt_format_number(p, r->flops / r->moved_bytes)
                                         : "not known",
                               point_flops(p, r),
                               point_bytes(p, r),
                               tt_bound_name(bound),
                               bound == TT_BOUND_UNKNOWN ? "" : tt_page_format(p, "%.2f", share)};
        tt_page_table_row(p, t, cells);
    }
}

static void write_edges(tt_page *p, const tt_analysis *a)
{
    const tt_edges *e = &a->options.edges;
    if (e->bandwidth_from == TT_EDGES_MEASURED || e->peak_from == TT_EDGES_MEASURED) {
        const tt_machine *m = &e->machine;
        tt_page_add(
            p, TT_BLOCK_NOTE,
            "Measured on this machine for this report, with %u thread%s, in %s: reading %s of "
            "memory (the last cache holds %s) at %s; multiplying and adding float32 numbers in %s "
            "registers at %s%s. The best millisecond of each; others who use the machine make it "
            "less.",
            m->threads, m->threads == 1 ? "" : "s", tt_format_ns(p, m->took_ns),
            tt_format_bytes(p, (double)m->buffer_bytes),
            m->cache_bytes ? tt_format_bytes(p, (double)m->cache_bytes) : "an unknown amount",
            tt_format_rate(p, m->read_bytes_per_s), m->vectors, tt_format_flops(p, m->flops_per_s),
            m->int8_ops_per_s > 0
                ? tt_page_format(
                      p, "; 8-bit integers, as ggml does with quantised weights, with %s at %s",
                      m->int8, tt_format_flops(p, m->int8_ops_per_s))
                : "");
    }
    if (e->bandwidth_from == TT_EDGES_GIVEN || e->peak_from == TT_EDGES_GIVEN)
        tt_page_add(p, TT_BLOCK_NOTE, "Given on the command line: %s%s%s.",
                    e->bandwidth_from == TT_EDGES_GIVEN
                        ? tt_page_format(p, "a bandwidth of %s", tt_format_rate(p, e->bytes_per_s))
                        : "",
                    e->bandwidth_from == TT_EDGES_GIVEN && e->peak_from == TT_EDGES_GIVEN ? " and "
                                                                                          : "",
                    e->peak_from == TT_EDGES_GIVEN
                        ? tt_page_format(p, "a peak of %s", tt_format_flops(p, e->flops_per_s))
                        : "");
    if (e->why_not[0])
        tt_page_add(p, TT_BLOCK_NOTE, "The machine's limits are not shown: %s.", e->why_not);
}

void tt_section_bound(tt_page *p, const tt_analysis *a)
{
    char text[640];
    tt_page_section_begin(p, "bound", "Memory-bound or compute-bound?");
    double bytes = 0, flops = 0;
    for (size_t i = 0; i < a->points.n; i++) {
        bytes += a->points.list[i].moved_bytes;
        flops += a->points.list[i].flops;
    }
    if (tt_bound_sentence(a, text, sizeof text))
        tt_page_add(p, TT_BLOCK_ANSWER, "%s", text);
    else if (a->timed && a->bounds.all_ns > 0)
        tt_page_add(p, TT_BLOCK_ANSWER,
                    "Not known, as the machine's limits were not measured: the ops move %s and "
                    "compute %s while they run.",
                    tt_format_rate(p, bytes / a->bounds.all_ns * 1e9),
                    tt_format_flops(p, flops / a->bounds.all_ns * 1e9));
    else
        tt_page_add(p, TT_BLOCK_ANSWER, "Not known: %s.",
                    a->timed ? "the trace holds no op with a known time"
                             : "the trace cannot turn its ticks into time");
    if (a->bounds.all_ns <= 0) return;
    if (fits_cache(a))
        tt_page_add(p, TT_BLOCK_NOTE,
                    "The limit is memory's all the same, below and in the table; what comes out of "
                    "a cache may pass it.");
    if (a->bounds.lost_ns > 0)
        tt_page_add(
            p, TT_BLOCK_NOTE,
            "Time in which the thread that ended an op was off CPU or in the kernel, or waited "
            "inside it for one that was off CPU, is left out: %s besides the %s here.",
            tt_format_ns(p, a->bounds.lost_ns), tt_format_ns(p, a->bounds.all_ns));
    plot_roofline(p, a);
    table_of_points(p, a);
    if (a->points.n > POINTS_SHOWN)
        tt_page_add(p, TT_BLOCK_NOTE, "%zu more, with less time, are left out; --json has all.",
                    a->points.n - POINTS_SHOWN);
    tt_page_add(
        p, TT_BLOCK_NOTE,
        "FLOPs and bytes follow from the ops' kinds, shapes and types (docs/report.md has "
        "the formulas): each source counts once, in its own type, and the result once; "
        "what comes out of a cache is not distinguished. An op that reaches less than a tenth "
        "of both limits is bound by neither: it is short, or waits for something else.");
    if (a->unknown_ops)
        tt_page_add(p, TT_BLOCK_NOTE,
                    "Of %s executions (%s of the ops' time) the FLOPs are not known: there is no "
                    "formula for their op.",
                    tt_format_count(p, (double)a->unknown_ops),
                    tt_percent(p, a->unknown_ns, a->bounds.all_ns));
    write_edges(p, a);
}
