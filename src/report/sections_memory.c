/* The order of reading the model file, hot weights, disk reads, the gain from more RAM. */
#include "report/sections.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_BATCHES 3u
#define ORDER_READS_MAX 4000u
#define ORDER_ROWS 40u
#define HOT_ROWS 10u
#define MIB 1048576.0

static void write_cut(tt_page *p, const tt_analysis *a)
{
    if (a->reads_cut)
        tt_page_add(p, TT_BLOCK_NOTE,
                    "The trace is long: only its batches up to %u were looked at for this.",
                    a->reads_last_token);
}

/* Explains why there are no reads of weights; false: there are. */
static bool write_no_reads(tt_page *p, const tt_analysis *a)
{
    if (a->has_heat) return false;
    tt_page_add(p, TT_BLOCK_ANSWER, "Not observed: %s.",
                a->m->n_weights == 0 ? "the trace names no weights of a model file"
                                     : "no op of the trace reads a weight of the model file");
    return true;
}

/* --- the order --- */

static void plot_order(tt_page *p, const tt_analysis *a)
{
    const tt_reads *r = &a->reads;
    uint64_t *layout = tt_reads_layout(a->m, 1, NULL);
    size_t last = 0, batches = 0;
    p->failed |= !layout;
    if (!layout) return;
    for (; last < r->n_ops && r->ops[last].first < ORDER_READS_MAX; last++)
        if (last == 0 || r->ops[last].batch != r->ops[last - 1].batch)
            if (++batches > ORDER_BATCHES) break;
    const char *title = tt_page_format(
        p, "Where in the model file%s the first %s read", a->m->n_files > 1 ? "s" : "",
        batches > 1 ? tt_page_format(p, "%zu batches",
                                     batches > ORDER_BATCHES ? (size_t)ORDER_BATCHES : batches)
                    : "batch");
    tt_plot *plot = tt_page_plot(p, title, "ms since the first read", "MiB from the file's begin");
    tt_series *prompt = tt_plot_series(plot, "prompt", TT_SERIES_SPANS, 2, ORDER_READS_MAX);
    tt_series *generate = tt_plot_series(plot, "generate", TT_SERIES_SPANS, 1, ORDER_READS_MAX);
    tt_series *other = tt_plot_series(plot, "other phases", TT_SERIES_SPANS, 3, ORDER_READS_MAX);
    for (size_t i = 0; plot && i < last; i++) {
        const tt_read_op *op = &r->ops[i];
        uint8_t phase = op->batch == TT_NONE ? TT_PHASE_UNKNOWN : a->m->batches[op->batch].phase;
        tt_series *s = phase == TT_PHASE_PROMPT     ? prompt
                       : phase == TT_PHASE_GENERATE ? generate
                                                    : other;
        double x = tt_model_span_ns(a->m, op->start_ticks - r->ops[0].start_ticks) / 1e6;
        double x2 = x + (op->timed ? tt_model_span_ns(a->m, op->ticks) / 1e6 : 0);
        for (size_t k = op->first; k < r->ops[i + 1].first; k++) {
            const tt_read_range *range = &r->ranges[r->order[k]];
            if (!tt_read_range_is_placed(range)) continue;
            double y =
                (double)(layout[a->m->weights[range->weight].file] + range->offset_bytes) / MIB;
            tt_series_add(s, x, y, x2, y + (double)range->size_bytes / MIB);
        }
    }
    if (plot) plot->height = 340;
    tt_plot_describe(
        plot,
        "A stroke for each read of a weight: from when to when across, from where to where in the "
        "model file upwards. In order, it climbs from the bottom to the top once a batch.");
    free(layout);
}

