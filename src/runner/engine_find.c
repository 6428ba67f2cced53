#include "runner/engine_find.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__aarch64__)
#define NPM_BINS "bins/linux-arm64"
#define MULTIARCH "lib/aarch64-linux-gnu"
#else
#define NPM_BINS "bins/linux-x64"
#define MULTIARCH "lib/x86_64-linux-gnu"
#endif

/* Where the libraries may be below a folder that the user names. */
static const char *const below[] = {"", NPM_BINS, "bin", "build/bin", "lib", "lib64", MULTIARCH};

/* A build tree is at most this deep: build/src/cli below the source tree. */
#define PARENTS_MAX 3
#define METADATA_MAX 8192

static void add_tried(tt_engine_found *e, const char *where, const char *path, const char *why)
{
    size_t used = strlen(e->tried);
    (void)snprintf(e->tried + used, sizeof e->tried - used, "%s%s%s: %s\n", where,
                   path[0] ? " " : "", path, why);
}

bool tt_engine_is_llama_name(const char *name)
{
    if (strncmp(name, "libllama", 8) != 0) return false;
    const char *rest = name + 8;
    if (rest[0] == '-') {
        /* Wheels carry libraries as "name-<8 hex digits>.so": the same library. */
        for (int i = 1; i <= 8; i++)
            if (!isxdigit((unsigned char)rest[i])) return false;
        rest += 9;
    }
    if (rest[0] != '.') return false;
    const char *so = strstr(rest, ".so");
    return so && (so[3] == '\0' || (so[3] == '.' && isdigit((unsigned char)so[4])));
}

/* Of several names of one library, programs link the shortest. */
static bool is_better(const char *name, const char *best)
{
    if (!best[0]) return true;
    size_t a = strlen(name), b = strlen(best);
    return a != b ? a < b : strcmp(name, best) < 0;
}

static bool find_llama(const char *dir, char *out, size_t n)
{
    char best[NAME_MAX + 1] = "";
    DIR *d = opendir(dir);
    if (!d) return false;
    for (struct dirent *e; (e = readdir(d));)
        if (tt_engine_is_llama_name(e->d_name) && is_better(e->d_name, best))
            memcpy(best, e->d_name, strlen(e->d_name) + 1);
    (void)closedir(d);
    if (!best[0]) return false;
    int length = snprintf(out, n, "%s/%s", dir, best);
    return length > 0 && (size_t)length < n && access(out, R_OK) == 0;
}

bool tt_engine_release_of(const char *metadata, size_t size, char *out, size_t n)
{
    static const char key[] = "\"release\"";
    const char *at = memmem(metadata, size, key, sizeof key - 1);
    if (!at) return false;
    const char *end = metadata + size;
    at += sizeof key - 1;
    while (at < end && (*at == ':' || isspace((unsigned char)*at)))
        at++;
    if (at >= end || *at++ != '"') return false;
    size_t length = 0;
    while (at + length < end && at[length] != '"')
        length++;
    if (at + length >= end || length == 0 || length >= n) return false;
    memcpy(out, at, length);
    out[length] = '\0';
    return true;
}

/* The release is in a file beside the libraries, or part of their name. */
static void find_release(tt_engine_found *e)
{
    char path[PATH_MAX + 32], text[METADATA_MAX];
    (void)snprintf(path, sizeof path, "%s/_nlcBuildMetadata.json", e->dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t size = read(fd, text, sizeof text);
        (void)close(fd);
        if (size > 0 && tt_engine_release_of(text, (size_t)size, e->release, sizeof e->release))
            return;
    }
    char real[PATH_MAX];
    if (!realpath(e->llama, real)) return;
    const char *name = strrchr(real, '/');
    const char *infix = name ? strchr(name, '.') : NULL;
    if (!infix) return;
    infix++;
    const char *so = strstr(infix, ".so");
    if (so) (void)snprintf(e->release, sizeof e->release, "%.*s", (int)(so - infix), infix);
    /* A single number ("libllama.so.0") is the interface's, not a release. */
    else if (strncmp(infix, "so.", 3) == 0 && strchr(infix + 3, '.'))
        (void)snprintf(e->release, sizeof e->release, "%s", infix + 3);
}

