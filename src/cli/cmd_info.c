/* tensortrace info FILE: what ran, and what is worth knowing about it. */
#include "analyze/join.h"
#include "analyze/kernel.h"
#include "analyze/pool.h"
#include "analyze/pool_sums.h"
#include "analyze/storage.h"
#include "answer/info.h"
#include "base/order.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/overview_text.h"
#include "cli/report.h"
#include "cli/runs.h"
#include "cli/table.h"
#include "cli/trace_options.h"
#include "model/faults.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* `tensortrace info`: the trace's bytes by content. */

#define META_SHOWN 4u /* largest types of META records shown */

static int by_size(const void *x, const void *y)
{
    const tt_content_row *a = x, *b = y;
    if (a->stored_bytes != b->stored_bytes) return tt_order(b->stored_bytes, a->stored_bytes);
    return strcmp(a->column, b->column);
}

/* Leaves the largest types of META records, and the others in one row, `name`. Returns how many. */
static size_t join_meta(tt_content_row *list, size_t n, char *name, size_t room)
{
    qsort(list, n, sizeof *list, by_size);
    if (n <= META_SHOWN + 1) return n;
    tt_content_row *rest = &list[META_SHOWN];
    (void)snprintf(name, room, "%zu other types", n - META_SHOWN);
    rest->column = name;
    for (size_t i = META_SHOWN + 1; i < n; i++) {
        rest->stored_bytes += list[i].stored_bytes;
        rest->apportioned |= list[i].apportioned;
    }
    return META_SHOWN + 1;
}

static bool content_text(const tt_info *info)
{
    static const char *const parts[] = {"ops", "meta", "detail", "value", "container"};
    const tt_content *c = &info->content;
    tt_content_row rows[TT_CONTENT_ROWS_MAX];
    size_t n = 0;
    char name[48];
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const size_t first = n;
        for (size_t i = 0; i < c->n; i++)
            if (strcmp(c->rows[i].part, parts[p]) == 0) rows[n++] = c->rows[i];
        if (strcmp(parts[p], "meta") == 0)
            n = first + join_meta(rows + first, n - first, name, sizeof name);
    }
    return tt_list_print_under("What the trace's bytes are",
                               &TT_ROWSET(&tt_content_schema, 0, c, &rows[0], n),
                               &(tt_listing_wish){.text = true}, NULL);
}

/* `tensortrace info`: what was captured besides the ops, and the buffers by kind. */

/* "experts, text; off: faults, residency", and what could not be captured, with the reason. */
static void capture_lines(const tt_model *m)
{
    char on[96] = "", off[96] = "";
    bool any = false;
    for (unsigned i = 0; i < TT_INFO_CAPTURES; i++) {
        tt_info_capture c = tt_info_find_capture(m, i);
        any |= c.state != NULL;
        if (!c.state || c.reason) continue;
        char *list = strcmp(c.state, "on") == 0 ? on : off;
        size_t used = strlen(list);
        (void)snprintf(list + used, sizeof on - used, "%s%s", used ? ", " : "", c.name);
    }
    if (!any) return;
    tt_table_line(stdout, "captured", "%s%s%s", on[0] ? on : "only the ops",
                  off[0] ? "; off: " : "", off);
    for (unsigned i = 0; i < TT_INFO_CAPTURES; i++) {
        tt_info_capture c = tt_info_find_capture(m, i);
        if (c.reason) tt_table_line(stdout, "", "%s not observed: %s", c.name, c.reason);
    }
}

/* The batches in the trace, if it does not have all. */
static void choice_text(const tt_info *info)
{
    const tt_model *m = info->m;
    char held[TT_UNITS_TEXT], of[TT_UNITS_TEXT], a[TT_UNITS_TEXT], why[128] = "";
    uint64_t batches = 0, not_asked = 0, after = 0;
    const char *tokens = tt_model_environment(m, "capture_tokens");
    const char *every = tt_model_environment(m, "capture_every");
    const char *stopped = tt_model_environment(m, "stopped");
    (void)tt_model_count(m, "batches", &batches);
    (void)tt_model_count(m, "batches_not_asked", &not_asked);
    (void)tt_model_count(m, "batches_after_limit", &after);
    if (tokens || every)
        tt_table_line(stdout, "asked for", "batches %s%s%s", tokens ? tokens : "0..",
                      every ? ", one of every " : "", every ? every : "");
    if (after) (void)snprintf(why, sizeof why, "; %s after the limit", tt_units_count(a, after));
    if (not_asked + after)
        tt_table_line(stdout, "batches", "%s of %s recorded%s", tt_units_count(held, m->n_batches),
                      tt_units_count(of, batches), why);
    if (m->front.present)
        tt_table_line(stdout, "recorder", "a flight recorder of %s: the last %s of %s batches",
                      tt_units_bytes(a, m->front.was.ring_bytes),
                      tt_units_count(held, m->n_batches),
                      batches ? tt_units_count(of, batches) : "an unknown number of");
    if (stopped) tt_table_line(stdout, "stopped", "%s", stopped);
}

