/* What is worth knowing of a run, the most severe first, and what was not recorded. */
#include "analyze/copies.h"
#include "analyze/lacking.h"
#include "analyze/overview.h"
#include "analyze/pool.h"
#include "analyze/pool_sums.h"
#include "analyze/pool_time.h"
#include "analyze/routers.h"
#include "analyze/storage.h"
#include "analyze/values/first.h"
#include "analyze/values/outputs.h"
#include "base/units.h"
#include "model/faults.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MUCH 0.05        /* of the time */
#define UNEVEN_WAITS 0.1 /* of the time, waiting for threads */
#define UNEVEN_SHARE 1.5 /* of the waits, for one thread: so many times its even share */
#define BETWEEN_MUCH 0.2
#define COLD_SHARE 0.05 /* of the experts, never chosen */
#define NS(ns) tt_units_ns((char[TT_UNITS_TEXT]){0}, (ns))
#define BYTES(n) tt_units_bytes((char[TT_UNITS_TEXT]){0}, (n))
#define COUNT(n) tt_units_count((char[TT_UNITS_TEXT]){0}, (n))

/* --- flaws of the trace --- */

uint64_t tt_overview_dropped(const tt_model *m)
{
    uint64_t counted, dropped = m->losses_total;
    if (tt_model_count(m, "ops_dropped", &counted) && counted > dropped) dropped = counted;
    return dropped;
}

