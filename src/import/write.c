/* The text is read twice: first to derive the model, then for the choices.
 *
 * Each layer of the model is one tensor with a slice per expert, and each batch runs a graph with
 * one expert matmul per layer. Ticks only count: without CLOCK records they are not times. */
#include "import/write.h"

#include "base/array.h"
#include "base/idmap.h"
#include "base/outfile.h"
#include "format/detail.h"
#include "format/meta.h"
#include "format/ops.h"
#include "import/read.h"
#include "record/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define TYPE_F32 0u
#define TYPE_I8 24u
#define TYPE_I32 26u
#define META_PILE_BYTES ((size_t)1 << 20)
#define RECORDS_PILE ((size_t)1 << 16)
#define DATA_OFFSET 4096u
#define BASE 0x100000000000u
#define THREAD 1u

typedef struct sequence {
    int64_t next; /* least number of its next token */
    uint32_t id;  /* from 1 on; 0: none yet */
} sequence;

typedef struct writer {
    const tt_import_options *options;
    tt_import_sum *sum;
    bool has_layer[TT_IMPORT_LAYERS_MAX];
    uint32_t node_of[TT_IMPORT_LAYERS_MAX];
    uint32_t picked_most;
    tt_sink sink;
    tt_bytes meta, scratch, raw;
    uint64_t meta_position, op_position, detail_position;
    tt_op_record *ops;
    tt_detail *details;
    size_t n_ops, ops_capacity, n_details, details_capacity;
    tt_idmap graphs; /* by tokens */
    uint32_t n_graphs, n_strings, n_batches;
    uint64_t tick;
    int32_t *tokens, *sequences;
    uint32_t *first_sequence;
    size_t tokens_capacity, sequences_capacity, first_capacity;
    sequence *states; /* of what the text calls a sequence, from 1 on; 0: of all other tokens */
    size_t states_capacity;
    uint32_t n_sequences;
} writer;

/* --- first pass --- */

static tt_status survey(void *context, const tt_import_batch *b, tt_error *err)
{
    writer *w = context;
    for (size_t i = 0; i < b->n; i++) {
        const tt_import_pick *p = &b->picks[i];
        w->has_layer[p->layer] = true;
        if (p->expert >= w->sum->experts) w->sum->experts = p->expert + 1;
        if (p->rank >= w->picked_most) w->picked_most = p->rank + 1;
    }
    w->sum->batches++;
    w->sum->tokens += b->n_tokens;
    w->sum->picks += b->n;
    if (w->sum->batches <= UINT32_MAX / 2) return TT_OK;
    return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET, "more than 2 billion batches");
}

static tt_status count_layers(writer *w, tt_error *err)
{
    const tt_import_options *o = w->options;
    for (uint32_t i = 0; i < TT_IMPORT_LAYERS_MAX; i++)
        if (w->has_layer[i]) w->node_of[i] = w->sum->layers++;
    if (w->sum->picks == 0)
        return tt_error_set(err, TT_E_FORMAT, TT_NO_OFFSET,
                            "of no token it says which experts were picked");
    if (o->n_experts && o->n_experts < w->sum->experts)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "expert %" PRIu32 " was picked, and a layer has %" PRIu32
                            " by --experts",
                            w->sum->experts - 1, o->n_experts);
    if (o->n_experts) w->sum->experts = o->n_experts;
    if (o->expert_bytes * w->sum->experts <= ((uint64_t)1 << 43) / w->sum->layers) return TT_OK;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "the experts have more than 8 TiB in all");
}

/* --- records --- */

static void put_record(writer *w, uint8_t type)
{
    tt_meta_put_record(&w->meta, type, &w->scratch);
    tt_bytes_clear(&w->scratch);
}

static tt_span span(const char *text)
{
    return (tt_span){(const uint8_t *)text, strlen(text)};
}

