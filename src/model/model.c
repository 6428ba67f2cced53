#include "model/model.h"

#include "base/array.h"
#include "base/checksum.h"
#include "base/order.h"
#include "base/path.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES_USUAL 4096u /* for traces that do not have it */

static void free_run_faults(struct tt_run_faults *f)
{
    if (f) free(f->list);
    free(f);
}

tt_status tt_model_share(const tt_model *m, tt_model **out, tt_error *err)
{
    *out = NULL;
    tt_model *share = malloc(sizeof *share);
    if (!share) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    *share = *m;
    share->is_share = true;
    share->pieces = NULL;
    share->details = NULL;
    share->data = NULL;
    share->run_faults = calloc(1, sizeof *share->run_faults);
    tt_status status =
        share->run_faults ? TT_OK : tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory");
    if (status == TT_OK) status = tt_details_open(&m->trace, &share->details, err);
    if (status == TT_OK) status = tt_data_open(&m->trace, &share->data, err);
    if (status == TT_OK) status = tt_pieces_open(&m->trace, &share->pieces, err);
    if (status == TT_OK)
        *out = share;
    else
        tt_model_close(share);
    return status;
}

void tt_model_share_rest(tt_model *share)
{
    tt_pieces_free(share->pieces);
    tt_details_free(share->details);
    tt_data_free(share->data);
    free_run_faults(share->run_faults);
    share->run_faults = NULL;
    share->pieces = NULL;
    share->details = NULL;
    share->data = NULL;
}

void tt_model_close(tt_model *m)
{
    if (!m) return;
    tt_pieces_free(m->pieces);
    tt_details_free(m->details);
    tt_data_free(m->data);
    free_run_faults(m->run_faults);
    if (m->is_share) {
        free(m);
        return;
    }
    free(m->environment);
    free(m->files);
    free(m->weights);
    free(m->buffers);
    free(m->graphs);
    free(m->batches);
    free(m->runs);
    free(m->decodes);
    free(m->rings);
    free(m->losses);
    free(m->detail_losses);
    free(m->indices);
    free(m->usages);
    free(m->throttled);
    free(m->pauses);
    free(m->sequence_changes);
    free(m->residencies);
    free(m->load_steps);
    free(m->pool_states);
    free(m->pool_reads);
    free(m->token_texts);
    free(m->mappings);
    free(m->page_faults);
    free(m->fault_spans);
    free(m->fault_losses);
    tt_idmap_free(&m->mapping_by_id);
    tt_idmap_free(&m->run_by_id);
    tt_idmap_free(&m->batch_by_id);
    tt_idmap_free(&m->graph_by_id);
    tt_idmap_free(&m->buffer_by_id);
    tt_idmap_free(&m->file_by_id);
    tt_idmap_free(&m->weight_by_name);
    tt_idmap_free(&m->text_by_token);
    tt_arena_free(&m->arena);
    tt_trace_close(&m->trace);
    free(m);
}

uint32_t tt_model_run(const tt_model *m, uint32_t id)
{
    return tt_idmap_get(&m->run_by_id, id);
}

uint32_t tt_model_batch_at(const tt_model *m, uint64_t ticks)
{
    uint32_t at;
    tt_lower_bound(at, m->n_batches, m->batches[at].begin_ticks <= ticks);
    return at > 0 && m->batches[at - 1].ended && m->batches[at - 1].end_ticks >= ticks ? at - 1
                                                                                       : TT_NONE;
}

uint32_t tt_model_batch(const tt_model *m, uint32_t id)
{
    return tt_idmap_get(&m->batch_by_id, id);
}

uint32_t tt_model_weight(const tt_model *m, const char *name)
{
    uint32_t at = tt_idmap_get(&m->weight_by_name, tt_checksum(name, strlen(name)));
    return at != TT_NONE && strcmp(m->weights[at].name, name) == 0 ? at : TT_NONE;
}

const char *tt_model_token_text(const tt_model *m, uint32_t vocabulary, int32_t token, size_t *n)
{
    uint32_t at = tt_idmap_get(&m->text_by_token, tt_token_key(vocabulary, token));
    if (at == TT_NONE) return NULL;
    if (n) *n = m->token_texts[at].n;
    return m->token_texts[at].text;
}

const tt_indices *tt_model_indices(const tt_model *m, uint32_t run, uint32_t tensor)
{
    size_t low;
    tt_lower_bound(low, m->n_indices,
                   m->indices[low].run < run ||
                       (m->indices[low].run == run && m->indices[low].tensor < tensor));
    if (low == m->n_indices) return NULL;
    const tt_indices *found = &m->indices[low];
    return found->run == run && found->tensor == tensor ? found : NULL;
}

