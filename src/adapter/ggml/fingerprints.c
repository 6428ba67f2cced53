#include "adapter/ggml/fingerprints.h"

#include "adapter/ggml/graphs.h"
#include "adapter/ggml/process.h"
#include "adapter/ggml/values.h"
#include "base/array.h"
#include "base/clock.h"
#include "format/chunk.h"
#include "value/pack.h"
#include "value/type.h"
#include "value/walk.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPINS 4096u              /* before a waiting thread yields */
#define PATIENCE_NS 30000000000u /* for a thread that does not arrive (a stopped one) */
#define STEP_NS_MAX 1000000000u

/* --- choosing outputs --- */

/* "Qcur-3": llama.cpp's form of name and layer. */
static int32_t layer_of_name(const char *name)
{
    const char *dash = strrchr(name, '-');
    char *end;
    if (!dash || dash[1] < '0' || dash[1] > '9') return TT_SELECT_NO_LAYER;
    long n = strtol(dash + 1, &end, 10);
    /* "Qcur-3 (reshaped)": ignore what follows the number. */
    return n >= 0 && n < INT32_MAX && (*end == '\0' || *end == ' ') ? (int32_t)n
                                                                    : TT_SELECT_NO_LAYER;
}

/* "blk.3.attn_q.weight", for nodes that are not named after their layer. */
int32_t tt_fingerprints_layer(const struct ggml_tensor *t)
{
    int32_t layer = layer_of_name(t->name);
    if (layer < 0 && strncmp(t->name, "blk.", 4) == 0) layer = atoi(t->name + 4);
    for (int i = 0; layer < 0 && i < GGML_MIRROR_SRC && t->src[i]; i++)
        if (strncmp(t->src[i]->name, "blk.", 4) == 0) layer = atoi(t->src[i]->name + 4);
    return layer;
}

static bool reserve(tt_fingerprints *f, uint32_t n_nodes)
{
    if (!f->pieces) f->pieces = malloc(TT_VALUE_PIECES_MAX * sizeof *f->pieces);
    return tt_array_room(f->wanted, f->capacity, n_nodes) && f->pieces;
}

bool tt_fingerprints_begin(tt_fingerprints *f, const tt_engine *e, tt_value_level level)
{
    f->engine = e;
    f->with = level >= TT_VALUES_HASH ? TT_VALUE_WITH_BLAKE3 : 0;
    f->recorder = level == TT_VALUES_FULL ? tt_process_recorder_if_open() : NULL;
    return reserve(f, 0);
}

void tt_fingerprints_choose(tt_fingerprints *f, const tt_engine *e, const tt_select *s,
                            uint64_t token, struct ggml_tensor *const *nodes, uint32_t n_nodes)
{
    f->any = false;
    atomic_store(&f->arrived, 0);
    atomic_store(&f->abandoned, false);
    f->engine = e;
    if (!tt_select_token(s, token) || !tt_fingerprints_begin(f, e, s->level) ||
        !reserve(f, n_nodes))
        return;
    f->marked = tt_graphs_marked(e, nodes, (int)n_nodes);
    for (uint32_t i = 0; i < n_nodes; i++) {
        const struct ggml_tensor *t = nodes[i];
        f->wanted[i] = !tt_engine_op_is_empty(t->op) &&
                       tt_select_node(s, t->name, e->op_name(t->op), tt_fingerprints_layer(t));
        f->any |= f->wanted[i];
    }
}

/* --- waiting for all threads --- */

void tt_fingerprints_abandon(tt_fingerprints *f)
{
    atomic_store(&f->abandoned, true);
}

/* How long a thread has waited, without the time in which it did not run itself (for example
 * because the program was stopped). */
typedef struct wait_time {
    uint64_t last_ns, waited_ns;
} wait_time;

static bool is_late(wait_time *w)
{
    uint64_t now_ns = tt_clock_ns(CLOCK_MONOTONIC);
    uint64_t step_ns = w->last_ns ? now_ns - w->last_ns : 0;
    w->waited_ns += step_ns < STEP_NS_MAX ? step_ns : STEP_NS_MAX;
    w->last_ns = now_ns;
    return w->waited_ns > PATIENCE_NS;
}

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits until all nth threads have arrived; false if waiting was abandoned. */
static bool meet(tt_fingerprints *f, uint32_t nth)
{
    uint32_t generation = atomic_load_explicit(&f->generation, memory_order_acquire);
    wait_time waited = {0};
    if (nth == 1) return true;
    if (atomic_fetch_add(&f->arrived, 1) + 1 == nth) {
        /* Some threads may have continued without this one and overwritten the output. */
        if (atomic_load(&f->abandoned)) return false;
        atomic_store(&f->arrived, 0);
        atomic_store_explicit(&f->generation, generation + 1, memory_order_release);
        return true;
    }
    for (uint64_t i = 0; atomic_load_explicit(&f->generation, memory_order_acquire) == generation;
         i++) {
        if (atomic_load_explicit(&f->abandoned, memory_order_relaxed)) return false;
        if (i < SPINS) {
            relax();
            continue;
        }
        (void)sched_yield();
        if (i % SPINS == 0 && is_late(&waited)) tt_fingerprints_abandon(f);
    }
    return true;
}

