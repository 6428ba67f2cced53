#include "analyze/overview.h"

#include "analyze/buffers.h"
#include "analyze/kernel.h"
#include "analyze/pool.h"
#include "analyze/values/outputs.h"
#include "base/array.h"
#include "base/order.h"
#include "base/units.h"
#include "model/faults.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_EVERY 64u
#define NEAR_EVERY 32u /* batches: how often it is asked what is usual near one */
#define OFF_WORTH 0.05 /* of a usual token */
/* Parts of less are not in the headline, in %. */
#define WORTH_SAYING 1
#define WORTH_SAYING_BETWEEN 5
#define NS(ns) tt_units_ns((char[TT_UNITS_TEXT]){0}, (ns))
#define BYTES(n) tt_units_bytes((char[TT_UNITS_TEXT]){0}, (n))
#define COUNT(n) tt_units_count((char[TT_UNITS_TEXT]){0}, (n))

const char *tt_severity_name(tt_severity severity)
{
    static const char *const names[] = {"error", "warning", "note"};
    return names[severity];
}

/* --- where the time went --- */

typedef struct spell {
    uint64_t begin, end; /* ticks: a batch, or a run outside of batches */
} spell;

TT_ORDER_BY(by_begin, spell, begin)

typedef struct walk {
    tt_overview *o;
    tt_parts_walker *walker;
    tt_stats_progress *progress;
    void *progress_context;
    const tt_over *over;
    double *off_ns; /* by batch: off CPU, whatever for */
    spell *spells;
    size_t n_spells, capacity;
    tt_parts parts;
    uint64_t idle_us;
    tt_overview_lanes lanes;
} walk;

static void visit(void *context, const tt_parts_op *op)
{
    walk *w = context;
    const uint32_t lane = op->waited_lane;
    tt_amount_add(&w->lanes.major, op->major);
    tt_amount_add(&w->lanes.read_bytes, op->read_bytes);
    if (op->times->lanes > w->lanes.threads) w->lanes.threads = op->times->lanes;
    if (op->times->lanes < 2 || lane >= TT_WHY_LANES_MAX) return;
    /* Threads wait for one that has no processor; that says nothing of how the op divides. */
    w->lanes.disturbed |= op->times->off_cpu > 0;
    if (op->times->off_cpu) return;
    w->lanes.even_ticks += tt_parts_sum(&op->parts);
    w->lanes.ops++;
    w->lanes.last[lane]++;
    w->lanes.wait_ticks[lane] += op->parts.ticks[TT_PART_WAIT];
}

static bool add_spell(walk *w, const tt_parts_state *s)
{
    spell *to = tt_array_add(w->spells, w->n_spells, w->capacity);
    if (!to) return false;
    *to = (spell){s->begin, s->at};
    w->idle_us += s->idle_us;
    for (unsigned i = 0; i < TT_PARTS; i++)
        w->parts.ticks[i] += s->parts.ticks[i];
    return true;
}

/* After each run. */
static tt_status go_on(void *context, uint32_t run, const tt_parts_state *alone, tt_error *err)
{
    walk *w = context;
    tt_status status = TT_OK;
    if (run % PROGRESS_EVERY == 0) status = tt_over_check(w->over, err);
    if (w->progress && run % PROGRESS_EVERY == 0)
        w->progress(w->progress_context, run, w->o->m->n_runs);
    if (status == TT_OK && alone && !add_spell(w, alone))
        status = tt_error_memory(err, "the overview");
    return status;
}

/* The time in no spell, from the first to the last. */
static uint64_t between(walk *w)
{
    uint64_t end = 0, ticks = 0;
    if (w->n_spells) qsort(w->spells, w->n_spells, sizeof *w->spells, by_begin);
    for (size_t i = 0; i < w->n_spells; i++) {
        if (i && w->spells[i].begin > end) ticks += w->spells[i].begin - end;
        if (i == 0 || w->spells[i].end > end) end = w->spells[i].end;
    }
    return ticks;
}

