/* Derives what a buffer is for from its usage and the tensors in it. */
#include "model/model.h"

#include "base/array.h"
#include "base/checksum.h"
#include "base/order.h"
#include "model/faults.h"
#include "model/load.h"

#include <stdlib.h>
#include <string.h>

/* ggml_backend_buffer_usage */
enum { USAGE_ANY = 0, USAGE_WEIGHTS = 1, USAGE_COMPUTE = 2 };

/* The contents of a buffer. */
enum { HOLDS_TENSOR = 1, HOLDS_WEIGHT = 2, HOLDS_CACHE = 4, HOLDS_RESULT = 8 };

/* Recognizes llama.cpp's names: keys and values of attention, and both parts of a recurrent
 * state. */
static bool is_cache(const char *name)
{
    static const char *const names[] = {"cache_k_l", "cache_v_l", "cache_r_l", "cache_s_l"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
    return false;
}

static void look_at_graph(const tt_model *m, const tt_graph *g, uint8_t *holds)
{
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const tt_tensor *t = &g->tensors[i];
        uint32_t buffer = t->buffer != TT_NONE ? t->buffer : g->tensors[t->root].buffer;
        if (buffer == TT_NONE || buffer >= m->n_buffers) continue;
        holds[buffer] |= HOLDS_TENSOR;
        if (i < g->n_nodes && t->flags & TT_TENSOR_EXECUTES)
            holds[buffer] |= HOLDS_RESULT;
        else if (t->root == i && t->weight != TT_NONE)
            holds[buffer] |= HOLDS_WEIGHT;
        else if (t->root == i && i >= g->n_nodes && is_cache(t->name))
            holds[buffer] |= HOLDS_CACHE;
    }
}

static tt_buffer_kind kind_of(const tt_buffer *b, uint8_t holds)
{
    if (b->usage == USAGE_WEIGHTS) return TT_BUFFER_WEIGHTS;
    if (b->usage == USAGE_COMPUTE) return TT_BUFFER_COMPUTE;
    if (holds & HOLDS_WEIGHT) return TT_BUFFER_WEIGHTS;
    if (holds & HOLDS_CACHE) return TT_BUFFER_KV_CACHE;
    if (holds & HOLDS_RESULT) return TT_BUFFER_COMPUTE;
    /* A buffer for outputs: llama.cpp itself allocates it, and no graph computes into it. */
    if (b->usage == USAGE_ANY && !(holds & HOLDS_TENSOR) &&
        strncmp(b->allocator, "libllama", strlen("libllama")) == 0)
        return TT_BUFFER_OUTPUT;
    return TT_BUFFER_OTHER;
}

