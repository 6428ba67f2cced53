#include "analyze/values/first.h"
#include "analyze/kvcache.h"
#include "analyze/model_file.h"
#include "base/array.h"
#include "base/idmap.h"
#include "base/order.h"
#include "gguf/types.h"
#include "model/model.h"
#include "value/type.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HALF_MAX 65504.0
#define TT_VALUES_CELLS_MAX 4096u /* separate intervals */

/* Zero-filled is empty. */
typedef struct tt_values_cells {
    struct tt_values_interval *list; /* ascending, disjoint */
    size_t n, capacity;
    bool unknown; /* intervals are missing from the list: it never becomes empty */
} tt_values_cells;

struct tt_values_interval {
    uint64_t begin, end; /* bytes, from the start of the memory */
};

typedef struct tt_values_interval interval;

/* Replaces the intervals [at, at + n) by the others. */
static bool replace(tt_values_cells *c, size_t at, size_t n, const interval *others,
                    size_t n_others)
{
    size_t total = c->n - n + n_others;
    if (total > TT_VALUES_CELLS_MAX) {
        c->unknown = true;
        return true;
    }
    if (!tt_array_room(c->list, c->capacity, total)) return false;
    if (c->n > at + n)
        memmove(c->list + at + n_others, c->list + at + n, (c->n - at - n) * sizeof *c->list);
    if (n_others) memcpy(c->list + at, others, n_others * sizeof *others);
    c->n = total;
    return true;
}

/* The first interval that ends at or after `at`. */
static size_t find(const tt_values_cells *c, uint64_t at)
{
    size_t i;
    tt_lower_bound(i, c->n, c->list[i].end < at);
    return i;
}

static bool join(tt_values_cells *c, interval s)
{
    size_t first = find(c, s.begin), last = first;
    for (; last < c->n && c->list[last].begin <= s.end; last++) {
        if (c->list[last].begin < s.begin) s.begin = c->list[last].begin;
        if (c->list[last].end > s.end) s.end = c->list[last].end;
    }
    return replace(c, first, last - first, &s, 1);
}

static bool cut(tt_values_cells *c, interval s)
{
    size_t first = find(c, s.begin), last = first, n = 0;
    interval left[2];
    for (; last < c->n && c->list[last].begin < s.end; last++) {
        const interval was = c->list[last];
        if (was.begin < s.begin) left[n++] = (interval){was.begin, s.begin};
        if (was.end > s.end) left[n++] = (interval){s.end, was.end};
    }
    return replace(c, first, last - first, left, n);
}

/* Calls `with` for everything that the node wrote; *known: these bytes are known. */
static bool each(tt_values_cells *c, const tt_model *m, uint32_t run, const tt_graph *g,
                 uint32_t node, bool (*with)(tt_values_cells *, interval), bool *known)
{
    const tt_tensor *t = &g->tensors[node];
    const uint64_t from = t->root_offset_bytes;
    *known = false;
    if (strcmp(t->op_name, "SET_ROWS") == 0) {
        const tt_indices *rows = tt_kv_row_numbers(m, run, g, t);
        if (!rows || t->ne[2] > 1 || t->ne[3] > 1 || t->nb[1] == 0) return true;
        for (uint32_t i = 0; i < rows->n; i++) {
            uint64_t row = (uint64_t)rows->values[i];
            if (rows->values[i] < 0 || row >= t->size_bytes / t->nb[1]) return true;
        }
        for (uint32_t i = 0; i < rows->n; i++) {
            uint64_t begin = from + (uint64_t)rows->values[i] * t->nb[1];
            if (!with(c, (interval){begin, begin + t->nb[1]})) return false;
        }
    } else {
        /* CPY writes one contiguous row; others may have gaps between the rows. */
        if (t->ne[1] > 1 || t->ne[2] > 1 || t->ne[3] > 1) return true;
        if (!with(c, (interval){from, from + t->size_bytes})) return false;
    }
    *known = true;
    return true;
}

/* What that node wrote in that run is bad, or (second function) finite. Both: false if out of
 * memory. */