static uint32_t put_string(writer *w, const char *text)
{
    tt_meta_put_string(&w->scratch, &(tt_meta_string){++w->n_strings, span(text)});
    put_record(w, TT_META_STRING);
    return w->n_strings;
}

static tt_status flush_meta(writer *w, tt_error *err)
{
    const tt_span raw = {w->meta.data, w->meta.size};
    tt_index_entry entry = {.type = TT_CHUNK_META, .position = w->meta_position};
    if (w->meta.failed || w->scratch.failed) return tt_error_memory(err, "the trace");
    if (raw.size == 0) return TT_OK;
    tt_meta_describe(raw, &entry.meta, &entry.count);
    w->meta_position += raw.size;
    tt_status status = tt_sink_put(&w->sink, &entry, raw, err);
    tt_bytes_clear(&w->meta);
    return status;
}

static tt_status put_chunk(writer *w, tt_index_entry entry, tt_error *err)
{
    entry.stream = 1;
    tt_status status = tt_sink_put(&w->sink, &entry, (tt_span){w->raw.data, w->raw.size}, err);
    tt_bytes_clear(&w->raw);
    return status;
}

static tt_status flush_records(writer *w, tt_error *err)
{
    tt_status status = TT_OK;
    for (size_t i = 0, n; status == TT_OK && i < w->n_ops; i += n) {
        n = w->n_ops - i < RECORDS_PILE ? w->n_ops - i : RECORDS_PILE;
        const tt_index_entry entry = {.type = TT_CHUNK_OPS,
                                      .position = w->op_position + i,
                                      .count = (uint32_t)n,
                                      .run_min = w->ops[i].run,
                                      .run_max = w->ops[i + n - 1].run};
        if (!tt_ops_encode(&w->raw, w->ops + i, n, 0)) return tt_error_memory(err, "the trace");
        status = put_chunk(w, entry, err);
    }
    for (size_t i = 0, n; status == TT_OK && i < w->n_details; i += n) {
        n = w->n_details - i < RECORDS_PILE ? w->n_details - i : RECORDS_PILE;
        const tt_index_entry entry = {.type = TT_CHUNK_DETAIL,
                                      .position = w->detail_position + i,
                                      .count = (uint32_t)n,
                                      .run_min = w->details[i].run,
                                      .run_max = w->details[i + n - 1].run};
        if (!tt_detail_encode(&w->raw, w->details + i, n)) return tt_error_memory(err, "the trace");
        status = put_chunk(w, entry, err);
    }
    w->op_position += w->n_ops;
    w->detail_position += w->n_details;
    w->n_ops = w->n_details = 0;
    return status;
}

/* --- constant records --- */

static void put_environment(writer *w)
{
    const tt_meta_pair pairs[] = {{span("mode"), span("import")},
                                  {span("mode_reason"), span("imported: only which experts were "
                                                             "picked is known, and no time")},
                                  {span("imported_from"), span(w->options->path)},
                                  {span("capture_experts"), span("on")}};
    tt_meta_put_pairs(&w->scratch, pairs, sizeof pairs / sizeof *pairs);
    put_record(w, TT_META_ENVIRONMENT);
}

enum {
    STRING_PATH = 1,
    STRING_I8,
    STRING_F32,
    STRING_I32,
    STRING_MATMUL,
    STRING_NONE,
    STRING_INPUT
};

static void put_strings(writer *w)
{
    static const char *const texts[] = {"i8", "f32", "i32", "MUL_MAT_ID", "NONE", "hidden"};
    put_string(w, w->options->path);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_string(w, texts[i]);
}

static uint64_t tensor_bytes(const writer *w)
{
    return w->options->expert_bytes * w->sum->experts;
}

static void name_weight(char out[40], uint32_t layer)
{
    (void)snprintf(out, 40, "blk.%" PRIu32 ".ffn_exps.weight", layer);
}

