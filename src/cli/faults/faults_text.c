/* `tensortrace faults` as tables */
#include "base/json.h"
#include "base/path.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/faults/faults_view.h"
#include "cli/list.h"
#include "cli/report.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

/* --- --reads: ops one by one --- */

typedef struct printer {
    const tt_faults_options *o;
    const tt_model *m;
    tt_json json;
    tt_rowset set;
    tt_listing columns;
    tt_table *table;
    uint64_t rows;
    bool more;
} printer;

static bool visit(void *context, const tt_fault_op *op)
{
    printer *p = context;
    if (!op->passes || !tt_fault_op_read(op)) return true;
    if (p->o->list.limit && p->rows == p->o->list.limit) {
        p->more = true;
        return false;
    }
    p->rows++;
    if (p->o->input.json)
        tt_row_json(&p->json, NULL, &tt_fault_op_schema, p->m, op);
    else
        tt_list_row(p->table, &p->columns, op);
    return !ferror(stdout);
}

static bool begin(printer *p)
{
    static const tt_listing_wish shown = {
        .columns = "start_relative_ns,batch_id,op,name,major_faults,read_bytes,duration_ns,"
                   "rate_bytes_per_s,tensors",
        .text = true};
    if (p->o->input.json) {
        tt_json_begin(&p->json, stdout, 0);
        tt_json_object(&p->json);
        tt_json_kv_string(&p->json, "file", p->o->input.path);
        tt_json_key(&p->json, "reads");
        tt_json_array(&p->json);
        return true;
    }
    p->set = (tt_rowset){.schema = &tt_fault_op_schema, .context = p->m};
    if (tt_listing_make(&p->columns, &p->set, &shown, NULL) != TT_OK) return false;
    p->columns.chosen = false;
    p->table = tt_list_table(&p->columns, stdout);
    return p->table != NULL;
}

static bool end(printer *p)
{
    if (!p->o->input.json) {
        if (p->more) tt_trace_note_more(p->rows);
        return tt_table_print(p->table);
    }
    tt_json_array_end(&p->json);
    tt_json_kv_bool(&p->json, "more", p->more);
    tt_json_object_end(&p->json);
    return tt_json_end(&p->json);
}

int tt_faults_print_reads(const tt_faults_options *o, const tt_model *m)
{
    printer p = {.o = o, .m = m};
    tt_error err;
    tt_faults_walker w = {.filter = &o->filter, .visit = visit, .context = &p};
    if (tt_model_need_clock(m, &err) != TT_OK) return tt_report_error(&err);
    const bool begun = begin(&p);
    tt_status status = begun ? tt_faults_walk(m, &w, &err) : TT_OK;
    bool ok = begun && end(&p);
    tt_listing_free(&p.columns);
    if (!begun) return tt_report_usage("out of memory");
    int code = status != TT_OK ? tt_report_error(&err) : tt_report_output(ok);
    if (code == TT_EXIT_OK && p.rows == 0)
        code = tt_trace_none(m, &o->filter, "op that had to wait for a device");
    return code;
}

static bool print_rows(const tt_faults_view *v)
{
    bool shared = false;
    if (!tt_list_print(v->rows, tt_faults_total(v->sums))) return false;
    for (size_t i = 0; i < v->rows->n; i++)
        shared |= ((const tt_faults_row *)tt_listing_row(v->rows, i))->shared;
    if (shared)
        (void)puts("~ an op that read several weights: shared among them by the bytes it read");
    if (tt_faults_orphan(v->sums))
        tt_report_note("%" PRIu64 " counters of ops that are not in the trace left out",
                       tt_faults_orphan(v->sums));
    return true;
}

/* --- the kernel's totals --- */

/* A row of them. NAN: was not observed. */
typedef struct total {
    char what[64];
    bool device; /* of a device the bytes read alone */
    tt_certainty read_bound;
    double minor, major, read_bytes, cpu_ns;
} total;

TT_COLUMN_KNOWN(is_whole, total, t, !t->device)
static tt_certainty bound_of(const void *context, const void *row)
{
    (void)context;
    return ((const total *)row)->read_bound;
}

