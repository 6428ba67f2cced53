#include "answer/faults.h"

#include "base/units.h"

#include <fnmatch.h>
#include <stdlib.h>

uint64_t tt_fault_op_ticks(const tt_fault_op *op)
{
    return op->times->open ? 0 : tt_joined_ticks(op->times);
}

static void json_weights(tt_json *j, const tt_model *m, const tt_fault_op *op)
{
    uint32_t last = TT_NONE;
    tt_json_key(j, "tensors");
    tt_json_array(j);
    for (size_t i = 0; i < op->n_accesses; i++) {
        if (op->accesses[i].weight == last) continue;
        last = op->accesses[i].weight;
        tt_json_string(j, m->weights[last].name);
    }
    tt_json_array_end(j);
}

void tt_fault_op_json(tt_json *j, const tt_model *m, const tt_fault_op *op)
{
    const tt_run *run = &m->runs[op->run];
    tt_json_object(j);
    tt_json_kv_u64(j, "start_ns", tt_model_mono_ns(m, op->times->start));
    tt_json_kv_double(j, "start_relative_ns", tt_model_ns(m, op->times->start));
    tt_json_key(j, "duration_ns");
    if (op->times->open)
        tt_json_null(j);
    else
        tt_json_u64(j, tt_units_round_ns(tt_model_span_ns(m, tt_fault_op_ticks(op))));
    tt_json_key(j, "batch_id");
    if (run->batch == TT_NONE)
        tt_json_null(j);
    else
        tt_json_u64(j, tt_model_batch_number(m, run->batch));
    tt_json_kv_u64(j, "run_id", run->id);
    tt_json_kv_u64(j, "node", op->op->node);
    tt_json_kv_string(j, "op", op->op->op);
    tt_json_kv_string(j, "name", op->op->name);
    tt_json_key(j, "layer_id");
    if (op->op->place.layer_id < 0)
        tt_json_null(j);
    else
        tt_json_i64(j, op->op->place.layer_id);
    tt_json_kv_u64(j, "minor_faults", op->counts.minor);
    tt_json_kv_u64(j, "major_faults", op->counts.major);
    tt_json_key(j, "read_bytes");
    if (op->counts.observed_reads)
        tt_json_u64(j, op->counts.read_bytes);
    else
        tt_json_null(j);
    tt_json_kv_u64(j, "accessed_bytes", op->accessed_bytes);
    json_weights(j, m, op);
    tt_json_object_end(j);
}

bool tt_faults_passes_weight(const tt_faults_view *v, const tt_weight *w)
{
    const tt_filter *f = v->filter;
    if (f->has_layer && w->place.layer_id != f->layer) return false;
    return !f->tensor || fnmatch(f->tensor, w->name, 0) == 0;
}

