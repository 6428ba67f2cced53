#include "export/dataset.h"
#include "analyze/tensor_map.h"
#include "analyze/topology.h"
#include "base/hex.h"
#include "base/units.h"
#include "export/dataset/parts.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

/* Estimates the size of a dataset: each token repeats the text of its graphs, so that a small trace
 * may fill a disk. */

/* Their minimum size without names, as measured: rather too small, so that a dataset that might fit
 * is not rejected. */
#define NODE_BYTES 125.0
#define EDGE_BYTES 55.0
#define ENTRY_BYTES 400.0
#define LANE_BYTES 80.0

#define NOTED_BYTES ((double)((uint64_t)1 << 30))

static double graph_bytes(const tt_graph *g)
{
    tt_edge edges[TT_EDGES_MAX];
    double sum = 0;
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tt_tensor *t = &g->tensors[i];
        size_t texts = strlen(t->name) + strlen(t->op_name) + strlen(t->place.category);
        sum += NODE_BYTES + (double)texts + EDGE_BYTES * tt_topology_edges(g, i, edges);
    }
    return sum;
}

/* The number of a run's records is unknown beforehand, only that of all runs. */
static double traces_bytes(const tt_model *m, uint64_t runs_written)
{
    uint32_t threads = 1;
    for (uint32_t i = 0; i < m->n_runs; i++)
        if (m->runs[i].threads > threads) threads = m->runs[i].threads;
    double records = (double)tt_pieces_records(m->pieces);
    if (m->n_runs) records *= (double)runs_written / m->n_runs;
    return records * (LANE_BYTES + ENTRY_BYTES / threads);
}

bool tt_dataset_estimate(const tt_dataset *d, double *bytes)
{
    const tt_model *m = d->m;
    double *graphs = malloc(((size_t)m->n_graphs + 1) * sizeof *graphs);
    *bytes = 0;
    if (!graphs) return false;
    for (uint32_t i = 0; i < m->n_graphs; i++)
        graphs[i] = graph_bytes(&m->graphs[i]);
    for (uint32_t i = 0; i < d->n_tokens; i++)
        for (uint32_t r = d->first_run[d->tokens[i]]; r != TT_NONE; r = d->next_run[r])
            if (m->runs[r].graph != TT_NONE) *bytes += graphs[m->runs[r].graph];
    free(graphs);
    *bytes += traces_bytes(m, d->n_runs);
    return true;
}

static const char *bytes_text(char text[TT_UNITS_TEXT], double bytes)
{
    return tt_units_bytes(text, bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX);
}

/* TT_E_IO if the disk has less free space; notes a large one. */
static tt_status dataset_check_room(const tt_dataset *d, tt_error *err)
{
    char size[TT_UNITS_TEXT], left[TT_UNITS_TEXT];
    struct statvfs fs;
    double bytes;
    if (!tt_dataset_estimate(d, &bytes))
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the dataset");
    bool packed = d->options->compress != TT_COMPRESS_NONE;
    /* The compression ratio is unknown; on some file systems, so is the free space. */
    if (!packed && statvfs(d->folder.temporary, &fs) == 0 && fs.f_blocks > 0) {
        double there = (double)fs.f_bavail * (double)fs.f_frsize;
        if (bytes > there)
            return tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                                "%s: the dataset will take %s or more, and %s are free there; "
                                "name another place, or compress it (zstd)",
                                d->folder.path, bytes_text(size, bytes), bytes_text(left, there));
    }
    if (bytes > NOTED_BYTES)
        tt_dataset_note(d, "the dataset will take about %s%s", bytes_text(size, bytes),
                        packed ? " before it is compressed" : "; compressed (zstd) far less");
    return TT_OK;
}

void tt_dataset_note(const tt_dataset *d, const char *fmt, ...)
{
    char text[512];
    va_list args;
    if (!d->options->note) return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    d->options->note(d->options->note_context, text);
}

/* --- open and commit --- */

/* Whether the batch (TT_NONE: none) is a token of the dataset. */
static bool is_asked_for(const tt_export_options *options, const tt_model *m, uint32_t batch)
{
    return batch != TT_NONE && (!options->filter || tt_filter_batch(options->filter, m, batch));
}

