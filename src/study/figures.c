#include "study/figures.h"

#include "analyze/faults.h"
#include "analyze/heat.h"
#include "analyze/kernel.h"
#include "analyze/kvcache.h"
#include "analyze/loading.h"
#include "analyze/routers.h"
#include "analyze/storage.h"
#include "analyze/summary.h"
#include "model/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *tt_study_domain(const tt_result *r)
{
    if (r->domain) return r->domain;
    if (r->label) return r->label;
    return r->prompt ? r->prompt : "";
}

#define LAYERS_MAX 1024u

/* --- from the trace --- */

static void add_speed(tt_study_run *r, const tt_model *m)
{
    tt_summary s;
    tt_summarize(m, &s);
    /* As the settings take a share of it: the files with what is not tensors, too. */
    for (uint32_t i = 0; i < m->n_files; i++)
        r->model_bytes += m->files[i].size_bytes;
    if (!r->model_bytes) r->model_bytes = s.model_bytes;
    r->prompt_tokens = s.prompt.delivered;
    r->generated_tokens = s.generate.delivered;
    r->prompt_tokens_per_s = s.prompt.tokens_per_s;
    r->tokens_per_s = s.generate.tokens_per_s;
    r->first_token_ns = s.first_tokens.n ? s.first_tokens.median_ns : 0;
    r->generate_ns = s.generate.total_ns;
}

static tt_status add_kernel(tt_study_run *r, const tt_model *m, tt_error *err)
{
    const tt_filter all = {0}, generated = {.phase = TT_PHASE_GENERATE};
    tt_kernel_sum sum;
    tt_kernel *k = tt_kernel_new(m);
    if (!k) return tt_error_memory(err, "a study");
    tt_kernel_batches(k, &all, &sum);
    r->has_all_io = sum.windows && sum.has_io && !sum.missing;
    r->read_bytes = sum.read_bytes;
    /* Not every batch's totals are known: a token's mean is that of those that are. */
    tt_kernel_batches(k, &generated, &sum);
    const double tokens = (double)sum.tokens;
    r->has_io = sum.windows && sum.has_io && tokens > 0;
    r->has_faults = sum.windows && sum.has_faults && tokens > 0;
    if (tokens > 0) {
        r->token_read_bytes = (double)sum.read_bytes / tokens;
        r->token_major = (double)sum.major / tokens;
        r->token_minor = (double)sum.minor / tokens;
    }
    tt_kernel_free(k);
    return TT_OK;
}

/* As many of the first batches as have ops that fit into memory. */
static tt_filter first_batches(const tt_model *m, uint8_t phase)
{
    tt_filter filter = {.phase = phase};
    uint64_t ops = 0;
    for (uint32_t i = 0; i < m->n_runs; i++) {
        const tt_run *run = &m->runs[i];
        ops += run->graph == TT_NONE ? 0 : m->graphs[run->graph].n_tensors;
        if (ops <= TT_STUDY_OPS_MAX || run->batch == TT_NONE) continue;
        filter.has_batch = true;
        filter.batch_first = tt_model_batch_number(m, 0);
        filter.batch_last = tt_model_batch_number(m, run->batch);
        break;
    }
    return filter;
}

static void add_steps(tt_study_run *r, const tt_heat *h)
{
    const tt_heat_steps *s = &h->steps;
    const uint64_t ways = s->forward.count + s->backward.count;
    /* Without the experts' reads the order would be that of the rest. */
    if (h->at_most || s->steps == 0 || h->batches == 0 || s->requests == 0) return;
    r->has_steps = true;
    r->adjacent = (double)s->adjacent / (double)s->steps;
    r->in_sequence = (double)s->requests_on / (double)s->requests;
    r->forward = ways ? (double)s->forward.count / (double)ways : 0;
    r->jump_bytes = s->forward.known ? (double)s->forward.p50_bytes : 0;
    r->sweeps = (double)s->sweeps / (double)h->batches;
}

static tt_status keep_slices(tt_study_run *r, const tt_heat *h, tt_error *err)
{
    r->slices = calloc(h->n_rows + 1, sizeof *r->slices);
    if (!r->slices) return tt_error_memory(err, "a study");
    for (size_t i = 0; i < h->n_rows; i++) {
        const tt_heat_row *row = &h->rows[i];
        if (row->expert == TT_EXPERT_NONE) continue;
        r->slices[r->n_slices++] =
            (tt_study_slice){(uint64_t)row->weight << 32 | (uint32_t)row->expert, row->accesses};
    }
    return TT_OK;
}

