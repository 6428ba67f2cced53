/* traces/token-NNNNN.json: the ops of a batch. Text that is constant is made once for each op; the
 * rest is digits. */
#include "analyze/access.h"
#include "analyze/ops.h"
#include "base/array.h"
#include "base/digits.h"
#include "base/order.h"
#include "export/dataset/tokens.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One lane of an op. */
typedef struct tt_entry_lane {
    uint64_t start, arrive, release; /* ticks */
    uint32_t lane;
    uint32_t next; /* of the op, in tt_entries.lanes; TT_NONE: the last one */
    bool open;     /* its end was not observed */
} tt_entry_lane;

typedef struct tt_entry {
    uint64_t start;       /* the first lane's */
    uint64_t arrive;      /* the last lane's */
    uint32_t run;         /* in tt_model.runs */
    uint32_t node;        /* the op's first one */
    uint32_t first, last; /* in tt_entries.lanes, by ascending lane */
    uint32_t begun_by;    /* the lane that started first */
    uint64_t first_node;  /* number of the run's first tensor among those of the batch */
    uint8_t covers;
    bool open;
} tt_entry;

/* Zero-filled is empty and ready; memory is reused for each batch. */
typedef struct tt_entries {
    tt_entry *list;
    tt_entry_lane *lanes;
    size_t n, n_lanes;
    uint64_t orphan; /* records without a known graph or node, left out */
    /* Private: */
    size_t capacity, lanes_capacity, nodes_capacity;
    uint32_t *by_node; /* of the current run */
} tt_entries;

static bool reserve_nodes(tt_entries *e, size_t n)
{
    size_t had = e->nodes_capacity;
    if (!tt_array_room(e->by_node, e->nodes_capacity, n)) return false;
    for (size_t i = had; i < e->nodes_capacity; i++)
        e->by_node[i] = TT_NONE;
    return true;
}

/* There is room for all of p's records. */
static void add_piece(tt_entries *e, const tt_piece_ops *p, uint32_t run, uint32_t n_nodes,
                      uint64_t first_node)
{
    for (size_t i = 0; i < p->n; i++) {
        uint32_t node = p->node[i], at = (uint32_t)e->n_lanes;
        if (node >= n_nodes) {
            e->orphan++;
            continue;
        }
        e->lanes[e->n_lanes++] =
            (tt_entry_lane){p->start[i], p->arrive[i], p->release[i], p->lane, TT_NONE, p->open};
        if (e->by_node[node] == TT_NONE) {
            e->by_node[node] = (uint32_t)e->n;
            e->list[e->n++] = (tt_entry){.start = p->start[i],
                                         .arrive = p->arrive[i],
                                         .run = run,
                                         .node = node,
                                         .first = at,
                                         .last = at,
                                         .begun_by = p->lane,
                                         .first_node = first_node,
                                         .covers = p->covers[i],
                                         .open = p->open};
            continue;
        }
        tt_entry *x = &e->list[e->by_node[node]];
        e->lanes[x->last].next = at;
        x->last = at;
        if (p->start[i] < x->start) {
            x->start = p->start[i];
            x->begun_by = p->lane;
        }
        if (p->arrive[i] > x->arrive) x->arrive = p->arrive[i];
        x->covers = p->covers[i];
        x->open |= p->open;
    }
}

static tt_status add_run(tt_entries *e, const tt_model *m, uint32_t run, uint64_t first_node,
                         tt_error *err)
{
    const tt_piece *pieces;
    size_t n, begin = e->n;
    uint32_t graph = m->runs[run].graph;
    uint32_t n_nodes = graph == TT_NONE ? 0 : m->graphs[graph].n_nodes;
    tt_status status = tt_pieces_of_run(m->pieces, m->runs[run].id, &pieces, &n, err);
    if (status == TT_OK && !reserve_nodes(e, n_nodes))
        status = tt_error_memory(err, "a batch's ops");
    for (size_t i = 0; i < n && status == TT_OK; i++) {
        tt_piece_ops p;
        status = tt_pieces_get(m->pieces, &pieces[i], &p, err);
        if (status != TT_OK) break;
        size_t all = e->n_lanes + p.n;
        if (all >= TT_NONE || !tt_array_room(e->lanes, e->lanes_capacity, all) ||
            !tt_array_room(e->list, e->capacity, e->n + p.n))
            status = tt_error_memory(err, "a batch's ops");
        else
            add_piece(e, &p, run, n_nodes, first_node);
    }
    for (size_t i = begin; i < e->n; i++)
        e->by_node[e->list[i].node] = TT_NONE;
    return status;
}

