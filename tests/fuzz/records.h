/* A trace as records that a script changes: a made-up trace is taken apart into fields of META
 * records, op records, details and other chunks; each step of the script changes one of them; what
 * comes out is encoded again, with right lengths, checksums and index. Included as source. */
#ifndef TT_FUZZ_RECORDS_H
#define TT_FUZZ_RECORDS_H

/* What makes the trace is no part of what is looked for new ways in. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("coverage"))), apply_to = function)
#endif

#include "../golden/synth_trace.c"
#include "../golden/synth_values.h"

#include <stdlib.h>
#include <string.h>

#define RECORDS_FIELDS_MAX 16384u
#define RECORDS_MAX 4096u
#define RECORDS_RINGS 4u
#define RECORDS_CHUNKS_MAX 128u
#define RECORDS_STEP_BYTES 8u
#define THIN_NODES 12u

/* A field of a META record, as it is encoded. */
enum field_kind { FIELD_VARINT, FIELD_U64, FIELD_U8, FIELD_TEXT, FIELD_RAW };

typedef struct field {
    uint8_t kind;
    uint64_t value;
    tt_span text; /* in the seed or in static storage */
} field;

typedef struct record {
    uint8_t type;
    field *fields;
    uint32_t n, capacity; /* 0: the fields are the seed's, not to be changed in place */
    tt_span body;         /* the seed's encoding of them */
} record;

/* What came of the op records and details of a ring that no step changes. */
typedef struct ring_payload {
    bool made;
    tt_bytes ops, details;
} ring_payload;

typedef struct chunk_edit {
    bool used;
    uint8_t what;
    uint32_t chunk;
    uint64_t value;
} chunk_edit;

/* A chunk that is kept as it is. */
typedef struct other_chunk {
    tt_chunk_header header;
    tt_span payload;
} other_chunk;

typedef struct records {
    record list[RECORDS_MAX];
    uint32_t n;
    synth_ring rings[RECORDS_RINGS]; /* capacity 0: the seed's */
    ring_payload *payloads;          /* the seed's, one a ring */
    other_chunk others[RECORDS_CHUNKS_MAX];
    uint32_t n_others;
    chunk_edit edits[8];
    uint32_t n_edits;
    uint32_t meta_records; /* in one META chunk */
    uint8_t end_flags;
    bool no_index;
} records;

/* --- apart --- */

/* What a record is made of: v varint, 8 u64, 1 u8, s text, (...) as often as the varint before it
 * says, T a tensor, * varints to the end. */
static const char *schema_of(uint8_t type)
{
    static const char *const schemas[] = {
        [TT_META_ENVIRONMENT] = "v(ss)",
        [TT_META_STRING] = "vs",
        [TT_META_MODEL] = "vs88888vv(svs)v(svvv(v)vv)",
        [TT_META_BUFFER] = "v8v118*",
        [TT_META_BUFFER_FREE] = "v8",
        [TT_META_GRAPH] = "vvv(T)*",
        [TT_META_BATCH] = "vv8vvv11*",
        [TT_META_BATCH_END] = "v8v",
        [TT_META_RUN] = "vvv1v8v",
        [TT_META_RUN_END] = "v8v",
        [TT_META_CLOCK] = "888",
        [TT_META_RING] = "vv8",
        [TT_META_COUNTS] = "v(sv)",
        [TT_META_DECODE] = "88vvv",
        [TT_META_LOSS] = "vvv",
        [TT_META_TOKEN_TEXT] = "vvs",
        [TT_META_INDICES] = "vv*",
        [TT_META_USAGE] = "v181*",
        [TT_META_RESIDENCY] = "vv188*",
        [TT_META_MODEL_CHECK] = "v81",
        [TT_META_DETAIL_LOSS] = "vvv",
        [TT_META_FRONT] = "*",
        [TT_META_GRAPHS_END] = "",
        [TT_META_MAPPING] = "v88*",
        [TT_META_PAGE_FAULTS] = "88*",
        [TT_META_PAGE_FAULT_LOSS] = "88v",
        [TT_META_EXTENTS] = "v81svvvvvvv1v(vvv1)",
        [TT_META_LOAD_STEP] = "v188vv1v1*",
    };
    return type < sizeof schemas / sizeof *schemas && schemas[type] ? schemas[type] : "";
}

