/* `tensortrace faults` as tables */
#include "cli/faults/faults_text.h"

#include "base/json.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/faults/faults_view.h"
#include "cli/list.h"
#include "cli/report.h"
#include "cli/table.h"
#include "cli/trace_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

typedef struct printer {
    const tt_faults_options *o;
    const tt_model *m;
    tt_json json;
    tt_table *table;
    uint64_t rows;
    bool more;
} printer;

static double rate_of(const printer *p, const tt_fault_op *op)
{
    return (double)op->counts.read_bytes / tt_model_span_ns(p->m, tt_fault_op_ticks(op)) * 1e9;
}

static void weights_text(const printer *p, const tt_fault_op *op, char *out, size_t room)
{
    size_t used = 0;
    uint32_t last = TT_NONE;
    char name[128];
    out[0] = '\0';
    for (size_t i = 0; i < op->n_accesses && used + 1 < room; i++) {
        if (op->accesses[i].weight == last) continue;
        int n =
            snprintf(out + used, room - used, "%s%s", last == TT_NONE ? "" : ", ",
                     tt_trace_text(name, sizeof name, p->m->weights[op->accesses[i].weight].name));
        if (n < 0) return;
        last = op->accesses[i].weight;
        used += (size_t)n < room - used ? (size_t)n : room - used - 1;
    }
}

static void table_op(printer *p, const tt_fault_op *op)
{
    char begun[TT_UNITS_TEXT], token[16] = "-", took[TT_UNITS_TEXT] = "", weights[256], name[128];
    char major[TT_UNITS_TEXT], read[TT_UNITS_TEXT] = "-", rate[TT_UNITS_TEXT] = "";
    const uint32_t batch = p->m->runs[op->run].batch;
    (void)snprintf(begun, sizeof begun, "%.4f", tt_model_ns(p->m, op->times->start) / 1e6);
    if (batch != TT_NONE)
        (void)snprintf(token, sizeof token, "%" PRIu32, tt_model_batch_number(p->m, batch));
    tt_units_count(major, op->counts.major);
    if (op->counts.observed_reads) tt_units_bytes(read, op->counts.read_bytes);
    if (!op->times->open) tt_units_ns(took, tt_model_span_ns(p->m, tt_fault_op_ticks(op)));
    if (op->counts.read_bytes && tt_fault_op_ticks(op)) tt_units_rate(rate, rate_of(p, op));
    weights_text(p, op, weights, sizeof weights);
    tt_table_row(p->table, (const char *[]){begun, token, op->op->op,
                                            tt_trace_text(name, sizeof name, op->op->name), major,
                                            read, took, rate, weights});
}

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
        tt_fault_op_json(&p->json, p->m, op);
    else
        table_op(p, op);
    return !ferror(stdout);
}

static bool begin(printer *p)
{
    static const char *const titles[] = {"TIME ms", "BATCH", "OP",   "NODE",   "MAJOR",
                                         "READ",    "TOOK",  "RATE", "WEIGHTS"};
    static const int flags[] = {TT_COLUMN_RIGHT,
                                TT_COLUMN_RIGHT,
                                TT_COLUMN_SHRINK | TT_COLUMN_WIDE,
                                TT_COLUMN_SHRINK,
                                TT_COLUMN_RIGHT | TT_COLUMN_WIDEST,
                                TT_COLUMN_RIGHT,
                                TT_COLUMN_RIGHT,
                                TT_COLUMN_RIGHT,
                                TT_COLUMN_SHRINK};
    if (p->o->input.json) {
        tt_json_begin(&p->json, stdout, 0);
        tt_json_object(&p->json);
        tt_json_kv_string(&p->json, "file", p->o->input.path);
        tt_json_key(&p->json, "reads");
        tt_json_array(&p->json);
        return true;
    }
    p->table = tt_table_new(stdout);
    for (size_t i = 0; p->table && i < sizeof titles / sizeof *titles; i++)
        tt_table_column(p->table, titles[i], flags[i]);
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
    if (!begin(&p)) return tt_report_usage("out of memory");
    tt_status status = tt_faults_walk(m, &w, &err);
    bool ok = end(&p);
    int code = status != TT_OK ? tt_report_error(&err) : tt_report_output(ok);
    if (code == TT_EXIT_OK && p.rows == 0)
        code = tt_trace_none(m, &o->filter, "op that had to wait for a device");
    return code;
}

