#include "export/npy/npy.h"

#include "analyze/values/outputs.h"
#include "analyze/values/values.h"
#include "base/array.h"
#include "base/checksum.h"
#include "base/hex.h"
#include "base/json.h"
#include "base/outfile.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_TEXT 120 /* longer names are cut */

static void make_safe(const char *node, char out[NODE_TEXT])
{
    size_t n = 0;
    for (; node[n] && n + 1 < NODE_TEXT; n++) {
        const char c = node[n];
        const bool fine =
            isascii((unsigned char)c) && (isalnum((unsigned char)c) || strchr("+-_.", c));
        out[n] = fine && !(n == 0 && c == '.') ? c : '_';
    }
    if (n == 0) out[n++] = '_';
    out[n] = '\0';
}

/* How often the name was requested, including this time; 0 if out of memory. Ignores case, as some
 * file systems do. */
static uint32_t count(tt_npy_names *n, const char *name)
{
    char lower[TT_NPY_NAME_TEXT];
    uint32_t was;
    size_t i = 0;
    for (; name[i] && i + 1 < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    const uint64_t key = tt_checksum(lower, i);
    uint32_t at = tt_idmap_get(&n->numbers, key);
    if (at != TT_NONE) return ++n->used[at];
    if (!tt_array_one_more(n->used, n->n, n->capacity)) return 0;
    if (!tt_idmap_add(&n->numbers, key, n->n, &was)) return 0;
    return n->used[n->n++] = 1;
}

bool tt_npy_name(tt_npy_names *n, int64_t token, const char *node, char out[TT_NPY_NAME_TEXT])
{
    char safe[NODE_TEXT], folder[40] = "outside";
    make_safe(node, safe);
    if (token >= 0) (void)snprintf(folder, sizeof folder, "token-%05" PRId64, token);
    (void)snprintf(out, TT_NPY_NAME_TEXT, "%s/%s", folder, safe);
    const uint32_t times = count(n, out);
    if (times == 1) (void)snprintf(out, TT_NPY_NAME_TEXT, "%s/%s.npy", folder, safe);
    if (times > 1)
        (void)snprintf(out, TT_NPY_NAME_TEXT, "%s/%s~%" PRIu32 ".npy", folder, safe, times);
    return times > 0;
}

void tt_npy_names_free(tt_npy_names *n)
{
    tt_idmap_free(&n->numbers);
    free(n->used);
    memset(n, 0, sizeof *n);
}

#define PIECE 4096u /* elements converted to float32 at once: whole blocks of any type */

typedef struct writing {
    const tt_model *m;
    const tt_export_options *options;
    tt_outdir folder;
    tt_npy_names names;
    tt_json json; /* index.json */
    uint64_t files, bytes;
    uint64_t not_kept, in_part, not_stored; /* outputs: no data; incomplete data; a type that cannot
                                               be stored */
} writing;

const char *tt_npy_dtype(tt_value_type type, bool *converted)
{
    static const char *const native[TT_VALUE_TYPES] = {
        [TT_VALUE_F32] = "<f4", [TT_VALUE_F16] = "<f2", [TT_VALUE_F64] = "<f8",
        [TT_VALUE_I8] = "|i1",  [TT_VALUE_I16] = "<i2", [TT_VALUE_I32] = "<i4",
        [TT_VALUE_I64] = "<i8"};
    *converted = false;
    if (type <= TT_VALUE_UNKNOWN || type >= TT_VALUE_TYPES) return NULL;
    if (native[type]) return native[type];
    *converted = true;
    return native[TT_VALUE_F32];
}

static unsigned dimensions(const uint64_t ne[TT_VALUE_DIMS])
{
    unsigned n = TT_VALUE_DIMS;
    while (n > 1 && ne[n - 1] == 1)
        n--;
    return n;
}

size_t tt_npy_header(const char *dtype, const uint64_t ne[TT_VALUE_DIMS],
                     char out[TT_NPY_HEADER_MAX])
{
    static const char magic[] = "\x93NUMPY\x01"; /* with its NUL: version 1.0 */
    size_t n = 10;
    memset(out, ' ', TT_NPY_HEADER_MAX);
    memcpy(out, magic, 8);
    n += (size_t)snprintf(out + n, TT_NPY_HEADER_MAX - n,
                          "{'descr': '%.8s', 'fortran_order': False, 'shape': (", dtype);
    const unsigned dims = dimensions(ne);
    /* Like Python's tuples: (256,) and (5, 256). */
    for (unsigned d = dims; d-- > 0;)
        n += (size_t)snprintf(out + n, TT_NPY_HEADER_MAX - n, "%" PRIu64 "%s", ne[d],
                              d > 0       ? ", "
                              : dims == 1 ? ","
                                          : "");
    n += (size_t)snprintf(out + n, TT_NPY_HEADER_MAX - n, "), }");
    out[n] = ' ';
    n = (n + 1 + 63) / 64 * 64;
    out[n - 1] = '\n';
    out[8] = (char)((n - 10) & 0xff);
    out[9] = (char)((n - 10) >> 8);
    return n;
}

/* --- a file --- */

/* Closing the stream reports its errors. */
static void put_converted(FILE *out, tt_value_type type, tt_span bytes)
{
    float piece[PIECE];
    const size_t block = tt_value_block_elements(type), size = tt_value_block_bytes(type);
    const size_t n = bytes.size / size * block;
    for (size_t i = 0; i < n; i += PIECE) {
        const size_t some = n - i < PIECE ? n - i : PIECE;
        tt_value_to_f32(type, bytes.data + i / block * size, some, piece);
        (void)fwrite(piece, sizeof *piece, some, out);
    }
}

static tt_status put_elements(const writing *w, const tt_values_seen *seen,
                              const tt_output_data *data, bool converted, FILE *out, tt_error *err)
{
    for (uint32_t part = 0; part < data->n_parts; part++) {
        uint64_t first;
        tt_span bytes;
        tt_status status =
            tt_output_data_read(w->m, seen->run, seen->node, part, &first, &bytes, err);
        if (status != TT_OK) return status;
        if (converted)
            put_converted(out, data->shape.type, bytes);
        else
            (void)fwrite(bytes.data, 1, bytes.size, out);
    }
    return TT_OK;
}

static tt_status write_file(writing *w, const tt_values_seen *seen, const tt_output_data *data,
                            const char *name, const char *dtype, bool converted, tt_error *err)
{
    char header[TT_NPY_HEADER_MAX];
    tt_error ignored;
    FILE *out = tt_outdir_file(&w->folder, name, err);
    if (!out) return err->status;
    const size_t n = tt_npy_header(dtype, data->shape.ne, header);
    (void)fwrite(header, 1, n, out);
    tt_status status = put_elements(w, seen, data, converted, out, err);
    const long size = ftell(out);
    tt_status closed = tt_outdir_close(out, name, status == TT_OK ? err : &ignored);
    w->files++;
    if (size > 0) w->bytes += (uint64_t)size;
    return status == TT_OK ? closed : status;
}

/* --- the index --- */

static void put_numbers(tt_json *j, const char *key, const uint64_t *v, unsigned n, bool reversed)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (unsigned i = 0; i < n; i++)
        tt_json_u64(j, v[reversed ? n - 1 - i : i]);
    tt_json_array_end(j);
}

