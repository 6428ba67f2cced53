/* Which cause a batch's evidence tells, and the sentences that say so. */
#include "analyze/why/batch.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define MOST 0.5               /* a cause explains at least this share of the excess */
#define LATER 0.3              /* above the median, worth explaining */
#define UNEVEN 0.4             /* of the additional work and waits */
#define SOME 0.25              /* with other parts that follow from it, at least this one */
#define STOPPED_NS 20e6        /* a scheduler's time slices are shorter ... */
#define STOPPED_ALONE_NS 100e6 /* ... also where only one thread was seen off CPU */
#define STOPPED_SHARE 0.7      /* of the time off CPU, in one op */
#define ALL_SHARE 0.8          /* of that, on all threads */
#define WORTH 0.05             /* an op of the excess: it is named */
#define NONE_SHARE 0.05        /* of the batch's time: not worth mentioning */

static double ns_of(const tt_evidence *e, uint64_t ticks)
{
    return tt_model_span_ns(e->why->m, ticks);
}

static double excess_of(const tt_evidence *e, tt_part_kind part)
{
    const double usual = tt_usual_known(&e->why->usual) ? e->usual->part_ns[part] : 0;
    return e->part_ns[part] - usual;
}

/* Off CPU, but for a disk. */
static double off_excess(const tt_evidence *e)
{
    return excess_of(e, TT_PART_PROCESSOR) + excess_of(e, TT_PART_THROTTLED) +
           excess_of(e, TT_PART_STOPPED) + excess_of(e, TT_PART_OFF_CPU);
}

#define NS(ns) tt_units_ns((char[TT_UNITS_TEXT]){0}, (ns))
#define COUNT(n) tt_units_count((char[TT_UNITS_TEXT]){0}, (n))
#define BYTES(n) tt_units_bytes((char[TT_UNITS_TEXT]){0}, (n))

/* --- which cause --- */

/* Whether all threads stopped at once: one long time off CPU, on each of them. */
static bool was_stopped(const tt_evidence *e, double excess_ns)
{
    const double longest = ns_of(e, e->off.ticks), all = ns_of(e, e->all_off_ticks);
    if (longest < STOPPED_SHARE * excess_ns || longest < STOPPED_NS) return false;
    if (e->off_lanes > 1 && all >= ALL_SHARE * longest) return true;
    /* A thread that waits at its barrier is not seen to be off CPU, but the process takes less
     * CPU time then. */
    if (e->off_lanes > 1 && e->kernel_known)
        return e->kernel_cpu_ns < e->off_lanes * (e->why->time_ns - ALL_SHARE * longest);
    return longest >= STOPPED_ALONE_NS;
}

/* Of the time off CPU, what the kernel counts: the cause, if it is most of that; else it is not
 * known. */
static tt_cause off_cpu_cause(const tt_evidence *e, double excess_ns)
{
    static const struct {
        tt_part_kind part;
        tt_cause cause;
    } kinds[] = {{TT_PART_PROCESSOR, TT_CAUSE_PROCESSOR},
                 {TT_PART_THROTTLED, TT_CAUSE_THROTTLED},
                 {TT_PART_STOPPED, TT_CAUSE_STOPPED}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (excess_of(e, kinds[i].part) < MOST * excess_ns) continue;
        const bool crowded = e->usable && e->threads > e->usable;
        return kinds[i].part == TT_PART_PROCESSOR && crowded ? TT_CAUSE_MORE_THREADS
                                                             : kinds[i].cause;
    }
    if (excess_of(e, TT_PART_OFF_CPU) < MOST * excess_ns) return TT_CAUSE_UNKNOWN;
    if (tt_parts_delay_known(e->walker) && !e->major.known && e->kernel_known && e->kernel_major)
        return TT_CAUSE_DISK;
    if (tt_parts_delay_known(e->walker)) return TT_CAUSE_OFF_CPU;
    if (!e->major.known && e->kernel_known && e->kernel_major > 0) return TT_CAUSE_DISK;
    return was_stopped(e, excess_ns) ? TT_CAUSE_STOPPED : TT_CAUSE_OFF_CPU;
}

static tt_cause disk_cause(const tt_evidence *e)
{
    const bool experts = e->expert_disk_ns >= MOST * e->part_ns[TT_PART_DISK];
    return experts && e->layers_cold && 2 * e->layers_cold >= e->layers_read ? TT_CAUSE_COLD_EXPERT
                                                                             : TT_CAUSE_DISK;
}