/* How many of a batch's bytes the previous one read, too: over the listed ranges, each of which is
 * unique. */
static tt_status add_repeated(tt_study_run *r, const tt_reads *reads, tt_error *err)
{
    /* The batch (from 1) that read a range last, and whether it did so in this one. */
    uint32_t *last = calloc(reads->n_ranges + 1, sizeof *last), batch = 0, before = TT_NONE;
    double again = 0, all = 0;
    if (!last) return tt_error_memory(err, "a study");
    for (size_t i = 0; i < reads->n_ops; i++) {
        const tt_read_op *op = &reads->ops[i];
        if (op->batch == TT_NONE) continue;
        batch += op->batch != before;
        before = op->batch;
        for (size_t k = op->first; k < reads->ops[i + 1].first; k++) {
            const uint32_t range = reads->order[k];
            const double size = (double)reads->ranges[range].size_bytes;
            if (last[range] == batch || !tt_read_range_is_placed(&reads->ranges[range])) continue;
            if (batch > 1) all += size;
            if (last[range] && last[range] + 1 == batch) again += size;
            last[range] = batch;
        }
    }
    free(last);
    r->has_repeated = all > 0;
    r->repeated = all > 0 ? again / all : 0;
    return TT_OK;
}

/* Whether the order of the layers in the file is the order of their use. */
static tt_status add_layers(tt_study_run *r, const tt_model *m, tt_error *err)
{
    uint64_t *begin = malloc((LAYERS_MAX + 1) * sizeof *begin);
    if (!begin) return tt_error_memory(err, "a study");
    for (size_t i = 0; i < LAYERS_MAX; i++)
        begin[i] = UINT64_MAX;
    for (size_t i = 0; i < m->n_weights; i++) {
        const tt_weight *w = &m->weights[i];
        const int32_t layer = w->place.layer_id;
        if (w->file != 0 || layer < 0 || layer >= (int32_t)LAYERS_MAX) continue;
        if (w->offset_bytes < begin[layer]) begin[layer] = w->offset_bytes;
    }
    for (size_t i = 1; i < LAYERS_MAX; i++) {
        if (begin[i] == UINT64_MAX || begin[i - 1] == UINT64_MAX) continue;
        r->layer_steps++;
        r->layers_forward += begin[i] > begin[i - 1];
    }
    free(begin);
    return TT_OK;
}

/* Which weights were read by ops that waited for the disk. */
static tt_status add_faults(tt_study_run *r, const tt_model *m, tt_error *err)
{
    const tt_filter generated = {.phase = TT_PHASE_GENERATE};
    size_t n = 0;
    double parts[3] = {0};
    if (!r->has_faults || !r->generated_tokens) return TT_OK;
    tt_faults *f = tt_faults_new(m, TT_FAULTS_BY_TENSOR, &generated);
    if (!f) return tt_error_memory(err, "a study");
    tt_status status = tt_faults_sum(f, NULL, NULL, err);
    const tt_faults_row *rows = status == TT_OK ? tt_faults_rows(f, &n) : NULL;
    for (size_t i = 0; i < n; i++) {
        const tt_faults_row *row = &rows[i];
        if (row->weight == TT_NONE || !row->counts.observed) continue;
        const tt_weight *w = &m->weights[row->weight];
        const bool is_expert = strstr(w->place.component, "_exps") != NULL;
        const unsigned part = w->place.layer_id < 0 ? 2 : is_expert ? 0 : 1;
        parts[part] += (double)row->counts.major;
    }
    const double all = parts[0] + parts[1] + parts[2];
    r->has_major_parts = all > 0;
    if (all > 0) {
        r->major_experts = parts[0] / all;
        r->major_layers = parts[1] / all;
        r->major_others = parts[2] / all;
    }
    tt_faults_free(f);
    return status;
}

static void add_heat(tt_study_run *r, const tt_heat *h)
{
    const tt_heat_phase *generate = &h->of_phase[TT_PHASE_GENERATE];
    const double model = (double)h->model_bytes;
    r->has_reads = h->reads > 0;
    r->read_batches = h->batches;
    if (generate->batches)
        r->batch_weights_bytes = (double)generate->distinct_bytes / (double)generate->batches;
    if (model > 0) {
        r->every = (double)h->every.bytes / model;
        r->never = (double)h->never.bytes / model;
    }
    for (size_t i = 0; i < TT_HEAT_CURVE; i++)
        if (fabs(h->curve[i].reads - 0.5) < 1e-9) r->hottest = h->curve[i].weights;
}

