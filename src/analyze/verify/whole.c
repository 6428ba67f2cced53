/* The checks of `verify` that nothing recorded is missing, and that batches and times are in
 * order. */
#include "analyze/ops.h"
#include "analyze/verify/checks.h"
#include "base/idmap.h"
#include "base/order.h"
#include "gguf/types.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- complete --- */

/* Ops and details that a full ring dropped are left to the drops check. */
tt_status tt_check_complete(const tt_model *m, tt_check *c, tt_error *err)
{
    static const struct {
        const char *name, *what;
    } lost[] = {
        {"ops_unresolved", "ops could not be recorded (of no known graph, or of a thread for which "
                           "no ring was free)"},
        {"meta_dropped", "records of what was computed were lost to a full stream"},
        {"data_dropped", "parts of the data of outputs were lost"},
    };
    (void)err;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        uint64_t n;
        if (!tt_model_count(m, lost[i].name, &n)) continue;
        c->examined++;
        /* A limit leaves out data first, as requested. */
        if (strcmp(lost[i].name, "data_dropped") == 0 &&
            tt_model_environment(m, "capture_limit_bytes"))
            continue;
        if (n) tt_check_offend(c, TT_NO_OFFSET, "%" PRIu64 " %s", n, lost[i].what);
    }
    if (c->examined == 0) tt_check_not_observed(c, "the recorder's counts are not in the trace");
    return TT_OK;
}

/* --- counts --- */

/* How many records of one kind a killed program may have counted and not written, or written and
 * not counted: one for each thread that was between the two, and one more that had begun nothing. */
static uint64_t cut_between(const tt_model *m)
{
    tt_idmap threads = {0};
    if (!(m->trace.end_flags & TT_END_RECOVERED)) return 0;
    for (uint32_t i = 0; i < m->n_batches; i++)
        (void)tt_idmap_add(&threads, m->batches[i].thread, 0, &(uint32_t){0});
    const uint64_t n = threads.n;
    tt_idmap_free(&threads);
    return n + 1;
}

static void compare_count(const tt_model *m, const char *name, uint64_t there, bool may_lack,
                          const char *what, tt_check *c)
{
    uint64_t counted;
    if (!tt_model_count(m, name, &counted)) return;
    c->examined++;
    const uint64_t slack = cut_between(m);
    if (there > counted + slack || (there + slack < counted && !may_lack))
        tt_check_offend(c, TT_NO_OFFSET,
                        "the recorder counted %" PRIu64 " %s, the trace holds %" PRIu64, counted,
                        what, there);
}

/* Whether something was being computed when recording ended. */
static bool is_under_way(const tt_model *m)
{
    bool open = false;
    for (uint32_t i = 0; i < m->n_batches; i++)
        open |= !m->batches[i].ended;
    for (uint32_t i = 0; i < m->n_runs; i++)
        open |= !m->runs[i].ended;
    return open;
}

tt_status tt_check_counts(const tt_model *m, tt_check *c, tt_error *err)
{
    uint64_t left_out = 0, n, lost = 0;
    (void)err;
    if (!tt_check_has_end(m)) {
        tt_check_not_observed(
            c, tt_check_no_end(m, "the trace was cut off: what stood behind the cut is not known"));
        return TT_OK;
    }
    if (tt_model_count(m, "batches_not_asked", &n)) left_out += n;
    if (tt_model_count(m, "batches_after_limit", &n)) left_out += n;
    /* A flight recorder discarded the first ones, and lost ones may be any. */
    (void)tt_model_count(m, "meta_dropped", &lost);
    const bool lacks = m->front.present || lost > 0;
    compare_count(m, "batches", m->n_batches + left_out, lacks, "batches", c);
    compare_count(m, "runs", m->n_runs, lacks, "graph computations", c);
    compare_count(m, "graphs", m->n_graphs, lacks, "graphs", c);
    /* Calls for batches that were not selected, or had not returned, are only counted. */
    compare_count(m, "decode_calls", m->n_decodes, lacks || left_out > 0 || is_under_way(m),
                  "calls of llama_decode", c);
    compare_count(m, "token_texts", m->n_token_texts, lacks, "texts of tokens", c);
    compare_count(m, "row_numbers", m->n_indices, lacks, "records of row numbers", c);
    compare_count(m, "page_faults", m->n_page_faults, lacks, "page faults", c);
    if (c->examined == 0) tt_check_not_observed(c, "the recorder's counts are not in the trace");
    return TT_OK;
}