static void put_model(writer *w)
{
    const uint64_t size = tensor_bytes(w);
    tt_meta_model m = {.id = 1,
                       .path = span(w->options->path),
                       .size_bytes = DATA_OFFSET + size * w->sum->layers,
                       .data_offset_bytes = DATA_OFFSET};
    tt_meta_put_model(&w->scratch, &m);
    tt_bytes_varint(&w->scratch, w->sum->layers);
    for (uint32_t i = 0; i < TT_IMPORT_LAYERS_MAX; i++) {
        char name[40];
        if (!w->has_layer[i]) continue;
        name_weight(name, i);
        tt_meta_weight weight = {.name = span(name),
                                 .type = TYPE_I8,
                                 .type_name = STRING_I8,
                                 .n_dims = 3,
                                 .ne = {w->options->expert_bytes, 1, w->sum->experts, 1},
                                 .offset_bytes = DATA_OFFSET + size * w->node_of[i],
                                 .size_bytes = size};
        tt_meta_put_weight(&w->scratch, &weight);
    }
    put_record(w, TT_META_MODEL);
    tt_meta_buffer b = {.id = 1,
                        .name = STRING_PATH,
                        .usage = 1,
                        .flags = TT_BUFFER_HOST | TT_BUFFER_FILE,
                        .base = BASE,
                        .size_bytes = size * w->sum->layers,
                        .path = STRING_PATH,
                        .file_offset_bytes = DATA_OFFSET};
    tt_meta_put_buffer(&w->scratch, &b);
    put_record(w, TT_META_BUFFER);
    tt_meta_put_ring(&w->scratch, &(tt_meta_ring){.ring = 0, .thread = THREAD});
    put_record(w, TT_META_RING);
}

/* --- graphs --- */

static tt_meta_tensor tensor(uint32_t name, uint32_t type, uint32_t type_name, uint64_t item,
                             const uint64_t ne[3])
{
    tt_meta_tensor t = {.name = name,
                        .op_name = STRING_NONE,
                        .op_desc = STRING_NONE,
                        .type = type,
                        .type_name = type_name,
                        .ne = {ne[0], ne[1], ne[2], 1},
                        .nb = {item, item * ne[0], item * ne[0] * ne[1]}};
    t.nb[3] = t.size_bytes = t.nb[2] * ne[2];
    return t;
}

/* Nodes: a matmul per layer. Leafs: the input, then for each layer its weight and its ids. */
static void put_graph_tensors(writer *w, uint32_t n_tokens)
{
    const uint32_t n = w->sum->layers;
    const uint64_t in[3] = {w->options->expert_bytes, 1, n_tokens};
    const uint64_t out[3] = {1, w->picked_most, n_tokens}, ids[3] = {w->picked_most, n_tokens, 1};
    const uint64_t experts[3] = {w->options->expert_bytes, 1, w->sum->experts};
    const uint32_t first = STRING_INPUT + 1; /* of three per layer: node, weight, ids */
    for (uint32_t i = 0; i < n; i++) {
        tt_meta_tensor t = tensor(first + 3 * i, TYPE_F32, STRING_F32, 4, out);
        t.op_name = t.op_desc = STRING_MATMUL;
        t.flags = TT_TENSOR_EXECUTES;
        t.n_src = 3;
        t.src[0] = n + 1 + 2 * i + 1;
        t.src[1] = n + 1;
        t.src[2] = n + 1 + 2 * i + 2;
        tt_meta_put_tensor(&w->scratch, &t);
    }
    tt_meta_tensor t = tensor(STRING_INPUT, TYPE_F32, STRING_F32, 4, in);
    t.flags = TT_TENSOR_INPUT;
    tt_meta_put_tensor(&w->scratch, &t);
    for (uint32_t i = 0; i < n; i++) {
        t = tensor(first + 3 * i + 1, TYPE_I8, STRING_I8, 1, experts);
        t.buffer = 1;
        t.location = tensor_bytes(w) * i;
        tt_meta_put_tensor(&w->scratch, &t);
        t = tensor(first + 3 * i + 2, TYPE_I32, STRING_I32, 4, ids);
        tt_meta_put_tensor(&w->scratch, &t);
    }
}