/* What was recorded of outputs: "values=hash:blk.* 9,096 fingerprints, 2 with NaN or infinity". */
static void value_lines(const tt_info *info)
{
    const tt_model *m = info->m;
    uint64_t outputs, bad, dropped;
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    const char *asked = NULL;
    for (unsigned i = 0; i < TT_INFO_CAPTURES && !asked; i++)
        asked = tt_info_find_capture(m, i).asked;
    if (!asked) return;
    const bool knows_bad = tt_model_count(m, "outputs_not_finite", &bad);
    const bool knows_dropped = tt_model_count(m, "data_dropped", &dropped);
    if (tt_model_count(m, "outputs", &outputs))
        tt_table_line(stdout, "values", "%s: %s fingerprints taken, %s with NaN or infinity", asked,
                      tt_units_count(a, outputs),
                      knows_bad ? tt_units_count(b, bad) : "an unknown number");
    else
        tt_table_line(stdout, "values", "%s: an unknown number of fingerprints taken", asked);
    if (info->summary.data_parts || (knows_dropped && dropped))
        tt_table_line(stdout, "", "data of outputs in %s parts, %s of the file, %s dropped",
                      tt_units_count(a, info->summary.data_parts),
                      tt_units_bytes(b, info->summary.data_bytes),
                      knows_dropped ? tt_units_count((char[TT_UNITS_TEXT]){0}, dropped)
                                    : "an unknown number");
}

static void fact_line(void *context, const char *title, const char *value)
{
    (void)context;
    tt_table_line(stdout, title, "%s", value);
}

/* Memory, limits, and locations of model files. */
static void system_lines(const tt_model *m)
{
    tt_system_facts(m, fact_line, NULL);
    for (uint32_t i = 0; i < m->n_files; i++) {
        if (m->n_files > 1) tt_table_line(stdout, "model file", "%s", m->files[i].path);
        tt_storage_facts(m, &m->files[i], fact_line, NULL);
    }
}

static void detail_lines(const tt_info *info)
{
    const tt_model *m = info->m;
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT];
    if (info->summary.details || m->detail_losses_total)
        tt_table_line(stdout, "details", "%s (rows, experts, faults and so on of ops), %s dropped",
                      tt_units_count(a, info->summary.details),
                      tt_units_count(b, m->detail_losses_total));
    if (m->n_usages || m->n_residencies)
        tt_table_line(stdout, "readings", "%s of the kernel's totals, %s of pages in RAM",
                      tt_units_count(a, m->n_usages), tt_units_count(b, m->n_residencies));
    if (m->n_token_texts)
        tt_table_line(stdout, "texts", "of %s tokens", tt_units_count(a, m->n_token_texts));
    if (info->summary.sequences_observed)
        tt_table_line(stdout, "sequences", "%s", tt_units_count(a, info->summary.sequences));
}

/* The peaks. */
static void buffer_line(const tt_info *info)
{
    char text[256] = "";
    size_t used = 0;
    for (unsigned i = TT_BUFFER_WEIGHTS; i <= TT_BUFFER_OUTPUT + 1u; i++) {
        unsigned kind = i <= TT_BUFFER_OUTPUT ? i : TT_BUFFER_OTHER; /* "other" comes last */
        char size[TT_UNITS_TEXT];
        const tt_buffers_peak *peak = &info->peaks[kind];
        if (peak->count == 0) continue;
        int n =
            snprintf(text + used, sizeof text - used, "%s%s %s", used ? ", " : "",
                     tt_buffer_kind_name((tt_buffer_kind)kind), tt_units_bytes(size, peak->bytes));
        if (n > 0 && peak->count > 1)
            n += snprintf(text + used + n, sizeof text - used - (size_t)n, " in %u", peak->count);
        used = n > 0 && used + (size_t)n < sizeof text ? used + (size_t)n : sizeof text - 1;
    }
    if (used) tt_table_line(stdout, "buffers", "%s at most at one time", text);
}

