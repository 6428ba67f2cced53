/* Where the time went, what bounds it, who waited for whom. */
#include "report/sections.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 12u
#define LANES_SHOWN 16u
#define POINTS_SHOWN 16u
/* What was moved cannot be so many times what memory gives: then the edge is wrong. */
#define REACHED_MAX 1.5

/* --- where the time went --- */

/* Where ops were seen as wholes, their waiting is in them. */
static const char *compute_word(const tt_analysis *a)
{
    return a->threads_observed ? "compute" : "in ops";
}

static const char *wait_word(const tt_analysis *a)
{
    return a->threads_observed ? "wait at barriers" : "";
}

static const char *wait_share(tt_page *p, const tt_analysis *a, double wait_ns)
{
    return a->threads_observed ? tt_percent(p, wait_ns, a->total_ns) : "";
}

static void rollup_row(tt_page *p, tt_page_table *t, const tt_analysis *a, const char *key,
                       const tt_rollup *r)
{
    const char *cells[] = {key,
                           tt_percent(p, r->compute_ns + r->wait_ns, a->total_ns),
                           tt_percent(p, r->compute_ns, a->total_ns),
                           wait_share(p, a, r->wait_ns),
                           r->timed ? tt_say_ns(p, r->wall_ns) : "",
                           tt_say_count(p, (double)r->count),
                           r->timed ? tt_say_ns(p, r->wall_ns / (double)r->timed) : ""};
    tt_page_table_row(p, t, cells);
}

static tt_page_table *rollup_table(tt_page *p, const char *caption, const char *first)
{
    const char *titles[] = {first,    "Share>", "Compute>", "Wait>", "Time of the ops>",
                            "Times>", "Each>"};
    return tt_page_table_begin(p, caption, 7, titles);
}

static void plot_parts(tt_page *p, const tt_analysis *a)
{
    char text[512];
    const size_t n = a->by_part.n < ROWS_MAX ? a->by_part.n : ROWS_MAX;
    tt_plot *plot =
        tt_page_plot(p, "The threads' time by part of the network", "% of the threads' time", "");
    tt_series *compute = tt_plot_series(plot, compute_word(a), TT_SERIES_BARS, 1, n);
    tt_series *wait = tt_plot_series(plot, wait_word(a), TT_SERIES_BARS, 2, n);
    tt_series *rest = tt_plot_series(plot, "in no op", TT_SERIES_BARS, 3, 2);
    if (!plot) return;
    plot->y_rows = true;
    plot->has_x = true;
    plot->height = 110 + 26 * ((unsigned)n + 2);
    const double all = a->total_ns / 100;
    for (size_t i = 0; i < n; i++) {
        const tt_rollup *r = &a->by_part.list[i];
        double c = r->compute_ns / all, w = r->wait_ns / all;
        tt_plot_label(plot, r->key);
        tt_series_add(compute, 0, (double)i, c, 0);
        tt_series_add(wait, c, (double)i, c + w, 0);
        plot->x_max = fmax(plot->x_max, c + w);
    }
    tt_plot_label(plot, "idle in a batch");
    tt_plot_label(plot, "between batches");
    tt_series_add(rest, 0, (double)n, a->idle_ns / all, 0);
    tt_series_add(rest, 0, (double)n + 1, a->between_ns / all, 0);
    plot->x_max = fmax(plot->x_max, fmax(a->idle_ns, a->between_ns) / all) * 1.04;
    (void)snprintf(
        text, sizeof text,
        "Bars: of the threads' time, the share of each part of the network, computing and "
        "waiting, and the shares in no op. The table below has the same figures.");
    tt_plot_describe(plot, text);
}

