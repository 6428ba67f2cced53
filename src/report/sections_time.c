/* Where the time went, and which threads waited for which. */
#include "analyze/join.h"
#include "report/sections.h"

#include <math.h>
#include <string.h>

#define ROWS_MAX 12u
#define LANES_SHOWN 16u

/* --- where the time went --- */

/* Ops seen as a whole include their waits. */
static const char *compute_word(const tt_analysis *a)
{
    return a->waits_observed ? "compute" : "in ops";
}

static const char *wait_word(const tt_analysis *a)
{
    return a->waits_observed ? "wait at barriers" : "";
}

static const char *wait_share(tt_page *p, const tt_analysis *a, double wait_ns)
{
    return a->waits_observed ? tt_percent(p, wait_ns, a->total_ns) : "";
}

static void rollup_row(tt_page *p, tt_page_table *t, const tt_analysis *a, const char *key,
                       const tt_rollup *r)
{
    const char *cells[] = {key,
                           tt_percent(p, r->work_ns, a->work_ns),
                           tt_percent(p, r->compute_ns + r->wait_ns, a->total_ns),
                           tt_percent(p, r->compute_ns, a->total_ns),
                           wait_share(p, a, r->wait_ns),
                           r->timed ? tt_format_ns(p, r->wall_ns) : "",
                           tt_format_count(p, (double)r->count),
                           r->timed ? tt_format_ns(p, r->wall_ns / (double)r->timed) : ""};
    tt_page_table_row(p, t, cells);
}

static tt_page_table *rollup_table(tt_page *p, const char *caption, const char *first)
{
    const char *titles[] = {first,   "Share of own work>", "Threads' time>", "Compute>",
                            "Wait>", "Time of the ops>",   "Times>",         "Each>"};
    return tt_page_table_begin(p, caption, 8, titles);
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
    (void)snprintf(text, sizeof text,
                   "Bars: of the threads' time, the share of each part of the network, computing "
                   "and waiting, and the shares in no op. The table below has the same figures.");
    tt_plot_describe(plot, text);
}

static const char *layer_name(tt_page *p, const tt_analysis *a, int64_t layer)
{
    const char *name = tt_format_layer(p, layer);
    return layer < 0 || a->m->n_models < 2
               ? name
               : tt_page_format(p, "%s of %s", name,
                                tt_model_label(a->m, tt_layer_model((int32_t)layer)));
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
    /* Of several stacks or models: consecutive, by their names. */
    const bool plain = a->by_layer.list[n - 1].number < TT_LAYER_NUMBERS;
    plot->has_x = plot->has_y = plot->x_integers = true;
    for (size_t i = first; i < n; i++) {
        const tt_rollup *r = &a->by_layer.list[i];
        const double x = plain ? (double)r->number : (double)(i - first);
        if (!plain) tt_plot_label(plot, layer_name(p, a, r->number));
        double c = r->compute_ns / all, w = r->wait_ns / all;
        tt_series_add(compute, x, 0, 0, c);
        tt_series_add(wait, x, c, 0, c + w);
        plot->y_max = fmax(plot->y_max, (c + w) * 1.08);
    }
    plot->x_min = (plain ? (double)a->by_layer.list[first].number : 0) - 0.6;
    plot->x_max = (plain ? (double)a->by_layer.list[n - 1].number : (double)(n - first - 1)) + 0.6;
    plot->height = 260;
    tt_plot_describe(plot, "Columns: the share of the threads' time of each layer, computing below "
                           "and waiting above. The table of layers has the same figures.");
}

