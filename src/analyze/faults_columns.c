/* The columns of faults, for every output. */
#include "analyze/faults.h"
#include "base/path.h"
#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define BY(dimension) (uint8_t)(1u << TT_FAULTS_BY_##dimension)
#define NOT_BY(dimension) (uint8_t) ~(1u << TT_FAULTS_BY_##dimension)
#define RANGES_SHOWN 3u

const tt_faults_dimension tt_faults_dimensions[TT_FAULTS_DIMENSIONS] = {
    {"tensor", TT_FAULTS_BY_TENSOR, "read_bytes,major_faults,minor_faults"},
    {"batch", TT_FAULTS_BY_BATCH, "key"},
    {"layer", TT_FAULTS_BY_LAYER, "key"},
    {"op", TT_FAULTS_BY_OP, "read_bytes,major_faults,minor_faults"},
    {"thread", TT_FAULTS_BY_THREAD, "key"},
    {"expert", TT_FAULTS_BY_EXPERT, "read_bytes,major_faults,minor_faults"},
    {"model", TT_FAULTS_BY_MODEL, "read_bytes,major_faults,minor_faults"},
    {"context", TT_FAULTS_BY_CONTEXT, "key"},
};

static const tt_faults_row *of(const void *row)
{
    return row;
}

static const tt_weight *weight_of(const void *context, const void *row)
{
    const tt_faults_context *x = context;
    return of(row)->weight == TT_NONE ? NULL : &x->m->weights[of(row)->weight];
}

/* --- counts, of a row and of all ops --- */

TT_COLUMN_KNOWN(was_counted, tt_fault_counts, r, r->observed > 0)
TT_COLUMN_KNOWN(cpu_counted, tt_fault_counts, r, r->observed_cpu > 0)
TT_COLUMN_KNOWN(reads_counted, tt_fault_counts, r, r->observed_reads > 0)

TT_COLUMN_VALUE(get_read_at_least, tt_fault_counts, c, boolean,
                c->observed_reads && c->observed_reads < c->observed)

static const tt_column counts_columns[] = {
    TT_COLUMN("counted", NULL, COUNT, "times an op was counted on a thread",
              TT_MEMBER(tt_fault_counts, observed)),
    TT_COLUMN("minor_faults", NULL, COUNT, "faults without a device", .nullable = true,
              .known = was_counted, TT_MEMBER(tt_fault_counts, minor)),
    TT_COLUMN("major_faults", NULL, COUNT, "faults that waited for a device", .nullable = true,
              .known = was_counted, TT_MEMBER(tt_fault_counts, major)),
    TT_COLUMN("read_bytes", NULL, BYTES, "that the kernel asked devices for", .nullable = true,
              .known = reads_counted, TT_MEMBER(tt_fault_counts, read_bytes)),
    TT_COLUMN("read_bytes_at_least", NULL, NONE,
              "a lower bound: reads of some threads were not observed", .type = TT_CELL_BOOL,
              .get = get_read_at_least),
    TT_COLUMN("cpu_ns", NULL, NS, "time on a processor", .nullable = true, .known = cpu_counted,
              TT_MEMBER(tt_fault_counts, cpu_ns)),
};

const tt_schema tt_fault_counts_schema = {"counts", "what the kernel counted in ops",
                                          counts_columns, COUNT(counts_columns)};

/* --- rows --- */

static bool row_counted(const void *context, const void *row)
{
    return was_counted(context, &of(row)->counts);
}

static bool cpu_known(const void *context, const void *row)
{
    return cpu_counted(context, &of(row)->counts);
}

static bool reads_known(const void *context, const void *row)
{
    return reads_counted(context, &of(row)->counts);
}

TT_COLUMN_KNOWN(has_number, tt_faults_row, r, r->number >= 0)

static bool has_weight(const void *context, const void *row)
{
    return weight_of(context, row) != NULL;
}

TT_COLUMN_KNOWN(was_timed, tt_faults_row, r, r->counts.observed > 0 && r->time_ns > 0)
TT_COLUMN_KNOWN(was_busy, tt_faults_row, r, r->busy_ns > 0)
TT_COLUMN_KNOWN(has_first, tt_faults_row, r, r->first_known)

