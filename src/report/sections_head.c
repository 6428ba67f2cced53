/* The run, and what is missing in its trace. */
#include "analyze/join.h"
#include "analyze/storage.h"
#include "base/hex.h"
#include "base/path.h"
#include "report/sections.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define LIBRARIES_SHOWN 12u

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

static void speed_figure(tt_page *p, const char *what, const tt_phase_summary *s)
{
    const uint64_t alone = s->delivered - s->mixed_delivered;
    if (s->tokens_per_s <= 0) return;
    tt_page_figure_add(p, tt_page_format(p, "%s tokens/s", tt_format_number(p, s->tokens_per_s)),
                       tt_page_format(p, "%s, %s token%s%s", what,
                                      tt_format_count(p, (double)alone), alone == 1 ? "" : "s",
                                      s->mixed_tokens ? " in batches of nothing else" : ""));
}

/* "llama.cpp b4234". A program that records itself names its engine, unless llama.cpp's
 * libraries were seen. NULL: unknown. */
static const char *engine_of(tt_page *p, const tt_analysis *a)
{
    const char *version = environment(a, "engine_version"), *mode = environment(a, "mode");
    bool own = mode && strcmp(mode, "api") == 0 && !environment(a, "engine_library_0");
    return version && !own ? tt_page_format(p, "llama.cpp %s", version) : version;
}

void tt_page_head(tt_page *p, const tt_analysis *a)
{
    const tt_summary *s = &a->summary;
    const tt_model *m = a->m;
    const char *model = m->n_files ? tt_base_name(m->files[0].path) : NULL,
               *engine = engine_of(p, a);
    const char *host = environment(a, "host"), *cpu = environment(a, "cpu");
    p->title = model ? tt_page_text(p, model) : tt_page_text(p, tt_base_name(a->path));
    p->subtitle = tt_page_format(p, "%s%s%s%s%s%s%s%s%s%s", created(p, m), engine ? " · " : "",
                                 engine ? engine : "", host || cpu ? " · " : "", cpu ? cpu : "",
                                 cpu && host ? ", " : "", host ? host : "", " · ", "trace ",
                                 tt_base_name(a->path));
    speed_figure(p, "generating", &s->generate);
    speed_figure(p, "prompt", &s->prompt);
    if (a->timed && s->elapsed_ns > 0)
        tt_page_figure_add(p, tt_format_ns(p, s->elapsed_ns), "first batch to last");
    if (a->lanes && a->threads_observed)
        tt_page_figure_add(p, tt_format_count(p, a->lanes), a->lanes == 1 ? "thread" : "threads");
    if (s->model_bytes)
        tt_page_figure_add(p, tt_format_bytes(p, (double)s->model_bytes),
                           "of weights in the model file");
    tt_page_figure_add(p, tt_format_count(p, (double)s->records), "op records");
    p->footer = tt_page_format(p,
                               "Made by tensortrace %s report. Every figure is computed from the "
                               "trace %s (run %02x%02x%02x%02x...), but for the machine's limits, "
                               "which are said to be measured or given.",
                               TT_VERSION, tt_base_name(a->path), m->trace.header.run_id[0],
                               m->trace.header.run_id[1], m->trace.header.run_id[2],
                               m->trace.header.run_id[3]);
}

/* --- what is missing --- */

/* Whether the trace is complete and undamaged, as far as reading it showed. */
static bool is_whole(const tt_analysis *a)
{
    const tt_model *m = a->m;
    return m->trace.complete && !(m->trace.end_flags & TT_END_RECOVERED) && !m->front.present &&
           m->meta_damage.status == TT_OK && tt_pieces_damaged(m->pieces, NULL) == 0 &&
           m->n_problems == 0;
}

bool tt_ops_are_lost(const tt_analysis *a)
{
    uint64_t unresolved = 0;
    (void)tt_model_count(a->m, "ops_unresolved", &unresolved);
    return !is_whole(a) || tt_overview_dropped(a->m) || unresolved || a->summary.runs_bounds ||
           a->work.open_records || a->work.orphan;
}

/* How many records; "" without one. */
static const char *records(tt_page *p, uint64_t n, const char *what)
{
    return n ? tt_page_format(p, "%s op record%s %s%s", tt_format_count(p, (double)n),
                              n == 1 ? "" : "s", n == 1 ? "has " : "have ", what)
             : "";
}

