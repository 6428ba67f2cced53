/* The sequence of accesses that whatif replays, as libCacheSim's oracleGeneral: little-endian
 * records of 24 bytes, without a header:
 *
 *    0 uint32  time: the batch's number
 *    4 uint64  id of the unit
 *   12 uint32  its size in bytes
 *   16 int64   number of the next access to the same unit, or -1: none
 *
 * The first access of the file has the number 1, as in libCacheSim's own converter. The file is
 * written backwards, because the next access must be known. */
#include "export/oracle/oracle.h"

#include "analyze/reads.h"
#include "base/bytes.h"
#include "base/digits.h"
#include "base/outfile.h"
#include "table/csv_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RECORD_BYTES 24u
#define BUFFER_RECORDS 65536u
#define TRACE_NAME "trace.oracleGeneral"
#define UNITS_NAME "units.csv"
#define IDS_MAX ((uint64_t)1 << 30)
#define ROW_MAX ((size_t)1 << 20)

typedef struct writing {
    const tt_model *m;
    const tt_export_options *options;
    tt_reads reads;
    tt_whatif *whatif;
    const tt_stream *stream;
    uint64_t unit_bytes; /* of a page; 0: sizes differ */
    uint64_t n_ids;      /* all ids are below */
    uint64_t n;          /* accesses */
    uint64_t *next;      /* by id: number of the last written access; 0: none */
    uint32_t *times;     /* by section */
    uint8_t *records;
    FILE *file;
} writing;

static tt_status io_error(tt_error *err)
{
    return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write " TRACE_NAME ": %s",
                        strerror(errno));
}

/* The units of a read: ids from .. to - 1. */
static void ids_of(const writing *w, size_t read, uint64_t *from, uint64_t *to)
{
    const uint32_t extent = w->stream->order[read];
    *from = w->unit_bytes ? w->stream->extents[extent].begin : extent;
    *to = w->unit_bytes ? w->stream->extents[extent].end : *from + 1;
}

static uint64_t size_of(const writing *w, uint64_t id)
{
    if (w->unit_bytes) return w->unit_bytes;
    return w->stream->extents[id].end - w->stream->extents[id].begin;
}

/* Counts the accesses, and sets each section's time. Reads outside of batches get the time of the
 * previous batch, so that time never decreases. */
static void count(writing *w)
{
    uint32_t now = 0;
    for (size_t i = 0; i < w->stream->n_sections; i++) {
        const uint32_t index = tt_whatif_batch(w->whatif, w->stream->sections[i].group);
        const uint32_t batch = index < w->m->n_batches ? tt_model_batch_number(w->m, index) : now;
        w->times[i] = now = batch > now ? batch : now;
    }
    for (size_t i = 0; i < w->stream->n; i++) {
        uint64_t from, to;
        ids_of(w, i, &from, &to);
        w->n += to - from;
    }
}

/* --- the trace --- */

static void put(uint8_t *record, uint32_t time, uint64_t id, uint64_t size, uint64_t next)
{
    tt_bytes b = {.data = record, .capacity = RECORD_BYTES, .limit = RECORD_BYTES};
    tt_bytes_u32(&b, time);
    tt_bytes_u64(&b, id);
    tt_bytes_u32(&b, (uint32_t)size);
    tt_bytes_u64(&b, next ? next : (uint64_t)-1);
}

/* Writes the last n records of the buffer to the position of access `first` (from 0). */
static bool flush(const writing *w, uint64_t first, size_t n)
{
    const uint8_t *from = w->records + (BUFFER_RECORDS - n) * RECORD_BYTES;
    return fseeko(w->file, (off_t)(first * RECORD_BYTES), SEEK_SET) == 0 &&
           fwrite(from, RECORD_BYTES, n, w->file) == n;
}

static tt_status write_accesses(writing *w, tt_error *err)
{
    uint64_t number = w->n; /* of the next record to write, from 1 */
    size_t held = 0, section = w->stream->n_sections;
    for (size_t i = w->stream->n; i-- > 0;) {
        uint64_t from, id;
        while (section == w->stream->n_sections || w->stream->sections[section].first > i)
            section--;
        for (ids_of(w, i, &from, &id); id-- > from; number--) {
            held++;
            put(w->records + (BUFFER_RECORDS - held) * RECORD_BYTES, w->times[section], id,
                size_of(w, id), w->next[id]);
            w->next[id] = number;
            if (held < BUFFER_RECORDS) continue;
            if (!flush(w, number - 1, held)) return io_error(err);
            held = 0;
            if (w->options->progress)
                w->options->progress(w->options->progress_context, w->n - number, w->n);
        }
    }
    return flush(w, 0, held) ? TT_OK : io_error(err);
}