TT_ORDER_BY(by_start, tt_entry, start, run, node)

/* Fills e with the ops of the runs first_run, next_run[first_run] and so on. */
static tt_status entries_load(tt_entries *e, const tt_model *m, uint32_t first_run,
                              const uint32_t *next_run, tt_error *err)
{
    uint64_t first_node = 0;
    e->n = e->n_lanes = 0;
    for (uint32_t r = first_run; r != TT_NONE; r = next_run[r]) {
        tt_status status = add_run(e, m, r, first_node, err);
        if (status != TT_OK) return status;
        if (m->runs[r].graph != TT_NONE) first_node += m->graphs[m->runs[r].graph].n_tensors;
    }
    size_t sorted = 1;
    while (sorted < e->n && by_start(&e->list[sorted - 1], &e->list[sorted]) <= 0)
        sorted++;
    if (sorted < e->n) qsort(e->list, e->n, sizeof *e->list, by_start);
    return TT_OK;
}

static void entries_free(tt_entries *e)
{
    free(e->list);
    free(e->lanes);
    free(e->by_node);
    memset(e, 0, sizeof *e);
}

#define ENTRY_ROOM 512u /* of an entry, besides its text and its lanes */
#define LANE_ROOM 192u
#define EXPERT_ROOM 64u
/* Longer texts (hostile names) are not cached. */
#define KEPT_MAX ((size_t)8 << 10)

/* An op's constant text. */
typedef struct op_text {
    uint32_t layer_n; /* of the text: up to thread_id's value */
    uint32_t n;
    uint32_t router; /* the node whose choices are the op's experts; TT_NONE: none */
    char text[];
} op_text;

typedef struct tracer {
    tt_dataset *d;
    tt_op_table *ops; /* of the thread's share */
    tt_accesses *accesses;
    uint32_t experts_of; /* the run whose choices are loaded, or TT_NONE */
    tt_entries entries;
    op_text *scratch;
    tt_digits digits;
    tt_digits_front times, others; /* leading digits of numbers: those of times are long, and
                                      constant */
} tracer;

static char *put_time(tracer *t, char *at, uint64_t ns)
{
    return tt_digits_put_u64(at, ns, &t->times, &t->digits);
}

static char *put_number(tracer *t, char *at, uint64_t v)
{
    return tt_digits_put_u64(at, v, &t->others, &t->digits);
}

/* ns as ms with all digits: "1.500000". */
static char *put_ms(tracer *t, char *at, uint64_t ns)
{
    at = put_number(t, at, ns / 1000000);
    char *end = put_number(t, at, 1000000 + ns % 1000000);
    *at = '.'; /* replaces the first digit, so that the zeros after it are kept */
    return end;
}

static void close_tracer(void *own)
{
    tracer *t = own;
    atomic_fetch_add(&t->d->orphan_records, t->entries.orphan);
    tt_op_table_free(t->ops);
    tt_accesses_free(t->accesses);
    entries_free(&t->entries);
    free(t->scratch);
    free(t);
}

static void *open_tracer(tt_dataset *d)
{
    tracer *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->d = d;
    t->experts_of = TT_NONE;
    tt_digits_make(&t->digits);
    return t;
}

/* --- the text of an op --- */

static void put_layer(tt_json *j, int32_t layer)
{
    tt_dataset_known(j, "layer_id", layer >= 0,
                     (uint64_t)(layer >= 0 ? tt_layer_number(layer) : 0));
}

