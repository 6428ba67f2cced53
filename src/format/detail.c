#include "format/detail.h"

#include "base/order.h"
#include "format/pack.h"

#include <stdlib.h>

#define ENCODING 1u
#define RANKS_MAX (1u << 16)

/* All columns. Token, rank and count are at the same offsets for experts and weights. */
enum column {
    RUN,
    NODE,
    LANE,
    MINOR,
    MAJOR,
    CPU,
    READ,
    TOKEN,
    RANK,
    COUNT,
    PART,
    OFF,
    WAITED,
    ELAPSED,
    USER,
    SYSTEM,
    DELAY,
    SWITCHES
};

/* A kind of detail: its columns, in the order of docs/format.md. */
typedef struct shape {
    uint8_t n_columns;
    uint8_t columns[9];
    uint8_t items_max; /* experts or weights in one record; 0: no list */
    uint8_t raw_bytes; /* of each record, after the columns */
} shape;

#define THREAD_COLUMNS                                                                             \
    {                                                                                              \
        RUN, NODE, LANE, ELAPSED, USER, SYSTEM, DELAY, MAJOR, SWITCHES                             \
    }

static const shape SHAPES[] = {
    [TT_DETAIL_FAULTS] = {7, {RUN, NODE, LANE, MINOR, MAJOR, CPU, READ}, 0, 0},
    [TT_DETAIL_EXPERTS] = {6, {RUN, NODE, LANE, TOKEN, RANK, COUNT}, TT_DETAIL_EXPERTS_MAX, 0},
    [TT_DETAIL_WEIGHTS_F32] = {6, {RUN, NODE, LANE, TOKEN, RANK, COUNT}, TT_DETAIL_WEIGHTS_MAX, 0},
    [TT_DETAIL_VALUE] = {4, {RUN, NODE, LANE, PART}, 0, TT_DETAIL_VALUE_BYTES},
    [TT_DETAIL_OFF_CPU] = {4, {RUN, NODE, LANE, OFF}, 0, 0},
    [TT_DETAIL_THREAD] = {9, THREAD_COLUMNS, 0, 0},
    [TT_DETAIL_BETWEEN] = {9, THREAD_COLUMNS, 0, 0},
    [TT_DETAIL_WAIT_INSIDE] = {5, {RUN, NODE, LANE, WAITED, OFF}, 0, 0}};

/* What decoding returns if it ran out: that is no fault of the chunk. */
static const char no_memory[] = "no memory";

#define KINDS TT_DETAIL_KINDS
_Static_assert(sizeof SHAPES / sizeof *SHAPES == KINDS, "each kind has a shape");

static bool is_difference(enum column what)
{
    return what == RUN || what == NODE || what == TOKEN;
}

static uint64_t value_of(const tt_detail *d, enum column what)
{
    switch (what) {
    case RUN:
        return d->run;
    case NODE:
        return tt_detail_node(d);
    case LANE:
        return tt_detail_lane(d);
    case MINOR:
        return d->faults.minor;
    case MAJOR:
        return tt_detail_is_thread(d) ? d->thread.major : d->faults.major;
    case CPU:
        return d->faults.cpu_ns;
    case READ:
        return d->faults.read_bytes + 1; /* not observed, the highest number, becomes 0 */
    case TOKEN:
        return d->experts.token;
    case RANK:
        return d->experts.first_rank;
    case COUNT:
        return d->experts.n;
    case PART:
        return d->value.part;
    case OFF:
        return d->off_cpu.ns;
    case WAITED:
        return d->off_cpu.ticks;
    case ELAPSED:
        return d->thread.elapsed_us;
    case USER:
        return d->thread.user_us;
    case SYSTEM:
        return d->thread.system_us;
    case DELAY:
        return (uint32_t)(d->thread.delay_us + 1); /* not observed becomes 0 */
    case SWITCHES:
        return d->thread.switches;
    }
    return 0;
}

static bool is_part_sane(const tt_detail *d)
{
    return tt_detail_kind_of(d) != TT_DETAIL_VALUE || d->value.part < TT_DETAIL_VALUE_PARTS;
}

