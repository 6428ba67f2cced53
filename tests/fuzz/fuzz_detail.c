/* DETAIL payloads. With an odd first byte: bytes as a payload, which must be decoded or refused.
 * Else: bytes as details (a damaged area may hold any), of which all that are sane must come
 * back, and the same from what comes back. */
#include "../golden/allocations.h"
#include "format/detail.h"

#include <string.h>

#define MEMORY_FREE ((uint64_t)64 << 10)
#define RECORD_MEMORY 256u
#define RECORDS_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_list(const tt_detail *list, size_t n, size_t most)
{
    if (n > most) abort();
    for (size_t i = 0; i < n; i++) {
        unsigned kind = tt_detail_kind_of(&list[i]);
        unsigned items = kind == TT_DETAIL_EXPERTS ? TT_DETAIL_EXPERTS_MAX : TT_DETAIL_WEIGHTS_MAX;
        if (kind == TT_DETAIL_NONE || kind >= TT_DETAIL_KINDS) abort();
        if (i > 0 && list[i].run < list[i - 1].run) abort();
        if (kind == TT_DETAIL_VALUE && list[i].value.part >= TT_DETAIL_VALUE_PARTS) abort();
        bool has_items = kind == TT_DETAIL_EXPERTS || kind == TT_DETAIL_WEIGHTS_F32;
        if (has_items && (list[i].experts.n == 0 || list[i].experts.n > items)) abort();
    }
}

static void decode(const uint8_t *data, size_t size)
{
    tt_error err = {TT_OK, 0, ""};
    tt_detail *list;
    size_t n, most = size < 2 ? 1 : 1 + ((size_t)data[0] | (size_t)data[1] << 8) % RECORDS_MAX;
    size_t skip = size < 2 ? size : 2;
    if (tt_detail_decode((tt_span){data + skip, size - skip}, most, &list, &n, &err) == TT_OK)
        check_list(list, n, most);
    else if (err.status == TT_OK || !err.message[0] || list || n)
        abort();
    free(list);
    allocations_check(MEMORY_FREE + RECORD_MEMORY * most);
}

static size_t through(const tt_detail *from, size_t n, tt_detail **to)
{
    tt_bytes out;
    size_t got;
    tt_bytes_init(&out, SIZE_MAX / 2);
    if (!tt_detail_encode(&out, from, n)) abort();
    if (tt_detail_decode((tt_span){out.data, out.size}, n, to, &got, NULL) != TT_OK) abort();
    tt_bytes_free(&out);
    check_list(*to, got, n);
    return got;
}

static void round_trip(const uint8_t *data, size_t size)
{
    static tt_detail given[RECORDS_MAX];
    tt_detail *once, *twice;
    size_t n = size / sizeof *given;
    if (n == 0 || n > RECORDS_MAX) return;
    memcpy(given, data, n * sizeof *given);
    size_t first = through(given, n, &once);
    if (first) {
        if (through(once, first, &twice) != first || memcmp(once, twice, first * sizeof *once) != 0)
            abort();
        free(twice);
    }
    free(once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    allocations_begin();
    if (data[0] & 1)
        decode(data + 1, size - 1);
    else
        round_trip(data + 1, size - 1);
    return 0;
}