static uint64_t take_field(record *r, char kind, tt_cursor *c)
{
    field f = {.kind = FIELD_VARINT};
    if (kind == '8') {
        f.kind = FIELD_U64;
        f.value = tt_cursor_u64(c);
    } else if (kind == '1') {
        f.kind = FIELD_U8;
        f.value = tt_cursor_u8(c);
    } else if (kind == 's') {
        f.kind = FIELD_TEXT;
        f.text = tt_cursor_str(c);
    } else {
        f.value = tt_cursor_varint(c);
    }
    if (c->failed) abort(); /* the schema is wrong */
    if (r->n == r->capacity) {
        r->capacity = r->capacity ? r->capacity * 2 : 16;
        r->fields = reallocarray(r->fields, r->capacity, sizeof *r->fields);
        if (!r->fields) abort();
    }
    r->fields[r->n++] = f;
    return f.value;
}

static void take_tensor(record *r, tt_cursor *c)
{
    for (unsigned i = 0; i < 7 + 2 * TT_DIMS + 1; i++)
        (void)take_field(r, 'v', c);
    for (uint64_t n = take_field(r, 'v', c); n > 0; n--)
        (void)take_field(r, 'v', c);
    if (take_field(r, 'v', c)) (void)take_field(r, 'v', c);
    (void)take_field(r, take_field(r, 'v', c) ? 'v' : '8', c);
}

/* Behind the group that begins at `at`. */
static const char *group_end(const char *at)
{
    int depth = 0;
    do {
        depth += *at == '(';
        depth -= *at == ')';
        at++;
    } while (depth > 0);
    return at;
}

static void take_fields(record *r, const char *schema, const char *end, tt_cursor *c)
{
    uint64_t last = 0;
    while (schema < end) {
        if (*schema == '(') {
            const char *behind = group_end(schema);
            for (; last > 0; last--)
                take_fields(r, schema + 1, behind - 1, c);
            schema = behind;
            continue;
        }
        if (*schema == 'T')
            take_tensor(r, c);
        else if (*schema == '*')
            while (tt_cursor_left(c) > 0)
                (void)take_field(r, 'v', c);
        else
            last = take_field(r, *schema, c);
        schema++;
    }
}

static void take_meta(records *s, tt_span payload)
{
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    tt_span body;
    uint8_t type;
    while (tt_meta_next(&c, &type, &body)) {
        record *r = &s->list[s->n++];
        const char *schema = schema_of(type);
        tt_cursor at = tt_cursor_of(body.data, body.size);
        if (s->n == RECORDS_MAX) abort();
        *r = (record){.type = type, .body = body};
        take_fields(r, schema, schema + strlen(schema), &at);
        if (tt_cursor_left(&at) > 0) abort(); /* the schema is wrong */
    }
}

static void take_ops(synth_ring *ring, tt_span payload, uint32_t count)
{
    tt_ops_block b;
    if (tt_ops_decode(payload, count, true, &b, NULL) != TT_OK) abort();
    ring->records = reallocarray(ring->records, ring->n + b.n, sizeof *ring->records);
    if (!ring->records) abort();
    for (size_t k = 0; k < b.n_segments; k++)
        for (uint32_t i = 0; i < b.segments[k].count; i++) {
            const uint32_t at = b.segments[k].first + i;
            ring->records[ring->n++] = (tt_op_record){
                b.start[at], b.arrive[at], b.segments[k].open ? 0 : b.release[at],
                b.segments[k].run, tt_op_place(b.node[at], b.segments[k].lane, b.covers[at])};
        }
    tt_ops_block_free(&b);
}

