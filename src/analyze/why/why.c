#include "analyze/why/why.h"

#include "analyze/faults.h"
#include "base/units.h"
#include "model/faults.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXTS_BYTES_MAX ((size_t)1 << 20)
#define SENTENCE_MAX 512

const char *tt_why_kind_name(tt_why_kind kind)
{
    static const char *const names[] = {"batch", "layer", "op"};
    return names[kind];
}

const char *tt_cause_name(tt_cause cause)
{
    static const char *const names[TT_CAUSES] = {
        NULL,          "long_prompt",     "recomputed", "disk",      "cold_expert", "kernel",
        "processor",   "more_threads",    "throttled",  "off_cpu",   "stopped",     "waits",
        "between_ops", "between_batches", "context",    "more_bytes"};
    return cause < TT_CAUSES ? names[cause] : NULL;
}

const char *tt_cause_phrase(tt_cause cause)
{
    static const char *const phrases[TT_CAUSES] = {
        "the cause is not known",
        "it also computes a prompt",
        "it computed again what had been computed before",
        "it waited for disk",
        "it read experts from disk that were not used lately",
        "its threads worked in the kernel",
        "its threads waited for a processor",
        "it has more threads than usable processors",
        "a quota of processor time was used up",
        "its threads were off CPU",
        "it was stopped",
        "threads waited for one that had more to do",
        "time passed between its ops",
        "the program began it late",
        "attention reads a longer context",
        "it reads more weights"};
    return cause < TT_CAUSES ? phrases[cause] : "";
}

tt_status tt_why_find_batch(const tt_model *m, uint32_t number, uint32_t *batch, tt_error *err)
{
    for (uint32_t i = 0; i < m->n_batches; i++) {
        if (tt_model_batch_number(m, i) != number) continue;
        *batch = i;
        return TT_OK;
    }
    *batch = TT_NONE;
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                        "the trace has no batch %" PRIu32 "; it has %" PRIu32, number,
                        m->n_batches);
}

/* --- texts --- */

static const char *keep(tt_why *w, const char *fmt, va_list args)
{
    char text[SENTENCE_MAX];
    (void)vsnprintf(text, sizeof text, fmt, args);
    const char *kept = tt_arena_text(&w->texts, text, strlen(text));
    w->failed |= !kept;
    return kept ? kept : "";
}

const char *tt_why_keep(tt_why *w, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *kept = keep(w, fmt, args);
    va_end(args);
    return kept;
}

void tt_why_write(tt_why *w, tt_sentences *list, const char *fmt, ...)
{
    va_list args;
    if (list->n == TT_WHY_TEXTS_MAX) return;
    va_start(args, fmt);
    list->list[list->n++] = keep(w, fmt, args);
    va_end(args);
}

const char *tt_why_times(tt_why *w, double ratio)
{
    char whole[TT_UNITS_TEXT];
    return ratio < 9.95 ? tt_why_keep(w, "%.1fx", ratio)
                        : tt_why_keep(w, "%sx", tt_units_count(whole, (uint64_t)llround(ratio)));
}

const char *tt_why_only(tt_why *w, double ns, const char *none, const char *some)
{
    const char *at = strstr(some, "%s");
    if (!(ns > 0) || !at) return none;
    return tt_why_keep(w, "%.*s%s%s", (int)(at - some), some,
                       tt_units_ns((char[TT_UNITS_TEXT]){0}, ns), at + 2);
}

void tt_why_begin(tt_why *w, const tt_model *m, tt_why_kind kind)
{
    memset(w, 0, sizeof *w);
    w->m = m;
    w->kind = kind;
    w->batch = w->run = w->node = w->shift = TT_NONE;
    w->layer_id = TT_LAYER_NONE;
    w->time_ns = w->before_ns = w->late_ns = NAN;
    w->name = "";
    tt_arena_init(&w->texts, TEXTS_BYTES_MAX);
}

