/* tensortrace gguf MODEL: the tensors of a model file and their offsets. */
#include "analyze/tensor_map.h"
#include "base/outfile.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "gguf/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct options {
    tt_input input;
    const char *output;
    tt_list_options list;
    tt_tensor_map_style style;
    bool force;
};

static const tt_option option_table[] = {
    {"experts", 0, 0, "One entry for each expert's slice (the default)", 2,
     TT_SET(struct options, style.experts, true)},
    {"no-experts", 0, 0, "One entry for all experts of a tensor together", 2,
     TT_SET(struct options, style.experts, false)},
    {"old-words", 0, 0,
     "Components in the words of earlier converters: query, embedding; with --csv the layer_id -1 "
     "where there is none",
     2, TT_FLAG(struct options, style.old_words), .needs = "csv json"},
    {"output", 'o', "FILE", "Write to FILE instead of standard output", 3,
     TT_TEXT(struct options, output)},
    {"force", 0, 0, "Overwrite FILE if it exists", 3, TT_FLAG(struct options, force)},
    {0},
};

static void count_line(FILE *out, const char *what, int64_t n)
{
    char text[TT_UNITS_TEXT];
    if (n >= 0) (void)fprintf(out, "%-14s%s\n", what, tt_units_count(text, (uint64_t)n));
}

/* Metadata texts come from the file: control bytes must not reach a terminal. */
static void text_line(FILE *out, const char *what, tt_span text)
{
    if (!text.data) return;
    char raw[256], safe[256];
    (void)snprintf(raw, sizeof raw, "%.*s", (int)(text.size < 255 ? text.size : 255),
                   (const char *)text.data);
    tt_cell_text_copy(safe, sizeof safe, raw);
    tt_table_printf(out, 14, "%-14s%s", what, safe);
}

static void print_summary(const tt_gguf *m, FILE *out)
{
    tt_gguf_shape s = tt_gguf_shape_of(m);
    char size[TT_UNITS_TEXT];
    text_line(out, "model", s.name);
    text_line(out, "architecture", s.architecture);
    count_line(out, "layers", s.n_layers);
    count_line(out, "width", s.n_embd);
    count_line(out, "heads", s.n_heads);
    count_line(out, "vocabulary", s.n_vocab);
    if (s.n_experts > 0) {
        count_line(out, "experts", s.n_experts);
        count_line(out, "experts used", s.n_experts_used);
    }
    count_line(out, "tensors", (int64_t)m->n_tensors);
    if (m->n_parts > 1) count_line(out, "files", (int64_t)m->n_parts);
    tt_table_printf(out, 14,
                    "%-14s%s (%" PRIu64 " bytes), GGUF v%" PRIu32 ", alignment %" PRIu32 "\n\n",
                    "size", tt_units_bytes(size, m->size_bytes), m->size_bytes, m->parts[0].version,
                    m->parts[0].alignment);
}

/* False with errno set when the output could not be written. */
static bool print_model(const tt_gguf *m, const struct options *o, const tt_listing *l, FILE *out)
{
    tt_json j;
    if (o->input.json) {
        tt_json_begin(&j, out, 2);
        tt_tensor_map_json(m, o->input.path, NULL, l, &j);
        return tt_json_end(&j);
    }
    if (!o->list.csv) print_summary(m, out);
    const bool ok = o->list.csv ? tt_list_write_csv(l, out) : tt_list_write(l, NULL, out);
    return ok && fflush(out) == 0 && !ferror(out);
}

static void note_oddities(const tt_gguf *m)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        char gap[TT_UNITS_TEXT];
        if (m->parts[i].gap_bytes)
            tt_report_note("%s: %s between tensors belong to none; ggml refuses such files",
                           m->parts[i].path, tt_units_bytes(gap, m->parts[i].gap_bytes));
    }
}

static int write_model(const tt_gguf *m, const struct options *o, const tt_listing *l)
{
    tt_error err;
    tt_outfile file;
    if (!o->output) return tt_report_output(print_model(m, o, l, stdout));
    if (tt_outfile_open(&file, o->output, o->force, &err) != TT_OK) return tt_report_error(&err);
    if (!print_model(m, o, l, file.stream)) {
        int code = tt_report_usage("cannot write %s: %s", o->output, strerror(errno));
        tt_outfile_abandon(&file);
        return code;
    }
    return tt_outfile_commit(&file, &err) == TT_OK ? TT_EXIT_OK : tt_report_error(&err);
}

static int list_model(const tt_gguf *m, const struct options *o)
{
    const char *usual = o->input.json ? tt_tensor_map_columns
                        : o->list.csv ? NULL
                                      : "name,layer_id,component_type,dtype,shape,offset_start,"
                                        "size_bytes";
    tt_listing_wish wish = tt_list_wish(&o->list, o->input.json, NULL);
    if (!wish.columns) wish.columns = usual;
    tt_memory_entry *entries;
    size_t n;
    tt_error err;
    tt_listing l = {0};
    tt_tensor_map_style style = o->style;
    style.old_numbers = style.old_words && o->list.csv;
    tt_status status = tt_tensor_map_make(m, style, &entries, &n, &err);
    const tt_rowset set = TT_ROWSET(&tt_tensor_map_schema, 0, m, entries, n);
    int code = status == TT_OK ? tt_list_make(&l, &set, &wish) : tt_report_error(&err);
    l.chosen = o->list.columns != NULL;
    if (code == TT_EXIT_OK) code = write_model(m, o, &l);
    tt_listing_free(&l);
    free(entries);
    return code;
}

int tt_cmd_gguf(int argc, char **argv)
{
    static const tt_options command = {
        .words = "MODEL",
        .about = "Shows the tensors of a GGUF model file: type, shape, absolute byte offset, size, "
                 "and the layer and component each belongs to. Of a split model give the first "
                 "file; its siblings are read too.\v"
                 "Exit codes: 0 done, 2 usage or a file that is not valid GGUF.",
        .sets = {{.options = option_table},
                 TT_INPUT(struct options, input),
                 TT_LIST(struct options, list)}};
    struct options o = {.input = {.what = "MODEL", .hint = "of a split model, the first file"},
                        .list.schema = &tt_tensor_map_schema,
                        .style = {.experts = true}};
    tt_gguf model;
    tt_error err;
    tt_options_parse(&command, argc, argv, &o);
    if (tt_gguf_open(&model, o.input.path, &err) != TT_OK) {
        if (err.status == TT_E_FORMAT && tt_input_is_trace(o.input.path))
            return tt_report_usage("%s: this is a trace: try \"%s info %s\"", o.input.path,
                                   tt_report_program(), o.input.path);
        return tt_report_error(&err);
    }
    note_oddities(&model);
    int code = list_model(&model, &o);
    tt_gguf_close(&model);
    return code;
}
