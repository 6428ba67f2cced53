#include "analyze/verify/verify.h"

#include "analyze/verify/checks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tt_status check_tokens(const tt_model *m, tt_check *c, tt_error *err);

static tt_status check_drops(const tt_model *m, tt_check *c, tt_error *err);

static tt_status check_references(const tt_model *m, tt_check *c, tt_error *err);

static tt_status check_index(const tt_model *m, tt_check *c, tt_error *err);

static tt_status check_checksums(const tt_model *m, tt_check *c, tt_error *err);

typedef struct check_row {
    const char *name;
    const char *what;
    const char *examined_what;
    bool needs_meta; /* cannot be checked if META is incomplete */
    bool needs_ops;  /* likewise for any OPS chunk */
    tt_status (*run)(const tt_model *m, tt_check *c, tt_error *err);
} check_row;

static const check_row rows[] = {
    {"checksums", "chunks are as they were written", "chunks", false, false, check_checksums},
    {"index", "the index lists the chunks", "chunks", false, false, check_index},
    {"references", "ids and positions lead somewhere", "references", true, false, check_references},
    {"graph-order", "nodes come once a lane, in order", "records", true, true,
     tt_check_graph_order},
    {"op-count", "nodes x lanes = records + drops", "records", true, true, tt_check_op_count},
    {"times", "times ascend, within the run", "records", true, false, tt_check_times},
    {"no-zero", "no record is all zero", "records", false, false, tt_check_no_zero},
    {"weights", "weights are tensors of the file", "weights", true, false, tt_check_weights},
    {"tokens", "batches hold all tokens passed", "tokens", true, false, check_tokens},
    {"text", "no token has two texts", "texts", true, false, tt_check_text},
    {"indices", "the rows are in the tensor", "row numbers", true, false, tt_check_indices},
    {"details", "details belong to executed ops", "details", true, true, tt_check_details},
    {"values", "fingerprints fit their outputs", "outputs", true, true, tt_check_values},
    {"usage", "the kernel's totals never fall", "readings", true, false, tt_check_usage},
    {"residency", "all pages of a file, each once", "records", true, false, tt_check_residency},
    {"drops", "losses found = losses counted", "counts", true, false, check_drops},
    {"complete", "only full rings lost records", "counts", true, false, tt_check_complete},
    {"counts", "as many as the recorder counted", "counts", true, false, tt_check_counts},
    {"kinds", "no kind of record is missing", "kinds", true, false, tt_check_kinds},
    {"clock", "the clock never goes back", "readings", true, false, tt_check_clock},
    {"endings", "each ended before the next began", "runs", true, false, tt_check_endings},
    {"batches", "batches follow, runs lie within", "times", true, false, tt_check_batches},
    {"tensors", "sizes fit shapes and buffers", "tensors", true, false, tt_check_tensors},
};

#define ROWS (sizeof rows / sizeof *rows)
_Static_assert(ROWS <= TT_CHECKS_MAX, "callers have room for TT_CHECKS_MAX");

void tt_check_offend(tt_check *c, uint64_t offset, const char *fmt, ...)
{
    c->verdict = TT_CHECK_FAILED;
    if (c->offences++ > 0) return;
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(c->detail, sizeof c->detail, fmt, args);
    va_end(args);
    c->offset_bytes = offset;
}

void tt_check_not_observed(tt_check *c, const char *why)
{
    if (c->verdict == TT_CHECK_FAILED) return;
    c->verdict = TT_CHECK_NOT_OBSERVED;
    (void)snprintf(c->detail, sizeof c->detail, "%s", why);
}

void tt_check_not_captured(const tt_model *m, const char *key, tt_check *c)
{
    static const char prefix[] = "not observed: ";
    const char *value = key ? tt_model_environment(m, key) : NULL;
    bool given = value && strncmp(value, prefix, sizeof prefix - 1) == 0;
    tt_check_not_observed(c,
                          given ? value + sizeof prefix - 1 : "nothing of the kind was captured");
}

/* A recovered trace has its end if the recorder's memory still existed: then its totals were
 * written. Otherwise recovery could only cut off the damaged end. A snapshot has none: the program
 * continued. */
