/* tensortrace faults FILE: what had to be read from disk, for which weights, when. */
#include "analyze/lacking.h"
#include "analyze/loading.h"
#include "analyze/page_faults.h"
#include "analyze/pool.h"
#include "answer/faults.h"
#include "base/json.h"
#include "base/path.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/list.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/trace_options.h"
#include "model/faults.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

typedef struct tt_faults_options {
    tt_input input;
    tt_filter filter;
    tt_list_options list;
    const tt_faults_dimension *by;
    bool by_given;
    bool residency;    /* the pages instead of the faults */
    bool reads;        /* op by op */
    bool loading;      /* how the model came into RAM */
    bool pages;        /* single faults, or sums by page or mapping */
    unsigned pages_by; /* enum tt_fault_pages_by */
} tt_faults_options;

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
                   "bytes_per_s,tensors",
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

static int print_reads(const tt_faults_options *o, const tt_model *m)
{
    printer p = {.o = o, .m = m};
    tt_error err;
    tt_faults_walker w = {.filter = &o->filter, .visit = visit, .context = &p};
    if (tt_model_need_clock(m, &err) != TT_OK) return tt_report_error(&err);
    const bool begun = begin(&p);
    tt_status status = begun ? tt_faults_walk(m, &w, &err) : TT_OK;
    bool ok = begun && end(&p);
    tt_listing_free(&p.columns);
    if (!begun) return tt_report_memory();
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
        tt_table_text(stdout, 2,
                      "~ an op that read several weights: shared among them by the bytes it read");
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
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
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
    TT_COLUMN("model_file", "MODEL", NONE, "the model file", .type = TT_CELL_NAME, .get = get_model,
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
static const tt_schema file_schema = TT_SCHEMA("model_files", "in RAM, of each", file_columns);

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
        .columns = "batch_id,moment,start_relative_ns,model_file,resident_bytes,share,came_bytes,"
                   "went_bytes",
        .limit = v->wish.limit,
        .text = true};
    return tt_list_print_set(
        &TT_ROWSET(&tt_residency_sample_schema, 0, v->m, v->samples, v->n_samples), &shown, stdout);
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

static bool print_text(tt_faults_view *v)
{
    if (v->residency) {
        bool by_tensor = v->by_given && v->by->by == TT_FAULTS_BY_TENSOR;
        return (by_tensor ? print_weights(v) : print_samples(v)) && print_files(v);
    }
    const bool rows = v->sums && tt_faults_total(v->sums)->count > 0;
    if (rows && !print_rows(v)) return false;
    return print_kernel(v, rows) && print_files(v);
}

#define TABLE_LIMIT 30u /* rows of a table, the default of --limit */

static void take_pages(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    (void)arg;
    (void)p;
    o->pages = true;
    o->list.schema = &tt_fault_pages_schema;
    o->pages_by = TT_FAULT_PAGES_BY_PAGE;
}

static void take_mappings(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    take_pages(options, arg, p);
    o->pages_by = TT_FAULT_PAGES_BY_MAPPING;
}

static void take_loading(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    (void)arg;
    (void)p;
    o->loading = true;
    o->list.schema = &tt_loading_schema;
}

static void take_pool(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    (void)arg;
    (void)p;
    o->list.schema = &tt_pool_schema;
}

static void take_pool_reads(void *options, char *arg, tt_parse *p)
{
    tt_faults_options *o = options;
    (void)arg;
    (void)p;
    o->list.schema = &tt_pool_reads_schema;
}

static bool is_of_pool(const tt_faults_options *o)
{
    return o->list.schema == &tt_pool_schema || o->list.schema == &tt_pool_reads_schema;
}

static const tt_option option_table[] = {
    {"by", 0, "WHAT",
     "Sum up by tensor (default), expert, batch, layer, op, thread, model or context", 1,
     TT_ROW(tt_faults_options, by, tt_faults_dimensions, TT_FAULTS_DIMENSIONS),
     TT_GIVEN(tt_faults_options, by_given)},
    {"reads", 0, 0, "Each op that had to wait for a device, in time order", 1,
     TT_FLAG(tt_faults_options, reads), .excludes = "by columns csv residency sort"},
    {"pages", 0, 0,
     "Each page that faulted, in ops and outside: its offset in the file, its tensor and expert", 1,
     .kind = TT_OPTION_TAKE, .take = take_pages, .flags = TT_OPTION_FIRST,
     .excludes = "by reads residency loading"},
    {"mappings", 0, 0, "Faults by mapped file and kind of memory", 1, .kind = TT_OPTION_TAKE,
     .take = take_mappings, .flags = TT_OPTION_FIRST, .excludes = "by reads residency loading"},
    {"loading", 0, 0,
     "How the model came into RAM: when it was mapped, with which flags and advice, what was "
     "fetched before the first batch, and whether ops used it",
     1, .kind = TT_OPTION_TAKE, .take = take_loading, .flags = TT_OPTION_FIRST,
     .excludes = "by reads residency pages mappings"},
    {"pool", 0, 0, "What `boost` read and kept in memory, by batch", 1, .kind = TT_OPTION_TAKE,
     .take = take_pool, .flags = TT_OPTION_FIRST,
     .excludes = "by reads residency pages mappings loading"},
    {"pool-reads", 0, 0, "Each read of `boost`", 1, .kind = TT_OPTION_TAKE, .take = take_pool_reads,
     .flags = TT_OPTION_FIRST, .excludes = "by reads residency pages mappings loading pool"},
    {"residency", 0, 0, "Which bytes of the model were in RAM: by batch, or with --by tensor", 1,
     TT_FLAG(tt_faults_options, residency), .excludes = "columns csv sort"},
    {0},
};

static void check_by(void *options, tt_parse *p)
{
    tt_faults_options *o = options;
    if (o->list.schema == &tt_faults_schema && !o->residency)
        o->list.kind = (uint16_t)(1u << o->by->by);
    if (o->residency && o->by->by != TT_FAULTS_BY_TENSOR && o->by->by != TT_FAULTS_BY_BATCH)
        tt_parse_error(p, "--residency is by batch or by tensor");
    const tt_filter *f = &o->filter;
    const tt_filter none = {0};
    if ((o->loading || is_of_pool(o)) && memcmp(f, &none, sizeof none) != 0)
        tt_parse_error(p, "%s is of the whole run: it goes with no filter",
                       o->loading                          ? "--loading"
                       : o->list.schema == &tt_pool_schema ? "--pool"
                                                           : "--pool-reads");
    if (o->pages && (f->op || f->text || f->has_lane || f->origin || f->has_least || f->has_most))
        tt_parse_error(p, "--pages and --mappings go with --batch, --phase, --layer and --tensor "
                          "alone: faults outside of ops are of no op");
}

/* Why something is not in the trace, according to the recorder; or which option would have recorded
 * it. */
static void reason_text(const tt_model *m, const char *key, const char *option, char *out,
                        size_t room)
{
    const char *said = tt_model_environment(m, key);
    char text[300];
    if (said && strncmp(said, "not observed", strlen("not observed")) == 0)
        (void)snprintf(out, room, "%s", tt_trace_text(text, sizeof text, said));
    else if (said && strcmp(said, "on") == 0)
        (void)snprintf(out, room, "%s was on, but nothing was recorded", option);
    else
        (void)snprintf(out, room, "%s", tt_lacking_how(m, option, text));
}

/* TT_EXIT_OK if there is something to show. Reports what is missing. */
static int report_missing(const tt_faults_options *o, const tt_faults_view *v)
{
    char reason[320];
    const tt_model *m = v->m;
    if (v->residency) {
        if (m->n_residencies) return TT_EXIT_OK;
        reason_text(m, "capture_residency", "--residency", reason, sizeof reason);
        return tt_report_usage("%s: residency was not recorded: %s", v->path, reason);
    }
    if (v->counted) return TT_EXIT_OK;
    reason_text(m, "capture_faults", "--faults", reason, sizeof reason);
    if (o->reads || (!m->n_residencies && !m->n_usages))
        return tt_report_usage("%s: faults were not recorded: %s", v->path, reason);
    tt_report_note("faults of ops were not recorded: %s", reason);
    return TT_EXIT_OK;
}

static bool print_json(tt_faults_view *v)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    bool ok = tt_faults_json(&j, v);
    return tt_json_end(&j) && ok;
}