static tt_status write_trace(writing *w, const tt_outdir *dir, tt_error *err)
{
    tt_error ignored;
    w->file = tt_outdir_file(dir, TRACE_NAME, err);
    if (!w->file) return err->status;
    tt_status status = write_accesses(w, err);
    tt_status closed = tt_outdir_close(w->file, TRACE_NAME, status == TT_OK ? err : &ignored);
    return status == TT_OK ? closed : status;
}

/* --- the meaning of ids --- */

static void put_number(tt_bytes *row, uint64_t value)
{
    char text[TT_CSV_NUMBER_MAX];
    int n = snprintf(text, sizeof text, "%" PRIu64 ",", value);
    tt_bytes_put(row, text, (size_t)n);
}

/* The bytes of a tensor, or of its expert, in units first .. last. */
static bool put_row(const writing *w, tt_bytes *row, uint64_t first, uint64_t last,
                    const tt_read_range *of, FILE *out)
{
    const tt_weight *weight = &w->m->weights[of->weight];
    const char *path = w->m->files[weight->file].path;
    char places[2 * TT_CSV_NUMBER_MAX];
    size_t n = 0;
    tt_bytes_clear(row);
    put_number(row, first);
    put_number(row, last);
    put_number(row, size_of(w, first));
    tt_csv_put_text(row, path, strlen(path));
    tt_bytes_u8(row, ',');
    put_number(row, of->offset_bytes);
    put_number(row, of->span_bytes);
    tt_csv_put_text(row, weight->name, strlen(weight->name));
    places[n++] = ',';
    if (weight->place.layer_id != TT_LAYER_NONE)
        n += (size_t)snprintf(places + n, sizeof places - n, "%" PRId32,
                              tt_layer_number(weight->place.layer_id));
    places[n++] = ',';
    if (of->expert != TT_EXPERT_NONE)
        n += (size_t)snprintf(places + n, sizeof places - n, "%" PRId32, of->expert);
    places[n++] = '\n';
    tt_bytes_put(row, places, n);
    return !row->failed && fwrite(row->data, 1, row->size, out) == row->size;
}

/* Pages: a row for each range that is written. */
static bool put_pages(const writing *w, tt_bytes *row, FILE *out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < w->reads.n_ranges; i++)
        if (!tt_whatif_leaves_out(&w->reads.ranges[i]))
            ok = put_row(w, row, w->stream->extents[i].begin, w->stream->extents[i].end - 1,
                         &w->reads.ranges[i], out);
    return ok;
}

/* Tensors and experts: a row for each that is read. Slices are numbered like extents. */
static bool put_wholes(const writing *w, tt_bytes *row, FILE *out)
{
    tt_slices s;
    bool ok = tt_slices_make(w->m, &w->reads, w->options->unit == TT_WHATIF_EXPERT, &s) &&
              s.n == w->n_ids;
    for (uint32_t i = 0; ok && i < s.n; i++) {
        const tt_slice *slice = &s.list[i];
        const uint64_t file = s.layout[w->m->weights[slice->weight].file];
        const tt_read_range of = {.weight = slice->weight,
                                  .expert = slice->expert,
                                  .offset_bytes = slice->begin - file,
                                  .span_bytes = slice->size};
        if (w->next[i]) ok = put_row(w, row, i, i, &of, out);
    }
    tt_slices_free(&s);
    return ok;
}

static tt_status write_units(const writing *w, const tt_outdir *dir, tt_error *err)
{
    tt_bytes row;
    FILE *out = tt_outdir_file(dir, UNITS_NAME, err);
    if (!out) return err->status;
    tt_bytes_init(&row, ROW_MAX);
    bool ok =
        fputs(
            "first_id,last_id,unit_bytes,model_file,offset_bytes,size_bytes,tensor,layer,expert\n",
            out) >= 0;
    ok = ok && (w->unit_bytes ? put_pages(w, &row, out) : put_wholes(w, &row, out));
    const bool written = !ferror(out);
    tt_bytes_free(&row);
    tt_status closed = tt_outdir_close(out, UNITS_NAME, err);
    if (closed != TT_OK || ok || !written) return closed;
    return tt_error_memory(err, "the list of the units");
}