static void write_order(tt_page *p, const tt_analysis *a)
{
    const tt_heat_steps *s = &a->heat.steps;
    const double batches = a->heat.batches ? a->heat.batches : 1;
    const double sweeps = (double)s->sweeps / batches;
    if (s->steps == 0) {
        tt_page_add(p, TT_BLOCK_ANSWER, "Not known: there was only one read.");
        return;
    }
    tt_page_add(
        p, TT_BLOCK_ANSWER,
        "%s: %s of %s steps from one read to the next continue where the previous one ended; the "
        "file is swept %.1f times a batch.",
        (double)s->adjacent >= 0.9 * (double)s->steps ? "In order"
        : sweeps <= 1.5                               ? "From front to back, with jumps"
                                                      : "With jumps",
        tt_percent(p, (double)s->adjacent, (double)s->steps), tt_format_count(p, (double)s->steps),
        sweeps);
    tt_page_add(p, TT_BLOCK_TEXT, "A read of a weight is %s%s long on average, in one piece.",
                a->reads.at_most ? "at most " : "",
                tt_format_bytes(p, (double)a->heat.read_bytes / (double)a->heat.reads));
}

static void write_offsets(tt_page *p, const tt_heat_steps *s)
{
    for (size_t i = 0; i < s->n_extents; i++) {
        const tt_heat_extent *e = &s->extents[i];
        if (e->end)
            tt_page_add(p, TT_BLOCK_TEXT,
                        "Of %s, the first byte read is %s%" PRIu64 " and the last one %s%" PRIu64
                        ".",
                        e->file, e->begin_at_most ? "not before " : "", e->begin,
                        e->end_at_most ? "not after " : "", e->end - 1);
    }
}

static void order_table(tt_page *p, const tt_analysis *a)
{
    const char *titles[] = {"Read by", "At>", "Tensor", "Offset in its file>", "Size>"};
    tt_page_table *t = tt_page_table_begin(p, "The first reads, one by one", 5, titles);
    if (t) t->folded = true;
    for (size_t i = 0, rows = 0; i < a->reads.n_ops && rows < ORDER_ROWS; i++) {
        const tt_read_op *op = &a->reads.ops[i];
        for (size_t k = op->first; k < a->reads.ops[i + 1].first && rows < ORDER_ROWS;
             k++, rows++) {
            const tt_read_range *r = &a->reads.ranges[a->reads.order[k]];
            const char *cells[] = {
                op->batch == TT_NONE
                    ? "no batch"
                    : tt_page_format(p, "batch %u", tt_model_batch_number(a->m, op->batch)),
                a->timed ? tt_format_ns(p, tt_model_span_ns(a->m, op->start_ticks -
                                                                      a->reads.ops[0].start_ticks))
                         : "",
                a->m->weights[r->weight].name,
                tt_read_range_is_placed(r) ? tt_format_bytes(p, (double)r->offset_bytes)
                                           : "not known",
                tt_format_bytes(p, (double)r->size_bytes)};
            tt_page_table_row(p, t, cells);
        }
    }
}

