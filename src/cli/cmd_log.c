/* tensortrace log FILE: the ops in the order of their start. */
#include "analyze/log/top.h"
#include "answer/log.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLE_LIMIT 100u  /* rows of a table, the default of --limit */
#define BLOCK_ROWS 10000u /* rows laid out together, because a table is kept in memory */
#define CELL_TEXT 512
/* The default columns of the table. */
#define SHOWN "start_relative_ns,batch_id,phase,%s,op,name%s,duration_ns,wait_ns,off_cpu_ns,sources"
/* The same with --places. */
#define SHOWN_PLACES "start_relative_ns,batch_id,layer_id,op,duration_ns,destination,sources"
#define SHOWN_PLACES_COLUMNS 7u
#define PLACES_WIDTH 130u /* of a terminal, into which most of these rows fit */

struct options {
    tt_input input;
    tt_list_options list;
    bool by_lane, places, hex;
    const char *sort_text; /* NULL: in the order of time */
    tt_sort_key sort;
    bool limited;   /* --limit was given */
    uint64_t limit; /* 0: none */
    tt_filter filter;
};

static void take_text(void *text, char *arg, tt_parse *p)
{
    (void)p;
    *(const char **)text = *arg ? arg : NULL;
}

static const tt_option_name origins[] = {{"file", TT_ORIGIN_FILE}, {"buffer", TT_ORIGIN_BUFFER}};

static const tt_option option_table[] = {
    {"thread", 0, "N", "Only this thread's work", 2,
     TT_WHOLE(struct options, filter.lane, 0, UINT32_MAX - 1),
     TT_GIVEN(struct options, filter.has_lane)},
    {"origin", 0, "WHERE", "Only ops with a source in a mapped model file, or in a buffer", 2,
     TT_NAME(struct options, filter.origin, origins)},
    {"from", 0, "TIME", "Only ops that began at or after TIME (12ms, 300us, 5s)", 2,
     TT_TIME(struct options, filter.from_ns), TT_GIVEN(struct options, filter.has_from)},
    {"to", 0, "TIME", "Only ops that began at or before TIME", 2,
     TT_TIME(struct options, filter.to_ns), TT_GIVEN(struct options, filter.has_to)},
    {"text", 0, "TEXT",
     "Only ops with TEXT in the name of the node, of a source, or of the op (any case)", 2,
     TT_TAKE(struct options, filter.text, take_text)},
    {"min-duration", 0, "TIME", "Only ops that took at least TIME", 2,
     TT_TIME(struct options, filter.least_ns), TT_GIVEN(struct options, filter.has_least)},
    {"max-duration", 0, "TIME", "Only ops that took at most TIME", 2,
     TT_TIME(struct options, filter.most_ns), TT_GIVEN(struct options, filter.has_most)},
    {"places", 0, 0, "In the table: layers, and locations and sizes of destination and sources", 3,
     TT_FLAG(struct options, places)},
    {"hex", 0, 0, "Offsets in hexadecimal, in the table (with --places) and CSV", 3,
     TT_FLAG(struct options, hex), .excludes = "json"},
    {"lanes", 0, 0, "A row for each thread instead of one for each op", 3,
     TT_FLAG(struct options, by_lane)},
    {"sort", 0, "COLUMN",
     "Sort by a column: numbers from the largest, names and ids from the smallest; +COLUMN from "
     "the smallest, -COLUMN from the largest (at most 1000000 rows)",
     3, TT_TEXT(struct options, sort_text), .flags = TT_OPTION_COLUMN},
    {"limit", 0, "N",
     "Only the first N rows; 0: all (the default is 100, with --json and --csv all)", 3,
     TT_WHOLE(struct options, limit, 0, INT64_MAX), TT_GIVEN(struct options, limited)},
    {0},
};

typedef struct printer {
    const struct options *o;
    const tt_model *m;
    tt_log_writer w;
    tt_error err; /* of rows */
    tt_table *table;
    tt_progress bar; /* not if the rows themselves are on the terminal */
    uint64_t rows;
    uint64_t block_rows;
    bool reports;         /* progress */
    bool narrow;          /* locations in lines of their own */
    bool ended;           /* no further rows are wanted */
    uint64_t after_ticks; /* ops begun then or before have been printed; 0: none */
    bool more;            /* there are ops beyond the limit */
    bool failed;
} printer;

/* --- as a table --- */

/* On a narrow terminal, locations would be cut off: they get lines of their own. */
static bool is_narrow(const printer *p)
{
    const size_t width = tt_table_width(stdout);
    return p->o->places && !p->o->list.columns && width && width < PLACES_WIDTH;
}