/* --- everything --- */

static tt_status check_sizes(const writing *w, tt_error *err)
{
    for (size_t i = 0; i < w->stream->n; i++) {
        uint64_t from, to;
        ids_of(w, i, &from, &to);
        if (size_of(w, from) <= UINT32_MAX) continue;
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "a unit has %" PRIu64 " bytes, and a record of oracleGeneral has room "
                            "for a size of %u at most: name a smaller --unit (expert or page)",
                            size_of(w, from), UINT32_MAX);
    }
    return TT_OK;
}

static void report(const writing *w)
{
    const tt_export_options *o = w->options;
    char text[TT_WHATIF_TEXT];
    if (o->sum) *o->sum = (tt_export_sum){w->n, "accesses", 0, 0};
    if (!o->note) return;
    tt_export_note_copies(w->m, o, false);
    if (w->reads.impossible) {
        (void)snprintf(text, sizeof text,
                       "%" PRIu64 " reads of places that no file has are left out",
                       w->reads.impossible);
        o->note(o->note_context, text);
    }
    tt_whatif_left_out_text(w->whatif, text);
    if (*text) o->note(o->note_context, text);
    if (w->reads.at_most)
        o->note(o->note_context, "which rows or experts some ops read was not observed: they are "
                                 "taken to read all");
}

/* Prepares the replayed stream, and memory to write it. */
static tt_status prepare(writing *w, tt_error *err)
{
    static const tt_filter everything;
    const tt_export_options *o = w->options;
    const tt_whatif_plan plan = {
        .unit = o->unit, .page_bytes = o->page_bytes ? o->page_bytes : TT_WHATIF_PAGE_BYTES};
    tt_status status =
        tt_reads_collect(w->m, o->filter ? o->filter : &everything, &w->reads, NULL, NULL, err);
    if (status == TT_OK && w->reads.n == 0)
        status = tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                              "nothing to export: no op that is asked for reads weights");
    if (status == TT_OK) status = tt_whatif_new(w->m, &w->reads, &plan, &w->whatif, err);
    if (status != TT_OK) return status;
    w->stream = tt_whatif_stream(w->whatif);
    w->unit_bytes = plan.unit == TT_WHATIF_PAGE ? plan.page_bytes : 0;
    w->n_ids = w->stream->n_extents;
    for (uint32_t i = 0; w->unit_bytes && i < w->stream->n_extents; i++)
        if (w->stream->extents[i].end > w->n_ids) w->n_ids = w->stream->extents[i].end;
    if (w->n_ids > IDS_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the model has too many pages; larger pages (--page-size) make fewer");
    status = check_sizes(w, err);
    if (status != TT_OK) return status;
    w->next = calloc(w->n_ids, sizeof *w->next);
    w->times = calloc(w->stream->n_sections, sizeof *w->times);
    w->records = malloc((size_t)BUFFER_RECORDS * RECORD_BYTES);
    if (!w->next || !w->times || !w->records) return tt_error_memory(err, "the accesses");
    count(w);
    return TT_OK;
}

static tt_status write_oracle(const tt_model *m, const char *path, const tt_export_options *options,
                              tt_error *err)
{
    writing w = {.m = m, .options = options};
    tt_outdir dir;
    tt_status status = tt_outdir_open(&dir, path, options->force, err);
    if (status != TT_OK) return status;
    status = prepare(&w, err);
    if (status == TT_OK) status = write_trace(&w, &dir, err);
    if (status == TT_OK) status = write_units(&w, &dir, err);
    if (status == TT_OK) report(&w);
    if (status == TT_OK)
        status = tt_outdir_commit(&dir, err);
    else
        tt_outdir_abandon(&dir);
    free(w.next);
    free(w.times);
    free(w.records);
    tt_whatif_free(w.whatif);
    tt_reads_free(&w.reads);
    return status;
}

const tt_export_format tt_format_oraclegeneral = {
    "oraclegeneral",
    "a folder: accesses to weights, for cache simulators",
    TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_UNIT,
    false,
    write_oracle,
};