static bool print_pages_json(const tt_faults_options *o, const tt_model *m, const tt_listing *l)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "file", o->input.path);
    tt_json_kv_u64(&j, "faults", m->n_page_faults);
    uint64_t lost = 0;
    bool known = tt_model_count(m, "page_faults_lost", &lost);
    tt_json_kv_u64_or_null(&j, "faults_lost", known, lost);
    tt_json_key(&j, "pages");
    tt_listing_json(&j, l);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static int list_pages(const tt_faults_options *o, const tt_page_faults *f)
{
    tt_fault_page *pages;
    tt_listing l;
    tt_error err;
    size_t n;
    const tt_listing_wish wish = tt_list_wish(
        &o->list, o->input.json, o->pages_by == TT_FAULT_PAGES_BY_MAPPING ? "faults" : NULL);
    if (tt_fault_pages_sum(f, (tt_fault_pages_by)o->pages_by, &o->filter, &pages, &n, &err) !=
        TT_OK) {
        free(pages);
        return tt_report_error(&err);
    }
    const tt_rowset set = tt_fault_pages_rowset(f, (tt_fault_pages_by)o->pages_by, pages, n);
    int code = tt_list_make(&l, &set, &wish);
    if (code == TT_EXIT_OK)
        code = tt_report_output(o->input.json ? print_pages_json(o, f->m, &l)
                                : o->list.csv ? tt_list_print_csv(&l)
                                              : tt_list_print(&l, NULL));
    tt_listing_free(&l);
    free(pages);
    return code;
}

