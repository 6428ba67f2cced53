/* hostile_trace FILE [values]: a trace whose names would run as scripts, or turn the text around
 * them, in a page that let them. Real engines refuse such a model; who sends a trace need not have
 * had one. With `values`, each node has a fingerprint and data that make no sense.
 *
 * The names of a made-up trace are replaced by others of the same length. `p` is what a test of
 * the pages looks for: a getter that notes that it was read. */
#include "rechecksum.h"
#include "synth_trace.h"
#include "synth_values.h"

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
        synth_values(&plan);
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