/* Runs outside of batches have no token to be listed under. */
static bool list_runs(tt_dataset *d)
{
    const tt_model *m = d->m;
    uint64_t outside = 0;
    d->tokens = malloc(((size_t)m->n_batches + 1) * sizeof *d->tokens);
    d->first_run = malloc(((size_t)m->n_batches + 1) * sizeof *d->first_run);
    d->next_run = malloc(((size_t)m->n_runs + 1) * sizeof *d->next_run);
    if (!d->tokens || !d->first_run || !d->next_run) return false;
    for (uint32_t b = 0; b < m->n_batches; b++) {
        d->first_run[b] = TT_NONE;
        if (is_asked_for(d->options, m, b)) d->tokens[d->n_tokens++] = b;
    }
    for (uint32_t r = m->n_runs; r-- > 0;) {
        uint32_t batch = m->runs[r].batch;
        outside += batch == TT_NONE;
        if (!is_asked_for(d->options, m, batch)) continue;
        d->n_runs++;
        d->next_run[r] = d->first_run[batch];
        d->first_run[batch] = r;
    }
    d->total = 2 * (uint64_t)d->n_tokens + 3;
    if (outside)
        tt_dataset_note(d,
                        "%" PRIu64 " graph computation%s outside any batch: a dataset has no "
                        "place for %s",
                        outside, outside == 1 ? " was" : "s were", outside == 1 ? "it" : "them");
    return true;
}

static tt_status check_trace(const tt_model *m, tt_error *err)
{
    tt_status status = tt_model_need_clock(m, err);
    if (status != TT_OK) return status;
    if (m->n_batches == 0)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "the trace holds no batch: a dataset has files for each of them");
    if (m->n_weights == 0)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "the trace does not hold the model file's layout, which a dataset "
                            "needs: the program's opening of the model was not seen");
    return TT_OK;
}

tt_status tt_dataset_open(const tt_model *m, const char *path, const tt_export_options *options,
                          tt_dataset **out, tt_error *err)
{
    *out = NULL;
    tt_status status = check_trace(m, err);
    if (status != TT_OK) return status;
    tt_dataset *d = calloc(1, sizeof *d);
    if (!d) return tt_error_memory(err, "writing the dataset");
    d->m = m;
    d->options = options;
    tt_hex(d->id, m->trace.header.run_id, 16);
    /* The folder first, because its failure is the cheapest. */
    status = tt_outdir_open(&d->folder, path, options->force, err);
    if (status == TT_OK) status = tt_dataset_find_model(d, err);
    if (status == TT_OK && !list_runs(d)) status = tt_error_memory(err, "writing the dataset");
    if (status == TT_OK && d->n_tokens == 0)
        status = tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "no token of the trace is asked for");
    if (status == TT_OK) status = dataset_check_room(d, err);
    if (status != TT_OK) {
        tt_dataset_abandon(d);
        return status;
    }
    tt_export_note_copies(m, options, true);
    *out = d;
    return TT_OK;
}

static void free_parts(tt_dataset *d)
{
    tt_dataset_free_model(&d->model);
    free(d->tokens);
    free(d->first_run);
    free(d->next_run);
    free(d);
}

tt_status tt_dataset_commit(tt_dataset *d, tt_error *err)
{
    tt_status status = tt_outdir_commit(&d->folder, err);
    free_parts(d);
    return status;
}

void tt_dataset_abandon(tt_dataset *d)
{
    if (!d) return;
    tt_outdir_abandon(&d->folder);
    free_parts(d);
}

const char *tt_dataset_folder(const tt_dataset *d)
{
    return d->folder.temporary;
}

/* --- shared by the files --- */

tt_status tt_dataset_json_open(tt_dataset *d, tt_dataset_json *j, const char *name, tt_error *err)
{
    memset(j, 0, sizeof *j);
    tt_status status = tt_dataset_file_open(&j->file, &d->folder, name, d->options->compress, err);
    if (status == TT_OK && !(j->stream = tt_dataset_file_stream(&j->file)))
        status = tt_error_memory(err, "writing the dataset");
    if (status != TT_OK) {
        tt_dataset_file_free(&j->file);
        return status;
    }
    tt_json_begin(&j->json, j->stream, 2);
    return TT_OK;
}

tt_status tt_dataset_json_close(tt_dataset *d, tt_dataset_json *j, uint64_t n_items,
                                tt_dataset_sum *sum, tt_error *err)
{
    /* The file keeps errors of writes and reports them when it is closed. */
    (void)tt_json_end(&j->json);
    (void)fclose(j->stream);
    tt_status status = tt_dataset_file_close(&j->file, err);
    if (sum) *sum = (tt_dataset_sum){1, j->file.size_bytes, n_items};
    tt_dataset_file_free(&j->file);
    d->done++;
    if (d->options->progress) d->options->progress(d->options->progress_context, d->done, d->total);
    return status;
}

void tt_dataset_known(tt_json *j, const char *key, bool known, uint64_t v)
{
    tt_json_key(j, key);
    if (known)
        tt_json_u64(j, v);
    else
        tt_json_null(j);
}

void tt_dataset_address(tt_json *j, const char *key, const tt_model *m, const tt_tensor *t)
{
    char text[24];
    uint64_t base = t->buffer == TT_NONE ? 0 : m->buffers[t->buffer].base;
    /* An offset in a buffer of unknown address is not an address. */
    bool known = t->buffer == TT_NONE ? t->location != 0 : base != 0;
    (void)snprintf(text, sizeof text, "0x%" PRIx64, base + t->location);
    tt_json_kv_string(j, key, known ? text : NULL);
}