static void plot_layers(tt_page *p, const tt_analysis *a)
{
    const size_t n = a->by_layer.n;
    size_t first = 0;
    while (first < n && a->by_layer.list[first].number < 0)
        first++;
    if (n - first < 2) return;
    tt_plot *plot =
        tt_page_plot(p, "The threads' time by layer", "layer", "% of the threads' time");
    tt_series *compute = tt_plot_series(plot, compute_word(a), TT_SERIES_COLUMNS, 1, n);
    tt_series *wait = tt_plot_series(plot, wait_word(a), TT_SERIES_COLUMNS, 2, n);
    if (!plot) return;
    const double all = a->total_ns / 100;
    plot->has_x = plot->has_y = plot->x_integers = true;
    for (size_t i = first; i < n; i++) {
        const tt_rollup *r = &a->by_layer.list[i];
        double c = r->compute_ns / all, w = r->wait_ns / all;
        tt_series_add(compute, (double)r->number, 0, 0, c);
        tt_series_add(wait, (double)r->number, c, 0, c + w);
        plot->y_max = fmax(plot->y_max, (c + w) * 1.08);
    }
    plot->x_min = (double)a->by_layer.list[first].number - 0.6;
    plot->x_max = (double)a->by_layer.list[n - 1].number + 0.6;
    plot->height = 260;
    tt_plot_describe(plot,
                     "Columns: the share of the threads' time of each layer, computing below and "
                     "waiting above. The table of layers has the same figures.");
}

static void tables_of_time(tt_page *p, const tt_analysis *a)
{
    tt_page_table *t = rollup_table(p, "By part of the network", "Part");
    for (size_t i = 0; i < a->by_part.n && i < ROWS_MAX; i++)
        rollup_row(p, t, a, a->by_part.list[i].key, &a->by_part.list[i]);
    const char *rest[] = {
        "idle in a batch", tt_percent(p, a->idle_ns, a->total_ns), "", "", "", "", ""};
    const char *between[] = {
        "between batches", tt_percent(p, a->between_ns, a->total_ns), "", "", "", "", ""};
    const char *all[] = {"all",
                         tt_percent(p, a->total_ns, a->total_ns),
                         tt_percent(p, a->compute_ns, a->total_ns),
                         wait_share(p, a, a->wait_ns),
                         "",
                         "",
                         ""};
    tt_page_table_row(p, t, rest);
    tt_page_table_row(p, t, between);
    tt_page_table_row(p, t, all);
    t = rollup_table(p, "By op", "Op");
    for (size_t i = 0; i < a->by_op.n && i < ROWS_MAX; i++)
        rollup_row(p, t, a, a->by_op.list[i].key, &a->by_op.list[i]);
    if (a->by_op.n > ROWS_MAX)
        tt_page_say(p, TT_BLOCK_NOTE, "%zu more ops are left out: tensortrace stats shows all.",
                    a->by_op.n - ROWS_MAX);
    if (a->by_layer.n < 2) return;
    t = rollup_table(p, "By layer", "Layer");
    if (t) t->folded = true;
    for (size_t i = 0; i < a->by_layer.n; i++)
        rollup_row(p, t, a, tt_say_layer(p, a->by_layer.list[i].number), &a->by_layer.list[i]);
}

static void say_shares(tt_page *p, const tt_analysis *a)
{
    const char *span = tt_say_ns(p, tt_model_span_ns(a->m, a->work.span_ticks));
    if (a->threads_observed)
        tt_page_say(p, TT_BLOCK_ANSWER,
                    "Of the time of %u thread%s over %s, %s was computing, %s waiting at a barrier "
                    "for other threads, %s idle within a batch, and %s between batches.",
                    a->lanes, a->lanes == 1 ? "" : "s", span,
                    tt_percent(p, a->compute_ns, a->total_ns),
                    tt_percent(p, a->wait_ns, a->total_ns), tt_percent(p, a->idle_ns, a->total_ns),
                    tt_percent(p, a->between_ns, a->total_ns));
    else
        tt_page_say(
            p, TT_BLOCK_ANSWER,
            "Of %s, %s was spent in ops, %s in a batch but in no op, and %s between batches; "
            "how much of it threads waited for each other was not observed.",
            span, tt_percent(p, a->compute_ns, a->total_ns), tt_percent(p, a->idle_ns, a->total_ns),
            tt_percent(p, a->between_ns, a->total_ns));
}

