/* What ran, how fast, in how much memory; and what is missing of it. */
#include "report/sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TOKENS_DRAWN 400u
#define EVENTS_DRAWN 4000u
#define LIBRARIES_SHOWN 12u
#define MIB 1048576.0

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static const char *environment(const tt_analysis *a, const char *key)
{
    const char *value = tt_model_environment(a->m, key);
    return value && value[0] ? value : NULL;
}

static const char *created(tt_page *p, const tt_model *m)
{
    time_t seconds = (time_t)(m->trace.header.created_unix_ns / 1000000000u);
    struct tm when;
    char text[64];
    if (m->trace.header.created_unix_ns && gmtime_r(&seconds, &when) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &when))
        return tt_page_text(p, text);
    return "";
}

/* --- the head --- */

void tt_page_head(tt_page *p, const tt_analysis *a)
{
    const tt_summary *s = &a->summary;
    const tt_model *m = a->m;
    const char *model = m->n_files ? file_name(m->files[0].path) : NULL,
               *engine = environment(a, "engine_version");
    const char *host = environment(a, "host"), *cpu = environment(a, "cpu");
    p->title = model ? tt_page_text(p, model) : tt_page_text(p, file_name(a->path));
    p->subtitle = tt_page_format(p, "%s%s%s%s%s%s%s%s%s%s", created(p, m),
                                 engine ? " · llama.cpp " : "", engine ? engine : "",
                                 host || cpu ? " · " : "", cpu ? cpu : "", cpu && host ? ", " : "",
                                 host ? host : "", " · ", "trace ", file_name(a->path));
    if (s->generate.tokens_per_s > 0)
        tt_page_figure_add(p,
                           tt_page_format(p, "%.*f tokens/s",
                                          s->generate.tokens_per_s < 100 ? 1 : 0,
                                          s->generate.tokens_per_s),
                           tt_page_format(p, "generating, %s tokens",
                                          tt_say_count(p, (double)s->generate.tokens)));
    if (s->prompt.tokens_per_s > 0)
        tt_page_figure_add(
            p,
            tt_page_format(p, "%.*f tokens/s", s->prompt.tokens_per_s < 100 ? 1 : 0,
                           s->prompt.tokens_per_s),
            tt_page_format(p, "prompt, %s tokens", tt_say_count(p, (double)s->prompt.tokens)));
    if (a->timed && s->elapsed_ns > 0)
        tt_page_figure_add(p, tt_say_ns(p, s->elapsed_ns), "first batch to last");
    if (a->lanes)
        tt_page_figure_add(p, tt_say_count(p, a->lanes), a->lanes == 1 ? "thread" : "threads");
    if (s->model_bytes)
        tt_page_figure_add(p, tt_say_bytes(p, (double)s->model_bytes),
                           "of weights in the model file");
    tt_page_figure_add(p, tt_say_count(p, (double)s->records), "op records");
    p->footer = tt_page_format(
        p,
        "Made by tensortrace %s report. Every figure is computed from the trace %s (run "
        "%02x%02x%02x%02x...), but for the machine's edges, which are said to be measured or "
        "given.",
        TT_VERSION, file_name(a->path), m->trace.header.run_id[0], m->trace.header.run_id[1],
        m->trace.header.run_id[2], m->trace.header.run_id[3]);
}

/* --- speed over the run --- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The smallest value that at least `share` of them do not pass; sorts. */
static double quantile(double *values, size_t n, double share)
{
    qsort(values, n, sizeof *values, by_value);
    size_t at = (size_t)ceil(share * (double)n);
    return values[at ? at - 1 : 0];
}