static void set_parts(walk *w)
{
    tt_overview *o = w->o;
    tt_why *t = &o->texts;
    double ns[TT_PARTS];
    const uint64_t all = between(w);
    const double idle = 1e3 * (double)w->idle_us / o->m->clock.ns_per_tick;
    w->parts.ticks[TT_PART_IDLE] = idle < (double)all ? (uint64_t)idle : all;
    w->parts.ticks[TT_PART_BETWEEN_BATCHES] = all - w->parts.ticks[TT_PART_IDLE];
    for (unsigned i = 0; i < TT_PARTS; i++) {
        ns[i] = tt_model_span_ns(o->m, w->parts.ticks[i]);
        o->total_ns += ns[i];
    }
    t->kernel_untold = !tt_parts_tell_kernel(ns, NULL);
    tt_why_set_parts(t, w->walker, ns, NULL);
    memcpy(o->parts, t->parts, sizeof o->parts);
    o->n_parts = t->n_parts;
    tt_why_note_unknown(t, w->walker);
    o->not_known = t->not_known;
    if (o->total_ns > o->summary.elapsed_ns * 1.001 && o->not_known.n < TT_WHY_TEXTS_MAX)
        tt_why_write(t, &o->not_known,
                     "Batches overlap: their common time counts for each of them.");
}

static tt_status walk_runs(walk *w, tt_error *err)
{
    const tt_model *m = w->o->m;
    tt_parts_state *batches = calloc((size_t)m->n_batches + 1, sizeof *batches);
    w->off_ns = calloc((size_t)m->n_batches + 1, sizeof *w->off_ns);
    tt_status status = batches && w->off_ns
                           ? tt_parts_batches(w->walker, batches, visit, go_on, w, err)
                           : tt_error_memory(err, "the overview");
    for (uint32_t i = 0; i < m->n_batches && status == TT_OK; i++) {
        for (unsigned k = TT_PART_PROCESSOR; k <= TT_PART_DISK; k++)
            w->off_ns[i] += tt_model_span_ns(m, batches[i].parts.ticks[k]);
        if (!add_spell(w, &batches[i])) status = tt_error_memory(err, "the overview");
    }
    if (status == TT_OK) set_parts(w);
    free(batches);
    free(w->spells);
    return status;
}

static double part_ns(const tt_overview *o, tt_part_kind part)
{
    for (size_t i = 0; i < o->n_parts; i++)
        if (o->parts[i].part == part) return o->parts[i].time_ns;
    return 0;
}

/* --- slow tokens --- */

/* The context with the most generated batches: one of these; TT_NONE: nothing was generated. */
static uint32_t usual_batch(const tt_model *m)
{
    tt_idmap counts = {0};
    uint32_t best = TT_NONE, most = 0;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        uint32_t n = tt_idmap_get(&counts, b->context), was;
        if (b->phase != TT_PHASE_GENERATE || !b->ended || b->drafts) continue;
        if (n == TT_NONE) n = 0;
        if (!(n ? tt_idmap_set(&counts, b->context, n + 1)
                : tt_idmap_add(&counts, b->context, 1, &was)))
            break;
        if (++n < most) continue;
        most = n;
        best = i;
    }
    tt_idmap_free(&counts);
    return best;
}

typedef struct candidate {
    uint32_t batch;
    double excess_ns;
} candidate;

static void add_candidate(candidate list[TT_OVERVIEW_SLOW], size_t *n, candidate c)
{
    size_t at = *n;
    while (at > 0 && list[at - 1].excess_ns < c.excess_ns)
        at--;
    if (at == TT_OVERVIEW_SLOW) return;
    if (*n < TT_OVERVIEW_SLOW) ++*n;
    memmove(&list[at + 1], &list[at], (*n - at - 1) * sizeof *list);
    list[at] = c;
}

static double excess_of(const tt_usual_value *time, const tt_usual_value *before, double ns,
                        double gap)
{
    double excess = ns > time->slow_ns ? ns - time->median_ns : 0;
    if (tt_usual_known(before) && gap > before->slow_ns) excess += gap - before->median_ns;
    return excess;
}

static size_t find_candidates(tt_overview *o, const tt_usual *u, uint32_t context,
                              candidate list[TT_OVERVIEW_SLOW])
{
    const tt_model *m = o->m;
    size_t n = 0;
    uint32_t before = TT_NONE, next = 0;
    o->compared_tokens = true;
    tt_usual_value near, near_before;
    bool has_near = false;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        const uint32_t previous = before;
        if (b->context != context) continue;
        if (b->n_tokens) before = i;
        const bool generates = b->phase == TT_PHASE_GENERATE;
        if (previous == TT_NONE || !b->ended || b->end_ticks < b->begin_ticks ||
            (!generates && b->phase != TT_PHASE_MIXED))
            continue;
        o->n_compared++;
        o->compared_tokens &= b->n_tokens == 1;
        const double ns = tt_model_span_ns(m, b->end_ticks - b->begin_ticks);
        const double gap = tt_usual_before_ns(m, previous, i);
        if (i >= next) {
            has_near = tt_usual_near(u, i, &near, &near_before);
            next = i + NEAR_EVERY;
        }
        double excess = excess_of(&u->time, &u->before, ns, generates ? gap : (double)NAN);
        if (excess <= 0 && has_near)
            excess = excess_of(&near, &near_before, ns, generates ? gap : (double)NAN);
        if (excess <= 0) continue;
        o->n_slow_all++;
        add_candidate(list, &n, (candidate){i, excess});
    }
    return n;
}

