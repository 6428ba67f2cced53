#include "answer/faults.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool tt_faults_passes_weight(const tt_faults_view *v, const tt_weight *w)
{
    return tt_filter_weight(v->filter, v->m, w);
}

static void add_sample(void *context, const tt_residency_sample *s, const tt_ranges *now)
{
    tt_faults_view *v = context;
    tt_faults_file *f = &v->files[s->file];
    (void)now;
    if (f->samples++ == 0) {
        f->first = *s;
        f->least_bytes = s->resident_bytes;
    }
    f->last = *s;
    if (s->resident_bytes < f->least_bytes) f->least_bytes = s->resident_bytes;
    if (s->resident_bytes > f->most_bytes) f->most_bytes = s->resident_bytes;
    f->came_bytes += s->came_bytes;
    f->went_bytes += s->went_bytes;
    if (!tt_filter_batch(v->filter, v->m, s->batch)) return;
    if (v->n_samples == v->samples_capacity) {
        size_t more = v->samples_capacity ? v->samples_capacity * 2 : 64;
        tt_residency_sample *samples = reallocarray(v->samples, more, sizeof *samples);
        if (!samples) {
            v->failed = true;
            return;
        }
        v->samples = samples;
        v->samples_capacity = more;
    }
    v->samples[v->n_samples++] = *s;
}

static tt_status list_rows(tt_faults_view *v, tt_error *err)
{
    size_t n;
    const tt_faults_row *rows = tt_faults_rows(v->sums, &n);
    v->columns =
        (tt_faults_context){v->m, v->kernel, v->by->by, tt_faults_total(v->sums), &v->process};
    v->set = tt_faults_rowset(&v->columns, v->by->by, rows, n);
    v->rows = &v->listing;
    return tt_listing_make(&v->listing, &v->set, &v->wish, err);
}

tt_status tt_faults_collect(tt_faults_view *v, tt_faults_progress *progress, void *context,
                            tt_error *err)
{
    tt_status status = TT_OK;
    v->kernel = tt_kernel_new(v->m);
    v->files = calloc((size_t)v->m->n_files + 1, sizeof *v->files);
    v->weights = calloc((size_t)v->m->n_weights + 1, sizeof *v->weights);
    if (v->counted) v->sums = tt_faults_new(v->m, v->by->by, v->filter);
    if (!v->kernel || !v->files || !v->weights || (v->counted && !v->sums))
        return tt_error_memory(err, "the faults");
    tt_kernel_batches(v->kernel, v->filter, &v->batches);
    tt_kernel_recording(v->kernel, &v->recording);
    if (v->sums && !v->residency) status = tt_faults_sum(v->sums, progress, context, err);
    if (status == TT_OK) status = tt_residency_walk(v->m, add_sample, v, v->weights, err);
    if (status == TT_OK && v->failed)
        status = tt_error_memory(err, "the samples of what was in RAM");
    if (status == TT_OK && v->sums && !v->residency) status = list_rows(v, err);
    return status;
}

void tt_faults_view_free(tt_faults_view *v)
{
    tt_listing_free(&v->listing);
    tt_faults_free(v->sums);
    tt_kernel_free(v->kernel);
    free(v->samples);
    free(v->files);
    free(v->weights);
}

/* The excess of the process's counts over those of the ops. */
static bool all_faults(const tt_faults_view *v)
{
    return v->batches.has_faults && tt_faults_batches(v->sums)->observed;
}

#define DIFFERENCE(name, known_, all, member)                                                      \
    TT_COLUMN_GET(name, tt_faults_view, v, {                                                       \
        cell->known = (known_);                                                                    \
        cell->f64 = (double)(all) - (double)tt_faults_batches(v->sums)->member;                    \
    })
DIFFERENCE(minor_outside, all_faults(v), v->batches.minor, minor)
DIFFERENCE(major_outside, all_faults(v), v->batches.major, major)
DIFFERENCE(read_outside, v->batches.has_io &&tt_faults_batches(v->sums)->observed_reads,
           v->batches.read_bytes, read_bytes)
DIFFERENCE(cpu_outside, all_faults(v) && tt_faults_batches(v->sums)->observed_cpu,
           v->batches.user_ns + v->batches.system_ns, cpu_ns)

static const tt_column outside_columns[] = {
    TT_FIELD("minor_faults", "faults that did not wait for a device", .type = TT_CELL_F64,
             .get = minor_outside),
    TT_FIELD("major_faults", "faults that waited for a device", .type = TT_CELL_F64,
             .get = major_outside),
    TT_FIELD("read_bytes", "that devices were asked for", .type = TT_CELL_F64, .get = read_outside),
    TT_FIELD("cpu_ns", "time on a processor", .type = TT_CELL_F64, .get = cpu_outside),
};
static const tt_schema outside_schema = TT_SCHEMA("outside_ops", "in batches", outside_columns);