static void put_names(writer *w)
{
    for (uint32_t i = 0; i < TT_IMPORT_LAYERS_MAX; i++) {
        char name[40];
        if (!w->has_layer[i]) continue;
        (void)snprintf(name, sizeof name, "ffn_exps-%" PRIu32, i);
        put_string(w, name);
        name_weight(name, i);
        put_string(w, name);
        (void)snprintf(name, sizeof name, "ffn_moe_topk-%" PRIu32, i);
        put_string(w, name);
    }
}

/* The graph for so many tokens: its id, or 0 if out of memory. */
static uint32_t graph_for(writer *w, uint32_t n_tokens)
{
    const uint32_t known = tt_idmap_get(&w->graphs, n_tokens);
    uint32_t was;
    if (known != TT_NONE) return known;
    if (!tt_idmap_add(&w->graphs, n_tokens, ++w->n_graphs, &was)) return 0;
    tt_meta_put_graph(&w->scratch,
                      &(tt_meta_graph){w->n_graphs, w->sum->layers, 3 * w->sum->layers + 1});
    put_graph_tensors(w, n_tokens);
    tt_bytes_varint(&w->scratch, 0);
    put_record(w, TT_META_GRAPH);
    return w->n_graphs;
}

/* --- batches --- */

/* The trace's sequence of a token: that of the text, or if it has none, one of all tokens. A number
 * that does not increase begins another one. TT_NONE: out of memory. */
static uint32_t sequence_of(writer *w, uint32_t named, int64_t number)
{
    const size_t at = named == TT_NONE ? 0 : (size_t)named + 1;
    if (!tt_array_room_zeroed(w->states, w->states_capacity, at + 1)) return TT_NONE;
    sequence *s = &w->states[at];
    if (s->id == 0 || (number >= 0 && number < s->next)) s->id = ++w->n_sequences;
    s->next = number + 1;
    return s->id - 1;
}

/* Positions are recorded if the tokens have numbers. */
static bool number_tokens(writer *w, const tt_import_batch *b)
{
    if (!tt_array_room(w->tokens, w->tokens_capacity, b->n_tokens) ||
        !tt_array_room(w->sequences, w->sequences_capacity, b->n_tokens) ||
        !tt_array_room(w->first_sequence, w->first_capacity, (size_t)b->n_tokens + 1))
        return false;
    for (uint32_t i = 0; i < b->n_tokens; i++) {
        const uint32_t s = sequence_of(w, b->sequences[i], b->numbers[i]);
        if (s == TT_NONE) return false;
        w->tokens[i] = (int32_t)b->numbers[i];
        w->sequences[i] = (int32_t)s;
        w->first_sequence[i] = i;
    }
    w->first_sequence[b->n_tokens] = b->n_tokens;
    return true;
}

static void put_batch(writer *w, const tt_import_batch *b)
{
    const bool numbered = b->numbers[0] >= 0, parted = numbered || b->sequences[0] != TT_NONE;
    const tt_batch_sequences sequences = {w->first_sequence, w->sequences};
    tt_meta_batch batch = {.id = w->n_batches,
                           .context = 1,
                           .ticks = ++w->tick,
                           .thread = THREAD,
                           .n_tokens = b->n_tokens,
                           .flags = (numbered ? (unsigned)TT_BATCH_POSITIONS : 0) |
                                    (parted ? (unsigned)TT_BATCH_SEQUENCES : 0)};
    tt_meta_put_batch(&w->scratch, &batch, NULL, numbered ? w->tokens : NULL,
                      parted ? &sequences : NULL);
    w->sum->sequences = parted ? w->n_sequences : 0;
    put_record(w, TT_META_BATCH);
}

static bool put_detail(writer *w, const tt_detail *d)
{
    tt_detail *to = tt_array_add(w->details, w->n_details, w->details_capacity);
    if (to) *to = *d;
    return to != NULL;
}