static tt_status add_slow(tt_overview *o, tt_parts_walker *walker, uint32_t batch,
                          const tt_over *over, tt_error *err)
{
    tt_why why;
    tt_status status = tt_why_batch_with(walker, o->m, batch, over, &why, err);
    if (status == TT_OK && why.slow) {
        tt_overview_slow *s = &o->slow[o->n_slow++];
        const bool late = !isnan(why.late_ns);
        const double usual = why.usual.median_ns + (late ? why.usual_before.median_ns : 0);
        *s = (tt_overview_slow){.batch = batch,
                                .time_ns = why.time_ns,
                                .before_ns = why.before_ns,
                                .late_ns = why.late_ns,
                                .ratio = (why.time_ns + (late ? why.before_ns : 0)) / usual,
                                .cause = why.cause};
        s->text =
            late && why.shift != TT_NONE
                ? tt_why_keep(&o->texts,
                              "%s late: the context was full and its positions were moved",
                              NS(why.late_ns))
            : late
                ? tt_why_keep(&o->texts,
                              "%s late: the program began it %s after the one before, usually %s",
                              NS(why.late_ns), NS(why.before_ns), NS(why.usual_before.median_ns))
                : tt_why_keep(&o->texts, "%s a usual token%s (%s): %s",
                              tt_why_times(&o->texts, s->ratio), why.near ? " near it" : "",
                              NS(usual), tt_cause_phrase(s->cause));
    }
    tt_why_free(&why);
    return status;
}

/* In one sentence. Guesses are computed several at a time, so a batch is no token then. */
static void say_usual(tt_overview *o, const tt_usual *u, bool guesses)
{
    const char *what = u->n_tokens == 1 && !guesses
                           ? "A generated token"
                           : tt_why_keep(&o->texts, "A batch of %u generated tokens", u->n_tokens);
    const double off_ns = o->usual.median_ns - o->usual_undisturbed_ns;
    o->usual_text =
        tt_why_keep(&o->texts, "%s usually takes %s; 8 of 10 take %s to %s%s.", what,
                    NS(o->usual.median_ns), NS(o->usual.low_ns), NS(o->usual.high_ns),
                    off_ns >= OFF_WORTH * o->usual.median_ns
                        ? tt_why_keep(&o->texts, ". Without its time off CPU it takes %s",
                                      NS(o->usual_undisturbed_ns))
                        : "");
}

static tt_status find_usual(tt_overview *o, const walk *w, const tt_usual *u, tt_error *err)
{
    bool guesses = false;
    o->usual = u->time;
    o->usual_undisturbed_ns = NAN;
    if (!tt_usual_known(&u->time)) return TT_OK;
    double *values = calloc(u->n_batches, sizeof *values);
    if (!values) return tt_error_memory(err, "the overview");
    for (uint32_t i = 0; i < u->n_batches; i++) {
        const tt_batch *b = &o->m->batches[u->batches[i]];
        const double ns = tt_model_span_ns(o->m, b->end_ticks - b->begin_ticks);
        values[i] = fmax(0, ns - w->off_ns[u->batches[i]]);
        guesses |= b->n_drafted > 0;
    }
    if (tt_parts_off_cpu_known(w->walker))
        o->usual_undisturbed_ns = tt_usual_of(values, u->n_batches).median_ns;
    free(values);
    say_usual(o, u, guesses);
    return TT_OK;
}

static tt_status find_slow(tt_overview *o, const walk *w, const tt_over *over, tt_error *err)
{
    candidate list[TT_OVERVIEW_SLOW];
    tt_usual usual;
    size_t n = 0;
    const uint32_t batch = usual_batch(o->m);
    if (batch == TT_NONE) return TT_OK;
    tt_status status = tt_usual_find(o->m, batch, &usual, err);
    if (status == TT_OK) {
        status = find_usual(o, w, &usual, err);
        if (tt_usual_known(&usual.time))
            n = find_candidates(o, &usual, o->m->batches[batch].context, list);
    }
    tt_usual_free(&usual);
    for (size_t i = 0; i < n && status == TT_OK; i++)
        status = add_slow(o, w->walker, list[i].batch, over, err);
    return status;
}