static void capture_text(const tt_info *info)
{
    capture_lines(info->m);
    detail_lines(info);
    system_lines(info->m);
    value_lines(info);
    buffer_line(info);
}

#define COMMAND_SHOWN 100u /* bytes of the command in lines of any width ... */
#define COMMAND_LEAST 40u  /* ... and in narrow ones */
#define TOP_OPS 6u
#define TOP_TENSORS 5u

static void environment_line(const tt_model *m, const char *what, const char *key)
{
    const char *value = tt_model_environment(m, key);
    if (value && value[0]) tt_table_line(stdout, what, "%s", value);
}

/* Skips the words of a dynamic linker that started the program: they are long and irrelevant. Words
 * are separated by single blanks. */
static const char *without_loader(const char *command)
{
    static const char *const takes_one[] = {"--library-path ", "--preload ", "--argv0 ", "--audit ",
                                            "--inhibit-rpath "};
    size_t first = strcspn(command, " ");
    const char *name = memrchr(command, '/', first);
    name = name ? name + 1 : command;
    if (strncmp(name, "ld-linux", 8) != 0 && strncmp(name, "ld.so", 5) != 0) return command;
    const char *at = command + first;
    while (*at == ' ' && strncmp(at, " --", 3) == 0) {
        bool takes = false;
        at++;
        for (size_t i = 0; i < sizeof takes_one / sizeof *takes_one; i++)
            takes |= strncmp(at, takes_one[i], strlen(takes_one[i])) == 0;
        at += strcspn(at, " ");
        if (takes) at += 1 + strcspn(at + 1, " ");
    }
    return *at == ' ' && at[1] ? at + 1 : command;
}

/* The program's name and its last arguments, which matter most. */
static void command_line(const tt_model *m)
{
    const char *whole = tt_model_environment(m, "command");
    const char *command = whole ? without_loader(whole) : "";
    const size_t width = tt_table_width(stdout), n = strlen(command);
    const size_t most = width > 13 + COMMAND_LEAST ? width - 13 : COMMAND_SHOWN;
    if (n == 0) return;
    if (n <= most)
        tt_table_line(stdout, "command", "%s", command);
    else
        tt_table_line(stdout, "command", "%.*s ... %s", (int)(most / 2 - 5), command,
                      command + n - (most - most / 2));
}

static void created_line(const tt_model *m)
{
    time_t seconds = (time_t)(m->trace.header.created_unix_ns / 1000000000u);
    struct tm when;
    char text[64];
    if (gmtime_r(&seconds, &when) && strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &when))
        tt_table_line(stdout, "recorded", "%s, process %" PRIu64, text, m->trace.header.pid);
}

/* "engine v0.5.0", then the other keys that begin with engine_, libraries by file name. */
static void engine_lines(const tt_model *m)
{
    bool first = true;
    environment_line(m, "engine", "engine_version");
    first = !tt_model_environment(m, "engine_version");
    for (uint32_t i = 0; i < m->n_environment; i++) {
        const tt_pair *p = &m->environment[i];
        if (strncmp(p->key, "engine_", 7) != 0 || strcmp(p->key, "engine_version") == 0 ||
            tt_model_environment(m, p->key) != p->value)
            continue;
        char key[64];
        (void)snprintf(key, sizeof key, "%s", p->key + 7);
        for (char *c = key; *c; c++)
            if (*c == '_') *c = ' ';
        tt_table_line(stdout, first ? "engine" : "", "%s: %s", key, p->value);
        first = false;
    }
}

static void model_lines(const tt_model *m)
{
    for (uint32_t i = 0; i < m->n_files; i++) {
        char size[TT_UNITS_TEXT];
        tt_table_line(stdout, i == 0 ? "model" : "", "%s (%s, %u tensors)", m->files[i].path,
                      tt_units_bytes(size, m->files[i].size_bytes), m->files[i].n_weights);
        const char *state = tt_info_end_state(&m->files[i]);
        if (state && m->files[i].end_state != TT_MODEL_SAME)
            tt_table_line(stdout, "", "the model file was %s while the run lasted", state);
    }
}