static bool values_cells_add(tt_values_cells *c, const tt_model *m, uint32_t run, const tt_graph *g,
                             uint32_t node)
{
    bool known;
    if (!each(c, m, run, g, node, join, &known)) return false;
    c->unknown |= !known;
    return true;
}

static bool values_cells_clear(tt_values_cells *c, const tt_model *m, uint32_t run,
                               const tt_graph *g, uint32_t node)
{
    bool known;
    return each(c, m, run, g, node, cut, &known);
}

static bool values_cells_empty(const tt_values_cells *c)
{
    return c->n == 0 && !c->unknown;
}

static void values_cells_free(tt_values_cells *c)
{
    free(c->list);
    memset(c, 0, sizeof *c);
}

/* The state of memory that outlives a run (a KV cache), from its last write; or, while something
 * bad may remain there, from the first write that left it. */
typedef struct retained {
    uint32_t run, node;
    tt_values_state state;
    bool measured;
    tt_fingerprint print;
    tt_values_cells bad;
} retained;

typedef struct finding {
    const tt_model *m;
    tt_values_first *out;
    retained *list;
    size_t n, capacity, origins_capacity;
    tt_idmap by_location; /* of `list` */
    uint32_t last_bad_batch;
} finding;

const char *tt_values_origin_kind_name(tt_values_origin_kind k)
{
    return k == TT_VALUES_MADE_HERE ? "made" : k == TT_VALUES_INHERITED ? "inherited" : "uncertain";
}

/* --- retained memory --- */

/* The location of a leaf: the same for all graphs that use it. */
static uint64_t place_of(const tt_tensor *leaf)
{
    return ((uint64_t)leaf->buffer << 44) ^ leaf->location;
}

static bool note_write(finding *f, const tt_graph *g, const tt_values_seen *seen)
{
    const uint32_t root = g->tensors[seen->node].root;
    if (root < g->n_nodes) return true;
    uint64_t place = place_of(&g->tensors[root]);
    uint32_t at = tt_idmap_get(&f->by_location, place), was;
    if (at == TT_NONE) {
        if (!tt_array_one_more(f->list, f->n, f->capacity)) return false;
        if (!tt_idmap_add(&f->by_location, place, (uint32_t)f->n, &was)) return false;
        at = (uint32_t)f->n++;
        f->list[at] = (retained){.run = TT_NONE};
    }
    retained *l = &f->list[at];
    const bool was_bad = !values_cells_empty(&l->bad);
    if (tt_values_state_is_bad(seen->state)) {
        if (!values_cells_add(&l->bad, f->m, seen->run, g, seen->node)) return false;
    } else if (was_bad && seen->state == TT_STATE_FINITE &&
               !values_cells_clear(&l->bad, f->m, seen->run, g, seen->node)) {
        return false;
    }
    if (was_bad && !values_cells_empty(&l->bad)) return true;
    l->run = seen->run;
    l->node = seen->node;
    l->state = seen->state;
    l->measured = seen->print != NULL;
    if (seen->print) l->print = *seen->print;
    return true;
}

/* --- sources --- */

static const retained *find_retained(const finding *f, const tt_graph *g, uint32_t root)
{
    if (root < g->n_nodes) return NULL;
    uint32_t at = tt_idmap_get(&f->by_location, place_of(&g->tensors[root]));
    return at == TT_NONE ? NULL : &f->list[at];
}

