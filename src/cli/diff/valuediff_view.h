/* `diff --values`: what it shows, and what it is told. */
#ifndef TT_CLI_VALUEDIFF_VIEW_H
#define TT_CLI_VALUEDIFF_VIEW_H

#include "answer/valuediff.h"
#include "cli/list.h"
#include "report/page.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tt_valuediff_view {
    const tt_valuediff *d;
    const char *paths[2];
    uint64_t limit; /* rows of a table; 0: all */
} tt_valuediff_view;

/* Its page, opened here; closed by the caller, and the view outlives it. */
void tt_valuediff_page_make(tt_page *p, const tt_valuediff_view *v);

/* A list that is shown by itself. */
typedef enum tt_valuediff_by {
    TT_VALUEDIFF_BY_NONE, /* the whole comparison */
    TT_VALUEDIFF_BY_VALUE,
    TT_VALUEDIFF_BY_STAGE,
    TT_VALUEDIFF_BY_LAYER,
    TT_VALUEDIFF_BY_BATCH
} tt_valuediff_by;

/* What stands behind `diff --values`. */
typedef struct tt_valuediff_settings {
    bool values; /* --values was given */
    tt_valuediff_options options;
    const char *maps[2]; /* of stages, of A and B; NULL: the one that is built in */
    const char *svg;
    tt_valuediff_by by;
} tt_valuediff_settings;

/* Compares and shows; the exit code. `html` may be NULL. */
int tt_valuediff_run(const tt_valuediff_settings *s, const char *const paths[2],
                     const tt_list_options *list, bool json, const char *html, bool force);

/* A dump, whatever stands at the path: a trace, or a folder of BitNet-style records. */
typedef struct tt_dump_input {
    tt_model *model; /* of a trace */
    tt_stages *stages;
    tt_dump *dump;
} tt_dump_input;
/* `map`: file of a map of stages, or NULL. The exit code; when it is not TT_EXIT_OK the reason was
 * told. Closed with tt_dump_input_close in any case. */
void tt_dump_input_close(tt_dump_input *in);

#endif
