/* Names of files. */
#ifndef TT_BASE_PATH_H
#define TT_BASE_PATH_H

#include <string.h>

/* An experiment's trace, in its folder. */
#define TT_RUN_TRACE "run.ttrace"

/* What stands behind the last slash; the whole path when nothing does. A part of the path. */
static inline const char *tt_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

#endif