/* --- figures --- */

static void set_tile(tt_overview *o, unsigned at, const char *key, const char *title,
                     const char *unit, double value, const char *text, const char *why_not)
{
    const bool known = isfinite(value);
    o->tiles[at] = (tt_overview_tile){.key = key,
                                      .title = title,
                                      .unit = unit,
                                      .value = known ? value : (double)NAN,
                                      .text = known ? text : "",
                                      .why_not = known ? NULL : why_not};
}

static const char *rate_text(tt_overview *o, double rate)
{
    return tt_why_keep(&o->texts, "%s tokens/s", tt_units_speed((char[TT_UNITS_TEXT]){0}, rate));
}

static double token_bytes(const tt_overview *o, const tt_overview_sums *sums, bool *at_most)
{
    size_t n;
    const tt_stats_row *rows = sums->by_phase ? tt_stats_rows(sums->by_phase, &n) : NULL;
    const uint64_t tokens = o->summary.generate.delivered - o->summary.generate.mixed_delivered;
    for (size_t i = 0; rows && i < n; i++) {
        if (strcmp(rows[i].key, "generate") != 0 || !tokens) continue;
        *at_most = rows[i].at_most;
        return (double)rows[i].weight_bytes / (double)tokens;
    }
    return NAN;
}

/* With boost, the model's mappings are its pool, which holds a part of them. */
static tt_status set_pool_peak(tt_overview *o, double allocated, tt_error *err)
{
    tt_pool_report p;
    tt_status status = tt_pool_find(&p, o->m, err);
    if (status != TT_OK) return status;
    const double pool = (double)p.total.peak_bytes;
    set_tile(o, 4, "ram_peak_bytes", "Memory at most", "bytes", allocated + pool,
             tt_why_keep(&o->texts, "%s, and %s in the pool of boost", BYTES((uint64_t)allocated),
                         BYTES(p.total.peak_bytes)),
             NULL);
    tt_pool_free(&p);
    return TT_OK;
}

static tt_status set_peak(tt_overview *o, tt_error *err)
{
    tt_buffers *b = NULL;
    tt_status status = tt_buffers_analyze(o->m, &b, err);
    if (status != TT_OK) return status;
    double allocated = NAN, mapped = 0;
    /* Buffers whose place is not known count as allocated. */
    for (uint32_t i = 0; i < b->n_events; i++) {
        const uint64_t *bytes = b->events[i].bytes;
        const double sum = (double)(bytes[TT_BACKING_ALLOCATED] + bytes[TT_BACKING_UNKNOWN]);
        if (sum <= allocated || sum <= 0) continue;
        allocated = sum;
        mapped = (double)bytes[TT_BACKING_FILE];
    }
    tt_buffers_free(b);
    if (o->m->n_pool_states && !isnan(allocated)) return set_pool_peak(o, allocated, err);
    const char *text = isnan(allocated) ? ""
                       : mapped > 0
                           ? tt_why_keep(&o->texts, "%s, and %s of mapped files",
                                         BYTES((uint64_t)allocated), BYTES((uint64_t)mapped))
                           : tt_why_keep(&o->texts, "%s", BYTES((uint64_t)allocated));
    set_tile(o, 4, "ram_peak_bytes", "Memory at most", "bytes", allocated + mapped, text,
             "no buffer of the engine was recorded");
    return TT_OK;
}

static tt_status set_tiles(tt_overview *o, const tt_overview_sums *sums, tt_error *err)
{
    const tt_summary *s = &o->summary;
    const double generated = s->generate.tokens_per_s, prompt = s->prompt.tokens_per_s;
    const tt_first_tokens *first = &s->first_tokens;
    bool at_most = false;
    const double bytes = o->m->remote ? 0 : token_bytes(o, sums, &at_most);
    const char *no_clock = o->m->clock.known ? NULL : "the trace cannot turn ticks into time";
    set_tile(o, 0, "generate_tokens_per_s", "Generated", "tokens/s",
             generated > 0 ? generated : (double)NAN, rate_text(o, generated),
             no_clock             ? no_clock
             : !o->m->fates_known ? "which of the generated tokens were guesses was not recorded"
                                  : "the trace holds no batch of generated tokens alone");
    set_tile(o, 1, "prompt_tokens_per_s", "Prompt", "tokens/s", prompt > 0 ? prompt : (double)NAN,
             rate_text(o, prompt),
             no_clock ? no_clock : "the trace holds no batch of a prompt alone");
    set_tile(o, 2, "first_token_ns", "First token", "ns", first->n ? first->median_ns : (double)NAN,
             first->n > 1 ? tt_why_keep(&o->texts, "%s, at most %s", NS(first->median_ns),
                                        NS(first->worst_ns))
                          : tt_why_keep(&o->texts, "%s", NS(first->median_ns)),
             no_clock ? no_clock : "nothing was generated behind a whole prompt");
    set_tile(o, 3, "token_weight_bytes", "Weights a token", "bytes",
             bytes > 0 ? bytes : (double)NAN,
             bytes > 0
                 ? tt_why_keep(&o->texts, "%s%s", at_most ? "at most " : "", BYTES((uint64_t)bytes))
                 : "",
             o->m->remote ? "ops of another process were not recorded"
                          : "no generated token is known to have read weights");
    return set_peak(o, err);
}