void tt_section_time(tt_page *p, const tt_analysis *a)
{
    tt_page_section_begin(p, "time", "Where did the time go?");
    if (!a->timed || a->total_ns <= 0) {
        tt_page_say(p, TT_BLOCK_ANSWER, "Not known: %s.",
                    a->timed ? "the trace holds no op with a known time"
                             : "the trace cannot turn its ticks into time");
        return;
    }
    say_shares(p, a);
    if (a->by_part.n > 0 && a->by_op.n > 0)
        tt_page_say(
            p, TT_BLOCK_TEXT,
            "The part that took most is %s with %s, the op that took most is %s with %s.",
            a->by_part.list[0].key,
            tt_percent(p, a->by_part.list[0].compute_ns + a->by_part.list[0].wait_ns, a->total_ns),
            a->by_op.list[0].key,
            tt_percent(p, a->by_op.list[0].compute_ns + a->by_op.list[0].wait_ns, a->total_ns));
    plot_parts(p, a);
    plot_layers(p, a);
    tables_of_time(p, a);
    tt_page_say(
        p, TT_BLOCK_NOTE,
        "A thread computes from an op's start until it has done its part; then it waits until all "
        "have. What is left of a batch is idle: before the first op, behind the last one, between "
        "two. Barriers inside an op are part of its compute. Between batches the program samples, "
        "prints, or waits for its user; all threads count there, too.");
    if (a->work.overlap_ticks)
        tt_page_say(p, TT_BLOCK_NOTE,
                    "Batches overlap for %s: that time counts once for each of them.",
                    tt_say_ns(p, tt_model_span_ns(a->m, a->work.overlap_ticks)));
    if (a->summary.runs_called_back)
        tt_page_say(
            p, TT_BLOCK_NOTE,
            "%s of %s graph computations were seen by the scheduler's callback: there an op is "
            "seen as a whole, and its threads and their waiting are not observed.",
            tt_say_count(p, (double)a->summary.runs_called_back), tt_say_count(p, a->m->n_runs));
}

/* --- what bounds it --- */

static const char *phase_word(uint8_t phase)
{
    return phase == TT_PHASE_PROMPT     ? "prompt"
           : phase == TT_PHASE_GENERATE ? "generate"
                                        : "unknown";
}

/* Weights that a batch reads; 0: not known. */
static double batch_bytes(const tt_analysis *a)
{
    const tt_heat_phase *h = a->heat.generate.batches ? &a->heat.generate : &a->heat.prompt;
    return a->has_heat && h->batches ? (double)h->distinct_bytes / (double)h->batches : 0;
}

/* Then memory's edge is not theirs. */
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
    if (fits_cache(a)) {
        (void)snprintf(
            out, room,
            "What bounds the run is not told: the %.1f MiB of weights that a batch reads "
            "fit into this machine's last cache (%.1f MiB), whose speed was not measured.",
            batch_bytes(a) / 1048576, (double)e->machine.cache_bytes / 1048576);
        return true;
    }
    if (reached > REACHED_MAX) {
        (void)snprintf(out, room,
                       "What bounds the run is not told: it moved %.1f GB/s, %.1f times the %.1f "
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
        (void)snprintf(
            out, room,
            "%s is compute-bound: %.1f %% of the ops' time is in ops that take longer to "
            "compute than to move their data, at the machine's best.",
            what, 100 * compute / b->all_ns);
    else
        (void)snprintf(
            out, room,
            "%s is bound by no single thing: of the ops' time, %.1f %% is memory-bound, %.1f %% "
            "compute-bound, and %.1f %% in ops that come near neither edge.",
            what, 100 * memory / b->all_ns, 100 * compute / b->all_ns,
            100 * b->wall_ns[TT_BOUND_NEITHER] / b->all_ns);
    return true;
}

/* From the left end to the ridge, and on at the peak. */
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
    return r->flops > 0 && r->moved_bytes > 0 && r->wall_ns > 0;
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
    tt_series *ints = tt_plot_series(plot, e->int8_ops_per_s > 0 ? "edge, 8-bit integers" : "edge",
                                     TT_SERIES_LINE, 1, 4);
    tt_series *floats = tt_plot_series(plot, "edge, float32", TT_SERIES_LINE, 3, 4);
    tt_series *of[3];
    of[1] = tt_plot_series(plot, "ops, prompt", TT_SERIES_POINTS, 2, POINTS_SHOWN * 4);
    of[2] = tt_plot_series(plot, "ops, generate", TT_SERIES_POINTS, 4, POINTS_SHOWN * 4);
    of[0] = tt_plot_series(plot, "ops, phase unknown", TT_SERIES_POINTS, 5, POINTS_SHOWN * 4);
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
        tt_series *s = of[r->phase < 3 ? r->phase : 0];
        if (!is_point(r)) continue;
        tt_series_add(s, r->flops / r->moved_bytes, r->flops / r->wall_ns, 0, 0);
        /* Their numbers in the table: names would lie on top of each other. */
        tt_series_label(plot, s, i < POINTS_SHOWN ? tt_page_format(p, "%zu", i + 1) : "");
    }
    tt_plot_describe(
        plot, "A point for each kind of op, part of the network and phase: FLOP per byte across, "
              "FLOP a second upwards, both logarithmic; and the edges that memory and processor "
              "set. The table of ops has the same figures.");
}