bool tt_check_has_end(const tt_model *m)
{
    uint64_t n;
    return m->trace.complete && !(m->trace.end_flags & TT_END_SNAPSHOT) &&
           (!(m->trace.end_flags & TT_END_RECOVERED) || tt_model_count(m, "ops", &n));
}

const char *tt_check_no_end(const tt_model *m, const char *cut)
{
    bool snapshot = m->trace.complete && m->trace.end_flags & TT_END_SNAPSHOT;
    return snapshot ? "the trace is a snapshot: what was under way is there in part" : cut;
}

const char *tt_verdict_name(tt_verdict v)
{
    return v == TT_CHECK_PASSED ? "passed" : v == TT_CHECK_FAILED ? "failed" : "not observed";
}

tt_status tt_verify(const tt_model *m, tt_check *checks, size_t *n, tt_verify_progress *progress,
                    void *context, tt_error *err)
{
    tt_status surveyed = tt_pieces_survey(m->pieces, err);
    *n = 0;
    if (surveyed != TT_OK) return surveyed;
    bool ops_damaged = tt_pieces_damaged(m->pieces, NULL) > 0;
    for (size_t i = 0; i < ROWS; i++) {
        tt_check *c = &checks[(*n)++];
        tt_status status = TT_OK;
        memset(c, 0, sizeof *c);
        c->name = rows[i].name;
        c->what = rows[i].what;
        c->offset_bytes = TT_NO_OFFSET;
        (void)snprintf(c->examined_what, sizeof c->examined_what, "%s", rows[i].examined_what);
        if (rows[i].needs_meta && m->meta_damage.status != TT_OK)
            tt_check_not_observed(c, "a META chunk is damaged: see checksums");
        else if (rows[i].needs_ops && ops_damaged)
            tt_check_not_observed(c, "an OPS chunk is damaged: see checksums");
        else
            status = rows[i].run(m, c, err);
        if (status != TT_OK) return status;
        if (c->verdict == TT_CHECK_PASSED && c->examined == 0)
            tt_check_not_observed(c, "there was nothing to examine");
        if (progress) progress(context, i + 1, ROWS);
    }
    return TT_OK;
}

/* --- the container --- */

/* Whether a chunk is unreadable because its list entry is wrong, which is left to the index
 * check. */
static bool is_listed_wrongly(const tt_trace *t, size_t i, tt_unpacker *u)
{
    tt_chunk_header h;
    tt_span stored;
    return tt_chunk_load(&t->source, t->chunks[i].offset, u, &h, &stored, NULL) == TT_OK &&
           !tt_trace_is_as_listed(t, i, &h);
}

/* Whether that is why reading META stopped. */
static bool is_meta_listed_wrongly(const tt_model *m, tt_unpacker *u)
{
    for (size_t i = 0; i < m->trace.n_chunks; i++)
        if (m->trace.chunks[i].offset == m->meta_damage.offset)
            return is_listed_wrongly(&m->trace, i, u);
    return false;
}

static tt_status check_checksums(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_unpacker u;
    tt_ops_block b = {0};
    tt_ops_scratch scratch = {0};
    tt_status status = TT_OK;
    const tt_trace *t = &m->trace;
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t->n_chunks && status == TT_OK; i++) {
        tt_chunk_header h;
        tt_span payload;
        tt_error why;
        status = tt_trace_chunk(t, i, SIZE_MAX, &u, &h, &payload, &why);
        c->examined++;
        if (status == TT_OK && t->chunks[i].type == TT_CHUNK_OPS) {
            status = tt_ops_decode_again(payload, h.count, true, &b, &scratch, &why);
        } else if (status == TT_OK && t->chunks[i].type == TT_CHUNK_DETAIL) {
            tt_detail *details = NULL;
            size_t n;
            status = tt_detail_decode(payload, h.count, &details, &n, &why);
            if (status == TT_OK) free(details);
        }
        if (status == TT_OK) continue;
        if (status == TT_E_MEMORY || status == TT_E_IO) {
            if (err) *err = why;
            break;
        }
        if (!is_listed_wrongly(t, i, &u))
            tt_check_offend(c, t->chunks[i].offset, "chunk %zu (type %u): %s", i, t->chunks[i].type,
                            why.message);
        status = TT_OK;
    }
    tt_ops_block_free(&b);
    tt_ops_scratch_free(&scratch);
    if (status == TT_OK && m->meta_damage.status != TT_OK && c->verdict == TT_CHECK_PASSED &&
        !is_meta_listed_wrongly(m, &u))
        tt_check_offend(c, m->meta_damage.offset, "%s", m->meta_damage.message);
    tt_unpacker_free(&u);
    /* A file that simply ends was cut off; one that continues with something else is damaged. */
    if (status == TT_OK && !t->complete && t->cut.status != TT_E_TRUNCATED)
        tt_check_offend(c, t->cut.offset, "%s", t->cut.message);
    return status;
}

