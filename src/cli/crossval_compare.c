/* The comparison of a scenario's two sides. */
#include "cli/crossval.h"
#include "cli/interrupt.h"
#include "model/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX TT_VALUEDIFF_KEPT_MAX

/* Both sides, open. */
typedef struct sides {
    char paths[2][TT_CV_PATH];
    tt_model *models[2];
    tt_dump *dumps[2];
} sides;

static bool open_side(tt_cv_scenario *c, sides *s, size_t side)
{
    tt_error err;
    tt_cv_values_path(c, s->paths[side], side);
    tt_status status = tt_model_open(s->paths[side], &s->models[side], &err);
    if (status == TT_OK)
        status = tt_dump_of_trace(s->models[side], s->paths[side], c->x->stages, &s->dumps[side],
                                  &err);
    return status == TT_OK || tt_cv_fail(c, side, "%s", err.message);
}

static void close_sides(sides *s)
{
    for (size_t i = 0; i < 2; i++) {
        tt_dump_close(s->dumps[i]);
        tt_model_close(s->models[i]);
    }
}

static bool is_interrupted(void *context)
{
    (void)context;
    return tt_interrupted() != 0;
}