/* --- kinds --- */

/* What every recorder writes, and what this one claims to have written. */
tt_status tt_check_kinds(const tt_model *m, tt_check *c, tt_error *err)
{
    const bool has_ops = tt_pieces_records(m->pieces) > 0, has_batches = m->n_batches > 0;
    const struct {
        const char *name;
        bool must, is;
    } kinds[] = {
        {"ENVIRONMENT", true, m->n_environment > 0},
        {"CLOCK", !tt_model_is_imported(m), m->n_clocks > 0},
        {"RING", has_ops, m->n_rings > 0},
        {"RUN", has_ops, m->n_runs > 0},
        {"COUNTS", m->trace.end_flags == TT_END_NORMAL && m->n_environment > 0, m->n_counts > 0},
        {"USAGE", has_batches && tt_model_captured(m, "capture_faults"), m->n_usages > 0},
        {"RESIDENCY", m->n_files > 0 && tt_model_captured(m, "capture_residency"),
         m->n_residencies > 0},
    };
    (void)err;
    if (!tt_check_has_end(m) || !(has_ops || has_batches || m->n_runs)) {
        tt_check_not_observed(
            c, has_ops || has_batches || m->n_runs
                   ? tt_check_no_end(m, "the trace was cut off: what stood behind the cut is not "
                                        "known")
                   : "nothing was computed");
        return TT_OK;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!kinds[i].must) continue;
        c->examined++;
        if (!kinds[i].is)
            tt_check_offend(c, TT_NO_OFFSET, "the trace holds no %s record, and has to",
                            kinds[i].name);
    }
    return TT_OK;
}

/* --- clock --- */

tt_status tt_check_clock(const tt_model *m, tt_check *c, tt_error *err)
{
    (void)err;
    c->examined = m->n_clocks;
    if (m->n_clocks_back)
        tt_check_offend(c, TT_NO_OFFSET,
                        "%" PRIu32 " of %" PRIu32 " readings of the clock are before the one "
                        "before them",
                        m->n_clocks_back, m->n_clocks);
    return TT_OK;
}

TT_ORDER_BY(by_context, tt_batch, context, thread, id)

/* The batches by context and thread, then in order; for free(). NULL if out of memory. */
static tt_batch *sorted_batches(const tt_model *m, tt_error *err)
{
    tt_batch *sorted = malloc(((size_t)m->n_batches + 1) * sizeof *sorted);
    if (!sorted) {
        (void)tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check batches");
        return NULL;
    }
    if (m->n_batches) {
        memcpy(sorted, m->batches, m->n_batches * sizeof *sorted);
        qsort(sorted, m->n_batches, sizeof *sorted, by_context);
    }
    return sorted;
}

/* Threads of a program that records itself may share a context's number. */
static bool follows(const tt_batch *a, const tt_batch *b)
{
    return a->context == b->context && a->context != 0 && a->thread == b->thread;
}

/* --- endings --- */

/* What began on a thread ended before the next began there: even if the file was cut off, because
 * records are in the order of computation. What is open when the program ends has no end. */
static tt_status check_run_ends(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_idmap open = {0};
    tt_status status = TT_OK;
    for (uint32_t i = 0; i < m->n_runs && status == TT_OK; i++) {
        const tt_run *r = &m->runs[i];
        const uint32_t before = tt_idmap_get(&open, r->thread);
        uint32_t was;
        c->examined++;
        if (before != TT_NONE && !m->runs[before].ended)
            tt_check_offend(c, TT_NO_OFFSET,
                            "run %u never ends, but its thread %u goes on with run %u",
                            m->runs[before].id, r->thread, r->id);
        if (r->ended && r->end_ticks < r->begin_ticks)
            tt_check_offend(c, TT_NO_OFFSET,
                            "run %u ends before it begins: ticks %" PRIu64 " and %" PRIu64, r->id,
                            r->end_ticks, r->begin_ticks);
        if (!tt_idmap_add(&open, r->thread, i, &was) || !tt_idmap_set(&open, r->thread, i))
            status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check endings");
    }
    tt_idmap_free(&open);
    return status;
}