void tt_note_flawed_times(tt_page *p, const tt_analysis *a)
{
    const tt_work *w = &a->work;
    if (!w->open_records && !w->bent_records) return;
    tt_page_summary(p, "%s%s%s.", records(p, w->open_records, "no end: no time here holds them"),
                    w->open_records && w->bent_records ? "; " : "",
                    records(p, w->bent_records,
                            "times outside of their graph computation: the times here are wrong by "
                            "theirs (see verify)"));
}

void tt_note_incomplete(tt_page *p, const tt_analysis *a)
{
    char text[TT_OVERVIEW_FLAWS_TEXT];
    if (*tt_overview_flaws(a->m, text))
        tt_page_summary(p, "The trace is not whole: %s. All figures are of what it holds.", text);
}

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
             "discarded: the trace is of a flight recorder, and holds the end only");
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
    const bool limited = tt_model_count(m, "batches_after_limit", &n) && n;
    item(p, t, "op records dropped",
         dropped ? tt_page_format(p, "%s: %s", tt_format_count(p, (double)dropped),
                                  limited ? "see run --limit and --thread-memory"
                                          : "a thread's memory was full; run --thread-memory makes "
                                            "it larger")
                 : "none");
    if (m->detail_losses_total)
        item(p, t, "details dropped", tt_format_count(p, (double)m->detail_losses_total));
    if (tt_model_count(m, "ops_unresolved", &n) && n)
        item(p, t, "ops not recorded",
             tt_page_format(p, "%s: outside any known graph, or on too many threads",
                            tt_format_count(p, (double)n)));
    if (tt_model_count(m, "meta_dropped", &n) && n)
        item(p, t, "descriptions lost", tt_format_count(p, (double)n));
    if (tt_model_count(m, "batches_not_asked", &n) && n)
        item(p, t, "batches not asked for", tt_format_count(p, (double)n));
    if (tt_model_count(m, "batches_after_limit", &n) && n)
        item(p, t, "batches after the limit", tt_format_count(p, (double)n));
    if (a->summary.runs_open)
        item(p, t, "graph computations that never ended",
             tt_format_count(p, (double)a->summary.runs_open));
    if (a->summary.runs_bounds)
        item(p, t, "graph computations of which only begin and end were seen",
             tt_format_count(p, (double)a->summary.runs_bounds));
    if (w->open_records)
        item(p, t, "op records without an end", tt_format_count(p, (double)w->open_records));
    if (w->bent_records)
        item(p, t, "op records with times outside of their graph computation",
             tt_format_count(p, (double)w->bent_records));
    if (w->orphan)
        item(p, t, "op records of unknown graphs", tt_format_count(p, (double)w->orphan));
    if (w->unknown_lane)
        item(p, t, "op records of threads beyond the limit",
             tt_format_count(p, (double)w->unknown_lane));
    if (a->reads.impossible)
        item(p, t, "reads of places that no file has",
             tt_format_count(p, (double)a->reads.impossible));
    if (a->unknown_ops)
        item(p, t, "executions whose FLOPs have no formula",
             tt_format_count(p, (double)a->unknown_ops));
}

void tt_section_missing(tt_page *p, const tt_analysis *a)
{
    const char *titles[] = {"What", "State"};
    const uint64_t dropped = tt_overview_dropped(a->m);
    const bool whole = is_whole(a);
    tt_page_section_begin(p, "missing", "What was dropped, or not observed?");
    tt_page_add(p, TT_BLOCK_ANSWER, "%s; %s.",
                dropped ? tt_page_format(p, "%s op records were dropped, of %s",
                                         tt_format_count(p, (double)dropped),
                                         tt_format_count(p, (double)(dropped + a->summary.records)))
                : whole ? "No op was dropped"
                        : "No dropped op is known of",
                whole ? "the trace could be read to its end, without damage"
                      : "the trace is not whole, and this page is about the part that it holds");
    tt_page_table *t = tt_page_table_begin(p, "What this page does not know", 2, titles);
    losses(p, t, a, dropped);
    flaws(p, t, a);
    captures(p, t, a);
    tt_page_add(p, TT_BLOCK_NOTE,
                "Whether what the trace holds fits together (times, orders, references) is not "
                "checked here: tensortrace verify does.");
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

typedef struct fact_rows {
    tt_page *p;
    tt_page_table *t;
} fact_rows;

static void fact_row(void *context, const char *title, const char *value)
{
    const fact_rows *f = context;
    item(f->p, f->t, tt_page_format(f->p, "%s", title), tt_page_format(f->p, "%s", value));
}

static void file_rows(tt_page *p, tt_page_table *t, const tt_model *m)
{
    static const char *const keys[] = {"general.architecture", "general.name", "general.size_label",
                                       "general.file_type"};
    for (uint32_t i = 0; i < m->n_files && i < LIBRARIES_SHOWN; i++) {
        const tt_model_file *f = &m->files[i];
        item(p, t, "model file",
             tt_page_format(p, "%s (%s, %u tensors)", f->path,
                            tt_format_bytes(p, (double)f->size_bytes), f->n_weights));
        tt_storage_facts(m, f, fact_row, &(fact_rows){p, t});
    }
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const tt_file_kv *kv = tt_model_file_kv(m, keys[i]);
        if (kv) item(p, t, keys[i], kv->value);
    }
}

