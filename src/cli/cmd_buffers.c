/* tensortrace buffers FILE: what memory the engine asked for, when, and for what. */
#include "answer/buffers.h"
#include "cli/buffers/buffers.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/trace_options.h"

#define TABLE_LIMIT 100u

struct options {
    tt_input input;
    bool timeline;
    bool cache;
    uint64_t limit; /* 0: none */
};

static const tt_option option_table[] = {
    {"timeline", 0, 0, "Allocations and frees in order, with what there was in all", 1,
     TT_FLAG(struct options, timeline)},
    {"kv", 0, 0, "The KV cache by layer, and how it fills batch by batch", 1,
     TT_FLAG(struct options, cache)},
    {"limit", 0, "N",
     "Only the first N events or batches; 0: all (the default is 100, with --json all)", 1,
     TT_WHOLE(struct options, limit, 0, INT64_MAX)},
    {0},
};

static bool print_json(const tt_buffers_report *r)
{
    const tt_buffers_limits all = {0};
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_buffers_json(&j, r->path, r->m, r->buffers, r->kv, &all);
    return tt_json_end(&j);
}

static int analyze_and_print(const struct options *o, const tt_model *m)
{
    tt_error err;
    tt_buffers *buffers = NULL;
    tt_kv *kv = NULL;
    tt_status status = tt_buffers_analyze(m, &buffers, &err);
    if (status == TT_OK) status = tt_kv_analyze(m, &kv, &err);
    int code;
    if (status != TT_OK) {
        code = tt_report_error(&err);
    } else {
        tt_buffers_report r = {.path = o->input.path,
                               .m = m,
                               .buffers = buffers,
                               .kv = kv,
                               .timeline = o->timeline,
                               .cache = o->cache,
                               .limit = o->limit};
        if (tt_model_need_clock(m, &err) != TT_OK)
            tt_report_note("%s; times are left out", err.message);
        code = tt_report_output(o->input.json ? print_json(&r) : tt_buffers_print_text(&r));
    }
    tt_buffers_free(buffers);
    tt_kv_free(kv);
    return code;
}

int tt_cmd_buffers(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "The buffers of the engine in the trace FILE: size, kind, lifetime, place, what "
                 "is in them, and the most there was at once.\v"
                 "Times are counted from the first batch: what was allocated while the model was "
                 "loaded has a negative one. A mapping of a file is no memory that was allocated, "
                 "so both are summed apart. --json has everything, --timeline and --kv included.",
        .sets = {{.options = option_table}, TT_INPUT(struct options, input)}};
    struct options o = {.limit = TABLE_LIMIT};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = analyze_and_print(&o, m);
    tt_model_close(m);
    return code;
}
