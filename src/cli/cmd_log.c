/* tensortrace log FILE: the ops in the order in which they began. */
#include "analyze/access.h"
#include "analyze/log/log.h"
#include "analyze/log/log_picks.h"
#include "answer/log.h"
#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define TABLE_LIMIT 100u  /* rows of a table, unless --limit says otherwise */
#define BLOCK_ROWS 10000u /* rows laid out together: a table is kept in memory */
#define SOURCES_TEXT 512
#define EXPERTS_SHOWN 8u /* by their numbers, in a table */

enum { OPT_LIMIT = 256, OPT_LANES };

struct options {
    tt_input input;
    bool by_lane;
    bool limited;   /* --limit was given */
    uint64_t limit; /* 0: none */
    tt_filter filter;
};

static const struct argp_option option_table[] = {
    {"thread", TT_OPT_THREAD, "N", 0, "Only what this thread did", 2},
    {"origin", TT_OPT_ORIGIN, "WHERE", 0, "Only ops with a source on disk, or in a buffer", 2},
    {"from", TT_OPT_FROM, "TIME", 0, "Only ops begun at or after TIME (12ms, 300us, 5s)", 2},
    {"to", TT_OPT_TO, "TIME", 0, "Only ops begun at or before TIME", 2},
    {"text", TT_OPT_TEXT, "TEXT", 0,
     "Only ops with TEXT in the name of the node, of a source, or of the op (any case)", 2},
    {"min-duration", TT_OPT_MIN_DURATION, "TIME", 0, "Only ops that took at least TIME", 2},
    {"max-duration", TT_OPT_MAX_DURATION, "TIME", 0, "Only ops that took at most TIME", 2},
    {"lanes", OPT_LANES, 0, 0, "A row for each thread instead of one for each op", 3},
    {"limit", OPT_LIMIT, "N", 0,
     "Only the first N rows; 0: all (the default is 100, with --json all)", 3},
    {0},
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    if (tt_trace_filter_option(key, arg, state, &o->filter)) return 0;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->input;
        state->child_inputs[1] = &o->filter;
        return 0;
    case OPT_LIMIT:
        o->limit = tt_trace_limit_option(arg, state);
        o->limited = true;
        return 0;
    case OPT_LANES:
        o->by_lane = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

typedef struct printer {
    const struct options *o;
    const tt_model *m;
    tt_log_picks picks;
    tt_error err; /* of the picks */
    tt_json json;
    tt_table *table;
    tt_progress bar; /* not when the rows themselves are on the terminal */
    uint64_t rows;
    uint64_t block_rows;
    bool reports;         /* progress */
    bool ended;           /* nobody wants further rows */
    uint64_t after_ticks; /* ops begun then or before are printed already; 0: none */
    bool more;            /* there are ops behind the limit */
    bool failed;
} printer;

/* --- table --- */

static bool new_table(printer *p)
{
    p->table = tt_table_new(stdout);
    p->block_rows = 0;
    if (!p->table) return false;
    tt_table_column(p->table, "TIME ms", TT_COLUMN_RIGHT);
    tt_table_column(p->table, "BATCH", TT_COLUMN_RIGHT);
    tt_table_column(p->table, "PHASE", TT_COLUMN_WIDE); /* BATCH says it as well */
    tt_table_column(p->table, p->o->by_lane ? "THREAD" : "THREADS", TT_COLUMN_RIGHT);
    tt_table_column(p->table, "OP", TT_COLUMN_SHRINK | TT_COLUMN_KEY);
    tt_table_column(p->table, "NODE", TT_COLUMN_SHRINK | TT_COLUMN_KEY);
    tt_table_column(p->table, "DURATION", TT_COLUMN_RIGHT);
    tt_table_column(p->table, "WAIT", TT_COLUMN_RIGHT);
    tt_table_column(p->table, "OFF CPU", TT_COLUMN_RIGHT | TT_COLUMN_IF_KNOWN | TT_COLUMN_WIDE);
    tt_table_column(p->table, "SOURCES", TT_COLUMN_LEFT | TT_COLUMN_SHRINK);
    return true;
}

/* " {1,5}": the experts picked from a source, when that was observed. */
static void experts_text(const tt_op_source *s, const tt_access *list, size_t n, char out[64])
{
    size_t used = 0, experts = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (list[i].tensor != s->tensor || list[i].expert == TT_EXPERT_NONE) continue;
        if (experts++ < EXPERTS_SHOWN)
            used += (size_t)snprintf(out + used, 64 - used, "%s%" PRId32, used ? "," : " {",
                                     list[i].expert);
    }
    if (experts > EXPERTS_SHOWN)
        (void)snprintf(out, 64, " {%zu experts}", experts);
    else if (experts)
        (void)snprintf(out + used, 64 - used, "}");
}