static void observed_line(const tt_info *info)
{
    const tt_summary *s = &info->summary;
    const char *mode = tt_model_environment(info->m, "mode");
    const char *reason = tt_model_environment(info->m, "mode_reason");
    tt_table_line(stdout, "mode", "%s%s%s%s", mode ? mode : "unknown",
                  reason && reason[0] ? " (" : "", reason && reason[0] ? reason : "",
                  reason && reason[0] ? ")" : "");
    if (s->runs_called_back && s->runs_hooked)
        tt_table_line(stdout, "",
                      "%" PRIu64 " runs hooked per thread, %" PRIu64
                      " seen by the scheduler callback",
                      s->runs_hooked, s->runs_called_back);
    if (info->m->waits_unknown)
        tt_table_line(stdout, "waits", "not observed: %s", info->m->waits_unknown);
    if (info->m->remote) tt_table_line(stdout, "other ops", "not observed: %s", info->m->remote);
    if (s->runs_bounds)
        tt_table_line(stdout, "", "of %" PRIu64 " runs only begin and end were seen",
                      s->runs_bounds);
}

/* Whether the trace's end needs no remark. */
static bool ends_well(const tt_info *info)
{
    tt_error damage;
    const unsigned odd = TT_END_RECOVERED | TT_END_SNAPSHOT;
    return info->m->trace.complete && (info->m->trace.end_flags & TT_END_NORMAL) &&
           !(info->m->trace.end_flags & odd) && info->m->meta_damage.status == TT_OK &&
           tt_pieces_damaged(info->m->pieces, &damage) == 0;
}

static void ending_line(const tt_info *info)
{
    const tt_trace *t = &info->m->trace;
    tt_error damage;
    size_t damaged = tt_pieces_damaged(info->m->pieces, &damage);
    if (!t->complete)
        tt_table_line(stdout, "ending", "cut off at byte %" PRIu64 ": %s", t->end_bytes,
                      t->cut.message);
    else
        tt_table_line(stdout, "ending", "%s%s",
                      t->end_flags & TT_END_RECOVERED  ? "the program was cut off; recovered"
                      : t->end_flags & TT_END_SNAPSHOT ? "a snapshot: the program went on"
                      : t->end_flags & TT_END_NORMAL   ? "complete"
                                                       : "complete, but not closed by itself",
                      damaged || info->m->meta_damage.status != TT_OK ? ", but damaged" : "");
    if (info->m->meta_damage.status != TT_OK)
        tt_table_line(stdout, "damaged", "at byte %" PRIu64 ": %s", info->m->meta_damage.offset,
                      info->m->meta_damage.message);
    if (damaged)
        tt_table_line(stdout, "damaged",
                      "%zu OPS chunk%s left out; the first at byte %" PRIu64 ": %s", damaged,
                      damaged == 1 ? "" : "s", damage.offset, damage.message);
}

static void speculation_line(const tt_summary *s)
{
    char text[TT_SPECULATION_TEXT];
    if (!s->speculation.known)
        tt_table_line(stdout, "", "which of the generated tokens were guesses was not recorded");
    else if (s->speculation.any)
        tt_table_line(stdout, "", "%s", tt_speculation_say(&s->speculation, text));
}

static void first_token_line(const tt_first_tokens *f)
{
    char median[TT_UNITS_TEXT], worst[TT_UNITS_TEXT];
    if (f->n == 1)
        tt_table_line(stdout, "first token", "after %s", tt_units_ns(median, f->median_ns));
    else if (f->n)
        tt_table_line(stdout, "first token", "after %s (median of %u prompts; at most %s)",
                      tt_units_ns(median, f->median_ns), f->n, tt_units_ns(worst, f->worst_ns));
}

