#include "export/npy/name.h"

#include "base/array.h"
#include "base/checksum.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_TEXT 120 /* longer names are cut */

static void make_safe(const char *node, char out[NODE_TEXT])
{
    size_t n = 0;
    for (; node[n] && n + 1 < NODE_TEXT; n++) {
        const char c = node[n];
        const bool fine =
            isascii((unsigned char)c) && (isalnum((unsigned char)c) || strchr("+-_.", c));
        out[n] = fine && !(n == 0 && c == '.') ? c : '_';
    }
    if (n == 0) out[n++] = '_';
    out[n] = '\0';
}

/* How often the name was asked for, this time included; 0 without memory. File systems that do not
 * tell cases apart are counted on. */
static uint32_t count(tt_npy_names *n, const char *name)
{
    char lower[TT_NPY_NAME_TEXT];
    uint32_t was;
    size_t i = 0;
    for (; name[i] && i + 1 < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    const uint64_t key = tt_checksum(lower, i);
    uint32_t at = tt_idmap_get(&n->numbers, key);
    if (at != TT_NONE) return ++n->used[at];
    if (!tt_array_one_more(n->used, n->n, n->capacity)) return 0;
    if (!tt_idmap_add(&n->numbers, key, n->n, &was)) return 0;
    return n->used[n->n++] = 1;
}

bool tt_npy_name(tt_npy_names *n, int64_t token, const char *node, char out[TT_NPY_NAME_TEXT])
{
    char safe[NODE_TEXT], folder[40] = "outside";
    make_safe(node, safe);
    if (token >= 0) (void)snprintf(folder, sizeof folder, "token-%05" PRId64, token);
    (void)snprintf(out, TT_NPY_NAME_TEXT, "%s/%s", folder, safe);
    const uint32_t times = count(n, out);
    if (times == 1) (void)snprintf(out, TT_NPY_NAME_TEXT, "%s/%s.npy", folder, safe);
    if (times > 1)
        (void)snprintf(out, TT_NPY_NAME_TEXT, "%s/%s~%" PRIu32 ".npy", folder, safe, times);
    return times > 0;
}

void tt_npy_names_free(tt_npy_names *n)
{
    tt_idmap_free(&n->numbers);
    free(n->used);
    memset(n, 0, sizeof *n);
}
