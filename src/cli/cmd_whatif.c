/* tensortrace whatif FILE: replays the reads of weights against a cache. */
#include "analyze/cache/whatif_wish.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tt_option_name readers[] = {
    [TT_WHATIF_MMAP] = {"mmap", TT_WHATIF_MMAP}, [TT_WHATIF_DIRECT] = {"direct", TT_WHATIF_DIRECT}};

static const tt_option_name orders[] = {
    {"file", TT_TENSORS_AS_IN_FILE}, {"use", TT_TENSORS_BY_USE}, {"layer", TT_TENSORS_BY_LAYER}};

#define READER_DEFAULT (-1)

struct options {
    tt_input input;
    tt_list_options list;
    tt_whatif_wish wish;
    tt_filter filter; /* model, context */
    int reader;
};

#define TAKE(name, taken)                                                                          \
    static void name(void *options, char *arg, tt_parse *p)                                        \
    {                                                                                              \
        tt_whatif_wish *w = &((struct options *)options)->wish;                                    \
        tt_error err;                                                                              \
        if ((taken) != TT_OK) tt_parse_refuse(p, "%s", err.message);                               \
    }
TAKE(take_ram, tt_whatif_wish_sizes(w, arg, &err))
TAKE(take_policies, tt_whatif_wish_policies(w, arg, &err))
TAKE(take_guess, tt_whatif_wish_guess(w, arg, &err))
TAKE(take_disk, tt_disk_speed_parse(arg, &w->plan.disk, &err))

static const tt_option option_table[] = {
    {"ram", 0, "SIZE[,SIZE...]", "RAM for weights; may be given several times", 1,
     .kind = TT_OPTION_TAKE, .take = take_ram},
    {"curve", 0, 0, "Ten sizes, from a tenth to all of the bytes read", 1,
     TT_FLAG(struct options, wish.curve), .excludes = "ram"},
    {"disk", 0, "RATE[,LATENCY[,REQUEST[,BEGIN[,GROUP[,MOVE]]]]]",
     "The disk's bytes per second (2.5G, 500MB/s), how long after its transfer a request arrives, "
     "the time of a request besides its bytes (50us), and, with --boost, the time to begin reading "
     "a layer's experts and to wake the thread that waits, the time between two groups of them (if "
     "given, all of a group arrives together; may be empty), and the time to move a MiB of them to "
     "their places, and others away",
     1, .kind = TT_OPTION_TAKE, .take = take_disk},
    {"reader", 0, "READER",
     "How missing bytes are read: mmap, by page faults (default with pages), or direct, by "
     "requests as soon as the bytes are known to be needed",
     1, TT_NAME(struct options, reader, readers), .needs = "disk"},
    {"ahead", 0, "SIZE", "With direct: read at most this many bytes ahead (default: 64M)", 1,
     TT_SIZE(struct options, wish.plan.ahead_bytes, 0, INT64_MAX), .needs = "disk"},
    {"depth", 0, "N", "With direct: requests at a time (default: 32)", 1,
     TT_WHOLE(struct options, wish.plan.depth, 1, TT_WHATIF_DEPTH_MAX), .needs = "disk"},
    {"guess", 0, "SHARE",
     "With direct: predict experts one layer ahead; the share of right predictions (0.8, 80%)", 1,
     .kind = TT_OPTION_TAKE, .take = take_guess, .needs = "disk"},
    {"boost", 0, 0,
     "Simulate `tensortrace boost` with --ram SIZE: dense weights partly kept and partly streamed, "
     "experts cached by the policy, 32 requests at a time",
     1, TT_FLAG(struct options, wish.plan.boost),
     .excludes = "unit page-size order readahead reader ahead depth guess"},
    {"policy", 0, "NAME[,NAME...]",
     "Replacement policy: lru (default), lfu, lfu-aging, lfu-layer, arc, "
     "s3-fifo, clock, least-stale, pin-hot, pin-lru, belady, or all of them",
     1, .kind = TT_OPTION_TAKE, .take = take_policies, TT_ROWS_(tt_policies)},
    {"unit", 0, "UNIT", "Unit that is read and evicted: page (default), tensor, expert", 1,
     TT_NAME(struct options, wish.plan.unit, tt_trace_units)},
    TT_TRACE_PAGE_SIZE(struct options, wish.plan.page_bytes, "Of a page (default: 4K)", 1),
    {"order", 0, "ORDER",
     "Order of the tensors in the model files (with pages): file (default), use, as they are first "
     "read, or layer, layer by layer",
     1, TT_NAME(struct options, wish.plan.order, orders)},
    {"readahead", 0, "SIZE", "Fetch and evict pages as Linux does with this readahead (with pages)",
     1, TT_SIZE(struct options, wish.plan.readahead_bytes, 1, TT_WHATIF_READAHEAD_MAX),
     .excludes = "policy"},
    {"warm", 0, 0, "Begin with the cache as an identical run would leave it", 1,
     TT_FLAG(struct options, wish.plan.warm)},
    TT_FILTER_MODEL(struct options, filter., 1),
    {"reserve", 0, "SIZE", "RAM that is needed for other things", 1,
     TT_AMOUNT(struct options, wish.reserve_bytes, 0, INT64_MAX)},
    {0},
};