static void note_lost(const tt_model *m)
{
    uint64_t lost;
    if (!tt_model_count(m, "page_faults_lost", &lost) || lost == 0) return;
    tt_report_note("%" PRIu64 " page faults were lost: they came faster than they could be "
                   "recorded; ops of that time are not counted",
                   lost);
}

/* Single faults. */
static int show_pages(const tt_faults_options *o, const tt_model *m)
{
    char reason[320];
    tt_page_faults f;
    tt_error err;
    if (m->n_fault_spans == 0) {
        reason_text(m, "capture_page_faults", "--faults", reason, sizeof reason);
        return tt_report_usage("%s: page faults were not recorded one by one: %s", o->input.path,
                               reason);
    }
    tt_status status = tt_page_faults_find(&f, m, &err);
    int code = status == TT_OK ? list_pages(o, &f) : tt_report_error(&err);
    tt_page_faults_free(&f);
    note_lost(m);
    return code;
}

static bool print_loading_json(const tt_faults_options *o, const tt_listing *l)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_loading_json(&j, o->input.path, l);
    return tt_json_end(&j);
}

/* How each file was mapped; then the rows. */
static bool print_loading_text(const tt_loading *found, const tt_listing *l)
{
    for (size_t i = 0; i < found->n; i++) {
        const tt_loading_row *r = &found->rows[i];
        char how[128], path[300], size[TT_UNITS_TEXT];
        if (!r->map) continue;
        tt_loading_describe(r, how, sizeof how);
        tt_table_printf(stdout, 2, "%s: %s mapped, %s", tt_trace_text(path, sizeof path, r->path),
                        tt_units_bytes(size, r->map->size_bytes), how);
    }
    return tt_list_print(l, NULL);
}

static int show_loading(const tt_faults_options *o, const tt_model *m)
{
    tt_loading found;
    tt_listing l;
    char how[TT_LACKING_TEXT];
    tt_error err;
    const tt_listing_wish wish = tt_list_wish(&o->list, o->input.json, NULL);
    if (tt_loading_find(&found, m, true, &err) != TT_OK) {
        tt_loading_free(&found);
        return tt_report_error(&err);
    }
    if (found.n == 0) {
        tt_loading_free(&found);
        return tt_report_usage("%s: how the model was loaded was not recorded: %s", o->input.path,
                               tt_lacking_how(m, "--residency", how));
    }
    if (m->n_residencies == 0)
        tt_report_note("pages in RAM were not recorded: %s", tt_lacking_how(m, "--residency", how));
    const tt_rowset set = tt_loading_rowset(&found);
    int code = tt_list_make(&l, &set, &wish);
    if (code == TT_EXIT_OK)
        code = tt_report_output(o->input.json ? print_loading_json(o, &l)
                                : o->list.csv ? tt_list_print_csv(&l)
                                              : print_loading_text(&found, &l));
    tt_listing_free(&l);
    tt_loading_free(&found);
    return code;
}

static bool print_pool_json(const tt_faults_options *o, const tt_pool_report *pool,
                            const tt_listing *l)
{
    tt_json j;
    tt_json_begin(&j, stdout, 2);
    tt_json_object(&j);
    tt_json_kv_string(&j, "file", o->input.path);
    tt_json_key(&j, "total");
    tt_row_json(&j, NULL, &tt_pool_schema, pool, &pool->total);
    tt_json_key(&j, "rows");
    tt_listing_json(&j, l);
    tt_json_object_end(&j);
    return tt_json_end(&j);
}