/* Whether the index has at least the runs of a DETAIL chunk: it also counts those of incomplete
 * details. Unreadable chunks are left to the checksums check. */
static bool names_runs(const tt_model *m, size_t i, tt_unpacker *u)
{
    tt_chunk_header h;
    tt_span payload;
    tt_detail *list = NULL;
    size_t n;
    const tt_index_entry *e = &m->trace.chunks[i];
    if (tt_trace_chunk(&m->trace, i, SIZE_MAX, u, &h, &payload, NULL) != TT_OK ||
        tt_detail_decode(payload, h.count, &list, &n, NULL) != TT_OK)
        return true;
    bool ok = n == 0 || (list[0].run >= e->run_min && list[n - 1].run <= e->run_max);
    free(list);
    return ok;
}

/* Whether a META chunk matches its description in the index; unreadable ones are left to other
 * checks. */
static bool describes_meta(const tt_model *m, size_t i, tt_unpacker *u)
{
    tt_chunk_header h;
    tt_span payload;
    tt_index_meta about;
    uint32_t n;
    if (tt_trace_chunk(&m->trace, i, SIZE_MAX, u, &h, &payload, NULL) != TT_OK) return true;
    tt_meta_describe(payload, &about, &n);
    return memcmp(&about, &m->trace.chunks[i].meta, sizeof about) == 0;
}

/* The lowest and highest run of an OPS chunk, from its segments. */
static void runs_of_chunk(const tt_model *m, size_t n_chunks, uint32_t *low, uint32_t *high)
{
    size_t n;
    const tt_piece *list = tt_pieces_list(m->pieces, &n);
    for (size_t i = 0; i < n_chunks; i++) {
        low[i] = UINT32_MAX;
        high[i] = 0;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t chunk = list[i].chunk, run = list[i].run;
        if (run < low[chunk]) low[chunk] = run;
        if (run > high[chunk]) high[chunk] = run;
    }
}

