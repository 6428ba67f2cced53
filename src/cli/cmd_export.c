/* tensortrace export FILE --format NAME -o PATH: a trace in the formats of other tools. */
#include "analyze/filter.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/export_interrupt.h"
#include "cli/input.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "export/export.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    OPT_FORMAT = 256,
    OPT_FORCE,
    OPT_MODEL,
    OPT_EXPERTS,
    OPT_NO_EXPERTS,
    OPT_COMPRESS,
    OPT_FLOWS,
    OPT_ALL,
    OPT_THREADS,
    OPT_OP /* TT_OPT_OP is -o, which is the output here */
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
    TT_OPTIONS_BATCH("A[..B]", "Only these batches (0 is the first)", 2),
    {"phase", TT_OPT_PHASE, "PHASE", 0, "Only prompt, generate, mixed or warmup", 2},
    {"layer", TT_OPT_LAYER, "N", 0, "npy: only outputs of this layer (none: outside any)", 3},
    {"op", OPT_OP, "NAME", 0, "npy: only of this op", 3},
    {"tensor", TT_OPT_TENSOR, "GLOB", 0, "npy: only of ops whose node or a source has such a name",
     3},
    {"model", OPT_MODEL, "FILE", 0,
     "The model file, when it is no longer where it was when it was traced", 3},
    {"experts", OPT_EXPERTS, 0, 0,
     "dataset: one entry for each expert's slice (default: when the model has experts)", 3},
    {"no-experts", OPT_NO_EXPERTS, 0, 0, "dataset: expert tensors as wholes", 3},
    {"compress", OPT_COMPRESS, "zstd|gzip", 0,
     "dataset, csv: compress each file; perfetto: gzip, its packets", 3},
    {"flows", OPT_FLOWS, 0, 0, "perfetto: arrows from op to op, where values went", 3},
    {"all", OPT_ALL, 0, 0,
     "bitnet: also values that have no stage, under the engine's names; dataset: also of more than "
     "50,000 tokens",
     3},
    {0},
};

#define FORMATS_TEXT 200

static const char *format_names(char out[FORMATS_TEXT])
{
    size_t n, used = 0;
    const tt_export_format *const *list = tt_export_formats(&n);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++, used = strlen(out))
        (void)snprintf(out + used, FORMATS_TEXT - used, "%s%s", i ? ", " : "", list[i]->name);
    return out;
}

static void set_format(struct options *o, const char *arg, struct argp_state *state)
{
    size_t n;
    tt_nearest nearest = tt_nearest_begin(arg);
    char names[FORMATS_TEXT];
    const tt_export_format *const *list = tt_export_formats(&n);
    o->format = tt_export_find(arg);
    if (o->format) return;
    for (size_t i = 0; i < n; i++)
        tt_nearest_try(&nearest, list[i]->name);
    if (nearest.name)
        argp_error(state, "--format: no format \"%.40s\"; did you mean \"%s\"?", arg, nearest.name);
    argp_error(state, "--format: no format \"%.40s\"; there are: %s", arg, format_names(names));
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
    } names[] = {{TT_EXPORT_TAKES_FILTER, "--batch and --phase"},
                 {TT_EXPORT_TAKES_MODEL, "--model"},
                 {TT_EXPORT_TAKES_EXPERTS, "--experts"},
                 {TT_EXPORT_TAKES_COMPRESS, "--compress"},
                 {TT_EXPORT_TAKES_FLOWS, "--flows"},
                 {TT_EXPORT_TAKES_ALL, "--all"},
                 {TT_EXPORT_TAKES_OPS, "--layer, --op and --tensor"}};
    char formats[FORMATS_TEXT];
    if (!o->format) argp_error(state, "name a --format: %s", format_names(formats));
    if (!o->output) argp_error(state, "name the file or folder to write with -o");
    if (strcmp(o->output, "-") == 0)
        argp_error(state, "-o -: an export is a file or folder with a name, not standard output "
                          "(./- names one that is called so)");
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
    case TT_OPT_BATCH:
    case TT_OPT_TOKEN:
    case TT_OPT_PHASE:
        o->given |= TT_EXPORT_TAKES_FILTER;
        (void)tt_trace_filter_option(key, arg, state, &o->filter);
        return 0;
    case TT_OPT_LAYER:
    case OPT_OP:
    case TT_OPT_TENSOR:
        o->given |= TT_EXPORT_TAKES_OPS;
        (void)tt_trace_filter_option(key == OPT_OP ? TT_OPT_OP : key, arg, state, &o->filter);
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
    case OPT_ALL:
        o->given |= TT_EXPORT_TAKES_ALL;
        o->export.all = true;
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