static tt_values_source look(const finding *f, const tt_values_walk *w, uint32_t run,
                             const tt_graph *g, const tt_op_source *of)
{
    tt_values_source s = {.graph = g,
                          .tensor = of->tensor,
                          .slot = of->slot,
                          .output = {.run = TT_NONE, .node = TT_NONE},
                          .weight = of->weight};
    const uint32_t root = g->tensors[of->tensor].root;
    const uint32_t writer = tt_values_walk_writer(w, of->tensor);
    const retained *last = find_retained(f, g, root);
    const tt_fingerprint *print;
    if (of->weight != TT_NONE) {
        s.state = TT_STATE_WEIGHT;
        return s;
    }
    if (writer != TT_NONE) {
        s.output.run = run;
        s.output.node = writer;
        s.state = tt_values_walk_state(w, writer, &print);
        s.measured = print != NULL;
        if (print) s.output.print = *print;
    }
    /* A cache is written in parts: the op also reads what earlier batches left there. */
    if (last && (writer == TT_NONE || tt_values_state_is_bad(last->state))) {
        s.output.run = last->run;
        s.output.node = last->node;
        s.state = last->state;
        s.measured = last->measured;
        s.output.print = last->print;
    } else if (writer == TT_NONE && root >= g->n_nodes) {
        const uint32_t buffer = g->tensors[root].buffer;
        const bool cache = buffer != TT_NONE && f->m->buffers[buffer].kind == TT_BUFFER_KV_CACHE;
        s.state = cache ? TT_STATE_UNMEASURED : TT_STATE_INPUT;
    }
    return s;
}

static tt_values_origin_kind evaluate(const tt_values_origin *b)
{
    bool unknown = false;
    for (uint32_t i = 0; i < b->n_sources; i++) {
        if (tt_values_state_is_bad(b->sources[i].state)) return TT_VALUES_INHERITED;
        unknown = unknown || b->sources[i].state == TT_STATE_UNMEASURED;
    }
    return unknown ? TT_VALUES_UNCERTAIN : TT_VALUES_MADE_HERE;
}

/* Whether a takes precedence over b if not all sources can be listed. */
static bool matters_more(tt_values_state a, tt_values_state b)
{
    return tt_values_state_is_bad(a) && !tt_values_state_is_bad(b);
}

static void look_at_sources(const finding *f, tt_values_walk *w, const tt_values_seen *seen,
                            const tt_op *op, tt_values_origin *b)
{
    for (uint32_t i = 0; i < op->n_sources; i++) {
        const tt_op_source *of = &op->sources[i];
        if (tt_op_writes_into(op->graph, of->node, of->slot)) continue;
        tt_values_source s = look(f, w, seen->run, op->graph, of);
        if (b->n_sources < TT_VALUES_SOURCES_MAX)
            b->sources[b->n_sources++] = s;
        else if (matters_more(s.state, b->sources[TT_VALUES_SOURCES_MAX - 1].state))
            b->sources[TT_VALUES_SOURCES_MAX - 1] = s;
    }
}

/* --- bad outputs --- */

static const char *name_of(const tt_model *m, const tt_values_origin *b)
{
    return m->graphs[m->runs[b->row.run].graph].tensors[b->row.node].name;
}

/* A weight affects a node in each token, so each name is kept once. */
static bool keep_origin(finding *f, const tt_values_origin *b)
{
    tt_values_first *out = f->out;
    const char *name = name_of(f->m, b);
    out->origins_total++;
    for (size_t i = 0; i < out->n_origins; i++)
        if (strcmp(name_of(f->m, &out->origins[i]), name) == 0) {
            out->origins[i].times++;
            return true;
        }
    if (out->n_origins == TT_VALUES_ORIGINS_MAX) return true;
    if (!tt_array_one_more(out->origins, out->n_origins, f->origins_capacity)) return false;
    out->origins[out->n_origins] = *b;
    out->origins[out->n_origins++].times = 1;
    return true;
}

static void count_batch(finding *f, uint32_t batch)
{
    tt_values_first *out = f->out;
    if (batch == TT_NONE || batch == f->last_bad_batch) return;
    f->last_bad_batch = batch;
    if (out->tokens_bad++ == 0) out->first_batch = batch;
    out->last_batch = batch;
}

static bool is_logits(const tt_tensor *t)
{
    return strcmp(t->place.component, "output") == 0;
}

