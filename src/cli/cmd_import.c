/* tensortrace import FILE -o TRACE: converts published routing (the experts that a router chose) to
 * a trace. */
#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "import/read.h"
#include "import/write.h"

#include <inttypes.h>

struct options {
    tt_input input;
    tt_import_options import;
    tt_import_ignored ignored;
};

static void take_ignored(void *member, char *arg, tt_parse *p)
{
    tt_import_ignored *ignored = member;
    if (ignored->n == TT_IMPORT_IGNORED_MAX) tt_parse_refuse(p, "more than 32 columns");
    ignored->names[ignored->n++] = arg;
}

static const tt_option option_table[] = {
    {"output", 'o', "TRACE", "The trace to write (required)", 1,
     TT_TEXT(struct options, import.output)},
    {"expert-bytes", 0, "SIZE",
     "Size of one expert of a layer, with all its matrices (required): 12M, 4718592B", 1,
     TT_AMOUNT(struct options, import.expert_bytes, 1, (uint64_t)1 << 40)},
    {"experts", 0, "N", "Experts of a layer (default: up to the highest in FILE)", 1,
     TT_WHOLE(struct options, import.n_experts, 1, TT_IMPORT_EXPERTS_MAX)},
    {"ignore", 0, "COLUMN",
     "Skip a column or key that is not understood (repeatable): your word that it tells nothing "
     "about which token picked what",
     1, TT_TAKE(struct options, ignored, take_ignored)},
    {"force", 0, 0, "Replace TRACE if it exists", 1, TT_FLAG(struct options, import.force)},
    {0},
};

static void check(void *options, tt_parse *p)
{
    const struct options *o = options;
    if (!o->import.output) tt_parse_error(p, "name the trace to write with -o");
    if (!o->import.expert_bytes) tt_parse_error(p, "how large is an expert? --expert-bytes SIZE");
}

static const tt_options command = {
    .words = "FILE",
    .about =
        "Makes a trace from a list of the experts that a router chose for each token, for routing, "
        "heat, whatif, export and the viewer. Such a trace has no times.\v"
        "FILE is CSV with a header that has the columns layer and expert (and token, batch, "
        "sequence, weight); or JSON lines, {\"token\":0,\"layers\":[[1,5],[2,7]]} or one for each "
        "layer, {\"token\":0,\"layer\":0,\"experts\":[1,5]}; or a line per token, as 1,5 2,7. A "
        "column that is not understood is an error. Exit codes: 0 done, 2 wrong usage, unusable "
        "input, or an output that exists "
        "or cannot be written.",
    .sets = {{option_table, .check = check}, TT_INPUT(struct options, input)}};

static bool print_json(const struct options *o, const tt_import_sum *sum)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "file", o->input.path);
    tt_json_kv_string(&j, "output", o->import.output);
    tt_json_kv_u64(&j, "batches", sum->batches);
    tt_json_kv_u64(&j, "n_tokens", sum->tokens);
    tt_json_kv_u64_or_null(&j, "n_sequences", sum->sequences > 0, sum->sequences);
    tt_json_kv_u64(&j, "picks", sum->picks);
    tt_json_kv_u64(&j, "layers", sum->layers);
    tt_json_kv_u64(&j, "experts", sum->experts);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

int tt_cmd_import(int argc, char **argv)
{
    struct options o = {0};
    tt_import_sum sum;
    tt_error err;
    tt_options_parse(&command, argc, argv, &o);
    o.import.path = o.input.path;
    o.import.ignored = &o.ignored;
    if (tt_input_is_within(&o.input, o.import.output))
        return tt_report_usage("%s is the file that is read; name another -o", o.import.output);
    tt_status status = tt_import_write(&o.import, &sum, &err);
    if (status == TT_E_FORMAT) return tt_report_usage("%s: %s", o.input.path, err.message);
    if (status != TT_OK) return tt_report_error(&err);
    if (o.input.json) return tt_report_output(print_json(&o, &sum));
    char parted[48] = "";
    if (sum.sequences > 1)
        (void)snprintf(parted, sizeof parted, " of %" PRIu32 " sequences", sum.sequences);
    tt_report_note("wrote %s: %" PRIu64 " tokens%s in %" PRIu64 " batches, %" PRIu64
                   " picks of %" PRIu32 " experts in %" PRIu32 " layers",
                   o.import.output, sum.tokens, parted, sum.batches, sum.picks, sum.experts,
                   sum.layers);
    return TT_EXIT_OK;
}