#define NOT_OBSERVED "-"

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

typedef struct total {
    bool faults, io, cpu; /* known */
    const char *sign;     /* of the bytes read, when not all were observed */
    double minor, major, read_bytes, cpu_ns;
} total;

static void signed_text(char out[TT_UNITS_TEXT + 4], bool known, double v,
                        char *(*units)(char *, uint64_t))
{
    char text[TT_UNITS_TEXT];
    const double size = fabs(v);
    (void)snprintf(out, TT_UNITS_TEXT + 4, "%s%s", known && v < 0 ? "-" : "",
                   known ? units(text, size < 1.8e19 ? (uint64_t)size : UINT64_MAX) : NOT_OBSERVED);
}

static char *ns_units(char *out, uint64_t ns)
{
    return tt_units_ns(out, (double)ns);
}

static void total_row(tt_table *t, const char *what, const total *x)
{
    char minor[TT_UNITS_TEXT + 4], major[TT_UNITS_TEXT + 4], read[TT_UNITS_TEXT + 4];
    char cpu[TT_UNITS_TEXT + 4], all[TT_UNITS_TEXT + 8];
    signed_text(minor, x->faults, x->minor, tt_units_count);
    signed_text(major, x->faults, x->major, tt_units_count);
    signed_text(read, x->io, x->read_bytes, tt_units_bytes);
    signed_text(cpu, x->cpu, x->cpu_ns, ns_units);
    (void)snprintf(all, sizeof all, "%s%s", x->sign && x->io ? x->sign : "", read);
    tt_table_row(t, (const char *[]){what, minor, major, all, cpu});
}

static total of_kernel(const tt_kernel_sum *k)
{
    return (total){.faults = k->has_faults,
                   .io = k->has_io,
                   .cpu = k->has_faults,
                   .minor = (double)k->minor,
                   .major = (double)k->major,
                   .read_bytes = (double)k->read_bytes,
                   .cpu_ns = (double)k->user_ns + (double)k->system_ns};
}

static void device_rows(tt_table *t, const tt_kernel_sum *k)
{
    for (uint32_t i = 0; i < k->n_devices; i++) {
        char what[64], read[TT_UNITS_TEXT];
        const dev_t device = (dev_t)k->devices[i].device;
        (void)snprintf(what, sizeof what, "device %u:%u, by all its users", major(device),
                       minor(device));
        tt_table_row(
            t, (const char *[]){what, "", "", tt_units_bytes(read, k->devices[i].read_bytes), ""});
    }
}

