#include "answer/faults.h"

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
    tt_json_kv_u64(j, "stray_details", tt_faults_stray(v->sums));
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
        difference(j, "cpu_ns", faults, k->user_ns + k->system_ns, c->cpu_ns);
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
    tt_json_kv_u64_or_null(j, "token_id", in_batch,
                           in_batch ? tt_model_token(s->v->m, r->batch) : 0);
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
