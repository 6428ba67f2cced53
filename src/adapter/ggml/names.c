#include "adapter/ggml/names.h"

#include "adapter/ggml/process.h"
#include "base/checksum.h"
#include "format/meta.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX (1u << 20)
#define FIRST_CAPACITY 4096u

/* Keyed by the text's 64-bit hash: two names of one run that share it are not to be
 * expected (one chance in 10^7 for a million names). */
typedef struct name {
    uint64_t hash;
    uint32_t id; /* 0: empty slot */
} name;

static name *table;
static uint32_t capacity, used;

static name *slot_of(name *in, uint32_t size, uint64_t hash)
{
    uint32_t i = (uint32_t)hash & (size - 1);
    while (in[i].id && in[i].hash != hash)
        i = (i + 1) & (size - 1);
    return &in[i];
}

static bool grow(void)
{
    uint32_t larger = capacity ? capacity * 2 : FIRST_CAPACITY;
    name *fresh = calloc(larger, sizeof *fresh);
    if (!fresh) return false;
    for (uint32_t i = 0; i < capacity; i++)
        if (table[i].id) *slot_of(fresh, larger, table[i].hash) = table[i];
    free(table);
    table = fresh;
    capacity = larger;
    return true;
}

uint32_t tt_names_id_n(tt_recorder *r, const char *text, size_t n)
{
    if (n == 0) return 0;
    uint64_t hash = tt_checksum(text, n);
    name *slot = capacity ? slot_of(table, capacity, hash) : NULL;
    if (slot && slot->id) return slot->id;
    if (used >= capacity / 2) {
        if (used >= NAMES_MAX || !grow()) return 0;
        slot = slot_of(table, capacity, hash);
    }
    tt_bytes payload;
    tt_bytes_init(&payload, TT_META_RECORD_MAX);
    tt_meta_put_string(&payload, &(tt_meta_string){used + 1, (tt_span){(const uint8_t *)text, n}});
    if (!tt_process_put(r, TT_META_STRING, &payload)) return 0;
    slot->hash = hash;
    slot->id = ++used;
    return slot->id;
}

uint32_t tt_names_id(tt_recorder *r, const char *text)
{
    return text ? tt_names_id_n(r, text, strlen(text)) : 0;
}
