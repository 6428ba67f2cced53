#include "export/bitnet.h"

#include "analyze/dumps/dump.h"
#include "base/outfile.h"
#include "bitnet/write.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA_ELEMENTS 65536u /* read at once */

typedef struct writing {
    const tt_model *m;
    const tt_export_options *options;
    tt_dump *dump;
    tt_stages *stages;
    tt_bitnet_writer *out;
    float *data; /* DATA_ELEMENTS; NULL: not needed yet */
    uint64_t n_unmapped, n_incomplete;
    uint64_t n_counted; /* batches without a position */
    uint64_t n_back;    /* that do not begin after all earlier ones */
    int64_t last;       /* position so far; -1 */
} writing;

static void note(const writing *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void note(const writing *w, const char *format, ...)
{
    char text[400];
    va_list arguments;
    if (!w->options->note) return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    w->options->note(w->options->note_context, text);
}

/* --- a record --- */

/* Owns its memory. */
struct record {
    tt_bitnet_record head;
    char name[TT_STAGE_TEXT + 48];
    char dtype[32];
    uint64_t shape[8];
};

/* BitNet.rs has another name for it. */
static const char *stage_of(const tt_dump_value *v)
{
    return strcmp(v->stage, "final_norm") == 0 ? "all_layers_out" : v->stage;
}

/* A value's name in BitNet.rs: "t0/blk3/q_proj", "t0/logits". */
static void put_name(struct record *r, const tt_dump_value *v, uint64_t seq)
{
    if (v->layer >= 0)
        (void)snprintf(r->name, sizeof r->name, "t%" PRIu64 "/blk%" PRId32 "/%s", seq, v->layer,
                       stage_of(v));
    else
        (void)snprintf(r->name, sizeof r->name, "t%" PRIu64 "/%s", seq, stage_of(v));
    r->head.name = r->name;
    r->head.has_seq = true;
    r->head.seq = seq;
    r->head.has_layer = v->layer != TT_STAGE_LAYER_UNKNOWN;
    r->head.layer = v->layer;
    r->head.stage = stage_of(v);
}

/* The outermost dimension first, without dimensions of 1, except for a single row: [1, 2560]. */
static void put_shape(struct record *r, const tt_dump_value *v)
{
    uint32_t n = v->n_dims;
    while (n > 2 && v->ne[n - 1] == 1)
        n--;
    for (uint32_t i = 0; i < n; i++)
        r->shape[i] = v->ne[n - 1 - i];
    r->head.n_dims = n;
    if (n == 0) {
        r->head.n_dims = 1;
        r->shape[0] = v->print.n;
    }
    r->head.shape = r->shape;
    r->head.n_elements = v->print.n;
}

static void put_dtype(struct record *r, const char *type)
{
    size_t n = 0;
    if (!*type) type = "unknown";
    for (; type[n] && n + 1 < sizeof r->dtype; n++)
        r->dtype[n] = (char)toupper((unsigned char)type[n]);
    r->dtype[n] = '\0';
    r->head.dtype = r->dtype;
}

/* One after another, as BitNet.rs adds them; a fingerprint has sixteen sums. */
static tt_status add_squares(writing *w, const tt_dump_value *v, double *rms, tt_error *err)
{
    double sum = 0;
    if (!w->data) w->data = malloc(DATA_ELEMENTS * sizeof *w->data);
    if (!w->data) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    for (uint64_t first = 0; first < v->print.n; first += DATA_ELEMENTS) {
        uint64_t left = v->print.n - first;
        size_t n = left < DATA_ELEMENTS ? (size_t)left : DATA_ELEMENTS;
        tt_status status = tt_dump_data(w->dump, v, first, n, w->data, err);
        if (status != TT_OK) return status;
        for (size_t i = 0; i < n; i++)
            sum += (double)w->data[i] * (double)w->data[i];
    }
    *rms = sqrt(sum / (double)v->print.n);
    return TT_OK;
}

static tt_status put_rms(writing *w, struct record *r, const tt_dump_value *v, tt_error *err)
{
    /* A fingerprint's RMS is of the finite elements; here a non-finite one makes it null. */
    if (v->print.n == 0 || v->print.n_nan + v->print.n_inf > 0) return TT_OK;
    r->head.has_rms = true;
    r->head.rms = v->print.rms;
    return v->known & TT_KNOWN_DATA ? add_squares(w, v, &r->head.rms, err) : TT_OK;
}

/* A value without the hash by which these files are compared; its run may have no batch. */
static tt_status no_blake3(const writing *w, const tt_dump_value *v, tt_error *err)
{
    char where[32] = "outside any batch";
    uint32_t batch = v->run < w->m->n_runs ? w->m->runs[v->run].batch : TT_NONE;
    if (batch < w->m->n_batches)
        (void)snprintf(where, sizeof where, "of batch %" PRIu32,
                       tt_model_batch_number(w->m, batch));
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                        "%.60s %s has no BLAKE3, which these files are compared by; record with "
                        "run --values=hash (or full)",
                        v->name, where);
}

static tt_status write_value(writing *w, const tt_dump_value *v, uint64_t seq, tt_error *err)
{
    struct record r = {0};
    if (!(v->known & TT_KNOWN_BLAKE3)) return no_blake3(w, v, err);
    put_name(&r, v, seq);
    put_shape(&r, v);
    put_dtype(&r, v->type);
    r.head.has_blake3 = true;
    memcpy(r.head.blake3, v->print.blake3, sizeof r.head.blake3);
    r.head.has_first_values = true;
    r.head.first_values = v->print.prefix;
    r.head.n_first_values = v->print.n_prefix;
    tt_status status = put_rms(w, &r, v, err);
    if (status == TT_OK) status = tt_bitnet_writer_put(w->out, &r.head, NULL, err);
    return status;
}