static tt_status check_entries(const tt_model *m, const uint32_t *low, const uint32_t *high,
                               tt_check *c)
{
    tt_unpacker u;
    const tt_trace *t = &m->trace;
    uint64_t expected = TT_FILE_HEADER_BYTES + t->hole_bytes;
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t->n_chunks; i++) {
        const tt_index_entry *e = &t->chunks[i];
        tt_chunk_header h = {0};
        tt_span stored;
        tt_error why;
        tt_status status = tt_chunk_load(&t->source, e->offset, &u, &h, &stored, &why);
        c->examined++;
        if (e->offset != expected)
            tt_check_offend(c, e->offset,
                            "entry %zu lists a chunk at byte %" PRIu64
                            "; the one before it ends at byte %" PRIu64,
                            i, e->offset, expected);
        if (status != TT_OK && status != TT_E_CHECKSUM)
            tt_check_offend(c, e->offset, "entry %zu: %s", i, why.message);
        else if (h.type != e->type || h.stream != e->stream || h.position != e->position ||
                 h.count != e->count)
            tt_check_offend(c, e->offset,
                            "entry %zu says type %u, stream %u, position %" PRIu64
                            ", %u records; the chunk says %u, %u, %" PRIu64 ", %u",
                            i, e->type, e->stream, e->position, e->count, h.type, h.stream,
                            h.position, h.count);
        else if (e->type == TT_CHUNK_OPS && low[i] <= high[i] &&
                 (e->run_min != low[i] || e->run_max != high[i]))
            tt_check_offend(c, e->offset,
                            "entry %zu says runs %" PRIu64 " to %" PRIu64
                            "; the chunk holds runs %u to %u",
                            i, e->run_min, e->run_max, low[i], high[i]);
        else if (e->type == TT_CHUNK_META && e->meta.kinds && !describes_meta(m, i, &u))
            tt_check_offend(c, e->offset, "entry %zu describes other records than the chunk holds",
                            i);
        else if (e->type == TT_CHUNK_DETAIL && !names_runs(m, i, &u))
            tt_check_offend(c, e->offset,
                            "entry %zu says runs %" PRIu64 " to %" PRIu64
                            "; the chunk holds details of others",
                            i, e->run_min, e->run_max);
        expected = e->offset + TT_CHUNK_HEADER_BYTES + tt_pad8(h.stored_bytes);
    }
    tt_unpacker_free(&u);
    if (expected != t->index_offset)
        tt_check_offend(c, expected,
                        "the chunks listed end at byte %" PRIu64
                        ", the index begins at byte %" PRIu64,
                        expected, t->index_offset);
    return TT_OK;
}

static tt_status check_index(const tt_model *m, tt_check *c, tt_error *err)
{
    const tt_trace *t = &m->trace;
    char why[TT_CHECK_TEXT];
    if (!t->complete) {
        (void)snprintf(why, sizeof why, "the trace was cut off at byte %" PRIu64 ": %s",
                       t->end_bytes, t->cut.message);
        tt_check_not_observed(c, why);
        return TT_OK;
    }
    uint32_t *low = malloc((t->n_chunks + 1) * 2 * sizeof *low);
    if (!low) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check the index");
    runs_of_chunk(m, t->n_chunks, low, low + t->n_chunks);
    tt_status status = check_entries(m, low, low + t->n_chunks, c);
    free(low);
    return status;
}

/* --- META --- */

static tt_status check_positions(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_unpacker u;
    const tt_trace *t = &m->trace;
    tt_idmap at = {0};
    tt_status status = TT_OK;
    uint64_t *next = calloc(t->n_chunks + 1, sizeof *next);
    if (!next) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check positions");
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t->n_chunks; i++) {
        const tt_index_entry *e = &t->chunks[i];
        tt_chunk_header h = {0};
        tt_span stored;
        uint32_t slot;
        if (e->type != TT_CHUNK_META && e->type != TT_CHUNK_OPS && e->type != TT_CHUNK_DETAIL)
            continue;
        tt_status loaded = tt_chunk_load(&t->source, e->offset, &u, &h, &stored, NULL);
        if (loaded != TT_OK && loaded != TT_E_CHECKSUM) continue;
        c->examined++;
        uint64_t key = (uint64_t)h.type << 32 | h.stream;
        if (!tt_idmap_add(&at, key, (uint32_t)i, &slot)) {
            status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check positions");
            break;
        }
        if (slot == TT_NONE) {
            slot = (uint32_t)i;
            next[slot] = m->front.present ? h.position : 0; /* earlier ones were discarded */
        }
        if (h.position != next[slot])
            tt_check_offend(c, e->offset,
                            "stream %u of type %u goes on at position %" PRIu64
                            " instead of %" PRIu64 ": chunks are missing",
                            h.stream, h.type, h.position, next[slot]);
        next[slot] = h.position + (h.type == TT_CHUNK_META ? h.raw_bytes : h.count);
    }
    tt_unpacker_free(&u);
    tt_idmap_free(&at);
    free(next);
    return status;
}