static void ops_rows(tt_table *t, const tt_faults_view *v)
{
    const tt_fault_counts *c = tt_faults_batches(v->sums);
    const total all = of_kernel(&v->batches);
    total ops = {.faults = c->observed > 0,
                 .io = c->observed_reads > 0,
                 .cpu = c->observed_cpu > 0,
                 .sign = c->observed_reads < c->observed ? ">= " : NULL,
                 .minor = (double)c->minor,
                 .major = (double)c->major,
                 .read_bytes = (double)c->read_bytes,
                 .cpu_ns = (double)c->cpu_ns};
    total rest = {.sign = ops.sign ? "<= " : NULL,
                  .faults = ops.faults && all.faults,
                  .io = ops.io && all.io,
                  .cpu = ops.cpu && all.cpu,
                  .minor = all.minor - ops.minor,
                  .major = all.major - ops.major,
                  .read_bytes = all.read_bytes - ops.read_bytes,
                  .cpu_ns = all.cpu_ns - ops.cpu_ns};
    total_row(t, "in ops", &ops);
    total_row(t, "outside ops", &rest);
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
    char what[64];
    const tt_kernel_sum *k = &v->batches;
    if (k->windows == 0 && v->recording.windows == 0) return true;
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    if (behind) (void)puts("");
    tt_table_column(t, "COUNTED BY THE KERNEL", TT_COLUMN_LEFT | TT_COLUMN_SHRINK);
    tt_table_column(t, "MINOR", TT_COLUMN_RIGHT);
    tt_table_column(t, "MAJOR", TT_COLUMN_RIGHT);
    tt_table_column(t, "READ", TT_COLUMN_RIGHT);
    tt_table_column(t, "CPU", TT_COLUMN_RIGHT);
    if (k->windows) {
        const total all = of_kernel(k);
        if (v->sums) ops_rows(t, v);
        (void)snprintf(what, sizeof what, "process, in %" PRIu32 " batch%s", k->windows,
                       k->windows == 1 ? "" : "es");
        total_row(t, what, &all);
        device_rows(t, k);
    }
    if (v->recording.windows) {
        const total all = of_kernel(&v->recording);
        total_row(t, "process, while recording", &all);
    }
    if (!tt_table_print(t)) return false;
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

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

enum { FILE_COLUMNS = 9 };

static const struct {
    const char *title;
    int flags;
} file_columns[FILE_COLUMNS] = {
    {"MODEL", TT_COLUMN_SHRINK | TT_COLUMN_KEY},
    {"SIZE", TT_COLUMN_RIGHT},
    {"SAMPLES", TT_COLUMN_RIGHT | TT_COLUMN_WIDE},
    {"FIRST", TT_COLUMN_RIGHT},
    {"LAST", TT_COLUMN_RIGHT},
    {"LEAST", TT_COLUMN_RIGHT | TT_COLUMN_WIDE},
    {"MOST", TT_COLUMN_RIGHT},
    {"LOADED", TT_COLUMN_RIGHT},
    {"EVICTED", TT_COLUMN_RIGHT},
};

static bool print_files(const tt_faults_view *v)
{
    if (v->m->n_residencies == 0) return true;
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    (void)puts("\nIn RAM, of each model file");
    for (size_t i = 0; i < FILE_COLUMNS; i++)
        tt_table_column(t, file_columns[i].title, file_columns[i].flags);
    for (uint32_t i = 0; i < v->m->n_files; i++) {
        const tt_faults_file *f = &v->files[i];
        char name[256], size[7][TT_UNITS_TEXT], samples[TT_UNITS_TEXT];
        if (f->samples == 0) continue;
        const uint64_t values[7] = {v->m->files[i].size_bytes,
                                    f->first.resident_bytes,
                                    f->last.resident_bytes,
                                    f->least_bytes,
                                    f->most_bytes,
                                    f->came_bytes,
                                    f->went_bytes};
        for (int k = 0; k < 7; k++)
            tt_units_bytes(size[k], values[k]);
        const char *all[FILE_COLUMNS] = {
            tt_trace_text(name, sizeof name, base_name(v->m->files[i].path)),
            size[0],
            tt_units_count(samples, f->samples),
            size[1],
            size[2],
            size[3],
            size[4],
            size[5],
            size[6]};
        tt_table_row(t, all);
    }
    return tt_table_print(t);
}

static void note_more(uint64_t limit, size_t n)
{
    if (limit && n > limit)
        tt_report_note("%zu more row%s; --limit 0 shows all", n - (size_t)limit,
                       n - (size_t)limit == 1 ? "" : "s");
}

static bool print_samples(const tt_faults_view *v)
{
    static const char *const titles[] = {"BATCH",  "AT",    "TIME ms", "MODEL",
                                         "IN RAM", "SHARE", "LOADED",  "EVICTED"};
    tt_table *t = tt_table_new(stdout);
    if (!t) return false;
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        tt_table_column(t, titles[i],
                        i == 1   ? TT_COLUMN_LEFT
                        : i == 3 ? TT_COLUMN_LEFT | TT_COLUMN_SHRINK
                                 : TT_COLUMN_RIGHT);
    for (size_t i = 0; i < v->n_samples && (!v->wish.limit || i < v->wish.limit); i++) {
        const tt_residency_sample *s = &v->samples[i];
        char token[16] = "-", begun[TT_UNITS_TEXT], name[256], share[16] = "";
        char here[TT_UNITS_TEXT], came[TT_UNITS_TEXT] = "", went[TT_UNITS_TEXT] = "";
        if (s->batch != TT_NONE)
            (void)snprintf(token, sizeof token, "%" PRIu32, tt_model_batch_number(v->m, s->batch));
        (void)snprintf(begun, sizeof begun, "%.3f", tt_model_ns(v->m, s->begin_ticks) / 1e6);
        if (s->observed_bytes)
            (void)snprintf(share, sizeof share, "%.1f %%",
                           100 * (double)s->resident_bytes / (double)s->observed_bytes);
        tt_units_bytes(here, s->resident_bytes);
        if (s->compared) tt_units_bytes(came, s->came_bytes);
        if (s->compared) tt_units_bytes(went, s->went_bytes);
        tt_table_row(t, (const char *[]){
                            token, tt_faults_moment(s->moment), begun,
                            tt_trace_text(name, sizeof name, base_name(v->m->files[s->file].path)),
                            here, share, came, went});
    }
    bool ok = tt_table_print(t);
    note_more(v->wish.limit, v->n_samples);
    return ok;
}

/* What went most stands first: what a larger memory would have kept. */
static int by_went(const void *a, const void *b, void *context)
{
    const tt_residency_weight *all = context;
    const tt_residency_weight *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];
    if (x->went_bytes != y->went_bytes) return x->went_bytes > y->went_bytes ? -1 : 1;
    if (x->came_bytes != y->came_bytes) return x->came_bytes > y->came_bytes ? -1 : 1;
    return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void weight_row(tt_table *t, const tt_weight *w, const tt_residency_weight *r)
{
    char name[256], size[7][TT_UNITS_TEXT];
    const uint64_t values[7] = {w->size_bytes, r->first_bytes, r->last_bytes, r->least_bytes,
                                r->most_bytes, r->came_bytes,  r->went_bytes};
    for (int k = 0; k < 7; k++)
        tt_units_bytes(size[k], values[k]);
    tt_table_row(t, (const char *[]){tt_trace_text(name, sizeof name, w->name), size[0], size[1],
                                     size[2], size[3], size[4], size[5], size[6]});
}

static bool print_weights(const tt_faults_view *v)
{
    static const char *const titles[] = {"TENSOR", "SIZE", "FIRST",  "LAST",
                                         "LEAST",  "MOST", "LOADED", "EVICTED"};
    const tt_model *m = v->m;
    uint32_t *order = malloc(((size_t)m->n_weights + 1) * sizeof *order), n = 0;
    tt_table *t = tt_table_new(stdout);
    if (!order || !t) {
        free(order);
        return tt_table_print(t);
    }
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        tt_table_column(t, titles[i],
                        i == 0   ? TT_COLUMN_SHRINK | TT_COLUMN_KEY
                        : i == 4 ? TT_COLUMN_RIGHT | TT_COLUMN_WIDE
                                 : TT_COLUMN_RIGHT);
    for (uint32_t i = 0; i < m->n_weights; i++)
        if (v->weights[i].samples && tt_faults_passes_weight(v, &m->weights[i])) order[n++] = i;
    if (n) qsort_r(order, n, sizeof *order, by_went, v->weights);
    for (uint32_t i = 0; i < n && (!v->wish.limit || i < v->wish.limit); i++)
        weight_row(t, &m->weights[order[i]], &v->weights[order[i]]);
    free(order);
    bool ok = tt_table_print(t);
    note_more(v->wish.limit, n);
    return ok;
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
