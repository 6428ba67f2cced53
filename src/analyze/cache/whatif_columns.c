#include "analyze/cache/whatif_columns.h"

#include "analyze/kernel.h"

#include <stdio.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void set_ratio(tt_cell *cell, uint64_t part, uint64_t all)
{
    cell->known = all > 0;
    if (all) cell->f64 = (double)part / (double)all;
}

tt_whatif_view tt_whatif_look(const tt_model *m, const tt_filter *f, const tt_reads *reads,
                              const tt_whatif_plan *plan, const tt_whatif *w)
{
    static const char *const units[] = {"page", "tensor", "expert"};
    tt_whatif_view v = {.unit = units[plan->unit],
                        .page_bytes = plan->unit == TT_WHATIF_PAGE ? plan->page_bytes : 0,
                        .order = tt_tensor_orders[plan->order],
                        .readahead_bytes = plan->readahead_bytes,
                        .warm = plan->warm,
                        .at_most = reads->at_most,
                        .disk = plan->disk,
                        .reader = plan->boost                      ? "boost"
                                  : plan->reader == TT_WHATIF_MMAP ? "mmap"
                                                                   : "direct",
                        .traced_readahead_bytes = tt_kernel_readahead(m),
                        .touched_bytes = tt_whatif_touched(w),
                        .reads = reads->n};
    v.unplaced_reads = tt_whatif_left_out(w, &v.unplaced_bytes);
    for (size_t i = 0; i < reads->n_ranges; i++)
        v.has_experts |= reads->ranges[i].expert != TT_EXPERT_NONE;
    for (uint32_t i = 0; i < m->n_weights; i++)
        if (tt_filter_weight(f, m, &m->weights[i])) v.model_bytes += m->weights[i].size_bytes;
    return v;
}

/* --- sums over batches --- */

static void set_timed(tt_cell *cell, const tt_whatif_part *p, double value)
{
    cell->known = p->timed_tokens > 0;
    cell->f64 = value;
}

/* Sets a cell that needs the disk's rate. */
static void set_disk(tt_cell *cell, const tt_whatif_view *v, const tt_whatif_part *p, double value)
{
    set_timed(cell, p, value);
    cell->known &= v->disk.bytes_per_s > 0 && tt_whatif_lost_share(p) <= TT_WHATIF_LOST_MOST;
}

TT_COLUMN_GET(get_miss_ratio, tt_whatif_part, p, set_ratio(cell, p->missed_bytes, p->read_bytes);)
TT_COLUMN_GET(get_missed, tt_whatif_part, p, set_ratio(cell, p->missed_bytes, p->tokens);)
TT_COLUMN_GET(get_compute, tt_whatif_part, p, set_timed(cell, p, tt_whatif_compute_ns(p));)
TT_COLUMN_GET(get_lost, tt_whatif_part, p, set_timed(cell, p, tt_whatif_lost_share(p));)
TT_COLUMN_GET(get_disk, tt_whatif_part, p, set_timed(cell, p, tt_whatif_disk_ns(p));
              cell->known &= ((const tt_whatif_view *)context)->disk.bytes_per_s > 0;)
TT_COLUMN_GET(get_apart, tt_whatif_part, p, set_disk(cell, context, p, tt_whatif_rate_apart(p));)
TT_COLUMN_GET(get_overlap, tt_whatif_part, p,
              set_disk(cell, context, p, tt_whatif_rate_overlap(p));)
TT_COLUMN_GET(get_causal, tt_whatif_part, p, set_disk(cell, context, p, tt_whatif_rate_causal(p));)
TT_COLUMN_GET(get_rate, tt_whatif_part, p, set_disk(cell, context, p, tt_whatif_rate(p));)
TT_COLUMN_GET(get_transfer, tt_whatif_part, p,
              set_disk(cell, context, p, p->transfer_ns / (double)p->timed_tokens);)
TT_COLUMN_GET(get_latency, tt_whatif_part, p,
              set_disk(cell, context, p, p->latency_ns / (double)p->timed_tokens);)
TT_COLUMN_GET(get_limit, tt_whatif_part, p, set_disk(cell, context, p, 0);
              if (cell->known) tt_cell_text(cell, tt_whatif_limit(p));)