static const char *point_flops(tt_page *p, const tt_rollup *r)
{
    if (!r->flops_known) return "not known";
    if (r->wall_ns <= 0) return "";
    if (r->flops <= 0) return "nothing";
    return tt_page_format(p, "%s%s", r->flops_at_most ? "<= " : "",
                          tt_say_flops(p, r->flops / r->wall_ns * 1e9));
}

static const char *point_bytes(tt_page *p, const tt_rollup *r)
{
    if (r->wall_ns <= 0) return "";
    return tt_page_format(p, "%s%s", r->bytes_at_most ? "<= " : "",
                          tt_say_rate(p, r->moved_bytes / r->wall_ns * 1e9));
}

static void table_of_points(tt_page *p, const tt_analysis *a)
{
    const char *titles[] = {"Op",        "Part",   "Phase",    "Time>", "FLOP/byte>",
                            "Computes>", "Moves>", "Bound by", "Edge>"};
    tt_page_table *t = tt_page_table_begin(
        p, "What ops compute and move, and how much of the nearer edge that is", 9, titles);
    for (size_t i = 0; i < a->points.n && i < POINTS_SHOWN; i++) {
        const tt_rollup *r = &a->points.list[i];
        double share;
        tt_bound bound = tt_bound_of(&a->options.edges, r, &share);
        bool intensity = r->flops_known && r->moved_bytes > 0;
        const char *cells[] = {tt_page_format(p, "%zu %s", i + 1, r->key),
                               r->part,
                               phase_word(r->phase),
                               tt_percent(p, r->wall_ns, a->bounds.all_ns),
                               intensity ? tt_say_number(p, r->flops / r->moved_bytes)
                                         : "not known",
                               point_flops(p, r),
                               point_bytes(p, r),
                               tt_bound_name(bound),
                               bound == TT_BOUND_UNKNOWN ? "" : tt_page_format(p, "%.2f", share)};
        tt_page_table_row(p, t, cells);
    }
}