/* Batches of generated tokens that ended, in ns a token. */
static size_t token_times(const tt_model *m, double *ns, double *tokens, double *slowest)
{
    size_t n = 0;
    double most = 0;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        if (b->phase != TT_PHASE_GENERATE || !b->ended || b->n_tokens == 0 ||
            b->end_ticks < b->begin_ticks)
            continue;
        tokens[n] = tt_model_token(m, i);
        ns[n] = tt_model_span_ns(m, b->end_ticks - b->begin_ticks) / b->n_tokens;
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
    double copy[64];
    size_t step = n / TOKENS_DRAWN + 1;
    if (step > 64) step = (n + TOKENS_DRAWN * 10 - 1) / (TOKENS_DRAWN * 10);
    tt_plot *plot = tt_page_plot(
        p,
        step > 1
            ? tt_page_format(p, "Time of a generated token (of %zu each: median, slowest)", step)
            : "Time of each generated token",
        "token", "ms");
    tt_series *most = tt_plot_series(plot, step > 1 ? "slowest" : "", TT_SERIES_POINTS,
                                     step > 1 ? 2 : 1, n / step + 1);
    tt_series *middle = tt_plot_series(plot, "median", TT_SERIES_LINE, 1, n / step + 1);
    if (!plot) return;
    plot->has_y = true;
    for (size_t i = 0; i < n; i += step) {
        size_t k = n - i < step ? n - i : step;
        double top = 0;
        for (size_t j = 0; j < k; j++) {
            top = fmax(top, ns[i + j]);
            if (j < 64) copy[j] = ns[i + j];
        }
        tt_series_add(most, tokens[i], top / 1e6, 0, 0);
        if (step > 1)
            tt_series_add(middle, tokens[i], quantile(copy, k < 64 ? k : 64, 0.5) / 1e6, 0, 0);
        plot->y_max = fmax(plot->y_max, top / 1e6 * 1.05);
    }
    plot->height = 260;
    tt_plot_describe(
        plot, "The time that each generated token took, over the run. The table has the spread.");
}

static void spread_table(tt_page *p, double *ns, size_t n)
{
    const char *titles[] = {"Fastest>", "Median>", "95 % take at most>", "Slowest>"};
    tt_page_table *t = tt_page_table_begin(p, "Time of a generated token", 4, titles);
    const char *cells[] = {tt_say_ns(p, quantile(ns, n, 0)), tt_say_ns(p, quantile(ns, n, 0.5)),
                           tt_say_ns(p, quantile(ns, n, 0.95)), tt_say_ns(p, quantile(ns, n, 1))};
    if (t) t->head = false;
    tt_page_table_row(p, t, cells);
}

/* In the order of the run; sorts parts of `ns`. */
static void say_drift(tt_page *p, double *ns, size_t n)
{
    const size_t quarter = n / 4;
    if (quarter < 4) return;
    double first = quantile(ns, quarter, 0.5), last = quantile(ns + n - quarter, quarter, 0.5);
    if (first > 0)
        tt_page_say(p, TT_BLOCK_TEXT,
                    "The median of the last quarter of them is %s, that of the first %s: %+.1f %%.",
                    tt_say_ns(p, last), tt_say_ns(p, first), 100 * (last / first - 1));
}

static void say_tokens(tt_page *p, double *ns, const double *tokens, size_t n, double slowest)
{
    double *sorted = calloc(n, sizeof *sorted);
    p->failed |= !sorted;
    if (!sorted) return;
    memcpy(sorted, ns, n * sizeof *sorted);
    tt_page_say(p, TT_BLOCK_ANSWER,
                "A generated token took %s in the middle (median), 95 %% took at most %s, and the "
                "slowest, token %.0f, %s.",
                tt_say_ns(p, quantile(sorted, n, 0.5)), tt_say_ns(p, quantile(sorted, n, 0.95)),
                slowest, tt_say_ns(p, quantile(sorted, n, 1)));
    plot_tokens(p, ns, tokens, n);
    say_drift(p, ns, n);
    spread_table(p, sorted, n);
    free(sorted);
}