static void take_details(synth_ring *ring, tt_span payload, uint32_t count)
{
    tt_detail *list;
    size_t n;
    if (tt_detail_decode(payload, count, &list, &n, NULL) != TT_OK) abort();
    ring->details = reallocarray(ring->details, ring->n_details + n + 1, sizeof *ring->details);
    if (!ring->details) abort();
    if (n) memcpy(ring->details + ring->n_details, list, n * sizeof *list);
    ring->n_details += n;
    free(list);
}

/* The file's bytes stay: texts point into them. */
static records *take_apart(const tt_bytes *file)
{
    records *s = calloc(1, sizeof *s);
    tt_file_header head;
    if (!s || tt_file_header_decode(file->data, file->size, &head, NULL) != TT_OK) abort();
    for (size_t at = TT_FILE_HEADER_BYTES; file->size - at >= TT_CHUNK_HEADER_BYTES;) {
        tt_chunk_header h;
        if (tt_chunk_header_decode(file->data + at, file->size - at, at, tt_file_header_seed(&head),
                                   &h, NULL) != TT_OK)
            abort();
        const tt_span payload = {file->data + at + TT_CHUNK_HEADER_BYTES, h.stored_bytes};
        if (h.type == TT_CHUNK_INDEX) break;
        if (h.type == TT_CHUNK_META)
            take_meta(s, payload);
        else if (h.type == TT_CHUNK_OPS && h.stream && h.stream <= RECORDS_RINGS)
            take_ops(&s->rings[h.stream - 1], payload, h.count);
        else if (h.type == TT_CHUNK_DETAIL && h.stream && h.stream <= RECORDS_RINGS)
            take_details(&s->rings[h.stream - 1], payload, h.count);
        else if (s->n_others < RECORDS_CHUNKS_MAX)
            s->others[s->n_others++] = (other_chunk){h, payload};
        at += (size_t)tt_chunk_extent(&h);
    }
    s->end_flags = TT_END_NORMAL;
    s->meta_records = 64;
    s->payloads = calloc(RECORDS_RINGS, sizeof *s->payloads);
    if (!s->payloads) abort();
    return s;
}

/* Of the first two runs and of what has not ended: a run of the fuzzer takes as long as there are
 * records. */
static void thin(records *s)
{
    for (uint32_t i = 0; i < RECORDS_RINGS; i++) {
        synth_ring *r = &s->rings[i];
        size_t n = 0;
        for (size_t k = 0; k < r->n; k++)
            if (r->records[k].run <= 2 || r->records[k].release == 0)
                r->records[n++] = r->records[k];
        r->n = n;
        n = 0;
        for (size_t k = 0; k < r->n_details; k++)
            if (r->details[k].run <= 2 && tt_detail_node(&r->details[k]) < THIN_NODES)
                r->details[n++] = r->details[k];
        r->n_details = n;
    }
}

/* A copy to change, until the next call: rings and fields are copied as they are changed. */
static records *copy_of(const records *seed)
{
    static records s;
    memcpy(s.list, seed->list, seed->n * sizeof *s.list);
    memcpy((char *)&s + offsetof(records, n), (const char *)seed + offsetof(records, n),
           sizeof s - offsetof(records, n));
    for (uint32_t i = 0; i < s.n; i++)
        s.list[i].capacity = 0;
    for (uint32_t i = 0; i < RECORDS_RINGS; i++)
        s.rings[i].capacity = s.rings[i].detail_capacity = 0;
    return &s;
}

static void drop_copy(const records *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->list[i].capacity) free(s->list[i].fields);
    for (uint32_t i = 0; i < RECORDS_RINGS; i++) {
        if (s->rings[i].capacity == 0) continue;
        free(s->rings[i].records);
        free(s->rings[i].details);
    }
}

static synth_ring *own_ring(records *s, uint32_t at)
{
    synth_ring *r = &s->rings[at];
    const synth_ring seeds = *r;
    if (r->capacity) return r;
    r->capacity = r->n + 64;
    r->detail_capacity = r->n_details + 64;
    r->records = calloc(r->capacity, sizeof *r->records);
    r->details = calloc(r->detail_capacity, sizeof *r->details);
    if (!r->records || !r->details) abort();
    if (r->n) memcpy(r->records, seeds.records, r->n * sizeof *r->records);
    if (r->n_details) memcpy(r->details, seeds.details, r->n_details * sizeof *r->details);
    return r;
}

