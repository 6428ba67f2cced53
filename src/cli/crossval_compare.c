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
        status = tt_dump_of_trace(s->models[side], s->paths[side], c->x->stages[side],
                                  &s->dumps[side], &err);
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

static void progress(void *context, uint64_t done, uint64_t total)
{
    tt_cv_scenario *c = context;
    c->progress.total = total;
    tt_progress_update(&c->progress, done);
}

static tt_valuediff_options options_of(tt_cv_scenario *c)
{
    const tt_crossval_settings *s = &c->x->settings;
    return (tt_valuediff_options){.exact = s->exact,
                                  .has_tolerance = s->has_tolerance,
                                  .tolerance = {s->rel_l2, s->cosine, s->max_abs},
                                  .items_max = ITEMS_MAX,
                                  .keep_all = true,
                                  .progress = progress,
                                  .context = c,
                                  .over = {is_interrupted, NULL}};
}

static bool compare(tt_cv_scenario *c, const sides *s)
{
    tt_error err;
    tt_valuediff *d = NULL;
    tt_valuediff_options options = options_of(c);
    tt_progress_begin(&c->progress, "compare", 0, "steps");
    tt_status status = tt_valuediff_make(s->dumps[0], s->dumps[1], &options, &d, &err);
    tt_progress_end(&c->progress);
    if (tt_interrupted()) {
        tt_valuediff_free(d);
        return false;
    }
    if (status != TT_OK) return tt_cv_fail(c, 2, "%s", err.message);
    tt_crossval_judge(c->end, d);
    c->end->agreement =
        tt_agreement_of(c->chosen[0].ids, c->chosen[0].n, c->chosen[1].ids, c->chosen[1].n);
    tt_valuediff_free(d);
    return true;
}

bool tt_cv_compare(tt_cv_scenario *c)
{
    sides s = {.models = {NULL}};
    bool ok = open_side(c, &s, 0) && open_side(c, &s, 1) && compare(c, &s);
    close_sides(&s);
    return ok;
}