static bool is_list_sane(const tt_detail *d, unsigned items_max)
{
    return !items_max || (d->experts.n > 0 && d->experts.n <= items_max &&
                          (uint32_t)d->experts.first_rank + d->experts.n <= RANKS_MAX);
}

static uint64_t item_of(const tt_detail *d, unsigned i)
{
    uint32_t bits;
    if (tt_detail_kind_of(d) == TT_DETAIL_EXPERTS) return d->experts.expert[i];
    memcpy(&bits, &d->weights.weight[i], sizeof bits);
    return bits;
}

/* --- encode --- */

static bool is_of_kind(const tt_detail *d, size_t kind)
{
    /* A slot of a damaged area may contain anything: leaves out what could not be decoded. */
    return (size_t)tt_detail_kind_of(d) == kind && is_list_sane(d, SHAPES[kind].items_max) &&
           is_part_sane(d);
}

static void put_column(tt_bytes *out, const tt_detail *details, size_t n, size_t kind,
                       enum column what, uint64_t *scratch)
{
    size_t count = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_of_kind(&details[i], kind)) continue;
        uint64_t v = value_of(&details[i], what);
        scratch[count++] = is_difference(what) ? tt_zigzag_map((int64_t)(v - before)) : v;
        before = v;
    }
    tt_pack_column(out, scratch, count);
}

static void put_items(tt_bytes *out, const tt_detail *details, size_t n, size_t kind,
                      uint64_t *scratch)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; is_of_kind(&details[i], kind) && k < details[i].experts.n; k++)
            scratch[count++] = item_of(&details[i], k);
    tt_pack_column(out, scratch, count);
}

static void put_kind(tt_bytes *out, const tt_detail *details, size_t n, size_t kind,
                     uint64_t *scratch)
{
    const shape *s = &SHAPES[kind];
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += is_of_kind(&details[i], kind);
    if (!count) return;
    tt_bytes_varint(out, kind);
    tt_bytes_varint(out, count);
    for (unsigned c = 0; c < s->n_columns; c++)
        put_column(out, details, n, kind, (enum column)s->columns[c], scratch);
    if (s->items_max) put_items(out, details, n, kind, scratch);
    for (size_t i = 0; s->raw_bytes && i < n; i++)
        if (is_of_kind(&details[i], kind)) tt_bytes_put(out, details[i].value.bytes, s->raw_bytes);
}

bool tt_detail_encode(tt_bytes *out, const tt_detail *details, size_t n)
{
    uint64_t *scratch = NULL;
    if (n > 0 && n <= TT_DETAIL_CHUNK_RECORDS_MAX)
        scratch = malloc(n * TT_DETAIL_EXPERTS_MAX * sizeof *scratch);
    if (!scratch) {
        out->failed = true;
        return false;
    }
    tt_bytes_varint(out, ENCODING);
    for (size_t kind = TT_DETAIL_NONE + 1; kind < KINDS; kind++)
        put_kind(out, details, n, kind, scratch);
    free(scratch);
    return !out->failed;
}

/* --- decode --- */