static record *own(record *r)
{
    if (r->capacity) return r;
    field *mine = calloc(r->n + 16, sizeof *mine);
    if (!mine) abort();
    if (r->n) memcpy(mine, r->fields, r->n * sizeof *mine);
    r->fields = mine;
    r->capacity = r->n + 16;
    return r;
}

/* --- changed --- */

typedef struct step {
    uint8_t what;
    uint16_t where, field;
    uint8_t value;
    uint16_t more;
} step;

static const char *const names[] = {
    "",
    "blk.0.attn_q.weight",
    "blk.2147483647.ffn_up.weight",
    "../../../etc/passwd",
    "a/b\\c:d",
    "result_output",
    "GET_ROWS",
    "MUL_MAT_ID",
    "MUL_MAT",
    "VIEW",
    "%s%n%1000000d",
    "\"',\r\n\t\x01\xff\xc3",
    "cache_k_l0",
    "token_embd.weight",
    "tick_hz",
    "0",
    "1e308",
    "nan",
    "-1",
    "18446744073709551616",
    "blk.0.ffn_gate_exps.weight",
    "ops",
    "ops_dropped",
    "general.architecture",
    "llama.expert_count",
    "\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80\xf0\x9f\x98\x80",
    "q8_0",
    "f32",
    "KV buffer size = 18446744073709551615 x 18446744073709551615",
};

/* A number of those that break things; `was` is what stood there, `other` a number from elsewhere
 * in the same place. */
static uint64_t number(const step *e, uint64_t was, uint64_t other)
{
    static const uint64_t set[] = {0,
                                   1,
                                   2,
                                   3,
                                   4,
                                   7,
                                   8,
                                   31,
                                   32,
                                   63,
                                   64,
                                   127,
                                   128,
                                   255,
                                   256,
                                   511,
                                   512,
                                   4095,
                                   4096,
                                   65535,
                                   65536,
                                   1 << 20,
                                   1 << 24,
                                   INT32_MAX,
                                   1ull << 31,
                                   UINT32_MAX,
                                   1ull << 32,
                                   1ull << 42,
                                   (1ull << 44) - 1,
                                   1ull << 44,
                                   (1ull << 44) + 1,
                                   1ull << 52,
                                   1ull << 53,
                                   INT64_MAX,
                                   1ull << 63,
                                   (1ull << 63) + 1,
                                   UINT64_MAX - 1,
                                   UINT64_MAX};
    const size_t n = sizeof set / sizeof *set;
    switch (e->value & 7) {
    case 0:
        return other;
    case 1:
        return was + 1;
    case 2:
        return was - 1;
    case 3:
        return was * 2;
    case 4:
        return was / 2;
    case 5:
        return e->more;
    case 6:
        return was ^ (1ull << (e->more & 63));
    default:
        return set[e->more % n];
    }
}

static record *record_at(records *s, uint32_t at)
{
    return s->n ? &s->list[at % s->n] : NULL;
}

/* Another record of that type, behind it if there is one. */
static const record *alike(const records *s, const record *r, uint32_t skip)
{
    const record *found = r;
    for (uint32_t k = 1; k <= s->n; k++) {
        const record *q = &s->list[((uint32_t)(r - s->list) + k) % s->n];
        if (q->type != r->type) continue;
        found = q;
        if (skip-- == 0) break;
    }
    return found;
}

static void change_field(records *s, const step *e)
{
    record *r = record_at(s, e->where);
    if (!r || r->n == 0) return;
    const record *q = alike(s, r, e->more & 3);
    field *f = &own(r)->fields[e->field % r->n];
    const field *other = q->n ? &q->fields[e->field % q->n] : f;
    if (f->kind == FIELD_TEXT && other->kind == FIELD_TEXT && e->value & 1) {
        f->text = other->text;
    } else if (f->kind == FIELD_TEXT) {
        const char *name = names[e->more % (sizeof names / sizeof *names)];
        f->text = (tt_span){(const uint8_t *)name, strlen(name)};
    } else {
        f->value = number(e, f->value, other->value);
    }
}

