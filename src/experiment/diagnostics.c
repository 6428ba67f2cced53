#include "experiment/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENTENCE_MAX 6000

void tt_diagnose(tt_diagnostics *c, const char *fmt, ...)
{
    char text[SENTENCE_MAX];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = '?';
    if (c->n < TT_DIAGNOSTICS_MAX) c->texts[c->n] = strdup(text);
    c->n++;
}

const char *tt_diagnostics_next(const tt_diagnostics *c, size_t *at)
{
    if (*at >= c->n || *at >= TT_DIAGNOSTICS_MAX) return NULL;
    const char *text = c->texts[(*at)++];
    return text ? text : "out of memory";
}

void tt_diagnostics_free(tt_diagnostics *c)
{
    for (size_t i = 0; i < c->n && i < TT_DIAGNOSTICS_MAX; i++)
        free(c->texts[i]);
    memset(c, 0, sizeof *c);
}

tt_status tt_diagnostics_error(const tt_diagnostics *c, size_t before, const char *name,
                               tt_error *err)
{
    size_t n = c->n - before;
    return tt_error_set(err, TT_E_USAGE, TT_NO_OFFSET, "%.100s: %zu thing%s wrong", name, n,
                        n == 1 ? " is" : "s are");
}