static int list_pool(const tt_faults_options *o, const tt_pool_report *pool)
{
    tt_listing l;
    const tt_listing_wish wish = tt_list_wish(&o->list, o->input.json, NULL);
    const tt_rowset set =
        o->list.schema == &tt_pool_schema ? tt_pool_rowset(pool) : tt_pool_reads_rowset(pool);
    int code = tt_list_make(&l, &set, &wish);
    if (code == TT_EXIT_OK)
        code = tt_report_output(o->input.json ? print_pool_json(o, pool, &l)
                                : o->list.csv ? tt_list_print_csv(&l)
                                              : tt_list_print(&l, NULL));
    tt_listing_free(&l);
    return code;
}

static int show_pool(const tt_faults_options *o, const tt_model *m)
{
    tt_pool_report pool;
    tt_error err;
    if (m->n_pool_states == 0)
        return tt_report_usage("%s: `tensortrace boost` did not read in this run (or had nothing "
                               "to do)",
                               o->input.path);
    int code = tt_pool_find(&pool, m, &err) == TT_OK ? list_pool(o, &pool) : tt_report_error(&err);
    tt_pool_free(&pool);
    return code;
}

static int show(const tt_faults_options *o, const tt_model *m)
{
    if (is_of_pool(o)) return show_pool(o, m);
    if (o->loading) return show_loading(o, m);
    if (o->pages) return show_pages(o, m);
    tt_faults_view v = {.path = o->input.path,
                        .m = m,
                        .filter = &o->filter,
                        .by = o->by,
                        .by_given = o->by_given,
                        .wish = tt_list_wish(&o->list, o->input.json, o->by->sort),
                        .residency = o->residency,
                        .counted = tt_model_has_faults(m)};
    tt_error err;
    int code = report_missing(o, &v);
    if (code != TT_EXIT_OK) return code;
    if (o->reads) return print_reads(o, m);
    tt_progress bar;
    tt_progress_begin(&bar, "reading", m->n_runs, "runs");
    tt_status status = tt_faults_collect(&v, tt_progress_callback, &bar, &err);
    tt_progress_end(&bar);
    int none = TT_EXIT_OK;
    if (status == TT_OK && !v.residency && v.sums && tt_faults_total(v.sums)->count == 0)
        none = tt_trace_none(m, &o->filter, "op");
    if (status != TT_OK)
        code = tt_list_error(&err);
    else if (o->input.json)
        code = tt_report_output(print_json(&v));
    else if (o->list.csv && v.rows)
        code = tt_report_output(tt_list_print_csv(v.rows));
    else if (none == TT_EXIT_OK) /* the kernel's totals are not of missing ops */
        code = tt_report_output(print_text(&v));
    if (!v.residency) note_lost(m);
    if (code == TT_EXIT_OK) code = none;
    tt_faults_view_free(&v);
    return code;
}

int tt_cmd_faults(int argc, char **argv)
{
    static const tt_options command = {
        .words = "FILE",
        .about = "Shows what the traced program had to read from disk: page faults and bytes read, "
                 "for which weights, when, at what rate, in which batch.\v"
                 "Needs a trace that was made with --faults (and --residency for pages in RAM). "
                 "READ: bytes that the kernel requested from a device while a thread was in the "
                 "op, including readahead. USED: bytes of weights that the ops read in the mapped "
                 "file, each byte once. OFF CPU: the threads' time in the ops on no processor, "
                 "asleep (disk, locks, other threads) or preempted.",
        .sets = {{option_table, .check = check_by},
                 TT_INPUT(tt_faults_options, input),
                 TT_LIST(tt_faults_options, list),
                 TT_FILTER(tt_faults_options, filter)},
    };
    tt_faults_options o = {.list.schema = &tt_faults_schema, .by = &tt_faults_dimensions[0]};
    tt_model *m = NULL;
    tt_options_parse(&command, argc, argv, &o);
    if (!o.list.limited && !o.input.json && !o.list.csv) o.list.limit = TABLE_LIMIT;
    int code = tt_input_open_trace(&o.input, TT_INPUT_NOTES, &m);
    if (code == TT_EXIT_OK) code = show(&o, m);
    tt_model_close(m);
    return code;
}