static void check_plan(void *options, tt_parse *p)
{
    struct options *o = options;
    tt_whatif_wish *w = &o->wish;
    tt_error err;
    tt_trace_check_page(p, w->plan.page_bytes);
    if (!w->curve && !w->n_ram) tt_parse_error(p, "how much RAM? --ram SIZE, or --curve");
    if (o->reader != READER_DEFAULT) w->plan.reader = (tt_whatif_reader)o->reader;
    if (tt_whatif_wish_end(w, o->reader != READER_DEFAULT, &err) != TT_OK)
        tt_parse_error(p, "--%s", err.message);
}

static void per_token(char out[TT_UNITS_TEXT], uint64_t bytes, uint64_t tokens)
{
    out[0] = '\0';
    if (tokens) tt_units_bytes(out, bytes / tokens);
}

/* "prompt 1 MiB, generated 2 MiB", for the phases present, with `say` applied to each. */
static void of_phases(char *out, size_t room, const tt_whatif_result *r,
                      bool say(char out[TT_UNITS_TEXT], const tt_whatif_part *p),
                      const char *before, const char *after)
{
    static const char *const words[TT_PHASES] = {"unknown", "prompt", "generated", "mixed",
                                                 "warm-up"};
    char text[TT_UNITS_TEXT];
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < TT_PHASES && used < room; i++) {
        const unsigned phase = tt_phase_listed(i);
        if (!say(text, &r->of_phase[phase])) continue;
        used += (size_t)snprintf(out + used, room - used, "%s%s %s%s%s", used ? ", " : "",
                                 words[phase], before, text, after);
    }
}

static bool format_read(char out[TT_UNITS_TEXT], const tt_whatif_part *p)
{
    per_token(out, p->read_bytes, p->tokens);
    return p->tokens > 0;
}

static bool format_time(char out[TT_UNITS_TEXT], const tt_whatif_part *p)
{
    tt_units_ns(out, tt_whatif_compute_ns(p));
    return p->timed_tokens > 0;
}

static void print_compute(const tt_whatif_view *v)
{
    char times[256], line[320];
    tt_whatif_result r = v->results[0];
    r.of_phase[TT_PHASE_GENERATE] = r.steady; /* the first batch is excluded */
    of_phases(times, sizeof times, &r, format_time, "", "");
    (void)snprintf(line, sizeof line, "compute   as traced, a token: %s",
                   times[0] ? times : "not observed");
    tt_table_text(stdout, 10, line);
}

/* What reading a layer's experts takes besides the disk. */
static void print_experts(const tt_whatif_view *v)
{
    char begin[TT_UNITS_TEXT], group[TT_UNITS_TEXT], move[TT_UNITS_TEXT], line[320];
    const tt_disk_speed *d = &v->disk;
    if (!v->has_experts || strcmp(v->reader, "boost") != 0 ||
        !(d->begin_ns > 0 || d->move_ns > 0 || d->grouped))
        return;
    (void)snprintf(line, sizeof line,
                   "experts   %s to begin reading a layer's%s%s%s, %s to move a MiB",
                   tt_units_ns(begin, d->begin_ns), d->grouped ? ", " : "",
                   d->grouped ? tt_units_ns(group, d->group_ns) : "",
                   d->grouped ? " between groups" : "", tt_units_ns(move, d->move_ns));
    tt_table_text(stdout, 10, line);
}