static void phase_line(const char *what, const tt_phase_summary *p)
{
    char a[TT_UNITS_TEXT], mixed[2 * TT_UNITS_TEXT + 48] = "", time[2 * TT_UNITS_TEXT + 32] = "";
    char rate[48] = "";
    if (p->batches == 0 && p->mixed_delivered == 0) return;
    if (p->mixed_delivered > 0) {
        char all[TT_UNITS_TEXT];
        (void)snprintf(mixed, sizeof mixed, "%s tokens, %s of them in mixed batches",
                       tt_units_count(all, p->delivered), tt_units_count(a, p->mixed_delivered));
        if (p->batches == 0) {
            tt_table_line(stdout, what, "%s", mixed);
            return;
        }
        (void)strncat(mixed, "; ", sizeof mixed - strlen(mixed) - 1);
    }
    /* Of a batch without an end it is not known how long its tokens took. */
    const bool cut = p->timed < p->delivered - p->mixed_delivered;
    if (p->total_ns > 0)
        (void)snprintf(time, sizeof time, ", %s%s%s", cut ? tt_units_count(rate, p->timed) : "",
                       cut ? " of the tokens in " : "", tt_units_ns(a, p->total_ns));
    if (p->tokens_per_s > 0)
        (void)snprintf(rate, sizeof rate, ": %s tokens/s",
                       tt_units_speed((char[TT_UNITS_TEXT]){0}, p->tokens_per_s));
    char batches[TT_UNITS_TEXT];
    tt_units_count(batches, p->batches);
    if (p->tokens > 0)
        tt_table_line(stdout, what, "%s%s token%s in %s batch%s%s%s", mixed,
                      tt_units_count(a, p->delivered - p->mixed_delivered),
                      p->delivered - p->mixed_delivered == 1 ? "" : "s", batches,
                      p->batches == 1 ? "" : "es", time, rate);
    else
        tt_table_line(stdout, what, "%s batch%s without tokens%s", batches,
                      p->batches == 1 ? "" : "es", time);
}

/* Missing parts of the trace; nothing if it is complete. */
static void loss_lines(const tt_info *info)
{
    char a[TT_UNITS_TEXT];
    uint64_t dropped = info->m->losses_total, counted, unresolved = 0, meta = 0;
    if (tt_model_count(info->m, "ops_dropped", &counted) && counted > dropped) dropped = counted;
    if (dropped) tt_table_line(stdout, "dropped", "%s op records", tt_units_count(a, dropped));
    if (tt_model_count(info->m, "ops_unresolved", &unresolved) && unresolved)
        tt_table_line(stdout, "unrecorded",
                      "%s ops: outside any known graph, or on too many threads",
                      tt_units_count(a, unresolved));
    environment_line(info->m, "unrecorded", "unrecorded");
    if (tt_model_count(info->m, "meta_dropped", &meta) && meta)
        tt_table_line(stdout, "lost", "%s descriptions (graphs, batches, ...)",
                      tt_units_count(a, meta));
    if (info->summary.runs_open)
        tt_table_line(stdout, "open", "%s graph computation%s never ended",
                      tt_units_count(a, info->summary.runs_open),
                      info->summary.runs_open == 1 ? "" : "s");
}

static void count_lines(const tt_info *info)
{
    char a[TT_UNITS_TEXT], b[TT_UNITS_TEXT], c[TT_UNITS_TEXT];
    const tt_summary *s = &info->summary;
    if (info->findings)
        tt_table_line(stdout, "ops", "%s, on up to %u thread%s",
                      tt_units_count(c, tt_stats_total(info->by_op)->count), s->lanes,
                      s->lanes == 1 ? "" : "s");
    tt_table_line(stdout, "records", "%s: one for each op and thread",
                  tt_units_count(a, s->records));
    tt_table_line(stdout, "graphs", "%u, computed %s times", info->m->n_graphs,
                  tt_units_count(b, info->m->n_runs));
    tt_table_line(stdout, "trace", "%s, %s", info->path, tt_units_bytes(c, s->file_bytes));
    if (s->records)
        tt_table_line(
            stdout, "", "%.2f bytes per op and thread (%.2f without graphs, tensors and names)",
            (double)s->file_bytes / (double)s->records, (double)s->ops_bytes / (double)s->records);
}

static bool is_callback(const tt_info *info)
{
    const char *mode = tt_model_environment(info->m, "mode");
    return mode && strcmp(mode, "hook") != 0;
}

