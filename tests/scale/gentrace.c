/* gentrace: a plausible trace of any length, for tests and measurements.
 *
 * The model, its graphs and what surrounds a token are synth_trace.c's; the records go the way
 * that they go in a traced process: through an area and its rings, the drain and the sink. Only
 * the clock is made up, so that hours of inference are written in seconds. The same options give
 * the same bytes (with the same zstd). */
#include "format/meta.h"
#include "record/area.h"
#include "record/drain.h"
#include "record/sink.h"
#include "synth_trace.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FACTORS (1u << 12)  /* a table of noise: log-normal, drawn from it is fast */
#define NOISE 0.12          /* standard deviation of the logarithm: what decoding shows */
#define SPIKE_EVERY 4096u   /* ops: a thread loses the processor */
#define LATE_TICKS 2000000u /* a millisecond */
#define OP_NS 350.0         /* of an op that reads next to nothing */
#define BYTES_PER_NS 12.0   /* that a lane reads from memory */
#define META_ROOM (1u << 20)

typedef struct options {
    synth_plan plan;
    uint64_t records; /* instead of tokens; 0: not said */
    uint64_t ring_bytes;
    const char *output;
} options;

/* Where the records go. */
typedef struct writer {
    tt_area_map map;
    tt_sink sink;
    tt_drain drain;
    tt_ring *rings[SYNTH_RINGS_MAX];
    uint32_t lanes;
    uint64_t random;
    double factors[FACTORS];
    tt_status status;
    tt_error err;
} writer;

enum { OPT_TOKENS = 256, OPT_PROMPT, OPT_LAYERS, OPT_LANES, OPT_EXPERTS, OPT_USED, OPT_FAULTS };
enum { OPT_USAGE = 300, OPT_SEED, OPT_WIDTH, OPT_VOCAB, OPT_RECORDS, OPT_RING, OPT_LATE };

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "The trace to write (required)", 0},
    {"tokens", OPT_TOKENS, "N", 0, "Generated tokens (default: 256)", 0},
    {"records", OPT_RECORDS, "N", 0, "As many tokens as make N op records, about", 0},
    {"prompt", OPT_PROMPT, "N", 0, "Tokens of the prompt (default: 8)", 0},
    {"layers", OPT_LAYERS, "N", 0, "Layers (default: 22)", 0},
    {"lanes", OPT_LANES, "N", 0, "Threads (default: 2)", 0},
    {"experts", OPT_EXPERTS, "N", 0, "Experts a layer (default: none)", 0},
    {"experts-used", OPT_USED, "N", 0, "Experts used by a token (default: 2)", 0},
    {"faults", OPT_FAULTS, 0, 0, "Page faults of each op and lane", 0},
    {"usage", OPT_USAGE, 0, 0, "The kernel's counters, and pages in RAM, of each token", 0},
    {"late", OPT_LATE, "N", 0, "The program begins generated token N a millisecond late", 0},
    {"width", OPT_WIDTH, "N", 0, "Width of the model (default: 2048)", 0},
    {"vocab", OPT_VOCAB, "N", 0, "Tokens of the vocabulary (default: 32000)", 0},
    {"ring", OPT_RING, "BYTES", 0, "Bytes of a thread's ring (default: the recorder's)", 0},
    {"seed", OPT_SEED, "N", 0, "Seed (default: 1)", 0},
    {0},
};

