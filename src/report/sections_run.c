/* Speed and memory. */
#include "analyze/quantiles.h"
#include "analyze/why/columns.h"
#include "base/order.h"
#include "report/sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS_DRAWN 400u
#define TOKENS_LISTED 100u
#define EVENTS_DRAWN 4000u
#define EVENTS_LISTED 40u
#define MIB 1048576.0

/* --- speed over the run --- */

/* As in `stats` and `diff`; sorts. */
static double quantile(double *values, size_t n, double share)
{
    qsort(values, n, sizeof *values, tt_by_f64);
    return tt_quantiles_sorted(values, n, share);
}

/* Times of completed batches of generated tokens, in ns per token that somebody got, with the time
 * that drafts took since the one before. */
static size_t token_times(const tt_model *m, double *ns, double *tokens, double *slowest)
{
    size_t n = 0;
    double most = 0, drafts_ns = 0;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        if (b->phase != TT_PHASE_GENERATE || !b->ended || b->n_tokens == 0 ||
            b->end_ticks < b->begin_ticks)
            continue;
        const double time_ns = tt_model_span_ns(m, b->end_ticks - b->begin_ticks);
        const uint32_t got = tt_model_got(b);
        drafts_ns = got ? drafts_ns : drafts_ns + time_ns;
        if (!got) continue;
        tokens[n] = tt_model_batch_number(m, i);
        ns[n] = (drafts_ns + time_ns) / got;
        drafts_ns = 0;
        if (ns[n] > most) {
            most = ns[n];
            *slowest = tokens[n];
        }
        n++;
    }
    return n;
}

static void plot_tokens(tt_page *p, const double *ns, const double *tokens, size_t n)
{
    const size_t step = n / TOKENS_DRAWN + 1;
    double *copy = calloc(step, sizeof *copy);
    p->failed |= !copy;
    tt_plot *plot = tt_page_plot(
        p,
        step > 1
            ? tt_page_format(p, "Time of a generated token (of %zu each: median, slowest)", step)
            : "Time of a generated token, by batch",
        "batch", "ms");
    tt_series *most = tt_plot_series(plot, step > 1 ? "slowest" : "", TT_SERIES_POINTS,
                                     step > 1 ? 2 : 1, n / step + 1);
    tt_series *middle = tt_plot_series(plot, "median", TT_SERIES_LINE, 1, n / step + 1);
    if (plot) plot->has_y = true;
    for (size_t i = 0; plot && copy && i < n; i += step) {
        size_t k = n - i < step ? n - i : step;
        double top = 0;
        for (size_t j = 0; j < k; j++) {
            top = fmax(top, ns[i + j]);
            copy[j] = ns[i + j];
        }
        tt_series_add(most, tokens[i], top / 1e6, 0, 0);
        if (step > 1) tt_series_add(middle, tokens[i], quantile(copy, k, 0.5) / 1e6, 0, 0);
        plot->y_max = fmax(plot->y_max, top / 1e6 * 1.05);
    }
    free(copy);
    if (plot) plot->height = 260;
    tt_plot_describe(
        plot, "The time that each generated token took, over the run. The table has the spread.");
}

static void spread_table(tt_page *p, double *ns, size_t n)
{
    const char *titles[] = {"Fastest>", "Median>", "95 % take at most>", "Slowest>"};
    tt_page_table *t = tt_page_table_begin(p, "Time of a generated token", 4, titles);
    const char *cells[] = {
        tt_format_ns(p, quantile(ns, n, 0)), tt_format_ns(p, quantile(ns, n, 0.5)),
        tt_format_ns(p, quantile(ns, n, 0.95)), tt_format_ns(p, quantile(ns, n, 1))};
    if (t) t->head = false;
    tt_page_table_row(p, t, cells);
}