/* ", 1.5 MiB a generated token"; "" if there is none. */
static void of_token(char *out, size_t room, const tt_pool_report *p)
{
    const tt_filter generated = {.phase = TT_PHASE_GENERATE};
    char bytes[TT_UNITS_TEXT];
    tt_pool_sums s;
    out[0] = '\0';
    if (tt_pool_sums_make(&s, p, NULL, &generated, NULL) == TT_OK && s.tokens)
        (void)snprintf(out, room, ", %s a generated token",
                       tt_units_bytes(bytes, s.total.read_bytes / s.tokens));
    tt_pool_sums_free(&s);
}

/* Figures of `boost` for the whole run. */
static void pool_line(const tt_model *m)
{
    char read[TT_UNITS_TEXT], peak[TT_UNITS_TEXT], budget[TT_UNITS_TEXT], hits[64] = "";
    char waited[TT_UNITS_TEXT], reads[TT_UNITS_TEXT], token[64], line[400];
    tt_pool_report p;
    if (!m->n_pool_states || tt_pool_find(&p, m, NULL) != TT_OK) return;
    const tt_pool_row *t = &p.total;
    if (t->used)
        (void)snprintf(hits, sizeof hits, ", %.1f %% of experts were there",
                       100 * (1 - (double)(t->missed + t->left) / (double)t->used));
    of_token(token, sizeof token, &p);
    (void)snprintf(line, sizeof line,
                   "boost        %s in %s reads%s%s; threads waited %s; memory: %s of %s",
                   tt_units_bytes(read, t->read_bytes), tt_units_count(reads, t->reads), token,
                   hits, tt_units_ns(waited, (double)t->waited_ns),
                   tt_units_bytes(peak, t->peak_bytes), tt_units_bytes(budget, t->budget_bytes));
    tt_table_text(stdout, 13, line);
    tt_pool_free(&p);
}

/* How fast it was, then what ran. */
static void print_head(const tt_info *info, const tt_overview *overview)
{
    const tt_model *m = info->m;
    char text[TT_UNITS_TEXT];
    if (overview) tt_table_printf(stdout, 0, "%s\n\n", overview->headline);
    phase_line("generate", &info->summary.generate);
    speculation_line(&info->summary);
    phase_line("prompt", &info->summary.prompt);
    first_token_line(&info->summary.first_tokens);
    phase_line("mixed", &info->summary.mixed);
    phase_line("warm-up", &info->summary.warmup);
    phase_line("training", &info->summary.training);
    phase_line("unknown", &info->summary.unknown);
    if (m->clock.known)
        tt_table_line(stdout, "time", "%s%s", tt_units_ns(text, info->summary.elapsed_ns),
                      m->clock.assumed ? " (by the clock's nominal rate)" : "");
    else
        tt_table_line(stdout, "time", "unknown: the trace cannot turn ticks into time");
    model_lines(m);
    environment_line(m, "engine", "engine_version");
    command_line(m);
    environment_line(m, "attached", "attached");
    if (is_callback(info) || m->remote)
        observed_line(info); /* single-stepped ops have other times */
    if (!ends_well(info)) ending_line(info);
    pool_line(info->m);
    choice_text(info);
    loss_lines(info);
}

/* How it was recorded, and the overhead. */
static void print_recording(const tt_info *info)
{
    const tt_model *m = info->m;
    char id[33];
    printf("\nThe recording\n");
    tt_info_run_id(info, id);
    tt_table_line(stdout, "run", "%s", id);
    created_line(m);
    environment_line(m, "command", "command");
    environment_line(m, "host", "host");
    environment_line(m, "cpu", "cpu");
    engine_lines(m);
    observed_line(info);
    environment_line(m, "options", "capture");
    ending_line(info);
    count_lines(info);
    capture_text(info);
}

/* "(no weight)" is no tensor. */
static bool is_named(const tt_stats_row *r)
{
    return r->key[0] != '(';
}

#define TIMES ",share,total_ns,count,mean_ns,weight_bytes,bytes_per_s"

static bool row_is_named(const void *context, const void *row)
{
    (void)context;
    return is_named(row);
}

static bool time_table(const char *heading, const char *columns, tt_stats_by by, const tt_stats *s,
                       size_t limit)
{
    size_t n;
    const tt_stats_row *rows = tt_stats_rows(s, &n);
    const tt_stats_context context = {tt_stats_total(s)};
    const tt_rowset set = tt_stats_rowset(&context, by, rows, n);
    const tt_listing_wish wish = {.columns = columns,
                                  .sort = tt_stats_dimensions[by].sort,
                                  .limit = limit,
                                  .text = true,
                                  .passes = row_is_named};
    /* `stats` lists the others. */
    return tt_list_print_under(heading, &set, &wish, NULL);
}