const char *tt_model_environment(const tt_model *m, const char *key)
{
    for (uint32_t i = m->n_environment; i-- > 0;)
        if (strcmp(m->environment[i].key, key) == 0) return m->environment[i].value;
    return NULL;
}

bool tt_model_captured(const tt_model *m, const char *key)
{
    const char *said = tt_model_environment(m, key);
    return said && strcmp(said, "on") == 0;
}

uint64_t tt_model_page_bytes(const tt_model *m)
{
    const char *text = tt_model_environment(m, "page_bytes");
    const uint64_t bytes = text ? strtoull(text, NULL, 10) : 0;
    return bytes == 0 || bytes & (bytes - 1) ? PAGE_BYTES_USUAL : bytes;
}

bool tt_model_count(const tt_model *m, const char *name, uint64_t *value)
{
    for (uint32_t i = 0; i < m->n_counts; i++) {
        if (strcmp(m->counts[i].name, name) != 0) continue;
        *value = m->counts[i].value;
        return true;
    }
    return false;
}

bool tt_model_lacks_batches(const tt_model *m)
{
    uint64_t not_asked = 0, after = 0;
    (void)tt_model_count(m, "batches_not_asked", &not_asked);
    (void)tt_model_count(m, "batches_after_limit", &after);
    return not_asked || after || m->front.present || !m->trace.complete;
}

const char *tt_model_path(const tt_model *m, uint32_t model)
{
    for (uint32_t i = 0; i < m->n_files; i++)
        if (m->files[i].model == model) return m->files[i].path;
    return NULL;
}

const char *tt_model_label(const tt_model *m, uint32_t model)
{
    const char *path = m->n_models > 1 ? tt_model_path(m, model) : NULL;
    return path ? tt_base_name(path) : "";
}

const tt_file_kv *tt_model_kv_of_file(const tt_model_file *f, const char *key)
{
    for (uint32_t i = 0; i < f->n_kvs; i++)
        if (strcmp(f->kvs[i].key, key) == 0) return &f->kvs[i];
    return NULL;
}

const tt_file_kv *tt_model_file_kv(const tt_model *m, const char *key)
{
    const tt_file_kv *kv = NULL;
    for (uint32_t f = 0; !kv && f < m->n_files; f++)
        kv = tt_model_kv_of_file(&m->files[f], key);
    return kv;
}

const char *tt_phase_name(unsigned phase)
{
    static const char *const names[TT_PHASES] = {"unknown", "prompt", "generate", "mixed",
                                                 "warmup"};
    return names[phase < TT_PHASES ? phase : TT_PHASE_UNKNOWN];
}

const char *tt_origin_name(tt_origin origin)
{
    return origin == TT_ORIGIN_FILE ? "file" : origin == TT_ORIGIN_BUFFER ? "buffer" : "unknown";
}

const char *tt_buffer_kind_name(tt_buffer_kind kind)
{
    static const char *const names[] = {[TT_BUFFER_OTHER] = "other",
                                        [TT_BUFFER_WEIGHTS] = "weights",
                                        [TT_BUFFER_KV_CACHE] = "kv_cache",
                                        [TT_BUFFER_COMPUTE] = "compute",
                                        [TT_BUFFER_OUTPUT] = "output"};
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "other";
}

bool tt_model_is_imported(const tt_model *m)
{
    const char *mode = tt_model_environment(m, "mode");
    return mode && strcmp(mode, "import") == 0;
}

tt_status tt_model_need_clock(const tt_model *m, tt_error *err)
{
    if (m->clock.known) return TT_OK;
    if (tt_model_is_imported(m))
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "the trace was imported, and has no times");
    return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                        "the trace holds %s, so ticks cannot be turned into time; `tensortrace "
                        "recover` may complete it",
                        m->n_clocks == 0   ? "no CLOCK record"
                        : m->n_clocks == 1 ? "only one CLOCK record and no tick_hz"
                                           : "CLOCK records that make no sense");
}

double tt_model_span_ns(const tt_model *m, uint64_t ticks)
{
    return (double)ticks * m->clock.ns_per_tick;
}

double tt_model_ns(const tt_model *m, uint64_t ticks)
{
    return (double)(int64_t)(ticks - m->clock.zero_ticks) * m->clock.ns_per_tick;
}