/* An interval of fields once more, or gone; with the count in front of the record's lists it is a
 * list of another length. */
static void change_list(records *s, const step *e)
{
    record *r = record_at(s, e->where);
    if (!r || r->n == 0) return;
    own(r);
    uint32_t at = e->field % r->n, n = 1 + e->value % 24u, left = r->n - at;
    if (n > left) n = left;
    if (e->more & 1) {
        memmove(r->fields + at, r->fields + at + n, (left - n) * sizeof *r->fields);
        r->n -= n;
    } else {
        r->fields = reallocarray(r->fields, r->n + n + 1, sizeof *r->fields);
        if (!r->fields) abort();
        memmove(r->fields + at + n, r->fields + at, left * sizeof *r->fields);
        r->n += n;
        r->capacity = r->n + 1;
    }
}

static void change_order(records *s, const step *e)
{
    record *r = record_at(s, e->where), *q = record_at(s, e->field), kept;
    if (!r) return;
    switch (e->value % 4) {
    case 0: /* gone */
        if (r->capacity) free(r->fields);
        memmove(r, r + 1, (size_t)(s->list + s->n - r - 1) * sizeof *r);
        s->n--;
        break;
    case 1: /* twice */
    case 2:
        if (s->n == RECORDS_MAX) return;
        kept = *r;
        kept.capacity = 0;
        if (r->capacity) own(&kept);
        memmove(q + 1, q, (size_t)(s->list + s->n - q) * sizeof *q);
        *q = kept;
        s->n++;
        break;
    default:
        kept = *r;
        *r = *q;
        *q = kept;
    }
}

static void change_type(records *s, const step *e)
{
    record *r = record_at(s, e->where);
    if (r) r->type = (uint8_t)(e->value % 26);
}

static void change_op(records *s, const step *e)
{
    synth_ring *ring = own_ring(s, e->value >> 6);
    if (ring->n == 0) return;
    tt_op_record *r = &ring->records[e->where % ring->n], *q = &ring->records[e->more % ring->n];
    tt_op_record kept = *r;
    uint32_t node = tt_op_node(r), lane = tt_op_lane(r), covers = tt_op_covers(r);
    switch (e->field % 12) {
    case 0:
        r->run = (uint32_t)number(e, r->run, q->run);
        break;
    case 1:
        node = (uint32_t)number(e, node, tt_op_node(q)) & TT_OPS_NODE_MAX;
        break;
    case 2:
        lane = (uint32_t)number(e, lane, tt_op_lane(q)) & TT_OPS_LANE_MAX;
        break;
    case 3:
        covers = e->value & TT_OPS_COVERS_MAX;
        break;
    case 4:
        r->start = number(e, r->start, q->start);
        break;
    case 5:
        r->arrive = number(e, r->arrive, q->arrive);
        break;
    case 6:
        r->release = number(e, r->release, q->release);
        break;
    case 7:
        r->start = r->arrive = r->release = 0;
        break;
    case 8:
        r->release = 0;
        break;
    case 9: /* gone */
        memmove(r, r + 1, (size_t)(ring->records + ring->n - r - 1) * sizeof *r);
        ring->n--;
        return;
    case 10: /* twice */
        if (ring->n == ring->capacity) return;
        memmove(q + 1, q, (size_t)(ring->records + ring->n - q) * sizeof *q);
        *q = kept;
        ring->n++;
        return;
    default:
        *r = *q;
        *q = kept;
        return;
    }
    r->place = tt_op_place(node, lane, covers);
}