static void put_print(tt_json *j, const tt_fingerprint *p)
{
    const bool range = p && p->has_range, bad = p && p->first_bad != TT_VALUE_NONE;
    tt_json_kv_u64_or_null(j, "n_nan", p != NULL, p ? p->n_nan : 0);
    tt_json_kv_u64_or_null(j, "n_inf", p != NULL, p ? p->n_inf : 0);
    tt_json_kv_u64_or_null(j, "first_bad", bad, bad ? p->first_bad : 0);
    tt_json_kv_double_or_null(j, "min", range, range ? (double)p->min : 0);
    tt_json_kv_double_or_null(j, "max", range, range ? (double)p->max : 0);
    tt_json_kv_double_or_null(j, "mean", range, range ? p->mean : 0);
    tt_json_kv_double_or_null(j, "rms", range, range ? p->rms : 0);
    tt_json_kv_hex_or_null(j, "hash", p != NULL, p ? p->hash : NULL, sizeof p->hash);
    tt_json_kv_hex_or_null(j, "blake3", p && p->has_blake3, p ? p->blake3 : NULL, sizeof p->blake3);
}

static void put_entry(writing *w, const tt_values_seen *seen, const tt_output_data *data,
                      const char *name, const char *dtype, bool converted)
{
    const tt_run *r = &w->m->runs[seen->run];
    const tt_tensor *t = &w->m->graphs[seen->graph].tensors[seen->node];
    const bool in_batch = r->batch != TT_NONE;
    tt_json *j = &w->json;
    tt_json_object(j);
    tt_json_kv_string(j, "file", name);
    tt_json_kv_u64_or_null(j, "batch_id", in_batch,
                           in_batch ? tt_model_batch_number(w->m, r->batch) : 0);
    tt_json_kv_string(j, "phase", tt_phase_name(in_batch ? w->m->batches[r->batch].phase : 0));
    tt_json_kv_u64(j, "graph_run", r->id);
    tt_json_kv_u64(j, "node", seen->node);
    tt_json_kv_u64(j, "op_node", seen->first);
    tt_json_kv_string(j, "name", t->name);
    tt_json_kv_string(j, "op", t->op_desc);
    tt_json_kv_i64_or_null(j, "layer_id", t->place.layer_id >= 0,
                           tt_layer_number(t->place.layer_id));
    tt_json_kv_string(j, "stack", tt_layer_stack_name(t->place.layer_id));
    tt_json_kv_string(j, "type", t->type_name);
    put_numbers(j, "ne", data->shape.ne, TT_VALUE_DIMS, false);
    tt_json_kv_string(j, "dtype", dtype);
    put_numbers(j, "shape", data->shape.ne, dimensions(data->shape.ne), true);
    tt_json_kv_bool(j, "converted", converted);
    tt_json_kv_u64(j, "elements", data->shape.n);
    put_print(j, seen->print);
    tt_json_object_end(j);
}