static tt_status take(void *context, tt_values_walk *w, const tt_values_seen *seen, tt_error *err)
{
    finding *f = context;
    tt_values_first *out = f->out;
    const tt_graph *g = &f->m->graphs[seen->graph];
    const bool bad = tt_values_state_is_bad(seen->state);
    if (is_logits(&g->tensors[seen->node]) && seen->print) {
        out->logits++;
        if (bad && out->logits_bad++ == 0) out->first_logits_run = seen->run;
    }
    if (bad && seen->passes) {
        tt_values_origin b = {.row = tt_values_seen_row(seen)};
        const tt_op *op = tt_values_walk_op(w, seen);
        if (!op) return tt_error_memory(err, "where bad values began");
        look_at_sources(f, w, seen, op, &b);
        b.kind = evaluate(&b);
        if (out->found) {
            out->bad_after++;
            out->inherited += b.kind == TT_VALUES_INHERITED;
        }
        /* The first one is always kept: with a filter, it may have inherited. */
        if ((!out->found || b.kind != TT_VALUES_INHERITED) && !keep_origin(f, &b))
            return tt_error_memory(err, "where bad values began");
        out->found = true;
        count_batch(f, f->m->runs[seen->run].batch);
    }
    return note_write(f, g, seen) ? TT_OK : tt_error_memory(err, "where bad values began");
}

tt_status tt_values_first_bad(const tt_model *m, const tt_values_query *q, const tt_over *over,
                              tt_values_first *out, tt_error *err)
{
    finding f = {.m = m, .out = out, .last_bad_batch = TT_NONE};
    memset(out, 0, sizeof *out);
    out->first_batch = out->last_batch = out->first_logits_run = TT_NONE;
    tt_status status = tt_values_walk_all(m, q, true, over, take, &f, &out->counts, err);
    for (size_t i = 0; i < f.n; i++)
        values_cells_free(&f.list[i].bad);
    free(f.list);
    tt_idmap_free(&f.by_location);
    return status;
}

/* The earlier result for that weight; NULL: none. */
static const tt_values_weight *seen_before(const tt_values_first *f, const tt_values_source *until)
{
    for (size_t i = 0; i < f->n_origins; i++)
        for (uint32_t k = 0; k < f->origins[i].n_sources; k++) {
            const tt_values_source *s = &f->origins[i].sources[k];
            if (s == until) return NULL;
            if (s->weight == until->weight) return &s->in_file;
        }
    return NULL;
}

tt_status tt_values_first_weights(const tt_model *m, const tt_over *over, tt_values_first *f,
                                  tt_error *err)
{
    tt_status status = TT_OK;
    for (size_t i = 0; i < f->n_origins; i++)
        for (uint32_t k = 0; k < f->origins[i].n_sources && status == TT_OK; k++) {
            tt_values_source *s = &f->origins[i].sources[k];
            if (s->weight == TT_NONE) continue;
            const tt_values_weight *seen = seen_before(f, s);
            if (seen)
                s->in_file = *seen;
            else
                status = tt_values_weight_look(m, s->weight, over, &s->in_file, err);
        }
    return status;
}

/* The type to which ggml's CPU backend converts the other factor of a product with such a weight,
 * if it is one whose magnitudes end. */
static const char *narrow_factor(const char *weight_type, double *limit)
{
    static const struct {
        const char *weight, *factor;
    } types[] = {{"f16", "f16"},   {"q4_0", "q8_0"}, {"q5_0", "q8_0"},  {"q8_0", "q8_0"},
                 {"q4_1", "q8_1"}, {"q5_1", "q8_1"}, {"iq4_nl", "q8_0"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].weight, weight_type) == 0) {
            /* A block's scale is a half: its largest magnitude / 127. */
            *limit = types[i].factor[0] == 'f' ? HALF_MAX : 127 * HALF_MAX;
            return types[i].factor;
        }
    return NULL;
}