static uint64_t number(const char *text, uint64_t least, uint64_t most, struct argp_state *state)
{
    char *end;
    errno = 0;
    uint64_t v = strtoull(text, &end, 10);
    if (errno || end == text || *end || *text == '-' || v < least || v > most)
        argp_error(state, "\"%s\" is not a number from %" PRIu64 " to %" PRIu64, text, least, most);
    return v;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    synth_plan *p = &o->plan;
    switch (key) {
    case 'o':
        o->output = arg;
        break;
    case OPT_TOKENS:
        p->generate = (uint32_t)number(arg, 0, 1u << 30, state);
        break;
    case OPT_RECORDS:
        o->records = number(arg, 1, (uint64_t)1 << 40, state);
        break;
    case OPT_PROMPT:
        p->prompt_tokens = (uint32_t)number(arg, 2, 256, state);
        break;
    case OPT_LAYERS:
        p->layers = (uint32_t)number(arg, 1, 1000, state);
        break;
    case OPT_LANES:
        p->lanes = (uint32_t)number(arg, 1, SYNTH_RINGS_MAX, state);
        break;
    case OPT_EXPERTS:
        p->experts = (uint32_t)number(arg, 0, 1024, state);
        break;
    case OPT_USED:
        p->experts_used = (uint32_t)number(arg, 1, 64, state);
        break;
    case OPT_FAULTS:
        p->no_faults = false;
        break;
    case OPT_USAGE:
        p->no_usage = false;
        break;
    case OPT_LATE:
        p->late_token = (uint32_t)number(arg, 1, 1u << 30, state);
        p->late_ticks = LATE_TICKS;
        break;
    case OPT_WIDTH:
        p->width = (uint32_t)number(arg, 32, 65536, state) / 32 * 32;
        break;
    case OPT_VOCAB:
        p->vocab = (uint32_t)number(arg, 1, 1u << 20, state);
        break;
    case OPT_RING:
        o->ring_bytes = number(arg, TT_AREA_RING_BYTES_MIN, TT_AREA_RING_BYTES_MAX, state);
        break;
    case OPT_SEED:
        p->seed = (uint32_t)number(arg, 0, UINT32_MAX, state);
        break;
    case ARGP_KEY_END:
        if (!o->output) argp_error(state, "name the trace to write: -o FILE");
        if (p->experts && p->experts_used > p->experts)
            argp_error(state, "a token cannot use more experts than there are");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* --- times --- */

static uint32_t draw(writer *w)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(w->random >> 32);
}

static void make_factors(writer *w)
{
    for (uint32_t i = 0; i < FACTORS; i++) {
        double u = ((double)draw(w) + 1) / 4294967297.0, v = (double)draw(w) / 4294967296.0;
        w->factors[i] = exp(NOISE * sqrt(-2 * log(u)) * cos(2 * M_PI * v));
    }
}

/* Memory decides: bytes of the weight or, without one, of what is made; some noise; now and then
 * a long wait. */
static uint64_t busy_ticks(void *context, const tt_meta_tensor *tensors, uint32_t node,
                           const char *op)
{
    writer *w = context;
    const tt_meta_tensor *t = &tensors[node];
    const tt_meta_tensor *from = t->n_src && t->src[0] ? &tensors[t->src[0] - 1] : t;
    bool matmul = strcmp(op, "MUL_MAT") == 0 || strcmp(op, "MUL_MAT_ID") == 0;
    uint64_t bytes =
        matmul ? from->size_bytes / (from->ne[2] ? from->ne[2] : 1) : t->size_bytes / 4;
    double ns = OP_NS + (double)bytes / w->lanes / BYTES_PER_NS;
    ns *= w->factors[draw(w) % FACTORS];
    if (draw(w) % SPIKE_EVERY == 0) ns += 1e4 + draw(w) % 2000000;
    return (uint64_t)(ns * SYNTH_TICKS_PER_NS);
}

/* --- the way of the records --- */

static void step(writer *w, enum tt_drain_what what)
{
    if (w->status == TT_OK) w->status = tt_drain_step(&w->drain, what, &w->err);
}

static void put_meta(void *context, uint8_t type, const tt_bytes *payload)
{
    writer *w = context;
    tt_area *a = w->map.area;
    if (atomic_load(&a->meta_head) - atomic_load(&a->meta_tail) + payload->size + META_ROOM >
        a->meta_bytes)
        step(w, TT_DRAIN_ALL);
    (void)tt_area_meta_push(&w->map, type, payload);
    if (type == TT_META_BATCH) atomic_fetch_add(&a->counts.batches, 1);
    if (type == TT_META_RUN) atomic_fetch_add(&a->counts.runs, 1);
    if (type == TT_META_GRAPH) atomic_fetch_add(&a->counts.graphs, 1);
    if (type == TT_META_DECODE) atomic_fetch_add(&a->counts.decode_calls, 1);
    if (type == TT_META_TOKEN_TEXT) atomic_fetch_add(&a->counts.token_texts, 1);
    if (type == TT_META_INDICES) atomic_fetch_add(&a->counts.row_numbers, 1);
}

/* The drain thread looks every now and then: here, when a ring has a quarter of it. */
static void push(writer *w, tt_ring *ring, void *slots, const void *record)
{
    uint64_t size = w->map.area->ring_records, head = atomic_load(&ring->head);
    if (head - atomic_load(&ring->tail) >= size / 4 + size / 8) step(w, TT_DRAIN_PILED);
    if (head - atomic_load(&ring->tail) >= size) return; /* the sink failed: it is said later */
    memcpy((tt_op_record *)slots + (head & (size - 1)), record, sizeof(tt_op_record));
    atomic_store(&ring->head, head + 1);
}

static void put_op(void *context, uint32_t lane, const tt_op_record *record)
{
    writer *w = context;
    push(w, w->rings[lane], tt_area_slots(&w->map, lane), record);
}

static void put_detail(void *context, uint32_t lane, const tt_detail *detail)
{
    writer *w = context;
    if (!tt_area_reserve_detail(&w->map, lane)) return;
    push(w, tt_area_detail_ring(&w->map, lane), tt_area_detail_slots(&w->map, lane), detail);
}

static tt_status open_writer(writer *w, const options *o, const char *path, tt_error *err)
{
    tt_file_header header = {.major = TT_FORMAT_MAJOR,
                             .minor = TT_FORMAT_MINOR,
                             .created_unix_ns = 1700000000123456789u,
                             .pid = (uint64_t)getpid()};
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot create %s: %s", path,
                            strerror(errno));
    memcpy(header.run_id, &header.pid, sizeof header.pid); /* names the area: no two alike */
    uint64_t bytes = o->ring_bytes ? o->ring_bytes : TT_AREA_RING_BYTES_DEFAULT;
    tt_status status = tt_area_create(&w->map, bytes, header.run_id, "/tmp", err);
    if (status != TT_OK) return status;
    (void)unlink(w->map.path);
    header.pid = 4242;
    for (uint8_t i = 0; i < sizeof header.run_id; i++)
        header.run_id[i] = (uint8_t)(o->plan.seed + i * 17);
    status = tt_sink_begin(&w->sink, fd, &header, 0, 0, err);
    if (status == TT_OK) status = tt_drain_begin(&w->drain, &w->map, &w->sink, err);
    for (uint32_t i = 0; status == TT_OK && i < o->plan.lanes; i++) {
        w->rings[i] = tt_area_claim(&w->map, 100 + i);
        if (w->rings[i] != &w->map.rings[i])
            status =
                tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for lane %u's ring", i);
    }
    w->lanes = o->plan.lanes;
    w->random = o->plan.seed;
    make_factors(w);
    return status;
}

