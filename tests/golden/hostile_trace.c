/* hostile_trace FILE [values]: a trace whose names would run as scripts, or turn the text around
 * them, in a page that let them. Real engines refuse such a model; who sends a trace need not have
 * had one. With `values`, each node has a fingerprint and data that make no sense.
 *
 * The names of a made-up trace are replaced by others of the same length. `p` is what a test of
 * the pages looks for: a getter that notes that it was read. */
#include "rechecksum.h"
#include "synth_trace.h"
#include "value/pack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct change {
    const char *from, *to; /* of one length */
} change;

static const change changes[] = {
    {"blk.0.attn_q.weight", "<img src onerror=p>"},
    {"blk.1.attn_q.weight", "<iframe src=//p.a/>"},
    {"blk.2.attn_q.weight", "\xe2\x80\xae"
                            "blk.2.\x1b[31mX\x07\n\t="},
    {"blk.0.ffn_up.weight", "\"onfocus=p autofocu"},
    {"blk.1.ffn_up.weight", "{{p}}${p}%3Cb%3E'\\`"},
    {"blk.2.ffn_up.weight", "javascript:p//\xff\xfe\xc0\x80\xed"},
    {"output_norm.weight", "__proto__.toString"},
    {"/models/synth.gguf", "/<svg onload=p>.gg"},
    /* Nodes, kinds of ops, buffers, settings. */
    {"ffn_out-1", "<b>\"'\n\xff&&"},
    {"result_norm", "\xe2\x80\xae\xe2\x81\xa6\r<i>\\"},
    {"SOFT_MAX", "</td>\"'\xc3"},
    {"CPU compute", "\"><p>\xed\xa0\x80\x7f\x1b\n"},
    {"llama-cli -m synth.gguf", "<script>p</script>\"'\xff\n="},
};

/* Every place, whatever it is part of. False when there is none: the made-up trace has other names.
 */
static bool replace(tt_bytes *b, const change *c)
{
    size_t n = strlen(c->from);
    bool found = false;
    if (strlen(c->to) != n) return false;
    for (size_t at = 0; at + n <= b->size; at++) {
        if (memcmp(b->data + at, c->from, n) != 0) continue;
        memcpy(b->data + at, c->to, n);
        found = true;
    }
    return found;
}

/* --- values --- */

#define RUNS 7u /* of which the last two are not there */
#define NODES 90u
#define WAYS 12u

/* Wrong in one of so many ways, of which the first is not wrong at all. */
static tt_fingerprint print_of(uint32_t way, uint32_t node)
{
    tt_fingerprint f = {.n = 64 * (node % 5 + 1),
                        .first_bad = TT_VALUE_NONE,
                        .has_range = true,
                        .min = -1,
                        .max = 1,
                        .rms = 0.5,
                        .has_blake3 = true,
                        .n_prefix = TT_VALUE_PREFIX,
                        .n_samples = TT_VALUE_SAMPLES};
    for (unsigned i = 0; i < TT_VALUE_SAMPLES; i++)
        f.samples[i] = way == 1 ? NAN : way == 2 ? INFINITY : way == 3 ? 3e38f : (float)i;
    for (unsigned i = 0; i < TT_VALUE_PREFIX; i++)
        f.prefix[i] = f.samples[i];
    if (way == 1) f.rms = f.mean = NAN;
    if (way == 2) f.rms = INFINITY;
    if (way == 3) f.rms = f.mean = 1e308;
    if (way == 4) f.rms = -1;
    if (way == 5) f.min = NAN, f.max = -INFINITY;
    if (way == 6) f.n = UINT64_MAX;
    if (way == 7) f.n = f.n_nan = UINT64_MAX, f.first_bad = UINT64_MAX - 1, f.has_range = false;
    if (way == 8) f.n_nan = 1, f.first_bad = f.n - 1;
    if (way == 9) f.n_inf = f.n, f.first_bad = 0, f.has_range = false;
    if (way == 10) f.n_nan = f.n_inf = UINT64_MAX / 2 + 1, f.n = 8;
    return f;
}

static void put_parts(synth_ring *to, uint32_t run, uint32_t node, uint32_t way)
{
    uint8_t packed[(TT_DETAIL_VALUE_PARTS + 1) * TT_DETAIL_VALUE_BYTES] = {0};
    tt_fingerprint f = print_of(way, node);
    size_t size = tt_value_pack(&f, packed);
    /* Of the last way one part is missing, and one is there that cannot be. */
    for (unsigned part = way == 11; part * TT_DETAIL_VALUE_BYTES < size; part++) {
        tt_detail *d = &to->details[to->n_details++];
        *d = (tt_detail){.run = run,
                         .place = tt_detail_place(node, 0, TT_DETAIL_VALUE),
                         .value.part = (uint8_t)(way == 11 && part == 2 ? 255 : part)};
        memcpy(d->value.bytes, packed + part * TT_DETAIL_VALUE_BYTES, TT_DETAIL_VALUE_BYTES);
    }
}

static void put_prints(synth_plan *plan, synth_ring *rings)
{
    synth_ring *to = &rings[0];
    (void)plan;
    to->detail_capacity = to->n_details + (RUNS * NODES + 1) * (TT_DETAIL_VALUE_PARTS + 1);
    to->details = reallocarray(to->details, to->detail_capacity, sizeof *to->details);
    if (!to->details) abort();
    for (uint32_t run = 1; run <= RUNS; run++)
        for (uint32_t node = 0; node < NODES; node++)
            put_parts(to, run, node, (run * 5 + node * 7) % WAYS);
    put_parts(to, 1, TT_OPS_NODE_MAX, 0);
}

/* Of the size of one token's output, of another one, of none, of a part that cannot be, twice. */
static const synth_data data[] = {
    {1, 0, 0, 256, 0x7f},          {2, 5, 0, 256, 0xff},
    {2, 5, 0, 256, 0x00},          {2, 6, 0, 1, 0x7f},
    {3, 7, UINT32_MAX, 256, 0x7f}, {3, 8, 1, 1 << 20, 0x01},
    {UINT32_MAX, 0, 0, 64, 0x7f},  {0, 0, 0, 64, 0x7f},
    {1, UINT32_MAX, 0, 64, 0x7f},  {4, 9, 0, 0, 0},
    {4, 10, 0, 1280, 0x7f},        {4, 11, 0, 512, 0xff},
};

int main(int argc, char **argv)
{
    bool values = argc == 3 && strcmp(argv[2], "values") == 0;
    if (argc != 2 && !values) {
        fprintf(stderr, "usage: hostile_trace FILE [values]\n");
        return 2;
    }
    synth_plan plan = synth_default();
    plan.codec = TT_CODEC_NONE;
    plan.memory = true;
    if (values) {
        plan.edit_ops = put_prints;
        plan.data = data;
        plan.n_data = sizeof data / sizeof data[0];
    }
    tt_bytes b;
    tt_bytes_init(&b, SIZE_MAX / 2);
    if (!synth_build(&plan, &b)) return 1;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        if (replace(&b, &changes[i])) continue;
        fprintf(stderr, "hostile_trace: \"%s\" is not in the trace, or of another length\n",
                changes[i].from);
        return 1;
    }
    rechecksum(b.data, b.size);
    FILE *f = fopen(argv[1], "wb");
    bool ok = f && fwrite(b.data, 1, b.size, f) == b.size;
    if (f && fclose(f) != 0) ok = false;
    tt_bytes_free(&b);
    if (!ok) perror(argv[1]);
    return ok ? 0 : 1;
}