static void add_flaw(char out[TT_OVERVIEW_FLAWS_TEXT], const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add_flaw(char out[TT_OVERVIEW_FLAWS_TEXT], const char *fmt, ...)
{
    size_t used = strlen(out);
    va_list args;
    if (used) used += (size_t)snprintf(out + used, TT_OVERVIEW_FLAWS_TEXT - used, ", ");
    if (used >= TT_OVERVIEW_FLAWS_TEXT) return;
    va_start(args, fmt);
    (void)vsnprintf(out + used, TT_OVERVIEW_FLAWS_TEXT - used, fmt, args);
    va_end(args);
}

const char *tt_overview_flaws(const tt_model *m, char out[TT_OVERVIEW_FLAWS_TEXT])
{
    const size_t damaged = tt_pieces_damaged(m->pieces, NULL);
    const uint64_t dropped = tt_overview_dropped(m);
    out[0] = '\0';
    if (!m->trace.complete)
        add_flaw(out, "it is cut off at byte %" PRIu64, m->trace.end_bytes);
    else if (m->trace.end_flags & TT_END_RECOVERED)
        add_flaw(out, "the program was cut off");
    if (m->front.present) add_flaw(out, "a flight recorder keeps the end only");
    if (damaged)
        add_flaw(out, "%zu damaged chunk%s of ops %s left out", damaged, damaged == 1 ? "" : "s",
                 damaged == 1 ? "is" : "are");
    if (m->meta_damage.status != TT_OK) add_flaw(out, "descriptions are damaged");
    if (m->n_problems)
        add_flaw(out, "%u reference%s nowhere", m->n_problems,
                 m->n_problems == 1 ? " leads" : "s lead");
    if (dropped)
        add_flaw(out, "%s op record%s dropped", COUNT(dropped), dropped == 1 ? " was" : "s were");
    return out;
}

/* --- findings --- */

static const tt_selects nothing = {-1, -1, -1, -1, -1, NULL};

static void add(tt_overview *o, tt_severity severity, const char *kind, const char *view,
                tt_selects select, const char *text)
{
    if (o->n_findings == TT_OVERVIEW_FINDINGS_MAX) return;
    o->findings[o->n_findings++] = (tt_finding){severity, kind, text, view, select};
}

static tt_status find_bad_values(tt_overview *o, const tt_over *over, tt_error *err)
{
    const tt_values_query all = {0};
    const tt_model *m = o->m;
    tt_values_first f = {0};
    uint64_t bad = 0;
    if (!tt_outputs_any(m) || (tt_model_count(m, "outputs_not_finite", &bad) && !bad)) return TT_OK;
    tt_status status = tt_values_first_bad(m, &all, over, &f, err);
    if (status == TT_OK && f.found && f.n_origins) {
        const tt_values_row *r = &f.origins[0].row;
        const tt_run *run = &m->runs[r->run];
        const tt_tensor *t = &m->graphs[run->graph].tensors[r->node];
        tt_selects s = nothing;
        s.run = r->run;
        s.node = r->first;
        s.layer_id = t->place.layer_id;
        if (run->batch != TT_NONE) s.batch_id = tt_model_batch_number(m, run->batch);
        add(o, TT_SEVERITY_ERROR, "nan", "values", s,
            tt_why_keep(
                &o->texts, "%s of %s outputs hold NaN or infinity; the first is %s%s.",
                COUNT(f.counts.bad), COUNT(f.counts.outputs), t->name,
                s.batch_id < 0 ? "" : tt_why_keep(&o->texts, ", in batch %" PRId64, s.batch_id)));
    }
    tt_values_first_free(&f);
    return status;
}

static void find_flaws(tt_overview *o)
{
    char text[TT_OVERVIEW_FLAWS_TEXT];
    const tt_model *m = o->m;
    if (!*tt_overview_flaws(m, text)) return;
    const bool damaged =
        !m->trace.complete || m->meta_damage.status != TT_OK || tt_pieces_damaged(m->pieces, NULL);
    add(o, damaged ? TT_SEVERITY_ERROR : TT_SEVERITY_WARNING, "cut", NULL, nothing,
        tt_why_keep(&o->texts, "The trace is not whole: %s.", text));
}

/* Each is in o->slow, with its cause: one finding leads to them. */
static void find_slow(tt_overview *o)
{
    const char *listed = "";
    if (!o->n_slow) return;
    tt_selects s = nothing;
    s.batch_id = tt_model_batch_number(o->m, o->slow[0].batch);
    if (o->n_slow_all > o->n_slow && o->n_slow > 1)
        listed = tt_why_keep(&o->texts, "; the worst %zu are listed", o->n_slow);
    add(o, TT_SEVERITY_WARNING, "slow_tokens", "timeline", s,
        tt_why_keep(&o->texts, "%s of %s %s took unusually long or began late%s.",
                    COUNT(o->n_slow_all), COUNT(o->n_compared),
                    o->compared_tokens ? "tokens" : "batches", listed));
}

static double share_of(const tt_overview *o, tt_part_kind part)
{
    for (size_t i = 0; i < o->n_parts && o->total_ns > 0; i++)
        if (o->parts[i].part == part) return o->parts[i].time_ns / o->total_ns;
    return 0;
}

/* How fast it was, and would be if no thread waited for a read; "" if that is not known. */
static const char *pool_bound(tt_overview *o, const tt_pool_report *p)
{
    const tt_filter generated = {.phase = TT_PHASE_GENERATE};
    const tt_phase_summary *g = &o->summary.generate;
    const double tokens = (double)(g->delivered - g->mixed_delivered);
    const char *text = "";
    tt_pool_time t = {0};
    tt_pool_sums s = {0};
    const bool known = tt_pool_time_find(&t, o->m, NULL) == TT_OK &&
                       tt_pool_sums_make(&s, p, &t, &generated, NULL) == TT_OK;
    if (known && tokens > 0 && g->tokens_per_s > 0 && s.pause_ns < g->total_ns) {
        const double most = tokens / (g->total_ns - s.pause_ns) * 1e9;
        text = tt_why_keep(&o->texts,
                           " It generated %s tokens/s, %.0f %% of the %s that computing alone "
                           "allows.",
                           tt_units_speed((char[TT_UNITS_TEXT]){0}, g->tokens_per_s),
                           100 * g->tokens_per_s / most,
                           tt_units_speed((char[TT_UNITS_TEXT]){0}, most));
    }
    tt_pool_sums_free(&s);
    tt_pool_time_free(&t);
    return text;
}

/* What boost read is not in the threads' page faults. */
static void find_pool(tt_overview *o, double disk, const tt_overview_lanes *lanes)
{
    char faults[80] = "";
    tt_pool_report p;
    o->texts.failed |= tt_pool_find(&p, o->m, NULL) != TT_OK;
    if (lanes->major.known)
        (void)snprintf(faults, sizeof faults, ", besides %s%s major page faults",
                       tt_amount_bound(lanes->major), COUNT(lanes->major.value));
    add(o, TT_SEVERITY_WARNING, "disk", "timeline", nothing,
        tt_why_keep(&o->texts, "Ops waited for disk for %.0f %% of the time: boost read %s%s.%s",
                    100 * disk, BYTES(p.total.read_bytes), faults, pool_bound(o, &p)));
    tt_pool_free(&p);
}

/* Threads that were not running, by what the kernel counts. */
static void find_off_cpu(tt_overview *o, const tt_overview_lanes *lanes)
{
    static const struct {
        tt_part_kind part;
        const char *kind, *text;
    } kinds[] = {
        {TT_PART_PROCESSOR, "processor",
         "Threads were ready to run, but waited for a processor for %.0f %% of the time: other "
         "threads had them."},
        {TT_PART_THROTTLED, "throttled",
         "For %.0f %% of the time the control group's quota of processor time was used up: the "
         "kernel kept the threads from running."},
        {TT_PART_STOPPED, "stopped",
         "The program was stopped for %.0f %% of the time: the recorder's own thread did not run "
         "either, though no processor was missing."}};
    const double off = share_of(o, TT_PART_OFF_CPU);
    tt_host_system s;
    tt_system_of(o->m, &s);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const double share = share_of(o, kinds[i].part);
        if (share < MUCH) continue;
        char text[256];
        const bool crowded = i == 0 && lanes->threads > s.usable_processors;
        (void)snprintf(text, sizeof text, kinds[i].text, 100 * share);
        add(o, TT_SEVERITY_WARNING, crowded ? "more_threads" : kinds[i].kind, "timeline", nothing,
            crowded
                ? tt_why_keep(&o->texts,
                              "%u threads computed on %s usable processor%s: they waited for one "
                              "for %.0f %% of the time.",
                              lanes->threads, COUNT(s.usable_processors),
                              s.usable_processors == 1 ? "" : "s", 100 * share)
                : tt_why_keep(&o->texts, "%s", text));
    }
    if (off < MUCH) return;
    add(o, TT_SEVERITY_WARNING, "off_cpu", "timeline", nothing,
        tt_why_keep(&o->texts, "Threads were off CPU for %.0f %% of the time%s: %s.", 100 * off,
                    o->m->delay_known ? " besides" : "",
                    o->m->delay_known
                        ? lanes->major.known
                              ? "blocked, for what is not known"
                              : "blocked, for a disk (page faults were not recorded) or something "
                                "else"
                    : lanes->major.known ? "why was not recorded"
                                         : "why was not recorded; a disk is among it"));
}