/* The n choices of a token in a layer. */
static bool put_picks(writer *w, const tt_import_pick *picks, uint32_t n)
{
    const uint32_t node = w->node_of[picks->layer], run = w->n_batches;
    bool ok = true;
    for (uint32_t rank = 0; ok && rank < n; rank += TT_DETAIL_EXPERTS_MAX) {
        tt_detail d = {.run = run, .place = tt_detail_place(node, 0, TT_DETAIL_EXPERTS)};
        d.experts.token = picks->token;
        d.experts.first_rank = (uint16_t)rank;
        for (uint32_t i = rank; i < n && i < rank + TT_DETAIL_EXPERTS_MAX; i++)
            d.experts.expert[d.experts.n++] = (uint16_t)picks[i].expert;
        ok = put_detail(w, &d);
    }
    for (uint32_t rank = 0; ok && rank < n; rank += TT_DETAIL_WEIGHTS_MAX) {
        tt_detail d = {.run = run, .place = tt_detail_place(node, 0, TT_DETAIL_WEIGHTS_F32)};
        d.weights.token = picks->token;
        d.weights.first_rank = (uint16_t)rank;
        for (uint32_t i = rank; i < n && i < rank + TT_DETAIL_WEIGHTS_MAX; i++)
            d.weights.weight[d.weights.n++] = picks[i].weight;
        if (!isnan(picks->weight)) ok = put_detail(w, &d);
    }
    return ok;
}

/* An op for each layer with choices. */
static bool put_layers(writer *w, const tt_import_batch *b)
{
    for (size_t i = 0, end; i < b->n; i = end) {
        const tt_import_pick *p = &b->picks[i];
        for (end = i;
             end < b->n && b->picks[end].layer == p->layer && b->picks[end].token == p->token;)
            end++;
        if (!put_picks(w, p, (uint32_t)(end - i))) return false;
        if (i && p[-1].layer == p->layer) continue;
        tt_op_record *op = tt_array_add(w->ops, w->n_ops, w->ops_capacity);
        if (!op) return false;
        const uint64_t now = w->tick += 2;
        *op = (tt_op_record){now, now + 1, now + 1, w->n_batches,
                             tt_op_place(w->node_of[p->layer], 0, 0)};
    }
    w->tick++;
    return true;
}

static tt_status write_batch(void *context, const tt_import_batch *b, tt_error *err)
{
    writer *w = context;
    const uint32_t graph = graph_for(w, b->n_tokens);
    w->n_batches++;
    if (!graph || !number_tokens(w, b)) return tt_error_memory(err, "the trace");
    put_batch(w, b);
    tt_meta_run r = {.id = w->n_batches,
                     .batch = w->n_batches,
                     .graph = graph,
                     .observed = TT_OBSERVED_PROGRAM,
                     .ticks = ++w->tick,
                     .thread = THREAD};
    tt_meta_put_run(&w->scratch, &r);
    put_record(w, TT_META_RUN);
    if (!put_layers(w, b)) return tt_error_memory(err, "the trace");
    tt_meta_end end = {.id = w->n_batches, .ticks = ++w->tick};
    tt_meta_put_end(&w->scratch, &end);
    put_record(w, TT_META_RUN_END);
    end.ticks = ++w->tick;
    tt_meta_put_end(&w->scratch, &end);
    put_record(w, TT_META_BATCH_END);
    tt_status status = w->meta.size > META_PILE_BYTES ? flush_meta(w, err) : TT_OK;
    if (status == TT_OK && (w->n_ops >= RECORDS_PILE || w->n_details >= RECORDS_PILE))
        status = flush_records(w, err);
    return status;
}

/* --- everything --- */

