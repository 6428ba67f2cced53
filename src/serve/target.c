#include "serve/target.h"

#include <string.h>

static int digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Undoes the escapes in place. */
static tt_status decode(char *text, tt_error *err)
{
    char *to = text;
    for (const char *p = text; *p; p++) {
        if (*p != '%') {
            *to++ = *p == '+' ? ' ' : *p;
            continue;
        }
        int high = digit(p[1]);
        int low = high < 0 ? -1 : digit(p[2]);
        if (low < 0)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "a parameter has a %% without two hexadecimal digits behind it; "
                                "write %%25 for a percent sign");
        if (high == 0 && low == 0)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "a parameter has a NUL (%%00)");
        *to++ = (char)(high * 16 + low);
        p += 2;
    }
    *to = '\0';
    return TT_OK;
}

static tt_status add(tt_target *t, char *text, tt_error *err)
{
    if (!*text) return TT_OK; /* "a=1&&b=2" */
    if (t->n_params == TT_REQUEST_PARAMS_MAX)
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "more than %u parameters",
                            TT_REQUEST_PARAMS_MAX);
    char *value = strchr(text, '=');
    if (value)
        *value++ = '\0';
    else
        value = text + strlen(text);
    tt_status status = decode(text, err);
    if (status == TT_OK) status = decode(value, err);
    if (status != TT_OK) return status;
    for (uint32_t i = 0; i < t->n_params; i++)
        if (strcmp(t->params[i].name, text) == 0)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "the parameter \"%.60s\" is there twice", text);
    t->params[t->n_params++] = (tt_param){text, value};
    return TT_OK;
}

tt_status tt_target_parse(tt_target *t, const char *text, size_t n, tt_error *err)
{
    t->n_params = 0;
    t->path = t->text;
    t->text[0] = '\0';
    if (n > TT_TARGET_BYTES_MAX)
        return tt_error_set(err, TT_E_LIMIT, TT_NO_OFFSET,
                            "the address has %zu bytes; %u are read at most", n,
                            TT_TARGET_BYTES_MAX);
    if (n == 0 || text[0] != '/')
        return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                            "the address does not begin with a slash; this is no proxy");
    for (size_t i = 0; i < n; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f)
            return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET,
                                "byte %zu of the address has to be written as %%XX", i);
    memcpy(t->text, text, n);
    t->text[n] = '\0';
    char *rest = strchr(t->text, '?');
    if (rest) *rest++ = '\0';
    tt_status status = TT_OK;
    while (rest && status == TT_OK) {
        char *next = strchr(rest, '&');
        if (next) *next++ = '\0';
        status = add(t, rest, err);
        rest = next;
    }
    return status;
}
