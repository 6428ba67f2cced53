/* Names of files. */
#ifndef TT_BASE_PATH_H
#define TT_BASE_PATH_H

#include <string.h>

/* An experiment's trace, in its folder. */
#define TT_RUN_TRACE "run.ttrace"

/* The part of the path after the last slash; the whole path without one. */
static inline const char *tt_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

#endif
