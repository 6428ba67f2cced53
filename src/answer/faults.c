#include "answer/faults.h"

#include "base/units.h"

#include <inttypes.h>
#include <math.h>
#include <sys/sysmacros.h>
#include <sys/types.h>

static void kv_ns(tt_json *j, const char *key, bool known, double ns)
{
    tt_json_kv_u64_or_null(j, key, known, tt_units_round_ns(ns));
}

static void counts(tt_json *j, const tt_fault_counts *c)
{
    tt_json_kv_u64(j, "counted", c->observed);
    tt_json_kv_u64_or_null(j, "minor_faults", c->observed > 0, c->minor);
    tt_json_kv_u64_or_null(j, "major_faults", c->observed > 0, c->major);
    tt_json_kv_u64_or_null(j, "read_bytes", c->observed_reads > 0, c->read_bytes);
    tt_json_kv_bool(j, "read_bytes_at_least", c->observed_reads && c->observed_reads < c->observed);
    tt_json_kv_u64_or_null(j, "cpu_ns", c->observed > 0, c->cpu_ns);
}

static void kernel_sum(tt_json *j, const char *key, const tt_kernel_sum *k)
{
    tt_json_key(j, key);
    if (k->windows == 0) {
        tt_json_null(j);
        return;
    }
    tt_json_object(j);
    tt_json_kv_u64_or_null(j, "minor_faults", k->has_faults, k->minor);
    tt_json_kv_u64_or_null(j, "major_faults", k->has_faults, k->major);
    tt_json_kv_u64_or_null(j, "read_bytes", k->has_io, k->read_bytes);
    tt_json_kv_u64_or_null(j, "read_call_bytes", k->has_io, k->rchar_bytes);
    tt_json_kv_u64_or_null(j, "user_ns", k->has_faults, k->user_ns);
    tt_json_kv_u64_or_null(j, "system_ns", k->has_faults, k->system_ns);
    tt_json_key(j, "devices");
    tt_json_array(j);
    for (uint32_t i = 0; i < k->n_devices; i++) {
        char name[32];
        const dev_t device = (dev_t)k->devices[i].device;
        (void)snprintf(name, sizeof name, "%u:%u", major(device), minor(device));
        tt_json_object(j);
        tt_json_kv_string(j, "device", name);
        tt_json_kv_u64(j, "read_bytes", k->devices[i].read_bytes);
        tt_json_kv_u64(j, "reads", k->devices[i].reads);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_object_end(j);
}

static void batches(tt_json *j, const char *key, const tt_ranges *r)
{
    tt_json_key(j, key);
    tt_json_array(j);
    for (size_t i = 0; i < r->n; i++) {
        tt_json_array(j);
        tt_json_u64(j, r->list[i].begin);
        tt_json_u64(j, r->list[i].end - 1);
        tt_json_array_end(j);
    }
    tt_json_array_end(j);
}

static void row(tt_json *j, const tt_faults_view *v, const tt_faults_row *r)
{
    const bool counted = r->counts.observed > 0;
    tt_json_kv_u64(j, "count", r->count);
    counts(j, &r->counts);
    if (v->by->by == TT_FAULTS_BY_TENSOR) tt_json_kv_bool(j, "shared", r->shared);
    if (v->by->by != TT_FAULTS_BY_THREAD || r == tt_faults_total(v->sums)) {
        tt_json_kv_u64(j, "accessed_bytes", r->accessed_bytes);
        tt_json_kv_u64(j, "used_bytes", r->used_bytes);
        tt_json_kv_u64(j, "used_mapped_bytes", r->mapped_bytes);
        tt_json_kv_bool(j, "used_bytes_at_most", r->at_most);
        tt_json_kv_double(j, "amplification", tt_faults_amplification(r));
    }
    tt_json_kv_double(j, "rate_bytes_per_s", tt_faults_rate(r));
    tt_json_kv_u64(j, "reading_count", r->reading_count);
    kv_ns(j, "time_ns", counted, r->time_ns);
    kv_ns(j, "reading_ns", counted, r->reading_ns);
    kv_ns(j, "busy_ns", r->busy_ns > 0, r->busy_ns);
    kv_ns(j, "blocked_ns", r->busy_ns > 0, tt_faults_blocked_ns(r));
    kv_ns(j, "first_read_relative_ns", r->first_known, r->first_ns);
    kv_ns(j, "last_read_relative_ns", r->first_known, r->last_ns);
    batches(j, "reading_token_ranges", &r->tokens);
}

static void row_key(tt_json *j, const tt_faults_view *v, const tt_faults_row *r)
{
    const tt_faults_dimension *by = v->by;
    tt_json_key(j, by->key);
    if (by->number && r->number < 0)
        tt_json_null(j);
    else if (by->number)
        tt_json_i64(j, r->number);
    else if (by->by == TT_FAULTS_BY_TENSOR && r->weight == TT_NONE)
        tt_json_null(j);
    else
        tt_json_string(j, r->key);
    if (by->by == TT_FAULTS_BY_TENSOR && r->weight != TT_NONE) {
        const tt_weight *w = &v->m->weights[r->weight];
        tt_json_kv_string(j, "model", v->m->files[w->file].path);
        tt_json_kv_u64(j, "file_offset_bytes", w->offset_bytes);
        tt_json_kv_u64(j, "size_bytes", w->size_bytes);
        tt_json_kv_string(j, "origin", tt_origin_name(r->origin));
    }
    if (by->by == TT_FAULTS_BY_TOKEN && r->number >= 0) {
        tt_kernel_sum k;
        const uint32_t batch = tt_model_batch(v->m, (uint32_t)r->number + 1);
        tt_kernel_batch(v->kernel, batch, &k);
        tt_json_kv_string(j, "phase", tt_phase_name(v->m->batches[batch].phase));
        tt_json_kv_u64(j, "tokens", v->m->batches[batch].n_tokens);
        kernel_sum(j, "process", &k);
    }
}

static void rows(tt_json *j, tt_faults_view *v)
{
    size_t n = 0;
    const uint64_t limit = v->limit;
    const tt_faults_row *list = tt_faults_rows(v->sums, v->sort, &n);
    tt_json_kv_string(j, "by", v->by->name);
    tt_json_key(j, "rows");
    tt_json_array(j);
    for (size_t i = 0; i < n && (!limit || i < limit); i++) {
        tt_json_object(j);
        row_key(j, v, &list[i]);
        row(j, v, &list[i]);
        tt_json_object_end(j);
    }
    tt_json_array_end(j);
    tt_json_key(j, "total");
    tt_json_object(j);
    row(j, v, tt_faults_total(v->sums));
    tt_json_object_end(j);
    tt_json_kv_u64(j, "rows_total", n);
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
        tt_json_key(j, "ops_in_batches");
        tt_json_object(j);
        counts(j, c);
        tt_json_object_end(j);
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