static void print_places(printer *p)
{
    char text[SHOWN_PLACES_COLUMNS][CELL_TEXT], line[CELL_TEXT + 16];
    if (p->rows == 1)
        (void)printf("%9s  %5s  %5s  %-16s  %8s\n", "TIME ms", "BATCH", "LAYER", "OP", "DURATION");
    for (size_t i = 0; i < SHOWN_PLACES_COLUMNS; i++)
        tt_cell_show(p->w.list.columns[i], p->m, &p->w.row, text[i], CELL_TEXT);
    (void)printf("%9s  %5s  %5s  %-16s  %8s\n", text[0], text[1], text[2], text[3], text[4]);
    (void)snprintf(line, sizeof line, "    to    %s", text[5]);
    tt_table_text(stdout, 10, line);
    (void)snprintf(line, sizeof line, "    from  %s", text[6]);
    if (text[6][0]) tt_table_text(stdout, 10, line);
}

static int open_writer(printer *p)
{
    char shown[sizeof SHOWN + 32];
    const struct options *o = p->o;
    const tt_log_format format = o->list.csv     ? TT_LOG_CSV
                                 : o->input.json ? TT_LOG_JSON
                                                 : TT_LOG_TEXT;
    const char *columns = o->list.columns;
    tt_error err;
    (void)snprintf(shown, sizeof shown, SHOWN, o->by_lane ? "thread_id" : "threads",
                   p->m->n_models > 1 ? ",model_file" : "");
    if (!columns && format == TT_LOG_TEXT) columns = o->places ? SHOWN_PLACES : shown;
    if (tt_log_writer_open(&p->w, p->m, o->by_lane, format, columns, stdout, &err) != TT_OK)
        return tt_list_error(&err);
    p->w.row.places = o->places;
    p->w.row.hex = o->hex;
    p->w.list.chosen = o->list.columns != NULL;
    p->narrow = is_narrow(p);
    return TT_EXIT_OK;
}

static bool has_table(printer *p)
{
    if (!p->table) p->table = tt_list_table(&p->w.list, stdout);
    return p->table != NULL;
}

static void table_row(printer *p)
{
    if (!has_table(p)) {
        p->failed = true;
        return;
    }
    tt_list_row(p->table, &p->w.list, &p->w.row);
    if (++p->block_rows < BLOCK_ROWS) return;
    p->failed |= !tt_table_print(p->table);
    p->table = NULL;
    p->block_rows = 0;
}

static bool print_row(printer *p, const tt_log_op *row)
{
    if (tt_log_writer_put(&p->w, row, &p->err) != TT_OK) return false;
    if (p->w.format != TT_LOG_TEXT) return true;
    if (p->narrow)
        print_places(p);
    else
        table_row(p);
    return true;
}