static bool set_value(tt_detail *d, enum column what, uint64_t v)
{
    static const uint64_t LIMITS[] = {[RUN] = UINT32_MAX,
                                      [NODE] = TT_OPS_NODE_MAX,
                                      [LANE] = TT_OPS_LANE_MAX,
                                      [MINOR] = UINT32_MAX,
                                      [MAJOR] = UINT32_MAX,
                                      [CPU] = UINT64_MAX,
                                      [READ] = UINT64_MAX,
                                      [TOKEN] = UINT32_MAX,
                                      [RANK] = RANKS_MAX - 1,
                                      [COUNT] = TT_DETAIL_EXPERTS_MAX,
                                      [PART] = TT_DETAIL_VALUE_PARTS - 1,
                                      [OFF] = UINT64_MAX,
                                      [WAITED] = UINT64_MAX,
                                      [ELAPSED] = UINT32_MAX,
                                      [USER] = UINT32_MAX,
                                      [SYSTEM] = UINT32_MAX,
                                      [DELAY] = UINT32_MAX,
                                      [SWITCHES] = UINT32_MAX};
    if (v > LIMITS[what]) return false;
    switch (what) {
    case RUN:
        d->run = (uint32_t)v;
        break;
    case NODE:
        d->place |= tt_op_place((uint32_t)v, 0, 0);
        break;
    case LANE:
        d->place |= tt_op_place(0, (uint32_t)v, 0);
        break;
    case MINOR:
        d->faults.minor = (uint32_t)v;
        break;
    case MAJOR:
        if (tt_detail_is_thread(d))
            d->thread.major = (uint32_t)v;
        else
            d->faults.major = (uint32_t)v;
        break;
    case CPU:
        d->faults.cpu_ns = v;
        break;
    case READ:
        d->faults.read_bytes = v - 1;
        break;
    case TOKEN:
        d->experts.token = (uint32_t)v;
        break;
    case RANK:
        d->experts.first_rank = (uint16_t)v;
        break;
    case COUNT:
        d->experts.n = (uint16_t)v;
        break;
    case PART:
        d->value.part = (uint8_t)v;
        break;
    case OFF:
        d->off_cpu.ns = v;
        break;
    case WAITED:
        if (v == 0) return false; /* that would be an OFF_CPU */
        d->off_cpu.ticks = v;
        break;
    case ELAPSED:
        d->thread.elapsed_us = (uint32_t)v;
        break;
    case USER:
        d->thread.user_us = (uint32_t)v;
        break;
    case SYSTEM:
        d->thread.system_us = (uint32_t)v;
        break;
    case DELAY:
        d->thread.delay_us = (uint32_t)v - 1;
        break;
    case SWITCHES:
        d->thread.switches = (uint32_t)v;
        break;
    }
    return true;
}

static const char *get_column(tt_cursor *c, tt_detail *list, size_t n, enum column what,
                              uint64_t *scratch)
{
    uint64_t before = 0;
    if (!tt_unpack_column(c, scratch, n)) return "a column is malformed";
    for (size_t i = 0; i < n; i++) {
        uint64_t v = scratch[i];
        if (is_difference(what)) before = v = before + (uint64_t)tt_zigzag_unmap(v);
        if (!set_value(&list[i], what, v)) return "a value is out of range";
    }
    return NULL;
}

static bool set_item(tt_detail *d, unsigned i, uint64_t v)
{
    uint32_t bits = (uint32_t)v;
    bool is_expert = tt_detail_kind_of(d) == TT_DETAIL_EXPERTS;
    if (is_expert)
        d->experts.expert[i] = (uint16_t)v;
    else
        memcpy(&d->weights.weight[i], &bits, sizeof bits);
    return v <= (is_expert ? UINT16_MAX : UINT32_MAX);
}

static const char *get_items(tt_cursor *c, tt_detail *list, size_t n, unsigned items_max,
                             uint64_t *scratch)
{
    size_t total = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        if (!is_list_sane(&list[i], items_max)) return "a list is out of range";
        total += list[i].experts.n;
    }
    if (!tt_unpack_column(c, scratch, total)) return "a column is malformed";
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < list[i].experts.n; k++)
            if (!set_item(&list[i], k, scratch[at++])) return "a value is out of range";
    return NULL;
}

static const char *get_raw(tt_cursor *c, tt_detail *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < TT_DETAIL_VALUE_BYTES; k++)
            list[i].value.bytes[k] = tt_cursor_u8(c);
    return c->failed ? "it is cut off" : NULL;
}

static const char *get_kind(tt_cursor *c, tt_detail *list, size_t n, size_t kind)
{
    const shape *s = &SHAPES[kind];
    const char *wrong = NULL;
    uint64_t *scratch = malloc(n * (s->items_max ? s->items_max : 1u) * sizeof *scratch);
    if (!scratch) return no_memory;
    for (size_t i = 0; i < n; i++)
        list[i] = (tt_detail){.place = tt_detail_place(0, 0, (enum tt_detail_kind)kind)};
    for (unsigned i = 0; !wrong && i < s->n_columns; i++)
        wrong = get_column(c, list, n, (enum column)s->columns[i], scratch);
    if (!wrong && s->items_max) wrong = get_items(c, list, n, s->items_max, scratch);
    if (!wrong && s->raw_bytes) wrong = get_raw(c, list, n);
    free(scratch);
    return wrong;
}

