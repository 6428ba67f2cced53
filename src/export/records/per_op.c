/* The formats `bin256` and `bin1024`: a record for each op, with up to four sources.
 *
 *      0  u64 timestamp_ns, u32 batch_id, u16 layer_id, u16 thread_id,
 *         u8 operation_type, u8 phase, u8 num_sources, 5 bytes zero
 *     24  text: the name of what is computed (24 bytes; 128 in a record of 1,024)
 *         4 sources, each: text: its name (20 bytes; 128), then
 *            u64 tensor_ptr, u32 size_bytes, u16 layer_id, u8 memory_source, u8 zero,
 *            u64 its file offset or the buffer's id, u32 tensor_idx, 4 bytes zero
 *         in a record of 1,024 then 16 x i32 experts, u8 their number, 167 bytes zero
 *
 * Fields are contiguous; all numbers are little-endian. docs/bin1024.md has the rest. */
#include "export/records/per_op.h"

#include "export/ggml_op.h"
#include "export/records/records.h"

#include <stdlib.h>
#include <string.h>

#define SOURCES 4u
#define EXPERTS 16u
#define EXPERT_BYTES (EXPERTS * 4u)
#define HEAD_BYTES 24u   /* before the name */
#define SOURCE_BYTES 32u /* of a source, after its name */
#define RECORD_BYTES_MAX 1024u

enum { MEMORY_DISK = 0, MEMORY_BUFFER = 1, MEMORY_UNKNOWN = TT_RECORD_NONE_8 };

/* Counts per written record: data that did not fit. */
enum loss { LOST_NAMES, LOST_SIZES, LOST_OPS, LOST_SOURCES, LOST_EXPERTS, LOST_UNOBSERVED };

typedef struct layout {
    size_t record_bytes, name_bytes, source_name_bytes;
    size_t experts_at; /* 0: there is no room for them */
} layout;

static const layout of_256 = {256, 24, 20, 0};
static const layout of_1024 = {1024, 128, 128, HEAD_BYTES + 128 + SOURCES *(128 + SOURCE_BYTES)};

_Static_assert(HEAD_BYTES + 24 + SOURCES * (20 + SOURCE_BYTES) == 256, "a record of 256 bytes");
_Static_assert(HEAD_BYTES + 128 + SOURCES * (128 + SOURCE_BYTES) + EXPERT_BYTES + 168 == 1024,
               "a record of 1,024 bytes");

/* A node's record without what differs between executions. */
typedef struct node_record {
    uint32_t router; /* of an expert matmul's experts; else TT_NONE */
    uint64_t losses[TT_RECORD_LOSSES_MAX];
    uint8_t bytes[RECORD_BYTES_MAX];
} node_record;

typedef struct op_records {
    const layout *layout;
    uint32_t n;
    node_record list[];
} op_records;

/* --- fields --- */

static uint8_t *put_number(uint8_t *at, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(v >> (8 * i));
    return at + bytes;
}

/* Cut if necessary, at the end of a character, and terminated by a zero. */
static uint8_t *put_name(uint8_t *at, const char *name, size_t room, uint64_t *lost)
{
    size_t n = strlen(name);
    *lost += n >= room;
    if (n >= room) {
        n = room - 1;
        while (n > 0 && ((unsigned char)name[n] & 0xc0) == 0x80)
            n--;
    }
    memcpy(at, name, n);
    return at + room;
}

static void put_source(node_record *r, const layout *l, const tt_model *m,
                       const tt_export_options *options, const tt_graph *g, const tt_tensor *t,
                       uint8_t *at)
{
    const tt_weight *w = t->weight == TT_NONE ? NULL : &m->weights[t->weight];
    const uint32_t buffer = t->buffer != TT_NONE ? t->buffer : g->tensors[t->root].buffer;
    uint8_t memory = t->origin == TT_ORIGIN_BUFFER ? MEMORY_BUFFER : MEMORY_UNKNOWN;
    uint64_t place;
    if (tt_record_on_disk(m, options, t, &place))
        memory = MEMORY_DISK;
    else
        place = buffer == TT_NONE ? 0 : m->buffers[buffer].id;
    at = put_name(at, t->name, l->source_name_bytes, &r->losses[LOST_NAMES]);
    at = put_number(at, tt_record_address(m, g, t), 8);
    at = put_number(at, tt_record_u32(t->size_bytes, &r->losses[LOST_SIZES]), 4);
    at = put_number(at, tt_record_layer(w ? w->place.layer_id : t->place.layer_id), 2);
    at = put_number(at, memory, 1) + 1;
    at = put_number(at, place, 8);
    (void)put_number(at, t->weight == TT_NONE ? TT_RECORD_NONE_32 : t->weight, 4);
}

