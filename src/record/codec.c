#include "record/codec.h"

#include <dlfcn.h>
#include <stdlib.h>

#define LEVEL 3
#define LEVEL_FAST 1 /* a quarter of the time */

struct tt_codec_zstd {
    void *library;
    void *context;
    size_t (*bound)(size_t);
    size_t (*compress)(void *, void *, size_t, const void *, size_t, int);
    size_t (*decompress)(void *, size_t, const void *, size_t);
    unsigned (*is_error)(size_t);
    size_t (*free_context)(void *);
};

tt_codec_zstd *tt_codec_zstd_new(void)
{
    tt_codec_zstd *z = calloc(1, sizeof *z);
    if (!z) return NULL;
    z->library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    void *(*new_context)(void) = NULL;
    if (z->library) {
        *(void **)&new_context = dlsym(z->library, "ZSTD_createCCtx");
        *(void **)&z->bound = dlsym(z->library, "ZSTD_compressBound");
        *(void **)&z->compress = dlsym(z->library, "ZSTD_compressCCtx");
        *(void **)&z->decompress = dlsym(z->library, "ZSTD_decompress");
        *(void **)&z->is_error = dlsym(z->library, "ZSTD_isError");
        *(void **)&z->free_context = dlsym(z->library, "ZSTD_freeCCtx");
    }
    if (new_context && z->bound && z->compress && z->decompress && z->is_error && z->free_context)
        z->context = new_context();
    if (z->context) return z;
    tt_codec_zstd_free(z);
    return NULL;
}

void tt_codec_zstd_free(tt_codec_zstd *z)
{
    if (!z) return;
    if (z->context) (void)z->free_context(z->context);
    if (z->library) (void)dlclose(z->library);
    free(z);
}

bool tt_codec_zstd_pack(tt_codec_zstd *z, tt_span raw, bool fast, tt_bytes *out)
{
    tt_bytes_clear(out);
    size_t bound = z->bound(raw.size);
    if (!tt_bytes_reserve(out, bound)) return false;
    size_t n =
        z->compress(z->context, out->data, bound, raw.data, raw.size, fast ? LEVEL_FAST : LEVEL);
    if (z->is_error(n) || n > raw.size - raw.size / 16) return false;
    out->size = n;
    return true;
}

bool tt_codec_zstd_unpack(tt_codec_zstd *z, tt_span packed, size_t raw_bytes, tt_bytes *out)
{
    tt_bytes_clear(out);
    if (!tt_bytes_reserve(out, raw_bytes)) return false;
    out->size = z->decompress(out->data, raw_bytes, packed.data, packed.size);
    return !z->is_error(out->size) && out->size == raw_bytes;
}
