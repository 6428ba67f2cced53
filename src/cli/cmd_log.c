/* tensortrace log FILE: the ops in the order in which they began. */
#include "analyze/log.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"
#include "cli/units.h"

#include <inttypes.h>
#include <unistd.h>

#define TABLE_LIMIT 100u  /* rows of a table, unless --limit says otherwise */
#define BLOCK_ROWS 10000u /* rows laid out together: a table is kept in memory */
#define SOURCES_TEXT 512
/* Below this width the columns that repeat what TOKEN says are left out. */
#define WIDTH_FULL 100

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
    tt_json json;
    tt_table *table;
    tt_progress bar; /* not when the rows themselves are on the terminal */
    uint64_t rows;
    uint64_t block_rows;
    bool narrow;
    bool reports; /* progress */
    bool more;    /* there are ops behind the limit */
    bool failed;
} printer;

/* --- JSON --- */

static void json_source(const printer *p, const tt_op *op, const tt_op_source *s)
{
    tt_json *j = (tt_json *)&p->json;
    const tt_tensor *t = &op->graph->tensors[s->tensor], *root = &op->graph->tensors[t->root];
    tt_json_object(j);
    tt_json_kv_string(j, "name", t->name);
    if (root != t) tt_json_kv_string(j, "view_of", root->name);
    tt_json_kv_string(j, "type", t->type_name);
    tt_json_kv_u64(j, "size_bytes", t->size_bytes);
    tt_json_kv_u64(j, "read_bytes", s->read_bytes);
    if (s->at_most) tt_json_kv_bool(j, "read_bytes_at_most", true);
    tt_json_kv_string(j, "origin", tt_origin_name(t->origin));
    if (s->weight != TT_NONE) {
        const tt_weight *w = &p->m->weights[s->weight];
        tt_json_kv_string(j, "file", p->m->files[w->file].path);
        tt_json_kv_u64(j, "file_offset_bytes", w->offset_bytes + t->root_offset_bytes);
    }
    uint32_t buffer = t->buffer != TT_NONE ? t->buffer : root->buffer;
    if (buffer != TT_NONE) {
        tt_json_kv_u64(j, "buffer_id", p->m->buffers[buffer].id);
        tt_json_kv_u64(j, "buffer_offset_bytes",
                       t->buffer != TT_NONE ? t->location : root->location + t->root_offset_bytes);
    }
    tt_json_object_end(j);
}

/* null for an op whose end was not seen. */
static void json_span(printer *p, const char *key, bool open, uint64_t ticks)
{
    tt_json_key(&p->json, key);
    if (open)
        tt_json_null(&p->json);
    else
        tt_json_u64(&p->json, tt_trace_round_ns(tt_model_span_ns(p->m, ticks)));
}

static void json_op(printer *p, const tt_log_op *o)
{
    tt_json *j = &p->json;
    const tt_model *m = p->m;
    tt_json_object(j);
    tt_json_kv_u64(j, "start_ns", tt_model_mono_ns(m, o->start_ticks));
    tt_json_kv_double(j, "start_relative_ns", tt_model_ns(m, o->start_ticks));
    json_span(p, "duration_ns", o->open, o->arrive_ticks - o->start_ticks);
    json_span(p, "busy_ns", o->open, o->busy_ticks);
    json_span(p, "wait_ns", o->open, o->wait_ticks);
    tt_json_kv_u64(j, "start_ticks", o->start_ticks);
    tt_json_key(j, "token_id");
    if (o->run->batch == TT_NONE)
        tt_json_null(j);
    else
        tt_json_u64(j, o->run->batch);
    tt_json_kv_string(j, "phase",
                      tt_phase_name(o->run->batch == TT_NONE ? TT_PHASE_UNKNOWN
                                                             : m->batches[o->run->batch].phase));
    tt_json_kv_u64(j, "run_id", o->run->id);
    tt_json_kv_u64(j, "graph_id", o->op->graph->id);
    tt_json_kv_u64(j, "node", o->op->node);
    tt_json_kv_u64(j, "nodes", o->op->n_nodes);
    if (o->lane == TT_NONE)
        tt_json_kv_u64(j, "threads", o->lanes);
    else
        tt_json_kv_u64(j, "thread_id", o->lane);
    tt_json_kv_string(j, "op", o->op->op);
    tt_json_kv_string(j, "name", o->op->name);
    tt_json_key(j, "layer_id");
    if (o->op->place.layer_id < 0)
        tt_json_null(j);
    else
        tt_json_i64(j, o->op->place.layer_id);
    tt_json_kv_string(j, "category", o->op->place.category);
    tt_json_kv_string(j, "component", o->op->place.component);
    tt_json_kv_u64(j, "weight_bytes", o->op->weight_bytes);
    tt_json_key(j, "sources");
    tt_json_array(j);
    for (uint32_t i = 0; i < o->op->n_sources; i++)
        json_source(p, o->op, &o->op->sources[i]);
    tt_json_array_end(j);
    tt_json_object_end(j);
}

/* --- table --- */

