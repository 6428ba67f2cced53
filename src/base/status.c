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

const char *tt_status_name(tt_status status)
{
    switch (status) {
    case TT_OK:
        return "ok";
    case TT_E_IO:
        return "io";
    case TT_E_FORMAT:
        return "format";
    case TT_E_TRUNCATED:
        return "truncated";
    case TT_E_CHECKSUM:
        return "checksum";
    case TT_E_LIMIT:
        return "limit";
    case TT_E_MEMORY:
        return "memory";
    case TT_E_UNSUPPORTED:
        return "unsupported";
    case TT_E_USAGE:
        return "usage";
    case TT_E_NOT_FOUND:
        return "not found";
    case TT_E_EXISTS:
        return "exists";
    }
    return "unknown";
}

tt_status tt_error_memory(tt_error *err, const char *what)
{
    return tt_error_set(err, TT_E_MEMORY, TT_NO_OFFSET, "no memory for %s", what);
}
