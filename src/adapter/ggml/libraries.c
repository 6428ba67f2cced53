#include "adapter/ggml/libraries.h"

#include "adapter/ggml/process.h"
#include "adapter/ggml/resolve.h"
#include "base/path.h"

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARIES_MAX 16u

typedef struct found {
    char path[LIBRARIES_MAX][PATH_MAX];
    uint32_t n;
} found;

static int collect(struct dl_phdr_info *info, size_t size, void *data)
{
    found *f = data;
    const char *base = info->dlpi_name ? tt_base_name(info->dlpi_name) : NULL;
    (void)size;
    if (!base || f->n == LIBRARIES_MAX) return 0;
    if (strncmp(base, "libggml", 7) != 0 && strncmp(base, "libllama", 8) != 0) return 0;
    (void)snprintf(f->path[f->n++], PATH_MAX, "%s", info->dlpi_name);
    return 0;
}

/* The part between "libllama." and ".so", a release ("b6673"), or after ".so.": the ABI number
 * ("0") or, for the file itself, a version ("0.7.0"). */
static const char *after_name(const char *path)
{
    const char *name = tt_base_name(path);
    return strncmp(name, "libllama.", 9) == 0 ? name + 9 : NULL;
}

static bool release_in_name(const char *path, char *out, size_t size)
{
    const char *after = after_name(path), *so = after ? strstr(after, ".so") : NULL;
    if (!so) return false;
    (void)snprintf(out, size, "%.*s", (int)(so - after), after);
    return true;
}

static bool version_of_file(const char *path, char *out, size_t size)
{
    char real[PATH_MAX];
    const char *after = after_name(path) && realpath(path, real) ? after_name(real) : NULL;
    if (!after || strncmp(after, "so.", 3) != 0 || !strchr(after + 3, '.')) return false;
    (void)snprintf(out, size, "%s", after + 3);
    return true;
}

/* The release in the distributor's file name; else llama.cpp's own version; else the version of the
 * file. Old engines have none of them, nor do files with other names. */
static void find_version(const found *f, const tt_engine *e, char *out, size_t size)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (release_in_name(f->path[i], out, size)) return;
    const char *text = e->release ? e->release() : NULL;
    if (text && text[0]) {
        (void)snprintf(out, size, "%s", text);
        return;
    }
    for (uint32_t i = 0; i < f->n; i++)
        if (version_of_file(f->path[i], out, size)) return;
}

void tt_libraries_describe(tt_recorder *r, const tt_engine *e)
{
    static uint64_t described;
    static tt_recorder *described_to;
    static found f;
    const uint64_t loaded = tt_resolve_loaded_count();
    char version[256] = "", key[32];
    if (loaded == described && described_to == r) return;
    described = loaded;
    described_to = r;
    f.n = 0;
    (void)dl_iterate_phdr(collect, &f);
    for (uint32_t i = 0; i < f.n; i++) {
        (void)snprintf(key, sizeof key, "engine_library_%u", i);
        tt_process_environment(r, key, f.path[i]);
    }
    find_version(&f, e, version, sizeof version);
    if (version[0]) tt_process_environment(r, "engine_version", version);
    if (e->version) tt_process_environment(r, "engine_ggml_version", e->version());
    if (e->commit) tt_process_environment(r, "engine_ggml_commit", e->commit());
}