static void print_disk(const tt_whatif_view *v)
{
    char rate[TT_UNITS_TEXT], latency[TT_UNITS_TEXT], request[TT_UNITS_TEXT], line[320];
    if (v->disk.bytes_per_s <= 0) return;
    (void)snprintf(line, sizeof line, "disk      %s", tt_units_rate(rate, v->disk.bytes_per_s));
    if (v->disk.latency_ns > 0 || v->disk.request_ns > 0)
        (void)snprintf(line, sizeof line, "disk      %s, %s latency, %s for each request", rate,
                       tt_units_ns(latency, v->disk.latency_ns),
                       tt_units_ns(request, v->disk.request_ns));
    tt_table_text(stdout, 10, line);
    print_experts(v);
    (void)snprintf(line, sizeof line,
                   "reader    %s; AT MOST: with all reading ahead that is possible", v->reader);
    tt_table_text(stdout, 10, line);
}

static void print_head(const tt_whatif_view *v)
{
    const tt_whatif_result *r = &v->results[0];
    char touched[TT_UNITS_TEXT], model[TT_UNITS_TEXT], text[TT_UNITS_TEXT], count[TT_UNITS_TEXT];
    char demand[256], line[320];
    const char *bound = v->at_most ? "<= " : "";
    tt_table_printf(stdout, 10, "weights   %s; %s reads touch %s%s, in whole %s%s",
                    tt_units_bytes(model, v->model_bytes), tt_units_count(count, v->reads), bound,
                    tt_units_bytes(touched, v->touched_bytes),
                    v->page_bytes                    ? "pages of "
                    : strcmp(v->unit, "expert") == 0 ? "tensors or experts"
                                                     : "tensors",
                    v->page_bytes ? tt_units_bytes(text, v->page_bytes) : "");
    of_phases(demand, sizeof demand, r, format_read, bound, " a token");
    (void)snprintf(line, sizeof line, "demand    %s", demand);
    tt_table_text(stdout, 10, line);
    print_compute(v);
    tt_table_printf(stdout, 10, "start     %s\n",
                    v->warm ? "warm: the cache holds what the same reads left in it"
                            : "cold: the first read of each byte comes from disk");
    if (strcmp(v->order, "file") != 0)
        tt_table_printf(stdout, 10, "order     the files' tensors by %s\n", v->order);
    if (v->readahead_bytes)
        tt_table_printf(stdout, 10, "readahead %s, and pages are evicted, as Linux does\n",
                        tt_units_bytes(text, v->readahead_bytes));
    print_disk(v);
    if (v->reserve_bytes)
        tt_table_printf(stdout, 10, "reserved  %s of the RAM are not for weights\n",
                        tt_units_bytes(text, v->reserve_bytes));
    if (v->traced_readahead_bytes && !v->readahead_bytes && strcmp(v->reader, "boost") != 0)
        tt_table_printf(stdout, 10,
                        "left out  what the kernel reads ahead in vain, here up to %s at a time: "
                        "see --readahead",
                        tt_units_bytes(text, v->traced_readahead_bytes));
    tt_table_text(
        stdout, 0,
        "\nFrom disk, for each token: of the PROMPT, the FIRST generated (in a wide table), "
        "each TOKEN after it");
}

static bool print_json(const tt_whatif_view *v, const tt_listing *rows)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_whatif_json(&j, v, rows);
    return tt_json_end(&j);
}

static int print(const struct options *o, const tt_whatif_view *v)
{
    const tt_rowset set = TT_ROWSET(&tt_whatif_schema, 0, v, v->results, v->n_results);
    const tt_listing_wish wish = {.columns = o->list.columns,
                                  .sort = o->list.sort,
                                  .limit = o->list.limit,
                                  .text = !o->input.json && !o->list.csv,
                                  .csv = o->list.csv};
    tt_listing rows;
    int code = tt_list_make(&rows, &set, &wish);
    if (code == TT_EXIT_OK && o->input.json) {
        code = tt_report_output(print_json(v, &rows));
    } else if (code == TT_EXIT_OK && o->list.csv) {
        code = tt_report_output(tt_list_print_csv(&rows));
    } else if (code == TT_EXIT_OK) {
        print_head(v);
        code = tt_report_output(tt_list_print(&rows, NULL));
    }
    tt_listing_free(&rows);
    return code;
}

