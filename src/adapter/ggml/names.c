#include "adapter/ggml/names.h"

#include "adapter/ggml/process.h"
#include "base/checksum.h"
#include "base/idmap.h"
#include "format/meta.h"

#include <stdbool.h>
#include <string.h>

#define NAMES_MAX (1u << 20)

/* Ids minus 1 by 64-bit text hash. Collisions within a run are not expected: a chance of 1 in
 * 10^7 for a million names. */
static tt_idmap by_hash;
static uint32_t used;

uint32_t tt_names_id_n(tt_recorder *r, const char *text, size_t n)
{
    if (n == 0) return 0;
    const uint64_t hash = tt_checksum(text, n);
    uint32_t was = tt_idmap_get(&by_hash, hash);
    if (was != TT_NONE) return was + 1;
    if (used >= NAMES_MAX) return 0;
    tt_bytes payload;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_string(&payload, &(tt_meta_string){used + 1, (tt_span){(const uint8_t *)text, n}});
    if (!tt_process_put(r, TT_META_STRING, &payload)) return 0;
    (void)tt_idmap_add(&by_hash, hash, used, &was); /* if out of memory it is recorded again */
    return ++used;
}

void tt_names_forget(void)
{
    tt_idmap_free(&by_hash);
    used = 0;
}

uint32_t tt_names_id(tt_recorder *r, const char *text)
{
    return text ? tt_names_id_n(r, text, strlen(text)) : 0;
}