#define LIMIT_ABOUT                                                                                \
    "what most of the time goes to: compute, disk (its rate), latency (of requests that come too " \
    "late or too few at a time)"

#define RATIO(key_, title_, unit_, about_, ...)                                                    \
    TT_COLUMN(key_, title_, unit_, about_, .type = TT_CELL_F64, .nullable = true, __VA_ARGS__)

static const tt_column part_columns[] = {
    TT_COLUMN("batches", NULL, COUNT, "that read weights", TT_MEMBER(tt_whatif_part, batches)),
    TT_COLUMN("n_tokens", NULL, COUNT, "in them", TT_MEMBER(tt_whatif_part, tokens)),
    TT_COLUMN("read_bytes", NULL, BYTES, "that the ops read",
              TT_MEMBER(tt_whatif_part, asked_bytes)),
    TT_COLUMN("whole_units_bytes", NULL, BYTES, "the same in whole pages, tensors or experts",
              TT_MEMBER(tt_whatif_part, read_bytes)),
    TT_COLUMN("first_bytes", NULL, BYTES, "of whole units: never read before",
              TT_MEMBER(tt_whatif_part, first_bytes)),
    TT_COLUMN("missed_bytes", NULL, BYTES, "of whole units: from disk, first reads included",
              TT_MEMBER(tt_whatif_part, missed_bytes)),
    RATIO("miss_ratio", NULL, SHARE, "missed, of whole units", .get = get_miss_ratio),
    RATIO("missed_per_token_bytes", NULL, BYTES, "missed for a token", .get = get_missed),
    RATIO("compute_per_token_ns", NULL, NS, "computing, as traced, without lost times",
          .get = get_compute),
    RATIO("lost_share", NULL, SHARE,
          "of the traced time: threads were off CPU or in the kernel; no rates if it is more "
          "than half",
          .get = get_lost),
    RATIO("disk_per_token_ns", NULL, NS, "reading what is missed", .get = get_disk),
    RATIO("tokens_per_s_no_overlap", NULL, NONE, "computing waits for each read", .get = get_apart),
    RATIO("tokens_per_s_full_overlap", NULL, NONE, "reading hides behind computing",
          .get = get_overlap),
    RATIO("tokens_per_s_causal", NULL, NONE, "the same, with experts read once they are chosen",
          .get = get_causal),
    RATIO("tokens_per_s", NULL, NONE, "as the reader reads", .get = get_rate),
    RATIO("transfer_wait_per_token_ns", NULL, NS, "of that, waiting while the disk transfers",
          .get = get_transfer),
    RATIO("latency_wait_per_token_ns", NULL, NS, "of that, waiting while it does not",
          .get = get_latency),
    TT_COLUMN("limited_by", NULL, NONE, LIMIT_ABOUT, .type = TT_CELL_NAME, .nullable = true,
              .get = get_limit),
};

static const tt_schema part_schema = {"part", "sums over batches", part_columns,
                                      COUNT(part_columns)};

/* --- results --- */

TT_COLUMN_GET(get_policy, tt_whatif_result, r,
              tt_cell_text(cell, r->by_kernel ? "kernel" : tt_policies[r->policy].name);)
TT_COLUMN_VALUE(get_ram, tt_whatif_result, r, u64,
                r->ram_bytes + ((const tt_whatif_view *)context)->reserve_bytes)
TT_COLUMN_GET(get_of_touched, tt_whatif_result, r,
              set_ratio(cell, r->ram_bytes, ((const tt_whatif_view *)context)->touched_bytes);)
TT_COLUMN_GET(get_first, tt_whatif_result, r,
              const tt_whatif_part *all = &r->of_phase[TT_PHASE_GENERATE];
              set_ratio(cell, all->missed_bytes - r->steady.missed_bytes,
                        all->tokens - r->steady.tokens);)

/* The columns of a row that come from one of its sums. */
#define OF_PART(name, get_of_part, part)                                                           \
    TT_COLUMN_GET(name, tt_whatif_result, r, get_of_part(context, &r->part, cell);)

