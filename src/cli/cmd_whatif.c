/* tensortrace whatif FILE: replays the reads of weights against a cache. */
#include "analyze/cache/whatif.h"
#include "analyze/kernel.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "cli/whatif_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SIZES_MAX 64u
#define CURVE_SIZES 10u
#define PAGE_BYTES 4096u
#define PAGE_BYTES_MIN 512u
#define PAGE_BYTES_MAX (1u << 30)
#define READAHEAD_BYTES_MAX (1u << 30)

static const char *const policy_names[TT_POLICIES] = {"lru", "lfu", "belady", "pin-hot"};
static const tt_option_name units[] = {[TT_WHATIF_PAGE] = {"page", TT_WHATIF_PAGE},
                                       [TT_WHATIF_TENSOR] = {"tensor", TT_WHATIF_TENSOR},
                                       [TT_WHATIF_EXPERT] = {"expert", TT_WHATIF_EXPERT}};

struct options {
    tt_input input;
    uint64_t ram[SIZES_MAX];
    size_t n_ram;
    bool curve;
    bool policy[TT_POLICIES];
    double disk_bytes_per_s; /* 0: not given */
    uint64_t reserve_bytes;
    tt_whatif_plan plan;
};

static void take_ram(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    tt_error err;
    for (char *at = arg, *next; at; at = next) {
        next = strchr(at, ',');
        if (next) *next++ = '\0';
        if (o->n_ram == SIZES_MAX) tt_parse_refuse(p, "more than %u sizes", SIZES_MAX);
        if (tt_units_parse_amount(at, &o->ram[o->n_ram++], &err) != TT_OK)
            tt_parse_refuse(p, "%s", err.message);
    }
}

static void take_policies(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    for (char *at = arg, *next; at; at = next) {
        bool all, known = false;
        next = strchr(at, ',');
        if (next) *next++ = '\0';
        all = strcmp(at, "all") == 0;
        for (size_t i = 0; i < TT_POLICIES; i++) {
            if (!all && strcmp(at, policy_names[i]) != 0) continue;
            o->policy[i] = known = true;
        }
        if (!known) tt_parse_refuse(p, "\"%.40s\" is not lru, lfu, belady, pin-hot or all", at);
    }
}

static const tt_option option_table[] = {
    {"ram", 0, "SIZE[,SIZE...]", "RAM to keep weights in; may be given several times", 1,
     .kind = TT_OPTION_TAKE, .take = take_ram},
    {"curve", 0, 0, "Ten sizes, from a tenth to all of what is read", 1,
     TT_FLAG(struct options, curve), .excludes = "ram"},
    {"disk", 0, "RATE", "What the disk reads a second: 2.5G, 500MB/s", 1,
     TT_RATE(struct options, disk_bytes_per_s)},
    {"policy", 0, "NAME[,NAME...]",
     "What is dropped: lru (default), lfu, belady, pin-hot, or all of them", 1,
     .kind = TT_OPTION_TAKE, .take = take_policies},
    {"unit", 0, "UNIT", "What is read and dropped at once: page (default), tensor, expert", 1,
     TT_NAME(struct options, plan.unit, units)},
    {"page-size", 0, "SIZE", "Of a page (default: 4K)", 1,
     TT_SIZE(struct options, plan.page_bytes, PAGE_BYTES_MIN, PAGE_BYTES_MAX)},
    {"readahead", 0, "SIZE",
     "Fetch so much around each missing page, as the kernel does (with lru and pages)", 1,
     TT_SIZE(struct options, plan.readahead_bytes, 1, READAHEAD_BYTES_MAX)},
    {"warm", 0, 0, "Begin with what the same run would have left in the cache", 1,
     TT_FLAG(struct options, plan.warm)},
    {"reserve", 0, "SIZE", "So much of the RAM is needed for other things", 1,
     TT_AMOUNT(struct options, reserve_bytes, 0, INT64_MAX)},
    {0},
};

static void check_plan(void *options, tt_parse *p)
{
    struct options *o = options;
    bool any = false;
    if (o->plan.page_bytes & (o->plan.page_bytes - 1))
        tt_parse_error(p, "--page-size: %" PRIu64 " bytes are not a power of two",
                       o->plan.page_bytes);
    if (!o->curve && !o->n_ram) tt_parse_error(p, "how much RAM? --ram SIZE, or --curve");
    for (size_t i = 0; i < o->n_ram; i++)
        if (o->ram[i] < o->reserve_bytes)
            tt_parse_error(p, "--reserve takes more than all of the RAM");
    for (size_t i = 0; i < TT_POLICIES; i++)
        any |= o->policy[i];
    if (!any) o->policy[TT_POLICY_LRU] = true;
    if (!o->plan.readahead_bytes) return;
    for (size_t i = 0; i < TT_POLICIES; i++)
        if (o->plan.unit != TT_WHATIF_PAGE || (o->policy[i] && i != TT_POLICY_LRU))
            tt_parse_error(p, "--readahead goes with --policy lru and --unit page only");
    if (o->plan.readahead_bytes % o->plan.page_bytes)
        tt_parse_error(p, "--readahead: not a multiple of the page size");
}

