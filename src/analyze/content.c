#include "analyze/content.h"

#include <stdlib.h>
#include <string.h>

/* Rows by number; empty ones are removed at the end. */
enum {
    HEADERS,
    INDEX,
    DAMAGED,
    UNKNOWN_CHUNKS,
    META,                               /* + record type; + 0: of a type unknown here */
    OPS = META + TT_META_SEQUENCES + 1, /* + column of OPS_COLUMNS */
    DETAIL = OPS + 6,                   /* + kind; + 0: of a kind unknown here */
    DATA = DETAIL + TT_DETAIL_KINDS,
    ROWS
};

_Static_assert(ROWS <= TT_CONTENT_ROWS_MAX, "each kind of content has its row");

static const struct {
    const char *part, *column;
} NAMES[ROWS] = {
    [HEADERS] = {"container", "headers"},
    [INDEX] = {"container", "index"},
    [DAMAGED] = {"container", "damaged"},
    [UNKNOWN_CHUNKS] = {"container", "unknown"},
    [META] = {"meta", "unknown"},
    [META + TT_META_ENVIRONMENT] = {"meta", "environment"},
    [META + TT_META_STRING] = {"meta", "string"},
    [META + TT_META_MODEL] = {"meta", "model"},
    [META + TT_META_BUFFER] = {"meta", "buffer"},
    [META + TT_META_BUFFER_FREE] = {"meta", "buffer_free"},
    [META + TT_META_GRAPH] = {"meta", "graph"},
    [META + TT_META_BATCH] = {"meta", "batch"},
    [META + TT_META_BATCH_END] = {"meta", "batch_end"},
    [META + TT_META_RUN] = {"meta", "run"},
    [META + TT_META_RUN_END] = {"meta", "run_end"},
    [META + TT_META_CLOCK] = {"meta", "clock"},
    [META + TT_META_RING] = {"meta", "ring"},
    [META + TT_META_COUNTS] = {"meta", "counts"},
    [META + TT_META_DECODE] = {"meta", "decode"},
    [META + TT_META_LOSS] = {"meta", "loss"},
    [META + TT_META_TOKEN_TEXT] = {"meta", "token_text"},
    [META + TT_META_INDICES] = {"meta", "indices"},
    [META + TT_META_USAGE] = {"meta", "usage"},
    [META + TT_META_RESIDENCY] = {"meta", "residency"},
    [META + TT_META_MODEL_CHECK] = {"meta", "model_check"},
    [META + TT_META_DETAIL_LOSS] = {"meta", "detail_loss"},
    [META + TT_META_FRONT] = {"meta", "front"},
    [META + TT_META_GRAPHS_END] = {"meta", "graphs_end"},
    [META + TT_META_MAPPING] = {"meta", "mapping"},
    [META + TT_META_PAGE_FAULTS] = {"meta", "page_faults"},
    [META + TT_META_PAGE_FAULT_LOSS] = {"meta", "page_fault_loss"},
    [META + TT_META_EXTENTS] = {"meta", "extents"},
    [META + TT_META_LOAD_STEP] = {"meta", "load_step"},
    [META + TT_META_POOL] = {"meta", "pool"},
    [META + TT_META_THROTTLED] = {"meta", "throttled"},
    [META + TT_META_PAUSE] = {"meta", "pause"},
    [META + TT_META_FATE] = {"meta", "fate"},
    [META + TT_META_SEQUENCES] = {"meta", "sequences"},
    [OPS] = {"ops", "nodes"},
    [OPS + 1] = {"ops", "segments"},
    [OPS + 2] = {"ops", "gap"},
    [OPS + 3] = {"ops", "busy"},
    [OPS + 4] = {"ops", "wait"},
    [OPS + 5] = {"ops", "exceptions"},
    [DETAIL] = {"detail", "unknown"},
    [DETAIL + TT_DETAIL_FAULTS] = {"detail", "faults"},
    [DETAIL + TT_DETAIL_OFF_CPU] = {"detail", "off cpu"},
    [DETAIL + TT_DETAIL_THREAD] = {"detail", "thread"},
    [DETAIL + TT_DETAIL_BETWEEN] = {"detail", "between"},
    [DETAIL + TT_DETAIL_WAIT_INSIDE] = {"detail", "wait inside"},
    [DETAIL + TT_DETAIL_EXPERTS] = {"detail", "experts"},
    [DETAIL + TT_DETAIL_WEIGHTS_F32] = {"detail", "weights"},
    [DETAIL + TT_DETAIL_VALUE] = {"detail", "values"},
    [DATA] = {"value", "data"},
};