OF_PART(get_total_ratio, get_miss_ratio, total)
OF_PART(get_steady_ratio, get_miss_ratio, steady)
OF_PART(get_prompt, get_missed, of_phase[TT_PHASE_PROMPT])
OF_PART(get_steady, get_missed, steady)
OF_PART(get_mixed, get_missed, of_phase[TT_PHASE_MIXED])
OF_PART(get_warmup, get_missed, of_phase[TT_PHASE_WARMUP])
OF_PART(get_unknown, get_missed, of_phase[TT_PHASE_UNKNOWN])
OF_PART(get_steady_disk, get_disk, steady)
OF_PART(get_steady_apart, get_apart, steady)
OF_PART(get_steady_overlap, get_overlap, steady)
OF_PART(get_steady_causal, get_causal, steady)
OF_PART(get_steady_rate, get_rate, steady)
OF_PART(get_steady_limit, get_limit, steady)

/* Above 100 % (readahead fetches more than is read, and a cache may be larger than what is read)
 * the figure is meaningless. */
static void show_share(char *out, size_t room, const tt_cell *cell)
{
    if (!cell->known) return;
    if (cell->f64 > 1)
        (void)snprintf(out, room, "> 100 %%");
    else
        (void)snprintf(out, room, "%.1f %%", 100 * cell->f64);
}

#define SHARE(name, get_share)                                                                     \
    static void name(const void *context, const void *row, char *out, size_t room)                 \
    {                                                                                              \
        tt_cell cell = {0};                                                                        \
        get_share(context, row, &cell);                                                            \
        show_share(out, room, &cell);                                                              \
    }

SHARE(show_of_touched, get_of_touched)
SHARE(show_total_ratio, get_total_ratio)
SHARE(show_steady_ratio, get_steady_ratio)

/* 0.0123, 1.23, 12.3, 123: three significant digits. */
static void show_rate(const tt_cell *cell, char *out, size_t room)
{
    const double rate = cell->f64;
    if (cell->known)
        (void)snprintf(out, room, "%.*f",
                       rate < 0.0995  ? 4
                       : rate < 9.995 ? 2
                                      : rate < 99.95,
                       rate);
}

#define RATE(name, get_it)                                                                         \
    static void name(const void *context, const void *row, char *out, size_t room)                 \
    {                                                                                              \
        tt_cell cell = {0};                                                                        \
        get_it(context, row, &cell);                                                               \
        show_rate(&cell, out, room);                                                               \
    }

RATE(show_steady_rate, get_steady_rate)
RATE(show_steady_causal, get_steady_causal)
RATE(show_steady_overlap, get_steady_overlap)
RATE(show_steady_apart, get_steady_apart)

#define PART(key_, member_, about_)                                                                \
    TT_COLUMN(key_, NULL, NONE, about_, TT_MEMBER_OBJECT(tt_whatif_result, member_, &part_schema))