static void token_table(tt_page *p, const double *ns, const double *tokens, size_t n)
{
    const size_t step = n / TOKENS_LISTED + 1;
    const char *titles[] = {step > 1 ? "Batches from" : "Batch", step > 1 ? "Mean>" : "Time>",
                            "Slowest>"};
    tt_page_table *t = tt_page_table_begin(
        p, "Time of a generated token, batch by batch or some together", step > 1 ? 3 : 2, titles);
    if (t) t->folded = true;
    for (size_t i = 0; i < n; i += step) {
        double sum = 0, most = 0;
        size_t k = 0;
        for (; k < step && i + k < n; k++) {
            sum += ns[i + k];
            most = fmax(most, ns[i + k]);
        }
        const char *cells[] = {tt_page_format(p, "%.0f", tokens[i]),
                               tt_format_ns(p, sum / (double)k), tt_format_ns(p, most)};
        tt_page_table_row(p, t, cells);
    }
}

/* In the order of the run; sorts parts of `ns`. */
static void write_drift(tt_page *p, double *ns, size_t n)
{
    const size_t quarter = n / 4;
    if (quarter < 4) return;
    double first = quantile(ns, quarter, 0.5), last = quantile(ns + n - quarter, quarter, 0.5);
    if (first > 0)
        tt_page_add(p, TT_BLOCK_TEXT,
                    "The median of the last quarter of them is %s, that of the first %s: %+.1f %%.",
                    tt_format_ns(p, last), tt_format_ns(p, first), 100 * (last / first - 1));
}

static void write_tokens(tt_page *p, double *ns, const double *tokens, size_t n, double slowest)
{
    double *sorted = calloc(n, sizeof *sorted);
    p->failed |= !sorted;
    if (!sorted) return;
    memcpy(sorted, ns, n * sizeof *sorted);
    tt_page_add(p, TT_BLOCK_ANSWER,
                "A generated token took %s in the middle (median), 95 %% took at most %s, and the "
                "slowest, in batch %.0f, %s.",
                tt_format_ns(p, quantile(sorted, n, 0.5)),
                tt_format_ns(p, quantile(sorted, n, 0.95)), slowest,
                tt_format_ns(p, quantile(sorted, n, 1)));
    plot_tokens(p, ns, tokens, n);
    token_table(p, ns, tokens, n);
    write_drift(p, ns, n);
    spread_table(p, sorted, n);
    free(sorted);
}

/* With causes: why (docs/why.md) tells more of each. */
static void slow_table(tt_page *p, const tt_overview *o)
{
    const tt_rowset set = TT_ROWSET(&tt_overview_slow_schema, 0, o->m, o->slow, o->n_slow);
    if (!o->n_slow) return;
    (void)tt_page_rows(p, "The slowest tokens", &set, &(tt_listing_wish){.text = true});
    tt_page_add(p, TT_BLOCK_NOTE, "tensortrace why --batch N tells more of each.");
}

void tt_section_speed(tt_page *p, const tt_analysis *a)
{
    const size_t most = (size_t)a->m->n_batches + 1;
    double *ns = calloc(most, sizeof *ns), *tokens = calloc(most, sizeof *tokens), slowest = 0;
    tt_page_section_begin(p, "speed", "How even was the speed?");
    p->failed |= !ns || !tokens;
    size_t n = a->timed && ns && tokens ? token_times(a->m, ns, tokens, &slowest) : 0;
    if (n == 0)
        tt_page_add(p, TT_BLOCK_ANSWER,
                    "Not known: the trace holds no generated token with a known end.");
    else
        write_tokens(p, ns, tokens, n, slowest);
    slow_table(p, &a->overview);
    free(ns);
    free(tokens);
}

/* --- buffers --- */