static void check_sources(const tt_model *m, tt_check *c)
{
    for (uint32_t k = 0; k < m->n_graphs; k++) {
        const tt_graph *g = &m->graphs[k];
        for (uint32_t i = 0; i < g->n_nodes; i++) {
            const tt_tensor *t = &g->tensors[i];
            for (uint32_t s = 0; s < t->n_src; s++) {
                c->examined++;
                /* A node as its own source is left to the tensors check. */
                if (t->src[s] != TT_NONE && t->src[s] < g->n_nodes && t->src[s] > i)
                    tt_check_offend(c, g->chunk_offset_bytes,
                                    "graph %u: node %u (%.64s) takes node %u, which comes later",
                                    g->id, i, t->name, t->src[s]);
            }
        }
    }
}

static tt_status check_ops(const tt_model *m, tt_check *c, tt_error *err)
{
    size_t n;
    const tt_piece *list = tt_pieces_list(m->pieces, &n);
    for (size_t i = 0; i < n; i++) {
        uint32_t run = tt_model_run(m, list[i].run);
        uint64_t offset = m->trace.chunks[list[i].chunk].offset;
        c->examined++;
        if (run == TT_NONE && m->front.present && list[i].run <= m->front.runs_cut) continue;
        if (run == TT_NONE) {
            /* The META record may have been after the cut. */
            if (tt_check_has_end(m))
                tt_check_offend(c, offset,
                                "%u records of lane %u belong to run %u, which is not there",
                                list[i].count, list[i].lane, list[i].run);
            continue;
        }
        if (m->runs[run].graph == TT_NONE) continue; /* among the model's problems */
        const tt_graph *g = &m->graphs[m->runs[run].graph];
        tt_piece_ops p;
        tt_status status = tt_pieces_get(m->pieces, &list[i], &p, err);
        if (status == TT_E_MEMORY || status == TT_E_IO || status == TT_E_LIMIT) return status;
        if (status != TT_OK) continue;
        for (size_t k = 0; k < p.n; k++) {
            if (p.node[k] >= g->n_nodes)
                tt_check_offend(c, offset, "run %u, lane %u: node %u of a graph of %u", p.run,
                                p.lane, p.node[k], g->n_nodes);
            else if (!(g->tensors[p.node[k]].flags & TT_TENSOR_EXECUTES))
                tt_check_offend(c, offset, "run %u, lane %u: node %u (%.64s) is not executed",
                                p.run, p.lane, p.node[k], g->tensors[p.node[k]].name);
        }
    }
    return TT_OK;
}

static tt_status check_references(const tt_model *m, tt_check *c, tt_error *err)
{
    for (uint32_t i = 0; i < m->n_problems && i < TT_MODEL_PROBLEMS_MAX; i++)
        tt_check_offend(c, m->problems[i].offset_bytes, "%s", m->problems[i].text);
    if (m->n_problems > TT_MODEL_PROBLEMS_MAX) c->offences += m->n_problems - TT_MODEL_PROBLEMS_MAX;
    check_sources(m, c);
    tt_status status = check_positions(m, c, err);
    return status == TT_OK ? check_ops(m, c, err) : status;
}

static tt_status check_drops(const tt_model *m, tt_check *c, tt_error *err)
{
    uint64_t counted;
    (void)err;
    c->examined = m->n_losses;
    bool reported = tt_model_count(m, "ops_dropped", &counted);
    if (reported && c->examined++ == 0)
        (void)snprintf(c->examined_what, sizeof c->examined_what, "count");
    if (!reported)
        tt_check_not_observed(c, "the recorder's counts are not in the trace");
    else if (counted != m->losses_total && m->trace.complete)
        tt_check_offend(c, TT_NO_OFFSET,
                        "the recorder dropped %" PRIu64
                        " records, LOSS records account for %" PRIu64,
                        counted, m->losses_total);
    return TT_OK;
}

/* --- tokens --- */

static uint64_t vocabulary(const tt_model *m)
{
    uint32_t embd = tt_model_weight(m, "token_embd.weight");
    const tt_file_kv *kv = tt_model_file_kv(m, "tokenizer.ggml.tokens");
    uint64_t n = 0;
    if (embd != TT_NONE && m->weights[embd].n_dims >= 2) return m->weights[embd].ne[1];
    const char *x = kv ? strstr(kv->value, " x ") : NULL;
    return x && sscanf(x, " x %" SCNu64, &n) == 1 ? n : 0;
}

