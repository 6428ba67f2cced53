/* tensortrace export FILE --format NAME -o PATH: a trace in the formats of other tools. */
#include "analyze/copies.h"
#include "analyze/filter.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/export_interrupt.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "export/export.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
    tt_input input;
    const tt_export_format *format;
    const char *output;
    tt_filter filter;
    tt_export_options export;
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

static void take_format(void *options, char *arg, tt_parse *p)
{
    struct options *o = options;
    size_t n;
    tt_nearest nearest = tt_nearest_begin(arg);
    char names[FORMATS_TEXT];
    const tt_export_format *const *list = tt_export_formats(&n);
    o->format = tt_export_find(arg);
    if (o->format) return;
    for (size_t i = 0; i < n; i++)
        tt_nearest_try(&nearest, list[i]->name);
    if (nearest.name)
        tt_parse_refuse(p, "no format \"%.40s\"; did you mean \"%s\"?", arg, nearest.name);
    tt_parse_refuse(p, "no format \"%.40s\"; there are: %s", arg, format_names(names));
}

static const tt_option_name compressions[] = {{"zstd", TT_COMPRESS_ZSTD},
                                              {"gzip", TT_COMPRESS_GZIP}};

static const char *format_at(size_t i)
{
    size_t n;
    const tt_export_format *const *list = tt_export_formats(&n);
    return i < n ? list[i]->name : NULL;
}

static const tt_option option_table[] = {
    {"format", 0, "NAME", "One of the formats below", 1, .kind = TT_OPTION_TAKE,
     .take = take_format, .names = format_at},
    {"output", 'o', "PATH", "The file or folder to write", 1, TT_TEXT(struct options, output)},
    {"force", 0, 0, "Replace PATH if it exists", 1, TT_FLAG(struct options, export.force)},
    {"threads", 0, "N", "Writing threads (default: one per processor)", 1,
     TT_WHOLE(struct options, export.threads, 1, 64)},
    TT_FILTER_BATCH(struct options, filter., "A[..B]", 2),
    TT_FILTER_PHASE(struct options, filter., 2),
    TT_FILTER_MODEL(struct options, filter., 2),
    {"layer", 'l', "N", "npy: only outputs of this layer (none: outside any)", 3,
     TT_FILTER_LAYER(struct options, filter.)},
    {"op", 0, "NAME", "npy: only outputs of this op", 3, TT_TEXT(struct options, filter.op)},
    {"tensor", 'T', "GLOB", "npy: only outputs of ops whose node or a source has such a name", 3,
     TT_TEXT(struct options, filter.tensor)},
    {"model-file", 0, "FILE", "dataset: the model file, if it has moved since it was traced", 3,
     TT_TEXT(struct options, export.model_path)},
    {"experts", 0, 0,
     "dataset: one entry for each expert's slice (default: when the model has experts)", 3,
     TT_SET(struct options, export.experts, true), TT_GIVEN(struct options, export.has_experts)},
    {"no-experts", 0, 0, "dataset: one entry for each expert tensor", 3,
     TT_SET(struct options, export.experts, false), TT_GIVEN(struct options, export.has_experts)},
    {"compress", 0, "zstd|gzip", "dataset, csv: compress each file; perfetto: gzip, its packets", 3,
     TT_NAME(struct options, export.compress, compressions)},
    {"unit", 0, "UNIT", "oraclegeneral: unit of an access: page (default), tensor, expert", 3,
     TT_NAME(struct options, export.unit, tt_trace_units)},
    TT_TRACE_PAGE_SIZE(struct options, export.page_bytes, "oraclegeneral: of a page (default: 4K)",
                       3),
    {TT_COPIES_OPTION, 0, 0,
     "dataset, bin64, bin256, bin1024: reads of weights that the engine copied into buffers count "
     "as reads of the "
     "file, at their place in it",
     3, TT_FLAG(struct options, export.copies_as_file)},
    {"lines", 0, 0, "bitnet: one record a line, all in PATH/values.jsonl", 3,
     TT_FLAG(struct options, export.lines)},
    {"old-words", 0, 0, "dataset: components in the words of earlier converters (query, embedding)",
     3, TT_FLAG(struct options, export.old_words)},
    {"ggml", 0, 0, "dot: as ggml's own ggml_graph_dump_dot writes graphs, a file for each batch", 3,
     TT_FLAG(struct options, export.as_ggml)},
    {"flows", 0, 0, "perfetto: arrows from op to op, where values went", 3,
     TT_FLAG(struct options, export.flows)},
    {"all", 0, 0,
     "bitnet: also values without a stage, under the engine's names; dataset: also traces of more "
     "than 50,000 tokens",
     3, TT_FLAG(struct options, export.all)},
    {0},
};