tt_status tt_check_endings(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_batch *batches = sorted_batches(m, err);
    if (!batches) return TT_E_MEMORY;
    for (uint32_t i = 1; i < m->n_batches; i++)
        if (!batches[i - 1].ended && follows(&batches[i - 1], &batches[i]))
            tt_check_offend(c, TT_NO_OFFSET,
                            "batch %u never ends, but its context goes on with batch %u",
                            batches[i - 1].number, batches[i].number);
    free(batches);
    tt_status status = check_run_ends(m, c, err);
    if (status == TT_OK && c->examined == 0) tt_check_not_observed(c, "the trace holds no runs");
    return status;
}

/* --- batches --- */

static void check_run_in_batch(const tt_model *m, const tt_run *r, tt_check *c)
{
    if (r->batch == TT_NONE) return;
    const tt_batch *b = &m->batches[r->batch];
    c->examined++;
    if (r->begin_ticks < b->begin_ticks || (b->ended && r->begin_ticks > b->end_ticks))
        tt_check_offend(c, TT_NO_OFFSET, "run %u does not begin within batch %u, which it is of",
                        r->id, b->number);
    else if (r->ended && b->ended && r->end_ticks > b->end_ticks)
        tt_check_offend(c, TT_NO_OFFSET, "run %u ends after batch %u, which it is of", r->id,
                        b->number);
}

tt_status tt_check_batches(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_batch *sorted = sorted_batches(m, err);
    if (!sorted) return TT_E_MEMORY;
    for (uint32_t i = 0; i < m->n_batches; i++) {
        const tt_batch *b = &sorted[i];
        c->examined++;
        if (b->ended && b->end_ticks < b->begin_ticks)
            tt_check_offend(c, TT_NO_OFFSET,
                            "batch %u ends before it begins: ticks %" PRIu64 " and %" PRIu64,
                            b->number, b->end_ticks, b->begin_ticks);
        const tt_batch *before = i > 0 ? &sorted[i - 1] : NULL;
        if (before && follows(before, b) && before->ended && b->begin_ticks < before->end_ticks)
            tt_check_offend(c, TT_NO_OFFSET,
                            "batch %u begins before batch %u of its context ends: ticks %" PRIu64
                            " and %" PRIu64,
                            b->number, before->number, b->begin_ticks, before->end_ticks);
    }
    for (uint32_t i = 0; i < m->n_runs; i++)
        check_run_in_batch(m, &m->runs[i], c);
    free(sorted);
    if (c->examined == 0) tt_check_not_observed(c, "the trace holds no batches");
    return TT_OK;
}

/* --- tensors --- */

/* Bytes from the first to the end of the last element, as ggml counts them. False: more than 64
 * bits. */
static bool extent_of(const tt_tensor *t, const tt_ggml_type *type, uint64_t *out)
{
    uint64_t sum = type->block_bytes, step;
    for (unsigned i = 0; i < TT_DIMS; i++) {
        if (i == 0 && type->block_elements > 1) {
            if (__builtin_mul_overflow(t->ne[0], t->nb[0], &sum)) return false;
            sum /= type->block_elements;
        } else if (__builtin_mul_overflow(t->ne[i] - 1, t->nb[i], &step) ||
                   __builtin_add_overflow(sum, step, &sum)) {
            return false;
        }
    }
    *out = sum;
    return true;
}

/* Bytes of the elements alone. */
static bool packed_of(const tt_tensor *t, const tt_ggml_type *type, uint64_t *out)
{
    uint64_t n = 1;
    for (unsigned i = 0; i < TT_DIMS; i++)
        if (__builtin_mul_overflow(n, t->ne[i], &n)) return false;
    return !__builtin_mul_overflow(n / type->block_elements, (uint64_t)type->block_bytes, out);
}

/* Not every recorder has the strides of blocks, but all have the shape; for one that is impossibly
 * large, there are no bytes. */