static void put_source(tt_json *j, const tt_dataset *d, const tt_graph *g, uint32_t tensor)
{
    const tt_tensor *t = &g->tensors[tensor], *root = &g->tensors[t->root];
    const tt_weight *w = t->weight == TT_NONE ? NULL : &d->m->weights[t->weight];
    uint32_t buffer = t->buffer != TT_NONE ? t->buffer : root->buffer;
    bool on_disk = w && (t->origin == TT_ORIGIN_FILE || d->options->copies_as_file);
    tt_json_object(j);
    tt_json_kv_string(j, "name", t->name);
    if (root != t) tt_json_kv_string(j, "view_of", root->name);
    tt_dataset_address(j, "tensor_ptr", d->m, t);
    tt_json_kv_u64(j, "size_bytes", t->size_bytes);
    put_layer(j, w ? w->place.layer_id : t->place.layer_id);
    tt_json_kv_string(j, "memory_source",
                      on_disk                         ? "DISK"
                      : t->origin == TT_ORIGIN_BUFFER ? "BUFFER"
                                                      : NULL);
    if (on_disk)
        tt_json_kv_u64(j, "disk_offset", w->offset_bytes + t->root_offset_bytes);
    else
        tt_dataset_known(j, "buffer_id", buffer != TT_NONE,
                         buffer != TT_NONE ? d->m->buffers[buffer].id : 0);
    /* A copy in a buffer: its origin in the file. */
    if (w && !on_disk)
        tt_json_kv_u64(j, "file_offset_bytes", w->offset_bytes + t->root_offset_bytes);
    if (w && tt_dataset_file_name(d, w->file))
        tt_json_kv_string(j, "file", tt_dataset_file_name(d, w->file));
    tt_json_object_end(j);
}

static uint32_t router_of(const tt_op *op)
{
    for (uint32_t i = 0; i < op->n_nodes; i++) {
        uint32_t router = tt_access_router(op->graph, op->nodes[i]);
        if (router != TT_NONE) return router;
    }
    return TT_NONE;
}

/* The members from layer_id on, without thread_id and phase, in one object. */
static char *describe(const tt_dataset *d, const tt_op *op, bool experts, size_t *n)
{
    char *text = NULL;
    tt_json j;
    FILE *out = open_memstream(&text, n);
    if (!out) return NULL;
    tt_json_begin(&j, out, 0);
    tt_json_object(&j);
    tt_json_kv_string(&j, "operation_type", op->op);
    tt_json_kv_string(&j, "dst_name", op->name);
    tt_json_kv_u64(&j, "num_sources", op->n_sources);
    tt_json_key(&j, "sources");
    tt_json_array(&j);
    for (uint32_t i = 0; i < op->n_sources; i++)
        put_source(&j, d, op->graph, op->sources[i].tensor);
    tt_json_array_end(&j);
    if (!experts) {
        tt_json_key(&j, "expert_ids");
        tt_json_array(&j);
        tt_json_array_end(&j);
        tt_json_kv_u64(&j, "num_experts", 0);
    }
    tt_json_object_end(&j);
    bool ok = tt_json_end(&j);
    if (fclose(out) == 0 && ok) return text;
    free(text);
    return NULL;
}

static op_text *make_text(const tt_dataset *d, const tt_op *op)
{
    char layer[48] = ",\"layer_id\":null,\"thread_id\":";
    size_t n;
    uint32_t router = router_of(op);
    char *text = describe(d, op, router != TT_NONE, &n);
    if (!text) return NULL;
    if (op->place.layer_id >= 0)
        (void)snprintf(layer, sizeof layer,
                       ",\"layer_id\":%d,\"thread_id\":", (int)tt_layer_number(op->place.layer_id));
    size_t layer_n = strlen(layer);
    op_text *o = malloc(sizeof *o + layer_n + n);
    if (o) {
        o->layer_n = (uint32_t)layer_n;
        o->n = (uint32_t)(n - 2); /* without the brace and the line end */
        o->router = router;
        memcpy(o->text, layer, layer_n);
        memcpy(o->text + layer_n, text, n);
        o->text[layer_n] = ','; /* replaces the brace */
    }
    free(text);
    return o;
}

/* Valid until the next call; NULL if out of memory. */
static const op_text *text_of(tracer *t, const tt_model *m, const tt_entry *e, const tt_op **op)
{
    uint32_t graph = m->runs[e->run].graph;
    if (!t->ops && !(t->ops = tt_op_table_new(m))) return NULL;
    *op = tt_op_table_get(t->ops, graph, e->node, e->covers);
    void **note = *op ? tt_op_table_note(t->ops, graph, e->node) : NULL;
    if (!*op) return NULL;
    if (note && *note) return *note;
    op_text *made = make_text(t->d, *op);
    if (made && note && made->n <= KEPT_MAX) {
        *note = made;
        return made;
    }
    free(t->scratch);
    t->scratch = made;
    return made;
}

/* --- experts --- */