static void find_parts(tt_overview *o, const tt_overview_lanes *lanes)
{
    const double disk = share_of(o, TT_PART_DISK);
    const double between = share_of(o, TT_PART_BETWEEN_BATCHES), idle = share_of(o, TT_PART_IDLE);
    const char *faults = tt_why_keep(&o->texts, "%s%s major page faults",
                                     tt_amount_bound(lanes->major), COUNT(lanes->major.value));
    const char *read = tt_overview_disk(o, lanes);
    if (!read) read = "how many bytes came from disk was not recorded";
    if (disk >= MUCH && o->m->n_pool_states)
        find_pool(o, disk, lanes);
    else if (disk >= MUCH)
        add(o, TT_SEVERITY_WARNING, "disk", "memory", nothing,
            tt_why_keep(&o->texts, "Ops waited for disk for %.0f %% of the time: %s, and %s.",
                        100 * disk, faults, read));
    else if (lanes->major.value)
        add(o, TT_SEVERITY_NOTE, "disk", "memory", nothing,
            tt_why_keep(&o->texts, "%c%s, with %s.", toupper((unsigned char)read[0]), read + 1,
                        faults));
    find_off_cpu(o, lanes);
    if (idle >= BETWEEN_MUCH)
        add(o, TT_SEVERITY_NOTE, "idle", "timeline", nothing,
            tt_why_keep(
                &o->texts,
                "%.0f %% of the time the program was idle: between batches, the thread that "
                "computes them slept, as it does while it waits for requests.",
                100 * idle));
    if (between >= BETWEEN_MUCH)
        add(o, TT_SEVERITY_NOTE, "between_batches", "timeline", nothing,
            tt_why_keep(&o->texts,
                        "%.0f %% of the time passed between batches: in the program, not in the "
                        "engine%s.",
                        100 * between,
                        o->m->delay_known ? "" : "; whether it worked or waited was not recorded"));
}

