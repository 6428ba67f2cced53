#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

tt_status tt_error_set(tt_error *err, tt_status status, uint64_t offset, const char *fmt, ...)
{
    if (err) {
        va_list args;
        err->status = status;
        err->offset = offset;
        va_start(args, fmt);
        (void)vsnprintf(err->message, sizeof err->message, fmt, args);
        va_end(args);
    }
    return status;
}

tt_status tt_error_memory(tt_error *err, const char *what)
{
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for %s", what);
}