/* Tokens of a prompt, or more tokens than a usual batch has. */
static uint32_t more_tokens(const tt_evidence *e)
{
    const tt_batch *b = e->batch;
    const uint32_t usual = e->usual->n_tokens;
    if (b->phase == TT_PHASE_MIXED && b->n_generate < b->n_tokens)
        return b->n_tokens - b->n_generate;
    return b->n_tokens > usual ? b->n_tokens - usual : 0;
}

static tt_cause prompt_cause(const tt_evidence *e)
{
    const tt_recomputed *r = &e->recomputed;
    return r->n_tokens && r->n_tokens >= MOST * r->n_prompt ? TT_CAUSE_RECOMPUTED
                                                            : TT_CAUSE_LONG_PROMPT;
}

static tt_cause work_cause(const tt_evidence *e, double excess_ns)
{
    if (more_tokens(e)) return prompt_cause(e);
    if (e->attention_grown_ns >= MOST * excess_ns) return TT_CAUSE_CONTEXT;
    return TT_CAUSE_UNKNOWN;
}

/* A thread that is late once may not have been running: at the begin of its first op, and without
 * fault counts, short times off CPU are not recorded. Then the process took less CPU time. */
static tt_cause wait_cause(tt_evidence *e, double excess_ns)
{
    const double late = ns_of(e, e->last_lane_most);
    if (more_tokens(e)) return prompt_cause(e);
    if (late < STOPPED_SHARE * excess_ns) return TT_CAUSE_WAITS;
    if (e->kernel_known && late >= STOPPED_NS &&
        e->kernel_cpu_ns < e->lanes * (e->why->time_ns - ALL_SHARE * late)) {
        e->off = (tt_evidence_op){e->last_lane_most, e->last_lane_op};
        return TT_CAUSE_STOPPED;
    }
    return e->major.known || e->kernel_known ? TT_CAUSE_WAITS : TT_CAUSE_UNKNOWN;
}

static tt_cause part_cause(tt_evidence *e, tt_part_kind part, double excess_ns)
{
    switch (part) {
    case TT_PART_DISK:
        return disk_cause(e);
    case TT_PART_KERNEL:
        return TT_CAUSE_KERNEL;
    case TT_PART_PROCESSOR:
    case TT_PART_THROTTLED:
    case TT_PART_STOPPED:
    case TT_PART_OFF_CPU:
        return off_cpu_cause(e, excess_ns);
    case TT_PART_BETWEEN_OPS:
        return TT_CAUSE_BETWEEN_OPS;
    case TT_PART_WAIT:
        return wait_cause(e, excess_ns);
    case TT_PART_WORK:
        return work_cause(e, excess_ns);
    default:
        return TT_CAUSE_UNKNOWN;
    }
}

static tt_part_kind most_of_excess(const tt_evidence *e)
{
    tt_part_kind most = TT_PART_WORK;
    for (unsigned i = 1; i < TT_PARTS; i++)
        if (excess_of(e, (tt_part_kind)i) > excess_of(e, most)) most = (tt_part_kind)i;
    return most;
}

/* The time that reads from a device take is in several parts: threads are blocked, they wait for
 * each other, and the kernel works for the faults. */
static bool is_by_disk(const tt_evidence *e, double excess_ns)
{
    return e->part_ns[TT_PART_DISK] > 0 && e->read_ns >= MOST * excess_ns;
}

/* Threads wait for those that are off CPU, of which only the longer times are recorded. */
static bool is_by_others(const tt_evidence *e, double excess_ns)
{
    const double off = off_excess(e);
    return off >= SOME * excess_ns && off + excess_of(e, TT_PART_WAIT) >= MOST * excess_ns;
}

/* One slow thread of two adds as much to the mean work as to the waits for it, of more threads
 * less. */
static bool is_uneven(const tt_evidence *e, double excess_ns)
{
    const double work = excess_of(e, TT_PART_WORK), wait = excess_of(e, TT_PART_WAIT);
    return work + wait >= MOST * excess_ns && wait >= UNEVEN * (work + wait);
}

/* Then what is left does not tell why it took its time. */
static bool is_mostly_unrecorded(const tt_evidence *e)
{
    return e->part_ns[TT_PART_UNRECORDED] >= MOST * e->why->time_ns;
}