/* --- everything --- */

/* From the map, or reported by the program itself. */
static bool has_stage(const writing *w, const tt_dump_value *v)
{
    if (tt_stages_rank(w->stages, v->stage) != UINT32_MAX) return true;
    uint32_t graph = v->run != TT_NONE ? w->m->runs[v->run].graph : TT_NONE;
    return graph != TT_NONE && v->node < w->m->graphs[graph].n_tensors &&
           w->m->graphs[graph].tensors[v->node].stage;
}

static tt_status write_step(writing *w, size_t step, tt_dump_step *values, tt_error *err)
{
    const tt_dump_head *head = &w->dump->steps[step];
    if (!tt_filter_batch(w->options->filter, w->m, head->batch)) return TT_OK;
    tt_status status = tt_dump_load(w->dump, step, values, err);
    bool known = head->position != TT_DUMP_POSITION_UNKNOWN && head->position >= 0;
    uint64_t seq = known ? (uint64_t)head->position : step;
    w->n_counted += !known;
    w->n_back += (int64_t)seq <= w->last;
    if ((int64_t)seq > w->last) w->last = (int64_t)seq;
    w->n_incomplete += status == TT_OK ? values->incomplete : 0;
    for (size_t i = 0; status == TT_OK && i < values->n; i++) {
        const tt_dump_value *v = &values->values[i];
        bool is_place = has_stage(w, v);
        w->n_unmapped += !is_place;
        if (is_place || w->options->all) status = write_value(w, v, seq, err);
    }
    return status;
}

static tt_status write_steps(writing *w, tt_error *err)
{
    tt_dump_step values = {0};
    tt_status status = TT_OK;
    for (size_t i = 0; i < w->dump->n_steps && status == TT_OK; i++) {
        status = write_step(w, i, &values, err);
        if (w->options->progress)
            w->options->progress(w->options->progress_context, i + 1, w->dump->n_steps);
    }
    tt_dump_step_free(&values);
    return status;
}

static void note_counts(const writing *w, uint64_t n_numbered, const char *file)
{
    if (n_numbered)
        note(w,
             "%" PRIu64 " file%s numbered, as values of the same name, or of names that look the "
             "same as files, came before: the first is %s",
             n_numbered, n_numbered == 1 ? " is" : "s are", file);
    if (w->n_unmapped && !w->options->all)
        note(w,
             "%" PRIu64 " value%s no stage, and %s left out (views, copies, what only this engine "
             "has): --all writes them under the engine's names",
             w->n_unmapped, w->n_unmapped == 1 ? " has" : "s have",
             w->n_unmapped == 1 ? "is" : "are");
    if (w->n_counted)
        note(w,
             "the positions of %" PRIu64 " batch%s were not recorded: \"seq\" counts batches there",
             w->n_counted, w->n_counted == 1 ? "" : "es");
    if (w->n_back)
        note(w,
             "%" PRIu64 " batch%s at a position that was passed before (another sequence, or a "
             "text begun anew): only their numbers distinguish such files; --batch exports "
             "some batches alone",
             w->n_back, w->n_back == 1 ? " begins" : "es begin");
    if (w->n_incomplete)
        note(w, "%" PRIu64 " fingerprint%s incomplete in the trace, and left out", w->n_incomplete,
             w->n_incomplete == 1 ? " is" : "s are");
}

static tt_status finish(writing *w, tt_error *err)
{
    char file[TT_BITNET_FILE_NAME];
    uint64_t n_files, n_numbered;
    tt_bitnet_writer_count(w->out, &n_files, &n_numbered, file);
    if (w->options->sum) *w->options->sum = (tt_export_sum){n_files, "values", 0, 0};
    if (n_files > 0) {
        note_counts(w, n_numbered, file);
        return TT_OK;
    }
    if (w->dump->n_steps == 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                            "the trace holds no values: record with run --values=hash");
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                        "none of the values asked for has a stage (%" PRIu64
                        " have none): --all writes them under the engine's names",
                        w->n_unmapped);
}

static tt_status write_below(writing *w, const char *folder, tt_error *err)
{
    w->stages = tt_stages_builtin();
    if (!w->stages) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    tt_status status = tt_dump_of_trace(w->m, "the trace", w->stages, &w->dump, err);
    if (status == TT_OK)
        status = tt_bitnet_writer_open(
            folder, w->options->lines ? TT_BITNET_ONE_LINE : TT_BITNET_PRETTY, &w->out, err);
    if (status == TT_OK) status = write_steps(w, err);
    if (status == TT_OK) status = finish(w, err);
    tt_bitnet_writer_close(w->out);
    if (w->dump) tt_dump_close(w->dump);
    tt_stages_free(w->stages);
    free(w->data);
    return status;
}

static tt_status write_bitnet(const tt_model *m, const char *path, const tt_export_options *options,
                              tt_error *err)
{
    static const tt_filter everything;
    tt_export_options own = *options;
    writing w = {.m = m, .options = &own, .last = -1};
    tt_outdir dir;
    if (!own.filter) own.filter = &everything;
    tt_status status = tt_outdir_open(&dir, path, own.force, err);
    if (status != TT_OK) return status;
    dir.ending = own.lines ? ".jsonl" : ".trace";
    status = write_below(&w, dir.temporary, err);
    if (status == TT_OK) return tt_outdir_commit(&dir, err);
    tt_outdir_abandon(&dir);
    return status;
}

const tt_export_format tt_format_bitnet = {
    "bitnet",
    "a folder of JSON, one file a value, as BitNet.rs writes them",
    TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_ALL | TT_EXPORT_TAKES_LINES,
    false,
    write_bitnet,
};