void tt_link_buffers(tt_loader *l)
{
    tt_model *m = l->m;
    uint8_t *holds = calloc((size_t)m->n_buffers + 1, 1);
    if (!holds) {
        l->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < m->n_graphs; i++)
        look_at_graph(m, &m->graphs[i], holds);
    for (uint32_t i = 0; i < m->n_buffers; i++)
        m->buffers[i].kind = kind_of(&m->buffers[i], holds[i]);
    free(holds);
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
    tt_run_faults_free(share->run_faults);
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
    tt_run_faults_free(m->run_faults);
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

bool tt_model_count(const tt_model *m, const char *name, uint64_t *value)
{
    for (uint32_t i = 0; i < m->n_counts; i++) {
        if (strcmp(m->counts[i].name, name) != 0) continue;
        *value = m->counts[i].value;
        return true;
    }
    return false;
}

const tt_file_kv *tt_model_file_kv(const tt_model *m, const char *key)
{
    for (uint32_t f = 0; f < m->n_files; f++)
        for (uint32_t i = 0; i < m->files[f].n_kvs; i++)
            if (strcmp(m->files[f].kvs[i].key, key) == 0) return &m->files[f].kvs[i];
    return NULL;
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

/* Chooses the META chunks that a part of a trace needs, by their descriptions in the index. */

#define KIND(type) (1u << ((type)-1))
/* Records that belong to batches and runs, or of which the first and the last are enough. Any
 * other record may be referred to from anywhere. */
#define KINDS_OF_PARTS                                                                             \
    (KIND(TT_META_BATCH) | KIND(TT_META_BATCH_END) | KIND(TT_META_RUN) | KIND(TT_META_RUN_END) |   \
     KIND(TT_META_CLOCK) | KIND(TT_META_RING) | KIND(TT_META_COUNTS) | KIND(TT_META_DECODE) |      \
     KIND(TT_META_LOSS) | KIND(TT_META_TOKEN_TEXT) | KIND(TT_META_INDICES) | KIND(TT_META_USAGE) | \
     KIND(TT_META_RESIDENCY) | KIND(TT_META_MODEL_CHECK) | KIND(TT_META_DETAIL_LOSS))

typedef struct chooser {
    const tt_trace *trace;
    bool *wanted;                /* by chunk */
    uint64_t tick_min, tick_max; /* of the part */
    tt_meta_clock first, last;   /* the trace's first and last CLOCK */
} chooser;

static const tt_index_meta *meta_of(const chooser *c, size_t i)
{
    return c->trace->chunks[i].type == TT_CHUNK_META ? &c->trace->chunks[i].meta : NULL;
}

/* Whether the index is sufficient: each META chunk is described, no other chunk describes runs, and
 * (for a part by time) each run that began has ended. Sets the trace's start and end. */
static bool is_described(chooser *c, bool by_time)
{
    uint64_t runs = 0, ends = 0;
    bool any = false;
    if (!c->trace->complete) return false;
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        uint16_t type = c->trace->chunks[i].type;
        if (!m && type != TT_CHUNK_OPS && type != TT_CHUNK_DETAIL && type != TT_CHUNK_PAGE)
            return false;
        if (m && m->kinds == 0) return false;
        if (!m || m->tick_max == 0) continue;
        runs += m->n_runs;
        ends += m->n_run_ends;
        if (!any || m->tick_min < c->tick_min) c->tick_min = m->tick_min;
        if (!any || m->tick_max > c->tick_max) c->tick_max = m->tick_max;
        any = true;
    }
    return any && (!by_time || runs == ends);
}

/* Finds the first or last CLOCK of a chunk. */
static bool find_clock(const chooser *c, size_t chunk, bool last, tt_meta_clock *clock)
{
    tt_unpacker u;
    tt_chunk_header h;
    tt_span payload, record;
    uint8_t type;
    bool found = false;
    tt_unpacker_init(&u);
    if (tt_trace_chunk(c->trace, chunk, SIZE_MAX, &u, &h, &payload, NULL) == TT_OK) {
        tt_cursor at = tt_cursor_of(payload.data, payload.size);
        while ((last || !found) && tt_meta_next(&at, &type, &record)) {
            tt_cursor r = tt_cursor_of(record.data, record.size);
            if (type == TT_META_CLOCK) found = tt_meta_get_clock(&r, clock);
        }
    }
    tt_unpacker_free(&u);
    return found;
}

/* Finds the chunks with the first and the last CLOCK; false when there is none. */
static bool clock_chunks(const chooser *c, size_t *first, size_t *last)
{
    *first = *last = SIZE_MAX;
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (!m || !(m->kinds & KIND(TT_META_CLOCK))) continue;
        if (*first == SIZE_MAX) *first = i;
        *last = i;
    }
    return *first != SIZE_MAX;
}

static bool read_clocks(chooser *c)
{
    size_t first, last;
    return clock_chunks(c, &first, &last) && find_clock(c, first, false, &c->first) &&
           find_clock(c, last, true, &c->last) && c->last.ticks > c->first.ticks &&
           c->last.mono_ns > c->first.mono_ns;
}

/* Marks the chunks of the batches. A batch's number is its id - 1. */
static void want_tokens(chooser *c, const tt_part *part)
{
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (!m || m->batch_min == 0) continue;
        c->wanted[i] =
            m->batch_min - 1 <= part->batch_last && m->batch_max - 1 >= part->batch_first;
    }
}

/* The ticks of a time since the trace's first batch, rounded outwards so that nothing is missed. */
static uint64_t ticks_of(const chooser *c, double ns, bool up)
{
    double ns_per_tick =
        (double)(c->last.mono_ns - c->first.mono_ns) / (double)(c->last.ticks - c->first.ticks);
    double ticks = ns / ns_per_tick + (up ? 1e3 : -1e3);
    if (ticks <= 0) return c->tick_min;
    return ticks < (double)(c->tick_max - c->tick_min) ? c->tick_min + (uint64_t)ticks
                                                       : c->tick_max;
}