static void tables_of_time(tt_page *p, const tt_analysis *a)
{
    tt_page_table *t = rollup_table(p, "By part of the network", "Part");
    for (size_t i = 0; i < a->by_part.n && i < ROWS_MAX; i++)
        rollup_row(p, t, a, a->by_part.list[i].key, &a->by_part.list[i]);
    const char *rest[] = {
        "idle in a batch", "", tt_percent(p, a->idle_ns, a->total_ns), "", "", "", "", ""};
    const char *between[] = {
        "between batches", "", tt_percent(p, a->between_ns, a->total_ns), "", "", "", "", ""};
    const char *all[] = {"all",
                         tt_percent(p, a->work_ns, a->work_ns),
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
        tt_page_add(p, TT_BLOCK_NOTE, "%zu more ops are left out: tensortrace stats shows all.",
                    a->by_op.n - ROWS_MAX);
    if (a->by_layer.n < 2) return;
    t = rollup_table(p, "By layer", "Layer");
    if (t) t->folded = true;
    for (size_t i = 0; i < a->by_layer.n; i++)
        rollup_row(p, t, a, layer_name(p, a, a->by_layer.list[i].number), &a->by_layer.list[i]);
}

static void write_shares(tt_page *p, const tt_analysis *a)
{
    const char *span = tt_format_ns(p, tt_model_span_ns(a->m, a->work.span_ticks));
    const char *lost = tt_ops_are_lost(a) ? " or in ops that were lost" : "";
    const double off = (double)a->work.off_cpu_ticks, busy = (double)a->work.busy_ticks;
    const char *off_cpu =
        a->work.off_cpu_known && off >= 0.01 * busy
            ? tt_page_format(p, " (%s off CPU there)",
                             tt_percent(p, a->compute_ns * off / busy, a->total_ns))
            : "";
    if (a->waits_observed)
        tt_page_add(
            p, TT_BLOCK_ANSWER,
            "Of the time of %u thread%s over %s, %s was in ops%s, %s at barriers, where "
            "threads wait for each other, %s idle within a batch%s, and %s between batches.",
            a->lanes, a->lanes == 1 ? "" : "s", span, tt_percent(p, a->compute_ns, a->total_ns),
            off_cpu, tt_percent(p, a->wait_ns, a->total_ns), tt_percent(p, a->idle_ns, a->total_ns),
            lost, tt_percent(p, a->between_ns, a->total_ns));
    else
        tt_page_add(p, TT_BLOCK_ANSWER,
                    "Of %s, %s was spent in ops%s, %s in a batch but in no op%s, and %s between "
                    "batches; how much of it threads waited for each other was not observed.",
                    span, tt_percent(p, a->compute_ns, a->total_ns), off_cpu,
                    tt_percent(p, a->idle_ns, a->total_ns), lost,
                    tt_percent(p, a->between_ns, a->total_ns));
}

void tt_section_time(tt_page *p, const tt_analysis *a)
{
    tt_page_section_begin(p, "time", "Where did the time go?");
    if (!a->timed || a->total_ns <= 0) {
        tt_page_add(p, TT_BLOCK_ANSWER, "Not known: %s.",
                    a->timed ? "the trace holds no op with a known time"
                             : "the trace cannot turn its ticks into time");
        return;
    }
    write_shares(p, a);
    if (a->by_part.n > 0 && a->by_op.n > 0)
        tt_page_add(
            p, TT_BLOCK_TEXT,
            "Of the threads' own work in ops, the part that took most is %s with %s, the op that "
            "took most is %s with %s.",
            a->by_part.list[0].key, tt_percent(p, a->by_part.list[0].work_ns, a->work_ns),
            a->by_op.list[0].key, tt_percent(p, a->by_op.list[0].work_ns, a->work_ns));
    const double off = (double)a->work.off_cpu_ticks, busy = (double)a->work.busy_ticks;
    if (a->work.off_cpu_known && off > 0 && off >= TT_OFF_CPU_MUCH * busy)
        tt_page_add(
            p, TT_BLOCK_TEXT,
            "The threads were off CPU for %s of their time in ops, which is in the time in ops "
            "here; the parts of the run's time above say what for, where that was recorded.",
            tt_percent(p, off, busy));
    const double inside = (double)a->work.inside_ticks;
    if (inside > 0 && inside >= TT_OFF_CPU_MUCH * busy)
        tt_page_add(p, TT_BLOCK_TEXT,
                    "For %s of their time in ops threads waited for others, at barriers inside "
                    "ops; that is in the time in ops, too.",
                    tt_percent(p, inside, busy));
    plot_parts(p, a);
    plot_layers(p, a);
    tables_of_time(p, a);
    tt_page_add(
        p, TT_BLOCK_NOTE,
        "Own work is what threads did themselves in ops, in user mode and in the kernel%s; of it "
        "are the shares and the order of the rows. The "
        "three columns behind it are of all of the threads' time. A thread is in an op from its "
        "start until it has done its part; then it waits until all have. What is left of a batch "
        "is idle: before the first op, behind the last one, between "
        "two. Barriers inside an op are in its time. Between batches the program samples, "
        "prints, or waits for its user; all threads count there, too. A "
        "time at barriers is a sum over threads, most of which has a cause in the last one's work "
        "or "
        "time off CPU: how long the run itself waited for threads is among its parts above.",
        a->work.off_cpu_known ? ", without the time in which they were off CPU or waited there"
                              : " (time in which they were off CPU was not observed, and "
                                "is in it)");
    if (tt_ops_are_lost(a))
        tt_page_add(p, TT_BLOCK_NOTE,
                    "Not all ops of the run are in the trace: what lost ones took, computing and "
                    "waiting, counts as idle within a batch.");
    if (a->work.overlap_ticks)
        tt_page_add(p, TT_BLOCK_NOTE,
                    "Batches overlap for %s: that time counts once for each of them.",
                    tt_format_ns(p, tt_model_span_ns(a->m, a->work.overlap_ticks)));
    if (a->summary.runs_called_back)
        tt_page_add(p, TT_BLOCK_NOTE,
                    "%s of %s graph computations were seen by the scheduler's callback: there an "
                    "op is seen as a whole, and its threads and their waiting are not observed.",
                    tt_format_count(p, (double)a->summary.runs_called_back),
                    tt_format_count(p, a->m->n_runs));
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
    tt_plot_describe(plot, "A bar a thread: the share of the run in which it computed, waited at "
                           "barriers, or was in no op.");
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
                tt_format_ns(p, tt_model_span_ns(a->m, w->waits[(size_t)i * w->n_lanes + k]));
        cells[shown + 1] = tt_format_ns(p, tt_model_span_ns(a->m, w->lanes[i].wait_ticks));
        tt_page_table_row(p, t, cells);
    }
    cells[0] = "was the last";
    for (uint32_t k = 0; k < shown; k++)
        cells[k + 1] = tt_percent(p, (double)w->lanes[k].last, (double)w->barriers);
    cells[shown + 1] = tt_format_count(p, (double)w->barriers);
    tt_page_table_row(p, t, cells);
    if (shown < n)
        tt_page_add(p, TT_BLOCK_NOTE, "%u more threads are left out; --json has all.", n - shown);
}