static void say_edges(tt_page *p, const tt_analysis *a)
{
    const tt_edges *e = &a->options.edges;
    if (e->bandwidth_from == TT_EDGES_MEASURED || e->peak_from == TT_EDGES_MEASURED) {
        const tt_machine *m = &e->machine;
        tt_page_say(
            p, TT_BLOCK_NOTE,
            "Measured on this machine for this report, with %u thread%s, in %s: reading %s of "
            "memory "
            "(the last cache holds %s) at %s; multiplying and adding float32 numbers in %s "
            "registers at "
            "%s%s. The best millisecond of each; others who use the machine make it less.",
            m->threads, m->threads == 1 ? "" : "s", tt_say_ns(p, m->took_ns),
            tt_say_bytes(p, (double)m->buffer_bytes),
            m->cache_bytes ? tt_say_bytes(p, (double)m->cache_bytes) : "an unknown amount",
            tt_say_rate(p, m->read_bytes_per_s), m->vectors, tt_say_flops(p, m->flops_per_s),
            m->int8_ops_per_s > 0
                ? tt_page_format(
                      p, "; 8-bit integers, as ggml does with quantised weights, with %s at %s",
                      m->int8, tt_say_flops(p, m->int8_ops_per_s))
                : "");
    }
    if (e->bandwidth_from == TT_EDGES_GIVEN || e->peak_from == TT_EDGES_GIVEN)
        tt_page_say(p, TT_BLOCK_NOTE, "Given on the command line: %s%s%s.",
                    e->bandwidth_from == TT_EDGES_GIVEN
                        ? tt_page_format(p, "a bandwidth of %s", tt_say_rate(p, e->bytes_per_s))
                        : "",
                    e->bandwidth_from == TT_EDGES_GIVEN && e->peak_from == TT_EDGES_GIVEN ? " and "
                                                                                          : "",
                    e->peak_from == TT_EDGES_GIVEN
                        ? tt_page_format(p, "a peak of %s", tt_say_flops(p, e->flops_per_s))
                        : "");
    if (e->why_not[0])
        tt_page_say(p, TT_BLOCK_NOTE, "The machine's own edges are not shown: %s.", e->why_not);
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
        tt_page_say(p, TT_BLOCK_ANSWER, "%s", text);
    else if (a->timed && a->bounds.all_ns > 0)
        tt_page_say(
            p, TT_BLOCK_ANSWER,
            "Not told without the machine's edges: the ops move %s and compute %s while they run.",
            tt_say_rate(p, bytes / a->bounds.all_ns * 1e9),
            tt_say_flops(p, flops / a->bounds.all_ns * 1e9));
    else
        tt_page_say(p, TT_BLOCK_ANSWER, "Not known: %s.",
                    a->timed ? "the trace holds no op with a known time"
                             : "the trace cannot turn its ticks into time");
    if (a->bounds.all_ns <= 0) return;
    if (fits_cache(a))
        tt_page_say(p, TT_BLOCK_NOTE,
                    "The edge is memory's all the same, below and in the table; what comes out of "
                    "a cache may pass it.");
    plot_roofline(p, a);
    table_of_points(p, a);
    if (a->points.n > POINTS_SHOWN)
        tt_page_say(p, TT_BLOCK_NOTE, "%zu more, with less time, are left out; --json has all.",
                    a->points.n - POINTS_SHOWN);
    tt_page_say(
        p, TT_BLOCK_NOTE,
        "FLOPs and bytes follow from the ops' kinds, shapes and types (docs/report.md has the "
        "formulas): each source counts once, in its own type, and the result once; what comes out "
        "of a "
        "cache is not told apart. An op that reaches less than a tenth of both edges is bound by "
        "neither: it is short, or waits for something else.");
    if (a->unknown_ops)
        tt_page_say(p, TT_BLOCK_NOTE,
                    "Of %s executions (%s of the ops' time) the FLOPs are not known: there is no "
                    "formula for "
                    "their op.",
                    tt_say_count(p, (double)a->unknown_ops),
                    tt_percent(p, a->unknown_ns, a->bounds.all_ns));
    say_edges(p, a);
}

/* --- who waited for whom --- */

static void plot_lanes(tt_page *p, const tt_analysis *a, uint32_t n)
{
    const tt_work *w = &a->work;
    tt_plot *plot = tt_page_plot(p, "What each thread did", "% of the run", "");
    tt_series *compute = tt_plot_series(plot, "compute", TT_SERIES_BARS, 1, n);
    tt_series *wait = tt_plot_series(plot, "wait", TT_SERIES_BARS, 2, n);
    tt_series *rest = tt_plot_series(plot, "in no op", TT_SERIES_BARS, 3, n);
    if (!plot) return;
    const double all = tt_model_span_ns(a->m, w->span_ticks) / 100;
    plot->y_rows = plot->has_x = true;
    plot->x_max = 100;
    plot->height = 100 + 26 * n;
    for (uint32_t i = 0; i < n; i++) {
        double c = tt_model_span_ns(a->m, w->lanes[i].busy_ticks) / all;
        double s = tt_model_span_ns(a->m, w->lanes[i].wait_ticks) / all;
        tt_plot_label(plot, tt_page_format(p, "thread %u", i));
        tt_series_add(compute, 0, i, c, 0);
        tt_series_add(wait, c, i, c + s, 0);
        tt_series_add(rest, c + s, i, fmax(100, c + s), 0);
    }
    tt_plot_describe(
        plot, "A bar a thread: the share of the run in which it computed, waited at barriers, or "
              "was in no op.");
}