void tt_why_note_recomputed(tt_why *w, const tt_recomputed *r)
{
    char text[TT_RECOMPUTED_TEXT], all[TT_UNITS_TEXT], again[TT_UNITS_TEXT], ns[TT_UNITS_TEXT];
    const char *least = r->is_cut ? "at least " : "", *took = "";
    w->has_recomputed = true;
    w->recomputed = *r;
    if (!isnan(r->time_ns))
        took = tt_why_keep(w, "; this took %s%s", r->is_cut || r->time_at_least ? "at least " : "",
                           tt_units_ns(ns, r->time_ns));
    tt_why_write(w, &w->text,
                 "%s%s of %s%s tokens of a prompt (sequence %" PRId32
                 ") had been computed before, from "
                 "batch %" PRIu32 " on, behind the same text%s. %s",
                 *least ? "At least " : "", tt_units_count(again, r->n_tokens), least,
                 tt_units_count(all, r->n_prompt), r->sequence,
                 tt_model_batch_number(w->m, r->before), took, tt_recomputed_text(w->m, r, text));
}

void tt_why_free(tt_why *w)
{
    tt_arena_free(&w->texts);
    memset(w, 0, sizeof *w);
}

bool tt_why_untimed(tt_why *w)
{
    if (tt_model_need_clock(w->m, NULL) == TT_OK) return false;
    tt_why_write(w, &w->text,
                 "How long %s took is not known: the trace cannot turn ticks into time.", w->name);
    tt_why_write(w, &w->not_known, "All times: the trace has no clock.");
    return true;
}

/* --- parts --- */

static bool is_known(const tt_why *w, const tt_parts_walker *walker, tt_part_kind part)
{
    if (part == TT_PART_WAIT) return w->m->waits_known;
    if (part == TT_PART_OFF_CPU) return tt_parts_off_cpu_known(walker);
    if (part == TT_PART_DISK) return tt_parts_disk_known(walker);
    return true;
}

void tt_why_set_parts(tt_why *w, const tt_parts_walker *walker, const double part_ns[TT_PARTS],
                      const double *usual_ns)
{
    double total_ns = 0;
    /* Of ops that were not recorded nobody knows what their time was. */
    const bool gaps = part_ns[TT_PART_UNRECORDED] > 0;
    w->n_parts = 0;
    for (unsigned i = 0; i < TT_PARTS; i++)
        total_ns += part_ns[i];
    for (unsigned i = 0; i < TT_PARTS; i++) {
        const tt_part_kind part = (tt_part_kind)i;
        const bool optional = part == TT_PART_UNRECORDED || part >= TT_PART_BETWEEN_BATCHES ||
                              (part == TT_PART_BETWEEN_OPS && w->kind != TT_WHY_BATCH) ||
                              (part >= TT_PART_PROCESSOR && part <= TT_PART_STOPPED) ||
                              part == TT_PART_KERNEL;
        const bool in_ops = part <= TT_PART_DISK;
        if (optional && part_ns[i] <= 0) continue;
        w->parts[w->n_parts++] = (tt_why_part){
            .part = part,
            .known = part_ns[i] > 0 || (is_known(w, walker, part) && !(gaps && in_ops)),
            .time_ns = part_ns[i],
            .share = total_ns > 0 ? part_ns[i] / total_ns : NAN,
            .usual_ns = usual_ns ? usual_ns[i] : NAN};
    }
}

/* --- ops --- */

void tt_why_add_op(tt_why *w, const tt_why_op *row)
{
    size_t at = w->n_ops;
    if (!(row->excess_ns > 0)) return;
    while (at > 0 && w->ops[at - 1].excess_ns < row->excess_ns)
        at--;
    if (at == TT_WHY_OPS_MAX) return;
    if (w->n_ops < TT_WHY_OPS_MAX) w->n_ops++;
    memmove(&w->ops[at + 1], &w->ops[at], (w->n_ops - at - 1) * sizeof *w->ops);
    w->ops[at] = *row;
}

/* --- faults --- */

static bool is_more(const tt_why_fault *a, const tt_why_fault *b)
{
    if (a->major != b->major) return a->major > b->major;
    if (a->read_bytes != b->read_bytes) return a->read_bytes > b->read_bytes;
    return a->minor > b->minor;
}

static void add_fault(tt_why *w, const tt_faults_row *r)
{
    const tt_fault_counts *c = &r->counts;
    if (!c->observed || (!c->major && !c->minor && !c->read_bytes)) return;
    w->faults_total++;
    const tt_why_fault row = {.tensor = tt_why_keep(w, "%s", r->key),
                              .major = c->major,
                              .minor = c->minor,
                              .read_bytes = c->read_bytes,
                              .reads_known = c->observed_reads > 0};
    size_t at = w->n_faults;
    while (at > 0 && is_more(&row, &w->faults[at - 1]))
        at--;
    if (at == TT_WHY_FAULTS_MAX) return;
    if (w->n_faults < TT_WHY_FAULTS_MAX) w->n_faults++;
    memmove(&w->faults[at + 1], &w->faults[at], (w->n_faults - at - 1) * sizeof *w->faults);
    w->faults[at] = row;
}