TT_COLUMN_ROWS(in_batches, tt_faults_view, v, &v->batches, v->batches.windows > 0)
TT_COLUMN_ROWS(recording, tt_faults_view, v, &v->recording, v->recording.windows > 0)
TT_COLUMN_ROWS(ops_in_batches, tt_faults_view, v, tt_faults_batches(v->sums), 1)
TT_COLUMN_KNOWN(has_both, tt_faults_view, v, v->sums && v->batches.windows > 0)

static const tt_column kernel_columns[] = {
    TT_FIELD("batches", "with counts", TT_MEMBER(tt_faults_view, batches.windows)),
    TT_FIELD("batches_not_observed", "without", TT_MEMBER(tt_faults_view, batches.missing)),
    TT_FIELD("batches_overlap", "some did", TT_MEMBER(tt_faults_view, batches.overlap)),
    TT_FIELD("process_in_batches", "what the kernel counted", .type = TT_CELL_OBJECT,
             .inner = &tt_kernel_schema, .rows = in_batches),
    TT_FIELD("process_while_recording", "likewise", .type = TT_CELL_OBJECT,
             .inner = &tt_kernel_schema, .rows = recording),
    TT_FIELD("ops_in_batches", "counted in ops", .type = TT_CELL_OBJECT, .known = has_both,
             .show = TT_SHOW_OMIT, .inner = &tt_fault_counts_schema, .rows = ops_in_batches),
    TT_FIELD("outside_ops", "the difference", .type = TT_CELL_OBJECT, .known = has_both,
             .show = TT_SHOW_OMIT, .inner = &outside_schema),
};
static const tt_schema kernel_schema = TT_SCHEMA("kernel", "what it counted", kernel_columns);

/* --- residency --- */

typedef struct samples {
    tt_json *j;
    const tt_faults_view *v;
} samples;

static void sample_tensors(const samples *s, const tt_residency_sample *r, const tt_ranges *now)
{
    const tt_model *m = s->v->m;
    const tt_model_file *f = &m->files[r->file];
    tt_json_key(s->j, "tensor_resident_bytes"); /* at the end of a sample */
    tt_json_array(s->j);
    for (uint32_t i = f->first_weight; i < f->first_weight + f->n_weights; i++) {
        const tt_weight *w = &m->weights[i];
        if (!tt_faults_passes_weight(s->v, w)) continue;
        uint64_t end;
        if (__builtin_add_overflow(w->offset_bytes, w->size_bytes, &end)) end = UINT64_MAX;
        tt_json_u64(s->j, tt_ranges_within(now, w->offset_bytes, end));
    }
    tt_json_array_end(s->j);
}

static const tt_model *model_of(const void *context)
{
    return ((const tt_faults_view *)context)->m;
}

static void sample(void *context, const tt_residency_sample *r, const tt_ranges *now)
{
    const samples *s = context;
    const tt_faults_view *v = s->v;
    const tt_rowset row = TT_ROWSET(&tt_residency_sample_schema, 0, v->m, r, 1);
    if (!tt_filter_batch(v->filter, v->m, r->batch)) return;
    tt_json_object(s->j);
    tt_rowset_json(s->j, &row, r);
    if (v->residency && v->by->by == TT_FAULTS_BY_TENSOR && v->by_given) sample_tensors(s, r, now);
    tt_json_object_end(s->j);
}

static const tt_weight *sampled_weight(const tt_faults_view *v, const tt_residency_weight *r)
{
    return &v->m->weights[r - v->weights];
}

TT_COLUMN_GET(weight_name, tt_residency_weight, r,
              tt_cell_text(cell, sampled_weight(context, r)->name);)
TT_COLUMN_GET(weight_model, tt_residency_weight, r,
              tt_cell_text(cell, model_of(context)->files[sampled_weight(context, r)->file].path);)
TT_COLUMN_VALUE(weight_size, tt_residency_weight, r, u64, sampled_weight(context, r)->size_bytes)
TT_COLUMN_KNOWN(was_sampled, tt_residency_weight, r, r->samples > 0)

#define RESIDENT(key_, title_, show_, about_)                                                      \
    TT_COLUMN(#key_, title_, BYTES, about_, .known = was_sampled, .show = show_,                   \
              TT_MEMBER(tt_residency_weight, key_))
static const tt_column weight_columns[] = {
    TT_COLUMN("tensor", "TENSOR", NONE, "the weight", .type = TT_CELL_NAME, .get = weight_name,
              .show = TT_SHOW_CUT | TT_SHOW_KEY),
    TT_FIELD("model_file", "the model file", .type = TT_CELL_NAME, .get = weight_model),
    TT_COLUMN("size_bytes", "SIZE", BYTES, "size of the weight", .type = TT_CELL_U64,
              .get = weight_size),
    TT_FIELD("samples", "of all of it", TT_MEMBER(tt_residency_weight, samples)),
    RESIDENT(first_bytes, "FIRST", 0, "in RAM at first"),
    RESIDENT(last_bytes, "LAST", 0, "at last"),
    RESIDENT(least_bytes, "LEAST", TT_SHOW_WIDE, "at least"),
    RESIDENT(most_bytes, "MOST", 0, "at most"),
    RESIDENT(came_bytes, "LOADED", 0, "over all samples"),
    RESIDENT(went_bytes, "EVICTED", 0, "over all samples"),
};
const tt_schema tt_faults_weight_schema = TT_SCHEMA("tensors", "in RAM", weight_columns);