static const tt_column total_columns[] = {
    TT_COLUMN("what", "COUNTED BY THE KERNEL", NONE, "of what", TT_MEMBER_CHARS(total, what),
              .show = TT_SHOW_CUT),
    TT_COLUMN("minor_faults", "MINOR", COUNT, "that did not wait", TT_MEMBER(total, minor),
              .known = is_whole),
    TT_COLUMN("major_faults", "MAJOR", COUNT, "that waited", TT_MEMBER(total, major),
              .known = is_whole),
    TT_COLUMN("read_bytes", "READ", BYTES, "from devices", TT_MEMBER(total, read_bytes),
              .bound = bound_of),
    TT_COLUMN("cpu_ns", "CPU", NS, "on a processor", TT_MEMBER(total, cpu_ns), .known = is_whole),
};
static const tt_schema total_schema = TT_SCHEMA("totals", "what the kernel counted", total_columns);

static total of_kernel(const tt_kernel_sum *k)
{
    return (total){.minor = k->has_faults ? (double)k->minor : NAN,
                   .major = k->has_faults ? (double)k->major : NAN,
                   .read_bytes = k->has_io ? (double)k->read_bytes : NAN,
                   .cpu_ns = k->has_faults ? (double)k->user_ns + (double)k->system_ns : NAN};
}

/* What is in ops, and the rest. */
static void of_ops(const tt_faults_view *v, total *ops, total *rest)
{
    const tt_fault_counts *c = tt_faults_batches(v->sums);
    const total all = of_kernel(&v->batches);
    const bool some = c->observed_reads < c->observed;
    *ops = (total){.what = "in ops",
                   .read_bound = some ? TT_AT_LEAST : TT_EXACT,
                   .minor = c->observed ? (double)c->minor : NAN,
                   .major = c->observed ? (double)c->major : NAN,
                   .read_bytes = c->observed_reads ? (double)c->read_bytes : NAN,
                   .cpu_ns = c->observed_cpu ? (double)c->cpu_ns : NAN};
    *rest = (total){.what = "outside ops",
                    .read_bound = some ? TT_AT_MOST : TT_EXACT,
                    .minor = all.minor - ops->minor,
                    .major = all.major - ops->major,
                    .read_bytes = all.read_bytes - ops->read_bytes,
                    .cpu_ns = all.cpu_ns - ops->cpu_ns};
}

/* Why a total is not there, when the recorder said so. */
static void note_reason(const tt_faults_view *v, bool known, const char *what, const char *key)
{
    const char *said = known ? NULL : tt_model_environment(v->m, key);
    char text[300];
    if (said && strncmp(said, "not observed", strlen("not observed")) == 0)
        tt_report_note("%s: %s", what, tt_trace_text(text, sizeof text, said));
}

static bool print_kernel(const tt_faults_view *v, bool behind)
{
    static const tt_listing_wish all = {.text = true};
    const tt_kernel_sum *k = &v->batches;
    total rows[4 + TT_USAGE_DEVICES_MAX];
    size_t n = 0;
    if (k->windows == 0 && v->recording.windows == 0) return true;
    if (behind) (void)puts("");
    if (k->windows) {
        if (v->sums) {
            of_ops(v, &rows[0], &rows[1]);
            n = 2;
        }
        rows[n] = of_kernel(k);
        (void)snprintf(rows[n++].what, sizeof rows->what, "process, in %" PRIu32 " batch%s",
                       k->windows, k->windows == 1 ? "" : "es");
        for (uint32_t i = 0; i < k->n_devices; i++) {
            const dev_t device = (dev_t)k->devices[i].device;
            rows[n] = (total){.device = true, .read_bytes = (double)k->devices[i].read_bytes};
            (void)snprintf(rows[n++].what, sizeof rows->what, "device %u:%u, by all its users",
                           major(device), minor(device));
        }
    }
    if (v->recording.windows) {
        rows[n] = of_kernel(&v->recording);
        (void)snprintf(rows[n++].what, sizeof rows->what, "process, while recording");
    }
    if (!tt_list_print_set(&TT_ROWSET(&total_schema, 0, NULL, rows, n), &all, stdout)) return false;
    if (k->missing)
        tt_report_note("of %" PRIu32 " batch%s the process's totals were not observed", k->missing,
                       k->missing == 1 ? "" : "es");
    note_reason(v, k->windows == 0 || k->has_io, "bytes read by the process", "capture_io");
    note_reason(v, k->windows == 0 || k->n_devices > 0, "bytes read by devices", "capture_devices");
    if (k->overlap)
        tt_report_note("batches overlapped: what the process did in two at once counts twice");
    return true;
}