/* The end of the second chunk that describes runs after `from`. */
static uint64_t first_until(const chooser *c, uint64_t from)
{
    uint64_t until[2] = {c->tick_max, c->tick_max};
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (!m || m->n_runs == 0 || m->tick_max <= from) continue;
        if (m->tick_max < until[0]) {
            until[1] = until[0];
            until[0] = m->tick_max;
        } else if (m->tick_max < until[1]) {
            until[1] = m->tick_max;
        }
    }
    return until[1];
}

/* Marks the chunks of an interval. Runs open then begin before its end and end after its start:
 * descriptions before its end have the newest of them, those after its start the oldest. In the
 * interval itself there may be only ops of one run. */
static void want_times(chooser *c, uint64_t from, uint64_t to)
{
    uint32_t oldest = UINT32_MAX, newest = 0;
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (!m || m->tick_max == 0) continue;
        if (m->tick_max >= from && m->run_min && m->run_min < oldest) oldest = m->run_min;
        if (m->tick_min <= to && m->run_max > newest) newest = m->run_max;
        if (m->tick_max >= from && m->tick_min <= to) c->wanted[i] = true;
    }
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        if (m && m->run_min && m->run_min <= newest && m->run_max >= oldest) c->wanted[i] = true;
    }
}

/* Marks the chunks that also describe the batches (or runs) of the wanted chunks. */
static void want_rest(chooser *c, bool runs)
{
    uint32_t low = UINT32_MAX, high = 0;
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = c->wanted[i] ? meta_of(c, i) : NULL;
        uint32_t min = !m ? 0 : runs ? m->run_min : m->batch_min;
        if (min == 0) continue;
        uint32_t max = runs ? m->run_max : m->batch_max;
        if (min < low) low = min;
        if (max > high) high = max;
    }
    for (size_t i = 0; i < c->trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(c, i);
        uint32_t min = !m ? 0 : runs ? m->run_min : m->batch_min;
        if (min && min <= high && (runs ? m->run_max : m->batch_max) >= low) c->wanted[i] = true;
    }
}

static bool choose_times(tt_loader *l, chooser *c)
{
    const tt_part *part = l->part;
    uint64_t from = c->tick_min, to = UINT64_MAX;
    if ((part->has_from || part->has_to) && !read_clocks(c)) return false;
    if (part->has_from) from = ticks_of(c, part->from_ns, false);
    if (part->has_to) to = ticks_of(c, part->to_ns, true);
    uint64_t until = part->first_only ? first_until(c, from) : c->tick_max;
    if (until < to && until < c->tick_max) l->m->until_ticks = to = until;
    want_times(c, from, to);
    want_rest(c, false);
    return true;
}

static bool choose(tt_loader *l, chooser *c)
{
    size_t first, last;
    const tt_part *part = l->part;
    if (!is_described(c, !part->has_tokens) || !clock_chunks(c, &first, &last)) return false;
    l->m->until_ticks = UINT64_MAX;
    if (!part->has_tokens) {
        if (!choose_times(l, c)) return false;
    } else {
        want_tokens(c, part);
        want_rest(c, false);
        want_rest(c, true);
    }
    /* Last, because only the clocks of these chunks matter. */
    c->wanted[first] = c->wanted[last] = true;
    return true;
}

tt_status tt_part_choose(tt_loader *l, bool **skip, tt_error *err)
{
    chooser c = {.trace = &l->m->trace};
    *skip = NULL;
    c.wanted = calloc(c.trace->n_chunks + 1, sizeof *c.wanted);
    if (!c.wanted) return tt_error_memory(err, "the list of chunks");
    if (!choose(l, &c)) {
        l->m->until_ticks = 0;
        free(c.wanted);
        return TT_OK;
    }
    l->m->partial = true;
    l->first_ticks = c.tick_min;
    for (size_t i = 0; i < c.trace->n_chunks; i++) {
        const tt_index_meta *m = meta_of(&c, i);
        c.wanted[i] = m && !c.wanted[i] && !(m->kinds & ~KINDS_OF_PARTS); /* now: skip it */
    }
    *skip = c.wanted;
    return TT_OK;
}
