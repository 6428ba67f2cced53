/* Bytes as a text of picked experts: read or refused with a reason; what is visited is in order and
 * within the limits. The column "count" is ignored if there is one. */
#include "import/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool what)
{
    if (!what) abort();
}

static tt_status look(void *context, const tt_import_batch *b, tt_error *err)
{
    (void)context;
    (void)err;
    must(b->n > 0 && b->n_tokens > 0);
    for (size_t i = 0; i < b->n; i++) {
        const tt_import_pick *p = &b->picks[i], *q = i ? p - 1 : p;
        must(p->layer < TT_IMPORT_LAYERS_MAX && p->expert < TT_IMPORT_EXPERTS_MAX);
        must(b->sequences[p->token] == UINT32_MAX ||
             b->sequences[p->token] < TT_IMPORT_SEQUENCES_MAX);
        must(p->token < b->n_tokens && p->rank < TT_IMPORT_PICKED_MAX && !isinf(p->weight));
        if (i == 0) continue;
        const bool same = p->layer == q->layer && p->token == q->token;
        must(same ? p->rank == q->rank + 1 && p->expert != q->expert : p->rank == 0);
        must(p->layer > q->layer || (p->layer == q->layer && p->token >= q->token));
    }
    return TT_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const tt_import_ignored count = {.names = {"count"}, .n = 1};
    const bool counted = memmem(data, size, "count", 5);
    tt_error err = {0};
    if (size == 0) return 0;
    FILE *in = fmemopen((void *)(uintptr_t)data, size, "r");
    if (!in) return 0;
    tt_status status = tt_import_read(in, counted ? &count : NULL, look, NULL, &err);
    must(status == TT_OK || (err.message[0] && memchr(err.message, '\0', sizeof err.message)));
    (void)fclose(in);
    return 0;
}