static bool reads_weights(const tt_info *info, const char *phase, const tt_phase_summary *p)
{
    const tt_stats_row *r = tt_info_row(info->by_phase, phase);
    return r && p->batches && r->weight_bytes;
}

static void bytes_per_batch(const char *what, const tt_info *info, const char *phase,
                            const tt_phase_summary *p)
{
    const tt_stats_row *r = tt_info_row(info->by_phase, phase);
    char bytes[TT_UNITS_TEXT], model[TT_UNITS_TEXT];
    if (!reads_weights(info, phase, p)) return;
    uint64_t each = r->weight_bytes / p->batches;
    char share[64] = "";
    if (info->summary.model_bytes)
        (void)snprintf(share, sizeof share, " (%.0f %% of %s of weights)",
                       100.0 * (double)each / (double)info->summary.model_bytes,
                       tt_units_bytes(model, info->summary.model_bytes));
    tt_table_printf(stdout, 12, "  %-10s%s%s a %s%s", what, r->at_most ? "<= " : "",
                    tt_units_bytes(bytes, each), p->tokens == p->batches ? "token" : "batch",
                    share);
}

static void paragraph(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void paragraph(const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    putchar('\n');
    tt_table_text(stdout, 0, text);
}

static bool print_findings(const tt_info *info)
{
    size_t n;
    char by_op[64] = "Time by op";
    (void)tt_stats_rows(info->by_op, &n);
    if (n > TOP_OPS) (void)snprintf(by_op, sizeof by_op, "Time by op (%u of %zu)", TOP_OPS, n);
    bool ok = time_table("Time by part of the network", "category" TIMES, TT_BY_CATEGORY,
                         info->by_category, 0) &&
              time_table(by_op, "op" TIMES, TT_BY_OP, info->by_op, TOP_OPS) &&
              time_table("Busiest tensors",
                         info->m->n_models > 1 ? "tensor,model_file" TIMES : "tensor" TIMES,
                         TT_BY_TENSOR, info->by_tensor, TOP_TENSORS);
    if (reads_weights(info, "prompt", &info->summary.prompt) ||
        reads_weights(info, "generate", &info->summary.generate))
        printf("\nWeights read\n");
    bytes_per_batch("prompt", info, "prompt", &info->summary.prompt);
    bytes_per_batch("generate", info, "generate", &info->summary.generate);
    ok = ok && time_table("Threads: own work, waiting for the others, off CPU in ops",
                          "thread_id,work_ns,wait_ns,wait_share,off_cpu_ns,count", TT_BY_THREAD,
                          info->by_thread, 0);
    const tt_stats_row *all = tt_stats_total(info->by_op);
    if (all->off_cpu_ns >= TT_OFF_CPU_MUCH * all->busy_ns && all->off_cpu_ns > 0)
        paragraph("SHARE and WORK leave out the time off CPU, TOTAL and MEAN do not.");
    char flaws[TT_STATS_FLAWS_TEXT];
    if (tt_stats_flaws(tt_stats_total(info->by_op), flaws)) paragraph("%s", flaws);
    if (tt_stats_orphan(info->by_op)) {
        char count[TT_UNITS_TEXT];
        printf("\n%s records belong to runs that the trace does not describe%s\n",
               tt_units_count(count, tt_stats_orphan(info->by_op)),
               info->m->front.present ? " any more: the begin of what was kept" : "");
    }
    return ok;
}

static void next_line(const tt_info *info, const char *verb, const char *options, const char *what)
{
    const int width = (int)strlen("log --batch 1 --lanes");
    const int pad = width - (int)(strlen(verb) + strlen(options));
    const size_t room = tt_table_width(stdout);
    const size_t needed = strlen(tt_report_program()) + strlen(info->path) + (size_t)width + 6;
    const bool apart = room && needed + strlen(what) > room;
    printf("  %s %s %s%s%*s%s%s\n", tt_report_program(), verb, info->path, options, apart ? 0 : pad,
           "", apart ? "\n        " : "  ", what);
}

static void print_next(const tt_info *info, const tt_overview *overview)
{
    uint32_t batches = info->m->n_batches;
    char lanes[48] = " --lanes";
    if (batches)
        (void)snprintf(lanes, sizeof lanes, " --batch %" PRIu32 " --lanes",
                       tt_model_batch_number(info->m, batches > 1));
    printf("\nNext\n");
    if (overview && overview->n_slow) {
        char batch[32];
        (void)snprintf(batch, sizeof batch, " --batch %" PRIu32,
                       tt_model_batch_number(info->m, overview->slow[0].batch));
        next_line(info, "why", batch, "why the slowest token was slow");
    }
    next_line(info, "stats", " --by layer", "time and bytes of each layer");
    next_line(info, "log", lanes,
              batches ? "what each thread did for a batch" : "what each thread did");
    if (tt_model_has_faults(info->m))
        next_line(info, "faults", "", "what came from disk, for which weights");
    if (info->m->n_pool_states)
        next_line(info, "faults", " --pool", "what boost read, and who waited");
    if (info->m->n_weights) next_line(info, "heat", "", "which weights are hot");
    if (tt_details_has(info->m->details, TT_DETAIL_EXPERTS))
        next_line(info, "routing", "", "which experts were chosen");
    next_line(info, "verify", "", "whether the trace is whole");
}

/* overview: NULL without findings. */
static bool print_text(const tt_info *info, const tt_overview *overview, bool verbose)
{
    bool ok = true;
    print_head(info, overview);
    if (overview) ok = tt_overview_print_brief(overview);
    if (ok && info->findings && tt_stats_total(info->by_op)->count) ok = print_findings(info);
    if (verbose) print_recording(info);
    if (verbose && info->content.n) ok = content_text(info) && ok;
    if (info->m->n_runs == 0)
        printf(
            "\nThe trace holds no graph computation: nothing was computed, or nothing was seen.\n");
    print_next(info, overview);
    if (!verbose) next_line(info, "info", " --verbose", "how it was recorded, and its bytes");
    return ok;
}

struct options {
    tt_input input;
    bool brief, verbose;
    tt_where where;
};

static const tt_option option_table[] = {
    {"brief", 0, 0, "Only what ran, without findings: the ops are not read", 1,
     TT_FLAG(struct options, brief)},
    {"verbose", 'v', 0, "Also how it was recorded, and the size of each part of the trace", 1,
     TT_FLAG(struct options, verbose)},
    TT_WHERE(struct options, where, 1),
    {0},
};

static bool print_json(const tt_info *info)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_info_json(&j, info);
    return tt_json_end(&j);
}