/* The weight of a row by tensor. */
static uint32_t weight_of(const tt_model *m, const tt_stats_row *r)
{
    uint32_t w = tt_model_weight(m, r->key);
    while (w != TT_NONE && tt_model_path(m, m->files[m->weights[w].file].model) != r->model_file)
        w = m->weights[w].next_same_name;
    return w;
}

static void set_tensors(tt_overview *o, const tt_overview_sums *sums)
{
    size_t n;
    tt_listing l = {0};
    if (!sums->by_tensor) return;
    const tt_stats_row *rows = tt_stats_rows(sums->by_tensor, &n);
    const tt_stats_context context = {tt_stats_total(sums->by_tensor)};
    const tt_rowset set = tt_stats_rowset(&context, TT_BY_TENSOR, rows, n);
    const tt_listing_wish wish = {.sort = "total_ns", .limit = TT_OVERVIEW_TENSORS + 1};
    if (tt_listing_make(&l, &set, &wish, NULL) == TT_OK)
        for (size_t i = 0; i < l.n && o->n_tensors < TT_OVERVIEW_TENSORS; i++) {
            const tt_stats_row *r = tt_listing_row(&l, i);
            if (r->key[0] == '(') continue; /* "(no weight)" */
            const uint32_t w = weight_of(o->m, r);
            o->tensors[o->n_tensors++] = (tt_overview_tensor){
                .tensor = *r->model_label
                              ? tt_why_keep(&o->texts, "%s of %s", r->key, r->model_label)
                              : tt_why_keep(&o->texts, "%s", r->key),
                .size_bytes = w == TT_NONE ? (double)NAN : (double)o->m->weights[w].size_bytes,
                .read_bytes = r->weight_bytes,
                .time_ns = r->total_ns,
                .share = context.total->total_ns > 0 ? r->total_ns / context.total->total_ns
                                                     : (double)NAN,
                .work_ns = r->work_ns};
        }
    tt_listing_free(&l);
}

/* --- the headline --- */

const char *tt_overview_disk(tt_overview *o, const tt_overview_lanes *lanes)
{
    const tt_amount ops = lanes->read_bytes, process = lanes->process_read_bytes;
    const bool faulted = !tt_amount_is_zero(lanes->major);
    if ((tt_amount_is_zero(ops) || tt_amount_is_zero(process)) && !faulted)
        return "nothing came from disk";
    if (ops.value)
        return tt_why_keep(&o->texts, "%s%s came from disk", tt_amount_bound(ops),
                           BYTES(ops.value));
    if (process.value)
        return tt_why_keep(&o->texts, "the process read %s%s from disk", tt_amount_bound(process),
                           BYTES(process.value));
    return NULL;
}

static void set_headline(tt_overview *o, const tt_overview_lanes *lanes)
{
    tt_why *t = &o->texts;
    const char *speed = o->tiles[0].why_not ? o->tiles[1].text : o->tiles[0].text;
    const char *list = "", *disk = tt_overview_disk(o, lanes);
    if (o->total_ns <= 0) {
        o->headline =
            o->summary.records ? "The trace has ops, but no times." : "The trace holds no ops.";
        return;
    }
    if (part_ns(o, TT_PART_UNRECORDED) >= 0.5 * o->total_ns) {
        o->headline = tt_why_keep(
            t, "%s%sWhere the time went is not known: the trace lacks the ops%s%s.", speed,
            speed[0] ? ". " : "", o->m->remote ? ", since " : "", o->m->remote ? o->m->remote : "");
        return;
    }
    for (unsigned i = 0; i < TT_PARTS; i++) {
        const double share = 100 * part_ns(o, (tt_part_kind)i) / o->total_ns;
        if ((i == TT_PART_KERNEL && share < WORTH_SAYING_BETWEEN) ||
            (i > 0 && share < (i <= TT_PART_DISK ? WORTH_SAYING : WORTH_SAYING_BETWEEN)))
            continue;
        list = tt_why_keep(t, "%s%s%s %.0f %%", list, i ? ", " : "", tt_part_title((tt_part_kind)i),
                           share);
    }
    o->headline = tt_why_keep(t, "%s%sOf the time, %s%s.", speed,
                              speed[0] ? (o->tiles[0].why_not ? " of a prompt. " : ". ") : "", list,
                              disk ? tt_why_keep(t, "; %s", disk) : "");
}