/* --- capturing outputs --- */

/* The rows that SET_ROWS wrote; the op leaves the rest of the cache unchanged. */
static bool written_rows(const tt_engine *e, const struct ggml_tensor *t, const void *numbers,
                         tt_value_data *v)
{
    const struct ggml_tensor *rows = t->src[1];
    tt_value_type type = tt_value_type_of(e->type_name(rows->type));
    uint64_t n = (uint64_t)rows->ne[0], size = tt_value_block_bytes(type);
    if (type != TT_VALUE_I32 && type != TT_VALUE_I64) return false;
    if (rows->ne[0] <= 0 || rows->ne[1] != 1 || rows->ne[2] != 1 || rows->nb[0] != size)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        int64_t wide = 0;
        int32_t narrow;
        memcpy(type == TT_VALUE_I64 ? (void *)&wide : (void *)&narrow,
               (const uint8_t *)numbers + i * size, size);
        if (type == TT_VALUE_I32) wide = narrow;
        if (wide < 0 || wide >= t->ne[1]) return false;
    }
    v->rows = numbers;
    v->rows_bytes = (uint32_t)size;
    v->ne[1] = n;
    return true;
}

/* Whether the op wrote only the rows in t->src[1]. */
static bool writes_rows(const tt_engine *e, const struct ggml_tensor *t)
{
    return t->op == e->op_set_rows && t->src[0] && t->src[1];
}

/* The output as a value whose bytes are at `data`, its row numbers at `rows`; false when its
 * shape or type is unknown. */
static bool output_at(const tt_engine *e, const struct ggml_tensor *t, const void *data,
                      const void *rows, tt_value_data *v)
{
    *v = (tt_value_data){.type = tt_value_type_of(e->type_name(t->type)), .data = data};
    for (unsigned d = 0; d < TT_VALUE_DIMS; d++) {
        if (t->ne[d] <= 0) return false;
        v->ne[d] = (uint64_t)t->ne[d];
        v->nb[d] = t->nb[d];
    }
    return !writes_rows(e, t) || written_rows(e, t, rows, v);
}

static bool output_here(const tt_engine *e, const struct ggml_tensor *t, tt_value_data *v)
{
    const struct ggml_tensor *rows = writes_rows(e, t) ? t->src[1] : NULL;
    if (!tt_values_are_here(e, t) || (rows && !tt_values_are_here(e, rows))) return false;
    return output_at(e, t, t->data, rows ? rows->data : NULL, v);
}

static void count(const tt_fingerprint *f)
{
    tt_recorder *r = tt_process_recorder_if_open();
    if (!r) return;
    tt_area_counts *c = &tt_recorder_area(r)->area->counts;
    (void)atomic_fetch_add_explicit(&c->outputs, 1, memory_order_relaxed);
    if (f->first_bad == TT_VALUE_NONE) return;
    (void)atomic_fetch_add_explicit(&c->outputs_not_finite, 1, memory_order_relaxed);
}

static void write(const tt_fingerprint *f, uint32_t run, uint32_t node, uint32_t lane,
                  tt_detail_writer *w)
{
    uint8_t packed[TT_DETAIL_VALUE_PARTS * TT_DETAIL_VALUE_BYTES] = {0};
    _Static_assert(sizeof packed >= TT_VALUE_PACKED_MAX, "a fingerprint fits into its parts");
    size_t size = tt_value_pack(f, packed);
    count(f);
    for (uint8_t part = 0; part * TT_DETAIL_VALUE_BYTES < size; part++) {
        tt_detail *d = tt_detail_next(w);
        if (!d) continue; /* counted as lost; the reader drops incomplete fingerprints */
        d->run = run;
        d->value.part = part;
        memcpy(d->value.bytes, packed + part * TT_DETAIL_VALUE_BYTES, TT_DETAIL_VALUE_BYTES);
        tt_detail_complete(d, tt_detail_place(node, lane, TT_DETAIL_VALUE));
    }
}