static tt_status write_trace(writer *w, synth_plan *plan)
{
    const synth_stream stream = {w, put_meta, put_op, put_detail, busy_ticks};
    plan->stream = &stream;
    bool ok = synth_build(plan, NULL);
    plan->stream = NULL;
    atomic_store(&w->map.area->counts.decode_tokens, plan->n_tokens);
    if (!ok) return tt_error_set(&w->err, TT_E_MEMORY, TT_NO_OFFSET, "out of memory");
    step(w, TT_DRAIN_LAST);
    if (w->status == TT_OK) w->status = tt_drain_finish(&w->drain, TT_END_NORMAL, NULL, &w->err);
    return w->status;
}

/* Ops of one token and lane, from a trace of none. */
static uint64_t ops_of_token(synth_plan plan)
{
    tt_bytes out;
    tt_bytes_init(&out, TT_CHUNK_PAYLOAD_MAX);
    plan.generate = 1;
    plan.memory = false;
    plan.lanes = 1;
    plan.vocab = 2;
    bool ok = synth_build(&plan, &out);
    tt_bytes_free(&out);
    return ok && plan.n_records >= 2 ? plan.n_records / 2 : 1;
}

int main(int argc, char **argv)
{
    static const struct argp argp = {
        option_table, parse_option, NULL, "Writes a plausible trace of any length.",
        NULL,         NULL,         NULL};
    options o = {.plan = synth_default()};
    char part[4096];
    o.plan.layers = 22;
    o.plan.width = 2048;
    o.plan.ffn = 0; /* of the width's proportion */
    o.plan.vocab = 32000;
    o.plan.prompt_tokens = 8;
    o.plan.generate = 256;
    o.plan.memory = o.plan.no_faults = o.plan.no_usage = true;
    if (argp_parse(&argp, argc, argv, 0, NULL, &o) != 0) return 2;
    o.plan.ffn = o.plan.width * 11 / 4 / 32 * 32;
    if (o.records) {
        uint64_t tokens = o.records / (ops_of_token(o.plan) * o.plan.lanes);
        o.plan.generate = tokens > 1 ? (uint32_t)(tokens < (1u << 30) ? tokens - 1 : 1u << 30) : 0;
    }
    writer *w = calloc(1, sizeof *w);
    (void)snprintf(part, sizeof part, "%s.part", o.output);
    tt_status status =
        w ? open_writer(w, &o, part, &w->err) : tt_error_set(NULL, TT_E_MEMORY, 0, "no memory");
    if (status == TT_OK) status = write_trace(w, &o.plan);
    if (status == TT_OK && rename(part, o.output) != 0)
        status = tt_error_set(&w->err, TT_E_IO, TT_NO_OFFSET, "cannot create %s: %s", o.output,
                              strerror(errno));
    if (status != TT_OK) fprintf(stderr, "gentrace: %s\n", w ? w->err.message : "out of memory");
    if (status == TT_OK)
        printf("%" PRIu64 " records, %" PRIu64 " bytes\n", o.plan.n_records, w->sink.offset);
    return status == TT_OK ? 0 : 1;
}