tt_status tt_why_add_faults(tt_why *w, uint32_t batch, const tt_filter *filter, const tt_over *over,
                            tt_error *err)
{
    tt_filter f = *filter;
    size_t n;
    if (!tt_model_has_faults(w->m)) return TT_OK;
    if (batch != TT_NONE) {
        f.has_batch = true;
        f.batch_first = f.batch_last = tt_model_batch_number(w->m, batch);
    }
    tt_faults *sum = tt_faults_new(w->m, TT_FAULTS_BY_TENSOR, &f);
    if (!sum) return tt_error_memory(err, "the page faults");
    if (w->run != TT_NONE) tt_faults_only(sum, w->run, w->node);
    if (over) tt_faults_until(sum, *over);
    tt_status status = tt_faults_sum(sum, NULL, NULL, err);
    const tt_faults_row *rows = tt_faults_rows(sum, &n);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        add_fault(w, &rows[i]);
    tt_faults_free(sum);
    return status;
}

/* --- what is not in the trace --- */

/* What hides how long threads waited for a disk, and which part holds that time. */
static void note_disk(tt_why *w, const tt_parts_walker *walker)
{
    const char *in = tt_part_title(tt_parts_off_cpu_known(walker) ? TT_PART_OFF_CPU : TT_PART_WORK);
    if (!tt_model_has_faults(w->m))
        tt_why_write(
            w, &w->not_known,
            "Page faults were not recorded, so waiting for disk is %s%s: run --faults=both "
            "records them.",
            w->m->n_pool_states ? "that for boost's reads alone, the rest is part of " : "part of ",
            in);
    else if (w->m->n_fault_losses)
        tt_why_write(w, &w->not_known,
                     "Page faults were lost while recording: what threads waited for them is part "
                     "of %s.",
                     in);
    else
        tt_why_write(w, &w->not_known, "How long threads waited for disk is part of %s.", in);
}

static bool has_off_cpu(const tt_why *w)
{
    bool has = false;
    for (size_t i = 0; i < w->n_parts; i++)
        has |= w->parts[i].part == TT_PART_OFF_CPU && w->parts[i].time_ns > 0;
    return has;
}

/* Whether waits at barriers inside ops may be in the times. */
static bool threads_wait_inside(const tt_why *w)
{
    const tt_model *m = w->m;
    bool several = false;
    for (uint32_t i = 0; i < m->n_runs && !several; i++)
        several = m->runs[i].threads > 1 && m->runs[i].observed == TT_OBSERVED_HOOK;
    return several && m->waits_known && !m->waits_inside_known;
}

void tt_why_note_unknown(tt_why *w, const tt_parts_walker *walker)
{
    const tt_model *m = w->m;
    if (!m->waits_known)
        tt_why_write(
            w, &w->not_known,
            "How long threads waited for each other was not recorded%s%s: own work includes it.",
            m->waits_unknown ? ", because " : "", m->waits_unknown ? m->waits_unknown : "");
    if (m->remote)
        tt_why_write(w, &w->not_known, "Ops of another process were not recorded: %s.", m->remote);
    if (w->kernel_untold)
        tt_why_write(w, &w->not_known,
                     "How much of own work was in the kernel is not known: it is too short for the "
                     "kernel's counts.");
    if (tt_parts_off_cpu_known(walker) && threads_wait_inside(w))
        tt_why_write(w, &w->not_known,
                     "How long threads waited for each other inside ops was not recorded: own work "
                     "includes it.");
    if (!tt_parts_off_cpu_known(walker))
        tt_why_write(w, &w->not_known,
                     "How long threads were off CPU was not recorded: own work includes it.");
    else if (!tt_parts_delay_known(walker) && has_off_cpu(w))
        tt_why_write(
            w, &w->not_known,
            "Why threads were off CPU was not recorded: whether others had the processors, "
            "a quota was used up, or the process was stopped.");
    if (!tt_parts_disk_known(walker)) note_disk(w, walker);
    if (m->losses_total)
        tt_why_write(w, &w->not_known,
                     "Op records were lost while recording: their time is in between ops.");
}
