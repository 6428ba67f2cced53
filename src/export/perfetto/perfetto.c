#include "export/perfetto/perfetto.h"

#include "base/outfile.h"
#include "export/workers.h"
#include "model/faults.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PART_RECORDS 16384u
#define PART_BYTES_MAX ((size_t)1 << 30)
#define PACK_LEVEL 1 /* repetitions are close and equal: higher levels are slower for little gain  \
                      */

tt_status tt_perfetto_pack(tt_bytes *b, tt_bytes *spare, tt_error *err)
{
    uLongf size = compressBound(b->size);
    tt_bytes_clear(spare);
    if (b->failed || !tt_bytes_reserve(spare, size) ||
        compress2(spare->data, &size, b->data, b->size, PACK_LEVEL) != Z_OK)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
    tt_bytes_clear(b);
    size_t packet = tt_proto_begin(b, PB_TRACE_PACKET);
    size_t at = tt_proto_begin(b, PB_COMPRESSED_PACKETS);
    tt_bytes_put(b, spare->data, size);
    tt_proto_end(b, at);
    tt_proto_end(b, packet);
    return TT_OK;
}

static tt_status put_out(tt_perfetto *p, const tt_bytes *b, tt_error *err)
{
    if (b->failed)
        return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
    if (b->size == 0 || fwrite(b->data, 1, b->size, p->out) == b->size) return TT_OK;
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write %s: %s", p->path,
                        strerror(errno));
}

tt_status tt_perfetto_write(tt_perfetto *p, tt_bytes *b, tt_error *err)
{
    tt_status status = TT_OK;
    if (b->size && p->options->compress != TT_COMPRESS_NONE)
        status = tt_perfetto_pack(b, &p->packed, err);
    if (status == TT_OK) status = put_out(p, b, err);
    tt_bytes_clear(b);
    return status;
}

static tt_status take(void *perfetto, uint32_t part, const tt_bytes *made, tt_error *err)
{
    (void)part;
    return put_out(perfetto, made, err);
}

static tt_status prepare(tt_perfetto *p, tt_error *err)
{
    tt_status status = tt_runs_divide(&p->parts, p->m, p->filter, PART_RECORDS, err);
    if (status == TT_OK) status = tt_perfetto_rows_of_runs(&p->runs, p->m, &p->parts, err);
    if (status == TT_OK) status = tt_perfetto_rows_of_batches(&p->batches, p->m, p->filter, err);
    if (status == TT_OK) status = tt_perfetto_names_collect(&p->names, p->m, err);
    p->has_faults = tt_model_has_faults(p->m);
    return status;
}

static tt_status write_all(tt_perfetto *p, tt_error *err)
{
    const tt_workers_plan plan = {.n_parts = p->parts.n_parts,
                                  .threads = p->options->threads,
                                  .make = tt_perfetto_make,
                                  .take = take,
                                  .open = tt_perfetto_maker_open,
                                  .close = tt_perfetto_maker_close,
                                  .context = p,
                                  .limit_bytes = PART_BYTES_MAX,
                                  .progress = p->options->progress,
                                  .progress_context = p->options->progress_context};
    tt_status status = tt_perfetto_front(p, err);
    if (status == TT_OK) status = tt_perfetto_put_batches(p, err);
    if (status == TT_OK) status = tt_perfetto_put_memory(p, err);
    if (status == TT_OK) status = tt_workers_run(p->m, &plan, err);
    if (status == TT_OK) status = tt_perfetto_back(p, err);
    return status;
}

static void note(const tt_export_options *o, uint64_t n, const char *what)
{
    char text[200];
    if (n == 0 || !o->note) return;
    (void)snprintf(text, sizeof text, "%" PRIu64 " %s", n, what);
    o->note(o->note_context, text);
}

static void report(tt_perfetto *p)
{
    const tt_export_options *o = p->options;
    if (o->sum) *o->sum = (tt_export_sum){.n_items = atomic_load(&p->n_slices), .items = "slices"};
    note(o, p->runs.left_out,
         "graph computations are left out: they overlap with more others than there are tracks");
    note(o, p->batches.left_out,
         "batches are left out: they overlap with more others than there are tracks");
    note(o, atomic_load(&p->moved),
         "op records were bent to lie inside their graph computation, one behind the other");
    note(o, atomic_load(&p->orphan), "records are left out: their graph has no such node");
}

static tt_status write_perfetto(const tt_model *m, const char *path,
                                const tt_export_options *options, tt_error *err)
{
    static const tt_filter everything;
    tt_outfile file;
    if (options->compress == TT_COMPRESS_ZSTD)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "Perfetto reads no zstd; take --compress gzip (packets are deflated)");
    tt_status status = tt_model_need_clock(m, err);
    if (status == TT_OK) status = tt_outfile_open(&file, path, options->force, err);
    if (status != TT_OK) return status;
    tt_perfetto *p = calloc(1, sizeof *p);
    if (p) {
        p->m = m;
        p->options = options;
        p->filter = options->filter ? options->filter : &everything;
        p->out = file.stream;
        p->path = path;
        tt_bytes_init(&p->packed, SIZE_MAX / 2);
        status = prepare(p, err);
        if (status == TT_OK) status = write_all(p, err);
        if (status == TT_OK) {
            status = tt_outfile_commit(&file, err);
            if (status == TT_OK) report(p);
        } else {
            tt_outfile_abandon(&file);
        }
        tt_perfetto_rows_free(&p->runs);
        tt_perfetto_rows_free(&p->batches);
        tt_perfetto_names_free(&p->names);
        tt_bytes_free(&p->packed);
        tt_runs_free(&p->parts);
        free(p);
    } else {
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to write the trace");
        tt_outfile_abandon(&file);
    }
    return status;
}

const tt_export_format tt_format_perfetto = {
    .name = "perfetto",
    .summary = "a timeline for Perfetto's UI and trace processor (one file)",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_FLOWS | TT_EXPORT_TAKES_COMPRESS,
    .write = write_perfetto};
