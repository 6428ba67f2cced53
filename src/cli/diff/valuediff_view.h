/* `diff --values`: its options and output. */
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

/* Its page, opened here; closed by the caller; the view must outlive it. */
void tt_valuediff_page_make(tt_page *p, const tt_valuediff_view *v);

/* A list that is shown alone. */
typedef enum tt_valuediff_by {
    TT_VALUEDIFF_BY_NONE, /* the whole comparison */
    TT_VALUEDIFF_BY_VALUE,
    TT_VALUEDIFF_BY_STAGE,
    TT_VALUEDIFF_BY_LAYER,
    TT_VALUEDIFF_BY_BATCH
} tt_valuediff_by;

/* The options of `diff --values`. */
typedef struct tt_valuediff_settings {
    bool values; /* --values was given */
    tt_valuediff_options options;
    const char *maps[2]; /* of stages, for A and B; NULL: the built-in one */
    const char *svg;
    tt_valuediff_by by;
} tt_valuediff_settings;

/* Compares and prints; returns the exit code. `html` may be NULL. */
int tt_valuediff_run(const tt_valuediff_settings *s, const char *const paths[2],
                     const tt_list_options *list, bool json, const char *html, bool force);

/* A dump of either kind: a trace, or a folder of BitNet-style records. */
typedef struct tt_dump_input {
    tt_model *model; /* of a trace */
    tt_stages *stages;
    tt_dump *dump;
} tt_dump_input;
/* `map`: file of a stage map, or NULL. Returns the exit code; if it is not TT_EXIT_OK, the reason
 * was printed. Closed with tt_dump_input_close in every case. */
void tt_dump_input_close(tt_dump_input *in);

#endif