static void change_detail(records *s, const step *e)
{
    synth_ring *ring = own_ring(s, e->value >> 6);
    if (ring->n_details == 0) return;
    tt_detail *d = &ring->details[e->where % ring->n_details],
              *q = &ring->details[e->more % ring->n_details];
    uint8_t *bytes = (uint8_t *)d;
    uint32_t node = tt_detail_node(d), kind = tt_detail_kind_of(d), lane = tt_detail_lane(d);
    uint64_t v;
    switch (e->field % 8) {
    case 0:
        d->run = (uint32_t)number(e, d->run, q->run);
        return;
    case 1:
        node = (uint32_t)number(e, node, tt_detail_node(q)) & TT_OPS_NODE_MAX;
        break;
    case 2:
        lane = e->more & TT_OPS_LANE_MAX;
        break;
    case 3:
        kind = 1 + e->value % 4u;
        break;
    case 4: /* any field of it */
        memcpy(&v, bytes + 8 + e->value / 8 % 3 * 8, 8);
        v = number(e, v, 0);
        memcpy(bytes + 8 + e->value / 8 % 3 * 8, &v, 8);
        break;
    case 5:
        bytes[8 + e->value % 24] = (uint8_t)e->more;
        break;
    case 6: /* gone */
        memmove(d, d + 1, (size_t)(ring->details + ring->n_details - d - 1) * sizeof *d);
        ring->n_details--;
        return;
    default: /* twice */
        if (ring->n_details < ring->detail_capacity) ring->details[ring->n_details++] = *d;
        return;
    }
    d->place = tt_detail_place(node, lane, (enum tt_detail_kind)kind);
}

static void change_chunk(records *s, const step *e)
{
    if (s->n_edits == sizeof s->edits / sizeof *s->edits) return;
    s->edits[s->n_edits++] =
        (chunk_edit){true, (uint8_t)(e->field % 12), e->where, number(e, 1, e->more)};
}

static void change_ending(records *s, const step *e)
{
    if (e->field & 1) s->no_index = true;
    if (e->field & 2) s->end_flags = (uint8_t)(e->value & 7);
    if (e->field & 4) s->meta_records = 1 + e->more % 256u;
}

/* What the script says, step by step. */
static void change(records *s, const uint8_t *script, size_t size)
{
    static void (*const ways[])(records *, const step *) = {
        change_field, change_field, change_field,  change_field, change_list,  change_order,
        change_op,    change_op,    change_detail, change_type,  change_chunk, change_ending,
    };
    for (; size >= RECORDS_STEP_BYTES; script += RECORDS_STEP_BYTES, size -= RECORDS_STEP_BYTES) {
        const step e = {script[0], (uint16_t)(script[1] | script[2] << 8),
                        (uint16_t)(script[3] | script[4] << 8), script[5],
                        (uint16_t)(script[6] | script[7] << 8)};
        ways[e.what % (sizeof ways / sizeof *ways)](s, &e);
    }
}

/* --- together --- */

typedef struct builder {
    const records *s;
    tt_bytes *file;
    uint64_t seed;
    tt_index_entry index[RECORDS_CHUNKS_MAX * 4];
    size_t n_index;
} builder;

static void append_chunk(builder *b, tt_chunk_header h, tt_span payload, tt_index_entry e)
{
    static const uint8_t zeros[8];
    uint8_t head[TT_CHUNK_HEADER_BYTES];
    if (b->n_index == sizeof b->index / sizeof *b->index) return;
    h.codec = TT_CODEC_NONE;
    h.stored_bytes = h.raw_bytes = (uint32_t)payload.size;
    e.offset = b->file->size;
    e.type = h.type;
    e.stream = h.stream;
    e.position = h.position;
    e.count = h.count;
    for (uint32_t i = 0; i < b->s->n_edits && h.type != TT_CHUNK_INDEX; i++) {
        const chunk_edit *d = &b->s->edits[i];
        if (d->chunk % 16 != b->n_index % 16) continue;
        uint32_t v = (uint32_t)d->value;
        if (d->what == 0) h.type = (uint16_t)(v % 10);
        if (d->what == 1) h.stream = v;
        if (d->what == 2) h.position = d->value;
        if (d->what == 3) h.count = v;
        if (d->what == 4) h.raw_bytes = v;
        if (d->what == 5) e.type = (uint16_t)(v % 10);
        if (d->what == 6) e.stream = v;
        if (d->what == 7) e.position = d->value;
        if (d->what == 8) e.count = v;
        if (d->what == 9) e.run_min = e.run_max = d->value;
        if (d->what == 10) e.offset = d->value;
        if (d->what == 11) h.codec = (uint8_t)v;
    }
    tt_chunk_header_encode(&h, b->seed, payload.data, head);
    tt_bytes_put(b->file, head, sizeof head);
    tt_bytes_put(b->file, payload.data, payload.size);
    tt_bytes_put(b->file, zeros, tt_pad8(payload.size) - payload.size);
    if (h.type != TT_CHUNK_INDEX) b->index[b->n_index++] = e;
}