/* The sizes of the cache: what the person gave without what is reserved, or the curve. */
static size_t cache_sizes(const struct options *o, const tt_whatif *w, uint64_t *sizes)
{
    const uint64_t touched = tt_whatif_touched(w);
    for (size_t i = 0; i < o->n_ram; i++)
        sizes[i] = o->ram[i] - o->reserve_bytes;
    if (!o->curve) return o->n_ram;
    for (uint64_t i = 0; i < CURVE_SIZES; i++)
        sizes[i] = i + 1 < CURVE_SIZES ? touched / CURVE_SIZES * (i + 1) : touched;
    return CURVE_SIZES;
}

static bool print_json(const tt_whatif_view *v)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_whatif_json(&j, v);
    return tt_json_end(&j);
}

static int replay_and_print(const struct options *o, tt_whatif *w, tt_whatif_view *v)
{
    tt_error err;
    tt_whatif_result results[TT_POLICIES * SIZES_MAX];
    const char *policies[TT_POLICIES];
    uint64_t sizes[SIZES_MAX];
    v->n_sizes = cache_sizes(o, w, sizes);
    v->touched_bytes = tt_whatif_touched(w);
    v->policies = policies;
    v->results = results;
    for (size_t i = 0; i < TT_POLICIES; i++) {
        if (!o->policy[i]) continue;
        tt_status status =
            tt_whatif_run(w, (tt_policy)i, sizes, v->n_sizes, v->has_disk ? o->disk_bytes_per_s : 1,
                          results + v->n_policies * v->n_sizes, &err);
        if (status != TT_OK) return tt_report_error(&err);
        policies[v->n_policies++] = policy_names[i];
    }
    return tt_report_output(o->input.json ? print_json(v) : tt_whatif_print_text(v));
}

/* The compute times are those of the traced run, with all it waited for. */
static void note_faults(const tt_model *m)
{
    uint64_t least = UINT64_MAX, most = 0;
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

static void note_what_is_missing(const tt_model *m, const tt_reads *reads)
{
    if (reads->n == 0)
        tt_report_note(m->n_weights == 0 ? "the trace names no weights of a model"
                                         : "no op of the trace reads weights");
    if (reads->impossible)
        tt_report_note("%" PRIu64 " reads of places that no file has are left out",
                       reads->impossible);
    if (reads->at_most)
        tt_report_note("which rows or experts some ops read was not observed: they are taken to "
                       "read all, and what is read from disk is an upper bound");
    note_faults(m);
}

static int simulate(const struct options *o, const tt_model *m)
{
    const tt_filter all = {0};
    tt_error err;
    tt_progress bar;
    tt_reads reads;
    tt_whatif *w = NULL;
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status = tt_reads_collect(m, &all, &reads, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    if (status == TT_OK) status = tt_whatif_new(m, &reads, &o->plan, &w, &err);
    int code = TT_EXIT_OK;
    if (status != TT_OK) {
        code = tt_report_error(&err);
    } else {
        note_what_is_missing(m, &reads);
        tt_whatif_view v = {.path = o->input.path,
                            .unit = units[o->plan.unit].name,
                            .page_bytes = o->plan.unit == TT_WHATIF_PAGE ? o->plan.page_bytes : 0,
                            .readahead_bytes = o->plan.readahead_bytes,
                            .warm = o->plan.warm,
                            .at_most = reads.at_most,
                            .has_disk = o->disk_bytes_per_s > 0,
                            .disk_bytes_per_s = o->disk_bytes_per_s,
                            .reserve_bytes = o->reserve_bytes,
                            .traced_readahead_bytes = tt_kernel_readahead(m),
                            .reads = reads.n};
        for (uint32_t i = 0; i < m->n_weights; i++)
            v.model_bytes += m->weights[i].size_bytes;
        if (reads.n > 0 || o->input.json) code = replay_and_print(o, w, &v);
    }
    tt_whatif_free(w);
    tt_reads_free(&reads);
    return code;
}

int tt_cmd_whatif(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about =
            "What a cache of some size would have to read from disk in the run of the trace FILE, "
            "and how fast that would be.\v"
            "TOKENS/S is a range: computing and reading one after the other, and reading hidden "
            "behind computing as far as it can be. The kernel's page cache is near lru.",
        .sets = {{option_table, .check = check_plan}, TT_INPUT(struct options, input)}};
    struct options o = {.plan = {.unit = TT_WHATIF_PAGE, .page_bytes = PAGE_BYTES}};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = simulate(&o, m);
    tt_model_close(m);
    return code;
}
