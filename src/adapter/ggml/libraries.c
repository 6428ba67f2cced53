#include "adapter/ggml/libraries.h"

#include "adapter/ggml/process.h"

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LIBRARIES_MAX 16u

typedef struct found {
    char path[LIBRARIES_MAX][PATH_MAX];
    uint32_t n;
    unsigned long long loaded; /* the linker's count of objects added so far */
} found;

static int count_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
    unsigned long long *loaded = data;
    (void)size;
    *loaded = info->dlpi_adds;
    return 1;
}

static int collect(struct dl_phdr_info *info, size_t size, void *data)
{
    found *f = data;
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
    const char *base = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    if (!base || f->n == LIBRARIES_MAX) return 0;
    if (strncmp(base, "libggml", 7) != 0 && strncmp(base, "libllama", 8) != 0) return 0;
    (void)snprintf(f->path[f->n++], PATH_MAX, "%s", info->dlpi_name);
    return 0;
}

/* "libllama.b6673.so", "libllama.so.0.0.7" -> "b6673", "0.0.7"; false without one. */
static bool version_in_name(const char *path, char *out, size_t size)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    if (strncmp(name, "libllama.", 9) != 0) return false;
    const char *after = name + 9, *so = strstr(after, "so");
    if (!so) return false;
    if (so > after && so[-1] == '.') {
        (void)snprintf(out, size, "%.*s", (int)(so - after - 1), after);
        return true;
    }
    if (so == after && so[2] == '.') {
        (void)snprintf(out, size, "%s", so + 3);
        return true;
    }
    return false;
}

void tt_libraries_describe(tt_recorder *r, const tt_engine *e)
{
    static unsigned long long described;
    static tt_recorder *described_to;
    static found f;
    unsigned long long loaded = 0;
    char version[256] = "", key[32];
    (void)dl_iterate_phdr(count_loaded, &loaded);
    if (loaded == described && described_to == r) return;
    described = loaded;
    described_to = r;
    f.n = 0;
    (void)dl_iterate_phdr(collect, &f);
    for (uint32_t i = 0; i < f.n; i++) {
        (void)snprintf(key, sizeof key, "engine_library_%u", i);
        tt_process_environment(r, key, f.path[i]);
        if (!version[0]) (void)version_in_name(f.path[i], version, sizeof version);
    }
    if (version[0]) tt_process_environment(r, "engine_version", version);
    if (e->version) tt_process_environment(r, "engine_ggml_version", e->version());
    if (e->commit) tt_process_environment(r, "engine_ggml_commit", e->commit());
}