void tt_section_speed(tt_page *p, const tt_analysis *a)
{
    const size_t most = (size_t)a->m->n_batches + 1;
    double *ns = calloc(most, sizeof *ns), *tokens = calloc(most, sizeof *tokens), slowest = 0;
    tt_page_section_begin(p, "speed", "How even was the speed?");
    p->failed |= !ns || !tokens;
    size_t n = a->timed && ns && tokens ? token_times(a->m, ns, tokens, &slowest) : 0;
    if (n == 0)
        tt_page_say(p, TT_BLOCK_ANSWER,
                    "Not known: the trace holds no generated token with a known end.");
    else
        say_tokens(p, ns, tokens, n, slowest);
    free(ns);
    free(tokens);
}

/* --- buffers --- */

static void plot_buffers(tt_page *p, const tt_analysis *a)
{
    const tt_buffers *b = a->buffers;
    const size_t step = b->n_events / EVENTS_DRAWN + 1;
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
    if (!plot) return;
    plot->has_y = true;
    for (unsigned k = 0; k < TT_BACKINGS; k++) {
        bool any = false;
        double end = a->summary.elapsed_ns / scale, y = 0;
        for (size_t i = 0; i < b->n_events; i += step) {
            const tt_buffer_event *e = &b->events[i];
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
    plot->height = 260;
    tt_plot_describe(plot, "How many bytes of buffers there were at each moment: allocated memory "
                           "and mapped files. The "
                           "table has what they were for.");
}

void tt_section_buffers(tt_page *p, const tt_analysis *a)
{
    const tt_buffers *b = a->buffers;
    tt_page_section_begin(p, "memory", "How much memory was there?");
    if (!b || b->n_events == 0) {
        tt_page_say(p, TT_BLOCK_ANSWER, "Not observed: the trace holds no buffers.");
        return;
    }
    double peak[TT_BACKINGS];
    for (unsigned k = 0; k < TT_BACKINGS; k++)
        peak[k] = b->peak[k] == TT_NONE ? 0 : (double)b->events[b->peak[k]].bytes[k];
    tt_page_say(p, TT_BLOCK_ANSWER, "At most %s of buffers were allocated%s%s.",
                tt_say_bytes(p, peak[TT_BACKING_ALLOCATED]),
                peak[TT_BACKING_FILE] > 0 ? tt_page_format(p, ", and %s mapped from files",
                                                           tt_say_bytes(p, peak[TT_BACKING_FILE]))
                                          : "",
                peak[TT_BACKING_UNKNOWN] > 0
                    ? tt_page_format(p, "; of %s it was not observed which of the two",
                                     tt_say_bytes(p, peak[TT_BACKING_UNKNOWN]))
                    : "");
    if (a->timed) plot_buffers(p, a);
    const char *titles[] = {"For", "Buffers>", "Size>"};
    tt_page_table *t = tt_page_table_begin(p, "Buffers by what they were for", 3, titles);
    for (unsigned i = 0; i <= TT_BUFFER_OUTPUT; i++) {
        const tt_kind_summary *k = &a->summary.buffers[i];
        const char *cells[] = {tt_buffer_kind_name((tt_buffer_kind)i), tt_say_count(p, k->count),
                               tt_say_bytes(p, (double)k->size_bytes)};
        if (k->count) tt_page_table_row(p, t, cells);
    }
    tt_page_say(p, TT_BLOCK_NOTE,
                "Sizes are what the engine asked for; how much of a mapped file was in RAM is "
                "another question. The "
                "table sums up all that there ever were.");
}

/* --- what is missing --- */

static void item(tt_page *p, tt_page_table *t, const char *what, const char *state)
{
    const char *cells[] = {what, state};
    tt_page_table_row(p, t, cells);
}

static void captures(tt_page *p, tt_page_table *t, const tt_analysis *a)
{
    static const struct {
        const char *name, *what, *how;
    } list[] = {{"experts", "choices of experts", NULL},
                {"text", "texts of tokens", "run without --no-text"},
                {"faults", "page faults and reads by op", "run --faults"},
                {"residency", "pages in RAM", "run --residency"},
                {"io", "bytes read by the process", NULL},
                {"devices", "bytes read from devices", NULL}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const char *state = environment(a, tt_page_format(p, "capture_%s", list[i].name));
        if (!state || strcmp(state, "on") == 0) continue;
        item(p, t, list[i].what,
             strcmp(state, "off") == 0
                 ? tt_page_format(p, "not observed: it was not asked for%s%s",
                                  list[i].how ? "; " : "", list[i].how ? list[i].how : "")
                 : state);
    }
}

static void flaws(tt_page *p, tt_page_table *t, const tt_analysis *a)
{
    const tt_model *m = a->m;
    const tt_trace *trace = &m->trace;
    tt_error damage;
    const size_t damaged = tt_pieces_damaged(m->pieces, &damage);
    if (!trace->complete)
        item(p, t, "the end of the trace",
             tt_page_format(p, "cut off at byte %" PRIu64 ": %s", trace->end_bytes,
                            trace->cut.message));
    else if (trace->end_flags & TT_END_RECOVERED)
        item(p, t, "the end of the run",
             "the program was cut off; its trace was recovered up to there");
    else if (trace->end_flags & TT_END_SNAPSHOT)
        item(p, t, "the rest of the run", "this is a snapshot: the program went on");
    if (m->front.present)
        item(p, t, "the begin of the run",
             "thrown away: the trace is of a flight recorder, and holds the end only");
    if (m->meta_damage.status != TT_OK)
        item(p, t, "descriptions",
             tt_page_format(p, "damaged at byte %" PRIu64 ": %s", m->meta_damage.offset,
                            m->meta_damage.message));
    if (damaged)
        item(p, t, "ops",
             tt_page_format(p, "%zu damaged chunk%s left out; the first at byte %" PRIu64 ": %s",
                            damaged, damaged == 1 ? "" : "s", damage.offset, damage.message));
    if (m->n_problems)
        item(p, t, "references",
             tt_page_format(p, "%u lead nowhere: tensortrace verify lists them", m->n_problems));
    if (!m->clock.known) item(p, t, "times", "the trace cannot turn ticks into time");
    if (m->clock.assumed)
        item(p, t, "times", "by the clock's nominal rate, not by two readings of it");
}

static void losses(tt_page *p, tt_page_table *t, const tt_analysis *a, uint64_t dropped)
{
    const tt_model *m = a->m;
    const tt_work *w = &a->work;
    uint64_t n = 0;
    item(p, t, "op records dropped",
         dropped ? tt_page_format(p, "%s: a ring was full; run --ring makes it larger",
                                  tt_say_count(p, (double)dropped))
                 : "none");
    if (m->detail_losses_total)
        item(p, t, "details dropped", tt_say_count(p, (double)m->detail_losses_total));
    if (tt_model_count(m, "ops_unresolved", &n) && n)
        item(p, t, "ops not recorded",
             tt_page_format(p, "%s: outside any known graph, or on too many threads",
                            tt_say_count(p, (double)n)));
    if (tt_model_count(m, "meta_dropped", &n) && n)
        item(p, t, "descriptions lost", tt_say_count(p, (double)n));
    if (tt_model_count(m, "batches_not_asked", &n) && n)
        item(p, t, "batches not asked for", tt_say_count(p, (double)n));
    if (tt_model_count(m, "batches_after_limit", &n) && n)
        item(p, t, "batches after the limit", tt_say_count(p, (double)n));
    if (a->summary.runs_open)
        item(p, t, "graph computations that never ended",
             tt_say_count(p, (double)a->summary.runs_open));
    if (a->summary.runs_bounds)
        item(p, t, "graph computations of which only begin and end were seen",
             tt_say_count(p, (double)a->summary.runs_bounds));
    if (w->open_records)
        item(p, t, "op records without an end", tt_say_count(p, (double)w->open_records));
    if (w->stray) item(p, t, "op records of unknown graphs", tt_say_count(p, (double)w->stray));
    if (w->unknown_lane)
        item(p, t, "op records of threads beyond the limit",
             tt_say_count(p, (double)w->unknown_lane));
    if (a->reads.impossible)
        item(p, t, "reads of places that no file has",
             tt_say_count(p, (double)a->reads.impossible));
    if (a->unknown_ops)
        item(p, t, "executions whose FLOPs have no formula",
             tt_say_count(p, (double)a->unknown_ops));
}

void tt_section_missing(tt_page *p, const tt_analysis *a)
{
    const char *titles[] = {"What", "State"};
    uint64_t dropped = a->m->losses_total, counted;
    tt_page_section_begin(p, "missing", "What was dropped, or not observed?");
    if (tt_model_count(a->m, "ops_dropped", &counted) && counted > dropped) dropped = counted;
    const bool whole = a->m->trace.complete && !a->m->front.present &&
                       a->m->meta_damage.status == TT_OK &&
                       tt_pieces_damaged(a->m->pieces, NULL) == 0;
    tt_page_say(p, TT_BLOCK_ANSWER, "%s; %s.",
                dropped ? tt_page_format(p, "%s op records were dropped, of %s",
                                         tt_say_count(p, (double)dropped),
                                         tt_say_count(p, (double)(dropped + a->summary.records)))
                        : "No op was dropped",
                whole ? "the trace is whole"
                      : "the trace is not whole, and this page is about the part that it holds");
    tt_page_table *t = tt_page_table_begin(p, "What this page does not know", 2, titles);
    losses(p, t, a, dropped);
    flaws(p, t, a);
    captures(p, t, a);
}

/* --- the run --- */

static void engine_rows(tt_page *p, tt_page_table *t, const tt_analysis *a)
{
    const tt_model *m = a->m;
    unsigned shown = 0;
    for (uint32_t i = 0; i < m->n_environment && shown < LIBRARIES_SHOWN; i++) {
        const tt_pair *pair = &m->environment[i];
        if (strncmp(pair->key, "engine_", 7) != 0 ||
            tt_model_environment(m, pair->key) != pair->value)
            continue;
        char key[64];
        (void)snprintf(key, sizeof key, "%s", pair->key);
        for (char *c = key; *c; c++)
            if (*c == '_') *c = ' ';
        item(p, t, key, pair->value);
        shown++;
    }
}

static void file_rows(tt_page *p, tt_page_table *t, const tt_model *m)
{
    static const char *const keys[] = {"general.architecture", "general.name", "general.size_label",
                                       "general.file_type"};
    for (uint32_t i = 0; i < m->n_files && i < LIBRARIES_SHOWN; i++) {
        const tt_model_file *f = &m->files[i];
        item(p, t, "model file",
             tt_page_format(p, "%s (%s, %u tensors)", f->path,
                            tt_say_bytes(p, (double)f->size_bytes), f->n_weights));
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const tt_file_kv *kv = tt_model_file_kv(m, keys[i]);
        if (kv) item(p, t, keys[i], kv->value);
    }
}

void tt_section_run(tt_page *p, const tt_analysis *a)
{
    static const char *const keys[] = {"command", "host", "cpu", "processors", "kernel"};
    const char *titles[] = {"What", ""};
    const tt_model *m = a->m;
    char id[33];
    tt_page_section_begin(p, "run", "What ran?");
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", m->trace.header.run_id[i]);
    tt_page_table *t = tt_page_table_begin(p, "The run", 2, titles);
    item(p, t, "run id", id);
    item(p, t, "recorded", created(p, m));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (environment(a, keys[i])) item(p, t, keys[i], environment(a, keys[i]));
    file_rows(p, t, m);
    engine_rows(p, t, a);
    const char *mode = environment(a, "mode"), *why = environment(a, "mode_reason");
    item(p, t, "observed by",
         tt_page_format(p, "%s%s%s%s", mode ? mode : "unknown", why ? " (" : "", why ? why : "",
                        why ? ")" : ""));
    if (environment(a, "capture")) item(p, t, "options", environment(a, "capture"));
    item(p, t, "trace",
         tt_page_format(p, "%s, %s", a->path, tt_say_bytes(p, (double)a->summary.file_bytes)));
}
