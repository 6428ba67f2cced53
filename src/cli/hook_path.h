/* Where the preload library is. */
#ifndef TT_CLI_HOOK_PATH_H
#define TT_CLI_HOOK_PATH_H

#include "base/status.h"

#include <stddef.h>

/* Environment variable that names the library's file. */
#define TT_HOOK_ENV "TENSORTRACE_HOOK"
#define TT_HOOK_FILE "libtensortrace-hook.so"

/* The absolute path in out[n]: $TENSORTRACE_HOOK, else ../lib/tensortrace relative to this
 * program's folder (installed or built), else the build tree's src/adapter/ggml. A path in the
 * variable must exist: nothing else is tried then. TT_E_NOT_FOUND lists what was tried;
 * TT_E_UNSUPPORTED if the path has a blank or a colon, which are separators in LD_PRELOAD. */
tt_status tt_hook_path_find(char *out, size_t n, tt_error *err);

#endif