static void put_field(tt_bytes *out, const field *f)
{
    const uint8_t byte = (uint8_t)f->value;
    if (f->kind == FIELD_U64)
        tt_bytes_u64(out, f->value);
    else if (f->kind == FIELD_U8)
        tt_bytes_put(out, &byte, 1);
    else if (f->kind == FIELD_TEXT)
        tt_bytes_str(out, (const char *)f->text.data, f->text.size);
    else
        tt_bytes_varint(out, f->value);
}

static void put_meta(builder *b)
{
    tt_bytes payload, body;
    tt_chunk_header h = {.type = TT_CHUNK_META};
    tt_bytes_init(&payload, TT_CHUNK_PAYLOAD_MAX);
    tt_bytes_init(&body, TT_META_RECORD_MAX);
    for (uint32_t i = 0; i < b->s->n; i++) {
        const record *r = &b->s->list[i];
        if (r->capacity) {
            tt_bytes_clear(&body);
            for (uint32_t k = 0; k < r->n; k++)
                put_field(&body, &r->fields[k]);
            tt_meta_put_record(&payload, r->type, &body);
        } else {
            tt_meta_put_record(&payload, r->type,
                               &(tt_bytes){.data = (uint8_t *)r->body.data, .size = r->body.size});
        }
        h.count++;
        if (h.count < b->s->meta_records && i + 1 < b->s->n) continue;
        tt_index_entry e = {0};
        uint32_t n;
        tt_meta_describe((tt_span){payload.data, payload.size}, &e.meta, &n);
        append_chunk(b, h, (tt_span){payload.data, payload.size}, e);
        h.position += payload.size;
        h.count = 0;
        tt_bytes_clear(&payload);
    }
    tt_bytes_free(&payload);
    tt_bytes_free(&body);
}

static void encode_ring(const synth_ring *r, ring_payload *p)
{
    tt_bytes_init(&p->ops, TT_CHUNK_PAYLOAD_MAX);
    tt_bytes_init(&p->details, TT_CHUNK_PAYLOAD_MAX);
    if (r->n && !tt_ops_encode(&p->ops, r->records, r->n, 0)) tt_bytes_clear(&p->ops);
    if (r->n_details && !tt_detail_encode(&p->details, r->details, r->n_details))
        tt_bytes_clear(&p->details);
    p->made = true;
}

static void put_stream(builder *b, uint16_t type, uint32_t ring, size_t n, const tt_bytes *payload,
                       const tt_index_entry *e)
{
    if (payload->size)
        append_chunk(b, (tt_chunk_header){.type = type, .stream = ring + 1, .count = (uint32_t)n},
                     (tt_span){payload->data, payload->size}, *e);
}

static void put_ring(builder *b, uint32_t ring)
{
    const synth_ring *r = &b->s->rings[ring];
    const bool is_changed = r->capacity > 0;
    ring_payload own, *p = is_changed ? &own : &b->s->payloads[ring];
    if (is_changed || !p->made) encode_ring(r, p);
    tt_index_entry ops = {.run_min = UINT64_MAX}, details = ops;
    for (size_t i = 0; i < r->n; i++) {
        if (r->records[i].run < ops.run_min) ops.run_min = r->records[i].run;
        if (r->records[i].run > ops.run_max) ops.run_max = r->records[i].run;
    }
    for (size_t i = 0; i < r->n_details; i++) {
        if (r->details[i].run < details.run_min) details.run_min = r->details[i].run;
        if (r->details[i].run > details.run_max) details.run_max = r->details[i].run;
    }
    put_stream(b, TT_CHUNK_OPS, ring, r->n, &p->ops, &ops);
    put_stream(b, TT_CHUNK_DETAIL, ring, r->n_details, &p->details, &details);
    if (!is_changed) return;
    tt_bytes_free(&p->ops);
    tt_bytes_free(&p->details);
}