static tt_status put_experts(tracer *t, const tt_model *m, uint32_t run, uint32_t router,
                             tt_dataset_file *file, tt_error *err)
{
    static const char unknown[] = ",\"expert_ids\":null,\"num_experts\":null";
    size_t n, first, last;
    if (!t->accesses && !(t->accesses = tt_accesses_new(m)))
        return tt_error_memory(err, "an op's text");
    if (t->experts_of != run) {
        tt_status status = tt_accesses_run(t->accesses, run, err);
        t->experts_of = status == TT_OK ? run : TT_NONE;
        if (status != TT_OK) return status;
    }
    if (!tt_accesses_router_known(t->accesses, router)) {
        tt_dataset_file_put(file, unknown, sizeof unknown - 1);
        return TT_OK;
    }
    const tt_choice *list = tt_accesses_choices(t->accesses, &n);
    tt_choices_of(list, n, router, &first, &last);
    tt_dataset_file_put(file, ",\"expert_ids\":[", 15);
    for (size_t i = first; i < last; i++) {
        char *at = tt_dataset_file_room(file, EXPERT_ROOM), *end = at;
        if (!at) return tt_error_memory(err, "an op's text");
        if (i > first) *end++ = ',';
        end = put_number(t, end, list[i].expert);
        file->used += (size_t)(end - at);
    }
    char *at = tt_dataset_file_room(file, ENTRY_ROOM), *end = at;
    if (!at) return tt_error_memory(err, "an op's text");
    memcpy(end, "],\"num_experts\":", 16);
    end = put_number(t, end + 16, last - first);
    file->used += (size_t)(end - at);
    return TT_OK;
}

/* --- an entry --- */

/* What is the same in each entry of a batch. */
typedef struct front {
    char text[64]; /* from token_id to layer_id */
    size_t n;
    char phase[40];
    size_t phase_n;
    uint64_t begin_ns;
} front;

#define PUT(at, literal) (memcpy((at), (literal), sizeof(literal) - 1), (at) + sizeof(literal) - 1)

static char *put_front(tracer *t, char *at, const tt_model *m, const front *f, const tt_entry *e,
                       const op_text *text, size_t number)
{
    uint64_t start = tt_model_mono_ns(m, e->start);
    at = number ? PUT(at, ",\n{\"entry_id\":") : PUT(at, "\n{\"entry_id\":");
    at = put_number(t, at, number);
    at = PUT(at, ",\"timestamp_ns\":");
    at = put_time(t, at, start);
    at = PUT(at, ",\"timestamp_relative_ms\":");
    at = put_ms(t, at, start - f->begin_ns);
    memcpy(at, f->text, f->n);
    at += f->n;
    memcpy(at, text->text, text->layer_n);
    at = put_number(t, at + text->layer_n, e->begun_by);
    memcpy(at, f->phase, f->phase_n);
    return at + f->phase_n;
}

static char *put_lane(tracer *t, char *at, const tt_model *m, const tt_entry_lane *l, bool first)
{
    at = first ? PUT(at, "{\"thread_id\":") : PUT(at, ",{\"thread_id\":");
    at = put_number(t, at, l->lane);
    at = PUT(at, ",\"start_ns\":");
    at = put_time(t, at, tt_model_mono_ns(m, l->start));
    if (l->open) return PUT(at, ",\"arrive_ns\":null,\"release_ns\":null}");
    at = PUT(at, ",\"arrive_ns\":");
    at = put_time(t, at, tt_model_mono_ns(m, l->arrive));
    at = PUT(at, ",\"release_ns\":");
    at = put_time(t, at, tt_model_mono_ns(m, l->release));
    *at++ = '}';
    return at;
}

/* As in `log`, rounded. */
static char *put_duration(tracer *t, char *at, const tt_model *m, const tt_entry *e)
{
    at = PUT(at, ",\"duration_ns\":");
    if (e->open) return PUT(at, "null");
    uint64_t ticks = e->arrive > e->start ? e->arrive - e->start : 0;
    double ns = tt_model_span_ns(m, ticks);
    return put_number(t, at, ns < 9e18 ? (uint64_t)(ns + 0.5) : UINT64_MAX);
}