static void sources_text(const tt_op *op, const tt_access *list, size_t n, char out[SOURCES_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < op->n_sources && used < SOURCES_TEXT - 1; i++) {
        const tt_tensor *t = &op->graph->tensors[op->sources[i].tensor];
        char name[128], experts[64];
        experts_text(&op->sources[i], list, n, experts);
        /* Buffers are the rule; only what comes from elsewhere is worth a word. */
        int more = snprintf(out + used, SOURCES_TEXT - used, "%s%s%s%s", i ? ", " : "",
                            tt_trace_text(name, sizeof name, t->name), experts,
                            t->origin == TT_ORIGIN_DISK     ? " [disk]"
                            : t->origin == TT_ORIGIN_BUFFER ? ""
                                                            : " [?]");
        if (more < 0) return;
        used += (size_t)more < SOURCES_TEXT - used ? (size_t)more : SOURCES_TEXT - used - 1;
    }
}

/* The sources' text is the same each time, unless what is read of them is picked. */
static const char *kept_sources(const tt_log_op *o, const tt_op *op, const tt_access *list,
                                size_t n, char out[SOURCES_TEXT])
{
    if (o->note && *o->note) return *o->note;
    sources_text(op, list, n, out);
    if (o->note && !op->picks) *o->note = strdup(out);
    return out;
}

static void table_op(printer *p, const tt_log_op *o, const tt_op *op, const tt_access *list,
                     size_t n_accesses)
{
    char begun[TT_UNITS_TEXT], token[16] = "-", lane[16], duration[TT_UNITS_TEXT];
    char wait[TT_UNITS_TEXT] = "", off_cpu[TT_UNITS_TEXT] = "", name[128], sources[SOURCES_TEXT];
    const tt_model *m = p->m;
    bool in_batch = o->run->batch != TT_NONE;
    if (in_batch) (void)snprintf(token, sizeof token, "%" PRIu32, tt_model_token(m, o->run->batch));
    (void)snprintf(begun, sizeof begun, "%.4f", tt_model_ns(m, o->start_ticks) / 1e6);
    (void)snprintf(lane, sizeof lane, "%" PRIu32, o->lane == TT_NONE ? o->lanes : o->lane);
    if (o->open) {
        bool cut = !m->trace.complete || !o->run->ended;
        (void)snprintf(duration, sizeof duration, cut ? "(cut off)" : "(no end)");
    } else {
        tt_units_ns(duration, tt_model_span_ns(m, o->arrive_ticks - o->start_ticks));
        tt_units_ns(wait,
                    tt_model_waits_known(m, o->run) ? tt_model_span_ns(m, o->wait_ticks) : NAN);
        tt_units_ns(off_cpu, o->off_cpu_known ? tt_model_span_ns(m, o->off_cpu_ticks) : NAN);
    }
    const char *cells[10];
    size_t n = 0;
    cells[n++] = begun;
    cells[n++] = token;
    cells[n++] = in_batch ? tt_phase_name(m->batches[o->run->batch].phase) : "-";
    cells[n++] = lane;
    cells[n++] = o->op->op;
    cells[n++] = tt_trace_text(name, sizeof name, o->op->name);
    cells[n++] = duration;
    cells[n++] = wait;
    cells[n++] = off_cpu;
    cells[n++] = kept_sources(o, op, list, n_accesses, sources);
    tt_table_row(p->table, cells);
    if (++p->block_rows < BLOCK_ROWS) return;
    p->failed |= !tt_table_print(p->table) || !new_table(p);
}

static bool print_row(printer *p, const tt_log_op *row)
{
    const tt_op *op;
    const tt_access *list;
    size_t n;
    if (tt_log_picks_of(&p->picks, row, &op, &list, &n, &p->err) != TT_OK) return false;
    if (p->o->input.json)
        tt_log_json_op(&p->json, p->m, row, op, list, n);
    else
        table_op(p, row, op, list, n);
    return true;
}

static bool print_op(void *context, const tt_log_op *op)
{
    printer *p = context;
    if (p->after_ticks && op->start_ticks <= p->after_ticks) return true;
    /* Of a part of the trace the ops behind its end are not all there. */
    if (p->m->partial && op->start_ticks > p->m->until_ticks) return false;
    p->ended = true; /* unless this returns true */
    if (p->o->limit && p->rows == p->o->limit) {
        p->more = true;
        return false;
    }
    p->rows++;
    if (p->reports) tt_progress_update(&p->bar, p->rows);
    if (!print_row(p, op) || p->failed || ferror(stdout)) return false;
    p->ended = false;
    return true;
}