static void find_cause(tt_evidence *e)
{
    tt_why *w = e->why;
    const double excess = e->excess_ns, before = e->excess_before_ns;
    if (before > 0 && before >= MOST * (fmax(excess, 0) + before)) {
        w->cause = TT_CAUSE_BETWEEN_BATCHES;
        w->late_ns = before;
        return;
    }
    const tt_part_kind most = most_of_excess(e);
    if (is_mostly_unrecorded(e)) return;
    if (is_by_disk(e, excess))
        w->cause = disk_cause(e);
    else if (is_by_others(e, excess))
        w->cause = off_cpu_cause(e, off_excess(e));
    else if (is_uneven(e, excess))
        w->cause = wait_cause(e, excess);
    else if (excess_of(e, most) >= MOST * excess)
        w->cause = part_cause(e, most, excess);
}

/* --- what it says of the cause --- */

static bool is_token(const tt_evidence *e)
{
    return e->usual->phase == TT_PHASE_GENERATE && e->usual->n_tokens == 1;
}

static void write_off_cpu(const tt_evidence *e)
{
    tt_why *w = e->why;
    tt_why_write(w, &w->text, "Its threads were off CPU for %s%s: %s.",
                 NS(e->part_ns[TT_PART_OFF_CPU]),
                 e->off.name ? tt_why_keep(w, ", longest in %s (%s)", e->off.name,
                                           NS(ns_of(e, e->off.ticks)))
                             : "",
                 tt_parts_delay_known(e->walker)
                     ? e->major.known || (e->kernel_known && !e->kernel_major)
                           ? "they were blocked, ready to run for none of it; for what is not known"
                           : "they were blocked, for a disk (page faults were not recorded) or "
                             "something else"
                 : e->major.known || (e->kernel_known && !e->kernel_major)
                     ? "others had the processors, or something else held them"
                     : "others had the processors, or they waited for a disk (page faults were "
                       "not recorded)");
}

/* What the kernel counted of its time off CPU. */
static void write_processor(const tt_evidence *e)
{
    tt_why *w = e->why;
    const char *longest = e->off.name ? tt_why_keep(w, ", longest in %s (%s)", e->off.name,
                                                    NS(ns_of(e, e->off.ticks)))
                                      : "";
    if (w->cause == TT_CAUSE_MORE_THREADS)
        tt_why_write(w, &w->text,
                     "Its %u threads may use %u processor%s: they waited for one for %s%s.",
                     e->threads, e->usable, e->usable == 1 ? "" : "s",
                     NS(e->part_ns[TT_PART_PROCESSOR]), longest);
    else
        tt_why_write(w, &w->text,
                     "Its threads were ready to run, but waited for a processor for %s%s: other "
                     "threads had them.",
                     NS(e->part_ns[TT_PART_PROCESSOR]), longest);
}

static void write_disk(const tt_evidence *e)
{
    tt_why *w = e->why;
    const double disk = e->part_ns[TT_PART_DISK];
    if (e->major.known)
        tt_why_write(
            w, &w->text, "It waited %s for disk: its ops had %s%s major page faults%s, %s most%s.",
            NS(disk), tt_amount_bound(e->major), COUNT(e->major.value),
            e->read_bytes.known ? tt_why_keep(w, " and read %s%s", tt_amount_bound(e->read_bytes),
                                              BYTES(e->read_bytes.value))
                                : "",
            w->n_faults ? w->faults[0].tensor : "no tensor",
            !e->read_bytes.known && e->kernel_read_bytes.known
                ? tt_why_keep(w, "; the process read %s", BYTES(e->kernel_read_bytes.value))
                : "");
    else if (disk > 0)
        tt_why_write(w, &w->text, "It waited %s for reads of boost.", NS(disk));
    else
        tt_why_write(w, &w->text,
                     "The process had %s major page faults while its threads were off CPU for %s: "
                     "it waited for disk.",
                     COUNT(e->kernel_major), NS(e->part_ns[TT_PART_OFF_CPU]));
    if (w->cause == TT_CAUSE_COLD_EXPERT)
        tt_why_write(
            w, &w->text,
            "Of %u layers whose experts were read from disk, %u chose one that had not been "
            "chosen in the %u batches before, such as %s.",
            e->layers_read, e->layers_cold, TT_COLD_BATCHES, e->expert_name);
}

static void write_gap(const tt_evidence *e)
{
    tt_why *w = e->why;
    const char *longest = NS(ns_of(e, e->gap.ticks));
    const char *where = e->gap_first || !e->gap_after ? tt_why_keep(w, "before its first op")
                        : e->gap.name
                            ? tt_why_keep(w, "between %s and %s", e->gap_after, e->gap.name)
                            : tt_why_keep(w, "after its last op, %s", e->gap_after);
    tt_why_write(w, &w->text,
                 "For %s it was in no op, %s of that %s: the program or the engine did something "
                 "else, slept, was stopped or pushed aside.",
                 NS(e->part_ns[TT_PART_BETWEEN_OPS]), longest, where);
}

