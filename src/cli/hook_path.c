#include "cli/hook_path.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative to the program's folder: installed, or a build tree laid out that way; then
 * build/src/cli and build/bin. */
static const char *const beside[] = {
    "../lib/tensortrace/" TT_HOOK_FILE,
    "../adapter/ggml/" TT_HOOK_FILE,
    "../src/adapter/ggml/" TT_HOOK_FILE,
    TT_HOOK_FILE,
};

static tt_status accept(const char *path, char *out, size_t n, tt_error *err)
{
    char real[PATH_MAX];
    if (!realpath(path, real) || access(real, R_OK) != 0)
        return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET, "no readable file %.250s", path);
    if (strpbrk(real, ": \t\n"))
        return tt_error_set(
            err, TT_E_UNSUPPORTED, TT_NO_OFFSET,
            "LD_PRELOAD cannot name %.180s (a blank or colon in the path); set " TT_HOOK_ENV
            " to a copy elsewhere",
            real);
    if (strlen(real) >= n)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the path of " TT_HOOK_FILE " is too long");
    memcpy(out, real, strlen(real) + 1);
    return TT_OK;
}

tt_status tt_hook_path_find(char *out, size_t n, tt_error *err)
{
    const char *env = getenv(TT_HOOK_ENV);
    if (env && env[0]) {
        tt_error why;
        tt_status status = accept(env, out, n, &why);
        if (status == TT_OK) return TT_OK;
        return tt_error_set(err, status, TT_NO_OFFSET, TT_HOOK_ENV ": %.290s", why.message);
    }
    char exe[PATH_MAX], path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (length <= 0) return tt_error_set(err, TT_E_IO, TT_NO_OFFSET, "cannot read /proc/self/exe");
    exe[length] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash) *slash = '\0';
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", exe, beside[i]);
        tt_status status = accept(path, out, n, err);
        if (status != TT_E_NOT_FOUND) return status;
    }
    return tt_error_set(err, TT_E_NOT_FOUND, TT_NO_OFFSET,
                        "no " TT_HOOK_FILE " next to %.150s (tried ../adapter/ggml, "
                        "../lib/tensortrace); set " TT_HOOK_ENV " to its path",
                        exe);
}
