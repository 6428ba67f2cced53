/* values TRACE: each output that was taken, as "BATCH NAME OP ELEMENTS BLAKE3", by batch and in the
 * order of execution: what two ways of observing the same program agree on. */
#include "tensortrace/read.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct place {
    tt_reader *reader;
    tt_reader_run run;
} place;

static int print(void *context, const tt_reader_value *v)
{
    const place *p = context;
    tt_reader_tensor t;
    if (tt_reader_get_tensor(p->reader, p->run.graph, v->node, &t) != TT_OK) return 1;
    printf("%" PRIu32 " %s %s %" PRIu64 " ", p->run.batch, t.name, t.op, v->elements);
    for (unsigned i = 0; i < sizeof v->blake3; i++)
        printf("%02x", v->blake3[i]);
    putchar('\n');
    return 0;
}

int main(int argc, char **argv)
{
    place p;
    tt_error err;
    tt_reader_summary summary;
    if (argc != 2 || tt_reader_open(&p.reader, argv[1], &err) != TT_OK) {
        fprintf(stderr, "%s\n", argc == 2 ? err.message : "which trace?");
        return 2;
    }
    tt_reader_get_summary(p.reader, &summary);
    for (uint32_t i = 0; i < summary.runs; i++) {
        if (tt_reader_get_run(p.reader, i, &p.run) != TT_OK ||
            tt_reader_walk_values(p.reader, i, print, &p, &err) != TT_OK) {
            fprintf(stderr, "%s\n", err.message);
            return 2;
        }
    }
    tt_reader_close(p.reader);
    return 0;
}