static const char *unknown_because(const tt_evidence *e)
{
    tt_why *w = e->why;
    switch (is_mostly_unrecorded(e) ? TT_PART_UNRECORDED : most_of_excess(e)) {
    case TT_PART_UNRECORDED:
        return "its ops were not recorded";
    case TT_PART_WAIT:
        return tt_why_keep(w, "in %s thread %u took %s longer than the others, or was not running",
                           e->last_lane_op ? e->last_lane_op : "one op", e->last_lane,
                           NS(ns_of(e, e->last_lane_most)));
    case TT_PART_WORK:
        return tt_parts_off_cpu_known(e->walker) && w->m->waits_known
                   ? "its own work took longer, with no more tokens; a slower processor or "
                     "contended "
                     "memory would look like this"
                   : "its ops took longer, and whether its threads waited or were off CPU was not "
                     "recorded";
    default:
        return "no single part of it explains most of the difference";
    }
}

static void write_cause(const tt_evidence *e)
{
    tt_why *w = e->why;
    switch (w->cause) {
    case TT_CAUSE_LONG_PROMPT:
    case TT_CAUSE_RECOMPUTED:
        tt_why_write(w, &w->text,
                     "It computes %s tokens, a usual one %s%s: its own work took %s more.",
                     COUNT(e->batch->n_tokens), COUNT(e->usual->n_tokens),
                     e->batch->phase == TT_PHASE_MIXED
                         ? tt_why_keep(w, "; %s of them are a prompt's", COUNT(more_tokens(e)))
                         : "",
                     NS(excess_of(e, TT_PART_WORK)));
        break;
    case TT_CAUSE_OFF_CPU:
        write_off_cpu(e);
        break;
    case TT_CAUSE_KERNEL:
        tt_why_write(w, &w->text,
                     "Its threads worked in the kernel for %s, usually %s: page faults, memory "
                     "that had to be reclaimed, or system calls.",
                     NS(e->part_ns[TT_PART_KERNEL]),
                     NS(tt_usual_known(&w->usual) ? e->usual->part_ns[TT_PART_KERNEL] : 0));
        break;
    case TT_CAUSE_PROCESSOR:
    case TT_CAUSE_MORE_THREADS:
        write_processor(e);
        break;
    case TT_CAUSE_THROTTLED:
        tt_why_write(
            w, &w->text,
            "The quota of processor time of its control group was used up: the kernel kept "
            "it from running for %s.",
            NS(e->part_ns[TT_PART_THROTTLED]));
        break;
    case TT_CAUSE_STOPPED:
        if (e->part_ns[TT_PART_STOPPED] > 0)
            tt_why_write(w, &w->text,
                         "It was stopped for %s%s: the recorder's own thread did not run either, "
                         "though no processor was missing (a signal, a debugger, a frozen group, "
                         "or the machine).",
                         NS(e->part_ns[TT_PART_STOPPED]),
                         e->off.name ? tt_why_keep(w, ", in %s", e->off.name) : "");
        else
            tt_why_write(
                w, &w->text,
                "All its threads were off CPU at once for %s, in %s: the process was stopped (a "
                "signal, a debugger, a limit of processor time) or the machine was.",
                NS(ns_of(e, e->off.ticks)), e->off.name);
        break;
    case TT_CAUSE_DISK:
    case TT_CAUSE_COLD_EXPERT:
        write_disk(e);
        break;
    case TT_CAUSE_BETWEEN_OPS:
        write_gap(e);
        break;
    case TT_CAUSE_BETWEEN_BATCHES:
        tt_why_write(w, &w->text,
                     "The program did something else, slept or was stopped before it: the engine "
                     "computed %s.",
                     w->shift == TT_NONE ? "nothing" : "no token");
        break;
    case TT_CAUSE_WAITS:
        tt_why_write(w, &w->text,
                     "The other threads waited for thread %u, which had more to do or began later: "
                     "%s in all, longest in %s.",
                     e->last_lane, NS(ns_of(e, e->last_lane_ticks)),
                     e->last_lane_op ? e->last_lane_op : "one op");
        break;
    case TT_CAUSE_CONTEXT:
        tt_why_write(w, &w->text,
                     "Attention's own work took %s more than usual: the context is longer than in "
                     "such a %s.",
                     NS(e->attention_ns), is_token(e) ? "token" : "batch");
        break;
    default:
        tt_why_write(w, &w->text, "The cause is not known: %s.", unknown_because(e));
    }
}