/* What each batch reads, by interval of the files. */
static tt_status draw(tt_study_run *r, const tt_model *m, const tt_reads *reads, tt_error *err)
{
    uint64_t *layout = tt_reads_layout(m, 1, NULL);
    uint32_t last = TT_NONE, row = 0;
    r->picture = calloc(TT_STUDY_ROWS, sizeof *r->picture);
    if (!layout || !r->picture) {
        free(layout);
        return tt_error_memory(err, "a study");
    }
    const uint64_t bin = (layout[m->n_files] + TT_STUDY_BINS - 1) / TT_STUDY_BINS;
    r->picture_bin_bytes = bin;
    for (size_t i = 0; i < reads->n_ops && bin; i++) {
        const tt_read_op *op = &reads->ops[i];
        if (op->batch == TT_NONE) continue;
        if (op->batch != last && last != TT_NONE) row++;
        last = op->batch;
        if (row == TT_STUDY_ROWS) break;
        r->picture_rows = row + 1;
        for (size_t k = op->first; k < reads->ops[i + 1].first; k++) {
            const tt_read_range *range = &reads->ranges[reads->order[k]];
            if (!tt_read_range_is_placed(range)) continue;
            uint64_t at = layout[m->weights[range->weight].file] + range->offset_bytes;
            for (uint64_t left = range->size_bytes; left && at / bin < TT_STUDY_BINS;) {
                const uint64_t room = bin - at % bin, part = left < room ? left : room;
                r->picture[row][at / bin] += part;
                at += part;
                left -= part;
            }
        }
    }
    free(layout);
    return TT_OK;
}

static tt_status measure(const tt_model *m, uint8_t phase, tt_reads *reads, tt_heat *heat,
                         tt_error *err)
{
    const tt_filter filter = first_batches(m, phase);
    tt_status status = tt_reads_collect(m, &filter, reads, NULL, NULL, err);
    if (status != TT_OK || reads->n == 0) return status;
    return tt_heat_measure(m, reads, &filter,
                           tt_heat_has_experts(reads) ? TT_HEAT_EXPERT : TT_HEAT_TENSOR, heat, err);
}

static tt_status add_reads(tt_study_run *r, const tt_model *m, bool wants_picture, tt_error *err)
{
    tt_reads all = {0}, generated = {0};
    tt_heat heat = {0}, of_generated = {0};
    tt_status status = measure(m, 0, &all, &heat, err);
    r->touched_bytes = heat.touched_bytes;
    if (status == TT_OK && wants_picture && all.n) status = draw(r, m, &all, err);
    tt_reads_free(&all);
    if (status == TT_OK) add_heat(r, &heat);
    if (status == TT_OK && r->generated_tokens)
        status = measure(m, TT_PHASE_GENERATE, &generated, &of_generated, err);
    if (status == TT_OK) add_steps(r, r->generated_tokens ? &of_generated : &heat);
    if (status == TT_OK && generated.n) status = add_repeated(r, &generated, err);
    if (status == TT_OK && of_generated.sliced) status = keep_slices(r, &of_generated, err);
    tt_reads_free(&generated);
    tt_heat_free(&heat);
    tt_heat_free(&of_generated);
    return status;
}

static tt_status add_loading(tt_study_run *r, const tt_model *m, tt_error *err)
{
    tt_loading l = {0};
    tt_status status = tt_loading_find(&l, m, true, err);
    for (size_t i = 0; status == TT_OK && i < l.n; i++) {
        const tt_loading_row *row = &l.rows[i];
        const bool before = row->phase <= TT_LOADING_LOADED;
        if (!before) continue;
        if (row->has_fetched) {
            r->has_loading = true;
            r->loaded_bytes += row->fetched_bytes;
        }
        if (row->evaluated) {
            r->has_vain = true;
            r->vain_bytes += row->unused_bytes + row->evicted_bytes;
        }
        if (row->phase == TT_LOADING_LOADED && row->looked) {
            r->has_residency = true;
            r->first_batch_bytes += row->resident_bytes;
        }
    }
    tt_loading_free(&l);
    return status;
}