/* Writes the data into the trace. */
static void keep(tt_recorder *r, const tt_value_data *v, uint32_t run, uint32_t node)
{
    uint64_t n = tt_value_elements(v);
    uint32_t block = tt_value_block_elements(v->type), bytes = tt_value_block_bytes(v->type);
    for (uint64_t first = 0; first < n; first += TT_VALUE_PART_ELEMENTS) {
        uint64_t some = n - first < TT_VALUE_PART_ELEMENTS ? n - first : TT_VALUE_PART_ELEMENTS;
        size_t size = some / block * bytes;
        tt_data_block *b =
            tt_data_block_new(run, node, (uint32_t)(first / TT_VALUE_PART_ELEMENTS), size);
        if (!b) {
            atomic_fetch_add(&tt_recorder_area(r)->area->counts.data_dropped, 1);
            continue;
        }
        const uint8_t *at = tt_value_gather(v, first, some, b->bytes);
        if (at != b->bytes) memcpy(b->bytes, at, size);
        tt_recorder_data(r, b);
    }
}

static bool meets(const tt_engine *e, const struct ggml_tensor *a, const struct ggml_tensor *b)
{
    const uint8_t *x = a->data, *y = b->data;
    return x < y + e->nbytes(b) && y < x + e->nbytes(a);
}

/* Whether an op that writes to `to` would change the output t, or its row numbers. */
static bool changes(const tt_engine *e, const struct ggml_tensor *to, const struct ggml_tensor *t)
{
    return !to->data || meets(e, to, t) || (writes_rows(e, t) && meets(e, to, t->src[1]));
}

/* Captures the whole output on this thread. */
static void take_piece(const tt_fingerprints *f, const tt_value_data *v, uint32_t run,
                       uint32_t node, uint32_t ith, tt_detail_writer *w)
{
    tt_value_piece piece;
    tt_fingerprint out;
    tt_value_look(v, &out);
    if (f->recorder) keep(f->recorder, v, run, node);
    tt_value_take(v, 0, f->with, &piece);
    tt_value_finish(&piece, 1, f->with, &out);
    if (w->ring) write(&out, run, node, ith & TT_OPS_LANE_MAX, w);
}

bool tt_fingerprints_take(tt_fingerprints *f, const struct ggml_tensor *t, uint32_t run,
                          uint32_t node, uint32_t ith, uint32_t nth, const tt_next_op *next,
                          tt_detail_writer *w)
{
    tt_value_data v;
    tt_fingerprint out;
    if (atomic_load_explicit(&f->abandoned, memory_order_relaxed)) return false;
    /* All threads get the same answer: nothing it depends on changes meanwhile. */
    if (!output_here(f->engine, t, &v)) return false;
    uint32_t n = tt_value_pieces(&v), writer = node % nth;
    if (!n) return false;
    /* For a small output the others need not wait: they cannot pass the end of the next op
     * before the writer reaches it. */
    if (n == 1 &&
        !(next && (changes(f->engine, next->first, t) || changes(f->engine, next->last, t)))) {
        if (ith == writer) take_piece(f, &v, run, node, ith, w);
        return ith == writer;
    }
    if (ith == writer) tt_value_look(&v, &out);
    if (ith == writer && f->recorder) keep(f->recorder, &v, run, node);
    for (uint32_t k = (ith + nth - writer) % nth; k < n; k += nth)
        tt_value_take(&v, k, f->with, &f->pieces[k]);
    if (!meet(f, nth) || ith != writer) return true;
    /* The pieces are this thread's until all threads reach the end of the next op. */
    tt_value_finish(f->pieces, n, f->with, &out);
    if (w->ring) write(&out, run, node, ith & TT_OPS_LANE_MAX, w);
    return true;
}

static void take_all(tt_fingerprints *f, const tt_value_data *v, uint32_t run, uint32_t node,
                     tt_detail_writer *w)
{
    tt_fingerprint out;
    uint32_t n = tt_value_pieces(v);
    if (!n) return;
    tt_value_look(v, &out);
    if (f->recorder) keep(f->recorder, v, run, node);
    for (uint32_t k = 0; k < n; k++)
        tt_value_take(v, k, f->with, &f->pieces[k]);
    tt_value_finish(f->pieces, n, f->with, &out);
    write(&out, run, node, 0, w);
}

void tt_fingerprints_take_alone(tt_fingerprints *f, const struct ggml_tensor *t, uint32_t run,
                                uint32_t node, tt_detail_writer *w)
{
    const tt_engine *e = f->engine;
    const struct ggml_tensor *rows = writes_rows(e, t) ? t->src[1] : NULL;
    tt_value_data v;
    if (output_here(e, t, &v)) {
        take_all(f, &v, run, node, w);
        return;
    }
    void *data = tt_values_copy(e, t, e->nbytes(t));
    void *numbers = rows ? tt_values_copy(e, rows, e->nbytes(rows)) : NULL;
    if (data && (!rows || numbers) && output_at(e, t, data, numbers, &v))
        take_all(f, &v, run, node, w);
    free(data);
    free(numbers);
}

void tt_fingerprints_free(tt_fingerprints *f)
{
    free(f->wanted);
    free(f->pieces);
    memset(f, 0, sizeof *f);
}
