/* Bytes as a trace with right checksums: opened, and one of the analyses, which two bytes of the
 * file header choose (of the time of creation: nothing looks at it). */
#include "../golden/rechecksum.h"
#include "looks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_bytes(const uint8_t *data, size_t size)
{
    tt_model *m = NULL;
    tt_error err = {TT_OK, 0, ""};
    if (tt_model_open_memory(data, size, &m, &err) == TT_OK)
        look_at(m, data[32] % LOOKS, data[33]);
    else if (m || err.status == TT_OK || !err.message[0])
        abort();
    tt_model_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *right = malloc(size + 1);
    if (!right) return 0;
    if (size) memcpy(right, data, size);
    rechecksum(right, size);
    limits_begin();
    try_bytes(right, size);
    limits_check(allocations_allowed(size) + (size > 32 ? look_bytes(right[32] % LOOKS) : 0));
    free(right);
    return 0;
}