static const char *phase_text(tt_page *p, const char *what, const tt_phase_summary *s)
{
    const uint64_t alone = s->delivered - s->mixed_delivered;
    if (alone == 0) return "";
    const bool cut = s->timed < alone;
    return tt_page_format(
        p, "; %s %s token%s%s%s%s", tt_format_count(p, (double)alone), what, alone == 1 ? "" : "s",
        cut ? tt_page_format(p, ", %s of them", tt_format_count(p, (double)s->timed)) : "",
        s->total_ns > 0 ? " in " : "", s->total_ns > 0 ? tt_format_ns(p, s->total_ns) : "");
}

static const char *mixed_text(tt_page *p, const tt_summary *s)
{
    if (s->mixed.tokens == 0) return "";
    return tt_page_format(p, "; %s prompt and %s generated tokens in mixed batches%s%s",
                          tt_format_count(p, (double)s->prompt.mixed_delivered),
                          tt_format_count(p, (double)s->generate.mixed_delivered),
                          s->mixed.total_ns > 0 ? " in " : "",
                          s->mixed.total_ns > 0 ? tt_format_ns(p, s->mixed.total_ns) : "");
}

static void write_run(tt_page *p, const tt_analysis *a)
{
    char guesses[TT_SPECULATION_TEXT];
    const char *engine = engine_of(p, a), *cpu = environment(a, "cpu");
    tt_page_add(p, TT_BLOCK_ANSWER, "%s on %s%s%s%s%s%s%s%s%s%s.",
                a->m->n_files ? tt_base_name(a->m->files[0].path) : "A model that was not observed",
                engine ? engine : "an engine of unknown version", cpu ? ", " : "", cpu ? cpu : "",
                a->lanes && a->threads_observed
                    ? tt_page_format(p, ", %u thread%s", a->lanes, a->lanes == 1 ? "" : "s")
                    : "",
                phase_text(p, "prompt", &a->summary.prompt),
                phase_text(p, "generated", &a->summary.generate), mixed_text(p, &a->summary),
                phase_text(p, "warm-up", &a->summary.warmup),
                phase_text(p, "training", &a->summary.training),
                phase_text(p, "unknown", &a->summary.unknown));
    if (tt_speculation_say(&a->summary.speculation, guesses)[0])
        tt_page_add(p, TT_BLOCK_TEXT, "Some generated tokens were guessed first: %s.", guesses);
}

void tt_section_run(tt_page *p, const tt_analysis *a)
{
    static const char *const keys[] = {"command", "host", "cpu", "processors", "kernel"};
    const char *titles[] = {"What", "Value"};
    const tt_model *m = a->m;
    char id[33];
    tt_page_section_begin(p, "run", "What ran?");
    write_run(p, a);
    tt_hex(id, m->trace.header.run_id, 16);
    tt_page_table *t = tt_page_table_begin(p, "The run", 2, titles);
    item(p, t, "run id", id);
    item(p, t, "recorded", created(p, m));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (environment(a, keys[i])) item(p, t, keys[i], environment(a, keys[i]));
    tt_system_facts(m, fact_row, &(fact_rows){p, t});
    file_rows(p, t, m);
    engine_rows(p, t, a);
    const char *mode = environment(a, "mode"), *why = environment(a, "mode_reason");
    item(p, t, "observed by",
         tt_page_format(p, "%s%s%s%s", mode ? mode : "unknown", why ? " (" : "", why ? why : "",
                        why ? ")" : ""));
    if (m->remote) item(p, t, "other ops", tt_page_format(p, "not observed: %s", m->remote));
    if (environment(a, "capture")) item(p, t, "options", environment(a, "capture"));
    item(p, t, "trace",
         tt_page_format(p, "%s, %s", a->path, tt_format_bytes(p, (double)a->summary.file_bytes)));
}