static void table_of_waits(tt_page *p, const tt_analysis *a, uint32_t n)
{
    const tt_work *w = &a->work;
    const char *titles[TT_PAGE_COLUMNS_MAX], *cells[TT_PAGE_COLUMNS_MAX];
    const uint32_t shown = n < TT_PAGE_COLUMNS_MAX - 2 ? n : TT_PAGE_COLUMNS_MAX - 2;
    titles[0] = "Waiting thread";
    for (uint32_t i = 0; i < shown; i++)
        titles[i + 1] = tt_page_format(p, "for %u>", i);
    titles[shown + 1] = "In all>";
    tt_page_table *t = tt_page_table_begin(
        p, "How long each thread waited for which one, the last to arrive", shown + 2, titles);
    for (uint32_t i = 0; i < shown; i++) {
        cells[0] = tt_page_format(p, "thread %u", i);
        for (uint32_t k = 0; k < shown; k++)
            cells[k + 1] =
                tt_say_ns(p, tt_model_span_ns(a->m, w->waits[(size_t)i * w->n_lanes + k]));
        cells[shown + 1] = tt_say_ns(p, tt_model_span_ns(a->m, w->lanes[i].wait_ticks));
        tt_page_table_row(p, t, cells);
    }
    cells[0] = "was the last";
    for (uint32_t k = 0; k < shown; k++)
        cells[k + 1] = tt_percent(p, (double)w->lanes[k].last, (double)w->barriers);
    cells[shown + 1] = tt_say_count(p, (double)w->barriers);
    tt_page_table_row(p, t, cells);
    if (shown < n)
        tt_page_say(p, TT_BLOCK_NOTE, "%u more threads are left out; --json has all.", n - shown);
}

void tt_section_waits(tt_page *p, const tt_analysis *a)
{
    const tt_work *w = &a->work;
    uint32_t most = 0;
    uint64_t for_most = 0;
    tt_page_section_begin(p, "waits", "Which threads waited for whom?");
    if (!a->timed || w->barriers == 0 || !w->waits) {
        tt_page_say(p, TT_BLOCK_ANSWER, "%s",
                    a->summary.runs_called_back && !a->summary.runs_hooked
                        ? "Not observed: the scheduler's callback sees ops, not threads."
                    : w->n_lanes == 1
                        ? "Nobody: the ops ran on one thread."
                        : "Not observed: no op of two or more threads has a known end.");
        return;
    }
    for (uint32_t i = 0; i < w->n_lanes; i++)
        if (w->lanes[i].last > w->lanes[most].last) most = i;
    for (uint32_t i = 0; i < w->n_lanes; i++)
        if (i != most) for_most += w->waits[(size_t)i * w->n_lanes + most];
    tt_page_say(p, TT_BLOCK_ANSWER,
                "Thread %u was the last to arrive at %s of %s barriers, and the others waited %s "
                "for it; all "
                "threads together waited %s, %s of their time.",
                most, tt_percent(p, (double)w->lanes[most].last, (double)w->barriers),
                tt_say_count(p, (double)w->barriers),
                tt_say_ns(p, tt_model_span_ns(a->m, for_most)), tt_say_ns(p, a->wait_ns),
                tt_percent(p, a->wait_ns, a->total_ns));
    if (w->n_lanes > 1) plot_lanes(p, a, w->n_lanes < LANES_SHOWN ? w->n_lanes : LANES_SHOWN);
    table_of_waits(p, a, w->n_lanes);
    tt_page_say(p, TT_BLOCK_NOTE,
                "At the barrier behind an op all wait for the thread that arrives last. What that "
                "one itself waits "
                "(where row and column are the same thread) is what the barrier takes, and is in "
                "the others' "
                "waiting, too.");
}