/* A chunk being divided among the rows. */
typedef struct share {
    tt_content_row *rows;
    const tt_chunk_header *header;
    uint64_t raw_bytes;    /* divided so far */
    uint64_t stored_bytes; /* likewise */
} share;

/* Assigns the chunk's next raw bytes to the row. Sums are rounded, so that the whole is divided at
 * the end. */
static void give(share *s, size_t row, uint64_t raw_bytes, uint64_t count)
{
    tt_content_row *r = &s->rows[row];
    s->raw_bytes += raw_bytes;
    uint64_t until = s->raw_bytes * s->header->stored_bytes / s->header->raw_bytes;
    r->raw_bytes += raw_bytes;
    r->stored_bytes += until - s->stored_bytes;
    r->count += count;
    if (s->header->codec != TT_CODEC_NONE) r->apportioned = true;
    s->stored_bytes = until;
}

static void give_meta(share *s, tt_span payload)
{
    tt_cursor c = tt_cursor_of(payload.data, payload.size);
    uint8_t type;
    tt_span record;
    for (size_t before = 0; tt_meta_next(&c, &type, &record); before = c.at)
        give(s, META + (type <= TT_META_SEQUENCES && NAMES[META + type].part ? type : 0u),
             c.at - before, 1);
}

static tt_status give_ops(share *s, tt_span payload, tt_error *err)
{
    tt_ops_cost cost;
    tt_status status = tt_ops_cost_of(payload, s->header->count, &cost, err);
    if (status != TT_OK) return status;
    const size_t bytes[] = {cost.sequence_bytes, cost.front_bytes + cost.segment_bytes,
                            cost.gap_bytes,      cost.busy_bytes,
                            cost.wait_bytes,     cost.exception_bytes};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        give(s, OPS + i, bytes[i], s->header->count);
    return TT_OK;
}

static tt_status give_details(share *s, tt_span payload, tt_error *err)
{
    tt_detail *details;
    size_t n, bytes[TT_DETAIL_KINDS], counts[TT_DETAIL_KINDS] = {0};
    tt_status status =
        tt_detail_decode_measured(payload, s->header->count, &details, &n, bytes, err);
    if (status != TT_OK) return status;
    for (size_t i = 0; i < n; i++)
        counts[tt_detail_kind_of(&details[i])]++;
    for (size_t kind = 0; kind < sizeof bytes / sizeof *bytes; kind++)
        if (bytes[kind]) give(s, DETAIL + kind, bytes[kind], counts[kind]);
    free(details);
    return TT_OK;
}

/* Divides the chunk's payload; everything without a known part is the row's `rest`. */
static tt_status share_chunk(tt_content *content, const tt_chunk_header *h, tt_span payload,
                             tt_error *err)
{
    share s = {.rows = content->rows, .header = h};
    size_t rest = DAMAGED;
    tt_status status = TT_OK;
    if (h->raw_bytes == 0) return TT_OK;
    if (h->type == TT_CHUNK_META)
        give_meta(&s, payload);
    else if (h->type == TT_CHUNK_OPS)
        status = give_ops(&s, payload, err);
    else if (h->type == TT_CHUNK_DETAIL)
        status = give_details(&s, payload, err);
    else if (h->type == TT_CHUNK_VALUE)
        give(&s, DATA, h->raw_bytes, 1);
    else
        rest = UNKNOWN_CHUNKS;
    if (status == TT_OK && h->type == TT_CHUNK_OPS) content->records += h->count;
    if (s.raw_bytes < h->raw_bytes) give(&s, rest, h->raw_bytes - s.raw_bytes, 0);
    return status;
}