/* What a part of the trace did not have comes from all of it. */
static tt_status walk_on(printer *p, tt_model **m, tt_error *err)
{
    uint64_t until = (*m)->until_ticks;
    bool all = !(*m)->partial || until == UINT64_MAX;
    tt_status status = tt_log_walk(*m, &p->o->filter, p->o->by_lane, print_op, p, err);
    if (status != TT_OK || p->err.status != TT_OK || p->ended || all) return status;
    tt_log_picks_free(&p->picks);
    tt_model_close(*m);
    *m = NULL;
    status = tt_model_open(p->o->input.path, m, err);
    if (status != TT_OK) return status;
    p->m = *m;
    p->picks.m = *m;
    p->after_ticks = until;
    return tt_log_walk(*m, &p->o->filter, p->o->by_lane, print_op, p, err);
}

/* What there is instead is in the whole trace, of which only a part may be open. */
static int say_none(const struct options *o, tt_model **m)
{
    tt_error err;
    if ((*m)->partial) {
        tt_model_close(*m);
        *m = NULL;
        if (tt_model_open(o->input.path, m, &err) != TT_OK) return tt_report_error(&err);
    }
    return tt_trace_none(*m, &o->filter, "op");
}

static int print_log(const struct options *o, tt_model **m)
{
    printer p = {.o = o, .m = *m, .picks = {.m = *m}};
    tt_error err;
    if (tt_model_need_clock(*m, &err) != TT_OK) return tt_report_error(&err);
    if (o->input.json) {
        tt_json_begin(&p.json, stdout, 0);
        tt_json_object(&p.json);
        tt_json_kv_string(&p.json, "file", o->input.path);
        tt_json_key(&p.json, "ops");
        tt_json_array(&p.json);
    } else if (!new_table(&p)) {
        return tt_report_usage("out of memory");
    }
    p.reports = !isatty(STDOUT_FILENO);
    tt_progress_begin(&p.bar, "reading", 0, "rows");
    tt_status status = walk_on(&p, m, &err);
    tt_progress_end(&p.bar);
    if (*m) tt_trace_note_damage(*m);
    tt_log_picks_free(&p.picks);
    if (status == TT_OK && p.err.status != TT_OK) {
        err = p.err;
        status = err.status;
    }
    bool ok = !p.failed;
    if (o->input.json) {
        tt_json_array_end(&p.json);
        tt_json_kv_bool(&p.json, "more", p.more);
        tt_json_object_end(&p.json);
        ok &= tt_json_end(&p.json);
    } else {
        ok &= (p.rows > 0 && p.block_rows == 0) || tt_table_print(p.table);
        if (p.more) tt_trace_note_more(p.rows);
    }
    if (status == TT_OK && p.rows == 0 && *m) {
        const int code = tt_report_output(ok);
        return code == TT_EXIT_OK ? say_none(o, m) : code;
    }
    return status != TT_OK ? tt_report_error(&err) : tt_report_output(ok);
}

static const struct argp_child children[] = {
    {&tt_input_argp, 0, NULL, 0}, {&tt_trace_filter_argp, 0, NULL, 0}, {0}};

int tt_cmd_log(int argc, char **argv)
{
    static const struct argp argp = {
        option_table,
        parse_option,
        "FILE",
        "The ops in the trace FILE in the order in which they began.\v"
        "TIME is counted from the first batch. DURATION runs from the first thread that began "
        "the op to the last that had done its work; WAIT is the threads' time at the barrier "
        "behind it, summed. GLOB takes * ? and [...], as a shell does; with a number in brackets "
        "at "
        "the end, as in blk.0.ffn_down_exps.weight[3], only ops that read that expert are listed.",
        children,
        NULL,
        NULL};
    struct options o = {0};
    tt_model *m = NULL;
    tt_report_parse(&argp, argc, argv, 0, &o);
    if (o.filter.has_lane) o.by_lane = true;
    if (!o.limited && !o.input.json) o.limit = TABLE_LIMIT;
    const tt_filter *f = &o.filter;
    const tt_part part = {.has_tokens = f->has_token,
                          .token_first = f->token_first,
                          .token_last = f->token_last,
                          .has_from = f->has_from,
                          .has_to = f->has_to,
                          .from_ns = f->from_ns,
                          .to_ns = f->to_ns,
                          .first_only = o.limit > 0};
    int code = tt_input_open_part(&o.input, &part, &m);
    if (code == TT_EXIT_OK) code = print_log(&o, &m);
    tt_model_close(m);
    return code;
}
