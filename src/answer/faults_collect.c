#include "answer/faults.h"

#include <fnmatch.h>
#include <stdlib.h>

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