static const char *get_payload(tt_cursor *c, size_t count, tt_detail *list, size_t *n,
                               size_t *kind_bytes)
{
    uint64_t encoding = tt_cursor_varint(c), before = TT_DETAIL_NONE;
    if (c->failed) return "it is cut off";
    if (encoding != ENCODING) return "an encoding this build does not know";
    while (tt_cursor_left(c) > 0) {
        size_t begin = before == TT_DETAIL_NONE ? 0 : c->at;
        uint64_t kind = tt_cursor_varint(c), more = tt_cursor_varint(c);
        if (c->failed) return "it is cut off";
        if (kind <= before) return "its kinds do not ascend";
        if (kind >= KINDS) return NULL; /* its number of columns is unknown */
        if (more == 0 || more > count - *n) return "it holds more details than its header says";
        const char *wrong = get_kind(c, list + *n, (size_t)more, (size_t)kind);
        if (wrong) return wrong;
        *n += (size_t)more;
        before = kind;
        kind_bytes[kind] = c->at - begin;
        kind_bytes[TT_DETAIL_NONE] -= kind_bytes[kind];
    }
    return NULL;
}

static int compare(const void *x, const void *y)
{
    const tt_detail *a = x, *b = y;
    int order = tt_order(a->run, b->run);
    if (!order) order = tt_order(tt_detail_node(a), tt_detail_node(b));
    if (!order) order = tt_order(tt_detail_lane(a), tt_detail_lane(b));
    if (!order) order = tt_order(a->place, b->place); /* only the kind is left */
    if (!order && tt_detail_kind_of(a) == TT_DETAIL_VALUE) {
        order = tt_order(a->value.part, b->value.part);
    } else if (!order && SHAPES[tt_detail_kind_of(a)].items_max) {
        order = tt_order(a->experts.token, b->experts.token);
        if (!order) order = tt_order(a->experts.first_rank, b->experts.first_rank);
    }
    /* A total order: the same chunk gives the same list with any sorting algorithm. */
    return order ? order : memcmp(a, b, sizeof *a);
}

tt_status tt_detail_decode(tt_span payload, size_t count, tt_detail **details, size_t *n,
                           tt_error *err)
{
    size_t kind_bytes[KINDS];
    return tt_detail_decode_measured(payload, count, details, n, kind_bytes, err);
}

tt_status tt_detail_decode_measured(tt_span payload, size_t count, tt_detail **details, size_t *n,
                                    size_t kind_bytes[TT_DETAIL_KINDS], tt_error *err)
{
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    *details = NULL;
    *n = 0;
    if (count == 0 || count > TT_DETAIL_CHUNK_RECORDS_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "a DETAIL chunk of %zu records (1 to %u)", count,
                            TT_DETAIL_CHUNK_RECORDS_MAX);
    tt_detail *list = malloc(count * sizeof *list);
    if (!list) return tt_error_memory(err, "details");
    memset(kind_bytes, 0, KINDS * sizeof *kind_bytes);
    kind_bytes[TT_DETAIL_NONE] = payload.size;
    const char *wrong = get_payload(&c, count, list, n, kind_bytes);
    if (wrong) {
        free(list);
        *n = 0;
        if (wrong == no_memory) return tt_error_memory(err, "a chunk's details");
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET, "a DETAIL chunk is malformed: %s",
                            wrong);
    }
    qsort(list, *n, sizeof *list, compare);
    /* The list is kept, and the header may have announced more records than there are: free the
     * rest. */
    tt_detail *fit = *n && *n < count ? realloc(list, *n * sizeof *list) : NULL;
    *details = fit ? fit : list;
    return TT_OK;
}