/* Threads do not read weights separately: only the sum of all ops has them. */
static bool has_weights(const void *context, const void *row)
{
    const tt_faults_context *x = context;
    return x->by != TT_FAULTS_BY_THREAD || row == x->total;
}

static tt_certainty read_bound(const void *context, const void *row)
{
    (void)context;
    const tt_fault_counts *c = &of(row)->counts;
    return c->observed_reads < c->observed ? TT_AT_LEAST : of(row)->shared ? TT_ABOUT : TT_EXACT;
}

static tt_certainty ratio_bound(const void *context, const void *row)
{
    return read_bound(context, row) == TT_AT_LEAST ? TT_AT_LEAST : TT_EXACT;
}

static tt_certainty accessed_bound(const void *context, const void *row)
{
    (void)context;
    return of(row)->at_most ? TT_AT_MOST : TT_EXACT;
}

static tt_certainty used_bound(const void *context, const void *row)
{
    (void)context;
    return of(row)->unplaced ? TT_AT_MOST : TT_EXACT;
}

TT_COLUMN_SHOW(show_key, tt_faults_row, r, tt_cell_text_copy(out, room, r->key);)

static void get_phase(const void *context, const void *row, tt_cell *cell)
{
    const tt_model *m = ((const tt_faults_context *)context)->m;
    if (of(row)->number < 0) return;
    tt_cell_text(cell,
                 tt_phase_name(m->batches[tt_model_batch(m, (uint32_t)of(row)->number + 1)].phase));
}

static void get_tokens(const void *context, const void *row, tt_cell *cell)
{
    const tt_model *m = ((const tt_faults_context *)context)->m;
    cell->known = of(row)->number >= 0;
    if (cell->known)
        cell->u64 = m->batches[tt_model_batch(m, (uint32_t)of(row)->number + 1)].n_tokens;
}

static void get_model(const void *context, const void *row, tt_cell *cell)
{
    const tt_weight *w = weight_of(context, row);
    if (w) tt_cell_text(cell, ((const tt_faults_context *)context)->m->files[w->file].path);
}

/* Where the row's expert begins in the weight, and its size; or the whole weight. */
static uint64_t slice_of(const tt_weight *w, const tt_faults_row *row, uint64_t *size)
{
    const uint64_t each = row->number >= 0 && w->ne[2] ? w->size_bytes / w->ne[2] : 0;
    if (size) *size = each ? each : w->size_bytes;
    return each * (uint64_t)(row->number >= 0 ? row->number : 0);
}

static const tt_model *model_of(const void *context)
{
    return ((const tt_faults_context *)context)->m;
}

static uint32_t layer_model(const void *row)
{
    return of(row)->number < 0 ? TT_NONE : tt_layer_model((int32_t)of(row)->number);
}

/* These are empty in text if there is one model. */
TT_COLUMN_SHOW(show_model, tt_faults_row, r, const tt_weight *w = weight_of(context, r);
               if (w && model_of(context)->n_models > 1)
                   tt_cell_text_copy(out, room,
                                     tt_base_name(model_of(context)->files[w->file].path));)
TT_COLUMN_SHOW(show_layer_model, tt_faults_row, r,
               tt_cell_text_copy(out, room, tt_model_label(model_of(context), layer_model(r)));)
TT_COLUMN_GET(get_layer_model, tt_faults_row, r,
              tt_cell_text(cell, tt_model_path(model_of(context), layer_model(r)));)
TT_COLUMN_GET(get_key_model, tt_faults_row, r,
              tt_cell_text(cell, strcmp(r->key, "-") == 0 ? NULL : r->key);)
TT_COLUMN_SHOW(show_key_model, tt_faults_row, r,
               tt_cell_text_copy(out, room, tt_base_name(r->key));)

static void get_offset(const void *context, const void *row, tt_cell *cell)
{
    const tt_weight *w = weight_of(context, row);
    cell->known = w != NULL;
    if (w) cell->u64 = w->offset_bytes + slice_of(w, row, NULL);
}