void tt_section_order(tt_page *p, tt_analysis *a)
{
    tt_page_section_begin(p, "order", "Is the model file read in order, or at random?");
    if (write_no_reads(p, a)) return;
    const tt_heat_steps *s = &a->heat.steps;
    write_order(p, a);
    if (a->timed) plot_order(p, a);
    const char *titles[] = {"Step", "Share>", "Times>", "Median length>", "Longest>"};
    tt_page_table *t =
        tt_page_table_begin(p, "Steps from one read of a weight to the next", 5, titles);
    const struct {
        const char *name;
        uint64_t n;
        const tt_heat_jumps *jumps;
    } rows[] = {{"goes on", s->adjacent, NULL},
                {"jumps forward", s->forward.count, &s->forward},
                {"jumps back", s->backward.count, &s->backward},
                {"the same again", s->again, NULL},
                {"another file", s->other_file, NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tt_heat_jumps *jumps = rows[i].jumps;
        bool lengths = jumps && jumps->known;
        const char *cells[] = {rows[i].name, tt_percent(p, (double)rows[i].n, (double)s->steps),
                               tt_format_count(p, (double)rows[i].n),
                               lengths ? tt_format_bytes(p, (double)jumps->p50_bytes) : "",
                               lengths ? tt_format_bytes(p, (double)jumps->lengths.max) : ""};
        tt_page_table_row(p, t, cells);
    }
    write_offsets(p, s);
    order_table(p, a);
    tt_page_add(p, TT_BLOCK_NOTE,
                "These are the reads that the ops name, in the order in which the ops began; "
                "within an op its threads read side by side. Weights that the engine copied count "
                "where the file has them.%s",
                a->reads.unplaced ? tt_page_format(p,
                                                   " %s reads of rows or experts that were not "
                                                   "observed are left out.",
                                                   tt_format_count(p, (double)a->reads.unplaced))
                                  : "");
    write_cut(p, a);
}

/* --- hot and cold --- */

static void plot_curve(tt_page *p, const tt_analysis *a)
{
    const tt_heat *h = &a->heat;
    tt_plot *plot = tt_page_plot(p, "How concentrated the reads are",
                                 "% of the weights, the hottest first", "% of the bytes read");
    tt_series *s = tt_plot_series(plot, "this run", TT_SERIES_LINE, 1, TT_HEAT_CURVE + 2);
    tt_series *even = tt_plot_series(plot, "all weights alike", TT_SERIES_LINE, 3, 2);
    if (!plot) return;
    tt_series_add(s, 0, 0, 0, 0);
    for (size_t i = 0; i < TT_HEAT_CURVE; i++)
        tt_series_add(s, 100 * h->curve[i].weights, 100 * h->curve[i].reads, 0, 0);
    tt_series_add(even, 0, 0, 0, 0);
    tt_series_add(even, 100, 100, 0, 0);
    plot->has_x = plot->has_y = true;
    plot->x_max = 100;
    plot->y_max = 101;
    plot->height = 280;
    tt_plot_describe(
        plot,
        "The share of the bytes read that comes from a share of the weights, the hottest first. "
        "The more the line bends away from the straight one, the more a cache of a part wins.");
}

static bool is_expert(const void *context, const void *row)
{
    (void)context;
    return ((const tt_heat_row *)row)->expert != TT_EXPERT_NONE;
}

#define FIGURES "accesses,batches,size_bytes,read_bytes,time_ns"
static void list_heat(tt_page *p, const tt_analysis *a, const char *caption, const char *sort)
{
    const tt_heat *h = &a->heat;
    const tt_heat_context *context =
        tt_page_keep(p, &(tt_heat_context){a->m}, sizeof(tt_heat_context));
    const tt_rowset rowset =
        tt_heat_rowset(context, h, h->sliced ? TT_HEAT_EXPERT : TT_HEAT_TENSOR);
    const tt_listing_wish wish = {.columns = h->sliced ? "name," FIGURES : "tensor," FIGURES,
                                  .sort = sort,
                                  .limit = HOT_ROWS,
                                  .text = true,
                                  /* Everything else is read in every batch. */
                                  .passes = h->sliced ? is_expert : NULL};
    if (context) (void)tt_page_rows(p, caption, &rowset, &wish);
}

/* How many units a set has; units that were never read may be parts of tensors. */
static const char *format_units(tt_page *p, const tt_heat *h, const tt_heat_set *set)
{
    const char *whole = tt_format_count(p, (double)set->units);
    const char *parts = tt_format_count(p, (double)h->partly);
    if (set != &h->never || h->partly == 0) return whole;
    return set->units ? tt_page_format(p, "%s, and parts of %s more", whole, parts)
                      : tt_page_format(p, "parts of %s%s", parts,
                                       h->sliced        ? ""
                                       : h->partly == 1 ? " tensor"
                                                        : " tensors");
}

static void tables_of_heat(tt_page *p, tt_analysis *a)
{
    tt_heat *h = &a->heat;
    const bool lacks = tt_model_lacks_batches(a->m);
    const char *set_titles[] = {"Weights", "Share>", "Size>", "Tensors or experts>"};
    tt_page_table *t = tt_page_table_begin(p, "What is read in how many batches", 4, set_titles);
    const struct {
        const char *name;
        const tt_heat_set *set;
    } sets[] = {{"in each batch", &h->every},
                {"in some batches", &h->some},
                {lacks ? "in none of these" : "never", &h->never}};
    for (size_t i = 0; i < 3; i++) {
        const char *cells[] = {
            sets[i].name, tt_percent(p, (double)sets[i].set->bytes, (double)h->model_bytes),
            tt_format_bytes(p, (double)sets[i].set->bytes), format_units(p, h, sets[i].set)};
        tt_page_table_row(p, t, cells);
    }
    if (h->sliced) {
        list_heat(p, a, "The hottest experts", "-accesses");
        list_heat(p, a, "The coldest experts", "+accesses");
    } else {
        list_heat(p, a, "The tensors of which most is read", "-read_bytes");
    }
}

void tt_section_heat(tt_page *p, tt_analysis *a)
{
    tt_page_section_begin(p, "heat", "What is hot, and what is cold?");
    if (write_no_reads(p, a)) return;
    const tt_heat *h = &a->heat;
    const double model = (double)h->model_bytes;
    const bool lacks = tt_model_lacks_batches(a->m);
    tt_page_add(p, TT_BLOCK_ANSWER,
                "%s of the weights (%s of %s) are read in each %sbatch, %s in some, and %s %s; "
                "%.0f %% of all bytes read come from %.1f %% of the weights.",
                tt_percent(p, (double)h->every.bytes, model),
                tt_format_bytes(p, (double)h->every.bytes), tt_format_bytes(p, model),
                lacks ? "recorded " : "", tt_percent(p, (double)h->some.bytes, model),
                tt_percent(p, (double)h->never.bytes, model), lacks ? "in none" : "never",
                100 * h->curve[0].reads, 100 * h->curve[0].weights);
    if (h->of_phase[TT_PHASE_GENERATE].batches)
        tt_page_add(p, TT_BLOCK_TEXT, "A generated batch reads %s%s of weights, %s of them all.",
                    h->at_most || h->unplaced ? "at most " : "",
                    tt_format_bytes(p, (double)h->of_phase[TT_PHASE_GENERATE].distinct_bytes /
                                           (double)h->of_phase[TT_PHASE_GENERATE].batches),
                    tt_percent(p,
                               (double)h->of_phase[TT_PHASE_GENERATE].distinct_bytes /
                                   (double)h->of_phase[TT_PHASE_GENERATE].batches,
                               model));
    plot_curve(p, a);
    tables_of_heat(p, a);
    if (h->partly)
        tt_page_add(p, TT_BLOCK_NOTE,
                    "Of %s tensor%s only a part was read; it counts as read, the rest as never.",
                    tt_format_count(p, (double)h->partly), h->partly == 1 ? "" : "s");
    write_cut(p, a);
}

/* --- more RAM, or a prefetcher --- */

static double per_token(const tt_whatif_part *part)
{
    return part->tokens ? (double)part->missed_bytes / (double)part->tokens : NAN;
}

/* Generated tokens without the first; if there are none, all tokens. */
static const char *tokens_per_s(tt_page *p, double rate)
{
    return rate > 0 ? tt_format_number(p, rate) : "";
}

static void whatif_table(tt_page *p, const tt_analysis *a)
{
    const char *titles[] = {"RAM for weights>", "Of what is read>",
                            "From disk, LRU>",  "From disk, best rule>",
                            "Tokens/s, LRU>",   "Tokens/s, LRU, all prefetched>"};
    tt_page_table *t = tt_page_table_begin(p, "A token, by how much RAM keeps weights", 6, titles);
    if (t) t->head = false;
    for (size_t i = 0; i < TT_ANALYSIS_RAM_SIZES; i++) {
        const tt_whatif_part *lru = tt_whatif_told(&a->lru[i]),
                             *best = tt_whatif_told(&a->belady[i]);
        const char *cells[] = {tt_format_bytes(p, (double)a->lru[i].ram_bytes),
                               tt_percent(p, (double)a->lru[i].ram_bytes, (double)a->touched_bytes),
                               tt_format_bytes(p, per_token(lru)),
                               tt_format_bytes(p, per_token(best)),
                               tokens_per_s(p, tt_whatif_rate_apart(lru)),
                               tokens_per_s(p, tt_whatif_rate_overlap(lru))};
        tt_page_table_row(p, t, cells);
    }
}

static void plot_whatif(tt_page *p, const tt_analysis *a)
{
    tt_plot *plot = tt_page_plot(p, "Read from disk for a token, by RAM", "RAM for weights, MiB",
                                 "MiB a token");
    tt_series *lru = tt_plot_series(plot, "least recently used goes (LRU)", TT_SERIES_LINE, 1,
                                    TT_ANALYSIS_RAM_SIZES);
    tt_series *best = tt_plot_series(plot, "best rule there is (Belady)", TT_SERIES_LINE, 2,
                                     TT_ANALYSIS_RAM_SIZES);
    if (!plot) return;
    plot->has_x = plot->has_y = true;
    plot->x_max = (double)a->touched_bytes / MIB;
    for (size_t i = 0; i < TT_ANALYSIS_RAM_SIZES; i++) {
        double x = (double)a->lru[i].ram_bytes / MIB,
               y = per_token(tt_whatif_told(&a->lru[i])) / MIB;
        tt_series_add(lru, x, y, 0, 0);
        tt_series_add(best, x, per_token(tt_whatif_told(&a->belady[i])) / MIB, 0, 0);
        plot->y_max = fmax(plot->y_max, isfinite(y) ? y * 1.08 : 0);
    }
    if (plot->y_max <= 0) plot->y_max = 1;
    if (plot->x_max <= 0) plot->has_x = false;
    tt_plot_describe(plot,
                     "How many bytes of weights a token would read from disk, for ten sizes of "
                     "RAM, with two rules for what is dropped. The table below has the figures.");
}

static void write_whatif(tt_page *p, const tt_analysis *a)
{
    const size_t half = TT_ANALYSIS_RAM_SIZES / 2 - 1, all = TT_ANALYSIS_RAM_SIZES - 1;
    const tt_whatif_part *lru = tt_whatif_told(&a->lru[half]),
                         *best = tt_whatif_told(&a->belady[half]);
    const double apart = tt_whatif_rate_apart(lru), overlap = tt_whatif_rate_overlap(lru);
    tt_page_add(p, TT_BLOCK_ANSWER,
                "With %s of RAM for weights nothing but first reads comes from disk; with half of "
                "that a token reads %s as the kernel drops pages (LRU), and %s at best.",
                tt_format_bytes(p, (double)a->touched_bytes), tt_format_bytes(p, per_token(lru)),
                tt_format_bytes(p, per_token(best)));
    if (!(apart > 0 && overlap > 0)) return;
    tt_page_add(p, TT_BLOCK_TEXT,
                "At %s from disk%s that half would run at %s tokens/s; a prefetcher that hid all "
                "reading behind computing would make it %s (%+.0f %%), and all of the RAM %s.",
                tt_format_rate(p, a->disk_bytes_per_s),
                a->options.disk_bytes_per_s > 0 ? "" : " (an assumption; --disk sets it)",
                tt_format_number(p, apart), tt_format_number(p, overlap),
                100 * (overlap / apart - 1),
                tt_format_number(p, tt_whatif_rate_apart(tt_whatif_told(&a->lru[all]))));
}

void tt_section_whatif(tt_page *p, const tt_analysis *a)
{
    tt_page_section_begin(p, "whatif", "What would more RAM, or a prefetcher, win?");
    if (!a->has_whatif) {
        (void)write_no_reads(p, a);
        return;
    }
    write_whatif(p, a);
    plot_whatif(p, a);
    whatif_table(p, a);
    tt_page_add(p, TT_BLOCK_NOTE,
                "A simulation over pages of 4 KiB: the trace's reads of weights, in order, against "
                "a cache that begins empty; a token here is a generated one after the first, where "
                "there are such. Computing takes as long as in the trace%s. tensortrace whatif has "
                "other rules, units and disks.",
                a->m->off_cpu_known
                    ? ", without the time in which threads were off CPU or in the kernel"
                : a->kernel_batches.has_faults && a->kernel_batches.major
                    ? ", whose own waiting for the disk is in it: trace a second run, with the "
                      "file in RAM, for better figures"
                    : "");
    if (a->reads.at_most)
        tt_page_add(
            p, TT_BLOCK_NOTE,
            "Which rows or experts some ops read was not observed: all figures are at most.");
    write_cut(p, a);
}