static bool print_op(void *context, const tt_log_op *op)
{
    printer *p = context;
    if (p->after_ticks && op->start_ticks <= p->after_ticks) return true;
    /* In a part of the trace the ops after its end are incomplete. */
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

/* Continues with the whole trace after a part of it. */
static tt_status walk_on(printer *p, tt_model **m, tt_error *err)
{
    uint64_t until = (*m)->until_ticks;
    bool all = !(*m)->partial || until == UINT64_MAX;
    tt_status status = tt_log_walk(*m, &p->o->filter, p->o->by_lane, print_op, p, err);
    if (status != TT_OK || p->err.status != TT_OK || p->ended || all) return status;
    tt_log_writer_model(&p->w, NULL);
    tt_model_close(*m);
    *m = NULL;
    status = tt_model_open(p->o->input.path, m, err);
    if (status != TT_OK) return status;
    p->m = *m;
    tt_log_writer_model(&p->w, *m);
    p->after_ticks = until;
    return tt_log_walk(*m, &p->o->filter, p->o->by_lane, print_op, p, err);
}

/* Suggestions need the whole trace, of which only a part may be open. */
static int write_none(const struct options *o, tt_model **m)
{
    tt_error err;
    if ((*m)->partial) {
        tt_model_close(*m);
        *m = NULL;
        if (tt_model_open(o->input.path, m, &err) != TT_OK) return tt_report_error(&err);
    }
    return tt_trace_none(*m, &o->filter, "op");
}

static bool begin(printer *p)
{
    tt_log_writer_begin(&p->w, p->o->input.path);
    return p->w.format != TT_LOG_TEXT || p->narrow || has_table(p);
}

/* False if the output failed. */
static bool end(printer *p)
{
    tt_error err;
    if (tt_log_writer_end(&p->w, p->more, &err) != TT_OK) {
        p->failed = true;
        if (err.status != TT_E_IO && p->err.status == TT_OK) p->err = err;
    }
    if (p->table) p->failed |= !tt_table_print(p->table);
    if (p->more && p->w.format != TT_LOG_JSON && p->o->sort_text && p->rows == TT_LOG_TOP_MAX)
        tt_report_note("there are more than %u rows, the most that can be sorted", TT_LOG_TOP_MAX);
    else if (p->more && p->w.format != TT_LOG_JSON)
        tt_trace_note_more(p->rows);
    return !p->failed;
}

/* The first rows in another order than that of time. */
static tt_status print_sorted(printer *p, tt_error *err)
{
    const struct options *o = p->o;
    const size_t limit = o->limit && o->limit < TT_LOG_TOP_MAX ? (size_t)o->limit : TT_LOG_TOP_MAX;
    tt_log_top top = {0};
    uint32_t *order = tt_log_order(p->m);
    tt_op_table *ops = tt_op_table_new(p->m);
    tt_status status = order && ops ? tt_log_top_find(p->m, &o->filter, o->by_lane, order, o->sort,
                                                      limit, NULL, &top, err)
                                    : tt_error_memory(err, "a log");
    for (size_t i = 0; i < top.n && status == TT_OK; i++) {
        tt_log_op row;
        if (!tt_log_item_op(ops, &p->m->runs[top.rows[i].run], &top.rows[i].item, &row))
            status = tt_error_memory(err, "a log");
        else if (!print_op(p, &row))
            break;
    }
    p->more = top.n_all > p->rows;
    if (status == TT_OK && top.ended_by.status != TT_OK) {
        *err = top.ended_by;
        status = err->status;
    }
    tt_log_top_free(&top);
    tt_op_table_free(ops);
    free(order);
    return status;
}

static int walk_all(printer *p, tt_model **m)
{
    const struct options *o = p->o;
    tt_error err;
    if (tt_model_need_clock(*m, &err) != TT_OK) return tt_report_error(&err);
    if (!begin(p)) return tt_report_memory();
    p->reports = !isatty(STDOUT_FILENO);
    tt_progress_begin(&p->bar, "reading", 0, "rows");
    tt_status status = o->sort_text ? print_sorted(p, &err) : walk_on(p, m, &err);
    tt_progress_end(&p->bar);
    if (*m) tt_trace_note_damage(*m);
    const bool ok = end(p);
    if (status == TT_OK && p->err.status != TT_OK) {
        err = p->err;
        status = err.status;
    }
    if (status == TT_OK && p->rows == 0 && *m) {
        const int code = tt_report_output(ok);
        return code == TT_EXIT_OK ? write_none(o, m) : code;
    }
    return status != TT_OK ? tt_report_error(&err) : tt_report_output(ok);
}

static int print_log(const struct options *o, tt_model **m)
{
    printer p = {.o = o, .m = *m};
    int code = open_writer(&p);
    if (code == TT_EXIT_OK) code = walk_all(&p, m);
    tt_log_writer_close(&p.w);
    return code;
}

static int choose_sort(struct options *o)
{
    const tt_rowset set = tt_log_rowset(NULL, NULL, o->by_lane);
    tt_error err;
    if (o->sort_text && strcmp(o->sort_text, "key") == 0) o->sort_text = NULL;
    if (!o->sort_text ||
        tt_sort_key_read(&o->sort, &set, o->sort_text, strlen(o->sort_text), &err) == TT_OK)
        return TT_EXIT_OK;
    return tt_list_error(&err);
}

int tt_cmd_log(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about =
            "The ops in the trace FILE in the order in which they began, or sorted.\v"
            "TIME is counted from the first batch. DURATION is from the first thread's start to "
            "the last thread's arrival; WAIT is the threads' time at the barrier after the op, "
            "summed. GLOB takes * ? and [...], as in a shell; with a number in brackets at the "
            "end, as in blk.0.ffn_down_exps.weight[3], only ops that read that expert are listed.",
        .sets = {{.options = option_table},
                 TT_INPUT(struct options, input),
                 TT_FILTER(struct options, filter),
                 TT_LIST_STREAM(struct options, list)}};
    struct options o = {.list.schema = &tt_log_schema};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &o);
    if (o.filter.has_lane) o.by_lane = true;
    if (!o.limited && !o.input.json && !o.list.csv) o.limit = TABLE_LIMIT;
    int code = choose_sort(&o);
    const tt_filter *f = &o.filter;
    const tt_part part = {.has_tokens = f->has_batch && !o.sort_text,
                          .batch_first = f->batch_first,
                          .batch_last = f->batch_last,
                          .has_from = f->has_from && !o.sort_text,
                          .has_to = f->has_to && !o.sort_text,
                          .from_ns = f->from_ns,
                          .to_ns = f->to_ns,
                          .first_only = o.limit > 0 && !o.sort_text};
    if (code == TT_EXIT_OK) code = tt_input_open_part(&o.input, &part, &m);
    if (code == TT_EXIT_OK) code = print_log(&o, &m);
    tt_model_close(m);
    return code;
}