static void check_format(void *options, tt_parse *p)
{
    static const struct {
        const char *option;
        unsigned flag;
    } takes[] = {{"batch", TT_EXPORT_TAKES_FILTER},
                 {"phase", TT_EXPORT_TAKES_FILTER},
                 {"model", TT_EXPORT_TAKES_FILTER},
                 {"context", TT_EXPORT_TAKES_FILTER},
                 {"model-file", TT_EXPORT_TAKES_MODEL},
                 {"experts", TT_EXPORT_TAKES_EXPERTS},
                 {"no-experts", TT_EXPORT_TAKES_EXPERTS},
                 {"compress", TT_EXPORT_TAKES_COMPRESS},
                 {"flows", TT_EXPORT_TAKES_FLOWS},
                 {"all", TT_EXPORT_TAKES_ALL},
                 {"unit", TT_EXPORT_TAKES_UNIT},
                 {"page-size", TT_EXPORT_TAKES_UNIT},
                 {"lines", TT_EXPORT_TAKES_LINES},
                 {"old-words", TT_EXPORT_TAKES_WORDS},
                 {"ggml", TT_EXPORT_TAKES_GGML},
                 {"layer", TT_EXPORT_TAKES_OPS},
                 {"op", TT_EXPORT_TAKES_OPS},
                 {"tensor", TT_EXPORT_TAKES_OPS},
                 {TT_COPIES_OPTION, TT_EXPORT_TAKES_COPIES}};
    const struct options *o = options;
    char formats[FORMATS_TEXT];
    if (!o->format) tt_parse_error(p, "name a --format: %s", format_names(formats));
    if (!o->output) tt_parse_error(p, "name the file or folder to write with -o");
    if (strcmp(o->output, "-") == 0)
        tt_parse_error(p, "-o -: an export is a file or folder with a name, not standard output "
                          "(./- names one that is called so)");
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++)
        if (tt_parse_given(p, takes[i].option) && takes[i].flag & ~o->format->takes)
            tt_parse_error(p, "--%s: not for the format %s", takes[i].option, o->format->name);
    tt_trace_check_page(p, o->export.page_bytes);
    if (o->export.unit != TT_WHATIF_PAGE && tt_parse_given(p, "page-size"))
        tt_parse_error(p, "--page-size goes with --unit page only");
}

/* --help lists the formats after the options. */
static char *list_formats(const char *text)
{
    char *list = NULL;
    size_t size = 0, n;
    (void)text;
    FILE *out = open_memstream(&list, &size);
    if (!out) return NULL;
    fputs("Formats:\n", out);
    const tt_export_format *const *formats = tt_export_formats(&n);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "  %-13s %s\n", formats[i]->name, formats[i]->summary);
    fputs("\nExit codes: 0 done, 2 wrong usage, unusable input, or an output that exists or "
          "cannot be written.",
          out);
    return fclose(out) == 0 ? list : NULL;
}

static const tt_options command = {
    .words = "FILE",
    .about = "Writes a trace in a format that other tools read. The output appears complete or not "
             "at all.\v",
    .sets = {{option_table, .check = check_format}, TT_INPUT(struct options, input)},
    .more = list_formats};

static void note(void *context, const char *text)
{
    (void)context;
    tt_report_note("%s", text);
}

/* --- before --- */

/* An empty selection is a mistake, not an empty export. */
static int check_filter(const struct options *o, const tt_model *m)
{
    uint32_t first = UINT32_MAX, last = 0;
    const tt_filter *f = &o->filter;
    if (!f->has_batch && !f->phase && !f->model && !f->has_context) return TT_EXIT_OK;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        if (tt_filter_batch(f, m, i)) return TT_EXIT_OK;
        const uint32_t token = tt_model_batch_number(m, i);
        first = token < first ? token : first;
        last = token > last ? token : last;
    }
    if (m->n_batches == 0) return tt_report_usage("%s: the trace has no batches", o->input.path);
    return tt_report_usage("%s: none of the batches %" PRIu32 " to %" PRIu32
                           " is what --batch, --phase, --model and --context ask for",
                           o->input.path, first, last);
}

/* --- after --- */

typedef struct written {
    uint64_t n_files;
    uint64_t size_bytes;
} written;

/* nftw has no context argument. */
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
static int report(const struct options *o, const tt_export_sum *sum)
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
    return status == TT_OK ? report(o, &sum) : tt_report_error(&err);
}

int tt_cmd_export(int argc, char **argv)
{
    struct options o = {0};
    tt_model *m;
    tt_options_parse(&command, argc, argv, &o);
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK && !o.format->adds && tt_input_is_within(&o.input, o.output))
        code =
            tt_report_usage("%s is, or holds, the trace that is read; name another -o", o.output);
    if (code == TT_EXIT_OK) code = check_filter(&o, m);
    if (code == TT_EXIT_OK) code = export(&o, m);
    tt_model_close(m);
    return code;
}