/* In which threads had no processor, or were stopped. */
static double off_share(const tt_overview *o)
{
    double share = 0;
    for (unsigned i = TT_PART_PROCESSOR; i <= TT_PART_DISK; i++)
        share += share_of(o, (tt_part_kind)i);
    return share;
}

static void find_uneven(tt_overview *o, const tt_overview_lanes *lanes)
{
    uint32_t n = 0, most = 0;
    uint64_t all = 0;
    for (uint32_t i = 0; i < TT_WHY_LANES_MAX; i++) {
        if (lanes->wait_ticks[i]) n = i + 1;
        if (lanes->wait_ticks[i] > lanes->wait_ticks[most]) most = i;
        all += lanes->wait_ticks[i];
    }
    const double waits = tt_model_span_ns(o->m, all);
    const double all_ns = tt_model_span_ns(o->m, lanes->even_ticks);
    const double in_batches_ns = o->total_ns * (1 - share_of(o, TT_PART_BETWEEN_BATCHES) -
                                                share_of(o, TT_PART_IDLE) - off_share(o));
    if (n < 2 || !o->m->waits_known || waits < UNEVEN_WAITS * fmax(all_ns, in_batches_ns)) return;
    const double share = (double)lanes->wait_ticks[most] / (double)all;
    tt_selects s = nothing;
    const char *undisturbed = lanes->disturbed ? " in which none was off CPU" : "";
    if (share < UNEVEN_SHARE / n) {
        add(o, TT_SEVERITY_NOTE, "uneven_threads", "timeline", s,
            tt_why_keep(
                &o->texts,
                "Threads waited for each other for %.0f %% of the time of ops%s; none of them was "
                "waited for much longer than the others.",
                100 * waits / all_ns, undisturbed));
        return;
    }
    s.lane = most;
    add(o, TT_SEVERITY_WARNING, "uneven_threads", "timeline", s,
        tt_why_keep(
            &o->texts,
            "Thread %u is slower: the others waited for it %s, %.0f %% of the time of ops%s, "
            "and it arrived last at %.0f %% of them.",
            most, NS(tt_model_span_ns(o->m, lanes->wait_ticks[most])), 100 * share * waits / all_ns,
            undisturbed, 100 * (double)lanes->last[most] / (double)(lanes->ops ? lanes->ops : 1)));
}

static double known_ns(const tt_recomputed *r)
{
    return isnan(r->time_ns) ? 0 : r->time_ns;
}