bool tt_values_narrowed(const tt_model *m, const tt_values_origin *b, tt_values_narrowing *out)
{
    const tt_tensor *op = &m->graphs[m->runs[b->row.run].graph].tensors[b->row.node];
    const bool product = strncmp(op->op_name, "MUL_MAT", 7) == 0;
    *out = (tt_values_narrowing){0};
    for (uint32_t i = 0; product && i < b->n_sources; i++)
        if (b->sources[i].slot == 0)
            out->to = narrow_factor(b->sources[i].graph->tensors[b->sources[i].tensor].type_name,
                                    &out->limit);
    if (!product && strcmp(op->type_name, "f16") == 0) {
        out->to = op->type_name;
        out->limit = HALF_MAX;
    }
    for (uint32_t i = 0; out->to && b->kind != TT_VALUES_INHERITED && i < b->n_sources; i++) {
        const tt_values_source *s = &b->sources[i];
        const tt_fingerprint *p = &s->output.print;
        if (!s->measured || s->weight != TT_NONE || s->state != TT_STATE_FINITE || !p->has_range ||
            (product && s->slot != 1))
            continue;
        out->largest = fmax(fabs((double)p->min), fabs((double)p->max));
        if (out->largest <= out->limit) continue;
        out->source = s;
        return true;
    }
    return false;
}

void tt_values_first_free(tt_values_first *f)
{
    free(f->origins);
    memset(f, 0, sizeof *f);
}

#define PIECE_ELEMENTS 16384u /* whole blocks of every type */
#define NONE 0xffu

/* Offsets of a block's scale, and of the scale of its minima, in ggml-common.h: halves, by which
 * the whole block is multiplied. The rest of a block is finite whatever its bits. */
static const struct scales {
    const char *type;
    uint8_t scale, minimum;
} SCALES[] = {
    {"Q2_K", 80, 82},    {"Q3_K", 108, NONE},  {"Q4_K", 0, 2},       {"Q5_K", 0, 2},
    {"Q6_K", 208, NONE}, {"IQ1_S", 0, NONE},   {"IQ2_XXS", 0, NONE}, {"IQ2_XS", 0, NONE},
    {"IQ2_S", 0, NONE},  {"IQ3_XXS", 0, NONE}, {"IQ3_S", 0, NONE},   {"IQ4_XS", 0, NONE},
    {"TQ1_0", 52, NONE}, {"TQ2_0", 64, NONE},
};

typedef struct looking {
    tt_ggml_type type;
    tt_value_type values; /* TT_VALUE_UNKNOWN: by its scales */
    const struct scales *scales;
    uint8_t *bytes; /* a piece */
    float *floats;
    tt_values_weight *out;
} looking;

/* False: the type's blocks are unknown. */
static bool know_type(looking *l, const tt_weight *w)
{
    const tt_ggml_type *type = tt_ggml_type_find(w->type);
    char name[16] = "";
    if (!type || strlen(type->name) >= sizeof name) return false;
    for (size_t i = 0; type->name[i]; i++)
        name[i] = (char)tolower((unsigned char)type->name[i]);
    l->type = *type;
    l->values = tt_value_type_of(name);
    for (size_t i = 0; i < sizeof SCALES / sizeof *SCALES; i++)
        if (strcmp(SCALES[i].type, type->name) == 0) l->scales = &SCALES[i];
    l->out->nan_inf_known = l->values != TT_VALUE_UNKNOWN;
    return l->out->nan_inf_known ? tt_value_block_elements(l->values) == type->block_elements &&
                                       tt_value_block_bytes(l->values) == type->block_bytes
                                 : l->scales != NULL;
}

/* Sets the weight's number of elements; false if size, shape and file do not match. */
static bool know_size(const looking *l, const tt_weight *w, const tt_model_file *f)
{
    uint64_t n = 1;
    if (w->size_bytes % l->type.block_bytes || w->offset_bytes > f->size_bytes ||
        w->size_bytes > f->size_bytes - w->offset_bytes)
        return false;
    l->out->elements = w->size_bytes / l->type.block_bytes * l->type.block_elements;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (__builtin_mul_overflow(n, w->ne[d], &n)) return false;
    l->out->has_place = w->n_dims > 0;
    return w->n_dims == 0 || n == l->out->elements;
}

static bool is_finite(const uint8_t *half)
{
    uint16_t h;
    memcpy(&h, half, sizeof h);
    return (h & 0x7c00u) != 0x7c00u;
}

static void found(tt_values_weight *out, uint64_t at, uint64_t n)
{
    if (out->n_bad == 0) out->first_bad = at;
    out->n_bad += n;
}