static void put_counts(writer *w)
{
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"ops", w->op_position},         {"ops_dropped", 0},
                  {"ops_unresolved", 0},           {"meta_dropped", 0},
                  {"details", w->detail_position}, {"details_dropped", 0},
                  {"batches", w->n_batches},       {"runs", w->n_batches},
                  {"graphs", w->n_graphs}};
    const size_t n = sizeof counts / sizeof *counts;
    tt_bytes_varint(&w->scratch, n);
    for (size_t i = 0; i < n; i++) {
        const tt_meta_total t = {span(counts[i].name), counts[i].value};
        tt_bytes_str(&w->scratch, (const char *)t.name.data, t.name.size);
        tt_bytes_varint(&w->scratch, t.value);
    }
    put_record(w, TT_META_COUNTS);
}

static tt_status write_trace(writer *w, FILE *in, tt_error *err)
{
    put_environment(w);
    put_strings(w);
    put_names(w);
    put_model(w);
    rewind(in);
    tt_status status = tt_import_read(in, w->options->ignored, write_batch, w, err);
    if (status == TT_OK) status = flush_records(w, err);
    put_counts(w);
    if (status == TT_OK) status = flush_meta(w, err);
    return status == TT_OK ? tt_sink_finish(&w->sink, TT_END_NORMAL, err) : status;
}

/* The sink takes ownership of a duplicate descriptor. */
static tt_status begin(writer *w, const tt_outfile *out, tt_error *err)
{
    struct timespec now;
    tt_file_header h = {.major = TT_FORMAT_MAJOR, .minor = TT_FORMAT_MINOR};
    if (clock_gettime(CLOCK_REALTIME, &now) == 0)
        h.created_unix_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (getrandom(h.run_id, sizeof h.run_id, 0) != (ssize_t)sizeof h.run_id)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "no random bytes: %s", strerror(errno));
    const int fd = dup(fileno(out->stream));
    if (fd < 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot write: %s", strerror(errno));
    return tt_sink_begin(&w->sink, fd, &h, 0, 0, err);
}

static void free_writer(writer *w)
{
    tt_bytes_free(&w->meta);
    tt_bytes_free(&w->scratch);
    tt_bytes_free(&w->raw);
    tt_idmap_free(&w->graphs);
    free(w->ops);
    free(w->details);
    free(w->tokens);
    free(w->sequences);
    free(w->first_sequence);
    free(w->states);
    free(w);
}

static tt_status write_file(writer *w, FILE *in, tt_error *err)
{
    tt_outfile out;
    tt_status status = tt_outfile_open(&out, w->options->output, w->options->force, err);
    if (status != TT_OK) return status;
    status = begin(w, &out, err);
    if (status == TT_OK) {
        status = write_trace(w, in, err);
        tt_sink_close(&w->sink);
    }
    if (status == TT_OK) return tt_outfile_commit(&out, err);
    tt_outfile_abandon(&out);
    return status;
}

tt_status tt_import_write(const tt_import_options *options, tt_import_sum *sum, tt_error *err)
{
    writer *w = calloc(1, sizeof *w);
    FILE *in = w ? fopen(options->path, "re") : NULL;
    if (!in) {
        free(w);
        return w ? tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "%s: cannot be opened: %s",
                                options->path, strerror(errno))
                 : tt_error_memory(err, "the import");
    }
    *sum = (tt_import_sum){0};
    w->options = options;
    w->sum = sum;
    tt_bytes_init(&w->meta, TT_CHUNK_PAYLOAD_MAX);
    tt_bytes_init(&w->scratch, TT_META_RECORD_MAX);
    tt_bytes_init(&w->raw, TT_CHUNK_PAYLOAD_MAX);
    tt_status status = fseeko(in, 0, SEEK_END) == 0
                           ? TT_OK
                           : tt_error_set(err, TT_E_IO, TT_NO_OFFSET,
                                          "%s: is no file: it is read twice", options->path);
    rewind(in);
    if (status == TT_OK) status = tt_import_read(in, options->ignored, survey, w, err);
    if (status == TT_OK) status = count_layers(w, err);
    if (status == TT_OK) status = write_file(w, in, err);
    (void)fclose(in);
    free_writer(w);
    return status;
}