static tt_status find_recomputed(tt_overview *o, tt_error *err)
{
    const tt_summary *s = &o->summary;
    char text[TT_RECOMPUTED_TEXT];
    tt_recomputed_list list;
    const double all_ns = s->prompt.total_ns + s->mixed.total_ns;
    double ns = 0;
    bool timed = false, time_at_least = false;
    uint64_t tokens = 0;
    tt_status status = tt_recomputed_find(o->m, &list, err);
    for (size_t i = 0; i < list.n && status == TT_OK; i++) {
        tt_recomputed r = list.rows[i];
        timed |= !isnan(r.time_ns);
        time_at_least |= r.time_at_least;
        ns += known_ns(&r);
        tokens += r.n_tokens;
        for (size_t k = 0; k < TT_OVERVIEW_RECOMPUTED; k++) {
            if (k < o->n_recomputed && known_ns(&o->recomputed[k]) >= known_ns(&r)) continue;
            const tt_recomputed was = o->recomputed[k];
            o->recomputed[k] = r;
            if (k == o->n_recomputed) {
                o->n_recomputed++;
                break;
            }
            r = was;
        }
    }
    if (status == TT_OK && list.n) {
        const tt_recomputed *worst = o->recomputed;
        const char *least = list.is_cut ? "at least " : "", *took = "";
        tt_selects select = nothing;
        select.batch_id = tt_model_batch_number(o->m, worst->first_batch);
        if (timed && all_ns > 0)
            took = tt_why_keep(&o->texts, ": %s%s, %.0f %% of the time of prompts%s",
                               *least || time_at_least ? "at least " : "", NS(ns),
                               100 * ns / all_ns, s->mixed.batches ? " and mixed batches" : "");
        add(o, timed && ns >= MUCH * o->total_ns ? TT_SEVERITY_WARNING : TT_SEVERITY_NOTE,
            "recomputed", "timeline", select,
            tt_why_keep(&o->texts,
                        "%s%s prompt%s computed again %s%s tokens that had been computed before, "
                        "behind the same text%s. %s%s",
                        *least ? "At least " : "", COUNT(list.n), list.n == 1 ? "" : "s", least,
                        COUNT(tokens), took,
                        list.n == 1 ? ""
                                    : tt_why_keep(&o->texts, "%s in batch %" PRId64 ". ",
                                                  timed ? "Longest" : "The first", select.batch_id),
                        tt_recomputed_text(o->m, worst, text)));
    } else if (status == TT_OK && list.is_cut && o->not_known.n < TT_WHY_TEXTS_MAX)
        tt_why_write(&o->texts, &o->not_known,
                     "Whether prompts were computed again: not all of them could be compared.");
    tt_recomputed_free(&list);
    return status;
}

static tt_status find_cold_experts(tt_overview *o, const tt_over *over, tt_error *err)
{
    const tt_filter generated = {0};
    uint64_t all = 0, unused = 0, bytes = 0;
    size_t n;
    if (!tt_routers_expert_nodes(o->m)) return TT_OK;
    tt_routers *r = tt_routers_new(o->m, &generated, TT_PHASE_GENERATE);
    if (!r) return tt_error_memory(err, "the experts");
    if (over) tt_routers_until(r, *over);
    tt_status status = tt_routers_walk(r, NULL, NULL, err);
    const tt_router_layer *layers = tt_routers_layers(r, &n); /* with choices */
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_router_sum sum;
        tt_router_sum_up(layers[i].router, &sum);
        all += sum.experts;
        unused += sum.unused;
        bytes += sum.unused * layers[i].expert_bytes;
    }
    tt_routers_free(r);
    if (status == TT_OK && (double)unused >= COLD_SHARE * (double)all && unused)
        add(o, TT_SEVERITY_NOTE, "cold_experts", "experts", nothing,
            tt_why_keep(&o->texts, "%s of %s experts%s were %s.", COUNT(unused), COUNT(all),
                        bytes ? tt_why_keep(&o->texts, " (%s)", BYTES(bytes)) : "",
                        tt_model_lacks_batches(o->m)
                            ? "not chosen in the batches that were recorded"
                            : "never chosen"));
    return status;
}