/* The text, with the overview's headline and times unless no op was read. */
static int print_all(const tt_info *info, const struct options *o)
{
    tt_overview overview = {0};
    tt_error err;
    const tt_overview_sums sums = {.by_tensor = info->by_tensor, .by_phase = info->by_phase};
    const bool found = info->findings && tt_stats_total(info->by_op)->count;
    int code;
    if (found && tt_overview_make(info->m, &sums, NULL, NULL, NULL, &overview, &err) != TT_OK)
        code = tt_report_error(&err);
    else
        code = tt_report_output(print_text(info, found ? &overview : NULL, o->verbose));
    if (found) tt_overview_free(&overview);
    return code;
}

static int find_and_print(const struct options *o, const tt_model *m)
{
    tt_info info;
    tt_error err;
    tt_progress bar;
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status =
        tt_info_collect(&info, m, o->input.path, !o->brief, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    int code;
    if (status != TT_OK)
        code = tt_report_error(&err);
    else if (o->input.json)
        code = tt_report_output(print_json(&info));
    else
        code = print_all(&info, o);
    tt_info_free(&info);
    return code;
}

static int show(void *options)
{
    const struct options *o = options;
    tt_model *m = NULL;
    int code = tt_input_open_trace(&o->input, TT_INPUT_REPORTED, &m);
    if (code == TT_EXIT_OK) code = find_and_print(o, m);
    tt_model_close(m);
    return code;
}

int tt_cmd_info(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "Summarises the trace FILE: engine, model, options, times, and findings.\v"
                 "See also: tensortrace stats, log and verify.",
        .sets = {{.options = option_table}, TT_INPUT(struct options, input)}};
    struct options o = {0};
    tt_options_parse(&command, argc, argv, &o);
    return tt_runs_each(&o.input, &o.where, false, show, &o);
}