static uint64_t batch_tokens(const tt_model *m, tt_check *c)
{
    uint64_t sum = 0, n_vocab = vocabulary(m);
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &m->batches[i];
        if (!b->trains) sum += b->n_tokens; /* training goes through no such call */
        for (uint32_t k = 0; b->sequences && k < b->n_tokens; k++)
            if (b->sequence_first[k] == b->sequence_first[k + 1])
                tt_check_offend(c, TT_NO_OFFSET, "token %u of batch %u belongs to no sequence", k,
                                tt_model_batch_number(m, i));
        for (uint32_t k = 0; b->tokens && n_vocab && k < b->n_tokens; k++)
            if (b->tokens[k] < 0 || (uint64_t)b->tokens[k] >= n_vocab)
                tt_check_offend(c, TT_NO_OFFSET,
                                "token %u of batch %u is %d; the vocabulary has %" PRIu64, k,
                                tt_model_batch_number(m, i), b->tokens[k], n_vocab);
    }
    return sum;
}

static uint64_t left_out_batches(const tt_model *m)
{
    uint64_t not_asked = 0, after_limit = 0;
    (void)tt_model_count(m, "batches_not_asked", &not_asked);
    (void)tt_model_count(m, "batches_after_limit", &after_limit);
    return not_asked + after_limit;
}

/* A batch was open: it did not end, or the program was killed between its end and that of its
 * call. */
static bool cut_in_batch(const tt_model *m)
{
    for (uint32_t i = 0; i < m->n_batches; i++)
        if (!m->batches[i].ended) return true;
    if (!(m->trace.end_flags & TT_END_RECOVERED) || !m->n_batches || !m->n_decodes) return false;
    return m->batches[m->n_batches - 1].begin_ticks > m->decodes[m->n_decodes - 1].end_ticks;
}

static tt_status check_tokens(const tt_model *m, tt_check *c, tt_error *err)
{
    uint64_t asked = 0, counted, unseen = 0, sum = batch_tokens(m, c);
    bool failed = false;
    (void)err;
    c->examined = sum;
    for (uint32_t i = 0; i < m->n_decodes; i++) {
        asked += m->decodes[i].n_tokens;
        failed |= m->decodes[i].status != 0;
    }
    bool has_count = tt_model_count(m, "decode_tokens", &counted);
    if (m->front.present) {
        tt_check_not_observed(c, "the trace holds the last of the run only");
    } else if (left_out_batches(m)) {
        tt_check_not_observed(c, "not every batch was recorded, as was asked for");
    } else if (!tt_check_has_end(m) || cut_in_batch(m)) {
        tt_check_not_observed(
            c, tt_check_no_end(m, "the program was cut off: its last call may be half there"));
    } else if (tt_model_count(m, "decode_unseen", &unseen) && unseen) {
        tt_check_not_observed(
            c, "llama_process was called with a batch that was not seen to be filled");
    } else if (m->n_decodes == 0 && (!has_count || counted == 0)) {
        tt_check_not_observed(c, "no call of llama_decode or llama_process was seen");
    } else if (failed) {
        tt_check_not_observed(c, "a call of llama_decode or llama_process failed: its tokens may "
                                 "not all be computed");
    } else {
        if (m->n_decodes && has_count && counted != asked)
            tt_check_offend(c, TT_NO_OFFSET,
                            "the calls of llama_decode and llama_process passed %" PRIu64
                            " tokens, the counts say %" PRIu64,
                            asked, counted);
        if (m->n_decodes == 0) asked = counted;
        if (sum != asked && tt_model_environment(m, "attached"))
            tt_check_not_observed(c, "recording began or ended within a call");
        else if (sum != asked)
            tt_check_offend(c, TT_NO_OFFSET,
                            "the batches hold %" PRIu64 " tokens, the program passed %" PRIu64
                            " to llama_decode or llama_process",
                            sum, asked);
    }
    return TT_OK;
}