const char *tt_faults_moment(uint8_t moment)
{
    switch (moment) {
    case TT_AT_BATCH_BEGIN:
        return "batch_begin";
    case TT_AT_BATCH_END:
        return "batch_end";
    case TT_AT_BEGIN:
        return "recording_begin";
    case TT_AT_END:
        return "recording_end";
    default:
        return "unknown";
    }
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

static void put_object(tt_json *j, const char *key, const tt_schema *schema, const void *row)
{
    const tt_rowset set = {.schema = schema, .rows = row, .n = 1};
    tt_json_key(j, key);
    tt_json_object(j);
    tt_rowset_json(j, &set, row);
    tt_json_object_end(j);
}

static void kernel_sum(tt_json *j, const char *key, const tt_kernel_sum *k)
{
    if (k->windows) {
        put_object(j, key, &tt_kernel_schema, k);
    } else {
        tt_json_key(j, key);
        tt_json_null(j);
    }
}

static void rows(tt_json *j, const tt_faults_view *v)
{
    tt_json_kv_string(j, "by", v->by->name);
    tt_json_key(j, "rows");
    tt_listing_json(j, v->rows);
    tt_json_key(j, "total");
    tt_json_object(j);
    tt_rowset_json_total(j, v->rows->set, tt_faults_total(v->sums));
    tt_json_object_end(j);
    tt_json_kv_u64(j, "rows_total", v->rows->n_all);
    tt_json_kv_u64(j, "orphan_details", tt_faults_orphan(v->sums));
}

static void difference(tt_json *j, const char *key, bool known, uint64_t all, uint64_t part)
{
    tt_json_key(j, key);
    if (known)
        tt_json_double(j, (double)all - (double)part);
    else
        tt_json_null(j);
}

static void kernel(tt_json *j, const tt_faults_view *v)
{
    const tt_kernel_sum *k = &v->batches;
    tt_json_key(j, "kernel");
    tt_json_object(j);
    tt_json_kv_u64(j, "batches", k->windows);
    tt_json_kv_u64(j, "batches_not_observed", k->missing);
    tt_json_kv_bool(j, "batches_overlap", k->overlap);
    kernel_sum(j, "process_in_batches", k);
    kernel_sum(j, "process_while_recording", &v->recording);
    if (v->sums && k->windows) {
        const tt_fault_counts *c = tt_faults_batches(v->sums);
        const bool faults = k->has_faults && c->observed, io = k->has_io && c->observed_reads;
        put_object(j, "ops_in_batches", &tt_fault_counts_schema, c);
        tt_json_key(j, "outside_ops");
        tt_json_object(j);
        difference(j, "minor_faults", faults, k->minor, c->minor);
        difference(j, "major_faults", faults, k->major, c->major);
        difference(j, "read_bytes", io, k->read_bytes, c->read_bytes);
        difference(j, "cpu_ns", faults && c->observed_cpu, k->user_ns + k->system_ns, c->cpu_ns);
        tt_json_object_end(j);
    }
    tt_json_object_end(j);
}

/* --- residency --- */

typedef struct samples {
    tt_json *j;
    const tt_faults_view *v;
} samples;

static void sample_tensors(const samples *s, const tt_residency_sample *r, const tt_ranges *now)
{
    const tt_model *m = s->v->m;
    const tt_model_file *f = &m->files[r->file];
    tt_json_key(s->j, "tensor_resident_bytes");
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

static void sample(void *context, const tt_residency_sample *r, const tt_ranges *now)
{
    const samples *s = context;
    tt_json *j = s->j;
    if (!tt_filter_batch(s->v->filter, s->v->m, r->batch)) return;
    tt_json_object(j);
    tt_json_kv_string(j, "model", s->v->m->files[r->file].path);
    bool in_batch = r->batch != TT_NONE;
    tt_json_kv_u64_or_null(j, "batch_id", in_batch,
                           in_batch ? tt_model_batch_number(s->v->m, r->batch) : 0);
    tt_json_kv_string(j, "moment", tt_faults_moment(r->moment));
    tt_json_kv_double(j, "start_relative_ns", tt_model_ns(s->v->m, r->begin_ticks));
    tt_json_kv_double(j, "end_relative_ns", tt_model_ns(s->v->m, r->end_ticks));
    tt_json_kv_u64(j, "observed_bytes", r->observed_bytes);
    tt_json_kv_u64(j, "resident_bytes", r->resident_bytes);
    tt_json_kv_u64_or_null(j, "came_bytes", r->compared, r->came_bytes);
    tt_json_kv_u64_or_null(j, "went_bytes", r->compared, r->went_bytes);
    if (s->v->residency && s->v->by->by == TT_FAULTS_BY_TENSOR && s->v->by_given)
        sample_tensors(s, r, now);
    tt_json_object_end(j);
}

static void residency_tensor(tt_json *j, const tt_faults_view *v, uint32_t at)
{
    const tt_weight *w = &v->m->weights[at];
    const tt_residency_weight *r = &v->weights[at];
    const bool known = r->samples > 0;
    tt_json_object(j);
    tt_json_kv_string(j, "tensor", w->name);
    tt_json_kv_string(j, "model", v->m->files[w->file].path);
    tt_json_kv_u64(j, "size_bytes", w->size_bytes);
    tt_json_kv_u64(j, "samples", r->samples);
    tt_json_kv_u64_or_null(j, "first_bytes", known, r->first_bytes);
    tt_json_kv_u64_or_null(j, "last_bytes", known, r->last_bytes);
    tt_json_kv_u64_or_null(j, "least_bytes", known, r->least_bytes);
    tt_json_kv_u64_or_null(j, "most_bytes", known, r->most_bytes);
    tt_json_kv_u64_or_null(j, "came_bytes", known, r->came_bytes);
    tt_json_kv_u64_or_null(j, "went_bytes", known, r->went_bytes);
    tt_json_object_end(j);
}

/* The samples are walked a second time: what was in RAM of each tensor is not kept. */
static bool residency(tt_json *j, const tt_faults_view *v)
{
    samples s = {j, v};
    tt_json_key(j, "residency");
    tt_json_object(j);
    tt_json_key(j, "samples");
    tt_json_array(j);
    bool ok = tt_residency_walk(v->m, sample, &s, NULL, NULL) == TT_OK;
    tt_json_array_end(j);
    tt_json_key(j, "tensors");
    tt_json_array(j);
    for (uint32_t i = 0; i < v->m->n_weights; i++)
        if (tt_faults_passes_weight(v, &v->m->weights[i])) residency_tensor(j, v, i);
    tt_json_array_end(j);
    tt_json_object_end(j);
    return ok;
}

bool tt_faults_json(tt_json *j, tt_faults_view *v)
{
    bool ok = true;
    tt_json_object(j);
    tt_json_kv_string(j, "file", v->path);
    tt_json_kv_bool(j, "faults_recorded", v->counted);
    if (v->sums && !v->residency) rows(j, v);
    if (!v->residency) kernel(j, v);
    if (v->m->n_residencies) ok = residency(j, v);
    tt_json_object_end(j);
    return ok;
}