static void put_node(node_record *r, const layout *l, const tt_model *m,
                     const tt_export_options *options, const tt_op *op, uint32_t node)
{
    const tt_graph *g = op->graph;
    const tt_tensor *t = &g->tensors[node];
    const uint8_t type = tt_ggml_op_number(t->op_name);
    uint8_t *at = r->bytes + HEAD_BYTES;
    uint32_t n = 0;
    r->router = l->experts_at ? tt_access_router(g, node) : TT_NONE;
    r->losses[LOST_OPS] = type == TT_GGML_OP_NO_NUMBER;
    at = put_name(at, t->name, l->name_bytes, &r->losses[LOST_NAMES]);
    for (uint32_t i = 0; i < op->n_sources; i++) {
        if (op->sources[i].node != node) continue;
        if (n == SOURCES) {
            r->losses[LOST_SOURCES]++;
            continue;
        }
        put_source(r, l, m, options, g, &g->tensors[op->sources[i].tensor], at);
        at += l->source_name_bytes + SOURCE_BYTES;
        n++;
    }
    (void)put_number(r->bytes + 12, tt_record_layer(op->place.layer_id), 2);
    r->bytes[16] = type;
    r->bytes[18] = (uint8_t)n;
}

static op_records *describe(const layout *l, const tt_model *m, const tt_export_options *options,
                            const tt_op *op)
{
    op_records *made = calloc(1, sizeof *made + op->n_nodes * sizeof *made->list);
    if (!made) return NULL;
    made->layout = l;
    made->n = op->n_nodes;
    for (uint32_t i = 0; i < made->n; i++)
        put_node(&made->list[i], l, m, options, op, op->nodes[i]);
    return made;
}

static void *describe_256(const tt_model *m, const tt_export_options *options, const tt_op *op)
{
    return describe(&of_256, m, options, op);
}

static void *describe_1024(const tt_model *m, const tt_export_options *options, const tt_op *op)
{
    return describe(&of_1024, m, options, op);
}

/* --- records --- */

/* The experts of the op, token by token, each with its ranks in order. */
static void put_experts(tt_record_maker *k, uint32_t router, uint8_t *at)
{
    size_t n, first, end;
    const tt_choice *list = tt_accesses_choices(k->accesses, &n);
    tt_choices_of(list, n, router, &first, &end);
    n = end - first < EXPERTS ? end - first : EXPERTS;
    for (size_t i = 0; i < n; i++)
        at = put_number(at, list[first + i].expert, 4);
    (void)put_number(at + (EXPERTS - n) * 4, n, 1);
    k->losses[LOST_EXPERTS] += end - first > EXPERTS;
    k->losses[LOST_UNOBSERVED] += end == first;
}

static bool put(tt_record_maker *k, const void *described, const tt_record_now *now, tt_bytes *out)
{
    const op_records *op = described;
    const size_t size = op->layout->record_bytes;
    if (!tt_bytes_reserve(out, op->n * size)) return false;
    for (uint32_t i = 0; i < op->n; i++) {
        const node_record *r = &op->list[i];
        uint8_t *at = out->data + out->size;
        memcpy(at, r->bytes, size);
        (void)put_number(at, now->timestamp_ns, 8);
        (void)put_number(at + 8, now->batch_id, 4);
        (void)put_number(at + 14, now->thread_id, 2);
        at[17] = now->phase;
        if (r->router != TT_NONE) put_experts(k, r->router, at + op->layout->experts_at);
        for (size_t e = 0; e < TT_RECORD_LOSSES_MAX; e++)
            k->losses[e] += r->losses[e];
        out->size += size;
    }
    return true;
}

#define LOSSES                                                                                     \
    {                                                                                              \
        [LOST_NAMES] = "names are cut off: a record has no room for them",                         \
        [LOST_SIZES] = "sources say a size of 4294967295 bytes: it was as much or more",           \
        [LOST_OPS] = "records say the operation 255: readers of this format have no number for "   \
                     "it",                                                                         \
        [LOST_SOURCES] = "sources are left out: a record has room for four",                       \
        [LOST_EXPERTS] = "records have the first 16 of their experts: there is no room for more",  \
        [LOST_UNOBSERVED] = "records of expert matmuls have no experts: which were chosen was "    \
                            "not observed",                                                        \
    }

static tt_status write_256(const tt_model *m, const char *path, const tt_export_options *options,
                           tt_error *err)
{
    static const tt_record_kind kind = {256, describe_256, put, LOSSES};
    return tt_records_write(&kind, m, path, options, err);
}

static tt_status write_1024(const tt_model *m, const char *path, const tt_export_options *options,
                            tt_error *err)
{
    static const tt_record_kind kind = {1024, describe_1024, put, LOSSES};
    return tt_records_write(&kind, m, path, options, err);
}

const tt_export_format tt_format_bin256 = {
    .name = "bin256",
    .summary = "records of 256 bytes, one an op, names cut short (one file)",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_COPIES,
    .write = write_256};

const tt_export_format tt_format_bin1024 = {
    .name = "bin1024",
    .summary = "records of 1,024 bytes, one an op, with experts (one file)",
    .takes = TT_EXPORT_TAKES_FILTER | TT_EXPORT_TAKES_COPIES,
    .write = write_1024};