static void look_at_values(looking *l, uint64_t from, size_t n)
{
    tt_value_to_f32(l->values, l->bytes, n, l->floats);
    for (size_t i = 0; i < n; i++) {
        if (__builtin_isfinite(l->floats[i])) continue;
        found(l->out, from + i, 1);
        if (__builtin_isnan(l->floats[i]))
            l->out->n_nan++;
        else
            l->out->n_inf++;
    }
}

static void look_at_scales(looking *l, uint64_t from, size_t n)
{
    const struct scales *s = l->scales;
    for (size_t i = 0; i < n; i += l->type.block_elements) {
        const uint8_t *block = l->bytes + i / l->type.block_elements * l->type.block_bytes;
        if (!is_finite(block + s->scale) || (s->minimum != NONE && !is_finite(block + s->minimum)))
            found(l->out, from + i, l->type.block_elements);
    }
}

static const char *read_all(int fd, uint8_t *to, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t n = pread(fd, to, size, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return strerror(errno);
        if (n == 0) return "it ends before the weight does";
        to += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return NULL;
}

static tt_status look_at_all(looking *l, int fd, uint64_t offset, const tt_over *over,
                             tt_error *err)
{
    tt_values_weight *out = l->out;
    tt_status status = TT_OK;
    for (uint64_t at = 0; at < out->elements && !out->why_not && status == TT_OK;) {
        const uint64_t left = out->elements - at;
        const size_t n = left < PIECE_ELEMENTS ? (size_t)left : PIECE_ELEMENTS;
        const size_t size = n / l->type.block_elements * l->type.block_bytes;
        status = tt_over_check(over, err);
        if (status == TT_OK) out->why_not = read_all(fd, l->bytes, size, offset);
        if (status != TT_OK || out->why_not) break;
        if (out->nan_inf_known)
            look_at_values(l, at, n);
        else
            look_at_scales(l, at, n);
        at += n;
        offset += size;
    }
    return status;
}

static void place_first(const tt_weight *w, tt_values_weight *out)
{
    uint64_t rest = out->first_bad;
    for (uint32_t d = 0; d < TT_DIMS && out->n_bad; d++) {
        const uint64_t ne = d < w->n_dims ? w->ne[d] : 1;
        out->first_bad_at[d] = rest % ne;
        rest /= ne;
    }
}

/* In a file that is the traced one. */
static tt_status look_in(looking *l, const tt_weight *w, const tt_model_file *f, int fd,
                         const tt_over *over, tt_error *err)
{
    if (tt_model_file_is_modified(f, fd))
        l->out->why_not = "it was modified after it was traced";
    else if (!know_type(l, w))
        l->out->why_not = "elements of its type are not looked at";
    else if (!know_size(l, w, f))
        l->out->why_not = "the trace's size or shape of it does not fit";
    if (l->out->why_not) return TT_OK;
    const size_t blocks = PIECE_ELEMENTS / l->type.block_elements;
    l->bytes = malloc(blocks * l->type.block_bytes);
    l->floats = malloc(PIECE_ELEMENTS * sizeof *l->floats);
    tt_status status = l->bytes && l->floats ? look_at_all(l, fd, w->offset_bytes, over, err)
                                             : tt_error_memory(err, "a piece of a weight");
    free(l->bytes);
    free(l->floats);
    return status;
}

tt_status tt_values_weight_look(const tt_model *m, uint32_t weight, const tt_over *over,
                                tt_values_weight *out, tt_error *err)
{
    const tt_weight *w = &m->weights[weight];
    const tt_model_file *f = &m->files[w->file];
    looking l = {.out = out};
    int fd;
    memset(out, 0, sizeof *out);
    out->why_not = tt_model_file_open(f, f->path, &fd);
    if (out->why_not) return TT_OK;
    tt_status status = look_in(&l, w, f, fd, over, err);
    (void)close(fd);
    /* A partial check is none. */
    if (status != TT_OK || out->why_not) {
        *out = (tt_values_weight){.why_not = out->why_not};
        return status;
    }
    out->looked_at = true;
    place_first(w, out);
    return TT_OK;
}