bool tt_engine_find_in(const char *dir, tt_engine_found *engine)
{
    char real[PATH_MAX], at[PATH_MAX];
    if (!realpath(dir, real)) return false;
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        int n = snprintf(at, sizeof at, "%s%s%s", real, below[i][0] ? "/" : "", below[i]);
        if (n < 0 || (size_t)n >= sizeof at) continue;
        if (!find_llama(at, engine->llama, sizeof engine->llama)) continue;
        memcpy(engine->dir, at, (size_t)n + 1);
        engine->release[0] = '\0';
        find_release(engine);
        return true;
    }
    return false;
}

static tt_status find_named(const char *dir, const char *who, tt_engine_source source,
                            tt_engine_found *engine, tt_error *err)
{
    engine->source = source;
    if (tt_engine_find_in(dir, engine)) return TT_OK;
    add_tried(engine, who, dir, access(dir, F_OK) ? "no such folder" : "no libllama in it");
    return tt_error_set(
        err, TT_E_NOT_FOUND, TT_NO_OFFSET,
        "%s names %.200s, but %s (looked for libllama*.so there and in bin, "
        "lib, lib64, " MULTIARCH ", build/bin, " NPM_BINS ")",
        who, dir, access(dir, F_OK) ? "there is no such folder" : "it has no llama.cpp libraries");
}

static bool find_bundled(tt_engine_found *engine)
{
    char exe[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0) return false;
    exe[n] = '\0';
    engine->source = TT_ENGINE_NPM;
    for (int up = 0; up <= PARENTS_MAX; up++) {
        char *slash = strrchr(exe, '/');
        if (!slash) break;
        *slash = '\0';
        (void)snprintf(path, sizeof path, "%s/engines/node_modules/" TT_ENGINE_BUNDLED, exe);
        if (tt_engine_find_in(path, engine)) return true;
        if (up > 0) add_tried(engine, "bundled", path, "not there");
        /* <prefix>/bin/tensortrace, and so <prefix> after one step up. */
        if (up != 1) continue;
        (void)snprintf(path, sizeof path, "%s/lib/tensortrace/engine", exe);
        if (tt_engine_find_in(path, engine)) return true;
        add_tried(engine, "installed", path, "not there");
    }
    return false;
}

/* Loading is the only interface to the linker's search; the library stays loaded, since the
 * caller is about to use it. */
static bool find_system(tt_engine_found *engine)
{
    static const char *const names[] = {"libllama.so", "libllama.so.0"};
    engine->source = TT_ENGINE_SYSTEM;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *handle = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
        void *symbol = handle ? dlsym(handle, "llama_backend_init") : NULL;
        Dl_info info;
        char real[PATH_MAX];
        if (symbol && dladdr(symbol, &info) && realpath(info.dli_fname, real)) {
            (void)snprintf(engine->llama, sizeof engine->llama, "%s", real);
            char *slash = strrchr(real, '/');
            if (slash) *slash = '\0';
            (void)snprintf(engine->dir, sizeof engine->dir, "%s", real);
            find_release(engine);
            return true;
        }
    }
    add_tried(engine, "system", "libllama.so", "the dynamic linker does not find it");
    return false;
}

tt_status tt_engine_find(const char *dir, tt_engine_found *engine, tt_error *err)
{
    memset(engine, 0, sizeof *engine);
    if (dir) return find_named(dir, "--engine", TT_ENGINE_OPTION, engine, err);
    const char *env = getenv(TT_ENGINE_ENV);
    if (env && env[0]) return find_named(env, TT_ENGINE_ENV, TT_ENGINE_ENVIRONMENT, engine, err);
    add_tried(engine, "--engine", "", "not given");
    add_tried(engine, TT_ENGINE_ENV, "", "not set");
    if (find_bundled(engine) || find_system(engine)) return TT_OK;
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                        "no llama.cpp engine found: --engine is not given, " TT_ENGINE_ENV
                        " is not set, engines/node_modules/" TT_ENGINE_BUNDLED
                        " is not there (make deps), the system has no libllama.so. "
                        "`tensortrace doctor` lists the places");
}

const char *tt_engine_source_name(tt_engine_source source)
{
    static const char *const names[] = {"option", "environment", "npm", "system"};
    return names[source];
}