static void get_size(const void *context, const void *row, tt_cell *cell)
{
    const tt_weight *w = weight_of(context, row);
    cell->known = w != NULL;
    if (w) (void)slice_of(w, row, &cell->u64);
}

static void get_origin(const void *context, const void *row, tt_cell *cell)
{
    if (weight_of(context, row)) tt_cell_text(cell, tt_origin_name(of(row)->origin));
}

static void get_row_at_least(const void *context, const void *row, tt_cell *cell)
{
    get_read_at_least(context, &of(row)->counts, cell);
}

static bool uses_mapped(const void *context, const void *row)
{
    return has_weights(context, row) && of(row)->mapped_bytes > 0;
}

static void show_used(const void *context, const void *row, char *out, size_t room)
{
    static const tt_column plain =
        TT_COLUMN("used", NULL, BYTES, "", .known = uses_mapped, .bound = used_bound,
                  TT_MEMBER(tt_faults_row, mapped_bytes));
    tt_cell_show(&plain, context, row, out, room);
}

static void get_amplification(const void *context, const void *row, tt_cell *cell)
{
    (void)context;
    cell->f64 = tt_faults_amplification(row);
    cell->known = true;
}

static void show_amplification(const void *context, const void *row, char *out, size_t room)
{
    const double more = tt_faults_amplification(row);
    if (isfinite(more))
        (void)snprintf(out, room, "%s%.*f",
                       ratio_bound(context, row) == TT_AT_LEAST || of(row)->unplaced ? ">= " : "",
                       more < 100 ? 2 : 0, more);
}

static void get_rate(const void *context, const void *row, tt_cell *cell)
{
    (void)context;
    const double rate = tt_faults_rate(row);
    cell->known = isfinite(rate);
    if (cell->known) cell->f64 = rate;
}

static void get_off_cpu(const void *context, const void *row, tt_cell *cell)
{
    (void)context;
    cell->f64 = tt_faults_off_cpu_ns(row);
    cell->known = of(row)->counts.observed_cpu > 0 && of(row)->busy_ns > 0;
}

TT_COLUMN_SHOW(show_first, tt_faults_row, r,
               if (r->first_known)(void) snprintf(out, room, "%.3f", r->first_ns / 1e6);)

/* "0..3, 7, 9, ... 12" */
static void get_ranges(const void *context, const void *row, tt_cell *cell)
{
    (void)context;
    const tt_ranges *r = &of(row)->batches;
    size_t used = 0;
    cell->room[0] = '\0';
    for (size_t i = 0; i < r->n && i <= RANGES_SHOWN; i++) {
        const uint64_t first = r->list[i].begin, last = r->list[i].end - 1;
        char *out = cell->room + used;
        const size_t room = sizeof cell->room - used;
        if (i == RANGES_SHOWN)
            (void)snprintf(out, room, ", ... %" PRIu64, r->list[r->n - 1].end - 1);
        else
            used += (size_t)snprintf(out, room,
                                     first == last ? "%s%" PRIu64 : "%s%" PRIu64 "..%" PRIu64,
                                     i ? ", " : "", first, last);
    }
    tt_cell_text(cell, cell->room);
}