static void plot_buffers(tt_page *p, const tt_analysis *a)
{
    const tt_buffers *b = a->buffers;
    tt_buffers_point *points;
    uint32_t n;
    const double scale = 1e6;
    tt_plot *plot = tt_page_plot(p, "Buffers over time",
                                 "ms since the first batch (before it: loading)", "MiB");
    tt_series *of[TT_BACKINGS];
    of[TT_BACKING_ALLOCATED] =
        tt_plot_series(plot, "allocated", TT_SERIES_STEPS, 1, EVENTS_DRAWN + 2);
    of[TT_BACKING_FILE] =
        tt_plot_series(plot, "mapped from files", TT_SERIES_STEPS, 2, EVENTS_DRAWN + 2);
    of[TT_BACKING_UNKNOWN] =
        tt_plot_series(plot, "which of the two is unknown", TT_SERIES_STEPS, 4, EVENTS_DRAWN + 2);
    if (tt_buffers_curve(b, a->m, 0, UINT64_MAX, EVENTS_DRAWN, &points, &n, NULL) != TT_OK)
        p->failed = true;
    if (plot) plot->has_y = true;
    for (unsigned k = 0; k < TT_BACKINGS && plot; k++) {
        bool any = false;
        double end = a->summary.elapsed_ns / scale, y = 0;
        for (uint32_t i = 0; i < n; i++) {
            const tt_buffer_event *e = &b->events[points[i].event];
            y = (double)e->bytes[k] / MIB;
            any |= e->bytes[k] > 0;
            double x = tt_model_ns(a->m, e->ticks) / scale;
            tt_series_add(of[k], x, y, 0, 0);
            end = fmax(end, x);
            plot->y_max = fmax(plot->y_max, y * 1.08);
        }
        tt_series_add(of[k], end, y, 0, 0);
        if (!any && of[k]) of[k]->n = 0;
    }
    free(points);
    if (plot) plot->height = 260;
    tt_plot_describe(plot, "How many bytes of buffers there were at each moment: allocated memory "
                           "and mapped files. The table has what they were for.");
}

static void event_table(tt_page *p, const tt_analysis *a)
{
    const tt_buffers *b = a->buffers;
    const tt_buffers_context *x =
        tt_page_keep(p, &(tt_buffers_context){.m = a->m, .buffers = b}, sizeof(tt_buffers_context));
    const tt_rowset events = TT_ROWSET(&tt_buffer_event_schema, 0, x, b->events, b->n_events);
    const tt_listing_wish wish = {
        .columns = "time_relative_ns,event,name,size_bytes,allocated_bytes,mapped_bytes",
        .limit = EVENTS_LISTED,
        .text = true};
    tt_page_table *t = x ? tt_page_rows(p, "Buffers, one by one", &events, &wish) : NULL;
    if (t) t->folded = true;
    if (b->n_events > EVENTS_LISTED)
        tt_page_add(p, TT_BLOCK_NOTE,
                    "Of %s events the first %u are listed: tensortrace buffers shows all.",
                    tt_format_count(p, b->n_events), EVENTS_LISTED);
}

void tt_section_buffers(tt_page *p, const tt_analysis *a)
{
    const tt_buffers *b = a->buffers;
    tt_page_section_begin(p, "memory", "How much memory was there?");
    if (!b || b->n_events == 0) {
        tt_page_add(p, TT_BLOCK_ANSWER, "Not observed: the trace holds no buffers.");
        return;
    }
    double peak[TT_BACKINGS];
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        peak[k] = b->peak[k] == TT_NONE ? 0 : (double)b->events[b->peak[k]].bytes[k];
    tt_page_add(p, TT_BLOCK_ANSWER, "At most %s of buffers were allocated%s%s.",
                tt_format_bytes(p, peak[TT_BACKING_ALLOCATED]),
                peak[TT_BACKING_FILE] > 0
                    ? tt_page_format(p, ", and %s mapped from files",
                                     tt_format_bytes(p, peak[TT_BACKING_FILE]))
                    : "",
                peak[TT_BACKING_UNKNOWN] > 0
                    ? tt_page_format(p, "; of %s it was not observed which of the two",
                                     tt_format_bytes(p, peak[TT_BACKING_UNKNOWN]))
                    : "");
    if (a->timed) plot_buffers(p, a);
    if (a->timed) event_table(p, a);
    const char *titles[] = {"For", "Buffers>", "Size>"};
    tt_page_table *t = tt_page_table_begin(p, "Buffers by what they were for", 3, titles);
    for (unsigned i = 0; i <= TT_BUFFER_OUTPUT; i++) {
        const tt_kind_summary *k = &a->summary.buffers[i];
        const char *cells[] = {tt_buffer_kind_name((tt_buffer_kind)i), tt_format_count(p, k->count),
                               tt_format_bytes(p, (double)k->size_bytes)};
        if (k->count) tt_page_table_row(p, t, cells);
    }
    tt_page_add(p, TT_BLOCK_NOTE,
                "Sizes are what the engine asked for; how much of a mapped file was in RAM is "
                "another question. The table sums up all that there ever were.");
}