static const tt_column result_columns[] = {
    TT_COLUMN("policy", "POLICY", NONE,
              "replacement policy: what is evicted when the cache is full", .type = TT_CELL_NAME,
              .get = get_policy),
    TT_COLUMN("ram_bytes", "RAM", BYTES, "memory: the cache and what is reserved",
              .type = TT_CELL_U64, .get = get_ram),
    TT_COLUMN("cache_bytes", NULL, BYTES, "size of the cache",
              TT_MEMBER(tt_whatif_result, ram_bytes)),
    RATIO("touched_share", "OF TOUCHED", SHARE, "the cache as a share of all distinct bytes read",
          .show = TT_SHOW_WIDE, .get = get_of_touched, .text = show_of_touched),
    RATIO("miss_ratio", "MISSED", SHARE, "share of all bytes read that comes from disk",
          .show = TT_SHOW_WIDE, .get = get_total_ratio, .text = show_total_ratio),
    RATIO("prompt_per_token_bytes", "PROMPT", BYTES, "bytes from disk per token of a prompt",
          .get = get_prompt),
    RATIO("first_per_token_bytes", "FIRST", BYTES,
          "bytes from disk per token of the first generated batch", .show = TT_SHOW_WIDE,
          .get = get_first),
    RATIO("steady_per_token_bytes", "TOKEN", BYTES,
          "bytes from disk per token generated after the first batch", .get = get_steady),
    RATIO("steady_miss_ratio", "TOKEN MISSES", SHARE,
          "share of the bytes that these tokens read that comes from disk", .show = TT_SHOW_WIDE,
          .get = get_steady_ratio, .text = show_steady_ratio),
    RATIO("mixed_per_token_bytes", "MIXED", BYTES,
          "bytes from disk per token of a batch with prompts and generated tokens",
          .show = TT_SHOW_KNOWN, .get = get_mixed),
    RATIO("warmup_per_token_bytes", "WARM-UP", BYTES, "bytes from disk per token of a warm-up",
          .show = TT_SHOW_KNOWN | TT_SHOW_WIDE, .get = get_warmup),
    RATIO("unknown_per_token_bytes", "UNKNOWN", BYTES,
          "bytes from disk per token of a batch of unknown phase",
          .show = TT_SHOW_KNOWN | TT_SHOW_WIDE, .get = get_unknown),
    RATIO("disk_per_token_ns", "DISK TIME", NS, "time of the disk to transfer TOKEN; with --disk",
          .show = TT_SHOW_KNOWN | TT_SHOW_WIDE, .get = get_steady_disk),
    RATIO("tokens_per_s", "TOKENS/S", NONE, "simulated rate of these tokens", .show = TT_SHOW_KNOWN,
          .get = get_steady_rate, .text = show_steady_rate),
    TT_COLUMN("limited_by", "LIMIT", NONE, LIMIT_ABOUT, .show = TT_SHOW_KNOWN, .type = TT_CELL_NAME,
              .nullable = true, .get = get_steady_limit),
    RATIO("tokens_per_s_causal", "AT MOST", NONE,
          "upper bound: all is requested as soon as it is known, experts once they are chosen",
          .show = TT_SHOW_KNOWN, .get = get_steady_causal, .text = show_steady_causal),
    RATIO("tokens_per_s_full_overlap", "FULL OVERLAP", NONE,
          "upper bound: reading and computing overlap completely",
          .show = TT_SHOW_KNOWN | TT_SHOW_WIDE, .get = get_steady_overlap,
          .text = show_steady_overlap),
    RATIO("tokens_per_s_no_overlap", NULL, NONE,
          "rate without overlap: nothing computes while the disk reads", .get = get_steady_apart,
          .text = show_steady_apart),
    PART("prompt", of_phase[TT_PHASE_PROMPT], "batches of prompts"),
    PART("generate", of_phase[TT_PHASE_GENERATE], "batches of generated tokens"),
    PART("mixed", of_phase[TT_PHASE_MIXED], "batches with both"),
    PART("warmup", of_phase[TT_PHASE_WARMUP], "batches of the engine's warm-up"),
    PART("unknown", of_phase[TT_PHASE_UNKNOWN], "other batches, and reads outside any batch"),
    PART("steady", steady, "generated after the first batch"),
    PART("total", total, "all batches"),
};

const tt_schema tt_whatif_schema = {"results", "a row for each policy and size", result_columns,
                                    COUNT(result_columns)};

/* --- the request --- */

TT_COLUMN_KNOWN(has_pages, tt_whatif_view, v, v->page_bytes > 0)
TT_COLUMN_KNOWN(has_disk, tt_whatif_view, v, v->disk.bytes_per_s > 0)
TT_COLUMN_KNOWN(has_groups, tt_whatif_view, v, v->disk.grouped)
TT_COLUMN_KNOWN(has_readahead, tt_whatif_view, v, v->traced_readahead_bytes > 0)

/* The listed results: the columns' context. */
static void listed(const void *context, const void *row, tt_rowset *out)
{
    const tt_listing *results = context;
    (void)row;
    *out = *results->set;
    out->listing = results;
}

static void get_total(const void *context, const void *row, tt_cell *cell)
{
    (void)row;
    cell->known = true;
    cell->u64 = ((const tt_listing *)context)->n_all;
}

