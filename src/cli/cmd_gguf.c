/* tensortrace gguf MODEL: the tensors of a model file and their offsets. */
#include "base/json.h"
#include "base/outfile.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/table.h"
#include "gguf/memory_map.h"
#include "gguf/reader.h"
#include "table/table.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct options {
    tt_input input;
    const char *output;
    bool csv;
    tt_memory_map_style style;
    bool force;
};

static const tt_option option_table[] = {
    {"experts", 0, 0, "One entry for each expert's slice (the default)", 2,
     TT_SET(struct options, style.experts, true)},
    {"no-experts", 0, 0, "One entry for all experts of a tensor together", 2,
     TT_SET(struct options, style.experts, false)},
    {"old-words", 0, 0, "Components in the words of earlier converters: query, embedding", 2,
     TT_FLAG(struct options, style.old_words), .needs = "csv json"},
    {"output", 'o', "FILE", "Write to FILE instead of standard output", 3,
     TT_TEXT(struct options, output)},
    {"force", 0, 0, "Overwrite FILE if it exists", 3, TT_FLAG(struct options, force)},
    {"csv", 0, 0, "Print one CSV row a tensor", 9, TT_FLAG(struct options, csv),
     .excludes = "json"},
    {0},
};

static void shape_text(char *out, size_t room, const tt_memory_entry *e)
{
    size_t used = 0;
    for (uint32_t i = 0; i < e->n_dims && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%" PRIu64, i ? " x " : "", e->ne[i]);
}

static void table_row(tt_table *t, const tt_memory_entry *e)
{
    char layer[16] = "", shape[96] = "", offset[24], size[TT_UNITS_TEXT];
    if (e->component.layer_id >= 0)
        (void)snprintf(layer, sizeof layer, "%" PRId32, e->component.layer_id);
    shape_text(shape, sizeof shape, e);
    (void)snprintf(offset, sizeof offset, "%" PRIu64, e->offset_start);
    const char *cells[] = {
        e->name, layer,  e->component.component_type,        e->tensor->type->name,
        shape,   offset, tt_units_bytes(size, e->size_bytes)};
    tt_table_row(t, cells);
}

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

static bool print_table(const tt_gguf *m, bool experts, FILE *out)
{
    int64_t n_experts = tt_gguf_shape_of(m).n_experts;
    print_summary(m, out);
    tt_table *t = tt_table_new(out);
    if (!t) return false;
    tt_table_column(t, "NAME", TT_COLUMN_SHRINK | TT_COLUMN_KEY);
    tt_table_column(t, "LAYER", TT_COLUMN_RIGHT | TT_COLUMN_WIDEST);
    tt_table_column(t, "COMPONENT", TT_COLUMN_SHRINK | TT_COLUMN_WIDEST);
    tt_table_column(t, "TYPE", TT_COLUMN_LEFT);
    tt_table_column(t, "SHAPE", TT_COLUMN_RIGHT);
    tt_table_column(t, "OFFSET", TT_COLUMN_RIGHT | TT_COLUMN_WIDE);
    tt_table_column(t, "SIZE", TT_COLUMN_RIGHT);
    for (size_t i = 0; i < m->n_tensors; i++) {
        uint32_t slices = experts ? tt_memory_map_slices(&m->tensors[i], n_experts) : 1;
        for (uint32_t k = 0; k < slices; k++) {
            tt_memory_entry e;
            tt_memory_map_entry(&e, &m->tensors[i], k, slices);
            table_row(t, &e);
        }
    }
    return tt_table_print(t);
}

/* False with errno set when the output could not be written. */
static bool print_model(const tt_gguf *m, const struct options *o, FILE *out)
{
    tt_json j;
    if (o->input.json) {
        tt_json_begin(&j, out, 2);
        tt_memory_map_json(m, o->input.path, NULL, o->style, &j);
        return tt_json_end(&j);
    }
    if (o->csv)
        tt_memory_map_csv(m, o->style, out);
    else if (!print_table(m, o->style.experts, out))
        return false;
    return fflush(out) == 0 && !ferror(out);
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

static int write_model(const tt_gguf *m, const struct options *o)
{
    tt_error err;
    tt_outfile file;
    if (!o->output) return tt_report_output(print_model(m, o, stdout));
    if (tt_outfile_open(&file, o->output, o->force, &err) != TT_OK) return tt_report_error(&err);
    if (!print_model(m, o, file.stream)) {
        int code = tt_report_usage("cannot write %s: %s", o->output, strerror(errno));
        tt_outfile_abandon(&file);
        return code;
    }
    return tt_outfile_commit(&file, &err) == TT_OK ? TT_EXIT_OK : tt_report_error(&err);
}

int tt_cmd_gguf(int argc, char **argv)
{
    static const tt_options command = {
        .words = "MODEL",
        .about = "Shows the tensors of a GGUF model file: type, shape, absolute byte offset, size, "
                 "and the layer and component each belongs to. Of a split model give the first "
                 "file; its siblings are read too.\v"
                 "Exit codes: 0 done, 2 usage or a file that is not valid GGUF.",
        .sets = {{.options = option_table}, TT_INPUT(struct options, input)}};
    struct options o = {.input = {.what = "MODEL", .hint = "of a split model, the first file"},
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
    int code = write_model(&model, &o);
    tt_gguf_close(&model);
    return code;
}