static void put_ranges(tt_json *j, const void *context, const void *row)
{
    (void)context;
    const tt_ranges *r = &of(row)->batches;
    tt_json_array(j);
    for (size_t i = 0; i < r->n; i++) {
        tt_json_array(j);
        tt_json_u64(j, r->list[i].begin);
        tt_json_u64(j, r->list[i].end - 1);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

/* --- the kernel's counts for the process --- */

static bool has_faults(const void *context, const void *sum)
{
    (void)context;
    return ((const tt_kernel_sum *)sum)->has_faults;
}

static bool has_io(const void *context, const void *sum)
{
    (void)context;
    return ((const tt_kernel_sum *)sum)->has_io;
}

static void get_device(const void *context, const void *device, tt_cell *cell)
{
    (void)context;
    const dev_t d = (dev_t)((const tt_kernel_device *)device)->device;
    tt_cell_format(cell, "%u:%u", major(d), minor(d));
}

static const tt_column device_columns[] = {
    TT_COLUMN("device", NULL, NONE, "major:minor", .type = TT_CELL_NAME, .get = get_device),
    TT_COLUMN("read_bytes", NULL, BYTES, "by all its users",
              TT_MEMBER(tt_kernel_device, read_bytes)),
    TT_COLUMN("reads", NULL, COUNT, "requests", TT_MEMBER(tt_kernel_device, reads)),
};

static const tt_schema device_schema = {"devices", "a device of the model files", device_columns,
                                        COUNT(device_columns)};

static void devices(const void *context, const void *sum, tt_rowset *out)
{
    (void)context;
    const tt_kernel_sum *k = sum;
    out->rows = k->devices;
    out->row_bytes = sizeof *k->devices;
    out->n = k->n_devices;
}

static const tt_column kernel_columns[] = {
    TT_COLUMN("minor_faults", NULL, COUNT, "faults that did not wait for a device",
              .nullable = true, .known = has_faults, TT_MEMBER(tt_kernel_sum, minor)),
    TT_COLUMN("major_faults", NULL, COUNT, "faults that waited for a device", .nullable = true,
              .known = has_faults, TT_MEMBER(tt_kernel_sum, major)),
    TT_COLUMN("read_bytes", NULL, BYTES, "from devices", .nullable = true, .known = has_io,
              TT_MEMBER(tt_kernel_sum, read_bytes)),
    TT_COLUMN("read_call_bytes", NULL, BYTES, "by read() and the like", .nullable = true,
              .known = has_io, TT_MEMBER(tt_kernel_sum, rchar_bytes)),
    TT_COLUMN("user_ns", NULL, NS, "in the program", .nullable = true, .known = has_faults,
              TT_MEMBER(tt_kernel_sum, user_ns)),
    TT_COLUMN("system_ns", NULL, NS, "in the kernel", .nullable = true, .known = has_faults,
              TT_MEMBER(tt_kernel_sum, system_ns)),
    TT_COLUMN("devices", NULL, NONE, "of the model files", .type = TT_CELL_ROWS,
              .inner = &device_schema, .rows = devices),
};

const tt_schema tt_kernel_schema = {"process", "what the kernel counted for the process",
                                    kernel_columns, COUNT(kernel_columns)};

static void process(const void *context, const void *row, tt_rowset *out)
{
    const tt_faults_context *x = context;
    out->n = 0;
    if (!x->process || of(row)->number < 0) return;
    tt_kernel_batch(x->kernel, tt_model_batch(x->m, (uint32_t)of(row)->number + 1), x->process);
    out->rows = x->process;
    out->n = x->process->windows > 0;
}

/* --- the table --- */

TT_COLUMN_GET(get_layer, tt_faults_row, r, tt_cell_id(cell, r->number);)

#define NAME .show = TT_SHOW_CUT | TT_SHOW_KEY
#define NUMBER .show = TT_SHOW_LEFT | TT_SHOW_CUT | TT_SHOW_KEY
#define ROW_COUNT(key_, title_, show_, about_, member_)                                            \
    TT_COLUMN(key_, title_, COUNT, about_, .nullable = true, .show = (show_) | TT_SHOW_DASH,       \
              .known = row_counted, TT_MEMBER(tt_faults_row, member_))

static const tt_column columns[] = {
    TT_COLUMN("tensor", "TENSOR", NONE, "the weight; null: ops without one", .nullable = true, NAME,
              .kinds = BY(TENSOR) | BY(EXPERT), .known = has_weight, TT_MEMBER(tt_faults_row, key),
              .text = show_key),
    TT_COLUMN("expert_id", "EXPERT", ID, "the expert; null: it has none, or they were not observed",
              .nullable = true, NUMBER, .kinds = BY(EXPERT), .known = has_number,
              TT_MEMBER(tt_faults_row, number)),
    TT_COLUMN("op", "OP", NONE, "the kind of op", NAME, .kinds = BY(OP),
              TT_MEMBER(tt_faults_row, key)),
    TT_COLUMN("batch_id", "BATCH", ID, "the batch; null: outside any", .nullable = true, NUMBER,
              .kinds = BY(BATCH), .known = has_number, TT_MEMBER(tt_faults_row, number),
              .text = show_key),
    TT_COLUMN("layer_id", "LAYER", ID, "the layer; null: ops of no layer", TT_LAYER,
              .show = TT_SHOW_LEFT | TT_SHOW_CUT | TT_SHOW_KEY | TT_SHOW_DASH, .kinds = BY(LAYER),
              .get = get_layer),
    TT_STACK(.kinds = BY(LAYER), .get = get_layer),
    TT_COLUMN("thread_id", "THREAD", ID, "number of the thread in the graph computation", NUMBER,
              .kinds = BY(THREAD), .known = has_number, TT_MEMBER(tt_faults_row, number),
              .text = show_key),
    TT_COLUMN("context_id", "CONTEXT", ID, "the engine's context; null: outside any batch",
              .nullable = true, NUMBER, .kinds = BY(CONTEXT), .known = has_number,
              TT_MEMBER(tt_faults_row, number), .text = show_key),
    TT_COLUMN("model_file", "MODEL", NONE, "path of the model; null: not known",
              .type = TT_CELL_NAME, .nullable = true, NAME, .kinds = BY(MODEL),
              .get = get_key_model, .text = show_key_model),
    TT_COLUMN("model_file", "MODEL", NONE, "path of the layer's model", .type = TT_CELL_NAME,
              .nullable = true, .show = TT_SHOW_KNOWN | TT_SHOW_CUT, .kinds = BY(LAYER),
              .get = get_layer_model, .text = show_layer_model),
    TT_COLUMN("phase", "PHASE", NONE, "phase of the batch", .type = TT_CELL_NAME, .nullable = true,
              .show = TT_SHOW_WIDEST | TT_SHOW_ROW, .kinds = BY(BATCH), .get = get_phase),
    TT_COLUMN("n_tokens", NULL, COUNT, "tokens in the batch", .type = TT_CELL_U32, .nullable = true,
              .show = TT_SHOW_ROW, .kinds = BY(BATCH), .get = get_tokens),
    TT_COLUMN("model_file", "MODEL", NONE, "path of the weight's model file", .type = TT_CELL_NAME,
              .nullable = true, .show = TT_SHOW_ROW | TT_SHOW_KNOWN | TT_SHOW_CUT,
              .kinds = BY(TENSOR) | BY(EXPERT), .get = get_model, .text = show_model),
    TT_COLUMN("file_offset_bytes", NULL, BYTES, "offset of the weight, or of the expert, in it",
              .type = TT_CELL_U64, .nullable = true, .show = TT_SHOW_ROW,
              .kinds = BY(TENSOR) | BY(EXPERT), .get = get_offset),
    TT_COLUMN("size_bytes", NULL, BYTES, "size of the weight, or of the expert",
              .type = TT_CELL_U64, .nullable = true, .show = TT_SHOW_ROW,
              .kinds = BY(TENSOR) | BY(EXPERT), .get = get_size),
    TT_COLUMN("origin", "ORIGIN", NONE, "where the ops read it from: file (mapped), buffer, ...",
              .type = TT_CELL_NAME, .nullable = true, .show = TT_SHOW_WIDE | TT_SHOW_ROW,
              .kinds = BY(TENSOR) | BY(EXPERT), .get = get_origin),
    TT_COLUMN("count", "OPS", COUNT, "executed ops; by thread: those counted on it",
              .show = TT_SHOW_WIDEST, TT_MEMBER(tt_faults_row, count)),
    TT_COLUMN("counted", NULL, COUNT, "times an op was counted on a thread",
              TT_MEMBER(tt_faults_row, counts.observed)),
    ROW_COUNT("minor_faults", "MINOR", TT_SHOW_WIDEST, "page faults that did not wait for a device",
              counts.minor),
    ROW_COUNT("major_faults", "MAJOR", 0, "page faults that waited for a device", counts.major),
    TT_COLUMN("read_bytes", "READ", BYTES,
              "bytes that the kernel requested from devices while a thread was in the op",
              .nullable = true, .show = TT_SHOW_DASH, .known = reads_known, .bound = read_bound,
              TT_MEMBER(tt_faults_row, counts.read_bytes)),
    TT_COLUMN("read_bytes_at_least", NULL, NONE,
              "a lower bound: reads of some threads were not observed", .type = TT_CELL_BOOL,
              .get = get_row_at_least),
    TT_COLUMN("cpu_ns", NULL, NS, "time on a processor", .nullable = true, .known = cpu_known,
              TT_MEMBER(tt_faults_row, counts.cpu_ns)),
    TT_COLUMN("shared", NULL, NONE,
              "counts of ops with several weights were divided among the weights",
              .kinds = BY(TENSOR) | BY(EXPERT), TT_MEMBER(tt_faults_row, shared)),
    TT_COLUMN("accessed_bytes", NULL, BYTES, "bytes of weights, counted each time an op read them",
              .nullable = true, .known = has_weights, .bound = accessed_bound,
              TT_MEMBER(tt_faults_row, accessed_bytes)),
    TT_COLUMN("accessed_bytes_at_most", NULL, NONE,
              "an upper bound: rows or experts were not observed", .nullable = true,
              .known = has_weights, TT_MEMBER(tt_faults_row, at_most)),
    TT_COLUMN("used_bytes", NULL, BYTES, "the same, counting each byte of a file once",
              .nullable = true, .known = has_weights, .bound = used_bound,
              TT_MEMBER(tt_faults_row, used_bytes)),
    TT_COLUMN("used_mapped_bytes", "USED", BYTES, "the part of used_bytes read in a mapped file",
              .kinds = NOT_BY(THREAD), TT_MEMBER(tt_faults_row, mapped_bytes), .text = show_used),
    TT_COLUMN("used_mapped_bytes", NULL, BYTES, "the part of used_bytes read in a mapped file",
              .nullable = true, .kinds = BY(THREAD), .known = has_weights,
              TT_MEMBER(tt_faults_row, mapped_bytes)),
    TT_COLUMN("used_bytes_at_most", NULL, NONE,
              "an upper bound: which rows or experts they are was not observed", .nullable = true,
              .known = has_weights, TT_MEMBER(tt_faults_row, unplaced)),
    TT_COLUMN("amplification", "TIMES READ", NONE, "read_bytes / used_mapped_bytes",
              .type = TT_CELL_F64, .nullable = true, .show = TT_SHOW_WIDE, .kinds = NOT_BY(THREAD),
              .get = get_amplification, .text = show_amplification),
    TT_COLUMN("amplification", NULL, NONE, "read_bytes / used_mapped_bytes", .type = TT_CELL_F64,
              .nullable = true, .kinds = BY(THREAD), .known = has_weights,
              .get = get_amplification),
    TT_COLUMN("bytes_per_s", "RATE", BYTES_PER_S, "read_bytes divided by reading_ns",
              .type = TT_CELL_F64, .nullable = true, .show = TT_SHOW_KNOWN, .bound = ratio_bound,
              .get = get_rate),
    TT_COLUMN("reading_count", NULL, COUNT, "ops that had major faults or reads",
              TT_MEMBER(tt_faults_row, reading_count)),
    TT_COLUMN("time_ns", "TIME", NS, "time of the counted ops", .nullable = true,
              .show = TT_SHOW_WIDEST, .known = was_timed, TT_MEMBER(tt_faults_row, time_ns)),
    TT_COLUMN("reading_ns", NULL, NS, "time of the ops that had reads", .nullable = true,
              .known = row_counted, TT_MEMBER(tt_faults_row, reading_ns)),
    TT_COLUMN("busy_ns", NULL, NS, "time of the counted threads in these ops", .nullable = true,
              .known = was_busy, TT_MEMBER(tt_faults_row, busy_ns)),
    TT_COLUMN(
        "off_cpu_ns", "OFF CPU", NS,
        "the part of busy_ns on no processor: asleep (disk, locks, other threads) or preempted",
        .type = TT_CELL_F64, .nullable = true, .get = get_off_cpu),
    TT_COLUMN("first_read_relative_ns", "FIRST ms", MOMENT,
              "when the first op that read began, from the begin of the first batch",
              .nullable = true, .show = TT_SHOW_WIDEST | TT_SHOW_KNOWN, .known = has_first,
              TT_MEMBER(tt_faults_row, first_ns), .text = show_first),
    TT_COLUMN("last_read_relative_ns", NULL, MOMENT, "when the last one began", .nullable = true,
              .known = has_first, TT_MEMBER(tt_faults_row, last_ns)),
    TT_COLUMN("reading_batch_ranges", "BATCHES", NONE,
              "batches in which something was read; in JSON pairs, first and last",
              .type = TT_CELL_NAME, .show = TT_SHOW_CUT | TT_SHOW_KNOWN, .kinds = NOT_BY(BATCH),
              .get = get_ranges, .json = put_ranges),
    TT_COLUMN("reading_batch_ranges", NULL, NONE,
              "batches in which something was read; in JSON pairs, first and last",
              .type = TT_CELL_NAME, .kinds = BY(BATCH), .get = get_ranges, .json = put_ranges),
    TT_COLUMN("process", NULL, NONE, "the kernel's counts for the process during the batch",
              .type = TT_CELL_OBJECT, .nullable = true, .show = TT_SHOW_ROW, .kinds = BY(BATCH),
              .inner = &tt_kernel_schema, .rows = process),
};

const tt_schema tt_faults_schema = {"faults", "ops, summed up", columns, COUNT(columns)};

tt_rowset tt_faults_rowset(const tt_faults_context *x, tt_faults_by by, const tt_faults_row *rows,
                           size_t n)
{
    return TT_ROWSET(&tt_faults_schema, (1u << by), x, rows, n);
}

/* --- ops that waited for a device --- */

uint64_t tt_fault_op_ticks(const tt_fault_op *op)
{
    return op->times->open ? 0 : tt_joined_ticks(op->times);
}

static const tt_run *op_run_of(const tt_model *m, const tt_fault_op *op)
{
    return &m->runs[op->run];
}

TT_COLUMN_VALUE(get_start, tt_fault_op, op, u64, tt_model_mono_ns(context, op->times->start))
TT_COLUMN_VALUE(get_relative, tt_fault_op, op, f64, tt_model_ns(context, op->times->start))
TT_COLUMN_KNOWN(has_ended, tt_fault_op, op, !op->times->open)
TT_COLUMN_VALUE(get_duration, tt_fault_op, op, u64,
                tt_units_round_ns(tt_model_span_ns(context, tt_fault_op_ticks(op))))
TT_COLUMN_KNOWN(is_in_batch, tt_fault_op, op, op_run_of(context, op)->batch != TT_NONE)
TT_COLUMN_VALUE(get_batch, tt_fault_op, op, u64,
                tt_model_batch_number(context, op_run_of(context, op)->batch))
TT_COLUMN_VALUE(get_run, tt_fault_op, op, u64, op_run_of(context, op)->id)
TT_COLUMN_GET(get_op_layer, tt_fault_op, op, tt_cell_id(cell, op->op->place.layer_id);)
TT_COLUMN_KNOWN(has_reads, tt_fault_op, op, op->counts.observed_reads > 0)
TT_COLUMN_JSON(json_tensors, tt_fault_op, op, {
    const tt_model *m = context;
    uint32_t last = TT_NONE;
    tt_json_array(j);
    for (size_t i = 0; i < op->n_accesses; i++) {
        if (op->accesses[i].weight == last) continue;
        last = op->accesses[i].weight;
        tt_json_string(j, m->weights[last].name);
    }
    tt_json_array_end(j);
})

#define OF_OP(member_) TT_THROUGH(tt_fault_op, op), TT_MEMBER(tt_op, member_)
#define COUNTED(member_) TT_MEMBER(tt_fault_op, counts.member_)
TT_COLUMN_SHOW(text_start, tt_fault_op, op,
               (void)snprintf(out, room, "%.4f", tt_model_ns(context, op->times->start) / 1e6);)
TT_COLUMN_SHOW(text_duration, tt_fault_op, op, {
    char text[TT_UNITS_TEXT];
    if (op->times->open) return;
    (void)snprintf(out, room, "%s",
                   tt_units_ns(text, tt_model_span_ns(context, tt_fault_op_ticks(op))));
})
TT_COLUMN_SHOW(text_tensors, tt_fault_op, op, {
    const tt_model *m = context;
    size_t used = 0;
    uint32_t last = TT_NONE;
    for (size_t i = 0; i < op->n_accesses && used + 3 < room; i++) {
        if (op->accesses[i].weight == last) continue;
        if (last != TT_NONE) used += (size_t)snprintf(out + used, room - used, ", ");
        last = op->accesses[i].weight;
        tt_cell_text_copy(out + used, room - used, m->weights[last].name);
        used += strlen(out + used);
    }
})
TT_COLUMN_KNOWN(op_has_rate, tt_fault_op, op, op->counts.read_bytes &&tt_fault_op_ticks(op))
TT_COLUMN_VALUE(get_op_rate, tt_fault_op, op, f64,
                (double)op->counts.read_bytes / tt_model_span_ns(context, tt_fault_op_ticks(op)) *
                    1e9)

static const tt_column op_columns[] = {
    TT_FIELD("start_ns", "on CLOCK_MONOTONIC", .type = TT_CELL_U64, .get = get_start),
    TT_COLUMN("start_relative_ns", "TIME ms", MOMENT, "since the first batch", .type = TT_CELL_F64,
              .get = get_relative, .text = text_start),
    TT_COLUMN("duration_ns", "TOOK", NS, "of all its threads", .type = TT_CELL_U64,
              .known = has_ended, .get = get_duration, .text = text_duration),
    TT_COLUMN("batch_id", "BATCH", ID, "null: outside any", .type = TT_CELL_U64,
              .known = is_in_batch, .get = get_batch, .show = TT_SHOW_DASH),
    TT_FIELD("graph_run", "its graph computation", .type = TT_CELL_U64, .get = get_run),
    TT_FIELD("node", "number of the node in the graph", OF_OP(node)),
    TT_COLUMN("op", "OP", NONE, "kind of op", TT_THROUGH(tt_fault_op, op),
              TT_MEMBER_CHARS(tt_op, op), .show = TT_SHOW_CUT | TT_SHOW_WIDE),
    TT_COLUMN("name", "NODE", NONE, "name of the node", OF_OP(name),
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_FIELD("layer_id", "null: outside any", TT_LAYER, .get = get_op_layer),
    TT_STACK(.get = get_op_layer),
    TT_FIELD("minor_faults", "faults that did not wait for a device", COUNTED(minor)),
    TT_COLUMN("major_faults", "MAJOR", COUNT, "faults that waited for a device", COUNTED(major),
              .show = TT_SHOW_WIDEST),
    TT_COLUMN("read_bytes", "READ", BYTES, "that devices were asked for", COUNTED(read_bytes),
              .known = has_reads, .show = TT_SHOW_DASH),
    TT_COLUMN("bytes_per_s", "RATE", BYTES_PER_S, "of these", .type = TT_CELL_F64,
              .known = op_has_rate, .get = get_op_rate, .show = TT_SHOW_TEXT),
    TT_FIELD("accessed_bytes", "of weights", TT_MEMBER(tt_fault_op, accessed_bytes)),
    TT_COLUMN("tensors", "WEIGHTS", NONE, "weights that it read", .type = TT_CELL_NAME,
              .json = json_tensors, .text = text_tensors, .show = TT_SHOW_CUT),
};
const tt_schema tt_fault_op_schema = TT_SCHEMA("reads", "an op that had to wait", op_columns);
