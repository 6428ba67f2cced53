/* tensortrace export FILE --format NAME -o PATH: a trace in the formats of other tools. */
#include "cli/command.h"
#include "cli/input.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "export/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_FORMAT = 256,
    OPT_FORCE,
    OPT_MODEL,
    OPT_EXPERTS,
    OPT_NO_EXPERTS,
    OPT_COMPRESS,
    OPT_FLOWS,
    OPT_THREADS
};

struct options {
    tt_input input;
    const tt_export_format *format;
    const char *output;
    tt_filter filter;
    tt_export_options export;
    unsigned given; /* TT_EXPORT_TAKES_* */
};

static const struct argp_option option_table[] = {
    {"format", OPT_FORMAT, "NAME", 0, "One of those below", 1},
    {"output", 'o', "PATH", 0, "The file or folder to write", 1},
    {"force", OPT_FORCE, 0, 0, "Replace PATH if it exists", 1},
    {"threads", OPT_THREADS, "N", 0, "Threads that write (default: one a processor)", 1},
    {"token", TT_OPT_TOKEN, "A[..B]", 0, "Only these batches (0 is the first)", 2},
    {"phase", TT_OPT_PHASE, "PHASE", 0, "Only prompt or generate", 2},
    {"model", OPT_MODEL, "FILE", 0,
     "The model file, when it is no longer where it was when it was traced", 3},
    {"experts", OPT_EXPERTS, 0, 0,
     "dataset: one entry for each expert's slice (default: when the model has experts)", 3},
    {"no-experts", OPT_NO_EXPERTS, 0, 0, "dataset: expert tensors as wholes", 3},
    {"compress", OPT_COMPRESS, "zstd|gzip", 0, "dataset, csv: compress each file", 3},
    {"flows", OPT_FLOWS, 0, 0, "perfetto: arrows from op to op, where values went", 3},
    {0},
};

static void set_format(struct options *o, const char *arg, struct argp_state *state)
{
    size_t n;
    o->format = tt_export_find(arg);
    if (o->format) return;
    char names[200] = "";
    const tt_export_format *const *list = tt_export_formats(&n);
    for (size_t i = 0; i < n; i++)
        (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? ", " : "",
                       list[i]->name);
    argp_error(state, "--format: \"%.40s\" is none of %s", arg, names);
}

static void set_compress(struct options *o, const char *arg, struct argp_state *state)
{
    if (strcmp(arg, "zstd") == 0)
        o->export.compress = TT_COMPRESS_ZSTD;
    else if (strcmp(arg, "gzip") == 0)
        o->export.compress = TT_COMPRESS_GZIP;
    else
        argp_error(state, "--compress: \"%.40s\" is neither zstd nor gzip", arg);
    o->given |= TT_EXPORT_TAKES_COMPRESS;
}

static void set_threads(struct options *o, const char *arg, struct argp_state *state)
{
    tt_error err;
    int64_t v = 0;
    if (tt_units_parse_int(arg, "--threads", 1, 64, &v, &err) != TT_OK)
        argp_error(state, "%s", err.message);
    o->export.threads = (unsigned)v;
}

static void check(const struct options *o, struct argp_state *state)
{
    static const struct {
        unsigned flag;
        const char *option;
    } names[] = {{TT_EXPORT_TAKES_FILTER, "--token and --phase"},
                 {TT_EXPORT_TAKES_MODEL, "--model"},
                 {TT_EXPORT_TAKES_EXPERTS, "--experts"},
                 {TT_EXPORT_TAKES_COMPRESS, "--compress"},
                 {TT_EXPORT_TAKES_FLOWS, "--flows"}};
    if (!o->format) argp_error(state, "name a --format");
    if (!o->output) argp_error(state, "name the file or folder to write with -o");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (o->given & names[i].flag & ~o->format->takes)
            argp_error(state, "%s: not for the format %s", names[i].option, o->format->name);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->input;
        return 0;
    case OPT_FORMAT:
        set_format(o, arg, state);
        return 0;
    case 'o':
        o->output = arg;
        return 0;
    case OPT_FORCE:
        o->export.force = true;
        return 0;
    case OPT_THREADS:
        set_threads(o, arg, state);
        return 0;
    case TT_OPT_TOKEN:
    case TT_OPT_PHASE:
        o->given |= TT_EXPORT_TAKES_FILTER;
        (void)tt_trace_filter_option(key, arg, state, &o->filter);
        return 0;
    case OPT_MODEL:
        o->given |= TT_EXPORT_TAKES_MODEL;
        o->export.model_path = arg;
        return 0;
    case OPT_EXPERTS:
    case OPT_NO_EXPERTS:
        o->given |= TT_EXPORT_TAKES_EXPERTS;
        o->export.has_experts = true;
        o->export.experts = key == OPT_EXPERTS;
        return 0;
    case OPT_COMPRESS:
        set_compress(o, arg, state);
        return 0;
    case OPT_FLOWS:
        o->given |= TT_EXPORT_TAKES_FLOWS;
        o->export.flows = true;
        return 0;
    case ARGP_KEY_END:
        check(o, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* --help lists the formats behind the options. */
static char *list_formats(int key, const char *text, void *input)
{
    char *list = NULL;
    size_t size = 0, n;
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC) return (char *)text;
    FILE *out = open_memstream(&list, &size);
    if (!out) return (char *)text;
    fputs("Formats:\n", out);
    const tt_export_format *const *formats = tt_export_formats(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "  %-9s %s\n", formats[i]->name, formats[i]->summary);
    fputs("\nExit codes: 0 done, 2 wrong usage, unusable input, or an output that exists or "
          "cannot be written.",
          out);
    return fclose(out) == 0 ? list : (char *)text;
}

static const struct argp_child children[] = {{&tt_input_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
    option_table,
    parse_option,
    "FILE",
    "Writes a trace in a format that other tools read. What is written appears whole or not at "
    "all.\v",
    children,
    list_formats,
    NULL};

static void note(void *context, const char *text)
{
    (void)context;
    tt_report_note("%s", text);
}

int tt_cmd_export(int argc, char **argv)
{
    struct options o = {0};
    tt_progress progress;
    tt_model *m;
    tt_error err = {.status = TT_OK};
    tt_report_parse(&argp, argc, argv, 0, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) {
        o.export.filter = &o.filter;
        o.export.progress = tt_progress_callback;
        o.export.progress_context = &progress;
        o.export.note = note;
        tt_progress_begin(&progress, "exporting", 0, "parts");
        tt_status status = o.format->write(m, o.output, &o.export, &err);
        tt_progress_end(&progress);
        if (status != TT_OK) code = tt_report_error(&err);
    }
    tt_model_close(m);
    return code;
}
