#include "cli/faults/faults_reads.h"

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct printer {
    const tt_faults_options *o;
    const tt_model *m;
    tt_json json;
    tt_table *table;
    uint64_t rows;
    bool more;
} printer;

static double rate_of(const printer *p, const tt_fault_op *op)
{
    return (double)op->counts.read_bytes / tt_model_span_ns(p->m, tt_fault_op_ticks(op)) * 1e9;
}

static void weights_text(const printer *p, const tt_fault_op *op, char *out, size_t room)
{
    size_t used = 0;
    uint32_t last = TT_NONE;
    char name[128];
    out[0] = '\0';
    for (size_t i = 0; i < op->n_accesses && used + 1 < room; i++) {
        if (op->accesses[i].weight == last) continue;
        int n =
            snprintf(out + used, room - used, "%s%s", last == TT_NONE ? "" : ", ",
                     tt_trace_text(name, sizeof name, p->m->weights[op->accesses[i].weight].name));
        if (n < 0) return;
        last = op->accesses[i].weight;
        used += (size_t)n < room - used ? (size_t)n : room - used - 1;
    }
}

static void table_op(printer *p, const tt_fault_op *op)
{
    char begun[TT_UNITS_TEXT], token[16] = "-", took[TT_UNITS_TEXT] = "", weights[256], name[128];
    char major[TT_UNITS_TEXT], read[TT_UNITS_TEXT] = "-", rate[TT_UNITS_TEXT] = "";
    const uint32_t batch = p->m->runs[op->run].batch;
    (void)snprintf(begun, sizeof begun, "%.4f", tt_model_ns(p->m, op->times->start) / 1e6);
    if (batch != TT_NONE)
        (void)snprintf(token, sizeof token, "%" PRIu32, tt_model_token(p->m, batch));
    tt_units_count(major, op->counts.major);
    if (op->counts.observed_reads) tt_units_bytes(read, op->counts.read_bytes);
    if (!op->times->open) tt_units_ns(took, tt_model_span_ns(p->m, tt_fault_op_ticks(op)));
    if (op->counts.read_bytes && tt_fault_op_ticks(op)) tt_units_rate(rate, rate_of(p, op));
    weights_text(p, op, weights, sizeof weights);
    tt_table_row(p->table, (const char *[]){begun, token, op->op->op,
                                            tt_trace_text(name, sizeof name, op->op->name), major,
                                            read, took, rate, weights});
}

static bool visit(void *context, const tt_fault_op *op)
{
    printer *p = context;
    if (!op->passes || !tt_fault_op_read(op)) return true;
    if (p->o->list.limit && p->rows == p->o->list.limit) {
        p->more = true;
        return false;
    }
    p->rows++;
    if (p->o->input.json)
        tt_fault_op_json(&p->json, p->m, op);
    else
        table_op(p, op);
    return !ferror(stdout);
}

static bool begin(printer *p)
{
    static const char *const titles[] = {"TIME ms", "BATCH", "OP",   "NODE",   "MAJOR",
                                         "READ",    "TOOK",  "RATE", "WEIGHTS"};
    static const int flags[] = {TT_COLUMN_RIGHT,
                                TT_COLUMN_RIGHT,
                                TT_COLUMN_SHRINK | TT_COLUMN_WIDE,
                                TT_COLUMN_SHRINK,
                                TT_COLUMN_RIGHT | TT_COLUMN_WIDEST,
                                TT_COLUMN_RIGHT,
                                TT_COLUMN_RIGHT,
                                TT_COLUMN_RIGHT,
                                TT_COLUMN_SHRINK};
    if (p->o->input.json) {
        tt_json_begin(&p->json, stdout, 0);
        tt_json_object(&p->json);
        tt_json_kv_string(&p->json, "file", p->o->input.path);
        tt_json_key(&p->json, "reads");
        tt_json_array(&p->json);
        return true;
    }
    p->table = tt_table_new(stdout);
    for (size_t i = 0; p->table && i < sizeof titles / sizeof *titles; i++)
        tt_table_column(p->table, titles[i], flags[i]);
    return p->table != NULL;
}

static bool end(printer *p)
{
    if (!p->o->input.json) {
        if (p->more) tt_trace_note_more(p->rows);
        return tt_table_print(p->table);
    }
    tt_json_array_end(&p->json);
    tt_json_kv_bool(&p->json, "more", p->more);
    tt_json_object_end(&p->json);
    return tt_json_end(&p->json);
}

int tt_faults_print_reads(const tt_faults_options *o, const tt_model *m)
{
    printer p = {.o = o, .m = m};
    tt_error err;
    tt_faults_walker w = {.filter = &o->filter, .visit = visit, .context = &p};
    if (tt_model_need_clock(m, &err) != TT_OK) return tt_report_error(&err);
    if (!begin(&p)) return tt_report_usage("out of memory");
    tt_status status = tt_faults_walk(m, &w, &err);
    bool ok = end(&p);
    int code = status != TT_OK ? tt_report_error(&err) : tt_report_output(ok);
    if (code == TT_EXIT_OK && p.rows == 0)
        code = tt_trace_none(m, &o->filter, "op that had to wait for a device");
    return code;
}