static bool has_its_bytes(const tt_tensor *t, const tt_ggml_type *type)
{
    uint64_t extent = 0, packed = 0;
    const bool has_extent = extent_of(t, type, &extent), has_packed = packed_of(t, type, &packed);
    return (has_extent && extent == t->size_bytes) || (has_packed && packed == t->size_bytes) ||
           (!(has_extent && has_packed) && t->size_bytes == 0);
}

/* Engines may have types that this program does not know. */
static const tt_ggml_type *type_of(const tt_graph *g, const tt_tensor *t, tt_check *c)
{
    const tt_ggml_type *type = tt_ggml_type_find(t->type),
                       *named = tt_ggml_type_parse(t->type_name);
    if (!type || !named) return NULL;
    if (type == named) return type;
    tt_check_offend(c, g->chunk_offset_bytes, "graph %u: %.64s is of type %u (%s), called %s",
                    g->id, t->name, t->type, type->name, named->name);
    return NULL;
}

static bool is_empty(const tt_tensor *t)
{
    for (unsigned i = 0; i < TT_DIMS; i++)
        if (t->ne[i] == 0) return true;
    return false;
}

static void check_tensor(const tt_model *m, const tt_graph *g, uint32_t at, tt_check *c)
{
    const tt_tensor *t = &g->tensors[at];
    const tt_ggml_type *type = type_of(g, t, c);
    c->examined++;
    /* Engines of 2024 report a negative size for a tensor without elements. */
    if (type && !is_empty(t) && !has_its_bytes(t, type))
        tt_check_offend(c, g->chunk_offset_bytes,
                        "graph %u: %.64s has %" PRIu64 " bytes, which its shape and type do not",
                        g->id, t->name, t->size_bytes);
    /* ggml_cast gives its result as its second source. */
    for (uint32_t i = 0; i < t->n_src; i++)
        if (t->src[i] == at && !(i == 1 && strcmp(t->op_name, "CPY") == 0))
            tt_check_offend(c, g->chunk_offset_bytes,
                            "graph %u: %.64s (%s) is computed from itself", g->id, t->name,
                            t->op_name);
    if (t->buffer == TT_NONE || is_empty(t)) return;
    const tt_buffer *b = &m->buffers[t->buffer];
    if (t->location > b->size_bytes || t->size_bytes > b->size_bytes - t->location)
        tt_check_offend(c, g->chunk_offset_bytes,
                        "graph %u: %.64s passes the end of buffer %" PRIu64, g->id, t->name, b->id);
}

tt_status tt_check_tensors(const tt_model *m, tt_check *c, tt_error *err)
{
    (void)err;
    for (uint32_t k = 0; k < m->n_graphs; k++)
        for (uint32_t i = 0; i < m->graphs[k].n_tensors; i++)
            check_tensor(m, &m->graphs[k], i, c);
    if (c->examined == 0) tt_check_not_observed(c, "the trace holds no graphs");
    return TT_OK;
}

/* The checks of `verify` on data besides the ops: the kernel's counters, pages in RAM, texts, row
 * numbers. */

/* --- usage --- */

static void fell(const tt_meta_usage *u, const char *what, uint64_t was, uint64_t is, tt_check *c)
{
    if (is < was)
        tt_check_offend(c, TT_NO_OFFSET,
                        "%s of the process fall from %" PRIu64 " to %" PRIu64 " (batch %" PRId64
                        ")",
                        what, was, is, u->batch == TT_NONE ? -1 : (int64_t)u->batch);
}

static void compare_devices(const tt_meta_usage *a, const tt_meta_usage *b, tt_check *c)
{
    for (uint32_t i = 0; i < a->n_devices; i++)
        for (uint32_t k = 0; k < b->n_devices; k++) {
            if (a->devices[i].device != b->devices[k].device) continue;
            fell(b, "bytes read from a device", a->devices[i].read_bytes, b->devices[k].read_bytes,
                 c);
            fell(b, "reads of a device", a->devices[i].reads, b->devices[k].reads, c);
        }
}