static void find_copies(tt_overview *o)
{
    char text[TT_COPIES_TEXT];
    tt_copies copies;
    if (tt_copies_find(o->m, &copies) && *tt_copies_text(&copies, text))
        add(o, TT_SEVERITY_NOTE, "copies", "buffers", nothing, tt_why_keep(&o->texts, "%s.", text));
}

tt_status tt_overview_find(tt_overview *o, const tt_overview_lanes *lanes, const tt_over *over,
                           tt_error *err)
{
    tt_status status = find_bad_values(o, over, err);
    if (status != TT_OK) return status;
    find_flaws(o);
    find_slow(o);
    find_parts(o, lanes);
    find_uneven(o, lanes);
    status = find_recomputed(o, err);
    if (status != TT_OK) return status;
    find_copies(o);
    status = find_cold_experts(o, over, err);
    /* The most severe first; otherwise in the order found. */
    for (size_t i = 1; i < o->n_findings; i++)
        for (size_t k = i; k > 0 && o->findings[k].severity < o->findings[k - 1].severity; k--) {
            const tt_finding f = o->findings[k];
            o->findings[k] = o->findings[k - 1];
            o->findings[k - 1] = f;
        }
    return status;
}

/* --- what was not recorded --- */

static void lack(tt_overview *o, const char *what, const char *text, const char *option)
{
    if (o->n_missing == TT_OVERVIEW_MISSING_MAX) return;
    o->missing[o->n_missing++] = (tt_missing){what, text, option};
}

static bool is_off(const tt_model *m, const char *key)
{
    const char *value = tt_model_environment(m, key);
    return value && strcmp(value, "off") == 0;
}

/* The runner takes the options of `run`; other programs stand behind "--". */
static const char *again(tt_overview *o)
{
    static const char runner[] = "tensortrace runner ";
    const char *command = tt_model_environment(o->m, "command");
    if (!command || !*command) return NULL;
    if (is_off(o->m, "capture_text")) {
        const char *name = strrchr(command, '/');
        return strcmp(name ? name + 1 : command, "tensortrace") == 0
                   ? "-m MODEL ..."
                   : tt_why_keep(&o->texts, "-- %s ...", command);
    }
    const char *at = strstr(command, runner);
    if (at && (at == command || at[-1] == '/' || at[-1] == ' ')) return at + strlen(runner);
    return tt_why_keep(&o->texts, "-- %s", command);
}

void tt_overview_list_missing(tt_overview *o, const tt_parts_walker *w)
{
    const tt_model *m = o->m;
    const bool by_callback = o->summary.runs_called_back > 0;
    if (tt_model_is_imported(m)) {
        lack(o, "times, page faults, pages in RAM, values",
             tt_why_keep(&o->texts, "%s", tt_lacking_how(m, "", (char[TT_LACKING_TEXT]){0})), NULL);
        return;
    }
    if (!w) lack(o, "times", "the trace cannot turn ticks into time", NULL);
    if (w && !m->waits_known)
        lack(o, "waits of threads",
             m->waits_unknown ? m->waits_unknown
             : by_callback    ? "the scheduler's callback sees an op as a whole"
                              : "threads were not observed",
             NULL);
    if (w && !tt_parts_off_cpu_known(w))
        lack(o, "time off CPU", "own work includes it", by_callback ? NULL : "--faults=both");
    if (!tt_model_has_faults(m))
        lack(o, "page faults", "what came from disk, and for which tensors", "--faults=both");
    else if (tt_model_faults_are_events(m))
        lack(o, "bytes read by ops", "only what the whole process read is known", "--faults=both");
    if (!m->n_residencies)
        lack(o, "pages in RAM", "how much of the model was in memory", "--residency");
    if (!tt_outputs_any(m))
        lack(o, "values", "whether outputs hold NaN or infinity", "--values=stats");
    if (is_off(m, "capture_text"))
        lack(o, "texts of tokens", "they were left out", "without --no-text");
    o->again = again(o);
}