/* --- before --- */

/* That nothing was asked for is a slip, not an empty export. */
static int check_filter(const struct options *o, const tt_model *m)
{
    uint32_t first = UINT32_MAX, last = 0;
    if (!(o->given & TT_EXPORT_TAKES_FILTER)) return TT_EXIT_OK;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        if (tt_filter_batch(&o->filter, m, i)) return TT_EXIT_OK;
        const uint32_t token = tt_model_batch_number(m, i);
        first = token < first ? token : first;
        last = token > last ? token : last;
    }
    if (m->n_batches == 0) return tt_report_usage("%s: the trace has no batches", o->input.path);
    return tt_report_usage("%s: none of the batches %" PRIu32 " to %" PRIu32
                           " is what --batch and --phase ask for",
                           o->input.path, first, last);
}

/* --- after --- */

typedef struct written {
    uint64_t n_files;
    uint64_t size_bytes;
} written;

/* nftw has no room for a context. */
static written found;

static int count_file(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)path;
    (void)walk;
    if (kind != FTW_F || !S_ISREG(st->st_mode)) return 0;
    found.n_files++;
    found.size_bytes += (uint64_t)st->st_size;
    return 0;
}

static void print_json(const struct options *o, const tt_export_sum *sum, bool is_folder)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "file", o->input.path);
    tt_json_kv_string(&j, "format", o->format->name);
    tt_json_kv_string(&j, "output", o->output);
    if (is_folder) tt_json_kv_u64(&j, "files", found.n_files);
    if (sum->items) tt_json_kv_u64(&j, sum->items, sum->n_items);
    tt_json_kv_u64(&j, "size_bytes", found.size_bytes);
    tt_json_object_end(&j);
    (void)tt_json_end(&j);
}

/* "wrote DIR: 13 files, 1,234 rows, 5.0 MiB" */
static int tell(const struct options *o, const tt_export_sum *sum)
{
    char items[TT_UNITS_TEXT], bytes[TT_UNITS_TEXT], counted[64] = "", files[40] = "";
    struct stat st;
    bool is_folder = stat(o->output, &st) == 0 && S_ISDIR(st.st_mode);
    found = (written){0};
    if (sum->n_files)
        found = (written){sum->n_files, sum->size_bytes};
    else
        (void)nftw(o->output, count_file, 16, FTW_PHYS);
    if (o->input.json) {
        print_json(o, sum, is_folder);
        return tt_report_output(!ferror(stdout));
    }
    if (found.n_files == 0) return TT_EXIT_OK; /* a pipe or a device: its reader knows */
    if (is_folder) (void)snprintf(files, sizeof files, "%" PRIu64 " files, ", found.n_files);
    if (sum->items)
        (void)snprintf(counted, sizeof counted, "%s %s, ", tt_units_count(items, sum->n_items),
                       sum->items);
    tt_report_note("wrote %s: %s%s%s", o->output, files, counted,
                   tt_units_bytes(bytes, found.size_bytes));
    return TT_EXIT_OK;
}

static int export(struct options *o, const tt_model *m)
{
    tt_progress progress;
    tt_error err = {.status = TT_OK};
    tt_export_sum sum = {0};
    o->export.filter = &o->filter;
    o->export.progress = tt_progress_callback;
    o->export.progress_context = &progress;
    o->export.note = note;
    o->export.sum = &sum;
    tt_export_guard(o->output);
    tt_progress_begin(&progress, "exporting", 0, "parts");
    tt_status status = o->format->write(m, o->output, &o->export, &err);
    tt_export_guard_end();
    tt_progress_end(&progress);
    return status == TT_OK ? tell(o, &sum) : tt_report_error(&err);
}

int tt_cmd_export(int argc, char **argv)
{
    struct options o = {0};
    tt_model *m;
    tt_report_parse(&argp, argc, argv, 0, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK && !o.format->adds && tt_input_is_within(&o.input, o.output))
        code =
            tt_report_usage("%s is, or holds, the trace that is read; name another -o", o.output);
    if (code == TT_EXIT_OK) code = check_filter(&o, m);
    if (code == TT_EXIT_OK) code = export(&o, m);
    tt_model_close(m);
    return code;
}