static const tt_column view_columns[] = {
    TT_COLUMN("file", NULL, NONE, "the trace", TT_MEMBER(tt_whatif_view, path)),
    TT_COLUMN("unit", NULL, NONE, "what is fetched and dropped at once",
              TT_MEMBER(tt_whatif_view, unit)),
    TT_COLUMN("page_bytes", NULL, BYTES, "of a page, with pages",
              TT_MEMBER(tt_whatif_view, page_bytes), .nullable = true, .known = has_pages),
    TT_COLUMN("order", NULL, NONE, "of the tensors in the model files",
              TT_MEMBER(tt_whatif_view, order)),
    TT_COLUMN("readahead_bytes", NULL, BYTES, "fetched around each missing page",
              TT_MEMBER(tt_whatif_view, readahead_bytes)),
    TT_COLUMN("warm", NULL, NONE, "the cache holds what the same reads left in it",
              TT_MEMBER(tt_whatif_view, warm)),
    TT_COLUMN("at_most", NULL, NONE, "the bytes are upper bounds",
              TT_MEMBER(tt_whatif_view, at_most)),
    TT_COLUMN("disk_bytes_per_s", NULL, BYTES_PER_S, "what the disk reads",
              TT_MEMBER(tt_whatif_view, disk.bytes_per_s), .nullable = true, .known = has_disk),
    TT_COLUMN("disk_latency_ns", NULL, NS, "from a request's transfer to its arrival",
              TT_MEMBER(tt_whatif_view, disk.latency_ns), .nullable = true, .known = has_disk),
    TT_COLUMN("disk_request_ns", NULL, NS, "that a request takes besides its bytes",
              TT_MEMBER(tt_whatif_view, disk.request_ns), .nullable = true, .known = has_disk),
    TT_COLUMN("disk_begin_ns", NULL, NS,
              "of boost: to begin reading a layer's experts, and to wake the thread that waits",
              TT_MEMBER(tt_whatif_view, disk.begin_ns), .nullable = true, .known = has_disk),
    TT_COLUMN("disk_group_ns", NULL, NS, "of boost: between two groups of a layer's experts",
              TT_MEMBER(tt_whatif_view, disk.group_ns), .nullable = true, .known = has_groups),
    TT_COLUMN("disk_move_ns", NULL, NS,
              "of boost: to move a MiB of experts to their places, and others away",
              TT_MEMBER(tt_whatif_view, disk.move_ns), .nullable = true, .known = has_disk),
    TT_COLUMN("reader", NULL, NONE, "how missing bytes are read", TT_MEMBER(tt_whatif_view, reader),
              .nullable = true, .known = has_disk),
    TT_COLUMN("reserve_bytes", NULL, BYTES, "of the RAM, not for weights",
              TT_MEMBER(tt_whatif_view, reserve_bytes)),
    TT_COLUMN("traced_readahead_bytes", NULL, BYTES, "that the traced run's devices read ahead",
              TT_MEMBER(tt_whatif_view, traced_readahead_bytes), .nullable = true,
              .known = has_readahead),
    TT_COLUMN("weights_size_bytes", NULL, BYTES, "of the model",
              TT_MEMBER(tt_whatif_view, model_bytes)),
    TT_COLUMN("touched_bytes", NULL, BYTES, "distinct bytes read, in whole units",
              TT_MEMBER(tt_whatif_view, touched_bytes)),
    TT_COLUMN("reads", NULL, COUNT, "ranges that the ops read", TT_MEMBER(tt_whatif_view, reads)),
    TT_COLUMN("unplaced_reads", NULL, COUNT,
              "of these, left out: it is not known where in their tensor they are",
              TT_MEMBER(tt_whatif_view, unplaced_reads)),
    TT_COLUMN("unplaced_bytes", NULL, BYTES, "what those read",
              TT_MEMBER(tt_whatif_view, unplaced_bytes)),
    TT_FIELD("results", "a row for each policy and size", .type = TT_CELL_ROWS, .rows = listed),
    TT_FIELD("results_total", "also those behind the limit", .type = TT_CELL_U64, .get = get_total),
};

static const tt_schema view_schema = {"whatif", "what was replayed", view_columns,
                                      COUNT(view_columns)};

void tt_whatif_json(tt_json *j, const tt_whatif_view *v, const tt_listing *results)
{
    tt_row_json(j, NULL, &view_schema, results, v);
}
