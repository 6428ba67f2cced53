/* Bytes as the files of a dataset: must be judged, whatever they are. The files are parted by
 * zero bytes; each begins with a digit, its kind (enum tt_dataset_part). */
#include "dataset/verifier.h"

#include <stdlib.h>
#include <string.h>

#define FILES_MAX 32u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What callers rely on: a check that failed says of what, others count no offence. */
static void look_at(const tt_check *checks)
{
    for (unsigned i = 0; i < TT_DATASET_CHECKS; i++) {
        const tt_check *c = &checks[i];
        bool failed = c->verdict == TT_CHECK_FAILED;
        if (failed != (c->offences > 0) || failed != (c->detail[0] != '\0')) abort();
        if (!memchr(c->detail, '\0', sizeof c->detail)) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tt_check checks[TT_CHECKS_MAX];
    tt_dataset_verifier v;
    bool seen[TT_DATASET_GRAPH] = {false};
    tt_dataset_verifier_begin(&v, checks);
    for (unsigned i = 0; size > 0 && i < FILES_MAX; i++) {
        const uint8_t *end = memchr(data, '\0', size);
        size_t n = end ? (size_t)(end - data) : size;
        unsigned part = n > 0 ? (unsigned)(data[0] - '0') % TT_DATASET_PARTS : 0;
        char name[TT_DATASET_NAME];
        tt_dataset_name((tt_dataset_part)part, i, 0, name);
        /* The driver gives each of the three files once. */
        bool again = part < TT_DATASET_GRAPH && seen[part];
        if (n > 0 && !again)
            tt_dataset_verifier_file(&v, (tt_dataset_part)part, part < TT_DATASET_GRAPH ? 0 : i,
                                     name, (const char *)data + 1, n - 1);
        if (part < TT_DATASET_GRAPH) seen[part] |= n > 0;
        data += end ? n + 1 : n;
        size -= end ? n + 1 : n;
    }
    look_at(checks);
    tt_dataset_verifier_free(&v);
    return 0;
}