/* --- sentences --- */

/* It is not unusual, but longer than 8 of 10. */
static bool is_beyond(const tt_why *w)
{
    return !w->slow && w->time_ns > w->usual.high_ns;
}

static void write_headline(const tt_evidence *e)
{
    tt_why *w = e->why;
    const tt_usual_value *u = &w->usual;
    const char *kind = is_token(e) ? "token" : "batch";
    const char *name = tt_why_keep(w, "%c%s", w->name[0] - 'a' + 'A', w->name + 1);
    if (!tt_usual_known(u))
        tt_why_write(w, &w->text,
                     "%s took %s; what is usual is not known: the trace holds %u comparable "
                     "batch%s, and %u are needed.",
                     name, NS(w->time_ns), u->n, u->n == 1 ? "" : "es", TT_USUAL_LEAST);
    else if (w->cause == TT_CAUSE_BETWEEN_BATCHES)
        tt_why_write(w, &w->text,
                     "%s began %s late: %s after the one before it ended, usually %s; it took %s.",
                     name, NS(w->late_ns), NS(w->before_ns), NS(w->usual_before.median_ns),
                     NS(w->time_ns));
    else if (w->time_ns > u->slow_ns)
        tt_why_write(w, &w->text, "%s took %s, %s a usual %s%s (%s).", name, NS(w->time_ns),
                     tt_why_times(w, w->time_ns / u->median_ns), kind, w->near ? " near it" : "",
                     NS(u->median_ns));
    else if (is_beyond(w))
        tt_why_write(
            w, &w->text,
            "%s took %s, %s the median (%s) and more than 9 of 10 such %s (%s to %s for 8 of "
            "10), which vary so much that this is not unusual.",
            name, NS(w->time_ns), tt_why_times(w, w->time_ns / u->median_ns), NS(u->median_ns),
            is_token(e) ? "tokens" : "batches", NS(u->low_ns), NS(u->high_ns));
    else
        tt_why_write(w, &w->text, "%s took %s, %s usual: 8 of 10 such %s take %s to %s.", name,
                     NS(w->time_ns), w->time_ns < u->low_ns ? "less than" : "as",
                     is_token(e) ? "tokens" : "batches", NS(u->low_ns), NS(u->high_ns));
}

static void write_shift(tt_why *w)
{
    if (w->shift == TT_NONE) return;
    const tt_batch *b = &w->m->batches[w->shift];
    tt_why_write(w, &w->text,
                 "Before it the context was full: the engine moved the positions of what was kept "
                 "(batch %" PRIu32 ", %s).",
                 tt_model_batch_number(w->m, w->shift),
                 NS(tt_model_span_ns(w->m, b->ended && b->end_ticks > b->begin_ticks
                                               ? b->end_ticks - b->begin_ticks
                                               : 0)));
}

static void write_ops(const tt_evidence *e)
{
    tt_why *w = e->why;
    if (w->n_ops == 0 || isnan(w->ops[0].usual_ns) || w->ops[0].excess_ns < WORTH * e->excess_ns)
        return;
    tt_why_write(w, &w->text, "The op that exceeds its own median most is %s: %s, usually %s.",
                 w->ops[0].name, NS(w->ops[0].time_ns), NS(w->ops[0].usual_ns));
}

/* Where most of the time of a batch went with which nothing can be compared. */
static void write_most(tt_evidence *e)
{
    tt_why *w = e->why;
    tt_part_kind most = TT_PART_WORK;
    for (unsigned i = 1; i < TT_PARTS; i++)
        if (e->part_ns[i] > e->part_ns[most]) most = (tt_part_kind)i;
    if (!(w->time_ns > 0)) return;
    if (e->batch->n_tokens > 1)
        tt_why_write(w, &w->text, "It computes %s tokens%s, %s each.", COUNT(e->batch->n_tokens),
                     e->batch->phase == TT_PHASE_PROMPT ? " of a prompt" : "",
                     NS(w->time_ns / e->batch->n_tokens));
    tt_why_write(w, &w->text, "Most of it was %s: %s, %.0f %%.", tt_part_title(most),
                 NS(e->part_ns[most]), 100 * e->part_ns[most] / w->time_ns);
    if (most == TT_PART_WORK || e->part_ns[most] < MOST * w->time_ns) return;
    w->slow = true;
    w->cause = part_cause(e, most, e->part_ns[most]);
    if (w->cause != TT_CAUSE_UNKNOWN) write_cause(e);
}