const char *tt_dataset_dtype(const tt_tensor *t)
{
    const tt_ggml_type *type = tt_ggml_type_find(t->type);
    /* The engine's own name wins: its numbers may have changed. */
    return type && strcasecmp(type->name, t->type_name) == 0 ? type->name : t->type_name;
}

bool tt_dataset_time(uint64_t unix_ns, char out[TT_DATASET_TIME_TEXT])
{
    struct tm utc;
    char date[24];
    time_t seconds = (time_t)(unix_ns / 1000000000u);
    if (unix_ns == 0 || !gmtime_r(&seconds, &utc) ||
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc) == 0)
        return false;
    (void)snprintf(out, TT_DATASET_TIME_TEXT, "%s.%06uZ", date,
                   (unsigned)(unix_ns % 1000000000u / 1000));
    return true;
}

uint64_t tt_dataset_unix_ns(const tt_model *m, uint64_t ticks)
{
    if (!m->clock.known || m->clock.unix_ns == 0) return 0;
    return tt_model_mono_ns(m, ticks) - m->clock.mono_ns + m->clock.unix_ns;
}

tt_status tt_dataset_memory_map(tt_dataset *d, tt_dataset_sum *sum, tt_error *err)
{
    tt_dataset_json j;
    const tt_gguf *g = &d->model.gguf;
    /* A model without experts has no slices. */
    const tt_tensor_map_style style = {.experts = !d->options->has_experts || d->options->experts,
                                       .old_words = d->options->old_words};
    tt_memory_entry *entries;
    size_t n;
    tt_listing l = {0};
    tt_status status = tt_tensor_map_make(g, style, &entries, &n, err);
    const tt_rowset set = TT_ROWSET(&tt_tensor_map_schema, 0, g, entries, n);
    if (status == TT_OK)
        status =
            tt_listing_make(&l, &set, &(tt_listing_wish){.columns = tt_tensor_map_columns}, err);
    if (status == TT_OK) status = tt_dataset_json_open(d, &j, "memory-map.json", err);
    if (status == TT_OK) {
        tt_tensor_map_json(g, d->model.source, d->id, &l, &j.json);
        status = tt_dataset_json_close(d, &j, n, sum, err);
    }
    tt_listing_free(&l);
    free(entries);
    return status;
}

/* --- the format --- */

/* More files than usual must be requested explicitly. */
static tt_status check_size(const tt_model *m, const tt_export_options *options, tt_error *err)
{
    uint64_t tokens = m->n_batches, runs = m->n_runs;
    for (uint32_t i = 0; options->filter && i < m->n_batches; i++)
        tokens -= !is_asked_for(options, m, i);
    for (uint32_t i = 0; options->filter && i < m->n_runs; i++)
        runs -= !is_asked_for(options, m, m->runs[i].batch);
    if (tokens > TT_DATASET_TOKENS_MAX && !options->all)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the trace has %" PRIu64 " tokens, each of which makes two files; "
                            "--all writes also those of more than %u, --batch some of them",
                            tokens, TT_DATASET_TOKENS_MAX);
    if (runs > TT_DATASET_RUNS_MAX && !options->all)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the trace has %" PRIu64 " computations of graphs, each of which is "
                            "written in full; --all writes also those of more than %u, --batch "
                            "those of some tokens",
                            runs, TT_DATASET_RUNS_MAX);
    return TT_OK;
}

static tt_status write_dataset(const tt_model *m, const char *path,
                               const tt_export_options *options, tt_error *err)
{
    typedef tt_status step(tt_dataset *, tt_dataset_sum *, tt_error *);
    static step *const steps[] = {tt_dataset_experiment, tt_dataset_memory_map, tt_dataset_buffers,
                                  tt_dataset_graphs, tt_dataset_traces};
    tt_dataset *d;
    tt_status status = check_size(m, options, err);
    if (status == TT_OK) status = tt_dataset_open(m, path, options, &d, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < sizeof steps / sizeof *steps && status == TT_OK; i++)
        status = steps[i](d, NULL, err);
    if (status == TT_OK) return tt_dataset_commit(d, err);
    tt_dataset_abandon(d);
    return status;
}

const tt_export_format tt_format_dataset = {
    .name = "dataset",
    .summary = "a folder of JSON, with two files for each token",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_MODEL | TT_EXPORT_TAKES_EXPERTS |
             TT_EXPORT_TAKES_COMPRESS | TT_EXPORT_TAKES_ALL | TT_EXPORT_TAKES_COPIES |
             TT_EXPORT_TAKES_WORDS,
    .write = write_dataset,
};