static void begin_index(writing *w, FILE *out)
{
    char id[33];
    tt_hex(id, w->m->trace.header.run_id, 16);
    tt_json_begin(&w->json, out, 1);
    tt_json_object(&w->json);
    tt_json_kv_string(&w->json, "format", "tensortrace-npy");
    tt_json_kv_u64(&w->json, "version", 1);
    tt_json_kv_string(&w->json, "run_id", id);
    tt_json_key(&w->json, "outputs");
    tt_json_array(&w->json);
}

static void end_index(writing *w)
{
    tt_json_array_end(&w->json);
    tt_json_kv_u64(&w->json, "not_kept", w->not_kept);
    tt_json_kv_u64(&w->json, "kept_in_part", w->in_part);
    tt_json_kv_u64(&w->json, "of_unknown_type", w->not_stored);
    tt_json_object_end(&w->json);
    (void)tt_json_end(&w->json); /* closing the stream reports errors */
}

/* --- everything --- */

static tt_status take(void *context, tt_values_walk *walk, const tt_values_seen *seen,
                      tt_error *err)
{
    writing *w = context;
    const uint32_t batch = w->m->runs[seen->run].batch;
    const tt_export_options *o = w->options;
    char name[TT_NPY_NAME_TEXT];
    tt_output_data data;
    bool converted;
    (void)walk;
    if (o->progress) o->progress(o->progress_context, seen->run, w->m->n_runs);
    tt_output_data_find(w->m, seen->run, seen->node, &data);
    const char *dtype = tt_npy_dtype(data.shape.type, &converted);
    w->not_kept += data.n_kept == 0;
    w->in_part += data.n_kept > 0 && data.n_kept < data.n_parts;
    w->not_stored += data.n_kept > 0 && data.n_kept == data.n_parts && !dtype;
    if (data.n_kept == 0 || data.n_kept < data.n_parts || !dtype) return TT_OK;
    if (!tt_npy_name(&w->names, batch == TT_NONE ? -1 : (int64_t)tt_model_batch_number(w->m, batch),
                     w->m->graphs[seen->graph].tensors[seen->node].name, name))
        return tt_error_memory(err, "names of files");
    tt_status status = write_file(w, seen, &data, name, dtype, converted, err);
    if (status == TT_OK) put_entry(w, seen, &data, name, dtype, converted);
    return status;
}

static tt_status write_all(writing *w, tt_error *err)
{
    static const tt_filter everything;
    const tt_values_query q = {.filter = w->options->filter ? *w->options->filter : everything};
    tt_values_counts counts;
    tt_error ignored;
    FILE *index = tt_outdir_file(&w->folder, "index.json", err);
    if (!index) return err->status;
    begin_index(w, index);
    tt_status status = tt_values_walk_all(w->m, &q, false, NULL, take, w, &counts, err);
    end_index(w);
    tt_status closed = tt_outdir_close(index, "index.json", status == TT_OK ? err : &ignored);
    if (status == TT_OK) status = closed;
    if (status == TT_OK && w->files == 0)
        status = tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                              counts.outputs
                                  ? "the trace keeps data of none of these outputs; trace with "
                                    "--values=full"
                                  : "no output that was recorded passes these filters");
    return status;
}

static void report(const writing *w)
{
    char text[160];
    const tt_export_options *o = w->options;
    if (o->sum) *o->sum = (tt_export_sum){.n_items = w->files, .items = "outputs"};
    if (!o->note) return;
    if (w->not_kept) {
        (void)snprintf(text, sizeof text, "of %" PRIu64 " outputs no data was kept", w->not_kept);
        o->note(o->note_context, text);
    }
    if (w->in_part) {
        (void)snprintf(text, sizeof text,
                       "left out are %" PRIu64 " outputs of which not all data is in the trace",
                       w->in_part);
        o->note(o->note_context, text);
    }
    if (w->not_stored) {
        (void)snprintf(text, sizeof text, "left out are %" PRIu64 " outputs of unknown types",
                       w->not_stored);
        o->note(o->note_context, text);
    }
}

static tt_status write_npy(const tt_model *m, const char *path, const tt_export_options *options,
                           tt_error *err)
{
    writing w = {.m = m, .options = options};
    if (!tt_output_data_any(m))
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "the trace keeps no data of outputs; trace with --values=full");
    tt_status status = tt_outdir_open(&w.folder, path, options->force, err);
    w.folder.ending = ".npy";
    if (status == TT_OK) status = write_all(&w, err);
    if (status == TT_OK) status = tt_outdir_commit(&w.folder, err);
    tt_outdir_abandon(&w.folder);
    tt_npy_names_free(&w.names);
    if (status == TT_OK) report(&w);
    return status;
}

const tt_export_format tt_format_npy = {
    .name = "npy",
    .summary = "a folder of NumPy files: the data of outputs (--values=full)",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_OPS,
    .write = write_npy,
};
