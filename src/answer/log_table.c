#include "answer/log_table.h"

#include "base/decimal.h"
#include "base/units.h"
#include "export/csv/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A line under way. */
typedef struct line {
    tt_bytes *out;
    tt_log_table format;
    bool begun; /* it has a field */
} line;

static void next_field(line *l)
{
    if (l->begun) tt_bytes_u8(l->out, l->format == TT_LOG_CSV ? ',' : '\t');
    l->begun = true;
}

static void put_escaped(tt_bytes *out, const char *text, size_t n)
{
    static const char signs[] = "\t\n\r\\", letters[] = "tnr\\";
    for (size_t i = 0; i < n; i++) {
        const char *sign = text[i] ? strchr(signs, text[i]) : NULL;
        if (sign) tt_bytes_u8(out, '\\');
        tt_bytes_u8(out, (uint8_t)(sign ? letters[sign - signs] : text[i]));
    }
}

static void put_text(line *l, const char *text, size_t n)
{
    next_field(l);
    if (l->format == TT_LOG_CSV)
        tt_csv_put_text(l->out, text, n);
    else
        put_escaped(l->out, text, n);
}

static void put_string(line *l, const char *text)
{
    put_text(l, text, strlen(text));
}

static void put_u64(line *l, bool known, uint64_t v)
{
    char text[24];
    next_field(l);
    if (!known) return;
    int n = snprintf(text, sizeof text, "%" PRIu64, v);
    tt_bytes_put(l->out, text, (size_t)n);
}

static void put_double(line *l, double v)
{
    char text[TT_DECIMAL_TEXT];
    next_field(l);
    if (isfinite(v)) tt_bytes_put(l->out, text, tt_decimal_write(v, text));
}

static void end_line(line *l)
{
    tt_bytes_u8(l->out, '\n');
    l->begun = false;
}

void tt_log_table_header(tt_bytes *out, tt_log_table format, bool by_lane)
{
    static const char *const names[] = {"start_ns",     "start_relative_ns",
                                        "duration_ns",  "busy_ns",
                                        "wait_ns",      "off_cpu_ns",
                                        "token_id",     "phase",
                                        "run_id",       "graph_id",
                                        "node",         "nodes",
                                        "threads",      "op",
                                        "name",         "layer_id",
                                        "category",     "component",
                                        "weight_bytes", "sources",
                                        "destination"};
    line l = {out, format, false};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_string(&l, by_lane && strcmp(names[i], "threads") == 0 ? "thread_id" : names[i]);
    end_line(&l);
}

/* "blk.0.attn_q.weight@disk:1024": where the bytes of the tensor lie. */
static void add_place(tt_bytes *out, const tt_model *m, const tt_graph *g, uint32_t tensor)
{
    const tt_tensor *t = &g->tensors[tensor], *root = &g->tensors[t->root];
    uint32_t buffer = t->buffer != TT_NONE ? t->buffer : root->buffer;
    char text[64] = "";
    tt_bytes_put(out, t->name, strlen(t->name));
    if (t->origin == TT_ORIGIN_DISK && t->weight != TT_NONE)
        (void)snprintf(text, sizeof text, "@disk:%" PRIu64,
                       m->weights[t->weight].offset_bytes + t->root_offset_bytes);
    else if (buffer != TT_NONE)
        (void)snprintf(text, sizeof text, "@buffer%" PRIu64 ":%" PRIu64, m->buffers[buffer].id,
                       t->buffer != TT_NONE ? t->location : root->location + t->root_offset_bytes);
    tt_bytes_put(out, text, strlen(text));
}

static void put_places(line *l, const tt_model *m, const tt_op *op)
{
    tt_bytes text;
    tt_bytes_init(&text, 1 << 20);
    for (uint32_t i = 0; i < op->n_sources; i++) {
        if (i) tt_bytes_put(&text, "; ", 2);
        add_place(&text, m, op->graph, op->sources[i].tensor);
    }
    put_text(l, text.data ? (const char *)text.data : "", text.size);
    l->out->failed |= text.failed;
    tt_bytes_clear(&text);
    add_place(&text, m, op->graph, op->nodes[op->n_nodes - 1]);
    put_text(l, text.data ? (const char *)text.data : "", text.size);
    l->out->failed |= text.failed;
    tt_bytes_free(&text);
}

void tt_log_table_row(tt_bytes *out, tt_log_table format, const tt_model *m, const tt_log_op *row,
                      const tt_op *op)
{
    line l = {out, format, false};
    const uint32_t batch = row->run->batch;
    const uint64_t spans[] = {row->arrive_ticks - row->start_ticks, row->busy_ticks,
                              row->wait_ticks, row->off_cpu_ticks};
    const bool known[] = {true, true, !m->waits_unknown, row->off_cpu_known};
    put_u64(&l, true, tt_model_mono_ns(m, row->start_ticks));
    put_double(&l, tt_model_ns(m, row->start_ticks));
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        put_u64(&l, !row->open && known[i], tt_units_round_ns(tt_model_span_ns(m, spans[i])));
    put_u64(&l, batch != TT_NONE, batch != TT_NONE ? tt_model_token(m, batch) : 0);
    put_string(&l, tt_phase_name(batch != TT_NONE ? m->batches[batch].phase : TT_PHASE_UNKNOWN));
    put_u64(&l, true, row->run->id);
    put_u64(&l, true, op->graph->id);
    put_u64(&l, true, op->node);
    put_u64(&l, true, op->n_nodes);
    put_u64(&l, true, row->lane == TT_NONE ? row->lanes : row->lane);
    put_string(&l, op->op);
    put_string(&l, op->name);
    put_u64(&l, op->place.layer_id >= 0, (uint64_t)op->place.layer_id);
    put_string(&l, op->place.category);
    put_string(&l, op->place.component);
    put_u64(&l, true, op->weight_bytes);
    put_places(&l, m, op);
    end_line(&l);
}