/* --- all of it --- */

static tt_status sum_up(tt_overview_sums *sums, const tt_model *m, const tt_over *over,
                        tt_error *err)
{
    sums->by_tensor = tt_stats_new(m, TT_BY_TENSOR, NULL);
    sums->by_phase = tt_stats_new(m, TT_BY_PHASE, NULL);
    tt_stats *list[] = {sums->by_tensor, sums->by_phase};
    if (!list[0] || !list[1]) return tt_error_memory(err, "the overview");
    if (over) tt_stats_until(list[0], *over);
    return tt_stats_walk(list, 2, m, NULL, NULL, err);
}

/* What the kernel counted for the process, where ops have no counts of their own. */
static tt_status ask_kernel(const tt_model *m, tt_overview_lanes *lanes, tt_error *err)
{
    static const tt_filter all;
    tt_kernel_sum sum;
    if (!m->n_usages) return TT_OK;
    tt_kernel *k = tt_kernel_new(m);
    if (!k) return tt_error_memory(err, "the kernel's counts");
    tt_kernel_batches(k, &all, &sum);
    tt_kernel_free(k);
    if (sum.windows && sum.has_io)
        lanes->process_read_bytes = (tt_amount){sum.read_bytes, true, sum.missing > 0};
    return TT_OK;
}

static tt_status find_times(tt_overview *o, const tt_overview_sums *sums,
                            tt_stats_progress *progress, void *context, const tt_over *over,
                            tt_overview_lanes *lanes, tt_error *err)
{
    walk w = {.o = o,
              .walker = tt_parts_open(o->m),
              .progress = progress,
              .progress_context = context,
              .over = over};
    if (!w.walker) return tt_error_memory(err, "the overview");
    tt_status status = walk_runs(&w, err);
    if (status == TT_OK) status = find_slow(o, &w, over, err);
    free(w.off_ns);
    if (status == TT_OK) set_tensors(o, sums);
    *lanes = w.lanes;
    if (status == TT_OK) status = ask_kernel(o->m, lanes, err);
    if (status == TT_OK) tt_overview_list_missing(o, w.walker);
    tt_parts_close(w.walker);
    return status;
}

tt_status tt_overview_make(const tt_model *m, const tt_overview_sums *sums,
                           tt_stats_progress *progress, void *context, const tt_over *over,
                           tt_overview *o, tt_error *err)
{
    tt_overview_sums own = {0};
    const bool timed = tt_model_need_clock(m, NULL) == TT_OK;
    tt_status status = TT_OK;
    memset(o, 0, sizeof *o);
    o->m = m;
    tt_why_begin(&o->texts, m, TT_WHY_BATCH);
    tt_summarize(m, &o->summary);
    tt_overview_lanes *lanes = calloc(1, sizeof *lanes);
    if (!lanes) return tt_error_memory(err, "the overview");
    if (!sums && timed) status = sum_up(&own, m, over, err);
    if (!sums) sums = &own;
    if (status == TT_OK && timed) status = find_times(o, sums, progress, context, over, lanes, err);
    if (status == TT_OK && !timed) tt_overview_list_missing(o, NULL);
    if (status == TT_OK) status = set_tiles(o, sums, err);
    if (status == TT_OK) set_headline(o, lanes);
    if (status == TT_OK) status = tt_overview_find(o, lanes, over, err);
    if (status == TT_OK && o->texts.failed) status = tt_error_memory(err, "the overview");
    tt_stats_free(own.by_tensor);
    tt_stats_free(own.by_phase);
    free(lanes);
    return status;
}

void tt_overview_free(tt_overview *o)
{
    tt_why_free(&o->texts);
    memset(o, 0, sizeof *o);
}