static bool new_table(printer *p)
{
    p->table = tt_table_new(stdout);
    p->block_rows = 0;
    if (!p->table) return false;
    tt_table_column(p->table, "TIME ms", TT_COLUMN_RIGHT);
    tt_table_column(p->table, "TOKEN", TT_COLUMN_RIGHT);
    if (!p->narrow) tt_table_column(p->table, "PHASE", TT_COLUMN_LEFT);
    tt_table_column(p->table, p->o->by_lane ? "THREAD" : "THREADS", TT_COLUMN_RIGHT);
    tt_table_column(p->table, "OP", TT_COLUMN_LEFT | TT_COLUMN_SHRINK);
    tt_table_column(p->table, "NODE", TT_COLUMN_LEFT | TT_COLUMN_SHRINK);
    tt_table_column(p->table, "DURATION", TT_COLUMN_RIGHT);
    tt_table_column(p->table, "WAIT", TT_COLUMN_RIGHT);
    tt_table_column(p->table, "SOURCES", TT_COLUMN_LEFT | TT_COLUMN_SHRINK);
    return true;
}

static void sources_text(const tt_op *op, char out[SOURCES_TEXT])
{
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < op->n_sources && used < SOURCES_TEXT - 1; i++) {
        const tt_tensor *t = &op->graph->tensors[op->sources[i].tensor];
        char name[128];
        /* Buffers are the rule; only what comes from disk is worth a word. */
        int n = snprintf(out + used, SOURCES_TEXT - used, "%s%s%s", i ? ", " : "",
                         tt_trace_text(name, sizeof name, t->name),
                         t->origin == TT_ORIGIN_DISK ? " [disk]" : "");
        if (n < 0) return;
        used += (size_t)n < SOURCES_TEXT - used ? (size_t)n : SOURCES_TEXT - used - 1;
    }
}

static void table_op(printer *p, const tt_log_op *o)
{
    char begun[TT_UNITS_TEXT], token[16] = "-", lane[16], duration[TT_UNITS_TEXT];
    char wait[TT_UNITS_TEXT] = "", name[128], sources[SOURCES_TEXT];
    const tt_model *m = p->m;
    bool in_batch = o->run->batch != TT_NONE;
    if (in_batch) (void)snprintf(token, sizeof token, "%" PRIu32, o->run->batch);
    (void)snprintf(begun, sizeof begun, "%.4f", tt_model_ns(m, o->start_ticks) / 1e6);
    (void)snprintf(lane, sizeof lane, "%" PRIu32, o->lane == TT_NONE ? o->lanes : o->lane);
    if (o->open) {
        bool cut = !m->trace.complete || !o->run->ended;
        (void)snprintf(duration, sizeof duration, cut ? "(cut off)" : "(no end)");
    } else {
        tt_units_ns(duration, tt_model_span_ns(m, o->arrive_ticks - o->start_ticks));
        tt_units_ns(wait, tt_model_span_ns(m, o->wait_ticks));
    }
    sources_text(o->op, sources);
    const char *cells[9];
    size_t n = 0;
    cells[n++] = begun;
    cells[n++] = token;
    if (!p->narrow) cells[n++] = in_batch ? tt_phase_name(m->batches[o->run->batch].phase) : "-";
    cells[n++] = lane;
    cells[n++] = o->op->op;
    cells[n++] = tt_trace_text(name, sizeof name, o->op->name);
    cells[n++] = duration;
    cells[n++] = wait;
    cells[n++] = sources;
    tt_table_row(p->table, cells);
    if (++p->block_rows < BLOCK_ROWS) return;
    p->failed |= !tt_table_print(p->table) || !new_table(p);
}

static bool print_op(void *context, const tt_log_op *op)
{
    printer *p = context;
    if (p->o->limit && p->rows == p->o->limit) {
        p->more = true;
        return false;
    }
    p->rows++;
    if (p->reports) tt_progress_update(&p->bar, p->rows);
    if (p->o->input.json)
        json_op(p, op);
    else
        table_op(p, op);
    return !p->failed && !ferror(stdout);
}

static int print_log(const struct options *o, const tt_model *m)
{
    printer p = {.o = o, .m = m};
    tt_error err;
    size_t width = tt_table_width(stdout);
    p.narrow = width > 0 && width < WIDTH_FULL;
    if (tt_model_need_clock(m, &err) != TT_OK) return tt_report_error(&err);
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
    tt_status status = tt_log_walk(m, &o->filter, o->by_lane, print_op, &p, &err);
    tt_progress_end(&p.bar);
    bool ok = !p.failed;
    if (o->input.json) {
        tt_json_array_end(&p.json);
        tt_json_kv_bool(&p.json, "more", p.more);
        tt_json_object_end(&p.json);
        ok &= tt_json_end(&p.json);
    } else {
        ok &= (p.rows > 0 && p.block_rows == 0) || tt_table_print(p.table);
        if (p.more)
            tt_report_note("there are more than %" PRIu64 " row%s; --limit 0 shows all", p.rows,
                           p.rows == 1 ? "" : "s");
        else if (p.rows == 0)
            tt_trace_note_none(m);
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
        "behind it, summed. GLOB takes * ? and [...], as a shell does.",
        children,
        NULL,
        NULL};
    struct options o = {0};
    tt_model *m = NULL;
    tt_report_parse(&argp, argc, argv, 0, &o);
    if (o.filter.has_lane) o.by_lane = true;
    if (!o.limited && !o.input.json) o.limit = TABLE_LIMIT;
    int code = tt_input_open_trace(&o.input, false, &m);
    if (code == TT_EXIT_OK) code = print_log(&o, m);
    tt_model_close(m);
    return code;
}