/* b comes after a on the same thread. */
static void compare_usage(const tt_meta_usage *a, const tt_meta_usage *b, tt_check *c)
{
    fell(b, "ticks", a->ticks, b->ticks, c);
    if (a->flags & b->flags & TT_USAGE_FAULTS) {
        fell(b, "minor faults", a->minor, b->minor, c);
        fell(b, "major faults", a->major, b->major, c);
        fell(b, "user ns", a->user_ns, b->user_ns, c);
        fell(b, "system ns", a->system_ns, b->system_ns, c);
    }
    if (a->flags & b->flags & TT_USAGE_IO) {
        fell(b, "bytes read from devices", a->read_bytes, b->read_bytes, c);
        fell(b, "bytes passed by read", a->rchar, b->rchar, c);
    }
    if (a->flags & b->flags & TT_USAGE_DEVICES) compare_devices(a, b, c);
}

/* Records of two threads may be in either order: each thread is compared with itself, and the end
 * of recording with its start. */
tt_status tt_check_usage(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_idmap last = {0};
    tt_status status = TT_OK;
    for (uint32_t i = 0; i < m->n_usages; i++) {
        const tt_meta_usage *u = &m->usages[i];
        uint64_t thread = u->batch == TT_NONE ? UINT64_MAX : (uint64_t)m->batches[u->batch].thread;
        uint32_t was;
        c->examined++;
        if (!tt_idmap_add(&last, thread, i, &was) || !tt_idmap_set(&last, thread, i)) {
            status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check counters");
            break;
        }
        if (was == TT_NONE) continue;
        compare_usage(&m->usages[was], u, c);
    }
    tt_idmap_free(&last);
    if (m->n_usages == 0) tt_check_not_captured(m, "capture_faults", c);
    return status;
}

/* --- residency --- */

/* The progress of the records of one sample in their file. */
typedef struct moment {
    uint64_t next_page;
    uint64_t pages;
    uint64_t begin_ticks; /* of the last record */
    uint32_t file;
} moment;

static uint64_t moment_key(const tt_residency *r)
{
    return (uint64_t)r->file << 34 | (uint64_t)(uint32_t)(r->batch + 1) << 2 | (r->moment & 3u);
}

static void check_pages(const tt_model *m, const tt_residency *r, moment *at, tt_check *c)
{
    const tt_model_file *f = &m->files[r->file];
    uint64_t pages = f->size_bytes / r->page_bytes + (f->size_bytes % r->page_bytes != 0);
    c->examined++;
    if (r->first_page > pages || r->n_pages > pages - r->first_page)
        tt_check_offend(c, TT_NO_OFFSET,
                        "pages %" PRIu64 " + %" PRIu64 " are not inside %.120s, which has %" PRIu64,
                        r->first_page, r->n_pages, f->path, pages);
    else if (at->pages > 0 && r->begin_ticks == at->begin_ticks && r->first_page == 0)
        tt_check_offend(c, TT_NO_OFFSET, "pages of %.120s at tick %" PRIu64 " are told twice",
                        f->path, r->begin_ticks);
    else if (r->first_page != at->next_page)
        tt_check_offend(c, TT_NO_OFFSET, "pages of %.120s go on at %" PRIu64 " instead of %" PRIu64,
                        f->path, r->first_page, at->next_page);
    *at = (moment){r->first_page + r->n_pages, pages, r->begin_ticks, r->file};
}

tt_status tt_check_residency(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_idmap slots = {0};
    tt_status status = TT_OK;
    uint64_t lost = 0;
    moment *moments = calloc((size_t)m->n_residencies + 1, sizeof *moments);
    if (!moments) return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check pages");
    for (uint32_t i = 0; i < m->n_residencies; i++) {
        uint32_t slot;
        if (!tt_idmap_add(&slots, moment_key(&m->residencies[i]), i, &slot)) {
            status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check pages");
            break;
        }
        if (slot == TT_NONE) slot = i;
        /* A complete sample may recur: a file can be sampled twice. */
        if (moments[slot].next_page >= moments[slot].pages) moments[slot].next_page = 0;
        check_pages(m, &m->residencies[i], &moments[slot], c);
    }
    (void)tt_model_count(m, "meta_dropped", &lost);
    for (uint32_t i = 0; i < m->n_residencies && tt_check_has_end(m) && lost == 0; i++)
        if (moments[i].next_page < moments[i].pages)
            tt_check_offend(c, TT_NO_OFFSET,
                            "of %.120s only %" PRIu64 " of %" PRIu64 " pages were looked at",
                            m->files[moments[i].file].path, moments[i].next_page, moments[i].pages);
    if (m->n_residencies == 0) tt_check_not_captured(m, "capture_residency", c);
    tt_idmap_free(&slots);
    free(moments);
    return status;
}