/* What of the traced times is none of another run's. */
static void note_lost(const tt_whatif_result *r)
{
    const double share = tt_whatif_lost_share(tt_whatif_told(r));
    if (share > TT_WHATIF_LOST_MOST)
        tt_report_note("no rate of tokens is told: for %.0f %% of their traced time threads were "
                       "off CPU or in the kernel (`why` "
                       "says what for), and what is left tells nothing of an undisturbed run",
                       100 * share);
    else if (share >= 0.01)
        tt_report_note("for %.0f %% of the traced time threads were off CPU or in the kernel: that "
                       "is left out of the compute times",
                       100 * share);
}

static int replay_and_print(const struct options *o, tt_whatif *w, tt_whatif_view *v)
{
    tt_error err;
    tt_whatif_result *results;
    const tt_status status = tt_whatif_wish_run(&o->wish, w, v, &results, &err);
    if (status == TT_OK && v->n_results && v->disk.bytes_per_s > 0) note_lost(&v->results[0]);
    const int code = status == TT_OK ? print(o, v) : tt_report_error(&err);
    free(results);
    return code;
}

/* Compute times hold waits for the disk, unless these were observed. */
static void note_faults(const tt_model *m)
{
    uint64_t least = UINT64_MAX, most = 0;
    if (m->off_cpu_known) return;
    for (uint32_t i = 0; i < m->n_usages; i++) {
        if (!(m->usages[i].flags & TT_USAGE_FAULTS)) continue;
        if (m->usages[i].major < least) least = m->usages[i].major;
        if (m->usages[i].major > most) most = m->usages[i].major;
    }
    if (most > least)
        tt_report_note("the traced run had %" PRIu64 " major page faults itself: its compute "
                       "times hold time for the disk already; trace a second run for better ones",
                       most - least);
}

static void note_what_is_missing(const tt_model *m, const tt_reads *reads, const tt_whatif *w)
{
    char text[TT_WHATIF_TEXT];
    if (reads->n == 0)
        tt_report_note(m->n_weights == 0 ? "the trace names no weights of a model"
                                         : "no op of the trace reads weights");
    if (reads->impossible)
        tt_report_note("%" PRIu64 " reads of places that no file has are left out",
                       reads->impossible);
    if (reads->at_most)
        tt_report_note("which rows or experts some ops read was not observed: they are taken to "
                       "read all, and what is read from disk is an upper bound");
    tt_whatif_left_out_text(w, text);
    if (*text) tt_report_note("%s", text);
    note_faults(m);
    if (m->n_pool_states && !m->off_cpu_known)
        tt_report_note(
            "the traced run was that of `tensortrace boost`: its compute times hold waits "
            "for reads; for better ones trace a run with the whole model in RAM");
}

static int simulate(const struct options *o, const tt_model *m)
{
    const tt_filter *f = &o->filter;
    tt_error err;
    tt_progress bar;
    tt_reads reads;
    tt_whatif *w = NULL;
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status = tt_reads_collect(m, f, &reads, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    if (status == TT_OK) status = tt_whatif_new(m, &reads, &o->wish.plan, &w, &err);
    int code = TT_EXIT_OK;
    if (status != TT_OK) {
        code = tt_report_error(&err);
    } else if (reads.n == 0 && (f->model || f->has_context)) {
        code = tt_trace_none(m, f, "op that reads weights");
    } else {
        note_what_is_missing(m, &reads, w);
        tt_whatif_view v = tt_whatif_look(m, f, &reads, &o->wish.plan, w);
        v.path = o->input.path;
        if (reads.n > 0 || o->input.json || o->list.csv) code = replay_and_print(o, w, &v);
    }
    tt_whatif_free(w);
    tt_reads_free(&reads);
    return code;
}

int tt_cmd_whatif(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "Simulates a cache for the weights: what a given size would have to read from "
                 "disk in the traced run, and the resulting rate.\v"
                 "TOKENS/S is the reader's rate, AT MOST that of a reader that requests everything "
                 "as soon as it is known. The kernel's page cache is close to lru.",
        .sets = {{option_table, .check = check_plan},
                 TT_INPUT(struct options, input),
                 TT_LIST(struct options, list)}};
    struct options o = {
        .list.schema = &tt_whatif_schema, .reader = READER_DEFAULT, .wish.plan = TT_WHATIF_PLAN};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = simulate(&o, m);
    tt_model_close(m);
    return code;
}