static tt_status add_kv(tt_study_run *r, const tt_model *m, tt_error *err)
{
    tt_kv *kv = NULL;
    tt_status status = tt_kv_analyze(m, &kv, err);
    for (uint32_t i = 0; status == TT_OK && i < kv->n_caches; i++) {
        const tt_kv_cache *c = &kv->caches[i];
        if (!c->observed) continue;
        r->has_kv = true;
        r->kv_bytes += c->written_bytes;
        if (c->n_steps < 2) continue;
        const tt_kv_step *first = &c->steps[0], *last = &c->steps[c->n_steps - 1];
        const double cells = (double)last->cells_written - (double)first->cells_written;
        if (cells > 0)
            r->kv_token_bytes +=
                ((double)last->written_bytes - (double)first->written_bytes) / cells;
    }
    tt_kv_free(kv);
    return status;
}

static void add_machine(tt_study_run *r, const tt_model *m)
{
    tt_host_system s;
    tt_system_of(m, &s);
    r->has_available = s.memory_available_bytes < TT_HOST_UNLIMITED &&
                       s.memory_available_end_bytes < TT_HOST_UNLIMITED;
    r->available_bytes = s.memory_available_bytes;
    r->available_end_bytes = s.memory_available_end_bytes;
    if (m->n_files && m->files[0].extents) r->fragments = m->files[0].extents->n_fragments;
}

static tt_status add_domain(const tt_study_run *r, const tt_model *m, tt_domains *domains,
                            tt_error *err)
{
    const tt_filter all = {0};
    tt_status status =
        tt_domains_add_run(domains, tt_study_domain(r->result), m, &all, NULL, NULL, err);
    return status == TT_E_NOT_FOUND ? TT_OK : status;
}

tt_status tt_study_run_make(tt_study_run *r, const tt_result *result, const char *path,
                            bool wants_picture, tt_domains *domains, tt_error *err)
{
    tt_model *m = NULL;
    memset(r, 0, sizeof *r);
    r->result = result;
    if (!path) return TT_OK;
    tt_status status = tt_model_open(path, &m, err);
    if (status == TT_OK && !m->trace.complete && !result->ending)
        status = tt_error_set(err, TT_E_FORMAT, m->trace.end_bytes,
                              "the trace was cut off at byte %" PRIu64, m->trace.end_bytes);
    if (status != TT_OK) {
        tt_model_close(m);
        return status;
    }
    r->traced = true;
    r->has_experts = tt_routers_expert_nodes(m) > 0;
    add_speed(r, m);
    add_machine(r, m);
    status = add_kernel(r, m, err);
    if (status == TT_OK) status = add_layers(r, m, err);
    if (status == TT_OK) status = add_faults(r, m, err);
    if (status == TT_OK) status = add_reads(r, m, wants_picture, err);
    if (status == TT_OK) status = add_loading(r, m, err);
    if (status == TT_OK) status = add_kv(r, m, err);
    if (status == TT_OK && domains && r->has_experts) status = add_domain(r, m, domains, err);
    tt_model_close(m);
    return status;
}

void tt_study_run_free(tt_study_run *r)
{
    free(r->slices);
    free(r->picture);
    memset(r, 0, sizeof *r);
}

/* --- two runs --- */

typedef struct ranked {
    uint64_t key, reads;
    double rank;
} ranked;

static int by_reads(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->reads < y->reads ? -1 : x->reads > y->reads;
}

static int by_key(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* The slices by key, with ranks around 0; equal counts share theirs. */
static void rank(const tt_study_run *r, ranked *list)
{
    const size_t n = r->n_slices;
    for (size_t i = 0; i < n; i++)
        list[i] = (ranked){r->slices[i].key, r->slices[i].reads, 0};
    qsort(list, n, sizeof *list, by_reads);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && list[end].reads == list[i].reads; end++)
            ;
        for (size_t k = i; k < end; k++)
            list[k].rank = (double)(i + end - 1) / 2 - (double)(n - 1) / 2;
    }
    qsort(list, n, sizeof *list, by_key);
}

bool tt_study_rank_correlation(const tt_study_run *a, const tt_study_run *b, double *rho)
{
    const size_t n = a->n_slices;
    double xx = 0, yy = 0, xy = 0;
    bool same = true;
    *rho = NAN;
    if (n < 2 || b->n_slices != n) return true;
    ranked *x = calloc(2 * n, sizeof *x), *y = x ? x + n : NULL;
    if (!x) return false;
    rank(a, x);
    rank(b, y);
    for (size_t i = 0; i < n; i++) {
        same = same && x[i].key == y[i].key;
        xx += x[i].rank * x[i].rank;
        yy += y[i].rank * y[i].rank;
        xy += x[i].rank * y[i].rank;
    }
    free(x);
    if (same && xx > 0 && yy > 0) *rho = xy / sqrt(xx * yy);
    return true;
}