/* --- text --- */

tt_status tt_check_text(const tt_model *m, tt_check *c, tt_error *err)
{
    (void)err;
    for (uint32_t i = 0; i < m->n_token_texts; i++) {
        const tt_token_text *t = &m->token_texts[i];
        c->examined++;
        if (tt_model_token_text(m, t->vocabulary, t->token, NULL) != t->text)
            tt_check_offend(c, TT_NO_OFFSET, "token %d of vocabulary %u has two texts", t->token,
                            t->vocabulary);
    }
    if (m->n_token_texts == 0) tt_check_not_captured(m, "capture_text", c);
    return TT_OK;
}

/* --- indices --- */

/* The number of rows that the numbers in the source `slot` of a node may select; 0: they are not
 * row numbers. */
static uint64_t rows_of(const tt_graph *g, uint32_t node, uint32_t *numbers)
{
    const tt_tensor *t = &g->tensors[node];
    uint64_t stride;
    if (tt_op_pick(g, node, 0, numbers, &stride) == TT_PICK_ROWS)
        return g->tensors[t->src[0]].ne[1];
    if (strcmp(t->op_name, "SET_ROWS") != 0 || t->n_src < 2 || t->src[1] == TT_NONE) return 0;
    *numbers = t->src[1];
    return t->ne[1];
}

/* By tensor: upper bound of its values; 0: unknown. NULL if out of memory. */
static uint64_t *find_limits(const tt_graph *g)
{
    uint64_t *limits = calloc((size_t)g->n_tensors + 1, sizeof *limits);
    for (uint32_t i = 0; limits && i < g->n_nodes; i++) {
        uint32_t numbers = TT_NONE;
        uint64_t rows = rows_of(g, i, &numbers);
        if (rows == 0) continue;
        uint32_t root = g->tensors[numbers].root;
        /* Through a partial view, only that part is limited. */
        if (tt_elements(&g->tensors[numbers]) != tt_elements(&g->tensors[root])) continue;
        if (limits[root] == 0 || rows < limits[root]) limits[root] = rows;
    }
    return limits;
}

static void check_values(const tt_model *m, const tt_indices *x, uint64_t limit, tt_check *c)
{
    const tt_run *run = &m->runs[x->run];
    const tt_tensor *t = &m->graphs[run->graph].tensors[x->tensor];
    c->examined += x->n;
    if (x->n != tt_elements(t))
        tt_check_offend(c, TT_NO_OFFSET, "run %u: %u row numbers of %.64s, which holds %" PRIu64,
                        run->id, x->n, t->name, tt_elements(t));
    for (uint32_t i = 0; i < x->n && limit; i++)
        if (x->values[i] < 0 || (uint64_t)x->values[i] >= limit)
            tt_check_offend(c, TT_NO_OFFSET, "run %u: %.64s names row %" PRId64 " of %" PRIu64,
                            run->id, t->name, x->values[i], limit);
}

tt_status tt_check_indices(const tt_model *m, tt_check *c, tt_error *err)
{
    tt_status status = TT_OK;
    uint64_t **limits = calloc((size_t)m->n_graphs + 1, sizeof *limits);
    for (uint32_t i = 0; limits && i < m->n_indices && status == TT_OK; i++) {
        uint32_t graph = m->runs[m->indices[i].run].graph;
        if (!limits[graph]) limits[graph] = find_limits(&m->graphs[graph]);
        if (limits[graph])
            check_values(m, &m->indices[i], limits[graph][m->indices[i].tensor], c);
        else
            status = TT_E_MEMORY;
    }
    for (uint32_t i = 0; limits && i < m->n_graphs; i++)
        free(limits[i]);
    if (!limits || status != TT_OK)
        status = tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory to check row numbers");
    free(limits);
    if (m->n_indices == 0) tt_check_not_captured(m, NULL, c);
    return status;
}
