/* The checks of `verify` on what surrounds the ops: the kernel's counters, pages in RAM, texts,
 * row numbers. */
#include "analyze/ops.h"
#include "analyze/verify/checks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

/* Records of two threads may be in either order: each thread is held against itself, and the end
 * of recording against its begin. */
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

/* Where the records of one moment have come to in their file. */
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
        /* A moment that was complete may come again: a file can be looked at twice. */
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

/* The rows that the numbers in the source `slot` of a node may name; 0: they are no rows. */
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

/* By tensor: below what its values have to be; 0: not known. NULL without memory. */
static uint64_t *find_limits(const tt_graph *g)
{
    uint64_t *limits = calloc((size_t)g->n_tensors + 1, sizeof *limits);
    for (uint32_t i = 0; limits && i < g->n_nodes; i++) {
        uint32_t numbers = TT_NONE;
        uint64_t rows = rows_of(g, i, &numbers);
        if (rows == 0) continue;
        uint32_t root = g->tensors[numbers].root;
        /* Through a view of a part, only that part is limited. */
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