static void add(tt_content *content, size_t row, uint64_t bytes, uint64_t count)
{
    tt_content_row *r = &content->rows[row];
    r->raw_bytes += bytes;
    r->stored_bytes += bytes;
    r->count += count;
}

static tt_status measure_chunks(const tt_trace *t, tt_content *content, tt_error *err)
{
    tt_unpacker u;
    tt_status status = TT_OK;
    tt_unpacker_init(&u);
    for (size_t i = 0; i < t->n_chunks && status == TT_OK; i++) {
        tt_chunk_header h;
        tt_span payload;
        status = tt_trace_chunk(t, i, SIZE_MAX, &u, &h, &payload, err);
        if (status == TT_OK) {
            uint64_t padding = tt_pad8(h.stored_bytes) - h.stored_bytes;
            add(content, HEADERS, TT_CHUNK_HEADER_BYTES + padding, 1);
            status = share_chunk(content, &h, payload, err);
        }
        if (status != TT_E_MEMORY && status != TT_E_IO) status = TT_OK;
    }
    tt_unpacker_free(&u);
    return status;
}

/* What could not be attributed: damaged chunks, and what follows the last complete one. */
static void add_rest(tt_content *content)
{
    uint64_t known_bytes = 0;
    for (size_t i = 0; i < ROWS; i++)
        known_bytes += content->rows[i].stored_bytes;
    /* An index may list a chunk twice. */
    if (known_bytes < content->file_bytes)
        add(content, DAMAGED, content->file_bytes - known_bytes, 0);
}

tt_status tt_content_measure(const tt_model *m, tt_content *content, tt_error *err)
{
    const tt_trace *t = &m->trace;
    memset(content, 0, sizeof *content);
    content->file_bytes = t->source.size;
    add(content, HEADERS, TT_FILE_HEADER_BYTES, 1);
    if (t->complete) add(content, INDEX, t->source.size - t->index_offset, 1);
    tt_status status = measure_chunks(t, content, err);
    if (status != TT_OK) return status;
    add_rest(content);
    for (size_t i = 0; i < ROWS; i++) {
        if (content->rows[i].raw_bytes == 0) continue;
        tt_content_row r = content->rows[i];
        r.part = NAMES[i].part;
        r.column = NAMES[i].column;
        content->rows[content->n++] = r;
    }
    return TT_OK;
}

TT_COLUMN_GET(get_per_op, tt_content_row, r, {
    const tt_content *c = context;
    cell->known = c->records > 0;
    if (cell->known) cell->f64 = (double)r->stored_bytes / (double)c->records;
})

TT_COLUMN_VALUE(get_share, tt_content_row, r, f64,
                (double)r->stored_bytes / (double)((const tt_content *)context)->file_bytes)

static tt_certainty stored_bound(const void *context, const void *row)
{
    (void)context;
    return ((const tt_content_row *)row)->apportioned ? TT_ABOUT : TT_EXACT;
}

static const tt_column content_columns[] = {
    TT_COLUMN("part", "PART", NONE, "of the file", TT_MEMBER(tt_content_row, part)),
    TT_COLUMN("column", "COLUMN", NONE, "what of it", TT_MEMBER(tt_content_row, column)),
    TT_FIELD("count", "records", TT_MEMBER(tt_content_row, count)),
    TT_FIELD("raw_bytes", "before compression", TT_MEMBER(tt_content_row, raw_bytes)),
    TT_COLUMN("stored_bytes", "STORED", BYTES, "in the file",
              TT_MEMBER(tt_content_row, stored_bytes), .bound = stored_bound),
    TT_COLUMN("share", "SHARE", SHARE, "of the file", .type = TT_CELL_F64, .get = get_share,
              .show = TT_SHOW_TEXT),
    TT_COLUMN("bytes_per_op", "BYTES/OP", NONE, "of an op record", .type = TT_CELL_F64,
              .get = get_per_op),
    TT_FIELD("apportioned", "was compressed with other content",
             TT_MEMBER(tt_content_row, apportioned)),
};
const tt_schema tt_content_schema =
    TT_SCHEMA("content", "what the trace's bytes are", content_columns);
