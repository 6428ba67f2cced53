/* Bytes as a file of chunks: opened with and without its index, each chunk unpacked and decoded by
 * its kind; as they are and with right checksums. What a model makes of them is fuzz_meta's. */
#include "../golden/allocations.h"
#include "../golden/rechecksum.h"
#include "decode_chunk.h"
#include "read/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_at(const tt_trace *t, size_t size)
{
    tt_unpacker u;
    tt_unpacker_init(&u);
    if (t->end_bytes > size || (!t->complete && !t->cut.message[0])) abort();
    for (size_t i = 0; i < t->n_chunks; i++) {
        tt_chunk_header h;
        tt_span payload;
        tt_error err = {TT_OK, 0, ""};
        for (size_t at_least = 16; at_least; at_least = at_least == 16 ? SIZE_MAX : 0) {
            if (tt_trace_chunk(t, i, at_least, &u, &h, &payload, &err) == TT_OK) {
                if (payload.size < (at_least < h.raw_bytes ? at_least : h.raw_bytes)) abort();
                if (at_least == SIZE_MAX) (void)decode_chunk(&h, payload);
            } else if (err.status == TT_OK || !err.message[0]) {
                abort();
            }
        }
    }
    tt_unpacker_free(&u);
}

static void try_bytes(const uint8_t *data, size_t size)
{
    tt_trace t;
    tt_error err = {TT_OK, 0, ""};
    if (tt_trace_open_memory(&t, data, size, &err) == TT_OK)
        look_at(&t, size);
    else if (err.status == TT_OK || !err.message[0])
        abort();
    tt_trace_close(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    allocations_begin();
    try_bytes(data, size);
    uint8_t *right = malloc(size + 1);
    if (!right) return 0;
    if (size) memcpy(right, data, size);
    rechecksum(right, size);
    try_bytes(right, size);
    /* Without its end the file is scanned. */
    if (size > TT_TAIL_BYTES) try_bytes(right, size - TT_TAIL_BYTES);
    free(right);
    allocations_check(allocations_allowed(size));
    return 0;
}
