/* Bytes as a map of stages, and as names that are looked up in it: read or refused with a reason,
 * and whatever is looked up comes back whole. */
#include "analyze/dumps/stages.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const tt_stages *s, const char *name, const char *op)
{
    tt_stage found = tt_stages_of(s, name, op);
    if (!memchr(found.name, '\0', sizeof found.name)) abort();
    (void)tt_stages_rank(s, found.name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tt_stages *s;
    tt_error err;
    char *text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    tt_status status = tt_stages_parse(text, size, "map", &s, &err);
    if ((status == TT_OK) != (s != NULL) || (status != TT_OK && !*err.message)) abort();
    if (!s) s = tt_stages_builtin();
    if (!s) abort();
    /* Each line as a name, too. */
    unsigned lines = 0;
    for (char *at = text; at && lines < 64; lines++) {
        char *end = strchr(at, '\n');
        if (end) *end = '\0';
        look_up(s, at, "MUL_MAT");
        look_up(s, at, "");
        at = end ? end + 1 : NULL;
    }
    tt_stages_free(s);
    free(text);
    return 0;
}