TT_COLUMN_KNOWN(passes_weight, tt_residency_weight, r,
                tt_faults_passes_weight(context, sampled_weight(context, r)))

/* The context of what is written as a whole. */
typedef struct outcome {
    bool *ok;
} outcome;

/* Walks the samples a second time, because the pages of each tensor in RAM are not kept. */
TT_COLUMN_JSON(json_samples, tt_faults_view, v, {
    samples s = {j, v};
    tt_json_array(j);
    if (tt_residency_walk(v->m, sample, &s, NULL, NULL) != TT_OK)
        *((const outcome *)context)->ok = false;
    tt_json_array_end(j);
})

static void weights(const void *context, const void *row, tt_rowset *out)
{
    const tt_faults_view *v = row;
    (void)context;
    *out = TT_ROWSET(&tt_faults_weight_schema, 0, v, v->weights, v->m->n_weights);
    out->passes = passes_weight;
}

static const tt_column residency_columns[] = {
    TT_FIELD("samples", "that pass", .type = TT_CELL_ROWS, .json = json_samples),
    TT_FIELD("tensors", "over all samples", .type = TT_CELL_ROWS, .rows = weights),
};
static const tt_schema residency_schema = TT_SCHEMA("residency", "in RAM", residency_columns);

/* --- all of it --- */

TT_COLUMN_KNOWN(has_rows, tt_faults_view, v, v->sums && !v->residency)
TT_COLUMN_KNOWN(has_kernel, tt_faults_view, v, !v->residency)
TT_COLUMN_KNOWN(has_residency, tt_faults_view, v, v->m->n_residencies > 0)
TT_COLUMN_LISTING(rows, tt_faults_view, v, v->rows)
TT_COLUMN_VALUE(get_orphans, tt_faults_view, v, u64, tt_faults_orphan(v->sums))

static void total(const void *context, const void *row, tt_rowset *out)
{
    const tt_faults_view *v = row;
    (void)context;
    *out = *v->rows->set;
    out->rows = tt_faults_total(v->sums);
    out->n = 1;
    out->sum = true;
}

/* The columns' context but of these is the view. */
static void kernel(const void *context, const void *row, tt_rowset *out)
{
    (void)context;
    out->context = row;
}

#define IF(known_, key_, about_, ...)                                                              \
    TT_FIELD(key_, about_, .known = (known_), .show = TT_SHOW_OMIT, __VA_ARGS__)

static const tt_column columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(tt_faults_view, path)),
    TT_FIELD("faults_recorded", "it has the kernel's counts of ops",
             TT_MEMBER(tt_faults_view, counted)),
    IF(has_rows, "by", "what a row is", TT_THROUGH(tt_faults_view, by),
       TT_MEMBER(tt_faults_dimension, name)),
    IF(has_rows, "rows", "that are listed", .type = TT_CELL_ROWS, .rows = rows),
    IF(has_rows, "total", "of all rows", .type = TT_CELL_OBJECT, .rows = total),
    IF(has_rows, "rows_total", "also those behind the limit", TT_THROUGH(tt_faults_view, rows),
       TT_MEMBER(tt_listing, n_all)),
    IF(has_rows, "orphan_details", "of no op", .type = TT_CELL_U64, .get = get_orphans),
    IF(has_kernel, "kernel", "what it counted", .type = TT_CELL_OBJECT, .inner = &kernel_schema,
       .rows = kernel),
    IF(has_residency, "residency", "what was in RAM", .type = TT_CELL_OBJECT,
       .inner = &residency_schema),
};
static const tt_schema schema = TT_SCHEMA("faults", "reads from disk, and RAM", columns);

bool tt_faults_json(tt_json *j, tt_faults_view *v)
{
    bool ok = true;
    tt_row_json(j, NULL, &schema, &(outcome){&ok}, v);
    return ok;
}

typedef struct loading_view {
    const char *path;
    const tt_listing *rows;
} loading_view;

TT_COLUMN_LISTING(loading_rows, loading_view, v, v->rows)

static const tt_column loading_columns[] = {
    TT_FIELD("file", "the trace", TT_MEMBER(loading_view, path)),
    TT_FIELD("loading", "the model files", .type = TT_CELL_ROWS, .rows = loading_rows),
};
static const tt_schema loading_schema = TT_SCHEMA("loading", "how a model came", loading_columns);

void tt_loading_json(tt_json *j, const char *path, const tt_listing *rows)
{
    const loading_view v = {path, rows};
    tt_row_json(j, NULL, &loading_schema, NULL, &v);
}