/* How long the other lanes waited for this one, in ticks. */
static uint64_t waited_for(const tt_work *w, uint32_t lane)
{
    uint64_t ticks = 0;
    for (uint32_t i = 0; i < w->n_lanes; i++)
        if (i != lane) ticks += w->waits[(size_t)i * w->n_lanes + lane];
    return ticks;
}

static const char *format_last(tt_page *p, const tt_analysis *a, uint32_t lane)
{
    return tt_percent(p, (double)a->work.lanes[lane].last, (double)a->work.barriers);
}

/* The thread that caused the longest waits, which need not be the most frequent last. */
static void write_waits(tt_page *p, const tt_analysis *a)
{
    const tt_work *w = &a->work;
    uint32_t dearest = 0, often = 0;
    for (uint32_t i = 1; i < w->n_lanes; i++) {
        if (waited_for(w, i) > waited_for(w, dearest)) dearest = i;
        if (w->lanes[i].last > w->lanes[often].last) often = i;
    }
    tt_page_add(p, TT_BLOCK_ANSWER,
                "The others waited longest for thread %u: %s, as it was the last to arrive at %s "
                "of %s barriers%s; all threads together were at barriers for %s, %s of "
                "their time.",
                dearest, tt_format_ns(p, tt_model_span_ns(a->m, waited_for(w, dearest))),
                format_last(p, a, dearest), tt_format_count(p, (double)w->barriers),
                often == dearest
                    ? ""
                    : tt_page_format(p, " (thread %u was at %s, and cost %s)", often,
                                     format_last(p, a, often),
                                     tt_format_ns(p, tt_model_span_ns(a->m, waited_for(w, often)))),
                tt_format_ns(p, a->wait_ns), tt_percent(p, a->wait_ns, a->total_ns));
}

void tt_section_waits(tt_page *p, const tt_analysis *a)
{
    const tt_work *w = &a->work;
    tt_page_section_begin(p, "waits", "Which threads waited for whom?");
    if (!a->timed || w->barriers == 0 || !w->waits || a->m->waits_unknown) {
        tt_page_add(
            p, TT_BLOCK_ANSWER, "%s",
            a->m->waits_unknown ? tt_page_format(p, "Not observed: %s.", a->m->waits_unknown)
            : w->n_lanes == 1   ? "Nobody: the ops ran on one thread."
                                : "Not observed: no op of two or more threads has a known end.");
        return;
    }
    write_waits(p, a);
    if (w->n_lanes > 1) plot_lanes(p, a, w->n_lanes < LANES_SHOWN ? w->n_lanes : LANES_SHOWN);
    table_of_waits(p, a, w->n_lanes);
    tt_page_add(p, TT_BLOCK_NOTE,
                "At the barrier behind an op all wait for the thread that arrives last. What that "
                "one itself waits (where row and column are the same thread) is what the barrier "
                "takes, and is in the others' waiting, too.");
}