/* Appends the file. */
static void put_together(const records *s, tt_bytes *file)
{
    static builder b;
    uint8_t head[TT_FILE_HEADER_BYTES], tail[TT_TAIL_BYTES];
    const tt_file_header header = {.major = TT_FORMAT_MAJOR,
                                   .minor = TT_FORMAT_MINOR,
                                   .run_id = {1, 2, 3},
                                   .created_unix_ns = 1700000000000000000u};
    b.n_index = 0;
    b.s = s;
    b.file = file;
    b.seed = tt_file_header_seed(&header);
    tt_file_header_encode(&header, head);
    tt_bytes_put(file, head, sizeof head);
    put_meta(&b);
    for (uint32_t i = 0; i < RECORDS_RINGS; i++)
        put_ring(&b, i);
    for (uint32_t i = 0; i < s->n_others; i++)
        append_chunk(&b, s->others[i].header, s->others[i].payload, (tt_index_entry){0});
    if (s->no_index) return;
    tt_bytes payload;
    const uint64_t at = file->size;
    tt_bytes_init(&payload, TT_CHUNK_PAYLOAD_MAX);
    tt_index_encode(&payload, b.index, b.n_index, s->end_flags);
    append_chunk(&b, (tt_chunk_header){.type = TT_CHUNK_INDEX, .count = (uint32_t)b.n_index},
                 (tt_span){payload.data, payload.size}, (tt_index_entry){0});
    tt_tail_encode(at, tail);
    tt_bytes_put(file, tail, sizeof tail);
    tt_bytes_free(&payload);
}

/* --- seeds --- */

#define PLANS 6u
#define SEEDS (2 * PLANS)

static synth_plan seed_plan(unsigned which)
{
    synth_plan p = synth_default();
    p.codec = TT_CODEC_NONE;
    p.layers = 1;
    p.generate = 2;
    p.prompt_tokens = 3;
    p.chunk_records = 64;
    p.memory = which > 0;
    if (which == 2) {
        p.experts = 4;
        p.experts_used = 2;
    }
    if (which == 3) {
        synth_values(&p);
        p.n_data = 5; /* without the long one: it would be most of the file */
    }
    if (which == 4) p.last_run_open = p.page_faults = p.no_faults = true;
    if (which == 5) p.described = p.runs_split = true;
    return p;
}

/* Of the plan `which % PLANS`; those behind the first PLANS are thin. */
static const records *seed_records(unsigned which)
{
    static records *seeds[SEEDS];
    static tt_bytes files[SEEDS];
    if (!seeds[which]) {
        synth_plan p = seed_plan(which % PLANS);
        tt_bytes_init(&files[which], SIZE_MAX / 2);
        if (!synth_build(&p, &files[which])) abort();
        seeds[which] = take_apart(&files[which]);
        if (which >= PLANS) thin(seeds[which]);
    }
    return seeds[which];
}

/* Which seed a byte chooses: a thin one, but for one in eight when whole ones may be had. */
static unsigned seed_of(uint8_t choice, bool may_be_whole)
{
    return choice % PLANS + (may_be_whole && choice / PLANS % 8 == 7 ? 0 : PLANS);
}

/* The trace that a script makes of a seed; the caller frees it. */
static void records_build(unsigned seed, const uint8_t *script, size_t size, tt_bytes *file)
{
    records *s = copy_of(seed_records(seed));
    change(s, script, size);
    tt_bytes_init(file, SIZE_MAX / 2);
    put_together(s, file);
    drop_copy(s);
}

#ifdef __clang__
#pragma clang attribute pop
#endif

#endif