static tt_status put_entry(tracer *t, const tt_model *m, const front *f, size_t number,
                           tt_dataset_file *file, tt_error *err)
{
    const tt_entry *e = &t->entries.list[number];
    const tt_op *op;
    const op_text *text = text_of(t, m, e, &op);
    if (!text) return tt_error_memory(err, "an op's text");
    char *at = tt_dataset_file_room(file, ENTRY_ROOM + text->layer_n + text->n), *end;
    if (!at) return tt_error_memory(err, "an op's text");
    end = put_front(t, at, m, f, e, text, number);
    memcpy(end, text->text + text->layer_n, text->n);
    file->used += (size_t)(end - at) + text->n;
    if (text->router != TT_NONE) {
        tt_status status = put_experts(t, m, e->run, text->router, file, err);
        if (status != TT_OK) return status;
    }
    at = tt_dataset_file_room(file, ENTRY_ROOM);
    if (!at) return tt_error_memory(err, "an op's text");
    end = put_duration(t, at, m, e);
    end = PUT(end, ",\"node_id\":\"node_");
    end = put_number(t, end, e->first_node + op->nodes[op->n_nodes - 1]);
    end = PUT(end, "\",\"threads\":[");
    file->used += (size_t)(end - at);
    for (uint32_t l = e->first; l != TT_NONE; l = t->entries.lanes[l].next) {
        at = tt_dataset_file_room(file, LANE_ROOM);
        if (!at) return tt_error_memory(err, "an op's text");
        file->used += (size_t)(put_lane(t, at, m, &t->entries.lanes[l], l == e->first) - at);
    }
    tt_dataset_file_put(file, "]}", 2);
    return TT_OK;
}

/* --- a batch --- */

/* From the first op's start to the end of the last one's work. */
static uint64_t duration_ns(const tt_model *m, const tt_entries *e, uint64_t begin_ns)
{
    uint64_t last = 0;
    for (size_t i = 0; i < e->n; i++) {
        uint64_t at = e->list[i].open ? e->list[i].start : e->list[i].arrive;
        if (at > last) last = at;
    }
    uint64_t end = tt_model_mono_ns(m, last);
    return e->n && end > begin_ns ? end - begin_ns : 0;
}

static void begin_front(front *f, const tt_model *m, uint32_t batch, const tt_entries *e)
{
    static const char *const phases[] = {"null", "\"PROMPT\"", "\"GENERATE\""};
    unsigned phase = m->batches[batch].phase;
    f->begin_ns = tt_model_mono_ns(m, e->n ? e->list[0].start : m->batches[batch].begin_ticks);
    f->n = (size_t)snprintf(f->text, sizeof f->text, ",\"token_id\":%u", (unsigned)batch);
    f->phase_n = (size_t)snprintf(f->phase, sizeof f->phase, ",\"phase\":%s",
                                  phases[phase <= TT_PHASE_GENERATE ? phase : 0]);
}

static tt_status write_trace(const tt_dataset *d, void *own, const tt_model *m, uint32_t batch,
                             tt_dataset_file *file, uint64_t *n_items, tt_error *err)
{
    tracer *t = own;
    front f;
    char head[512];
    tt_entries *e = &t->entries;
    tt_status status = entries_load(e, m, d->first_run[batch], d->next_run, err);
    if (status != TT_OK) return status;
    begin_front(&f, m, batch, e);
    double ms = (double)duration_ns(m, e, f.begin_ns) / 1e6;
    int n =
        snprintf(head, sizeof head,
                 "{\"experiment_id\":\"%s\",\"token_id\":%u,\"metadata\":{\"total_entries\":%zu,"
                 "\"duration_ms\":%.6f,\"timestamp_start_ns\":%llu,"
                 "\"format_version\":\"tensortrace-1\",\"batch\":%u,\"n_tokens\":%u},"
                 "\"entries\":[",
                 d->id, (unsigned)batch, e->n, ms, (unsigned long long)f.begin_ns,
                 (unsigned)tt_model_batch_number(m, batch), (unsigned)m->batches[batch].n_tokens);
    tt_dataset_file_put(file, head, (size_t)n);
    for (size_t i = 0; i < e->n && status == TT_OK && !file->failed; i++)
        status = put_entry(t, m, &f, i, file, err);
    tt_dataset_file_put(file, "]}\n", 3);
    *n_items = e->n;
    return status;
}

tt_status tt_dataset_traces(tt_dataset *d, tt_dataset_sum *sum, tt_error *err)
{
    static const tt_dataset_kind kind = {"traces", open_tracer, close_tracer, write_trace};
    tt_status status = tt_dataset_write_tokens(d, &kind, sum, err);
    uint64_t orphan = atomic_load(&d->orphan_records);
    if (status == TT_OK && orphan)
        tt_dataset_note(d, "%llu record%s of ops without a known graph or node: left out",
                        (unsigned long long)orphan, orphan == 1 ? " is" : "s are");
    return status;
}