static bool was_cause(const tt_why *w, tt_cause a, tt_cause b)
{
    return w->cause == a || w->cause == b;
}

/* Off CPU, for whatever. */
static double off_ns(const tt_evidence *e)
{
    return e->part_ns[TT_PART_PROCESSOR] + e->part_ns[TT_PART_THROTTLED] +
           e->part_ns[TT_PART_STOPPED] + e->part_ns[TT_PART_OFF_CPU];
}

/* What was looked for and is not there. */
static void exclude(const tt_evidence *e)
{
    tt_why *w = e->why;
    tt_sentences *x = &w->excluded;
    const double none = NONE_SHARE * w->time_ns;
    if (tt_amount_is_zero(e->major) && tt_amount_is_zero(e->read_bytes))
        tt_why_write(w, x, "Disk: none of its ops had a major page fault or read from a device.");
    else if (tt_amount_is_zero(e->major))
        tt_why_write(w, x, "Disk: none of its ops had a major page fault.");
    else if (e->kernel_known && !e->kernel_major)
        tt_why_write(w, x, "Disk: the process had no major page fault.");
    else if (tt_parts_disk_known(e->walker) && e->major.value && e->part_ns[TT_PART_DISK] < none &&
             !was_cause(w, TT_CAUSE_DISK, TT_CAUSE_COLD_EXPERT))
        tt_why_write(w, x, "Disk: it had %s%s major page faults, but %s for them.",
                     tt_amount_bound(e->major), COUNT(e->major.value),
                     tt_why_only(w, e->part_ns[TT_PART_DISK], "never waited", "waited only %s"));
    if (tt_parts_off_cpu_known(e->walker) && off_ns(e) < none)
        tt_why_write(w, x, "Off CPU: %s.", tt_why_only(w, off_ns(e), "never", "only for %s"));
    if (!more_tokens(e) && tt_usual_known(&w->usual))
        tt_why_write(w, x, "A prompt: it computes %s token%s, as usual.", COUNT(e->batch->n_tokens),
                     e->batch->n_tokens == 1 ? "" : "s");
    if (w->m->waits_known && w->cause != TT_CAUSE_WAITS && e->part_ns[TT_PART_WAIT] < none)
        tt_why_write(w, x, "Uneven threads: they %s.",
                     tt_why_only(w, e->part_ns[TT_PART_WAIT], "never waited for each other",
                                 "waited for each other for only %s"));
    if (w->cause != TT_CAUSE_BETWEEN_OPS && e->part_ns[TT_PART_BETWEEN_OPS] < none)
        tt_why_write(
            w, x, "The program: %s between its ops.",
            tt_why_only(w, e->part_ns[TT_PART_BETWEEN_OPS], "no time passed", "only %s passed"));
}

void tt_why_decide(tt_evidence *e)
{
    tt_why *w = e->why;
    const tt_usual_value *u = &w->usual, *b = &w->usual_before;
    if (tt_usual_known(u)) {
        const bool late =
            e->batch->phase == TT_PHASE_GENERATE && tt_usual_known(b) && w->before_ns > b->slow_ns;
        e->excess_ns = w->time_ns > u->slow_ns ? w->time_ns - u->median_ns : 0;
        e->excess_before_ns = late ? w->before_ns - b->median_ns : 0;
        w->slow = e->excess_ns > 0 || e->excess_before_ns > 0;
        if (w->slow) find_cause(e);
        /* Also of what is not unusual, because all vary. */
        if (!w->slow && w->time_ns > (1 + LATER) * u->median_ns) {
            e->excess_ns = w->time_ns - u->median_ns;
            find_cause(e);
        }
    }
    write_headline(e);
    if (e->recomputed.n_tokens) tt_why_note_recomputed(w, &e->recomputed);
    if (!tt_usual_known(u)) write_most(e);
    if (tt_usual_known(u) && w->slow) {
        write_cause(e);
        write_shift(w);
        if (w->cause != TT_CAUSE_BETWEEN_BATCHES) write_ops(e);
    }
    if (!w->slow && w->cause != TT_CAUSE_UNKNOWN) write_cause(e);
    exclude(e);
    tt_why_note_unknown(w, e->walker);
    if (!tt_usual_known(u))
        tt_why_write(w, &w->not_known,
                     "What is usual: the trace holds too few comparable batches.");
}