/* --- residency --- */

static const tt_model_file *file_of(const void *context, const void *row)
{
    const tt_faults_view *v = context;
    return &v->m->files[(const tt_faults_file *)row - v->files];
}

TT_COLUMN_KNOWN(was_sampled, tt_faults_file, f, f->samples > 0)
TT_COLUMN_GET(get_model, tt_faults_file, f,
              tt_cell_text(cell, tt_base_name(file_of(context, f)->path));)
TT_COLUMN_VALUE(get_size, tt_faults_file, f, u64, file_of(context, f)->size_bytes)

#define OF_FILE(key_, member_, title_, show_, about_)                                              \
    TT_COLUMN(key_, title_, BYTES, about_, TT_MEMBER(tt_faults_file, member_), .show = show_)
static const tt_column file_columns[] = {
    TT_COLUMN("model", "MODEL", NONE, "the model file", .type = TT_CELL_NAME, .get = get_model,
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "of it", .type = TT_CELL_U64, .get = get_size),
    TT_COLUMN("samples", "SAMPLES", COUNT, "of it", TT_MEMBER(tt_faults_file, samples),
              .show = TT_SHOW_WIDE),
    OF_FILE("first_bytes", first.resident_bytes, "FIRST", 0, "in RAM at first"),
    OF_FILE("last_bytes", last.resident_bytes, "LAST", 0, "at last"),
    OF_FILE("least_bytes", least_bytes, "LEAST", TT_SHOW_WIDE, "at least"),
    OF_FILE("most_bytes", most_bytes, "MOST", 0, "at most"),
    OF_FILE("came_bytes", came_bytes, "LOADED", 0, "over all samples"),
    OF_FILE("went_bytes", went_bytes, "EVICTED", 0, "over all samples"),
};
static const tt_schema file_schema = TT_SCHEMA("files", "in RAM, of a model file", file_columns);

static bool print_files(const tt_faults_view *v)
{
    static const tt_listing_wish sampled = {.text = true, .passes = was_sampled};
    if (v->m->n_residencies == 0) return true;
    (void)puts("\nIn RAM, of each model file");
    return tt_list_print_set(&TT_ROWSET(&file_schema, 0, v, v->files, v->m->n_files), &sampled,
                             stdout);
}

static bool print_samples(const tt_faults_view *v)
{
    const tt_listing_wish shown = {
        .columns = "batch_id,moment,start_relative_ns,model,resident_bytes,share,came_bytes,"
                   "went_bytes",
        .limit = v->wish.limit,
        .text = true};
    return tt_list_print_set(&TT_ROWSET(&tt_faults_sample_schema, 0, v, v->samples, v->n_samples),
                             &shown, stdout);
}

static bool passes_weight(const void *context, const void *row)
{
    const tt_faults_view *v = context;
    const tt_residency_weight *r = row;
    return r->samples && tt_faults_passes_weight(v, &v->m->weights[r - v->weights]);
}

/* What went most stands first: what a larger memory would have kept. */
static bool print_weights(const tt_faults_view *v)
{
    const tt_listing_wish shown = {.sort = "went_bytes,came_bytes",
                                   .limit = v->wish.limit,
                                   .text = true,
                                   .passes = passes_weight};
    return tt_list_print_set(
        &TT_ROWSET(&tt_faults_weight_schema, 0, v, v->weights, v->m->n_weights), &shown, stdout);
}

bool tt_faults_print_text(tt_faults_view *v)
{
    if (v->residency) {
        bool by_tensor = v->by_given && v->by->by == TT_FAULTS_BY_TENSOR;
        return (by_tensor ? print_weights(v) : print_samples(v)) && print_files(v);
    }
    const bool rows = v->sums && tt_faults_total(v->sums)->count > 0;
    if (rows && !print_rows(v)) return false;
    return print_kernel(v, rows) && print_files(v);
}
